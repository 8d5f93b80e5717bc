//! What a kernel leaves in an array, as tensors.

use super::Refusal;
use super::sums::summed_up;
use crate::raise::Closed;
use std::cmp::Reverse;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::{Rounds, View, at, dim};
use tensorize_prove::bound::{bound, of_rounds};
use tensorize_prove::canon;
use tensorize_prove::chain::{self, Contents, Effect, Leaf, Retold};
use tensorize_prove::context::Context;
use tensorize_prove::decode::{self, size_rank};
use tensorize_prove::places::{begins_at_a_size, decided, is_zero_where};
use tensorize_prove::ring;

/// The final contents of an array as tensors: one for each group of places that is written. Later writes
/// come first, so that what they hide is left out.
pub(super) fn stores(
    ctx: &mut Context,
    array: &Sym,
    contents: &Contents,
) -> Result<Vec<Closed>, Refusal> {
    let refuse = |code, message| {
        Err(Refusal {
            code,
            message,
            line: 0,
        })
    };
    let contents = &one_or_the_other(contents);
    let mut found: Vec<Left> = Vec::new();
    for effect in contents.effects.iter().rev() {
        for leaf in effect.leaves().into_iter().rev() {
            let in_one_range = retold(&leaf, |l| Some(chain::tiles_merged(ctx, l)?.write));
            let leaf = in_one_range.as_ref().map_or(leaf, Retold::leaf);
            let by_places = retold(&leaf, |l| Some(ring::straight(ctx, l)?.write));
            let leaf = by_places.as_ref().map_or(leaf, Retold::leaf);
            let begins_later = retold(&leaf, |l| from_a_round_on(ctx, l));
            let leaf = begins_later.as_ref().map_or(leaf, Retold::leaf);
            let (leaf, at_most_one) = if_taken(ctx, leaf);
            // Whole rows, if all of them is written, else from the first column on that is.
            let mut boxes: Vec<Rows> = [true, false]
                .into_iter()
                .filter_map(|whole| {
                    let rows = boxed(ctx, &leaf, whole)?;
                    Some(by_rows(ctx, rows, &found))
                })
                .collect();
            boxes.dedup();
            let Some(last) = boxes.pop() else {
                return refuse(
                    "TZ0303",
                    format!(
                        "the rows of {array} that it writes differ in length in a way that no box holds"
                    ),
                );
            };
            let mut whole = boxes.iter().filter_map(|rows| {
                let left = in_box(ctx, array, contents, rows, false, &found).ok()?;
                let kept = |(_, view, value): &Left| keeps_some(value, contents, &view.index);
                (!left.as_ref().is_some_and(kept)).then_some(left)
            });
            let left = match whole.next() {
                Some(left) => left,
                None => in_box(ctx, array, contents, &last, at_most_one, &found)?,
            };
            // What is written again in a part is told of all.
            if let Some(left) = &left {
                found.retain(|part| !covers(ctx, left, part));
            }
            found.extend(left);
        }
    }
    found.reverse();
    let store = |(shape, view, value)| Closed::Store { shape, view, value };
    Ok(found.into_iter().map(store).collect())
}

/// Writes one after the other of which a condition says which one is done, to places that the data says, as one: the
/// condition says where, and what.
fn one_or_the_other(contents: &Contents) -> Contents {
    let mut effects: Vec<Effect> = Vec::new();
    for effect in &contents.effects {
        let both = effects.last().and_then(|before| chosen(before, effect));
        if both.is_some() {
            effects.pop();
        }
        effects.push(both.unwrap_or_else(|| effect.clone()));
    }
    Contents {
        effects,
        ..contents.clone()
    }
}

fn chosen(a: &Effect, b: &Effect) -> Option<Effect> {
    let point = |e: &Effect| match e {
        Effect::Point { cond, index, value } => Some((cond.clone(), index.clone(), value.clone())),
        Effect::Loop { .. } => None,
    };
    let (a, b) = (point(a)?, point(b)?);
    let exclude = canon::elem(&Elem::not(a.0.clone())) == canon::elem(&b.0);
    if !exclude || a.1 == b.1 || !(a.1.has_values() || b.1.has_values()) {
        return None;
    }
    let place = |i: Idx| Elem::of_idx(Rounds::COUNTER, i);
    Some(Effect::Point {
        cond: chain::truth(true),
        index: Idx::value(Elem::select(a.0.clone(), place(a.1), place(b.1))),
        value: Elem::select(a.0, a.2, b.2),
    })
}

