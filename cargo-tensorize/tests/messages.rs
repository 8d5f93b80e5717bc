//! Every kind of JSON message, held against `docs/schema/messages.json`: no key is printed that is not in it, and what is in it
//! is printed. `check-jsonschema`, which `cargo xtask setup` installs, is the judge.

mod common;

use common::{KERNELS, code, command, project, stderr, stdout, tensorize, write};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What takes more to be printed than a small project: a run that is too large to be interpreted, and a setting.
const NOT_PRINTED_HERE: &[&str] = &[
    "evidence/places",
    "evidence/places/all",
    "evidence/places/compared",
    "record/least_share",
];

fn schema_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema/messages.json")
}

/// Whether all of them are valid, and what is wrong.
fn are_valid(schema: &Path, messages: &[Value]) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let mut check =
        Command::new(cargo_tensorize::tools::find_python().with_file_name("check-jsonschema"));
    check.arg("--schemafile").arg(schema);
    for (n, message) in messages.iter().enumerate() {
        let name = format!("{n}.json");
        write(dir.path(), &name, &message.to_string());
        check.arg(dir.path().join(name));
    }
    let out = check
        .output()
        .expect("`cargo xtask setup` installs check-jsonschema");
    (out.status.success(), stdout(&out) + &stderr(&out))
}

/// What a command prints.
struct Printed(Vec<Value>);

impl Printed {
    fn add(&mut self, dir: &Path, args: &[&str], expected: i32) {
        self.of(command(dir, args), expected);
    }

    fn of(&mut self, mut command: Command, expected: i32) {
        let out = command.output().unwrap();
        assert_eq!(code(&out), expected, "{command:?}\n{}", stderr(&out));
        let lines = stdout(&out);
        let before = self.0.len();
        self.0.extend(
            lines
                .lines()
                .map(|l| serde_json::from_str::<Value>(l).unwrap()),
        );
        assert!(self.0.len() > before, "{command:?} prints nothing");
    }
}

