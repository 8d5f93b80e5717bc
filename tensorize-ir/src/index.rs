//! Integer polynomials over sizes and loop counters: shapes, extents, locations.
//!
//! Arithmetic here is mathematical, without width. Where a machine integer is
//! read as one of these, somebody has shown that it does not overflow.

use crate::element::Elem;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};
use std::sync::Arc;

/// The name of a size, a scalar parameter, or a bound variable. Names of bound variables are
/// unique in a term (see [`Fresh`]), so substitution never captures.
pub type Sym = Arc<str>;

/// A factor of a monomial.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    /// A size or a bound variable.
    Sym(Sym),
    /// `⌊a / b⌋`, rounded towards minus infinity; 0 where `b` is 0.
    FloorDiv(Box<Idx>, Box<Idx>),
    /// `a - b·⌊a / b⌋`; `a` where `b` is 0.
    Mod(Box<Idx>, Box<Idx>),
    /// The larger of two.
    Max(Box<Idx>, Box<Idx>),
    /// The smaller of two.
    Min(Box<Idx>, Box<Idx>),
    /// The mathematical value of a machine integer, such as one read from memory.
    Value(Arc<Elem>),
}

/// An integer polynomial, in normal form: equal polynomials are equal values of this type.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Idx {
    /// Sorted factors (empty for the constant term) to a coefficient that is not zero.
    terms: BTreeMap<Vec<Atom>, i128>,
}

impl Idx {
    /// The constant `value`.
    pub fn constant(value: i128) -> Idx {
        let mut idx = Idx::default();
        idx.insert(Vec::new(), value);
        idx
    }

    /// The variable `name`.
    pub fn sym(name: impl Into<Sym>) -> Idx {
        Idx::atom(Atom::Sym(name.into()))
    }

    /// The polynomial that is this one factor.
    pub fn atom(atom: Atom) -> Idx {
        let mut idx = Idx::default();
        idx.insert(vec![atom], 1);
        idx
    }

    fn insert(&mut self, monomial: Vec<Atom>, coefficient: i128) {
        let entry = self.terms.entry(monomial).or_insert(0);
        *entry += coefficient;
        if *entry == 0 {
            self.terms.retain(|_, c| *c != 0);
        }
    }

    /// The monomials (sorted factors) with their coefficients.
    pub fn terms(&self) -> impl Iterator<Item = (&[Atom], i128)> {
        self.terms.iter().map(|(m, c)| (m.as_slice(), *c))
    }

    /// The polynomial with just these monomials.
    pub fn from_terms(terms: impl IntoIterator<Item = (Vec<Atom>, i128)>) -> Idx {
        let mut idx = Idx::default();
        for (mut m, c) in terms {
            m.sort();
            idx.insert(m, c);
        }
        idx
    }

