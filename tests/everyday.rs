//! What becomes of a crate with kernels once it is packaged, documented, watched by an editor, and taken to other systems.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

use tensorize_e2e::{cargo, root, run, succeed, target_dir};

const BUILD: &str = "fn main() -> Result<(), tensorize_build::Error> {
    let mut build = tensorize_build::Build::new().file(\"c/scale.c\").define(\"BY\", \"2\");
    if cfg!(feature = \"sum\") {
        build = build.file(\"c/sum.c\");
    }
    build.compile(\"kernels\")
}
";
const LIB: &str = "//! Kernels.
mod kernels {
    tensorize_rt::include_kernels!(\"kernels\");
}
/// Twice as much of each.
pub fn scaled(values: &[i32]) -> Vec<i32> {
    let mut out = vec![0; values.len()];
    kernels::scale(values, &mut out, values.len() as i32).expect(\"as long as the other\");
    out
}
";
const MAIN: &str = "fn main() {
    println!(\"{:?}\", NAME::scaled(&[1, 2, 3]));
    println!(\"{:?}\", tensorize_rt::report());
}
";

/// A crate as somebody would publish it, prepared by `init`, in a repository of its own.
struct Crate {
    folder: tempfile::TempDir,
    name: &'static str,
}

impl Crate {
    fn new(name: &'static str) -> Crate {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let new = Crate { folder, name };
        // Our crates are in no registry: whoever builds this one is told where they are.
        let patches = ["tensorize-rt", "tensorize-build"]
            .map(|c| format!("{c} = {{ path = \"{}\" }}\n", root().join(c).display()));
        let patches = format!("[patch.crates-io]\n{}", patches.concat());
        new.write("../config.toml", &patches);
        // From here, whatever remote this checkout has.
        let [rt, build] = ["tensorize-rt", "tensorize-build"].map(|c| {
            let folder = root().join(c);
            format!(
                "{c} = {{ version = \"0.1.0\", path = \"{}\" }}",
                folder.display()
            )
        });
        new.write(
            "Cargo.toml",
            &format!(
                "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\nlicense = \"MIT\"\n\
                 description = \"Scales\"\nrepository = \"https://example.org\"\n[workspace]\n\
                 [package.metadata.tensorize]\ntargets = [\"cpu\"]\n[features]\nsum = []\n\
                 [dependencies]\n{rt}\n[build-dependencies]\n{build}\n"
            ),
        );
        new.write("build.rs", BUILD);
        new.write("src/lib.rs", LIB);
        new.write(
            "src/main.rs",
            &MAIN.replace("NAME", &name.replace('-', "_")),
        );
        new.write("c/by.h", "#define TIMES(x) ((x) * BY)\n");
        new.write(
            "c/scale.c",
            "#include \"by.h\"\n#include \"tensorize.h\"\nTENSORIZE_KERNEL\n\
             void scale(const int *a, int *out, int n) { for (int i = 0; i < n; i++) out[i] = TIMES(a[i]); }\n",
        );
        new.write(
            "c/sum.c",
            "#include \"tensorize.h\"\nTENSORIZE_KERNEL\n\
             int sum(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }\n",
        );
        fs::copy(root().join("Cargo.lock"), new.path().join("Cargo.lock")).expect("a lock file");
        new.tensorize(&["init", "--yes"]);
        new
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("crate")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
        fs::write(path, text).expect("a writable folder");
    }

    /// A cargo that uses no network.
    fn cargo(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = self.cargo_that_asks(folder, args);
        command.arg("--offline");
        command
    }

    /// A cargo that may ask a registry.
    fn cargo_that_asks(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = cargo();
        command
            .args(args)
            .arg("--config")
            .arg(self.folder.path().join("config.toml"))
            .current_dir(folder)
            .env("CARGO_TARGET_DIR", target_dir().join("everyday"))
            .env("TENSORIZE_BIN", "");
        command
    }

    /// `cargo tensorize`, which succeeds.
    fn tensorize(&self, args: &[&str]) {
        let manifest = self.path().join("Cargo.toml");
        let words = ["cargo-tensorize"].iter().chain(args).map(OsString::from);
        let words = words.chain([
            "--offline".into(),
            "--manifest-path".into(),
            manifest.into(),
        ]);
        let code = cargo_tensorize::main(words);
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
    }

    fn lift(&self) {
        // The build tells what it compiles; its kernels run as they are.
        run(&mut self.cargo(&self.path(), &["check"]));
        self.tensorize(&[]);
        assert!(self.path().join(".tensorize/scale.toml").exists());
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every file below a folder, with what it holds.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => all.push((path.clone(), fs::read(&path).expect("a file"))),
        }
    }
    all.sort();
    all
}

fn git(folder: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=e@example.org"]);
    succeed(git.args(args).current_dir(folder));
}

/// All of `cargo publish` but the upload, to a registry in a folder: its index has to be asked.
fn publish_would_take_it(ours: &Crate) {
    let registry = ours.folder.path().join("registry");
    fs::create_dir(&registry).expect("an empty folder");
    let nowhere = "{\"dl\": \"https://example.org/dl\", \"api\": \"https://example.org\"}";
    fs::write(registry.join("config.json"), nowhere).expect("a writable folder");
    git(&registry, &["init", "-q"]);
    git(&registry, &["add", "."]);
    git(&registry, &["commit", "-q", "-m", "all"]);
    // Without a network all the same, but cargo refuses to ask even a folder when it is told so.
    let args = [
        "publish",
        "--dry-run",
        "--no-verify",
        "--registry",
        "folder",
    ];
    let mut publish = ours.cargo_that_asks(&ours.path(), &args);
    publish.env(
        "CARGO_REGISTRIES_FOLDER_INDEX",
        format!("file://{}", registry.display()),
    );
    let told = said(&run(&mut publish));
    assert!(told.contains("aborting upload due to dry run"), "{told}");
}

/// `cargo package` takes the stored results along, its own check of the package is content, and so is `cargo publish`; who unpacks the package builds it
/// without a network, with the proofs that came with it. So does docs.rs, where nothing may be written beside the sources.
#[test]
fn a_packaged_crate_builds_with_the_results_that_are_in_it() {
    let ours = Crate::new("everyday-packaged");
    ours.lift();
    git(&ours.path(), &["init", "-q"]);
    git(&ours.path(), &["add", "."]);
    git(&ours.path(), &["commit", "-q", "-m", "all"]);
    succeed(&mut ours.cargo(&ours.path(), &["package"]));
    publish_would_take_it(&ours);
    let packed = target_dir()
        .join("everyday/package")
        .join(format!("{}-0.1.0.crate", ours.name));
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let mut tar = Command::new("tar");
    succeed(tar.arg("xzf").arg(packed).arg("-C").arg(elsewhere.path()));
    let folder = elsewhere.path().join(format!("{}-0.1.0", ours.name));
    assert!(folder.join(".tensorize/cpu/scale.c").exists());
    let before = files(&folder);

    let mut build = ours.cargo(&folder, &["run"]);
    let printed = succeed(build.env("TENSORIZE_STRICT", "1").env("TENSORIZE", "cpu"));
    assert!(printed.contains("[2, 4, 6]"), "{printed}");
    assert!(printed.contains("\"cpu\""), "{printed}");

    // A subcommand that is there is not called: it would lift, and write.
    let called = elsewhere.path().join("called");
    let tool = elsewhere.path().join("tool");
    fs::write(&tool, format!("#!/bin/sh\ntouch {}\n", called.display())).expect("a script");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a script");
    fs::remove_file(folder.join(".tensorize/scale.toml")).expect("a record");
    let mut without = before.clone();
    without.retain(|(path, _)| !path.ends_with("scale.toml"));
    let mut doc = ours.cargo(&folder, &["doc", "--no-deps"]);
    doc.env("DOCS_RS", "1").env("TENSORIZE_BIN", &tool);
    let told = said(&run(&mut doc));
    assert!(
        told.contains("no current result for c/scale.c::scale"),
        "{told}"
    );
    assert!(!called.exists());
    assert_eq!(files(&folder).len(), without.len(), "{told}");
    assert!(files(&folder) == without);
    let mut ordinary = ours.cargo(&folder, &["check"]);
    run(ordinary.env("TENSORIZE_BIN", &tool));
    assert!(called.exists(), "it is called where it may be");
}

/// An editor has its own cargo check what is being typed, while somebody builds and `cargo tensorize` looks at the same crate:
/// none of them undoes what another one did.
#[test]
fn an_editors_cargo_and_ours_leave_each_others_work_alone() {
    let ours = Crate::new("everyday-edited");
    ours.lift();
    let busy = |args: &[&str]| {
        let mut command = ours.cargo(&ours.path(), args);
        // As a cargo that ours runs has it.
        command
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("TENSORIZE_BIN");
        let out = run(command.arg("-v"));
        assert!(out.status.success(), "{}", said(&out));
        let told = said(&out);
        let worked = told.lines().map(str::trim_start).filter(|l| {
            ["Compiling", "Checking", "Running", "Dirty"]
                .iter()
                .any(|w| l.starts_with(w))
        });
        // `cargo build` and `cargo check` each have a step of their own.
        worked.map(str::to_owned).collect::<Vec<_>>()
    };
    let editors: &[&str] = &[
        "check",
        "--workspace",
        "--message-format=json-diagnostic-rendered-ansi",
        "--all-targets",
        "--keep-going",
    ];
    assert!(!busy(&["build"]).is_empty() && !busy(editors).is_empty());
    for args in [&["build"][..], editors, &["build"], editors] {
        assert_eq!(busy(args), Vec::<String>::new(), "{args:?}");
    }
    // The gate asks the build script, and what it asked stays as it was.
    ours.tensorize(&["check", "--locked"]);
    for args in [&["build"][..], editors] {
        assert_eq!(busy(args), Vec::<String>::new(), "{args:?}, after the gate");
    }
    // Both at once, one waits for the other's lock.
    std::thread::scope(|scope| {
        let one = scope.spawn(|| busy(&["build"]));
        assert_eq!(busy(editors), Vec::<String>::new());
        assert_eq!(one.join().expect("a build"), Vec::<String>::new());
    });
    // What is noted and stored by ours is a reason to build once, and no more.
    ours.write("c/by.h", "#define TIMES(x) ((x) * BY + 0)\n");
    assert!(!busy(&["build"]).is_empty());
    assert!(!busy(editors).is_empty());
    for args in [&["build"][..], editors] {
        assert_eq!(busy(args), Vec::<String>::new(), "{args:?}");
    }
}

/// Compiling originals is what a build spends its time on, and most of them are as they were.
#[test]
fn an_edit_of_one_file_compiles_no_other() {
    let ours = Crate::new("everyday-compiled");
    let objects = || {
        let json = ["build", "--features", "sum", "--message-format", "json"];
        let mut build = ours.cargo(&ours.path(), &json);
        let told = succeed(build.env_remove("CARGO_TARGET_DIR"));
        let of_script = |line: &str| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            let of_ours = message["package_id"].as_str()?.contains(ours.name);
            let out = message["out_dir"].as_str().filter(|_| of_ours)?;
            Some(PathBuf::from(out))
        };
        let out = told.lines().find_map(of_script).expect("a build script");
        let all = files(&out);
        let object = |path: &PathBuf| path.extension().is_some_and(|e| e == "o");
        let objects = all.into_iter().map(|(path, _)| path).filter(object);
        let made = |path: PathBuf| {
            let time = fs::metadata(&path).and_then(|m| m.modified());
            (path, time.expect("a time"))
        };
        let of = |name: &str| {
            let mut named = objects
                .clone()
                .filter(|p| p.to_string_lossy().contains(name));
            made(
                named
                    .next()
                    .unwrap_or_else(|| panic!("no object for {name}")),
            )
        };
        [of("scale"), of("sum")]
    };
    let before = objects();
    // A header of the one file; a copy that is dated back is another text all the same.
    ours.write("c/by.h", "#define TIMES(x) (BY * (x))\n");
    let [scale, sum] = objects();
    assert_ne!(scale, before[0]);
    assert_eq!(sum, before[1]);
    ours.write(
        "c/sum.c",
        "int sum(const int *a, int n) { return n ? a[0] : 0; }\n",
    );
    let after = objects();
    assert_eq!(after[0], scale);
    assert_ne!(after[1], sum);
}

/// A feature that adds a file: its kernel is looked at where the feature is on, and is no reason to fail where it is off.
#[test]
fn a_feature_may_add_kernels() {
    let ours = Crate::new("everyday-features");
    ours.lift();
    let strict = |args: &[&str]| {
        let mut build = ours.cargo(&ours.path(), args);
        run(build.env("TENSORIZE_STRICT", "1"))
    };
    assert!(strict(&["build"]).status.success());
    let with = strict(&["build", "--features", "sum"]);
    assert!(said(&with).contains("c/sum.c::sum"), "{}", said(&with));
    assert!(!with.status.success());
    ours.tensorize(&["--features", "sum"]);
    for args in [&["build"][..], &["build", "--features", "sum"]] {
        let out = strict(args);
        assert!(out.status.success(), "{args:?}: {}", said(&out));
    }
    // The gate under the same features.
    ours.tensorize(&["check", "--locked", "--features", "sum"]);
}

mod systems {
    use super::*;

    /// The run time and what a build script calls, for systems of which only Rust's own library is here.
    #[test]
    fn the_crates_of_a_user_are_checked_for_other_systems() {
        for triple in ["x86_64-pc-windows-msvc", "aarch64-apple-darwin"] {
            let mut check = cargo();
            check
                .args(["check", "--offline", "--target", triple])
                .args(["--package", "tensorize-rt", "--package", "tensorize-build"])
                .current_dir(root())
                .env("CARGO_TARGET_DIR", target_dir().join("systems"))
                // `blake3` without its assembler, for which there is none here.
                .env("CARGO_FEATURE_PURE", "1");
            succeed(&mut check);
        }
    }
}
