//! What a read sees, against writes that are carried out; and each condition, where only it keeps a wrong answer away.

use super::*;
use crate::solver::{self, Solver};
use std::collections::BTreeMap;
use tensorize_ir::loopir::Param;
use tensorize_ir::text::parse_elem;

fn solver() -> Solver {
    Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it")
}

fn elem(text: &str) -> ElemRef {
    let array = |name: &str| Param::Array {
        name: name.into(),
        elem: ScalarType::I32,
        is_const: true,
        restrict: false,
    };
    let size = Param::Scalar {
        name: "n".into(),
        ty: ScalarType::I32,
    };
    let params = [array("a"), array("b"), size];
    parse_elem(text, &params).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn idx(text: &str) -> Idx {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn point(index: &str, value: &str) -> Effect {
    Effect::Point {
        cond: truth(true),
        index: idx(index),
        value: elem(value),
    }
}

fn over(var: &str, extent: &str, body: Vec<Effect>) -> Effect {
    Effect::Loop {
        var: var.into(),
        extent: idx(extent),
        body,
    }
}

/// What `o[x]` is after the effects, where `n ≥ 1` and `0 ≤ x < within`.
fn seen(effects: Vec<Effect>, at: &str, within: &str) -> Result<String, String> {
    let mut solver = solver();
    let params = BTreeMap::from([(Sym::from("n"), ScalarType::I32)]);
    let mut ctx = Context::new(&mut solver, params, vec![]);
    ctx.assume_non_negative(&idx("n - 1"));
    ctx.assume_in_range(&"x".into(), &idx(within));
    let contents = Contents {
        base: Some("o".into()),
        elem: ScalarType::I32,
        effects,
    };
    let value = read(&mut ctx, "o", &contents, &idx(at)).map_err(|e| e.0)?;
    assert_eq!(ctx.guards(), [], "a guard");
    Ok(canon::elem(&value).to_string())
}

#[track_caller]
fn sees(effects: Vec<Effect>, at: &str, within: &str, value: &str) {
    let found = seen(effects, at, within);
    assert_eq!(found, Ok(value.to_owned()));
}

#[track_caller]
fn open(effects: Vec<Effect>, at: &str, within: &str) {
    let found = seen(effects, at, within);
    assert!(found.is_err(), "{found:?}");
}

#[test]
fn a_write_is_seen_where_it_hits() {
    let copy = || over("i", "n", vec![point("i", "a[i]")]);
    sees(vec![copy()], "x", "n", "a[x]");
    sees(vec![copy()], "n - 1 - x", "n", "a[n - x - 1]");
    // Before the first place, and behind the last one.
    sees(vec![copy()], "-1 - x", "n", "o[-x - 1]");
    sees(vec![copy()], "n + x", "n", "o[n + x]");
    // On one half of the range only.
    let mixed = seen(vec![copy()], "x", "2*n").expect("a choice");
    assert!(mixed.contains("a[x]") && mixed.contains("o[x]"), "{mixed}");
}

#[test]
fn strides_leave_gaps() {
    let even = || over("i", "n", vec![point("2*i", "a[i]")]);
    sees(vec![even()], "2*x", "n", "a[x]");
    sees(vec![even()], "2*x + 1", "n", "o[2*x + 1]");
    let some = seen(vec![even()], "x", "2*n").expect("a choice");
    assert!(some.contains("o[x]"), "{some}");
}

#[test]
fn the_last_of_two_writes_counts() {
    let both = |first: &str, second: &str| {
        vec![over(
            "i",
            "n",
            vec![point(first, "a[i]"), point(second, "b[i]")],
        )]
    };
    sees(both("i", "i"), "x", "n", "b[x]");
    // Two loops, one after the other.
    let loops = |second: &str| {
        vec![
            over("i", "n", vec![point("i", "a[i]")]),
            over("i", "n", vec![point(second, "b[i]")]),
        ]
    };
    sees(loops("i"), "x", "n", "b[x]");
    sees(loops("i + n"), "x", "n", "a[x]");
    // From two ends: which one is the last changes in the middle.
    open(both("i", "n - 1 - i"), "x", "n");
    // The next round's first write comes after this round's second.
    open(both("i", "i + 1"), "x + 1", "n - 1");
    // Steps that meet: places apart by less than the larger one.
    open(both("2*i", "4*i + 2"), "4*x + 2", "n");
    open(both("4*i", "6*i + 2"), "12*x + 8", "n");
    // Places apart.
    sees(both("2*i", "2*i + 1"), "2*x", "n", "a[x]");
    sees(both("2*i", "2*i + 1"), "2*x + 1", "n", "b[x]");
}

#[test]
fn rows_have_to_fit_their_stride() {
    let rows = |columns: &str| {
        over(
            "i",
            "n",
            vec![over("j", columns, vec![point("4*i + j", "a[5*i + j]")])],
        )
    };
    sees(vec![rows("4")], "4*x + 3", "n", "a[5*x + 3]");
    sees(vec![rows("3")], "4*x + 2", "n", "a[5*x + 2]");
    sees(vec![rows("3")], "4*x + 3", "n", "o[4*x + 3]");
    // The fifth place of a row is the first one of the next.
    open(vec![rows("5")], "4*x", "n");
    // A stride of no known sign.
    open(
        vec![over(
            "i",
            "n",
            vec![over("j", "2", vec![point("m*i + j", "a[j]")])],
        )],
        "x",
        "n",
    );
}

#[test]
fn tiles_are_one_loop() {
    let tiles = |tile: &str, place: &str| {
        let tile = format!("min({tile}, n - 8*k)");
        let inner = over("j", &tile, vec![point(place, "a[8*k + j]")]);
        vec![over("k", "floordiv(n + 7, 8)", vec![inner])]
    };
    sees(tiles("8", "8*k + j"), "x", "n", "a[x]");
    // A tile that leaves out a place.
    let some = seen(tiles("7", "8*k + j"), "x", "n").expect("a choice");
    assert!(some.contains("o[x]"), "{some}");
    // One that is longer than its stride, and places that overlap.
    open(tiles("9", "8*k + j"), "x", "n");
    open(tiles("8", "7*k + j"), "x", "n");
}
