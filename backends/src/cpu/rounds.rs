//! Loops over time: one round's code, as often as the kernel says.

use super::lower::{I64, Lowered};
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::{self, Expr, Loop, LoopMode, Stmt, Visited, visit};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::tensir::Rounds;

/// The most that a number of elements is in any round, if it grows or shrinks from each to the next by as much, by the
/// looks of it. Of others it is that of the first round. The proof says whether it is enough.
pub(super) fn most(len: &Idx, rounds: &Rounds) -> Idx {
    let step = len.linear_in(&rounds.counter);
    let grows = step.is_some_and(|(step, _)| step.terms().all(|(_, c)| c > 0));
    let round = match grows {
        true => &rounds.trip - &Idx::constant(1),
        false => Idx::default(),
    };
    len.replace(&rounds.counter, &round)
}

/// The code of `round`, of which the last parameter is the number of the round, for as many as `trip` says.
pub(super) fn in_rounds(round: Lowered, rounds: &Rounds, trip: Expr) -> Lowered {
    let code = round.function;
    let mut params = code.params;
    params.pop();
    let mut ids = 0;
    visit(&code.body, &mut |part| {
        if let Visited::Stmt(Stmt::Loop(l)) = part {
            ids = ids.max(l.id);
        }
    });
    let number = Expr::Var(rounds.counter.clone(), I64);
    let assign = |value| Stmt::Assign {
        var: rounds.counter.clone(),
        ty: I64,
        value,
    };
    let mut body = code.body;
    body.push(assign(Expr::binary(
        BinOp::Add,
        number.clone(),
        Expr::int(I64, 1),
    )));
    let all = Loop {
        id: ids + 1,
        cond: Expr::compare(CmpOp::Lt, number, trip),
        test_first: true,
        body,
        mode: LoopMode::Sequential,
        line: 0,
    };
    Lowered {
        function: loopir::Function {
            params,
            body: vec![assign(Expr::int(I64, 0)), Stmt::Loop(all)],
            ..code
        },
        ..round
    }
}
