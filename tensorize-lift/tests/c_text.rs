//! C on the left, LoopIR on the right.

mod common;

use tensorize_ir::scalar::ScalarType;
use tensorize_lift::c::Parsed;

fn parsed(source: &str, args: &[&str]) -> Vec<Parsed> {
    common::parsed("kernel.c", source, args)
}

/// The last function of `source` is lowered to this text, loop numbers and lines left aside.
fn lowers_with(source: &str, args: &[&str], expected: &str) {
    let functions = parsed(source, args);
    let kernel = functions
        .last()
        .unwrap()
        .lowered
        .as_ref()
        .unwrap_or_else(|p| panic!("{source}: {p:?}"));
    let text = kernel.to_string();
    let words = |s: &str| -> Vec<String> {
        s.split_whitespace()
            .filter(|w| !w.starts_with(['#', '@']))
            .map(String::from)
            .collect()
    };
    assert_eq!(words(&text), words(expected), "{source}\n{text}");
}

fn lowers(source: &str, expected: &str) {
    lowers_with(source, &[], expected);
}

#[test]
fn conversions_are_spelled_out() {
    lowers(
        "void f(const unsigned char *a, unsigned char *b, int n) { for (int i = 0; i < n; i++) b[i] = 255 - a[i]; }",
        "void f(const ui8 *a, ui8 *b, i32 n) {
           i32 i = 0;
           while (i < n) { b[i] = (ui8)(255:i32 - (i32)a[i]); i = i + 1; }
         }",
    );
    lowers(
        "void f(float *x, short s) { *x *= 0.5; x[1] += s; }",
        "void f(f32 *x, i16 s) {
           x[0] = (f32)((f64)x[0] * 0.5);
           x[1] = x[1] + (f32)(i32)s;
         }",
    );
}

#[test]
fn types_come_from_the_target() {
    let source = "void f(long *a, char *c) { *a = c[0]; }";
    lowers_with(
        source,
        &["--target=x86_64-linux-gnu"],
        "void f(i64 *a, i8 *c) { a[0] = (i64)c[0]; }",
    );
    lowers_with(
        source,
        &["--target=i686-linux-gnu"],
        "void f(i32 *a, i8 *c) { a[0] = (i32)c[0]; }",
    );
    lowers_with(
        source,
        &["--target=aarch64-linux-gnu"],
        "void f(i64 *a, ui8 *c) { a[0] = (i64)c[0]; }",
    );
    lowers_with(
        source,
        &["-funsigned-char", "--target=x86_64-linux-gnu"],
        "void f(i64 *a, ui8 *c) { a[0] = (i64)c[0]; }",
    );
    lowers_with(
        "int f(int x) { return x + 1; }",
        &["-fwrapv"],
        "i32 f(i32 x) wraps { return x + 1; }",
    );
}

#[test]
fn pointers_become_offsets() {
    lowers(
        "float f(const float *a, int n) { float s = 0; while (n-- > 0) s += *a++; return s; }",
        "f32 f(const f32 *a, i32 n) {
           i64 a.2 = 0;
           f32 s = 0.0;
           while (n > 0) { n = n - 1; s = s + a[a.2]; a.2 = a.2 + 1; }
           n = n - 1;
           return s;
         }",
    );
    lowers(
        "void f(int n, int m, float a[n][m]) { float *row = a[2]; row[1] = 0; }",
        "void f(i32 n, i32 m, f32 *a) { i64 row = 2:i64 * (i64)m; a[row + 1] = 0.0; }",
    );
}

#[test]
fn jumps_become_structure() {
    lowers(
        "int f(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) { if (a[i] < 0) continue; s += a[i]; } return s; }",
        "i32 f(const i32 *a, i32 n) {
           i32 s = 0;
           i32 i = 0;
           while (i < n) { if (a[i] >= 0) { s = s + a[i]; } i = i + 1; }
           return s;
         }",
    );
    lowers(
        "void f(int *a, int n) { for (int i = 0; i < n; i++) { if (a[i] == 0) break; a[i] = 1; } }",
        "void f(i32 *a, i32 n) {
           i32 i = 0;
           i1 left = 0;
           while (!left && i < n) {
             if (a[i] == 0) { left = 1; } else { a[i] = 1; }
             if (!left) { i = i + 1; }
           }
         }",
    );
    lowers(
        "void f(int *a, int n) { int i = 0; for (;;) { if (i == n) break; a[i++] = 1; } }",
        "void f(i32 *a, i32 n) { i32 i = 0; while (i != n) { a[i] = 1; i = i + 1; } }",
    );
}

#[test]
fn helpers_are_inlined_and_macros_expanded() {
    lowers(
        "#define SQ(x) ((x) * (x))
         static inline int clamp(int v) { if (v > 255) return 255; return v; }
         void f(int *a) { a[0] = clamp(SQ(a[1])); }",
        "void f(i32 *a) {
           i32 v = a[1] * a[1];
           if (v > 255) { i32 clamp = 255; } else { clamp = v; }
           a[0] = clamp;
         }",
    );
    // A function of one's own is what it says, not what its name says.
    lowers(
        "static double exp(double x) { return x + 1; } double f(double x) { return exp(x); }",
        "f64 f(f64 x) { f64 x.2 = x; f64 exp = x.2 + 1.0; return exp; }",
    );
}

