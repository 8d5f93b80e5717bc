//! The element view of a summary's results.

use crate::Unsupported;
use tensorize_ir::element::ElemRef;
use tensorize_ir::index::{Fresh, Idx, Sym};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Function, NodeId, Op, elem_at};

/// The scalar expression that stands at `position` of a node's tensor.
pub(crate) fn element(
    function: &Function,
    node: NodeId,
    position: &[Idx],
    _fresh: &mut Fresh,
) -> Result<ElemRef, Unsupported> {
    match &function.nodes[node].op {
        Op::Generic(e) => Ok(elem_at(e, position)),
        other => Err(Unsupported::new(format!("no element view of {other:?}"))),
    }
}

/// The constant tables that element views read.
pub(crate) fn tables(_function: &Function) -> Vec<(Sym, Vec<Scalar>, ScalarType)> {
    Vec::new()
}

/// The summary, for a comment.
pub(crate) fn summary_lines(function: &Function) -> Vec<String> {
    function
        .nodes
        .iter()
        .map(|n| format!("{:?}", n.op))
        .collect()
}
