//! Folds that run along with a result, that keep a place, that have several lanes, and searches: as C and as NumPy,
//! against the interpreter.

mod common;

use common::folds::{
    WAYS, function, matrix_scan, place, recurrences, running_extremes_of, scans_of, with_ties,
};
use common::native::run_c;
use common::python::{python, run_python};
use common::{Random, assert_same, call, expected, golden, try_generate};
use tensorize_backends::Generated;
use tensorize_backends::cpu::CPU;
use tensorize_backends::frameworks::NUMPY;
use tensorize_ir::guard::Tier;
use tensorize_ir::loopir::{Loop, LoopMode, Stmt};
use tensorize_ir::memory::Inputs;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::Function;

/// Sizes that calls are made with.
const SIZES: [(i128, i128); 5] = [(1, 1), (2, 3), (5, 1), (7, 4), (40, 9)];

fn calls(f: &Function) -> Vec<Inputs> {
    let mut random = Random(3);
    let call = |(n, m)| call(f, &[("n", n), ("m", m)], &mut random, false);
    SIZES.into_iter().map(call).collect()
}

fn in_c(f: &Function) -> Generated {
    let g = try_generate(&CPU, f, Tier::Exact, &[]).unwrap_or_else(|e| panic!("{e}\n{f}"));
    let calls = calls(f);
    for (call, got) in calls.iter().zip(run_c(f, &g.entry, &g.files[0].1, &calls)) {
        let name = format!("{f}\n{}", g.files[0].1);
        assert_same(&name, g.tier, &got, &expected(f, call));
    }
    g
}

/// Runs nothing without a Python that has NumPy.
fn in_numpy(f: &Function) -> Generated {
    let g = try_generate(&NUMPY, f, Tier::Exact, &[]).unwrap_or_else(|e| panic!("{e}\n{f}"));
    assert_eq!(g.tier, Tier::Exact, "{f}");
    let Some(python) = python() else { return g };
    let calls = calls(f);
    for (call, got) in calls.iter().zip(run_python(&python, f, &g, &calls)) {
        let name = format!("{f}\n{}", g.files[0].1);
        assert_same(&name, g.tier, &got, &expected(f, call));
    }
    g
}

/// The loops of a function, the outer ones first.
fn loops(g: &Generated) -> Vec<&Loop> {
    fn collect<'a>(stmts: &'a [Stmt], out: &mut Vec<&'a Loop>) {
        for s in stmts {
            match s {
                Stmt::Loop(l) => {
                    out.push(l);
                    collect(&l.body, out);
                }
                Stmt::If {
                    then, otherwise, ..
                } => {
                    collect(then, out);
                    collect(otherwise, out);
                }
                _ => {}
            }
        }
    }
    let mut out = vec![];
    collect(&g.loopir.as_ref().expect("LoopIR").body, &mut out);
    out
}

#[test]
fn scans_of_every_type() {
    for (i, ty) in ScalarType::ALL.into_iter().enumerate() {
        let f = scans_of(ty, i);
        in_numpy(&f);
        // Compiling takes long.
        if i % 3 == 0 {
            in_c(&f);
        }
    }
}

/// Ties, signed zeros and NaN; where a NaN comes first; and all of it backwards.
#[test]
fn running_extremes() {
    for ty in [ScalarType::F32, ScalarType::I16] {
        let f = running_extremes_of(ty);
        in_numpy(&f);
        in_c(&f);
    }
}

#[test]
fn along_either_axis_of_a_matrix() {
    for (i, ways) in WAYS.into_iter().enumerate() {
        for (d, each) in ["s[#0] : tensor<m x f32>", "s[#0] : tensor<n x f32>"]
            .into_iter()
            .enumerate()
        {
            let start = if i % 2 == 0 {
                each
            } else {
                "s[0] : tensor<f32>"
            };
            let f = matrix_scan(d, ways, start);
            in_numpy(&f);
            let g = in_c(&f);
            let modes: Vec<_> = loops(&g).iter().map(|l| l.mode.clone()).collect();
            // The other axis is parallel, and there is no third loop: no element is summed from the start.
            assert_eq!(modes, [LoopMode::Parallel, LoopMode::Sequential], "{f}");
        }
    }
}

