//! The second line of defence: the original, as the user's own compiler compiles it, is run against the
//! summary and against generated code. A proof about the wrong program is caught here.
//!
//! One program is compiled for a C file: it includes the file (so that `static` functions can be called)
//! and runs in a process of its own, many jobs at a time. See `driver.c` for how arrays are laid out: what
//! reads or writes outside of them is caught.

use crate::scratch::Scratch;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tensorize_ir::guard::Tier;
use tensorize_ir::inputs::Spec;
use tensorize_ir::loopir::Param;
use tensorize_ir::memory::{Buffer, Inputs, Outputs};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_lift::c::Signature;
use wait_timeout::ChildExt;

mod build;
mod check;
mod generated;
mod places;
mod wire;

pub use build::Variant;
pub use check::{Effort, Evidence, Failure, Kernel, Mismatch};
pub(crate) use generated::for_sums;
pub(crate) use places::{large_cases, sampling};

/// Why nothing could be run. (What a run shows is an [`Outcome`].)
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The compiler is missing, or refuses the file.
    #[error("the original can't be compiled for a test run: {0}")]
    Compiler(String),
    /// The file can't be compiled in this way.
    #[error("the original can't be run for a test: {0}")]
    Source(String),
    /// The compiled program does not start or does not answer, as one for another machine.
    #[error("the compiled test program can't be run: {0}")]
    Program(String),
    /// The function has an instruction that this machine refuses, such as one for wider vectors than it has.
    #[error("it uses instructions that this machine does not have")]
    Instruction,
    /// A temporary file can't be written or read.
    #[error("a test run failed: {0}")]
    Io(#[from] std::io::Error),
}

/// The functions of one C file, compiled.
#[derive(Debug)]
pub struct Differential {
    folder: Scratch,
    program: PathBuf,
    functions: Vec<(String, Signature)>,
    variants: Vec<Variant>,
    /// For each variant, why it does not compile, if it doesn't.
    broken: Vec<Option<String>>,
    next_run: AtomicU64,
}

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Which function: first the functions of the file, then the variants.
    pub function: usize,
    /// One for each parameter.
    pub args: Vec<Arg>,
    /// Whether arrays begin right after memory that can't be touched; if not, they end right before it.
    pub front: bool,
}

/// One argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A number.
    Scalar(Scalar),
    /// A pointer to memory of its own.
    Array {
        /// What it points to. Elements outside of it can't be touched.
        buffer: Buffer,
        /// Whether a write is a mistake.
        read_only: bool,
    },
    /// A pointer into the array of an earlier argument.
    Alias {
        /// Which argument.
        of: usize,
        /// How far from that argument's pointer, in bytes.
        bytes: i64,
    },
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It returned.
    Done {
        /// The contents of each [`Arg::Array`], in order.
        arrays: Vec<Buffer>,
        /// The returned value.
        returned: Option<Scalar>,
    },
    /// It touched an element outside of an array, or wrote to one that is read-only.
    Outside {
        /// Which argument.
        arg: usize,
        /// The element.
        index: i64,
        /// Whether it was a write, if that is known.
        write: Option<bool>,
    },
    /// It was ended by this signal.
    Crashed {
        /// The signal's number; 0 if the process just ended.
        signal: i32,
    },
    /// It did not return in time.
    Endless,
}

/// How long one process may run. (The driver ends a single call much sooner.)
const PROCESS_LIMIT: Duration = Duration::from_secs(60);

/// Jobs that one process gets, in bytes: a bound on memory.
const BATCH_BYTES: usize = 64 << 20;

impl Differential {
    /// Compiles functions of `file`, in the folder `dir` with the user's `flags`, and the variants.
    pub fn build(
        file: &Path,
        dir: &Path,
        flags: &[String],
        functions: &[(String, Signature)],
        variants: &[Variant],
    ) -> Result<Differential, Error> {
        if let Some(v) = variants.iter().find(|v| v.of >= functions.len()) {
            return Err(Error::Source(format!(
                "the variant {} is of no function",
                v.name
            )));
        }
        let built = build::build(&build::Plan {
            file,
            dir,
            flags,
            functions,
            variants,
        })?;
        Ok(Differential {
            folder: built.folder,
            program: built.program,
            broken: built.broken,
            functions: functions.to_vec(),
            variants: variants.to_vec(),
            next_run: AtomicU64::new(0),
        })
    }

