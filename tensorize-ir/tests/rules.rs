//! Every rule of TensIR refuses something, and says what.

use tensorize_ir::tensir::{Function, TensorType};

/// `line` stands after these.
const PRELUDE: &str = "\
func @f(w: const ptr<f32>, p: const ptr<ui8>, out: ptr<f32>, n: i32, m: i32, eps: f32) {
  %m = view w[#0*m + #1] : tensor<n x m x f32>
  %v = view w[#0] : tensor<m x f32>
  %b = view p[#0] : tensor<m x ui8>
  %s = constant 0.0:f32
  %t = compare LT, %v, %v
";

fn function(line: &str) -> Result<Function, String> {
    format!("{PRELUDE}{line}\n}}")
        .parse()
        .map_err(|e: tensorize_ir::text::ParseError| {
            assert!(e.line >= 7, "{e}");
            e.to_string()
        })
}

#[track_caller]
fn gives(line: &str, ty: &str) {
    let f = function(line).unwrap_or_else(|e| panic!("{line}\n{e}"));
    let wanted: TensorType = ty.parse().unwrap();
    assert_eq!(f.nodes.last().unwrap().ty, wanted, "{line}");
}

#[track_caller]
fn refused(line: &str, why: &str) {
    let e = function(line).expect_err(line);
    assert!(e.contains(why), "{line}\n{e}");
}

#[test]
fn types_follow_from_operands() {
    gives("%r = add %v, %v", "tensor<m x f32>");
    gives("%r = compare EQ, %b, %b", "tensor<m x i1>");
    gives("%r = select %t, %v, %v", "tensor<m x f32>");
    gives(
        "%r = transpose %m, permutation = [1, 0]",
        "tensor<m x n x f32>",
    );
    gives(
        "%r = concatenate %v, %v, %v, dimension = 0",
        "tensor<(3*m) x f32>",
    );
    gives("%r = gather %v, %b", "tensor<m x f32>");
    gives(
        "%r = dot_general %m, %v, %s, contracting = [1 x 0]",
        "tensor<n x f32>",
    );
    gives(
        "%r = dot_general %v, %m, %s, batch = [0 x 1]",
        "tensor<m x n x f32>",
    );
    gives(
        "%r = dot_general %v, %v, %v, batch = [0 x 0]",
        "tensor<m x f32>",
    );
    gives(
        "%r = reduce %m, %s, dimensions = [1], reducer = add",
        "tensor<n x f32>",
    );
    gives(
        "%r = reduce %m, %s, dimensions = [0, 1], reducer = keep_if(LE)",
        "tensor<f32>",
    );
    gives(
        "%r = scan %m, %s, dimension = 1, reducer = add, exclusive = true",
        "tensor<n x m x f32>",
    );
    gives(
        "%r = scan %m, %v, dimension = 0, reducer = take_if(GT), reverse = true",
        "tensor<n x m x f32>",
    );
    gives(
        "%z = constant 0:ui8 %r = arg_reduce %v, %b, %s, %z, dimension = 0, reducer = keep_if(GE)",
        "tensor<ui8>",
    );
    gives("%r = table [1:i8, -2:i8]", "tensor<2 x i8>");
    gives("%r = table [1, -2.5] : tensor<2 x f64>", "tensor<2 x f64>");
}

#[test]
fn operands_fit() {
    refused("%r = add %v", "takes 2 operands, and has 1");
    refused("%r = add %v, %b", "types differ");
    refused("%r = add %v, %m", "types differ");
    refused("%r = and %v, %v", "not defined on f32");
    refused("%r = exponential %b", "not defined on ui8");
    refused("%r = select %b, %v, %v", "predicate is tensor<m x ui8>");
    refused("%r = compare LT, %v, %b", "types differ");
    refused("%r = concatenate %m, %v, dimension = 0", "types differ");
    refused("%r = concatenate dimension = 0", "takes an operand or more");
    refused("%r = concatenate %v, dimension = 1", "no dimension 1");
    refused("%r = gather %m, %b", "gathers from a vector");
    refused("%r = gather %v, %v", "indices are integers");
    refused("%r = gather %v, %t", "indices are integers");
    refused("%r = dot_general %v, %b, %s", "types differ");
    refused(
        "%r = dot_general %v, %v, %v",
        "last operand is tensor<m x f32>",
    );
    refused(
        "%r = dot_general %m, %v, %s, contracting = [0 x 0]",
        "different extents",
    );
    refused(
        "%r = dot_general %m, %v, %s, contracting = [2 x 0]",
        "no dimensions 2 x 0",
    );
    refused(
        "%r = dot_general %v, %v, %s, batch = [0 x 0], contracting = [0 x 0]",
        "used twice",
    );
    refused(
        "%r = reduce %v, %s, dimensions = [0], reducer = and",
        "and is not defined on f32",
    );
    refused(
        "%r = reduce %v, %s, dimensions = [1], reducer = add",
        "ascending list",
    );
    refused(
        "%r = reduce %b, %s, dimensions = [0], reducer = add",
        "should be tensor<ui8>",
    );
    refused(
        "%r = reduce %v, %s, dimensions = [0]",
        "lacks 'reducer = …'",
    );
    refused("%r = scan %v, %s, reducer = add", "lacks 'dimension = …'");
    refused("%r = scan %v, %s, dimension = 0", "lacks 'reducer = …'");
    refused(
        "%r = scan %v, %s, dimension = 1, reducer = add",
        "some of the 1 dimensions",
    );
    refused(
        "%r = scan %v, %s, dimension = 0, reducer = xor",
        "xor is not defined on f32",
    );
    refused(
        "%r = scan %m, %v, dimension = 1, reducer = add",
        "should be tensor<f32>",
    );
    refused(
        "%r = scan %v, %s, dimension = 0, reducer = add, exclusive = 1",
        "expected 'false'",
    );
    refused(
        "%r = reduce %v, %s, dimensions = [0], reducer = add, reverse = true",
        "'reverse' is not an attribute of reduce",
    );
    refused(
        "%r = arg_reduce %v, %b, %s, %s, dimension = 0, reducer = take_if(GT)",
        "should be tensor<ui8>",
    );
    refused(
        "%r = arg_reduce %v, %v, %s, %s, dimension = 0, reducer = maximum",
        "maximum keeps neither element",
    );
    refused(
        "%r = arg_reduce %v, %m, %s, %s, dimension = 0, reducer = take_if(GT)",
        "types differ",
    );
    refused(
        "%r = arg_reduce %v, %v, %s, dimension = 0, reducer = take_if(GT)",
        "takes 4 operands, and has 3",
    );
    refused(
        "%r = transpose %m, permutation = [1, 1]",
        "not a permutation",
    );
    refused("%r = reverse %m, dimensions = [1, 0]", "ascending list");
    refused("%r = table [1:i8, 2:i32]", "mixes types");
}

#[test]
fn types_that_are_written_fit() {
    refused("%r = convert %v", "write it after a ':'");
    refused(
        "%r = convert %v : tensor<n x i32>",
        "makes tensor<n x i32> of tensor<m x f32>",
    );
    refused(
        "%r = bitcast_convert %v : tensor<m x i64>",
        "different widths",
    );
    refused(
        "%r = add %v, %v : tensor<m x f64>",
        "is said to give tensor<m x f64>",
    );
    refused(
        "%r = reshape %m : tensor<(n + m) x f32>",
        "has m*n elements",
    );
    refused("%r = reshape %m : tensor<(n*m) x i32>", "makes i32 of f32");
    refused(
        "%r = broadcast_in_dim %v, dimensions = [0] : tensor<n x m x f32>",
        "does not fit",
    );
    refused(
        "%r = broadcast_in_dim %v, dimensions = [2] : tensor<n x m x f32>",
        "ascending list",
    );
    refused(
        "%r = broadcast_in_dim %v, dimensions = [] : tensor<n x m x f32>",
        "does not fit",
    );
    refused(
        "%r = slice %m, start = [0] : tensor<n x f32>",
        "has 2 dimensions",
    );
    refused(
        "%r = slice %v, start = [0], stride = [0] : tensor<m x f32>",
        "1 or more",
    );
    refused(
        "%r = slice %v, start = [k] : tensor<m x f32>",
        "'k' in 'k' is not an integer parameter",
    );
    refused(
        "%r = pad %v, %v, low = [1] : tensor<(m + 1) x f32>",
        "should be tensor<f32>",
    );
    refused(
        "%r = pad %v, %s, low = [] : tensor<(m + 1) x f32>",
        "need as many",
    );
    refused(
        "%r = iota dimension = 1 : tensor<n x i32>",
        "no dimension 1",
    );
    refused("%r = size n : tensor<n x i32>", "is a scalar");
    refused("%r = param n : tensor<i32>", "not a scalar parameter");
    refused(
        "%r = param eps : tensor<f64>",
        "not a scalar parameter of type f64",
    );
    refused("%r = table [] : tensor<1 x f32>", "is empty");
    refused(
        "%r = constant 1:i32 : tensor<f32>",
        "is said to give tensor<f32>",
    );
    refused("%r = constant 1 : tensor<2 x f32>", "is said to give");
}

#[test]
fn names_are_known_and_in_scope() {
    refused(
        "%r = view w[value(p[0])] : tensor<f32>",
        "contents of an array",
    );
    refused(
        "%r = view w[#1] : tensor<n x f32>",
        "'#1' in '#1' is not one of the 1 dimensions",
    );
    refused(
        "%r = view w[eps] : tensor<f32>",
        "'eps' in 'eps' is not an integer parameter",
    );
    refused(
        "%r = view p[#0] : tensor<n x f32>",
        "has elements ui8, not f32",
    );
    refused("%r = view w[#0] : tensor<#0 x f32>", "in the shape");
    refused(
        "%r = generic w[k] : tensor<f32>",
        "'k' in 'k' is not an integer parameter",
    );
    refused(
        "%r = generic w[#0] : tensor<f32>",
        "not one of the 0 dimensions",
    );
    refused("%r = generic w[0] : tensor<i32>", "makes i32 of f32");
    refused(
        "%r = generic w[value(w[0])] : tensor<f32>",
        "value(…) takes an integer",
    );
    let fold = "generic fold(a = 0.0:f32, k < m, add(a, w[k]))";
    gives(&format!("%r = {fold} : tensor<f32>"), "tensor<f32>");
    let after = format!("%r = generic add(w[k], {}) : tensor<f32>", &fold[8..]);
    refused(&after, "'k' in 'k' is not an integer parameter");
    let any = "%r = generic fold_any(a = 0.0:f32, k < m, subtract(a, w[k])) : tensor<f32>";
    refused(any, "depends on its order");
}

#[test]
fn outputs_fit() {
    refused("store out[#0] = %b", "has elements f32, not ui8");
    refused("store w[#0] = %v", "'w' points to const");
    refused("store out[#1] = %v", "'#1'");
    refused("store nowhere[#0] = %v", "not an array parameter");
    refused("return %v", "returns a scalar");
    refused("return %s return %s", "returns one value");
    refused("return %zzz", "%zzz is not defined before this");
    refused("%v = add %v, %v", "%v is defined twice");
}
