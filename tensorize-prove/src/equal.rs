//! Whether two expressions have the same value.
//!
//! First by form and congruence, index by index. What is left is a scalar equality, which goes to the
//! solver in the theory of its type.

use crate::canon;
use crate::conditions::is_index_condition;
use crate::context::Context;
use crate::induction::same_fold;
use crate::narrowed::narrowed;
use crate::overflow;
use crate::real::{self, Equality};
use crate::regroup;
use crate::solver::Answer;
use crate::sums::same_parts;
use crate::theory::Theory;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Order};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::Idx;
use tensorize_ir::op::CmpOp;

/// Shows that `a` and `b` have the same value here: the same bits, or, at tier real, the same real number.
pub fn same(ctx: &mut Context, a: &ElemRef, b: &ElemRef, tier: Tier) -> bool {
    if a == b {
        return true;
    }
    let (a, b) = (prepare(ctx, a, tier), prepare(ctx, b, tier));
    if congruent(ctx, &a, &b, tier) {
        return true;
    }
    let real = match tier {
        Tier::Real => real::equal(ctx, &a, &b),
        Tier::Exact => Equality::Open,
    };
    match real {
        Equality::Shown => true,
        Equality::DividesMore => false,
        Equality::Open => residual(ctx, &a, &b, tier),
    }
}

/// Whether the value depends on an order of float operations that is left open.
pub fn is_order_open(e: &ElemRef) -> bool {
    let mut open = false;
    canon::elem(e).visit(&mut |x| open |= matches!(&**x, Elem::Fold(f) if f.order == Order::Any));
    open
}

fn prepare(ctx: &mut Context, e: &ElemRef, tier: Tier) -> ElemRef {
    let e = canon::elem(&ctx.settle(&canon::elem(e)));
    if tier == Tier::Exact { e } else { in_order(&e) }
}

/// Over the real numbers, the order of a reduction does not matter.
fn in_order(e: &ElemRef) -> ElemRef {
    let children: Vec<_> = e.children().into_iter().map(in_order).collect();
    let indices: Vec<Idx> = e.indices().into_iter().cloned().collect();
    let e = e.rebuild(&children, &indices);
    match &*e {
        Elem::Fold(f) if f.order == Order::Any => Arc::new(Elem::Fold(Arc::new(Fold {
            order: Order::Sequential,
            ..(**f).clone()
        }))),
        _ => e,
    }
}

pub(crate) fn same_idx(ctx: &mut Context, a: &Idx, b: &Idx) -> bool {
    let d = canon::idx(&(a - b));
    d.is_zero() || (d.as_constant().is_none() && ctx.proves(CmpOp::Eq, &d, &Idx::default()))
}

