//! What an array holds: its contents at some point, and what was written since.
//!
//! The writes are kept as a small program, in order: single writes, and loops of writes. A read asks
//! which of them it sees. The answer rests on *decoding* a location: the indices at which a loop's write
//! hits it, of which there is at most one combination.

mod staying;

pub(crate) use staying::at_places_that_stay;
pub use staying::{never_meet, parted};

use crate::canon;
use crate::conditions::said_of_numbers;
use crate::context::Context;
use crate::decode::{self, decode, in_other_columns};
use crate::ring;
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Fresh, Idx, Sym, gcd};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Writes, in the order in which they happen.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// `array[index] = value`, if `cond`.
    Point {
        /// `i1`
        cond: ElemRef,
        /// Where.
        index: Idx,
        /// What.
        value: ElemRef,
    },
    /// `for var in 0..extent { body }`
    Loop {
        /// Bound in `body`.
        var: Sym,
        /// How often; not negative.
        extent: Idx,
        /// The writes of one round.
        body: Vec<Effect>,
    },
}

/// An array's contents: `base`, then the effects.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// The name under which the oldest contents are read; `None` if nothing was there.
    pub base: Option<Sym>,
    /// Element type.
    pub elem: ScalarType,
    /// In order.
    pub effects: Vec<Effect>,
}

/// One write with the loops around it, outermost first.
pub struct Leaf<'a> {
    /// Variables and extents.
    pub loops: Vec<(Sym, Idx)>,
    /// `i1`
    pub cond: &'a ElemRef,
    /// Where.
    pub index: &'a Idx,
    /// What.
    pub value: &'a ElemRef,
}

impl Leaf<'_> {
    /// Any round: the loops under names for the counters that occur nowhere else, and what these put in for the counters.
    pub fn any_round(
        &self,
        fresh: &mut Fresh,
    ) -> (Vec<(Sym, Idx)>, impl Fn(&Sym) -> Option<Idx> + use<>) {
        let names: Vec<Sym> = self.loops.iter().map(|(v, _)| fresh.name(v)).collect();
        let position: Vec<Idx> = names.iter().cloned().map(Idx::sym).collect();
        let with = decode::at_position(&self.loops, &position);
        let extents = self.loops.iter().map(|(_, n)| n.substitute(&with));
        let loops = names.into_iter().zip(extents).collect();
        (loops, with)
    }
}

impl Effect {
    /// The writes in it, in the order in which they stand.
    pub fn leaves(&self) -> Vec<Leaf<'_>> {
        let mut out = Vec::new();
        collect(self, &mut Vec::new(), &mut out);
        out
    }

    /// The same effect with every index and value replaced.
    pub fn map(
        &self,
        on_idx: &dyn Fn(&Idx) -> Idx,
        on_elem: &mut dyn FnMut(&ElemRef) -> ElemRef,
    ) -> Effect {
        match self {
            Effect::Point { cond, index, value } => Effect::Point {
                cond: on_elem(cond),
                index: on_idx(index),
                value: on_elem(value),
            },
            Effect::Loop { var, extent, body } => Effect::Loop {
                var: var.clone(),
                extent: on_idx(extent),
                body: body.iter().map(|e| e.map(on_idx, on_elem)).collect(),
            },
        }
    }

    /// Replaces a free variable.
    pub fn replace(&self, name: &str, value: &Idx) -> Effect {
        self.map(&|i| i.replace(name, value), &mut |e| e.replace(name, value))
    }

    /// Replaces free accumulators.
    pub fn replace_accs(&self, values: &BTreeMap<Sym, ElemRef>) -> Effect {
        let on_idx = |i: &Idx| i.map_values(&mut |v| v.replace_accs(values));
        self.map(&on_idx, &mut |v| v.replace_accs(values))
    }

    /// The same effect, only where `condition` holds.
    pub fn under(&self, condition: &ElemRef) -> Effect {
        match self {
            Effect::Point { cond, index, value } => Effect::Point {
                cond: and(condition.clone(), cond.clone()),
                index: index.clone(),
                value: value.clone(),
            },
            Effect::Loop { var, extent, body } => Effect::Loop {
                var: var.clone(),
                extent: extent.clone(),
                body: body.iter().map(|e| e.under(condition)).collect(),
            },
        }
    }
}

