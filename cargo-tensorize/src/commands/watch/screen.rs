//! The screen shows how things are, not how they came to be so.

use super::state::{Look, State};
use crate::report::{KernelReport, Status, table};
use crate::words::counted;
use annotate_snippets::Renderer;
use std::fmt::Write;
use std::io::IsTerminal;

/// The state, on a terminal; elsewhere what changed in it.
pub(super) fn draw(state: &State, look: &Look, ms: f64) -> String {
    let kernels = state.kernels();
    if std::io::stdout().is_terminal() {
        let owned: Vec<KernelReport> = kernels.iter().map(|k| (*k).clone()).collect();
        return format!(
            "{}\n{}\n{}",
            table(&owned, &[]),
            problems(state, &kernels),
            closing(&kernels, ms)
        );
    }
    let changed = kernels.iter().filter(|k| look.changed.contains(&k.name));
    let mut text = String::new();
    for k in changed {
        let (file, line) = (k.file.display(), k.line);
        let why = k.why.as_deref().unwrap_or_default();
        let tier = k.tier.map_or("", tensorize_ir::guard::Tier::name);
        let line = format!("{file}:{line} {}: {} {tier} {why}", k.name, k.status.name());
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for d in state.problems() {
        let _ = writeln!(text, "{}", d.render(&Renderer::plain()));
    }
    text + &closing(&kernels, ms)
}

fn problems(state: &State, kernels: &[&KernelReport]) -> String {
    let of_kernels = kernels.iter().flat_map(|k| &k.diagnostics);
    let all = of_kernels.chain(state.problems());
    let texts = all.map(|d| d.render(&Renderer::styled()) + "\n");
    texts.collect()
}

fn closing(kernels: &[&KernelReport], ms: f64) -> String {
    let proven = kernels
        .iter()
        .filter(|k| k.status == Status::Proven)
        .count();
    format!(
        "{}, {proven} proven ({ms:.0} ms); watching\n",
        counted(kernels.len(), "kernel")
    )
}
