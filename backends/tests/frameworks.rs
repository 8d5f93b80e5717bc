//! Every operator on every type, and every summary of the tests, in every framework that is installed, against the
//! interpreter. What a framework refuses is written down, with the reason.

mod common;

use common::python::{Run, python_with, run_modules};
use common::{Random, assert_same, call, expected, golden, summary, try_generate};
use std::fmt::Write as _;
use tensorize_backends::{Generated, Target};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::Param;
use tensorize_ir::memory::Inputs;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Function, Op, Output, Reducer, TensorType, View, dim};

/// An operator with the type of its operands and of its result.
type Case = (Op, ScalarType, ScalarType);

fn cases(ty: ScalarType) -> Vec<Case> {
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
fn function(name: &str, ty: ScalarType, cases: &[Case]) -> Function {
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
fn reductions(ty: ScalarType) -> Vec<(Reducer, Vec<usize>)> {
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
    let reducers = steps.chain(takes.filter(|_| ty != ScalarType::I1));
    reducers
        .flat_map(|r| [(r, vec![1]), (r, vec![0, 1])])
        .collect()
}

fn folds(name: &str, ty: ScalarType, folds: &[(Reducer, Vec<usize>)]) -> Function {
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

/// Edges and random values; of the types of 8 bits, all pairs.
fn inputs(f: &Function, ty: ScalarType, tier: Tier) -> Inputs {
    if ty.bytes() > 1 || ty == ScalarType::I1 {
        return call(
            f,
            &[("n", 600)],
            &mut Random(11),
            tier == Tier::Real && ty.is_int(),
        );
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

struct Try {
    function: Function,
    generated: Generated,
    calls: Vec<Inputs>,
}

fn check(target: &dyn Target, tries: &[Try]) {
    let package = target.python_package().expect("a target in Python");
    let Some(python) = python_with(package) else {
        return;
    };
    let runs: Vec<Run> = tries
        .iter()
        .map(|t| Run {
            function: &t.function,
            generated: &t.generated,
            calls: &t.calls,
        })
        .collect();
    for (t, found) in tries.iter().zip(run_modules(&python, &runs)) {
        for (call, got) in t.calls.iter().zip(found) {
            let name = format!("{}\n{}", t.function.name, t.generated.files[0].1);
            assert_same(&name, t.generated.tier, &got, &expected(&t.function, call));
        }
    }
}

fn operators(target: &dyn Target) {
    let (mut tries, mut written) = (Vec::new(), String::new());
    for ty in ScalarType::ALL {
        let mut able = [Vec::new(), Vec::new()];
        for case in cases(ty) {
            let one = function("one", ty, std::slice::from_ref(&case));
            let shown = match &case {
                (Op::Compare(cmp), ..) => format!("compare {ty} {}", cmp.name()),
                (Op::Convert | Op::BitcastConvert, _, to) => {
                    format!("{} {ty} to {to}", case.0.name())
                }
                _ => format!("{} {ty}", case.0.name()),
            };
            let exact = try_generate(target, &one, Tier::Exact, &[]);
            match (exact, try_generate(target, &one, Tier::Real, &[])) {
                (Ok(_), _) => able[0].push(case),
                (Err(_), Ok(_)) => {
                    writeln!(written, "{shown}: real").unwrap();
                    able[1].push(case);
                }
                (_, Err(why)) => writeln!(written, "{shown}: {why}").unwrap(),
            }
        }
        for (tier, cases) in [Tier::Exact, Tier::Real].into_iter().zip(able) {
            if cases.is_empty() {
                continue;
            }
            let function = function(&format!("{tier}_on_{}", ty.name()), ty, &cases);
            let generated = try_generate(target, &function, tier, &[]).unwrap();
            assert_eq!(generated.tier, tier, "{}", function.name);
            let calls = vec![inputs(&function, ty, tier)];
            tries.push(Try {
                function,
                generated,
                calls,
            });
        }
    }
    for ty in ScalarType::ALL {
        let tier = match ty.is_float() {
            true => Tier::Real,
            false => Tier::Exact,
        };
        let able = reductions(ty).into_iter().filter(|fold| {
            let one = folds("one", ty, std::slice::from_ref(fold));
            let why = match try_generate(target, &one, tier, &[]) {
                Ok(_) => return true,
                Err(why) => why,
            };
            writeln!(written, "reduce {ty} by {:?}: {why}", fold.0).unwrap();
            false
        });
        let able: Vec<_> = able.collect();
        if able.is_empty() {
            continue;
        }
        let function = folds(&format!("folds_of_{}", ty.name()), ty, &able);
        let generated = try_generate(target, &function, tier, &[]).unwrap();
        let mut random = Random(17);
        let sizes = [(1, 1), (7, 0), (9, 40), (30, 3)].into_iter();
        // Of nothing again and again: a framework may take for its sum what its memory held before.
        let sizes = sizes.chain([(7, 0), (2, 2)].into_iter().cycle().take(20));
        let calls = sizes.map(|(rows, cols)| {
            let sizes = [("rows", rows), ("cols", cols)];
            call(&function, &sizes, &mut random, ty.is_float())
        });
        tries.push(Try {
            calls: calls.collect(),
            function,
            generated,
        });
    }
    golden(&format!("operators.{}.txt", target.name()), &written);
    check(target, &tries);
}

/// The summaries of the tests, where the framework can do them.
fn summaries(target: &dyn Target) {
    let mut r = Random(9);
    let mut tries = Vec::new();
    let mut refused = String::new();
    for (name, tier) in [
        ("screen", Tier::Exact),
        ("darken", Tier::Exact),
        ("burn", Tier::Exact),
        ("matvec", Tier::Real),
        ("softmax", Tier::Real),
        ("matmul", Tier::Exact),
        ("dot16", Tier::Exact),
        ("center_rows", Tier::Real),
        ("swap_scaled", Tier::Real),
        ("shapes", Tier::Real),
        ("notation", Tier::Real),
    ] {
        let function = summary(name);
        let generated = match try_generate(target, &function, tier, &[]) {
            Ok(generated) => generated,
            Err(why) => {
                writeln!(refused, "{name}: {why}").unwrap();
                continue;
            }
        };
        if ["screen", "softmax"].contains(&name) {
            golden(
                &format!("{name}.{}.py", target.name()),
                &generated.files[0].1,
            );
        }
        let mut sizes = |n: i128, d: i128| {
            let sizes = [
                ("n", n),
                ("d", d),
                ("m", 5),
                ("k", d),
                ("rows", n),
                ("cols", d),
            ];
            call(&function, &sizes, &mut r, generated.tier == Tier::Real)
        };
        let calls = vec![sizes(1, 1), sizes(3, 5), sizes(37, 3), sizes(200, 70)];
        tries.push(Try {
            function,
            generated,
            calls,
        });
    }
    golden(&format!("summaries.{}.txt", target.name()), &refused);
    check(target, &tries);
}

fn target(name: &str) -> &'static dyn Target {
    let mut all = tensorize_backends::targets().into_iter();
    all.find(|t| t.name() == name).expect("a target")
}

macro_rules! frameworks {
    ($($name:ident),*) => { $(
        mod $name {
            #[test]
            fn operators() {
                super::operators(super::target(stringify!($name)));
            }

            #[test]
            fn summaries() {
                super::summaries(super::target(stringify!($name)));
            }
        }
    )* };
}

frameworks!(numpy, jax, pytorch, tensorflow, mlx, dask, stablehlo);
