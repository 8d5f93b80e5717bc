//! The type of an operator's result, from those of its operands.

use super::{Rule, ensure};
use crate::index::Idx;
use crate::op::BinOp;
use crate::scalar::ScalarType;
use crate::tensir::{Op, Reducer, TensorType};
use std::collections::BTreeSet;

/// The type of the result, where it follows from those of the operands.
pub fn infer(op: &Op, args: &[&TensorType]) -> Rule<TensorType> {
    if let Some(n) = op.arity() {
        let s = if n == 1 { "" } else { "s" };
        ensure(args.len() == n, || {
            format!("takes {n} operand{s}, and has {}", args.len())
        })?;
    }
    match op {
        Op::Constant(v) => Ok(TensorType::scalar(v.ty)),
        Op::Table(values) => match values.first() {
            Some(v) => {
                ensure(values.iter().all(|w| w.ty == v.ty), || "mixes types".into())?;
                Ok(TensorType::new(
                    vec![Idx::constant(values.len() as i128)],
                    v.ty,
                ))
            }
            None => Err("an empty table needs its type spelled out".into()),
        },
        Op::Unary(op) => {
            ensure(op.accepts(args[0].elem), || {
                format!("is not defined on {}", args[0].elem)
            })?;
            Ok(args[0].clone())
        }
        Op::Binary(op) => {
            ensure(args[0] == args[1], || differ(args[0], args[1]))?;
            ensure(op.accepts(args[0].elem), || {
                format!("is not defined on {}", args[0].elem)
            })?;
            Ok(args[0].clone())
        }
        Op::Compare(_) => {
            ensure(args[0] == args[1], || differ(args[0], args[1]))?;
            Ok(args[0].with_elem(ScalarType::I1))
        }
        Op::Select => {
            ensure(args[1] == args[2], || differ(args[1], args[2]))?;
            let predicate = args[1].with_elem(ScalarType::I1);
            ensure(*args[0] == predicate, || {
                format!("the predicate is {}, and should be {predicate}", args[0])
            })?;
            Ok(args[1].clone())
        }
        Op::Transpose { permutation } => {
            let rank = args[0].rank();
            let all: BTreeSet<_> = permutation.iter().copied().collect();
            ensure(
                permutation.len() == rank && all.into_iter().eq(0..rank),
                || format!("{permutation:?} is not a permutation of the {rank} dimensions"),
            )?;
            let shape = permutation
                .iter()
                .map(|&d| args[0].shape[d].clone())
                .collect();
            Ok(TensorType::new(shape, args[0].elem))
        }
        Op::Concatenate { dimension } => concatenate(*dimension, args),
        Op::Reverse { dimensions } => {
            dimensions_ok(dimensions, args[0].rank())?;
            Ok(args[0].clone())
        }
        Op::Gather => {
            let (operand, indices) = (args[0], args[1]);
            ensure(operand.rank() == 1, || {
                format!("gathers from a vector, not from {operand}")
            })?;
            let int = indices.elem.is_int() && indices.elem != ScalarType::I1;
            ensure(int, || {
                format!("indices are integers, not {}", indices.elem)
            })?;
            Ok(indices.with_elem(operand.elem))
        }
        Op::DotGeneral { batch, contracting } => dot_general(batch, contracting, args),
        Op::Reduce {
            reducer,
            dimensions,
        } => reduce(*reducer, dimensions, args),
        Op::Scan {
            reducer, dimension, ..
        } => {
            reduce(*reducer, &[*dimension], args)?;
            Ok(args[0].clone())
        }
        Op::ArgReduce { reducer, dimension } => arg_reduce(*reducer, *dimension, args),
        Op::View(_)
        | Op::Param(_)
        | Op::Size(_)
        | Op::Iota { .. }
        | Op::Convert
        | Op::BitcastConvert
        | Op::BroadcastInDim { .. }
        | Op::Reshape
        | Op::Slice { .. }
        | Op::Pad { .. }
        | Op::Generic(_) => {
            Err("the type does not follow from the operands; write it after a ':'".into())
        }
    }
}

fn differ(a: &TensorType, b: &TensorType) -> String {
    format!("the operands' types differ: {a} and {b}")
}

