//! One kernel: the compiled original, its summary, and the code generated from it, on the same inputs.

use super::generated::named;
use super::{Differential, Error, Outcome};
use crate::cases::{few_rounds, shows_something};
use crate::columns::within_objects;
use tensorize_ir::check::{self, Comparison, Same, Side, Tally};
use tensorize_ir::guard::Tier;
use tensorize_ir::inputs::{Case, Palette, Spec};
use tensorize_ir::loopir::interp::{Program, Stop};
use tensorize_ir::memory::{Inputs, Outputs};
use tensorize_ir::signature::{Language, Shape, Source};
use tensorize_ir::{loopir, tensir};
use tensorize_prove::Proof;

/// A kernel that has a proof.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    /// The number of the function in the [`Differential`].
    pub function: usize,
    /// What the front end made of it.
    pub lifted: &'a loopir::Function,
    /// What it was proven to compute.
    pub summary: &'a tensir::Function,
    /// The proof.
    pub proof: &'a Proof,
}

/// How much is tried.
#[derive(Clone, Debug)]
pub struct Effort {
    /// How many inputs.
    pub inputs: usize,
    /// How many larger ones, for generated code only: the interpreters are slow.
    pub large_inputs: usize,
    /// Where the inputs come from.
    pub seed: u64,
    /// Runs of the compiled program that may be spent on making a difference smaller.
    pub shrink_runs: usize,
    /// What floats may differ by at tier *real*, relative to the larger of them and 1.
    pub tolerance: f64,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort {
            inputs: 60,
            large_inputs: 4,
            seed: 1,
            shrink_runs: 300,
            tolerance: 1e-3,
        }
    }
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Inputs that gave the kernel something to do, on which all agreed.
    pub compared: usize,
    /// The same, with those that gave it nothing to do.
    pub tried: usize,
    /// Inputs on which C leaves the original's behaviour undefined.
    pub skipped: usize,
    /// Inputs on which the interpreters take too many steps.
    pub too_long: usize,
    /// Where one run is too large for the interpreters: the summary was evaluated at so many elements of the results,
    /// of so many. All elements of generated code were compared, as ever.
    pub places: Option<(u64, u64)>,
    /// The largest relative error of the summary against the original, of finite floats; 0 where all bits
    /// agree.
    pub max_relative_error: f64,
    /// The same for each variant: its name, and what was seen.
    pub variants: Vec<(String, Tally)>,
}

/// Two sides that should agree and don't. It is a bug in this tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Which two, such as "the lifted loop" and "the compiled original".
    pub between: (&'static str, &'static str),
    /// The input and both results, in words.
    pub text: String,
    /// The variant that took part.
    pub variant: Option<String>,
    /// The input.
    pub inputs: Inputs,
}

/// Why there is no evidence.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Something differs.
    #[error("{} and {} differ: {}", .0.between.0, .0.between.1, .0.text)]
    Mismatch(Box<Mismatch>),
    /// Nothing could be run.
    #[error(transparent)]
    Unavailable(#[from] Error),
}

pub(super) const LOOP: &str = "the lifted loop";
pub(super) const SUMMARY: &str = "the summary";
pub(super) const ORIGINAL: &str = "the compiled original";

/// Steps that one run of an interpreter may take: what keeps a kernel under 100 ms.
const STEPS: u64 = 50_000;

/// Elements of all inputs of a kernel together: a bound on memory.
pub(super) const MAX_ELEMENTS: usize = 1 << 20;

/// After so many inputs of one shape that take too many steps, there are no more.
const ENOUGH_TOO_LONG: usize = 4;

/// How long a call may take, and one with a larger input.
pub(super) const CALL_SECONDS: u32 = 4;
pub(super) const LARGE_CALL_SECONDS: u32 = 30;

/// An input with what the loop and the summary make of it.
pub(super) struct Tried {
    pub(super) case: Case,
    /// Without infinities and huge numbers.
    pub(super) tame: bool,
    pub(super) inputs: Inputs,
    lifted: Outputs,
    summary: Outputs,
}

impl Tried {
    /// Whether anything was there to be computed, and was.
    fn does_something(&self) -> bool {
        let nothing_done =
            self.lifted.returned.is_none() && self.lifted.arrays == self.inputs.arrays;
        shows_something(&self.inputs) && !nothing_done
    }
}

/// Why an input says nothing.
enum Skip {
    Undefined,
    TooLong,
}

pub(super) fn elements(inputs: &Inputs) -> usize {
    inputs.arrays.values().map(|b| b.data.len()).sum()
}

