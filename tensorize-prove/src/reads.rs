//! What a summary reads.
//!
//! Equal values don't say that a summary reads what the kernel reads: over the reals, a shift can cancel. A target
//! that fetches whole tensors fetches what the summary names, so all of it has to lie where the kernel reads.

use crate::bound::bound;
use crate::canon;
use crate::context::Context;
use crate::exec::Access;
use crate::exec::Stuck;
use crate::footprint::Touched;
use crate::interval::within_values;
use crate::matching::matched_in_cases;
use std::collections::BTreeMap;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::CmpOp;
use tensorize_ir::tensir::{self, Op, Output, Rounds, dim};

/// Shows that every read of the summary lies in the extent that the kernel touches of the array, in each of the `rounds` around
/// both.
pub fn within(
    ctx: &mut Context,
    summary: &tensir::Function,
    rounds: &[(Sym, Idx)],
    touched: &[Touched],
) -> Result<(), Stuck> {
    if summary.stores_where_data_says() {
        return where_data_says(ctx, summary, rounds, touched);
    }
    for node in &summary.nodes {
        let e = match &node.op {
            Op::View(v) => Elem::read(v.array.clone(), node.ty.elem, v.index.clone()),
            Op::Generic(e) => e.clone(),
            _ => continue,
        };
        of_tensor(ctx, &e, dims(node), rounds, touched)?;
    }
    Ok(())
}

/// Code for such a summary goes element by element, and no target fetches whole tensors for it: what an element reads, it
/// reads where its conditions hold.
fn where_data_says(
    ctx: &mut Context,
    summary: &tensir::Function,
    rounds: &[(Sym, Idx)],
    touched: &[Touched],
) -> Result<(), Stuck> {
    for output in &summary.outputs {
        let mark = ctx.mark();
        let found = of_output(ctx, summary, output, rounds, touched);
        ctx.forget(mark);
        found?;
    }
    Ok(())
}

fn of_output(
    ctx: &mut Context,
    summary: &tensir::Function,
    output: &Output,
    rounds: &[(Sym, Idx)],
    touched: &[Touched],
) -> Result<(), Stuck> {
    if let Output::Store { value, view } = output
        && view.index.has_values()
    {
        let (conditions, value) = summary.change(*value, view, &mut ctx.fresh);
        for condition in conditions {
            of_tensor(ctx, &condition, vec![], rounds, touched)?;
            ctx.assume(condition);
        }
        // Where it goes is asked only then, too.
        let place = Elem::of_idx(Rounds::COUNTER, view.index.clone());
        of_tensor(ctx, &place, vec![], rounds, touched)?;
        return of_tensor(ctx, &value, vec![], rounds, touched);
    }
    let dims = dims(&summary.nodes[output.value()]);
    let position: Vec<Idx> = dims.iter().map(|(d, _)| Idx::sym(d.clone())).collect();
    let value = summary.element(output.value(), &position, &mut ctx.fresh);
    of_tensor(ctx, &value, dims, rounds, touched)
}

/// A node's dimensions, with their extents.
fn dims(node: &tensir::Node) -> Vec<(Sym, Idx)> {
    let shape = node.ty.shape.iter().enumerate();
    shape.map(|(d, n)| (dim(d), n.clone())).collect()
}

/// Of each element of a tensor.
fn of_tensor(
    ctx: &mut Context,
    e: &ElemRef,
    dims: Vec<(Sym, Idx)>,
    rounds: &[(Sym, Idx)],
    touched: &[Touched],
) -> Result<(), Stuck> {
    let mark = ctx.mark();
    for (var, n) in &dims {
        ctx.assume_in_range(var, n);
    }
    let around = Around {
        loops: [rounds, &dims].concat(),
        accs: BTreeMap::new(),
    };
    let result = reads(ctx, e, &around, touched);
    ctx.forget(mark);
    result
}

/// What is around a term.
#[derive(Clone)]
struct Around {
    /// Dimensions and the indices of folds, with their extents.
    loops: Vec<(Sym, Idx)>,
    /// What the accumulators of the folds hold there.
    accs: BTreeMap<Sym, ElemRef>,
}

