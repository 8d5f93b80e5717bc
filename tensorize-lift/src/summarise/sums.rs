//! Sums over where two rows lie upon each other.
//!
//! Of the rounds that add to a place of `y[i + j] += x[i] * h[j]`, most don't: with `i` for the round, those outside of
//! `0 <= k - i < m`. The sum over the others is what takes as many steps as the loops do. Where it is a few rounds at a border
//! that add nothing, the sum stays as it is, as a convolution.

use std::collections::BTreeSet;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::CmpOp;
use tensorize_prove::context::Context;
use tensorize_prove::narrowed::{narrowed, range_of};

/// The expression with such sums over the rounds that are in them, at a place of which the limits are known.
pub(super) fn summed_up(ctx: &mut Context, e: &ElemRef) -> ElemRef {
    let mut may_be = false;
    e.visit(&mut |x| may_be |= matches!(&**x, Elem::Fold(f) if range_of(f).is_some()));
    if !may_be {
        return e.clone();
    }
    let Elem::Fold(fold) = &**e else {
        let children = e.children().into_iter().map(|c| summed_up(ctx, c));
        let children: Vec<ElemRef> = children.collect();
        let indices: Vec<Idx> = e.indices().into_iter().cloned().collect();
        return e.rebuild(&children, &indices);
    };
    let narrow = has_ends(ctx, fold).then(|| narrowed(ctx, fold)).flatten();
    let fold = narrow.unwrap_or_else(|| (**fold).clone());
    let mut children = Vec::new();
    for lane in fold.lanes() {
        children.push(summed_up(ctx, lane.init));
        let mark = ctx.mark();
        ctx.assume_in_range(&fold.var, &fold.extent);
        children.push(summed_up(ctx, lane.step));
        ctx.forget(mark);
    }
    let extent = fold.extent.clone();
    Elem::Fold(Arc::new(fold)).rebuild(&children, &[extent])
}

/// Whether at the first place there is the first round at most, and at the last one the last, or the other way round.
fn has_ends(ctx: &mut Context, f: &Fold) -> bool {
    let Some([Some(low), Some(high)]) = range_of(f).map(|range| range.ends()) else {
        return false;
    };
    let mut names = BTreeSet::new();
    [&low, &high].into_iter().for_each(|i| {
        i.for_each_sym(&mut |s| {
            names.insert(s.clone());
        });
    });
    let one = Idx::constant(1);
    let last_round = &f.extent - &one;
    names.iter().any(|place: &Sym| {
        let Some(places) = ctx.limit_of(place).filter(|_| !is_size(ctx, place)) else {
            return false;
        };
        let ends = [Idx::default(), &places - &one];
        let mut only = |first: &Idx, last: &Idx| {
            ctx.proves(CmpOp::Le, &high.replace(place, first), &one)
                && ctx.proves(CmpOp::Ge, &low.replace(place, last), &last_round)
        };
        only(&ends[0], &ends[1]) || only(&ends[1], &ends[0])
    })
}

fn is_size(ctx: &Context, s: &Sym) -> bool {
    ctx.is_over_params(&Idx::sym(s.clone()))
}
