//! Counters that step from some round on, or up to one, as the place of a result does that begins when a filter has warmed up:
//! `if (i >= start) out[k++] = …`.

use super::counters::{changes, round_of_unknowns};
use super::token;
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::Loop;
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::ScalarType;
use tensorize_prove::canon;
use tensorize_prove::eval::{as_idx, index_like};
use tensorize_prove::exec::{Executor, State, Stuck};

/// Adds such counters to those that are `found`.
pub(super) fn thresholds(
    exec: &mut Executor,
    l: &Loop,
    start: &State,
    k: &Sym,
    scalars: &BTreeMap<Sym, ScalarType>,
    found: &mut BTreeMap<Sym, Idx>,
) -> Result<(), Stuck> {
    let is_open = |found: &BTreeMap<Sym, Idx>, var: &Sym, ty: &ScalarType| {
        ty.is_int() && start.scalars.contains_key(var) && !found.contains_key(var)
    };
    if found.is_empty() || !scalars.iter().any(|(v, ty)| is_open(found, v, ty)) {
        return Ok(());
    }
    let end = round_of_unknowns(exec, l, start, k, scalars, found)?;
    let varies = |i: &Idx| changes(i, k, scalars);
    for (var, ty) in scalars {
        if !is_open(found, var, ty) {
            continue;
        }
        let (Some(first), Some(next)) = (start.scalars.get(var), end.scalars.get(var)) else {
            continue;
        };
        let own = Idx::sym(token(var, k));
        if let Some((step, rounds)) = step_and_rounds(next, &own, k).filter(|(s, _)| !varies(s))
            && !varies(&rounds.from)
        {
            let at = &as_idx(first) + &(&step * &rounds.before(k));
            found.insert(var.clone(), canon::idx(&at));
        }
    }
    Ok(())
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
