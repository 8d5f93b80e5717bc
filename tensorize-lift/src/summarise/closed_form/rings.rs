//! Counters that go round, as the place in a delay line does: `if (++j == taps) j = 0`, `j = (j + 1) % taps`,
//! `if ((phase += inc) >= n) phase -= n`.

use super::counters::{changes, round_of_unknowns};
use super::token;
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::Loop;
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::ScalarType;
use tensorize_prove::canon;
use tensorize_prove::eval::{as_idx, index_like};
use tensorize_prove::exec::{Executor, State, Stuck};

/// The integers from `low` up to `low + size`, through which a counter goes by steps of `step`.
struct Ring {
    low: Idx,
    size: Idx,
    step: Idx,
}

/// The values of such counters at the start of round `k`, where each begins within its ring, which becomes a guard. The
/// `plain` ones are known.
pub(super) fn rings(
    exec: &mut Executor,
    l: &Loop,
    start: &State,
    k: &Sym,
    scalars: &BTreeMap<Sym, ScalarType>,
    plain: &BTreeMap<Sym, Idx>,
) -> Result<BTreeMap<Sym, Idx>, Stuck> {
    let end = round_of_unknowns(exec, l, start, k, scalars, plain)?;
    let mut found = BTreeMap::new();
    for (var, ty) in scalars {
        if !ty.is_int() || plain.contains_key(var) {
            continue;
        }
        let (Some(first), Some(next)) = (start.scalars.get(var), end.scalars.get(var)) else {
            continue;
        };
        let Some(ring) = ring(next, &Idx::sym(token(var, k))) else {
            continue;
        };
        let parts = [&ring.low, &ring.size, &ring.step];
        if parts.into_iter().any(|i| changes(i, k, scalars)) {
            continue;
        }
        let from = &as_idx(first) - &ring.low;
        let last = &ring.size - &Idx::constant(1);
        let steps = &ring.step * &Idx::sym(k.clone());
        // A step of a size goes forward, and at most once round.
        let length = match ring.step.as_constant() {
            Some(c) => Idx::constant(c.abs()),
            None => ring.step.clone(),
        };
        let needed = [
            from.clone(),
            &last - &from,
            length.clone(),
            &ring.size - &length,
        ];
        if needed.iter().all(|i| asked(exec, i)) {
            let at = &ring.low + &(&from + &steps).modulo(&ring.size);
            found.insert(var.clone(), canon::idx(&at));
        }
    }
    Ok(found)
}

/// Whether something is not negative: shown, or made a guard of sizes, or of what stands in memory.
pub(super) fn asked(exec: &mut Executor, i: &Idx) -> bool {
    let ctx = &mut exec.ctx;
    if ctx.is_non_negative(i) {
        return true;
    }
    if ctx.proves(CmpOp::Lt, i, &Idx::default()) {
        return false;
    }
    if ctx.is_over_params(i) {
        ctx.guard(Guard::NonNegative(i.clone()));
        return true;
    }
    let up = Elem::index_compare(CmpOp::Ge, i.clone(), Idx::default());
    i.has_values() && exec.holds_in_every_round(&up)
}

/// The ring that a counter, from `this`, goes through if it becomes `next`.
fn ring(next: &ElemRef, this: &Idx) -> Option<Ring> {
    let own = this.as_sym()?;
    let step_of = |e: &ElemRef| {
        let step = canon::idx(&(&index_like(e)? - this));
        (!step.mentions(own)).then_some(step)
    };
    match &**next {
        Elem::OfIdx(_, p) => {
            let mut atoms = p.terms().flat_map(|(m, _)| m);
            let (sum, size) = atoms.find_map(|a| match a {
                Atom::FloorDiv(a, b) if a.mentions(own) => Some(((**a).clone(), (**b).clone())),
                _ => None,
            })?;
            let whole = canon::idx(&(&sum.modulo(&size) - p)).is_zero();
            let step = canon::idx(&(&sum - this));
            (whole && !step.mentions(own)).then_some(Ring {
                low: Idx::default(),
                size,
                step,
            })
        }
        Elem::Select(c, t, f) => {
            let c = canon::elem(c);
            let Elem::IndexCompare(op, a, b) = &*c else {
                return None;
            };
            // What something else decides counts, and does not turn: `if (j == cols) n++`.
            if !c.mentions(own) {
                return None;
            }
            let ((step, other), turns_if) = match (step_of(t), step_of(f)) {
                (Some(s), Some(u)) => {
                    // The one is the other and once round.
                    let terms = |i: &Idx| i.terms().count();
                    let (step, turned) = if terms(&s) <= terms(&u) {
                        (s, u)
                    } else {
                        (u, s)
                    };
                    let size = &step - &turned;
                    let positive = size.terms().any(|(_, c)| c > 0);
                    let size = if positive { size } else { -&size };
                    let low = Idx::default();
                    return Some(Ring { low, size, step });
                }
                (None, Some(step)) => ((step, index_like(t)?), true),
                (Some(step), None) => ((step, index_like(f)?), false),
                (None, None) => return None,
            };
            // Where it would be if it did not turn, and how that is compared.
            let ahead = this + &step;
            let p = canon::idx(&(a - b));
            let slope = p.linear_in(own)?.0.as_constant()?;
            let turns_if = turns_if == (*op != CmpOp::Ne);
            let up = match step.as_constant()? {
                1 => true,
                -1 => false,
                _ => return None,
            };
            let one = Idx::constant(1);
            // The first place beyond the ring.
            let beyond = match (op, slope) {
                (CmpOp::Eq | CmpOp::Ne, 1 | -1) if turns_if => {
                    &ahead - &(&Idx::constant(slope) * &p)
                }
                (CmpOp::Ge, 1) if turns_if == up => match up {
                    true => &ahead - &p,
                    false => &(&ahead - &p) - &one,
                },
                (CmpOp::Ge, -1) if turns_if != up => match up {
                    true => &(&ahead + &p) + &one,
                    false => &ahead + &p,
                },
                _ => return None,
            };
            let beyond = canon::idx(&beyond);
            let (low, size) = match up {
                true => (other.clone(), &beyond - &other),
                false => (&beyond + &one, &other - &beyond),
            };
            Some(Ring { low, size, step })
        }
        _ => None,
    }
}
