//! Folds whose first step doesn't look at what they start from: `s[i] = (i > 0 ? s[i - 1] : 0) + x[i]`.
//!
//! Such a fold seems to start from `s[-1]`, which is not there. It may as well start from what makes the first
//! step one like the others, 0 in that case, and then none of them asks which one it is.

use super::reduction;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::Scalar;
use tensorize_ir::tensir::{Reducer, dim};

/// The same value, where every such fold starts from something that doesn't matter or helps.
pub(crate) fn starts_by_itself(e: &ElemRef) -> ElemRef {
    e.map(&mut |e| match &**e {
        Elem::Fold(f) if starts_unseen(f) => Some(Arc::new(Elem::Fold(Arc::new(restarted(f))))),
        _ => None,
    })
}

/// Whether there is a first step, and it doesn't look at what there is before it.
fn starts_unseen(f: &Fold) -> bool {
    let first = f.step.replace(&f.var, &Idx::default());
    f.others.is_empty()
        && f.step.mentions(&f.acc)
        && !first.mentions(&f.acc)
        && !matches!(&*f.init, Elem::Const(_))
        && is_count(&(&f.extent - &Idx::constant(1)))
}

/// Whether it is not negative, being made of dimensions and constants.
fn is_count(idx: &Idx) -> bool {
    let is_dim = |a: &Atom| matches!(a, Atom::Sym(s) if (0..8).any(|i| *s == dim(i)));
    idx.terms().all(|(m, c)| c >= 0 && m.iter().all(is_dim))
}

fn restarted(f: &Fold) -> Fold {
    let with = |init, step| Fold {
        init,
        step,
        ..f.clone()
    };
    let mut found = None;
    let step = f.step.map(&mut |e| {
        let (first, later) = by_round(e, &f.var)?;
        let goes_on = matches!(&*later, Elem::Acc(n, _) if *n == f.acc);
        if !goes_on || first.mentions(&f.acc) || first.mentions(&f.var) {
            return None;
        }
        found = found.clone().or(Some(first));
        Some(later)
    });
    // `k > 0 ? acc : e` goes on from `e`.
    if let Some(init) = found {
        return with(init, step);
    }
    // `k > 0 ? acc ∘ x : x` goes on from what `∘` leaves as it is.
    if let Some((first, later)) = by_round(&f.step, &f.var) {
        let fold = with(f.init.clone(), later);
        if let Some((reducer, x)) = reduction::recognise_one(&fold)
            && x == first
            && let Some(neutral) = left_neutral(reducer, &x)
        {
            return with(neutral, fold.step);
        }
    }
    with(Elem::constant(Scalar::zero(f.init.ty())), f.step.clone())
}

/// The `e` with `e ∘ x = x` for every `x`.
fn left_neutral(reducer: Reducer, x: &ElemRef) -> Option<ElemRef> {
    let ty = x.ty();
    let known = match reducer {
        Reducer::Op(BinOp::Add | BinOp::Multiply) => true,
        Reducer::Op(op) => ty.is_int() && op.is_commutative(),
        _ => false,
    };
    let neutral = reduction::identity(reducer, ty).filter(|_| known)?;
    Some(Elem::constant(neutral))
}

/// What a choice by the number of the round takes in the first one, and in all others.
fn by_round(e: &ElemRef, round: &Sym) -> Option<(ElemRef, ElemRef)> {
    let Elem::Select(c, t, f) = &**e else {
        return None;
    };
    let Elem::IndexCompare(..) = &**c else {
        return None;
    };
    let at = |k: i128| match &*c.replace(round, &Idx::constant(k)) {
        Elem::Const(v) => Some(v.is_true()),
        _ => None,
    };
    // It compares with a polynomial of the first degree, or the proof will find out.
    let (first, later) = (at(0)?, at(1)?);
    let settled = [2, 1 << 40].into_iter().all(|k| at(k) == Some(later));
    let (on_first, on_later) = if first { (t, f) } else { (f, t) };
    (first != later && settled).then(|| (on_first.clone(), on_later.clone()))
}
