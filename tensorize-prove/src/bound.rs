//! Between which polynomials over the sizes an index lies.

use crate::canon;
use crate::context::Context;
use crate::decode::divide;
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::CmpOp;

/// A polynomial over the parameters that is at least (`upper`) or at most `p`, in every round of the `loops`: counters
/// are replaced by the end of their range at which `p` is largest (or smallest), innermost first.
pub fn bound(ctx: &mut Context, p: &Idx, loops: &[(Sym, Idx)], upper: bool) -> Option<Idx> {
    let mut p = canon::idx(p);
    let depends = |n: &Idx| loops.iter().any(|(v, _)| n.mentions(v));
    let ragged = loops.iter().any(|(_, n)| depends(n));
    for (var, extent) in loops.iter().rev() {
        if !p.mentions(var) {
            continue;
        }
        let extent = &of_rounds(extent);
        let Some((slope, rest)) = p.linear_in(var) else {
            let mut sizes = Vec::new();
            let way =
                way(ctx, &p, var, &mut sizes).or_else(|| way_of_steps(ctx, &p, (var, extent)));
            let end = match way {
                Some(rises) if rises == upper => Some(extent - &Idx::constant(1)),
                Some(_) => Some(Idx::default()),
                None => None,
            };
            if end.is_some() {
                let guards = sizes.into_iter().map(Guard::NonNegative);
                guards.for_each(|g| ctx.guard(g));
            }
            p = match end {
                Some(end) => canon::idx(&p.replace(var, &end)),
                None => bound_in_quotients(ctx, &p, (var, extent), upper)
                    .or_else(|| loosely(ctx, &p, (var, extent), upper).filter(|_| ragged))?,
            };
            continue;
        };
        let rises = if ctx.is_non_negative(&slope) {
            true
        } else if ctx.is_non_negative(&-&slope) {
            false
        } else if ctx.is_over_params(&slope) {
            // A stride such as a leading dimension, or what is taken off for each row, as in `(n - 1 - i) * lda`: sizes
            // that are negative are left to the original.
            let falls = slope.terms().all(|(_, c)| c < 0);
            let size = if falls { -&slope } else { slope.clone() };
            ctx.guard(Guard::NonNegative(size));
            !falls
        } else {
            return None;
        };
        p = if rises == upper {
            &rest + &(&slope * &(extent - &Idx::constant(1)))
        } else {
            rest
        };
    }
    Some(p)
}

/// [`bound`] with one side of a minimum or maximum for the whole, as the last element of a row of a band matrix,
/// `lda·j - j + min(m, j + k)`, is no further than `lda·j + k`. No round need be there: for rows of several lengths only, of which
/// nobody takes it that all is touched.
fn loosely(ctx: &mut Context, p: &Idx, (var, extent): (&Sym, &Idx), upper: bool) -> Option<Idx> {
    let mut sides = Vec::new();
    for (monomial, c) in p.terms() {
        let [atom @ (Atom::Max(a, b) | Atom::Min(a, b))] = monomial else {
            continue;
        };
        let is_most = matches!(atom, Atom::Min(..)) == (c > 0);
        if is_most == upper && atom.mentions(var) {
            let rest = p - &(&Idx::constant(c) * &Idx::atom(atom.clone()));
            let with = |side: &Idx| canon::idx(&(&rest + &(&Idx::constant(c) * side)));
            sides.extend([with(a), with(b)]);
        }
    }
    // What leaves fewer terms that move is closer.
    sides.sort_by_key(|p| {
        p.terms()
            .filter(|(m, _)| m.iter().any(|a| a.mentions(var)))
            .count()
    });
    let range = [(var.clone(), extent.clone())];
    sides
        .iter()
        .find_map(|side| bound(ctx, side, &range, upper))
}

/// How many rounds a loop has, if it has any: of `max(0, n)`, that is `n`.
pub fn of_rounds(extent: &Idx) -> Idx {
    let inner = extent.as_atom().and_then(|a| match a {
        Atom::Max(a, b) if a.is_zero() => Some(&**b),
        Atom::Max(a, b) if b.is_zero() => Some(&**a),
        _ => None,
    });
    inner.unwrap_or(extent).clone()
}

