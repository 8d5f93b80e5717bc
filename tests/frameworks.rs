//! A real program on every Python framework that is installed: lifted, built, run, and the report says who computed.
//! The tests of a framework are in a module of its name, so that one that is not there can be left out by name.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use tensorize_e2e::{build, cargo, copy, lift, root, succeed};

/// How many kernels the project has.
const KERNELS: usize = 7;

fn python() -> PathBuf {
    cargo_tensorize::tools::find_python()
}

/// Whether a target's package loads. Some take seconds for that.
fn is_installed(target: &str) -> bool {
    static KNOWN: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(target.into()).or_insert_with(|| loads(target))
}

fn loads(target: &str) -> bool {
    let package = backends::targets()
        .iter()
        .find(|t| t.name() == target)
        .and_then(|t| t.python_package())
        .expect("a target in Python");
    let import = format!("import {package}");
    let loads = tensorize_e2e::run(Command::new(python()).args(["-c", &import]));
    if !loads.status.success() {
        eprintln!(
            "SKIPPED: no Python with {package}; `cargo xtask setup --frameworks all` installs one"
        );
    }
    loads.status.success()
}

/// The project, lifted for all that is installed, and built once.
fn program() -> &'static PathBuf {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, program) = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        copy(&root().join("tests/projects/frameworks"), folder.path());
        let manifest = folder.path().join("Cargo.toml");
        let text = fs::read_to_string(&manifest).expect("a manifest");
        let in_python = backends::targets()
            .into_iter()
            .filter(|t| t.python_package().is_some());
        let names: Vec<_> = in_python
            .map(|t| t.name())
            .filter(|name| is_installed(name))
            .map(|name| format!("\"{name}\""))
            .collect();
        let text = text.replace("../../..", &root().to_string_lossy()).replace(
            "targets = [\"cpu\", \"numpy\"]",
            &format!("targets = [{}]", names.join(", ")),
        );
        assert!(text.contains("targets = [\"numpy\""), "{text}");
        fs::write(&manifest, text).expect("a writable copy");
        lift(&manifest);
        let strict = &mut cargo();
        strict.env("TENSORIZE_STRICT", "1");
        let program = build(strict, folder.path(), "frameworks");
        (folder, program)
    });
    program
}

/// A line a kernel.
fn run(command: &mut Command) -> Vec<String> {
    let printed = succeed(command.env("TENSORIZE_PYTHON", python()));
    let lines: Vec<String> = printed.lines().map(String::from).collect();
    assert_eq!(lines.len(), KERNELS, "{printed}");
    lines
}

fn computes(target: &str) {
    if !is_installed(target) {
        return;
    }
    for line in run(Command::new(program()).env("TENSORIZE", target)) {
        let start = line.split(" original ").next().unwrap_or_default();
        assert!(start.ends_with(&format!(" ok {target}")), "{line}");
        assert!(line.contains(" original 0 target 2"), "{line}");
    }
}

/// A framework that throws when it is imported: the original answers, and the report says what happened.
fn throws(target: &str) {
    if !is_installed(target) {
        return;
    }
    let broken = root().join("tests/projects/broken_frameworks").join(target);
    let mut command = Command::new(program());
    command.env("TENSORIZE", target).env("PYTHONPATH", broken);
    for line in run(&mut command) {
        assert!(line.contains(" ok original original 2 target 0"), "{line}");
        assert!(line.contains("ImportError: not today"), "{line}");
    }
}

/// A worker that is killed in the middle of a call: the original answers that one, too, on arrays that are as they were.
fn killed(target: &str) {
    if !is_installed(target) {
        return;
    }
    let dying = root().join("tests/projects/dying_frameworks");
    for when in ["read", "stored"] {
        let mut command = Command::new(program());
        command
            .env("TENSORIZE", target)
            .env("TENSORIZE_TEST_DIES", when)
            .env("PYTHONPATH", &dying);
        for line in run(&mut command) {
            let answered = line.contains(" ok original original 2 target 0");
            assert!(answered && line.contains("signal 9"), "{when}: {line}");
        }
    }
}

/// `TENSORIZE=tune` measures what there is at each size that the program has, and changes no result.
fn tunes(target: &str) {
    if !is_installed(target) {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("tuned");
    let mut command = Command::new(program());
    command
        .env("TENSORIZE", "tune")
        .env("TENSORIZE_TUNED", &file);
    for line in run(&mut command) {
        assert!(line.contains(" ok original original 2 target 0"), "{line}");
    }
    let measured = fs::read_to_string(file).expect("measurements");
    assert_eq!(measured.lines().count(), 2 * KERNELS, "{measured}");
    for line in measured.lines() {
        assert!(line.contains(" original "), "{line}");
        assert!(line.contains(&format!(" {target} ")), "{line}");
    }
}

macro_rules! frameworks {
    ($($target:ident),*) => { $(
        mod $target {
            #[test]
            fn computes() {
                super::computes(stringify!($target));
            }

            #[test]
            fn killed() {
                super::killed(stringify!($target));
            }

            #[test]
            fn throws() {
                super::throws(stringify!($target));
            }
        }
    )* };
}

frameworks!(numpy, jax, pytorch, tensorflow, mlx, dask, stablehlo);

#[test]
fn tune_measures_every_kernel_at_every_size() {
    tunes("numpy");
}

#[test]
fn every_target_in_python_is_here() {
    let tested = include_str!("frameworks.rs");
    for target in backends::targets()
        .iter()
        .filter(|t| t.python_package().is_some())
    {
        let listed = tested.lines().filter(|l| l.starts_with("frameworks!("));
        assert!(
            listed
                .flat_map(|l| l.split(['(', ',', ')', ' ']))
                .any(|w| w == target.name())
        );
    }
}
