//! Symbolic execution of LoopIR: what a function computes, in index notation.
//!
//! An integer is either *index-like*, a polynomial whose value is known to fit its type, or an opaque
//! machine value. That a polynomial fits is C's rule for signed arithmetic (overflow is undefined, so a
//! run that overflows is none the proof speaks of); for unsigned arithmetic and for generated code it is
//! shown, or becomes a guard.

use crate::canon;
use crate::chain::{Contents, Effect, truth};
use crate::clamp::larger_or_smaller;
use crate::context::Context;
use crate::loops::Oracle;
use crate::loosened::Loosened;
use crate::overflow::{Defined, is_usable, may_overflow};
use crate::slices::IndexArithmetic;
use crate::work::work;
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::{Guard, Tier};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Expr, Function, Overflow, Param, Stmt};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};

/// Places of an array: counters with their extents, and an index.
pub type Places = (Vec<(Sym, Idx)>, Idx);

/// What every variable and array holds.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct State {
    /// A variable that is missing has no known value.
    pub scalars: BTreeMap<Sym, ElemRef>,
    /// Parameters, local arrays, constant tables.
    pub arrays: BTreeMap<Sym, Contents>,
}

/// What stands in the way of a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// In words.
    pub what: String,
    /// Line of the innermost loop around it; 0 if there is none.
    pub line: u32,
}

/// One access to memory, for arbitrary rounds of the loops around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The array.
    pub array: Sym,
    /// Where.
    pub index: Idx,
    /// The loops around it, outermost first: counter and trip count.
    pub loops: Vec<(Sym, Idx)>,
    /// The conditions under which it happens.
    pub path: Vec<ElemRef>,
    /// A store.
    pub write: bool,
}

/// An integer division or a shift that C leaves undefined for some operands, and that may trap.
#[derive(Clone, Debug, PartialEq)]
pub struct Hazard {
    /// The operator.
    pub op: BinOp,
    /// Dividend or shifted value.
    pub left: ElemRef,
    /// Divisor or count.
    pub right: ElemRef,
    /// The loops around it, outermost first: counter and trip count.
    pub loops: Vec<(Sym, Idx)>,
    /// The conditions under which it happens.
    pub path: Vec<ElemRef>,
}

/// How a list of statements ends.
pub enum Flow {
    /// It falls off its end.
    On(State),
    /// It returns.
    Return(State, Option<ElemRef>),
    /// It ends the program.
    Trap,
}

/// Executes one function.
pub struct Executor<'c, 's> {
    /// Facts and the solver.
    pub ctx: Context<'s>,
    /// The function.
    pub kernel: &'c Function,
    /// Proposes the closed forms of loops.
    pub(crate) oracle: &'c dyn Oracle,
    /// Whether closed forms are checked. They aren't while one is being looked for.
    pub(crate) checking: bool,
    /// The weakest tier at which the closed form of a float may hold.
    pub worst: Tier,
    /// The tier at which the closed forms hold that were used. Everything derived from them is of no better one.
    pub tier: Tier,
    /// Why that is no better one.
    pub(crate) loosened: Vec<Loosened>,
    /// Conditions outside of loops that went both ways, each with the way that is likely the usual one.
    pub splits: Vec<(ElemRef, bool)>,
    /// The same of conditions on sizes alone in loops and branches.
    pub inner_splits: Vec<(ElemRef, bool)>,
    /// Where arrays are known to have been written: for proposers, who may try a round of which the start is unknown.
    pub written: BTreeMap<Sym, Vec<Places>>,
    /// Recorded while checking.
    pub accesses: Vec<Access>,
    /// Recorded while checking.
    pub hazards: Vec<Hazard>,
    /// Recorded while checking.
    pub(crate) index_arithmetic: IndexArithmetic,
    pub(crate) loops: Vec<(Sym, Idx)>,
    /// How many of these may end in the round that is run.
    pub(crate) stops: usize,
    pub(crate) path: Vec<ElemRef>,
    /// How many conditions of the path say no more than that the function has not returned early.
    returns: usize,
    /// Whether this is a round of a loop over time: what is in memory then is not what a call finds there.
    pub(crate) is_round: bool,
    pub(crate) line: u32,
}

