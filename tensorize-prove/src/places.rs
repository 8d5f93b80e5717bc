//! Places that the data says, case by case: of `out[c ? k + 1 : k]`, what stands there where `c` holds, and where it does not.

use crate::canon;
use crate::cases::{MOST, chosen_by, given, in_both_cases, index_given};
use crate::chain::{Contents, Effect, and, truth};
use crate::context::Context;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Atom, Idx};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

/// So many times one case is made two at most: more take too long, where nothing can be shown.
const MOST_SPLIT: usize = 96;

/// A place, what is said of it, and the contents of its array.
#[derive(Clone)]
pub(crate) struct Place<'a> {
    pub index: Idx,
    pub value: ElemRef,
    pub contents: &'a Contents,
}

/// Whether a place that is not known to be one from 0 on is so many places from a size on: then that size is not negative,
/// which becomes a guard. (`y.resize(n); for (…) y[i] = …` writes from the old length on, and then all.)
pub fn begins_at_a_size(ctx: &mut Context, place: &Idx) -> bool {
    let is_size = |m: &[Atom]| ctx.is_over_params(&Idx::from_terms([(m.to_vec(), 1)]));
    let sizes = place.terms().filter(|(m, _)| !m.is_empty() && is_size(m));
    let begin = Idx::from_terms(sizes.map(|(m, c)| (m.to_vec(), c)));
    if begin.as_sym().is_none() || !ctx.is_non_negative(&(place - &begin)) {
        return false;
    }
    ctx.guard(Guard::NonNegative(begin));
    true
}

/// Whether a number is zero in each case in which a condition holds.
pub fn is_zero_where(ctx: &mut Context, number: &Idx, condition: &ElemRef) -> bool {
    of_number(ctx, number, condition, &mut |ctx, number| {
        let never = matches!(&*canon::elem(&number.value), Elem::Const(v) if !v.is_true());
        never || ctx.proves(CmpOp::Eq, &number.index, &Idx::default())
    })
}

/// Whether a number is one of the type in each case.
pub(crate) fn is_value_of(ctx: &mut Context, ty: ScalarType, number: &Idx) -> bool {
    of_number(ctx, number, &truth(true), &mut |ctx, number| {
        ctx.is_value_of(ty, &number.index)
    })
}

/// Whether a number lies between two in each case.
pub(crate) fn lies_between(ctx: &mut Context, number: &Idx, low: &Idx, high: &Idx) -> bool {
    let number = straight(ctx, number);
    of_number(ctx, &number, &truth(true), &mut |ctx, number| {
        ctx.proves(CmpOp::Ge, &number.index, low) && ctx.proves(CmpOp::Le, &number.index, high)
    })
}

/// Whether a condition holds, in each case, wherever others do.
pub fn holds_in_each_case(ctx: &mut Context, where_hold: &[ElemRef], condition: &ElemRef) -> bool {
    holds_in_cases(ctx, where_hold, condition, &mut MOST_SPLIT.clone())
}

fn holds_in_cases(
    ctx: &mut Context,
    where_hold: &[ElemRef],
    condition: &ElemRef,
    most: &mut usize,
) -> bool {
    let mark = ctx.mark();
    let plain = |ctx: &mut Context, e: &ElemRef| canon::elem(&straight_term(ctx, e));
    let where_hold: Vec<ElemRef> = where_hold.iter().map(|c| plain(ctx, c)).collect();
    where_hold.iter().for_each(|c| ctx.assume(c.clone()));
    let condition = plain(ctx, condition);
    let is_no = |c: &ElemRef| matches!(&**c, Elem::Const(v) if !v.is_true());
    let shown = where_hold.iter().any(is_no) || ctx.holds(&condition);
    ctx.forget(mark);
    if shown {
        return true;
    }
    let mut conditions = Vec::new();
    for c in where_hold.iter().chain([&condition]) {
        chosen_by(c, &mut conditions);
        c.visit(&mut |e| {
            let indices = e.indices().into_iter();
            indices.for_each(|i| i.for_each_value(&mut |v| chosen_by(v, &mut conditions)));
        });
    }
    let (Some(case), Some(left)) = (first_of(&conditions), most.checked_sub(1)) else {
        return false;
    };
    *most = left;
    in_both_cases(ctx, case, &mut |ctx, holds, fails| {
        let with = |e: &ElemRef| given(e, holds, fails);
        let where_hold: Vec<ElemRef> = where_hold.iter().map(with).collect();
        holds_in_cases(ctx, &where_hold, &with(&condition), most)
    })
}

