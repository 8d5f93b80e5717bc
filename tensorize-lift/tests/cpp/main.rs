//! C++ on the left, LoopIR on the right; and what is refused.

mod algorithms;
mod copies;
mod members;
mod objects;
mod pointed;
mod strings;

#[path = "../common/mod.rs"]
mod common;

use tensorize_ir::signature::{Language, Shape};
use tensorize_lift::c::Parsed;

fn parsed(source: &str) -> Vec<Parsed> {
    let headers = "#include <algorithm>\n#include <array>\n#include <cmath>\n#include <cstddef>\n\
        #include <cstdint>\n#include <functional>\n#include <numeric>\n#include <span>\n#include <vector>\n";
    common::parsed("kernel.cpp", &format!("{headers}{source}"), &[])
}

/// The last function of `source` is lowered to this text, loop numbers and lines left aside.
fn lowers(source: &str, expected: &str) {
    let functions = parsed(source);
    let kernel = functions.last().unwrap().lowered.as_ref();
    let kernel = kernel.unwrap_or_else(|p| panic!("{source}: {p:?}"));
    let text = kernel.to_string();
    let words = |s: &str| -> Vec<String> {
        s.split_whitespace()
            .filter(|w| !w.starts_with(['#', '@']))
            .map(String::from)
            .collect()
    };
    assert_eq!(words(&text), words(expected), "{source}\n{text}");
}

/// The last function of `source` is refused with this code, in words that contain these.
fn refuses(source: &str, code: &str, words: &str) {
    let functions = parsed(source);
    match &functions.last().unwrap().lowered {
        Ok(kernel) => panic!("{source}:\n{kernel}"),
        Err(p) => {
            assert_eq!(p.code, code, "{source}: {p:?}");
            assert!(p.message.contains(words), "{source}: {p:?}");
            assert!(p.span.is_some() && p.help.is_some(), "{source}: {p:?}");
        }
    }
}

#[test]
fn a_vector_is_an_array_and_a_size() {
    lowers(
        "void f(std::vector<float> &a, const float &s) { for (std::size_t i = 0; i < a.size(); ++i) a[i] *= s; }",
        "void f(f32 *a, i64 a_size, f32 s) {
           ui64 i = 0;
           while (i < (ui64)a_size) { a[i] = a[i] * s; i = i + 1; }
         }",
    );
}

#[test]
fn a_reference_to_an_array_is_the_array() {
    lowers(
        "static void g(float (&t)[2]) { t[1] = *t; }
         void f(float (&m)[3][2]) { g(m[2]); }",
        "void f(f32 *m) { m[5] = m[4]; }",
    );
    lowers(
        "struct P { float x, y; }; void f(P (&p)[3]) { p[2].y = p[1].x; }",
        "void f(f32 *p) { p[5] = p[2]; }",
    );
}

#[test]
fn names_for_parts_are_copies_or_references() {
    lowers(
        "struct P { float x, y; };
         void f(P *p, float *o) { auto [x, y] = p[0]; x = 1; o[0] = x + y; }",
        "void f(f32 *p, f32 *o) {
           f32 parts.x = p[0];
           f32 parts.y = p[1];
           parts.x = 1.0;
           o[0] = parts.x + parts.y;
         }",
    );
    lowers(
        "struct P { float x, y; };
         void f(P *p, float *o) { auto &[x, y] = p[0]; x = 1; o[0] = x + y; }",
        "void f(f32 *p, f32 *o) { p[0] = 1.0; o[0] = p[0] + p[1]; }",
    );
    // A copy of an array of C is not made.
    refuses(
        "void f(float *o) { float t[2] = {1, 2}; auto [x, y] = t; o[0] = x + y; }",
        "TZ0213",
        "takes apart",
    );
}

#[test]
fn a_returned_vector_is_an_output_and_its_length() {
    lowers(
        "std::vector<int> f(const std::vector<int> &a) { std::vector<int> r; for (int x : a) r.push_back(x + 1); return r; }",
        "void f(const i32 *a, i64 a_size, i32 *restrict r, i64 *restrict r_resized) {
           i64 r.size = 0;
           r.size = 0;
           i64 k = 0;
           while (k < a_size) {
             i32 x = a[k];
             r[r.size] = x + 1;
             r.size = r.size + 1;
             k = k + 1;
           }
           r_resized[0] = r.size;
           return;
         }",
    );
}

