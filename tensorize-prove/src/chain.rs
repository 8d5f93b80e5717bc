//! What an array holds: its contents at some point, and what was written since.
//!
//! The writes are kept as a small program, in order: single writes, and loops of writes. A read asks
//! which of them it sees. The answer rests on *decoding* a location: the indices at which a loop's write
//! hits it, of which there is at most one combination.

use crate::canon;
use crate::context::Context;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Atom, Idx, Sym};
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
        let in_order = newer.iter().all(|(other, position)| {
            let shared = leaf
                .loops
                .iter()
                .zip(&other.loops)
                .take_while(|(a, b)| a == b)
                .count();
            (0..shared).all(|i| canon::idx(&(&position[i] - &hit.position[i])).is_zero())
        });
        // Or at most one of them reaches it.
        let in_order = in_order
            || hits
                .iter()
                .all(|(cond, _)| ctx.holds(&Elem::not(and(cond.clone(), hit.cond.clone()))));
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
            Err(e) => return Err(e),
        }
    };
    for (cond, written) in hits.into_iter().rev() {
        value = Some(match value {
            Some(older) => Elem::select(cond, written, older),
            None => written,
        });
    }
    value.ok_or_else(|| Unresolved(format!("{array}[{at}] has no value")))
}

/// A write that may have hit a location: in which round, under which condition, and what it left.
struct Hit {
    position: Vec<Idx>,
    cond: ElemRef,
    value: ElemRef,
}

/// How a write hits the location; `None` if it never does.
fn hit(ctx: &mut Context, array: &str, leaf: &Leaf, at: &Idx) -> Result<Option<Hit>, Unresolved> {
    // The write's rounds are any rounds. What is known here of a variable of the same name is about
    // another one.
    let clash = |ctx: &Context, v: &Sym| at.mentions(v) || ctx.is_in_scope(v);
    if !leaf.loops.iter().any(|(v, _)| clash(ctx, v)) {
        return hit_apart(ctx, array, leaf, at);
    }
    let names: Vec<Sym> = leaf.loops.iter().map(|(v, _)| ctx.fresh.name(v)).collect();
    let with = |s: &Sym| {
        let i = leaf.loops.iter().position(|(v, _)| v == s)?;
        Some(Idx::sym(names[i].clone()))
    };
    let loops = leaf.loops.iter().zip(&names);
    let apart = Leaf {
        loops: loops
            .map(|((_, n), v)| (v.clone(), n.substitute(&with)))
            .collect(),
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
        let hit = hit_apart(ctx, array, &merged.leaf(), at)?;
        return Ok(hit.map(|hit| Hit {
            position: merged.apart(&hit.position),
            ..hit
        }));
    }
    let found = if leaf.loops.is_empty() {
        Some(vec![])
    } else {
        decode(ctx, &leaf.loops, leaf.index, at)
    };
    let Some(position) = found else {
        if never_hits(ctx, leaf, at) {
            return Ok(None);
        }
        return Err(Unresolved(format!(
            "whether a write to {array}[{}] has reached {array}[{at}] could not be decided",
            leaf.index
        )));
    };
    let with = |s: &Sym| {
        leaf.loops
            .iter()
            .position(|(v, _)| v == s)
            .map(|i| position[i].clone())
    };
    // The position is the only one that can hit; where strides leave gaps, it need not.
    let mut cond = Elem::index_compare(CmpOp::Eq, leaf.index.substitute(&with), at.clone());
    for (i, (_, extent)) in leaf.loops.iter().enumerate() {
        let extent = extent.substitute(&with);
        cond = and(
            cond,
            Elem::index_compare(CmpOp::Ge, position[i].clone(), Idx::default()),
        );
        cond = and(
            cond,
            Elem::index_compare(CmpOp::Lt, position[i].clone(), extent),
        );
    }
    cond = match ctx.decide(&cond) {
        Some(false) => return Ok(None),
        Some(true) => truth(true),
        None => cond,
    };
    let cond = and(cond, leaf.cond.substitute(&with));
    let value = leaf.value.substitute(&with);
    Ok(Some(Hit {
        position,
        cond,
        value,
    }))
}

/// A write in tiles, the loop over the tiles and the one inside of a tile being one.
pub struct Merged {
    /// As in [`Leaf`].
    pub loops: Vec<(Sym, Idx)>,
    /// As in [`Leaf`].
    pub cond: ElemRef,
    /// As in [`Leaf`].
    pub index: Idx,
    /// As in [`Leaf`].
    pub value: ElemRef,
    /// Where the two loops were, and how long a tile is.
    outer: usize,
    inner: usize,
    tile: Idx,
}

