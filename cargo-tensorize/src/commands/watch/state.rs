//! What is known of each file and kernel, and what a look at them brings.

use crate::cli::{Common, Project};
use crate::commands::package::{chosen, named_but_not_there};
use crate::commands::{from_current_dir, proposer, threads, time_limit};
use crate::diagnostics::{Diagnostic, line_span};
use crate::pipeline::{self, Job, Settings};
use crate::project::{self, Package};
use crate::report::{KernelReport, Status};
use crate::source::Source;
use crate::{stored, tools};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tensorize_build::config::{BuildManifest, relative_to};
use tensorize_build::current::is_about;
use tensorize_build::hash::preprocess;
use tensorize_build::store::Store;

/// A file as it was: when it was written, its length, and which file it was. `None` where there was none.
type Stamp = Option<(SystemTime, u64, u64)>;

/// A function as it is lifted, whatever line it stands on.
type Key = blake3::Hash;

/// How far apart the clock and the times of files may be.
const CLOCK: Duration = Duration::from_millis(20);

/// Everything that is watched.
pub(super) struct State {
    project: Project,
    common: Common,
    packages: Vec<Watched>,
    /// Verdicts by what was proven: what comes back, as after a branch switch, is not proven again.
    verdicts: HashMap<Key, KernelReport>,
    problems: Vec<Diagnostic>,
}

struct Watched {
    package: Package,
    settings: Settings,
    /// The manifest, the build script, and what that noted.
    about: Vec<(PathBuf, Stamp)>,
    files: Vec<File>,
}

struct File {
    /// Relative to the manifest.
    name: String,
    source: Source,
    /// The file and the headers that it includes, as they were when it was read.
    inputs: Vec<(PathBuf, Stamp)>,
    kernels: Vec<KernelReport>,
    problem: Option<Diagnostic>,
    /// Its inputs are to be found again.
    is_read_anew: bool,
    /// When it was read.
    read_at: SystemTime,
}

/// What a look brought.
#[derive(Default)]
pub(super) struct Look {
    /// How many files were read again.
    pub files: usize,
    /// The packages were read again.
    pub reloaded: bool,
    /// Kernels of which there is something new to tell, by name.
    pub changed: BTreeSet<String>,
    /// Kernels that had to be proven, by name.
    pub proved: BTreeSet<String>,
}

impl State {
    /// Reads the packages. An `Err` is a project that can't be read, or a missing solver.
    pub(super) fn new(project: &Project, common: &Common) -> Result<State, Box<Diagnostic>> {
        tools::solver(&tensorize_prove::solver::find())?;
        let mut state = State {
            project: project.clone(),
            common: common.clone(),
            packages: Vec::new(),
            verdicts: HashMap::new(),
            problems: Vec::new(),
        };
        state.reload()?;
        Ok(state)
    }

    fn reload(&mut self) -> Result<(), Box<Diagnostic>> {
        let packages = project::packages(&self.project)?;
        let mut old: HashMap<PathBuf, File> = HashMap::new();
        for file in self.packages.drain(..).flat_map(|p| p.files) {
            old.insert(file.source.absolute(), file);
        }
        for package in packages {
            let settings = Settings {
                z3: tensorize_prove::solver::find(),
                jobs: threads(&self.common),
                targets: Vec::new(),
                tier: package.metadata.tier(),
                time_limit: time_limit(&self.common, package.metadata.time_limit),
                proposer: proposer(
                    package.metadata.proposer.clone(),
                    &package.dir,
                    package.metadata.proposer_first,
                    package.metadata.proposer_time_limit,
                ),
                least_share: None,
                differential: false,
                second: None,
            };
            let files = package.files().into_iter().map(|(name, how)| {
                let path = package.dir.join(&name);
                let source = Source {
                    file: from_current_dir(&path),
                    settings: how,
                };
                let known = old.remove(&source.absolute());
                File {
                    kernels: known.map(|f| f.kernels).unwrap_or_default(),
                    name: relative_to(&package.dir, Path::new(&name)),
                    source,
                    inputs: vec![(path, None)],
                    problem: None,
                    is_read_anew: true,
                    read_at: SystemTime::UNIX_EPOCH,
                }
            });
            let files = files.collect();
            let script = package.script.clone();
            let script = script.unwrap_or_else(|| package.dir.join("build.rs"));
            let manifest = package.dir.join("Cargo.toml");
            let about = [manifest, script, BuildManifest::path(&package.dir)];
            self.packages.push(Watched {
                about: about.map(stamped).into(),
                package,
                settings,
                files,
            });
        }
        self.seed();
        Ok(())
    }