/// [`direction`] of `p` as it stands or, where the terms go different ways, of `p` with the others taken into a limit:
/// `k - max(0, k - c)` is `min(k, c)`, which goes one way.
fn way(ctx: &mut Context, p: &Idx, var: &Sym, sizes: &mut Vec<Idx>) -> Option<bool> {
    let mut forms = vec![p.clone()];
    forms.extend(into_limits(p, var));
    forms.iter().find_map(|form| {
        let mut needed = Vec::new();
        let found = direction(ctx, form, var, &mut needed)?;
        sizes.extend(needed);
        Some(found)
    })
}

/// Whether `p` never falls (`true`), or never rises (`false`), from one round to the next: `n·k - ⌊(k² + k) / 2⌋`, where the
/// rows of a triangle begin that get shorter, rises by `n - k - 1`.
fn way_of_steps(ctx: &mut Context, p: &Idx, (var, extent): (&Sym, &Idx)) -> Option<bool> {
    let one = Idx::constant(1);
    // In any round: what is known of the counter may be so in some rounds only, in which something is touched.
    let any: Sym = format!("{var}@any").into();
    let now = p.replace(var, &Idx::sym(any.clone()));
    let next = p.replace(var, &(&Idx::sym(any.clone()) + &one));
    let step = canon::idx(&(&next - &now));
    let mark = ctx.mark();
    ctx.assume_in_range(&any, &(extent - &one));
    let way = match () {
        () if ctx.is_non_negative(&step) => Some(true),
        () if ctx.is_non_negative(&-&step) => Some(false),
        () => None,
    };
    ctx.forget(mark);
    way
}

/// The same number with all other terms taken into one `min` or `max` of the counter: `r + max(a, b) = max(r + a, r + b)`
/// and `r - max(a, b) = min(r - a, r - b)`. Of a multiple, as the rows of `k - max(0, k - m)` are of their length, the same
/// within what is multiplied.
fn into_limits(p: &Idx, var: &Sym) -> Vec<Idx> {
    let whole = |(monomial, c): (&[Atom], i128)| {
        let at = monomial
            .iter()
            .position(|atom| matches!(atom, Atom::Max(..) | Atom::Min(..)) && atom.mentions(var))?;
        let mut others = monomial.to_vec();
        let atom = others.remove(at);
        let factor = Idx::from_terms([(others, c.abs())]);
        let (multiple, left) = divide(p, &factor);
        if factor.mentions(var) || left.mentions(var) {
            return None;
        }
        let limit = into_limit(&multiple, &atom, c > 0)?;
        Some(&(&factor * &limit) + &left)
    };
    p.terms().filter_map(whole).collect()
}

/// The polynomial, of which this minimum or maximum is a term, added or not, as one of all of it.
fn into_limit(p: &Idx, atom: &Atom, added: bool) -> Option<Idx> {
    let (Atom::Max(a, b) | Atom::Min(a, b)) = atom else {
        return None;
    };
    let limit = Idx::atom(atom.clone());
    let rest = if added { p - &limit } else { p + &limit };
    let side = |x: &Idx| canon::idx(&if added { &rest + x } else { &rest - x });
    let (a, b) = (side(a), side(b));
    // A negative sign makes of the larger of two the smaller one.
    Some(match (atom, added) {
        (Atom::Max(..), true) | (Atom::Min(..), false) => a.maximum(&b),
        _ => a.minimum(&b),
    })
}

