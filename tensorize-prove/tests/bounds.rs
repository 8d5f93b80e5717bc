//! What is said of indices without trying every round, held against every round of small loops.

use std::collections::BTreeMap;
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::Param;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::text::parse_idx;
use tensorize_prove::bound::bound;
use tensorize_prove::context::Context;
use tensorize_prove::decode::{decode, in_other_columns};
use tensorize_prove::solver::{self, Solver};

const SIZES: [&str; 4] = ["n", "m", "s", "t"];
type Values = BTreeMap<Sym, i128>;

fn idx(text: &str) -> Idx {
    let names = SIZES.iter().chain(&["i", "j", "k"]);
    let params: Vec<Param> = names
        .map(|name| Param::Scalar {
            name: (*name).into(),
            ty: ScalarType::I32,
        })
        .collect();
    parse_idx(text, &params).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

fn loops(of: &[(&str, &str)]) -> Vec<(Sym, Idx)> {
    of.iter().map(|(v, n)| ((*v).into(), idx(n))).collect()
}

fn value(i: &Idx, at: &Values) -> i128 {
    i.eval_sizes(&|s| at.get(s).copied()).unwrap()
}

/// Every round of the loops, with the sizes in `at`.
fn rounds(loops: &[(Sym, Idx)], at: &Values) -> Vec<Values> {
    let Some(((var, extent), inner)) = loops.split_first() else {
        return vec![at.clone()];
    };
    (0..value(extent, at))
        .flat_map(|v| {
            let mut at = at.clone();
            at.insert(var.clone(), v);
            rounds(inner, &at)
        })
        .collect()
}

/// All small sizes for which the guards hold.
fn sizes(guards: &[Guard]) -> Vec<Values> {
    let range = -2..=4;
    let mut all = vec![Values::new()];
    for name in SIZES {
        let with = |at: &Values, v| {
            let mut at = at.clone();
            at.insert(name.into(), v);
            at
        };
        all = all
            .iter()
            .flat_map(|at| range.clone().map(|v| with(at, v)).collect::<Vec<_>>())
            .collect();
    }
    let holds = |g: &Guard, at: &Values| match g {
        Guard::NonNegative(i) => value(i, at) >= 0,
        _ => true,
    };
    all.retain(|at| guards.iter().all(|g| holds(g, at)));
    all
}

fn in_context<T>(test: impl FnOnce(&mut Context) -> T) -> T {
    let mut solver =
        Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
    let params = SIZES
        .map(|s| (s.into(), ScalarType::I32))
        .into_iter()
        .collect();
    test(&mut Context::new(&mut solver, params, vec![]))
}

/// Bounds hold in every round; and one of the rounds has them where all loops run and none depends on another.
#[test]
fn ends_of_indices() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("max(0, i - 1)", &[("i", "n")]),
        ("min(n - 1, i + 1) + 2*j", &[("i", "n"), ("j", "m")]),
        ("m*max(0, i - s) + j", &[("i", "n"), ("j", "m")]),
        ("min(n - 1, max(0, i + j - 1))", &[("i", "n"), ("j", "3")]),
        ("s*floordiv(i*m, 3) + i", &[("i", "n")]),
        ("floordiv(floordiv(i, 2), 2)", &[("i", "n")]),
        ("4 - max(i, 1) - j", &[("i", "n"), ("j", "m")]),
        ("i - max(0, i - 2)", &[("i", "n")]),
        ("i + j", &[("i", "n"), ("j", "max(0, m - i)")]),
        ("2*i + j", &[("i", "n"), ("j", "max(0, m - i)")]),
        (
            "max(0, i - s) + j",
            &[("i", "n"), ("j", "max(0, i - max(0, i - s) + 1)")],
        ),
        ("s*i - max(j, t)", &[("i", "n"), ("j", "m")]),
        // Both terms move, and what they are together goes one way.
        ("i - max(s, i - t)", &[("i", "n")]),
        ("i - min(n - 1, i)", &[("i", "n")]),
        ("max(s, t - i) + i", &[("i", "n")]),
        ("i + m - 2*i + max(i, t)", &[("i", "n")]),
        ("min(s - i, t) + i - j", &[("i", "n"), ("j", "m")]),
        (
            "i - j - max(0, i - m + 1)",
            &[
                ("i", "n + m - 1"),
                ("j", "max(0, min(n - 1, i) - max(0, i - m + 1) + 1)"),
            ],
        ),
        // Of packed rows.
        ("floordiv(i*i + i, 2) + j", &[("i", "n"), ("j", "i + 1")]),
        ("n*m - i*i - 2*i", &[("i", "n")]),
        // Of rows that get shorter, and of what turns round half-way.
        (
            "n*i - i*i + floordiv(i*i + i, 2) + j",
            &[("i", "n"), ("j", "max(0, n - i)")],
        ),
        (
            "n*i - floordiv(i*i + i, 2) + j",
            &[("i", "n"), ("j", "max(0, n - i - 1)")],
        ),
        ("3 - floordiv(i*i - i, 2) + s", &[("i", "n")]),
        ("n*i - i*i", &[("i", "n")]),
        ("n*i - floordiv(i*i + i, 2)", &[("i", "m")]),
        // Of bands: between what is furthest and this there may be nothing, so only where rows differ in length.
        (
            "m*i - i + max(0, i - s) + j",
            &[("i", "n"), ("j", "max(0, min(t, i + s) - max(0, i - s))")],
        ),
        ("m*i - i + min(n, i + s)", &[("i", "t")]),
        ("m*i - i + max(n, i - s)", &[("i", "t")]),
        // Of multiples, too.
        ("m*i - m*max(s, i - t) + 3", &[("i", "n")]),
        ("2*m*(i - min(n - 1, i)) + s", &[("i", "n")]),
        ("3*i - 3*max(0, i - s) + t", &[("i", "n")]),
        (
            "s*i - s*j - s*max(0, i - m + 1)",
            &[
                ("i", "n + m - 1"),
                ("j", "max(0, min(n, i + 1) - max(0, i - m + 1))"),
            ],
        ),
        ("i - max(s, t - i)", &[("i", "n")]),
        ("min(2*i, s) - i", &[("i", "n")]),
        ("3*i - 2*max(i, s)", &[("i", "n")]),
        // Remainders that are taken off, as where every other field of a row begins in an odd one or an even one.
        ("s - i + 4*floordiv(i, 4)", &[("i", "n")]),
        ("s - i + 3*floordiv(i + m, 3)", &[("i", "3")]),
        ("m*n + i + 2*floordiv(m - i, 2)", &[("i", "2")]),
    ];
    let mut found = 0;
    for (index, nest) in cases {
        let (index, nest) = (idx(index), loops(nest));
        let (low, high, guards) = in_context(|ctx| {
            for (v, n) in &nest {
                ctx.assume_in_range(v, n);
            }
            let (low, high) = (
                bound(ctx, &index, &nest, false),
                bound(ctx, &index, &nest, true),
            );
            (low, high, ctx.guards().to_vec())
        });
        found += usize::from(low.is_some()) + usize::from(high.is_some());
        let apart = nest
            .iter()
            .all(|(_, n)| nest.iter().all(|(v, _)| !n.mentions(v)));
        for at in sizes(&guards) {
            let reached: Vec<i128> = rounds(&nest, &at)
                .iter()
                .map(|r| value(&index, r))
                .collect();
            let (Some(least), Some(most)) = (reached.iter().min(), reached.iter().max()) else {
                continue;
            };
            let at_ends = |bound: &Option<Idx>, end: &i128, holds: fn(i128, i128) -> bool| {
                let Some(b) = bound.as_ref().map(|b| value(b, &at)) else {
                    return;
                };
                assert!(holds(b, *end), "{index} is {end}, and not {b}, for {at:?}");
                assert!(!apart || b == *end, "{index} is never {b} for {at:?}");
            };
            at_ends(&low, least, |b, end| b <= end);
            at_ends(&high, most, |b, end| b >= end);
        }
    }
    // What rises and falls has none.
    assert_eq!(found, 2 * cases.len() - 10, "bounds that are found");
}

