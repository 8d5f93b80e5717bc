//! Loops that may stop early: a search, a `break`, a `return` from inside of a loop.
//!
//! Such a loop counts up to some N, and stops before that in the first round in which a flag is set or a
//! condition on data fails. With `exit(k)` for "round k stops", the number of rounds that go on is
//!
//! T = min over k < N of (exit(k) ? k : N),
//!
//! so that 0 ≤ T ≤ N, that exit(T) holds if T < N, and that no earlier round stops. The closed form is asked
//! for, and shown, for rounds that go on; after them comes round T as far as it goes, if T < N.

use crate::canon;
use crate::chain::Effect;
use crate::exec::{Executor, State, Stuck, merge};
use crate::loops::{ClosedForm, modified};
use std::collections::BTreeMap;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Expr, Loop, LoopMode, Stmt};
use tensorize_ir::op::{self, BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// A loop that may stop early.
pub(crate) struct Search {
    /// Its rounds as long as they go on, and the part of its condition that counts. It serves to find a closed
    /// form; what is shown is shown of the loop itself.
    goes_on: Loop,
    /// The flags that stop it, with the values they have when it begins.
    flags: BTreeMap<Sym, Scalar>,
}

/// What an arbitrary round does.
struct Round {
    /// Whether it is begun.
    goes_on: ElemRef,
    /// Whether it is the last one.
    exit: ElemRef,
    /// What it leaves, if it is begun.
    end: State,
}

/// Whether the loop, entered in `state`, may stop early.
pub(crate) fn search(l: &Loop, state: &State) -> Option<Search> {
    if !l.test_first || l.mode != LoopMode::Sequential {
        return None;
    }
    let mut parts = Vec::new();
    conjuncts(&l.cond, &mut parts);
    let found = |part: &&Expr| flag(part, l, state);
    let (set, never): (Vec<_>, Vec<_>) = parts.iter().filter_map(found).partition(|f| f.is_set);
    let value = |f: Flag| (f.name, f.first);
    let flags: BTreeMap<Sym, Scalar> = set.into_iter().map(value).collect();
    // What is never set stops no round, but rounds look at it.
    let known = never.into_iter().map(value).chain(flags.clone()).collect();
    let body = going_on(&l.body, &known)?;
    parts.retain(|part| flag(part, l, state).is_none());
    let (data, counts): (Vec<&Expr>, Vec<&Expr>) = parts
        .into_iter()
        .partition(|part| loads(part) || accumulates(part, &body));
    if flags.is_empty() && data.is_empty() {
        return None;
    }
    let cond = counts
        .into_iter()
        .cloned()
        .reduce(|a, b| Expr::Select(Box::new(a), Box::new(b), Box::new(no())))?;
    let goes_on = Loop {
        cond,
        body,
        ..l.clone()
    };
    Some(Search { goes_on, flags })
}

fn no() -> Expr {
    Expr::Const(Scalar::bool(false))
}

fn conjuncts<'e>(e: &'e Expr, out: &mut Vec<&'e Expr>) {
    match e {
        Expr::Select(c, t, f) if matches!(&**f, Expr::Const(v) if !v.is_true()) => {
            conjuncts(c, out);
            conjuncts(t, out);
        }
        Expr::Binary(BinOp::And, a, b) if a.ty() == ScalarType::I1 => {
            conjuncts(a, out);
            conjuncts(b, out);
        }
        _ => out.push(e),
    }
}

fn loads(e: &Expr) -> bool {
    matches!(e, Expr::Load { .. }) || e.children().into_iter().any(loads)
}

/// Whether a part of the condition looks at what the rounds compute rather than count: `x * x + y * y <= 4`, `n != 1`.
fn accumulates(part: &Expr, body: &[Stmt]) -> bool {
    let mut names = Vec::new();
    variables(part, &mut names);
    names.into_iter().any(|name| !steps(body, name))
}

/// Whether a variable is changed, if at all, by adding to it in every round.
fn steps(stmts: &[Stmt], name: &Sym) -> bool {
    stmts.iter().all(|s| match s {
        Stmt::Assign { var, value, .. } if var == name => adds_to(value, name),
        Stmt::If {
            then, otherwise, ..
        } => [then, otherwise]
            .iter()
            .all(|branch| !modified(branch).0.contains_key(name)),
        Stmt::Loop(inner) => steps(&inner.body, name),
        _ => true,
    })
}

