//! The headers of intrinsics, in place of the compiler's own.
//!
//! A libclang that is loaded at run time has no headers that fit it, and those of the system's compiler
//! don't parse with it. All that is needed of them are types and prototypes.

use super::table;

/// Their names and texts.
pub fn virtual_headers() -> impl Iterator<Item = (&'static str, &'static str)> {
    table::HEADERS.iter().map(|name| (*name, table::header()))
}

/// The intrinsic that a message of the compiler misses.
pub fn unknown_intrinsic(message: &str) -> Option<&str> {
    let name = message
        .strip_prefix("call to undeclared function '")
        .or_else(|| message.strip_prefix("use of undeclared identifier '"))?
        .split('\'')
        .next()?;
    let lanes = |n: &str| {
        n.rsplit_once('_').is_some_and(|(_, last)| {
            let bits = last.trim_start_matches(['s', 'u', 'f', 'p']);
            bits.len() < last.len() && matches!(bits, "8" | "16" | "32" | "64")
        })
    };
    (name.starts_with("_mm") || name.starts_with('v') && lanes(name)).then_some(name)
}
