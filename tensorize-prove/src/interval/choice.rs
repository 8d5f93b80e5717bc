//! Accesses whose place a condition on counters chooses, as several ones: `u[i == 0 ? n - 1 : i - 1]`, or a place that is mirrored
//! at a border.

use super::keeps_within;
use crate::bound::bound;
use crate::canon;
use crate::cases::given;
use crate::conditions::is_index_condition;
use crate::context::Context;
use crate::eval::index_like;
use crate::exec::Access;
use crate::matching::assume;
use crate::settle::polynomials;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::CmpOp;

/// The two accesses that one is whose place a condition on counters chooses, as in `u[i == 0 ? n - 1 : i - 1]`; the one of
/// them that is made at all, if what it is made under rules the other out. (A condition on sizes alone is better made a guard.)
pub(super) fn by_choice(ctx: &mut Context, a: &Access) -> Option<Vec<Access>> {
    /// Conditions that are told apart, one within the other.
    const MOST: usize = 8;
    if a.path.len() > MOST {
        return None;
    }
    let chooses = |c: &ElemRef| is_index_condition(c) && a.loops.iter().any(|(v, _)| c.mentions(v));
    let mut choice = None;
    let mark = ctx.mark();
    assume(ctx, a);
    a.index.for_each_value(&mut |e| {
        let stripped = without_conversions(signed(ctx, e).unwrap_or(e));
        if let Some(c) = chosen_by(stripped, &chooses) {
            choice.get_or_insert((e.clone(), c.clone(), stripped.clone()));
        }
    });
    ctx.forget(mark);
    let (whole, c, stripped) = choice?;
    let not = Elem::not(c.clone());
    let mut with = |holds: &ElemRef, fails: &ElemRef| {
        let mut one = a.clone();
        one.path.push(canon::elem(holds));
        let mark = ctx.mark();
        assume(ctx, &one);
        let value = canon::elem(&given(&stripped, holds, fails));
        compares_numbers(ctx, &value, &one.loops);
        let value = ctx.settle(&value);
        // A sum that its type holds is the number itself.
        let sum = canon::polynomial(&value).filter(|p| ctx.is_value_of(value.ty(), p));
        let number = sum.or_else(|| ctx.number(&value));
        ctx.forget(mark);
        let place = number.unwrap_or_else(|| Idx::value(value));
        one.index = canon::idx(&a.index.map_atoms(&mut |atom| match atom {
            Atom::Value(e) if *e == whole => Some(place.clone()),
            _ => None,
        }));
        let never = |c: &ElemRef| match &*canon::elem(&given(c, holds, fails)) {
            Elem::Const(v) => !v.is_true(),
            _ => false,
        };
        let made = !a.path.iter().any(never);
        made.then_some(one)
    };
    let both = [with(&c, &not), with(&not, &c)];
    Some(both.into_iter().flatten().collect())
}

/// Asks of the sizes that what a choice compares are numbers of its type in all rounds, where that can't be shown: C leaves it
/// undefined if `i + j` is none.
fn compares_numbers(ctx: &mut Context, e: &ElemRef, loops: &[(Sym, Idx)]) {
    let mut compared = Vec::new();
    e.visit(&mut |x| {
        if let Elem::Compare(_, a, _) | Elem::Binary(_, a, _) = &**x
            && a.ty().is_signed()
            && let Some((p, q)) = polynomials(x)
        {
            compared.extend([(a.ty(), p), (a.ty(), q)]);
        }
    });
    for (ty, p) in compared {
        if !ctx.is_value_of(ty, &p)
            && let Some(ends) = bound(ctx, &p, loops, false).zip(bound(ctx, &p, loops, true))
        {
            keeps_within(ctx, ty, ends);
        }
    }
}

/// The first such condition by which a number is chosen, or one that a choice compares, as where a place beyond the border is
/// mirrored: `i < 0 ? -i : i`, and then `i >= n ? 2 * n - 2 - i : i`.
fn chosen_by<'a>(e: &'a ElemRef, such: &dyn Fn(&ElemRef) -> bool) -> Option<&'a ElemRef> {
    match &**e {
        Elem::Select(c, ..) if such(c) => Some(c),
        Elem::Fold(_) | Elem::Read { .. } => None,
        _ => e.children().into_iter().find_map(|x| chosen_by(x, such)),
    }
}

/// The unsigned integer before it was made a signed one of as many bits, if it is one or another polynomial, each a number
/// of the signed type.
fn signed<'a>(ctx: &mut Context, e: &'a ElemRef) -> Option<&'a ElemRef> {
    let Elem::Convert(to, inner) = &**e else {
        return None;
    };
    let Elem::Select(_, t, f) = &**inner else {
        return None;
    };
    let (least, most) = (to.min_value().into(), to.max_value().into());
    let as_many = to.is_int() && inner.ty().is_int() && to.bits() == inner.ty().bits();
    let mut fits = |branch: &ElemRef| {
        index_like(branch)
            .is_some_and(|p| ctx.proves(CmpOp::Ge, &p, &least) && ctx.proves(CmpOp::Le, &p, &most))
    };
    (as_many && fits(t) && fits(f)).then_some(inner)
}

/// The integer before it was made wider.
fn without_conversions(e: &ElemRef) -> &ElemRef {
    match &**e {
        Elem::Convert(to, inner) if inner.ty().fits_in(*to) => without_conversions(inner),
        _ => e,
    }
}
