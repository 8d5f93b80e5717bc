//! Every operator on every type, as summaries.

use tensorize_ir::guard::Tier;
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::Param;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::{Function, NodeId, Op, Output, TensorType, View, dim};

fn array(name: &str, elem: ScalarType) -> Param {
    Param::Array {
        name: name.into(),
        elem,
        is_const: false,
        restrict: false,
    }
}

fn view(name: &str) -> View {
    View {
        array: name.into(),
        index: Idx::sym(dim(0)),
    }
}

/// Whether an operator on floats is a function that libraries round as they like.
pub fn of_library(name: &str) -> bool {
    let own = ["negate", "abs", "sqrt", "floor", "ceil", "trunc"];
    let one = UnOp::from_name(name).is_some_and(|op| op.accepts(ScalarType::F32));
    let two = ["power", "atan2"].contains(&name);
    two || (one && !own.contains(&name) && !name.starts_with("round"))
}

/// Every operator that takes two arrays `a` and `b` of this type, each with a result of its own.
/// Functions of the C library, which round as they like, are apart.
fn function(ty: ScalarType, from_library: bool) -> Function {
    let params = vec![
        Param::Scalar {
            name: "n".into(),
            ty: ScalarType::I32,
        },
        array("a", ty),
        array("b", ty),
    ];
    let name = format!("on_{}", ty.name());
    let mut f = Function {
        name,
        params,
        nodes: vec![],
        outputs: vec![],
        rounds: None,
        state: vec![],
    };
    let vector = |elem| TensorType::new(vec![Idx::sym("n")], elem);
    let a = f.add(Op::View(view("a")), vec![], vector(ty));
    let b = f.add(Op::View(view("b")), vec![], vector(ty));
    let mut results: Vec<NodeId> = Vec::new();
    for op in BinOp::ALL
        .iter()
        .filter(|o| o.accepts(ty) && of_library(o.name()) == from_library)
    {
        results.push(f.add(Op::Binary(*op), vec![a, b], vector(ty)));
    }
    for op in UnOp::ALL
        .iter()
        .filter(|o| o.accepts(ty) && of_library(o.name()) == from_library)
    {
        results.push(f.add(Op::Unary(*op), vec![a], vector(ty)));
    }
    for op in CmpOp::ALL.iter().filter(|_| !from_library) {
        results.push(f.add(Op::Compare(*op), vec![a, b], vector(ScalarType::I1)));
    }
    for to in ScalarType::ALL
        .into_iter()
        .filter(|t| *t != ty && !from_library)
    {
        // C leaves what does not fit undefined; only `_Bool` takes any float.
        if !ty.is_float() || to.is_float() || to == ScalarType::I1 {
            results.push(f.add(Op::Convert, vec![a], vector(to)));
        }
        if to.bits() == ty.bits() {
            results.push(f.add(Op::BitcastConvert, vec![a], vector(to)));
        }
    }
    for (i, value) in results.into_iter().enumerate() {
        let name = format!("o{i}");
        f.params.push(array(&name, f.nodes[value].ty.elem));
        f.outputs.push(Output::Store {
            value,
            view: view(&name),
        });
    }
    f
}

/// Each type, without and with the library's functions.
pub fn all() -> Vec<(Function, Tier)> {
    let mut out: Vec<_> = ScalarType::ALL
        .into_iter()
        .map(|ty| (function(ty, false), Tier::Exact))
        .collect();
    for ty in [ScalarType::F32, ScalarType::F64] {
        out.push((function(ty, true), Tier::Real));
    }
    out
}
