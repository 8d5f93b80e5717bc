//! Parameters that become several.

use std::io::Write as _;
use tensorize_ir::loopir::Param;
use tensorize_lift::c::{Parsed, parse};

fn parsed(source: &str) -> Parsed {
    let mut file = tempfile::Builder::new().suffix(".c").tempfile().unwrap();
    file.write_all(source.as_bytes()).unwrap();
    let functions = parse(file.path(), &[]).unwrap();
    functions.into_iter().last().unwrap()
}

/// The source's parameters, and the prototype of what they become.
fn becomes(source: &str, described: &str, flat: &str) {
    let f = parsed(source);
    let function = f.lowered.unwrap_or_else(|p| panic!("{source}: {p:?}"));
    let signature = f.signature.unwrap();
    let of = signature.source.unwrap_or_else(|| panic!("{source}"));
    assert_eq!(of.to_string(), described, "{source}");
    let params: Vec<String> = signature
        .params
        .iter()
        .map(|p| format!("{} {}", p.c_type, p.name).replace("* ", "*"))
        .collect();
    assert_eq!(params.join(", "), flat, "{source}");
    let names: Vec<&str> = function.params.iter().map(|p| &**p.name()).collect();
    assert_eq!(of.flat(), names, "{source}");
}

#[test]
fn structs() {
    becomes(
        "typedef struct { int rows, cols; float **vals; int unused; } matrix;\n\
         void f(matrix *m, float s) { for (int i = 0; i < m->rows; i++) m->vals[i][0] *= s; }",
        "void f(matrix * m: *{ rows: m_rows, vals: rows of m_vals by m_vals_pitch }, float s: s)",
        "int32_t m_rows, float *m_vals, int64_t m_vals_pitch, float s",
    );
    // In the struct's order, not in that of use; a name that is taken is avoided.
    becomes(
        "struct v { int n; const double *restrict at; };\n\
         double f(int x_n, struct v x) { double s = x.at[x_n]; return s + x.n; }",
        "double f(int x_n: x_n, struct v x: { n: x_n_2, at: *x_at })",
        "int32_t x_n, int32_t x_n_2, const double *restrict x_at",
    );
    becomes(
        "struct in { const int *p; }; struct out { struct in a, *b; int n; };\n\
         static int get(const struct in *s, int i) { return s->p[i]; }\n\
         int f(const struct out *o) { const struct in *b = o->b; return get(&o->a, 1) + b->p[o->n]; }",
        "int f(const struct out * o: *{ a: { p: *o_a_p }, b: *{ p: *o_b_p }, n: o_n })",
        "const int32_t *o_a_p, const int32_t *o_b_p, int32_t o_n",
    );
    // What is assigned lies in memory, unless it is a copy.
    becomes(
        "struct s { float mean; int n; };\n\
         void f(struct s *p, struct s q) { q.n++; p->mean = q.n; }",
        "void f(struct s * p: *{ mean: p_mean[1] }, struct s q: { n: q_n })",
        "float *p_mean, int32_t q_n",
    );
    becomes(
        "struct m { float at[2][3]; };\nfloat f(const struct m *m, int i) { return m->at[1][i]; }",
        "float f(const struct m * m: *{ at: m_at[6] }, int i: i)",
        "const float *m_at, int32_t i",
    );
}

#[test]
fn tables_of_rows() {
    becomes(
        "void f(float *const *a, const float *const b[], int n) { float *r = a[n]; r[0] = b[n][1] + *b[0]; }",
        "void f(float *const * a: rows of a by a_pitch, const float *const * b: rows of b by b_pitch, int n: n)",
        "float *a, int64_t a_pitch, const float *b, int64_t b_pitch, int32_t n",
    );
}

#[test]
fn pointers_that_may_be_null() {
    becomes(
        "#include <stddef.h>\n\
         float f(const float *b, float **m, int n) { if (m == NULL) return 0; return b ? b[n] : m[n][n]; }",
        "float f(const float * b: *b if b_given, float ** m: rows of m by m_pitch if m_given, int n: n)",
        "const float *b, _Bool b_given, float *m, int64_t m_pitch, _Bool m_given, int32_t n",
    );
}

