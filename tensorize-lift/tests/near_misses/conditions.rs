//! Near the rules for conditions on data: cases with loops of their own, places that are written in some rounds only,
//! and what generated code may touch then.

use super::{Case, Original, kernel, proofs_only, refuses_them, solver};
use tensorize_ir::tensir;
use tensorize_lift::summarise::Summariser;
use tensorize_prove::{Verdict, prove};

#[test]
fn the_meaning_of_one_is_not_proven_of_the_other() {
    refuses_them("conditions", "c", "#include <stdint.h>\n", CASES);
}

const CASES: &[Case] = &[
    // From an old length on, and then all of it.
    (
        "void f(const float *x, float *y, int old, int n) { for (int k = old; k < n; k++) y[k] = 0; for (int i = 0; i < n; i++) y[i] = x[i] * 2; }",
        &[
            ("i < n", "i < n - 1"),
            ("int i = 0", "int i = 1"),
            ("k < n", "k < n + 1"),
            ("int k = old", "int k = old - 1"),
            ("y[k]", "y[k + 1]"),
            ("y[k]", "y[2 * k]"),
            ("y[i] =", "y[i] +="),
            ("i < n", "i < old"),
        ],
    ),
    // At the first place, there is no neighbour.
    (
        "void f(const float *x, const float *y, int *o, int n) { for (int i = 0; i < n; i++) o[i] = 0; for (int i = 1; i < n; i++) { if (x[i] > y[i] && x[i - 1] <= y[i - 1]) o[i] = 1; else if (x[i] < y[i] && x[i - 1] >= y[i - 1]) o[i] = -1; } }",
        &[
            ("o[i] = 0", "o[i] = 1"),
            ("i = 1; i < n", "i = 2; i < n"),
            ("i < n; i++) {", "i < n - 1; i++) {"),
            ("x[i - 1] <= y[i - 1]", "x[i - 1] < y[i - 1]"),
            ("x[i - 1] <= y[i - 1]", "x[i - 1] <= y[i]"),
            ("x[i] < y[i] && x", "x[i] <= y[i] && x"),
            ("o[i] = -1", "o[i - 1] = -1"),
            ("else if", "if"),
            ("x[i] > y[i] && x[i - 1]", "x[i] > y[i] || x[i - 1]"),
        ],
    ),
    // What a byte is compared with has wrapped: it says nothing of the counter.
    (
        "void f(const uint8_t *a, int *d, int m) { for (int i = 0; i < m; i++) { uint8_t least = i + 300; if (a[i] >= least) d[i] = i < 3 ? 1 : 2; else d[i] = 3; } }",
        &[
            ("i < 3 ? 1 : 2", "1"),
            ("i < 3 ? 1 : 2", "2"),
            ("i < 3", "i < 2"),
            ("i + 300", "i + 301"),
            (">= least", "> least"),
            ("uint8_t least", "int least"),
        ],
    ),
    (
        "void f(const unsigned *a, int *d, int m) { for (int i = 0; i < m; i++) { unsigned least = (unsigned)(i + 0x100000000L); if (a[i] >= least) d[i] = i < 3 ? 1 : 2; else d[i] = 3; } }",
        &[
            ("i < 3 ? 1 : 2", "1"),
            ("i < 3 ? 1 : 2", "2"),
            ("i < 3", "i < 2"),
            ("0x100000000L", "0x100000001L"),
        ],
    ),
    (
        "void f(float *d, int m) { for (int i = 0; i < m; i++) d[i] = (uint8_t)(i + 300); }",
        &[("(uint8_t)", ""), ("(uint8_t)", "(int8_t)"), ("300", "44"), ("300", "299")],
    ),
    (
        "void f(int *d, int m, int k) { for (int i = 0; i < m; i++) d[i] = (uint8_t)(i + 300) < (uint8_t)(i + k) ? 1 : 2; }",
        &[
            ("(uint8_t)(i + 300) < (uint8_t)(i + k)", "i + 300 < i + k"),
            ("(uint8_t)(i + 300) < (uint8_t)(i + k)", "300 < k"),
            ("(uint8_t)(i + k)", "i + k"),
            ("300", "299"),
        ],
    ),
    // Over the reals.
    (
        "float f(const float *x, int n) { float s = 0; for (int i = 0; i < n; i++) s = s + x[i] * (uint8_t)(i + 300) - 1; return s + n; }",
        &[
            ("* (uint8_t)(i + 300)", "* (i + 300)"),
            ("(uint8_t)", "(int8_t)"),
            ("- 1", "+ 1"),
            ("s + n", "s - n"),
        ],
    ),
    // A case with a loop that is unrolled.
    (
        "void f(float *x, float a, int n) { if (n <= 0) return; if (a == 0) { for (int i = 0; i < n; i++) x[i] = 0; return; }
         int i = 0; for (; i + 2 <= n; i += 2) { x[i] *= a; x[i + 1] *= a; } for (; i < n; i++) x[i] *= a; }",
        &[
            ("a == 0", "a == 1"),
            ("a == 0", "a != 0"),
            ("return; }", "}"),
            ("x[i] = 0", "x[i] = 1"),
            ("i < n; i++) x[i] = 0", "i + 1 < n; i++) x[i] = 0"),
            ("x[i + 1] *= a", "x[i + 1] += a"),
            ("i += 2", "i += 3"),
            ("x[i + 1] *= a; }", "x[i] *= a; }"),
        ],
    ),
    // Each case goes on from what the one before has left.
    (
        "void f(float *c, const float *a, const float *b, float beta, int m, int k) {
         if (beta == 0) for (int i = 0; i < m; i++) c[i] = 0; else if (beta != 1) for (int i = 0; i < m; i++) c[i] = beta * c[i];
         for (int l = 0; l < k; l++) { float t = b[l]; for (int i = 0; i < m; i++) c[i] += t * a[i + l * m]; } }",
        &[
            ("else if (beta != 1)", ""),
            ("beta == 0", "beta != 0"),
            ("c[i] = 0", "c[0] = 0"),
            ("beta * c[i]", "beta + c[i]"),
            ("c[i] += t", "c[i] -= t"),
            ("int l = 0", "int l = 1"),
        ],
    ),
    // Places that some rounds leave as they are.
    (
        "void f(float *c, const float *a, const float *b, int m, int k) { for (int l = 0; l < k; l++)
         if (b[l] != 0) for (int i = 0; i < m; i++) c[i] += b[l] * a[i + l * m]; }",
        &[
            ("b[l] != 0", "b[l] == 0"),
            ("b[l] != 0", "b[0] != 0"),
            ("c[i] += b[l]", "c[i] += b[0]"),
            ("c[i] += b[l]", "c[i] = b[l]"),
            ("int i = 0", "int i = 1"),
            ("int l = 0", "int l = 1"),
            ("c[i] +=", "c[m - 1 - i] +="),
        ],
    ),
    (
        "void f(int *y, const int *w, int n, int m) { for (int k = 0; k < n; k++) for (int i = 0; i < m; i++)
         if (w[k * m + i] > y[i]) y[i] = w[k * m + i]; }",
        &[
            ("> y[i]", "< y[i]"),
            ("> y[i]", "> y[0]"),
            ("> y[i]", "> w[i]"),
            ("y[i] = w[k * m + i]", "y[i] = w[i]"),
            ("y[i] = w", "y[0] = w"),
            ("k < n", "k < n - 1"),
        ],
    ),
    // All rounds at one place: it is the last one that writes that counts, and not the last one.
    (
        "void f(int *y, const int *w, int n, int m) { for (int k = 0; k < n; k++) for (int i = 0; i < m; i++)
         if (w[i] > 0) y[0] = w[k * m + i]; }",
        &[
            ("w[i] > 0", "w[0] > 0"),
            ("w[i] > 0", "w[k] > 0"),
            ("w[i] > 0", "w[m - 1 - i] > 0"),
            ("y[0] = w[k * m + i]", "y[0] = w[k]"),
            ("y[0] =", "y[i] ="),
        ],
    ),
    (
        "void f(int *y, const int *x, int n) { for (int k = 0; k < n; k++) if (x[k] > 5) y[0] = y[0] + x[k] * 2; }",
        &[
            // Another place besides.
            ("y[0] = y[0] + x[k] * 2;", "{ y[0] = y[0] + x[k] * 2; y[1] = 1; }"),
            ("y[0] = y[0]", "y[1] = y[0]"),
            ("y[0] = y[0]", "y[k] = y[0]"),
            ("x[k] > 5", "x[k] > 4"),
        ],
    ),
    // Sizes and modes that are compared as machine integers.
    (
        "int f(int *v, unsigned n, int k, int mode) { for (unsigned i = 0; i < n; i++) v[i] = mode == 2 ? v[i] ^ k : mode > k ? v[i] - 1 : 7; return n != 0; }",
        &[
            ("mode == 2", "mode == -2"),
            ("mode > k", "mode >= k"),
            ("mode > k", "mode > -k"),
            ("n != 0", "n > 1"),
            ("n != 0", "(int)n < 0"),
        ],
    ),
    (
        "int f(const int *v, int n) { int s = 0; for (int i = 0; i < n; i++) s += v[i]; return n ? s / n : 0; }",
        &[
            ("n ? s", "s ? s"),
            ("n ? s / n", "n > 1 ? s / n"),
            (": 0;", ": 1;"),
            ("s / n", "s / (unsigned)n"),
        ],
    ),
    // Members that are made of each other.
    (
        "void f(uint8_t *p, int n) { for (int i = 0; i < n; i++, p += 4) if (p[3] > 7) { uint8_t t = p[0]; p[0] = p[2]; p[2] = t; } }",
        &[
            ("p[3] > 7", "p[3] > 8"),
            ("p[3] > 7", "p[2] > 7"),
            ("p[2] = t", "p[2] = p[0]"),
            ("p[2] = t", "p[1] = t"),
            ("p += 4", "p += 2"),
            ("p += 4", "p += 3"),
        ],
    ),
];