/// A round that has the place is the one at the position that is found, for sizes that meet the guards.
#[test]
fn rounds_of_triangles_and_diagonals() {
    type Loops = &'static [(&'static str, &'static str)];
    let upper: Loops = &[("i", "n"), ("j", "n - i")];
    let strictly: Loops = &[("i", "n"), ("j", "n - i - 1")];
    let cases: [(&str, Loops, bool); 14] = [
        ("n*i + i + j", upper, true),
        ("n*i + n*j + i", upper, true),
        ("n*i + i + j + 1", strictly, true),
        ("n*i + n*j + n + i", strictly, true),
        ("n*i + i", &[("i", "n")], true),
        ("s*i + i", &[("i", "n")], true),
        ("n*i + i + m*j + j", &[("i", "n"), ("j", "m")], false),
        // Rows and columns that meet.
        ("i + j", upper, false),
        ("n*i + n*j + j", upper, true),
        ("2*i + 2*j + i", upper, false),
        // Rows upside down, as far apart as somebody says, and mirrored.
        ("s*n - s*i - s + j", &[("i", "n"), ("j", "m")], true),
        ("s*n - s*i - j + m", &[("i", "n"), ("j", "m")], true),
        // Each row has another end to be counted down from.
        ("n*i + i - j", &[("i", "n"), ("j", "i + 1")], false),
        ("s*i + i - 2*j", &[("i", "n"), ("j", "i + 1")], false),
    ];
    for (index, of, expected) in cases {
        let (index, at) = (idx(index), idx("m*t + s"));
        let of = loops(of);
        for at in [idx("t"), idx("n*t + s"), at] {
            let (position, guards) = in_context(|ctx| {
                let position = decode(ctx, &of, &index, &at);
                (position, ctx.guards().to_vec())
            });
            let Some(position) = position else {
                assert!(!expected, "{index} at {at}");
                assert!(guards.is_empty(), "{index}: guards for nothing");
                continue;
            };
            for sizes in sizes(&guards) {
                for round in rounds(&of, &sizes) {
                    if value(&index, &round) != value(&at, &sizes) {
                        continue;
                    }
                    for ((v, _), p) in of.iter().zip(&position) {
                        assert_eq!(
                            value(p, &sizes),
                            round[v],
                            "{index} at {at}: {v}, {sizes:?}"
                        );
                    }
                }
            }
        }
    }
}

