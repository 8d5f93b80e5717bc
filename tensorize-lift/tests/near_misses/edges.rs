//! Indices that stop at edges or go round, rows as far apart as somebody says, and values of the round before: and what is
//! not quite the same.

use super::{Case, refuses_them};

#[test]
fn edges_and_pitches() {
    refuses_them("edges", "c", HEADERS, EDGES);
}

#[test]
fn what_was_one_round_before() {
    refuses_them("before", "c", HEADERS, BEFORE);
}

const HEADERS: &str = "#include <stddef.h>\n#include <stdint.h>\n";

const EDGES: &[Case] = &[
    // All of it, and then what is within a border.
    (
        "void f(const float *u, float *restrict v, int n, int m) { for (int k = 0; k < n * m; k++) v[k] = u[k];
         for (int i = 1; i < n - 1; i++) for (int j = 2; j < m - 1; j++) v[i * m + j] = u[i * m + j - 1] * 2; }",
        &[
            ("int i = 1", "int i = 0"),
            ("int j = 2", "int j = 1"),
            ("n - 1", "n - 2"),
            ("m - 1", "m"),
            ("v[i * m + j]", "v[i * m + j + 1]"),
            ("v[i * m + j]", "v[(i + 1) * m + j]"),
            ("v[i * m + j]", "v[j * n + i]"),
            ("k < n * m", "k < n * m - 1"),
        ],
    ),
    (
        "void f(const float *x, float *y, int h, int w, int p) { for (int k = 0; k < (h + 2 * p) * (w + 2 * p); k++) y[k] = 0;
         for (int i = 0; i < h; i++) for (int j = 0; j < w; j++) y[(i + p) * (w + 2 * p) + j + p] = x[i * w + j]; }",
        &[
            ("+ j + p]", "+ j]"),
            ("(i + p)", "i"),
            ("(i + p)", "(i + p + 1)"),
            ("(w + 2 * p) + j", "(w + p) + j"),
            ("= 0;", "= 1;"),
            ("(w + 2 * p);", "(w + p);"),
        ],
    ),
    // Indices that stop at the edges.
    (
        "void f(const uint8_t *s, uint8_t *d, int w, int h) { for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) { int l = x > 0 ? x - 1 : 0, r = x < w - 1 ? x + 1 : w - 1; d[y * w + x] = s[y * w + l] - s[y * w + r] + s[y * w + x]; } }",
        &[
            ("x > 0 ? x - 1 : 0", "x > 2 ? x - 1 : 0"),
            ("x > 0 ? x - 1 : 0", "x > 0 ? x - 1 : 1"),
            ("x < w - 1 ?", "x < w ?"),
            ("x < w - 1 ? x + 1", "x < w - 3 ? x + 1"),
            ("s[y * w + r]", "s[y * h + r]"),
        ],
    ),
    // The cell itself at a wall, as equations say it.
    (
        "void f(const float *q, float *o, size_t h, size_t w) { for (size_t j = 0; j < h; j++) { const size_t u = j == 0 ? 0 : j - 1, d = j + 1 == h ? j : j + 1; for (size_t i = 0; i < w; i++) o[j * w + i] = q[u * w + i] - q[d * w + i]; } }",
        &[
            ("j == 0 ? 0", "j == 1 ? 0"),
            ("j == 0 ? 0 : j - 1", "j == 0 ? 1 : j - 1"),
            ("j == 0 ? 0 : j - 1", "j == 0 ? 0 : j"),
            ("j == 0 ? 0 : j - 1", "j == 0 ? h - 1 : j - 1"),
            ("j + 1 == h", "j + 2 == h"),
            ("j + 1 == h", "j + 1 != h"),
            ("j + 1 == h ? j ", "j + 1 == h ? 0 "),
            ("j + 1 == h ? j : j + 1", "j + 1 == h ? j : j - 1"),
            ("j + 1 == h ? j : j + 1", "j + 2 == h ? j : j + 2"),
        ],
    ),
    (
        "void f(const float *x, int n, int p, float *y) { for (int i = 0; i < n + 2 * p; i++) { int k = i - p; if (k < 0) k = 0; else if (k >= n) k = n - 1; y[i] = x[k]; } }",
        &[
            ("k < 0", "k < 1"),
            ("k >= n", "k > n"),
            ("k = 0; else", "k = 1; else"),
            ("k = n - 1", "k = n"),
            ("i - p", "i - p - 1"),
        ],
    ),
    // Ones that go round.
    (
        "void f(const double *u, double *v, int n) { for (int i = 0; i < n; i++) { int l = i == 0 ? n - 1 : i - 1, r = i == n - 1 ? 0 : i + 1; v[i] = u[l] - 2 * u[i] + u[r]; } }",
        &[
            ("i == 0 ? n - 1", "i == 0 ? n - 2"),
            ("i == 0 ?", "i == 1 ?"),
            ("i == n - 1 ? 0", "i == n - 1 ? 1"),
            ("i == n - 1 ? 0 : i + 1", "i == n ? 0 : i + 1"),
        ],
    ),
    (
        "void f(const float *u, float *v, int w, int h) { for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) v[y * w + x] = u[((y + 1) % h) * w + (x + w - 1) % w] - u[y * w + x]; }",
        &[
            ("(y + 1) % h", "(y + 1) % w"),
            ("(x + w - 1) % w", "(x + w - 1) % h"),
            ("(y + 1) % h", "(y + 1 + h) % h + 1"),
            ("(x + w - 1) % w", "(x + w - 2) % w"),
        ],
    ),
    // Rows that become shorter, and may be empty.
    (
        "void f(const int16_t *x, int n, int m, int32_t *r) { for (int k = 0; k < m; k++) { int32_t s = 0; for (int i = 0; i < n - k; i++) s += x[i] * x[i + k]; r[k] = s; } }",
        &[
            ("i < n - k", "i < n"),
            ("i < n - k", "i <= n - k"),
            ("x[i + k]", "x[i + m]"),
            ("x[i] *", "x[k] *"),
        ],
    ),
    (
        "void f(int n, int kl, int ku, const float *a, const float *x, float *y) { for (int i = 0; i < n; i++) { int lo = i - kl < 0 ? 0 : i - kl; int hi = i + ku >= n ? n - 1 : i + ku; float s = 0; for (int j = lo; j <= hi; j++) s += a[i * (kl + ku + 1) + j - i + kl] * x[j]; y[i] = s; } }",
        &[
            ("j - i + kl", "j - i + ku"),
            ("i - kl < 0 ? 0", "i - kl < 0 ? 1"),
            ("i + ku >= n ? n - 1", "i + ku >= n ? n - 2"),
            ("kl + ku + 1", "kl + ku"),
        ],
    ),
    // Quotients of products.
    (
        "void f(const uint8_t *s, int sw, int sh, uint8_t *d, int dw, int dh) { for (int y = 0; y < dh; y++) for (int x = 0; x < dw; x++) d[y * dw + x] = s[(y * sh / dh) * sw + x * sw / dw]; }",
        &[
            ("y * sh / dh", "y / dh * sh"),
            ("x * sw / dw", "x * sw / dh"),
            ("y * sh / dh", "(y + 1) * sh / dh"),
        ],
    ),
    // Masks of numbers that may be negative, and the fields of one colour.
    (
        "void f(const int *in, int *out, int n, int from) { for (int i = 0; i < n; i++) out[i] = in[(i - from) & 7] + (from & 3); }",
        &[
            ("(i - from) & 7", "(i - from) % 8"),
            ("(i - from) & 7", "(from - i) & 7"),
            ("(i - from) & 7", "(i - from) & 3"),
            ("from & 3", "from & 2"),
        ],
    ),
    (
        "void f(int *u, int n, int m, int colour) { for (int i = 1; i < n - 1; i++) for (int j = 1 + ((i + colour) & 1); j < m - 1; j += 2) u[i * m + j] += u[i * m + j - 1] + u[i * m - m + j] - u[i * m + m + j] - u[i * m + j + 1]; }",
        &[
            ("(i + colour) & 1", "(i + colour + 1) & 1"),
            ("(i + colour) & 1", "colour & 1"),
            ("j += 2", "j += 1"),
            ("j < m - 1", "j < m - 2"),
            ("u[i * m + j - 1]", "u[i * m + j - 2]"),
            ("u[i * m - m + j]", "u[i * m - m + j - 1]"),
        ],
    ),
    // A limit within the other one, counted in sizes of addresses.
    (
        "typedef unsigned long size_t; static int within(int i, int n) { return i < 0 ? 0 : (i >= n ? n - 1 : i); }
         void f(const int *in, int *out, int w, int h) { for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) { int s = 0; for (int d = -1; d <= 1; d++) s += in[(size_t)within(y + d, h) * w + within(x - d, w)]; out[(size_t)y * w + x] = s; } }",
        &[
            ("i < 0 ? 0", "i < 0 ? 1"),
            ("i < 0 ? 0", "i <= 0 ? 1"),
            ("i < 0 ? 0", "i < 3 ? 0"),
            ("i >= n ? n - 1", "i >= n ? n - 2"),
            ("i >= n ? n - 1", "i >= n - 1 ? n - 2"),
            ("i >= n ? n - 1 : i", "i >= n ? n - 1 : i / 2"),
            ("within(y + d, h)", "within(y - d, h)"),
            ("within(y + d, h)", "within(y + d, w)"),
            ("within(x - d, w)", "within(x - d, h)"),
        ],
    ),
    // Places that are computed with floats.
    (
        "void f(const float *s, int n, float *d, int m, float r) { for (int i = 0; i < m; i++) { int k = (int)(i * r); k = k < 0 ? 0 : k > n - 1 ? n - 1 : k; d[i] = s[k]; } }",
        &[
            ("k < 0 ? 0", "k < 1 ? 0"),
            ("k < 0 ? 0", "k < 0 ? 1"),
            ("k > n - 1 ?", "k > n ?"),
            ("? n - 1", "? n - 2"),
            ("i * r", "i * r + 1"),
            ("s[k]", "s[k + 1]"),
        ],
    ),
    (
        "void f(const float *s, float *d, int m, float r) { for (int i = 0; i < m; i++) d[i] = s[(int)(i * r)]; }",
        &[
            ("i * r", "i / r"),
            ("(int)(i * r)", "i * (int)r"),
            ("(int)(i * r)", "(int)(i * r) + 1"),
        ],
    ),
    // A table that the function makes first.
    (
        "void f(float *o, const uint8_t *x, int n, int by) { int t[256]; for (int i = 0; i < 256; i++) t[i] = i * by + 3; for (int i = 0; i < n; i++) o[i] = t[x[i]]; }",
        &[
            ("t[x[i]]", "t[x[i] / 2]"),
            ("t[x[i]]", "t[(int8_t)x[i] & 127]"),
            ("i * by + 3", "(i + 1) * by + 3"),
            ("= t[x[i]]", "= (int8_t)t[x[i]]"),
            ("i * by", "(int8_t)i * by"),
            ("t[i] =", "t[255 - i] ="),
        ],
    ),
    // Several elements of rows that are as far apart as somebody says.
    (
        "void f(uint8_t *o, const uint8_t *x, int n, int step) { for (int i = 0; i < n; i++) { o[0] = x[i]; o[1] = 255 - x[i]; o[2] = 7; o += step; } }",
        &[
            ("o[1] =", "o[3] ="),
            ("o[2] = 7", "o[1] = 7"),
            (
                "o[1] = 255 - x[i]; o[2] = 7;",
                "o[2] = 7; o[2] = 255 - x[i];",
            ),
            ("o += step", "o += step + 1"),
        ],
    ),
    (
        "void f(float *v, int h, int d) { for (int k = 0; k < h; k++) for (int i = 0; i < d; i += 2) { float a = v[k * d + i], b = v[k * d + i + 1]; v[k * d + i] = b; v[k * d + i + 1] = -a; } }",
        &[
            ("v[k * d + i] = b", "v[k * d + i + 1] = b"),
            ("i += 2", "i += 3"),
            ("b = v[k * d + i + 1]", "b = v[k * d + i + 2]"),
        ],
    ),
    // Rows that change places.
    (
        "void f(uint8_t *p, int w, int h) { for (int y = 0; y < h / 2; y++) { uint8_t *a = p + y * w, *b = p + (h - 1 - y) * w; for (int x = 0; x < w; x++) { uint8_t t = a[x]; a[x] = b[x]; b[x] = t; } } }",
        &[
            ("y < h / 2", "y < h"),
            ("y < h / 2", "y < h / 2 - 1"),
            ("(h - 1 - y) * w", "(h - 2 - y) * w"),
            ("b[x] = t", "b[x] = a[x]"),
            ("a[x] = b[x]", "a[x] = b[w - 1 - x]"),
        ],
    ),
    // Steps that are a size.
    (
        "double f(int n, const double *x, int inc) { double s = 0; for (int i = 0; i < n * inc; i += inc) s += x[i]; return s; }",
        &[
            ("i += inc", "i += inc + 1"),
            ("n * inc", "n * inc + 1"),
            ("x[i]", "x[i + 1]"),
            ("int i = 0", "int i = inc"),
        ],
    ),
];