fn adds_to(value: &Expr, name: &Sym) -> bool {
    value.ty().is_int()
        && match value {
            Expr::Var(v, _) => v == name,
            Expr::Convert(_, a) => adds_to(a, name),
            Expr::Binary(BinOp::Add, a, b) => adds_to(a, name) || adds_to(b, name),
            Expr::Binary(BinOp::Subtract, a, _) => adds_to(a, name),
            _ => false,
        }
}

fn variables<'e>(e: &'e Expr, out: &mut Vec<&'e Sym>) {
    if let Expr::Var(name, _) = e {
        out.push(name);
    }
    e.children().into_iter().for_each(|c| variables(c, out));
}

/// A variable that is known when the loop begins, and that the body sets to nothing but values that end the loop.
struct Flag {
    name: Sym,
    first: Scalar,
    is_set: bool,
}

/// The flag that a part of the condition tests.
fn flag(part: &Expr, l: &Loop, state: &State) -> Option<Flag> {
    let mut names = Vec::new();
    variables(part, &mut names);
    names.dedup();
    let [name] = names[..] else { return None };
    let Elem::Const(first) = &**state.scalars.get(name)? else {
        return None;
    };
    let goes_on = |v: Scalar| match with_flags(part, &BTreeMap::from([(name.clone(), v)])) {
        Expr::Const(c) => Some(c.is_true()),
        _ => None,
    };
    let mut values = Vec::new();
    let constant = assigned(&l.body, name, &mut values);
    let ends = values.iter().all(|v| goes_on(*v) == Some(false));
    (constant && ends && goes_on(*first) == Some(true)).then(|| Flag {
        name: name.clone(),
        first: *first,
        is_set: !values.is_empty(),
    })
}

/// The values that a variable is set to; `false` if one of them is no literal.
fn assigned(stmts: &[Stmt], name: &Sym, values: &mut Vec<Scalar>) -> bool {
    stmts.iter().all(|s| match s {
        Stmt::Assign { var, value, .. } if var == name => match value {
            Expr::Const(v) => {
                values.push(*v);
                true
            }
            _ => false,
        },
        Stmt::If {
            then, otherwise, ..
        } => assigned(then, name, values) && assigned(otherwise, name, values),
        Stmt::Loop(inner) => assigned(&inner.body, name, values),
        _ => true,
    })
}

/// The expression with the flags' values put in, and literals folded.
fn with_flags(e: &Expr, flags: &BTreeMap<Sym, Scalar>) -> Expr {
    let mut new = e.clone();
    for child in new.children_mut() {
        *child = with_flags(child, flags);
    }
    let literal = |e: &Expr| match e {
        Expr::Const(v) => Some(*v),
        _ => None,
    };
    let folded = match &new {
        Expr::Var(name, _) => flags.get(name).copied(),
        Expr::Unary(UnOp::Not, a) => literal(a).map(|v| op::eval_unary(UnOp::Not, v)),
        Expr::Compare(op, a, b) => match (literal(a), literal(b)) {
            (Some(a), Some(b)) => Some(Scalar::bool(op::eval_compare(*op, a, b))),
            _ => None,
        },
        Expr::Convert(to, a) => literal(a).map(|v| op::eval_convert(*to, v)),
        Expr::Select(c, t, f) => match literal(c) {
            Some(v) => {
                return if v.is_true() {
                    (**t).clone()
                } else {
                    (**f).clone()
                };
            }
            None => None,
        },
        _ => None,
    };
    folded.map_or(new, Expr::Const)
}

