//! Each condition of the rules, with a pair of folds that only it keeps apart.

use super::*;
use crate::solver::{self, Solver};
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::Param;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::text::parse_elem;

fn solver() -> Solver {
    Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it")
}

/// Arrays `a` of floats and `b` of integers; sizes `n`, `m` and `t`.
fn params() -> Vec<Param> {
    let array = |name: &str, elem| Param::Array {
        name: name.into(),
        elem,
        is_const: true,
        restrict: false,
    };
    let size = |name: &str| Param::Scalar {
        name: name.into(),
        ty: ScalarType::I32,
    };
    let mut all = vec![array("a", ScalarType::F32), array("b", ScalarType::I32)];
    all.extend(["n", "m", "t"].map(size));
    all
}

fn elem(text: &str) -> ElemRef {
    parse_elem(text, &params()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn fold(text: &str) -> Arc<Fold> {
    match &*elem(text) {
        Elem::Fold(f) => f.clone(),
        other => panic!("{other} is no fold"),
    }
}

fn idx(text: &str) -> Idx {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// A context in which the sizes of `known` are not negative.
fn with<T>(known: &str, work: impl FnOnce(&mut Context) -> T) -> T {
    let mut solver = solver();
    let sizes = ["n", "m", "t"].map(|s| (Sym::from(s), ScalarType::I32));
    let mut ctx = Context::new(&mut solver, BTreeMap::from(sizes), vec![]);
    for fact in known.split_whitespace() {
        ctx.assume_non_negative(&idx(fact));
    }
    work(&mut ctx)
}

fn equal(known: &str, f: &str, g: &str) -> bool {
    let (f, g) = (fold(f), fold(g));
    with(known, |ctx| in_portions(ctx, &f, &g, Tier::Exact))
}

/// Σ a[k] over `extent` rounds, in order.
fn sum(extent: &str) -> String {
    format!("fold(s = 0.0:f32, k < {extent}, add(s, a[k]))")
}

#[test]
fn portions_add_up() {
    let two = |init: &str, extent: &str, first: &str| {
        format!(
            "fold(s = {init}, k < {extent}, add(add(s, a[2*k + {first}]), a[2*k + {first} + 1]))"
        )
    };
    assert!(equal("m", &two("0.0:f32", "m", "0"), &sum("2*m")));
    // A first step on its own.
    let first = "fold(s = 0.0:f32, k < 1, add(s, a[k]))";
    assert!(equal("m", &two(first, "m", "1"), &sum("2*m + 1")));
    // One step is missing at the start, or there is one too many.
    assert!(!equal("m", &two("0.0:f32", "m", "1"), &sum("2*m + 1")));
    assert!(!equal("m", &two("0.0:f32", "m", "0"), &sum("2*m - 1")));
    assert!(!equal("m n", &two("0.0:f32", "m", "0"), &sum("n")));
    // Another first value, another order in the step, and nothing known of the number of portions.
    assert!(!equal("m", &two("1.0:f32", "m", "0"), &sum("2*m")));
    let swapped = "fold(s = 0.0:f32, k < m, add(add(s, a[2*k + 1]), a[2*k]))";
    assert!(!equal("m", swapped, &sum("2*m")));
    assert!(!equal("n", &two("0.0:f32", "m", "0"), &sum("2*m")));
    // Without portions, what comes before is all there is.
    let rest = "fold(s = 0.0:f32, k < n - 2*m, add(s, a[k]))";
    let later = two(rest, "m", "n - 2*m");
    assert!(equal("n m n-2*m", &later, &sum("n")));
    assert!(!equal("n n-2*m", &later, &sum("n")));
    // A sum in any order is not the one in this order.
    let any = two("0.0:f32", "m", "0").replace("fold(", "fold_any(");
    assert!(!equal("m", &any, &sum("2*m")));
}

#[test]
fn tiles_take_the_steps_that_come_next() {
    let tiles = |extent: &str, tile: &str, at: &str| {
        format!("fold(s = 0.0:f32, k < {extent}, fold(r = s, j < {tile}, add(r, a[{at}])))")
    };
    let known = "n n-1 m m-1";
    let (all, right) = ("floordiv(n + 7, 8)", "min(8, n - 8*k)");
    assert!(equal(known, &tiles(all, right, "8*k + j"), &sum("n")));
    assert!(equal(known, &tiles("m", "8", "8*k + j"), &sum("8*m")));
    // Tiles that leave out a step, that reach too far, that end too soon, that begin elsewhere.
    for wrong in [
        tiles(all, "min(7, n - 8*k)", "8*k + j"),
        tiles(all, "min(8, n + 1 - 8*k)", "8*k + j"),
        tiles("floordiv(n, 8)", right, "8*k + j"),
        tiles(all, right, "8*k + j + 1"),
        tiles(all, right, "7*k + j"),
        tiles(all, right, "j"),
        tiles(all, "8", "8*k + j"),
        tiles(all, right, "8*k + j").replacen("0.0:f32", "1.0:f32", 1),
    ] {
        assert!(!equal(known, &wrong, &sum("n")), "{wrong}");
    }
}

#[test]
fn two_counters_count_a_range() {
    let range = |outer: &str, inner: &str| {
        let (outer, inner) = (idx(outer), idx(inner));
        let found = with("n n-1 m m-1 t-1", |ctx| {
            one_range(ctx, (&"k".into(), &outer), &inner)
        });
        found.map(|(t, end)| (t.to_string(), end.to_string()))
    };
    let is = |t: &str, end: &str| Some((t.to_owned(), end.to_owned()));
    assert_eq!(range("floordiv(n + 7, 8)", "min(8, n - 8*k)"), is("8", "n"));
    // Fewer tiles than there is room for: as far as they reach.
    let some = range("m", "min(8, n - 8*k)").expect("a range");
    assert_eq!(some.1, idx("min(8*m, n)").to_string());
    assert_eq!(
        range("floordiv(n, 8)", "min(8, n - 8*k)"),
        is("8", "8*floordiv(n, 8)")
    );
    // A gap in each tile, an overlap, another end, a length of no known sign.
    for inner in [
        "min(7, n - 8*k)",
        "min(8*k + 7, n) - 8*k",
        "min(8*k + 9, n) - 8*k",
        "min(8, n - 7*k)",
        "max(8, n - 8*k)",
        "min(s, n - s*k)",
    ] {
        assert_eq!(range("floordiv(n + 7, 8)", inner), None, "{inner}");
    }
}

#[test]
fn what_is_gathered_commutes() {
    let both = |op: &str, array: &str, zero: &str, second: &str| {
        let fold = |at: &str, extent: &str| {
            format!("fold(s = {zero}, k < {extent}, {op}(s, {array}[{at}]))")
        };
        elem(&format!(
            "{op}({}, {})",
            fold("2*k", "m"),
            fold("2*k + 1", second)
        ))
    };
    let ints = both("add", "b", "0:i32", "m");
    assert!(gathered(&ints, BinOp::Add, Tier::Exact).is_some());
    let floats = both("add", "a", "0.0:f32", "m");
    assert!(gathered(&floats, BinOp::Add, Tier::Real).is_some());
    assert!(gathered(&floats, BinOp::Add, Tier::Exact).is_none());
    let differences = both("subtract", "b", "0:i32", "m");
    assert!(gathered(&differences, BinOp::Subtract, Tier::Real).is_none());
    let uneven = both("add", "b", "0:i32", "m + 1");
    assert!(gathered(&uneven, BinOp::Add, Tier::Exact).is_none());
}
