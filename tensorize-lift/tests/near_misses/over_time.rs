//! Near loops over time: how many rounds there are, what each is, and what it may leave to the next one.

use super::{Case, refuses_them};
use super::{kernel, proofs_only, solver};
use tensorize_ir::check::{Comparison, compare};
use tensorize_ir::index::Idx;
use tensorize_ir::inputs::{Palette, Spec};
use tensorize_ir::loopir::Function;
use tensorize_ir::loopir::interp::Program;
use tensorize_ir::memory::Inputs;
use tensorize_ir::tensir;
use tensorize_lift::summarise::{Summariser, summarise};
use tensorize_prove::rounds::Split;
use tensorize_prove::{Options, Proof, Verdict, prove};

#[test]
fn other_rounds_are_another_kernel() {
    refuses_them("over_time", "c", "", CASES);
}

const CASES: &[Case] = &[
    // Two loops over time, of which each round stores one element: in rounds of the other one it stores none.
    (
        "void f(const double *a, const double *b, double *x, double *y, int n) { int i, j; double w;
         for (i = 0; i < n; i++) { w = b[i]; for (j = 0; j < i; j++) w -= a[i * n + j] * y[j]; y[i] = w; }
         for (i = n - 1; i >= 0; i--) { w = y[i]; for (j = i + 1; j < n; j++) w -= a[i * n + j] * x[j];
         x[i] = w / a[i * n + i]; } }",
        &[
            ("i < n;", "i < n - 1;"),
            ("i >= 0;", "i > 0;"),
            ("i = n - 1;", "i = n - 2;"),
            ("w = y[i]", "w = b[i]"),
            ("w = b[i]; for", "w = b[0]; for"),
            ("j = i + 1", "j = i"),
            ("j < i;", "j <= i;"),
            ("y[i] = w; }", "y[i] = w; x[i] = w; }"),
            ("x[i] = w /", "y[i] = w /"),
            ("x[i] = w /", "x[n - 1 - i] = w /"),
            // What one loop leaves in a variable is not the other one's to have.
            ("w = y[i];", "w += y[i];"),
        ],
    ),
    // Three of them, one after the other, on the same array.
    (
        "void f(const double *l, double *x, int n) { int i, j; double w;
         for (i = 0; i < n; i++) { w = x[i]; for (j = 0; j < i; j++) w -= l[i * n + j] * x[j]; x[i] = w; }
         for (i = n - 1; i >= 0; i--) { w = x[i]; for (j = i + 1; j < n; j++) w -= l[j * n + i] * x[j]; x[i] = w; }
         for (i = 0; i < n; ++i) { w = x[i]; for (j = 0; j < i; ++j) w -= l[j * n + i] * x[j]; x[i] = w; } }",
        &[
            ("i < n; i++", "i < n - 1; i++"),
            ("i >= 0;", "i > 0;"),
            ("i = n - 1;", "i = n - 2;"),
            ("i < n; ++i", "i < n - 1; ++i"),
            ("i = 0; i < n; ++i", "i = 1; i < n; ++i"),
            ("j = i + 1", "j = i"),
            ("j < i; ++j", "j <= i; ++j"),
            ("i < n; ++i) { w = x[i]", "i < n; ++i) { w = x[0]"),
            ("j++) w -= l[i * n + j] * x[j]; x[i] = w; }", "j++) w -= l[i * n + j] * x[j]; x[n - 1 - i] = w; }"),
        ],
    ),
    // Two, and what is done at once between them.
    (
        "void f(const double *l, const double *d, double *x, int n) { int i, j; double w;
         for (i = 0; i < n; i++) { w = x[i]; for (j = 0; j < i; j++) w -= l[i * n + j] * x[j]; x[i] = w; }
         for (i = 0; i < n; ++i) x[i] /= d[i];
         for (i = n - 1; i >= 0; i--) { w = x[i]; for (j = i + 1; j < n; j++) w -= l[j * n + i] * x[j]; x[i] = w; } }",
        &[
            ("i < n; i++", "i < n - 1; i++"),
            ("i < n; ++i", "i < n - 1; ++i"),
            ("i = 0; i < n; ++i", "i = 1; i < n; ++i"),
            ("x[i] /= d[i]", "x[i] /= d[0]"),
            ("x[i] /= d[i]", "x[i] = x[0] / d[i]"),
            ("x[i] /= d[i]", "x[n - 1 - i] = d[i]"),
            ("i >= 0;", "i > 0;"),
            ("i = n - 1;", "i = n - 2;"),
            ("j = i + 1", "j = i"),
        ],
    ),
    // Down to nothing by a counter without a sign.
    (
        "#include <stddef.h>
         void f(const double *u, double *x, size_t n) { for (size_t i = n; i-- > 0;) { double s = x[i];
         for (size_t j = i + 1; j < n; j++) s -= u[i * n + j] * x[j]; x[i] = s / u[i * n + i]; } }",
        &[
            ("i-- > 0", "i-- > 1"),
            ("i = n;", "i = n - 1;"),
            ("j = i + 1", "j = i"),
            ("j < n", "j < n - 1"),
            ("s = x[i]", "s = x[0]"),
            ("x[i] = s /", "x[n - 1 - i] = s /"),
            ("u[i * n + i]", "u[i]"),
        ],
    ),
    // Rounds that return the same number, whatever they do.
    (
        "int f(int *x, const int *a, int n) { for (int j = 0; j < n; j++) { if (x[j] != 0) { int by = x[j];
         for (int i = 0; i < j; i++) x[i] += by & a[i + j * n]; x[j] ^= a[j + j * n]; } } return 0; }",
        &[
            ("return 0;", "return 1;"),
            ("return 0;", "return n;"),
            ("return 0;", "return n < 3 ? 0 : 1;"),
            ("{ for (int j", "{ if (n < 0) return -1; for (int j"),
            ("{ int by", "{ if (j == 5) return 0; int by"),
            ("{ int by", "{ if (j == 5) return 2; int by"),
            ("j < n", "j < n - 1"),
            ("j = 0", "j = 1"),
            ("i < j", "i <= j"),
            ("int by = x[j]", "int by = x[0]"),
            ("x[j] ^= a[j + j * n]; } }", "} x[j] += a[j + j * n]; }"),
            ("x[j] != 0", "x[j] > 0"),
        ],
    ),
    // The first round does many things at once, of which later ones go on.
    (
        "void f(unsigned char *x, const unsigned char *y, int n, int m) { for (int i = 0; i < m; i++) x[i] += y[i];
         for (int i = m; i < n; i++) x[i] += y[i] ^ x[i - m]; }",
        &[
            ("i < m", "i < m - 1"),
            ("i < m", "i <= m"),
            ("int i = m", "int i = m + 1"),
            ("int i = m", "int i = 2 * m"),
            ("x[i - m]", "x[i - m + 1]"),
            ("x[i - m]", "x[i - 1]"),
            ("x[i] += y[i];", "x[i] = y[i];"),
            ("x[i] += y[i] ^", "x[i] = y[i] ^"),
            ("i < n", "i < n - 1"),
        ],
    ),
    // Rounds that read nothing of what others write, and go over it all the same: the last one counts.
    (
        "void f(const int *x, int *y, int frames, int len) { for (int f = 0; f < frames; f++)
         for (int i = 0; i < len; i++) y[f * 3 + i] = x[f * len + i]; }",
        &[
            ("int f = 0; f < frames; f++", "int f = frames - 1; f >= 0; f--"),
            ("f * 3", "f * 4"),
            ("f * 3", "f * len"),
            ("f * len", "f * 3"),
            ("f = 0", "f = 1"),
            ("f < frames", "f <= frames"),
            ("i < len", "i < 3"),
            ("i < len", "i < (f > 0 ? len - 1 : len)"),
        ],
    ),
    (
        "void f(const int *a, int *p, int n) { for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++)
         p[i * (i + 1) / 2 + j] = a[i * n + j]; }",
        &[
            ("j <= i", "j < i"),
            ("2 + j]", "2 + i - j]"),
            ("(i + 1) / 2", "(i + 2) / 2"),
            ("(i + 1) / 2", "i / 2"),
            ("i * n + j", "j * n + i"),
            ("i = 0", "i = 1"),
        ],
    ),
    // One number after the other.
    (
        "void f(unsigned *w, int n, int m) { for (int t = 16; t < n; t++) { unsigned x = w[t - 3] ^ w[t - 16];
         w[t] = x << 1 | x >> 31; } }",
        &[
            ("t = 16", "t = 17"),
            ("t < n", "t <= n"),
            ("t < n", "t < m"),
            ("t++", "t += 2"),
            ("t - 3", "t - 4"),
            ("w[t - 3] ^ w[t - 16]", "w[t - 3] ^ w[15]"),
            ("x << 1", "x << 2"),
            ("w[t] =", "w[t - 1] ="),
            ("w[t] =", "if (t > 16) w[t] ="),
            ("x << 1", "(t > 20 ? 0 : x) << 1"),
        ],
    ),
    // Pointers walk along, and the state is moved to the front in the end.
    (
        "void f(float *s, const float *c, int taps, const float *x, float *y, unsigned n, unsigned m) { float *w = s;
         float *e = s + (taps - 1); unsigned left = n; while (left > 0) { *e++ = *x++; float a = 0;
         for (int k = 0; k < taps; k++) a += w[k] * c[k]; *y++ = a; w++; left--; }
         e = s; left = taps - 1; while (left > 0) { *e++ = *w++; left--; } }",
        &[
            ("w++;", "w += 2;"),
            ("w++;", "if (left > 3) w++;"),
            ("w++;", "w++; if (left == 3) w = s;"),
            ("w++;", "w = s + left;"),
            ("*y++ = a;", "*y++ = a; y++;"),
            ("*e++ = *x++", "*e++ = *x; x = x - 1"),
            ("s + (taps - 1)", "s + taps"),
            ("*w = s;", "*w = s + 1;"),
            ("e = s;", "e = s + 1;"),
            ("left = taps - 1;", "left = taps;"),
            ("left = n", "left = m"),
            ("*e++ = *w++;", "*e++ = *w; w += 2;"),
        ],
    ),
    // The counter is not the last thing that steps; what is added is the caller's.
    (
        "void f(float *r, long p, int w, int h) { for (int y = 1; y < h; y++, r += p) for (int x = 1; x < w - 1; x++)
         r[x + p] += r[x - 1] + r[x + 1]; }",
        &[
            ("r += p", "r += p + 1"),
            ("r += p", "r += y"),
            ("y++, r += p", "r += p, y++, r += p"),
            ("y++, r += p", "y += 2, r += p"),
            ("r += p", "r += p - (y > 2)"),
            ("y < h", "y <= h"),
            ("r[x + p] +=", "if (y < 4) r[x + p] +="),
        ],
    ),
    // So many rounds, whoever asks.
    (
        "void f(unsigned *w) { for (int t = 16; t < 80; t++) w[t] = w[t - 3] ^ w[t - 8] ^ w[t - 16]; }",
        &[
            ("t < 80", "t < 79"),
            ("t < 80", "t < 81"),
            ("t = 16", "t = 15"),
            ("t - 8", "t - 9"),
            ("w[t] =", "w[79] ="),
        ],
    ),
    // The rows may be one, and so may the places of one round.
    (
        "void f(double *a, int n, int p, int q, double s) { for (int j = 0; j < n; j++) {
         double g = a[p * n + j], h = a[q + j]; a[p * n + j] = g - s * h; a[q + j] = h + s * g; } }",
        &[
            ("a[q + j] = h + s * g", "a[q + j] = h + s * a[p * n + j]"),
            ("a[p * n + j] = g - s * h; a[q + j] = h + s * g;", "a[q + j] = h + s * g; a[p * n + j] = g - s * h;"),
            ("j < n", "j + 1 < n"),
            ("h = a[q + j]", "h = a[q + n - 1 - j]"),
        ],
    ),
    // The counter's step comes first: a round looks at it as it is then.
    (
        "void f(double *x, const double *u, int n) { for (int i = n; i-- > 0; ) { double s = x[i];
         for (int j = i + 1; j < n; j++) s -= u[i * n + j] * x[j]; x[i] = s * u[i]; } }",
        &[
            ("i = n;", "i = n - 1;"),
            ("i-- > 0", "i-- > 1"),
            ("i-- > 0; )", "i > 0; i--)"),
            ("j = i + 1", "j = i"),
            ("j = i + 1", "j = i + 2"),
            ("s * u[i]", "s * u[i + 1]"),
            ("double s = x[i]", "double s = x[n - 1 - i]"),
        ],
    ),
    (
        "void f(double *a, double *b, int n, int m, int times) { double c = 1; for (int t = 0; t < times; t++) {
         for (int i = 1; i < n - 1; i++) b[i] = c * (a[i - 1] + a[i + 1]); for (int i = 1; i < n - 1; i++) a[i] = b[i]; } }",
        &[
            ("t < times", "t <= times"),
            ("t < times", "t + 1 < times"),
            ("t = 0", "t = 1"),
            ("t++", "t += 2"),
            ("t < times", "t < n"),
            ("c = 1", "c = 2"),
            // The sizes, the number of rounds, or the counter change on the way.
            ("a[i] = b[i];", "a[i] = b[i]; if (t > 2) n = m;"),
            ("a[i] = b[i];", "a[i] = b[i]; times = m;"),
            ("a[i] = b[i];", "a[i] = b[i]; if (t == 1) t = m;"),
            // A round leaves a number to the next one.
            ("a[i] = b[i];", "a[i] = b[i]; c = 2;"),
            ("a[i] = b[i];", "a[i] = b[i]; c = a[0];"),
            // The first, or the last, is another one.
            ("c * (", "(t == 0 ? 0 : c) * ("),
            ("c * (", "(t + 1 == times ? 0 : c) * ("),
            ("c * (", "(t == 5 ? 0 : c) * ("),
            // It ends within a round, or does something after the last.
            ("a[i] = b[i];", "a[i] = b[i]; if (a[0] > 3) return;"),
            ("a[i] = b[i];", "a[i] = b[i]; if (t > 2) break;"),
            ("a[i] = b[i]; } }", "a[i] = b[i]; } a[0] = 0; }"),
            ("double c = 1;", "double c = 1; a[0] = 1;"),
            ("double c = 1;", "double c = a[0];"),
            ("t < times;", "t < times && a[1] < 9;"),
        ],
    ),
    // Two arrays that take turns.
    (
        "void f(float *a, float *b, int n, int times) { float *now = a, *next = b; for (int t = 0; t < times; t++) {
         for (int i = 1; i < n - 1; i++) next[i] = now[i - 1] + now[i + 1]; float *old = now; now = next; next = old; } }",
        &[
            ("now = a, *next = b", "now = b, *next = a"),
            ("float *old = now; now = next; next = old;", ""),
            ("next[i] =", "now[i] ="),
            ("now[i - 1] +", "next[i - 1] +"),
            ("t < times", "t + 1 < times"),
            ("t < times", "t <= times"),
        ],
    ),
    (
        "void f(float *u, int n, int times) { int now = 0; for (int t = 0; t < times; t++) { int next = 1 - now;
         for (int i = 1; i < n - 1; i++) u[next * n + i] = u[now * n + i - 1] + u[now * n + i + 1]; now = next; } }",
        &[
            ("now = 0", "now = 1"),
            ("now = next;", "now = 1;"),
            ("now = next;", "if (t < 3) now = next;"),
            ("1 - now", "2 - now"),
            ("1 - now", "now"),
            ("1 - now", "(now + 1) % 3"),
            ("u[next * n", "u[now * n"),
        ],
    ),
    // A round that looks at its own number.
    (
        "void f(double *a, int n) { for (int k = 0; k < n - 1; k++) for (int i = k + 1; i < n; i++) {
         double f = a[i * n + k] / a[k * n + k]; for (int j = k; j < n; j++) a[i * n + j] -= f * a[k * n + j]; } }",
        &[
            ("k = 0", "k = 1"),
            ("k < n - 1", "k < n - 2"),
            ("i = k + 1", "i = k"),
            ("i = k + 1", "i = k + 2"),
            ("i = k + 1", "i = 1"),
            ("j = k", "j = k + 1"),
            ("j = k", "j = 0"),
            ("a[i * n + k] /", "a[k * n + i] /"),
            ("/ a[k * n + k]", "/ a[i * n + i]"),
            ("f * a[k * n + j]", "f * a[k * n + k]"),
            ("for (int k = 0; k < n - 1; k++)", "for (int k = n - 2; k >= 0; k--)"),
        ],
    ),
    (
        "void f(const float *l, const float *b, float *x, int n) { for (int i = 0; i < n; i++) { float s = b[i];
         for (int j = 0; j < i; j++) s -= l[i * n + j] * x[j]; x[i] = s / l[i * n + i]; } }",
        &[
            ("j < i", "j <= i"),
            ("j < i", "j < i - 1"),
            ("j < i", "j < n"),
            ("j = 0", "j = 1"),
            ("b[i]", "b[0]"),
            ("x[j]", "b[j]"),
            ("i = 0", "i = 1"),
            ("i < n", "i < n - 1"),
            ("float s = b[i]", "float s = x[i]"),
        ],
    ),
    // What is done before the first and after the last.
    (
        "void f(int *u, int *v, int *sum, int n, int steps) { for (int i = 0; i < n; i++) sum[i] = 1; for (int t = 0; t < steps; t++) {
         for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + u[i + 1]; for (int i = 1; i < n - 1; i++) u[i] = v[i];
         for (int i = 0; i < n; i++) sum[i] ^= u[i]; } for (int i = 0; i < n; i++) sum[i] /= 3; }",
        &[
            ("sum[i] = 1", "sum[i] = 2"),
            ("sum[i] = 1", "sum[i] += 1"),
            ("sum[i] = 1", "sum[i] = u[i]"),
            ("i < n; i++) sum[i] = 1", "i < n - 1; i++) sum[i] = 1"),
            ("sum[i] /= 3", "sum[i] /= 4"),
            ("i < n; i++) sum[i] /= 3", "i < n - 1; i++) sum[i] /= 3"),
            ("sum[i] /= 3", "u[i] /= 3"),
            ("sum[i] /= 3", "sum[i] = u[i] / 3"),
            (" } for (int i = 0; i < n; i++) sum[i] /= 3;", " for (int i = 0; i < n; i++) sum[i] /= 3; }"),
            ("for (int i = 0; i < n; i++) sum[i] = 1; for (int t = 0; t < steps; t++) {", "for (int t = 0; t < steps; t++) { for (int i = 0; i < n; i++) sum[i] = 1;"),
            ("t = 0", "t = 1"),
            ("sum[i] ^= u[i]", "sum[i] ^= v[i]"),
        ],
    ),
    // Memory of the function's own lasts from one round to the next.
    (
        "void f(const int *x, int *y, int steps) { int own[4]; for (int s = 0; s < steps; s++) {
         for (int i = 0; i < 4; i++) own[i] = y[i] + x[i]; for (int i = 0; i < 4; i++) y[i] = own[3 - i] / 2; } }",
        &[
            ("own[i] = y[i]", "own[i] = (s > 0 ? own[i] : y[i])"),
            ("i < 4; i++) own", "i < (s > 0 ? 3 : 4); i++) own"),
            ("s = 0", "s = -1"),
        ],
    ),
];

