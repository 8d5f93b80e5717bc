//! Loops over time: kernels that do the same several times over, each time from what the one before has left.
//!
//! Two things are shown of such a kernel: how often its loop runs, and that one round, whichever it is, computes what the
//! summary says of a round. For both, a function of its own is made of the kernel; induction over the rounds does the
//! rest, and for that the arrays have to be all that a round leaves to the next one.

mod params;
mod reads;
mod replay;
mod sections;
mod set_apart;
mod step;
mod walking;

use crate::exec::Stuck;
use crate::loops::modified;
use crate::names::Names;
use crate::turns::{Turn, turns};
use params::{changed_params, with_copies};
use reads::reads_memory;
use replay::{Known, Replay};
pub(crate) use sections::looks_at;
use std::collections::{BTreeMap, BTreeSet};
use step::stepping;
pub(crate) use step::{Step, step};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Expr, Function, Loop, LoopMode, Param, Stmt, Visited, visit};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::tensir::{self, Op, Output, Rounds, TensorType};

/// What a kernel with a loop over time is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Returns how often the loop runs.
    pub count: Function,
    /// One round. Its number is the last parameter. What stands before the loop is done in the first round, and what stands
    /// after it in the last; what tells the caller of sizes may be done first, too.
    pub round: Function,
    /// Whether anything stands there, so that there has to be a round.
    at_least_one: bool,
}

impl Split {
    /// Takes a kernel apart: a loop with a counter, and what stands before and after it. In the round, its number goes by
    /// the name of `counter`, which in the kernel must be that of nothing, or of what counts the rounds from 0.
    ///
    /// # Errors
    ///
    /// If the kernel is no such thing, with the reason.
    pub fn of(kernel: &Function, counter: &Sym) -> Result<Split, Stuck> {
        match over_time(without_return(&kernel.body)) {
            Some((at, the_loop)) => Split::at(kernel, counter, at, the_loop),
            None => stuck("it has no one loop over all", 0),
        }
    }

    /// The same with this loop, which has this number among the statements.
    fn at(kernel: &Function, counter: &Sym, at: usize, the_loop: &Loop) -> Result<Split, Stuck> {
        let changed = changed_params(kernel, the_loop);
        if !changed.is_empty() {
            let kernel = &with_copies(kernel, &changed);
            let at = at + changed.len();
            return match &kernel.body[at] {
                Stmt::Loop(l) => Split::at(kernel, counter, at, l),
                _ => stuck("it has no such loop", the_loop.line),
            };
        }
        let parts = Parts::of(kernel, at, the_loop)?;
        if Names::of(kernel).contains(counter) && !parts.counts_as(counter) {
            return stuck(format!("the kernel has a '{counter}' of its own"), 0);
        }
        let split = Split {
            count: parts.count(kernel),
            round: parts.round(kernel, counter),
            at_least_one: !parts.first.is_empty() || !parts.last.is_empty(),
        };
        for part in [&split.count, &split.round] {
            part.validate().or_else(|e| stuck(e, parts.line))?;
        }
        split.reads_all_of(kernel)?;
        Ok(split)
    }

    /// What has to hold of the number of rounds, if that is not plain to see.
    pub fn needs(&self, trip: &Idx) -> Option<Guard> {
        let others = trip - &Idx::constant(1);
        let holds = others.as_constant().is_some_and(|n| n >= 0);
        (self.at_least_one && !holds).then_some(Guard::NonNegative(others))
    }

    /// All the ways to take a kernel apart that there are.
    ///
    /// # Errors
    ///
    /// If there is none, with the reason against the plainest, which is [`Split::of`].
    pub fn all(kernel: &Function, counter: &Sym) -> Result<Vec<Split>, Stuck> {
        let plainest = Split::of(kernel, counter);
        let mut others = sections::all(kernel, counter);
        // One of several, with what stands around it done in the first round and in the last.
        let loops = sections::candidates(without_return(&kernel.body));
        others.extend(loops.filter_map(|(at, l)| Split::at(kernel, counter, at, l).ok()));
        others.retain(|split| plainest.as_ref().ok() != Some(split));
        match plainest {
            Err(why) if others.is_empty() => Err(why),
            plainest => Ok(plainest.into_iter().chain(others).collect()),
        }
    }

    /// A name for the number of a round that the kernel does not have.
    pub fn name(kernel: &Function) -> Sym {
        Names::of(kernel).plain("round")
    }
}

