//! C++: containers, algorithms, lambdas, classes and function objects.

use super::{Case, refuses_them};

#[test]
fn containers_and_algorithms() {
    refuses_them("containers", "cpp", HEADERS, CONTAINERS);
}

#[test]
fn classes_and_function_objects() {
    refuses_them("classes", "cpp", HEADERS, CLASSES);
}

#[test]
fn members_of_the_callers_objects() {
    refuses_them("members", "cpp", HEADERS, MEMBERS);
}

#[test]
fn elements_that_are_structs_or_moved() {
    refuses_them("elements", "cpp", HEADERS, ELEMENTS);
}

pub(super) const HEADERS: &str = "#include <algorithm>\n#include <array>\n#include <cmath>\n#include <cstddef>\n#include <functional>\n#include <iterator>\n#include <numeric>\n#include <optional>\n#include <span>\n#include <string>\n#include <utility>\n#include <vector>\n";

const CONTAINERS: &[Case] = &[
    // As many as were counted stay.
    (
        "std::vector<int> f(const std::vector<int> &a, int k) { std::vector<int> r(a.size()); std::size_t n = 0; for (std::size_t i = 0; i < a.size(); i++) { r[n] = a[i]; n += (a[i] > k) & (a[i] < 9); } r.resize(n); return r; }",
        &[
            ("r.resize(n)", "r.resize(n / 2)"),
            ("r.resize(n)", "r.resize(n + 1)"),
            ("r.resize(n)", "r.resize(a.size())"),
            ("r.resize(n);", ""),
            ("n = 0", "n = 1"),
            ("r[n] = a[i]", "r[n] = a[n]"),
            ("r[n] = a[i]", "r[i] = a[i]"),
            ("& (a[i] < 9)", "| (a[i] < 9)"),
            ("& (a[i] < 9)", "^ (a[i] < 9)"),
            ("a[i] > k", "a[i] >= k"),
        ],
    ),
    // What functions return goes to another one at once.
    (
        "static std::array<float, 2> sub(const std::array<float, 2> &a, const std::array<float, 2> &b) { return {a[0] - b[0], a[1] - b[1]}; } static float cross(const std::array<float, 2> &a, const std::array<float, 2> &b) { return a[0] * b[1] - a[1] * b[0]; } void f(const std::vector<std::array<float, 2>> &p, const std::array<float, 2> &q, const std::array<float, 2> &r, std::vector<float> &o) { for (std::size_t i = 0; i < p.size(); i++) o[i] = cross(sub(p[i], q), sub(p[i], r)); }",
        &[
            ("sub(p[i], q), sub(p[i], r)", "sub(p[i], r), sub(p[i], q)"),
            ("sub(p[i], q)", "sub(q, p[i])"),
            ("sub(p[i], q)", "p[i]"),
            ("sub(p[i], r)", "sub(p[0], r)"),
            ("sub(p[i], r)", "sub(sub(p[i], r), q)"),
            ("a[1] - b[1]}", "a[1]}"),
        ],
    ),
    // Characters that change.
    (
        "void f(std::string &s, const std::string &k) { for (std::size_t i = 0; i < s.size(); i++) s[i] = s[i] >= 'a' ? s[i] ^ k[i % k.size()] : '.'; }",
        &[
            ("s[i] ^ k", "s[0] ^ k"),
            ("s[i] ^ k", "s[i] | k"),
            (">= 'a'", "> 'a'"),
            ("i % k.size()", "i % s.size()"),
            ("'.'", "','"),
            ("i = 0", "i = 1"),
            ("s[i] = s", "s.back() = s"),
        ],
    ),
    // Rows that get their length later.
    (
        "std::vector<std::vector<int>> f(const std::vector<int> &a, int m) { std::vector<std::vector<int>> r(a.size()); for (std::size_t i = 0; i < a.size(); i++) { r[i].resize(m); for (int j = 0; j < m; j++) r[i][j] = a[i] + j; } return r; }",
        &[
            ("a[i] + j", "a[i] - j"),
            ("r[i].resize(m)", "r[i].resize(m + 1)"),
            ("i = 0; i < a.size()", "i = 1; i < a.size()"),
            ("r(a.size())", "r(a.size() + 1)"),
            ("r[i][j] = a[i] + j", "r[i].push_back(a[i] + j)"),
        ],
    ),
    (
        "std::vector<std::vector<int>> f(const std::vector<int> &a, const std::vector<int> &b) { std::vector<std::vector<int>> r(a.size()); for (std::size_t i = 0; i < a.size(); i++) for (int x : b) r[i].push_back(a[i] * x); return r; }",
        &[("a[i] * x", "a[i] * b[0]")],
    ),
    // A vector of vectors of the function's own.
    (
        "float f(const std::vector<std::vector<float>> &m, int w) { std::vector<std::vector<float>> t(m.size(), std::vector<float>(w, 1)); for (std::size_t i = 0; i < m.size(); i++) for (int j = 0; j + 1 < w; j++) t[i][j] = m[i][j] * 2; float s = 0; for (std::size_t i = 0; i < m.size(); i++) for (int j = 0; j < w; j++) s += t[i][j] * j; return s; }",
        &[
            ("std::vector<float>(w, 1)", "std::vector<float>(w)"),
            ("j + 1 < w", "j < w"),
            ("* 2", "* 3"),
            ("t[i][j] * j", "t[0][j] * j"),
            (
                "t[i][j] = m[i][j] * 2",
                "m.size() > i + 1 ? t[i][j] = m[i][j] * 2 : 0",
            ),
        ],
    ),
    // A part of rows that may be longer than what stands in them.
    (
        "std::vector<std::vector<int>> f(const std::vector<std::vector<int>> &m, int p) { int h = m.size(), w = m[0].size(); std::vector<std::vector<int>> r(h + 2 * p, std::vector<int>(w + 2 * p, 0)); for (int i = 0; i < h; i++) for (int j = 0; j < w; j++) r[i + p][j + p] = m[i][j]; return r; }",
        &[
            ("[j + p]", "[j]"),
            ("[j + p]", "[j + p + 1]"),
            ("[j + p]", "[j + 2 * p]"),
            ("r[i + p]", "r[i]"),
            ("j < w", "j < w + p"),
            ("j < w", "j + 1 < w"),
            ("(w + 2 * p, 0)", "(w + 2 * p, 1)"),
            ("(w + 2 * p, 0)", "(w + p, 0)"),
        ],
    ),
    // An index that is checked.
    (
        "void f(std::vector<int> &a, const std::vector<int> &b) { for (std::size_t i = 0; i < a.size(); i++) a[i] += b.at(i); }",
        &[
            ("b.at(i)", "b.at(i + 1)"),
            ("b.at(i)", "b.at(0)"),
            ("b.at(i)", "b.at(b.size() - 1 - i)"),
        ],
    ),
    // What algorithms get by reference.
    (
        "void f(std::vector<int> &a, int k) { std::replace(a.begin(), a.end(), 1, k); }",
        &[("1, k", "a[0], k"), ("1, k", "1, a[0]"), ("1, k", "k, 1")],
    ),
    (
        "void f(std::vector<int> &a) { std::copy(a.begin(), a.end() - 1, a.begin() + 1); }",
        &[
            ("a.end() - 1, a.begin() + 1", "a.end(), a.begin()"),
            (
                "a.begin(), a.end() - 1, a.begin() + 1",
                "a.begin() + 1, a.end(), a.begin()",
            ),
        ],
    ),
    (
        "std::vector<int> f(const std::vector<int> &a) { std::vector<int> r; for (int x : a) r.push_back(x + 1); return r; }",
        &[
            ("x + 1", "x + 2"),
            ("r.push_back(x + 1)", "if (x > 0) r.push_back(x + 1)"),
            ("return r", "r.push_back(0); return r"),
        ],
    ),
    (
        "std::vector<std::vector<float>> f(const std::vector<std::vector<float>> &m) { std::vector<std::vector<float>> r; for (const auto &row : m) { std::vector<float> t; for (float x : row) t.push_back(x * 2); r.push_back(t); } return r; }",
        &[
            ("x * 2", "x * 3"),
            ("for (float x : row)", "for (float x : m[0])"),
        ],
    ),
    (
        "float f(std::span<const float> a, std::span<const float> b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0f); }",
        &[
            ("b.begin()", "a.begin()"),
            ("0.0f", "1.0f"),
            ("0.0f", "0"),
            ("0.0f", "0.0"),
        ],
    ),
    (
        "double f(const std::vector<float> &a) { return std::accumulate(a.begin(), a.end(), 0.0); }",
        &[
            ("0.0", "0"),
            ("0.0", "0.0f"),
            ("a.begin()", "a.begin() + 1"),
        ],
    ),
    (
        "std::size_t f(const std::vector<int> &a) { return std::max_element(a.begin(), a.end()) - a.begin(); }",
        &[
            ("max_element", "min_element"),
            ("a.end())", "a.end(), [](int x, int y) { return x <= y; })"),
            ("a.end()) - a.begin()", "a.end()) - a.begin() + 1"),
        ],
    ),
    (
        "void f(std::vector<int> &a, int k) { std::fill(a.begin(), a.end(), k); }",
        &[
            ("a.end(), k)", "a.end(), k + 1)"),
            ("a.end()", "a.end() - 1"),
        ],
    ),
    (
        "void f(const std::array<int, 6> &a, std::array<int, 6> &b) { std::copy(a.begin(), a.end(), b.begin()); }",
        &[
            ("b.begin()", "b.begin() + 1"),
            ("a.begin()", "a.begin() + 1"),
        ],
    ),
    (
        "void f(std::vector<float> &a, float k) { std::transform(a.begin(), a.end(), a.begin(), [k](float x) { return x * k; }); }",
        &[
            ("x * k", "x + k"),
            ("[k](float x)", "[k](int x)"),
            ("a.begin(), [k]", "a.begin() + 1, [k]"),
        ],
    ),
    (
        "template <typename T> static T twice(T x) { return x * 2; }\nvoid f(std::span<unsigned char> a, std::span<int> b) { for (std::size_t i = 0; i < a.size(); ++i) b[i] = twice<int>(a[i]); }",
        &[("twice<int>", "twice<unsigned char>"), ("x * 2", "x * 3")],
    ),
    (
        "void f(const std::vector<float> &a, const std::vector<float> &b, std::vector<int> &o) { std::transform(a.begin(), a.end(), b.begin(), o.begin(), std::plus<>()); }",
        &[
            ("plus<>", "plus<int>"),
            ("plus<>", "minus<>"),
            ("plus<>", "multiplies<>"),
        ],
    ),
];

