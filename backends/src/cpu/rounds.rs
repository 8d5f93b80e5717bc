//! Loops over time: one round's code, as often as the kernel says.

use super::lower::{self, I64, Lowered};
use crate::Unsupported;
use tensorize_ir::loopir::{self, Expr, Len, Loop, LoopMode, Stmt, Visited, visit};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::tensir::{self, Rounds};

/// The code of `round`, of which the last parameter is the number of the round, for all rounds of `function`.
pub(super) fn in_rounds(
    round: Lowered,
    function: &tensir::Function,
) -> Result<Lowered, Unsupported> {
    let Some(Rounds { counter, trip }) = &function.rounds else {
        return Ok(round);
    };
    let code = round.function;
    let mut params = code.params;
    params.pop();
    let mut by_round = false;
    for len in code.arrays.iter().map(|a| &a.len) {
        if let Len::Of(len) = len {
            len.visit(&mut |e| by_round |= matches!(e, Expr::Var(v, _) if v == counter));
        }
    }
    if by_round {
        return Err(Unsupported::new(
            "each round needs memory of its own, of another size",
        ));
    }
    let mut ids = 0;
    visit(&code.body, &mut |part| {
        if let Visited::Stmt(Stmt::Loop(l)) = part {
            ids = ids.max(l.id);
        }
    });
    let number = Expr::Var(counter.clone(), I64);
    let assign = |value| Stmt::Assign {
        var: counter.clone(),
        ty: I64,
        value,
    };
    let mut body = code.body;
    body.push(assign(Expr::binary(
        BinOp::Add,
        number.clone(),
        Expr::int(I64, 1),
    )));
    let trip = lower::trip(function, trip)?;
    let rounds = Loop {
        id: ids + 1,
        cond: Expr::compare(CmpOp::Lt, number, trip),
        test_first: true,
        body,
        mode: LoopMode::Sequential,
        line: 0,
    };
    Ok(Lowered {
        function: loopir::Function {
            params,
            body: vec![assign(Expr::int(I64, 0)), Stmt::Loop(rounds)],
            ..code
        },
        ..round
    })
}
