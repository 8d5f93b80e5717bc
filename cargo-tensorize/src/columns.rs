//! Which columns of a table of rows a kernel touches: what has to be copied where the rows lie anywhere.

use tensorize_ir::index::{Idx, Sym};
use tensorize_prove::exec::Access;

/// Bounds `[lo, hi)` of the columns of the flat array `array` with this pitch, over the kernel's sizes;
/// `None` where they are not known.
pub fn columns(accesses: &[Access], array: &str, pitch: &str) -> Option<(Idx, Idx)> {
    let mut all: Option<(Idx, Idx)> = None;
    for a in accesses.iter().filter(|a| *a.array == *array) {
        let (row, column) = a.index.linear_in(pitch)?;
        if row.mentions(pitch) || column.mentions(pitch) {
            return None;
        }
        let lo = end(&column, &a.loops, false)?;
        let hi = &end(&column, &a.loops, true)? + &Idx::constant(1);
        all = Some(match all {
            None => (lo, hi),
            Some((l, h)) => (l.minimum(&lo), h.maximum(&hi)),
        });
    }
    all.filter(|(lo, hi)| !lo.has_values() && !hi.has_values())
}

/// The smallest or the largest value of a polynomial over all rounds of the loops.
fn end(idx: &Idx, loops: &[(Sym, Idx)], largest: bool) -> Option<Idx> {
    let mut idx = idx.clone();
    // An inner loop may run as often as an outer one's counter says.
    for (counter, trip) in loops.iter().rev() {
        if !idx.mentions(counter) {
            continue;
        }
        let (step, rest) = idx.linear_in(counter)?;
        let step = step.as_constant()?;
        let last = trip - &Idx::constant(1);
        idx = if (step > 0) == largest {
            &rest + &(&last * &Idx::constant(step))
        } else {
            rest
        };
    }
    Some(idx)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(accesses: &[(&str, &[(&str, &str)])]) -> Option<(String, String)> {
        let accesses: Vec<Access> = accesses
            .iter()
            .map(|(index, loops)| Access {
                array: "m".into(),
                index: index.parse().unwrap(),
                loops: loops
                    .iter()
                    .map(|(k, trip)| ((*k).into(), trip.parse().unwrap()))
                    .collect(),
                path: vec![],
                write: false,
            })
            .collect();
        columns(&accesses, "m", "p").map(|(lo, hi)| (lo.to_string(), hi.to_string()))
    }

    fn bounds(lo: &str, hi: &str) -> Option<(String, String)> {
        Some((lo.into(), hi.into()))
    }

    #[test]
    fn columns_are_what_is_left_of_rows() {
        let nest: &[(&str, &str)] = &[("i", "rows"), ("j", "cols")];
        assert_eq!(found(&[("i*p + j", nest)]), bounds("0", "cols"));
        assert_eq!(
            found(&[("i*p + p - 2*j + 3", nest)]),
            bounds("-2*cols + 5", "4")
        );
        assert_eq!(
            found(&[("i*p + j", &[("i", "n"), ("j", "i + 1")])]),
            bounds("0", "n")
        );
        assert_eq!(found(&[("i*p + j*n", nest)]), None);
        assert_eq!(found(&[("i*p*p + j", nest)]), None);
        let both = found(&[("i*p", nest), ("i*p + j + 1", nest)]).unwrap();
        assert_eq!(both.0, "0");
        assert!(both.1.contains("max"), "{}", both.1);
    }
}
