//! Z3, as a child process that speaks SMT-LIB 2.
//!
//! A child can be killed: a query that ignores its limit costs one restart and an `unknown`, never the
//! program. The text that goes to the solver can be read, and checked with another solver.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};
use tensorize_ir::limit;

/// What Z3 is told to spend on one query, in its own steps: two to four seconds of one core on arithmetic, as our queries are.
/// Not in time, so that a busy machine finds what an idle one does.
const STEPS: u64 = 20_000_000;
/// When it is killed if it has not answered: on Booleans alone a step takes far longer.
const HARD_LIMIT: Duration = Duration::from_secs(15);
/// After that many queries Z3 begins anew. What it keeps of large ones slows all later ones down: without this, proving takes
/// half as long again. Beginning anew costs about as much as four queries.
const FORGETS_AFTER: u32 = 200;
/// The oldest version that is known to be right.
const OLDEST: [u32; 3] = [4, 13, 3];

/// A running solver. One serves all kernels of a thread, one after the other; it is started when first
/// used, and again after it had to be killed.
pub struct Solver {
    z3: PathBuf,
    version: String,
    process: Option<Process>,
    answers: HashMap<String, Answer>,
    queries: u64,
    /// How the last one ended that ended by itself.
    died: Option<ExitStatus>,
    /// Scripts that were answered with `unsat`, if they are kept.
    recorded: Option<Vec<Asked>>,
}

struct Process {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    /// Queries since it began.
    asked: u32,
}

impl Process {
    /// What Z3 is told before all queries.
    fn begin(&mut self) -> std::io::Result<()> {
        self.asked = 0;
        writeln!(self.stdin, "(set-option :rlimit {STEPS})")
    }
}

/// Where `cargo xtask setup` installs what is needed: `$XDG_DATA_HOME/cargo-tensorize`, or the same below
/// `~/.local/share`.
pub fn data_dir() -> Option<PathBuf> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    let base = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")))?;
    Some(base.join("cargo-tensorize"))
}

/// The Z3 to run: `TENSORIZE_Z3`, else the one that the set-up installed, else whatever `PATH` has.
pub fn find() -> PathBuf {
    if let Some(path) = std::env::var_os("TENSORIZE_Z3").filter(|v| !v.is_empty()) {
        return path.into();
    }
    let ours = data_dir().map(|d| d.join("venv/bin/z3"));
    ours.filter(|p| p.is_file()).unwrap_or_else(|| "z3".into())
}

/// A script that was answered with `unsat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// In SMT-LIB.
    pub script: String,
    /// Until the first answer to it.
    pub took: Duration,
}

/// The solver's answer to one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No model: what was asked for is proven.
    Unsat,
    /// There is a model.
    Sat,
    /// It gave up, was stopped, or died.
    Unknown,
}

/// Why there is no solver.
#[derive(Debug, thiserror::Error)]
pub enum SolverError {
    /// Nothing of that name could be run.
    #[error("cannot run Z3 at {path}: {source}")]
    NotFound {
        /// What was tried.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// It runs, but is older than 4.13.3, or is not Z3.
    #[error("Z3 at {path} says it is '{found}'; version 4.13.3 or later is needed")]
    TooOld {
        /// What was tried.
        path: PathBuf,
        /// Its answer to `--version`.
        found: String,
    },
}

impl Solver {
    /// A solver that runs the program at `z3`. Its version is asked; the solver itself is started
    /// with the first query.
    pub fn new(z3: impl AsRef<Path>) -> Result<Solver, SolverError> {
        let path = z3.as_ref().to_path_buf();
        let output = Command::new(&path)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| SolverError::NotFound {
                path: path.clone(),
                source,
            })?;
        let found = String::from_utf8_lossy(&output.stdout).trim().to_string();
        let version = found
            .strip_prefix("Z3 version ")
            .and_then(|v| v.split_whitespace().next());
        let numbers = version.map(|v| {
            let mut parts = v.split('.').map(|p| p.parse::<u32>().unwrap_or(0));
            [(); 3].map(|()| parts.next().unwrap_or(0))
        });
        match (version, numbers) {
            (Some(version), Some(n)) if n >= OLDEST => Ok(Solver {
                version: version.to_string(),
                z3: path,
                process: None,
                answers: HashMap::new(),
                queries: 0,
                died: None,
                recorded: None,
            }),
            _ => Err(SolverError::TooOld { path, found }),
        }
    }

