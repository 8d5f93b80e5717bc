//! Calls that end the program, or throw: assertions that fail, sizes that do not fit, indices out of range.
//!
//! Only the original does that. So that no other code is called then is shown, or asked of the sizes by a guard.

use crate::bound::bound;
use crate::canon;
use crate::chain::truth;
use crate::clamp::is_truth;
use crate::exec::{Executor, Stuck};
use crate::loops::modified;
use crate::places::holds_in_each_case;
use std::collections::BTreeSet;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::{Extent, Guard};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Function, Stmt, Visited, visit};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;

/// Why a kernel is not proven that calls something that ends the program.
const MAY_END: &str = "it may end the program, throw, or call a function that nothing is known of, and no condition on the sizes \
                       rules that out; if that is an assertion, it may be proven without (-DNDEBUG)";

/// What stands in the way of a proof of a kernel whose loops have been given a number of rounds. The kernel itself ends no
/// program, but for rounds that are more than these.
pub(crate) fn of_rounds(kernel: &Function, stuck: Stuck) -> Stuck {
    let mut traps = false;
    visit(&kernel.body, &mut |v| {
        traps |= matches!(v, Visited::Stmt(Stmt::Trap))
    });
    if traps || stuck.what != MAY_END {
        return stuck;
    }
    let what = "how many rounds a loop takes at most could not be shown";
    Stuck {
        what: what.into(),
        ..stuck
    }
}

/// Shows that what may end a call early is looked at before other data, also by who checks guards: those about arrays that
/// reach as far as the data say come after those that say how far.
pub(crate) fn known_first(guards: &[Guard], reaches: &[&Extent]) -> Result<(), Stuck> {
    let by_data = |array: &Sym| {
        let mut of_it = reaches.iter().filter(|e| e.array == *array);
        of_it.any(|e| e.lo.has_values() || e.hi.has_values())
    };
    let mut late = false;
    for guard in guards.iter().filter(|g| g.may_end_early()) {
        if let Guard::NonNegative(i) = guard {
            i.for_each_value(&mut |e| {
                e.visit(&mut |e| {
                    late |= matches!(&**e, Elem::Read { array, .. } if by_data(array))
                });
            });
        }
    }
    match late {
        false => Ok(()),
        true => Err(Stuck {
            what: MAY_END.into(),
            line: 0,
        }),
    }
}

impl Executor<'_, '_> {
    /// Where the condition does not hold, the program ends.
    pub(crate) fn must_hold(&mut self, condition: &ElemRef) -> Result<(), Stuck> {
        let believed = !self.is_checking() && !self.loops().is_empty();
        if believed
            || self.ctx.holds(condition)
            || holds_in_each_case(&mut self.ctx, &self.path, condition)
        {
            return Ok(());
        }
        let guards = self.one_of_a_range(condition);
        let guards = guards.or_else(|| self.in_every_round(condition));
        let Some(guards) = guards.or_else(|| self.of_arguments(condition)) else {
            // By what stands in memory, which is looked at before a call: an assertion about an index that is read, say.
            return match self.is_of_data(condition) && self.ends_in_no_round(condition) {
                true => Ok(()),
                false => self.stuck(MAY_END),
            };
        };
        guards.into_iter().for_each(|g| self.ctx.guard(g));
        Ok(())
    }

    /// The guard that says it of what is passed by value, floats among it (`if (rate > 0.5) throw …;`), where what the path
    /// says of that holds.
    fn of_arguments(&self, condition: &ElemRef) -> Option<Vec<Guard>> {
        let is_known = |c: &ElemRef| {
            let mut known = true;
            c.visit(&mut |e| {
                known &= e.indices().into_iter().all(|i| self.ctx.is_over_params(i));
                known &= !matches!(&**e, Elem::Read { .. } | Elem::Fold(_) | Elem::Acc(..));
            });
            known
        };
        let path = self.path.iter().filter(|c| is_known(c));
        let said = path.rev().fold(condition.clone(), |said, c| {
            Elem::select(c.clone(), said, truth(true))
        });
        is_known(condition).then(|| vec![Guard::on_arguments(&said)])
    }

