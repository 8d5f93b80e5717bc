//! Results that are computed twice. A summary says of each group of places what they hold in the end, so that zeros with
//! something written over a part of them come as two stores, of which the first says "that, or zero". The second writes
//! that part anyway, and the first is left with the zeros. (It is a guess what the second writes; the prover checks it.)

use super::nest::{Nest, Target, for_each_read};
use std::mem::discriminant;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::Idx;

/// Leaves to a later store what it writes itself.
pub(super) fn left_to_later(single: &mut [Nest]) {
    for i in 0..single.len() {
        let (until, later) = single.split_at_mut(i + 1);
        let Some(nest) = until.last_mut() else { return };
        for result in &mut nest.results {
            let Elem::Select(cond, then, otherwise) = &*result.value else {
                continue;
            };
            let part = later.iter().filter(|n| n.extents != nest.extents);
            let mut others = part.flat_map(|n| &n.results);
            let writes =
                |other: &Target| other.array == result.array && are_alike(then, &other.value);
            // Where another store writes is a matter of indices. What a condition keeps from being read is read by nobody.
            if !reads(cond) && !reads(otherwise) && others.any(writes) {
                let left = otherwise.clone();
                *result = Target::new(result.array.clone(), result.index.clone(), left);
            }
        }
    }
}

fn reads(e: &ElemRef) -> bool {
    let mut found = false;
    for_each_read(e, &mut |_, _| found = true);
    found
}

/// Whether the same is computed, wherever it is read.
fn are_alike(a: &ElemRef, b: &ElemRef) -> bool {
    // What names its own counters is compared as it is.
    if let (Elem::Fold(_), _) | (_, Elem::Fold(_)) = (&**a, &**b) {
        return a == b;
    }
    let places: Vec<Idx> = b.indices().into_iter().cloned().collect();
    let children: Vec<ElemRef> = b.children().into_iter().cloned().collect();
    discriminant(&**a) == discriminant(&**b)
        && a.indices().len() == places.len()
        && a.children().len() == children.len()
        && a.rebuild(&children, &places) == b.rebuild(&children, &places)
        && (a.children().into_iter().zip(&children)).all(|(a, b)| are_alike(a, b))
}
