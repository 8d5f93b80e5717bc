//! The command line as a user meets it: the built program, its output and its exit code.

mod emit;
mod fixtures;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

fn tensorize(args: &[&str]) -> Output {
    tensorize_in(&fixtures(), args)
}

fn tensorize_in(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"))
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every line of JSON output; anything else on standard output is a failure.
fn json(output: &Output) -> Vec<Value> {
    let parse = |l: &str| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"));
    stdout(output).lines().map(parse).collect()
}

fn kernel<'a>(lines: &'a [Value], name: &str) -> &'a Value {
    lines
        .iter()
        .find(|l| l["reason"] == "kernel" && l["name"] == name)
        .unwrap_or_else(|| panic!("no kernel {name} in {lines:?}"))
}

#[test]
fn a_refutation_comes_with_inputs() {
    let out = tensorize(&[
        "prove",
        "refuted/add.c::add",
        "--summary",
        "refuted/add.tir",
    ]);
    let text = stderr(&out);
    assert!(
        text.contains("error[TZ0401]") && text.contains("n = "),
        "{text}"
    );
    assert!(
        text.contains("the compiled original says so, too"),
        "{text}"
    );
}

#[test]
fn a_summary_with_other_parameters_is_an_error() {
    let out = tensorize(&["prove", "proven/dot.c::dot", "--summary", "proven/add.tir"]);
    assert_eq!(code(&out), 101);
    assert!(stderr(&out).contains("TZ0311"), "{}", stderr(&out));
}

#[test]
fn json_has_the_promised_keys_and_nothing_else() {
    let out = tensorize(&[
        "lift",
        "proven/add.c",
        "unsupported/goto.c",
        "--target",
        "cpu",
        "--message-format",
        "json",
    ]);
    let text = stdout(&out);
    let lines = json(&out);
    assert_eq!(lines.len(), 4, "{text}");
    let keys = [
        "reason", "name", "file", "line", "status", "tier", "guards", "summary", "code", "why",
        "times_us", "targets",
    ];
    for line in text.lines().take(3) {
        let at: Vec<_> = keys
            .iter()
            .map(|k| line.find(&format!("\"{k}\":")).unwrap())
            .collect();
        assert!(at.is_sorted(), "{line}");
    }
    let names: Vec<_> = lines.iter().filter_map(|l| l["name"].as_str()).collect();
    assert_eq!(names, ["add", "jumps", "fine"], "the order of the sources");
    let add = kernel(&lines, "add");
    assert_eq!(add["file"], "proven/add.c");
    assert_eq!(add["line"], 2);
    let cpu = &add["targets"]["cpu"];
    assert_eq!(cpu["status"], "generated", "{add}");
    assert_eq!(
        (&cpu["tier"], &cpu["max_rel_error"], &cpu["ran_on"]),
        (&"exact".into(), &0.0.into(), &"this machine".into())
    );
    for stage in ["parse", "propose", "prove", "differential"] {
        assert!(
            add["times_us"][stage].as_u64().unwrap() > 0,
            "{stage}: {add}"
        );
    }
    assert!(kernel(&lines, "jumps")["tier"].is_null());
    let last = &lines[3];
    assert_eq!(last["reason"], "summary");
    assert_eq!(
        (&last["kernels"], &last["proven"], &last["unsupported"]),
        (&3.into(), &2.into(), &1.into())
    );
    assert!(last["peak_rss_bytes"].as_u64().unwrap() > 1 << 20, "{last}");
    assert!(
        last["z3_version"]
            .as_str()
            .unwrap()
            .starts_with(|c: char| c.is_ascii_digit()),
        "{last}"
    );
}

#[test]
fn only_the_named_function_is_lifted() {
    let args = [
        "lift",
        "unsupported/goto.c",
        "--function",
        "fine",
        "--no-differential",
        "--message-format",
        "json",
    ];
    let out = tensorize(&args);
    assert_eq!(code(&out), 0);
    assert_eq!(json(&out).len(), 2);
    let out = tensorize(&["lift", "unsupported/goto.c", "--function", "nobody"]);
    assert_eq!(code(&out), 4);
    assert!(stderr(&out).contains("nobody"), "{}", stderr(&out));
}

#[test]
fn arguments_after_two_dashes_go_to_clang() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("k.c"), "int f(int a) { return a + N; }\n").unwrap();
    let lift = |extra: &[&str]| {
        tensorize_in(
            dir.path(),
            &[&["lift", "k.c", "--message-format", "json"], extra].concat(),
        )
    };
    assert_eq!(
        kernel(&json(&lift(&["--", "-DN=3"])), "f")["status"],
        "proven"
    );
    assert_ne!(kernel(&json(&lift(&[])), "f")["status"], "proven");
}

