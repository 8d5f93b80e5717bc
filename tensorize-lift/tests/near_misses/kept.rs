//! Near the rules for places that numbers say which rounds raise, and for those that an array names.

use super::{Case, proves_none, refuses_them};

#[test]
fn what_is_kept_elsewhere_or_otherwise_is_not_proven() {
    refuses_them("kept", "c", "#include <stdint.h>\n", CASES);
}

/// How far these go, or what they find there, no size says, nor the data before the call.
#[test]
fn what_may_go_anywhere_is_not_proven() {
    proves_none(UNPROVEN);
}

const CASES: &[Case] = &[
    // By one condition or by another one.
    (
        "int f(const int *x, int *o, int n, int op) { int m = 0; if (op) { for (int i = 0; i < n; i++) if (x[i] > 3) o[m++] = x[i]; } else { for (int k = 0; k < n; k++) if (x[k] < 2) o[m++] = x[k] ^ 1; } return m; }",
        &[
            ("if (op)", "if (!op)"),
            ("if (op)", "if (op > 1)"),
            ("if (op)", "if (m)"),
            ("x[k] < 2", "x[k] > 3"),
            ("x[k] ^ 1", "x[k]"),
            ("k = 0", "k = 1"),
            ("k < n", "k < n - 1"),
            ("k++)", "k += 2)"),
            ("o[m++] = x[i]", "o[++m] = x[i]"),
            ("return m", "return m + !op"),
        ],
    ),
    (
        "int f(const int *x, int n, int *out) { int k = 0; for (int i = 0; i < n; i++) if (x[i] > 0) out[k++] = x[i]; return k; }",
        &[
            ("k = 0", "k = 1"),
            ("k = 0", "k = n"),
            ("k++", "++k"),
            ("k++", "k"),
            ("out[k++]", "out[i]"),
            ("out[k++] = x[i]", "out[k] = x[k], k++"),
            ("out[k++] = x[i]", "out[k++] = i"),
            ("out[k++] = x[i]", "out[k] = x[i], k += 2"),
            ("out[k++] = x[i]", "out[k++] = x[i], k -= i == 3"),
            ("x[i] > 0", "x[i] >= 0"),
            ("x[i] > 0", "x[i] > 0 && i != 2"),
            ("i < n", "i < n - 1"),
            ("int i = 0", "int i = 1"),
            ("return k", "return k + 1"),
            ("return k", "return n"),
            (
                "if (x[i] > 0) out[k++] = x[i]",
                "{ if (x[i] > 5) k = 0; if (x[i] > 0) out[k++] = x[i]; }",
            ),
            (
                "if (x[i] > 0) out[k++] = x[i]",
                "{ out[k] = x[i]; if (x[i] > 0) k++; }",
            ),
            ("int i = 0; i < n; i++", "int i = n - 1; i >= 0; i--"),
        ],
    ),
    // What stands between the things that are done before the loop, and an early return, which the sizes decide.
    (
        "int f(const int *x, int n, int t, int *out, int *first) { if (n <= 0) return 0; int k = 0; int s = t; first[0] = s; for (int i = 0; i < n; i++) if (x[i] > s) out[k++] = x[i]; return k; }",
        &[
            ("first[0] = s;", "first[0] = s; s = 5;"),
            (
                "int s = t; first[0] = s;",
                "first[0] = 1; int s = first[0];",
            ),
            ("int k = 0; int s = t;", "int s = t; int k = s;"),
            // Whether it returns early, nothing before the call says; of what `x` holds from the start, that may be asked.
            ("n <= 0", "out[0] < 0"),
            ("n <= 0", "first[n - 1] < 0"),
        ],
    ),
    (
        "int f(const int *x, int n, int t, int *out, int *first) { first[0] = 1; int k = 0; int s = 5; first[1] = s; first[2] = s; for (int i = 0; i < n; i++) if (x[i] > s) out[k++] = x[i]; return k; }",
        &[
            (
                "int s = 5; first[1] = s;",
                "int s = t; first[1] = s; s = 5;",
            ),
            (
                "int s = 5; first[1] = s;",
                "int s = 5; first[1] = s; s = t;",
            ),
        ],
    ),
    // Removed in place, and by what was kept last.
    (
        "int f(int *a, int n) { int w = 0; for (int i = 0; i < n; i++) if (w == 0 || a[w - 1] != a[i]) a[w++] = a[i]; return w; }",
        &[
            ("a[w - 1] != a[i]", "a[i - 1] != a[i]"),
            ("a[w - 1] != a[i]", "a[w] != a[i]"),
            ("a[w - 1]", "a[0]"),
            ("w == 0 ||", ""),
            ("w == 0", "i == 1"),
            ("a[w++] = a[i]", "a[w] = a[w], w++"),
        ],
    ),
    // Two ends, which never meet.
    (
        "void f(const int *x, int n, int t, int *out) { int l = 0, r = n - 1; for (int i = 0; i < n; i++) { if (x[i] < t) out[l++] = x[i]; else out[r--] = x[i]; } }",
        &[
            ("r = n - 1", "r = n"),
            ("r = n - 1", "r = n - 2"),
            ("r--", "r++"),
            ("r--", "--r"),
            ("l++", "r--"),
            ("x[i] < t", "x[i] <= t"),
            ("else out", "out"),
            ("out[r--] = x[i]", "out[l++] = x[i]"),
        ],
    ),
    (
        "int f(const uint8_t *in, int n, uint8_t *value, int *length) { int k = 0; for (int i = 0; i < n; i++) { if (i > 0 && in[i] == in[i - 1]) length[k - 1]++; else { value[k] = in[i]; length[k] = 1; k++; } } return k; }",
        &[
            ("length[k - 1]++", "length[k]++"),
            ("length[k - 1]++", "length[k - 1] += 2"),
            ("length[k - 1]++", "length[i - 1]++"),
            ("length[k] = 1", "length[k] = 0"),
            ("length[k] = 1; k++", "k++; length[k] = 1"),
            ("in[i - 1]", "value[k]"),
            ("i > 0 &&", "i > 1 &&"),
        ],
    ),
    // In rounds of rounds.
    (
        "int f(const uint8_t *m, int h, int w, int *xs) { int k = 0; for (int r = 0; r < h; r++) for (int c = 0; c < w; c++) if (m[r * w + c]) { xs[k] = c; k++; } return k; }",
        &[
            ("xs[k] = c", "xs[k] = r"),
            ("r * w + c", "c * h + r"),
            (
                "xs[k] = c; k++;",
                "xs[k] = c; k = r > 0 && c == 0 ? 1 : k + 1;",
            ),
            ("int c = 0", "int c = 1"),
            ("return k", "return k / 2"),
        ],
    ),
    // Places that an array names.
    (
        "void f(const int *p, const int *x, int n, int *y) { for (int i = 0; i < n; i++) y[p[i]] += x[i]; }",
        &[
            ("+= x[i]", "= x[i]"),
            ("+= x[i]", "-= x[i]"),
            ("+= x[i]", "+= x[p[i]]"),
            ("y[p[i]]", "y[p[0]]"),
            ("y[p[i]]", "y[p[i] + 1]"),
            ("y[p[i]]", "y[i]"),
            ("i < n", "i < n - 1"),
            ("y[p[i]] += x[i]", "if (x[i] > 0) y[p[i]] += x[i]"),
        ],
    ),
    (
        "void f(const int *p, const int *q, const int *w, int n, int *y) { for (int i = 0; i < n; i++) { y[p[i]] += w[i]; y[q[i]] += w[i]; } }",
        &[
            ("y[q[i]] += w[i]", "if (p[i] != q[i]) y[q[i]] += w[i]"),
            ("y[q[i]] += w[i]", "y[p[i]] += w[i]"),
            (
                "y[p[i]] += w[i]; y[q[i]] += w[i];",
                "int a = y[p[i]], b = y[q[i]]; y[p[i]] = a + w[i]; y[q[i]] = b + w[i];",
            ),
        ],
    ),
];

const UNPROVEN: &[&str] = &[
    // Its text looks as if it only rose.
    "int f(const int *x, int n, int *out) { int k = 0; for (int i = 0; i < n; i++) if (x[i] > 0) { out[k] = x[i]; k = (signed char)(k + 1); } return k; }",
    // Where it goes, what it has written says.
    "void f(int *p, int n) { for (int i = 0; i < n; i++) p[p[i]] = i; }",
    "void f(int *p, int n, int *y) { for (int i = 0; i < n; i++) { y[p[i]]++; p[i] = i; } }",
    // A number that goes as far as the data says.
    "int f(const int *x, int n, int *out) { int k = 0; for (int i = 0; i < n; i++) { out[k] = i; k += x[i]; } return k; }",
    "int f(const int *x, int n, int *out) { int k = 0; for (int i = 0; i < n; i++) { if (x[i] > 0) k = x[i]; out[k++] = i; } return k; }",
    "int f(const int *x, int n, int *out) { int k = 0; for (int i = 0; i < n; i++) { out[k] = x[i]; k = x[i] > 0 ? 2 * k : k + 1; } return k; }",
];
