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
    let wanted =
        text.contains("intrin.h") || text.contains("arm_neon.h") || text.contains("#include \"");
    if !wanted {
        return (vec![], vec![]);
    }
    let files = table::HEADERS
        .iter()
        .map(|name| (format!("{FOLDER}/{name}"), table::header()))
        .collect();
    (vec!["-isystem".into(), FOLDER.into()], files)
}
