//! `cargo xtask bench`: what lifting and proving cost, how the cost grows, what a dispatched call costs, what a
//! project of many kernels costs, how the demo's kernels compare.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::process::{cargo, output, root, run as run_command, target_dir};
use crate::{demo, setup};

mod lift;
mod plot;
mod project;
mod run;
mod size;
mod watch;

/// What can be measured.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum What {
    /// `cargo-tensorize lift` over the 69 benchmarks in C, and the demo's kernels, cold, stage by stage
    Lift,
    /// Functions of 10, 100 and 1,000 statements, and nests 1 to 6 deep
    Size,
    /// Closed forms that are searched for: with the body's expression tree and without it
    Synth,
    /// A dispatched call against a direct one
    Dispatch,
    /// From the save of an edited kernel to its verdict under `cargo tensorize watch`
    Watch,
    /// Projects of 10, 100 and 1,000 kernels: cold, after one edit, and with nothing changed; a JSON object a project
    Project,
    /// The demo's kernels, tensorized against original
    Demo,
    /// Kernels of several kinds, from 64 to 16 Mi elements: original, generated code, NumPy and PyTorch
    Run,
}

/// Measures `what`.
pub fn run(what: What, json: bool, update: bool, runs: usize, kernels: &[usize]) -> Result<()> {
    if update && !matches!(what, What::Run) {
        bail!("only `run` has a page to write; leave out --update");
    }
    setup::run(setup::Frameworks::Small)?;
    match what {
        What::Lift => lift::run(json, runs),
        What::Size => size::run(json),
        What::Watch => watch::run(json, runs),
        What::Project => project::run(json, runs, kernels),
        What::Dispatch => run_command(cargo().args([
            "run",
            "--release",
            "--quiet",
            "--package",
            "tensorize-rt",
            "--example",
            "dispatch_overhead",
        ])),
        What::Synth => run_command(
            cargo()
                .args([
                    "run",
                    "--release",
                    "--quiet",
                    "--package",
                    "tensorize-lift",
                    "--example",
                    "synth_ablation",
                    "--",
                ])
                .args(c_files(&root().join("fixtures/proven"))?)
                .args(c_files(&root().join("fixtures/tenspiler"))?),
        ),
        What::Demo => demo::bench(),
        What::Run => run::run(json, update),
    }
}

/// The C files of a folder and the folders in it.
fn c_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let listed =
        std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for path in listed.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(c_files(&path)?);
        } else if path.extension().is_some_and(|e| e == "c") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Builds the subcommand as users have it and returns its path.
pub fn build_tool() -> Result<PathBuf> {
    run_command(cargo().args([
        "build",
        "--release",
        "--quiet",
        "--package",
        "cargo-tensorize",
    ]))?;
    Ok(target_dir().join("release/cargo-tensorize"))
}

/// The middle value, zero of none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// Processor, cores, memory and tools, in one line.
pub fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = field(&cpu, "model name").unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: f64 = field(&memory, "MemTotal")
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .unwrap_or_default();
    let cc = output(Command::new("cc").arg("--version")).unwrap_or_default();
    format!(
        "{model}, {cores} cores, {:.0} GiB; {}; {}",
        kib / f64::from(1 << 20),
        cc.lines().next().unwrap_or("no cc"),
        setup::z3_version().unwrap_or_else(|| "no z3".into())
    )
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median([4.0, 1.0, 2.0, 9.0].into_iter()), 3.0);
        assert_eq!(median([4.0, 1.0, 9.0].into_iter()), 4.0);
        assert_eq!(median(std::iter::empty()), 0.0);
    }
}
