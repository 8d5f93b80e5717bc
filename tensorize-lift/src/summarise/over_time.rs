//! Loops over time: where a kernel as a whole has no summary, one round of its outermost loop may have one.

mod state;

use super::{Proposal, Summariser};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;
use tensorize_ir::element::Elem;
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::limit;
use tensorize_ir::loopir::{self, Expr, Loop, Stmt, Visited, visit};
use tensorize_ir::tensir::{self, Op, Output, Rounds, State};
use tensorize_prove::bounded::bounded;
use tensorize_prove::branches::in_one_loop;
use tensorize_prove::context::Context;
use tensorize_prove::exec::Executor;
use tensorize_prove::loops::modified;
use tensorize_prove::rising::Rising;
use tensorize_prove::rounds::{Split, writes_again};
use tensorize_prove::solver::Solver;
use tensorize_prove::state::{exposed, in_variables};
use tensorize_prove::status::without_status;

/// How many loops over time may lie in each other.
const DEEPEST: usize = 3;

/// How many ways to take a kernel apart are tried.
const MOST: usize = 6;

/// Proposes a summary of one round, to be done so many times; nothing if there is none that is worth it. The rounds may
/// consist of rounds: of more levels than those of the summary that has failed, and of as few as will do. Where no round
/// computes many elements at once, each may set one number from those before (`y[i] = x[i] - a*y[i-1] - b*y[i-2]`).
pub(super) fn propose(
    kernel: &loopir::Function,
    failed: Option<&tensir::Function>,
    solver: &mut Solver,
) -> Option<Proposal> {
    if let Some((plain, status)) = without_status(kernel) {
        return Some(propose(&plain, failed, solver)?.map(&|f| f.with_status(status)));
    }
    let failed = failed.and_then(|f| Some((&f.state, f.rounds.as_ref()?.all().count())));
    let mut more_than = failed.map_or(0, |(_, levels)| levels);
    let bounded = bounded(kernel);
    let mut states: Vec<(Vec<State>, Vec<&loopir::Function>)> = Vec::new();
    let together = in_one_loop(kernel);
    // Loops that end when something happens, and so leave more to the next rounds.
    for kernel in [Some(kernel), together.as_ref(), bounded.as_ref()]
        .into_iter()
        .flatten()
    {
        for state in state::proposed(kernel) {
            match states.iter_mut().find(|(s, _)| *s == state) {
                Some((_, kernels)) => kernels.push(kernel),
                None => states.push((state, vec![kernel])),
            }
        }
    }
    let left = states
        .iter()
        .skip_while(|(s, _)| failed.is_some_and(|(state, _)| state != s));
    left.into_iter().find_map(|(state, kernels)| {
        let levels = std::mem::take(&mut more_than) + 1..=DEEPEST;
        let mut kernels = kernels.iter();
        kernels.find_map(|kernel| with_state(kernel, state, levels.clone(), solver))
    })
}

/// The same where rounds leave this to the next ones besides the caller's arrays.
fn with_state(
    kernel: &loopir::Function,
    state: &[State],
    levels: RangeInclusive<usize>,
    solver: &mut Solver,
) -> Option<Proposal> {
    let exposed = exposed(kernel, state).ok()?;
    let mut of = |worth: Worth| {
        let how = How { state, worth };
        let mut levels = levels.clone();
        levels.find_map(|levels| rounds_of(&exposed, levels, &[], how, solver))
    };
    let found = of(Worth::ManyAtOnce).or_else(|| of(Worth::Anything))?;
    Some(found.map(&|f| f.with_state(state)))
}

/// What rounds are to be like.
#[derive(Clone, Copy)]
struct How<'a> {
    /// What the last parameters but for the numbers of rounds are.
    state: &'a [State],
    worth: Worth,
}

/// What a round has to compute.
#[derive(Clone, Copy, PartialEq)]
enum Worth {
    /// A tensor, or something of many elements.
    ManyAtOnce,
    /// It may be one number after the other: no target gains by that, but what a kernel does is known.
    Anything,
}

/// The same with so many levels, of what is done in rounds of such numbers.
fn rounds_of(
    kernel: &loopir::Function,
    levels: usize,
    around: &[(Sym, Idx)],
    how: How,
    solver: &mut Solver,
) -> Option<Proposal> {
    let counter = Split::name(kernel);
    let splits = Split::all(kernel, &counter).ok()?;
    let proposals = splits
        .iter()
        .filter_map(|split| taken_apart(kernel, split, &counter, levels, around, how, solver));
    // Rounds that read nothing of what others write do not build on each other: then each has to write its own, and not
    // all of an array anew, most of it as it was.
    let builds_up = loops(kernel).any(reads_what_it_writes);
    let proposals = proposals.filter(|p| builds_up || !reads_its_results(&p.raised));
    let mut proposals: Vec<Proposal> = proposals.take(MOST).collect();
    let last = proposals.pop()?;
    Some(proposals.into_iter().rfold(last, |rest, p| p.or_else(rest)))
}