/// Which of some conditions is told apart first: one on what others choose comes after these, and then speaks of numbers as
/// they are.
fn first_of(conditions: &[ElemRef]) -> Option<&ElemRef> {
    let chooses = |c: &ElemRef| {
        let mut found = false;
        c.visit(&mut |e| found |= matches!(&**e, Elem::Select(..)));
        found
    };
    let first = conditions.iter().find(|c| !chooses(c));
    first.or(conditions.first())
}

/// Whether something can be shown of a number, and of a condition, in each case.
fn of_number(
    ctx: &mut Context,
    number: &Idx,
    condition: &ElemRef,
    shown: &mut dyn FnMut(&mut Context, &Place) -> bool,
) -> bool {
    let number = Place {
        index: number.clone(),
        value: condition.clone(),
        contents: &Contents {
            base: None,
            elem: ScalarType::I1,
            effects: vec![],
        },
    };
    in_each_case(ctx, &number, shown)
}

/// Whether something can be shown of a place in each case that conditions on data tell apart which choose between places.
pub(crate) fn in_each_case(
    ctx: &mut Context,
    place: &Place,
    shown: &mut dyn FnMut(&mut Context, &Place) -> bool,
) -> bool {
    in_cases(ctx, place, &mut MOST_SPLIT.clone(), shown)
}

/// The same, where so many cases may still be told apart.
fn in_cases(
    ctx: &mut Context,
    place: &Place,
    most: &mut usize,
    shown: &mut dyn FnMut(&mut Context, &Place) -> bool,
) -> bool {
    if shown(ctx, place) {
        return true;
    }
    let mut conditions = Vec::new();
    place
        .index
        .for_each_value(&mut |v| chosen_by(v, &mut conditions));
    let (Some(condition), Some(left)) = (first_of(&conditions), most.checked_sub(1)) else {
        return false;
    };
    *most = left;
    let is_known = [condition.clone(), Elem::not(condition.clone())].map(|c| ctx.holds(&c));
    in_both_cases(ctx, condition, &mut |ctx, holds, fails| {
        // What is known not to hold is no case.
        if is_known[usize::from(holds == condition)] {
            return true;
        }
        let with = |e: &ElemRef| given(e, holds, fails);
        let effects = place.contents.effects.iter();
        let effects = effects.filter_map(|effect| match effect {
            Effect::Point { .. } => {
                let one = effect.map(&|i| index_given(i, holds, fails), &mut |e| with(e));
                straight_effect(ctx, one)
            }
            Effect::Loop { .. } => Some(effect.clone()),
        });
        let effects = effects.collect();
        let contents = &Contents {
            effects,
            ..place.contents.clone()
        };
        let index = index_given(&place.index, holds, fails);
        let place = Place {
            index: straight(ctx, &index),
            value: straight_term(ctx, &with(&place.value)),
            contents,
        };
        in_cases(ctx, &place, most, shown)
    })
}

/// A write with its place and its condition made plain; nothing if it does not happen.
fn straight_effect(ctx: &mut Context, effect: Effect) -> Option<Effect> {
    let Effect::Point { cond, index, value } = effect else {
        return Some(effect);
    };
    let cond = canon::elem(&straight_term(ctx, &cond));
    let never = matches!(&*cond, Elem::Const(v) if !v.is_true());
    (!never).then(|| Effect::Point {
        cond,
        index: straight(ctx, &index),
        value: straight_term(ctx, &value),
    })
}

/// An expression with comparisons of integers as what decides them, where something does, and with plain places. Other
/// comparisons stay as they are: facts and other conditions speak of them.
pub(crate) fn straight_term(ctx: &mut Context, e: &ElemRef) -> ElemRef {
    match &**e {
        Elem::Compare(op, a, b) if a.ty().is_int() && a.ty() != ScalarType::I1 => {
            let distance = &as_number(ctx, a) - &as_number(ctx, b);
            compared(ctx, *op, &distance, MOST).unwrap_or_else(|| e.clone())
        }
        Elem::IndexCompare(op, a, b) if a.has_values() || b.has_values() => {
            compared(ctx, *op, &(a - b), MOST).unwrap_or_else(|| e.clone())
        }
        Elem::Fold(_) => e.clone(),
        _ => {
            let children = e.children().into_iter();
            let children: Vec<ElemRef> = children.map(|c| straight_term(ctx, c)).collect();
            let indices = e.indices().into_iter();
            let indices: Vec<Idx> = indices.map(|i| straight(ctx, i)).collect();
            e.rebuild(&children, &indices)
        }
    }
}

