//! How far one access reaches, in all of its rounds.

mod choice;

use self::choice::by_choice;
use crate::bound::bound;
use crate::canon;
use crate::clamp;
use crate::context::Context;
use crate::decode::divide;
use crate::eval::index_like;
use crate::exec::Access;
use crate::matching::{assume, in_one_range};
use crate::ranges;
use crate::reach;
use crate::shorter::{non_negative, shorter};
use std::collections::BTreeSet;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

/// The smaller (or larger) of two bounds.
fn pick(ctx: &mut Context, known: Option<Idx>, new: Idx, larger: bool) -> Idx {
    let Some(known) = known else { return new };
    let (op, other) = if larger {
        (CmpOp::Ge, CmpOp::Le)
    } else {
        (CmpOp::Le, CmpOp::Ge)
    };
    if ctx.proves(op, &known, &new) {
        known
    } else if ctx.proves(other, &known, &new) {
        new
    } else if larger {
        known.maximum(&new)
    } else {
        known.minimum(&new)
    }
}

/// An interval `[lo, hi)` over the sizes that holds the access in all rounds.
pub(crate) fn interval(
    ctx: &mut Context,
    a: &Access,
    lo: Option<&Idx>,
    hi: Option<&Idx>,
) -> Option<(Idx, Idx)> {
    if let Some(chosen) = by_choice(ctx, a) {
        let (mut low, mut high) = (None, None);
        for one in &chosen {
            let (from, to) = interval(ctx, one, lo, hi)?;
            low = Some(covering(ctx, low, from, false, one));
            high = Some(covering(ctx, high, to, true, one));
        }
        return low.zip(high);
    }
    if let Some(shorter) = shorter(ctx, a)
        && let Some(found) = interval(ctx, &shorter, lo, hi)
    {
        return Some(found);
    }
    let one = Idx::constant(1);
    let wider = within_values(ctx, a);
    let free = remainders_as_counters(ctx, &wider);
    let mark = ctx.mark();
    assume(ctx, a);
    if let Some(free) = &free {
        assume(ctx, free);
    }
    // Conditions can make the interval smaller than the ranges of the counters alone do: try bounds that
    // are natural, or that other accesses have.
    let mut places = vec![&a.index];
    places.extend(free.as_ref().map(|f| &f.index));
    let zero = Idx::default();
    let mut within = |op, end: &&Idx| places.iter().any(|place| ctx.proves(op, place, end));
    let low = lo
        .into_iter()
        .chain([&zero])
        .find(|l| within(CmpOp::Ge, l))
        .cloned();
    let high = hi.into_iter().find(|h| within(CmpOp::Lt, h)).cloned();
    let low = low.or_else(|| asked_of_sizes(ctx, &a.index).then_some(zero));
    let (lows, highs) = limits(ctx, a);
    // What its conditions say of a write that the data places is known before any data is looked at.
    let by_data = a.write && a.index.has_values();
    let high = high.or_else(|| highs.first().filter(|_| by_data).cloned());
    let by_ranges = |ctx: &mut Context, upper| {
        let end = bound(ctx, &wider.index, &wider.loops, upper);
        end.or_else(|| {
            free.as_ref()
                .and_then(|f| bound(ctx, &f.index, &f.loops, upper))
        })
        .map(|end| ctx.settle_index(&end))
        .filter(|b| ctx.is_over_params(b))
    };
    let ranges = (by_ranges(ctx, false), by_ranges(ctx, true));
    ctx.forget(mark);
    let low = match (ranges.0, low) {
        // Without conditions the ends of the ranges are reached, so that they are the tighter bound.
        (Some(r), Some(l)) if !a.path.is_empty() && !ctx.proves(CmpOp::Ge, &r, &l) => l,
        (Some(r), _) => r,
        (None, l) => l?,
    };
    let high = match (ranges.1.map(|u| &u + &one), high) {
        (Some(r), Some(h)) if !a.path.is_empty() && !ctx.proves(CmpOp::Le, &r, &h) => h,
        (Some(r), _) => r,
        (None, h) => h?,
    };
    let tighter = |ctx: &mut Context, op, ends: Vec<Idx>, found| {
        ends.into_iter().fold(found, |best, end| {
            if ctx.proves(op, &end, &best) {
                end
            } else {
                best
            }
        })
    };
    // Where there is no such round, any interval will do.
    let mark = ctx.mark();
    assume(ctx, a);
    let found = (
        tighter(ctx, CmpOp::Ge, lows, low),
        tighter(ctx, CmpOp::Le, highs, high),
    );
    ctx.forget(mark);
    Some(found)
}

