//! Halves of what is even, as packed triangles are made of: a row of the first `k` begins at `(k² + k) / 2`.

use std::collections::BTreeSet;
use tensorize_ir::index::{Atom, Idx};

/// `⌊p / 2⌋` of what is even, as `k² + k` is, is a half that two of make the whole: there is one form for it, with the
/// coefficients of `p` and of the half 0 or 1. So `⌊(k² + 3k + 2) / 2⌋` is `⌊(k² + k) / 2⌋ + k + 1`, and `-⌊(-k² - k) / 2⌋` is
/// `⌊(k² + k) / 2⌋`.
pub(super) fn normal(i: Idx) -> Idx {
    let half = |atom: &Atom| match atom {
        Atom::FloorDiv(a, b) if b.as_constant() == Some(2) && is_even(a) => Some((**a).clone()),
        _ => None,
    };
    if !i.terms().any(|(m, _)| m.iter().any(|a| half(a).is_some())) {
        return i;
    }
    let two = Idx::constant(2);
    let normal = i.map_atoms(&mut |atom| {
        let (wholes, odd) = in_twos(&half(atom)?);
        Some(&wholes + &odd.floor_div(&two))
    });
    let mut out = Idx::default();
    for (monomial, c) in normal.terms() {
        let at = monomial.iter().position(|a| half(a).is_some());
        let rest = |at: usize| [&monomial[..at], &monomial[at + 1..]].concat();
        let term = match at {
            Some(at) => {
                let twice = half(&monomial[at]).unwrap_or_default();
                let times = |c: i128| Idx::from_terms([(rest(at), c)]);
                let pairs = &times(c.div_euclid(2)) * &twice;
                &pairs + &Idx::from_terms([(monomial.to_vec(), c.rem_euclid(2))])
            }
            None => Idx::from_terms([(monomial.to_vec(), c)]),
        };
        out = &out + &term;
    }
    out
}

/// `(q, r)` such that `i = 2q + r`, where `r` has no coefficients but 0 and 1.
fn in_twos(i: &Idx) -> (Idx, Idx) {
    let part = |of: fn(i128) -> i128| Idx::from_terms(i.terms().map(|(m, c)| (m.to_vec(), of(c))));
    (part(|c| c.div_euclid(2)), part(|c| c.rem_euclid(2)))
}

/// Whether all values of a polynomial are even, as those of `k² + k` are: modulo 2, powers are what they are powers of.
fn is_even(i: &Idx) -> bool {
    let mut odd: BTreeSet<BTreeSet<&Atom>> = BTreeSet::new();
    for (monomial, c) in i.terms() {
        let factors: BTreeSet<&Atom> = monomial.iter().collect();
        if c % 2 != 0 && !odd.remove(&factors) {
            odd.insert(factors);
        }
    }
    odd.is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::idx;
    use tensorize_ir::index::Idx;
    use tensorize_ir::loopir::Param;
    use tensorize_ir::scalar::ScalarType;
    use tensorize_ir::text::parse_idx;

    fn parsed(text: &str) -> Idx {
        let param = |name: &str| Param::Scalar {
            name: name.into(),
            ty: ScalarType::I32,
        };
        parse_idx(text, &["n", "k", "m"].map(param)).unwrap()
    }

    fn same_at_all_points(a: &Idx, b: &Idx) -> bool {
        let range = -4..5i128;
        let points = range
            .clone()
            .flat_map(|n| range.clone().map(move |k| (n, k)));
        let at = |i: &Idx, (n, k): (i128, i128)| {
            i.eval_sizes(&|s| match &**s {
                "n" => Some(n),
                "k" => Some(k),
                _ => Some(3 * n - k),
            })
        };
        points.into_iter().all(|p| at(a, p) == at(b, p))
    }

    /// One form for what is the same, and another for what is not.
    #[test]
    fn halves_have_one_form() {
        let same = [
            ("floordiv(k*k + 3*k + 2, 2)", "floordiv(k*k + k, 2) + k + 1"),
            ("floordiv(-k*k - k, 2)", "-floordiv(k*k + k, 2)"),
            ("2*m*floordiv(k*k - k, 2)", "m*k*k - m*k"),
            (
                "floordiv(2*n*k - k*k - k, 2) - n*k",
                "floordiv(k*k - k, 2) - k*k",
            ),
            (
                "floordiv(n*n*k - 3*k*n, 2)",
                "n*n*k - floordiv(k*n*n + 3*k*n, 2)",
            ),
            ("3*floordiv(k*k + k, 2)", "k*k + k - floordiv(-k - k*k, 2)"),
        ];
        for (a, b) in same {
            let (x, y) = (parsed(a), parsed(b));
            assert!(same_at_all_points(&x, &y), "{a} is not {b}");
            assert_eq!(idx(&x), idx(&y), "{a}, {b}");
            assert!(same_at_all_points(&x, &idx(&x)), "{a} is not {}", idx(&x));
            assert_eq!(idx(&idx(&x)), idx(&x), "{a}");
        }
        let others = [
            ("floordiv(k*k + k, 2)", "floordiv(k*k - k, 2)"),
            // Odd for some: to cut down is not to halve.
            ("floordiv(-k*k, 2)", "-floordiv(k*k, 2)"),
            ("2*floordiv(k*n + k, 2)", "k*n + k"),
            (
                "floordiv(k*k + k + 1, 2) + floordiv(k*k + k, 2)",
                "k*k + k + 1",
            ),
            ("2*floordiv(k*n + n*n, 2)", "k*n + n*n"),
        ];
        for (a, b) in others {
            let (x, y) = (parsed(a), parsed(b));
            assert!(!same_at_all_points(&x, &y), "{a} is {b}");
            assert_ne!(idx(&x), idx(&y), "{a}, {b}");
            assert!(same_at_all_points(&x, &idx(&x)), "{a} is not {}", idx(&x));
        }
    }
}