    /// What is stored and current need not be proven to be shown.
    fn seed(&mut self) {
        for watched in &self.packages {
            let entries = Store::of_manifest(&watched.package.dir).load().entries;
            for file in &watched.files {
                let records = entries.iter().map(|e| &e.record);
                let of_file = records.filter(|r| r.file == file.name && r.status == Status::Proven);
                let of_file: Vec<_> = of_file.collect();
                if of_file.is_empty() {
                    continue;
                }
                let relative = Path::new(&file.name);
                let Ok(seen) = preprocess(&file.source.settings, relative) else {
                    continue;
                };
                let parsed = pipeline::parse(vec![file.source.clone()], watched.settings.jobs);
                let jobs = parsed.into_iter().filter_map(|(_, p)| p.ok()).flatten();
                for job in jobs {
                    let name = &job.parsed.name;
                    let current = of_file.iter().find(|r| {
                        r.name == *name
                            && is_about(r, &seen.hashes_of(name))
                            && r.is_of_this_version()
                    });
                    if let (Some(record), Some(key)) = (current, key(&job, &watched.settings)) {
                        let mut report =
                            stored::report(record, file.source.file.clone(), job.parsed.line);
                        report.targets.clear();
                        self.verdicts.insert(key, report);
                    }
                }
            }
        }
    }

