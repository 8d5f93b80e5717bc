//! The emulated tensor processor core, by itself: `tpc.cpp`.

use std::path::Path;
use std::process::Command;

#[test]
fn intrinsics_do_what_their_documents_say() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("tpc");
    let output = Command::new("c++")
        .args(["-std=gnu++17", "-O1", "-fwrapv", "-ffp-contract=off"])
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(tensorize_emulation::include_dir())
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tpc.cpp"))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("a C++ compiler");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let output = Command::new(&program).output().expect("it starts");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    // What leaves the pattern that the glue code promises is noticed.
    let output = Command::new(&program)
        .arg("mistake")
        .output()
        .expect("it starts");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && log.contains("outside of the pattern"),
        "{log}"
    );
}