impl Differential {
    /// Runs everything that there is for the kernel on the same inputs.
    pub fn check(&self, kernel: &Kernel<'_>, effort: &Effort) -> Result<Evidence, Failure> {
        let params = &kernel.lifted.params;
        let program = Program::new(kernel.lifted).map_err(|stop| {
            Error::Source(format!("{} is not well-formed: {stop}", kernel.lifted.name))
        })?;
        let mut guards = kernel.proof.guards.clone();
        guards.extend(kernel.proof.asked_of_slices.iter().flatten().cloned());
        guards.extend(few_rounds(kernel.summary, kernel.proof.tier));
        let source = (self.signature(kernel.function)).and_then(|s| s.source.as_ref());
        if let Some(source) = source {
            guards.extend(within_objects(source, kernel.summary, kernel.proof));
        }
        let spec =
            Spec::known(params, &guards, &kernel.proof.footprints).with_constants_of(kernel.lifted);
        let mut checker = Checker {
            all: self,
            kernel,
            program,
            spec,
            how: Comparison {
                names: (LOOP, SUMMARY),
                same: match kernel.proof.tier {
                    Tier::Exact => Same::Exactly,
                    Tier::Real => Same::Within(effort.tolerance),
                },
                limit_steps: STEPS,
                shrink_runs: effort.shrink_runs,
                resized: source.map_or(Vec::new(), |s| s.resized()),
                ..Comparison::default()
            },
            evidence: Evidence::default(),
            large: None,
        };
        let (tried, too_large) = checker.interpreters(effort)?;
        let (tried, originals) = checker.original(tried)?;
        if too_large {
            checker.at_places(effort)?;
        }
        let edges = match too_large {
            true => Vec::new(),
            false => checker.edges(effort)?,
        };
        for (function, name) in self.variants_of(kernel.function) {
            checker.variant(function, name, &tried, &originals, effort)?;
            checker
                .faultless(function, &edges)
                .map_err(|f| named(f, name))?;
        }
        Ok(checker.evidence)
    }

    pub(super) fn run_inputs(
        &self,
        function: usize,
        params: &[loopir::Param],
        inputs: &[&Inputs],
    ) -> Result<Vec<Result<Outputs, String>>, Error> {
        let outcomes = self.outcomes(function, params, inputs, CALL_SECONDS)?;
        Ok(outcomes.into_iter().map(|o| o.outputs(params)).collect())
    }

    /// What comes of calls that may take so many seconds each.
    pub(super) fn outcomes(
        &self,
        function: usize,
        params: &[loopir::Param],
        inputs: &[&Inputs],
        seconds: u32,
    ) -> Result<Vec<Outcome>, Error> {
        let mut jobs = Vec::new();
        for (i, inputs) in inputs.iter().enumerate() {
            let mut job = self.job(function, params, inputs)?;
            job.front = i % 4 == 3;
            jobs.push(job);
        }
        self.run_for(&jobs, seconds)
    }

    /// One call, as a side of a comparison.
    pub(super) fn side<'a>(
        &'a self,
        function: usize,
        params: &'a [loopir::Param],
    ) -> impl FnMut(&Inputs) -> Result<Outputs, String> + 'a {
        move |inputs| match self.run_inputs(function, params, &[inputs]) {
            Ok(mut results) => results.pop().unwrap_or_else(|| Err("no answer".into())),
            Err(e) => Err(e.to_string()),
        }
    }
}

/// The number of the signal that `abort` sends.
const SIGABRT: i32 = 6;
/// The number of the signal that an invalid address brings.
const SIGSEGV: i32 = 11;

pub(super) struct Checker<'a> {
    pub(super) all: &'a Differential,
    pub(super) kernel: &'a Kernel<'a>,
    pub(super) program: Program,
    pub(super) spec: Spec,
    pub(super) how: Comparison,
    pub(super) evidence: Evidence,
    /// Inputs for generated code only, with what the original makes of them.
    pub(super) large: Option<Large>,
}

/// Inputs, and what the original leaves behind.
pub(super) type Large = (Vec<Inputs>, Vec<Outputs>);

