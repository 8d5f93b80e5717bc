//! External proposers: one that answers well, and many that don't.

mod common;

use common::{MANIFEST, project, stderr, tensorize, write};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The rows that it writes differ in length, up and down, and every other place is left out, which no proposer of ours has a summary for today. The
/// prover knows what to do with one.
const STAIRS: &str = "\
void stairs(float s, float *b, int n)
{
    for (int k = 0; k < 3 * n; k++)
        b[k] = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i % 4; j += 2)
            b[i * 3 + j] = s;
}
";

const RIGHT: &str = "func @stairs(s: f32, b: ptr<f32>, n: i32) {
  %x = generic select(index_compare(LT, #1, mod(#0, 4)), select(index_compare(EQ, mod(#1, 2), 0), s, 0.0:f32), 0.0:f32) : tensor<n x 3 x f32>
  store b[#0*3 + #1] = %x
}";

struct Trial {
    kernel: Value,
    took: Duration,
}

fn answer(candidates: &[&str]) -> String {
    serde_json::json!({ "candidates": candidates }).to_string()
}

fn script(dir: &Path, text: &str) -> PathBuf {
    let path = dir.join("propose.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// What becomes of the stairs if this shell script proposes.
fn propose_in(dir: &Path, text: &str) -> Trial {
    std::fs::write(dir.join("stairs.c"), STAIRS).unwrap();
    let program = script(dir, text);
    let start = Instant::now();
    let out = Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"))
        .args([
            "lift",
            "stairs.c",
            "--message-format",
            "json",
            "--target",
            "cpu",
        ])
        .args(["--proposer-time-limit", "2", "--proposer"])
        .arg(program)
        .current_dir(dir)
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let line = text.lines().next().expect("a report");
    Trial {
        kernel: serde_json::from_str(line).unwrap(),
        took: start.elapsed(),
    }
}

fn propose(text: &str) -> Trial {
    propose_in(tempfile::tempdir().unwrap().path(), text)
}

fn says(answer: &str) -> String {
    format!("cat > /dev/null; cat <<'END'\n{answer}\nEND")
}

#[test]
fn a_good_answer_is_proven_and_code_is_generated() {
    let dir = tempfile::tempdir().unwrap();
    let text = format!(
        "cat > question.json; cat <<'END'\n{}\nEND",
        answer(&[RIGHT])
    );
    let Trial { kernel, .. } = propose_in(dir.path(), &text);
    assert_eq!(kernel["status"], "proven", "{kernel}");
    assert_eq!(kernel["tier"], "exact", "{kernel}");
    assert_eq!(kernel["targets"]["cpu"]["status"], "generated", "{kernel}");
    assert!(kernel["code"].is_null(), "{kernel}");
    // What it was asked.
    let question = std::fs::read_to_string(dir.path().join("question.json")).unwrap();
    let question: Value = serde_json::from_str(&question).unwrap();
    assert_eq!(question["version"], 1);
    assert_eq!(question["kernel"]["name"], "stairs");
    let source = question["kernel"]["source"].as_str().unwrap();
    assert_eq!(source, STAIRS.trim_end());
    let loopir = question["kernel"]["loopir"].as_str().unwrap();
    assert!(loopir.contains("while"), "{loopir}");
    assert!(
        question["open"]
            .as_str()
            .unwrap()
            .contains("differ in length")
    );
    assert!(
        question["tensir_reference"]
            .as_str()
            .unwrap()
            .contains("dot_general")
    );
}

/// As the manifest names it, from whatever folder one works in.
#[test]
fn the_proposer_of_a_project_is_asked() {
    let p = project(&format!(
        "#include \"tensorize.h\"\nTENSORIZE_KERNEL\n{STAIRS}int named(int a) {{ return a; }}"
    ));
    let manifest = MANIFEST.to_owned() + "proposer = [\"./propose.sh\"]\n";
    write(p.path(), "Cargo.toml", &manifest);
    let elsewhere = tempfile::tempdir().unwrap();
    let named = p.path().join("Cargo.toml");
    let named = ["--manifest-path", named.to_str().unwrap(), "--offline"];
    let code = p.path().join(".tensorize/cpu/stairs.c");
    // One that lies, and then one that answers well.
    for (summary, proven) in [(RIGHT.replace("LT", "LE"), false), (RIGHT.into(), true)] {
        script(p.path(), &says(&answer(&[&summary])));
        let out = tensorize(elsewhere.path(), &named);
        assert_eq!(code.exists(), proven, "{}", stderr(&out));
    }
}

#[test]
fn a_lie_is_refused_and_the_next_candidate_is_tried() {
    let lie = &RIGHT.replace("LT", "LE");
    let Trial { kernel, .. } = propose(&says(&answer(&[lie])));
    assert_eq!(kernel["status"], "unsupported", "{kernel}");
    assert_eq!(kernel["summary"], "", "{kernel}");
    let others = [
        lie,
        "func @nonsense",
        &RIGHT.replace("n: i32", "m: i32"),
        RIGHT,
    ];
    let Trial { kernel, .. } = propose(&says(&answer(&others)));
    assert_eq!(kernel["status"], "proven", "{kernel}");
}

#[test]
fn a_program_that_hangs_is_killed_with_all_that_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let text = "sleep 300 & echo $! > pid; wait";
    let Trial { kernel, took } = propose_in(dir.path(), text);
    assert_eq!(kernel["status"], "unsupported", "{kernel}");
    assert!(took < Duration::from_secs(30), "{took:?}");
    let pid = std::fs::read_to_string(dir.path().join("pid")).unwrap();
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(
        state.as_ref().map_or(true, |s| s.contains(") Z ")),
        "it still runs: {state:?}"
    );
}

#[test]
fn crashes_and_junk_change_nothing() {
    let many = answer(&[RIGHT; 17]);
    let texts = [
        "exit 3".to_owned(),
        "kill -9 $$".to_owned(),
        says("not JSON"),
        says("{\"candidates\": 7}"),
        says(&many),
        // Right, but then it fails.
        format!("{}\nexit 1", says(&answer(&[RIGHT]))),
        // Much too much.
        "yes '{' | head -c 3000000".to_owned(),
        // Ends its output, and stays.
        "exec > /dev/null; sleep 300".to_owned(),
    ];
    for text in texts {
        let Trial { kernel, took } = propose(&text);
        assert_eq!(kernel["status"], "unsupported", "{text}: {kernel}");
        assert!(took < Duration::from_secs(30), "{text}: {took:?}");
    }
}

/// The page shows every key of a question and no other, and an answer.
#[test]
fn the_page_shows_what_is_asked_and_answered() {
    let page = include_str!("../../docs/proposer.md");
    let listings: Vec<Value> = page
        .split("```json\n")
        .skip(1)
        .map(|part| part.split("```").next().unwrap_or(part))
        .map(|text| serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}")))
        .collect();
    let [question, answered] = &listings[..] else {
        panic!("a question and an answer: {listings:?}")
    };
    let dir = tempfile::tempdir().unwrap();
    propose_in(
        dir.path(),
        "cat > question.json; echo '{\"candidates\": []}'",
    );
    let asked = std::fs::read_to_string(dir.path().join("question.json")).unwrap();
    let asked: Value = serde_json::from_str(&asked).unwrap();
    let keys = |v: &Value| -> Vec<String> { v.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(keys(question), keys(&asked));
    assert_eq!(keys(&question["kernel"]), keys(&asked["kernel"]));
    assert_eq!(question["version"], asked["version"]);
    let ours: Value = serde_json::from_str(&answer(&[RIGHT])).unwrap();
    assert_eq!(keys(answered), keys(&ours));
}

/// The reference that proposers get names every operator.
#[test]
fn the_reference_is_complete() {
    use tensorize_ir::op::{BinOp, UnOp};
    let text = include_str!("../../docs/tensir.md");
    let names = UnOp::ALL.iter().map(|o| o.name());
    for name in names.chain(BinOp::ALL.iter().map(|o| o.name())) {
        assert!(text.contains(&format!("`{name}`")), "{name} is missing");
    }
}
