//! Polynomials as people write locations: `(i*rows + j)*(cols - 2) + k`, not multiplied out.

use super::{Atom, Idx};
use std::collections::BTreeSet;
use std::fmt;

/// `quotient * divisor + rest`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nested {
    /// Not zero.
    pub quotient: Idx,
    /// Of at least two terms.
    pub divisor: Idx,
    /// May be zero.
    pub rest: Idx,
}

/// `factor * (dividend mod divisor) + rest`, rounded as [`Idx::modulo`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remainder {
    /// Not zero.
    pub factor: Idx,
    /// Of the division.
    pub dividend: Idx,
    /// A variable or a constant; not zero, if it is a constant.
    pub divisor: Idx,
    /// May be zero.
    pub rest: Idx,
}

/// Below it, nothing gets shorter.
const FEWEST_TERMS: usize = 4;

/// Divisors of more terms aren't what people multiply with.
const MOST_TERMS: usize = 4;

impl Idx {
    /// The same polynomial with one sum taken out, if that makes it shorter: the pitch of rows that are `cols - 2`
    /// long, say.
    pub fn nested(&self) -> Option<Nested> {
        if self.terms.len() < FEWEST_TERMS {
            return None;
        }
        let length = |n: &Nested| n.quotient.length() + n.divisor.length() + n.rest.length();
        self.divisors()
            .iter()
            .flat_map(|d| d.terms.keys().map(move |m| (d, m)))
            .filter_map(|(d, m)| match m.as_slice() {
                [by] => self.divided(d, by),
                _ => None,
            })
            .min_by_key(length)
            .filter(|n| length(n) < self.length())
    }

    /// The same polynomial with one remainder taken out, if one is multiplied out in it: `w*((y + h) mod h)` of
    /// `w*y + w*h - w*h*⌊(y + h) / h⌋`. Where the divisor is 0, both are the dividend.
    pub fn remainder(&self) -> Option<Remainder> {
        let atoms: BTreeSet<&Atom> = self.terms.keys().flatten().collect();
        let mut found = atoms.into_iter().filter_map(|atom| {
            let Atom::FloorDiv(dividend, divisor) = atom else {
                return None;
            };
            let [without, times] = self.coefficients(atom)?.try_into().ok()?;
            let factor = -&times.over(divisor)?;
            let rest = &without - &(&factor * dividend);
            let shorter = rest.terms.len() < without.terms.len() || rest.is_zero();
            shorter.then(|| Remainder {
                factor,
                dividend: (**dividend).clone(),
                divisor: (**divisor).clone(),
                rest,
            })
        });
        found.next()
    }

    /// Division by one variable or a constant, without anything left.
    fn over(&self, divisor: &Idx) -> Option<Idx> {
        let mut terms = Vec::new();
        for (monomial, c) in &self.terms {
            let mut left = monomial.clone();
            terms.push(match (divisor.as_atom(), divisor.as_constant()) {
                (Some(atom), _) => {
                    left.remove(left.iter().position(|a| a == atom)?);
                    (left, *c)
                }
                (_, Some(d)) if d != 0 && c % d == 0 => (left, c / d),
                _ => return None,
            });
        }
        Some(Idx::from_terms(terms))
    }

    /// How many factors stand in it.
    fn length(&self) -> usize {
        self.terms
            .keys()
            .map(|monomial| monomial.len().max(1))
            .sum()
    }

    /// The sums that a variable is multiplied with.
    fn divisors(&self) -> BTreeSet<Idx> {
        let atoms: BTreeSet<&Atom> = self.terms.keys().flatten().collect();
        let sums = atoms.into_iter().filter_map(|atom| {
            let with = self.coefficients(atom)?.pop()?.without_common_factors();
            (2..=MOST_TERMS).contains(&with.terms.len()).then_some(with)
        });
        sums.collect()
    }

    /// What is left when that is taken out which all terms have: `a + 2*b` of `2*a*n + 4*b*n`. Most of it is added,
    /// not subtracted.
    fn without_common_factors(&self) -> Idx {
        let Some(first) = self.terms.keys().next() else {
            return Idx::default();
        };
        let mut common = first.clone();
        common.dedup();
        common.retain(|a| self.terms.keys().all(|m| m.contains(a)));
        let number = self.terms.values().fold(0, |n, c| gcd(n, c.unsigned_abs()));
        let negative = self.terms.values().filter(|c| **c < 0).count();
        let sign = if 2 * negative > self.terms.len() {
            -1
        } else {
            1
        };
        let number = sign * i128::try_from(number).unwrap_or(1);
        Idx::from_terms(self.terms.iter().map(|(monomial, c)| {
            let mut left = monomial.clone();
            for atom in &common {
                left.remove(left.iter().position(|a| a == atom).unwrap_or_default());
            }
            (left, c / number)
        }))
    }

    /// Division by `divisor` as polynomials in `by`, in which the divisor is `by`, or minus `by`, and something.
    fn divided(&self, divisor: &Idx, by: &Atom) -> Option<Nested> {
        let [low, unit] = divisor.coefficients(by)?.try_into().ok()?;
        let unit = unit.as_constant().filter(|c| c.abs() == 1)?;
        // The highest power's coefficient first; what is left over goes to the power below.
        let mut quotient = Idx::default();
        let mut carried = Idx::default();
        let by = Idx::atom(by.clone());
        for (power, c) in self.coefficients(by.as_atom()?)?.iter().enumerate().rev() {
            let here = c + &carried;
            if power == 0 && quotient.is_zero() {
                return None;
            } else if power == 0 {
                // `w*(h - i)` rather than `-w*(i - h)`.
                let down = quotient.terms.values().all(|c| *c < 0);
                let turned = |p: &Idx| if down { -p } else { p.clone() };
                return Some(Nested {
                    quotient: turned(&quotient),
                    divisor: turned(divisor),
                    rest: here,
                });
            }
            let here = &here * &Idx::constant(unit);
            carried = -&(&here * &low);
            quotient = &(&quotient * &by) + &here;
        }
        None
    }

    /// The coefficients of the powers of `atom`, the constant one first; `None` if it occurs inside of another atom.
    fn coefficients(&self, atom: &Atom) -> Option<Vec<Idx>> {
        let mut powers = Vec::new();
        for (monomial, c) in &self.terms {
            let (it, others): (Vec<_>, Vec<_>) = monomial.iter().cloned().partition(|a| a == atom);
            let inside = |a: &Atom| matches!(atom, Atom::Sym(name) if a.mentions(name));
            if others.iter().any(inside) {
                return None;
            }
            if powers.len() <= it.len() {
                powers.resize_with(it.len() + 1, Idx::default);
            }
            powers[it.len()].insert(others, Some(*c));
        }
        Some(powers)
    }
}

/// The greatest common divisor; the other one, if one is 0.
pub fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl fmt::Display for Nested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quotient.terms.len() {
            1 => write!(f, "{}*({})", self.quotient, self.divisor)?,
            _ => write!(f, "({})*({})", self.quotient, self.divisor)?,
        }
        if self.rest.is_zero() {
            return Ok(());
        }
        let rest = self.rest.to_string();
        match rest.strip_prefix('-') {
            Some(less) => write!(f, " - {less}"),
            None => write!(f, " + {rest}"),
        }
    }
}
