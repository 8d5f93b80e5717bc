//! What C programs do with arrays, one kernel or two a construct, and what is not quite the same.

use super::{Case, refuses_them};

#[test]
fn ways_to_reach_memory() {
    refuses_them("memory", "c", HEADERS, MEMORY);
}

#[test]
fn ways_to_go_round_and_to_stop() {
    refuses_them("control", "c", HEADERS, CONTROL);
}

#[test]
fn arithmetic_and_reductions() {
    refuses_them("reductions", "c", HEADERS, REDUCTIONS);
}

const HEADERS: &str = "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n";

const MEMORY: &[Case] = &[
    // Variables of the file.
    (
        "int g; void f(int *x, int n) { for (int i = 0; i < n; i++) x[i] = g; g = n; }",
        &[
            (
                "for (int i = 0; i < n; i++) x[i] = g; g = n;",
                "g = n; for (int i = 0; i < n; i++) x[i] = g;",
            ),
            ("g = n", "g = n + 1"),
            ("g = n", "if (n > 3) g = n"),
            ("x[i] = g;", "x[i] = g++;"),
        ],
    ),
    (
        "float a[8], b[8]; void f(float v) { for (int i = 0; i < 8; i++) a[i] = b[i] * v; }",
        &[
            ("b[i] * v", "a[i] * v"),
            ("b[i] * v", "b[7 - i] * v"),
            ("a[i] = ", "b[i] = "),
            ("i < 8", "i < 7"),
            ("a[i] = b[i] * v;", "{ a[i] = b[i] * v; v = a[i]; }"),
        ],
    ),
    (
        "static struct { int n; float k, h[8]; } s; void f(float *x) { for (int i = 0; i < s.n; i++) x[i] *= s.k; s.h[0] = s.k; }",
        &[
            ("i < s.n", "i < s.n - 1"),
            ("*= s.k", "*= s.h[0]"),
            ("s.h[0] = s.k", "s.h[1] = s.k"),
            ("s.h[0] = s.k", "s.h[0] = s.n"),
        ],
    ),
    // Strides.
    (
        "void f(int n, float a, const float *x, int incx, float *y, int incy) { for (int i = 0; i < n; i++) y[i * incy] += a * x[i * incx]; }",
        &[
            ("x[i * incx]", "x[i * incy]"),
            ("y[i * incy]", "y[i]"),
            ("x[i * incx]", "x[i * incx + 1]"),
        ],
    ),
    // Pointers into one array or another.
    (
        "void f(const float *a, const float *b, float *o, int n, int flag) { const float *w = flag ? a : b; for (int i = 0; i < n; i++) o[i] = w[i] * 2; }",
        &[
            ("flag ? a : b", "flag ? b : a"),
            ("flag ? a : b", "!flag ? a : b"),
            ("flag ? a : b", "flag > 0 ? a : b"),
            ("flag ? a : b", "flag ? a : a"),
            ("flag ? a : b", "flag ? a + 1 : b"),
            ("w[i] * 2", "w[i] * 2 + a[i] - a[i]"),
        ],
    ),
    (
        "void f(float *x, float *tmp, int n, int in_place) { float *to = tmp; if (in_place) to = x; for (int i = 0; i < n; i++) to[i] = x[i] + 1; }",
        &[
            ("to = x;", "to = tmp;"),
            ("if (in_place)", "if (!in_place)"),
            ("float *to = tmp; if (in_place) to = x;", "float *to = x;"),
            ("to[i] = x[i] + 1", "tmp[i] = x[i] + 1"),
            ("to[i] = x[i] + 1", "to[i] = tmp[i] + 1"),
            ("to[i] = x[i] + 1", "to[i] = to[i] + 1"),
        ],
    ),
    // The condition may change after it was looked at, and the pointer moves on.
    (
        "unsigned f(const unsigned *a, const unsigned *b, int n, int flag) { const unsigned *p = flag == 0 ? a : flag == 1 ? b : a + n; flag = 1; unsigned s = 0; for (int i = 0; i < n; i++) s += *p++; return s + flag; }",
        &[
            ("flag == 1 ? b : a + n", "flag == 2 ? b : a + n"),
            ("flag == 1 ? b : a + n", "flag == 1 ? b : b + n"),
            ("flag == 0 ? a :", "flag == 0 ? b :"),
            (
                "const unsigned *p = flag == 0 ? a : flag == 1 ? b : a + n; flag = 1;",
                "flag = 1; const unsigned *p = flag == 0 ? a : flag == 1 ? b : a + n;",
            ),
        ],
    ),
    // A part of a matrix, with the distance of its rows.
    (
        "void f(int m, int n, const float *a, int lda, float *b, int ldb) { for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) b[i * ldb + j] = a[i * lda + j]; }",
        &[
            ("a[i * lda + j]", "a[i * n + j]"),
            ("b[i * ldb + j]", "b[i * lda + j]"),
            ("a[i * lda + j]", "a[j * lda + i]"),
        ],
    ),
    // Arrays of rank 2 and 3.
    (
        "void f(int n, int m, const float a[n][m], float b[m][n]) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) b[j][i] = a[i][j]; }",
        &[
            ("float b[m][n]", "float b[m][m]"),
            ("const float a[n][m]", "const float a[n][n]"),
        ],
    ),
    (
        "void f(const int (*a)[4][5], int (*b)[5], int n) { for (int i = 0; i < n; i++) for (int j = 0; j < 5; j++) { b[i][j] = 0; for (int k = 0; k < 4; k++) b[i][j] += a[i][k][j]; } }",
        &[
            ("a[i][k][j]", "a[i][0][j]"),
            ("(*a)[4][5]", "(*a)[5][5]"),
            ("k < 4", "k < 3"),
        ],
    ),
    // Structs that carry pointers and sizes: by pointer, by value, one in another.
    (
        "typedef struct { float *data; int rows, cols; } matrix; void f(matrix *m, float s) { for (int i = 0; i < m->rows; i++) for (int j = 0; j < m->cols; j++) m->data[i * m->cols + j] *= s; }",
        &[
            ("i * m->cols + j", "i * m->rows + j"),
            ("int rows, cols", "int cols, rows"),
            ("j < m->cols", "j < m->cols - 1"),
        ],
    ),
    (
        "typedef struct { const float *data; int n; } vec; struct pair { vec a, b; }; float f(struct pair p) { float s = 0; for (int i = 0; i < p.a.n; i++) s += p.a.data[i] * p.b.data[i]; return s; }",
        &[
            ("p.b.data[i]", "p.a.data[i]"),
            ("vec a, b", "vec b, a"),
            ("i < p.a.n", "i < p.b.n"),
        ],
    ),
    // Tables of row pointers.
    (
        "void f(const int *const *a, int **b, int n, int m) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) b[i][j] = a[i][j] + 1; }",
        &[
            ("a[i][j]", "a[0][j]"),
            ("b[i][j]", "b[i][m - 1 - j]"),
            ("i < n", "i < n - 1"),
        ],
    ),
    // Pointers that may be null.
    (
        "void f(const float *x, const float *b, float *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i] + (b ? b[i] : 0.0f); }",
        &[
            ("b ? b[i] : 0.0f", "b ? b[i] : 1.0f"),
            ("b ? b[i] : 0.0f", "b[i]"),
            ("b ? b[i]", "x ? b[i]"),
        ],
    ),
    // A status besides.
    (
        "int f(const int *x, int *y, int n) { if (n <= 0) return -1; for (int i = 0; i < n; i++) y[i] = 2 * x[i]; return 0; }",
        &[
            ("2 * x[i]", "3 * x[i]"),
            ("i < n", "i < n - 1"),
            ("return 0", "return n"),
        ],
    ),
    // Without `restrict`, and with what it promises.
    (
        "void f(const int *restrict x, int *restrict y, int n) { for (int i = 1; i < n; i++) y[i] = x[i] + x[i - 1]; }",
        &[("x[i - 1]", "y[i - 1]")],
    ),
    // In place, and what stays as it was.
    (
        "void f(int *x, int n) { for (int i = 1; i < n; i += 2) x[i] = -x[i]; }",
        &[
            ("int i = 1", "int i = 0"),
            ("i += 2", "i++"),
            ("-x[i]", "-x[i - 1]"),
        ],
    ),
    (
        "void f(int *x, const int *m, int n) { for (int i = 0; i < n; i++) if (m[i]) x[i] = 0; }",
        &[
            ("if (m[i]) ", ""),
            ("if (m[i])", "if (!m[i])"),
            ("m[i]", "x[i]"),
        ],
    ),
    // Several outputs. Without the first, a closed form of `c` is one of an array that no round writes.
    (
        "void f(const float *x, float *c, float *s, int n) { for (int i = 0; i < n; i++) { c[i] = cosf(x[i]); s[i] = sinf(x[i]); } }",
        &[
            ("s[i] = sinf", "s[i] = cosf"),
            ("c[i] = cosf(x[i]); ", ""),
            ("*c, float *s", "*s, float *c"),
        ],
    ),
    // Scratch and tables of constants.
    (
        "void f(const int *x, int *y) { int t[8]; for (int i = 0; i < 8; i++) t[i] = x[7 - i]; for (int i = 0; i < 8; i++) y[i] = t[i] + x[i]; }",
        &[
            ("x[7 - i]", "x[i]"),
            ("t[i] + x[i]", "t[7 - i] + x[i]"),
            ("t[i] + x[i]", "t[i] + y[i]"),
        ],
    ),
    (
        "void f(const int *x, int *y, int n) { static const int w[3] = {1, 2, 1}; for (int i = 0; i + 2 < n; i++) { int s = 0; for (int k = 0; k < 3; k++) s += w[k] * x[i + k]; y[i] = s; } }",
        &[
            ("{1, 2, 1}", "{1, 2, 2}"),
            ("x[i + k]", "x[i + 2 - k + 1]"),
            ("k < 3", "k < 2"),
        ],
    ),
    // Scratch of many structs, one after the other.
    (
        "typedef struct { int lo, hi; } range; void f(const range *r, int *out, int n) { for (int i = 0; i < n; i++) out[i] = r[i].hi - r[i].lo; }",
        &[
            ("int lo, hi", "int hi, lo"),
            ("r[i].lo", "r[0].lo"),
            ("r[i].hi - r[i].lo", "r[i].lo - r[i].hi"),
        ],
    ),
    (
        "typedef struct { uint8_t r, g, b, a; } pixel; void f(const pixel *p, uint8_t *out, int n) { for (int i = 0; i < n; i++) out[i] = (p[i].r * 77 + p[i].g * 150 + p[i].b * 29) >> 8; }",
        &[
            ("p[i].g * 150 + p[i].b * 29", "p[i].b * 150 + p[i].g * 29"),
            ("g, b, a;", "g, b;"),
            (">> 8", ">> 7"),
        ],
    ),
    (
        "typedef struct { float x, y; } v2; typedef struct { v2 pos, vel; } body; void f(body *b, int n, float dt) { for (int i = 0; i < n; i++) { b[i].pos.x += b[i].vel.x * dt; b[i].pos.y += b[i].vel.y * dt; } }",
        &[
            ("b[i].vel.y * dt", "b[i].vel.x * dt"),
            ("v2 pos, vel", "v2 vel, pos"),
            ("b[i].pos.y +=", "b[i].pos.x +="),
        ],
    ),
];

