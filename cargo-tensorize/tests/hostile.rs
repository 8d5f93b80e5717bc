//! Sources and folders from strangers, through the program: it neither crashes nor hangs, and says what to do.

mod common;

use common::{KERNELS, MANIFEST, code, command, project, stderr, stdout, tensorize, write};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use tensorize_build::config::{BuildManifest, Library};

const GOOD: &str = "int good(int a) { return a + 1; }\n";

/// File and line, cause and remedy.
fn tells(out: &Output, parts: &[&str]) {
    let said = stderr(out);
    assert!(matches!(code(out), 101 | 103), "{} {said}", code(out));
    for part in parts.iter().chain(&["help:"]) {
        assert!(said.contains(part), "`{part}` is not in\n{said}");
    }
    assert!(said.len() < 4000, "{} bytes", said.len());
}

#[test]
fn files_that_are_no_kernels() {
    let dir = tempfile::tempdir().unwrap();
    let deep = "if (a) ".repeat(5_000);
    let many = "- ".repeat(100_000);
    for (text, parts) in [
        (
            format!("\nint f(int a) {{ {deep} a++; return a; }}\n"),
            ["k.c:2", "nested too deeply"],
        ),
        (
            format!("\nint f(int a) {{ return {many} a; }}\n"),
            ["k.c:2", "are nested here"],
        ),
        (
            "#include \"k.c\"\n".into(),
            ["k.c:1", "#include nested too deeply"],
        ),
        (
            format!("int f(int a) {{ return {}; }}", "9".repeat(100_000)),
            ["k.c:1", "too large"],
        ),
    ] {
        write(dir.path(), "k.c", &text);
        tells(&tensorize(dir.path(), &["lift", "k.c"]), &parts);
    }
    let file = fs::File::create(dir.path().join("k.c")).unwrap();
    file.set_len(100 << 20).unwrap();
    tells(
        &tensorize(dir.path(), &["lift", "k.c"]),
        &["k.c:1", "it has 100 MiB"],
    );
    fs::write(dir.path().join("k.c"), b"\nint \xff(int a) { return a; }\n").unwrap();
    tells(&tensorize(dir.path(), &["lift", "k.c"]), &["k.c:2"]);
}

#[test]
fn paths_that_are_no_text_and_links_in_circles() {
    let dir = tempfile::tempdir().unwrap();
    let odd = dir.path().join(OsStr::from_bytes(b"odd-\xff.c"));
    fs::write(&odd, GOOD).unwrap();
    let out = command(dir.path(), &["lift"])
        .arg(odd.file_name().unwrap())
        .output()
        .unwrap();
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    fs::create_dir_all(dir.path().join("a/b")).unwrap();
    symlink("..", dir.path().join("a/b/up")).unwrap();
    symlink("circle.c", dir.path().join("circle.c")).unwrap();
    symlink("/dev/zero", dir.path().join("endless.c")).unwrap();
    symlink("nowhere.c", dir.path().join("nothing.c")).unwrap();
    write(dir.path(), "a/b/k.c", GOOD);
    let out = tensorize(dir.path(), &["scan", "."]);
    assert_eq!(
        stdout(&out).matches("good").count(),
        2,
        "{}{}",
        stdout(&out),
        stderr(&out)
    );
    for link in ["circle.c", "endless.c", "nothing.c", "a/b"] {
        tells_of_a_file(&tensorize(dir.path(), &["lift", link]), link);
    }
}

/// The program, which is to end; without a limit on its memory the test would take the machine's.
fn ends(dir: &Path, args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_cargo-tensorize");
    let mut shell = Command::new("sh");
    shell
        .args([
            "-c",
            "ulimit -v 6000000; exec timeout 100 \"$@\"",
            "sh",
            program,
        ])
        .args(args)
        .current_dir(dir)
        .env("TENSORIZE_CACHE", "off")
        .env_remove("GITHUB_ACTIONS");
    let out = shell.output().unwrap();
    assert_ne!(code(&out), 124, "{args:?} does not end");
    out
}

/// What nobody writes to, and what has no end.
fn endless(dir: &Path, file: &str) -> [Box<dyn Fn()>; 3] {
    let path = dir.join(file);
    let clear = move |path: &Path| drop(fs::remove_file(path));
    let (pipe, zero, huge) = (path.clone(), path.clone(), path);
    [
        Box::new(move || {
            clear(&pipe);
            let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
            assert!(made.success());
        }),
        Box::new(move || {
            clear(&zero);
            symlink("/dev/zero", &zero).unwrap();
        }),
        Box::new(move || {
            clear(&huge);
            let file = fs::File::create(&huge).unwrap();
            file.set_len(1 << 40).unwrap();
        }),
    ]
}

/// All verbs waited for the first byte of a pipe, or read `/dev/zero` until the memory was full.
#[test]
fn notes_without_an_end_are_told_by_every_verb() {
    let p = project(KERNELS);
    assert_eq!(code(&tensorize(p.path(), &[])), 0);
    for make in endless(p.path(), ".tensorize/build-script.toml") {
        make();
        for args in [
            &[][..],
            &["check", "--locked", "--offline"],
            &["scan"],
            &["explain", "scale"],
            &["report"],
        ] {
            let out = ends(p.path(), args);
            let told = [".tensorize/build-script.toml cannot be read", "remove it"];
            tells(&out, &told);
        }
    }
}

