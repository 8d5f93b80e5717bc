//! A Cargo project: results are stored, found again, and checked.

mod common;

use common::{KERNELS, code, command, project, stderr, write};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

fn tensorize(dir: &Path, args: &[&str]) -> Output {
    let args = [args, &["--message-format", "json"]].concat();
    common::tensorize(dir, &args)
}

fn kernels(output: &Output) -> Vec<(String, String)> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap())
        .filter(|l| l["reason"] == "kernel")
        .map(|l| {
            (
                l["name"].as_str().unwrap().into(),
                l["status"].as_str().unwrap().into(),
            )
        })
        .collect()
}

fn proven(names: &[&str]) -> Vec<(String, String)> {
    names
        .iter()
        .map(|n| ((*n).to_owned(), "proven".to_owned()))
        .collect()
}

#[test]
fn annotated_and_named_kernels_are_stored_and_found_again() {
    let p = project(KERNELS);
    let check = tensorize(p.path(), &["check"]);
    assert_eq!(
        kernels(&check),
        proven(&["scale", "named"]),
        "{}",
        String::from_utf8_lossy(&check.stderr)
    );
    assert!(
        !p.path().join(".tensorize").exists(),
        "check writes nothing"
    );

    let first = tensorize(p.path(), &[]);
    assert_eq!(
        code(&first),
        0,
        "{}",
        String::from_utf8_lossy(&first.stderr)
    );
    assert_eq!(kernels(&first), proven(&["scale", "named"]));
    let record = p.path().join(".tensorize/scale.toml");
    let before = fs::read_to_string(&record).unwrap();
    assert!(
        before.contains("status = \"proven\"") && before.contains("[evidence]"),
        "{before}"
    );
    assert!(p.path().join(".tensorize/cpu/scale.c").exists());

    let second = tensorize(p.path(), &[]);
    assert_eq!(kernels(&second), kernels(&first));
    assert_eq!(
        fs::read_to_string(&record).unwrap(),
        before,
        "nothing changed"
    );
    let forced = tensorize(p.path(), &["--force"]);
    assert_eq!(
        fs::read_to_string(&record).unwrap(),
        before,
        "the same again: {forced:?}"
    );
}

#[test]
fn a_changed_kernel_is_out_of_date_and_a_removed_one_goes() {
    let p = project(KERNELS);
    assert_eq!(code(&tensorize(p.path(), &[])), 0);
    let locked = ["check", "--locked", "--offline"];
    assert_eq!(code(&tensorize(p.path(), &locked)), 0);

    fs::write(p.path().join("c/k.c"), KERNELS.replace("2 * x", "3 * x")).unwrap();
    let out = tensorize(p.path(), &locked);
    assert_eq!(code(&out), 104);
    assert!(common::stdout(&out).contains("TZ0704"), "{out:?}");

    fs::write(
        p.path().join("c/k.c"),
        KERNELS.replace("TENSORIZE_KERNEL\n", ""),
    )
    .unwrap();
    assert_eq!(kernels(&tensorize(p.path(), &[])), proven(&["named"]));
    assert!(!p.path().join(".tensorize/scale.toml").exists());
    assert!(!p.path().join(".tensorize/cpu/scale.c").exists());
}

