use super::interp::{Access, Stop, run, run_traced};
use super::*;
use crate::memory::{Buffer, Inputs};
use ScalarType::*;

fn parse(text: &str) -> Function {
    match text.parse() {
        Ok(f) => f,
        Err(e) => panic!("{e}\n{text}"),
    }
}

fn round_trips(text: &str) -> Function {
    let f = parse(text);
    let printed = f.to_string();
    assert_eq!(parse(&printed), f, "{printed}");
    assert_eq!(parse(&printed).to_string(), printed);
    f
}

const DOT: &str = "\
f32 dot(i32 n, const f32 *x, const f32 *restrict y) {
  f32 s = 0.0;
  i32 i = 0;
  while #1 @3 (i < n) {
    s = s + x[i] * y[i];
    i = i + 1;
  }
  return s;
}
";

fn floats(values: &[f32]) -> Buffer {
    Buffer::new(F32, values.iter().map(|v| Scalar::f32(*v)).collect())
}

fn ints(ty: ScalarType, values: &[i128]) -> Buffer {
    Buffer::new(ty, values.iter().map(|v| Scalar::int(ty, *v)).collect())
}

fn n(value: i128) -> Inputs {
    Inputs::default().scalar("n", Scalar::int(I32, value))
}

#[test]
fn text_is_what_the_documentation_shows() {
    assert_eq!(round_trips(DOT).to_string(), DOT);
}

#[test]
fn every_construct_reads_back() {
    round_trips(
        "void all(i32 n, const i8 *b) {
           local f32 tmp[4]; table i32 lut[3] = {1, -2, 3}; f32 s = 0.0; f64 m = -inf;
           simd(add s, maximum m) while #7 @12 (n > 0) { s = s + tmp[0]; n = n - lut[1]; }
         }",
    );
    let f = round_trips(
        "i32 g(i32 n, ui8 *out, const i8 *b, f64 *d, i64 k, f32 t) wraps {
           i32 a = -(3:i32) - -4 + -n * ~n % (n - (n - 1)) >> 2 & 7 | n ^ 1:i32 << (n + 1);
           i32 b2 = (i32)((ui32)a >>> 3) + (a < 0 ? -a : a) - (n < 3 && a > 2 || !(a == 4) ? 1 : 2:i32);
           d[k + 1] = maximum(d[k], -0.0) + power(nan:f64, inf) + d[-1] * sqrt((f64)t) + 0x7ff0000000000001:f64;
           out[n] = (ui8)(b[a] == 3 ? (i32)b[n] : 5);
           f32 u = bitcast_convert(f32, a) - 1e-5;
           do #4 { if (u > 1.0) { a = 1; } else if (u > 0.5) { a = 2; } else { a = 3; } } while (a < 4);
           parallel for #9 (i32 i = 0; i < n; i = i + 1) { out[i] = 255; }
           return (i32)(i1)a;
         }",
    );
    assert_eq!(f.overflow, Overflow::Wraps);
}

#[test]
fn arrays_that_are_apart_read_back() {
    let f = round_trips("void f(i32 *x, i32 *y, i32 *z) fused apart x, y apart z, y { x[0] = 1; }");
    assert_eq!(
        f.apart,
        [("x".into(), "y".into()), ("z".into(), "y".into())]
    );
    for text in [
        "void f(i32 *x, i32 n) apart x, n { x[0] = 1; }",
        "void f(i32 *x) apart x, t { local i32 t[1]; x[0] = 1; }",
    ] {
        let error = text.parse::<Function>().unwrap_err().message;
        assert!(error.contains("no array parameter"), "{text}: {error}");
    }
}

#[test]
fn a_local_array_is_as_long_as_the_arguments_say() {
    let f = round_trips(
        "void f(i32 n, i32 *x) wraps { local i32 t[of (i64)n + 1]; local i32 u[]; local i32 v[4]; local i32 w[of 4]; t[n] = n; x[0] = t[n]; t[n + x[1]] = 3; }",
    );
    let lens: Vec<bool> = f.arrays.iter().map(|a| a.len.fixed().is_some()).collect();
    assert_eq!(lens, [false, false, true, false]);
    let with = |more: i128| n(2).array("x", ints(I32, &[0, more]));
    let mut inputs = with(0);
    assert_eq!(run(&f, &mut inputs, 100), Ok(None));
    assert_eq!(inputs.arrays["x"], ints(I32, &[2, 0]));
    assert!(matches!(
        run(&f, &mut with(1), 100),
        Err(Stop::OutOfBounds { index: 3, .. })
    ));
    let error = |len: &str| {
        let text = format!("void f(i32 n, i32 *x) {{ local i32 t[of {len}]; i64 k = 0; }}");
        text.parse::<Function>().unwrap_err().message
    };
    for (len, expected) in [
        ("(i64)x[0]", "the length of 't' is"),
        ("n", "i32, not i64"),
        ("k", "before it has a type"),
    ] {
        assert!(error(len).contains(expected), "{len}: {}", error(len));
    }
}

