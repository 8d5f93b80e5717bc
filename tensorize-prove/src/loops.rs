//! Loops: a proposed closed form, checked by induction over the rounds.
//!
//! A closed form says how often the loop runs, and what every variable and array it changes holds at the
//! start of round k. It comes from an [`Oracle`] that nobody trusts. Shown are: *entry*, at k = 0 it is
//! the state before the loop; *step*, a round that starts from it at k ends in it at k + 1; *exit*, the
//! condition holds in the rounds 0 ≤ k < trip and fails at k = trip.

mod places;
mod rounds;

use crate::canon;
use crate::chain::{self, Contents, Effect};
use crate::equal::same;
use crate::eval::index_like;
use crate::exec::{Executor, Flow, State, Stuck};
use crate::loosened::Loosened;
use crate::places::holds_in_each_case;
use crate::search;
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::{Guard, Tier};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::limit;
use tensorize_ir::loopir::{self, Loop, LoopMode, Stmt, Visited};
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::ScalarType;

/// What a loop does, as a function of the round `k`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedForm {
    /// How many rounds.
    pub trip: Idx,
    /// Every scalar that a round assigns; one that is missing has no known value, inside or after.
    pub scalars: BTreeMap<Sym, ScalarForm>,
    /// Every array that a round stores to: the writes of the first `k` rounds.
    pub arrays: BTreeMap<Sym, Vec<Effect>>,
}

/// What a scalar holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ScalarForm {
    /// At the start of round `k`, this.
    At(ElemRef),
    /// At the start of round `k`, the fold of the first `k` rounds: `step` speaks of `acc`, of `k`, and of the
    /// accumulators of the loop's other folds.
    Fold {
        /// The accumulator's name in `step`.
        acc: Sym,
        /// The value after a round.
        step: ElemRef,
    },
    /// Round `k` leaves this, and does not look at what it was before.
    Last(ElemRef),
}

/// Proposes closed forms.
pub trait Oracle {
    /// The closed form of a loop that is entered in `state`, in terms of the round `k`. The executor may
    /// be used to try rounds ([`Executor::probe`]).
    fn closed_form(
        &self,
        exec: &mut Executor,
        l: &Loop,
        state: &State,
        k: &Sym,
    ) -> Result<ClosedForm, Stuck>;
}

/// Scalars and arrays that statements change.
pub fn modified(stmts: &[Stmt]) -> (BTreeMap<Sym, ScalarType>, BTreeSet<Sym>) {
    let (mut scalars, mut arrays) = (BTreeMap::new(), BTreeSet::new());
    loopir::visit(stmts, &mut |part| match part {
        Visited::Stmt(Stmt::Assign { var, ty, .. }) => {
            scalars.insert(var.clone(), *ty);
        }
        Visited::Stmt(Stmt::Store { array, .. }) => {
            arrays.insert(array.clone());
        }
        _ => {}
    });
    (scalars, arrays)
}

impl Executor<'_, '_> {
    /// Runs one round from `state`, believing everything and keeping nothing: what the oracle learns from.
    pub fn probe(
        &mut self,
        l: &Loop,
        state: &State,
        k: &Sym,
        trip: Option<&Idx>,
    ) -> Result<State, Stuck> {
        let saved = self.ctx.save();
        let checking = std::mem::replace(&mut self.checking, false);
        let result = match trip {
            Some(t) => {
                self.ctx.assume_in_range(k, t);
                self.loops.push((k.clone(), t.clone()));
                let r = self.round(l, state.clone());
                self.loops.pop();
                r
            }
            None => {
                self.ctx.assume_non_negative(&Idx::sym(k.clone()));
                self.round(l, state.clone())
            }
        };
        self.checking = checking;
        self.ctx.restore(saved);
        result
    }

    /// The state at the end of a round that begins in `state`.
    pub(crate) fn round(&mut self, l: &Loop, state: State) -> Result<State, Stuck> {
        match self.block(&l.body, state, false)? {
            Flow::On(s) => Ok(s),
            Flow::Return(..) => self.stuck("a return inside of a loop"),
            Flow::Trap => self.stuck("every round ends the program, or throws"),
        }
    }

    /// The condition of a loop in `state`, without a trace.
    pub fn probe_condition(&mut self, l: &Loop, state: &State) -> Result<ElemRef, Stuck> {
        let saved = self.ctx.save();
        let checking = std::mem::replace(&mut self.checking, false);
        let c = match self.eval(&l.cond, state) {
            Ok(c) => Ok(canon::elem(&self.on_indices(&c))),
            stuck => stuck,
        };
        self.checking = checking;
        self.ctx.restore(saved);
        c
    }

