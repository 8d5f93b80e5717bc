//! `cargo tensorize tune` as a user meets it. That programs really measure is tested in `tensorize-rt` and, with a project
//! that is built, in `tests/frameworks.rs`; here a shell stands in for one.

#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Output};

/// Runs it on a program that does this; `kept` is this machine's file.
fn tune(kept: &Path, script: &str, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"))
        .arg("tune")
        .args(more)
        .args(["--", "sh", "-c", script])
        .env("TENSORIZE_TUNED", kept)
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_a_program_measures_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("a/new/folder/tuned");
    let write = |line: &str| format!("test $TENSORIZE = tune && echo '{line}' >> $TENSORIZE_TUNED");
    let done = tune(&kept, &write("f h 13 original 5210 cpu 1270"), &[]);
    assert!(done.status.success(), "{}", stderr(&done));
    let printed = String::from_utf8(done.stdout).unwrap();
    assert!(
        printed.contains("f  fewer than      8192 elements  cpu "),
        "{printed}"
    );
    assert!(printed.contains(&kept.display().to_string()), "{printed}");

    // A later run replaces what it measures anew, and leaves the rest.
    let again = "echo 'f h 13 original 9 cpu 10' >> $TENSORIZE_TUNED; echo 'g h 9 original 1' >> $TENSORIZE_TUNED; echo noise";
    let done = tune(&kept, again, &["--message-format", "json"]);
    let printed = String::from_utf8(done.stdout).unwrap();
    let rows: Vec<serde_json::Value> = printed
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(rows[0]["reason"], "tuned");
    assert_eq!(rows[0]["fastest"], "original");
    assert_eq!(rows[0]["fewer_elements_than"], 8192);
    assert_eq!(rows[0]["ns"]["cpu"], 10);
    assert_eq!(
        std::fs::read_to_string(&kept).unwrap(),
        "f h 13 original 9 cpu 10\ng h 9 original 1\n"
    );
}

/// The page shows what is printed of such measurements.
#[test]
fn the_page_shows_what_is_printed() {
    let page = include_str!("../../docs/commands.md");
    let (_, listing) = page.split_once("$ cargo tensorize tune -- ").unwrap();
    let (listing, _) = listing.split_once("```").unwrap();
    let rows: Vec<&str> = listing
        .lines()
        .filter(|l| l.contains(" elements "))
        .collect();
    let measured = |row: &str| -> String {
        let words: Vec<&str> = row.split_whitespace().collect();
        let (_, took) = row.split_once('(').unwrap();
        let took = took.trim_end_matches(')').split(", ").map(|part| {
            let [who, time, unit] = part.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{part}");
            };
            let unit = ["ns", "us", "ms"].iter().position(|u| *u == unit).unwrap();
            let ns = time.parse::<f64>().unwrap() * [1.0, 1e3, 1e6][unit];
            format!(" {who} {ns:.0}")
        });
        let fewer_than: u64 = words[3].parse().unwrap();
        format!(
            "{} h {}{}",
            words[0],
            fewer_than.ilog2(),
            took.collect::<String>()
        )
    };
    assert!(rows.len() >= 2);
    let lines = rows
        .iter()
        .map(|row| format!("echo '{}' >> $TENSORIZE_TUNED;", measured(row)));
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("tuned");
    let done = tune(&kept, &lines.collect::<String>(), &[]);
    let printed = String::from_utf8(done.stdout).unwrap();
    assert_eq!(printed.lines().take(rows.len()).collect::<Vec<_>>(), rows);
    let (last, _) = printed.rsplit_once(&kept.display().to_string()).unwrap();
    let shown = listing.lines().last().unwrap();
    assert!(shown.starts_with(last.lines().last().unwrap()), "{shown}");
    assert!(shown.ends_with(", where TENSORIZE=auto looks"), "{shown}");
}

#[test]
fn what_cannot_be_measured_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("tuned");
    for (script, why) in [
        ("true", "called no kernel that has code"),
        ("exit 3", "failed (exit status: 3)"),
    ] {
        let done = tune(&kept, script, &[]);
        assert_eq!(done.status.code(), Some(101));
        let text = stderr(&done);
        assert!(text.contains("TZ0114") && text.contains(why), "{text}");
        assert!(!kept.exists());
    }
    let done = Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"))
        .args(["tune", "--", "/no/such/program"])
        .env("TENSORIZE_TUNED", &kept)
        .output()
        .unwrap();
    assert!(stderr(&done).contains("can't be run"), "{}", stderr(&done));
    // What was measured before a program failed is kept.
    let partly = "echo 'f h 9 original 1 cpu 2' >> $TENSORIZE_TUNED; exit 1";
    assert!(!tune(&kept, partly, &[]).status.success());
    assert_eq!(
        std::fs::read_to_string(&kept).unwrap(),
        "f h 9 original 1 cpu 2\n"
    );
}
