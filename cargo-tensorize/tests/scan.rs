//! `scan`: what a project that knows nothing of us has to win.

mod common;

use common::{code, stderr, stdout, tensorize, write};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

const PLAIN: &str = "float first(const float *a) { return a[0]; }
void scale(const float *a, float *out, int n) { for (int i = 0; i < n; i++) out[i] = FACTOR * a[i]; }
int counts(void) { static int calls; return ++calls; }
";

/// A folder of C, compiled by a build system of its own. It is no Cargo project.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(root, "src/a.c", PLAIN);
    write(root, "src/b.cpp", "int twice(int x) { return 2 * x; }\n");
    write(root, "src/broken.c", "#include \"no such header.h\"\n");
    write(
        root,
        "generated/g.c",
        "int generated(int x) { return x; }\n",
    );
    write(root, ".gitignore", "generated/\n");
    let commands = serde_json::json!([
        {"directory": root, "file": "src/a.c", "command": "cc -DFACTOR=3.0f -c src/a.c"},
    ]);
    write(root, "build/compile_commands.json", &commands.to_string());
    dir
}

fn found(out: &Output) -> Vec<(String, String, Option<String>)> {
    let text = stdout(out);
    let lines = text
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap());
    let mut all: Vec<_> = lines
        .filter(|l| l["reason"] == "kernel")
        .map(|l| {
            let text = |key: &str| l[key].as_str().map(str::to_owned);
            (text("name").unwrap(), text("status").unwrap(), text("code"))
        })
        .collect();
    all.sort();
    all
}

fn scan(dir: &Path, args: &[&str]) -> Output {
    let args = [&["scan", "--message-format", "json"], args].concat();
    tensorize(dir, &args)
}

