//! What a proof says about rows and objects: the columns of a table of rows that are touched, which have to
//! be copied where the rows lie anywhere; and what has to hold for an access to be within its object.

use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::signature::{Shape, Source};
use tensorize_ir::tensir::{self, Op, Output};
use tensorize_prove::Proof;
use tensorize_prove::exec::Access;

/// What holds at every call of the original that C or C++ allows, and that flat arguments could violate: what
/// is touched of a vector lies within it, and rows are apart.
pub fn within_objects(source: &Source, summary: &tensir::Function, proof: &Proof) -> Vec<Guard> {
    let mut all = Vec::new();
    let mut hold = |idx: Idx| {
        let trivial = idx.as_constant().is_some_and(|c| c >= 0);
        if !trivial && !all.contains(&Guard::NonNegative(idx.clone())) {
            all.push(Guard::NonNegative(idx));
        }
    };
    let result = source.result.iter().flat_map(Shape::leaves);
    for leaf in source.leaves().into_iter().chain(result) {
        let extent = |to: &str| {
            let found = proof.footprints.iter().find(|f| *f.extent.array == *to);
            found.map(|f| (f.extent.lo.clone(), f.extent.hi.clone()))
        };
        match leaf {
            Shape::Rows {
                to,
                pitch,
                per_plane,
                held,
                ..
            } => {
                let length = Idx::sym(pitch.as_str());
                hold(&length - &Idx::constant(1));
                if let Some(rows) = per_plane {
                    hold(&Idx::sym(rows.as_str()) - &Idx::constant(1));
                }
                let Some(rows) = held.map(|n| Idx::constant(n.into())) else {
                    continue;
                };
                if let Some((first, last)) = bounds(&proof.accesses, to, (pitch, None), Part::Row) {
                    hold(first);
                    hold(&rows - &last);
                } else if let Some((lo, hi)) = extent(to) {
                    hold(lo);
                    hold(&(&rows * &length) - &hi);
                }
            }
            Shape::Vector {
                to,
                size: Some(size),
                each,
                resized,
            } => {
                let size = Idx::sym(size.as_str());
                hold(size.clone());
                if let (Some((lo, hi)), None) = (extent(to), resized) {
                    hold(lo);
                    hold(&numbers(size, *each) - &hi);
                }
            }
            // One that the kernel makes: as long as it says in the end, unless it was longer on the way.
            Shape::Vector {
                to,
                size: None,
                each,
                resized: Some(resized),
            } => {
                if let (Some((lo, hi)), Some(size)) = (extent(to), stored_size(summary, resized)) {
                    hold(lo);
                    let left = &numbers(size, *each) - &hi;
                    if left.as_constant().is_none_or(|n| n >= 0) {
                        hold(left);
                    }
                }
            }
            Shape::Span {
                to,
                size: Some(size),
                each,
            } => {
                let size = Idx::sym(size.as_str());
                hold(size.clone());
                if let Some((lo, hi)) = extent(to) {
                    hold(lo);
                    hold(&numbers(size, *each) - &hi);
                }
            }
            Shape::Records {
                members,
                size: Some(size),
                ..
            } => {
                let size = Idx::sym(size.as_str());
                hold(size.clone());
                for m in members {
                    if let Some((lo, hi)) = extent(&m.to) {
                        hold(lo);
                        hold(&numbers(size.clone(), m.stride) - &hi);
                    }
                }
            }
            Shape::Place { to, len } => {
                if let Some((lo, hi)) = extent(to) {
                    hold(lo);
                    hold(&Idx::constant((*len).into()) - &hi);
                }
            }
            Shape::Nested {
                to,
                rows: Some(rows),
                pitch,
                resized,
            } => {
                let (rows, length) = (Idx::sym(rows.as_str()), Idx::sym(pitch.as_str()));
                hold(length.clone());
                if resized.is_some() {
                    hold(rows);
                    continue;
                }
                // Without rows there is none whose length could be asked for.
                hold(&rows - &Idx::constant(1));
                let Some((lo, hi)) = extent(to) else { continue };
                let parts = (
                    bounds(&proof.accesses, to, (pitch, None), Part::Row),
                    bounds(&proof.accesses, to, (pitch, None), Part::Column),
                );
                if let (Some((first, last)), Some((left, right))) = parts {
                    hold(first);
                    hold(&rows - &last);
                    hold(left);
                    hold(&length - &right);
                } else {
                    hold(lo);
                    hold(&(&rows * &length) - &hi);
                }
            }
            _ => {}
        }
    }
    all
}

/// Whether an access may lie outside of a vector at some moment while its length changes, and no condition on the sizes says
/// that it doesn't. C++ would not allow such a call; with slices, nobody would notice.
pub fn reaches_too_far(source: &Source, summary: &tensir::Function) -> bool {
    let result = source.result.iter().flat_map(Shape::leaves);
    let mut leaves = source.leaves().into_iter().chain(result);
    source.reaches_into_growing
        && leaves.any(|leaf| match leaf {
            Shape::Vector {
                size: None,
                resized: Some(resized),
                ..
            } => stored_size(summary, resized).is_none(),
            Shape::Vector {
                resized: Some(_), ..
            }
            | Shape::Nested {
                resized: Some(_), ..
            } => true,
            _ => false,
        })
}

