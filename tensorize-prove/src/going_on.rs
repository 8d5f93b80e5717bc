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

/// The numbers of such rounds in these conditions and extents, each once.
pub(crate) fn found<'a>(
    conditions: impl Iterator<Item = &'a ElemRef>,
    extents: impl Iterator<Item = &'a Idx>,
) -> Vec<Going> {
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
    conditions.for_each(|c| outside_of_folds(c, &mut look));
    extents.for_each(|n| n.for_each_value(&mut |e| outside_of_folds(e, &mut look)));
    found
}

/// N, if this is such a number: T is not more than that, and not negative if N is not.
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
        let at_most = Elem::index_compare(CmpOp::Ge, self.most.clone(), self.rounds.clone());
        ctx.assume(at_most);
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
