//! Objects: what their caller would see of them, how they are made and passed on.

use super::*;

#[test]
fn what_the_caller_would_see_of_its_objects_is_refused() {
    let image = "struct image { int w; std::vector<float> d; };";
    for (source, code, words) in [
        (
            "std::vector<float> f(image &m) { std::vector<float> t = std::move(m.d); return t; }",
            "TZ0230",
            "is emptied",
        ),
        (
            "std::vector<float> f(std::vector<float> &m) { return std::move(m); }",
            "TZ0230",
            "is emptied",
        ),
        (
            "void f(float *x, int n) { try { if (n < 1) throw 1; x[0] = n; } catch (int) { x[0] = 0; } }",
            "TZ0223",
            "exceptions",
        ),
        (
            "struct table { std::vector<std::vector<int>> rows; }; void f(table &t) { t.rows.push_back({1}); }",
            "TZ0230",
            "grows",
        ),
        (
            "struct pair { int n; float x; }; struct list { std::vector<pair> all; }; void f(list &l) { l.all.clear(); }",
            "TZ0230",
            "length",
        ),
        (
            "void f(image &m, image &o) { m.d = std::move(o.d); }",
            "TZ0230",
            "emptied",
        ),
        (
            "float f(image m) { return m.d[0]; }",
            "TZ0213",
            "more than its numbers is copied",
        ),
        (
            "void f(float *x, float *y, int c) { float &g = c ? *x : *y; y[1] = g; g = 2; }",
            "TZ0217",
            "is not known",
        ),
        (
            "void f(float *x, float *y) { const float &g = std::max(*x, *y); *x = 1; y[1] = g; }",
            "TZ0217",
            "is not known",
        ),
        (
            "struct own { float *p; ~own(); }; float f(own o) { return o.p[0]; }",
            "TZ0213",
            "more than its numbers is copied",
        ),
        (
            "struct b { int n; }; struct l : b {}; struct r : b {}; struct both : l, r { float *x; }; float f(both &d) { return d.x[d.l::n]; }",
            "TZ0213",
            "",
        ),
        (
            "class c { struct s { float x; }; s *p; public: float f(const float *y) { float s = 0; for (int i = 0; i < 4; i++) s += p->x * y[i]; return s; } };",
            "TZ0213",
            "private",
        ),
    ] {
        refuses(&format!("{image}\n{source}"), code, words);
    }
}

/// What C++ runs where an object is made without a word of it, or by half of one.
#[test]
fn first_values_that_are_more_than_zeros_are_refused() {
    let p = "struct p { int x = 1, y = 2; };";
    let made = "struct p { int x, y; p() : x(1), y(2) {} };";
    for (source, code) in [
        (
            format!("{p} int f(int n) {{ std::vector<p> v(n); return v[0].x; }}"),
            "TZ0227",
        ),
        (
            format!("{made} int f(int n) {{ std::vector<p> v(n); return v[0].x; }}"),
            "TZ0227",
        ),
        (
            format!(
                "{p} std::vector<p> f(int n) {{ std::vector<p> v; v.resize(n); for (int i = 0; i < n; i++) v[i].y = i; return v; }}"
            ),
            "TZ0207",
        ),
        (
            format!("{made} struct q {{ p in; int z; }}; int f() {{ q a{{}}; return a.in.x; }}"),
            "TZ0213",
        ),
        (
            format!("{made} struct q {{ int z; p in; }}; int f() {{ q a{{3}}; return a.in.x; }}"),
            "TZ0213",
        ),
        (
            format!(
                "{made} struct q {{ std::vector<int> d; p in; }}; int f() {{ q a{{std::vector<int>(3)}}; return a.in.x; }}"
            ),
            "TZ0213",
        ),
    ] {
        refuses(&source, code, "");
    }
    // A first value that is made of other members is made of those of the new object, not of the one that makes it.
    for (class, first) in [
        (
            "struct m { int x; int y = x + 1; m next() const { return m{5}; } };",
            "2, 3",
        ),
        (
            "struct m { int x; int y = x; std::vector<int> d; m next() const { return m{5}; } };",
            "2, 3",
        ),
        (
            "struct m { int x = 3; int y = x; std::vector<int> d; m next() const { m o; return o; } };",
            "7, 8",
        ),
    ] {
        refuses(
            &format!("{class} int f() {{ m a{{{first}}}; m b = a.next(); return b.y; }}"),
            "TZ0213",
            "",
        );
    }
    let moved = "struct m { int w; std::vector<int> d; };";
    refuses(
        &format!("{moved} m f(m &a) {{ m r = std::move(a); r.d[0] += 1; return r; }}"),
        "TZ0213",
        "",
    );
    refuses(
        "struct m { std::vector<int> d; m(int n, int v) : d(n, v) {} }; int f(int n, int c) { m a = c ? m(n, 1) : m(2 * n, 3); return a.d[0]; }",
        "TZ0213",
        "",
    );
}

#[test]
fn an_object_is_not_passed_as_nothing() {
    let body = "{ for (int i = 0; i < n; i++) x[i] = 1; }";
    for ty in [
        "std::function<void(int)> g",
        "const std::function<void(int)> &g",
    ] {
        refuses(
            &format!("void f({ty}, float *x, int n) {body}"),
            "TZ0213",
            "std::function",
        );
    }
    lowers(
        "void f(std::function<void(int)> *g, float *x) { x[0] = 1; }",
        "void f(f32 *x) { x[0] = 1.0; }",
    );
}
