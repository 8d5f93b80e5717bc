//! The prover: does this LoopIR function compute this TensIR term, for all sizes and all inputs?
//!
//! It is the only part that has to be trusted. It does not know the proposers, the back ends or the
//! command line; what they suggest (a summary, the closed form of a loop) is checked, never believed.

pub use loosened::{Cause, Loosened};
pub use prove::{Options, integer_params, prove, prove_generated, same_params};

use tensorize_ir::guard::{Extent, Footprint, Guard, Tier};
use tensorize_ir::index::Sym;

mod answered;
mod apart;
mod asked;
mod bits;
pub mod bound;
pub mod bounded;
pub mod branches;
pub mod canon;
pub mod cases;
pub mod chain;
mod clamp;
mod compare;
pub mod conditions;
pub mod context;
pub mod decode;
pub mod equal;
pub mod eval;
pub mod exec;
pub mod footprint;
mod going_on;
mod hazard;
mod induction;
pub mod interval;
mod locals;
pub mod loops;
mod loosened;
mod matching;
pub mod names;
pub mod narrowed;
pub mod overflow;
mod parallel;
pub mod places;
mod points;
mod prove;
mod ranges;
mod reach;
mod reads;
pub mod real;
mod refute;
pub mod regroup;
mod remainders;
pub mod ring;
pub mod rising;
pub mod rounds;
mod search;
mod settle;
mod shorter;
pub mod signs;
mod slices;
pub mod smt;
pub mod solver;
pub mod state;
pub mod status;
mod sums;
mod tables;
mod theory;
mod trap;
mod turns;
mod work;

/// What a proof of a kernel gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// How much is promised.
    pub tier: Tier,
    /// Why the tier is no better one.
    pub loosened: Vec<Loosened>,
    /// What has to hold at a call.
    pub guards: Vec<Guard>,
    /// The memory that is touched, an entry for each array parameter that is.
    pub footprints: Vec<Footprint>,
    /// What besides has to hold for a target that fetches all of an array's footprint beforehand: loops
    /// that have to run for the original to touch it at all.
    pub eager_guards: Vec<(Sym, Guard)>,
    /// Every access, for arbitrary rounds of the loops around it.
    pub accesses: Vec<exec::Access>,
    /// What has to hold for callers with slices, who can't be trusted with what C takes for granted: all accesses to local
    /// arrays and tables lie inside of them, and arithmetic on sizes does not overflow where that decides what is touched.
    /// `None` if there is no telling.
    pub asked_of_slices: Option<Vec<Guard>>,
    /// How far what lasts over all rounds is touched.
    pub state: Vec<Extent>,
    /// Every integer division and shift that C may leave undefined.
    pub hazards: Vec<exec::Hazard>,
}

/// The answer to "is this summary right?"
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is.
    Proven(Proof),
    /// It isn't: on these inputs, the two differ.
    Refuted {
        /// What was passed, and what came out of either side, in words.
        inputs: String,
        /// The same, to be replayed.
        case: Box<tensorize_ir::memory::Inputs>,
    },
    /// Nobody knows.
    Unknown {
        /// What could not be shown, in words.
        obligation: String,
        /// Line of the source, 0 if there is none.
        line: u32,
    },
}