/// Kernels of which a round is a tensor expression, and needs more than what the caller's arrays hold: either the summary
/// says what, or there is none.
#[test]
fn what_is_not_in_the_arrays_is_not_left_to_the_next_round() {
    let kernels = [
        "void f(float *u, int n, int steps) { float last = 0; for (int s = 0; s < steps; s++) {
         for (int i = 0; i < n; i++) u[i] = u[i] * 0.5f + last; last = u[0]; } }",
        "void f(float *u, float *v, int n, int steps) { float last; for (int s = 0; s < steps; s++) {
         for (int i = 0; i < n; i++) v[i] = u[i] * 0.5f + (s > 0 ? last : 0); for (int i = 0; i < n; i++) u[i] = v[i]; last = u[0]; } }",
        "void f(const float *x, float *y, int steps) { float own[16]; for (int s = 0; s < steps; s++) {
         for (int i = 0; i < 16; i++) y[i] = s > 0 ? own[i] : 0; for (int i = 0; i < 16; i++) own[i] = y[i] * y[15 - i] + x[i]; } }",
        "void f(int *out, const int *in, int *at, int n, int steps) { for (int s = 0; s < steps; s++) {
         for (int i = 0; i < n; i++) out[i] = in[at[i]]; for (int i = 0; i < n; i++) at[i] = out[i]; } }",
        "void f(float *u, float *v, int n, int steps) { float all = 0; for (int i = 0; i < n; i++) { all += u[i]; v[i] = 0; }
         for (int s = 0; s < steps; s++) { for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + u[i + 1] - all;
         for (int i = 1; i < n - 1; i++) u[i] = v[i]; } }",
        "void f(const int *x, int *y, int *u, int *v, int n, int steps) { int s = 0; for (int i = 0; i < n; i++) { s += x[i]; y[i] = s; }
         s = 5; for (int t = 0; t < steps; t++) { for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + u[i + 1];
         for (int i = 1; i < n - 1; i++) u[i] = v[i]; } }",
        "void f(int *y, int *u, int *v, int n, int steps) { int c = 1; for (int i = 0; i < n; i++) y[i] = c; c = 2;
         for (int t = 0; t < steps; t++) { for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + c * u[i + 1];
         for (int i = 1; i < n - 1; i++) u[i] = v[i]; } }",
        "void f(int *y, int *u, int *v, int n) { int c = 0; for (int i = 0; i < n; i++) { y[i] = i; c++; } int times = c + 1;
         for (int t = 0; t < times; t++) { for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + u[i + 1];
         for (int i = 1; i < n - 1; i++) u[i] = v[i]; } }",
        "void f(float *u, float *v, int n) { for (int s = 0; s < n; s++) {
         for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + u[i + 1]; for (int i = 1; i < n - 1; i++) u[i] = v[i]; n--; } }",
    ];
    for source in kernels {
        let kernel = kernel(source);
        let mut solver = solver();
        if let Ok(proposal) = summarise(&kernel, &mut solver) {
            let (summary, verdict) = proposal.prove(&kernel, &mut solver, &proofs_only());
            // Some have parts that need nothing of each other's numbers.
            if let Verdict::Proven(proof) = verdict {
                assert!(
                    !summary.state.is_empty()
                        || source.contains("s = 5")
                        || source.contains("c = 2"),
                    "{source}\n{summary}"
                );
                agree(&kernel, &summary, &proof);
            }
        }
    }
}

