//! What became of each kernel, and how it is told: a table, or JSON objects.

mod reasons;

pub use reasons::{reasons, told};

use crate::diagnostics::{Diagnostic, Severity};
use crate::exit::Code;
use crate::outlook::Outlook;
use crate::second::Confirmation;
use crate::words::counted;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use tensorize_build::record::Evidence;
use tensorize_ir::guard::Tier;
use tensorize_lift::c::Span;

pub use tensorize_build::record::{Status, TargetStatus};

/// Microseconds by stage; 0 for a stage that was not reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// Reading the C: the file's time, shared evenly by its functions.
    pub parse: u64,
    /// Finding a summary.
    pub propose: u64,
    /// Proving it.
    pub prove: u64,
    /// Running the compiled original against it.
    pub differential: u64,
}

/// How a target did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetReport {
    /// The outcome.
    pub status: TargetStatus,
    /// What the code promises; nothing without code.
    #[serde(serialize_with = "tier_name")]
    pub tier: Option<Tier>,
    /// The largest relative error of its floats, in the run that compared it with the original. Nothing if there was no
    /// such run now.
    pub max_rel_error: Option<f64>,
    /// What that run was on, such as `jax 0.10.2`.
    pub ran_on: Option<String>,
    /// Empty for `generated`, unless the target computes a part only.
    pub why: String,
    /// It is no failure that the code could not be run here: nobody asked for this target, it is one of those that are
    /// there by default.
    #[serde(skip)]
    pub excused: bool,
}

impl TargetReport {
    /// Of a target that has no code for a kernel.
    pub fn without_code(status: TargetStatus, why: impl Into<String>) -> TargetReport {
        TargetReport {
            status,
            tier: None,
            max_rel_error: None,
            ran_on: None,
            why: why.into(),
            excused: false,
        }
    }

    /// Who computes what, if the target computes a part only.
    pub fn split(&self) -> Option<&str> {
        self.why.strip_prefix(SPLIT)
    }
}

/// The code of what is said of code that could not be run.
pub(crate) const NOT_RUN: &str = "TZ0604";

/// What `why` begins with for code that is for a part.
pub(crate) const SPLIT: &str = "split: ";

/// What became of one kernel.
#[derive(Clone, Debug, Serialize)]
pub struct KernelReport {
    reason: &'static str,
    /// The C name.
    pub name: String,
    /// As it was named on the command line or in the configuration.
    #[serde(serialize_with = "lossy")]
    pub file: PathBuf,
    /// Of the function's head.
    pub line: u32,
    /// How far it came.
    pub status: Status,
    /// Of the proof.
    #[serde(serialize_with = "tier_name")]
    pub tier: Option<Tier>,
    /// What a call has to meet, in words.
    pub guards: Vec<String>,
    /// The TensIR text; empty if there is none.
    pub summary: String,
    /// Of the first diagnostic.
    pub code: Option<&'static str>,
    /// Its message.
    pub why: Option<String>,
    /// What is worth knowing beside that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// By stage.
    pub times_us: Times,
    /// What the compiled original showed, if it was run now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// By name.
    pub targets: BTreeMap<String, TargetReport>,
    /// What it might win, if that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outlook: Option<Outlook>,
    /// What a second solver says, if one was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_solver: Option<Confirmation>,
    /// It was not proven now: the stored result is current.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stored: bool,
    /// It is stored since now, and another checkout has proven it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// What `check --locked` says of the stored result; clean if it was not asked.
    #[serde(skip)]
    pub gate: Code,
    /// What there is to tell.
    #[serde(skip)]
    pub diagnostics: Vec<Diagnostic>,
}

fn tier_name<S: Serializer>(tier: &Option<Tier>, s: S) -> Result<S::Ok, S::Error> {
    tier.map(Tier::name).serialize(s)
}

/// A path that is not UTF-8 must not spoil the report.
fn lossy<S: Serializer>(path: &std::path::Path, s: S) -> Result<S::Ok, S::Error> {
    path.to_string_lossy().serialize(s)
}

