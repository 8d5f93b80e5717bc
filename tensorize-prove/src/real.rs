//! Equality over the real numbers, with the laws of sums: what the solver, which knows no induction, cannot
//! see by itself.
//!
//! Both sides are brought into one form: polynomials over reads, parameters, counters, sums, and functions
//! that are not looked into. A difference that is zero then, or is zero after multiplication by
//! denominators that are shown not to be, is an equality. Selections are decided case by case.
//!
//! Besides the laws of a field these laws are used, each a [`Law`] that `tests/laws.rs` tests:
//! [`SUM_ONE_MORE`], [`SUM_OF_SUM`], [`SUM_FACTOR`], [`SUM_OF_ONES`], [`SUM_REVERSED`], [`PRODUCT_OF_SAME`],
//! [`POWER_ONE_MORE`], [`EXP_OF_SUM`], [`EXP_OF_ZERO`], [`LARGER`] and [`SMALLER`]. Division by zero is left
//! open: nothing is concluded about it but that it is a function of its divisor, up to a factor that is not zero.

use crate::canon;
use crate::context::Context;
use divisors::Divisors;
use num_rational::BigRational;
use poly::{Atom, Condition, Function, Mono, Poly, accumulator, number};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

mod divisors;
mod laws;
mod poly;

pub use laws::*;

/// Polynomials with more terms are given up.
const MAX_TERMS: usize = 400;
/// Folds of as many steps are written out.
const MAX_UNROLLED: i128 = 4;
/// How many selections are decided case by case.
const MAX_CASES: usize = 6;

/// What is known of two float expressions over the real numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Equality {
    /// They have the same value.
    Shown,
    /// The second one divides by something that the first one does not divide by, and that may be zero: `0 / x` for `0`. Where
    /// it is, the machine has no number for it.
    DividesMore,
    /// Nothing.
    Open,
}

/// Whether two float expressions have the same value over the real numbers, of which the second one stands for the first.
pub fn equal(ctx: &mut Context, a: &ElemRef, b: &ElemRef) -> Equality {
    if !a.ty().is_float() || !b.ty().is_float() {
        return Equality::Open;
    }
    let mark = ctx.mark();
    let mut normal = Normaliser {
        ctx,
        known: BTreeMap::new(),
        bound: BTreeSet::new(),
        divisors: Divisors::default(),
        cases: 0,
    };
    let same = normal.equal(a, b);
    let more = normal.divisors.second_has_more(a, b);
    ctx.forget(mark);
    match (more, same) {
        (true, _) => Equality::DividesMore,
        (false, true) => Equality::Shown,
        (false, false) => Equality::Open,
    }
}

/// Why there is no normal form (yet).
enum Stop {
    /// It depends on this.
    Case(Condition),
    /// It would be too large, or has no meaning here.
    GiveUp,
}

/// A truth value.
enum Truth {
    Known(bool),
    /// It depends on bound variables: the condition, and whether it is negated.
    Open(Condition, bool),
}

struct Normaliser<'a, 's> {
    ctx: &'a mut Context<'s>,
    /// The case that is looked at.
    known: BTreeMap<Condition, bool>,
    /// Variables and accumulators of the folds around here.
    bound: BTreeSet<Sym>,
    divisors: Divisors,
    cases: usize,
}

impl Normaliser<'_, '_> {
    fn equal(&mut self, a: &ElemRef, b: &ElemRef) -> bool {
        match self.difference(a, b) {
            Ok(d) => d.is_zero() || self.without_denominators(d).is_some_and(|d| d.is_zero()),
            Err(Stop::Case(condition)) if self.cases < MAX_CASES => {
                self.cases += 1;
                let both = [true, false].into_iter().all(|truth| {
                    let mark = self.ctx.mark();
                    self.known.insert(condition.clone(), truth);
                    let (mut a, mut b) = (a.clone(), b.clone());
                    if let Condition::Index(c) = &condition {
                        let fact = if truth {
                            c.clone()
                        } else {
                            Elem::not(c.clone())
                        };
                        self.ctx.assume(fact);
                        for zero in self.zeros(c) {
                            a = canon::elem(&a.replace(&zero, &Idx::default()));
                            b = canon::elem(&b.replace(&zero, &Idx::default()));
                        }
                    }
                    let same = self.equal(&a, &b);
                    self.known.remove(&condition);
                    self.ctx.forget(mark);
                    same
                });
                self.cases -= 1;
                both
            }
            Err(_) => {
                self.divisors.are_unknown();
                false
            }
        }
    }

