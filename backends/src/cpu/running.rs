//! Folds that run along with a loop over a result: `fold(…, k < i + 1, …)` in round `i` is one step more than
//! it was in the round before. Its accumulators live across the rounds, so that all elements together take as
//! many steps as the last one.

use super::lower::{Builder, Kind, Scope};
use super::nest::{Nest, Target};
use super::term;
use crate::Unsupported;
use std::collections::BTreeMap;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::CmpOp;

/// How many steps more than the number of rounds before this one: 0 or 1; nothing if the fold doesn't run
/// along with this counter.
fn steps_ahead(f: &Fold, counter: &Sym) -> Option<i128> {
    let more = (&f.extent - &Idx::sym(counter.clone())).as_constant();
    let fixed = |e: &ElemRef| !e.mentions(counter);
    let along = f.lanes().all(|l| fixed(l.init) && fixed(l.step));
    more.filter(|m| (0..=1).contains(m) && along)
}

/// Whether it takes one step more, or less, with each round of this loop.
pub(super) fn grows_or_shrinks(f: &Fold, counter: &Sym) -> bool {
    let Some((step, _)) = f.extent.linear_in(counter) else {
        return false;
    };
    let by_one = step.as_constant().is_some_and(|step| step.abs() == 1);
    let fixed = |e: &ElemRef| !e.mentions(counter);
    by_one && f.lanes().all(|l| fixed(l.init) && fixed(l.step))
}

/// Puts the loops along which folds run inside of the others, which may then be parallel; and has them run
/// upwards.
pub(super) fn arrange(nest: &mut Nest) {
    for d in 0..nest.dims.len() {
        let (dim, extent) = (nest.dims[d].clone(), &nest.extents[d]);
        let back = &(extent - &Idx::constant(1)) - &Idx::sym(dim.clone());
        let turned = |e: &ElemRef| e.replace(&dim, &back);
        let runs_back = |t: &Target| {
            let here = runs(&turned(&t.value), &dim);
            here && !runs(&t.value, &dim)
        };
        if nest.results.iter().all(runs_back) {
            for t in &mut nest.results {
                let index = t.index.substitute(&|s| (*s == dim).then(|| back.clone()));
                *t = Target::new(t.array.clone(), index, turned(&t.value));
            }
        }
    }
    let along = |d: &usize| nest.results.iter().any(|t| runs(&t.value, &nest.dims[*d]));
    let (inner, mut order): (Vec<usize>, Vec<usize>) = (0..nest.dims.len()).partition(along);
    order.extend(inner);
    nest.reorder(&order);
}

/// A result that runs along two of its dimensions (a summed-area table), in two passes: what runs along the one is
/// stored, and then runs along the other, in place.
pub(super) fn in_passes(nest: Nest) -> Vec<Nest> {
    let passes = |nest: &Nest| {
        let [whole] = nest.results.as_slice() else {
            return None;
        };
        let Elem::Fold(f) = &*whole.value else {
            return None;
        };
        let (op, x) = f.as_reduction()?;
        let along = nest.dims.iter().find(|d| steps_ahead(f, d) == Some(1))?;
        let x = x.replace(&f.var, &Idx::sym(along.clone()));
        let others = || nest.dims.iter().filter(|d| *d != along);
        let two = others().any(|d| runs(&x, d)) && !others().any(|d| runs(&f.init, d));
        let mut reads_itself = false;
        super::nest::for_each_read(&whole.value, &mut |array, _| {
            reads_itself |= *array == whole.array;
        });
        if !two || reads_itself {
            return None;
        }
        let ty = whole.value.ty();
        let there = Idx::sym(f.var.clone());
        let index = (whole.index).substitute(&|s| (s == along).then(|| there.clone()));
        let acc = Arc::new(Elem::Acc(f.acc.clone(), ty));
        let step = Elem::binary(op, acc, Elem::read(whole.array.clone(), ty, index));
        let value = Arc::new(Elem::Fold(Arc::new(Fold {
            step,
            ..(**f).clone()
        })));
        let pass = |value| {
            let mut pass = nest.clone();
            pass.results = vec![Target::new(whole.array.clone(), whole.index.clone(), value)];
            arrange(&mut pass);
            pass
        };
        Some(vec![pass(x), pass(value)])
    };
    passes(&nest).unwrap_or_else(|| vec![nest])
}

