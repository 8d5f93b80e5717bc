//! Parts of a kernel as functions of their own, for targets that compute only some of it.
//!
//! A part reads what other parts have computed from arrays, a node each, in row-major order.

use std::collections::BTreeMap;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::Param;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::{Function, NodeId, Op, Output, TensorType, View, dim};

/// Nodes whose values lie in arrays.
pub(crate) type Computed = BTreeMap<NodeId, Sym>;

/// What a part computes.
pub(crate) enum Wanted<'a> {
    /// A node, into this array.
    Array(NodeId, &'a Sym),
    /// A scalar node, to be returned.
    Value(NodeId),
    /// The function's own results.
    Results,
}

/// The part of `function` that computes what is wanted from its arrays and from what is computed already.
pub(crate) fn part(
    function: &Function,
    name: &str,
    computed: &Computed,
    wanted: &Wanted,
) -> Function {
    let mut copy = Copy {
        from: function,
        computed,
        to: Function {
            name: name.into(),
            params: function.params.clone(),
            nodes: vec![],
            outputs: vec![],
            rounds: None,
            state: vec![],
        },
        done: BTreeMap::new(),
    };
    for (id, array) in computed {
        copy.to
            .params
            .push(array_param(array, function.nodes[*id].ty.elem, true));
    }
    match wanted {
        Wanted::Array(id, array) => {
            let ty = &function.nodes[*id].ty;
            copy.to.params.push(array_param(array, ty.elem, false));
            let output = Output::Store {
                value: copy.node(*id),
                view: row_major(array, ty),
            };
            copy.to.outputs.push(output);
        }
        Wanted::Value(id) => {
            let output = Output::Return {
                value: copy.node(*id),
            };
            copy.to.outputs.push(output);
        }
        Wanted::Results => {
            for output in &function.outputs {
                let mut output = output.clone();
                match &mut output {
                    Output::Store { value, .. } | Output::Return { value } => {
                        *value = copy.node(*value);
                    }
                }
                copy.to.outputs.push(output);
            }
        }
    }
    copy.to
}

fn array_param(name: &Sym, elem: ScalarType, is_const: bool) -> Param {
    Param::Array {
        name: name.clone(),
        elem,
        is_const,
        restrict: true,
    }
}

/// The view of an array that holds nothing but a tensor of this type.
pub(crate) fn row_major(array: &Sym, ty: &TensorType) -> View {
    let mut index = Idx::constant(0);
    for (i, extent) in ty.shape.iter().enumerate() {
        index = &(&index * extent) + &Idx::sym(dim(i));
    }
    View {
        array: array.clone(),
        index,
    }
}

struct Copy<'a> {
    from: &'a Function,
    computed: &'a Computed,
    to: Function,
    done: BTreeMap<NodeId, NodeId>,
}

impl Copy<'_> {
    fn node(&mut self, id: NodeId) -> NodeId {
        if let Some(new) = self.done.get(&id) {
            return *new;
        }
        let node = &self.from.nodes[id];
        let new = match self.computed.get(&id) {
            Some(array) => {
                let view = row_major(array, &node.ty);
                self.to.add(Op::View(view), vec![], node.ty.clone())
            }
            None => {
                let args = node.args.iter().map(|a| self.node(*a)).collect();
                self.to.add(node.op.clone(), args, node.ty.clone())
            }
        };
        self.done.insert(id, new);
        new
    }
}
