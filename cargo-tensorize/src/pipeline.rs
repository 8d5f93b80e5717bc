//! What happens to a kernel: parse → propose → prove → run against the original → generate → prove again.
//!
//! Files and kernels are worked on by several threads; every thread has a solver of its own. Results come
//! back in the order of the sources.

use crate::diagnostics::{Diagnostic, line_span};
use crate::report::{KernelReport, Status, guard_text};
use crate::{tools, usage};
use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tensorize_ir::{loopir, tensir};
use tensorize_lift::c::{self, Parsed, Problem};
use tensorize_lift::summarise;
use tensorize_prove::solver::Solver;
use tensorize_prove::{Proof, Verdict};

/// Deep expressions mean deep recursion. Only what is touched is taken from memory.
const STACK: usize = 256 << 20;

/// A C file and how it is compiled.
#[derive(Clone, Debug)]
pub struct Source {
    /// As the user named it.
    pub file: PathBuf,
    /// The C compiler's arguments that change what the file means.
    pub args: Vec<String>,
}

/// One function on its way.
#[derive(Clone, Debug)]
pub struct Job {
    /// Where it is from.
    pub source: Source,
    /// What the front end made of it.
    pub parsed: Parsed,
    /// Its share of the time to parse the file.
    pub parse_us: u64,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The solver.
    pub z3: PathBuf,
    /// How many threads.
    pub jobs: NonZeroUsize,
    /// Generate code for these.
    pub targets: Vec<String>,
    /// Compile and run the original, too.
    pub differential: bool,
}

/// The results, in the order of the jobs.
#[derive(Debug)]
pub struct Run {
    /// One for each job.
    pub kernels: Vec<KernelReport>,
    /// Such as `5.4.0`.
    pub z3_version: String,
    /// The most memory that the solvers held, added up, in bytes.
    pub solvers_peak: u64,
}

/// Parses the files, several at a time.
pub fn parse(sources: Vec<Source>, threads: NonZeroUsize) -> Vec<(Source, Result<Vec<Job>, Problem>)> {
    in_parallel(sources, threads, || (), |(), source| {
        let start = Instant::now();
        let parsed = c::parse(&source.file, &source.args);
        let spent = micros(start.elapsed());
        let jobs = parsed.map(|functions| {
            let share = spent / functions.len().max(1) as u64;
            let job = |parsed| Job { source: source.clone(), parsed, parse_us: share };
            functions.into_iter().map(job).collect()
        });
        (source, jobs)
    })
    .0
}

/// Lifts and proves the functions, and generates code for them. An `Err` is a missing tool.
pub fn run(jobs: Vec<Job>, settings: &Settings) -> Result<Run, Diagnostic> {
    // Asked once, so that a missing Z3 is one error and not one for each kernel.
    let z3_version = tools::solver(&settings.z3)?.version().to_owned();
    let (kernels, workers) = in_parallel(
        jobs,
        settings.jobs,
        || Worker { solver: tools::solver(&settings.z3), peak: 0 },
        |worker, job| worker.kernel(job, settings),
    );
    Ok(Run { kernels, z3_version, solvers_peak: workers.into_iter().sum() })
}

/// What a thread owns.
struct Worker {
    solver: Result<Solver, Diagnostic>,
    peak: u64,
}

impl Worker {
    fn kernel(&mut self, job: Job, settings: &Settings) -> KernelReport {
        let line = job.parsed.span.line;
        let mut report = KernelReport::new(&job.parsed.name, job.source.file.clone(), line);
        report.times_us.parse = job.parse_us;
        let span = job.parsed.span.clone();
        let done = match &mut self.solver {
            Err(d) => {
                report.fail(Status::Error, d.clone());
                return report;
            }
            Ok(solver) => catch_unwind(AssertUnwindSafe(|| kernel(&mut report, job, solver, settings))),
        };
        if let Err(panic) = done {
            // What the solver was told is not known any more.
            self.solver = tools::solver(&settings.z3);
            let message = format!("cargo-tensorize has a bug: {}", panic_text(&*panic));
            let d = Diagnostic::error("TZ0104", message).at(Some(span));
            report.fail(Status::Error, d.help("please report it, with the kernel's source"));
        }
        self.peak = self.peak.max(usage::children_peak());
        report
    }
}