impl KernelReport {
    /// A report that says nothing yet.
    pub fn new(name: impl Into<String>, file: PathBuf, line: u32) -> KernelReport {
        KernelReport {
            reason: "kernel",
            name: name.into(),
            file,
            line,
            status: Status::Unproven,
            tier: None,
            guards: Vec::new(),
            summary: String::new(),
            code: None,
            why: None,
            times_us: Times::default(),
            evidence: None,
            targets: BTreeMap::new(),
            outlook: None,
            second_solver: None,
            stored: false,
            cached: false,
            gate: Code::Clean,
            notes: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    /// Ends with this status; the diagnostic's code and message go into the report.
    pub fn fail(&mut self, status: Status, diagnostic: Diagnostic) {
        self.status = status;
        self.code = diagnostic.code;
        self.why = Some(diagnostic.message.clone());
        self.diagnostics.push(diagnostic);
    }

    /// What is stored of the kernel does not pass `check --locked`.
    pub fn refuse(&mut self, code: Code, diagnostic: Diagnostic) {
        self.gate = self.gate.worse(code);
        self.code = self.code.or(diagnostic.code);
        self.why.get_or_insert_with(|| diagnostic.message.clone());
        self.diagnostics.push(diagnostic);
    }

    /// Refuses a proof, and code for targets, of a lower tier than the weakest one that will do.
    pub fn demand<'a>(
        &mut self,
        weakest: Tier,
        span: &Span,
        targets: impl IntoIterator<Item = (&'a str, Tier)>,
    ) {
        let help = "see `tier` in `[package.metadata.tensorize]`, and --min-tier; docs/soundness.md says what the \
                    tiers mean";
        let name = self.name.clone();
        let own = self.tier.map(|tier| (format!("`{name}` is proven"), tier));
        let codes = targets
            .into_iter()
            .map(|(target, tier)| (format!("the code of `{name}` for {target} is proven"), tier));
        for (what, tier) in own.into_iter().chain(codes) {
            if tier > weakest {
                let message = format!("{what} with tier {tier}, and {weakest} is asked for");
                let d = Diagnostic::error("TZ0707", message);
                self.refuse(Code::NotProven, d.at(Some(span.clone())).help(help));
                // Its code can't be better.
                break;
            }
        }
    }

    /// That code could not be run here is no failure, and no more than worth knowing: the targets are the default ones.
    pub fn excuse_what_was_not_run(&mut self) {
        for target in self.targets.values_mut() {
            target.excused = target.status == TargetStatus::NotRun;
        }
        for d in &mut self.diagnostics {
            if d.code == Some(NOT_RUN) {
                d.severity = Severity::Note;
            }
        }
    }

    /// What is worth knowing, whatever becomes of the kernel.
    pub fn note(&mut self, diagnostic: Diagnostic) {
        self.notes.push(diagnostic.message.clone());
        self.diagnostics.push(Diagnostic {
            severity: Severity::Note,
            ..diagnostic
        });
    }

    /// Whether the second solver agrees, if one was asked.
    fn is_confirmed(&self) -> bool {
        let asked = self.second_solver.as_ref();
        asked.is_none_or(|c| c.confirmed == c.obligations)
    }

    /// The operator that says most about the summary; `-` if there is none.
    pub fn main_operator(&self) -> String {
        main_operator(&self.summary)
    }

    /// Whether nothing is known of the kernel as it is now.
    fn is_out_of_date(&self) -> bool {
        self.gate == Code::OutOfDate && self.status == Status::Unproven
    }

    /// The exit code that this kernel alone would give.
    pub fn exit(&self, strict: bool) -> Code {
        let target_failed = self.targets.values().any(|t| match t.status {
            TargetStatus::Failed => true,
            TargetStatus::NotRun => !t.excused,
            TargetStatus::Generated | TargetStatus::Unsupported => false,
        });
        if self.is_out_of_date() {
            return self.gate;
        }
        let code = match self.status {
            Status::Error => Code::CouldNotRun,
            Status::Refuted => Code::Refuted,
            Status::Unsupported if strict => Code::NotProven,
            Status::Unsupported => Code::Unsupported,
            Status::Unproven if strict => Code::NotProven,
            Status::Proven if strict && target_failed => Code::NotProven,
            Status::Proven if strict && !self.is_confirmed() => Code::NotProven,
            Status::Unproven | Status::Proven => Code::Clean,
        };
        code.worse(self.gate)
    }
}

/// The last line of a JSON report.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    reason: &'static str,
    kernels: usize,
    proven: usize,
    refuted: usize,
    unproven: usize,
    /// Of those that are not proven.
    #[serde(skip)]
    out_of_date: usize,
    unsupported: usize,
    wall_us: u64,
    peak_rss_bytes: u64,
    z3_version: String,
}

impl Summary {
    /// Counts.
    pub fn new(kernels: &[KernelReport], wall_us: u64, peak_rss: u64, z3_version: String) -> Self {
        let count = |s| kernels.iter().filter(|k| k.status == s).count();
        Summary {
            reason: "summary",
            kernels: kernels.len(),
            proven: count(Status::Proven),
            refuted: count(Status::Refuted),
            unproven: count(Status::Unproven),
            out_of_date: kernels.iter().filter(|k| k.is_out_of_date()).count(),
            unsupported: count(Status::Unsupported),
            wall_us,
            peak_rss_bytes: peak_rss,
            z3_version,
        }
    }

