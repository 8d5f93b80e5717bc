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

/// Whether the loop, entered in `state`, may stop early.
pub(crate) fn search(l: &Loop, state: &State) -> Option<Search> {
    if !l.test_first || l.mode != LoopMode::Sequential {
        return None;
    }
    let mut parts = Vec::new();
    conjuncts(&l.cond, &mut parts);
    let mut flags = BTreeMap::new();
    let (mut counts, mut data) = (Vec::new(), false);
    for part in parts {
        if let Some((flag, value)) = flag(part, l, state) {
            flags.insert(flag, value);
        } else if loads(part) {
            data = true;
        } else {
            counts.push(part.clone());
        }
    }
    if flags.is_empty() && !data {
        return None;
    }
    let cond = counts
        .into_iter()
        .reduce(|a, b| Expr::Select(Box::new(a), Box::new(b), Box::new(no())))?;
    let body = going_on(&l.body, &flags)?;
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

fn variables<'e>(e: &'e Expr, out: &mut Vec<&'e Sym>) {
    if let Expr::Var(name, _) = e {
        out.push(name);
    }
    e.children().into_iter().for_each(|c| variables(c, out));
}

/// The flag that a part of the condition tests: a variable that is known when the loop begins, and that the
/// body sets to nothing but values that end the loop.
fn flag(part: &Expr, l: &Loop, state: &State) -> Option<(Sym, Scalar)> {
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
    let ends = !values.is_empty() && values.iter().all(|v| goes_on(*v) == Some(false));
    (constant && ends && goes_on(*first) == Some(true)).then(|| (name.clone(), *first))
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
        // A flag that an inner loop sets is that loop's business first.
        Stmt::Loop(inner) => !modified(&inner.body).0.contains_key(name),
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
            _ => out.push(s.clone()),
        }
    }
    Some(out)
}

/// The condition taken apart: facts that hold if it does (`truth`), or if it doesn't.
fn facts(condition: &ElemRef, truth: bool, out: &mut Vec<ElemRef>) {
    match (&**condition, truth) {
        (Elem::Unary(UnOp::Not, a), _) => facts(a, !truth, out),
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
        let exit = self.a_round(l, search, state, &k, &form);
        self.loops.pop();
        self.ctx.forget(mark);
        let exit = exit?;
        // Not every round is run: what is computed in one says nothing elsewhere.
        self.ctx.defined.truncate(first_defined);
        let rounds = first(&k, &form.trip, &exit);
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
        *state = self.after(l, search, state, &k, &form, &exit, &t)?;
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
    ) -> Result<ElemRef, Stuck> {
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
        let exit = Elem::select(goes_on, stops.clone(), Elem::constant(Scalar::bool(true)));
        let exit = canon::elem(&exit.replace_accs(&running));
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
        Ok(exit)
    }

    /// The state after the loop: after T rounds, and what round T does before it stops, or after all N.
    #[allow(clippy::too_many_arguments)]
    fn after(
        &mut self,
        l: &Loop,
        search: &Search,
        entry: &State,
        k: &Sym,
        form: &ClosedForm,
        exit: &ElemRef,
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
        facts(&exit.replace(k, t), true, &mut why);
        let (first_access, first_hazard) = (self.accesses.len(), self.hazards.len());
        let some = self.under_all(&why, |x| {
            let goes_on = x.condition(&l.cond, &some)?;
            let mut open = Vec::new();
            facts(&goes_on, true, &mut open);
            let end = x.under_all(&open, |x| x.round(l, some.clone()))?;
            Ok(if open.is_empty() {
                end
            } else {
                merge(&goes_on, entry, end, some)
            })
        })?;
        // Round T was recorded as one of all rounds.
        self.accesses.truncate(first_access);
        self.hazards.truncate(first_hazard);
        let mut after = merge(&early, entry, some.clone(), all.clone());
        for (var, value) in &mut after.scalars {
            // What counts the rounds says T in either case.
            let (Some(a), Some(b)) = (some.scalars.get(var), all.scalars.get(var)) else {
                continue;
            };
            let same = |e: &ElemRef, n: &Idx| {
                crate::eval::index_like(e).is_some_and(|i| canon::idx(&(&i - n)).is_zero())
            };
            if same(a, t) && same(b, &form.trip) {
                *value = a.clone();
            }
        }
        Ok(after)
    }
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