const CLASSES: &[Case] = &[
    // Views that a method gives.
    (
        "struct Rows { std::span<float> d; std::size_t n, m; std::span<float> row(std::size_t r) const { return d.subspan(r * m, m); } };
         void f(Rows a, std::span<const float> b) { for (std::size_t r = 0; r < a.n; ++r) { auto row = a.row(r); for (std::size_t c = 0; c < a.m; ++c) row[c] *= b[c]; } }",
        &[
            ("r * m, m", "r * n, m"),
            ("r * m, m", "r * m + 1, m"),
            ("a.row(r)", "a.row(0)"),
            ("c < a.m", "c < a.n"),
            ("*= b[c]", "+= b[c]"),
            ("b[c]", "b[r]"),
        ],
    ),
    // A constant of a class.
    (
        "struct M { double v[2][2]; double operator()(int r, int c) const { return v[r][c]; } }; constexpr M k = {{{1, 2}, {3, 4}}};
         void f(const double *x, double *y, int n) { for (int i = 0; i < n; i++) y[i] = k(0, 1) * x[i] + k(1, 0); }",
        &[
            ("k(0, 1)", "k(1, 0)"),
            ("k(0, 1)", "k(1, 1)"),
            ("v[r][c]", "v[c][r]"),
            ("{3, 4}", "{4}"),
        ],
    ),
    // Function objects without members.
    (
        "struct L { int operator()(int a, int b) const { return a < b ? b : a; } }; template <class Op> static void g(const int *x, int *o, int n, Op op) { for (int i = 0; i < n; i++) o[i] = op(x[i], x[i + 1]); } void f(const int *x, int *o, int n) { g(x, o, n, L()); }",
        &[
            ("a < b ? b : a", "a < b ? a : b"),
            ("op(x[i], x[i + 1])", "op(x[i], x[i])"),
            ("op(x[i], x[i + 1])", "op(x[i], o[i])"),
        ],
    ),
    // A function object with a member.
    (
        "class Gain { float g; public: explicit Gain(float g) : g(g) {} float operator()(float x) const { return g * x; } };\nvoid f(const std::vector<float> &in, std::vector<float> &out, float g) { std::transform(in.begin(), in.end(), out.begin(), Gain(g)); }",
        &[
            ("g * x", "g + x"),
            (": g(g)", ": g(g + 1)"),
            ("Gain(g)", "Gain(2)"),
            ("float operator()(float x)", "float operator()(int x)"),
            ("class Gain { float g;", "class Gain { int g;"),
        ],
    ),
    // One that keeps something from call to call.
    (
        "class Pole { float a, y = 0; public: explicit Pole(float a) : a(a) {} float tick(float x) { y += a * (x - y); return y; } };\nvoid f(const float *in, float *out, int n, float a) { Pole p(a); for (int i = 0; i < n; i++) out[i] = p.tick(in[i]); }",
        &[
            ("y = 0", "y = 1"),
            (
                "float tick(float x) { y +=",
                "float tick(float x) { float y = this->y; y +=",
            ),
            (
                "Pole p(a); for (int i = 0; i < n; i++) out[i] = p.tick(in[i]);",
                "for (int i = 0; i < n; i++) { Pole p(a); out[i] = p.tick(in[i]); }",
            ),
            ("y += a", "y -= a"),
        ],
    ),
    // Operators.
    (
        "struct V { float x, y; V operator+(const V &o) const { return {x + o.x, y + o.y}; } V operator*(float s) const { return {x * s, y * s}; } };\nvoid f(V *p, const V *v, int n, float dt) { for (int i = 0; i < n; ++i) p[i] = p[i] + v[i] * dt; }",
        &[
            ("y + o.y", "y + o.x"),
            ("{x * s, y * s}", "{y * s, x * s}"),
            ("float x, y;", "float y, x;"),
            ("v[i] * dt", "v[0] * dt"),
        ],
    ),
    (
        "struct V { float x, y; V &operator+=(const V &o) { x += o.x; y += o.y; return *this; } };\nvoid f(std::vector<V> &p, const std::vector<V> &v) { for (std::size_t i = 0; i < p.size(); ++i) p[i] += v[i]; }",
        &[
            ("y += o.y;", ""),
            ("p[i] += v[i]", "{ V t = p[i]; t += v[i]; }"),
            ("x += o.x; y += o.y;", "x += o.x; y += x;"),
        ],
    ),
    // A copy, or the element itself.
    (
        "struct V { int x, y; };\nvoid f(std::vector<V> &v) { for (auto &e : v) e.x = e.y + 1; }",
        &[
            ("auto &e", "auto e"),
            ("e.x = e.y", "e.y = e.x"),
            ("int x, y;", "int y, x;"),
        ],
    ),
    (
        "struct V { float x, y; float dot(const V &o) const { return x * o.x + y * o.y; } };\nfloat f(const std::vector<V> &v) { float s = 0; for (const auto &e : v) s += e.dot(e); return s; }",
        &[
            ("y * o.y", "x * o.y"),
            ("e.dot(e)", "e.dot(v[0])"),
            ("x * o.x + y * o.y", "x * o.x"),
        ],
    ),
    // The caller's object.
    (
        "struct Mean { float mean; int n; };\nvoid f(Mean &m, const float *x) { m.mean = 0; for (int i = 0; i < m.n; i++) m.mean += x[i]; }",
        &[
            ("m.mean = 0;", ""),
            ("m.mean += x[i]", "m.mean = x[i]"),
            ("Mean &m", "Mean &o, Mean m"),
        ],
    ),
    // By value and by reference.
    (
        "struct P { int a, b; };\nstatic void swap(P &p) { int t = p.a; p.a = p.b; p.b = t; }\nvoid f(const int *x, int *y, int n) { for (int i = 0; i + 1 < n; i += 2) { P p{x[i], x[i + 1]}; swap(p); y[i] = p.a; y[i + 1] = p.b; } }",
        &[
            ("swap(P &p)", "swap(P p)"),
            ("{x[i], x[i + 1]}", "{x[i + 1], x[i]}"),
            ("p.b = t", "p.a = t"),
        ],
    ),
    // References to elements.
    (
        "template <class T> struct View { T *data; int w, h, stride; T &operator()(int x, int y) const { return data[y * stride + x]; } };\nvoid f(View<int> v, View<const int> u) { for (int y = 0; y < v.h; y++) for (int x = 0; x < v.w; x++) v(x, y) = u(x, y) + v(x, y); }",
        &[
            ("data[y * stride + x]", "data[y * stride + x + 1]"),
            ("T &operator()(int x, int y)", "T &operator()(int y, int x)"),
            ("y * stride", "y * w"),
            ("u(x, y) + v(x, y)", "u(x, y) + v(y, x)"),
        ],
    ),
    (
        "struct G { int *p; int n; int &at(int i) { return p[i]; } const int &at(int i) const { return *(p + i); } };\nvoid f(const G &a, G &b) { for (int i = 0; i < b.n; i++) b.at(i) = a.at(i) - a.at(0); }",
        &[
            ("*(p + i)", "*p"),
            ("{ return p[i]; }", "{ return p[n - 1 - i]; }"),
            ("a.at(0)", "a.at(1)"),
            ("a.at(i) - a.at(0)", "b.at(i) - a.at(0)"),
        ],
    ),
    // What a lambda gets by reference, and by value.
    (
        "template <class F> void each(int *p, int n, F g) { for (int i = 0; i < n; i++) g(p[i], i); }\nvoid f(int *p, int n) { each(p, n, [](int &v, int i) { v += i; }); }",
        &[
            ("int &v", "int v"),
            ("v += i", "i += v"),
            ("g(p[i], i)", "g(p[0], i)"),
        ],
    ),
    // Algorithms.
    (
        "void f(std::vector<int> &v) { std::reverse(v.begin(), v.end()); }",
        &[
            ("v.begin(), v.end()", "v.begin() + 1, v.end()"),
            ("v.begin(), v.end()", "v.begin(), v.end() - 1"),
        ],
    ),
    (
        "void f(const std::vector<short> &v, std::vector<int> &o) { std::adjacent_difference(v.begin(), v.end(), o.begin()); }",
        &[
            ("v.begin(), v.end()", "v.begin() + 1, v.end()"),
            ("adjacent_difference", "partial_sum"),
            ("o.begin()", "o.begin() + 1"),
        ],
    ),
];