#[test]
fn fast_math_is_not_exact() {
    let args = |flag| {
        [
            "lift",
            "proven/dot.c",
            "--no-differential",
            "--message-format",
            "json",
            "--",
            flag,
        ]
    };
    let tier = |flag| kernel(&json(&tensorize(&args(flag))), "dot")["tier"].clone();
    assert_eq!(tier("-O2"), "exact");
    assert_eq!(tier("-ffast-math"), "real");
}

/// The compiler is told that, too, and the hash covers it: what is proven is about what is compiled.
/// In another order, the sum has other last bits, and so has the number.
#[test]
fn integers_that_depend_on_sums_of_floats_keep_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let text = "int level(const float *x, int n)\n{\n    float e = 0;\n    for (int i = 0; i < n; i++)\n        e += x[i] * x[i];\n    return (int)(e * 16777216.0f);\n}\n\
         int greatest_row(const float *x, int m, int n)\n{\n    int best = 0;\n    float most = -1;\n    for (int r = 0; r < m; r++) {\n        float s = 0;\n        for (int i = 0; i < n; i++)\n            s += x[r * n + i];\n        if (s > most) {\n            most = s;\n            best = r;\n        }\n    }\n    return best;\n}\n\
         float sum(const float *x, int n)\n{\n    float s = 0;\n    for (int i = 0; i < n; i++)\n        s += x[i];\n    return s;\n}\n";
    std::fs::write(dir.path().join("k.c"), text).unwrap();
    let args = ["lift", "k.c", "--message-format", "json", "--target", "cpu"];
    let lines = json(&tensorize_in(dir.path(), &args));
    for (name, tier) in [
        ("level", "exact"),
        ("greatest_row", "exact"),
        ("sum", "real"),
    ] {
        let cpu = &kernel(&lines, name)["targets"]["cpu"];
        assert_eq!(
            (&cpu["status"], &cpu["tier"]),
            (&"generated".into(), &tier.into()),
            "{name}: {cpu}"
        );
    }
}

#[test]
fn what_the_environment_tells_the_compiler_is_read_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let text = "#ifndef FAR\n#define FAR 0\n#endif\n\
        void far(const int *restrict a, int *restrict b, int n) {\n\
        for (int i = 0; i < n; i++) b[i] = a[i] + (i > 100000 ? FAR : 0);\n}\n\
        float dot(const float *a, const float *b, int n) {\n\
        float s = 0;\nfor (int i = 0; i < n; i++) s += a[i] * b[i];\nreturn s;\n}\n";
    std::fs::write(dir.path().join("k.c"), text).unwrap();
    let lift = |flags: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"));
        command.args(LIFT_K).current_dir(dir.path());
        json(&command.env("CFLAGS", flags).output().unwrap())
    };
    let plain = lift("-O2 -g");
    assert_eq!(kernel(&plain, "dot")["tier"], "exact");
    let own = lift("-DFAR=3 -ffast-math");
    assert_eq!(kernel(&own, "dot")["tier"], "real");
    let summary = |k: &serde_json::Value| k["summary"].to_string();
    assert_ne!(summary(kernel(&plain, "far")), summary(kernel(&own, "far")));
}

#[test]
fn both_ways_to_call_it() {
    for args in [&["--version"][..], &["tensorize", "--version"]] {
        let out = tensorize(args);
        assert_eq!(code(&out), 0);
        assert!(stdout(&out).contains("tensorize"), "{}", stdout(&out));
    }
}

#[test]
fn help_lists_the_exit_codes() {
    let text = stdout(&tensorize(&["--help"]));
    for code in [0, 2, 4, 100, 101, 102, 103, 104] {
        assert!(text.contains(&format!("{code:>5}  ")), "{code}: {text}");
    }
}

#[test]
fn usage_errors_have_a_code_of_their_own() {
    for args in [
        &["lift"][..],
        &["frobnicate"],
        &["prove", "x.c", "--summary", "y"],
        &["--jobs", "0"],
    ] {
        assert_eq!(code(&tensorize(args)), 2, "{args:?}");
    }
    let out = tensorize(&["lift", "proven/add.c", "--target", "abacus"]);
    assert_eq!(code(&out), 2);
    assert!(
        stderr(&out).contains("cpu"),
        "the targets that there are: {}",
        stderr(&out)
    );
}

#[test]
fn codes_are_explained() {
    let out = tensorize(&["explain", "tz0204"]);
    assert!(stdout(&out).contains("recursion"), "{}", stdout(&out));
    assert_eq!(code(&tensorize(&["explain", "TZ9999"])), 2);
    assert!(stdout(&tensorize(&["explain", "103"])).contains("not supported"));
    assert!(stdout(&tensorize(&["targets"])).contains("numpy"));
}