/// Holds a summary against its kernel.
pub(super) fn agree(kernel: &Function, summary: &tensir::Function, proof: &Proof) {
    let program = Program::new(kernel).unwrap();
    let spec = Spec::known(&kernel.params, &proof.guards, &proof.footprints);
    let how = Comparison {
        may_leave_extents: true,
        ..Comparison::default()
    };
    let mut interpreted = |inputs: &Inputs| tensir::interpret(summary, inputs);
    let cases = spec.sample(1, 100, Palette::Tame);
    if let Err(difference) = compare(&program, &mut interpreted, &spec, cases, &how) {
        panic!("{summary}\n{}", difference.text);
    }
}

/// What is done before the first round is done once, with the numbers that it had then.
/// What is read and then left is touched: a caller has to have it, as the original reads it.
#[test]
fn what_is_read_for_nothing_is_touched() {
    let up = "for (i = 1; i < n; i++) { t = y[i]; for (int j = 0; j < i; j++) t -= x[j] * y[j]; y[i] = t; }";
    let down = "for (i = n - 2; i >= 0; i--) { t = y[i]; for (int j = i + 1; j < n; j++) t -= x[j] * y[j]; y[i] = t; }";
    let bodies = [
        format!("{up} {down} s = z[n];"),
        format!("{up} {down} s = k == 77777 ? z[n] : 0;"),
        format!("{up} s = z[n];"),
        format!("{up} i = z[n];"),
        format!("{up} {down} i = z[n]; y[0] = n;"),
        format!("t = z[n]; {up}"),
        format!("t = k == 77777 ? z[n] : 0; {up}"),
        format!("t = z[n]; {up} {down}"),
        format!("{up} t = z[n]; {down}"),
        format!("{up} s = z[n]; {down}"),
        format!("if (k > 0) s = z[n]; {up} {down}"),
        format!("for (int r = 0; r < k; r++) {{ {up} s = z[n]; }}"),
    ];
    for body in bodies {
        let kernel = kernel(&format!(
            "void f(int n, int k, int *y, const int *x, const int *z) {{ int i, s, t; {body} }}"
        ));
        let mut solver = solver();
        let proposal =
            summarise(&kernel, &mut solver).unwrap_or_else(|why| panic!("{body}: {}", why.message));
        let Verdict::Proven(proof) = proposal.prove(&kernel, &mut solver, &proofs_only()).1 else {
            panic!("{body} is not proven");
        };
        let mut touched = proof.footprints.iter();
        assert!(
            touched.any(|f| f.extent.to_string() == "z[n .. n + 1]"),
            "{body}"
        );
    }
}

