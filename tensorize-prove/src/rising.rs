//! Numbers that rounds of a loop over time raise or lower by so much at most: between which polynomials they lie at the
//! beginning of each, as what counts the elements that were kept so far (`out[k++] = x[i]`) does.
//!
//! It is an induction. Nothing is known of such a number before the first round; of a later one it is assumed that the number
//! lies where the rounds before can have brought it, and shown that it does so after one round more.

use crate::chain;
use crate::context::Context;
use crate::eval::as_idx;
use crate::exec::State as Held;
use crate::places::lies_between;
use std::collections::BTreeSet;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Expr, Function, Param, Stmt, Visited, visit};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

/// Expressions that are made of more than so many others within each other are not looked into.
const DEEPEST: usize = 12;

/// Where a number among the state lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Rising {
    name: Sym,
    elem: ScalarType,
    /// Between which polynomials over the sizes rounds set it anew.
    start: (Idx, Idx),
    /// Between what lies that a round adds.
    step: (i128, i128),
    /// Whether no round brings it below zero, as where it is looked at before it is lowered.
    stays_up: bool,
    /// How many rounds there were before this one, and how many there are.
    before: Idx,
    all: Idx,
}

impl Rising {
    /// What the kernel's text says of the numbers among its state, and among the caller's (`*count`): a guess, until
    /// [`Rising::is_kept`] has shown it of a round, with its state in arrays as [`crate::state::exposed`] has it.
    pub fn guesses(round: &Function, around: &[(Sym, Idx)]) -> Vec<Rising> {
        let Some((before, all)) = counted(around) else {
            return vec![];
        };
        let of = |(name, elem): (Sym, ScalarType)| {
            let mut starts = Vec::new();
            let step = changes(round, &name, &round.body, &mut starts)?;
            starts.dedup();
            let first = starts.pop()?;
            let start = starts
                .iter()
                .try_fold((first.clone(), first), |(low, high), next| {
                    let [a, b, c] = [&low, &high, next].map(Idx::as_constant);
                    let (a, b, c) = (a?, b?, c?);
                    Some((Idx::constant(a.min(c)), Idx::constant(b.max(c))))
                })?;
            Some(Rising {
                name,
                elem,
                start,
                stays_up: step.0 < 0,
                step,
                before: before.clone(),
                all: all.clone(),
            })
        };
        numbers(round).into_iter().filter_map(of).collect()
    }

    /// The number as a round finds it.
    fn found(&self) -> ElemRef {
        Elem::read(self.name.clone(), self.elem, Idx::default())
    }

    /// Between which polynomials it lies after so many rounds, if there were any.
    fn after(&self, rounds: &Idx) -> (Idx, Idx) {
        let by = |step: i128| &Idx::constant(step) * rounds;
        let (low, high) = &self.start;
        let low = match self.stays_up {
            true => Idx::default(),
            false => low + &by(self.step.0),
        };
        (low, high + &by(self.step.1))
    }

    /// What may still be so where this is not; nothing if nothing is known then.
    pub(crate) fn weaker(&self) -> Option<Rising> {
        self.stays_up.then(|| Rising {
            stays_up: false,
            ..self.clone()
        })
    }

    /// Takes it for granted where a round begins. That all such numbers are ones of the type, and places of an array, is a
    /// guard.
    ///
    /// Returns whether there is anything that can be said of it.
    pub fn assume(&self, ctx: &mut Context) -> bool {
        let (low, high) = self.after(&self.all);
        let ends = [self.start.0.clone(), self.start.1.clone(), low, high];
        if !ends.iter().all(|end| ctx.is_over_params(end)) {
            return false;
        }
        // What would go below zero wraps: it is no guard that there are no rounds for that.
        if self.step.0 < 0 && !self.elem.is_signed() && !ctx.is_non_negative(&ends[2]) {
            return false;
        }
        // No array has more elements than an `i64` counts.
        let most = self.elem.max_value().min(ScalarType::I64.max_value());
        for end in ends {
            if !ctx.is_value_of(self.elem, &end) {
                ctx.guard(Guard::Fits(end.clone(), self.elem));
            }
            let most = Idx::constant(most);
            if !ctx.proves(CmpOp::Le, &end, &most) {
                ctx.guard(Guard::NonNegative(&most - &end));
            }
        }
        let (low, high) = self.after(&self.before);
        let number = as_idx(&self.found());
        let lies = Elem::binary(
            BinOp::And,
            Elem::index_compare(CmpOp::Ge, number.clone(), low.clone()),
            Elem::index_compare(CmpOp::Le, number, high.clone()),
        );
        let later = Elem::index_compare(CmpOp::Ge, self.before.clone(), Idx::constant(1));
        ctx.assume(Elem::binary(BinOp::Or, Elem::not(later.clone()), lies));
        ctx.found_between.push(Between {
            number: self.found(),
            low,
            high,
            when: later,
        });
        true
    }

