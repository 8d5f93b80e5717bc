//! The headers of intrinsics that libclang gets to see, in place of the compiler's own.
//!
//! A libclang that is loaded at run time has no headers that fit it, and those of the system's compiler
//! don't parse with it. All that is needed of them are types and prototypes.

use super::table;
use std::path::Path;

/// Where they seem to be.
const FOLDER: &str = "/tensorize-intrinsics";

/// Arguments and files for libclang, if the source may include such a header.
pub fn virtual_headers(file: &Path) -> (Vec<String>, Vec<(String, &'static str)>) {
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let wanted = ["intrin.h", "arm_neon.h", "complex.h", "#include \""];
    let wanted = wanted.iter().any(|part| text.contains(part));
    if !wanted {
        return (vec![], vec![]);
    }
    let files = table::HEADERS
        .iter()
        .map(|name| (*name, table::header()))
        .chain([crate::c::complex::virtual_header()])
        .map(|(name, text)| (format!("{FOLDER}/{name}"), text))
        .collect();
    let args = [
        "-isystem",
        FOLDER,
        // An intrinsic that isn't declared is none that is known.
        "-Werror=implicit-function-declaration",
    ];
    (args.map(String::from).to_vec(), files)
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