pub(super) fn dimensions_ok(dimensions: &[usize], rank: usize) -> Rule {
    let ascending = dimensions.windows(2).all(|w| w[0] < w[1]);
    let in_range = dimensions.iter().all(|&d| d < rank);
    ensure(ascending && in_range, || {
        format!("{dimensions:?} is not an ascending list of some of the {rank} dimensions")
    })
}

pub(super) fn scalar_of(init: &TensorType, elem: ScalarType) -> Rule {
    let scalar = TensorType::scalar(elem);
    ensure(*init == scalar, || {
        format!("the last operand is {init}, and should be {scalar}")
    })
}

fn concatenate(dimension: usize, args: &[&TensorType]) -> Rule<TensorType> {
    let first = args.first().ok_or("takes an operand or more")?;
    ensure(dimension < first.rank(), || {
        format!("{first} has no dimension {dimension}")
    })?;
    let mut result = (*first).clone();
    for other in &args[1..] {
        let mut aligned = (*other).clone();
        ensure(aligned.rank() == first.rank(), || differ(first, other))?;
        aligned.shape[dimension] = first.shape[dimension].clone();
        ensure(aligned == **first, || differ(first, other))?;
        result.shape[dimension] = &result.shape[dimension] + &other.shape[dimension];
    }
    Ok(result)
}

fn dot_general(
    batch: &[(usize, usize)],
    contracting: &[(usize, usize)],
    args: &[&TensorType],
) -> Rule<TensorType> {
    let (left, right, elem) = (args[0], args[1], args[0].elem);
    ensure(right.elem == elem, || differ(left, right))?;
    ensure(BinOp::Add.accepts(elem), || {
        format!("is not defined on {elem}")
    })?;
    let (mut used_left, mut used_right) = (BTreeSet::new(), BTreeSet::new());
    let mut shape = Vec::new();
    for (i, &(l, r)) in batch.iter().chain(contracting).enumerate() {
        ensure(l < left.rank() && r < right.rank(), || {
            format!("{left} and {right} have no dimensions {l} x {r}")
        })?;
        ensure(used_left.insert(l) && used_right.insert(r), || {
            format!("a dimension of {l} x {r} is used twice")
        })?;
        ensure(left.shape[l] == right.shape[r], || {
            format!("dimensions {l} x {r} have different extents: {left} and {right}")
        })?;
        if i < batch.len() {
            shape.push(left.shape[l].clone());
        }
    }
    let free = |t: &TensorType, used: &BTreeSet<usize>| {
        let kept = t
            .shape
            .iter()
            .enumerate()
            .filter(|(d, _)| !used.contains(d));
        kept.map(|(_, e)| e.clone()).collect::<Vec<_>>()
    };
    shape.extend(free(left, &used_left));
    shape.extend(free(right, &used_right));
    let result = TensorType::new(shape, elem);
    one_or_each(args[2], &result)?;
    Ok(result)
}

fn reduce(reducer: Reducer, dimensions: &[usize], args: &[&TensorType]) -> Rule<TensorType> {
    let operand = args[0];
    dimensions_ok(dimensions, operand.rank())?;
    if let Reducer::Op(op) = reducer {
        ensure(op.accepts(operand.elem), || {
            format!("{op} is not defined on {}", operand.elem)
        })?;
    }
    let kept = operand
        .shape
        .iter()
        .enumerate()
        .filter(|(d, _)| !dimensions.contains(d));
    let shape: Vec<_> = kept.map(|(_, e)| e.clone()).collect();
    let result = TensorType::new(shape, operand.elem);
    one_or_each(args[1], &result)?;
    Ok(result)
}

/// One start for all, or one for each element.
fn one_or_each(init: &TensorType, result: &TensorType) -> Rule {
    if *init == *result {
        return Ok(());
    }
    scalar_of(init, result.elem)
}

fn arg_reduce(reducer: Reducer, dimension: usize, args: &[&TensorType]) -> Rule<TensorType> {
    let (operand, labels) = (args[0], args[1]);
    ensure(!matches!(reducer, Reducer::Op(_)), || {
        format!("{reducer} keeps neither element; take_if and keep_if do")
    })?;
    ensure(operand.shape == labels.shape, || differ(operand, labels))?;
    let best = reduce(reducer, &[dimension], &[operand, args[2]])?;
    let result = best.with_elem(labels.elem);
    one_or_each(args[3], &result)?;
    Ok(result)
}
