//! Algorithms of the library, by iterators and by ranges.

use super::{lowers, parsed, refuses};

/// An algorithm of `std::ranges` is the one of `std`, on a range or on iterators.
#[test]
fn algorithms_on_ranges_are_those_on_iterators() {
    let text = |body: &str| {
        let source = format!(
            "int f(std::vector<int> &a, std::vector<int> &b, int k) {{ {body}; return 0; }}"
        );
        let functions = parsed(&source);
        let kernel = functions.last().unwrap().lowered.as_ref();
        let text = kernel
            .unwrap_or_else(|p| panic!("{source}: {p:?}"))
            .to_string();
        // The names of what is computed on the way say nothing.
        text.lines().skip(1).collect::<Vec<_>>().join("\n")
    };
    for (name, rest) in [
        ("transform", "b.begin(), [k](int x) { return x * k; }"),
        ("transform", "b.begin(), [k](auto x) { return x * k; }"),
        ("fill", "k"),
        ("copy", "b.begin()"),
        ("reverse_copy", "b.begin()"),
        ("for_each", "[k](int &x) { x += k; }"),
        ("count", "k"),
        ("count_if", "[k](int x) { return x < k; }"),
        ("any_of", "[k](int x) { return x < k; }"),
        ("all_of", "[k](int x) { return x < k; }"),
        ("none_of", "[k](int x) { return x < k; }"),
        ("replace", "k, 3"),
        ("replace", "a[0], a[1]"),
        ("replace_if", "[](int x) { return x < 0; }, k"),
    ] {
        let of_std = text(&format!("std::{name}(a.begin(), a.end(), {rest})"));
        for ranged in [
            format!("std::ranges::{name}(a, {rest})"),
            format!("std::ranges::{name}(a.begin(), a.end(), {rest})"),
        ] {
            assert_eq!(text(&ranged), of_std, "{ranged}");
        }
    }
    for (ranged, of_std) in [
        (
            "std::ranges::reverse(a)",
            "std::reverse(a.begin(), a.end())",
        ),
        (
            "b[0] = *std::ranges::max_element(a)",
            "b[0] = *std::max_element(a.begin(), a.end())",
        ),
        (
            "b[0] = std::ranges::min(a)",
            "b[0] = *std::min_element(a.begin(), a.end())",
        ),
        (
            "b[0] = std::ranges::max(a, std::ranges::greater{})",
            "b[0] = *std::max_element(a.begin(), a.end(), std::greater<>())",
        ),
        (
            "b[0] = std::ranges::max(a[0], k)",
            "b[0] = std::max(a[0], k)",
        ),
        (
            "b[0] = std::ranges::find(a, k) - a.begin()",
            "b[0] = std::find(a.begin(), a.end(), k) - a.begin()",
        ),
        (
            "namespace rg = std::ranges; rg::fill(a, k)",
            "std::fill(a.begin(), a.end(), k)",
        ),
        (
            "using std::ranges::fill; fill(a, k)",
            "std::fill(a.begin(), a.end(), k)",
        ),
        (
            "std::ranges::fill_n(a.begin(), k, 2)",
            "std::fill_n(a.begin(), k, 2)",
        ),
    ] {
        assert_eq!(text(ranged), text(of_std), "{ranged}");
    }
}

/// Where `std` goes by the first range alone, `std::ranges` looks at both.
#[test]
fn two_ranges_go_as_far_as_the_shorter_one() {
    let expected = "void f(const i32 *a, i64 a_size, i32 *b, i64 b_size) {
           i64 k = 0;
           while (k < (b_size < a_size ? b_size : a_size)) { b[k] = a[k] + b[k]; k = k + 1; }
         }";
    for call in [
        "std::ranges::transform(a, b, b.begin(), std::plus{})",
        "std::ranges::transform(a.begin(), a.end(), b.begin(), b.end(), b.begin(), std::plus{})",
    ] {
        lowers(
            &format!("void f(const std::vector<int> &a, std::vector<int> &b) {{ {call}; }}"),
            expected,
        );
    }
}