#[test]
fn what_is_done_before_is_done_once() {
    let kernels = [
        "void f(int *y, int *u, int *v, int n, int steps) { n--; for (int i = 0; i < n; i++) y[i] = 1;
         for (int t = 0; t < steps; t++) { for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + u[i + 1];
         for (int i = 1; i < n - 1; i++) u[i] = v[i] + y[i]; } }",
        "void f(const int *x, int *y, int *u, int *v, int n, int steps) { int s = 3, k = 2; n -= k; k++; for (int i = 0; i < n; i++) {
         s += x[i]; y[i] = s + k; } for (int t = k; t < steps; t++) { for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + u[i + 1];
         for (int i = 1; i < n - 1; i++) u[i] = v[i]; } for (int i = 0; i < n; i++) y[i] += k; }",
        "void f(int *y, int *u, int *v, int n, int steps) { for (int i = 0; i < n; i++) y[i] = 0;
         for (int t = steps; t > 0; t -= 2) { for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + t * u[i + 1];
         for (int i = 1; i < n - 1; i++) u[i] = v[i]; for (int i = 0; i < n; i++) y[i] ^= u[i]; }
         for (int i = 0; i < n; i++) y[i] = y[i] / 2; }",
    ];
    for source in kernels {
        let kernel = kernel(source);
        let mut solver = solver();
        let proposal = summarise(&kernel, &mut solver).unwrap();
        let (summary, verdict) = proposal.prove(&kernel, &mut solver, &proofs_only());
        let Verdict::Proven(proof) = verdict else {
            panic!("{source}: {verdict:?}\n{summary}");
        };
        agree(&kernel, &summary, &proof);
    }
}

