//! Loops that end because a number gets smaller by a factor in each round: `while (v) { … v >>= 1; }`.
//!
//! The number's type says how many rounds there can be at most. The loop is replaced by one of as many rounds, which does what a
//! round does while the condition holds. Once it does not hold, nothing changes any more, and so it never holds again.

use std::collections::BTreeMap;

use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Loop, Stmt, Visited, visit};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

use super::expr::{negation, select};

const I64: ScalarType = ScalarType::I64;

/// How many rounds the loop has at most, if a number that shrinks bounds it and no counter does.
pub(super) fn most_rounds(l: &Loop) -> Option<i128> {
    let steps = assigned(l);
    let of_cond = variables(&l.cond);
    let counts = |a: &Assigned| match a.value {
        Expr::Binary(BinOp::Add | BinOp::Subtract, _, by) => matches!(**by, Expr::Const(_)),
        _ => false,
    };
    if (steps.iter()).any(|a| of_cond.contains(&a.var) && counts(a)) {
        return None;
    }
    // What a `do` looks at for the first time after a round need not be there before it.
    let only_once = |var: &Sym| steps.iter().filter(|a| a.var == var).count() == 1;
    let known = |a: &Assigned| {
        l.test_first || (of_cond.iter()).all(|v| *v == a.var || steps.iter().all(|s| s.var != *v))
    };
    (steps.iter())
        .filter(|a| of_cond.contains(&a.var) && only_once(a.var) && known(a))
        .filter(|a| a.in_each_round)
        .find_map(|a| {
            let shrinks = Shrinks::of(a)?;
            let ends = ends_at(&l.cond, a, shrinks)?;
            Some(shrinks.rounds(a.ty, ends))
        })
}

/// The loop as one of `rounds` rounds, which `counter` counts from 0.
pub(super) fn with_rounds(mut l: Loop, rounds: i128, counter: Sym) -> Loop {
    let count = || Expr::Var(counter.clone(), I64);
    let cond = Expr::compare(CmpOp::Lt, count(), Expr::int(I64, rounds));
    let goes_on = std::mem::replace(&mut l.cond, cond);
    let goes_on = match l.test_first {
        true => goes_on,
        false => {
            let first = Expr::compare(CmpOp::Eq, count(), Expr::int(I64, 0));
            select(first, Expr::Const(Scalar::bool(true)), goes_on)
        }
    };
    l.test_first = true;
    let round = Stmt::If {
        cond: goes_on,
        then: std::mem::take(&mut l.body),
        otherwise: vec![],
    };
    let next = Stmt::Assign {
        var: counter.clone(),
        ty: I64,
        value: Expr::binary(BinOp::Add, count(), Expr::int(I64, 1)),
    };
    l.body = vec![round, next];
    l
}

/// An assignment in a round.
struct Assigned<'a> {
    var: &'a Sym,
    ty: ScalarType,
    value: &'a Expr,
    /// Whether there is no round without it but one that is the last.
    in_each_round: bool,
}

fn assigned(l: &Loop) -> Vec<Assigned<'_>> {
    let mut found = Vec::new();
    collect(&l.body, &stops(l), true, &mut found);
    found
}

/// What ends the loop once it is set, since nothing unsets it: what a `break` sets.
fn stops(l: &Loop) -> Vec<&Sym> {
    let mut set: BTreeMap<&Sym, bool> = BTreeMap::new();
    visit(&l.body, &mut |v| {
        if let Visited::Stmt(Stmt::Assign { var, value, .. }) = v {
            *set.entry(var).or_insert(true) &= is(value, true);
        }
    });
    let set = set.into_iter().filter(|(_, only_true)| *only_true);
    set.map(|(var, _)| var)
        .filter(|var| needs(&l.cond, &unset(var)))
        .collect()
}

fn unset(var: &Sym) -> Expr {
    negation(Expr::Var(var.clone(), ScalarType::I1))
}

fn collect<'a>(
    body: &'a [Stmt],
    stops: &[&Sym],
    in_each_round: bool,
    found: &mut Vec<Assigned<'a>>,
) {
    let ends = |s: &Stmt| matches!(s, Stmt::Assign { var, .. } if stops.contains(&var));
    for s in body {
        match s {
            Stmt::Assign { var, ty, value } => found.push(Assigned {
                var,
                ty: *ty,
                value,
                in_each_round,
            }),
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let unless_stopped = stops.iter().any(|s| *cond == unset(s));
                let then_is = unless_stopped || otherwise.iter().any(ends);
                let otherwise_is = then.iter().any(ends);
                collect(then, stops, in_each_round && then_is, found);
                collect(otherwise, stops, in_each_round && otherwise_is, found);
            }
            Stmt::Loop(inner) => collect(&inner.body, stops, false, found),
            _ => {}
        }
    }
}

