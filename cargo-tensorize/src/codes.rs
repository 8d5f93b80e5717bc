//! The codes of diagnostics, all in one table. `cargo tensorize explain CODE` prints a row.

use serde::Serialize;

/// A row.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Code {
    /// `TZ` and four digits.
    pub code: &'static str,
    /// A few words.
    pub title: &'static str,
    /// What it means and what to do.
    pub explanation: &'static str,
}

/// The row of a code, in any case.
pub fn find(code: &str) -> Option<&'static Code> {
    CODES.iter().find(|c| c.code.eq_ignore_ascii_case(code))
}

const fn row(code: &'static str, title: &'static str, explanation: &'static str) -> Code {
    Code { code, title, explanation }
}

/// All codes. 01 tools and command line, 02 front end, 03 summaries, 04 prover, 05 differential run,
/// 06 targets, 07 configuration and stored results.
pub const CODES: &[Code] = &[
    row(
        "TZ0101",
        "Z3 not found",
        "The prover asks Z3. It is looked for in TENSORIZE_Z3, then where `cargo xtask setup` puts it, then on \
         PATH. Install it with `cargo xtask setup`, or with `pip install z3-solver`.",
    ),
    row(
        "TZ0102",
        "Z3 too old",
        "Z3 4.13.3 or later is needed; older ones, such as Debian 12's, are refused. Install a newer one with \
         `cargo xtask setup`, or `pip install z3-solver` and set TENSORIZE_Z3.",
    ),
    row(
        "TZ0103",
        "no C compiler",
        "The compiled original is run against its summary, which takes a C compiler. CC names it; else `cc` is \
         looked for on PATH.",
    ),
    row(
        "TZ0104",
        "a bug in cargo-tensorize",
        "Something happened that should not. The kernel is left as it is. Please report it with the kernel's \
         source.",
    ),
    row("TZ0105", "wrong use of the command line", "See `cargo tensorize --help`."),
    row(
        "TZ0106",
        "no kernels",
        "No function to work on was found. A kernel is marked with TENSORIZE_KERNEL (from `tensorize.h`) before \
         its definition, or named in `[package.metadata.tensorize]`.",
    ),
];