/// What [`Split::count`] returns.
pub fn number_of_rounds(kernel: &Function, trip: &Idx) -> tensir::Function {
    let mut function = tensir::Function {
        name: kernel.name.clone(),
        params: kernel.params.clone(),
        nodes: vec![],
        outputs: vec![],
        rounds: None,
        state: vec![],
    };
    let ty = TensorType::scalar(Rounds::COUNTER);
    let value = function.add(Op::Size(trip.clone()), vec![], ty);
    function.outputs.push(Output::Return { value });
    function
}

/// `before` and `first`, then a loop whose last statement, or else its first one, is `var = var + step`, then `last`.
struct Parts<'a> {
    /// What touches no array that is written before the last round has ended: all that stands before `first`, and then all that
    /// stands after it.
    before: Vec<Stmt>,
    /// Variables that it sets for `first`.
    starts: Vec<Stmt>,
    first: Vec<Stmt>,
    /// What says after `first`, of every round or of none, that there is no more to do.
    skips: Vec<Stmt>,
    last: Vec<Stmt>,
    body: Vec<Stmt>,
    the_loop: &'a Loop,
    step: Step<'a>,
    line: u32,
    /// Variables that rounds assign, or what is done in the first, but for the counter, those that walk, and the turns.
    assigned: BTreeSet<Sym>,
    /// What each round adds to variables besides the counter, such as `*out++`.
    walks: Vec<walking::Walk>,
    /// Variables that take turns.
    turns: BTreeMap<Sym, Turn>,
    /// Other integers that earlier rounds have made what they are.
    replay: Replay,
}

