//! What the number of rounds for which a loop goes on says of each of them.
//!
//! That number is T = min over k < N of (exit(k) ? k : N), as [`crate::search`] has it: no more than N, and no round
//! before it stops. Where generated code reads in rounds before T, or where T is N, so does the original.

use crate::canon;
use crate::context::Context;
use crate::search::facts;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp};

/// A loop that goes on until a round stops.
pub(crate) struct Going {
    /// T.
    pub rounds: Idx,
    /// N, the number of rounds if none stops.
    pub most: Idx,
    var: Sym,
    exit: ElemRef,
}

/// The numbers of such rounds in these conditions, each once.
pub(crate) fn found<'a>(conditions: impl IntoIterator<Item = &'a ElemRef>) -> Vec<Going> {
    let mut found: Vec<Going> = Vec::new();
    let mut look = |e: &ElemRef| {
        if let Elem::Fold(f) = &**e
            && let Some((most, exit)) = taken_apart(f)
        {
            let rounds = canon::idx(&Idx::value(e.clone()));
            if !found.iter().any(|known| known.rounds == rounds) {
                found.push(Going {
                    rounds,
                    most,
                    var: f.var.clone(),
                    exit,
                });
            }
        }
    };
    let conditions = conditions.into_iter();
    conditions.for_each(|c| outside_of_folds(c, &mut look));
    found
}

/// N, if this is such a number: T is not more than that, and not negative if N is not, as the solver is told of each.
pub(crate) fn most_rounds(e: &Elem) -> Option<Idx> {
    match e {
        Elem::Fold(f) => Some(taken_apart(f)?.0),
        _ => None,
    }
}

/// Calls `f` for all parts that stand in no fold, and so mention nothing that one binds, and for the folds themselves.
fn outside_of_folds(e: &ElemRef, f: &mut dyn FnMut(&ElemRef)) {
    f(e);
    if !matches!(&**e, Elem::Fold(_)) {
        for i in e.indices() {
            i.for_each_value(&mut |e| outside_of_folds(e, f));
        }
        e.children()
            .into_iter()
            .for_each(|e| outside_of_folds(e, f));
    }
}

/// N, and the condition on which a round stops; nothing if the fold is no such number.
fn taken_apart(f: &Fold) -> Option<(Idx, ElemRef)> {
    let (op, here) = f.as_reduction()?;
    let number = |e: &ElemRef| match &**e {
        Elem::OfIdx(_, i) => Some(canon::idx(i)),
        Elem::Const(v) if v.ty.is_int() => Some(Idx::constant(v.as_int())),
        _ => None,
    };
    let most = canon::idx(&f.extent);
    let Elem::Select(c, t, otherwise) = &*here else {
        return None;
    };
    if op != BinOp::Minimum || number(&f.init)? != most {
        return None;
    }
    let (t, otherwise, at) = (number(t)?, number(otherwise)?, Idx::sym(f.var.clone()));
    match (t == at && otherwise == most, otherwise == at && t == most) {
        (true, _) => Some((most, c.clone())),
        (_, true) => Some((most, Elem::not(c.clone()))),
        _ => None,
    }
}

impl Going {
    /// From here on, what it says of the rounds of these counters, which are in their ranges.
    pub fn assume(&self, ctx: &mut Context, counters: &[&Sym]) {
        for counter in counters {
            let at = Idx::sym((*counter).clone());
            if ctx.is_non_negative(&at) && ctx.proves(CmpOp::Lt, &at, &self.rounds) {
                self.assume_of(ctx, &at, false);
            }
        }
    }

    /// From here on, this round stops, or does not.
    fn assume_of(&self, ctx: &mut Context, round: &Idx, stops: bool) {
        let mut said = Vec::new();
        facts(&self.exit.replace(&self.var, round), stops, &mut said);
        said.into_iter().for_each(|fact| ctx.assume(fact));
    }

