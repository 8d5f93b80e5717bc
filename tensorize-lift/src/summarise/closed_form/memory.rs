//! Accumulators that live in memory: at a place that stays, or at one that moves with the round.

use super::Guess;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Lane};
use tensorize_ir::index::{Idx, Sym};
use tensorize_prove::canon;
use tensorize_prove::chain::{self, Effect};
use tensorize_prove::exec::Stuck;

impl Guess<'_, '_, '_> {
    /// A write that reads what the rounds just before it have written (`y[i] = x[i] - a * y[i - 1]`): what it
    /// leaves is a fold of the rounds so far.
    pub(super) fn recurrence(&mut self, array: &Sym, e: &Effect) -> Result<Effect, Stuck> {
        /// How many rounds back.
        const FAR: i128 = 4;
        match e {
            Effect::Loop { var, extent, body } => Ok(Effect::Loop {
                var: var.clone(),
                extent: extent.clone(),
                body: body
                    .iter()
                    .map(|b| self.recurrence(array, b))
                    .collect::<Result<_, _>>()?,
            }),
            Effect::Point { cond, index, value } => {
                let Some(own) = self.tokens.get(array) else {
                    return Ok(e.clone());
                };
                let this = Idx::sym(self.k.clone());
                let back =
                    |c: i128| canon::idx(&index.replace(self.k, &(&this - &Idx::constant(c))));
                let places: Vec<Idx> = (1..=FAR).map(back).collect();
                let mut deepest = 0;
                value.visit(&mut |x| {
                    if let Elem::Read { array, index, .. } = &**x
                        && array == own
                        && let Some(c) = places.iter().position(|p| *p == canon::idx(index))
                    {
                        deepest = deepest.max(c + 1);
                    }
                });
                let certain = matches!(&**cond, Elem::Const(v) if v.is_true());
                let Some(before) = self
                    .entry
                    .arrays
                    .get(array)
                    .filter(|_| deepest > 0 && certain)
                else {
                    return Ok(e.clone());
                };
                let accs: Vec<Sym> = (0..deepest)
                    .map(|_| self.exec.ctx.fresh.name(array))
                    .collect();
                let acc =
                    |c: usize| -> ElemRef { Arc::new(Elem::Acc(accs[c].clone(), value.ty())) };
                let step = value.map(&mut |x| match &**x {
                    Elem::Read { array, index, .. } if array == own => {
                        let c = places.iter().position(|p| *p == canon::idx(index))?;
                        Some(acc(c))
                    }
                    _ => None,
                });
                let mut lanes = Vec::new();
                for (c, place) in places[..deepest].iter().enumerate() {
                    let first = place.replace(self.k, &Idx::default());
                    let init =
                        chain::read(&mut self.exec.ctx, array, before, &first).map_err(|why| {
                            Stuck {
                                what: why.0,
                                line: self.l.line,
                            }
                        })?;
                    lanes.push(Lane {
                        acc: accs[c].clone(),
                        init,
                        step: if c == 0 {
                            self.resolve(&step)?
                        } else {
                            acc(c - 1)
                        },
                    });
                }
                lanes.extend(self.lanes.iter().cloned());
                let first = lanes.remove(0);
                let rounds = &this + &Idx::constant(1);
                let mut fold = Fold::new(first.acc, self.k.clone(), rounds, first.init, first.step);
                fold.others = lanes;
                Ok(Effect::Point {
                    cond: cond.clone(),
                    index: index.clone(),
                    value: Arc::new(Elem::Fold(Arc::new(fold.without_idle_lanes()))),
                })
            }
        }
    }

    /// A write whose place does not move: what is there is a fold over the rounds.
    pub(super) fn accumulator(&mut self, array: &Sym, e: &Effect) -> Result<Effect, Stuck> {
        match e {
            Effect::Loop { var, extent, body } => {
                let mark = self.exec.ctx.mark();
                self.exec.ctx.assume_in_range(var, extent);
                let body = body
                    .iter()
                    .map(|b| self.accumulator(array, b))
                    .collect::<Result<Vec<_>, _>>();
                self.exec.ctx.forget(mark);
                Ok(Effect::Loop {
                    var: var.clone(),
                    extent: extent.clone(),
                    body: body?,
                })
            }
            Effect::Point { cond, index, value } => {
                let (acc, round) = (
                    self.exec.ctx.fresh.name("acc"),
                    self.exec.ctx.fresh.name(self.k),
                );
                let old: ElemRef = Arc::new(Elem::Acc(acc.clone(), value.ty()));
                let here = self.tokens.get(array).cloned();
                let place = index.clone();
                let step = Elem::select(cond.clone(), value.clone(), old.clone());
                let step = step.map(&mut |x| match &**x {
                    Elem::Read { array, index, .. }
                        if Some(array) == here.as_ref() && *index == place =>
                    {
                        Some(old.clone())
                    }
                    _ => None,
                });
                let resolved = self.resolve(&step)?;
                let step = resolved.replace(self.k, &Idx::sym(round.clone()));
                let Some(before) = self.entry.arrays.get(array) else {
                    return self.stuck(format!("there is no array {array}"));
                };
                // From the first round on it holds what the last one has left, if that does not look at what was there,
                // and each round writes or none does.
                let (writes, last) = match &*resolved {
                    Elem::Select(c, last, other) if *other == old && !c.mentions(self.k) => {
                        (c.clone(), last)
                    }
                    _ => (chain::truth(true), &resolved),
                };
                if !last.mentions(&acc) && !writes.mentions(&acc) {
                    return Ok(self.left_by_the_last(writes, index, last));
                }
                let init =
                    chain::read(&mut self.exec.ctx, array, before, index).map_err(|why| Stuck {
                        what: why.0,
                        line: self.l.line,
                    })?;
                let at = Idx::sym(round.clone());
                let mut fold = Fold::new(acc, round, Idx::sym(self.k.clone()), init, step);
                // What the scalars accumulate is accumulated beside it.
                fold.others = self.lanes.clone();
                for lane in &mut fold.others {
                    lane.step = lane.step.replace(self.k, &at);
                }
                Ok(Effect::Point {
                    cond: chain::truth(true),
                    index: index.clone(),
                    value: Arc::new(Elem::Fold(Arc::new(fold.without_idle_lanes()))),
                })
            }
        }
    }
}
