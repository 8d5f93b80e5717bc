//! Numbers that are one or none, as the sign of another one says.

use super::{Atom, Idx};

impl Idx {
    /// `min(1, max(0, self))`: 1 where the polynomial is positive, and else 0.
    pub fn indicator(&self) -> Idx {
        self.maximum(&Idx::default()).minimum(&Idx::constant(1))
    }

    /// The polynomial that this one is the [indicator](Idx::indicator) of.
    pub fn as_indicator(&self) -> Option<Idx> {
        self.as_atom()?.as_indicator()
    }

    /// A product without those of its factors that are [indicators](Idx::indicator), and what these are the indicators of:
    /// where the product is positive, so are these, and it is what is left. Of a sum, those are the factors of all terms.
    pub fn without_indicators(&self) -> (Idx, Vec<Idx>) {
        let mut common: Option<Vec<(&Atom, Idx)>> = None;
        for (factors, _) in self.terms() {
            match &mut common {
                None => {
                    let all = factors.iter().filter_map(|f| Some((f, f.as_indicator()?)));
                    common = Some(all.collect());
                }
                Some(common) => common.retain(|(f, _)| factors.contains(f)),
            }
        }
        let mut common = common.unwrap_or_default();
        common.dedup();
        let left = self.terms().map(|(factors, times)| {
            let left = factors
                .iter()
                .filter(|f| !common.iter().any(|(own, _)| own == f));
            (left.cloned().collect(), times)
        });
        let left = Idx::from_terms(left);
        (left, common.into_iter().map(|(_, n)| n).collect())
    }
}

impl Atom {
    fn as_indicator(&self) -> Option<Idx> {
        let beside = |known: &Idx, a: &Idx, b: &Idx| match (a == known, b == known) {
            (true, _) => Some(b.clone()),
            (_, true) => Some(a.clone()),
            _ => None,
        };
        let Atom::Min(a, b) = self else {
            return None;
        };
        match beside(&Idx::constant(1), a, b)?.as_atom()? {
            Atom::Max(a, b) => beside(&Idx::default(), a, b),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_that_are_one_or_none() {
        let (zero, one, three) = (Idx::default(), Idx::constant(1), Idx::constant(3));
        let (n, m, k) = (
            Idx::sym("n"),
            &Idx::sym("m") - &Idx::sym("k"),
            Idx::sym("k"),
        );
        assert_eq!(m.indicator().as_indicator(), Some(m.clone()));
        let product = &(&(&n * &m.indicator()) * &three) * &k.indicator();
        let (left, mut positive) = product.without_indicators();
        positive.sort();
        let mut expected = vec![m.clone(), k.clone()];
        expected.sort();
        assert_eq!((left, positive), (&n * &three, expected));
        // Of `n·[m] - k·[m]`, the one of both terms.
        let sum = &(&n * &m.indicator()) - &(&k * &m.indicator());
        assert_eq!(sum.without_indicators(), (&n - &k, vec![m.clone()]));
        let only_one = &(&n * &m.indicator()) - &k;
        assert_eq!(only_one.without_indicators(), (only_one.clone(), vec![]));
        assert_eq!(
            m.indicator().without_indicators(),
            (one.clone(), vec![m.clone()])
        );
        // Two at most, one at least, sums: nothing is known of the parts.
        for other in [
            Idx::constant(2).minimum(&zero.maximum(&m)),
            one.minimum(&one.maximum(&m)),
            one.minimum(&m),
            zero.maximum(&m),
            &m.indicator() + &n,
            &m.indicator() + &one,
            zero.clone(),
        ] {
            assert_eq!(other.without_indicators(), (other.clone(), vec![]));
            assert_eq!(other.as_indicator(), None);
        }
    }
}
