//! Near generated code that computes results into memory of its own and stores them from there.

use super::{Original, kernel};
use tensorize_ir::loopir::Function;
use tensorize_prove::Verdict;

/// What is changed into what, and a word of the reason why that is not proven.
type Change = (&'static str, &'static str, &'static str);

/// Of each original, code that is proven, and changes after which it isn't.
const CASES: [(&str, &str, &[Change]); 3] = [
    // In 64 bits the place cannot wrap, as it is one that the original has; in fewer it can.
    (
        "float f(const float *x, int n, int off) { int b = 0; for (int i = 1; i < n; i++) if (x[i] > x[b]) b = i; return x[(long)b + off]; }",
        "f32 f(const f32 *x, i32 n, i32 off) wraps {
           i32 b = 0;
           for #1 (i64 k = 0; k < (i64)n - 1; k = k + 1) { b = x[(i64)b] < x[k + 1] ? (i32)(k + 1) : b; }
           return x[(i64)b + (i64)off];
         }",
        &[
            ("(i64)b + (i64)off", "(i64)(b + off)", "what the summary says"),
            ("(i64)b + (i64)off", "(i64)b - (i64)off", "what the summary says"),
            ("(i64)b + (i64)off", "(i64)b + (i64)off + 1", "what the summary says"),
            ("x[(i64)b + (i64)off]", "x[(i64)b]", "what the summary says"),
        ],
    ),
    (
        "void f(float *a, int n) { for (int i = 0; i < n - 1; i++) a[i] = a[i + 1]; }",
        "void f(f32 *a, i32 n) wraps {
           local f32 kept[of (i64)n - 1];
           parallel for #1 (i64 i = 0; i < (i64)n - 1; i = i + 1) { kept[i] = a[i + 1]; }
           parallel for #2 (i64 j = 0; j < (i64)n - 1; j = j + 1) { a[j] = kept[j]; }
         }",
        &[
            ("kept[of (i64)n - 1]", "kept[of (i64)n - 2]", "inside"),
            ("kept[of (i64)n - 1]", "kept[]", "how long"),
            ("kept[i] =", "kept[i - 1] =", "inside"),
            ("kept[i] =", "kept[0] =", "the same places"),
            ("= kept[j]", "= kept[j + 1]", ""),
            ("i < (i64)n - 1", "i < (i64)n - 2", "before it is written"),
            ("= a[i + 1]", "= a[i]", "what the summary says"),
            ("kept[i] = a[i + 1];", "a[i] = a[i + 1];", "keep apart"),
            ("local f32 kept[of (i64)n - 1]", "local f32 kept[8]", "inside"),
        ],
    ),
    (
        "void f(float *a, int n) { for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) a[j * n + i] = a[i * n + j]; }",
        "void f(f32 *a, i32 n) wraps {
           local f32 kept[of ((i64)n - 1) * (i64)n];
           for #1 (i64 i = 0; i < (i64)n - 1; i = i + 1) {
             for #2 (i64 j = 0; j < (i64)n; j = j + 1) { if (i >= j) { kept[i * (i64)n + j] = a[j * (i64)n + i + 1]; } }
           }
           for #3 (i64 k = 0; k < (i64)n - 1; k = k + 1) {
             for #4 (i64 l = 0; l < (i64)n; l = l + 1) { if (k >= l) { a[k * (i64)n + l + (i64)n] = kept[k * (i64)n + l]; } }
           }
         }",
        &[
            ("if (i >= j)", "if (i > j)", "before it is written"),
            ("if (k >= l)", "if (k >= l - 1)", "before it is written"),
            ("if (k >= l)", "if (k > l)", "what the summary says"),
            ("= kept[k * (i64)n + l]", "= kept[l * (i64)n + k]", "before it is written"),
            ("= a[j * (i64)n + i + 1]", "= a[j * (i64)n + i]", "what the summary says"),
            ("kept[of ((i64)n - 1) * (i64)n]", "kept[of ((i64)n - 1) * ((i64)n - 1)]", "inside"),
        ],
    ),
];

#[test]
fn what_is_kept_is_what_is_stored() {
    for (original, right, wrong) in CASES {
        let mut original = Original::new(&kernel(original));
        let mut verdict = |code: &str| {
            let code: Function = code.parse().unwrap_or_else(|e| panic!("{e}\n{code}"));
            original.verdict(&code)
        };
        let proven = verdict(right);
        assert!(matches!(proven, Verdict::Proven(_)), "{right}: {proven:?}");
        for (from, to, why) in wrong {
            let changed = right.replacen(from, to, 1);
            assert_ne!(changed, right, "{from} is not in {right}");
            match verdict(&changed) {
                Verdict::Unknown { obligation, .. } => {
                    assert!(obligation.contains(why), "{to}: {obligation}");
                }
                other => panic!("{to}: {other:?}"),
            }
        }
    }
}

/// Code that computes what it is to, and looks beside what the original touches on the way: where that may be no memory.
#[test]
fn code_that_looks_beyond_is_not_proven() {
    let whole = "void f(float *o, const float *x, int n) { for (int i = 0; i < n; i++) { o[i] = x[i] * 2; } }";
    // As far as the data says, and up to a border that holds indices back.
    let border = "void f(float *o, const float *x, int n) { for (int i = 0; i < n; i++) {
        int j = i + 2 < n - 1 ? i + 2 : n - 1; o[i] = x[j] * 2; } }";
    for (source, beside) in [
        (
            whole,
            &[
                "x[i + 1]", "x[i - 1]", "x[n]", "x[2 * i]", "o[i + 1]", "o[n]",
            ][..],
        ),
        (
            border,
            &["x[i + 1]", "x[i + 2]", "x[j + 1]", "x[-1]", "o[n]"],
        ),
    ] {
        let mut original = Original::new(&kernel(source));
        let verdict = original.verdict(&kernel(source));
        assert!(matches!(verdict, Verdict::Proven(_)), "{verdict:?}");
        for place in beside {
            let code = source.replacen("o[i] =", &format!("float v = {place}; o[i] ="), 1);
            match original.verdict(&kernel(&code)) {
                Verdict::Unknown { obligation, .. } => {
                    assert!(
                        obligation.contains("may leave the extent of"),
                        "{place}: {obligation}"
                    );
                }
                other => panic!("{place} in {source}: {other:?}"),
            }
        }
    }
}

/// How far a place reaches that rounds have found is only known where its last conversion, or sum, keeps what it is.
#[test]
fn a_place_that_was_found_stays_in_its_type() {
    let search = "b = 0; for (long i = 1; i < n; i++) if (x[i] > x[b]) b = i;";
    for (source, expected) in [
        ("int", "x[(signed char)b]", "n - 1 fits i8"),
        ("unsigned", "x[b + off]", "n + off - 1 fits ui32"),
        ("unsigned long", "x[b + off]", "n + off - 1 fits ui64"),
    ]
    .map(|(ty, read, guard)| {
        let found = search.replace("long", ty);
        (
            format!("float f(const float *x, {ty} n, {ty} off) {{ {ty} {found} return {read}; }}"),
            guard,
        )
    }) {
        let guards = Original::new(&kernel(&source)).proof.guards;
        let guards: Vec<String> = guards.iter().map(ToString::to_string).collect();
        assert!(guards.contains(&expected.into()), "{source}: {guards:?}");
    }
}
