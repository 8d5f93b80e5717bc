//! Sources and folders from strangers, through the program: it neither crashes nor hangs, and says what to do.

mod common;

use common::{KERNELS, code, command, project, stderr, stdout, tensorize, write};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Output;

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
