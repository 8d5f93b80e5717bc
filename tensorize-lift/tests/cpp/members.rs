//! Members: of the object that a lambda captures, of objects that are const, those that change their lengths, and those that
//! are returned by reference.

use super::{lowers, refuses};

const CLASS: &str = "class C {
    public:
      void mapped(std::vector<float> &x) const;
      float number = 1;
      mutable float last = 0;
      mutable std::vector<float> kept;
      std::vector<float> out;
      float bump() const { last += 1; return last; }
      const std::vector<float> &made(float v) { out[0] = v; return out; }
    };";

fn lowers_member(source: &str, expected: &str) {
    lowers(&format!("{CLASS}{source}"), expected);
}

fn refuses_member(source: &str, code: &str, words: &str) {
    refuses(&format!("{CLASS}{source}"), code, words);
}

#[test]
fn a_lambda_may_capture_its_object() {
    lowers_member(
        "void C::mapped(std::vector<float> &x) const {
           std::for_each(x.begin(), x.end(), [this](float &v) { v *= number; });
         }",
        "void C_mapped(f32 this_number, f32 *x, i64 x_size) {
           i64 k = 0;
           while (k < x_size) { i64 at = k; x[at] = x[at] * this_number; k = k + 1; }
         }",
    );
    // A copy of the object, which keeps what it is changed to.
    refuses_member(
        "void C::mapped(std::vector<float> &x) const {
           std::for_each(x.begin(), x.end(), [*this](float &v) { v *= number; });
         }",
        "TZ0224",
        "capture",
    );
}

#[test]
fn mutable_members_change_where_their_object_is_const() {
    lowers_member(
        "float f(const C &c, float v) { c.last = v; return c.number; }",
        "f32 f(f32 c_number, f32 *c_last, f32 v) { c_last[0] = v; return c_number; }",
    );
    // Others don't.
    refuses_member(
        "void f(const C &c, float v) { const_cast<C &>(c).number = v; }",
        "TZ0213",
        "",
    );
    // Which comes first, nobody says.
    refuses_member(
        "float f(const C &c) { return c.bump() + c.bump(); }",
        "TZ0221",
        "order",
    );
    // The object that is referred to goes on with what it has counted.
    refuses(
        "struct Count { mutable int n = 0; void operator()(int v) const { n += v; } };
         int f(const std::vector<int> &x) {
           Count c;
           std::for_each(x.begin(), x.end(), std::ref(c));
           return c.n;
         }",
        "TZ0209",
        "keeps a state",
    );
}

#[test]
fn a_reference_to_a_member_is_the_member() {
    lowers_member(
        "float &f(C &c) { c.number += 1; return c.number; }",
        "void f(f32 *c_number) { c_number[0] = c_number[0] + 1.0; return; }",
    );
    lowers_member(
        "void f(C &c, float *o) { const auto &y = c.made(2); o[0] = y[1]; }",
        "void f(f32 *c_out, i64 c_out_size, f32 *o) {
           f32 v = 2.0;
           c_out[0] = v;
           o[0] = c_out[1];
         }",
    );
    // Of one or the other.
    refuses_member(
        "float &f(C &c) { if (c.last > 0) return c.last; return c.number; }",
        "TZ0217",
        "returns a reference",
    );
    // Elements may be gone when the vector has grown.
    refuses_member(
        "float &f(C &c) { c.out.push_back(1); return c.out.back(); }",
        "TZ0217",
        "returns a reference",
    );
    // A number that is converted, and gone.
    refuses_member(
        "const double &g(const C &c) { return c.number; }",
        "TZ0217",
        "returns a reference",
    );
    refuses_member(
        "const float &g(const C *c, const C *d) { c = d; return c->number; }",
        "TZ0220",
        "that it changes",
    );
    refuses_member(
        "float f(C &c) { return c.made(1)[0] + c.made(2)[0]; }",
        "TZ0221",
        "order",
    );
    // Another name, of which nobody knows that it is one.
    refuses_member(
        "static float &g(C &c) { c.last += 1; return c.number; }
         void f(C &c) { float &n = g(c); n = 2; }",
        "TZ0217",
        "",
    );
}

