//! Results of which the data says where each round goes: `out[j] = fold(…, if (a[i] == j) …)`, a histogram.
//!
//! Element by element, such a result takes all rounds for every place: as an array, one of places times rounds.

use crate::Unsupported;
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Fresh, Idx, Sym};
use tensorize_ir::op::CmpOp;
use tensorize_ir::tensir::{Function, Output};

/// A write of a round.
pub(crate) struct Write {
    /// The dimensions of the place that the data says.
    pub told: BTreeMap<Sym, Idx>,
    /// When it is made.
    pub conditions: Vec<ElemRef>,
    /// What it leaves, in terms of the accumulator.
    pub value: ElemRef,
}

/// The innermost of folds that go on from each other, and what a round of it writes, the first write first; `None` if the
/// element of these dimensions is no such result.
pub(crate) fn writes<'a>(dims: &[Sym], fold: &'a Fold) -> Option<(&'a Fold, Vec<Write>)> {
    if !fold.others.is_empty() {
        return None;
    }
    if let Some((conditions, inner)) = inside(fold) {
        let by_place = |c: &ElemRef| dims.iter().any(|d| c.mentions(d));
        return match conditions.iter().any(by_place) {
            true => None,
            false => writes(dims, inner),
        };
    }
    let (mut step, mut found) = (&fold.step, Vec::new());
    while let Elem::Select(c, t, otherwise) = &**step {
        let (mut told, mut conditions) = (BTreeMap::new(), Vec::new());
        for part in c.conjuncts() {
            match place(dims, part) {
                Some((dim, at)) if !told.contains_key(&dim) => {
                    told.insert(dim, at);
                }
                _ => conditions.push(part.clone()),
            }
        }
        if told.is_empty() {
            return None;
        }
        found.push(Write {
            told,
            conditions,
            value: t.clone(),
        });
        step = otherwise;
    }
    found.reverse();
    let goes_on = matches!(&**step, Elem::Acc(name, _) if *name == fold.acc);
    (goes_on && !found.is_empty()).then_some((fold, found))
}

/// The fold that each round of this one goes on with, and when it does.
pub(crate) fn inside(fold: &Fold) -> Option<(Vec<ElemRef>, &Fold)> {
    let so_far = |e: &Elem| matches!(e, Elem::Acc(name, _) if *name == fold.acc);
    let (mut step, mut conditions) = (&fold.step, Vec::new());
    while let Elem::Select(c, t, otherwise) = &**step
        && so_far(otherwise)
        && !c.mentions(&fold.acc)
    {
        conditions.push(c.clone());
        step = t;
    }
    match &**step {
        Elem::Fold(inner) if so_far(&inner.init) => Some((conditions, &**inner)),
        _ => None,
    }
}

/// Of `a[i] == j`, where `j` is a dimension: that it is `a[i]`.
fn place(dims: &[Sym], condition: &ElemRef) -> Option<(Sym, Idx)> {
    let Elem::IndexCompare(CmpOp::Eq, a, b) = &**condition else {
        return None;
    };
    let difference = a - b;
    dims.iter().find_map(|dim| {
        let (slope, rest) = difference.linear_in(dim)?;
        let at = match slope.as_constant()? {
            1 => -&rest,
            -1 => rest,
            _ => return None,
        };
        let fixed = at.has_values() && !dims.iter().any(|d| at.mentions(d));
        fixed.then(|| (dim.clone(), at))
    })
}

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