/// What comes before is overwritten as the scan goes on; a shifted store, too.
#[test]
fn in_place() {
    let scan = |read: &str, write: &str, ways: &str| {
        function(&format!(
            "func @f(a: ptr<i32>, n: i32) {{
               %x = view a[{read}] : tensor<n x i32>
               %s = view a[0] : tensor<i32>
               %r = scan %x, %s, reducer = add, dimension = 0{ways}
               store a[{write}] = %r
             }}"
        ))
    };
    for (read, write, ways) in [
        ("#0 + 1", "#0 + 1", ""),
        ("#0", "#0", ", exclusive = true"),
        ("#0 + 2", "#0", ""),
    ] {
        let g = in_c(&scan(read, write, ways));
        assert_eq!(loops(&g).len(), 1);
    }
    // It would read what it has written, and so waits.
    let behind = scan("#0", "#0 + 1", "");
    let g = in_c(&behind);
    assert!(g.files[0].1.contains("tz_memory"), "{}", g.files[0].1);
    assert_eq!(loops(&g).len(), 2);
    in_numpy(&behind);
    let matrix = function(
        "func @f(a: ptr<i32>, n: i32, m: i32) {
           %x = view a[#0*m + #1 + m] : tensor<n x m x i32>
           %s = view a[#0] : tensor<m x i32>
           %r = scan %x, %s, reducer = add, dimension = 0
           store a[#0*m + #1 + m] = %r
         }",
    );
    golden("running_columns.cpu.c", &in_c(&matrix).files[0].1);
    golden("running_columns.numpy.py", &in_numpy(&matrix).files[0].1);
}

/// A summed-area table: one pass along the rows, one down the columns, each with the other axis in parallel.
#[test]
fn along_both_axes() {
    let f = function(
        "func @f(x: const ptr<i32>, out: ptr<i32>, n: i32, m: i32) {
           %x = view x[#0*m + #1] : tensor<n x m x i32>
           %zero = constant 0:i32
           %rows = scan %x, %zero, reducer = add, dimension = 1
           %r = scan %rows, %zero, reducer = add, dimension = 0
           store out[#0*m + #1] = %r
         }",
    );
    let modes: Vec<_> = loops(&in_c(&f)).iter().map(|l| l.mode.clone()).collect();
    let pass = [LoopMode::Parallel, LoopMode::Sequential];
    assert_eq!(modes, [pass.clone(), pass].concat());
    in_numpy(&f);
}

/// Recurrences have no operator: one loop all the same.
#[test]
fn recurrences_of_one_lane_and_of_two() {
    for f in recurrences() {
        let g = in_c(&f);
        assert_eq!(loops(&g).len(), 1, "{f}");
    }
}

#[test]
fn several_running_results_share_a_loop() {
    let f = function(
        "func @f(x: const ptr<f32>, sums: ptr<f32>, largest: ptr<f32>, n: i32) {
           %x = view x[#0] : tensor<n x f32>
           %first = view x[0] : tensor<f32>
           %zero = constant 0.0:f32
           %s = scan %x, %zero, reducer = add, dimension = 0
           %m = scan %x, %first, reducer = take_if(GT), dimension = 0
           store sums[#0] = %s
           store largest[#0] = %m
         }",
    );
    assert_eq!(loops(&in_c(&f)).len(), 1);
    in_numpy(&f);
}

#[test]
fn places_of_extremes() {
    let python = python();
    for ty in [ScalarType::F32, ScalarType::I32, ScalarType::U8] {
        for kind in ["take_if", "keep_if"] {
            for cmp in ["GT", "GE", "LT", "LE"] {
                let f = place(ty, &format!("{kind}({cmp})"));
                let calls: Vec<Inputs> = (0..4)
                    .flat_map(|_| calls(&f))
                    .map(|c| with_ties(&f, c))
                    .collect();
                // The first one, the last one, and what NaN does to either.
                if ty == ScalarType::F32 && ["GT", "LE"].contains(&cmp) {
                    let g = try_generate(&CPU, &f, Tier::Exact, &[]).unwrap();
                    assert_eq!(loops(&g).len(), 2);
                    for (call, got) in calls.iter().zip(run_c(&f, &g.entry, &g.files[0].1, &calls))
                    {
                        assert_same(&f.to_string(), g.tier, &got, &expected(&f, call));
                    }
                }
                let Some(python) = &python else { continue };
                let g = try_generate(&NUMPY, &f, Tier::Exact, &[]).unwrap();
                for (call, got) in calls.iter().zip(run_python(python, &f, &g, &calls)) {
                    assert_same(&format!("{f}\n{call:?}"), g.tier, &got, &expected(&f, call));
                }
            }
        }
    }
}

/// A search stops where it has found something.
#[test]
fn searches() {
    let search = |condition: &str| {
        function(&format!(
            "func @f(x: const ptr<ui8>, v: const ptr<ui8>, n: i32) {{
               %r = generic fold(at = index(i64, n), k < n,
                 minimum(at, select({condition}, index(i64, k), index(i64, n)))) : tensor<i64>
               return %r
             }}"
        ))
    };
    for condition in [
        "compare(EQ, x[k], v[0])",
        "compare(LT, v[0], x[k])",
        "compare(EQ, add(x[k], v[0]), 0:ui8)",
    ] {
        let f = search(condition);
        let g = in_c(&f);
        let [one] = loops(&g)[..] else { panic!("{f}") };
        assert!(one.cond.to_string().contains("found"), "{}", one.cond);
        in_numpy(&f);
    }
    // The other way round: goes on as long as it holds.
    let f = function(
        "func @f(x: const ptr<i32>, n: i32) {
           %r = generic fold(at = index(i64, n), k < n,
             minimum(at, select(compare(GT, x[k], 0:i32), index(i64, n), index(i64, k)))) : tensor<i64>
           return %r
         }",
    );
    in_c(&f);
    in_numpy(&f);
    // No search: what it gives where nothing is found is not the end.
    let other = function(
        "func @f(x: const ptr<i32>, n: i32) {
           %r = generic fold(at = index(i64, n), k < n,
             minimum(at, select(compare(GT, x[k], 0:i32), index(i64, k), index(i64, n + 1)))) : tensor<i64>
           return %r
         }",
    );
    let g = in_c(&other);
    assert!(!loops(&g)[0].cond.to_string().contains("found"));
}

/// What a search looks at in each round goes on from what the round before has left, and so do those who look at it
/// afterwards: there is one loop.
#[test]
fn folds_run_along_with_searches() {
    let halves =
        |rounds: &str| format!("fold(y = v, j < {rounds}, subtract(y, multiply(0.5:f64, y)))");
    for (most, size) in [("n", ", n: i32"), ("20", "")] {
        let (here, none) = (halves("k"), format!("index(i64, {most})"));
        let found = format!(
            "fold(at = {none}, k < {most}, minimum(at, select(compare(LT, {here}, 0.25:f64), index(i64, k), {none})))"
        );
        let so_far = halves(&format!("value({found})"));
        let f = function(&format!(
            "func @f(v: f64{size}) {{
               %r = generic {so_far} : tensor<f64>
               return %r
             }}"
        ));
        let g = in_c(&f);
        let all = loops(&g);
        let [one] = all[..] else {
            panic!("{f}\n{}: {} loops", g.loopir.as_ref().unwrap(), all.len())
        };
        assert!(one.cond.to_string().contains("found"), "{}", one.cond);
    }
}
