//! The one loop does what the loops in branches do, or there is none.

use super::in_one_loop;
use tensorize_ir::loopir::interp::run;
use tensorize_ir::loopir::{Function, Stmt};
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::{Scalar, ScalarType};

const I32: ScalarType = ScalarType::I32;

/// A kernel of this body; `m` is the mode.
fn kernel(body: &str) -> Function {
    let text = format!("i32 f(i32 *x, i32 n, i32 m) {{\n  i32 k = 0;\n{body}  return k;\n}}\n");
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn up_to(counter: &str, end: &str, step: &str, round: &str) -> String {
    format!(
        "i32 {counter} = 0;\nwhile ({counter} < {end}) {{\n{round}\n{counter} = {counter} + {step};\n}}\n"
    )
}

/// `if (c) a else b`
fn either(c: &str, a: &str, b: &str) -> String {
    match b {
        "" => format!("if ({c}) {{\n{a}}}\n"),
        _ => format!("if ({c}) {{\n{a}}} else {{\n{b}}}\n"),
    }
}

fn numbered(text: &str) -> String {
    let mut number = 0;
    let mut out = String::new();
    for part in text.split("while (") {
        if !out.is_empty() {
            out += &format!("while #{number} (");
            number += 1;
        }
        out += part;
    }
    out
}

#[test]
fn one_loop_does_what_each_did() {
    let keep = |i: &str| format!("if (x[{i}] > k) {{\nx[k] = x[{i}];\nk = k + 1;\n}}");
    let add = |i: &str| format!("k = k + x[{i}];");
    let (a, b) = (
        up_to("i", "n", "1", &keep("i")),
        up_to("j", "n", "1", &add("j")),
    );
    let third = up_to("l", "n", "1", "k = k * 2;");
    let same = up_to("i", "n", "1", &add("i")).replace("i32 i =", "i =");
    let shared = format!(
        "i32 i = 0;\n{}",
        either("m > 1", &same, &same.replace("k +", "k -"))
    );
    for body in [
        either("m > 1", &a, &b),
        either("m > 1", &a, ""),
        either(
            "m == 0",
            &a,
            &either("m == 1", &b, &either("m == 2", &third, "")),
        ),
        either(
            "m > 1",
            &up_to("i", "n", "2", &keep("i")),
            &up_to("j", "n", "2", &add("j")),
        ),
        shared,
    ] {
        let f = kernel(&numbered(&body));
        let one = in_one_loop(&f).unwrap_or_else(|| panic!("{f}"));
        let loops = one.body.iter().filter(|s| matches!(s, Stmt::Loop(_)));
        assert_eq!(loops.count(), 1, "{one}");
        for (n, m) in (-1..6).flat_map(|n| (-1..4).map(move |m| (n, m))) {
            let data = [2, 7, 1, 9, 3, 4].map(|v| Scalar::int(I32, v)).to_vec();
            let mut inputs = Inputs::default();
            inputs.arrays.insert("x".into(), Buffer::new(I32, data));
            for (name, v) in [("n", n), ("m", m)] {
                inputs.scalars.insert(name.into(), Scalar::int(I32, v));
            }
            let (mut now, mut then) = (inputs.clone(), inputs);
            let results = [run(&f, &mut then, 1000), run(&one, &mut now, 1000)];
            assert_eq!(results[0], results[1], "{f}{one}: n = {n}, m = {m}");
            assert_eq!(now.arrays, then.arrays, "{f}{one}: n = {n}, m = {m}");
        }
    }
}

#[test]
fn what_is_not_the_same_stays_apart() {
    let add = |i: &str| format!("k = k + x[{i}];");
    let a = up_to("i", "n", "1", &add("i"));
    let b = |end, step| up_to("j", end, step, &add("j"));
    for body in [
        // Other rounds.
        either("m > 1", &a, &b("n - 1", "1")),
        either("m > 1", &a, &b("n", "2")),
        either("m > 1", &a, &b("n", "1").replace("j = 0", "j = 1")),
        // The mode is another one later on.
        either("m > k", &a, &b("n", "1")),
        either("x[0] > 1", &up_to("i", "n", "1", "x[i] = 0;"), &b("n", "1")),
        // Where one ended is looked at.
        format!(
            "i32 i = 7;\n{}k = k + i;\n",
            either("m > 1", &a.replace("i32 i", "i"), &b("n", "1"))
        ),
        format!(
            "i32 j = 7;\n{}k = k + j;\n",
            either("m > 1", &a, &b("n", "1").replace("i32 j", "j"))
        ),
        format!(
            "i32 i = 7;\n{}k = k + i;\n",
            either("m > 1", &a.replace("i32 i", "i"), "")
        ),
        // One that may not end, or in which something may be undefined, where there was none.
        either("m > 1", &up_to("i", "n", "m", &add("i")), ""),
        either("m > 1", &up_to("i", "n / m", "1", &add("i")), ""),
        either("m > 1", &a.replace("i = 0", "i = n / m"), ""),
    ] {
        let f = kernel(&numbered(&body));
        let one = in_one_loop(&f);
        assert!(one.is_none(), "{f}{}", one.unwrap());
    }
}
