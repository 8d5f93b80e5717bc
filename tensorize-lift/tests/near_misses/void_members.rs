//! Near what lies behind a member that is a `void *`.

use super::{Case, refuses_them};

const STRUCTS: &str = "typedef struct { double b, c, last; int n; double *x; } s_t;\n\
                       typedef struct { void *of; long step, n; } h_t;\n\
                       static double last_of(void *p) { s_t *s = p; return s->last; }\n";

#[test]
fn what_lies_elsewhere_is_another_kernel() {
    refuses_them("void_members", "c", STRUCTS, CASES);
}

const CASES: &[Case] = &[
    (
        "void f(h_t *g, h_t *h) { s_t *s = g->of, *t = (s_t *)h->of; for (int i = 0; i < s->n; i++) t->x[i] = s->b * s->x[i] + t->c; }",
        &[
            ("s->b * s->x[i] + t->c", "t->c * s->x[i] + s->b"),
            ("s->b * s->x[i] + t->c", "s->b * s->x[0] + t->c"),
            ("s->b * s->x[i] + t->c", "s->b * s->x[i] - t->c"),
            ("t->x[i] =", "t->x[i] +="),
            ("i = 0", "i = 1"),
            ("i < s->n", "i < t->n"),
            ("t->x[i] =", "s->x[i] ="),
            ("*s = g->of", "*s = h->of"),
        ],
    ),
    (
        "void f(h_t *h, const double *u, double *v, int n) { s_t *s = h->of; for (int i = 0; i < n; i++) {
         v[i] = s->b * u[i] + s->last; s->last = s->c * u[i]; } }",
        &[
            ("s->last = s->c", "s->last += s->c"),
            ("s->last = s->c * u[i]", "s->last = s->c + u[i]"),
            ("s->b * u[i] + s->last; s->last = s->c", "s->c * u[i] + s->last; s->last = s->b"),
            ("+ s->last", "+ last_of(h->of) + 1"),
            ("+ s->last", "- s->last"),
            ("s->c * u[i]", "s->c * v[i]"),
        ],
    ),
    (
        "void f(const h_t *g, h_t *h, int n, float by) { for (int i = 0; i < n; i++) {
         const float *x = (const float *)((char *)g->of + i * g->step); float *y = (float *)((char *)h->of + i * h->step);
         *y = *x * by; } }",
        &[
            ("i * g->step", "i * h->step"),
            ("i * g->step", "i * g->step + 4"),
            ("i * g->step", "2 * i * g->step"),
            ("i * h->step", "(i + 1) * h->step"),
            ("(char *)g->of", "(char *)h->of"),
            ("*x * by", "x[1] * by"),
        ],
    ),
    (
        "double f(h_t *h) { double sum = 0; s_t *s = h->of; for (int i = 0; i < s->n; i++) sum += s->x[i]; return sum + last_of(h->of); }",
        &[
            ("last_of(h->of)", "s->b"),
            ("last_of(h->of)", "last_of(h->of) * 2"),
            ("sum + last_of", "sum - last_of"),
            ("i = 0", "i = 1"),
            ("sum += s->x[i]", "sum += s->x[0]"),
        ],
    ),
];