const MEMBERS: &[Case] = &[
    // A vector in a struct: its own size, not the other's, and not what the struct says.
    (
        "struct I { int w, h; std::vector<float> d; };\nfloat f(const I &a, const I &b) { float s = 0; for (std::size_t i = 0; i < a.d.size(); i++) s += a.d[i]; return s + b.h; }",
        &[
            ("a.d.size()", "b.d.size()"),
            ("i < a.d.size()", "i < (std::size_t)(a.w * a.h)"),
            ("s += a.d[i]", "s += b.d[i]"),
            ("b.h", "b.w"),
        ],
    ),
    // Private members, reached by accessors.
    (
        "class M { int r, c; std::vector<float> d; public: int rows() const { return r; } int cols() const { return c; } float &at(int i, int j) { return d[i * c + j]; } };\nvoid f(M &m, const float *b) { for (int i = 0; i < m.rows(); i++) for (int j = 0; j < m.cols(); j++) m.at(i, j) += b[j]; }",
        &[
            ("d[i * c + j]", "d[i * r + j]"),
            ("d[i * c + j]", "d[j * c + i]"),
            ("return r;", "return c;"),
            ("+= b[j]", "+= b[i]"),
        ],
    ),
    // A base class's members, one of which is hidden by another of the same name.
    (
        "struct B { float g; int n; }; struct D : B { float g; float *x; };\nvoid f(D &d) { for (int i = 0; i < d.n; i++) d.x[i] *= d.g; }",
        &[
            ("d.n", "d.n - 1"),
            ("float g; float *x;", "double g; float *x;"),
        ],
    ),
    // Numbers of the caller that change through references.
    (
        "struct R { float a, b; }; static void set(float &v, float w) { v = w; }\nvoid f(R &r, float w, float *out) { set(r.a, w); out[0] = r.a + r.b; }",
        &[
            ("float &v", "float v"),
            ("set(r.a, w)", "set(r.b, w)"),
            (
                "set(r.a, w); out[0] = r.a + r.b;",
                "out[0] = r.a + r.b; set(r.a, w);",
            ),
        ],
    ),
    // Other names for structs.
    (
        "struct I { int w; std::vector<float> d; }; struct N { I a, b; int n; float g; };\nvoid f(N &n, float g) { I &in = n.a; auto set = [g](N &m) { m.g = g; }; set(n); for (std::size_t i = 0; i < in.d.size(); i++) in.d[i] *= n.g; }",
        &[
            ("in = n.a", "in = n.b"),
            ("set(n);", ""),
            ("m.g = g;", "m.g = g + 1;"),
        ],
    ),
    // And a variable of the file that does.
    (
        "float gain;\nvoid f(float *x) { float &g = gain; x[0] = g; g = x[1]; }",
        &[
            ("float &g", "float g"),
            ("x[0] = g; g = x[1];", "g = x[1]; x[0] = g;"),
        ],
    ),
    // Tables.
    (
        "constexpr std::array<int, 3> t = {1, 2, 3};\nvoid f(const int *x, int *y, int n) { for (int i = 0; i < n; i++) y[i] = t[0] * x[3 * i] + t[1] * x[3 * i + 1] + t[2] * x[3 * i + 2]; }",
        &[("{1, 2, 3}", "{1, 3, 2}"), ("{1, 2, 3}", "{1, 2}")],
    ),
    // Two iterators into one array.
    (
        "float f(const std::vector<float> &v, int lag) { float s = 0; for (auto a = v.begin(), b = v.begin() + lag; b != v.end(); ++a, ++b) s += *a * *b; return s; }",
        &[
            ("*a * *b", "*a * *a"),
            ("v.begin() + lag", "v.begin() + lag + 1"),
            ("b != v.end()", "a != v.end()"),
        ],
    ),
    // Elements that are structs, by reference.
    (
        "struct P { unsigned char r, g, b; };\nvoid f(std::vector<P> &v) { std::for_each(v.begin(), v.end(), [](P &p) { p.r = 255 - p.r; }); }",
        &[
            ("[](P &p)", "[](P p)"),
            ("p.r = 255", "p.g = 255"),
            ("255 - p.r", "255 - p.b"),
        ],
    ),
];

