//! Why targets have no code for kernels: once for all kernels with which it is the same.

use super::{KernelReport, NOT_RUN, TargetStatus};
use crate::diagnostics::Diagnostic;
use crate::words::listed;
use std::fmt::Write;

/// What is longer is for programs (`--message-format json`) and for `explain`.
const SHORT: usize = 160;

/// A target, how it did, and why.
type Reason<'a> = (&'a str, TargetStatus, &'a str);

/// A line for each target and reason, below the table.
pub fn reasons(kernels: &[KernelReport], targets: &[String]) -> String {
    let mut found: Vec<(Reason, Vec<&str>)> = Vec::new();
    for target in targets {
        for kernel in kernels {
            let Some(report) = kernel.targets.get(target) else {
                continue;
            };
            if !matches!(
                report.status,
                TargetStatus::Unsupported | TargetStatus::Failed
            ) {
                continue;
            }
            let reason = (target.as_str(), report.status, report.why.as_str());
            match found.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(&kernel.name),
                None => found.push((reason, vec![&kernel.name])),
            }
        }
    }
    let mut text = String::new();
    for ((target, status, why), names) in found {
        let failed = status == TargetStatus::Failed;
        let status = if failed { "failed" } else { "unsupported" };
        let why = short(why);
        let _ = writeln!(text, "{target}: {status} for {}: {why}", listed(&names));
    }
    text
}

/// The diagnostics of kernels in their order, and whether each says something that none before has said. That code could not be run
/// is so with most kernels if it is with one: the first one names them.
pub fn told(kernels: &[KernelReport]) -> Vec<(Diagnostic, bool)> {
    let same = |a: &Diagnostic, b: &Diagnostic| {
        (a.code, a.severity, &a.message) == (b.code, b.severity, &b.message)
    };
    let mut said: Vec<&Diagnostic> = Vec::new();
    let mut all = Vec::new();
    for d in kernels.iter().flat_map(|k| &k.diagnostics) {
        let groups = d.code == Some(NOT_RUN);
        if groups && said.iter().any(|known| same(known, d)) {
            all.push((d.clone(), false));
            continue;
        }
        let mut shown = d.clone();
        if groups {
            said.push(d);
            let with = kernels.iter();
            let with = with.filter(|k| k.diagnostics.iter().any(|other| same(other, d)));
            let names: Vec<&str> = with.map(|k| k.name.as_str()).collect();
            if names.len() > 1 {
                let (n, names) = (names.len(), listed(&names));
                shown
                    .notes
                    .push(format!("so it is with {n} kernels: {names}"));
            }
        }
        all.push((shown, true));
    }
    all
}

fn short(why: &str) -> String {
    let line = why.lines().next().unwrap_or_default().trim_end_matches(':');
    match line.char_indices().nth(SHORT) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::TargetReport;

    #[test]
    fn a_reason_is_told_once() {
        let kernel = |name: &str, why: &str| {
            let mut k = KernelReport::new(name, "k.c".into(), 1);
            let status = TargetStatus::Unsupported;
            let report = TargetReport::without_code(status, why);
            k.targets.insert("numpy".into(), report);
            let good = TargetReport::without_code(TargetStatus::Generated, "");
            k.targets.insert("cpu".into(), good);
            k
        };
        let long = "x".repeat(200);
        let kernels = [
            kernel("f", "no loops"),
            kernel("g", &long),
            kernel("h", "no loops"),
        ];
        let targets = ["cpu", "numpy"].map(String::from);
        let told = format!(
            "numpy: unsupported for f, h: no loops\nnumpy: unsupported for g: {}…\n",
            "x".repeat(SHORT)
        );
        assert_eq!(reasons(&kernels, &targets), told);
    }

    /// Sixteen kernels had sixteen warnings.
    #[test]
    fn what_could_not_be_run_is_said_once_with_all_names() {
        let kernel = |name: &str, code| {
            let mut k = KernelReport::new(name, "k.c".into(), 1);
            k.diagnostics.push(Diagnostic::warning(code, "no driver"));
            k
        };
        let kernels = ["f", "g", "h"].map(|name| kernel(name, NOT_RUN));
        let all = told(&kernels);
        let new: Vec<bool> = all.iter().map(|(_, new)| *new).collect();
        assert_eq!(new, [true, false, false]);
        assert_eq!(all[0].0.notes, ["so it is with 3 kernels: f, g, h"]);
        // Alone, it needs no names, and what else is said of two is said of each.
        let other = [
            kernel("f", NOT_RUN),
            kernel("g", "TZ0602"),
            kernel("h", "TZ0602"),
        ];
        let all = told(&other);
        assert!(all.iter().all(|(d, new)| *new && d.notes.is_empty()));
    }
}
