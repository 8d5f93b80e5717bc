//! `check --locked`: the gate in CI. What is stored is compared with the sources as they are now; nothing is proven, so
//! that it takes a C compiler and nothing more. `--reprove` trusts nothing that is stored, and goes the other way.

use super::package::{from_current_dir, known};
use super::{Output, packages, threads};
use crate::cli::{Common, Project, TierName};
use crate::diagnostics::{Diagnostic, line_span};
use crate::exit::Code;
use crate::pipeline;
use crate::project::Package;
use crate::report::{KernelReport, Status};
use crate::stored;
use crate::tools::not_preprocessed;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;
use tensorize_build::config;
use tensorize_build::current::{is_current, wanted_of};
use tensorize_build::guarded;
use tensorize_build::hash::Preprocessed;
use tensorize_build::record::Record;
use tensorize_build::store::{Contents, Store};
use tensorize_ir::guard::Tier;

const HELP: &str = "run `cargo tensorize`, and commit `.tensorize/`";

/// Looks at what is stored for every chosen package.
pub fn run(project: &Project, common: &Common, min_tier: Option<TierName>, out: &Output) -> Code {
    if let Err(d) = known(&project.targets) {
        out.diagnostic(&d);
        return Code::Usage;
    }
    let packages = match packages(project, out) {
        Ok(packages) => packages,
        Err(code) => return code,
    };
    let mut code = Code::Clean;
    let mut reports = Vec::new();
    let mut targets = BTreeSet::new();
    for package in &packages {
        let wanted = package.wanted_targets(project);
        if let Err(d) = known(&wanted) {
            out.diagnostic(&d);
            code = code.worse(Code::CouldNotRun);
            continue;
        }
        let mut gate = Gate {
            package,
            targets: &wanted,
            asked: package.asks_for_targets(project),
            weakest: min_tier.map_or(package.metadata.tier(), Tier::from),
            contents: Store::of_manifest(&package.dir).load(),
            code: Code::Clean,
            jobs: threads(common),
            out,
        };
        let kernels = gate.kernels();
        code = code.worse(gate.code);
        if !kernels.is_empty() {
            targets.extend(wanted);
        }
        reports.extend(kernels);
    }
    if reports.is_empty() && code == Code::Clean {
        out.diagnostic(&super::package::no_kernels());
        code = Code::NoKernels;
    }
    let targets: Vec<String> = targets.into_iter().collect();
    // A kernel that is not proven is a failure here.
    code.worse(out.report(&reports, &targets, true, 0, String::new()))
}

/// One package at the gate.
struct Gate<'a> {
    package: &'a Package,
    targets: &'a [String],
    /// Whether these are not the default ones.
    asked: bool,
    weakest: Tier,
    contents: Contents,
    code: Code,
    jobs: NonZeroUsize,
    out: &'a Output,
}

