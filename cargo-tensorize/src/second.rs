//! A second solver looks at what the first one found.
//!
//! Everything that a proof rests on is a query that Z3 answered with `unsat`, or a lemma. Each goes into an SMT-LIB
//! file of its own, and another solver is asked. It knows nothing of the first, of the kernel, or of the other files.

use crate::diagnostics::Diagnostic;
use crate::pipeline::Kernel;
use crate::progress::Progress;
use crate::report::Status;
use crate::tools;
use crate::words::counted;
use serde::Serialize;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tensorize_prove::smt;

/// What the second solver may spend on one file.
const LIMIT: Duration = Duration::from_secs(10);
/// Reads the SMT-LIB files with cvc5's Python package.
const CVC5_SCRIPT: &str = include_str!("second/cvc5.py");

/// Which solver, and where its files go.
#[derive(Clone, Debug)]
pub struct Second {
    /// As it was asked for.
    pub name: String,
    program: Program,
    /// Kept if it was asked for by name, else a temporary folder.
    dir: PathBuf,
    /// What one file may take.
    limit: Duration,
}

#[derive(Clone, Debug)]
enum Program {
    /// Takes a file, prints its answer.
    File(PathBuf),
    /// A Python that has cvc5's package.
    Python(PathBuf),
}

/// What it said of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Confirmation {
    /// The solver's name.
    pub solver: String,
    /// What the kernel's proofs rest on.
    pub obligations: usize,
    /// How many of them it finds to hold.
    pub confirmed: usize,
    /// Files of which it could not tell.
    pub not_confirmed: Vec<PathBuf>,
    /// Files of which it says the opposite.
    pub contradicted: Vec<PathBuf>,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Says {
    Holds,
    Fails,
    /// With what it printed, or why it printed nothing.
    Unclear(String),
}

impl Second {
    /// `cvc5`: the program of that name (or `TENSORIZE_CVC5`), else the Python package that the set-up installs.
    /// Anything else is a program that takes an SMT-LIB file and prints `sat`, `unsat` or `unknown`.
    pub fn find(name: &str, dir: PathBuf) -> Result<Second, Box<Diagnostic>> {
        let program = if name == "cvc5" {
            let named = std::env::var_os("TENSORIZE_CVC5").filter(|v| !v.is_empty());
            let named = named.map(PathBuf::from);
            match named.or_else(|| tools::on_path(name)) {
                Some(program) => Program::File(program),
                None => Program::Python(tools::find_python()),
            }
        } else {
            Program::File(name.into())
        };
        let second = Second {
            name: name.to_owned(),
            program,
            dir,
            limit: LIMIT,
        };
        second.try_out()?;
        Ok(second)
    }

    /// A solver that can't tell truth from falsehood confirms nothing.
    fn try_out(&self) -> Result<(), Box<Diagnostic>> {
        let failed = |why: String| {
            let message = format!("the second solver, {}, does not work: {why}", self.name);
            let help = "`cargo xtask setup` installs cvc5; TENSORIZE_CVC5 names another one";
            Box::new(Diagnostic::error("TZ0109", message).help(help))
        };
        let folder = self.dir.join("trial");
        let scripts = [
            "(declare-const x Int)(assert (> x x))",
            "(declare-const x Int)(assert (> x 0))",
        ];
        let files =
            write(&folder, &scripts.map(str::to_owned)).map_err(|e| failed(e.to_string()))?;
        let progress = Progress::new("trying the second solver", files.len());
        match &self.ask(&files, &progress)[..] {
            [Says::Holds, Says::Fails] => Ok(()),
            [Says::Unclear(why), _] | [_, Says::Unclear(why)] => Err(failed(why.clone())),
            _ => Err(failed(
                "it takes what is satisfiable for unsatisfiable, or the other way round".into(),
            )),
        }
    }

