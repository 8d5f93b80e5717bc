//! A real program on every Python framework that is installed: lifted, built, run, and the report says who computed.
//! The tests of a framework are in a module of its name, so that one that is not there can be left out by name.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::{Mutex, OnceLock, PoisonError};

use tensorize_e2e::{build, cargo, copy, lift, root, succeed, target_dir};

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

mod cluster {
    mod dask {
        use super::super::*;

        /// A scheduler that nobody is at: one kernel waits for it, as long as Dask's settings say, and the original answers all.
        #[test]
        fn a_scheduler_that_does_not_answer() {
            if !is_installed("dask") {
                return;
            }
            let mut command = Command::new(program());
            command
                .env("TENSORIZE", "dask")
                .env("TENSORIZE_DASK_SCHEDULER", "tcp://127.0.0.1:1")
                .env("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "2s");
            let lines = run(&mut command);
            for line in &lines {
                assert!(line.contains(" ok original original 2 target 0"), "{line}");
                assert!(line.contains("127.0.0.1:1"), "{line}");
            }
            let at_once = lines.iter().filter(|l| l.contains("did not answer before"));
            assert_eq!(at_once.count(), KERNELS - 1, "{lines:#?}");
        }
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

/// `torch.compile`, which is only for those who ask for it.
mod compiled {
    mod pytorch {
        use super::super::{is_installed, program, run};
        use std::path::{Path, PathBuf};
        use std::process::Command;

        #[test]
        fn computes_when_asked() {
            if !is_installed("pytorch") {
                return;
            }
            // Where the compiler writes what it makes.
            let made = tempfile::tempdir().expect("a temporary folder");
            let mut command = Command::new(program());
            command
                .env("TENSORIZE", "pytorch")
                .env("TENSORIZE_TORCH_COMPILE", "1")
                .env("TORCHINDUCTOR_CACHE_DIR", made.path());
            let lines = run(&mut command);
            // Of tier `real`.
            let line = lines.iter().find(|l| l.starts_with("sigmoid"));
            let line = line.expect("the kernel");
            let computed = line.contains(" ok pytorch original 0 target 2");
            assert!(computed, "{line}");
            assert!(libraries(made.path()) > 0, "nothing was compiled: {line}");
        }

        fn libraries(folder: &Path) -> usize {
            let listed = std::fs::read_dir(folder).expect("a folder");
            let paths = listed.flatten().map(|entry| entry.path());
            let count = |path: PathBuf| match path.is_dir() {
                true => libraries(&path),
                false => usize::from(path.extension().is_some_and(|e| e == "so")),
            };
            paths.map(count).sum()
        }
    }
}

/// What the README promises, as a person types it: the target is named on the command line, and the manifest names none.
#[test]
fn a_target_of_the_command_line_computes_in_the_program() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    copy(&root().join("tests/projects/frameworks"), folder.path());
    let manifest = folder.path().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let (before, rest) = text
        .split_once("[package.metadata.tensorize]")
        .expect("the targets");
    let (_, after) = rest.split_once("\n\n").expect("what follows them");
    let text = format!("{before}{after}").replace("../../..", &root().to_string_lossy());
    // Two projects of one name in one target folder are the same to cargo.
    let text = text.replace("name = \"frameworks\"", "name = \"by-option\"");
    assert!(!text.contains("numpy"), "{text}");
    fs::write(&manifest, text).expect("a writable copy");
    let in_project = |verb: &str| {
        let mut command = cargo();
        command.args([verb, "--release", "--quiet", "--manifest-path"]);
        command.arg(&manifest).env("CARGO_TARGET_DIR", target_dir());
        // What is stored is all that there is.
        command.env("TENSORIZE_BIN", "");
        command
    };
    // The build tells what it compiles.
    tensorize_e2e::run(&mut in_project("check"));
    // As cargo starts it.
    let words = [
        "cargo-tensorize",
        "tensorize",
        "--target",
        "numpy",
        "--manifest-path",
    ];
    let words = words.map(OsString::from).into_iter();
    let code = cargo_tensorize::main(words.chain([manifest.clone().into()]));
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));

    let mut command = in_project("run");
    command
        .env("TENSORIZE_STRICT", "1")
        .env("TENSORIZE", "numpy");
    for line in run(&mut command) {
        assert!(line.contains(" ok numpy original 0 target 2"), "{line}");
    }
}

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