const PARTS: &str = "struct part { std::vector<float> out; int k; int &count() { return k; } };
    struct whole { part p; part &inner() { return p; } const part &seen() const { return p; } };
    static part &pick(whole &w) { return w.p; }
    static part &same(part &p) { return p; }
    static float after(const part &q, whole &w) { w.p.k = 2; return q.k; }
    struct view { std::span<float> s; int k; };";

/// A struct that a reference stands for is no copy.
#[test]
fn structs_by_reference_are_the_ones_that_they_are() {
    for function in [
        "void f(whole &w, float *x) { w.inner().k = 2; x[0] = w.p.k; }",
        "void f(whole &w, float *x) { pick(w).k = 2; x[0] = w.seen().k; }",
        "void f(whole &w, float *x) { same(w.p).k = 2; x[0] = w.p.k; }",
        "void f(whole &w, float *x) { const part &q = w.seen(); w.p.k = 2; x[0] = q.k; }",
        "void f(whole &w, float *x) { x[0] = after(w.seen(), w); }",
        "void f(whole &w, float *x) { auto g = [&](const part &q) { w.p.k = 2; return q.k; }; x[0] = g(w.inner()); }",
    ] {
        let functions = super::parsed(&format!("{PARTS}\n{function}"));
        let kernel = functions.last().unwrap().lowered.as_ref();
        let text = kernel
            .unwrap_or_else(|p| panic!("{function}: {p:?}"))
            .to_string();
        let (set, read) = (text.find("w_p_k[0] = 2"), text.rfind("w_p_k[0]"));
        assert!(set.is_some() && set < read, "{function}\n{text}");
    }
}

/// An object outside of the function is not assigned by halves; and a number that a reference stands for is not its own.
#[test]
fn what_changes_by_references_to_structs_is_refused() {
    for function in [
        "void f(whole &w, float *x) { w.inner().count() = 4; x[0] = 1; }",
        "void f(whole &w, float *x) { pick(w).count() += 8; x[0] = 1; }",
        "void f(whole &w, const whole &o) { w.p.out.clear(); if (o.p.k) w = o; w.p.k = 1; part q; if (w.p.k) q = o.p; w.p.k = q.out.size(); }",
        "void f(view &v, const view &o, float *x) { x[0] = 1; v.k = 3; v = o; }",
        "void f(const part &p, int c, float *x) { part q; if (c) q = p; x[0] = q.out.size(); }",
    ] {
        refuses(&format!("{PARTS}\n{function}"), "TZ0213", "");
    }
}

