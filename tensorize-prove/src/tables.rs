//! Elements of constant tables.

use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Atom, Idx};
use tensorize_ir::scalar::Scalar;

/// The element of a table at an index, of which code may have cut off what leads outside.
pub(crate) fn element(values: &[Scalar], at: &Idx) -> ElemRef {
    Elem::table(values, uncut(at, values.len() as i128 - 1))
}

/// The index without what cuts it to those of a table: an index outside gives the first value or the last anyway.
fn uncut(at: &Idx, last: i128) -> &Idx {
    let is_cut = |limit: &Idx, upper: bool| match (limit.as_constant(), upper) {
        (Some(c), true) => c >= last,
        (Some(c), false) => c <= 0,
        (None, _) => false,
    };
    match at.as_atom() {
        Some(Atom::Max(a, b)) if is_cut(a, false) => uncut(b, last),
        Some(Atom::Max(a, b)) if is_cut(b, false) => uncut(a, last),
        Some(Atom::Min(a, b)) if is_cut(a, true) => uncut(b, last),
        Some(Atom::Min(a, b)) if is_cut(b, true) => uncut(a, last),
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorize_ir::scalar::ScalarType;

    /// Every index that is cut at two limits, in either order, has the element that it has with them.
    #[test]
    fn what_is_cut_has_the_same_element() {
        let (i, of) = (Idx::sym("i"), Idx::constant);
        let mut left_out = 0;
        for len in 1..5i128 {
            let values: Vec<Scalar> = (0..len).map(|v| Scalar::int(ScalarType::I32, v)).collect();
            for (low, high) in (-2..6).flat_map(|low| (-2..6).map(move |high| (low, high))) {
                let first_low = i.maximum(&of(low)).minimum(&of(high));
                let first_high = i.minimum(&of(high)).maximum(&of(low));
                for at in [first_low, first_high] {
                    left_out += usize::from(uncut(&at, len - 1) == &i);
                    for n in -4..9 {
                        let at_n = |e: ElemRef| e.replace("i", &of(n));
                        let exactly = Elem::table(&values, &at.replace("i", &of(n)));
                        assert_eq!(
                            at_n(element(&values, &at)),
                            exactly,
                            "{at} of {len}, i = {n}"
                        );
                    }
                }
            }
        }
        assert!(left_out > 0);
    }
}
