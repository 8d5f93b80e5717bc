//! The first proposer: symbolic summarisation of the loop nest.
//!
//! The prover's executor runs the kernel, and asks for the closed form of each loop ([`closed_form`]).
//! What it arrives at, raised to library operators, is proposed as the summary. Nothing here is trusted:
//! the prover checks the closed forms and the summary.

use crate::raise::{Closed, raise, starts_by_itself, unraised};
use crate::synthesise::{self, Synthesiser};
use std::collections::BTreeSet;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::{Guard, Tier};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{self, Param};
use tensorize_ir::op::CmpOp;
use tensorize_ir::tensir::{self, Output, View, at, dim};
use tensorize_prove::bound::bound;
use tensorize_prove::canon;
use tensorize_prove::chain::{self, Contents};
use tensorize_prove::context::Context;
use tensorize_prove::decode;
use tensorize_prove::exec::{Executor, Stuck};
use tensorize_prove::loops::Oracle;
use tensorize_prove::solver::Solver;
use tensorize_prove::{Options, Verdict, integer_params, prove};

pub(crate) mod closed_form;
mod natural;

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
            if matches!(verdict, Verdict::Proven(_)) {
                return (summary.clone(), verdict);
            }
        }
        if let Some(other) = self.otherwise {
            return other.prove(kernel, solver, options);
        }
        for assume in self.simpler {
            let Ok(special) = propose(kernel, solver, &Summariser, &assume) else {
                continue;
            };
            let special = Proposal {
                simpler: vec![],
                ..special
            };
            let (summary, verdict) = special.prove(kernel, solver, &without_search);
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

/// Proposes a summary. It is a proposal: the prover has to agree.
pub fn summarise(kernel: &loopir::Function, solver: &mut Solver) -> Result<Proposal, Refusal> {
    summarise_with(kernel, solver, Synthesiser::default())
}

/// The same with a second proposer of one's own.
pub fn summarise_with(
    kernel: &loopir::Function,
    solver: &mut Solver,
    synthesiser: Synthesiser,
) -> Result<Proposal, Refusal> {
    let searched = propose(kernel, solver, &synthesiser, &[]);
    if !synthesiser.has_found() {
        return match searched {
            Ok(proposal) if !synthesiser.has_guessed() => Ok(proposal),
            _ => propose(kernel, solver, &Summariser, &[]),
        };
    }
    let plain = propose(kernel, solver, &Summariser, &[]);
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

fn propose(
    kernel: &loopir::Function,
    solver: &mut Solver,
    oracle: &dyn Oracle,
    assume: &[Guard],
) -> Result<Proposal, Refusal> {
    let mut ctx = Context::new(solver, integer_params(kernel), vec![]);
    assume.iter().for_each(|g| ctx.guard(g.clone()));
    let mut exec = Executor::new(kernel, oracle, ctx, false);
    exec.worst = Tier::Real;
    let found = results(&mut exec);
    let simpler = if assume.is_empty() {
        simpler(&mut exec)
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
                if let Err(e) = plain.verify() {
                    refusal = Some(Refusal {
                        code: "TZ0305",
                        message: format!("what it computes has no form over tensors: {e}"),
                        line: 0,
                    });
                    continue;
                }
                best = Some(Proposal {
                    raised: Some(raise(&kernel.name, &kernel.params, &results))
                        .filter(|raised| raised.verify().is_ok())
                        .unwrap_or_else(|| plain.clone()),
                    plain: Some(plain),
                    synthesiser: None,
                    simpler: if best.is_none() {
                        simpler.clone()
                    } else {
                        vec![]
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
                .then(|| propose(kernel, solver, oracle, &sizes).ok())
                .flatten();
            Ok(match special.filter(without) {
                Some(special) => special.or_else(proposal),
                None => proposal,
            })
        }
        (Some(proposal), _) => Ok(proposal),
        (None, refusal) => simpler
            .iter()
            .find_map(|assume| propose(kernel, solver, oracle, assume).ok())
            .ok_or_else(|| refusal.unwrap_or_else(nothing)),
    }
}

fn nothing() -> Refusal {
    Refusal {
        code: "TZ0302",
        message: "it neither writes to an array nor returns a value".into(),
        line: 0,
    }
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

/// Conditions on the sizes under which the kernel branches less: all branches at once taken the usual way,
/// then one at a time. Equal sizes are usual, and so are the increments for which nothing special is done.
fn simpler(exec: &mut Executor) -> Vec<Vec<Guard>> {
    /// Each costs an attempt.
    const MOST: usize = 4;
    let (mut usual, mut unusual) = (Vec::new(), Vec::new());
    let mut others = Vec::new();
    let mut splits = std::mem::take(&mut exec.splits);
    splits.dedup();
    for (c, truth) in splits {
        let (yes, no) = (exec.as_guards(&c), exec.as_guards(&Elem::not(c.clone())));
        let mut equal = false;
        c.visit(&mut |e| equal |= matches!(&**e, Elem::IndexCompare(CmpOp::Eq, ..)));
        let (first, second) = if equal || truth { (yes, no) } else { (no, yes) };
        usual.extend(first.iter().flatten().cloned());
        unusual.extend(second.iter().flatten().cloned());
        others.extend(first);
        others.extend(second);
    }
    let mut all: Vec<Vec<Guard>> = Vec::new();
    for guards in [usual, unusual].into_iter().chain(others) {
        if !guards.is_empty() && !all.contains(&guards) && all.len() < MOST {
            all.push(guards);
        }
    }
    all
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
            stores(&mut exec.ctx, name, contents, &mut results)?;
        }
    }
    results.extend(returned.map(|v| Closed::Return(exec.ctx.settle(&v))));
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

/// The final contents of an array as tensors: one for each group of places that is written. Later writes
/// come first, so that what they hide is left out.
fn stores(
    ctx: &mut Context,
    array: &Sym,
    contents: &Contents,
    results: &mut Vec<Closed>,
) -> Result<(), Refusal> {
    let refuse = |code, message| {
        Err(Refusal {
            code,
            message,
            line: 0,
        })
    };
    let mut found: Vec<(Vec<Idx>, View, ElemRef)> = Vec::new();
    for effect in contents.effects.iter().rev() {
        for leaf in effect.leaves().into_iter().rev() {
            let mut merged = chain::tiles_merged(ctx, &leaf);
            while let Some(again) = merged
                .as_ref()
                .and_then(|m| chain::tiles_merged(ctx, &m.leaf()))
            {
                merged = Some(again);
            }
            let leaf = match &merged {
                Some(m) => m.leaf(),
                None => leaf,
            };
            let (leaf, at_most_one) = if_taken(ctx, leaf);
            let mark = ctx.mark();
            let Some((shape, leaf_index)) = boxed(ctx, &leaf) else {
                return refuse(
                    "TZ0303",
                    format!(
                        "the rows of {array} that it writes differ in length in a way that no box holds"
                    ),
                );
            };
            for ((var, _), length) in leaf.loops.iter().zip(&shape) {
                ctx.assume_in_range(var, length);
            }
            // The one element of such a tensor is element 0, whatever its place says.
            let index = &match leaf.loops.as_slice() {
                [(var, _)] if at_most_one => &leaf_index + &Idx::sym(var.clone()),
                _ => leaf_index,
            };
            let hidden = found
                .iter()
                .any(|(shape, view, _)| inside(ctx, view, shape, index));
            if !hidden {
                let value = chain::read(ctx, array, contents, index).map_err(|why| Refusal {
                    code: "TZ0304",
                    message: why.0,
                    line: 0,
                })?;
                let value = ctx.settle(&value);
                let to_dim = |s: &Sym| {
                    leaf.loops
                        .iter()
                        .position(|(v, _)| v == s)
                        .map(|i| Idx::sym(dim(i)))
                };
                let view = View {
                    array: array.clone(),
                    index: index.substitute(&to_dim),
                };
                found.push((shape, view, value.substitute(&to_dim)));
            }
            ctx.forget(mark);
        }
    }
    found.reverse();
    results.extend(found.into_iter().map(|(shape, view, value)| Closed::Store {
        shape,
        view,
        value,
    }));
    Ok(())
}

/// The box around the places that are written, as a shape and an index in which the counters are the box's: rows
/// are as long as the longest one, and what lies beyond a shorter one keeps its value.
fn boxed(ctx: &mut Context, leaf: &chain::Leaf) -> Option<(Vec<Idx>, Idx)> {
    let (mut shape, mut index) = (Vec::new(), leaf.index.clone());
    for (i, (var, extent)) in leaf.loops.iter().enumerate() {
        let outer = &leaf.loops[..i];
        if !outer.iter().any(|(v, _)| extent.mentions(v)) {
            shape.push(extent.clone());
            continue;
        }
        // The longest of rows that grow and shrink is not at an end.
        if outer.iter().any(|(v, _)| extent.linear_in(v).is_none()) {
            return None;
        }
        // Where a row begins further on from row to row, columns are counted from the first one.
        let (step, rest) = index.linear_in(var)?;
        let begins = match step.as_constant() {
            Some(1) => {
                let begin = rest.terms().filter(|(m, _)| {
                    let name = |v: &Sym| Idx::from_terms([(m.to_vec(), 1)]).as_sym() == Some(v);
                    m.is_empty() || outer.iter().any(|(v, _)| name(v))
                });
                Idx::from_terms(begin.map(|(m, c)| (m.to_vec(), c)))
            }
            _ => Idx::default(),
        };
        let shared = |v: &Sym| begins.mentions(v) && extent.mentions(v);
        let begins = match outer.iter().any(|(v, _)| shared(v)) {
            true => begins,
            false => Idx::default(),
        };
        let first = bound(ctx, &begins, outer, false)?;
        let end = bound(ctx, &(&begins + extent), outer, true)?;
        index = index.replace(var, &(&(&Idx::sym(var.clone()) + &first) - &begins));
        shape.push(&end - &first);
    }
    Some((shape, index))
}

/// A single write under a condition on sizes (the tail of an unrolled loop): as a tensor of one element or none,
/// and whether it is one.
fn if_taken<'a>(ctx: &mut Context, leaf: chain::Leaf<'a>) -> (chain::Leaf<'a>, bool) {
    if !leaf.loops.is_empty() {
        return (leaf, false);
    }
    let (zero, one) = (Idx::default(), Idx::constant(1));
    let extent = match &*canon::elem(leaf.cond) {
        Elem::IndexCompare(CmpOp::Ge, p, _) => (p + &one).maximum(&zero).minimum(&one),
        Elem::IndexCompare(CmpOp::Ne, p, _) => {
            let minus = -p;
            let fits = |ctx: &mut Context, p: &Idx| {
                ctx.is_non_negative(p) && ctx.proves(CmpOp::Le, p, &one)
            };
            if fits(ctx, p) {
                p.clone()
            } else if fits(ctx, &minus) {
                minus
            } else {
                return (leaf, false);
            }
        }
        _ => return (leaf, false),
    };
    if !ctx.is_over_params(&extent) {
        return (leaf, false);
    }
    let leaf = chain::Leaf {
        loops: vec![(ctx.fresh.name("taken"), extent)],
        ..leaf
    };
    (leaf, true)
}

/// Whether a place is one of the view's; a guess.
fn inside(ctx: &mut Context, view: &View, shape: &[Idx], index: &Idx) -> bool {
    let dims: Vec<(Sym, Idx)> = shape
        .iter()
        .enumerate()
        .map(|(i, n)| (dim(i), n.clone()))
        .collect();
    if dims.is_empty() {
        return view.index == *index;
    }
    let Some(position) = decode::decode(ctx, &dims, &view.index, index) else {
        return false;
    };
    let hits = at(&view.index, &position);
    canon::idx(&(&hits - index)).is_zero()
        && position
            .iter()
            .zip(shape)
            .all(|(p, n)| ctx.is_non_negative(p) && ctx.proves(tensorize_ir::op::CmpOp::Lt, p, n))
}
