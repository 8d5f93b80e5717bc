//! `scan`: what there is to win in a project. Every function of its C and C++ sources, whether it would lift, and if not
//! why; nothing has to be annotated, and nothing is written, compiled or run.

use super::package::known;
use super::{Output, threads};
use crate::cli::{Common, Scan};
use crate::diagnostics::{Diagnostic, Severity};
use crate::exit::Code;
use crate::outlook;
use crate::pipeline::{self, Job, Settings};
use crate::progress::Progress;
use crate::project;
use crate::report::{KernelReport, Status, columns};
use crate::sources::{self, Wanted, absolute};
use crate::words::counted;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tensorize_ir::guard::Tier;
use tensorize_ir::loopir;
use tensorize_rt::tuned::LEAST;

/// A look at many functions must not wait long for one of them.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Looks at all sources below some folders, by default the project's.
pub fn run(args: &Scan, common: &Common, out: &Output) -> Code {
    if let Err(d) = known(&args.project.targets) {
        out.diagnostic(&d);
        return Code::Usage;
    }
    if let Some(missing) = args.folders.iter().find(|f| !f.exists()) {
        let message = format!(
            "{} cannot be read: no such file or folder",
            missing.display()
        );
        let help =
            "name a folder with C or C++ sources; without one, those of the project are looked at";
        out.diagnostic(&Diagnostic::error("TZ0202", message).help(help));
        return Code::CouldNotRun;
    }
    // Without a Cargo project every folder will do; how files are compiled is then not known from a build script.
    let (folders, compiled) = match places(args) {
        Ok(places) => places,
        Err(d) => {
            out.diagnostic(&d);
            return Code::CouldNotRun;
        }
    };
    let mut sources = BTreeMap::new();
    for (folder, flags) in folders {
        let wanted = Wanted {
            globs: args.globs.clone(),
            compile_commands: args.compile_commands.clone(),
            flags,
            ..Wanted::default()
        };
        match sources::find(&folder, &wanted, &compiled) {
            Ok(found) => sources.extend(found.into_iter().map(|s| (absolute(&s.file), s))),
            Err(d) => {
                out.diagnostic(&d);
                return if d.code == Some("TZ0105") {
                    Code::Usage
                } else {
                    Code::CouldNotRun
                };
            }
        }
    }
    let settings = Settings {
        z3: tensorize_prove::solver::find(),
        jobs: threads(common),
        targets: args.project.targets.clone(),
        tier: Tier::Real,
        time_limit: match common.time_limit {
            Some(_) => super::time_limit(common, None),
            None => TIME_LIMIT,
        },
        proposer: None,
        least_share: None,
        differential: false,
        second: None,
    };
    let files = sources.len();
    let mut code = Code::Clean;
    let mut jobs = Vec::new();
    let mut unread = 0;
    for (_, parsed) in pipeline::parse(sources.into_values().collect(), settings.jobs) {
        match parsed {
            Ok(found) => jobs.extend(found),
            // No libclang is not a fault of the file.
            Err(problem) if problem.code == "TZ0201" => {
                out.diagnostic(&problem.into());
                return Code::CouldNotRun;
            }
            Err(problem) => {
                let mut d = Diagnostic::from(problem);
                d.severity = Severity::Warning;
                out.diagnostic(&d);
                unread += 1;
            }
        }
    }
    if jobs.is_empty() {
        let files = counted(files, "C or C++ file");
        let message = format!("no functions were found in {files}");
        out.diagnostic(&Diagnostic::error("TZ0106", message));
        return if unread > 0 {
            Code::CouldNotRun
        } else {
            Code::NoKernels
        };
    }
    let marked: Vec<bool> = jobs.iter().map(|j| j.parsed.annotated).collect();
    // The deeper they are nested, the more there is to win.
    let nesting = |j: &Job| Some(loopir::nesting(&j.parsed.lowered.as_ref().ok()?.body));
    let loops: Vec<Option<usize>> = jobs.iter().map(nesting).collect();
    match pipeline::run(jobs, &settings) {
        Ok(run) => {
            let mut reports = run.reports();
            let kernels: Vec<_> = run.kernels.iter().zip(&mut reports).collect();
            let progress = Progress::new("estimating", kernels.len());
            pipeline::for_each(kernels, settings.jobs, |(kernel, report)| {
                let proven = kernel.proven.as_ref();
                report.outlook = proven.map(|proven| outlook::of(proven, TIME_LIMIT));
                progress.step();
            });
            drop(progress);
            for report in &mut reports {
                // What does not lift is no fault here.
                for d in &mut report.diagnostics {
                    d.severity = Severity::Note;
                }
            }
            let rows = reports.iter().zip(marked).zip(loops);
            let rows: Vec<_> = rows.map(|((r, m), l)| (r, m, l)).collect();
            out.text(&table(&rows, &args.project.targets, args.lifting));
            out.text(&closing(&reports, files, unread));
            out.listing(&reports);
        }
        Err(d) => {
            out.diagnostic(&d);
            code = Code::CouldNotRun;
        }
    }
    code
}

