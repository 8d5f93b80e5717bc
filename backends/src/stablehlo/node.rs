//! Operators of TensIR as StableHLO's.

use super::program::{Program, Value, literal};
use crate::Unsupported;
use crate::array::numpy_dtype;
use tensorize_ir::index::Idx;
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Node, NodeId, Op, View};

impl Program<'_> {
    /// The value of a node, in the program once.
    pub(super) fn node(&mut self, id: NodeId) -> Result<Value, Unsupported> {
        if let Some(value) = self.values.get(&id) {
            return Ok(value.clone());
        }
        let value = self.operator(&self.function.nodes[id])?;
        self.values.insert(id, value.clone());
        Ok(value)
    }

    fn operator(&mut self, node: &Node) -> Result<Value, Unsupported> {
        let (shape, elem) = (&node.ty.shape, node.ty.elem);
        let arg = |i: usize| node.args[i];
        Ok(match &node.op {
            Op::View(view) => self.view(view, shape, elem)?,
            Op::Param(name) => {
                let name = self.host.param_name(name);
                self.leaf(&name, name.clone(), &[], elem)?
            }
            Op::Size(idx) => self.host_integer(idx, elem)?,
            Op::Constant(v) => self.splat(*v, &[])?,
            Op::Table(values) => {
                let items: Vec<_> = values.iter().map(|v| literal(*v)).collect();
                let ty = self.tensor(shape, elem)?;
                let rhs = format!("stablehlo.constant dense<[{}]> : {ty}", items.join(", "));
                self.value(rhs, shape, elem)
            }
            Op::Iota { dimension } => {
                let along = self.iota(*dimension, shape)?;
                self.convert(elem, &along)?
            }
            Op::Unary(op) => {
                let a = self.node(arg(0))?;
                self.unary(*op, &a)?
            }
            Op::Binary(op) => {
                let (a, b) = (self.node(arg(0))?, self.node(arg(1))?);
                let divisor = self.host.function.constant_behind(arg(1));
                self.binary(*op, &a, &b, divisor)?
            }
            Op::Compare(op) => {
                let (a, b) = (self.node(arg(0))?, self.node(arg(1))?);
                self.compare(*op, &a, &b)?
            }
            Op::Convert => {
                let a = self.node(arg(0))?;
                self.convert(elem, &a)?
            }
            Op::BitcastConvert => {
                let a = self.node(arg(0))?;
                self.bitcast(elem, &a)?
            }
            Op::Select => {
                let (c, t, f) = (self.node(arg(0))?, self.node(arg(1))?, self.node(arg(2))?);
                self.select(&c, &t, &f)?
            }
            Op::BroadcastInDim { dimensions } => match self.host.function.constant_behind(arg(0)) {
                Some(v) => self.splat(v, shape)?,
                None => {
                    let a = self.node(arg(0))?;
                    self.broadcast(&a, shape, dimensions)?
                }
            },
            Op::Reshape => {
                let a = self.node(arg(0))?;
                self.reshape(&a, shape)?
            }
            Op::Transpose { permutation } => {
                let a = self.node(arg(0))?;
                let dims = format!(", dims = {permutation:?}");
                self.moved("stablehlo.transpose", &[&a], &dims, shape)?
            }
            Op::Slice { start, stride } => {
                let a = self.node(arg(0))?;
                self.slice(&a, start, stride, shape)?
            }
            Op::Pad { low } => {
                let (a, value) = (self.node(arg(0))?, self.node(arg(1))?);
                self.pad(&a, &value, low, shape)?
            }
            Op::Concatenate { dimension } => {
                let pieces: Result<Vec<_>, _> = node.args.iter().map(|a| self.node(*a)).collect();
                let pieces = pieces?;
                let dim = format!(", dim = {dimension}");
                let pieces: Vec<_> = pieces.iter().collect();
                self.moved("stablehlo.concatenate", &pieces, &dim, shape)?
            }
            Op::Reverse { dimensions } => {
                let a = self.node(arg(0))?;
                let ty = self.ty(&a)?;
                let rhs = format!(
                    "stablehlo.reverse %{}, dims = {dimensions:?} : {ty}",
                    a.name
                );
                self.value(rhs, shape, elem)
            }
            Op::Gather => {
                let (a, at) = (self.node(arg(0))?, self.node(arg(1))?);
                let a = self.not_empty(&a, 0)?;
                self.gather(&a, &at)?
            }
            Op::DotGeneral { batch, contracting } => self.dot(node, batch, contracting)?,
            Op::Reduce {
                reducer,
                dimensions,
            } => {
                let (x, init) = (self.node(arg(0))?, self.node(arg(1))?);
                let init = self.broadcast(&init, shape, &[])?;
                self.reduction(*reducer, &init, &x, dimensions)?
            }
            Op::Scan { .. } => self.scan(node)?,
            Op::ArgReduce { .. } => self.arg_reduce(node)?,
            Op::Generic(e) => self.generic(e, shape)?,
        })
    }

    fn view(&mut self, view: &View, shape: &[Idx], elem: ScalarType) -> Result<Value, Unsupported> {
        if let Some(args) = self.host.view_args(view, shape)? {
            let stem = format!("{}_view", self.host.param_name(&view.array));
            return self.leaf(&stem, format!("_read({args})"), shape, elem);
        }
        let index = self.host.since_first(&view.array, &view.index);
        let at = self.dims_index(&index, shape)?;
        let array = self.whole_array(&view.array, elem)?;
        self.gather(&array, &at)
    }

    /// An integer that the function around the program computes of the sizes.
    pub(super) fn host_integer(
        &mut self,
        idx: &Idx,
        elem: ScalarType,
    ) -> Result<Value, Unsupported> {
        let value = self.host.scalar_index(idx)?;
        let stem = idx.as_sym().map_or("size", |name| name);
        self.leaf(
            stem,
            format!("_int({value}, {})", numpy_dtype(elem)),
            &[],
            elem,
        )
    }

    /// The index along one dimension.
    pub(super) fn iota(&mut self, dimension: usize, shape: &[Idx]) -> Result<Value, Unsupported> {
        let ty = self.tensor(shape, ScalarType::I64)?;
        let rhs = format!("stablehlo.iota dim = {dimension} : {ty}");
        Ok(self.value(rhs, shape, ScalarType::I64))
    }

    /// `a[at]`, from a vector that is not empty; any element where that is outside.
    pub(super) fn gather(&mut self, a: &Value, at: &Value) -> Result<Value, Unsupported> {
        let at = self.convert(ScalarType::I64, at)?;
        let attributes = format!(
            " <{{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], \
             index_vector_dim = {}>, slice_sizes = array<i64: 1>}}>",
            at.shape.len()
        );
        let (from, to) = (
            self.types(&[a.clone(), at.clone()])?,
            self.tensor(&at.shape, a.elem)?,
        );
        let rhs = format!(
            "\"stablehlo.gather\"(%{}, %{}){attributes} : ({from}) -> {to}",
            a.name, at.name
        );
        Ok(self.value(rhs, &at.shape, a.elem))
    }

    pub(super) fn reshape(&mut self, a: &Value, shape: &[Idx]) -> Result<Value, Unsupported> {
        if a.shape == shape {
            return Ok(a.clone());
        }
        self.moved("stablehlo.reshape", &[a], "", shape)
    }

    /// `a[start + i*stride]`. Of no elements, it begins at 0: then `start` may lie anywhere.
    pub(super) fn slice(
        &mut self,
        a: &Value,
        start: &[Idx],
        stride: &[i64],
        shape: &[Idx],
    ) -> Result<Value, Unsupported> {
        let mut ranges = Vec::new();
        for ((first, extent), &step) in start.iter().zip(shape).zip(stride) {
            let one = Idx::constant(1);
            let end = &(first + &(&(extent - &one) * &Idx::constant(step.into()))) + &one;
            let empty = extent.as_constant().map(|n| n <= 0);
            let mut bound = |idx: &Idx, stem: &str| match (idx.as_constant(), empty) {
                (_, Some(true)) => Ok("0".into()),
                (Some(0), _) => Ok("0".into()),
                (Some(n), Some(false)) => Ok(n.to_string()),
                _ => {
                    let (at, n) = (
                        self.host.scalar_index(idx)?,
                        self.host.scalar_index(extent)?,
                    );
                    let python = match at.contains(' ') {
                        true => format!("({at}) * ({n} > 0)"),
                        false => format!("{at} * ({n} > 0)"),
                    };
                    // One bound for one index and one extent.
                    let key = Idx::sym(format!("bound {idx} of {extent}"));
                    self.size(&key, stem, python)
                }
            };
            let (first, end) = (bound(first, "first")?, bound(&end, "end")?);
            ranges.push(match step {
                1 => format!("{first}:{end}"),
                _ => format!("{first}:{end}:{step}"),
            });
        }
        let name = format!("stablehlo.slice %{} [{}]", a.name, ranges.join(", "));
        let (from, to) = (self.ty(a)?, self.tensor(shape, a.elem)?);
        Ok(self.value(format!("{name} : ({from}) -> {to}"), shape, a.elem))
    }

    fn pad(
        &mut self,
        a: &Value,
        value: &Value,
        low: &[Idx],
        shape: &[Idx],
    ) -> Result<Value, Unsupported> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for ((low, extent), inner) in low.iter().zip(shape).zip(&a.shape) {
            before.push(self.extent(low)?);
            let known = [extent, low, inner].map(Idx::as_constant);
            after.push(match known {
                [Some(all), Some(low), Some(inner)] => {
                    (all.max(0) - low.max(0) - inner.max(0)).to_string()
                }
                _ => {
                    let parts = (
                        self.clamped(extent)?,
                        self.clamped(low)?,
                        self.clamped(inner)?,
                    );
                    let python = format!("{} - {} - {}", parts.0, parts.1, parts.2);
                    let key = Idx::sym(format!("from {low} and {inner} to {extent}"));
                    self.size(&key, "after", python)?
                }
            });
        }
        let attributes = format!(
            ", low = [{}], high = [{}], interior = {:?}",
            before.join(", "),
            after.join(", "),
            vec![0; shape.len()]
        );
        self.moved("stablehlo.pad", &[a, value], &attributes, shape)
    }

    /// The same, with one element at least along a dimension, to pick from.
    pub(super) fn not_empty(&mut self, a: &Value, dimension: usize) -> Result<Value, Unsupported> {
        let extent = &a.shape[dimension];
        if extent.as_constant().is_some_and(|n| n > 0) {
            return Ok(a.clone());
        }
        let zero = self.splat(Scalar::zero(a.elem), &[])?;
        let low = vec![Idx::default(); a.shape.len()];
        let shape = at_least_one(&a.shape, dimension);
        self.pad(a, &zero, &low, &shape)
    }

    fn dot(
        &mut self,
        node: &Node,
        batch: &[(usize, usize)],
        contracting: &[(usize, usize)],
    ) -> Result<Value, Unsupported> {
        let (a, b) = (self.node(node.args[0])?, self.node(node.args[1])?);
        let elem = node.ty.elem;
        self.host.float_step(elem)?;
        let pairs = |pairs: &[(usize, usize)]| {
            let left: Vec<_> = pairs.iter().map(|p| p.0).collect();
            let right: Vec<_> = pairs.iter().map(|p| p.1).collect();
            format!("{left:?} x {right:?}")
        };
        let mut attributes = String::new();
        if !batch.is_empty() {
            attributes += &format!(", batching_dims = {}", pairs(batch));
        }
        attributes += &format!(", contracting_dims = {}", pairs(contracting));
        if elem.is_float() {
            // A GPU would round the factors.
            attributes += ", precision = [HIGHEST, HIGHEST]";
        }
        let shape = &node.ty.shape;
        let product = self.moved("stablehlo.dot_general", &[&a, &b], &attributes, shape)?;
        if self.host.function.is_zero(node.args[2]) {
            return Ok(product);
        }
        let start = self.start(node.args[2], shape)?;
        self.binary(BinOp::Add, &start, &product, None)
    }
}

/// The shape, with one element at least along a dimension.
pub(super) fn at_least_one(shape: &[Idx], dimension: usize) -> Vec<Idx> {
    use tensorize_ir::index::Atom;
    let mut shape = shape.to_vec();
    let extent = &mut shape[dimension];
    *extent = match extent.as_constant() {
        Some(n) => Idx::constant(n.max(1)),
        None => Idx::atom(Atom::Max(
            Box::new(extent.clone()),
            Box::new(Idx::constant(1)),
        )),
    };
    shape
}
