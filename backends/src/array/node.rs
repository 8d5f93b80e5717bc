//! Operators of TensIR as a framework's expressions.

use super::boundary::Boundary;
use super::dialect::{Dialect, Operand};
use super::py::{Body, Code, Level, digits, numpy_dtype, tuple};
use super::scalar_op::infix;
use crate::{Kernel, Unsupported};
use std::collections::{BTreeMap, HashMap};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{self, NodeId, Op, Reducer, TensorType, View, dim};

/// Writes the body of one function.
pub(crate) struct Emitter<'a> {
    pub dialect: &'a Dialect,
    pub function: &'a tensir::Function,
    pub body: Body,
    /// What the function that reads and stores does, if the framework computes in one of its own.
    pub boundary: Boundary,
    pub allowed: Tier,
    pub tier: Tier,
    /// C names to Python names.
    params: HashMap<Sym, String>,
    /// First element of each array that is passed.
    first: BTreeMap<Sym, Idx>,
    values: BTreeMap<NodeId, Code>,
    uses: Vec<usize>,
}

/// Longer expressions get a variable.
const LONG: usize = 60;

impl<'a> Emitter<'a> {
    pub(super) fn new(
        dialect: &'a Dialect,
        kernel: &Kernel<'a>,
        params: HashMap<Sym, String>,
    ) -> Emitter<'a> {
        let function = kernel.function;
        let mut uses = vec![0; function.nodes.len()];
        for node in &function.nodes {
            node.args.iter().for_each(|a| uses[*a] += 1);
        }
        let first = kernel.footprints.iter();
        Emitter {
            dialect,
            function,
            body: Body::default(),
            boundary: Boundary::default(),
            allowed: kernel.tier,
            tier: Tier::Exact,
            params,
            first: first
                .map(|f| (f.extent.array.clone(), f.extent.lo.clone()))
                .collect(),
            values: BTreeMap::new(),
            uses,
        }
    }

    /// The Python name of a parameter.
    pub(crate) fn param_name(&self, name: &Sym) -> String {
        self.params
            .get(name)
            .cloned()
            .unwrap_or_else(|| name.to_string())
    }

    /// An index into the array that is passed, from one into C's.
    pub(crate) fn since_first(&self, array: &Sym, index: &Idx) -> Idx {
        match self.first.get(array) {
            Some(lo) => index - lo,
            None => index.clone(),
        }
    }

    /// `array, shape[, strides][, offset]` for `_view` and `_read`, if the index is linear in the dimensions.
    pub(crate) fn view_args(
        &mut self,
        view: &View,
        shape: &[Idx],
    ) -> Result<Option<String>, Unsupported> {
        let dims: Vec<Sym> = (0..shape.len()).map(dim).collect();
        let Some((strides, offset)) = linear(&self.since_first(&view.array, &view.index), &dims)
        else {
            return Ok(None);
        };
        self.strided(&view.array, shape, &strides, &offset)
            .map(Some)
    }

    pub(crate) fn strided(
        &mut self,
        array: &Sym,
        shape: &[Idx],
        strides: &[Idx],
        offset: &Idx,
    ) -> Result<String, Unsupported> {
        let mut args = vec![self.param_name(array), self.shape(shape)?];
        let mut inner = Idx::constant(1);
        let mut contiguous = true;
        for (extent, stride) in shape.iter().zip(strides).rev() {
            contiguous &= *stride == inner;
            inner = &inner * extent;
        }
        if !contiguous {
            let strides = strides
                .iter()
                .map(|s| self.scalar_index(s))
                .collect::<Result<Vec<_>, _>>()?;
            args.push(format!("strides={}", tuple(&strides)));
        }
        if !offset.is_zero() {
            args.push(format!("offset={}", self.scalar_index(offset)?));
        }
        Ok(args.join(", "))
    }

    /// A shape as a tuple.
    pub(super) fn shape(&mut self, shape: &[Idx]) -> Result<String, Unsupported> {
        let items = shape
            .iter()
            .map(|e| self.scalar_index(e))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(tuple(&items))
    }

    /// A shape as a tuple, in the function that computes.
    pub(super) fn device_shape(&mut self, shape: &[Idx]) -> Result<String, Unsupported> {
        let items = shape
            .iter()
            .map(|e| self.size_index(e))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(tuple(&items))
    }

    /// The value with all of the node's shape.
    pub(super) fn full(&mut self, id: NodeId) -> Result<Code, Unsupported> {
        let code = self.node(id)?;
        if code.full {
            return Ok(code);
        }
        let function = self.function;
        self.all_of_shape(&code, &function.nodes[id].ty.shape)
    }

    /// `code`, broadcast to a shape.
    pub(super) fn all_of_shape(&mut self, code: &Code, shape: &[Idx]) -> Result<Code, Unsupported> {
        let shape = self.device_shape(shape)?;
        let operands = [("a", code.into()), ("shape", (&shape).into())];
        // Only moves: no type matters.
        let row = self.dialect.row("full", ScalarType::I64, false)?;
        Ok(Code {
            full: true,
            ..self.dialect.fill(row.form, &operands)
        })
    }

    /// A literal with its type.
    pub(super) fn literal(&self, v: Scalar) -> Result<String, Unsupported> {
        self.typed(&digits(v), v.ty)
    }

    pub(super) fn typed(&self, digits: &str, ty: ScalarType) -> Result<String, Unsupported> {
        let t = self.dialect.dtype(ty)?;
        let row = self.dialect.row("constant", ty, false)?;
        let operands = [("v", digits.into()), ("t", (&t).into())];
        Ok(self.dialect.fill(row.form, &operands).s)
    }

    /// What folds start from: a scalar, or an array with its whole shape.
    pub(super) fn fold_start(&mut self, id: NodeId) -> Result<Code, Unsupported> {
        match self.function.nodes[id].ty.rank() {
            0 => self.node(id),
            _ => self.full(id),
        }
    }

    /// The value of a node: an expression, or the variable that holds it.
    pub(super) fn node(&mut self, id: NodeId) -> Result<Code, Unsupported> {
        if let Some(code) = self.values.get(&id) {
            return Ok(code.clone());
        }
        let function = self.function;
        let node = &function.nodes[id];
        let mut code = self.operator(node)?;
        let cheap = matches!(node.op, Op::Constant(_) | Op::Param(_));
        let shared = self.uses[id] > 1 && !cheap;
        if shared || code.s.len() > LONG || matches!(node.op, Op::View(_)) {
            let stem = match &node.op {
                Op::View(v) => format!("{}_view", self.param_name(&v.array)),
                Op::Reduce { reducer, .. } => reducer_name(*reducer).into(),
                Op::DotGeneral { .. } => "dot".into(),
                Op::Scan { .. } => "running".into(),
                Op::ArgReduce { .. } => "place".into(),
                Op::Compare(_) => "where".into(),
                _ => "t".into(),
            };
            code = self.body.hold(&stem, code);
        }
        self.values.insert(id, code.clone());
        Ok(code)
    }

    fn operator(&mut self, node: &tensir::Node) -> Result<Code, Unsupported> {
        let elem = node.ty.elem;
        let arg = |i: usize| node.args[i];
        let rank = node.ty.rank();
        let function = self.function;
        let ty_of = |id: NodeId| &function.nodes[id].ty;
        let moved = |code: Code| Code { full: true, ..code };
        Ok(match &node.op {
            Op::View(view) => self.view(view, &node.ty)?,
            Op::Param(name) => {
                let name = self.param_name(name);
                self.leaf(&name, Code::atom(&name, rank == 0), elem)?
            }
            Op::Size(idx) => {
                let dtype = numpy_dtype(elem);
                let value = Code::atom(format!("_int({}, {dtype})", self.scalar_index(idx)?), true);
                self.leaf("size", value, elem)?
            }
            Op::Constant(v) => Code::atom(self.literal(*v)?, true),
            Op::Table(values) => {
                let items: Vec<_> = values.iter().map(|v| digits(*v)).collect();
                let (items, t) = (items.join(", "), self.dialect.dtype(elem)?);
                let row = self.dialect.row("table", elem, false)?;
                let operands = [("v", (&items).into()), ("t", (&t).into())];
                moved(self.dialect.fill(row.form, &operands))
            }
            Op::Iota { dimension } => {
                let n = self.size_index(&node.ty.shape[*dimension])?;
                let axis = self.axis(&n, *dimension, rank)?;
                let code = self.convert(elem, ScalarType::I64, &axis)?;
                Code {
                    full: rank == 1,
                    ..code
                }
            }
            Op::Unary(op) => {
                let a = self.node(arg(0))?;
                self.unary(*op, elem, &a)?
            }
            Op::Binary(op) => {
                let (a, b) = (self.node(arg(0))?, self.node(arg(1))?);
                let divisor = self.function.constant_behind(arg(1));
                self.binary(*op, elem, &a, &b, divisor)?
            }
            Op::Compare(op) => {
                let (a, b) = (self.node(arg(0))?, self.node(arg(1))?);
                self.compare(*op, ty_of(arg(0)).elem, &a, &b)?
            }
            Op::Convert => {
                let a = self.node(arg(0))?;
                self.convert(elem, ty_of(arg(0)).elem, &a)?
            }
            Op::BitcastConvert => {
                let a = self.node(arg(0))?;
                self.bitcast(elem, &a)?
            }
            Op::Select => {
                let (c, t, f) = (self.node(arg(0))?, self.node(arg(1))?, self.node(arg(2))?);
                self.select(elem, &c, &t, &f)?
            }
            Op::BroadcastInDim { dimensions } => {
                let operand = self.node(arg(0))?;
                self.broadcast(&operand, ty_of(arg(0)), &node.ty, dimensions)?
            }
            Op::Reshape => {
                let a = self.full(arg(0))?;
                let shape = self.device_shape(&node.ty.shape)?;
                let operands = [("a", (&a).into()), ("shape", (&shape).into())];
                moved(self.moving("reshape", elem, &operands)?)
            }
            Op::Transpose { permutation } => {
                let a = self.full(arg(0))?;
                let axes: Vec<_> = permutation.iter().map(usize::to_string).collect();
                let axes = tuple(&axes);
                let name = match permutation.as_slice() {
                    [1, 0] => "matrix_transpose",
                    _ => "transpose",
                };
                let operands = [("a", (&a).into()), ("axes", (&axes).into())];
                moved(self.moving(name, elem, &operands)?)
            }
            Op::Slice { start, stride } => {
                let a = self.full(arg(0))?;
                let start = self.device_shape(start)?;
                let shape = self.device_shape(&node.ty.shape)?;
                let stride = tuple(&stride.iter().map(i64::to_string).collect::<Vec<_>>());
                let operands = [
                    ("a", (&a).into()),
                    ("start", (&start).into()),
                    ("shape", (&shape).into()),
                    ("stride", (&stride).into()),
                ];
                moved(self.moving("slice", elem, &operands)?)
            }
            Op::Pad { low } => {
                let (a, value) = (self.full(arg(0))?, self.node(arg(1))?);
                let low = self.device_shape(low)?;
                let shape = self.device_shape(&node.ty.shape)?;
                let operands = [
                    ("a", (&a).into()),
                    ("value", (&value).into()),
                    ("low", (&low).into()),
                    ("shape", (&shape).into()),
                ];
                moved(self.moving("pad", elem, &operands)?)
            }
            Op::Concatenate { dimension } => {
                let mut pieces = Vec::new();
                for &a in &node.args {
                    pieces.push(self.full(a)?.s);
                }
                let pieces = Code::atom(tuple(&pieces), true);
                let axis = dimension.to_string();
                let operands = [("a", (&pieces).into()), ("axis", (&axis).into())];
                moved(self.moving("concatenate", elem, &operands)?)
            }
            Op::Reverse { dimensions } => {
                let a = self.full(arg(0))?;
                let axes: Vec<_> = dimensions.iter().map(usize::to_string).collect();
                let axes = tuple(&axes);
                let operands = [("a", (&a).into()), ("axes", (&axes).into())];
                moved(self.moving("reverse", elem, &operands)?)
            }
            Op::Gather => {
                let (a, at) = (self.full(arg(0))?, self.full(arg(1))?);
                self.gather(elem, &a, &at)?
            }
            Op::DotGeneral { batch, contracting } => {
                let (a, b, init) = (arg(0), arg(1), arg(2));
                self.dot(elem, (a, b, init), batch, contracting)?
            }
            Op::Reduce {
                reducer,
                dimensions,
            } => {
                let x = self.full(arg(0))?;
                let init = self.fold_start(arg(1))?;
                let zero = function.is_zero(arg(1)) && matches!(reducer, Reducer::Op(BinOp::Add));
                self.reduction(*reducer, elem, (!zero).then_some(&init), &x, dimensions)?
            }
            Op::Scan { .. } => self.scan(node)?,
            Op::ArgReduce { .. } => self.arg_reduce(node)?,
            Op::Generic(e) => self.generic(e, &node.ty.shape)?,
        })
    }

    fn view(&mut self, view: &View, ty: &TensorType) -> Result<Code, Unsupported> {
        if let Some(args) = self.view_args(view, &ty.shape)? {
            let stem = format!("{}_view", self.param_name(&view.array));
            return self.leaf(&stem, Code::atom(format!("_read({args})"), true), ty.elem);
        }
        let at = self.dims_index(&self.since_first(&view.array, &view.index), &ty.shape)?;
        let at = match at.full {
            true => at,
            false => self.all_of_shape(&at, &ty.shape)?,
        };
        let array = self.whole_array(&view.array, ty.elem)?;
        self.gather(ty.elem, &array, &at)
    }

    pub(super) fn gather(
        &mut self,
        elem: ScalarType,
        array: &Code,
        at: &Code,
    ) -> Result<Code, Unsupported> {
        let operands = [("a", array.into()), ("at", at.into())];
        let code = self.moving("gather", elem, &operands)?;
        Ok(Code {
            full: at.full,
            ..code
        })
    }

    /// `0 … n-1` along one of `rank` axes.
    pub(super) fn axis(&mut self, n: &str, axis: usize, rank: usize) -> Result<Code, Unsupported> {
        let (axis, ranks) = (axis.to_string(), rank.to_string());
        let operands = [
            ("n", n.into()),
            ("axis", (&axis).into()),
            ("rank", (&ranks).into()),
        ];
        let code = self.moving("axis", ScalarType::I64, &operands)?;
        Ok(Code {
            full: rank == 1,
            ..code
        })
    }

    /// A row of an operator that computes nothing.
    pub(super) fn moving(
        &mut self,
        name: &str,
        ty: ScalarType,
        operands: &[(&str, Operand)],
    ) -> Result<Code, Unsupported> {
        let row = self.dialect.row(name, ty, false)?;
        Ok(self.dialect.fill(row.form, operands))
    }

    fn broadcast(
        &mut self,
        operand: &Code,
        from: &TensorType,
        to: &TensorType,
        dimensions: &[usize],
    ) -> Result<Code, Unsupported> {
        let (rank, inner) = (to.rank(), from.rank());
        // Axes that are missing at the front come by themselves.
        let at_the_end = dimensions.iter().copied().eq(rank - inner..rank);
        if inner == 0 || at_the_end {
            return Ok(Code {
                full: operand.full && inner == rank,
                ..operand.clone()
            });
        }
        let first = dimensions.first().copied().unwrap_or(0);
        let axes: Vec<_> = (first..rank)
            .map(|d| if dimensions.contains(&d) { ":" } else { "None" })
            .collect();
        // The operand itself may lack axes at the front, which the picks would then miss.
        let all = match operand.full {
            true => operand.clone(),
            false => self.all_of_shape(operand, &from.shape)?,
        };
        let s = format!("{}[{}]", all.at(Level::Atom), axes.join(", "));
        Ok(Code::atom(s, false))
    }

    fn dot(
        &mut self,
        elem: ScalarType,
        (a, b, init): (NodeId, NodeId, NodeId),
        batch: &[(usize, usize)],
        contracting: &[(usize, usize)],
    ) -> Result<Code, Unsupported> {
        let ranks = (
            self.function.nodes[a].ty.rank(),
            self.function.nodes[b].ty.rank(),
        );
        let (x, y) = (self.full(a)?, self.full(b)?);
        let zero = self.function.is_zero(init);
        let start = self.fold_start(init)?;
        let letters: Vec<char> = ('a'..='z').collect();
        if ranks.0 + ranks.1 > letters.len() {
            return Err(Unsupported::new("more dimensions than einsum has letters"));
        }
        let left = letters[..ranks.0].to_vec();
        let right_letters = &letters[ranks.0..ranks.0 + ranks.1];
        let mut right = right_letters.to_vec();
        for &(l, r) in batch.iter().chain(contracting) {
            right[r] = left[l];
        }
        let summed: Vec<char> = contracting.iter().map(|(l, _)| left[*l]).collect();
        let mut result: Vec<char> = batch.iter().map(|(l, _)| left[*l]).collect();
        let free = |letters: &[char], of: &[usize]| -> Vec<char> {
            letters
                .iter()
                .enumerate()
                .filter(|(d, _)| !of.contains(d))
                .map(|(_, c)| *c)
                .collect()
        };
        let bound = |side: fn(&(usize, usize)) -> usize| -> Vec<usize> {
            batch.iter().chain(contracting).map(side).collect()
        };
        result.extend(free(&left, &bound(|p| p.0)));
        result.extend(free(&right, &bound(|p| p.1)));
        let text = |l: &[char]| l.iter().collect::<String>();
        let einsum = |e: &mut Self, to: &str| {
            let spec = format!("{},{}->{to}", text(&left), text(&right));
            let operands = [
                ("a", (&x).into()),
                ("b", (&y).into()),
                ("spec", (&spec).into()),
            ];
            e.moving("einsum", elem, &operands)
        };
        if elem.is_float() && self.allowed == Tier::Exact {
            let all: String = result.iter().chain(&summed).collect();
            let products = einsum(self, &all)?;
            if summed.is_empty() {
                let products = Code {
                    full: true,
                    ..products
                };
                return Ok(infix("+", Level::Sum, &start, &products));
            }
            let axes: Vec<usize> = (result.len()..result.len() + summed.len()).collect();
            let add = Reducer::Op(BinOp::Add);
            return self.reduction(add, elem, Some(&start), &products, &axes);
        }
        let simple = batch.is_empty()
            && match (ranks, contracting) {
                ((l, 1), [(c, 0)]) | ((l, 2), [(c, 0)]) => *c + 1 == l && l <= 2,
                _ => false,
            };
        let product = if simple && self.dialect.row("matmul", elem, false).is_ok() {
            self.form("matmul", elem, &[("a", (&x).into()), ("b", (&y).into())])?
        } else {
            einsum(self, &result.iter().collect::<String>())?
        };
        let product = Code {
            full: true,
            ..product
        };
        if elem.is_float() {
            self.real("its sums run in an order of its own")?;
        }
        if zero {
            return Ok(product);
        }
        Ok(infix("+", Level::Sum, &start, &product))
    }
}

/// The coefficients of `dims` in a linear index, and the rest.
pub(crate) fn linear(index: &Idx, dims: &[Sym]) -> Option<(Vec<Idx>, Idx)> {
    let mut rest = index.clone();
    let mut strides = Vec::new();
    for d in dims {
        let (stride, without) = rest.linear_in(d)?;
        if dims.iter().any(|d| stride.mentions(d)) {
            return None;
        }
        strides.push(stride);
        rest = without;
    }
    Some((strides, rest))
}

fn reducer_name(reducer: Reducer) -> &'static str {
    match reducer {
        Reducer::Op(BinOp::Add) => "total",
        Reducer::Op(BinOp::Multiply) => "product",
        Reducer::Op(BinOp::Maximum) | Reducer::TakeIf(CmpOp::Gt | CmpOp::Ge) => "largest",
        Reducer::KeepIf(CmpOp::Gt | CmpOp::Ge) => "largest",
        Reducer::Op(BinOp::Minimum) | Reducer::TakeIf(CmpOp::Lt | CmpOp::Le) => "smallest",
        Reducer::KeepIf(CmpOp::Lt | CmpOp::Le) => "smallest",
        _ => "reduced",
    }
}
