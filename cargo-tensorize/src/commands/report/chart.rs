//! A bar chart: how long each proof takes.

use super::Section;
use maud::{Markup, html};
use tensorize_build::record::Status;

/// More bars than this nobody reads.
const BARS: usize = 30;
/// In the drawing's own units.
const ROW: usize = 22;
const WIDTH: usize = 860;
const NAMES: usize = 200;
const NUMBERS: usize = 80;

/// The slowest ones, the slowest first.
pub(super) fn chart(sections: &[Section]) -> Markup {
    let mut bars: Vec<(&Section, f64)> = sections
        .iter()
        .filter_map(|s| Some((s, s.proof.as_ref()?.took.as_secs_f64() * 1e3)))
        .collect();
    bars.sort_by(|a, b| b.1.total_cmp(&a.1));
    bars.truncate(BARS);
    let longest = bars.first().map_or(0.0, |b| b.1).max(f64::MIN_POSITIVE);
    let room = (WIDTH - NAMES - NUMBERS) as f64;
    html! {
        @if !bars.is_empty() {
            h2 { "How long the proofs take" }
            svg role="img" aria-label="how long each proof takes" viewBox=(format!("0 0 {WIDTH} {}", bars.len() * ROW)) {
                @for (i, (section, ms)) in bars.iter().enumerate() {
                    @let y = i * ROW;
                    @let width = (ms / longest * room).max(2.0);
                    @let record = section.known.record();
                    g {
                        title { (record.name) ": " (format!("{ms:.1}")) " ms" }
                        text x=(NAMES - 8) y=(y + 15) text-anchor="end" { (short(&record.name)) }
                        rect class=(kind(section)) x=(NAMES) y=(y + 3) width=(format!("{width:.1}")) height=(ROW - 6) rx="2" {}
                        text x=(format!("{:.1}", NAMES as f64 + width + 6.0)) y=(y + 15) { (format!("{ms:.1}")) " ms" }
                    }
                }
            }
        }
    }
}

/// The class of what is said of a kernel in colours.
pub(super) fn kind(section: &Section) -> &'static str {
    let record = section.known.record();
    match (record.status, record.tier.as_deref()) {
        _ if !section.known.current => "stale",
        (Status::Proven, Some("real")) => "real",
        (Status::Proven, _) => "exact",
        (Status::Error | Status::Refuted, _) => "wrong",
        _ => "not",
    }
}

/// A name that fits beside the bars.
fn short(name: &str) -> String {
    match name.chars().count() > 26 {
        true => name.chars().take(25).chain(['…']).collect(),
        false => name.to_owned(),
    }
}
