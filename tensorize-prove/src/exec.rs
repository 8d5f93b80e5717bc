//! Symbolic execution of LoopIR: what a function computes, in index notation.
//!
//! An integer is either *index-like*, a polynomial whose value is known to fit its type, or an opaque
//! machine value. That a polynomial fits is C's rule for signed arithmetic (overflow is undefined, so a
//! run that overflows is none the proof speaks of); for unsigned arithmetic and for generated code it is
//! shown, or becomes a guard.

use crate::canon;
use crate::chain::{self, Contents, Effect, truth};
use crate::context::{Context, is_index_condition};
use crate::loops::Oracle;
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::{Expr, Function, Overflow, Param, Stmt};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;

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
    /// Recorded while checking.
    pub accesses: Vec<Access>,
    /// Recorded while checking.
    pub hazards: Vec<Hazard>,
    pub(crate) loops: Vec<(Sym, Idx)>,
    pub(crate) path: Vec<ElemRef>,
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
            accesses: vec![],
            hazards: vec![],
            loops: vec![],
            path: vec![],
            line: 0,
        }
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
        }
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
                    let at = self.index(index, &state)?;
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
        let not_c = Elem::not(c.clone());
        let yes = self.under(&c, |x| x.block(then, state.clone(), top && rest.is_empty()))?;
        let no = self.under(&not_c, |x| {
            x.block(otherwise, state.clone(), top && rest.is_empty())
        })?;
        match (yes, no) {
            (Flow::On(a), Flow::On(b)) => Ok(Flow::On(merge(&c, &state, a, b))),
            (Flow::Return(a, x), Flow::Return(b, y)) => {
                let value = match (x, y) {
                    (Some(x), Some(y)) => Some(Elem::select(c.clone(), x, y)),
                    _ => None,
                };
                Ok(Flow::Return(merge(&c, &state, a, b), value))
            }
            (yes, no) => {
                let returns_if = matches!(yes, Flow::Return(..));
                let stays = if returns_if { &not_c } else { &c };
                // An early return on sizes: the original answers those calls.
                if self.loops.is_empty() && self.path.is_empty() && self.guard_against(stays) {
                    let (Flow::On(s) | Flow::Return(s, _)) = if returns_if { no } else { yes };
                    return Ok(Flow::On(s));
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
                let (b, y) = match self.under(stays, |e| e.block(rest, b, true))? {
                    Flow::On(b) => (b, None),
                    Flow::Return(b, y) => (b, y),
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
                Ok(Flow::Return(merge(&c, &state, first.0, second.0), value))
            }
        }
    }

    /// Makes a condition on sizes a guard, if it can be one.
    fn guard_against(&mut self, must_hold: &ElemRef) -> bool {
        match &*canon::elem(must_hold) {
            Elem::IndexCompare(CmpOp::Ge, p, _) if self.ctx.is_over_params(p) => {
                self.ctx.guard(Guard::NonNegative(p.clone()));
                true
            }
            Elem::IndexCompare(CmpOp::Ne, p, _) if self.ctx.is_over_params(p) => {
                let one = Idx::constant(1);
                let p = if self.ctx.is_non_negative(&-p) {
                    -p
                } else {
                    p.clone()
                };
                self.ctx.guard(Guard::NonNegative(&p - &one));
                true
            }
            Elem::Binary(BinOp::And, a, b) => self.guard_against(a) && self.guard_against(b),
            // `!(a || b)` as `select(a, false, !b)`.
            Elem::Select(c, t, f) if matches!(&**t, Elem::Const(v) if !v.is_true()) => {
                self.guard_against(&Elem::not(c.clone())) && self.guard_against(f)
            }
            Elem::Select(c, t, f) if matches!(&**f, Elem::Const(v) if !v.is_true()) => {
                self.guard_against(c) && self.guard_against(t)
            }
            Elem::Unary(UnOp::Not, inner) => match &**inner {
                Elem::Select(c, t, f) if matches!(&**t, Elem::Const(v) if v.is_true()) => {
                    self.guard_against(&Elem::not(c.clone()))
                        && self.guard_against(&Elem::not(f.clone()))
                }
                _ => false,
            },
            _ => false,
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

    fn record_hazard(&mut self, op: BinOp, left: &ElemRef, right: &ElemRef) {
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

    /// Generated code stays inside of its own arrays; of the original, C says so.
    fn within_local(&mut self, array: &Sym, at: &Idx) -> Result<(), Stuck> {
        if !self.checking || self.kernel.overflow == Overflow::Undefined {
            return Ok(());
        }
        let Some(local) = self.kernel.arrays.iter().find(|a| a.name == *array) else {
            return Ok(());
        };
        let len = Idx::constant(local.len as i128);
        if self.ctx.is_non_negative(at) && self.ctx.proves(CmpOp::Lt, at, &len) {
            Ok(())
        } else {
            self.stuck(format!(
                "that {array}[{at}] lies inside of the local array could not be shown"
            ))
        }
    }

    /// The value of a condition, a literal if it is known.
    pub fn condition(&mut self, e: &Expr, state: &State) -> Result<ElemRef, Stuck> {
        let c = canon::elem(&self.eval(e, state)?);
        if is_index_condition(&c)
            && let Some(known) = self.ctx.decide(&c)
        {
            return Ok(truth(known));
        }
        Ok(c)
    }

    /// The value of an index expression.
    pub fn index(&mut self, e: &Expr, state: &State) -> Result<Idx, Stuck> {
        Ok(as_idx(&self.eval(e, state)?))
    }

    /// The value of an expression.
    pub fn eval(&mut self, e: &Expr, state: &State) -> Result<ElemRef, Stuck> {
        Ok(match e {
            Expr::Const(v) => Elem::constant(*v),
            Expr::Var(name, _) => match state.scalars.get(name) {
                Some(v) => v.clone(),
                None => {
                    return self
                        .stuck(format!("the value of {name} is not known where it is read"));
                }
            },
            Expr::Load { array, index, .. } => {
                let at = self.index(index, state)?;
                self.record(array, &at, false);
                self.within_local(array, &at)?;
                let Some(contents) = state.arrays.get(array) else {
                    return self.stuck(format!("there is no array {array}"));
                };
                let table = self
                    .kernel
                    .arrays
                    .iter()
                    .find(|a| a.name == *array)
                    .and_then(|a| a.init.as_ref());
                if let (Some(values), true) = (table, contents.effects.is_empty())
                    && !values.is_empty()
                {
                    let selected = Elem::table(values, &at);
                    return Ok(self.ctx.settle(&selected));
                }
                match chain::read(&mut self.ctx, array, contents, &at) {
                    Ok(v) => v,
                    Err(chain::Unresolved(why)) => return self.stuck(why),
                }
            }
            Expr::Unary(op, a) => {
                let a = self.eval(a, state)?;
                match (op, index_like(&a)) {
                    (UnOp::Negate, Some(p)) if self.keeps(a.ty(), &-&p) => {
                        Elem::of_idx(a.ty(), -&p)
                    }
                    _ => Elem::unary(*op, a),
                }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.eval(a, state)?, self.eval(b, state)?);
                self.record_hazard(*op, &a, &b);
                self.binary(*op, a, b)
            }
            Expr::Compare(op, a, b) => {
                let (a, b) = (self.eval(a, state)?, self.eval(b, state)?);
                match (index_like(&a), index_like(&b)) {
                    (Some(p), Some(q)) => Elem::index_compare(*op, p, q),
                    _ => Elem::compare(*op, a, b),
                }
            }
            Expr::Convert(to, a) => {
                let a = self.eval(a, state)?;
                self.convert(*to, a)
            }
            Expr::Bitcast(to, a) => {
                let a = self.eval(a, state)?;
                if a.ty() == *to {
                    a
                } else {
                    Elem::Bitcast(*to, a).into()
                }
            }
            Expr::Select(c, t, f) => {
                let c = self.condition(c, state)?;
                match &*c {
                    Elem::Const(v) => self.eval(if v.is_true() { t } else { f }, state)?,
                    _ => {
                        let t = self.under(&c, |x| x.eval(t, state))?;
                        let f = self.under(&Elem::not(c.clone()), |x| x.eval(f, state))?;
                        larger_or_smaller(&c, &t, &f).unwrap_or_else(|| Elem::select(c, t, f))
                    }
                }
            }
        })
    }

    fn binary(&mut self, op: BinOp, a: ElemRef, b: ElemRef) -> ElemRef {
        let ty = a.ty();
        let (Some(p), Some(q)) = (index_like(&a), index_like(&b)) else {
            return Elem::binary(op, a, b);
        };
        if matches!((&*a, &*b), (Elem::Const(_), Elem::Const(_))) {
            return Elem::binary(op, a, b);
        }
        let small = q.as_constant().filter(|c| (0..63).contains(c));
        let result = match op {
            BinOp::Add => &p + &q,
            BinOp::Subtract => &p - &q,
            BinOp::Multiply => &p * &q,
            BinOp::ShiftLeft if small.is_some() => &p * &Idx::constant(1 << small.unwrap_or(0)),
            BinOp::ShiftRightArithmetic if small.is_some() && ty.is_signed() => {
                return Elem::of_idx(ty, p.floor_div(&Idx::constant(1 << small.unwrap_or(0))));
            }
            BinOp::ShiftRightLogical if small.is_some() && self.ctx.is_non_negative(&p) => {
                return Elem::of_idx(ty, p.floor_div(&Idx::constant(1 << small.unwrap_or(0))));
            }
            BinOp::Divide | BinOp::Remainder
                if self.ctx.proves(CmpOp::Ge, &q, &Idx::constant(1)) && self.is_size(&p) =>
            {
                let idx = if op == BinOp::Divide {
                    p.floor_div(&q)
                } else {
                    p.modulo(&q)
                };
                return Elem::of_idx(ty, canon::idx(&idx));
            }
            BinOp::And
                if small.is_some_and(|c| c > 0 && (c + 1).count_ones() == 1)
                    && self.ctx.is_non_negative(&p) =>
            {
                let modulus = Idx::constant(small.unwrap_or(0) + 1);
                return Elem::of_idx(ty, canon::idx(&p.modulo(&modulus)));
            }
            BinOp::Maximum => p.maximum(&q),
            BinOp::Minimum => p.minimum(&q),
            _ => return Elem::binary(op, a, b),
        };
        if self.keeps(ty, &result) {
            Elem::of_idx(ty, result)
        } else {
            Elem::binary(op, a, b)
        }
    }

    fn convert(&mut self, to: ScalarType, a: ElemRef) -> ElemRef {
        let from = a.ty();
        match index_like(&a) {
            Some(p) if to == ScalarType::I1 => Elem::index_compare(CmpOp::Ne, p, Idx::default()),
            Some(p) if to.is_int() && (from.fits_in(to) || self.fits(to, &p)) => {
                Elem::of_idx(to, p)
            }
            _ => Elem::convert(to, a),
        }
    }

    /// Whether `p` is not negative: shown, or made a guard if it is a size.
    fn is_size(&mut self, p: &Idx) -> bool {
        if self.ctx.is_non_negative(p) {
            return true;
        }
        let may_be = p.as_constant().is_none()
            && self.ctx.is_over_params(p)
            && !self.ctx.proves(CmpOp::Lt, p, &Idx::default());
        if may_be {
            self.ctx.guard(Guard::NonNegative(p.clone()));
        }
        may_be
    }

    /// Whether the result `p` of arithmetic in the type `ty` is a value of that type.
    fn keeps(&mut self, ty: ScalarType, p: &Idx) -> bool {
        (ty.is_signed() && self.kernel.overflow == Overflow::Undefined) || self.fits(ty, p)
    }

    /// Whether `p` is a value of the type: shown, or made a guard.
    fn fits(&mut self, ty: ScalarType, p: &Idx) -> bool {
        let low = p - &Idx::constant(ty.min_value());
        if !self.ctx.is_non_negative(&low) {
            // What is known to leave the type wraps, and that is that.
            if self.ctx.proves(CmpOp::Lt, &low, &Idx::default()) {
                return false;
            }
            // A difference of sizes is a guard; anything else may well be meant to wrap.
            let lower = if ty.is_signed() {
                self.bound(p, false)
            } else {
                Some(p.clone())
            };
            let Some(lower) = lower.filter(|l| self.ctx.is_over_params(l)) else {
                return false;
            };
            if ty.is_signed() {
                self.ctx.guard(Guard::Fits(lower, ty));
            } else {
                self.ctx.guard(Guard::NonNegative(lower));
            }
        }
        let max = Idx::constant(ty.max_value());
        if self.ctx.proves(CmpOp::Le, p, &max) {
            return true;
        }
        if self.ctx.proves(CmpOp::Gt, p, &max) {
            return false;
        }
        match self.bound(p, true).filter(|u| self.ctx.is_over_params(u)) {
            Some(upper) => {
                self.ctx.guard(Guard::Fits(upper, ty));
                true
            }
            None => false,
        }
    }

    /// A polynomial over the parameters that is at least (`upper`) or at most `p`, in every round of the
    /// loops around here.
    pub fn bound(&mut self, p: &Idx, upper: bool) -> Option<Idx> {
        let loops = self.loops.clone();
        bound(&mut self.ctx, p, &loops, upper)
    }
}

/// See [`Executor::bound`]: counters are replaced by the end of their range at which `p` is largest (or
/// smallest), innermost first.
pub fn bound(ctx: &mut Context, p: &Idx, loops: &[(Sym, Idx)], upper: bool) -> Option<Idx> {
    let mut p = canon::idx(p);
    for (var, extent) in loops.iter().rev() {
        if !p.mentions(var) {
            continue;
        }
        let (slope, rest) = p.linear_in(var)?;
        let rises = if ctx.is_non_negative(&slope) {
            true
        } else if ctx.is_non_negative(&-&slope) {
            false
        } else if ctx.is_over_params(&slope) {
            // A stride such as a leading dimension: negative ones are left to the original.
            ctx.guard(Guard::NonNegative(slope.clone()));
            true
        } else {
            return None;
        };
        p = if rises == upper {
            &rest + &(&slope * &(extent - &Idx::constant(1)))
        } else {
            rest
        };
    }
    Some(p)
}

/// The polynomial, if the value is index-like.
pub fn index_like(e: &ElemRef) -> Option<Idx> {
    match &**e {
        Elem::Const(v) if v.ty.is_int() => Some(Idx::constant(v.as_int())),
        Elem::OfIdx(ty, p) if ty.is_int() => Some(p.clone()),
        _ => None,
    }
}

/// The mathematical value of an integer.
pub fn as_idx(e: &ElemRef) -> Idx {
    match &**e {
        Elem::Convert(to, inner) if inner.ty().fits_in(*to) => as_idx(inner),
        _ => index_like(e).unwrap_or_else(|| Idx::atom(Atom::Value(e.clone()))),
    }
}

/// `p >= 0 ? t : f` as a maximum or minimum of index-like values, where it is one.
fn larger_or_smaller(c: &ElemRef, t: &ElemRef, f: &ElemRef) -> Option<ElemRef> {
    let Elem::IndexCompare(CmpOp::Ge, p, zero) = &**c else {
        return None;
    };
    let (x, y) = (index_like(t)?, index_like(f)?);
    let (p, one) = (p - zero, Idx::constant(1));
    let (up, down) = (&x - &y, &y - &x);
    if p == up || p == &up - &one {
        Some(Elem::of_idx(t.ty(), x.maximum(&y)))
    } else if p == down || p == &down - &one {
        Some(Elem::of_idx(t.ty(), x.minimum(&y)))
    } else {
        None
    }
}

/// The state after `if (c)`, from those after its branches. `before` is the state that both started from.
fn merge(c: &ElemRef, before: &State, yes: State, no: State) -> State {
    let mut scalars = BTreeMap::new();
    for (name, a) in yes.scalars {
        // A variable that only one branch has set has no value that could be relied on.
        if let Some(b) = no.scalars.get(&name) {
            let value = larger_or_smaller(c, &a, b)
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
