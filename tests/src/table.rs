//! Every kernel on every target: the cells of `docs/targets.md`.

use cargo_tensorize::pipeline::{self, Job, Kernel, Settings};
use cargo_tensorize::report::{TargetReport, TargetStatus};
use cargo_tensorize::source::Source;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tensorize_ir::guard::Tier;

use crate::{root, sources};

/// What kernels of the demo project are listed under.
const DEMO: &str = "demo";

/// One kernel on one target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The C name.
    pub kernel: String,
    /// The file that it is from, or `demo`.
    pub suite: String,
    /// What `--target` takes.
    pub target: &'static str,
    /// What became of it.
    pub status: Status,
    /// The largest relative error of floats against the original; nothing without a run.
    pub max_rel_error: Option<f64>,
    /// Why there is no code, or who computes what.
    pub why: String,
    /// What it ran on; nothing if it did not run.
    pub ran_on: Option<String>,
    /// Why not, where that is for want of a device or a package.
    #[serde(skip)]
    pub left_out: Option<String>,
    /// What the code promises.
    #[serde(skip)]
    tier: Option<Tier>,
    /// It ran on another machine.
    #[serde(skip)]
    ran_elsewhere: bool,
}

/// What became of a kernel on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The same bits.
    Exact,
    /// The same numbers, if floats are read as real ones.
    Real,
    /// The target computes a part, the machine's cores the rest.
    Split,
    /// There is no code.
    Unsupported,
}

/// A [`Cell`] that another machine printed, as far as the page says it.
#[derive(Clone, Debug, Deserialize)]
pub struct FromElsewhere {
    kernel: String,
    suite: String,
    target: String,
    status: Status,
    max_rel_error: Option<f64>,
    ran_on: Option<String>,
}

/// A C file with the kernels in it that count.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Its name.
    pub name: String,
    file: PathBuf,
    /// Their names, in order.
    kernels: Vec<String>,
}

/// The files of Tenspiler's 69 benchmarks, and those of the demo.
pub fn suites() -> Vec<Suite> {
    let list = std::fs::read_to_string(root().join("fixtures/tenspiler/benchmarks.tsv"))
        .expect("the list of benchmarks");
    let mut all: Vec<Suite> = Vec::new();
    for line in list.lines().skip(1) {
        let mut fields = line.split('\t').map(str::to_owned);
        let (Some(suite), Some(name)) = (fields.next(), fields.next()) else {
            continue;
        };
        if all.last().is_none_or(|s| s.name != suite) {
            let file = root().join(format!("fixtures/tenspiler/c/{suite}.c"));
            all.push(Suite {
                name: suite,
                file,
                kernels: Vec::new(),
            });
        }
        all.last_mut().expect("just pushed").kernels.push(name);
    }
    all.extend(demo());
    all
}

/// The demo's kernels: annotated, or named in its manifest.
fn demo() -> impl Iterator<Item = Suite> {
    let folder = root().join("fixtures/demo");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    sources("fixtures/demo/kernels")
        .into_iter()
        .map(move |file| {
            let named = |job: &Job| {
                let file = file.file_name().unwrap_or_default().to_string_lossy();
                manifest.contains(&format!("\"kernels/{file}::{}\"", job.parsed.name))
            };
            let chosen = parse(&file)
                .into_iter()
                .filter(|j| j.parsed.annotated || named(j));
            Suite {
                name: DEMO.into(),
                kernels: chosen.map(|j| j.parsed.name).collect(),
                file,
            }
        })
}

fn parse(file: &Path) -> Vec<Job> {
    let sources = vec![Source::alone(file, &[])];
    let mut jobs = Vec::new();
    for (_, parsed) in pipeline::parse(sources, NonZeroUsize::MIN) {
        jobs.extend(parsed.unwrap_or_else(|p| panic!("{}: {}", file.display(), p.message)));
    }
    jobs
}

