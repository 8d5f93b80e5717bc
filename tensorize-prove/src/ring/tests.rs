//! The same writes, of the same rounds, for all small sizes; and what must not be taken for a ring.

use super::*;
use crate::chain::truth;
use crate::solver::{self, Solver};
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::scalar::ScalarType;

type Values = BTreeMap<Sym, i128>;

fn idx(text: &str) -> Idx {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn value(i: &Idx, at: &Values) -> i128 {
    i.eval_sizes(&|s| at.get(s).copied()).unwrap()
}

fn rounds(loops: &[(Sym, Idx)], at: &Values) -> Vec<Values> {
    let Some(((var, extent), inner)) = loops.split_first() else {
        return vec![at.clone()];
    };
    let all = (0..value(extent, at)).flat_map(|v| {
        let mut at = at.clone();
        at.insert(var.clone(), v);
        rounds(inner, &at)
    });
    all.collect()
}

/// Whether it is a ring; if so, every round is still where it was.
#[track_caller]
fn check(loops: &[(&str, &str)], index: &str) -> bool {
    let loops: Vec<(Sym, Idx)> = (loops.iter()).map(|(v, n)| ((*v).into(), idx(n))).collect();
    let (index, cond) = (idx(index), truth(true));
    let leaf = Leaf {
        loops: loops.clone(),
        cond: &cond,
        index: &index,
        value: &cond,
    };
    let mut solver =
        Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
    let sizes = ["n", "m", "s"].map(|s| (Sym::from(s), ScalarType::I32));
    let mut ctx = Context::new(&mut solver, BTreeMap::from(sizes), vec![]);
    let Some(straight) = straight(&mut ctx, &leaf) else {
        return false;
    };
    let place = |i: &Idx, round: &Values| {
        let own: Vec<i128> = loops.iter().map(|(v, _)| round[v]).collect();
        (value(i, round), own)
    };
    let mut written = 0;
    for n in -1..6 {
        for m in -1..4 {
            for s in -5..6 {
                let at = ["n", "m", "s"].map(Sym::from).into_iter().zip([n, m, s]);
                let at: Values = at.collect();
                let original = rounds(&loops, &at);
                let original: BTreeSet<_> = original.iter().map(|r| place(&index, r)).collect();
                let by_place =
                    rounds(&straight.write.loops, &at)
                        .into_iter()
                        .filter_map(|mut round| {
                            let own = value(&straight.round, &round);
                            let taken =
                                straight
                                    .write
                                    .cond
                                    .conjuncts()
                                    .into_iter()
                                    .all(|c| match &**c {
                                        Elem::IndexCompare(op, a, b) => {
                                            op.holds(&value(a, &round), &value(b, &round))
                                        }
                                        _ => true,
                                    });
                            round.insert(loops[straight.at].0.clone(), own);
                            taken.then(|| place(&straight.write.index, &round))
                        });
                let found: Vec<_> = by_place.collect();
                written += found.len();
                assert_eq!(found.len(), original.len(), "n = {n}, m = {m}, s = {s}");
                assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), original);
            }
        }
    }
    assert!(written > 100);
    true
}

#[test]
fn what_goes_round() {
    assert!(check(&[("i", "n")], "mod(i + s, n)"));
    assert!(check(&[("i", "n")], "mod(s - i, n) + 3"));
    assert!(check(&[("i", "n - 1")], "mod(i + s, n)"));
    assert!(check(&[("i", "n"), ("j", "m")], "m*mod(i + 1, n) + j"));
    assert!(check(&[("i", "n"), ("j", "m")], "m*mod(i + j, n) + j"));
    assert!(check(&[("i", "16")], "mod(5*i + s, 16)"));
    assert!(check(&[("i", "9")], "mod(7*i + s, 10)"));
    assert!(check(&[("i", "8")], "mod(3 - 3*i, 8)"));
}

