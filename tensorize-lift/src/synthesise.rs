//! The second proposer: closed forms of loops that are searched for.
//!
//! Where a round's result says at once what a variable holds after k rounds (a counter, a sum, the last
//! value), [`Summariser`] reads it off. Where variables depend on each other, as in a one-pass variance, it can't.
//! Here the kernel is run on inputs ([`trace`]), and expressions are enumerated by size ([`bank`]) until one has
//! the value that the variable had at the start of each round. They are made of sums of what the loop's body
//! computes, its accumulators taken out ([`terms`]); of the body's operators, constants and live variables.
//! What fits all runs is shown to the prover. If it does not agree, there are more runs, what was wrong
//! is barred, and the search goes on, up to a bound.

use crate::raise;
use crate::summarise::Summariser;
use crate::summarise::closed_form::{Tried, propose, token, try_round};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Function, Loop};
use tensorize_prove::chain::Effect;
use tensorize_prove::exec::{Executor, State, Stuck};
use tensorize_prove::loops::{ClosedForm, Oracle, ScalarForm, modified};

mod bank;
mod scalar;
mod search;
mod terms;
mod trace;
mod widen;

use search::Problem;
use trace::Runs;

pub use scalar::plainer;
pub use search::Grammar;

/// How often the search goes on after the prover did not agree.
const MAX_ATTEMPTS: u64 = 3;

/// Proposes closed forms by search, where trying a round is not enough.
#[derive(Clone, Default)]
pub struct Synthesiser {
    grammar: Grammar,
    memory: Rc<RefCell<Memory>>,
}

/// What was found out about a kernel.
#[derive(Default)]
struct Memory {
    kernel: Option<Function>,
    runs: Option<Runs>,
    /// Solutions, by loop and situation; `None` if there is none.
    solutions: BTreeMap<String, Option<Solution>>,
    /// How many forms were found.
    found: usize,
    /// Whether anything was searched for.
    searched: bool,
    /// How often something was left unknown.
    guessed: usize,
}

/// What variables hold at the start of a round.
type Solution = BTreeMap<Sym, ElemRef>;

impl fmt::Debug for Synthesiser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Synthesiser")
    }
}

/// What it remembers makes no difference.
impl PartialEq for Synthesiser {
    fn eq(&self, other: &Self) -> bool {
        self.grammar == other.grammar
    }
}

impl Synthesiser {
    /// One that searches in this grammar.
    pub fn new(grammar: Grammar) -> Synthesiser {
        Synthesiser {
            grammar,
            ..Synthesiser::default()
        }
    }

    /// Whether it has searched for any form.
    pub fn has_searched(&self) -> bool {
        self.memory.borrow().searched
    }

    /// Whether it has found any form that trying a round does not give.
    pub fn has_found(&self) -> bool {
        self.memory.borrow().found > 0
    }
}

impl Synthesiser {
    /// Whether a variable was taken to hold some value, so that a summary would be about nothing.
    pub fn has_guessed(&self) -> bool {
        self.memory.borrow().guessed > 0
    }
}

impl Oracle for Synthesiser {
    fn closed_form(
        &self,
        exec: &mut Executor,
        l: &Loop,
        state: &State,
        k: &Sym,
    ) -> Result<ClosedForm, Stuck> {
        let base = Summariser.closed_form(exec, l, state, k);
        if base.as_ref().is_ok_and(|form| is_plain(form, l, k, state)) {
            return base;
        }
        let settled: Solution = base.iter().flat_map(|form| at_forms(form, state)).collect();
        let Ok(tried) = try_round(exec, l, state, k, &settled) else {
            return base;
        };
        let situation = Situation::of(l, state, k, tried, &settled, exec);
        if situation.targets.is_empty() || situation.is_running && base.is_ok() {
            return base;
        }
        if let Some(known) = self.solve(exec, l, state, &situation, &settled)
            && let Ok(form) = propose(exec, l, state, k, &with(&known, &settled))
        {
            return Ok(form);
        }
        let mut form = base?;
        if !exec.is_checking() {
            // Whatever it is: the rest of the kernel may still be looked at.
            for var in &situation.targets {
                let ty = situation.ends[var].ty();
                let name = exec.ctx.fresh.name("unknown");
                if !form.scalars.contains_key(var) {
                    self.memory.borrow_mut().guessed += 1;
                    let unknown = ScalarForm::At(Arc::new(Elem::Acc(name, ty)));
                    form.scalars.insert(var.clone(), unknown);
                }
            }
        }
        Ok(form)
    }
}

/// What is known of variables as a function of the round, without a search.
fn at_forms<'a>(form: &'a ClosedForm, state: &'a State) -> impl Iterator<Item = (Sym, ElemRef)> {
    form.scalars.iter().filter_map(|(var, form)| match form {
        ScalarForm::At(e) if state.scalars.contains_key(var) => Some((var.clone(), e.clone())),
        _ => None,
    })
}