    /// Shows that the number that a round leaves lies where one more round can bring it.
    pub(crate) fn is_kept(&self, ctx: &mut Context, left: &Held) -> bool {
        let Some(contents) = left.arrays.get(&self.name) else {
            return false;
        };
        let Ok(value) = chain::read(ctx, &self.name, contents, &Idx::default()) else {
            return false;
        };
        let (low, high) = self.after(&(&self.before + &Idx::constant(1)));
        lies_between(ctx, &as_idx(&value), &low, &high)
    }
}

/// What is known of a number in memory where a round begins.
#[derive(Clone, Debug)]
pub(crate) struct Between {
    /// The number.
    pub number: ElemRef,
    /// No larger than it.
    pub low: Idx,
    /// No smaller than it.
    pub high: Idx,
    /// Under which condition.
    pub when: ElemRef,
}

/// How many rounds there were before this one, and how many there are. Where how many there are of one depends on another,
/// nobody says.
fn counted(around: &[(Sym, Idx)]) -> Option<(Idx, Idx)> {
    let (mut before, mut all) = (Idx::default(), Idx::constant(1));
    for (i, (counter, trip)) in around.iter().enumerate() {
        if around[..i].iter().any(|(outer, _)| trip.mentions(outer)) {
            return None;
        }
        before = &(&before * trip) + &Idx::sym(counter.clone());
        all = &all * trip;
    }
    Some((before, all))
}

/// The arrays of integers of which a round touches no more than the first element.
fn numbers(round: &Function) -> Vec<(Sym, ScalarType)> {
    let mut others = BTreeSet::new();
    let mut look = |array: &Sym, index: &Expr| {
        if !matches!(index, Expr::Const(v) if v.as_int() == 0) {
            others.insert(array.clone());
        }
    };
    visit(&round.body, &mut |part| match part {
        Visited::Stmt(Stmt::Store { array, index, .. }) => look(array, index),
        Visited::Expr(Expr::Load { array, index, .. }) => look(array, index),
        _ => {}
    });
    let number = |p: &Param| match p {
        Param::Array {
            name,
            elem,
            is_const: false,
            ..
        } if elem.is_int() && !others.contains(name) => Some((name.clone(), *elem)),
        _ => None,
    };
    round.params.iter().filter_map(number).collect()
}

/// Between what lies that the statements add to a number of the state. What they set it to is among the `starts`; nothing if
/// they do anything else with it.
fn changes(
    round: &Function,
    name: &Sym,
    stmts: &[Stmt],
    starts: &mut Vec<Idx>,
) -> Option<(i128, i128)> {
    let mut sum = (0i128, 0i128);
    let before = starts.len();
    for stmt in stmts {
        let (low, high) = match stmt {
            // What it was set to before is gone.
            Stmt::Store { array, value, .. }
                if array == name
                    && let Some(start) = over_sizes(round, value) =>
            {
                starts.truncate(before);
                starts.push(start);
                sum = (0, 0);
                (0, 0)
            }
            Stmt::Store { array, value, .. } if array == name => {
                added(round, name, value, starts, DEEPEST)?
            }
            Stmt::If {
                then, otherwise, ..
            } => {
                let a = changes(round, name, then, starts)?;
                let b = changes(round, name, otherwise, starts)?;
                (a.0.min(b.0), a.1.max(b.1))
            }
            Stmt::Loop(l) => {
                let mut stores = false;
                visit(&l.body, &mut |part| {
                    stores |=
                        matches!(part, Visited::Stmt(Stmt::Store { array, .. }) if array == name);
                });
                if stores {
                    return None;
                }
                (0, 0)
            }
            _ => (0, 0),
        };
        sum = (sum.0.checked_add(low)?, sum.1.checked_add(high)?);
    }
    Some(sum)
}

