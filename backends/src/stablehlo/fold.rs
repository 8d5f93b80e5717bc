//! Reductions, running folds and those that keep a place.

use super::program::{Program, Value, names};
use crate::Unsupported;
use tensorize_ir::index::Idx;
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Node, Op, Reducer};

impl Program<'_> {
    /// `init ∘ x ∘ x …` over these dimensions; `init` has the result's shape.
    pub(super) fn reduction(
        &mut self,
        reducer: Reducer,
        init: &Value,
        x: &Value,
        dimensions: &[usize],
    ) -> Result<Value, Unsupported> {
        let elem = x.elem;
        self.host.float_step(elem)?;
        let Some(identity) = identity(reducer, elem) else {
            return self.one_by_one(reducer, init, x, dimensions);
        };
        let start = self.splat(identity, &[])?;
        let how = format!("%{} init: %{}", x.name, start.name);
        let (from, to) = (self.types(&[x.clone(), start])?, self.ty(init)?);
        let types = format!("dimensions = {dimensions:?} : ({from}) -> {to}");
        let reduced = match in_one_word(reducer, elem) {
            Some(name) => {
                let form = self.form(name, elem)?;
                let step = form.split_whitespace().next().unwrap_or("");
                let rhs = format!("stablehlo.reduce({how}) applies {step} across {types}");
                self.value(rhs, &init.shape, elem)
            }
            None => self.reduction_by_steps(reducer, &how, &types, init)?,
        };
        self.step(reducer, init, &reduced)
    }

    /// A reduction whose step is written out.
    fn reduction_by_steps(
        &mut self,
        reducer: Reducer,
        how: &str,
        types: &str,
        like: &Value,
    ) -> Result<Value, Unsupported> {
        let [result, a, b] = ["reduced", "a", "b"].map(|stem| Value {
            name: self.fresh(stem),
            shape: vec![],
            elem: like.elem,
        });
        let ty = self.ty(&a)?;
        self.line(&format!(
            "%{} = stablehlo.reduce({how}) across {types}",
            result.name
        ));
        self.line(&format!(
            "  reducer(%{}: {ty}, %{}: {ty}) {{",
            a.name, b.name
        ));
        self.block(|p| {
            let next = p.step(reducer, &a, &b)?;
            p.line(&format!("stablehlo.return %{} : {ty}", next.name));
            Ok(())
        })?;
        self.line("  }");
        Ok(Value {
            shape: like.shape.clone(),
            ..result
        })
    }

    /// What the reducer makes of `acc` and the next element.
    fn step(&mut self, reducer: Reducer, acc: &Value, x: &Value) -> Result<Value, Unsupported> {
        match reducer {
            Reducer::Op(op) => self.binary(op, acc, x, None),
            _ => {
                let (condition, takes) = self.choice(reducer, acc, x)?;
                self.select_if(&condition, takes, x, acc)
            }
        }
    }

    /// A condition on the two, and whether the element is taken where it holds, or where it doesn't.
    fn choice(
        &mut self,
        reducer: Reducer,
        acc: &Value,
        x: &Value,
    ) -> Result<(Value, bool), Unsupported> {
        Ok(match reducer {
            Reducer::TakeIf(cmp) => (self.compare(cmp, x, acc)?, true),
            Reducer::KeepIf(cmp) => (self.compare(cmp, acc, x)?, false),
            Reducer::Op(op) => {
                let why = format!("{op} keeps none of two elements, so there is no place to tell");
                return Err(Unsupported::new(why));
            }
        })
    }

    /// `new` where the condition is `wanted`, `old` elsewhere.
    fn select_if(
        &mut self,
        condition: &Value,
        wanted: bool,
        new: &Value,
        old: &Value,
    ) -> Result<Value, Unsupported> {
        match wanted {
            true => self.select(condition, new, old),
            false => self.select(condition, old, new),
        }
    }

    /// In row-major order, one element after the other.
    fn one_by_one(
        &mut self,
        reducer: Reducer,
        init: &Value,
        x: &Value,
        dimensions: &[usize],
    ) -> Result<Value, Unsupported> {
        let (lines, last) = self.lines_of(x, dimensions)?;
        let count = self.count(&lines.shape[last])?;
        let lines = self.not_empty(&lines, last)?;
        let mut done = self.repeat(&count, std::slice::from_ref(init), |p, k, state| {
            let x = p.element_at(&lines, last, k)?;
            Ok(vec![p.step(reducer, &state[0], &x)?])
        })?;
        Ok(done.swap_remove(0))
    }

    /// The tensor with these dimensions as one, which is the last.
    fn lines_of(&mut self, x: &Value, dimensions: &[usize]) -> Result<(Value, usize), Unsupported> {
        let rank = x.shape.len();
        let kept: Vec<usize> = (0..rank).filter(|d| !dimensions.contains(d)).collect();
        let order = [&kept[..], dimensions].concat();
        let pick = |order: &[usize]| order.iter().map(|d| x.shape[*d].clone()).collect();
        let shape: Vec<Idx> = pick(&order);
        let moved = match order.iter().copied().eq(0..rank) {
            true => x.clone(),
            false => {
                let dims = format!(", dims = {order:?}");
                self.moved("stablehlo.transpose", &[x], &dims, &shape)?
            }
        };
        let mut shape: Vec<Idx> = pick(&kept);
        let count = dimensions.iter().map(|d| &x.shape[*d]);
        shape.push(count.fold(Idx::constant(1), |n, e| &n * e));
        Ok((self.reshape(&moved, &shape)?, kept.len()))
    }

    /// The values that a fold has on its way along one dimension.
    pub(super) fn scan(&mut self, node: &Node) -> Result<Value, Unsupported> {
        let Op::Scan {
            reducer,
            dimension,
            exclusive,
            reverse,
        } = node.op
        else {
            return Err(Unsupported::new("not a scan"));
        };
        let x = self.node(node.args[0])?;
        self.host.float_step(x.elem)?;
        let mut outer = x.shape.clone();
        outer.remove(dimension);
        let init = self.start(node.args[1], &outer)?;
        let count = self.count(&x.shape[dimension])?;
        let last = self.last(&count)?;
        let x_some = self.not_empty(&x, dimension)?;
        let out = self.splat(Scalar::zero(x.elem), &x_some.shape)?;
        let done = self.repeat(&count, &[init, out], |p, k, state| {
            let at = match reverse {
                true => p.binary(BinOp::Subtract, &last, k, None)?,
                false => k.clone(),
            };
            let element = p.element_at(&x_some, dimension, &at)?;
            let next = p.step(reducer, &state[0], &element)?;
            let shown = if exclusive { &state[0] } else { &next };
            let out = p.put_at(&state[1], dimension, &at, shown)?;
            Ok(vec![next, out])
        })?;
        let start = vec![Idx::default(); x.shape.len()];
        let stride = vec![1; x.shape.len()];
        match done[1].shape == x.shape {
            true => Ok(done[1].clone()),
            false => self.slice(&done[1], &start, &stride, &x.shape),
        }
    }

    /// The label of the element that a reducer ends up with.
    pub(super) fn arg_reduce(&mut self, node: &Node) -> Result<Value, Unsupported> {
        let Op::ArgReduce { reducer, dimension } = node.op else {
            return Err(Unsupported::new("not an arg_reduce"));
        };
        let (x, labels) = (self.node(node.args[0])?, self.node(node.args[1])?);
        self.host.float_step(x.elem)?;
        let best = self.start(node.args[2], &node.ty.shape)?;
        let label = self.start(node.args[3], &node.ty.shape)?;
        let count = self.count(&x.shape[dimension])?;
        let x = self.not_empty(&x, dimension)?;
        let labels = self.not_empty(&labels, dimension)?;
        let mut done = self.repeat(&count, &[best, label], |p, k, state| {
            let element = p.element_at(&x, dimension, k)?;
            let its_label = p.element_at(&labels, dimension, k)?;
            let (condition, takes) = p.choice(reducer, &state[0], &element)?;
            Ok(vec![
                p.select_if(&condition, takes, &element, &state[0])?,
                p.select_if(&condition, takes, &its_label, &state[1])?,
            ])
        })?;
        Ok(done.swap_remove(1))
    }

    /// What a fold starts from, with the accumulators' shape.
    pub(super) fn start(&mut self, id: usize, shape: &[Idx]) -> Result<Value, Unsupported> {
        match self.host.function.constant_behind(id) {
            Some(v) => self.splat(v, shape),
            None => {
                let value = self.node(id)?;
                let dims: Vec<usize> = (0..value.shape.len()).collect();
                self.broadcast(&value, shape, &dims)
            }
        }
    }

    /// An extent as a value of the program.
    pub(super) fn count(&mut self, extent: &Idx) -> Result<Value, Unsupported> {
        let text = self.extent(extent)?;
        let rhs = format!("stablehlo.constant dense<{text}> : tensor<i64>");
        Ok(self.value(rhs, &[], ScalarType::I64))
    }

    fn last(&mut self, count: &Value) -> Result<Value, Unsupported> {
        let one = self.int(1, count)?;
        self.binary(BinOp::Subtract, count, &one, None)
    }

    /// `x[…, at, …]`, without that dimension.
    pub(super) fn element_at(
        &mut self,
        x: &Value,
        dimension: usize,
        at: &Value,
    ) -> Result<Value, Unsupported> {
        let mut shape = x.shape.clone();
        shape[dimension] = Idx::constant(1);
        let sizes: Result<Vec<_>, _> = shape.iter().map(|e| self.extent(e)).collect();
        let sizes = format!(", sizes = [{}]", sizes?.join(", "));
        let (start, from) = self.start_at(x.shape.len(), dimension, at)?;
        let (ty, to) = (self.ty(x)?, self.tensor(&shape, x.elem)?);
        let rhs = format!(
            "stablehlo.dynamic_slice %{}, {start}{sizes} : ({ty}, {from}) -> {to}",
            x.name
        );
        let one = self.value(rhs, &shape, x.elem);
        shape.remove(dimension);
        self.reshape(&one, &shape)
    }

    /// `x` with `x[…, at, …] = value`.
    fn put_at(
        &mut self,
        x: &Value,
        dimension: usize,
        at: &Value,
        value: &Value,
    ) -> Result<Value, Unsupported> {
        let mut shape = x.shape.clone();
        shape[dimension] = Idx::constant(1);
        let update = self.reshape(value, &shape)?;
        let (start, from) = self.start_at(x.shape.len(), dimension, at)?;
        let (ty, part) = (self.ty(x)?, self.ty(&update)?);
        let rhs = format!(
            "stablehlo.dynamic_update_slice %{}, %{}, {start} : ({ty}, {part}, {from}) -> {ty}",
            x.name, update.name
        );
        Ok(self.value(rhs, &x.shape, x.elem))
    }

    /// Where a slice begins that is one element thick, and the types of that.
    fn start_at(
        &mut self,
        rank: usize,
        dimension: usize,
        at: &Value,
    ) -> Result<(String, String), Unsupported> {
        let zero = match rank {
            1 => at.clone(),
            _ => self.int(0, at)?,
        };
        let all: Vec<Value> = (0..rank)
            .map(|d| {
                if d == dimension {
                    at.clone()
                } else {
                    zero.clone()
                }
            })
            .collect();
        Ok((names(&all), self.types(&all)?))
    }

    /// The state after `count` steps: `step` gets the number of the step and the state before it.
    pub(super) fn repeat(
        &mut self,
        count: &Value,
        state: &[Value],
        step: impl FnOnce(&mut Self, &Value, &[Value]) -> Result<Vec<Value>, Unsupported>,
    ) -> Result<Vec<Value>, Unsupported> {
        let first = self.int(0, count)?;
        let k = Value {
            name: self.fresh("k"),
            ..first.clone()
        };
        let mut inner = Vec::new();
        for value in state {
            inner.push(Value {
                name: self.fresh("acc"),
                ..value.clone()
            });
        }
        let after = self.fresh("after");
        let starts: Vec<String> = [&first]
            .into_iter()
            .chain(state)
            .zip([&k].into_iter().chain(&inner))
            .map(|(from, to)| format!("%{} = %{}", to.name, from.name))
            .collect();
        let mut types = vec![k.clone()];
        types.extend(inner.iter().cloned());
        let types = self.types(&types)?;
        let head = format!(
            "%{after}:{} = stablehlo.while({}) : {types}",
            state.len() + 1,
            starts.join(", ")
        );
        self.line(&head);
        self.line("cond {");
        self.block(|p| {
            let more = p.compare(CmpOp::Lt, &k, count)?;
            p.line(&format!("stablehlo.return %{} : tensor<i1>", more.name));
            Ok(())
        })?;
        self.line("} do {");
        self.block(|p| {
            let mut next = step(p, &k, &inner)?;
            let one = p.int(1, &k)?;
            next.insert(0, p.binary(BinOp::Add, &k, &one, None)?);
            p.line(&format!("stablehlo.return {} : {types}", names(&next)));
            Ok(())
        })?;
        self.line("}");
        let result = |(i, value): (usize, &Value)| Value {
            name: format!("{after}#{}", i + 1),
            ..value.clone()
        };
        Ok(state.iter().enumerate().map(result).collect())
    }
}

