//! The `cpu` target: what it prints, and what that computes.

mod common;

use common::native::{Failed, run_c, run_c_with, try_c};
use common::{
    CHAIN, Random, assert_same, call, chain_with_its_first_product, depth, expected, generate,
    golden, summary, vectors,
};
use tensorize_backends::cpu::CPU;
use tensorize_ir::guard::Tier;
use tensorize_ir::loopir::interp::Program;
use tensorize_ir::memory::{Buffer, Inputs, Outputs};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Function;

/// Generates, compiles, runs, compares with the interpreter.
fn check(f: &Function, tier: Tier, calls: &[Inputs]) -> String {
    let generated = generate(&CPU, f, tier);
    let text = &generated.files[0].1;
    let loops = generated.loopir.as_ref().unwrap();
    loops
        .validate()
        .unwrap_or_else(|e| panic!("{}: {e}\n{loops}", f.name));
    let program = Program::new(loops).unwrap();
    for call in calls {
        let mut after = call.clone();
        let returned = program.run(&mut after, 10_000_000);
        let returned = returned.unwrap_or_else(|e| panic!("{}: {e:?}\n{loops}", f.name));
        let got = Outputs {
            arrays: after.arrays,
            returned,
        };
        assert_same(&f.name, generated.tier, &got, &expected(f, call));
    }
    let got = run_c(f, &generated.entry, text, calls);
    for (call, got) in calls.iter().zip(got) {
        assert_same(&f.name, generated.tier, &got, &expected(f, call));
    }
    if text.contains("omp parallel") {
        let team = for_small_teams(text);
        let got = run_c_with(f, &generated.entry, &team, calls, &["-fopenmp"]);
        for (call, got) in calls.iter().zip(got) {
            assert_same(&f.name, generated.tier, &got, &expected(f, call));
        }
    }
    text.clone()
}

/// The same code, but several threads work on few elements already.
fn for_small_teams(text: &str) -> String {
    let few = text.replace("(rounds) > 1048576 / (bytes)", "(rounds) > 2");
    assert_ne!(
        few, text,
        "the size at which a team is worth it is another one"
    );
    few
}

fn images(f: &Function) -> Vec<Inputs> {
    let mut r = Random(7);
    [(0, 0), (1, 1), (3, 5), (-1, 4), (17, 33)]
        .into_iter()
        .map(|(rows, cols)| call(f, &[("rows", rows), ("cols", cols)], &mut r, false))
        .collect()
}

#[test]
fn screen() {
    let f = summary("screen");
    golden("screen.cpu.c", &check(&f, Tier::Real, &images(&f)));
}

#[test]
fn darken() {
    let f = summary("darken");
    golden("darken.cpu.c", &check(&f, Tier::Real, &images(&f)));
}

#[test]
fn stores_under_a_condition_stay_conditional() {
    let f = summary("burn");
    golden("burn.cpu.c", &check(&f, Tier::Real, &images(&f)));
}

#[test]
fn rows_in_place() {
    let f = summary("center_rows");
    let calls: Vec<_> = images(&f)
        .into_iter()
        .filter(|c| c.size("rows") != Some(-1))
        .collect();
    check(&f, Tier::Exact, &calls);
}

#[test]
fn matvec() {
    let f = summary("matvec");
    golden(
        "matvec.exact.cpu.c",
        &check(&f, Tier::Exact, &vectors(&f, false)),
    );
    golden(
        "matvec.real.cpu.c",
        &check(&f, Tier::Real, &vectors(&f, true)),
    );
}

