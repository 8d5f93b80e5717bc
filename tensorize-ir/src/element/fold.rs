//! Folds: their lanes, their steps, and the reductions among them.

use super::{Elem, ElemRef, Fold, Lane, Order};
use crate::index::{Atom, Idx, Sym};
use crate::op::{BinOp, CmpOp};
use std::sync::Arc;

/// A lane of a fold, the first one or another.
#[derive(Clone, Copy, Debug)]
pub struct LaneRef<'a> {
    /// The accumulator's name in the steps.
    pub acc: &'a Sym,
    /// The value before the first step.
    pub init: &'a ElemRef,
    /// The value after a step.
    pub step: &'a ElemRef,
}

impl LaneRef<'_> {
    /// The lane by itself.
    pub fn to_lane(self) -> Lane {
        Lane {
            acc: self.acc.clone(),
            init: self.init.clone(),
            step: self.step.clone(),
        }
    }
}

impl Elem {
    /// Whether there is a fold in it of which the data says which result a step goes into: what is read is compared with a
    /// counter outside of the fold, as in `out[j] = fold(…, if (a[i] == j) …)`. As operators on arrays such a fold takes an
    /// array of results times steps. Names that are no counters are for `is_size` to tell.
    pub fn is_told_by_data(self: &Arc<Self>, is_size: &dyn Fn(&Sym) -> bool) -> bool {
        let mut found = false;
        self.visit(&mut |e| found |= matches!(&**e, Elem::Fold(f) if f.is_told_by_data(is_size)));
        found
    }
}

impl Fold {
    /// Whether the data says in which of its rounds this fold does anything.
    pub fn is_told_by_data(&self, is_size: &dyn Fn(&Sym) -> bool) -> bool {
        let mut own = vec![self.var.clone()];
        for lane in self.lanes() {
            lane.step.visit(&mut |x| {
                if let Elem::Fold(inner) = &**x {
                    own.push(inner.var.clone());
                }
            });
        }
        let compares_place = |e: &Elem| {
            let Elem::IndexCompare(CmpOp::Eq, a, b) = e else {
                return false;
            };
            let (difference, mut by_data) = (a - b, false);
            difference.for_each_value(&mut |v| by_data |= own.iter().any(|s| v.mentions(s)));
            let mut atoms = difference.terms().flat_map(|(m, _)| m);
            let outside = |s: &Sym| !own.contains(s) && !is_size(s);
            by_data && atoms.any(|atom| matches!(atom, Atom::Sym(s) if outside(s)))
        };
        let mut found = false;
        for lane in self.lanes() {
            lane.step.visit(&mut |x| found |= compares_place(x));
        }
        found
    }

    /// `acc = init; for var in 0..extent { acc = step }; acc`, in this order.
    pub fn new(acc: Sym, var: Sym, extent: Idx, init: ElemRef, step: ElemRef) -> Fold {
        Fold {
            acc,
            var,
            extent,
            init,
            step,
            order: Order::Sequential,
            others: vec![],
        }
    }

    /// What the lane number `of` among these holds after `extent` steps, which are all taken in order. Lanes
    /// that it doesn't depend on are left out.
    pub fn of_lane(lanes: &[Lane], of: usize, var: Sym, extent: Idx) -> Fold {
        let mut others = lanes.to_vec();
        let Lane { acc, init, step } = others.remove(of);
        let mut fold = Fold::new(acc, var, extent, init, step);
        fold.others = others;
        fold.without_idle_lanes()
    }

    /// Whether `name` is one of its accumulators.
    pub fn binds(&self, name: &str) -> bool {
        self.lanes().any(|lane| &**lane.acc == name)
    }

