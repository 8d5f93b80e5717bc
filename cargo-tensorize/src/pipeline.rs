//! What happens to a kernel: parse → propose → prove → run against the original → generate → prove again.
//!
//! Files and kernels are worked on by several threads; every thread has a solver of its own. Results come
//! back in the order of the sources.

mod stages;
mod threads;

use stages::Stages;
use threads::{Leaves, in_parallel, lock};

use crate::diagnostics::{Diagnostic, line_span};
use crate::generate::Artefacts;
use crate::memory;
use crate::original;
use crate::progress::Progress;
use crate::project::Package;
use crate::proposer::Proposer;
use crate::report::{KernelReport, Status, TargetReport, TargetStatus};
use crate::second::{self, Confirmation, Second};
use crate::source::Source;
use crate::{tools, usage};
use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tensorize_build::hash::{Preprocessed, preprocess};
use tensorize_ir::guard::Tier;
use tensorize_ir::loopir::{self};
use tensorize_ir::tensir;
use tensorize_lift::c::{self, Parsed, Problem, Signature, Span};
use tensorize_prove::Proof;
use tensorize_prove::solver::Solver;

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
    /// The least share of a kernel that a target has to compute for a split, if not the target's own.
    pub least_share: Option<f64>,
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
    let progress = Progress::new("reading", sources.len());
    in_parallel(
        sources,
        threads,
        || (),
        |(), source| {
            let start = Instant::now();
            let args = source.front_end_args();
            let parse = || memory::watched(&source.file, || c::parse(&source.file, &args));
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
            progress.step();
            (source, jobs)
        },
    )
    .0
}

/// What the preprocessor makes of each file of a package, several at a time; with the file, and how it is compiled.
pub fn preprocessed(
    package: &Package,
    threads: NonZeroUsize,
) -> Vec<(
    String,
    tensorize_build::Settings,
    Result<Preprocessed, String>,
)> {
    let files = package.files();
    let progress = Progress::new("preprocessing", files.len());
    for_each(files, threads, |(file, settings)| {
        let seen = preprocess(&settings, Path::new(&file));
        progress.step();
        (file, settings, seen)
    })
}

/// Does the same with each of these, several at a time.
pub fn for_each<T: Send, R: Send>(
    items: Vec<T>,
    threads: NonZeroUsize,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    in_parallel(items, threads, || (), |(), item| work(item)).0
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
    let progress = Progress::new("proving", jobs.len());
    let (mut kernels, peaks) = in_parallel(
        jobs,
        settings.jobs,
        || Worker {
            solver: solver(),
            peak: 0,
        },
        |worker, job| {
            let kernel = worker.kernel(job, settings);
            progress.step();
            kernel
        },
    );
    drop(progress);
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
    let progress = Progress::new("running originals", files.len());
    let done = in_parallel(
        files,
        threads,
        || (),
        |(), mut file| {
            original::check(&mut file);
            progress.step();
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
        let mut report = KernelReport::new(&parsed.name, source.file.clone(), parsed.line);
        report.times_us.parse = parse_us;
        for note in parsed.notes {
            report.note(note.into());
        }
        let mut kernel = Kernel {
            report,
            source,
            span: parsed.span,
            signature: parsed.signature,
            is_static: parsed.is_static,
            proven: None,
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
            let recorded = solver.take_recorded().into_iter();
            kernel.obligations = recorded.map(|asked| asked.script).collect();
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
        self.report.evidence = None;
        let targets: Vec<String> = self.artefacts.keys().cloned().collect();
        targets
            .iter()
            .for_each(|t| self.drop_target(t, "the kernel itself did not pass"));
    }

    /// A target's code gave what the original gives, up to this relative error.
    pub fn passed(&mut self, target: &str, error: f64, ran_on: &str) {
        if let Some(evidence) = &mut self.report.evidence {
            evidence.max_rel_error = evidence.max_rel_error.max(error);
        }
        if let Some(report) = self.report.targets.get_mut(target) {
            report.max_rel_error = Some(error);
            report.ran_on = Some(ran_on.to_owned());
        }
    }

    /// Code that is not good after all.
    pub fn drop_target(&mut self, target: &str, why: &str) {
        self.artefacts.remove(target);
        let report = TargetReport::without_code(TargetStatus::Failed, why);
        self.report.targets.insert(target.to_owned(), report);
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it panicked")
}

pub(crate) fn micros(d: Duration) -> u64 {
    u64::try_from(d.as_micros()).unwrap_or(u64::MAX)
}

impl Leaves for Worker {
    type Left = u64;
    fn leave(self) -> u64 {
        self.peak
    }
}
