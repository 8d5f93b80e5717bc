//! `doctor`: what this program works with, and what to do about what is missing.

mod devices;
mod tools;

use super::Output;
use crate::exit::Code;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A tool, a framework or a device, and whether it is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    reason: &'static str,
    name: String,
    /// What it is for.
    purpose: &'static str,
    /// Nothing can be proven without it.
    needed: bool,
    found: bool,
    version: Option<String>,
    place: Option<String>,
    /// What is wrong.
    why: Option<String>,
    /// The command that mends it.
    remedy: Option<String>,
}

impl Check {
    fn new(name: impl Into<String>, purpose: &'static str) -> Check {
        Check {
            reason: "tool",
            name: name.into(),
            purpose,
            needed: false,
            found: false,
            version: None,
            place: None,
            why: None,
            remedy: None,
        }
    }

    fn needed(self) -> Check {
        Check {
            needed: true,
            ..self
        }
    }

    fn found(self, version: impl Into<String>, place: impl Into<String>) -> Check {
        Check {
            found: true,
            version: Some(version.into()),
            place: Some(place.into()),
            ..self
        }
    }

    fn missing(self, why: impl Into<String>, remedy: Option<String>) -> Check {
        Check {
            why: Some(why.into()),
            remedy,
            ..self
        }
    }
}

/// Lists everything. The code says whether something that is needed is missing.
pub fn run(out: &Output) -> Code {
    let groups = [
        ("tools", tools::programs()),
        ("frameworks", tools::frameworks()),
        ("devices", devices::devices()),
        ("results", tools::caches()),
    ];
    let mut code = Code::Clean;
    // One command may mend several things; it is named once.
    let mut remedies: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut text = String::new();
    let names = groups.iter().flat_map(|(_, all)| all);
    let width = names.map(|c| c.name.chars().count()).max().unwrap_or(0);
    for (title, checks) in groups {
        let _ = writeln!(text, "{title}");
        for c in checks {
            out.json(&c);
            let name = &c.name;
            let _ = if c.found {
                let (version, place) = (c.version.as_deref(), c.place.as_deref());
                let (version, place) = (version.unwrap_or_default(), place.unwrap_or_default());
                writeln!(text, "  ok       {name:width$}  {version}  {place}")
            } else {
                let state = if c.needed { "MISSING" } else { "no" };
                let why = c.why.as_deref().unwrap_or("not found");
                let optional = match (c.needed, &c.remedy) {
                    (false, None) => ", and optional",
                    _ => "",
                };
                writeln!(
                    text,
                    "  {state:7}  {name:width$}  {why}; it is for {}{optional}",
                    c.purpose
                )
            };
            if c.needed && !c.found {
                code = Code::CouldNotRun;
            }
            if let Some(remedy) = c.remedy {
                remedies.entry(remedy).or_default().push(c.name);
            }
        }
    }
    out.text(&text);
    for (remedy, names) in remedies {
        out.text(&format!("\nfor {}:\n  {remedy}\n", names.join(", ")));
    }
    code
}
