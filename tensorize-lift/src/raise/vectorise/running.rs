//! Folds that are no plain reductions, and have an operator all the same: running ones, and those that keep a
//! place.

use super::{Tensor, Vectoriser, reduction};
use tensorize_ir::element::{ElemRef, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::tensir::{NodeId, Op};

/// How a fold runs along one of the result's indices.
struct Way {
    /// The index.
    along: Sym,
    exclusive: bool,
    reverse: bool,
    /// The step at which the element at that index is taken.
    step: Idx,
}

impl Vectoriser<'_> {
    /// `fold(acc = init, k < #0 + 1, acc ∘ x[k])` at index `#0`.
    pub(super) fn scan(&mut self, fold: &Fold) -> Option<Tensor> {
        let way = self.way(&fold.extent)?;
        let (reducer, element) = reduction::recognise_one(fold)?;
        if element.mentions(&way.along) || fold.init.mentions(&way.along) {
            return None;
        }
        let element = element.replace(&fold.var, &way.step);
        let element = self.tensor(&element);
        let init = self.tensor(&fold.init);
        let over = self.indices_of(&[&element, &init], &way.along);
        let dimension = over.iter().position(|s| *s == way.along)?;
        let element = self.spread(&element, &over);
        let others: Vec<Sym> = over.iter().filter(|s| **s != way.along).cloned().collect();
        let args = vec![element, self.start(&init, &others)];
        let op = Op::Scan {
            reducer,
            dimension,
            exclusive: way.exclusive,
            reverse: way.reverse,
        };
        Some(Tensor {
            node: self.add(op, args, &over, fold.init.ty()),
            over,
        })
    }

    /// Which way a fold of this many steps runs, if the number is one of the result's indices, counted from
    /// either end.
    fn way(&self, extent: &Idx) -> Option<Way> {
        let (along, n) = (self.context.iter()).find(|(s, _)| extent.mentions(s))?;
        let here = Idx::sym(along.clone());
        let last = n - &Idx::constant(1);
        let way = |exclusive, reverse, step: &Idx| Way {
            along: along.clone(),
            exclusive,
            reverse,
            step: step.clone(),
        };
        let (forwards, backwards) = (&here, &last - &here);
        let steps = |before: &Idx| (extent - before).as_constant();
        match (steps(forwards), steps(&backwards)) {
            (Some(more @ (0 | 1)), _) => Some(way(more == 0, false, forwards)),
            (_, Some(more @ (0 | 1))) => Some(way(more == 0, true, &backwards)),
            _ => None,
        }
    }

    /// A fold of two lanes that keeps an element and its label.
    pub(super) fn arg_reduce(&mut self, fold: &Fold) -> Option<Tensor> {
        let (reducer, element, label) = reduction::recognise_arg(fold)?;
        let (var, extent) = (fold.var.clone(), fold.extent.clone());
        let in_use = self.context.iter().any(|(s, _)| *s == var);
        let bound = self.context.iter().any(|(s, _)| extent.mentions(s));
        if in_use || bound || extent.has_values() {
            return None;
        }
        let inits = [&fold.others[0].init, &fold.init].map(|e| self.tensor(e));
        let depth = self.context.len();
        self.context.push((var.clone(), extent));
        let [element, labels] = [&element, &label].map(|e: &ElemRef| self.tensor(e));
        let over = self.indices_of(&[&element, &labels, &inits[0], &inits[1]], &var);
        let mut args = [element, labels].map(|t| self.spread(&t, &over)).to_vec();
        self.context.truncate(depth);
        self.memo.retain(|t| !t.over.contains(&var));
        let dimension = over.len() - 1;
        let over = over[..dimension].to_vec();
        args.extend(inits.map(|init| self.start(&init, &over)));
        let op = Op::ArgReduce { reducer, dimension };
        Some(Tensor {
            node: self.add(op, args, &over, fold.init.ty()),
            over,
        })
    }

    /// The indices of the context that any of these speaks of, and `one`.
    fn indices_of(&self, tensors: &[&Tensor], one: &Sym) -> Vec<Sym> {
        let here = |s: &Sym| s == one || tensors.iter().any(|t| t.over.contains(s));
        let names = self.context.iter().map(|(s, _)| s);
        names.filter(|s| here(s)).cloned().collect()
    }

    /// What folds over `others` start from: a scalar as it is, anything else spread.
    pub(super) fn start(&mut self, init: &Tensor, others: &[Sym]) -> NodeId {
        match init.over.is_empty() {
            true => init.node,
            false => self.spread(init, others),
        }
    }
}
