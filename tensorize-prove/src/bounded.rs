//! Loops that end when something happens in a round (`while (i < n && k < cap)`, `break`), as loops of so many rounds, in
//! which nothing happens once that was the case.
//!
//! ```text
//! while (i < n && !left) { … }
//! ```
//!
//! is the same as
//!
//! ```text
//! times = 0;
//! while (times < n) {
//!     if (i < n && !left) { before = i; …; if (i < n && !left && !(i > before)) trap; }
//!     times = times + 1;
//! }
//! ```
//!
//! where `i` is 0 before the loop: as often as a round begins in earnest, less is left between `i` and `n`, unless it was the
//! last one. A trap is what the original is called for, so the proof shows that there is no such round. What may be compared
//! is any number of pairs; each has to stay as it is or come closer, and one of them has to come closer.
//!
//! A loop that goes on with an `i` that was 0 at first begins with that or more: where it is less, that is a trap, too.
//!
//! Where a counter steps in the end of each round, it may go on to step instead: see [`steady`].

mod steady;

use self::steady::steady;
use crate::loops::modified;
use crate::names::Names;
use crate::rounds::step;
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{
    Expr, Function, Loop, LoopMode, Param, Stmt, Visited, each_expr_mut, each_stmt_mut,
    rename_variables, visit,
};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Rounds;

/// The kernel with such loops among its statements as ones with a counter; nothing if it has none. It is the same function,
/// but for calls that it traps.
pub fn bounded(kernel: &Function) -> Option<Function> {
    let mut function = kernel.clone();
    copy_changed_parameters(&mut function);
    let mut names = Names::of(&function);
    let (mut stmts, mut flags) = (Vec::new(), BTreeSet::new());
    let mut found = false;
    let body = std::mem::take(&mut function.body);
    for (at, stmt) in body.iter().enumerate() {
        match stmt {
            Stmt::Loop(l) if let Some(steady) = steady(l, &body[at + 1..]) => {
                found = true;
                flags.extend(flags_of(l));
                stmts.push(Stmt::Loop(steady));
            }
            Stmt::Loop(l) if let Some(ends) = Ends::of(l, &stmts, found) => {
                found = true;
                flags.extend(flags_of(l));
                ends.counted(l, &mut names, &mut stmts);
            }
            _ => stmts.push(stmt.clone()),
        }
    }
    function.body = stmts;
    as_integers(&mut function.body, &flags);
    (found && function.validate().is_ok()).then_some(function)
}

/// The truth values that rounds leave to the next ones, which ask whether to go on.
fn flags_of(l: &Loop) -> BTreeSet<Sym> {
    let changed = modified(&l.body).0;
    let mut flags = BTreeSet::new();
    l.cond.visit(&mut |e| {
        if let Expr::Var(v, ScalarType::I1) = e
            && changed.contains_key(v)
        {
            flags.insert(v.clone());
        }
    });
    flags
}

/// Two numbers of one type that come closer; as long as the loop goes on, `low` is below `high`, or at most as large.
struct Pair {
    low: Expr,
    high: Expr,
    or_equal: bool,
}

/// How a loop ends.
struct Ends {
    pairs: Vec<Pair>,
    /// What the loop goes on by, up to the last of the pairs.
    asked: Vec<Expr>,
    /// What the variables in the pairs that rounds change are before the loop, or were when they were set for the first time.
    starts: BTreeMap<Sym, Expr>,
    /// Whether they still are that.
    at_start: bool,
}

