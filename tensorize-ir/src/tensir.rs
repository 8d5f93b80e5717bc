//! TensIR: a kernel as mathematics.
//!
//! A function is a list of operators on tensors with symbolic shapes, under
//! StableHLO's names, in single-assignment form. Tensors come from *views* of
//! the C arrays as they were at the call, and the results are stored through
//! views, all at once. Locations that no result covers keep their contents.

mod arg_reduce;
mod element_view;
mod interpret;
mod rounds;
mod sampled;
mod scan;
mod side_conditions;
mod state;

pub use interpret::{TOO_MANY, Tensor, evaluate, interpret, interpret_at, positions};
pub use rounds::Rounds;
pub use sampled::{Sampled, Sampling, covered, sample};
pub use side_conditions::SideCondition;
pub use state::State;

use crate::element::{Elem, ElemRef};
use crate::index::{Idx, Sym};
use crate::loopir::Param;
use crate::op::{self, BinOp, CmpOp, UnOp};
use crate::scalar::{Scalar, ScalarType};
use std::sync::Arc;

/// A kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The C name.
    pub name: String,
    /// The C function's parameters, in its order. Integer scalars are the sizes that shapes speak of.
    pub params: Vec<Param>,
    /// The operators. A node uses only nodes before it.
    pub nodes: Vec<Node>,
    /// Where the results go.
    pub outputs: Vec<Output>,
    /// How often all this happens, one time after the other; once where nothing is said.
    pub rounds: Option<Rounds>,
    /// What rounds leave to the next ones besides the caller's arrays.
    pub state: Vec<State>,
}

/// The number of a node in [`Function::nodes`].
pub type NodeId = usize;

/// One operator, applied.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The operator, with its attributes.
    pub op: Op,
    /// The operands.
    pub args: Vec<NodeId>,
    /// The type of the result.
    pub ty: TensorType,
}

/// Shape and element type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorType {
    /// Extents, over the kernel's integer parameters; empty for a scalar. A negative extent is empty.
    pub shape: Vec<Idx>,
    /// Element type.
    pub elem: ScalarType,
}

/// A result and where it goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// `value` at index `(#0, #1, …)` is stored at `array[index]`. Different indices are different
    /// locations. Which location one number is stored at may be read from the data. Nothing happens then where that says
    /// that what is there stays (`select(c, x, array[index])`): `index` may lie anywhere. See [`Function::change`].
    Store {
        /// The node.
        value: NodeId,
        /// Where.
        view: View,
    },
    /// The scalar `value` is returned.
    Return {
        /// The node.
        value: NodeId,
    },
}

/// A tensor over an array: the element at `(#0, #1, …)` is `array[index]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct View {
    /// The C array.
    pub array: Sym,
    /// A polynomial over the kernel's integer parameters and the dimensions `#0`, `#1`, … (see
    /// [`dim`]), in elements.
    pub index: Idx,
}

/// The name of dimension `i` in a [`View`] or an [`Op::Generic`]: `#0`, `#1`, …
pub fn dim(i: usize) -> Sym {
    format!("#{i}").into()
}

