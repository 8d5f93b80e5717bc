//! How far an access reaches, against all of its rounds.

use super::*;
use crate::solver::{self, Solver};
use std::collections::BTreeMap;
use tensorize_ir::scalar::{Scalar, ScalarType};

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

/// The end of what `x[(i + r - 1)*w + j + s - 1]` reaches, `i` and `j` over `h` rows and `w` columns, `r` and `s` up to 3,
/// where these are not negative; no place that is touched lies beyond, whatever the sizes.
fn end_within(conditions: &[&str]) -> Option<Idx> {
    let mut solver =
        Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
    let params = ["h", "w"].map(|s| (s.into(), ScalarType::I32));
    let mut ctx = Context::new(&mut solver, BTreeMap::from(params), vec![]);
    for size in ["h", "w"] {
        ctx.guard(Guard::NonNegative(Idx::sym(size)));
    }
    let parse = |text: &str| -> Idx { text.parse().unwrap_or_else(|e| panic!("{text}: {e}")) };
    let parts: Vec<Idx> = conditions.iter().map(|c| parse(c)).collect();
    // All in one, as `&&` has them.
    let all = parts
        .iter()
        .map(|p| Elem::index_compare(CmpOp::Ge, p.clone(), Idx::default()))
        .reduce(|a, b| Elem::select(a, b, Elem::constant(Scalar::bool(false))));
    let access = Access {
        array: "x".into(),
        index: parse("w*(i + r - 1) + j + s - 1"),
        loops: [("i", "h"), ("j", "w"), ("r", "3"), ("s", "3")]
            .map(|(v, n)| (v.into(), parse(n)))
            .into(),
        path: all.into_iter().collect(),
        write: false,
    };
    let (low, high) = interval(&mut ctx, &access, None, None)?;
    let sizes = (0..4).flat_map(|h| (0..4).map(move |w| (h, w)));
    for (h, w) in sizes {
        let rounds = (0..h).flat_map(|i| (0..w).map(move |j| (i, j)));
        let rounds = rounds.flat_map(|at| (0..9).map(move |k| (at, (k / 3, k % 3))));
        for ((i, j), (r, s)) in rounds {
            let at = |p: &Idx| {
                let value = |name: &Sym| match &**name {
                    "h" => h,
                    "w" => w,
                    "i" => i,
                    "j" => j,
                    "r" => r,
                    _ => s,
                };
                p.eval_sizes(&|name| Some(value(name))).unwrap()
            };
            let place = at(&access.index);
            let touched = parts.iter().all(|p| at(p) >= 0);
            assert!(
                !touched || (at(&low)..at(&high)).contains(&place),
                "{conditions:?}: {place} is outside of {low} .. {high}"
            );
        }
    }
    Some(high)
}

#[test]
fn conditions_on_rows_and_columns_end_with_the_last_row() {
    const WITHIN: [&str; 4] = ["i + r - 1", "h - i - r", "j + s - 1", "w - j - s"];
    assert_eq!(end_within(&WITHIN), Some("h*w".parse().unwrap()));
    // One too far, or of one side alone.
    for wrong in [
        &["i + r - 1", "h + 1 - i - r", "j + s - 1", "w - j - s"][..],
        &["i + r - 1", "h - i - r", "j + s - 1", "w + 1 - j - s"],
        &["i + r - 1", "h - i - r", "j + s - 1"],
        &["i + r - 1", "j + s - 1", "w - j - s"],
        &["i + r - 1", "w - i - r", "j + s - 1", "h - j - s"],
    ] {
        assert_ne!(end_within(wrong), Some("h*w".parse().unwrap()), "{wrong:?}");
    }
}

/// One before the first place, in an unsigned type: no call would meet a guard that says it is a number of that type.
#[test]
fn what_is_no_number_of_the_type_is_no_guard() {
    let mut solver =
        Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
    let params = BTreeMap::from([("n".into(), ScalarType::U64)]);
    let mut ctx = Context::new(&mut solver, params, vec![]);
    let (before, size) = (Idx::constant(-1), Idx::sym("n"));
    let mut within = |low: &Idx, high: &Idx| {
        let found = keeps_within(&mut ctx, ScalarType::U64, (low.clone(), high.clone()));
        (found.is_some(), ctx.guards().len())
    };
    assert_eq!(within(&before, &size), (false, 0));
    assert_eq!(within(&Idx::default(), &size), (true, 0));
    assert_eq!(within(&Idx::default(), &(&size + &size)), (true, 1));
}