#[test]
fn names_that_are_words_of_the_language_are_quoted() {
    round_trips("void f(i32 `loop`, i32 `while`, ui8 *`ui8`) { `ui8`[`while`] = (ui8)`loop`; }");
    round_trips("void f(i32 i#2, i32 add) { i#2 = add + i#2; }");
    round_trips("void f(i32 `a b`) { `a b` = 1; }");
}

#[test]
fn a_variable_read_above_its_assignment_is_declared() {
    let f = round_trips(
        "void f(i32 n, i32 *x) { var i32 t; while (n > 0) { x[0] = t; i32 t = 4; n = n - 1; } }",
    );
    assert!(f.to_string().contains("var i32 t;"));
}

#[test]
fn errors_name_the_place() {
    let error = |text: &str| text.parse::<Function>().unwrap_err();
    let e = error("void f(i32 n) {\n  m = 3;\n}");
    assert_eq!((e.line, e.column), (2, 3));
    for (text, expected) in [
        ("void f(i32 n) { i32 a = 1 + 2; }", "needs its type"),
        ("void f(i32 n) { n = 1:i64; }", "is i64, not i32"),
        ("void f(f32 n) { n = n & n; }", "and of f32"),
        ("void f(const ui8 *x) { x[0] = 1; }", "const"),
        ("void f(i32 n) { if (n) { } }", "is i32, not i1"),
        ("i32 f(i32 n) { return; }", "lacks"),
        (
            "void f(i32 n) { while #1 (n > 0) { while #1 (n > 0) { } } }",
            "number 1",
        ),
        ("void f(i32 n) { n = frob(n); }", "no operator"),
        ("void f(i32 n) { n = x[0]; }", "no array"),
        ("void f(i32 n) { ", "the end"),
        ("void f(ui8 n) { n = 256; }", "not a value"),
        ("void f(i32 n) { n = n; } }", "the end of the text"),
        ("void f(i32 n, i32 n) { }", "two parameters"),
        ("void f(ä) { }", "no place"),
    ] {
        let e = error(text);
        assert!(e.message.contains(expected), "{text}: {e}");
    }
    let deep = format!(
        "void f(i32 n) {{ n = {}n{}; }}",
        "(".repeat(10_000),
        ")".repeat(10_000)
    );
    assert!(error(&deep).message.contains("nested"));
    let long = format!("void f(i32 n) {{ n = n{}; }}", " + n".repeat(100_000));
    assert!(error(&long).message.contains("too long"));
}

#[test]
fn a_dot_product_runs() {
    let mut inputs = n(3)
        .array("x", floats(&[1., 2., 3.]))
        .array("y", floats(&[4., 5., 6.]));
    assert_eq!(
        run(&parse(DOT), &mut inputs, 1000),
        Ok(Some(Scalar::f32(32.0)))
    );
    assert_eq!(inputs.arrays["x"], floats(&[1., 2., 3.]));
}

#[test]
fn accesses_are_recorded_in_order() {
    let f = parse("void f(i32 n, i32 *x) { x[n] = x[n - 1] + x[-1]; }");
    let mut inputs = n(1).array(
        "x",
        Buffer {
            origin: 1,
            ..ints(I32, &[5, 7, 0])
        },
    );
    let (result, trace) = run_traced(&f, &mut inputs, 100);
    assert_eq!(result, Ok(None));
    assert_eq!(inputs.arrays["x"].data[2].as_int(), 12);
    let at = |index, write| Access {
        array: "x".into(),
        index,
        write,
    };
    assert_eq!(trace, [at(0, false), at(-1, false), at(1, true)]);
}

#[test]
fn undefined_behaviour_stops_the_run() {
    let stop = |body: &str, arg: i128| {
        let f = parse(&format!("i32 f(i32 n, i32 *x) {body}"));
        let mut inputs = n(arg).array("x", ints(I32, &[1, 2]));
        run(&f, &mut inputs, 100).map_err(|s| s.to_string())
    };
    let max = i32::MAX.into();
    assert_eq!(
        stop("{ return n + 1; }", max),
        Err("signed overflow in 'n + 1'".into())
    );
    assert_eq!(
        stop("wraps { return n + 1; }", max),
        Ok(Some(Scalar::int(I32, i32::MIN.into())))
    );
    assert_eq!(
        stop("wraps { return n / (n + 1); }", -1).unwrap_err(),
        "division by zero in 'n / (n + 1)'"
    );
    assert!(stop("wraps { return (n - 1) / -1; }", i128::from(i32::MIN) + 1).is_err());
    assert_eq!(
        stop("{ while @7 (n > 0) { n = n << 40; } return 0; }", 1).unwrap_err(),
        "shift by a negative count, or by the width or more in 'n << 40', in the loop of line 7"
    );
    assert!(
        stop("{ return (i32)((f32)n * 1e30:f32); }", 1)
            .unwrap_err()
            .starts_with("conversion")
    );
    assert!(
        stop("wraps { return (i32)((f32)n * 1e30:f32); }", 1)
            .unwrap_err()
            .starts_with("conversion")
    );
    assert_eq!(
        stop("{ return x[n]; }", 2).unwrap_err(),
        "reads x[2], outside of the array"
    );
    assert_eq!(
        stop("{ x[n] = 0; return 0; }", -1).unwrap_err(),
        "writes x[-1], outside of the array"
    );
    assert_eq!(
        stop("{ while (n == n) { } return 0; }", 0).unwrap_err(),
        Stop::StepLimit.to_string()
    );
    assert!(
        stop("{ n = 1; }", 0)
            .unwrap_err()
            .contains("without a return")
    );
    assert_eq!(
        stop("{ if (n > 0) { i32 v = 3; } return v; }", 0).unwrap_err(),
        "reads v, which has no value yet"
    );
    assert_eq!(
        stop("{ local i32 t[2]; t[0] = 1; return t[n]; }", 1).unwrap_err(),
        "reads t[1], which has no value yet"
    );
    assert_eq!(
        stop("{ table i32 t[2] = {8, 9}; return t[n]; }", 1),
        Ok(Some(Scalar::int(I32, 9)))
    );
    // What is not selected is not evaluated.
    assert_eq!(
        stop("{ return n != 0 ? 6:i32 / n : 0; }", 0),
        Ok(Some(Scalar::int(I32, 0)))
    );
}

