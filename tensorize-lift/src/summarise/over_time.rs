//! Loops over time: where a kernel as a whole has no summary, one round of its outermost loop may have one.

use super::{Proposal, Summariser};
use std::time::Duration;
use tensorize_ir::element::Elem;
use tensorize_ir::guard::Guard;
use tensorize_ir::index::Idx;
use tensorize_ir::limit;
use tensorize_ir::loopir::{self, Expr, Loop, Stmt, Visited, visit};
use tensorize_ir::tensir::{self, Op, Rounds};
use tensorize_prove::context::Context;
use tensorize_prove::exec::Executor;
use tensorize_prove::integer_params;
use tensorize_prove::loops::modified;
use tensorize_prove::rounds::{Split, writes_again};
use tensorize_prove::solver::Solver;

/// Proposes a summary of one round, to be done so many times; nothing if there is none that is worth it.
pub(super) fn propose(kernel: &loopir::Function, solver: &mut Solver) -> Option<Proposal> {
    // Rounds that read nothing of what others write do not build on each other: all of them in a row would do more.
    if !loops(kernel).any(reads_what_it_writes) {
        return None;
    }
    let counter = Split::name(kernel);
    let split = Split::of(kernel, &counter).ok()?;
    let trip = trip(&split.count, solver)?;
    let rounds = Rounds { counter, trip };
    let one = Guard::NonNegative(&rounds.trip - &Idx::constant(1));
    let assume: Vec<Guard> = split.at_least_one.then_some(one).into_iter().collect();
    let round = super::propose(&split.round, Some(&rounds), solver, &Summariser, &assume);
    in_rounds(round.ok()?, &rounds)
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

/// How often the loop runs, by what a function returns that counts.
fn trip(count: &loopir::Function, solver: &mut Solver) -> Option<Idx> {
    let ctx = Context::new(solver, integer_params(count), vec![]);
    let (_, returned) = Executor::new(count, &Summariser, ctx, false).run().ok()?;
    match &*returned? {
        Elem::OfIdx(_, trip) if !trip.has_values() => Some(trip.clone()),
        _ => None,
    }
}

/// Proposals for one round, as proposals for all.
fn in_rounds(round: Proposal, rounds: &Rounds) -> Option<Proposal> {
    let all = |f: tensir::Function| tensir::Function::of_rounds(f, rounds.clone());
    let otherwise = round.otherwise.and_then(|p| in_rounds(*p, rounds));
    let raised = all(round.raised).filter(is_worth_it);
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
