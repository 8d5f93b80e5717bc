//! Pointers to vectors, strings and `std::array`s.

use super::{lowers, refuses};

#[test]
fn what_a_pointer_points_to_is_the_object() {
    lowers(
        "void f(const std::vector<float> *x, std::vector<float> *y) {
           if (!y) return;
           std::vector<float> &out = *y;
           out.resize(x->size());
           for (std::size_t i = 0; i < x->size(); i++) y->at(i) = (*x)[i];
         }",
        "void f(const f32 *x, i64 x_size, f32 *y, i64 y_size, i64 *restrict y_resized) {
           i64 y.size = y_size;
           if (0) { y_resized[0] = y.size; return; }
           if (0:i64 > x_size) { trap; }
           i64 old = y.size;
           y.size = x_size;
           i64 k = 0;
           while (k < maximum(x_size - old, 0:i64)) { y[old + k] = 0.0; k = k + 1; }
           ui64 i = 0;
           while (i < (ui64)x_size) {
             if (!(0:i64 <= (i64)i && (i64)i < y.size)) { trap; }
             y[i] = x[i];
             i = i + 1;
           }
           y_resized[0] = y.size;
         }",
    );
    lowers(
        "static void g(std::vector<int> *v, int x) { auto *w = v; w->push_back(x); }
         void f(std::vector<int> *v) { g(v, 1); g(&*v, 2); }",
        "void f(i32 *v, i64 v_size, i64 *restrict v_resized) {
           i64 v.size = v_size;
           i32 x = 1;
           v[v.size] = x;
           v.size = v.size + 1;
           i32 x.2 = 2;
           v[v.size] = x.2;
           v.size = v.size + 1;
           v_resized[0] = v.size;
         }",
    );
}

#[test]
fn arrays_behind_pointers_are_rows() {
    lowers(
        "void f(const std::array<float, 3> *p, std::array<float, 2> *q) { (*q)[1] = p[4][2]; q->fill(p->at(0)); }",
        "void f(const f32 *p, f32 *q) {
           q[1] = p[14];
           f32 value = p[0];
           i64 k = 0;
           while (k < 2) { q[k] = value; k = k + 1; }
         }",
    );
}

#[test]
fn a_pointer_to_a_vector_points_to_one() {
    let vector = "typedef std::vector<float> V;";
    for (function, words) in [
        ("float f(const V *p) { return p[1][0]; }", "one object"),
        (
            "float f(const V *p) { return (p + 1)->at(0); }",
            "one object",
        ),
        (
            "float f(const V *p, const V *q) { return p == q ? 1 : p->at(0); }",
            "one object",
        ),
        (
            "float f(const V *p, const V *q, int n) { if (n) p = q; return (*p)[0]; }",
            "another one",
        ),
        (
            "float f(const V *p) { ++p; return (*p)[0]; }",
            "another one",
        ),
        (
            "void f(V *p, V *q) { std::swap(p, q); p->push_back(1); }",
            "another one",
        ),
        (
            "void g(V *&p); void f(V *p) { g(p); p->push_back(1); }",
            "another one",
        ),
        (
            "float f(V &a, V &b) { V *p = &a; p = &b; return p->at(0); }",
            "another one",
        ),
    ] {
        refuses(&format!("{vector} {function}"), "TZ0220", words);
    }
    refuses(
        &format!("{vector} float f(V *p) {{ V own = std::move(*p); return own[0] + (*p)[0]; }}"),
        "TZ0230",
        "moved from",
    );
    refuses(
        &format!("{vector} float f(V *p) {{ V own = std::move(*p); return own[0]; }}"),
        "TZ0230",
        "emptied here",
    );
    // Which comes first, nobody says.
    refuses(
        &format!(
            "{vector} static float g(V *p) {{ p->push_back(1); return 0; }}
             float f(V *p) {{ return g(p) + (*p)[0]; }}"
        ),
        "TZ0221",
        "order",
    );
    refuses(
        &format!("{vector} void f(V *p) {{ (*p)[p->size() - 1] = (p->push_back(1), 2); }}"),
        "TZ0221",
        "order",
    );
}
