//! Reports for programs, each held against its schema or read by a program that is not ours. Without the Python
//! packages for that (`cargo xtask setup` installs them) these tests fail.

mod common;

use common::{KERNELS, code, command, project, stderr, stdout, tensorize, write};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program of the Python environment that `cargo xtask setup` makes.
fn program(name: &str) -> PathBuf {
    let python = cargo_tensorize::tools::find_python();
    let beside = python.with_file_name(name);
    let found = Some(beside).filter(|p| p.is_file());
    found
        .or_else(|| cargo_tensorize::tools::on_path(name))
        .unwrap_or_else(|| panic!("no {name}: `cargo xtask setup` installs it"))
}

fn succeeds(command: &mut Command) -> (bool, String) {
    let out = command.output().unwrap();
    let text = format!("{}{}", stdout(&out), stderr(&out));
    (out.status.success(), text)
}

/// One kernel that is proven, one that is not supported, and a stored result that is missing.
fn mixed() -> tempfile::TempDir {
    let kernels = KERNELS.replace("return 2 * x;", "static int y; y += x; return y;");
    let p = project(&format!(
        "{kernels}TENSORIZE_KERNEL\nint later(int a) {{ return a - 1; }}\n"
    ));
    assert_eq!(code(&tensorize(p.path(), &[])), 103);
    std::fs::remove_file(p.path().join(".tensorize/later.toml")).unwrap();
    p
}

fn in_format(dir: &Path, format: &str) -> Output {
    tensorize(dir, &["check", "--locked", "--message-format", format])
}

/// The official schema, as OASIS publishes it beside the specification.
fn sarif_schema() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/sarif-schema-2.1.0.json")
}

fn is_valid(schema: &Path, document: &str) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "document.json", document);
    let mut check = Command::new(program("check-jsonschema"));
    check
        // A pattern of the schema is none in the strict reading.
        .args(["--regex-variant", "nonunicode"])
        .arg("--schemafile")
        .arg(schema)
        .arg(dir.path().join("document.json"));
    succeeds(&mut check)
}

