//! Integers that are made of sums of floats, as a class of the largest score, or a level. Integers are exact at any tier, so
//! that the order of such a sum is not free.

use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::Sym;
use tensorize_ir::op::BinOp;
use tensorize_ir::tensir::{Function, Node, Op, Output, Reducer};

/// Whether an integer that a summary stores or returns, or a place where it stores or reads something, depends on a sum or
/// product of many floats.
pub fn decides_integers(summary: &Function) -> bool {
    // Of each node, whether such a sum is in it.
    let mut of_sums: Vec<bool> = Vec::new();
    for node in &summary.nodes {
        let below = node.args.iter().any(|&a| of_sums[a]);
        of_sums.push(below || is_sum(node));
    }
    let stored = |o: &Output| {
        let (value, place) = match o {
            Output::Store { value, view } => (*value, Some(&view.index)),
            Output::Return { value } => (*value, None),
        };
        let mut at_sums = false;
        if let Some(index) = place {
            index.for_each_value(&mut |e| at_sums |= has_sum(e));
        }
        at_sums || of_sums[value] && !summary.nodes[value].ty.elem.is_float()
    };
    let looked_up = |n: &Node| match &n.op {
        Op::Generic(e) => reads_at_sums(e),
        Op::Gather => n.args.get(1).is_some_and(|&at| of_sums[at]),
        _ => false,
    };
    summary.outputs.iter().any(stored) || summary.nodes.iter().any(looked_up)
}

fn is_sum(node: &Node) -> bool {
    let adds = |r: &Reducer| matches!(r, Reducer::Op(BinOp::Add | BinOp::Multiply));
    match &node.op {
        Op::DotGeneral { .. } => node.ty.elem.is_float(),
        Op::Reduce { reducer, .. } | Op::Scan { reducer, .. } => {
            node.ty.elem.is_float() && adds(reducer)
        }
        Op::Generic(e) => has_sum(e),
        _ => false,
    }
}

fn has_sum(e: &ElemRef) -> bool {
    let mut found = false;
    e.visit(&mut |x| {
        found |= matches!(&**x, Elem::Fold(f) if f.lanes().any(|lane| adds(lane.step, lane.acc)));
    });
    found
}

/// Whether a step adds to an accumulator of floats, or multiplies it.
fn adds(step: &ElemRef, acc: &Sym) -> bool {
    let is_acc = |e: &ElemRef| matches!(&**e, Elem::Acc(name, ty) if name == acc && ty.is_float());
    let mut found = false;
    step.visit(&mut |x| {
        let rounds = |op: BinOp| matches!(op, BinOp::Add | BinOp::Subtract | BinOp::Multiply);
        found |= matches!(&**x, Elem::Binary(op, a, b) if rounds(*op) && (is_acc(a) || is_acc(b)));
    });
    found
}

fn reads_at_sums(e: &ElemRef) -> bool {
    let mut found = false;
    e.visit(&mut |x| {
        if let Elem::Read { index, .. } = &**x {
            index.for_each_value(&mut |v| found |= has_sum(v));
        }
    });
    found
}
