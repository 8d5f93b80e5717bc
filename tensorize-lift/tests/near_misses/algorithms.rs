//! Near algorithms of the library of C++, by ranges and by iterators that go back.

use super::cpp::HEADERS;
use super::{Case, refuses_them};

#[test]
fn ranges() {
    refuses_them("ranges", "cpp", HEADERS, RANGES);
}

#[test]
fn walks() {
    refuses_them("walks", "cpp", HEADERS, WALKS);
}

#[test]
fn what_is_kept() {
    refuses_them("kept_by_algorithms", "cpp", HEADERS, KEPT);
}

const KEPT: &[Case] = &[
    (
        "void f(const std::vector<int> &a, std::vector<int> &o) { o.clear(); std::copy_if(a.begin(), a.end(), std::back_inserter(o), [](int x) { return x > 3; }); }",
        &[
            ("std::copy_if", "std::remove_copy_if"),
            ("a.begin()", "a.begin() + 1"),
            ("x > 3", "x >= 3"),
            ("o.clear();", ""),
            ("o.clear();", "o.assign(1, 0);"),
        ],
    ),
    (
        "int f(int *a, int n, int v) { return std::remove(a, a + n, v) - a; }",
        &[
            ("std::remove(a, a + n, v)", "std::unique(a, a + n)"),
            ("a, a + n, v", "a, a + n, 0"),
            ("a, a + n, v", "a, a + n - 1, v"),
            (
                "std::remove(a, a + n, v)",
                "std::remove_if(a, a + n, [v](int x) { return x != v; })",
            ),
            ("a, a + n, v) - a", "a, a + n, a[0]) - a"),
        ],
    ),
    (
        "void f(std::vector<int> &a) { a.erase(std::unique(a.begin(), a.end()), a.end()); }",
        &[
            (
                "a.erase(std::unique(a.begin(), a.end()), a.end())",
                "std::unique(a.begin(), a.end())",
            ),
            (
                "unique(a.begin(), a.end())",
                "unique(a.begin(), a.end(), [](int x, int y) { return x > y; })",
            ),
            ("unique(a.begin()", "unique(a.begin() + 1"),
            (
                "std::unique(a.begin(), a.end())",
                "std::remove(a.begin(), a.end(), 0)",
            ),
        ],
    ),
];

const RANGES: &[Case] = &[
    // Two ranges, of which the shorter one counts.
    (
        "void f(const std::vector<float> &a, const std::vector<float> &b, std::vector<float> &o) { std::ranges::transform(a, b, o.begin(), std::minus{}); }",
        &[
            ("(a, b,", "(b, a,"),
            (
                "std::ranges::transform(a, b,",
                "std::transform(a.begin(), a.end(), b.begin(),",
            ),
            (
                "std::ranges::transform(a, b,",
                "std::transform(b.begin(), b.end(), a.begin(),",
            ),
            ("minus{}", "plus{}"),
            ("minus{}", "minus<int>{}"),
            ("o.begin()", "o.begin() + 1"),
        ],
    ),
    (
        "void f(const std::vector<float> &a, std::vector<float> &o, float k) { std::ranges::transform(a, o.begin(), [k](float x) { return x * k; }); }",
        &[
            ("transform(a,", "transform(a.begin() + 1, a.end(),"),
            ("[k](float x)", "[k](int x)"),
            ("x * k", "x * x"),
        ],
    ),
    (
        "void f(std::vector<int> &a, std::vector<int> &b) { std::ranges::swap_ranges(a, b); }",
        &[
            ("swap_ranges(a, b)", "copy(a, b.begin())"),
            (
                "std::ranges::swap_ranges(a, b)",
                "std::swap_ranges(a.begin(), a.end(), b.begin())",
            ),
        ],
    ),
    // The first one of those that are equal.
    (
        "std::ptrdiff_t f(const std::vector<int> &a) { return std::ranges::max_element(a) - a.begin(); }",
        &[
            ("max_element", "min_element"),
            ("(a)", "(a, std::ranges::less_equal{})"),
            ("(a)", "(a, std::ranges::greater{})"),
            ("(a)", "(a.begin() + 1, a.end())"),
        ],
    ),
    (
        "float f(std::span<const float> a) { return std::ranges::max(a); }",
        &[
            ("max(a)", "max(a, std::ranges::less_equal{})"),
            ("max(a)", "min(a)"),
            ("max(a)", "max(a[0], a[1])"),
        ],
    ),
    // What is looked for is compared in the type of both.
    (
        "int f(const std::vector<int> &a, double v) { return std::ranges::count(a, v); }",
        &[
            ("double v", "int v"),
            ("double v", "float v"),
            ("count(a, v)", "find(a, v) - a.begin()"),
        ],
    ),
    (
        "bool f(const std::vector<int> &a) { return std::ranges::any_of(a, [](int x) { return x > 3; }); }",
        &[
            ("any_of", "all_of"),
            ("any_of", "none_of"),
            ("x > 3", "x >= 3"),
            ("(int x)", "(unsigned char x)"),
        ],
    ),
    (
        "void f(std::vector<int> &a, int k) { std::ranges::fill(a, k); }",
        &[
            ("int k", "signed char k"),
            ("(a, k)", "(a.begin(), a.end() - 1, k)"),
            ("fill(a, k)", "for_each(a, [k](int &x) { x += k; })"),
        ],
    ),
    (
        "void f(std::vector<int> &a) { std::ranges::for_each(a, [](int &x) { x += 1; }); }",
        &[("int &x", "int x"), ("x += 1", "x -= 1")],
    ),
];

