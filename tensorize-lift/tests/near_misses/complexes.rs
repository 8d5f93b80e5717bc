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
