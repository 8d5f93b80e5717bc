//! What a round does to the places that a closed form speaks of.

use crate::canon;
use crate::chain::{self, Effect, Leaf, at_places_that_stay};
use crate::decode::is_among;
use crate::equal::same;
use crate::exec::{Executor, State, Stuck};
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp};

impl Executor<'_, '_> {
    /// Whether the writes `new` of round `k` turn `effects(k)` into `effects(k + 1)`.
    pub(super) fn is_one_more_round(
        &mut self,
        effects: &[Effect],
        new: &[Effect],
        k: &Sym,
    ) -> Result<bool, Stuck> {
        let this = Idx::sym(k.clone());
        match effects {
            // One loop over the rounds: round k is its body at k.
            [Effect::Loop { var, extent, body }] if *extent == this => {
                let body: Vec<Effect> = body.iter().map(|e| e.replace(var, &this)).collect();
                Ok(self.same_effects(&body, new))
            }
            // The same places in every round, each holding a fold over the rounds: the new writes hide the
            // old ones, and are one step further.
            _ => match a_round_later(effects, k) {
                Some(next) => Ok(self.same_effects(&next, new)),
                None => Ok(self
                    .a_round_anew(effects, k)
                    .is_some_and(|next| self.same_effects(&next, new))),
            },
        }
    }

    /// The effects of a round more, where every round writes the same places, whatever it finds there: what the rounds
    /// before have left is hidden. They hold what the last round wrote, under conditions that go on to hold: that there was
    /// one, that there are columns.
    fn a_round_anew(&mut self, effects: &[Effect], k: &Sym) -> Option<Vec<Effect>> {
        let next = &Idx::sym(k.clone()) + &Idx::constant(1);
        let leaves: Vec<Leaf> = effects.iter().flat_map(Effect::leaves).collect();
        // All that was written has to be written over.
        let goes_on = |cond: &ElemRef| {
            let mark = self.ctx.mark();
            self.ctx.assume(cond.clone());
            let holds = self.ctx.holds(&cond.replace(k, &next));
            self.ctx.forget(mark);
            holds
        };
        let hidden = at_places_that_stay(&leaves, k) && leaves.iter().map(|l| l.cond).all(goes_on);
        hidden.then(|| effects.iter().map(|e| e.replace(k, &next)).collect())
    }

    /// Whether, where a round writes under conditions, each place of a closed form of folds holds the next step's
    /// value: a new one, or the old one as that step says, too.
    pub(super) fn holds_a_round_later(
        &mut self,
        array: &Sym,
        entry: &State,
        end: &State,
        effects: &[Effect],
        new: &[Effect],
        (k, running): (&Sym, &BTreeMap<Sym, ElemRef>),
    ) -> bool {
        let Some(next) = a_round_later(effects, k) else {
            return false;
        };
        let (Some(entry), Some(found)) = (entry.arrays.get(array), end.arrays.get(array)) else {
            return false;
        };
        let mut claimed = entry.clone();
        claimed.effects.extend(next.iter().cloned());
        let leaves: Vec<Leaf> = next.iter().flat_map(Effect::leaves).collect();
        // Nothing else changes.
        (self.at_same_places(&next, new) || self.within_places(&leaves, new))
            && leaves.iter().all(|leaf| {
                let mark = self.ctx.mark();
                let (loops, with) = leaf.any_round(&mut self.ctx.fresh);
                for (v, n) in &loops {
                    self.ctx.assume_in_range(v, n);
                }
                let at = leaf.index.substitute(&with);
                let claimed = chain::read(&mut self.ctx, array, &claimed, &at);
                let found = chain::read(&mut self.ctx, array, found, &at);
                let shown = match (claimed, found) {
                    (Ok(claimed), Ok(found)) => {
                        let found = sizes_first(&found.replace_accs(running));
                        let claimed = sizes_first(&claimed);
                        same(&mut self.ctx, &found, &claimed, Tier::Exact)
                            && self.stays_in_types(&found, &claimed, None)
                    }
                    _ => false,
                };
                self.ctx.forget(mark);
                shown
            })
    }

    /// Whether all writes are at places of the closed form: by what is known of sizes and types, or by a guard that
    /// looks at the data before a call, as the index of a histogram's bin stands in memory.
    fn within_places(&mut self, places: &[Leaf], new: &[Effect]) -> bool {
        new.iter().flat_map(Effect::leaves).all(|leaf| {
            let mark = self.ctx.mark();
            for (v, n) in &leaf.loops {
                self.ctx.assume_in_range(v, n);
            }
            self.ctx.assume(leaf.cond.clone());
            let among = places.iter().filter_map(|place| {
                let (loops, with) = place.any_round(&mut self.ctx.fresh);
                let index = place.index.substitute(&with);
                is_among(&mut self.ctx, &loops, &index, leaf.index)
            });
            let among: Vec<ElemRef> = among.collect();
            let known = among.iter().any(|inside| self.ctx.holds(inside));
            self.ctx.forget(mark);
            known || among.iter().any(|inside| self.asked_of_data(&leaf, inside))
        })
    }