/// The same of a kernel that is taken apart in this way.
fn taken_apart(
    kernel: &loopir::Function,
    split: &Split,
    counter: &Sym,
    levels: usize,
    around: &[(Sym, Idx)],
    how: How,
    solver: &mut Solver,
) -> Option<Proposal> {
    let trip = trip(&split.count, around, solver)?;
    let assume: Vec<Guard> = split.needs(&trip).into_iter().collect();
    // No guard speaks of a round.
    if !assume.is_empty() && around.iter().any(|(outer, _)| trip.mentions(outer)) {
        return None;
    }
    let within = [around, &[(counter.clone(), trip.clone())]].concat();
    let round = match levels {
        1 => {
            let round = in_variables(&split.round, how.state);
            let rising = Rising::guesses(&split.round, &within);
            let mut under = |assume: &[Guard]| {
                super::propose(&round, &within, &rising, solver, &Summariser, assume).ok()
            };
            under(&assume).or_else(|| {
                let rows = super::pitches::within_rows(kernel);
                (!rows.is_empty()).then(|| under(&[&assume[..], &rows].concat()))?
            })?
        }
        _ => {
            let mut round = rounds_of(&split.round, levels - 1, &within, how, solver)?;
            round.assume.extend(assume);
            round
        }
    };
    let rounds = Rounds {
        counter: counter.clone(),
        trip,
        inner: None,
    };
    let found = in_rounds(round, &rounds, how.worth)?;
    let some = at_least_one(&found.raised, &within);
    if some.is_empty() {
        return Some(found);
    }
    let mut under = found.clone();
    under.assume.extend(some);
    Some(found.or_else(under))
}

/// That what a round computes has elements. In another round, what is written beside may be an element of that, and so be
/// there to be read.
fn at_least_one(function: &tensir::Function, within: &[(Sym, Idx)]) -> Vec<Guard> {
    let function = function.innermost();
    let shapes = function
        .outputs
        .iter()
        .map(|o| &function.nodes[o.value()].ty.shape);
    let extents: BTreeSet<&Idx> = shapes
        .flatten()
        .filter(|n| n.as_constant().is_none() && !n.has_values())
        .filter(|n| within.iter().all(|(counter, _)| !n.mentions(counter)))
        .collect();
    let some = extents.into_iter().map(|n| n - &Idx::constant(1));
    some.map(Guard::NonNegative).collect()
}

/// Looks for something that says of a kernel as a whole what it does, and leaves time for a round of it where that is the
/// likelier thing to find.
pub(super) fn leaving_time<T>(
    kernel: &loopir::Function,
    whole: impl FnOnce() -> T,
) -> Result<T, limit::Work> {
    let time = limit::left().filter(|_| is_likely(kernel));
    limit::within(time.map_or(Duration::MAX, |left| left / 3), whole)
}

/// Whether some rounds write where the ones before have written, and read beside those places.
fn is_likely(kernel: &loopir::Function) -> bool {
    loops(kernel).any(writes_again)
}

/// The outermost loops.
fn loops(kernel: &loopir::Function) -> impl Iterator<Item = &Loop> {
    kernel.body.iter().filter_map(|s| match s {
        Stmt::Loop(l) => Some(l),
        _ => None,
    })
}

fn reads_what_it_writes(l: &Loop) -> bool {
    let (_, written) = modified(&l.body);
    let mut reads = false;
    visit(&l.body, &mut |part| {
        reads |= matches!(part, Visited::Expr(Expr::Load { array, .. }) if written.contains(array));
    });
    reads
}

/// Whether a round is made of what stands in the arrays that it writes.
fn reads_its_results(function: &tensir::Function) -> bool {
    let function = function.innermost();
    let written: BTreeSet<&Sym> = (function.outputs.iter())
        .filter_map(|o| match o {
            Output::Store { view, .. } => Some(&view.array),
            Output::Return { .. } => None,
        })
        .collect();
    function.nodes.iter().any(|node| match &node.op {
        Op::View(view) => written.contains(&view.array),
        Op::Generic(e) => {
            let mut found = false;
            e.visit(&mut |x| {
                found |= matches!(&**x, Elem::Read { array, .. } if written.contains(array));
            });
            found
        }
        _ => false,
    })
}

/// How often the loop runs, by what a function returns that counts.
fn trip(count: &loopir::Function, around: &[(Sym, Idx)], solver: &mut Solver) -> Option<Idx> {
    let ctx = Context::new(solver, super::sizes(count, around), vec![]);
    let mut exec = Executor::new(count, &Summariser, ctx, false);
    for (counter, trip) in around {
        exec.in_rounds(counter, trip);
    }
    let (_, returned) = exec.run().ok()?;
    match &*returned? {
        Elem::OfIdx(_, trip) if !trip.has_values() => Some(trip.clone()),
        Elem::Const(n) => Some(Idx::constant(n.as_int())),
        _ => None,
    }
}

/// Proposals for one round, as proposals for all.
fn in_rounds(round: Proposal, rounds: &Rounds, worth: Worth) -> Option<Proposal> {
    let all = |f: tensir::Function| tensir::Function::of_rounds(f, rounds.clone());
    let otherwise = round.otherwise.and_then(|p| in_rounds(*p, rounds, worth));
    let raised = all(round.raised).filter(|f| worth == Worth::Anything || is_worth_it(f));
    let Some(raised) = raised else {
        return otherwise;
    };
    Some(Proposal {
        raised,
        plain: round.plain.and_then(all),
        otherwise: otherwise.map(Box::new),
        synthesiser: None,
        assume: round.assume,
        simpler: vec![],
    })
}

/// Whether a round computes a tensor, or something of many elements: one number after the other is best left as it is.
fn is_worth_it(function: &tensir::Function) -> bool {
    let function = &function.innermost();
    let stores_many = |o: &tensir::Output| function.nodes[o.value()].ty.rank() > 0;
    let folds = |node: &tensir::Node| match &node.op {
        Op::Reduce { .. } | Op::DotGeneral { .. } | Op::ArgReduce { .. } => true,
        Op::Generic(e) => {
            let mut found = false;
            e.visit(&mut |x| found |= matches!(&**x, Elem::Fold(_)));
            found
        }
        _ => false,
    };
    function.outputs.iter().any(stores_many) || function.nodes.iter().any(folds)
}