/// The statements without the branches that set a flag; `None` if they always set one.
fn going_on(stmts: &[Stmt], flags: &BTreeMap<Sym, Scalar>) -> Option<Vec<Stmt>> {
    let mut out = Vec::new();
    for s in stmts {
        match s {
            Stmt::Assign { var, .. } if flags.contains_key(var) => return None,
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let cond = with_flags(cond, flags);
                let taken = match &cond {
                    Expr::Const(v) => Some(v.is_true()),
                    _ => None,
                };
                let yes = going_on(then, flags).filter(|_| taken != Some(false));
                let no = going_on(otherwise, flags).filter(|_| taken != Some(true));
                match (yes, no) {
                    (None, None) => return None,
                    (Some(only), None) | (None, Some(only)) => out.extend(only),
                    (Some(then), Some(otherwise)) => out.push(Stmt::If {
                        cond,
                        then,
                        otherwise,
                    }),
                }
            }
            Stmt::Loop(inner) => {
                // An inner loop that sets a flag in each of its rounds goes on if it has none: as it is.
                out.push(match going_on(&inner.body, flags) {
                    Some(body) => Stmt::Loop(Loop {
                        cond: with_flags(&inner.cond, flags),
                        body,
                        ..inner.clone()
                    }),
                    None => s.clone(),
                });
            }
            _ => out.push(s.clone()),
        }
    }
    Some(out)
}

/// The condition taken apart: facts that hold if it does (`truth`), or if it doesn't.
pub(crate) fn facts(condition: &ElemRef, truth: bool, out: &mut Vec<ElemRef>) {
    match (&**condition, truth) {
        (Elem::Unary(UnOp::Not, a), _) => facts(a, !truth, out),
        (Elem::Binary(BinOp::And, a, b), true) | (Elem::Binary(BinOp::Or, a, b), false) => {
            facts(a, truth, out);
            facts(b, truth, out);
        }
        (Elem::Select(c, t, f), _) => {
            let is = |e: &ElemRef, v: bool| matches!(&**e, Elem::Const(x) if x.is_true() == v);
            if is(t, !truth) {
                facts(c, false, out);
                facts(f, truth, out);
            } else if is(f, !truth) {
                facts(c, true, out);
                facts(t, truth, out);
            } else {
                out.push(if truth {
                    condition.clone()
                } else {
                    Elem::not(condition.clone())
                });
            }
        }
        (Elem::Const(_), _) => {}
        (_, true) => out.push(condition.clone()),
        (_, false) => out.push(Elem::not(condition.clone())),
    }
}

impl Executor<'_, '_> {
    /// The state, where it is known which of two values a variable has, or whether a place is written. What was written
    /// before `entry` is not of this case alone, and stays as it is.
    fn decided(&mut self, entry: &State, state: &State) -> State {
        let mut new = state.clone();
        for value in new.scalars.values_mut() {
            *value = self.chosen(value);
        }
        for (name, contents) in &mut new.arrays {
            let before = entry.arrays.get(name).map_or(0, |c| c.effects.len());
            let since = self.written(&contents.effects[before..]);
            contents.effects.truncate(before);
            contents.effects.extend(since);
        }
        new
    }

    fn chosen(&mut self, e: &ElemRef) -> ElemRef {
        let Elem::Select(c, t, f) = &**e else {
            return e.clone();
        };
        match self.ctx.decide(c) {
            Some(true) => self.chosen(t),
            Some(false) => self.chosen(f),
            None => Elem::select(c.clone(), self.chosen(t), self.chosen(f)),
        }
    }

    fn written(&mut self, effects: &[Effect]) -> Vec<Effect> {
        let mut out = Vec::new();
        for effect in effects {
            match effect {
                Effect::Point { cond, index, value } => {
                    let cond = match self.ctx.decide(cond) {
                        Some(false) => continue,
                        Some(true) => Elem::constant(Scalar::bool(true)),
                        None => cond.clone(),
                    };
                    out.push(Effect::Point {
                        cond,
                        index: index.clone(),
                        value: self.chosen(value),
                    });
                }
                // What is known here is not of its counter, whatever that is called.
                Effect::Loop { .. } => out.push(effect.clone()),
            }
        }
        out
    }

    fn under_all<T>(
        &mut self,
        conditions: &[ElemRef],
        f: impl FnOnce(&mut Self) -> Result<T, Stuck>,
    ) -> Result<T, Stuck> {
        match conditions.split_first() {
            None => f(self),
            Some((c, rest)) => self.under(c, |x| x.under_all(rest, f)),
        }
    }

