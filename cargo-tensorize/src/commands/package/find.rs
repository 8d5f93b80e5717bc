//! Which kernels a package has, and which of them must be read: preprocessing tells whether what is stored is about them,
//! and takes a fraction of the memory that reading takes.

use super::super::locked::line_of;
use super::{Total, chosen, from_current_dir, marked_in_vain, named_but_not_there};
use crate::cache::Question;
use crate::diagnostics::line_span;
use crate::exit::Code;
use crate::output::Output;
use crate::pipeline::{self, Job, Kernel, Settings};
use crate::project::Package;
use crate::source::Source;
use crate::stored;
use crate::tools::not_preprocessed;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tensorize_build::config;
use tensorize_build::current::wanted;
use tensorize_build::hash::{Hashes, Preprocessed, Signs};
use tensorize_build::record::Record;
use tensorize_build::store::Entry;
use tensorize_lift::c::Span;

/// A kernel of a file.
pub(super) enum InFile<'a> {
    /// What is stored is about it, and it stands there.
    Stored(&'a Entry, Span),
    /// Nothing is.
    Read(Box<Found>),
}

impl InFile<'_> {
    pub(super) fn name(&self) -> &str {
        match self {
            InFile::Stored(entry, _) => &entry.record.name,
            InFile::Read(f) => f.name(),
        }
    }

    pub(super) fn read(&self) -> Option<&Found> {
        match self {
            InFile::Stored(..) => None,
            InFile::Read(f) => Some(f),
        }
    }
}

/// A kernel with its place in the package.
pub(super) struct Found {
    pub(super) job: Job,
    /// Relative to the manifest.
    pub(super) file: String,
    hashes: Hashes,
    pub(super) signs: Signs,
    /// It is read as the same where characters have the other signs; before [`super::signs::mark`]: it may be.
    pub(super) either_sign: bool,
    /// The C compiler's version.
    compiler: String,
}

impl Found {
    pub(super) fn name(&self) -> &str {
        &self.job.parsed.name
    }

    pub(super) fn record(
        &self,
        kernel: &Kernel,
        settings: &Settings,
        z3: &str,
    ) -> (Record, BTreeMap<String, String>) {
        let (hashes, either_sign) = (&self.hashes, self.either_sign);
        stored::record(kernel, &self.file, hashes, either_sign, z3, settings)
    }

    pub(super) fn question<'a>(&'a self, settings: &'a Settings, z3: &'a str) -> Question<'a> {
        Question {
            kernel: self.name(),
            file: &self.file,
            hashes: &self.hashes,
            compiler: &self.compiler,
            z3,
            settings,
        }
    }
}

/// A file, as it is shown, with what the preprocessor made of it.
struct File {
    /// Relative to the manifest.
    name: String,
    source: Source,
    seen: Result<Preprocessed, String>,
}

/// What is stored of a kernel of a file with these hashes, if it is current.
type Current<'a, 'e> = &'a dyn Fn(&str, &str, &Hashes) -> Option<&'e Entry>;

/// The annotated and the named functions of all files, in order. Files whose kernels are all stored are not read.
pub(super) fn find_kernels<'e>(
    package: &Package,
    settings: &Settings,
    current: Current<'_, 'e>,
    all: &mut Total,
    out: &Output,
) -> Vec<InFile<'e>> {
    let files = pipeline::preprocessed(package, settings.jobs);
    let file = |(name, settings, seen): (String, tensorize_build::Settings, _)| File {
        seen,
        source: Source {
            file: from_current_dir(&package.dir.join(&name)),
            settings,
        },
        name,
    };
    let files: Vec<File> = files.into_iter().map(file).collect();
    let known: Vec<_> = files
        .iter()
        .map(|f| all_stored(package, f, current))
        .collect();
    let unread = files.iter().zip(&known).filter(|(_, k)| k.is_none());
    let unread = unread.map(|(f, _)| f.source.clone()).collect();
    let mut parsed = pipeline::parse(unread, settings.jobs).into_iter();

    let mut found = Vec::new();
    let named = package.metadata.kernels.iter().map(String::as_str);
    let mut named: BTreeSet<&str> = named.collect();
    for (file, known) in files.into_iter().zip(known) {
        for d in file
            .seen
            .iter()
            .flat_map(|s| marked_in_vain(&file.source.file, s))
        {
            out.diagnostic(&d);
            all.code = all.code.worse(Code::CouldNotRun);
        }
        let mut is_there = |name: &str| {
            named.retain(|k| !(config::is_in(k, &file.name) && k.ends_with(&format!("::{name}"))));
        };
        if let Some(stored) = known {
            stored.iter().for_each(|(e, _)| is_there(&e.record.name));
            found.extend(stored.into_iter().map(|(e, span)| InFile::Stored(e, span)));
            continue;
        }
        let Some((_, parsed)) = parsed.next() else {
            break;
        };
        let jobs = match parsed {
            Ok(jobs) => jobs,
            Err(problem) => {
                named.retain(|k| !config::is_in(k, &file.name));
                out.diagnostic(&problem.into());
                all.code = all.code.worse(Code::CouldNotRun);
                continue;
            }
        };
        jobs.iter().for_each(|j| is_there(&j.parsed.name));
        let jobs = chosen(package, &file.name, jobs);
        match file.seen {
            Ok(seen) => {
                let name = config::relative_to(&package.dir, Path::new(&file.name));
                found.extend(
                    jobs.into_iter()
                        .map(|job| in_file(job, &name, &seen, current)),
                );
            }
            Err(why) if !jobs.is_empty() => {
                all.code = all.code.worse(Code::CouldNotRun);
                match not_preprocessed(why, &file.source.file) {
                    Ok(d) => out.diagnostic(&d),
                    Err(d) => {
                        out.diagnostic(&d);
                        return found;
                    }
                }
            }
            Err(_) => {}
        }
    }
    for kernel in named {
        out.diagnostic(&named_but_not_there(package, kernel));
        all.code = all.code.worse(Code::CouldNotRun);
    }
    found
}

/// Every kernel of the file, in order, if what is stored is about all of them. `None` of a file that has none: whoever marks a
/// function in a way that only the front end sees is to be heard.
fn all_stored<'e>(
    package: &Package,
    file: &File,
    current: Current<'_, 'e>,
) -> Option<Vec<(&'e Entry, Span)>> {
    let seen = file.seen.as_ref().ok()?;
    let name = config::relative_to(&package.dir, Path::new(&file.name));
    let wanted = wanted(&package.metadata, &name, seen).into_iter();
    let stored = wanted.map(|kernel| {
        let entry = current(&name, &kernel, &seen.hashes_of(&kernel))?;
        let line = line_of(&file.source.file, &kernel, Some(&entry.record));
        Some((entry, line_span(&file.source.file, line)))
    });
    let mut stored: Vec<_> = stored.collect::<Option<_>>()?;
    stored.sort_by_key(|(_, span)| span.line);
    (!stored.is_empty()).then_some(stored)
}

fn in_file<'e>(job: Job, file: &str, seen: &Preprocessed, current: Current<'_, 'e>) -> InFile<'e> {
    let hashes = seen.hashes_of(&job.parsed.name);
    if let Some(entry) = current(file, &job.parsed.name, &hashes) {
        let span = line_span(&job.source.file, job.parsed.line);
        return InFile::Stored(entry, span);
    }
    InFile::Read(Box::new(Found {
        file: file.to_owned(),
        hashes,
        signs: seen.signs,
        // libclang gives such literals the sign that it was built with.
        either_sign: !seen.text.contains("L'"),
        compiler: seen.compiler.clone(),
        job,
    }))
}