    /// The number of the function with this name.
    pub fn function(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|(n, _)| n == name)
    }

    /// The numbers of the variants of a function, with their names.
    pub fn variants_of(&self, function: usize) -> impl Iterator<Item = (usize, &str)> {
        let numbered = self.variants.iter().enumerate();
        numbered
            .filter(move |(_, v)| v.of == function)
            .map(|(i, v)| (self.functions.len() + i, v.name.as_str()))
    }

    /// How much is promised of the variant with this number.
    fn tier_of(&self, function: usize) -> Tier {
        let variant = function.checked_sub(self.functions.len());
        variant
            .and_then(|v| self.variants.get(v))
            .map_or(Tier::Exact, |v| v.tier)
    }

    /// Whether a call of the variant with this number meets what its code asks for beyond the kernel's guards.
    fn admits(&self, function: usize, params: &[Param], inputs: &Inputs) -> bool {
        let variant = function.checked_sub(self.functions.len());
        let Some(variant) = variant.and_then(|v| self.variants.get(v)) else {
            return true;
        };
        let own = Spec::known(params, &variant.guards, &[]);
        own.admits(&inputs.scalars) && own.admits_memory(inputs)
    }

    /// Why the variant with this number does not compile, if it doesn't. The others run without it.
    pub fn broken(&self, function: usize) -> Option<&str> {
        let variant = function.checked_sub(self.functions.len())?;
        self.broken.get(variant)?.as_deref()
    }

    fn signature(&self, function: usize) -> Option<&Signature> {
        let of = match function.checked_sub(self.functions.len()) {
            None => function,
            Some(i) => self.variants.get(i)?.of,
        };
        self.functions.get(of).map(|(_, s)| s)
    }

    /// The call of a function with arguments by name; the kernel's parameters are the function's, in order.
    pub fn job(&self, function: usize, params: &[Param], inputs: &Inputs) -> Result<Job, Error> {
        let wrong = |why: String| Error::Source(why);
        let signature = self.signature(function);
        let signature = signature
            .filter(|s| s.params.len() == params.len())
            .ok_or_else(|| {
                wrong(format!(
                    "function {function} does not have {} parameters",
                    params.len()
                ))
            })?;
        let mut args = Vec::new();
        for (p, c) in params.iter().zip(&signature.params) {
            let missing = || {
                wrong(format!(
                    "the argument {} is missing or of another type",
                    p.name()
                ))
            };
            args.push(if c.pointer {
                let buffer = inputs.arrays.get(p.name()).filter(|b| b.elem == c.scalar);
                Arg::Array {
                    buffer: buffer.ok_or_else(missing)?.clone(),
                    read_only: c.is_const,
                }
            } else {
                let value = inputs.scalars.get(p.name()).filter(|v| v.ty == c.scalar);
                Arg::Scalar(*value.ok_or_else(missing)?)
            });
        }
        // A thunk wants to know what there is of each array.
        if function < self.functions.len() && signature.source.is_some() {
            args.push(extents(signature, inputs));
        }
        Ok(Job {
            function,
            args,
            front: false,
        })
    }

    /// Runs jobs. A crash or an endless loop ends its own job only.
    pub fn run(&self, jobs: &[Job]) -> Result<Vec<Outcome>, Error> {
        self.run_for(jobs, check::CALL_SECONDS)
    }

    /// Like [`Differential::run`], where each job may take so many seconds.
    fn run_for(&self, jobs: &[Job], seconds: u32) -> Result<Vec<Outcome>, Error> {
        let mut outcomes = Vec::new();
        while outcomes.len() < jobs.len() {
            let left = &jobs[outcomes.len()..];
            let before = outcomes.len();
            let ended = self.run_process(left, seconds, &mut outcomes)?;
            match ended {
                Ended::Finished if outcomes.len() > before => {}
                Ended::Finished => return Err(Error::Program("it gives no answer".into())),
                // The job after the last answer is the one that ended the process.
                Ended::Signal(signal) => outcomes.push(Outcome::Crashed { signal }),
                Ended::Exited => outcomes.push(Outcome::Crashed { signal: 0 }),
                Ended::TimedOut => outcomes.push(Outcome::Endless),
                // A fault in a thread: its job has its answer.
                Ended::Restart => {}
            }
        }
        Ok(outcomes)
    }

    fn run_process(
        &self,
        jobs: &[Job],
        seconds: u32,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<Ended, Error> {
        let run = self.next_run.fetch_add(1, Ordering::Relaxed);
        let at = |name: &str| self.folder.path().join(format!("{name}{run}"));
        let mut bytes = Vec::new();
        let mut count = 0;
        for job in jobs {
            wire::write(job, &mut bytes);
            count += 1;
            if bytes.len() > BATCH_BYTES {
                break;
            }
        }
        std::fs::write(at("jobs"), &bytes)?;
        std::fs::write(at("results"), b"")?;
        let mut child = Command::new(&self.program)
            .args([at("jobs"), at("results")])
            .arg(seconds.to_string())
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| Error::Program(e.to_string()))?;
        let status = child.wait_timeout(PROCESS_LIMIT)?;
        if status.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let results = std::fs::read(at("results"))?;
        let _ = std::fs::remove_file(at("jobs"));
        let _ = std::fs::remove_file(at("results"));

        let mut rest = results.as_slice();
        let mut answered = 0;
        for job in &jobs[..count] {
            let ret = self
                .signature(job.function)
                .and_then(|s| s.ret.as_ref())
                .map(|(_, ty)| *ty);
            let Some((outcome, after)) = wire::read(job, ret, rest) else {
                break;
            };
            outcomes.push(outcome?);
            answered += 1;
            rest = after;
        }
        Ok(match status {
            None => Ended::TimedOut,
            Some(_) if answered == count => Ended::Finished,
            Some(s) if s.code() == Some(4) => Ended::Restart,
            Some(s) if matches!(s.code(), Some(2 | 3 | 5)) => {
                let why = format!("the driver gave up ({s})");
                return Err(Error::Program(why));
            }
            Some(s) => ended_by(s),
        })
    }
}

