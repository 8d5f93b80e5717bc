//! The first proposer: symbolic summarisation of the loop nest.
//!
//! The prover's executor runs the kernel, and asks for the closed form of each loop ([`closed_form`]).
//! What it arrives at, raised to library operators, is proposed as the summary. Nothing here is trusted:
//! the prover checks the closed forms and the summary.

use crate::raise::{Closed, raise, starts_by_itself, unraised};
use crate::synthesise::{self, Synthesiser};
use simpler::simpler;
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::element::{Elem, ElemRef, Memo};
use tensorize_ir::guard::{Guard, Tier};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{self, Param};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::{self, Output};
use tensorize_prove::canon;
use tensorize_prove::context::Context;
use tensorize_prove::exec::{Executor, Stuck};
use tensorize_prove::loops::Oracle;
use tensorize_prove::rising::Rising;
use tensorize_prove::solver::Solver;
use tensorize_prove::{Options, Proof, Verdict, integer_params, prove};

mod cases;
pub(crate) mod closed_form;
mod natural;
mod over_time;
mod pitches;
mod simpler;
mod stores;
mod sums;

pub use closed_form::Summariser;

/// Why a kernel has no summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A code that the command line explains.
    pub code: &'static str,
    /// What stands in the way.
    pub message: String,
    /// Line of the source, 0 if there is none.
    pub line: u32,
}

impl From<Stuck> for Refusal {
    fn from(stuck: Stuck) -> Refusal {
        Refusal {
            code: "TZ0301",
            message: stuck.what,
            line: stuck.line,
        }
    }
}

/// A summary in two forms that mean the same: none of them is proven yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// In library operators.
    pub raised: tensir::Function,
    /// In raw index notation, as the loops have it, if that is known.
    pub plain: Option<tensir::Function>,
    /// Has the closed forms that the summary was made from, if they had to be searched for.
    pub synthesiser: Option<Synthesiser>,
    /// Proposed if this one is not proven: the summary without closed forms that were searched for.
    pub otherwise: Option<Box<Proposal>>,
    /// Conditions on sizes under which it is a summary; elsewhere the original runs.
    pub assume: Vec<Guard>,
    /// Such conditions that might make the kernel simpler.
    pub simpler: Vec<Vec<Guard>>,
}

impl From<tensir::Function> for Proposal {
    /// Somebody's summary.
    fn from(summary: tensir::Function) -> Proposal {
        Proposal {
            raised: summary,
            plain: None,
            synthesiser: None,
            otherwise: None,
            assume: vec![],
            simpler: vec![],
        }
    }
}

impl Proposal {
    /// The same, all of it with these closed forms.
    fn with(mut self, synthesiser: &Synthesiser) -> Proposal {
        self.synthesiser = Some(synthesiser.clone());
        self.otherwise = self.otherwise.map(|p| Box::new(p.with(synthesiser)));
        self
    }

    /// The same with what `f` makes of each summary.
    fn map(self, f: &dyn Fn(tensir::Function) -> tensir::Function) -> Proposal {
        Proposal {
            raised: f(self.raised),
            plain: self.plain.map(f),
            otherwise: self.otherwise.map(|p| Box::new(p.map(f))),
            ..self
        }
    }

    /// Another proposal if nothing of this one is proven.
    fn or_else(mut self, other: Proposal) -> Proposal {
        self.otherwise = Some(Box::new(match self.otherwise {
            Some(next) => next.or_else(other),
            None => other,
        }));
        self
    }

    /// Has the raised form proven, or else the plain one. The summary that the verdict is about comes with
    /// it.
    pub fn prove(
        self,
        kernel: &loopir::Function,
        solver: &mut Solver,
        options: &Options,
    ) -> (tensir::Function, Verdict) {
        let raised = self.raised.clone();
        if !self.is_ours() {
            return self.prove_all(kernel, solver, options);
        }
        match over_time::leaving_time(kernel, || self.prove_all(kernel, solver, options)) {
            Ok(found) => found,
            Err(open) => {
                let over_time = over_time::propose(kernel, None, solver);
                let found = over_time.map(|p| p.prove_all(kernel, solver, options));
                found.unwrap_or_else(|| {
                    let (obligation, line) = (open.what, open.line);
                    (raised, Verdict::Unknown { obligation, line })
                })
            }
        }
    }

