//! Counterexamples that are at hand: numbers at which all that is known here holds, and what is asked does not.
//!
//! Most of what is asked cannot be shown. A point says so in microseconds, where it takes the solver a millisecond. What the
//! solver is told beyond the facts are theorems, so that it would find such a point as well: the answers stay what they are.

use crate::ranges;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;

/// How many points are kept for a list of facts.
const MOST: usize = 12;

/// How often a point is looked for where there is none.
const TRIES: u64 = 8;

/// How many lists of facts are remembered.
const KEPT: usize = 16;

/// Points for the lists of facts of the last few questions.
#[derive(Default)]
pub(crate) struct Points {
    known: Vec<(Vec<ElemRef>, Vec<Point>)>,
    tries: u64,
}

/// An integer for each name, and for each value in memory.
#[derive(Clone, Default)]
struct Point {
    syms: HashMap<Sym, i128>,
    values: Vec<(ElemRef, i128)>,
    /// How large its numbers are, and which they are.
    seed: u64,
}

/// What a number is given to.
#[derive(Clone, PartialEq)]
enum Unknown {
    Sym(Sym),
    Value(ElemRef),
}

impl Points {
    /// Whether there is a point at which the facts hold, and `goal` does not.
    pub fn refute(
        &mut self,
        facts: &[ElemRef],
        params: &BTreeMap<Sym, ScalarType>,
        goal: &ElemRef,
    ) -> bool {
        let prefix = |known: &[ElemRef]| {
            known.len() <= facts.len() && known.iter().zip(facts).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        let longest = (self.known.iter().enumerate())
            .filter(|(_, (known, _))| prefix(known))
            .max_by_key(|(_, (known, _))| known.len())
            .map(|(i, _)| i);
        let at = match longest {
            Some(i) if self.known[i].0.len() == facts.len() => i,
            _ => {
                let (known, old) = longest.map(|i| self.known[i].clone()).unwrap_or_default();
                let points = self.extended(&old, &facts[known.len()..], facts, params);
                if self.known.len() == KEPT {
                    self.known.remove(0);
                }
                self.known.push((facts.to_vec(), points));
                self.known.len() - 1
            }
        };
        let refutes = |p: &mut Point| {
            p.give_all(goal, params);
            p.holds(goal) == Some(false)
        };
        self.known[at].1.iter_mut().any(refutes)
    }

    /// Points at which more holds.
    fn extended(
        &mut self,
        old: &[Point],
        news: &[ElemRef],
        facts: &[ElemRef],
        params: &BTreeMap<Sym, ScalarType>,
    ) -> Vec<Point> {
        let new = Facts::of(news, params);
        let extended = old.iter().filter_map(|p| p.extended(&new, params));
        let mut points: Vec<Point> = extended.collect();
        if points.is_empty() {
            let all = Facts::of(facts, params);
            for _ in 0..TRIES {
                self.tries += 1;
                let start = Point {
                    seed: self.tries,
                    ..Point::default()
                };
                points.extend(start.extended(&all, params));
            }
        }
        points.truncate(MOST);
        points
    }
}

impl Point {
    /// The same with numbers for what is new, if the new facts hold then.
    fn extended(&self, news: &Facts<'_>, params: &BTreeMap<Sym, ScalarType>) -> Option<Point> {
        let mut point = self.clone();
        for (unknown, said) in &news.unknowns {
            if point.get(unknown).is_none() {
                let n = point.chosen(unknown, said, params)?;
                point.set(unknown.clone(), n);
            }
        }
        let holds = news.facts.iter().all(|f| point.holds(f) == Some(true));
        holds.then_some(point)
    }

    /// Gives a number to what a condition mentions that has none: nothing is known of it but its type.
    fn give_all(&mut self, condition: &ElemRef, params: &BTreeMap<Sym, ScalarType>) {
        for unknown in unknowns(condition) {
            if self.get(&unknown).is_none()
                && let Some(n) = self.chosen(&unknown, &[], params)
            {
                self.set(unknown, n);
            }
        }
    }

    fn get(&self, unknown: &Unknown) -> Option<i128> {
        match unknown {
            Unknown::Sym(s) => self.syms.get(s).copied(),
            Unknown::Value(e) => self.value_of(e),
        }
    }

    fn value_of(&self, e: &Elem) -> Option<i128> {
        let known = self.values.iter().find(|(known, _)| **known == *e);
        known.map(|(_, n)| *n)
    }

    fn set(&mut self, unknown: Unknown, n: i128) {
        match unknown {
            Unknown::Sym(s) => _ = self.syms.insert(s, n),
            Unknown::Value(e) => self.values.push((e, n)),
        }
    }

