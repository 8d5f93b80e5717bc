//! Whether code does the work of a loop once, or again and again: in interpreted steps, on random inputs.

use crate::inputs::{Palette, Spec};
use crate::loopir::Function;
use crate::loopir::interp::{Program, Stop};

/// Code that takes more times as many steps as the original does some of the work more than once.
///
/// Results that have to wait for each other are computed for whole arrays where the original swaps halves of them, which is
/// no more than that.
pub const MOST: u64 = 8;

/// Of shorter runs, much is what the code looks at before its first round.
const SHORTEST: u64 = 1000;

/// Longer runs are passed over.
const LONGEST: u64 = 300_000;

/// How many steps the original and its code take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The original.
    pub original: u64,
    /// Its code; nothing for more than [`MOST`] times as many.
    pub code: Option<u64>,
}

/// What the original's longest run of some takes; nothing if that says nothing.
///
/// # Errors
/// If one of the two can't be interpreted.
pub fn effort(original: &Function, code: &Function, spec: &Spec) -> Result<Option<Effort>, Stop> {
    let [original, code] = [Program::new(original)?, Program::new(code)?];
    let runs = spec.sample(5, 60, Palette::Tame).filter_map(|case| {
        let steps = original.steps(&mut case.inputs.clone(), LONGEST)?;
        Some((steps, case))
    });
    let longest = runs.max_by_key(|(steps, _)| *steps);
    let Some((steps, mut case)) = longest.filter(|(steps, _)| *steps > SHORTEST) else {
        return Ok(None);
    };
    Ok(Some(Effort {
        original: steps,
        code: code.steps(&mut case.inputs, steps * MOST + SHORTEST),
    }))
}
