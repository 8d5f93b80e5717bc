//! Results that are computed twice. A summary says of each group of places what they hold in the end, so that zeros with
//! something written over a part of them come as two stores, of which the first says "that, or zero". The second writes
//! that part anyway, and the first is left with the zeros. (It is a guess what the second writes; the prover checks it.)

use super::nest::{Nest, Target};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::Idx;

/// Leaves to a later store what it writes itself.
pub(super) fn left_to_later(single: &mut [Nest]) {
    for i in 0..single.len() {
        let (until, later) = single.split_at_mut(i + 1);
        let Some(nest) = until.last_mut() else { return };
        for result in &mut nest.results {
            let Elem::Select(_, then, otherwise) = &*result.value else {
                continue;
            };
            let sketch = sketched(then);
            let writes =
                |other: &&Target| other.array == result.array && sketched(&other.value) == sketch;
            let mut others = later.iter().flat_map(|n| &n.results).filter(writes);
            if others.next().is_some() {
                let left = otherwise.clone();
                *result = Target::new(result.array.clone(), result.index.clone(), left);
            }
        }
    }
}

/// What is computed, wherever it is read.
fn sketched(e: &ElemRef) -> ElemRef {
    let children: Vec<ElemRef> = e.children().into_iter().map(sketched).collect();
    let places = vec![Idx::default(); e.indices().len()];
    match &**e {
        // What names its own counters is compared as it is.
        Elem::Fold(_) => Arc::clone(e),
        _ => e.rebuild(&children, &places),
    }
}
