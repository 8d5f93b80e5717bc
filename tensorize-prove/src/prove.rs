//! From a kernel and a summary to a verdict.

use crate::apart;
use crate::asked::{holds_for_all, known_at_a_call};
use crate::bounded::bounded;
use crate::branches::in_one_loop;
use crate::compare::compare;
use crate::context::Context;
use crate::exec::{Executor, Stuck};
use crate::footprint::{self, Touched};
use crate::hazard;
use crate::loops::Oracle;
use crate::loosened::{Cause, Loosened};
use crate::reads;
use crate::rising::Rising;
use crate::rounds::{self, Split};
use crate::slices;
use crate::solver::{Answer, Solver};
use crate::state;
use crate::status::without_status;
use crate::trap;
use crate::{Proof, Verdict};
use std::collections::BTreeMap;
use tensorize_ir::guard::{Guard, Tier};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{self, Param};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::signature::Members;
use tensorize_ir::tensir::{self, Rounds, State as Lasting};

/// What a proof starts from.
#[derive(Clone, Debug)]
pub struct Options {
    /// The strongest tier to be shown: [`Tier::Real`] where the compiler may contract or re-associate
    /// float arithmetic, so that the same bits can't be promised.
    pub best: Tier,
    /// The weakest tier that is of use.
    pub worst: Tier,
    /// Whether inputs on which the two differ are looked for when there is no proof.
    pub refute: bool,
    /// Conditions on the sizes under which the two are to be compared: they become guards, and elsewhere the
    /// original runs.
    pub assume: Vec<Guard>,
    /// Arrays that are the same memory: of structs, the members of each type.
    pub structs: Vec<Vec<Members>>,
    /// Formulas in SMT-LIB that are assumed besides. Only tests that plant a false one have any.
    pub planted_lemmas: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            best: Tier::Exact,
            worst: Tier::Real,
            refute: true,
            assume: vec![],
            structs: vec![],
            planted_lemmas: vec![],
        }
    }
}

/// Does `kernel` compute `summary`? A summary that can't be proven is tried on inputs, too.
pub fn prove(
    kernel: &loopir::Function,
    summary: &tensir::Function,
    oracle: &dyn Oracle,
    solver: &mut Solver,
    options: &Options,
) -> Verdict {
    verdict(kernel, summary, None, oracle, solver, options)
}

/// Does generated code compute the summary of a kernel that is proven already, under no more than its
/// guards and the ones that the answer adds, and without touching memory that the original doesn't?
pub fn prove_generated(
    generated: &loopir::Function,
    summary: &tensir::Function,
    original: &Proof,
    oracle: &dyn Oracle,
    solver: &mut Solver,
    options: &Options,
) -> Verdict {
    verdict(generated, summary, Some(original), oracle, solver, options)
}

fn verdict(
    kernel: &loopir::Function,
    summary: &tensir::Function,
    original: Option<&Proof>,
    oracle: &dyn Oracle,
    solver: &mut Solver,
    options: &Options,
) -> Verdict {
    // What is rounded in a way of its own has no bits to be equal to.
    let best = if kernel.fused {
        Tier::Real
    } else {
        options.best
    };
    let options = &Options {
        best: best.max(options.best),
        ..options.clone()
    };
    let unknown = |what: String, line| Verdict::Unknown {
        obligation: what,
        line,
    };
    if let Err(e) = kernel.validate() {
        return unknown(format!("the kernel is not well-formed: {e}"), 0);
    }
    if let Err(e) = summary.verify() {
        return unknown(format!("the summary is not well-formed: {e}"), 0);
    }
    if !same_params(&kernel.params, &summary.params) {
        return unknown("the summary's parameters are not the kernel's".into(), 0);
    }
    let mut guards = Vec::new();
    match attempt(
        kernel,
        summary,
        original,
        oracle,
        solver,
        options,
        &mut guards,
    ) {
        Ok(proof) => Verdict::Proven(proof),
        Err(stuck) => {
            let found = options
                .refute
                .then(|| crate::refute::refute(kernel, summary, &guards, options.worst))
                .flatten();
            match found {
                Some(difference) => Verdict::Refuted {
                    inputs: difference.text,
                    case: Box::new(difference.inputs),
                },
                None => unknown(stuck.what, stuck.line),
            }
        }
    }
}