#[test]
fn nothing_is_left_in_the_folder_for_temporary_files() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"))
        .args(["lift", "--target", "cpu", "--target", "numpy"])
        .args(["proven/add.c", "proven/classes.cpp"])
        .current_dir(fixtures())
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn missing_tools_are_named_with_a_remedy() {
    let run = |variable: &str, value: &str| {
        Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"))
            .args(["lift", "proven/add.c"])
            .env(variable, value)
            .current_dir(fixtures())
            .output()
            .unwrap()
    };
    let out = run("TENSORIZE_Z3", "/nowhere/z3");
    assert_eq!(code(&out), 101);
    assert!(
        stderr(&out).contains("TZ0101") && stderr(&out).contains("tensorize doctor"),
        "{}",
        stderr(&out)
    );
    let out = run("LIBCLANG_PATH", "/nowhere");
    assert_eq!(code(&out), 101);
    assert!(
        stderr(&out).contains("TZ0201") && stderr(&out).contains("xtask setup"),
        "{}",
        stderr(&out)
    );
}

/// Killed for its memory, say: the kernel is no worse than unproven, and the cause is told.
#[test]
fn a_solver_that_dies_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let out = with_solver(dir.path(), &[], "read -r line\nkill -SEGV $$");
    assert!(stdout(&out).contains("1 not proven"), "{}", stdout(&out));
    let told = stderr(&out);
    assert!(told.contains("Z3 ended by itself (signal: 11"), "{told}");
}

/// Once, as when an interrupt reaches it alone: then all is asked anew, and what is found is what there is.
#[test]
fn a_solver_that_dies_once_takes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let real = format!("'{}' \"$@\"", tensorize_prove::solver::find().display());
    let died = dir.path().join("died");
    let lifted = |body: &str| {
        let args = ["--target", "cpu", "--message-format", "json"];
        let out = with_solver(dir.path(), &args, body);
        let mut kernel = json(&out)[0].clone();
        assert_eq!(kernel["status"], "proven", "{kernel} {}", stderr(&out));
        kernel.as_object_mut().unwrap().remove("times_us");
        kernel
    };
    let undisturbed = lifted(&format!("exec {real}"));
    for question in 1..=8 {
        let until = format!(
            "n=0; while IFS= read -r line; do
                case $line in *check-sat*) n=$((n + 1)); [ $n = {question} ] && break;; esac
                printf '%s\\n' \"$line\"
             done"
        );
        let once = format!(
            "if mkdir '{}' 2>/dev/null; then ({until}) | {real}; kill -KILL $$; fi\nexec {real}",
            died.display()
        );
        assert_eq!(lifted(&once), undisturbed, "died when asked {question}");
        std::fs::remove_dir(&died).unwrap();
    }
}

/// Lifts `k.c`, told in JSON.
const LIFT_K: [&str; 5] = [
    "lift",
    "k.c",
    "--no-differential",
    "--message-format",
    "json",
];

/// Lifts a kernel with this shell script in the place of Z3.
fn with_solver(dir: &Path, args: &[&str], body: &str) -> Output {
    let (z3, kernel) = (dir.join("z3"), dir.join("k.c"));
    std::fs::write(&kernel, "int less(int a, int b) { return a - b; }").unwrap();
    let real = tensorize_prove::solver::find();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && exec '{}' --version\n{body}\n",
        real.display()
    );
    std::fs::write(&z3, script).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&z3, executable).unwrap();
    Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"))
        .arg("lift")
        .args(args)
        .arg(&kernel)
        .env("TENSORIZE_Z3", &z3)
        .current_dir(fixtures())
        .output()
        .unwrap()
}

#[test]
fn a_file_that_is_not_there() {
    let out = tensorize(&["lift", "no_such.c", "--message-format", "json"]);
    assert_eq!(code(&out), 101);
    assert!(stderr(&out).contains("no_such.c"), "{}", stderr(&out));
    assert_eq!(json(&out).last().unwrap()["reason"], "summary");
}