impl Ends {
    /// Nothing if the loop has a counter that says how often it runs, or if nobody sees why it ends. A counter that `goes_on`
    /// from a loop that is no such thing says nothing.
    fn of(l: &Loop, before: &[Stmt], goes_on: bool) -> Option<Ends> {
        let (changed, _) = modified(&l.body);
        if returns(&l.body) || !l.test_first || l.mode != LoopMode::Sequential {
            return None;
        }
        if let Some(counter) = counter(l)
            && !(goes_on && start(counter, before).is_some_and(|(_, still)| !still))
        {
            return None;
        }
        let mut asked = Vec::new();
        conjuncts(&l.cond, &mut asked);
        let mut pairs = Vec::new();
        for (at, c) in asked.iter().enumerate() {
            let (mut reads, mut varies) = (false, false);
            c.visit(&mut |e| match e {
                Expr::Load { .. } => reads = true,
                Expr::Var(v, _) => varies |= changed.contains_key(v),
                _ => {}
            });
            if let Expr::Compare(op, a, b) = c
                && !reads
                && varies
                && a.ty().is_int()
            {
                pairs.extend(pair(*op, a, b).map(|p| (at, p)));
            }
        }
        // One that comes closer in each round will do.
        if let Some(one) = (pairs.iter()).position(|(_, p)| always_closer(p, &l.body, &changed)) {
            pairs = vec![pairs.swap_remove(one)];
        }
        asked.truncate(pairs.last()?.0 + 1);
        let pairs: Vec<Pair> = pairs.into_iter().map(|(_, p)| p).collect();
        let (mut starts, mut exactly) = (BTreeMap::new(), true);
        for side in pairs.iter().flat_map(|p| [&p.low, &p.high]) {
            let mut known = true;
            side.visit(&mut |e| {
                if let Expr::Var(v, _) = e
                    && changed.contains_key(v)
                {
                    match start(v, before) {
                        Some((value, still)) if changed.keys().all(|v| !value.mentions(v)) => {
                            exactly &= still;
                            starts.insert(v.clone(), value);
                        }
                        _ => known = false,
                    }
                }
            });
            if !known {
                return None;
            }
        }
        Some(Ends {
            pairs,
            asked,
            starts,
            at_start: exactly,
        })
    }

    /// Adds the loop with a counter to the statements.
    fn counted(self, l: &Loop, names: &mut Names, stmts: &mut Vec<Stmt>) {
        let count = Rounds::COUNTER;
        let times = names.plain("times");
        let so_far = Expr::Var(times.clone(), count);
        let mut most = Expr::int(count, 0);
        let (mut saved, mut kept_all, mut closer) = (Vec::new(), Vec::new(), Vec::new());
        for pair in &self.pairs {
            let sides = [
                (&pair.low, CmpOp::Ge, CmpOp::Gt),
                (&pair.high, CmpOp::Le, CmpOp::Lt),
            ];
            for (side, kept, nearer) in sides {
                let first = at_start(side, &self.starts);
                trap_unless_small(&first, stmts);
                let op = match kept {
                    CmpOp::Ge => BinOp::Subtract,
                    _ => BinOp::Add,
                };
                most = Expr::binary(op, most, Expr::convert(count, first.clone()));
                if self.starts.keys().all(|v| !side.mentions(v)) {
                    continue;
                }
                if !self.at_start {
                    let begun = Expr::compare(kept, side.clone(), first);
                    saved.push(trap_if(Expr::Unary(UnOp::Not, Box::new(begun))));
                }
                let before = names.numbered("before");
                let was = Expr::Var(before.clone(), side.ty());
                saved.push(Stmt::Assign {
                    var: before,
                    ty: side.ty(),
                    value: side.clone(),
                });
                kept_all.push(Expr::compare(kept, side.clone(), was.clone()));
                closer.push(Expr::compare(nearer, side.clone(), was));
            }
            if pair.or_equal {
                most = Expr::binary(BinOp::Add, most, Expr::int(count, 1));
            }
        }
        let progress = match (closer.len(), kept_all.into_iter().reduce(both)) {
            (2.., Some(kept)) => closer.into_iter().reduce(either).map(|c| both(kept, c)),
            _ => closer.pop(),
        };
        let stands = progress.map(|c| Expr::Unary(UnOp::Not, Box::new(c)));
        let trapped = self.asked.into_iter().chain(stands).reduce(both);
        let mut then = saved;
        then.extend_from_slice(&l.body);
        then.extend(trapped.map(trap_if));
        let round = Stmt::If {
            cond: l.cond.clone(),
            then,
            otherwise: vec![],
        };
        let set = |value| Stmt::Assign {
            var: times.clone(),
            ty: count,
            value,
        };
        let one_more = Expr::binary(BinOp::Add, so_far.clone(), Expr::int(count, 1));
        // Without a round, nothing would be seen of where it begins.
        if !self.at_start {
            let none = Expr::compare(CmpOp::Lt, most.clone(), Expr::int(count, 1));
            stmts.push(trap_if(none));
        }
        stmts.push(set(Expr::int(count, 0)));
        stmts.push(Stmt::Loop(Loop {
            cond: Expr::compare(CmpOp::Lt, so_far, most),
            body: vec![round, set(one_more)],
            ..l.clone()
        }));
    }
}

