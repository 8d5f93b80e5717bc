//! Polynomials with rational coefficients over named quantities: one form for each real expression.

use num_rational::BigRational;
use std::collections::BTreeMap;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Atom as IdxAtom, Idx, Sym};
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::scalar::ScalarType;

use crate::canon;

/// A sum of monomials; zero has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Poly(pub BTreeMap<Mono, BigRational>);

/// A product of atoms and one power of e.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mono {
    /// Atoms with exponents, which are not zero.
    pub factors: BTreeMap<Atom, u32>,
    /// `e` to this power.
    pub exp: Poly,
}

/// What a polynomial is made of. Bound variables have canonical names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    /// An integer, such as a counter.
    Index(IdxAtom),
    /// A value of which no more is known.
    Leaf(ElemRef),
    /// One over it, whatever that is at zero.
    Inverse(Poly),
    /// The first to the power of an integer that is not negative.
    Power(Poly, Idx),
    /// A function of which no more is known.
    Apply(Function, Vec<Poly>),
    /// `c ? t : f`
    Select(Box<Condition>, Poly, Poly),
    /// The sum over the variable, from 0 up to the extent.
    Sum(Sym, Idx, Poly),
    /// Any other fold: accumulator, variable, extent, first value, step.
    Fold(Sym, Sym, Idx, Poly, Poly),
}

/// A function of which no more is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Function {
    /// Of one argument.
    Unary(UnOp),
    /// Of two.
    Binary(BinOp),
}

/// What a selection depends on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// The polynomial is less than zero.
    Negative(Poly),
    /// The polynomial is zero.
    Zero(Poly),
    /// A comparison of indices.
    Index(ElemRef),
    /// Any other truth value.
    Other(ElemRef),
}

/// A rational number.
pub fn number(n: i128) -> BigRational {
    BigRational::from_integer(n.into())
}

impl Poly {
    /// A number.
    pub fn constant(c: BigRational) -> Poly {
        let mut p = Poly::default();
        p.add_term(Mono::default(), c);
        p
    }

    /// One atom.
    pub fn atom(a: Atom) -> Poly {
        Poly::mono(Mono {
            factors: [(a, 1)].into(),
            exp: Poly::default(),
        })
    }

    /// One monomial.
    pub fn mono(m: Mono) -> Poly {
        Poly([(m, number(1))].into())
    }

    /// `e` to the power of `p`.
    pub fn exponential(p: Poly) -> Poly {
        Poly::mono(Mono {
            factors: BTreeMap::new(),
            exp: p,
        })
    }

    /// An integer polynomial.
    pub fn index(i: &Idx) -> Poly {
        let mut out = Poly::default();
        for (monomial, c) in i.terms() {
            let mut m = Mono::default();
            for a in monomial {
                *m.factors.entry(Atom::Index(a.clone())).or_insert(0) += 1;
            }
            out.add_term(m, number(c));
        }
        out
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// The number, if it is one.
    pub fn as_constant(&self) -> Option<BigRational> {
        let mut terms = self.0.iter();
        match (terms.next(), terms.next()) {
            (None, _) => Some(number(0)),
            (Some((m, c)), None) if *m == Mono::default() => Some(c.clone()),
            _ => None,
        }
    }

    /// The integer polynomial, if it is one.
    pub fn as_index(&self) -> Option<Idx> {
        let mut terms = Vec::new();
        for (m, c) in &self.0 {
            if !m.exp.is_zero() || !c.is_integer() {
                return None;
            }
            let mut factors = Vec::new();
            for (a, n) in &m.factors {
                let Atom::Index(a) = a else { return None };
                factors.extend(std::iter::repeat_n(a.clone(), *n as usize));
            }
            terms.push((factors, i128::try_from(c.to_integer()).ok()?));
        }
        Some(Idx::from_terms(terms))
    }

    /// Adds a monomial.
    pub fn add_term(&mut self, m: Mono, c: BigRational) {
        let old = self.0.remove(&m).unwrap_or_else(|| number(0));
        let sum = old + c;
        if sum != number(0) {
            self.0.insert(m, sum);
        }
    }

    /// The sum.
    pub fn plus(&self, other: &Poly) -> Poly {
        let mut out = self.clone();
        for (m, c) in &other.0 {
            out.add_term(m.clone(), c.clone());
        }
        out
    }

    /// The difference.
    pub fn minus(&self, other: &Poly) -> Poly {
        self.plus(&other.scaled(&number(-1)))
    }

    /// Times a number.
    pub fn scaled(&self, c: &BigRational) -> Poly {
        if *c == number(0) {
            return Poly::default();
        }
        Poly(self.0.iter().map(|(m, d)| (m.clone(), d * c)).collect())
    }

    /// The product. (e^p · e^q = e^(p + q).)
    pub fn times(&self, other: &Poly) -> Poly {
        let mut out = Poly::default();
        for (m, c) in &self.0 {
            for (n, d) in &other.0 {
                out.add_term(m.times(n), c * d);
            }
        }
        out
    }

    /// Whether the variable or accumulator occurs.
    pub fn mentions(&self, name: &str) -> bool {
        self.0.keys().any(|m| m.mentions(name))
    }

    /// The same with another name for a variable.
    pub fn rename(&self, from: &Sym, to: &Sym) -> Poly {
        let mut out = Poly::default();
        for (m, c) in &self.0 {
            let mut n = Mono {
                factors: BTreeMap::new(),
                exp: m.exp.rename(from, to),
            };
            for (a, e) in &m.factors {
                *n.factors.entry(a.rename(from, to)).or_insert(0) += e;
            }
            out.add_term(n, c.clone());
        }
        out
    }

    /// How deeply sums and folds are nested.
    pub fn height(&self) -> usize {
        self.0.keys().map(Mono::height).max().unwrap_or(0)
    }
}

impl Mono {
    /// The product.
    pub fn times(&self, other: &Mono) -> Mono {
        let mut out = self.clone();
        for (a, n) in &other.factors {
            *out.factors.entry(a.clone()).or_insert(0) += n;
        }
        out.exp = out.exp.plus(&other.exp);
        out
    }