fn variables(e: &Expr) -> Vec<&Sym> {
    let mut found = Vec::new();
    e.visit(&mut |e| {
        if let Expr::Var(name, _) = e {
            found.push(name);
        }
    });
    found
}

/// Whether `cond` can't hold where `part` does not, as in `part && …`.
fn needs(cond: &Expr, part: &Expr) -> bool {
    match cond {
        _ if cond == part => true,
        Expr::Select(a, b, no) if is(no, false) => needs(a, part) || needs(b, part),
        _ => false,
    }
}

fn is(e: &Expr, truth: bool) -> bool {
    matches!(e, Expr::Const(v) if *v == Scalar::bool(truth))
}

/// What becomes of a number in a round.
#[derive(Clone, Copy)]
enum Shrinks {
    /// It is divided, rounded down. No negative number comes to zero by that.
    Down(i128),
    /// It is divided, rounded towards zero.
    ToZero(i128),
    /// It loses its lowest bit.
    ByABit,
    /// What is above so many bits is added to them, as the carries of an Internet checksum are (RFC 1071), until there is
    /// nothing above.
    Folds(u32),
}

impl Shrinks {
    fn of(a: &Assigned) -> Option<Shrinks> {
        // A float has more halves than anybody counts, and no infinity ends.
        if !a.ty.is_int() {
            return None;
        }
        let itself = |e: &Expr| widened(e, a.var);
        // What is no larger than the number before it fits in its type again.
        let value = match a.value {
            Expr::Convert(_, inner) => inner,
            value => value,
        };
        let Expr::Binary(op, of, by) = value else {
            return None;
        };
        let constant = match **by {
            Expr::Const(v) => Some(v.as_int()),
            _ => None,
        };
        match op {
            BinOp::ShiftRightLogical if a.ty.is_signed() => None,
            BinOp::ShiftRightLogical | BinOp::ShiftRightArithmetic if itself(of) => {
                let by = constant.filter(|by| (1..i128::from(of.ty().bits())).contains(by))?;
                Some(Shrinks::Down(1 << by))
            }
            BinOp::Divide if itself(of) => {
                let by = constant.filter(|by| *by > 1)?;
                Some(Shrinks::ToZero(by))
            }
            BinOp::Add if !a.ty.is_signed() => {
                let bits = folded(of, by, a.var).or_else(|| folded(by, of, a.var))?;
                Some(Shrinks::Folds(bits))
            }
            BinOp::And if !a.ty.is_signed() => {
                let one_less = |e: &Expr| {
                    let Expr::Binary(op, of, by) = e else {
                        return false;
                    };
                    let by = match **by {
                        Expr::Const(v) => v.as_int(),
                        _ => return false,
                    };
                    itself(of)
                        && match op {
                            BinOp::Subtract => by == 1,
                            BinOp::Add => by == -1 || by == e.ty().max_value(),
                            _ => false,
                        }
                };
                let is = (itself(of) && one_less(by)) || (one_less(of) && itself(by));
                is.then_some(Shrinks::ByABit)
            }
            _ => None,
        }
    }

    /// How many rounds it takes to bring any number of the type down to `end`, which is no less than zero, or up to zero from
    /// below.
    fn rounds(self, ty: ScalarType, end: i128) -> i128 {
        let far = ty.max_value().max(-ty.min_value());
        let by = match self {
            Shrinks::ByABit => return ty.bits().into(),
            Shrinks::Folds(bits) => {
                // The low bits are at most all ones. From one more than that, it is one round.
                let low = (1 << bits) - 1;
                let left = std::iter::successors(Some(far), |n| Some(low + (n >> bits)));
                return left.take_while(|n| *n > low + 1).count() as i128 + 1;
            }
            Shrinks::Down(by) | Shrinks::ToZero(by) => by,
        };
        let left = std::iter::successors(Some(far), |n| Some(n / by));
        left.take_while(|n| *n > end).count() as i128
    }
}

