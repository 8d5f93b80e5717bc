//! `docs/coverage.md`: which of Tenspiler's 69 benchmarks are proven, in which form, how strongly and how fast. The test holds
//! the page against today's results, times left out; `cargo xtask coverage` writes it anew.

use cargo_tensorize::pipeline::{self, Settings};
use cargo_tensorize::report::{KernelReport, Status};
use cargo_tensorize::source::Source;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::time::Duration;
use tensorize_ir::guard::Tier;

/// Folder below `fixtures/tenspiler`, and what is written there.
const FORMS: [(&str, &str); 3] = [
    ("c", "(a) C"),
    ("vector", "(b) `std::vector`"),
    ("span", "(c) `std::span`"),
];

/// The benchmarks, by suite, in the order of the list.
fn benchmarks() -> Vec<(String, String)> {
    let text =
        std::fs::read_to_string(tensorize_e2e::root().join("fixtures/tenspiler/benchmarks.tsv"))
            .expect("the list of benchmarks");
    let row = |line: &str| {
        let mut fields = line.split('\t').map(str::to_owned);
        Some((fields.next()?, fields.next()?))
    };
    text.lines().skip(1).filter_map(row).collect()
}

/// What became of the kernels of a form, by suite and name. Empty if nobody has written it yet.
fn lift(folder: &str) -> BTreeMap<(String, String), KernelReport> {
    let files = tensorize_e2e::sources(&format!("fixtures/tenspiler/{folder}"));
    let sources = files.iter().map(|f| Source::alone(f, &[])).collect();
    // One at a time: times are not to depend on what else runs.
    let threads = NonZeroUsize::MIN;
    let mut jobs = Vec::new();
    for (source, parsed) in pipeline::parse(sources, threads) {
        let parsed = parsed.unwrap_or_else(|p| panic!("{}: {}", source.file.display(), p.message));
        jobs.extend(parsed.into_iter().filter(|j| !j.parsed.is_static));
    }
    if jobs.is_empty() {
        return BTreeMap::new();
    }
    let settings = Settings {
        z3: tensorize_prove::solver::find(),
        jobs: threads,
        targets: vec![],
        tier: Tier::Real,
        least_share: None,
        differential: false,
        proposer: None,
        time_limit: Duration::from_secs(10),
        second: None,
    };
    let run = pipeline::run(jobs, &settings).unwrap_or_else(|d| panic!("{}", d.message));
    let named = run.kernels.into_iter().map(|k| {
        let suite = k.source.file.file_stem().unwrap_or_default();
        let key = (suite.to_string_lossy().into_owned(), k.report.name.clone());
        (key, k.report)
    });
    named.collect()
}

fn cell(report: Option<&KernelReport>) -> String {
    match report {
        None => "–".into(),
        Some(k) if k.status == Status::Proven => {
            let t = k.times_us;
            let ms = (t.parse + t.propose + t.prove) as f64 / 1e3;
            format!("{} {ms:.1} ms", k.tier.map_or("-", Tier::name))
        }
        Some(k) => format!("**{}**", k.status.name()),
    }
}

fn page() -> String {
    let forms: Vec<_> = FORMS.iter().map(|(folder, _)| lift(folder)).collect();
    let benchmarks = benchmarks();
    assert_eq!(benchmarks.len(), 69);
    let mut text = String::from(
        "# Coverage: Tenspiler's 69 benchmarks\n\n\
         Written by `cargo xtask coverage`; a test holds it against today's results. Each cell: the tier of the proof, and the time \
         to parse, lift and prove. `exact` is the same bits; `real` is equal when float arithmetic is read over the real numbers \
         (sums in another order). The kernels are in [fixtures/tenspiler](../fixtures/tenspiler).\n\n",
    );
    text += "| form | proven | of these `exact` |\n|---|---|---|\n";
    for ((_, title), found) in FORMS.iter().zip(&forms) {
        let proven: Vec<_> = benchmarks
            .iter()
            .filter_map(|b| found.get(b).filter(|k| k.status == Status::Proven))
            .collect();
        let exact = proven
            .iter()
            .filter(|k| k.tier == Some(Tier::Exact))
            .count();
        let _ = writeln!(text, "| {title} | {} of 69 | {exact} |", proven.len());
    }
    let titles: String = FORMS.iter().map(|(_, t)| format!(" {t} |")).collect();
    let head = format!(
        "\n| suite | kernel |{titles}\n|---|---|{}\n",
        "---|".repeat(FORMS.len())
    );
    text += &head;
    let row = |text: &mut String, key: &(String, String)| {
        let _ = write!(text, "| {} | {} |", key.0, key.1);
        for found in &forms {
            let _ = write!(text, " {} |", cell(found.get(key)));
        }
        text.push('\n');
    };
    benchmarks.iter().for_each(|key| row(&mut text, key));
    let mut others: Vec<&(String, String)> = forms.iter().flat_map(BTreeMap::keys).collect();
    others.sort();
    others.dedup();
    others.retain(|key| !benchmarks.contains(key));
    if !others.is_empty() {
        text += "\n## Variants\n\nWhat libraries have beside what Tenspiler lifts: clamped, scaled, written another way.\n";
        text += &head;
        others.iter().for_each(|key| row(&mut text, key));
    }
    let mut open = String::new();
    for ((_, title), found) in FORMS.iter().zip(&forms) {
        for ((suite, name), k) in found.iter().filter(|(_, k)| k.status != Status::Proven) {
            let why = k.why.as_deref().unwrap_or("-").replace('|', "\\|");
            let _ = writeln!(open, "| {title} | {suite} | {name} | {why} |");
        }
    }
    if !open.is_empty() {
        text += "\n## Not proven\n\n| form | suite | kernel | why |\n|---|---|---|---|\n";
        text += &open;
    }
    text
}

/// The page with every time replaced.
fn without_times(page: &str) -> String {
    let timeless = |line: &str| -> String {
        let cells = line.split(" | ").map(|cell| {
            let words: Vec<&str> = cell.split(' ').collect();
            match words.iter().position(|w| *w == "ms") {
                Some(at) if at > 0 && words[at - 1].parse::<f64>().is_ok() => {
                    [&words[..at - 1], &["…"], &words[at + 1..]]
                        .concat()
                        .join(" ")
                }
                _ => cell.to_owned(),
            }
        });
        cells.collect::<Vec<_>>().join(" | ")
    };
    page.lines().map(timeless).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_coverage_page_is_up_to_date() {
    let path = tensorize_e2e::root().join("docs/coverage.md");
    let page = page();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, page).expect("docs can be written");
        return;
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    let (stored, today) = (without_times(&stored), without_times(&page));
    let changed: Vec<String> = today
        .lines()
        .filter(|l| !stored.lines().any(|s| s == *l))
        .map(|l| format!("+ {l}"))
        .chain(
            stored
                .lines()
                .filter(|l| !today.lines().any(|t| t == *l))
                .map(|l| format!("- {l}")),
        )
        .collect();
    assert!(
        stored == today,
        "docs/coverage.md is out of date; `cargo xtask coverage` writes it\n{}",
        changed.join("\n")
    );
}

#[test]
fn times_do_not_count() {
    let line = "| blend | color_burn | exact 4.1 ms | **unproven** | real 12.0 ms |";
    assert_eq!(
        without_times(line),
        "| blend | color_burn | exact … | **unproven** | real … |"
    );
}
