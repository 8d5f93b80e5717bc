//! Summaries that make an index a machine integer too narrow for it. What has wrapped is no number: a proof that takes it for one
//! lets a wrong summary through.

use tensorize_ir::{loopir, tensir};
use tensorize_lift::summarise::Summariser;
use tensorize_prove::solver::{self, Solver};
use tensorize_prove::{Options, Verdict, prove};

/// What a round leaves in `o[i]`, and summaries of that: right where `T` is as wide as the sizes, and wrong where it is not.
const CASES: &[(&str, &[&str])] = &[
    (
        "i < k ? x[i] : 0",
        &[
            "select(compare(LT, index(T, #0), index(T, k)), x[#0], 0:i64)",
            "select(compare(LE, index(T, #0), index(T, k - 1)), x[#0], 0:i64)",
            "select(not(compare(LT, index(T, k), index(T, #0 + 1))), x[#0], 0:i64)",
            "select(select(compare(LT, index(T, #0), index(T, k)), 1:i1, 0:i1), x[#0], 0:i64)",
        ],
    ),
    (
        "i == k ? x[i] : 0",
        &[
            "select(compare(EQ, index(T, #0), index(T, k)), x[#0], 0:i64)",
            "select(not(compare(EQ, index(T, #0), index(T, k))), 0:i64, x[#0])",
        ],
    ),
    (
        "x[i] < k ? x[i] : 0",
        &[
            "select(compare(LT, x[#0], convert(i64, index(T, k))), x[#0], 0:i64)",
            "select(index_compare(LT, value(x[#0]), value(index(T, k))), x[#0], 0:i64)",
            "select(compare(LT, convert(T, x[#0]), index(T, k)), x[#0], 0:i64)",
        ],
    ),
    (
        "i < k ? i : k",
        &[
            "convert(i64, minimum(index(T, #0), index(T, k)))",
            "convert(i64, select(index_compare(LT, #0, k), index(T, #0), index(T, k)))",
            "index(i64, min(value(index(T, #0)), value(index(T, k))))",
            "index(i64, value(select(index_compare(LT, #0, k), index(T, #0), index(T, k))))",
            "select(compare(LT, index(T, #0), index(T, k)), index(i64, #0), index(i64, k))",
        ],
    ),
    (
        "x[i < k ? i : k]",
        &[
            "x[value(select(index_compare(LT, #0, k), index(T, #0), index(T, k)))]",
            "x[value(minimum(index(T, #0), index(T, k)))]",
            "select(compare(LT, index(T, #0), index(T, k)), x[#0], x[k])",
        ],
    ),
];

fn is_proven(round: &str, element: &str) -> bool {
    let kernel = format!(
        "void f(i64 *o, const i64 *x, i64 n, i64 k) {{
           i64 i = 0;
           while #0 @1 (i < n) {{ o[i] = {round}; i = i + 1; }}
         }}"
    );
    let summary = format!(
        "func @f(o: ptr<i64>, x: const ptr<i64>, n: i64, k: i64) {{
           %0 = generic {element} : tensor<n x i64>
           store o[#0] = %0
         }}"
    );
    let mut solver =
        Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
    let kernel: loopir::Function = kernel.parse().unwrap_or_else(|e| panic!("{e}: {kernel}"));
    let summary: tensir::Function = summary.parse().unwrap_or_else(|e| panic!("{e}: {summary}"));
    let options = Options {
        refute: false,
        ..Options::default()
    };
    let verdict = prove(&kernel, &summary, &Summariser, &mut solver, &options);
    matches!(verdict, Verdict::Proven(_))
}

#[test]
fn what_has_wrapped_is_no_number() {
    let mut wide = 0;
    for (round, elements) in CASES {
        for element in *elements {
            for narrow in ["i8", "ui8", "i32", "ui32"] {
                let element = element.replace("(T,", &format!("({narrow},"));
                assert!(!is_proven(round, &element), "{round}: {element}");
            }
            // Where it is wide enough, some are proven: it is not for their form that the others are not.
            wide += usize::from(is_proven(round, &element.replace("(T,", "(i64,")));
        }
    }
    assert!(wide > 8, "{wide}");
}

/// An `i64` is wide enough for counters, and not for each `ui64` that they are compared with.
#[test]
fn large_unsigned_sizes_have_wrapped_too() {
    for (ty, shape, proven) in [
        ("ui64", "LT, index(ui64, #0), index(ui64, k)", true),
        ("i64", "LT, index(i64, #0), index(i64, k)", false),
        ("i64", "LE, index(i64, #0), index(i64, k - 1)", false),
    ] {
        let kernel = "void f(i64 *o, const i64 *x, i64 n, ui64 k) {
           i64 i = 0;
           while #0 @1 (i < n) { o[i] = (ui64)i < k ? x[i] : 0; i = i + 1; }
         }";
        let summary = format!(
            "func @f(o: ptr<i64>, x: const ptr<i64>, n: i64, k: ui64) {{
               %0 = generic select(compare({shape}), x[#0], 0:i64) : tensor<n x i64>
               store o[#0] = %0
             }}"
        );
        let mut solver = Solver::new(solver::find()).expect("Z3");
        let kernel: loopir::Function = kernel.parse().expect("LoopIR");
        let summary: tensir::Function = summary.parse().expect("TensIR");
        let options = Options::default();
        let verdict = prove(&kernel, &summary, &Summariser, &mut solver, &options);
        assert_eq!(
            matches!(verdict, Verdict::Proven(_)),
            proven,
            "{ty}: {shape}"
        );
    }
}