/// A reverse iterator is the iterator that it is made of, and names the element before that.
#[test]
fn reverse_iterators_walk_back() {
    lowers(
        "void f(const std::vector<int> &a, std::vector<int> &b, int k) { std::copy(a.rbegin() + 1, a.rend() - k, b.rbegin()); }",
        "void f(const i32 *a, i64 a_size, i32 *b, i64 b_size, i32 k) {
           i64 n = a_size - 1 - (i64)k;
           if (n < 0) { trap; }
           i64 k.2 = 0;
           while (k.2 < n) { b[b_size + (-1:i64 - k.2)] = a[a_size - 1 + (-1:i64 - k.2)]; k.2 = k.2 + 1; }
         }",
    );
    lowers(
        "bool f(const int *p, int n) { return std::equal(p, p + n, std::make_reverse_iterator(p + n)); }",
        "i1 f(const i32 *p, i32 n) {
           i64 n.2 = (i64)n;
           i64 at = (i64)n;
           i64 at.2 = 0;
           i1 found = 0;
           while (!found && at.2 < n.2) {
             if (p[at.2] != p[at + (-1:i64 - at.2)]) { found = 1; } else { at.2 = at.2 + 1; }
           }
           return at.2 >= n.2;
         }",
    );
}

/// Of two lengths no element is looked at, and one that is not there least of all.
#[test]
fn ranges_of_two_lengths_are_not_equal() {
    for call in [
        "std::equal(a.begin(), a.end(), b.begin(), b.end())",
        "std::ranges::equal(a, b)",
    ] {
        lowers(
            &format!(
                "bool f(const std::vector<float> &a, const std::vector<float> &b) {{ return {call}; }}"
            ),
            "i1 f(const f32 *a, i64 a_size, const f32 *b, i64 b_size) {
               i1 equal = 0;
               if (a_size == b_size) {
                 i64 at = 0;
                 i1 found = 0;
                 while (!found && at < a_size) {
                   if (a[at] != b[at]) { found = 1; } else { at = at + 1; }
                 }
                 equal = at >= a_size;
               }
               return equal;
             }",
        );
    }
}

/// A function object gets the element and then the one before it.
#[test]
fn adjacent_elements_have_an_order() {
    lowers(
        "void f(const std::vector<int> &a, std::vector<int> &b) { std::adjacent_difference(a.begin(), a.end(), b.begin(), [](int x, int y) { return x - 2 * y; }); }",
        "void f(const i32 *a, i64 a_size, i32 *b, i64 b_size) {
           if (0:i64 < a_size) {
             i32 before = a[0];
             b[0] = before;
             i64 k = 0;
             while (k < a_size - 1) {
               i32 value = a[k + 1];
               i32 x = value;
               i32 y = before;
               i32 `` = x - 2:i32 * y;
               i32 result = ``;
               b[k + 1] = result;
               before = value;
               k = k + 1;
             }
           }
         }",
    );
}

/// The first of the least, and the last of the greatest.
#[test]
fn of_elements_that_are_equal_one_is_found() {
    for (call, compares) in [
        ("std::max_element(a.begin(), a.end())", "best < a[k + 1]"),
        ("std::min_element(a.begin(), a.end())", "a[k + 1] < best"),
        ("std::ranges::max_element(a)", "best < a[k + 1]"),
        (
            "std::minmax_element(a.begin(), a.end()).first",
            "a[k + 1] < best",
        ),
        (
            "std::minmax_element(a.begin(), a.end()).second",
            "a[k.2 + 1] >= best.2",
        ),
        ("std::ranges::minmax_element(a).max", "a[k.2 + 1] >= best.2"),
        (
            "std::ranges::minmax_element(a, std::greater{}).min",
            "a[k + 1] > best",
        ),
    ] {
        let source =
            format!("std::ptrdiff_t f(const std::vector<int> &a) {{ return {call} - a.begin(); }}");
        let functions = parsed(&source);
        let kernel = functions.last().unwrap().lowered.as_ref();
        let text = kernel
            .unwrap_or_else(|p| panic!("{source}: {p:?}"))
            .to_string();
        assert!(
            text.contains(&format!("if ({compares})")),
            "{source}\n{text}"
        );
    }
}