const WALKS: &[Case] = &[
    // Back.
    (
        "void f(const std::vector<int> &a, std::vector<int> &o) { std::copy(a.rbegin(), a.rend(), o.begin()); }",
        &[
            ("a.rbegin(), a.rend()", "a.begin(), a.end()"),
            ("o.begin()", "o.rbegin()"),
            ("a.rbegin()", "a.rbegin() + 1"),
            ("a.rend()", "a.rend() - 1"),
        ],
    ),
    // Of structs with members of several types.
    (
        "struct t { double p; int n; }; double f(const std::vector<t> &a) { return std::accumulate(a.begin(), a.end(), 0.0, [](double s, const t &e) { return s + e.p * e.n; }); }",
        &[
            ("e.p * e.n", "e.p"),
            ("s + e.p", "s - e.p"),
            ("0.0", "0"),
            ("a.begin(),", "a.begin() + 1,"),
            ("double s,", "float s,"),
        ],
    ),
    (
        "unsigned f(const std::vector<unsigned> &a, unsigned b) { return std::accumulate(a.rbegin(), a.rend(), 0u, [b](unsigned v, unsigned d) { return v * b + d; }); }",
        &[
            ("a.rbegin(), a.rend()", "a.begin(), a.end()"),
            ("v * b + d", "d * b + v"),
            ("0u", "1u"),
        ],
    ),
    (
        "float f(std::span<const float> a) { return *std::max_element(a.rbegin(), a.rend()); }",
        &[
            ("a.rbegin(), a.rend()", "a.begin(), a.end()"),
            (
                "a.rend())",
                "a.rend(), [](float x, float y) { return x <= y; })",
            ),
        ],
    ),
    (
        "bool f(std::span<const int> a) { return std::equal(a.begin(), a.end(), a.rbegin()); }",
        &[
            ("a.rbegin()", "a.begin()"),
            ("a.begin(), a.end()", "a.begin(), a.end() - 1"),
            (
                "a.rbegin())",
                "a.rbegin(), [](int x, int y) { return x <= y; })",
            ),
        ],
    ),
    // From the middle.
    (
        "void f(const std::vector<int> &a, std::vector<int> &o, int k) { std::rotate_copy(a.begin(), a.begin() + k, a.end(), o.begin()); }",
        &[
            ("a.begin() + k", "a.end() - k"),
            ("a.begin() + k", "a.begin() + k + 1"),
            ("o.begin()", "o.begin() + 1"),
        ],
    ),
    // Of two lengths.
    (
        "bool f(const std::vector<int> &a, const std::vector<int> &b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }",
        &[
            ("b.begin(), b.end()", "b.begin()"),
            (
                "std::equal(a.begin(), a.end(), b.begin(), b.end())",
                "std::ranges::equal(a, b, std::less_equal{})",
            ),
        ],
    ),
    // The value and the one before, not the other way round; the first one as it is.
    (
        "void f(const std::vector<int> &a, std::vector<int> &o) { std::adjacent_difference(a.begin(), a.end(), o.begin(), [](int x, int y) { return x - 2 * y; }); }",
        &[
            ("x - 2 * y", "y - 2 * x"),
            ("[](int x, int y) { return x - 2 * y; }", "std::minus<>()"),
        ],
    ),
    (
        "bool f(const std::vector<int> &a) { return std::is_sorted(a.begin(), a.end(), std::greater<>()); }",
        &[("greater<>", "less<>"), ("greater<>", "greater_equal<>")],
    ),
    // The first of the least, and the last of the greatest.
    (
        "std::ptrdiff_t f(const std::vector<int> &a) { auto [lo, hi] = std::minmax_element(a.begin(), a.end()); return hi - lo; }",
        &[
            (
                "auto [lo, hi] = std::minmax_element(a.begin(), a.end());",
                "auto hi = std::max_element(a.begin(), a.end()); auto lo = std::min_element(a.begin(), a.end());",
            ),
            ("a.end()", "a.end(), std::greater<>()"),
            ("[lo, hi]", "[hi, lo]"),
            (
                "std::minmax_element(a.begin()",
                "std::minmax_element(a.begin() + 1",
            ),
        ],
    ),
    (
        "std::ptrdiff_t f(const std::vector<int> &a) { return std::minmax_element(a.begin(), a.end()).second - a.begin(); }",
        &[
            (
                "minmax_element(a.begin(), a.end()).second",
                "max_element(a.begin(), a.end())",
            ),
            (".second", ".first"),
        ],
    ),
];
