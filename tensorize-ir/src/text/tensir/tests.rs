use super::*;

const MATVEC: &str = "\
func @matvec(w: const ptr<f32>, x: const restrict ptr<f32>, out: ptr<f32>, n: i32, d: i32) {
  %0 = view w[#0*n + #1] : tensor<d x n x f32>
  %1 = view x[#0] : tensor<n x f32>
  %2 = constant 0.0:f32 : tensor<f32>
  %3 = dot_general %0, %1, %2, contracting = [1 x 0] : tensor<d x f32>
  store out[#0] = %3
}
";

#[test]
fn reads_back_verbatim() {
    let f: Function = MATVEC.parse().unwrap();
    assert_eq!(f.to_string(), MATVEC);
    let json = serde_json::to_string(&f).unwrap();
    assert_eq!(serde_json::from_str::<Function>(&json).unwrap(), f);
}

#[test]
fn people_may_leave_things_out() {
    let short = "// by hand
        func@matvec(w:const ptr<f32>,x:const restrict ptr<f32>,out:ptr<f32>,n:i32,d:i32,){
          %w = view w[n*#0 + #1] : tensor<d x n x f32>   // row-major
          %x = view x[#0] : tensor<nxf32>
          %zero = constant 0 : tensor<f32>
          %y = dot_general %w, %x, %zero, contracting=[1x0]
          store out[#0] = %y
        }";
    let wrong = short.parse::<Function>().unwrap_err();
    assert!(wrong.to_string().contains("line 4"), "{wrong}");
    let short = short.replace("nxf32", "n x f32");
    let f: Function = short.parse().unwrap();
    assert_eq!(f.to_string(), MATVEC);
    let ty: TensorType = "tensor<4x4xf32>".parse().unwrap();
    assert_eq!(ty.to_string(), "tensor<4 x 4 x f32>");
}

#[track_caller]
fn refused(line: usize, from: &str, to: &str, why: &str) {
    assert!(MATVEC.contains(from));
    let e = MATVEC.replace(from, to).parse::<Function>().unwrap_err();
    assert!(e.line == line && e.message.contains(why), "{e}");
}

#[test]
fn errors_name_line_and_rule() {
    refused(5, "dot_general", "dot", "'dot' is not an operator");
    refused(5, "[1 x 0]", "[0 x 0]", "different extents");
    refused(5, "%1, %2", "%4, %2", "%4 is not defined before this");
    refused(5, ", %2", "", "takes 3 operands, and has 2");
    refused(
        5,
        "contracting",
        "dimension",
        "expected a dimension, found '['",
    );
    refused(
        5,
        "contracting = [1 x 0]",
        "dimension = 0",
        "not an attribute of dot_general",
    );
    refused(5, "tensor<d x f32>", "tensor<n x f32>", "said to give");
    refused(
        2,
        "tensor<d x n x f32>",
        "tensor<d x m x f32>",
        "'m' is not an integer parameter",
    );
    refused(2, "#0*n + #1", "#0*n + #2", "'#2'");
    refused(2, "view w", "view v", "'v' is not an array parameter");
    refused(6, "out[#0]", "x[#0]", "points to const");
    refused(6, "out[#0]", "out[#1]", "'#1'");
    refused(
        6,
        "store",
        "stor",
        "expected '%0 = …', 'store', 'return' or '}'",
    );
    refused(1, "n: i32", "n: int", "'int' is not a scalar type");
    refused(1, "n: i32", "d: i32", "two are called 'd'");
    refused(8, "}\n", "\n", "the end of the text");
}
