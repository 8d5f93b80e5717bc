//! Functions that fold on the way, that keep a place, and that look at what came before.

use super::Random;
use tensorize_ir::memory::Inputs;
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Function;

pub fn function(text: &str) -> Function {
    text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Scans of a vector, each a result of its own: reducers and ways.
fn vector_scans(ty: ScalarType, scans: &[(&str, &str)]) -> Function {
    let name = ty.name();
    let each = |f: &dyn Fn(usize, &str, &str) -> String| {
        let all = scans.iter().enumerate();
        all.map(|(i, (reducer, ways))| f(i, reducer, ways))
            .collect::<String>()
    };
    let params = each(&|i, _, _| format!("out{i}: ptr<{name}>, "));
    let nodes = each(&|i, reducer, ways| {
        format!("%r{i} = scan %x, %s, reducer = {reducer}, dimension = 0{ways}\n")
    });
    let stores = each(&|i, _, _| format!("store out{i}[#0] = %r{i}\n"));
    function(&format!(
        "func @f(x: const ptr<{name}>, start: const ptr<{name}>, {params}n: i32) {{
           %x = view x[#0] : tensor<n x {name}>
           %s = view start[0] : tensor<{name}>
           {nodes}{stores}
         }}"
    ))
}

/// Exclusive or not, forwards or backwards.
pub const WAYS: [&str; 4] = [
    "",
    ", exclusive = true",
    ", reverse = true",
    ", exclusive = true, reverse = true",
];

/// Every operator that a scan of this type may have, each another way round; `turn` says which.
pub fn scans_of(ty: ScalarType, turn: usize) -> Function {
    let reducers: &[&str] = match ty {
        ScalarType::I1 => &["and", "or", "xor"],
        _ if ty.is_float() => &["add", "multiply", "maximum", "minimum_number", "subtract"],
        _ => &[
            "add", "multiply", "maximum", "minimum", "xor", "and", "or", "subtract",
        ],
    };
    let scans: Vec<_> = (reducers.iter().enumerate())
        .map(|(k, reducer)| (*reducer, WAYS[(turn + k) % WAYS.len()]))
        .collect();
    vector_scans(ty, &scans)
}

/// Every way to keep one of two elements, on the way.
pub fn running_extremes_of(ty: ScalarType) -> Function {
    let comparisons = ["GT", "GE", "LT", "LE", "EQ"];
    let reducers: Vec<String> = ["take_if", "keep_if"]
        .into_iter()
        .flat_map(|kind| comparisons.map(|cmp| format!("{kind}({cmp})")))
        .collect();
    let scans: Vec<_> = (reducers.iter().enumerate())
        .map(|(i, reducer)| (reducer.as_str(), WAYS[i % WAYS.len()]))
        .collect();
    vector_scans(ty, &scans)
}

/// Running sums along an axis of a matrix, from `start`.
pub fn matrix_scan(dimension: usize, ways: &str, start: &str) -> Function {
    function(&format!(
        "func @f(x: const ptr<f32>, s: const ptr<f32>, out: ptr<f32>, n: i32, m: i32) {{
           %x = view x[#0*m + #1] : tensor<n x m x f32>
           %s = view {start}
           %r = scan %x, %s, reducer = add, dimension = {dimension}{ways}
           store out[#0*m + #1] = %r
         }}"
    ))
}

/// Recurrences, of one lane and of two.
pub fn recurrences() -> Vec<Function> {
    let one = "fold(s = x[0], k < #0 + 1, add(multiply(0.75:f32, s), x[k]))";
    let two = "fold(p = x[1], q = x[0], k < #0 + 1, subtract(x[k + 1], multiply(q, p)), p)";
    let behind = "fold(p = x[1], q = x[0], k < #0, multiply(p, q), add(p, x[k]))";
    let each = |fold: &str| {
        function(&format!(
            "func @f(x: const ptr<f32>, out: ptr<f32>, n: i32) {{
               %r = generic {fold} : tensor<n x f32>
               store out[#0] = %r
             }}"
        ))
    };
    [one, two, behind].map(each).into()
}

/// The place of the largest or smallest element of each row.
pub fn place(ty: ScalarType, reducer: &str) -> Function {
    let name = ty.name();
    function(&format!(
        "func @f(x: const ptr<{name}>, s: const ptr<{name}>, l: const ptr<i64>, out: ptr<i64>, n: i32, m: i32) {{
           %x = view x[#0*m + #1] : tensor<n x m x {name}>
           %i = iota dimension = 1 : tensor<n x m x i64>
           %s = view s[#0] : tensor<n x {name}>
           %l = view l[0] : tensor<i64>
           %r = arg_reduce %x, %i, %s, %l, reducer = {reducer}, dimension = 1
           store out[#0] = %r
         }}"
    ))
}

/// Few values, so that there are ties, NaN among them.
pub fn with_ties(f: &Function, mut inputs: Inputs) -> Inputs {
    let mut random = Random(77);
    for name in ["x", "s"] {
        if let Some(b) = inputs.arrays.get_mut(name) {
            let values = [f32::NAN, 0.0, -0.0, 1.0, f32::NEG_INFINITY, f32::INFINITY];
            for v in &mut b.data {
                let pick = (random.next() % 6) as usize;
                *v = match b.elem {
                    ScalarType::F32 => Scalar::f32(values[pick]),
                    ty => Scalar::int(ty, pick as i128 - 3),
                };
            }
        }
    }
    assert!(!f.outputs.is_empty());
    inputs
}