    pub(crate) fn run_loop(&mut self, l: &Loop, state: &mut State) -> Result<(), Stuck> {
        let outer = self.line;
        if l.line != 0 {
            self.line = l.line;
        }
        limit::working_on("the closed form of a loop", self.line);
        if let Some(search) = search::search(l, state) {
            let result = self.run_search(l, &search, state);
            self.line = outer;
            return result;
        }
        let k = self.ctx.fresh.name("k");
        let oracle = self.oracle;
        let mut form = oracle.closed_form(self, l, state, &k)?;
        form.trip = canon::idx(&form.trip);
        self.require_trips(l, &form.trip)?;
        if self.checking {
            self.verify(l, state, &k, &form)?;
        }
        self.apply(l, state, &k, &form, &form.trip)?;
        self.line = outer;
        Ok(())
    }

    /// The trip count is not negative: shown, or made a guard.
    pub(crate) fn require_trips(&mut self, l: &Loop, trip: &Idx) -> Result<(), Stuck> {
        let least = Idx::constant(if l.test_first { 0 } else { 1 });
        if !self.ctx.proves(CmpOp::Ge, trip, &least) {
            if trip.as_constant().is_some() || !self.ctx.is_over_params(trip) {
                return self.stuck(format!("how often the loop runs, {trip}, may be negative"));
            }
            let rounds = trip - &least;
            self.ctx
                .guard(Guard::NonNegative(rounded_up(&rounds).unwrap_or(rounds)));
        }
        Ok(())
    }

    fn verify(&mut self, l: &Loop, entry: &State, k: &Sym, form: &ClosedForm) -> Result<(), Stuck> {
        self.verify_entry(entry, k, form)?;
        if l.test_first {
            // Whatever comes of it, what the first test reads is read: a guard may look at it.
            self.eval(&l.cond, entry)?;
        }
        let mark = self.ctx.mark();
        self.ctx.assume_in_range(k, &form.trip);
        self.loops.push((k.clone(), form.trip.clone()));
        let (first_access, first_hazard) = (self.accesses.len(), self.hazards.len());
        let step = self.verify_step(l, entry, k, form);
        self.loops.pop();
        let running = self.running(l, entry, k, form);
        self.in_terms_of_rounds((first_access, first_hazard), &running);
        let rounds = match step {
            Ok(()) if l.mode != LoopMode::Sequential => {
                self.verify_independent(l, k, form, first_access)
            }
            other => other,
        };
        self.ctx.forget(mark);
        rounds?;
        if l.test_first {
            let mut end = entry.clone();
            self.apply_to(&mut end, k, form, &form.trip)?;
            let c = self.loop_condition(&l.cond, &end)?;
            if !self.fails(&c) {
                return self
                    .stuck("that the loop ends when its closed form says so could not be shown");
            }
        }
        Ok(())
    }

    /// Whether a loop's condition does not hold where it is to end. Of `i != n`, after as many steps as there is room
    /// for, that is asked of the sizes by a guard: steps of two meet an even n.
    fn fails(&mut self, condition: &ElemRef) -> bool {
        let not = Elem::not(condition.clone());
        if self.ctx.holds(&not) {
            return true;
        }
        // What the data say lies where it does in each case.
        if condition.indices().into_iter().any(Idx::has_values) {
            return holds_in_each_case(&mut self.ctx, &self.path, &not);
        }
        let Elem::IndexCompare(CmpOp::Ne, a, b) = &**condition else {
            return false;
        };
        let missed = canon::idx(&(a - b));
        if missed.as_constant().is_some() || !self.ctx.is_over_params(&missed) {
            return false;
        }
        let zero = Idx::default();
        for side in [missed.clone(), -&missed] {
            if self.ctx.proves(CmpOp::Lt, &side, &zero) {
                return false;
            }
            if !self.ctx.is_non_negative(&side) {
                self.ctx.guard(Guard::NonNegative(side));
            }
        }
        self.ctx.holds(&not)
    }

