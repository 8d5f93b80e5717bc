//! Near the rules for triangles and diagonals of matrices, and for two writes that meet in one round.

use super::{Case, refuses_them};

#[test]
fn the_other_triangle_is_another_matrix() {
    refuses_them("triangles", "c", "", CASES);
}

const CASES: &[Case] = &[
    // Both triangles at once; the two writes meet on the diagonal.
    (
        "void f(float *restrict g, const float *x, const float *y, int n) { for (int i = 0; i < n; i++) for (int j = i; j < n; j++) {
         g[i * n + j] = x[i] - y[j]; g[j * n + i] = x[j] - y[i]; } }",
        &[
            ("int j = i;", "int j = i + 1;"),
            ("int j = i;", "int j = 0; /**/"),
            ("x[j] - y[i]", "x[i] - y[j]"),
            ("x[i] - y[j]", "x[j] - y[i]"),
            ("g[j * n + i]", "g[j * n + j]"),
            ("g[j * n + i]", "g[i * n + i]"),
            ("j < n", "j < n - 1"),
        ],
    ),
    (
        "void f(float *restrict g, const float *x, int n) { for (int i = 0; i < n; i++) { g[i * n + i] = 1;
         for (int j = i + 1; j < n; j++) g[i * n + j] = g[j * n + i] = x[i] * x[j]; } }",
        &[
            ("g[i * n + i] = 1", "g[i * n + i] = 2"),
            ("g[i * n + i] = 1", "g[0] = 1"),
            ("i + 1", "i + 2"),
            ("i + 1", "i"),
            ("= g[j * n + i]", "= g[j * n + i + 1]"),
            ("= g[j * n + i]", ""),
        ],
    ),
    // One write a place, and two in different rounds.
    (
        "void f(float *restrict g, const float *x, int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { g[j * n + i] = x[i]; } }",
        &[
            ("{ g[j", "{ g[i * n + j] = 0; g[j"),
            ("x[i];", "x[i]; g[i * n + j] = x[j];"),
        ],
    ),
    // In place.
    (
        "void f(float *a, int n) { for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) {
         float t = a[i * n + j]; a[i * n + j] = a[j * n + i]; a[j * n + i] = t; } }",
        &[
            ("i + 1", "0"),
            ("= t", "= a[i * n + j]"),
            ("int i = 0", "int i = 1"),
            ("float t = a[i * n + j]", "float t = a[j * n + i]"),
            ("j < n", "j < n - 1"),
        ],
    ),
    (
        "void f(double *a, double s, int n) { for (int i = 0; i < n; i++) a[i * n + i] += s; }",
        &[
            ("a[i * n + i]", "a[i * n + n - 1 - i]"),
            ("a[i * n + i]", "a[i * n]"),
            ("i < n", "i < n - 1"),
            ("+=", "-="),
        ],
    ),
    // By columns that are further apart than they are long.
    (
        "void f(int n, float s, const float *x, float *a, int lda) { for (int j = 0; j < n; j++) for (int i = 0; i <= j; i++)
         a[i + j * lda] += x[i] * (x[j] * s); }",
        &[
            ("i <= j", "i < j"),
            ("i <= j", "i <= j + 1"),
            ("i <= j", "i < n"),
            ("int i = 0", "int i = j"),
            ("i + j * lda", "j + i * lda"),
            ("i + j * lda", "i + j * n"),
            ("j < n", "j < n - 1"),
        ],
    ),
    (
        "void f(int m, int n, float s, float *a, int lda) { for (int j = 0; j < n; j++) for (int i = j + 1; i < m; i++)
         a[i + j * lda] = s; }",
        &[
            ("j + 1", "j"),
            ("j + 1", "j + 2"),
            ("i < m", "i < n"),
            ("i < m", "i <= m"),
            ("= s", "= a[i - 1 + j * lda]"),
        ],
    ),
    (
        "void f(int m, int n, const float *b, float *a, int lda) { for (int j = 0; j < n; j++)
         for (int i = 0; i < (j + 1 < m ? j + 1 : m); i++) a[i + j * lda] = b[j]; }",
        &[
            ("? j + 1 : m", "? j : m"),
            ("? j + 1 : m", "? m : j + 1"),
            ("j + 1 < m ?", "j + 1 < n ?"),
            ("b[j]", "b[i]"),
        ],
    ),
    // Packed: what each column adds to the counter is one more than the last one's, or one less.
    (
        "void f(int n, const double *x, double *ap) { int kk = 0; for (int j = 0; j < n; j++) { int k = kk;
         for (int i = 0; i <= j; i++) { ap[k] += x[i] * x[j]; k++; } kk += j + 1; } }",
        &[
            ("kk = 0", "kk = 1"),
            ("kk += j + 1", "kk += j"),
            ("kk += j + 1", "kk += j + 2"),
            ("kk += j + 1", "kk += n - j"),
            ("kk += j + 1", "kk += 2 * j + 1"),
            ("kk += j + 1", "if (j > 2) kk += j + 1"),
            ("kk += j + 1", "if (j != 2) kk += j + 1"),
            ("kk += j + 1", "kk = j + 1"),
            ("k = kk", "k = kk + 1"),
            ("k++", "k += 2"),
            ("i <= j", "i < j"),
            ("int j = 0", "int j = 1"),
        ],
    ),
    (
        "void f(int n, const float *a, float *ap) { int k = 0; for (int i = 0; i < n; i++) for (int j = i; j < n; j++)
         ap[k++] = a[i * n + j]; }",
        &[
            ("k = 0", "k = 1"),
            ("ap[k++]", "ap[++k]"),
            ("j = i", "j = i + 1"),
            ("j = i", "j = 0"),
            ("j < n", "j < n - 1"),
            ("i * n + j", "j * n + i"),
        ],
    ),
    (
        "void f(int n, const float *ap, float *a) { for (int j = 0; j < n; j++) for (int i = j; i < n; i++)
         a[i * n + j] = ap[i - j + j * n - j * (j - 1) / 2]; }",
        &[
            ("j * (j - 1) / 2", "j * (j + 1) / 2"),
            ("j * (j - 1) / 2", "j * (j - 1)"),
            ("j * (j - 1) / 2", "(j * (j - 1) + 1) / 2 + 1"),
            ("j * (j - 1) / 2", "j * j / 2"),
            ("i - j +", "i - j + 1 +"),
        ],
    ),
    // What an earlier round has added is nothing that memory says later.
    (
        "void f(int n, int *s, int *out) { int k = 0; for (int j = 0; j < n; j++) { k = j * s[0]; out[j] = k; s[0] = j + 2; } }",
        &[("k = j * s[0]; out[j] = k;", "out[j] = k; k += s[0];")],
    ),
];
