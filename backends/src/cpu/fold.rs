//! Folds as accumulation loops: the accumulators start before the loop, and step together in it.

use super::loops::{Counter, has_loop, set};
use super::lower::{Builder, Kind, Machine, Scope};
use super::{between, search, term};
use crate::Unsupported;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Lane, LaneRef, Order};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, LoopMode};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

impl Builder {
    pub(super) fn fold(&mut self, f: &Fold) -> Result<Expr, Unsupported> {
        if let Some(condition) = search::searched(f) {
            return self.search(f, &condition);
        }
        if let Some(value) = self.running(f)? {
            return Ok(value);
        }
        // What it takes as many steps of as a search has rounds may have run along with that.
        let values = term::values_in(&f.extent);
        if values.into_iter().any(|e| term::contains_fold(e)) {
            self.index(&f.extent)?;
            let whole = term::canonical(&Arc::new(Elem::Fold(Arc::new(f.clone()))));
            if let Some(known) = self.known(&whole) {
                return Ok(known);
            }
        }
        let between = between::between(f);
        let (mut accs, mut starts) = (Vec::new(), Vec::new());
        for lane in f.lanes() {
            let value = self.value(lane.init)?;
            let acc = self.fresh(lane.acc);
            accs.push((acc.clone(), Expr::Var(acc.clone(), value.ty())));
            starts.push(set(&acc, value));
        }
        let var = self.fresh(&f.var);
        let counter = match &between {
            Some(b) => {
                let (first, end) = (self.value(&b.first)?, self.value(&b.end)?);
                let end = self.bind("end", end);
                Counter { var, first, end }
            }
            None => {
                let mut rounds = self.index(&f.extent)?;
                if !term::values_in(&f.extent).is_empty() {
                    rounds = self.bind("rounds", rounds);
                }
                Counter::of_rounds(var, rounds)
            }
        };
        self.scopes.push(Scope {
            kind: Kind::FoldRound(f.extent.clone()),
            ..Scope::default()
        });
        let level = self.scopes.len() - 1;
        let (counted, counting) = match &between {
            Some(b) => (&b.place, &b.fold),
            None => (&f.var, f),
        };
        self.bound.insert(counted.clone(), (level, counter.here()));
        let lanes: Vec<_> = counting.lanes().zip(&accs).collect();
        for (lane, (_, value)) in &lanes {
            self.bound.insert(lane.acc.clone(), (level, value.clone()));
        }
        let steps: Vec<&ElemRef> = counting.lanes().map(|lane| lane.step).collect();
        let next = self.stepped(&steps, steps.len() > 1)?;
        for (lane, _) in &lanes {
            self.bound.remove(lane.acc);
        }
        self.bound.remove(counted);
        let nested = has_loop(&self.top().stmts);
        for ((acc, _), value) in accs.iter().zip(next) {
            self.push(set(acc, value));
        }
        let (acc, result) = accs[0].clone();
        let mode = match between {
            Some(_) => LoopMode::Sequential,
            None => self.fold_mode(f, result.ty(), nested, acc),
        };
        self.close_loop(starts, counter, mode)?;
        // What the loop has left in the other accumulators is computed, too: a maximum, next to its place.
        let lanes: Vec<Lane> = f.lanes().map(LaneRef::to_lane).collect();
        for (i, (_, value)) in accs.into_iter().enumerate().skip(1) {
            let other = Fold::of_lane(&lanes, i, f.var.clone(), f.extent.clone());
            let key = term::canonical(&Arc::new(Elem::Fold(Arc::new(other))));
            self.top().memo.insert(key, value);
        }
        Ok(result)
    }

    /// What accumulators are after a round. All step at once: if they `wait`, each new value is in a variable until the others
    /// are known.
    fn stepped(&mut self, steps: &[&ElemRef], wait: bool) -> Result<Vec<Expr>, Unsupported> {
        self.bind_repeated(steps)?;
        let mut values = Vec::new();
        for step in steps {
            let value = self.value(step)?;
            values.push(match wait {
                true => self.bind("next", value),
                false => value,
            });
        }
        Ok(values)
    }

    /// A loop over the rounds of an accumulation that stands in memory, of which `body` does one. The accumulators that it
    /// looks at are variables, and step after it has seen them.
    pub(super) fn rounds_beside(
        &mut self,
        f: &Fold,
        body: impl FnOnce(&mut Self) -> Result<(), Unsupported>,
    ) -> Result<(), Unsupported> {
        let mut accs = Vec::new();
        for lane in &f.others {
            let value = self.value(&lane.init)?;
            let acc = self.fresh(&lane.acc);
            accs.push((acc.clone(), Expr::Var(acc.clone(), value.ty())));
            self.push(set(&acc, value));
        }
        self.rounds(f, |b| {
            let level = b.scopes.len() - 1;
            for (lane, (_, value)) in f.others.iter().zip(&accs) {
                b.bound.insert(lane.acc.clone(), (level, value.clone()));
            }
            let steps: Vec<&ElemRef> = f.others.iter().map(|lane| &lane.step).collect();
            let next = b.stepped(&steps, true)?;
            body(b)?;
            for ((lane, (acc, _)), value) in f.others.iter().zip(&accs).zip(next) {
                b.bound.remove(&lane.acc);
                b.push(set(acc, value));
            }
            Ok(())
        })
    }

    fn fold_mode(&mut self, f: &Fold, ty: ScalarType, nested: bool, acc: Sym) -> LoopMode {
        let extreme = f.as_extreme().filter(|_| self.extremes);
        let Some(op) = f.as_reduction().map(|(op, _)| op).or(extreme) else {
            return LoopMode::Sequential;
        };
        let by_an_item = self.machine == Machine::Items
            && (self.scopes.iter()).any(|s| matches!(s.kind, Kind::Dimension(_)));
        // `any || x[i] > 3`: what is found decides whether the next one is read.
        let decides = ty == ScalarType::I1 && self.is_read_by_data(&f.step);
        if nested || by_an_item || decides {
            return LoopMode::Sequential;
        }
        if extreme.is_none() && !op.is_associative(ty) && f.order == Order::Sequential {
            let real = matches!(op, BinOp::Add | BinOp::Multiply) && self.allowed == Tier::Real;
            if !real {
                return LoopMode::Sequential;
            }
            self.tier = Tier::Real;
        }
        LoopMode::Simd {
            reductions: vec![(op, acc)],
        }
    }
}
