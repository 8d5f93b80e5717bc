//! The two definitions of [`Op::Scan`](super::Op::Scan).

use super::element_view::{fold_over, start_position};
use super::interpret::each_position;
use super::{Function, Node, Reducer, Tensor};
use crate::element::ElemRef;
use crate::index::{Fresh, Idx};

/// Along which dimension, whether the element itself is left out, and whether it runs backwards.
pub(super) type Way = (usize, bool, bool);

/// Runs over the operand in memory order, backwards along the dimension if need be, and notes what each
/// accumulator holds.
pub(super) fn interpret(
    operand: &Tensor,
    init: &Tensor,
    reducer: Reducer,
    (dimension, exclusive, reverse): Way,
) -> Tensor {
    let shape = &operand.shape;
    let (along, count) = (shape[dimension], shape.iter().product::<usize>());
    let mut accs = init.one_or_each(count.checked_div(along).unwrap_or(0));
    let mut data = vec![None; count];
    each_position(shape, |position| {
        let mut position = position.to_vec();
        if reverse {
            position[dimension] = along as i128 - 1 - position[dimension];
        }
        let acc = &mut accs[operand.place_without(&[dimension], &position)];
        let before = *acc;
        let x = operand.get(&position);
        *acc = before.zip(x).map(|(acc, x)| reducer.combined(acc, x));
        data[operand.place_without(&[], &position)] = if exclusive { before } else { *acc };
    });
    Tensor {
        shape: shape.clone(),
        data,
    }
}

impl Function {
    /// A fold with as many steps as the index says.
    pub(super) fn scan_element(
        &self,
        node: &Node,
        reducer: Reducer,
        (dimension, exclusive, reverse): Way,
        position: &[Idx],
        fresh: &mut Fresh,
    ) -> ElemRef {
        let var = fresh.name("r");
        let (here, step) = (&position[dimension], Idx::sym(var.clone()));
        let last = &node.ty.shape[dimension] - &Idx::constant(1);
        let (steps_before, at) = match reverse {
            true => (&last - here, &last - &step),
            false => (here.clone(), step),
        };
        let steps = &steps_before + &Idx::constant(i128::from(!exclusive));
        let mut there = position.to_vec();
        there[dimension] = at;
        let x = self.element(node.args[0], &there, fresh);
        let mut others = position.to_vec();
        others.remove(dimension);
        let start = start_position(&self.nodes[node.args[1]].ty, &others);
        let init = self.element(node.args[1], start, fresh);
        let acc = fresh.name("acc");
        fold_over(acc, var, steps, init, |acc| reducer.combine(acc, x))
    }
}
