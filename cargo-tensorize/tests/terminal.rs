//! What a terminal gets and a file does not: colours, bars; and what shells and manuals get.

mod common;

use common::{code, project, stderr, stdout, tensorize, write};
use std::path::Path;
use std::process::{Command, Output};

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
    write(p.path(), "slow", "#!/bin/sh\nsleep 2\n");
    let slow = p.path().join("slow");
    let mut mode = std::fs::metadata(&slow).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&slow, mode).unwrap();
    let args = "lift c/k.c --no-differential --proposer ./slow";
    let seen = at_terminal(p.path(), args, &[]);
    assert!(
        seen.contains("proving [") && seen.contains("0/1"),
        "{seen:?}"
    );
    let words: Vec<&str> = args.split(' ').collect();
    let out = tensorize(p.path(), &words);
    assert!(!stderr(&out).contains("proving ["), "{}", stderr(&out));
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
