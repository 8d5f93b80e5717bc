//! What a kernel leaves in an array, as tensors.

use super::Refusal;
use crate::raise::Closed;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::CmpOp;
use tensorize_ir::tensir::{View, at, dim};
use tensorize_prove::bound::bound;
use tensorize_prove::canon;
use tensorize_prove::chain::{self, Contents};
use tensorize_prove::context::Context;
use tensorize_prove::decode;

/// The final contents of an array as tensors: one for each group of places that is written. Later writes
/// come first, so that what they hide is left out.
pub(super) fn stores(
    ctx: &mut Context,
    array: &Sym,
    contents: &Contents,
) -> Result<Vec<Closed>, Refusal> {
    let refuse = |code, message| {
        Err(Refusal {
            code,
            message,
            line: 0,
        })
    };
    let mut found: Vec<(Vec<Idx>, View, ElemRef)> = Vec::new();
    for effect in contents.effects.iter().rev() {
        for leaf in effect.leaves().into_iter().rev() {
            let mut merged = chain::tiles_merged(ctx, &leaf);
            while let Some(again) = merged
                .as_ref()
                .and_then(|m| chain::tiles_merged(ctx, &m.leaf()))
            {
                merged = Some(again);
            }
            let leaf = match &merged {
                Some(m) => m.leaf(),
                None => leaf,
            };
            let (leaf, at_most_one) = if_taken(ctx, leaf);
            let mark = ctx.mark();
            let Some((shape, leaf_index)) = boxed(ctx, &leaf) else {
                return refuse(
                    "TZ0303",
                    format!(
                        "the rows of {array} that it writes differ in length in a way that no box holds"
                    ),
                );
            };
            for ((var, _), length) in leaf.loops.iter().zip(&shape) {
                ctx.assume_in_range(var, length);
            }
            // The one element of such a tensor is element 0, whatever its place says.
            let index = &match leaf.loops.as_slice() {
                [(var, _)] if at_most_one => &leaf_index + &Idx::sym(var.clone()),
                _ => leaf_index,
            };
            let hidden = found
                .iter()
                .any(|(shape, view, _)| inside(ctx, view, shape, index));
            if !hidden {
                let value = chain::read(ctx, array, contents, index).map_err(|why| Refusal {
                    code: "TZ0304",
                    message: why.0,
                    line: 0,
                })?;
                let value = ctx.settle(&value);
                let to_dim = |s: &Sym| {
                    leaf.loops
                        .iter()
                        .position(|(v, _)| v == s)
                        .map(|i| Idx::sym(dim(i)))
                };
                let view = View {
                    array: array.clone(),
                    index: index.substitute(&to_dim),
                };
                found.push((shape, view, value.substitute(&to_dim)));
            }
            ctx.forget(mark);
        }
    }
    found.reverse();
    let store = |(shape, view, value)| Closed::Store { shape, view, value };
    Ok(found.into_iter().map(store).collect())
}

/// The box around the places that are written, as a shape and an index in which the counters are the box's: rows
/// are as long as the longest one, and what lies beyond a shorter one keeps its value.
fn boxed(ctx: &mut Context, leaf: &chain::Leaf) -> Option<(Vec<Idx>, Idx)> {
    let (mut shape, mut index) = (Vec::new(), leaf.index.clone());
    for (i, (var, extent)) in leaf.loops.iter().enumerate() {
        let outer = &leaf.loops[..i];
        if !outer.iter().any(|(v, _)| extent.mentions(v)) {
            shape.push(extent.clone());
            continue;
        }
        // The longest of rows that grow and shrink is not at an end.
        if outer.iter().any(|(v, _)| extent.linear_in(v).is_none()) {
            return None;
        }
        // Where a row begins further on from row to row, columns are counted from the first one.
        let (step, rest) = index.linear_in(var)?;
        let begins = match step.as_constant() {
            Some(1) => {
                let begin = rest.terms().filter(|(m, _)| {
                    let name = |v: &Sym| Idx::from_terms([(m.to_vec(), 1)]).as_sym() == Some(v);
                    m.is_empty() || outer.iter().any(|(v, _)| name(v))
                });
                Idx::from_terms(begin.map(|(m, c)| (m.to_vec(), c)))
            }
            _ => Idx::default(),
        };
        let shared = |v: &Sym| begins.mentions(v) && extent.mentions(v);
        let begins = match outer.iter().any(|(v, _)| shared(v)) {
            true => begins,
            false => Idx::default(),
        };
        let first = bound(ctx, &begins, outer, false)?;
        let end = bound(ctx, &(&begins + extent), outer, true)?;
        index = index.replace(var, &(&(&Idx::sym(var.clone()) + &first) - &begins));
        shape.push(&end - &first);
    }
    Some((shape, index))
}

/// A single write under a condition on sizes (the tail of an unrolled loop): as a tensor of one element or none,
/// and whether it is one.
fn if_taken<'a>(ctx: &mut Context, leaf: chain::Leaf<'a>) -> (chain::Leaf<'a>, bool) {
    if !leaf.loops.is_empty() {
        return (leaf, false);
    }
    let (zero, one) = (Idx::default(), Idx::constant(1));
    let extent = match &*canon::elem(leaf.cond) {
        Elem::IndexCompare(CmpOp::Ge, p, _) => (p + &one).maximum(&zero).minimum(&one),
        Elem::IndexCompare(CmpOp::Ne, p, _) => {
            let minus = -p;
            let fits = |ctx: &mut Context, p: &Idx| {
                ctx.is_non_negative(p) && ctx.proves(CmpOp::Le, p, &one)
            };
            if fits(ctx, p) {
                p.clone()
            } else if fits(ctx, &minus) {
                minus
            } else {
                return (leaf, false);
            }
        }
        _ => return (leaf, false),
    };
    if !ctx.is_over_params(&extent) {
        return (leaf, false);
    }
    let leaf = chain::Leaf {
        loops: vec![(ctx.fresh.name("taken"), extent)],
        ..leaf
    };
    (leaf, true)
}

/// Whether a place is one of the view's; a guess.
fn inside(ctx: &mut Context, view: &View, shape: &[Idx], index: &Idx) -> bool {
    let dims: Vec<(Sym, Idx)> = shape
        .iter()
        .enumerate()
        .map(|(i, n)| (dim(i), n.clone()))
        .collect();
    if dims.is_empty() {
        return view.index == *index;
    }
    let Some(position) = decode::decode(ctx, &dims, &view.index, index) else {
        return false;
    };
    let hits = at(&view.index, &position);
    canon::idx(&(&hits - index)).is_zero()
        && position
            .iter()
            .zip(shape)
            .all(|(p, n)| ctx.is_non_negative(p) && ctx.proves(CmpOp::Lt, p, n))
}
