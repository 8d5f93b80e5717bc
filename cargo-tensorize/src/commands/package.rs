//! No verb, and `check`: the kernels of a Cargo project.

mod find;
mod signs;

use find::{Found, InFile, find_kernels};

use super::{Output, packages, threads};
use crate::cache::Shared;
use crate::cli::{Common, Project, SecondSolver, TierName};
use crate::diagnostics::{Diagnostic, line_span};
use crate::exit::Code;
use crate::pipeline::{self, Job, Kernel, Settings};
use crate::project::Package;
use crate::report::{KernelReport, Status};
use crate::words::listed;
use crate::{generate, stored, tools};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tensorize_build::hash::{Hashes, Preprocessed};
use tensorize_build::record::{Record, is_c_name};
use tensorize_build::store::{Entry, Store};
use tensorize_ir::guard::Tier;

/// What to do with the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Store them.
    Store,
    /// Compare them with what is stored. A lower tier than this one is a failure; the configuration's if there is none.
    Check(Option<TierName>),
}

/// Does the work for every chosen package.
pub fn run(
    project: &Project,
    second: &SecondSolver,
    common: &Common,
    mode: Mode,
    out: &Output,
) -> Code {
    if let Err(d) = known(&project.targets) {
        out.diagnostic(&d);
        return Code::Usage;
    }
    let packages = match packages(project, out) {
        Ok(packages) => packages,
        Err(code) => return code,
    };
    let z3 = tensorize_prove::solver::find();
    let version = match tools::solver(&z3) {
        Ok(solver) => solver.version().to_owned(),
        Err(d) => {
            out.diagnostic(&d);
            return Code::CouldNotRun;
        }
    };
    let (second, _files) = match super::second_solver(second) {
        Ok(found) => found,
        Err(d) => {
            out.diagnostic(&d);
            return Code::CouldNotRun;
        }
    };
    // What is stored has nothing to show to another solver.
    let force = project.force || second.is_some();
    let shared = match mode {
        Mode::Store => Shared::open(out),
        Mode::Check(_) => Shared::none(),
    };
    let mut all = Total {
        z3_version: version,
        ..Total::default()
    };
    for package in &packages {
        let settings = Settings {
            z3: z3.clone(),
            jobs: threads(common),
            targets: package.wanted_targets(project),
            tier: package.metadata.tier(),
            least_share: package.metadata.least_share,
            time_limit: super::time_limit(common, package.metadata.time_limit),
            proposer: super::proposer(
                package.metadata.proposer.clone(),
                &package.dir,
                package.metadata.proposer_first,
                package.metadata.proposer_time_limit,
            ),
            differential: true,
            second: second.clone(),
        };
        let before = all.reports.len();
        if let Err(d) = known(&settings.targets)
            .and_then(|()| one_package(package, &settings, force, mode, &shared, &mut all, out))
        {
            out.diagnostic(&d);
            all.code = all.code.worse(Code::CouldNotRun);
        }
        if !package.asks_for_targets(project) {
            let reports = all.reports[before..].iter_mut();
            reports.for_each(KernelReport::excuse_what_was_not_run);
        }
    }
    shared.finish(out);
    finish(all, project, common, mode, out)
}

fn finish(all: Total, project: &Project, common: &Common, mode: Mode, out: &Output) -> Code {
    let mut code = all.code;
    if all.reports.is_empty() && code == Code::Clean {
        out.diagnostic(&no_kernels());
        code = Code::NoKernels;
    }
    // CI asks for proofs, and for those that are stored.
    let check = matches!(mode, Mode::Check(_));
    let refuse = check && project.locked;
    let targets: Vec<String> = all.targets.into_iter().collect();
    let strict = common.strict || refuse;
    code = code.worse(out.report(
        &all.reports,
        &targets,
        strict,
        all.solvers_peak,
        all.z3_version,
    ));
    if refuse && !all.out_of_date.is_empty() {
        code = code.worse(Code::OutOfDate);
    }
    if check && !all.out_of_date.is_empty() {
        let names: Vec<&str> = all.out_of_date.iter().map(String::as_str).collect();
        let message = format!(
            "stored results are missing or out of date: {}",
            listed(&names)
        );
        let help = "run `cargo tensorize`, and commit `.tensorize/`";
        let d = if refuse {
            Diagnostic::error
        } else {
            Diagnostic::warning
        }("TZ0704", message);
        out.diagnostic(&d.help(help));
    }
    code
}

