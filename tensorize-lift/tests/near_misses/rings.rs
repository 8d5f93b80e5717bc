//! Near counters that go round, tables at places by their type, and shifts in place by a distance that a guard looks at.

use super::{Case, proves_none, refuses_them};

#[test]
fn another_place_in_the_ring_is_another_kernel() {
    refuses_them("rings", "c", "", CASES);
}

/// Nothing says how far such products reach.
#[test]
fn remainders_of_wide_types_are_no_places() {
    proves_none(&[
        "void f(const float *x, float *y, unsigned n, unsigned d, unsigned e) { for (unsigned i = 0; i < n; i++) y[i] = x[i % d * e]; }",
        "void f(const float *x, float *y, unsigned n, unsigned short d, unsigned e) { for (unsigned i = 0; i < n; i++) y[i] = x[i % d * e]; }",
        "void f(const float *x, float *y, unsigned n, unsigned short d, unsigned short e) { for (unsigned i = 0; i < n; i++) y[i] = x[i % d * e * 2]; }",
    ]);
}

const CASES: &[Case] = &[
    (
        "void f(const float *ring, float *y, int size, int at, int n) { for (int i = 0; i < n; i++) { y[i] = ring[at]; if (++at == size) at = 0; } }",
        &[
            ("++at == size", "++at > size"),
            ("++at == size", "++at == size - 1"),
            ("++at == size", "at++ == size"),
            ("at = 0", "at = 1"),
            ("at = 0", "at -= 1"),
            ("ring[at]", "ring[at + 1]"),
        ],
    ),
    (
        "void f(const float *ring, float *y, int size, int at, int n) { for (int i = 0; i < n; i++) { y[i] = ring[at]; if (--at < 0) at = size - 1; } }",
        &[
            ("--at < 0", "--at <= 0"),
            ("--at < 0", "--at < 1"),
            ("at = size - 1", "at = size - 2"),
            ("at = size - 1", "at = 0"),
        ],
    ),
    (
        "void f(const float *ring, float *y, int at, int n) { for (int i = 0; i < n; i++) { y[i] = ring[at]; at = (at + 1) & 63; } }",
        &[
            ("at + 1", "at + 2"),
            ("& 63", "& 31"),
            ("& 63", "& 62"),
            ("& 63", "% 63"),
            ("(at + 1)", "(at - 1)"),
        ],
    ),
    (
        "void f(const float *a, float *b, int n, int by) { for (int i = 0; i < n; i++) b[(i + by) % n] = a[i]; }",
        &[
            ("i + by", "i - by"),
            ("i + by", "i + 2 * by"),
            ("i + by", "2 * i + by"),
            ("% n", "% (n + 1)"),
            ("b[(i + by) % n]", "b[i]"),
            ("a[i]", "a[(i + by) % n]"),
            ("a[i]", "a[n - 1 - i]"),
            ("i < n", "i < n - 1"),
            ("int i = 0", "int i = 1"),
            ("] =", "] +="),
        ],
    ),
    (
        "void f(const float *a, float *b, int n, int by) { for (int i = 0; i < n; i++) { int j = i + by; if (j >= n) j -= n;
         b[j] = a[i]; } }",
        &[
            ("j >= n", "j > n"),
            ("j >= n", "j >= n - 1"),
            ("j -= n", "j -= n - 1"),
            ("j -= n", "j = 0"),
            ("i + by", "i - by"),
            ("b[j] = a[i]", "b[i] = a[j]"),
            ("b[j] = a[i]", "b[j] += a[i]"),
        ],
    ),
    (
        "void f(const float *a, float *b) { for (int i = 0; i < 16; i++) b[(5 * i + 3) % 16] = a[i]; }",
        &[
            ("5 * i", "4 * i"),
            ("5 * i", "13 * i"),
            ("5 * i", "i"),
            ("+ 3", "+ 2"),
            ("i < 16", "i < 15"),
            ("% 16", "% 18"),
        ],
    ),
    (
        "void f(const float *a, float *b, int n, int by) { for (int i = 0; i < n; i++) b[i] = a[(i + by) % n]; }",
        &[
            ("i + by", "i - by"),
            ("i + by", "i + 2 * by"),
            ("% n", "% (n + 1)"),
            ("b[i]", "b[(i + by) % n]"),
        ],
    ),
    (
        "unsigned f(const unsigned *t, const unsigned char *p, int n) { unsigned c = 0; for (int i = 0; i < n; i++) c = t[(c ^ p[i]) & 255] ^ c >> 8; return c; }",
        &[
            ("& 255", "& 127"),
            ("& 255", "& 511"),
            (">> 8", ">> 7"),
            ("c ^ p[i]", "c | p[i]"),
            ("t[(c", "t[1 + (c"),
        ],
    ),
    // A remainder is below its divisor: the product with another number of sixteen bits does not wrap, and many times that may.
    (
        "void f(const float *x, float *y, unsigned n, unsigned short d, unsigned short e) { for (unsigned i = 0; i < n; i++) y[i] = x[i % d * e]; }",
        &[
            ("i % d * e", "i % d * e * 65536u / 65536u"),
            ("i % d * e", "i % d + e"),
            ("i % d * e", "i % e * d"),
            ("i % d * e", "i % d * (e + 1)"),
            ("i % d * e", "(unsigned short)(i % d * e)"),
            ("i % d * e", "i * e % d"),
        ],
    ),
    (
        "void f(const unsigned char *a, unsigned char *b, int h, int w) { for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) { int s = 0; for (int j = 0; j < 3; j++) for (int i = 0; i < 3; i++) s += a[(y + j - 1 + h) % h * w + (x + i - 1 + w) % w]; b[y * w + x] = s / 9; } }",
        &[
            ("(y + j - 1 + h) % h * w", "(y + j - 1 + h) % w * w"),
            ("(y + j - 1 + h) % h * w", "(y + j - 1 + h) % h * h"),
            ("(y + j - 1 + h)", "(y + j + h)"),
            ("(x + i - 1 + w) % w", "(x + i - 1 + w) % h"),
            ("(x + i - 1 + w) % w", "(x + i - 1 + w) % w / 2"),
            ("i < 3", "i < 2"),
        ],
    ),
    // In place: the places that are read are written later, if at all.
    (
        "void f(float *a, int n, int by) { for (int i = 0; i < n - by; i++) a[i] = a[i + by]; }",
        &[
            ("a[i] = a[i + by]", "a[i + by] = a[i]"),
            (
                "int i = 0; i < n - by; i++",
                "int i = n - by - 1; i >= 0; i--",
            ),
            ("n - by", "n - by - 1"),
            ("a[i + by]", "a[i + by - 1]"),
        ],
    ),
    (
        "void f(int *b, int c, int w, int v) { for (int j = c; j >= w; j--) if (b[j - w] + v > b[j]) b[j] = b[j - w] + v; }",
        &[
            ("int j = c; j >= w; j--", "int j = w; j <= c; j++"),
            ("j >= w", "j > w"),
            ("> b[j]", ">= b[j] + 2"),
            ("b[j] = b[j - w]", "b[j] = b[j]"),
        ],
    ),
];
