//! The page itself: an overview, and a section for each kernel.

use super::Section;
use super::chart::{chart, kind};
use crate::commands::known::{Proof, outcome};
use crate::words::counted;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::BTreeSet;
use std::time::Duration;
use tensorize_build::record::Status;

const STYLE: &str = include_str!("style.css");

/// The whole file. `source_url` is where a line of a source is shown, with `{file}` and `{line}` in it.
pub(super) fn page(sections: &[Section], source_url: Option<&str>) -> String {
    let targets: BTreeSet<&String> = sections
        .iter()
        .flat_map(|s| s.known.record().targets.keys())
        .collect();
    let packages: BTreeSet<&str> = sections.iter().map(|s| s.package).collect();
    let packages = packages.into_iter().collect::<Vec<_>>().join(", ");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Kernels of " (packages) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "Kernels of " (packages) }
                    p { "Written by " (concat!("cargo-tensorize ", env!("CARGO_PKG_VERSION"))) ". Proofs were made once more for this page." }
                }
                (counts(sections))
                (chart(sections))
                (overview(sections, &targets, source_url))
                @for (i, section) in sections.iter().enumerate() { (kernel(i, section, source_url)) }
            }
        }
    }
    .into_string()
}

fn counts(sections: &[Section]) -> Markup {
    let count = |class: &str| sections.iter().filter(|s| kind(s) == class).count();
    let all = [
        ("exact", "proven, the same bits"),
        ("real", "proven over the real numbers"),
        ("not", "not proven"),
        ("wrong", "refuted or in error"),
        ("stale", "changed since"),
    ];
    html! {
        ul class="counts" {
            @for (class, what) in all {
                @let n = count(class);
                @if n > 0 { li class=(class) { strong { (n) } " " (what) } }
            }
        }
    }
}

fn overview(sections: &[Section], targets: &BTreeSet<&String>, url: Option<&str>) -> Markup {
    html! {
        h2 { "All kernels" }
        div class="wide" {
            table {
                thead { tr {
                    th { "kernel" } th { "where" } th { "outcome" }
                    @for t in targets { th { (t) } }
                } }
                tbody { @for (i, s) in sections.iter().enumerate() {
                    @let record = s.known.record();
                    tr {
                        td { a href=(format!("#kernel-{i}")) { (record.name) } }
                        td { (place(s, url)) }
                        td { span class=(format!("mark {}", kind(s))) { (told(s)) } }
                        @for t in targets {
                            td { @match record.targets.get(*t) {
                                Some(known) => span title=[known.why.as_deref()] { (outcome(known)) },
                                None => "–",
                            } }
                        }
                    }
                } }
            }
        }
    }
}

fn told(section: &Section) -> String {
    let record = section.known.record();
    match (record.status, &record.tier) {
        _ if !section.known.current => "changed since".into(),
        (Status::Proven, Some(tier)) => format!("proven, {tier}"),
        (status, _) => status.name().into(),
    }
}

/// Its file and line, linked if it is known to where.
fn place(section: &Section, url: Option<&str>) -> Markup {
    let (file, line) = (&section.known.record().file, section.known.line.to_string());
    let text = format!("{file}:{line}");
    html! {
        @match url {
            Some(url) => a href=(url.replace("{file}", file).replace("{line}", &line)) { (text) },
            None => (text),
        }
    }
}

fn kernel(i: usize, section: &Section, url: Option<&str>) -> Markup {
    let known = &section.known;
    let record = known.record();
    html! {
        section id=(format!("kernel-{i}")) {
            h2 { (record.name) " " span class=(format!("mark {}", kind(section))) { (told(section)) } }
            p { (place(section, url)) }
            @if !known.current { p class="stale" { "What is stored is about another version of its file: run " code { "cargo tensorize" } "." } }
            @if let (Some(why), true) = (&record.why, record.status != Status::Proven) {
                p class="why" { (record.code.as_deref().unwrap_or_default()) " " (why) }
            }
            div class="beside" {
                figure {
                    figcaption { "The function" }
                    @match &known.source {
                        Ok(text) => (numbered(i, text, known.line)),
                        Err(why) => p { "Its source can't be shown: " (why) },
                    }
                }
                @if !known.summary().is_empty() {
                    figure { figcaption { "Its summary" } pre { (known.summary()) } }
                }
            }
            (list("After a call", known.after_a_call()))
            @if let Some(proof) = &section.proof {
                h3 { "The proof" }
                (obligations(proof))
                @match &proof.loops {
                    Ok(text) if text.is_empty() => p { "There are no loops." },
                    Ok(text) => pre { (text) },
                    Err(why) => p { (why) "." },
                }
            }
            @let guards = known.guards();
            @if !guards.is_empty() {
                h3 { "Guards: where one fails, the original runs" }
                dl { @for g in guards {
                    dt { code { (g.text) } @if let Some(t) = g.target { " (only for " (t) ")" } }
                    dd { (g.why) }
                } }
            }
            (list("Memory that is touched", known.memory()))
            @if let Some(evidence) = known.evidence() { p { (evidence) "." } }
            h3 { "Targets" }
            @for (name, target) in &record.targets {
                @match known.entry.sources.get(name) {
                    Some(code) => details { summary { (name) ": " (outcome(target)) } pre { (code) } },
                    None => p { (name) ": " (outcome(target)) @if let Some(why) = &target.why { ", " (why) } },
                }
            }
            (list("The original answers a call if", known.left_to_the_original()))
        }
    }
}

/// No question is shown longer than this: pages are for people, and projects have many kernels.
const LONGEST: usize = 4000;

/// What the solver was asked so that the proof holds, folded.
fn obligations(proof: &Proof) -> Markup {
    let ms = |took: Duration| format!("{:.1} ms", took.as_secs_f64() * 1e3);
    let all = &proof.obligations;
    html! {
        details class="obligations" {
            summary { (counted(all.len(), "question")) " to the solver, " (ms(proof.took)) }
            p { "Each is what would have to be so if the proof were wrong, in SMT-LIB. It holds if there is no such case." }
            ol { @for asked in all {
                li {
                    "holds: there is no such case, " (ms(asked.took))
                    pre { (shortened(&asked.script)) }
                }
            } }
        }
    }
}

fn shortened(script: &str) -> String {
    match script.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}\n… and {} more bytes", &script[..at], script.len() - at),
        None => script.to_owned(),
    }
}

/// A heading and a list, if there is anything in it.
fn list<T: maud::Render>(heading: &str, lines: Vec<T>) -> Markup {
    html! {
        @if !lines.is_empty() {
            h3 { (heading) }
            ul { @for line in lines { li { (line) } } }
        }
    }
}

/// A source, each line with its number and a place to link to.
fn numbered(kernel: usize, text: &str, first: u32) -> Markup {
    html! {
        pre class="source" {
            @for (line, n) in text.lines().zip(first..) {
                @let id = format!("kernel-{kernel}-line-{n}");
                a id=(id) href=(format!("#{id}")) { (format!("{n:4}")) } "  " (line) "\n"
            }
        }
    }
}
