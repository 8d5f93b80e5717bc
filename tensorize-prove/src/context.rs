//! What is known at a point of a kernel, and questions about it to the solver.

mod enough;
mod script;

use self::script::Known;
use crate::answered::{Answered, Stamps};
use crate::canon;
use crate::conditions::{encode_condition, is_index_condition, said_of_numbers};
use crate::overflow::Defined;
use crate::points::Points;
use crate::ranges::{self, plus, times};
use crate::reach::Asked;
use crate::rising::Between;
use crate::signs;
use crate::solver::{Answer, Solver};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::guard::{Guard, Tier};
use tensorize_ir::index::{Atom, Fresh, Idx, Sym};
use tensorize_ir::limit;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;

/// Facts, guards asked for so far, and the solver.
pub struct Context<'s> {
    solver: &'s mut Solver,
    /// What holds here: ranges of loop counters, path conditions.
    facts: Vec<ElemRef>,
    guards: Vec<Guard>,
    /// What the guards say about indices; it holds everywhere.
    guard_facts: Vec<ElemRef>,
    /// The guards' facts and what else holds, encoded: for those of the last few questions.
    known: Vec<Known>,
    /// What has been asked already.
    answered: Answered,
    /// Numbers at which what is known holds.
    points: Points,
    /// The types of the kernel's integer parameters.
    params: BTreeMap<Sym, ScalarType>,
    /// Arithmetic of the original that does not overflow.
    pub defined: Vec<Defined>,
    /// What guards say of every round of some loops.
    pub(crate) asked: Vec<Asked>,
    /// What is known of numbers in memory where a round of a loop over time begins.
    pub(crate) found_between: Vec<Between>,
    /// Folds that were shown to be equal, with how many facts there were then, all of which hold still.
    equal: Vec<(usize, EqualFolds)>,
    /// Names of bound variables.
    pub fresh: Fresh,
    /// Every lemma instance that a query was given, with the declarations it needs.
    lemmas_used: BTreeSet<String>,
    lemma_declarations: BTreeSet<String>,
    /// Assumed besides; for tests that plant a false one.
    planted: Vec<String>,
    /// Whether what is known about elements is being encoded: the folds in it are compared without it, or that
    /// would never end.
    pub encodes_facts: bool,
    /// Whether conditions on indices that choose a place are decided where something is settled.
    pub(crate) chooses_places: bool,
    /// Whether it is generated code, of which it is shown that it touches no more than the original. It runs where the original's
    /// guards hold, and asks for no more in its rounds.
    pub(crate) of_code: bool,
}

/// Two folds, at a tier.
pub(crate) type EqualFolds = (Arc<Fold>, Arc<Fold>, Tier);

/// A place in the list of facts, to return to.
#[derive(Clone, Copy)]
pub struct Mark(usize);

impl<'s> Context<'s> {
    /// Nothing is known but the types of the integer parameters.
    pub fn new(
        solver: &'s mut Solver,
        params: BTreeMap<Sym, ScalarType>,
        planted: Vec<String>,
    ) -> Self {
        Context {
            solver,
            facts: Vec::new(),
            guards: Vec::new(),
            guard_facts: Vec::new(),
            known: Vec::new(),
            answered: Answered::default(),
            points: Points::default(),
            params,
            defined: Vec::new(),
            asked: Vec::new(),
            found_between: Vec::new(),
            equal: Vec::new(),
            fresh: Fresh::default(),
            lemmas_used: BTreeSet::new(),
            lemma_declarations: BTreeSet::new(),
            planted,
            encodes_facts: false,
            chooses_places: false,
            of_code: false,
        }
    }

    /// Where the facts end now.
    pub fn mark(&self) -> Mark {
        Mark(self.facts.len())
    }

    /// Forgets the facts since `mark`. Guards stay.
    pub fn forget(&mut self, mark: Mark) {
        self.facts.truncate(mark.0);
        self.answered.facts(mark.0);
        self.equal.retain(|(facts, _)| *facts <= mark.0);
    }

    /// Whether these were shown to be equal by what is known here: an expression may have one fold many times.
    pub(crate) fn are_equal(&self, folds: &EqualFolds) -> bool {
        self.equal.iter().any(|(_, e)| e == folds)
    }