/// A size is compared as the number it is in types that hold it; in others, what is compared has wrapped.
#[test]
fn sizes_are_compared_in_types_that_hold_them() {
    let signed = "int f(int *d, int n) { for (int i = 0; i < n; i++) d[i] = 1; return n > 3; }";
    let unsigned =
        "int f(int *d, unsigned long n) { for (int i = 0; i < n; i++) d[i] = 1; return n > 3; }";
    let cases = [
        (signed, "i32", "i64", true),
        (signed, "i32", "i32", true),
        // Under the guard that there is nothing negative to be written.
        (signed, "i32", "ui32", true),
        (signed, "i32", "i16", false),
        (signed, "i32", "ui8", false),
        (unsigned, "ui64", "ui64", true),
        (unsigned, "ui64", "i64", false),
        (unsigned, "ui64", "ui32", false),
    ];
    let mut solver = solver();
    for (source, param, ty, same) in cases {
        let summary: tensir::Function = format!(
            "func @f(d: ptr<i32>, n: {param}) {{
               %0 = generic 1:i32 : tensor<n x i32>
               %1 = size n : tensor<{ty}>
               %2 = constant 3:{ty} : tensor<{ty}>
               %3 = compare GT, %1, %2 : tensor<i1>
               %4 = convert %3 : tensor<i32>
               store d[#0] = %0
               return %4
             }}"
        )
        .parse()
        .unwrap();
        let verdict = prove(
            &kernel(source),
            &summary,
            &Summariser,
            &mut solver,
            &proofs_only(),
        );
        let proven = matches!(verdict, Verdict::Proven(_));
        assert_eq!(proven, same, "{ty} in {source}: {verdict:?}");
    }
}

