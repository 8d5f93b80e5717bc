//! Near `memmove` within one array.

use super::{Case, refuses_them};

#[test]
fn what_is_moved_otherwise_is_not_proven() {
    refuses_them("moved", "c", "#include <string.h>\n", CASES);
}

const CASES: &[Case] = &[
    // As if all of it had been read first.
    (
        "void f(int *x, int n, int by) { memmove(x + by, x, n * sizeof *x); }",
        &[
            (
                "memmove(x + by, x, n * sizeof *x)",
                "memmove(x, x + by, n * sizeof *x)",
            ),
            ("n * sizeof", "(n - 1) * sizeof"),
            (
                "memmove(x + by, x, n * sizeof *x)",
                "for (int i = 0; i < n; i++) x[i + by] = x[i]",
            ),
        ],
    ),
    (
        "void f(int *x, int n) { memmove(x, x + 1, n * sizeof *x); }",
        &[
            ("memmove(x, x + 1", "memmove(x + 1, x"),
            (
                "memmove(x, x + 1, n * sizeof *x)",
                "for (int i = n - 1; i >= 0; i--) x[i] = x[i + 1]",
            ),
        ],
    ),
];