const BEFORE: &[Case] = &[
    (
        "void f(const float *b, float *a, int n) { float t = 0; for (int i = 0; i < n; i++) { a[i] = b[i] + t; t = b[i]; } }",
        &[
            ("float t = 0;", "float t = 1;"),
            ("a[i] = b[i] + t; t = b[i];", "t = b[i]; a[i] = b[i] + t;"),
            ("t = b[i];", "t = a[i];"),
            ("t = b[i];", "t = b[i] + t;"),
        ],
    ),
    (
        "void f(const int *x, int *y, int n) { int p = 0, q = 0; for (int i = 0; i < n; i++) { y[i] = x[i] - 2 * p + q; q = p; p = x[i]; } }",
        &[
            ("q = p; p = x[i];", "p = x[i]; q = p;"),
            ("p = 0, q = 0", "p = 0, q = 1"),
            ("q = p;", "q = x[i];"),
        ],
    ),
    (
        "int f(const int *a, int n) { int c = 0, m = 0; for (int i = 0; i < n; i++) { if (c == 0) { m = a[i]; c = 1; } else if (a[i] == m) c++; else c--; } return m; }",
        &[
            ("c == 0", "c == 1"),
            ("c = 1", "c = 2"),
            ("return m", "return c"),
            ("a[i] == m", "a[i] != m"),
        ],
    ),
    // A table that is looked into by what it replaces.
    (
        "void f(uint8_t *x, int n, const uint8_t t[256]) { for (int i = 0; i < n; i++) x[i] = t[x[i]]; }",
        &[
            ("t[x[i]]", "x[x[i]]"),
            ("t[x[i]]", "t[x[0]]"),
            ("t[x[i]]", "t[x[i]] + 1"),
        ],
    ),
    // The lowest bit set, and cleared.
    (
        "void f(const uint8_t *x, int *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i | 1] - x[i & ~1]; }",
        &[
            ("i | 1", "i + 1"),
            ("i | 1", "i | 2"),
            ("i | 1", "i ^ 1"),
            ("i & ~1", "i"),
        ],
    ),
    // A string is a table.
    (
        "void f(const uint8_t *x, char *y, int n) { static const char t[] = \"0123\\\"567\"; for (int i = 0; i < n; i++) y[i] = t[x[i] & 7]; }",
        &[("0123", "0132"), ("& 7", "& 3"), ("567", "568")],
    ),
    (
        "void f(void *d, const void *s, size_t n) { float *y = d; const float *x = s; for (size_t i = 0; i < n / sizeof(float); i++) y[i] = 2 * x[i]; }",
        &[
            (
                "float *y = d; const float *x = s",
                "int32_t *y = d; const float *x = s",
            ),
            ("sizeof(float)", "sizeof(double)"),
            ("x[i]", "x[n]"),
        ],
    ),
];