    /// Such as `5.4.0`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The process number of the solver, if it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(|p| p.child.id())
    }

    /// How many queries went to the solver; those that were answered before don't count.
    pub fn queries(&self) -> u64 {
        self.queries
    }

    /// How the solver ended, if it did so by itself since this was last asked. What it was asked then is unknown.
    pub fn take_death(&mut self) -> Option<ExitStatus> {
        self.died.take()
    }

    /// From here on, keeps every script that is answered with `unsat`: what is proven rests on these.
    pub fn record(&mut self) {
        self.recorded = Some(Vec::new());
    }

    /// The scripts kept since [`Solver::record`], each once and in order; keeps no more. A proof rests on some of them: which of
    /// them were asked on ways that led nowhere is not known.
    pub fn take_recorded(&mut self) -> Vec<Asked> {
        let mut seen = HashSet::new();
        let mut all = self.recorded.take().unwrap_or_default();
        all.retain(|asked| seen.insert(asked.script.clone()));
        all
    }

    /// Is this script (declarations and assertions) satisfiable?
    pub fn check(&mut self, script: &str) -> Answer {
        let start = Instant::now();
        let answer = self.answer(script);
        if let (Answer::Unsat, Some(recorded)) = (answer, &mut self.recorded) {
            recorded.push(Asked {
                script: script.to_string(),
                took: start.elapsed(),
            });
        }
        answer
    }

    fn answer(&mut self, script: &str) -> Answer {
        // Also of what is known: work that only asks has to end, too.
        if limit::is_over() {
            return Answer::Unknown;
        }
        if let Some(answer) = self.answers.get(script) {
            return *answer;
        }
        self.queries += 1;
        // Where the solver died, or others stopped it, it may answer the next time.
        let Some(answer) = self.ask(script) else {
            self.stop();
            return Answer::Unknown;
        };
        // What it gave up it would give up again, after as long.
        self.answers.insert(script.to_string(), answer);
        answer
    }

    fn stop(&mut self) {
        if let Some(mut p) = self.process.take() {
            let by_itself = p.lines.try_recv() == Err(TryRecvError::Disconnected)
                || p.child.try_wait().is_ok_and(|status| status.is_some());
            let _ = p.child.kill();
            let status = p.child.wait().ok();
            self.died = status.filter(|_| by_itself).or(self.died);
        }
    }

    /// The answer, if there is one: that nothing can be said is one, too.
    fn ask(&mut self, script: &str) -> Option<Answer> {
        if self.process.is_none() {
            self.process = Some(start(&self.z3)?);
        }
        let p = self.process.as_mut()?;
        if p.asked == FORGETS_AFTER {
            writeln!(p.stdin, "(reset)").ok()?;
            p.begin().ok()?;
        }
        p.asked += 1;
        writeln!(p.stdin, "(push)\n{script}\n(check-sat)\n(pop)").ok()?;
        p.stdin.flush().ok()?;
        let patience = limit::left().map_or(HARD_LIMIT, |left| left.min(HARD_LIMIT));
        let line = match p.lines.recv_timeout(patience) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) if patience == HARD_LIMIT => {
                self.stop();
                return Some(Answer::Unknown);
            }
            Err(_) => return None,
        };
        match line.as_str() {
            "unsat" => Some(Answer::Unsat),
            "sat" => Some(Answer::Sat),
            "unknown" | "timeout" => Some(Answer::Unknown),
            // An error message: what follows would be out of step, so the process has to go.
            _ => None,
        }
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        if let Some(mut p) = self.process.take() {
            let _ = p.child.kill();
            let _ = p.child.wait();
        }
    }
}

fn start(z3: &Path) -> Option<Process> {
    let mut child = Command::new(z3)
        .args(["-in", "-smt2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let stdin = child.stdin.take()?;
    let stdout = child.stdout.take()?;
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if send.send(line.trim().to_string()).is_err() {
                break;
            }
        }
    });
    let mut process = Process {
        child,
        stdin,
        lines,
        asked: 0,
    };
    process.begin().ok()?;
    Some(process)
}
