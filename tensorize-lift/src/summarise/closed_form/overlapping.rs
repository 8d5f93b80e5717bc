//! Rounds that add to places which other rounds add to: `y[i + j] += x[i] * h[j]`.
//!
//! What stands at a place is a fold over the rounds, in which those change nothing that don't reach it: of round k, the
//! place q is the one that j = q - k names, if that is a round of the inner loop.

use super::{Guess, mentions_array};
use tensorize_ir::element::Elem;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::CmpOp;
use tensorize_prove::chain::{self, Effect, Leaf};
use tensorize_prove::decode::divide;
use tensorize_prove::exec::Places;

/// What the rounds write: row k begins so far right of row 0.
struct Rows {
    /// By how many places a row begins right of the one before.
    step: i128,
    /// Which of its own loops goes along the row; none if a row is one place wide.
    along: Option<usize>,
    /// What is written where the first row begins: each write's distance from there.
    offsets: Vec<i128>,
    /// All places of all rows; the first loop of which none is a write's own goes over them.
    places: Places,
    /// The place that has number 0.
    first: Idx,
}

impl Guess<'_, '_, '_> {
    /// The fold at each place, if rounds add to places of which others do.
    pub(super) fn overlapping(&mut self, array: &Sym, new: &[Effect]) -> Option<Vec<Effect>> {
        let leaves: Vec<Leaf> = new.iter().flat_map(Effect::leaves).collect();
        let rows = self.rows(array, &leaves)?;
        let mut number = 0;
        let k = Idx::sym(self.k.clone());
        let tell = |_: &mut Self, leaf: &Leaf, dims: &[(Sym, Idx)], _: &Idx| {
            let offset = rows.offsets[number];
            number += 1;
            let at = rows.along.unwrap_or(0);
            let place = &Idx::sym(dims.get(at)?.0.clone()) + &rows.first;
            let own = &place - &(&(&Idx::constant(rows.step) * &k) + &Idx::constant(offset));
            let mut others = dims.iter().map(|(v, _)| Idx::sym(v.clone()));
            let mut with: Vec<(Sym, Idx)> = Vec::new();
            let zero = Idx::default();
            let Some(along) = rows.along else {
                others.next();
                with.extend(leaf.loops.iter().map(|(v, _)| v.clone()).zip(others));
                return Some((Elem::index_compare(CmpOp::Eq, own, zero), with));
            };
            with.extend(leaf.loops.iter().map(|(v, _)| v.clone()).zip(others));
            with.get_mut(along)?.1 = own.clone();
            let length = leaf.loops.get(along)?.1.clone();
            let begun = Elem::index_compare(CmpOp::Ge, own.clone(), zero);
            let here = chain::and(begun, Elem::index_compare(CmpOp::Lt, own, length));
            Some((here, with))
        };
        // What looks at other places, too, may be something else.
        let effect = self.at_each_of(array, &leaves, &rows.places, tell);
        effect.ok().flatten().map(|e| vec![e])
    }

    /// The rows that the rounds write, if these overlap, and what is written depends on what stands there.
    fn rows(&mut self, array: &Sym, leaves: &[Leaf]) -> Option<Rows> {
        let own = self.tokens.get(array)?;
        let (first, others) = leaves.split_first()?;
        let looks = |leaf: &Leaf| {
            [leaf.cond, leaf.value]
                .iter()
                .any(|e| mentions_array(e, own))
        };
        if !leaves.iter().any(looks) {
            return None;
        }
        let counts = |i: &Idx| i.mentions(self.k) || first.loops.iter().any(|(v, _)| i.mentions(v));
        if first.loops.iter().any(|(_, n)| counts(n)) || self.trip.has_values() {
            return None;
        }
        let (ahead, begin) = first.index.linear_in(self.k)?;
        if ahead.is_zero() || counts(&ahead) {
            return None;
        }
        // Which loop goes along a row, and how far the next place is.
        let mut ways: Vec<(Option<usize>, Idx)> = Vec::new();
        for (i, (v, _)) in first.loops.iter().enumerate() {
            let (slope, _) = first.index.linear_in(v)?;
            ways.push((Some(i), slope));
        }
        if !others.is_empty() {
            let unit = match ahead.as_constant().is_some() && first.loops.is_empty() {
                true => Idx::constant(1),
                false => ahead.clone(),
            };
            ways.push((None, unit));
        }
        ways.into_iter().find_map(|(along, unit)| {
            if unit.is_zero() || counts(&unit) {
                return None;
            }
            let places_in = |distance: &Idx| {
                let (places, rest) = divide(distance, &unit);
                rest.is_zero().then_some(places)?.as_constant()
            };
            let step = places_in(&ahead).filter(|s| *s != 0)?;
            let mut offsets = vec![0];
            for leaf in others {
                if leaf.loops.len() != first.loops.len() {
                    return None;
                }
                let names = || leaf.loops.iter().zip(&first.loops);
                let renamed = |s: &Sym| {
                    let (_, (v, _)) = names().find(|((v, _), _)| v == s)?;
                    Some(Idx::sym(v.clone()))
                };
                if names().any(|((_, n), (_, m))| n != m) {
                    return None;
                }
                offsets.push(places_in(
                    &(&leaf.index.substitute(&renamed) - first.index),
                )?);
            }
            let (least, most) = (*offsets.iter().min()?, *offsets.iter().max()?);
            let one = Idx::constant(1);
            let length = along.map_or(&one, |i| &first.loops[i].1);
            let width = length + &Idx::constant(most - least);
            let apart = Idx::constant(step.abs());
            if self.exec.ctx.proves(CmpOp::Ge, &apart, &width) {
                return None;
            }
            let last = self.trip - &one;
            let left_of_first = match step < 0 {
                true => &Idx::constant(step) * &last,
                false => Idx::default(),
            };
            let from = &left_of_first + &Idx::constant(least);
            let extent = &(&apart * &last) + &width;
            let mut loops = first.loops.clone();
            let place = match along {
                Some(i) => {
                    loops[i].1 = extent;
                    let v = &first.loops[i].0;
                    begin.replace(v, &(&Idx::sym(v.clone()) + &from))
                }
                None => {
                    let name = self.exec.ctx.fresh.name("place");
                    loops.insert(0, (name.clone(), extent));
                    &begin + &(&unit * &(&Idx::sym(name) + &from))
                }
            };
            Some(Rows {
                step,
                along,
                offsets,
                places: (loops, place),
                first: from,
            })
        })
    }
}
