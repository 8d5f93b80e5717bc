//! Near arithmetic of complex numbers: other signs, other parts, and parts that are stored too early.

use super::{Case, refuses_them};

#[test]
fn other_complex_arithmetic_is_another_kernel() {
    refuses_them(
        "complexes",
        "cpp",
        "#include <complex>\ntypedef std::complex<double> C;\n",
        CASES,
    );
}

/// The same in C99, of which compilers convert real numbers and complex ones.
#[test]
fn other_c99_arithmetic_is_another_kernel() {
    refuses_them(
        "c99_complexes",
        "c",
        "#include <complex.h>\ntypedef double complex C;\n",
        C99,
    );
}

const C99: &[Case] = &[
    (
        "void f(const C *a, const C *b, C *y, int n) { for (int i = 0; i < n; i++) y[i] = a[i] * b[i]; }",
        &[
            ("a[i] * b[i]", "a[i] + b[i]"),
            ("a[i] * b[i]", "conj(a[i]) * b[i]"),
            ("a[i] * b[i]", "~a[i] * b[i]"),
            ("a[i] * b[i]", "creal(a[i]) * b[i]"),
            ("a[i] * b[i]", "a[i] * cimag(b[i])"),
            ("a[i] * b[i]", "(double)a[i] * b[i]"),
            ("a[i] * b[i]", "a[i] * b[i] * I"),
            ("y[i] = a[i] * b[i]", "y[i] *= a[i]"),
        ],
    ),
    // Exact: what a product with a real number is, and what one with a complex number that has no imaginary part.
    (
        "void f(const C *x, C *y, double g, int n) { for (int i = 0; i < n; i++) y[i] = x[i] * g; }",
        &[
            ("x[i] * g", "g + x[i]"),
            ("x[i] * g", "x[i] * I * g"),
            ("x[i] * g", "x[i] * (float)g"),
            ("x[i] * g", "creal(x[i]) * g"),
            ("x[i] * g", "x[i] * g + 0.0"),
            ("x[i] * g", "conj(x[i]) * g"),
        ],
    ),
    (
        "void f(const double *re, const double *im, C *y, int n) { for (int i = 0; i < n; i++) y[i] = re[i] + I * im[i]; }",
        &[
            ("re[i] + I * im[i]", "re[i] - I * im[i]"),
            ("re[i] + I * im[i]", "im[i] + I * re[i]"),
            ("re[i] + I * im[i]", "re[i] * I + im[i] * I"),
            ("re[i] + I * im[i]", "re[i] + im[i]"),
            // 0 * im[i] is no zero of an infinite number.
            ("re[i] + I * im[i]", "(C){re[i], im[i]}"),
        ],
    ),
    (
        "C f(const C *a, const C *b, int n) { C s = 0; for (int i = 0; i < n; i++) s += conj(a[i]) * b[i]; return s; }",
        &[
            ("conj(a[i]) * b[i]", "a[i] * conj(b[i])"),
            ("C s = 0", "C s = I"),
            ("C s = 0", "double s = 0"),
            ("return s", "return conj(s)"),
            ("return s", "return creal(s)"),
            ("s += conj", "s -= conj"),
        ],
    ),
    // What the imaginary part needs of the old real one.
    (
        "void f(C *x, const C *w, int n) { for (int i = 0; i < n; i++) x[i] *= w[i]; }",
        &[
            (
                "x[i] *= w[i];",
                "{ double *p = (double *)&x[i]; p[0] = p[0] * creal(w[i]) - p[1] * cimag(w[i]);
                   p[1] = p[0] * cimag(w[i]) + p[1] * creal(w[i]); }",
            ),
            ("x[i] *= w[i]", "x[i] /= w[i]"),
            ("x[i] *= w[i]", "x[i] = w[i]"),
            ("x[i] *= w[i]", "x[i] *= creal(w[i])"),
            ("x[i] *= w[i]", "x[i] *= w[0]"),
        ],
    ),
    (
        "int f(const C *x, int n) { int k = 0; for (int i = 0; i < n; i++) if (x[i] != 0) k++; return k; }",
        &[
            ("x[i] != 0", "x[i] == 0"),
            ("x[i] != 0", "creal(x[i]) != 0"),
            ("x[i] != 0", "(_Bool)cimag(x[i])"),
            ("x[i] != 0", "x[i] != I"),
        ],
    ),
    // In the narrow type, and in the wide one.
    (
        "void f(const C *x, float complex *y, int n) { for (int i = 0; i < n; i++) y[i] += x[i]; }",
        &[
            ("y[i] += x[i]", "y[i] += (float complex)x[i]"),
            ("y[i] += x[i]", "y[i] += (double)x[i]"),
            ("y[i] += x[i]", "y[i] -= x[i]"),
        ],
    ),
];