impl<'a> Parts<'a> {
    fn of(kernel: &'a Function, at: usize, the_loop: &'a Loop) -> Result<Parts<'a>, Stuck> {
        let body = without_return(&kernel.body);
        let (all_before, mut last) = (&body[..at], &body[at + 1..]);
        let line = the_loop.line;
        let not = |what: &str| stuck(format!("the loop over all {what}"), line);
        if kernel.ret.is_some() {
            return not("is followed by a value that is returned");
        }
        if !the_loop.test_first || the_loop.mode != LoopMode::Sequential {
            return not("is no for or while");
        }
        let Some((step, body)) = stepping(the_loop) else {
            return not("does not end with its counter's step");
        };
        let var = step.var;
        // `while (times-- > 0)`: the last test has its effect, too.
        while let [left @ Stmt::Assign { var: end, .. }, rest @ ..] = last
            && end == var
            && !reads_memory(left)
            && !uses(rest, &BTreeSet::from([var.clone()]))
        {
            last = rest;
        }
        let begins = all_before.iter().position(|s| !is_plain(s)).unwrap_or(at);
        let ends = all_before
            .iter()
            .rposition(|s| !is_plain(s))
            .map_or(begins, |e| e + 1);
        let (apart, first) = set_apart::set_apart(&all_before[begins..ends], &body);
        let first = &first[..];
        let (start, moved) = set_apart::set_later(&all_before[..begins], &[&apart, first].concat());
        let (skips, rest) = skips(&all_before[ends..], first);
        // One thing less in another round than the others, but where not all get there.
        let (early, last) = match first.is_empty() || !skips.is_empty() {
            true => (vec![], last.to_vec()),
            false => {
                let rounds = [first, &body, std::slice::from_ref(step.stmt)].concat();
                set_apart::set_early(kernel, last, &rounds)
            }
        };
        let first = &[first, &early].concat()[..];
        let last = &last[..];
        let end = &[moved, &rest].concat()[..];
        let mut before: Vec<Stmt> = [start, &apart, end].concat();
        let turns = turns(&before, &body, &[first, last]);
        before.retain(|s| !matches!(s, Stmt::Assign { var, .. } if turns.contains_key(var)));
        let (mut assigned, mut written) = modified(&body);
        let (in_first, arrays) = modified(first);
        assigned.extend(in_first);
        written.extend(arrays);
        let mut by_round: BTreeSet<Sym> = assigned.keys().cloned().collect();
        by_round.insert(var.clone());
        // What is done last may use any variable for something else: no round begins after it.
        if assigned.contains_key(var) {
            return not("changes its counter on the way");
        }
        assigned.retain(|v, _| !turns.contains_key(v));
        let mut walks = walking::walks(var, &before, &body, first);
        // How often the loop runs must be counted without them.
        let mut asked = BTreeSet::new();
        the_loop.cond.visit(&mut |e| {
            if let Expr::Var(v, _) = e {
                asked.insert(v.clone());
            }
        });
        walks.retain(|w| !asked.contains(&w.var) && w.var != *var && !turns.contains_key(&w.var));
        assigned.retain(|v, _| !walks.iter().any(|w| w.var == *v));
        let known = Known {
            before: &before,
            body: &body,
            first,
            step: &step,
            asked: &asked,
        };
        let replay = Replay::of(&known, &assigned);
        assigned.retain(|v, _| !replay.vars.contains_key(v));
        let assigned: BTreeSet<Sym> = assigned.into_keys().collect();
        // What stands between the two may as well stand before both.
        let mut set_between: BTreeSet<Sym> = modified(end).0.into_keys().collect();
        set_between.insert(var.clone());
        if !first.is_empty()
            && [start, first]
                .into_iter()
                .any(|part| uses(part, &set_between))
        {
            return not("goes on with a variable that was in use before");
        }
        let mut changes = false;
        for part in [&before, &skips] {
            visit(part, &mut |part| {
                changes |= matches!(part, Visited::Expr(Expr::Load { array, .. }) if written.contains(array));
            });
        }
        if changes || uses(&skips, &by_round) {
            return not("changes what was read before it");
        }
        let mut returns = false;
        for part in [first, &body, last] {
            visit(part, &mut |part| {
                returns |= matches!(part, Visited::Stmt(Stmt::Return(_)))
            });
        }
        let mut by_rounds = returns;
        the_loop.cond.visit(&mut |e| {
            by_rounds |= match e {
                Expr::Load { .. } => true,
                Expr::Var(v, _) => assigned.contains(v) || turns.contains_key(v),
                _ => false,
            };
        });
        if by_rounds {
            return not("ends when something happens in a round");
        }
        Ok(Parts {
            starts: constants(start, &assigned),
            before,
            first: first.to_vec(),
            skips,
            last: last.to_vec(),
            body,
            the_loop,
            step,
            line,
            assigned,
            walks,
            turns,
            replay,
        })
    }

    /// Whether the loop's counter has this name, and is the number of the round.
    fn counts_as(&self, counter: &Sym) -> bool {
        let Some((Stmt::Assign { var, ty, value }, before)) = self.before.split_last() else {
            return false;
        };
        let mut read = false;
        visit(before, &mut |part| {
            read |= matches!(part, Visited::Expr(Expr::Var(v, _)) if v == counter);
        });
        let from_zero = matches!(value, Expr::Const(v) if v.as_int() == 0);
        let by_one = self.step.by == 1 && self.step.ty == Rounds::COUNTER;
        var == counter
            && *ty == Rounds::COUNTER
            && self.step.var == counter
            && from_zero
            && by_one
            && !self.step.first
            && !read
    }

    /// `n = 0; while (…) { n = n + 1; var = var + step; } return n`
    fn count(&self, kernel: &Function) -> Function {
        let count = Rounds::COUNTER;
        let name = Split::name(kernel);
        let assign = |value| Stmt::Assign {
            var: name.clone(),
            ty: count,
            value,
        };
        let so_far = Expr::Var(name.clone(), count);
        let mut body = counting(&without(&self.before, &self.assigned));
        body.push(assign(Expr::int(count, 0)));
        let one_more = Expr::binary(BinOp::Add, so_far.clone(), Expr::int(count, 1));
        body.push(Stmt::Loop(Loop {
            body: vec![assign(one_more), self.step.stmt.clone()],
            ..self.the_loop.clone()
        }));
        body.push(Stmt::Return(Some(so_far)));
        Function {
            ret: Some(count),
            fused: false,
            body,
            ..kernel.clone()
        }
    }

    /// What comes before the loop, the counter after so many rounds, and one round. Variables that rounds assign have no
    /// value before: what a round took from another one would be read unassigned, of which nothing can be shown.
    fn round(&self, kernel: &Function, counter: &Sym) -> Function {
        let mut params = kernel.params.clone();
        params.push(Param::Scalar {
            name: counter.clone(),
            ty: Rounds::COUNTER,
        });
        let number = Expr::Var(counter.clone(), Rounds::COUNTER);
        let mut body = without(&self.before, &self.assigned);
        if self.step.var == counter {
            // The parameter itself.
            body.pop();
            let zero = Expr::int(self.step.ty, 0);
            body.extend(self.replay.before(kernel, &number, (&self.step, zero)));
        } else {
            let first = Expr::Var(self.step.var.clone(), self.step.ty);
            body.extend(self.replay.before(kernel, &number, (&self.step, first)));
            body.push(self.step.after(number.clone()));
        }
        body.extend(self.walks.iter().map(|w| w.after(number.clone())));
        for (var, turn) in &self.turns {
            let value = turn.value(&number);
            body.push(Stmt::Assign {
                var: var.clone(),
                ty: value.ty(),
                value,
            });
        }
        if !self.first.is_empty() {
            let then = [&self.starts[..], &self.first].concat();
            let zero = Expr::int(Rounds::COUNTER, 0);
            body.push(only_if(
                Expr::compare(CmpOp::Eq, number.clone(), zero),
                then,
            ));
        }
        body.extend_from_slice(&self.skips);
        if self.step.first {
            body.push(self.step.stmt.clone());
        }
        body.extend_from_slice(&self.body);
        if !self.last.is_empty() {
            if !self.step.first {
                body.push(self.step.stmt.clone());
            }
            let over = Expr::Unary(UnOp::Not, Box::new(self.the_loop.cond.clone()));
            body.push(only_if(over, self.last.clone()));
        }
        Function {
            params,
            body,
            ..kernel.clone()
        }
    }
}