#[test]
fn arguments_are_checked() {
    let f = parse("void f(i32 n, i32 *x) { }");
    let bad = |mut inputs: Inputs| matches!(run(&f, &mut inputs, 9), Err(Stop::BadCall(_)));
    assert!(bad(n(0)));
    assert!(bad(n(0).array("x", floats(&[1.0]))));
    assert!(bad(Inputs::default().array("x", ints(I32, &[]))));
    assert!(!bad(n(0).array("x", ints(I32, &[]))));
}

/// Any well-typed expression.
fn any_expr(rng: &mut crate::inputs::Rng, ty: ScalarType, depth: u32) -> Expr {
    use crate::inputs::{Palette, edge_values};
    let of = |rng: &mut _, ty| any_expr(rng, ty, depth - 1);
    let any_type = |rng: &mut crate::inputs::Rng| *rng.pick(&ScalarType::ALL);
    if depth == 0 {
        return match rng.below(4) {
            0 => Expr::Const(*rng.pick(&edge_values(ty))),
            1 => Expr::Const(Palette::All.value(ty, rng)),
            _ => Expr::var(format!("v_{ty}"), ty),
        };
    }
    match rng.below(9) {
        0 => any_expr(rng, ty, 0),
        1 => {
            let index = of(rng, I64);
            Expr::load(format!("a_{ty}"), ty, index)
        }
        2 => {
            let from = any_type(rng);
            Expr::Convert(ty, of(rng, from).into())
        }
        3 => {
            let all = ScalarType::ALL;
            let same: Vec<_> = all.into_iter().filter(|t| t.bits() == ty.bits()).collect();
            let from = *rng.pick(&same);
            Expr::Bitcast(ty, of(rng, from).into())
        }
        4 => {
            let c = of(rng, I1);
            Expr::Select(c.into(), of(rng, ty).into(), of(rng, ty).into())
        }
        5 => {
            let ops: Vec<_> = UnOp::ALL.iter().filter(|o| o.accepts(ty)).collect();
            Expr::Unary(**rng.pick(&ops), of(rng, ty).into())
        }
        6 if ty == I1 => {
            let of_type = any_type(rng);
            let op = *rng.pick(CmpOp::ALL);
            Expr::compare(op, of(rng, of_type), of(rng, of_type))
        }
        _ => {
            let ops: Vec<_> = BinOp::ALL.iter().filter(|o| o.accepts(ty)).collect();
            Expr::binary(**rng.pick(&ops), of(rng, ty), of(rng, ty))
        }
    }
}

#[test]
fn any_expression_reads_back() {
    let mut params = Vec::new();
    for ty in ScalarType::ALL {
        params.push(Param::Scalar {
            name: format!("v_{ty}").into(),
            ty,
        });
        let name = format!("a_{ty}").into();
        params.push(Param::Array {
            name,
            elem: ty,
            is_const: false,
            restrict: false,
        });
    }
    let mut rng = crate::inputs::Rng::new(1);
    for round in 0..3000 {
        let ty = *rng.pick(&ScalarType::ALL);
        let value = any_expr(&mut rng, ty, 1 + round % 5);
        let body = vec![
            Stmt::Store {
                array: format!("a_{ty}").into(),
                index: any_expr(&mut rng, I64, round % 3),
                value: value.clone(),
            },
            Stmt::Assign {
                var: "w".into(),
                ty,
                value: value.clone(),
            },
            Stmt::Return(Some(value)),
        ];
        let f = Function {
            name: "any".into(),
            params: params.clone(),
            ret: Some(ty),
            overflow: Overflow::Undefined,
            fused: false,
            apart: vec![],
            arrays: vec![],
            body,
        };
        assert_eq!(f.validate(), Ok(()));
        let text = f.to_string();
        assert_eq!(parse(&text), f, "{text}");
    }
}