fn collect<'a>(e: &'a Effect, loops: &mut Vec<(Sym, Idx)>, out: &mut Vec<Leaf<'a>>) {
    match e {
        Effect::Point { cond, index, value } => {
            out.push(Leaf {
                loops: loops.clone(),
                cond,
                index,
                value,
            });
        }
        Effect::Loop { var, extent, body } => {
            loops.push((var.clone(), extent.clone()));
            body.iter().for_each(|b| collect(b, loops, out));
            loops.pop();
        }
    }
}

/// `a && b`
pub fn and(a: ElemRef, b: ElemRef) -> ElemRef {
    match (&*a, &*b) {
        (Elem::Const(v), _) => {
            if v.is_true() {
                b
            } else {
                a
            }
        }
        (_, Elem::Const(v)) => {
            if v.is_true() {
                a
            } else {
                b
            }
        }
        _ if a == b => a,
        _ => Elem::binary(BinOp::And, a, b),
    }
}

/// The same condition, which looks at the data only where the place is one that is written at all: elsewhere, what it would
/// look at need not be there.
fn places_first(cond: &ElemRef) -> ElemRef {
    let looks_at_data = |e: &ElemRef| {
        let mut found = false;
        e.visit(&mut |e| found |= matches!(&**e, Elem::Read { .. }));
        found
    };
    let all = cond.conjuncts().into_iter().cloned();
    let (data, places): (Vec<_>, Vec<_>) = all.partition(looks_at_data);
    match (places.into_iter().reduce(and), data.into_iter().reduce(and)) {
        (Some(places), Some(data)) => Elem::select(places, data, truth(false)),
        _ => cond.clone(),
    }
}

/// The truth value `v`.
pub fn truth(v: bool) -> ElemRef {
    Elem::constant(Scalar::bool(v))
}

/// Why the value of a read is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved(pub String);

/// What `array[at]` is.
pub fn read(
    ctx: &mut Context,
    array: &str,
    contents: &Contents,
    at: &Idx,
) -> Result<ElemRef, Unresolved> {
    read_before(ctx, array, contents, contents.effects.len(), at)
}

fn read_before(
    ctx: &mut Context,
    array: &str,
    contents: &Contents,
    end: usize,
    at: &Idx,
) -> Result<ElemRef, Unresolved> {
    let Some(last) = end.checked_sub(1) else {
        return match &contents.base {
            Some(base) => Ok(Elem::read(base.clone(), contents.elem, at.clone())),
            None => Err(Unresolved(format!(
                "{array}[{at}] is read before it is written"
            ))),
        };
    };
    // What this effect may have left at the location: the conditions under which it did, newest first.
    let mut hits: Vec<(ElemRef, ElemRef)> = Vec::new();
    let mut newer: Vec<(&Leaf, Vec<Idx>)> = Vec::new();
    let leaves = contents.effects[last].leaves();
    for leaf in leaves.iter().rev() {
        let Some(hit) = hit(ctx, array, leaf, at)? else {
            continue;
        };
        // Of two writes in the same round of the loops that they share, the later one wins.
        let in_order = newer
            .iter()
            .zip(&hits)
            .all(|((other, position), (cond, _))| {
                if are_apart(leaf, other) {
                    return true;
                }
                let loops = leaf.loops.iter().zip(&other.loops);
                let shared = loops.take_while(|(a, b)| a == b).count();
                let mut rounds = position.iter().zip(&hit.position).take(shared);
                rounds.clone().all(|(a, b)| canon::idx(&(a - b)).is_zero())
                    || meet_in_one_round(ctx, (cond, &hit.cond), &mut rounds)
            });
        if !in_order {
            return Err(Unresolved(format!(
                "two writes of one loop may both reach {array}[{at}]; which one is the last is not known"
            )));
        }
        newer.push((leaf, hit.position));
        hits.push((hit.cond, hit.value));
    }
    let certain = hits
        .iter()
        .any(|(c, _)| matches!(&**c, Elem::Const(v) if v.is_true()));
    let mut value = if certain {
        None
    } else {
        // The older contents are seen only where this effect did not write, which may settle more.
        let mark = ctx.mark();
        for (c, _) in &hits {
            ctx.assume(Elem::not(c.clone()));
        }
        let older = read_before(ctx, array, contents, last, at);
        ctx.forget(mark);
        match older {
            Ok(v) => Some(v),
            // Nobody asks for them if this effect surely wrote, under this condition or that.
            Err(_) if is_written(ctx, &hits, contents.base.is_none()) => None,
            Err(e) => return Err(e),
        }
    };
    for (cond, written) in hits.into_iter().rev() {
        value = Some(match value {
            Some(older) => Elem::select(places_first(&cond), written, older),
            None => written,
        });
    }
    value.ok_or_else(|| Unresolved(format!("{array}[{at}] has no value")))
}

