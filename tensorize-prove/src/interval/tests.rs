//! How far an access reaches, against all of its rounds.

use super::*;
use crate::solver::{self, Solver};
use std::collections::BTreeMap;
use tensorize_ir::element::{Env, eval_index};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// The first place that `x[index]` reaches in rounds of these loops, and the one after the last, where the `conditions` are not
/// negative; no place that is touched lies outside, whatever the sizes are.
fn reaches(
    sizes: &[&str],
    loops: &[(&str, &str)],
    index: &str,
    conditions: &[&str],
) -> Option<(Idx, Idx)> {
    let mut solver =
        Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
    let params = sizes.iter().map(|s| ((*s).into(), ScalarType::I32));
    let mut ctx = Context::new(&mut solver, params.collect(), vec![]);
    for size in sizes {
        ctx.guard(Guard::NonNegative(Idx::sym(*size)));
    }
    let parse = |text: &str| -> Idx { text.parse().unwrap_or_else(|e| panic!("{text}: {e}")) };
    let conditions: Vec<Idx> = conditions.iter().map(|c| parse(c)).collect();
    // All in one, as `&&` has them.
    let all = conditions
        .iter()
        .map(|p| Elem::index_compare(CmpOp::Ge, p.clone(), Idx::default()))
        .reduce(|a, b| Elem::select(a, b, Elem::constant(Scalar::bool(false))));
    let access = Access {
        array: "x".into(),
        index: parse(index),
        loops: loops.iter().map(|(v, n)| ((*v).into(), parse(n))).collect(),
        path: all.into_iter().collect(),
        write: false,
    };
    let (low, high) = interval(&mut ctx, &access, None, None)?;
    let all_sizes: Vec<(Sym, Idx)> = sizes.iter().map(|s| ((*s).into(), 5.into())).collect();
    in_each_round(
        &[all_sizes, access.loops].concat(),
        &mut BTreeMap::new(),
        &mut |values| {
            let at = |p: &Idx| eval_index(p, &mut Here(values)).unwrap();
            let touched = conditions.iter().all(|p| at(p) >= 0);
            assert!(
                !touched || (at(&low)..at(&high)).contains(&at(&access.index)),
                "{index} under {conditions:?} is outside of {low} .. {high} for {values:?}"
            );
        },
    );
    Some((low, high))
}

struct Here<'a>(&'a BTreeMap<Sym, i128>);

impl Env for Here<'_> {
    fn sym(&self, name: &Sym) -> Option<i128> {
        self.0.get(name).copied()
    }
    fn param(&self, name: &Sym) -> Option<Scalar> {
        let value = self.0.get(name)?;
        Some(Scalar::int(ScalarType::I32, *value))
    }
    fn read(&mut self, _: &Sym, _: i128) -> Option<Scalar> {
        None
    }
}

/// Calls `f` in each round of some loops, with the numbers of the rounds.
fn in_each_round(
    loops: &[(Sym, Idx)],
    values: &mut BTreeMap<Sym, i128>,
    f: &mut dyn FnMut(&BTreeMap<Sym, i128>),
) {
    let Some(((var, extent), inner)) = loops.split_first() else {
        return f(values);
    };
    let rounds = extent.eval_sizes(&|name| values.get(name).copied());
    for round in 0..rounds.unwrap() {
        values.insert(var.clone(), round);
        in_each_round(inner, values, f);
    }
    values.remove(var);
}

