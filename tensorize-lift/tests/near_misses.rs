//! Pairs of kernels that differ in one place: what is proven of the first is proven of itself, and never of the
//! second. They are near the rules for running results, early exits, unrolled loops and tiles.

use std::path::PathBuf;
use tensorize_ir::element::Elem;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{self, Function, Loop, Stmt, Visited};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir;
use tensorize_lift::summarise::summarise;
use tensorize_prove::chain::Effect;
use tensorize_prove::exec::{Executor, State, Stuck};
use tensorize_prove::loops::{ClosedForm, Oracle, ScalarForm};
use tensorize_prove::solver::{self, Solver};
use tensorize_prove::{Options, Verdict, prove};

/// The kernel, and what is exchanged in it for what: each makes another kernel.
const CASES: &[(&str, &[(&str, &str)])] = &[
    (
        "void f(const int *a, int *o, int n) { int s = 0; for (int i = 0; i < n; i++) { s += a[i]; o[i] = s; } }",
        &[
            ("s += a[i]; o[i] = s;", "o[i] = s; s += a[i];"),
            ("s += a[i]", "s += a[n - 1 - i]"),
            ("int s = 0", "int s = 1"),
        ],
    ),
    (
        "void f(float *y, int n, float a) { for (int i = 1; i < n; i++) y[i] = y[i] + a * y[i - 1]; }",
        &[("y[i - 1]", "y[i]"), ("int i = 1", "int i = 2")],
    ),
    (
        "int f(const int *a, int *o, int n) { int s = 0; for (int i = 0; i < n; i++) { o[i] = s; s += a[i]; } return s; }",
        &[
            ("o[i] = s; s += a[i];", "s += a[i]; o[i] = s;"),
            ("return s", "return s - a[0]"),
            ("o[i] = s", "o[i] = s - 1"),
        ],
    ),
    (
        "void f(int *a, int n) { for (int i = 1; i < n; i++) a[i] += a[i - 1]; }",
        &[
            ("int i = 1", "int i = 2"),
            ("a[i] += a[i - 1]", "a[i - 1] += a[i]"),
            ("i < n", "i < n - 1"),
            ("a[i] +=", "a[i] -="),
        ],
    ),
    (
        "void f(float *a, int n) { for (int i = n - 2; i >= 0; i--) a[i] += a[i + 1]; }",
        &[
            ("i >= 0", "i > 0"),
            ("int i = n - 2; i >= 0; i--", "int i = 0; i < n - 1; i++"),
        ],
    ),
    (
        "void f(const int *c, int *o, int n) { o[0] = 0; for (int i = 0; i < n; i++) o[i + 1] = o[i] + c[i]; }",
        &[
            ("o[0] = 0", "o[0] = c[0]"),
            ("+ c[i]", "+ c[i + 1]"),
            ("o[i + 1] = o[i]", "o[i] = o[i + 1]"),
        ],
    ),
    (
        "void f(const float *a, float *s, float *m, int n) { float t = 0, b = a[0]; for (int i = 0; i < n; i++) { t += a[i]; if (a[i] > b) b = a[i]; s[i] = t; m[i] = b; } }",
        &[
            ("a[i] > b", "a[i] >= b"),
            (
                "if (a[i] > b) b = a[i]; s[i] = t; m[i] = b;",
                "s[i] = t; m[i] = b; if (a[i] > b) b = a[i];",
            ),
            ("s[i] = t; m[i] = b", "s[i] = b; m[i] = t"),
        ],
    ),
    (
        "void f(int *a, int n, int m) { for (int i = 1; i < n; i++) for (int j = 0; j < m; j++) a[i * m + j] += a[(i - 1) * m + j]; }",
        &[
            ("int j = 0", "int j = 1"),
            ("a[(i - 1) * m + j]", "a[(i - 1) * m + 0]"),
            ("a[(i - 1) * m + j]", "a[i * m + j]"),
        ],
    ),
    (
        "int f(const float *a, int n) { float m = a[0]; int p = 0; for (int i = 1; i < n; i++) if (a[i] > m) { m = a[i]; p = i; } return p; }",
        &[
            ("a[i] > m", "a[i] >= m"),
            ("a[i] > m", "!(a[i] <= m)"),
            ("p = i", "p = i - 1"),
            ("int i = 1", "int i = 2"),
        ],
    ),
    (
        "void f(const int *x, int *s, int n) { for (int i = 0; i < n; i++) s[i] = (i > 0 ? s[i - 1] : 0) + x[i]; }",
        &[
            (": 0", ": 1"),
            (": 0", ": x[0]"),
            ("i > 0", "i > 1"),
            ("s[i - 1]", "x[i - 1]"),
        ],
    ),
    (
        "void f(const float *x, float *s, int n) { for (int i = 0; i < n; i++) if (i == 0) s[i] = x[i]; else s[i] = s[i - 1] + x[i]; }",
        &[
            ("s[i] = x[i]", "s[i] = 0.0f + x[i]"),
            ("s[i] = x[i]", "s[i] = x[i] + x[i]"),
            ("i == 0", "i <= 1"),
        ],
    ),
    (
        "void f(float *y, int n) { for (int i = 2; i < n; i++) y[i] = y[i - 1] - y[i - 2]; }",
        &[
            ("y[i - 1] - y[i - 2]", "y[i - 2] - y[i - 1]"),
            ("y[i - 2]", "y[i - 1]"),
        ],
    ),
    (
        "int f(const int *a, int n) { int m = a[0], p = 0; for (int i = 1; i < n; i++) if (a[i] > m) { m = a[i]; p = i; } return p; }",
        &[
            ("a[i] > m", "a[i] >= m"),
            ("p = i", "p = i - 1"),
            ("m = a[i]; p", "p"),
            ("return p", "return m"),
        ],
    ),
    (
        "int f(const int *a, int n, int x) { for (int i = 0; i < n; i++) if (a[i] == x) return i; return -1; }",
        &[
            ("a[i] == x", "a[i] != x"),
            ("return i", "return i + 1"),
            ("return -1", "return 0"),
            ("int i = 0", "int i = 1"),
            ("i < n", "i < n - 1"),
        ],
    ),
    (
        "int f(const int *a, int n, int l) { int s = 0; for (int i = 0; i < n; i++) { s += a[i]; if (s > l) break; } return s; }",
        &[
            (
                "s += a[i]; if (s > l) break;",
                "if (s > l) break; s += a[i];",
            ),
            ("s > l", "s >= l"),
            ("break", "s = l"),
        ],
    ),
    (
        "int f(const int *a, int n) { int i = 0; while (i < n && a[i] > 0) i++; return i; }",
        &[
            ("a[i] > 0", "a[i] >= 0"),
            ("return i", "return n"),
            ("i++", "i += 2"),
        ],
    ),
    (
        "void f(const float *a, float *o, int n) { int i; for (i = 0; i + 3 < n; i += 4) { o[i] = a[i]; o[i + 1] = a[i + 1]; o[i + 2] = a[i + 2]; o[i + 3] = a[i + 3]; } for (; i < n; i++) o[i] = a[i]; }",
        &[
            ("o[i + 2] = a[i + 2]", "o[i + 2] = a[i + 1]"),
            ("o[i + 1] = a[i + 1]", "o[i] = a[i + 1]"),
            ("for (; i < n; i++)", "for (; i < n - 1; i++)"),
            ("o[i + 3] = a[i + 3]; ", ""),
        ],
    ),
    (
        "float f(const float *a, int n) { float s = 0; int m = n % 3; for (int i = 0; i < m; i++) s += a[i]; for (int i = m; i < n; i += 3) s = s + a[i] + a[i + 1] + a[i + 2]; return s; }",
        &[
            ("a[i + 1] + a[i + 2]", "a[i + 2] + a[i + 1]"),
            ("a[i] + a[i + 1] + a[i + 2]", "(a[i] + a[i + 1] + a[i + 2])"),
            ("int i = m", "int i = 0"),
            ("a[i + 2];", "a[i + 1];"),
        ],
    ),
    (
        "int f(const int *a, int n) { int s = 0, t = 0, i; for (i = 0; i + 1 < n; i += 2) { s += a[i]; t += a[i + 1]; } s = s + t; for (; i < n; i++) s += a[i]; return s; }",
        &[
            ("t += a[i + 1]", "t += a[i]"),
            ("s = s + t", "s = s - t"),
            ("for (; i < n; i++)", "for (; i + 1 < n; i++)"),
        ],
    ),
    (
        "void f(const float *a, const float *b, float *c, int n) { for (int i = 0; i < n; i++) c[i] = 0; for (int kk = 0; kk < n; kk += 8) for (int i = 0; i < n; i++) for (int k = kk; k < (kk + 8 < n ? kk + 8 : n); k++) c[i] += a[i * n + k] * b[k]; }",
        &[
            ("kk + 8 < n ? kk + 8 : n", "kk + 7 < n ? kk + 7 : n"),
            ("int kk = 0", "int kk = 8"),
            ("b[k]", "b[k - kk]"),
            ("c[i] = 0", "c[i] = 1"),
        ],
    ),
    (
        "void f(const float *a, float *o, int n) { for (int kk = 0; kk < n; kk += 8) for (int i = kk; i < (kk + 8 < n ? kk + 8 : n); i++) o[i] = a[i]; }",
        &[
            ("kk + 8 < n ? kk + 8 : n", "kk + 7 < n ? kk + 7 : n"),
            ("kk < n; kk += 8", "kk < n - 8; kk += 8"),
            ("kk += 8", "kk += 9"),
            ("o[i] = a[i]", "o[i] = a[i - kk]"),
        ],
    ),
    // As far as the tiles reach, and as far as there is anything.
    (
        "void f(const float *a, float *o, int n) { for (int kk = 0; kk < n; kk += 8) for (int i = kk; i < kk + 8; i++) o[i] = a[i]; }",
        &[("i < kk + 8", "i < (kk + 8 < n ? kk + 8 : n)")],
    ),
    (
        "float f(const float *a, int n) { float s = 0; for (int kk = 0; kk < n; kk += 8) for (int k = kk; k < (kk + 8 < n ? kk + 8 : n); k++) s += a[k]; return s; }",
        &[
            ("kk + 8 < n ? kk + 8 : n", "kk + 7 < n ? kk + 7 : n"),
            ("kk < n; kk += 8", "kk < n - 8; kk += 8"),
            ("int kk = 0", "int kk = 8"),
            ("s += a[k]", "s += a[k - kk]"),
        ],
    ),
    // A flag that stops the loop, and what the last round still does.
    (
        "void f(const int *a, int *o, int n) { int go = 1; for (int i = 0; i < n && go; i++) { if (a[i] < 0) go = 0; o[i] = a[i]; } }",
        &[
            ("go = 0; o[i] = a[i];", "go = 0; else o[i] = a[i];"),
            ("go = 0", "go = 1"),
            ("int go = 1", "int go = 0"),
        ],
    ),
    // Two writes of one round to the same place: the later one counts.
    (
        "void f(const int *a, int *o, int n) { for (int i = 0; i < n; i++) { o[i] = a[i]; if (a[i] < 0) o[i] = 0; } }",
        &[(
            "o[i] = a[i]; if (a[i] < 0) o[i] = 0;",
            "if (a[i] < 0) o[i] = 0; o[i] = a[i];",
        )],
    ),
    (
        "int f(const int *a, int n) { int i = 0; while (i != n) { if (a[i] == 7) break; i++; } return i; }",
        &[("a[i] == 7", "a[i] == 8"), ("return i", "return i + 1")],
    ),
    (
        "void f(const float *a, float *o, int n) { float t = a[0]; for (int i = 0; i < n - 1; i++) { float u = a[i + 1]; o[i] = t; t = u; } }",
        &[
            ("float t = a[0]", "float t = a[1]"),
            ("o[i] = t", "o[i] = u"),
        ],
    ),
    (
        "void f(const int *x, const float *t, float *o, int n) { for (int i = 0; i < n; i++) o[i] = t[x[i]]; }",
        &[
            ("t[x[i]]", "t[x[i] + 1]"),
            ("t[x[i]]", "t[x[n - 1 - i]]"),
            ("t[x[i]]", "t[i]"),
            ("o[i]", "o[x[i]]"),
            ("i < n", "i < x[0]"),
        ],
    ),
    (
        "void f(const int *p, const int *c, const float *v, const float *x, float *y, int n) { for (int i = 0; i < n; i++) { float s = 0; for (int k = p[i]; k < p[i + 1]; k++) s += v[k] * x[c[k]]; y[i] = s; } }",
        &[
            ("k < p[i + 1]", "k <= p[i + 1]"),
            ("k < p[i + 1]", "k != p[i + 1]"),
            ("int k = p[i]", "int k = p[0]"),
            ("v[k]", "v[i]"),
            ("x[c[k]]", "x[k]"),
            ("s += v[k] * x[c[k]];", "s = v[k] * x[c[k]];"),
        ],
    ),
    (
        "void f(int n, const int *a, int *c) { for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) c[i * n + j] = a[i] + j; }",
        &[
            ("j <= i", "j < i"),
            ("j <= i", "j <= i + 1"),
            ("j <= i", "j < n"),
            ("c[i * n + j]", "c[j * n + i]"),
            ("int j = 0", "int j = 1"),
        ],
    ),
    (
        "void f(int n, int *c) { for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) c[i * n + j] = 0; }",
        &[
            ("int j = i + 1", "int j = i"),
            ("int j = i + 1", "int j = 0"),
            ("j < n", "j < n - 1"),
        ],
    ),
    (
        "void f(int w, int h, const int *a, int *c) { for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) c[x * h + (h - 1 - y)] = a[y * w + x]; }",
        &[
            ("(h - 1 - y)", "y"),
            ("(h - 1 - y)", "(h - y)"),
            ("a[y * w + x]", "a[x * w + y]"),
            ("x * h", "x * w"),
        ],
    ),
    (
        "void f(int n, int g, const int *a, const int *s, int *c) { for (int i = 0; i < n; i++) c[i] = a[i] * s[i / g]; }",
        &[
            ("i / g", "i % g"),
            ("i / g", "(i + 1) / g"),
            ("i / g", "i / (g + 1)"),
            ("i / g", "i"),
        ],
    ),
    (
        "void f(int h, int w, int k, const int *a, int *c) { int r = h - k + 1, s = w - k + 1; for (int i = 0; i < r; i++) for (int j = 0; j < s; j++) { int t = 0; for (int p = 0; p < k; p++) for (int q = 0; q < k; q++) t += a[(i + p) * w + j + q]; c[i * s + j] = t; } }",
        &[
            ("c[i * s + j]", "c[i * r + j]"),
            ("q < k", "q < k - 1"),
            ("(i + p) * w", "(i + p) * h"),
            ("j + q", "j + p"),
            ("i < r", "i < r - 1"),
        ],
    ),
    (
        "typedef struct { float re, im; } cpx; void f(const cpx *a, const cpx *b, cpx *c, int n) { for (int i = 0; i < n; i++) { cpx t; t.re = a[i].re * b[i].re - a[i].im * b[i].im; t.im = a[i].re * b[i].im + a[i].im * b[i].re; c[i] = t; } }",
        &[
            ("a[i].im * b[i].re", "a[i].im * b[i].im"),
            ("float re, im", "float im, re"),
            ("c[i] = t", "c[i].re = t.re"),
        ],
    ),
    (
        "#include <stdlib.h>\nint f(const float *x, float *y, int n) { float *t = malloc(n * sizeof *t); if (!t) return -1; for (int i = 0; i < n; i++) t[i] = x[i] * 2; for (int i = 1; i < n; i++) y[i] = t[i] - t[i - 1]; free(t); return 0; }",
        &[
            ("t[i] - t[i - 1]", "t[i] - x[i - 1]"),
            ("x[i] * 2", "x[0] * 2"),
            ("if (!t)", "if (t)"),
        ],
    ),
    (
        "#include <stdlib.h>\nvoid f(const int *x, int *y, int n) { int *t = calloc(n, sizeof(int)); for (int i = 0; i < n; i++) t[i] += x[i]; for (int i = 0; i < n; i++) y[i] = t[i]; free(t); }",
        &[
            ("t[i] += x[i]", "t[i] = 1 + x[i]"),
            ("t[i] += x[i]", "t[n - 1 - i] += x[i]"),
        ],
    ),
    (
        "void f(const int *x, int *y, int n) { for (int i = 0; i < (n & ~3); i++) y[i] = x[i]; }",
        &[("~3", "~1"), ("~3", "~7"), ("n & ~3", "n - 3")],
    ),
    (
        "void f(const int *x, int *y, unsigned n) { for (unsigned i = 0; i < (n & ~3u); i++) y[i] = x[i]; }",
        &[("~3u", "~1u"), ("n & ~3u", "(n + 3) & ~3u")],
    ),
];

