//! Near loops over time of which rounds leave more to the next ones than the caller's arrays: numbers, arrays of the
//! function's own, and what is returned in the end.

use super::over_time::agree;
use super::{Case, refuses_them};
use super::{kernel, proofs_only, solver};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::{Expr, Function, Len, Overflow};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir;
use tensorize_lift::summarise::{Summariser, summarise};
use tensorize_prove::{Proof, Verdict, prove, prove_generated};

#[test]
fn what_other_rounds_leave_makes_another_kernel() {
    refuses_them("state", "c", "", CASES);
}

const CASES: &[Case] = &[
    // Numbers, and one of them is returned.
    (
        NUMBERS,
        &[
            ("rho = 1", "rho = 2"),
            ("rho = s;", "rho = b;"),
            ("rho = s;", ""),
            ("rho = s;", "if (t > 1) rho = s;"),
            ("s / rho", "s / (t == 2 ? 1 : rho)"),
            ("s / rho", "rho / s"),
            ("return rho", "return rho + 1"),
            ("return rho", "return p[0]"),
            ("double s = 0", "double s = rho"),
            ("t < times", "t + 1 < times"),
            ("x[i] + b * p[i]; rho = s;", "x[i] + b * p[i]; if (rho > 3) return s; rho = s;"),
            ("+ b * p[i]", "+ rho * p[i]"),
        ],
    ),
    // Before the first round they are what was computed then.
    (
        "void f(const double *r, double *y, double *z, int n) { y[0] = -r[0]; double b = 1, a = -r[0];
         for (int k = 1; k < n; k++) { b = (1 - a * a) * b; double s = 0; for (int i = 0; i < k; i++) s += r[k - i - 1] * y[i];
         a = -(r[k] + s) / b; for (int i = 0; i < k; i++) z[i] = y[i] + a * y[k - i - 1];
         for (int i = 0; i < k; i++) y[i] = z[i]; y[k] = a; } }",
        &[
            ("b = 1,", "b = 2,"),
            ("a = -r[0]", "a = r[0]"),
            ("a = -r[0]", "a = -r[1]"),
            ("(1 - a * a) * b", "(1 - a * a)"),
            ("(1 - a * a) * b", "(1 - a) * b"),
            ("s = 0;", "s = a;"),
            ("y[k] = a;", "y[k] = b;"),
            ("y[k] = a;", "y[k] = a; a = 0;"),
            ("k = 1;", "k = 2;"),
        ],
    ),
    // A row of the function's own, and its last element.
    (
        ROW,
        &[
            ("j <= m; j++) row[j] = 0", "j < m; j++) row[j] = 0"),
            ("row[j] = 0", "row[j] = 1"),
            ("return row[m]", "return row[0]"),
            ("return row[m]", "return row[m] + 1"),
            ("d = 0;", "d = 1;"),
            ("d = u;", "d = row[j];"),
            ("d = u;", ""),
            ("d + 1 :", "d + 2 :"),
            ("i < n", "i + 1 < n"),
            ("a[i] == b[j]", "a[j] == b[i]"),
        ],
    ),
    // What inner loops leave to the next round of the outer one.
    (
        "int f(const int *x, int *h, int n, int m) { int best = 0; for (int i = 0; i < n; i++) for (int j = 1; j < m; j++) {
         int v = h[j - 1] ^ x[i * m + j]; if (v < 0) v = 0; h[j] = v; if (v > best) best = v; } return best; }",
        &[
            ("best = 0; for (int i = 0; i < n; i++)", "best = 0; for (int i = 0; i < n; i++, best = 0)"),
            ("best = 0;", "best = 1;"),
            ("v > best", "v < best"),
            ("best = v;", "best = v + 1;"),
            ("return best", "return h[m - 1]"),
            ("h[j - 1]", "h[j]"),
        ],
    ),
    // Down and up again in the same array: each round stores one element, of which the number of the round says where.
    (
        "void f(const double *a, double *b, int n) { for (int i = 0; i < n; i++) { double s = b[i];
         for (int j = 0; j < i; j++) s -= a[i * n + j] * b[j]; b[i] = s; }
         for (int i = n - 1; i >= 0; i--) { double s = b[i]; for (int j = i + 1; j < n; j++) s -= a[i * n + j] * b[j];
         b[i] = s / a[i * n + i]; } }",
        &[
            ("i < n;", "i < n - 1;"),
            ("i >= 0;", "i > 0;"),
            ("i = n - 1;", "i = n - 2;"),
            ("b[i] = s; }", "b[n - 1 - i] = s; }"),
            ("b[i] = s /", "b[0] = s /"),
            ("j = i + 1", "j = i"),
            ("j < i;", "j <= i;"),
        ],
    ),
];

