//! Loops over time: one round's code, as often as the kernel says.

use super::lower::{I64, Lowered};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::{self, Expr, LocalArray, Loop, LoopMode, Stmt, Visited, visit};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::tensir::{Rounds, State};

/// The most that a number of elements is in any round, if it grows or shrinks from each to the next by as much, or is the sum of
/// what one part of the rounds gets and the other one leaves, by the looks of it; of others it is that of the first round. What is
/// there in some rounds only, as their number says, is all there in one of them. The proof says whether it is enough.
pub(super) fn most(len: &Idx, rounds: &Rounds) -> Idx {
    let (len, _) = len.without_indicators();
    let len = with_one_quotient(&len, &rounds.counter);
    let step = len.linear_in(&rounds.counter);
    let grows = (step.as_ref()).map(|(step, _)| step.terms().all(|(_, c)| c > 0));
    let last = &rounds.trip - &Idx::constant(1);
    let [first, last] = [Idx::default(), last].map(|k| len.replace(&rounds.counter, &k));
    match grows {
        Some(true) => last,
        Some(false) => first,
        None => first,
    }
}

/// No less than the number: `⌊(r + 1) / 2⌋ + ⌊(n - r) / 2⌋`, as of the fields of one colour in the rows of a chess board, is no more
/// than `⌊(n + 1) / 2⌋`.
fn with_one_quotient(len: &Idx, counter: &Sym) -> Idx {
    // Where there are none, none are asked for.
    let whole = match len.as_atom() {
        Some(Atom::Max(a, b)) if a.is_zero() => b,
        Some(Atom::Max(a, b)) if b.is_zero() => a,
        _ => len,
    };
    let mut quotients = Vec::new();
    for (monomial, c) in whole.terms() {
        if let ([atom @ Atom::FloorDiv(a, by)], 1) = (monomial, c)
            && by.as_constant().is_some_and(|by| by > 0)
            && a.mentions(counter)
        {
            quotients.push((Idx::atom(atom.clone()), (**a).clone(), (**by).clone()));
        }
    }
    let [(first, a, by), (second, b, other)] = &quotients[..] else {
        return len.clone();
    };
    if by != other {
        return len.clone();
    }
    let rest = &(whole - first) - second;
    &rest + &(a + b).floor_div(by)
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

/// The code of which the last parameters are what lasts over all rounds, with that as arrays of its own.
pub(super) fn with_state(all: Lowered, state: &[State], own: Vec<LocalArray>) -> Lowered {
    let mut function = all.function;
    let params = function.params.len().saturating_sub(state.len());
    function.params.truncate(params);
    function.arrays.extend(own);
    if let Some(s) = state.iter().find(|s| s.returned) {
        function.ret = Some(s.elem);
        let last = Expr::load(s.name.clone(), s.elem, Expr::int(I64, 0));
        function.body.push(Stmt::Return(Some(last)));
    }
    Lowered { function, ..all }
}
