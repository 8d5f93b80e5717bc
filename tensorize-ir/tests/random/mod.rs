//! Random functions around one operator, with inputs.

mod parts;

use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Order};
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::Param;
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Function, NodeId, Op, Output, Reducer, TensorType, View, dim};

/// Every kind of operator.
pub const KINDS: &[&str] = &[
    "view",
    "param",
    "size",
    "constant",
    "table",
    "iota",
    "unary",
    "binary",
    "compare",
    "convert",
    "bitcast_convert",
    "select",
    "broadcast_in_dim",
    "reshape",
    "transpose",
    "slice",
    "pad",
    "concatenate",
    "reverse",
    "gather",
    "dot_general",
    "reduce",
    "generic",
    "scan",
    "arg_reduce",
];

/// The operator's name in [`KINDS`]. A new operator stops the compiler here: give it a name there and
/// a case in [`Case::operator`].
pub fn kind(op: &Op) -> &'static str {
    KINDS[match op {
        Op::View(_) => 0,
        Op::Param(_) => 1,
        Op::Size(_) => 2,
        Op::Constant(_) => 3,
        Op::Table(_) => 4,
        Op::Iota { .. } => 5,
        Op::Unary(_) => 6,
        Op::Binary(_) => 7,
        Op::Compare(_) => 8,
        Op::Convert => 9,
        Op::BitcastConvert => 10,
        Op::Select => 11,
        Op::BroadcastInDim { .. } => 12,
        Op::Reshape => 13,
        Op::Transpose { .. } => 14,
        Op::Slice { .. } => 15,
        Op::Pad { .. } => 16,
        Op::Concatenate { .. } => 17,
        Op::Reverse { .. } => 18,
        Op::Gather => 19,
        Op::DotGeneral { .. } => 20,
        Op::Reduce { .. } => 21,
        Op::Generic(_) => 22,
        Op::Scan { .. } => 23,
        Op::ArgReduce { .. } => 24,
    }]
}

/// A function and arguments for it.
pub struct Case {
    pub function: Function,
    pub inputs: Inputs,
    state: u64,
}

type Shape = Vec<Idx>;

