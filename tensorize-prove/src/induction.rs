//! Folds that are equal by induction over their steps.

use crate::context::Context;
use crate::equal::{same, same_idx};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Order};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::CmpOp;

/// Two folds of as many steps, from the same values, by the same steps, in the same order: equal by
/// induction over the steps. (Lanes are compared one by one: their order is canonical.)
pub(crate) fn same_fold(ctx: &mut Context, f: &Fold, g: &Fold, tier: Tier) -> bool {
    f.lanes().count() == g.lanes().count()
        && f.lanes()
            .zip(g.lanes())
            .all(|(p, q)| p.init.ty() == q.init.ty())
        && f.order == g.order
        && same_idx(ctx, &f.extent, &g.extent)
        && (from_start(ctx, f, g, tier) || from_first_step(ctx, f, g, tier))
}

/// Equal before the first step, and every step keeps it so.
fn from_start(ctx: &mut Context, f: &Fold, g: &Fold, tier: Tier) -> bool {
    f.lanes()
        .zip(g.lanes())
        .all(|(p, q)| same(ctx, p.init, q.init, tier))
        && f.lanes()
            .zip(g.lanes())
            .all(|(p, q)| same_step(ctx, f, g, p.step, q.step, 0, tier))
}

/// There is a first step, after it they are equal, and every later step keeps it so: what they start from
/// may differ where the first step doesn't look at it.
fn from_first_step(ctx: &mut Context, f: &Fold, g: &Fold, tier: Tier) -> bool {
    let tells_rounds = |fold: &Fold| {
        let mut found = false;
        fold.lanes().for_each(|lane| {
            lane.step.visit(&mut |e| {
                found |= matches!(&**e, Elem::IndexCompare(..)) && e.mentions(&fold.var);
            });
        });
        found
    };
    // Nothing else makes a step look at its start only later.
    if f.order != Order::Sequential || !(tells_rounds(f) || tells_rounds(g)) {
        return false;
    }
    if !ctx.is_non_negative(&(&f.extent - &Idx::constant(1))) {
        return false;
    }
    let first = |fold: &Fold, step: &ElemRef| {
        let inits = fold.lanes().map(|l| (l.acc.clone(), l.init.clone()));
        step.replace(&fold.var, &Idx::default())
            .replace_accs(&inits.collect())
    };
    f.lanes()
        .zip(g.lanes())
        .all(|(p, q)| same(ctx, &first(f, p.step), &first(g, q.step), tier))
        && f.lanes()
            .zip(g.lanes())
            .all(|(p, q)| same_step(ctx, f, g, p.step, q.step, 1, tier))
}

/// Whether `x` (of `f`) and `y` (of `g`) are the same in an arbitrary step, from this one on.
pub(crate) fn same_step(
    ctx: &mut Context,
    f: &Fold,
    g: &Fold,
    x: &ElemRef,
    y: &ElemRef,
    from: i128,
    tier: Tier,
) -> bool {
    let var = ctx.fresh.name("k");
    let accs: Vec<Sym> = f.lanes().map(|_| ctx.fresh.name("acc")).collect();
    let open = |e: &ElemRef, fold: &Fold| {
        let new = fold.lanes().zip(&accs).map(|(l, new)| {
            let new = Arc::new(Elem::Acc(new.clone(), l.init.ty()));
            (l.acc.clone(), new)
        });
        e.replace(&fold.var, &Idx::sym(var.clone()))
            .replace_accs(&new.collect())
    };
    let (x, y) = (open(x, f), open(y, g));
    let mark = ctx.mark();
    ctx.assume_in_range(&var, &f.extent);
    if from > 0 {
        let later = Elem::index_compare(CmpOp::Ge, Idx::sym(var), Idx::constant(from));
        ctx.assume(later);
    }
    let ok = same(ctx, &x, &y, tier);
    ctx.forget(mark);
    ok
}
