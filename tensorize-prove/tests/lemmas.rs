//! Every lemma that the prover instantiates is a theorem: the solver proves it with real products, where
//! the prover itself only has names for them. And the check for contradictory assumptions sees one.

use tensorize_prove::smt;
use tensorize_prove::solver::{self, Answer, Solver};

fn solver() -> Solver {
    Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it")
}

/// The lemma with its names defined as what they stand for.
fn theorem(lemma: &str) -> String {
    let mut script = String::new();
    for name in ["X", "Y", "C", "E"] {
        script.push_str(&format!("(declare-const {name} Int)\n"));
    }
    for (name, meaning) in [
        ("XY", "(* X Y)"),
        ("CX", "(* C X)"),
        ("CY", "(* C Y)"),
        ("CQ", "(* C (div E C))"),
    ] {
        script.push_str(&format!("(define-fun {name} () Int {meaning})\n"));
    }
    script.push_str(&format!("(assert (not {lemma}))"));
    script
}

#[test]
fn every_lemma_is_a_theorem() {
    let mut solver = solver();
    for lemma in [
        smt::PRODUCT_NON_NEGATIVE,
        smt::PRODUCT_GROWS,
        smt::PRODUCT_MONOTONE,
        smt::PRODUCT_STEPS,
        smt::FLOOR_DIVISION,
    ] {
        assert_eq!(solver.check(&theorem(lemma)), Answer::Unsat, "{lemma}");
    }
}

#[test]
fn a_wrong_lemma_is_none() {
    let mut solver = solver();
    for lemma in [
        // Without the sign of the factor.
        "(=> (>= X Y) (>= CX CY))",
        "(=> (>= X 1) (>= XY Y))",
        "(=> (>= C 1) (and (<= CQ E) (< E CQ)))",
    ] {
        assert_eq!(solver.check(&theorem(lemma)), Answer::Sat, "{lemma}");
    }
}

/// What `chain::decode` rests on: quotient and remainder are unique.
#[test]
fn positional_notation_is_unique() {
    let script =
        "(declare-const q Int)(declare-const p Int)(declare-const r Int)(declare-const s Int)
        (declare-const c Int)
        (assert (and (<= 0 r) (< r c) (<= 0 s) (< s c)))
        (assert (= (+ (* q c) r) (+ (* p c) s)))
        (assert (not (and (= p q) (= r s))))";
    assert_eq!(solver().check(script), Answer::Unsat);
    let without_a_bound = script.replace("(< s c)", "true");
    assert_eq!(solver().check(&without_a_bound), Answer::Sat);
}

#[test]
fn a_solver_that_dies_answers_unknown_and_comes_back() {
    let mut solver = solver();
    assert_eq!(solver.check("(this is no SMT-LIB"), Answer::Unknown);
    assert_eq!(solver.check("(assert false)"), Answer::Unsat);
}

#[test]
fn what_is_no_z3_is_refused() {
    let Err(error) = Solver::new("/bin/true") else {
        panic!("/bin/true is no solver")
    };
    assert!(error.to_string().contains("4.13.3"), "{error}");
    let Err(error) = Solver::new("/nonexistent/z3") else {
        panic!("nothing is no solver")
    };
    assert!(error.to_string().contains("/nonexistent/z3"), "{error}");
}
