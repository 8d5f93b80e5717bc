//! `prove`: the prover alone, on somebody's summary.

use super::{Output, threads};
use crate::cli::Common;
use crate::diagnostics::Diagnostic;
use crate::exit::Code;
use crate::pipeline::{self, Settings};
use crate::source::Source;
use std::path::Path;
use tensorize_ir::guard::Tier;
use tensorize_ir::tensir;

/// Proves or refutes the summary of one function.
pub fn run(
    (file, name): (&Path, &str),
    summary: &Path,
    clang_args: &[String],
    common: &Common,
    out: &Output,
) -> Code {
    let settings = Settings {
        z3: tensorize_prove::solver::find(),
        jobs: threads(common),
        targets: Vec::new(),
        tier: Tier::Real,
        time_limit: super::time_limit(common, None),
        proposer: None,
        least_share: None,
        differential: false,
        second: None,
    };
    let fail = |d: Diagnostic, code| {
        out.diagnostic(&d);
        code
    };
    let text = match std::fs::read_to_string(summary) {
        Ok(text) => text,
        Err(e) => {
            let d = Diagnostic::error("TZ0108", format!("cannot read {}: {e}", summary.display()));
            return fail(d, Code::CouldNotRun);
        }
    };
    let proposal: tensir::Function = match text.parse() {
        Ok(proposal) => proposal,
        Err(e) => {
            let d = Diagnostic::error("TZ0108", format!("{}: {e}", summary.display()));
            return fail(
                d.help("`cargo tensorize lift FILE.c --summary` shows how summaries are written"),
                Code::CouldNotRun,
            );
        }
    };
    let source = Source::alone(file, clang_args);
    let mut jobs = Vec::new();
    for (_, parsed) in pipeline::parse(vec![source], settings.jobs) {
        match parsed {
            Ok(found) => jobs.extend(found.into_iter().filter(|j| j.parsed.name == name)),
            Err(problem) => return fail(problem.into(), Code::CouldNotRun),
        }
    }
    if jobs.is_empty() {
        let message = format!("{} has no function `{name}`", file.display());
        return fail(Diagnostic::error("TZ0106", message), Code::NoKernels);
    }
    jobs.iter_mut()
        .for_each(|j| j.summary = Some(proposal.clone()));
    match pipeline::run(jobs, &settings) {
        Ok(run) => out.run(&run, &[], common.strict),
        Err(d) => fail(*d, Code::CouldNotRun),
    }
}