impl Gate<'_> {
    /// What is stored for every kernel that the sources have; what is stored beyond that is out of date.
    fn kernels(&mut self) -> Vec<KernelReport> {
        if self.package.was_noted_wrongly {
            let path = config::BuildManifest::path(&self.package.dir);
            let message = format!(
                "{} did not say what the build script compiles",
                from_current_dir(&path).display()
            );
            self.refuse(Diagnostic::error("TZ0706", message).help("commit it as it is now"));
        }
        let mut reports = Vec::new();
        let mut names = BTreeSet::new();
        let mut named: BTreeSet<String> = self.package.metadata.kernels.iter().cloned().collect();
        for (file, _, seen) in pipeline::preprocessed(self.package, self.jobs) {
            let shown = from_current_dir(&self.package.dir.join(&file));
            let seen = match seen {
                Ok(seen) => seen,
                Err(why) => {
                    self.code = self.code.worse(Code::CouldNotRun);
                    match not_preprocessed(why, &shown) {
                        Ok(d) => self.out.diagnostic(&d),
                        Err(d) => {
                            self.out.diagnostic(&d);
                            return reports;
                        }
                    }
                    continue;
                }
            };
            let file = config::relative_to(&self.package.dir, Path::new(&file));
            named.retain(|k| !config::is_in(k, &file));
            for d in super::package::marked_in_vain(&shown, &seen) {
                self.out.diagnostic(&d);
                self.code = self.code.worse(Code::CouldNotRun);
            }
            let records = self.contents.entries.iter().map(|e| &e.record);
            for name in wanted_of(&self.package.metadata, &file, &seen, records) {
                reports.push(self.kernel(&file, &shown, &seen, &name));
                names.insert(name);
            }
        }
        for kernel in named {
            self.out
                .diagnostic(&super::package::named_but_not_there(self.package, &kernel));
            self.code = self.code.worse(Code::CouldNotRun);
        }
        self.leftovers(&names);
        reports
    }

    fn kernel(&self, file: &str, shown: &Path, seen: &Preprocessed, name: &str) -> KernelReport {
        let entries = &self.contents.entries;
        let stored = entries.iter().find(|e| e.record.name == name);
        let line = line_of(shown, name, stored.map(|e| &e.record));
        let at = |d: Diagnostic| d.at(Some(line_span(shown, line))).help(HELP);
        let out_of_date = |why: &str| at(Diagnostic::error("TZ0704", format!("`{name}`: {why}")));
        let absent = |d: Diagnostic| {
            let mut report = KernelReport::new(name, shown.to_owned(), line);
            report.refuse(Code::OutOfDate, d);
            report
        };
        let Some(entry) = stored else {
            let rejected = self.contents.rejected.iter();
            return absent(match rejected.clone().find(|r| r.name() == Some(name)) {
                Some(rejected) => at(Diagnostic::error("TZ0706", rejected.to_string())),
                None => out_of_date("no result is stored"),
            });
        };
        if !is_current(&entry.record, file, seen, name) {
            return absent(out_of_date(
                "what is stored is about another version of its file, or of a header",
            ));
        }
        let mut report = stored::report(&entry.record, shown.to_owned(), line);
        if !self.asked {
            report.excuse_what_was_not_run();
        }
        let least_share = self.package.metadata.least_share;
        if let Some(why) = stored::outdated(&entry.record, self.targets, least_share) {
            report.refuse(Code::OutOfDate, out_of_date(&why));
        }
        let span = line_span(shown, line);
        if let (Some(why), true) = (&report.why, report.status != Status::Proven) {
            let message = format!("`{name}` is {}: {why}", report.status.name());
            let d = Diagnostic::error(report.code.unwrap_or("TZ0402"), message);
            report.diagnostics.push(d.at(Some(span.clone())));
        }
        report.demand(self.weakest, &span, stored::tiers_of_code(&entry.record));
        report
    }

    /// Results of kernels that are gone.
    fn leftovers(&mut self, names: &BTreeSet<String>) {
        if self.code != Code::Clean {
            // They may be those of a file that could not be read.
            return;
        }
        let entries = self.contents.entries.iter();
        let gone: Vec<Diagnostic> = entries
            .map(|e| &e.record.name)
            .filter(|name| !names.contains(*name))
            .map(|name| {
                Diagnostic::error(
                    "TZ0704",
                    format!("`{name}` is stored, and no kernel any more"),
                )
            })
            .collect();
        let rejected = self.contents.rejected.iter();
        let edited: Vec<Diagnostic> = rejected
            .filter(|r| !r.name().is_some_and(|n| names.contains(n)))
            .map(|r| Diagnostic::error("TZ0706", r.to_string()))
            .collect();
        for d in gone.into_iter().chain(edited) {
            self.refuse(d.help(HELP));
        }
    }

    fn refuse(&mut self, d: Diagnostic) {
        self.out.diagnostic(&d);
        self.code = self.code.worse(Code::OutOfDate);
    }
}

/// A source file, to look for lines in it. It need not be UTF-8.
pub(super) fn text_of(file: &Path) -> String {
    let bytes = guarded::bytes(file, guarded::SOURCE).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The line on which the name is first followed by a parenthesis: good enough to show, without a parser. A name that stands
/// nowhere, as that of a function of an included file, is where it was when it was proven.
pub(super) fn line_of(file: &Path, name: &str, stored: Option<&Record>) -> u32 {
    let text = text_of(file);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let found = text.match_indices(name).find(|(at, _)| {
        !text[..*at].ends_with(is_part) && text[at + name.len()..].trim_start().starts_with('(')
    });
    let Some((at, _)) = found else {
        return stored.map_or(1, |r| r.line);
    };
    let before = text[..at].matches('\n').count();
    u32::try_from(before).map_or(1, |n| n + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_within_another_is_not_the_function() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("k.c");
        std::fs::write(&file, "int prefix_f(int);\nint f;\nint\nf (int a)\n{\n}\n").unwrap();
        assert_eq!(line_of(&file, "f", None), 4);
        assert_eq!(line_of(&file, "g", None), 1);
        std::fs::write(
            &file,
            b"/* caf\xe9, in Latin-1 */\nint f(int a) { return a; }\n",
        )
        .unwrap();
        assert_eq!(line_of(&file, "f", None), 2);
    }
}
