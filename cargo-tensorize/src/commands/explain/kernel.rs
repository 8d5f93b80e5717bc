//! All that is known of one kernel: from what is stored, its source, and the proof made once more.

use super::Output;
use super::invariants::{self, plain};
use crate::cli::{Explain, Project};
use crate::commands::{from_current_dir, time_limit_of};
use crate::diagnostics::Diagnostic;
use crate::exit::Code;
use crate::pipeline::{self, Job};
use crate::project::{self, Package};
use crate::source::Source;
use crate::{stored, tools};
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use tensorize_build::config::relative_to;
use tensorize_build::current::wanted;
use tensorize_build::hash::preprocess;
use tensorize_build::record::{Record, Status, TargetStatus};
use tensorize_build::store::{Entry, Store};
use tensorize_ir::index::{Fresh, Idx};
use tensorize_ir::tensir::{self, Output as Out};

/// What side by side may take.
const WIDTH: usize = 150;

/// Finds the kernel (`NAME` or `FILE.c::NAME`) and tells of it.
pub(super) fn run(what: &str, args: &Explain, out: &Output) -> Code {
    let project = Project {
        packages: args.packages.clone(),
        manifest_path: args.manifest_path.clone(),
        ..Project::default()
    };
    let packages = match project::packages(&project) {
        Ok(packages) => packages,
        Err(d) => {
            out.diagnostic(&d);
            return Code::CouldNotRun;
        }
    };
    let (file, name) = match what.rsplit_once("::") {
        Some((file, name)) => (Some(file), name),
        None => (None, what),
    };
    for package in &packages {
        let contents = Store::of_manifest(&package.dir).load();
        let is_it = |e: &&Entry| {
            e.record.name == name
                && file.is_none_or(|_| tensorize_build::config::is_in(what, &e.record.file))
        };
        if let Some(entry) = contents.entries.iter().find(is_it) {
            out.json(&entry.record);
            return tell(package, entry, args, out);
        }
        if let Some(rejected) = contents.rejected.iter().find(|r| r.name() == Some(name)) {
            out.diagnostic(&Diagnostic::error("TZ0706", rejected.to_string()));
            return Code::OutOfDate;
        }
        if is_kernel(package, name) {
            let message = format!("nothing is stored for `{name}`");
            let help = "run `cargo tensorize`";
            out.diagnostic(&Diagnostic::error("TZ0704", message).help(help));
            return Code::OutOfDate;
        }
    }
    let message = format!("there is no kernel `{what}`, and no such code");
    let help = "`cargo tensorize check` lists the kernels, `cargo tensorize explain` the codes";
    out.diagnostic(&Diagnostic::error("TZ0106", message).help(help));
    Code::NoKernels
}

fn is_kernel(package: &Package, name: &str) -> bool {
    package.files().into_iter().any(|(file, settings)| {
        let relative = relative_to(&package.dir, Path::new(&file));
        let seen = preprocess(&settings, Path::new(&file));
        seen.is_ok_and(|seen| wanted(&package.metadata, &relative, &seen).contains(name))
    })
}

/// The function as it is now, if the front end can be had.
fn parsed(package: &Package, record: &Record) -> Result<Job, String> {
    let files = package.files();
    let same = |f: &&(String, _)| relative_to(&package.dir, Path::new(&f.0)) == record.file;
    let (file, settings) = files
        .iter()
        .find(same)
        .ok_or("its file is compiled no more")?;
    let source = Source {
        file: from_current_dir(&package.dir.join(file)),
        settings: settings.clone(),
    };
    let jobs = pipeline::parse(vec![source], NonZeroUsize::MIN);
    let mut jobs = jobs.into_iter().flat_map(|(_, parsed)| match parsed {
        Ok(jobs) => jobs.into_iter().map(Ok).collect(),
        Err(problem) => vec![Err(problem.message)],
    });
    let found = jobs.find(|j| j.as_ref().map_or(true, |j| j.parsed.name == record.name));
    found.unwrap_or_else(|| Err("its file has no such function".into()))
}