#[test]
fn signatures_say_what_became_of_parameters() {
    let functions = parsed(
        "namespace n {
           template <typename T> T dot(std::span<const T> a, const std::vector<std::vector<T>> &b, std::array<T, 3> c) { return a[0] + b[0][0] + c[0]; }
           template float dot<float>(std::span<const float>, const std::vector<std::vector<float>> &, std::array<float, 3>);
         }
         extern \"C\" void plain(float *x, int n) { x[n] = 0; }",
    );
    assert_eq!(functions.len(), 2);
    let plain = functions.iter().find(|f| f.name == "plain").unwrap();
    assert!(plain.signature.as_ref().unwrap().source.is_none());
    let dot = functions.iter().find(|f| f.name == "dot").unwrap();
    assert!(dot.lowered.is_ok(), "{:?}", dot.lowered);
    let source = dot.signature.as_ref().unwrap().source.as_ref().unwrap();
    assert_eq!(source.language, Language::Cpp);
    assert_eq!(source.call, "n::dot<float>");
    assert!(
        source.symbol.starts_with("_ZN1n3dotIfE"),
        "{}",
        source.symbol
    );
    assert_eq!(
        source.flat(),
        ["a", "a_size", "b", "b_rows", "b_pitch", "c"]
    );
    assert!(matches!(
        &source.params[2].shape,
        Shape::Place { len: 3, .. }
    ));
    assert_eq!(source.params[0].ty, "std::span<const float>");
}

#[test]
fn overloads_get_names_of_their_own() {
    let functions = parsed(
        "void f(float *x) { *x = 1; } void f(double *x) { *x = 1; } void g(int *x) { *x = 1; }",
    );
    let names: Vec<&str> = functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["f_float", "f_double", "g"]);
}

#[test]
fn captures_are_copies_where_they_are_made() {
    // By value, `k` is what it was; by reference, what it is.
    let text = |capture: &str| {
        let source = format!(
            "void f(std::span<float> a, float k) {{ auto g = [{capture}](float x) {{ return x * k; }}; k = 0; for (auto &x : a) x = g(x); }}"
        );
        parsed(&source)
            .last()
            .unwrap()
            .lowered
            .as_ref()
            .unwrap()
            .to_string()
    };
    assert!(text("k").contains("copy = k"), "{}", text("k"));
    assert!(text("=").contains("copy = k"));
    assert!(!text("&").contains("copy") && !text("&k").contains("copy"));
}

#[test]
fn copies_that_would_have_to_be_made_are_refused() {
    refuses(
        "void f(std::vector<std::vector<float>> &m) { for (auto row : m) for (auto &x : row) x = 0; }",
        "TZ0230",
        "'row' is a copy",
    );
    refuses(
        "void f(std::vector<int> &v) { auto g = [v](int i) { return v[i]; }; for (int i = 0; i < 3; ++i) v[i] = g(0); }",
        "TZ0230",
        "'v' is a copy",
    );
}

#[test]
fn local_vectors_of_any_length() {
    lowers(
        "void f(std::vector<int> &v) { const auto old = v; for (std::size_t i = 1; i < v.size(); ++i) v[i] = old[i - 1]; }",
        "void f(i32 *v, i64 v_size) {
           local i32 old[];
           i64 k = 0;
           while (k < v_size) { old[k] = v[k]; k = k + 1; }
           ui64 i = 1;
           while (i < (ui64)v_size) { v[i] = old[i - 1]; i = i + 1; }
         }",
    );
}

#[test]
fn rows_of_different_lengths_are_refused() {
    refuses(
        "std::vector<std::vector<int>> f(int n) { std::vector<std::vector<int>> r; for (int i = 0; i < n; i++) {
           std::vector<int> row; for (int j = 0; j < i; j++) row.push_back(j); r.push_back(row); } return r; }",
        "TZ0230",
        "all rows have the same length",
    );
    refuses(
        "std::vector<std::vector<int>> f(const std::vector<int> &v) { std::vector<std::vector<int>> r; for (int x : v) {
           std::vector<int> row; for (int y : v) if (y < x) row.push_back(y); r.push_back(row); } return r; }",
        "TZ0230",
        "all rows have the same length",
    );
}