/// Whether `p` never falls (`true`), or never rises (`false`), while the counter does: every term that has the counter
/// goes one way, as `max(0, i - 1)`, `min(n - 1, i + 1)` and `⌊i·s / d⌋` do. So the ends of the range give its ends.
/// That is so if these `sizes` are not negative.
fn direction(ctx: &mut Context, p: &Idx, var: &Sym, sizes: &mut Vec<Idx>) -> Option<bool> {
    let mut all = None;
    for (monomial, coefficient) in p.terms() {
        let (with, others): (Vec<&Atom>, Vec<&Atom>) =
            monomial.iter().partition(|a| a.mentions(var));
        let rises = match with[..] {
            [] => continue,
            [atom] => direction_of_atom(ctx, atom, var, sizes)?,
            // A power of the counter, which is not negative.
            _ if with.iter().all(|a| matches!(a, Atom::Sym(_))) => true,
            _ => return None,
        };
        let mut factor = Idx::constant(1);
        for other in others {
            factor = &factor * &Idx::atom(other.clone());
        }
        let positive = if ctx.is_non_negative(&factor) {
            true
        } else if ctx.is_non_negative(&-&factor) {
            false
        } else if ctx.is_over_params(&factor) {
            sizes.push(factor);
            true
        } else {
            return None;
        };
        let same = rises == (positive == (coefficient > 0));
        if all.replace(same).is_some_and(|before| before != same) {
            return None;
        }
    }
    all
}

fn direction_of_atom(
    ctx: &mut Context,
    atom: &Atom,
    var: &Sym,
    sizes: &mut Vec<Idx>,
) -> Option<bool> {
    match atom {
        Atom::Sym(_) => Some(true),
        Atom::Max(a, b) | Atom::Min(a, b) => match (a.mentions(var), b.mentions(var)) {
            (true, false) => direction(ctx, a, var, sizes),
            (false, true) => direction(ctx, b, var, sizes),
            _ => {
                direction(ctx, a, var, sizes).filter(|d| direction(ctx, b, var, sizes) == Some(*d))
            }
        },
        Atom::FloorDiv(a, b) if !b.mentions(var) && ctx.proves(CmpOp::Ge, b, &Idx::constant(1)) => {
            direction(ctx, a, var, sizes)
        }
        _ => None,
    }
}

/// [`bound`] where the counter stands in one quotient `⌊a / b⌋` by what is positive, which rises with `a`, or in
/// one remainder. Only where the end is reached: what lies beyond belongs to nobody.
fn bound_in_quotients(
    ctx: &mut Context,
    p: &Idx,
    (var, extent): (&Sym, &Idx),
    upper: bool,
) -> Option<Idx> {
    let one = Idx::constant(1);
    let quotient = p
        .terms()
        .flat_map(|(m, _)| m)
        .find(|atom| matches!(atom, Atom::FloorDiv(a, b) if a.mentions(var) && !b.mentions(var)))?;
    let Atom::FloorDiv(a, b) = quotient else {
        return None;
    };
    if !ctx.proves(CmpOp::Ge, b, &one) {
        return None;
    }
    let range = [(var.clone(), extent.clone())];
    let (low, high) = (bound(ctx, a, &range, false)?, bound(ctx, a, &range, true)?);
    // A remainder is below the divisor, and no more than what is divided.
    let remainder = &**a - &(&**b * &Idx::atom(quotient.clone()));
    for (rest, added) in [(p - &remainder, true), (p + &remainder, false)] {
        if rest.mentions(var) {
            continue;
        }
        let one_by_one = a
            .linear_in(var)
            .and_then(|(s, _)| s.as_constant())
            .is_some_and(|s| s.abs() == 1);
        let last = &**b - &one;
        let all = one_by_one && ctx.proves(CmpOp::Ge, &(&high - &low), &last);
        let end = match (upper == added, ctx.is_non_negative(&low)) {
            (true, true) if ctx.proves(CmpOp::Lt, &high, b) => high,
            (true, true) if one_by_one && ctx.proves(CmpOp::Lt, &low, b) => last.minimum(&high),
            (true, _) if all => last,
            (false, _) if all || low.is_zero() => Idx::default(),
            _ => return None,
        };
        return Some(if added { &rest + &end } else { &rest - &end });
    }
    let q = ctx.fresh.name("q");
    let (low, high) = (low.floor_div(b), high.floor_div(b));
    let alone = p.map_atoms(&mut |x| (x == quotient).then(|| &low + &Idx::sym(q.clone())));
    if alone.mentions(var) {
        return None;
    }
    bound(ctx, &alone, &[(q, &(&high - &low) + &one)], upper)
}
