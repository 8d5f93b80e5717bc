//! Conditions on how far apart the rows of an array are.

use std::collections::BTreeSet;
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::tensir::{Function, Output, View, dim};

/// Where an array is stored to more than once by rows (the border of an image, and what is inside), conditions under
/// which no row reaches into the next: that the pitch is no less than the longest one.
pub(super) fn rows_apart(summary: &Function) -> Vec<Guard> {
    let stores = summary.outputs.iter().filter_map(|o| match o {
        Output::Store { value, view } => Some((view, &summary.nodes[*value].ty.shape[..])),
        Output::Return { .. } => None,
    });
    let stores: Vec<(&View, &[Idx])> = stores.collect();
    let arrays: BTreeSet<&Sym> = stores.iter().map(|(view, _)| &view.array).collect();
    let mut guards = vec![];
    for array in arrays {
        let of_it = stores.iter().filter(|(view, _)| view.array == *array);
        let steps: Vec<(Idx, Idx)> = of_it.clone().flat_map(|(v, s)| steps(v, s)).collect();
        if of_it.count() < 2 {
            continue;
        }
        let pitches: BTreeSet<&Sym> = steps.iter().filter_map(|(step, _)| step.as_sym()).collect();
        let rows = steps
            .iter()
            .filter(|(step, _)| step.as_constant() == Some(1));
        let lengths: BTreeSet<&Idx> = rows.map(|(_, n)| n).collect();
        let is_shorter = |n: &Idx| {
            let longer = |m: &&Idx| (n - m).as_constant().is_some_and(|d| d < 0);
            lengths.iter().any(longer)
        };
        for pitch in pitches {
            let longest = lengths.iter().filter(|n| !is_shorter(n));
            guards.extend(longest.map(|n| Guard::NonNegative(&Idx::sym(pitch.clone()) - n)));
        }
    }
    guards
}

/// How far apart the elements are along each dimension, and how many there are.
fn steps(view: &View, shape: &[Idx]) -> Vec<(Idx, Idx)> {
    let along = |(i, n): (usize, &Idx)| Some((view.index.linear_in(&dim(i))?.0, n.clone()));
    shape.iter().enumerate().filter_map(along).collect()
}
