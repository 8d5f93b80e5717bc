//! Inputs for code that a program beside the compiled original runs, and what has to come out: what the lifted loop does.

use crate::differential::Effort;
use crate::generate::Artefact;
use crate::pipeline::Proven;
use tensorize_ir::check::{self, Comparison, Same, Tally};
use tensorize_ir::guard::{Guard, Tier};
use tensorize_ir::index::Idx;
use tensorize_ir::inputs::{Palette, Spec};
use tensorize_ir::loopir::interp::Program;
use tensorize_ir::memory::{Inputs, Outputs};
use tensorize_ir::tensir;

/// Inputs a kernel: such a program is slow.
const INPUTS: usize = 24;
const STEPS: u64 = 50_000;

/// What became of one kernel's code: the comparison's tally, or why it is not good.
pub type Verdict = Result<Tally, String>;

/// A kernel's inputs, each with what the lifted loop makes of it.
pub struct Cases<'a> {
    /// The kernel.
    pub proven: &'a Proven,
    spec: Spec,
    how: Comparison,
    cases: Vec<(Inputs, Outputs)>,
}

/// Where sums may be re-associated, a few rounds of a loop over time: later ones may make as much as they like of what
/// is rounded in another way.
pub fn few_rounds(summary: &tensir::Function, tier: Tier) -> Option<Guard> {
    const FEW: i128 = 3;
    let rounds = summary.rounds.as_ref().filter(|_| tier == Tier::Real)?;
    Some(Guard::NonNegative(&Idx::constant(FEW) - &rounds.trip))
}

/// Whether there is anything that a kernel could compute with.
pub fn shows_something(inputs: &Inputs) -> bool {
    inputs.arrays.is_empty() || inputs.arrays.values().any(|b| !b.data.is_empty())
}

impl<'a> Cases<'a> {
    /// Inputs that the kernel's guards and the code's own admit.
    pub fn of(proven: &'a Proven, artefact: &Artefact) -> Cases<'a> {
        let params = &proven.function.params;
        let mut guards = proven.proof.guards.clone();
        guards.extend(artefact.guards.iter().cloned());
        guards.extend(few_rounds(&proven.summary, artefact.tier));
        let spec = Spec::known(params, &guards, &proven.proof.footprints)
            .with_constants_of(&proven.function);
        let effort = Effort::default();
        let how = Comparison {
            names: ("the lifted loop", "the generated code"),
            same: match artefact.tier {
                Tier::Exact => Same::Exactly,
                Tier::Real => Same::Within(effort.tolerance),
            },
            limit_steps: STEPS,
            ..Comparison::default()
        };
        // Where sums may be re-associated, infinities and huge numbers show nothing.
        let tame = if artefact.tier == Tier::Exact {
            INPUTS / 4
        } else {
            INPUTS
        };
        let cases = match Program::new(&proven.function) {
            Ok(program) => spec
                .sample(effort.seed, tame, Palette::Tame)
                .chain(spec.sample(effort.seed ^ 0x5eed, INPUTS - tame, Palette::All))
                .filter_map(|case| check::settle(&program, &spec, &case, &how).ok())
                .collect(),
            Err(_) => Vec::new(),
        };
        Cases {
            proven,
            spec,
            how,
            cases,
        }
    }

    /// The inputs.
    pub fn inputs(&self) -> impl Iterator<Item = &Inputs> {
        self.cases.iter().map(|(inputs, _)| inputs)
    }

    /// Compares what came out, in the order of the inputs. It stops at the first difference.
    pub fn compare(&self, found: impl Iterator<Item = Result<Outputs, String>>) -> Verdict {
        let mut tally = Tally::default();
        for ((inputs, expected), found) in self.cases.iter().zip(found) {
            let at = |why: String| format!("{}: {why}", check::describe(inputs, &self.spec));
            let found = found.map_err(at)?;
            if let Some(text) = check::first_difference(expected, &found, &self.how, &mut tally) {
                return Err(at(text));
            }
            tally.compared += usize::from(shows_something(inputs));
        }
        if tally.compared == 0 {
            return Err("none of the inputs that were tried has an element".into());
        }
        Ok(tally)
    }
}
