//! Near what is worked off in blocks of which the last one may be shorter.

use super::{Case, refuses_them};

#[test]
fn other_blocks_are_not_proven() {
    refuses_them("blocks", "c", "", CASES);
}

const CASES: &[Case] = &[
    (
        "void f(const int *x, int *y, int n) { while (n > 0) { int m = n < 4 ? n : 4; for (int j = 0; j < m; j++) y[j] = x[j] ^ 1; x += m; y += m; n -= m; } }",
        &[
            ("n < 4 ? n : 4", "n > 4 ? n : 4"),
            ("n < 4 ? n : 4", "n < 3 ? n : 4"),
            ("n < 4 ? n : 4", "4"),
            ("n > 0", "n > 1"),
            ("n > 0", "n > 4"),
            ("n > 0", "n >= 4"),
            ("j < m", "j <= m"),
            ("j = 0", "j = 1"),
            ("x += m", "x += 4 - m"),
            ("x += m", "x += m - 1"),
            ("y += m", "y += 5"),
            ("y += m", "y += 2 * m"),
            ("n -= m", "n -= m + 1"),
            ("n -= m", "n -= 5"),
            ("n -= m", "n -= 2 * m"),
            ("x[j] ^ 1", "x[j] ^ n"),
            ("x[j] ^ 1", "x[j] ^ m"),
        ],
    ),
    // What is left when a block is computed, and when it is done.
    (
        "unsigned f(const unsigned char *x, unsigned long n) { unsigned s = 0; while (n) { unsigned long m = n < 4 ? n : 4; n -= m; while (m--) s = s * 3 + *x++; s += n & 7; } return s; }",
        &[
            ("n < 4 ? n : 4", "n < 3 ? n : 3"),
            ("while (m--)", "while (--m)"),
            ("*x++", "*++x"),
            (
                "n -= m; while (m--) s = s * 3 + *x++; s += n & 7;",
                "unsigned long k = m; while (m--) s = s * 3 + *x++; s += n & 7; n -= k;",
            ),
            ("s += n & 7", "s += m & 7"),
            ("s += n & 7", "s += 7"),
            ("return s", "return s + n + 1"),
            ("return s", "return s - x[-1]"),
        ],
    ),
    // Where the last block ends.
    (
        "int f(const int *x, int *y, int n) { int at = 0, b = 0; while (n > 0) { int m = n; if (m > 4) m = 4; int s = 0; for (int j = 0; j < m; j++) s |= x[at + j]; y[b++] = s; at += m; n -= m; } return at + b; }",
        &[
            ("at += m", "at += 4"),
            ("m > 4", "m > 5"),
            ("y[b++]", "y[++b]"),
            ("y[b++]", "y[at]"),
            ("return at + b", "return 4 * b + b"),
            ("return at + b", "return n + b"),
            ("return at + b", "return at"),
            ("n -= m", "n -= 4; if (n < 0) at = 0"),
        ],
    ),
];
