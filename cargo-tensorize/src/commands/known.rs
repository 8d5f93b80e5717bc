//! All that is known of a stored kernel: from what is stored, its source, and the proof made once more.

mod guards;
mod invariants;

pub(super) use guards::{Guard, is_condition};

use super::{from_current_dir, time_limit_of};
use crate::pipeline::{self, Job};
use crate::project::Package;
use crate::source::Source;
use crate::tools;
use invariants::plain;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tensorize_build::config::relative_to;
use tensorize_build::current::is_about;
use tensorize_build::guarded;
use tensorize_build::hash::preprocess;
use tensorize_build::record::{Record, Status, TargetRecord, TargetStatus};
use tensorize_build::store::Entry;
use tensorize_ir::index::{Fresh, Idx};
use tensorize_ir::tensir::{self, Output as Out};
use tensorize_lift::left_to_the_original;
use tensorize_prove::solver::Asked;

/// A kernel, as it is stored and as it is now.
pub(super) struct Known<'a> {
    package: &'a Package,
    pub entry: &'a Entry,
    /// Its file, from the current folder.
    pub place: PathBuf,
    /// Of its head, now.
    pub line: u32,
    /// What is stored is about the source as it is now.
    pub current: bool,
    /// The function's text, or why it can't be shown.
    pub source: Result<String, String>,
    job: Result<Job, String>,
}

/// The proof, made once more.
pub(super) struct Proof {
    /// What holds before each round of each loop, or why there is nothing to show.
    pub loops: Result<String, String>,
    /// The questions that the solver answered as the proof needs it.
    pub obligations: Vec<Asked>,
    /// Start of the solver apart.
    pub took: Duration,
}

impl<'a> Known<'a> {
    pub fn of(package: &'a Package, entry: &'a Entry) -> Known<'a> {
        let record = &entry.record;
        let job = parsed(package, record);
        let current =
            job.as_ref().is_ok_and(|job| is_current(job, record)) && record.is_of_this_version();
        Known {
            package,
            entry,
            place: from_current_dir(&package.dir.join(&record.file)),
            line: job.as_ref().map_or(record.line, |j| j.parsed.line),
            current,
            source: job.as_ref().map(source_text).map_err(Clone::clone),
            job,
        }
    }

    pub fn record(&self) -> &Record {
        &self.entry.record
    }

    /// TensIR; empty without a summary.
    pub fn summary(&self) -> &str {
        self.record().summary.as_deref().unwrap_or_default()
    }

    fn proven(&self) -> Option<tensir::Function> {
        let proven = self.record().status == Status::Proven;
        proven.then(|| self.summary().parse().ok()).flatten()
    }

    /// What stands where afterwards, as index notation; nothing without a proof.
    pub fn after_a_call(&self) -> Vec<String> {
        self.proven().map_or(vec![], |summary| computes(&summary))
    }

    /// The proof, made once more; nothing if there is none of the function as it is now.
    pub fn proof(&self) -> Option<Proof> {
        let (Some(summary), Ok(job), true) = (self.proven(), &self.job, self.current) else {
            return None;
        };
        let Ok(function) = &job.parsed.lowered else {
            return None;
        };
        let mut proof = Proof {
            loops: Err(String::new()),
            obligations: Vec::new(),
            took: Duration::ZERO,
        };
        let mut solver = match tools::solver(&tensorize_prove::solver::find()) {
            Ok(solver) => solver,
            Err(d) => {
                proof.loops = Err(format!(
                    "the loops' invariants can't be shown: {}",
                    d.message
                ));
                return Some(proof);
            }
        };
        let limit = time_limit_of(self.package.metadata.time_limit);
        let best = job.source.float_tier();
        solver.record();
        let start = Instant::now();
        let mut of = |f: &_| invariants::of(f, &summary, best, limit, &mut solver);
        // Or it is a proof for calls that leave no loop early.
        let found = of(function).or_else(|| of(&left_to_the_original(function)?));
        proof.took = start.elapsed();
        proof.obligations = solver.take_recorded();
        let none = "its loops are not proven one by one, so they have no invariants to show";
        proof.loops = found.ok_or_else(|| none.to_owned());
        Some(proof)
    }

    /// What a call has to meet, and why.
    pub fn guards(&self) -> Vec<Guard> {
        guards::of(
            self.record(),
            self.source.as_deref().unwrap_or_default(),
            self.line,
        )
    }

    /// Which memory a call touches, an array a line.
    pub fn memory(&self) -> Vec<String> {
        let footprints = self.record().footprints.iter();
        let line = footprints.map(|f| {
            let how = match (f.reads, f.writes) {
                (true, true) => "read and written",
                (false, true) => "written",
                _ => "read",
            };
            let some = match f.reads_depend_on_data || f.writes_depend_on_data {
                true => ", some of it only on some data",
                false => "",
            };
            format!("{}[{} .. {}] {how}{some}", f.array, f.lo, f.hi)
        });
        line.collect()
    }

    /// What the compiled original had to say.
    pub fn evidence(&self) -> Option<String> {
        let e = self.record().evidence.as_ref()?;
        let places = match &e.places {
            None => String::new(),
            Some(p) => format!(
                ", each too large to be interpreted: the summary was compared at {} of {} places, generated code at all",
                p.compared, p.all
            ),
        };
        let inputs = match e.inputs {
            1 => "1 input".to_owned(),
            n => format!("{n} inputs"),
        };
        Some(format!(
            "the compiled original was run on {inputs}{places}; the largest relative difference is {:e}",
            e.max_rel_error
        ))
    }

    /// Why a call may be answered by the original.
    pub fn left_to_the_original(&self) -> Vec<&'static str> {
        let record = self.record();
        let generated = |t: &&TargetRecord| t.status == TargetStatus::Generated;
        if record.status != Status::Proven {
            return vec!["it is not proven, so always"];
        }
        if record.targets.values().filter(generated).count() == 0 {
            return vec!["no target has code for it, so always"];
        }
        if record.prototype.as_ref().is_some_and(|p| p.is_static) {
            return vec!["it is `static`: its callers in C are compiled with it, so always"];
        }
        let mut reasons = vec![
            "the target or what it needs is not on the machine, or has failed before",
            "TENSORIZE=off, or `auto` and the original was faster at that size",
        ];
        if !record.guards.is_empty() || record.targets.values().any(|t| !t.guards.is_empty()) {
            reasons.insert(0, "a guard fails");
        }
        reasons
    }
}