/// A write that begins in a later round, `if (i >= start) out[i - start] = …`, counted from that round on: in the rounds before
/// it there is no such place.
fn from_a_round_on(ctx: &mut Context, leaf: &Leaf) -> Option<Retold> {
    let zero = Idx::default();
    leaf.loops
        .iter()
        .enumerate()
        .find_map(|(at, (var, extent))| {
            let is_loop = |i: &Idx| leaf.loops.iter().any(|(v, _)| i.mentions(v));
            let (cond, before) = begun(leaf.cond, var)?;
            let (slope, _) = leaf.index.linear_in(var)?;
            let first = leaf.index.replace(var, &zero);
            let goes_down = slope.as_constant().is_some_and(|s| s < 0);
            let varies = is_loop(&before) || before.has_values();
            if varies || slope.is_zero() || !goes_down && ctx.is_non_negative(&first) {
                return None;
            }
            let before = ctx.settle_index(&before.maximum(&zero));
            let counter = ctx.fresh.name(var);
            let round = &Idx::sym(counter.clone()) + &before;
            let with = |s: &Sym| (s == var).then(|| round.clone());
            let mut loops = leaf.loops.clone();
            loops[at] = (counter, (extent - &before).maximum(&zero));
            for (_, n) in &mut loops[at + 1..] {
                *n = n.substitute(&with);
            }
            Some(Retold {
                loops,
                cond: cond.substitute(&with),
                index: canon::idx(&leaf.index.substitute(&with)),
                value: leaf.value.substitute(&with),
            })
        })
}

/// The first round in which a condition lets something happen that it keeps from happening before, and what else it asks.
fn begun(cond: &ElemRef, var: &Sym) -> Option<(ElemRef, Idx)> {
    match &**cond {
        Elem::IndexCompare(CmpOp::Ge, a, b) => {
            let (slope, rest) = canon::idx(&(a - b)).linear_in(var)?;
            (slope.as_constant() == Some(1)).then(|| (chain::truth(true), -&rest))
        }
        Elem::Binary(BinOp::And, a, b) if cond.ty() == ScalarType::I1 => {
            let (one, other) = (begun(a, var), begun(b, var));
            let in_one = one.map(|(left, n)| (chain::and(left, b.clone()), n));
            in_one.or_else(|| other.map(|(left, n)| (chain::and(a.clone(), left), n)))
        }
        Elem::Select(c, t, f) if matches!(&**f, Elem::Const(v) if !v.is_true()) => {
            let (one, other) = (begun(c, var), begun(t, var));
            let in_one = one.map(|(left, n)| (chain::and(left, t.clone()), n));
            in_one.or_else(|| other.map(|(left, n)| (chain::and(c.clone(), left), n)))
        }
        _ => None,
    }
}

/// The write as it is told, over and over, as long as there is something to tell.
fn retold(leaf: &Leaf, mut tell: impl FnMut(&Leaf) -> Option<Retold>) -> Option<Retold> {
    let mut told = tell(leaf)?;
    while let Some(again) = tell(&told.leaf()) {
        told = again;
    }
    Some(told)
}

/// What is in a group of places: their shape, where they are, and an element.
type Left = (Vec<Idx>, View, ElemRef);

/// Counters, none of which depends on another one, and a place.
type Rows = (Vec<(Sym, Idx)>, Idx);

/// All elements one after the other (a `memcpy`) as the rows that other writes to the array have.
fn by_rows(ctx: &mut Context, (loops, index): Rows, found: &[Left]) -> Rows {
    let unit = Idx::constant(1);
    let [(var, extent)] = loops.as_slice() else {
        return (loops, index);
    };
    let Some((step, mut place)) = index.linear_in(var).filter(|(step, _)| *step == unit) else {
        return (loops, index);
    };
    let strides = |(shape, view, _): &Left| {
        let slope = |i| Some(view.index.linear_in(&dim(i))?.0);
        let all: Vec<Idx> = (0..shape.len()).filter_map(slope).collect();
        all
    };
    let mut strides: Vec<Idx> = found.iter().flat_map(strides).collect();
    strides.retain(|s| size_rank(s) > size_rank(&step) && s.terms().all(|(_, c)| c > 0));
    strides.sort_by_key(|s| Reverse(size_rank(s)));
    let (mut rows, mut left) = (Vec::new(), extent.clone());
    for stride in strides {
        let (times, rest) = decode::divide(&left, &stride);
        if rest.is_zero() && times != unit {
            let row = ctx.fresh.name(var);
            place = &place + &(&stride * &Idx::sym(row.clone()));
            rows.push((row, times));
            left = stride;
        }
    }
    rows.push((var.clone(), left));
    (rows, &place + &Idx::sym(var.clone()))
}

