//! What happens to a kernel: parse → propose → prove → run against the original → generate → prove again.
//!
//! Files and kernels are worked on by several threads; every thread has a solver of its own. Results come
//! back in the order of the sources.

use crate::diagnostics::{Diagnostic, line_span};
use crate::generate::{self, Artefacts, Subject};
use crate::original;
use crate::proposer::{self, Proposer};
use crate::report::{KernelReport, Status, TargetReport, TargetStatus};
use crate::second::{self, Confirmation, Second};
use crate::source::Source;
use crate::{tools, usage};
use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tensorize_build::record::Evidence;
use tensorize_ir::guard::Tier;
use tensorize_ir::limit;
use tensorize_ir::loopir::{self, Expr, Stmt};
use tensorize_ir::tensir;
use tensorize_lift::c::{self, Parsed, Problem, Signature, Span};
use tensorize_lift::summarise::{self, Proposal};
use tensorize_prove::solver::Solver;
use tensorize_prove::{Options, Proof, Verdict};

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
    /// Somebody's summary, to be proven in place of ours.
    pub summary: Option<tensir::Function>,
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
    /// A program of the user's that proposes summaries.
    pub proposer: Option<Proposer>,
    /// How long proposing and proving a kernel may take, and as long again for each target's code.
    pub time_limit: Duration,
    /// Have another solver look at what the first one found.
    pub second: Option<Second>,
}

/// What became of a function.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// What there is to tell.
    pub report: KernelReport,
    /// Where it is from.
    pub source: Source,
    /// Where it stands.
    pub span: Span,
    /// The prototype, if its types are ones we know.
    pub signature: Option<Signature>,
    /// No other file can call it.
    pub is_static: bool,
    /// What was proven, if anything.
    pub proven: Option<Proven>,
    /// What the compiled original showed.
    pub evidence: Option<Evidence>,
    /// Code that passed every check.
    pub artefacts: Artefacts,
    /// What its proofs rest on, in SMT-LIB, if a second solver is to see it.
    pub obligations: Vec<String>,
}

/// A kernel with its proven summary.
#[derive(Clone, Debug)]
pub struct Proven {
    /// What the front end made of it.
    pub function: loopir::Function,
    /// What it computes.
    pub summary: tensir::Function,
    /// The proof.
    pub proof: Proof,
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
    /// What the second solver said, lemmas and all kernels together.
    pub confirmation: Option<Confirmation>,
}

impl Run {
    /// What there is to tell.
    pub fn reports(&self) -> Vec<KernelReport> {
        self.kernels.iter().map(|k| k.report.clone()).collect()
    }
}

/// Parses the files, several at a time.
pub fn parse(
    sources: Vec<Source>,
    threads: NonZeroUsize,
) -> Vec<(Source, Result<Vec<Job>, Problem>)> {
    in_parallel(
        sources,
        threads,
        || (),
        |(), source| {
            let start = Instant::now();
            let args = source.front_end_args();
            let parse = || c::parse(&source.file, &args);
            let parsed = catch_unwind(AssertUnwindSafe(parse)).unwrap_or_else(|panic| {
                Err(Problem {
                    code: "TZ0104",
                    message: format!("cargo-tensorize has a bug: {}", panic_text(&*panic)),
                    span: Some(line_span(&source.file, 1)),
                    help: Some("please report it, with the file".into()),
                })
            });
            let spent = micros(start.elapsed());
            let jobs = parsed.map(|functions| {
                let share = spent / functions.len().max(1) as u64;
                let job = |parsed| Job {
                    source: source.clone(),
                    parsed,
                    parse_us: share,
                    summary: None,
                };
                functions.into_iter().map(job).collect()
            });
            (source, jobs)
        },
    )
    .0
}

/// Lifts and proves the functions, and generates code for them. An `Err` is a missing tool.
pub fn run(jobs: Vec<Job>, settings: &Settings) -> Result<Run, Box<Diagnostic>> {
    // Asked once, so that a missing Z3 is one error and not one for each kernel.
    let first = tools::solver(&settings.z3)?;
    let z3_version = first.version().to_owned();
    let first = Mutex::new(Some(first));
    let solver = || match lock(&first).take() {
        Some(solver) => Ok(solver),
        None => tools::solver(&settings.z3),
    };
    let (mut kernels, peaks) = in_parallel(
        jobs,
        settings.jobs,
        || Worker {
            solver: solver(),
            peak: 0,
        },
        |worker, job| worker.kernel(job, settings),
    );
    if settings.differential {
        kernels = against_originals(kernels, settings.jobs);
    }
    let confirmation = match &settings.second {
        Some(second) => Some(second::confirm_all(&mut kernels, second)?),
        None => None,
    };
    Ok(Run {
        kernels,
        z3_version,
        solvers_peak: peaks.into_iter().sum(),
        confirmation,
    })
}

