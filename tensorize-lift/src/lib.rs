//! From C to LoopIR to TensIR.
//!
//! * [`c`]: the front end. C source, by way of libclang, to LoopIR.
//! * [`summarise`]: the first proposer. LoopIR to index notation, by symbolic execution.
//! * [`synthesise`]: the second proposer. Closed forms that are searched for, where none can be read off a round.
//! * [`raise`]: index notation to library operators, with equality saturation.

mod affine;
pub mod c;
mod left_early;
pub mod raise;
pub mod summarise;
pub mod synthesise;

pub use left_early::left_to_the_original;
