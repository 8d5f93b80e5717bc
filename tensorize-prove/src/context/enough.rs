//! Conditions on sizes that are enough for one on indices.

use super::Context;
use crate::canon;
use tensorize_ir::element::Elem;
use tensorize_ir::index::{Atom, Idx};
use tensorize_ir::op::CmpOp;

impl Context<'_> {
    /// What of the sizes must not be negative so that `idx` is not: itself, or what it exceeds multiples of something by that are
    /// known not to be, such as `n - 2*m + 1` for the `n - 1 - 2*k` of a round `k` below `m`.
    pub fn enough_of_sizes(&mut self, idx: &Idx) -> Option<Vec<Idx>> {
        /// Counters that one index speaks of.
        const MOST: usize = 4;
        let mut all = Vec::new();
        let found = self.enough_without(idx, MOST, &mut all);
        found.then_some(all)
    }

    fn enough_without(&mut self, idx: &Idx, counters: usize, all: &mut Vec<Idx>) -> bool {
        if self.is_over_params(idx) {
            // No call that gets here would meet a guard that is false here.
            let may_be = !self.proves(CmpOp::Lt, idx, &Idx::default());
            all.extend(may_be.then(|| idx.clone()));
            return may_be;
        }
        if counters == 0 || self.of_code {
            return false;
        }
        if let Some(multiplied) = self.without_quotient(idx) {
            return self.enough_without(&multiplied, counters - 1, all);
        }
        let mut atoms = idx.terms().flat_map(|(monomial, _)| monomial);
        let counter = atoms.find_map(|atom| match atom {
            Atom::Sym(s) if !self.params.contains_key(s) => Some(s.clone()),
            _ => None,
        });
        let Some((counter, (times, _))) =
            counter.and_then(|c| Some((c.clone(), idx.linear_in(&c)?)))
        else {
            return false;
        };
        let known = self.facts.iter().filter_map(|fact| match &**fact {
            Elem::IndexCompare(CmpOp::Ge, known, zero) if zero.is_zero() => {
                let by = known.linear_in(&counter)?.0.as_constant()?;
                (by.abs() == 1).then(|| (known.clone(), &times * &Idx::constant(by)))
            }
            _ => None,
        });
        for (known, times) in known.collect::<Vec<_>>() {
            let is_known = self.is_non_negative(&times);
            // A pitch is hardly ever negative.
            let may_be = self.is_over_params(&times) && times.terms().all(|(_, n)| n > 0);
            if !is_known && !may_be {
                continue;
            }
            let before = all.len();
            all.extend((!is_known).then_some(times.clone()));
            let beyond = canon::idx(&(idx - &(&known * &times)));
            if self.enough_without(&beyond, counters - 1, all) {
                return true;
            }
            all.truncate(before);
        }
        false
    }

    /// Of `r - floordiv(a, b)`, where neither `a` nor `b` is negative: `(r + 1)*b - 1 - a`. If this is not negative, nor is that:
    /// `b` is at least 1 then, and `a` below `(r + 1)*b`.
    fn without_quotient(&mut self, idx: &Idx) -> Option<Idx> {
        let (a, b) = idx.terms().find_map(|(monomial, n)| match monomial {
            [Atom::FloorDiv(a, b)] if n == -1 => Some((a.clone(), b.clone())),
            _ => None,
        })?;
        let quotient = Idx::atom(Atom::FloorDiv(a.clone(), b.clone()));
        let one = Idx::constant(1);
        let places = &(&(idx + &quotient) + &one) * &b;
        let both = self.is_non_negative(&a) && self.is_non_negative(&b);
        both.then(|| canon::idx(&(&(&places - &one) - &a)))
    }
}