fn with(a: &Solution, b: &Solution) -> Solution {
    let both = a.iter().chain(b);
    both.map(|(v, e)| (v.clone(), e.clone())).collect()
}

/// Whether every variable has a form that is a counter, a reduction or a last value.
fn is_plain(form: &ClosedForm, l: &Loop, k: &Sym, state: &State) -> bool {
    modified(&l.body).0.keys().all(|var| {
        match (form.scalars.get(var), state.scalars.get(var)) {
            (Some(ScalarForm::At(_) | ScalarForm::Last(_)), _) => true,
            (Some(ScalarForm::Fold { acc, step }), Some(init)) => {
                let others = mentions_accumulators(step, acc);
                let own = step.mentions(acc);
                !others && (!own || is_reduction(acc, k, init, step))
            }
            // Nothing is known of what has no value before the loop either.
            (_, None) => true,
            _ => false,
        }
    })
}

/// Whether accumulators of the loop other than this one occur.
fn mentions_accumulators(e: &ElemRef, own: &Sym) -> bool {
    let mut any = false;
    e.visit(&mut |x| any |= matches!(&**x, Elem::Acc(n, _) if n != own && n.contains('@')));
    any
}

fn is_reduction(acc: &Sym, k: &Sym, init: &ElemRef, step: &ElemRef) -> bool {
    let extent = Idx::sym(k.clone());
    let fold = Fold::new(acc.clone(), k.clone(), extent, init.clone(), step.clone());
    raise::is_reduction(&fold)
}

/// A loop, as the search sees it.
struct Situation {
    k: Sym,
    /// The counters of the loops around, and `k`.
    names: Vec<Sym>,
    /// What the variables hold at the end of round `k`, those that are carried over having names.
    ends: BTreeMap<Sym, ElemRef>,
    entries: BTreeMap<Sym, ElemRef>,
    /// Carried over, and not functions of the round: their names.
    tokens: BTreeMap<Sym, Sym>,
    /// Those that are reductions.
    reductions: BTreeSet<Sym>,
    /// Those for which a form is wanted.
    targets: BTreeSet<Sym>,
    /// Whether what they hold is stored in each round.
    is_running: bool,
    /// The names of the contents of changed arrays at the start of the round.
    arrays: BTreeSet<Sym>,
}

impl Situation {
    fn of(
        l: &Loop,
        state: &State,
        k: &Sym,
        tried: Tried,
        settled: &Solution,
        exec: &Executor,
    ) -> Situation {
        let scalars = modified(&l.body).0;
        let mut names: Vec<Sym> = exec.loops().iter().map(|(s, _)| s.clone()).collect();
        names.push(k.clone());
        let ends: BTreeMap<Sym, ElemRef> = scalars
            .keys()
            .filter(|v| !tried.counters.contains_key(*v) && !settled.contains_key(*v))
            .filter_map(|v| Some((v.clone(), tried.end.scalars.get(v)?.clone())))
            .collect();
        let carried = scalars.keys().filter(|v| {
            state.scalars.contains_key(*v)
                && !tried.counters.contains_key(*v)
                && ends.contains_key(*v)
        });
        let tokens: BTreeMap<Sym, Sym> = carried.map(|v| (v.clone(), token(v, k))).collect();
        let mut read: BTreeSet<Sym> = BTreeSet::new();
        let mut note = |e: &ElemRef| {
            e.visit(&mut |x| {
                if let Elem::Acc(n, _) = &**x {
                    read.insert(n.clone());
                }
            });
        };
        for effect in tried.end.arrays.values().flat_map(|c| &c.effects) {
            each_value(effect, &mut note);
        }
        let stored = read.clone();
        let mut note = |e: &ElemRef| {
            e.visit(&mut |x| {
                if let Elem::Acc(n, _) = &**x {
                    read.insert(n.clone());
                }
            });
        };
        ends.values().for_each(&mut note);
        let entries = state.scalars.clone();
        let mut reductions = BTreeSet::new();
        let mut targets = BTreeSet::new();
        for (var, own) in &tokens {
            let end = &ends[var];
            let unchanged = matches!(&**end, Elem::Acc(n, _) if n == own);
            if !read.contains(own) || unchanged {
                continue;
            }
            let others = tokens.values().any(|t| t != own && end.mentions(t));
            if !others && is_reduction(own, k, &entries[var], end) {
                reductions.insert(var.clone());
            } else {
                targets.insert(var.clone());
            }
        }
        // A running result is best left as the recurrence that it is: as a function of the round, each of its
        // elements would be summed up anew.
        let is_running = targets.iter().any(|v| stored.contains(&tokens[v]));
        Situation {
            k: k.clone(),
            names,
            ends,
            entries,
            tokens,
            reductions,
            is_running,
            targets,
            arrays: tried.tokens.into_values().collect(),
        }
    }

