//! Writes that go round, as `y[(i + by) % n] = x[i]` does, in the order of their places.
//!
//! With i for the counter and c for `(i + by) mod n`: as i takes each value in [0, n) once, so does c, and i is
//! `(c - by) mod n`. Where i stops before n, the places are those c of which that i is less than where it stops. With a step p
//! that has no factor in common with n, `c = (p·i + by) mod n`, i is `p'·(c - by) mod n`, where `p'·p mod n = 1`.

use crate::canon;
use crate::chain::{Leaf, Retold, and};
use crate::context::Context;
use crate::decode::divide;
use crate::eval::index_like;
use crate::exec::Executor;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::CmpOp;

/// A write whose counter is that of the places instead of the rounds.
pub struct Straight {
    /// The write.
    pub write: Retold,
    /// Which of the loops.
    at: usize,
    /// The counter that it had.
    round: Idx,
}

impl Straight {
    /// The position in the loops as they were.
    pub fn round_at(&self, ctx: &mut Context, position: &[Idx]) -> Vec<Idx> {
        let with = crate::decode::at_position(&self.write.loops, position);
        let mut out = position.to_vec();
        if let Some(at) = out.get_mut(self.at) {
            *at = ctx.settle_index(&self.round.substitute(&with));
        }
        out
    }
}

/// The same writes by their places, if one of their counters goes round.
pub fn straight(ctx: &mut Context, leaf: &Leaf) -> Option<Straight> {
    let index = canon::idx(leaf.index);
    let ring = index.remainder()?;
    let n = &ring.divisor;
    leaf.loops
        .iter()
        .enumerate()
        .find_map(|(at, (var, extent))| {
            let others = leaf.loops.iter().map(|(_, extent)| extent);
            let fixed = [n, &ring.factor, &ring.rest];
            if others.chain(fixed).any(|i| i.mentions(var)) || n.has_values() {
                return None;
            }
            if leaf.loops.iter().any(|(v, _)| n.mentions(v)) {
                return None;
            }
            let (step, begin) = ring.dividend.linear_in(var)?;
            let back = inverse(step.as_constant()?, n.as_constant())?;
            if !ctx.proves(CmpOp::Le, extent, n) {
                return None;
            }
            let place = ctx.fresh.name(var);
            let steps = &Idx::constant(back) * &(&Idx::sym(place.clone()) - &begin);
            let round = canon::idx(&steps.modulo(n));
            let with = |s: &Sym| (s == var).then(|| round.clone());
            let mut cond = leaf.cond.substitute(&with);
            if !canon::idx(&(extent - n)).is_zero() {
                let begun = Elem::index_compare(CmpOp::Lt, round.clone(), extent.clone());
                cond = and(begun, cond);
            }
            let mut loops = leaf.loops.clone();
            loops[at] = (place.clone(), n.clone());
            Some(Straight {
                write: Retold {
                    loops,
                    cond,
                    index: &ring.rest + &(&ring.factor * &Idx::sym(place)),
                    value: leaf.value.substitute(&with),
                },
                at,
                round,
            })
        })
}

/// What undoes a step around a ring of so many places: itself, where it is one place; nothing where it does not come to all.
fn inverse(step: i128, places: Option<i128>) -> Option<i128> {
    if step.abs() == 1 {
        return Some(step);
    }
    let places = places.filter(|n| (2..=1 << 32).contains(n))?;
    // Euclid: `old * step` is `gcd` on the ring.
    let (mut gcd, mut rest) = (step.rem_euclid(places), places);
    let (mut old, mut new) = (1i128, 0i128);
    while rest != 0 {
        let times = gcd / rest;
        (gcd, rest) = (rest, gcd - times * rest);
        (old, new) = (new, old - times * new);
    }
    (gcd == 1).then(|| old.rem_euclid(places))
}

/// Quotient and remainder by a size, where one is a polynomial and the other shown to be less: of `n·b + a`, b and a.
pub(crate) fn around(ctx: &mut Context, p: &Idx, n: &Idx) -> Option<(Idx, Idx)> {
    if n.as_constant().is_some() {
        return None;
    }
    let (times, rest) = divide(p, n);
    let inside = !times.is_zero() && ctx.is_non_negative(&rest) && ctx.proves(CmpOp::Lt, &rest, n);
    inside.then_some((times, rest))
}

impl Executor<'_, '_> {
    /// A place on a ring that was told by a comparison, `if (j >= n) j -= n` or `if (j < 0) j += n`, as `j mod n`. That it is
    /// no further than once around is shown, or a guard.
    pub(crate) fn once_around(&mut self, at: &Idx) -> Idx {
        let Some((x, n)) = at.as_value().and_then(told_by_comparison) else {
            return at.clone();
        };
        let room = &(&(&n + &n) - &Idx::constant(1)) - &x;
        let saved = self.ctx.save();
        if self.is_never_negative(&x) && self.is_never_negative(&room) {
            return canon::idx(&x.modulo(&n));
        }
        self.ctx.restore(saved);
        at.clone()
    }

    /// Shown here, or a guard on where it is least.
    fn is_never_negative(&mut self, p: &Idx) -> bool {
        if self.ctx.is_non_negative(p) {
            return true;
        }
        let Some(least) = self.bound(p, false) else {
            return false;
        };
        let may_be =
            self.ctx.is_over_params(&least) && !self.ctx.proves(CmpOp::Lt, &least, &Idx::default());
        if may_be {
            self.ctx.guard(Guard::NonNegative(least));
        }
        may_be && self.ctx.is_non_negative(p)
    }
}

/// Of `x >= n ? x - n : x`, or `y < 0 ? y + n : y` with x for `y + n`, x and n: it is `x mod n` if `0 <= x < 2n`.
fn told_by_comparison(e: &ElemRef) -> Option<(Idx, Idx)> {
    let Elem::Select(c, t, f) = &**e else {
        return None;
    };
    let c = canon::elem(c);
    let (t, f) = (index_like(t)?, index_like(f)?);
    let Elem::IndexCompare(CmpOp::Ge, p, _) = &*c else {
        return None;
    };
    let is = |q: &Idx| canon::idx(&(p - q)).is_zero();
    if is(&t) {
        let n = &f - &t;
        Some((f, n))
    } else if is(&(&-&f - &Idx::constant(1))) {
        let n = &t - &f;
        Some((t, n))
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
