//! The demo project with its stored results, where there is a C compiler and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tensorize_e2e::{build, cargo, copy_of_demo, succeed};

/// All that is on the PATH: what rustc and the C compiler need.
const TOOLS: [&str; 7] = ["cc", "gcc", "as", "ld", "ar", "ranlib", "collect2"];

/// An empty home, and a PATH with the C tool chain and nothing else.
struct Bare {
    home: tempfile::TempDir,
}

impl Bare {
    fn new() -> Bare {
        let home = tempfile::tempdir().expect("a temporary folder");
        let bin = home.path().join("bin");
        fs::create_dir(&bin).expect("an empty folder");
        for tool in TOOLS {
            if let Some(path) = on_path(tool) {
                symlink(path, bin.join(tool)).expect("a link");
            }
        }
        Bare { home }
    }

    fn enter(&self, mut command: Command) -> Command {
        let home = std::env::home_dir().expect("a home");
        let cargo_home =
            std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
        command.env_clear();
        command.env("PATH", self.home.path().join("bin"));
        command
            .env("HOME", self.home.path())
            .env("CARGO_HOME", cargo_home);
        command
    }
}

fn on_path(tool: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(tool))
        .find(|path| path.is_file())
}

fn results(printed: &str) -> BTreeSet<&str> {
    printed
        .lines()
        .filter(|line| line.starts_with("result "))
        .collect()
}

#[test]
fn the_demo_builds_and_runs_without_libclang_z3_and_python() {
    let bare = Bare::new();
    for tool in ["python3", "python", "z3", "clang", "cargo-tensorize"] {
        assert!(!bare.home.path().join("bin").join(tool).exists());
    }
    let folder = bare.home.path().join("project");
    copy_of_demo(&folder, "demo-bare");

    // The real programs: what is on the PATH may be rustup's, which wants a home of its own.
    let mut real = bare.enter(cargo());
    let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
    // Strict: a kernel whose stored result isn't found is an error.
    real.env("RUSTC", rustc).env("TENSORIZE_STRICT", "1");
    let program = build(&mut real, &folder, "demo-bare");

    let run = |mode: &str| {
        let mut command = bare.enter(Command::new(&program));
        succeed(
            command
                .env("TENSORIZE", mode)
                .arg("--out")
                .arg(bare.home.path().join("out")),
        )
    };
    let (off, cpu, numpy) = (run("off"), run("cpu"), run("numpy"));
    let exact = |printed: &str| {
        results(printed)
            .iter()
            .filter(|line| line.contains(" exact "))
            .map(|line| line.to_string())
            .collect::<BTreeSet<_>>()
    };
    assert!(
        exact(&off).len() >= 12,
        "twelve blend modes at least:\n{off}"
    );
    assert_eq!(exact(&off), exact(&cpu), "generated code ran");
    // No interpreter: every call falls back to the original, the floats included.
    assert_eq!(results(&off), results(&numpy), "the original answered");
    assert!(bare.home.path().join("out/contact.png").is_file());
}