    /// A number within the bounds that its type and the facts put on it, if there is one.
    fn chosen(
        &self,
        unknown: &Unknown,
        said: &[Comparison<'_>],
        params: &BTreeMap<Sym, ScalarType>,
    ) -> Option<i128> {
        let of_type = match unknown {
            Unknown::Sym(s) => params.get(s).map(|ty| (ty.min_value(), ty.max_value())),
            Unknown::Value(e) => Some(ranges::of(e)),
        };
        let (mut low, mut high) = match of_type {
            Some((low, high)) => (Some(low), Some(high)),
            None => (None, None),
        };
        for comparison in said {
            let (below, above) = self.bounds(unknown, *comparison);
            low = low.max(below);
            high = match (high, above) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        let mut mixed =
            self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (self.syms.len() as u64) << 7;
        mixed ^= mixed >> 29;
        mixed = mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (self.values.len() as u64);
        mixed ^= mixed >> 32;
        let little = i128::from(mixed % 9);
        // Some points have small numbers, some are at the ends, and some are far out.
        let (low, high) = match (low, high) {
            (Some(low), Some(high)) if low > high => return None,
            (Some(low), Some(high)) => (low, high),
            (Some(low), None) => (low, low.saturating_add(1 << 40)),
            (None, Some(high)) => (high.saturating_sub(1 << 40), high),
            (None, None) => (-(1 << 40), 1 << 40),
        };
        let around = |n: i128| n.clamp(low, high);
        let style = match self.seed % 8 {
            7 => mixed >> 8 & 7,
            style => style,
        };
        Some(match style {
            0 => around(low.max(0)),
            1 => around(low.max(0) + little),
            2 => high,
            3 => around(little - 3),
            4 => around(high - little),
            5 => around(low + little),
            6 => high - (high - low) / 2,
            _ => low,
        })
    }

    /// Between what a comparison leaves this number, if it says so in a way that is linear in it.
    fn bounds(
        &self,
        unknown: &Unknown,
        (op, a, b): Comparison<'_>,
    ) -> (Option<i128>, Option<i128>) {
        let none = (None, None);
        let difference = |n: i128| {
            let own = (unknown, n);
            self.number(a, Some(own))?
                .checked_sub(self.number(b, Some(own))?)
        };
        let (Some(at_0), Some(at_1)) = (difference(0), difference(1)) else {
            return none;
        };
        let Some(slope) = at_1.checked_sub(at_0).filter(|s| *s != 0) else {
            return none;
        };
        // `slope * n + at_0 >= 0`
        let least = |slope: i128, at_0: i128| match slope > 0 {
            true => (Some(-at_0.div_euclid(slope)), None),
            false => (None, Some(at_0.div_euclid(-slope))),
        };
        match op {
            CmpOp::Ge => least(slope, at_0),
            CmpOp::Gt => least(slope, at_0 - 1),
            CmpOp::Le => least(-slope, -at_0),
            CmpOp::Lt => least(-slope, -at_0 - 1),
            CmpOp::Eq => {
                let (up, down) = (least(slope, at_0), least(-slope, -at_0));
                (up.0.or(down.0), up.1.or(down.1))
            }
            CmpOp::Ne => none,
        }
    }

    /// Whether a condition holds here; `None` if that cannot be told.
    fn holds(&self, condition: &Elem) -> Option<bool> {
        match condition {
            Elem::Const(v) => Some(v.is_true()),
            Elem::IndexCompare(op, a, b) => {
                let (a, b) = (self.number(a, None)?, self.number(b, None)?);
                Some(op.holds(&a, &b))
            }
            Elem::Unary(UnOp::Not, a) => self.holds(a).map(|v| !v),
            Elem::Select(c, t, f) => match self.holds(c)? {
                true => self.holds(t),
                false => self.holds(f),
            },
            Elem::Binary(op, a, b) => {
                let (a, b) = (self.holds(a)?, self.holds(b)?);
                match op {
                    BinOp::And => Some(a && b),
                    BinOp::Or => Some(a || b),
                    BinOp::Xor => Some(a != b),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn number(&self, idx: &Idx, own: Option<(&Unknown, i128)>) -> Option<i128> {
        let sym = |s: &Sym| match own {
            Some((Unknown::Sym(name), n)) if name == s => Some(n),
            _ => self.syms.get(s).copied(),
        };
        let mut value = |e: &Elem| match own {
            Some((Unknown::Value(name), n)) if **name == *e => Some(n),
            _ => self.value_of(e),
        };
        idx.eval(&sym, &mut value)
    }
}

/// Facts, with what they say of each number.
struct Facts<'a> {
    facts: &'a [ElemRef],
    unknowns: Vec<(Unknown, Vec<Comparison<'a>>)>,
}

/// A comparison that holds.
type Comparison<'a> = (CmpOp, &'a Idx, &'a Idx);

impl<'a> Facts<'a> {
    fn of(facts: &'a [ElemRef], params: &BTreeMap<Sym, ScalarType>) -> Facts<'a> {
        let mut all: Vec<(Unknown, Vec<Comparison<'a>>)> = Vec::new();
        for fact in facts {
            let mut comparisons = Vec::new();
            said(fact, &mut comparisons);
            for u in unknowns(fact) {
                let at = match all.iter().position(|(known, _)| *known == u) {
                    Some(at) => at,
                    None => {
                        all.push((u, vec![]));
                        all.len() - 1
                    }
                };
                all[at].1.extend(&comparisons);
            }
        }
        // What counts is within bounds that are made of sizes.
        all.sort_by_key(|(u, _)| !matches!(u, Unknown::Sym(s) if params.contains_key(s)));
        Facts {
            facts,
            unknowns: all,
        }
    }
}

/// The comparisons that hold where all of a condition does.
fn said<'a>(condition: &'a Elem, out: &mut Vec<Comparison<'a>>) {
    let is_false = |e: &Elem| matches!(e, Elem::Const(v) if !v.is_true());
    match condition {
        Elem::IndexCompare(op, a, b) => out.push((*op, a, b)),
        Elem::Binary(BinOp::And, a, b) => [a, b].into_iter().for_each(|e| said(e, out)),
        Elem::Select(c, t, f) if is_false(f) => [c, t].into_iter().for_each(|e| said(e, out)),
        _ => {}
    }
}

/// The names and values that a condition mentions.
fn unknowns(condition: &Elem) -> Vec<Unknown> {
    let mut all = Vec::new();
    let mut add = |u: Unknown| {
        if !all.contains(&u) {
            all.push(u);
        }
    };
    let mut pending = vec![condition];
    while let Some(e) = pending.pop() {
        for idx in e.indices() {
            idx.for_each_sym(&mut |s| add(Unknown::Sym(s.clone())));
            idx.for_each_value(&mut |e| add(Unknown::Value(e.clone())));
        }
        pending.extend(e.children().into_iter().map(|c| &**c));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_least(idx: &Idx, n: i128) -> ElemRef {
        Elem::index_compare(CmpOp::Ge, idx.clone(), Idx::constant(n))
    }

    #[test]
    fn what_follows_is_not_refuted() {
        let (n, k, m) = (Idx::sym("n"), Idx::sym("k"), Idx::sym("m"));
        let facts = [at_least(&k, 0), at_least(&(&n - &k), 1)];
        let params = BTreeMap::from([("n".into(), ScalarType::I32)]);
        let mut points = Points::default();
        for (idx, least, follows) in [
            (n.clone(), 1, true),
            (n.clone(), 2, false),
            (&n - &k, 1, true),
            (&n - &k, 2, false),
            (k.clone(), 1, false),
            (&k * &k, 0, true),
            (&k * &k, 1, false),
            (-&n, -((1 << 31) - 1), true),
            (-&n, -(1 << 30), false),
            (&n - &m, 0, false),
            (n.floor_div(&Idx::constant(2)), 0, true),
            (n.floor_div(&Idx::constant(2)), 1, false),
        ] {
            let goal = at_least(&idx, least);
            let refuted = points.refute(&facts, &params, &goal);
            assert_eq!(refuted, !follows, "{goal}");
        }
    }

    #[test]
    fn no_point_lies_outside_of_a_type_or_where_facts_contradict() {
        let n = Idx::sym("n");
        let params = BTreeMap::from([("n".into(), ScalarType::I8)]);
        let never = at_least(&n, 500);
        let mut points = Points::default();
        for facts in [
            vec![at_least(&n, 200)],
            vec![at_least(&n, 3), at_least(&-&n, -2)],
        ] {
            assert!(!points.refute(&facts, &params, &never));
        }
        assert!(points.refute(&[at_least(&n, 3)], &params, &never));
    }

    #[test]
    fn facts_come_and_go() {
        let (n, k) = (Idx::sym("n"), Idx::sym("k"));
        let facts = [at_least(&n, 3), at_least(&k, 0), at_least(&(&n - &k), 1)];
        let mut points = Points::default();
        for count in [1, 2, 3, 1, 3, 0, 2] {
            let known = &facts[..count];
            let refute = |p: &mut Points, goal| p.refute(known, &BTreeMap::new(), &goal);
            assert_eq!(refute(&mut points, at_least(&n, 3)), count == 0);
            assert_eq!(refute(&mut points, at_least(&k, 0)), count < 2);
            assert!(refute(&mut points, at_least(&k, 1)));
        }
    }
}