/// The same operator on operands that are the same.
pub(crate) fn congruent(ctx: &mut Context, a: &ElemRef, b: &ElemRef, tier: Tier) -> bool {
    if a == b {
        return true;
    }
    if let (Elem::Fold(f), Elem::Fold(g)) = (&**a, &**b)
        && same_idx(ctx, &f.extent, &g.extent)
    {
        let folds = (f.clone(), g.clone(), tier);
        if ctx.are_equal(&folds) {
            return true;
        }
        let equal = same_fold(ctx, f, g, tier);
        if equal {
            ctx.shown_equal(folds);
        }
        return equal;
    }
    if let (Elem::Fold(f), Elem::Fold(g)) = (&**a, &**b)
        && in_their_ranges(ctx, f, g, tier)
    {
        return true;
    }
    if let (Elem::Fold(f), Elem::Fold(g)) = (&**a, &**b)
        && (regroup::in_portions(ctx, f, g, tier) || regroup::in_portions(ctx, g, f, tier))
    {
        return true;
    }
    if let Some(equal) = unrolled(ctx, a, b, tier).or_else(|| unrolled(ctx, b, a, tier)) {
        return equal;
    }
    let alike = chosen_alike(ctx, a, b, tier);
    if !alike && let Some(equal) = by_cases(ctx, a, b, tier).or_else(|| by_cases(ctx, b, a, tier)) {
        return equal;
    }
    // Numbers that are the same have the same bits, and so has what wraps to them.
    if let (Some(p), Some(q)) = (canon::polynomial(a), canon::polynomial(b))
        && a.ty() == b.ty()
        && same_idx(ctx, &p, &q)
    {
        return true;
    }
    // So has arithmetic on what is read, where the other side read a table at that place.
    let is_of_data = |e| canon::polynomial(e).is_some_and(|p| p.has_values());
    if a.ty() == b.ty()
        && (is_of_data(a) || is_of_data(b))
        && canon::idx(&(&canon::modular(a) - &canon::modular(b))).is_zero()
    {
        return true;
    }
    let heads = match (&**a, &**b) {
        (Elem::Unary(p, _), Elem::Unary(q, _)) => p == q,
        (Elem::Binary(p, ..), Elem::Binary(q, ..)) => p == q,
        (Elem::Compare(p, ..), Elem::Compare(q, ..)) => p == q,
        (Elem::Convert(p, _), Elem::Convert(q, _)) | (Elem::Bitcast(p, _), Elem::Bitcast(q, _)) => {
            p == q
        }
        (Elem::OfIdx(p, _), Elem::OfIdx(q, _)) => p == q,
        (
            Elem::Read {
                array: p, ty: s, ..
            },
            Elem::Read {
                array: q, ty: t, ..
            },
        ) => p == q && s == t,
        (Elem::Select(..), Elem::Select(..)) => true,
        _ => false,
    };
    if !heads || a.ty() != b.ty() {
        return same_parts(ctx, a, b, tier);
    }
    let (x, y) = (a.children(), b.children());
    if let (Elem::Select(..), [c, t, f], [_, u, g]) = (&**a, &x[..], &y[..]) {
        if !alike {
            return false;
        }
        let mark = ctx.mark();
        ctx.assume((*c).clone());
        let then = same(ctx, t, u, tier);
        ctx.forget(mark);
        ctx.assume(Elem::not((*c).clone()));
        let otherwise = then && same(ctx, f, g, tier);
        ctx.forget(mark);
        return otherwise;
    }
    if let (Elem::Binary(op, ..), [p, q], [r, s]) = (&**a, &x[..], &y[..])
        && op.is_commutative()
        && congruent(ctx, p, s, tier)
        && congruent(ctx, q, r, tier)
    {
        return true;
    }
    let (i, j) = (a.indices(), b.indices());
    i.len() == j.len()
        && i.iter().zip(&j).all(|(p, q)| same_idx(ctx, p, q))
        && x.iter().zip(&y).all(|(p, q)| congruent(ctx, p, q, tier))
}

/// Folds that are the same one once steps that change nothing are left out.
pub(crate) fn in_their_ranges(ctx: &mut Context, f: &Fold, g: &Fold, tier: Tier) -> bool {
    let (narrow_f, narrow_g) = (narrowed(ctx, f), narrowed(ctx, g));
    let mut pairs = vec![];
    pairs.extend(narrow_f.as_ref().map(|f| (f, g)));
    pairs.extend(narrow_g.as_ref().map(|g| (f, g)));
    pairs.extend(narrow_f.as_ref().zip(narrow_g.as_ref()));
    pairs.into_iter().any(|(f, g)| {
        let [f, g] = [f, g].map(|x| {
            let fold = Arc::new(Elem::Fold(Arc::new(x.clone())));
            prepare(ctx, &fold, tier)
        });
        match (&*f, &*g) {
            (Elem::Fold(f), Elem::Fold(g)) => same_fold(ctx, f, g, tier),
            _ => false,
        }
    })
}

