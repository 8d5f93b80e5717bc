//! Generated code that asks for memory: with it, without it, and beside the original.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use tensorize_e2e::{lifted, succeed};

/// So many floats each way are 64 MiB.
const LARGE: &str = "4096";

fn run(mode: &str, limit_kib: Option<u32>) -> String {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, program) = BUILT.get_or_init(|| lifted("memory"));
    let limit = limit_kib.map_or(String::new(), |kib| format!("ulimit -v {kib} && "));
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{limit}exec \"$0\" {LARGE}")])
        .arg(program)
        .envs([("TENSORIZE", mode), ("OMP_NUM_THREADS", "1")]);
    succeed(&mut command)
}

fn answered(printed: &str, call: &str, by: &str) {
    let line = printed
        .lines()
        .find(|l| l.starts_with(&format!("{call}: right true 0 ")))
        .unwrap_or_else(|| panic!("{call}:\n{printed}"));
    assert!(line.contains(by), "{line}");
}

#[test]
fn generated_code_answers_where_there_is_memory() {
    let printed = run("cpu", None);
    for call in ["flat small", "square small", "flat large", "square large"] {
        answered(&printed, call, "original 0 target 1");
    }
}

#[test]
fn the_original_answers_where_there_is_none() {
    // The square itself, and one part of what is asked for.
    let printed = run("cpu", Some(160 << 10));
    for call in ["flat small", "square small"] {
        answered(&printed, call, "original 0 target 1");
    }
    for call in ["flat large", "square large"] {
        answered(&printed, call, "original 1 target 0 there was no memory");
    }
}

#[test]
fn both_agree() {
    let printed = run("shadow", None);
    for call in ["flat small", "square small", "flat large", "square large"] {
        answered(&printed, call, "");
    }
    let printed = run("shadow", Some(160 << 10));
    answered(&printed, "square large", "");
    run("auto", None);
}