/// What the kernel leaves in a box; nothing if it is in one of those that were found.
fn in_box(
    ctx: &mut Context,
    array: &Sym,
    contents: &Contents,
    (loops, index): &Rows,
    at_most_one: bool,
    found: &[Left],
) -> Result<Option<Left>, Refusal> {
    let mark = ctx.mark();
    for (var, length) in loops {
        ctx.assume_in_range(var, length);
    }
    // The one element of such a tensor is element 0, whatever its place says.
    let index = &match loops.as_slice() {
        [(var, _)] if at_most_one => index + &Idx::sym(var.clone()),
        _ => index.clone(),
    };
    let mut earlier = found.iter();
    let value = match earlier.any(|(shape, view, _)| inside(ctx, view, shape, index)) {
        true => Ok(None),
        false => chain::read(ctx, array, contents, index).map(|v| {
            let v = ctx.settle(&v);
            let v = match index.has_values() {
                true => {
                    let v = decided(ctx, &v);
                    kept_as_such(ctx, &v, array, &canon::idx(index))
                }
                false => v,
            };
            Some(summed_up(ctx, &v))
        }),
    };
    ctx.forget(mark);
    let value = value.map_err(|why| Refusal {
        code: "TZ0304",
        message: why.0,
        line: 0,
    })?;
    let to_dim = |s: &Sym| {
        let i = loops.iter().position(|(v, _)| v == s)?;
        Some(Idx::sym(dim(i)))
    };
    Ok(value.map(|value| {
        let shape = loops.iter().map(|(_, n)| n.clone()).collect();
        let array = array.clone();
        let index = match index.substitute(&to_dim) {
            // As values write it.
            by_data if by_data.has_values() => canon::idx(&by_data),
            index => index,
        };
        (shape, View { array, index }, value.substitute(&to_dim))
    }))
}

/// A value with what stays at its place as what stands at that very place, where another way to say the same place is read.
fn kept_as_such(ctx: &mut Context, value: &ElemRef, array: &Sym, place: &Idx) -> ElemRef {
    match &**value {
        Elem::Select(c, t, f) => {
            let [t, f] = [(c.clone(), t), (Elem::not(c.clone()), f)].map(|(holds, value)| {
                let mark = ctx.mark();
                ctx.assume(holds);
                let value = kept_as_such(ctx, value, array, place);
                ctx.forget(mark);
                value
            });
            Elem::select(c.clone(), t, f)
        }
        Elem::Read {
            array: of, index, ..
        } if of == array
            && index != place
            && is_zero_where(ctx, &(index - place), &chain::truth(true)) =>
        {
            Elem::read(array.clone(), value.ty(), place.clone())
        }
        _ => value.clone(),
    }
}

/// Whether an element may be what was there before.
fn keeps_some(value: &ElemRef, contents: &Contents, at: &Idx) -> bool {
    let mut kept = false;
    value.visit(&mut |e| {
        if let Elem::Read { array, index, .. } = &**e {
            kept |= contents.base.as_ref() == Some(array) && canon::idx(&(index - at)).is_zero();
        }
    });
    kept
}