    /// The folders in which something may happen: those of all inputs, and those above them in their package.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let mut all = BTreeSet::new();
        for watched in &self.packages {
            let dir = &watched.package.dir;
            let inputs = watched.files.iter().flat_map(|f| &f.inputs);
            for (path, _) in inputs.chain(&watched.about) {
                let above = path.ancestors().skip(1);
                let inside = above.take_while(|a| a.starts_with(dir));
                let mut inside: Vec<_> = inside.map(Path::to_owned).collect();
                if inside.is_empty() {
                    inside.extend(path.parent().map(Path::to_owned));
                }
                all.extend(inside);
            }
        }
        all.into_iter().collect()
    }

    /// The kernels, in the order of their sources.
    pub(super) fn kernels(&self) -> Vec<&KernelReport> {
        let files = self.packages.iter().flat_map(|p| &p.files);
        files.flat_map(|f| &f.kernels).collect()
    }

    /// What is wrong with the project or with a file as a whole.
    pub(super) fn problems(&self) -> impl Iterator<Item = &Diagnostic> {
        let files = self.packages.iter().flat_map(|p| &p.files);
        let of_files = files.filter_map(|f| f.problem.as_ref());
        self.problems.iter().chain(of_files)
    }

    /// Reads what has changed, and proves what is new in it. Files with mistakes are tried again if `eager`: what
    /// they lack may be there now.
    pub(super) fn look(&mut self, eager: bool) -> Look {
        let mut look = Look::default();
        let about = self.packages.iter().flat_map(|p| &p.about);
        if about
            .into_iter()
            .any(|(path, stamp)| stamp_of(path) != *stamp)
        {
            look.reloaded = true;
            self.problems.clear();
            if let Err(d) = self.reload() {
                self.problems.push(*d);
                // The manifest is being edited: until it is right again, all stays as it was.
            }
        }
        let mut named = Vec::new();
        for at in 0..self.packages.len() {
            self.look_at(at, eager, &mut look);
            let watched = &self.packages[at];
            for kernel in &watched.package.metadata.kernels {
                let is_there = watched.files.iter().any(|f| {
                    let mut names = f.kernels.iter().map(|k| format!("{}::{}", f.name, k.name));
                    tensorize_build::config::is_in(kernel, &f.name)
                        && (f.problem.is_some()
                            || names.any(|n| n.rsplit("::").next() == kernel.rsplit("::").next()))
                });
                if !is_there {
                    named.push(named_but_not_there(&watched.package, kernel));
                }
            }
        }
        self.problems.retain(|d| d.code != Some("TZ0701"));
        self.problems.extend(named);
        look
    }

    fn look_at(&mut self, at: usize, eager: bool, look: &mut Look) {
        let watched = &mut self.packages[at];
        let mut dirty = Vec::new();
        for (i, file) in watched.files.iter_mut().enumerate() {
            let now: Vec<Stamp> = file.inputs.iter().map(|(p, _)| stamp_of(p)).collect();
            let changed = file
                .inputs
                .iter()
                .zip(&now)
                .any(|((_, old), new)| old != new);
            let broken =
                file.problem.is_some() || file.kernels.iter().any(|k| k.status == Status::Error);
            if changed || file.is_read_anew || (broken && eager) {
                // Taken before it is read: what changes from now on is another change.
                for ((_, stamp), now) in file.inputs.iter_mut().zip(now) {
                    *stamp = now;
                }
                dirty.push(i);
                look.files += usize::from(changed || file.is_read_anew);
                file.is_read_anew = true;
                file.read_at = SystemTime::now();
            }
        }
        let sources = dirty.iter().map(|i| watched.files[*i].source.clone());
        let parsed = pipeline::parse(sources.collect(), watched.settings.jobs);
        // Where each function's report goes, once all are there.
        let mut slots: Vec<(usize, Option<KernelReport>)> = Vec::new();
        let mut work: Vec<(usize, Option<Key>, Job)> = Vec::new();
        let mut before: HashMap<String, KernelReport> = HashMap::new();
        for (i, (_, parsed)) in dirty.iter().zip(parsed) {
            let file = &mut watched.files[*i];
            let old = std::mem::take(&mut file.kernels);
            file.problem = None;
            let jobs = match parsed {
                Ok(jobs) => chosen(&watched.package, &file.name, jobs),
                Err(problem) => {
                    let d = Diagnostic::from(problem);
                    for known in old {
                        look.changed.insert(known.name.clone());
                        // Nothing that was known of it holds.
                        let mut k = KernelReport::new(known.name, known.file, known.line);
                        k.fail(Status::Error, d.clone());
                        k.diagnostics.clear();
                        file.kernels.push(k);
                    }
                    file.problem = Some(d);
                    continue;
                }
            };
            before.extend(old.into_iter().map(|k| (k.name.clone(), k)));
            for job in jobs {
                let key = key(&job, &watched.settings);
                let known = key.as_ref().and_then(|k| self.verdicts.get(k));
                let known = known.map(|k| moved(k, &job));
                if known.is_none() {
                    work.push((slots.len(), key, job));
                }
                slots.push((*i, known));
            }
        }
        if !work.is_empty() {
            let jobs = work.iter().map(|(_, _, job)| job.clone()).collect();
            match pipeline::run(jobs, &watched.settings) {
                Ok(run) => {
                    for ((slot, key, _), kernel) in work.into_iter().zip(run.kernels) {
                        look.proved.insert(kernel.report.name.clone());
                        if let Some(key) = key {
                            self.verdicts.insert(key, kernel.report.clone());
                        }
                        slots[slot].1 = Some(kernel.report);
                    }
                }
                Err(d) => self.problems.push(*d),
            }
        }
        for (file, report) in slots {
            let Some(report) = report else { continue };
            let same = before
                .remove(&report.name)
                .is_some_and(|old| tells_the_same(&old, &report));
            if !same {
                look.changed.insert(report.name.clone());
            }
            watched.files[file].kernels.push(report);
        }
    }

    /// Finds out what the files that were read include, so that the next look knows.
    pub(super) fn prepare(&mut self) {
        for watched in &mut self.packages {
            for file in watched.files.iter_mut().filter(|f| f.is_read_anew) {
                file.is_read_anew = false;
                // While a file can't be preprocessed, it has the inputs that it had.
                let Ok(seen) = preprocess(&file.source.settings, Path::new(&file.name)) else {
                    continue;
                };
                let known: HashMap<PathBuf, Stamp> = file.inputs.drain(..).collect();
                let stamped = |path: PathBuf| match known.get(&path) {
                    // As it was when it was read.
                    Some(stamp) => (path, *stamp),
                    None => {
                        let stamp = stamp_of(&path);
                        // A header that was written since then may not be what was read.
                        let is_old = |s: &(SystemTime, u64, u64)| s.0 + CLOCK < file.read_at;
                        (path, stamp.filter(is_old))
                    }
                };
                let own = watched.package.dir.join(&file.name);
                let mut inputs: HashSet<PathBuf> = seen.inputs.into_iter().collect();
                inputs.insert(own);
                file.inputs = inputs.into_iter().map(stamped).collect();
            }
        }
    }
}