const HEAT: &str = "void f(float *u, float *v, int n, int first, int last) { for (int s = first; s < last; s++) {
     for (int i = 1; i < n - 1; i++) v[i] = u[i] + (u[i - 1] - u[i + 1]) * s; for (int i = 1; i < n - 1; i++) u[i] = v[i]; } }";

#[test]
fn a_summary_with_other_rounds_is_refuted() {
    let kernel = kernel(HEAT);
    let mut solver = solver();
    let proposal = summarise(&kernel, &mut solver).unwrap();
    let (summary, verdict) = proposal.prove(&kernel, &mut solver, &Options::default());
    assert!(matches!(verdict, Verdict::Proven(_)), "{verdict:?}");
    let rounds = summary.rounds.clone().expect("it is a loop over time");
    assert_eq!(rounds.trip, idx("last - first"));
    let mut judge = |changed: &tensir::Function| {
        prove(
            &kernel,
            changed,
            &Summariser,
            &mut solver,
            &Options::default(),
        )
    };
    for trip in [
        "last",
        "last - first + 1",
        "last - first - 1",
        "2*last - 2*first",
        "n",
    ] {
        let mut changed = summary.clone();
        let mut other = rounds.clone();
        other.trip = idx(trip);
        changed.rounds = Some(other);
        let verdict = judge(&changed);
        assert!(
            matches!(verdict, Verdict::Refuted { .. }),
            "{trip}: {verdict:?}"
        );
    }
    // Once is not several times.
    let mut once = summary.clone();
    once.rounds = None;
    assert!(
        once.verify().is_err(),
        "{once} looks at the number of a round"
    );
    // The number of the round is not that of the next.
    let text = summary.to_string();
    let from = text.find("rounds").unwrap();
    let (head, rest) = text.split_at(text[from..].find('\n').unwrap() + from);
    let shifted = format!("{head}{}", rest.replace("round", "round + 1"));
    let shifted: tensir::Function = shifted.parse().unwrap();
    assert_ne!(shifted, summary);
    let verdict = judge(&shifted);
    assert!(
        matches!(verdict, Verdict::Refuted { .. }),
        "{verdict:?}\n{shifted}"
    );
}

fn idx(text: &str) -> Idx {
    let params = kernel(HEAT).params;
    tensorize_ir::text::parse_idx(text, &params).unwrap()
}

/// A name that the kernel has is no name for the number of a round, or what the kernel assigns would be taken for it.
#[test]
fn the_number_of_a_round_has_a_name_of_its_own() {
    let kernel = kernel(HEAT);
    for taken in ["s", "i", "u", "n"] {
        assert!(Split::of(&kernel, &taken.into()).is_err(), "{taken}");
    }
    assert!(Split::of(&kernel, &Split::name(&kernel)).is_ok());
}