/// Rows that accumulate go eight at a time, and what is left of them alone.
#[test]
fn rows_side_by_side() {
    const SIZES: [(i128, i128); 8] = [
        (0, 3),
        (1, 4),
        (7, 5),
        (8, 0),
        (8, 1),
        (9, 33),
        (16, 8),
        (43, 17),
    ];
    let vector = "%x = view x[#0] : tensor<n x f32>\n\
         %s = dot_general %a, %x, %zero, contracting = [1 x 0]\n";
    let of_each = "%x = view x[#0] : tensor<m x f32>\n\
         %xs = broadcast_in_dim %x, dimensions = [0] : tensor<m x n x f32>\n\
         %d = subtract %a, %xs\n\
         %t = reduce %d, %zero, reducer = add, dimensions = [1]\n\
         %s = multiply %t, %x\n";
    for text in [vector, of_each] {
        let f: Function = format!(
            "func @f(a: const ptr<f32>, x: const ptr<f32>, out: ptr<f32>, m: i32, n: i32) {{\n\
             %a = view a[#0*n + #1] : tensor<m x n x f32>\n%zero = constant 0.0:f32\n\
             {text}store out[#0] = %s\n}}"
        )
        .parse()
        .unwrap_or_else(|e| panic!("{text}: {e}"));
        let mut r = Random(11);
        let calls = SIZES.map(|(m, n)| call(&f, &[("m", m), ("n", n)], &mut r, true));
        let c = check(&f, Tier::Real, &calls);
        assert!(c.contains("begin += 8"), "{c}");
        let c = check(&f, Tier::Exact, &calls);
        assert!(!c.contains("begin += 8"), "{c}");
    }
}

#[test]
fn matmul() {
    let f = summary("matmul");
    golden("matmul.cpu.c", &check(&f, Tier::Exact, &vectors(&f, false)));
}

/// `alpha*A*B + beta*C`, as BLAS has it, in each of the ways to write it, is one call of the library.
#[test]
fn products_that_are_scaled_and_added() {
    let f = summary("gemm");
    let text = check(&f, Tier::Real, &vectors(&f, true));
    assert!(text.contains(", 1, alpha, beta)"), "{text}");
    assert!(!check(&f, Tier::Exact, &vectors(&f, true)).contains("TZ_GEMM"));

    let names = [
        ("%c", "%c = view c[#0*n + #1] : tensor<m x n x f64>\n"),
        ("%d", "%d = view d[#0*n + #1] : tensor<m x n x f64>\n"),
        ("%alpha", "%alpha = param alpha : tensor<f64>\n"),
        (
            "%halves",
            "%half = constant 0.5:f64\n%halves = broadcast_in_dim %half, dimensions = [] : tensor<m x n x f64>\n",
        ),
        (
            "%ab",
            "%ab = dot_general %a, %b, %zero, contracting = [1 x 0]\n",
        ),
    ];
    let views = "%a = view a[#0*k + #1] : tensor<m x k x f64>\n\
         %b = view b[#0*n + #1] : tensor<k x n x f64>\n%zero = constant 0.0:f64\n";
    let cases = [
        ("%r = add %c, %ab", Some("1.0, 1.0")),
        ("%r = multiply %ab, %halves", Some("0.5, 0.0")),
        (
            "%old = multiply %c, %halves\n%r = add %old, %ab",
            Some("1.0, 0.5"),
        ),
        (
            "%as = broadcast_in_dim %alpha, dimensions = [] : tensor<m x k x f64>\n%sa = multiply %as, %a\n\
             %sab = dot_general %sa, %b, %zero, contracting = [1 x 0]\n%old = multiply %c, %halves\n\
             %r = add %sab, %old",
            Some("alpha, 0.5"),
        ),
        // What stands somewhere else comes on top of the product.
        ("%r = add %ab, %d", Some("1.0, 0.0")),
        (
            "%r = dot_general %a, %b, %d, contracting = [1 x 0]",
            Some("1.0, 0.0"),
        ),
        ("%r = multiply %ab, %d", Some("1.0, 0.0")),
        // What is made of what is there is no multiple of it, or of another form.
        ("%square = multiply %c, %c\n%r = add %ab, %square", None),
        ("%r = subtract %ab, %c", None),
        (
            "%abd = multiply %ab, %d\n%two = dot_general %a, %b, %d, contracting = [1 x 0]\n%r = add %abd, %two",
            None,
        ),
    ];
    for (text, expected) in cases {
        let used = names.iter().filter(|(name, _)| text.contains(name));
        let used: String = used.map(|(_, line)| *line).collect();
        let d = if text.contains("%d") {
            "d: const ptr<f64>, "
        } else {
            ""
        };
        let alpha = if text.contains("%alpha") {
            "alpha: f64, "
        } else {
            ""
        };
        let f: Function = format!(
            "func @f(a: const ptr<f64>, b: const ptr<f64>, c: ptr<f64>, {d}{alpha}m: i32, n: i32, k: i32) {{\n\
             {views}{used}{text}\nstore c[#0*n + #1] = %r\n}}"
        )
        .parse()
        .unwrap_or_else(|e| panic!("{text}: {e}"));
        let c = check(&f, Tier::Real, &vectors(&f, true));
        match expected {
            Some(scales) => assert!(c.contains(&format!(", 1, {scales})")), "{text}\n{c}"),
            None => assert!(!c.contains("TZ_GEMM(f64"), "{text}\n{c}"),
        }
    }
}

