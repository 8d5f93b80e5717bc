//! Every fixture with a known outcome, against what was found before: status, tier, guards, summary, or why not. Folders go by
//! the outcome; `UPDATE_GOLDEN=1` writes the files beside the fixtures anew.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// The C and C++ files of a folder; a folder without any is a mistake.
fn sources(folder: &str) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(fixtures().join(folder))
        .unwrap()
        .flatten();
    let mut files: Vec<PathBuf> = listed
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "c" || e == "cpp"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "fixtures/{folder} is empty");
    files
}

fn run(args: &[&str]) -> Vec<Value> {
    let out = Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"))
        .args(args)
        .args(["--message-format", "json"])
        .current_dir(fixtures())
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let parse = |l: &str| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"));
    text.lines()
        .map(parse)
        .filter(|v: &Value| v["reason"] == "kernel")
        .collect()
}

/// What there is to say of a kernel, without times.
fn told(k: &Value) -> String {
    let word = |key: &str| k[key].as_str().unwrap_or_default();
    let mut text = format!("{}: {} {}", word("name"), word("status"), word("tier"));
    text.truncate(text.trim_end().len());
    text.push('\n');
    for guard in k["guards"].as_array().into_iter().flatten() {
        let _ = writeln!(text, "guard {}", guard.as_str().unwrap_or_default());
    }
    for note in k["notes"].as_array().into_iter().flatten() {
        let _ = writeln!(text, "note {}", note.as_str().unwrap_or_default());
    }
    if let Some(code) = k["code"].as_str() {
        let _ = writeln!(text, "{code} {}", word("why"));
    }
    text + word("summary")
}

/// The kernels of all files of a folder, by file. One run for all: it has work for every core to the end.
fn lifted(folder: &str, args: &[&str]) -> BTreeMap<String, Vec<Value>> {
    let files = sources(folder).into_iter().map(|f| name_in(folder, &f));
    let files: Vec<String> = files.collect();
    // What is found must not depend on how busy the machine is.
    let mut all = vec!["lift", "--no-differential", "--time-limit", "120"];
    all.extend(args);
    all.extend(files.iter().map(String::as_str));
    let mut kernels: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for kernel in run(&all) {
        let file = kernel["file"].as_str().expect("a file").to_owned();
        kernels.entry(file).or_default().push(kernel);
    }
    kernels
}

/// The proven fixtures, with code for the machine's own cores where there is some.
fn proven_kernels() -> &'static BTreeMap<String, Vec<Value>> {
    static KERNELS: OnceLock<BTreeMap<String, Vec<Value>>> = OnceLock::new();
    KERNELS.get_or_init(|| lifted("proven", &["--target", "cpu"]))
}

fn name_in(folder: &str, file: &Path) -> String {
    let name = file.file_name().unwrap().to_string_lossy();
    format!("{folder}/{name}")
}

/// All that is found out about a file: what we propose, and of somebody else's summary where there is one.
fn outcome(here: &str, file: &Path, lifted: &[Value]) -> (String, Vec<Value>) {
    let mut kernels = lifted.to_vec();
    let mut text = String::new();
    kernels.iter().for_each(|k| text += &(told(k) + "\n"));
    if file.with_extension("tir").exists() {
        let first = kernels[0]["name"].as_str().unwrap().to_owned();
        let summary = here.replace(".cpp", ".tir").replace(".c", ".tir");
        kernels = run(&["prove", &format!("{here}::{first}"), "--summary", &summary]);
        text += "# the summary beside it\n";
        kernels.iter().for_each(|k| text += &(told(k) + "\n"));
    }
    (text.trim_end().to_owned() + "\n", kernels)
}

fn check(folder: &str, lifted: &BTreeMap<String, Vec<Value>>, expected: impl Fn(&[Value]) -> bool) {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut wrong = Vec::new();
    for file in sources(folder) {
        let here = name_in(folder, &file);
        let found = lifted.get(&here).map_or(&[][..], Vec::as_slice);
        let (text, kernels) = outcome(&here, &file, found);
        if !expected(&kernels) {
            wrong.push(format!(
                "{} is in the wrong folder:\n{text}",
                file.display()
            ));
        }
        let name = file.file_name().unwrap().to_string_lossy();
        let golden = file.with_file_name(format!("{name}.golden"));
        if update {
            std::fs::write(&golden, text).unwrap();
        } else if std::fs::read_to_string(&golden).unwrap_or_default() != text {
            wrong.push(format!(
                "{} is not what is found now:\n{text}",
                golden.display()
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nUPDATE_GOLDEN=1 cargo test -p cargo-tensorize --test golden",
        wrong.join("\n")
    );
}

fn any(kernels: &[Value], status: &[&str]) -> bool {
    kernels
        .iter()
        .any(|k| status.iter().any(|s| k["status"] == *s))
}

#[test]
fn proven() {
    check("proven", proven_kernels(), |k| any(k, &["proven"]));
}

/// For another processor than the one that runs the tests: there is no original to run.
#[test]
fn neon() {
    let kernels = lifted("neon", &[]);
    check("neon", &kernels, |k| any(k, &["proven"]));
}

#[test]
fn refuted() {
    let kernels = lifted("refuted", &[]);
    check("refuted", &kernels, |k| any(k, &["refuted"]));
}

#[test]
fn unsupported() {
    let kernels = lifted("unsupported", &[]);
    check("unsupported", &kernels, |k| {
        any(k, &["unsupported", "error"])
    });
}

/// Which proven kernels have no code for the machine's own cores, and why not.
#[test]
fn proven_without_code() {
    let mut text = String::new();
    for (file, kernels) in proven_kernels() {
        let name = file.trim_start_matches("proven/");
        for k in kernels {
            let cpu = &k["targets"]["cpu"];
            if k["status"] == "proven" && cpu["status"] != "generated" {
                let (kernel, why) = (k["name"].as_str().unwrap(), cpu["why"].as_str().unwrap());
                let _ = writeln!(text, "{name}: {kernel}: {why}");
            }
        }
    }
    let golden = fixtures().join("proven/without_code.golden");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    let stored = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(
        stored, text,
        "UPDATE_GOLDEN=1 cargo test -p cargo-tensorize --test golden"
    );
}
