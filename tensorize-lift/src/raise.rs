//! Raising index notation to library operators.
//!
//! Two steps. [`vectorise`] follows the syntax: each subterm becomes a tensor over exactly the indices
//! it depends on, a fold becomes a `reduce` where [`reduction`] recognises one, and what has no
//! operator stays index notation ([`Op::Generic`]), for that subterm alone. Then equality saturation
//! (egg) over [`rules`] and [`structure`], from which [`extract`] takes the cheapest form.
//!
//! Every step keeps every bit of the result (up to the payload of a NaN). All the same nothing here is
//! trusted: the prover sees what comes out.

mod convert;
mod extract;
mod first_round;
mod lang;
mod reduction;
mod rules;
mod structure;
mod vectorise;

use tensorize_ir::element::{ElemRef, Fold};
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::Param;
use tensorize_ir::tensir::{self, Function, Op, Output, TensorType};

/// One result of a kernel, in index notation.
#[derive(Clone, Debug, PartialEq)]
pub enum Closed {
    /// For all `(#0, #1, …)` within `shape`: `view` gets `value`; both speak of `#0`, `#1`, ….
    Store {
        /// Extents.
        shape: Vec<Idx>,
        /// Where.
        view: tensir::View,
        /// What.
        value: ElemRef,
    },
    /// The returned value.
    Return(ElemRef),
}

impl Closed {
    /// Extents and value; a returned value is a scalar.
    fn parts(&self) -> (&[Idx], &ElemRef) {
        match self {
            Closed::Store { shape, value, .. } => (shape, value),
            Closed::Return(value) => (&[], value),
        }
    }

    fn output(&self, value: tensir::NodeId) -> Output {
        match self {
            Closed::Store { view, .. } => Output::Store {
                value,
                view: view.clone(),
            },
            Closed::Return(_) => Output::Return { value },
        }
    }
}

/// Whether a fold is a reduction that has an operator.
pub(crate) fn is_reduction(fold: &Fold) -> bool {
    reduction::recognise(fold).is_some()
}

pub(crate) use first_round::starts_by_itself;

/// The cheapest TensIR function for these results that equality saturation finds.
pub fn raise(name: &str, params: &[Param], results: &[Closed]) -> Function {
    let vectorised = vectorise::vectorise(name, params, results);
    extract::cheapest(vectorised)
}

/// The same results as raw index notation. Where a proof of the raised form fails, this one may still
/// have one.
pub fn unraised(name: &str, params: &[Param], results: &[Closed]) -> Function {
    let mut f = empty(name, params);
    for r in results {
        let (shape, value) = r.parts();
        let ty = TensorType::new(shape.to_vec(), value.ty());
        f.nodes.push(tensir::Node {
            op: Op::Generic(value.clone()),
            args: vec![],
            ty,
        });
        let output = r.output(f.nodes.len() - 1);
        f.outputs.push(output);
    }
    f
}

fn empty(name: &str, params: &[Param]) -> Function {
    Function {
        name: name.into(),
        params: params.to_vec(),
        nodes: vec![],
        outputs: vec![],
        rounds: None,
        state: vec![],
    }
}