#[test]
fn a_kernel_of_an_included_file_is_on_the_line_that_includes_it() {
    let source = |by: i32| {
        format!(
            "#include \"tensorize.h\"\nint named(int a, int b) {{ return a + {by} * b; }}\n\
             #define NAME add_one\n#include \"part.c\"\n"
        )
    };
    let p = project(&source(1));
    let part = "\n\n\n\n\n\nTENSORIZE_KERNEL\n\
                void NAME(int *a, int n) { for (int i = 0; i < n; i++) a[i] += 1; }\n";
    write(p.path(), "c/part.c", part);
    let place = |args: &[&str]| {
        let out = tensorize(p.path(), args);
        let lines = String::from_utf8(out.stdout.clone()).unwrap();
        let mut lines = lines
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).unwrap());
        let found = lines.find(|l| l["name"] == "add_one");
        let found = found.unwrap_or_else(|| panic!("{out:?}"));
        assert_eq!(found["status"], "proven", "{found}");
        (
            found["file"].as_str().unwrap().to_owned(),
            found["line"].as_u64().unwrap(),
        )
    };
    let here = ("c/k.c".to_owned(), 4);
    assert_eq!(place(&[]), here, "proven");
    assert_eq!(place(&[]), here, "stored, and its file not read");
    assert_eq!(
        place(&["check", "--locked", "--offline"]),
        here,
        "stored, at the gate"
    );
    write(p.path(), "c/k.c", &source(2));
    assert_eq!(place(&[]), here, "stored, and its file read for another");
}

#[test]
fn an_unsupported_kernel_is_recorded_and_the_others_go_on() {
    let p = project(&KERNELS.replace("return 2 * x;", "static int y; y += x; return y;"));
    let out = tensorize(p.path(), &[]);
    assert_eq!(code(&out), 103, "{out:?}");
    assert_eq!(kernels(&out)[0], ("scale".into(), "unsupported".into()));
    assert_eq!(kernels(&out)[1], ("named".into(), "proven".into()));
    let record = fs::read_to_string(p.path().join(".tensorize/scale.toml")).unwrap();
    assert!(record.contains("TZ02"), "{record}");
}

#[test]
fn a_kernel_that_is_named_but_not_there_is_an_error() {
    let p = project(&KERNELS.replace("named", "renamed"));
    let out = tensorize(p.path(), &[]);
    assert_eq!(code(&out), 101);
    assert!(
        String::from_utf8_lossy(&out.stderr).contains("c/k.c::named"),
        "{out:?}"
    );
}

#[test]
fn no_kernels_and_no_project_have_codes_of_their_own() {
    let p = project("int f(int a) { return a; }\n");
    let manifest = fs::read_to_string(p.path().join("Cargo.toml")).unwrap();
    fs::write(
        p.path().join("Cargo.toml"),
        manifest.replace("kernels = [\"c/k.c::named\"]", ""),
    )
    .unwrap();
    assert_eq!(code(&tensorize(p.path(), &[])), 4);
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(code(&tensorize(empty.path(), &[])), 101);
}

/// Nobody read it, and nobody said so.
#[test]
fn settings_of_a_whole_workspace_are_refused() {
    let p = project(KERNELS);
    let table = "[workspace]\n[workspace.metadata.tensorize]\ntier = \"exact\"\n";
    let manifest = common::MANIFEST.replace("[workspace]\n", table);
    write(p.path(), "Cargo.toml", &manifest);
    for args in [&[][..], &["check", "--locked"], &["scan"], &["report"]] {
        let out = tensorize(p.path(), args);
        assert_eq!(code(&out), 101, "{args:?} {}", stderr(&out));
        let said = stderr(&out);
        assert!(
            said.contains("TZ0701") && said.contains("of each package"),
            "{said}"
        );
    }
    // What others have there is nothing to us.
    write(
        p.path(),
        "Cargo.toml",
        &manifest.replace("workspace.metadata.tensorize", "workspace.metadata.other"),
    );
    assert_eq!(code(&tensorize(p.path(), &["scan"])), 0);
}