#[test]
fn what_ranges_have_besides_is_refused() {
    let head = "struct P { int x, y; };";
    for (source, code, words) in [
        (
            "int f(const std::vector<int> &a) { return std::ranges::max(a, {}, [](int x) { return -x; }); }",
            "TZ0207",
            "the projection of 'std::ranges::max'",
        ),
        (
            "int f(const std::vector<P> &a) { return std::ranges::count(a, 1, &P::x); }",
            "TZ0207",
            "the projection of 'std::ranges::count'",
        ),
        (
            "void f(const std::vector<P> &a, std::vector<int> &b) { std::ranges::transform(a, b.begin(), [](int x) { return x; }, &P::x); }",
            "TZ0207",
            "the projection of 'std::ranges::transform'",
        ),
        (
            "void f(std::vector<int> &a) { std::ranges::sort(a); }",
            "TZ0207",
            "'std::ranges::sort'",
        ),
        (
            "void f(const std::vector<int> &a, std::vector<int> &b) { *std::ranges::copy(a, b.begin()).out = 1; }",
            "TZ0213",
            "",
        ),
        (
            "void f(float *x, float *y) { const float &g = std::ranges::max(*x, *y); *x = 1; y[1] = g; }",
            "TZ0217",
            "is not known",
        ),
        (
            "float f(const std::vector<float> &a) { auto [lo, hi] = std::minmax_element(a.begin(), a.end()); return *hi - *lo; }",
            "TZ0207",
            "other elements than integers",
        ),
        (
            "int f(const std::vector<int> &a) { auto p = std::minmax_element(a.begin(), a.end(), std::less_equal<>()); return *p.second; }",
            "TZ0207",
            "an order of its own",
        ),
        (
            "int f(const std::vector<int> &a) { auto p = std::minmax_element(a.begin(), a.end()); ++p.first; return *p.first; }",
            "TZ0220",
            "is changed",
        ),
        (
            "int f(const std::vector<int> &a, const std::vector<int> &b) { auto p = std::minmax_element(a.begin(), a.end()); p = std::minmax_element(b.begin(), b.end()); return *p.first; }",
            "TZ0217",
            "is assigned",
        ),
        (
            "int f(const std::vector<int> &a) { auto p = std::minmax_element(a.begin(), a.end()); std::swap(p.first, p.second); return *p.first; }",
            "TZ0220",
            "is changed",
        ),
        (
            "int f(const std::vector<int> &a) { auto p = std::minmax_element(a.begin(), a.end()); auto g = [&] { p.first = p.second; }; g(); return *p.first; }",
            "TZ0220",
            "is changed",
        ),
        (
            "int f(const std::vector<int> &a) { auto p = std::minmax_element(a.begin(), a.end()); auto &lo = p.first; lo = p.second; return *p.first; }",
            "TZ0217",
            "a reference",
        ),
        (
            "int f(const std::vector<int> &a) { return *std::find(a.rbegin(), a.rend(), 3); }",
            "TZ0220",
            "use of a reverse iterator",
        ),
        (
            "int f(const std::vector<int> &a) { auto it = a.rbegin(); return *it; }",
            "TZ0217",
            "'it' has a type",
        ),
        (
            "void f(std::vector<int> &a) { int n = 0; std::ranges::for_each(a, [n](int &x) mutable { x = n++; }); }",
            "TZ0209",
            "mutable",
        ),
    ] {
        refuses(&format!("{head}\n{source}"), code, words);
    }
}

