//! Vectors that are the function's own, with a length that the caller's arrays have; and what is assigned to vectors.

use super::{lowers, refuses};

#[test]
fn a_vector_by_value_is_copied_where_it_changes() {
    lowers(
        "void f(std::vector<int> a, int *o) { a[1] = 2; o[0] = a[1]; }",
        "void f(const i32 *restrict a, i64 a_size, i32 *o) {
           local i32 a.2[];
           i64 k = 0;
           while (k < a_size) { a.2[k] = a[k]; k = k + 1; }
           a.2[1] = 2;
           o[0] = a.2[1];
         }",
    );
    lowers(
        "void f(std::vector<int> a, int *o) { o[0] = a[1]; }",
        "void f(const i32 *restrict a, i64 a_size, i32 *o) { o[0] = a[1]; }",
    );
}

#[test]
fn a_vector_is_made_of_a_range_as_long_as_it_is() {
    lowers(
        "void f(int *x, int n) { std::vector<int> a(x, x + n); x[0] = a[1]; }",
        "void f(i32 *x, i32 n) {
           local i32 a[];
           i64 n.2 = (i64)n;
           if (0:i64 > n.2) { trap; }
           i64 k = 0;
           while (k < n.2) { a[k] = x[k]; k = k + 1; }
           x[0] = a[1];
         }",
    );
}

#[test]
fn a_vector_is_what_a_function_returns() {
    lowers(
        "static std::vector<int> g(int n) { std::vector<int> v(n); v[0] = 3; return v; }
         void f(int *x, int n) { std::vector<int> a = g(n); x[0] = a[0]; }",
        "void f(i32 *x, i32 n) {
           local i32 a[];
           i64 a.size = 0;
           i32 n.2 = n;
           i64 n.3 = (i64)n.2;
           if (0:i64 > n.3) { trap; }
           a.size = n.3;
           i64 k = 0;
           while (k < n.3) { a[k] = 0; k = k + 1; }
           a[0] = 3;
           i64 n.4 = a.size;
           x[0] = a[0];
         }",
    );
}

#[test]
fn what_is_assigned_is_made_first() {
    let g = "static std::vector<int> g(const std::vector<int> &x) { std::vector<int> v(2); v[0] = x[1]; return v; }";
    // In its place where nothing looks at the old elements.
    lowers(
        &format!("{g} void f(std::vector<int> &a, const std::vector<int> &b) {{ a = g(b); }}"),
        "void f(i32 *a, i64 a_size, i64 *restrict a_resized, const i32 *b, i64 b_size) {
           i64 a.size = a_size;
           a.size = 2;
           i64 k = 0;
           while (k < 2) { a[k] = 0; k = k + 1; }
           a[0] = b[1];
           a_resized[0] = a.size;
         }",
    );
    lowers(
        &format!("{g} void f(std::vector<int> &a) {{ a = g(a); }}"),
        "void f(i32 *a, i64 a_size, i64 *restrict a_resized) {
           local i32 a.new[];
           i64 a.size = a_size;
           i64 a.size.2 = 2;
           i64 k = 0;
           while (k < 2) { a.new[k] = 0; k = k + 1; }
           a.new[0] = a[1];
           a.size = a.size.2;
           i64 n = a.size.2;
           i64 k.2 = 0;
           while (k.2 < n) { a[k.2] = a.new[k.2]; k.2 = k.2 + 1; }
           a_resized[0] = a.size;
         }",
    );
    lowers(
        "void f(std::array<int, 2> &a) { a = {a[1], a[0]}; }",
        "void f(i32 *a) {
           local i32 a.new[];
           a.new[0] = a[1];
           a.new[1] = a[0];
           i64 k = 0;
           while (k < 2) { a[k] = a.new[k]; k = k + 1; }
         }",
    );
}

#[test]
fn what_elements_are_set_to_is_computed_first() {
    lowers(
        "void f(std::vector<int> &a) { a.resize(3, (int)a.size()); }",
        "void f(i32 *a, i64 a_size, i64 *restrict a_resized) {
           i64 a.size = a_size;
           i32 value = (i32)(ui64)a.size;
           i64 old = a.size;
           a.size = 3;
           i64 k = 0;
           while (k < maximum(3:i64 - old, 0:i64)) { a[old + k] = value; k = k + 1; }
           a_resized[0] = a.size;
         }",
    );
    lowers(
        "void f(std::vector<int> &a) { a.assign({a[1], a[0]}); }",
        "void f(i32 *a, i64 a_size, i64 *restrict a_resized) {
           local i32 a.new[];
           i64 a.size = a_size;
           i64 a.size.2 = 0;
           a.new[a.size.2] = a[1];
           a.size.2 = a.size.2 + 1;
           a.new[a.size.2] = a[0];
           a.size.2 = a.size.2 + 1;
           a.size = a.size.2;
           i64 n = a.size.2;
           i64 k = 0;
           while (k < n) { a[k] = a.new[k]; k = k + 1; }
           a_resized[0] = a.size;
         }",
    );
}

#[test]
fn copies_of_other_kinds_are_refused() {
    for (source, code) in [
        ("int f(std::vector<int> a) { a.push_back(1); return a[0]; }", "TZ0230"),
        ("int f(std::array<int, 3> a) { a[0] = 1; return a[0]; }", "TZ0230"),
        ("int f(std::vector<int> a) { std::vector<int> b = a; auto h = [a]() { return a[0]; }; a[0] = 1; return h(); }", "TZ0230"),
        ("void f(const int *x, const int *y, int *o) { std::vector<int> a(x, y); o[0] = a[0]; }", "TZ0218"),
        (
            "static std::vector<std::vector<int>> g(int n) { std::vector<std::vector<int>> v(n, std::vector<int>(n)); return v; }
             int f(int n) { auto a = g(n); return a[0][0]; }",
            "TZ0214",
        ),
    ] {
        refuses(source, code, "");
    }
}

