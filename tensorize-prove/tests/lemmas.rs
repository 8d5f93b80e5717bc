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
        "(= (>= E 0) (>= Q 0))",
    ] {
        assert_eq!(solver.check(&theorem(lemma)), Answer::Sat, "{lemma}");
    }
}

/// What `decode::decode` rests on: quotient and remainder are unique.
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

/// What `regroup::one_range` rests on: `t·outer + inner` with `outer < K` and `inner < min(t, e - t·outer)` takes
/// every value in [0, min(t·K, e)) once, at its quotient and remainder.
#[test]
fn tiles_count_a_range_once() {
    let mut solver = solver();
    let declared =
        "(declare-const K Int)(declare-const e Int)(declare-const o Int)(declare-const i Int)
        (declare-const p Int)(declare-const j Int)(declare-const v Int)
        (define-fun least ((x Int) (y Int)) Int (ite (<= x y) x y))";
    for t in 1..=5 {
        let counted = |o: &str, i: &str| {
            format!("(and (<= 0 {o}) (< {o} K) (<= 0 {i}) (< {i} (least {t} (- e (* {t} {o})))))")
        };
        let at = |o: &str, i: &str| format!("(+ (* {t} {o}) {i})");
        let in_range = |v: &str| format!("(and (<= 0 {v}) (< {v} (least (* {t} K) e)))");
        let inside = format!("(=> {} {})", counted("o", "i"), in_range(&at("o", "i")));
        let once = format!(
            "(=> (and {} {} (= {} {})) (and (= o p) (= i j)))",
            counted("o", "i"),
            counted("p", "j"),
            at("o", "i"),
            at("p", "j")
        );
        let (quotient, remainder) = (format!("(div v {t})"), format!("(mod v {t})"));
        let all = format!(
            "(=> {} (and {} (= v {})))",
            in_range("v"),
            counted(&quotient, &remainder),
            at(&quotient, &remainder)
        );
        for claim in [&inside, &once, &all] {
            let script = format!("{declared}(assert (not {claim}))");
            assert_eq!(solver.check(&script), Answer::Unsat, "{claim}");
            // A tile that is one longer meets the next one; one that is one shorter leaves a gap.
            let other = if claim == &all { t - 1 } else { t + 1 };
            let wrong = script.replace(&format!("(least {t} "), &format!("(least {other} "));
            assert_eq!(solver.check(&wrong), Answer::Sat, "{wrong}");
        }
    }
}

/// What `search` rests on. M(j), the least of `exit(k) ? k : N` over k < j, beginning with N, has by induction over j:
/// 0 ≤ M(j) ≤ N; if M(j) < N then M(j) < j and exit(M(j)); and no k < j with exit(k) is below M(j). So T = M(N) is the
/// first exit, or N.
#[test]
fn the_least_exit_is_the_first() {
    let mut solver = solver();
    let declared = "(declare-fun exit (Int) Bool)(declare-const N Int)(declare-const j Int)(declare-const k Int)
        (declare-const M Int)(assert (<= 0 N))
        (define-fun least ((x Int) (y Int)) Int (ite (<= x y) x y))
        (define-fun next () Int (least M (ite (exit j) j N)))";
    let holds = |m: &str, j: &str| {
        format!(
            "(and (<= 0 {m}) (<= {m} N) (=> (< {m} N) (and (< {m} {j}) (exit {m})))
               (=> (and (<= 0 k) (< k {j}) (exit k)) (<= {m} k)))"
        )
    };
    let first = format!("{declared}(assert (not {}))", holds("N", "0"));
    assert_eq!(solver.check(&first), Answer::Unsat);
    let step = format!(
        "{declared}(assert (and (<= 0 j) (< j N)))(assert {})(assert (not {}))",
        holds("M", "j"),
        holds("next", "(+ j 1)")
    );
    assert_eq!(solver.check(&step), Answer::Unsat);
    // Of the last exit none of this is true.
    let last = step.replace("(least M (ite (exit j) j N))", "(ite (exit j) j M)");
    assert_eq!(solver.check(&last), Answer::Sat);
    let conclusion = format!(
        "{declared}(assert {})(assert (not (and (=> (< M N) (exit M)) (=> (and (<= 0 k) (< k M)) (not (exit k))))))",
        holds("M", "N")
    );
    assert_eq!(solver.check(&conclusion), Answer::Unsat);
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
    let recorded = solver.take_recorded();
    let scripts: Vec<&str> = recorded.iter().map(|asked| &*asked.script).collect();
    assert_eq!(scripts, [unsat]);
    solver.check(unsat);
    assert!(solver.take_recorded().is_empty());
}

/// More queries than one beginning serves. What an earlier one declared or asserted has no part in a later one.
#[test]
fn no_query_knows_of_another() {
    let mut solver = solver();
    let mut pids = Vec::new();
    for n in 0..500 {
        let (script, answer) = match n % 3 {
            0 => (format!("(assert (< x {n}))"), Answer::Sat),
            1 => (format!("(assert (< x {n} x))"), Answer::Unsat),
            _ => (format!("(assert (= x {n}))"), Answer::Sat),
        };
        let sort = ["Int", "Real"][n / 3 % 2];
        let script = format!("(declare-const x {sort}){script}");
        assert_eq!(solver.check(&script), answer, "{script}");
        pids.extend(solver.pid());
    }
    pids.dedup();
    assert_eq!((solver.queries(), pids.len()), (500, 1), "and it lives on");
}

/// Cubes that add up to a cube, of which there are none.
fn cubes() -> String {
    let positive = |v| format!("(declare-const {v} Int)(assert (> {v} 0))");
    let numbers: String = ["x", "y", "z"].map(positive).concat();
    numbers + "(assert (= (+ (* x x x) (* y y y)) (* z z z)))"
}

/// The steps run out, and the same process answers what comes next.
#[test]
fn a_query_that_takes_too_many_steps_is_given_up() {
    let mut solver = solver();
    assert_eq!(solver.check("(assert false)"), Answer::Unsat);
    let began = solver.pid();
    assert_eq!(solver.check(&cubes()), Answer::Unknown);
    assert_eq!(solver.check("(assert (not true))"), Answer::Unsat);
    assert_eq!(solver.pid(), began, "it had to be killed");
}

/// One that was given up is not tried again; one that others stopped is.
#[test]
fn what_was_given_up_stays_so() {
    let mut solver = solver();
    let _ = limit::within(Duration::from_millis(300), || solver.check(&cubes()));
    let stopped = solver.queries();
    for _ in 0..2 {
        assert_eq!(solver.check(&cubes()), Answer::Unknown);
        assert_eq!(solver.queries(), stopped + 1);
    }
}

/// The same where the solver counts no steps, and has to be killed.
#[cfg(unix)]
#[test]
fn what_never_ended_is_not_tried_again() {
    use std::os::unix::fs::PermissionsExt;
    let z3 = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("z3_that_never_answers");
    let text =
        "#!/bin/sh\ncase $1 in --version) echo Z3 version 4.13.3;; *) exec sleep 600;; esac\n";
    std::fs::write(&z3, text).unwrap();
    std::fs::set_permissions(&z3, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut solver = Solver::new(&z3).unwrap();
    let _ = limit::within(Duration::from_millis(300), || {
        solver.check("(assert false)")
    });
    let stopped = solver.queries();
    for _ in 0..2 {
        assert_eq!(solver.check("(assert false)"), Answer::Unknown);
        assert_eq!(solver.queries(), stopped + 1);
        assert_eq!((solver.pid(), solver.take_death()), (None, None));
    }
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