impl<'c, 's> Executor<'c, 's> {
    /// An executor that checks what the oracle proposes (`checking`), or one that believes it and serves
    /// to propose a summary.
    pub fn new(
        kernel: &'c Function,
        oracle: &'c dyn Oracle,
        ctx: Context<'s>,
        checking: bool,
    ) -> Self {
        Executor {
            ctx,
            kernel,
            oracle,
            checking,
            worst: Tier::Exact,
            tier: Tier::Exact,
            loosened: vec![],
            splits: vec![],
            inner_splits: vec![],
            written: BTreeMap::new(),
            accesses: vec![],
            hazards: vec![],
            index_arithmetic: IndexArithmetic::default(),
            loops: vec![],
            stops: 0,
            path: vec![],
            returns: 0,
            is_round: false,
            line: 0,
        }
    }

    /// The function is one round of so many: a bound variable is its number.
    pub fn in_rounds(&mut self, counter: &Sym, trip: &Idx) {
        self.is_round = true;
        self.ctx.fresh.avoid_name(counter);
        self.ctx.assume_in_range(counter, trip);
        // What guards ask of the data of all rounds is so in this one.
        let guards = self.ctx.guards().iter();
        let said: Vec<_> = guards
            .filter_map(|g| g.said_of_round(counter, trip))
            .collect();
        said.into_iter().for_each(|c| self.ctx.assume(c));
        self.loops.push((counter.clone(), trip.clone()));
    }

    /// The state at a call.
    pub fn entry(&self) -> State {
        let mut state = State::default();
        for p in &self.kernel.params {
            match p {
                Param::Scalar { name, ty } => {
                    let value = if ty.is_int() {
                        Elem::of_idx(*ty, Idx::sym(name.clone()))
                    } else {
                        Elem::Param(name.clone(), *ty).into()
                    };
                    state.scalars.insert(name.clone(), value);
                }
                Param::Array { name, elem, .. } => {
                    let base = Some(name.clone());
                    state.arrays.insert(
                        name.clone(),
                        Contents {
                            base,
                            elem: *elem,
                            effects: vec![],
                        },
                    );
                }
            }
        }
        for a in &self.kernel.arrays {
            let base = a.init.as_ref().map(|_| a.name.clone());
            state.arrays.insert(
                a.name.clone(),
                Contents {
                    base,
                    elem: a.elem,
                    effects: vec![],
                },
            );
        }
        state
    }

    /// Runs the whole function: the final state and the returned value.
    pub fn run(&mut self) -> Result<(State, Option<ElemRef>), Stuck> {
        let state = self.entry();
        let kernel = self.kernel;
        match self.block(&kernel.body, state, true)? {
            Flow::On(state) => Ok((state, None)),
            Flow::Return(state, value) => Ok((state, value)),
            Flow::Trap => self.stuck("every call ends the program, or throws"),
        }
    }

    /// Whether closed forms are checked now. They aren't while one is being looked for.
    pub fn is_checking(&self) -> bool {
        self.checking
    }

    /// The loops around here, outermost first.
    pub fn loops(&self) -> &[(Sym, Idx)] {
        &self.loops
    }

    pub(crate) fn stuck<T>(&self, what: impl Into<String>) -> Result<T, Stuck> {
        Err(Stuck {
            what: what.into(),
            line: self.line,
        })
    }