/// What a lambda has copied is not what becomes of it later, and is nothing that a lambda which it calls sees.
#[test]
fn copies_in_lambdas_that_are_not_made_are_refused() {
    for (source, code) in [
        (
            "struct M { int r; std::vector<int> d; };
             void f(int *y, int n) { M a{n, std::vector<int>(n)}; auto g = [=](int i) { return a.d[i]; }; a.d[0] = 1; y[0] = g(0); }",
            "TZ0224",
        ),
        (
            "struct M { int r; mutable std::vector<int> d; void bump() const { d[0] = 1; } };
             void f(int *y, int n) { const M a{n, std::vector<int>(n)}; auto g = [a](int i) { return a.d[i]; }; a.bump(); y[0] = g(0); }",
            "TZ0224",
        ),
        ("void f(const int *x, int *y) { auto g = [x](int i) { return x[i]; }; x++; y[0] = g(0); }", "TZ0224"),
        ("void f(std::vector<int> &v, int *y) { auto it = v.begin(); auto g = [it] { return *it; }; ++it; y[0] = g(); }", "TZ0224"),
        (
            "#include <immintrin.h>
             void f(const float *x, float *y) { __m128 a = _mm_loadu_ps(x); auto g = [a]() { return a; };
               a = _mm_add_ps(a, a); _mm_storeu_ps(y, g()); }",
            "TZ0224",
        ),
        (
            "void f(int z, int *y) { auto g = [&](int k) { return z + k; };
               auto h = [z, &g](int k) { return g(k) * 2 + z; }; z = 5; y[0] = h(1); }",
            "TZ0209",
        ),
        ("struct L { int d[3]; }; int f(L l, int k) { l.d[0] += k; return l.d[0]; }", "TZ0230"),
    ] {
        refuses(source, code, "");
    }
}

#[test]
fn elements_of_another_type_are_converted() {
    lowers(
        "void f(const float *x, int n, double *o) { std::vector<double> a(x, x + n); o[0] = a[0]; }",
        "void f(const f32 *x, i32 n, f64 *o) {
           local f64 a[];
           i64 n.2 = (i64)n;
           if (0:i64 > n.2) { trap; }
           i64 k = 0;
           while (k < n.2) { a[k] = (f64)x[k]; k = k + 1; }
           o[0] = a[0];
         }",
    );
}

#[test]
fn elements_start_as_copies_of_a_struct() {
    lowers(
        "struct P { int x, y; }; void f(int *o, int n) { std::vector<P> a(n, P{o[0], 2}); o[1] = a[0].y; }",
        "void f(i32 *o, i32 n) {
           local i32 a[];
           i64 n.2 = (i64)n;
           if (0:i64 > n.2) { trap; }
           i32 member = o[0];
           i32 value = member;
           i64 k = 0;
           while (k < n.2) { a[k * 2] = value; a[k * 2 + 1] = 2; k = k + 1; }
           o[1] = a[1];
         }",
    );
}

#[test]
fn copies_of_structs_of_numbers_are_made() {
    lowers(
        "struct P { float x, y; };
         void f(std::vector<P> &p) { const std::vector<P> old(p); p[0].x = old[1].y; }",
        "void f(f32 *p, i64 p_size) {
           local f32 old[];
           i64 k = 0;
           while (k < p_size * 2) { old[k] = p[k]; k = k + 1; }
           p[0] = old[3];
         }",
    );
    lowers(
        "void f(const std::vector<std::array<int, 2>> &p, int *o) { auto q = p; q[1][0] = 5; o[0] = q[1][0] + p[1][0]; }",
        "void f(const i32 *p, i64 p_size, i32 *o) {
           local i32 q[];
           i64 k = 0;
           while (k < p_size * 2) { q[k] = p[k]; k = k + 1; }
           q[2] = 5;
           o[0] = q[2] + p[2];
         }",
    );
    // Of several types: there is no flat array of these.
    refuses(
        "struct P { float x; int n; };
         void f(std::vector<P> &p) { const std::vector<P> old(p); p[0].n = old[1].n; }",
        "TZ0230",
        "is a copy, and one of the two is changed",
    );
}

#[test]
fn vectors_without_elements_get_their_length_when_they_are_assigned() {
    lowers(
        "static void g(std::vector<int> &v, int n) { v.assign(n, 3); }
         void f(int n, int *o) { std::vector<int> a; g(a, n); o[0] = a.size() + a[0]; }",
        "void f(i32 n, i32 *o) {
           local i32 a[];
           i64 a.size = 0;
           a.size = 0;
           i32 n.2 = n;
           i64 n.3 = (i64)n.2;
           if (0:i64 > n.3) { trap; }
           a.size = n.3;
           i64 k = 0;
           while (k < n.3) { a[k] = 3; k = k + 1; }
           o[0] = (i32)((ui64)a.size + (ui64)a[0]);
         }",
    );
    // One that has some keeps its length.
    refuses(
        "static void g(std::vector<int> &v, int n) { v.assign(n, 3); }
         void f(int n, int *o) { std::vector<int> a(2); g(a, n); o[0] = a[0]; }",
        "TZ0214",
        "may change here",
    );
}
