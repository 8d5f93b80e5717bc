//! The element view: the scalar expression that stands at a position.

use super::{Function, NodeId, Op, Reducer, TensorType, View, at, dim_number};
use crate::element::{Elem, ElemRef, Fold};
use crate::index::{Fresh, Idx, Sym};
use crate::op::{BinOp, CmpOp};
use crate::scalar::Scalar;
use std::sync::Arc;

impl Function {
    /// When a store of one number changes what is at its place, as conditions that all have to hold, each of them if those
    /// before it do; and the number.
    pub fn change(&self, value: NodeId, view: &View, fresh: &mut Fresh) -> (Vec<ElemRef>, ElemRef) {
        let stays = |e: &Elem| matches!(e, Elem::Read { array, index, .. } if *array == view.array && *index == view.index);
        let (mut conditions, mut changed) = (vec![], self.element(value, &[], fresh));
        while let Elem::Select(c, t, f) = &*changed {
            let (condition, next) = match (stays(t), stays(f)) {
                (false, true) => (c.clone(), t.clone()),
                (true, false) => (Elem::not(c.clone()), f.clone()),
                _ => break,
            };
            conditions.push(condition);
            changed = next;
        }
        (conditions, changed)
    }

    /// The element of a node at a position within its shape, over the arrays at the call. Bound names
    /// come from `fresh`. The function is well-formed, and `position` has an index for each dimension.
    ///
    /// What stands outside of the shape means nothing. Nor does what is made of elements outside of an
    /// operand's shape: see [`Function::side_conditions`].
    pub fn element(&self, node: NodeId, position: &[Idx], fresh: &mut Fresh) -> ElemRef {
        let n = &self.nodes[node];
        debug_assert_eq!(position.len(), n.ty.rank(), "%{node}");
        let elem = n.ty.elem;
        let arg_ty = |i: usize| &self.nodes[n.args[i]].ty;
        let mut arg = |i: usize, position: &[Idx]| self.element(n.args[i], position, fresh);
        match &n.op {
            Op::View(view) => Elem::read(view.array.clone(), elem, at(&view.index, position)),
            Op::Param(name) => Arc::new(Elem::Param(name.clone(), elem)),
            Op::Size(idx) => Elem::of_idx(elem, idx.clone()),
            Op::Constant(value) => Elem::constant(*value),
            Op::Table(values) if values.is_empty() => Elem::constant(Scalar::zero(elem)),
            Op::Table(values) => Elem::table(values, &position[0]),
            Op::Iota { dimension } => Elem::of_idx(elem, position[*dimension].clone()),
            Op::Unary(op) => Elem::unary(*op, arg(0, position)),
            Op::Binary(op) => {
                let a = arg(0, position);
                Elem::binary(*op, a, arg(1, position))
            }
            Op::Compare(op) => {
                let a = arg(0, position);
                Elem::compare(*op, a, arg(1, position))
            }
            Op::Convert => Elem::convert(elem, arg(0, position)),
            Op::BitcastConvert => Elem::bitcast(elem, arg(0, position)),
            Op::Select => {
                let (c, t) = (arg(0, position), arg(1, position));
                Elem::select(c, t, arg(2, position))
            }
            Op::BroadcastInDim { dimensions } => {
                let there: Vec<_> = dimensions.iter().map(|&d| position[d].clone()).collect();
                arg(0, &there)
            }
            Op::Reshape => arg(0, &reshaped(&arg_ty(0).shape, &n.ty.shape, position)),
            Op::Transpose { permutation } => {
                let mut there = position.to_vec();
                for (i, &d) in permutation.iter().enumerate() {
                    there[d] = position[i].clone();
                }
                arg(0, &there)
            }
            Op::Slice { start, stride } => {
                let there = position.iter().zip(start).zip(stride);
                let there: Vec<_> = there
                    .map(|((p, start), &stride)| start + &(p * &Idx::constant(stride.into())))
                    .collect();
                arg(0, &there)
            }
            Op::Pad { low } => {
                let there: Vec<_> = position.iter().zip(low).map(|(p, low)| p - low).collect();
                let (inside, outside) = (arg(0, &there), arg(1, &[]));
                padded(arg_ty(0), &n.ty, &there, low, inside, &outside)
            }
            Op::Concatenate { dimension } => {
                let mut before = Idx::default();
                let mut pieces = Vec::new();
                for i in 0..n.args.len() {
                    let mut there = position.to_vec();
                    there[*dimension] = &there[*dimension] - &before;
                    before = &before + &arg_ty(i).shape[*dimension];
                    pieces.push((before.clone(), arg(i, &there)));
                }
                let (_, last) = pieces.pop().expect("concatenate has an operand");
                pieces.into_iter().rev().fold(last, |rest, (end, piece)| {
                    let here = Elem::index_compare(CmpOp::Lt, position[*dimension].clone(), end);
                    Elem::select(here, piece, rest)
                })
            }
            Op::Reverse { dimensions } => {
                let mut there = position.to_vec();
                for &d in dimensions {
                    there[d] = &(&n.ty.shape[d] - &Idx::constant(1)) - &there[d];
                }
                arg(0, &there)
            }
            Op::Gather => {
                let index = Idx::value(arg(1, position));
                arg(0, &[index])
            }
            Op::DotGeneral { batch, contracting } => {
                let (left, right) = (arg_ty(0).clone(), arg_ty(1).clone());
                let vars: Vec<_> = contracting.iter().map(|_| fresh.name("r")).collect();
                let extents = contracting.iter().map(|&(l, _)| left.shape[l].clone());
                let extents: Vec<_> = extents.collect();
                let (l, r) = dot_positions(&left, &right, batch, contracting, position, &vars);
                let l = self.element(n.args[0], &l, fresh);
                let r = self.element(n.args[1], &r, fresh);
                let product = Elem::binary(BinOp::Multiply, l, r);
                let start = start_position(arg_ty(2), position);
                let init = self.element(n.args[2], start, fresh);
                folds(
                    Reducer::Op(BinOp::Add),
                    init,
                    product,
                    &vars,
                    &extents,
                    fresh,
                )
            }
            Op::Reduce {
                reducer,
                dimensions,
            } => {
                let operand = arg_ty(0).clone();
                let vars: Vec<_> = dimensions.iter().map(|_| fresh.name("r")).collect();
                let extents: Vec<_> = dimensions
                    .iter()
                    .map(|&d| operand.shape[d].clone())
                    .collect();
                let (mut kept, mut gone) = (position.iter(), vars.iter());
                let there: Vec<_> = (0..operand.rank())
                    .map(|d| match dimensions.contains(&d) {
                        true => Idx::sym(gone.next().expect("one for each").clone()),
                        false => kept.next().expect("one for each").clone(),
                    })
                    .collect();
                let x = self.element(n.args[0], &there, fresh);
                let start = start_position(arg_ty(1), position);
                let init = self.element(n.args[1], start, fresh);
                folds(*reducer, init, x, &vars, &extents, fresh)
            }
            Op::Scan {
                reducer,
                dimension,
                exclusive,
                reverse,
            } => {
                let way = (*dimension, *exclusive, *reverse);
                self.scan_element(n, *reducer, way, position, fresh)
            }
            Op::ArgReduce { reducer, dimension } => {
                self.arg_reduce_element(n, *reducer, *dimension, position, fresh)
            }
            Op::Generic(e) => e.instantiate(
                &|s| dim_number(s).and_then(|d| position.get(d).cloned()),
                fresh,
            ),
        }
    }
}

