//! Guessing what a loop does.
//!
//! A round is tried twice. First with every variable unknown, to see which ones step by a constant; then,
//! with these as functions of the round, to see what the others become. A value that depends on its own
//! past alone is a fold; a write at a place that moves with the round is one element of a tensor, one at a
//! place that stays is an accumulator in memory.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Lane, Transform};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Loop, LoopMode};
use tensorize_ir::op::CmpOp;
use tensorize_prove::canon;
use tensorize_prove::chain::{self, Contents, Effect};
use tensorize_prove::exec::{Executor, State, Stuck};
use tensorize_prove::loops::{ClosedForm, Oracle, ScalarForm, modified};

mod blocks;
mod cells;
mod counters;
mod memory;
mod overlapping;
mod rings;
mod scatter;
mod text;
mod thresholds;
mod triangular;

use counters::{counters, trip};
use text::read_outside;

/// Proposes closed forms by trying a round.
pub struct Summariser;

impl Oracle for Summariser {
    fn closed_form(
        &self,
        exec: &mut Executor,
        l: &Loop,
        state: &State,
        k: &Sym,
    ) -> Result<ClosedForm, Stuck> {
        propose(exec, l, state, k, &BTreeMap::new())
    }
}

/// What a round does to the variables, from a start at which each of them is known or has a name.
pub(crate) struct Tried {
    /// The integers that are functions of the round.
    pub counters: BTreeMap<Sym, Idx>,
    /// How many rounds.
    pub trip: Idx,
    /// The changed arrays' names for their contents at the start of the round.
    pub tokens: BTreeMap<Sym, Sym>,
    /// The state at the end of the round.
    pub end: State,
}

/// Tries a round, in which the variables in `known` start from a value that somebody knows.
pub(crate) fn try_round(
    exec: &mut Executor,
    l: &Loop,
    state: &State,
    k: &Sym,
    known: &BTreeMap<Sym, ElemRef>,
) -> Result<Tried, Stuck> {
    let (scalars, arrays) = modified(&l.body);
    let mut start = state.clone();
    let tokens: BTreeMap<Sym, Sym> = arrays
        .iter()
        .map(|a| (a.clone(), Sym::from(format!("{a}@{k}"))))
        .collect();
    for (array, token) in &tokens {
        if let Some(c) = start.arrays.get_mut(array) {
            *c = Contents {
                base: Some(token.clone()),
                elem: c.elem,
                effects: vec![],
            };
        }
    }
    let mut counters = counters(exec, l, &start, k, &scalars)?;
    // A sum in any order is a sum, even in rounds that are seen to add nothing.
    counters.retain(|var, _| !is_reduction(l, var));
    for (var, ty) in &scalars {
        match counters.get(var) {
            Some(at) => start
                .scalars
                .insert(var.clone(), Elem::of_idx(*ty, at.clone())),
            None if known.contains_key(var) => {
                start.scalars.insert(var.clone(), known[var].clone())
            }
            None if state.scalars.contains_key(var) => start
                .scalars
                .insert(var.clone(), Arc::new(Elem::Acc(token(var, k), *ty))),
            None => start.scalars.remove(var),
        };
    }
    let trip = trip(exec, l, &start, k)?;
    // In rounds that there are.
    let saved = exec.ctx.save();
    exec.ctx.assume_in_range(k, &trip);
    for (var, at) in &counters {
        let here = exec.ctx.settle_counter(at);
        if here != *at {
            let here = Elem::of_idx(scalars[var], here);
            start.scalars.insert(var.clone(), here);
        }
    }
    exec.ctx.restore(saved);
    let end = exec.probe(l, &start, k, Some(&trip))?;
    Ok(Tried {
        counters,
        trip,
        tokens,
        end,
    })
}