    /// The variables of a condition that are known to be zero now.
    fn zeros(&mut self, condition: &ElemRef) -> Vec<Sym> {
        let mut syms = BTreeSet::new();
        condition.for_each_free_sym(&mut |s| {
            syms.insert(s.clone());
        });
        let zero = Idx::default();
        syms.into_iter()
            .filter(|s| self.ctx.proves(CmpOp::Eq, &Idx::sym(s.clone()), &zero))
            .collect()
    }

    fn difference(&mut self, a: &ElemRef, b: &ElemRef) -> Result<Poly, Stop> {
        self.divisors.take();
        let (left, first) = (self.normal(a)?, self.divisors.take());
        let (right, second) = (self.normal(b)?, self.divisors.take());
        self.divisors.compare(&first, &second);
        Ok(left.minus(&right))
    }

    /// Notes what is divided by, unless it can't be zero.
    fn note_divisor(&mut self, divisor: &Poly) {
        let divisor = unit(divisor);
        if divisor.as_constant().is_none() && !self.is_not_zero(&divisor) {
            self.divisors.note(&divisor, &self.bound);
        }
    }

    /// Times every divisor that is shown not to be zero, as often as it divides anything.
    fn without_denominators(&mut self, mut p: Poly) -> Option<Poly> {
        let mut divisors: BTreeMap<Poly, u32> = BTreeMap::new();
        for m in p.0.keys() {
            for (a, n) in &m.factors {
                if let Atom::Inverse(q) = a {
                    let most = divisors.entry(q.clone()).or_insert(0);
                    *most = (*most).max(*n);
                }
            }
        }
        for (q, most) in divisors {
            if !self.is_not_zero(&q) {
                continue;
            }
            let divisor = Atom::Inverse(q.clone());
            let mut out = Poly::default();
            for (m, c) in &p.0 {
                let mut m = m.clone();
                let times = m.factors.remove(&divisor).unwrap_or(0);
                let mut term = Poly::default();
                term.add_term(m, c.clone());
                for _ in times..most {
                    term = product(&term, &q).ok()?;
                }
                out = out.plus(&term);
            }
            p = out;
        }
        Some(p)
    }

    fn is_not_zero(&mut self, q: &Poly) -> bool {
        // Leading coefficients are one; the others may be fractions.
        let common = q.0.values().fold(number(1), |all, c| {
            all * BigRational::from_integer(c.denom().clone())
        });
        match q.scaled(&common).as_index() {
            Some(i) => self.ctx.proves(CmpOp::Ne, &canon::idx(&i), &Idx::default()),
            None => false,
        }
    }

    fn normal(&mut self, e: &ElemRef) -> Result<Poly, Stop> {
        let p = self.open(e)?;
        if p.0.len() > MAX_TERMS {
            return Err(Stop::GiveUp);
        }
        Ok(p)
    }

    fn open(&mut self, e: &ElemRef) -> Result<Poly, Stop> {
        Ok(match &**e {
            Elem::Const(v) => constant(*v),
            Elem::Acc(name, _) => Poly::atom(Atom::Leaf(accumulator(name))),
            Elem::OfIdx(_, i) => Poly::index(&canon::idx(i)),
            Elem::Convert(_, a) if a.ty().is_float() => self.normal(a)?,
            Elem::Convert(_, a) if a.ty() == ScalarType::I1 => {
                let of = |x: i128| Elem::constant(Scalar::int(ScalarType::F64, x));
                self.select(a, &of(1), &of(0))?
            }
            Elem::Convert(_, a) => self.integer(a),
            Elem::Unary(UnOp::Negate, a) => self.normal(a)?.scaled(&number(-1)),
            Elem::Unary(UnOp::Abs, a) => {
                let zero = Elem::constant(Scalar::zero(a.ty()));
                let c = Elem::compare(CmpOp::Lt, a.clone(), zero);
                self.select(&c, &Elem::unary(UnOp::Negate, a.clone()), a)?
            }
            // EXP_OF_ZERO is in the form: e to the power of nothing is no factor.
            Elem::Unary(UnOp::Exponential, a) => Poly::exponential(self.normal(a)?),
            Elem::Unary(op, a) => {
                let args = vec![self.normal(a)?];
                Poly::atom(Atom::Apply(Function::Unary(*op), args))
            }
            Elem::Binary(op, a, b) => self.binary(*op, a, b)?,
            Elem::Select(c, t, f) => self.select(c, t, f)?,
            Elem::Fold(f) => self.fold(f)?,
            _ => Poly::atom(Atom::Leaf(canon::elem(e))),
        })
    }

