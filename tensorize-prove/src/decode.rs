//! Which round of a nest of loops a location belongs to.

use crate::bound::{bound, of_rounds};
use crate::canon;
use crate::chain::and;
use crate::context::Context;
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::CmpOp;

/// The only values of the loop variables at which `index` can be `at`, if it can be at all and they are
/// within their ranges. `None` if that is not known to be unique. Whether `index` is `at` there is not said: with
/// strides that leave gaps, it need not be.
///
/// With strides c₁, c₂, … (largest first) this is positional notation: if the inner part of the index,
/// c₂·k₂ + …, always lies in [0, c₁), and so does the remainder of `at`, then quotient and remainder
/// must agree, because q·c + r = q'·c + r' with r, r' in [0, c) gives q = q' and r = r'.
pub fn decode(ctx: &mut Context, loops: &[(Sym, Idx)], index: &Idx, at: &Idx) -> Option<Vec<Idx>> {
    for (x, (outer, _)) in loops.iter().enumerate() {
        for (y, (_, extent)) in loops.iter().enumerate() {
            let slope = of_rounds(extent).linear_in(outer);
            let slope = slope.and_then(|(s, _)| s.as_constant());
            if x == y || slope != Some(-1) {
                continue;
            }
            let saved = ctx.save();
            if let Some(position) = in_triangle(ctx, loops, (x, y), index, at) {
                return Some(position);
            }
            ctx.restore(saved);
        }
    }
    let saved = ctx.save();
    let position = in_rectangle(ctx, loops, index, at);
    if position.is_some() {
        return position;
    }
    ctx.restore(saved);
    (0..loops.len()).find_map(|i| {
        let saved = ctx.save();
        let position = on_diagonal(ctx, loops, i, index, at);
        if position.is_none() {
            ctx.restore(saved);
        }
        position
    })
}

/// [`decode`] where a counter goes down rows and columns at once, as in `a[i·n + i]`: as if these were two counters.
fn on_diagonal(
    ctx: &mut Context,
    loops: &[(Sym, Idx)],
    i: usize,
    index: &Idx,
    at: &Idx,
) -> Option<Vec<Idx>> {
    let (var, extent) = &loops[i];
    let (stride, rest) = canon::idx(index).linear_in(var)?;
    let row = stride
        .terms()
        .max_by_key(|(m, c)| (m.len(), c.abs()))
        .map(|(m, c)| Idx::from_terms([(m.to_vec(), c)]))?;
    let column = &stride - &row;
    if column.is_zero() {
        return None;
    }
    let names = [ctx.fresh.name(var), ctx.fresh.name(var)];
    let [r, c] = names.clone().map(Idx::sym);
    let index = &(&rest + &(&row * &r)) + &(&column * &c);
    let apart = loops.iter().enumerate().flat_map(|(j, (other, n))| {
        let counters = match j == i {
            true => names.to_vec(),
            false => vec![other.clone()],
        };
        let n = if j == i { extent } else { n };
        let n = n.replace(var, &r);
        counters.into_iter().map(move |name| (name, n.clone()))
    });
    let apart: Vec<(Sym, Idx)> = apart.collect();
    let mut position = decode(ctx, &apart, &index, at)?;
    position.remove(i + 1);
    Some(position)
}

/// [`decode`] where `y` runs up to a size less `x`, as the columns from the diagonal on do: `x + y` and what the row begins
/// with, which is the column, runs up to a size. All rounds are among those of the rectangle of the two.
fn in_triangle(
    ctx: &mut Context,
    loops: &[(Sym, Idx)],
    (x, y): (usize, usize),
    index: &Idx,
    at: &Idx,
) -> Option<Vec<Idx>> {
    let (inner, extent) = &loops[y];
    let (stride, rest) = canon::idx(index).linear_in(inner)?;
    let constant = |i: Idx| i.terms().find(|(m, _)| m.is_empty()).map_or(0, |(_, c)| c);
    let first = Idx::constant(constant(divide(&rest, &stride).0).max(0));
    let diagonal = &Idx::sym(loops[x].0.clone()) + &first;
    let column = ctx.fresh.name(inner);
    let less = &Idx::sym(column.clone()) - &diagonal;
    // Where there are no rounds, none is anywhere.
    let size = canon::idx(&(&of_rounds(extent) + &diagonal));
    let rectangle = loops.iter().enumerate().map(|(i, (var, n))| match i {
        i if i == y => (column.clone(), size.clone()),
        _ => (var.clone(), n.replace(inner, &less)),
    });
    let rectangle: Vec<(Sym, Idx)> = rectangle.collect();
    let mut position = decode(ctx, &rectangle, &index.replace(inner, &less), at)?;
    position[y] = canon::idx(&(&(&position[y] - &position[x]) - &first));
    Some(position)
}