/// An operator of TensIR.
///
/// Where StableHLO leaves the order of a reduction open, TensIR's is ascending (row-major), starting
/// from the initial value; a target that re-associates is of tier *real*.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// The array's contents at the call. No operands.
    View(View),
    /// A floating-point parameter, as a scalar.
    Param(Sym),
    /// The value of a polynomial over the integer parameters, wrapped to the element type; a scalar.
    Size(Idx),
    /// A literal, as a scalar.
    Constant(Scalar),
    /// A literal table, as a vector.
    Table(Vec<Scalar>),
    /// The index along one dimension, wrapped to the element type.
    Iota {
        /// Which dimension of the result.
        dimension: usize,
    },
    /// Elementwise, one operand.
    Unary(UnOp),
    /// Elementwise, two operands of one shape and type.
    Binary(BinOp),
    /// Elementwise; the result is `i1`.
    Compare(CmpOp),
    /// Elementwise conversion to the result's element type, as a C cast.
    Convert,
    /// Elementwise reinterpretation of the bits.
    BitcastConvert,
    /// Elementwise: predicate (`i1`), on true, on false; all of one shape.
    Select,
    /// Dimension `i` of the operand becomes dimension `dimensions[i]` of the result; the others repeat.
    BroadcastInDim {
        /// One for each of the operand's dimensions, ascending.
        dimensions: Vec<usize>,
    },
    /// The same elements in row-major order under another shape.
    Reshape,
    /// Dimension `i` of the result is dimension `permutation[i]` of the operand.
    Transpose {
        /// A permutation.
        permutation: Vec<usize>,
    },
    /// `result[i] = operand[start + i·stride]` in each dimension.
    Slice {
        /// First index in each dimension.
        start: Vec<Idx>,
        /// Step in each dimension, 1 or more.
        stride: Vec<i64>,
    },
    /// The operand surrounded by a second, scalar operand.
    Pad {
        /// Elements before, in each dimension, not negative.
        low: Vec<Idx>,
    },
    /// Operands one after the other along a dimension.
    Concatenate {
        /// Which dimension.
        dimension: usize,
    },
    /// The indices along these dimensions run backwards.
    Reverse {
        /// Which dimensions.
        dimensions: Vec<usize>,
    },
    /// `result[i, …] = operand[indices[i, …]]`: a vector, then integer indices. What an index outside
    /// of the vector gives is not defined.
    Gather,
    /// Sum of products: batch dimensions first, then the free ones of the left, then of the right. The
    /// third operand is what the sums start from: a scalar, or a tensor of the result's shape.
    DotGeneral {
        /// Pairs of dimensions (left, right) that run along.
        batch: Vec<(usize, usize)>,
        /// Pairs of dimensions (left, right) that are summed over, the slowest first.
        contracting: Vec<(usize, usize)>,
    },
    /// Folds these dimensions (ascending list, row-major order); the second operand is what the fold
    /// starts from: a scalar, or a tensor of the result's shape.
    Reduce {
        /// How two values are combined.
        reducer: Reducer,
        /// Which dimensions go.
        dimensions: Vec<usize>,
    },
    /// The running values of a fold along one dimension: what `reduce` would have after 1, 2, … elements. The
    /// second operand is what it starts from: a scalar, or a tensor of the shape without that dimension.
    Scan {
        /// How two values are combined.
        reducer: Reducer,
        /// Along which dimension.
        dimension: usize,
        /// What stands at an index leaves out the element there: the values after 0, 1, … elements.
        exclusive: bool,
        /// From the last index down to the first.
        reverse: bool,
    },
    /// StableHLO's `reduce` of two operands, as far as it is an arg-max: along one dimension, keeps the element
    /// that the reducer ends up with, and gives what the second operand, of the same shape, has at its place.
    /// The other operands are what the fold starts from, for the elements and for the result: each a scalar, or
    /// a tensor of the result's shape.
    ArgReduce {
        /// [`Reducer::TakeIf`] or [`Reducer::KeepIf`]: the others don't keep one of the two.
        reducer: Reducer,
        /// Which dimension goes.
        dimension: usize,
    },
    /// Raw index notation: the element at `(#0, #1, …)`, over the arrays at the call. No operands.
    Generic(ElemRef),
}

/// How a reduction combines the accumulator with an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reducer {
    /// `acc ∘ x`
    Op(BinOp),
    /// `x cmp acc ? x : acc`: what `if (x > m) m = x;` does. On integers it is a maximum or minimum;
    /// on floats it differs from one in NaN and in the sign of zero.
    TakeIf(CmpOp),
    /// `acc cmp x ? acc : x`: what `m = m > x ? m : x;` does.
    KeepIf(CmpOp),
}

