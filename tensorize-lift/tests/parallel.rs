//! Loops whose rounds run in any order: proven only where that makes no difference.

use tensorize_ir::guard::Tier;
use tensorize_lift::summarise::Summariser;
use tensorize_prove::solver::{self, Solver};
use tensorize_prove::{Options, Verdict, prove};

/// The tier, or what could not be shown.
fn ask(kernel: &str, summary: &str) -> Result<Tier, String> {
    let mut solver =
        Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
    let kernel = kernel.parse().expect("LoopIR");
    let summary = summary.parse().expect("TensIR");
    match prove(
        &kernel,
        &summary,
        &Summariser,
        &mut solver,
        &Options::default(),
    ) {
        Verdict::Proven(proof) => Ok(proof.tier),
        Verdict::Unknown { obligation, .. } => Err(obligation),
        Verdict::Refuted { inputs, .. } => panic!("{inputs}"),
    }
}

/// `a[i] = a[i + 1]` is a shift if the rounds come one after the other.
#[test]
fn a_round_that_reads_what_another_writes() {
    let kernel = |mode: &str| {
        format!(
            "void shift(i32 *a, i64 n) wraps {{
               i64 i = 0;
               {mode} while (i < n) {{ a[i] = a[i + 1]; i = i + 1; }}
             }}"
        )
    };
    let summary = "func @shift(a: ptr<i32>, n: i64) {
      %0 = view a[#0 + 1] : tensor<n x i32>
      store a[#0] = %0
    }";
    assert_eq!(ask(&kernel(""), summary), Ok(Tier::Exact));
    for mode in ["parallel", "simd()"] {
        let why = ask(&kernel(mode), summary).unwrap_err();
        assert!(why.contains("keep apart in a"), "{mode}: {why}");
    }
}

#[test]
fn rounds_that_write_the_same_place() {
    let kernel = |mode: &str| {
        format!(
            "void last(i32 *a, i32 *b, i64 n) wraps {{
               i64 i = 0;
               {mode} while (i < n) {{ b[0] = b[0] + a[i]; i = i + 1; }}
             }}"
        )
    };
    let summary = "func @last(a: ptr<i32>, b: ptr<i32>, n: i64) {
      %0 = view a[#0] : tensor<n x i32>
      %1 = view b[0] : tensor<i32>
      %2 = reduce %0, %1, reducer = add, dimensions = [0] : tensor<i32>
      store b[0] = %2
    }";
    assert_eq!(ask(&kernel(""), summary), Ok(Tier::Exact));
    let why = ask(&kernel("parallel"), summary).unwrap_err();
    assert!(why.contains("same places of b"), "{why}");
}

/// A vector sum is a sum of integers bit for bit, and of floats over the real numbers only.
#[test]
fn accumulators_are_declared() {
    let kernel = |ty: &str, mode: &str| {
        format!(
            "{ty} sum(const {ty} *a, i64 n) wraps {{
               {ty} s = 0;
               i64 i = 0;
               {mode} while (i < n) {{ s = s + a[i]; i = i + 1; }}
               return s;
             }}"
        )
    };
    let summary = |ty: &str, zero: &str| {
        format!(
            "func @sum(a: const ptr<{ty}>, n: i64) {{
               %0 = view a[#0] : tensor<n x {ty}>
               %1 = constant {zero}:{ty} : tensor<{ty}>
               %2 = reduce %0, %1, reducer = add, dimensions = [0] : tensor<{ty}>
               return %2
             }}"
        )
    };
    assert_eq!(
        ask(&kernel("i32", "simd(add s)"), &summary("i32", "0")),
        Ok(Tier::Exact)
    );
    assert_eq!(
        ask(&kernel("f32", ""), &summary("f32", "0.0")),
        Ok(Tier::Exact)
    );
    assert_eq!(
        ask(&kernel("f32", "simd(add s)"), &summary("f32", "0.0")),
        Ok(Tier::Real)
    );
    for mode in ["simd()", "parallel", "simd(multiply s)"] {
        let why = ask(&kernel("i32", mode), &summary("i32", "0")).unwrap_err();
        assert!(
            why.contains("s is carried from round to round"),
            "{mode}: {why}"
        );
    }
}

/// The greatest float by comparing: NaN is not taken, and of two zeros the first stays, so that in any order it is the same
/// real number and not the same bits.
#[test]
fn extremes_of_floats_in_any_order() {
    let kernel = |mode: &str| {
        format!(
            "f32 most(const f32 *a, i64 n) wraps {{
               f32 m = a[0];
               i64 i = 0;
               {mode} while (i < n) {{ f32 x = a[i]; m = x > m ? x : m; i = i + 1; }}
               return m;
             }}"
        )
    };
    let summary = "func @most(a: const ptr<f32>, n: i64) {
      %0 = view a[#0] : tensor<n x f32>
      %1 = view a[0] : tensor<f32>
      %2 = reduce %0, %1, reducer = take_if(GT), dimensions = [0] : tensor<f32>
      return %2
    }";
    assert_eq!(ask(&kernel(""), summary), Ok(Tier::Exact));
    assert_eq!(ask(&kernel("simd(maximum m)"), summary), Ok(Tier::Real));
    for mode in ["simd(minimum m)", "simd(add m)", "simd()", "parallel"] {
        let why = ask(&kernel(mode), summary).unwrap_err();
        assert!(
            why.contains("m is carried from round to round"),
            "{mode}: {why}"
        );
    }
}
