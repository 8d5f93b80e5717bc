use super::*;
use std::os::unix::fs::PermissionsExt;

const TRUE_CLAIM: &str = "(declare-const x Int)(assert (and (> x 0) (< x 1)))";
const FALSE_CLAIM: &str = "(declare-const x Int)(assert (> x 0))";

fn cvc5(dir: &Path) -> Second {
    Second::find("cvc5", dir.to_path_buf())
        .unwrap_or_else(|d| panic!("{}: `cargo xtask setup` installs it", d.message))
}

/// Nobody waits at a terminal.
fn progress() -> Progress {
    Progress::new("confirming", 1)
}

/// A solver of our own: a shell script.
fn solver(dir: &Path, script: &str) -> PathBuf {
    let path = dir.join("solver.sh");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn what_holds_is_confirmed_and_a_planted_wrong_obligation_is_caught() {
    let dir = tempfile::tempdir().unwrap();
    let found = cvc5(dir.path())
        .confirm(
            "k",
            &[TRUE_CLAIM, FALSE_CLAIM, "(assert (= 1"].map(str::to_owned),
            &progress(),
        )
        .unwrap();
    assert_eq!((found.obligations, found.confirmed), (3, 1));
    assert_eq!(found.contradicted, [dir.path().join("k/0001.smt2")]);
    assert_eq!(found.not_confirmed, [dir.path().join("k/0002.smt2")]);
    let text = fs::read_to_string(&found.contradicted[0]).unwrap();
    assert!(
        text.contains(FALSE_CLAIM) && text.ends_with("(check-sat)\n"),
        "{text}"
    );
}

#[test]
fn the_lemmas_are_confirmed_and_a_planted_wrong_one_is_caught() {
    let dir = tempfile::tempdir().unwrap();
    let second = cvc5(dir.path());
    let found = second.confirm_lemmas(&smt::LEMMAS, &progress()).unwrap();
    assert_eq!(found.confirmed, smt::LEMMAS.len(), "{found:?}");
    // Without the sign of the factor.
    let wrong = ("product-grows", "(=> (>= X 1) (>= XY Y))");
    let found = second.confirm_lemmas(&[wrong], &progress()).unwrap();
    assert_eq!(found.contradicted.len(), 1, "{found:?}");
}

#[test]
fn theories_of_the_prover_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let scripts = [
        // Bit-vectors, a sort of our own with a function, strange names, the reals.
        "(declare-const |a[i*n] as ui8| (_ BitVec 8))\n(assert (distinct (bvadd |a[i*n] as ui8| (_ bv0 8)) |a[i*n] as ui8|))",
        "(declare-sort F32 0)\n(declare-fun |add f32| (F32 F32) F32)\n(declare-const |x| F32)\n\
         (assert (not (= (|add f32| |x| |x|) (|add f32| |x| |x|))))",
        "(declare-const |x| Real)\n(assert (not (= (* |x| (+ |x| 1.0)) (+ (* |x| |x|) |x|))))",
    ];
    let found = cvc5(dir.path())
        .confirm("k", &scripts.map(str::to_owned), &progress())
        .unwrap();
    assert_eq!(found.confirmed, 3, "{found:?}");
}

#[test]
fn a_solver_that_hangs_or_prints_rubbish_confirms_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for script in ["sleep 60", "echo maybe", "exit 1"] {
        let second = Second {
            name: "mine".into(),
            program: Program::File(solver(dir.path(), script)),
            dir: dir.path().join("files"),
            limit: Duration::from_millis(300),
        };
        let found = second
            .confirm("k", &[TRUE_CLAIM.to_owned()], &progress())
            .unwrap();
        assert_eq!(
            (found.confirmed, found.not_confirmed.len()),
            (0, 1),
            "{script}"
        );
    }
}

#[test]
fn a_solver_that_says_unsat_to_everything_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let yes = solver(dir.path(), "echo unsat");
    let Err(d) = Second::find(&yes.to_string_lossy(), dir.path().join("files")) else {
        panic!("it can't tell truth from falsehood");
    };
    assert_eq!(d.code, Some("TZ0109"));
    assert!(Second::find("/nowhere/solver", dir.path().join("files")).is_err());
}
