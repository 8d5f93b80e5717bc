//! How far an access reaches, against all of its rounds.

use super::*;
use crate::solver::{self, Solver};
use std::collections::BTreeMap;

/// The first place, and one past the last, that `index` reaches where `i` runs up to 100 and `j` up to 3.
fn reaches(index: &str) -> Option<(i128, i128)> {
    let mut solver =
        Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
    let mut ctx = Context::new(&mut solver, BTreeMap::new(), vec![]);
    let access = Access {
        array: "x".into(),
        index: index.parse().unwrap_or_else(|e| panic!("{index}: {e}")),
        loops: [("i", 100), ("j", 3)]
            .map(|(v, n)| (v.into(), n.into()))
            .into(),
        path: vec![],
        write: false,
    };
    let ends = interval(&mut ctx, &access, None, None);
    let constant = |i: &Idx| i.as_constant().unwrap_or_else(|| panic!("{index}: {i}"));
    let ends = ends.map(|(low, high)| (constant(&low), constant(&high)));
    for (i, j) in (0..100).flat_map(|i| (0..3).map(move |j| (i, j))) {
        let at = access
            .index
            .eval_sizes(&|s| Some(if &**s == "i" { i } else { j }));
        let inside = ends.is_none_or(|(low, high)| (low..high).contains(&at.unwrap()));
        assert!(inside, "{index} is {at:?} at {i}, {j}, outside of {ends:?}");
    }
    ends
}

#[test]
fn digits_of_a_counter_are_remainders_of_quotients() {
    for (fine, digit) in [(1, 4), (2, 3), (5, 2), (3, 7), (7, 3)] {
        for row in [1, 3, 10] {
            let (slope, coarse) = (row * digit, fine * digit);
            let index = format!("{row}*floordiv(i, {fine}) - {slope}*floordiv(i, {coarse}) + j");
            let last = row * (digit - 1) + 2;
            assert_eq!(reaches(&index), Some((0, last + 1)), "{index}");
        }
    }
    // Divisors of which none is a multiple of the other say nothing of each other.
    for index in [
        "6*floordiv(i, 4) - 6*floordiv(i, 6)",
        "7*floordiv(i, 7) - 48*floordiv(i, 49)",
        "floordiv(i, 4) - 2*floordiv(i, 6) + j",
    ] {
        reaches(index);
    }
}
