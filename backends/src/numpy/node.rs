//! Operators of TensIR as NumPy expressions.

use super::py::{Body, Code, Level, digits, dtype, literal, tuple};
use super::scalar_op::{compare, convert, infix, select};
use crate::{Kernel, Unsupported};
use std::collections::{BTreeMap, HashMap};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{self, NodeId, Op, Output, Reducer, TensorType, View, dim};

/// Writes the body of one function.
pub(super) struct Emitter<'a> {
    pub function: &'a tensir::Function,
    pub body: Body,
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
    pub(super) fn new(kernel: &Kernel<'a>, params: HashMap<Sym, String>) -> Emitter<'a> {
        let function = kernel.function;
        let mut uses = vec![0; function.nodes.len()];
        for node in &function.nodes {
            node.args.iter().for_each(|a| uses[*a] += 1);
        }
        let first = kernel.footprints.iter();
        Emitter {
            function,
            body: Body::default(),
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
    pub(super) fn param_name(&self, name: &Sym) -> String {
        self.params
            .get(name)
            .cloned()
            .unwrap_or_else(|| name.to_string())
    }

    /// An index into the array that is passed, from one into C's.
    pub(super) fn since_first(&self, array: &Sym, index: &Idx) -> Idx {
        match self.first.get(array) {
            Some(lo) => index - lo,
            None => index.clone(),
        }
    }

    /// All results: computed first, then stored.
    pub(super) fn outputs(&mut self) -> Result<(), Unsupported> {
        let outputs = &self.function.outputs;
        let mut results = Vec::new();
        for output in outputs {
            let id = output.value();
            let mut code = self.node(id)?;
            let keep = outputs.len() > 1 && matches!(output, Output::Store { .. });
            if keep {
                // A view would change when another result is stored.
                code = match self.function.nodes[id].op {
                    Op::View(_)
                    | Op::Reshape
                    | Op::Transpose { .. }
                    | Op::Slice { .. }
                    | Op::Reverse { .. }
                    | Op::BroadcastInDim { .. }
                    | Op::BitcastConvert => Code::atom(format!("np.array({})", code.s), code.full),
                    _ => code,
                };
                code = self.body.hold("result", code);
            }
            results.push(code);
        }
        let mut returned = None;
        for (output, code) in outputs.iter().zip(&results) {
            match output {
                Output::Return { .. } => {
                    let value = if outputs.len() > 1 {
                        self.body.hold("result", code.clone())
                    } else {
                        code.clone()
                    };
                    returned = Some(value);
                }
                Output::Store { .. } => {}
            }
        }
        for (output, code) in outputs.iter().zip(&results) {
            if let Output::Store { value, view } = output {
                let shape = &self.function.nodes[*value].ty.shape;
                let args = self.view_args(view, shape)?.ok_or_else(|| {
                    Unsupported::new(format!(
                        "results are stored at {view}, which is no regular pattern"
                    ))
                })?;
                self.body.line(&format!("_view({args})[...] = {}", code.s));
            }
        }
        if let Some(value) = returned {
            self.body
                .line(&format!("return {}[()]", value.at(Level::Atom)));
        }
        Ok(())
    }

    /// `array, shape[, strides][, offset]` for `_view` and `_read`, if the index is linear in the dimensions.
    pub(super) fn view_args(
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

    pub(super) fn strided(
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

    /// The value with all of the node's shape.
    fn full(&mut self, id: NodeId) -> Result<Code, Unsupported> {
        let code = self.node(id)?;
        if code.full {
            return Ok(code);
        }
        let function = self.function;
        let shape = self.shape(&function.nodes[id].ty.shape)?;
        Ok(Code::atom(format!("_full({}, {shape})", code.s), true))
    }

    /// The value of a node: an expression, or the variable that holds it.
    fn node(&mut self, id: NodeId) -> Result<Code, Unsupported> {
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
        Ok(match &node.op {
            Op::View(view) => match self.view_args(view, &node.ty.shape)? {
                Some(args) => Code::atom(format!("_read({args})"), true),
                None => {
                    let at = self
                        .dims_index(&self.since_first(&view.array, &view.index), &node.ty.shape)?;
                    let at = if at.full {
                        at.s
                    } else {
                        format!("_full({}, {})", at.s, self.shape(&node.ty.shape)?)
                    };
                    Code::atom(
                        format!("_gather({}, {at})", self.param_name(&view.array)),
                        true,
                    )
                }
            },
            Op::Param(name) => Code::atom(self.param_name(name), rank == 0),
            Op::Size(idx) => Code::atom(
                format!("_int({}, {})", self.scalar_index(idx)?, dtype(elem)),
                true,
            ),
            Op::Constant(v) => Code::atom(literal(*v), true),
            Op::Table(values) => {
                let items: Vec<_> = values.iter().map(|v| digits(*v)).collect();
                Code::atom(
                    format!("np.array([{}], dtype={})", items.join(", "), dtype(elem)),
                    true,
                )
            }
            Op::Iota { dimension } => {
                let n = self.scalar_index(&node.ty.shape[*dimension])?;
                let s = format!("_axis({n}, {dimension}, {rank}).astype({})", dtype(elem));
                Code::atom(s, rank == 1)
            }
            Op::Unary(op) => {
                let a = self.node(arg(0))?;
                self.unary(*op, elem, &a)?
            }
            Op::Binary(op) => {
                let (a, b) = (self.node(arg(0))?, self.node(arg(1))?);
                let divisor = self.constant_behind(arg(1));
                self.binary(*op, elem, &a, &b, divisor)?
            }
            Op::Compare(op) => {
                let (a, b) = (self.node(arg(0))?, self.node(arg(1))?);
                compare(*op, &a, &b)
            }
            Op::Convert => {
                let a = self.node(arg(0))?;
                convert(elem, &a)
            }
            Op::BitcastConvert => {
                let a = self.node(arg(0))?;
                Code::atom(
                    format!("{}.view({})", a.at(Level::Atom), dtype(elem)),
                    a.full,
                )
            }
            Op::Select => {
                let (c, t, f) = (self.node(arg(0))?, self.node(arg(1))?, self.node(arg(2))?);
                select(&c, &t, &f)
            }
            Op::BroadcastInDim { dimensions } => {
                let operand = self.node(arg(0))?;
                self.broadcast(&operand, ty_of(arg(0)), &node.ty, dimensions)
            }
            Op::Reshape => {
                let a = self.full(arg(0))?;
                let shape = self.shape(&node.ty.shape)?;
                Code::atom(
                    format!("{}.reshape(_shape({shape}))", a.at(Level::Atom)),
                    true,
                )
            }
            Op::Transpose { permutation } => {
                let a = self.full(arg(0))?;
                if permutation == &[1, 0] {
                    Code::atom(format!("{}.T", a.at(Level::Atom)), true)
                } else {
                    let axes: Vec<_> = permutation.iter().map(usize::to_string).collect();
                    Code::atom(format!("np.transpose({}, {})", a.s, tuple(&axes)), true)
                }
            }
            Op::Slice { start, stride } => {
                let a = self.full(arg(0))?;
                let (start, shape) = (self.shape(start)?, self.shape(&node.ty.shape)?);
                let stride: Vec<_> = stride.iter().map(i64::to_string).collect();
                Code::atom(
                    format!("_slice({}, {start}, {shape}, {})", a.s, tuple(&stride)),
                    true,
                )
            }
            Op::Pad { low } => {
                let (a, value) = (self.full(arg(0))?, self.node(arg(1))?);
                let (low, shape) = (self.shape(low)?, self.shape(&node.ty.shape)?);
                Code::atom(format!("_pad({}, {}, {low}, {shape})", a.s, value.s), true)
            }
            Op::Concatenate { dimension } => {
                let mut pieces = Vec::new();
                for &a in &node.args {
                    pieces.push(self.full(a)?.s);
                }
                Code::atom(
                    format!("np.concatenate({}, axis={dimension})", tuple(&pieces)),
                    true,
                )
            }
            Op::Reverse { dimensions } => {
                let a = self.full(arg(0))?;
                let axes: Vec<_> = dimensions.iter().map(usize::to_string).collect();
                Code::atom(format!("np.flip({}, axis={})", a.s, tuple(&axes)), true)
            }
            Op::Gather => {
                let (a, at) = (self.full(arg(0))?, self.full(arg(1))?);
                Code::atom(format!("_gather({}, {})", a.s, at.s), true)
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
                let init = match self.function.nodes[arg(1)].ty.rank() {
                    0 => self.node(arg(1))?,
                    _ => self.full(arg(1))?,
                };
                let zero = self.is_zero(arg(1)) && matches!(reducer, Reducer::Op(BinOp::Add));
                self.reduction(*reducer, elem, (!zero).then_some(&init), &x, dimensions)?
            }
            Op::Generic(e) => self.generic(e, &node.ty.shape)?,
        })
    }

    fn broadcast(
        &mut self,
        operand: &Code,
        from: &TensorType,
        to: &TensorType,
        dimensions: &[usize],
    ) -> Code {
        let (rank, inner) = (to.rank(), from.rank());
        // Axes that are missing at the front come by themselves.
        let at_the_end = dimensions.iter().copied().eq(rank - inner..rank);
        if inner == 0 || at_the_end {
            return Code {
                full: operand.full && inner == rank,
                ..operand.clone()
            };
        }
        let first = dimensions.first().copied().unwrap_or(0);
        let axes: Vec<_> = (first..rank)
            .map(|d| if dimensions.contains(&d) { ":" } else { "None" })
            .collect();
        // The operand itself may lack axes at the front, which the picks would then miss.
        let s = if operand.full {
            format!("{}[{}]", operand.at(Level::Atom), axes.join(", "))
        } else {
            let shape = self.shape(&from.shape).unwrap_or_default();
            format!("_full({}, {shape})[{}]", operand.s, axes.join(", "))
        };
        Code::atom(s, false)
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
        let zero = self.is_zero(init);
        let start = self.node(init)?;
        let letters: Vec<char> = ('a'..='z').collect();
        if ranks.0 + ranks.1 > letters.len() {
            return Err(Unsupported::new("more dimensions than einsum has letters"));
        }
        let mut left = letters[..ranks.0].to_vec();
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
        let text = |l: &mut Vec<char>| l.iter().collect::<String>();
        if elem.is_float() && self.allowed == Tier::Exact {
            let all: String = result.iter().chain(&summed).collect();
            let products = format!(
                "np.einsum(\"{},{}->{all}\", {}, {})",
                text(&mut left),
                text(&mut right),
                x.s,
                y.s
            );
            let axes: Vec<usize> = (result.len()..result.len() + summed.len()).collect();
            let add = Reducer::Op(BinOp::Add);
            return self.reduction(add, elem, Some(&start), &Code::atom(products, true), &axes);
        }
        if elem.is_float() {
            self.tier = Tier::Real;
        }
        let simple = batch.is_empty()
            && match (ranks, contracting) {
                ((l, 1), [(c, 0)]) | ((l, 2), [(c, 0)]) => *c + 1 == l && l <= 2,
                _ => false,
            };
        let product = if simple {
            Code {
                s: format!("{} @ {}", x.at(Level::Product), y.at(Level::Unary)),
                level: Level::Product,
                full: true,
            }
        } else {
            let result: String = result.iter().collect();
            let s = format!(
                "np.einsum(\"{},{}->{result}\", {}, {})",
                text(&mut left),
                text(&mut right),
                x.s,
                y.s
            );
            Code::atom(s, true)
        };
        if zero {
            return Ok(product);
        }
        Ok(infix("+", Level::Sum, &start, &product))
    }

    fn is_zero(&self, id: NodeId) -> bool {
        self.constant_behind(id).is_some_and(|v| v.as_f64() == 0.0)
    }

    /// The literal that a node is, or repeats.
    fn constant_behind(&self, id: NodeId) -> Option<Scalar> {
        let node = &self.function.nodes[id];
        match &node.op {
            Op::Constant(v) => Some(*v),
            Op::BroadcastInDim { .. } => self.constant_behind(node.args[0]),
            _ => None,
        }
    }
}

/// The coefficients of `dims` in a linear index, and the rest.
pub(super) fn linear(index: &Idx, dims: &[Sym]) -> Option<(Vec<Idx>, Idx)> {
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