#[test]
fn statement_expressions() {
    lowers(
        "#define MAX(a, b) ({ __typeof__(a) _a = (a), _b = (b); _a > _b ? _a : _b; })
         int f(const int *a, int m) { m = MAX(m, a[1]); return m; }",
        "i32 f(const i32 *a, i32 m) {
           i32 _a = m;
           i32 _b = a[1];
           m = _a > _b ? _a : _b;
           return m;
         }",
    );
}

#[test]
fn effects_in_constants_are_not_lost() {
    lowers(
        "int f(int n) { int k = 0; while (k++, 1) { if (k > n) return k; } return 0; }",
        "i32 f(i32 n) {
           i32 k = 0;
           i32 result = 0;
           i1 done = 0;
           k = k + 1;
           while (!done) {
             if (k > n) { result = k; done = 1; }
             if (!done) { k = k + 1; }
           }
           if (!done) { result = 0; done = 1; }
           return result;
         }",
    );
}

#[test]
fn signatures_and_annotations() {
    let functions = parsed(
        "#define TENSORIZE_KERNEL __attribute__((annotate(\"tensorize\")))
         typedef unsigned char byte;
         TENSORIZE_KERNEL void f(const byte *restrict a, float b[][4], int n) { b[0][0] = a[n]; }
         static long g(double x) { return x; }",
        &[],
    );
    let f = &functions[0];
    assert!(f.annotated && !f.is_static);
    let s = f.signature.as_ref().unwrap();
    let a = &s.params[0];
    assert_eq!(a.c_type, "const uint8_t *restrict");
    assert_eq!(a.scalar, ScalarType::U8);
    assert!(a.pointer && a.is_const && a.restrict);
    assert_eq!(s.params[1].c_type, "float *");
    assert!(s.params[1].pointer && !s.params[1].is_const);
    assert!(s.ret.is_none());
    let g = &functions[1];
    assert!(!g.annotated && g.is_static);
    assert_eq!(
        g.signature.as_ref().unwrap().ret,
        Some(("long".into(), ScalarType::I64))
    );
}

/// By its parameters' types, too: no shim in another file could have them.
#[test]
fn what_no_other_file_can_name_is_static() {
    let source = "namespace { struct Line { double slope; }; int f(int x) { return x; } }
         double g(const Line &l, double x) { return l.slope * x; }
         double h(double x) { return x; }
         static double i(double x) { return x; }
         namespace named { double j(double x) { return x; } }";
    let functions = common::parsed("kernel.cpp", source, &[]);
    let hidden = functions.iter().filter(|f| f.is_static);
    let hidden: Vec<&str> = hidden.map(|f| f.name.as_str()).collect();
    assert_eq!(hidden, ["f", "g", "i"]);
    let g = functions.iter().find(|f| f.name == "g").unwrap();
    let source = g.signature.as_ref().unwrap().source.as_ref().unwrap();
    assert_eq!(source.params[0].ty, "const Line &");
}

#[test]
fn what_the_text_does_not_fix_is_real_at_best() {
    let fused = |source: &str| {
        let all = parsed(source, &[]);
        all.last().unwrap().lowered.as_ref().unwrap().fused
    };
    let of =
        |body: &str| format!("#include <math.h>\nfloat f(float x, float y) {{ return {body}; }}");
    // Which of two zeros it is, and how often a power is rounded, are open.
    for body in [
        "fmaxf(x, y)",
        "fminf(x, 0)",
        "fmaxf(-0.0f, x)",
        "powf(x, 2)",
        "powf(2, x)",
    ] {
        assert!(fused(&of(body)), "{body}");
    }
    for body in [
        "fmaxf(x, 1)",
        "fminf(-255.f, y)",
        "powf(x, y)",
        "x > y ? x : y",
    ] {
        assert!(!fused(&of(body)), "{body}");
    }
    // The compiler is let loose on one function of a file, and so on all that have floats.
    let loose = "__attribute__((optimize(\"fast-math\"))) float g(float x) { return x / 3; }\n";
    assert!(fused(&format!(
        "{loose}float f(float x) {{ return x / 7; }}"
    )));
    assert!(!fused(&format!("{loose}int f(int x) {{ return x / 7; }}")));
}

/// What a counter holds when it is set anew has nothing to do with what it held; what it holds after its loop is still there.
#[test]
fn counters_that_are_used_again_are_others() {
    lowers(
        "void f(int *a, int n, int m) { int i; for (i = 0; i < n; i++) a[i] = 1; a[0] = i; i = i + m; a[1] = i; \
         for (i = m; i < n; i++) a[i] = 2; a[2] = i; i = i + m; for (; i < n; i++) a[i] = 3; i = 5; a[3] = i; }",
        "void f(i32 *a, i32 n, i32 m) {
           i32 i = 0;
           while (i < n) {
             a[i] = 1;
             i = i + 1;
           }
           a[0] = i;
           i = i + m;
           a[1] = i;
           i32 i.2 = m;
           while (i.2 < n) {
             a[i.2] = 2;
             i.2 = i.2 + 1;
           }
           a[2] = i.2;
           i.2 = i.2 + m;
           while (i.2 < n) {
             a[i.2] = 3;
             i.2 = i.2 + 1;
           }
           i = 5;
           a[3] = i;
         }",
    );
}

#[test]
fn hints_say_nothing_of_values() {
    lowers(
        "int f(int a, int b) { return __builtin_expect(a, 1) + __builtin_unpredictable(b); }",
        "i32 f(i32 a, i32 b) {
           return (i32)((i64)a + (i64)b);
         }",
    );
}
