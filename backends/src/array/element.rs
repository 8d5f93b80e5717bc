//! Index notation over whole arrays: each bound index is an axis.

use super::node::{Emitter, linear};
use super::py::{Code, Level, numpy_dtype};

use super::scalar_op::{compare, infix};
use crate::Unsupported;
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::{Reducer, dim};

/// What is bound: axes, counters of Python loops, accumulators.
#[derive(Clone, Default)]
pub(super) struct Scope {
    /// Names and extents of the axes, in order.
    axes: Vec<(Sym, Idx)>,
    /// Counters and accumulators in Python variables.
    variables: BTreeMap<Sym, Variable>,
}

#[derive(Clone)]
struct Variable {
    name: String,
    /// How many axes there were where it got its value.
    rank: usize,
}

impl Emitter<'_> {
    /// The tensor of this shape whose element at `(#0, #1, …)` is `e`.
    pub(super) fn generic(&mut self, e: &ElemRef, shape: &[Idx]) -> Result<Code, Unsupported> {
        match self.scatter(e, shape)? {
            Some(code) => Ok(code),
            None => self.element(e, &Scope::of(shape)),
        }
    }

    /// The same with the whole shape of the axes.
    pub(super) fn all_elements(&mut self, e: &ElemRef, scope: &Scope) -> Result<Code, Unsupported> {
        let code = self.element(e, scope)?;
        self.all_of(code, scope)
    }

    /// An index over the dimensions `#0`, `#1`, … of a shape.
    pub(super) fn dims_index(&mut self, idx: &Idx, shape: &[Idx]) -> Result<Code, Unsupported> {
        self.index(idx, &Scope::of(shape))
    }

    fn element(&mut self, e: &ElemRef, scope: &Scope) -> Result<Code, Unsupported> {
        Ok(match &**e {
            Elem::Const(v) => Code::atom(self.literal(*v)?, scope.axes.is_empty()),
            Elem::Param(name, _) => {
                let name = self.param_name(name);
                self.leaf(&name, Code::atom(&name, scope.axes.is_empty()), e.ty())?
            }
            Elem::OfIdx(ty, idx) => {
                let on_axes = scope.axes.iter().any(|(n, _)| idx.mentions(n));
                if !on_axes && !idx.has_values() && !scope.binds(idx) {
                    let value = self.scalar_index(idx)?;
                    let code = Code::atom(
                        format!("_int({value}, {})", numpy_dtype(*ty)),
                        scope.axes.is_empty(),
                    );
                    return self.leaf("size", code, *ty);
                }
                let value = self.index(idx, scope)?;
                let t = self.dialect.dtype(*ty)?;
                let operands = [("a", (&value).into()), ("t", (&t).into())];
                self.form("of_index", *ty, &operands)?
            }
            Elem::Read { array, index, .. } => self.read(array, index, e.ty(), scope)?,
            Elem::Unary(op, a) => {
                let a = self.element(a, scope)?;
                self.unary(*op, e.ty(), &a)?
            }
            Elem::Binary(op, a, b) => {
                let known = match &**b {
                    Elem::Const(v) => Some(*v),
                    _ => None,
                };
                let (a, b) = (self.element(a, scope)?, self.element(b, scope)?);
                self.binary(*op, e.ty(), &a, &b, known)?
            }
            Elem::Compare(op, a, b) => {
                let ty = a.ty();
                let (a, b) = (self.element(a, scope)?, self.element(b, scope)?);
                self.compare(*op, ty, &a, &b)?
            }
            Elem::IndexCompare(op, a, b) => {
                let (a, b) = (self.index(a, scope)?, self.index(b, scope)?);
                // Two Python integers would compare to a Python truth value.
                let compared = compare(*op, &a, &b);
                self.form(
                    "index_compare",
                    ScalarType::I64,
                    &[("a", (&compared).into())],
                )?
            }
            Elem::Convert(ty, a) => {
                let from = a.ty();
                let a = self.element(a, scope)?;
                self.convert(*ty, from, &a)?
            }
            Elem::Bitcast(ty, a) => {
                let a = self.element(a, scope)?;
                self.bitcast(*ty, &a)?
            }
            Elem::Select(c, t, f) => {
                let (c, t, f) = (
                    self.element(c, scope)?,
                    self.element(t, scope)?,
                    self.element(f, scope)?,
                );
                self.select(e.ty(), &c, &t, &f)?
            }
            Elem::Acc(name, _) => match scope.variables.get(name) {
                Some(var) => {
                    let inner = scope.axes.len() - var.rank;
                    let lacks = if var.rank > 0 && inner > 0 {
                        format!("[...{}]", ", None".repeat(inner))
                    } else {
                        String::new()
                    };
                    Code::atom(format!("{}{lacks}", var.name), scope.axes.is_empty())
                }
                None => {
                    return Err(Unsupported::new(format!(
                        "accumulator {name} outside of its fold"
                    )));
                }
            },
            Elem::Fold(f) => self.fold(f, scope)?,
        })
    }

    fn read(
        &mut self,
        array: &Sym,
        index: &Idx,
        elem: ScalarType,
        scope: &Scope,
    ) -> Result<Code, Unsupported> {
        let stem = format!("{}_at", self.param_name(array));
        let index = self.since_first(array, index);
        let names: Vec<Sym> = scope.axes.iter().map(|(n, _)| n.clone()).collect();
        let regular = linear(&index, &names)
            .filter(|(strides, rest)| strides.iter().chain([rest]).all(|i| scope.is_fixed(i)));
        let code = match regular {
            Some((strides, offset)) => {
                let shape: Vec<Idx> = scope.axes.iter().map(|(_, e)| e.clone()).collect();
                if self.dialect.boundary.is_some() && scope.binds(&index) {
                    return Err(Unsupported::new(
                        "a read in a loop has no form outside of it",
                    ));
                }
                let offset_code = self.in_entry(|e| e.index(&offset, scope))?;
                let fixed = self.strided(array, &shape, &strides, &Idx::default())?;
                let offset = match offset.is_zero() {
                    true => String::new(),
                    false => format!(", offset={}", offset_code.s),
                };
                let code = Code::atom(format!("_read({fixed}{offset})"), true);
                self.leaf(&stem, code, elem)?
            }
            None => {
                let at = self.index(&index, scope)?;
                let array = self.whole_array(array, elem)?;
                self.gather(elem, &array, &at)?
            }
        };
        Ok(self.body.hold(&stem, code))
    }

    fn fold(&mut self, f: &Fold, scope: &Scope) -> Result<Code, Unsupported> {
        let ty = f.init.ty();
        let init = self.element(&f.init, scope)?;
        let constant_extent =
            scope.is_fixed(&f.extent) && scope.variables.keys().all(|n| !f.extent.mentions(n));
        let vector = as_reducer(f).filter(|(reducer, _)| {
            let exact = ty.is_int()
                || self.allowed == Tier::Real
                || matches!(reducer, Reducer::Op(BinOp::Add | BinOp::Multiply))
                || matches!(reducer, Reducer::TakeIf(_) | Reducer::KeepIf(_));
            exact && constant_extent
        });
        if let Some((reducer, x)) = vector {
            let mut inner = scope.clone();
            inner.axes.push((f.var.clone(), f.extent.clone()));
            let x = self.all_elements(&x, &inner)?;
            let zero = matches!(&*f.init, Elem::Const(v) if v.as_f64() == 0.0);
            let zero = zero && reducer == Reducer::Op(BinOp::Add);
            let axis = [inner.axes.len() - 1];
            let code = self.reduction(reducer, ty, (!zero).then_some(&init), &x, &axis)?;
            return Ok(self.body.hold(&stem(f), code));
        }
        if !scope.is_fixed(&f.extent) && !scope.axes.is_empty() {
            return Err(Unsupported::new(format!(
                "a sum over {} terms, which differs from element to element, has no form over whole arrays",
                f.extent
            )));
        }
        if self.dialect.boundary.is_some() {
            return Err(Unsupported::new(format!(
                "{} gets no loops, and this fold is none of its reductions",
                self.dialect.title
            )));
        }
        // One step after the other, each for all elements at once.
        let extent = self.index(&f.extent, scope)?.s;
        let mut first = vec![init.s];
        for lane in f.lanes().skip(1) {
            first.push(self.element(lane.init, scope)?.s);
        }
        let mut inner = scope.clone();
        let rank = scope.axes.len();
        let mut accs = Vec::new();
        for lane in f.lanes() {
            let name = self.body.names.fresh(lane.acc);
            accs.push(name.clone());
            inner
                .variables
                .insert(lane.acc.clone(), Variable { name, rank });
        }
        let var = self.body.names.fresh(&f.var);
        self.body
            .line(&format!("{} = {}", accs.join(", "), first.join(", ")));
        self.body.open(&format!("for {var} in range({extent}):"));
        inner
            .variables
            .insert(f.var.clone(), Variable { name: var, rank: 0 });
        let mut steps = Vec::new();
        for lane in f.lanes() {
            steps.push(self.element(lane.step, &inner)?.s);
        }
        self.body
            .line(&format!("{} = {}", accs.join(", "), steps.join(", ")));
        self.body.close();
        Ok(Code::atom(accs.swap_remove(0), scope.axes.is_empty()))
    }

    /// `x` with the whole shape of the axes.
    fn all_of(&mut self, x: Code, scope: &Scope) -> Result<Code, Unsupported> {
        if x.full {
            return Ok(x);
        }
        let shape: Vec<Idx> = scope.axes.iter().map(|(_, e)| e.clone()).collect();
        self.all_of_shape(&x, &shape)
    }

    pub(super) fn index(&mut self, idx: &Idx, scope: &Scope) -> Result<Code, Unsupported> {
        if let Some(n) = idx.nested() {
            let (quotient, divisor) = (
                self.index(&n.quotient, scope)?,
                self.index(&n.divisor, scope)?,
            );
            let product = infix("*", Level::Product, &quotient, &divisor);
            return Ok(if n.rest.is_zero() {
                product
            } else {
                let rest = self.index(&n.rest, scope)?;
                infix("+", Level::Sum, &product, &rest)
            });
        }
        let mut terms: Vec<_> = idx.terms().collect();
        terms.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        terms.sort_by_key(|(_, c)| *c < 0);
        let mut sum: Option<Code> = None;
        for (monomial, c) in terms {
            let magnitude = c.unsigned_abs();
            let mut product = (magnitude != 1 || monomial.is_empty())
                .then(|| Code::atom(magnitude.to_string(), scope.axes.is_empty()));
            for atom in monomial {
                let factor = self.atom(atom, scope)?;
                product = Some(match product {
                    Some(p) => infix("*", Level::Product, &p, &factor),
                    None => factor,
                });
            }
            let product = product.unwrap_or_else(|| Code::atom("1", scope.axes.is_empty()));
            sum = Some(match (sum, c < 0) {
                (None, false) => product,
                (None, true) => Code {
                    s: format!("-{}", product.at(Level::Unary)),
                    level: Level::Unary,
                    full: product.full,
                },
                (Some(s), false) => infix("+", Level::Sum, &s, &product),
                (Some(s), true) => infix("-", Level::Sum, &s, &product),
            });
        }
        Ok(sum.unwrap_or_else(|| Code::atom("0", scope.axes.is_empty())))
    }

    fn atom(&mut self, atom: &Atom, scope: &Scope) -> Result<Code, Unsupported> {
        let rank = scope.axes.len();
        let scalar = rank == 0;
        let (name, a, b) = match atom {
            Atom::Sym(s) => {
                if let Some(var) = scope.variables.get(s) {
                    return Ok(Code::atom(var.name.clone(), scalar));
                }
                let Some(axis) = scope.axes.iter().position(|(n, _)| n == s) else {
                    return Ok(Code::atom(self.size_name(s), scalar));
                };
                let extent = self.index(&scope.axes[axis].1, &Scope::default())?.s;
                let stem = ["i", "j", "k", "l"].get(axis).copied().unwrap_or("m");
                let code = self.axis(&extent, axis, rank)?;
                return Ok(self.body.hold(stem, code));
            }
            Atom::Value(e) => {
                let value = self.element(e, scope)?;
                return self.convert(ScalarType::I64, e.ty(), &value);
            }
            Atom::FloorDiv(a, b) => ("index_floor_div", a, b),
            Atom::Mod(a, b) => ("index_floor_mod", a, b),
            Atom::Max(a, b) => ("index_maximum", a, b),
            Atom::Min(a, b) => ("index_minimum", a, b),
        };
        let positive = b.as_constant().is_some_and(|b| b > 0);
        // Of Python integers: sizes stay such.
        let integers = scalar && !a.has_values() && !b.has_values();
        let (a, b) = (self.index(a, scope)?, self.index(b, scope)?);
        let full = a.full || b.full;
        Ok(match name {
            "index_floor_div" if positive => infix("//", Level::Product, &a, &b),
            "index_floor_mod" if positive => infix("%", Level::Product, &a, &b),
            "index_maximum" if integers => Code::atom(format!("max({}, {})", a.s, b.s), full),
            "index_minimum" if integers => Code::atom(format!("min({}, {})", a.s, b.s), full),
            _ => self.form(
                name,
                ScalarType::I64,
                &[("a", (&a).into()), ("b", (&b).into())],
            )?,
        })
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

    /// Whether the index speaks of a loop's counter or accumulator.
    fn binds(&self, idx: &Idx) -> bool {
        self.variables.keys().any(|n| idx.mentions(n))
    }

    /// Whether the index is a Python integer: free of axes and of values from memory.
    fn is_fixed(&self, idx: &Idx) -> bool {
        let plain = idx
            .terms()
            .flat_map(|(m, _)| m)
            .all(|a| matches!(a, Atom::Sym(_)));
        plain && self.axes.iter().all(|(n, _)| !idx.mentions(n))
    }
}

