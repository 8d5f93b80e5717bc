//! Rows that each round of a loop writes anew and reads back, and numbers in memory that the rounds hand on.

use super::{Case, kernel, proofs_only, refuses_them, solver};
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::Loop;
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::Scalar;
use tensorize_lift::summarise::{Summariser, summarise};
use tensorize_prove::chain::Effect;
use tensorize_prove::exec::{Executor, State, Stuck};
use tensorize_prove::loops::{ClosedForm, Oracle};
use tensorize_prove::{Options, Verdict, prove};

#[test]
fn rows_that_are_written_anew() {
    refuses_them("rows", "c", "", ROWS);
}

#[test]
fn first_and_last_columns() {
    refuses_them("walls", "c", "", WALLS);
}

#[test]
fn numbers_in_memory_that_others_look_at() {
    refuses_them("cells", "c", "", CELLS);
}

const ROW: &str = "void f(const int *src, int *dst, int w, int h) { int line[640]; for (int y = 0; y < h; y++) { for (int x = 0; x < w; x++) line[x] = src[y * w + x] * 2; for (int x = 1; x < w; x++) dst[y * w + x] = line[x] + line[x - 1]; } }";

const ROWS: &[Case] = &[
    // Written anew in the rounds of two loops, of which the inner one may have none.
    (
        "void f(const float *restrict x, float *restrict o, int n, int m) { float t[72]; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {
         for (int k = 0; k < 9; k++) for (int l = 0; l < 8; l++) t[k * 8 + l] = x[(i * m + j) * 8 + l];
         for (int k = 0; k < 72; k++) o[(i * m + j) * 72 + k] = t[71 - k]; } }",
        &[
            ("t[k * 8 + l] = x", "if (l != j) t[k * 8 + l] = x"),
            ("t[k * 8 + l] = x", "if (i > 0) t[k * 8 + l] = x"),
            ("k < 9", "k < 8"),
            ("l = 0; l < 8", "l = j; l < 8"),
            ("t[k * 8 + l]", "t[k * 7 + l]"),
            ("t[71 - k]", "t[k]"),
            ("t[71 - k]", "t[70]"),
            ("o[(i * m + j) * 72 + k]", "o[(i * m + j) * 72 + 71 - k]"),
            ("x[(i * m + j) * 8 + l]", "x[j * 8 + l]"),
        ],
    ),
    (
        ROW,
        &[
            ("line[x] = src", "if (src[y * w + x] > 0) line[x] = src"),
            ("line[x] + line[x - 1]", "line[x] + line[w - 1]"),
            ("x < w; x++) line", "x < w - y; x++) line"),
            ("x < w; x++) line", "x < w - 1; x++) line"),
            ("src[y * w + x]", "src[x]"),
            ("line[x - 1]", "line[0]"),
        ],
    ),
    (
        "void f(const int *src, int *dst, int h) { int row[4]; for (int y = 0; y < h; y++) { row[0] = src[y]; row[1] = row[0] * 2; row[2] = row[1] + 1; row[3] = row[2] ^ row[0]; for (int i = 0; i < 4; i++) dst[4 * y + i] = row[3 - i]; } }",
        &[
            ("row[2] = row[1] + 1", "row[2] = row[1] + 2"),
            ("row[0] = src[y]", "if (!y) row[0] = src[y]"),
            ("row[3 - i]", "row[i]"),
        ],
    ),
];