/// What all packages gave.
struct Total {
    reports: Vec<KernelReport>,
    targets: BTreeSet<String>,
    out_of_date: Vec<String>,
    z3_version: String,
    solvers_peak: u64,
    code: Code,
}

impl Default for Total {
    fn default() -> Total {
        Total {
            reports: Vec::new(),
            targets: BTreeSet::new(),
            out_of_date: Vec::new(),
            z3_version: String::new(),
            solvers_peak: 0,
            code: Code::Clean,
        }
    }
}

/// An error for the first target that there isn't.
pub fn known(targets: &[String]) -> Result<(), Box<Diagnostic>> {
    match targets.iter().find(|t| generate::find(t).is_none()) {
        Some(t) => {
            let help = format!("there are: {}", generate::names().join(", "));
            Err(Box::new(
                Diagnostic::error("TZ0601", format!("there is no target `{t}`")).help(help),
            ))
        }
        None => Ok(()),
    }
}

fn one_package(
    package: &Package,
    settings: &Settings,
    force: bool,
    mode: Mode,
    shared: &Shared,
    all: &mut Total,
    out: &Output,
) -> Result<(), Box<Diagnostic>> {
    let store = Store::of_manifest(&package.dir);
    if mode == Mode::Store {
        store.tidy();
    }
    let contents = store.load();
    if let Some(newer) = contents.rejected.iter().find(|r| r.fault.is_newer) {
        let help = "update cargo-tensorize; what a later version has stored is not replaced";
        let d = Diagnostic::error("TZ0706", newer.to_string());
        return Err(Box::new(d.help(help)));
    }
    for rejected in &contents.rejected {
        out.diagnostic(&Diagnostic::warning("TZ0706", rejected.to_string()));
    }
    let entries: BTreeMap<&str, &Entry> = contents
        .entries
        .iter()
        .map(|e| (e.record.name.as_str(), e))
        .collect();
    let z3 = all.z3_version.clone();
    let current = |file: &str, name: &str, hashes: &Hashes| {
        let entry = entries.get(name).filter(|_| !force)?;
        // A build looks for it under the file's name, too.
        (entry.record.file == file).then_some(())?;
        stored::is_current(&entry.record, hashes, &z3, settings).then_some(*entry)
    };
    let found = find_kernels(package, settings, &current, all, out);

    // What is stored and current keeps its place among the others, and so does what another checkout has found out.
    let mut reports: Vec<Option<KernelReport>> = Vec::new();
    let mut work = Vec::new();
    let mut written = Ok(());
    let twice = twice(&found);
    let read = found.iter().filter_map(InFile::read);
    let unknown = read.filter(|f| !force && !twice.contains(f.name()));
    shared.fetch(unknown.map(|f| f.question(settings, &all.z3_version)), out);
    for f in found {
        let f = match f {
            InFile::Stored(entry, span) => {
                let mut report = stored::report(&entry.record, span.file.clone(), span.line);
                if let Mode::Check(min_tier) = mode {
                    let weakest = min_tier.map_or(settings.tier, Tier::from);
                    report.demand(weakest, &span, stored::tiers_of_code(&entry.record));
                }
                reports.push(Some(report));
                continue;
            }
            InFile::Read(f) => f,
        };
        if !force
            && !twice.contains(f.name())
            && let Some(entry) = shared.find(&f.question(settings, &all.z3_version))
        {
            let saved = store.save(&entry.record, &entry.sources);
            written = written.and(saved.map(|_| ()).map_err(|e| cannot_write(&e)));
            let Job { source, parsed, .. } = &f.job;
            let mut report = stored::report(&entry.record, source.file.clone(), parsed.line);
            report.cached = true;
            reports.push(Some(report));
        } else {
            reports.push(None);
            work.push(*f);
        }
    }
    let mut names: BTreeSet<String> = reports.iter().flatten().map(|r| r.name.clone()).collect();
    let mut done = Vec::new();
    signs::mark(&mut work, settings.jobs);
    for batch in batches(&work) {
        let jobs = batch.iter().map(|f| f.job.clone()).collect();
        let run = pipeline::run(jobs, settings)?;
        all.solvers_peak = all.solvers_peak.max(run.solvers_peak);
        out.confirmation(run.confirmation.as_ref());
        for (f, mut kernel) in batch.iter().zip(run.kernels) {
            if !names.insert(kernel.report.name.clone()) {
                let message = format!(
                    "the package has two kernels called `{}`",
                    kernel.report.name
                );
                let d = Diagnostic::error("TZ0705", message).at(Some(f.job.parsed.span.clone()));
                kernel
                    .report
                    .fail(Status::Error, d.help("give one of them another name"));
            } else if mode == Mode::Store {
                // One that can't be written does not take the others along.
                let (record, sources) = f.record(&kernel, settings, &all.z3_version);
                let saved = store.save(&record, &sources);
                written = written.and(saved.map(|_| ()).map_err(|e| cannot_write(&e)));
                shared.keep(&f.question(settings, &all.z3_version), &record, &sources);
            } else if !same_result(
                entries.get(kernel.report.name.as_str()).copied(),
                f,
                &kernel,
                settings,
                &all.z3_version,
            ) {
                all.out_of_date.push(kernel.report.name.clone());
            }
            if let Mode::Check(min_tier) = mode {
                let weakest = min_tier.map_or(settings.tier, Tier::from);
                let codes = kernel.artefacts.iter();
                let tiers: Vec<_> = codes.map(|(t, a)| (t.as_str(), a.tier)).collect();
                kernel.report.demand(weakest, &kernel.span, tiers);
            }
            done.push(kernel.report);
        }
    }
    let stored = contents.entries.iter().map(|e| e.record.name.as_str());
    let damaged = contents.rejected.iter().filter_map(|r| r.name());
    let gone = stored.chain(damaged.filter(|name| is_c_name(name)));
    let gone = gone.filter(|name| !names.contains(*name));
    for name in gone.filter(|_| all.code == Code::Clean) {
        if mode == Mode::Store {
            written = written.and(store.remove(name).map_err(|e| cannot_write(&e)));
        } else {
            all.out_of_date.push(name.to_owned());
        }
    }
    let mut done = done.into_iter();
    all.reports.extend(
        reports
            .into_iter()
            .filter_map(|r| r.or_else(|| done.next())),
    );
    if !names.is_empty() {
        all.targets.extend(settings.targets.iter().cloned());
    }
    written
}

