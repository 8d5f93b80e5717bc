//! Near the rules for loops that stop early: searches in loops, which stop these, too, flags that are set and not set,
//! conditions on what the rounds compute.

use super::{Case, refuses_them};

#[test]
fn the_meaning_of_one_is_not_proven_of_the_other() {
    refuses_them("searches", "c", "", CASES);
}

const CASES: &[Case] = &[
    (
        "int f(const float *a, int n, int m) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) if (a[i*m+j] < 0) return 1; return 0; }",
        &[
            ("< 0) return 1", "<= 0) return 1"),
            ("i*m+j", "i*m"),
            ("int j = 0", "int j = 1"),
            ("i = 0; i < n", "i = 1; i < n"),
            ("return 0; }", "return 1; }"),
            ("return 1; return 0", "return i; return 0"),
            ("j < m", "j < i"),
            // The inner loop alone is left.
            (
                "if (a[i*m+j] < 0) return 1; return 0;",
                "if (a[i*m+j] < 0) break; return 0;",
            ),
            // The last row alone tells.
            (
                "{ for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) if (a[i*m+j] < 0) return 1; return 0; }",
                "{ int r = 0; for (int i = 0; i < n; i++) { r = 0; for (int j = 0; j < m; j++) if (a[i*m+j] < 0) { r = 1; break; } } return r; }",
            ),
        ],
    ),
    (
        "int f(const float *a, int n, int m) { int found = 0; for (int i = 0; i < n && !found; i++) for (int j = 0; j < m; j++) if (a[i*m+j] < 0) { found = 1; break; } return found; }",
        &[
            ("found = 1; break", "found = 2; break"),
            ("i < n && !found", "i < n"),
            ("i < n && !found", "i < n && found"),
            ("j < m", "j < m - 1"),
            ("found = 1; break;", "found = 1; i++;"),
            ("found = 1; break;", "break;"),
        ],
    ),
    (
        "int f(const int *a, int n, int m, int v) { int found = 0; for (int i = 0; i < n && !found; i++) for (int j = 0; j < m && !found; j++) if (a[i*m+j] == v) found = 1; return found; }",
        &[
            ("== v) found = 1", "!= v) found = 1"),
            ("if (a[i*m+j] == v) found = 1;", "found = a[i*m+j] == v;"),
            (
                "for (int j = 0; j < m && !found; j++) if (a[i*m+j] == v) found = 1;",
                "for (int j = 0; j < m; j++) { found = 0; if (a[i*m+j] == v) found = 1; }",
            ),
            ("return found", "return !found"),
            ("found = 1; return", "found = 2; return"),
        ],
    ),
    // What is written before is not of the case alone in which something is found.
    (
        "void f(int *a, const int *x, int n) { a[0] = 1; int at = -1; for (int i = 0; i < n; i++) if (x[i] == 7) { at = i; break; } a[1] = at; }",
        &[
            ("a[0] = 1;", "if (n > 0) a[0] = 1;"),
            ("a[0] = 1;", "if (n < 1) a[0] = 1;"),
        ],
    ),
    // Where it was.
    (
        "int f(const int *a, int n, int m, int v) { int at = -1; for (int i = 0; i < n && at < 0; i++) for (int j = 0; j < m; j++) if (a[i*m+j] == v) { at = i*m+j; break; } return at; }",
        &[
            ("at = i*m+j", "at = i"),
            ("at = i*m+j", "at = j"),
            // The last one in its row.
            ("at = i*m+j; break;", "at = i*m+j;"),
            // The last row that has one.
            ("i < n && at < 0", "i < n"),
            ("int at = -1", "int at = -2"),
        ],
    ),
    (
        "int f(const unsigned char *a, int w, int h, int v, int *px, int *py) { for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) if (a[y*w+x] == v) { *px = x; *py = y; return 1; } return 0; }",
        &[
            ("*px = x; *py = y", "*px = y; *py = x"),
            ("*px = x; *py = y", "*px = x; *py = x"),
            ("*py = y; return 1;", "return 1;"),
            // Written in rounds that go on, too.
            (
                "if (a[y*w+x] == v) { *px = x; *py = y; return 1; }",
                "{ *px = x; *py = y; if (a[y*w+x] == v) return 1; }",
            ),
            ("return 1; }", "break; }"),
        ],
    ),
    // What an outer round does after the inner loop was left.
    (
        "int f(const int *a, int n, int m) { int c = 0; for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) if (a[i*m+j] <= 0) goto next; c++; next:; } return c; }",
        &[
            ("goto next", "break"),
            ("<= 0", "< 0"),
            ("c++; next:;", "c++; next: c++;"),
            ("c = 0", "c = 1"),
            ("goto next", "return c"),
        ],
    ),
    (
        "int f(const int *a, int n, int m) { int c = 0; for (int i = 0; i < n; i++) { int j; for (j = 0; j < m; j++) if (a[i*m+j] <= 0) break; if (j == m) c++; } return c; }",
        &[
            ("j == m", "j < m"),
            ("j == m", "j == 0"),
            ("j == m) c++", "j == m) c = 1"),
            ("j == m) c++", "j == m) c = c"),
            ("c++", "c += 2"),
        ],
    ),
    // A sum of what was before the place where all ends.
    (
        "int f(const int *a, int n, int m) { int c = 0; for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) { if (a[i*m+j] < 0) return c; c++; } } return c; }",
        &[
            ("return c; c++", "break; c++"),
            (
                "if (a[i*m+j] < 0) return c; c++;",
                "c++; if (a[i*m+j] < 0) return c;",
            ),
            ("return c; c++", "return i; c++"),
        ],
    ),
    // What the rounds compute says when they end.
    (
        "int f(float p, float q, int n) { float x = 0, y = 0; int i = 0; while (x*x + y*y <= 4 && i < n) { float t = x*x - y*y + p; y = 2*x*y + q; x = t; i++; } return i; }",
        &[
            ("<= 4", "< 4"),
            ("y = 2*x*y + q; x = t;", "x = t; y = 2*x*y + q;"),
            ("return i", "return i + 1"),
            ("i = 0", "i = 1"),
            ("x = 0, y = 0", "x = 1, y = 0"),
        ],
    ),
    (
        "int f(unsigned x, int n) { int i = 0; while (x != 1 && i < n) { x = x % 2 ? 3*x + 1 : x / 2; i++; } return i; }",
        &[
            ("x != 1", "x != 2"),
            ("3*x + 1", "3*x"),
            ("x != 1 && i < n", "x > 1 && i < n"),
            ("x / 2", "x / 3"),
        ],
    ),
    (
        "int f(const char *s, int n) { int d = 0; for (int i = 0; i < n && d >= 0; i++) { if (s[i] == 40) d++; else if (s[i] == 41) d--; } return d; }",
        &[
            ("d >= 0", "d > -2"),
            ("&& d >= 0", ""),
            ("d++", "d += 2"),
            ("== 41", "!= 40"),
            ("return d", "return d < 0"),
        ],
    ),
    // What the last round does that others need not do.
    (
        "int f(const int *a, int n, int v) { int s = 0; for (int i = 0; i < n; i++) { if (a[i] > 5) s += 2; if (a[i] == v) return s; } return -1; }",
        &[
            ("a[i] > 5", "a[i] > 5 || a[i] == v"),
            ("a[i] > 5", "a[i] > 5 && a[i] != v"),
            (
                "if (a[i] > 5) s += 2; if (a[i] == v) return s;",
                "if (a[i] == v) return s; if (a[i] > 5) s += 2;",
            ),
            (
                "if (a[i] > 5) s += 2; if (a[i] == v) return s;",
                "if (a[i] == v) return s + 2; if (a[i] > 5) s += 2;",
            ),
        ],
    ),
    (
        "int f(const int *a, const int *b, int *o, int n, int v) { for (int i = 0; i < n; i++) if (a[i] == v) { if (b[i] > 0) o[0] = i; return 1; } return 0; }",
        &[
            ("if (b[i] > 0) o[0]", "o[0]"),
            ("if (b[i] > 0) o[0] = i;", ""),
            ("b[i] > 0", "b[i] >= 0"),
            ("b[i] > 0", "b[0] > 0"),
            ("o[0] = i; return 1", "o[0] = i + 1; return 1"),
        ],
    ),
];