    /// The same for all situations that differ in names only.
    fn key(&self, l: &Loop, exec: &Executor) -> String {
        let mut text = format!("{} {:?}", l.id, exec.worst);
        for (var, e) in self.ends.iter().chain(
            self.targets
                .iter()
                .filter_map(|v| self.entries.get_key_value(v)),
        ) {
            text += &format!(" {var} {}", self.abstracted(e));
        }
        text
    }

    fn placeholder(i: usize) -> Sym {
        format!("%{i}").into()
    }

    /// The expression without names that differ from one look at the loop to the next.
    fn abstracted(&self, e: &ElemRef) -> ElemRef {
        let with = |s: &Sym| {
            let i = self.names.iter().position(|n| n == s)?;
            Some(Idx::sym(Situation::placeholder(i)))
        };
        e.substitute(&with).map(&mut |x| match &**x {
            Elem::Read { array, ty, index } if array.contains('@') => {
                Some(Elem::read(trace::plain(array), *ty, index.clone()))
            }
            Elem::Acc(n, ty) if n.contains('@') => {
                Some(Arc::new(Elem::Acc(trace::plain(n).into(), *ty)))
            }
            _ => None,
        })
    }

    /// A solution that was found in such a situation, in the names of this one.
    fn concrete(&self, e: &ElemRef, exec: &mut Executor) -> ElemRef {
        let mut arrays: BTreeMap<Sym, Sym> = BTreeMap::new();
        for x in self.ends.values().chain(self.entries.values()) {
            x.visit(&mut |x| {
                if let Elem::Read { array, .. } = &**x
                    && !self.arrays.contains(array)
                {
                    arrays.insert(trace::plain(array).into(), array.clone());
                }
            });
        }
        let with = |s: &Sym| {
            let i = (0..self.names.len()).find(|i| **s == *Situation::placeholder(*i))?;
            Some(Idx::sym(self.names[i].clone()))
        };
        let renamed = e.substitute(&with).map(&mut |x| match &**x {
            Elem::Read { array, ty, index } => {
                let name = arrays.get(array).unwrap_or(array);
                (name != array).then(|| Elem::read(name.clone(), *ty, index.clone()))
            }
            _ => None,
        });
        renamed.freshen(&mut exec.ctx.fresh)
    }
}

fn each_value(e: &Effect, f: &mut dyn FnMut(&ElemRef)) {
    for leaf in e.leaves() {
        f(leaf.value);
        f(leaf.cond);
    }
}

impl Synthesiser {
    /// What the variables hold at the start of round `k`, if that can be found.
    fn solve(
        &self,
        exec: &mut Executor,
        l: &Loop,
        state: &State,
        situation: &Situation,
        settled: &Solution,
    ) -> Option<Solution> {
        let mut memory = self.memory.borrow_mut();
        if memory.kernel.as_ref() != Some(exec.kernel) {
            *memory = Memory {
                kernel: Some(exec.kernel.clone()),
                runs: Runs::of(exec.kernel),
                ..Memory::default()
            };
        }
        let depth = memory.runs.as_ref()?.depth(l.id)?;
        if depth != situation.names.len() {
            return None;
        }
        let key = situation.key(l, exec);
        if let Some(known) = memory.solutions.get(&key) {
            let known = known.clone()?;
            return Some(
                known
                    .iter()
                    .map(|(v, e)| (v.clone(), situation.concrete(e, exec)))
                    .collect(),
            );
        }
        memory.searched = true;
        // The prover asks for the forms of inner loops while it looks at this one.
        drop(memory);
        let solution = self.search(exec, l, state, situation, settled);
        let mut memory = self.memory.borrow_mut();
        memory.found += usize::from(solution.is_some());
        let stored = solution.as_ref().map(|s| {
            let abstracted = |(v, e): (&Sym, &ElemRef)| (v.clone(), situation.abstracted(e));
            s.iter().map(abstracted).collect()
        });
        memory.solutions.insert(key, stored);
        solution
    }

    fn search(
        &self,
        exec: &mut Executor,
        l: &Loop,
        state: &State,
        situation: &Situation,
        settled: &Solution,
    ) -> Option<Solution> {
        let mut barred: BTreeSet<String> = BTreeSet::new();
        for attempt in 1..=MAX_ATTEMPTS {
            let known = {
                let memory = self.memory.borrow();
                let problem = Problem {
                    situation,
                    runs: memory.runs.as_ref()?,
                    id: l.id,
                    grammar: self.grammar,
                    barred: &barred,
                };
                problem.candidates(exec)?
            };
            let all = with(&known, settled);
            let form = propose(exec, l, state, &situation.k, &all);
            if form.is_ok_and(|form| exec.would_hold(l, state, &situation.k, &form)) {
                return Some(known);
            }
            // It may be wrong, which more runs show; it may be right and not provable, so that another is needed.
            let mut memory = self.memory.borrow_mut();
            memory.runs.as_mut()?.more(attempt + 1, 40, 14);
            barred.extend(
                situation
                    .targets
                    .iter()
                    .filter_map(|v| known.get(v))
                    .map(|e| situation.abstracted(e).to_string()),
            );
        }
        None
    }
}
