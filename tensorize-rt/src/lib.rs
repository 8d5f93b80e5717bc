//! Linked into a program with tensorized kernels: dispatch, fallback, and what ran where.
//!
//! The generated bindings hold a [`Kernel`] for each C kernel, and a function under the kernel's C name
//! that checks its guards and runs the original or generated code. `TENSORIZE` tells which:
//!
//! | value | what runs |
//! |---|---|
//! | `auto` (default) | what is the fastest at the size: the original, `cpu` code, or another target that [`warm_up`] has started |
//! | `off` | the original |
//! | `tune` | the original, and at the first call of a size the targets beside it, timed ([`tuned`]) |
//! | `cpu`, `numpy`, … | that target where there is one, else the original |
//! | `shadow`, `shadow=TARGET` | the original and the target; they are compared, the original answers |
//!
//! `TENSORIZE_REPORT` names a file, or a folder, for what [`report()`] says when the program ends: `cargo tensorize explain` reads it.
//!
//! The features `opencl` and `cuda` are for kernels on GPUs: they load the drivers' libraries when a call needs them.
//!
//! Deliberately absent: TensIR, LoopIR, the prover. Nothing here unwinds into C.

mod call;
mod choice;
mod device;
mod elsewhere;
mod error;
mod fallback;
#[doc(hidden)]
pub mod gemm;
mod kernel;
mod memory;
mod pace;
mod report;
mod shadow;
mod slices;
mod tune;
pub mod tuned;
mod value;
#[cfg(unix)]
mod worker;
mod written;

pub use call::{Block, Call, Misfit, Planes, RowRange, equally_spaced, row_range, rows_apart};
pub use choice::{Choice, choice, set_choice};
pub use device::{Api, Component, Details};
pub use elsewhere::{Extent, run_elsewhere};
pub use error::Error;
pub use fallback::{Cause, Fallback};
pub use kernel::{Code, Kernel, Library, Route, Target, Tier, warm_up};
pub use memory::{Array, Elem, Members};
pub use report::{KernelReport, print_report, report};
pub use slices::{AnySlice, AtAGlance, Check, InFull, apart, convertible, floor_div, int, modulo};
pub use value::{Argument, Value};
pub use written::write_report;

/// Includes what the build script generated: `tensorize_rt::include_kernels!("kernels");`, with the name
/// that was given to `Build::compile`. It stands in a module of its own, once in a program, since it
/// defines the C symbols of the kernels.
#[macro_export]
macro_rules! include_kernels {
    ($name:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"));
    };
}