/// Of the caller's objects that are assigned, those that something has looked at keep their sizes.
#[test]
fn objects_of_the_caller_are_assigned() {
    let matrix = "struct matrix { int n; double scale; std::vector<float> d; matrix half() const; };
        matrix matrix::half() const { return matrix{n, scale / 2, d}; }
        struct two { matrix a, b; void both(const matrix &m); void keep(const matrix &m) { b = m; } };";
    lowers(
        &format!("{matrix}\nvoid f(matrix &m, const matrix &o, float *x) {{ x[0] = 1; m = o; }}"),
        "void f(i32 *m_n, f64 *m_scale, f32 *m_d, i64 m_d_size, i64 *restrict m_d_resized, i32 o_n, f64 o_scale, const f32 *o_d, i64 o_d_size, f32 *x) {
           i64 m_d.size = m_d_size;
           x[0] = 1.0;
           m_n[0] = o_n;
           m_scale[0] = o_scale;
           m_d.size = o_d_size;
           i64 k = 0;
           while (k < o_d_size) { m_d[k] = o_d[k]; k = k + 1; }
           m_d_resized[0] = m_d.size;
         }",
    );
    lowers(
        &format!("{matrix}\nvoid f(matrix &m) {{ m = m.half(); }}"),
        "void f(i32 m_n, f64 *m_scale, f32 *m_d, i64 m_d_size) {
           local f32 d[];
           i32 object.n = m_n;
           f64 object.scale = m_scale[0] / 2.0;
           if (0:i64 > m_d_size) { trap; }
           i64 k = 0;
           while (k < m_d_size) { d[k] = m_d[k]; k = k + 1; }
           if (m_n != object.n) { trap; }
           m_scale[0] = object.scale;
           i64 k.2 = 0;
           while (k.2 < m_d_size) { m_d[k.2] = d[k.2]; k.2 = k.2 + 1; }
         }",
    );
    lowers(
        &format!("{matrix}\nvoid two::both(const matrix &m) {{ keep(m); for (int i = 0; i < a.n; i++) b.d[i] += a.d[i]; }}"),
        "void two_both(i32 this_a_n, f32 *this_a_d, i64 this_a_d_size, i32 *this_b_n, f64 *this_b_scale, f32 *this_b_d, i64 this_b_d_size, i64 *restrict this_b_d_resized, i32 m_n, f64 m_scale, const f32 *m_d, i64 m_d_size) {
           i64 this_b_d.size = this_b_d_size;
           this_b_n[0] = m_n;
           this_b_scale[0] = m_scale;
           this_b_d.size = m_d_size;
           i64 k = 0;
           while (k < m_d_size) { this_b_d[k] = m_d[k]; k = k + 1; }
           i32 i = 0;
           while (i < this_a_n) { this_b_d[i] = this_b_d[i] + this_a_d[i]; i = i + 1; }
           this_b_d_resized[0] = this_b_d.size;
         }",
    );
}

/// What is done on the way to a member is done once.
#[test]
fn calls_that_return_objects_run_once() {
    let line = "struct line { int n; std::vector<float> d; std::span<float> v; line &add() { n += 1; return *this; } };
        static line &more(line &a) { a.n += 1; return a; }";
    for (function, read) in [
        (
            "float f(line &a) { return a.add().d[1]; }",
            "f32 *a_d, i64 a_d_size) { a_n[0] = a_n[0] + 1; return a_d[1]; }",
        ),
        (
            "float f(line &a) { return more(a).v[1]; }",
            "f32 *a_v, i64 a_v_size) { a_n[0] = a_n[0] + 1; return a_v[1]; }",
        ),
        (
            "float f(line &a) { std::span<float> s(a.add().d); return s[1]; }",
            "f32 *a_d, i64 a_d_size) { a_n[0] = a_n[0] + 1; return a_d[1]; }",
        ),
        (
            "int f(line &a) { return a.add().d.size(); }",
            "f32 *a_d, i64 a_d_size) { a_n[0] = a_n[0] + 1; return (i32)(ui64)a_d_size; }",
        ),
    ] {
        let returned = if function.starts_with("int") {
            "i32"
        } else {
            "f32"
        };
        lowers(
            &format!("{line}\n{function}"),
            &format!("{returned} f(i32 *a_n, {read}"),
        );
    }
}

/// A number that changes is known by where it lies: that of another object, which does not, stays a size.
#[test]
fn numbers_of_one_object_change_and_those_of_another_do_not() {
    let net = "struct layer { int n; std::vector<float> d; void set(int k) { n = k; } int size() const { return n; } };
        struct net { layer in, out; void run(float *x); };
        static void widen(layer &l) { l.n *= 2; }";
    lowers(
        &format!(
            "{net}\nvoid net::run(float *x) {{ for (int i = 0; i < in.size(); i++) x[i] = 1; out.set(in.n); x[0] = out.size() + in.n; }}"
        ),
        "void net_run(i32 this_in_n, i32 *this_out_n, f32 *x) {
           i32 i = 0;
           while (i < this_in_n) { x[i] = 1.0; i = i + 1; }
           i32 k = this_in_n;
           this_out_n[0] = k;
           i32 size.2 = this_out_n[0];
           x[0] = (f32)(size.2 + this_in_n);
         }",
    );
    lowers(
        &format!("{net}\nvoid f(layer &a, layer &b, float *x) {{ widen(b); x[0] = a.n; }}"),
        "void f(i32 a_n, i32 *b_n, f32 *x) { b_n[0] = b_n[0] * 2; x[0] = (f32)a_n; }",
    );
}