/// The same where a part begins within the rows, for places of which row and column are known.
#[test]
fn rounds_of_a_part_of_the_rows() {
    type Loops = &'static [(&'static str, &'static str)];
    // Whether row and column are found without a quotient.
    let cases: [(&str, Loops, bool); 8] = [
        ("n*i + j + 1", &[("i", "m"), ("j", "n - 2")], true),
        ("n*i + j + n + 2", &[("i", "m"), ("j", "n - 2")], true),
        ("n*i + j + m", &[("i", "3"), ("j", "n - 2*m")], true),
        ("n*i + j + n*m + m", &[("i", "3"), ("j", "n - m")], true),
        // Beyond a row's end, and before its beginning.
        ("n*i + j + 2", &[("i", "m"), ("j", "n - 1")], false),
        ("n*i + j + m", &[("i", "3"), ("j", "n")], false),
        ("n*i + j + n - 1", &[("i", "m"), ("j", "n - 2")], false),
        ("n*i + 2*j + 1", &[("i", "m"), ("j", "n")], false),
    ];
    for (index, of, expected) in cases {
        let (index, at) = (idx(index), idx("n*t + s"));
        let of = loops(of);
        let (position, guards) = in_context(|ctx| {
            ctx.assume_in_range(&"s".into(), &idx("n"));
            let position = decode(ctx, &of, &index, &at);
            (position, ctx.guards().to_vec())
        });
        let plain = |p: &Idx| !p.to_string().contains("floordiv");
        let found = position.as_ref().is_some_and(|p| p.iter().all(plain));
        assert_eq!(found, expected, "{index}: {position:?}");
        let Some(position) = position else { continue };
        let sizes = sizes(&guards).into_iter();
        for sizes in sizes.filter(|at| (0..at["n"]).contains(&at["s"])) {
            for round in rounds(&of, &sizes) {
                if value(&index, &round) != value(&at, &sizes) {
                    continue;
                }
                for ((v, _), p) in of.iter().zip(&position) {
                    assert_eq!(value(p, &sizes), round[v], "{index}: {v}, {sizes:?}");
                }
            }
        }
    }
}