/// Where the element at `position` of the shape `to` stands in the shape `from`, in row-major order.
fn reshaped(from: &[Idx], to: &[Idx], position: &[Idx]) -> Vec<Idx> {
    let product = |shape: &[Idx]| shape.iter().fold(Idx::constant(1), |p, e| &p * e);
    let mut there = vec![Idx::default(); from.len()];
    // From the right, in the smallest groups of dimensions that have as many elements on either
    // side: row-major order does not mix these.
    let (mut i, mut j) = (from.len(), to.len());
    while (i, j) != (0, 0) {
        let mut starts: Vec<_> = (0..=i).flat_map(|a| (0..=j).map(move |b| (a, b))).collect();
        starts.retain(|&s| s != (i, j));
        starts.sort_by_key(|(a, b)| std::cmp::Reverse(a + b));
        let same = |&(a, b): &(usize, usize)| product(&from[a..i]) == product(&to[b..j]);
        let (a, b) = starts.into_iter().find(same).unwrap_or((0, 0));
        let linear = (b..j).fold(Idx::default(), |l, d| &(&l * &to[d]) + &position[d]);
        for d in a..i {
            let inner = product(&from[d + 1..i]);
            let outermost = from[a..d].iter().all(|e| e.as_constant() == Some(1));
            let quotient = linear.floor_div(&inner);
            there[d] = match from[d].as_constant() {
                Some(1) => Idx::default(),
                _ if outermost => quotient,
                _ => quotient.modulo(&from[d]),
            };
        }
        (i, j) = (a, b);
    }
    there
}