/// A result whose fold takes no step in the first round, with that round by itself, where the step that the last round
/// prepares would read past the `ends` of what the original touches.
pub(super) fn first_alone(nest: Nest, ends: &BTreeMap<Sym, Idx>) -> Vec<Nest> {
    let beyond = |f: &Fold, counter: &Sym, rounds: &Idx| {
        steps_ahead(f, counter) == Some(0) && reads_beyond(f, rounds, ends)
    };
    let alone = |nest: &Nest| {
        let [t] = nest.results.as_slice() else {
            return None;
        };
        let mut dims = nest.dims.iter().zip(&nest.extents);
        let at = dims.position(|(counter, rounds)| {
            let mut found = false;
            t.value.visit(&mut |e| {
                found |= matches!(&**e, Elem::Fold(f) if beyond(f, counter, rounds));
            });
            found && rounds.as_constant().is_some_and(|n| n > 1)
        })?;
        let counter = &nest.dims[at];
        let part = |from: &Idx| {
            let index = t.index.replace(counter, from);
            let value = without_rounds(&t.value.replace(counter, from));
            Nest {
                results: vec![Target::new(t.array.clone(), index, value)],
                ..nest.clone()
            }
        };
        let one = Idx::constant(1);
        let (mut first, mut rest) = (
            part(&Idx::default()),
            part(&(&Idx::sym(counter.clone()) + &one)),
        );
        first.dims.remove(at);
        first.extents.remove(at);
        first.stems.remove(at);
        rest.extents[at] = &rest.extents[at] - &one;
        Some(vec![first, rest])
    };
    alone(&nest).unwrap_or_else(|| vec![nest])
}

/// Whether the step that the last round prepares would read past the `ends` of what the original touches, whichever of
/// several that end is.
fn reads_beyond(f: &Fold, rounds: &Idx, ends: &BTreeMap<Sym, Idx>) -> bool {
    fn past(end: &Idx, index: &Idx) -> bool {
        match end.as_atom() {
            Some(Atom::Max(a, b)) => past(a, index) || past(b, index),
            _ => (end - index).as_constant().is_some_and(|left| left < 1),
        }
    }
    let last = rounds - &Idx::constant(1);
    let mut beyond = false;
    for lane in f.lanes() {
        super::nest::for_each_read(&lane.step.replace(&f.var, &last), &mut |array, index| {
            beyond |= ends.get(array).is_some_and(|end| past(end, index));
        });
    }
    beyond
}

/// The term with what a fold starts from where that has no rounds.
fn without_rounds(e: &ElemRef) -> ElemRef {
    e.map(&mut |e| match &**e {
        Elem::Fold(f) if f.extent.is_zero() => Some(without_rounds(&f.init)),
        _ => None,
    })
}

/// Whether a fold in it runs along with this counter.
pub(super) fn runs(e: &ElemRef, counter: &Sym) -> bool {
    let here = matches!(&**e, Elem::Fold(f) if steps_ahead(f, counter).is_some());
    here || e.children().into_iter().any(|c| runs(c, counter))
}

/// Whether a fold that runs along with the innermost loop of a nest finds, of the array that is being written,
/// only what has not been written yet: in round `i`, step `i` reads elements of this round and later ones.
pub(super) fn reads_ahead(f: &Fold, nest: &Nest, writer: &Target) -> bool {
    /// Further ahead than this is not recognised.
    const MOST: i128 = 4;
    let Some((counter, outer)) = nest.dims.split_last() else {
        return false;
    };
    if steps_ahead(f, counter).is_none() {
        return false;
    }
    let here = Idx::sym(counter.clone());
    let written_later = |index: &Idx| {
        (0..=MOST).any(|later| {
            let round = &here + &Idx::constant(later);
            writer
                .index
                .substitute(&|s| (s == counter).then(|| round.clone()))
                == *index
        })
    };
    let mut ahead = true;
    for lane in f.lanes() {
        // Read before the innermost loop: its rows have to be those that are written there.
        super::nest::for_each_read(lane.init, &mut |array, index| {
            ahead &= *array != writer.array || super::nest::same_rows(outer, index, &writer.index);
        });
        let step = lane.step.replace(&f.var, &here);
        super::nest::for_each_read(&step, &mut |array, index| {
            ahead &= *array != writer.array || written_later(index);
        });
    }
    ahead
}

