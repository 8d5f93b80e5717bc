//! Near loops that end when something happens in a round.

use super::{Case, proves_none, refuses_them};

#[test]
fn what_ends_elsewhere_or_otherwise_is_not_proven() {
    refuses_them("ends", "c", "", CASES);
}

/// Of these nobody knows that they end, or how far they go.
#[test]
fn what_may_go_on_is_not_proven() {
    proves_none(UNPROVEN);
}

const CASES: &[Case] = &[
    (
        "int f(const int *x, int n, int *out, int cap) { int k = 0; for (int i = 0; i < n && k < cap; i++) if (x[i] > 0) out[k++] = x[i]; return k; }",
        &[
            ("k < cap", "k <= cap"),
            ("k < cap", "k < cap - 1"),
            ("i < n && k < cap", "i < n"),
            ("i < n && k < cap", "i < n && i < cap"),
            ("k < cap", "x[i] != 7"),
            ("if (x[i] > 0)", "if (x[i] > 0 && k < 5)"),
            ("return k", "return k == cap"),
            (
                "if (x[i] > 0) out[k++] = x[i];",
                "{ if (x[i] > 0) out[k++] = x[i]; if (x[i] < 0) cap--; }",
            ),
        ],
    ),
    (
        "int f(const int *x, int n, int *out, int cap) { int k = 0; for (int i = 0; i < n; i++) { if (x[i] > 0) { if (k == cap) break; out[k++] = x[i]; } } return k; }",
        &[
            ("k == cap", "k + 1 == cap"),
            (
                "if (k == cap) break; out[k++] = x[i];",
                "out[k++] = x[i]; if (k == cap) break;",
            ),
            ("break", "continue"),
            ("break", "return -1"),
            ("break;", "k = 0;"),
            ("break;", "{ k--; break; }"),
            ("int k = 0; for", "int k = 0; if (n > 3) k = 1; for"),
        ],
    ),
    (
        "int f(const int *a, int na, const int *b, int nb, int *out) { int i = 0, j = 0, k = 0; while (i < na && j < nb) { if (a[i] <= b[j]) out[k++] = a[i++]; else out[k++] = b[j++]; } while (i < na) out[k++] = a[i++]; while (j < nb) out[k++] = b[j++]; return k; }",
        &[
            ("a[i] <= b[j]", "a[i] < b[j]"),
            ("a[i] <= b[j]", "a[j] <= b[i]"),
            (
                "while (i < na) out[k++] = a[i++];",
                "while (i < na - 1) out[k++] = a[i++];",
            ),
            ("while (i < na) out[k++] = a[i++];", ""),
            (
                "while (j < nb) out[k++] = b[j++];",
                "if (j < nb) out[k++] = b[j++];",
            ),
            ("int i = 0, j = 0", "int i = 0, j = 1"),
            (
                "else out[k++] = b[j++]",
                "else { out[k++] = b[j]; j += 2; }",
            ),
        ],
    ),
    (
        "int f(const int *a, int na, const int *b, int nb, int *out) { int i = 0, j = 0, k = 0; while (i < na && j < nb) { if (a[i] < b[j]) i++; else if (a[i] > b[j]) j++; else { out[k++] = a[i]; i++; j++; } } return k; }",
        &[
            ("i++; j++; }", "i++; }"),
            ("i < na && j < nb", "i < na - 1 && j < nb"),
            ("out[k++] = a[i];", "out[k++] = i;"),
            ("a[i] < b[j]", "a[i] <= b[j]"),
        ],
    ),
    // A round that is not the last one may leave the counter where it was, or elsewhere.
    (
        "int f(const int *x, int n, int *out) { int k = 0; for (int i = 0; i < n; i++) { if (x[i] < 0) break; out[k++] = x[i]; } return k; }",
        &[
            (
                "if (x[i] < 0) break;",
                "if (x[i] < 0) { i = n; break; } if (x[i] == 9) i++;",
            ),
            ("if (x[i] < 0) break;", "if (x[i] < 0) i = n - 1;"),
            ("i++)", "i += 2)"),
            ("x[i] < 0", "x[n - 1 - i] < 0"),
            ("out[k++] = x[i];", "out[k++] = x[i]; if (k == 3) i--;"),
        ],
    ),
    // Whose turn it is when it ends.
    (
        "int f(int *a, int *b, int n, int most, int limit) { int s; for (s = 0; s < most; s++) { int e = 0; for (int i = 1; i < n - 1; i++) { b[i] = a[i - 1] + a[i + 1]; e += b[i]; } int *t = a; a = b; b = t; if (e < limit) return s; } return -1; }",
        &[
            ("e < limit", "e <= limit"),
            (
                "int *t = a; a = b; b = t; if (e < limit) return s;",
                "if (e < limit) return s;",
            ),
            ("e += b[i]", "e += a[i]"),
            ("return s", "return s + 1"),
        ],
    ),
    // Stores that a condition lets be, wherever their place would be.
    (
        "void f(const int *p, int n, int *h) { for (int i = 0; i < n; i++) if (p[i] >= 0) h[p[i]]++; }",
        &[
            ("p[i] >= 0", "p[i] > 0"),
            ("h[p[i]]++", "h[p[i]] += 2"),
            (
                "if (p[i] >= 0) h[p[i]]++",
                "{ if (p[i] >= 0) h[p[i]]++; else h[0]++; }",
            ),
            ("p[i] >= 0", "p[i] >= 0 && i != 4"),
        ],
    ),
    (
        "void f(const int *g, const int *v, int n, int *m) { for (int i = 0; i < n; i++) if (v[i] > m[g[i]]) m[g[i]] = v[i]; }",
        &[
            ("v[i] > m[g[i]]", "v[i] >= m[g[i]] + 2"),
            ("m[g[i]] = v[i]", "m[g[i]] = i"),
            ("v[i] > m[g[i]]", "v[i] > m[i]"),
        ],
    ),
    // Counters without a sign that step by a size.
    (
        "unsigned f(const short *x, int *y, unsigned n, unsigned w, unsigned hop) { unsigned k = 0; for (unsigned i = 0; i + w <= n; i += hop) { int s = 0; for (unsigned j = 0; j < w; j++) s += x[i + j]; y[k++] = s; } return k; }",
        &[
            ("i + w <= n", "i + w < n"),
            ("i + w <= n", "i <= n - w"),
            ("i + w <= n", "i < n"),
            ("i += hop", "i += w"),
            ("i += hop", "i += hop, i &= 0xff"),
            ("unsigned i = 0", "unsigned i = hop"),
            ("unsigned i = 0", "unsigned char i = 0"),
            ("y[k++] = s", "y[k++] = s + i"),
            ("return k", "return k + 1"),
        ],
    ),
];

const UNPROVEN: &[&str] = &[
    // It may stay where it is for ever.
    "int f(const int *x, int n) { int i = 0, s = 0; while (i < n && s < 100) { s += x[i]; if (x[i] > 0) i++; } return s; }",
    "int f(const unsigned char *x, int n, int *out) { int i = 0, k = 0; while (i < n) { out[k++] = i; i += x[i]; } return k; }",
    // It may go back.
    "int f(const int *x, int n, int *out) { int i = 0, k = 0; while (i < n && k < 1000) { if (x[i] > 0) out[k++] = i; i += x[i] > 5 ? -1 : 1; } return k; }",
    // What it is compared with may run away from it.
    "int f(const int *x, int n, int *out) { int i = 0, k = 0, end = n; while (i < end) { if (x[i] > 0) out[k++] = i; if (x[i] > 5) end++; i++; } return k; }",
];