/// Whether one of the conditions holds: the oldest where the newer ones don't. Where nothing was written before, those of its
/// parts that are about sizes, or hold in every round if sizes are large enough, may become guards: a call that reads what was
/// never written has no meaning.
fn is_written(ctx: &mut Context, hits: &[(ElemRef, ElemRef)], is_first: bool) -> bool {
    let Some(((oldest, _), newer)) = hits.split_last() else {
        return false;
    };
    let mark = ctx.mark();
    for (c, _) in newer {
        if ctx.holds(c) {
            ctx.forget(mark);
            return true;
        }
        ctx.assume(Elem::not(c.clone()));
    }
    let mut sizes = Vec::new();
    let oldest = canon::elem(oldest);
    let all = oldest.conjuncts().into_iter().all(|c| {
        if ctx.holds(c) {
            return true;
        }
        match &**c {
            Elem::IndexCompare(CmpOp::Ge, p, zero) if is_first && zero.is_zero() => {
                let enough = ctx.enough_of_sizes(p);
                let found = enough.is_some();
                sizes.extend(enough.unwrap_or_default());
                found
            }
            _ => false,
        }
    });
    ctx.forget(mark);
    if all {
        let guards = sizes.into_iter().map(Guard::NonNegative);
        guards.for_each(|g| ctx.guard(g));
    }
    all
}

/// Whether two writes never reach one place, in whichever rounds: lanes of what is written in steps of a constant, such as
/// `t[8 * i]` and `t[8 * i + 1]`.
fn are_apart(a: &Leaf, b: &Leaf) -> bool {
    let mut step = 0;
    let mut first = |leaf: &Leaf| {
        let mut index = leaf.index.clone();
        for (var, _) in &leaf.loops {
            let (by, rest) = index.linear_in(var)?;
            step = gcd(step, by.as_constant()?.unsigned_abs());
            index = rest;
        }
        Some(index)
    };
    let (Some(a), Some(b)) = (first(a), first(b)) else {
        return false;
    };
    let distance = (&a - &b).as_constant().map(i128::unsigned_abs);
    distance.is_some_and(|d| d.checked_rem(step).unwrap_or(d) != 0)
}

/// Whether these rounds are the same one wherever both conditions hold, by what they say of indices; so also if they never do,
/// as where `t[k]` and `t[8 + k]` would be one place, for `k` below 8.
fn meet_in_one_round<'a>(
    ctx: &mut Context,
    (a, b): (&ElemRef, &ElemRef),
    rounds: &mut impl Iterator<Item = (&'a Idx, &'a Idx)>,
) -> bool {
    let mark = ctx.mark();
    let mut said = Vec::new();
    for condition in [a, b] {
        said_of_numbers(ctx, condition, &mut said);
    }
    let never = said.into_iter().any(|c| {
        let never = ctx.holds(&Elem::not(c.clone()));
        ctx.assume(c);
        never
    });
    let meet = never || rounds.all(|(a, b)| ctx.proves(CmpOp::Eq, a, b));
    ctx.forget(mark);
    meet
}

