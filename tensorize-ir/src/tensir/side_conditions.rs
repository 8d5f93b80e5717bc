//! Where operators and their element view could part: elements that lie outside of an operand.

use super::{Function, NodeId, Op, dim};
use crate::element::{Elem, ElemRef};
use crate::index::{Fresh, Idx};
use crate::op::CmpOp;

/// Something that has to hold for an operator to be defined. Who relies on a function has to show it,
/// for the guards at hand.
#[derive(Clone, Debug, PartialEq)]
pub struct SideCondition {
    /// The operator.
    pub node: NodeId,
    /// The shape of its result.
    pub shape: Vec<Idx>,
    /// True at every position `(#0, #1, …)` within that shape. An `i1`.
    pub holds: ElemRef,
    /// In words.
    pub why: &'static str,
}

impl Function {
    /// What has to hold for every operator to be defined at every element that it makes, less what
    /// is evident. Bound names come from `fresh`.
    pub fn side_conditions(&self, fresh: &mut Fresh) -> Vec<SideCondition> {
        let mut all = Vec::new();
        for (node, n) in self.nodes.iter().enumerate() {
            let shape = &n.ty.shape;
            let position: Vec<_> = (0..shape.len()).map(|d| Idx::sym(dim(d))).collect();
            let operand = |i: usize| &self.nodes[n.args[i]].ty.shape;
            let mut need = |a: Idx, cmp: CmpOp, b: &Idx, why| {
                let holds = Elem::index_compare(cmp, a, b.clone());
                if !matches!(&*holds, Elem::Const(v) if v.is_true()) {
                    all.push(SideCondition {
                        node,
                        shape: shape.clone(),
                        holds,
                        why,
                    });
                }
            };
            let zero = Idx::default();
            match &n.op {
                Op::Slice { start, stride } => {
                    let why = "a slice lies within its operand";
                    for d in 0..shape.len() {
                        let stride = Idx::constant(stride[d].into());
                        let there = &start[d] + &(&position[d] * &stride);
                        if start[d].as_constant().is_none_or(|s| s < 0) {
                            need(there.clone(), CmpOp::Ge, &zero, why);
                        }
                        let last = &start[d] + &(&(&shape[d] - &Idx::constant(1)) * &stride);
                        let room = (&operand(0)[d] - &last).as_constant();
                        if room.is_none_or(|r| r < 1) {
                            need(there, CmpOp::Lt, &operand(0)[d], why);
                        }
                    }
                }
                Op::Gather => {
                    let index = Idx::value(self.element(n.args[1], &position, fresh));
                    let why = "an index lies within the vector";
                    need(index.clone(), CmpOp::Ge, &zero, why);
                    need(index, CmpOp::Lt, &operand(0)[0], why);
                }
                Op::Reshape => {
                    for e in operand(0).iter().filter(|e| !shape.contains(e)) {
                        need(
                            e.clone(),
                            CmpOp::Gt,
                            &zero,
                            "what has elements has positive extents",
                        );
                    }
                }
                Op::Pad { low } => {
                    for d in 0..shape.len() {
                        let high = &(&shape[d] - &low[d]) - &operand(0)[d];
                        need(low[d].clone(), CmpOp::Ge, &zero, "padding is not negative");
                        need(high, CmpOp::Ge, &zero, "padding is not negative");
                    }
                }
                Op::Concatenate { dimension } => {
                    for i in 0..n.args.len() {
                        let e = operand(i)[*dimension].clone();
                        need(e, CmpOp::Ge, &zero, "no part has a negative extent");
                    }
                }
                _ => {}
            }
        }
        all
    }
}