    /// They were shown to be equal by what is known here.
    pub(crate) fn shown_equal(&mut self, folds: EqualFolds) {
        self.equal.push((self.facts.len(), folds));
    }

    /// From here on, `condition` holds.
    pub fn assume(&mut self, condition: ElemRef) {
        if matches!(&*condition, Elem::Const(_)) {
            return;
        }
        let condition = canon::elem(&condition);
        // The solver hears of indices only: of `a[i] == j && mask[i]`, the first part.
        let is_of_indices = is_index_condition(&condition);
        if !is_of_indices {
            let mut said = Vec::new();
            said_of_numbers(self, &condition, &mut said);
            self.facts.extend(said);
        }
        self.answered.facts(self.facts.len());
        self.facts.push(condition);
        match is_of_indices {
            true => self.answered.facts(self.facts.len()),
            false => self.answered.fact_of_others(),
        }
    }

    /// From here on, `idx >= 0`.
    pub fn assume_non_negative(&mut self, idx: &Idx) {
        self.assume(Elem::index_compare(CmpOp::Ge, idx.clone(), Idx::default()));
    }

    /// From here on, `0 <= var < extent`.
    pub fn assume_in_range(&mut self, var: &Sym, extent: &Idx) {
        let var = Idx::sym(var.clone());
        self.assume_non_negative(&var);
        // There is a number in the range, so that it is not empty.
        let (extent, positive) = extent.without_indicators();
        for n in positive {
            self.assume(Elem::index_compare(CmpOp::Ge, n, Idx::constant(1)));
        }
        self.assume(Elem::index_compare(CmpOp::Lt, var, extent));
    }

    /// The same of a guard where the original may end early, which is the first one that looks at data. There is no other such
    /// guard, but for conditions of the same rounds, which come one after the other in each; or nothing is asked.
    pub(crate) fn guard_first(&mut self, guard: Guard) -> bool {
        let one = |g: &Guard| match (g, &guard) {
            (Guard::NonNegative(a), Guard::NonNegative(b)) => canon::idx(a) == canon::idx(b),
            _ => false,
        };
        if self.guards.iter().any(one) {
            return true;
        }
        if let Some(first) = self.guards.iter().position(Guard::may_end_early) {
            let Some(both) = self.guards[first].with_in_each_round(&guard) else {
                return false;
            };
            self.believe(&both);
            self.guards[first] = both;
            return true;
        }
        self.guard(guard.clone());
        let Some(at) = self.guards.iter().position(one) else {
            return false;
        };
        let guard = self.guards.remove(at);
        let of_data = self.guards.iter().position(Guard::looks_at_data);
        self.guards.insert(of_data.unwrap_or(at), guard);
        true
    }

    /// The kernel is asked to run only where the guard holds, which is a fact from the start on.
    pub fn guard(&mut self, guard: Guard) {
        // What is computed from data may go by other names.
        let known = |g: &Guard| match (g, &guard) {
            (Guard::NonNegative(a), Guard::NonNegative(b)) if a.has_values() => {
                canon::idx(a) == canon::idx(b)
            }
            _ => *g == guard,
        };
        if self.guards.iter().any(known) {
            return;
        }
        self.believe(&guard);
        // `n >= 4` says that `n >= 2`.
        if let Guard::NonNegative(new) = &guard {
            let more = |g: &Guard| match g {
                Guard::NonNegative(old) => (old - new).as_constant(),
                _ => None,
            };
            if self.guards.iter().any(|g| more(g).is_some_and(|c| c <= 0)) {
                return;
            }
            self.guards.retain(|g| more(g).is_none());
        }
        self.guards.push(guard);
    }

