//! Results of which the data says where each round goes: `out[j] = fold(…, if (a[i] == j) …)`, a histogram.
//!
//! Element by element, such a result takes all rounds for every place: as an array, one of places times rounds.

use crate::Unsupported;
use tensorize_ir::element::ElemRef;
use tensorize_ir::index::{Fresh, Idx, Sym};
use tensorize_ir::tensir::{Function, Output};

/// Refuses a summary with such a result.
pub(crate) fn refuse(function: &Function) -> Result<(), Unsupported> {
    let mut fresh = Fresh::default();
    let is_size = |s: &Sym| function.params.iter().any(|p| p.name() == s);
    for output in &function.outputs {
        let (Output::Return { value } | Output::Store { value, .. }) = output;
        let rank = function.nodes[*value].ty.shape.len();
        let position: Vec<Idx> = (0..rank).map(|_| Idx::sym(fresh.name("i"))).collect();
        refuse_in(&function.element(*value, &position, &mut fresh), &is_size)?;
    }
    Ok(())
}

/// Refuses a term with such a fold in it.
pub(crate) fn refuse_in(e: &ElemRef, is_size: &dyn Fn(&Sym) -> bool) -> Result<(), Unsupported> {
    match e.is_told_by_data(is_size) {
        true => Err(Unsupported::new(
            "the data says which place each round goes to: computed place by place, that takes all rounds for every \
             one of them, and in arrays as much memory",
        )),
        false => Ok(()),
    }
}
