//! What common kernels become.

#[path = "raise/common.rs"]
mod common;

use common::raised;
use tensorize_ir::tensir::Function;

/// `results`, each a line `place[index] : shape = element` or `return : type = element`, come out as
/// the operators in `expected`.
fn raises(params: &str, results: &str, expected: &str) {
    let f = raised(&plain(params, results));
    let text = f.to_string();
    let body: Vec<&str> = text
        .lines()
        .skip(1)
        .map(str::trim)
        .filter(|l| *l != "}")
        .collect();
    let wanted: Vec<&str> = expected
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    assert_eq!(body, wanted, "\n{text}");
}

fn plain(params: &str, results: &str) -> Function {
    let mut nodes = String::new();
    let mut outputs = String::new();
    let lines = results.lines().map(str::trim).filter(|l| !l.is_empty());
    for (i, line) in lines.enumerate() {
        let (place, rest) = line.split_once(" : ").unwrap();
        let (ty, value) = rest.split_once(" = ").unwrap();
        nodes += &format!("  %{i} = generic {value} : tensor<{ty}>\n");
        outputs += &match place {
            "return" => format!("  return %{i}\n"),
            _ => format!("  store {place} = %{i}\n"),
        };
    }
    let text = format!("func @f({params}) {{\n{nodes}{outputs}}}\n");
    text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn matrix_times_vector() {
    raises(
        "w: const ptr<f32>, x: const ptr<f32>, out: ptr<f32>, n: i32, d: i32",
        "out[#0] : d x f32 = fold(a = 0.0:f32, k < n, add(a, multiply(w[#0*n + k], x[k])))",
        "%0 = view w[#0*n + #1] : tensor<d x n x f32>
         %1 = view x[#0] : tensor<n x f32>
         %2 = constant 0.0:f32 : tensor<f32>
         %3 = dot_general %0, %1, %2, contracting = [1 x 0] : tensor<d x f32>
         store out[#0] = %3",
    );
}

#[test]
fn dot_product() {
    raises(
        "x: const ptr<f64>, y: const ptr<f64>, n: i32",
        "return : f64 = fold(a = 0.0:f64, k < n, add(multiply(y[2*k], x[k]), a))",
        "%0 = view y[2*#0] : tensor<n x f64>
         %1 = view x[#0] : tensor<n x f64>
         %2 = constant 0.0:f64 : tensor<f64>
         %3 = dot_general %0, %1, %2, contracting = [0 x 0] : tensor<f64>
         return %3",
    );
}

#[test]
fn matrix_product() {
    raises(
        "a: const ptr<f32>, b: const ptr<f32>, c: ptr<f32>, m: i32, n: i32, p: i32",
        "c[#0*n + #1] : m x n x f32 = fold(s = 0.0:f32, k < p, add(s, multiply(a[#0*p + k], b[k*n + #1])))",
        "%0 = view a[#0*p + #1] : tensor<m x p x f32>
         %1 = view b[#0*n + #1] : tensor<p x n x f32>
         %2 = constant 0.0:f32 : tensor<f32>
         %3 = dot_general %0, %1, %2, contracting = [1 x 0] : tensor<m x n x f32>
         store c[#0*n + #1] = %3",
    );
}

#[test]
fn scalar_times_vector() {
    raises(
        "x: const ptr<f32>, out: ptr<f32>, alpha: f32, n: i32",
        "out[#0] : n x f32 = multiply(alpha, x[#0])",
        "%0 = param alpha : tensor<f32>
         %1 = broadcast_in_dim %0, dimensions = [] : tensor<n x f32>
         %2 = view x[#0] : tensor<n x f32>
         %3 = multiply %1, %2 : tensor<n x f32>
         store out[#0] = %3",
    );
}

#[test]
fn softmax_in_one() {
    raises(
        "x: ptr<f32>, n: i32",
        "x[#0] : n x f32 = divide(exponential(subtract(x[#0], fold(m = x[0], k < n - 1, select(compare(GT, x[k + 1], m), x[k + 1], m)))), fold(s = 0.0:f32, j < n, add(s, exponential(subtract(x[j], fold(m2 = x[0], l < n - 1, select(compare(GT, x[l + 1], m2), x[l + 1], m2)))))))",
        "%0 = view x[#0] : tensor<n x f32>
         %1 = view x[#0 + 1] : tensor<(n - 1) x f32>
         %2 = view x[0] : tensor<f32>
         %3 = reduce %1, %2, reducer = take_if(GT), dimensions = [0] : tensor<f32>
         %4 = broadcast_in_dim %3, dimensions = [] : tensor<n x f32>
         %5 = subtract %0, %4 : tensor<n x f32>
         %6 = exponential %5 : tensor<n x f32>
         %7 = constant 0.0:f32 : tensor<f32>
         %8 = reduce %6, %7, reducer = add, dimensions = [0] : tensor<f32>
         %9 = broadcast_in_dim %8, dimensions = [] : tensor<n x f32>
         %10 = divide %6, %9 : tensor<n x f32>
         store x[#0] = %10",
    );
}

#[test]
fn convolution() {
    raises(
        "x: const ptr<f32>, c: const ptr<f32>, out: ptr<f32>, n: i32, k: i32",
        "out[#0] : n x f32 = fold(s = 0.0:f32, j < k, add(s, multiply(x[#0 + j], c[j])))",
        "%0 = view x[#0 + #1] : tensor<n x k x f32>
         %1 = view c[#0] : tensor<k x f32>
         %2 = constant 0.0:f32 : tensor<f32>
         %3 = dot_general %0, %1, %2, contracting = [1 x 0] : tensor<n x f32>
         store out[#0] = %3",
    );
    raises(
        "x: const ptr<i16>, c: const ptr<i16>, out: ptr<i32>, h: i32, w: i32",
        "out[#0*w + #1] : h x w x i32 = fold(s = 0:i32, i < 3, fold(t = s, j < 3, add(t, multiply(convert(i32, x[#0*w + i*w + #1 + j]), convert(i32, c[3*i + j])))))",
        "%0 = view x[w*(#0 + #2) + #1 + #3] : tensor<h x w x 3 x 3 x i16>
         %1 = convert %0 : tensor<h x w x 3 x 3 x i32>
         %2 = view c[3*#0 + #1] : tensor<3 x 3 x i16>
         %3 = convert %2 : tensor<3 x 3 x i32>
         %4 = constant 0:i32 : tensor<i32>
         %5 = dot_general %1, %3, %4, contracting = [2 x 0, 3 x 1] : tensor<h x w x i32>
         store out[#0*w + #1] = %5",
    );
}

#[test]
fn blending() {
    raises(
        "b: const ptr<ui8>, a: const ptr<ui8>, out: ptr<ui8>, rows: i32, cols: i32",
        "out[#0*cols + #1] : rows x cols x ui8 = convert(ui8, subtract(add(convert(i32, b[#0*cols + #1]), convert(i32, a[#0*cols + #1])), divide(multiply(convert(i32, b[#0*cols + #1]), convert(i32, a[#0*cols + #1])), 255:i32)))",
        "%0 = view b[#0*cols + #1] : tensor<rows x cols x ui8>
         %1 = convert %0 : tensor<rows x cols x i32>
         %2 = view a[#0*cols + #1] : tensor<rows x cols x ui8>
         %3 = convert %2 : tensor<rows x cols x i32>
         %4 = add %1, %3 : tensor<rows x cols x i32>
         %5 = multiply %1, %3 : tensor<rows x cols x i32>
         %6 = constant 255:i32 : tensor<i32>
         %7 = broadcast_in_dim %6, dimensions = [] : tensor<rows x cols x i32>
         %8 = divide %5, %7 : tensor<rows x cols x i32>
         %9 = subtract %4, %8 : tensor<rows x cols x i32>
         %10 = convert %9 : tensor<rows x cols x ui8>
         store out[#0*cols + #1] = %10",
    );
    raises(
        "b: const ptr<ui8>, a: const ptr<ui8>, out: ptr<ui8>, n: i32",
        "out[#0] : n x ui8 = convert(ui8, select(compare(GT, convert(i32, b[#0]), convert(i32, a[#0])), convert(i32, a[#0]), convert(i32, b[#0])))",
        "%0 = view b[#0] : tensor<n x ui8>
         %1 = view a[#0] : tensor<n x ui8>
         %2 = minimum %0, %1 : tensor<n x ui8>
         store out[#0] = %2",
    );
}

#[test]
fn row_maximum() {
    // On floats, `x > m ? x : m` is no maximum.
    raises(
        "x: const ptr<f32>, out: ptr<f32>, rows: i32, cols: i32",
        "out[#0] : rows x f32 = fold(m = -inf:f32, j < cols, select(compare(LT, m, x[#0*cols + j]), x[#0*cols + j], m))",
        "%0 = view x[#0*cols + #1] : tensor<rows x cols x f32>
         %1 = constant -inf:f32 : tensor<f32>
         %2 = reduce %0, %1, reducer = take_if(GT), dimensions = [1] : tensor<rows x f32>
         store out[#0] = %2",
    );
    // Each row starts from its own first element.
    raises(
        "x: const ptr<ui8>, out: ptr<ui8>, rows: i32, cols: i32",
        "out[#0] : rows x ui8 = fold(m = x[#0*cols], j < cols - 1, select(compare(GT, convert(i32, x[#0*cols + j + 1]), convert(i32, m)), x[#0*cols + j + 1], m))",
        "%0 = view x[#0*cols + #1 + 1] : tensor<rows x (cols - 1) x ui8>
         %1 = view x[#0*cols] : tensor<rows x ui8>
         %2 = reduce %0, %1, reducer = maximum, dimensions = [1] : tensor<rows x ui8>
         store out[#0] = %2",
    );
    raises(
        "x: const ptr<f64>, n: i32",
        "return : f64 = fold(m = x[0], j < n - 1, select(compare(LE, x[j + 1], m), m, x[j + 1]))",
        "%0 = view x[#0 + 1] : tensor<(n - 1) x f64>
         %1 = view x[0] : tensor<f64>
         %2 = reduce %0, %1, reducer = keep_if(GE), dimensions = [0] : tensor<f64>
         return %2",
    );
}

#[test]
fn conditional_sums() {
    raises(
        "x: const ptr<i32>, t: i32, n: i32",
        "return : i32 = fold(c = 0:i32, j < n, select(compare(GT, x[j], t), add(c, 1:i32), c))",
        "%0 = view x[#0] : tensor<n x i32>
         %1 = size t : tensor<i32>
         %2 = broadcast_in_dim %1, dimensions = [] : tensor<n x i32>
         %3 = compare GT, %0, %2 : tensor<n x i1>
         %4 = constant 1:i32 : tensor<i32>
         %5 = broadcast_in_dim %4, dimensions = [] : tensor<n x i32>
         %6 = constant 0:i32 : tensor<i32>
         %7 = broadcast_in_dim %6, dimensions = [] : tensor<n x i32>
         %8 = select %3, %5, %7 : tensor<n x i32>
         %9 = reduce %8, %6, reducer = add, dimensions = [0] : tensor<i32>
         return %9",
    );
    // On floats the skipped step has no operator that the prover knows to be exact.
    raises(
        "x: const ptr<f32>, n: i32",
        "return : f32 = fold(s = 0.0:f32, j < n, select(compare(GT, x[j], 0.0:f32), add(s, x[j]), s))",
        "%0 = generic fold(s = 0.0:f32, j < n, select(compare(GT, x[j], 0.0:f32), add(s, x[j]), s)) : tensor<f32>
         return %0",
    );
}

#[test]
fn narrow_accumulators() {
    raises(
        "x: const ptr<ui8>, n: i64",
        "return : ui8 = fold(s = 0:ui8, j < n, convert(ui8, add(convert(i32, s), convert(i32, x[j]))))",
        "%0 = view x[#0] : tensor<n x ui8>
         %1 = constant 0:ui8 : tensor<ui8>
         %2 = reduce %0, %1, reducer = add, dimensions = [0] : tensor<ui8>
         return %2",
    );
}

#[test]
fn sums_within_sums() {
    // On integers, any grouping will do.
    raises(
        "x: const ptr<i32>, m: i32, n: i32",
        "return : i32 = fold(s = 0:i32, i < m, add(s, fold(t = 0:i32, j < n, add(t, x[i*n + j]))))",
        "%0 = view x[#0*n + #1] : tensor<m x n x i32>
         %1 = constant 0:i32 : tensor<i32>
         %2 = reduce %0, %1, reducer = add, dimensions = [0, 1] : tensor<i32>
         return %2",
    );
    raises(
        "x: const ptr<f32>, m: i32, n: i32",
        "return : f32 = fold(s = 0.0:f32, i < m, add(s, fold(t = 0.0:f32, j < n, add(t, x[i*n + j]))))",
        "%0 = view x[#0*n + #1] : tensor<m x n x f32>
         %1 = constant 0.0:f32 : tensor<f32>
         %2 = reduce %0, %1, reducer = add, dimensions = [1] : tensor<m x f32>
         %3 = reduce %2, %1, reducer = add, dimensions = [0] : tensor<f32>
         return %3",
    );
    raises(
        "x: const ptr<i32>, m: i32, n: i32",
        "return : i32 = fold(s = 0:i32, i < m, add(add(x[2*i], s), x[2*i + 1]))",
        "%0 = view x[2*#0] : tensor<m x i32>
         %1 = view x[2*#0 + 1] : tensor<m x i32>
         %2 = add %0, %1 : tensor<m x i32>
         %3 = constant 0:i32 : tensor<i32>
         %4 = reduce %2, %3, reducer = add, dimensions = [0] : tensor<i32>
         return %4",
    );
}

#[test]
fn batches_and_transposed_results() {
    raises(
        "q: const ptr<f32>, k: const ptr<f32>, s: ptr<f32>, heads: i32, len: i32, d: i32",
        "s[#0*len + #1] : heads x len x f32 = fold(a = 0.0:f32, i < d, add(a, multiply(q[#0*d + i], k[#1*heads*d + #0*d + i])))",
        "%0 = view q[#0*d + #1] : tensor<heads x d x f32>
         %1 = view k[#0*d*heads + #1*d + #2] : tensor<len x heads x d x f32>
         %2 = constant 0.0:f32 : tensor<f32>
         %3 = dot_general %0, %1, %2, batch = [0 x 1], contracting = [1 x 2] : tensor<heads x len x f32>
         store s[#0*len + #1] = %3",
    );
    raises(
        "a: const ptr<f32>, b: const ptr<f32>, c: ptr<f32>, n: i32",
        "c[#0*n + #1] : n x n x f32 = fold(s = 0.0:f32, k < n, add(s, multiply(b[k*n + #1], a[k*n + #0])))",
        "%0 = view a[#0*n + #1] : tensor<n x n x f32>
         %1 = view b[#0*n + #1] : tensor<n x n x f32>
         %2 = constant 0.0:f32 : tensor<f32>
         %3 = dot_general %0, %1, %2, contracting = [0 x 0] : tensor<n x n x f32>
         store c[#0*n + #1] = %3",
    );
    raises(
        "x: const ptr<f32>, n: i32",
        "return : f32 = fold(s = 0.0:f32, k < n, add(s, multiply(x[k], x[k])))",
        "%0 = view x[#0] : tensor<n x f32>
         %1 = constant 0.0:f32 : tensor<f32>
         %2 = dot_general %0, %0, %1, contracting = [0 x 0] : tensor<f32>
         return %2",
    );
}

#[test]
fn indices_as_values() {
    raises(
        "out: ptr<i32>, o: ptr<f32>, n: i32",
        "out[#0] : n x i32 = index(i32, 3*#0 + n - 1)
         o[#0] : n x f32 = select(index_compare(LT, #0 + 2, n), 1.0:f32, index(f32, #0))",
        "%0 = iota dimension = 0 : tensor<n x i32>
         %1 = constant 3:i32 : tensor<i32>
         %2 = broadcast_in_dim %1, dimensions = [] : tensor<n x i32>
         %3 = multiply %0, %2 : tensor<n x i32>
         %4 = size n - 1 : tensor<i32>
         %5 = broadcast_in_dim %4, dimensions = [] : tensor<n x i32>
         %6 = add %3, %5 : tensor<n x i32>
         %7 = iota dimension = 0 : tensor<n x i64>
         %8 = size n - 2 : tensor<i64>
         %9 = broadcast_in_dim %8, dimensions = [] : tensor<n x i64>
         %10 = compare LT, %7, %9 : tensor<n x i1>
         %11 = constant 1.0:f32 : tensor<f32>
         %12 = broadcast_in_dim %11, dimensions = [] : tensor<n x f32>
         %13 = convert %7 : tensor<n x f32>
         %14 = select %10, %12, %13 : tensor<n x f32>
         store out[#0] = %6
         store o[#0] = %14",
    );
}

#[test]
fn truth() {
    raises(
        "x: const ptr<f32>, y: const ptr<f32>, o: ptr<i1>, n: i32",
        "o[#0] : n x i1 = select(compare(LT, x[#0], 0.0:f32), 1:i1, not(compare(NE, y[#0], 0.0:f32)))
         return : i1 = fold(any = 0:i1, j < n, select(any, 1:i1, compare(GT, convert(f64, x[j]), convert(f64, y[j]))))",
        "%0 = view x[#0] : tensor<n x f32>
         %1 = constant 0.0:f32 : tensor<f32>
         %2 = broadcast_in_dim %1, dimensions = [] : tensor<n x f32>
         %3 = compare LT, %0, %2 : tensor<n x i1>
         %4 = view y[#0] : tensor<n x f32>
         %5 = compare EQ, %4, %2 : tensor<n x i1>
         %6 = or %3, %5 : tensor<n x i1>
         %7 = compare GT, %0, %4 : tensor<n x i1>
         %8 = constant 0:i1 : tensor<i1>
         %9 = reduce %7, %8, reducer = or, dimensions = [0] : tensor<i1>
         store o[#0] = %6
         return %9",
    );
}

#[test]
fn what_has_no_operator_stays_index_notation() {
    raises(
        "x: const ptr<f32>, out: ptr<f32>, n: i32, i: i32",
        "out[#0] : n x f32 = add(x[#0], fold(a = 0.0:f32, k < n, add(multiply(a, 2.0:f32), x[k])))
         out[#0 + n] : n x f32 = select(index_compare(GT, #0, 0), x[#0 - 1], 0.0:f32)
         out[#0 + 2*n] : n x f32 = fold(a = 0.0:f32, k < #0, add(a, multiply(x[#0], x[k])))
         out[#0 + 3*n] : n x f32 = fold(a = 0.0:f32, k < #0 - 1, add(a, x[k]))",
        "%0 = view x[#0] : tensor<n x f32>
         %1 = generic fold(a = 0.0:f32, k < n, add(multiply(a, 2.0:f32), x[k])) : tensor<f32>
         %2 = broadcast_in_dim %1, dimensions = [] : tensor<n x f32>
         %3 = add %0, %2 : tensor<n x f32>
         %4 = generic select(index_compare(GT, #0, 0), x[#0 - 1], 0.0:f32) : tensor<n x f32>
         %5 = generic fold(a = 0.0:f32, k < #0, add(a, multiply(x[#0], x[k]))) : tensor<n x f32>
         %6 = generic fold(a = 0.0:f32, k < #0 - 1, add(a, x[k])) : tensor<n x f32>
         store out[#0] = %3
         store out[#0 + n] = %4
         store out[#0 + 2*n] = %5
         store out[#0 + 3*n] = %6",
    );
}

#[test]
fn running_folds_are_scans() {
    raises(
        "x: const ptr<i32>, out: ptr<i32>, n: i32, m: i32",
        "out[#0] : n x i32 = fold(a = 0:i32, k < #0 + 1, add(a, x[k]))
         out[#0 + n] : n x i32 = fold(a = 7:i32, k < #0, select(compare(GT, x[k + 1], a), x[k + 1], a))
         out[#0 + 2*n] : n x i32 = fold(a = 1:i32, k < -#0 + n, multiply(a, x[k]))
         out[#0 + 3*n] : n x i32 = fold(a = 0:i32, k < -#0 + n - 1, subtract(a, x[k]))",
        "%0 = view x[#0] : tensor<n x i32>
         %1 = constant 0:i32 : tensor<i32>
         %2 = scan %0, %1, reducer = add, dimension = 0 : tensor<n x i32>
         %3 = view x[#0 + 1] : tensor<n x i32>
         %4 = constant 7:i32 : tensor<i32>
         %5 = scan %3, %4, reducer = maximum, dimension = 0, exclusive = true : tensor<n x i32>
         %6 = view x[-#0 + n - 1] : tensor<n x i32>
         %7 = constant 1:i32 : tensor<i32>
         %8 = scan %6, %7, reducer = multiply, dimension = 0, reverse = true : tensor<n x i32>
         %9 = negate %6 : tensor<n x i32>
         %10 = scan %9, %1, reducer = add, dimension = 0, exclusive = true, reverse = true : tensor<n x i32>
         store out[#0] = %2
         store out[#0 + n] = %5
         store out[#0 + 2*n] = %8
         store out[#0 + 3*n] = %10",
    );
    raises(
        "x: const ptr<f32>, s: const ptr<f32>, out: ptr<f32>, n: i32, m: i32",
        "out[#0*m + #1] : n x m x f32 = fold(a = s[#1], k < #0 + 1, add(a, x[k*m + #1]))",
        "%0 = view x[#0*m + #1] : tensor<n x m x f32>
         %1 = view s[#0] : tensor<m x f32>
         %2 = scan %0, %1, reducer = add, dimension = 0 : tensor<n x m x f32>
         store out[#0*m + #1] = %2",
    );
}

#[test]
fn the_label_of_what_is_kept_is_an_arg_reduce() {
    raises(
        "x: const ptr<f32>, out: ptr<i32>, n: i32, m: i32",
        "out[#0] : n x i32 = fold(p = 0:i32, b = x[#0*m], k < m, select(compare(LT, b, x[#0*m + k]), index(i32, k), p), select(compare(LT, b, x[#0*m + k]), x[#0*m + k], b))",
        "%0 = view x[#0*m + #1] : tensor<n x m x f32>
         %1 = iota dimension = 0 : tensor<m x i32>
         %2 = broadcast_in_dim %1, dimensions = [1] : tensor<n x m x i32>
         %3 = view x[#0*m] : tensor<n x f32>
         %4 = constant 0:i32 : tensor<i32>
         %5 = arg_reduce %0, %2, %3, %4, reducer = take_if(GT), dimension = 1 : tensor<n x i32>
         store out[#0] = %5",
    );
    // Another condition, a label that goes on from the last one, an element that looks at the label.
    for (label, element) in [
        ("select(compare(LT, b, x[k + 1]), index(i32, k), p)", "x[k]"),
        ("select(compare(LT, b, x[k]), add(p, 1:i32), p)", "x[k]"),
        (
            "select(compare(LT, b, x[value(p)]), index(i32, k), p)",
            "x[value(p)]",
        ),
    ] {
        let fold = format!(
            "fold(p = 0:i32, b = x[0], k < n, {label}, select(compare(LT, b, {element}), {element}, b))"
        );
        raises(
            "x: const ptr<f32>, n: i32",
            &format!("return : i32 = {fold}"),
            &format!("%0 = generic {fold} : tensor<i32>\nreturn %0"),
        );
    }
}
