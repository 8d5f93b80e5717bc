//! The verbs.

mod explain;
mod lift;
mod package;
mod prove;
mod targets;

use crate::cli::{Cli, Common, MessageFormat, Project, SecondSolver, Verb};
use crate::diagnostics::Diagnostic;
use crate::exit::Code;
use crate::pipeline::Run;
use crate::proposer::{self, Proposer};
use crate::report::{KernelReport, Summary, table};
use crate::second::{Confirmation, Second};
use crate::usage;
use annotate_snippets::Renderer;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

/// Does what the command line asks for.
pub fn run(cli: &Cli) -> Code {
    set_color(cli.common.color);
    let out = Output {
        format: cli.common.message_format,
        start: Instant::now(),
    };
    if cli.verb.is_some() && cli.project != Project::default() {
        out.diagnostic(&Diagnostic::error(
            "TZ0105",
            "options that choose packages and targets go after the command",
        ));
        return Code::Usage;
    }
    let common = &cli.common;
    match &cli.verb {
        None => package::run(
            &cli.project,
            &SecondSolver::default(),
            common,
            package::Mode::Store,
            &out,
        ),
        Some(Verb::Check { project, second }) => {
            package::run(project, second, common, package::Mode::Check, &out)
        }
        Some(Verb::Prove {
            function: (file, name),
            summary,
            clang_args,
        }) => prove::run((file, name), summary, clang_args, common, &out),
        Some(Verb::Lift(args)) => lift::run(args, common, &out),
        Some(Verb::Targets) => targets::run(&out),
        Some(Verb::Explain { code }) => explain::run(code.as_deref(), &out),
    }
}

fn set_color(choice: clap::ColorChoice) {
    match choice {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

fn threads(common: &Common) -> NonZeroUsize {
    common
        .jobs
        .or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN)
}

/// What a kernel may take, if neither command line nor configuration says.
const TIME_LIMIT_S: f64 = 10.0;

/// What a kernel may take: the command line's word, else the configuration's.
fn time_limit(common: &Common, configured: Option<f64>) -> Duration {
    let seconds = common.time_limit.or(configured).unwrap_or(TIME_LIMIT_S);
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX / 4)
}

/// The user's proposer, if there is one.
fn proposer(
    command: Vec<String>,
    dir: &Path,
    first: bool,
    time_limit: Option<f64>,
) -> Option<Proposer> {
    let limit = time_limit.and_then(|s| Duration::try_from_secs_f64(s).ok());
    (!command.is_empty()).then(|| Proposer {
        command,
        dir: dir.to_owned(),
        first,
        time_limit: limit.unwrap_or(proposer::TIME_LIMIT),
    })
}

/// The second solver that was asked for, and the folder of its files, if that is a temporary one.
fn second_solver(
    asked: &SecondSolver,
) -> Result<(Option<Second>, Option<tempfile::TempDir>), Box<Diagnostic>> {
    let Some(name) = &asked.name else {
        return Ok((None, None));
    };
    if let Some(dir) = &asked.smt_dir {
        return Ok((Some(Second::find(name, dir.clone())?), None));
    }
    let folder = tempfile::tempdir().map_err(|e| {
        let message = format!("cannot make a temporary folder: {e}");
        Box::new(Diagnostic::error("TZ0703", message))
    })?;
    let second = Second::find(name, folder.path().to_path_buf())?;
    Ok((Some(second), Some(folder)))
}

/// Where reports go: JSON or text on standard output, diagnostics for people on standard error.
pub struct Output {
    format: MessageFormat,
    start: Instant,
}

impl Output {
    /// Shows a diagnostic. On standard error, so that JSON on standard output stays clean.
    pub fn diagnostic(&self, d: &Diagnostic) {
        let text = d.render(&Renderer::styled());
        let _ = writeln!(anstream::stderr().lock(), "{text}\n");
    }

    /// Prints text for people; nothing in JSON mode.
    pub fn text(&self, text: &str) {
        if self.format == MessageFormat::Human {
            // A reader that has gone away is not our failure.
            let _ = write!(anstream::stdout().lock(), "{text}");
        }
    }

    /// Prints an object in JSON mode; nothing for people.
    pub fn json(&self, object: &impl serde::Serialize) {
        if self.format == MessageFormat::Json {
            let mut out = std::io::stdout().lock();
            // The values are strings, numbers and maps with string keys: this can't fail but by I/O.
            let _ = serde_json::to_writer(&mut out, object);
            let _ = out.write_all(b"\n");
        }
    }

    /// Reports on all kernels. The code is the gravest of theirs.
    pub fn report(
        &self,
        kernels: &[KernelReport],
        targets: &[String],
        strict: bool,
        solvers_peak: u64,
        z3_version: String,
    ) -> Code {
        for k in kernels {
            self.json(k);
            if self.format == MessageFormat::Human {
                k.diagnostics.iter().for_each(|d| self.diagnostic(d));
            }
        }
        let wall_us = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let summary = Summary::new(
            kernels,
            wall_us,
            usage::peak_rss_bytes(solvers_peak),
            z3_version,
        );
        if !kernels.is_empty() {
            self.text(&format!(
                "{}\n{}\n",
                table(kernels, targets),
                summary.text()
            ));
        }
        self.json(&summary);
        kernels
            .iter()
            .fold(Code::Clean, |code, k| code.worse(k.exit(strict)))
    }

    /// What the second solver said, if one was asked.
    pub fn confirmation(&self, said: Option<&Confirmation>) {
        if let Some(said) = said {
            self.text(&format!("{}\n", said.text()));
        }
    }

    /// Reports on a run.
    pub fn run(&self, run: &Run, targets: &[String], strict: bool) -> Code {
        self.confirmation(run.confirmation.as_ref());
        self.report(
            &run.reports(),
            targets,
            strict,
            run.solvers_peak,
            run.z3_version.clone(),
        )
    }
}