const CONTROL: &[Case] = &[
    // Ends that are told by a sum of unsigned sizes.
    (
        "void f(const int *x, int *y, size_t n, size_t w) { for (size_t i = 0; i + w <= n; ++i) { int s = 0; for (size_t j = 0; j < w; ++j) s += x[i + j]; y[i] = s; } }",
        &[
            ("i + w <= n", "i + w < n"),
            ("i + w <= n", "i + w <= n + 1"),
            ("i + w <= n", "i <= n"),
            (
                "size_t i = 0; i + w",
                "unsigned char i = 0; (unsigned char)(i + w)",
            ),
            ("j < w", "j + 1 < w"),
            ("x[i + j]", "x[i + w]"),
        ],
    ),
    (
        "void f(const int *x, int *y, unsigned n, unsigned w) { for (unsigned i = 0; i + w < n && n > 0; ++i) y[i] = x[i + w]; }",
        &[
            ("i + w < n", "i + w <= n"),
            ("&& n > 0", "&& w > 0"),
            ("&& n > 0", "&& n > i + w + 1"),
        ],
    ),
    // Counters of other types, down, by more than one.
    (
        "void f(const short *x, int *y, short n) { for (short i = 0; i < n; i++) y[i] = x[i]; }",
        &[
            ("i < n", "i <= n - 2"),
            ("y[i] = x[i]", "y[i] = (unsigned short)x[i]"),
            ("short i = 0", "short i = 1"),
        ],
    ),
    (
        "void f(int *y, size_t n) { for (size_t i = n; i-- > 0;) y[i] = (int)i; }",
        &[
            ("i-- > 0", "i-- > 1"),
            ("(int)i", "(int)(n - i)"),
            ("size_t i = n", "size_t i = n - 1"),
        ],
    ),
    (
        "void f(const unsigned *x, unsigned *y, unsigned n) { while (n--) y[n] = x[n] >> 1; }",
        &[
            ("n--", "--n"),
            ("x[n] >> 1", "x[n] >> 2"),
            ("const unsigned *x", "const int *x"),
        ],
    ),
    (
        "void f(const int *x, int *y, int n) { for (int i = 0; i < n; i += 3) y[i] = x[i]; }",
        &[
            ("i += 3", "i += 2"),
            ("int i = 0", "int i = 1"),
            ("i < n", "i + 1 < n"),
        ],
    ),
    // Nests in a row.
    (
        "void f(const float *x, float *y, int n) { float m = 0; for (int i = 0; i < n; i++) m += x[i]; m /= n; for (int i = 0; i < n; i++) y[i] = x[i] - m; }",
        &[
            ("x[i] - m", "m - x[i]"),
            ("m /= n", "m /= n - 1"),
            ("float m = 0", "float m = 1"),
        ],
    ),
    // Branches that don't depend on the round.
    (
        "void f(const int *x, int *y, int n, int mode) { for (int i = 0; i < n; i++) { if (mode) y[i] = x[i]; else y[i] = -x[i]; } }",
        &[
            ("if (mode)", "if (mode > 0)"),
            ("-x[i]", "x[i]"),
            ("if (mode)", "if (!mode)"),
        ],
    ),
    // `continue`, and ranges that are clamped.
    (
        "int f(const int *x, int n) { int s = 0; for (int i = 0; i < n; i++) { if (x[i] < 0) continue; s += x[i]; } return s; }",
        &[
            ("continue", "break"),
            ("x[i] < 0", "x[i] < -1"),
            ("s += x[i]", "s = x[i]"),
        ],
    ),
    (
        "void f(const int *x, int *y, int n, int lo, int hi) { if (lo < 0) lo = 0; if (hi > n) hi = n; for (int i = lo; i < hi; i++) y[i] = x[i]; }",
        &[
            ("lo = 0", "lo = 1"),
            ("hi > n", "hi > n + 1"),
            ("hi = n", "hi = n - 1"),
        ],
    ),
    // Pragmas that are ignored.
    (
        "void f(const int *x, int *y, int n) {\n#pragma omp parallel for\n for (int i = 0; i < n; i++) y[i] = x[i] + 1; }",
        &[("x[i] + 1", "x[i] + i"), ("int i = 0", "int i = 1")],
    ),
];

