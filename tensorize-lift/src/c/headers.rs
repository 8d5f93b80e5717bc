//! Headers that libclang gets to see, and that are nowhere on the machine.

use super::{complex, simd};
use std::path::Path;

/// Where they seem to be.
const FOLDER: &str = "/tensorize-headers";

/// Arguments and files for libclang, if the source may include such a header.
pub(super) fn of(file: &Path) -> (Vec<String>, Vec<(String, &'static str)>) {
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let wanted = ["intrin.h", "arm_neon.h", "complex.h", "#include \""];
    if !wanted.iter().any(|part| text.contains(part)) {
        return (vec![], vec![]);
    }
    let files = simd::virtual_headers()
        .chain([complex::virtual_header()])
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