    /// What a guard says is a fact from the start on.
    fn believe(&mut self, guard: &Guard) {
        let facts = match guard {
            Guard::NonNegative(idx) => vec![(CmpOp::Ge, idx.clone(), Idx::default())],
            Guard::Fits(idx, ty) => vec![
                (CmpOp::Ge, idx.clone(), Idx::constant(ty.min_value())),
                (CmpOp::Le, idx.clone(), Idx::constant(ty.max_value())),
            ],
            Guard::Disjoint(..) => vec![],
        };
        let of_data = guard.said_of_data().map(|(when, inside)| match when {
            None => inside.clone(),
            Some(c) => Elem::binary(BinOp::Or, Elem::not(c.clone()), inside.clone()),
        });
        let facts = (facts.into_iter()).map(|(op, a, b)| Elem::index_compare(op, a, b));
        for fact in facts.chain(of_data) {
            let fact = canon::elem(&fact);
            if !matches!(&*fact, Elem::Const(v) if v.is_true()) {
                self.guard_facts.push(fact);
                self.answered.guard();
            }
        }
    }

    /// A polynomial that the variable is known to be less than here.
    pub fn limit_of(&self, var: &str) -> Option<Idx> {
        self.facts.iter().find_map(|f| match &**f {
            Elem::IndexCompare(CmpOp::Ge, p, zero) if zero.is_zero() => {
                let (slope, rest) = p.linear_in(var)?;
                (slope.as_constant() == Some(-1) && !rest.is_zero())
                    .then(|| &rest + &Idx::constant(1))
            }
            _ => None,
        })
    }

    /// The guards so far.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Takes the guards and facts of another point in time; what was tried since is void.
    pub fn restore(&mut self, saved: Saved) {
        self.guards = saved.guards;
        self.guard_facts = saved.guard_facts;
        self.facts = saved.facts;
        self.answered.restore(saved.stamps);
        self.defined.truncate(saved.defined);
        self.asked.truncate(saved.asked);
        self.equal.clear();
    }

    /// Guards and facts, to return to.
    pub fn save(&self) -> Saved {
        Saved {
            guards: self.guards.clone(),
            guard_facts: self.guard_facts.clone(),
            facts: self.facts.clone(),
            stamps: self.answered.save(),
            defined: self.defined.len(),
            asked: self.asked.len(),
        }
    }

    /// Between what a number lies that a round of a loop over time finds in memory, if that is known here.
    pub(crate) fn found_between(&mut self, e: &Elem) -> Option<(Idx, Idx)> {
        let known = (self.found_between.iter()).find(|between| &*between.number == e);
        let known = known?.clone();
        self.holds(&known.when).then_some((known.low, known.high))
    }

    /// Whether something is known here about a variable of this name.
    pub fn is_in_scope(&self, name: &str) -> bool {
        self.facts.iter().any(|f| f.mentions(name))
    }

    /// Whether every variable is an integer parameter, so that the polynomial can be a guard.
    pub fn is_over_params(&self, idx: &Idx) -> bool {
        let mut all = true;
        idx.for_each_sym(&mut |s| all &= self.params.contains_key(s));
        all && !idx
            .terms()
            .any(|(m, _)| m.iter().any(|a| matches!(a, Atom::Value(_))))
    }

    /// Shows that `a op b`.
    pub fn proves(&mut self, op: CmpOp, a: &Idx, b: &Idx) -> bool {
        self.holds(&Elem::index_compare(op, a.clone(), b.clone()))
    }

    /// Whether the polynomial is a value of the type because its factors are of narrower ones: products of
    /// unknowns, which are beyond the solver.
    pub fn stays_in_by_types(&mut self, ty: ScalarType, idx: &Idx) -> bool {
        self.range_by_types(idx)
            .is_some_and(|(low, high)| ty.min_value() <= low && high <= ty.max_value())
    }

    /// The least and the largest value, from the types of parameters and of values in memory, and for a counter
    /// from a limit that it can be shown to stay below.
    fn range_by_types(&mut self, idx: &Idx) -> Option<(i128, i128)> {
        if let Some(r) = idx.remainder() {
            // A remainder is below its divisor; the product that it is made of may be anything.
            let divisor = self.range_by_types(&r.divisor)?;
            if self.proves(CmpOp::Ge, &r.divisor, &Idx::constant(1)) {
                let product = times(self.range_by_types(&r.factor)?, (0, divisor.1.max(1) - 1))?;
                return plus(product, self.range_by_types(&r.rest)?);
            }
        }
        let mut sum = (0i128, 0i128);
        for (monomial, coefficient) in idx.terms() {
            let mut product = (coefficient, coefficient);
            for atom in monomial {
                let range = match atom {
                    Atom::Sym(s) if self.params.contains_key(s) => {
                        let ty = self.params[s];
                        (ty.min_value(), ty.max_value())
                    }
                    Atom::Sym(s) => self.range_by_limits(&Idx::sym(s.clone()))?,
                    // The first round in which something holds lies among the rounds.
                    Atom::Value(e) if is_reduction(e) => self
                        .range_by_limits(&Idx::atom(atom.clone()))
                        .unwrap_or_else(|| ranges::of(e)),
                    Atom::Value(e) => ranges::of(e),
                    _ => return None,
                };
                product = times(product, range)?;
            }
            sum = plus(sum, product)?;
        }
        Some(sum)
    }

