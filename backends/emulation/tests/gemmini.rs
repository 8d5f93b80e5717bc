//! The emulated Gemmini core, by itself: `gemmini.c`, in both configurations.

use std::path::{Path, PathBuf};
use std::process::Command;

fn build(folder: &Path, flags: &[&str]) -> PathBuf {
    let program = folder.join("gemmini");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gemmini.c");
    let output = Command::new("cc")
        .args(["-std=gnu11", "-O2", "-fwrapv", "-ffp-contract=off"])
        .args(["-Wall", "-Wextra", "-Werror", "-pthread"])
        .args(flags)
        .arg("-I")
        .arg(tensorize_emulation::include_dir())
        .arg(source)
        .arg("-o")
        .arg(&program)
        .arg("-lm")
        .output()
        .expect("a C compiler");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    program
}

#[test]
fn instructions_do_what_their_documents_say() {
    for flags in [&[][..], &["-DGEMMINI_FP32"]] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let output = Command::new(build(folder.path(), flags))
            .output()
            .expect("it starts");
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{flags:?}: {log}");
    }
}

#[test]
fn what_a_core_would_not_do_ends_the_process() {
    let mistakes = [
        ("row", "no such row of the scratchpad"),
        ("accumulator-row", "no such row of the accumulator"),
        ("rows", "too many rows"),
        ("blocks", "too many columns"),
        ("transposes-ws", "no such transposes"),
        ("transpose-os", "no such transposes"),
        ("operand", "an operand in the accumulator"),
        ("empty", "empty matrix"),
    ];
    for flags in [&[][..], &["-DGEMMINI_FP32"]] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = build(folder.path(), flags);
        for (mistake, message) in mistakes {
            let output = Command::new(&program)
                .arg(mistake)
                .output()
                .expect("it starts");
            let log = String::from_utf8_lossy(&output.stderr);
            assert!(
                !output.status.success() && log.contains(message),
                "{mistake}: {log}"
            );
        }
    }
}