const WALLS: &[Case] = &[
    (
        "void f(float *v, int nx, int ny) { for (int i = 0; i < nx; i++) { v[i] = 1; v[(ny - 1) * nx + i] = 2; } for (int j = 0; j < ny; j++) { v[j * nx] = 3; v[j * nx + nx - 1] = 4; } }",
        &[
            ("nx - 1] = 4", "nx] = 4"),
            ("nx - 1] = 4", "nx - 2] = 4"),
            ("nx - 1] = 4", "nx - 1] = 3"),
            ("v[j * nx] = 3", "v[j * nx + 1] = 3"),
            ("int j = 0", "int j = 1"),
            ("j < ny;", "j < ny - 1;"),
            ("(ny - 1) * nx + i", "(ny - 2) * nx + i"),
            ("v[(ny - 1) * nx + i]", "v[(ny - 1) * nx]"),
        ],
    ),
    (
        "void f(float *v, int nx, int ny) { for (int j = 0; j < ny; j++) { v[j * nx] = v[j * nx + nx - 2]; v[j * nx + nx - 1] = v[j * nx + 1]; } }",
        &[
            ("nx - 2]", "nx - 1]"),
            ("nx - 2]", "nx - 3]"),
            ("v[j * nx + 1]", "v[j * nx]"),
            ("v[j * nx + 1]", "v[j * nx + nx]"),
            ("v[j * nx + nx - 1] =", "v[j * nx + nx] ="),
            ("v[j * nx] =", "v[j * nx + 1] ="),
        ],
    ),
    (
        "void f(float *v, int nx, int ny) { for (int j = 0; j < ny; j++) { v[j * nx] = v[j * nx + 1]; v[j * nx + nx - 1] = v[j * nx + nx - 2]; } }",
        &[
            ("v[j * nx + 1]", "v[j * nx + 2]"),
            ("nx - 2]", "nx - 1]"),
            ("v[j * nx] =", "v[j * nx + nx] ="),
        ],
    ),
    // The last row is one of those whose last place was set.
    (
        "void f(int *v, int *out, int nx, int ny) { for (int j = 0; j < ny; j++) v[j * nx + nx - 1] = 4; for (int i = 0; i < nx; i++) out[i] = v[(ny - 1) * nx + i]; }",
        &[
            (
                "for (int j = 0; j < ny; j++) v[j * nx + nx - 1] = 4; for (int i = 0; i < nx; i++) out[i] = v[(ny - 1) * nx + i];",
                "for (int i = 0; i < nx; i++) out[i] = v[(ny - 1) * nx + i]; for (int j = 0; j < ny; j++) v[j * nx + nx - 1] = 4;",
            ),
            ("j < ny", "j < ny - 1"),
            ("j < ny", "j + 2 < ny"),
            ("nx - 1] = 4", "nx - 2] = 4"),
            ("nx - 1] = 4", "nx - 1] = 5"),
            ("(ny - 1) * nx + i", "(ny - 2) * nx + i"),
        ],
    ),
];

const CELLS: &[Case] = &[
    (
        "void f(float *restrict z, const float *restrict x, float *restrict y, float a, int n) { for (int i = 0; i < n; i++) { *z = x[i] + a * *z; y[i] = *z; } }",
        &[
            (
                "*z = x[i] + a * *z; y[i] = *z;",
                "y[i] = *z; *z = x[i] + a * *z;",
            ),
            ("y[i] = *z", "y[i] = *z * a"),
            ("x[i] + a * *z", "x[i] - a * *z"),
            ("y[i] = *z", "y[i] = x[i] + a * *z"),
            ("x[i] + a * *z;", "x[i] + a * z[1];"),
        ],
    ),
    (
        "struct biquad { int b0, b1, b2, a1, a2, z1, z2; }; void f(struct biquad *q, const short *restrict x, short *restrict y, int n) { for (int i = 0; i < n; i++) { unsigned v = q->b0 * (unsigned)x[i] + q->z1; q->z1 = (unsigned)q->b1 * x[i] - (unsigned)q->a1 * v + q->z2; q->z2 = (unsigned)q->b2 * x[i] - (unsigned)q->a2 * v; y[i] = v; } }",
        &[
            ("+ q->z2; q->z2 = ", "; q->z2 = q->z2 + "),
            ("x[i] + q->z1;", "x[i] + q->z2;"),
            ("y[i] = v", "y[i] = q->z1"),
            ("- (unsigned)q->a2 * v;", "+ (unsigned)q->a2 * v;"),
        ],
    ),
    (
        "void f(int *restrict peak, const int *restrict x, int *restrict y, int n) { for (int i = 0; i < n; i++) { if (x[i] > *peak) *peak = x[i]; y[i] = *peak - x[i]; } }",
        &[
            ("x[i] > *peak", "x[i] < *peak"),
            ("y[i] = *peak", "y[i] = peak[1]"),
            ("*peak = x[i]; y", "*peak = x[i] + 1; y"),
        ],
    ),
];

/// What the summariser says, with other conditions for what was written into arrays of the function's own.
struct Under(Condition);

type Condition = fn(&Sym) -> ElemRef;