    /// From zero to a limit that it can be shown to stay below.
    fn range_by_limits(&mut self, idx: &Idx) -> Option<(i128, i128)> {
        // The second for what a proposal knows no more of than that it is far from the ends.
        let limits = [1 << 31, 1 << 61];
        let limit = limits
            .into_iter()
            .find(|l| self.proves(CmpOp::Lt, idx, &Idx::constant(*l)))?;
        self.is_non_negative(idx).then_some((0, limit - 1))
    }

    /// Shows that `idx >= 0`.
    pub fn is_non_negative(&mut self, idx: &Idx) -> bool {
        self.proves(CmpOp::Ge, idx, &Idx::default())
    }

    /// Shows that a condition on indices holds. Other conditions hold if they are among the facts.
    pub fn holds(&mut self, condition: &ElemRef) -> bool {
        let goal = canon::elem(condition);
        if let Elem::Const(v) = &*goal {
            return v.is_true();
        }
        if self.facts.contains(&goal) || self.guard_facts.contains(&goal) {
            return true;
        }
        if !is_index_condition(&goal) {
            return self.holds_by_parts(&goal) || self.holds_of_numbers(&goal);
        }
        if self.is_made_of_facts(&goal) {
            return true;
        }
        if let Some(answer) = self.answered.get(&goal) {
            return answer;
        }
        let answer = self.is_shown(&goal);
        // Out of time, nothing is.
        if !limit::is_over() {
            self.answered.keep(&goal, answer);
        }
        answer
    }

    /// Whether a condition on indices can be shown, by the solver.
    fn is_shown(&mut self, goal: &ElemRef) -> bool {
        // Most of what is asked needs nothing that takes the solver long to read.
        let long: Vec<ElemRef> = match is_long(goal) {
            false => self.guard_facts.extract_if(.., |f| is_long(f)).collect(),
            true => vec![],
        };
        let mut shown = self.follows(goal);
        if !long.is_empty() {
            self.guard_facts.extend(long);
            shown = shown || self.follows(goal);
        }
        shown
    }

    /// Shows a condition that others are put together to: `a && b` holds if both do.
    fn holds_by_parts(&mut self, goal: &ElemRef) -> bool {
        let (e, truth) = match &**goal {
            Elem::Unary(UnOp::Not, inner) => (inner, false),
            _ => (goal, true),
        };
        let is = |e: &ElemRef, v: bool| matches!(&**e, Elem::Const(x) if x.is_true() == v);
        // Both parts are needed, or one is enough.
        let (a, b, both) = match &**e {
            Elem::Binary(BinOp::And, a, b) => (a.clone(), b, truth),
            Elem::Binary(BinOp::Or, a, b) => (a.clone(), b, !truth),
            Elem::Select(a, b, f) if is(f, false) => (a.clone(), b, truth),
            Elem::Select(a, t, b) if is(t, true) => (a.clone(), b, !truth),
            Elem::Select(a, t, b) if is(t, false) => (Elem::not(a.clone()), b, truth),
            Elem::Select(a, b, f) if is(f, true) => (Elem::not(a.clone()), b, !truth),
            _ => return false,
        };
        let of = |e: &ElemRef| match truth {
            true => e.clone(),
            false => Elem::not(e.clone()),
        };
        match both {
            true => self.holds(&of(&a)) && self.holds(&of(b)),
            false => self.holds(&of(&a)) || self.holds(&of(b)),
        }
    }

