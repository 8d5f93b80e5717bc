//! `lift`: any C file, without a Cargo project.

use super::{Output, threads};
use crate::cli::{Common, Lift};
use crate::diagnostics::Diagnostic;
use crate::exit::Code;
use crate::pipeline::{self, Kernel, Settings};
use crate::source::Source;
use std::collections::HashSet;
use std::path::Path;
use tensorize_ir::guard::Tier;

/// Lifts and proves the functions of some files.
pub fn run(args: &Lift, common: &Common, out: &Output) -> Code {
    let Lift {
        files,
        functions,
        targets,
        summary,
        emit,
        no_differential,
        proposer,
        proposer_time_limit,
        second,
        clang_args,
    } = args;
    if let Err(d) = super::package::known(targets) {
        out.diagnostic(&d);
        return Code::Usage;
    }
    let (second, _files) = match super::second_solver(second) {
        Ok(found) => found,
        Err(d) => {
            out.diagnostic(&d);
            return Code::CouldNotRun;
        }
    };
    let settings = Settings {
        z3: tensorize_prove::solver::find(),
        jobs: threads(common),
        targets: targets.clone(),
        tier: Tier::Real,
        time_limit: super::time_limit(common, None),
        proposer: super::proposer(
            proposer.iter().cloned().collect(),
            Path::new("."),
            false,
            *proposer_time_limit,
        ),
        least_share: None,
        differential: !no_differential,
        second,
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
    for name in functions
        .iter()
        .filter(|n| jobs.iter().all(|j| j.parsed.name != **n))
    {
        out.diagnostic(&Diagnostic::error(
            "TZ0106",
            format!("there is no function `{name}`"),
        ));
        code = code.worse(Code::NoKernels);
    }
    jobs.retain(|j| functions.is_empty() || functions.contains(&j.parsed.name));
    if jobs.is_empty() && code == Code::Clean {
        out.diagnostic(&Diagnostic::error(
            "TZ0106",
            "there are no functions in these files",
        ));
        code = Code::NoKernels;
    }
    match pipeline::run(jobs, &settings) {
        Ok(run) => {
            if *summary {
                let texts = run.kernels.iter().map(|k| &k.report.summary);
                texts
                    .filter(|s| !s.is_empty())
                    .for_each(|s| out.text(&format!("{s}\n")));
            }
            let written = emit
                .as_deref()
                .map_or(Ok(()), |dir| write(dir, &run.kernels));
            if let Err(d) = written {
                out.diagnostic(&d);
                code = code.worse(Code::CouldNotRun);
            }
            code.worse(out.run(&run, targets, common.strict))
        }
        Err(d) => {
            out.diagnostic(&d);
            Code::CouldNotRun
        }
    }
}

/// Writes the generated code: `NAME.TARGET.c` and the like. Two functions of one name, which different files can have, are
/// none of ours to choose from.
fn write(dir: &Path, kernels: &[Kernel]) -> Result<(), Box<Diagnostic>> {
    let failed = |path: &Path, e: &std::io::Error| {
        let message = format!("{} can't be written: {e}", path.display());
        Box::new(Diagnostic::error("TZ0112", message).help("name another folder with `--emit`"))
    };
    let mut names = HashSet::new();
    let with_code = kernels.iter().filter(|k| !k.artefacts.is_empty());
    for kernel in with_code.clone() {
        let name = &kernel.report.name;
        if !names.insert(name) {
            let message = format!("the files have two functions called `{name}`");
            let help = "lift one file at a time with `--emit`";
            let d = Diagnostic::error("TZ0112", message);
            return Err(Box::new(d.at(Some(kernel.span.clone())).help(help)));
        }
    }
    std::fs::create_dir_all(dir).map_err(|e| failed(dir, &e))?;
    for kernel in with_code {
        for (target, artefact) in &kernel.artefacts {
            let name = format!("{}.{target}.{}", kernel.report.name, artefact.extension);
            let path = dir.join(name);
            super::write_whole(&path, &artefact.text).map_err(|e| failed(&path, &e))?;
        }
    }
    Ok(())
}