/// What a product is made into has another type, or is not made everywhere: it has no place to stand in by itself.
#[test]
fn products_that_have_no_place() {
    let cases = [
        ("f64", "%r = convert %ab : tensor<m x n x f64>"),
        (
            "ui8",
            "%zeros = broadcast_in_dim %zero, dimensions = [] : tensor<m x n x f32>\n\
             %above = compare GT, %ab, %zeros\n%r = convert %above : tensor<m x n x ui8>",
        ),
        (
            "f32",
            "%some = view on[#0] : tensor<m x i1>\n%on = broadcast_in_dim %some, dimensions = [0] : tensor<m x n x i1>\n\
             %zeros = broadcast_in_dim %zero, dimensions = [] : tensor<m x n x f32>\n%r = select %on, %ab, %zeros",
        ),
    ];
    for (elem, text) in cases {
        let on = match text.contains("on[") {
            true => "on: const ptr<i1>, ",
            false => "",
        };
        let f: Function = format!(
            "func @f(a: const ptr<f32>, b: const ptr<f32>, {on}c: ptr<{elem}>, m: i32, n: i32, k: i32) {{\n\
             %a = view a[#0*k + #1] : tensor<m x k x f32>\n%b = view b[#0*n + #1] : tensor<k x n x f32>\n\
             %zero = constant 0.0:f32 : tensor<f32>\n%ab = dot_general %a, %b, %zero, contracting = [1 x 0]\n\
             {text}\nstore c[#0*n + #1] = %r\n}}"
        )
        .parse()
        .unwrap_or_else(|e| panic!("{text}: {e}"));
        let c = check(&f, Tier::Real, &vectors(&f, true));
        assert!(!c.contains("TZ_GEMM(f32"), "{c}");
    }
}

