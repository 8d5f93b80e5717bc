//! Near the rules for rounds that add to places which other rounds add to.

use super::{Case, refuses_them};

#[test]
fn the_meaning_of_one_is_not_proven_of_the_other() {
    refuses_them("overlapping", "c", "#include <stdint.h>\n", CASES);
}

const CASES: &[Case] = &[
    (
        "void f(const float *x, int n, const float *h, int m, float *y) { for (int i = 0; i < n; i++)
         for (int j = 0; j < m; j++) y[i + j] += x[i] * h[j]; }",
        &[
            ("i < n", "i < n - 1"),
            ("i < n", "i <= n"),
            ("j < m", "j < m - 1"),
            ("j < m", "j <= m"),
            ("int i = 0", "int i = 1"),
            ("int j = 0", "int j = 1"),
            ("y[i + j] +=", "y[i + j] ="),
            ("y[i + j] +=", "y[i + j] -="),
            ("y[i + j]", "y[i + j + 1]"),
            ("y[i + j]", "y[2 * i + j]"),
            ("y[i + j]", "y[i + 2 * j]"),
            ("y[i + j]", "y[i]"),
            ("y[i + j]", "y[n - 1 - i + j]"),
            ("x[i]", "x[n - 1 - i]"),
            ("x[i]", "x[j]"),
            ("h[j]", "h[m - 1 - j]"),
            ("int i = 0; i < n; i++", "int i = n - 1; i >= 0; i--"),
            ("y[i + j] += x[i] * h[j]", "if (x[i] > 0) y[i + j] += x[i] * h[j]"),
            ("x[i] * h[j]", "x[i] * y[j]"),
        ],
    ),
    (
        "void f(const int *x, const int *w, int *y) { for (int k = 0; k < 20; k++) y[k] = 0; for (int i = 0; i < 9; i++)
         for (int j = 0; j < 4; j++) y[2 * i + j] += x[i] ^ w[j]; }",
        &[
            ("k < 20", "k < 19"),
            ("int k = 0", "int k = 1"),
            ("i < 9", "i < 8"),
            ("j < 4", "j < 3"),
            ("y[2 * i + j] +=", "y[2 * i + j] ="),
            ("2 * i + j", "3 * i + j"),
            ("2 * i + j", "i + j"),
            ("2 * i + j", "16 - 2 * i + j"),
            ("y[k] = 0", "y[k] = 1"),
        ],
    ),
    (
        "void f(const float *x, int n, float *y) { for (int i = 0; i < n; i++) { y[i] += x[i]; y[i + 1] += 0.5f * x[i]; } }",
        &[
            ("y[i + 1]", "y[i + 2]"),
            ("y[i + 1]", "y[i]"),
            ("y[i + 1] +=", "y[i + 1] ="),
            ("y[i] += x[i]; y[i + 1] += 0.5f * x[i];", "y[i + 1] += 0.5f * x[i]; y[i] += x[i + 1];"),
            ("y[i] += x[i]", "y[i] *= x[i]"),
            ("i < n", "i < n - 1"),
            ("0.5f * x[i]", "0.5f * y[i]"),
        ],
    ),
    (
        "void f(const float *x, int h, int w, const float *k, float *y, int pitch) { for (int r = 0; r < h; r++)
         for (int c = 0; c < w; c++) for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++)
         y[(r + i) * pitch + c + j] += x[r * w + c] * k[3 * i + j]; }",
        &[
            ("c + j]", "c + i]"),
            ("(r + i) * pitch", "(r + j) * pitch"),
            ("(r + i) * pitch", "r * pitch"),
            ("i < 3", "i < 2"),
            ("j < 3", "j < 2"),
            ("k[3 * i + j]", "k[3 * j + i]"),
            ("] +=", "] ="),
            ("c < w", "c < w - 1"),
        ],
    ),
];