#[test]
fn rows_without_a_length_have_none_to_ask_for() {
    for body in [
        "for (int i = 0; i < n; i++) r[i][0] = r[i].size();",
        "for (int i = 0; i < n; i++) { r[i].resize(2); r[i][0] = r[0].size(); }",
        "for (int i = 0; i < n; i++) { r[i].resize(2); i++; }",
        "for (int i = 0; i < n; i++) { r[i].resize(2); r[n - 1 - i].resize(2); }",
        "for (int i = 0; i < n; i++) { if (i == 3) break; r[i].resize(2); }",
    ] {
        refuses(
            &format!(
                "std::vector<std::vector<int>> f(int n) {{ std::vector<std::vector<int>> r(n); {body} return r; }}"
            ),
            "TZ0230",
            "may have no length",
        );
    }
}

#[test]
fn an_index_of_at_has_to_be_in_range() {
    lowers(
        "void f(std::vector<float> &v) { for (std::size_t i = 0; i < v.size(); i++) v.at(i) = 1; }",
        "void f(f32 *v, i64 v_size) {
           ui64 i = 0;
           while (i < (ui64)v_size) { v[i] = 1.0; i = i + 1; }
         }",
    );
    // The prover's business, or a guard's.
    lowers(
        "void f(std::vector<float> &v, int k) { v.at(k) = 1; }",
        "void f(f32 *v, i64 v_size, i32 k) {
           if (!(0:i64 <= (i64)k && (i64)k < v_size)) { trap; }
           v[k] = 1.0;
         }",
    );
}

#[test]
fn what_is_not_supported_says_so() {
    for (source, code, words) in [
        (
            "template <class T> struct raw : std::allocator<T> { template <class U> struct rebind { using other = raw<U>; }; \
             template <class U> void construct(U *p) { ::new (static_cast<void *>(p)) U; } };\n\
             void f(std::vector<int, raw<int>> &v, int n) { v.resize(n); }",
            "TZ0217",
            "allocator of its own",
        ),
        (
            "void f(std::vector<bool> &v) { v[0] = true; }",
            "TZ0217",
            "std::vector<bool>",
        ),
        (
            "int f(const std::vector<int> &v) { std::vector<std::vector<int>> t; for (int x : v) t.push_back({x}); return t[0][0]; }",
            "TZ0214",
            "'t' is a temporary",
        ),
        (
            "int f(const std::vector<int> &v) { try { return v[0]; } catch (...) { return 1; } }",
            "TZ0223",
            "",
        ),
        (
            "int f(std::vector<int> &v) { std::sort(v.begin(), v.end()); return v[0]; }",
            "TZ0207",
            "sort",
        ),
        (
            "void f(std::span<int> v) { int n = 0; std::for_each(v.begin(), v.end(), [n](int &x) mutable { x = n++; }); }",
            "TZ0209",
            "mutable",
        ),
        (
            "void f(std::span<int> v, const std::function<int(int)> &g) { for (int &x : v) x = g(x); }",
            "TZ0213",
            "function",
        ),
        (
            "int *f(std::vector<int> &v) { return v.data(); }",
            "TZ0220",
            "",
        ),
        (
            "void f(std::vector<int> &v) { v.erase(v.begin()); }",
            "",
            "erase",
        ),
    ] {
        let functions = parsed(source);
        let p = functions
            .last()
            .unwrap()
            .lowered
            .as_ref()
            .expect_err(source);
        assert!(p.message.contains(words), "{source}: {p:?}");
        assert!(code.is_empty() || p.code == code, "{source}: {p:?}");
    }
}

#[test]
fn a_function_object_with_a_type_converts_to_it() {
    let cases = [
        (
            "float",
            "float",
            "plus<int>",
            "(f32)((i32)a[k] + (i32)b[k])",
        ),
        (
            "unsigned char",
            "int",
            "plus<unsigned char>",
            "(i32)(ui8)((i32)a[k] + (i32)b[k])",
        ),
        ("unsigned char", "int", "plus<>", "(i32)a[k] + (i32)b[k]"),
        ("float", "int", "less<int>", "(i32)((i32)a[k] < (i32)b[k])"),
    ];
    for (from, to, functor, expected) in cases {
        let source = format!(
            "void f(const {from} *a, const {from} *b, {to} *o, int n) {{ std::transform(a, a + n, b, o, std::{functor}()); }}"
        );
        let functions = parsed(&source);
        let kernel = functions.last().unwrap().lowered.as_ref().unwrap();
        let text = kernel.to_string();
        assert!(
            text.contains(&format!("o[k] = {expected};")),
            "{source}\n{text}"
        );
    }
}

