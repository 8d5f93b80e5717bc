//! Which integers count rounds, and how many rounds that makes.

use super::blocks::{blocks, rounds_with_more};
use super::rings::{asked, rings};
use super::text::by_data;
use super::thresholds::threshold;
use super::token;
use super::triangular::triangular;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Expr, Loop, Overflow, Param, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;
use tensorize_prove::canon;
use tensorize_prove::decode;
use tensorize_prove::eval::{as_idx, index_like};
use tensorize_prove::exec::{Executor, State, Stuck};
use tensorize_prove::loops::modified;
use tensorize_prove::places::holds_in_each_case;

/// No loop runs that often; and as long as it doesn't, counters stay inside of their types.
pub(super) const MANY_ROUNDS: i128 = 1 << 28;

/// The integers that step by something that does not change: their value at the start of round `k`.
pub(super) fn counters(
    exec: &mut Executor,
    l: &Loop,
    start: &State,
    k: &Sym,
    scalars: &BTreeMap<Sym, ScalarType>,
) -> Result<BTreeMap<Sym, Idx>, Stuck> {
    let wraps = exec.kernel.overflow == Overflow::Wraps;
    let mut plain = plain_counters(l, start, k);
    plain.retain(|var, at| !may_wrap(l, wraps, var, scalars[var], at));
    let by_data = by_data(&l.body);
    let is_plain = |(var, ty): (&Sym, &ScalarType)| {
        !ty.is_int()
            || !start.scalars.contains_key(var)
            || plain.contains_key(var)
            || by_data.contains(var)
    };
    // Nests of loops are tried once a level then, and not several times: their cost doesn't multiply with each.
    if scalars.iter().all(is_plain) {
        return Ok(plain);
    }
    let rings = rings(exec, l, start, k, scalars, &plain)?;
    let mut state = start.clone();
    let saved = exec.ctx.save();
    for (var, ty) in scalars {
        if !start.scalars.contains_key(var) {
            continue;
        }
        let value = if let Some(at) = rings.get(var) {
            Elem::of_idx(*ty, at.clone())
        } else if ty.is_int() {
            let unknown = token(var, k);
            // Far from the ends of the type: whether it stays there is for the prover to say.
            let (low, high) = (ty.max_value() / 8, ty.max_value() / 4);
            exec.ctx.assume_in_range(&unknown, &Idx::constant(high));
            exec.ctx
                .assume_non_negative(&(&Idx::sym(unknown.clone()) - &Idx::constant(low)));
            Elem::of_idx(*ty, Idx::sym(unknown))
        } else {
            Arc::new(Elem::Acc(token(var, k), *ty))
        };
        state.scalars.insert(var.clone(), value);
    }
    written_everywhere(&mut state);
    let end = probed_for_counters(exec, l, state, k);
    exec.ctx.restore(saved);
    let end = end?;
    let sure: BTreeSet<Sym> = plain.into_keys().chain(rings.keys().cloned()).collect();
    let mut found = rings;
    for (var, ty) in scalars {
        let (Some(first), Some(last)) = (start.scalars.get(var), end.scalars.get(var)) else {
            continue;
        };
        if found.contains_key(var) {
            continue;
        }
        let (true, Some(next)) = (ty.is_int(), index_like(last)) else {
            continue;
        };
        let step = &next - &Idx::sym(token(var, k));
        let varies = scalars.keys().any(|v| step.mentions(&token(v, k))) || step.has_values();
        // What wraps in its first round, as `unsigned a = 0; a--` does, counts nothing.
        let after_one = (&as_idx(first) + &step).as_constant();
        let leaves = after_one.is_some_and(|n| n < ty.min_value() || n > ty.max_value());
        let at = &as_idx(first) + &(&step * &Idx::sym(k.clone()));
        if !varies && !leaves && !may_wrap(l, wraps, var, *ty, &at) {
            found.insert(var.clone(), at);
        }
    }
    hold_wherever_others_are(exec, l, start, k, scalars, &sure, &mut found)?;
    followers(exec, l, start, k, scalars, &mut found)?;
    of_other_steps(exec, l, start, k, scalars, &mut found)?;
    Ok(found)
}