/// What every command prints, on projects with kernels of every outcome.
fn all_messages() -> Vec<Value> {
    const MORE: &str = "TENSORIZE_KERNEL
static int inner(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
int outer(const int *a, int n) { return inner(a, n); }
TENSORIZE_KERNEL
int counts(int x) { static int y; y += x; return y; }
TENSORIZE_KERNEL
float sum(const float *restrict a, int n) { float s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
TENSORIZE_KERNEL
void put(const int *a, const int *c, int *out, int n) { for (int i = 0; i < n; i++) if (c[i]) out[i] = a[i]; }
TENSORIZE_KERNEL
void rows(int **m, int r, int c) { for (int i = 0; i < r; i++) for (int j = 0; j < c; j++) m[i][j] *= 2; }
TENSORIZE_KERNEL
float turned(const float *a, int n) {
    float s = 0;
    for (int i = n - 1; i >= 0; i--) s = a[i] + (s + 1.0f);
    return s;
}
";
    let mut all = Printed(vec![]);
    let p = project(&format!("{KERNELS}{MORE}"));
    let dir = p.path();
    let json = ["--message-format", "json"];
    let with = |args: &[&'static str]| [args, &json[..]].concat();
    // Another checkout has its results.
    let shared = tempfile::tempdir().unwrap();
    for checkout in [project(KERNELS), project(KERNELS)] {
        let mut first = command(checkout.path(), &json);
        first.env("TENSORIZE_CACHE", shared.path());
        all.of(first, 0);
    }
    let numpy = ["--target", "cpu", "--target", "numpy"];
    all.add(dir, &[&json[..], &numpy].concat(), 103);
    all.add(dir, &json, 103);
    all.add(
        dir,
        &with(&["check", "--locked", "--min-tier", "exact"]),
        102,
    );
    std::fs::remove_file(dir.join(".tensorize/named.toml")).unwrap();
    all.add(dir, &with(&["check", "--locked"]), 102);
    all.add(dir, &json, 103);
    let include = concat!(
        "-I",
        env!("CARGO_MANIFEST_DIR"),
        "/../tensorize-build/include"
    );
    let lift = ["lift", "c/k.c", "--target", "cpu", "--solver", "cvc5"];
    let lift = [&lift[..], &json, &["--", include]].concat();
    all.add(dir, &lift, 103);
    let wrong = "func @named(a: i32, b: i32) {\n%0 = constant 1:i32 : tensor<i32>\nreturn %0\n}\n";
    write(dir, "wrong.tensir", wrong);
    let prove = [
        "prove",
        "c/k.c::named",
        "--summary",
        "wrong.tensir",
        "--message-format",
        "json",
        "--",
        include,
    ];
    all.add(dir, &prove, 100);
    all.add(dir, &with(&["scan"]), 0);
    all.add(dir, &with(&["report"]), 0);
    let gemmini = ["--target", "cpu", "--target", "gemmini"];
    all.add(dir, &[&json[..], &gemmini].concat(), 103);
    let kernels = ["scale", "counts", "inner", "sum", "put", "rows"];
    for kernel in kernels.into_iter().chain(["TZ0203"]) {
        all.add(dir, &[&["explain", kernel], &json[..]].concat(), 0);
    }
    all.add(dir, &with(&["explain"]), 0);
    let hash = tensorize_build::store::Store::of_manifest(dir).load();
    let scale = hash
        .entries
        .iter()
        .find(|e| e.record.name == "scale")
        .unwrap();
    let run = json!({"format": 1, "program": "p", "ended": 1, "choice": "cpu", "kernels": [{
        "name": "scale", "file": "c/k.c", "line": 4, "hash": scale.record.hash, "why": null,
        "answered": [{"by": "original", "calls": 1}, {"by": "cpu", "calls": 2}],
        "fell_back": [{"cause": "memory", "why": "there was no memory for the results", "calls": 1}],
        "sizes": [], "compared": 0, "differed": 0}]});
    write(dir, "run.json", &run.to_string());
    all.add(dir, &with(&["explain", "scale", "--report", "run.json"]), 0);
    all.add(dir, &with(&["targets"]), 0);
    all.add(dir, &with(&["doctor"]), 0);
    let measured = "echo 'f h 13 original 5210 cpu 1270' >> $TENSORIZE_TUNED";
    let mut tune = command(
        dir,
        &[&with(&["tune"])[..], &["--", "sh", "-c", measured]].concat(),
    );
    tune.env("TENSORIZE_TUNED", dir.join("tuned"));
    all.of(tune, 0);
    all.0.extend(watched(dir));
    all.0
}

/// What `watch` prints at its first look.
fn watched(dir: &Path) -> Vec<Value> {
    let mut watch = command(dir, &["watch", "--message-format", "json"]);
    watch.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = watch.spawn().unwrap();
    let mut printed = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let last = message["reason"] == "verdict";
        printed.push(message);
        if last {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    printed
}

/// Goes through a schema, and through a value beside it if there is one, and notes the keys: of the schema, or of the value.
fn keys(
    schema: &Value,
    node: &Value,
    at: &str,
    value: Option<&Value>,
    found: &mut BTreeSet<String>,
) {
    if let Some(name) = node["$ref"]
        .as_str()
        .and_then(|r| r.strip_prefix("#/$defs/"))
    {
        keys(schema, &schema["$defs"][name], name, value, found);
    }
    for (key, inner) in node["properties"].as_object().into_iter().flatten() {
        let beside = value.map(|v| &v[key.as_str()]);
        if value.is_none_or(|v| v.get(key).is_some()) {
            let at = format!("{at}/{key}");
            found.insert(at.clone());
            keys(schema, inner, &at, beside, found);
        }
    }
    let each = [&node["items"], &node["additionalProperties"]];
    for inner in each.into_iter().filter(|n| n.is_object()) {
        let values: Vec<Option<&Value>> = match value {
            None => vec![None],
            Some(Value::Array(all)) => all.iter().map(Some).collect(),
            Some(Value::Object(all)) => all.values().map(Some).collect(),
            Some(_) => vec![],
        };
        for value in values {
            keys(schema, inner, at, value, found);
        }
    }
}

#[test]
fn what_is_printed_is_what_the_schema_says() {
    let schema: Value =
        serde_json::from_str(&std::fs::read_to_string(schema_file()).unwrap()).unwrap();
    let messages = all_messages();
    let (valid, why) = are_valid(&schema_file(), &messages);
    assert!(valid, "{why}");

    let (mut known, mut printed) = (BTreeSet::new(), BTreeSet::new());
    let kinds = schema["properties"]["reason"]["enum"].as_array().unwrap();
    for kind in kinds {
        let name = kind.as_str().unwrap();
        let of_kind: Vec<&Value> = messages.iter().filter(|m| m["reason"] == *kind).collect();
        assert!(!of_kind.is_empty(), "no message is a {name}");
        let node = &schema["$defs"][name];
        keys(&schema, node, name, None, &mut known);
        for message in of_kind {
            keys(&schema, node, name, Some(message), &mut printed);
        }
    }
    let not_printed: Vec<&str> = known.difference(&printed).map(String::as_str).collect();
    assert_eq!(
        not_printed, NOT_PRINTED_HERE,
        "keys that are in the schema alone"
    );
}

/// What a later version might print without a word of it here.
#[test]
fn what_is_not_in_the_schema_is_refused() {
    let p = project(KERNELS);
    let out = tensorize(p.path(), &["--message-format", "json"]);
    let lines = stdout(&out);
    let kernel: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(are_valid(&schema_file(), std::slice::from_ref(&kernel)).0);
    let with = |key: &str, value: Value| {
        let mut changed = kernel.clone();
        *changed.pointer_mut(key).unwrap_or_else(|| panic!("{key}")) = value;
        changed
    };
    let more = |at: &str| {
        let mut changed = kernel.clone();
        let object = changed.pointer_mut(at).unwrap().as_object_mut().unwrap();
        object.insert("new".into(), json!(1));
        changed
    };
    let mut less = kernel.clone();
    less.as_object_mut().unwrap().remove("why");
    for wrong in [
        more(""),
        more("/times_us"),
        more("/targets/cpu"),
        more("/evidence"),
        with("/status", json!("fine")),
        with("/line", json!(-1)),
        with("/reason", json!("news")),
        with("/reason", json!("summary")),
        less,
    ] {
        let (valid, why) = are_valid(&schema_file(), std::slice::from_ref(&wrong));
        assert!(!valid && why.contains("0.json"), "{wrong}: {why}");
    }
}
