//! What is known is what holds now, and not what held when an earlier question was asked.

use super::*;
use crate::solver;

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
