//! The day of a user: from `init` in somebody else's workspace to a red and a green run in CI, as a terminal shows it.
//!
//! `day/player` is written as such code is, not as ours is: two crates with C of two hands, one build script that `init`
//! can take over and one that it can't. `day/transcript.txt` is all that was typed and shown; `UPDATE_GOLDEN=1` writes it
//! anew. In it stand `/player` and `/tensorize` for the two folders, and `_` for what differs from run to run: times, and
//! how wide they make a column.

mod common;

use common::{code, command, stderr, stdout, write};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

struct Day {
    folder: TempDir,
    transcript: String,
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

impl Day {
    fn new() -> Day {
        let folder = tempfile::tempdir().unwrap();
        copy(&here().join("tests/day/player"), folder.path());
        // The versions that are here already: tests use no network.
        fs::copy(
            here().join("../Cargo.lock"),
            folder.path().join("Cargo.lock"),
        )
        .unwrap();
        Day {
            folder,
            transcript: String::new(),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Notes a command and what it showed, and holds its exit code against this one.
    fn shown(&mut self, typed: &str, out: &Output, expected: i32) {
        let both = stdout(out) + &stderr(out);
        let text = both
            .replace(&*self.path().to_string_lossy(), "/player")
            .replace(&*here().parent().unwrap().to_string_lossy(), "/tensorize");
        writeln!(self.transcript, "$ {typed}").unwrap();
        for line in text.lines() {
            writeln!(self.transcript, "{}", without_times(line)).unwrap();
        }
        if code(out) != 0 {
            writeln!(self.transcript, "[exit code {}]", code(out)).unwrap();
        }
        self.transcript.push('\n');
        assert_eq!(code(out), expected, "{typed}\n{text}");
    }

    /// The subcommand, in an environment with these variables.
    fn tensorize(&mut self, typed: &str, variables: &[(&str, &str)], expected: i32) {
        let args: Vec<&str> = typed.split(' ').skip(2).collect();
        let mut command = command(self.path(), &args);
        command.envs(variables.iter().copied());
        let out = with_cargo(&mut command).output().unwrap();
        let set: String = variables.iter().map(|(n, v)| format!("{n}={v} ")).collect();
        self.shown(&(set + typed), &out, expected);
    }

    fn run_program(&mut self, mode: Option<&str>) {
        let mut cargo = Command::new(env!("CARGO"));
        let typed = "cargo run --quiet --package app";
        cargo
            .args(typed.split(' ').skip(1))
            .current_dir(self.path());
        let set = mode.map(|m| format!("TENSORIZE={m} ")).unwrap_or_default();
        cargo.env("TENSORIZE", mode.unwrap_or("auto"));
        let out = with_cargo(&mut cargo).output().unwrap();
        self.shown(&(set + typed), &out, 0);
    }

    /// An edit by hand.
    fn edit(&mut self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path().join(file)).unwrap();
        assert!(text.contains(from), "{file}: {text}");
        write(self.path(), file, &text.replacen(from, to, 1));
        writeln!(self.transcript, "$ $EDITOR {file}").unwrap();
        for (sign, part) in [('-', from), ('+', to)] {
            for line in part.lines() {
                writeln!(self.transcript, "{sign}{line}").unwrap();
            }
        }
        self.transcript.push('\n');
    }
}

/// Cargo builds where other tests have built the dependencies, and asks nobody for them.
fn with_cargo(command: &mut Command) -> &mut Command {
    let target: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("init");
    command
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_NET_OFFLINE", "true")
        // The build finds what is stored, and calls nobody.
        .env("TENSORIZE_BIN", "")
        .env("TENSORIZE_CACHE", "off")
}

/// Numbers before a unit of time become `_`, and columns are two spaces apart.
fn without_times(line: &str) -> String {
    let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
    let columns: Vec<&str> = rest
        .split("  ")
        .map(str::trim)
        .filter(|c| !c.is_empty())
        .collect();
    let line = format!("{indent}{}", columns.join("  "));
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    for at in 1..words.len() {
        let number = words[at - 1].trim_start_matches('(').parse::<f64>().is_ok();
        if number && matches!(&*words[at], "ms" | "s" | "s)" | "ms)") {
            let open = words[at - 1].starts_with('(');
            words[at - 1] = if open { "(_" } else { "_" }.to_owned();
            words[at] = words[at].replace("ms", "s");
        }
    }
    words.join(" ")
}

/// After the day: a program that calls a kernel in a way that its code is not for, and what is told of its runs.
fn why_the_original_answered(day: &Day) {
    let main = day.path().join("app/src/main.rs");
    let text = fs::read_to_string(&main).unwrap();
    let call = "fn main() {
    let mut both = [1i16, 2, 3, 4];
    let p = both.as_mut_ptr();
    unsafe { codec::kernels::sys::pcm_mix(p.add(1), p, 3) };
    assert_eq!(both, [1, 3, 6, 10]);\n";
    fs::write(&main, text.replacen("fn main() {\n", call, 1)).unwrap();
    let reports = day.path().join("reports");
    fs::create_dir(&reports).unwrap();
    let run = |mode: &str, report: &Path| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--quiet", "--package", "app"]);
        cargo.current_dir(day.path()).env("TENSORIZE", mode);
        let out = with_cargo(cargo.env("TENSORIZE_REPORT", report)).output();
        assert!(out.as_ref().unwrap().status.success(), "{out:?}");
    };
    let explain = |args: &[&str], report: &Path| {
        let mut explain = command(
            day.path(),
            &[&["explain", "pcm_mix", "-p", "codec"], args].concat(),
        );
        let out = with_cargo(explain.env("TENSORIZE_REPORT", report))
            .output()
            .unwrap();
        (code(&out), stdout(&out) + &stderr(&out))
    };
    let has = |text: &str, parts: &[&str]| {
        for part in parts {
            assert!(text.contains(part), "no {part}:\n{text}");
        }
    };