impl Case {
    /// A function whose result is made by an operator of this kind.
    pub fn new(kind: &str, seed: u64) -> Case {
        let function = Function {
            name: "f".into(),
            params: vec![],
            nodes: vec![],
            outputs: vec![],
            rounds: None,
            state: vec![],
        };
        let mut case = Case {
            function,
            inputs: Inputs::default(),
            state: seed,
        };
        for name in ["n", "m", "k"] {
            let value = case.below(5) as i128 - 1;
            case.scalar(name, Scalar::int(ScalarType::I32, value));
        }
        let node = case.operator(kind, 2);
        let ty = case.function.nodes[node].ty.clone();
        // Somewhere behind the result there is room that must stay as it is.
        let len = case.count(&ty.shape) + 1;
        case.array("out", ty.elem, len, 0);
        let view = View {
            array: "out".into(),
            index: row_major(&ty.shape),
        };
        case.function
            .outputs
            .push(Output::Store { value: node, view });
        if ty.rank() == 0 && case.chance() {
            case.function.outputs.push(Output::Return { value: node });
        }
        case
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn chance(&mut self) -> bool {
        self.below(2) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn scalar(&mut self, name: &str, value: Scalar) {
        self.function.params.push(Param::Scalar {
            name: name.into(),
            ty: value.ty,
        });
        self.inputs.scalars.insert(name.into(), value);
    }

    fn array(&mut self, name: &str, elem: ScalarType, len: usize, origin: i64) {
        let data = (0..len).map(|_| self.value(elem)).collect();
        let (is_const, restrict) = (name != "out" && self.chance(), self.chance());
        let name: std::sync::Arc<str> = name.into();
        self.function.params.push(Param::Array {
            name: name.clone(),
            elem,
            is_const,
            restrict,
        });
        self.inputs
            .arrays
            .insert(name, Buffer { elem, origin, data });
    }

    /// A value of this type; the edges are frequent.
    fn value(&mut self, ty: ScalarType) -> Scalar {
        let float = [
            0.0,
            -0.0,
            1.0,
            -1.5,
            3.25,
            1e30,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ];
        match ty {
            ScalarType::F32 => Scalar::f32(self.pick(&float) as f32),
            ScalarType::F64 => Scalar::f64(self.pick(&float)),
            _ if self.chance() => {
                Scalar::int(ty, self.pick(&[0, 1, -1, ty.min_value(), ty.max_value()]))
            }
            _ => Scalar::int(ty, self.next().into()),
        }
    }

    fn elem(&mut self) -> ScalarType {
        self.pick(&ScalarType::ALL)
    }

    /// A type on which there is arithmetic.
    fn number(&mut self) -> ScalarType {
        self.pick(&ScalarType::ALL[1..])
    }

    fn extent(&mut self) -> Idx {
        let sym = Idx::sym(self.pick(&["n", "m", "k"]));
        match self.below(6) {
            0 => Idx::constant(self.below(4) as i128),
            1 => &sym + &Idx::constant(1),
            2 => &Idx::constant(2) * &sym,
            _ => sym,
        }
    }

    fn shape(&mut self, rank: usize) -> Shape {
        (0..rank).map(|_| self.extent()).collect()
    }

    fn any_shape(&mut self) -> Shape {
        let rank = self.below(4);
        self.shape(rank)
    }

    fn size(&self, idx: &Idx) -> i128 {
        idx.eval_sizes(&|s| self.inputs.size(s)).unwrap()
    }

    fn count(&self, shape: &[Idx]) -> usize {
        shape.iter().map(|e| self.size(e).max(0) as usize).product()
    }

    fn add(&mut self, op: Op, args: Vec<NodeId>, shape: Shape, elem: ScalarType) -> NodeId {
        self.function.add(op, args, TensorType { shape, elem })
    }

    /// Adds a node whose type follows from its operands.
    fn inferred(&mut self, op: Op, args: Vec<NodeId>) -> NodeId {
        let ty = self.function.infer(&op, &args).unwrap();
        self.function.add(op, args, ty)
    }

    fn scalar_node(&mut self, elem: ScalarType) -> NodeId {
        self.operand(vec![], elem, 0)
    }

    /// A tensor of this type: a view, or an operator on one.
    fn operand(&mut self, shape: Shape, elem: ScalarType, depth: usize) -> NodeId {
        match self.below(if depth == 0 { 2 } else { 7 }) {
            0 if shape.is_empty() => {
                let value = self.value(elem);
                self.inferred(Op::Constant(value), vec![])
            }
            0 | 1 => self.view(shape, elem),
            2 => {
                let dimensions = (0..shape.len()).filter(|_| self.chance()).collect();
                let a = self.operand(shape, elem, depth - 1);
                self.inferred(Op::Reverse { dimensions }, vec![a])
            }
            3 => {
                let permutation = self.permutation(shape.len());
                let mut there = shape.clone();
                permutation
                    .iter()
                    .enumerate()
                    .for_each(|(i, &d)| there[d] = shape[i].clone());
                let a = self.operand(there, elem, depth - 1);
                self.inferred(Op::Transpose { permutation }, vec![a])
            }
            4 if elem != ScalarType::I1 => {
                let a = self.operand(shape.clone(), elem, depth - 1);
                let b = self.operand(shape, elem, depth - 1);
                self.inferred(Op::Binary(BinOp::Add), vec![a, b])
            }
            _ => {
                let e = self.expression(shape.len(), elem);
                self.add(Op::Generic(e), vec![], shape, elem)
            }
        }
    }

    fn view(&mut self, shape: Shape, elem: ScalarType) -> NodeId {
        let name = format!("x{}", self.function.params.len());
        let (count, before) = (self.count(&shape), self.below(3) as i64);
        // The pointer may point to the middle of the array.
        let shift = self.below(count + 1) as i64;
        self.array(&name, elem, count + before as usize, before + shift);
        let index = &row_major(&shape) - &Idx::constant(shift.into());
        self.add(
            Op::View(View {
                array: name.as_str().into(),
                index,
            }),
            vec![],
            shape,
            elem,
        )
    }

    fn permutation(&mut self, rank: usize) -> Vec<usize> {
        let mut permutation: Vec<_> = (0..rank).collect();
        for i in 0..rank {
            let j = i + self.below(rank - i);
            permutation.swap(i, j);
        }
        permutation
    }

    /// Index notation with folds whose bound names come again and again.
    fn expression(&mut self, rank: usize, elem: ScalarType) -> ElemRef {
        let position = (0..rank).fold(Idx::constant(0), |p, d| {
            &(&p * &Idx::constant(3)) + &Idx::sym(dim(d))
        });
        let leaf = match self.below(3) {
            0 => Elem::constant(self.value(elem)),
            1 => Elem::of_idx(elem, position.clone()),
            _ => {
                let name = format!("x{}", self.function.params.len());
                self.array(&name, elem, 200, 20);
                let at = Elem::of_idx(ScalarType::U8, position.clone());
                let at = Idx::value(at).modulo(&Idx::constant(64));
                Elem::read(name.as_str(), elem, at)
            }
        };
        if elem == ScalarType::I1 {
            return Elem::select(
                Elem::index_compare(CmpOp::Lt, position, Idx::sym("n")),
                leaf,
                Elem::constant(Scalar::bool(true)),
            );
        }
        let (acc, var) = (
            self.pick(&["acc'1", "acc'2", "s"]),
            self.pick(&["r'1", "r'2", "i"]),
        );
        let step = Elem::binary(
            BinOp::Add,
            Arc::new(Elem::Acc(acc.into(), elem)),
            leaf.clone(),
        );
        let fold = |init, step| -> ElemRef {
            Arc::new(Elem::Fold(Arc::new(Fold {
                acc: acc.into(),
                var: var.into(),
                extent: &Idx::sym("n") - &Idx::constant(1),
                init,
                step,
                order: Order::Sequential,
                others: vec![],
            })))
        };
        let inner = fold(Elem::of_idx(elem, &position + &Idx::constant(1)), step);
        if self.chance() {
            return inner;
        }
        let index = Elem::of_idx(elem, &Idx::sym(var) + &position);
        let acc_now = Arc::new(Elem::Acc(acc.into(), elem));
        let step = Elem::binary(
            BinOp::Multiply,
            acc_now,
            Elem::binary(BinOp::Add, inner, index),
        );
        fold(leaf, step)
    }

    fn operator(&mut self, kind: &str, depth: usize) -> NodeId {
        let (elem, shape) = (self.elem(), self.any_shape());
        let below = depth - 1;
        match kind {
            "view" => self.view(shape, elem),
            "param" => {
                let ty = self.pick(&[ScalarType::F32, ScalarType::F64]);
                let value = self.value(ty);
                self.scalar("eps", value);
                self.add(Op::Param("eps".into()), vec![], vec![], ty)
            }
            "size" => {
                let idx = &(&self.extent() * &self.extent()) - &Idx::constant(300);
                self.add(Op::Size(idx), vec![], vec![], elem)
            }
            "constant" => {
                let value = self.value(elem);
                self.inferred(Op::Constant(value), vec![])
            }
            "table" => {
                let len = self.below(6);
                let values: Vec<_> = (0..len).map(|_| self.value(elem)).collect();
                self.add(
                    Op::Table(values),
                    vec![],
                    vec![Idx::constant(len as i128)],
                    elem,
                )
            }
            "iota" => {
                let rank = 1 + self.below(3);
                let shape = self.shape(rank);
                self.add(
                    Op::Iota {
                        dimension: self.state as usize % rank,
                    },
                    vec![],
                    shape,
                    elem,
                )
            }
            "unary" => {
                let op = self.pick(UnOp::ALL);
                let all: Vec<_> = ScalarType::ALL
                    .into_iter()
                    .filter(|t| op.accepts(*t))
                    .collect();
                let elem = self.pick(&all);
                let a = self.operand(shape, elem, below);
                self.inferred(Op::Unary(op), vec![a])
            }
            "binary" => {
                let op = self.pick(BinOp::ALL);
                let all: Vec<_> = ScalarType::ALL
                    .into_iter()
                    .filter(|t| op.accepts(*t))
                    .collect();
                let elem = self.pick(&all);
                let a = self.operand(shape.clone(), elem, below);
                let b = self.operand(shape, elem, below);
                self.inferred(Op::Binary(op), vec![a, b])
            }
            "compare" => {
                let op = self.pick(CmpOp::ALL);
                let a = self.operand(shape.clone(), elem, below);
                let b = self.operand(shape, elem, below);
                self.inferred(Op::Compare(op), vec![a, b])
            }
            "convert" => {
                let a = self.operand(shape.clone(), elem, below);
                let to = self.elem();
                self.add(Op::Convert, vec![a], shape, to)
            }
            "bitcast_convert" => {
                let same = |t: &ScalarType| t.bits() == elem.bits();
                let all: Vec<_> = ScalarType::ALL.into_iter().filter(same).collect();
                let a = self.operand(shape.clone(), elem, below);
                let to = self.pick(&all);
                self.add(Op::BitcastConvert, vec![a], shape, to)
            }
            "select" => {
                let c = self.operand(shape.clone(), ScalarType::I1, below);
                let t = self.operand(shape.clone(), elem, below);
                let f = self.operand(shape, elem, below);
                self.inferred(Op::Select, vec![c, t, f])
            }
            "broadcast_in_dim" => {
                let dimensions: Vec<_> = (0..shape.len()).filter(|_| self.chance()).collect();
                let from = dimensions.iter().map(|&d| shape[d].clone()).collect();
                let a = self.operand(from, elem, below);
                self.add(Op::BroadcastInDim { dimensions }, vec![a], shape, elem)
            }
            "reshape" => {
                let a = self.operand(shape.clone(), elem, below);
                let to = self.regrouped(shape);
                self.add(Op::Reshape, vec![a], to, elem)
            }
            "transpose" => {
                let permutation = self.permutation(shape.len());
                let a = self.operand(shape, elem, below);
                self.inferred(Op::Transpose { permutation }, vec![a])
            }
            "slice" => self.slice(shape, elem, below),
            "pad" => {
                let a = self.operand(shape.clone(), elem, below);
                let low = self.shape(shape.len());
                let high = self.shape(shape.len());
                let sum = |d: usize| &(&shape[d] + &low[d]) + &high[d];
                let to = (0..shape.len()).map(sum).collect();
                let value = self.scalar_node(elem);
                self.add(Op::Pad { low }, vec![a, value], to, elem)
            }
            "concatenate" => {
                let rank = 1 + self.below(3);
                let mut shape = self.shape(rank);
                let dimension = self.below(rank);
                let args = (0..1 + self.below(3))
                    .map(|_| {
                        shape[dimension] = self.extent();
                        self.operand(shape.clone(), elem, below)
                    })
                    .collect();
                self.inferred(Op::Concatenate { dimension }, args)
            }
            "reverse" => {
                let dimensions = (0..shape.len()).filter(|_| self.chance()).collect();
                let a = self.operand(shape, elem, below);
                self.inferred(Op::Reverse { dimensions }, vec![a])
            }
            "gather" => self.gather(shape, elem, below),
            "dot_general" => self.dot_general(below),
            "reduce" => {
                let elem = self.number();
                let reducer = self.reducer();
                let dimensions: Vec<usize> = (0..shape.len()).filter(|_| self.chance()).collect();
                let kept = |d: &usize| !dimensions.contains(d);
                let result: Shape = (0..shape.len())
                    .filter(kept)
                    .map(|d| shape[d].clone())
                    .collect();
                let a = self.operand(shape, elem, below);
                let init = self.start(result, elem, below);
                self.inferred(
                    Op::Reduce {
                        reducer,
                        dimensions,
                    },
                    vec![a, init],
                )
            }
            "scan" => {
                let elem = self.number();
                let (shape, dimension) = self.with_a_dimension(shape);
                let mut result = shape.clone();
                result.remove(dimension);
                let a = self.operand(shape, elem, below);
                let init = self.start(result, elem, below);
                let op = Op::Scan {
                    reducer: self.reducer(),
                    dimension,
                    exclusive: self.chance(),
                    reverse: self.chance(),
                };
                self.inferred(op, vec![a, init])
            }
            "arg_reduce" => {
                let (elem, label) = (self.number(), self.number());
                let (shape, dimension) = self.with_a_dimension(shape);
                let mut result = shape.clone();
                result.remove(dimension);
                let cmp = self.pick(CmpOp::ALL);
                let reducer = match self.chance() {
                    true => Reducer::TakeIf(cmp),
                    false => Reducer::KeepIf(cmp),
                };
                let args = vec![
                    self.operand(shape.clone(), elem, below),
                    self.operand(shape, label, below),
                    self.start(result.clone(), elem, below),
                    self.start(result, label, below),
                ];
                self.inferred(Op::ArgReduce { reducer, dimension }, args)
            }
            "generic" => {
                let e = self.expression(shape.len(), elem);
                self.add(Op::Generic(e), vec![], shape, elem)
            }
            _ => panic!("no case for {kind}"),
        }
    }
}

fn row_major(shape: &[Idx]) -> Idx {
    let step = |index: Idx, d: usize| &(&index * &shape[d]) + &Idx::sym(dim(d));
    (0..shape.len()).fold(Idx::constant(0), step)
}
