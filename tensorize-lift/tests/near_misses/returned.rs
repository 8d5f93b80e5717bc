//! C++: structs, pairs and `std::optional`s that are returned.

use super::cpp::HEADERS;
use super::{Case, refuses_them};

#[test]
fn structs_that_are_returned() {
    refuses_them("returned", "cpp", HEADERS, RETURNED);
}

const RETURNED: &[Case] = &[
    // Values that may not be there.
    (
        "struct H { double t; int i; }; std::optional<H> f(const double *t, int n, double most) { std::optional<H> best; for (int i = 0; i < n; i++) if (t[i] < most && (!best || t[i] < best->t)) best = H{t[i], i}; return best; }",
        &[
            ("t[i] < best->t", "t[i] <= best->t"),
            ("t[i] < best->t", "t[i] > best->t"),
            ("!best || ", ""),
            ("!best", "best"),
            ("best = H", "if (i) best = H"),
            ("H{t[i], i}", "H{t[i], n}"),
            ("return best;", "if (n == 3) best.reset(); return best;"),
            ("return best;", "if (!best) return H{0, 0}; return best;"),
        ],
    ),
    (
        "static std::optional<float> g(float x) { if (x == 0.0f) return std::nullopt; return 1.0f / x; } void f(const float *a, float *o, int n) { for (int i = 0; i < n; i++) o[i] = g(a[i]).value_or(-1.0f); }",
        &[
            ("== 0.0f", "== 1.0f"),
            ("std::nullopt", "0.0f"),
            ("value_or(-1.0f)", "value_or(0.0f)"),
            ("1.0f / x", "2.0f / x"),
        ],
    ),
    (
        "std::pair<int, float> f(const float *x, int n) { int k = 0; float m = x[0]; for (int i = 1; i < n; i++) if (x[i] > m) { m = x[i]; k = i; } return {k, m}; }",
        &[
            ("x[i] > m", "x[i] >= m"),
            ("{k, m}", "{n, m}"),
            ("{k, m}", "std::make_pair(k + 1, m)"),
            ("{k, m}", "std::make_pair(k, x[0])"),
        ],
    ),
    (
        "std::pair<int, bool> f(const int *x, int n, int w) { for (int i = 0; i < n; i++) if (x[i] == w) return {i, true}; return {n, false}; }",
        &[
            ("{i, true}", "{i, false}"),
            ("{n, false}", "{n, true}"),
            ("{i, true}", "{i + 1, true}"),
            ("x[i] == w", "x[i] != w"),
        ],
    ),
    (
        "template <class T> struct V { T x, y; }; float f(V<float> &p, int n) { V<float> old = p; p.x += n; p.y -= n; return old.x - p.y; }",
        &[
            ("old.x", "p.x"),
            ("old = p", "&old = p"),
            ("old.x", "old.y"),
        ],
    ),
    (
        "struct S { int n; double sum; }; S f(const double *x, int n) { S s{}; for (int i = 0; i < n; i++) { if (x[i] > 0) { s.n++; s.sum += x[i]; } } return s; }",
        &[
            ("s.n++", "s.n += 2"),
            ("return s;", "return S{n, s.sum};"),
            ("s.sum += x[i]", "s.sum -= x[i]"),
        ],
    ),
    // What a list leaves out is what the member's declaration says.
    (
        "struct P { int x = 1, y = 2; }; struct Q { int n; P p; }; int f(const int *a, int n) { Q q{5}; P p{3}; int s = 0; for (int i = 0; i < n; i++) s += a[i] * p.y + p.x * q.p.x + q.n; return s; }",
        &[
            ("y = 2", "y = 3"),
            ("x = 1", "x = 4"),
            ("p{3}", "p{3, 4}"),
            ("p{3}", "p{}"),
            ("q{5}", "q{5, {2}}"),
            ("q{5}", "q{}"),
        ],
    ),
    // Objects that hold vectors and arrays.
    (
        "class M { public: M(int r, int c, int v = 0) : r(r), c(c), d(r * c, v) {} explicit M(int n) : M(n, n) {} int &at(int i, int j) { return d[i * c + j]; } int at(int i, int j) const { return d[i * c + j]; } int r, c; std::vector<int> d; }; M f(const M &a) { M t(a.c, a.r); for (int i = 0; i < a.r; i++) for (int j = 0; j < a.c; j++) t.at(j, i) = a.at(i, j); return t; }",
        &[
            ("t(a.c, a.r)", "t(a.r, a.c)"),
            ("t(a.c, a.r)", "t(a.c)"),
            ("c(c)", "c(r)"),
            ("return t;", "t.r++; return t;"),
            ("return t;", "t.d[0] = 1; return t;"),
            ("return t;", "t.d.push_back(1); return t;"),
            ("return t;", "return a;"),
        ],
    ),
    (
        "struct G { int nx, ny; std::vector<float> v; float at(int i, int j) const { return v[j * nx + i]; } }; G f(const G &g) { G o{g.nx, g.ny, std::vector<float>(g.v.size())}; for (int j = 1; j < g.ny - 1; ++j) for (int i = 1; i < g.nx - 1; ++i) o.v[j * g.nx + i] = g.at(i + 1, j) - g.at(i - 1, j); return o; }",
        &[
            ("(g.v.size())", "(g.v.size(), 1.f)"),
            ("(g.v.size())", "(g.nx * g.ny)"),
            ("o{g.nx, g.ny,", "o{g.ny, g.nx,"),
            ("i < g.nx - 1", "i < g.nx"),
            ("std::vector<float>(g.v.size())", "g.v"),
        ],
    ),
    (
        "struct A { std::array<std::array<int, 3>, 2> d{}; int m[4]; int n = 7; }; A f(const int *x) { A a; for (int i = 0; i < 2; i++) a.d[i][i + 1] = x[i]; for (int i = 0; i < 4; i++) a.m[i] = x[i] + a.n; return a; }",
        &[
            ("d{}", "d{{{{1, 0, 0}}, {}}}"),
            ("n = 7", "n = 8"),
            ("[i + 1]", "[i]"),
            ("return a;", "A b = a; b.m[3] = 0; return b;"),
            ("return a;", "a.d[1][0] = 1; return a;"),
        ],
    ),
    // Objects of the function's own.
    (
        "struct V { std::vector<float> d; V(int n) : d(n) {} }; V twice(const std::vector<float> &x) { V r(x.size()); for (std::size_t i = 0; i < x.size(); i++) r.d[i] = 2 * x[i]; return r; } float f(const std::vector<float> &x) { V a = twice(x); V b = a; a.d[0] = 1; float s = 0; for (std::size_t i = 0; i < b.d.size(); i++) s += b.d[i] * (float)(i + 1); return s; }",
        &[
            ("2 * x[i]", "x[i]"),
            ("V b = a;", "V &b = a;"),
            ("a.d[0] = 1", "b.d[0] = 1"),
            ("d(n)", "d(n + 1)"),
        ],
    ),
];
