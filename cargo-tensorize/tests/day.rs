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
        "    b.compile(\"kernels\").unwrap();",
    );
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