    /// Runs statements. `top`: nothing is left to do after them.
    pub fn block(&mut self, stmts: &[Stmt], mut state: State, top: bool) -> Result<Flow, Stuck> {
        for (i, stmt) in stmts.iter().enumerate() {
            match stmt {
                Stmt::Assign { var, value, .. } => {
                    let value = self.eval(value, &state)?;
                    state.scalars.insert(var.clone(), value);
                }
                Stmt::Store {
                    array,
                    index,
                    value,
                } => {
                    let at = self.place(index, &state)?;
                    let at = self.once_around(&at);
                    let value = self.eval(value, &state)?;
                    self.record(array, &at, true);
                    self.within_local(array, &at)?;
                    let Some(contents) = state.arrays.get_mut(array) else {
                        return self.stuck(format!("there is no array {array}"));
                    };
                    contents.effects.push(Effect::Point {
                        cond: truth(true),
                        index: at,
                        value,
                    });
                }
                Stmt::Loop(l) => self.run_loop(l, &mut state)?,
                Stmt::Trap => return Ok(Flow::Trap),
                Stmt::Return(value) => {
                    let value = value.as_ref().map(|v| self.eval(v, &state)).transpose()?;
                    return Ok(Flow::Return(state, value));
                }
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    let rest = &stmts[i + 1..];
                    match self.branch(cond, then, otherwise, rest, state, top)? {
                        Flow::On(s) => state = s,
                        done => return Ok(done),
                    }
                }
            }
        }
        Ok(Flow::On(state))
    }

    fn branch(
        &mut self,
        cond: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
        rest: &[Stmt],
        state: State,
        top: bool,
    ) -> Result<Flow, Stuck> {
        let c = self.condition(cond, &state)?;
        if let Elem::Const(v) = &*c {
            let taken = if v.is_true() { then } else { otherwise };
            return self.block(taken, state, top && rest.is_empty());
        }
        let traps = |branch: &[Stmt]| matches!(branch.last(), Some(Stmt::Trap));
        if !traps(then) && !traps(otherwise) {
            self.note_split(&c, !otherwise.is_empty());
        }
        let not_c = Elem::not(c.clone());
        // Where the program would end, nothing else is done under the other condition: that holds wherever this is run.
        for (end, goes_on, stays) in [(then, otherwise, &not_c), (otherwise, then, &c)] {
            if traps(end) && !traps(goes_on) {
                self.must_hold(stays)?;
                self.ctx.assume(stays.clone());
                return self.block(goes_on, state, top && rest.is_empty());
            }
        }
        let yes = self.under(&c, |x| x.block(then, state.clone(), top && rest.is_empty()))?;
        let no = self.under(&not_c, |x| {
            x.block(otherwise, state.clone(), top && rest.is_empty())
        })?;
        match (yes, no) {
            (Flow::Trap, Flow::Trap) => Ok(Flow::Trap),
            (Flow::Trap, goes_on) => self.must_hold(&not_c).map(|()| goes_on),
            (goes_on, Flow::Trap) => self.must_hold(&c).map(|()| goes_on),
            (Flow::On(a), Flow::On(b)) => Ok(Flow::On(merge(&mut self.ctx, &c, &state, a, b))),
            (Flow::Return(a, x), Flow::Return(b, y)) => {
                let value = match (x, y) {
                    (Some(x), Some(y)) => Some(Elem::select(c.clone(), x, y)),
                    _ => None,
                };
                Ok(Flow::Return(merge(&mut self.ctx, &c, &state, a, b), value))
            }
            (yes, no) => {
                let returns_if = matches!(yes, Flow::Return(..));
                let stays = if returns_if { &not_c } else { &c };
                // An early return on sizes, with less to do than there is otherwise: the original answers those calls.
                let (early, other) = if returns_if {
                    (then, otherwise)
                } else {
                    (otherwise, then)
                };
                let does_less = || work(early) < work(other).max(work(rest));
                let outside = self.loops.is_empty() && self.path.is_empty();
                if outside && does_less() && self.guard_against(stays) {
                    return Ok(if returns_if { no } else { yes });
                }
                if !top {
                    return self.stuck(
                        "a return in the middle of the function lies in a loop or a branch",
                    );
                }
                // What follows runs in the branch that goes on.
                let (returned, goes_on) = if returns_if { (yes, no) } else { (no, yes) };
                let (Flow::Return(a, x), Flow::On(b)) = (returned, goes_on) else {
                    return self.stuck("a return that could not be followed");
                };
                self.returns += 1;
                let rest = self.under(stays, |e| e.block(rest, b, true));
                self.returns -= 1;
                let (b, y) = match rest? {
                    Flow::On(b) => (b, None),
                    Flow::Return(b, y) => (b, y),
                    Flow::Trap => {
                        self.must_hold(&Elem::not(stays.clone()))?;
                        return Ok(Flow::Return(a, x));
                    }
                };
                let (first, second) = if returns_if {
                    ((a, x), (b, y))
                } else {
                    ((b, y), (a, x))
                };
                let value = match (first.1, second.1) {
                    (Some(x), Some(y)) => Some(Elem::select(c.clone(), x, y)),
                    _ => None,
                };
                Ok(Flow::Return(
                    merge(&mut self.ctx, &c, &state, first.0, second.0),
                    value,
                ))
            }
        }
    }

    /// Whether this is no part of a loop or a branch; what follows an early return is neither.
    pub(crate) fn at_top(&self) -> bool {
        self.loops.is_empty() && self.path.len() == self.returns
    }

    /// Notes a condition that may go both ways, for those who propose.
    pub(crate) fn note_split(&mut self, condition: &ElemRef, usual: bool) {
        let split = (condition.clone(), usual);
        if self.at_top() {
            self.splits.push(split);
        } else if self.is_of_sizes(condition) && !self.inner_splits.contains(&split) {
            self.inner_splits.push(split);
        }
    }

    fn is_of_sizes(&self, condition: &ElemRef) -> bool {
        matches!(&**condition, Elem::IndexCompare(_, a, b) if self.ctx.is_over_params(&(a - b)))
    }

    /// Makes a condition on sizes a guard, if it can be one.
    fn guard_against(&mut self, must_hold: &ElemRef) -> bool {
        let guards = self.as_guards(must_hold);
        guards
            .iter()
            .flatten()
            .for_each(|g| self.ctx.guard(g.clone()));
        guards.is_some()
    }

    /// The guards that make a condition on sizes true, if it is one.
    pub fn as_guards(&mut self, must_hold: &ElemRef) -> Option<Vec<Guard>> {
        let both = |a: Option<Vec<Guard>>, b: Option<Vec<Guard>>| {
            let mut all = a?;
            all.extend(b?);
            Some(all)
        };
        let is = |e: &ElemRef, truth: bool| matches!(&**e, Elem::Const(v) if v.is_true() == truth);
        match &*canon::elem(must_hold) {
            Elem::Const(v) if v.is_true() => Some(vec![]),
            Elem::IndexCompare(op, p, _) if self.ctx.is_over_params(p) => Some(match op {
                CmpOp::Eq => vec![Guard::NonNegative(p.clone()), Guard::NonNegative(-p)],
                CmpOp::Ne => {
                    // Where nothing is known of its sign, a size is positive: `n != 0` becomes `n >= 1`.
                    let falls = p.terms().all(|(factors, c)| factors.is_empty() || c < 0);
                    let down =
                        self.ctx.is_non_negative(&-p) || (falls && !self.ctx.is_non_negative(p));
                    let p = if down { -p } else { p.clone() };
                    vec![Guard::NonNegative(&p - &Idx::constant(1))]
                }
                // Canonical comparisons are of these three kinds.
                _ => vec![Guard::NonNegative(p.clone())],
            }),
            Elem::Binary(BinOp::And, a, b) => both(self.as_guards(a), self.as_guards(b)),
            // `!(a || b)` as `select(a, false, !b)`.
            Elem::Select(c, t, f) if is(t, false) => {
                both(self.as_guards(&Elem::not(c.clone())), self.as_guards(f))
            }
            Elem::Select(c, t, f) if is(f, false) => both(self.as_guards(c), self.as_guards(t)),
            Elem::Unary(UnOp::Not, inner) => match &**inner {
                Elem::Select(c, t, f) if is(t, true) => both(
                    self.as_guards(&Elem::not(c.clone())),
                    self.as_guards(&Elem::not(f.clone())),
                ),
                _ => None,
            },
            _ => None,
        }
    }

    /// Runs `f` where `condition` holds.
    pub(crate) fn under<T>(
        &mut self,
        condition: &ElemRef,
        f: impl FnOnce(&mut Self) -> Result<T, Stuck>,
    ) -> Result<T, Stuck> {
        let mark = self.ctx.mark();
        self.ctx.assume(condition.clone());
        self.path.push(condition.clone());
        let result = f(self);
        self.path.pop();
        self.ctx.forget(mark);
        result
    }

    pub(crate) fn record(&mut self, array: &Sym, index: &Idx, write: bool) {
        if self.checking {
            self.accesses.push(Access {
                array: array.clone(),
                index: index.clone(),
                loops: self.loops.clone(),
                path: self.path.clone(),
                write,
            });
        }
    }

    /// The original's signed arithmetic does not overflow, where it happens.
    pub(crate) fn record_defined(&mut self, value: &ElemRef) {
        let known = self.checking
            && self.kernel.overflow == Overflow::Undefined
            && may_overflow(value)
            && is_usable(value)
            && self.path.iter().all(is_usable);
        if known {
            self.ctx.defined.push(Defined {
                value: value.clone(),
                loops: self.loops.clone(),
                path: self.path.clone(),
            });
        }
    }

    pub(crate) fn record_hazard(&mut self, op: BinOp, left: &ElemRef, right: &ElemRef) {
        use BinOp::*;
        let ty = left.ty();
        let safe = match (op, &**right) {
            (Divide | Remainder, _) if ty.is_float() => true,
            (Divide | Remainder, Elem::Const(v)) => {
                v.is_true() && !(ty.is_signed() && v.as_int() == -1)
            }
            (ShiftLeft | ShiftRightArithmetic | ShiftRightLogical, Elem::Const(v)) => {
                (0..ty.bits().into()).contains(&v.as_int())
            }
            (Divide | Remainder | ShiftLeft | ShiftRightArithmetic | ShiftRightLogical, _) => false,
            _ => true,
        };
        if self.checking && !safe {
            self.hazards.push(Hazard {
                op,
                left: left.clone(),
                right: right.clone(),
                loops: self.loops.clone(),
                path: self.path.clone(),
            });
        }
    }
}

