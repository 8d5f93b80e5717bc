//! `cargo xtask demo`: the demo project, built and run as it was and tensorized.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::bench::build_tool;
use crate::process::{cargo, output, root, run as run_command, show, target_dir};
use crate::setup;

/// Builds both, runs both, compares what they computed, and says where the pictures are.
pub fn run(pictures: &[PathBuf]) -> Result<()> {
    step("tools");
    setup::run(setup::Frameworks::Small)?;
    let tool = build_tool()?;

    step("cargo tensorize");
    let mut tensorize = Command::new(&tool);
    tensorize.arg("--manifest-path").arg(manifest());
    run_command(&mut tensorize)?;

    step("the project as it was");
    let out = target_dir().join("demo-out");
    let plain = build("plain")?;
    let before = results(&run_demo(&plain, &out.join("plain"), pictures, "auto")?)?;

    step("the project tensorized");
    let tensorized = build("tensorized")?;
    let printed = run_demo(&tensorized, &out.join("tensorized"), pictures, "auto")?;
    compare(&before, &results(&printed)?)
        .context("the tensorized program computed something else")?;
    for line in printed.lines().filter(|line| !line.starts_with("result ")) {
        println!("{line}");
    }

    step("both at every call (TENSORIZE=shadow)");
    let shadow = run_demo(&tensorized, &out.join("shadow"), pictures, "shadow")?;
    compare(&before, &results(&shadow)?)
        .context("the program in shadow mode computed something else")?;

    step("in NumPy (TENSORIZE=numpy)");
    let numpy = run_demo(&tensorized, &out.join("numpy"), pictures, "numpy")?;
    compare(&before, &results(&numpy)?).context("NumPy computed something else")?;
    let there = numpy
        .lines()
        .filter(|line| line.contains("  numpy  "))
        .count();
    println!("{there} kernels ran in NumPy.");

    println!(
        "\n{} results are the same: as it was, tensorized, in shadow mode and in NumPy.",
        before.len()
    );
    println!("Pictures: {}", out.join("tensorized/contact.png").display());
    Ok(())
}

/// The table alone, with timings.
pub fn bench() -> Result<()> {
    let tensorized = build("tensorized")?;
    let printed = run_demo(
        &tensorized,
        &target_dir().join("demo-out/bench"),
        &[],
        "auto",
    )?;
    for line in printed.lines().filter(|line| !line.starts_with("result ")) {
        println!("{line}");
    }
    Ok(())
}

fn step(what: &str) {
    eprintln!("\n== {what}");
}

fn manifest() -> PathBuf {
    root().join("fixtures/demo/Cargo.toml")
}

/// How to build it. The project in its own folder is left alone: no target folder appears there.
fn build(kind: &str) -> Result<PathBuf> {
    let target = target_dir().join("demo");
    let mut command = cargo();
    command
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(manifest());
    command
        .env("CARGO_TARGET_DIR", &target)
        .env("TENSORIZE_STRICT", "1")
        .env("TENSORIZE_BIN", "");
    if kind == "plain" {
        // The originals alone.
        command.env("TENSORIZE_BUILD", "off");
    }
    run_command(&mut command)?;
    // The next build replaces the program; the plain one is still wanted then. Nobody can write to one that runs, as one that
    // an earlier demo left behind may do: that keeps its file.
    let program = target.join(format!("demo-{kind}"));
    let new = program.with_extension("new");
    std::fs::copy(target.join("release/demo"), &new)
        .and_then(|_| std::fs::rename(&new, &program))
        .with_context(|| format!("the demo program can't be kept as {}", program.display()))?;
    Ok(program)
}

fn run_demo(program: &Path, out: &Path, pictures: &[PathBuf], mode: &str) -> Result<String> {
    let mut command = Command::new(program);
    command
        .arg("--out")
        .arg(out)
        .args(pictures)
        .env("TENSORIZE", mode);
    output(&mut command).with_context(|| format!("TENSORIZE={mode} {}", show(&command)))
}

/// What a run computed, by name: the lines `result NAME exact HASH` and `result NAME real VALUE…`.
fn results(printed: &str) -> Result<BTreeMap<String, Values>> {
    let mut all = BTreeMap::new();
    for line in printed
        .lines()
        .filter_map(|line| line.strip_prefix("result "))
    {
        let (name, values) = if let Some((name, hash)) = line.split_once(" exact ") {
            (name, Values::Exact(hash.to_string()))
        } else if let Some((name, values)) = line.split_once(" real ") {
            let values: std::result::Result<_, _> = values.split(' ').map(str::parse).collect();
            (
                name,
                Values::Real(values.with_context(|| format!("not numbers: {line}"))?),
            )
        } else {
            bail!("not a result: {line}");
        };
        all.insert(name.to_string(), values);
    }
    if all.is_empty() {
        bail!("the demo program printed no result");
    }
    Ok(all)
}

/// One result.
#[derive(Debug, PartialEq)]
enum Values {
    /// To the bit.
    Exact(String),
    /// Floats that may have been summed in another order.
    Real(Vec<f64>),
}

/// How far two real results may lie apart, of the largest value among them.
const TOLERANCE: f64 = 1e-4;

fn compare(before: &BTreeMap<String, Values>, after: &BTreeMap<String, Values>) -> Result<()> {
    for (name, old) in before {
        let same = match (old, after.get(name)) {
            (_, None) => bail!("{name}: no such result"),
            (Values::Real(old), Some(Values::Real(new))) => close(old, new),
            (old, Some(new)) => old == new,
        };
        if !same {
            bail!("{name}: {old:?} before, {:?} after", after[name]);
        }
    }
    match after.keys().find(|name| !before.contains_key(*name)) {
        Some(name) => bail!("{name}: a result that was not there before"),
        None => Ok(()),
    }
}

fn close(old: &[f64], new: &[f64]) -> bool {
    let largest = old
        .iter()
        .fold(0.0_f64, |largest, value| largest.max(value.abs()));
    old.len() == new.len()
        && old
            .iter()
            .zip(new)
            .all(|(old, new)| old == new || (old - new).abs() <= TOLERANCE * largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(before: &str, after: &str) -> bool {
        compare(&results(before).unwrap(), &results(after).unwrap()).is_ok()
    }

    #[test]
    fn results_are_compared_by_their_kind() {
        assert!(compared(
            "hello\nresult a b exact 00ff\n",
            "result a b exact 00ff\n"
        ));
        assert!(!compared("result a exact 00ff", "result a exact 00fe"));
        assert!(compared(
            "result a real 1e0 2e0",
            "result a real 1.00001e0 2e0"
        ));
        assert!(!compared(
            "result a real 1e0 2e0",
            "result a real 1.1e0 2e0"
        ));
        assert!(!compared("result a real 1e0", "result a real NaN"));
        assert!(!compared(
            "result a exact 0",
            "result a exact 0\nresult b exact 0"
        ));
        assert!(results("nothing").is_err());
    }
}
