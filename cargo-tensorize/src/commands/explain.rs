//! `explain`: what a code means.

use super::Output;
use crate::codes;
use crate::diagnostics::Diagnostic;
use crate::exit::Code;

/// Explains one code, or lists all.
pub fn run(code: Option<&str>, out: &Output) -> Code {
    let Some(code) = code else {
        codes::all().for_each(|c| {
            out.text(&format!("{}  {}\n", c.code, c.title));
            out.json(&c);
        });
        out.text(&format!("\n{}", Code::table()));
        return Code::Clean;
    };
    if let Some(c) = codes::find(code) {
        out.text(&format!("{}: {}\n\n{}\n", c.code, c.title, c.explanation));
        out.json(&c);
        return Code::Clean;
    }
    let exit = Code::ALL
        .iter()
        .find(|(c, _)| (*c as u8).to_string() == code);
    if let Some((code, what)) = exit {
        out.text(&format!("exit code {}: {what}\n", *code as u8));
        return Code::Clean;
    }
    let message = format!("there is no code `{code}`");
    let help = "`cargo tensorize explain` lists all codes";
    out.diagnostic(&Diagnostic::error("TZ0105", message).help(help));
    Code::Usage
}
