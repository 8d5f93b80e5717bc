//! What a terminal gets and a file does not: colours, bars; and what shells and manuals get.

mod common;

use common::{code, program, project, stderr, stdout, tensorize, write};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Runs the program at a terminal, as `script` has one.
fn at_terminal(dir: &Path, args: &str, set: &[(&str, &str)]) -> String {
    let line = format!("{} {args}", env!("CARGO_BIN_EXE_cargo-tensorize"));
    let mut script = Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .current_dir(dir)
        .env_remove("NO_COLOR")
        .env("TERM", "xterm")
        .envs(set.iter().copied());
    stdout(&script.output().expect("`script` is there"))
}

/// The same, where somebody types.
fn at_terminal_typing(dir: &Path, args: &str, typed: &str) -> String {
    let line = format!("{} {args}", env!("CARGO_BIN_EXE_cargo-tensorize"));
    let mut script = Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .current_dir(dir)
        .env("TENSORIZE_CACHE", "off")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut script = script.spawn().expect("`script` is there");
    // Held open until it has ended: a terminal does not go away after an answer.
    let mut keys = script.stdin.take().unwrap();
    keys.write_all(typed.as_bytes()).unwrap();
    let mut seen = String::new();
    script
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut seen)
        .unwrap();
    script.wait().unwrap();
    seen
}

const REFUSED: &str = "int f(int a) { static int n; return n += a; }\n";

#[test]
fn colours_are_for_terminals_that_want_them() {
    let p = project(REFUSED);
    let escape = '\u{1b}';
    let lift = "lift c/k.c";
    assert!(at_terminal(p.path(), lift, &[]).contains(escape));
    let plain = [
        at_terminal(p.path(), lift, &[("NO_COLOR", "1")]),
        at_terminal(p.path(), "lift c/k.c --color never", &[]),
        stderr(&tensorize(p.path(), &["lift", "c/k.c"])),
    ];
    for text in plain {
        assert!(text.contains("TZ02") && !text.contains(escape), "{text:?}");
    }
    let forced = tensorize(p.path(), &["lift", "c/k.c", "--color", "always"]);
    assert!(stderr(&forced).contains(escape));
}

/// A proposer that takes its time makes any kernel take longer than a second.
#[test]
fn what_takes_long_has_a_bar_at_a_terminal_and_nowhere_else() {
    let p = project(
        REFUSED
            .replace(
                "static int n; return n += a",
                "while (a != 1) a = a % 2 ? 3 * a + 1 : a / 2; return a",
            )
            .as_str(),
    );
    program(p.path(), "slow", "sleep 2");
    let args = "lift c/k.c --no-differential --proposer ./slow";
    let seen = at_terminal(p.path(), args, &[]);
    // How long the first piece will take nobody knows.
    assert!(
        seen.contains("] 0/1, ") && seen.contains("s so far") && !seen.contains("0/1, 0s left"),
        "{seen:?}"
    );
    let words: Vec<&str> = args.split(' ').collect();
    let out = tensorize(p.path(), &words);
    assert!(!stderr(&out).contains("proving ["), "{}", stderr(&out));
}

/// Each waits for a program that takes its time.
#[test]
fn so_has_a_proof_made_once_more_a_second_solver_and_a_remote_cache() {
    let p = project(common::KERNELS);
    assert_eq!(code(&tensorize(p.path(), &[])), 0);
    let z3 = tensorize_prove::solver::find();
    let z3 = format!("[ \"$1\" = -in ] && sleep 2; exec {} \"$@\"", z3.display());
    // It tells truth from falsehood on the two files that it is tried with, and confirms all others.
    let cvc5 = "sleep 0.3; grep -q '(assert (> x 0))' \"$1\" && echo sat || echo unsat";
    let remote = "sleep 2; echo '{\"found\":{},\"refused\":{},\"failed\":null}'";
    let [z3, cvc5, remote] =
        [("z3", &*z3), ("cvc5", cvc5), ("remote", remote)].map(|(name, script)| {
            let path = program(p.path(), name, script);
            path.to_str().unwrap().to_owned()
        });
    for (args, set, bar) in [
        (
            "explain scale",
            &[("TENSORIZE_Z3", &*z3)][..],
            "proving `scale` once more",
        ),
        (
            "check --reprove --solver cvc5",
            &[("TENSORIZE_CVC5", &cvc5)],
            "confirming [",
        ),
        (
            "--offline",
            &[
                ("TENSORIZE_REMOTE_BIN", &remote),
                ("TENSORIZE_REMOTE", "s3://results"),
            ],
            "asking the remote cache for 2 results",
        ),
    ] {
        if args == "--offline" {
            // The cache is asked for what is not there.
            std::fs::remove_dir_all(p.path().join(".tensorize")).unwrap();
        }
        let set = [set, &[("TENSORIZE_CACHE", "off")]].concat();
        let seen = at_terminal(p.path(), args, &set);
        assert!(seen.contains(bar), "{args}: {seen:?}");
    }
}

