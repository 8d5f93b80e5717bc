//! What the end-to-end tests share: copies of the demo project, and commands in a chosen environment.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

pub mod parallel;
pub mod table;

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests lies in the repository")
        .to_path_buf()
}

/// The C and C++ files of a folder of the repository, by name. None if there is no such folder.
pub fn sources(folder: &str) -> Vec<PathBuf> {
    let listed = fs::read_dir(root().join(folder));
    let mut files: Vec<PathBuf> = listed
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "c" || e == "cpp"))
        .collect();
    files.sort();
    files
}

/// Where these tests build: below the workspace's target folder, one folder for all so that what the projects depend
/// on is compiled once.
pub fn target_dir() -> PathBuf {
    let workspace = std::env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty());
    root()
        .join(workspace.map_or_else(|| "target".into(), PathBuf::from))
        .join("e2e")
}

/// The demo project with its stored results.
pub fn demo() -> PathBuf {
    root().join("fixtures/demo")
}

/// A copy of the demo project, stored results and all, that a test may change. Its paths to our crates are absolute.
/// It has a name of its own, since cargo takes two projects of one name in one target folder for the same.
pub fn copy_of_demo(to: &Path, name: &str) {
    copy(&demo(), to);
    let manifest = to.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("the demo has a manifest");
    let text = text.replace("../..", &root().to_string_lossy());
    let text = text.replace("name = \"demo\"", &format!("name = \"{name}\""));
    fs::write(&manifest, text).expect("a writable copy");
}

/// Copies a folder, without what builds left behind.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a writable folder");
    for entry in fs::read_dir(from).expect("the demo is there").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            // What a build of the demo left behind.
            if name != "target" && name != "out" {
                copy(&path, &to.join(name));
            }
        } else {
            fs::copy(&path, to.join(name)).expect("a readable file");
        }
    }
}

/// Runs `command`; its standard output if it succeeds, else a panic with all that it said.
pub fn succeed(command: &mut Command) -> String {
    let output = run(command);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?} failed ({})\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// Runs `command`, whatever comes of it.
pub fn run(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// One build at a time: the next one replaces the program before it is copied.
static BUILDING: Mutex<()> = Mutex::new(());

/// Builds the project in `folder` with `command` (a cargo in some environment), and returns the program.
pub fn build(command: &mut Command, folder: &Path, program: &str) -> PathBuf {
    let _one = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    command
        .args(["build", "--release", "--manifest-path"])
        .arg(folder.join("Cargo.toml"));
    command.env("CARGO_TARGET_DIR", target_dir());
    succeed(command);
    let built = target_dir().join("release").join(program);
    let own = folder.join(format!("{program}.run"));
    fs::copy(&built, &own).unwrap_or_else(|error| panic!("{}: {error}", built.display()));
    own
}

/// A copy of a project of these tests, lifted and built; the folder, and the program in it.
pub fn lifted(project: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    copy(&root().join("tests/projects").join(project), folder.path());
    let manifest = folder.path().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let text = text.replace("../../..", &root().to_string_lossy());
    fs::write(&manifest, text).expect("a writable copy");
    lift(&manifest);
    let program = build(cargo().env("TENSORIZE_STRICT", "1"), folder.path(), project);
    (folder, program)
}

/// Has the tool lift a project's kernels, and store code for them.
pub fn lift(manifest: &Path) {
    // The first build tells the tool what there is. It may fail: what a kernel on structs is in Rust is not known
    // before it is lifted.
    let mut first = cargo();
    first
        .args(["build", "--release", "--manifest-path"])
        .arg(manifest)
        .env("TENSORIZE_BIN", "")
        .env("CARGO_TARGET_DIR", target_dir());
    run(&mut first);
    let arguments = ["cargo-tensorize", "--manifest-path"].map(OsString::from);
    let code = cargo_tensorize::main(arguments.into_iter().chain([manifest.into()]));
    let success = std::process::ExitCode::SUCCESS;
    let (code, success) = (format!("{code:?}"), format!("{success:?}"));
    assert_eq!(code, success, "{} is lifted", manifest.display());
}

/// The cargo that runs these tests, without what it set for them.
pub fn cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        let cargos = name_text.starts_with("CARGO_")
            && !matches!(
                &*name_text,
                "CARGO_HOME" | "CARGO_TARGET_DIR" | "CARGO_BUILD_BUILD_DIR"
            );
        if cargos || name_text.starts_with("TENSORIZE_") {
            command.env_remove(name);
        }
    }
    // What is proven is proven here and now.
    command.env("TENSORIZE_CACHE", "off");
    command
}
