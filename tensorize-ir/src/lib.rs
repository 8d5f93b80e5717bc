//! The two languages of `cargo tensorize`, and what they share.
//!
//! * [`loopir`]: a kernel as a machine runs it. Front ends produce it, code
//!   printers consume it.
//! * [`tensir`]: a kernel as mathematics: tensors with symbolic shapes and a
//!   small set of operators under StableHLO's names.
//! * [`element`]: index notation, the scalar expression that stands at an
//!   index. Both languages meet in it.
//! * [`scalar`], [`op`]: C's scalar types and the arithmetic on them, defined
//!   once for both interpreters and the prover.
//! * [`index`]: integer polynomials over sizes and loop counters.
//! * [`text`]: how all of these are written and read back.
//! * [`verify`]: TensIR's rules.
//! * [`memory`]: concrete arguments and results of a call, for both interpreters.
//! * [`inputs`]: arguments to try kernels on, random and exhaustive.
//! * [`check`]: runs two sides until they differ, and makes the difference small.
//! * [`signature`]: how a source function's parameters become LoopIR's.
//! * [`limit`]: how long work on one kernel may take.
//! * [`guard`]: what has to hold at a call, and which memory a kernel touches.
//!
//! Deliberately absent: the C parser, the solver, rewriting and code
//! generation. A user's build script depends on this crate.

pub mod check;
pub mod effort;
pub mod element;
pub mod guard;
pub mod index;
pub mod inputs;
mod libm;
pub mod limit;
pub mod loopir;
pub mod memory;
pub mod op;
pub mod scalar;
pub mod signature;
pub mod tensir;
pub mod text;
pub mod verify;
