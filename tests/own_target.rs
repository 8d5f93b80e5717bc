//! A target of another crate: its code is proven, stored, built in and run like ours.
//!
//! That crate lies outside of the workspace. Its only source file is compiled here once more, to spare the test a build
//! of all that it depends on; CI builds it where it lies.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, ExitCode};

use tensorize_e2e::{build, cargo, copy_of_demo, succeed};

// Our name for it is shorter.
extern crate backends as tensorize_backends;

#[allow(dead_code)]
#[path = "projects/own_target/src/main.rs"]
mod own;

#[test]
fn a_program_computes_on_a_target_of_another_crate() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    copy_of_demo(folder.path(), "demo-serial");
    let manifest = folder.path().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let text = text.replace("[\"cpu\", \"numpy\"]", "[\"serial\"]");
    fs::write(&manifest, text).expect("a writable copy");
    // The first build tells the tool what there is.
    build(
        cargo().env("TENSORIZE_BIN", ""),
        folder.path(),
        "demo-serial",
    );
    let arguments = ["cargo-tensorize", "--manifest-path"].map(OsString::from);
    let arguments = arguments.into_iter().chain([manifest.into()]);
    let code = cargo_tensorize::main_with(arguments, &[&own::Serial]);
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
    let program = build(
        cargo().env("TENSORIZE_STRICT", "1"),
        folder.path(),
        "demo-serial",
    );
    let printed = succeed(
        Command::new(&program)
            .env("TENSORIZE", "serial")
            .arg("--out")
            .arg(folder.path().join("out")),
    );
    let ran = printed.lines().filter(|l| l.contains("  serial  ")).count();
    assert!(ran >= 20, "{ran} kernels on `serial`\n{printed}");
    // In the original's order, so to the bit.
    let dot = printed.lines().find(|l| l.starts_with("dot_product "));
    let dot = dot.unwrap_or_else(|| panic!("no dot_product\n{printed}"));
    assert!(dot.contains("exact") && dot.contains("serial"), "{dot}");
}
