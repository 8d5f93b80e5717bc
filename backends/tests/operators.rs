//! Every operator on every type, edges included, on both targets against the interpreter.

mod common;

use common::python::{python, run_python};
use common::{Random, assert_same, call, expected, run_c, try_generate};
use tensorize_backends::cpu::Cpu;
use tensorize_backends::numpy::NumPy;
use tensorize_ir::guard::Tier;
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::Param;
use tensorize_ir::memory::Inputs;
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

/// Every operator that takes two arrays `a` and `b` of this type, each with a result of its own.
fn function(ty: ScalarType) -> Function {
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
    };
    let vector = |elem| TensorType::new(vec![Idx::sym("n")], elem);
    let a = f.add(Op::View(view("a")), vec![], vector(ty));
    let b = f.add(Op::View(view("b")), vec![], vector(ty));
    let mut results: Vec<NodeId> = Vec::new();
    for op in BinOp::ALL.iter().filter(|o| o.accepts(ty)) {
        results.push(f.add(Op::Binary(*op), vec![a, b], vector(ty)));
    }
    for op in UnOp::ALL.iter().filter(|o| o.accepts(ty)) {
        results.push(f.add(Op::Unary(*op), vec![a], vector(ty)));
    }
    for op in CmpOp::ALL {
        results.push(f.add(Op::Compare(*op), vec![a, b], vector(ScalarType::I1)));
    }
    for to in ScalarType::ALL.into_iter().filter(|t| *t != ty) {
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

fn calls(f: &Function) -> Vec<Inputs> {
    vec![call(f, &[("n", 300)], &mut Random(11), false)]
}

#[test]
fn in_c() {
    for ty in ScalarType::ALL {
        let f = function(ty);
        let calls = calls(&f);
        let g = try_generate(&Cpu, &f, Tier::Exact, &[]).unwrap();
        let got = run_c(&f, &g.entry, &g.files[0].1, &calls);
        assert_same(&f.name, Tier::Exact, &got[0], &expected(&f, &calls[0]));
    }
}

#[test]
fn in_numpy() {
    let Some(python) = python() else { return };
    for ty in ScalarType::ALL {
        let f = function(ty);
        let calls = calls(&f);
        let g = try_generate(&NumPy, &f, Tier::Real, &[]).unwrap();
        let got = run_python(&python, &f, &g, &calls);
        assert_same(&f.name, g.tier, &got[0], &expected(&f, &calls[0]));
    }
}
