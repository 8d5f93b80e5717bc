//! Sums of terms as a Gemmini core adds them: scaled, negated, weighted, of words, of bytes, in total.

use super::corpus::Item;
use super::{Random, call};
use tensorize_ir::tensir::Function;

/// The type of the elements, further parameters, and nodes over `%a` and `%b` of that type that end in `%r`.
const SUMS: [(&str, &str, &str); 9] = [
    (
        "f32",
        ", s: f32",
        "%k = param s : tensor<[E]>\n%w = broadcast_in_dim %k, dimensions = [] : [T]\n%x = multiply %w, %a\n%r = subtract %x, %b",
    ),
    (
        "f32",
        ", s: f32",
        "%k = param s : tensor<[E]>\n%w = broadcast_in_dim %k, dimensions = [] : [T]\n%x = multiply %w, %a\n%r = subtract %b, %x",
    ),
    (
        "f32",
        ", s: f32",
        "%k = param s : tensor<[E]>\n%w = broadcast_in_dim %k, dimensions = [] : [T]\n%x = add %a, %b\n%r = subtract %x, %w",
    ),
    (
        "f32",
        ", s: f32",
        "%k = param s : tensor<[E]>\n%w = broadcast_in_dim %k, dimensions = [] : [T]\n%x = divide %a, %w\n%r = add %x, %b",
    ),
    ("f32", "", "%x = negate %a\n%r = subtract %x, %b"),
    (
        "i32",
        ", s: i32",
        "%k = param s : tensor<[E]>\n%w = broadcast_in_dim %k, dimensions = [] : [T]\n%x = add %a, %b\n%r = subtract %x, %w",
    ),
    (
        "ui32",
        ", s: ui32",
        "%k = param s : tensor<[E]>\n%w = broadcast_in_dim %k, dimensions = [] : [T]\n%x = add %a, %w\n%r = add %x, %b",
    ),
    (
        "ui8",
        ", s: ui8",
        "%k = param s : tensor<[E]>\n%w = broadcast_in_dim %k, dimensions = [] : [T]\n%x = multiply %a, %w\n%r = subtract %b, %x",
    ),
    ("i8", "", "%x = subtract %a, %b\n%r = negate %x"),
];

pub fn all() -> Vec<Item> {
    let mut all: Vec<Item> = SUMS
        .iter()
        .map(|(t, params, nodes)| sum(t, params, nodes))
        .collect();
    for (t, start) in [("i32", "7"), ("f32", "0.5")] {
        for (size, tensor) in [("#0", "n"), ("#0*m + #1", "n x m")] {
            let (dimensions, more) = match tensor {
                "n" => ("[0]", ""),
                _ => ("[0, 1]", ", m: i32"),
            };
            let text = format!(
                "func @total(a: const ptr<{t}>, n: i32{more}) {{\n  %a = view a[{size}] : tensor<{tensor} x {t}>\n  \
                 %s = constant {start}:{t}\n  %r = reduce %a, %s, reducer = add, dimensions = {dimensions}\n  return %r\n}}"
            );
            all.push(item(format!("total {t} {tensor}"), &text, t == "f32"));
        }
    }
    all
}

fn sum(t: &str, params: &str, nodes: &str) -> Item {
    let nodes = nodes
        .replace("[T]", &format!("tensor<n x {t}>"))
        .replace("[E]", t);
    // An integer of C's is a size, too.
    let nodes = match t {
        "f32" => nodes,
        _ => nodes.replace("param s", "size s"),
    };
    let text = format!(
        "func @sum(a: const ptr<{t}>, b: const ptr<{t}>, out: ptr<{t}>, n: i32{params}) {{\n  %a = view a[#0] : tensor<n x {t}>\n  \
         %b = view b[#0] : tensor<n x {t}>\n  {nodes}\n  store out[#0] = %r\n}}"
    );
    item(
        format!("{t} {}", nodes.replace('\n', "; ")),
        &text,
        t == "f32",
    )
}

fn item(name: String, text: &str, tame: bool) -> Item {
    let function: Function = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut random = Random(3);
    let sizes = [(0, 3), (5, 4), (17, 33), (300, 5)];
    let calls = sizes.map(|(n, m)| call(&function, &[("n", n), ("m", m)], &mut random, tame));
    Item::new(name, function, calls.into())
}
