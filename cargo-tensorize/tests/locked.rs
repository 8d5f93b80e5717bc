//! The gate in CI: `check --locked` takes what is stored at its word, and nothing else.

mod common;

use common::{KERNELS, MANIFEST, code, command, project, stderr, stdout, tensorize, write};
use std::fs;
use std::path::Path;
use std::process::Output;

const LOCKED: [&str; 3] = ["check", "--locked", "--offline"];

/// A float sum: its generated code takes it in another order, so it is of tier `real`.
const SUM: &str = "#include \"tensorize.h\"
TENSORIZE_KERNEL
float sum(const float *a, int n) { float s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
";

fn stored() -> tempfile::TempDir {
    let p = project(KERNELS);
    let out = tensorize(p.path(), &[]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    p
}

/// Without solver and without libclang, as on a machine of CI.
fn bare(dir: &Path, args: &[&str]) -> Output {
    let mut command = command(dir, args);
    command
        .env("TENSORIZE_Z3", "/nowhere/z3")
        .env("LIBCLANG_PATH", "/nowhere")
        .output()
        .unwrap()
}

fn edit(dir: &Path, file: &str, from: &str, to: &str) {
    let path = dir.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no `{from}`:\n{text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn what_is_stored_and_current_passes_on_a_bare_machine() {
    let p = stored();
    let out = bare(p.path(), &LOCKED);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let table = stdout(&out);
    assert!(table.contains("2 kernels: 2 proven"), "{table}");
    // The kernels are those that a parser would find.
    let parsed = tensorize(p.path(), &["check"]);
    for name in ["scale", "named"] {
        assert!(stdout(&parsed).contains(name) && table.contains(name));
    }
}

/// The gate could not be passed: each file that includes the header was to have the kernel.
#[test]
fn what_a_header_marks_is_the_kernel_of_the_file_that_defines_it() {
    let p = project(KERNELS);
    let include = "#include \"k.h\"\n";
    let header =
        "#include \"tensorize.h\"\nTENSORIZE_KERNEL\nvoid thrice(const int *a, int *out, int n);\n";
    let defined = "void thrice(const int *a, int *out, int n) { for (int i = 0; i < n; i++) out[i] = 3 * a[i]; }\n";
    write(p.path(), "c/k.h", header);
    write(p.path(), "c/k.c", &format!("{include}{KERNELS}"));
    write(p.path(), "c/j.c", &format!("{include}{defined}"));
    let manifest = MANIFEST.replace("files = [\"c/k.c\"]", "files = [\"c/k.c\", \"c/j.c\"]");
    write(p.path(), "Cargo.toml", &manifest);
    let out = tensorize(p.path(), &[]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let out = bare(p.path(), &LOCKED);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(stdout(&out).contains("3 kernels: 3 proven"), "{out:?}");

    // A mark in the file itself, of a function that has gone.
    let gone = "TENSORIZE_KERNEL\nvoid gone(const int *a, int n);\n";
    write(p.path(), "c/j.c", &format!("{include}{gone}{defined}"));
    for args in [&[][..], &LOCKED] {
        let out = tensorize(p.path(), args);
        let told = stderr(&out);
        assert_eq!(code(&out), 101, "{told}");
        let says = "declaration of `gone`, which is not defined in this file";
        assert!(told.contains(says) && told.contains("c/j.c:2:1"), "{told}");
    }
}

#[test]
fn what_is_missing_stale_or_left_over_is_told_apart() {
    let p = stored();
    fs::remove_file(p.path().join(".tensorize/named.toml")).unwrap();
    let out = bare(p.path(), &LOCKED);
    assert_eq!(code(&out), 104, "{}", stderr(&out));
    assert!(
        stderr(&out).contains("`named`: no result is stored"),
        "{}",
        stderr(&out)
    );
    assert!(stderr(&out).contains("c/k.c:6"), "{}", stderr(&out));
    assert!(!stderr(&out).contains("`scale`"), "{}", stderr(&out));

    let p = stored();
    edit(p.path(), "c/k.c", "2 * x", "3 * x");
    let out = bare(p.path(), &LOCKED);
    assert_eq!(code(&out), 104);
    assert!(
        stderr(&out).contains("`scale`: what is stored is about another version"),
        "{}",
        stderr(&out)
    );

    let p = stored();
    edit(p.path(), "c/k.c", "TENSORIZE_KERNEL\n", "");
    assert_eq!(code(&tensorize(p.path(), &[])), 0);
    edit(p.path(), "Cargo.toml", "\"c/k.c::named\"", "");
    edit(
        p.path(),
        "c/k.c",
        "static int",
        "TENSORIZE_KERNEL static int",
    );
    let out = bare(p.path(), &LOCKED);
    assert_eq!(code(&out), 104);
    assert!(
        stderr(&out).contains("`named` is stored, and no kernel any more"),
        "{}",
        stderr(&out)
    );
}

/// Results are those of kernels, not of files.
#[test]
fn an_edit_of_one_kernel_leaves_the_others_results_as_they_are() {
    let p = stored();
    edit(
        p.path(),
        "c/k.c",
        "static int twice",
        "/* more\nlines */\nint another(int a) { return 7 * a; }\nstatic int twice",
    );
    assert_eq!(code(&bare(p.path(), &LOCKED)), 0);
    let reprove = [&LOCKED[..], &["--reprove"]].concat();
    let out = tensorize(p.path(), &reprove);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    edit(p.path(), "c/k.c", "a + b", "a - b");
    for args in [&LOCKED[..], &reprove] {
        let out = tensorize(p.path(), args);
        assert_eq!(code(&out), 104, "{}", stderr(&out));
        assert!(stderr(&out).contains("named"), "{}", stderr(&out));
        assert!(!stderr(&out).contains("`scale`"), "{}", stderr(&out));
    }
}

#[test]
fn other_targets_and_other_flags_are_out_of_date() {
    let p = stored();
    edit(p.path(), "Cargo.toml", "[\"cpu\"]", "[\"cpu\", \"numpy\"]");
    let out = bare(p.path(), &LOCKED);
    assert_eq!(code(&out), 104);
    assert!(
        stderr(&out).contains("nothing for the target numpy"),
        "{}",
        stderr(&out)
    );

    let p = stored();
    edit(
        p.path(),
        "Cargo.toml",
        "targets",
        "flags = [\"-fwrapv\"]\ntargets",
    );
    assert_eq!(code(&bare(p.path(), &LOCKED)), 104);
}

#[test]
fn a_hand_edit_is_refused_wherever_it_is() {
    for (file, from, to) in [
        (
            ".tensorize/scale.toml",
            "status = \"proven\"",
            "status = \"proven\" ",
        ),
        (
            ".tensorize/scale.toml",
            "tier = \"exact\"",
            "tier = \"real\"",
        ),
        (".tensorize/cpu/scale.c", "2", "3"),
    ] {
        let p = stored();
        edit(p.path(), file, from, to);
        let out = bare(p.path(), &LOCKED);
        let harmless = to.trim_end() == from;
        assert_eq!(
            code(&out),
            if harmless { 0 } else { 104 },
            "{file}: {to}\n{}",
            stderr(&out)
        );
        assert_eq!(
            stderr(&out).contains("TZ0706"),
            !harmless,
            "{}",
            stderr(&out)
        );
    }
}

/// A checksum can be forged; a proof can't.
#[test]
fn a_forged_result_passes_the_gate_but_not_a_proof() {
    let p = stored();
    let store = tensorize_build::store::Store::of_manifest(p.path());
    let entry = store
        .load()
        .entries
        .into_iter()
        .find(|e| e.record.name == "scale")
        .unwrap();
    let forged = entry.sources["cpu"].replacen('2', "3", 1);
    assert_ne!(forged, entry.sources["cpu"]);
    store
        .save(&entry.record, &[("cpu".into(), forged)].into())
        .unwrap();
    assert_eq!(code(&bare(p.path(), &LOCKED)), 0);
    let out = tensorize(p.path(), &["check", "--locked", "--offline", "--reprove"]);
    assert_eq!(code(&out), 104, "{}", stderr(&out));
    assert!(stderr(&out).contains("scale"), "{}", stderr(&out));
}

#[test]
fn a_tier_that_is_too_low_is_refused() {
    let p = project(SUM);
    write(
        p.path(),
        "Cargo.toml",
        &MANIFEST.replace("\"c/k.c::named\"", ""),
    );
    let out = tensorize(p.path(), &[]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert_eq!(code(&bare(p.path(), &LOCKED)), 0);
    for args in [
        vec!["check", "--locked", "--min-tier", "exact"],
        vec!["check", "--locked", "--reprove", "--min-tier", "exact"],
    ] {
        let out = tensorize(p.path(), &args);
        assert_eq!(code(&out), 102, "{}", stderr(&out));
        assert!(stderr(&out).contains("TZ0707"), "{}", stderr(&out));
    }
    edit(
        p.path(),
        "Cargo.toml",
        "targets",
        "min-tier = \"exact\"\ntargets",
    );
    let out = bare(p.path(), &LOCKED);
    assert_eq!(code(&out), 102, "{}", stderr(&out));
}

#[test]
fn what_is_not_proven_is_refused_although_it_is_stored() {
    let p = project(&KERNELS.replace("return 2 * x;", "static int y; y += x; return y;"));
    assert_eq!(code(&tensorize(p.path(), &[])), 103);
    let out = bare(p.path(), &LOCKED);
    assert_eq!(code(&out), 102, "{}", stderr(&out));
    assert!(
        stderr(&out).contains("`scale` is unsupported"),
        "{}",
        stderr(&out)
    );
}

#[test]
fn a_broken_file_or_a_name_in_vain_is_no_pass() {
    let p = stored();
    edit(
        p.path(),
        "c/k.c",
        "#include \"tensorize.h\"",
        "#include \"not there.h\"",
    );
    assert_eq!(code(&bare(p.path(), &LOCKED)), 101);
    let p = stored();
    edit(p.path(), "Cargo.toml", "c/k.c::named", "c/gone.c::named");
    let out = bare(p.path(), &LOCKED);
    assert_eq!(code(&out), 101);
    assert!(stderr(&out).contains("TZ0701"), "{}", stderr(&out));
}

/// A kernel that was deleted or is a variable by now must not vanish from the reports without a word.
#[test]
fn a_mark_before_no_function_is_told() {
    let p = stored();
    let marked = [common::KERNELS, "TENSORIZE_KERNEL\nint table[3];\n"].concat();
    write(p.path(), "c/k.c", &marked);
    for args in [&[][..], &["check"], &LOCKED] {
        let out = tensorize(p.path(), args);
        assert_eq!(code(&out), 101);
        let told = stderr(&out);
        assert!(
            told.contains("`int table [ 3 ]`, which is no function"),
            "{told}"
        );
        assert!(told.contains("c/k.c:7"), "{told}");
        assert!(
            stdout(&out).contains("2 kernels: 2 proven"),
            "{}",
            stdout(&out)
        );
    }
    write(p.path(), "c/k.c", &marked.replace("int table[3];", ""));
    let out = bare(p.path(), &LOCKED);
    assert_eq!(code(&out), 101);
    assert!(
        stderr(&out).contains("stands before nothing"),
        "{}",
        stderr(&out)
    );
}

/// Nobody asked for NumPy: it is one of two targets that are there by default. The gate was red without a word, and every run
/// proved everything again.
#[test]
fn code_for_numpy_that_could_not_be_run_is_a_failure_only_where_it_is_asked_for() {
    let without = |dir: &Path, args: &[&str]| {
        let mut command = command(dir, args);
        command.env("TENSORIZE_PYTHON", "/nowhere/python3");
        command.output().unwrap()
    };
    let p = project(KERNELS);
    edit(p.path(), "Cargo.toml", "targets = [\"cpu\"]\n", "");
    let out = without(p.path(), &["--strict"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let told = stderr(&out);
    assert!(
        told.contains("note[TZ0604]") && told.contains("doctor"),
        "{told}"
    );
    assert!(stdout(&out).contains("not run"), "{}", stdout(&out));
    assert!(!stdout(&out).contains("failed"), "{}", stdout(&out));
    let again = without(p.path(), &["--message-format", "json"]);
    assert_eq!(stdout(&again).matches("\"stored\":true").count(), 2);
    assert_eq!(code(&bare(p.path(), &LOCKED)), 0);

    // Once there is one, it is run.
    let with = tensorize(p.path(), &[]);
    assert!(!stdout(&with).contains("not run"), "{}", stdout(&with));
    assert!(p.path().join(".tensorize/numpy/scale.py").exists());

    let p = project(KERNELS);
    edit(p.path(), "Cargo.toml", "[\"cpu\"]", "[\"cpu\", \"numpy\"]");
    let out = without(p.path(), &[]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(stderr(&out).contains("warning[TZ0604]"), "{}", stderr(&out));
    assert_eq!(code(&bare(p.path(), &LOCKED)), 102);
}

/// What a device computes a third of is left to the machine, unless somebody says that the device may have it.
#[test]
fn what_is_split_by_another_share_is_out_of_date() {
    let p = project(
        "#include \"tensorize.h\"
TENSORIZE_KERNEL
void k(const float *a, const float *b, float *out, int n) { for (int i = 0; i < n; i++) out[i] = a[i] * b[i] * b[i] + a[i]; }
",
    );
    edit(p.path(), "Cargo.toml", "kernels = [\"c/k.c::named\"]\n", "");
    edit(
        p.path(),
        "Cargo.toml",
        "[\"cpu\"]",
        "[\"cpu\", \"gemmini\"]",
    );
    let refused = || {
        let record = fs::read_to_string(p.path().join(".tensorize/k.toml")).unwrap();
        record.contains("not worth moving the data")
    };
    let store = || {
        let out = tensorize(p.path(), &[]);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        let out = bare(p.path(), &LOCKED);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
    };
    store();
    assert!(refused());

    edit(
        p.path(),
        "Cargo.toml",
        "targets",
        "least-share = 0.3\ntargets",
    );
    let out = bare(p.path(), &LOCKED);
    assert_ne!(code(&out), 0, "{}", stdout(&out));
    assert!(stderr(&out).contains("least_share"), "{}", stderr(&out));
    store();
    assert!(!refused());
    // And back.
    edit(p.path(), "Cargo.toml", "least-share = 0.3\n", "");
    store();
    assert!(refused());
}