impl Checker<'_> {
    /// The loop against the summary, both interpreted; and whether nothing was seen because runs are too large for that.
    fn interpreters(&mut self, effort: &Effort) -> Result<(Vec<Tried>, bool), Failure> {
        // Where sums may be re-associated, infinities and huge numbers show nothing.
        let tame = match self.kernel.proof.tier {
            Tier::Exact => effort.inputs / 4,
            Tier::Real => effort.inputs,
        };
        let spec = self.spec.clone();
        let cases = spec
            .sample(effort.seed, tame, Palette::Tame)
            .chain(spec.sample(effort.seed ^ 0x5eed, effort.inputs - tame, Palette::All));
        let mut tried: Vec<Tried> = Vec::new();
        let (mut seen, mut undefined) = (0, 0);
        for (number, case) in cases.enumerate() {
            match self.interpreted(&case, &self.how, SUMMARY)? {
                Ok(mut t) => {
                    t.tame = number < tame;
                    seen += elements(&t.inputs);
                    tried.push(t);
                }
                Err(Skip::TooLong) => self.evidence.too_long += 1,
                Err(Skip::Undefined) => {
                    self.evidence.skipped += 1;
                    undefined += usize::from(number < tame);
                }
            }
            // Where all inputs have one shape, the others take as long.
            if seen > MAX_ELEMENTS
                || spec.is_fixed() && tried.is_empty() && self.evidence.too_long == ENOUGH_TOO_LONG
            {
                break;
            }
        }
        // What is undefined on tame values is not run where no interpreter can tell. A round of a loop over time starts from
        // all that the one before has left, so that there is no evaluating it at some places.
        let in_rounds = self.kernel.summary.rounds.is_some();
        if undefined == 0 && !in_rounds && !tried.iter().any(Tried::does_something) {
            return Ok((tried, true));
        }
        // A kernel that works on large arrays only, or takes many rounds, has one patient run.
        let patient = Comparison {
            limit_steps: STEPS * 400,
            ..self.how.clone()
        };
        for case in spec.sample(effort.seed, 3, Palette::Tame) {
            if tried.iter().any(Tried::does_something) {
                break;
            }
            tried.extend(self.interpreted(&case, &patient, SUMMARY)?);
        }
        Ok((tried, false))
    }

    fn interpreted(
        &self,
        case: &Case,
        how: &Comparison,
        right: &'static str,
    ) -> Result<Result<Tried, Skip>, Failure> {
        let (inputs, lifted) = match check::settle(&self.program, &self.spec, case, how) {
            Ok(run) => run,
            Err(stop) if self.is_a_mistake(&stop) => {
                // Smaller inputs would be ones on which something differs, and not ones on which this happens.
                let text = format!("{LOOP} {stop}");
                return Err(self.plain((LOOP, right), &case.inputs, &text));
            }
            Err(Stop::StepLimit) => return Ok(Err(Skip::TooLong)),
            Err(_) => return Ok(Err(Skip::Undefined)),
        };
        if self.needs_null(&inputs, how) {
            return Ok(Err(Skip::Undefined));
        }
        let tier = self.kernel.proof.tier;
        let mut interpreted =
            |inputs: &Inputs| tensir::interpret_at(tier, self.kernel.summary, inputs);
        let summary = match interpreted(&inputs) {
            Ok(outputs) => outputs,
            // A loop around it that takes no round may make such a shape one of no elements.
            Err(why) if why.ends_with(tensir::TOO_MANY) => return Ok(Err(Skip::TooLong)),
            Err(why) => {
                return Err(self.mismatch((LOOP, right), case, &mut interpreted, &why));
            }
        };
        let names = Comparison {
            names: (LOOP, right),
            ..self.how.clone()
        };
        if let Some(text) =
            check::first_difference(&lifted, &summary, &names, &mut Tally::default())
        {
            return Err(self.mismatch((LOOP, right), case, &mut interpreted, &text));
        }
        Ok(Ok(Tried {
            case: case.clone(),
            tame: true,
            inputs,
            lifted,
            summary,
        }))
    }

    /// Whether the loop touches an element behind a null pointer.
    fn needs_null(&self, inputs: &Inputs, how: &Comparison) -> bool {
        let mut without = inputs.clone();
        for array in self.null_pointers(inputs) {
            if let Some(b) = without.arrays.get_mut(array) {
                b.data.clear();
            }
        }
        without != *inputs && self.program.run(&mut without, how.limit_steps).is_err()
    }

    fn source(&self) -> Option<&Source> {
        (self.all.signature(self.kernel.function)).and_then(|s| s.source.as_ref())
    }

    /// The arrays to which a call with these inputs has null pointers.
    fn null_pointers<'i>(&'i self, inputs: &'i Inputs) -> impl Iterator<Item = &'i str> {
        let shapes = self.source().into_iter().flat_map(|s| s.given());
        shapes.flat_map(Shape::leaves).filter_map(|leaf| {
            let (Shape::Pointer { to, given: Some(g) }
            | Shape::Rows {
                to, given: Some(g), ..
            }) = leaf
            else {
                return None;
            };
            let is_null = inputs.scalars.get(g.as_str()).is_some_and(|v| !v.is_true());
            is_null.then_some(to.as_str())
        })
    }

    /// Ours, that is, and not the input's: the proof says which elements are touched.
    pub(super) fn is_a_mistake(&self, stop: &Stop) -> bool {
        match stop {
            // That C leaves an access outside of a local array undefined, is the input's.
            Stop::OutOfBounds { array, .. } => {
                let is_array = |p: &loopir::Param| matches!(p, loopir::Param::Array { .. });
                let mut params = self.kernel.lifted.params.iter();
                self.spec.knows_extents() && params.any(|p| is_array(p) && p.name() == array)
            }
            Stop::BadCall(_) => true,
            _ => false,
        }
    }

    /// Whether C++'s library has ended a call of the original, as it asked for an element that a vector does not have. (Rows that
    /// lie in one array have no ends there.) What C++ leaves undefined shows nothing. Nor does a call with a null pointer that
    /// reads at an invalid address: where the kernel has a place, as in `p = x ? x + i : 0` and `x + i` of a null `x`, C has none.
    pub(super) fn is_undefined(&self, inputs: &Inputs, call: &Outcome) -> bool {
        match call {
            Outcome::Crashed { signal: SIGABRT } => {
                self.source().is_some_and(|s| s.language == Language::Cpp)
            }
            Outcome::Crashed { signal: SIGSEGV } => self.null_pointers(inputs).next().is_some(),
            _ => false,
        }
    }

    /// What the original leaves behind, or why it leaves nothing; nothing is said of calls that are undefined, which count as
    /// skipped.
    pub(super) fn calls(
        &mut self,
        inputs: &[&Inputs],
    ) -> Result<Vec<Option<Result<Outputs, String>>>, Error> {
        let (function, params) = (self.kernel.function, &self.kernel.lifted.params);
        let calls = self.all.outcomes(function, params, inputs, CALL_SECONDS)?;
        let mut results = Vec::new();
        for (call, inputs) in calls.into_iter().zip(inputs) {
            let undefined = self.is_undefined(inputs, &call);
            self.evidence.skipped += usize::from(undefined);
            results.push((!undefined).then(|| call.outputs(params)));
        }
        Ok(results)
    }

    /// The compiled original against the summary, and against the loop. Where it is defined, and what it leaves behind there.
    fn original(&mut self, tried: Vec<Tried>) -> Result<(Vec<Tried>, Vec<Outputs>), Failure> {
        let params = &self.kernel.lifted.params;
        let inputs: Vec<&Inputs> = tried.iter().map(|t| &t.inputs).collect();
        let results = self.calls(&inputs)?;
        let mut originals = Vec::new();
        let mut defined = Vec::new();
        for (t, result) in tried.into_iter().zip(results) {
            let Some(result) = result else {
                continue;
            };
            let mut side = self.all.side(self.kernel.function, params);
            let original = match result {
                Ok(outputs) => outputs,
                Err(why) => return Err(self.mismatch((LOOP, ORIGINAL), &t.case, &mut side, &why)),
            };
            let mut tally = Tally::default();
            let names = Comparison {
                names: (ORIGINAL, SUMMARY),
                ..self.how.clone()
            };
            let against_summary =
                check::first_difference(&original, &t.summary, &names, &mut tally);
            let names = Comparison {
                names: (LOOP, ORIGINAL),
                ..self.how.clone()
            };
            let against_loop =
                check::first_difference(&t.lifted, &original, &names, &mut Tally::default());
            if let Some(text) = against_loop {
                return Err(self.mismatch((LOOP, ORIGINAL), &t.case, &mut side, &text));
            }
            if let Some(text) = against_summary {
                return Err(self.plain((ORIGINAL, SUMMARY), &t.inputs, &text));
            }
            let error = &mut self.evidence.max_relative_error;
            *error = error.max(tally.max_relative_error);
            self.evidence.tried += 1;
            self.evidence.compared += usize::from(shows_something(&t.inputs));
            originals.push(original);
            defined.push(t);
        }
        Ok((defined, originals))
    }

    /// The difference on this case, made smaller.
    pub(super) fn mismatch(
        &self,
        between: (&'static str, &'static str),
        case: &Case,
        side: &mut Side<'_>,
        text: &str,
    ) -> Failure {
        // Calls that leave nothing show something only if this one does not leave anything, either.
        let mut seen = Ok(Tally::default());
        for other_may_fail in [true, false] {
            let how = Comparison {
                names: between,
                other_may_fail,
                ..self.how.clone()
            };
            seen = seen.and_then(|_| {
                check::compare(&self.program, side, &self.spec, [case.clone()], &how)
            });
        }
        match seen {
            Err(d) => Failure::Mismatch(Box::new(Mismatch {
                between,
                text: d.text,
                variant: None,
                inputs: d.inputs,
            })),
            // It went away when run alone: say what was seen.
            Ok(_) => self.plain(between, &case.inputs, text),
        }
    }

    pub(super) fn plain(
        &self,
        between: (&'static str, &'static str),
        inputs: &Inputs,
        text: &str,
    ) -> Failure {
        Failure::Mismatch(Box::new(Mismatch {
            between,
            text: format!("{}: {text}", check::describe(inputs, &self.spec)),
            variant: None,
            inputs: inputs.clone(),
        }))
    }
}