    /// One line for people.
    pub fn text(&self) -> String {
        let errors = self.kernels - self.proven - self.refuted - self.unproven - self.unsupported;
        let mut text = format!(
            "{}: {} proven",
            counted(self.kernels, "kernel"),
            self.proven
        );
        let rest = [
            (self.refuted, "refuted"),
            (self.unproven - self.out_of_date, "not proven"),
            (self.out_of_date, "out of date"),
            (self.unsupported, "not supported"),
            (errors, "with errors"),
        ];
        for (n, what) in rest.into_iter().filter(|(n, _)| *n > 0) {
            let _ = write!(text, ", {n} {what}");
        }
        let _ = write!(text, " ({:.2} s)", self.wall_us as f64 / 1e6);
        text
    }
}

/// The table that people see.
pub fn table(kernels: &[KernelReport], targets: &[String]) -> String {
    let mut rows: Vec<Vec<String>> = vec![
        ["kernel", "status", "tier", "summary", "time"]
            .map(String::from)
            .to_vec(),
    ];
    rows[0].extend(targets.iter().cloned());
    for k in kernels {
        let t = k.times_us;
        let lifting = t.parse + t.propose + t.prove;
        let mut row = vec![
            k.name.clone(),
            if k.is_out_of_date() {
                "out of date".into()
            } else {
                k.status.name().into()
            },
            k.tier.map_or("-", Tier::name).into(),
            if k.summary.is_empty() {
                "-".into()
            } else {
                main_operator(&k.summary)
            },
            if k.cached {
                "cached".into()
            } else if k.stored {
                "stored".into()
            } else if lifting == 0 {
                "-".into()
            } else {
                format!("{:.1} ms", lifting as f64 / 1e3)
            },
        ];
        row.extend(
            targets
                .iter()
                .map(|t| match k.targets.get(t).map(|r| (r.status, &r.why)) {
                    // Code with something to say of it is code for a part.
                    Some((TargetStatus::Generated, why)) if !why.is_empty() => "split".into(),
                    Some((TargetStatus::Generated, _)) => "generated".into(),
                    Some((TargetStatus::Unsupported, _)) => "unsupported".into(),
                    Some((TargetStatus::Failed, _)) => "failed".into(),
                    Some((TargetStatus::NotRun, _)) => "not run".into(),
                    None => "-".into(),
                }),
        );
        rows.push(row);
    }
    columns(&rows)
}

/// Rows of as many cells each, in columns.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).min().unwrap_or(0);
    let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// The operator that says most about a summary: the last one that is not mere plumbing.
fn main_operator(summary: &str) -> String {
    const TELLING: [&str; 5] = ["dot_general", "reduce", "gather", "generic", "concatenate"];
    const PLUMBING: [&str; 8] = [
        "view",
        "param",
        "size",
        "constant",
        "table",
        "broadcast_in_dim",
        "convert",
        "reshape",
    ];
    let operators: Vec<&str> = summary.lines().filter_map(operator).collect();
    let telling = TELLING.iter().find(|t| operators.contains(t)).copied();
    let last = || {
        operators
            .iter()
            .rev()
            .find(|o| !PLUMBING.contains(o))
            .copied()
    };
    telling
        .or_else(last)
        .or(operators.last().copied())
        .unwrap_or("-")
        .to_owned()
}

/// The operator of a line `%3 = dot_general %0, %1, … : tensor<f32>`.
fn operator(line: &str) -> Option<&str> {
    let (_, right) = line.split_once(" = ")?;
    let end = right
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(right.len());
    (end > 0).then(|| &right[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_promised_keys_in_their_order() {
        let mut k = KernelReport::new("f", "k.c".into(), 3);
        k.tier = Some(Tier::Exact);
        k.targets.insert(
            "numpy".into(),
            TargetReport {
                status: TargetStatus::Generated,
                tier: Some(Tier::Exact),
                max_rel_error: Some(0.0),
                ran_on: Some("numpy 2.3.1".into()),
                why: String::new(),
                excused: false,
            },
        );
        assert_eq!(
            serde_json::to_string(&k).unwrap(),
            r#"{"reason":"kernel","name":"f","file":"k.c","line":3,"status":"unproven","tier":"exact","guards":[],"summary":"","code":null,"why":null,"times_us":{"parse":0,"propose":0,"prove":0,"differential":0},"targets":{"numpy":{"status":"generated","tier":"exact","max_rel_error":0.0,"ran_on":"numpy 2.3.1","why":""}}}"#
        );
        assert_eq!(
            serde_json::to_string(&Summary::new(&[k], 5, 6, "5.4.0".into())).unwrap(),
            r#"{"reason":"summary","kernels":1,"proven":0,"refuted":0,"unproven":1,"unsupported":0,"wall_us":5,"peak_rss_bytes":6,"z3_version":"5.4.0"}"#
        );
    }

    #[test]
    fn the_main_operator_is_not_plumbing() {
        let text = "func @f(a: ptr<f32>, n: i32) {\n  %0 = view a[#0] : tensor<n x f32>\n  \
                    %1 = constant 0:f32 : tensor<f32>\n  %2 = reduce %0, %1 : tensor<f32>\n  \
                    %3 = multiply %2, %2 : tensor<f32>\n  return %3\n}\n";
        assert_eq!(main_operator(text), "reduce");
        assert_eq!(
            main_operator("%0 = add %1, %2 : t\n%1 = convert %0 : t"),
            "add"
        );
        assert_eq!(main_operator(""), "-");
    }

    #[test]
    fn only_strict_turns_unproven_into_a_failure() {
        let k = KernelReport::new("f", "k.c".into(), 3);
        assert_eq!(k.exit(false), Code::Clean);
        assert_eq!(k.exit(true), Code::NotProven);
    }
}
