//! A file of kernels.

use super::dialect::{Dialect, Needs, passed};
use super::group;
use super::schedule::{Part, Schedule, parameters};
use super::tile::{self, SIDE, Shared};
use crate::Kernel;
use crate::cpu::{c, header_with};
use std::fmt::Write as _;
use tensorize_ir::guard::Tier;
use tensorize_ir::loopir::{Function, Param};
use tensorize_ir::scalar::ScalarType;

/// A file, and its kernels in the order in which they run, with what else the host has to do between them.
pub(super) struct File {
    pub text: String,
    pub kernels: Vec<String>,
}

/// All parts of `whole`.
pub(super) fn file(
    dialect: &'static Dialect,
    kernel: &Kernel,
    whole: &Function,
    schedule: &Schedule,
    tier: Tier,
    needs: &Needs,
) -> File {
    let inexact = "sums may be re-associated, and functions are rounded as the device rounds them";
    let mut text = c::comment(&header_with(kernel, tier, inexact));
    text += &dialect.demands(needs);
    text += dialect.preamble;
    let style = c::Style {
        disjoint: true,
        vector_math: false,
        dialect: &dialect.c,
    };
    let linkage = dialect.c.function.replace("inline ", "");
    let mut kernels = Vec::new();
    let (mut printed, mut entries) = (Vec::new(), String::new());
    for (n, part) in schedule.parts.iter().enumerate() {
        // One kernel has the whole's name, several are numbered.
        let name = match schedule.parts.len() {
            1 => whole.name.clone(),
            _ => format!("{}_{}", whole.name, n + 1),
        };
        let by_item = format!("{name}_item");
        let hidden = &schedule.names;
        let (function, shared) = if let Some(t) = tile::tiled(part) {
            let function = t.print(&by_item, part, hidden, dialect, &linkage, style);
            (function, t.shared())
        } else if let Some(g) = group::together(part) {
            let function = g.print(&by_item, part, hidden, dialect, &linkage, style);
            (function, g.shared())
        } else {
            let function = Function {
                name: by_item.clone(),
                ..part.function.clone()
            };
            (c::definition(&function, &linkage, style, &[]), vec![])
        };
        printed.push(function);
        entries += "\n";
        entries += &entry(dialect, &name, &by_item, whole, schedule, part, &shared);
        if part.repeats && !kernels.iter().any(|k| k == "[") {
            kernels.push("[".into());
        }
        kernels.push(name);
        if n == 0 {
            let rooms = schedule.names.rooms.iter();
            kernels.extend(rooms.map(|(_, elem)| format!("+{}", elem.bytes())));
        }
    }
    if kernels.iter().any(|k| k == "[") {
        kernels.push("]".into());
    }
    text += &c::together(&printed, style);
    text += &entries;
    File { text, kernels }
}

/// What the host starts: it knows which item this is.
fn entry(
    dialect: &Dialect,
    name: &str,
    by_item: &str,
    whole: &Function,
    schedule: &Schedule,
    part: &Part,
    shared: &[Shared],
) -> String {
    let mut names = dialect.c.names();
    names.reserve(name);
    names.reserve(by_item);
    let hidden = &schedule.names;
    let (mut params, mut arguments) = (Vec::new(), Vec::new());
    for p in parameters(whole, hidden) {
        let used = part.function.params.iter().any(|q| q.name() == p.name());
        let counts_items = [&hidden.first, &hidden.step].contains(&p.name());
        let argument = if counts_items && !shared.is_empty() {
            continue;
        } else if *p.name() == hidden.first {
            dialect.word("item").to_owned()
        } else if *p.name() == hidden.step {
            dialect.word("items").to_owned()
        } else {
            let own = names.fresh_in_c(p.name(), |_| false);
            let ty = |ty: ScalarType| passed(ty).c_name();
            params.push(match &p {
                Param::Scalar { ty: t, .. } => format!("{} {own}", ty(*t)),
                Param::Array { elem, is_const, .. } => {
                    let qualifier = if *is_const { "const " } else { "" };
                    format!("{}{qualifier}{} *{own}", dialect.c.space, ty(*elem))
                }
            });
            match &p {
                // The result's. C++ does not take one pointer for the other.
                Param::Array { elem, .. } if passed(*elem) != *elem => {
                    format!("({}{} *){own}", dialect.c.space, elem.c_name())
                }
                _ => own,
            }
        };
        if used {
            arguments.push(argument);
        }
    }
    let mut text = format!("{}{name}({})\n{{\n", dialect.kernel, params.join(", "));
    for t in shared {
        let array = names.fresh(&t.name);
        let _ = writeln!(
            text,
            "    {}{} {array}[{}];",
            dialect.shared,
            t.elem.c_name(),
            SIDE * SIDE
        );
        arguments.push(array);
    }
    if !shared.is_empty() {
        arguments.extend(dialect.in_group());
    }
    let _ = writeln!(text, "    {by_item}({});\n}}", arguments.join(", "));
    text
}