    /// Whether it is what our own proposers say of the kernel as a whole.
    fn is_ours(&self) -> bool {
        self.plain.is_some() && self.raised.rounds.is_none()
    }

    fn prove_all(
        self,
        kernel: &loopir::Function,
        solver: &mut Solver,
        options: &Options,
    ) -> (tensir::Function, Verdict) {
        let without_search = Options {
            refute: false,
            assume: self.assume.clone(),
            ..options.clone()
        };
        let oracle: &dyn Oracle = match &self.synthesiser {
            Some(synthesiser) => synthesiser,
            None => &Summariser,
        };
        for summary in [&self.raised].into_iter().chain(&self.plain) {
            let verdict = prove(kernel, summary, oracle, solver, &without_search);
            if let Verdict::Proven(proof) = &verdict {
                return (with_lengths(summary, proof), verdict);
            }
        }
        let may_be_over_time = self.plain.is_some();
        if let Some(other) = self.otherwise {
            return other.prove_all(kernel, solver, options);
        }
        for assume in self.simpler {
            let special = propose_once(kernel, solver, &Summariser, &assume).ok();
            let Some(special) = special.filter(|s| !gives_up(kernel, &s.raised)) else {
                continue;
            };
            let special = Proposal {
                simpler: vec![],
                ..special
            };
            let (summary, verdict) = special.prove_all(kernel, solver, &without_search);
            if matches!(verdict, Verdict::Proven(_)) {
                return (summary, verdict);
            }
        }
        if may_be_over_time
            && let Some(over_time) = over_time::propose(kernel, Some(&self.raised), solver)
        {
            let (summary, verdict) = over_time.prove_all(kernel, solver, &without_search);
            if matches!(verdict, Verdict::Proven(_)) {
                return (summary, verdict);
            }
        }
        // Somebody's summary may need closed forms that have to be searched for.
        if self.plain.is_none() {
            let oracle = Synthesiser::default();
            let verdict = prove(kernel, &self.raised, &oracle, solver, &without_search);
            if matches!(verdict, Verdict::Proven(_)) {
                return (self.raised, verdict);
            }
        }
        // A wrong proposal of our own says nothing about the kernel; somebody else's is worth a counterexample.
        let options = if self.plain.is_some() {
            &without_search
        } else {
            options
        };
        let verdict = prove(kernel, &self.raised, oracle, solver, options);
        (self.raised, verdict)
    }
}

/// The summary in which what lasts over all rounds has as many elements as the proof says are touched.
fn with_lengths(summary: &tensir::Function, proof: &Proof) -> tensir::Function {
    let mut summary = summary.clone();
    for state in &mut summary.state {
        let touched = proof.state.iter().find(|e| e.array == state.name);
        let touched = touched.map_or_else(Idx::default, |e| e.hi.clone());
        state.len.get_or_insert(touched);
    }
    summary
}

/// Proposes a summary. It is a proposal: the prover has to agree.
pub fn summarise(kernel: &loopir::Function, solver: &mut Solver) -> Result<Proposal, Refusal> {
    let once = over_time::leaving_time(kernel, || {
        let under = |guards: Vec<Guard>, solver: &mut Solver| {
            let guards = Some(guards).filter(|g| !g.is_empty())?;
            propose_once(kernel, solver, &Summariser, &guards).ok()
        };
        if let Some(apart) = under(pitches::in_text(kernel), solver) {
            return Ok(apart);
        }
        summarise_with(kernel, solver, Synthesiser::default())
            .or_else(|refusal| under(pitches::small_steps(kernel), solver).ok_or(refusal))
            .or_else(|refusal| under(pitches::within_rows(kernel), solver).ok_or(refusal))
    });
    let once = once.unwrap_or_else(|open| {
        Err(Refusal {
            code: "TZ0301",
            message: format!("there was not time enough for {}", open.what),
            line: open.line,
        })
    });
    once.or_else(|refusal| over_time::propose(kernel, None, solver).ok_or(refusal))
}