    /// Writes the scripts, all of which Z3 says are unsatisfiable, and asks about them.
    pub fn confirm(
        &self,
        what: &str,
        scripts: &[String],
        progress: &Progress,
    ) -> io::Result<Confirmation> {
        let files = write(&self.dir.join(what), scripts)?;
        let mut done = Confirmation {
            solver: self.name.clone(),
            obligations: files.len(),
            ..Confirmation::default()
        };
        for (says, file) in self.ask(&files, progress).into_iter().zip(files) {
            match says {
                Says::Holds => done.confirmed += 1,
                Says::Fails => done.contradicted.push(file),
                Says::Unclear(_) => done.not_confirmed.push(file),
            }
        }
        Ok(done)
    }

    /// The lemmas that the prover tells its solver as facts.
    pub fn confirm_lemmas(
        &self,
        lemmas: &[(&str, &str)],
        progress: &Progress,
    ) -> io::Result<Confirmation> {
        let scripts: Vec<String> = lemmas.iter().map(|(_, l)| smt::theorem(l)).collect();
        self.confirm("lemmas", &scripts, progress)
    }

    fn ask(&self, files: &[PathBuf], progress: &Progress) -> Vec<Says> {
        let mut session = None;
        let mut answer = |file: &PathBuf| match &self.program {
            Program::File(program) => self.run_program(program, file),
            Program::Python(python) => self.ask_python(python, &mut session, file),
        };
        let answers = files.iter().map(|file| {
            let says = answer(file);
            progress.step();
            says
        });
        answers.collect()
    }

    fn run_program(&self, program: &Path, file: &Path) -> Says {
        let child = Command::new(program)
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(e) => return Says::Unclear(format!("{}: {e}", program.display())),
        };
        // Read elsewhere, so that neither a full pipe nor silence holds us up.
        let lines = child.stdout.take().map(read_lines);
        let ended = tools::wait(&mut child, self.limit);
        match (ended, lines) {
            (Ok(_), Some(lines)) => match lines.recv_timeout(Duration::from_secs(1)) {
                Ok(line) => says(&line),
                Err(_) => Says::Unclear("it printed nothing".into()),
            },
            (Err(e), _) => Says::Unclear(e.to_string()),
            (_, None) => Says::Unclear("it has no output".into()),
        }
    }

    fn ask_python(&self, python: &Path, session: &mut Option<Session>, file: &Path) -> Says {
        if session.is_none() {
            match Session::start(python, self.limit) {
                Ok(new) => *session = Some(new),
                Err(why) => return Says::Unclear(why),
            }
        }
        let answer = session.as_mut().and_then(|s| s.ask(file, self.limit));
        match answer {
            Some(line) => says(&line),
            None => {
                // Dropped, and with it the process; the next file gets a new one.
                *session = None;
                Says::Unclear("it did not answer in time".into())
            }
        }
    }
}

fn says(line: &str) -> Says {
    match line {
        "unsat" => Says::Holds,
        "sat" => Says::Fails,
        other => Says::Unclear(other.to_owned()),
    }
}

fn write(folder: &Path, scripts: &[String]) -> io::Result<Vec<PathBuf>> {
    // What an earlier run left there is not of this proof.
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let one = |(i, script): (usize, &String)| {
        let file = folder.join(format!("{i:04}.smt2"));
        let text = format!("; Z3 says: unsat\n(set-logic ALL)\n{script}\n(check-sat)\n");
        fs::write(&file, text).map(|()| file)
    };
    scripts.iter().enumerate().map(one).collect()
}

fn read_lines(from: impl io::Read + Send + 'static) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if send.send(line.trim().to_string()).is_err() {
                break;
            }
        }
    });
    lines
}