/// The closed form of a loop, where the variables in `known` have one already.
pub(crate) fn propose(
    exec: &mut Executor,
    l: &Loop,
    state: &State,
    k: &Sym,
    known: &BTreeMap<Sym, ElemRef>,
) -> Result<ClosedForm, Stuck> {
    let (scalars, arrays) = modified(&l.body);
    for array in &arrays {
        let effects = state.arrays.get(array).map_or(&[][..], |c| &c.effects[..]);
        let leaves = effects.iter().rev().flat_map(Effect::leaves);
        let rows = leaves.filter(|leaf| !leaf.loops.is_empty());
        let places: Vec<_> = rows.map(|l| (l.loops.clone(), l.index.clone())).collect();
        if !places.is_empty() {
            exec.written.insert(array.clone(), places);
        }
    }
    let Tried {
        counters,
        trip,
        tokens,
        mut end,
    } = try_round(exec, l, state, k, known)?;
    let mut guess = Guess {
        exec,
        entry: state,
        k,
        trip: &trip,
        tokens: &tokens,
        l,
        lanes: vec![],
    };
    let mut form = ClosedForm {
        trip: trip.clone(),
        scalars: BTreeMap::new(),
        arrays: BTreeMap::new(),
    };
    // What was read of places that the data says has no form beyond the round.
    let of_round = |(array, token): (&Sym, &Sym)| {
        let effects = end.arrays.get(array).map_or(&[][..], |c| &c.effects[..]);
        guess.is_scatter(effects).then(|| token.clone())
    };
    let of_round: Vec<Sym> = tokens.iter().filter_map(of_round).collect();
    let cells = guess.cells(&mut end)?;
    let mut ends = BTreeMap::new();
    for (var, ty) in &scalars {
        if let Some(at) = counters.get(var) {
            let at = ScalarForm::At(Elem::of_idx(*ty, at.clone()));
            form.scalars.insert(var.clone(), at);
        } else if let Some(at) = known.get(var) {
            form.scalars.insert(var.clone(), ScalarForm::At(at.clone()));
        } else if let Some(e) = end.scalars.get(var)
            && !of_round.iter().any(|token| mentions_array(e, token))
            && let Ok(e) = guess.in_round(|g| g.resolve(e))
        {
            ends.insert(var.clone(), e);
        }
    }
    let written = end.arrays.values().flat_map(|c| &c.effects);
    let written: Vec<Effect> = written.cloned().collect();
    let followers = guess.followers(l, &mut ends, &written);
    for (var, at) in &followers {
        form.scalars.insert(var.clone(), ScalarForm::At(at.clone()));
    }
    let followers = followers
        .into_iter()
        .map(|(var, at)| (token(&var, k), at))
        .collect();
    for lane in &mut guess.lanes {
        lane.step = lane.step.replace_accs(&followers);
    }
    guess.accumulators(&ends, &mut form);
    for array in &arrays {
        if let Some(cells) = cells.get(array) {
            form.arrays.insert(array.clone(), guess.held(cells));
            continue;
        }
        let new = end.arrays.get(array).map_or(&[][..], |c| &c.effects[..]);
        let new: Vec<Effect> = new.iter().map(|e| e.replace_accs(&followers)).collect();
        let effects = guess.array(array, &new)?;
        form.arrays.insert(array.clone(), effects);
    }
    Ok(form)
}

fn is_reduction(l: &Loop, var: &Sym) -> bool {
    match &l.mode {
        LoopMode::Simd { reductions } => reductions.iter().any(|(_, v)| v == var),
        _ => false,
    }
}

pub(crate) fn token(var: &Sym, k: &Sym) -> Sym {
    format!("{var}@{k}").into()
}

struct Guess<'g, 'c, 's> {
    exec: &'g mut Executor<'c, 's>,
    entry: &'g State,
    k: &'g Sym,
    trip: &'g Idx,
    /// The arrays that the loop changes, and the names of their contents at the start of the round.
    tokens: &'g BTreeMap<Sym, Sym>,
    l: &'g Loop,
    /// What is accumulated in scalars.
    lanes: Vec<Lane>,
}

/// Whether what is written, or where, depends on an accumulator.
fn effect_mentions(e: &Effect, acc: &Sym) -> bool {
    let of = |leaf: chain::Leaf| {
        leaf.index.mentions(acc) || [leaf.cond, leaf.value].iter().any(|x| x.mentions(acc))
    };
    e.leaves().into_iter().any(of)
}

