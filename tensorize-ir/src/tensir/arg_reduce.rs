//! The two definitions of [`Op::ArgReduce`](super::Op::ArgReduce).

use super::element_view::start_position;
use super::interpret::each_position;
use super::{Function, Node, Reducer, Tensor};
use crate::element::{Elem, ElemRef, Fold, Lane, Order};
use crate::index::{Fresh, Idx};
use std::sync::Arc;

/// Runs over the operand in memory order; `args` are elements, labels, and what either starts from.
pub(super) fn interpret(
    shape: Vec<usize>,
    args: &[&Tensor],
    reducer: Reducer,
    dimension: usize,
) -> Result<Tensor, String> {
    let [operand, labels, init, label] = args else {
        return Err("four operands".into());
    };
    let count = shape.iter().product();
    let mut best = init.one_or_each(count);
    let mut data = label.one_or_each(count);
    each_position(&operand.shape, |position| {
        let place = operand.place_without(&[dimension], position);
        let both = best[place].zip(operand.get(position));
        match both.map(|(acc, x)| (reducer.takes(acc, x), x)) {
            Some((Some(true), x)) => {
                (best[place], data[place]) = (Some(x), labels.get(position));
            }
            Some((Some(false), _)) => {}
            _ => (best[place], data[place]) = (None, None),
        }
    });
    Ok(Tensor { shape, data })
}

impl Function {
    /// A fold of two lanes: the label, and the element that it belongs to.
    pub(super) fn arg_reduce_element(
        &self,
        node: &Node,
        reducer: Reducer,
        dimension: usize,
        position: &[Idx],
        fresh: &mut Fresh,
    ) -> ElemRef {
        let var = fresh.name("r");
        let mut there = position.to_vec();
        there.insert(dimension, Idx::sym(var.clone()));
        let x = self.element(node.args[0], &there, fresh);
        let label = self.element(node.args[1], &there, fresh);
        let start = |i: usize, fresh: &mut Fresh| {
            let at = start_position(&self.nodes[node.args[i]].ty, position);
            self.element(node.args[i], at, fresh)
        };
        let (first, first_label) = (start(2, fresh), start(3, fresh));
        let (best, at) = (fresh.name("best"), fresh.name("at"));
        let acc = Arc::new(Elem::Acc(best.clone(), x.ty()));
        let acc_label = Arc::new(Elem::Acc(at.clone(), label.ty()));
        // A reducer that keeps neither is not well-formed here.
        let step = reducer.choose((&acc, &x), acc_label.clone(), label);
        Arc::new(Elem::Fold(Arc::new(Fold {
            acc: at,
            var,
            extent: self.nodes[node.args[0]].ty.shape[dimension].clone(),
            init: first_label,
            step: step.unwrap_or(acc_label),
            order: Order::Sequential,
            others: vec![Lane {
                acc: best,
                init: first,
                step: reducer.combine(acc, x),
            }],
        })))
    }
}