impl Reducer {
    /// The accumulator after `x`.
    pub fn combine(self, acc: ElemRef, x: ElemRef) -> ElemRef {
        let (before, after) = (acc.clone(), x.clone());
        match self {
            Reducer::Op(op) => Elem::binary(op, acc, x),
            Reducer::TakeIf(_) | Reducer::KeepIf(_) => {
                self.choose((&acc, &x), before, after).unwrap_or(acc)
            }
        }
    }

    /// `before` where the reducer keeps the accumulator, `after` where it takes `x`; nothing if it does neither.
    fn choose(
        self,
        (acc, x): (&ElemRef, &ElemRef),
        before: ElemRef,
        after: ElemRef,
    ) -> Option<ElemRef> {
        match self {
            Reducer::Op(_) => None,
            Reducer::TakeIf(cmp) => {
                let takes = Elem::compare(cmp, x.clone(), acc.clone());
                Some(Elem::select(takes, after, before))
            }
            Reducer::KeepIf(cmp) => {
                let keeps = Elem::compare(cmp, acc.clone(), x.clone());
                Some(Elem::select(keeps, before, after))
            }
        }
    }

    /// Whether it takes `x` and drops the accumulator; nothing if what it makes is neither.
    fn takes(self, acc: Scalar, x: Scalar) -> Option<bool> {
        match self {
            Reducer::Op(_) => None,
            Reducer::TakeIf(cmp) => Some(op::eval_compare(cmp, x, acc)),
            Reducer::KeepIf(cmp) => Some(!op::eval_compare(cmp, acc, x)),
        }
    }

    /// The value of the accumulator after `x`.
    fn combined(self, acc: Scalar, x: Scalar) -> Scalar {
        match (self, self.takes(acc, x)) {
            (Reducer::Op(op), _) => op::eval_binary(op, acc, x),
            (_, Some(true)) => x,
            _ => acc,
        }
    }
}

impl Op {
    /// StableHLO's name, or ours where StableHLO has none.
    pub fn name(&self) -> &'static str {
        match self {
            Op::View(_) => "view",
            Op::Param(_) => "param",
            Op::Size(_) => "size",
            Op::Constant(_) => "constant",
            Op::Table(_) => "table",
            Op::Iota { .. } => "iota",
            Op::Unary(op) => op.name(),
            Op::Binary(op) => op.name(),
            Op::Compare(_) => "compare",
            Op::Convert => "convert",
            Op::BitcastConvert => "bitcast_convert",
            Op::Select => "select",
            Op::BroadcastInDim { .. } => "broadcast_in_dim",
            Op::Reshape => "reshape",
            Op::Transpose { .. } => "transpose",
            Op::Slice { .. } => "slice",
            Op::Pad { .. } => "pad",
            Op::Concatenate { .. } => "concatenate",
            Op::Reverse { .. } => "reverse",
            Op::Gather => "gather",
            Op::DotGeneral { .. } => "dot_general",
            Op::Reduce { .. } => "reduce",
            Op::Scan { .. } => "scan",
            Op::ArgReduce { .. } => "arg_reduce",
            Op::Generic(_) => "generic",
        }
    }

    /// The number of operands; `None` for any number.
    pub fn arity(&self) -> Option<usize> {
        Some(match self {
            Op::View(_)
            | Op::Param(_)
            | Op::Size(_)
            | Op::Constant(_)
            | Op::Table(_)
            | Op::Iota { .. }
            | Op::Generic(_) => 0,
            Op::Unary(_)
            | Op::Convert
            | Op::BitcastConvert
            | Op::BroadcastInDim { .. }
            | Op::Reshape
            | Op::Transpose { .. }
            | Op::Slice { .. }
            | Op::Reverse { .. } => 1,
            Op::Binary(_) | Op::Compare(_) | Op::Pad { .. } | Op::Gather => 2,
            Op::Reduce { .. } | Op::Scan { .. } => 2,
            Op::Select | Op::DotGeneral { .. } => 3,
            Op::ArgReduce { .. } => 4,
            Op::Concatenate { .. } => return None,
        })
    }
}