    /// A machine integer, as a real number.
    fn integer(&mut self, e: &ElemRef) -> Poly {
        let e = canon::elem(e);
        if let Some(i) = canon::polynomial(&e) {
            let (low, high) = (e.ty().min_value().into(), e.ty().max_value().into());
            if self.ctx.proves(CmpOp::Ge, &i, &low) && self.ctx.proves(CmpOp::Le, &i, &high) {
                return Poly::index(&i);
            }
        }
        Poly::index(&Idx::value(e))
    }

    fn binary(&mut self, op: BinOp, a: &ElemRef, b: &ElemRef) -> Result<Poly, Stop> {
        Ok(match op {
            BinOp::Add => self.normal(a)?.plus(&self.normal(b)?),
            BinOp::Subtract => self.normal(a)?.minus(&self.normal(b)?),
            BinOp::Multiply => product(&self.normal(a)?, &self.normal(b)?)?,
            BinOp::Divide => {
                let divisor = self.normal(b)?;
                self.note_divisor(&divisor);
                product(&self.normal(a)?, &inverse(&divisor)?)?
            }
            // LARGER, SMALLER
            BinOp::Maximum | BinOp::MaximumNumber => {
                self.select(&Elem::compare(CmpOp::Lt, a.clone(), b.clone()), b, a)?
            }
            BinOp::Minimum | BinOp::MinimumNumber => {
                self.select(&Elem::compare(CmpOp::Lt, a.clone(), b.clone()), a, b)?
            }
            BinOp::Power => {
                let (base, exponent) = (self.normal(a)?, self.normal(b)?);
                match exponent.as_index() {
                    Some(i) if self.ctx.is_non_negative(&i) => self.power(&base, i)?,
                    _ => Poly::atom(Atom::Apply(Function::Binary(op), vec![base, exponent])),
                }
            }
            _ => {
                let args = vec![self.normal(a)?, self.normal(b)?];
                Poly::atom(Atom::Apply(Function::Binary(op), args))
            }
        })
    }

    /// POWER_ONE_MORE, as often as the exponent is known to be positive.
    fn power(&mut self, base: &Poly, mut exponent: Idx) -> Result<Poly, Stop> {
        let one = Idx::constant(1);
        let mut out = Poly::constant(number(1));
        for _ in 0..32 {
            if exponent.is_zero() {
                return Ok(out);
            }
            let less = canon::idx(&(&exponent - &one));
            if !self.ctx.is_non_negative(&less) {
                break;
            }
            out = product(&out, base)?;
            exponent = less;
        }
        product(&out, &Poly::atom(Atom::Power(base.clone(), exponent)))
    }

    fn select(&mut self, c: &ElemRef, t: &ElemRef, f: &ElemRef) -> Result<Poly, Stop> {
        Ok(match self.truth(c)? {
            Truth::Known(true) => self.normal(t)?,
            Truth::Known(false) => self.normal(f)?,
            Truth::Open(condition, negated) => {
                let (t, f) = if negated { (f, t) } else { (t, f) };
                let (t, f) = (self.normal(t)?, self.normal(f)?);
                if t == f {
                    return Ok(t);
                }
                Poly::atom(Atom::Select(Box::new(condition), t, f))
            }
        })
    }

    fn truth(&mut self, c: &ElemRef) -> Result<Truth, Stop> {
        match &**c {
            Elem::Const(v) => Ok(Truth::Known(v.is_true())),
            Elem::Unary(UnOp::Not, a) => Ok(match self.truth(a)? {
                Truth::Known(v) => Truth::Known(!v),
                Truth::Open(c, negated) => Truth::Open(c, !negated),
            }),
            Elem::Binary(op @ (BinOp::And | BinOp::Or), a, b) => {
                let decisive = *op == BinOp::Or;
                match (self.truth(a)?, self.truth(b)?) {
                    (Truth::Known(v), _) | (_, Truth::Known(v)) if v == decisive => {
                        Ok(Truth::Known(v))
                    }
                    (Truth::Known(_), other) | (other, Truth::Known(_)) => Ok(other),
                    _ => self.resolve(Condition::Other(canon::elem(c)), false),
                }
            }
            Elem::Select(d, t, f) => match self.truth(d)? {
                Truth::Known(v) => self.truth(if v { t } else { f }),
                Truth::Open(..) => self.resolve(Condition::Other(canon::elem(c)), false),
            },
            Elem::IndexCompare(..) => match self.ctx.decide(c) {
                Some(v) => Ok(Truth::Known(v)),
                None => self.resolve(Condition::Index(canon::elem(c)), false),
            },
            Elem::Compare(op, a, b) if a.ty().is_float() => {
                let d = self.difference(a, b)?;
                if let Some(v) = d.as_constant() {
                    return Ok(Truth::Known(op.holds(&v, &number(0))));
                }
                let minus = d.scaled(&number(-1));
                match op {
                    CmpOp::Lt => self.resolve(Condition::Negative(unit(&d)), false),
                    CmpOp::Gt => self.resolve(Condition::Negative(unit(&minus)), false),
                    CmpOp::Le => self.resolve(Condition::Negative(unit(&minus)), true),
                    CmpOp::Ge => self.resolve(Condition::Negative(unit(&d)), true),
                    CmpOp::Eq => self.resolve(Condition::Zero(unit(&d).max(unit(&minus))), false),
                    CmpOp::Ne => self.resolve(Condition::Zero(unit(&d).max(unit(&minus))), true),
                }
            }
            _ => self.resolve(Condition::Other(canon::elem(c)), false),
        }
    }