/// A few lines of C whose value is a tree that nobody walks to the end.
#[test]
fn a_kernel_that_takes_too_long_is_unproven_and_says_what_was_open() {
    let dir = tempfile::tempdir().unwrap();
    let step = "a[j] = a[j] * (a[j + 1] > a[j] ? a[j] : a[j + 2]) + (a[j] > a[2 * j] ? a[j] : a[j + 1]);\n";
    let c = format!(
        "void f(double *a, int n) {{ for (int i = 1; i <= n; i++) for (int j = n; j-- > 0;) {{ {} }} }}\n\
         void g(int *a, int n) {{ for (int i = 0; i < n; i++) a[i] = 0; }}\n",
        step.repeat(12)
    );
    std::fs::write(dir.path().join("k.c"), c).unwrap();
    let start = std::time::Instant::now();
    let args = [
        "lift",
        "k.c",
        "--no-differential",
        "--time-limit",
        "0.5",
        "--message-format",
        "json",
    ];
    let out = tensorize_in(dir.path(), &args);
    assert!(start.elapsed().as_secs() < 60, "the limit is kept");
    let lines = json(&out);
    let f = kernel(&lines, "f");
    assert_eq!(
        (&f["status"], &f["code"]),
        (&"unproven".into(), &"TZ0405".into()),
        "{f}"
    );
    assert!(
        f["why"].as_str().unwrap().contains("what was open: "),
        "{f}"
    );
    assert_eq!(kernel(&lines, "g")["status"], "proven", "the others go on");
}

/// A search by halves has no number of rounds that is found: that is why it is not proven, and not what it might call.
#[test]
fn a_search_is_not_proven_for_its_rounds() {
    let dir = tempfile::tempdir().unwrap();
    let c = "int f(const int *a, int n, int v) { int lo = 0, hi = n;
         while (lo < hi) { int m = (lo + hi) / 2; if (a[m] < v) lo = m + 1; else hi = m; } return lo; }";
    std::fs::write(dir.path().join("k.c"), c).unwrap();
    let lines = json(&tensorize_in(dir.path(), &LIFT_K));
    let f = kernel(&lines, "f");
    assert_eq!(f["status"], "unproven", "{f}");
    let why = f["why"].as_str().unwrap();
    assert!(why.contains("how many rounds a loop takes at most"), "{f}");
}

/// Long functions and deep nests are proven in time; what does explode ends at the limit. `cargo xtask bench size` prints the curve.
#[test]
fn cost_against_size() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(dir.path().join(name), text).unwrap();
    let lines = |line: &dyn Fn(usize) -> String| (0..1000).map(line).collect::<String>();
    let chain = lines(&|i| format!("t = t * 3 + a[{i}];\n"));
    write(
        "chain.c",
        format!("unsigned chain(const unsigned *a) {{ unsigned t = 1;\n{chain} return t; }}\n"),
    );
    let body = lines(&|i| format!("t = (t ^ {i}) & 0x7fff;\n"));
    let around = |name: &str, body: &str| {
        format!(
            "void {name}(const int *a, int *b, int n)\n{{ for (int i = 0; i < n; i++) {{ int t = a[i];\n{body} b[i] = t; }} }}\n"
        )
    };
    write("body.c", around("body", &body));
    let branches = lines(&|i| format!("if (t == {i}) t = {};\n", i * 7 % 1000));
    write("branches.c", around("branches", &branches));
    let loops: String = (0..6)
        .map(|d| format!("for (int i{d} = 0; i{d} < n{d}; i{d}++)\n"))
        .collect();
    let at = (1..6).fold("i0".to_owned(), |at, d| format!("({at} * n{d} + i{d})"));
    write(
        "nest.c",
        format!(
            "void nest(const float *a, float *b, int n0, int n1, int n2, int n3, int n4, int n5)\n{{ {loops} b[{at}] = a[{at}]; }}\n"
        ),
    );
    let args = [
        "lift",
        "chain.c",
        "body.c",
        "branches.c",
        "nest.c",
        "--no-differential",
        "--time-limit",
        "8",
        "--message-format",
        "json",
    ];
    let lines = json(&tensorize_in(dir.path(), &args));
    for name in ["chain", "body", "nest"] {
        let k = kernel(&lines, name);
        assert_eq!(k["status"], "proven", "{k}");
    }
    let k = kernel(&lines, "branches");
    let ends = k["status"] == "proven" || k["code"] == "TZ0405";
    assert!(ends, "{k}");
    let last = lines.last().unwrap();
    let peak = last["peak_rss_bytes"].as_u64().unwrap();
    assert!(peak < 2 << 30, "{peak}");
}

/// Results of which each overwrites what decides about another one: they wait for each other, with the conditions.
#[test]
fn what_decides_is_overwritten_last() {
    let file = "proven/mixed_structs.c";
    let out = tensorize(&[
        "lift",
        file,
        "--target",
        "cpu",
        "--message-format",
        "json",
        "--no-differential",
    ]);
    for name in ["drift", "step", "fall"] {
        let k = kernel(&json(&out), name).clone();
        assert_eq!(k["targets"]["cpu"]["status"], "generated", "{k}");
    }
}
