//! Which loops a device's items share, and which one the host goes round.

use super::schedule::assign;
use super::statements::{assigned, loads, mentions_any};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{self, Expr, Loop, LoopMode, Stmt, Visited};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType::I64;

/// The loop, if it is one whose rounds are independent and counted from 0: how many rounds, and what is done in one.
pub(super) fn parallel<'s>(
    var: &Sym,
    start: &Expr,
    looped: &'s Loop,
) -> Option<(&'s Expr, &'s [Stmt])> {
    let Expr::Compare(CmpOp::Lt, counter, extent) = &looped.cond else {
        return None;
    };
    let Some((Stmt::Assign { var: last, .. }, body)) = looped.body.split_last() else {
        return None;
    };
    let counts = matches!(start, Expr::Const(v) if v.as_int() == 0)
        && matches!(&**counter, Expr::Var(v, _) if v == var)
        && last == var;
    let steady = !mentions_any(extent, &assigned(&looped.body)) && !loads(extent);
    (looped.mode == LoopMode::Parallel && counts && steady).then_some((&**extent, body))
}

/// `counter = 0; while (counter < trip) { round; counter = counter + 1 }`, with kernels in its round.
pub(super) struct OverTime<'s> {
    pub counter: &'s Sym,
    pub trip: &'s Expr,
    pub round: &'s [Stmt],
}

/// The loop over time that the function is, if it is one.
pub(super) fn over_time(body: &[Stmt]) -> Option<OverTime<'_>> {
    let [Stmt::Assign { var, value, .. }, Stmt::Loop(l)] = body else {
        return None;
    };
    let Expr::Compare(CmpOp::Lt, counter, trip) = &l.cond else {
        return None;
    };
    let (step, round) = l.body.split_last()?;
    let next = Expr::binary(BinOp::Add, Expr::Var(var.clone(), I64), Expr::int(I64, 1));
    let counts = matches!(value, Expr::Const(v) if v.as_int() == 0)
        && **counter == Expr::Var(var.clone(), I64)
        && *step == assign(var, next)
        && !assigned(round).contains_key(var);
    // Each round as it comes: the number of rounds is settled before the first, and none of them returns.
    let in_turn = l.mode == LoopMode::Sequential && l.test_first;
    let steady = in_turn && !mentions_any(trip, &assigned(&l.body)) && !loads(trip);
    let mut returns = false;
    loopir::visit(round, &mut |part| {
        returns |= matches!(part, Visited::Stmt(Stmt::Return(_)));
    });
    (counts && steady && !returns && has_parallel(round)).then_some(OverTime {
        counter: var,
        trip,
        round,
    })
}

/// Whether there is a loop that items share.
pub(super) fn has_parallel(stmts: &[Stmt]) -> bool {
    let mut found = false;
    loopir::visit(stmts, &mut |part| {
        found |= matches!(part, Visited::Stmt(Stmt::Loop(l)) if l.mode == LoopMode::Parallel);
    });
    found
}