impl TensorType {
    /// A scalar.
    pub fn scalar(elem: ScalarType) -> TensorType {
        TensorType {
            shape: vec![],
            elem,
        }
    }

    /// A tensor.
    pub fn new(shape: Vec<Idx>, elem: ScalarType) -> TensorType {
        TensorType { shape, elem }
    }

    /// The same shape with another element type.
    pub fn with_elem(&self, elem: ScalarType) -> TensorType {
        TensorType {
            shape: self.shape.clone(),
            elem,
        }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }
}

impl Function {
    /// Adds a node, or finds the same one.
    pub fn add(&mut self, op: Op, args: Vec<NodeId>, ty: TensorType) -> NodeId {
        let node = Node { op, args, ty };
        if let Some(id) = self.nodes.iter().position(|n| *n == node) {
            return id;
        }
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Adds a scalar literal.
    pub fn constant(&mut self, value: Scalar) -> NodeId {
        self.add(Op::Constant(value), vec![], TensorType::scalar(value.ty))
    }

    /// The literal that a node is, or repeats.
    pub fn constant_behind(&self, id: NodeId) -> Option<Scalar> {
        let node = &self.nodes[id];
        match &node.op {
            Op::Constant(v) => Some(*v),
            Op::BroadcastInDim { .. } => self.constant_behind(node.args[0]),
            _ => None,
        }
    }

    /// Whether a node is zero, or repeats it. It is not -0.0: a sum of nothing but these can tell the two apart.
    pub fn is_zero(&self, id: NodeId) -> bool {
        self.constant_behind(id).is_some_and(|v| v.bits == 0)
    }

    /// The element type of an array parameter.
    pub fn array_elem(&self, name: &str) -> Option<ScalarType> {
        self.params.iter().find_map(|p| match p {
            Param::Array { name: n, elem, .. } if &**n == name => Some(*elem),
            _ => None,
        })
    }

    /// Whether the place of some result is read from the data.
    pub fn stores_where_data_says(&self) -> bool {
        let by_data =
            |o: &Output| matches!(o, Output::Store { view, .. } if view.index.has_values());
        self.outputs.iter().any(by_data)
    }

    /// Drops nodes that no output needs, and renumbers.
    pub fn prune(&mut self) {
        let mut live = vec![false; self.nodes.len()];
        for o in &self.outputs {
            live[o.value()] = true;
        }
        for id in (0..self.nodes.len()).rev() {
            if live[id] {
                for &a in &self.nodes[id].args {
                    live[a] = true;
                }
            }
        }
        let mut renumbered = vec![0; self.nodes.len()];
        let mut nodes = Vec::new();
        for (id, mut node) in std::mem::take(&mut self.nodes).into_iter().enumerate() {
            if live[id] {
                node.args.iter_mut().for_each(|a| *a = renumbered[*a]);
                renumbered[id] = nodes.len();
                nodes.push(node);
            }
        }
        self.nodes = nodes;
        for o in &mut self.outputs {
            match o {
                Output::Store { value, .. } | Output::Return { value } => {
                    *value = renumbered[*value];
                }
            }
        }
    }
}

impl Output {
    /// The node whose value goes there.
    pub fn value(&self) -> NodeId {
        match self {
            Output::Store { value, .. } | Output::Return { value } => *value,
        }
    }
}

/// Replaces the dimensions `#0`, `#1`, … of a view's index.
pub fn at(index: &Idx, position: &[Idx]) -> Idx {
    index.substitute(&|s| dim_number(s).and_then(|i| position.get(i).cloned()))
}

/// Replaces the dimensions `#0`, `#1`, … of an expression.
pub fn elem_at(e: &Arc<Elem>, position: &[Idx]) -> ElemRef {
    e.substitute(&|s| dim_number(s).and_then(|i| position.get(i).cloned()))
}

/// The number of a dimension's name.
pub(crate) fn dim_number(s: &Sym) -> Option<usize> {
    s.strip_prefix('#').and_then(|n| n.parse().ok())
}