/// What the conditions of an access say of its place alone: of `x[i + r]` under `i + r < n`, that it lies before `n`; of
/// `x[(i + r) * w + j + s]` under `i + r < h` and `j + s < w`, that it lies before `h * w`.
fn limits(ctx: &mut Context, a: &Access) -> (Vec<Idx>, Vec<Idx>) {
    let (mut lows, mut highs) = (Vec::new(), Vec::new());
    let said = non_negative(ctx, a);
    let mut sums = said.clone();
    if said.len() <= MOST_CONDITIONS {
        // Where a row is by conditions, how far along it may be by the loops.
        let one = Idx::constant(1);
        let ranges = a.loops.iter().map(|(v, n)| (Idx::sym(v.clone()), n));
        let along = ranges.flat_map(|(v, n)| [&(n - &v) - &one, v]);
        let along: Vec<Idx> = said.iter().cloned().chain(along).collect();
        for stride in strides(ctx, &a.index) {
            let rows = said.iter().map(|p| &stride * p);
            sums.extend(rows.flat_map(|row| along.iter().map(move |p| &row + p)));
        }
    }
    for p in &sums {
        lows.push(canon::idx(&(&a.index - p)));
        highs.push(canon::idx(&(&(&a.index + p) + &Idx::constant(1))));
    }
    lows.retain(|i| ctx.is_over_params(i));
    highs.retain(|i| ctx.is_over_params(i));
    (lows, highs)
}

/// More conditions are not taken two by two.
const MOST_CONDITIONS: usize = 8;

/// The sizes, not negative, by which an index multiplies counters: the lengths of rows.
fn strides(ctx: &mut Context, index: &Idx) -> Vec<Idx> {
    let mut found = Vec::new();
    for (monomial, _) in index.terms() {
        let atoms = monomial.iter().cloned().map(Idx::atom);
        let (sizes, counters): (Vec<Idx>, Vec<Idx>) = atoms.partition(|a| ctx.is_over_params(a));
        let Some(stride) = sizes.into_iter().reduce(|a, b| &a * &b) else {
            continue;
        };
        if !counters.is_empty() && !found.contains(&stride) && ctx.is_non_negative(&stride) {
            found.push(stride);
        }
    }
    found
}

/// Whether no place before the first is touched if a size that limits the index, as in `min(n - 1, i)`, is not
/// negative, which becomes a guard.
fn asked_of_sizes(ctx: &mut Context, index: &Idx) -> bool {
    let limits = index.terms().flat_map(|(m, _)| m).filter_map(|a| match a {
        Atom::Min(a, b) => Some([(**a).clone(), (**b).clone()]),
        _ => None,
    });
    let limits: Vec<Idx> = limits.flatten().collect();
    limits.into_iter().any(|limit| {
        if limit.as_constant().is_some() || !ctx.is_over_params(&limit) {
            return false;
        }
        let mark = ctx.mark();
        ctx.assume_non_negative(&limit);
        let helps = ctx.is_non_negative(index);
        ctx.forget(mark);
        if helps {
            ctx.guard(Guard::NonNegative(limit));
        }
        helps
    })
}

/// The bound of several accesses and of `access`, whose own is `new`: where that one is made, `known` may be bound enough.
pub(crate) fn covering(
    ctx: &mut Context,
    known: Option<Idx>,
    new: Idx,
    larger: bool,
    access: &Access,
) -> Idx {
    let op = if larger { CmpOp::Ge } else { CmpOp::Le };
    let mark = ctx.mark();
    assume(ctx, access);
    let covered = known.as_ref().is_some_and(|k| ctx.proves(op, k, &new));
    ctx.forget(mark);
    match known {
        Some(known) if covered => known,
        known => pick(ctx, known, new, larger),
    }
}