/// The same names and types; what is `const` or `restrict` is the kernel's to say.
pub fn same_params(a: &[Param], b: &[Param]) -> bool {
    let plain = |p: &Param| match p {
        Param::Scalar { name, ty } => (name.clone(), *ty, false),
        Param::Array { name, elem, .. } => (name.clone(), *elem, true),
    };
    a.len() == b.len() && a.iter().zip(b).all(|(p, q)| plain(p) == plain(q))
}

/// The types of the integer parameters.
pub fn integer_params(kernel: &loopir::Function) -> BTreeMap<Sym, ScalarType> {
    kernel
        .params
        .iter()
        .filter_map(|p| match p {
            Param::Scalar { name, ty } if ty.is_int() => Some((name.clone(), *ty)),
            _ => None,
        })
        .collect()
}

/// A proof of what is done once, or of one round and of how many there are.
fn attempt(
    kernel: &loopir::Function,
    summary: &tensir::Function,
    original: Option<&Proof>,
    oracle: &dyn Oracle,
    solver: &mut Solver,
    options: &Options,
    guards: &mut Vec<Guard>,
) -> Result<Proof, Stuck> {
    // What is returned after all rounds, and where there is none, is no business of any of them.
    let plain = summary.status().map(|status| match without_status(kernel) {
        Some((plain, returned)) if returned == status => Ok((plain, summary.without_status())),
        _ => stuck("it may return something else"),
    });
    let plain = plain.transpose()?;
    let (kernel, summary) = match &plain {
        Some((kernel, summary)) => (kernel, summary),
        None => (kernel, summary),
    };
    let mut of = |kernel: &loopir::Function, guards: &mut Vec<Guard>| {
        of_all_rounds(kernel, summary, original, oracle, solver, options, guards)
    };
    let mut found = of(kernel, guards);
    // Code has loops with a counter anyway.
    let has_rounds = summary.rounds.is_some() && original.is_none();
    if found.is_err()
        && has_rounds
        && let Some(together) = in_one_loop(kernel)
    {
        // What stands in the way of the kernel as it is tells more.
        found = of(&together, guards).or(found);
    }
    match (found.is_err() && has_rounds)
        .then(|| bounded(kernel))
        .flatten()
    {
        Some(in_rounds) => of(&in_rounds, guards).map_err(|e| trap::of_rounds(kernel, e)),
        None => found,
    }
}

/// The same of a kernel that does what it does in rounds, or once.
fn of_all_rounds(
    kernel: &loopir::Function,
    summary: &tensir::Function,
    original: Option<&Proof>,
    oracle: &dyn Oracle,
    solver: &mut Solver,
    options: &Options,
    guards: &mut Vec<Guard>,
) -> Result<Proof, Stuck> {
    let state = &summary.state;
    let options = match original {
        Some(original) => &with_lengths(kernel, state, original, oracle, solver, options, guards)?,
        None => options,
    };
    let all = Once {
        kernel: &state::exposed(kernel, state)?,
        summary: &summary.exposed(),
        state,
        around: &[],
        is_round: false,
        original,
        oracle,
        options,
    };
    let proof = all.in_rounds(solver, guards)?;
    let proof = state::hidden(proof, kernel, state)?;
    known_at_a_call(&proof, kernel)?;
    Ok(proof)
}

/// Shows that generated code has arrays for its state that are as long as the summary says; what that assumes is among the
/// options then.
fn with_lengths(
    kernel: &loopir::Function,
    state: &[Lasting],
    original: &Proof,
    oracle: &dyn Oracle,
    solver: &mut Solver,
    options: &Options,
    guards: &mut Vec<Guard>,
) -> Result<Options, Stuck> {
    let mut options = options.clone();
    for s in state {
        let (Some(code), Some(len)) = (state::length(kernel, s)?, &s.len) else {
            continue;
        };
        let known = original.guards.iter().chain(&options.assume);
        let exactly = Options {
            best: Tier::Exact,
            worst: Tier::Exact,
            assume: known.cloned().collect(),
            ..options.clone()
        };
        let length = Once {
            kernel: &code,
            summary: &rounds::number_of_rounds(&code, len),
            state: &[],
            around: &[],
            is_round: false,
            original: None,
            oracle,
            options: &exactly,
        };
        options.assume = length.attempt(solver, guards)?.guards;
    }
    Ok(options)
}

