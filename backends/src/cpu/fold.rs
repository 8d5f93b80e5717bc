//! Folds as accumulation loops: the accumulators start before the loop, and step together in it.

use super::lower::{Builder, I64, Kind, Machine, Scope, has_loop};
use super::{between, search, term};
use crate::Unsupported;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Order};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, LoopMode, Stmt};
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
        if let Some(between) = between::between(f) {
            return self.fold_between(f, &between);
        }
        let mut starts = Vec::new();
        let mut accs: Vec<(Sym, Expr)> = Vec::new();
        for lane in f.lanes() {
            let value = self.value(lane.init)?;
            let (acc, ty) = (self.fresh(lane.acc), value.ty());
            accs.push((acc.clone(), Expr::Var(acc.clone(), ty)));
            starts.push(Stmt::Assign {
                var: acc,
                ty,
                value,
            });
        }
        let results = accs.clone();
        let var = self.fresh(&f.var);
        let (acc, result) = accs[0].clone();
        let mut extent = self.index(&f.extent)?;
        if !term::values_in(&f.extent).is_empty() {
            extent = self.bind("rounds", extent);
        }
        let kind = Kind::FoldRound(f.extent.clone());
        self.scopes.push(Scope {
            kind,
            ..Scope::default()
        });
        let level = self.scopes.len() - 1;
        for (lane, (_, value)) in f.lanes().zip(&accs) {
            self.bound.insert(lane.acc.clone(), (level, value.clone()));
        }
        self.bound
            .insert(f.var.clone(), (level, Expr::Var(var.clone(), I64)));
        let steps: Vec<&ElemRef> = f.lanes().map(|lane| lane.step).collect();
        self.bind_repeated(&steps)?;
        let mut values = Vec::new();
        for step in &steps {
            let value = self.value(step)?;
            // All lanes step at once: a new value waits until the last one is known.
            values.push(match steps.len() {
                1 => value,
                _ => self.bind("next", value),
            });
        }
        for lane in f.lanes() {
            self.bound.remove(lane.acc);
        }
        self.bound.remove(&f.var);
        let nested = has_loop(&self.top().stmts);
        for ((acc, _), value) in accs.into_iter().zip(values) {
            self.push(Stmt::Assign {
                var: acc,
                ty: value.ty(),
                value,
            });
        }
        let mode = self.fold_mode(f, result.ty(), nested, acc);
        self.close_loop(starts, var, extent, mode)?;
        for (i, (_, value)) in results.into_iter().enumerate().skip(1) {
            // What the loop has left in the other accumulators is computed, too: a maximum, next to its place.
            let other = Arc::new(Elem::Fold(Arc::new(f.led_by(i))));
            self.top().memo.insert(term::canonical(&other), value);
        }
        Ok(result)
    }

    /// A loop over the rounds of an accumulation that stands in memory, of which `body` does one. The accumulators that it
    /// looks at are variables, and step after it has seen them.
    pub(super) fn rounds_beside(
        &mut self,
        f: &Fold,
        body: impl FnOnce(&mut Self) -> Result<(), Unsupported>,
    ) -> Result<(), Unsupported> {
        let mut accs: Vec<(Sym, Expr)> = Vec::new();
        for lane in &f.others {
            let value = self.value(&lane.init)?;
            let (var, ty) = (self.fresh(&lane.acc), value.ty());
            accs.push((lane.acc.clone(), Expr::Var(var.clone(), ty)));
            self.push(Stmt::Assign { var, ty, value });
        }
        self.rounds(f, |b| {
            let level = b.scopes.len() - 1;
            for (acc, value) in &accs {
                b.bound.insert(acc.clone(), (level, value.clone()));
            }
            let steps: Vec<&ElemRef> = f.others.iter().map(|lane| &lane.step).collect();
            b.bind_repeated(&steps)?;
            let mut next = Vec::new();
            for step in steps {
                let value = b.value(step)?;
                next.push(b.bind("next", value));
            }
            body(b)?;
            for ((acc, var), value) in accs.iter().zip(next) {
                b.bound.remove(acc);
                if let Expr::Var(var, ty) = var {
                    let (var, ty) = (var.clone(), *ty);
                    b.push(Stmt::Assign { var, ty, value });
                }
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
