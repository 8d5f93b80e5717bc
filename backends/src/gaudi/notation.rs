//! Index notation as operators, where an element needs nothing but the elements at its own index.
//!
//! Summaries keep index notation where sizes or modes decide what is read: `mode > 0 ? a[i] : b[i]`. A core loads
//! both. That reads no more than the target says beforehand, as long as the loads stay inside of what the kernel is
//! known to touch; which is looked at before a launch (see `Plan::inside`).

use std::collections::BTreeSet;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::Sym;
use tensorize_ir::tensir::{Function, NodeId, Op, Output, TensorType, View};

/// The function with operators in the place of index notation, and the arrays that this reads. What has none stays.
pub(super) fn spelt_out(f: &Function) -> (Function, BTreeSet<Sym>) {
    let mut new = Function {
        nodes: vec![],
        outputs: vec![],
        ..f.clone()
    };
    let (mut ids, mut reads) = (Vec::new(), BTreeSet::new());
    for node in &f.nodes {
        let args = node.args.iter().map(|a| ids[*a]).collect();
        let found = match &node.op {
            Op::Generic(e) if !node.ty.shape.is_empty() && has_operators(e) => {
                let mut writer = Writer {
                    to: &mut new,
                    like: &node.ty,
                    reads: &mut reads,
                };
                writer.tensor(e)
            }
            _ => None,
        };
        ids.push(found.unwrap_or_else(|| new.add(node.op.clone(), args, node.ty.clone())));
    }
    new.outputs = f.outputs.clone();
    for output in &mut new.outputs {
        let (Output::Store { value, .. } | Output::Return { value }) = output;
        *value = ids[*value];
    }
    (new, reads)
}

/// Whether the value is the same at every index.
fn is_scalar(e: &ElemRef) -> bool {
    let mut dims = false;
    e.for_each_free_sym(&mut |s| dims |= s.starts_with('#'));
    !dims
}

fn has_operators(e: &ElemRef) -> bool {
    let itself = match &**e {
        Elem::Read { index, .. } => !index.has_values(),
        Elem::OfIdx(..) | Elem::IndexCompare(..) | Elem::Acc(..) | Elem::Fold(_) => false,
        _ => true,
    };
    is_scalar(e) || itself && e.children().into_iter().all(has_operators)
}

struct Writer<'a> {
    to: &'a mut Function,
    like: &'a TensorType,
    reads: &'a mut BTreeSet<Sym>,
}

impl Writer<'_> {
    fn tensor(&mut self, e: &ElemRef) -> Option<NodeId> {
        let ty = self.like.with_elem(e.ty());
        if is_scalar(e) {
            let op = match &**e {
                Elem::Const(v) => Op::Constant(*v),
                Elem::Param(name, _) => Op::Param(name.clone()),
                _ => Op::Generic(e.clone()),
            };
            let scalar = self.to.add(op, vec![], TensorType::scalar(e.ty()));
            let dimensions = vec![];
            let op = Op::BroadcastInDim { dimensions };
            return Some(self.to.add(op, vec![scalar], ty));
        }
        let (op, args): (Op, &[&ElemRef]) = match &**e {
            Elem::Read { array, index, .. } => {
                self.reads.insert(array.clone());
                let view = View {
                    array: array.clone(),
                    index: index.clone(),
                };
                (Op::View(view), &[])
            }
            Elem::Unary(op, a) => (Op::Unary(*op), &[a]),
            Elem::Binary(op, a, b) => (Op::Binary(*op), &[a, b]),
            Elem::Compare(op, a, b) => (Op::Compare(*op), &[a, b]),
            Elem::Convert(_, a) => (Op::Convert, &[a]),
            Elem::Bitcast(_, a) => (Op::BitcastConvert, &[a]),
            Elem::Select(c, t, f) => (Op::Select, &[c, t, f]),
            _ => return None,
        };
        let mut nodes = Vec::new();
        for a in args {
            nodes.push(self.tensor(a)?);
        }
        Some(self.to.add(op, nodes, ty))
    }
}