/// The state after `if (c)`, from those after its branches. `before` is the state that both started from.
pub(crate) fn merge(
    ctx: &mut Context,
    c: &ElemRef,
    before: &State,
    yes: State,
    no: State,
) -> State {
    let mut scalars = BTreeMap::new();
    for (name, a) in yes.scalars {
        // A variable that only one branch has set has no value that could be relied on.
        if let Some(b) = no.scalars.get(&name) {
            let value = larger_or_smaller(ctx, c, &a, b)
                .filter(|_| a != *b)
                .unwrap_or_else(|| Elem::select(c.clone(), a, b.clone()));
            scalars.insert(name, value);
        }
    }
    let mut arrays = BTreeMap::new();
    for (name, a) in yes.arrays {
        let Some(b) = no.arrays.get(&name) else {
            continue;
        };
        let common = before.arrays.get(&name).map_or(0, |x| x.effects.len());
        let mut effects = a.effects[..common].to_vec();
        effects.extend(merge_effects(c, &a.effects[common..], &b.effects[common..]));
        arrays.insert(
            name,
            Contents {
                base: a.base,
                elem: a.elem,
                effects,
            },
        );
    }
    State { scalars, arrays }
}

fn merge_effects(c: &ElemRef, yes: &[Effect], no: &[Effect]) -> Vec<Effect> {
    // Both branches write the same places in the same order: one write of a selected value.
    let paired: Option<Vec<Effect>> = (yes.len() == no.len())
        .then(|| {
            yes.iter()
                .zip(no)
                .map(|(a, b)| match (a, b) {
                    (
                        Effect::Point {
                            cond: p,
                            index: i,
                            value: v,
                        },
                        Effect::Point {
                            cond: q,
                            index: j,
                            value: w,
                        },
                    ) if i == j && p == q => Some(Effect::Point {
                        cond: p.clone(),
                        index: i.clone(),
                        value: Elem::select(c.clone(), v.clone(), w.clone()),
                    }),
                    _ => None,
                })
                .collect()
        })
        .flatten();
    paired.unwrap_or_else(|| {
        let not_c = Elem::not(c.clone());
        yes.iter()
            .map(|e| e.under(c))
            .chain(no.iter().map(|e| e.under(&not_c)))
            .collect()
    })
}