    /// Whether the variable or accumulator occurs.
    pub fn mentions(&self, name: &str) -> bool {
        self.exp.mentions(name) || self.factors.keys().any(|a| a.mentions(name))
    }

    fn height(&self) -> usize {
        let inside = self.factors.keys().map(Atom::height).max().unwrap_or(0);
        inside.max(self.exp.height())
    }
}

impl Atom {
    /// Whether the variable or accumulator occurs.
    pub fn mentions(&self, name: &str) -> bool {
        match self {
            Atom::Index(a) => Idx::atom(a.clone()).mentions(name),
            Atom::Leaf(e) => e.mentions(name),
            Atom::Inverse(p) => p.mentions(name),
            Atom::Power(p, i) => p.mentions(name) || i.mentions(name),
            Atom::Apply(_, args) => args.iter().any(|p| p.mentions(name)),
            Atom::Select(c, t, f) => c.mentions(name) || t.mentions(name) || f.mentions(name),
            Atom::Sum(_, n, p) => n.mentions(name) || p.mentions(name),
            Atom::Fold(_, _, n, init, step) => {
                n.mentions(name) || init.mentions(name) || step.mentions(name)
            }
        }
    }

    fn rename(&self, from: &Sym, to: &Sym) -> Atom {
        let idx = |i: &Idx| canon::idx(&i.replace(from, &Idx::sym(to.clone())));
        match self {
            Atom::Index(IdxAtom::Sym(s)) if s == from => Atom::Index(IdxAtom::Sym(to.clone())),
            // A lone atom stays one: only variables are put in the place of variables.
            Atom::Index(a) => match idx(&Idx::atom(a.clone())).terms().next() {
                Some(([b], 1)) => Atom::Index(b.clone()),
                _ => self.clone(),
            },
            Atom::Leaf(e) => Atom::Leaf(rename_elem(e, from, to)),
            Atom::Inverse(p) => Atom::Inverse(p.rename(from, to)),
            Atom::Power(p, i) => Atom::Power(p.rename(from, to), idx(i)),
            Atom::Apply(f, args) => {
                Atom::Apply(*f, args.iter().map(|p| p.rename(from, to)).collect())
            }
            Atom::Select(c, t, f) => Atom::Select(
                Box::new(c.rename(from, to)),
                t.rename(from, to),
                f.rename(from, to),
            ),
            Atom::Sum(v, n, p) => Atom::Sum(v.clone(), idx(n), p.rename(from, to)),
            Atom::Fold(a, v, n, init, step) => Atom::Fold(
                a.clone(),
                v.clone(),
                idx(n),
                init.rename(from, to),
                step.rename(from, to),
            ),
        }
    }

    fn height(&self) -> usize {
        match self {
            Atom::Index(_) | Atom::Leaf(_) => 0,
            Atom::Inverse(p) | Atom::Power(p, _) => p.height(),
            Atom::Apply(_, args) => args.iter().map(Poly::height).max().unwrap_or(0),
            Atom::Select(c, t, f) => c.height().max(t.height()).max(f.height()),
            Atom::Sum(_, _, p) => 1 + p.height(),
            Atom::Fold(_, _, _, init, step) => 1 + init.height().max(step.height()),
        }
    }
}

impl Condition {
    /// Whether the variable or accumulator occurs.
    pub fn mentions(&self, name: &str) -> bool {
        match self {
            Condition::Negative(p) | Condition::Zero(p) => p.mentions(name),
            Condition::Index(e) | Condition::Other(e) => e.mentions(name),
        }
    }

    fn rename(&self, from: &Sym, to: &Sym) -> Condition {
        match self {
            Condition::Negative(p) => Condition::Negative(p.rename(from, to)),
            Condition::Zero(p) => Condition::Zero(p.rename(from, to)),
            Condition::Index(e) => Condition::Index(rename_elem(e, from, to)),
            Condition::Other(e) => Condition::Other(rename_elem(e, from, to)),
        }
    }

    fn height(&self) -> usize {
        match self {
            Condition::Negative(p) | Condition::Zero(p) => p.height(),
            Condition::Index(_) | Condition::Other(_) => 0,
        }
    }
}

/// Replaces an index variable, or an accumulator of type `f64`, by one of another name.
fn rename_elem(e: &ElemRef, from: &Sym, to: &Sym) -> ElemRef {
    let e = e.replace(from, &Idx::sym(to.clone()));
    let e = e.replace_accs(&[(from.clone(), accumulator(to))].into());
    canon::elem(&e)
}

/// An accumulator as a real number: which float type it has makes no difference.
pub fn accumulator(name: &Sym) -> ElemRef {
    Arc::new(Elem::Acc(name.clone(), ScalarType::F64))
}