/// An expression in which comparisons of places that the data says are what decides them, where something does.
pub fn decided(ctx: &mut Context, e: &ElemRef) -> ElemRef {
    match &**e {
        Elem::IndexCompare(op, a, b) if a.has_values() || b.has_values() => {
            compared(ctx, *op, &(a - b), MOST).unwrap_or_else(|| e.clone())
        }
        Elem::Fold(_) => e.clone(),
        _ => {
            let children = e.children().into_iter();
            let children: Vec<ElemRef> = children.map(|c| decided(ctx, c)).collect();
            let never =
                |a: &ElemRef, b: &ElemRef| canon::elem(&Elem::not(a.clone())) == canon::elem(b);
            match (&**e, &children[..]) {
                (Elem::Binary(BinOp::And, ..), [a, b]) if never(a, b) => truth(false),
                (Elem::Binary(BinOp::And, ..), [a, b]) if e.ty() == ScalarType::I1 => {
                    and(a.clone(), b.clone())
                }
                _ => {
                    let indices: Vec<Idx> = e.indices().into_iter().cloned().collect();
                    e.rebuild(&children, &indices)
                }
            }
        }
    }
}

/// The comparison of a number with zero, if it is known, or if the condition that chooses what the number is decides it.
fn compared(ctx: &mut Context, op: CmpOp, number: &Idx, most: usize) -> Option<ElemRef> {
    let mut conditions = Vec::new();
    number.for_each_value(&mut |e| {
        if let Elem::Select(c, ..) = &**unconverted(e) {
            conditions.push(c.clone());
        }
    });
    let Some(c) = conditions.first() else {
        let number = straight(ctx, number);
        let whole = canon::elem(&Elem::index_compare(op, number, Idx::default()));
        return match &*whole {
            Elem::Const(_) => Some(whole),
            _ => ctx.decide(&whole).map(truth),
        };
    };
    let most = most.checked_sub(1)?;
    let not = Elem::not(c.clone());
    let [then, otherwise] = [(c, &not), (&not, c)].map(|(holds, fails)| {
        let mark = ctx.mark();
        ctx.assume(holds.clone());
        let found = compared(ctx, op, &index_given(number, holds, fails), most);
        ctx.forget(mark);
        found
    });
    let is = |e: &ElemRef| match &**e {
        Elem::Const(v) => Some(v.is_true()),
        _ => None,
    };
    match (is(&then?)?, is(&otherwise?)?) {
        (a, b) if a == b => Some(truth(a)),
        (true, _) => Some(c.clone()),
        (false, _) => Some(not),
    }
}

/// The integer before conversions.
fn unconverted(e: &ElemRef) -> &ElemRef {
    match &**e {
        Elem::Convert(_, inner) if inner.ty().is_int() => unconverted(inner),
        _ => e,
    }
}

/// The same place with sums of machine integers that do not overflow as sums.
fn straight(ctx: &mut Context, place: &Idx) -> Idx {
    if !place.has_values() {
        return place.clone();
    }
    canon::idx(&place.map_atoms(&mut |atom| match atom {
        Atom::Value(e) => Some(integer(ctx, e)),
        _ => None,
    }))
}

/// The mathematical value of a machine integer, as a sum where it is one here.
fn integer(ctx: &mut Context, e: &ElemRef) -> Idx {
    let found = match &**e {
        Elem::Convert(_, inner) if inner.ty().is_int() && inner.ty() != ScalarType::I1 => {
            integer(ctx, inner)
        }
        Elem::Binary(BinOp::Add, a, b) => &integer(ctx, a) + &integer(ctx, b),
        Elem::Binary(BinOp::Subtract, a, b) => &integer(ctx, a) - &integer(ctx, b),
        Elem::Read { .. } | Elem::Select(..) => {
            let plain = straight_term(ctx, e);
            return match &*plain {
                Elem::Read { .. } | Elem::Select(..) => as_number(ctx, &plain),
                _ => integer(ctx, &plain),
            };
        }
        _ => return as_number(ctx, e),
    };
    match ctx.is_value_of(e.ty(), &found) {
        true => found,
        false => as_number(ctx, e),
    }
}

/// The mathematical value of an integer.
fn as_number(ctx: &mut Context, e: &ElemRef) -> Idx {
    ctx.number(e).unwrap_or_else(|| Idx::value(e.clone()))
}
