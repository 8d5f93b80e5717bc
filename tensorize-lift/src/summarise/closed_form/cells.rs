//! Numbers in memory that others look at: the state of a filter, behind a pointer (`f->z = x[i] + a * f->z; y[i] = f->z`).
//! They are accumulators beside those in variables.

use super::{Guess, Lane};
use std::collections::BTreeMap;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_prove::canon;
use tensorize_prove::chain::{self, Effect};
use tensorize_prove::exec::{State, Stuck};

/// A place that stays, and the accumulator that it is.
pub(super) struct Cell {
    place: Idx,
    acc: Sym,
    /// What a round leaves there, if that looks at no accumulator: the element before (`f->x1 = x[i]`).
    anew: Option<ElemRef>,
}

/// By the arrays that they are in.
pub(super) type Cells = BTreeMap<Sym, Vec<Cell>>;

/// Every value in a state after a round.
fn values(end: &State, mut f: impl FnMut(Option<(&Sym, &Idx)>, &ElemRef)) {
    end.scalars.values().for_each(|v| f(None, v));
    for (array, contents) in &end.arrays {
        for leaf in contents.effects.iter().flat_map(Effect::leaves) {
            leaf.index.for_each_value(&mut |v| f(None, v));
            // What a place holds may depend on what it has held.
            f(Some((array, leaf.index)), leaf.cond);
            f(Some((array, leaf.index)), leaf.value);
        }
    }
}

fn reads(e: &ElemRef, token: &Sym, place: &Idx) -> bool {
    let mut found = false;
    e.visit(&mut |x| {
        found |= matches!(&**x, Elem::Read { array, index, .. } if array == token && canon::idx(index) == *place);
        for index in x.indices() {
            index.for_each_value(&mut |v| found |= reads(v, token, place));
        }
    });
    found
}

impl Guess<'_, '_, '_> {
    /// Finds them, makes accumulators of them, and names these in `end` where it reads them.
    pub(super) fn cells(&mut self, end: &mut State) -> Result<Cells, Stuck> {
        let mut cells = Cells::new();
        for (array, token) in self.tokens {
            let Some(places) = self.staying(array, end) else {
                continue;
            };
            let mut looked_at = false;
            values(end, |of, e| {
                looked_at |= places.iter().any(|p| {
                    let own = of.is_some_and(|(a, at)| a == array && canon::idx(at) == *p);
                    !own && reads(e, token, p)
                });
            });
            if looked_at {
                let named = places.into_iter().map(|place| Cell {
                    place,
                    acc: self.exec.ctx.fresh.name(array),
                    anew: None,
                });
                cells.insert(array.clone(), named.collect());
            }
        }
        let mut lanes = Vec::new();
        for (array, places) in &cells {
            for cell in places {
                let (Some(before), Some(after)) =
                    (self.entry.arrays.get(array), end.arrays.get(array))
                else {
                    return self.stuck(format!("there is no array {array}"));
                };
                let ctx = &mut self.exec.ctx;
                let read = chain::read(ctx, array, before, &cell.place)
                    .and_then(|init| Ok((init, chain::read(ctx, array, after, &cell.place)?)));
                match read {
                    Ok((init, step)) => lanes.push(Lane {
                        acc: cell.acc.clone(),
                        init,
                        step: self.in_lanes(&cells, &step),
                    }),
                    Err(why) => return self.stuck(why.0),
                }
            }
        }
        for v in end.scalars.values_mut() {
            *v = self.in_lanes(&cells, v);
        }
        for contents in end.arrays.values_mut() {
            for e in &mut contents.effects {
                let on_idx = |i: &Idx| i.map_values(&mut |v| self.in_lanes(&cells, v));
                *e = e.map(&on_idx, &mut |v| self.in_lanes(&cells, v));
            }
        }
        for lane in &mut lanes {
            lane.step = self.in_round(|g| g.resolve(&lane.step))?;
        }
        self.set_anew(&mut lanes, &mut cells, end);
        self.lanes.extend(lanes);
        Ok(cells)
    }

    /// Those that each round sets to what looks at no accumulator are none: the next round finds what the last one has left,
    /// and the first one what was there.
    fn set_anew(&self, lanes: &mut Vec<Lane>, cells: &mut Cells, end: &mut State) {
        let by_itself = |lane: &Lane| {
            let mut carries = false;
            let mut look = |x: &ElemRef| carries |= matches!(&**x, Elem::Acc(..));
            lane.step.visit(&mut look);
            !carries
        };
        while let Some(at) = lanes.iter().position(by_itself) {
            let lane = lanes.remove(at);
            let found = self.handed_on(&lane.init, &lane.step);
            let found = BTreeMap::from([(lane.acc.clone(), found)]);
            for lane in &mut *lanes {
                lane.step = lane.step.replace_accs(&found);
            }
            for v in end.scalars.values_mut() {
                *v = v.replace_accs(&found);
            }
            for contents in end.arrays.values_mut() {
                for e in &mut contents.effects {
                    *e = e.replace_accs(&found);
                }
            }
            for cell in cells.values_mut().flatten() {
                if cell.acc == lane.acc {
                    cell.anew = Some(lane.step.clone());
                }
            }
        }
    }

    /// The places of an array of which each round writes the same ones.
    fn staying(&mut self, array: &Sym, end: &State) -> Option<Vec<Idx>> {
        let effects = &end.arrays.get(array)?.effects;
        let mut places: Vec<Idx> = Vec::new();
        for e in effects {
            let Effect::Point { index, .. } = e else {
                return None;
            };
            let place = canon::idx(index);
            if place.mentions(self.k) || !self.exec.ctx.is_over_params(&place) {
                return None;
            }
            if !places.contains(&place) {
                places.push(place);
            }
        }
        (!places.is_empty()).then_some(places)
    }

    /// The accumulators' names for what is read of them.
    fn in_lanes(&self, cells: &Cells, e: &ElemRef) -> ElemRef {
        e.map(&mut |x| match &**x {
            Elem::Read { array, ty, index } => {
                let (name, _) = self.tokens.iter().find(|(_, token)| *token == array)?;
                let at = canon::idx(index);
                let cell = cells.get(name)?.iter().find(|c| c.place == at)?;
                Some(Arc::new(Elem::Acc(cell.acc.clone(), *ty)))
            }
            _ => None,
        })
    }

    /// What they hold after the first `k` rounds.
    pub(super) fn held(&self, cells: &[Cell]) -> Vec<Effect> {
        let held = cells.iter().filter_map(|cell| {
            if let Some(anew) = &cell.anew {
                return Some(self.left_by_the_last(chain::truth(true), &cell.place, anew));
            }
            let i = self.lanes.iter().position(|l| l.acc == cell.acc)?;
            let rounds = Idx::sym(self.k.clone());
            let fold = Fold::of_lane(&self.lanes, i, self.k.clone(), rounds);
            Some(Effect::Point {
                cond: chain::truth(true),
                index: cell.place.clone(),
                value: Arc::new(Elem::Fold(Arc::new(fold.without_idle_lanes()))),
            })
        });
        held.collect()
    }
}