/// A write that may have hit a location: in which round, under which condition, and what it left.
pub(crate) struct Hit {
    position: Vec<Idx>,
    pub cond: ElemRef,
    value: ElemRef,
}

/// How a write hits the location; `None` if it never does.
pub(crate) fn hit(
    ctx: &mut Context,
    array: &str,
    leaf: &Leaf,
    at: &Idx,
) -> Result<Option<Hit>, Unresolved> {
    // The write's rounds are any rounds. What is known here of a variable of the same name is about
    // another one.
    let clash = |ctx: &Context, v: &Sym| at.mentions(v) || ctx.is_in_scope(v);
    if !leaf.loops.iter().any(|(v, _)| clash(ctx, v)) {
        return hit_apart(ctx, array, leaf, at);
    }
    let (loops, with) = leaf.any_round(&mut ctx.fresh);
    let apart = Leaf {
        loops,
        cond: &leaf.cond.substitute(&with),
        index: &leaf.index.substitute(&with),
        value: &leaf.value.substitute(&with),
    };
    hit_apart(ctx, array, &apart, at)
}

fn hit_apart(
    ctx: &mut Context,
    array: &str,
    leaf: &Leaf,
    at: &Idx,
) -> Result<Option<Hit>, Unresolved> {
    if let Some(merged) = tiles_merged(ctx, leaf) {
        let hit = hit_apart(ctx, array, &merged.write.leaf(), at)?;
        return Ok(hit.map(|hit| Hit {
            position: merged.apart(&hit.position),
            ..hit
        }));
    }
    if let Some(straight) = ring::straight(ctx, leaf) {
        let Some(hit) = hit_apart(ctx, array, &straight.write.leaf(), at)? else {
            return Ok(None);
        };
        let cond = ctx.settle(&hit.cond);
        let never = matches!(&*cond, Elem::Const(v) if !v.is_true());
        return Ok((!never).then(|| Hit {
            position: straight.round_at(ctx, &hit.position),
            cond,
            value: hit.value,
        }));
    }
    let found = if leaf.loops.is_empty() {
        Some(vec![])
    } else {
        decode(ctx, &leaf.loops, leaf.index, at)
    };
    let Some(position) = found else {
        if never_hits(ctx, leaf, at) || in_other_columns(ctx, &leaf.loops, leaf.index, at) {
            return Ok(None);
        }
        return Err(Unresolved(format!(
            "whether a write to {array}[{}] has reached {array}[{at}] could not be decided",
            leaf.index
        )));
    };
    // The position is the only one that can hit; where strides leave gaps, it need not.
    let cond = decode::hits(&leaf.loops, leaf.index, &position, at);
    let cond = match ctx.decide(&cond) {
        Some(false) => return Ok(None),
        Some(true) => truth(true),
        None if in_other_columns(ctx, &leaf.loops, leaf.index, at) => return Ok(None),
        None if is_yet_to_come(ctx, &leaf.loops, &position) => return Ok(None),
        None => cond,
    };
    let with = decode::at_position(&leaf.loops, &position);
    let cond = and(cond, leaf.cond.substitute(&with));
    let value = leaf.value.substitute(&with);
    drop(with);
    Ok(Some(Hit {
        position,
        cond,
        value,
    }))
}

/// Whether a place is one that later rounds write than those so far, as `a[i + shift]` in `a[i] = a[i + shift]`: if sizes
/// are not negative, which becomes a guard.
fn is_yet_to_come(ctx: &mut Context, loops: &[(Sym, Idx)], position: &[Idx]) -> bool {
    let ahead = loops.iter().zip(position).find_map(|((_, rounds), at)| {
        let so_far = rounds.as_sym().is_some() && !ctx.is_over_params(rounds);
        let ahead = canon::idx(&(at - rounds));
        // What looks back, as an echo does, is not asked to be about nothing.
        let some_size = ahead.terms().any(|(m, c)| !m.is_empty() && c > 0);
        let may_be = so_far
            && some_size
            && ctx.is_over_params(&ahead)
            && !ctx.proves(CmpOp::Lt, &ahead, &Idx::default());
        may_be.then_some(ahead)
    });
    let Some(ahead) = ahead else { return false };
    ctx.guard(Guard::NonNegative(ahead));
    true
}

