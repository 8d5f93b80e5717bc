//! All that is known of one kernel, as text.

use super::{Output, Told, ran, section};
use crate::cli::{Explain, Project};
use crate::commands::known::{Known, outcome};
use crate::commands::packages;
use crate::diagnostics::Diagnostic;
use crate::exit::Code;
use crate::progress::Progress;
use crate::project::Package;
use std::fmt::Write;
use std::path::Path;
use tensorize_build::config::relative_to;
use tensorize_build::current::wanted;
use tensorize_build::hash::preprocess;
use tensorize_build::record::Status;
use tensorize_build::store::{Entry, Store};

/// What side by side may take.
const WIDTH: usize = 150;

/// Finds the kernel (`NAME` or `FILE.c::NAME`) and tells of it.
pub(super) fn run(what: &str, args: &Explain, out: &Output) -> Code {
    let project = Project {
        packages: args.packages.clone(),
        manifest_path: args.manifest_path.clone(),
        ..Project::default()
    };
    let packages = match packages(&project, out) {
        Ok(packages) => packages,
        Err(code) => return code,
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

fn tell(package: &Package, entry: &Entry, args: &Explain, out: &Output) -> Code {
    let record = &entry.record;
    let ran = match ran::find(args.report.as_deref(), record) {
        Ok(ran) => ran,
        Err(d) => {
            out.diagnostic(&d);
            return Code::CouldNotRun;
        }
    };
    out.json(&Told::new("record", record));
    let known = Known::of(package, entry);
    let mut text = String::new();
    let tier = record
        .tier
        .as_deref()
        .map_or(String::new(), |t| format!(", {t}"));
    let _ = writeln!(
        text,
        "{}  {}:{}  {}{tier}",
        record.name,
        known.place.display(),
        known.line,
        record.status.name()
    );
    if !known.current {
        text += "What is stored is about another version of its file: run `cargo tensorize`.\n";
    }
    match &known.source {
        Ok(c) => text += &beside(c, known.summary()),
        Err(why) => {
            let _ = writeln!(text, "\nits source can't be shown: {why}");
            text += known.summary();
        }
    }
    text += &section("after a call", known.after_a_call());
    let shown = Progress::waiting(format!("proving `{}` once more", record.name));
    let proof = known.proof();
    drop(shown);
    match proof.map(|p| p.loops) {
        Some(Ok(loops)) if loops.is_empty() => {}
        Some(Ok(loops)) => text += &format!("\nthe loops, as the proof has them\n{loops}"),
        Some(Err(why)) => text += &format!("\n{why}\n"),
        None => {}
    }
    if let (Some(why), true) = (&record.why, record.status != Status::Proven) {
        let code = record.code.as_deref().unwrap_or_default();
        let _ = writeln!(text, "\nwhy it is not proven\n  {code} {why}");
    }
    let guards = known.guards();
    let lines = guards.iter().map(|g| {
        let only = g.target.as_ref();
        let only = only.map_or(String::new(), |t| format!(" (only for {t})"));
        format!("{}{only}: {}", g.text, g.why)
    });
    text += &section("guards: where one fails, the original runs", lines);
    text += &section("memory that is touched", known.memory());
    if let Some(evidence) = known.evidence() {
        let _ = writeln!(text, "\n{evidence}");
    }
    let targets = record.targets.iter().map(|(name, t)| {
        let why = t.why.as_deref().map_or(String::new(), |w| format!(": {w}"));
        format!("{name}: {}{why}", outcome(t))
    });
    text += &section("targets", targets);
    let reasons = known.left_to_the_original();
    text += &section(
        "the original answers a call if",
        reasons.into_iter().map(str::to_owned),
    );
    match &ran {
        Some(ran) => {
            out.json(&ran.message(&record.name, &guards));
            text += &ran.text(&record.name, &guards);
        }
        None => {
            text += "which it was, and how often: run the program with TENSORIZE_REPORT=FILE, then explain it with --report FILE\n";
        }
    }
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
    match known.current {
        true => Code::Clean,
        false => Code::OutOfDate,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_wide_is_not_put_side_by_side() {
        assert_eq!(beside("a\nbb", "x"), "\na  | x\nbb |\n");
        let wide = "w".repeat(WIDTH);
        assert_eq!(beside("a", &wide), format!("\na\n\n{wide}"));
    }
}