impl Merged {
    /// The write.
    pub fn leaf(&self) -> Leaf<'_> {
        Leaf {
            loops: self.loops.clone(),
            cond: &self.cond,
            index: &self.index,
            value: &self.value,
        }
    }

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
                loops,
                cond: leaf.cond.substitute(&with),
                index: canon::idx(&leaf.index.substitute(&with)),
                value: leaf.value.substitute(&with),
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

/// The only values of the loop variables at which `index` can be `at`, if it can be at all and they are
/// within their ranges. `None` if that is not known to be unique. Whether `index` is `at` there is not said: with
/// strides that leave gaps, it need not be.
///
/// With strides c₁, c₂, … (largest first) this is positional notation: if the inner part of the index,
/// c₂·k₂ + …, always lies in [0, c₁), and so does the remainder of `at`, then quotient and remainder
/// must agree, because q·c + r = q'·c + r' with r, r' in [0, c) gives q = q' and r = r'.
pub fn decode(ctx: &mut Context, loops: &[(Sym, Idx)], index: &Idx, at: &Idx) -> Option<Vec<Idx>> {
    let mut strides = Vec::new();
    let mut rest = canon::idx(index);
    for (var, _) in loops {
        let (stride, others) = rest.linear_in(var)?;
        if stride.is_zero() || loops.iter().any(|(v, _)| stride.mentions(v)) {
            return None;
        }
        strides.push(stride);
        rest = others;
    }
    // What counts down counts up from the other end.
    let mut downward = vec![false; loops.len()];
    for (i, (_, extent)) in loops.iter().enumerate() {
        let up = -&strides[i];
        if strides[i].terms().all(|(_, c)| c < 0) && ctx.is_non_negative(&up) {
            rest = canon::idx(&(&rest - &(&up * &(extent - &Idx::constant(1)))));
            strides[i] = up;
            downward[i] = true;
        }
    }
    let mut order: Vec<usize> = (0..loops.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(size_rank(&strides[i])));
    // The inner part of the index lies within the stride, for every round.
    for (depth, &i) in order.iter().enumerate().take(order.len().saturating_sub(1)) {
        let mut inner = Idx::default();
        let mark = ctx.mark();
        for (var, extent) in loops {
            ctx.assume_in_range(var, extent);
        }
        for &j in &order[depth + 1..] {
            inner = &inner + &(&strides[j] * &Idx::sym(loops[j].0.clone()));
        }
        let stride = &strides[i];
        let inside = (ctx.is_non_negative(&inner) || starts_at_zero(ctx, &inner, loops))
            && (ctx.proves(CmpOp::Lt, &inner, stride)
                || leading_dimension(ctx, &inner, stride, loops));
        ctx.forget(mark);
        if !inside {
            return None;
        }
    }
    let remainder = canon::idx(&(at - &rest));
    let mut position = match in_range(ctx, loops, &strides, &order, &remainder) {
        Some(position) => position,
        None => positions(ctx, &strides, &order, remainder)?,
    };
    for (i, (_, extent)) in loops.iter().enumerate() {
        if downward[i] {
            position[i] = canon::idx(&(&(extent - &Idx::constant(1)) - &position[i]));
        }
    }
    Some(position)
}

/// The position by dividing polynomials, where it is one of a round: there is only one.
fn in_range(
    ctx: &mut Context,
    loops: &[(Sym, Idx)],
    strides: &[Idx],
    order: &[usize],
    remainder: &Idx,
) -> Option<Vec<Idx>> {
    // Else several rounds could have one place.
    let innermost = &strides[*order.last()?];
    let distinct = innermost.as_constant().is_some() || ctx.proves(CmpOp::Ge, innermost, &1.into());
    if !distinct || order.len() < 2 {
        return None;
    }
    let mut position = vec![Idx::default(); strides.len()];
    let mut left = remainder.clone();
    for &i in order {
        (position[i], left) = divide(&left, &strides[i]);
    }
    let inside = |ctx: &mut Context, i: usize| {
        ctx.is_non_negative(&position[i]) && ctx.proves(CmpOp::Lt, &position[i], &loops[i].1)
    };
    let all = left.is_zero() && order.iter().all(|&i| inside(ctx, i));
    all.then_some(position)
}

/// The position by quotients and remainders.
fn positions(
    ctx: &mut Context,
    strides: &[Idx],
    order: &[usize],
    mut remainder: Idx,
) -> Option<Vec<Idx>> {
    let mut position = vec![Idx::default(); strides.len()];
    for (depth, &i) in order.iter().enumerate() {
        let stride = &strides[i];
        if depth + 1 == order.len() {
            position[i] = match exact_quotient(ctx, &remainder, stride) {
                Some(quotient) => quotient,
                None if stride.as_constant().is_some_and(|s| s > 1) => remainder.floor_div(stride),
                None => return None,
            };
            break;
        }
        let (mut quotient, mut left) = divide(&remainder, stride);
        if !(ctx.is_non_negative(&left) && ctx.proves(CmpOp::Lt, &left, stride)) {
            if !ctx.proves(CmpOp::Ge, stride, &Idx::constant(1)) {
                return None;
            }
            quotient = remainder.floor_div(stride);
            left = canon::idx(&(&remainder - &(stride * &quotient)));
        }
        position[i] = quotient;
        remainder = left;
    }
    Some(position)
}

