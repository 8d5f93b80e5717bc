//! Variables that take turns over the rounds of a loop: `now = 1 - now`, `phase = (phase + 1) % 3`, two that change places.
//!
//! Each is a table over the number of the round. That it is, is found out by doing the rounds' assignments until all of
//! them are where they began: from there on, it begins anew.

use crate::loops::modified;
use std::collections::BTreeMap;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{self, BinOp, CmpOp};
use tensorize_ir::scalar::Scalar;

/// The longest that is looked for.
const LONGEST: usize = 8;

/// What a variable is in each round, over and over again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Turn(Vec<Scalar>);

impl Turn {
    /// The value in the round of this number, a nonnegative `i64`.
    pub fn value(&self, number: &Expr) -> Expr {
        if let [only] = self.0[..] {
            return Expr::Const(only);
        }
        let at = |n: usize| Expr::int(number.ty(), n as i128);
        let turn = Expr::binary(BinOp::Remainder, number.clone(), at(self.0.len()));
        let ty = self.0[0].ty;
        if (self.0.iter().enumerate()).all(|(n, v)| v.as_int() == n as i128) {
            return Expr::convert(ty, turn);
        }
        let last = self.0.len() - 1;
        let others = self.0[..last].iter().enumerate();
        others.rfold(Expr::Const(self.0[last]), |rest, (n, v)| {
            let now = Expr::compare(CmpOp::Eq, turn.clone(), at(n));
            Expr::Select(Box::new(now), Box::new(Expr::Const(*v)), Box::new(rest))
        })
    }
}

/// Those that are set to a literal `before` a loop, and by its `body` from nothing but each other.
pub(crate) fn turns(before: &[Stmt], body: &[Stmt], others: &[&[Stmt]]) -> BTreeMap<Sym, Turn> {
    let in_rounds = modified(body).0;
    let mut first: BTreeMap<Sym, Scalar> = BTreeMap::new();
    for (at, s) in before.iter().enumerate() {
        if let Stmt::Assign { var, ty, value } = s
            && let Expr::Const(v) = value
            && ty.is_int()
            && in_rounds.contains_key(var)
        {
            let again = [&before[..at], &before[at + 1..]];
            let mut elsewhere = again.iter().chain(others);
            if !elsewhere.any(|part| modified(part).0.contains_key(var)) {
                first.insert(var.clone(), *v);
            }
        }
    }
    while !first.is_empty() {
        let mut states = vec![first.clone()];
        for _ in 0..3 * LONGEST {
            let next = after_a_round(body, &states[states.len() - 1]);
            states.push(next);
        }
        let period = |var: &Sym| {
            let value = |n: usize| states[n].get(var);
            let again = |p: usize| (p..states.len()).all(|n| value(n) == value(n - p));
            value(1).and((1..=LONGEST).find(|&p| again(p)))
        };
        let turns: BTreeMap<Sym, usize> = (first.keys())
            .filter_map(|v| Some((v.clone(), period(v)?)))
            .collect();
        if turns.len() < first.len() {
            // The others may have counted on it.
            first.retain(|v, _| turns.contains_key(v));
            continue;
        }
        if states.iter().skip(1).any(|s| *s == first) {
            let values = |var: &Sym, p: usize| (0..p).map(|n| states[n][var]).collect();
            let turns = turns.into_iter();
            return turns
                .map(|(v, p)| (v.clone(), Turn(values(&v, p))))
                .collect();
        }
        break;
    }
    BTreeMap::new()
}

/// What these variables are after a round, as far as it depends on nothing else.
fn after_a_round(body: &[Stmt], state: &BTreeMap<Sym, Scalar>) -> BTreeMap<Sym, Scalar> {
    let mut now = state.clone();
    for s in body {
        match s {
            Stmt::Assign { var, value, .. } => match eval(value, &now) {
                Some(v) => _ = now.insert(var.clone(), v),
                None => _ = now.remove(var),
            },
            _ => {
                let changes = modified(std::slice::from_ref(s)).0;
                now.retain(|var, _| !changes.contains_key(var));
            }
        }
    }
    now.retain(|var, _| state.contains_key(var));
    now
}

