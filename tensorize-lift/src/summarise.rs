//! The first proposer: symbolic summarisation of the loop nest.

use tensorize_ir::{loopir, tensir};
use tensorize_prove::solver::Solver;

/// Why a kernel has no summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A code that the command line explains.
    pub code: &'static str,
    /// What stands in the way.
    pub message: String,
    /// Line of the source, 0 if there is none.
    pub line: u32,
}

/// Proposes a summary. It is a proposal: the prover has to agree.
pub fn summarise(
    kernel: &loopir::Function,
    _solver: &mut Solver,
) -> Result<tensir::Function, Refusal> {
    Err(Refusal { code: "TZ0301", message: format!("no summary of {}", kernel.name), line: 0 })
}