/// The first element of each array and one past its last; for a table of rows, these of the rows.
fn extents(signature: &Signature, inputs: &Inputs) -> Arg {
    /// Entries of a table, so that one of a row without elements can be read, too.
    const SPARE: i64 = 1024;
    let int = |v: i64| Scalar::int(ScalarType::I64, v.into());
    let mut bounds = Vec::new();
    for p in signature.params.iter().filter(|p| p.pointer) {
        let found = inputs.arrays.get(p.name.as_str());
        let (mut lo, mut hi) = found.map_or((0, 0), |b| {
            (-b.origin, (b.data.len() as i64).saturating_sub(b.origin))
        });
        let distances = signature.source.as_ref().and_then(|s| s.pitch_of(&p.name));
        if let Some((pitch, _)) = distances {
            let pitch = inputs.scalars.get(pitch).map_or(0, |v| v.as_int() as i64);
            if pitch > 0 {
                (lo, hi) = (lo.div_euclid(pitch), (hi + pitch - 1).div_euclid(pitch));
            } else {
                (lo, hi) = (0, 0);
            }
            (lo, hi) = (lo.min(-SPARE), hi.max(SPARE));
        }
        bounds.extend([int(lo), int(hi)]);
    }
    Arg::Array {
        buffer: Buffer {
            elem: ScalarType::I64,
            origin: 0,
            data: bounds,
        },
        read_only: true,
    }
}

/// How a process came to its end.
enum Ended {
    Finished,
    Restart,
    Signal(i32),
    Exited,
    TimedOut,
}

#[cfg(unix)]
fn ended_by(status: std::process::ExitStatus) -> Ended {
    use std::os::unix::process::ExitStatusExt;
    status.signal().map_or(Ended::Exited, Ended::Signal)
}

#[cfg(not(unix))]
fn ended_by(_: std::process::ExitStatus) -> Ended {
    Ended::Exited
}

impl Outcome {
    /// What the call left behind, with names; or in words why it left nothing.
    pub fn outputs(self, params: &[Param]) -> Result<Outputs, String> {
        let name = |arg: usize| params.get(arg).map_or("?", |p| p.name());
        match self {
            Outcome::Done { arrays, returned } => {
                let pointers = params.iter().filter(|p| matches!(p, Param::Array { .. }));
                let named = pointers.map(|p| p.name().clone()).zip(arrays).collect();
                Ok(Outputs {
                    arrays: named,
                    returned,
                })
            }
            Outcome::Outside { arg, index, write } => {
                let verb = match write {
                    Some(true) => "writes",
                    Some(false) => "reads",
                    None => "reads or writes",
                };
                Err(format!("it {verb} {}[{index}]", name(arg)))
            }
            Outcome::Crashed { signal: 0 } => Err("it ends the process".into()),
            Outcome::Crashed { signal } => Err(format!("it crashes ({})", SignalName(signal))),
            Outcome::Endless => Err("it does not return in time".into()),
        }
    }
}

struct SignalName(i32);

impl fmt::Display for SignalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            4 => f.write_str("illegal instruction"),
            5 => f.write_str("trap"),
            6 => f.write_str("abort"),
            8 => f.write_str("arithmetic exception"),
            11 => f.write_str("invalid address"),
            n => write!(f, "signal {n}"),
        }
    }
}

#[cfg(test)]
mod tests;