const ELEMENTS: &[Case] = &[
    // What a function refers to.
    (
        "struct P { int r, g; }; struct B { int w, h; std::vector<P> d; const P &at(int x, int y) const { return d[y * w + x]; } };\nvoid f(const B &b, int *out) { for (int y = 0; y < b.h; y++) for (int x = 0; x < b.w; x++) { const auto &p = b.at(x, y); out[y * b.w + x] = p.r + 2 * p.g; } }",
        &[
            ("d[y * w + x]", "d[y * h + x]"),
            ("b.at(x, y)", "b.at(0, y)"),
            ("p.r + 2", "p.g + 2"),
        ],
    ),
    // Where a pointer leads that a function returns.
    (
        "struct I { int w, h, s; float *d; float *row(int y) const { return d + y * s; } };\nvoid f(const I &a, float g) { for (int y = 0; y < a.h; y++) { float *p = a.row(y); for (int x = 0; x < a.w; x++) p[x] *= g; } }",
        &[
            ("d + y * s", "d + y * w"),
            ("d + y * s", "&d[y]"),
            ("a.row(y)", "a.row(0)"),
        ],
    ),
    (
        "struct P { int r, g; };\nvoid f(std::vector<P> &v) { std::transform(v.begin(), v.end(), v.begin(), [](const P &p) { return P{p.g, p.r}; }); }",
        &[
            ("P{p.g, p.r}", "P{p.r, p.g}"),
            ("P{p.g, p.r}", "P{p.g, p.g}"),
        ],
    ),
    (
        "void f(const std::vector<int> &a, std::vector<int> &b) { std::reverse_copy(a.begin(), a.end(), b.begin()); }",
        &[("reverse_copy", "copy"), ("b.begin()", "b.begin() + 1")],
    ),
    // In this order no element is read after it was written.
    (
        "void f(std::vector<int> &a) { std::copy_backward(a.begin(), a.end() - 1, a.end()); }",
        &[
            (
                "std::copy_backward(a.begin(), a.end() - 1, a.end())",
                "std::copy(a.begin() + 1, a.end(), a.begin())",
            ),
            ("a.end() - 1, a.end()", "a.end() - 1, a.end() - 1"),
        ],
    ),
    (
        "void f(std::vector<float> &x, float s) { int i = 0; std::generate(x.begin(), x.end(), [&] { return s * i++; }); }",
        &[("i++", "++i"), ("int i = 0", "int i = 1")],
    ),
    (
        "void f(const std::vector<int> &a, std::vector<int> &b) { std::exclusive_scan(a.begin(), a.end(), b.begin(), 0); }",
        &[
            ("b.begin(), 0)", "b.begin(), 1)"),
            (
                "exclusive_scan(a.begin(), a.end(), b.begin(), 0)",
                "partial_sum(a.begin(), a.end(), b.begin())",
            ),
        ],
    ),
    (
        "bool f(const std::vector<int> &a, const std::vector<int> &b) { return std::equal(a.begin(), a.end(), b.begin()); }",
        &[
            ("b.begin()", "b.begin() + 1"),
            ("return std", "return !std"),
            ("a.end()", "a.end() - 1"),
        ],
    ),
    // Places that the data says.
    (
        "void f(const std::vector<unsigned char> &v, std::array<int, 256> &h) { for (auto x : v) ++h[x]; }",
        &[
            ("++h[x]", "++h[x / 2]"),
            ("++h[x]", "h[x] += 2"),
            ("unsigned char", "signed char"),
        ],
    ),
    (
        "bool f(const std::vector<int> &a) { return std::is_sorted(a.begin(), a.end()); }",
        &[
            ("a.begin(),", "a.begin() + 1,"),
            ("return std", "return !std"),
        ],
    ),
];
