//! Makes what the program writes fail; see `store/faults.c`.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use tempfile::TempDir;

/// Compiled once.
static LIBRARY: LazyLock<TempDir> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/faults.c");
    let out = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .args([&dir.path().join("faults.so"), &source])
        .arg("-ldl")
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    dir
});

/// The fault happens at this call of those that write below the folder.
pub fn inject(command: &mut Command, below: &Path, kind: &str, at: usize) {
    command
        .env("LD_PRELOAD", LIBRARY.path().join("faults.so"))
        .env("FAULT_DIR", below)
        .env("FAULT_KIND", kind)
        .env("FAULT_AT", at.to_string());
}