/// With libclang out of reach nothing can be read, and nothing need be; what was edited does.
#[test]
fn files_whose_kernels_are_all_stored_are_not_read() {
    let p = project(KERNELS);
    let first = tensorize(p.path(), &[]);
    let without_libclang = |args: &[&str]| {
        let mut command = common::command(p.path(), args);
        command.args(["--message-format", "json"]);
        command.env("LIBCLANG_PATH", "/nowhere").output().unwrap()
    };
    let again = without_libclang(&[]);
    assert_eq!(code(&again), 0, "{}", common::stderr(&again));
    assert_eq!(kernels(&again), kernels(&first), "in the same order");
    let stored = common::stdout(&again).matches("\"stored\":true").count();
    assert_eq!(stored, 2, "{}", common::stdout(&again));
    for args in [&["--reprove"][..], &["--target", "numpy"]] {
        assert_ne!(code(&without_libclang(args)), 0, "{args:?}");
    }
    common::write(p.path(), "c/k.c", &KERNELS.replace("2 * x", "3 * x"));
    assert_ne!(code(&without_libclang(&[])), 0);
}

/// One message, with what to do about it, and not one a file that blames the file.
#[test]
fn a_machine_without_a_compiler_is_told_so_once() {
    let p = project(KERNELS);
    common::write(p.path(), "c/more.c", "int one(void) { return 1; }\n");
    let manifest = common::MANIFEST.replace("\"c/k.c\"", "\"c/k.c\", \"c/more.c\"");
    common::write(p.path(), "Cargo.toml", &manifest);
    assert_eq!(code(&tensorize(p.path(), &[])), 0);
    let nothing = tempfile::tempdir().unwrap();
    for args in [&["check"][..], &["check", "--locked"]] {
        let out = common::command(p.path(), args)
            .env("CC", nothing.path().join("cc"))
            .output()
            .unwrap();
        let told = common::stderr(&out);
        assert_eq!(code(&out), 101, "{args:?}: {told}");
        assert_eq!(told.matches("error[").count(), 1, "{args:?}: {told}");
        assert!(
            told.contains("TZ0103") && told.contains("install one"),
            "{args:?}: {told}"
        );
    }
}

/// A kernel with a loop takes the solver, and every thread has one of its own, so that counting solvers counts threads.
#[test]
fn as_many_threads_work_as_are_asked_for_and_all_find_the_same() {
    let loops = |name: &str| {
        format!(
            "TENSORIZE_KERNEL\nvoid {name}(const int *a, int *out, int n) {{ for (int i = 0; i < n; i++) out[i] = a[i] + {}; }}\n",
            name.len()
        )
    };
    let kernels = ["f", "ff", "fff", "ffff"].map(loops).concat();
    let manifest = common::MANIFEST.replace("kernels = [\"c/k.c::named\"]\n", "");
    let solvers = tempfile::tempdir().unwrap();
    let script = format!(
        "if [ \"$1\" = -in ]; then touch {}/started.$$; sleep 1; fi\nexec {} \"$@\"",
        solvers.path().display(),
        tensorize_prove::solver::find().display()
    );
    let z3 = common::program(solvers.path(), "z3", &script);
    let done = |jobs: &str| {
        let p = project(&format!("#include \"tensorize.h\"\n{kernels}"));
        write(p.path(), "Cargo.toml", &manifest);
        let out = command(p.path(), &["--jobs", jobs])
            .env("TENSORIZE_Z3", &z3)
            .output()
            .unwrap();
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        let mut started = 0;
        for entry in fs::read_dir(solvers.path()).unwrap().flatten() {
            if entry.path() != z3 {
                fs::remove_file(entry.path()).unwrap();
                started += 1;
            }
        }
        let stored = common::files(&p.path().join(".tensorize"));
        let stored = stored.into_iter().map(|(path, bytes)| {
            let name = path.strip_prefix(p.path()).unwrap().to_owned();
            (name, bytes)
        });
        (started, stored.collect::<common::Files>())
    };
    let ((one, alone), (two, together)) = (done("1"), done("2"));
    assert_eq!((one, two), (1, 2));
    assert!(
        alone.keys().any(|path| path.ends_with("ffff.c")),
        "{alone:?}"
    );
    assert_eq!(alone, together);
    let p = project(&kernels);
    assert_eq!(
        code(&tensorize(p.path(), &["--jobs", "0"])),
        2,
        "no thread does no work"
    );
}
