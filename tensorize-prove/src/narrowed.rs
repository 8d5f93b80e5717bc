//! Folds of which the steps outside of a range change nothing, as folds over that range.
//!
//! A step `select(c, s, acc)` leaves the accumulator as it is wherever `c` fails. If `c` says of the round k that
//! `low <= k < high`, with ends that do not depend on k, then the fold of the rounds from 0 to n is that of the rounds from
//! `max(0, low)` to `min(n, high)`, in the same order: bit for bit, as steps that change nothing are left out. That is how
//! a place is told by its rounds: the rounds that write `y[i + j]` for some j < m are those with `0 <= k - i < m`.

use crate::canon;
use crate::chain::and;
use crate::context::Context;
use tensorize_ir::element::{Elem, ElemRef, Fold, Order};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::Scalar;

/// The rounds from `low` on, and before `high`, where there are such ends.
#[derive(Clone, Default)]
pub struct Range {
    low: Option<Quotient>,
    high: Option<Quotient>,
}

/// A polynomial over a positive number, rounded down.
#[derive(Clone)]
struct Quotient(Idx, i128);

impl Quotient {
    fn value(&self) -> Idx {
        self.0.floor_div(&Idx::constant(self.1))
    }

    /// The larger or smaller of two: of what is divided by the same, that of what is divided.
    fn or(self, other: Quotient, which: fn(&Idx, &Idx) -> Idx) -> Quotient {
        match self.1 == other.1 {
            true => Quotient(which(&self.0, &other.0), self.1),
            false => Quotient(which(&self.value(), &other.value()), 1),
        }
    }
}

impl Range {
    /// The first round, and the one after the last; `None` if there is no such end.
    pub fn ends(&self) -> [Option<Idx>; 2] {
        [&self.low, &self.high].map(|end| end.as_ref().map(Quotient::value))
    }

    /// The rounds in both.
    fn and(&mut self, other: Range) {
        let both = |a: &mut Option<Quotient>, b: Option<Quotient>, most: fn(&Idx, &Idx) -> Idx| {
            *a = match (a.take(), b) {
                (Some(a), Some(b)) => Some(a.or(b, most)),
                (a, b) => a.or(b),
            };
        };
        both(&mut self.low, other.low, Idx::maximum);
        both(&mut self.high, other.high, Idx::minimum);
    }

    /// A range that holds the rounds of either.
    fn or(self, other: Range) -> Range {
        Range {
            low: (self.low.zip(other.low)).map(|(a, b)| a.or(b, Idx::minimum)),
            high: (self.high.zip(other.high)).map(|(a, b)| a.or(b, Idx::maximum)),
        }
    }
}

/// The range, and the step in it without what only says that it is in the range.
fn range(f: &Fold) -> Option<(Range, ElemRef)> {
    if !f.others.is_empty() || f.order != Order::Sequential {
        return None;
    }
    let mut range = Range::default();
    let step = taken_in(&f.var, &f.acc, &f.step, &mut range);
    (range.low.is_some() || range.high.is_some()).then_some((range, step))
}

/// The rounds that may change something, if they lie in a range that can be seen.
pub fn range_of(f: &Fold) -> Option<Range> {
    range(f).map(|(range, _)| range)
}

/// The fold over these rounds alone.
pub fn narrowed(ctx: &mut Context, f: &Fold) -> Option<Fold> {
    let (range, step) = range(f)?;
    let one = Idx::constant(1);
    let from = match range.low {
        // Nothing is divided that is below zero, where there is such a round.
        Some(low) if ctx.is_non_negative(&low.0) => low.value(),
        Some(low) if !ctx.proves(CmpOp::Lt, &low.value(), &one) => {
            let zero = Quotient(Idx::default(), low.1);
            low.or(zero, Idx::maximum).value()
        }
        _ => Idx::default(),
    };
    let to = match range.high.map(|high| high.value()) {
        Some(high) if ctx.proves(CmpOp::Lt, &high, &f.extent) => high,
        Some(high) if !ctx.proves(CmpOp::Ge, &high, &f.extent) => high.minimum(&f.extent),
        _ => f.extent.clone(),
    };
    if from.is_zero() && to == f.extent {
        return None;
    }
    let mut extent = canon::idx(&(&to - &from));
    if !ctx.is_non_negative(&extent) {
        extent = Idx::default().maximum(&extent);
    }
    Some(Fold {
        extent,
        step: step.replace(&f.var, &(&from + &Idx::sym(f.var.clone()))),
        ..f.clone()
    })
}

/// Takes the range down to the rounds in which the step may change the accumulator, and gives the step without what that
/// says of them.
fn taken_in(var: &Sym, acc: &Sym, step: &ElemRef, range: &mut Range) -> ElemRef {
    let Elem::Select(c, t, f) = &**step else {
        return step.clone();
    };
    let keeps = |e: &ElemRef| matches!(&**e, Elem::Acc(n, _) if n == acc);
    let (c, then, old) = match (keeps(t), keeps(f)) {
        (false, true) => (c.clone(), t, f),
        (true, false) => (canon::elem(&Elem::not(c.clone())), f, t),
        (false, false) => {
            // Whichever it is.
            let [mut one, mut other] = [Range::default(), Range::default()];
            for part in parts(c) {
                one.and(limits(var, &part).unwrap_or_default().0);
            }
            taken_in(var, acc, t, &mut one);
            taken_in(var, acc, f, &mut other);
            range.and(one.or(other));
            return step.clone();
        }
        (true, true) => return step.clone(),
    };
    let mut rest = Elem::constant(Scalar::bool(true));
    for part in parts(&c) {
        match limits(var, &part) {
            Some((said, true)) => range.and(said),
            Some((said, false)) => {
                range.and(said);
                rest = and(rest, part);
            }
            None => rest = and(rest, part),
        }
    }
    match &*rest {
        Elem::Const(v) if v.is_true() => taken_in(var, acc, then, range),
        _ => Elem::select(rest, then.clone(), old.clone()),
    }
}

/// What a condition says, one by one.
fn parts(c: &ElemRef) -> Vec<ElemRef> {
    match &**c {
        Elem::Binary(BinOp::And, a, b) => [parts(a), parts(b)].concat(),
        Elem::Select(a, b, otherwise) if matches!(&**otherwise, Elem::Const(v) if !v.is_true()) => {
            [parts(a), parts(b)].concat()
        }
        _ => vec![c.clone()],
    }
}

/// A range that holds all rounds in which a condition does, and whether it holds in all of these.
fn limits(var: &Sym, condition: &ElemRef) -> Option<(Range, bool)> {
    let condition = canon::elem(condition);
    let Elem::IndexCompare(op, p, zero) = &*condition else {
        return None;
    };
    // What is read may be another value in another step.
    if !zero.is_zero() || p.has_values() {
        return None;
    }
    let (slope, rest) = p.linear_in(var)?;
    let slope = slope.as_constant().filter(|s| *s != 0)?;
    let step = slope.abs();
    // Rounded up, and one more than rounded down: `step * var >= least` and `step * var <= most`.
    let from = |least: &Idx| Some(Quotient(least + &Idx::constant(step - 1), step));
    let before = |most: &Idx| Some(Quotient(most + &Idx::constant(step), step));
    let ends = |low, high| Range { low, high };
    Some(match (op, slope > 0) {
        (CmpOp::Ge, true) => (ends(from(&-&rest), None), true),
        (CmpOp::Ge, false) => (ends(None, before(&rest)), true),
        (CmpOp::Eq, rises) => {
            let at = if rises { -&rest } else { rest };
            (ends(from(&at), before(&at)), step == 1)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