/// `fill` is the name of a member function, too, which a call on iterators was once taken for.
#[test]
fn what_an_algorithm_writes_has_no_order_with_what_is_read_beside_it() {
    for fills in [
        "std::fill(v.begin(), v.end(), 0)",
        "std::ranges::fill(v, 0)",
        "std::ranges::fill(v.begin(), v.end(), 0)",
        "std::ranges::transform(v, v.begin(), std::negate{})",
    ] {
        refuses(
            &format!(
                "static int g(std::span<int> v) {{ {fills}; return 1; }} int f(std::span<int> v) {{ return v[0] + g(v); }}"
            ),
            "TZ0221",
            "order",
        );
    }
    // What is only looked at may be in any order.
    lowers(
        "static int g(std::span<int> v) { return std::ranges::max(v[0], v[1]); } int f(std::span<int> v) { return v[0] + g(v); }",
        "i32 f(i32 *v, i64 v_size) { i32 g = v[0] < v[1] ? v[1] : v[0]; return v[0] + g; }",
    );
}

/// The elements that are kept follow each other; how many there are says where they end.
#[test]
fn elements_are_kept_one_after_the_other() {
    lowers(
        "int f(const int *x, int n, int *o) { return std::copy_if(x, x + n, o, [](int v) { return v > 0; }) - o; }",
        "i32 f(const i32 *x, i32 n, i32 *o) {
           i64 n.2 = (i64)n; i64 kept = 0; i64 k = 0;
           while (k < n.2) {
             i32 v = x[k]; i1 `` = v > 0;
             if (``) { o[kept] = x[k]; kept = kept + 1; }
             k = k + 1;
           }
           return (i32)kept;
         }",
    );
    lowers(
        "void f(std::vector<int> &v) { v.erase(std::unique(v.begin(), v.end()), v.end()); }",
        "void f(i32 *v, i64 v_size, i64 *restrict v_resized) {
           i64 v.size = v_size; i64 n = v.size; i64 kept = 0; i64 k = 0;
           while (k < n) {
             i1 differs = kept == 0;
             if (kept != 0) { differs = v[kept - 1] != v[k]; }
             if (differs) { v[kept] = v[k]; kept = kept + 1; }
             k = k + 1;
           }
           i64 left = kept; v.size = left; v_resized[0] = v.size;
         }",
    );
    for (source, code, words) in [
        (
            "void f(const std::vector<int> &a, std::vector<int> &o) { std::unique_copy(a.begin(), a.end(), std::back_inserter(o)); }",
            "TZ0207",
            "'unique_copy'",
        ),
        (
            "void f(std::vector<int> &v) { v.erase(v.begin(), v.begin() + 2); }",
            "TZ0207",
            "erase",
        ),
        (
            "void f(std::vector<int> &v, std::vector<int> &w) { v.erase(v.begin(), w.end()); }",
            "TZ0207",
            "erase",
        ),
        (
            "void f(std::vector<std::vector<int>> &v) { std::erase_if(v, [](const std::vector<int> &r) { return r[0] > 0; }); }",
            "TZ0230",
            "a vector of vectors whose size changes",
        ),
    ] {
        refuses(source, code, words);
    }
}

#[test]
fn elements_are_rotated_by_way_of_a_copy() {
    lowers(
        "void f(std::vector<int> &v, int by) { std::rotate(v.begin(), v.begin() + by, v.end()); }",
        "void f(i32 *v, i64 v_size, i32 by) {
           local i32 rotated[];
           i64 before = (i64)by;
           i64 k = 0;
           while (k < v_size - before) { rotated[k] = v[before + k]; k = k + 1; }
           i64 k.2 = 0;
           while (k.2 < before) { rotated[v_size - before + k.2] = v[k.2]; k.2 = k.2 + 1; }
           i64 k.3 = 0;
           while (k.3 < v_size) { v[k.3] = rotated[k.3]; k.3 = k.3 + 1; }
         }",
    );
    refuses(
        "int f(std::vector<int> &v) { return *std::rotate(v.begin(), v.begin() + 1, v.end()); }",
        "TZ0220",
        "",
    );
    refuses(
        "void f(std::vector<int> &v) { std::rotate(v.rbegin(), v.rbegin() + 1, v.rend()); }",
        "TZ0207",
        "",
    );
}
