//! Contradictory assumptions prove nothing: neither a wrong summary, nor a right one.

use tensorize_ir::{loopir, tensir};
use tensorize_lift::summarise::Summariser;
use tensorize_prove::solver::{self, Solver};
use tensorize_prove::{Options, Verdict, prove};

const SUM: &str = "i32 sum(const i32 *x, i32 n) {
  i32 s = 0;
  i32 i = 0;
  while #0 @1 (i < n) {
    s = s + x[(i64)i];
    i = i + 1;
  }
  return s;
}";

const RIGHT: &str = "func @sum(x: const ptr<i32>, n: i32) {
  %0 = view x[#0] : tensor<n x i32>
  %1 = constant 0:i32 : tensor<i32>
  %2 = reduce %0, %1, reducer = add, dimensions = [0] : tensor<i32>
  return %2
}";

/// The sum plus 12345 claimed to be the sum of squares is what the leading peer's axioms let through.
const WRONG: &str = "func @sum(x: const ptr<i32>, n: i32) {
  %0 = view x[#0] : tensor<n x i32>
  %1 = constant 12345:i32 : tensor<i32>
  %2 = multiply %0, %0 : tensor<n x i32>
  %3 = reduce %2, %1, reducer = add, dimensions = [0] : tensor<i32>
  return %3
}";

fn ask(summary: &str, planted: &[&str]) -> Verdict {
    let mut solver =
        Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
    let kernel: loopir::Function = SUM.parse().expect("LoopIR");
    let summary: tensir::Function = summary.parse().expect("TensIR");
    let planted_lemmas = planted.iter().map(|s| s.to_string()).collect();
    let options = Options {
        planted_lemmas,
        ..Options::default()
    };
    prove(&kernel, &summary, &Summariser, &mut solver, &options)
}

#[test]
fn without_a_planted_lemma_the_answers_are_right() {
    assert!(matches!(ask(RIGHT, &[]), Verdict::Proven(_)));
    let Verdict::Refuted { inputs, .. } = ask(WRONG, &[]) else {
        panic!("a wrong summary")
    };
    assert!(inputs.contains("12345"), "{inputs}");
}

#[test]
fn a_planted_contradiction_is_seen() {
    for planted in ["false", "(= 0 1)", "(forall ((a Int) (b Int)) (= a b))"] {
        match ask(RIGHT, &[planted]) {
            Verdict::Unknown { obligation, .. } => {
                assert!(obligation.contains("contradict"), "{planted}: {obligation}");
            }
            other => panic!("{planted}: {other:?}"),
        }
        assert!(
            !matches!(ask(WRONG, &[planted]), Verdict::Proven(_)),
            "{planted}"
        );
    }
}

/// Not false by itself, but at odds with a guard.
#[test]
fn a_lemma_against_the_guards_is_seen() {
    let planted = "(forall ((n Int)) (< (* n n) 0))";
    assert!(!matches!(ask(RIGHT, &[planted]), Verdict::Proven(_)));
    assert!(!matches!(ask(WRONG, &[planted]), Verdict::Proven(_)));
}