/// The integers to which a round adds a number in one place, whatever else happens: what they are needs no try.
fn plain_counters(l: &Loop, start: &State, k: &Sym) -> BTreeMap<Sym, Idx> {
    let mut found = BTreeMap::new();
    for (i, stmt) in l.body.iter().enumerate() {
        let Stmt::Assign { var, value, .. } = stmt else {
            continue;
        };
        let (Expr::Binary(op @ (BinOp::Add | BinOp::Subtract), a, b), Some(first)) =
            (value, start.scalars.get(var))
        else {
            continue;
        };
        let (Expr::Var(of, ty), Expr::Const(by)) = (&**a, &**b) else {
            continue;
        };
        let (before, after) = (&l.body[..i], &l.body[i + 1..]);
        let elsewhere = |stmts| modified(stmts).0.contains_key(var);
        if of != var || !ty.is_int() || elsewhere(before) || elsewhere(after) {
            continue;
        }
        let by = by.as_int() * if *op == BinOp::Add { 1 } else { -1 };
        // Such as `u += 0xffffffff`.
        let wraps = by.abs() > ty.max_value() / 8;
        let after_one = (&as_idx(first) + &Idx::constant(by)).as_constant();
        if !wraps && after_one.is_none_or(|n| ty.min_value() <= n && n <= ty.max_value()) {
            let at = &as_idx(first) + &(&Idx::constant(by) * &Idx::sym(k.clone()));
            found.insert(var.clone(), at);
        }
    }
    found
}

/// Whether a counter that goes on from what stands in memory may leave its type as far as anybody can tell: nothing
/// bounds it where the loop does not compare it. Then it is an accumulator, whose bits are known.
fn may_wrap(l: &Loop, wraps: bool, var: &Sym, ty: ScalarType, at: &Idx) -> bool {
    at.has_values() && (wraps || !ty.is_signed()) && !l.cond.mentions(var)
}

/// Takes out what counts only as long as other integers are far from zero, as a variable that is set where `votes == 0`, or
/// a sum over the rounds that are inside of the borders. What those in `sure` are was not found in that way.
fn hold_wherever_others_are(
    exec: &mut Executor,
    l: &Loop,
    start: &State,
    k: &Sym,
    scalars: &BTreeMap<Sym, ScalarType>,
    sure: &BTreeSet<Sym>,
    found: &mut BTreeMap<Sym, Idx>,
) -> Result<(), Stuck> {
    let others = |found: &BTreeMap<Sym, Idx>| {
        let open = |(v, ty): (&Sym, &ScalarType)| {
            ty.is_int() && start.scalars.contains_key(v) && !found.contains_key(v)
        };
        scalars.iter().any(open)
    };
    let mut doubtful = found.keys().any(|var| !sure.contains(var));
    while !found.is_empty() && (doubtful || others(found)) {
        doubtful = false;
        let saved = exec.ctx.save();
        exec.ctx.assume_in_range(k, &MANY_ROUNDS.into());
        let end = end_of_round(exec, l, start, k, scalars, found);
        exec.ctx.restore(saved);
        let end = end?;
        let next = &Idx::sym(k.clone()) + &Idx::constant(1);
        let before = found.len();
        found.retain(|var, at| {
            let Some(left) = end.scalars.get(var) else {
                return false;
            };
            match index_like(left) {
                Some(i) => canon::idx(&(&i - &at.replace(k, &next))).is_zero(),
                // Such as `n - k - 1`, which an unsigned `n` may not reach.
                None => {
                    (sure.contains(var) || !chooses(left))
                        && !scalars.keys().any(|v| left.mentions(&token(v, k)))
                }
            }
        });
        if found.len() == before {
            break;
        }
    }
    Ok(())
}

/// Whether it is one thing or another.
fn chooses(e: &ElemRef) -> bool {
    matches!(&**e, Elem::Select(..)) || e.children().into_iter().any(chooses)
}

/// The end of a round of which the integers in `found` are known, and no others.
fn end_of_round(
    exec: &mut Executor,
    l: &Loop,
    start: &State,
    k: &Sym,
    scalars: &BTreeMap<Sym, ScalarType>,
    found: &BTreeMap<Sym, Idx>,
) -> Result<State, Stuck> {
    let mut state = start.clone();
    for (var, ty) in scalars {
        if let Some(at) = found.get(var) {
            let at = Elem::of_idx(*ty, at.clone());
            state.scalars.insert(var.clone(), at);
        } else if start.scalars.contains_key(var) {
            let unknown = Arc::new(Elem::Acc(token(var, k), *ty));
            state.scalars.insert(var.clone(), unknown);
        }
    }
    written_everywhere(&mut state);
    probed_for_counters(exec, l, state, k)
}