/// Says of each loop what the loop of the same number in another kernel does: nothing but the checks of closed forms stands
/// between that and a wrong proof.
struct OfAnother<'f>(&'f Function);

impl Oracle for OfAnother<'_> {
    fn closed_form(
        &self,
        exec: &mut Executor,
        l: &Loop,
        state: &State,
        k: &Sym,
    ) -> Result<ClosedForm, Stuck> {
        let mut other = None;
        loopir::visit(&self.0.body, &mut |part| {
            if let Visited::Stmt(Stmt::Loop(o)) = part
                && o.id == l.id
            {
                other = Some(o);
            }
        });
        let other = other.unwrap_or(l);
        tensorize_lift::summarise::Summariser.closed_form(exec, other, state, k)
    }
}

fn solver() -> Solver {
    Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it")
}

fn kernel(source: &str, number: usize) -> Function {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("near_miss_{number}.c"));
    std::fs::write(&file, source).unwrap();
    let parsed = tensorize_lift::c::parse(&file, &[]).unwrap_or_else(|p| panic!("{}", p.message));
    let lowered = parsed.into_iter().next().unwrap().lowered;
    lowered.unwrap_or_else(|p| panic!("{source}: {}", p.message))
}

#[test]
fn the_meaning_of_one_is_not_proven_of_the_other() {
    let mut solver = solver();
    let options = Options {
        refute: false,
        ..Options::default()
    };
    for (i, (source, changes)) in CASES.iter().enumerate() {
        let right = kernel(source, i);
        let proposal =
            summarise(&right, &mut solver).unwrap_or_else(|r| panic!("{source}: {}", r.message));
        let (summary, verdict) = proposal.prove(&right, &mut solver, &options);
        assert!(
            matches!(verdict, Verdict::Proven(_)),
            "{source}: {verdict:?}"
        );
        let Verdict::Proven(proof) = verdict else {
            continue;
        };
        let options = Options {
            // At the tier of the right one: over the reals, an order may not matter.
            worst: proof.tier,
            ..options.clone()
        };
        for (from, to) in *changes {
            assert!(source.contains(from), "{from} is not in {source}");
            let wrong = kernel(&source.replacen(from, to, 1), i);
            for oracle in [
                &tensorize_lift::summarise::Summariser as &dyn Oracle,
                &tensorize_lift::synthesise::Synthesiser::default(),
                &OfAnother(&right),
            ] {
                let verdict = prove(&wrong, &summary, oracle, &mut solver, &options);
                assert!(
                    !matches!(verdict, Verdict::Proven(_)),
                    "{to} in place of {from} in {source}:\n{summary}"
                );
            }
        }
    }
}

