//! The path of somebody new, from `cargo install` on: the installed command, in a home of its own, on a crate that knows nothing of us.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tensorize_e2e::{cargo, root, succeed, target_dir};

const MANIFEST: &str = "[package]
name = \"newcomer\"
version = \"0.1.0\"
edition = \"2024\"

[build-dependencies]
cc = \"1\"
";
const BUILD: &str = "fn main() {
    cc::Build::new().file(\"c/gain.c\").compile(\"gain\");
}
";
const MAIN: &str = "unsafe extern \"C\" {
    fn gain(x: *const i32, out: *mut i32, n: i32);
}

fn main() {
    let (x, mut out) = ([1, 2, 3], [0; 3]);
    unsafe { gain(x.as_ptr(), out.as_mut_ptr(), 3) };
    println!(\"{out:?}\");
}
";
const KERNEL: &str = "void gain(const int *x, int *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = 3 * x[i];
}
";

fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
    fs::write(path, text).expect("a writable folder");
}

/// `cargo install`, into a folder of its own. That the compiler optimises is not what is tested: so it is what is built already.
fn installed() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut install = cargo();
    install
        .args([
            "install",
            "--path",
            "cargo-tensorize",
            "--debug",
            "--locked",
        ])
        .args(["--offline", "--root"])
        .arg(folder.path())
        .current_dir(root());
    succeed(&mut install);
    let bin = folder.path().join("bin");
    (folder, bin)
}

/// The commands of `docs/start.md`, of which `cargo xtask setup` has run before any test.
#[test]
fn a_kernel_of_ones_own_runs_after_five_commands() {
    let (_folder, bin) = installed();
    let crate_ = tempfile::tempdir().expect("a temporary folder");
    let folder = crate_.path();
    write(folder, "Cargo.toml", MANIFEST);
    write(folder, "build.rs", BUILD);
    write(folder, "src/main.rs", MAIN);
    write(folder, "c/gain.c", KERNEL);
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("a lock file");

    // Nothing of ours is on the PATH but what was installed, and the solver is where the set-up put it.
    let home = std::env::home_dir().expect("a home");
    let of_home = |variable: &str, otherwise: &str| {
        std::env::var_os(variable).map_or_else(|| home.join(otherwise), PathBuf::from)
    };
    let cargo_home = of_home("CARGO_HOME", ".cargo");
    let empty = folder.join("home");
    fs::create_dir(&empty).expect("an empty folder");
    let path = [
        bin,
        cargo_home.join("bin"),
        "/usr/bin".into(),
        "/bin".into(),
    ];
    let path = std::env::join_paths(path).expect("a path");
    let typed = |words: &[&str]| {
        let mut command = Command::new("cargo");
        command
            .args(words)
            .current_dir(folder)
            .env_clear()
            .env("PATH", &path)
            .env("HOME", &empty)
            .env("CARGO_HOME", &cargo_home)
            .env("RUSTUP_HOME", of_home("RUSTUP_HOME", ".rustup"))
            .env("XDG_DATA_HOME", of_home("XDG_DATA_HOME", ".local/share"))
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TARGET_DIR", target_dir().join("installed"));
        command
    };
    let doctor = succeed(&mut typed(&["tensorize", "doctor"]));
    let found = |tool: &str| {
        let line = doctor.lines().find(|l| l.contains(&format!(" {tool} ")));
        line.is_some_and(|l| l.trim_start().starts_with("ok "))
    };
    assert!(found("Z3") && found("libclang"), "{doctor}");

    succeed(&mut typed(&["tensorize", "init", "--yes"]));
    let marked = format!("#include \"tensorize.h\"\n\nTENSORIZE_KERNEL\n{KERNEL}");
    write(folder, "c/gain.c", &marked);
    succeed(&mut typed(&["tensorize"]));
    let report = folder.join("ran.json");
    let mut run = typed(&["run", "--quiet"]);
    run.env("TENSORIZE", "cpu").env("TENSORIZE_REPORT", &report);
    assert_eq!(succeed(&mut run), "[3, 6, 9]\n");
    let ran = fs::read_to_string(&report).expect("a report");
    let ran: serde_json::Value = serde_json::from_str(&ran).expect("JSON");
    let kernel = &ran["kernels"][0];
    assert_eq!(kernel["name"], "gain", "{ran}");
    let cpu_alone = serde_json::json!([{ "by": "cpu", "calls": 1 }]);
    assert_eq!(kernel["answered"], cpu_alone, "{ran}");
}
