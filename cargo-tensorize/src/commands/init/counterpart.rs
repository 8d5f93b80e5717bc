//! What a call on `cc`'s builder is on ours.

use super::builders::Call;

/// What becomes of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Counterpart {
    /// It is this one, with its arguments.
    Is(String),
    /// Nothing, for this reason.
    NotNeeded(&'static str),
    /// There is none.
    Lacking,
}

impl Counterpart {
    pub(super) fn of(call: &Call) -> Counterpart {
        let arguments = &call.arguments;
        match call.method.as_str() {
            method @ ("file" | "files" | "include" | "includes" | "define" | "flag" | "flags"
            | "flag_if_supported" | "pic" | "compile") => {
                Counterpart::Is(format!("{method}({arguments})"))
            }
            "try_compile" => Counterpart::Is(format!("compile({arguments})")),
            "std" => Counterpart::Is(match &call.literal {
                Some(standard) => format!("flag(\"-std={standard}\")"),
                None => format!("flag(format!(\"-std={{}}\", {arguments}))"),
            }),
            "cpp" => Counterpart::NotNeeded("the language goes by the file's name"),
            "warnings" | "extra_warnings" => {
                Counterpart::NotNeeded("the originals are compiled without warnings")
            }
            // 2, or what a release build has.
            "opt_level" | "opt_level_str" => {
                Counterpart::NotNeeded("how much is optimised goes by the profile")
            }
            _ => Counterpart::Lacking,
        }
    }
}