fn reads(
    ctx: &mut Context,
    e: &ElemRef,
    around: &Around,
    touched: &[Touched],
) -> Result<(), Stuck> {
    for idx in e.indices() {
        let mut values = Vec::new();
        idx.for_each_value(&mut |v| values.push(v.clone()));
        for v in &values {
            reads(ctx, v, around, touched)?;
        }
    }
    match &**e {
        Elem::Read { array, index, .. } => read(ctx, array, index, around, touched),
        Elem::Select(c, t, f) => {
            reads(ctx, c, around, touched)?;
            let mark = ctx.mark();
            ctx.assume(c.clone());
            let then = reads(ctx, t, around, touched);
            ctx.forget(mark);
            ctx.assume(Elem::not(c.clone()));
            let otherwise = reads(ctx, f, around, touched);
            ctx.forget(mark);
            then.and(otherwise)
        }
        Elem::Fold(fold) => {
            let mut inner = around.clone();
            let var = ctx.fresh.name(&fold.var);
            let now = Idx::sym(var.clone());
            inner.loops.push((var.clone(), fold.extent.clone()));
            // The accumulators hold in a step what the fold has come to.
            for lane in fold.lanes() {
                let so_far = Fold {
                    extent: now.clone(),
                    ..fold.valued(lane.acc)
                };
                let so_far = Arc::new(Elem::Fold(Arc::new(so_far))).replace_accs(&around.accs);
                inner.accs.insert(lane.acc.clone(), so_far);
            }
            for lane in fold.lanes() {
                reads(ctx, lane.init, around, touched)?;
                let mark = ctx.mark();
                ctx.assume_in_range(&var, &fold.extent);
                let step = lane.step.replace(&fold.var, &now);
                let result = reads(ctx, &step, &inner, touched);
                ctx.forget(mark);
                result?;
            }
            Ok(())
        }
        _ => e
            .children()
            .into_iter()
            .try_for_each(|c| reads(ctx, c, around, touched)),
    }
}

fn read(
    ctx: &mut Context,
    array: &Sym,
    index: &Idx,
    around: &Around,
    touched: &[Touched],
) -> Result<(), Stuck> {
    let index = &index.map_values(&mut |v| v.replace_accs(&around.accs));
    let own = touched.iter().find(|t| t.footprint.extent.array == *array);
    let loops = &around.loops;
    // By its ends where the solver would have to multiply unknowns.
    let inside = |ctx: &mut Context, index: &Idx| {
        own.map(|t| &t.footprint.extent).is_some_and(|e| {
            let at_least = |ctx: &mut Context, l: Idx| ctx.proves(CmpOp::Le, &e.lo, &l);
            let below = |ctx: &mut Context, l: Idx| ctx.proves(CmpOp::Lt, &l, &e.hi);
            (at_least(ctx, index.clone())
                || bound(ctx, index, loops, false).is_some_and(|l| at_least(ctx, l)))
                && (below(ctx, index.clone())
                    || bound(ctx, index, loops, true).is_some_and(|l| below(ctx, l)))
        })
    };
    if inside(ctx, index) {
        return Ok(());
    }
    let access = Access {
        array: array.clone(),
        index: canon::idx(index),
        loops: around.loops.clone(),
        path: vec![],
        write: false,
    };
    // The kernel makes it in any case, or does so if loops run at all, which is a guard.
    if let Some(guards) = own.and_then(|t| matched_in_cases(ctx, &access, &t.accesses)) {
        guards.into_iter().for_each(|guard| ctx.guard(guard));
        return Ok(());
    }
    // What an accumulator holds lies within its own bounds.
    if index.has_values() {
        let wider = within_values(ctx, &access);
        let mark = ctx.mark();
        for (var, n) in &wider.loops {
            ctx.assume_in_range(var, n);
        }
        let ok = inside(ctx, &wider.index);
        ctx.forget(mark);
        if ok {
            return Ok(());
        }
    }
    Err(Stuck {
        what: format!("the summary reads {array}[{index}], which the kernel may not"),
        line: 0,
    })
}
