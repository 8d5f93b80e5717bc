//! A package with kernels, and the built program run in it.
#![allow(dead_code, reason = "each test uses a part")]

pub mod faults;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Two kernels, one of them annotated, and two functions that are none.
pub const KERNELS: &str = "#include \"tensorize.h\"
static int twice(int x) { return 2 * x; }
TENSORIZE_KERNEL
void scale(const int *a, int *out, int n) { for (int i = 0; i < n; i++) out[i] = twice(a[i]); }
int plain(int a) { return a; }
int named(int a, int b) { return a + b; }
";

/// The manifest of a package with `c/k.c`.
pub const MANIFEST: &str = "[package]
name = \"p\"
version = \"0.1.0\"
edition = \"2024\"
[workspace]
[package.metadata.tensorize]
kernels = [\"c/k.c::named\"]
files = [\"c/k.c\"]
targets = [\"cpu\"]
";

/// Writes a file of a project.
pub fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A shell script in a folder that can be run; its path.
pub fn program(dir: &Path, name: &str, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    write(dir, name, &format!("#!/bin/sh\n{script}\n"));
    let path = dir.join(name);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A package of these kernels.
pub fn project(kernels: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "Cargo.toml", MANIFEST);
    write(dir.path(), "src/lib.rs", "");
    write(dir.path(), "c/k.c", kernels);
    dir
}

/// The files below a folder, with what they hold.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What is below a folder now.
pub fn files(dir: &Path) -> Files {
    let mut all = Files::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    all
}

/// The program, in a folder, outside of any CI system and without a shared cache.
pub fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    command
        .args(args)
        .current_dir(dir)
        .env("TENSORIZE_CACHE", "off")
        // Whether this checkout has a remote is no business of a test's.
        .env("GIT_CEILING_DIRECTORIES", root)
        .env_remove("GITHUB_ACTIONS")
        .env_remove("GITHUB_WORKSPACE");
    command
}

/// Runs the program.
pub fn tensorize(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

/// The exit code.
pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

/// Standard output.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
