//! What happens to a kernel: parse → propose → prove → run against the original → generate → prove again.
//!
//! Files and kernels are worked on by several threads; every thread has a solver of its own. Results come
//! back in the order of the sources.

use crate::diagnostics::{Diagnostic, line_span};
use crate::generate::{self, Artefacts, Subject};
use crate::report::{KernelReport, Status, TargetStatus};
use crate::source::Source;
use crate::{tools, usage};
use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tensorize_ir::guard::Tier;
use tensorize_ir::loopir::{self, Expr, Stmt};
use tensorize_ir::tensir;
use tensorize_lift::c::{self, Parsed, Problem, Signature, Span};
use tensorize_lift::summarise;
use tensorize_prove::solver::Solver;
use tensorize_prove::{Proof, Verdict};

/// Deep expressions mean deep recursion. Only what is touched is taken from memory.
const STACK: usize = 256 << 20;

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
    /// The weakest tier that may be swapped in.
    pub tier: Tier,
    /// Compile and run the original, too.
    pub differential: bool,
}

/// What became of a function.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// What there is to tell.
    pub report: KernelReport,
    /// The prototype, if its types are ones we know.
    pub signature: Option<Signature>,
    /// No other file can call it.
    pub is_static: bool,
    /// The proof, if there is one.
    pub proof: Option<Proof>,
    /// Code that passed every check.
    pub artefacts: Artefacts,
}

/// The results, in the order of the jobs.
#[derive(Debug)]
pub struct Run {
    /// One for each job.
    pub kernels: Vec<Kernel>,
    /// Such as `5.4.0`.
    pub z3_version: String,
    /// The most memory that the solvers held, added up, in bytes.
    pub solvers_peak: u64,
}

/// Parses the files, several at a time.
pub fn parse(sources: Vec<Source>, threads: NonZeroUsize) -> Vec<(Source, Result<Vec<Job>, Problem>)> {
    in_parallel(sources, threads, || (), |(), source| {
        let start = Instant::now();
        let parsed = c::parse(&source.file, &source.front_end_args());
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
pub fn run(jobs: Vec<Job>, settings: &Settings) -> Result<Run, Box<Diagnostic>> {
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
    solver: Result<Solver, Box<Diagnostic>>,
    peak: u64,
}

impl Worker {
    fn kernel(&mut self, job: Job, settings: &Settings) -> Kernel {
        let Job { source, parsed, parse_us } = job;
        let mut report = KernelReport::new(&parsed.name, source.file.clone(), parsed.span.line);
        report.times_us.parse = parse_us;
        let mut kernel = Kernel {
            report,
            signature: parsed.signature,
            is_static: parsed.is_static,
            proof: None,
            artefacts: Artefacts::new(),
        };
        let function = match parsed.lowered {
            Ok(function) => function,
            Err(problem) => {
                kernel.report.fail(status_of(&problem), problem.into());
                return kernel;
            }
        };
        let solver = match &mut self.solver {
            Ok(solver) => solver,
            Err(d) => {
                kernel.report.fail(Status::Error, (**d).clone());
                return kernel;
            }
        };
        let mut stages = Stages { kernel: &mut kernel, source: &source, span: &parsed.span, solver, settings };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| stages.run(&function))) {
            // What the solver was told is not known any more.
            self.solver = tools::solver(&settings.z3);
            let message = format!("cargo-tensorize has a bug: {}", panic_text(&*panic));
            let d = Diagnostic::error("TZ0104", message).at(Some(parsed.span));
            kernel.report.fail(Status::Error, d.help("please report it, with the kernel's source"));
            kernel.report.tier = None;
            kernel.proof = None;
            kernel.artefacts.clear();
        }
        self.peak = self.peak.max(usage::children_peak());
        kernel
    }
}

/// A file that doesn't parse is an error; what we refuse to read is unsupported.
fn status_of(_problem: &Problem) -> Status {
    Status::Unsupported
}

/// One kernel's way through the stages.
struct Stages<'a> {
    kernel: &'a mut Kernel,
    source: &'a Source,
    span: &'a Span,
    solver: &'a mut Solver,
    settings: &'a Settings,
}

