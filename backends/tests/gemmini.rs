//! The `gemmini` target: what it prints, and what that computes on the emulated core.

mod common;

use common::native::run_c_with;
use common::{Random, assert_same, call, expected, golden, summary, terms, try_generate};
use tensorize_backends::Generated;
use tensorize_backends::gemmini::Gemmini;
use tensorize_ir::guard::Tier;
use tensorize_ir::memory::Inputs;
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Function;

fn function(text: &str) -> Function {
    text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn generate(f: &Function, tier: Tier) -> Result<Generated, String> {
    try_generate(&Gemmini::new(), f, tier, &[])
}

/// Generates, compiles, runs on the emulated core, compares with the interpreter.
fn check(f: &Function, tier: Tier, calls: &[Inputs]) -> Generated {
    let g = generate(f, tier).unwrap_or_else(|why| panic!("{}: {why}", f.name));
    let include = format!("-I{}", tensorize_emulation::include_dir().display());
    let text = &g.files[0].1;
    let got = run_c_with(f, &g.entry, text, calls, &[&include, "-pthread"]);
    for (call, got) in calls.iter().zip(got) {
        assert_same(
            &format!("{}\n{text}", f.name),
            g.tier,
            &got,
            &expected(f, call),
        );
    }
    g
}

/// Calls at sizes around those of the array, and with nothing to do.
fn vectors(f: &Function, tame: bool) -> Vec<Inputs> {
    let mut r = Random(3);
    [
        (0, 3),
        (-4, 1),
        (1, 1),
        (15, 4),
        (16, 17),
        (17, 33),
        (300, 5),
    ]
    .into_iter()
    .map(|(n, d)| {
        let sizes = [
            ("n", n),
            ("m", d),
            ("d", d),
            ("k", d),
            ("rows", n),
            ("cols", d),
            ("pitch", d + 3),
        ];
        call(f, &sizes, &mut r, tame)
    })
    .collect()
}

/// A kernel over vectors `a`, `b` of one type, into `out`.
fn elementwise(ty: &str, params: &str, nodes: &str) -> Function {
    let t = |line: &str| line.replace("[T]", &format!("tensor<n x {ty}>"));
    let body: String = nodes
        .lines()
        .map(|l| format!("  {}\n", t(l.trim())))
        .collect();
    function(&format!(
        "func @k(a: const ptr<{ty}>, b: const ptr<{ty}>, out: ptr<{ty}>, n: i32{params}) {{\n  \
         %0 = view a[#0] : tensor<n x {ty}>\n  %1 = view b[#0] : tensor<n x {ty}>\n{body}}}\n"
    ))
}

/// Every pair of bytes.
fn all_bytes(f: &Function, ty: ScalarType, sizes: &[(&str, i128)]) -> Inputs {
    let sizes = [&[("n", 65536)], sizes].concat();
    let mut c = call(f, &sizes, &mut Random(5), false);
    for (name, step) in [("a", 256), ("b", 1)] {
        let byte = |i: i128| Scalar::int(ty, i / step % 256);
        c.arrays.get_mut(name).unwrap().data = (0..65536).map(byte).collect();
    }
    c
}

#[test]
fn int8_matmul_is_exact() {
    let f = function(
        "func @matmul8(a: const ptr<i8>, b: const ptr<i8>, out: ptr<i32>, n: i32, m: i32, k: i32) {
  %0 = view a[#0*k + #1] : tensor<n x k x i8>
  %1 = convert %0 : tensor<n x k x i32>
  %2 = view b[#0*m + #1] : tensor<k x m x i8>
  %3 = convert %2 : tensor<k x m x i32>
  %4 = constant 0:i32 : tensor<i32>
  %5 = dot_general %1, %3, %4, contracting = [1 x 0] : tensor<n x m x i32>
  store out[#0*m + #1] = %5
}
",
    );
    let g = check(&f, Tier::Exact, &vectors(&f, false));
    assert_eq!(g.tier, Tier::Exact);
    golden("matmul8.gemmini.c", &g.files[0].1);
}

#[test]
fn operands_across_and_strided() {
    for (a, b) in [
        ("#1*n + #0", "#0*m + #1"),
        ("#0*k + #1", "#1*k + #0"),
        ("#1*n + #0", "#1*k + #0"),
        ("#0*k + #1", "#0*7*m + #1*7"),
    ] {
        let f = function(&format!(
            "func @matmul(a: const ptr<f32>, b: const ptr<f32>, out: ptr<f32>, n: i32, m: i32, k: i32) {{
  %0 = view a[{a}] : tensor<n x k x f32>
  %1 = view b[{b}] : tensor<k x m x f32>
  %2 = constant 0.0:f32 : tensor<f32>
  %3 = dot_general %0, %1, %2, contracting = [1 x 0] : tensor<n x m x f32>
  store out[#0*m + #1] = %3
}}
"
        ));
        let g = check(&f, Tier::Real, &vectors(&f, true));
        assert_eq!(g.tier, Tier::Real);
        assert!(generate(&f, Tier::Exact).is_err());
    }
}

/// What sums start from is added to the array's afterwards, which is another order.
#[test]
fn products_from_a_start() {
    for start in [
        "view c[#0*m + #1] : tensor<n x m x f32>",
        "constant 2.5:f32 : tensor<f32>",
    ] {
        let of_tensor = start.contains("c[");
        let c = if of_tensor { "c: const ptr<f32>, " } else { "" };
        let f = function(&format!(
            "func @matmul(a: const ptr<f32>, b: const ptr<f32>, {c}out: ptr<f32>, n: i32, m: i32, k: i32) {{
  %0 = view a[#0*k + #1] : tensor<n x k x f32>
  %1 = view b[#0*m + #1] : tensor<k x m x f32>
  %2 = {start}
  %3 = dot_general %0, %1, %2, contracting = [1 x 0] : tensor<n x m x f32>
  store out[#0*m + #1] = %3
}}
"
        ));
        let g = check(&f, Tier::Real, &vectors(&f, true));
        assert_eq!(g.tier, Tier::Real);
        assert!(generate(&f, Tier::Exact).is_err());
    }
}

#[test]
fn bytes_wrap() {
    for ty in [ScalarType::U8, ScalarType::I8] {
        let name = ty.name();
        let add = elementwise(name, "", "%2 = add %0, %1 : [T]\nstore out[#0] = %2");
        let g = check(&add, Tier::Exact, &[all_bytes(&add, ty, &[])]);
        assert!(!g.files[0].1.contains("tiled_resadd"));
        let subtract = elementwise(name, "", "%2 = subtract %0, %1 : [T]\nstore out[#0] = %2");
        check(&subtract, Tier::Exact, &[all_bytes(&subtract, ty, &[])]);
    }
}

#[test]
fn weighted_bytes_count_by_their_low_byte() {
    let f = elementwise(
        "ui8",
        ", s: ui8",
        "%2 = size s : tensor<i32>
         %3 = broadcast_in_dim %2, dimensions = [] : tensor<n x i32>
         %4 = convert %0 : tensor<n x i32>
         %5 = multiply %3, %4 : tensor<n x i32>
         %6 = size -s + 255 : tensor<i32>
         %7 = broadcast_in_dim %6, dimensions = [] : tensor<n x i32>
         %8 = convert %1 : tensor<n x i32>
         %9 = multiply %8, %7 : tensor<n x i32>
         %10 = add %5, %9 : tensor<n x i32>
         %11 = constant 255:i32 : tensor<i32>
         %12 = broadcast_in_dim %11, dimensions = [] : tensor<n x i32>
         %13 = subtract %12, %10 : tensor<n x i32>
         %14 = convert %13 : tensor<n x ui8>
         store out[#0] = %14",
    );
    let mut calls = vectors(&f, false);
    calls.push(all_bytes(&f, ScalarType::U8, &[("s", 77)]));
    calls.push(all_bytes(&f, ScalarType::U8, &[("s", 200)]));
    let g = check(&f, Tier::Exact, &calls);
    golden("weighted.gemmini.c", &g.files[0].1);
}

#[test]
fn words_add_modulo_their_width() {
    for ty in ["i32", "ui32"] {
        let f = elementwise(
            ty,
            ", v: i32",
            &format!(
                "%2 = add %0, %1 : [T]
                 %3 = size v : tensor<{ty}>
                 %4 = broadcast_in_dim %3, dimensions = [] : [T]
                 %5 = subtract %2, %4 : [T]
                 store out[#0] = %5"
            ),
        );
        check(&f, Tier::Exact, &vectors(&f, false));
    }
    let copy = function(
        "func @copy(a: const ptr<i32>, out: ptr<i32>, n: i32) {
  %0 = view a[#0] : tensor<n x i32>
  store out[#0] = %0
}
",
    );
    check(&copy, Tier::Exact, &vectors(&copy, false));
    // Bytes are widened by their sign on the way in.
    let widened = function(
        "func @widened(a: const ptr<i8>, b: const ptr<i32>, out: ptr<i32>, n: i32) {
  %0 = view a[#0] : tensor<n x i8>
  %1 = convert %0 : tensor<n x i32>
  %2 = view b[#0] : tensor<n x i32>
  %3 = add %1, %2 : tensor<n x i32>
  store out[#0] = %3
}
",
    );
    let g = check(&widened, Tier::Exact, &vectors(&widened, false));
    assert_eq!(g.split, None);
    // The accumulator has no subtraction, and a load of words no sign.
    let f = elementwise("i32", "", "%2 = subtract %0, %1 : [T]\nstore out[#0] = %2");
    assert!(generate(&f, Tier::Real).unwrap_err().contains("nothing"));
}

#[test]
fn float_sums_round_as_c_does() {
    let f = elementwise(
        "f32",
        ", s: f32",
        "%2 = param s : tensor<f32>
         %3 = broadcast_in_dim %2, dimensions = [] : [T]
         %4 = multiply %3, %0 : [T]
         %5 = subtract %4, %1 : [T]
         %6 = subtract %3, %5 : [T]
         %7 = negate %0 : [T]
         %8 = add %7, %5 : [T]
         %9 = add %8, %3 : [T]
         store out[#0] = %9",
    );
    let g = check(&f, Tier::Exact, &vectors(&f, false));
    assert_eq!(g.tier, Tier::Exact);
    golden("chain.gemmini.c", &g.files[0].1);
    let divided = elementwise(
        "f32",
        ", s: f32",
        "%2 = param s : tensor<f32>
         %3 = broadcast_in_dim %2, dimensions = [] : [T]
         %4 = divide %0, %3 : [T]
         %5 = add %4, %1 : [T]
         store out[#0] = %5",
    );
    let g = check(&divided, Tier::Real, &vectors(&divided, true));
    assert_eq!(
        g.tier,
        Tier::Real,
        "a multiplication with the inverse rounds twice"
    );
    let g = check(&divided, Tier::Exact, &vectors(&divided, false));
    assert!(g.files[0].1.contains("1 of 2 operators"));
}

#[test]
fn terms_of_sums() {
    for item in terms::all() {
        let tier = if item.has_floats {
            Tier::Real
        } else {
            Tier::Exact
        };
        check(&item.function, tier, &item.calls);
    }
}

#[test]
fn rows_with_a_pitch_and_in_place() {
    let f = function(
        "func @k(a: ptr<f32>, b: const ptr<f32>, rows: i32, cols: i32, pitch: i64) {
  %0 = view a[#0*pitch + #1] : tensor<rows x cols x f32>
  %1 = view b[#0*cols + #1] : tensor<rows x cols x f32>
  %2 = add %0, %1 : tensor<rows x cols x f32>
  store a[#0*pitch + #1] = %2
}
",
    );
    let mut calls = vectors(&f, false);
    // What the moves can't take, the core computes.
    for pitch in [-7, 0, 1 << 40] {
        let sizes = [("rows", 1), ("cols", 9), ("pitch", pitch)];
        calls.push(call(&f, &sizes, &mut Random(12), false));
    }
    let g = check(&f, Tier::Exact, &calls);
    assert!(
        g.files[0]
            .1
            .contains("k__on_core(a, b, rows, cols, pitch);")
    );
    let shifted = function(
        "func @k(a: ptr<i32>, b: const ptr<i32>, n: i32) {
  %0 = view a[#0 + 1] : tensor<n x i32>
  %1 = view b[#0] : tensor<n x i32>
  %2 = add %0, %1 : tensor<n x i32>
  store a[2*#0] = %2
}
",
    );
    // What is read may have been overwritten before: neither the core nor the array can do it.
    assert!(generate(&shifted, Tier::Real).is_err());
}

#[test]
fn totals() {
    for (ty, start, tier) in [
        ("i32", "7:i32", Tier::Exact),
        ("f32", "0.5:f32", Tier::Real),
    ] {
        for view in ["a[#0]", "a[#0*3]"] {
            let f = function(&format!(
                "func @total(a: const ptr<{ty}>, n: i32) {{
  %0 = view {view} : tensor<n x {ty}>
  %1 = constant {start} : tensor<{ty}>
  %2 = reduce %0, %1, reducer = add, dimensions = [0] : tensor<{ty}>
  return %2
}}
"
            ));
            check(&f, tier, &vectors(&f, true));
        }
    }
}

#[test]
fn what_the_array_cannot_do_stays_on_the_core() {
    for name in ["screen", "softmax"] {
        let f = summary(name);
        let g = check(&f, Tier::Real, &vectors(&f, true));
        assert!(
            g.files[0].1.contains("the core the rest"),
            "{}",
            g.files[0].1
        );
        golden(&format!("{name}.gemmini.c"), &g.files[0].1);
    }
}

#[test]
fn too_small_a_share_is_refused() {
    let f = elementwise(
        "f32",
        "",
        "%2 = multiply %0, %1 : [T]
         %3 = multiply %2, %1 : [T]
         %4 = add %3, %0 : [T]
         store out[#0] = %4",
    );
    let why = generate(&f, Tier::Real).unwrap_err();
    assert!(why.contains("1 of 3 operators"), "{why}");
    let eager = Gemmini {
        least_share: 0.3,
        ..Gemmini::new()
    };
    assert!(try_generate(&eager, &f, Tier::Real, &[]).is_ok());
}

#[test]
fn names_of_the_header_may_be_parameters() {
    let f = function(
        "func @k(DIM: const ptr<f32>, OS: ptr<f32>, terms: i32, gemmini_gain: f32) {
  %0 = view DIM[#0] : tensor<terms x f32>
  %1 = param gemmini_gain : tensor<f32>
  %2 = broadcast_in_dim %1, dimensions = [] : tensor<terms x f32>
  %3 = multiply %0, %2 : tensor<terms x f32>
  %4 = exponential %3 : tensor<terms x f32>
  store OS[#0] = %4
}
",
    );
    let mut r = Random(8);
    let calls = [call(&f, &[("terms", 21)], &mut r, true)];
    check(&f, Tier::Real, &calls);
}