#[test]
fn every_function_is_found_with_the_reason_where_it_does_not_lift() {
    let dir = folder();
    let out = scan(dir.path(), &[]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let all = found(&out);
    let names: Vec<&str> = all.iter().map(|(n, _, _)| n.as_str()).collect();
    assert_eq!(names, ["counts", "first", "scale", "twice"], "{all:?}");
    for (name, status, why) in &all {
        if name == "counts" {
            assert_eq!(status, "unsupported");
            assert!(
                why.as_ref().is_some_and(|c| c.starts_with("TZ02")),
                "{all:?}"
            );
        } else {
            assert_eq!((status.as_str(), why), ("proven", &None), "{name}");
        }
    }
    assert!(
        stderr(&out).contains("no such header.h"),
        "{}",
        stderr(&out)
    );
    assert!(!dir.path().join(".tensorize").exists(), "it writes nothing");
}

#[test]
fn people_see_places_and_a_count() {
    let dir = folder();
    let out = tensorize(dir.path(), &["scan"]);
    let text = stdout(&out);
    assert!(text.contains("src/a.c\n"), "{text}");
    let line = |name: &str| {
        let found = text
            .lines()
            .find(|l| l.split_whitespace().nth(1) == Some(name));
        found
            .unwrap_or_else(|| panic!("no {name}:\n{text}"))
            .to_owned()
    };
    assert!(
        line("scale").contains("lifts") && line("scale").contains("1 loop"),
        "{text}"
    );
    assert!(line("counts").contains("TZ02"), "{text}");
    assert!(
        text.contains("4 functions in 3 files: 3 would lift"),
        "{text}"
    );
    let lifting = stdout(&tensorize(dir.path(), &["scan", "--lifting"]));
    assert!(
        !lifting.contains("counts") && lifting.contains("scale"),
        "{lifting}"
    );
}

#[test]
fn globs_and_the_compilation_database_count() {
    let dir = folder();
    let only = |args: &[&str]| {
        let all = found(&scan(dir.path(), args));
        all.into_iter().map(|(name, _, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(only(&["--glob", "*.cpp"]), ["twice"]);
    assert_eq!(only(&["--glob", "!*.c"]), ["twice"]);
    assert_eq!(
        only(&["generated"]),
        ["generated"],
        "what is named is looked at"
    );
    // Without its -DFACTOR, the one function is spoilt.
    std::fs::remove_dir_all(dir.path().join("build")).unwrap();
    let all = found(&scan(dir.path(), &["--glob", "a.c"]));
    let scale = all.iter().find(|(n, _, _)| n == "scale").unwrap();
    assert_eq!(scale.1, "error", "{all:?}");
    let out = scan(dir.path(), &["--compile-commands", "gone.json"]);
    assert_eq!(code(&out), 101);
    assert!(stderr(&out).contains("TZ0110"), "{}", stderr(&out));
    assert_eq!(code(&scan(dir.path(), &["--glob", "a{"])), 2);
    assert_eq!(code(&scan(dir.path(), &["--glob", "*.none"])), 4);
}

/// A database from a stranger must not run anything: here, a plugin and a compiler that would leave a trace.
#[test]
fn a_database_runs_nothing() {
    let dir = folder();
    let trace = dir.path().join("trace");
    let evil = dir.path().join("evil");
    write(
        dir.path(),
        "evil",
        &format!("#!/bin/sh\ntouch {}\n", trace.display()),
    );
    let commands = serde_json::json!([{
        "directory": dir.path(), "file": "src/a.c",
        "arguments": [evil, "-DFACTOR=$(touch trace)", "-DFACTOR=2.0f", "-fplugin=./evil", "-Xclang", "-load",
                      "-Xclang", "./evil", "-B.", "src/a.c"],
    }]);
    write(
        dir.path(),
        "build/compile_commands.json",
        &commands.to_string(),
    );
    let out = scan(dir.path(), &["--glob", "a.c"]);
    assert_eq!(code(&out), 0);
    let all = found(&out);
    assert!(
        all.iter().any(|(n, s, _)| n == "scale" && s == "proven"),
        "{all:?}"
    );
    assert!(!trace.exists());
}

/// The first command that anybody types, before the project knows of us.
#[test]
fn what_a_build_script_says_to_cc_counts() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(root, "Cargo.toml", "[package]\nname = \"old\"\n");
    write(root, "src/lib.rs", "");
    write(root, "c/include/gain.h", "#define GAIN 3\n");
    write(
        root,
        "c/gain.c",
        "#include \"gain.h\"\nvoid gain(int *x, int n) { for (int i = 0; i < n; i++) x[i] *= GAIN + MORE; }\n",
    );
    let script = "fn main() { let mut b = cc::Build::new(); b.file(\"c/gain.c\").include(\"c/include\"); \
                  b.define(\"MORE\", \"4\"); b.compile(\"old\"); }";
    write(root, "build.rs", script);
    let all_lift = || {
        for args in [&[][..], &["c"]] {
            let out = scan(root, args);
            let expected = [("gain".into(), "proven".into(), None)];
            assert_eq!(found(&out), expected, "{}", stderr(&out));
        }
    };
    all_lift();
    // In the file that the manifest names, with several folders and flags at once.
    std::fs::remove_file(root.join("build.rs")).unwrap();
    let manifest = "[package]\nname = \"old\"\nbuild = \"build/main.rs\"\n";
    write(root, "Cargo.toml", manifest);
    let script = script
        .replace("include(\"c/include\")", "includes([\"c/include\"])")
        .replace("define(\"MORE\", \"4\")", "flags([\"-DMORE=4\"])");
    write(root, "build/main.rs", &script);
    all_lift();
}

/// From the code that there would be, of each kind of work; the numbers are those that the code itself compares.
#[test]
fn what_one_might_win_is_told_of_what_lifts() {
    const KINDS: &str = "#include <math.h>
void each(const float *a, float *out, int n) { for (int i = 0; i < n; i++) out[i] = 2 * a[i]; }
float sum(const float *a, int n) { float s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
void powers(float *a, int n) { for (int i = 0; i < n; i++) a[i] = expf(a[i]); }
void product(const float *a, const float *b, float *c, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
            c[i * n + j] = s;
        }
}
float largest(const float *a, int n) { float m = a[0]; for (int i = 1; i < n; i++) if (a[i] > m) m = a[i]; return m; }
int twice(int x) { return 2 * x; }
int kept(void) { static int n; return ++n; }
";
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "k.c", KINDS);
    let out = scan(dir.path(), &[]);
    let lines: Vec<Value> = stdout(&out)
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let of = |name: &str| &lines.iter().find(|l| l["name"] == name).unwrap()["outlook"];
    let outlook = |gain: &str, from: Option<i64>, cores: Option<u64>, tier: &str| serde_json::json!({"gain": gain, "from_elements": from, "all_cores_from_rounds": cores, "tier": tier});
    // A float is read, multiplied and written: 12 bytes; 1 MiB of that is worth a second core.
    let cores = (1 << 20) / 12 + 1;
    let gain = format!("memory-bound, up to the speed of a copy; all cores from {cores} rounds");
    assert_eq!(of("each"), &outlook(&gain, Some(64), Some(cores), "exact"));
    for (name, gain) in [
        ("sum", "float sums in vectors (tier real); all cores from "),
        (
            "powers",
            "exp, log and the like in vectors (tier real); all cores from ",
        ),
        (
            "product",
            "a BLAS-class library (tier real); all cores from 1048577 rounds",
        ),
    ] {
        let told = of(name)["gain"].as_str().unwrap();
        assert!(told.starts_with(gain), "{name}: {told}");
        assert_eq!(of(name)["tier"], "real");
    }
    let little = "little: its loops keep their order";
    assert_eq!(of("largest"), &outlook(little, Some(64), None, "exact"));
    let nothing = "nothing: it has no loop";
    assert_eq!(of("twice"), &outlook(nothing, None, None, "exact"));
    assert!(of("kept").is_null(), "it does not lift");

    let text = stdout(&tensorize(dir.path(), &["scan"]));
    let each = text.lines().find(|l| l.contains(" each ")).unwrap();
    assert!(each.trim_end().ends_with(&gain), "{text}");
    let limit = "calls that touch fewer than 64 elements stay with the original";
    assert!(text.contains(limit), "{text}");
}

/// It was a folder without functions.
#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let dir = folder();
    for args in [&["scan", "nosuchdir"][..], &["scan", "src", "nosuchdir/"]] {
        let out = tensorize(dir.path(), args);
        let said = stderr(&out);
        assert_eq!(code(&out), 101, "{said}");
        assert!(
            said.contains("nosuchdir") && said.contains("no such file or folder"),
            "{said}"
        );
        assert!(said.contains("help: name a folder"), "{said}");
        assert_eq!(stdout(&out), "");
    }
}
