//! Near results that begin in a later round.

use super::{Case, refuses_them};

#[test]
fn what_begins_in_another_round_is_not_proven() {
    refuses_them("warm_up", "c", "", CASES);
}

const CASES: &[Case] = &[
    (
        "int f(const int *x, int *o, int n, int s) { int k = 0; for (int i = 0; i < n; i++) { if (i >= s) o[k++] = x[i] / 2; } return k; }",
        &[
            ("i >= s", "i > s"),
            ("i >= s", "i <= s"),
            ("i >= s", "i >= s && i != s + 2"),
            ("k = 0", "k = 1"),
            ("o[k++] =", "k++, o[k] ="),
            ("o[k++] =", "o[++k] ="),
            ("x[i] / 2", "x[i - 1] / 2"),
            ("x[i] / 2; }", "x[i] / 2; else k++; }"),
            ("return k", "return n - s"),
        ],
    ),
    // A place that goes on to step up to some round.
    (
        "int f(const int *x, int *o, int n, int s) { int k = 0; for (int i = 0; i < n; i++) { o[i] = x[k]; if (i < s) k++; } return k; }",
        &[
            ("i < s", "i <= s"),
            ("i < s", "i > s"),
            ("k++", "k += 2"),
            (
                "o[i] = x[k]; if (i < s) k++;",
                "if (i < s) k++; o[i] = x[k];",
            ),
            ("return k", "return s"),
        ],
    ),
    (
        "void f(const int *x, int *o, int n, int s) { for (int i = 0; i < n; i++) if (i >= s) o[i - s] = x[i] / 2; }",
        &[
            ("i >= s", "i > s"),
            ("i - s", "i - s + 1"),
            ("i - s", "i"),
            ("x[i] / 2", "x[i - s] / 2"),
            ("i < n", "i < n - 1"),
        ],
    ),
];
