//! Objects: what their caller would see of them, how they are made and passed on.

use super::*;

/// What a function does before it returns a reference to an element is done, and changes nothing that is not its own.
#[test]
fn what_returns_an_element_may_look_at_its_arguments_first() {
    let looks = [
        ("check(i);", "if (!in) { trap; }"),
        ("if (!in(i)) throw 1;", "if (!in) { trap; }"),
        (
            "(static_cast<void>(0));",
            "i32 i = k; i64 at = (i64)i; r_d[at] = 3",
        ),
        ("i = i * 2 + 1;", "i = i * 2 + 1"),
        ("const int j = i + n; i = j;", "j.2 = i + r_n; i = j.2"),
        (
            "if (i < 0) { i = 0; } else if (i > 8) i = 8;",
            "if (i > 8) { i = 8; }",
        ),
    ];
    let changes = [
        "n++;",
        "seen = i;",
        "d[0] = i;",
        "static int j = 0; j = i;",
        "count();",
        "int j = n++;",
        "if (count()) i = 0;",
        "if (i < 0) return d[0];",
        "while (i > 7) i -= 8;",
        "int &j = n; j = i;",
        "given++;",
        "check(n++);",
        "check(given = 1);",
    ];
    let of = |(k, first): (usize, &str)| {
        format!(
            "struct row{k} {{ int n; std::vector<int> d; bool in(int i) const {{ return i >= 0 && i < n; }} \
             void check(int i) const {{ if (!in(i)) throw 1; }} bool count() {{ return n++ > 3; }} \
             int &at(int i, int &given) {{ {first} return d[i]; }} }}; \
             void f{k}(row{k} &r, int k, int j) {{ r.at(k, j) = 3; }}\n"
        )
    };
    let firsts = looks.iter().map(|(first, _)| *first).chain(changes);
    let source: String = firsts.enumerate().map(of).collect();
    let functions = parsed(&format!("int seen;\n{source}"));
    let kernels = functions.iter().filter(|f| f.name.starts_with('f'));
    let kernels: Vec<_> = kernels.map(|f| &f.lowered).collect();
    assert_eq!(kernels.len(), looks.len() + changes.len());
    for ((first, expected), lowered) in looks.iter().zip(&kernels) {
        let text = lowered.as_ref().expect(first).to_string();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(expected), "{first}: {text}");
    }
    for (first, lowered) in changes.iter().zip(&kernels[looks.len()..]) {
        match lowered {
            Ok(kernel) => panic!("{first}: {kernel}"),
            Err(p) => assert_eq!(p.code, "TZ0207", "{first}: {p:?}"),
        }
    }
}

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
            "struct owner { float *d; ~owner() { delete[] d; } }; float f(owner m) { return m.d[0]; }",
            "TZ0213",
            "more than numbers and vectors is copied",
        ),
        (
            "struct counted { std::vector<float> d; counted(const counted &o) : d(o.d.size()) {} }; float f(counted m) { return m.d[0]; }",
            "TZ0213",
            "more than numbers and vectors is copied",
        ),
        (
            "struct only { std::vector<float> d; only(const only &) = delete; only(only &&) = default; }; float f(only m) { return m.d[0]; }",
            "TZ0213",
            "more than numbers and vectors is copied",
        ),
        (
            "struct held { image i; ~held() { i.d[0] = 1; } }; struct outer { held h; }; float f(outer m) { return m.h.i.d[0]; }",
            "TZ0213",
            "more than numbers and vectors is copied",
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
            "more than numbers and vectors is copied",
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
