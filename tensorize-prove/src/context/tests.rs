//! What is known is what holds now, and not what held when an earlier question was asked.

use super::script::KEPT;
use super::*;
use crate::solver;
use tensorize_ir::guard::Tier;
use tensorize_ir::scalar::Scalar;

fn with_context(test: impl FnOnce(&mut Context<'_>)) {
    let mut solver =
        Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
    let sizes = ["n", "m"].map(|s| (Sym::from(s), ScalarType::I32));
    test(&mut Context::new(
        &mut solver,
        BTreeMap::from(sizes),
        vec![],
    ));
}

fn idx(text: &str) -> Idx {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn at_least(p: &str, least: i128) -> ElemRef {
    Elem::index_compare(CmpOp::Ge, idx(p), Idx::constant(least))
}

/// No fact says so word for word, so that the solver is asked.
fn knows(ctx: &mut Context<'_>, p: &str, least: i128) -> bool {
    ctx.proves(
        CmpOp::Ge,
        &idx(&format!("2*{p}")),
        &Idx::constant(2 * least),
    )
}

#[test]
fn what_was_forgotten_is_not_known() {
    with_context(|ctx| {
        ctx.assume(at_least("i", 1));
        let mark = ctx.mark();
        // More than are kept, each in the place of the one before.
        for least in 2..3 * KEPT as i128 {
            ctx.assume(at_least("i", least));
            assert!(knows(ctx, "i", least), "{least}");
            assert!(!knows(ctx, "i", least + 1), "{least}");
            ctx.forget(mark);
            assert!(!knows(ctx, "i", least), "{least}");
            assert!(knows(ctx, "i", 1), "{least}");
        }
    });
}

/// What the solver alone can show, of whole numbers, is not remembered for longer than it holds.
#[test]
fn what_the_solver_has_shown_is_forgotten_too() {
    with_context(|ctx| {
        ctx.assume(at_least("3*i - j", 0));
        let least = |ctx: &mut Context<'_>, n| ctx.proves(CmpOp::Ge, &idx("i"), &Idx::constant(n));
        let mark = ctx.mark();
        let before = ctx.save();
        for (j, i) in [(1, 1), (4, 2), (1, 1)] {
            ctx.assume(at_least("j", j));
            assert!(least(ctx, i));
            assert!(!least(ctx, i + 1));
            ctx.forget(mark);
            assert!(!least(ctx, i));
        }
        ctx.assume(at_least("j", 7));
        assert!(least(ctx, 3));
        ctx.restore(before);
        assert!(!least(ctx, 3));
    });
}

/// What numbers at hand refute, the solver does not show: on facts and goals of all the forms that it is asked about.
#[test]
fn what_is_refuted_the_solver_does_not_show() {
    let parts = [
        "n",
        "m",
        "i",
        "j",
        "n*m",
        "i*m",
        "floordiv(i, 4)",
        "floordiv(n, m)",
        "max(i, j)",
        "min(n, 7)",
    ];
    let mut state = 1u64;
    let mut any = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let (mut refuted, mut shown) = (0, 0);
    with_context(|ctx| {
        for _ in 0..60 {
            let mark = ctx.mark();
            let mut condition = || {
                let [a, b] = [(); 2].map(|()| parts[any(parts.len())]);
                let op = [CmpOp::Ge, CmpOp::Ge, CmpOp::Lt, CmpOp::Eq, CmpOp::Ne][any(5)];
                let c = Idx::constant(any(9) as i128 - 4);
                let left = &(&idx(a) - &idx(b)) + &c;
                canon::elem(&Elem::index_compare(op, left, Idx::default()))
            };
            for _ in 0..4 {
                let fact = condition();
                ctx.assume(fact);
            }
            for _ in 0..6 {
                let goal = condition();
                let (by_points, by_solver) = (ctx.is_refuted(&goal), ctx.cannot_fail(&goal));
                assert!(!(by_points && by_solver), "{goal} of {:?}", ctx.facts);
                refuted += usize::from(by_points);
                shown += usize::from(by_solver);
            }
            ctx.forget(mark);
        }
    });
    assert!(refuted > 100 && shown > 20, "{refuted} {shown}");
}

#[test]
fn a_new_guard_is_known_to_questions_asked_before() {
    with_context(|ctx| {
        ctx.assume(at_least("i - n", 0));
        assert!(!knows(ctx, "i", 7));
        let before = ctx.save();
        ctx.guard(Guard::NonNegative(idx("n - 7")));
        assert!(knows(ctx, "i", 7));
        ctx.restore(before);
        assert!(!knows(ctx, "i", 7));
    });
}

/// A condition that others are put together to holds where what is known of them says so, and nowhere else.
#[test]
fn conditions_are_shown_by_their_parts() {
    let part = |name: &str| {
        let x = Elem::read(name, ScalarType::F32, Idx::default());
        let zero = Elem::constant(Scalar::f32(0.0));
        Elem::compare(CmpOp::Lt, zero, x)
    };
    let (a, b) = (part("a"), part("b"));
    let constant = |v| Elem::constant(Scalar::bool(v));
    type Truth = fn(bool, bool) -> bool;
    let forms: [(ElemRef, Truth); 4] = [
        (Elem::binary(BinOp::And, a.clone(), b.clone()), |a, b| {
            a && b
        }),
        (Elem::binary(BinOp::Or, a.clone(), b.clone()), |a, b| a || b),
        (
            Elem::select(a.clone(), b.clone(), constant(false)),
            |a, b| a && b,
        ),
        (
            Elem::select(a.clone(), constant(true), b.clone()),
            |a, b| a || b,
        ),
    ];
    for (form, truth) in &forms {
        for (knows_a, knows_b) in [None, Some(true), Some(false)]
            .into_iter()
            .flat_map(|x| [None, Some(true), Some(false)].map(|y| (x, y)))
        {
            let all = |known: Option<bool>| known.map_or(vec![true, false], |k| vec![k]);
            let of_b = || all(knows_b).into_iter();
            let can = |wanted: bool| {
                let mut of_a = all(knows_a).into_iter();
                of_a.any(|x| of_b().any(|y| truth(x, y) == wanted))
            };
            with_context(|ctx| {
                for (e, known) in [(&a, knows_a), (&b, knows_b)] {
                    match known {
                        Some(true) => ctx.assume(e.clone()),
                        Some(false) => ctx.assume(Elem::not(e.clone())),
                        None => {}
                    }
                }
                let case = format!("{form}, {knows_a:?}, {knows_b:?}");
                assert_eq!(ctx.holds(form), !can(false), "{case}");
                assert_eq!(ctx.holds(&Elem::not(form.clone())), !can(true), "{case}");
            });
        }
    }
}

/// On bits, a sum is what it is on integers where nothing wraps, and that has to be known.
#[test]
fn sums_are_the_same_on_bits_where_they_do_not_wrap() {
    let x = Elem::read("x", ScalarType::U8, Idx::default());
    let int = |v| Elem::constant(Scalar::int(ScalarType::I64, v));
    let wide = Elem::convert(ScalarType::I64, x.clone());
    let on_bits = Elem::binary(
        BinOp::Add,
        Elem::of_idx(ScalarType::I64, idx("k")),
        Elem::binary(BinOp::Multiply, wide, int(3)),
    );
    let sum = &idx("k") + &(&Idx::value(x) * &Idx::constant(3));
    let choose = |c: ElemRef| Elem::select(c, int(7), int(8));
    let [integers, bits] = [
        Elem::index_compare(CmpOp::Lt, sum, Idx::constant(4)),
        Elem::compare(CmpOp::Lt, on_bits, int(4)),
    ]
    .map(choose);
    let same = |ctx: &mut Context<'_>| crate::equal::same(ctx, &integers, &bits, Tier::Exact);
    with_context(|ctx| {
        assert!(!same(ctx));
        ctx.assume_in_range(&"k".into(), &idx("n"));
        assert!(same(ctx));
    });
}

/// A term that stands in several places is settled anew wherever other things are known.
#[test]
fn what_is_used_twice_is_settled_where_it_stands() {
    let number = |n| Elem::constant(Scalar::int(ScalarType::I32, n));
    let term = Elem::select(at_least("i", 5), number(1), number(2));
    let chosen = |condition: ElemRef| {
        let other = Elem::binary(BinOp::Add, term.clone(), number(10));
        Elem::select(condition, term.clone(), other)
    };
    let apart = |e: &ElemRef| {
        // The same without what is shared.
        let text = e.to_string();
        tensorize_ir::text::parse_elem(&text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"))
    };
    with_context(|ctx| {
        let e = Elem::binary(BinOp::Add, term.clone(), chosen(at_least("i", 5)));
        assert_eq!(ctx.settle(&e), ctx.settle(&apart(&e)));
        let e = Elem::binary(BinOp::Add, chosen(at_least("i", 7)), term.clone());
        assert_eq!(ctx.settle(&e), ctx.settle(&apart(&e)));
        let mark = ctx.mark();
        ctx.assume(at_least("n", 8));
        // `i` is below `n` in the step alone.
        let step = Elem::select(at_least("n - i", 1), number(1), number(2));
        let fold = Fold::new("acc".into(), "i".into(), idx("n"), number(0), step.clone());
        let fold: ElemRef = Arc::new(Elem::Fold(Arc::new(fold)));
        let e = Elem::binary(BinOp::Add, fold, step);
        assert_eq!(ctx.settle(&e), ctx.settle(&apart(&e)));
        ctx.forget(mark);
    });
}

/// Of a condition that two others make, what is known of these says just what it has to.
#[test]
fn conditions_are_decided_by_their_parts() {
    let data = |at: i128| {
        let read = Elem::read("x", ScalarType::F32, Idx::constant(at));
        let zero = Elem::read("y", ScalarType::F32, Idx::default());
        Elem::compare(CmpOp::Lt, read, zero)
    };
    let (a, b) = (data(0), data(1));
    let literal = |v| Elem::constant(Scalar::bool(v));
    let select = |c: &ElemRef, t: ElemRef, f: ElemRef| Arc::new(Elem::Select(c.clone(), t, f));
    type Means = fn(bool, bool) -> bool;
    let cases: [(ElemRef, Means); 6] = [
        (Elem::binary(BinOp::And, a.clone(), b.clone()), |a, b| {
            a && b
        }),
        (Elem::binary(BinOp::Or, a.clone(), b.clone()), |a, b| a || b),
        (select(&a, b.clone(), literal(false)), |a, b| a && b),
        (select(&a, literal(true), b.clone()), |a, b| a || b),
        (select(&a, literal(false), b.clone()), |a, b| !a && b),
        (select(&a, b.clone(), literal(true)), |a, b| !a || b),
    ];
    let known = [None, Some(false), Some(true)];
    let pairs = || known.into_iter().flat_map(|a| known.map(|b| (a, b)));
    with_context(|ctx| {
        for ((condition, means), (of_a, of_b)) in cases
            .iter()
            .flat_map(|case| pairs().map(move |pair| (case, pair)))
        {
            let mark = ctx.mark();
            for (part, truth) in [(&a, of_a), (&b, of_b)] {
                match truth {
                    Some(true) => ctx.assume(part.clone()),
                    Some(false) => ctx.assume(Elem::not(part.clone())),
                    None => {}
                }
            }
            let may_be = |truth: Option<bool>| truth.map_or(vec![false, true], |v| vec![v]);
            let mut values: Vec<bool> = (may_be(of_a).into_iter())
                .flat_map(|a| may_be(of_b).into_iter().map(move |b| means(a, b)))
                .collect();
            values.sort_unstable();
            values.dedup();
            let expected = match values[..] {
                [only] => Some(only),
                _ => None,
            };
            let decided = ctx.decide(condition);
            assert_eq!(decided, expected, "{condition}: {of_a:?}, {of_b:?}");
            ctx.forget(mark);
        }
    });
}

/// Whatever sizes meet what is enough, the number is not negative in any round.
#[test]
fn what_is_enough_of_sizes_is_enough_in_every_round() {
    let cases = [
        // The number, how many rounds of `i` and `j`, what is enough.
        ("n - 1 - i", ["m", "1"], &["-m + n"][..]),
        ("n - 1 - 2*i", ["m", "1"], &["-2*m + n + 1"]),
        ("i + n", ["m", "1"], &["n"]),
        ("n - 4*i - j - 1", ["m", "4"], &["-4*m + n"]),
        ("n - m*i - j - 1", ["3", "m"], &["-3*m + n"]),
        ("n - 1 - floordiv(i, 3)", ["m", "1"], &["-m + 3*n"]),
    ];
    for (number, [rounds, of_j], expected) in cases {
        let mut found = None;
        for of_code in [false, true] {
            with_context(|ctx| {
                ctx.assume_in_range(&"i".into(), &idx(rounds));
                ctx.assume_in_range(&"j".into(), &idx(of_j));
                ctx.of_code = of_code;
                let enough = ctx.enough_of_sizes(&idx(number));
                assert_eq!(enough.is_none(), of_code, "{number}");
                found = found.take().or(enough);
            });
        }
        let found = found.unwrap();
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(texts, expected, "{number}");
        for (n, m) in (-3..9).flat_map(|n| (-3..9).map(move |m| (n, m))) {
            let at = |p: &Idx, i: i128, j: i128| {
                let with = |s: &Sym| {
                    let value = [("n", n), ("m", m), ("i", i), ("j", j)];
                    let value = value.into_iter().find(|(name, _)| *name == &**s);
                    value.map(|(_, v)| Idx::constant(v))
                };
                canon::idx(&p.substitute(&with)).as_constant().unwrap()
            };
            if found.iter().any(|p| at(p, 0, 0) < 0) {
                continue;
            }
            for i in 0..at(&idx(rounds), 0, 0) {
                for j in 0..at(&idx(of_j), 0, 0) {
                    assert!(at(&idx(number), i, j) >= 0, "{number}: {n} {m} {i} {j}");
                }
            }
        }
    }
}

/// A guard that is false wherever the question comes up would be met by no call that matters.
#[test]
fn no_size_is_asked_that_is_not_there() {
    with_context(|ctx| {
        ctx.assume_in_range(&"i".into(), &idx("n"));
        assert_eq!(ctx.enough_of_sizes(&idx("i - n")), None);
        assert_eq!(ctx.enough_of_sizes(&idx("-n")), None);
        assert_eq!(ctx.enough_of_sizes(&idx("m - n")), Some(vec![idx("m - n")]));
    });
}
