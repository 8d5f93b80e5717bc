//! `lift`: any C file, without a Cargo project.

use super::{Output, threads};
use crate::cli::{Cli, Verb};
use crate::diagnostics::Diagnostic;
use crate::exit::Code;
use crate::pipeline::{self, Settings};
use crate::source::Source;
use tensorize_ir::guard::Tier;
use crate::tools;

/// Lifts and proves the functions of some files.
pub fn run(cli: &Cli, out: &Output) -> Code {
    let Some(Verb::Lift { files, functions, targets, summary, no_differential, clang_args }) =
        &cli.verb
    else {
        return Code::Usage;
    };
    let settings = Settings {
        z3: tools::find_z3(),
        jobs: threads(&cli.common),
        targets: targets.clone(),
        tier: Tier::Real,
        differential: !no_differential,
    };
    let source = |file: &std::path::PathBuf| Source::alone(file, clang_args);
    let mut code = Code::Clean;
    let mut jobs = Vec::new();
    for (_, parsed) in pipeline::parse(files.iter().map(source).collect(), settings.jobs) {
        match parsed {
            Ok(found) => jobs.extend(found),
            Err(problem) => {
                out.diagnostic(&problem.into());
                code = Code::CouldNotRun;
            }
        }
    }
    for name in functions.iter().filter(|n| jobs.iter().all(|j| j.parsed.name != **n)) {
        out.diagnostic(&Diagnostic::error("TZ0106", format!("there is no function `{name}`")));
        code = code.worse(Code::NoKernels);
    }
    jobs.retain(|j| functions.is_empty() || functions.contains(&j.parsed.name));
    if jobs.is_empty() && code == Code::Clean {
        out.diagnostic(&Diagnostic::error("TZ0106", "there are no functions in these files"));
        code = Code::NoKernels;
    }
    match pipeline::run(jobs, &settings) {
        Ok(run) => {
            let summaries = run.kernels.iter().map(|k| &k.report.summary).filter(|s| *summary && !s.is_empty());
            summaries.for_each(|s| out.text(&format!("{s}\n")));
            code.worse(out.report(&run, targets, cli.common.strict))
        }
        Err(d) => {
            out.diagnostic(&d);
            Code::CouldNotRun
        }
    }
}