fn without_return(body: &[Stmt]) -> &[Stmt] {
    match body {
        [body @ .., Stmt::Return(None)] => body,
        body => body,
    }
}

/// The loop over time and its number among the statements: the only one with what rounds write again, or else the last
/// statement.
fn over_time(body: &[Stmt]) -> Option<(usize, &Loop)> {
    let mut loops = body.iter().enumerate().filter_map(|(i, s)| match s {
        Stmt::Loop(l) => Some((i, l)),
        _ => None,
    });
    let again: Vec<(usize, &Loop)> = loops.clone().filter(|(_, l)| writes_again(l)).collect();
    match again[..] {
        [one] => Some(one),
        // `while (i-- > 0)` sets its counter once more. The only loop may be followed by what stores what it has come to, any
        // by what tells the caller of sizes.
        [] => {
            let only = loops.clone().count() == 1;
            loops.next_back().filter(|(i, _)| {
                let mut rest = body[i + 1..].iter();
                rest.all(|s| match s {
                    Stmt::Assign { .. } => true,
                    Stmt::Store { .. } => only || !reads_memory(s),
                    s => only && has_no_loops(s),
                })
            })
        }
        _ => None,
    }
}

fn has_no_loops(stmt: &Stmt) -> bool {
    let mut loops = false;
    visit(std::slice::from_ref(stmt), &mut |part| {
        loops |= matches!(part, Visited::Stmt(Stmt::Loop(_)));
    });
    !loops
}

/// Whether rounds write where the ones before have written, by the looks of it, and read beside those places.
pub fn writes_again(l: &Loop) -> bool {
    let Some((Step { var, .. }, _)) = stepping(l) else {
        return false;
    };
    let walking = l.body.iter().filter(|s| walking::adds_to_itself(s));
    let walking = walking.flat_map(|s| modified(std::slice::from_ref(s)).0.into_keys());
    let (mut by_round, mut grown) = (walking.chain([var.clone()]).collect::<BTreeSet<_>>(), true);
    while grown {
        let before = by_round.len();
        visit(&l.body, &mut |part| {
            if let Visited::Stmt(Stmt::Assign { var, value, .. }) = part
                && mentions(value, &by_round)
            {
                by_round.insert(var.clone());
            }
        });
        grown = by_round.len() > before;
    }
    let mut again: Vec<(&Sym, &Expr)> = Vec::new();
    visit(&l.body, &mut |part| {
        if let Visited::Stmt(Stmt::Store { array, index, .. }) = part
            && !mentions(index, &by_round)
        {
            again.push((array, index));
        }
    });
    let mut beside = false;
    visit(&l.body, &mut |part| {
        if let Visited::Expr(Expr::Load { array, index, .. }) = part {
            beside |= again.iter().any(|(a, i)| *a == array && *i != &**index);
        }
    });
    beside
}

