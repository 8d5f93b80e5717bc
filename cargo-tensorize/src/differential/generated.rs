//! Generated code against the compiled original.

use super::check::{Checker, LARGE_CALL_SECONDS, LOOP, Large, ORIGINAL, Tried, elements};
use super::{Effort, Error, Failure, Mismatch};
use crate::cases::shows_something;
use tensorize_ir::check::{self, Comparison, Same, Tally};
use tensorize_ir::guard::Tier;
use tensorize_ir::inputs::Palette;
use tensorize_ir::loopir::interp::Stop;
use tensorize_ir::memory::{Inputs, Outputs};

pub(super) const GENERATED: &str = "the generated code";

/// Steps that the interpreter may take on a larger input.
const LARGE_STEPS: u64 = 1_000_000;

impl Checker<'_> {
    /// Generated code against the compiled original, also on larger inputs.
    pub(super) fn variant(
        &mut self,
        function: usize,
        name: &str,
        tried: &[Tried],
        originals: &[Outputs],
        effort: &Effort,
    ) -> Result<(), Failure> {
        if let Some(why) = self.all.broken(function) {
            return Err(Failure::Mismatch(Box::new(Mismatch {
                between: (ORIGINAL, GENERATED),
                text: format!("{GENERATED} does not compile: {why}"),
                variant: Some(name.to_owned()),
                inputs: Inputs::default(),
            })));
        }
        let params = &self.kernel.lifted.params;
        let mut tally = Tally::default();
        let pairs = tried
            .iter()
            .map(|t| &t.inputs)
            .zip(tried.iter().zip(originals));
        let (inputs, tried) = self.admitted(function, pairs);
        let results = self.all.run_inputs(function, params, &inputs)?;
        let weaker = self.all.tier_of(function) > self.kernel.proof.tier;
        let same = match weaker {
            true => Same::Within(effort.tolerance),
            false => self.how.same,
        };
        for ((t, original), result) in tried.into_iter().zip(results) {
            tally.compared += usize::from(shows_something(&t.inputs) && (t.tame || !weaker));
            if weaker {
                // Infinities and huge numbers show only that it ends.
                let own = match &result {
                    Ok(_) if !t.tame => None,
                    _ => self.differs(original, &result, same, &mut tally),
                };
                if let Some(text) = own {
                    let failure = self.plain((ORIGINAL, GENERATED), &t.inputs, &text);
                    return Err(named(failure, name));
                }
                continue;
            }
            if let Some(text) = self.differs(original, &result, same, &mut tally) {
                let mut side = self.all.side(function, params);
                let failure = self.mismatch((LOOP, GENERATED), &t.case, &mut side, &text);
                return Err(named(failure, name));
            }
        }
        let (large, expected) = match self.large.take() {
            Some(large) => large,
            None => self.larger(effort)?,
        };
        let (inputs, originals) = self.admitted(function, large.iter().zip(&expected));
        let outcomes = (self.all).outcomes(function, params, &inputs, LARGE_CALL_SECONDS)?;
        let results = outcomes.into_iter().map(|o| o.outputs(params));
        for ((inputs, original), result) in inputs.into_iter().zip(originals).zip(results) {
            tally.compared += usize::from(shows_something(inputs));
            let same = for_sums(same, inputs);
            if let Some(text) = self.differs(original, &result, same, &mut tally) {
                return Err(named(
                    self.plain((ORIGINAL, GENERATED), inputs, &text),
                    name,
                ));
            }
        }
        self.large = Some((large, expected));
        self.evidence.variants.push((name.to_owned(), tally));
        Ok(())
    }

    /// The inputs that meet what the code asks for beyond the kernel's guards.
    fn admitted<'i, T>(
        &self,
        function: usize,
        all: impl Iterator<Item = (&'i Inputs, T)>,
    ) -> (Vec<&'i Inputs>, Vec<T>) {
        let params = &self.kernel.lifted.params;
        all.filter(|(inputs, _)| self.all.admits(function, params, inputs))
            .unzip()
    }

    /// At tier *real*, inputs with the edges of float types: what they give may differ, but nothing may
    /// crash or leave its arrays. (At tier *exact* such inputs are compared, too.)
    pub(super) fn edges(&mut self, effort: &Effort) -> Result<Vec<Inputs>, Failure> {
        if self.kernel.proof.tier == Tier::Exact {
            return Ok(Vec::new());
        }
        let cases = self
            .spec
            .sample(effort.seed ^ 0xed6e, effort.inputs / 3, Palette::All);
        let settled = cases.map(|c| check::settle(&self.program, &self.spec, &c, &self.how));
        let inputs: Vec<Inputs> = settled
            .filter_map(|run| run.ok().map(|(inputs, _)| inputs))
            .collect();
        let calls = self.calls(&inputs.iter().collect::<Vec<_>>())?;
        let mut defined = Vec::new();
        for (inputs, call) in inputs.into_iter().zip(calls) {
            match call {
                Some(Ok(_)) => defined.push(inputs),
                Some(Err(why)) => return Err(self.fails(ORIGINAL, &inputs, &why)),
                None => {}
            }
        }
        Ok(defined)
    }

    fn fails(&self, who: &'static str, inputs: &Inputs, why: &str) -> Failure {
        self.plain((LOOP, who), inputs, &format!("{who} fails: {why}"))
    }

    /// Every run of generated code comes to its end.
    pub(super) fn faultless(&self, function: usize, inputs: &[Inputs]) -> Result<(), Failure> {
        let params = &self.kernel.lifted.params;
        let (inputs, _) = self.admitted(function, inputs.iter().map(|i| (i, ())));
        let results = self.all.run_inputs(function, params, &inputs)?;
        match inputs
            .into_iter()
            .zip(results)
            .find_map(|(i, r)| r.err().map(|why| (i, why)))
        {
            Some((inputs, why)) => Err(self.fails(GENERATED, inputs, &why)),
            None => Ok(()),
        }
    }

    /// Larger inputs, with what the original makes of them.
    pub(super) fn larger(&self, effort: &Effort) -> Result<Large, Error> {
        let how = Comparison {
            limit_steps: LARGE_STEPS,
            ..self.how.clone()
        };
        let mut inputs = Vec::new();
        for case in self.spec.sample_large(effort.seed, effort.large_inputs) {
            match check::settle(&self.program, &self.spec, &case, &how) {
                Ok((settled, _)) => inputs.push(settled),
                // Nobody saw undefined behaviour, and tame values make it unlikely.
                Err(Stop::StepLimit) => inputs.push(case.inputs),
                Err(_) => {}
            }
        }
        let borrowed: Vec<&Inputs> = inputs.iter().collect();
        let params = &self.kernel.lifted.params;
        let results = self
            .all
            .run_inputs(self.kernel.function, params, &borrowed)?;
        let both = inputs.iter().cloned().zip(results);
        Ok(both.filter_map(|(i, r)| r.ok().map(|o| (i, o))).unzip())
    }

    /// What the generated code does unlike the original.
    fn differs(
        &self,
        original: &Outputs,
        result: &Result<Outputs, String>,
        same: Same,
        tally: &mut Tally,
    ) -> Option<String> {
        let how = Comparison {
            names: (ORIGINAL, GENERATED),
            same,
            ..self.how.clone()
        };
        match result {
            Ok(outputs) => check::first_difference(original, outputs, &how, tally),
            Err(why) => Some(format!("{GENERATED} fails: {why}")),
        }
    }
}

/// The rounding errors of a long sum add up like a random walk.
pub fn for_sums(same: Same, inputs: &Inputs) -> Same {
    match same {
        Same::Within(t) => Same::Within(t * (elements(inputs) as f64).sqrt().max(16.0) / 16.0),
        Same::Exactly => Same::Exactly,
    }
}

pub(super) fn named(mut failure: Failure, variant: &str) -> Failure {
    if let Failure::Mismatch(m) = &mut failure {
        m.variant = Some(variant.to_owned());
    }
    failure
}