/// What the summariser says, but for the variable or array `a`: that it holds a polynomial, wrapped to its type.
struct Wrapped(fn(&State, &Sym) -> Option<Claim>);

enum Claim {
    At(Idx),
    Last(Idx),
    Stored(Idx),
}

impl Oracle for Wrapped {
    fn closed_form(
        &self,
        exec: &mut Executor,
        l: &Loop,
        state: &State,
        k: &Sym,
    ) -> Result<ClosedForm, Stuck> {
        let mut form = tensorize_lift::summarise::Summariser.closed_form(exec, l, state, k)?;
        let a: Sym = "a".into();
        let byte = |p| Elem::of_idx(ScalarType::U8, p);
        let Some(claim) = self.0(state, k) else {
            return Ok(form);
        };
        match claim {
            Claim::At(p) => drop(form.scalars.insert(a, ScalarForm::At(byte(p)))),
            Claim::Last(p) => drop(form.scalars.insert(a, ScalarForm::Last(byte(p)))),
            Claim::Stored(_) if !form.arrays.contains_key(&a) => {}
            Claim::Stored(p) => {
                let store = Effect::Point {
                    cond: Elem::constant(Scalar::bool(true)),
                    index: Idx::sym(k.clone()),
                    value: byte(p),
                };
                let all = Effect::Loop {
                    var: "r".into(),
                    extent: Idx::sym(k.clone()),
                    body: vec![store.replace(k, &Idx::sym("r"))],
                };
                form.arrays.insert(a, vec![all]);
            }
        }
        Ok(form)
    }
}

