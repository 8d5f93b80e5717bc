//! Results of which the data says where each round goes: each operator on each type, and the ways that places and rounds
//! can be said in.

use super::corpus::Item;
use super::{Random, call};
use tensorize_ir::memory::Inputs;
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Function;

/// Rounds, and places.
const SIZES: [(i128, i128); 3] = [(0, 3), (9, 4), (40, 7)];

pub fn all() -> Vec<Item> {
    let mut all = Vec::new();
    // A framework has these for all integers, or for none.
    use ScalarType::{F32, I1, I16, I64, U8};
    for ty in [I1, U8, I16, I64, F32] {
        for (name, op) in operators(ty) {
            let text = of(
                ty,
                "tensor<n x T>",
                "index_compare(EQ, value(g[k]), #0)",
                &op,
            );
            all.push(item(format!("scatter {ty} by {name}"), &text, ty));
        }
    }
    let ty = ScalarType::I32;
    let plain = "add(acc, x[k])";
    for (name, shape, condition, value) in [
        // Two numbers say where; only some rounds go anywhere; the rest is a row.
        (
            "at two numbers",
            "tensor<n x n x T>",
            "and(index_compare(EQ, value(g[k]), #0), index_compare(EQ, value(h[k]), #1))",
            plain,
        ),
        (
            "under a condition",
            "tensor<n x T>",
            "and(index_compare(EQ, value(g[k]), #0), compare(GT, h[k], 1:i32))",
            plain,
        ),
        (
            "of rows",
            "tensor<n x 3 x T>",
            "index_compare(EQ, value(g[k]), #0)",
            "add(acc, multiply(x[k], v[#1]))",
        ),
        (
            "subtracted",
            "tensor<n x T>",
            "index_compare(EQ, value(g[k]), #0)",
            "subtract(acc, x[k])",
        ),
    ] {
        all.push(item(
            format!("scatter {name}"),
            &of(ty, shape, condition, value),
            ty,
        ));
    }
    // Rounds within rounds.
    let inner = "fold(two = acc, l < 2, select(index_compare(EQ, value(g[k]), #0), add(two, multiply(x[k], index(i32, l + 3))), two))";
    let text = function(
        ty,
        "tensor<n x T>",
        &format!("fold(acc = out[#0], k < m, {inner})"),
    );
    all.push(item("scatter in nested rounds".into(), &text, ty));
    all
}

/// What a round makes of what is there and its own number.
fn operators(ty: ScalarType) -> Vec<(&'static str, String)> {
    let mut all = vec![("last", "x[k]".to_string())];
    let mut by = |names: &[&'static str]| {
        all.extend(
            names
                .iter()
                .map(|name| (*name, format!("{name}(acc, x[k])"))),
        );
    };
    match ty {
        ScalarType::I1 => {}
        ty if ty.is_float() => by(&["add", "multiply"]),
        _ => by(&["add", "multiply", "maximum", "minimum", "and", "or", "xor"]),
    }
    all
}

fn of(ty: ScalarType, shape: &str, condition: &str, value: &str) -> String {
    let step = format!("select({condition}, {value}, acc)");
    let at = ["#0", "n*#0 + #1", "3*#0 + #1"][match shape {
        "tensor<n x n x T>" => 1,
        "tensor<n x 3 x T>" => 2,
        _ => 0,
    }];
    function(ty, shape, &format!("fold(acc = out[{at}], k < m, {step})"))
}

fn function(ty: ScalarType, shape: &str, element: &str) -> String {
    let t = ty.name();
    let at = element
        .split("out[")
        .nth(1)
        .and_then(|e| e.split(']').next());
    let (at, shape) = (at.unwrap_or("#0"), shape.replace('T', t));
    format!(
        "func @f(x: const ptr<{t}>, v: const ptr<{t}>, g: const ptr<i32>, h: const ptr<i32>, out: ptr<{t}>, n: i32, m: i32) {{
           %r = generic {element} : {shape}
           store out[{at}] = %r
         }}"
    )
}

fn item(name: String, text: &str, ty: ScalarType) -> Item {
    let function: Function = text.parse().unwrap_or_else(|e| panic!("{e}: {text}"));
    let mut random = Random(11);
    let each = SIZES.into_iter().map(|(m, n)| {
        let mut inputs = call(&function, &[("n", n), ("m", m)], &mut random, ty.is_float());
        places(&mut inputs, n, &mut random);
        inputs
    });
    let calls = each.collect();
    Item::new(name, function, calls)
}

/// Most are places that there are; each is there several times, with different numbers.
fn places(inputs: &mut Inputs, n: i128, random: &mut Random) {
    for name in ["g", "h"] {
        if let Some(b) = inputs.arrays.get_mut(name) {
            for v in &mut b.data {
                let place = i128::from(random.next()) % (n + 2) - 1;
                *v = Scalar::int(ScalarType::I32, place);
            }
        }
    }
}