fn both(a: Expr, b: Expr) -> Expr {
    let no = Expr::Const(Scalar::int(ScalarType::I1, 0));
    Expr::Select(Box::new(a), Box::new(b), Box::new(no))
}

fn either(a: Expr, b: Expr) -> Expr {
    let yes = Expr::Const(Scalar::int(ScalarType::I1, 1));
    Expr::Select(Box::new(a), Box::new(yes), Box::new(b))
}

/// The counter, which steps once in each round, that the loop compares with what no round changes.
pub fn counter(l: &Loop) -> Option<&Sym> {
    let (changed, arrays) = modified(&l.body);
    let mut asked = BTreeSet::new();
    let mut by_data = false;
    l.cond.visit(&mut |e| match e {
        Expr::Load { array, .. } => by_data |= arrays.contains(array),
        Expr::Var(v, _) if changed.contains_key(v) => drop(asked.insert(v)),
        _ => {}
    });
    let only = asked.pop_first().filter(|_| !by_data && asked.is_empty())?;
    let at = l
        .body
        .iter()
        .position(|s| step(s).is_some_and(|s| s.var == only))?;
    let others = [&l.body[..at], &l.body[at + 1..]];
    (others.iter().all(|o| !modified(o).0.contains_key(only))).then_some(only)
}

/// Conditions that all have to hold.
fn conjuncts(c: &Expr, out: &mut Vec<Expr>) {
    match c {
        Expr::Select(a, b, no) if matches!(&**no, Expr::Const(v) if !v.is_true()) => {
            conjuncts(a, out);
            conjuncts(b, out);
        }
        Expr::Binary(BinOp::And, a, b) if c.ty() == ScalarType::I1 => {
            conjuncts(a, out);
            conjuncts(b, out);
        }
        c => out.push(c.clone()),
    }
}

fn pair(op: CmpOp, a: &Expr, b: &Expr) -> Option<Pair> {
    let (low, high, or_equal) = match op {
        CmpOp::Lt => (a, b, false),
        CmpOp::Le => (a, b, true),
        CmpOp::Gt => (b, a, false),
        CmpOp::Ge => (b, a, true),
        CmpOp::Eq | CmpOp::Ne => return None,
    };
    Some(Pair {
        low: low.clone(),
        high: high.clone(),
        or_equal,
    })
}

/// Whether the text of a round has a step in the right direction on each way through it, but for those on which it sets a
/// truth value: a guess.
fn always_closer(pair: &Pair, body: &[Stmt], changed: &BTreeMap<Sym, ScalarType>) -> bool {
    let moves = |side: &Expr, up: bool| {
        let mut any = false;
        side.visit(&mut |e| {
            if let Expr::Var(v, _) = e {
                any |= changed.contains_key(v) && on_all_ways(body, v, up);
            }
        });
        any
    };
    moves(&pair.low, true) || moves(&pair.high, false)
}

fn on_all_ways(stmts: &[Stmt], var: &Sym, up: bool) -> bool {
    stmts.iter().any(|s| match s {
        Stmt::Assign { var: v, value, .. } if v == var => match unconverted(value) {
            Expr::Binary(BinOp::Add, ..) => up,
            Expr::Binary(BinOp::Subtract, ..) => !up,
            _ => false,
        },
        Stmt::Assign {
            ty: ScalarType::I1, ..
        } => true,
        // What is done unless it has ended.
        Stmt::If {
            cond: Expr::Unary(UnOp::Not, flag),
            then,
            otherwise,
        } if otherwise.is_empty() && matches!(&**flag, Expr::Var(_, ScalarType::I1)) => {
            on_all_ways(then, var, up)
        }
        Stmt::If {
            then, otherwise, ..
        } => on_all_ways(then, var, up) && on_all_ways(otherwise, var, up),
        _ => false,
    })
}

/// What is converted, as a sum is to the narrow type of a counter.
fn unconverted(e: &Expr) -> &Expr {
    match e {
        Expr::Convert(_, inner) => unconverted(inner),
        e => e,
    }
}

