//! `cargo xtask test`, `cargo xtask targets`, `cargo xtask mutate-rows`, `cargo xtask coverage` and `cargo xtask lint`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::process::{cargo, run as run_command, show, target_dir};
use crate::{setup, side_by_side};

/// Tests of the workspace, the end-to-end ones among them, counted in one closing line; what failed is named once more at
/// the end. With `args`, what `cargo test` makes of them.
///
/// Tests of a framework lie in a module of its target's name. Those of frameworks that are not there are skipped, and
/// counted as that.
pub fn run(frameworks: setup::Frameworks, args: &[String]) -> Result<()> {
    setup::run(frameworks)?;
    let left_out = setup::left_out();
    let skipped: Vec<String> = left_out
        .iter()
        .flat_map(|t| ["--skip".into(), format!("{t}::")])
        .collect();
    let mut counts = Counts {
        filtered_are_skipped: args.is_empty(),
        ..Counts::default()
    };
    let count = |text: &str| {
        println!("{text}");
        text.lines().for_each(|line| counts.add(line));
    };
    let failed = if args.is_empty() {
        side_by_side::run(&skipped, count)?
    } else {
        chosen(args, &skipped, count)?
    };
    println!(
        "\n{} passed, {} failed, {} skipped",
        counts.passed, counts.failed, counts.skipped
    );
    if !left_out.is_empty() {
        println!(
            "left out, since what they need is not installed: {} (`cargo xtask test --frameworks all` has the frameworks; \
             what set-up could not install, it says first)",
            left_out.join(", ")
        );
    }
    if !failed.is_empty() {
        bail!("failed:\n  {}", failed.join("\n  "));
    }
    // A filter may leave nothing; the whole suite may not.
    if counts.passed == 0 && args.is_empty() {
        bail!("no test ran");
    }
    Ok(())
}

/// What `cargo test` makes of these arguments, line by line; its command, if it failed.
fn chosen(args: &[String], skipped: &[String], mut line: impl FnMut(&str)) -> Result<Vec<String>> {
    let mut command = cargo();
    command
        .args(["test", "--workspace", "--quiet", "--no-fail-fast"])
        .args(args);
    if !skipped.is_empty() {
        // The user's arguments may have brought the separator already.
        let separator = (!args.iter().any(|a| a == "--")).then_some("--");
        command.args(separator).args(skipped);
    }
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{}`", show(&command)))?;
    for printed in BufReader::new(child.stdout.take().expect("piped")).lines() {
        line(&printed.context("cannot read what the tests print")?);
    }
    let status = child.wait()?;
    let failed = (!status.success()).then(|| format!("`{}` ({status})", show(&command)));
    Ok(failed.into_iter().collect())
}

/// Has the test that checks docs/coverage.md write it, as fast as users have it.
pub fn coverage() -> Result<()> {
    setup::run(setup::Frameworks::Small)?;
    run_command(
        cargo()
            .args([
                "test",
                "--release",
                "--package",
                "tensorize-e2e",
                "--test",
                "coverage",
                "--quiet",
            ])
            .env("UPDATE_GOLDEN", "1"),
    )
}

/// Has the tests that change rows of operators do so for all of them.
pub fn mutate_rows(frameworks: setup::Frameworks, targets: &[String]) -> Result<()> {
    setup::run(frameworks)?;
    let wanted = |t: &&str| targets.is_empty() || targets.iter().any(|name| name == t);
    // What changes the rows of CUDA runs on the machine's own cores.
    let left_out = setup::left_out().into_iter().filter(|t| *t != "cuda");
    let left_out: Vec<&str> = left_out.filter(wanted).collect();
    let skipped = left_out
        .iter()
        .flat_map(|t| ["--skip".into(), format!("{t}::")]);
    let done = run_command(
        cargo()
            .args(["test", "--quiet", "--no-fail-fast"])
            .args(["--package", "tensorize-backends"])
            .args(["--package", "tensorize-e2e"])
            .args(["--test", "rows", "--", "--nocapture"])
            .args(targets.iter().map(|t| format!("{t}::")))
            .args(skipped)
            .env("TENSORIZE_ROWS", "all"),
    );
    println!(
        "cuda: not run on a GPU: its rows are changed in code that this machine's own cores run"
    );
    if !left_out.is_empty() {
        println!(
            "no row changed, since what they need is not installed: {}",
            left_out.join(", ")
        );
    }
    done
}

/// Every kernel on every target, as fast as users have it. JSON goes to standard output, what is left out to standard error.
pub fn targets(
    frameworks: setup::Frameworks,
    update: bool,
    elsewhere: Option<&Path>,
    named: &[String],
) -> Result<()> {
    setup::run(frameworks)?;
    run_command(
        cargo()
            .args(["run", "--release", "--quiet", "--package", "tensorize-e2e"])
            .args(["--bin", "targets"])
            .arg("--")
            .args(update.then_some("--update"))
            .args(
                elsewhere
                    .map(|file| [Path::new("--elsewhere"), file])
                    .into_iter()
                    .flatten(),
            )
            .args(named),
    )
}

/// Formatting and clippy, for the workspace and the demo project.
pub fn lint() -> Result<()> {
    run_command(cargo().args(["fmt", "--all", "--check"]))?;
    const REMOTE: &str = "cargo-tensorize-remote/Cargo.toml";
    for outside in ["fixtures/demo/Cargo.toml", "fuzz/Cargo.toml", REMOTE] {
        run_command(cargo().args(["fmt", "--check", "--manifest-path", outside]))?;
    }
    // Where its tests build it.
    let target = target_dir().join("remote");
    run_command(
        cargo()
            .args(["clippy", "--quiet", "--manifest-path", REMOTE])
            .arg("--target-dir")
            .arg(target)
            .args(["--", "-D", "warnings"]),
    )?;
    // As users build it: the workspace's members together ask for more features than they do.
    for features in [&[][..], &["--no-default-features"]] {
        run_command(
            cargo()
                .args(["clippy", "--quiet", "--package", "tensorize-rt"])
                .args(features)
                .args(["--", "-D", "warnings"]),
        )?;
    }
    run_command(cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--features",
        "tensorize-e2e/nvidia",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ]))
}

/// What the lines `test result: ok. 3 passed; 0 failed; 1 ignored; …` add up to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Nobody filtered but us.
    filtered_are_skipped: bool,
}

impl Counts {
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line
            .split_once("test result: ")
            .and_then(|(_, rest)| rest.split_once(". "))
        else {
            return;
        };
        for part in counts.split(';') {
            let Some((number, word)) = part.trim().split_once(' ') else {
                continue;
            };
            let number = number.parse().unwrap_or(0);
            match word {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                "filtered out" if self.filtered_are_skipped => self.skipped += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_summed_over_test_programs() {
        let mut counts = Counts {
            filtered_are_skipped: true,
            ..Counts::default()
        };
        counts.add("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.02s");
        counts
            .add("test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        counts.add("running 5 tests");
        assert_eq!(
            counts,
            Counts {
                passed: 7,
                failed: 2,
                skipped: 3,
                filtered_are_skipped: true,
            }
        );
    }
}