fn stem(f: &Fold) -> String {
    f.acc
        .split('\'')
        .next()
        .filter(|s| !s.is_empty())
        .unwrap_or("acc")
        .to_string()
}

/// The fold's step as a reducer and an element that is free of the accumulator.
pub(crate) fn as_reducer(f: &Fold) -> Option<(Reducer, ElemRef)> {
    if let Some((op, x)) = f.as_reduction() {
        return Some((Reducer::Op(op), x));
    }
    let is_acc = |e: &ElemRef| matches!(&**e, Elem::Acc(n, _) if *n == f.acc);
    let Elem::Select(c, t, e) = &*f.step else {
        return None;
    };
    let Elem::Compare(op, a, b) = &**c else {
        return None;
    };
    // `m < x` is `x > m`.
    let (op, a, b) = match (t == b && is_acc(e), e == a && is_acc(t)) {
        (false, false) => (*op, a, b),
        _ => (op.swapped(), b, a),
    };
    let take = t == a && is_acc(b) && is_acc(e);
    let keep = is_acc(a) && is_acc(t) && b == e;
    match (take, keep) {
        (true, _) if !t.mentions(&f.acc) => Some((Reducer::TakeIf(op), t.clone())),
        (_, true) if !e.mentions(&f.acc) => Some((Reducer::KeepIf(op), e.clone())),
        _ => None,
    }
}