/// Between what lies that an expression adds to the number as it was, or to what it may be set to instead.
fn added(
    round: &Function,
    name: &Sym,
    value: &Expr,
    starts: &mut Vec<Idx>,
    depth: usize,
) -> Option<(i128, i128)> {
    let depth = depth.checked_sub(1)?;
    let mut of = |e: &Expr| added(round, name, e, starts, depth);
    match value {
        Expr::Load { array, .. } => (array == name).then_some((0, 0)),
        Expr::Convert(_, inner) => of(inner),
        Expr::Select(_, t, f) => {
            let (t, f) = (of(t)?, of(f)?);
            Some((t.0.min(f.0), t.1.max(f.1)))
        }
        Expr::Binary(BinOp::Add, a, b) if let Some(by) = between(b) => {
            let so_far = of(a)?;
            Some((so_far.0 + by.0, so_far.1 + by.1))
        }
        Expr::Binary(BinOp::Add, a, b) if let Some(by) = between(a) => {
            let so_far = of(b)?;
            Some((so_far.0 + by.0, so_far.1 + by.1))
        }
        Expr::Binary(BinOp::Subtract, a, b) if let Some(by) = between(b) => {
            let so_far = of(a)?;
            Some((so_far.0 - by.1, so_far.1 - by.0))
        }
        Expr::Var(v, _) if !values_of(round, v).is_empty() => {
            let mut held = values_of(round, v).into_iter().map(of);
            let first = held.next()??;
            held.try_fold(first, |a, b| b.map(|b| (a.0.min(b.0), a.1.max(b.1))))
        }
        _ => {
            starts.push(over_sizes(round, value)?);
            Some((0, 0))
        }
    }
}

/// What a variable is assigned.
fn values_of<'a>(round: &'a Function, var: &Sym) -> Vec<&'a Expr> {
    let mut values = Vec::new();
    visit(&round.body, &mut |part| {
        if let Visited::Stmt(Stmt::Assign { var: v, value, .. }) = part
            && v == var
        {
            values.push(value);
        }
    });
    values
}

/// Between what a literal or a truth value lies.
fn between(e: &Expr) -> Option<(i128, i128)> {
    match e {
        Expr::Const(v) if v.ty.is_int() => Some((v.as_int(), v.as_int())),
        Expr::Convert(_, inner) if inner.ty() == ScalarType::I1 => Some((0, 1)),
        Expr::Convert(_, inner) => between(inner),
        Expr::Select(_, t, f) => {
            let (t, f) = (between(t)?, between(f)?);
            Some((t.0.min(f.0), t.1.max(f.1)))
        }
        _ => None,
    }
}

/// A sum or difference of literals and integer parameters.
fn over_sizes(round: &Function, e: &Expr) -> Option<Idx> {
    match e {
        Expr::Const(v) if v.ty.is_int() => Some(Idx::constant(v.as_int())),
        Expr::Convert(_, inner) => over_sizes(round, inner),
        Expr::Var(v, _) => {
            let is_size =
                |p: &Param| matches!(p, Param::Scalar { name, ty } if name == v && ty.is_int());
            (round.params.iter().any(is_size)).then(|| Idx::sym(v.clone()))
        }
        Expr::Binary(op, a, b) => {
            let (a, b) = (over_sizes(round, a)?, over_sizes(round, b)?);
            match op {
                BinOp::Add => Some(&a + &b),
                BinOp::Subtract => Some(&a - &b),
                _ => None,
            }
        }
        _ => None,
    }
}
