//! Structs of the file that are constants, with numbers of several types and pointers beside them.

use super::{Case, refuses_them};

/// Of structs that are constants, each number is the one that its initialiser says.
#[test]
fn constant_structs() {
    refuses_them("constant structs", "c", STRUCTS, IN_STRUCTS);
}

const STRUCTS: &str = "typedef struct { const char *name; float b; double w; int id; unsigned char k[3]; } ent;
static const ent ents[3] = { {\"a\", 1.5f, 2.5, 7, {1, 2, 3}}, {\"b\", 4.5f, 3.5, 8, {4}}, {.id = 9, .w = 5.5} };
static const struct { double g, o; } one = {1.25, -0.5};
";

const IN_STRUCTS: &[Case] = &[
    (
        "double f(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i] * ents[1].w; return s; }",
        &[
            ("ents[1].w", "ents[0].w"),
            ("ents[1].w", "ents[1].b"),
            ("ents[1].w", "ents[1].id"),
            ("ents[1].w", "ents[2].w"),
            ("ents[1].w", "ents[1].k[0]"),
        ],
    ),
    (
        "void f(const int *x, int *o, int n) { for (int i = 0; i < n; i++) o[i] = x[i] + ents[2].id + ents[0].k[1] + ents[1].k[2]; }",
        &[
            ("ents[2].id", "ents[1].id"),
            ("ents[0].k[1]", "ents[0].k[2]"),
            ("ents[1].k[2]", "ents[1].k[0]"),
            ("ents[1].k[2]", "ents[0].k[2]"),
        ],
    ),
    (
        "double f(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i] * one.g + one.o; return s; }",
        &[
            ("one.g", "one.o"),
            ("+ one.o", "+ one.g"),
            ("one.g", "ents[0].w"),
        ],
    ),
];
