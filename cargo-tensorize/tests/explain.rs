//! `explain KERNEL`: what is said of a kernel follows from what is stored and from the proof made once more.

mod common;

use common::{MANIFEST, code, command, project, stderr, stdout, tensorize};
use std::fs;

const KERNELS: &str = "#include \"tensorize.h\"
TENSORIZE_KERNEL
void sums(float *out, const float *m, int rows, int cols)
{
    for (int i = 0; i < rows; i++) {
        float s = 0.0f;
        for (int j = 0; j < cols; j++)
            s += m[i * cols + j];
        out[i] = s;
    }
}
TENSORIZE_KERNEL
int refused(int a) { static int n; return n += a; }
";

fn stored() -> tempfile::TempDir {
    let p = project(KERNELS);
    let manifest = MANIFEST.replace("kernels = [\"c/k.c::named\"]\n", "");
    fs::write(p.path().join("Cargo.toml"), manifest).unwrap();
    let out = tensorize(p.path(), &[]);
    assert_eq!(code(&out), 103, "{}", stderr(&out));
    p
}

fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}`:\n{text}");
    }
}

#[test]
fn a_proven_kernel_is_told_from_its_c_to_its_code() {
    let p = stored();
    let out = tensorize(p.path(), &["explain", "c/k.c::sums", "--target", "cpu"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let text = stdout(&out);
    assert_has(
        &text,
        &[
            "sums  c/k.c:2  proven",
            "        for (int j = 0; j < cols; j++)",
            "func @sums(",
            "out[#0] is fold(",
            "for 0 <= #0 < rows",
            // The loops, by their lines, with how often they run.
            "line 5: rows rounds; before round ",
            "line 7: cols rounds; before round ",
            "out[0 .. rows] disjoint m[",
            "out is written (line 9) while m is in use (line 8)",
            "out[0 .. rows] written",
            "inputs; the largest relative difference",
            "cpu: generated",
            "  a guard fails\n",
            "the code for cpu",
            "sums__tensorize_cpu",
        ],
    );
    // What has no place beside the C is what is stored, as a program reads it.
    let json = tensorize(p.path(), &["explain", "sums", "--message-format", "json"]);
    let record: serde_json::Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!(record["name"], "sums");
}

#[test]
fn an_invariant_is_that_of_the_program_at_hand() {
    let p = stored();
    let upside_down = KERNELS.replace("out[i] = s;", "out[rows - 1 - i] = s;");
    fs::write(p.path().join("c/k.c"), upside_down).unwrap();
    // What is stored is about another program, and says so; its invariants would not be true.
    let out = tensorize(p.path(), &["explain", "sums"]);
    assert_eq!(code(&out), 104, "{}", stdout(&out));
    assert!(
        !stdout(&out).contains("rounds; before round"),
        "{}",
        stdout(&out)
    );
    assert_has(&stdout(&out), &["another version of its file"]);
    tensorize(p.path(), &[]);
    let out = tensorize(p.path(), &["explain", "sums"]);
    assert_eq!(code(&out), 0, "{}", stdout(&out));
    assert_has(
        &stdout(&out),
        &["line 5: rows rounds; before round ", "rows - 1"],
    );
}

#[test]
fn a_refused_kernel_and_one_that_is_not_stored_say_why() {
    let p = stored();
    let out = tensorize(p.path(), &["explain", "refused"]);
    assert_has(
        &stdout(&out),
        &[
            "refused  c/k.c:12  unsupported",
            "TZ02",
            "it is not proven, so always",
        ],
    );
    fs::remove_file(p.path().join(".tensorize/sums.toml")).unwrap();
    let out = tensorize(p.path(), &["explain", "sums"]);
    assert_eq!(code(&out), 104);
    assert_has(&stderr(&out), &["TZ0704", "run `cargo tensorize`"]);
    let out = tensorize(p.path(), &["explain", "nothing"]);
    assert_eq!(code(&out), 4);
    let out = tensorize(p.path(), &["explain", "TZ9999"]);
    assert_eq!(code(&out), 2);
}

/// Without Z3 there is still all that is stored.
#[test]
fn without_a_solver_the_invariants_alone_are_missing() {
    let p = stored();
    let mut explain = command(p.path(), &["explain", "sums"]);
    let out = explain.env("TENSORIZE_Z3", "/nowhere/z3").output().unwrap();
    assert_eq!(code(&out), 0);
    assert_has(
        &stdout(&out),
        &["invariants can't be shown", "func @sums(", "targets\n"],
    );
}

/// A report is of a program that may be gone, and nobody's to trust.
#[test]
fn a_report_that_is_none_is_told_with_its_place_and_what_to_do() {
    let p = stored();
    let refused = |text: &str, why: &[&str]| {
        fs::write(p.path().join("run.json"), text).unwrap();
        let out = tensorize(p.path(), &["explain", "sums", "--report", "run.json"]);
        assert_eq!(code(&out), 101, "{}", stdout(&out));
        assert_has(
            &stderr(&out),
            &["error[TZ0116]", "run.json", "TENSORIZE_REPORT=FILE"],
        );
        assert_has(&stderr(&out), why);
    };
    refused("", &["EOF", "line 1"]);
    refused(
        "{\"format\":7,\"more\":[]}",
        &["it has format 7, and this program reads 1"],
    );
    let good = "{\"format\":1,\"program\":\"a\",\"ended\":1,\"choice\":\"auto\",\"kernels\":[]}";
    refused(
        &good.replace("1,\"ch", "-1,\n\"ch"),
        &["invalid value", "line 1 column "],
    );
    refused(
        &good.replace("[]", "[],\n\"new\":1"),
        &["unknown field `new`", "line 2 column "],
    );
    fs::write(p.path().join("run.json"), good).unwrap();
    let out = tensorize(p.path(), &["explain", "sums", "--report", "run.json"]);
    assert_has(&stdout(&out), &["nobody called `sums`"]);

    let gone = tensorize(p.path(), &["explain", "sums", "--report", "gone.json"]);
    assert_eq!(code(&gone), 101);
    assert_has(&stderr(&gone), &["TZ0116", "gone.json"]);
    fs::create_dir(p.path().join("empty")).unwrap();
    let empty = tensorize(p.path(), &["explain", "sums", "--report", "empty"]);
    assert_has(&stderr(&empty), &["TZ0116", "no program has written"]);
    // The programs that the variable is for have not run yet.
    let mut explain = command(p.path(), &["explain", "sums"]);
    let out = explain
        .env("TENSORIZE_REPORT", "gone.json")
        .output()
        .unwrap();
    assert_eq!(code(&out), 0);
    assert_has(
        &stdout(&out),
        &["run the program with TENSORIZE_REPORT=FILE"],
    );
}