/// A write that was made of another one, told as a [`Leaf`].
pub struct Retold {
    /// As in [`Leaf`].
    pub loops: Vec<(Sym, Idx)>,
    /// As in [`Leaf`].
    pub cond: ElemRef,
    /// As in [`Leaf`].
    pub index: Idx,
    /// As in [`Leaf`].
    pub value: ElemRef,
}

impl Retold {
    /// The write.
    pub fn leaf(&self) -> Leaf<'_> {
        Leaf {
            loops: self.loops.clone(),
            cond: &self.cond,
            index: &self.index,
            value: &self.value,
        }
    }
}

/// A write in tiles, the loop over the tiles and the one inside of a tile being one.
pub struct Merged {
    /// The write.
    pub write: Retold,
    /// Where the two loops were, and how long a tile is.
    outer: usize,
    inner: usize,
    tile: Idx,
}

impl Merged {
    /// The position in the loops as they were.
    fn apart(&self, position: &[Idx]) -> Vec<Idx> {
        let mut out = position.to_vec();
        let at = &position[self.inner - 1];
        let tile = at.floor_div(&self.tile);
        out[self.inner - 1] = at - &(&self.tile * &tile);
        out.insert(self.outer, tile);
        out
    }
}

/// The same write with the two loops over tiles and inside of a tile as one, if there are such loops and the
/// place depends on `t·tile + inside` alone.
pub fn tiles_merged(ctx: &mut Context, leaf: &Leaf) -> Option<Merged> {
    for (inner, (inside, extent)) in leaf.loops.iter().enumerate() {
        for (outer, (tile, tiles)) in leaf.loops[..inner].iter().enumerate() {
            if !extent.mentions(tile) {
                continue;
            }
            let (own, _) = leaf.index.linear_in(inside)?;
            let (stride, _) = leaf.index.linear_in(tile)?;
            let t = crate::regroup::tile_length(extent, tile)?;
            if own.is_zero() || canon::idx(&(&(&t * &own) - &stride)) != Idx::default() {
                continue;
            }
            let Some((t, end)) = crate::regroup::one_range(ctx, (tile, tiles), extent) else {
                continue;
            };
            let var = ctx.fresh.name(inside);
            let at = Idx::sym(var.clone());
            let quotient = at.floor_div(&t);
            let rest = &at - &(&t * &quotient);
            let with = |s: &Sym| match s {
                s if s == tile => Some(quotient.clone()),
                s if s == inside => Some(rest.clone()),
                _ => None,
            };
            let mut loops = leaf.loops.clone();
            loops[inner] = (var, end);
            loops.remove(outer);
            if loops
                .iter()
                .any(|(_, n)| n.mentions(tile) || n.mentions(inside))
            {
                continue;
            }
            return Some(Merged {
                write: Retold {
                    loops,
                    cond: leaf.cond.substitute(&with),
                    index: canon::idx(&leaf.index.substitute(&with)),
                    value: leaf.value.substitute(&with),
                },
                outer,
                inner,
                tile: t,
            });
        }
    }
    None
}

fn never_hits(ctx: &mut Context, leaf: &Leaf, at: &Idx) -> bool {
    let mark = ctx.mark();
    // The loops' variables stand for arbitrary rounds here; their names occur nowhere else.
    for (var, extent) in &leaf.loops {
        ctx.assume_in_range(var, extent);
    }
    let never = ctx.proves(CmpOp::Ne, leaf.index, at);
    ctx.forget(mark);
    never
}

#[cfg(test)]
mod tests;