/// What a helper does to a pointer of its caller's, or an algorithm to an object, the caller sees.
#[test]
fn what_is_passed_by_reference_is_the_callers() {
    let head = "struct acc { int s = 0; void operator()(int x) { s += x; } };\n\
        static int next(const int *&p) { return *p++; }\n\
        template <class It> static void skip(It &p) { ++p; }\n\
        static void skip_two(std::vector<int>::const_iterator &p) { skip(p); skip(p); }";
    for (source, code, words) in [
        (
            "int f(const int *p) { int a = next(p); return a - *p; }",
            "TZ0220",
            "the caller's pointer",
        ),
        (
            "int f(const std::vector<int> &v) { auto it = v.begin(); skip(it); return *it; }",
            "TZ0220",
            "the caller's pointer",
        ),
        (
            "int f(const std::vector<int> &v) { auto it = v.begin(); skip_two(it); return *it; }",
            "TZ0220",
            "the caller's pointer",
        ),
        (
            "int f(const std::vector<int> &v) { auto it = v.begin(); auto g = [](auto &p) { ++p; }; g(it); return *it; }",
            "TZ0220",
            "the caller's pointer",
        ),
        (
            "int f(const std::vector<int> &v) { auto it = std::minmax_element(v.begin(), v.end()); skip(it.first); return *it.first; }",
            "TZ0220",
            "the caller's pointer",
        ),
        (
            "int f(const std::vector<int> &v) { acc a; std::for_each(v.begin(), v.end(), std::ref(a)); return a.s; }",
            "TZ0209",
            "keeps a state",
        ),
        (
            "int f(const std::vector<int> &v) { acc a; std::ranges::for_each(v, std::ref(a)); return a.s; }",
            "TZ0209",
            "keeps a state",
        ),
    ] {
        refuses(&format!("{head}\n{source}"), code, words);
    }
    // One that nobody changes may be passed like this.
    lowers(
        "static int at(const int *&p, int i) { return p[i]; } int f(const int *p) { return at(p, 2); }",
        "i32 f(const i32 *p) { i64 p.2 = 0; i64 p.3 = p.2; i32 i = 2; i32 at = p[p.3 + (i64)i]; return at; }",
    );
}

#[test]
fn a_member_function_has_its_object_for_a_parameter() {
    lowers(
        "class gain { float g; public: void run(float *x, int n) const; }; void gain::run(float *x, int n) const { for (int i = 0; i < n; i++) x[i] *= g; }",
        "void gain_run(f32 this_g, f32 *x, i32 n) {
           i32 i = 0;
           while (i < n) { x[i] = x[i] * this_g; i = i + 1; }
         }",
    );
}

/// One branch of `?:` does not see what the other does to a pointer, and after it the pointer is in either place.
#[test]
fn branches_start_from_the_same_pointers() {
    let reads_both = |source: &str| {
        let functions = parsed(source);
        let kernel = functions.last().unwrap().lowered.as_ref();
        let text = kernel
            .unwrap_or_else(|p| panic!("{source}: {p:?}"))
            .to_string();
        let right = text.contains("b[p]") && text.contains("a[p + 1]");
        assert!(right && !text.contains("b[p + 1]"), "{source}\n{text}");
    };
    let kernel = |chosen: &str, after: &str| {
        format!(
            "struct P {{ int x, y; }}; struct M {{ int x; std::array<int, 2> v; }};
             int f(const int *a, const int *b, int n) {{ const int *p = a; {chosen} return r.x + {after}; }}"
        )
    };
    for choice in [
        "P r = n > 3 ? P{*(p = b), 1} : P{p[1], 2};",
        "M r = n > 3 ? M{*(p = b), {1, 2}} : M{p[1], {3, 4}};",
    ] {
        reads_both(&kernel(choice, "n"));
        refuses(&kernel(choice, "p[0]"), "TZ0218", "several arrays");
    }
    reads_both(
        "std::vector<int> f(const int *a, const int *b, int n) { const int *p = a;
         return n > 3 ? std::vector<int>(2, *(p = b)) : std::vector<int>(2, p[1]); }",
    );
}
