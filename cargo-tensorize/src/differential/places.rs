//! Kernels of which one run is too large for the interpreters, as with shapes that are constants in the source.
//!
//! The compiled original still runs, on fewer inputs, and generated code is compared with it in full. The summary is
//! evaluated at some elements of the results: corners, borders, and others by chance.

use super::check::{Checker, LARGE_CALL_SECONDS, LOOP, MAX_ELEMENTS, ORIGINAL, SUMMARY, elements};
use super::generated::for_sums;
use super::{Effort, Error, Failure, Outcome};
use crate::cases::shows_something;
use tensorize_ir::check::{self, Comparison, Tally};
use tensorize_ir::inputs::{Case, Palette, Spec};
use tensorize_ir::loopir::interp::Stop;
use tensorize_ir::memory::{Inputs, Outputs};
use tensorize_ir::tensir::{self, Sampling};

/// More elements than this are not put into the arrays of one input: a bound on memory.
const MOST_ELEMENTS: usize = 1 << 23;

/// Elements of each result at which the summary is evaluated, and the steps for that: about a tenth of a second.
const PLACES: usize = 256;
const STEPS: u64 = 4_000_000;
/// The same for the first element of each, so that one is compared at least.
const PATIENCE: u64 = 50_000_000;

/// Where all of a run takes no more steps than this, the lifted loop is interpreted, too.
const STEPS_OF_LOOP: u64 = 1_000_000;

/// Steps of all runs together, after which there are no more.
const STEPS_OF_RUNS: u64 = 400_000_000;

/// Inputs with as few elements as give the kernel something to do, and no more than `most`.
pub fn large_cases(
    spec: &Spec,
    most: usize,
    seed: u64,
    count: usize,
) -> impl Iterator<Item = Case> + use<> {
    let up_to = |max_elements| {
        let mut spec = spec.clone();
        spec.max_elements = max_elements;
        spec
    };
    let works = |spec: &Spec| {
        let mut few = spec.sample(seed, 8, Palette::Tame);
        few.any(|case| elements(&case.inputs) > 0)
    };
    let mut spec = up_to(most);
    if !spec.is_fixed() {
        let smaller = (14..23).step_by(2).map(|bits| up_to(1 << bits));
        spec = smaller.into_iter().find(works).unwrap_or(spec);
    }
    let cases = (0..).map_while(move |i| spec.sample(seed ^ i << 32, 1, Palette::Tame).next());
    let is_something = |case: &Case| elements(&case.inputs) > 0;
    cases.take(count * 4).filter(is_something).take(count)
}

/// How much of the summary is evaluated on one of them.
pub fn sampling(seed: u64) -> Sampling {
    Sampling {
        seed,
        places: PLACES,
        steps: STEPS,
        patience: PATIENCE,
    }
}

impl Checker<'_> {
    /// The compiled original against the summary on large inputs, which are kept for generated code.
    pub(super) fn at_places(&mut self, effort: &Effort) -> Result<(), Failure> {
        let (mut inputs, mut originals) = (Vec::new(), Vec::new());
        let (mut seen, mut steps) = (0, 0u64);
        for case in large_cases(&self.spec, MOST_ELEMENTS, effort.seed, effort.large_inputs) {
            let Some((case, original, taken)) = self.at_places_of(case)? else {
                self.evidence.skipped += 1;
                continue;
            };
            self.evidence.tried += 1;
            self.evidence.compared += usize::from(shows_something(&case));
            seen += elements(&case);
            steps = steps.saturating_add(taken);
            inputs.push(case);
            originals.push(original);
            if seen > MAX_ELEMENTS || steps > STEPS_OF_RUNS {
                break;
            }
        }
        if !self.spec.is_fixed() {
            let (more, theirs) = self.larger(effort)?;
            inputs.extend(more);
            originals.extend(theirs);
        }
        self.large = Some((inputs, originals));
        Ok(())
    }

    /// One input, what the original makes of it, and about how many steps that takes; nothing where C may leave it
    /// undefined.
    fn at_places_of(&mut self, case: Case) -> Result<Option<(Inputs, Outputs, u64)>, Failure> {
        let summary = self.kernel.summary;
        let sampled = match tensir::sample(summary, &case.inputs, &sampling(case.seed)) {
            Ok(sampled) => sampled,
            Err(why) => return Err(self.plain((ORIGINAL, SUMMARY), &case.inputs, &why)),
        };
        let mut lifted = None;
        if sampled.steps_for_all <= STEPS_OF_LOOP {
            let patient = Comparison {
                limit_steps: STEPS_OF_LOOP * 8,
                ..self.how.clone()
            };
            lifted = match check::settle(&self.program, &self.spec, &case, &patient) {
                Ok((_, outputs)) => Some(outputs),
                Err(Stop::StepLimit) => None,
                Err(stop) if self.is_a_mistake(&stop) => {
                    let text = format!("{LOOP} {stop}");
                    return Err(self.plain((LOOP, ORIGINAL), &case.inputs, &text));
                }
                Err(_) => return Ok(None),
            };
        }
        let Some(original) = self.original_of(&case.inputs, lifted.is_some())? else {
            return Ok(None);
        };
        let mut tally = Tally::default();
        let how = |names| Comparison {
            names,
            same: for_sums(self.how.same, &case.inputs),
            ..self.how.clone()
        };
        let against_loop = lifted.and_then(|lifted| {
            check::first_difference(&lifted, &original, &how((LOOP, ORIGINAL)), &mut tally)
        });
        if let Some(text) = against_loop {
            return Err(self.plain((LOOP, ORIGINAL), &case.inputs, &text));
        }
        let names = (SUMMARY, ORIGINAL);
        let (inputs, how) = (&case.inputs, how(names));
        if let Some(text) =
            check::difference_at_places(summary, &sampled, inputs, &original, &how, &mut tally)
        {
            return Err(self.plain(names, inputs, &text));
        }
        let evidence = &mut self.evidence;
        evidence.max_relative_error = evidence.max_relative_error.max(tally.max_relative_error);
        let fewest = evidence.places.map_or(u64::MAX, |(count, _)| count);
        if sampled.count() < fewest {
            evidence.places = Some((sampled.count(), sampled.all));
        }
        Ok(Some((case.inputs, original, sampled.steps_for_all)))
    }

    /// What the original leaves behind. That it crashes says nothing if nobody knows whether C defines what it does, or if it is
    /// known that C++ does not.
    fn original_of(&self, inputs: &Inputs, is_defined: bool) -> Result<Option<Outputs>, Failure> {
        let params = &self.kernel.lifted.params;
        let function = self.kernel.function;
        let mut outcomes = (self.all).outcomes(function, params, &[inputs], LARGE_CALL_SECONDS)?;
        let outcome = outcomes
            .pop()
            .ok_or_else(|| Error::Program("it gives no answer".into()))?;
        match outcome {
            Outcome::Endless => {
                let why = format!("a run takes more than {LARGE_CALL_SECONDS} s");
                Err(Error::Program(why).into())
            }
            Outcome::Crashed { .. } if !is_defined => Ok(None),
            outcome if self.is_undefined(inputs, &outcome) => Ok(None),
            outcome => match outcome.outputs(params) {
                Ok(outputs) => Ok(Some(outputs)),
                Err(why) => Err(self.plain((LOOP, ORIGINAL), inputs, &why)),
            },
        }
    }
}