fn mentions(e: &Expr, vars: &BTreeSet<Sym>) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= matches!(e, Expr::Var(v, _) if vars.contains(v)));
    found
}

/// Whether a statement does nothing with arrays but read them, once.
fn is_plain(stmt: &Stmt) -> bool {
    let mut plain = true;
    visit(std::slice::from_ref(stmt), &mut |part| {
        plain &= !matches!(part, Visited::Stmt(Stmt::Loop(_) | Stmt::Store { .. }));
    });
    plain
}

/// Whether statements read or assign any of these.
fn uses(stmts: &[Stmt], vars: &BTreeSet<Sym>) -> bool {
    let mut found = modified(stmts).0.keys().any(|v| vars.contains(v));
    visit(stmts, &mut |part| {
        found |= matches!(part, Visited::Expr(Expr::Var(v, _)) if vars.contains(v));
    });
    found
}

/// The assignments of literals among the statements to those of the variables that are assigned once there.
fn constants(stmts: &[Stmt], vars: &BTreeSet<Sym>) -> Vec<Stmt> {
    let mut times: BTreeMap<&Sym, usize> = BTreeMap::new();
    visit(stmts, &mut |part| {
        if let Visited::Stmt(Stmt::Assign { var, .. }) = part {
            *times.entry(var).or_default() += 1;
        }
    });
    let sets = |s: &&Stmt| match s {
        Stmt::Assign { var, value, .. } => {
            vars.contains(var) && times[var] == 1 && matches!(value, Expr::Const(_))
        }
        _ => false,
    };
    stmts.iter().filter(sets).cloned().collect()
}

fn only_if(cond: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If {
        cond,
        then,
        otherwise: vec![],
    }
}

/// What comes before the loop, with no rounds where it returns. The loop's condition has to do without floats. Where floats or
/// memory say that it returns, as `if (alpha == 0) return;` does, the loop has its rounds, each of which says so for itself.
fn counting(stmts: &[Stmt]) -> Vec<Stmt> {
    let stmts: Vec<Stmt> = stmts
        .iter()
        .filter(|s| !returns_by_data(s))
        .cloned()
        .collect();
    let no_rounds = Stmt::Return(Some(Expr::int(Rounds::COUNTER, 0)));
    rewritten(&stmts, &|s| match s {
        Stmt::Assign { ty, .. } if ty.is_float() => None,
        Stmt::Return(_) => Some(no_rounds.clone()),
        other => Some(other.clone()),
    })
}

/// The statements between `first` and a loop that return where data say so, and the others: with nothing done first, they may
/// as well stand before all.
fn skips(between: &[Stmt], first: &[Stmt]) -> (Vec<Stmt>, Vec<Stmt>) {
    let skips = |s: &Stmt| !first.is_empty() && returns_by_data(s);
    between.iter().cloned().partition(skips)
}

/// Whether a statement does nothing but return, where floats or memory say so.
fn returns_by_data(stmt: &Stmt) -> bool {
    let Stmt::If {
        cond,
        then,
        otherwise,
    } = stmt
    else {
        return false;
    };
    let mut by_data = false;
    cond.visit(&mut |e| by_data |= matches!(e, Expr::Load { .. }) || e.ty().is_float());
    let only_returns = |s: &Stmt| matches!(s, Stmt::Return(_));
    by_data && [then, otherwise].into_iter().flatten().all(only_returns)
}

/// The statements without assignments to these.
fn without(stmts: &[Stmt], vars: &BTreeSet<Sym>) -> Vec<Stmt> {
    rewritten(stmts, &|s| match s {
        Stmt::Assign { var, .. } if vars.contains(var) => None,
        other => Some(other.clone()),
    })
}

/// What `f` makes of the statements that are no branches, in branches, too.
pub(crate) fn rewritten(stmts: &[Stmt], f: &dyn Fn(&Stmt) -> Option<Stmt>) -> Vec<Stmt> {
    let one = |s: &Stmt| match s {
        Stmt::If {
            cond,
            then,
            otherwise,
        } => Some(Stmt::If {
            cond: cond.clone(),
            then: rewritten(then, f),
            otherwise: rewritten(otherwise, f),
        }),
        other => f(other),
    };
    stmts.iter().filter_map(one).collect()
}

fn stuck<T>(what: impl Into<String>, line: u32) -> Result<T, Stuck> {
    Err(Stuck {
        what: what.into(),
        line,
    })
}