    /// The value, if the polynomial is a constant.
    pub fn as_constant(&self) -> Option<i128> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// The name, if the polynomial is a lone variable.
    pub fn as_sym(&self) -> Option<&Sym> {
        match self.terms.iter().next() {
            Some((m, 1)) if self.terms.len() == 1 => match m.as_slice() {
                [Atom::Sym(s)] => Some(s),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the polynomial is zero.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// `⌊self / divisor⌋`, simplified where the division is exact or both are constants.
    pub fn floor_div(&self, divisor: &Idx) -> Idx {
        match (self.as_constant(), divisor.as_constant()) {
            (_, Some(1)) => self.clone(),
            (_, Some(0)) => Idx::default(),
            (Some(a), Some(b)) => Idx::constant(floor_div(a, b)),
            (_, Some(b)) if self.terms.values().all(|c| c % b == 0) => Idx {
                terms: self.terms.iter().map(|(m, c)| (m.clone(), c / b)).collect(),
            },
            _ => Idx::atom(Atom::FloorDiv(
                Box::new(self.clone()),
                Box::new(divisor.clone()),
            )),
        }
    }

    /// `self - divisor·⌊self / divisor⌋`.
    pub fn modulo(&self, divisor: &Idx) -> Idx {
        match (self.as_constant(), divisor.as_constant()) {
            (_, Some(1)) => Idx::default(),
            (_, Some(0)) => self.clone(),
            (Some(a), Some(b)) => Idx::constant(a - b * floor_div(a, b)),
            (_, Some(b)) if self.terms.values().all(|c| c % b == 0) => Idx::default(),
            _ => Idx::atom(Atom::Mod(Box::new(self.clone()), Box::new(divisor.clone()))),
        }
    }

    /// The larger of two polynomials.
    pub fn maximum(&self, other: &Idx) -> Idx {
        match (self - other).as_constant() {
            Some(d) if d >= 0 => self.clone(),
            Some(_) => other.clone(),
            None => Idx::atom(Atom::Max(Box::new(self.clone()), Box::new(other.clone()))),
        }
    }

    /// The smaller of two polynomials.
    pub fn minimum(&self, other: &Idx) -> Idx {
        match (self - other).as_constant() {
            Some(d) if d <= 0 => self.clone(),
            Some(_) => other.clone(),
            None => Idx::atom(Atom::Min(Box::new(self.clone()), Box::new(other.clone()))),
        }
    }

    /// Replaces every variable for which `with` has an answer, also inside of atoms.
    pub fn substitute(&self, with: &dyn Fn(&Sym) -> Option<Idx>) -> Idx {
        let mut out = Idx::default();
        for (monomial, c) in &self.terms {
            let mut product = Idx::constant(*c);
            for atom in monomial {
                product = &product * &atom.substitute(with);
            }
            out = &out + &product;
        }
        out
    }

    /// Replaces the variable `name` by `value`.
    pub fn replace(&self, name: &str, value: &Idx) -> Idx {
        self.substitute(&|s| (&**s == name).then(|| value.clone()))
    }

    /// The coefficient of the variable `name`, and the rest, if the polynomial is linear in it and
    /// the variable occurs in no atom other than itself.
    pub fn linear_in(&self, name: &str) -> Option<(Idx, Idx)> {
        let (mut coefficient, mut rest) = (Idx::default(), Idx::default());
        for (monomial, c) in &self.terms {
            let is_it = |a: &Atom| matches!(a, Atom::Sym(s) if &**s == name);
            let count = monomial.iter().filter(|a| is_it(a)).count();
            let others: Vec<Atom> = monomial.iter().filter(|a| !is_it(a)).cloned().collect();
            if count > 1 || others.iter().any(|a| a.mentions(name)) {
                return None;
            }
            if count == 1 {
                &mut coefficient
            } else {
                &mut rest
            }
            .insert(others, *c);
        }
        Some((coefficient, rest))
    }

    /// Whether the variable `name` occurs, also inside of atoms.
    pub fn mentions(&self, name: &str) -> bool {
        self.terms.keys().flatten().any(|a| a.mentions(name))
    }

    /// Calls `f` for every variable that occurs free, also inside of atoms.
    pub fn for_each_sym(&self, f: &mut dyn FnMut(&Sym)) {
        for atom in self.terms.keys().flatten() {
            match atom {
                Atom::Sym(s) => f(s),
                Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => {
                    a.for_each_sym(f);
                    b.for_each_sym(f);
                }
                Atom::Value(e) => e.for_each_free_sym(f),
            }
        }
    }

    /// The value, given one for every variable; `value_of` answers for [`Atom::Value`]. `None` where
    /// one is missing or the result does not fit.
    pub fn eval(
        &self,
        sym: &dyn Fn(&Sym) -> Option<i128>,
        value_of: &mut dyn FnMut(&Elem) -> Option<i128>,
    ) -> Option<i128> {
        let mut sum = 0i128;
        for (monomial, c) in &self.terms {
            let mut product = *c;
            for atom in monomial {
                let v = match atom {
                    Atom::Sym(s) => sym(s)?,
                    Atom::Value(e) => value_of(e)?,
                    Atom::FloorDiv(a, b) => {
                        let (a, b) = (a.eval(sym, value_of)?, b.eval(sym, value_of)?);
                        if b == 0 { 0 } else { floor_div(a, b) }
                    }
                    Atom::Mod(a, b) => {
                        let (a, b) = (a.eval(sym, value_of)?, b.eval(sym, value_of)?);
                        if b == 0 { a } else { a - b * floor_div(a, b) }
                    }
                    Atom::Max(a, b) => a.eval(sym, value_of)?.max(b.eval(sym, value_of)?),
                    Atom::Min(a, b) => a.eval(sym, value_of)?.min(b.eval(sym, value_of)?),
                };
                product = product.checked_mul(v)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }

    /// The value over sizes alone (no [`Atom::Value`]).
    pub fn eval_sizes(&self, sym: &dyn Fn(&Sym) -> Option<i128>) -> Option<i128> {
        self.eval(sym, &mut |_| None)
    }
}

/// `⌊a / b⌋` for `b` other than zero.
pub fn floor_div(a: i128, b: i128) -> i128 {
    let q = a / b;
    if a % b != 0 && ((a < 0) != (b < 0)) {
        q - 1
    } else {
        q
    }
}

impl Atom {
    fn mentions(&self, name: &str) -> bool {
        match self {
            Atom::Sym(s) => &**s == name,
            Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => {
                a.mentions(name) || b.mentions(name)
            }
            Atom::Value(e) => e.mentions(name),
        }
    }

    fn substitute(&self, with: &dyn Fn(&Sym) -> Option<Idx>) -> Idx {
        match self {
            Atom::Sym(s) => with(s).unwrap_or_else(|| Idx::atom(self.clone())),
            Atom::FloorDiv(a, b) => a.substitute(with).floor_div(&b.substitute(with)),
            Atom::Mod(a, b) => a.substitute(with).modulo(&b.substitute(with)),
            Atom::Max(a, b) => a.substitute(with).maximum(&b.substitute(with)),
            Atom::Min(a, b) => a.substitute(with).minimum(&b.substitute(with)),
            Atom::Value(e) => match &*e.substitute(with) {
                Elem::OfIdx(_, idx) => idx.clone(),
                other => Idx::atom(Atom::Value(Arc::new(other.clone()))),
            },
        }
    }
}

impl From<i128> for Idx {
    fn from(value: i128) -> Idx {
        Idx::constant(value)
    }
}

impl Add for &Idx {
    type Output = Idx;
    fn add(self, other: &Idx) -> Idx {
        let mut out = self.clone();
        for (m, c) in &other.terms {
            out.insert(m.clone(), *c);
        }
        out
    }
}

impl Neg for &Idx {
    type Output = Idx;
    fn neg(self) -> Idx {
        Idx {
            terms: self.terms.iter().map(|(m, c)| (m.clone(), -c)).collect(),
        }
    }
}

impl Sub for &Idx {
    type Output = Idx;
    fn sub(self, other: &Idx) -> Idx {
        self + &-other
    }
}

impl Mul for &Idx {
    type Output = Idx;
    fn mul(self, other: &Idx) -> Idx {
        let mut out = Idx::default();
        for (a, ca) in &self.terms {
            for (b, cb) in &other.terms {
                let mut m = a.clone();
                m.extend(b.iter().cloned());
                m.sort();
                out.insert(m, ca * cb);
            }
        }
        out
    }
}

impl fmt::Display for Idx {
    /// As C would write it: `rows*cols + 2*k - 1`. `floordiv(a, b)`, `mod(a, b)`, `max(a, b)`,
    /// `min(a, b)` and `value(e)` for the atoms.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        // Longer products first, the constant last: how people write it.
        let mut terms: Vec<_> = self.terms.iter().collect();
        terms.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        for (i, (monomial, c)) in terms.into_iter().enumerate() {
            match (i, *c < 0) {
                (0, true) => f.write_str("-")?,
                (0, false) => {}
                (_, true) => f.write_str(" - ")?,
                (_, false) => f.write_str(" + ")?,
            }
            let magnitude = c.unsigned_abs();
            if monomial.is_empty() {
                write!(f, "{magnitude}")?;
                continue;
            }
            if magnitude != 1 {
                write!(f, "{magnitude}*")?;
            }
            for (j, atom) in monomial.iter().enumerate() {
                if j > 0 {
                    f.write_str("*")?;
                }
                write!(f, "{atom}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atom::Sym(s) => f.write_str(s),
            Atom::FloorDiv(a, b) => write!(f, "floordiv({a}, {b})"),
            Atom::Mod(a, b) => write!(f, "mod({a}, {b})"),
            Atom::Max(a, b) => write!(f, "max({a}, {b})"),
            Atom::Min(a, b) => write!(f, "min({a}, {b})"),
            Atom::Value(e) => write!(f, "value({e})"),
        }
    }
}

/// Makes names of bound variables that occur nowhere else.
#[derive(Clone, Debug, Default)]
pub struct Fresh {
    next: usize,
}

impl Fresh {
    /// A new name that starts with `stem`; the `'` in it keeps it apart from C's names.
    pub fn name(&mut self, stem: &str) -> Sym {
        let stem = stem.split('\'').next().unwrap_or("v");
        self.next += 1;
        format!("{stem}'{}", self.next).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(name: &str) -> Idx {
        Idx::sym(name)
    }

    #[test]
    fn polynomials_have_one_form() {
        let a = &(&s("i") * &s("n")) + &s("j");
        let b = &(&s("j") + &(&s("n") * &s("i"))) + &Idx::constant(0);
        assert_eq!(a, b);
        assert_eq!((&a - &b).as_constant(), Some(0));
        assert_eq!((&a + &Idx::constant(-1)).to_string(), "i*n + j - 1");
    }

    #[test]
    fn linear_parts_come_apart() {
        let a = &(&s("i") * &s("n")) + &s("j");
        let (c, rest) = a.linear_in("i").unwrap();
        assert_eq!((c, rest), (s("n"), s("j")));
        assert!((&s("i") * &s("i")).linear_in("i").is_none());
        assert!(s("i").floor_div(&Idx::constant(2)).linear_in("i").is_none());
    }

    #[test]
    fn division_rounds_down() {
        assert_eq!(
            Idx::constant(-7).floor_div(&Idx::constant(2)).as_constant(),
            Some(-4)
        );
        assert_eq!(
            Idx::constant(-7).modulo(&Idx::constant(2)).as_constant(),
            Some(1)
        );
        let four_n = &Idx::constant(4) * &s("n");
        assert_eq!(
            four_n.floor_div(&Idx::constant(2)),
            &Idx::constant(2) * &s("n")
        );
    }
}
