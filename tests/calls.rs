//! Calls that alias, have odd sizes, come from C, from many threads, or after the worker was killed.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use tensorize_e2e::{build, cargo, copy_of_demo, root, succeed};

/// The demo's kernels with another program, built once.
fn program() -> &'static PathBuf {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, program) = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        copy_of_demo(folder.path(), "demo-calls");
        let own = root().join("tests/projects/calls");
        fs::remove_dir_all(folder.path().join("src")).expect("the demo's program");
        fs::create_dir(folder.path().join("src")).expect("a writable copy");
        fs::copy(own.join("main.rs"), folder.path().join("src/main.rs"))
            .expect("the other program");
        fs::copy(own.join("caller.c"), folder.path().join("kernels/caller.c"))
            .expect("the C caller");
        let script = folder.path().join("build.rs");
        let text = fs::read_to_string(&script).expect("a build script");
        let more = text.replace(
            ".compile(",
            ".file(\"kernels/caller.c\")\n        .compile(",
        );
        assert_ne!(
            text, more,
            "the build script has the form that this test expects"
        );
        fs::write(script, more).expect("a writable copy");
        let program = build(
            cargo().env("TENSORIZE_STRICT", "1"),
            folder.path(),
            "demo-calls",
        );
        (folder, program)
    });
    program
}

fn run(mode: &str) -> String {
    let printed = succeed(Command::new(program()).env("TENSORIZE", mode));
    for group in ["aliasing", "sizes", "from C", "threads", "after the kill"] {
        assert!(
            printed.lines().any(|line| line == format!("ok {group}")),
            "{mode}, {group}:\n{printed}"
        );
    }
    printed
}

/// How many calls of `kernel` a target answered.
fn by_target(printed: &str, kernel: &str) -> u64 {
    let line = printed
        .lines()
        .find(|line| line.starts_with(&format!("ran {kernel} ")))
        .unwrap_or_default();
    let words: Vec<&str> = line.split(' ').collect();
    words
        .get(5)
        .and_then(|word| word.parse().ok())
        .unwrap_or_else(|| panic!("no line of {kernel} in:\n{printed}"))
}

#[test]
fn generated_c_answers_as_the_original() {
    let printed = run("cpu");
    assert!(
        by_target(&printed, "multiply_blend") > 300,
        "the threads' calls ran elsewhere:\n{printed}"
    );
    assert!(
        printed.contains("from C: 1 by a target"),
        "C callers get the swap:\n{printed}"
    );
}

#[test]
fn the_default_answers_as_the_original() {
    run("auto");
}

#[test]
fn numpy_answers_as_the_original_and_survives_its_workers_death() {
    let printed = run("numpy");
    assert!(
        by_target(&printed, "multiply_blend") > 0,
        "the worker answered nothing:\n{printed}"
    );
    assert!(printed.contains("killed 1 workers"), "{printed}");
}

#[test]
fn a_missing_interpreter_means_the_original() {
    let mut command = Command::new(program());
    command
        .env("TENSORIZE", "numpy")
        .env("TENSORIZE_PYTHON", "/nowhere/python3");
    let printed = succeed(&mut command);
    assert_eq!(by_target(&printed, "multiply_blend"), 0, "{printed}");
}

#[test]
fn both_run_in_shadow_mode_and_agree() {
    for mode in ["shadow", "shadow=numpy"] {
        let printed = run(mode);
        let line = printed
            .lines()
            .find(|line| line.starts_with("ran multiply_blend "))
            .expect("a report");
        assert!(
            !line.contains(" compared 0 ") && line.ends_with(" differed 0"),
            "{mode}: {line}"
        );
        assert!(
            !printed
                .lines()
                .any(|line| line.starts_with("ran ") && !line.ends_with(" differed 0")),
            "{printed}"
        );
    }
}
