//! Where reports go: JSON, tables and documents on standard output, diagnostics for people on standard error.

mod github;
mod junit;
mod sarif;

use crate::cli::MessageFormat;
use crate::diagnostics::Diagnostic;
use crate::exit::Code;
use crate::pipeline::Run;
use crate::report::{KernelReport, Summary, reasons, table, told};
use crate::second::Confirmation;
use crate::usage;
use annotate_snippets::Renderer;
use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

/// Tells what there is to tell, in the form that was asked for.
pub struct Output {
    format: MessageFormat,
    /// GitHub shows lines of the log beside the source.
    annotate: bool,
    start: Instant,
    told: RefCell<Told>,
}

/// Clears the screen and what has scrolled away, and goes to its top.
const CLEAR: &str = "\x1b[2J\x1b[3J\x1b[H";

/// What a document is made of when all is done.
#[derive(Default)]
struct Told {
    kernels: Vec<(KernelReport, Code)>,
    /// Those that belong to no kernel.
    others: Vec<Diagnostic>,
}

impl Output {
    /// In this form. In a workflow of GitHub's, people's form has its annotations, too.
    pub fn new(format: MessageFormat) -> Output {
        let in_workflow = std::env::var_os("GITHUB_ACTIONS").is_some_and(|v| v == "true");
        let annotate = match format {
            MessageFormat::Human => in_workflow,
            MessageFormat::Github => true,
            MessageFormat::Json | MessageFormat::Sarif | MessageFormat::Junit => false,
        };
        Output {
            format,
            annotate,
            start: Instant::now(),
            told: RefCell::default(),
        }
    }

    fn for_people(&self) -> bool {
        matches!(self.format, MessageFormat::Human | MessageFormat::Github)
    }

    /// Shows a diagnostic that is not about one kernel.
    pub fn diagnostic(&self, d: &Diagnostic) {
        self.show(d);
        self.told.borrow_mut().others.push(d.clone());
    }

    /// On standard error, so that what programs read on standard output stays clean.
    fn show(&self, d: &Diagnostic) {
        let text = d.render(&Renderer::styled());
        let _ = writeln!(anstream::stderr().lock(), "{text}\n");
        self.annotate(d);
    }

    fn annotate(&self, d: &Diagnostic) {
        if self.annotate {
            let _ = writeln!(std::io::stdout().lock(), "{}", github::annotation(d));
        }
    }

    /// Prints text for people.
    pub fn text(&self, text: &str) {
        if self.for_people() {
            // A reader that has gone away is not our failure.
            let _ = write!(anstream::stdout().lock(), "{text}");
        }
    }

    /// Prints text for people in the place of all that their terminal shows.
    pub fn screen(&self, text: &str) {
        if self.for_people() && std::io::stdout().is_terminal() {
            // Not by way of what takes colours out: who wants none wants a clear screen all the same.
            let _ = write!(std::io::stdout().lock(), "{CLEAR}");
        }
        self.text(text);
    }

    /// Prints an object in JSON mode.
    pub fn json(&self, object: &impl serde::Serialize) {
        if self.format == MessageFormat::Json {
            let mut out = std::io::stdout().lock();
            // The values are strings, numbers and maps with string keys: this can't fail but by I/O.
            let _ = serde_json::to_writer(&mut out, object);
            let _ = out.write_all(b"\n");
        }
    }

    /// Reports on functions that were looked at and not asked for: what doesn't lift is no failure.
    pub fn listing(&self, functions: &[KernelReport]) {
        for f in functions {
            self.json(f);
        }
        let told = functions.iter().map(|f| (f.clone(), Code::Clean));
        self.told.borrow_mut().kernels.extend(told);
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
            let told = (k.clone(), k.exit(strict));
            self.told.borrow_mut().kernels.push(told);
        }
        if self.format != MessageFormat::Json {
            for (d, is_new) in told(kernels) {
                match is_new {
                    true => self.show(&d),
                    // Beside its own line, all the same.
                    false => self.annotate(&d),
                }
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
                "{}{}\n{}\n",
                table(kernels, targets),
                reasons(kernels, targets),
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

    /// Writes the document, if the form is one that is a document. What it says changes nothing of the exit code.
    pub fn finish(&self, code: Code) {
        let told = self.told.borrow();
        let document = match self.format {
            MessageFormat::Sarif => sarif::document(&told, code),
            MessageFormat::Junit => junit::document(&told, self.start.elapsed()),
            MessageFormat::Human | MessageFormat::Json | MessageFormat::Github => return,
        };
        let _ = writeln!(std::io::stdout().lock(), "{document}");
    }
}

impl Told {
    /// All diagnostics, with the kernel that they are about.
    fn diagnostics(&self) -> impl Iterator<Item = (Option<&KernelReport>, &Diagnostic)> {
        let kernels = self.kernels.iter();
        kernels
            .flat_map(|(k, _)| k.diagnostics.iter().map(move |d| (Some(k), d)))
            .chain(self.others.iter().map(|d| (None, d)))
    }
}

/// What paths in documents are relative to: the checkout, as GitHub names it, else the current folder.
fn root() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    std::env::var_os("GITHUB_WORKSPACE")
        .map(PathBuf::from)
        .filter(|workspace| workspace.is_absolute() && here.starts_with(workspace))
        .unwrap_or(here)
}

/// The path from [`root`], with `/`; as it is where it is not below that.
fn from_root(path: &Path) -> String {
    let mut clean = PathBuf::new();
    for part in std::env::current_dir()
        .unwrap_or_default()
        .join(path)
        .components()
    {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    let path = clean.strip_prefix(root()).unwrap_or(&clean);
    path.to_string_lossy().replace('\\', "/")
}