/// The same with a second proposer of one's own.
pub fn summarise_with(
    kernel: &loopir::Function,
    solver: &mut Solver,
    synthesiser: Synthesiser,
) -> Result<Proposal, Refusal> {
    let searched = propose_once(kernel, solver, &synthesiser, &[]);
    if !synthesiser.has_found() {
        return match searched {
            Ok(proposal) if !synthesiser.has_guessed() => Ok(proposal),
            _ => propose_once(kernel, solver, &Summariser, &[]),
        };
    }
    let plain = propose_once(kernel, solver, &Summariser, &[]);
    let searched = searched.map(|proposal| proposal.with(&synthesiser));
    match (searched, plain) {
        // What was searched for is worth it where it says as a whole what the loop says step by step.
        (Ok(searched), Ok(plain)) if steps(&searched.raised) >= steps(&plain.raised) => {
            Ok(plain.or_else(searched))
        }
        (Ok(searched), Ok(plain)) => Ok(searched.or_else(plain)),
        (Ok(searched), Err(_)) => Ok(searched),
        (Err(_), plain) => plain,
    }
}

/// How many folds there are that are no reductions: what a summary says step by step.
fn steps(summary: &tensir::Function) -> usize {
    let mut count = 0;
    for node in &summary.nodes {
        if let tensir::Op::Generic(e) = &node.op {
            e.visit(&mut |x| {
                count += usize::from(matches!(&**x, Elem::Fold(f) if f.as_reduction().is_none()));
            });
        }
    }
    count
}

/// Proposes a summary of what is done once.
fn propose_once(
    kernel: &loopir::Function,
    solver: &mut Solver,
    oracle: &dyn Oracle,
    assume: &[Guard],
) -> Result<Proposal, Refusal> {
    propose(kernel, &[], &[], solver, oracle, assume)
}

/// The types of a kernel's integer parameters that are no numbers of rounds.
fn sizes(kernel: &loopir::Function, around: &[(Sym, Idx)]) -> BTreeMap<Sym, ScalarType> {
    let mut params = integer_params(kernel);
    params.retain(|name, _| around.iter().all(|(counter, _)| counter != name));
    params
}

/// The same of a kernel, or of one of so many rounds, which may lie in each other, with what is known of the numbers that
/// these leave to each other.
fn propose(
    kernel: &loopir::Function,
    around: &[(Sym, Idx)],
    rising: &[Rising],
    solver: &mut Solver,
    oracle: &dyn Oracle,
    assume: &[Guard],
) -> Result<Proposal, Refusal> {
    let mut ctx = Context::new(solver, sizes(kernel, around), vec![]);
    assume.iter().for_each(|g| ctx.guard(g.clone()));
    let mut exec = Executor::new(kernel, oracle, ctx, false);
    exec.worst = Tier::Real;
    for (counter, trip) in around {
        exec.in_rounds(counter, trip);
    }
    for number in rising {
        number.assume(&mut exec.ctx);
    }
    let found = results(&mut exec);
    let simpler = if assume.is_empty() {
        let small = Some(pitches::small_steps(kernel)).filter(|g| !g.is_empty());
        simpler(&mut exec).into_iter().chain(small).collect()
    } else {
        vec![]
    };
    let mut best: Option<Proposal> = None;
    let mut refusal = None;
    match found {
        Ok(results) => {
            // From the form that the loops have to the one that is tried first.
            for results in forms(results) {
                let plain = unraised(&kernel.name, &kernel.params, &results);
                // One place that the data says is for rounds: of a whole kernel, another form says more.
                let by_data = around.is_empty() && plain.stores_where_data_says();
                let why = match plain.verify() {
                    Err(e) => Some(e.to_string()),
                    Ok(()) => by_data.then(|| "the data says where it stores something".into()),
                };
                if let Some(why) = why {
                    refusal = Some(Refusal {
                        code: "TZ0305",
                        message: format!("what it computes has no form over tensors: {why}"),
                        line: line_of(kernel, &plain),
                    });
                    continue;
                }
                let apart = pitches::rows_apart(&plain);
                best = Some(Proposal {
                    raised: Some(raise(&kernel.name, &kernel.params, &results))
                        .filter(|raised| raised.verify().is_ok())
                        .unwrap_or_else(|| plain.clone()),
                    plain: Some(plain),
                    synthesiser: None,
                    simpler: match (best.is_none(), apart.is_empty()) {
                        (true, true) => simpler.clone(),
                        (true, false) => {
                            let with =
                                |guards: &Vec<Guard>| [guards.clone(), apart.clone()].concat();
                            let both = simpler.first().map(with);
                            [vec![apart.clone()], Vec::from_iter(both), simpler.clone()].concat()
                        }
                        (false, _) => vec![],
                    },
                    otherwise: best.map(Box::new),
                    assume: assume.to_vec(),
                });
            }
        }
        Err(why) => refusal = Some(why),
    }
    match (best, refusal) {
        (Some(proposal), _) if assume.is_empty() => {
            let sizes = hiding(&proposal.raised);
            let without = |p: &Proposal| p.raised.outputs.len() < proposal.raised.outputs.len();
            let special = (!sizes.is_empty())
                .then(|| propose(kernel, around, rising, solver, oracle, &sizes).ok())
                .flatten();
            Ok(match special.filter(without) {
                Some(special) => special.or_else(proposal),
                None => proposal,
            })
        }
        (Some(proposal), _) => Ok(proposal),
        (None, refusal) => simpler
            .iter()
            .filter_map(|assume| propose(kernel, around, rising, solver, oracle, assume).ok())
            .find(|special| !gives_up(kernel, &special.raised))
            .ok_or_else(|| refusal.unwrap_or_else(nothing)),
    }
}