/// The value of an expression of integers, if it is defined and depends on these alone.
fn eval(e: &Expr, known: &BTreeMap<Sym, Scalar>) -> Option<Scalar> {
    let value = |e: &Expr| eval(e, known);
    let defined = |why: Option<&str>, v: Scalar| why.is_none().then_some(v);
    if e.ty().is_float() {
        return None;
    }
    match e {
        Expr::Const(v) => Some(*v),
        Expr::Var(name, _) => known.get(name).copied(),
        Expr::Convert(to, a) => value(a).map(|a| op::eval_convert(*to, a)),
        Expr::Unary(op, a) => {
            let a = value(a)?;
            defined(op::unary_undefined(*op, a), op::eval_unary(*op, a))
        }
        Expr::Binary(op, a, b) => {
            let (a, b) = (value(a)?, value(b)?);
            match op::binary_undefined(*op, a, b) {
                None => Some(op::eval_binary(*op, a, b)),
                Some(_) => None,
            }
        }
        Expr::Compare(op, a, b) => Some(Scalar::bool(op::eval_compare(*op, value(a)?, value(b)?))),
        Expr::Select(c, t, f) => match value(c)?.is_true() {
            true => value(t),
            false => value(f),
        },
        Expr::Load { .. } | Expr::Bitcast(..) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorize_ir::scalar::ScalarType;

    const TY: ScalarType = ScalarType::I32;

    fn var(name: &str) -> Expr {
        Expr::Var(name.into(), TY)
    }

    fn set(name: &str, value: Expr) -> Stmt {
        Stmt::Assign {
            var: name.into(),
            ty: TY,
            value,
        }
    }

    fn int(v: i128) -> Expr {
        Expr::int(TY, v)
    }

    fn values(before: &[Stmt], body: &[Stmt], of: &str) -> Option<Vec<i128>> {
        let turn = turns(before, body, &[]).get(of).cloned()?;
        Some(turn.0.iter().map(|v| v.as_int()).collect())
    }

    #[test]
    fn by_itself_or_two_that_change_places() {
        let other = Expr::binary(BinOp::Subtract, int(1), var("now"));
        let toggles = [set("next", other), set("now", var("next"))];
        assert_eq!(
            values(&[set("now", int(0))], &toggles, "now"),
            Some(vec![0, 1])
        );
        let places = [set("t", var("a")), set("a", var("b")), set("b", var("t"))];
        let before = [set("a", int(3)), set("b", int(7))];
        assert_eq!(values(&before, &places, "a"), Some(vec![3, 7]));
        assert_eq!(values(&before, &places, "b"), Some(vec![7, 3]));
        // What nobody has set is not known.
        assert_eq!(values(&before[..1], &places, "a"), None);
    }

    #[test]
    fn a_counter_takes_no_turns_and_what_depends_on_it_neither() {
        let counts = set("i", Expr::binary(BinOp::Add, var("i"), int(1)));
        let odd = set("odd", Expr::binary(BinOp::Remainder, var("i"), int(2)));
        let before = [set("i", int(0)), set("odd", int(0))];
        assert_eq!(values(&before, &[counts, odd], "odd"), None);
    }

    #[test]
    fn an_end_that_comes_late_is_no_turn() {
        // 0, 0, 0 … as long as anybody looks, but for what a branch does.
        let branch = Stmt::If {
            cond: Expr::compare(CmpOp::Eq, var("n"), int(5)),
            then: vec![set("v", int(1))],
            otherwise: vec![],
        };
        assert_eq!(values(&[set("v", int(0))], &[branch], "v"), None);
        // 0, 1, 1, 1 …
        let once = set("v", int(1));
        assert_eq!(values(&[set("v", int(0))], &[once], "v"), None);
    }

    #[test]
    fn what_overflows_is_no_value() {
        let doubles = set("v", Expr::binary(BinOp::Multiply, var("v"), int(1 << 20)));
        assert_eq!(values(&[set("v", int(1))], &[doubles], "v"), None);
    }
}