/// The end of a round of which the integers in `known` are known, and of the others that they are no numbers near the ends of
/// their types.
pub(super) fn round_of_unknowns(
    exec: &mut Executor,
    l: &Loop,
    start: &State,
    k: &Sym,
    scalars: &BTreeMap<Sym, ScalarType>,
    known: &BTreeMap<Sym, Idx>,
) -> Result<State, Stuck> {
    let mut state = start.clone();
    let saved = exec.ctx.save();
    exec.ctx.assume_in_range(k, &MANY_ROUNDS.into());
    for (var, ty) in scalars {
        let unknown = token(var, k);
        let value = match known.get(var) {
            Some(at) => Elem::of_idx(*ty, at.clone()),
            None if !start.scalars.contains_key(var) => continue,
            None if ty.is_int() => {
                let far = Idx::constant(ty.max_value() / 4);
                exec.ctx.assume_in_range(&unknown, &far);
                Elem::of_idx(*ty, Idx::sym(unknown))
            }
            None => Arc::new(Elem::Acc(unknown, *ty)),
        };
        state.scalars.insert(var.clone(), value);
    }
    written_everywhere(&mut state);
    let end = probed_for_counters(exec, l, state, k);
    exec.ctx.restore(saved);
    end
}

/// Whether a number is another one in another round, as far as can be seen in such a one.
pub(super) fn changes(i: &Idx, k: &Sym, scalars: &BTreeMap<Sym, ScalarType>) -> bool {
    i.has_values() || i.mentions(k) || scalars.keys().any(|v| i.mentions(&token(v, k)))
}

/// The end of a round in which the counters are unknown. What an array holds at a place that is made of them can't be told
/// where its rows are as long as somebody says: then it is left open, as few counters depend on it.
pub(super) fn probed_for_counters(
    exec: &mut Executor,
    l: &Loop,
    mut state: State,
    k: &Sym,
) -> Result<State, Stuck> {
    exec.probe(l, &state, k, None).or_else(|_| {
        for (array, contents) in &mut state.arrays {
            contents.base = Some(format!("{array}@before").into());
            contents.effects.clear();
        }
        exec.probe(l, &state, k, None)
    })
}

/// Gives a value to places of local arrays that nobody has written: as long as nothing is known of the counters, a round
/// seems to read outside of what was.
pub(super) fn written_everywhere(state: &mut State) {
    for (array, contents) in &mut state.arrays {
        let unknown = || Sym::from(format!("{array}@before"));
        contents.base.get_or_insert_with(unknown);
    }
}

/// The start of a round with what is known of the counters.
fn counted(
    start: &State,
    scalars: &BTreeMap<Sym, ScalarType>,
    found: &BTreeMap<Sym, Idx>,
) -> State {
    let mut state = start.clone();
    for (var, at) in found {
        let at = Elem::of_idx(scalars[var], at.clone());
        state.scalars.insert(var.clone(), at);
    }
    state
}

/// Integers that a round sets to a function of the counters, and that held its value for the round before
/// the first one when the loop began: `t` in `while (t = n--, t > 0)`.
fn followers(
    exec: &mut Executor,
    l: &Loop,
    start: &State,
    k: &Sym,
    scalars: &BTreeMap<Sym, ScalarType>,
    found: &mut BTreeMap<Sym, Idx>,
) -> Result<(), Stuck> {
    let carried = |found: &BTreeMap<Sym, Idx>, v: &Sym| {
        start.scalars.contains_key(v) && !found.contains_key(v)
    };
    loop {
        if found.is_empty()
            || !scalars
                .iter()
                .any(|(v, ty)| ty.is_int() && carried(found, v))
        {
            return Ok(());
        }
        let saved = exec.ctx.save();
        // What goes down to zero in an unsigned type does not wrap in any round that there is.
        if let Ok(trip) = trip(exec, l, &counted(start, scalars, found), k) {
            exec.ctx.assume_in_range(k, &trip);
        }
        let end = end_of_round(exec, l, start, k, scalars, found);
        exec.ctx.restore(saved);
        let end = end?;
        let before = &Idx::sym(k.clone()) - &Idx::constant(1);
        let mut more = false;
        for (var, ty) in scalars {
            if !ty.is_int() || !carried(found, var) {
                continue;
            }
            let (Some(first), Some(last)) = (start.scalars.get(var), end.scalars.get(var)) else {
                continue;
            };
            let Some(next) = index_like(last).filter(|i| !i.has_values()) else {
                continue;
            };
            let at = next.replace(k, &before);
            if index_like(first).is_some_and(|f| at.replace(k, &Idx::default()) == f) {
                found.insert(var.clone(), at);
                more = true;
            }
        }
        if !more {
            return Ok(());
        }
    }
}

