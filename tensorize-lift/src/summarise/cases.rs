//! Cases that a kernel tells apart before anything else, each with loops of its own: `if (a == 0) … else …` around all
//! that is written. Each is summarised as if it were alone, so that what is special about one (a loop that is
//! unrolled by hand) is no part of the others.

use super::stores::{stores, taken};
use super::{Refusal, natural};
use crate::raise::Closed;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::UnOp;
use tensorize_ir::tensir::{View, dim};
use tensorize_prove::canon;
use tensorize_prove::cases::given;
use tensorize_prove::chain::{Contents, Effect, Leaf};
use tensorize_prove::context::Context;

/// More than anybody nests.
const DEEPEST: usize = 6;

/// The final contents of an array as tensors.
pub(super) fn stores_by_cases(
    ctx: &mut Context,
    array: &Sym,
    contents: &Contents,
) -> Result<Vec<Closed>, Refusal> {
    match by_cases(ctx, array, contents, DEEPEST) {
        Some(found) => Ok(found),
        None => stores(ctx, array, contents),
    }
}

/// The same, if there are cases and the same places are written in all of them that write.
fn by_cases(
    ctx: &mut Context,
    array: &Sym,
    contents: &Contents,
    depth: usize,
) -> Option<Vec<Closed>> {
    let condition = common(contents)?;
    let depth = depth.checked_sub(1)?;
    let not = Elem::not(condition.clone());
    let mut case = |holds: &ElemRef, fails: &ElemRef| {
        let effects = contents.effects.iter();
        let contents = Contents {
            effects: effects
                .filter_map(|e| effect_given(e, holds, fails))
                .collect(),
            ..contents.clone()
        };
        let mark = ctx.mark();
        ctx.assume(holds.clone());
        let found =
            by_cases(ctx, array, &contents, depth).or_else(|| stores(ctx, array, &contents).ok());
        ctx.forget(mark);
        found
    };
    let (yes, no) = (case(&condition, &not)?, case(&not, &condition)?);
    joined(ctx, &condition, contents, &yes, &no).or_else(|| {
        let plain = |some: Vec<Closed>| natural::natural(&some).unwrap_or(some);
        joined(ctx, &condition, contents, &plain(yes), &plain(no))
    })
}

/// A condition that every write is under, or under its opposite, in all rounds alike.
fn common(contents: &Contents) -> Option<ElemRef> {
    let leaves: Vec<Leaf> = contents.effects.iter().flat_map(Effect::leaves).collect();
    let (first, others) = leaves.split_first()?;
    let alike = |c: &ElemRef, leaf: &Leaf| !leaf.loops.iter().any(|(v, _)| c.mentions(v));
    let positive = |c: &ElemRef| match &**c {
        Elem::Unary(UnOp::Not, inner) => inner.clone(),
        _ => c.clone(),
    };
    let mut found = first.cond.conjuncts().into_iter().map(positive);
    found.find(|c| {
        let not_c = Elem::not(c.clone());
        let told_apart = |leaf: &Leaf| {
            let conditions = leaf.cond.conjuncts();
            alike(c, leaf) && (conditions.contains(&c) || conditions.contains(&&not_c))
        };
        !matches!(&**c, Elem::Const(_)) && alike(c, first) && others.iter().all(told_apart)
    })
}

/// The writes that are left where of two conditions the one holds and the other does not.
fn effect_given(effect: &Effect, holds: &ElemRef, fails: &ElemRef) -> Option<Effect> {
    match effect {
        Effect::Point { cond, index, value } => {
            let cond = given(cond, holds, fails);
            let never = matches!(&*cond, Elem::Const(v) if !v.is_true());
            (!never).then(|| Effect::Point {
                cond,
                index: index.clone(),
                value: given(value, holds, fails),
            })
        }
        Effect::Loop { var, extent, body } => {
            let body = body.iter().filter_map(|e| effect_given(e, holds, fails));
            let body: Vec<Effect> = body.collect();
            (!body.is_empty()).then(|| Effect::Loop {
                var: var.clone(),
                extent: extent.clone(),
                body,
            })
        }
    }
}

