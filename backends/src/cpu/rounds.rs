//! Loops over time: one round's code, as often as the kernel says.

use super::lower::{I64, Lowered};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::{self, Expr, LocalArray, Loop, LoopMode, Stmt, Visited, visit};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::tensir::{Rounds, State};

/// The most that a number of elements is in any round, if it grows or shrinks from each to the next, or is the sum of
/// what one part of the rounds gets and the other one leaves, by the looks of it; of others it is that of the first round. What is
/// there in some rounds only, as their number says, is all there in one of them. The proof says whether it is enough.
pub(super) fn most(len: &Idx, rounds: &Rounds) -> Idx {
    let (len, _) = len.without_indicators();
    let len = with_one_quotient(&len, &rounds.counter);
    let last = &rounds.trip - &Idx::constant(1);
    let at = match grows(&len, &rounds.counter) {
        Some(true) => last,
        Some(false) | None => Idx::default(),
    };
    len.replace(&rounds.counter, &at)
}

/// Whether a number grows with a counter, or shrinks, where sizes are not negative; one that stays does either.
fn grows(n: &Idx, counter: &Sym) -> Option<bool> {
    let mut found = None;
    for (monomial, c) in n.terms() {
        for atom in monomial.iter().filter(|a| a.mentions(counter)) {
            let with_it = match atom {
                Atom::Sym(_) => true,
                Atom::FloorDiv(a, by) if by.as_constant().is_some_and(|by| by > 0) => {
                    grows(a, counter)?
                }
                Atom::Max(a, b) | Atom::Min(a, b) => {
                    let of = [a, b].into_iter().filter(|side| side.mentions(counter));
                    let of: Option<Vec<bool>> = of.map(|side| grows(side, counter)).collect();
                    let of = of?;
                    *of.first().filter(|first| of.iter().all(|o| o == *first))?
                }
                _ => return None,
            };
            let with_it = with_it == (c > 0);
            if found.is_some_and(|before| before != with_it) {
                return None;
            }
            found = Some(with_it);
        }
    }
    found.or(Some(false))
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

#[cfg(test)]
mod tests {
    use super::most;
    use tensorize_ir::index::Idx;
    use tensorize_ir::tensir::Rounds;

    #[test]
    fn the_most_is_that_of_the_last_round_or_the_first() {
        let of = Idx::constant;
        let (n, round) = (&Idx::sym("n"), &Idx::sym("round"));
        let rounds = Rounds {
            counter: "round".into(),
            trip: n.clone(),
            inner: None,
        };
        let last = n - &of(1);
        let half = |i: &Idx| i.floor_div(&of(2));
        let left = &(n - round);
        for (len, expected) in [
            (round.clone(), last.clone()),
            (left.clone(), n.clone()),
            (half(round), half(&last)),
            (half(left), half(n)),
            (&half(round) + round, &half(&last) + &last),
            (&of(7) - &half(left), &of(7) - &half(&of(1))),
            (half(round).maximum(&of(4)), half(&last).maximum(&of(4))),
            (left.minimum(n), n.clone()),
            // Nobody knows.
            (half(round).minimum(left), of(0).minimum(n)),
            (round.modulo(&of(3)), of(0)),
            (n.clone(), n.clone()),
        ] {
            assert_eq!(most(&len, &rounds), expected, "{len}");
        }
    }
}