fn tell(package: &Package, entry: &Entry, args: &Explain, out: &Output) -> Code {
    let record = &entry.record;
    let job = parsed(package, record);
    let mut text = String::new();
    let mut code = Code::Clean;
    let tier = record
        .tier
        .as_deref()
        .map_or(String::new(), |t| format!(", {t}"));
    let place = from_current_dir(&package.dir.join(&record.file));
    let line = job.as_ref().map_or(record.line, |j| j.parsed.span.line);
    let _ = writeln!(
        text,
        "{}  {}:{line}  {}{tier}",
        record.name,
        place.display(),
        record.status.name()
    );
    let current =
        job.as_ref().is_ok_and(|job| is_current(job, record)) && stored::is_of_this_version(record);
    if !current {
        text += "What is stored is about another version of its file: run `cargo tensorize`.\n";
        code = Code::OutOfDate;
    }
    let source = job.as_ref().map(source_text);
    match &source {
        Ok(c) => text += &beside(c, record.summary.as_deref().unwrap_or_default()),
        Err(why) => {
            let _ = writeln!(text, "\nits source can't be shown: {why}");
            text += record.summary.as_deref().unwrap_or_default();
        }
    }
    let summary: Option<tensir::Function> = record.summary.as_deref().and_then(|s| s.parse().ok());
    if let (Some(summary), Status::Proven) = (&summary, record.status) {
        let _ = write!(text, "\nafter a call\n{}", computes(summary));
        if let (Ok(job), true) = (&job, current) {
            text += &rounds(package, job, summary);
        }
    }
    if let (Some(why), true) = (&record.why, record.status != Status::Proven) {
        let code = record.code.as_deref().unwrap_or_default();
        let _ = writeln!(text, "\nwhy it is not proven\n  {code} {why}");
    }
    text += &guards(record, source.as_deref().unwrap_or_default(), line);
    text += &memory(record);
    text += &targets(record);
    text += &fallback(record);
    out.text(&text);
    for target in &args.targets {
        match entry.sources.get(target) {
            Some(source) => out.text(&format!("\nthe code for {target}\n\n{source}")),
            None => {
                let known = record.targets.get(target).and_then(|t| t.why.as_deref());
                let why = known.unwrap_or("it was not asked for").to_owned();
                let message = format!("there is no code for {target}: {why}");
                out.diagnostic(&Diagnostic::warning("TZ0602", message));
            }
        }
    }
    code
}

fn is_current(job: &Job, record: &Record) -> bool {
    let settings = &job.source.settings;
    let seen = preprocess(settings, Path::new(&record.file));
    seen.is_ok_and(|seen| seen.hash_of(&record.name) == record.hash)
}

fn source_text(job: &Job) -> String {
    let span = &job.parsed.span;
    let text = std::fs::read(&span.file).unwrap_or_default();
    let text = text.get(span.start..span.end).unwrap_or_default();
    String::from_utf8_lossy(text).replace('\t', "    ")
}

