//! `cargo xtask bench`: what lifting and proving cost, what a dispatched call costs, how the demo's kernels compare.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::process::{cargo, output, root, run as run_command, target_dir};
use crate::{demo, setup};

/// What can be measured.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum What {
    /// `cargo-tensorize lift` over the demo's kernels, cold, stage by stage
    Lift,
    /// A dispatched call against a direct one
    Dispatch,
    /// The demo's kernels, tensorized against original
    Demo,
}

/// The stages of `times_us`, in the order in which they run.
const STAGES: [&str; 4] = ["parse", "propose", "prove", "differential"];
/// What the project promises for a 2-core machine.
const LIMIT_LIFT_MS: f64 = 25.0;
const LIMIT_DIFFERENTIAL_MS: f64 = 100.0;
const LIMIT_WALL_S: f64 = 5.0;
const LIMIT_RSS_MIB: f64 = 300.0;

/// Measures `what`.
pub fn run(what: What, json: bool, runs: usize) -> Result<()> {
    setup::run()?;
    match what {
        What::Lift => lift(json, runs),
        What::Dispatch => run_command(cargo().args([
            "run",
            "--release",
            "--quiet",
            "--package",
            "tensorize-rt",
            "--example",
            "dispatch_overhead",
        ])),
        What::Demo => demo::bench(),
    }
}

/// What one run over all files said.
struct Run {
    kernels: Vec<Kernel>,
    wall_s: f64,
    peak_rss_mib: f64,
}

struct Kernel {
    name: String,
    status: String,
    tier: String,
    /// Milliseconds by stage.
    ms: BTreeMap<&'static str, f64>,
}

impl Kernel {
    fn lift_ms(&self) -> f64 {
        STAGES[..3]
            .iter()
            .filter_map(|stage| self.ms.get(stage))
            .sum()
    }

    fn total_ms(&self) -> f64 {
        self.ms.values().sum()
    }
}

