//! A program of the user's that proposes summaries. `docs/proposer.md` says what it gets and answers.
//!
//! It is not trusted with anything: candidates are proven like our own, and time and output have limits.

use crate::asked;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tensorize_ir::tensir;

/// The language that candidates are written in, told to every proposer.
const TENSIR_REFERENCE: &str = include_str!("../../docs/tensir.md");
/// Of the answer.
const MOST_BYTES: u64 = 1 << 20;
/// Of the answer.
const MOST_CANDIDATES: usize = 16;
/// How long a kernel, if nobody says otherwise.
pub const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The program and how to ask it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposer {
    /// The program and its arguments; not empty.
    pub command: Vec<String>,
    /// Where it runs, and what its path is relative to.
    pub dir: PathBuf,
    /// Ask before our own proposers.
    pub first: bool,
    /// How long a kernel.
    pub time_limit: Duration,
}

/// What it is told of a kernel.
#[derive(Serialize)]
pub struct Subject<'a> {
    /// The C name.
    pub name: &'a str,
    /// The C file.
    pub file: String,
    /// Of the function's head.
    pub line: u32,
    /// The function's text.
    pub source: &'a str,
    /// The same as we read it.
    pub loopir: String,
}

#[derive(Serialize)]
struct Question<'a> {
    version: u32,
    kernel: &'a Subject<'a>,
    open: Option<&'a str>,
    time_limit_s: f64,
    tensir_reference: &'a str,
}

#[derive(Deserialize)]
struct Answer {
    candidates: Vec<String>,
}

impl Proposer {
    /// Asks about one kernel. `open`: why our own proposers failed. The candidates are well-formed text; one that
    /// is not is an error in words in its place.
    pub fn ask(
        &self,
        kernel: &Subject,
        open: Option<&str>,
    ) -> Result<Vec<Result<tensir::Function, String>>, String> {
        let question = Question {
            version: 1,
            kernel,
            open,
            time_limit_s: self.time_limit.as_secs_f64(),
            tensir_reference: TENSIR_REFERENCE,
        };
        let question = serde_json::to_vec(&question).map_err(|e| e.to_string())?;
        let text = self.run(question)?;
        let answer: Answer = serde_json::from_slice(&text)
            .map_err(|e| format!("its answer is not as docs/proposer.md has it: {e}"))?;
        if answer.candidates.len() > MOST_CANDIDATES {
            return Err(format!(
                "it answers with more than {MOST_CANDIDATES} candidates"
            ));
        }
        let read = |text: String| text.parse::<tensir::Function>().map_err(|e| e.to_string());
        Ok(answer.candidates.into_iter().map(read).collect())
    }

    fn run(&self, question: Vec<u8>) -> Result<Vec<u8>, String> {
        let mut command = Command::new(self.program());
        command
            .args(self.command.iter().skip(1))
            .current_dir(&self.dir);
        asked::answer(&mut command, question, self.time_limit, MOST_BYTES)
    }

    fn program(&self) -> PathBuf {
        let name = Path::new(self.command.first().map_or("", String::as_str));
        if name.components().count() > 1 {
            self.dir.join(name)
        } else {
            name.to_owned()
        }
    }
}
