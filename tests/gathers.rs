//! Kernels whose indices are read from memory, lifted, built and called: what they reach is known at a call only.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use tensorize_e2e::{lifted, succeed};

fn run(mode: &str) -> String {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, program) = BUILT.get_or_init(|| lifted("gathers"));
    succeed(Command::new(program).env("TENSORIZE", mode))
}

/// The results alone.
fn results(printed: &str) -> Vec<&str> {
    let lines = printed.lines();
    lines
        .map(|l| l.split_once(" | ").map_or(l, |(result, _)| result))
        .collect()
}

const RESULTS: [&str; 35] = [
    "within: [70.0, 0.0, 30.0, 30.0] Ok(())",
    "nothing: [70.0, 0.0, 30.0, 30.0] Ok(())",
    "beyond: ",
    "negative: ",
    "selected: [70.0, -1.0, 10.0] Ok(())",
    "twice: [1.0, 3.0] Ok(())",
    "twice, the first beyond: Err(",
    "twice, the second beyond: Err(",
    "rows: [2.0, 3.0, 0.0, 1.0] Ok(())",
    "rows, too far: true",
    "counted: [10.0, 50.0, 9.0] Ok(())",
    "counted nowhere: [10.0, 50.0, 9.0] Ok(())",
    "counted beyond: [10.0, 50.0, 9.0] Err(",
    "counted before: [10.0, 50.0, 9.0] Err(",
    "binned: [3, 3, 2] Ok(())",
    "binned beyond: [3, 3, 2] Err(",
    "binned, no number: [3, 3, 2] Err(",
    "binned, too large a number: [3, 3, 2] Err(",
    "csr: [60.0, 0.0, 30.0] Ok(())",
    "csr, rows that end before they begin: [0.0, 60.0, 30.0] Ok(())",
    "csr by size: [60.0, 0.0, 30.0] Ok(())",
    "csr by size, a row that takes for ever: [0.0, 0.0, 0.0] Err(",
    "csr by size, a row that ends beyond all addresses: [0.0, 0.0, 0.0] Err(",
    "csr by size, a row that ends at the last number: [0.0, 0.0, 0.0] Err(",
    "added: [8.0, 14.0, 14.0] Ok(())",
    "added beyond: [10.0, 10.0, 10.0] Err(",
    "added before: [10.0, 10.0, 10.0] Err(",
    "kept: [1.0, 3.0, 4.0, 0.0] Ok(3)",
    "kept with less room than may be needed: [0.0, 0.0, 0.0, 0.0] Err(",
    "turned: [0.0, 0.0, 0.0, 0.0, 4.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0] Ok(())",
    "turned, by too many: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0] Err(",
    "before the pointer: [2.0, 5.0, 4.0]",
    "counted beyond the cleared ones: [1.0, 0.0, 11.0]",
    "up to the output: [0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 1.0, 0.0, 8.0, 9.0, 10.0, 11.0]",
    "into the output: [0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 4.0, 8.0, 9.0, 10.0, 11.0]",
];

fn answered(printed: &str, call: &str, by: &str) {
    let line = printed
        .lines()
        .find(|l| l.starts_with(&format!("{call}: ")))
        .unwrap_or_else(|| panic!("no {call}:\n{printed}"));
    assert!(line.contains(by), "{line}");
}

fn check(mode: &str) -> String {
    let printed = run(mode);
    let found = results(&printed);
    assert_eq!(found.len(), RESULTS.len(), "{printed}");
    for (line, expected) in found.iter().zip(RESULTS) {
        assert!(line.starts_with(expected), "{mode}: {line}\n{expected}");
    }
    // Slices that are too short are never read, and nothing is written.
    for call in ["beyond", "negative"] {
        answered(&printed, call, "[70.0, 0.0, 30.0, 30.0] Err(");
    }
    printed
}

#[test]
fn generated_c_answers_where_the_indices_allow_it() {
    let printed = check("cpu");
    for call in [
        "within",
        "selected",
        "twice",
        "rows",
        "csr",
        "csr by size",
        "counted",
        "binned",
        "added",
        "kept",
        "up to the output",
    ] {
        answered(&printed, call, "original 0 target 1");
    }
    for call in [
        "before the pointer",
        "counted beyond the cleared ones",
        "into the output",
    ] {
        answered(&printed, call, "original 1 target 0");
    }
}

#[test]
fn numpy_answers_alike() {
    let printed = check("numpy");
    for call in ["within", "selected", "twice", "rows", "up to the output"] {
        answered(&printed, call, "original 0 target 1");
    }
    for call in ["before the pointer", "into the output"] {
        answered(&printed, call, "original 1 target 0");
    }
}

#[test]
fn the_default_the_original_and_both_together_answer_alike() {
    check("auto");
    check("off");
    check("shadow");
}
