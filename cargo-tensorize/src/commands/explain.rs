//! `explain`: what a code means, or all that is known of a kernel.

mod kernel;
mod ran;

use super::Output;
use crate::cli::Explain;
use crate::codes;
use crate::diagnostics::Diagnostic;
use crate::exit::Code;
use serde::Serialize;

/// For programs: what is the same elsewhere without a reason.
#[derive(Serialize)]
struct Told<'a, T> {
    reason: &'static str,
    #[serde(flatten)]
    what: &'a T,
}

impl<'a, T> Told<'a, T> {
    fn new(reason: &'static str, what: &'a T) -> Told<'a, T> {
        Told { reason, what }
    }
}

/// Explains one code or one kernel, or lists all codes.
pub fn run(args: &Explain, out: &Output) -> Code {
    let Some(what) = args.what.as_deref() else {
        codes::all().for_each(|c| {
            out.text(&format!("{}  {}\n", c.code, c.title));
            out.json(&Told::new("code", &c));
        });
        out.text(&format!("\n{}", Code::table()));
        return Code::Clean;
    };
    if let Some(c) = codes::find(what) {
        out.text(&format!("{}: {}\n\n{}\n", c.code, c.title, c.text()));
        out.json(&Told::new("code", &c));
        return Code::Clean;
    }
    let exit = Code::ALL
        .iter()
        .find(|(c, _)| (*c as u8).to_string() == what);
    if let Some((code, what)) = exit {
        out.text(&format!("exit code {}: {what}\n", *code as u8));
        return Code::Clean;
    }
    let digits = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_digit());
    if digits(what) || what.strip_prefix("TZ").is_some_and(digits) {
        let message = format!("there is no code `{what}`");
        let help = "`cargo tensorize explain` lists all codes";
        out.diagnostic(&Diagnostic::error("TZ0105", message).help(help));
        return Code::Usage;
    }
    kernel::run(what, args, out)
}

/// A heading and a list, if there is anything in it.
fn section(heading: &str, lines: impl IntoIterator<Item = String>) -> String {
    let lines: String = lines.into_iter().map(|l| format!("  {l}\n")).collect();
    match lines.is_empty() {
        true => lines,
        false => format!("\n{heading}\n{lines}"),
    }
}
