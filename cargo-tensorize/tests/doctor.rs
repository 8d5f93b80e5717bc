//! `doctor`: what is there, and the command that mends what is not.

mod common;

use common::{code, command, stderr, stdout};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn doctor(set: &[(&str, &str)], args: &[&str]) -> Output {
    let args = [&["doctor"], args].concat();
    let mut doctor = command(Path::new("."), &args);
    doctor.envs(set.iter().copied()).output().unwrap()
}

fn check(out: &Output, name: &str) -> Value {
    let text = stdout(out);
    let mut lines = text
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap());
    lines
        .find(|l| l["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {text}"))
}

const JSON: [&str; 2] = ["--message-format", "json"];

#[test]
fn what_is_there_has_a_version_and_a_place() {
    let out = doctor(&[], &JSON);
    assert_eq!(code(&out), 0, "{}", stdout(&out));
    for name in [
        "cargo-tensorize",
        "Z3",
        "libclang",
        "C compiler",
        "processor",
    ] {
        let c = check(&out, name);
        assert_eq!(c["found"], true, "{c}");
        assert!(!c["version"].as_str().unwrap().is_empty(), "{c}");
    }
    // The same Z3 that proofs are made with.
    let z3 = check(&out, "Z3");
    let place = z3["place"].as_str().unwrap();
    let said = std::process::Command::new(place)
        .arg("--version")
        .output()
        .unwrap();
    assert!(
        stdout(&said).contains(z3["version"].as_str().unwrap()),
        "{z3}"
    );
    assert!(Path::new(check(&out, "libclang")["place"].as_str().unwrap()).is_file());
    let people = stdout(&doctor(&[], &[]));
    assert!(people.contains("ok       Z3"), "{people}");
}

#[test]
fn what_is_needed_and_missing_is_a_failure_with_its_command() {
    for (name, variable) in [
        ("Z3", "TENSORIZE_Z3"),
        ("libclang", "LIBCLANG_PATH"),
        ("C compiler", "CC"),
    ] {
        let out = doctor(&[(variable, "/nowhere/tool")], &JSON);
        assert_eq!(code(&out), 101, "{name}: {}", stdout(&out));
        let c = check(&out, name);
        assert_eq!(c["found"], false, "{c}");
        if name != "C compiler" {
            let remedy = c["remedy"].as_str().unwrap();
            assert!(
                remedy.starts_with(&format!("unset {variable}; ")),
                "{remedy}"
            );
            assert!(remedy.contains("pip install"), "{remedy}");
        }
    }
}

/// An old Z3 is none: it is told, and not used.
#[test]
fn a_tool_that_lies_about_itself_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    common::write(
        dir.path(),
        "z3",
        "#!/bin/sh\necho 'Z3 version 4.8.12 - 64 bit'\n",
    );
    let path = dir.path().join("z3");
    let mut mode = std::fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    let out = doctor(&[("TENSORIZE_Z3", path.to_str().unwrap())], &[]);
    assert_eq!(code(&out), 101);
    assert!(stdout(&out).contains("4.8.12"), "{}", stdout(&out));
}

#[test]
fn a_framework_that_is_missing_is_no_failure() {
    let out = doctor(&[("TENSORIZE_PYTHON", "/nowhere/python3")], &[]);
    assert_eq!(code(&out), 0, "{}{}", stdout(&out), stderr(&out));
    assert!(stdout(&out).contains("no       Python"), "{}", stdout(&out));
}