/// Whichever way a member that changes its length is reached, what it becomes is said however the function ends.
#[test]
fn members_that_are_vectors_change_their_lengths() {
    let signal = "struct signal { int n; std::vector<float> d; void add() { d.push_back(2); } };
        struct both { signal left, right; };
        static void put(std::vector<float> &to) { to.push_back(2); }
        static void put_in(both &to) { put(to.right.d); }";
    for function in [
        "void f(both &b) { if (b.left.n < 0) return; b.right.d.push_back(2); }",
        "void f(both *b) { if (b->left.n < 0) return; auto &to = b->right; to.d.push_back(2); }",
        "void f(both &b) { if (b.left.n < 0) return; auto &to = b.right.d; to.push_back(2); }",
        "void f(both &b) { if (b.left.n < 0) return; b.right.add(); }",
        "void f(both &b) { if (b.left.n < 0) return; put(b.right.d); }",
        "void f(both &b) { if (b.left.n < 0) return; put_in(b); }",
        "void f(both &b) { auto add = [&] { b.right.d.push_back(2); }; if (b.left.n < 0) return; add(); }",
    ] {
        lowers(
            &format!("{signal}\n{function}"),
            "void f(i32 b_left_n, f32 *b_right_d, i64 b_right_d_size, i64 *restrict b_right_d_resized) {
               i64 b_right_d.size = b_right_d_size;
               if (b_left_n < 0) { b_right_d_resized[0] = b_right_d.size; return; }
               b_right_d[b_right_d.size] = 2.0;
               b_right_d.size = b_right_d.size + 1;
               b_right_d_resized[0] = b_right_d.size;
             }",
        );
    }
    let method = "class line { std::vector<float> d; void put() { this->d.push_back(2); } public: void run(float *x, int n); }; void line::run(float *x, int n) { for (int i = 0; i < n; i++) x[i] = 1; put(); }";
    lowers(
        method,
        "void line_run(f32 *this_d, i64 this_d_size, i64 *restrict this_d_resized, f32 *x, i32 n) {
           i64 this_d.size = this_d_size;
           i32 i = 0;
           while (i < n) { x[i] = 1.0; i = i + 1; }
           this_d[this_d.size] = 2.0;
           this_d.size = this_d.size + 1;
           this_d_resized[0] = this_d.size;
         }",
    );
}

/// What calls do to what is their own is no effect; what they do to anything else has no order in an expression.
#[test]
fn calls_in_one_expression_change_nothing_but_their_own() {
    let calls = "static std::vector<int> log_;
        struct view { std::vector<int> *of; };
        static int own(const std::vector<int> &v) { std::vector<int> t(v); for (auto &x : t) x += 1; t[0] = t[0] * 2; return t[0]; }
        static int given(std::vector<int> &v) { for (auto &x : v) x += 1; return v[0]; }
        static int named(std::vector<int> &v) { auto &t = v; t[0] += 1; return t[0]; }
        static int lasting(const std::vector<int> &v) { for (auto &x : log_) x += 1; return log_[0] + v[0]; }
        static int counted(const std::vector<int> &v) { static int n[2]; for (auto &x : n) x += 1; return n[0] + v[0]; }
        static int behind(view v) { for (auto &x : *v.of) x += 1; return (*v.of)[0]; }";
    let function =
        |call: &str| format!("{calls}\nint f(std::vector<int> &v) {{ return {call} + {call}; }}");
    let found = super::parsed(&function("own(v)"));
    assert!(found.last().unwrap().lowered.is_ok(), "{found:?}");
    for call in [
        "given(v)",
        "named(v)",
        "lasting(v)",
        "counted(v)",
        "behind(view{&v})",
    ] {
        refuses(&function(call), "TZ0221", "");
    }
}
