//! Counters that step from some round on, or up to one, as the place of a result does that begins when a filter has warmed up:
//! `if (i >= start) out[k++] = …`.

use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::CmpOp;
use tensorize_prove::canon;
use tensorize_prove::eval::index_like;

/// What such a counter has come to before round `k`, if it becomes `next`. It is `own` when the round begins.
pub(super) fn threshold(
    next: &ElemRef,
    own: &Idx,
    k: &Sym,
    changes: &dyn Fn(&Idx) -> bool,
) -> Option<Idx> {
    let (step, rounds) = step_and_rounds(next, own, k)?;
    (!changes(&step) && !changes(&rounds.from)).then(|| &step * &rounds.before(k))
}

/// The rounds from this one on, or those before it.
struct Rounds {
    from: Idx,
    on: bool,
}

impl Rounds {
    /// How many of them are before round `k`.
    fn before(&self, k: &Sym) -> Idx {
        let (k, zero) = (Idx::sym(k.clone()), Idx::default());
        let from = self.from.maximum(&zero);
        match self.on {
            true => (&k - &from).maximum(&zero),
            false => k.minimum(&from),
        }
    }
}

/// By what a counter steps, and in which rounds, if it becomes `next`.
fn step_and_rounds(next: &ElemRef, own: &Idx, k: &Sym) -> Option<(Idx, Rounds)> {
    let Elem::Select(c, t, f) = &**next else {
        return None;
    };
    let (t, f) = (&index_like(t)? - own, &index_like(f)? - own);
    let mut rounds = rounds_of(c, k)?;
    match (t.is_zero(), f.is_zero()) {
        (false, true) => Some((t, rounds)),
        (true, false) => {
            rounds.on = !rounds.on;
            Some((f, rounds))
        }
        _ => None,
    }
}

/// The rounds in which a condition holds, if that is from one on, or before one.
fn rounds_of(c: &Elem, k: &Sym) -> Option<Rounds> {
    let Elem::IndexCompare(CmpOp::Ge, a, b) = c else {
        return None;
    };
    let (slope, rest) = canon::idx(&(a - b)).linear_in(k)?;
    match slope.as_constant()? {
        1 => Some(Rounds {
            from: -&rest,
            on: true,
        }),
        -1 => Some(Rounds {
            from: &rest + &Idx::constant(1),
            on: false,
        }),
        _ => None,
    }
}