/// Whether a kernel of arrays touches none here: it answers that the sizes are wrong, which is of no use to anybody.
pub fn gives_up(kernel: &loopir::Function, summary: &tensir::Function) -> bool {
    let touches = |node: &tensir::Node| match &node.op {
        tensir::Op::View(_) => true,
        tensir::Op::Generic(e) => {
            let mut reads = false;
            e.visit(&mut |x| reads |= matches!(&**x, Elem::Read { .. }));
            reads
        }
        _ => false,
    };
    let is_array = |p: &Param| matches!(p, Param::Array { .. });
    let stores = |o: &Output| matches!(o, Output::Store { .. });
    kernel.params.iter().any(is_array)
        && !summary.outputs.iter().any(stores)
        && !summary.nodes.iter().any(touches)
}

fn nothing() -> Refusal {
    Refusal {
        code: "TZ0302",
        message: "it neither writes to an array nor returns a value".into(),
        line: 0,
    }
}

/// A loop in which the kernel stores something, rather where the data says: that is what has no form.
fn line_of(kernel: &loopir::Function, summary: &tensir::Function) -> u32 {
    let stored = summary.outputs.iter().filter_map(|o| match o {
        Output::Store { view, .. } => {
            let line = loopir::stored_in(&kernel.body, &view.array);
            Some((line == 0, !view.index.has_values(), line))
        }
        Output::Return { .. } => None,
    });
    stored.min().map_or(0, |(_, _, line)| line)
}

/// The results as the loops have them; without bit tricks; and without hand optimisation.
fn forms(results: Vec<Closed>) -> Vec<Vec<Closed>> {
    let mut plainer = results.clone();
    for result in &mut plainer {
        let (Closed::Store { value, .. } | Closed::Return(value)) = result;
        *value = synthesise::plainer(value);
    }
    let mut forms = vec![results];
    if plainer != forms[0] {
        forms.push(plainer);
    }
    let natural = forms.last().and_then(|last| natural::natural(last));
    forms.extend(natural);
    forms
}