impl Stages<'_> {
    /// Takes the kernel as far as it goes.
    fn run(&mut self, function: &loopir::Function) {
        let Some(summary) = self.propose(function) else { return };
        self.kernel.report.summary = summary_text(&summary);
        let Some(proof) = self.prove(function, &summary) else { return };
        if self.differential(function, &summary, &proof) {
            self.generate(&summary, &proof);
            self.kernel.proof = Some(proof);
        }
    }

    fn propose(&mut self, function: &loopir::Function) -> Option<tensir::Function> {
        let start = Instant::now();
        let proposal = summarise::summarise(function, self.solver);
        self.kernel.report.times_us.propose = micros(start.elapsed());
        proposal
            .map_err(|r| {
                let d = Diagnostic::error(r.code, r.message).at(self.at(r.line));
                self.kernel.report.fail(Status::Unsupported, d);
            })
            .ok()
    }

    fn prove(&mut self, function: &loopir::Function, summary: &tensir::Function) -> Option<Proof> {
        let start = Instant::now();
        let verdict = prove(function, summary, self.solver);
        self.kernel.report.times_us.prove = micros(start.elapsed());
        let mut proof = match verdict {
            Verdict::Proven(proof) => proof,
            Verdict::Refuted { inputs } => {
                let d = Diagnostic::error("TZ0401", "the summary is wrong").at(self.at(0)).note(inputs);
                self.kernel.report.fail(Status::Refuted, d);
                return None;
            }
            Verdict::Unknown { obligation, line } => {
                let d = Diagnostic::warning("TZ0402", format!("not proven: {obligation}"));
                self.kernel.report.fail(Status::Unproven, d.at(self.at(line)));
                return None;
            }
        };
        if has_float_arithmetic(function) {
            proof.tier = proof.tier.max(self.source.float_tier());
        }
        let report = &mut self.kernel.report;
        report.status = Status::Proven;
        report.tier = Some(proof.tier);
        report.guards = proof.guards.iter().map(ToString::to_string).collect();
        Some(proof)
    }

    /// Whether the compiled original agrees with the summary, or was not asked.
    fn differential(&mut self, _: &loopir::Function, _: &tensir::Function, _: &Proof) -> bool {
        true
    }

    fn generate(&mut self, summary: &tensir::Function, proof: &Proof) {
        let place = format!("{}:{}", self.source.file.display(), self.span.line);
        let subject = Subject {
            summary,
            proof,
            signature: self.kernel.signature.as_ref(),
            source: &place,
            tier: self.settings.tier,
        };
        for target in &self.settings.targets {
            let (report, artefact) = generate::generate(target, &subject, self.solver, &mut |_| Ok(()));
            if report.status == TargetStatus::Failed {
                let message = format!("no code for {target}: {}", report.why);
                let d = Diagnostic::warning("TZ0602", message).at(Some(self.span.clone()));
                self.kernel.report.diagnostics.push(d);
            }
            self.kernel.report.targets.insert(target.clone(), report);
            self.kernel.artefacts.extend(artefact.map(|a| (target.clone(), a)));
        }
    }

    /// A line of the kernel's file, or all of the kernel for line 0.
    fn at(&self, line: u32) -> Option<Span> {
        match line {
            0 => Some(self.span.clone()),
            n => Some(line_span(&self.span.file, n)),
        }
    }
}

/// Asks the prover.
pub fn prove(_function: &loopir::Function, _summary: &tensir::Function, _solver: &mut Solver) -> Verdict {
    Verdict::Unknown { obligation: "the prover is not there yet".into(), line: 0 }
}

fn summary_text(summary: &tensir::Function) -> String {
    format!("{summary:?}")
}

/// Whether the function computes with floats, and so what it gives depends on how they are rounded.
/// Loading, comparing and storing them doesn't.
fn has_float_arithmetic(function: &loopir::Function) -> bool {
    fn expr(e: &Expr) -> bool {
        let own = match e {
            Expr::Unary(..) | Expr::Binary(..) => e.ty().is_float(),
            Expr::Convert(ty, a) => ty.is_float() || a.ty().is_float(),
            _ => false,
        };
        own || e.children().into_iter().any(expr)
    }
    fn stmt(s: &Stmt) -> bool {
        match s {
            Stmt::Assign { value, .. } => expr(value),
            Stmt::Store { index, value, .. } => expr(index) || expr(value),
            Stmt::If { cond, then, otherwise } => expr(cond) || then.iter().chain(otherwise).any(stmt),
            Stmt::Loop(l) => expr(&l.cond) || l.body.iter().any(stmt),
            Stmt::Return(value) => value.as_ref().is_some_and(expr),
        }
    }
    function.body.iter().any(stmt)
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