/// What `x[index]` reaches in `n` of the outer loop's rounds and some of an inner one's, under conditions; no place that is
/// touched lies outside, whatever `n` and `m`.
fn reaches_in_part(outer: &str, inner: &str, index: &str, conditions: &[&str]) -> String {
    let mut solver =
        Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
    let params = ["n", "m"].map(|s| (s.into(), ScalarType::I32));
    let mut ctx = Context::new(&mut solver, BTreeMap::from(params), vec![]);
    for size in ["n", "m"] {
        ctx.guard(Guard::NonNegative(Idx::sym(size)));
    }
    let parse = |text: &str| -> Idx { text.parse().unwrap_or_else(|e| panic!("{text}: {e}")) };
    let conditions: Vec<Idx> = conditions.iter().map(|c| parse(c)).collect();
    let not_negative = |p: &Idx| Elem::index_compare(CmpOp::Ge, p.clone(), Idx::default());
    let access = Access {
        array: "x".into(),
        index: parse(index),
        loops: vec![("t".into(), parse(outer)), ("j".into(), parse(inner))],
        path: conditions.iter().map(not_negative).collect(),
        write: false,
    };
    let Some((low, high)) = interval(&mut ctx, &access, None, None) else {
        return "nobody knows".into();
    };
    for (n, m) in (0..6).flat_map(|n| (0..6).map(move |m| (n, m))) {
        for (t, j) in (0..20).flat_map(|t| (0..20).map(move |j| (t, j))) {
            let value = |name: &Sym| match &**name {
                "n" => n,
                "m" => m,
                "t" => t,
                _ => j,
            };
            let at = |p: &Idx| p.eval_sizes(&|name| Some(value(name))).unwrap();
            let made = t < at(&access.loops[0].1) && j < at(&access.loops[1].1);
            if made && conditions.iter().all(|p| at(p) >= 0) {
                let inside = (at(&low)..at(&high)).contains(&at(&access.index));
                assert!(
                    inside,
                    "{access:?}: outside of {low} .. {high} for {value:?}",
                    value = (n, m, t, j)
                );
            }
        }
    }
    format!("{low} .. {high}")
}

/// A part of the rounds reaches no further than its own rounds do.
#[test]
fn a_part_of_the_rounds_reaches_as_far_as_it_runs() {
    let is = |outer, inner, index, conditions: &[&str], expected| {
        assert_eq!(
            reaches_in_part(outer, inner, index, conditions),
            expected,
            "{index} under {conditions:?}"
        );
    };
    is("2*n", "1", "t", &["n - t - 1"], "0 .. n");
    is("2*n", "1", "t", &["t - n"], "n .. 2*n");
    is("2*n", "1", "2*n - t - 1", &["t - n"], "0 .. n");
    is("3*n", "1", "t", &["t - n", "2*n - t - 1"], "n .. 2*n");
    // Rows of several lengths, and conditions that a loop's length makes.
    is(
        "2*n",
        "-n + t",
        "n*(2*n - t - 1) + j",
        &["t - n"],
        "0 .. n*n - n",
    );
    is("2*n", "min(1, max(0, t - n + 1))", "t + j", &[], "n .. 2*n");
    is(
        "2*n",
        "min(1, max(0, n - t))*min(1, max(0, t))",
        "t",
        &[],
        "1 .. n",
    );
    // Nothing is said of all rounds: the sizes may be either way round, or the step another one.
    is("2*n", "1", "t", &["m - t - 1"], "0 .. 2*n");
    is("2*n", "1", "t", &["n - 2*t - 1"], "0 .. 2*n");
    is("2*n", "1", "t", &["n - t*m - 1"], "0 .. 2*n");
}