/// Integers that do not step by the same in each round, and of which a formula says what they come to.
fn of_other_steps(
    exec: &mut Executor,
    l: &Loop,
    start: &State,
    k: &Sym,
    scalars: &BTreeMap<Sym, ScalarType>,
    found: &mut BTreeMap<Sym, Idx>,
) -> Result<(), Stuck> {
    loop {
        let is_open = |var: &Sym, ty: &ScalarType| {
            ty.is_int() && start.scalars.contains_key(var) && !found.contains_key(var)
        };
        let open: Vec<&Sym> = (scalars.iter())
            .filter(|(v, ty)| is_open(v, ty))
            .map(|(v, _)| v)
            .collect();
        let nothing_counts = found.is_empty() && !open.iter().any(|var| l.cond.mentions(var));
        if nothing_counts || open.is_empty() {
            return Ok(());
        }
        let saved = exec.ctx.save();
        // How many rounds an inner loop has, `n - 1 - i` or none, is told where this one has its rounds.
        if let Ok(trip) = trip(exec, l, &counted(start, scalars, found), k) {
            exec.ctx.assume_in_range(k, &trip);
        }
        let end = round_of_unknowns(exec, l, start, k, scalars, found);
        exec.ctx.restore(saved);
        let end = end?;
        let changes = |i: &Idx| changes(i, k, scalars);
        let before = found.len();
        for var in open {
            let (Some(first), Some(next)) = (start.scalars.get(var), end.scalars.get(var)) else {
                continue;
            };
            let own = Idx::sym(token(var, k));
            let sum =
                threshold(next, &own, k, &changes).or_else(|| triangular(next, &own, k, &changes));
            let first = as_idx(first);
            if let Some(sum) = sum {
                found.insert(var.clone(), canon::idx(&(&first + &sum)));
            } else if let Some((at, all)) = blocks(next, &own, &first, k, &changes)
                && asked(exec, &all)
            {
                found.insert(var.clone(), at);
            }
        }
        if found.len() == before {
            return Ok(());
        }
    }
}

/// How often the loop runs: the condition holds up to there.
pub(super) fn trip(exec: &mut Executor, l: &Loop, start: &State, k: &Sym) -> Result<Idx, Stuck> {
    let bounds = [false, true].into_iter().find_map(|moderate| {
        let saved = exec.ctx.save();
        exec.ctx.assume_in_range(k, &MANY_ROUNDS.into());
        if moderate {
            assume_moderate_sizes(exec);
            assume_moderate_counters(exec, start, k);
        }
        let condition = exec.probe_condition(l, start);
        exec.ctx.restore(saved);
        let bounds = condition.ok().and_then(|c| rounds(exec, &c, k));
        bounds.filter(|b| !b.is_empty())
    });
    let Some(trip) = bounds.and_then(|b| b.into_iter().reduce(|a, b| a.minimum(&b))) else {
        return Err(Stuck {
            what: "the loop has no bound that can be seen: write its condition as a comparison of a counter \
                   that steps by a constant with a size"
                .into(),
            line: l.line,
        });
    };
    let zero = Idx::default();
    // A count over the sizes alone can be guarded not to be negative.
    let usable = exec.ctx.is_over_params(&trip);
    // What is counted is no more than there are rounds: `kept.resize(n)` adds nothing.
    let none = Elem::index_compare(CmpOp::Le, trip.clone(), zero.clone());
    let never = trip.has_values() && holds_in_each_case(&mut exec.ctx, &[], &none);
    Ok(if never {
        zero
    } else if usable || exec.ctx.is_non_negative(&trip) {
        trip
    } else {
        trip.maximum(&zero)
    })
}