/// The length that a kernel stores there, if it is one of sizes.
fn stored_size(summary: &tensir::Function, resized: &str) -> Option<Idx> {
    summary.outputs.iter().find_map(|o| match o {
        Output::Store { value, view } if *view.array == *resized => match &summary.nodes[*value].op
        {
            Op::Size(size) => Some(size.clone()),
            Op::Constant(n) => Some(Idx::constant(n.as_int())),
            _ => None,
        },
        _ => None,
    })
}

/// How many numbers so many elements are.
fn numbers(size: Idx, each: u64) -> Idx {
    &size * &Idx::constant(each.into())
}

/// A part of an index `row*pitch + column`, or `(plane*per_plane + row)*pitch + column`.
#[derive(Clone, Copy, PartialEq)]
pub enum Part {
    /// Of a table of tables.
    Plane,
    /// A row of a table, or of each plane.
    Row,
    /// An element of a row.
    Column,
}

/// Bounds `[lo, hi)` of a part of all places of the flat array `array` that are touched, over the kernel's sizes. `distances`
/// are the pitch and, for a table of tables, the rows per plane. `None` where they are not known.
pub fn touched(
    accesses: &[Access],
    array: &str,
    distances: (&str, Option<&str>),
    part: Part,
) -> Option<(Idx, Idx)> {
    let names = || [distances.0].into_iter().chain(distances.1);
    bounds(accesses, array, distances, part)
        .filter(|(lo, hi)| !names().any(|d| lo.mentions(d) || hi.mentions(d)))
}

fn bounds(
    accesses: &[Access],
    array: &str,
    (pitch, per_plane): (&str, Option<&str>),
    part: Part,
) -> Option<(Idx, Idx)> {
    let mut all: Option<(Idx, Idx)> = None;
    for a in accesses.iter().filter(|a| *a.array == *array) {
        let (row, column) = a.index.linear_in(pitch)?;
        let (plane, row) = match per_plane {
            Some(rows) => row.linear_in(rows)?,
            None => (Idx::default(), row),
        };
        let idx = match part {
            Part::Plane => plane,
            Part::Row => row,
            Part::Column => column,
        };
        let lo = end(&idx, &a.loops, false)?;
        let hi = &end(&idx, &a.loops, true)? + &Idx::constant(1);
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

    /// Where an array is touched, each with the loops around.
    type Places<'a> = &'a [(&'a str, &'a [(&'a str, &'a str)])];

    fn accesses(places: Places<'_>) -> Vec<Access> {
        let access = |(index, loops): &(&str, &[(&str, &str)])| Access {
            array: "m".into(),
            index: index.parse().unwrap(),
            loops: loops
                .iter()
                .map(|(k, trip)| ((*k).into(), trip.parse().unwrap()))
                .collect(),
            path: vec![],
            write: false,
        };
        places.iter().map(access).collect()
    }

    fn found(places: Places<'_>) -> Option<(String, String)> {
        touched(&accesses(places), "m", ("p", None), Part::Column)
            .map(|(lo, hi)| (lo.to_string(), hi.to_string()))
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

    /// Of places in planes of `r` rows, every one that is touched is within the bounds of all three parts, and the bounds are met.
    #[test]
    fn planes_rows_and_columns_are_told_apart() {
        let nest: &[(&str, &str)] = &[("i", "a"), ("j", "b"), ("k", "c")];
        let triangle: &[(&str, &str)] = &[("i", "a"), ("j", "i + 1"), ("k", "c")];
        let stencil: Places<'_> = &[
            ("i*r*p + 2*r*p + j*p + p + k", nest),
            ("i*r*p + r*p + j*p + 2*p + k + 1", nest),
            ("i*r*p + r*p + j*p + k + 3", nest),
        ];
        let cases: [(Places<'_>, [(i128, i128); 3]); 4] = [
            (&[("i*r*p + j*p + k", nest)], [(0, 4), (0, 3), (0, 2)]),
            (stencil, [(1, 6), (0, 5), (0, 5)]),
            // Backwards, and rows from one plane to the next.
            (
                &[("(a - 1 - i)*r*p + (b - j)*p + 2*k", nest)],
                [(0, 4), (1, 4), (0, 3)],
            ),
            (&[("i*r*p + j*p + k", triangle)], [(0, 4), (0, 4), (0, 2)]),
        ];
        let sizes = |s: &Sym| match &**s {
            "a" => Some(4),
            "b" => Some(3),
            "c" => Some(2),
            _ => None,
        };
        for (places, expected) in cases {
            let all = accesses(places);
            for (part, expected) in [Part::Plane, Part::Row, Part::Column]
                .into_iter()
                .zip(expected)
            {
                let (lo, hi) = touched(&all, "m", ("p", Some("r")), part).unwrap();
                let at = |p: &Idx| p.eval_sizes(&sizes).unwrap();
                assert_eq!((at(&lo), at(&hi)), expected, "{places:?}: {lo} .. {hi}");
            }
        }
        // Planes that a size or the data tells, and rows that are as long as planes.
        for index in [
            "i*s*r*p + j*p + k",
            "floordiv(i, 2)*r*p + j*p + k",
            "i*r*r*p + j*p + k",
            "i*r + j*p + k",
        ] {
            let all = accesses(&[(index, nest)]);
            let part = |part| touched(&all, "m", ("p", Some("r")), part);
            assert!(
                [Part::Plane, Part::Row, Part::Column]
                    .into_iter()
                    .any(|p| part(p).is_none()),
                "{index}"
            );
        }
    }
}