    /// Looks the condition up in the case at hand.
    fn resolve(&mut self, c: Condition, negated: bool) -> Result<Truth, Stop> {
        if let Some(v) = self.known.get(&c) {
            return Ok(Truth::Known(*v != negated));
        }
        if self.bound.iter().any(|b| c.mentions(b)) {
            return Ok(Truth::Open(c, negated));
        }
        Err(Stop::Case(c))
    }

    fn fold(&mut self, f: &Fold) -> Result<Poly, Stop> {
        let extent = canon::idx(&f.extent);
        if !f.others.is_empty() {
            let whole = canon::elem(&Arc::new(Elem::Fold(Arc::new(f.clone()))));
            return Ok(Poly::atom(Atom::Leaf(whole)));
        }
        if extent.as_constant().is_some_and(|n| n <= 0) {
            return self.normal(&f.init);
        }
        if let Some(f) = reversed(f, &extent) {
            return self.fold(&f);
        }
        if let Some(e) = self.without_last(f, &extent) {
            return self.normal(&e);
        }
        let init = self.normal(&f.init)?;
        let (acc, var) = (self.ctx.fresh.name("acc"), self.ctx.fresh.name("k"));
        let of: ElemRef = Arc::new(Elem::Acc(acc.clone(), f.init.ty()));
        let step = substitute(&f.step, f, &of, &Idx::sym(var.clone()));
        let mark = self.ctx.mark();
        self.ctx.assume_in_range(&var, &extent);
        self.bound.extend([acc.clone(), var.clone()]);
        let step = self.ctx.settle(&step);
        let step = self.normal(&step);
        // That there is a round is known in the step only: a sum may have none.
        self.ctx.forget(mark);
        let sum = step.and_then(|step| self.recurrence(&acc, &var, &extent, &init, step));
        self.bound.remove(&acc);
        self.bound.remove(&var);
        sum
    }

    /// SUM_ONE_MORE, for every fold: the last step, after a fold of one step less.
    fn without_last(&mut self, f: &Fold, extent: &Idx) -> Option<ElemRef> {
        let one_more = extent.terms().any(|(m, c)| m.is_empty() && c >= 1);
        let long = extent.as_constant().is_some_and(|n| n > MAX_UNROLLED);
        if !one_more || long {
            return None;
        }
        let last = canon::idx(&(extent - &Idx::constant(1)));
        if !self.ctx.is_non_negative(&last) {
            return None;
        }
        let shorter: ElemRef = Arc::new(Elem::Fold(Arc::new(Fold {
            extent: last.clone(),
            ..f.clone()
        })));
        Some(substitute(&f.step, f, &shorter, &last))
    }

    /// The fold whose step is this polynomial.
    fn recurrence(
        &mut self,
        acc: &Sym,
        var: &Sym,
        extent: &Idx,
        init: &Poly,
        step: Poly,
    ) -> Result<Poly, Stop> {
        let own = Atom::Leaf(accumulator(acc));
        let (mut factor, mut rest) = (Poly::default(), Poly::default());
        let mut linear = true;
        for (m, c) in &step.0 {
            let mut m = m.clone();
            match m.factors.remove(&own) {
                Some(1) => factor.add_term(m, c.clone()),
                Some(_) => linear = false,
                None => rest.add_term(m, c.clone()),
            }
        }
        linear &= !factor.mentions(acc) && !rest.mentions(acc);
        if linear && factor.as_constant() == Some(number(1)) {
            return Ok(init.plus(&self.sum(var, extent, &rest)?));
        }
        // PRODUCT_OF_SAME
        if linear && rest.is_zero() && !factor.mentions(var) && self.ctx.is_non_negative(extent) {
            let power = self.power(&factor, extent.clone())?;
            return product(init, &power);
        }
        let height = step.height();
        let (a, v): (Sym, Sym) = (
            format!("acc%%{height}").into(),
            format!("k%%{height}").into(),
        );
        let step = step.rename(acc, &a).rename(var, &v);
        Ok(Poly::atom(Atom::Fold(
            a,
            v,
            extent.clone(),
            init.clone(),
            step,
        )))
    }