    /// Whether the writes are at the same places, whatever is written under which conditions.
    fn at_same_places(&mut self, a: &[Effect], b: &[Effect]) -> bool {
        self.paired(a, b, &mut |_, _, _| true)
    }

    /// The writes `claimed` by a closed form are those that were `found`, in the same order, at the same places.
    fn same_effects(&mut self, claimed: &[Effect], found: &[Effect]) -> bool {
        self.paired(claimed, found, &mut |this, (p, v), (q, w)| {
            same(&mut this.ctx, p, q, Tier::Exact)
                && same(&mut this.ctx, v, w, Tier::Exact)
                && this.stays_in_types(w, v, None)
        })
    }

    /// Whether the writes are at the same places one by one, in loops of as many rounds, and `alike` in their
    /// conditions and values.
    fn paired(
        &mut self,
        a: &[Effect],
        b: &[Effect],
        alike: &mut dyn FnMut(&mut Self, Written, Written) -> bool,
    ) -> bool {
        a.len() == b.len()
            && a.iter().zip(b).all(|pair| match pair {
                (
                    Effect::Point {
                        cond: p,
                        index: i,
                        value: v,
                    },
                    Effect::Point {
                        cond: q,
                        index: j,
                        value: w,
                    },
                ) => {
                    (canon::idx(&(i - j)).is_zero() || self.ctx.proves(CmpOp::Eq, i, j))
                        && alike(self, (p, v), (q, w))
                }
                (
                    Effect::Loop {
                        var: x,
                        extent: n,
                        body: p,
                    },
                    Effect::Loop {
                        var: y,
                        extent: m,
                        body: q,
                    },
                ) => {
                    let q = q.iter().map(|e| e.replace(y, &Idx::sym(x.clone())));
                    let q: Vec<Effect> = q.collect();
                    let mark = self.ctx.mark();
                    self.ctx.assume_in_range(x, n);
                    let same = canon::idx(&(n - m)).is_zero() && self.paired(p, &q, alike);
                    self.ctx.forget(mark);
                    same
                }
                _ => false,
            })
    }
}

/// A choice by a place and by data as two, one in the other: where the place is not this one, the data is another's.
fn sizes_first(e: &ElemRef) -> ElemRef {
    let Elem::Select(c, t, f) = &**e else {
        return e.clone();
    };
    let f = sizes_first(f);
    let Elem::Binary(BinOp::And, a, b) = &**c else {
        return Elem::select(c.clone(), t.clone(), f);
    };
    let then = sizes_first(&Elem::select(b.clone(), t.clone(), f.clone()));
    sizes_first(&Elem::select(a.clone(), then, f))
}

/// A condition, and the value that is written under it.
type Written<'a> = (&'a ElemRef, &'a ElemRef);

/// The effects of a round more, where they are at the same places in every round, each holding a fold over the rounds.
fn a_round_later(effects: &[Effect], k: &Sym) -> Option<Vec<Effect>> {
    let this = Idx::sym(k.clone());
    let mut next = Vec::new();
    for e in effects {
        let mut ok = true;
        next.push(e.map(&|i| i.clone(), &mut |v| match &**v {
            Elem::Const(_) => v.clone(),
            Elem::Fold(f) if f.extent == this => f.last_step(&this),
            _ => {
                ok = false;
                v.clone()
            }
        }));
        if !ok || !at_places_that_stay(&e.leaves(), k) {
            return None;
        }
    }
    Some(next)
}

/// What a closed form says of places that stay, and what of those that move on with the rounds, each with the writes of a
/// round. Nothing if all are of one kind.
pub(super) fn of_each_kind(effects: &[Effect], new: &[Effect], k: &Sym) -> Option<[Rounds; 2]> {
    let ([stay, move_on], [new_stay, new_move_on]) =
        (chain::parted(effects, k), chain::parted(new, k));
    let both = !stay.is_empty() && !move_on.is_empty();
    both.then_some([(stay, new_stay), (move_on, new_move_on)])
}

/// What rounds so far have written, and what one writes.
type Rounds = (Vec<Effect>, Vec<Effect>);
