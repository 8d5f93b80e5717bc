//! Counters that step by one more in each round, as the place of a row of a packed triangle does:
//! `k = 0; for (j …) { …; k += j + 1; }`, or `k++` in rounds in rounds up to the diagonal.

use tensorize_ir::element::ElemRef;
use tensorize_ir::index::{Idx, Sym};
use tensorize_prove::canon;
use tensorize_prove::eval::index_like;

/// What such a counter has come to before round `k`, if it becomes `next`: `Σ_{t < k} (more·t + by)`. It is `own` when the
/// round begins.
pub(super) fn triangular(
    next: &ElemRef,
    own: &Idx,
    k: &Sym,
    changes: &dyn Fn(&Idx) -> bool,
) -> Option<Idx> {
    let step = canon::idx(&(&index_like(next)? - own));
    let (more, by) = step.linear_in(k)?;
    if more.is_zero() || changes(&more) || changes(&by) {
        return None;
    }
    let k = Idx::sym(k.clone());
    let up_to_it = (&(&k * &k) + &k).floor_div(&Idx::constant(2));
    Some(&(&by * &k) + &(&more * &(&up_to_it - &k)))
}
