//! Near the rules for places that the data says.

use super::{Case, refuses_them};

#[test]
fn the_meaning_of_one_is_not_proven_of_the_other() {
    refuses_them("scatter", "c", "#include <stdint.h>\n", CASES);
}

const CASES: &[Case] = &[
    // Places between two limits.
    (
        "void f(const int *a, int n, int *h, int m) { for (int i = 0; i < m; i++) h[i] = 0; for (int i = 0; i < n; i++) { int b = a[i]; if (b < 0) b = 0; if (b > m - 1) b = m - 1; h[b]++; } }",
        &[
            ("b > m - 1", "b > m"),
            ("b > m - 1", "b > m - 2"),
            ("b = m - 1", "b = m - 2"),
            ("b = m - 1", "b = 0"),
            ("if (b > m - 1) b = m - 1;", ""),
            ("if (b < 0) b = 0;", ""),
            ("b < 0) b = 0", "b < 1) b = 1"),
            ("b < 0) b = 0", "b < 0) b = 1"),
            (
                "if (b < 0) b = 0; if (b > m - 1) b = m - 1;",
                "if (b > m - 1) b = 0; if (b < 0) b = m - 1;",
            ),
        ],
    ),
    (
        "void f(const float *x, const uint8_t *t, uint8_t *o, int n) { for (int i = 0; i < n; i++) { int k = (int)(x[i] * 1023); if (k < 0) k = 0; if (k > 1023) k = 1023; o[i] = t[k]; } }",
        &[
            ("k > 1023", "k > 1022"),
            ("k > 1023) k = 1023", "k > 1023) k = 1022"),
            ("k > 1023) k = 1023", "k > 1024) k = 1024"),
            ("k < 0) k = 0", "k < 0) k = 1"),
            ("if (k < 0) k = 0;", ""),
            ("if (k > 1023) k = 1023;", ""),
            ("x[i] * 1023", "x[i] * 1024"),
        ],
    ),
    // The places are those that the conditions leave.
    (
        "void f(const uint8_t *a, int n, int *h) { for (int i = 0; i < n; i++) if (a[i] < 128) h[a[i]]++; }",
        &[
            ("if (a[i] < 128) ", ""),
            ("a[i] < 128", "a[i] < 129"),
            ("a[i] < 128", "a[i] < 127"),
            ("a[i] < 128", "a[i] <= 254"),
        ],
    ),
    (
        "void f(const int *a, int n, int *h, int m) { for (int i = 0; i < n; i++) if (a[i] >= 0 && a[i] < m) h[a[i]]++; }",
        &[
            ("a[i] < m", "a[i] <= m"),
            ("a[i] < m", "a[i] < m + 5"),
            ("a[i] >= 0", "a[i] >= 1"),
        ],
    ),
    (
        "void f(const uint8_t *a, int n, int *h) { for (int i = 0; i < n; i++) h[a[i]]++; }",
        &[
            ("h[a[i]]++", "h[a[i]]--"),
            ("h[a[i]]++", "h[a[i]] += 2"),
            ("h[a[i]]++", "h[a[i] / 2]++"),
            ("h[a[i]]++", "h[255 - a[i]]++"),
            ("h[a[i]]++", "h[a[n - 1 - i]]--"),
            ("h[a[i]]++", "if (h[a[i]] < 255) h[a[i]]++"),
            ("h[a[i]]++", "h[a[i]] = h[0] + 1"),
            ("h[a[i]]++", "h[a[i]] = h[a[0]] + 1"),
            ("h[a[i]]++", "h[a[i]] = 1"),
            ("h[a[i]]++", "h[a[i]] += i"),
            ("int i = 0", "int i = 1"),
            ("i < n", "i < n - 1"),
            ("i < n", "i < n && !(a[i] & 1)"),
        ],
    ),
    (
        "void f(const int *a, int n, int *h, int m) { for (int j = 0; j < m; j++) h[j] = 0; for (int i = 0; i < n; i++) h[a[i]]++; }",
        &[
            ("h[j] = 0", "h[j] = 1"),
            ("j < m", "j < m - 1"),
            ("int j = 0", "int j = 1"),
            ("h[a[i]]++", "h[a[i]] = i"),
            ("h[a[i]]++", "h[a[i] + 1]++"),
            ("h[a[i]]++", "if (a[i] > 0) h[a[i]]++"),
        ],
    ),
    (
        "void f(const uint8_t *a, const int *x, int n, int *o) { for (int i = 0; i < n; i++) o[a[i]] = x[i]; }",
        &[
            ("int i = 0; i < n; i++", "int i = n - 1; i >= 0; i--"),
            ("= x[i]", "= x[0]"),
            ("= x[i]", "+= x[i]"),
            ("o[a[i]] = x[i]", "if (x[i] > o[a[i]]) o[a[i]] = x[i]"),
        ],
    ),
    (
        "void f(const uint8_t *a, int n, int *h) { for (int i = 0; i < n; i++) { h[a[2 * i]]++; h[a[2 * i + 1]] *= 2; } }",
        &[
            (
                "h[a[2 * i]]++; h[a[2 * i + 1]] *= 2;",
                "h[a[2 * i + 1]] *= 2; h[a[2 * i]]++;",
            ),
            (
                "h[a[2 * i]]++; h[a[2 * i + 1]] *= 2;",
                "int t = h[a[2 * i + 1]]; h[a[2 * i]]++; h[a[2 * i + 1]] = 2 * t;",
            ),
        ],
    ),
    (
        "void f(const uint8_t *l, const int *x, int n, int d, int *s) { for (int i = 0; i < n; i++) for (int j = 0; j < d; j++) s[l[i]] += x[i * d + j]; }",
        &[
            ("s[l[i]]", "s[l[j]]"),
            ("i * d + j", "j"),
            ("x[i * d + j]", "x[j * n + i]"),
        ],
    ),
    (
        "void f(const int *l, const int *x, int n, int d, int k, int *s) { for (int c = 0; c < k * d; c++) s[c] = 0; for (int i = 0; i < n; i++) for (int j = 0; j < d; j++) s[l[i] * d + j] += x[i * d + j]; }",
        &[
            ("s[l[i] * d + j]", "s[l[i] * d + d - 1 - j]"),
            ("s[l[i] * d + j]", "s[l[j] * d + j]"),
            ("s[l[i] * d + j]", "s[l[i] + j]"),
            ("s[l[i] * d + j]", "s[l[i] * d]"),
            ("j < d; j++", "j < d - 1; j++"),
            ("+= x", "= x"),
        ],
    ),
    // By columns of as many entries as memory says, under conditions on data outside of them.
    (
        "void f(int m, int n, const int *p, const int *l, const int *a, const int *x, int *y) { for (int i = 0; i < m; i++) y[i] = 0; for (int j = 0; j < n; j++) { if (x[j] == 0) continue; for (int k = p[j]; k < p[j + 1]; k++) y[l[k]] += a[k] * x[j]; } }",
        &[
            ("i < m", "i < m - 1"),
            ("y[i] = 0", "y[i] = 1"),
            ("int j = 0", "int j = 1"),
            ("j < n", "j < n - 1"),
            ("x[j] == 0", "x[j] == 1"),
            ("x[j] == 0", "x[0] == 0"),
            ("continue", "break"),
            ("int k = p[j]", "int k = p[j] + 1"),
            ("int k = p[j]", "int k = p[0]"),
            ("k < p[j + 1]", "k <= p[j + 1]"),
            ("k < p[j + 1]", "k < p[n]"),
            ("y[l[k]]", "y[l[j]]"),
            ("y[l[k]]", "y[l[k] + 1]"),
            ("a[k] * x[j]", "a[k] * x[k]"),
            ("a[k] * x[j]", "a[k] + x[j]"),
            ("+=", "="),
        ],
    ),
    // As many places as a size says that nothing else looks at.
    (
        "void f(int m, int n, const int *l, const int *a, int *y) { for (int k = 0; k < n; k++) y[l[k]] += a[k]; }",
        &[
            ("y[l[k]]", "y[l[n - 1 - k]]"),
            ("y[l[k]]", "y[l[k] / 2]"),
            ("+= a[k]", "-= a[k]"),
            ("+= a[k]", "= a[k]"),
            ("k < n", "k < n && l[k] < m - 1"),
            ("k < n", "k < n && k < m"),
        ],
    ),
];

#[test]
fn what_has_no_form_or_guard_is_not_proven() {
    super::proves_none(UNPROVEN);
}

const UNPROVEN: &[&str] = &[
    // Whether an index is looked at depends on the row's own counter: no guard asks that.
    "void f(const int *l, const unsigned char *m, int n, int d, int k, int *s) { for (int c = 0; c < k * d; c++) s[c] = 0; for (int i = 0; i < n; i++) for (int j = 0; j < d; j++) if (m[j]) s[l[i] * d + j]++; }",
];
