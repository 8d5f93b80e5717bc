//! The `gaudi` target: tensors with elements of several widths, and what the sizes decide.

mod common;

use common::native::run_cpp;
use common::{Random, assert_same, call, expected, footprints, golden, try_generate};
use tensorize_backends::Generated;
use tensorize_backends::gaudi::CORES;
use tensorize_ir::guard::Tier;
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Function;

fn function(text: &str) -> Function {
    text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn generate(f: &Function, tier: Tier, call: &Inputs) -> Result<Generated, String> {
    try_generate(&CORES, f, tier, &footprints(f, call))
}

/// Generates, compiles, runs on emulated cores, compares with the interpreter.
fn check(f: &Function, tier: Tier, calls: &[Inputs]) -> Generated {
    let g = generate(f, tier, &calls[0]).unwrap_or_else(|why| panic!("{}: {why}", f.name));
    let got = run_cpp(f, &g, calls, &tensorize_emulation::include_dir());
    for (call, got) in calls.iter().zip(got) {
        let name = format!("{}\n{}", f.name, g.files[0].1);
        assert_same(&name, g.tier, &got, &expected(f, call));
    }
    g
}

/// All of them in each position, so that each is the widest and the narrowest, goes in and comes out.
#[test]
fn elements_of_all_widths_meet() {
    let types = ["ui8", "i8", "ui16", "i16", "i32", "f32"];
    for (i, a) in types.iter().enumerate() {
        // The next one may be as wide, and is not looked at.
        for b in types.iter().skip(i / 2 * 2 + 2) {
            let text = format!(
                "func @f(a: const ptr<{a}>, b: const ptr<{b}>, n: i32, o: ptr<{a}>, p: ptr<{b}>) {{
          %a = view a[#0] : tensor<n x {a}>
          %b = view b[#0] : tensor<n x {b}>
          %c = convert %b : tensor<n x {a}>
          %is = compare LT, %a, %c
          %x = select %is, %a, %c
          %y = add %x, %a
          %d = convert %a : tensor<n x {b}>
          %z = add %b, %d
          store o[#0] = %y
          store p[#0] = %z
        }}"
            );
            let f = function(&text);
            let mut r = Random(8);
            let calls = [600, 0, 1, 63, 64, 65, 127, 255, 256, 257, 700];
            let calls: Vec<_> = calls
                .into_iter()
                .map(|n| call(&f, &[("n", n)], &mut r, true))
                .collect();
            check(&f, Tier::Exact, &calls);
        }
    }
}

#[test]
fn three_widths_in_rows() {
    let f = function(
        "func @k(a: const ptr<ui8>, b: const ptr<i16>, c: const ptr<i32>, rows: i32, cols: i32, pitch: i64, o: ptr<i16>, p: ptr<i8>) {
  %0 = view a[#0*pitch + #1] : tensor<rows x cols x ui8>
  %1 = view b[#0*cols + #1] : tensor<rows x cols x i16>
  %2 = view c[#0*pitch + #1 + 2] : tensor<rows x cols x i32>
  %3 = convert %0 : tensor<rows x cols x i32>
  %4 = convert %1 : tensor<rows x cols x i32>
  %5 = multiply %3, %4 : tensor<rows x cols x i32>
  %6 = subtract %5, %2 : tensor<rows x cols x i32>
  %7 = convert %6 : tensor<rows x cols x i16>
  %8 = convert %6 : tensor<rows x cols x i8>
  store o[#0*cols + #1] = %7
  store p[#0*pitch + #1] = %8
}
",
    );
    let mut r = Random(4);
    let calls: Vec<_> = [(5, 300), (1, 1), (3, 70), (2, 256), (0, 4)]
        .into_iter()
        .map(|(rows, cols)| {
            let sizes = [("rows", rows), ("cols", cols), ("pitch", cols + 5)];
            call(&f, &sizes, &mut r, false)
        })
        .collect();
    let g = check(&f, Tier::Exact, &calls);
    golden("three_widths.gaudi.cpp", &g.files[0].1);
}

/// The mode decides which of the two is read: both are loaded, if both are there.
#[test]
fn what_a_mode_decides_is_selected() {
    let f = function(
        "func @mix(a: const ptr<ui8>, b: const ptr<ui8>, o: ptr<ui8>, n: i32, mode: i32, by: f32) {
  %0 = generic select(compare(LE, 0.0:f32, subtract(by, divide(convert(f32, index(i32, mode - 100*floordiv(mode, 100) + 1)), 100.0:f32))), a[#0], add(b[#0], 3:ui8)) : tensor<n x ui8>
  store o[#0] = %0
}
",
    );
    let mut r = Random(4);
    let mut calls = Vec::new();
    for (n, mode, by) in [
        (300, 40, 0.4),
        (300, 39, 0.4),
        (300, -50, -3.0),
        (7, 1, 2.0),
    ] {
        let mut c = Inputs::default();
        c.scalars
            .insert("n".into(), Scalar::int(ScalarType::I32, n));
        c.scalars
            .insert("mode".into(), Scalar::int(ScalarType::I32, mode));
        c.scalars.insert("by".into(), Scalar::f32(by));
        for array in ["a", "b", "o"] {
            let data = (0..n).map(|_| r.scalar(ScalarType::U8)).collect();
            let buffer = Buffer::new(ScalarType::U8, data);
            c.arrays.insert(array.into(), buffer);
        }
        calls.push(c);
    }
    let g = check(&f, Tier::Exact, &calls);
    golden("mix.gaudi.cpp", &g.files[0].1);
}

/// With the other mode, there is nothing before the array: the core may not load it.
#[test]
fn loads_stay_inside_of_what_is_known() {
    let text = |at: &str| {
        format!(
            "func @shift(a: const ptr<i32>, o: ptr<i32>, n: i32, by: i32) {{
  %0 = generic select(index_compare(LE, 8, by), a[{at}], index(i32, by)) : tensor<n x i32>
  store o[#0] = %0
}}
"
        )
    };
    let f = function(&text("#0 + by - 8"));
    let mut r = Random(4);
    let calls: Vec<_> = [(60, 9), (60, 8), (60, 2), (60, 0)]
        .into_iter()
        .map(|(n, by)| call(&f, &[("n", n), ("by", by)], &mut r, false))
        .collect();
    let g = check(&f, Tier::Exact, &calls);
    assert!(
        g.files[0].1.contains("(int64_t)by - 8 >= 0"),
        "{}",
        g.files[0].1
    );
    // Nothing is known at all.
    let why = try_generate(&CORES, &f, Tier::Exact, &[]).unwrap_err();
    assert!(why.contains("nothing is known"), "{why}");
}
