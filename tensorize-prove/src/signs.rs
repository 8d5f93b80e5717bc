//! Polynomials that are not negative because of what they are made of.
//!
//! `h·w - w·y - x - 1` is `w·(h - 1 - y) + (w - 1 - x)`: where `y < h` and `x < w`, a sum of products of what is not
//! negative. The solver, which knows products by name only, takes long over such a sum, or for ever.

use crate::decode::divide;
use std::collections::BTreeSet;
use tensorize_ir::index::{Atom, Idx};

/// Divisions that are tried. Most of what is a sum of such products takes as many as it has terms.
const TRIES: usize = 100;

/// Whether `p` is a sum of products of the `facts`, each of which is not negative, and so is not negative itself. What isn't
/// found to be one may be, nevertheless.
pub fn is_non_negative(p: &Idx, facts: &[&Idx]) -> bool {
    let mut search = Search {
        atoms: BTreeSet::new(),
        sums: facts.iter().copied().filter(|f| is_sum(f)).collect(),
        tries: TRIES,
    };
    // What is no less than another, as `w` in `w - 1 - x`, may only be seen not to be negative after that.
    loop {
        let more: Vec<&Atom> = facts.iter().filter_map(|f| search.lone_atom(f)).collect();
        if more.is_empty() {
            return search.shows(p);
        }
        search.atoms.extend(more);
    }
}

struct Search<'a> {
    /// What is known not to be negative: factors, and sums.
    atoms: BTreeSet<&'a Atom>,
    sums: Vec<&'a Idx>,
    tries: usize,
}

impl<'a> Search<'a> {
    /// Whether all factors of a product are known not to be negative.
    fn knows(&self, monomial: &[Atom]) -> bool {
        monomial.iter().all(|atom| self.atoms.contains(atom))
    }

    /// The factor that a fact says is no less than something that isn't negative, if that is news.
    fn lone_atom(&self, fact: &'a Idx) -> Option<&'a Atom> {
        let mut atom = None;
        for (monomial, c) in fact.terms() {
            match monomial {
                [a] if c > 0 && atom.is_none() => atom = Some(a),
                _ if c < 0 && self.knows(monomial) => {}
                _ => return None,
            }
        }
        atom.filter(|a| !self.atoms.contains(a))
    }

    fn shows(&mut self, p: &Idx) -> bool {
        if p.terms().all(|(m, c)| c > 0 && self.knows(m)) {
            return true;
        }
        (0..self.sums.len()).any(|i| {
            if self.tries == 0 {
                return false;
            }
            self.tries -= 1;
            let (times, left) = divide(p, self.sums[i]);
            !times.is_zero() && size(&left) < size(p) && self.shows(&times) && self.shows(&left)
        })
    }
}

fn is_sum(fact: &Idx) -> bool {
    fact.terms().nth(1).is_some()
}

/// What gets less while parts are taken off.
fn size(p: &Idx) -> usize {
    p.terms().map(|(m, _)| m.len()).sum()
}
