//! What holds after so many rounds, if a closed form does.

use super::{ClosedForm, ScalarForm, modified};
use crate::exec::{Executor, State, Stuck};
use std::collections::BTreeMap;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Lane, Order};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Loop, LoopMode};
use tensorize_ir::op::CmpOp;

impl Executor<'_, '_> {
    /// The state at the start of round `k`.
    pub(crate) fn at_round(
        &mut self,
        l: &Loop,
        entry: &State,
        k: &Sym,
        form: &ClosedForm,
    ) -> Result<State, Stuck> {
        let mut state = entry.clone();
        for (var, ty) in modified(&l.body).0 {
            match form.scalars.get(&var) {
                Some(ScalarForm::At(e)) => {
                    let at = match &**e {
                        Elem::OfIdx(ty, at) => Elem::of_idx(*ty, self.ctx.settle_counter(at)),
                        _ => e.clone(),
                    };
                    state.scalars.insert(var, at)
                }
                Some(ScalarForm::Fold { acc, .. }) => {
                    if !entry.scalars.contains_key(&var) {
                        return self.stuck(format!("{var} is accumulated without a first value"));
                    }
                    state
                        .scalars
                        .insert(var, Arc::new(Elem::Acc(acc.clone(), ty)))
                }
                Some(ScalarForm::Last(_)) | None => state.scalars.remove(&var),
            };
        }
        for (array, effects) in &form.arrays {
            if let Some(c) = state.arrays.get_mut(array) {
                c.effects
                    .extend(effects.iter().map(|e| e.replace(k, &Idx::sym(k.clone()))));
            }
        }
        Ok(state)
    }

    /// What each accumulator's name stands for at the start of round `k`; of nothing that could be relied on
    /// where the order of rounds is open.
    pub(crate) fn running(
        &self,
        l: &Loop,
        entry: &State,
        k: &Sym,
        form: &ClosedForm,
    ) -> BTreeMap<Sym, ElemRef> {
        if l.mode != LoopMode::Sequential {
            return BTreeMap::new();
        }
        folds(entry, k, form, &Idx::sym(k.clone()), &[])
            .into_iter()
            .filter_map(|(var, fold)| match form.scalars.get(&var) {
                Some(ScalarForm::Fold { acc, .. }) => Some((acc.clone(), fold)),
                _ => None,
            })
            .collect()
    }

    /// Accesses and hazards recorded in a round speak of the accumulators: now of what these hold then.
    pub(crate) fn in_terms_of_rounds(
        &mut self,
        (first_access, first_hazard): (usize, usize),
        running: &BTreeMap<Sym, ElemRef>,
    ) {
        if running.is_empty() {
            return;
        }
        let on_idx = |i: &Idx| i.map_values(&mut |v| v.replace_accs(running));
        let on_elem = |e: &mut ElemRef| *e = e.replace_accs(running);
        for access in &mut self.accesses[first_access..] {
            access.index = on_idx(&access.index);
            access.path.iter_mut().for_each(on_elem);
            access.loops.iter_mut().for_each(|(_, n)| *n = on_idx(n));
        }
        for hazard in &mut self.hazards[first_hazard..] {
            on_elem(&mut hazard.left);
            on_elem(&mut hazard.right);
            hazard.path.iter_mut().for_each(on_elem);
            hazard.loops.iter_mut().for_each(|(_, n)| *n = on_idx(n));
        }
    }

    /// The state after so many rounds, all of them if that is the closed form's count.
    pub(crate) fn apply(
        &mut self,
        l: &Loop,
        state: &mut State,
        k: &Sym,
        form: &ClosedForm,
        rounds: &Idx,
    ) -> Result<(), Stuck> {
        for var in modified(&l.body).0.keys() {
            if !form.scalars.contains_key(var) {
                state.scalars.remove(var);
            }
        }
        let any: Vec<Sym> = match &l.mode {
            LoopMode::Simd { reductions } => reductions.iter().map(|(_, v)| v.clone()).collect(),
            _ => vec![],
        };
        let folds = folds(state, k, form, rounds, &any);
        self.apply_to(state, k, form, rounds)?;
        if l.mode != LoopMode::Sequential {
            // Each round has its own: what the last one leaves is not to be seen outside.
            for var in form.scalars.keys() {
                state.scalars.remove(var);
            }
        }
        for (var, fold) in folds {
            state.scalars.insert(var, fold);
        }
        Ok(())
    }

    /// The state after `rounds` rounds, folds left aside.
    pub(super) fn apply_to(
        &mut self,
        state: &mut State,
        k: &Sym,
        form: &ClosedForm,
        rounds: &Idx,
    ) -> Result<(), Stuck> {
        let one = Idx::constant(1);
        for (var, f) in &form.scalars {
            let value = match f {
                ScalarForm::At(e) => Some(e.replace(k, rounds)),
                ScalarForm::Fold { .. } => None,
                ScalarForm::Last(e) => self
                    .ctx
                    .proves(CmpOp::Ge, rounds, &one)
                    .then(|| e.replace(k, &(rounds - &one))),
            };
            match value {
                Some(v) => state.scalars.insert(var.clone(), v),
                None => state.scalars.remove(var),
            };
        }
        for (array, effects) in &form.arrays {
            if let Some(c) = state.arrays.get_mut(array) {
                c.effects
                    .extend(effects.iter().map(|e| e.replace(k, rounds)));
            }
        }
        Ok(())
    }
}

/// What the accumulators hold after the first `extent` rounds, by variable. Those that look at each other
/// become lanes of one fold.
fn folds(
    entry: &State,
    k: &Sym,
    form: &ClosedForm,
    extent: &Idx,
    any: &[Sym],
) -> Vec<(Sym, ElemRef)> {
    let lanes = form
        .scalars
        .iter()
        .filter_map(|(var, f)| match (f, entry.scalars.get(var)) {
            (ScalarForm::Fold { acc, step }, Some(init)) => Some((
                var,
                Lane {
                    acc: acc.clone(),
                    init: init.clone(),
                    step: step.clone(),
                },
            )),
            _ => None,
        });
    let (vars, lanes): (Vec<&Sym>, Vec<Lane>) = lanes.unzip();
    let fold = |(i, var): (usize, &Sym)| {
        let mut fold = Fold::of_lane(&lanes, i, k.clone(), extent.clone());
        if any.contains(var) {
            fold.order = Order::Any;
        }
        (var.clone(), Arc::new(Elem::Fold(Arc::new(fold))))
    };
    vars.into_iter().enumerate().map(fold).collect()
}
