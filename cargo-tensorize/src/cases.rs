//! Inputs for code that a program beside the compiled original runs, and what has to come out: what the lifted loop does.

use crate::differential::{Effort, for_sums, large_cases, sampling};
use crate::generate::Artefact;
use crate::pipeline::Proven;
use tensorize_ir::check::{self, Comparison, Same, Tally};
use tensorize_ir::guard::{Guard, Tier};
use tensorize_ir::index::Idx;
use tensorize_ir::inputs::{Case, Palette, Spec};
use tensorize_ir::loopir::interp::{Program, Stop};
use tensorize_ir::memory::{Inputs, Outputs};
use tensorize_ir::tensir::{self, Sampled};

/// Inputs a kernel: such a program is slow.
const INPUTS: usize = 24;
const STEPS: u64 = 50_000;

/// Where no input is that small: elements of the one that is tried, and steps of the lifted loop if it is a loop over time.
const MOST_ELEMENTS: usize = 1 << 22;
const STEPS_OF_ROUNDS: u64 = 20_000_000;

/// What became of one kernel's code: the comparison's tally, which may be empty, or why it is not good.
pub type Verdict = Result<Tally, String>;

/// A kernel's inputs, each with what the lifted loop makes of it.
pub struct Cases<'a> {
    /// The kernel.
    pub proven: &'a Proven,
    spec: Spec,
    how: Comparison,
    cases: Vec<(Inputs, Expected)>,
}

/// What an input has to give.
enum Expected {
    /// All that the lifted loop leaves behind.
    All(Outputs),
    /// Where it would run too long: what the summary gives at some places.
    Places(Sampled),
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
        let mut cases = Cases {
            proven,
            spec,
            how,
            cases: Vec::new(),
        };
        let Ok(program) = Program::new(&proven.function) else {
            return cases;
        };
        let inputs = (cases.spec.sample(effort.seed, tame, Palette::Tame)).chain(
            cases
                .spec
                .sample(effort.seed ^ 0x5eed, INPUTS - tame, Palette::All),
        );
        let run = |case| cases.run(&program, &case, STEPS).ok();
        cases.cases = inputs.filter_map(run).collect();
        if !cases.inputs().any(shows_something) {
            let large = large_cases(&cases.spec, MOST_ELEMENTS, effort.seed, 1);
            let large = large.filter_map(|case| cases.run_large(&program, &case));
            cases.cases = large.collect();
        }
        cases
    }

    fn run(
        &self,
        program: &Program,
        case: &Case,
        limit_steps: u64,
    ) -> Result<(Inputs, Expected), Stop> {
        let how = Comparison {
            limit_steps,
            ..self.how.clone()
        };
        let settled = check::settle(program, &self.spec, case, &how);
        settled.map(|(inputs, outputs)| (inputs, Expected::All(outputs)))
    }

    fn run_large(&self, program: &Program, case: &Case) -> Option<(Inputs, Expected)> {
        let summary = &self.proven.summary;
        // A round starts from all that the one before has left, so that there is no evaluating it at some places.
        if summary.rounds.is_some() {
            return self.run(program, case, STEPS_OF_ROUNDS).ok();
        }
        let sampled = tensir::sample(summary, &case.inputs, &sampling(case.seed)).ok()?;
        Some((case.inputs.clone(), Expected::Places(sampled)))
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
            let difference = match expected {
                Expected::All(expected) => {
                    check::first_difference(expected, &found, &self.how, &mut tally)
                }
                Expected::Places(sampled) => {
                    let how = Comparison {
                        names: ("the summary", self.how.names.1),
                        same: for_sums(self.how.same, inputs),
                        ..self.how.clone()
                    };
                    let summary = &self.proven.summary;
                    check::difference_at_places(summary, sampled, inputs, &found, &how, &mut tally)
                }
            };
            if let Some(text) = difference {
                return Err(at(text));
            }
            tally.compared += usize::from(shows_something(inputs));
        }
        Ok(tally)
    }
}