    pub(crate) fn run_search(
        &mut self,
        l: &Loop,
        search: &Search,
        state: &mut State,
    ) -> Result<(), Stuck> {
        let k = self.ctx.fresh.name("k");
        let oracle = self.oracle;
        let mut form = oracle.closed_form(self, &search.goes_on, state, &k)?;
        form.trip = canon::idx(&form.trip);
        self.require_trips(l, &form.trip)?;
        if self.checking {
            self.verify_entry(state, &k, &form)?;
        }
        let (first_access, first_hazard) = (self.accesses.len(), self.hazards.len());
        let (depth, first_defined) = (self.path.len(), self.ctx.defined.len());
        let mark = self.ctx.mark();
        self.ctx.assume_in_range(&k, &form.trip);
        self.loops.push((k.clone(), form.trip.clone()));
        self.stops += 1;
        let round = self.a_round(l, search, state, &k, &form);
        self.stops -= 1;
        self.loops.pop();
        self.ctx.forget(mark);
        let round = round?;
        // Not every round is run: what is computed in one says nothing elsewhere.
        self.ctx.defined.truncate(first_defined);
        let rounds = first(&k, &form.trip, &round.exit);
        let t = Idx::value(rounds.clone());
        self.ctx.assume_non_negative(&t);
        let up_to = Elem::index_compare(CmpOp::Le, t.clone(), form.trip.clone());
        self.ctx.assume(up_to);
        if self.checking {
            // A round is run if no earlier one stops.
            let running = self.running(l, state, &k, &form);
            self.in_terms_of_rounds((first_access, first_hazard), &running);
            let reached = Elem::index_compare(CmpOp::Ge, t.clone(), Idx::sym(k.clone()));
            for access in &mut self.accesses[first_access..] {
                access.path.insert(depth, reached.clone());
            }
            for hazard in &mut self.hazards[first_hazard..] {
                hazard.path.insert(depth, reached.clone());
            }
        }
        *state = self.after(l, search, state, (&k, &form), &round, &t)?;
        Ok(())
    }

    /// Runs an arbitrary round, shows that it keeps the closed form if it goes on, and says when it stops.
    fn a_round(
        &mut self,
        l: &Loop,
        search: &Search,
        entry: &State,
        k: &Sym,
        form: &ClosedForm,
    ) -> Result<Round, Stuck> {
        let start = self.at_round(&search.goes_on, entry, k, form)?;
        let goes_on = self.condition(&l.cond, &start)?;
        let mut open = Vec::new();
        facts(&goes_on, true, &mut open);
        let end = self.under_all(&open, |x| x.round(l, start.clone()))?;
        // The body stops the loop if it changes a flag.
        let mut stops = Elem::constant(Scalar::bool(false));
        for (flag, first) in &search.flags {
            let Some(value) = end.scalars.get(flag) else {
                return self.stuck(format!("the value of {flag} is not known where it is read"));
            };
            let changed = Elem::compare(CmpOp::Ne, value.clone(), Elem::constant(*first));
            let changed = canon::elem(&distributed(&changed));
            stops = Elem::select(changed, Elem::constant(Scalar::bool(true)), stops);
        }
        let running = self.running(l, entry, k, form);
        let stops = canon::elem(&stops);
        let exit = Elem::select(
            goes_on.clone(),
            stops.clone(),
            Elem::constant(Scalar::bool(true)),
        );
        let exit = canon::elem(&exit.replace_accs(&running));
        let end = with_accs(&end, &running);
        if self.checking {
            facts(&stops, false, &mut open);
            let recorded = (self.accesses.len(), self.hazards.len());
            self.under_all(&open, |x| {
                let end = x.round(l, start.clone())?;
                x.kept(l, entry, &start, &end, k, form)
            })?;
            // The same round a second time touches nothing else.
            self.accesses.truncate(recorded.0);
            self.hazards.truncate(recorded.1);
        }
        Ok(Round {
            goes_on: goes_on.replace_accs(&running),
            exit,
            end,
        })
    }