/// Names that more than one kernel has.
fn twice(found: &[InFile]) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let again = found.iter().filter(|f| !seen.insert(f.name()));
    again.map(|f| f.name().to_owned()).collect()
}

/// The kernels in groups of whole files: what is done is stored before the next group begins, so that whoever
/// interrupts a long run keeps most of it.
fn batches(work: &[Found]) -> Vec<&[Found]> {
    const ENOUGH: usize = 64;
    let mut batches = Vec::new();
    let mut rest = work;
    let mut taken = 0;
    for file in work.chunk_by(|a, b| a.file == b.file) {
        taken += file.len();
        if taken >= ENOUGH {
            let (batch, others) = rest.split_at(taken);
            batches.push(batch);
            rest = others;
            taken = 0;
        }
    }
    // One at least: with nothing to do, what a second solver says of its own lemmas is asked for all the same.
    if !rest.is_empty() || batches.is_empty() {
        batches.push(rest);
    }
    batches
}

/// The error names the file.
fn cannot_write(e: &std::io::Error) -> Box<Diagnostic> {
    let help = match e.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "make room on the disk, and run `cargo tensorize` again; what was stored before is as it was"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "results are stored beside the manifest, which takes the right to write there"
        }
        _ => {
            "results are stored in `.tensorize/`, a folder beside the manifest that can be written to"
        }
    };
    Box::new(Diagnostic::error("TZ0703", format!("cannot write {e}")).help(help))
}