/// Takes it that no unsigned parameter is near the largest number of its type: `i + w <= n` is not meant to wrap. (That it
/// doesn't, or does not matter, is for the proof to show.)
fn assume_moderate_sizes(exec: &mut Executor) {
    for p in &exec.kernel.params {
        if let Param::Scalar { name, ty } = p
            && ty.is_int()
            && !ty.is_signed()
        {
            exec.ctx
                .assume_in_range(name, &Idx::constant(ty.max_value() / 4));
        }
    }
}

/// Takes the same of unsigned counters that step by a size.
fn assume_moderate_counters(exec: &mut Executor, state: &State, k: &Sym) {
    for value in state.scalars.values().filter(|v| !v.ty().is_signed()) {
        if let Some(at) = index_like(value).filter(|at| at.mentions(k)) {
            let far = Idx::constant(value.ty().max_value() / 4);
            exec.ctx.assume_non_negative(&at);
            exec.ctx.assume_non_negative(&(&far - &at));
        }
    }
}

/// The rounds for which each part of a condition holds that depends on the round.
fn rounds(exec: &mut Executor, c: &ElemRef, k: &Sym) -> Option<Vec<Idx>> {
    match &**c {
        // Of `i < n && n > 0`.
        Elem::IndexCompare(_, a, b) if !(a - b).mentions(k) => Some(vec![]),
        Elem::IndexCompare(op, a, b) => {
            let p = a - b;
            let (p, op) = match p.linear_in(k) {
                Some(_) => (p, *op),
                None => (rounds_with_more(*op, &p, k)?, CmpOp::Ge),
            };
            let (slope, rest) = p.linear_in(k)?;
            let Some(slope) = slope.as_constant() else {
                return rounds_by_size(exec, op, &-&slope, &rest).map(|n| vec![n]);
            };
            match op {
                // rest - s·k >= 0
                CmpOp::Ge if slope < 0 => {
                    let s = Idx::constant(-slope);
                    Some(vec![(&rest + &s).floor_div(&s)])
                }
                CmpOp::Ne if slope != 0 => {
                    let (quotient, left) = decode::divide(&rest, &Idx::constant(-slope));
                    // Steps that may miss the end: as many as there is room for.
                    let rounds = match left.is_zero() {
                        true => quotient,
                        false if slope > 0 => (-&rest).floor_div(&Idx::constant(slope)),
                        false => rest.floor_div(&Idx::constant(-slope)),
                    };
                    Some(vec![rounds])
                }
                _ => None,
            }
        }
        Elem::Binary(BinOp::And, a, b) => {
            let mut both = rounds(exec, a, k)?;
            both.extend(rounds(exec, b, k)?);
            Some(both)
        }
        Elem::Select(c, t, f) if matches!(&**f, Elem::Const(v) if !v.is_true()) => {
            let mut both = rounds(exec, c, k)?;
            both.extend(rounds(exec, t, k)?);
            Some(both)
        }
        // `step < 0 ? i >= end : i <= end`: the way up, which the sizes have to say.
        Elem::Select(c, down, up) => {
            let ways = [(Elem::not(c.clone()), up), (c.clone(), down)];
            ways.into_iter().find_map(|(condition, way)| {
                let saved = exec.ctx.save();
                let guards = exec.as_guards(&condition);
                let found = guards.and_then(|guards| {
                    guards.into_iter().for_each(|g| exec.ctx.guard(g));
                    rounds(exec, way, k)
                });
                if found.is_none() {
                    exec.ctx.restore(saved);
                }
                found
            })
        }
        _ => None,
    }
}

/// The rounds for which `rest - step·k >= 0`, where the step is a size, as in `i < n * inc; i += inc`: a positive one, which
/// becomes a guard.
fn rounds_by_size(exec: &mut Executor, op: CmpOp, step: &Idx, rest: &Idx) -> Option<Idx> {
    let one = Idx::constant(1);
    if op != CmpOp::Ge || !exec.ctx.is_over_params(step) {
        return None;
    }
    if !exec.ctx.proves(CmpOp::Ge, step, &one) {
        if exec.ctx.proves(CmpOp::Lt, step, &one) {
            return None;
        }
        exec.ctx.guard(Guard::NonNegative(step - &one));
    }
    // One step less than there are places, or as far as there are places.
    let (steps, left) = decode::divide(rest, step);
    if left.is_zero() {
        return Some(&steps + &one);
    }
    let (quotient, left) = decode::divide(&(rest + &one), step);
    Some(match left.is_zero() {
        true => quotient,
        false => (rest + step).floor_div(step),
    })
}
