//! Near the rules for running results, early exits, unrolled loops, tiles, indices in memory and masked bounds.

use super::{Case, refuses_them};

#[test]
fn the_meaning_of_one_is_not_proven_of_the_other() {
    refuses_them("rules", "c", "", CASES);
}

const CASES: &[Case] = &[
    // Several writes of one round, of which each reaches other places in another one. (Fewer rounds would be written out.)
    (
        "void f(const int *x, const int *y, int *o) { int t[600]; for (int k = 0; k < 300; k++) { t[k] = x[k]; t[300 + k] = y[k]; } o[0] = t[300]; }",
        &[
            // The first write of the last round comes after the second one of the first.
            (
                "t[300 + k] = y[k]; } o[0] = t[300]",
                "t[299 + k] = y[k]; } o[0] = t[299]",
            ),
            ("o[0] = t[300]", "o[0] = t[299]"),
            ("o[0] = t[300]", "o[0] = t[301]"),
        ],
    ),
    (
        "void f(const int *x, int *y) { int t[90] = {0}; for (int k = 0; k < 30; k++) { t[k] = x[k]; t[30 + k] = x[30 + k] - x[k]; t[60 + k] = x[60 + k] ^ x[k]; } for (int k = 0; k < 3; k++) { const int *w = t + 30 * k; y[k] = w[0] + w[2]; } }",
        &[
            ("t[30 + k]", "t[2 + k]"),
            ("t[30 + k]", "t[31 + k]"),
            ("t[60 + k]", "t[58 + k]"),
            ("t[60 + k]", "t[30 + k]"),
            ("t[k] =", "t[k + 1] ="),
            ("t[k] =", "t[89 - k] ="),
            ("t + 30 * k", "t + 20 * k"),
            ("t + 30 * k", "t + k"),
            ("w[0] + w[2]", "w[0] + w[1]"),
            ("k < 30; k++) { t[k]", "k < 2; k++) { t[k]"),
        ],
    ),
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
        "void f(int n, int g, const float *a, const float *s, float *c) { for (int i = 0; i < n; i++) c[i] = a[i] * s[i / g]; }",
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
    // A mask with a hole rounds to no multiple.
    (
        "void f(const int *x, int *y, unsigned n) { for (unsigned i = 0; i < n / 6 * 6; i++) y[i] = x[i]; }",
        &[("n / 6 * 6", "(n & ~5u)"), ("n / 6 * 6", "n / 6u * 5u")],
    ),
    (
        "void f(const int *x, int *y, int n) { if (n < 0) return; for (int i = 0; i < n / 6 * 6; i++) y[i] = x[i]; }",
        &[("n / 6 * 6", "(n & ~5)"), ("n / 6 * 6", "(n & -2)")],
    ),
];