/// An original, and code with the same values: whether that touches no more, at least where its loops run.
#[test]
fn code_touches_places_under_the_conditions_of_the_original() {
    const BOTH: &str = "if (a == 0) { for (int i = 0; i < n; i++) y[i] = 1; } else { for (int i = 0; i < n; i++) y[i] = 2; }";
    const ONE: &str = "if (a == 0) { for (int i = 0; i < n; i++) y[i] = 1; }";
    const HALF: &str = "if (a == 0) { for (int i = 0; i < n; i++) y[i] = 1; } else { for (int i = 0; i < n; i += 2) y[i] = 2; }";
    const NESTED: &str = "if (a == 0) { if (b == 0) { for (int i = 0; i < n; i++) y[i] = 1; } else { for (int i = 0; i < n; i++) y[i] = 3; } } else { for (int i = 0; i < n; i++) y[i] = 2; }";
    const PAIRS: &str = "int i = 0; if (a == 0) { for (; i < n; i++) y[i] = 1; } else { for (; i + 2 <= n; i += 2) { y[i] = 2; y[i + 1] = 2; } for (; i < n; i++) y[i] = 2; }";
    const SUMS: &str = "if (a == 0) for (int i = 0; i < n; i++) y[i] = 0; for (int k = 0; k < m; k++) for (int i = 0; i < n; i++) y[i] += x[k * n + i];";
    const SOME: &str =
        "for (int k = 0; k < m; k++) if (x[k] != 0) for (int i = 0; i < n; i++) y[i] += x[k];";
    // Rows by twos, each of which reads all of x.
    const UNROLLED: &str = "for (int k = 0; k < m; k++) { int i = 0; for (; i + 1 < n; i += 2) { y[k * n + i] = x[i]; y[k * n + i + 1] = x[i + 1]; } for (; i < n; i++) y[k * n + i] = x[i]; }";
    const LATER: &str = "for (int k = 0; k < m; k++) { int i = 0; for (; i + 1 < n; i += 2) { y[k * n + i] = x[i]; y[k * n + i + 1] = k > 0 ? x[i + 1] : 1; } for (; i < n; i++) y[k * n + i] = x[i]; }";
    // Rounds before the one that stops, and that one.
    const STOPS: &str = "for (int k = 0; k < m; k++) { float s = 0; for (int i = 0; i < n; i++) { if (x[i] < a * k) break; s += x[n + i]; } y[k] = s; }";
    const SETS: &str = "for (int k = 0; k < m; k++) { float s = 0; for (int i = 0; i < n; i++) { if (x[i] < a * k) { y[k] = 1; goto next; } s += x[i]; } y[k] = s; next: continue; }";
    const SETS_ONE: &str = "for (int k = 0; k < m; k++) { float s = 0; for (int i = 0; i < n; i++) { if (x[i] < a * k) { y[k] = 1; goto next; } s += x[i]; } if (b == 0) y[k] = s; next: continue; }";
    // Of more than 16, it is known that it is more than 8.
    const ONE_ROUND: &str = "for (int i = 0; i < m; i++) { if (i == n || x[i] > a) { y[i] = 0; continue; } y[i] = x[i]; }";
    const ONE_ROUND_OR_NONE: &str = "for (int i = 0; i < m; i++) { if (i == n || x[i] > a) { if (x[i] > b) y[i] = 0; continue; } y[i] = x[i]; }";
    const WIDE: &str = "for (int i = 0; i < m; i++) { unsigned char w = n * i; float s = x[0]; if (w > 8) s += x[1]; if (w > 16) s += x[2]; y[i] = s; }";
    let always = "for (int i = 0; i < n; i++) y[i] = a == 0 ? 1 : 2;";
    let cases = [
        (BOTH, always, true),
        (
            ONE,
            "for (int i = 0; i < n; i++) y[i] = a == 0 ? 1 : y[i];",
            false,
        ),
        (
            ONE,
            "for (int i = 0; i < n; i++) if (a == 0) y[i] = 1;",
            true,
        ),
        (
            HALF,
            "for (int i = 0; i < n; i++) y[i] = a == 0 ? 1 : i % 2 == 0 ? 2 : y[i];",
            false,
        ),
        (
            NESTED,
            "for (int i = 0; i < n; i++) y[i] = a != 0 ? 2 : b != 0 ? 3 : 1;",
            true,
        ),
        (PAIRS, always, true),
        (
            UNROLLED,
            "for (int k = 0; k < m; k++) for (int i = 0; i < n; i++) y[k * n + i] = x[i];",
            true,
        ),
        (
            LATER,
            "for (int k = 0; k < m; k++) { for (int i = 0; i < n / 2; i++) { float t = x[2 * i + 1]; y[k * n + 2 * i] = x[2 * i]; y[k * n + 2 * i + 1] = k > 0 ? t : 1; } for (int i = 0; i < n % 2; i++) y[k * n + i + n / 2 * 2] = x[i + n / 2 * 2]; }",
            false,
        ),
        // Without a round, the original may not touch y.
        (
            SUMS,
            "for (int i = 0; i < n; i++) { float s = a == 0 ? 0 : y[i]; for (int k = 0; k < m; k++) s += x[k * n + i]; y[i] = s; }",
            true,
        ),
        // The original touches y in some rounds, and maybe in none.
        (
            SOME,
            "for (int i = 0; i < n; i++) { float s = y[i]; for (int k = 0; k < m; k++) if (x[k] != 0) s += x[k]; y[i] = s; }",
            false,
        ),
        (
            SOME,
            "for (int i = 0; i < n; i++) for (int k = 0; k < m; k++) if (x[k] != 0) y[i] += x[k];",
            true,
        ),
        (
            STOPS,
            "for (int k = 0; k < m; k++) { int t = 0; while (t < n && !(x[t] < a * k)) t++; float s = 0; if (t < n) for (int i = 0; i < t; i++) s += x[n + i]; else for (int i = 0; i < n; i++) s += x[n + i]; y[k] = s; }",
            true,
        ),
        (
            STOPS,
            "for (int k = 0; k < m; k++) { int t = 0; while (t < n && !(x[t] < a * k)) t++; float s = 0; if (t < n) { for (int i = 0; i < t; i++) s += x[n + i]; float u = x[n + t]; s = u > 0 ? s : s; } else for (int i = 0; i < n; i++) s += x[n + i]; y[k] = s; }",
            false,
        ),
        (
            SETS,
            "for (int k = 0; k < m; k++) { int t = 0; while (t < n && !(x[t] < a * k)) t++; float s = 0; if (t >= n) for (int i = 0; i < n; i++) s += x[i]; y[k] = t >= n ? s : 1; }",
            true,
        ),
        (
            SETS_ONE,
            "for (int k = 0; k < m; k++) { int t = 0; while (t < n && !(x[t] < a * k)) t++; float s = 0; if (t >= n) for (int i = 0; i < n; i++) s += x[i]; y[k] = t >= n ? (b == 0 ? s : y[k]) : 1; }",
            false,
        ),
        (
            WIDE,
            "for (int i = 0; i < m; i++) { unsigned char w = n * i; y[i] = w > 16 ? x[0] + x[1] + x[2] : w > 8 ? x[0] + x[1] : x[0]; }",
            true,
        ),
        (
            WIDE,
            "for (int i = 0; i < m; i++) { unsigned char w = n * i; y[i] = w > 16 ? x[0] + x[1] + x[2] : w > 7 ? x[0] + (w > 8 ? x[1] : x[1] - x[1]) : x[0]; }",
            false,
        ),
        // The round's number and the data say which branch stores.
        (
            ONE_ROUND,
            "for (int i = 0; i < m; i++) y[i] = i == n || x[i] > a ? 0 : x[i];",
            true,
        ),
        (
            ONE_ROUND_OR_NONE,
            "for (int i = 0; i < m; i++) if (i == n || x[i] > a) { if (x[i] > b) y[i] = 0; } else y[i] = x[i];",
            true,
        ),
        (
            ONE_ROUND_OR_NONE,
            "for (int i = 0; i < m; i++) y[i] = i == n || x[i] > a ? (x[i] > b ? 0 : y[i]) : x[i];",
            false,
        ),
    ];
    for (original, code, touches_no_more) in cases {
        let with = |body: &str| {
            let params = "float *y, const float *x, float a, float b, int n, int m";
            kernel(&format!("void f({params}) {{ {body} }}"))
        };
        let (original, generated) = (with(original), with(code));
        let verdict = Original::new(&original).verdict(&generated);
        match (&verdict, touches_no_more) {
            (Verdict::Proven(_), true) => {}
            (Verdict::Unknown { obligation, .. }, false) => {
                assert!(
                    obligation.contains("under other conditions"),
                    "{code}: {obligation}"
                );
            }
            _ => panic!("{code}: {verdict:?}"),
        }
        if let (Verdict::Proven(own), true) = (&verdict, code.contains("s = a == 0")) {
            let guards: Vec<String> = own.guards.iter().map(ToString::to_string).collect();
            assert!(guards.contains(&"m - 1 >= 0".into()), "{guards:?}");
        }
    }
}
