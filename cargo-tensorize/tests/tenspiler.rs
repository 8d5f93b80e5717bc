//! The 69 benchmarks of Tenspiler, as the libraries have them: lifted, proven, and compared with the compiled
//! original. Which form and which file a benchmark is in follows from its suite; there is nothing else
//! to say about any of them.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is not proven today, in C. A name that is proven has to leave this list.
const MISSING_IN_C: &[&str] = &[];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/tenspiler")
}

/// The benchmarks' names, a suite.
fn suites() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(folder().join("benchmarks.tsv")).unwrap();
    let mut suites: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split('\t').map(String::from);
        let (suite, name) = (fields.next().unwrap(), fields.next().unwrap());
        suites.entry(suite).or_default().push(name);
    }
    suites
}

/// The reports of a file's kernels.
fn lifted(file: &Path) -> Vec<Value> {
    let out = Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"))
        .args(["lift", "--message-format", "json"])
        .arg(file)
        .output()
        .unwrap();
    String::from_utf8(out.stdout)
        .unwrap()
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap())
        .filter(|v| v["reason"] == "kernel")
        .collect()
}

#[test]
fn benchmarks_in_c_are_proven() {
    let (proven, missing) = outcome("c", "c");
    println!("{proven} of 69");
    assert_eq!(missing, MISSING_IN_C);
}

#[test]
fn benchmarks_with_vectors_are_proven() {
    let (proven, missing) = outcome("vector", "cpp");
    assert_eq!((proven, missing), (69, vec![]));
}

#[test]
fn benchmarks_with_spans_and_templates_are_proven() {
    let (proven, missing) = outcome("span", "cpp");
    assert_eq!((proven, missing), (69, vec![]));
}

#[test]
fn other_kernels_in_cpp_are_proven() {
    let kernels = lifted(&folder().join("../cpp/kernels.cpp"));
    assert!(kernels.len() >= 30, "{}", kernels.len());
    let open: Vec<String> = kernels
        .iter()
        .filter(|k| k["status"] != "proven")
        .map(|k| format!("{}: {}", k["name"], k["why"]))
        .collect();
    assert!(open.is_empty(), "{}", open.join("\n"));
}

/// How many of the benchmarks are proven in this form, and which functions of its files are not.
fn outcome(form: &str, extension: &str) -> (usize, Vec<String>) {
    let suites = suites();
    assert_eq!(suites.values().map(Vec::len).sum::<usize>(), 69);
    let (mut proven, mut missing, mut absent) = (0, Vec::new(), Vec::new());
    println!("{:24} {:12} {:6} {:>9}", "kernel", "status", "tier", "ms");
    for (suite, names) in &suites {
        let kernels = lifted(&folder().join(form).join(format!("{suite}.{extension}")));
        for k in &kernels {
            let name = k["name"].as_str().unwrap();
            let status = k["status"].as_str().unwrap();
            let time = k["times_us"]
                .as_object()
                .map_or(0, |t| t.values().filter_map(Value::as_u64).sum::<u64>());
            let tier = k["tier"].as_str().unwrap_or("-");
            println!("{name:24} {status:12} {tier:6} {:9.1}", time as f64 / 1e3);
            if status != "proven" {
                println!("  {}", k["why"].as_str().unwrap_or_default());
                missing.push(name.to_string());
            } else if names.iter().any(|n| n == name) {
                proven += 1;
            }
        }
        let written = |name: &String| kernels.iter().any(|k| k["name"] == name.as_str());
        absent.extend(names.iter().filter(|n| !written(n)).cloned());
    }
    assert!(absent.is_empty(), "no fixture: {absent:?}");
    missing.sort();
    (proven, missing)
}
