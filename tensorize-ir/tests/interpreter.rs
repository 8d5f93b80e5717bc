//! The reference interpreter at the level of whole functions.

use tensorize_ir::memory::{Buffer, Inputs, Outputs};
use tensorize_ir::scalar::{Scalar, ScalarType::*};
use tensorize_ir::tensir::{Function, interpret};

fn floats(values: &[f32]) -> Buffer {
    Buffer::new(F32, values.iter().map(|v| Scalar::f32(*v)).collect())
}

fn ints(values: &[i128]) -> Buffer {
    Buffer::new(I32, values.iter().map(|v| Scalar::int(I32, *v)).collect())
}

fn n(value: i128) -> Inputs {
    Inputs::default().scalar("n", Scalar::int(I32, value))
}

fn run(text: &str, inputs: &Inputs) -> Result<Outputs, String> {
    let function: Function = text.parse().unwrap_or_else(|e| panic!("{e}"));
    interpret(&function, inputs)
}

#[track_caller]
fn fails(text: &str, inputs: &Inputs, why: &str) {
    let e = run(text, inputs).unwrap_err();
    assert!(e.contains(why), "{e}");
}

#[test]
fn matrix_times_vector() {
    let matvec = "
        func @matvec(w: const ptr<f32>, x: const ptr<f32>, out: ptr<f32>, n: i32, d: i32) {
          %0 = view w[#0*n + #1] : tensor<d x n x f32>
          %1 = view x[#0] : tensor<n x f32>
          %2 = constant 0.0:f32
          %3 = dot_general %0, %1, %2, contracting = [1 x 0]
          store out[#0] = %3
        }";
    let inputs = n(3)
        .scalar("d", Scalar::int(I32, 2))
        .array("w", floats(&[1., 2., 3., 4., 5., 6.]))
        .array("x", floats(&[1., 10., 100.]))
        .array("out", floats(&[-1., -1., -1.]));
    let outputs = run(matvec, &inputs).unwrap();
    assert_eq!(outputs.arrays["out"], floats(&[321., 654., -1.]));
    assert_eq!(outputs.arrays["w"], inputs.arrays["w"]);
    // Nothing to do: nothing is written.
    let empty = inputs.scalar("d", Scalar::int(I32, -5));
    assert_eq!(run(matvec, &empty).unwrap().arrays, empty.arrays);
}

#[test]
fn results_are_stored_all_at_once() {
    let swap = "
        func @swap(a: ptr<i32>, b: ptr<i32>, n: i32) {
          %0 = view a[#0] : tensor<n x i32>
          %1 = view b[#0] : tensor<n x i32>
          store a[#0] = %1
          store b[#0] = %0
        }";
    let inputs = n(2).array("a", ints(&[1, 2])).array("b", ints(&[3, 4]));
    let outputs = run(swap, &inputs).unwrap();
    assert_eq!(
        (&outputs.arrays["a"], &outputs.arrays["b"]),
        (&ints(&[3, 4]), &ints(&[1, 2]))
    );
}

#[test]
fn indices_may_be_negative() {
    let shift = "
        func @shift(p: ptr<i32>, n: i32) {
          %0 = view p[#0 - n] : tensor<n x i32>
          store p[#0] = %0
        }";
    let mut buffer = ints(&[7, 8, 0, 0]);
    buffer.origin = 2;
    let outputs = run(shift, &n(2).array("p", buffer)).unwrap();
    assert_eq!(outputs.arrays["p"].data, ints(&[7, 8, 7, 8]).data);
}

#[test]
fn what_is_not_selected_need_not_exist() {
    let shifted = "
        func @f(p: const ptr<i32>, out: ptr<i32>, n: i32) {
          %here = view p[#0] : tensor<n x i32>
          %next = view p[#0 + 1] : tensor<n x i32>
          %i = iota dimension = 0 : tensor<n x i32>
          %last = size n - 1 : tensor<i32>
          %lasts = broadcast_in_dim %last, dimensions = [] : tensor<n x i32>
          %inside = compare LT, %i, %lasts
          %r = select %inside, %next, %here
          store out[#0] = %r
        }";
    let inputs = n(3)
        .array("p", ints(&[1, 2, 3]))
        .array("out", ints(&[0, 0, 0]));
    assert_eq!(
        run(shifted, &inputs).unwrap().arrays["out"],
        ints(&[2, 3, 3])
    );
    let all = shifted.replace("%r = select %inside, %next, %here", "%r = negate %next");
    fails(&all, &inputs, "something outside of an array");
}

#[test]
fn returns_a_value() {
    let maximum = "
        func @maximum(x: const ptr<f32>, n: i32) {
          %0 = view x[#0 + 1] : tensor<(n - 1) x f32>
          %1 = generic x[0] : tensor<f32>
          %2 = reduce %0, %1, reducer = take_if(GT), dimensions = [0]
          return %2
        }";
    let inputs = n(3).array("x", floats(&[1., f32::NAN, 2.]));
    assert_eq!(
        run(maximum, &inputs).unwrap().returned,
        Some(Scalar::f32(2.0))
    );
    let first_is_nan = n(3).array("x", floats(&[f32::NAN, 3., 2.]));
    assert!(
        run(maximum, &first_is_nan)
            .unwrap()
            .returned
            .unwrap()
            .as_f32()
            .is_nan()
    );
}

#[test]
fn scans_keep_what_a_fold_had_on_its_way() {
    let scan = |attributes: &str| {
        let text = format!(
            "func @f(x: const ptr<i32>, out: ptr<i32>, n: i32) {{
               %x = view x[#0*3 + #1] : tensor<n x 3 x i32>
               %start = constant 10:i32
               %r = scan %x, %start, reducer = subtract, {attributes}
               store out[#0*3 + #1] = %r
             }}"
        );
        let inputs = n(2)
            .array("x", ints(&[1, 2, 3, 4, 5, 6]))
            .array("out", ints(&[0; 6]));
        run(&text, &inputs).unwrap().arrays["out"].clone()
    };
    assert_eq!(scan("dimension = 1"), ints(&[9, 7, 4, 6, 1, -5]));
    assert_eq!(scan("dimension = 0"), ints(&[9, 8, 7, 5, 3, 1]));
    assert_eq!(
        scan("dimension = 1, exclusive = true"),
        ints(&[10, 9, 7, 10, 6, 1])
    );
    assert_eq!(
        scan("dimension = 1, reverse = true"),
        ints(&[4, 5, 7, -5, -1, 4])
    );
    assert_eq!(
        scan("dimension = 0, exclusive = true, reverse = true"),
        ints(&[6, 5, 4, 10, 10, 10])
    );
}

#[test]
fn arg_reduce_gives_the_label_of_what_is_kept() {
    let arg = |reducer: &str, x: &[f32]| {
        let text = format!(
            "func @f(x: const ptr<f32>, n: i32) {{
               %x = view x[#0] : tensor<n x f32>
               %i = iota dimension = 0 : tensor<n x i32>
               %start = constant 0.0:f32
               %none = constant -1:i32
               %r = arg_reduce %x, %i, %start, %none, reducer = {reducer}, dimension = 0
               return %r
             }}"
        );
        let inputs = n(x.len() as i128).array("x", floats(x));
        run(&text, &inputs).unwrap().returned.unwrap().as_int()
    };
    let ties = [1., 3., 3., f32::NAN, -5.];
    assert_eq!(arg("take_if(GT)", &ties), 1);
    assert_eq!(arg("take_if(GE)", &ties), 2);
    assert_eq!(arg("take_if(LT)", &ties), 4);
    // `!(acc > NaN)`, and then `!(NaN > -5)`.
    assert_eq!(arg("keep_if(GT)", &ties), 4);
    assert_eq!(arg("keep_if(GE)", &[1., 3., 3.]), 1);
    assert_eq!(arg("take_if(GT)", &[-1., -2.]), -1);
    assert_eq!(arg("take_if(GT)", &[]), -1);
}

#[test]
fn bad_inputs_are_errors() {
    let copy = "
        func @copy(x: const ptr<i32>, out: ptr<i32>, n: i32) {
          %0 = view x[#0] : tensor<n x i32>
          store out[INDEX] = %0
        }";
    let plain = &copy.replace("INDEX", "#0");
    let inputs = n(2).array("x", ints(&[1, 2])).array("out", ints(&[0, 0]));
    assert!(run(plain, &inputs).is_ok());
    fails(
        &copy.replace("INDEX", "0"),
        &inputs,
        "out[0] is stored twice, with different values",
    );
    fails(
        &copy.replace("INDEX", "#0 + 1"),
        &inputs,
        "out[2] lies outside of the array",
    );
    fails(
        plain,
        &n(2).array("x", ints(&[1, 2])),
        "no value is given for 'out'",
    );
    fails(
        plain,
        &inputs.clone().array("x", floats(&[1.])),
        "'x' is i32, and f32 is given",
    );
    fails(
        plain,
        &inputs.clone().scalar("n", Scalar::int(I32, 3)),
        "%0 is not defined at [2]",
    );
    fails(
        plain,
        &inputs.scalar("n", Scalar::int(I32, i32::MAX.into())),
        "has more elements than can be tried",
    );
}
