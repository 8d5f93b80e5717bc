//! Running folds, places of extremes and folds in order, in the targets in Python that make loops of them, against the
//! interpreter; of no elements, too. For NumPy that is `running.rs`; other operators are in `frameworks.rs`.

mod common;

use common::folds::{
    WAYS, function, matrix_scan, place, recurrences, running_extremes_of, scans_of, with_ties,
};
use common::python::{Run, python_with, run_modules};
use common::{Random, assert_same, call, expected, try_generate};
use std::process::Command;
use tensorize_backends::{Generated, Target};
use tensorize_ir::guard::Tier;
use tensorize_ir::memory::Inputs;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::Function;

/// Sizes that calls are made with.
const SIZES: [(i128, i128); 5] = [(1, 1), (2, 3), (5, 1), (7, 4), (0, 3)];

/// It has few operators for them, and so none at all here.
const LACKED_BY_PYTORCH: [ScalarType; 3] = [ScalarType::U16, ScalarType::U32, ScalarType::U64];

fn calls(f: &Function, tame: bool) -> Vec<Inputs> {
    let mut random = Random(3);
    let call = |(n, m)| call(f, &[("n", n), ("m", m)], &mut random, tame);
    SIZES.into_iter().map(call).collect()
}

/// All in one process: an import takes longer than a call.
fn check(target: &str, tries: Vec<(Function, Vec<Inputs>)>) {
    let mut all = tensorize_backends::targets().into_iter();
    let target: &dyn Target = all.find(|t| t.name() == target).expect("a target");
    let generated: Vec<Generated> = tries
        .iter()
        .map(|(f, _)| {
            let g = try_generate(target, f, Tier::Real, &[]);
            g.unwrap_or_else(|why| panic!("{why}\n{f}"))
        })
        .collect();
    let Some(python) = python_with(target.python_package().expect("Python")) else {
        return;
    };
    let runs: Vec<Run> = tries
        .iter()
        .zip(&generated)
        .map(|((function, calls), generated)| Run {
            function,
            generated,
            calls,
        })
        .collect();
    for (run, found) in runs.iter().zip(run_modules(Command::new(&python), &runs)) {
        for (call, got) in run.calls.iter().zip(found) {
            let name = format!("{}\n{}", run.function, run.generated.files[0].1);
            assert_same(
                &name,
                run.generated.tier,
                &got,
                &expected(run.function, call),
            );
        }
    }
}

fn running_folds(target: &str) {
    let mut all: Vec<Function> = ScalarType::ALL
        .into_iter()
        .filter(|ty| target != "pytorch" || !LACKED_BY_PYTORCH.contains(ty))
        .enumerate()
        .map(|(i, ty)| scans_of(ty, i))
        .collect();
    all.extend([ScalarType::F32, ScalarType::I16].map(running_extremes_of));
    for (i, ways) in WAYS.into_iter().enumerate() {
        let start = if i % 2 == 0 {
            "s[#0] : tensor<m x f32>"
        } else {
            "s[0] : tensor<f32>"
        };
        all.push(matrix_scan(0, ways, start));
        all.push(matrix_scan(1, ways, "s[#0] : tensor<n x f32>"));
    }
    check(
        target,
        all.into_iter()
            .map(|f| (f.clone(), calls(&f, false)))
            .collect(),
    );
}

fn places(target: &str) {
    let mut all = Vec::new();
    for ty in [ScalarType::F32, ScalarType::I32, ScalarType::U8] {
        for kind in ["take_if", "keep_if"] {
            for cmp in ["GT", "GE", "LT", "LE"] {
                let f = place(ty, &format!("{kind}({cmp})"));
                let calls = calls(&f, false)
                    .into_iter()
                    .map(|c| with_ties(&f, c))
                    .collect();
                all.push((f, calls));
            }
        }
    }
    check(target, all);
}

mod pytorch {
    #[test]
    fn running_folds_of_every_type() {
        super::running_folds("pytorch");
    }

    #[test]
    fn places_of_extremes() {
        super::places("pytorch");
    }
}

mod jax {
    #[test]
    fn running_folds_of_every_type() {
        super::running_folds("jax");
    }

    #[test]
    fn places_of_extremes() {
        super::places("jax");
    }
}

mod stablehlo {
    use super::*;

    #[test]
    fn running_folds_of_every_type() {
        running_folds("stablehlo");
    }

    #[test]
    fn places_of_extremes() {
        places("stablehlo");
    }

    /// Loops with one accumulator and with two, and of a length that differs from element to element.
    #[test]
    fn folds_in_order() {
        let mut all: Vec<Function> = recurrences();
        let steps = [
            "fold(s = 1:i32, k < n, subtract(x[k], s))",
            "fold(s = 1:i32, k < n - #0, subtract(x[k + #0], s))",
            "fold(p = 1:i32, q = 0:i32, k < #0 + 1, add(p, q), xor(p, x[k]))",
            "fold(s = 0:i32, j < #0, add(s, fold(t = s, k < j, subtract(x[k], t))))",
            "fold(s = 0:i32, k < value(x[#0]), add(s, 1:i32))",
        ];
        all.extend(steps.map(|fold| {
            function(&format!(
                "func @f(x: const ptr<i32>, out: ptr<i32>, n: i32) {{
                   %r = generic {fold} : tensor<n x i32>
                   store out[#0] = %r
                 }}"
            ))
        }));
        check(
            "stablehlo",
            all.into_iter()
                .map(|f| (f.clone(), calls(&f, true)))
                .collect(),
        );
    }

    /// Quotients and remainders of indices, by what may be zero or negative; and what is read at an index from memory.
    #[test]
    fn indices() {
        let elements = [
            "index(i64, floordiv(#0*3 - 7, m - 2))",
            "index(i64, mod(#0*3 - 7, m - 2))",
            "index(i64, mod(3 - #0, 2) + floordiv(3 - #0, 2)*n)",
            "index(i64, max(#0*m, n) - min(#0, m)*#0)",
            "select(index_compare(LT, #0*#0, n + m), x[#0*m], x[mod(#0, 3)])",
            "x[max(value(x[#0]), 0)]",
        ];
        let all = elements.map(|e| {
            function(&format!(
                "func @f(x: const ptr<i64>, out: ptr<i64>, n: i32, m: i32) {{
                   %r = generic {e} : tensor<n x i64>
                   store out[#0] = %r
                 }}"
            ))
        });
        let calls = |f: &Function| {
            let mut calls = calls(f, true);
            // Every index from memory lies within.
            for x in calls.iter_mut().filter_map(|c| c.arrays.get_mut("x")) {
                let n = x.data.len() as i128;
                for v in &mut x.data {
                    *v = tensorize_ir::scalar::Scalar::int(v.ty, v.as_int() % n);
                }
            }
            calls
        };
        check("stablehlo", all.map(|f| (f.clone(), calls(&f))).into());
    }
}