    pub(crate) fn verify_entry(
        &mut self,
        entry: &State,
        k: &Sym,
        form: &ClosedForm,
    ) -> Result<(), Stuck> {
        for (var, f) in &form.scalars {
            if let ScalarForm::At(e) = f {
                let at_zero = e.replace(k, &Idx::default());
                let same = match entry.scalars.get(var) {
                    Some(v) => {
                        self.same_scalar(var, v, &at_zero)
                            && self.stays_in_types(v, e, Some((k, &Idx::default())))
                    }
                    None => false,
                };
                if !same {
                    return self.stuck(format!(
                        "the closed form of {var} does not hold when the loop begins"
                    ));
                }
            }
        }
        for (array, effects) in &form.arrays {
            let Some(before) = entry.arrays.get(array) else {
                return self.stuck(format!("there is no array {array}"));
            };
            for effect in effects {
                let effect = effect.replace(k, &Idx::default());
                if !self.changes_nothing(array, before, &effect)? {
                    return self.stuck(format!(
                        "the closed form of {array} does not hold when the loop begins"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether a variable has the value that its closed form says: the same bits, or, for a float, where
    /// that is enough, the same real number, which makes the whole proof one over the reals.
    fn same_scalar(&mut self, var: &Sym, found: &ElemRef, expected: &ElemRef) -> bool {
        if same(&mut self.ctx, found, expected, Tier::Exact) {
            return true;
        }
        let real = self.worst == Tier::Real
            && found.ty().is_float()
            && same(&mut self.ctx, found, expected, Tier::Real);
        if real {
            self.tier = Tier::Real;
            let why = Loosened::round(var, self.line, found);
            self.loosened.push(why);
        }
        real
    }

    /// Whether the machine integers in `claimed` hold the very numbers that their polynomials are; with a `round`, what
    /// was found is that round's, and the claim is about any.
    ///
    /// Two terms are the same if they are the same bits, with polynomials wrapped to their types. What evaluates the
    /// round takes the polynomial for the number, as for all that it has `found` itself: from `a = 0; a--` it gets a
    /// `convert` of -1, and not -1, where `a` is unsigned. So a closed form may say `-k` of such a variable nowhere.
    fn stays_in_types(
        &mut self,
        found: &ElemRef,
        claimed: &ElemRef,
        round: Option<(&Sym, &Idx)>,
    ) -> bool {
        if let Elem::OfIdx(ty, p) = &**claimed {
            // Here, and not in all of `claimed` before: what becomes a constant is wrapped.
            let p = round.map_or(p.clone(), |(k, at)| p.replace(k, at));
            let p = canon::idx(&p);
            let number = index_like(found).filter(|_| found.ty() == *ty);
            return !ty.is_int()
                || number.is_some_and(|q| self.ctx.proves(CmpOp::Eq, &p, &q))
                || self.fits(*ty, &p);
        }
        // What a fold makes of its steps is bits to whoever evaluates, as is what stands in memory.
        if matches!(&**claimed, Elem::Fold(_)) {
            return true;
        }
        // What a round does not choose is nothing that it claims.
        if let (Elem::Select(c, t, f), Some((k, at))) = (&**claimed, round)
            && let Elem::Const(chosen) = &*c.replace(k, at)
        {
            let claim = if chosen.is_true() { t } else { f };
            return self.stays_in_types(found, claim, round);
        }
        let (parts, claims) = (found.children(), claimed.children());
        let alike = parts.len() == claims.len();
        claims.into_iter().enumerate().all(|(i, claim)| {
            // Where there is no counterpart, something that is no integer's polynomial.
            let part = if alike { parts[i] } else { claimed };
            self.stays_in_types(part, claim, round)
        })
    }

    /// Whether a closed form holds: what an oracle that has several to choose from may ask. Nothing is kept.
    pub fn would_hold(&mut self, l: &Loop, state: &State, k: &Sym, form: &ClosedForm) -> bool {
        let saved = self.ctx.save();
        let before = (self.checking, self.tier, self.line);
        let (accesses, hazards) = (self.accesses.len(), self.hazards.len());
        let loosened = self.loosened.len();
        self.checking = true;
        let holds =
            self.require_trips(l, &form.trip).is_ok() && self.verify(l, state, k, form).is_ok();
        (self.checking, self.tier, self.line) = before;
        self.loosened.truncate(loosened);
        self.accesses.truncate(accesses);
        self.hazards.truncate(hazards);
        self.ctx.restore(saved);
        holds
    }

    /// Whether an effect writes nothing, or just what is there.
    fn changes_nothing(
        &mut self,
        array: &Sym,
        before: &Contents,
        e: &Effect,
    ) -> Result<bool, Stuck> {
        Ok(match e {
            Effect::Loop { extent, .. } if extent.as_constant().is_some_and(|n| n <= 0) => true,
            Effect::Loop { var, extent, body } => {
                let mark = self.ctx.mark();
                self.ctx.assume_in_range(var, extent);
                let mut all = true;
                for b in body {
                    all = all && self.changes_nothing(array, before, b)?;
                }
                self.ctx.forget(mark);
                all
            }
            Effect::Point { cond, .. } if self.ctx.holds(&Elem::not(cond.clone())) => true,
            Effect::Point { index, value, .. } => {
                match chain::read(&mut self.ctx, array, before, index) {
                    Ok(old) => same(&mut self.ctx, &old, value, Tier::Exact),
                    Err(why) => return self.stuck(why.0),
                }
            }
        })
    }

    fn verify_step(
        &mut self,
        l: &Loop,
        entry: &State,
        k: &Sym,
        form: &ClosedForm,
    ) -> Result<(), Stuck> {
        let start = self.at_round(l, entry, k, form)?;
        let next_k = &Idx::sym(k.clone()) + &Idx::constant(1);
        if l.test_first {
            let c = self.loop_condition(&l.cond, &start)?;
            if !self.ctx.holds(&c) {
                return self.stuck(
                    "that the loop goes on as long as its closed form says could not be shown",
                );
            }
        }
        let end = self.round(l, start.clone())?;
        if !l.test_first {
            let c = self.loop_condition(&l.cond, &end)?;
            let last = Elem::index_compare(CmpOp::Ge, next_k.clone(), form.trip.clone());
            let goes_on = self.under(&Elem::not(last.clone()), |x| Ok(x.ctx.holds(&c)))?;
            let ends = self.under(&last, |x| Ok(x.ctx.holds(&Elem::not(c.clone()))))?;
            if !goes_on || !ends {
                return self
                    .stuck("that the loop ends when its closed form says so could not be shown");
            }
        }
        self.kept(l, entry, &start, &end, k, form)
    }

    /// Shows that the state `end` after a round from `start`, that of round `k`, is the closed form's at `k + 1`.
    pub(crate) fn kept(
        &mut self,
        l: &Loop,
        entry: &State,
        start: &State,
        end: &State,
        k: &Sym,
        form: &ClosedForm,
    ) -> Result<(), Stuck> {
        let next_k = &Idx::sym(k.clone()) + &Idx::constant(1);
        // What the accumulators hold at the start of round k: their steps are shown in this loop.
        let running = self.running(l, entry, k, form);
        for (var, f) in &form.scalars {
            let Some(v) = end.scalars.get(var) else {
                return self.stuck(format!("the closed form of {var} is not kept by a round"));
            };
            let ok = match f {
                ScalarForm::At(e) => {
                    let v = v.replace_accs(&running);
                    self.same_scalar(var, &v, &e.replace(k, &next_k))
                        && self.stays_in_types(&v, e, Some((k, &next_k)))
                }
                ScalarForm::Fold { step, .. } => same(&mut self.ctx, v, step, Tier::Exact),
                ScalarForm::Last(e) => {
                    let v = v.replace_accs(&running);
                    same(&mut self.ctx, &v, e, Tier::Exact) && self.stays_in_types(&v, e, None)
                }
            };
            if !ok {
                return self.stuck(format!("the closed form of {var} is not kept by a round"));
            }
        }
        // An oracle may say something of arrays that no round writes, too.
        let (_, mut arrays) = modified(&l.body);
        arrays.extend(form.arrays.keys().cloned());
        for array in &arrays {
            let effects = form.arrays.get(array).map_or(&[][..], |e| &e[..]);
            let before = start.arrays.get(array).map_or(0, |c| c.effects.len());
            let new: Vec<Effect> = end
                .arrays
                .get(array)
                .map_or(&[][..], |c| &c.effects[before..])
                .iter()
                .map(|e| e.replace_accs(&running))
                .collect();
            let mut of_these = |effects: &[Effect], new: &[Effect]| {
                Ok(self.is_one_more_round(effects, new, k)?
                    || self.holds_a_round_later(array, entry, end, effects, new, (k, &running)))
            };
            let shown = match places::of_each_kind(effects, &new, k) {
                Some([stay, move_on]) => {
                    let all_that_stay = [&stay.0[..], &stay.1].concat();
                    of_these(&stay.0, &stay.1)?
                        && of_these(&move_on.0, &move_on.1)?
                        && chain::never_meet(&mut self.ctx, &all_that_stay, &move_on.1)
                }
                None => of_these(effects, &new)?,
            };
            if !shown {
                return self.stuck(format!("that a round changes just its own places of {array}, and reads none that an earlier round \
                     has written, could not be shown"));
            }
        }
        Ok(())
    }
}

/// `n` of `floordiv(n + 15, 16)`, as `for (k = 0; k < n; k += 16)` has it. That it is not negative says more than that its
/// sixteenth, rounded up, is not, and is what a loop over single steps needs.
fn rounded_up(rounds: &Idx) -> Option<Idx> {
    let mut terms = rounds.terms();
    let (Some(([Atom::FloorDiv(n, by)], 1)), None) = (terms.next(), terms.next()) else {
        return None;
    };
    let n = &**n - &Idx::constant(by.as_constant()? - 1);
    let whole = n.terms().all(|(m, _)| !m.is_empty());
    whole.then_some(n)
}
