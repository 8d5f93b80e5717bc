//! Lifting and proving, cold: the 69 benchmarks in C, and the demo's kernels.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{build_tool, machine, median};
use crate::process::root;

/// The stages of `times_us`, in the order in which they run.
const STAGES: [&str; 4] = ["parse", "propose", "prove", "differential"];
/// What the project promises for a 2-core machine.
const LIMIT_LIFT_MS: f64 = 25.0;
const LIMIT_DIFFERENTIAL_MS: f64 = 100.0;
const LIMIT_SLOWEST_MS: f64 = 1000.0;
const LIMIT_WALL_S: f64 = 5.0;
const LIMIT_RSS_MIB: f64 = 300.0;

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

/// What the Tenspiler paper reports of its search for the same benchmarks, section 6.2.
const PAPER: [(&str, &str); 4] = [
    ("blend suite, average", "40.7 s"),
    ("blend suite, median", "2.4 s"),
    ("double loops, average (median)", "128.9 s (22.7 s)"),
    ("slowest benchmark", "under 15 min"),
];

/// Measures, and prints tables or one JSON object.
pub fn run(as_json: bool, runs: usize) -> Result<()> {
    let tool = build_tool()?;
    let names = benchmarks()?;
    let is_benchmark = |kernel: &Kernel| names.contains(&kernel.name);
    let the_69 = Group::measure(
        "the 69 benchmarks in C, and variants of them",
        &tool,
        &c_files("fixtures/tenspiler/c")?,
        runs,
    )?;
    let demo = Group::measure("the demo", &tool, &c_files("fixtures/demo/kernels")?, runs)?;
    if as_json {
        let groups = [&the_69, &demo].map(Group::json);
        println!(
            "{}",
            json!({ "machine": machine(), "runs": runs, "groups": groups, "paper": PAPER.to_vec() })
        );
        return Ok(());
    }
    the_69.print();
    println!();
    demo.print();
    println!("\nthe paper's search, for comparison (its machine, simplified kernels):");
    for (what, time) in PAPER {
        println!("  {what:32} {time}");
    }
    let proven = |k: &&Kernel| is_benchmark(k) && k.status == "proven";
    let proven: Vec<&Kernel> = the_69.kernels.iter().filter(proven).collect();
    println!(
        "ours, for {} of {} benchmarks proven: average {:.4} s, median {:.4} s, slowest {:.4} s",
        proven.len(),
        names.len(),
        proven.iter().map(|k| k.lift_ms()).sum::<f64>() / 1e3 / proven.len().max(1) as f64,
        median(proven.iter().map(|k| k.lift_ms())) / 1e3,
        proven.iter().map(|k| k.lift_ms()).fold(0.0, f64::max) / 1e3,
    );
    println!("machine: {}", machine());
    Ok(())
}

/// Files that are lifted in one run.
struct Group {
    title: &'static str,
    kernels: Vec<Kernel>,
    runs: usize,
    wall_s: f64,
    peak_rss_mib: f64,
}

impl Group {
    fn measure(title: &'static str, tool: &Path, files: &[PathBuf], runs: usize) -> Result<Group> {
        let all: Vec<Run> = (0..runs)
            .map(|_| lift_once(tool, files))
            .collect::<Result<_>>()?;
        let kernels = medians(&all);
        if kernels.is_empty() {
            bail!("`lift` reported no kernel");
        }
        Ok(Group {
            title,
            kernels,
            runs,
            wall_s: median(all.iter().map(|run| run.wall_s)),
            peak_rss_mib: all.iter().map(|run| run.peak_rss_mib).fold(0.0, f64::max),
        })
    }

    fn lift_ms(&self) -> f64 {
        median(self.kernels.iter().map(Kernel::lift_ms))
    }

    fn total_ms(&self) -> f64 {
        median(self.kernels.iter().map(Kernel::total_ms))
    }

    fn slowest(&self) -> Option<&Kernel> {
        let by_time = |a: &&Kernel, b: &&Kernel| a.lift_ms().total_cmp(&b.lift_ms());
        self.kernels.iter().max_by(by_time)
    }

    fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .kernels
            .iter()
            .map(
                |k| json!({ "name": k.name, "status": k.status, "tier": k.tier, "times_ms": k.ms }),
            )
            .collect();
        json!({
            "title": self.title, "kernels": rows, "median_lift_ms": self.lift_ms(),
            "median_with_differential_ms": self.total_ms(),
            "slowest_lift_ms": self.slowest().map(Kernel::lift_ms),
            "wall_s": self.wall_s, "peak_rss_mib": self.peak_rss_mib,
        })
    }

    fn print(&self) {
        let width = self.kernels.iter().map(|k| k.name.len()).max();
        let width = width.unwrap_or(0).max(6);
        println!("{}", self.title);
        println!(
            "{:width$}  {:11} {:6} {:>8} {:>8} {:>8} {:>13}",
            "kernel", "status", "tier", "parse", "propose", "prove", "differential"
        );
        for k in &self.kernels {
            print!("{:width$}  {:11} {:6}", k.name, k.status, k.tier);
            for (stage, wide) in STAGES.iter().zip([8, 8, 8, 13]) {
                match k.ms.get(stage) {
                    Some(ms) => print!(" {ms:>wide$.2}"),
                    None => print!(" {:>wide$}", "-"),
                }
            }
            println!();
        }
        let all = |stage: &str| {
            let own = |k: &Kernel| k.ms.get(stage).copied();
            self.kernels.iter().filter_map(own).collect::<Vec<f64>>()
        };
        let stages = STAGES.iter().zip([8, 8, 8, 13]);
        print!("{:width$}  {:11} {:6}", "median", "", "ms");
        for (stage, wide) in stages.clone() {
            print!(" {:>wide$.2}", median(all(stage).into_iter()));
        }
        let total: f64 = self.kernels.iter().map(Kernel::total_ms).sum();
        print!("\n{:width$}  {:11} {:6}", "share", "", "%");
        for (stage, wide) in stages {
            let share = 100.0 * all(stage).iter().sum::<f64>() / total.max(1e-9);
            print!(" {share:>wide$.1}");
        }
        println!("\n");
        let line = |what: &str, value: f64, limit: f64, unit: &str| {
            let verdict = if value < limit { "within" } else { "OVER" };
            println!("{what:54} {value:8.2} {unit:3}  ({verdict} {limit} {unit})");
        };
        line(
            "parse + propose + prove, median a kernel",
            self.lift_ms(),
            LIMIT_LIFT_MS,
            "ms",
        );
        line(
            "with the differential run, median a kernel",
            self.total_ms(),
            LIMIT_DIFFERENTIAL_MS,
            "ms",
        );
        if let Some(slowest) = self.slowest() {
            let what = format!("slowest to parse, propose and prove: {}", slowest.name);
            line(&what, slowest.lift_ms(), LIMIT_SLOWEST_MS, "ms");
        }
        let what = format!(
            "all {} kernels, median of {} cold runs",
            self.kernels.len(),
            self.runs
        );
        line(&what, self.wall_s, LIMIT_WALL_S, "s");
        line(
            "peak resident memory",
            self.peak_rss_mib,
            LIMIT_RSS_MIB,
            "MiB",
        );
    }
}

/// The names of the 69.
fn benchmarks() -> Result<Vec<String>> {
    let path = root().join("fixtures/tenspiler/benchmarks.tsv");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let name = |line: &str| line.split('\t').nth(1).map(str::to_owned);
    Ok(text.lines().skip(1).filter_map(name).collect())
}

fn c_files(folder: &str) -> Result<Vec<PathBuf>> {
    let folder = root().join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .with_context(|| format!("cannot list {}", folder.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    files.sort();
    Ok(files)
}

fn lift_once(tool: &Path, files: &[PathBuf]) -> Result<Run> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_message_is_read_whatever_stages_it_has() {
        let message = json!({ "reason": "kernel", "name": "f", "status": "unsupported", "tier": null,
            "times_us": { "parse": 1500, "propose": null } });
        let kernel = kernel(&message);
        assert_eq!((kernel.lift_ms(), kernel.tier.as_str()), (1.5, "-"));
    }
}