/// A fold `a` of a few steps more than one in `b`: by its own equations, the last steps are taken one by one,
/// and a fold of no steps is its first value.
fn unrolled(ctx: &mut Context, a: &ElemRef, b: &ElemRef, tier: Tier) -> Option<bool> {
    /// More than this is not what an off-by-one or a short window needs.
    const MOST: i128 = 4;
    let Elem::Fold(f) = &**a else { return None };
    let mut more = 0;
    b.visit(&mut |x| {
        if let Elem::Fold(g) = &**x
            && f.lanes().count() == g.lanes().count()
            && let Some(d) = canon::idx(&(&f.extent - &g.extent)).as_constant()
            && (1..=MOST).contains(&d)
        {
            more = more.max(d);
        }
    });
    let before = &f.extent - &Idx::constant(1);
    if more > 0 && ctx.is_non_negative(&before) {
        let a = prepare(ctx, &f.last_step(&before), tier);
        return Some(congruent(ctx, &a, b, tier));
    }
    // A few steps at most: each number of them.
    if matches!(&**b, Elem::Fold(_)) || !ctx.proves(CmpOp::Le, &f.extent, &Idx::constant(MOST)) {
        return None;
    }
    // Where nothing can be, too, or the steps would have no end.
    if ctx.proves(CmpOp::Le, &f.extent, &Idx::default()) {
        return Some(same(ctx, &f.init, b, tier));
    }
    let none = Elem::index_compare(CmpOp::Le, f.extent.clone(), Idx::default());
    let cases = Elem::select(none, f.init.clone(), f.last_step(&before));
    Some(match &*cases {
        Elem::Select(..) => {
            !chosen_alike(ctx, &cases, b, tier) && by_cases(ctx, &cases, b, tier).is_some()
        }
        _ => same(ctx, &cases, b, tier),
    })
}

/// Whether both are choices by the same condition.
fn chosen_alike(ctx: &mut Context, a: &ElemRef, b: &ElemRef, tier: Tier) -> bool {
    let (Elem::Select(c, ..), Elem::Select(d, ..)) = (&**a, &**b) else {
        return false;
    };
    congruent(ctx, c, d, tier)
}

/// A choice by indices on one side only: both cases.
fn by_cases(ctx: &mut Context, a: &ElemRef, b: &ElemRef, tier: Tier) -> Option<bool> {
    let Elem::Select(c, t, f) = &**a else {
        return None;
    };
    if !is_index_condition(c) {
        return None;
    }
    let mark = ctx.mark();
    ctx.assume(c.clone());
    let then = same(ctx, t, b, tier);
    ctx.forget(mark);
    ctx.assume(Elem::not(c.clone()));
    let otherwise = then && same(ctx, f, b, tier);
    ctx.forget(mark);
    // Where this fails, the solver may still know.
    otherwise.then_some(true)
}

fn residual(ctx: &mut Context, a: &ElemRef, b: &ElemRef, tier: Tier) -> bool {
    if a.ty() != b.ty() && tier == Tier::Exact {
        return false;
    }
    if a.ty().is_float() != b.ty().is_float() || (a.ty().is_int() && a.ty() != b.ty()) {
        return false;
    }
    let mut theory = Theory::new(tier);
    let (x, y) = (theory.encode(ctx, a), theory.encode(ctx, b));
    let mut formulas = vec![format!("(not (= {x} {y}))")];
    let known = ctx.element_facts();
    formulas.extend(theory.encode_facts(ctx, known));
    formulas.append(&mut theory.links);
    if ctx.check(&mut theory.encoder, &formulas) == Answer::Unsat {
        return true;
    }
    if !a.ty().is_int() {
        return false;
    }
    // It may take that the original's arithmetic does not overflow.
    let known = overflow::facts(ctx, &[a, b]);
    if known.is_empty() {
        return false;
    }
    formulas.extend(theory.encode_facts(ctx, known));
    ctx.check(&mut theory.encoder, &formulas) == Answer::Unsat
}
