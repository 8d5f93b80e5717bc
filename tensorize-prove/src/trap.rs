//! Calls that end the program, or throw: assertions that fail, sizes that do not fit, indices out of range.
//!
//! Only the original does that. So that no other code is called then is shown, or asked of the sizes by a guard.

use crate::bound::bound;
use crate::canon;
use crate::clamp::is_truth;
use crate::exec::{Executor, Stuck};
use std::collections::BTreeSet;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::Idx;
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

impl Executor<'_, '_> {
    /// Where the condition does not hold, the program ends.
    pub(crate) fn must_hold(&mut self, condition: &ElemRef) -> Result<(), Stuck> {
        let believed = !self.is_checking() && !self.loops().is_empty();
        if believed || self.ctx.holds(condition) {
            return Ok(());
        }
        let guards = self.one_of_a_range(condition);
        let Some(guards) = guards.or_else(|| self.in_every_round(condition)) else {
            return self.stuck(
                "it may end the program or throw, and no condition on the sizes rules that out; without assertions \
                 (-DNDEBUG) it may be proven",
            );
        };
        guards.into_iter().for_each(|g| self.ctx.guard(g));
        Ok(())
    }

    /// The guards of a `switch` over modes whose default ends the program: where this is one of the modes, and the others
    /// are those of the path, in a row.
    fn one_of_a_range(&self, condition: &ElemRef) -> Option<Vec<Guard>> {
        let mut modes = Vec::new();
        // What has to be one of these is none of them nowhere.
        unequal(&Elem::not(condition.clone()), &mut |p| {
            modes.push(p.clone())
        });
        let mode = modes.first()?.clone();
        if !self.ctx.is_over_params(&mode) {
            return None;
        }
        self.path
            .iter()
            .for_each(|c| unequal(c, &mut |p| modes.push(p.clone())));
        let away = |other: &Idx| (&mode - other).as_constant();
        let others: BTreeSet<i128> = (modes.iter())
            .filter_map(|p| away(p).or_else(|| away(&-p)))
            .collect();
        // In steps away from this mode.
        let first = (0..).find(|n| !others.contains(&(-n - 1)))?;
        let last = (0..).find(|n| !others.contains(&(n + 1)))?;
        let from = Guard::NonNegative(&mode + &Idx::constant(first));
        let to = Guard::NonNegative(&Idx::constant(last) - &mode);
        (first + last > 0).then(|| vec![from, to])
    }

    /// The guards that make a condition true in every round of the loops around it.
    fn in_every_round(&mut self, condition: &ElemRef) -> Option<Vec<Guard>> {
        let loops = self.loops().to_vec();
        match &*canon::elem(condition) {
            Elem::IndexCompare(CmpOp::Ge, p, zero) if zero.is_zero() && !loops.is_empty() => {
                let least = bound(&mut self.ctx, p, &loops, false)?;
                let known = self.ctx.is_over_params(&least);
                known.then(|| vec![Guard::NonNegative(least)])
            }
            // That a pointer is not null.
            Elem::OfIdx(ScalarType::I1, given) if self.ctx.is_over_params(given) => {
                Some(vec![Guard::NonNegative(given - &Idx::constant(1))])
            }
            Elem::Binary(BinOp::And, a, b) => self.both_in_every_round(a, b),
            Elem::Select(a, b, no) if is_truth(no, false) => self.both_in_every_round(a, b),
            _ => self.as_guards(condition),
        }
    }

    fn both_in_every_round(&mut self, a: &ElemRef, b: &ElemRef) -> Option<Vec<Guard>> {
        let (a, b) = (self.in_every_round(a)?, self.in_every_round(b)?);
        Some([a, b].concat())
    }
}

/// Calls `f` with what a condition says is not zero.
fn unequal(condition: &ElemRef, f: &mut dyn FnMut(&Idx)) {
    match &*canon::elem(condition) {
        Elem::IndexCompare(CmpOp::Ne, p, zero) if zero.is_zero() => f(p),
        Elem::Select(a, no, b) if is_truth(no, false) => {
            unequal(&Elem::not(a.clone()), f);
            unequal(b, f);
        }
        Elem::Select(a, b, no) if is_truth(no, false) => {
            unequal(a, f);
            unequal(b, f);
        }
        Elem::Binary(BinOp::And, a, b) => {
            unequal(a, f);
            unequal(b, f);
        }
        _ => {}
    }
}
