//! Whether code does the work of a loop once, or again and again: in interpreted steps, on random inputs.

use crate::inputs::{Palette, Spec};
use crate::loopir::Function;
use crate::loopir::interp::{Program, Stop};

/// Code that takes more times as many steps as the original does some of the work more than once.
///
/// Results that have to wait for each other are computed for whole arrays where the original swaps halves of them, which is
/// no more than that.
pub const MOST: u64 = 8;

/// Longer runs of the original are passed over.
const LONGEST: u64 = 300_000;

/// How many steps the original and its code take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Effort {
    /// The original.
    pub original: u64,
    /// Its code; nothing for more than [`MOST`] times as many, and some for what is there before the first round.
    pub code: Option<u64>,
}

/// What the longest run takes, of some; nothing if there is none that is short enough.
///
/// # Errors
/// If one of the two can't be interpreted.
pub fn effort(original: &Function, code: &Function, spec: &Spec) -> Result<Option<Effort>, Stop> {
    let [original, code] = [Program::new(original)?, Program::new(code)?];
    let taken = spec.sample(5, 60, Palette::Tame).filter_map(|case| {
        let theirs = original.steps(&mut case.inputs.clone(), LONGEST)?;
        let limit = theirs * MOST + 1000;
        Some(Effort {
            original: theirs,
            code: code.steps(&mut case.inputs.clone(), limit),
        })
    });
    Ok(taken.max())
}