#[test]
fn what_does_not() {
    // More rounds than places; a step that comes to some places only; another size.
    assert!(!check(&[("i", "n + 1")], "mod(i + s, n)"));
    assert!(!check(&[("i", "16")], "mod(4*i + s, 16)"));
    assert!(!check(&[("i", "n")], "mod(3*i + s, n)"));
    assert!(!check(&[("i", "n")], "mod(i + s, m)"));
    // The counter, or what goes as far as it says, stands elsewhere, too.
    assert!(!check(&[("i", "n")], "mod(i + s, n) + i"));
    assert!(!check(&[("i", "n"), ("j", "i")], "m*mod(i + s, n) + j"));
    assert!(!check(&[("i", "n"), ("j", "n")], "mod(i, n + j)"));
}

#[test]
fn steps_around_a_ring_are_undone() {
    for n in 2..40i128 {
        for step in -50..50i128 {
            let found = inverse(step, Some(n));
            let all: BTreeSet<i128> = (0..n).map(|i| (step * i).rem_euclid(n)).collect();
            assert_eq!(found.is_some(), all.len() as i128 == n, "{step} on {n}");
            if let Some(back) = found {
                assert!(
                    (0..n).all(|i| (back * step * i).rem_euclid(n) == i),
                    "{step} on {n}"
                );
            }
        }
    }
    assert_eq!(inverse(2, None), None);
}

#[test]
fn quotients_of_what_lies_once_around() {
    let mut solver =
        Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
    let sizes = ["n", "m", "s"].map(|s| (Sym::from(s), ScalarType::I32));
    let mut ctx = Context::new(&mut solver, BTreeMap::from(sizes), vec![]);
    ctx.assume_in_range(&"i".into(), &idx("n"));
    for (text, found) in [
        ("i + n*s", Some(("s", "i"))),
        (
            "i - n*floordiv(i - s, n) - n",
            Some(("-floordiv(i - s, n) - 1", "i")),
        ),
        ("2*n - 1 - i", None),
        ("n*s - i", None),
        ("n*s + i + 1", None),
        ("n*s + m", None),
        ("i", None),
    ] {
        let expected = found.map(|(times, rest)| (idx(times), idx(rest)));
        assert_eq!(around(&mut ctx, &idx(text), &idx("n")), expected, "{text}");
    }
    assert_eq!(around(&mut ctx, &idx("12*s + 5"), &idx("12")), None);
}

#[test]
fn what_a_comparison_says_of_a_place() {
    let int = |p: &str| Elem::of_idx(ScalarType::I64, idx(p));
    let choice = |p: &str, t: &str, f: &str| {
        Elem::select(
            Elem::index_compare(CmpOp::Ge, idx(p), Idx::default()),
            int(t),
            int(f),
        )
    };
    for e in [
        choice("s - n", "s - n", "s"),
        choice("n - 1 - s", "s", "s - n"),
        choice("-s - 1", "s + n", "s"),
        choice("s", "s", "s + n"),
    ] {
        let (x, size) = told_by_comparison(&e).expect("a ring");
        for n in 1..6 {
            for s in -10..20 {
                let at: Values = [("n", n), ("s", s)].map(|(v, i)| (Sym::from(v), i)).into();
                let x = value(&x, &at);
                let Elem::Select(c, t, f) = &*e else {
                    panic!("{e}")
                };
                let (Elem::IndexCompare(_, p, _), Elem::OfIdx(_, t), Elem::OfIdx(_, f)) =
                    (&**c, &**t, &**f)
                else {
                    panic!("{e}")
                };
                let found = value(if value(p, &at) >= 0 { t } else { f }, &at);
                assert_eq!(value(&size, &at), n);
                if (0..2 * n).contains(&x) {
                    assert_eq!(found, x.rem_euclid(n), "{e}: n = {n}, s = {s}");
                }
            }
        }
    }
    for e in [
        choice("s - n - 1", "s - n", "s"),
        choice("s - n + 1", "s - n", "s"),
        choice("-s", "s + n", "s"),
        choice("s - n", "s - m", "s"),
    ] {
        assert_eq!(told_by_comparison(&e), None, "{e}");
    }
}
