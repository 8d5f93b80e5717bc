//! Near the rules for sums over where two rows lie upon each other.

use super::{Case, refuses_them};

#[test]
fn the_sum_over_other_places_is_another_one() {
    refuses_them("convolutions", "c", "", CASES);
}

const CASES: &[Case] = &[
    (
        "void f(int n, int m, const float *x, const float *h, float *y) { for (int k = 0; k < n + m - 1; k++) {
         int lo = k >= m - 1 ? k - (m - 1) : 0; int hi = k < n - 1 ? k : n - 1;
         float s = 0; for (int j = lo; j <= hi; j++) s += x[j] * h[k - j]; y[k] = s; } }",
        &[
            ("k < n + m - 1", "k < n + m"),
            ("k < n + m - 1", "k < n + m - 2"),
            ("k >= m - 1", "k > m"),
            ("k >= m - 1", "k >= m - 2"),
            ("k - (m - 1) : 0", "k - m : 0"),
            ("k - (m - 1) : 0", "k - (m - 1) : 1"),
            ("? k : n - 1", "? k : n"),
            ("? k : n - 1", "? n - 1 : k"),
            ("k < n - 1", "k < m - 1"),
            ("j <= hi", "j < hi"),
            ("h[k - j]", "h[j - lo]"),
            ("h[k - j]", "h[hi - j]"),
            ("h[k - j]", "h[k - j + 1]"),
            ("x[j]", "x[hi - j + lo]"),
            ("float s = 0", "float s = y[k]"),
            ("s += x", "s -= x"),
        ],
    ),
];
