//! Integer polynomials over sizes and loop counters: shapes, extents, locations.
//!
//! Arithmetic here is mathematical, without width. Where a machine integer is
//! read as one of these, somebody has shown that it does not overflow.

use crate::element::{Elem, ElemRef};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

mod indicator;
mod nested;

pub use nested::{Nested, Remainder, gcd};

/// Numbers the coefficients that did not fit.
static OVERFLOWS: AtomicU64 = AtomicU64::new(1);

/// The name of a size, a scalar parameter, or a bound variable. Bound variables that we make are
/// unique (see [`Fresh`]); where a text reuses a name, substitution renames.
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
        idx.insert(Vec::new(), Some(value));
        idx
    }

    /// The variable `name`.
    pub fn sym(name: impl Into<Sym>) -> Idx {
        Idx::atom(Atom::Sym(name.into()))
    }

    /// The polynomial that is this one factor.
    pub fn atom(atom: Atom) -> Idx {
        let mut idx = Idx::default();
        idx.insert(vec![atom], Some(1));
        idx
    }

    /// The value of the machine integer `e`.
    pub fn value(e: ElemRef) -> Idx {
        match &*e {
            Elem::Const(v) => Idx::constant(v.as_int()),
            _ => Idx::atom(Atom::Value(e)),
        }
    }

    /// Adds `coefficient · monomial`; `None` stands for a coefficient that `i128` cannot hold.
    fn insert(&mut self, monomial: Vec<Atom>, coefficient: Option<i128>) {
        crate::limit::tick();
        let old = self.terms.remove(&monomial).unwrap_or(0);
        match coefficient.and_then(|c| old.checked_add(c)) {
            Some(0) => {}
            Some(sum) => {
                self.terms.insert(monomial, sum);
            }
            // A variable that equals nothing and has no value: nobody can prove anything about it.
            None => {
                let n = OVERFLOWS.fetch_add(1, Relaxed);
                let unknown = Atom::Sym(format!("overflow'{n}").into());
                self.terms.insert(vec![unknown], 1);
            }
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
            idx.insert(m, Some(c));
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

    /// The factor, if the polynomial is a lone one.
    pub fn as_atom(&self) -> Option<&Atom> {
        match self.terms.iter().next() {
            Some((m, 1)) if self.terms.len() == 1 => match m.as_slice() {
                [atom] => Some(atom),
                _ => None,
            },
            _ => None,
        }
    }

    /// The name, if the polynomial is a lone variable.
    pub fn as_sym(&self) -> Option<&Sym> {
        match self.as_atom()? {
            Atom::Sym(s) => Some(s),
            _ => None,
        }
    }

    /// The machine integer, if the polynomial is the value of one.
    pub fn as_value(&self) -> Option<&ElemRef> {
        match self.as_atom()? {
            Atom::Value(e) => Some(e),
            _ => None,
        }
    }

    /// Whether the polynomial is zero.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// `⌊self / divisor⌋`. By a constant, `⌊(4i + r) / 4⌋` is written `i + ⌊r / 4⌋`.
    pub fn floor_div(&self, divisor: &Idx) -> Idx {
        match (self.as_constant(), divisor.as_constant()) {
            (_, Some(1)) => self.clone(),
            (_, Some(-1)) => -self,
            (_, Some(0)) | (Some(0), _) => Idx::default(),
            (Some(a), Some(b)) => Idx::constant(floor_div(a, b)),
            (None, Some(b)) => {
                let (multiple, rest) = self.split_multiple(b);
                let over = |b| Atom::FloorDiv(Box::new(rest.clone()), Box::new(Idx::constant(b)));
                match rest.as_constant() {
                    Some(r) => &multiple + &Idx::constant(floor_div(r, b)),
                    None => &multiple + &Idx::atom(over(b)),
                }
            }
            (_, None) => Idx::atom(Atom::FloorDiv(
                Box::new(self.clone()),
                Box::new(divisor.clone()),
            )),
        }
    }

    /// `self - divisor·⌊self / divisor⌋`. By a constant, `(4i + r) mod 4` is written `r mod 4`.
    pub fn modulo(&self, divisor: &Idx) -> Idx {
        match (self.as_constant(), divisor.as_constant()) {
            (_, Some(1 | -1)) | (Some(0), _) => Idx::default(),
            (_, Some(0)) => self.clone(),
            (Some(a), Some(b)) => Idx::constant(floor_mod(a, b)),
            (None, Some(b)) => {
                let rest = self.split_multiple(b).1;
                match rest.as_constant() {
                    Some(r) => Idx::constant(floor_mod(r, b)),
                    None => Idx::atom(Atom::Mod(Box::new(rest), Box::new(divisor.clone()))),
                }
            }
            (_, None) => Idx::atom(Atom::Mod(Box::new(self.clone()), Box::new(divisor.clone()))),
        }
    }

    /// `(q, r)` such that `self = b·q + r`, where `r` has no monomial that is a multiple of `b`.
    fn split_multiple(&self, b: i128) -> (Idx, Idx) {
        let (mut q, mut r) = (Idx::default(), Idx::default());
        for (m, c) in &self.terms {
            if m.is_empty() {
                q.insert(vec![], Some(floor_div(*c, b)));
                r.insert(vec![], Some(floor_mod(*c, b)));
            } else if c % b == 0 {
                q.insert(m.clone(), Some(c / b));
            } else {
                r.insert(m.clone(), Some(*c));
            }
        }
        (q, r)
    }

    /// The larger of two polynomials.
    pub fn maximum(&self, other: &Idx) -> Idx {
        match (self - other).as_constant() {
            Some(d) if d >= 0 => self.clone(),
            Some(_) => other.clone(),
            None => {
                let (a, b) = self.in_order(other);
                Idx::atom(Atom::Max(a, b))
            }
        }
    }

    /// The smaller of two polynomials.
    pub fn minimum(&self, other: &Idx) -> Idx {
        match (self - other).as_constant() {
            Some(d) if d <= 0 => self.clone(),
            Some(_) => other.clone(),
            None => {
                let (a, b) = self.in_order(other);
                Idx::atom(Atom::Min(a, b))
            }
        }
    }

    fn in_order(&self, other: &Idx) -> (Box<Idx>, Box<Idx>) {
        let (a, b) = if self <= other {
            (self, other)
        } else {
            (other, self)
        };
        (Box::new(a.clone()), Box::new(b.clone()))
    }

    /// Replaces every variable for which `with` has an answer, also inside of atoms.
    pub fn substitute(&self, with: &dyn Fn(&Sym) -> Option<Idx>) -> Idx {
        self.map_atoms(&mut |a| match a {
            Atom::Sym(s) => with(s),
            Atom::Value(e) => Some(Idx::value(e.substitute(with))),
            _ => None,
        })
    }

    /// Replaces atoms, outermost first: where `with` answers, its answer stands; elsewhere the parts
    /// of the atom are mapped, except for the expression in an [`Atom::Value`].
    pub fn map_atoms(&self, with: &mut dyn FnMut(&Atom) -> Option<Idx>) -> Idx {
        let mut out = Idx::default();
        for (monomial, c) in &self.terms {
            let mut product = Idx::constant(*c);
            for atom in monomial {
                product = &product * &atom.map(with);
            }
            out = &out + &product;
        }
        out
    }

    /// Replaces the expression in every [`Atom::Value`].
    pub fn map_values(&self, with: &mut dyn FnMut(&ElemRef) -> ElemRef) -> Idx {
        if !self.has_values() {
            return self.clone();
        }
        self.map_atoms(&mut |a| match a {
            Atom::Value(e) => Some(Idx::value(with(e))),
            _ => None,
        })
    }

    /// Calls `f` for the expression in every [`Atom::Value`].
    pub fn for_each_value<'a>(&'a self, f: &mut dyn FnMut(&'a ElemRef)) {
        for atom in self.terms.keys().flatten() {
            match atom {
                Atom::Sym(_) => {}
                Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => {
                    a.for_each_value(f);
                    b.for_each_value(f);
                }
                Atom::Value(e) => f(e),
            }
        }
    }

    /// Whether the contents of an array say what it is.
    pub fn reads(&self) -> bool {
        let mut any = false;
        self.for_each_value(&mut |e| e.visit(&mut |x| any |= matches!(**x, Elem::Read { .. })));
        any
    }

    /// Whether the value of an expression occurs.
    pub fn has_values(&self) -> bool {
        let mut any = false;
        self.for_each_value(&mut |_| any = true);
        any
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
            let part = if count == 1 {
                &mut coefficient
            } else {
                &mut rest
            };
            part.insert(others, Some(*c));
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
                        match b {
                            0 => 0,
                            -1 => a.checked_neg()?,
                            _ => floor_div(a, b),
                        }
                    }
                    Atom::Mod(a, b) => {
                        let (a, b) = (a.eval(sym, value_of)?, b.eval(sym, value_of)?);
                        match b {
                            0 => a,
                            -1 => 0,
                            _ => floor_mod(a, b),
                        }
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

/// `⌊a / b⌋` for `b` other than 0 and -1.
pub fn floor_div(a: i128, b: i128) -> i128 {
    let q = a / b;
    if a % b != 0 && ((a < 0) != (b < 0)) {
        q - 1
    } else {
        q
    }
}

/// `a - b·⌊a / b⌋`, whose sign is that of `b`. Nothing in between can overflow.
pub fn floor_mod(a: i128, b: i128) -> i128 {
    let rest = a.checked_rem(b).unwrap_or(0);
    if rest != 0 && ((rest < 0) != (b < 0)) {
        rest + b
    } else {
        rest
    }
}

impl Atom {
    /// Whether the variable `name` occurs in it.
    pub fn mentions(&self, name: &str) -> bool {
        match self {
            Atom::Sym(s) => &**s == name,
            Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => {
                a.mentions(name) || b.mentions(name)
            }
            Atom::Value(e) => e.mentions(name),
        }
    }

    fn map(&self, with: &mut dyn FnMut(&Atom) -> Option<Idx>) -> Idx {
        if let Some(idx) = with(self) {
            return idx;
        }
        match self {
            Atom::Sym(_) | Atom::Value(_) => Idx::atom(self.clone()),
            Atom::FloorDiv(a, b) => a.map_atoms(with).floor_div(&b.map_atoms(with)),
            Atom::Mod(a, b) => a.map_atoms(with).modulo(&b.map_atoms(with)),
            Atom::Max(a, b) => a.map_atoms(with).maximum(&b.map_atoms(with)),
            Atom::Min(a, b) => a.map_atoms(with).minimum(&b.map_atoms(with)),
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
            out.insert(m.clone(), Some(*c));
        }
        out
    }
}

impl Neg for &Idx {
    type Output = Idx;
    fn neg(self) -> Idx {
        let mut out = Idx::default();
        for (m, c) in &self.terms {
            out.insert(m.clone(), c.checked_neg());
        }
        out
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
                out.insert(m, ca.checked_mul(*cb));
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
        if let Some(nested) = self.nested() {
            return write!(f, "{nested}");
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
    /// Makes none of the names in `e`.
    pub fn avoiding(e: &ElemRef) -> Fresh {
        let mut fresh = Fresh::default();
        fresh.avoid(e);
        fresh
    }

    /// From now on, makes none of the names in `e`.
    pub fn avoid(&mut self, e: &ElemRef) {
        e.visit(&mut |e| match &**e {
            Elem::Fold(f) => {
                self.avoid_name(&f.var);
                f.lanes().for_each(|lane| self.avoid_name(lane.acc));
            }
            Elem::Acc(name, _) => self.avoid_name(name),
            _ => {}
        });
        e.for_each_free_sym(&mut |s| self.avoid_name(s));
    }

    /// From now on, does not make this name.
    pub fn avoid_name(&mut self, name: &str) {
        if let Some(n) = name.rsplit_once('\'').and_then(|(_, n)| n.parse().ok()) {
            // Numbers that large are never reached.
            self.next = self.next.max(if n < usize::MAX / 2 { n } else { 0 });
        }
    }

    /// A new name that starts with `stem`; the `'` in it keeps it apart from C's names.
    pub fn name(&mut self, stem: &str) -> Sym {
        let stem = stem.split(['\'', '@', '%']).next().unwrap_or("v");
        self.next += 1;
        format!("{stem}'{}", self.next).into()
    }
}

#[cfg(test)]
mod tests;