const REDUCTIONS: &[Case] = &[
    // Each sum is rounded to as many bits as a float has.
    (
        "float f(const int *x, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }",
        &[
            ("float s = 0", "int s = 0"),
            ("float s = 0", "double s = 0"),
            ("s += x[i]", "s += (short)x[i]"),
        ],
    ),
    // Places as wide as addresses are.
    (
        "size_t f(const float *a, size_t n) { size_t b = 0; for (size_t i = 1; i < n; i++) if (a[i] > a[b]) b = i; return b; }",
        &[
            ("b = i;", "b = i - 1;"),
            ("b = 0", "b = 1"),
            ("i = 1", "i = 2"),
            ("a[i] > a[b]", "a[i] >= a[b]"),
            ("a[i] > a[b]", "a[i] > a[b + 1]"),
        ],
    ),
    (
        "void f(const float *x, long rows, long cols, long *p) { for (long r = 0; r < rows; r++) { long b = 0; for (long c = 1; c < cols; c++) if (x[r * cols + c] > x[r * cols + b]) b = c; p[r] = b; } }",
        &[
            ("r * cols + b]", "r * rows + b]"),
            ("r * cols + b]", "r * cols + c]"),
            ("r * cols + b]", "r * cols - b]"),
            ("b = c", "b = c - 1"),
            ("p[r] = b", "p[r] = b + 1"),
        ],
    ),
    (
        "unsigned f(const unsigned *x, int n) { unsigned p = 1; for (int i = 0; i < n; i++) p *= x[i]; return p; }",
        &[
            ("p = 1", "p = 2"),
            ("p *= x[i]", "p += x[i]"),
            ("p *= x[i]", "p *= x[0]"),
        ],
    ),
    (
        "int f(const int *x, int n) { int m = x[0]; for (int i = 1; i < n; i++) m = x[i] < m ? x[i] : m; return m; }",
        &[
            ("x[i] < m", "x[i] > m"),
            ("x[i] : m", "x[i] : x[0]"),
            ("m = x[0]", "m = 0"),
        ],
    ),
    (
        "int f(const int *x, int n) { int c = 0; for (int i = 0; i < n; i++) c += x[i] > 0; return c; }",
        &[
            ("x[i] > 0", "x[i] >= 0"),
            ("c += x[i] > 0", "c |= x[i] > 0"),
            ("c += x[i] > 0", "c += x[i]"),
        ],
    ),
    (
        "int f(const int *x, int n) { int any = 0; for (int i = 0; i < n; i++) any |= x[i] == 3; return any; }",
        &[
            ("any |=", "any &="),
            ("any |=", "any ^="),
            ("x[i] == 3", "x[i] == 2"),
        ],
    ),
    (
        "float f(const float *x, int n) { float s = 0; for (int i = 0; i < n; i++) s += fabsf(x[i]); return s; }",
        &[
            ("fabsf(x[i])", "x[i]"),
            ("s += fabsf(x[i])", "s = fmaxf(s, fabsf(x[i]))"),
        ],
    ),
    (
        "float f(const float *x, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i] * x[i]; return sqrtf(s); }",
        &[
            ("sqrtf(s)", "s"),
            ("x[i] * x[i]", "x[i]"),
            ("x[i] * x[i]", "x[i] * x[0]"),
        ],
    ),
    (
        "void f(const float *x, float *out, int n) { float m = 0, v = 0; for (int i = 0; i < n; i++) m += x[i]; m /= n; for (int i = 0; i < n; i++) v += (x[i] - m) * (x[i] - m); out[0] = m; out[1] = v / n; }",
        &[
            ("v / n", "v / (n - 1)"),
            ("(x[i] - m) * (x[i] - m)", "(x[i] - m) * x[i]"),
            ("m /= n", "m = m"),
        ],
    ),
    // Fixed point: shifts, rounding, saturation.
    (
        "void f(const int16_t *a, const int16_t *b, int16_t *c, int n) { for (int i = 0; i < n; i++) { int p = (a[i] * b[i] + (1 << 14)) >> 15; c[i] = p > 32767 ? 32767 : p < -32768 ? -32768 : p; } }",
        &[
            ("p > 32767 ? 32767 : ", ""),
            ("(1 << 14)", "(1 << 13)"),
            (">> 15", "/ 32768"),
            ("+ (1 << 14)", "+ 0"),
        ],
    ),
    (
        "void f(const uint8_t *a, const uint8_t *b, uint8_t *c, int n) { for (int i = 0; i < n; i++) { int s = a[i] + b[i]; c[i] = s > 255 ? 255 : s; } }",
        &[
            ("s > 255 ? 255 : s", "s"),
            ("s > 255", "s > 256"),
            ("255 : s", "254 : s"),
        ],
    ),
    // Borders, windows, strides of windows.
    (
        "void f(const int *x, int *y, int n) { for (int i = 0; i < n; i++) { int l = i > 0 ? x[i - 1] : x[i], r = i < n - 1 ? x[i + 1] : x[i]; y[i] = l + 2 * x[i] + r; } }",
        &[
            ("i > 0 ? x[i - 1] : x[i]", "i > 0 ? x[i - 1] : 0"),
            ("i < n - 1", "i < n - 2"),
            ("2 * x[i]", "x[i]"),
        ],
    ),
    (
        "void f(const float *x, float *y, int h, int w) { for (int i = 1; i < h - 1; i++) for (int j = 1; j < w - 1; j++) y[i * w + j] = x[(i - 1) * w + j] + x[(i + 1) * w + j] + x[i * w + j - 1] + x[i * w + j + 1] - 4 * x[i * w + j]; }",
        &[
            ("x[(i + 1) * w + j]", "x[(i - 1) * w + j]"),
            ("int i = 1", "int i = 2"),
            ("j < w - 1", "j < w - 2"),
        ],
    ),
    (
        "void f(const float *x, float *y, int h, int w) { for (int i = 0; i < h; i++) for (int j = 0; j < w; j++) { float m = x[2 * i * (2 * w) + 2 * j]; for (int p = 0; p < 2; p++) for (int q = 0; q < 2; q++) { float v = x[(2 * i + p) * (2 * w) + 2 * j + q]; if (v > m) m = v; } y[i * w + j] = m; } }",
        &[
            ("v > m", "v < m"),
            ("2 * j + q", "2 * j + p"),
            ("(2 * i + p)", "(2 * i)"),
        ],
    ),
    (
        "void f(const int *a, const int *b, int *c, int n, int m) { for (int i = 0; i < n; i++) c[i] = a[i]; for (int i = 0; i < m; i++) c[n + i] = b[i]; }",
        &[
            ("c[n + i]", "c[m + i]"),
            ("c[n + i] = b[i]", "c[n + i] = a[i]"),
            ("i < m", "i < m - 1"),
        ],
    ),
    // Whole layers in one function.
    (
        "void f(float *x, int rows, int n) { for (int r = 0; r < rows; r++) { float *p = x + r * n; float m = p[0], s = 0; for (int i = 1; i < n; i++) if (p[i] > m) m = p[i]; for (int i = 0; i < n; i++) { p[i] = expf(p[i] - m); s += p[i]; } for (int i = 0; i < n; i++) p[i] /= s; } }",
        &[
            ("p[i] /= s", "p[i] /= m"),
            ("p[i] - m", "p[i]"),
            ("s = 0", "s = 1"),
            ("p[i] > m", "p[i] < m"),
        ],
    ),
    (
        "void f(const float *x, const float *g, const float *b, float *y, int rows, int n) { for (int r = 0; r < rows; r++) { const float *p = x + r * n; float m = 0, v = 0; for (int i = 0; i < n; i++) m += p[i]; m /= n; for (int i = 0; i < n; i++) v += (p[i] - m) * (p[i] - m); float s = 1 / sqrtf(v / n + 1e-5f); for (int i = 0; i < n; i++) y[r * n + i] = (p[i] - m) * s * g[i] + b[i]; } }",
        &[
            ("g[i] + b[i]", "g[r] + b[i]"),
            ("v / n", "v"),
            ("1e-5f", "1e-3f"),
            ("y[r * n + i] = (p[i] - m)", "y[r * n + i] = p[i]"),
        ],
    ),
    (
        "void f(const int8_t *x, int8_t *y, int n, int m) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[j * n + i] = x[i * m + j]; }",
        &[
            ("y[j * n + i]", "y[j * m + i]"),
            ("x[i * m + j]", "x[i * m + m - 1 - j]"),
        ],
    ),
];