/// Whether the store has what was just found out. A measured error differs from run to run.
fn same_result(
    entry: Option<&Entry>,
    f: &Found,
    kernel: &Kernel,
    settings: &Settings,
    z3: &str,
) -> bool {
    let Some(entry) = entry else { return false };
    let (mut new, mut sources) = f.record(kernel, settings, z3);
    let mut old = entry.record.clone();
    // Nor is it another result if the kernel stands elsewhere, since what is above it has grown.
    let place = |r: &Record| format!("{}:{}", r.file, r.line);
    for source in sources.values_mut() {
        *source = source.replacen(&place(&new), &place(&old), 1);
    }
    new.line = old.line;
    for r in [&mut new, &mut old] {
        r.evidence = None;
        r.checksum.clear();
        r.targets.values_mut().for_each(|t| t.source_hash = None);
    }
    new == old && sources == entry.sources
}

/// The functions of a file (relative to the manifest) that are kernels.
pub fn chosen(package: &Package, file: &str, functions: Vec<Job>) -> Vec<Job> {
    let names: Vec<&str> = package.metadata.kernels_of(file).collect();
    let is_kernel = |j: &Job| j.parsed.annotated || names.contains(&j.parsed.name.as_str());
    functions.into_iter().filter(is_kernel).collect()
}

/// What to say of a project without kernels.
pub fn no_kernels() -> Diagnostic {
    let help = "mark a function with TENSORIZE_KERNEL, or name it in `[package.metadata.tensorize] kernels`";
    Diagnostic::error("TZ0106", "no kernels were found").help(help)
}

/// What to say of a kernel that the manifest names in vain.
pub fn named_but_not_there(package: &Package, kernel: &str) -> Diagnostic {
    let message = format!(
        "package `{}` names the kernel `{kernel}`, but there is none",
        package.name
    );
    let help = "see `kernels` in `[package.metadata.tensorize]`; the file must be one that the build script \
                compiles, or listed under `files`";
    Diagnostic::error("TZ0701", message).help(help)
}

/// What to say of the marks of a file (as it is shown) that mark no function: whoever wrote them believes to have a kernel.
pub fn marked_in_vain(file: &Path, seen: &Preprocessed) -> Vec<Diagnostic> {
    let text = super::locked::text_of(file);
    // The first mark of which that is so: good enough to show, without a parser.
    let line_of = |is_it: &dyn Fn(&str) -> bool| {
        let mut behind = text.match_indices(MARK).map(|(at, _)| at + MARK.len());
        let at = behind.find(|at| is_it(text[*at..].trim_start()));
        let line = text[..at.unwrap_or(0)].matches('\n').count() + 1;
        Some(line_span(file, u32::try_from(line).unwrap_or(1)))
    };
    let gone = tensorize_build::current::marked_but_gone(&seen.text, &text);
    let gone = gone.into_iter().map(|name| {
        let declares = |rest: &str| {
            let declared = rest.split([';', '{']).next().unwrap_or_default();
            declared.contains(&name)
        };
        let message = format!(
            "{MARK} stands before a declaration of `{name}`, which is not defined in this file"
        );
        Diagnostic::error("TZ0701", message)
            .at(line_of(&declares))
            .help("write it before the function itself, where its body is, or take it away")
    });
    let found = tensorize_build::current::marked_in_vain(&seen.text).into_iter();
    let found = found.map(|what| {
        let word = what.split(' ').next().unwrap_or_default();
        let before = match &*what {
            "" => "nothing".into(),
            _ => format!("`{what}`, which is no function"),
        };
        Diagnostic::error("TZ0701", format!("{MARK} stands before {before}"))
            .at(line_of(&|rest| rest.starts_with(word)))
            .help("write it directly before the function that shall be a kernel, or take it away")
    });
    found.chain(gone).collect()
}

/// As users write it.
const MARK: &str = "TENSORIZE_KERNEL";

/// The path as it is shown: relative to the current folder if it is below it.
pub fn from_current_dir(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    here.and_then(|h| path.strip_prefix(h).ok().map(Path::to_owned))
        .unwrap_or_else(|| path.to_owned())
}