/// What is said never to be one place isn't, in any two rounds, for sizes that meet the guards.
#[test]
fn columns_of_rows_that_are_a_size_apart() {
    let cases = [
        ("s*i", "s*j + 3", &[("i", "n")][..], &[("j", "m")][..], true),
        ("s*i + 2", "s*j + 1", &[("i", "n")], &[("j", "m")], true),
        ("s*i + 2", "s*j + 2", &[("i", "n")], &[("j", "m")], false),
        (
            "s*i + 2*k",
            "s*j + 2*t + 1",
            &[("i", "n"), ("k", "m")],
            &[("j", "n")],
            true,
        ),
        (
            "s*i + 2*k",
            "s*j + 2*t",
            &[("i", "n"), ("k", "m")],
            &[("j", "n")],
            false,
        ),
        (
            "s*i + 2*t",
            "s*j + 1",
            &[("i", "n"), ("t", "floordiv(s + 1, 2)")],
            &[("j", "n")],
            true,
        ),
        // The last column.
        ("s*i", "s*j - 1", &[("i", "n")], &[("j", "m")], true),
        ("s*i + s - 1", "s*j", &[("i", "n")], &[("j", "m")], true),
        (
            "s*i + s - 1",
            "s*j - 1",
            &[("i", "n")],
            &[("j", "m")],
            false,
        ),
        ("s*i + s", "s*j", &[("i", "n")], &[("j", "m")], false),
        (
            "s*i + s - 1",
            "s*j + s - 2",
            &[("i", "n")],
            &[("j", "m")],
            true,
        ),
        ("4*i", "4*j + 5", &[("i", "n")], &[("j", "m")], false),
        // The first column would do with a guard, the second does not.
        (
            "s*i + 1",
            "s*j + 5 - k",
            &[("i", "n")],
            &[("j", "m"), ("k", "3")],
            false,
        ),
    ];
    for (index, at, writes, reads, expected) in cases {
        let (index, place) = (idx(index), idx(at));
        let (writes, reads) = (loops(writes), loops(reads));
        let (apart, guards) = in_context(|ctx| {
            for (v, n) in &reads {
                ctx.assume_in_range(v, n);
            }
            (
                in_other_columns(ctx, &writes, &index, &place),
                ctx.guards().to_vec(),
            )
        });
        assert_eq!(apart, expected, "{index} and {place}");
        if !apart {
            assert!(guards.is_empty(), "guards for nothing: {guards:?}");
            continue;
        }
        for at in sizes(&guards) {
            let places = |loops: &[(Sym, Idx)], i: &Idx| -> Vec<i128> {
                rounds(loops, &at).iter().map(|r| value(i, r)).collect()
            };
            let written = places(&writes, &index);
            for p in places(&reads, &place) {
                assert!(!written.contains(&p), "{index} and {place} meet for {at:?}");
            }
        }
    }
}

/// What is known of the counters where something is touched may hold in some rounds only, and the others are bounded as well.
#[test]
fn ends_where_conditions_hold() {
    type Nest = &'static [(&'static str, &'static str)];
    // An index in loops, and what is not negative where it is touched.
    let cases: &[(&str, Nest, &str)] = &[
        (
            "m*j - floordiv(j*j - j, 2) + i",
            &[("j", "n"), ("i", "max(0, m - j)")],
            "m - j - 1",
        ),
        ("m*j - floordiv(j*j + j, 2)", &[("j", "n")], "m - j - 1"),
        ("floordiv(j*j - j, 2) - m*j", &[("j", "n")], "j - m"),
        ("5*j - floordiv(j*j - j, 2)", &[("j", "n")], "4 - j"),
        (
            "n*j - floordiv(j*j - j, 2) + i",
            &[("j", "n"), ("i", "max(0, n - j)")],
            "n - j - 1",
        ),
    ];
    let mut found = 0;
    for (index, nest, known) in cases {
        let (index, nest, known) = (idx(index), loops(nest), idx(known));
        for upper in [false, true] {
            let (end, guards) = in_context(|ctx| {
                for (var, extent) in &nest {
                    ctx.assume_in_range(var, extent);
                }
                ctx.assume_non_negative(&known);
                (bound(ctx, &index, &nest, upper), ctx.guards().to_vec())
            });
            let Some(end) = end else { continue };
            found += 1;
            for at in sizes(&guards) {
                for round in rounds(&nest, &at) {
                    let touched = value(&known, &round) >= 0;
                    let (place, end) = (value(&index, &round), value(&end, &at));
                    let within = if upper { place <= end } else { place >= end };
                    assert!(!touched || within, "{index}: {place}, {end} in {round:?}");
                }
            }
        }
    }
    assert!(found >= 2, "{found}");
}