fn lift(as_json: bool, runs: usize) -> Result<()> {
    let tool = build_tool()?;
    let files = kernel_files()?;
    let mut all = Vec::new();
    for _ in 0..runs {
        all.push(lift_once(&tool, &files)?);
    }
    let kernels = medians(&all);
    if kernels.is_empty() {
        bail!("`lift` reported no kernel");
    }
    let lift_ms = median(kernels.iter().map(Kernel::lift_ms));
    let total_ms = median(kernels.iter().map(Kernel::total_ms));
    let wall_s = median(all.iter().map(|run| run.wall_s));
    let rss_mib = all.iter().map(|run| run.peak_rss_mib).fold(0.0, f64::max);
    if as_json {
        let rows: Vec<Value> = kernels
            .iter()
            .map(|kernel| {
                json!({ "name": kernel.name, "status": kernel.status, "tier": kernel.tier, "times_ms": kernel.ms })
            })
            .collect();
        let summary = json!({
            "machine": machine(), "runs": runs, "kernels": rows,
            "median_lift_ms": lift_ms, "median_with_differential_ms": total_ms,
            "wall_s": wall_s, "peak_rss_mib": rss_mib,
        });
        println!("{summary}");
        return Ok(());
    }
    let width = kernels
        .iter()
        .map(|kernel| kernel.name.len())
        .max()
        .unwrap_or(0)
        .max(6);
    println!(
        "{:width$}  {:11} {:6} {:>8} {:>8} {:>8} {:>13}",
        "kernel", "status", "tier", "parse", "propose", "prove", "differential"
    );
    for kernel in &kernels {
        print!(
            "{:width$}  {:11} {:6}",
            kernel.name, kernel.status, kernel.tier
        );
        for (stage, wide) in STAGES.iter().zip([8, 8, 8, 13]) {
            match kernel.ms.get(stage) {
                Some(ms) => print!(" {ms:>wide$.2}"),
                None => print!(" {:>wide$}", "-"),
            }
        }
        println!();
    }
    print!("{:width$}  {:11} {:6}", "median", "", "ms");
    for (stage, wide) in STAGES.iter().zip([8, 8, 8, 13]) {
        print!(
            " {:>wide$.2}",
            median(
                kernels
                    .iter()
                    .filter_map(|kernel| kernel.ms.get(stage).copied())
            )
        );
    }
    println!("\n");
    let line = |what: &str, value: f64, limit: f64, unit: &str| {
        let verdict = if value < limit { "within" } else { "OVER" };
        println!("{what:46} {value:8.2} {unit:3}  ({verdict} {limit} {unit})");
    };
    line(
        "parse + propose + prove, median a kernel",
        lift_ms,
        LIMIT_LIFT_MS,
        "ms",
    );
    line(
        "with the differential run, median a kernel",
        total_ms,
        LIMIT_DIFFERENTIAL_MS,
        "ms",
    );
    line(
        &format!("all {} kernels, median of {runs} cold runs", kernels.len()),
        wall_s,
        LIMIT_WALL_S,
        "s",
    );
    line("peak resident memory", rss_mib, LIMIT_RSS_MIB, "MiB");
    println!("machine: {}", machine());
    Ok(())
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

fn kernel_files() -> Result<Vec<PathBuf>> {
    let folder = root().join("fixtures/demo/kernels");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .with_context(|| format!("cannot list {}", folder.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    files.sort();
    Ok(files)
}

fn lift_once(tool: &PathBuf, files: &[PathBuf]) -> Result<Run> {
    let mut command = Command::new(tool);
    command
        .arg("lift")
        .args(files)
        .args(["--message-format", "json"]);
    let started = Instant::now();
    let done = command
        .output()
        .with_context(|| format!("cannot start {}", tool.display()))?;
    let wall_s = started.elapsed().as_secs_f64();
    let mut run = Run {
        kernels: Vec::new(),
        wall_s,
        peak_rss_mib: 0.0,
    };
    let mut complete = false;
    for line in String::from_utf8_lossy(&done.stdout).lines() {
        let message: Value =
            serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
        match message["reason"].as_str() {
            Some("kernel") => run.kernels.push(kernel(&message)),
            Some("summary") => {
                complete = true;
                run.peak_rss_mib =
                    message["peak_rss_bytes"].as_f64().unwrap_or(0.0) / f64::from(1 << 20);
            }
            _ => {}
        }
    }
    if !complete {
        bail!(
            "`lift` ended early ({}):\n{}",
            done.status,
            String::from_utf8_lossy(&done.stderr)
        );
    }
    Ok(run)
}

fn kernel(message: &Value) -> Kernel {
    let text = |key: &str| message[key].as_str().unwrap_or("-").to_string();
    let times = &message["times_us"];
    let ms = STAGES
        .iter()
        .filter_map(|stage| Some((*stage, times[*stage].as_f64()? / 1000.0)))
        .collect();
    Kernel {
        name: text("name"),
        status: text("status"),
        tier: text("tier"),
        ms,
    }
}

/// The kernels of the first run, each time the median over all runs.
fn medians(runs: &[Run]) -> Vec<Kernel> {
    let Some(first) = runs.first() else {
        return Vec::new();
    };
    let one = |(at, kernel): (usize, &Kernel)| {
        let over_runs = |stage: &'static str| {
            median(
                runs.iter()
                    .filter_map(|run| run.kernels.get(at)?.ms.get(stage).copied()),
            )
        };
        let ms = kernel
            .ms
            .keys()
            .map(|stage| (*stage, over_runs(stage)))
            .collect();
        Kernel {
            name: kernel.name.clone(),
            status: kernel.status.clone(),
            tier: kernel.tier.clone(),
            ms,
        }
    };
    first.kernels.iter().enumerate().map(one).collect()
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
fn machine() -> String {
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

    #[test]
    fn a_kernel_message_is_read_whatever_stages_it_has() {
        let message = json!({ "reason": "kernel", "name": "f", "status": "unsupported", "tier": null,
            "times_us": { "parse": 1500, "propose": null } });
        let kernel = kernel(&message);
        assert_eq!((kernel.lift_ms(), kernel.tier.as_str()), (1.5, "-"));
    }
}
