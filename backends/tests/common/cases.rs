//! Every operator on every type, and every way to reduce, as functions of their own, with what they are called with.

use super::{Random, call};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::Param;
use tensorize_ir::memory::Inputs;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Function, Op, Output, Reducer, TensorType, View, dim};

/// An operator with the type of its operands and of its result.
pub type Case = (Op, ScalarType, ScalarType);

pub fn cases(ty: ScalarType) -> Vec<Case> {
    let unary = UnOp::ALL.iter().filter(|o| o.accepts(ty));
    let binary = BinOp::ALL.iter().filter(|o| o.accepts(ty));
    let compare = CmpOp::ALL.iter();
    let mut out: Vec<Case> = binary.map(|o| (Op::Binary(*o), ty, ty)).collect();
    out.extend(unary.map(|o| (Op::Unary(*o), ty, ty)));
    out.extend(compare.map(|o| (Op::Compare(*o), ty, ScalarType::I1)));
    for to in ScalarType::ALL.into_iter().filter(|to| *to != ty) {
        // C leaves what does not fit undefined; only `_Bool` takes any float.
        if !ty.is_float() || to.is_float() || to == ScalarType::I1 {
            out.push((Op::Convert, ty, to));
        }
        if to.bits() == ty.bits() {
            out.push((Op::BitcastConvert, ty, to));
        }
    }
    out
}

fn array(name: &str, elem: ScalarType) -> Param {
    Param::Array {
        name: name.into(),
        elem,
        is_const: false,
        restrict: false,
    }
}

/// Each operator on the arrays `a` and `b`, with a result of its own.
pub fn function(name: &str, ty: ScalarType, cases: &[Case]) -> Function {
    let view = |name: &str| View {
        array: name.into(),
        index: Idx::sym(dim(0)),
    };
    let size = Param::Scalar {
        name: "n".into(),
        ty: ScalarType::I32,
    };
    let mut f = Function {
        name: name.into(),
        params: vec![size, array("a", ty), array("b", ty)],
        nodes: vec![],
        outputs: vec![],
        rounds: None,
        state: vec![],
    };
    let vector = |elem| TensorType::new(vec![Idx::sym("n")], elem);
    let a = f.add(Op::View(view("a")), vec![], vector(ty));
    let b = f.add(Op::View(view("b")), vec![], vector(ty));
    for (i, (op, _, to)) in cases.iter().enumerate() {
        let operands = match op {
            Op::Binary(_) | Op::Compare(_) => vec![a, b],
            _ => vec![a],
        };
        let value = f.add(op.clone(), operands, vector(*to));
        let name = format!("o{i}");
        f.params.push(array(&name, *to));
        f.outputs.push(Output::Store {
            value,
            view: view(&name),
        });
    }
    f
}

/// Every way to fold the rows of `a`, and all of it.
pub fn reductions(ty: ScalarType) -> Vec<(Reducer, Vec<usize>)> {
    let steps = [
        BinOp::Add,
        BinOp::Multiply,
        BinOp::And,
        BinOp::Or,
        BinOp::Xor,
    ];
    let steps = steps.into_iter().chain([BinOp::Maximum, BinOp::Minimum]);
    let steps = steps.filter(|o| o.accepts(ty)).map(Reducer::Op);
    let takes = [CmpOp::Gt, CmpOp::Le].into_iter();
    let takes = takes.flat_map(|c| [Reducer::TakeIf(c), Reducer::KeepIf(c)]);
    steps
        .chain(takes)
        .flat_map(|r| [(r, vec![1]), (r, vec![0, 1])])
        .collect()
}

pub fn folds(name: &str, ty: ScalarType, folds: &[(Reducer, Vec<usize>)]) -> Function {
    let size = |name: &str| Param::Scalar {
        name: name.into(),
        ty: ScalarType::I32,
    };
    let mut f = Function {
        name: name.into(),
        params: vec![
            size("rows"),
            size("cols"),
            array("a", ty),
            array("first", ty),
        ],
        nodes: vec![],
        outputs: vec![],
        rounds: None,
        state: vec![],
    };
    let (rows, cols) = (Idx::sym("rows"), Idx::sym("cols"));
    let matrix = View {
        array: "a".into(),
        index: &(&Idx::sym(dim(0)) * &cols) + &Idx::sym(dim(1)),
    };
    let first = View {
        array: "first".into(),
        index: Idx::constant(0),
    };
    let shape = vec![rows.clone(), cols];
    let a = f.add(Op::View(matrix), vec![], TensorType::new(shape, ty));
    let first = f.add(Op::View(first), vec![], TensorType::scalar(ty));
    for (i, (reducer, dimensions)) in folds.iter().enumerate() {
        let shape = match dimensions.len() {
            1 => vec![rows.clone()],
            _ => vec![],
        };
        let op = Op::Reduce {
            reducer: *reducer,
            dimensions: dimensions.clone(),
        };
        let index = match shape.len() {
            0 => Idx::constant(0),
            _ => Idx::sym(dim(0)),
        };
        let value = f.add(op, vec![a, first], TensorType::new(shape, ty));
        let name = format!("o{i}");
        f.params.push(array(&name, ty));
        let view = View {
            array: name.as_str().into(),
            index,
        };
        f.outputs.push(Output::Store { value, view });
    }
    f
}

pub fn number(ty: ScalarType, v: f64) -> Scalar {
    match ty {
        ScalarType::F32 => Scalar::f32(v as f32),
        _ => Scalar::f64(v),
    }
}

/// Edges and random values; of the types of 8 bits, all pairs.
pub fn inputs(f: &Function, ty: ScalarType, tier: Tier) -> Inputs {
    if ty.bytes() > 1 || ty == ScalarType::I1 {
        let tame = tier == Tier::Real && ty.is_int();
        let mut inputs = call(f, &[("n", 600)], &mut Random(11), tame);
        // Halves, which one rounding takes to the even neighbour and another away from zero.
        if let Some(array) = inputs.arrays.get_mut("a").filter(|_| ty.is_float()) {
            for (i, v) in array.data.iter_mut().take(12).enumerate() {
                *v = number(ty, i as f64 - 5.5);
            }
        }
        return inputs;
    }
    let mut inputs = call(f, &[("n", 65536)], &mut Random(11), false);
    for (name, every) in [("a", 256), ("b", 1)] {
        let byte = |i: i128| Scalar::int(ty, i / every % 256);
        if let Some(array) = inputs.arrays.get_mut(name) {
            array.data = (0..65536).map(byte).collect();
        }
    }
    inputs
}

/// Calls of [`folds`], of no columns, too; several, so that what they start from is not always what decides. The sizes
/// are few, since some frameworks compile a function for each.
pub fn fold_calls(f: &Function, ty: ScalarType, tier: Tier) -> Vec<Inputs> {
    let mut random = Random(17);
    let sizes = [(5, 3); 4].into_iter();
    // Of nothing again and again: a framework may take for its sum what its memory held before.
    let sizes = sizes.chain([(7, 0), (9, 40)].into_iter().cycle().take(22));
    let sizes = sizes.map(|size| (size, ty.is_float()));
    // What an extreme does with NaN, and with zeros of two signs, depends on how it is written. The reals have neither.
    let special = [(5, 3), (9, 40), (2, 700)].into_iter();
    let special = special
        .filter(|_| tier == Tier::Exact)
        .map(|size| (size, false));
    let calls = sizes.chain(special).map(|((rows, cols), tame)| {
        let sizes = [("rows", rows), ("cols", cols)];
        call(f, &sizes, &mut random, tame)
    });
    calls.collect()
}