/// Whether the smallest value in any round is 0, which no product of unknowns says to the solver.
fn starts_at_zero(ctx: &mut Context, inner: &Idx, loops: &[(Sym, Idx)]) -> bool {
    let least = crate::eval::bound(ctx, inner, loops, false);
    least.is_some_and(|l| l.as_constant().is_some_and(|c| c >= 0))
}

/// A row stride that is a parameter of its own has to be as long as a row: what is shorter is left to the
/// original, by a guard.
fn leading_dimension(ctx: &mut Context, inner: &Idx, stride: &Idx, loops: &[(Sym, Idx)]) -> bool {
    if !ctx.is_over_params(stride) {
        return false;
    }
    let Some(largest) = crate::eval::bound(ctx, inner, loops, true) else {
        return false;
    };
    let room = canon::idx(&(&(stride - &largest) - &Idx::constant(1)));
    // A product of unknowns, to the last element.
    if let Some(room) = room.as_constant() {
        return room >= 0;
    }
    if !ctx.is_over_params(&room) || ctx.proves(CmpOp::Lt, &room, &Idx::default()) {
        return false;
    }
    ctx.guard(Guard::NonNegative(room));
    ctx.proves(CmpOp::Lt, inner, stride)
}

/// Larger strides have more factors, then larger coefficients.
fn size_rank(stride: &Idx) -> (usize, i128) {
    stride
        .terms()
        .map(|(m, c)| (m.len(), c.abs()))
        .max()
        .unwrap_or((0, 0))
}

/// `remainder / stride` where that is a polynomial, and the stride is not zero.
fn exact_quotient(ctx: &mut Context, remainder: &Idx, stride: &Idx) -> Option<Idx> {
    let (quotient, left) = divide(remainder, stride);
    if !left.is_zero() {
        return None;
    }
    if stride.as_constant().is_none() && !ctx.proves(CmpOp::Ne, stride, &Idx::default()) {
        // An increment that is a parameter: what is not positive is left to the original.
        if !ctx.is_over_params(stride) {
            return None;
        }
        ctx.guard(Guard::NonNegative(stride - &Idx::constant(1)));
    }
    Some(quotient)
}

/// Polynomial division by a monomial (or by a polynomial that is a factor of all there is): quotient and
/// the terms that are left. `remainder = stride·quotient + left` always.
pub fn divide(remainder: &Idx, stride: &Idx) -> (Idx, Idx) {
    let mut terms = stride.terms();
    let (Some((factors, c)), None) = (terms.next(), terms.next()) else {
        return divide_by_polynomial(remainder, stride);
    };
    let mut quotient = Vec::new();
    let mut left = Vec::new();
    for (monomial, d) in remainder.terms() {
        match without(monomial, factors) {
            Some(m) if d % c == 0 => quotient.push((m, d / c)),
            _ => left.push((monomial.to_vec(), d)),
        }
    }
    (Idx::from_terms(quotient), Idx::from_terms(left))
}

/// Division by a polynomial of several terms such as `n + 1`: long division by its leading term.
fn divide_by_polynomial(remainder: &Idx, stride: &Idx) -> (Idx, Idx) {
    // By degree, then by name: an order in which the product of leading terms leads.
    let Some((lead, c)) = stride.terms().max_by_key(|(m, _)| (m.len(), *m)) else {
        return (Idx::default(), remainder.clone());
    };
    let (mut quotient, mut left) = (Idx::default(), remainder.clone());
    for _ in 0..32 {
        let divisible = left.terms().filter_map(|(m, d)| {
            let rest = without(m, lead)?;
            (d % c == 0).then(|| ((m.len(), m), Idx::from_terms([(rest, d / c)])))
        });
        let leading = divisible.max_by(|(a, _), (b, _)| a.cmp(b));
        let Some((_, step)) = leading else { break };
        left = &left - &(stride * &step);
        quotient = &quotient + &step;
    }
    (quotient, left)
}

fn without(monomial: &[Atom], factors: &[Atom]) -> Option<Vec<Atom>> {
    let mut out = monomial.to_vec();
    for f in factors {
        let i = out.iter().position(|a| a == f)?;
        out.remove(i);
    }
    Some(out)
}

#[cfg(test)]
mod tests;
