//! `targets`: what code can be generated for.

use super::Output;
use crate::exit::Code;
use serde::Serialize;

/// Lists the targets.
pub fn run(out: &Output) -> Code {
    #[derive(Serialize)]
    struct Row {
        reason: &'static str,
        name: &'static str,
        description: &'static str,
    }
    for t in backends::targets() {
        out.text(&format!("{:10} {}\n", t.name(), t.describe()));
        out.json(&Row {
            reason: "target",
            name: t.name(),
            description: t.describe(),
        });
    }
    Code::Clean
}