/// The box around the places that are written, with an index in which the counters are the box's: rows
/// are as long as the longest one, and what lies beyond a shorter one keeps its value.
fn boxed(ctx: &mut Context, leaf: &Leaf, whole: bool) -> Option<Rows> {
    let (mut loops, mut index) = (Vec::new(), leaf.index.clone());
    for (i, (var, extent)) in leaf.loops.iter().enumerate() {
        let outer = &leaf.loops[..i];
        if !outer.iter().any(|(v, _)| extent.mentions(v)) {
            loops.push((var.clone(), extent.clone()));
            continue;
        }
        // Rows without a round write nothing, wherever they would begin.
        let extent = &of_rounds(extent);
        // Where a row begins further on from row to row, columns are counted from the first one. (And the other way round
        // where it is columns that the counter goes down.)
        let (step, rest) = index.linear_in(var)?;
        let (steps, _) = decode::divide(&rest, &step);
        let begin = steps.terms().filter(|(m, _)| {
            let name = |v: &Sym| Idx::from_terms([(m.to_vec(), 1)]).as_sym() == Some(v);
            m.is_empty() || outer.iter().any(|(v, _)| name(v))
        });
        let begins = Idx::from_terms(begin.map(|(m, c)| (m.to_vec(), c)));
        let shared = |v: &Sym| begins.mentions(v) && extent.mentions(v);
        let begins = match outer.iter().any(|(v, _)| shared(v)) {
            true => begins,
            false => Idx::default(),
        };
        let first = match bound(ctx, &begins, outer, false)? {
            some if whole && some.as_constant().is_some_and(|c| c > 0) => Idx::default(),
            first => first,
        };
        let end = bound(ctx, &(&begins + extent), outer, true)?;
        index = index.replace(var, &(&(&Idx::sym(var.clone()) + &first) - &begins));
        loops.push((var.clone(), &end - &first));
    }
    if loops != leaf.loops {
        // Row by row, whichever way the original goes.
        loops.sort_by_key(|(v, _)| index.linear_in(v).map(|(s, _)| Reverse(size_rank(&s))));
    }
    Some((loops, index))
}

/// A single write under a condition on sizes (the tail of an unrolled loop): as a tensor of one element or none,
/// and whether it is one.
fn if_taken<'a>(ctx: &mut Context, leaf: Leaf<'a>) -> (Leaf<'a>, bool) {
    if !leaf.loops.is_empty() {
        return (leaf, false);
    }
    let Some(extent) = taken(ctx, leaf.cond) else {
        return (leaf, false);
    };
    if !ctx.is_over_params(&extent) {
        return (leaf, false);
    }
    let leaf = Leaf {
        loops: vec![(ctx.fresh.name("taken"), extent)],
        ..leaf
    };
    (leaf, true)
}

/// 1 where a condition on indices holds and 0 where it doesn't, if that is known.
pub(super) fn taken(ctx: &mut Context, cond: &ElemRef) -> Option<Idx> {
    let one = Idx::constant(1);
    match &*canon::elem(cond) {
        Elem::IndexCompare(CmpOp::Ge, p, _) => Some((p + &one).indicator()),
        Elem::IndexCompare(CmpOp::Lt, p, _) => Some((-p).indicator()),
        Elem::IndexCompare(CmpOp::Ne, p, _) => {
            let mut fits = |p: &Idx| ctx.is_non_negative(p) && ctx.proves(CmpOp::Le, p, &one);
            [p.clone(), -p].into_iter().find(|p| fits(p))
        }
        _ => None,
    }
}

/// Whether all places of a part are ones of a box; a guess.
fn covers(ctx: &mut Context, (shape, view, _): &Left, (part, places, _): &Left) -> bool {
    let names: Vec<Sym> = part.iter().map(|_| ctx.fresh.name("at")).collect();
    let mark = ctx.mark();
    for (name, extent) in names.iter().zip(part) {
        ctx.assume_in_range(name, extent);
    }
    let position: Vec<Idx> = names.into_iter().map(Idx::sym).collect();
    let covered = inside(ctx, view, shape, &at(&places.index, &position));
    ctx.forget(mark);
    covered
}

/// Whether a place is one of the view's; a guess.
fn inside(ctx: &mut Context, view: &View, shape: &[Idx], index: &Idx) -> bool {
    let dims: Vec<(Sym, Idx)> = shape
        .iter()
        .enumerate()
        .map(|(i, n)| (dim(i), n.clone()))
        .collect();
    if dims.is_empty() {
        return view.index == *index;
    }
    let Some(position) = decode::decode(ctx, &dims, &view.index, index) else {
        return false;
    };
    let hits = at(&view.index, &position);
    canon::idx(&(&hits - index)).is_zero()
        && position.iter().zip(shape).all(|(p, n)| {
            ctx.proves(CmpOp::Lt, p, n) && (ctx.is_non_negative(p) || begins_at_a_size(ctx, p))
        })
}