/// The folders to look in, each with the flags for files of which nothing is known but their package's calls of `cc`, and
/// how the files are compiled that build scripts name.
fn places(args: &Scan) -> Result<(Vec<Place>, Compiled), Box<Diagnostic>> {
    let mut compiled = BTreeMap::new();
    let packages = match project::packages_as_noted(&args.project) {
        Err(d) if d.code != Some("TZ0702") => return Err(d),
        packages => packages.unwrap_or_default(),
    };
    let mut folders = args.folders.clone();
    for package in &packages {
        for (file, settings) in package.files() {
            compiled.insert(absolute(&package.dir.join(file)), settings);
        }
        if args.folders.is_empty() {
            folders.push(package.dir.clone());
        }
    }
    if folders.is_empty() {
        folders.push(".".into());
    }
    let with_flags = |folder: PathBuf| {
        let around = |p: &&project::Package| absolute(&folder).starts_with(absolute(&p.dir));
        let package = packages.iter().find(around);
        let flags =
            package.and_then(|p| Some(sources::cc_calls::flags(&p.dir, p.script.as_deref()?)));
        (folder, flags.unwrap_or_default())
    };
    Ok((folders.into_iter().map(with_flags).collect(), compiled))
}

/// A folder, and flags.
type Place = (PathBuf, Vec<String>);

/// How files are compiled, by absolute path.
type Compiled = BTreeMap<PathBuf, tensorize_build::Settings>;

/// A function, whether it is a kernel already, and how deep its loops are nested, if it could be read.
type Row<'a> = (&'a KernelReport, bool, Option<usize>);

fn table(rows: &[Row], targets: &[String], lifting: bool) -> String {
    let mut text = String::new();
    let mut files: Vec<(&Path, Vec<&Row>)> = Vec::new();
    for row in rows {
        if lifting && row.0.status != Status::Proven {
            continue;
        }
        match files.last_mut().filter(|(file, _)| *file == row.0.file) {
            Some((_, rows)) => rows.push(row),
            None => files.push((&row.0.file, vec![row])),
        }
    }
    for (file, rows) in files {
        let _ = writeln!(text, "{}", file.display());
        let mut cells = Vec::new();
        for (report, marked, loops) in rows {
            let mut row = vec![
                format!("  {}", report.line),
                report.name.clone(),
                if report.status == Status::Proven {
                    "lifts"
                } else {
                    "-"
                }
                .into(),
                if *marked { "kernel" } else { "" }.into(),
                match loops {
                    Some(0) => "no loop".into(),
                    Some(1) => "1 loop".into(),
                    Some(n) => format!("{n} loops deep"),
                    None => String::new(),
                },
            ];
            row.push(what(report, targets));
            row.push(
                report
                    .outlook
                    .as_ref()
                    .map_or(String::new(), |o| o.gain.clone()),
            );
            cells.push(row);
        }
        text += &columns(&cells);
    }
    text
}

/// What it is, or why it does not lift.
fn what(report: &KernelReport, targets: &[String]) -> String {
    if report.status != Status::Proven {
        let why = report.why.clone().unwrap_or_default();
        let line = why.lines().next().unwrap_or_default();
        let code = report.code.unwrap_or_default();
        return format!("{code} {line}").trim().to_owned();
    }
    let mut text = report.main_operator();
    if let Some(tier) = report.tier {
        let _ = write!(text, ", {tier}");
    }
    for target in targets {
        let status = report.targets.get(target).map(|t| t.status);
        if status != Some(crate::report::TargetStatus::Generated) {
            let _ = write!(text, ", not for {target}");
        }
    }
    text
}

fn closing(reports: &[KernelReport], files: usize, unread: usize) -> String {
    let lift = reports
        .iter()
        .filter(|r| r.status == Status::Proven)
        .count();
    let mut text = format!(
        "\n{} in {}: {lift} would lift",
        counted(reports.len(), "function"),
        counted(files, "file")
    );
    if unread > 0 {
        let _ = write!(text, "; {} could not be read", counted(unread, "file"));
    }
    text += "\n";
    if lift > 0 {
        let _ = writeln!(
            text,
            "What one might win is an estimate, from the code that it would have: calls that touch fewer than {LEAST} elements stay \
             with the original, and `cargo tensorize tune` measures. docs/commands.md says what the words mean."
        );
        text += "To have one: write TENSORIZE_KERNEL before it, or name it under \
                 `kernels` in `[package.metadata.tensorize]`; then `cargo tensorize`.\n";
    }
    text
}