impl Suite {
    /// Lifts, proves and generates; runs the code against the compiled original if `differential`. What is not here to
    /// run on is left out: its cells say what was generated.
    pub fn run(&self, targets: &[&'static str], differential: bool) -> Vec<Row> {
        let mut rows = self.run_on(targets, differential);
        let left_out: BTreeSet<&str> = (rows.iter().flat_map(|r| &r.cells))
            .filter_map(|(t, cell)| cell.as_ref().ok()?.left_out.as_ref().map(|_| *t))
            .collect();
        if left_out.is_empty() {
            return rows;
        }
        let left_out: Vec<&'static str> = (targets.iter().copied())
            .filter(|t| left_out.contains(t))
            .collect();
        let generated = self.run_on(&left_out, false);
        for (row, other) in rows.iter_mut().zip(generated) {
            for (target, cell) in other.cells {
                let old = row.cells.iter_mut().find(|(t, _)| *t == target);
                // The target's other cells have been run.
                if let (Some((_, Ok(old))), Ok(new)) = (old, cell)
                    && let Some(left_out) = old.left_out.take()
                {
                    *old = Cell {
                        left_out: Some(left_out),
                        ..new
                    };
                }
            }
        }
        rows
    }

    fn run_on(&self, targets: &[&'static str], differential: bool) -> Vec<Row> {
        let settings = Settings {
            z3: tensorize_prove::solver::find(),
            jobs: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            targets: targets.iter().map(|t| (*t).to_owned()).collect(),
            tier: Tier::Real,
            least_share: None,
            differential,
            proposer: None,
            time_limit: Duration::from_secs(60),
            second: None,
        };
        let mut jobs = parse(&self.file);
        jobs.retain(|j| self.kernels.contains(&j.parsed.name));
        let run = pipeline::run(jobs, &settings).unwrap_or_else(|d| panic!("{}", d.message));
        let found: BTreeMap<&str, &Kernel> = (run.kernels.iter())
            .map(|k| (k.report.name.as_str(), k))
            .collect();
        let row = |name: &String| {
            let kernel = found.get(name.as_str());
            let kernel = kernel.unwrap_or_else(|| panic!("no {name} in {}", self.file.display()));
            Row {
                kernel: name.clone(),
                suite: self.name.clone(),
                cells: (targets.iter())
                    .map(|t| (*t, self.cell(kernel, t)))
                    .collect(),
            }
        };
        self.kernels.iter().map(row).collect()
    }

    fn cell(&self, kernel: &Kernel, target: &'static str) -> Result<Cell, String> {
        let unproven = TargetReport::without_code(
            TargetStatus::Unsupported,
            kernel.report.why.clone().unwrap_or_default(),
        );
        let report = kernel.report.targets.get(target).unwrap_or(&unproven);
        let status = match (report.status, report.tier) {
            (TargetStatus::Failed, _) => return Err(report.why.clone()),
            (TargetStatus::NotRun | TargetStatus::Unsupported, _) => Status::Unsupported,
            _ if report.split().is_some() => Status::Split,
            (_, Some(Tier::Exact)) => Status::Exact,
            _ => Status::Real,
        };
        Ok(Cell {
            kernel: kernel.report.name.clone(),
            suite: self.name.clone(),
            target,
            status,
            max_rel_error: report.max_rel_error,
            why: report.split().unwrap_or(&report.why).to_owned(),
            ran_on: report.ran_on.clone(),
            left_out: (report.status == TargetStatus::NotRun).then(|| report.why.clone()),
            tier: report.tier,
            ran_elsewhere: false,
        })
    }
}

/// A kernel on all targets.
#[derive(Clone, Debug)]
pub struct Row {
    kernel: String,
    suite: String,
    /// By target, in their order; for code that is wrong, or did not come to its end, in which way.
    pub cells: Vec<(&'static str, Result<Cell, String>)>,
}

impl Row {
    /// The kernel and its suite.
    pub fn name(&self) -> String {
        format!("{}/{}", self.suite, self.kernel)
    }
}

/// Takes from `elsewhere` what was left out here, for want of a device or a package, and ran there. What it has no use for, and
/// why: what does not come to the same there is other code.
pub fn complete(rows: &mut [Row], elsewhere: &[FromElsewhere]) -> Vec<String> {
    let mut cells: BTreeMap<(String, String, &str), &mut Cell> = (rows.iter_mut())
        .flat_map(|r| &mut r.cells)
        .filter_map(|(target, cell)| Some((*target, cell.as_mut().ok()?)))
        .map(|(target, cell)| ((cell.suite.clone(), cell.kernel.clone(), target), cell))
        .collect();
    let mut of_no_use = Vec::new();
    for found in elsewhere {
        let key = (found.suite.clone(), found.kernel.clone(), &*found.target);
        let why = match (cells.get_mut(&key), &found.ran_on) {
            (None, _) => "there is none here",
            (_, None) => "it did not run",
            (Some(cell), _) if cell.left_out.is_none() => "it ran here",
            (Some(cell), _) if cell.status != found.status => "its code is another one here",
            (Some(cell), Some(ran_on)) => {
                cell.left_out = None;
                cell.max_rel_error = found.max_rel_error;
                cell.ran_on = Some(ran_on.clone());
                cell.ran_elsewhere = true;
                continue;
            }
        };
        let (suite, kernel, target) = key;
        of_no_use.push(format!("{suite}/{kernel} on {target}: {why}"));
    }
    of_no_use
}

/// All targets, in the order of the columns.
pub fn targets() -> Vec<&'static str> {
    backends::targets().iter().map(|t| t.name()).collect()
}

/// `docs/targets.md`
pub fn page(rows: &[Row]) -> String {
    let targets = targets();
    let mut text = String::from(
        "# Which kernel runs on which target\n\n\
         Written by `cargo xtask targets --frameworks all --update`, from a run of every kernel on every target: the 69 benchmarks of \
         Tenspiler's, in C, and the kernels of the [demo](../fixtures/demo). Each was run on random \
         inputs and on edges (zeros, limits, sizes of one and of none; where floats are exact, NaN and infinities, too). Code in C was \
         compared with the compiled original; what a framework, StableHLO or a GPU's driver runs, with the lifted loop, beside which \
         the compiled original was run. A test holds the page against what is generated today.\n\n\
         * *exact*: the same bits.\n\
         * *real*: equal when float arithmetic is read over the real numbers (sums in another order, a library's own `exp`), and the \
         largest relative error that was seen.\n\
         * *split*: the target computes a part, the machine's cores the rest.\n\
         * *unsupported*: the original runs; the number is that of the [reason](#reasons).\n\n\
         `gemmini` and `gaudi` run on [emulations](accelerators.md), floats on `gemmini` on its core for floats, what is not \
         elementwise on `gaudi` in PyTorch; the Python frameworks run on their CPU devices, and `opencl` on PoCL, which is the CPU, \
         too.\n\n",
    );
    let cells = || rows.iter().flat_map(|r| &r.cells);
    let elsewhere: BTreeSet<(&str, &str)> = cells()
        .filter_map(|(target, cell)| cell.as_ref().ok().map(|c| (*target, c)))
        .filter(|(_, cell)| cell.ran_elsewhere)
        .filter_map(|(target, cell)| Some((target, cell.ran_on.as_deref()?)))
        .collect();
    for (target, ran_on) in elsewhere {
        let _ = writeln!(text, "{ELSEWHERE}`{target}`: {ran_on}\n");
    }
    for (target, why) in missing(rows).0 {
        let _ = writeln!(
            text,
            "{NOT_RUN}`{target}`, so that its column says what was generated: {why}\n"
        );
    }
    let mut reasons: Vec<String> = Vec::new();
    let mut table = String::new();
    for row in rows {
        let _ = write!(table, "| {} | {} |", row.suite, row.kernel);
        for (_, cell) in &row.cells {
            let shown = match cell {
                Ok(cell) => show(cell, &mut reasons),
                Err(_) => "–".into(),
            };
            let _ = write!(table, " {shown} |");
        }
        table.push('\n');
    }
    text += "| | ";
    text += &targets.join(" | ");
    let _ = write!(text, " |\n|---|{}\n", "---|".repeat(targets.len()));
    let ours = |row: &&Row| row.suite == DEMO;
    for (title, of_demo) in [("the 69", false), ("the demo", true)] {
        let rows: Vec<&Row> = rows.iter().filter(|r| ours(r) == of_demo).collect();
        let _ = write!(text, "| of {title}, with code: |");
        for i in 0..targets.len() {
            let runs = |r: &&&Row| {
                let cell = r.cells.get(i).and_then(|(_, c)| c.as_ref().ok());
                cell.is_some_and(|c| c.status != Status::Unsupported)
            };
            let _ = write!(
                text,
                " {} of {} |",
                rows.iter().filter(runs).count(),
                rows.len()
            );
        }
        text.push('\n');
    }
    let _ = write!(
        text,
        "\n| suite | kernel | {} |\n|---|---|{}\n{table}\n## Reasons\n\n",
        targets.join(" | "),
        "---|".repeat(targets.len())
    );
    for (i, reason) in reasons.iter().enumerate() {
        let _ = writeln!(text, "{}. {reason}", i + 1);
    }
    text
}

fn show(cell: &Cell, reasons: &mut Vec<String>) -> String {
    let number = |reasons: &mut Vec<String>| match reasons.iter().position(|r| *r == cell.why) {
        Some(i) => i + 1,
        None => {
            reasons.push(cell.why.clone());
            reasons.len()
        }
    };
    let error = match cell.max_rel_error {
        Some(0.0) if cell.tier == Some(Tier::Real) => " (0)".into(),
        Some(error) if cell.tier == Some(Tier::Real) => format!(" ({error:.0e})"),
        _ => String::new(),
    };
    let tier = cell.tier.map_or("", Tier::name);
    match cell.status {
        Status::Exact => "exact".into(),
        Status::Real => format!("real{error}"),
        Status::Split => format!("split: {tier}{error}, {}", number(reasons)),
        Status::Unsupported => format!("unsupported: {}", number(reasons)),
    }
}

/// How a line begins that names what was left out.
const NOT_RUN: &str = "Not run: ";

/// How a line begins that says what ran on another machine than the rest.
const ELSEWHERE: &str = "Run on another machine: ";

/// The page without what differs from machine to machine: how large the errors were, and what could not be run.
pub fn comparable(page: &str) -> String {
    let mut text = String::new();
    let lines: Vec<&str> = page
        .split_inclusive("\n\n")
        .filter(|l| !l.starts_with(NOT_RUN) && !l.starts_with(ELSEWHERE))
        .collect();
    let page = lines.concat();
    let mut rest = page.as_str();
    while let Some((before, after)) = rest.split_once("real (") {
        text += before;
        text += "real";
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text + rest
}

/// Why targets were left out, by target; and what failed, in words.
pub fn missing(rows: &[Row]) -> (BTreeMap<&'static str, String>, BTreeSet<String>) {
    let (mut left_out, mut failed) = (BTreeMap::new(), BTreeSet::new());
    for row in rows {
        for (target, cell) in &row.cells {
            match cell {
                Ok(cell) => {
                    let why = cell.left_out.iter().map(|why| (*target, why.clone()));
                    left_out.extend(why);
                }
                Err(why) => {
                    failed.insert(format!("{} on {target}: {why}", row.name()));
                }
            }
        }
    }
    (left_out, failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_what_is_missing_are_left_aside() {
        let page = "Head.\n\nRun on another machine: `mlx`: …\n\nNot run: `cuda`, so that …: no driver\n\n| a | real (3e-7) | split: real (1e-8), 2 | real |\n";
        let bare = "Head.\n\n| a | real | split: real, 2 | real |\n";
        assert_eq!(comparable(page), bare);
        assert_eq!(comparable(bare), bare);
    }

    #[test]
    fn what_ran_elsewhere_fills_what_was_left_out_here() {
        let cell = |kernel: &str, left_out: Option<&str>| Cell {
            kernel: kernel.into(),
            suite: "s".into(),
            target: "cuda",
            status: Status::Real,
            max_rel_error: None,
            why: String::new(),
            ran_on: None,
            left_out: left_out.map(str::to_owned),
            tier: Some(Tier::Real),
            ran_elsewhere: false,
        };
        let row = |kernel: &str, left_out| Row {
            kernel: kernel.into(),
            suite: "s".into(),
            cells: vec![("cuda", Ok(cell(kernel, left_out)))],
        };
        let none = Some("no driver");
        let mut rows = [
            row("a", none),
            row("b", None),
            row("c", none),
            row("d", none),
        ];
        let elsewhere = |kernel: &str, status: &str, ran_on: &str| {
            let line = format!(
                r#"{{"kernel":"{kernel}","suite":"s","target":"cuda","status":"{status}","max_rel_error":2e-7,"why":"","ran_on":{ran_on}}}"#
            );
            serde_json::from_str::<FromElsewhere>(&line).unwrap()
        };
        let found = [
            elsewhere("a", "real", "\"cuda:0 H200\""),
            elsewhere("b", "real", "\"cuda:0 H200\""),
            elsewhere("c", "exact", "\"cuda:0 H200\""),
            elsewhere("d", "real", "null"),
            elsewhere("e", "real", "\"cuda:0 H200\""),
        ];
        let of_no_use = complete(&mut rows, &found);
        let expected = [
            "s/b on cuda: it ran here",
            "s/c on cuda: its code is another one here",
            "s/d on cuda: it did not run",
            "s/e on cuda: there is none here",
        ];
        assert_eq!(of_no_use, expected);
        let page = page(&rows);
        assert!(page.contains("| s | a | real (2e-7) |"), "{page}");
        for other in ["b", "c", "d"] {
            assert!(page.contains(&format!("| s | {other} | real |")), "{page}");
        }
        assert!(page.contains("Run on another machine: `cuda`: cuda:0 H200\n\n"));
        assert!(page.contains("Not run: `cuda`"));
    }
}