    /// All lanes, the one whose value it is first.
    pub fn lanes(&self) -> impl Iterator<Item = LaneRef<'_>> {
        let first = LaneRef {
            acc: &self.acc,
            init: &self.init,
            step: &self.step,
        };
        let others = self.others.iter().map(|lane| LaneRef {
            acc: &lane.acc,
            init: &lane.init,
            step: &lane.step,
        });
        std::iter::once(first).chain(others)
    }

    /// The fold whose value is that of the lane with this accumulator.
    pub fn valued(&self, acc: &str) -> Fold {
        let mut fold = self.clone();
        if let Some(lane) = fold.others.iter_mut().find(|lane| &*lane.acc == acc) {
            std::mem::swap(&mut fold.acc, &mut lane.acc);
            std::mem::swap(&mut fold.init, &mut lane.init);
            std::mem::swap(&mut fold.step, &mut lane.step);
        }
        fold
    }

    /// The value of `steps + 1` steps, written as the last one of them: the step at `var = steps`, over the folds
    /// of the first `steps`. It is this fold's value if its extent is `steps + 1` and `steps` is not negative.
    pub fn last_step(&self, steps: &Idx) -> ElemRef {
        let values = self
            .lanes()
            .map(|lane| {
                let before = Fold {
                    extent: steps.clone(),
                    ..self.valued(lane.acc)
                };
                (lane.acc.clone(), Arc::new(Elem::Fold(Arc::new(before))))
            })
            .collect();
        self.step.replace(&self.var, steps).replace_accs(&values)
    }

    /// The same value from the lanes that the first one depends on, in the order in which a walk over the steps
    /// meets them.
    pub fn without_idle_lanes(mut self) -> Fold {
        if self.others.is_empty() {
            return self;
        }
        let mut order: Vec<usize> = Vec::new();
        let mut next = 0;
        let mut step = &self.step;
        loop {
            step.visit(&mut |e| {
                if let Elem::Acc(n, _) = &**e
                    && let Some(i) = self.others.iter().position(|l| l.acc == *n)
                    && !order.contains(&i)
                {
                    order.push(i);
                }
            });
            let Some(&i) = order.get(next) else { break };
            step = &self.others[i].step;
            next += 1;
        }
        self.others = order.iter().map(|&i| self.others[i].clone()).collect();
        self
    }

    pub(super) fn children(&self) -> Vec<&ElemRef> {
        self.lanes()
            .flat_map(|lane| [lane.init, lane.step])
            .collect()
    }

    /// The same fold over other children (first value and step, lane by lane) and another extent.
    pub(super) fn over(&self, children: &[ElemRef], extent: Idx) -> Fold {
        let others = self.others.iter().zip(children[2..].chunks_exact(2));
        Fold {
            acc: self.acc.clone(),
            var: self.var.clone(),
            extent,
            init: children[0].clone(),
            step: children[1].clone(),
            order: self.order,
            others: others
                .map(|(lane, c)| Lane {
                    acc: lane.acc.clone(),
                    init: c[0].clone(),
                    step: c[1].clone(),
                })
                .collect(),
        }
    }

    /// The operator of a fold of floats that keeps the greatest or the least, if its step takes an element where that
    /// compares as greater or less. Over the real numbers it is a reduction: only NaN, and zeros of two signs, tell orders
    /// of steps apart.
    pub fn as_extreme(&self) -> Option<BinOp> {
        let Elem::Select(condition, taken, kept) = &*self.step else {
            return None;
        };
        let Elem::Compare(cmp, a, b) = &**condition else {
            return None;
        };
        let is_acc = |e: &Elem| matches!(e, Elem::Acc(n, _) if *n == self.acc);
        let cmp = match () {
            () if a == taken && is_acc(b) => *cmp,
            () if b == taken && is_acc(a) => cmp.swapped(),
            () => return None,
        };
        let one = self.others.is_empty() && taken.ty().is_float();
        if !one || !is_acc(kept) || taken.mentions(&self.acc) {
            return None;
        }
        match cmp {
            CmpOp::Gt | CmpOp::Ge => Some(BinOp::Maximum),
            CmpOp::Lt | CmpOp::Le => Some(BinOp::Minimum),
            CmpOp::Eq | CmpOp::Ne => None,
        }
    }

    /// The operator at the root of the step, if there is one.
    pub fn step_operator(&self) -> Option<BinOp> {
        match &*self.step {
            Elem::Binary(op, ..) => Some(*op),
            _ => None,
        }
    }

    /// The fold as `init ∘ e₀ ∘ e₁ ∘ …`, if its step has that form: the operator and `e`.
    pub fn as_reduction(&self) -> Option<(BinOp, ElemRef)> {
        if !self.others.is_empty() {
            return None;
        }
        match &*self.step {
            Elem::Binary(op, a, b)
                if matches!(&**a, Elem::Acc(n, _) if *n == self.acc) && !b.mentions(&self.acc) =>
            {
                Some((*op, b.clone()))
            }
            Elem::Binary(op, a, b)
                if op.is_commutative()
                    && matches!(&**b, Elem::Acc(n, _) if *n == self.acc)
                    && !a.mentions(&self.acc) =>
            {
                Some((*op, a.clone()))
            }
            _ => None,
        }
    }
}
