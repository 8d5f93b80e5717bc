//! Random kernels: what the front end reads means what the compilers make of it, and what is proven of it is true.
//!
//! Every kernel is compiled by gcc and clang, at -O0 and -O2, and run on the same inputs as its LoopIR; all have to
//! leave the same bits behind. A kernel that is lifted and proven is run as TensIR, too. What differs is made as
//! small as can be before it is shown.
//!
//! `TENSORIZE_RANDOM_KERNELS=20000` asks for more than the usual 500, `TENSORIZE_RANDOM_SEED` for others, and
//! `TENSORIZE_RANDOM_ONLY=k17` for a single one, which is printed.

mod compiled;
mod generate;
mod meaning;
mod tree;
mod types;

use compiled::{SETTINGS, Setting};
use meaning::{Failure, Outcome};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use tensorize_e2e::parallel::on_all_cores;
use tensorize_prove::solver::Solver;
use tree::Kernel;

/// Kernels in one C file.
const BATCH: usize = 50;
const USUAL: usize = 500;
/// More failures than these are not made small: one mistake shows in many kernels.
const SHOWN: usize = 3;

#[derive(Default)]
struct Total {
    kernels: usize,
    refused: BTreeMap<String, (usize, String)>,
    /// Why kernels are not proven, with names and numbers left out.
    unproven: BTreeMap<String, (usize, String)>,
    runs: usize,
    undefined: usize,
    proven: usize,
    over_time: usize,
    tensor_runs: usize,
    failures: Vec<(Kernel, bool, Failure)>,
}

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(usual)
}

fn solver() -> Solver {
    cargo_tensorize::tools::solver(&tensorize_prove::solver::find())
        .unwrap_or_else(|_| panic!("Z3 is missing: `cargo xtask setup` installs it"))
}

fn settings() -> Vec<Setting> {
    let there = |s: &Setting| {
        let mut version = Command::new(s.compiler);
        version
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        version.status().is_ok_and(|s| s.success())
    };
    let settings: Vec<Setting> = SETTINGS.into_iter().filter(there).collect();
    assert_eq!(
        settings.len(),
        SETTINGS.len(),
        "gcc and clang are needed: `cargo xtask setup` installs them"
    );
    settings
}

#[test]
fn random_kernels_mean_what_compilers_make_of_them() {
    let count = number("TENSORIZE_RANDOM_KERNELS", USUAL);
    let seed = number("TENSORIZE_RANDOM_SEED", 1) as u64;
    let only = std::env::var("TENSORIZE_RANDOM_ONLY").ok();
    let settings = settings();
    let judged = on_all_cores(count.div_ceil(BATCH), solver, |solver, batch| {
        let wraps = batch % 4 == 3;
        let size = BATCH.min(count - batch * BATCH);
        let kernels: Vec<Kernel> = (0..size)
            .map(|i| {
                let number = (batch * BATCH + i) as u64;
                let name = format!("k{number}");
                generate::kernel(seed << 32 | number, &name, wraps)
            })
            .filter(|k| only.as_ref().is_none_or(|name| k.name == *name))
            .inspect(|k| {
                if only.is_some() {
                    println!("{}", k.text());
                }
            })
            .collect();
        if kernels.is_empty() {
            return vec![];
        }
        let outcomes = meaning::judge(&kernels, wraps, &settings, Some(solver));
        let judged = kernels.into_iter().zip(outcomes);
        judged
            .map(|(kernel, outcome)| (kernel, wraps, outcome))
            .collect()
    });
    let mut total = Total::default();
    for (kernel, wraps, outcome) in judged.into_iter().flatten() {
        total.add(kernel, wraps, outcome);
    }
    total.report(&settings);
    if only.is_some() {
        return;
    }
    assert_eq!(total.kernels, count);
    let refused: usize = total.refused.values().map(|(n, _)| n).sum();
    assert!(
        refused * 20 <= count,
        "{refused} of {count} kernels were refused: the generator writes what the front end should read"
    );
    assert!(
        total.proven * 20 >= count,
        "only {} of {count} kernels were proven: too few to tell",
        total.proven
    );
}

impl Total {
    fn add(&mut self, kernel: Kernel, wraps: bool, outcome: Outcome) {
        self.kernels += 1;
        self.runs += outcome.runs;
        self.undefined += outcome.undefined;
        self.proven += usize::from(outcome.proven);
        self.over_time += usize::from(outcome.over_time);
        self.tensor_runs += outcome.tensor_runs;
        if let Some(why) = outcome.refused {
            let key = why.split(':').next().unwrap_or_default().to_owned();
            self.refused.entry(key).or_insert((0, why)).0 += 1;
        }
        if let Some(why) = outcome.unproven {
            let words: Vec<&str> = why
                .split(' ')
                .filter(|w| w.chars().all(|c| c.is_ascii_lowercase() || c == ','))
                .collect();
            self.unproven.entry(words.join(" ")).or_insert((0, why)).0 += 1;
        }
        if let Some(failure) = outcome.failure {
            self.failures.push((kernel, wraps, failure));
        }
    }

    fn report(&self, settings: &[Setting]) {
        println!(
            "{} kernels, {} compilers: {} runs equal, {} undefined; {} proven ({} of them round by round), {} runs of their summaries equal",
            self.kernels,
            settings.len(),
            self.runs,
            self.undefined,
            self.proven,
            self.over_time,
            self.tensor_runs
        );
        for (n, example) in self.refused.values() {
            println!("refused {n}: {example}");
        }
        let mut reasons: Vec<_> = self.unproven.values().collect();
        reasons.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
        for (n, example) in reasons.into_iter().take(12) {
            println!("not proven {n}: {example}");
        }
        if self.failures.is_empty() {
            return;
        }
        let mut text = String::new();
        for (kernel, wraps, failure) in self.failures.iter().take(SHOWN) {
            let (small, failure) =
                meaning::shrink(kernel.clone(), *wraps, failure.clone(), settings);
            let flags = compiled::meaning(*wraps).join(" ");
            text += &format!("{failure}\n// {flags}\n{}\n", small.text());
        }
        let names: Vec<&str> = self.failures.iter().map(|f| f.0.name.as_str()).collect();
        panic!(
            "{} kernels fail: {}\n{text}",
            self.failures.len(),
            names.join(" ")
        );
    }
}