/// One store for each place that is written in any case; `None` if what is written differs from case to case.
fn joined(
    ctx: &mut Context,
    condition: &ElemRef,
    contents: &Contents,
    yes: &[Closed],
    no: &[Closed],
) -> Option<Vec<Closed>> {
    if !yes.is_empty() && !no.is_empty() && yes.len() != no.len() {
        return apart(ctx, condition, contents, yes, no);
    }
    // What a case leaves at a place: what it writes there, or what was there before.
    let left = |case: &[Closed], at: &View, size: &[Idx]| match case {
        [] => {
            let base = contents.base.clone()?;
            Some(Elem::read(base, contents.elem, canon::idx(&at.index)))
        }
        _ => case.iter().find_map(|c| match c {
            Closed::Store { shape, view, value } if view == at && shape == size => {
                Some(value.clone())
            }
            _ => None,
        }),
    };
    let (written, holds) = match yes.is_empty() {
        true => (no, Elem::not(condition.clone())),
        false => (yes, condition.clone()),
    };
    let in_some_rounds = match yes.is_empty() || no.is_empty() {
        true => taken(ctx, &holds).filter(|n| !n.has_values() && !ctx.is_over_params(n)),
        false => None,
    };
    let join = |c: &Closed| match c {
        Closed::Store { shape, .. } if shape.is_empty() && in_some_rounds.is_some() => {
            all_or_none(ctx, c, &holds, in_some_rounds.as_ref()?, contents)
        }
        Closed::Store { shape, view, .. } => {
            let (yes, no) = (left(yes, view, shape)?, left(no, view, shape)?);
            let mark = ctx.mark();
            for (i, length) in shape.iter().enumerate() {
                ctx.assume_in_range(&dim(i), length);
            }
            let value = ctx.settle(&Elem::select(condition.clone(), yes, no));
            ctx.forget(mark);
            Some(Closed::Store {
                shape: shape.clone(),
                view: view.clone(),
                value,
            })
        }
        Closed::Return(_) => None,
    };
    let joined: Option<Vec<Closed>> = written.iter().map(join).collect();
    joined.or_else(|| apart(ctx, condition, contents, yes, no))
}

/// Elements of which each case writes its own, where the number of the round says which case it is.
fn apart(
    ctx: &mut Context,
    condition: &ElemRef,
    contents: &Contents,
    yes: &[Closed],
    no: &[Closed],
) -> Option<Vec<Closed>> {
    let mut all = Vec::new();
    for (case, holds) in [(yes, condition.clone()), (no, Elem::not(condition.clone()))] {
        let taken = taken(ctx, &holds)?;
        if taken.has_values() || ctx.is_over_params(&taken) {
            return None;
        }
        for c in case {
            all.push(all_or_none(ctx, c, &holds, &taken, contents)?);
        }
    }
    Some(all)
}

/// What one round writes may lie outside of the array in another one, that does not write it: as many elements as there are,
/// or none. Where the data says the place, what is there stays then.
fn all_or_none(
    ctx: &mut Context,
    c: &Closed,
    holds: &ElemRef,
    taken: &Idx,
    contents: &Contents,
) -> Option<Closed> {
    let Closed::Store { shape, view, value } = c else {
        return None;
    };
    if let [rows, columns @ ..] = &shape[..] {
        return Some(Closed::Store {
            shape: [&[if_taken(ctx, rows, taken)], columns].concat(),
            view: view.clone(),
            value: value.clone(),
        });
    }
    if view.index.has_values() {
        let index = canon::idx(&view.index);
        let old = Elem::read(contents.base.clone()?, contents.elem, index.clone());
        return Some(Closed::Store {
            shape: vec![],
            view: View {
                index,
                ..view.clone()
            },
            value: Elem::select(holds.clone(), value.clone(), old),
        });
    }
    Some(Closed::Store {
        shape: vec![taken.clone()],
        view: View {
            index: &view.index + &Idx::sym(dim(0)),
            ..view.clone()
        },
        value: value.clone(),
    })
}

/// So many, where `taken` is one, and else none. Of two numbers that are one or none, the one will do that is one only where
/// the other is.
fn if_taken(ctx: &mut Context, many: &Idx, taken: &Idx) -> Idx {
    if let (Some(holds), Some(other)) = (many.as_indicator(), taken.as_indicator()) {
        if ctx.is_non_negative(&(&other - &holds)) {
            return many.clone();
        }
        if ctx.is_non_negative(&(&holds - &other)) {
            return taken.clone();
        }
    }
    many * taken
}