/// Operands with rows or columns first, with steps, in a batch, and on top of what is there.
#[test]
fn products_of_any_layout() {
    let layouts = [
        ("a[#0*k + #1]", "b[#0*n + #1]", "c[#0*n + #1]"),
        ("a[#1*m + #0]", "b[#1*k + #0]", "c[#1*m + #0]"),
        (
            "a[2*#0*k + 2*#1 + 1]",
            "b[2*#1*k + 2*#0]",
            "c[3*#0*n + 3*#1 + n]",
        ),
    ];
    let mut texts: Vec<String> = Vec::new();
    for (a, b, c) in layouts {
        texts.push(format!(
            "%0 = view {a} : tensor<m x k x f64>\n\
             %1 = view {b} : tensor<k x n x f64>\n\
             %2 = constant 0.0:f64 : tensor<f64>\n\
             %3 = dot_general %0, %1, %2, contracting = [1 x 0] : tensor<m x n x f64>\n\
             store {c} = %3\n"
        ));
        texts.push(format!(
            "%0 = view {a} : tensor<m x k x f64>\n\
             %1 = broadcast_in_dim %0, dimensions = [0, 2] : tensor<m x n x k x f64>\n\
             %2 = view {b} : tensor<k x n x f64>\n\
             %3 = transpose %2, permutation = [1, 0] : tensor<n x k x f64>\n\
             %4 = broadcast_in_dim %3, dimensions = [1, 2] : tensor<m x n x k x f64>\n\
             %5 = multiply %1, %4 : tensor<m x n x k x f64>\n\
             %6 = view {c} : tensor<m x n x f64>\n\
             %7 = reduce %5, %6, reducer = add, dimensions = [2] : tensor<m x n x f64>\n\
             store {c} = %7\n"
        ));
    }
    texts.push(
        "%0 = view a[#0*m*k + #1*k + #2] : tensor<7 x m x k x f64>\n\
         %1 = view b[#0*k*n + #1*n + #2] : tensor<7 x k x n x f64>\n\
         %2 = constant 0.0:f64 : tensor<f64>\n\
         %3 = dot_general %0, %1, %2, batch = [0 x 0], contracting = [2 x 1] : tensor<7 x m x n x f64>\n\
         store c[#0*m*n + #1*n + #2] = %3\n"
            .into(),
    );
    for text in texts {
        let f: Function = format!(
            "func @product(a: const ptr<f64>, b: const ptr<f64>, c: ptr<f64>, m: i32, n: i32, k: i32) {{\n{text}}}\n"
        )
        .parse()
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
        let text = check(&f, Tier::Real, &vectors(&f, true));
        assert!(text.contains("if (!TZ_GEMM(f64, "), "{text}");
        let text = check(&f, Tier::Exact, &vectors(&f, true));
        assert!(!text.contains("TZ_GEMM"), "{text}");
    }
}

#[test]
fn softmax() {
    let f = summary("softmax");
    golden("softmax.cpu.c", &check(&f, Tier::Real, &vectors(&f, true)));
    let exact = check(&f, Tier::Exact, &vectors(&f, true));
    assert!(!exact.contains("TZ_VECTORS"), "{exact}");
}

#[test]
fn integer_sums_are_exact() {
    let f = summary("dot16");
    let text = check(&f, Tier::Exact, &vectors(&f, true));
    assert!(text.contains("reduction(+:acc)"), "{text}");
}

