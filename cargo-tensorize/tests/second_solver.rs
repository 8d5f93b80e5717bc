//! `--solver`: proofs are confirmed by a solver that is not Z3.

use std::path::{Path, PathBuf};
use std::process::Command;

fn demo_kernel(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/demo/kernels")
        .join(name)
}

fn lift(args: &[&str], file: &Path) -> (String, Option<i32>) {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tensorize-build/include");
    let done = Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"))
        .args([
            "lift",
            "--no-differential",
            "--message-format",
            "json",
            "--target",
            "cpu",
        ])
        .args(args)
        .arg(file)
        .arg("--")
        .arg(format!("-I{}", include.display()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    (text, done.status.code())
}

#[test]
fn every_obligation_of_the_demo_is_confirmed_by_cvc5() {
    let dir = tempfile::tempdir().unwrap();
    let smt = dir.path().to_string_lossy().into_owned();
    for file in ["blend.c", "llama.c", "dsp.c"] {
        let (text, code) = lift(
            &["--strict", "--solver", "cvc5", "--smt-dir", &smt],
            &demo_kernel(file),
        );
        assert_eq!(code, Some(0), "{text}");
        let (mut kernels, mut asked) = (0, 0);
        for line in text.lines() {
            let message: serde_json::Value = serde_json::from_str(line).unwrap();
            if message["reason"] == "kernel" {
                let said = &message["second_solver"];
                assert_eq!(said["solver"], "cvc5", "{line}");
                assert_eq!(said["obligations"], said["confirmed"], "{line}");
                asked += said["obligations"].as_u64().unwrap();
                kernels += 1;
            }
        }
        assert!(kernels > 0 && asked > kernels, "{asked} of {kernels}");
        let lemma = dir.path().join("lemmas/0000.smt2");
        assert!(lemma.is_file(), "the files are kept");
    }
}

/// Answers the trial rightly, and `sat` to everything else: every proof is taken back.
#[test]
fn what_the_second_solver_finds_wrong_is_not_proven() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let solver = dir.path().join("solver.sh");
    std::fs::write(
        &solver,
        "#!/bin/sh\ncase $1 in */trial/0000.smt2) echo unsat;; *) echo sat;; esac\n",
    )
    .unwrap();
    std::fs::set_permissions(&solver, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (text, code) = lift(
        &["--solver", &solver.to_string_lossy()],
        &demo_kernel("blend.c"),
    );
    assert_eq!(code, Some(101), "{text}");
    assert!(
        text.contains("TZ0403") && !text.contains("\"status\":\"proven\""),
        "{text}"
    );
}

#[test]
fn every_obligation_of_the_benchmarks_is_confirmed_by_cvc5() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/tenspiler/c");
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let done = Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"))
        .args(["lift", "--no-differential", "--message-format", "json"])
        .args(["--solver", "cvc5"])
        .args(files.map(|f| f.path()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    let messages = text.lines().map(serde_json::from_str);
    let messages: Vec<serde_json::Value> = messages.collect::<Result<_, _>>().unwrap();
    let kernels: Vec<_> = messages.iter().filter(|m| m["name"].is_string()).collect();
    assert!(kernels.len() >= 69, "{}", kernels.len());
    let mut confirmed = 0;
    for message in &kernels {
        assert_eq!(message["status"], "proven", "{message}");
        let said = &message["second_solver"];
        assert_eq!(said["obligations"], said["confirmed"], "{message}");
        confirmed += said["confirmed"].as_u64().unwrap();
    }
    println!("{confirmed} obligations of {} kernels", kernels.len());
    // (What has the same form on both sides needs no solver.)
    assert!(confirmed > 200, "{confirmed}");
}

#[test]
fn a_project_is_proven_again_and_confirmed() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/demo");
    let done = Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"))
        .args(["check", "--reprove", "--solver", "cvc5", "--target", "cpu"])
        .args(["--strict", "--offline", "--manifest-path"])
        .arg(demo.join("Cargo.toml"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    let errors = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{text}\n{errors}");
    let said = text
        .lines()
        .find(|l| l.starts_with("cvc5: "))
        .unwrap_or_default();
    let numbers: Vec<&str> = said
        .split(' ')
        .filter(|w| w.parse::<u32>().is_ok())
        .collect();
    assert!(numbers.len() == 2 && numbers[0] == numbers[1], "{text}");
}