    /// Whether a condition is about what stands in memory when the kernel is called.
    fn is_of_data(&self, condition: &ElemRef) -> bool {
        let written = modified(&self.kernel.body).1;
        let (mut reads, mut may_change) = (false, false);
        condition.visit(&mut |e| {
            if let Elem::Read { array, .. } = &**e {
                reads = true;
                may_change |= self.is_round && written.contains(array);
            }
        });
        reads && !may_change
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
            Elem::Select(a, no, b) if is_truth(no, false) => {
                self.both_in_every_round(&Elem::not(a.clone()), b)
            }
            // `!(a || b)`
            Elem::Unary(UnOp::Not, inner) if let Some([a, b]) = either(inner) => {
                self.both_in_every_round(&Elem::not(a), &Elem::not(b))
            }
            _ => self
                .as_guards(condition)
                .or_else(|| self.as_one_of_some(condition)),
        }
    }

    /// The guards that say that one of some equations over the sizes holds (`mode == 'N' || mode == 'T'`): the product of
    /// their differences is zero.
    fn as_one_of_some(&mut self, condition: &ElemRef) -> Option<Vec<Guard>> {
        let mut differences = Vec::new();
        equal(condition, &mut differences)?;
        let known = differences.iter().all(|p| self.ctx.is_over_params(p));
        if !known || differences.len() > MAX_MODES {
            return None;
        }
        let product = differences.iter().fold(Idx::constant(1), |all, p| &all * p);
        Some(vec![
            Guard::NonNegative(product.clone()),
            Guard::NonNegative(-&product),
        ])
    }

    fn both_in_every_round(&mut self, a: &ElemRef, b: &ElemRef) -> Option<Vec<Guard>> {
        let (a, b) = (self.in_every_round(a)?, self.in_every_round(b)?);
        Some([a, b].concat())
    }
}

/// The two sides of `a || b`.
fn either(e: &Elem) -> Option<[ElemRef; 2]> {
    match e {
        Elem::Select(a, yes, b) if is_truth(yes, true) => Some([a.clone(), b.clone()]),
        // `!a || b`
        Elem::Select(a, b, yes) if is_truth(yes, true) => Some([Elem::not(a.clone()), b.clone()]),
        _ => None,
    }
}

/// Values that a mode may have: the product of so many differences still fits a machine integer.
const MAX_MODES: usize = 4;

/// The differences of which a condition says no more than that one of them is zero.
fn equal(condition: &ElemRef, out: &mut Vec<Idx>) -> Option<()> {
    let negated = |e: &ElemRef| Elem::not(e.clone());
    match &*canon::elem(condition) {
        Elem::IndexCompare(CmpOp::Eq, p, zero) if zero.is_zero() => out.push(p.clone()),
        Elem::Binary(BinOp::Or, a, b) => [a, b].into_iter().try_for_each(|e| equal(e, out))?,
        Elem::Select(a, yes, b) if is_truth(yes, true) => {
            [a, b].into_iter().try_for_each(|e| equal(e, out))?;
        }
        // `!a || b`
        Elem::Select(a, b, yes) if is_truth(yes, true) => {
            equal(&negated(a), out)?;
            equal(b, out)?;
        }
        Elem::Unary(UnOp::Not, inner) => match &**inner {
            Elem::Binary(BinOp::And, a, b) => {
                [a, b]
                    .into_iter()
                    .try_for_each(|e| equal(&negated(e), out))?;
            }
            Elem::Select(a, b, no) if is_truth(no, false) => {
                [a, b]
                    .into_iter()
                    .try_for_each(|e| equal(&negated(e), out))?;
            }
            // `!(!a && b)`
            Elem::Select(a, no, b) if is_truth(no, false) => {
                equal(a, out)?;
                equal(&negated(b), out)?;
            }
            _ => return None,
        },
        _ => return None,
    }
    Some(())
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