    /// Shows that an integer compares with a number as facts about it say: what is more than 16 is more than 8.
    fn holds_of_numbers(&mut self, goal: &ElemRef) -> bool {
        let mut said = Vec::new();
        said_of_numbers(self, goal, &mut said);
        let (Some(as_indices), true) = (said.pop(), said.is_empty()) else {
            return false;
        };
        let compared = |e: &ElemRef| {
            let of = match &**e {
                Elem::Unary(UnOp::Not, inner) => inner,
                _ => e,
            };
            match &**of {
                Elem::Compare(_, a, b) => match (&**a, &**b) {
                    (Elem::Const(_), _) => Some(b.clone()),
                    (_, Elem::Const(_)) => Some(a.clone()),
                    _ => None,
                },
                _ => None,
            }
        };
        let Some(number) = compared(goal) else {
            return false;
        };
        let of_it = |fact: &ElemRef| compared(fact).is_some_and(|n| n == number);
        self.facts.iter().any(of_it) && self.holds(&as_indices)
    }

    /// Whether what is to be shown not to be negative is a sum of products of what is known not to be.
    fn is_made_of_facts(&self, goal: &Elem) -> bool {
        fn non_negative(e: &Elem) -> Option<&Idx> {
            match e {
                Elem::IndexCompare(CmpOp::Ge, p, zero) if zero.is_zero() => Some(p),
                _ => None,
            }
        }
        let known = self.guard_facts.iter().chain(&self.facts);
        let known: Vec<&Idx> = known.filter_map(|f| non_negative(f)).collect();
        non_negative(goal).is_some_and(|p| signs::is_non_negative(p, &known))
    }

    fn follows(&mut self, goal: &ElemRef) -> bool {
        !self.is_refuted(goal) && self.cannot_fail(goal)
    }

    /// Whether the solver shows it.
    fn cannot_fail(&mut self, goal: &ElemRef) -> bool {
        let Known {
            mut encoder,
            mut assertions,
            ..
        } = self.encoded();
        let goal = encode_condition(&mut encoder, goal);
        assertions.push(format!("(not {goal})"));
        let script = self.script(&mut encoder, &assertions);
        self.solver.check(&script) == Answer::Unsat
    }

    /// Whether numbers are at hand at which the facts hold, and the condition does not.
    fn is_refuted(&mut self, goal: &ElemRef) -> bool {
        // What a test has planted may rule every point out.
        if !self.planted.is_empty() {
            return false;
        }
        let facts = self.guard_facts.iter().chain(&self.facts);
        let facts: Vec<ElemRef> = facts.filter(|f| is_index_condition(f)).cloned().collect();
        self.points.refute(&facts, &self.params, goal)
    }

    /// `Some(true)` or `Some(false)` if the condition is known to hold or not to.
    pub fn decide(&mut self, condition: &ElemRef) -> Option<bool> {
        if self.holds(condition) {
            Some(true)
        } else if self.holds(&Elem::not(condition.clone())) {
            Some(false)
        } else {
            None
        }
    }

    /// What is known here about elements of arrays and float parameters.
    pub fn element_facts(&self) -> Vec<ElemRef> {
        if self.encodes_facts {
            return vec![];
        }
        self.facts
            .iter()
            .filter(|f| !is_index_condition(f))
            .cloned()
            .collect()
    }
}

/// Whether a condition is about a polynomial of very many terms, such as a location in an array of rank six.
fn is_long(condition: &Elem) -> bool {
    condition.indices().into_iter().any(has_many_terms)
}

/// Whether the solver takes its time over a polynomial, even if that is for nothing.
pub(crate) fn has_many_terms(idx: &Idx) -> bool {
    idx.terms().count() > 8
}

/// Guards and facts at some point.
pub struct Saved {
    guards: Vec<Guard>,
    guard_facts: Vec<ElemRef>,
    facts: Vec<ElemRef>,
    stamps: Stamps,
    defined: usize,
    asked: usize,
}

fn is_reduction(e: &ElemRef) -> bool {
    matches!(&**e, Elem::Fold(f) if f.as_reduction().is_some())
}

#[cfg(test)]
mod tests;