/// Runs the originals, one program for each file.
fn against_originals(kernels: Vec<Kernel>, threads: NonZeroUsize) -> Vec<Kernel> {
    let mut files: Vec<Vec<Kernel>> = Vec::new();
    for kernel in kernels {
        match files.last_mut().filter(|f| f[0].source == kernel.source) {
            Some(file) => file.push(kernel),
            None => files.push(vec![kernel]),
        }
    }
    let done = in_parallel(
        files,
        threads,
        || (),
        |(), mut file| {
            original::check(&mut file);
            file
        },
    );
    done.0.into_iter().flatten().collect()
}

/// What a thread owns.
struct Worker {
    solver: Result<Solver, Box<Diagnostic>>,
    peak: u64,
}

impl Worker {
    fn kernel(&mut self, job: Job, settings: &Settings) -> Kernel {
        let Job {
            source,
            parsed,
            parse_us,
            summary,
        } = job;
        let mut report = KernelReport::new(&parsed.name, source.file.clone(), parsed.span.line);
        report.times_us.parse = parse_us;
        let mut kernel = Kernel {
            report,
            source,
            span: parsed.span,
            signature: parsed.signature,
            is_static: parsed.is_static,
            proven: None,
            evidence: None,
            artefacts: Artefacts::new(),
            obligations: Vec::new(),
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
        if settings.second.is_some() {
            solver.record();
        }
        let mut stages = Stages {
            kernel: &mut kernel,
            solver,
            settings,
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| stages.run(function, summary))) {
            // What the solver was told is not known any more.
            self.solver = tools::solver(&settings.z3);
            let message = format!("cargo-tensorize has a bug: {}", panic_text(&*panic));
            let d = Diagnostic::error("TZ0104", message).at(Some(kernel.span.clone()));
            kernel.withdraw(d.help("please report it, with the kernel's source"));
        }
        if let Ok(solver) = &mut self.solver {
            kernel.obligations = solver.take_recorded();
        }
        self.peak = self.peak.max(
            self.solver
                .as_ref()
                .ok()
                .and_then(Solver::pid)
                .map_or(0, usage::peak_of),
        );
        kernel
    }
}

/// C that doesn't parse is an error; what we refuse to read is unsupported.
fn status_of(problem: &Problem) -> Status {
    if problem.code == "TZ0203" {
        Status::Error
    } else {
        Status::Unsupported
    }
}

impl Kernel {
    /// A bug of ours: nothing that was found counts.
    pub fn withdraw(&mut self, why: Diagnostic) {
        self.report.fail(Status::Error, why);
        self.report.tier = None;
        self.proven = None;
        self.evidence = None;
        let targets: Vec<String> = self.artefacts.keys().cloned().collect();
        targets
            .iter()
            .for_each(|t| self.drop_target(t, "the kernel itself did not pass"));
    }

    /// Code that is not good after all.
    pub fn drop_target(&mut self, target: &str, why: &str) {
        self.artefacts.remove(target);
        let report = TargetReport {
            status: TargetStatus::Failed,
            why: why.to_owned(),
        };
        self.report.targets.insert(target.to_owned(), report);
    }
}

/// One kernel's way through the stages.
struct Stages<'a> {
    kernel: &'a mut Kernel,
    solver: &'a mut Solver,
    settings: &'a Settings,
}

