//! Rounds that write at a place which stays and at others that move on: what one thing does to another, and gets back.

use super::{Case, proves_none, refuses_them};

#[test]
fn places_that_stay_beside_others_that_move_on() {
    refuses_them("counterforces", "c", "", PAIRS);
}

/// Of a place that is one of the others in one round, it hangs on which round comes last.
#[test]
fn a_place_that_stays_is_none_of_those_that_move_on() {
    let loops = "for (int i = 0; i < n; i++) { a[m] = 5; a[i] = x[i]; }";
    for known in ["m >= 0", "m >= n - 1", "m < n", "m > 3"] {
        let source =
            format!("void f(const int *x, int *a, int n, int m) {{ if ({known}) {loops} }}");
        proves_none(&[&source]);
    }
}

#[test]
fn what_is_told_of_a_size_after_rounds() {
    refuses_them("sizes told last", "c", "", TOLD);
}

const PAIRS: &[Case] = &[
    // What is done with all of them.
    (
        "void f(const int *x, int *a, int *v, int n) { for (int i = 0; i < n - 1; i++) for (int j = i + 1; j < n; j++) { int t = x[i] * x[j]; a[i] += t; a[j] -= t; } for (int i = 0; i < n; i++) { v[i] += a[i]; } }",
        &[
            ("v[i] += a[i]", "v[i] += a[n - 1 - i]"),
            ("v[i] += a[i]", "v[i] -= a[i]"),
            ("v[i] += a[i];", "v[i] += a[i]; a[i] = 0;"),
            ("int i = 0; i < n; i++", "int i = 1; i < n; i++"),
            ("i < n - 1", "i < n - 2"),
            ("j = i + 1", "j = i"),
            ("a[j] -= t", "a[j] += t"),
            ("a[i] += t", "a[i] += a[j]"),
            ("int t = x[i] * x[j]", "int t = x[i] * x[j] - v[j]"),
        ],
    ),
    (
        "void f(const int *x, int *a, int n) { for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) { int t = x[i] * x[j]; a[i] += t; a[j] -= t; } }",
        &[
            ("j = i + 1", "j = i"),
            ("j = i + 1", "j = 0"),
            ("a[j] -= t", "a[j] += t"),
            ("a[j] -= t", "a[i + 1] -= t"),
            ("a[j] -= t", "a[n - 1] -= t"),
            ("a[i] += t", "a[0] += t"),
            ("a[i] += t", "a[i] += a[j]"),
            ("a[i] += t; a[j] -= t", "a[j] -= t; a[i] += a[j]"),
            ("int t = x[i] * x[j]", "int t = x[i] * x[j] - a[j]"),
            ("int t = x[i] * x[j]", "int t = x[i] * x[j] - a[i]"),
        ],
    ),
    // Along each axis, in a loop of its own.
    (
        "void f(const int *x, int (*a)[3], int n) { for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) for (int d = 0; d < 3; d++) { a[i][d] += x[i] * x[j]; a[j][d] -= x[i] * x[j]; } }",
        &[
            ("j = i + 1", "j = i"),
            ("j = i + 1", "j = 0"),
            ("a[j][d] -=", "a[j][2 - d] = x[d] -"),
            ("a[j][d] -=", "a[i][d] -="),
            ("a[i][d] +=", "a[i][d] += a[j][d] +"),
            ("a[i][d] +=", "a[i + 1][d] +="),
            ("d < 3", "d < 2"),
        ],
    ),
    // Cut off at a distance.
    (
        "void f(const float *x, float *a, int n, float far) { for (int i = 0; i < n; i++) { a[i] = 0; } for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) { float t = x[i] - x[j]; if (t < far) { a[i] += t; a[j] -= t; } } }",
        &[
            ("a[j] -= t; }", "} a[j] -= t;"),
            ("if (t < far)", "if (a[j] < far)"),
            ("if (t < far)", "if (a[i] < far)"),
            ("i++) { a[i] = 0; }", "i++) { a[i] = i; }"),
            ("a[j] -= t", "a[j] -= t * t"),
        ],
    ),
    // It may be one of the others, if nothing says that it is not.
    (
        "void f(const int *x, int *a, int n, int m) { if (m >= n) for (int i = 0; i < n; i++) { a[m] = 5; a[i] = x[i]; } }",
        &[
            ("m >= n", "m >= 0"),
            ("m >= n", "m >= n - 1"),
            ("m >= n", "m < n"),
        ],
    ),
    (
        "void f(const int *x, int *a, int n, int m) { if (m >= n) for (int i = 0; i < n; i++) { a[m] += x[i]; a[i] = x[i]; } }",
        &[
            ("m >= n", "m >= 0"),
            ("a[m] += x[i]", "a[m + i] += x[i]"),
            ("a[i] = x[i]", "a[i] = x[i] + a[m]"),
        ],
    ),
    (
        "void f(const int *x, int *a, int n, int m) { if (m >= n) for (int i = 0; i < n; i++) { a[m] += a[i]; a[i] -= x[i]; } }",
        &[
            ("m >= n", "m >= 1"),
            ("a[m] += a[i]; a[i] -= x[i]", "a[i] -= x[i]; a[m] += a[i]"),
        ],
    ),
];

const TOLD: &[Case] = &[
    (
        "void f(const int *x, int *a, int n, int *restrict size) { for (int i = 0; i < n; i++) a[i] = 0; for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) a[j] -= x[i] * x[j]; size[0] = n; }",
        &[
            ("size[0] = n", "size[0] = a[0]"),
            ("size[0] = n", "size[0] = n + 1"),
            ("size[0] = n", "size[1] = n"),
            ("size[0] = n", "size[0] = n; size[0] += a[1]"),
            ("a[j] -= x[i]", "a[j] -= size[0] + x[i]"),
            ("a[j] -= x[i]", "size[0] = a[j] -= x[i]"),
        ],
    ),
    // Where not all get there, or the rounds look at what was told before.
    (
        "void f(const int *x, int *a, int n, int m, int *restrict size) { for (int i = 0; i < n; i++) a[i] = 0; if (m < 2) return; for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) a[j] -= x[i] * x[j]; size[0] = n; }",
        &[
            ("size[0] = n", "size[0] = 1"),
            ("a[j] -= x[i]", "a[j] += x[i]"),
            ("size[0] = n", "size[0] = m"),
        ],
    ),
    (
        "void f(const int *x, int *a, int n, int *restrict size) { for (int i = 0; i < n; i++) a[i] = 0; for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) a[j] -= x[i] * size[0]; size[0] = n; }",
        &[
            ("x[i] * size[0]", "x[i] * n"),
            ("x[i] * size[0]", "x[0] * size[0]"),
            ("a[i] = 0;", "a[i] = 0; size[0] = n;"),
        ],
    ),
    // What counts the rounds is told after the last one.
    (
        "void f(const int *x, int *a, int n, int *restrict size) { int i, j; for (i = 0; i < n; i++) a[i] = 0; for (i = 0; i < n; i++) for (j = i + 1; j < n; j++) a[j] -= x[i] * x[j]; size[0] = i; }",
        &[
            ("size[0] = i", "size[0] = i - 1"),
            ("size[0] = i", "size[0] = j + 1"),
            (
                "int i, j; for (i = 0; i < n; i++) a[i] = 0;",
                "int i, j; for (i = 0; i < n; i++) a[i] = 0; size[0] = i; if (n == 3)",
            ),
        ],
    ),
];
