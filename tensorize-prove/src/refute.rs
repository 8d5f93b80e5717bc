//! Inputs on which a kernel and a summary differ.

use tensorize_ir::check::{Comparison, Difference, Same, compare};
use tensorize_ir::guard::{Guard, Tier};
use tensorize_ir::inputs::{Palette, Spec};
use tensorize_ir::loopir::interp::Program;
use tensorize_ir::{loopir, tensir};

/// How many inputs are tried.
const TRIES: usize = 200;

/// Looks for inputs that meet the guards and on which the two differ, and makes them small. At tier real a
/// difference of floats counts only if rounding can't explain it.
pub fn refute(
    kernel: &loopir::Function,
    summary: &tensir::Function,
    guards: &[Guard],
    tier: Tier,
) -> Option<Difference> {
    let program = Program::new(kernel).ok()?;
    let spec = Spec::guarded(&kernel.params, guards).with_constants_of(kernel);
    let same = if tier == Tier::Exact {
        Same::Exactly
    } else {
        Same::Within(1e-3)
    };
    let how = Comparison {
        same,
        may_leave_extents: true,
        // That a summary reads more than the kernel does is the footprints' business: it is no difference in what
        // is computed.
        other_may_fail: true,
        ..Comparison::default()
    };
    let mut other = |inputs: &tensorize_ir::memory::Inputs| tensir::interpret(summary, inputs);
    for (palette, seed) in [(Palette::Tame, 1), (Palette::All, 2)] {
        let cases = spec.sample(seed, TRIES / 2, palette);
        if let Err(difference) = compare(&program, &mut other, &spec, cases, &how) {
            return Some(*difference);
        }
    }
    None
}