/// What changes nothing as the accumulator, if the steps may be taken in any order.
///
/// Of floats, that is so for real numbers; `-inf` is never kept against a number, nor taken for one.
fn identity(reducer: Reducer, ty: ScalarType) -> Option<Scalar> {
    use BinOp::{Add, And, Maximum, Minimum, Multiply, Or, Xor};
    let one = match ty {
        ScalarType::F32 => Scalar::f32(1.0),
        ScalarType::F64 => Scalar::f64(1.0),
        _ => Scalar::int(ty, 1),
    };
    let every_bit = Scalar::int(ty, if ty.is_signed() { -1 } else { ty.max_value() });
    let limit = |largest: bool| match (ty, largest) {
        (ScalarType::F32, true) => Scalar::f32(f32::INFINITY),
        (ScalarType::F32, false) => Scalar::f32(f32::NEG_INFINITY),
        (ScalarType::F64, true) => Scalar::f64(f64::INFINITY),
        (ScalarType::F64, false) => Scalar::f64(f64::NEG_INFINITY),
        (_, true) => Scalar::int(ty, ty.max_value()),
        (_, false) => Scalar::int(ty, ty.min_value()),
    };
    match reducer {
        Reducer::Op(Add | Or | Xor) => Some(Scalar::zero(ty)),
        Reducer::Op(Multiply) => Some(one),
        Reducer::Op(And) => Some(every_bit),
        Reducer::Op(Maximum) | Reducer::TakeIf(CmpOp::Gt | CmpOp::Ge) => Some(limit(false)),
        Reducer::Op(Minimum) | Reducer::TakeIf(CmpOp::Lt | CmpOp::Le) => Some(limit(true)),
        Reducer::KeepIf(CmpOp::Gt | CmpOp::Ge) => Some(limit(false)),
        Reducer::KeepIf(CmpOp::Lt | CmpOp::Le) => Some(limit(true)),
        _ => None,
    }
}

/// StableHLO's operator for a step, if there is one.
fn in_one_word(reducer: Reducer, ty: ScalarType) -> Option<&'static str> {
    match reducer {
        Reducer::Op(op) => Some(op.name()),
        _ if ty.is_float() => None,
        Reducer::TakeIf(cmp) | Reducer::KeepIf(cmp) => match cmp {
            CmpOp::Gt | CmpOp::Ge => Some("maximum"),
            CmpOp::Lt | CmpOp::Le => Some("minimum"),
            CmpOp::Eq | CmpOp::Ne => None,
        },
    }
}