const NUMBERS: &str = "double f(const double *x, double *p, int n, int times) { double rho = 1; for (int t = 0; t < times; t++) {
     double s = 0; for (int i = 0; i < n; i++) s += p[i] * x[i]; double b = s / rho;
     for (int i = 0; i < n; i++) p[i] = x[i] + b * p[i]; rho = s; } return rho; }";

const ROW: &str = "int f(const char *a, const char *b, int n, int m) { int row[64]; for (int j = 0; j <= m; j++) row[j] = 0;
     for (int i = 0; i < n; i++) { int d = 0; for (int j = 0; j < m; j++) { int u = row[j + 1];
     row[j + 1] = a[i] == b[j] ? d + 1 : row[j] > u ? row[j] : u; d = u; } } return row[m]; }";

fn proven(kernel: &Function) -> (tensir::Function, Proof) {
    let mut solver = solver();
    let proposal = summarise(kernel, &mut solver).unwrap();
    let (summary, verdict) = proposal.prove(kernel, &mut solver, &proofs_only());
    match verdict {
        Verdict::Proven(proof) => (summary, proof),
        other => panic!("{other:?}\n{summary}"),
    }
}

/// The summary does what the kernel does, is the same once it was written and read, and does not do without its state.
#[test]
fn what_rounds_leave_is_part_of_the_summary() {
    for source in [NUMBERS, ROW] {
        let kernel = kernel(source);
        let (summary, proof) = proven(&kernel);
        agree(&kernel, &summary, &proof);
        assert_eq!(
            summary.to_string().parse::<tensir::Function>().unwrap(),
            summary
        );
        for i in 0..summary.state.len() {
            let mut less = summary.clone();
            less.state.remove(i);
            assert!(
                less.verify().is_err() || !is_proven(&kernel, &less),
                "{less}"
            );
            // Nor with one that is not in the kernel, or not returned.
            let mut other = summary.clone();
            other.state[i].returned = !other.state[i].returned;
            assert!(!is_proven(&kernel, &other), "{other}");
        }
        // A state that is no parameter is none of the caller's: no guard speaks of it.
        for s in &summary.state {
            let (guards, touched) = (format!("{:?}", proof.guards), &proof.footprints);
            assert!(!guards.contains(&format!("\"{}\"", s.name)), "{guards}");
            assert!(touched.iter().all(|f| f.extent.array != s.name));
        }
    }
}

fn is_proven(kernel: &Function, summary: &tensir::Function) -> bool {
    let verdict = prove(kernel, summary, &Summariser, &mut solver(), &proofs_only());
    matches!(verdict, Verdict::Proven(_))
}