/// What is to be shown to compute what; among the rounds of loops over time, the numbers of these are the kernel's last
/// parameters.
#[derive(Clone, Copy)]
struct Once<'a> {
    kernel: &'a loopir::Function,
    summary: &'a tensir::Function,
    /// What among the arrays is the kernel's own, and lasts over all rounds.
    state: &'a [Lasting],
    /// Counters and numbers of the rounds around it, outermost first.
    around: &'a [(Sym, Idx)],
    /// Whether it is one of these rounds, and not what counts others.
    is_round: bool,
    original: Option<&'a Proof>,
    oracle: &'a dyn Oracle,
    options: &'a Options,
}

/// What comes of an attempt that makes use of guesses.
enum Attempt {
    Proven(Box<Proof>),
    /// The guess with this number does not hold.
    Lost(usize),
}

impl Once<'_> {
    /// Shows how many rounds there are, where the summary has some, and the same of one of them, whichever it is: it may
    /// consist of rounds in turn.
    fn in_rounds(self, solver: &mut Solver, guards: &mut Vec<Guard>) -> Result<Proof, Stuck> {
        let (Some(rounds), Some(summary)) = (&self.summary.rounds, self.summary.round()) else {
            return self.attempt(solver, guards);
        };
        let mut why = None;
        for split in Split::all(self.kernel, &rounds.counter)? {
            match self.taken_apart(&split, rounds, &summary, solver, guards) {
                Ok(proof) => return Ok(proof),
                Err(stuck) => why = why.or(Some(stuck)),
            }
        }
        why.map_or_else(|| stuck("it has no rounds"), Err)
    }

    /// The same of a kernel that is taken apart in this way.
    fn taken_apart(
        self,
        split: &Split,
        rounds: &Rounds,
        summary: &tensir::Function,
        solver: &mut Solver,
        guards: &mut Vec<Guard>,
    ) -> Result<Proof, Stuck> {
        let known = self.original.iter().flat_map(|p| &p.guards);
        let known = known.chain(&self.options.assume).cloned();
        let known = known.chain(split.needs(&rounds.trip));
        let exactly = Options {
            best: Tier::Exact,
            worst: Tier::Exact,
            assume: known.collect(),
            ..self.options.clone()
        };
        let count = Once {
            kernel: &split.count,
            summary: &rounds::number_of_rounds(self.kernel, &rounds.trip),
            is_round: false,
            original: None,
            options: &exactly,
            ..self
        };
        let counted = count.attempt(solver, guards)?;
        let options = Options {
            assume: counted.guards,
            ..self.options.clone()
        };
        let mut around = self.around.to_vec();
        around.push((rounds.counter.clone(), rounds.trip.clone()));
        let round = Once {
            kernel: &split.round,
            summary,
            around: &around,
            is_round: true,
            options: &options,
            ..self
        };
        round.in_rounds(solver, guards)
    }

    /// Shows it of what is done once, with what is likely to be known of numbers that rounds leave to the next ones; where
    /// that turns out not to be so, without.
    fn attempt(self, solver: &mut Solver, guards: &mut Vec<Guard>) -> Result<Proof, Stuck> {
        let mut rising = match self.is_round {
            true => Rising::guesses(self.kernel, self.around),
            false => vec![],
        };
        loop {
            match self.attempt_with(&rising, solver, guards)? {
                Attempt::Proven(proof) => return Ok(*proof),
                Attempt::Lost(at) => {
                    let weaker = rising[at].weaker();
                    rising.splice(at..=at, weaker);
                }
            }
        }
    }

    /// The same with what is guessed of numbers, which is shown to go on to hold.
    fn attempt_with(
        self,
        rising: &[Rising],
        solver: &mut Solver,
        guards: &mut Vec<Guard>,
    ) -> Result<Attempt, Stuck> {
        let Once {
            kernel,
            summary,
            state,
            around,
            is_round,
            original,
            oracle,
            options,
        } = self;
        let kernel = &state::in_variables(kernel, state);
        let mut params = integer_params(kernel);
        params.retain(|name, _| around.iter().all(|(counter, _)| counter != name));
        let mut ctx = Context::new(solver, params, options.planted_lemmas.clone());
        ctx.of_code = original.is_some();
        for guard in original
            .iter()
            .flat_map(|p| &p.guards)
            .chain(&options.assume)
        {
            ctx.guard(guard.clone());
        }
        let mut exec = Executor::new(kernel, oracle, ctx, true);
        exec.worst = options.worst;
        for (counter, trip) in around {
            exec.in_rounds(counter, trip);
        }
        if let Some(at) = (rising.iter()).position(|number| !number.assume(&mut exec.ctx)) {
            return Ok(Attempt::Lost(at));
        }
        let ran = exec.run();
        *guards = exec.ctx.guards().to_vec();
        let (left, returned) = ran?;
        if let Some(at) = (rising.iter()).position(|number| !number.is_kept(&mut exec.ctx, &left)) {
            return Ok(Attempt::Lost(at));
        }
        if kernel.fused {
            let cause = Cause::Open;
            exec.loosened.push(Loosened { line: 0, cause });
        } else if options.best == Tier::Real {
            let cause = Cause::Asked;
            exec.loosened.push(Loosened { line: 0, cause });
        }
        let tier = compare(&mut exec, summary, &left, returned.as_ref(), options)?.max(exec.tier);
        let loosened = Loosened::merged(std::mem::take(&mut exec.loosened));
        if exec.tier == Tier::Real {
            footprint::independent_of_reals(&exec.accesses, &exec.hazards)?;
        }
        exec.accesses = footprint::distinct(std::mem::take(&mut exec.accesses));
        let touched = footprint::touched(&mut exec, original)?;
        let reaches: Vec<_> = touched.iter().map(|t| &t.footprint.extent).collect();
        trap::known_first(exec.ctx.guards(), &reaches)?;
        if let Some(original) = original {
            let is_own = |t: &&Touched| state.iter().any(|s| s.name == t.footprint.extent.array);
            let others = touched.iter().filter(|t| !is_own(t));
            footprint::within(&mut exec.ctx, others, original)?;
            hazard::no_new_hazards(&mut exec.ctx, &exec.hazards, &original.hazards)?;
        } else {
            reads::within(&mut exec.ctx, summary, around, &touched)?;
            apart::keep_apart(&mut exec, &options.structs, &touched);
        }
        let within = apart::within_members(&mut exec, &options.structs)?;
        let asked_of_slices = slices::asked(&mut exec).map(|asked| [asked, within].concat());
        *guards = exec.ctx.guards().to_vec();
        // Nothing was proven from a contradiction.
        match exec.ctx.assumptions_are_satisfiable() {
            Answer::Sat => {
                let proof = Proof {
                    tier,
                    loosened,
                    guards: guards.clone(),
                    footprints: touched.iter().map(|t| t.footprint.clone()).collect(),
                    eager_guards: touched
                        .iter()
                        .flat_map(|t| {
                            t.eager_guards
                                .iter()
                                .map(|g| (t.footprint.extent.array.clone(), g.clone()))
                        })
                        .collect(),
                    accesses: exec.accesses,
                    hazards: exec.hazards,
                    asked_of_slices,
                    state: vec![],
                };
                // What is asked because of rounds within rounds is among this, too.
                for (counter, trip) in around.iter().filter(|_| is_round) {
                    holds_for_all(&mut exec.ctx, &proof, (counter, trip), state)?;
                }
                Ok(Attempt::Proven(Box::new(proof)))
            }
            Answer::Unsat => {
                stuck("the guards and lemmas in use contradict each other, so they prove nothing")
            }
            Answer::Unknown => stuck(
                "that the guards and lemmas in use do not contradict each other could not be shown",
            ),
        }
    }
}

fn stuck<T>(what: impl Into<String>) -> Result<T, Stuck> {
    Err(Stuck {
        what: what.into(),
        line: 0,
    })
}