#[test]
fn other_files_without_an_end_are_told_by_a_scan() {
    for (file, remedy) in [
        ("compile_commands.json", "--compile-commands"),
        (".gitignore", "remove it"),
        ("c/.ignore", "remove it"),
        (".git/info/exclude", "remove it"),
    ] {
        let p = project(KERNELS);
        fs::create_dir_all(p.path().join(".git/info")).unwrap();
        for make in endless(p.path(), file) {
            // The largest database that is read is larger than the largest file that the test makes.
            make();
            tells(
                &ends(p.path(), &["scan"]),
                &[file, "cannot be read", remedy],
            );
        }
    }
    // Nobody asks git for what lies elsewhere before it is known to be a file.
    let p = project(KERNELS);
    write(
        p.path(),
        ".git",
        &format!("gitdir: {}/g\n", p.path().display()),
    );
    fs::create_dir(p.path().join("g")).unwrap();
    endless(p.path(), "g/commondir")[0]();
    tells(&ends(p.path(), &["scan"]), &["g/commondir cannot be read"]);
}

#[test]
fn sources_manifests_and_scripts_without_an_end() {
    let p = project(KERNELS);
    for make in endless(p.path(), "c/k.c") {
        make();
        for args in [&[][..], &["check", "--locked", "--offline"]] {
            let out = ends(p.path(), args);
            assert_eq!(code(&out), 101, "{}", stderr(&out));
            assert!(stderr(&out).contains("c/k.c"), "{}", stderr(&out));
        }
    }
    let p = project(KERNELS);
    for make in endless(p.path(), "build.rs") {
        make();
        let out = ends(p.path(), &["scan"]);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
    }
}

/// libclang can't be interrupted, and took all memory that there was.
#[cfg(target_os = "linux")]
#[test]
fn what_a_source_includes_may_have_no_end() {
    let p = project(&format!("#include \"/dev/zero\"\n{KERNELS}"));
    for args in [
        &[][..],
        &["check", "--locked", "--offline"],
        &["scan"],
        &["lift", "c/k.c"],
    ] {
        let out = ends(p.path(), args);
        assert_eq!(code(&out), 101, "{args:?}: {}", stderr(&out));
        assert!(stderr(&out).contains("c/k.c"), "{}", stderr(&out));
    }
    // Where nobody limits it: half of a large machine's memory is a long time of reading.
    let program = env!("CARGO_BIN_EXE_cargo-tensorize");
    let mut lift = Command::new("timeout");
    lift.args(["100", program, "lift", "c/k.c"]);
    let out = lift.current_dir(p.path()).output().unwrap();
    tells(&out, &["k.c:1", "MiB of memory"]);
    let text = stderr(&out);
    let before = text.split(" MiB of memory").next();
    let limit = before.and_then(|s| s.rsplit(' ').next()?.parse::<u64>().ok());
    assert!(limit.is_some_and(|mib| mib < 4096 + 1024), "{text}");
}

/// To find out how deep loops are nested took twice as long for each of them.
#[test]
fn loops_in_one_another_are_counted_by_a_scan() {
    let loops: String = (0..60)
        .map(|i| format!("for (int i{i} = 0; i{i} < n; i{i}++) "))
        .collect();
    let text = format!(
        "int f(int n, int *a) {{ {loops} {{ if (n) return 1; a[n] += a[0]; }} return 0; }}\n"
    );
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "k.c", &text);
    let out = ends(dir.path(), &["scan"]);
    let text = stdout(&out);
    for part in ["60 loops deep", "1 function in 1 file: "] {
        assert!(text.contains(part), "no `{part}`: {text}");
    }
}

/// A compiler's plugin whose constructor leaves a file behind, as one of a stranger's would do worse.
fn plugin(dir: &Path) {
    let ran = dir.join("ran");
    let source = format!(
        "#include <stdio.h>\n__attribute__((constructor)) static void run(void) {{ fclose(fopen(\"{}\", \"w\")); }}\n",
        ran.display()
    );
    write(dir, "plugin/plugin.txt", &source);
    let made = Command::new("cc")
        .args([
            "-shared",
            "-fPIC",
            "-x",
            "c",
            "plugin/plugin.txt",
            "-o",
            "evil.so",
        ])
        .current_dir(dir)
        .status();
    assert!(made.unwrap().success());
}