/// A byte that holds -1 is 255 to whoever widens it. Said of the right bits, the wrong number would make each of these
/// summaries one that is proven.
#[test]
fn a_closed_form_says_the_number_and_not_its_bits_alone() {
    let cases: [(&str, &str, fn(&State, &Sym) -> Option<Claim>); 4] = [
        (
            "void f(unsigned *c, int n) { unsigned char a = 0; for (int i = 0; i < n; i++) a--; c[0] = a; }",
            "func @f(c: ptr<ui32>, n: i32) { %0 = size -n : tensor<ui32>
             store c[0] = %0 }",
            |_, k| Some(Claim::At(-&Idx::sym(k.clone()))),
        ),
        (
            "void f(unsigned *c, int n) { for (int i = 0; i < n; i++) { unsigned char a = -i; for (int j = 0; j < n; j++) { unsigned char t = a; a = t; } c[i] = a; } }",
            "func @f(c: ptr<ui32>, n: i32) { %0 = generic index(ui32, -#0) : tensor<n x ui32>
             store c[#0] = %0 }",
            |state, _| match &**state.scalars.get("a")? {
                Elem::Convert(_, before) => match &**before {
                    Elem::OfIdx(_, p) => Some(Claim::At(p.clone())),
                    _ => None,
                },
                _ => None,
            },
        ),
        (
            "void f(unsigned *c, int n) { unsigned char a; int i = 0; do { a = -i; i++; } while (i < n); c[0] = a; }",
            "func @f(c: ptr<ui32>, n: i32) { %0 = size 1 - n : tensor<ui32>
             store c[0] = %0 }",
            |_, k| Some(Claim::Last(-&Idx::sym(k.clone()))),
        ),
        (
            "void f(unsigned char *a, int *c, int n) { for (int i = 0; i < n; i++) a[i] = -i; for (int i = 0; i < n; i++) c[i] = a[i]; }",
            "func @f(a: ptr<ui8>, c: ptr<i32>, n: i32) {
             %0 = generic index(ui8, -#0) : tensor<n x ui8>
             %1 = generic index(i32, -#0) : tensor<n x i32>
             store a[#0] = %0
             store c[#0] = %1 }",
            |_, k| Some(Claim::Stored(-&Idx::sym(k.clone()))),
        ),
    ];
    let mut solver = solver();
    let options = Options {
        refute: false,
        ..Options::default()
    };
    for (i, (source, summary, claim)) in cases.into_iter().enumerate() {
        let kernel = kernel(source, 1000 + i);
        let summary: tensir::Function = summary.parse().unwrap_or_else(|e| panic!("{e}"));
        let verdict = prove(&kernel, &summary, &Wrapped(claim), &mut solver, &options);
        let Verdict::Unknown { obligation, .. } = verdict else {
            panic!("{source}: {verdict:?}");
        };
        assert!(
            obligation.contains("closed form of a") || obligation.contains("places of a"),
            "{source}: {obligation}"
        );
    }
}

/// Where the first step doesn't look at what there is before it, that may be anything; without steps, it may not.
#[test]
fn what_a_fold_starts_from_matters_where_there_may_be_no_step() {
    let summary = |extent: &str, start: i32, later: &str| {
        let text = format!(
            "func @f(x: const ptr<i32>, n: i32) {{
               %r = generic fold(s = {start}:i32, k < {extent},
                 add(select(index_compare(GE, k - 1, 0), {later}, 0:i32), x[k])) : tensor<i32>
               return %r
             }}"
        );
        text.parse().unwrap()
    };
    let code = |rounds: &str| {
        let body =
            "{ int s = 5; for (int i = 0; i < N; i++) s = (i > 0 ? s : 0) + x[i]; return s; }";
        let body = body.replace("N", rounds);
        kernel(&format!("int f(const int *x, int n) {body}"), 1000)
    };
    let mut solver = solver();
    let options = Options {
        refute: false,
        ..Options::default()
    };
    let mut proven = |kernel: &Function, summary| {
        let oracle = tensorize_lift::summarise::Summariser;
        let verdict = prove(kernel, &summary, &oracle, &mut solver, &options);
        matches!(verdict, Verdict::Proven(_))
    };
    assert!(proven(&code("n"), summary("n", 5, "s")));
    assert!(!proven(&code("n"), summary("n", 6, "s")));
    assert!(proven(&code("7"), summary("7", 6, "s")));
    assert!(!proven(&code("7"), summary("7", 6, "add(s, 1:i32)")));
}

/// Kernels, and summaries with the same value that read more of `a` than the kernel does: over the reals it cancels.
const GREEDY: &[(&str, &str)] = &[
    (COPY, "add(a[#0], subtract(a[#0 + 1], a[#0 + 1]))"),
    (COPY, "add(a[#0], subtract(a[#0 - 1], a[#0 - 1]))"),
    (
        COPY,
        "select(compare(LT, a[#0], 0.0:f32), a[#0], add(a[#0], subtract(a[#0 + n], a[#0 + n])))",
    ),
    (
        COPY,
        "select(compare(LT, a[#0], 0.0:f32), add(a[#0], subtract(a[#0 + n], a[#0 + n])), a[#0])",
    ),
    (
        COPY,
        "fold(s = a[#0], k < n, add(s, subtract(a[#0 + k + 1], a[#0 + k + 1])))",
    ),
    (COPY, "fold(s = add(a[#0], subtract(a[n], a[n])), k < n, s)"),
];

const COPY: &str =
    "void f(const float *a, float *o, int n) { for (int i = 0; i < n; i++) o[i] = a[i]; }";

#[test]
fn a_summary_reads_no_more_than_the_kernel() {
    let mut solver = solver();
    let options = Options {
        refute: false,
        ..Options::default()
    };
    let oracle = tensorize_lift::summarise::Summariser;
    let mut judge = |kernel: &Function, value: &str| {
        let text = format!(
            "func @f(a: const ptr<f32>, o: ptr<f32>, n: i32) {{\n  %0 = generic {value} : tensor<n x f32>\n  store o[#0] = %0\n}}"
        );
        let summary = text.parse().unwrap_or_else(|e| panic!("{e}: {text}"));
        prove(kernel, &summary, &oracle, &mut solver, &options)
    };
    for (i, (source, value)) in GREEDY.iter().enumerate() {
        let kernel = kernel(source, 100 + i);
        // What it would read if it were not greedy is fine.
        let modest = value.replace("n], a[n", "0], a[0");
        let modest = modest
            .replace("#0 + k + 1", "#0")
            .replace("#0 + 1", "#0")
            .replace("#0 - 1", "#0")
            .replace("#0 + n", "#0");
        let verdict = judge(&kernel, &modest);
        assert!(
            matches!(verdict, Verdict::Proven(_)),
            "{modest}: {verdict:?}"
        );
        let verdict = judge(&kernel, value);
        let Verdict::Unknown { obligation, .. } = verdict else {
            panic!("{value}: {verdict:?}")
        };
        assert!(
            obligation.contains("which the kernel may not"),
            "{value}: {obligation}"
        );
    }
}

/// Kernels that mean something, but nothing that is provable with the rules there are: a summary that looks right is wrong
/// where two rounds touch the same place.
const ENTANGLED: &[&str] = &[
    // Which write is the last depends on the half.
    "void f(const int *a, const int *b, int *o, int n) { for (int i = 0; i < n; i++) { o[i] = a[i]; o[n - 1 - i] = b[i]; } }",
    // Rows that are longer than the distance between them.
    "void f(const int *a, int *o, int n) { for (int i = 0; i < n; i++) for (int j = 0; j < 5; j++) o[4 * i + j] = a[5 * i + j]; }",
    // A place of each round, found through data.
    "void f(const int *a, const int *p, int *o, int n) { for (int i = 0; i < n; i++) o[p[i]] = a[i]; }",
];

#[test]
fn what_rounds_do_to_each_other_is_not_overlooked() {
    let mut solver = solver();
    let options = Options {
        refute: false,
        ..Options::default()
    };
    for (i, source) in ENTANGLED.iter().enumerate() {
        let kernel = kernel(source, 200 + i);
        let Ok(proposal) = summarise(&kernel, &mut solver) else {
            continue;
        };
        let (summary, verdict) = proposal.prove(&kernel, &mut solver, &options);
        if let Verdict::Proven(_) = verdict {
            // A proof has to stand against what the kernel does.
            panic!("{source}:\n{summary}");
        }
    }
}
