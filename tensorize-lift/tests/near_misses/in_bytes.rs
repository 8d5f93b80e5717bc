//! Near rows that lie so many bytes apart.

use super::{Case, refuses_them};

#[test]
fn other_numbers_of_bytes_are_another_kernel() {
    refuses_them("in_bytes", "c", "", CASES);
}

const CASES: &[Case] = &[
    (
        "void f(const int *s, int *d, int n, long step) { for (int i = 0; i < n; i++)
         d[i] = *(const int *)((const char *)s + i * step); }",
        &[
            ("i * step", "i * step + 4"),
            ("i * step", "i * step * 2"),
            ("i * step", "(long)i * 4"),
            // Elements for every fourth, and what is between two of them for all others.
            ("i * step", "(long)i * 3"),
            ("i * step", "(i + 1) * step"),
            ("s + i", "s - i"),
            ("((const char *)s + i * step)", "(s + i * step)"),
            ("((const char *)s + i * step)", "(s + i * (step / 8))"),
        ],
    ),
    (
        "void f(const short *s, short *d, int w, int h, int step) { for (int y = 0; y < h; y++) {
         for (int x = 0; x < w; x++) d[y * w + x] = s[x];
         s = (const short *)((const char *)s + step); } }",
        &[
            ("s + step", "s + step + 2"),
            ("s + step", "s - step"),
            ("s + step", "s + w"),
            ("s + step", "s + 2 * step"),
            ("(const char *)s + step", "s + step"),
        ],
    ),
];