    let one = day.path().join("run.json");
    run("cpu", &one);
    let (_, text) = explain(&[], &one);
    has(
        &text,
        &[
            "/app that ended ",
            "(TENSORIZE=cpu)\n  cpu: 1 call\n  original: 1 call\n",
            "  1 call: a guard does not hold: dst[0 .. n] disjoint src[0 .. n]\n    pass arrays that don't overlap; it is asked for \
             since dst is written (lines 16, 17) while src is in use (line 16)",
        ],
    );
    // A file for each process; who is asked for the original says so.
    run("off", &reports);
    run("auto", &reports);
    let args = ["--report", "reports", "--message-format", "json"];
    let (_, text) = explain(&args, &one);
    let message: serde_json::Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    assert_eq!(message["reason"], "run", "{text}");
    assert_eq!(
        message["answered"],
        serde_json::json!({"original": 4}),
        "{text}"
    );
    let (_, text) = explain(&["--report", "reports"], &one);
    has(
        &text,
        &[
            "in 2 runs, the last of which ended ",
            "  2 calls: TENSORIZE=off asks for the original\n    run it without TENSORIZE",
            "  2 calls: TENSORIZE=auto: they are small",
            "  fewer than 64: original, so few are not worth the guards\n",
        ],
    );
    // What was edited by hand, or is cut short, is told with its place.
    let whole = fs::read_to_string(&one).unwrap();
    fs::write(&one, &whole[..whole.len() / 2]).unwrap();
    let (exit, text) = explain(&[], &one);
    assert_eq!(exit, 101);
    has(
        &text,
        &[
            "error[TZ0116]",
            "run.json can't be read: EOF",
            " at line ",
            "help: have the program write it anew",
        ],
    );
}

#[test]
fn from_init_to_a_red_and_a_green_run_in_ci() {
    let mut day = Day::new();
    day.run_program(None);
    day.tensorize("cargo tensorize scan", &[], 0);
    day.tensorize("cargo tensorize init --yes -p codec", &[], 0);
    day.tensorize("cargo tensorize init --yes -p scaler", &[], 0);
    // As it was told.
    day.edit(
        "scaler/build.rs",
        "    let mut b = cc::Build::new();\n    b.file(\"c/scale.c\").include(\"c\");\n",
        "    let mut b = tensorize_build::Build::new().file(\"c/scale.c\").include(\"c\");\n",
    );
    day.edit(
        "scaler/build.rs",
        "        b.define(",
        "        b = b.define(",
    );
    day.edit(
        "scaler/build.rs",
        "    b.compile(\"scale\");",
        "    b.compile(\"scale\").unwrap();",
    );
    day.tensorize("cargo tensorize init --yes -p scaler", &[], 0);
    // What came from a vendor stays as it is, what is one's own is marked.
    day.edit(
        "codec/Cargo.toml",
        "[build-dependencies]",
        "[package.metadata.tensorize]\nkernels = [\"native/pcm.c::pcm_mix\", \"native/pcm.c::pcm_expand\"]\n\
         targets = [\"cpu\"]\n\n[build-dependencies]",
    );
    day.edit(
        "scaler/Cargo.toml",
        "[build-dependencies]",
        "[package.metadata.tensorize]\ntargets = [\"cpu\"]\n\n[build-dependencies]",
    );
    day.edit(
        "scaler/c/scale.c",
        "#include <stdint.h>\n",
        "#include <stdint.h>\n#include \"tensorize.h\"\n",
    );
    day.edit(
        "scaler/c/scale.c",
        "void halve_row",
        "TENSORIZE_KERNEL\nvoid halve_row",
    );
    day.edit(
        "scaler/c/scale.c",
        "float row_mean",
        "TENSORIZE_KERNEL\nfloat row_mean",
    );
    let last = "    println!(\"light {}\", scaler::mean(&[0.5, 1.5, 4.0]));";
    let and_who_answered = format!("{last}\n    codec::kernels::report();");
    day.edit("app/src/main.rs", last, &and_who_answered);
    day.edit(
        "codec/src/kernels.rs",
        "tensorize_rt",
        "pub use tensorize_rt::print_report as report;\n\ntensorize_rt",
    );
    // Nothing is proven yet, and everything runs as before.
    day.run_program(None);
    day.tensorize("cargo tensorize --workspace", &[], 0);
    day.run_program(Some("cpu"));

    let ci = [("GITHUB_ACTIONS", "true")];
    let gate = "cargo tensorize check --locked --workspace";
    day.tensorize(gate, &ci, 0);
    // Somebody mends the rounding, and forgets to prove it.
    day.edit("scaler/c/scale.c", " + 1) >> 1", ") >> 1");
    day.run_program(Some("cpu"));
    day.tensorize(gate, &ci, 104);
    day.tensorize("cargo tensorize --workspace", &[], 0);
    day.run_program(Some("cpu"));
    day.tensorize(gate, &ci, 0);

    why_the_original_answered(&day);

    let golden = here().join("tests/day/transcript.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &day.transcript).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    let hint = "UPDATE_GOLDEN=1 cargo test -p cargo-tensorize --test day";
    let differ = |(n, (a, b)): (usize, (&str, &str))| {
        (a != b).then(|| format!("line {}: {a}\nnot: {b}", n + 1))
    };
    let mut lines = day.transcript.lines().zip(expected.lines()).enumerate();
    let first = lines.find_map(differ).unwrap_or_default();
    assert!(
        day.transcript == expected,
        "{first}\n{hint}\n\n{}",
        day.transcript
    );
}