    /// The state after the loop: after T rounds, and what round T does before it stops, or after all N.
    fn after(
        &mut self,
        l: &Loop,
        search: &Search,
        entry: &State,
        (k, form): (&Sym, &ClosedForm),
        round: &Round,
        t: &Idx,
    ) -> Result<State, Stuck> {
        let mut all = entry.clone();
        self.apply(&search.goes_on, &mut all, k, form, &form.trip)?;
        if self.checking {
            let ended = Elem::index_compare(CmpOp::Ge, t.clone(), form.trip.clone());
            let c = self.under(&ended, |x| x.condition(&l.cond, &all))?;
            if !self.ctx.holds(&Elem::not(c)) {
                return self
                    .stuck("that the loop ends when its closed form says so could not be shown");
            }
        }
        let mut some = entry.clone();
        self.apply(&search.goes_on, &mut some, k, form, t)?;
        if search.flags.is_empty() {
            return Ok(some);
        }
        let early = Elem::index_compare(CmpOp::Lt, t.clone(), form.trip.clone());
        let mut why = vec![early.clone()];
        facts(&round.exit.replace(k, t), true, &mut why);
        // Round T is the round that was run, at k = T, of which is known that it stops.
        let begins = canon::elem(&round.goes_on.replace(k, t));
        let end = at(&round.end, k, t);
        let mut some = self.under_all(&why, |x| {
            let mut open = Vec::new();
            facts(&begins, true, &mut open);
            let end = x.under_all(&open, |x| Ok(x.decided(entry, &end)))?;
            Ok(match x.ctx.decide(&begins) {
                Some(true) => end,
                _ => merge(&mut x.ctx, &begins, entry, end, some),
            })
        })?;
        // What counts the rounds says T in either case.
        for (var, value) in &mut all.scalars {
            let Some(a) = some.scalars.get_mut(var) else {
                continue;
            };
            let same = |e: &ElemRef, n: &Idx| {
                crate::eval::index_like(e).is_some_and(|i| canon::idx(&(&i - n)).is_zero())
            };
            if same(a, t) && same(value, &form.trip) {
                *value = a.clone();
            }
        }
        // A loop around this one may know how it ends: its own round goes on, or is the one that stops.
        Ok(match self.ctx.decide(&early) {
            Some(true) => some,
            Some(false) => all,
            None => merge(&mut self.ctx, &early, entry, some, all),
        })
    }
}

/// The state with values for the accumulators.
fn with_accs(state: &State, values: &BTreeMap<Sym, ElemRef>) -> State {
    of_each(state, &|v| v.replace_accs(values), &|e| {
        e.replace_accs(values)
    })
}

/// The state of round `k` as that of round `t`.
fn at(state: &State, k: &Sym, t: &Idx) -> State {
    of_each(state, &|v| v.replace(k, t), &|e| e.replace(k, t))
}

fn of_each(
    state: &State,
    scalar: &dyn Fn(&ElemRef) -> ElemRef,
    effect: &dyn Fn(&Effect) -> Effect,
) -> State {
    let mut new = state.clone();
    for value in new.scalars.values_mut() {
        *value = scalar(value);
    }
    for contents in new.arrays.values_mut() {
        contents.effects = contents.effects.iter().map(effect).collect();
    }
    new
}

/// `select(c, x, y) != v` as `select(c, x != v, y != v)`.
fn distributed(e: &ElemRef) -> ElemRef {
    match &**e {
        Elem::Compare(op, a, b) => match &**a {
            Elem::Select(c, t, f) => {
                let at = |x: &ElemRef| distributed(&Elem::compare(*op, x.clone(), b.clone()));
                Elem::select(c.clone(), at(t), at(f))
            }
            _ => e.clone(),
        },
        _ => e.clone(),
    }
}

/// The first round that stops, or `trip`.
fn first(k: &Sym, trip: &Idx, exit: &ElemRef) -> ElemRef {
    let ty = ScalarType::I64;
    let acc: Sym = format!("first@{k}").into();
    let none = Elem::of_idx(ty, trip.clone());
    let here = Elem::select(
        exit.clone(),
        Elem::of_idx(ty, Idx::sym(k.clone())),
        none.clone(),
    );
    let step = Elem::binary(BinOp::Minimum, Arc::new(Elem::Acc(acc.clone(), ty)), here);
    let fold = Fold::new(acc, k.clone(), trip.clone(), none, step);
    Arc::new(Elem::Fold(Arc::new(fold)))
}
