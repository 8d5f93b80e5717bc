//! Vector registers: SSE, AVX, NEON, and the compiler's own vector types.
//!
//! A vector is its lanes, each a scalar expression; nothing of it is left in LoopIR. A register of integers has
//! no type of its own (`__m128i`): its lanes keep the type they were computed in, and are cut up or put
//! together where an operation sees them as others ([`Vector::seen_as`]).

mod family;
pub(super) mod fold;
mod header;
mod intrinsic;
mod lower;
mod registers;
mod table;
mod value;
mod variable;

pub(super) use header::{unknown_intrinsic, virtual_headers};
pub(super) use intrinsic::{Outcome, gives_mask, writes_memory};
pub(super) use lower::{is_register, is_vector, packed};
pub(super) use registers::{register_of, registers};
pub(super) use value::Vector;

#[cfg(test)]
mod tests;