const CASES: &[Case] = &[
    // Where this divides and the changed one does not, it is nothing where the divisor is zero, over the real numbers, too.
    (
        "void f(const double *x, const double *d, C *y, int n) { for (int i = 0; i < n; i++)
         y[i] *= C(x[i] + 0.0 / d[i], x[i] - d[i]); }",
        &[
            ("0.0 / d[i]", "0.0 * d[i]"),
            ("0.0 / d[i]", "0.0"),
            ("0.0 / d[i]", "0.0 / x[i]"),
        ],
    ),
    (
        "void f(const double *x, const double *d, C *y, int n) { for (int i = 0; i < n; i++)
         y[i] *= C(x[i] + (x[i] / d[i] - x[i] / d[i]), 1); }",
        &[
            ("(x[i] / d[i] - x[i] / d[i])", "0.0"),
            ("(x[i] / d[i] - x[i] / d[i])", "(x[i] * d[i] - x[i] * d[i])"),
        ],
    ),
    (
        "void f(const C *a, const C *b, C *y, int n) { for (int i = 0; i < n; i++) y[i] = a[i] * b[i]; }",
        &[
            ("a[i] * b[i]", "a[i] + b[i]"),
            ("a[i] * b[i]", "std::conj(a[i]) * b[i]"),
            (
                "a[i] * b[i]",
                "C(a[i].real() * b[i].real(), a[i].imag() * b[i].imag())",
            ),
            ("a[i] * b[i]", "a[i] * b[i].real()"),
            ("a[i] * b[i]", "C(b[i].imag(), b[i].real()) * a[i]"),
            ("y[i] = a[i] * b[i]", "y[i] *= a[i]"),
        ],
    ),
    // What the second product needs of the old number.
    (
        "void f(C *x, const C *w, int n) { for (int i = 0; i < n; i++) x[i] *= w[i]; }",
        &[
            (
                "x[i] *= w[i];",
                "{ x[i].real(x[i].real() * w[i].real() - x[i].imag() * w[i].imag());
                   x[i].imag(x[i].real() * w[i].imag() + x[i].imag() * w[i].real()); }",
            ),
            ("x[i] *= w[i]", "x[i] /= w[i]"),
            ("x[i] *= w[i]", "x[i] = w[i]"),
            ("x[i] *= w[i]", "x[i] *= w[i].real()"),
            ("x[i] *= w[i]", "x[i] *= w[0]"),
        ],
    ),
    (
        "C f(const C *a, const C *b, int n) { C s = 0; for (int i = 0; i < n; i++) s += std::conj(a[i]) * b[i]; return s; }",
        &[
            ("std::conj(a[i]) * b[i]", "a[i] * std::conj(b[i])"),
            ("std::conj(a[i]) * b[i]", "a[i] * b[i]"),
            ("C s = 0", "C s = 1"),
            ("C s = 0", "C s(0, 1)"),
            ("return s", "return std::conj(s)"),
            ("return s", "return C(s.imag(), s.real())"),
        ],
    ),
    (
        "void f(const C *a, const C *b, C *y, int n) { for (int i = 0; i < n; i++) y[i] = (a[i] - b[i]) / 2.0; }",
        &[
            ("a[i] - b[i]", "b[i] - a[i]"),
            ("/ 2.0", "/ C(0, 2)"),
            (
                "(a[i] - b[i]) / 2.0",
                "C((a[i] - b[i]).real() / 2.0, (a[i] - b[i]).imag())",
            ),
        ],
    ),
    (
        "int f(const C *a, const C *b, int n) { int c = 0; for (int i = 0; i < n; i++) if (a[i] != b[i]) c++; return c; }",
        &[
            ("a[i] != b[i]", "a[i] == b[i]"),
            ("a[i] != b[i]", "a[i].real() != b[i].real()"),
            (
                "a[i] != b[i]",
                "a[i].real() != b[i].real() && a[i].imag() != b[i].imag()",
            ),
            ("a[i] != b[i]", "std::conj(a[i]) != b[i]"),
        ],
    ),
];