/// The access with every remainder `a - b·⌊a / b⌋` in its index as any number in `[0, b)`, if there are such.
fn remainders_as_counters(ctx: &mut Context, a: &Access) -> Option<Access> {
    let mut free = a.clone();
    let mark = ctx.mark();
    assume(ctx, a);
    loop {
        let quotients = free.index.terms().flat_map(|(m, _)| m);
        let quotients: BTreeSet<Atom> = quotients
            .filter(|x| matches!(x, Atom::FloorDiv(..)))
            .cloned()
            .collect();
        let mut found = Vec::new();
        for q in &quotients {
            found.extend(without_remainder(ctx, &free.index, q, &quotients));
        }
        // What the index is made of has fewer terms than what it only could be made of.
        let Some((index, counter)) = found.into_iter().min_by_key(|(i, _)| i.terms().count())
        else {
            break;
        };
        free.index = canon::idx(&index);
        free.loops.push(counter);
    }
    ctx.forget(mark);
    (free.index != a.index).then_some(free)
}

/// `index` with a counter in place of a remainder of the division that `quotient` is of, and the counter: of
/// `a - b·⌊a / b⌋`, or of a quotient `p = ⌊a / c⌋`, as `⌊a / b⌋ = ⌊p / (b/c)⌋`.
fn without_remainder(
    ctx: &mut Context,
    index: &Idx,
    quotient: &Atom,
    others: &BTreeSet<Atom>,
) -> Vec<(Idx, (Sym, Idx))> {
    let Atom::FloorDiv(a, b) = quotient else {
        return vec![];
    };
    let mut slope = Vec::new();
    for (monomial, c) in index.terms() {
        let (own, others): (Vec<&Atom>, Vec<&Atom>) = monomial.iter().partition(|x| *x == quotient);
        match own.len() {
            0 => {}
            1 => slope.push((others.into_iter().cloned().collect(), c)),
            _ => return vec![],
        }
    }
    let slope = &-&Idx::from_terms(slope);
    let mut divided = vec![((**a).clone(), (**b).clone())];
    for finer in others {
        if let Atom::FloorDiv(x, c) = finer
            && x == a
            && c != b
            && let (b_by_c, rest) = divide(b, c)
            && rest.is_zero()
            && ctx.proves(CmpOp::Ge, c, &Idx::constant(1))
        {
            divided.push((Idx::atom(finer.clone()), b_by_c));
        }
    }
    let mut all = Vec::new();
    for (a, b) in divided {
        // `slope·q` has a part of `-slope/b · (a - b·q)`.
        let (times, _) = divide(slope, &b);
        if times.is_zero() || !ctx.proves(CmpOp::Ge, &b, &Idx::constant(1)) {
            continue;
        }
        let remainder = &a - &(&b * &Idx::atom(quotient.clone()));
        let r = ctx.fresh.name("r");
        let rest = index - &(&times * &remainder);
        all.push((&rest + &(&times * &Idx::sym(r.clone())), (r, b)));
    }
    all
}

/// More places than this are not taken for what an index of some type names.
pub const MOST_BY_TYPE: i128 = 1 << 16;

/// The same of an index of which no more is known than its type and what was computed last, if that is narrow.
pub(crate) fn by_types(ctx: &mut Context, a: &Access) -> Option<(Idx, Idx)> {
    let mut wider = a.clone();
    wider.index = a.index.map_atoms(&mut |atom| {
        let Atom::Value(e) = atom else { return None };
        let (low, high) = ranges::of(e);
        if high - low >= MOST_BY_TYPE {
            return None;
        }
        let var = ctx.fresh.name("v");
        wider
            .loops
            .push((var.clone(), Idx::constant(high - low + 1)));
        Some(&Idx::constant(low) + &Idx::sym(var))
    });
    (wider.index != a.index)
        .then(|| interval(ctx, &wider, None, None))
        .flatten()
}

