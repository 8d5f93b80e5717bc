//! Every lemma that the prover instantiates is a theorem: the solver proves it with real products, where
//! the prover itself only has names for them. And the check for contradictory assumptions sees one.

use std::time::Duration;
use tensorize_ir::limit;
use tensorize_prove::smt::{self, theorem};
use tensorize_prove::solver::{self, Answer, Solver};

fn solver() -> Solver {
    Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it")
}

#[test]
fn every_lemma_is_a_theorem() {
    let mut solver = solver();
    for (_, lemma) in smt::LEMMAS {
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
fn what_a_proof_rests_on_is_kept() {
    let mut solver = solver();
    let unsat = "(declare-const x Int)(assert (< x x))";
    solver.check(unsat);
    solver.record();
    // Also what was answered before.
    solver.check(unsat);
    solver.check("(declare-const x Int)(assert (< x 1))");
    assert_eq!(solver.take_recorded(), [unsat]);
    solver.check(unsat);
    assert!(solver.take_recorded().is_empty());
}

#[test]
fn nothing_is_shown_when_the_time_is_up() {
    let mut solver = solver();
    let script = "(assert false)";
    assert_eq!(solver.check(script), Answer::Unsat);
    let late = limit::within(Duration::ZERO, || solver.check(script));
    assert_eq!(late, Ok(Answer::Unknown));
    assert_eq!(solver.check(script), Answer::Unsat);
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