/// Beyond a border, the place that lies as far before it, which may be beyond the other one; and the nearest place to that.
#[test]
fn mirrored_places() {
    let loops = [("i", "n"), ("j", "2*r + 1")];
    let mirrored = |i: &str, minus: &str, last: &str| {
        let first = format!(
            "select(index_compare(GE, {minus} - 1, 0), index(i32, {minus}), index(i32, {i}))"
        );
        let second = format!("subtract(index(i32, 2*n - {last}), {first})");
        format!("select(compare(LT, {first}, index(i32, n)), {first}, {second})")
    };
    let (i, minus) = ("i + j - r", "-i - j + r");
    for last in ["1", "2", "3"] {
        let index = format!("value({})", mirrored(i, minus, last));
        let (low, high) = reaches(&["n", "r"], &loops, &index, &[]).expect(&index);
        // Where the window is shorter than the row, all of it is in the row.
        if last == "2" {
            let at = |p: &Idx| p.eval_sizes(&|s| Some(if &**s == "n" { 9 } else { 3 }));
            assert_eq!((at(&low), at(&high)), (Some(0), Some(9)), "{low} .. {high}");
        }
    }
    let place = mirrored(i, minus, "2");
    let nearest = format!(
        "value(select(compare(LT, {place}, 0:i32), 0:i32, select(compare(LT, index(i32, n - 1), {place}), index(i32, n - 1), {place})))"
    );
    let (low, high) = reaches(&["n", "r"], &loops, &nearest, &[]).expect(&nearest);
    let at = |p: &Idx| p.eval_sizes(&|s| Some(if &**s == "n" { 9 } else { 30 }));
    assert_eq!(at(&low), Some(0), "{low}");
    assert!(at(&high) <= Some(31), "{high}");
}

/// A choice of two sums, of which one wraps in its type.
#[test]
fn sums_that_wrap_are_no_places_as_written() {
    for (far, near) in [("254", "2"), ("250", "1"), ("1", "3")] {
        let index = format!(
            "value(select(index_compare(GE, i - 3, 0), subtract(index(ui8, i), {near}:ui8), add(index(ui8, i), {far}:ui8)))"
        );
        // What it finds is checked, if it finds something.
        reaches(&["n"], &[("i", "n")], &index, &[]);
    }
}

const DIGITS: &[(&str, &str)] = &[("i", "100"), ("j", "3")];

#[test]
fn digits_of_a_counter_are_remainders_of_quotients() {
    for (fine, digit) in [(1, 4), (2, 3), (5, 2), (3, 7), (7, 3)] {
        for row in [1, 3, 10] {
            let (slope, coarse) = (row * digit, fine * digit);
            let index = format!("{row}*floordiv(i, {fine}) - {slope}*floordiv(i, {coarse}) + j");
            let last = row * (digit - 1) + 2;
            let ends = reaches(&[], DIGITS, &index, &[]);
            assert_eq!(ends, Some((0.into(), (last + 1).into())), "{index}");
        }
    }
    // Divisors of which none is a multiple of the other say nothing of each other.
    for index in [
        "6*floordiv(i, 4) - 6*floordiv(i, 6)",
        "7*floordiv(i, 7) - 48*floordiv(i, 49)",
        "floordiv(i, 4) - 2*floordiv(i, 6) + j",
    ] {
        reaches(&[], DIGITS, index, &[]);
    }
}

/// The end of what `x[(i + r - 1)*w + j + s - 1]` reaches, `i` and `j` over `h` rows and `w` columns, `r` and `s` up to 3,
/// where these are not negative.
fn end_within(conditions: &[&str]) -> Option<Idx> {
    let loops = [("i", "h"), ("j", "w"), ("r", "3"), ("s", "3")];
    let ends = reaches(&["h", "w"], &loops, "w*(i + r - 1) + j + s - 1", conditions);
    ends.map(|(_, high)| high)
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

/// A part of the rounds reaches no further than its own rounds do.
#[test]
fn a_part_of_the_rounds_reaches_as_far_as_it_runs() {
    let is = |outer, inner, index, conditions: &[&str], expected| {
        let ends = reaches(
            &["n", "m"],
            &[("t", outer), ("j", inner)],
            index,
            conditions,
        );
        let ends = ends.map(|(low, high)| format!("{low} .. {high}"));
        assert_eq!(
            ends.as_deref(),
            Some(expected),
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
