//! Near delay lines: from where a place goes round, how far, and what each round does there. And near short loops that say in
//! which array a round works.

use super::{Case, kernel, refuses_them, solver};
use tensorize_lift::summarise::summarise;
use tensorize_prove::{Options, Verdict};

#[test]
fn other_delay_lines_are_another_kernel() {
    refuses_them("echoes", "c", "", CASES);
}

const CASES: &[Case] = &[
    // The place is kept in a variable, and stored when all is done.
    (
        "void f(int *line, int len, int *at, int *io, int n) { int p = *at;
         for (int i = 0; i < n; i++) { int old = line[p];
         line[p] = io[i] + 3 * old; io[i] = old; if (++p >= len) p = 0; } *at = p; }",
        &[
            ("++p >= len", "++p > len"),
            ("++p >= len", "p++ >= len"),
            ("++p >= len", "++p >= len - 1"),
            ("++p >= len", "++p >= n"),
            ("p = 0; }", "p = 1; }"),
            ("int p = *at", "int p = 0"),
            ("int p = *at", "int p = *at + 1"),
            ("*at = p; }", "*at = 0; }"),
            ("*at = p; }", "*at = p + 1; }"),
            ("p = 0; } *at = p; }", "p = 0; *at = p; } }"),
            ("p = 0; } *at = p; }", "p = 0; } }"),
            ("io[i] = old; if (++p >= len) p = 0;", "if (++p >= len) p = 0; io[i] = line[p];"),
            ("line[p] = io[i]", "line[0] = io[i]"),
            ("line[p] = io[i] + 3 * old; io[i] = old;", "io[i] = old; line[p] = io[i] + 3 * old;"),
            ("i < n", "i < n - 1"),
        ],
    ),
    // It stays in memory, and each round reads it anew.
    (
        "void f(int *line, int len, int *at, const int *in, int *out, int n) { for (int i = 0; i < n; i++) {
         out[i] = line[*at]; line[*at] = in[i]; *at = (*at + 1) % len; } }",
        &[
            ("(*at + 1) % len", "(*at + 2) % len"),
            ("(*at + 1) % len", "(*at + 1) % n"),
            ("(*at + 1) % len", "(i + 1) % len"),
            ("out[i] = line[*at]", "out[i] = line[0]"),
            ("line[*at] = in[i]; *at = (*at + 1) % len;", "*at = (*at + 1) % len; line[*at] = in[i];"),
            ("line[*at] = in[i];", "if (in[i]) line[*at] = in[i];"),
            ("i < n", "i <= n"),
        ],
    ),
    // It is a parameter, and goes down.
    (
        "void f(int *line, int len, int at, int *io, int n) { for (int i = 0; i < n; i++) { int old = line[at];
         line[at] = io[i]; io[i] = old; at = at == 0 ? len - 1 : at - 1; } }",
        &[
            ("len - 1", "len"),
            ("len - 1", "len - 2"),
            ("at == 0", "at == 1"),
            ("at - 1;", "at + 1;"),
            ("int old = line[at]", "int old = line[0]"),
        ],
    ),
    // A filter that looks back from there.
    (
        "void f(const int *h, int taps, int *line, int *at, const int *x, int *y, int n) { int p = *at;
         for (int i = 0; i < n; i++) { line[p] = x[i]; int s = 0, k = p;
         for (int j = 0; j < taps; j++) { s += h[j] * line[k]; if (--k < 0) k = taps - 1; }
         y[i] = s; if (++p == taps) p = 0; } *at = p; }",
        &[
            ("--k < 0", "--k <= 0"),
            ("k = taps - 1", "k = taps - 2"),
            ("k = p;", "k = 0;"),
            ("j < taps", "j < taps - 1"),
            ("++p == taps", "++p == taps - 1"),
            ("line[p] = x[i]; int s = 0, k = p;", "int s = 0, k = p;"),
            ("h[j]", "h[taps - 1 - j]"),
            ("y[i] = s; if", "y[i] = s; line[0] = s; if"),
        ],
    ),
    // One array after the other.
    (
        "void f(int *q, int *k, int n, int m, int c, int s) { for (int i = 0; i < n; i += 2) { int both = i < m ? 2 : 1;
         for (int v = 0; v < both; v++) { int *x = v == 0 ? q : k; int a = x[i], b = x[i + 1];
         x[i] = a + c - b; x[i + 1] = a - s + b; } } }",
        &[
            ("v == 0 ? q : k", "v == 0 ? k : q"),
            ("v == 0 ? q : k", "v == 1 ? q : k"),
            ("? 2 : 1", "? 1 : 2"),
            ("? 2 : 1", "? 2 : 0"),
            ("i < m", "i <= m"),
            ("v < both", "v <= both"),
            ("int v = 0;", "int v = 1;"),
            ("v++", "v += 2"),
            ("x[i + 1] = a - s", "x[i + 1] = x[i] - s"),
        ],
    ),
];

/// What a guard looks at before a call has to be there in every round: the last one alone may change it.
#[test]
fn a_place_that_rounds_set_is_no_guards_to_look_at() {
    let mut solver = solver();
    let mut verdict = |source: &str| {
        let f = kernel(source);
        let proposal = summarise(&f, &mut solver).expect("a proposal");
        proposal.prove(&f, &mut solver, &Options::default()).1
    };
    let last = "void f(float *line, int len, int *at, const float *x, int n) { int p = *at;
        for (int i = 0; i < n; i++) { line[p] += x[i]; if (++p >= len) p = 0; } *at = p; }";
    assert!(matches!(verdict(last), Verdict::Proven(_)));
    let every = "void f(float *line, int *at, const int *next, const float *x, int n) {
        for (int i = 0; i < n; i++) { line[*at] = x[i]; *at = next[i]; } }";
    // The last round of an inner loop, and not of the outer one.
    let last_of_each = "void f(float *line, int len, int *at, const float *x, int m, int n) {
        for (int r = 0; r < m; r++) { int p = *at;
        for (int i = 0; i < n; i++) { line[p] += x[i]; if (++p >= len) p = 0; } *at = p + 1; } }";
    for source in [every, last_of_each] {
        match verdict(source) {
            Verdict::Unknown { obligation, .. } => {
                assert!(
                    obligation.contains("may not hold in a later round"),
                    "{obligation}"
                );
            }
            other => panic!("{source}: {other:?}"),
        }
    }
}
