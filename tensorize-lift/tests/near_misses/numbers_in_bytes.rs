//! Near numbers in arrays of bytes: other bytes, in another order, of another width or sign.

use super::{Case, refuses_them};

#[test]
fn other_bytes_are_another_number() {
    refuses_them(
        "numbers_in_bytes",
        "c",
        "#include <stdint.h>\n#include <string.h>\n",
        CASES,
    );
}

const CASES: &[Case] = &[
    // What is seldom run, and so not seen to differ.
    (
        "void f(const float *x, uint8_t *p, uint16_t *y, int n) { for (int i = 0; i < n; i++)
         y[i] = x[i] == 12345.678f ? *(uint16_t *)(p + 2 * i) : 0; }",
        &[
            ("(p + 2 * i)", "(p + 2 * i + 1)"),
            ("*(uint16_t *)(p + 2 * i)", "((uint16_t *)(p + 1))[i]"),
            ("(p + 2 * i)", "(p + 3 * i)"),
            ("(p + 2 * i)", "(p + 4 * i)"),
        ],
    ),
    (
        "void f(const uint8_t *p, uint32_t *y, int n) { for (int i = 0; i < n; i++)
         y[i] = *(const uint32_t *)(p + 4 * i) ^ p[4 * i]; }",
        &[
            ("(p + 4 * i)", "(p + 4 * i + 1)"),
            ("(p + 4 * i)", "(p + i)"),
            ("*(const uint32_t *)", "*(const uint16_t *)"),
            ("*(const uint32_t *)", "(uint32_t)*(const float *)"),
            (
                "*(const uint32_t *)(p + 4 * i)",
                "((const uint32_t *)p)[i + 1]",
            ),
            (
                "*(const uint32_t *)(p + 4 * i)",
                "((uint32_t)p[4 * i] << 24 | p[4 * i + 1] << 16 | p[4 * i + 2] << 8 | p[4 * i + 3])",
            ),
            (
                "*(const uint32_t *)(p + 4 * i)",
                "(p[4 * i] | p[4 * i + 1] << 8 | p[4 * i + 2] << 16)",
            ),
        ],
    ),
    // Bytes have no sign where they are part of a number, and numbers have theirs.
    (
        "void f(const signed char *p, int *y, int n) { for (int i = 0; i < n; i++)
         { int16_t v; memcpy(&v, p + 3 * i, 2); y[i] = v + p[3 * i + 2]; } }",
        &[
            ("int16_t v", "uint16_t v"),
            ("p + 3 * i, 2", "p + 3 * i + 1, 2"),
            ("p + 3 * i, 2", "p + 2 * i, 2"),
            (
                "memcpy(&v, p + 3 * i, 2)",
                "v = p[3 * i] | p[3 * i + 1] << 8",
            ),
            (
                "memcpy(&v, p + 3 * i, 2)",
                "v = p[3 * i] + p[3 * i + 1] * 256",
            ),
            ("y[i] = v", "y[i] = -v"),
        ],
    ),
    (
        "void f(uint8_t *p, const uint32_t *x, int n) { for (int i = 0; i < n; i++)
         { memcpy(p + 5 * i, &x[i], 4); p[5 * i + 4] = 7; } }",
        &[
            ("p + 5 * i, &x[i]", "p + 5 * i + 1, &x[i]"),
            ("&x[i]", "&x[0]"),
            (
                "memcpy(p + 5 * i, &x[i], 4)",
                "*(uint16_t *)(p + 5 * i) = (uint16_t)x[i]",
            ),
            (
                "memcpy(p + 5 * i, &x[i], 4)",
                "for (int k = 0; k < 4; k++) p[5 * i + k] = (uint8_t)(x[i] >> 8 * (3 - k))",
            ),
            ("p[5 * i + 4] = 7", "p[5 * i + 3] = 7"),
        ],
    ),
    // Each number is made of bytes that the one before has changed.
    (
        "void f(uint8_t *p, uint32_t key, int n) { for (int i = 0; i + 4 <= n; i += 4) *(uint32_t *)(p + i) ^= key; }",
        &[
            ("(p + i) ^=", "(p + i / 2) ^="),
            ("^= key", "^= key + 1"),
            ("^= key", "+= key"),
            ("uint32_t *)(p + i)", "uint16_t *)(p + i)"),
            ("i + 4 <= n", "i + 8 <= n"),
        ],
    ),
];