/// [`decode`] by the strides as they are.
fn in_rectangle(
    ctx: &mut Context,
    loops: &[(Sym, Idx)],
    index: &Idx,
    at: &Idx,
) -> Option<Vec<Idx>> {
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
    // What counts down counts up from the other end. That is so whatever sign the stride has; if a row's is a parameter, that it is
    // long enough for what lies in it is shown or asked below. An end that another counter says is none to count from.
    let mut downward = vec![false; loops.len()];
    for (i, (_, extent)) in loops.iter().enumerate() {
        let up = -&strides[i];
        let same_end = !loops.iter().any(|(v, _)| extent.mentions(v));
        if strides[i].terms().all(|(_, c)| c < 0) && same_end {
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
        None => {
            let saved = ctx.save();
            match in_a_part(ctx, loops, &strides, &order, rest, at) {
                Some(position) => position,
                None => {
                    ctx.restore(saved);
                    positions(ctx, &strides, &order, remainder)?
                }
            }
        }
    };
    for (i, (_, extent)) in loops.iter().enumerate() {
        if downward[i] {
            position[i] = canon::idx(&(&(extent - &Idx::constant(1)) - &position[i]));
        }
    }
    Some(position)
}

/// The condition under which `at` is one of the places `index` of these loops; `None` if there is no telling.
pub(crate) fn is_among(
    ctx: &mut Context,
    loops: &[(Sym, Idx)],
    index: &Idx,
    at: &Idx,
) -> Option<ElemRef> {
    let position = match loops {
        [] => vec![],
        _ => decode(ctx, loops, index, at)?,
    };
    Some(hits(loops, index, &position, at))
}

/// Whether an access in these loops, which hits the place in the round at `position` or in none, does hit it.
pub(crate) fn hits(loops: &[(Sym, Idx)], index: &Idx, position: &[Idx], at: &Idx) -> ElemRef {
    let with = at_position(loops, position);
    let mut cond = Elem::index_compare(CmpOp::Eq, index.substitute(&with), at.clone());
    for ((_, n), p) in loops.iter().zip(position) {
        let zero = Idx::default();
        cond = and(cond, Elem::index_compare(CmpOp::Ge, p.clone(), zero));
        let n = n.substitute(&with);
        cond = and(cond, Elem::index_compare(CmpOp::Lt, p.clone(), n));
    }
    cond
}

/// The round at `position`, as what is put in for the loops' counters.
pub(crate) fn at_position(
    loops: &[(Sym, Idx)],
    position: &[Idx],
) -> impl Fn(&Sym) -> Option<Idx> + use<> {
    debug_assert_eq!(
        loops.len(),
        position.len(),
        "a position has an index a loop"
    );
    let counters = loops.iter().map(|(v, _)| v.clone());
    let at: BTreeMap<Sym, Idx> = counters.zip(position.iter().cloned()).collect();
    move |s| at.get(s).cloned()
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

/// The position by dividing polynomials, where the rounds are those of a part that begins within the rows, at `first`: as in
/// `index`, what is right of a row's beginning is less than a row for `at`.
fn in_a_part(
    ctx: &mut Context,
    loops: &[(Sym, Idx)],
    strides: &[Idx],
    order: &[usize],
    mut first: Idx,
    at: &Idx,
) -> Option<Vec<Idx>> {
    let (innermost, outer) = order.split_last()?;
    let mut position = vec![Idx::default(); strides.len()];
    let mut left = canon::idx(at);
    for (depth, &i) in outer.iter().enumerate() {
        let stride = &strides[i];
        let (begin, column) = divide(&first, stride);
        if !at_least_zero(ctx, &column) {
            return None;
        }
        let mark = ctx.mark();
        let mut inner = column.clone();
        for (var, extent) in loops {
            ctx.assume_in_range(var, extent);
        }
        for &j in &order[depth + 1..] {
            inner = &inner + &(&strides[j] * &Idx::sym(loops[j].0.clone()));
        }
        let inside = ctx.is_non_negative(&inner)
            && (ctx.proves(CmpOp::Lt, &inner, stride)
                || leading_dimension(ctx, &inner, stride, loops));
        ctx.forget(mark);
        if !inside {
            return None;
        }
        let (row, rest) = match quotient_and_rest(ctx, &left, stride) {
            Some(found) => found,
            // A row of the whole lies in a longer one, as those of a vector of vectors may. What has no rows itself is not
            // asked to be one.
            None => {
                let (row, rest) = divide(&left, stride);
                let inside =
                    !row.is_zero() && ctx.is_non_negative(&rest) && within_row(ctx, &rest, stride);
                inside.then_some((row, rest))?
            }
        };
        position[i] = &row - &begin;
        (left, first) = (rest, column);
    }
    let stride = &strides[*innermost];
    position[*innermost] = match exact_quotient(ctx, &(&left - &first), stride) {
        Some(quotient) => quotient,
        None => row_of_column(ctx, &first, &left, stride)?,
    };
    Some(position)
}

/// The only row at which a column that begins at `first` can be `at`, as the last column of some rows and any place in one of
/// them: both lie so far right of the beginning of their rows.
fn row_of_column(ctx: &mut Context, first: &Idx, at: &Idx, stride: &Idx) -> Option<Idx> {
    if stride.as_constant().is_some() {
        return None;
    }
    let (begin, _) = quotient_and_rest(ctx, first, stride)?;
    let (row, _) = quotient_and_rest(ctx, at, stride)?;
    Some(&row - &begin)
}

/// Whether a distance is not negative: shown, or made a guard if it is a size, as the width of a border is.
fn at_least_zero(ctx: &mut Context, distance: &Idx) -> bool {
    if ctx.is_non_negative(distance) {
        return true;
    }
    let some_size = distance.terms().any(|(m, c)| !m.is_empty() && c > 0);
    let may_be = some_size
        && ctx.is_over_params(distance)
        && !ctx.proves(CmpOp::Lt, distance, &Idx::default());
    if may_be {
        ctx.guard(Guard::NonNegative(distance.clone()));
    }
    may_be
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
        let (quotient, left) = match quotient_and_rest(ctx, &remainder, stride) {
            Some(found) => found,
            None if is_positive(ctx, stride) => {
                let quotient = remainder.floor_div(stride);
                let left = canon::idx(&(&remainder - &(stride * &quotient)));
                (quotient, left)
            }
            None => return None,
        };
        position[i] = quotient;
        remainder = left;
    }
    Some(position)
}

/// Quotient and remainder, where the quotient is a polynomial: the remainder is known to lie in [0, `stride`).
fn quotient_and_rest(ctx: &mut Context, at: &Idx, stride: &Idx) -> Option<(Idx, Idx)> {
    let (quotient, left) = divide(at, stride);
    // What is counted down, as in a mirrored row, divides to a remainder below zero: (q+1)·c - 1 - k.
    [0, -1, 1].into_iter().find_map(|more| {
        let more = Idx::constant(more);
        let left = canon::idx(&(&left - &(&more * stride)));
        let inside = ctx.is_non_negative(&left) && ctx.proves(CmpOp::Lt, &left, stride);
        inside.then(|| (&quotient + &more, left))
    })
}

/// Whether `index`, in any round, and `at` are places in other columns of rows that are a parameter apart, as
/// `out[y·pitch + 2]` and `out[z·pitch + 3]` are: if a row is that long, which is a guard.
pub fn in_other_columns(ctx: &mut Context, loops: &[(Sym, Idx)], index: &Idx, at: &Idx) -> bool {
    loops.iter().any(|(var, _)| {
        let Some((pitch, _)) = canon::idx(index).linear_in(var) else {
            return false;
        };
        if pitch.as_constant().is_some() || !ctx.is_over_params(&pitch) {
            return false;
        }
        let (mark, saved) = (ctx.mark(), ctx.save());
        for (var, extent) in loops {
            ctx.assume_in_range(var, extent);
        }
        let [column, other] = [index, at].map(|i| {
            let (_, column) = divide(&canon::idx(i), &pitch);
            // The last column is one before the next row.
            match ctx.proves(CmpOp::Lt, &column, &Idx::default()) {
                true => &column + &pitch,
                false => column,
            }
        });
        let apart = are_apart(ctx, &column, &other, &pitch)
            && [column, other]
                .iter()
                .all(|c| at_least_zero(ctx, c) && within_row(ctx, c, &pitch));
        if apart {
            ctx.forget(mark);
        } else {
            // No guard for nothing.
            ctx.restore(saved);
        }
        apart
    })
}

/// Whether two columns are not the same one, if need be by a guard that a row has more than one.
fn are_apart(ctx: &mut Context, a: &Idx, b: &Idx, pitch: &Idx) -> bool {
    ctx.proves(CmpOp::Ne, a, b)
        || [a - b, b - a].iter().any(|ahead| {
            let room = canon::idx(&(ahead - &Idx::constant(1)));
            has_room(ctx, pitch, &room)
        })
}

/// Whether a column is less than the row is long, if need be by a guard on the last column that there is.
fn within_row(ctx: &mut Context, column: &Idx, pitch: &Idx) -> bool {
    if ctx.proves(CmpOp::Lt, column, pitch) {
        return true;
    }
    last_of(ctx, column).is_some_and(|last| {
        let room = canon::idx(&(&(pitch - &last) - &Idx::constant(1)));
        has_room(ctx, pitch, &room)
    })
}

/// What an index is at most, by the limits of the counters in it.
fn last_of(ctx: &Context, index: &Idx) -> Option<Idx> {
    let mut last = index.clone();
    let mut counters = Vec::new();
    index.for_each_sym(&mut |s| counters.push(s.clone()));
    for counter in counters {
        if ctx.is_over_params(&Idx::sym(counter.clone())) {
            continue;
        }
        let (slope, rest) = last.linear_in(&counter)?;
        if slope.as_constant().is_none_or(|s| s <= 0) {
            return None;
        }
        last = &rest + &(&slope * &(&ctx.limit_of(&counter)? - &Idx::constant(1)));
    }
    Some(last)
}

/// Has a guard see to it that in a row there is room for what lies in it, if that says more than that there are hardly any
/// rows: `n + 1 >= n*n` is about no program.
fn has_room(ctx: &mut Context, row: &Idx, room: &Idx) -> bool {
    let multiple = |m: &[Atom]| {
        let mut parts = row.terms().filter(|(part, _)| !part.is_empty());
        parts.any(|(part, _)| without(m, part).is_some())
    };
    let one = row.as_constant() == Some(1);
    let grows = room.terms().any(|(m, c)| !m.is_empty() && c > 0);
    let hardly_any = one || !grows || room.terms().any(|(m, c)| c < 0 && multiple(m));
    if hardly_any || !ctx.is_over_params(room) || ctx.proves(CmpOp::Lt, room, &Idx::default()) {
        return false;
    }
    ctx.guard(Guard::NonNegative(room.clone()));
    true
}

/// Whether the smallest value in any round is 0, which no product of unknowns says to the solver.
fn starts_at_zero(ctx: &mut Context, inner: &Idx, loops: &[(Sym, Idx)]) -> bool {
    let least = bound(ctx, inner, loops, false);
    least.is_some_and(|l| l.as_constant().is_some_and(|c| c >= 0))
}

/// A row stride that is a parameter of its own has to be as long as a row: what is shorter is left to the
/// original, by a guard.
fn leading_dimension(ctx: &mut Context, inner: &Idx, stride: &Idx, loops: &[(Sym, Idx)]) -> bool {
    if !ctx.is_over_params(stride) {
        return false;
    }
    // Tiles that end where the sizes do are no rows: nobody asks for there being just one.
    let is_tile = |n: &Idx| loops.iter().any(|(v, _)| !is_row(n, v));
    if loops.iter().any(|(_, n)| is_tile(n)) {
        return false;
    }
    // In the rounds so far, rows may be as long as this round says.
    let largest = bound(ctx, inner, loops, true);
    let Some(largest) = largest.and_then(|l| last_of(ctx, &l)) else {
        return false;
    };
    let room = canon::idx(&(&(stride - &largest) - &Idx::constant(1)));
    // A product of unknowns, to the last element.
    if let Some(room) = room.as_constant() {
        return room >= 0;
    }
    has_room(ctx, stride, &room) && ctx.proves(CmpOp::Lt, inner, stride)
}

/// Whether a length is one of rows that grow or shrink by one element each, if not at all: of triangles and trapezoids.
fn is_row(n: &Idx, var: &Sym) -> bool {
    let n = of_rounds(n);
    if n.linear_in(var).is_some() {
        return true;
    }
    let by_one = |p: &Idx| {
        let slope = p.linear_in(var).and_then(|(slope, _)| slope.as_constant());
        slope.is_some_and(|s| s.abs() <= 1)
    };
    matches!(n.as_atom(), Some(Atom::Min(a, b)) if by_one(a) && by_one(b))
}

/// Larger strides have more factors, then larger coefficients.
pub fn size_rank(stride: &Idx) -> (usize, i128) {
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
    let differs = stride.as_constant().is_some() || ctx.proves(CmpOp::Ne, stride, &Idx::default());
    (differs || is_positive(ctx, stride)).then_some(quotient)
}

/// Whether a stride is positive. One that parameters make is: what isn't is left to the original, by a guard.
fn is_positive(ctx: &mut Context, stride: &Idx) -> bool {
    let room = stride - &Idx::constant(1);
    if ctx.is_non_negative(&room) {
        return true;
    }
    let may_be = ctx.is_over_params(stride) && !ctx.proves(CmpOp::Lt, &room, &Idx::default());
    if may_be {
        ctx.guard(Guard::NonNegative(room));
    }
    may_be
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