/// Two texts in two columns, or one after the other where they are too wide for that.
fn beside(left: &str, right: &str) -> String {
    let width = |t: &str| t.lines().map(|l| l.chars().count()).max().unwrap_or(0);
    let (l, r) = (width(left), width(right));
    if right.is_empty() || l + r + 3 > WIDTH {
        return format!("\n{left}\n\n{right}");
    }
    let rows = left.lines().count().max(right.lines().count());
    let mut text = "\n".to_owned();
    let (mut lefts, mut rights) = (left.lines(), right.lines());
    for _ in 0..rows {
        let (a, b) = (
            lefts.next().unwrap_or_default(),
            rights.next().unwrap_or_default(),
        );
        let line = format!("{a:l$} | {b}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// What stands where, as index notation.
fn computes(summary: &tensir::Function) -> String {
    let mut text = String::new();
    for output in &summary.outputs {
        let (value, place) = match output {
            Out::Store { value, view } => (*value, Some(view)),
            Out::Return { value } => (*value, None),
        };
        let Some(node) = summary.nodes.get(value) else {
            continue;
        };
        let position: Vec<Idx> = (0..node.ty.rank())
            .map(|d| Idx::sym(tensir::dim(d)))
            .collect();
        let element = summary.element(value, &position, &mut Fresh::default());
        let element = plain(&element.to_string());
        let bounds: Vec<String> = node
            .ty
            .shape
            .iter()
            .enumerate()
            .map(|(d, extent)| format!("0 <= #{d} < {extent}"))
            .collect();
        let bounds = if bounds.is_empty() {
            String::new()
        } else {
            format!(", for {}", bounds.join(", "))
        };
        let _ = match place {
            Some(view) => writeln!(
                text,
                "  {}[{}] is {element}{bounds}",
                view.array, view.index
            ),
            None => writeln!(text, "  what is returned is {element}"),
        };
    }
    text + "  and everything else is as it was\n"
}

/// The loops' invariants, if the proof can be made once more.
fn rounds(package: &Package, job: &Job, summary: &tensir::Function) -> String {
    let Ok(function) = &job.parsed.lowered else {
        return String::new();
    };
    let mut solver = match tools::solver(&tensorize_prove::solver::find()) {
        Ok(solver) => solver,
        Err(d) => return format!("\nthe loops' invariants can't be shown: {}\n", d.message),
    };
    let limit = time_limit_of(package.metadata.time_limit);
    let best = job.source.float_tier();
    match invariants::of(function, summary, best, limit, &mut solver) {
        Some(text) if text.is_empty() => text,
        Some(text) => format!("\nthe loops, as the proof has them\n{text}"),
        None => {
            "\nits loops are not proven one by one, so they have no invariants to show\n".into()
        }
    }
}

/// What a call has to meet, and why.
fn guards(record: &Record, source: &str, first: u32) -> String {
    let of_targets = record.targets.iter();
    let of_targets = of_targets.flat_map(|(t, r)| r.guards.iter().map(move |g| (g, Some(t))));
    let all: Vec<_> = record
        .guards
        .iter()
        .map(|g| (g, None))
        .chain(of_targets)
        .collect();
    if all.is_empty() {
        return String::new();
    }
    let mut text = "\nguards: where one fails, the original runs\n".to_owned();
    for (guard, target) in all {
        let why = match target {
            Some(_) if guard.contains(" >= ") => "its code is proven only where this holds".into(),
            _ => reason(guard, source, first),
        };
        let only = target.map_or(String::new(), |t| format!(" (only for {t})"));
        let _ = writeln!(text, "  {guard}{only}: {why}");
    }
    text
}

fn reason(guard: &str, source: &str, first: u32) -> String {
    if let Some((a, b)) = guard.split_once(" disjoint ") {
        let array = |extent: &str| {
            extent
                .split('[')
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let (a, b) = (array(a), array(b));
        return format!(
            "{a} is written{} while {b} is in use{}; if they overlapped, a round could see what another wrote",
            lines_of(&a, source, first),
            lines_of(&b, source, first),
        );
    }
    if let Some((_, ty)) = guard.rsplit_once(" fits ") {
        return format!(
            "C computes it in {ty}, and the proof without a bound: it must not wrap around"
        );
    }
    "it counts rounds or elements, of which there are not less than none".into()
}

/// ` (lines 3, 5)`, on which an array is indexed or followed.
fn lines_of(array: &str, source: &str, first: u32) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let uses = |line: &str| {
        line.match_indices(array).any(|(at, _)| {
            let (before, after) = (&line[..at], line[at + array.len()..].trim_start());
            !before.ends_with(is_part)
                && (after.starts_with('[')
                    || before.trim_end().ends_with('*') && !before.contains('('))
        })
    };
    let numbered = source.lines().zip(first..).filter(|(line, _)| uses(line));
    let found: Vec<String> = numbered.map(|(_, n)| n.to_string()).collect();
    match found.len() {
        0 => String::new(),
        1 => format!(" (line {})", found[0]),
        _ => format!(" (lines {})", found.join(", ")),
    }
}

fn memory(record: &Record) -> String {
    if record.footprints.is_empty() {
        return String::new();
    }
    let mut text = "\nmemory that is touched\n".to_owned();
    for f in &record.footprints {
        let how = match (f.reads, f.writes) {
            (true, true) => "read and written",
            (false, true) => "written",
            _ => "read",
        };
        let some = if f.reads_depend_on_data || f.writes_depend_on_data {
            ", some of it only on some data"
        } else {
            ""
        };
        let _ = writeln!(text, "  {}[{} .. {}] {how}{some}", f.array, f.lo, f.hi);
    }
    if let Some(e) = &record.evidence {
        let _ = writeln!(
            text,
            "\nthe compiled original was run on {} inputs; the largest relative difference is {:e}",
            e.inputs, e.max_rel_error
        );
    }
    text
}

fn targets(record: &Record) -> String {
    if record.targets.is_empty() {
        return String::new();
    }
    let mut text = "\ntargets\n".to_owned();
    for (name, t) in &record.targets {
        let status = match t.status {
            TargetStatus::Generated => "generated",
            TargetStatus::Unsupported => "unsupported",
            TargetStatus::Failed => "failed",
        };
        let tier = t
            .tier
            .as_deref()
            .map_or(String::new(), |t| format!(", {t}"));
        let why = t.why.as_deref().map_or(String::new(), |w| format!(": {w}"));
        let _ = writeln!(text, "  {name}: {status}{tier}{why}");
    }
    text
}

/// Why a call may be answered by the original.
fn fallback(record: &Record) -> String {
    let mut reasons = Vec::new();
    let generated =
        |t: &&tensorize_build::record::TargetRecord| t.status == TargetStatus::Generated;
    if record.status != Status::Proven {
        reasons.push("it is not proven, so always".to_owned());
    } else if record.targets.values().filter(generated).count() == 0 {
        reasons.push("no target has code for it, so always".to_owned());
    } else if record.prototype.as_ref().is_some_and(|p| p.is_static) {
        reasons.push("it is `static`: its callers in C are compiled with it, so always".to_owned());
    } else {
        if !record.guards.is_empty() || record.targets.values().any(|t| !t.guards.is_empty()) {
            reasons.push("a guard fails".to_owned());
        }
        reasons.push(
            "the target or what it needs is not on the machine, or has failed before".to_owned(),
        );
        reasons
            .push("TENSORIZE=off, or `auto` and the original was faster at that size".to_owned());
    }
    format!(
        "\nthe original answers a call if\n  {}\n`tensorize_rt::print_report()` in a program says which it was\n",
        reasons.join("\n  ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_traced_to_the_lines_that_need_it() {
        let source = "void f(int *out, const int *a) {\n  out[0] = a[1];\n  b_out[0] = *a;\n}";
        let why = reason("out[0 .. n] disjoint a[0 .. n]", source, 10);
        assert!(why.contains("out is written (line 11)"), "{why}");
        assert!(why.contains("a is in use (lines 11, 12)"), "{why}");
        assert!(reason("d*n - 1 fits i64", source, 1).contains("i64"));
    }

    #[test]
    fn what_is_too_wide_is_not_put_side_by_side() {
        assert_eq!(beside("a\nbb", "x"), "\na  | x\nbb |\n");
        let wide = "w".repeat(WIDTH);
        assert_eq!(beside("a", &wide), format!("\na\n\n{wide}"));
    }
}