/// Only where somebody says yes.
#[test]
fn init_asks_before_it_writes() {
    let p = project(REFUSED);
    let before = common::files(p.path());
    for no in ["n\n", "\n", "what?\n"] {
        let seen = at_terminal_typing(p.path(), "init --offline", no);
        assert!(seen.contains("+++ build.rs"), "{seen}");
        assert!(seen.contains("write this? [y/N]"), "{seen}");
        assert!(seen.contains("nothing was written"), "{seen}");
        assert_eq!(common::files(p.path()), before, "{no:?}");
    }
    let seen = at_terminal_typing(p.path(), "init --offline", "y\n");
    assert!(
        seen.contains("write this? [y/N]") && seen.contains("written"),
        "{seen}"
    );
    assert!(!seen.contains("nothing was written"), "{seen}");
    assert!(p.path().join("build.rs").is_file());
    // Where nobody can answer, nobody is asked.
    let elsewhere = project(REFUSED);
    let out = tensorize(elsewhere.path(), &["init", "--offline"]);
    assert!(!stdout(&out).contains("[y/N]"), "{}", stdout(&out));
    assert!(!elsewhere.path().join("build.rs").exists());
}

/// What clears a screen, and what has scrolled away from it.
const CLEAR: &str = "\u{1b}[2J\u{1b}[3J\u{1b}[H";

/// `watch` at a terminal, until it is dropped.
struct Screen {
    script: Child,
    pieces: Receiver<String>,
    seen: String,
}

