//! `init`, on a crate that knows nothing of us: what it shows, what it writes, and that the crate then builds and runs.

mod common;
#[path = "init/of_sources.rs"]
mod of_sources;

use common::{code, command, project, stderr, stdout, tensorize, write};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const BUILD: &str = "//! Compiles what came from the vendor.

fn main() {
    println!(\"cargo:rerun-if-changed=vendor\");
    // Fast as ever.
    cc::Build::new()
        .files([\"vendor/mix.c\", \"vendor/gain.c\"])
        .include(\"vendor/include\")
        .define(\"FACTOR\", \"3\")
        .std(\"c11\")
        .compile(\"vendor\");
}
";
const MAIN: &str = "//! Mixes.

use std::os::raw::c_int;

unsafe extern \"C\" {
    fn mix(a: *const c_int, b: *const c_int, out: *mut c_int, n: c_int);
    fn gain(a: *mut c_int, n: c_int);
}

fn main() {
    let (a, b, mut out) = ([1, 2, 3], [10, 20, 30], [0; 3]);
    // SAFETY: three elements each.
    unsafe {
        mix(a.as_ptr(), b.as_ptr(), out.as_mut_ptr(), 3);
        gain(out.as_mut_ptr(), 3);
    }
    println!(\"{out:?}\");
}
";

/// A member of a workspace, two C files, a header, and a build script with `cc`.
/// The tests share a folder for what is built: each gives its package another name.
fn vendor(dir: &Path, package: &str) {
    write(
        dir,
        "Cargo.toml",
        "[workspace]\nmembers = [\"mixer\"]\nresolver = \"3\"\n",
    );
    write(
        dir,
        "mixer/Cargo.toml",
        &format!(
            "[package]\nname = \"{package}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n# Kept.\n[build-dependencies]\ncc = \"1\" # the vendor's\n"
        ),
    );
    write(dir, "mixer/build.rs", BUILD);
    write(dir, "mixer/src/main.rs", MAIN);
    write(
        dir,
        "mixer/vendor/include/mix.h",
        "#define N(x) ((x) * FACTOR)\n",
    );
    write(
        dir,
        "mixer/vendor/mix.c",
        "#include \"mix.h\"\nvoid mix(const int *a, const int *b, int *out, int n) {\n    \
         for (int i = 0; i < n; i++) out[i] = N(a[i]) + b[i];\n}\n",
    );
    write(
        dir,
        "mixer/vendor/gain.c",
        "void gain(int *a, int n) { for (int i = 0; i < n; i++) a[i] = a[i] * 2; }\n",
    );
    // The versions that are here already: tests use no network.
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    fs::copy(lock, dir.join("Cargo.lock")).unwrap();
}

fn files(dir: &Path) -> Vec<(String, String)> {
    let names = ["Cargo.toml", "build.rs", "src/main.rs", "src/kernels.rs"];
    let read = |n: &str| {
        (
            n.to_owned(),
            fs::read_to_string(dir.join(n)).unwrap_or_default(),
        )
    };
    names.map(read).to_vec()
}

/// The folder in which all of these tests have cargo build.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("init")
}

/// Runs the subcommand where it may call cargo.
fn with_cargo(dir: &Path, args: &[&str]) -> Output {
    let mut tensorize = command(dir, args);
    tensorize
        .env("CARGO_TARGET_DIR", target())
        .output()
        .unwrap()
}

/// Cargo's subcommand in that folder.
fn cargo(dir: &Path, subcommand: &str) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args([subcommand, "--quiet", "--offline"])
        .current_dir(dir)
        .env("CARGO_TARGET_DIR", target())
        // The build finds what is stored, and calls nobody.
        .env("TENSORIZE_BIN", "");
    cargo
}

/// Builds and runs the program as cargo does; what it and the build print.
fn run(dir: &Path, choice: &str) -> String {
    let out = cargo(dir, "run").env("TENSORIZE", choice).output().unwrap();
    assert!(out.status.success(), "{}", stderr(&out));
    format!("{}{}", stdout(&out), stderr(&out))
}

/// Has `init` write what it would for a crate with this build script, and cargo check it; what `init` has shown.
fn prepared(mixer: &Path, script: &str) -> String {
    write(mixer, "build.rs", script);
    write(mixer, "src/main.rs", MAIN);
    fs::remove_file(mixer.join("src/kernels.rs")).ok();
    let out = tensorize(mixer, &["init", "--offline", "--yes"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let shown = stdout(&out);
    // Bindings of an earlier run would be found.
    let manifest = fs::read_to_string(mixer.join("Cargo.toml")).unwrap();
    let package = manifest.split('"').nth(1).unwrap();
    let out = cargo(mixer, "clean").args(["-p", package]).output();
    assert!(out.as_ref().unwrap().status.success(), "{out:?}");
    let out = cargo(mixer, "check").output().unwrap();
    assert!(out.status.success(), "{script}\n{}", stderr(&out));
    shown
}

#[test]
fn a_crate_with_cc_is_prepared_builds_and_runs_generated_code() {
    let dir = tempfile::tempdir().unwrap();
    vendor(dir.path(), "mixer");
    let mixer = dir.path().join("mixer");
    let before = files(&mixer);

    // Nobody is asked, so nothing is written.
    let out = tensorize(&mixer, &["init", "--offline"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert_eq!(files(&mixer), before, "nothing is written unasked");
    let text = stdout(&out);
    for line in [
        "+    tensorize_build::Build::new()",
        "+        .flag(\"-std=c11\")",
        "+mod kernels;",
        "+++ src/kernels.rs",
        "nothing was written",
    ] {
        assert!(text.contains(line), "no `{line}`:\n{text}");
    }

    let out = tensorize(&mixer, &["init", "--offline", "--yes"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let manifest = fs::read_to_string(mixer.join("Cargo.toml")).unwrap();
    assert!(
        manifest.contains("# Kept.\n") && manifest.contains("cc = \"1\" # the vendor's"),
        "{manifest}"
    );
    assert!(
        manifest.contains("tensorize-build = { version = \"0.1.0\", path =")
            && manifest.contains("tensorize-rt = { version = \"0.1.0\", path ="),
        "{manifest}"
    );
    let notice = "that folder has to be there for all who build this crate, in CI, too";
    assert!(stdout(&out).contains(notice), "{}", stdout(&out));
    let script = fs::read_to_string(mixer.join("build.rs")).unwrap();
    assert!(
        script.contains("// Fast as ever.\n") && !script.contains("cc::"),
        "{script}"
    );

    // Again: there is nothing left to do.
    let after = files(&mixer);
    let again = tensorize(&mixer, &["init", "--offline", "--yes"]);
    assert!(
        stdout(&again).contains("nothing to change"),
        "{}",
        stdout(&again)
    );
    assert!(!stdout(&again).contains(notice), "{}", stdout(&again));
    assert_eq!(files(&mixer), after);

    // It still is the program that it was.
    assert_eq!(run(&mixer, "auto").trim(), "[26, 52, 78]");

    // And with a kernel named and proven, generated code runs in it.
    let named = "\n[package.metadata.tensorize]\nkernels = [\"vendor/mix.c::mix\", \"vendor/gain.c::gain\"]\n";
    fs::write(mixer.join("Cargo.toml"), manifest + named).unwrap();
    let out = with_cargo(&mixer, &["--offline", "--target", "cpu"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(
        stdout(&out).contains("2 kernels: 2 proven"),
        "{}",
        stdout(&out)
    );
    let main = MAIN.replace(
        "    println!",
        "    tensorize_rt::print_report();\n    println!",
    );
    write(
        &mixer,
        "src/main.rs",
        &main.replace("use std", "mod kernels;\n\nuse std"),
    );
    let said = run(&mixer, "cpu");
    assert!(said.contains("[26, 52, 78]"), "{said}");
    assert!(
        said.contains("mix") && said.contains("cpu"),
        "generated code ran: {said}"
    );
}

const GATE: [&str; 3] = ["check", "--locked", "--offline"];

/// From a crate that knows nothing of us to a gate that is green, red, and green again.
#[test]
fn the_gate_follows_the_sources_of_a_build_script() {
    let dir = tempfile::tempdir().unwrap();
    vendor(dir.path(), "gated_mixer");
    let mixer = dir.path().join("mixer");
    let gate = || with_cargo(&mixer, &GATE);
    let edit = |file: &str, from: &str, to: &str| {
        let text = fs::read_to_string(mixer.join(file)).unwrap();
        assert!(text.contains(from), "{file}: {text}");
        fs::write(mixer.join(file), text.replacen(from, to, 1)).unwrap();
    };
    assert_eq!(code(&tensorize(&mixer, &["init", "--offline", "--yes"])), 0);
    for file in ["vendor/mix.c", "vendor/gain.c"] {
        edit(
            file,
            "void",
            "#include \"tensorize.h\"\nTENSORIZE_KERNEL\nvoid",
        );
    }
    edit(
        "Cargo.toml",
        "[dependencies]",
        "[package.metadata.tensorize]\ntargets = [\"cpu\"]\n\n[dependencies]",
    );
    // Cargo.lock does not know the crate yet, and --locked leaves it as it is: the build script can't be asked.
    let out = gate();
    assert_eq!(code(&out), 101, "{}", stderr(&out));
    assert!(stderr(&out).contains("TZ0113"), "{}", stderr(&out));
    let help = "run `cargo check` without --locked, and commit Cargo.lock";
    assert!(stderr(&out).contains(help), "{}", stderr(&out));
    assert_eq!(run(&mixer, "auto").trim(), "[26, 52, 78]");
    // Nothing is stored yet.
    let out = gate();
    assert_eq!(code(&out), 104, "{}", stderr(&out));
    let store = || {
        let out = with_cargo(&mixer, &["--offline"]);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        let out = gate();
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        assert!(
            stdout(&out).contains("2 kernels: 2 proven"),
            "{}",
            stdout(&out)
        );
    };
    store();

    // A kernel, a header that one of them includes, and a define of the build script.
    for (file, from, to, stale) in [
        ("vendor/gain.c", "* 2", "* 4", &["gain"][..]),
        ("vendor/include/mix.h", "(x) *", "1 + (x) *", &["mix"]),
        ("build.rs", "\"3\"", "\"5\"", &["mix"]),
    ] {
        edit(file, from, to);
        let out = gate();
        assert_eq!(code(&out), 104, "{file}: {}", stderr(&out));
        for name in ["gain", "mix"] {
            let told = stderr(&out).contains(&format!("`{name}`"));
            assert_eq!(
                told,
                stale.contains(&name),
                "{file}, {name}: {}",
                stderr(&out)
            );
        }
        store();
    }

    // Who leaves a file out of the list takes its kernels from the gate: the build script is asked.
    // Left out, and damaged.
    for (from, to) in [("    \"vendor/gain.c\",\n", ""), ("files = [", "files = ")] {
        edit(".tensorize/build-script.toml", from, to);
        let out = gate();
        assert_eq!(code(&out), 104, "{}", stderr(&out));
        let told = "did not say what the build script compiles";
        assert!(stderr(&out).contains(told), "{}", stderr(&out));
        assert!(stdout(&out).contains("2 kernels"), "{}", stdout(&out));
    }
    let out = gate();
    assert_eq!(
        code(&out),
        0,
        "the build script has put it right: {}",
        stderr(&out)
    );

    // A build during which the folder was away (a branch without it, a full disk) leaves no notes, and cargo sees no reason to
    // run its script again.
    let folder = mixer.join(".tensorize");
    fs::remove_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", &folder).unwrap();
    edit("vendor/gain.c", "* 4", "* 6");
    run(&mixer, "auto");
    let out = with_cargo(&mixer, &["--offline"]);
    assert_eq!(code(&out), 101, "{}", stderr(&out));
    assert!(stderr(&out).contains("TZ0703"), "{}", stderr(&out));
    fs::remove_file(&folder).unwrap();
    store();
}

/// It was told that cargo had an error, not which, and not that a file has to be committed.
#[test]
fn the_gate_says_what_kept_it_from_asking() {
    let dir = tempfile::tempdir().unwrap();
    vendor(dir.path(), "unasked_mixer");
    let mixer = dir.path().join("mixer");
    assert_eq!(code(&tensorize(&mixer, &["init", "--offline", "--yes"])), 0);
    let refused = |parts: &[&str]| {
        let out = command(&mixer, &GATE)
            .env("CARGO_TARGET_DIR", target())
            // What cargo says is understood in colours, too.
            .env("CARGO_TERM_COLOR", "always")
            .output()
            .unwrap();
        assert_eq!(code(&out), 101, "{}", stderr(&out));
        for part in [&["TZ0113"], parts].concat() {
            assert!(
                stderr(&out).contains(part),
                "no `{part}`:\n{}",
                stderr(&out)
            );
        }
    };
    let lock = dir.path().join("Cargo.lock");
    let written = fs::read(&lock).unwrap();
    fs::remove_file(&lock).unwrap();
    refused(&["run `cargo generate-lockfile` and commit Cargo.lock"]);
    assert!(!lock.exists());

    fs::write(&lock, written).unwrap();
    run(&mixer, "auto");
    write(&mixer, "src/main.rs", "fn main() {\n    missing();\n}\n");
    refused(&[
        "error[E0425]: cannot find function `missing`",
        "src/main.rs:2:5",
        "2 |     missing();",
    ]);
    write(
        &mixer,
        "build.rs",
        "fn main() {\n    panic!(\"no license\");\n}\n",
    );
    refused(&[
        "could not be asked: failed to run",
        "build.rs:2:5:",
        "no license",
    ]);
}

/// `src/kernels.rs` asked for bindings that nobody made.
#[test]
fn a_crate_whose_script_is_left_alone_compiles_as_before() {
    let dir = tempfile::tempdir().unwrap();
    vendor(dir.path(), "left_mixer");
    let mixer = dir.path().join("mixer");
    let chain = BUILD.split("    // Fast as ever.\n").nth(1).unwrap();
    for main in [
        &chain.replace(".compile", ".static_flag(true).compile"),
        "let mut build = cc::Build::new();
    build.include(\"vendor/include\").define(\"FACTOR\", \"3\");
    for file in [\"vendor/mix.c\", \"vendor/gain.c\"] {
        build.file(file);
    }
    build.compile(\"vendor\");\n}\n",
    ] {
        let script = format!("fn main() {{\n    {main}");
        let shown = prepared(&mixer, &script);
        assert_eq!(fs::read_to_string(mixer.join("build.rs")).unwrap(), script);
        assert!(!mixer.join("src/kernels.rs").exists());
        for line in [
            "tensorize_rt::include_kernels!(\"vendor\");",
            "and in src/main.rs\n\n    mod kernels;",
            ".compile(\"vendor\")",
            "n the place of the `cc::Build` of line ",
        ] {
            assert!(shown.contains(line), "no `{line}`:\n{shown}");
        }
        // Once it is written as it was shown, `init` adds the rest.
        let ours = shown.split("`cc::Build` of line ").nth(1).unwrap();
        let ours = ours.split_once(".\n").unwrap().1;
        let ours = ours.split("\n\n").next().unwrap();
        prepared(&mixer, &format!("fn main() {{\n{ours}\n}}\n"));
        assert!(mixer.join("src/kernels.rs").exists());
        assert_eq!(run(&mixer, "auto").trim(), "[26, 52, 78]");
    }
    // What is compiled only under a condition is there only then.
    let script = format!(
        "fn main() {{\n    if std::env::var_os(\"NEVER\").is_none() {{ return; }}\n    {chain}"
    );
    let shown = prepared(&mixer, &script);
    assert!(
        shown.contains("may not compile `vendor` each time"),
        "{shown}"
    );
    assert!(!mixer.join("src/kernels.rs").exists());
}

#[test]
fn flags_for_some_compilers_and_two_libraries_are_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    vendor(dir.path(), "two_mixers");
    let mixer = dir.path().join("mixer");
    let script = "fn main() {
    cc::Build::new()
        .file(\"vendor/mix.c\")
        .includes([\"vendor/include\"])
        .flag_if_supported(\"-DFACTOR=3\")
        .flag_if_supported(\"-fno-such-flag-at-all\")
        .pic(true)
        .compile(\"mix\");
    cc::Build::new().file(\"vendor/gain.c\").compile(\"gain-2\");
}
";
    prepared(&mixer, script);
    assert_eq!(run(&mixer, "auto").trim(), "[26, 52, 78]");
    let notes = fs::read_to_string(mixer.join(".tensorize/build-script.toml")).unwrap();
    assert!(
        notes.contains("flags = [\"-DFACTOR=3\"]") && notes.contains("pic = true"),
        "{notes}"
    );
    let bindings = fs::read_to_string(mixer.join("src/kernels.rs")).unwrap();
    for line in ["pub mod mix {", "pub mod gain_2 {", "(\"gain-2\")"] {
        assert!(bindings.contains(line), "no `{line}`:\n{bindings}");
    }
}

/// All files were in it, what is under a condition was as if always, and flags and the split were gone.
#[test]
fn what_is_shown_for_a_script_says_what_that_says() {
    let p = project("int f(int a) { return a; }\n");
    write(p.path(), "c/one.c", "int one(int a) { return a; }\n");
    let script = "fn main() {
    let mut build = cc::Build::new();
    build.file(\"c/one.c\").flag(\"-O3\").opt_level(3);
    if std::env::var(\"CARGO_FEATURE_FAST\").is_ok() {
        build.define(\"FAST\", None);
    }
    build.compile(\"one\");
    cc::Build::new().file(\"c/k.c\").static_flag(true).compile(\"k\");
}
";
    write(p.path(), "build.rs", script);
    let text = stdout(&tensorize(p.path(), &["init", "--offline"]));
    let expected = "
    // In the place of the `cc::Build` of line 2.
    // Left out: `build.opt_level(3)`; how much is optimised goes by the profile.
    let mut build = tensorize_build::Build::new().file(\"c/one.c\").flag(\"-O3\");
    if std::env::var(\"CARGO_FEATURE_FAST\").is_ok() {
        build = build.define(\"FAST\", None);
    }
    build.compile(\"one\").unwrap();

    // In the place of the `cc::Build` of line 8.
    // Left out: `build.static_flag(true)`; it has no counterpart.
    tensorize_build::Build::new()
        .file(\"c/k.c\")
        .compile(\"k\")
        .unwrap();
";
    assert!(text.contains(expected), "{text}");
    // Of a script that can't be followed, all sources are shown, and that they are.
    let script = "fn main() { with(cc::Build::new(), |b| { b.file(\"c/one.c\"); }); }";
    write(p.path(), "build.rs", script);
    let text = stdout(&tensorize(p.path(), &["init", "--offline"]));
    for part in [
        ".file(\"c/k.c\")\n        .file(\"c/one.c\")\n",
        "All sources are in it, take out those that are not compiled",
    ] {
        assert!(text.contains(part), "no `{part}`:\n{text}");
    }
    let script = "fn main() { cmake::build(\"c\"); }";
    write(p.path(), "build.rs", script);
    let text = stdout(&tensorize(p.path(), &["init", "--offline"]));
    let part = "that has to be taken out, else they are compiled twice";
    assert!(text.contains(part), "no `{part}`:\n{text}");
}

/// It wrote a second script, which nobody ran.
#[test]
fn the_script_is_the_one_that_the_manifest_names() {
    let p = project("int f(int a) { return a; }\n");
    let manifest = |build: &str| {
        let text =
            common::MANIFEST.replace("[package]\n", &format!("[package]\nbuild = {build}\n"));
        write(p.path(), "Cargo.toml", &text);
    };
    manifest("\"build/main.rs\"");
    let script =
        "#!/usr/bin/env rust\nfn main() { cc::Build::new().file(\"c/k.c\").compile(\"k\"); }\n";
    write(p.path(), "build/main.rs", script);
    let out = tensorize(p.path(), &["init", "--offline", "--yes"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let script = fs::read_to_string(p.path().join("build/main.rs")).unwrap();
    assert!(
        script.starts_with("#!/usr/bin/env rust\nfn main() { tensorize_build::Build::new()"),
        "{script}"
    );
    assert!(!p.path().join("build.rs").exists());

    manifest("false");
    let before = fs::read_to_string(p.path().join("Cargo.toml")).unwrap();
    let out = tensorize(p.path(), &["init", "--offline", "--yes"]);
    assert_eq!(code(&out), 101, "{}", stderr(&out));
    assert!(stderr(&out).contains("`build = false`"), "{}", stderr(&out));
    assert_eq!(
        fs::read_to_string(p.path().join("Cargo.toml")).unwrap(),
        before
    );
}

#[test]
fn how_much_is_optimised_is_no_reason_to_leave_a_script_alone() {
    let p = project("int f(int a) { return a; }\n");
    let script =
        "fn main() {\n    cc::Build::new().file(\"c/k.c\").opt_level(3).compile(\"k\");\n}\n";
    write(p.path(), "build.rs", script);
    let text = stdout(&tensorize(p.path(), &["init", "--offline"]));
    assert!(
        text.contains("+    tensorize_build::Build::new()"),
        "{text}"
    );
    assert!(!text.contains("in build.rs, which"), "{text}");
}

#[test]
fn what_can_not_be_prepared_says_why_and_stays_as_it_is() {
    let p = project("int f(int a) { return a; }\n");
    write(p.path(), "build.rs", "fn main( {");
    let before = files(p.path());
    let out = tensorize(p.path(), &["init", "--offline", "--yes"]);
    assert_eq!(code(&out), 101);
    assert!(stderr(&out).contains("TZ0111"), "{}", stderr(&out));
    assert_eq!(files(p.path()), before);

    let p = project("");
    fs::remove_dir_all(p.path().join("c")).unwrap();
    let out = tensorize(p.path(), &["init", "--offline", "--yes"]);
    assert_eq!(code(&out), 4, "{}", stderr(&out));
}