/// gcc 12, told that nobody looks for floating-point exceptions, makes -0 of what lies between -1 and 0.
#[test]
fn what_was_an_integer_is_no_negative_zero() {
    let f: Function = "func @whole(x: const ptr<f32>, y: ptr<f32>, n: i32) {
          %0 = view x[#0] : tensor<n x f32>
          %1 = convert %0 : tensor<n x i32>
          %2 = convert %1 : tensor<n x f32>
          store y[#0] = %2
        }"
    .parse()
    .unwrap();
    let mut call = call(&f, &[("n", 100)], &mut Random(3), true);
    let x = call.arrays.get_mut("x").unwrap();
    x.data.fill(tensorize_ir::scalar::Scalar::f32(-0.5));
    check(&f, Tier::Exact, &[call]);
}

/// The number of rounds is a quotient that rounds down: C has a conditional expression for that.
#[test]
fn a_quotient_of_rounds_is_shared_among_threads() {
    let f: Function = "func @halve(x: const ptr<ui8>, y: ptr<ui8>, w: i32) {
          %0 = view x[2*#0] : tensor<(floordiv(w, 2)) x ui8>
          store y[#0] = %0
        }"
    .parse()
    .unwrap();
    let mut r = Random(5);
    let calls: Vec<Inputs> = [-3, 0, 1, 7, 8, 201]
        .map(|w| call(&f, &[("w", w)], &mut r, false))
        .into();
    let text = check(&f, Tier::Exact, &calls);
    assert!(
        text.contains("omp parallel") && text.contains(" ? "),
        "{text}"
    );
}

#[test]
fn results_that_read_each_other() {
    let f = summary("swap_scaled");
    check(&f, Tier::Exact, &vectors(&f, false));
}

/// What a number is set to is used as well, and so is what it was before.
#[test]
fn a_number_is_read_before_it_is_set() {
    let text = "func @f(x: const ptr<f64>, s: ptr<f64>, q: ptr<f64>, n: i32) {
       %new = generic add(x[n - 1], 1.0:f64) : tensor<f64>
       %q = generic subtract(q[0], subtract(add(x[n - 1], 1.0:f64), s[0])) : tensor<f64>
       store s[0] = %new
       store q[0] = %q
     }";
    let f: Function = text.parse().unwrap();
    check(&f, Tier::Exact, &vectors(&f, false));
}

#[test]
fn results_wait_for_what_is_still_to_be_read() {
    let f = summary("overlapping");
    let calls = vectors(&f, false);
    let text = check(&f, Tier::Exact, &calls);
    golden("overlapping.cpu.c", &text);
    // Without memory, nothing is touched.
    let none = text
        .replace("malloc(", "(void)(")
        .replace(" : NULL", ", NULL : NULL");
    let asked = try_c(&f, "overlapping__tensorize_cpu", &none, &calls, &[]);
    assert!(matches!(asked, Err(Failed::NotRun(_))), "{none}");
}

#[test]
fn shapes_and_index_notation() {
    for name in ["shapes", "notation"] {
        let f = summary(name);
        check(&f, Tier::Exact, &vectors(&f, false));
    }
}

/// Where it is known that neither the dividend nor the divisor is negative, a place that goes round is a remainder, and nothing
/// more; where that isn't known, it has the divisor's sign.
#[test]
fn places_that_go_round_are_remainders() {
    let f = |rows: &str, more: &str| -> Function {
        let text = format!(
            "func @f(a: const ptr<i32>, b: ptr<i32>, n: i32{more}) {{
               %a = view a[#0 + n - 1 - n*floordiv(#0 + n - 1, n)] : tensor<({rows}) x i32>
               store b[#0] = %a
             }}"
        );
        text.parse().unwrap()
    };
    let calls = |f: &Function| -> Vec<Inputs> {
        let mut r = Random(11);
        let sizes = [(1, 3), (2, -1), (7, 2), (40, 1)];
        let one = |(n, m)| {
            let mut inputs = call(f, &[("n", n), ("m", m)], &mut r, false);
            let all = (0..n).map(|_| r.scalar(ScalarType::I32)).collect();
            let all = Buffer::new(ScalarType::I32, all);
            inputs.arrays.insert("a".into(), all);
            inputs
        };
        sizes.into_iter().map(one).collect()
    };
    let known = f("n", "");
    let text = check(&known, Tier::Exact, &calls(&known));
    assert!(text.contains("rem_i64("), "{text}");
    assert!(
        !text.contains("div_i64(") && !text.contains(" < 0"),
        "{text}"
    );
    // Of m rounds nothing is known of n.
    let unknown = f("max(0, min(m, 3))", ", m: i32");
    let text = check(&unknown, Tier::Exact, &calls(&unknown));
    assert!(text.contains("rem_i64(") && text.contains(" < 0"), "{text}");
}

/// What is computed in a loop that does not look at it is computed before, into memory or into a result that is the same.
#[test]
fn nothing_is_computed_again_and_again() {
    let own = CHAIN.replace("OUT ", "").replace("STORE", "");
    let stored = chain_with_its_first_product();
    // All of a row is there before any of it is read.
    let shares = CHAIN
        .replace("c: const ptr<f64>, OUT ", "")
        .replace(
            "%4 = view c[#0*l + #1] : tensor<m x l x f64>",
            "%4 = reduce %3, %2, reducer = add, dimensions = [1] : tensor<n x f64>",
        )
        .replace(
            "%5 = dot_general %3, %4, %2, contracting = [1 x 0] : tensor<n x l x f64>",
            "%5 = broadcast_in_dim %4, dimensions = [0] : tensor<n x m x f64>",
        )
        .replace("STORE", "%6 = divide %3, %5 : tensor<n x m x f64>")
        .replace("d[#0*l + #1] = %5", "d[#0*m + #1] = %6");
    for (text, has_memory) in [(own, true), (stored, false), (shares, true)] {
        let f: Function = text.parse().unwrap();
        let mut r = Random(3);
        let sizes = [
            (0, 1, 2),
            (1, 0, 2),
            (2, 1, 0),
            (1, 1, 1),
            (7, 9, 11),
            (-1, 3, 2),
        ];
        let calls: Vec<Inputs> = (sizes.iter())
            .map(|&(n, m, l)| call(&f, &[("n", n), ("m", m), ("l", l)], &mut r, false))
            .collect();
        for tier in [Tier::Exact, Tier::Real] {
            let text = check(&f, tier, &calls);
            assert_eq!(text.contains("tz_memory"), has_memory, "{text}");
            let loops = generate(&CPU, &f, tier).loopir.unwrap();
            assert_eq!(depth(&loops.body), 3, "{loops}");
        }
    }
}

/// Rows that no data asks for are not even looked at.
#[test]
fn what_depends_on_data_is_not_kept() {
    let f: Function = "
        func @some(x: const ptr<i32>, row: const ptr<i32>, out: ptr<i32>, n: i32, m: i32) {
          %0 = generic fold(acc = 0:i32, k < n, select(compare(GE, row[k], 0:i32), add(acc, multiply(fold(s = 0:i32, j < m, add(s, x[value(row[k])*m + j])), row[#0])), acc)) : tensor<n x i32>
          store out[#0] = %0
        }"
    .parse()
    .unwrap();
    let ints = |values: &[i128]| {
        let values = values.iter().map(|&v| Scalar::int(ScalarType::I32, v));
        Buffer::new(ScalarType::I32, values.collect())
    };
    let inputs = Inputs::default()
        .array("x", ints(&[1, 2, 3, 4]))
        .array("row", ints(&[1, -7, 0]))
        .array("out", ints(&[0, 0, 0]))
        .scalar("n", Scalar::int(ScalarType::I32, 3))
        .scalar("m", Scalar::int(ScalarType::I32, 2));
    let text = check(&f, Tier::Exact, &[inputs]);
    assert!(!text.contains("tz_memory"), "{text}");
}

/// A sum that some data asks for, as a rule once; and sums that grow along a result and against it.
#[test]
fn sums_are_not_begun_again() {
    let weighed = "
        func @weighed(x: const ptr<i32>, n: i32) {
          %0 = generic fold(e = 0:i32, k < n, select(compare(LT, 0:i32, x[k]), add(e, multiply(x[k], fold(t = 1:i32, j < n, add(t, x[j])))), e)) : tensor<i32>
          return %0
        }";
    let both_ways = "
        func @both_ways(x: const ptr<i32>, out: ptr<i32>, n: i32) {
          %0 = generic add(fold(s = 0:i32, k < #0 + 1, add(multiply(s, 3:i32), x[k])), fold(t = 7:i32, j < n - #0, add(multiply(t, 5:i32), x[n - 1 - j]))) : tensor<n x i32>
          store out[#0] = %0
        }";
    // The last of the rows returned is computed before the rows are overwritten.
    let returned = "
        func @returned(x: ptr<i32>, n: i32) {
          %0 = generic fold(e = 0:i32, k < n, add(e, select(compare(LT, 0:i32, x[k]), fold(t = 0:i32, j < n, add(t, x[j])), x[k]))) : tensor<i32>
          %1 = generic multiply(x[#0], 2:i32) : tensor<n x i32>
          store x[#0] = %1
          return %0
        }";
    for text in [weighed, both_ways, returned] {
        let f: Function = text.parse().unwrap();
        let mut r = Random(5);
        let calls: Vec<Inputs> = [0, 1, 2, 9, -1]
            .into_iter()
            .map(|n| call(&f, &[("n", n)], &mut r, false))
            .collect();
        let text = check(&f, Tier::Exact, &calls);
        assert!(text.contains("tz_memory"), "{text}");
        let loops = generate(&CPU, &f, Tier::Exact).loopir.unwrap();
        assert_eq!(depth(&loops.body), 1, "{loops}");
    }
}