/// `generated, exact`, `unsupported`, …
pub(super) fn outcome(target: &TargetRecord) -> String {
    let status = match target.status {
        TargetStatus::Generated => "generated",
        TargetStatus::Unsupported => "unsupported",
        TargetStatus::Failed => "failed",
        TargetStatus::NotRun => "not run",
    };
    let tier = target.tier.as_deref();
    tier.map_or(status.to_owned(), |t| format!("{status}, {t}"))
}

/// The function as it is now, if the front end can be had.
fn parsed(package: &Package, record: &Record) -> Result<Job, String> {
    let files = package.files();
    let same = |f: &&(String, _)| relative_to(&package.dir, Path::new(&f.0)) == record.file;
    let (file, settings) = files
        .iter()
        .find(same)
        .ok_or("its file is compiled no more")?;
    let source = Source {
        file: from_current_dir(&package.dir.join(file)),
        settings: settings.clone(),
    };
    let jobs = pipeline::parse(vec![source], NonZeroUsize::MIN);
    let mut jobs = jobs.into_iter().flat_map(|(_, parsed)| match parsed {
        Ok(jobs) => jobs.into_iter().map(Ok).collect(),
        Err(problem) => vec![Err(problem.message)],
    });
    let found = jobs.find(|j| j.as_ref().map_or(true, |j| j.parsed.name == record.name));
    found.unwrap_or_else(|| Err("its file has no such function".into()))
}

fn is_current(job: &Job, record: &Record) -> bool {
    let settings = &job.source.settings;
    let seen = preprocess(settings, Path::new(&record.file));
    seen.is_ok_and(|seen| is_about(record, &seen.hashes_of(&record.name)))
}

fn source_text(job: &Job) -> String {
    let span = &job.parsed.span;
    let text = guarded::bytes(&span.file, guarded::SOURCE).unwrap_or_default();
    let text = text.get(span.start..span.end).unwrap_or_default();
    String::from_utf8_lossy(text).replace('\t', "    ")
}

/// What stands where, as index notation.
fn computes(summary: &tensir::Function) -> Vec<String> {
    let mut lines = Vec::new();
    for state in &summary.state {
        let tensir::State {
            name, elem, len, ..
        } = state;
        let what = match (state.is_number(), len) {
            (false, Some(len)) => format!("an array of {len} {elem}"),
            _ => format!("a number ({elem})"),
        };
        let returned = match state.returned {
            true => ", and is returned in the end",
            false => "",
        };
        lines.push(format!(
            "'{name}' is {what} that each round leaves to the next{returned}"
        ));
    }
    for tensir::Rounds { counter, trip, .. } in summary.rounds.iter().flat_map(tensir::Rounds::all)
    {
        lines.push(format!(
            "{trip} times over, each time from what the last one has left; in round {counter} of 0, 1, …:"
        ));
    }
    for output in &summary.outputs {
        let (value, place) = match output {
            Out::Store { value, view } => (*value, Some(view)),
            Out::Return { value } => (*value, None),
        };
        let Some(node) = summary.nodes.get(value) else {
            continue;
        };
        let position: Vec<Idx> = (0..node.ty.rank())
            .map(|d| Idx::sym(tensir::dim(d)))
            .collect();
        let element = summary.element(value, &position, &mut Fresh::default());
        let element = plain(&element.to_string());
        let bounds: Vec<String> = node
            .ty
            .shape
            .iter()
            .enumerate()
            .map(|(d, extent)| format!("0 <= #{d} < {extent}"))
            .collect();
        let bounds = if bounds.is_empty() {
            String::new()
        } else {
            format!(", for {}", bounds.join(", "))
        };
        lines.push(match place {
            Some(view) => format!("{}[{}] is {element}{bounds}", view.array, view.index),
            None => format!("what is returned is {element}"),
        });
    }
    lines.push("and everything else is as it was".into());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rounds_leave_is_said_in_words() {
        let summary: tensir::Function = "func @f(x: const ptr<f64>, n: i32, m: i32) {
               state rho: f64[1] returned
               state row: f64[m + 1]
               rounds round < n
               %0 = view x[round] : tensor<f64>
               store rho[0] = %0
             }"
        .parse()
        .unwrap();
        let lines = computes(&summary);
        assert_eq!(
            lines[..2],
            [
                "'rho' is a number (f64) that each round leaves to the next, and is returned in the end",
                "'row' is an array of m + 1 f64 that each round leaves to the next",
            ]
        );
    }
}