/// The access with tiles as one loop, and with every index that the data decides, but within bounds that can be
/// seen (the place of a maximum so far), replaced by any index within these bounds.
pub(crate) fn within_values(ctx: &mut Context, a: &Access) -> Access {
    let mut wider = a.clone();
    // A limit stays what it is, whatever the data says.
    let is_limit = |a: &&Atom| matches!(a, Atom::Min(..) | Atom::Max(..));
    let limits = a.index.terms().flat_map(|(m, _)| m).filter(is_limit);
    for limit in limits.filter(|l| Idx::atom((*l).clone()).has_values()) {
        let e = Elem::of_idx(ScalarType::I64, Idx::atom(limit.clone()));
        let range = clamp::range(ctx, &e, &a.loops, &a.path);
        widen(ctx, &mut wider, range, &|a| a == limit);
    }
    let mut values = Vec::new();
    wider.index.for_each_value(&mut |e| values.push(e.clone()));
    for value in values {
        let mark = ctx.mark();
        assume(ctx, a);
        let range = range(ctx, &value, a);
        ctx.forget(mark);
        let is = |a: &Atom| matches!(a, Atom::Value(e) if *e == value);
        widen(ctx, &mut wider, range, &is);
    }
    wider.index = canon::idx(&wider.index);
    in_one_range(ctx, &wider)
}

/// Replaces what lies between these bounds, if they are known, by any index between them.
fn widen(ctx: &mut Context, a: &mut Access, range: Option<(Idx, Idx)>, is: &dyn Fn(&Atom) -> bool) {
    let Some((low, high)) = range else { return };
    let var = ctx.fresh.name("v");
    let any = &low + &Idx::sym(var.clone());
    a.index = (a.index).map_atoms(&mut |atom| is(atom).then(|| any.clone()));
    a.loops.push((var, &(&high - &low) + &Idx::constant(1)));
}

/// Between which polynomials over the sizes a value lies where the access is made, by the last operation that made it
/// or by what is said of it.
fn range(ctx: &mut Context, e: &ElemRef, a: &Access) -> Option<(Idx, Idx)> {
    let loops = &a.loops;
    if let Some(ends) = ctx.found_between(e) {
        return Some(ends);
    }
    match &**e {
        Elem::Fold(f) => range_of_fold(ctx, f, loops),
        // What is a number of the other type, too, stays what it is.
        Elem::Convert(to, inner) if to.is_int() && inner.ty().is_int() => {
            let ends = range(ctx, inner, a)?;
            keeps_within(ctx, *to, ends)
        }
        // A place in a row, from where the row begins.
        Elem::Binary(BinOp::Add, x, y) if e.ty().is_int() => {
            let (x, y) = (ends(ctx, x, a)?, ends(ctx, y, a)?);
            keeps_within(ctx, e.ty(), (&x.0 + &y.0, &x.1 + &y.1))
        }
        // No bit is set that is not set in the mask.
        Elem::Binary(BinOp::And, a, b) => {
            let mask = index_like(b).or_else(|| index_like(a))?;
            let mask = bound(ctx, &mask, loops, true).filter(|m| ctx.is_over_params(m))?;
            if !ctx.is_non_negative(&mask) {
                ctx.guard(Guard::NonNegative(mask.clone()));
            }
            Some((Idx::default(), mask))
        }
        // Less than the divisor, if there is one.
        Elem::Binary(BinOp::Remainder, _, b) if !e.ty().is_signed() => {
            let size = index_like(b).filter(|b| ctx.is_over_params(b))?;
            Some((Idx::default(), &size - &Idx::constant(1)))
        }
        _ if reach::is_beyond_sizes(e) => {
            clamp::range(ctx, e, loops, &a.path).or_else(|| range_by_parts(ctx, e, a))
        }
        _ => None,
    }
}