    /// SUM_OF_SUM, SUM_FACTOR, SUM_OF_ONES
    fn sum(&mut self, var: &Sym, extent: &Idx, summand: &Poly) -> Result<Poly, Stop> {
        let mut out = Poly::default();
        for (m, c) in &summand.0 {
            let (mut outside, mut inside) = (Mono::default(), Mono::default());
            for (a, n) in &m.factors {
                let part = if a.mentions(var) {
                    &mut inside
                } else {
                    &mut outside
                };
                part.factors.insert(a.clone(), *n);
            }
            // EXP_OF_SUM
            for (p, d) in &m.exp.0 {
                let part = if p.mentions(var) {
                    &mut inside
                } else {
                    &mut outside
                };
                part.exp.add_term(p.clone(), d.clone());
            }
            let total = if inside == Mono::default() && self.ctx.is_non_negative(extent) {
                Poly::index(extent)
            } else {
                let inside = Poly::mono(inside);
                let name: Sym = format!("k%%{}", inside.height()).into();
                let inside = inside.rename(var, &name);
                Poly::atom(Atom::Sum(name, extent.clone(), inside))
            };
            let factor = Poly::mono(outside).scaled(c);
            out = out.plus(&product(&factor, &total)?);
        }
        Ok(out)
    }
}

/// The step of a fold, with these for accumulator and variable.
fn substitute(step: &ElemRef, f: &Fold, acc: &ElemRef, var: &Idx) -> ElemRef {
    let step = step.replace(&f.var, var);
    step.replace_accs(&[(f.acc.clone(), acc.clone())].into())
}

/// SUM_REVERSED, where the sum reads memory from places that depend on how long it is, and from the other end
/// does not.
fn reversed(f: &Fold, extent: &Idx) -> Option<Fold> {
    let Some((BinOp::Add, term)) = f.as_reduction() else {
        return None;
    };
    if extent.as_constant().is_some() {
        return None;
    }
    let places = |e: &ElemRef| {
        let mut counts = false;
        e.visit(&mut |x| {
            if let Elem::Read { index, .. } = &**x {
                extent.for_each_sym(&mut |s| counts |= canon::idx(index).mentions(s));
            }
        });
        counts
    };
    if !places(&term) {
        return None;
    }
    let other = &(extent - &Idx::constant(1)) - &Idx::sym(f.var.clone());
    let term = term.replace(&f.var, &other);
    if places(&term) {
        return None;
    }
    let own: ElemRef = Arc::new(Elem::Acc(f.acc.clone(), f.init.ty()));
    Some(Fold {
        step: Elem::binary(BinOp::Add, own, term),
        ..f.clone()
    })
}

fn product(a: &Poly, b: &Poly) -> Result<Poly, Stop> {
    if a.0.len() * b.0.len() > MAX_TERMS {
        return Err(Stop::GiveUp);
    }
    Ok(a.times(b))
}

/// One over it. A factor that is not zero (a number, a power of e) is taken out.
fn inverse(p: &Poly) -> Result<Poly, Stop> {
    let Some((first, c)) = p.0.iter().next() else {
        return Err(Stop::GiveUp);
    };
    let exp = if p.0.keys().all(|m| m.exp == first.exp) {
        first.exp.scaled(&number(-1))
    } else {
        Poly::default()
    };
    let factor = Poly::exponential(exp).scaled(&c.recip());
    let rest = p.times(&factor);
    Ok(if rest.as_constant() == Some(number(1)) {
        factor
    } else {
        factor.times(&Poly::atom(Atom::Inverse(rest)))
    })
}

/// Divided by the size of its first coefficient: as negative, or as zero, as before.
fn unit(p: &Poly) -> Poly {
    match p.0.values().next() {
        Some(c) if *c < number(0) => p.scaled(&(-c.recip())),
        Some(c) => p.scaled(&c.recip()),
        None => p.clone(),
    }
}

fn constant(v: Scalar) -> Poly {
    let x = v.as_f64();
    match BigRational::from_float(x) {
        Some(r) => Poly::constant(r),
        // Infinity and NaN are some number, always the same.
        None => Poly::atom(Atom::Leaf(Elem::constant(Scalar::f64(x)))),
    }
}