/// A Python that answers one file after the other.
struct Session {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Session {
    fn start(python: &Path, limit: Duration) -> Result<Session, String> {
        let mut child = Command::new(python)
            .args(["-c", CVC5_SCRIPT, &limit.as_millis().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("{}: {e}", python.display()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".into());
        };
        let session = Session {
            child,
            stdin,
            lines: read_lines(stdout),
        };
        match session.lines.recv_timeout(Duration::from_secs(30)) {
            Ok(line) if line == "ready" => Ok(session),
            _ => Err(format!("{} has no package `cvc5`", python.display())),
        }
    }

    fn ask(&mut self, file: &Path, limit: Duration) -> Option<String> {
        writeln!(self.stdin, "{}", file.display()).ok()?;
        self.stdin.flush().ok()?;
        // It ends on its own at the limit, if it can.
        self.lines.recv_timeout(limit + Duration::from_secs(2)).ok()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks about everything that the kernels' proofs rest on. A kernel of which the solver says the opposite is not
/// proven any more.
pub fn confirm_all(
    kernels: &mut [Kernel],
    second: &Second,
) -> Result<Confirmation, Box<Diagnostic>> {
    let cannot = |e: io::Error| {
        let message = format!(
            "cannot write SMT-LIB files to {}: {e}",
            second.dir.display()
        );
        Box::new(Diagnostic::error("TZ0703", message))
    };
    let proven = kernels.iter().filter(|k| k.proven.is_some());
    let pieces = smt::LEMMAS.len() + proven.map(|k| k.obligations.len()).sum::<usize>();
    let progress = Progress::new("confirming", pieces);
    let lemmas = second
        .confirm_lemmas(&smt::LEMMAS, &progress)
        .map_err(cannot)?;
    let mut total = lemmas.clone();
    for (at, kernel) in kernels.iter_mut().enumerate() {
        let scripts = std::mem::take(&mut kernel.obligations);
        if kernel.proven.is_none() {
            continue;
        }
        let name = format!("{at:03}-{}", kernel.report.name);
        let found = second.confirm(&name, &scripts, &progress);
        let mut found = found.map_err(cannot)?;
        total.add(&found);
        // What rests on a lemma that does not hold does not hold.
        found.contradicted.extend(lemmas.contradicted.clone());
        judge(kernel, found);
    }
    Ok(total)
}

fn judge(kernel: &mut Kernel, found: Confirmation) {
    let list = |files: &[PathBuf]| {
        let names: Vec<String> = files
            .iter()
            .take(3)
            .map(|f| f.display().to_string())
            .collect();
        names.join(", ")
    };
    if !found.contradicted.is_empty() {
        let message = format!(
            "{} finds {} of {} wrong: {}",
            found.solver,
            found.contradicted.len(),
            counted(found.obligations, "obligation"),
            list(&found.contradicted)
        );
        let d = Diagnostic::error("TZ0403", message).at(Some(kernel.span.clone()));
        kernel.withdraw(d.help("please report it, with the files; the original goes on to run"));
    } else if !found.not_confirmed.is_empty() {
        let message = format!(
            "not confirmed: {} could not tell of {} of {}: {}",
            found.solver,
            found.not_confirmed.len(),
            counted(found.obligations, "obligation"),
            list(&found.not_confirmed)
        );
        let d = Diagnostic::warning("TZ0404", message).at(Some(kernel.span.clone()));
        debug_assert_eq!(kernel.report.status, Status::Proven);
        kernel.report.diagnostics.push(d);
    }
    kernel.report.second_solver = Some(found);
}

impl Confirmation {
    fn add(&mut self, other: &Confirmation) {
        self.obligations += other.obligations;
        self.confirmed += other.confirmed;
        self.not_confirmed
            .extend(other.not_confirmed.iter().cloned());
        self.contradicted.extend(other.contradicted.iter().cloned());
    }

    /// One line for people.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}: {} of {} confirmed",
            self.solver,
            self.confirmed,
            counted(self.obligations, "obligation")
        );
        for (files, what) in [
            (&self.not_confirmed, "not confirmed"),
            (&self.contradicted, "WRONG"),
        ] {
            if !files.is_empty() {
                text += &format!(", {} {what}", files.len());
            }
        }
        text
    }
}

#[cfg(test)]
mod tests;
