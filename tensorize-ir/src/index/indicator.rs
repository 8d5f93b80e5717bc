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
    /// where the product is positive, so are these, and it is what is left.
    pub fn without_indicators(&self) -> (Idx, Vec<Idx>) {
        let mut terms = self.terms();
        let (Some((factors, times)), None) = (terms.next(), terms.next()) else {
            return (self.clone(), vec![]);
        };
        let (mut left, mut positive) = (Vec::new(), Vec::new());
        for factor in factors {
            match factor.as_indicator() {
                Some(n) => positive.push(n),
                None => left.push(factor.clone()),
            }
        }
        (Idx::from_terms([(left, times)]), positive)
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
        let mut expected = vec![m.clone(), k];
        expected.sort();
        assert_eq!((left, positive), (&n * &three, expected));
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