/// `inside` where `there` lies in the operand, `outside` elsewhere.
fn padded(
    operand: &TensorType,
    result: &TensorType,
    there: &[Idx],
    low: &[Idx],
    inside: ElemRef,
    outside: &ElemRef,
) -> ElemRef {
    let mut e = inside;
    for (d, p) in there.iter().enumerate().rev() {
        let extent = &operand.shape[d];
        // Positions lie within the result's shape: no test where that is enough.
        if &low[d] + extent != result.shape[d] {
            let before_end = Elem::index_compare(CmpOp::Lt, p.clone(), extent.clone());
            e = Elem::select(before_end, e, outside.clone());
        }
        if !low[d].is_zero() {
            let after_start = Elem::index_compare(CmpOp::Ge, p.clone(), Idx::default());
            e = Elem::select(after_start, e, outside.clone());
        }
    }
    e
}

/// Positions in the operands of a `dot_general`: batch and free dimensions from the result's
/// position, contracted ones from `vars`.
fn dot_positions(
    left: &TensorType,
    right: &TensorType,
    batch: &[(usize, usize)],
    contracting: &[(usize, usize)],
    position: &[Idx],
    vars: &[Sym],
) -> (Vec<Idx>, Vec<Idx>) {
    let mut l: Vec<Option<Idx>> = vec![None; left.rank()];
    let mut r: Vec<Option<Idx>> = vec![None; right.rank()];
    let mut outer = position.iter().cloned();
    for &(a, b) in batch {
        let p = outer.next();
        (l[a], r[b]) = (p.clone(), p);
    }
    for (&(a, b), var) in contracting.iter().zip(vars) {
        (l[a], r[b]) = (Some(Idx::sym(var.clone())), Some(Idx::sym(var.clone())));
    }
    for free in l.iter_mut().chain(&mut r).filter(|p| p.is_none()) {
        *free = outer.next();
    }
    let all = |p: Vec<Option<Idx>>| p.into_iter().map(Option::unwrap_or_default).collect();
    (all(l), all(r))
}

/// `acc = init; for vars[0] in 0..extents[0] { for vars[1] … { acc = combine(acc, x) } }; acc`
fn folds(
    reducer: Reducer,
    init: ElemRef,
    x: ElemRef,
    vars: &[Sym],
    extents: &[Idx],
    fresh: &mut Fresh,
) -> ElemRef {
    let Some((var, inner_vars)) = vars.split_first() else {
        return reducer.combine(init, x);
    };
    let acc = fresh.name("acc");
    fold_over(acc, var.clone(), extents[0].clone(), init, |before| {
        folds(reducer, before, x, inner_vars, &extents[1..], fresh)
    })
}

/// `acc = init; for var in 0..extent { acc = step(acc) }; acc`
pub(super) fn fold_over(
    acc: Sym,
    var: Sym,
    extent: Idx,
    init: ElemRef,
    step: impl FnOnce(ElemRef) -> ElemRef,
) -> ElemRef {
    let before = Arc::new(Elem::Acc(acc.clone(), init.ty()));
    let step = step(before);
    Arc::new(Elem::Fold(Arc::new(Fold::new(
        acc, var, extent, init, step,
    ))))
}

/// Where a fold's start stands: `position` in a tensor, nowhere in a scalar.
pub(super) fn start_position<'a>(init: &TensorType, position: &'a [Idx]) -> &'a [Idx] {
    match init.rank() {
        0 => &[],
        _ => position,
    }
}