/// C says that the kernel stays within its own row. Callers with slices are asked, and so is whoever calls code that has one
/// of its own.
#[test]
fn an_array_that_lasts_is_long_enough() {
    let kernel = kernel(ROW);
    let (summary, proof) = proven(&kernel);
    let asks = |guards: &[Guard], what: &str| {
        let text: Vec<String> = guards.iter().map(|g| format!("{g}")).collect();
        assert!(text.iter().any(|g| g == what), "{what}: {text:?}");
    };
    asks(&proof.guards, "-m + 63 >= 0");
    asks(proof.asked_of_slices.as_deref().unwrap(), "-m + 63 >= 0");
    let mut shorter = summary.clone();
    let row = shorter.state.iter_mut().find(|s| &*s.name == "row");
    row.unwrap().len = Some(Idx::constant(10));
    let verdict = prove(
        &kernel,
        &shorter,
        &Summariser,
        &mut solver(),
        &proofs_only(),
    );
    match verdict {
        Verdict::Proven(proof) => asks(&proof.guards, "-m + 9 >= 0"),
        other => panic!("{other:?}"),
    }
    // Generated code is asked how long its own is.
    let code = |len: Len| {
        let mut code = kernel.clone();
        code.overflow = Overflow::Wraps;
        let row = code.arrays.iter_mut().find(|a| &*a.name == "row").unwrap();
        row.len = len;
        code
    };
    let judge = |len: Len| {
        let code = code(len);
        let options = proofs_only();
        let verdict = prove_generated(
            &code,
            &summary,
            &proof,
            &Summariser,
            &mut solver(),
            &options,
        );
        matches!(verdict, Verdict::Proven(_))
    };
    let number = |n: i128| Expr::int(ScalarType::I64, n);
    let m = Expr::convert(ScalarType::I64, Expr::var("m", ScalarType::I32));
    assert!(judge(Len::Fixed(64)));
    assert!(judge(Len::Of(number(64))));
    assert!(!judge(Len::Fixed(63)));
    assert!(!judge(Len::Of(number(63))));
    assert!(!judge(Len::Of(m.clone())));
    assert!(!judge(Len::Of(Expr::binary(BinOp::Add, m, number(1)))));
    assert!(!judge(Len::Touched));
}

/// Kernels, and summaries that would be right if arrays that last held what they don't.
#[test]
fn what_lasts_holds_nothing_before_it_is_set() {
    let rounds = |state: &str, value: &str| {
        let text = format!(
            "func @f(x: const ptr<i32>, y: ptr<i32>, n: i32, times: i32) {{
               state {state}
               rounds round < times
               %0 = generic {value} : tensor<n x i32>
               store y[#0] = %0
             }}"
        );
        text.parse::<tensir::Function>()
            .unwrap_or_else(|e| panic!("{e}"))
    };
    let code = |own: &str, value: &str| {
        kernel(&format!(
            "void f(const int *x, int *y, int n, int times) {{ {own} for (int t = 0; t < times; t++)
             for (int i = 0; i < n; i++) y[i] = {value}; }}"
        ))
    };
    // A table is no state: code would not have its values.
    let table = code("static const int at[64] = {3, 1, 4, 1};", "y[i] ^ at[i]");
    assert!(!is_proven(
        &table,
        &rounds("at: i32[64]", "xor(y[#0], at[#0])")
    ));
    // No guard can ask what only rounds have.
    let places = code("int at[64];", "y[i] ^ x[at[i]]");
    let summary = rounds("at: i32[64]", "xor(y[#0], x[value(at[#0])])");
    assert!(!is_proven(&places, &summary), "{summary}");
    // What they are is fine where nothing has to be asked.
    let own = code("int at[64];", "y[i] ^ at[i]");
    let summary = rounds("at: i32[64]", "xor(y[#0], at[#0])");
    let verdict = prove(&own, &summary, &Summariser, &mut solver(), &proofs_only());
    assert!(matches!(verdict, Verdict::Proven(_)), "{verdict:?}");
}

/// How far an array is read may be what loops have counted: nothing that can be asked before a call.
#[test]
fn what_only_loops_know_is_asked_of_no_call() {
    let unpacked = kernel(
        "void f(int n, const double *packed, double *a, int lda) { int k = 0; for (int j = 0; j < n; j++)
         for (int i = 0; i <= j; i++) { for (int l = 0; l < i; l++) k++; a[j * lda + i] = packed[k++]; } }",
    );
    let mut solver = solver();
    let proposal = summarise(&unpacked, &mut solver).unwrap();
    let (_, verdict) = proposal.prove(&unpacked, &mut solver, &proofs_only());
    if let Verdict::Proven(proof) = &verdict {
        panic!("{:?}", proof.guards);
    }
    assert!(
        format!("{verdict:?}").contains("what only loops know"),
        "{verdict:?}"
    );
}