/// What a variable was set to among these statements, by parameters that nothing changes and variables that are set once;
/// and whether it still is that after them.
fn start(var: &Sym, before: &[Stmt]) -> Option<(Expr, bool)> {
    let sets = |s: &Stmt| modified(std::slice::from_ref(s)).0.contains_key(var);
    let plainly = |s: &&Stmt| matches!(s, Stmt::Assign { value, .. } if !value.mentions(var));
    let last = before.iter().rposition(sets)?;
    let at = before[..=last]
        .iter()
        .rposition(|s| sets(s) && plainly(&s))?;
    let Stmt::Assign { value, .. } = &before[at] else {
        return None;
    };
    let mut known = true;
    value.visit(&mut |e| {
        known &= match e {
            Expr::Load { .. } => false,
            Expr::Var(v, _) => !modified(&before[at..]).0.contains_key(v),
            _ => true,
        };
    });
    known.then(|| (value.clone(), at == last))
}

fn at_start(e: &Expr, starts: &BTreeMap<Sym, Expr>) -> Expr {
    let mut stmts = [Stmt::Return(Some(e.clone()))];
    each_expr_mut(&mut stmts, &mut |e| {
        if let Expr::Var(v, _) = e
            && let Some(start) = starts.get(v)
        {
            *e = start.clone();
        }
    });
    match stmts {
        [Stmt::Return(Some(e))] => e,
        _ => e.clone(),
    }
}

/// A number of 64 bits is left to the original where it is so large that differences would not fit.
fn trap_unless_small(e: &Expr, stmts: &mut Vec<Stmt>) {
    let ty = e.ty();
    if ty.bits() < 64 || matches!(e, Expr::Const(_)) {
        return;
    }
    let most = Expr::int(ty, 1 << 60);
    let mut large = Expr::compare(CmpOp::Gt, e.clone(), most);
    if ty.is_signed() {
        let least = Expr::int(ty, -(1 << 60));
        large = either(large, Expr::compare(CmpOp::Lt, e.clone(), least));
    }
    stmts.push(trap_if(large));
}

fn trap_if(cond: Expr) -> Stmt {
    Stmt::If {
        cond,
        then: vec![Stmt::Trap],
        otherwise: vec![],
    }
}

fn returns(stmts: &[Stmt]) -> bool {
    let mut found = false;
    visit(stmts, &mut |part| {
        found |= matches!(part, Visited::Stmt(Stmt::Return(_)));
    });
    found
}

fn has_loads(e: &Expr) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= matches!(e, Expr::Load { .. }));
    found
}

/// Has parameters that the kernel assigns in variables of its own.
fn copy_changed_parameters(function: &mut Function) {
    let changed = modified(&function.body).0;
    let mut names = Names::of(function);
    let mut copies = Vec::new();
    let mut to = BTreeMap::new();
    for p in &function.params {
        if let Param::Scalar { name, ty } = p
            && changed.contains_key(name)
        {
            let copy = names.numbered(name);
            copies.push(Stmt::Assign {
                var: copy.clone(),
                ty: *ty,
                value: Expr::Var(name.clone(), *ty),
            });
            to.insert(name.clone(), copy);
        }
    }
    rename_variables(&mut function.body, &to);
    function.body.splice(0..0, copies);
}

/// Has truth values as integers, which rounds can leave to the next ones.
fn as_integers(stmts: &mut [Stmt], flags: &BTreeSet<Sym>) {
    let ty = ScalarType::I32;
    each_expr_mut(stmts, &mut |e| {
        if matches!(e, Expr::Var(v, ScalarType::I1) if flags.contains(v)) {
            let Expr::Var(v, _) = e else { return };
            let number = Expr::Var(v.clone(), ty);
            *e = Expr::compare(CmpOp::Ne, number, Expr::int(ty, 0));
        }
    });
    each_stmt_mut(stmts, &mut |stmt| {
        if let Stmt::Assign {
            var,
            ty: was,
            value,
        } = stmt
            && flags.contains(var)
        {
            *was = ty;
            *value = Expr::convert(ty, value.clone());
        }
    });
}

#[cfg(test)]
mod tests;
