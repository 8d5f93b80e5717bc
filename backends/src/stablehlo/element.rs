//! Index notation over whole tensors: each bound index is a dimension, or the counter of a loop.

use super::program::{Program, Value};
use crate::Unsupported;
use crate::array::{as_reducer, linear};
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Reducer, dim};

/// What is bound.
#[derive(Clone, Default)]
pub(super) struct Scope {
    /// Names and extents of the dimensions, in order.
    axes: Vec<(Sym, Idx)>,
    /// Counters and accumulators of loops, with the shape that there was outside of the loop.
    variables: BTreeMap<Sym, Value>,
}

impl Program<'_> {
    /// The tensor of this shape whose element at `(#0, #1, …)` is `e`.
    pub(super) fn generic(&mut self, e: &ElemRef, shape: &[Idx]) -> Result<Value, Unsupported> {
        match self.scatter(e, shape)? {
            Some(value) => Ok(value),
            None => self.element(e, &Scope::of(shape)),
        }
    }

    /// An index over the dimensions `#0`, `#1`, … of a shape.
    pub(super) fn dims_index(&mut self, idx: &Idx, shape: &[Idx]) -> Result<Value, Unsupported> {
        self.index(idx, &Scope::of(shape))
    }

    /// A value with the scope's whole shape.
    pub(super) fn element(&mut self, e: &ElemRef, scope: &Scope) -> Result<Value, Unsupported> {
        let shape = scope.shape();
        match &**e {
            Elem::Const(v) => self.splat(*v, &shape),
            Elem::Param(name, ty) => {
                let name = self.host.param_name(name);
                let value = self.leaf(&name, name.clone(), &[], *ty)?;
                self.broadcast(&value, &shape, &[])
            }
            Elem::OfIdx(ty, idx) if scope.is_fixed(idx) => {
                let value = self.host_integer(idx, *ty)?;
                self.broadcast(&value, &shape, &[])
            }
            Elem::OfIdx(ty, idx) => {
                let value = self.index(idx, scope)?;
                self.convert(*ty, &value)
            }
            Elem::Read { array, index, ty } => self.read(array, index, *ty, scope),
            Elem::Unary(op, a) => {
                let a = self.element(a, scope)?;
                self.unary(*op, &a)
            }
            Elem::Binary(op, a, b) => {
                let known = match &**b {
                    Elem::Const(v) => Some(*v),
                    _ => None,
                };
                let (a, b) = (self.element(a, scope)?, self.element(b, scope)?);
                self.binary(*op, &a, &b, known)
            }
            Elem::Compare(op, a, b) => {
                let (a, b) = (self.element(a, scope)?, self.element(b, scope)?);
                self.compare(*op, &a, &b)
            }
            Elem::IndexCompare(op, a, b) => {
                let (a, b) = (self.index(a, scope)?, self.index(b, scope)?);
                self.compare(*op, &a, &b)
            }
            Elem::Convert(ty, a) => {
                let a = self.element(a, scope)?;
                self.convert(*ty, &a)
            }
            Elem::Bitcast(ty, a) => {
                let a = self.element(a, scope)?;
                self.bitcast(*ty, &a)
            }
            Elem::Select(c, t, f) => {
                let c = self.element(c, scope)?;
                let (t, f) = (self.element(t, scope)?, self.element(f, scope)?);
                self.select(&c, &t, &f)
            }
            Elem::Acc(name, _) => {
                let why = || Unsupported::new(format!("accumulator {name} outside of its fold"));
                let value = scope.variables.get(name).ok_or_else(why)?.clone();
                self.spread(&value, &shape)
            }
            Elem::Fold(f) => self.fold(f, scope),
        }
    }

    /// A loop's value in a scope that may have more dimensions by now.
    fn spread(&mut self, value: &Value, shape: &[Idx]) -> Result<Value, Unsupported> {
        let dims: Vec<usize> = (0..value.shape.len()).collect();
        self.broadcast(value, shape, &dims)
    }

    fn read(
        &mut self,
        array: &Sym,
        index: &Idx,
        elem: ScalarType,
        scope: &Scope,
    ) -> Result<Value, Unsupported> {
        let index = self.host.since_first(array, index);
        let names: Vec<Sym> = scope.axes.iter().map(|(n, _)| n.clone()).collect();
        let regular = linear(&index, &names)
            .filter(|(strides, rest)| strides.iter().chain([rest]).all(|i| scope.is_fixed(i)));
        let shape = scope.shape();
        if let Some((strides, offset)) = regular {
            let args = self.host.strided(array, &shape, &strides, &offset)?;
            let stem = format!("{}_at", self.host.param_name(array));
            return self.leaf(&stem, format!("_read({args})"), &shape, elem);
        }
        let at = self.index(&index, scope)?;
        let array = self.whole_array(array, elem)?;
        self.gather(&array, &at)
    }

    fn fold(&mut self, f: &Fold, scope: &Scope) -> Result<Value, Unsupported> {
        if scope.is_fixed(&f.extent)
            && let Some((reducer, x)) = as_reducer(f)
        {
            let init = self.element(&f.init, scope)?;
            let mut inner = scope.clone();
            inner.axes.push((f.var.clone(), f.extent.clone()));
            let x = self.element(&x, &inner)?;
            return self.reduction(reducer, &init, &x, &[inner.axes.len() - 1]);
        }
        // One step after the other, each for all elements at once.
        let mut state = Vec::new();
        for lane in f.lanes() {
            state.push(self.element(lane.init, scope)?);
        }
        let (count, steps) = self.steps(&f.extent, scope)?;
        let mut done = self.repeat(&count, &state, |p, k, state| {
            let mut inner = scope.clone();
            inner.variables.insert(f.var.clone(), k.clone());
            for (lane, value) in f.lanes().zip(state) {
                inner.variables.insert(lane.acc.clone(), value.clone());
            }
            let mut next = Vec::new();
            for (lane, before) in f.lanes().zip(state) {
                let mut after = p.element(lane.step, &inner)?;
                if let Some(steps) = &steps {
                    let k = p.broadcast(k, &steps.shape, &[])?;
                    let goes_on = p.compare(CmpOp::Lt, &k, steps)?;
                    after = p.select(&goes_on, &after, before)?;
                }
                next.push(after);
            }
            Ok(next)
        })?;
        Ok(done.swap_remove(0))
    }

    /// How many steps a loop takes; and how many of them each element, if they differ.
    fn steps(
        &mut self,
        extent: &Idx,
        scope: &Scope,
    ) -> Result<(Value, Option<Value>), Unsupported> {
        if scope.is_fixed(extent) {
            return Ok((self.count(extent)?, None));
        }
        let steps = self.index(extent, scope)?;
        let none = self.splat(Scalar::zero(ScalarType::I64), &[])?;
        let all: Vec<usize> = (0..steps.shape.len()).collect();
        let most = Reducer::Op(BinOp::Maximum);
        Ok((self.reduction(most, &none, &steps, &all)?, Some(steps)))
    }

    /// An index as a tensor of 64 bits.
    fn index(&mut self, idx: &Idx, scope: &Scope) -> Result<Value, Unsupported> {
        let shape = scope.shape();
        // What is multiplied with the same indices is one number, which is computed outside.
        let mut parts: BTreeMap<Vec<Atom>, Idx> = BTreeMap::new();
        for (monomial, c) in idx.terms() {
            let (fixed, moving): (Vec<Atom>, Vec<Atom>) = monomial
                .iter()
                .cloned()
                .partition(|a| scope.is_fixed(&Idx::atom(a.clone())));
            let term = Idx::from_terms([(fixed, c)]);
            let part = parts.entry(moving).or_default();
            *part = &*part + &term;
        }
        let mut sum: Option<Value> = None;
        for (moving, factor) in parts.into_iter().rev() {
            let mut product: Option<Value> = None;
            if factor.as_constant() != Some(1) || moving.is_empty() {
                product = Some(self.fixed_index(&factor, &shape)?);
            }
            for atom in &moving {
                let atom = self.atom(atom, scope)?;
                product = Some(match product {
                    Some(p) => self.binary(BinOp::Multiply, &atom, &p, None)?,
                    None => atom,
                });
            }
            sum = match (sum, product) {
                (Some(s), Some(p)) => Some(self.binary(BinOp::Add, &s, &p, None)?),
                (s, p) => s.or(p),
            };
        }
        match sum {
            Some(sum) => Ok(sum),
            None => self.splat(Scalar::zero(ScalarType::I64), &shape),
        }
    }

    /// An index that is the same everywhere.
    fn fixed_index(&mut self, idx: &Idx, shape: &[Idx]) -> Result<Value, Unsupported> {
        if let Some(c) = idx.as_constant() {
            return self.splat(Scalar::int(ScalarType::I64, c), shape);
        }
        let value = self.host_integer(idx, ScalarType::I64)?;
        self.broadcast(&value, shape, &[])
    }

    fn atom(&mut self, atom: &Atom, scope: &Scope) -> Result<Value, Unsupported> {
        let shape = scope.shape();
        let (a, b) = match atom {
            Atom::Sym(s) => {
                if let Some(axis) = scope.axes.iter().rposition(|(n, _)| n == s) {
                    return self.iota(axis, &shape);
                }
                return match scope.variables.get(s).cloned() {
                    Some(counter) => self.spread(&counter, &shape),
                    None => self.fixed_index(&Idx::sym(s.clone()), &shape),
                };
            }
            Atom::Value(e) => {
                let value = self.element(e, scope)?;
                return self.convert(ScalarType::I64, &value);
            }
            Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => (a, b),
        };
        let known = b.as_constant().filter(|b| *b > 0);
        let (a, b) = (self.index(a, scope)?, self.index(b, scope)?);
        match atom {
            Atom::Max(..) => self.binary(BinOp::Maximum, &a, &b, None),
            Atom::Min(..) => self.binary(BinOp::Minimum, &a, &b, None),
            _ => self.rounded_down(matches!(atom, Atom::Mod(..)), &a, &b, known.is_some()),
        }
    }

    /// `⌊a / b⌋`, or what that leaves: 0 and `a` where `b` is 0. `positive` if `b` is known to be that.
    fn rounded_down(
        &mut self,
        rest: bool,
        a: &Value,
        b: &Value,
        positive: bool,
    ) -> Result<Value, Unsupported> {
        let (by_zero, divisor) = match positive {
            true => (None, b.clone()),
            false => {
                let (by_zero, divisor) = self.divisor(b)?;
                (Some(by_zero), divisor)
            }
        };
        let zero = self.int(0, a)?;
        let left = self.elementwise("remainder", &[a, &divisor])?;
        // The remainder has the dividend's sign, and should have the divisor's.
        let mut other_sign = self.compare(CmpOp::Lt, &left, &zero)?;
        if !positive {
            let negative = self.compare(CmpOp::Lt, &divisor, &zero)?;
            let differ = self.compare(CmpOp::Ne, &other_sign, &negative)?;
            let some = self.compare(CmpOp::Ne, &left, &zero)?;
            other_sign = self.binary(BinOp::And, &differ, &some, None)?;
        }
        let (value, without) = match rest {
            true => {
                let more = self.binary(BinOp::Add, &left, &divisor, None)?;
                (self.select(&other_sign, &more, &left)?, a.clone())
            }
            false => {
                let quotient = self.elementwise("divide", &[a, &divisor])?;
                let one = self.int(1, a)?;
                let less = self.binary(BinOp::Subtract, &quotient, &one, None)?;
                (self.select(&other_sign, &less, &quotient)?, zero)
            }
        };
        match by_zero {
            Some(by_zero) => self.select(&by_zero, &without, &value),
            None => Ok(value),
        }
    }
}

impl Scope {
    pub(super) fn of(shape: &[Idx]) -> Scope {
        let axes = shape.iter().enumerate().map(|(d, e)| (dim(d), e.clone()));
        Scope::over(axes.collect())
    }

    pub(super) fn over(axes: Vec<(Sym, Idx)>) -> Scope {
        Scope {
            axes,
            ..Scope::default()
        }
    }

    fn shape(&self) -> Vec<Idx> {
        self.axes.iter().map(|(_, e)| e.clone()).collect()
    }

    /// Whether the index is known outside of the program: free of dimensions, loops and memory.
    fn is_fixed(&self, idx: &Idx) -> bool {
        !idx.has_values()
            && self.axes.iter().all(|(n, _)| !idx.mentions(n))
            && self.variables.keys().all(|n| !idx.mentions(n))
    }
}
