//! What ran where, and why not elsewhere.

use crate::choice::{Choice, choice};
use crate::fallback::Fallback;
use crate::kernel::{Answered, Code, Kernel, kernels};
use std::fmt::Write;

/// What is known of one kernel's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelReport {
    /// The C name.
    pub name: &'static str,
    /// Its source.
    pub file: &'static str,
    /// The line of its definition.
    pub line: u32,
    /// `exact` or `real`, if it is proven.
    pub tier: Option<&'static str>,
    /// The tier of the code that answered most calls, which may be weaker; `None` for the original.
    pub target_tier: Option<&'static str>,
    /// What has to hold at a call.
    pub guards: Vec<&'static str>,
    /// The targets there is code for.
    pub targets: Vec<&'static str>,
    /// What answered most calls: `cpu`, `numpy`, …, `original`; `-` for a kernel that is not dispatched or
    /// was not called.
    pub target: &'static str,
    /// Calls that the original answered, calls that a target answered. Where several threads call a kernel at the same
    /// moment, a few of these go uncounted.
    pub calls: (u64, u64),
    /// The same in full: who answered how many, nobody without a call.
    pub answered: Vec<(&'static str, u64)>,
    /// Why the original answered, the most frequent reason first.
    pub fell_back: Vec<Fallback>,
    /// Calls among these that failed a guard.
    pub guard_failed: u64,
    /// Calls that were compared.
    pub compared: u64,
    /// Compared calls that differed.
    pub differed: u64,
    /// Some of the differences.
    pub differences: Vec<String>,
    /// Why the original ran, or why the kernel is never swapped.
    pub why: Option<String>,
}

/// A report of every kernel of the program, in the order of the sources.
pub fn report() -> Vec<KernelReport> {
    let mut reports: Vec<KernelReport> = kernels().map(one).collect();
    reports.sort_by(|a, b| (a.file, a.line, a.name).cmp(&(b.file, b.line, b.name)));
    reports
}

pub(crate) fn one(kernel: &'static Kernel) -> KernelReport {
    let [original, native, compared, guard_failed] = kernel.counts();
    let named = |is: fn(&Code) -> bool| {
        kernel
            .targets
            .iter()
            .find(|t| is(&t.code))
            .map_or("-", |t| t.name)
    };
    let native_name = named(|c| matches!(c, Code::Native));
    let mut answered = vec![("original", original), (native_name, native)];
    let on_copies = |a: &Answered| (a.target, a.calls);
    answered.extend(kernel.notes().answered.iter().map(on_copies));
    answered.retain(|(_, calls)| *calls > 0);
    let most = answered.iter().max_by_key(|(_, calls)| *calls);
    let target = most.map_or("-", |(name, _)| name);
    let all: u64 = answered.iter().map(|(_, calls)| calls).sum();
    let ran = kernel.targets.iter().find(|t| t.name == target);
    let fell_back = kernel.fallbacks();
    let notes = kernel.notes();
    let out = notes
        .out
        .iter()
        .map(|(target, why)| format!("{target}: {why}"))
        .next();
    KernelReport {
        name: kernel.name,
        file: kernel.file,
        line: kernel.line,
        tier: kernel.tier.map(|t| t.name()),
        target_tier: ran.map(|t| t.tier.name()),
        guards: kernel.guards.to_vec(),
        targets: kernel
            .targets
            .iter()
            .filter(|t| !matches!(t.code, Code::Absent { .. }))
            .map(|t| t.name)
            .collect(),
        target,
        calls: (original, all - original),
        answered,
        fell_back,
        guard_failed,
        compared,
        differed: notes.differing_calls,
        differences: notes.differences.clone(),
        why: kernel
            .why
            .map(String::from)
            .or(out)
            .or_else(|| notes.why.clone())
            .or_else(|| {
                let linked = ran.is_some_and(|t| matches!(t.code, Code::Emulated));
                let stood_in = |a: &Answered| a.target == target && a.emulated;
                let emulated = linked || notes.answered.iter().any(stood_in);
                emulated.then(|| format!("{target} is emulated: no such device took part"))
            })
            .or_else(|| {
                let chosen = guard_failed == 0 && original > native && compared == 0;
                let linked = kernel
                    .targets
                    .iter()
                    .any(|t| matches!(t.code, Code::Native));
                match choice() {
                    _ if native > 0 && chosen => {
                        Some("the original is faster at most of these sizes".into())
                    }
                    Choice::Auto if linked && chosen => Some(
                        "its calls are small, or measured to be faster with the original".into(),
                    ),
                    _ => None,
                }
            })
            .or_else(|| {
                (guard_failed > 0).then(|| format!("guards failed in {guard_failed} calls"))
            }),
    }
}

/// Prints the report as a table to standard error.
pub fn print_report() {
    eprint!("{}", table(&report()));
}

fn table(reports: &[KernelReport]) -> String {
    let width = reports
        .iter()
        .map(|r| r.name.len())
        .max()
        .unwrap_or(0)
        .max(6);
    let mut text = format!(
        "{:width$}  tier   ran on    calls     original  notes\n",
        "kernel"
    );
    for r in reports {
        let mut notes = r.why.clone().unwrap_or_default();
        if r.compared > 0 {
            let separator = if notes.is_empty() { "" } else { "; " };
            write!(
                notes,
                "{separator}{} compared, {} differ",
                r.compared, r.differed
            )
            .ok();
        }
        for d in &r.differences {
            write!(notes, "; {d}").ok();
        }
        let line = format!(
            "{:width$}  {:5}  {:8}  {:8}  {:8}  {notes}",
            r.name,
            r.target_tier.or(r.tier).unwrap_or("-"),
            r.target,
            r.calls.0 + r.calls.1,
            r.calls.0,
        );
        text += line.trim_end();
        text.push('\n');
    }
    text
}
