//! Counters that step by one more in each round, as the place of a row of a packed triangle does:
//! `k = 0; for (j …) { …; k += j + 1; }`, or `k++` in rounds in rounds up to the diagonal.

use super::counters::{counted, round_of_unknowns, trip};
use super::token;
use std::collections::BTreeMap;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::Loop;
use tensorize_ir::scalar::ScalarType;
use tensorize_prove::canon;
use tensorize_prove::eval::{as_idx, index_like};
use tensorize_prove::exec::{Executor, State, Stuck};

/// Adds such counters to those that are `found`.
pub(super) fn triangular(
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
    let saved = exec.ctx.save();
    // How many rounds an inner loop has, `n - 1 - i` or none, is told where this one has its rounds.
    if let Ok(trip) = trip(exec, l, &counted(start, scalars, found), k) {
        exec.ctx.assume_in_range(k, &trip);
    }
    let end = round_of_unknowns(exec, l, start, k, scalars, found);
    exec.ctx.restore(saved);
    let end = end?;
    let same = |i: &Idx| {
        !i.has_values() && !i.mentions(k) && !scalars.keys().any(|v| i.mentions(&token(v, k)))
    };
    for (var, ty) in scalars {
        if !is_open(found, var, ty) {
            continue;
        }
        let (Some(first), Some(next)) = (start.scalars.get(var), end.scalars.get(var)) else {
            continue;
        };
        let Some(next) = index_like(next) else {
            continue;
        };
        let step = canon::idx(&(&next - &Idx::sym(token(var, k))));
        let Some((more, by)) = step.linear_in(k) else {
            continue;
        };
        if !more.is_zero() && same(&more) && same(&by) {
            let at = &as_idx(first) + &sum_of_steps(&more, &by, k);
            found.insert(var.clone(), canon::idx(&at));
        }
    }
    Ok(())
}

/// `Σ_{t < k} (more·t + by)`.
fn sum_of_steps(more: &Idx, by: &Idx, k: &Sym) -> Idx {
    let k = Idx::sym(k.clone());
    let up_to_it = (&(&k * &k) + &k).floor_div(&Idx::constant(2));
    &(by * &k) + &(more * &(&up_to_it - &k))
}