/// Takes one kernel as far as it goes.
fn kernel(report: &mut KernelReport, job: Job, solver: &mut Solver, _settings: &Settings) {
    let parsed = job.parsed;
    let function = match parsed.lowered {
        Ok(function) => function,
        Err(problem) => {
            report.fail(Status::Unsupported, problem.into());
            return;
        }
    };
    let at = |line: u32| match line {
        0 => Some(parsed.span.clone()),
        n => Some(line_span(&parsed.span.file, n)),
    };

    let start = Instant::now();
    let proposal = summarise::summarise(&function, solver);
    report.times_us.propose = micros(start.elapsed());
    let summary = match proposal {
        Ok(summary) => summary,
        Err(r) => {
            report.fail(Status::Unsupported, Diagnostic::error(r.code, r.message).at(at(r.line)));
            return;
        }
    };

    let start = Instant::now();
    let verdict = prove(&function, &summary, solver);
    report.times_us.prove = micros(start.elapsed());
    match verdict {
        Verdict::Proven(proof) => {
            report.status = Status::Proven;
            report.tier = Some(proof.tier);
            report.guards = proof.guards.iter().map(guard_text).collect();
        }
        Verdict::Refuted { inputs } => {
            let d = Diagnostic::error("TZ0401", "the summary is wrong").at(at(0)).note(inputs);
            report.fail(Status::Refuted, d);
        }
        Verdict::Unknown { obligation, line } => {
            let d = Diagnostic::warning("TZ0402", format!("not proven: {obligation}")).at(at(line));
            report.fail(Status::Unproven, d);
        }
    }
}

fn prove(_function: &loopir::Function, _summary: &tensir::Function, _solver: &mut Solver) -> Verdict {
    let _: Option<Proof> = None;
    Verdict::Unknown { obligation: "the prover is not there yet".into(), line: 0 }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it panicked")
}

fn micros(d: Duration) -> u64 {
    u64::try_from(d.as_micros()).unwrap_or(u64::MAX)
}

/// Maps the items on several threads, each with a state of its own, and keeps their order. Returns what
/// the states leave behind, too.
fn in_parallel<T: Send, S: Leaves, R: Send>(
    items: Vec<T>,
    threads: NonZeroUsize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) -> R + Sync,
) -> (Vec<R>, Vec<S::Left>) {
    let threads = threads.get().min(items.len());
    let queue = Mutex::new(items.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(|e| e.into_inner()).next();
    let one_thread = || {
        let mut state = state();
        let mut done = Vec::new();
        while let Some((i, item)) = next() {
            done.push((i, work(&mut state, item)));
        }
        (done, state.leave())
    };
    let (mut results, mut left) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let spawn = |_| std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, one_thread);
        let handles: Vec<_> = (0..threads).map(spawn).collect();
        let mut take = |(done, l): (Vec<(usize, R)>, S::Left)| {
            results.extend(done);
            left.push(l);
        };
        for handle in handles {
            match handle.map(|h| h.join()) {
                Ok(Ok(all)) => take(all),
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                // No more threads to be had: this one does what is left.
                Err(_) => take(one_thread()),
            }
        }
    });
    results.sort_by_key(|(i, _)| *i);
    (results.into_iter().map(|(_, r)| r).collect(), left)
}

/// A thread's state, and what remains of it.
trait Leaves {
    type Left: Send;
    fn leave(self) -> Self::Left;
}

impl Leaves for () {
    type Left = ();
    fn leave(self) {}
}

impl Leaves for Worker {
    type Left = u64;
    fn leave(self) -> u64 {
        self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept() {
        let threads = NonZeroUsize::new(4).unwrap();
        let (squares, _) = in_parallel((0..100).collect(), threads, || (), |(), x: u32| x * x);
        assert_eq!(squares, (0..100).map(|x| x * x).collect::<Vec<_>>());
    }
}