impl Builder {
    /// The value in this round of a fold that runs along with the loop around, if it does.
    pub(super) fn running(&mut self, f: &Fold) -> Result<Option<Expr>, Unsupported> {
        let level = self.scopes.len() - 1;
        let searches = self.scopes[level].searches;
        let extent = match &self.scopes[level].kind {
            Kind::Dimension(extent) => extent.clone(),
            Kind::FoldRound(extent) if searches => extent.clone(),
            _ => return Ok(None),
        };
        let mut found = None;
        f.extent.for_each_sym(&mut |s| {
            let here = self.bound.get(s).is_some_and(|(at, _)| *at == level);
            if let (true, Some(more)) = (here, steps_ahead(f, s)) {
                found = Some((s.clone(), more));
            }
        });
        let Some((counter, more)) = found else {
            return Ok(None);
        };
        let mut accs = Vec::new();
        for lane in f.lanes() {
            accs.push(self.start(lane.acc, lane.init, &extent)?);
        }
        if searches && more == 0 {
            self.scopes[level].ran.push((f.clone(), accs.clone()));
            return Ok(Some(accs.swap_remove(0)));
        }
        for (lane, acc) in f.lanes().zip(&accs) {
            self.bound.insert(lane.acc.clone(), (level, acc.clone()));
        }
        let here = Idx::sym(counter);
        let steps: Vec<ElemRef> = f.lanes().map(|l| l.step.replace(&f.var, &here)).collect();
        // The last round prepares nothing where that would be to read what is not there.
        let mut goes_on = None;
        if more == 0 && reads_beyond(f, &extent, &self.ends) {
            let next = self.index(&(&here + &Idx::constant(1)))?;
            goes_on = Some(Expr::compare(CmpOp::Lt, next, self.index(&extent)?));
        } else {
            self.bind_repeated(&steps.iter().collect::<Vec<_>>())?;
        }
        // All lanes step at once, and a value that is still needed waits for the end of the round.
        let waits = more == 0 || accs.len() > 1;
        let mut assignments = Vec::new();
        for (acc, step) in accs.iter().zip(&steps) {
            let value = match &goes_on {
                None if waits => {
                    let value = self.value(step)?;
                    self.bind("next", value)
                }
                None => self.value(step)?,
                Some(cond) => {
                    let next = self.bind("next", acc.clone());
                    let (mut then, value) = self.in_branch(|b| b.value(step))?;
                    if let Expr::Var(var, ty) = &next {
                        let (var, ty) = (var.clone(), *ty);
                        then.push(Stmt::Assign { var, ty, value });
                    }
                    self.push(Stmt::If {
                        cond: cond.clone(),
                        then,
                        otherwise: vec![],
                    });
                    next
                }
            };
            if let Expr::Var(var, ty) = acc {
                assignments.push(Stmt::Assign {
                    var: var.clone(),
                    ty: *ty,
                    value,
                });
            }
        }
        f.lanes().for_each(|lane| {
            self.bound.remove(lane.acc);
        });
        let scope = &mut self.scopes[level];
        scope.carries = true;
        match more {
            0 => scope.at_end.extend(assignments),
            _ => scope.stmts.extend(assignments),
        }
        Ok(Some(accs.swap_remove(0)))
    }

    /// What a round of a search does for the next one, if it is not the one that is searched for: the step of a fold that runs
    /// along, from what the round has computed, and the assignments that come after the steps of all.
    pub(super) fn step_along(
        &mut self,
        f: &Fold,
        accs: &[Expr],
        counter: &Sym,
    ) -> Result<[Vec<Stmt>; 2], Unsupported> {
        let here = Idx::sym(counter.clone());
        let level = self.scopes.len() - 1;
        let whole: ElemRef = Arc::new(Elem::Fold(Arc::new(f.clone())));
        let so_far = match f.others.is_empty() {
            true => BTreeMap::from([(f.acc.clone(), whole)]),
            false => BTreeMap::new(),
        };
        for (lane, acc) in f.lanes().zip(accs) {
            self.bound.insert(lane.acc.clone(), (level, acc.clone()));
        }
        let (computed, values) = self.in_branch(|b| {
            let step = |s: &ElemRef| {
                let value = b.value(&s.replace(&f.var, &here).replace_accs(&so_far))?;
                Ok(b.bind("next", value))
            };
            let steps = f.lanes().map(|l| l.step);
            steps.map(step).collect::<Result<Vec<Expr>, Unsupported>>()
        })?;
        f.lanes().for_each(|lane| _ = self.bound.remove(lane.acc));
        let assigned = accs.iter().zip(values).filter_map(|(acc, value)| {
            let Expr::Var(var, ty) = acc else { return None };
            let (var, ty) = (var.clone(), *ty);
            Some(Stmt::Assign { var, ty, value })
        });
        Ok([computed, assigned.collect()])
    }

    /// A new variable that has this value before the loop whose body is the topmost scope.
    fn start(&mut self, stem: &Sym, init: &ElemRef, rounds: &Idx) -> Result<Expr, Unsupported> {
        let var = self.fresh(stem);
        let mut body = self.scopes.pop().unwrap_or_default();
        let some = rounds.as_constant().is_some_and(|n| n > 0);
        let guarded = some || body.guards.contains(rounds) || !term::needs_guard(init);
        if !guarded {
            body.guards.push(rounds.clone());
        }
        self.scopes.push(Scope {
            kind: Kind::Preheader(body.guards.clone()),
            stmts: std::mem::take(&mut body.preheader),
            memo: std::mem::take(&mut body.preheader_memo),
            ..Scope::default()
        });
        let value = self.value(init)?;
        let acc = Expr::Var(var.clone(), value.ty());
        self.push(Stmt::Assign {
            var,
            ty: value.ty(),
            value,
        });
        let done = self.scopes.pop().unwrap_or_default();
        (body.preheader, body.preheader_memo) = (done.stmts, done.memo);
        self.scopes.push(body);
        Ok(acc)
    }
}