/// The number of bits of which `low` is the variable's, if `high` is what is above them.
fn folded(low: &Expr, high: &Expr, var: &Sym) -> Option<u32> {
    let (Expr::Binary(BinOp::And, x, mask), Some((y, by))) = (low, shifted(high)) else {
        return None;
    };
    let all_ones = matches!(**mask, Expr::Const(v) if v.as_int() == (1 << by) - 1);
    (all_ones && widened(x, var) && widened(y, var)).then_some(by)
}

/// `x >> by`
fn shifted(e: &Expr) -> Option<(&Expr, u32)> {
    let Expr::Binary(BinOp::ShiftRightLogical | BinOp::ShiftRightArithmetic, x, by) = e else {
        return None;
    };
    let Expr::Const(by) = **by else {
        return None;
    };
    let by = u32::try_from(by.as_int()).ok()?;
    (1..x.ty().bits()).contains(&by).then_some((&**x, by))
}

/// Whether `e` is the variable, in a type that has all its values.
fn widened(e: &Expr, var: &Sym) -> bool {
    match e {
        Expr::Var(name, _) => name == var,
        Expr::Convert(to, inner) => inner.ty().fits_in(*to) && widened(inner, var),
        _ => false,
    }
}

/// The largest number at which `cond` does not hold, nor at any other that may be left in the end: those from zero up to it,
/// and the negative ones, of which some never come to zero.
fn ends_at(cond: &Expr, of: &Assigned, shrinks: Shrinks) -> Option<i128> {
    match cond {
        Expr::Select(a, b, no) if is(no, false) => {
            ends_at(a, of, shrinks).or_else(|| ends_at(b, of, shrinks))
        }
        Expr::Compare(op, a, b) => {
            above(*op, a, b, of, shrinks).or_else(|| above(op.swapped(), b, a, of, shrinks))
        }
        _ => None,
    }
}

/// The same for `a op b`, where `a` is the number, or made of it.
fn above(op: CmpOp, a: &Expr, b: &Expr, of: &Assigned, shrinks: Shrinks) -> Option<i128> {
    let bound = match b {
        Expr::Const(v) if v.ty.is_int() => Some(v.as_int()),
        _ => None,
    };
    if let Shrinks::Folds(bits) = shrinks {
        let low = (1 << bits) - 1;
        let end = match op {
            // `x >> 16`
            CmpOp::Ne => {
                let above = shifted(a).filter(|(x, by)| *by >= bits && widened(x, of.var));
                return (bound == Some(0) && above.is_some()).then_some(low);
            }
            CmpOp::Gt => bound?,
            CmpOp::Ge => bound? - 1,
            _ => return None,
        };
        return (widened(a, of.var) && end >= low).then_some(end);
    }
    let comes_to_zero = !of.ty.is_signed() || matches!(shrinks, Shrinks::ToZero(_));
    let end = match op {
        CmpOp::Ne => {
            return (bound == Some(0) && comes_to_zero && is_zero_with(a, of.var)).then_some(0);
        }
        // Nothing is less than nothing.
        CmpOp::Gt if !a.ty().is_signed() => bound.unwrap_or(0),
        CmpOp::Gt => bound?,
        CmpOp::Ge => bound? - 1,
        _ => return None,
    };
    (widened(a, of.var) && end >= 0).then_some(end)
}

/// Whether `e` is zero where the variable is.
fn is_zero_with(e: &Expr, var: &Sym) -> bool {
    match e {
        Expr::Var(name, _) => name == var,
        Expr::Convert(to, inner) => to.is_int() && is_zero_with(inner, var),
        Expr::Binary(BinOp::And, a, b) => is_zero_with(a, var) || is_zero_with(b, var),
        Expr::Binary(BinOp::ShiftRightLogical | BinOp::ShiftRightArithmetic, a, _) => {
            is_zero_with(a, var)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_takes_more_rounds_to_fold() {
        for (ty, bits) in [
            (ScalarType::U8, 1),
            (ScalarType::U8, 4),
            (ScalarType::U8, 7),
            (ScalarType::U16, 3),
            (ScalarType::U16, 8),
            (ScalarType::U16, 15),
        ] {
            let low = (1 << bits) - 1;
            let rounds = |v: i128| {
                let steps = std::iter::successors(Some(v), |v| Some((v & low) + (v >> bits)));
                steps.take_while(|v| *v > low).count() as i128
            };
            let most = (0..=ty.max_value()).map(rounds).max().unwrap();
            let said = Shrinks::Folds(bits).rounds(ty, low);
            assert!(
                (most..=most + 1).contains(&said),
                "{ty} {bits}: {most} {said}"
            );
        }
    }
}
