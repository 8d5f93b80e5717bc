//! The fold over the range, against the fold over all rounds, for all small sizes and places.

use super::*;
use crate::solver::{self, Solver};
use std::collections::BTreeMap;
use tensorize_ir::element::Env;
use tensorize_ir::loopir::Param;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::text::parse_elem;

const SIZES: [&str; 3] = ["n", "m", "q"];

struct At([i128; 3]);

impl Env for At {
    fn sym(&self, name: &Sym) -> Option<i128> {
        let i = SIZES.iter().position(|s| **s == **name)?;
        Some(self.0[i])
    }
    fn param(&self, _: &Sym) -> Option<Scalar> {
        None
    }
    /// What no round touches that may change something is not there.
    fn read(&mut self, array: &Sym, index: i128) -> Option<Scalar> {
        let inside = index >= 0 && (&**array == "a" || index < self.0[1]);
        inside.then(|| Scalar::int(ScalarType::I32, index * 7 + array.len() as i128))
    }
}

fn fold(text: &str) -> Fold {
    let array = |name: &str| Param::Array {
        name: name.into(),
        elem: ScalarType::I32,
        is_const: true,
        restrict: false,
    };
    let mut params = vec![array("a"), array("bb")];
    params.extend(SIZES.map(|name| Param::Scalar {
        name: name.into(),
        ty: ScalarType::I32,
    }));
    match &*parse_elem(text, &params).unwrap_or_else(|e| panic!("{text}: {e}")) {
        Elem::Fold(f) => (**f).clone(),
        other => panic!("{other} is no fold"),
    }
}

/// The extent over the range; the value is that of all rounds wherever the fact holds.
#[track_caller]
fn check(text: &str, known: Option<&str>) -> Option<String> {
    let f = fold(text);
    let mut solver =
        Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
    let sizes = SIZES.map(|s| (Sym::from(s), ScalarType::I32));
    let mut ctx = Context::new(&mut solver, BTreeMap::from(sizes), vec![]);
    let known: Option<Idx> = known.map(|k| k.parse().unwrap());
    known.iter().for_each(|k| ctx.assume_non_negative(k));
    let narrow = narrowed(&mut ctx, &f)?;
    let [all, some] = [f, narrow.clone()].map(|f| Elem::Fold(std::sync::Arc::new(f)));
    let mut values = 0;
    for n in -2..6 {
        for m in -2..6 {
            for q in -3..10 {
                let mut at = At([n, m, q]);
                let holds = |k: &Idx| k.eval_sizes(&|s| at.sym(s)).is_some_and(|v| v >= 0);
                if !known.as_ref().is_none_or(holds) {
                    continue;
                }
                let expected = all.eval(&mut at);
                values += usize::from(expected.is_some());
                assert_eq!(
                    some.eval(&mut at),
                    expected,
                    "{text}: n = {n}, m = {m}, q = {q}"
                );
            }
        }
    }
    assert!(values > 30, "{text}");
    Some(narrow.extent.to_string())
}

/// A fold of `n` rounds `k` that writes where the condition holds.
fn under(condition: &str) -> String {
    format!(
        "fold(acc = 1:i32, k < n, select({condition}, add(multiply(acc, 3:i32), multiply(a[k], bb[q - k])), acc))"
    )
}

#[test]
fn a_row_on_a_row() {
    let both = under("and(index_compare(GE, q - k, 0), index_compare(LT, q - k, m))");
    assert!(check(&both, None).is_some());
    // As C has it, and the other way round.
    let both = under("select(index_compare(GE, q - k, 0), index_compare(LT, q - k, m), 0:i1)");
    assert!(check(&both, None).is_some());
    let not = "fold(acc = 1:i32, k < n, select(index_compare(LT, k, q), acc, add(acc, a[k])))";
    assert!(check(not, None).is_some());
    // What is known of sizes leaves nothing to compare.
    let from = "fold(acc = 1:i32, k < n, select(index_compare(GE, k, q), add(acc, a[k]), acc))";
    assert_eq!(check(from, Some("q - 1")).as_deref(), Some("max(0, n - q)"));
    assert_eq!(check(from, Some("-q")), None);
}

#[test]
fn steps_and_places() {
    for condition in [
        "and(index_compare(GE, q - 2*k, 0), index_compare(LT, q - 2*k, m))",
        "and(index_compare(GE, q + 3*k - 5, 0), index_compare(LT, q + 3*k - 5, m))",
        "index_compare(EQ, q - k, 0)",
        "index_compare(EQ, k + q - 4, 0)",
        "and(index_compare(EQ, q - k, 0), compare(LT, a[k], 9:i32))",
    ] {
        let text = format!(
            "fold(acc = 1:i32, k < n, select({condition}, add(multiply(acc, 3:i32), a[k]), acc))"
        );
        assert!(check(&text, None).is_some(), "{condition}");
    }
    // Twice a round is a place, or none is.
    let even =
        "fold(acc = 1:i32, k < n, select(index_compare(EQ, q - 2*k, 0), add(acc, a[k]), acc))";
    assert!(check(even, None).is_some());
}

#[test]
fn one_of_several_writes() {
    let two = "fold(acc = 1:i32, k < n, select(index_compare(EQ, q - k, 1), add(multiply(acc, 3:i32), a[k]), \
               select(index_compare(EQ, q - k, 0), subtract(acc, a[k]), acc)))";
    assert!(check(two, None).is_some());
    let open = "fold(acc = 1:i32, k < n, select(compare(LT, a[k], 9:i32), add(acc, a[k]), \
                select(index_compare(EQ, q - k, 0), subtract(acc, a[k]), acc)))";
    assert_eq!(check(open, None), None);
}

#[test]
fn what_says_no_range_is_left() {
    for text in [
        // What the data says changes from round to round, and so may what has been accumulated.
        "fold(acc = 1:i32, k < n, select(index_compare(GE, k - value(a[k]), 0), add(acc, a[k]), acc))",
        "fold(acc = 1:i32, k < n, select(index_compare(NE, k - q, 0), add(acc, a[k]), acc))",
        "fold(acc = 1:i32, k < n, select(index_compare(GE, k - q, 0), add(acc, a[k]), 5:i32))",
        "fold(acc = 1:i32, k < n, select(index_compare(GE, m - q, 0), add(acc, a[k]), acc))",
        "fold(acc = 1:i32, k < n, add(acc, a[k]))",
    ] {
        assert_eq!(check(text, None), None, "{text}");
    }
}