impl Oracle for Under {
    fn closed_form(
        &self,
        exec: &mut Executor,
        l: &Loop,
        state: &State,
        k: &Sym,
    ) -> Result<ClosedForm, Stuck> {
        let mut form = Summariser.closed_form(exec, l, state, k)?;
        let cond = (self.0)(k);
        for effect in form.arrays.get_mut("line").into_iter().flatten() {
            let Effect::Loop { body, .. } = effect else {
                continue;
            };
            for point in body {
                if let Effect::Point { cond: c, .. } = point
                    && c.mentions(k)
                {
                    *c = cond.clone();
                }
            }
        }
        Ok(form)
    }
}

/// That a row holds what the last round has left says so after the first round, and not before.
#[test]
fn a_row_holds_something_from_the_first_round_on() {
    let mut solver = solver();
    let f = kernel(ROW);
    let proposal = summarise(&f, &mut solver).unwrap_or_else(|r| panic!("{}", r.message));
    let (summary, _) = proposal.prove(&f, &mut solver, &Options::default());
    let cases: [(Condition, bool); 3] = [
        (
            |k| Elem::index_compare(CmpOp::Ge, Idx::sym(k.clone()), Idx::constant(1)),
            true,
        ),
        (
            |k| Elem::index_compare(CmpOp::Gt, Idx::sym(k.clone()), Idx::constant(1)),
            false,
        ),
        (|_| Elem::constant(Scalar::bool(true)), false),
    ];
    for (i, (cond, right)) in cases.into_iter().enumerate() {
        let verdict = prove(&f, &summary, &Under(cond), &mut solver, &proofs_only());
        let proven = matches!(verdict, Verdict::Proven(_));
        assert_eq!(proven, right, "case {i}: {verdict:?}");
    }
}

/// Says that an array holds what the last round has written and nothing else, though each round writes a place of its
/// own, or writes only on some data.
struct LastAlone;

impl Oracle for LastAlone {
    fn closed_form(
        &self,
        exec: &mut Executor,
        l: &Loop,
        state: &State,
        k: &Sym,
    ) -> Result<ClosedForm, Stuck> {
        let mut form = Summariser.closed_form(exec, l, state, k)?;
        let this = Idx::sym(k.clone());
        let before = &this - &Idx::constant(1);
        let no = Elem::constant(Scalar::bool(false));
        let last = |cond: &ElemRef, index: &Idx, value: &ElemRef, round: &Sym| {
            let first = Elem::index_compare(CmpOp::Le, this.clone(), Idx::default());
            vec![Effect::Point {
                cond: Elem::select(first, no.clone(), cond.replace(round, &before)),
                index: index.replace(round, &before),
                value: value.replace(round, &before),
            }]
        };
        for effects in form.arrays.values_mut() {
            let claimed = match &effects[..] {
                [Effect::Loop { var, body, .. }] => match &body[..] {
                    [Effect::Point { cond, index, value }] => last(cond, index, value, var),
                    _ => continue,
                },
                [Effect::Point { index, value, .. }] => match &**value {
                    Elem::Fold(fold) => match &*fold.step {
                        Elem::Select(c, v, _) => last(c, index, v, &fold.var),
                        _ => continue,
                    },
                    _ => continue,
                },
                _ => continue,
            };
            *effects = claimed;
        }
        Ok(form)
    }
}

#[test]
fn what_a_round_leaves_alone_is_still_there() {
    let mut solver = solver();
    let cases = [
        (
            "void f(int *restrict a, const int *restrict x, int n) { int i = 0; do { a[i] = x[i]; i++; } while (i < n); }",
            "func @f(a: restrict ptr<i32>, x: restrict const ptr<i32>, n: i32) {
               %0 = view x[n - 1] : tensor<i32>
               store a[n - 1] = %0
             }",
        ),
        (
            "void f(int *restrict a, const int *restrict x, int n) { int i = 0; do { if (x[i] > 0) a[0] = x[i]; i++; } while (i < n); }",
            "func @f(a: restrict ptr<i32>, x: restrict const ptr<i32>, n: i32) {
               %0 = generic select(compare(LT, 0:i32, x[n - 1]), x[n - 1], a[0]) : tensor<i32>
               store a[0] = %0
             }",
        ),
    ];
    for (i, (source, summary)) in cases.into_iter().enumerate() {
        let f = kernel(source);
        let summary = summary.parse().unwrap_or_else(|e| panic!("{e}"));
        let verdict = prove(&f, &summary, &LastAlone, &mut solver, &proofs_only());
        assert!(!matches!(verdict, Verdict::Proven(_)), "{i}: {verdict:?}");
    }
}