/// The same of what the data chooses, or takes off.
fn range_by_parts(ctx: &mut Context, e: &ElemRef, a: &Access) -> Option<(Idx, Idx)> {
    match &**e {
        Elem::Binary(BinOp::Subtract, x, y) if e.ty().is_int() => {
            let (x, y) = (ends(ctx, x, a)?, ends(ctx, y, a)?);
            keeps_within(ctx, e.ty(), (&x.0 - &y.1, &x.1 - &y.0))
        }
        // One or the other.
        Elem::Select(c, t, f) if e.ty().is_int() => {
            let mut under = |c: ElemRef, x: &ElemRef| {
                let mark = ctx.mark();
                ctx.assume(c);
                let found = ends(ctx, x, a);
                ctx.forget(mark);
                found
            };
            let (t, f) = (under(c.clone(), t)?, under(Elem::not(c.clone()), f)?);
            let low = pick(ctx, Some(t.0), f.0, false);
            Some((low, pick(ctx, Some(t.1), f.1, true)))
        }
        _ => None,
    }
}

/// [`range`], also of what is a polynomial over counters and sizes.
fn ends(ctx: &mut Context, e: &ElemRef, a: &Access) -> Option<(Idx, Idx)> {
    match index_like(e) {
        Some(p) => Some((
            bound(ctx, &p, &a.loops, false)?,
            bound(ctx, &p, &a.loops, true)?,
        )),
        None => range(ctx, e, a),
    }
}

/// The ends, of which it is shown, or made a guard, that they are numbers of the type.
fn keeps_within(ctx: &mut Context, ty: ScalarType, (low, high): (Idx, Idx)) -> Option<(Idx, Idx)> {
    let (least, most) = (ty.min_value().into(), ty.max_value().into());
    let ends = [(&low, CmpOp::Ge, &least), (&high, CmpOp::Le, &most)];
    let mut open = Vec::from(ends);
    open.retain(|(end, op, limit)| !ctx.proves(*op, end, limit));
    // (A number that is none of the type is no guard: no call would meet it.)
    let may_be = |end: &Idx| end.as_constant().is_none();
    if !open
        .iter()
        .all(|(end, ..)| ctx.is_over_params(end) && may_be(end))
    {
        return None;
    }
    for (end, ..) in open {
        ctx.guard(Guard::Fits(end.clone(), ty));
    }
    Some((low, high))
}

/// The least and the largest value of a fold each of whose steps keeps the value or sets it to an index: by
/// induction over the steps.
fn range_of_fold(ctx: &mut Context, f: &Fold, loops: &[(Sym, Idx)]) -> Option<(Idx, Idx)> {
    let fold = Arc::new(Elem::Fold(Arc::new(f.clone()))).freshen(&mut ctx.fresh);
    let mut found = Vec::new();
    if !set_to(&fold, &mut Vec::new(), loops, &mut found) {
        return None;
    }
    let (mut low, mut high) = (None, None);
    for (i, all) in found {
        let mark = ctx.mark();
        for (var, extent) in &all[loops.len()..] {
            ctx.assume_in_range(var, extent);
        }
        let (l, h) = (bound(ctx, &i, &all, false), bound(ctx, &i, &all, true));
        ctx.forget(mark);
        low = Some(pick(ctx, low, l?, false));
        high = Some(pick(ctx, high, h?, true));
    }
    Some((low?, high?))
}

/// An index, and the loops around the place where it is one.
type SetTo = (Idx, Vec<(Sym, Idx)>);

/// Whether a value is one of some indices, or that of an accumulator around it: those indices.
fn set_to(e: &ElemRef, accs: &mut Vec<Sym>, loops: &[(Sym, Idx)], out: &mut Vec<SetTo>) -> bool {
    match &**e {
        Elem::Acc(name, _) if accs.contains(name) => true,
        Elem::Select(_, a, b) | Elem::Binary(BinOp::Minimum | BinOp::Maximum, a, b) => {
            set_to(a, accs, loops, out) && set_to(b, accs, loops, out)
        }
        // In rounds within rounds, as over the rows of a window and along each of them.
        Elem::Fold(f) => {
            let inside = [loops, &[(f.var.clone(), f.extent.clone())]].concat();
            let before = set_to(&f.init, accs, loops, out);
            accs.push(f.acc.clone());
            let all = before && set_to(&f.step, accs, &inside, out);
            accs.pop();
            all
        }
        _ => match index_like(e) {
            Some(i) => {
                out.push((i, loops.to_vec()));
                true
            }
            None => false,
        },
    }
}

#[cfg(test)]
mod tests;
