//! Whether numbers are values of a type, or of a size: shown, or made a guard.

use crate::bound::bound;
use crate::context::{Context, has_many_terms};
use crate::exec::Executor;
use tensorize_ir::guard::Guard;
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::Overflow;
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::ScalarType;

impl Executor<'_, '_> {
    /// Whether `p` is not negative: shown, or made a guard if it is a size.
    pub(super) fn is_size(&mut self, p: &Idx) -> bool {
        if self.ctx.is_non_negative(p) {
            return true;
        }
        let may_be = p.as_constant().is_none()
            && self.ctx.is_over_params(p)
            && !self.ctx.proves(CmpOp::Lt, p, &Idx::default());
        if may_be {
            self.ctx.guard(Guard::NonNegative(p.clone()));
        }
        may_be || self.is_multiple_of_sizes(p)
    }

    /// Whether `p`, as in `y * height / rows` and in `(head + i) % size`, is not negative in any round: because sizes that
    /// counters are multiplied with, or added to, aren't, which becomes a guard.
    fn is_multiple_of_sizes(&mut self, p: &Idx) -> bool {
        let saved = self.ctx.save();
        let least = self.bound(p, false);
        let holds = least.is_some_and(|l| {
            // (Of `(i - r) / 2` nobody asks that there be no round before the r-th.)
            let some_size = l.terms().any(|(m, c)| !m.is_empty() && c > 0);
            self.ctx.is_non_negative(&l) || l != *p && some_size && self.is_size(&l)
        });
        if !holds {
            self.ctx.restore(saved);
        }
        holds
    }

    /// Whether `q` is positive: shown, or made a guard if it is a size.
    pub(super) fn is_divisor(&mut self, q: &Idx) -> bool {
        let one = Idx::constant(1);
        self.ctx.proves(CmpOp::Ge, q, &one) || self.is_size(&(q - &one))
    }

    /// Whether the result `p` of arithmetic in the type `ty` is a value of that type.
    pub(super) fn keeps(&mut self, ty: ScalarType, p: &Idx) -> bool {
        if ty.is_signed() && self.kernel.overflow == Overflow::Undefined {
            if self.checking {
                self.index_arithmetic.record(ty, p, &self.loops, &self.path);
            }
            return true;
        }
        self.fits(ty, p)
    }

    /// Whether `p` is a value of the type: shown, or made a guard.
    pub(crate) fn fits(&mut self, ty: ScalarType, p: &Idx) -> bool {
        // Where nothing is to be shown, places are taken to fit: it takes long to find that out of products of sizes.
        if !self.checking && ty == ScalarType::I64 && !p.has_values() {
            return true;
        }
        // What is known to leave the type wraps, and that is that. (Of a location in an array of rank six, nobody knows.)
        let wraps = |ctx: &mut Context, op, end: &Idx| !has_many_terms(p) && ctx.proves(op, p, end);
        let min = Idx::constant(ty.min_value());
        if !self.is_guarded(ty, p, false) && !self.ctx.proves(CmpOp::Ge, p, &min) {
            if wraps(&mut self.ctx, CmpOp::Lt, &min) {
                return false;
            }
            // A difference of sizes is a guard; anything else may well be meant to wrap.
            let is_size = |l: &Idx| l.terms().any(|(m, c)| !m.is_empty() && c > 0);
            let lower = if ty.is_signed() {
                self.bound(p, false)
            } else if ty == ScalarType::U64 && !self.ctx.is_over_params(p) {
                // A place: sizes that a counter is added to, as where a border lies around an array.
                self.bound(p, false).filter(is_size)
            } else {
                Some(p.clone())
            };
            // (No call would meet a guard that is false.)
            let may_be = |l: &Idx| l.as_constant().is_none_or(|l| l >= ty.min_value());
            let Some(lower) = lower.filter(|l| self.ctx.is_over_params(l) && may_be(l)) else {
                return false;
            };
            if ty.is_signed() {
                self.ctx.guard(Guard::Fits(lower, ty));
            } else {
                self.ctx.guard(Guard::NonNegative(lower));
            }
        }
        let max = Idx::constant(ty.max_value());
        if self.is_guarded(ty, p, true) || self.ctx.proves(CmpOp::Le, p, &max) {
            return true;
        }
        if wraps(&mut self.ctx, CmpOp::Gt, &max) || is_mixed(ty, p) {
            return false;
        }
        let may_be = |u: &Idx| u.as_constant().is_none_or(|u| u <= ty.max_value());
        match self.bound(p, true) {
            Some(upper) if self.ctx.is_over_params(&upper) && may_be(&upper) => {
                self.ctx.guard(Guard::Fits(upper, ty));
                true
            }
            _ => false,
        }
    }

    /// Whether there is a guard already that says so of one end of a long polynomial, on which the solver would be long.
    fn is_guarded(&mut self, ty: ScalarType, p: &Idx, upper: bool) -> bool {
        let end = match has_many_terms(p) && ty.is_signed() {
            true => self.bound(p, upper),
            false => None,
        };
        end.is_some_and(|end| self.ctx.guards().contains(&Guard::Fits(end, ty)))
    }

    /// A polynomial over the parameters that is at least (`upper`) or at most `p`, in every round of the
    /// loops around here.
    pub fn bound(&mut self, p: &Idx, upper: bool) -> Option<Idx> {
        let loops = self.loops.clone();
        bound(&mut self.ctx, p, &loops, upper)
    }
}

/// Whether this is a number times one that nobody has as many elements of, by far: hashes multiply like that, and mean to
/// wrap. Rows of a 100,000 elements, counted in 32 bits, are none of that.
fn is_mixed(ty: ScalarType, p: &Idx) -> bool {
    let large = |c: i128| c.unsigned_abs() >> (ty.bits().max(48) / 2) != 0;
    !ty.is_signed() && p.terms().any(|(m, c)| !m.is_empty() && large(c))
}