fn stamped(path: PathBuf) -> (PathBuf, Stamp) {
    let stamp = stamp_of(&path);
    (path, stamp)
}

fn stamp_of(path: &Path) -> Stamp {
    let meta = path.metadata().ok()?;
    #[cfg(unix)]
    let id = std::os::unix::fs::MetadataExt::ino(&meta);
    #[cfg(not(unix))]
    let id = 0;
    Some((meta.modified().ok()?, meta.len(), id))
}

/// What the verdict depends on; `None` for a function that can't be lifted, which is quickly told anew.
fn key(job: &Job, settings: &Settings) -> Option<Key> {
    let function = job.parsed.lowered.as_ref().ok()?;
    let text = without_lines(&function.to_string());
    let (signature, tier) = (&job.parsed.signature, settings.tier);
    let float = job.source.float_tier();
    let place = is_included(job).then_some((&job.parsed.span.file, job.parsed.span.line));
    let all = format!(
        "{text}\n{signature:?}\n{tier:?}\n{float:?}\n{:?}\n{place:?}",
        settings.time_limit
    );
    Some(blake3::hash(all.as_bytes()))
}

/// LoopIR's text without ` @12`, the lines that its loops stand on.
fn without_lines(text: &str) -> String {
    let mut parts = text.split(" @");
    let mut bare = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() == part.len() {
            bare += " @";
        }
        bare += rest;
    }
    bare
}

/// Whether a function stands in a file that its source includes, as far as lines tell.
fn is_included(job: &Job) -> bool {
    job.parsed.line != job.parsed.span.line
}

/// A verdict on a function that stands elsewhere now, or did when it was proven.
fn moved(verdict: &KernelReport, job: &Job) -> KernelReport {
    let mut report = verdict.clone();
    let (span, old) = (&job.parsed.span, report.line);
    report.line = job.parsed.line;
    report.file.clone_from(&job.source.file);
    // What is told of an included file is where it was, as long as the function is.
    if is_included(job) {
        return report;
    }
    for d in &mut report.diagnostics {
        if let Some(at) = &d.span {
            let line = (at.line + span.line).saturating_sub(old).max(1);
            d.span = Some(line_span(&span.file, line));
        }
    }
    report
}

fn tells_the_same(a: &KernelReport, b: &KernelReport) -> bool {
    let told = |k: &KernelReport| {
        (
            k.status,
            k.tier,
            k.line,
            k.code,
            k.why.clone(),
            k.summary.clone(),
            k.guards.clone(),
        )
    };
    told(a) == told(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_are_left_out() {
        let text = "func @f(a: i32) {\n  loop #1 @12 while a {";
        assert_eq!(
            without_lines(text),
            "func @f(a: i32) {\n  loop #1 while a {"
        );
        assert_eq!(without_lines("loop #1 @7"), without_lines("loop #1 @8"));
    }
}
