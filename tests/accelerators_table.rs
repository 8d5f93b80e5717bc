//! The last part of `docs/accelerators.md`: which of Tenspiler's 69 benchmarks run on emulated accelerators, each compared with
//! the compiled original. The test holds the page against today's results; `UPDATE_GOLDEN=1` writes it anew.

use cargo_tensorize::pipeline::{self, Kernel, Settings};
use cargo_tensorize::report::TargetStatus;
use cargo_tensorize::source::Source;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::time::Duration;
use tensorize_e2e::{root, sources};
use tensorize_ir::guard::Tier;

const TARGETS: [&str; 2] = ["gemmini", "gaudi"];
const HEADING: &str = "## Which of the 69 run\n";

/// The benchmarks with a C form, by suite and name, in the order of the list.
fn kernels() -> Vec<(String, Kernel)> {
    let files = sources("fixtures/tenspiler/c");
    let parsed = files.iter().map(|f| Source::alone(f, &[])).collect();
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut jobs = Vec::new();
    for (source, parsed) in pipeline::parse(parsed, threads) {
        jobs.extend(parsed.unwrap_or_else(|p| panic!("{}: {}", source.file.display(), p.message)));
    }
    let settings = Settings {
        z3: tensorize_prove::solver::find(),
        jobs: threads,
        targets: TARGETS.map(String::from).into(),
        tier: Tier::Real,
        differential: true,
        proposer: None,
        time_limit: Duration::from_secs(20),
        second: None,
    };
    let run = pipeline::run(jobs, &settings).unwrap_or_else(|d| panic!("{}", d.message));
    let mut found: Vec<(String, Kernel)> = run
        .kernels
        .into_iter()
        .map(|k| {
            let suite = k.source.file.file_stem().unwrap_or_default();
            (suite.to_string_lossy().into_owned(), k)
        })
        .collect();
    let list = std::fs::read_to_string(root().join("fixtures/tenspiler/benchmarks.tsv"))
        .expect("the list of benchmarks");
    let mut rows = Vec::new();
    for line in list.lines().skip(1) {
        let mut fields = line.split('\t');
        let (suite, name) = (fields.next().unwrap_or(""), fields.next().unwrap_or(""));
        let at = found
            .iter()
            .position(|(s, k)| s == suite && k.report.name == name)
            .unwrap_or_else(|| panic!("no {name} in {suite}"));
        rows.push(found.swap_remove(at));
    }
    rows
}

/// `exact`, `real`, `split`, and on what kind of core, or why not; and whether it runs.
fn cell(kernel: &Kernel, target: &str) -> (String, bool) {
    let report = &kernel.report.targets[target];
    match (report.status, kernel.artefacts.get(target)) {
        (TargetStatus::Generated, Some(code)) => {
            let split = report.why.strip_prefix("split: ");
            // A Gemmini core has one type of elements.
            let floats = code.text.contains("#define GEMMINI_FP32");
            let core = if floats { " (float core)" } else { "" };
            let tier = format!("{}{core}", code.tier.name());
            (
                split.map_or(tier.clone(), |s| format!("split, {tier}: {s}")),
                true,
            )
        }
        _ => (report.why.replace('|', "\\|"), false),
    }
}

#[test]
fn the_table_is_up_to_date() {
    let kernels = kernels();
    assert_eq!(kernels.len(), 69);
    let mut rows = String::new();
    let mut running = [0; TARGETS.len()];
    for (suite, kernel) in &kernels {
        let _ = write!(rows, "| {suite} | {} |", kernel.report.name);
        for (target, count) in TARGETS.iter().zip(&mut running) {
            let (text, runs) = cell(kernel, target);
            *count += usize::from(runs);
            let failed = kernel.report.targets[*target].status == TargetStatus::Failed;
            assert!(!failed, "{} on {target}: {text}", kernel.report.name);
            let _ = write!(rows, " {text} |");
        }
        rows.push('\n');
    }
    // What the paper's own lowering to the array managed, some of it with saturating bytes.
    assert!(running[0] > 41, "{} on gemmini", running[0]);
    let table = format!(
        "{HEADING}\nIn C, each compared with the compiled original: {} of 69 on `gemmini`, {} on `gaudi`. Written by a test.\n\n\
         | suite | kernel | gemmini | gaudi |\n|---|---|---|---|\n{rows}",
        running[0], running[1]
    );
    let path = root().join("docs/accelerators.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (before, stored) = match page.find(HEADING) {
        Some(at) => page.split_at(at),
        None => (page.as_str(), ""),
    };
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, format!("{before}{table}")).expect("docs can be written");
        return;
    }
    assert!(
        stored == table,
        "docs/accelerators.md is out of date; run this test with UPDATE_GOLDEN=1\n{table}"
    );
}