#[test]
fn ends() {
    becomes(
        "int f(const int *p, const int *end) { int s = 0; for (; p != end; ++p) s += *p; return s; }",
        "int f(const int * p: *p, const int * end: p + p_count)",
        "const int32_t *p, int64_t p_count",
    );
    becomes(
        "void f(float *a, float *b, float *c, float *d)\n\
         { float *q = b; while (a < c) *a++ = *q++ + *(d - 1); int n = d - q; a[0] = n; }",
        "void f(float * a: *a, float * b: *b, float * c: a + a_count, float * d: b + b_count)",
        "float *a, float *b, int64_t a_count, int64_t b_count",
    );
}

#[test]
fn numbers_behind_pointers() {
    becomes(
        "void f(const int *n, const float *by, const long dims[], float *x) {\n\
         for (long i = 0; i < *n + dims[2] * (dims)[1]; i++) x[i] *= *by; }",
        "void f(const int * n: numbers 0: n, const float * by: numbers 0: by, \
         const long * dims: numbers 1: dims_1, 2: dims_2, float * x: *x)",
        "int32_t n, float by, int64_t dims_1, int64_t dims_2, float *x",
    );
    // What is more than the value of a number stays an array, and so do numbers that nobody takes for sizes.
    for (uses, of) in [
        ("*p = 1;", "int"),
        ("(*p)++;", "int"),
        ("*p += *p;", "int"),
        ("int *q = &*p; *q = *p;", "int"),
        ("x[0] = p[x[1]] + *p;", "int"),
        ("x[0] = *p++;", "int"),
        ("x[0] = p[16];", "int"),
        ("change(p); x[0] = *p;", "int"),
        ("x[0] = p[0] + p[1];", "int"),
        ("for (int i = 0; i < p[1]; i++) x[i] = 0;", "float"),
    ] {
        let source = format!(
            "static void change({of} *p) {{ *p = 1; }}\nvoid f({of} *p, int *x) {{ change(p); }}\nvoid g({of} *p, int *x) {{ {uses} }}"
        );
        let params = parsed(&source).lowered.expect(uses).params;
        assert!(matches!(params[0], Param::Array { .. }), "{uses}");
    }
}

#[test]
fn what_is_not_used() {
    becomes(
        "struct s; float f(void *user, struct s *s, float x, int (*g)(int)) { return x; }",
        "float f(void * user: unused, struct s * s: unused, float x: x, int (*)(int) g: unused)",
        "float x",
    );
    // To say that nothing is done with it is to do nothing with it.
    becomes(
        "struct s { int n; double d; }; typedef void (*log_t)(char *);\n\
         int f(void *user, struct s *s, char **names, log_t log, int x) { (void)user; (void)(s); (void)log; return x; }",
        "int f(void * user: unused, struct s * s: unused, char ** names: unused, log_t log: unused, int x: x)",
        "int32_t x",
    );
    // A null pointer is the original's where the function asks, and where another parameter's type does.
    becomes(
        "struct s { int n; double d; }; int f(struct s *s, int x) { return s ? x : 0; }",
        "int f(struct s * s: *{ }, int x: x)",
        "int32_t x",
    );
    becomes(
        "struct s { int n; }; int f(struct s *s, int a[][s->n]) { return a[1][0]; }",
        "int f(struct s * s: *{ n: s_n }, int * a: *a)",
        "int32_t s_n, int32_t *a",
    );
}

#[test]
fn what_is_void_is_what_it_is_cast_to() {
    becomes(
        "double f(void *v, const void *w, int n, int m) { double (*a)[n][m] = (double (*)[n][m])v, (*b)[m] = (void *)a;\n\
         const float *x = w; return a[1][2][3] + b[1][1] + x[n]; }",
        "double f(void * v: *v, const void * w: *w, int n: n, int m: m)",
        "double *v, const float *w, int32_t n, int32_t m",
    );
}

#[test]
fn plain_parameters_need_no_description() {
    let f = parsed("float f(const float *x, int n, float a[2]) { return x[n] + a[1]; }");
    assert_eq!(f.signature.unwrap().source, None);
    becomes(
        "float f(int n, float a[n][2]) { return a[n][1]; }",
        "float f(int n: n, float * a: *a)",
        "int32_t n, float *a",
    );
}
