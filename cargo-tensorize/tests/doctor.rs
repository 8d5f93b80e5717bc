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
        let remedy = c["remedy"].as_str().unwrap();
        if name == "C compiler" {
            assert_eq!(remedy, "unset CC");
        } else {
            let first = format!("unset {variable}; ");
            assert!(remedy.starts_with(&first), "{remedy}");
            assert!(remedy.contains("pip install"), "{remedy}");
        }
    }
}

/// A program that says this.
fn says(dir: &Path, name: &str, words: &str) -> String {
    let path = common::program(dir, name, &format!("cat <<'END'\n{words}\nEND"));
    path.to_str().unwrap().to_owned()
}

/// Of a machine that has nothing but its package manager.
#[test]
fn compilers_that_are_missing_come_with_the_package_that_has_them() {
    let dir = tempfile::tempdir().unwrap();
    says(dir.path(), "apt-get", "");
    let path = dir.path().to_str().unwrap();
    let mut doctor = command(Path::new("."), &["doctor", "--message-format", "json"]);
    for name in ["CC", "CXX", "HOST_CC", "HOST_CXX"] {
        doctor.env_remove(name);
    }
    let out = doctor.env("PATH", path).output().unwrap();
    assert_eq!(code(&out), 101, "{}", stdout(&out));
    for (name, package) in [("C compiler", "gcc"), ("C++ compiler", "g++")] {
        let c = check(&out, name);
        assert_eq!(c["found"], false, "{c}");
        let remedy = c["remedy"].as_str().unwrap();
        assert!(
            remedy.ends_with(&format!("apt-get install -y {package}")),
            "{c}"
        );
    }
}

#[test]
fn frameworks_that_are_missing_come_with_what_pip_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let python = says(
        dir.path(),
        "python3",
        "{\"python\": \"3.13.5\", \"found\": {}}",
    );
    let named = doctor(&[("TENSORIZE_PYTHON", &python)], &JSON);
    let data = dir.path().to_str().unwrap();
    let path = format!("{data}:{}", std::env::var("PATH").unwrap());
    let unnamed = [
        ("TENSORIZE_PYTHON", ""),
        ("XDG_DATA_HOME", data),
        ("PATH", &path),
    ];
    let mut ours = command(Path::new("."), &["doctor", "--message-format", "json"]);
    let ours = ours
        .envs(unnamed)
        .env_remove("TENSORIZE_PYTHON")
        .output()
        .unwrap();
    assert_eq!(check(&named, "Python")["version"], "3.13.5");
    for (package, told) in [
        ("numpy", "numpy"),
        ("torch", "numpy torch"),
        ("jax", "numpy jax"),
        ("cvc5", "'cvc5>=1.3,<2'"),
    ] {
        let c = check(&named, package);
        assert_eq!(c["found"], false, "{c}");
        let remedy = format!("{python} -m pip install {told}");
        assert_eq!(c["remedy"], remedy, "{c}");
        let c = check(&ours, package);
        let remedy = c["remedy"].as_str().unwrap();
        let folder = format!("{data}/cargo-tensorize/venv");
        assert!(remedy.starts_with("python3 -m venv "), "{c}");
        assert!(
            remedy.ends_with(&format!("{folder}/bin/pip install {told}")),
            "{c}"
        );
    }
}

#[test]
fn devices_and_what_is_optional_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let remote = says(dir.path(), "remote", "cargo-tensorize-remote 0.1.0");
    let cvc5 = says(dir.path(), "cvc5", "This is cvc5 version 1.3.1");
    let there = [
        ("TENSORIZE_REMOTE_BIN", &*remote),
        ("TENSORIZE_CVC5", &cvc5),
    ];
    let out = doctor(&there, &JSON);
    for (name, version, place) in [
        (
            "cargo-tensorize-remote",
            "cargo-tensorize-remote 0.1.0",
            &remote,
        ),
        ("cvc5", "This is cvc5 version 1.3.1", &cvc5),
    ] {
        let c = check(&out, name);
        assert_eq!(
            (&c["version"], &c["place"]),
            (&version.into(), &(**place).into()),
            "{c}"
        );
    }
    // PoCL, which the tests of GPUs use, or what the machine has.
    let c = check(&out, "OpenCL");
    assert_eq!(c["found"], true, "{c}");
    assert!(c["version"].as_str().unwrap().starts_with("OpenCL "), "{c}");
    assert!(c["place"].as_str().unwrap().contains("libOpenCL.so"), "{c}");

    let none = [
        ("OCL_ICD_VENDORS", "/nowhere"),
        ("TENSORIZE_REMOTE_BIN", ""),
        ("TENSORIZE_CVC5", "/nowhere/cvc5"),
    ];
    let out = doctor(&none, &JSON);
    assert_eq!(code(&out), 0, "nothing of that is needed: {}", stdout(&out));
    for (name, remedy) in [
        ("OpenCL", "pocl-opencl-icd"),
        ("cargo-tensorize-remote", "/cargo-tensorize-remote"),
        ("cvc5", "unset TENSORIZE_CVC5"),
    ] {
        let c = check(&out, name);
        assert_eq!(c["found"], false, "{c}");
        assert!(c["remedy"].as_str().unwrap().ends_with(remedy), "{c}");
    }
    // What has no remedy is optional, and says so.
    let people = stdout(&doctor(&none, &[]));
    for name in ["CUDA driver", "NVRTC"] {
        let c = check(&out, name);
        let line = people.lines().find(|l| l.contains(name)).unwrap();
        let told = match c["remedy"].as_str() {
            _ if c["found"] == true => "  ok ",
            Some(remedy) => remedy,
            None => ", and optional",
        };
        assert!(
            people.contains(told) && (told != ", and optional" || line.ends_with(told)),
            "{line}"
        );
    }
}

/// An old Z3 is none: it is told, and not used.
#[test]
fn a_tool_that_lies_about_itself_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let z3 = says(dir.path(), "z3", "Z3 version 4.8.12 - 64 bit");
    let out = doctor(&[("TENSORIZE_Z3", &z3)], &[]);
    assert_eq!(code(&out), 101);
    assert!(stdout(&out).contains("4.8.12"), "{}", stdout(&out));
}

#[test]
fn a_framework_that_is_missing_is_no_failure() {
    let out = doctor(&[("TENSORIZE_PYTHON", "/nowhere/python3")], &[]);
    assert_eq!(code(&out), 0, "{}{}", stdout(&out), stderr(&out));
    assert!(stdout(&out).contains("no       Python"), "{}", stdout(&out));
}