/// Where an array is stored to more than once (`memset`, and then the sums), conditions under which a later store may
/// hide an earlier one: that sizes are not negative.
fn hiding(summary: &tensir::Function) -> Vec<Guard> {
    let stores = summary.outputs.iter().filter_map(|o| match o {
        Output::Store { value, view } => Some((&view.array, *value)),
        Output::Return { .. } => None,
    });
    let stores: Vec<_> = stores.collect();
    let several = |array: &Sym| stores.iter().filter(|(a, _)| *a == array).count() > 1;
    let shapes = stores
        .iter()
        .filter(|(array, _)| several(array))
        .flat_map(|(_, value)| &summary.nodes[*value].ty.shape);
    let sizes: BTreeSet<&Sym> = shapes.filter_map(Idx::as_sym).collect();
    let guard = |n: &Sym| Guard::NonNegative(Idx::sym(n.clone()));
    sizes.into_iter().map(guard).collect()
}

/// Gives folds that are the same one form: what is compared is in canonical form, and then stored as the kernel computes it.
fn in_one_form(results: &mut [Closed]) {
    let mut forms: BTreeMap<ElemRef, ElemRef> = BTreeMap::new();
    for Closed::Return(value) | Closed::Store { value, .. } in &*results {
        value.visit(&mut |e| {
            if matches!(&**e, Elem::Fold(_)) {
                let canonical = canon::elem(e);
                let form = forms.entry(canonical.clone()).or_insert_with(|| e.clone());
                if *form == canonical {
                    *form = e.clone();
                }
            }
        });
    }
    for Closed::Return(value) | Closed::Store { value, .. } in results {
        *value = value.map(&mut |e| match &**e {
            Elem::Fold(_) => forms.get(&canon::elem(e)).cloned(),
            _ => None,
        });
    }
}

/// The value with the smaller or larger of two integers as such, wherever it chooses one, innermost first: a network that
/// sorts by `if (a > b) swap(a, b)` says each of its numbers three times otherwise, in each of its steps.
///
/// What is left as it is stays a choice, whether an accumulator or an element of `array`, as the code then writes nothing.
fn with_extremes(e: &ElemRef, array: Option<&Sym>, done: &mut Memo<ElemRef>) -> ElemRef {
    if let Some(found) = done.get(e) {
        return found;
    }
    // Where the largest one stands goes by the choice.
    if matches!(&**e, Elem::Fold(f) if !f.others.is_empty()) {
        return e.clone();
    }
    let children = e.children().into_iter();
    let children: Vec<ElemRef> = children.map(|c| with_extremes(c, array, done)).collect();
    let indices: Vec<Idx> = e.indices().into_iter().cloned().collect();
    let mut found = e.rebuild(&children, &indices);
    let is_left = |x: &ElemRef| match &**x {
        Elem::Acc(..) => true,
        Elem::Read { array: a, .. } => Some(a) == array,
        _ => false,
    };
    if let Elem::Select(_, t, f) = &*found
        && t.ty().is_int()
        && !is_left(t)
        && !is_left(f)
    {
        let canonical = canon::elem(&found);
        if let Elem::Binary(BinOp::Minimum | BinOp::Maximum, ..) = &*canonical {
            found = canonical;
        }
    }
    done.insert(e, &found);
    found
}

/// What the kernel leaves in its arrays, and returns.
fn results(exec: &mut Executor) -> Result<Vec<Closed>, Refusal> {
    let kernel = exec.kernel;
    let (state, returned) = exec.run()?;
    let mut results = Vec::new();
    for p in &kernel.params {
        let Param::Array { name, .. } = p else {
            continue;
        };
        if let Some(contents) = state.arrays.get(name) {
            let stores = cases::stores_by_cases(&mut exec.ctx, name, contents);
            results.extend(stores.map_err(|why| Refusal {
                line: loopir::stored_in(&kernel.body, name),
                ..why
            })?);
        }
    }
    results.extend(returned.map(|v| Closed::Return(exec.ctx.settle(&v))));
    for result in &mut results {
        let (value, array) = match result {
            Closed::Return(value) => (value, None),
            Closed::Store { value, view, .. } => (value, Some(&view.array)),
        };
        *value = with_extremes(value, array, &mut Memo::default());
    }
    in_one_form(&mut results);
    // Names that can be written, and read again.
    for result in &mut results {
        let (Closed::Return(value) | Closed::Store { value, .. }) = result;
        *value = starts_by_itself(&value.freshen(&mut exec.ctx.fresh));
    }
    if results.is_empty() {
        return Err(nothing());
    }
    Ok(results)
}