#[test]
fn flags_of_a_project_run_nobodys_code() {
    for flags in [
        &["-fplugin=./evil.so"][..],
        &["-Xclang", "-load", "-Xclang", "./evil.so"],
        &["-fpass-plugin=./evil.so"],
        &["-B."],
        &["-specs=./evil"],
        &["-wrapper", "./evil"],
        &["@flags"],
    ] {
        let p = project(KERNELS);
        plugin(p.path());
        write(p.path(), "flags", "-fplugin=./evil.so");
        let table = MANIFEST.replace("targets", &format!("flags = {flags:?}\ntargets"));
        let notes = Library {
            name: "kernels".into(),
            files: vec!["c/k.c".into()],
            flags: flags.iter().map(|f| (*f).to_owned()).collect(),
            ..Library::default()
        };
        for in_table in [true, false] {
            match in_table {
                true => write(p.path(), "Cargo.toml", &table),
                false => {
                    write(p.path(), "Cargo.toml", MANIFEST);
                    BuildManifest::note(p.path(), &notes).unwrap();
                }
            }
            for args in [
                &[][..],
                &["check"],
                &["check", "--locked"],
                &["scan"],
                &["report"],
            ] {
                let out = tensorize(p.path(), args);
                assert_eq!(code(&out), 101, "{flags:?} {args:?} {}", stderr(&out));
                let told = stderr(&out);
                assert!(
                    told.contains("TZ0710") && told.contains("refused"),
                    "{told}"
                );
                assert!(!p.path().join("ran").exists(), "{flags:?} {args:?}");
            }
        }
    }
    // So are names of files that would be flags.
    let p = project(KERNELS);
    plugin(p.path());
    write(p.path(), "@k.c", "-fplugin=./evil.so k.c");
    write(p.path(), "k.c", GOOD);
    for name in ["@k.c", "./@k.c"] {
        let table = MANIFEST.replace("c/k.c\"]", &format!("{name}\"]"));
        write(p.path(), "Cargo.toml", &table);
        for args in [&[][..], &["check", "--locked"]] {
            let out = tensorize(p.path(), args);
            tells(&out, &["TZ0710", "would be taken for a flag"]);
            assert!(!p.path().join("ran").exists());
        }
    }
}

/// `scan` is for a first look at what a stranger wrote: it does not even ask the build script.
#[test]
fn a_scan_runs_no_build_script() {
    let p = project(KERNELS);
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tensorize-build");
    let manifest = format!(
        "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
         [build-dependencies]\ntensorize-build = {{ path = {ours:?} }}\n"
    );
    write(p.path(), "Cargo.toml", &manifest);
    let script = "fn main() { std::fs::write(\"ran\", \"\").unwrap(); \
                  tensorize_build::Build::new().file(\"c/k.c\").define(\"N\", \"1\").compile(\"k\").unwrap(); }\n";
    write(p.path(), "build.rs", script);
    write(
        p.path(),
        "c/k.c",
        &format!("{KERNELS}int n(int a) {{ return a + N; }}\n"),
    );
    let out = tensorize(p.path(), &["scan"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    // What stands in the script is read.
    assert!(stdout(&out).contains("5 would lift"), "{}", stdout(&out));
    assert!(!p.path().join("ran").exists() && !p.path().join("target").exists());
}

/// Whoever names a folder is not told that it isn't there.
#[test]
fn a_folder_is_no_file() {
    let p = project(KERNELS);
    let out = tensorize(p.path(), &["lift", "c"]);
    tells(&out, &["c cannot be read: it is a folder"]);
}

/// Blanks, apostrophes and letters of other languages are names like any; of what no `#include` can name, the remedy is told.
#[test]
fn names_of_folders_and_files() {
    for (folder, runs) in [("m y 'ü", true), ("a \"b\"", false)] {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join(folder);
        let manifest = common::MANIFEST.replace("c/k.c", "c/k k'ö.c");
        write(&p, "Cargo.toml", &manifest);
        write(&p, "src/lib.rs", "");
        write(&p, "c/k k'ö.c", KERNELS);
        let out = tensorize(&p, &[]);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        assert!(stdout(&out).contains("2 proven"), "{}", stdout(&out));
        let told = stderr(&out);
        assert_eq!(
            told.contains("rename what has a quotation mark"),
            !runs,
            "{told}"
        );
        assert_eq!(p.join(".tensorize/cpu/scale.c").exists(), runs);
    }
}

#[test]
fn a_package_that_is_not_there_is_told_with_those_that_are() {
    let p = project(KERNELS);
    tells(
        &tensorize(p.path(), &["-p", "q"]),
        &["no package `q`", "there are: p"],
    );
}

fn tells_of_a_file(out: &Output, file: &str) {
    assert_eq!(code(out), 101, "{}", stderr(out));
    assert!(
        stderr(out).contains(&format!("{file} cannot be read")),
        "{}",
        stderr(out)
    );
}

#[test]
fn a_project_with_one_such_file_is_done_but_for_it() {
    let p = project(KERNELS);
    let manifest = common::MANIFEST.replace("[\"c/k.c\"]", "[\"c/k.c\", \"c/deep.c\"]");
    write(p.path(), "Cargo.toml", &manifest);
    let deep = "!".repeat(100_000);
    write(
        p.path(),
        "c/deep.c",
        &format!("int f(int a) {{ return {deep} a; }}\n"),
    );
    let out = tensorize(p.path(), &[]);
    tells(&out, &["c/deep.c:1", "are nested here"]);
    assert!(stdout(&out).contains("2 proven"), "{}", stdout(&out));
    assert!(p.path().join(".tensorize/scale.toml").exists());
}
