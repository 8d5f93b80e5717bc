//! Loops whose rounds run in any order, or at the same time.

use crate::canon;
use crate::chain::{self, Effect};
use crate::decode;
use crate::exec::{Access, Executor, Stuck};
use crate::loops::{ClosedForm, ScalarForm};
use tensorize_ir::element::{Elem, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Len, LocalArray, Loop, LoopMode};
use tensorize_ir::op::CmpOp;

impl Executor<'_, '_> {
    /// For loops whose rounds run in any order or at the same time: no round reads or writes a place that
    /// another one writes, and nothing but the counter and declared accumulators is carried.
    pub(crate) fn verify_independent(
        &mut self,
        l: &Loop,
        k: &Sym,
        form: &ClosedForm,
        first_access: usize,
    ) -> Result<(), Stuck> {
        let reductions: &[_] = match &l.mode {
            LoopMode::Simd { reductions } => reductions,
            _ => &[],
        };
        let accs: Vec<&Sym> = form
            .scalars
            .values()
            .filter_map(|f| match f {
                ScalarForm::Fold { acc, .. } => Some(acc),
                _ => None,
            })
            .collect();
        let mut counters = 0;
        for (var, f) in &form.scalars {
            match f {
                ScalarForm::At(_) => counters += 1,
                ScalarForm::Last(_) => {}
                ScalarForm::Fold { acc, step } => {
                    let (extent, init) = (form.trip.clone(), step.clone());
                    let fold = Fold::new(acc.clone(), k.clone(), extent, init, step.clone());
                    let op = fold.as_reduction().map(|(op, _)| op);
                    // Such a fold keeps its open order, which only a proof over the real numbers looks through.
                    let op = op.or_else(|| {
                        // What is compared and what is taken are the same value, whatever their bound names.
                        let step = canon::elem(&fold.step);
                        Fold { step, ..fold }.as_extreme()
                    });
                    let alone = accs.iter().all(|a| *a == acc || !step.mentions(a));
                    let declared = reductions.iter().any(|(o, v)| v == var && Some(*o) == op);
                    if !declared || !alone {
                        return self.stuck(format!(
                            "{var} is carried from round to round of a parallel loop"
                        ));
                    }
                }
            }
        }
        if counters > 1 {
            return self.stuck("a parallel loop has more than one counter");
        }
        let accesses: Vec<Access> = self.accesses[first_access..].to_vec();
        // In an order that is not fixed, an accumulator has no value that a round could look at.
        let looks = |a: &Access| {
            accs.iter().any(|acc| {
                a.index.mentions(acc)
                    || a.path.iter().any(|c| c.mentions(acc))
                    || a.loops.iter().any(|(_, n)| n.mentions(acc))
            })
        };
        if accesses.iter().any(looks) {
            return self.stuck("a round of a parallel loop looks at an accumulator");
        }
        for (array, effects) in &form.arrays {
            let each_has_its_own =
                |a: &LocalArray| a.name == *array && !matches!(a.len, Len::Of(_));
            if self.kernel.arrays.iter().any(each_has_its_own) {
                return self.stuck(format!("a parallel loop writes the local array {array}"));
            }
            let one_loop = matches!(effects.as_slice(), [Effect::Loop { extent, .. }] if *extent == Idx::sym(k.clone()));
            if !one_loop {
                return self.stuck(format!(
                    "the rounds of a parallel loop write the same places of {array}"
                ));
            }
            // `effects` at k = trip: all that the loop writes.
            for effect in effects {
                let effect = effect.replace(k, &form.trip);
                for leaf in effect.leaves() {
                    for access in accesses.iter().filter(|a| a.array == *array) {
                        if !self.only_its_own_round(&leaf, access, k) {
                            return self.stuck(format!(
                                "that the rounds of a parallel loop keep apart in {array} could not be shown"
                            ));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the write `leaf`, in whatever round, meets `access` in round `k` only if its round is `k`.
    fn only_its_own_round(&mut self, leaf: &chain::Leaf, access: &Access, k: &Sym) -> bool {
        let mark = self.ctx.mark();
        let outside = self.loops.len();
        for (var, extent) in &access.loops[outside..] {
            self.ctx.assume_in_range(var, extent);
        }
        for condition in &access.path {
            self.ctx.assume(condition.clone());
        }
        let ok = match decode::decode(&mut self.ctx, &leaf.loops, leaf.index, &access.index) {
            Some(position) => {
                let hits = decode::hits(&leaf.loops, leaf.index, &position, &access.index);
                let here = self.ctx.mark();
                self.ctx.assume(hits.clone());
                let this = Idx::sym(k.clone());
                let own = self.ctx.proves(CmpOp::Eq, &position[0], &this);
                self.ctx.forget(here);
                // Where strides leave gaps, or on the other side of a row, it may never hit.
                own || self.ctx.holds(&Elem::not(hits))
            }
            None => {
                for (var, extent) in &leaf.loops {
                    self.ctx.assume_in_range(var, extent);
                }
                self.ctx.proves(CmpOp::Ne, leaf.index, &access.index)
            }
        };
        self.ctx.forget(mark);
        ok
    }
}