impl Guess<'_, '_, '_> {
    fn stuck<T>(&self, what: String) -> Result<T, Stuck> {
        Err(Stuck {
            what,
            line: self.l.line,
        })
    }

    fn in_round<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, Stuck>) -> Result<T, Stuck> {
        let mark = self.exec.ctx.mark();
        self.exec.ctx.assume_in_range(self.k, self.trip);
        let result = f(self);
        self.exec.ctx.forget(mark);
        result
    }

    /// Scalars that hold at the start of each round what a function of the round says: those that never
    /// change, those that a round leaves as `e(k)` and that were `e(-1)` when the loop began (a value
    /// loaded one round ahead, a window that slides), and those that were something else then, but that a round looks at
    /// (the element before), or that stay what they were where there is no round. They are taken out of `ends`. What the round
    /// writes is in `effects`.
    fn followers(
        &mut self,
        l: &Loop,
        ends: &mut BTreeMap<Sym, ElemRef>,
        effects: &[Effect],
    ) -> BTreeMap<Sym, ElemRef> {
        let mut known = BTreeMap::new();
        let may_stay = !self.runs_at_least_once();
        let before = &Idx::sym(self.k.clone()) - &Idx::constant(1);
        loop {
            let mut open = ends.iter().filter(|(var, _)| !is_reduction(l, var));
            let found = open.find_map(|(var, e)| {
                let first = self.entry.scalars.get(var)?;
                let own = token(var, self.k);
                if matches!(&**e, Elem::Acc(name, _) if *name == own) {
                    return Some((var.clone(), first.clone()));
                }
                let carried = ends.keys().any(|v| e.mentions(&token(v, self.k)))
                    || self.lanes.iter().any(|lane| e.mentions(&lane.acc));
                let at = e.replace(self.k, &before);
                let follows = !carried
                    && canon::elem(&at.replace(self.k, &Idx::default())) == canon::elem(first);
                if follows {
                    return Some((var.clone(), at));
                }
                let looked_at = ends.values().any(|e| e.mentions(&own))
                    || effects.iter().any(|e| effect_mentions(e, &own));
                let handed_on = !carried && (looked_at || may_stay);
                handed_on.then(|| (var.clone(), self.handed_on(first, e)))
            });
            let Some((var, at)) = found else {
                return known;
            };
            ends.remove(&var);
            let value = BTreeMap::from([(token(&var, self.k), at.clone())]);
            for e in ends.values_mut() {
                *e = e.replace_accs(&value);
            }
            known.insert(var, at);
        }
    }

    fn runs_at_least_once(&mut self) -> bool {
        let one = Idx::constant(1);
        self.exec.ctx.proves(CmpOp::Ge, self.trip, &one)
    }

    /// What a round finds where each leaves `left`: that of the one before, and the first one what was there.
    fn handed_on(&self, first: &ElemRef, left: &ElemRef) -> ElemRef {
        let this = Idx::sym(self.k.clone());
        let before = left.replace(self.k, &(&this - &Idx::constant(1)));
        let begins = Elem::index_compare(CmpOp::Eq, this, Idx::default());
        Elem::select(begins, first.clone(), before)
    }

    /// What stands at a place that each round sets anew, if it writes, once there was a round.
    fn left_by_the_last(&self, writes: ElemRef, index: &Idx, left: &ElemRef) -> Effect {
        let this = Idx::sym(self.k.clone());
        let begun = Elem::index_compare(CmpOp::Gt, this.clone(), Idx::default());
        Effect::Point {
            cond: chain::and(begun, writes),
            index: index.clone(),
            value: left.replace(self.k, &(&this - &Idx::constant(1))),
        }
    }

    /// The forms of the other scalars, which a round leaves as `ends` says: folds where they depend on what
    /// was accumulated before, or else what the last round left.
    fn accumulators(&mut self, ends: &BTreeMap<Sym, ElemRef>, form: &mut ClosedForm) {
        let at_least_once = self.runs_at_least_once();
        let outside = read_outside(&self.exec.kernel.body, self.l);
        let is_read = |var| outside.as_ref().is_none_or(|vars| vars.contains(var));
        let mut last = Vec::new();
        for (var, e) in ends {
            let carries = ends.keys().any(|v| e.mentions(&token(v, self.k)));
            match self.entry.scalars.get(var) {
                Some(init) if carries || !at_least_once => {
                    let acc = token(var, self.k);
                    self.lanes.push(Lane {
                        acc: acc.clone(),
                        init: init.clone(),
                        step: e.clone(),
                    });
                    let step = e.clone();
                    form.scalars
                        .insert(var.clone(), ScalarForm::Fold { acc, step });
                }
                // Each round sets it anew, and nobody asks what it was in the last one.
                None if !is_read(var) => {}
                _ => last.push((var, e)),
            }
        }
        let running = self.running(&Idx::sym(self.k.clone()));
        for (var, e) in last {
            let e = e.replace_accs(&running);
            form.scalars.insert(var.clone(), ScalarForm::Last(e));
        }
    }

    /// What the accumulators hold after so many rounds.
    fn running(&self, rounds: &Idx) -> BTreeMap<Sym, ElemRef> {
        let fold = |i: usize| {
            let fold = Fold::of_lane(&self.lanes, i, self.k.clone(), rounds.clone());
            (fold.acc.clone(), Arc::new(Elem::Fold(Arc::new(fold))))
        };
        (0..self.lanes.len()).map(fold).collect()
    }

    /// The writes of the first `k` rounds, from those of round `k`.
    fn array(&mut self, array: &Sym, new: &[Effect]) -> Result<Vec<Effect>, Stuck> {
        let moves = |t: &Lane| {
            let leaves = new.iter().flat_map(Effect::leaves);
            leaves.into_iter().any(|leaf| leaf.index.mentions(&t.acc))
        };
        if let Some(lane) = self.lanes.iter().find(|t| moves(t)) {
            let var = lane.acc.split('@').next().unwrap_or(&lane.acc);
            return self.stuck(format!(
                "where it writes in {array} depends on {var}, and that on the data: such a scatter is not \
                 supported"
            ));
        }
        if self.is_scatter(new) {
            return self.scattered(array, new);
        }
        let [stay, move_on] = chain::parted(new, self.k);
        if !stay.is_empty() {
            // Force and counterforce: `f[i] += t; f[j] -= t`.
            let accumulated = self.in_round(|g| {
                if !chain::never_meet(&mut g.exec.ctx, &stay, &move_on) {
                    return Ok(None);
                }
                let accumulated = stay.iter().map(|e| g.accumulator(array, e));
                accumulated.collect::<Result<Vec<_>, _>>().map(Some)
            })?;
            if let Some(mut effects) = accumulated {
                effects.extend(self.array(array, &move_on)?);
                return Ok(effects);
            }
        }
        if new.is_empty() {
            return Ok(vec![]);
        }
        if let Some(effects) = self.overlapping(array, new) {
            return Ok(effects);
        }
        let this = Idx::sym(self.k.clone());
        let (now, next) = (
            self.running(&this),
            self.running(&(&this + &Idx::constant(1))),
        );
        let var = self.exec.ctx.fresh.name(self.k);
        let body = self.in_round(|g| {
            new.iter()
                .map(|e| {
                    let e = g.recurrence(array, e)?;
                    let e = g.rolled_up(&e, &next);
                    g.pointwise(&e.replace_accs(&now))
                })
                .collect::<Result<Vec<_>, _>>()
        })?;
        let body = body
            .iter()
            .map(|e| e.replace(self.k, &Idx::sym(var.clone())))
            .collect();
        Ok(vec![Effect::Loop {
            var,
            extent: Idx::sym(self.k.clone()),
            body,
        }])
    }

    /// What the rounds make of an accumulator is its fold of one round more. In conditions it stands in canonical form.
    /// What a round sets without a look at any is what it is.
    fn rolled_up(&self, e: &Effect, next: &BTreeMap<Sym, ElemRef>) -> Effect {
        let accumulates = |lane: &&Lane| self.lanes.iter().any(|of| lane.step.mentions(&of.acc));
        let steps: Vec<(&Lane, ElemRef)> = (self.lanes.iter())
            .filter(accumulates)
            .map(|lane| (lane, canon::elem(&lane.step)))
            .collect();
        let is_step = |x: &ElemRef, (lane, step): &(&Lane, ElemRef)| {
            lane.step == *x
                || x.ty() == step.ty() && x.mentions(&lane.acc) && canon::elem(x) == *step
        };
        e.map(&|i| i.clone(), &mut |v| {
            v.map(&mut |x| {
                let (lane, _) = steps.iter().find(|of| is_step(x, of))?;
                next.get(&lane.acc).cloned()
            })
        })
    }

    fn pointwise(&mut self, e: &Effect) -> Result<Effect, Stuck> {
        Ok(match e {
            Effect::Point { cond, index, value } => Effect::Point {
                cond: self.resolve(cond)?,
                index: index.clone(),
                value: self.resolve(value)?,
            },
            Effect::Loop { var, extent, body } => {
                let mark = self.exec.ctx.mark();
                self.exec.ctx.assume_in_range(var, extent);
                let body = body
                    .iter()
                    .map(|b| self.pointwise(b))
                    .collect::<Result<Vec<_>, _>>();
                self.exec.ctx.forget(mark);
                Effect::Loop {
                    var: var.clone(),
                    extent: extent.clone(),
                    body: body?,
                }
            }
        })
    }

    /// Reads of a changed array's contents at the start of the round become reads of what it held before
    /// the loop: the guess is that no earlier round wrote there.
    fn resolve(&mut self, e: &ElemRef) -> Result<ElemRef, Stuck> {
        let tokens: HashSet<Sym> = self.tokens.values().cloned().collect();
        let is = |e: &ElemRef| matches!(&**e, Elem::Read { array, .. } if tokens.contains(array));
        self.resolve_term(e, &mut Transform::new(&is))
    }

    fn resolve_term<'e>(
        &mut self,
        e: &'e ElemRef,
        done: &mut Resolving<'e, '_>,
    ) -> Result<ElemRef, Stuck> {
        if let Some(known) = done.known(e) {
            return Ok(known);
        }
        let resolved = self.resolve_anew(e, done)?;
        done.note(e, &resolved);
        Ok(resolved)
    }

    fn resolve_anew<'e>(
        &mut self,
        e: &'e ElemRef,
        done: &mut Resolving<'e, '_>,
    ) -> Result<ElemRef, Stuck> {
        match &**e {
            Elem::Read { array, index, .. } if let Some(name) = self.held_by(array) => {
                let Some(before) = self.entry.arrays.get(&name) else {
                    return self.stuck(format!("there is no array {name}"));
                };
                let index = &self.resolve_index(index)?;
                chain::read(&mut self.exec.ctx, &name, before, index).map_err(|why| Stuck {
                    what: why.0,
                    line: self.l.line,
                })
            }
            Elem::Select(c, t, f) => {
                let c = self.resolve_term(c, done)?;
                let mark = self.exec.ctx.mark();
                self.exec.ctx.assume(c.clone());
                let t = done.apart(|done| self.resolve_term(t, done));
                self.exec.ctx.forget(mark);
                self.exec.ctx.assume(Elem::not(c.clone()));
                let f = done.apart(|done| self.resolve_term(f, done));
                self.exec.ctx.forget(mark);
                Ok(Elem::select(c, t?, f?))
            }
            Elem::Fold(fold) => {
                let mut children = Vec::new();
                for lane in fold.lanes() {
                    children.push(self.resolve_term(lane.init, done)?);
                    let mark = self.exec.ctx.mark();
                    self.exec.ctx.assume_in_range(&fold.var, &fold.extent);
                    let step = done.apart(|done| self.resolve_term(lane.step, done));
                    self.exec.ctx.forget(mark);
                    children.push(step?);
                }
                // `lut[image[i]]`, where an entry is a sum of as many numbers as its index says.
                let extent = self.resolve_index(&fold.extent)?;
                Ok(e.rebuild(&children, &[extent]))
            }
            _ => {
                let children = e.children().into_iter();
                let children = children
                    .map(|c| self.resolve_term(c, done))
                    .collect::<Result<Vec<_>, _>>()?;
                let indices = e
                    .indices()
                    .into_iter()
                    .map(|i| self.resolve_index(i))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok(e.rebuild(&children, &indices))
            }
        }
    }

    /// The array that the loop changes and whose contents at the start of the round have this name.
    fn held_by(&self, token: &Sym) -> Option<Sym> {
        let mut all = self.tokens.iter();
        all.find(|(_, t)| *t == token)
            .map(|(array, _)| array.clone())
    }

    /// The same in an index that is read from memory, as in `lut[image[i]]`.
    fn resolve_index(&mut self, index: &Idx) -> Result<Idx, Stuck> {
        let mut stuck = None;
        let index = index.map_values(&mut |v| match self.resolve(v) {
            Ok(v) => v,
            Err(why) => {
                stuck = Some(why);
                v.clone()
            }
        });
        stuck.map_or(Ok(index), Err)
    }
}

type Resolving<'e, 't> = Transform<'e, &'t dyn Fn(&ElemRef) -> bool>;

fn mentions_array(e: &ElemRef, name: &Sym) -> bool {
    let mut found = false;
    e.visit(&mut |x| found |= matches!(&**x, Elem::Read { array, .. } if array == name));
    found
}
