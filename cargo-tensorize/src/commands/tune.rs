//! `tune`: runs a program that times what there is code for, and keeps what it found for `TENSORIZE=auto`.

use super::{Output, write_whole};
use crate::cli::Tune;
use crate::diagnostics::Diagnostic;
use crate::exit::Code;
use crate::progress::Counter;
use crate::scratch::Scratch;
use serde_json::json;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use tensorize_rt::tuned::{self, Line};
use wait_timeout::ChildExt;

/// What is run if nothing else is said.
const USUAL: [&str; 3] = ["cargo", "run", "--release"];

/// How often it is looked at how far the program is.
const LOOK: Duration = Duration::from_millis(200);

/// Measures, and keeps it.
pub fn run(args: &Tune, out: &Output) -> Code {
    let fail = |message: String, help: &str| {
        out.diagnostic(&Diagnostic::error("TZ0114", message).help(help));
        Code::CouldNotRun
    };
    let Some(kept) = tuned::path() else {
        return fail(
            "there is no folder to keep measurements in".into(),
            "set HOME, XDG_CACHE_HOME, or TENSORIZE_TUNED to a file",
        );
    };
    let command: Vec<OsString> = match args.command.is_empty() {
        true => USUAL.map(OsString::from).into(),
        false => args.command.clone(),
    };
    let shown = command
        .iter()
        .map(|w| w.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ");
    let (found, status) = match measured_by(&command) {
        Ok(found) => found,
        Err(e) => {
            return fail(
                format!("`{shown}` can't be run: {e}"),
                "`cargo tensorize tune -- COMMAND` runs another program that calls the kernels",
            );
        }
    };
    if !found.is_empty() {
        let all = merged(std::fs::read_to_string(&kept).unwrap_or_default(), &found);
        let folder = kept.parent().unwrap_or(Path::new(""));
        let written = std::fs::create_dir_all(folder).and_then(|()| write_whole(&kept, &all));
        if let Err(e) = written {
            let message = format!("cannot write {}: {e}", kept.display());
            let help = "TENSORIZE_TUNED names another file";
            out.diagnostic(&Diagnostic::error("TZ0112", message).help(help));
            return Code::CouldNotRun;
        }
    }
    out.text(&table(&found));
    for line in &found {
        let took = line.took.iter().map(|(who, ns)| (who.clone(), json!(ns)));
        out.json(&json!({
            "reason": "tuned",
            "kernel": line.kernel,
            "hash": line.hash,
            "fewer_elements_than": 1u64 << line.class,
            "ns": took.collect::<serde_json::Map<_, _>>(),
            "fastest": line.fastest(),
        }));
    }
    if !status.success() {
        return fail(
            format!("`{shown}` failed ({status})"),
            "what it measured until then is kept; \
             `cargo tensorize tune -- COMMAND` runs another program",
        );
    }
    if found.is_empty() {
        return fail(
            format!("`{shown}` called no kernel that has code"),
            "name a program that calls them, such as `cargo tensorize tune -- cargo bench`; \
             what has code, `cargo tensorize` says",
        );
    }
    out.text(&format!(
        "\nkept in {}, where TENSORIZE=auto looks\n",
        kept.display()
    ));
    Code::Clean
}

/// What the program measured, and how it ended. Its output goes to standard error, since the report is ours.
fn measured_by(command: &[OsString]) -> std::io::Result<(Vec<Line>, ExitStatus)> {
    let folder = Scratch::new()?;
    let file = folder.path().join("tuned");
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .env("TENSORIZE", "tune")
        .env("TENSORIZE_TUNED", &file)
        .stdout(Stdio::from(std::io::stderr()))
        .spawn()?;
    let lines = || tuned::lines(&std::fs::read_to_string(&file).unwrap_or_default()).collect();
    let progress = Counter::new("measuring, kernels and sizes so far:");
    let status = loop {
        if let Some(status) = child.wait_timeout(LOOK)? {
            break status;
        }
        let so_far: Vec<Line> = lines();
        progress.at(so_far.len());
    };
    Ok((lines(), status))
}

/// A file's lines, those of the same kernels and sizes replaced.
fn merged(old: String, new: &[Line]) -> String {
    let what = |l: &Line| (l.kernel.clone(), l.hash.clone(), l.class);
    let stays = |l: &Line| !new.iter().any(|n| what(n) == what(l));
    let mut all: Vec<Line> = tuned::lines(&old).filter(stays).collect();
    all.extend_from_slice(new);
    all.sort_by_key(what);
    all.iter().map(|l| format!("{l}\n")).collect()
}

/// A row a kernel and size.
fn table(lines: &[Line]) -> String {
    let mut sorted: Vec<&Line> = lines.iter().collect();
    sorted.sort_by_key(|l| (l.kernel.clone(), l.class));
    let width = sorted.iter().map(|l| l.kernel.len()).max().unwrap_or(0);
    let mut text = String::new();
    for line in sorted {
        let took: Vec<String> = line
            .took
            .iter()
            .map(|(who, ns)| format!("{who} {}", time(*ns)))
            .collect();
        writeln!(
            text,
            "{:width$}  fewer than {:>9} elements  {:9}  ({})",
            line.kernel,
            1u64 << line.class,
            line.fastest().unwrap_or("-"),
            took.join(", ")
        )
        .ok();
    }
    text
}

fn time(ns: u64) -> String {
    match ns as f64 {
        ns if ns < 1e3 => format!("{ns} ns"),
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns => format!("{:.1} ms", ns / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_measurement_takes_the_place_of_the_old_one() {
        let old = "f h 9 original 1 cpu 2\nf other 9 original 3\nnonsense\nf h 10 original 4\n";
        let new = Line::parse("f h 9 original 8 cpu 7").expect("a line");
        let all = "f h 9 original 8 cpu 7\nf h 10 original 4\nf other 9 original 3\n";
        assert_eq!(merged(old.into(), std::slice::from_ref(&new)), all);
        assert_eq!(
            table(&[new]),
            "f  fewer than       512 elements  cpu        (original 8 ns, cpu 7 ns)\n"
        );
    }
}