    /// Whether something can be shown where a round stops, and where none does.
    pub fn in_both_cases(
        &self,
        ctx: &mut Context,
        counters: &[&Sym],
        shown: &mut dyn FnMut(&mut Context) -> bool,
    ) -> bool {
        [true, false].into_iter().all(|stops| {
            let mark = ctx.mark();
            let op = if stops { CmpOp::Lt } else { CmpOp::Ge };
            let (rounds, most) = (self.rounds.clone(), self.most.clone());
            ctx.assume(Elem::index_compare(op, rounds, most));
            match stops {
                true => {
                    // With no rounds to run, none stops: T is N.
                    ctx.assume_non_negative(&self.rounds);
                    self.assume_of(ctx, &self.rounds, true);
                }
                false => self.assume(ctx, counters),
            }
            let shown = shown(ctx);
            ctx.forget(mark);
            shown
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tensorize_ir::element::Env;
    use tensorize_ir::scalar::{Scalar, ScalarType};

    /// Three numbers from a mask: 0 where a bit is not set.
    struct Bits(i128);

    impl Env for Bits {
        fn sym(&self, _: &Sym) -> Option<i128> {
            None
        }
        fn param(&self, _: &Sym) -> Option<Scalar> {
            None
        }
        fn read(&mut self, _: &Sym, at: i128) -> Option<Scalar> {
            Some(Scalar::int(ScalarType::I32, self.0 >> at & 1))
        }
    }

    const N: i128 = 3;

    fn rounds(op: BinOp, init: i128, t: Idx, otherwise: Idx, extent: i128) -> ElemRef {
        let ty = ScalarType::I64;
        let number = |i| Elem::of_idx(ty, i);
        let x = Elem::read("x", ScalarType::I32, Idx::sym("k"));
        let zero = Elem::constant(Scalar::int(ScalarType::I32, 0));
        let here = Elem::select(
            Elem::compare(CmpOp::Eq, x, zero),
            number(t),
            number(otherwise),
        );
        let acc: ElemRef = Arc::new(Elem::Acc("acc".into(), ty));
        let step = Elem::binary(op, acc, here);
        let init = number(Idx::constant(init));
        let fold = Fold::new("acc".into(), "k".into(), extent.into(), init, step);
        Arc::new(Elem::Fold(Arc::new(fold)))
    }

    #[test]
    fn what_is_said_of_rounds_is_true() {
        let (k, n) = (Idx::sym("k"), Idx::constant(N));
        for (t, otherwise) in [(k.clone(), n.clone()), (n.clone(), k.clone())] {
            let e = rounds(BinOp::Minimum, N, t, otherwise, N);
            for e in [canon::elem(&e), e] {
                let Elem::Fold(f) = &*e else {
                    panic!("{e} is no fold");
                };
                let (most, exit) = taken_apart(f).unwrap();
                assert_eq!(most, n);
                for bits in 0..1 << N {
                    let at = e.eval(&mut Bits(bits)).unwrap().as_int();
                    let stops = |k: i128| {
                        let exit = exit.replace(&f.var, &Idx::constant(k));
                        exit.eval(&mut Bits(bits)).unwrap().is_true()
                    };
                    assert!((0..=N).contains(&at));
                    assert!((0..at).all(|k| !stops(k)), "{bits:b}");
                    assert!(at == N || stops(at), "{bits:b}");
                }
            }
        }
    }

    #[test]
    fn other_folds_say_nothing() {
        let (k, n) = (Idx::sym("k"), Idx::constant(N));
        let next = &k + &Idx::constant(1);
        let min = BinOp::Minimum;
        for e in [
            rounds(BinOp::Maximum, N, k.clone(), n.clone(), N),
            rounds(min, N - 1, k.clone(), n.clone(), N),
            rounds(min, N, next, n.clone(), N),
            rounds(min, N, k.clone(), Idx::constant(N + 1), N),
            rounds(min, N, k, n, N + 1),
        ] {
            let Elem::Fold(f) = &*e else {
                panic!("{e} is no fold");
            };
            assert!(taken_apart(f).is_none(), "{e}");
            assert!(most_rounds(&e).is_none());
        }
    }
}
