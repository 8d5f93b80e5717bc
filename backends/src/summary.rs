//! What all back ends need from a summary.

use crate::Unsupported;
use tensorize_ir::tensir::Function;

/// Refuses a summary that breaks TensIR's rules, so that no back end has to fear one.
pub(crate) fn check(function: &Function) -> Result<(), Unsupported> {
    function
        .verify()
        .map_err(|e| Unsupported::new(format!("the summary is not well-formed: {e}")))
}

/// The summary's text, a line each.
pub(crate) fn summary_lines(function: &Function) -> Vec<String> {
    function.to_string().lines().map(str::to_string).collect()
}
