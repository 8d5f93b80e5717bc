//! Loops over time: one round's code, as often as the kernel says.

use super::lower::{self, I64, Lowered};
use crate::Unsupported;
use tensorize_ir::index::Sym;
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
    // As much memory as the first round needs: where a later one needs more, there is no proof.
    let mut arrays = code.arrays;
    for array in &mut arrays {
        if let Len::Of(len) = &mut array.len {
            *len = in_first_round(len, counter);
        }
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
            arrays,
            body: vec![assign(Expr::int(I64, 0)), Stmt::Loop(rounds)],
            ..code
        },
        ..round
    })
}

/// The number of elements that the first round needs.
fn in_first_round(e: &Expr, counter: &Sym) -> Expr {
    let is_zero = |e: &Expr| matches!(e, Expr::Const(v) if v.as_int() == 0);
    match e {
        Expr::Var(v, _) if v == counter => Expr::int(I64, 0),
        Expr::Binary(op, a, b) => {
            let (a, b) = (in_first_round(a, counter), in_first_round(b, counter));
            match op {
                BinOp::Multiply if is_zero(&a) || is_zero(&b) => Expr::int(I64, 0),
                BinOp::Add if is_zero(&a) => b,
                BinOp::Add | BinOp::Subtract if is_zero(&b) => a,
                _ => Expr::binary(*op, a, b),
            }
        }
        Expr::Convert(ty, a) => Expr::convert(*ty, in_first_round(a, counter)),
        other => {
            let mut other = other.clone();
            for child in other.children_mut() {
                *child = in_first_round(child, counter);
            }
            other
        }
    }
}