#[test]
fn sarif_is_valid_and_every_result_has_a_place() {
    let p = mixed();
    let out = in_format(p.path(), "sarif");
    assert_eq!(
        code(&out),
        102,
        "a report hides no failure: {}",
        stderr(&out)
    );
    let text = stdout(&out);
    let schema = sarif_schema();
    let (valid, why) = is_valid(&schema, &text);
    assert!(valid, "{why}\n{text}");
    // The validator does refuse.
    let (valid, _) = is_valid(&schema, &text.replace("\"results\"", "\"result\""));
    assert!(!valid);

    let log: Value = serde_json::from_str(&text).unwrap();
    let run = &log["runs"][0];
    assert_eq!(run["invocations"][0]["exitCode"], 102);
    let results = run["results"].as_array().unwrap();
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let mut found = Vec::new();
    for r in results {
        let place = &r["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "c/k.c", "{r}");
        let line = place["region"]["startLine"].as_u64().unwrap();
        let id = r["ruleId"].as_str().unwrap();
        let index = usize::try_from(r["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], id);
        let name = &r["locations"][0]["logicalLocations"][0]["name"];
        found.push((name.as_str().unwrap().to_owned(), line, r["level"].clone()));
    }
    found.sort_by_key(|(_, line, _)| *line);
    let expected = [("scale", 4), ("later", 8)];
    assert_eq!(found.len(), expected.len(), "{text}");
    for ((name, line, level), (n, l)) in found.iter().zip(expected) {
        assert_eq!(
            (name.as_str(), *line, level.as_str()),
            (n, l, Some("error"))
        );
    }
}

#[test]
fn sarif_of_a_run_without_results_is_valid_too() {
    let p = project(KERNELS);
    assert_eq!(code(&tensorize(p.path(), &[])), 0);
    let out = in_format(p.path(), "sarif");
    assert_eq!(code(&out), 0);
    let (valid, why) = is_valid(&sarif_schema(), &stdout(&out));
    assert!(valid, "{why}");
    // About the project, and so at its manifest.
    let empty = tempfile::tempdir().unwrap();
    let out = in_format(empty.path(), "sarif");
    assert_eq!(code(&out), 101);
    let (valid, why) = is_valid(&sarif_schema(), &stdout(&out));
    assert!(valid, "{why}");
    let log: Value = serde_json::from_str(&stdout(&out)).unwrap();
    assert_eq!(
        log["runs"][0]["invocations"][0]["executionSuccessful"],
        false
    );
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "TZ0702");
}

/// As another program reads the report: name of the suite, name of the case, outcome.
const READ_JUNIT: &str = "
import sys
from junitparser import JUnitXml
for suite in JUnitXml.fromfile(sys.argv[1]):
    for case in suite:
        print(suite.name, case.name, ','.join(f'{type(r).__name__}:{r.type}' for r in case.result) or 'passed')
";

#[test]
fn junit_is_read_by_another_program() {
    let p = mixed();
    let out = in_format(p.path(), "junit");
    assert_eq!(code(&out), 102);
    write(p.path(), "junit.xml", &stdout(&out));
    let mut read = Command::new(cargo_tensorize::tools::find_python());
    read.args(["-c", READ_JUNIT])
        .arg(p.path().join("junit.xml"));
    let (good, text) = succeeds(&mut read);
    assert!(good, "{text}");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let [later, named, scale] = lines[..] else {
        panic!("{text}");
    };
    assert_eq!(later, "c/k.c later Failure:TZ0704");
    assert_eq!(named, "c/k.c named passed");
    assert!(scale.starts_with("c/k.c scale Failure:TZ02"), "{scale}");
}

#[test]
fn a_workflow_gets_annotations_without_asking() {
    let p = mixed();
    let mut check = command(p.path(), &["check", "--locked"]);
    let out = check
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_WORKSPACE", p.path().parent().unwrap())
        .output()
        .unwrap();
    assert_eq!(code(&out), 102);
    let text = stdout(&out);
    let folder = p.path().file_name().unwrap().to_str().unwrap();
    let lines: Vec<&str> = text.lines().filter(|l| l.starts_with("::")).collect();
    let later = lines.iter().find(|l| l.contains("`later`")).unwrap();
    let start = format!("::error file={folder}/c/k.c,line=8,endLine=8,col=1,endColumn=");
    assert!(later.starts_with(&start), "{later}");
    assert!(
        later.contains(",title=TZ0704::`later`: no result is stored"),
        "{later}"
    );
    assert_eq!(lines.len(), 2, "{text}");
    // The table is there all the same, and elsewhere there are no annotations.
    assert!(text.contains("3 kernels"), "{text}");
    let elsewhere = in_format(p.path(), "human");
    assert!(!stdout(&elsewhere).contains("::error"));
    assert!(stdout(&in_format(p.path(), "github")).contains("::error"));
}

/// What docs/ci.md shows is a workflow by GitHub's own schema.
#[test]
fn the_workflow_of_the_documentation_is_valid() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/ci.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, after) = page.split_once("```yaml\n").expect("a workflow");
    let (workflow, _) = after.split_once("```").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        write(dir.path(), "tensorize.yml", text);
        let mut check = Command::new(program("check-jsonschema"));
        check.args(["--builtin-schema", "vendor.github-workflows"]);
        succeeds(check.arg(dir.path().join("tensorize.yml")))
    };
    let (valid, why) = check(workflow);
    assert!(valid, "{why}");
    assert!(!check(&workflow.replace("runs-on", "run-on")).0);
    for command in [
        "cargo tensorize check --locked",
        "cargo tensorize check --locked --reprove",
    ] {
        assert!(workflow.contains(command), "{command}");
    }
}
