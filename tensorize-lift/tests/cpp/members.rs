//! Members: of the object that a lambda captures, of objects that are const, and those that are returned by reference.

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