impl Screen {
    fn of_watch(dir: &Path) -> Screen {
        let line = format!("{} watch --offline", env!("CARGO_BIN_EXE_cargo-tensorize"));
        let mut script = Command::new("script")
            .args(["-qefc", &line, "/dev/null"])
            .current_dir(dir)
            .env("TENSORIZE_CACHE", "off")
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` is there");
        let mut out = script.stdout.take().unwrap();
        let (tell, pieces) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = out.read(&mut piece) {
                let text = String::from_utf8_lossy(&piece[..n]).into_owned();
                if tell.send(text).is_err() {
                    return;
                }
            }
        });
        Screen {
            script,
            pieces,
            seen: String::new(),
        }
    }

    /// What the screen shows once this stands on it, and it is drawn to its end.
    fn shows(&mut self, text: &str) -> &str {
        let now = |seen: &str| seen.rfind(CLEAR).map(|at| at + CLEAR.len());
        let is_there = |screen: &str| screen.contains(text) && screen.contains("; watching");
        while !now(&self.seen).is_some_and(|at| is_there(&self.seen[at..])) {
            let piece = self.pieces.recv_timeout(Duration::from_secs(60));
            self.seen += &piece.unwrap_or_else(|e| panic!("no `{text}` ({e}): {}", self.seen));
        }
        &self.seen[now(&self.seen).unwrap()..]
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

#[test]
fn a_screen_that_is_watched_shows_how_things_are_and_not_how_they_were() {
    let good = "int f(int a) { return a + 1; }\n";
    let p = project(good);
    let manifest = common::MANIFEST.replace("c/k.c::named", "c/k.c::f");
    write(p.path(), "Cargo.toml", &manifest);
    let mut screen = Screen::of_watch(p.path());
    let first = screen.shows("1 proven").to_owned();
    assert!(!first.contains("TZ02"), "{first}");
    assert_eq!(screen.seen.matches(CLEAR).count(), 1, "drawn once");
    write(p.path(), "c/k.c", REFUSED);
    let refused = screen.shows("0 proven").to_owned();
    assert!(refused.contains("TZ02"), "{refused}");
    write(p.path(), "c/k.c", &good.replace("+ 1", "+ 2"));
    let mended = screen.shows("1 proven").to_owned();
    assert!(!mended.contains("TZ02"), "{mended}");
    // As tall as at first: nothing piles up.
    assert_eq!(mended.lines().count(), first.lines().count(), "{mended}");
    // Of what is gone, nothing is known: neither a tier nor what it computes.
    std::fs::remove_file(p.path().join("c/k.c")).unwrap();
    let gone = screen.shows("0 proven").to_owned();
    let row = gone.lines().find(|l| l.starts_with("f ")).expect(&gone);
    let row: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(row, ["f", "error", "-", "-", "-"], "{gone}");
    assert!(gone.contains("1 kernel, 0 proven"), "{gone}");
}

#[test]
fn completions_are_scripts_that_their_shell_takes() {
    let here = Path::new(".");
    let bash = tensorize(here, &["completions", "bash"]);
    assert_eq!(code(&bash), 0);
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "c.bash", &stdout(&bash));
    // The shell itself completes a command and an option of it.
    let complete = |words: &[&str]| -> String {
        let list = words.join(" ");
        let last = words.len() - 1;
        let program = format!(
            "source c.bash; COMP_WORDS=({list}); COMP_CWORD={last}; \
             [[ $(complete -p cargo-tensorize) =~ -F\\ ([^ ]+) ]]; ${{BASH_REMATCH[1]}} cargo-tensorize \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{}]}}\"; \
             echo \"${{COMPREPLY[@]}}\"",
            last - 1
        );
        let out: Output = Command::new("bash")
            .args(["--norc", "-c", &program])
            .current_dir(dir.path())
            .output()
            .unwrap();
        stdout(&out)
    };
    assert_eq!(complete(&["cargo-tensorize", "wat"]).trim(), "watch");
    assert!(complete(&["cargo-tensorize", "check", "--min"]).contains("--min-tier"));
    // As people type it; and cargo's own completion is there as before, also if the script is read twice.
    let of_cargo = |before: &str, words: &[&str]| -> String {
        let list = words.join(" ");
        let last = words.len() - 1;
        let program = format!(
            "{before}\nsource c.bash; source c.bash; COMP_WORDS=({list}); COMP_CWORD={last}\n\
             [[ $(complete -p cargo) =~ -F\\ ([^ ]+) ]]; ${{BASH_REMATCH[1]}} cargo \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{}]}}\"\n\
             echo \"${{COMPREPLY[@]}}\"",
            last - 1
        );
        let out = Command::new("bash")
            .args(["--norc", "-c", &program])
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert_eq!(stderr(&out), "", "{program}");
        stdout(&out).trim().to_owned()
    };
    let cargo = "_cargo() { COMPREPLY=(of $1 $2 after $3); }; complete -F _cargo cargo";
    let late = "_completion_loader() { _cargo() { COMPREPLY=(of $1 $2 after $3); }; complete -F _cargo cargo; }";
    for before in ["", cargo, late] {
        assert_eq!(of_cargo(before, &["cargo", "tensorize", "wat"]), "watch");
        assert_eq!(
            of_cargo(before, &["cargo", "+nightly", "-q", "tensorize", "wat"]),
            "watch"
        );
        let options = of_cargo(before, &["cargo", "tensorize", "check", "--min"]);
        assert!(options.contains("--min-tier"), "{options}");
        let tiers = of_cargo(before, &["cargo", "tensorize", "check", "--min-tier", "ex"]);
        assert_eq!(tiers, "exact");
        let others = of_cargo(before, &["cargo", "build", "--rel"]);
        let own = if before.is_empty() {
            ""
        } else {
            "of cargo --rel after build"
        };
        assert_eq!(others, own);
    }
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let out = tensorize(here, &["completions", shell]);
        assert!(stdout(&out).contains("doctor"), "{shell}");
    }
}

#[test]
fn there_is_a_page_for_each_command() {
    let dir = tempfile::tempdir().unwrap();
    let out = tensorize(dir.path(), &["man", "pages/man1"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    for page in [
        "cargo-tensorize.1",
        "cargo-tensorize-check.1",
        "cargo-tensorize-scan.1",
    ] {
        let text = std::fs::read_to_string(dir.path().join("pages/man1").join(page)).unwrap();
        assert!(
            text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"),
            "{page}: {text}"
        );
    }
    write(dir.path(), "file", "");
    assert_eq!(code(&tensorize(dir.path(), &["man", "file"])), 101);
}

#[test]
fn help_of_every_command_has_an_example() {
    let help = stdout(&tensorize(Path::new("."), &["--help"]));
    let commands = help.lines().skip_while(|l| *l != "Commands:").skip(1);
    let commands = commands.take_while(|l| !l.is_empty());
    let names = commands.filter_map(|l| l.split_whitespace().next());
    let names: Vec<&str> = names.filter(|n| *n != "help").collect();
    assert!(names.contains(&"check") && names.len() > 8, "{names:?}");
    for name in names {
        let text = stdout(&tensorize(Path::new("."), &[name, "--help"]));
        assert!(
            text.contains(&format!("\n  cargo tensorize {name}")),
            "{name}: {text}"
        );
    }
}