impl Stages<'_> {
    /// Takes the kernel as far as it goes.
    fn run(&mut self, function: loopir::Function, given: Option<tensir::Function>) {
        let settings = self.settings;
        // Somebody's summary is to be judged, not replaced.
        let outside = settings.proposer.as_ref().filter(|_| given.is_none());
        let mut found = None;
        if let Some(proposer) = outside.filter(|p| p.first) {
            found = self.ask(proposer, &function);
        }
        if found.is_none() {
            found = self.by_ourselves(&function, given);
            if let Some(proposer) = outside.filter(|p| found.is_none() && !p.first) {
                found = self.ask(proposer, &function);
            }
        }
        if let Some((summary, proof)) = found {
            self.accept(&summary, &proof);
            let proven = Proven {
                function,
                summary,
                proof,
            };
            self.generate(&proven);
            self.kernel.proven = Some(proven);
        }
    }

    /// Our own proposers, or the summary that was given.
    fn by_ourselves(
        &mut self,
        function: &loopir::Function,
        given: Option<tensir::Function>,
    ) -> Option<(tensir::Function, Proof)> {
        let limit = self.settings.time_limit;
        let start = Instant::now();
        let given = given.map(Proposal::from);
        match limit::within(limit, || self.find_proof(function, given)) {
            Ok(Some(found)) => return Some(found),
            Err(cut_off) => self.out_of_time(Some(cut_off)),
            // Nothing was cut off, but the solver answered nothing any more.
            Ok(None) if start.elapsed() >= limit => self.out_of_time(None),
            Ok(None) => {}
        }
        None
    }

    /// Has a program of the user's propose, and the prover judge.
    fn ask(
        &mut self,
        proposer: &Proposer,
        function: &loopir::Function,
    ) -> Option<(tensir::Function, Proof)> {
        let start = Instant::now();
        let span = self.kernel.span.clone();
        let text = std::fs::read(&span.file).unwrap_or_default();
        let source = text.get(span.start..span.end).unwrap_or_default();
        let source = String::from_utf8_lossy(source);
        let subject = proposer::Subject {
            name: &function.name,
            file: span.file.display().to_string(),
            line: span.line,
            source: &source,
            loopir: function.to_string(),
        };
        let answer = proposer.ask(&subject, self.kernel.report.why.as_deref());
        self.kernel.report.times_us.propose += micros(start.elapsed());
        let mut failures = Vec::new();
        match answer {
            Err(why) => failures.push(why),
            Ok(candidates) if candidates.is_empty() => failures.push("it has no candidate".into()),
            Ok(candidates) => {
                for (at, candidate) in candidates.into_iter().enumerate() {
                    match candidate.and_then(|c| self.judge(function, c)) {
                        Ok(found) => return Some(found),
                        Err(why) => failures.push(format!("candidate {}: {why}", at + 1)),
                    }
                }
            }
        }
        let message = format!(
            "nothing came of the external proposer: {}",
            failures.join("; ")
        );
        let d = Diagnostic::warning("TZ0313", message).at(self.at(0));
        self.kernel.report.diagnostics.push(d);
        None
    }

    /// Whether a candidate is proven, and if not, why.
    fn judge(
        &mut self,
        function: &loopir::Function,
        candidate: tensir::Function,
    ) -> Result<(tensir::Function, Proof), String> {
        if !tensorize_prove::same_params(&candidate.params, &function.params) {
            return Err("its parameters are not those of the C function".into());
        }
        candidate.verify().map_err(|e| e.to_string())?;
        let start = Instant::now();
        let options = self.options(function);
        let work = || Proposal::from(candidate).prove(function, self.solver, &options);
        let verdict = limit::within(self.settings.time_limit, work);
        self.kernel.report.times_us.prove += micros(start.elapsed());
        match verdict {
            Ok((summary, Verdict::Proven(proof))) => Ok((summary, proof)),
            Ok((_, Verdict::Refuted { inputs, .. })) => Err(format!("wrong: {inputs}")),
            Ok((_, Verdict::Unknown { obligation, .. })) => {
                Err(format!("not proven: {obligation}"))
            }
            Err(work) => Err(format!("not proven in time: {}", work.what)),
        }
    }

    /// Notes the proof. Why our own proposers failed before is of no interest any more.
    fn accept(&mut self, summary: &tensir::Function, proof: &Proof) {
        let report = &mut self.kernel.report;
        report.status = Status::Proven;
        report.code = None;
        report.why = None;
        report.diagnostics.retain(|d| d.code == Some("TZ0313"));
        report.tier = Some(proof.tier);
        report.guards = proof.guards.iter().map(ToString::to_string).collect();
        report.summary = summary.to_string();
    }

    /// The time is up. What was open: the work that was cut off, or else what could not be shown without time.
    fn out_of_time(&mut self, cut_off: Option<limit::Work>) {
        let limit = self.settings.time_limit.as_secs_f64();
        let (what, line) = match cut_off {
            Some(work) if work.what.is_empty() => ("finding a summary".into(), 0),
            Some(work) => (work.what, work.line),
            None => (self.kernel.report.why.clone().unwrap_or_default(), 0),
        };
        let message = format!("not proven within {limit} s; what was open: {what}");
        let d = Diagnostic::warning("TZ0405", message).at(self.at(line));
        let help = "the original goes on to run; a smaller function, or more time (--time-limit), may help";
        self.kernel.report.diagnostics.clear();
        self.kernel.report.fail(Status::Unproven, d.help(help));
    }

    fn find_proof(
        &mut self,
        function: &loopir::Function,
        given: Option<Proposal>,
    ) -> Option<(tensir::Function, Proof)> {
        let proposal = given.or_else(|| self.propose(function))?;
        let summary = &proposal.raised;
        self.kernel.report.summary = summary.to_string();
        if !tensorize_prove::same_params(&summary.params, &function.params) {
            let message = "the summary's parameters are not those of the C function";
            let d = Diagnostic::error("TZ0311", message).at(self.at(0));
            let head = parameters(function);
            self.kernel
                .report
                .fail(Status::Error, d.note(format!("they are ({head})")));
            return None;
        }
        if let Err(e) = summary.verify() {
            let d = Diagnostic::error("TZ0312", format!("the summary is not well-formed: {e}"));
            self.kernel.report.fail(Status::Error, d.at(self.at(0)));
            return None;
        }
        self.prove(function, proposal)
    }

    fn propose(&mut self, function: &loopir::Function) -> Option<Proposal> {
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

    fn prove(
        &mut self,
        function: &loopir::Function,
        proposal: Proposal,
    ) -> Option<(tensir::Function, Proof)> {
        let start = Instant::now();
        let options = self.options(function);
        // Where only the same bits are of use, a summary that has them comes first.
        let exact = (self.settings.tier == Tier::Exact && options.best == Tier::Exact)
            .then(|| {
                let options = Options {
                    worst: Tier::Exact,
                    refute: false,
                    ..options.clone()
                };
                proposal.clone().prove(function, self.solver, &options)
            })
            .filter(|(_, verdict)| matches!(verdict, Verdict::Proven(_)));
        let (summary, verdict) =
            exact.unwrap_or_else(|| proposal.prove(function, self.solver, &options));
        self.kernel.report.times_us.prove = micros(start.elapsed());
        let proof = match verdict {
            Verdict::Proven(proof) => proof,
            Verdict::Refuted { inputs, case } => {
                let d = Diagnostic::error("TZ0401", format!("the summary is wrong: {inputs}"));
                let replayed = original::replay(self.kernel, function, &summary, &case);
                let d = d.at(self.at(0)).note(replayed);
                self.kernel.report.fail(Status::Refuted, d);
                return None;
            }
            Verdict::Unknown { obligation, line } => {
                let d = Diagnostic::warning("TZ0402", format!("not proven: {obligation}"));
                let d = d.at(self.at(line)).help("the original goes on to run");
                self.kernel.report.fail(Status::Unproven, d);
                return None;
            }
        };
        Some((summary, proof))
    }

    /// The strongest tier that the compiler's flags leave room for.
    fn options(&self, function: &loopir::Function) -> Options {
        let best = if has_float_arithmetic(function) {
            self.kernel.source.float_tier()
        } else {
            Tier::Exact
        };
        Options {
            best,
            ..Options::default()
        }
    }

    fn generate(&mut self, proven: &Proven) {
        let place = format!(
            "{}:{}",
            self.kernel.source.file.display(),
            self.kernel.span.line
        );
        let signature = self.kernel.signature.clone();
        let subject = Subject {
            proven,
            signature: signature.as_ref(),
            place: &place,
            tier: self.settings.tier,
        };
        for target in &self.settings.targets {
            let work = || generate::generate(target, &subject, self.solver);
            let (report, artefact) =
                limit::within(self.settings.time_limit, work).unwrap_or_else(|work| {
                    let why = format!("the time limit was reached; what was open: {}", work.what);
                    let status = TargetStatus::Failed;
                    (TargetReport { status, why }, None)
                });
            if report.status == TargetStatus::Failed {
                let message = format!("no code for {target}: {}", report.why);
                let d = Diagnostic::warning("TZ0602", message).at(Some(self.kernel.span.clone()));
                self.kernel.report.diagnostics.push(d);
            }
            self.kernel.report.targets.insert(target.clone(), report);
            self.kernel
                .artefacts
                .extend(artefact.map(|a| (target.clone(), a)));
        }
    }

    /// A line of the kernel's file, or all of the kernel for line 0.
    fn at(&self, line: u32) -> Option<Span> {
        match line {
            0 => Some(self.kernel.span.clone()),
            n => Some(line_span(&self.kernel.span.file, n)),
        }
    }
}

/// The parameters, as a summary writes them.
fn parameters(function: &loopir::Function) -> String {
    let empty = tensir::Function {
        name: function.name.clone(),
        params: function.params.clone(),
        nodes: vec![],
        outputs: vec![],
    };
    let text = empty.to_string();
    let inner = text
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(") {"));
    inner.map_or("", |(params, _)| params).to_owned()
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
            Stmt::If {
                cond,
                then,
                otherwise,
            } => expr(cond) || then.iter().chain(otherwise).any(stmt),
            Stmt::Loop(l) => expr(&l.cond) || l.body.iter().any(stmt),
            Stmt::Return(value) => value.as_ref().is_some_and(expr),
        }
    }
    function.body.iter().any(stmt)
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it panicked")
}

pub(crate) fn micros(d: Duration) -> u64 {
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
    let next = || lock(&queue).next();
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
        let spawn = |_| {
            std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, one_thread)
        };
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

/// What a thread that panicked has left is still good: it took an item, or didn't.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
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
