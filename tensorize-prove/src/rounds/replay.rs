//! Integers that rounds go on from, of which no one number tells what a round adds: `k += j + 1`, or a `k++` in rounds of its
//! own. What they are when a round begins, the earlier rounds say once more: all of what they do to such integers, and
//! nothing else. It is for whoever looks at a round to find a closed form of that.

use super::Step;
use crate::loops::modified;
use crate::names::Names;
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{
    Expr, Function, Loop, LoopMode, Stmt, Visited, each_stmt_mut, rename_variables, visit,
};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::Rounds;

/// Such integers, and what a round does to them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Replay {
    /// They have a value before the first round.
    pub vars: BTreeMap<Sym, ScalarType>,
    /// They and those that walk, as far as they are made of these.
    begun: BTreeMap<Sym, ScalarType>,
    /// Of a round, what makes them, with the counter's step.
    round: Vec<Stmt>,
}

/// What is known of a loop over time.
pub(super) struct Known<'a> {
    pub before: &'a [Stmt],
    pub body: &'a [Stmt],
    pub first: &'a [Stmt],
    pub step: &'a Step<'a>,
    /// What the loop's condition looks at: how often it runs is counted without them.
    pub asked: &'a BTreeSet<Sym>,
}

impl Replay {
    /// Those among the variables that rounds assign.
    pub fn of(known: &Known, assigned: &BTreeMap<Sym, ScalarType>) -> Replay {
        let mut whole = known.body.to_vec();
        let at = if known.step.first { 0 } else { whole.len() };
        whole.insert(at, known.step.stmt.clone());
        let (begun, in_first) = (modified(known.before).0, modified(known.first).0);
        let goes_on = |v: &Sym, ty: &ScalarType| {
            ty.is_int()
                && begun.contains_key(v)
                && !known.asked.contains(v)
                && is_carried(&whole, v)
        };
        let mut made_of = BTreeSet::new();
        let mut vars = BTreeMap::new();
        for (var, ty) in assigned {
            if !goes_on(var, ty) {
                continue;
            }
            let Some(all) = sources(&whole, var) else {
                continue;
            };
            let known_so = |v: &Sym| {
                let carried = begun.contains_key(v) && is_carried(&whole, v);
                !in_first.contains_key(v)
                    && (!carried || only_adds(&whole, v) || goes_round(&whole, v))
            };
            if all.iter().all(known_so) {
                vars.insert(var.clone(), *ty);
                made_of.extend(all);
            }
        }
        let has_value = |(v, _): &(&Sym, &ScalarType)| {
            made_of.contains(*v)
                && *v != known.step.var
                && (vars.contains_key(*v) || !assigned.contains_key(*v))
        };
        let begun = begun.iter().filter(has_value);
        Replay {
            begun: begun.map(|(v, ty)| (v.clone(), *ty)).collect(),
            round: slice(&whole, &made_of),
            vars,
        }
    }

    /// What makes the variables what they are when the round of this number begins, of which `counter` is the loop's own,
    /// with what it is before the first round.
    pub fn before(&self, kernel: &Function, number: &Expr, counter: (&Step, Expr)) -> Vec<Stmt> {
        if self.vars.is_empty() {
            return vec![];
        }
        let mut names = Names::of(kernel);
        // The number is none of the kernel's own.
        if let Expr::Var(name, _) = number {
            names.take(name.clone());
        }
        let renamed: BTreeMap<Sym, Sym> = modified(&self.round)
            .0
            .into_keys()
            .map(|v| (v.clone(), names.numbered(&v)))
            .collect();
        let (step, first) = counter;
        let set = |var: &Sym, ty: ScalarType, value: Expr| Stmt::Assign {
            var: var.clone(),
            ty,
            value,
        };
        let value = |v: &Sym, ty: &ScalarType| Expr::Var(v.clone(), *ty);
        let mut stmts = Vec::new();
        if let Some(name) = renamed.get(step.var) {
            stmts.push(set(name, step.ty, first));
        }
        stmts.extend((self.begun.iter()).map(|(v, ty)| set(&renamed[v], *ty, value(v, ty))));
        let (count, earlier) = (Rounds::COUNTER, names.plain("earlier"));
        stmts.push(set(&earlier, count, Expr::int(count, 0)));
        let mut body = self.round.clone();
        rename_variables(&mut body, &renamed);
        let one_more = Expr::binary(BinOp::Add, value(&earlier, &count), Expr::int(count, 1));
        body.push(set(&earlier, count, one_more));
        let mut replay = vec![Stmt::Loop(Loop {
            id: 0,
            cond: Expr::compare(CmpOp::Lt, value(&earlier, &count), number.clone()),
            test_first: true,
            body,
            mode: LoopMode::Sequential,
            line: 0,
        })];
        number_anew(kernel, &mut replay);
        stmts.extend(replay);
        stmts.extend((self.vars.iter()).map(|(v, ty)| set(v, *ty, value(&renamed[v], ty))));
        stmts
    }
}

/// Whether a round may read what an earlier one has left in a variable.
fn is_carried(round: &[Stmt], var: &Sym) -> bool {
    for stmt in round {
        let mut reads = false;
        visit(std::slice::from_ref(stmt), &mut |part| {
            reads |= matches!(part, Visited::Expr(Expr::Var(v, _)) if v == var);
        });
        if reads {
            return true;
        }
        if matches!(stmt, Stmt::Assign { var: set, .. } if set == var) {
            return false;
        }
    }
    false
}

/// Whether all that a round does to a variable is to add to it or take off what does not look at it. Of others, as
/// `left -= min(left, 64)`, nobody finds a closed form.
fn only_adds(round: &[Stmt], var: &Sym) -> bool {
    let of_it = BTreeSet::from([var.clone()]);
    let (mut only, mut read) = (true, BTreeSet::new());
    let mut reads = |e: &Expr| {
        e.visit(&mut |e| {
            if let Expr::Var(v, _) = e {
                read.insert(v.clone());
            }
        });
    };
    let slice = slice(round, &of_it);
    visit(&slice, &mut |part| match part {
        Visited::Stmt(Stmt::Assign { value, .. }) => match unconverted(value) {
            Expr::Binary(BinOp::Add | BinOp::Subtract, own, by) => {
                only &= matches!(unconverted(own), Expr::Var(v, _) if v == var);
                reads(by);
            }
            _ => only = false,
        },
        Visited::Stmt(Stmt::If { cond, .. } | Stmt::Loop(Loop { cond, .. })) => reads(cond),
        _ => {}
    });
    let looks_at_it = |v: &Sym| sources(round, v).is_none_or(|all| all.contains(var));
    only && !read.iter().any(looks_at_it)
}

/// Whether a variable is made of itself alone, and of what it comes to where it is compared or divided: a place in a ring, as
/// `if (++j == taps) j = 0` has it.
fn goes_round(round: &[Stmt], var: &Sym) -> bool {
    let mut turns = false;
    let slice = slice(round, &BTreeSet::from([var.clone()]));
    visit(&slice, &mut |part| {
        let e = match part {
            Visited::Stmt(Stmt::If { cond, .. }) => cond,
            Visited::Expr(Expr::Select(cond, ..)) => cond,
            Visited::Expr(Expr::Binary(BinOp::Remainder, of, _)) => of,
            _ => return,
        };
        e.visit(&mut |e| turns |= matches!(e, Expr::Var(v, _) if v == var));
    });
    turns && sources(round, var).is_some_and(|all| all.len() == 1)
}

/// The number before it was made one of other types, as in `k = (int)((long)k + step)`.
fn unconverted(e: &Expr) -> &Expr {
    match e {
        Expr::Convert(_, inner) => unconverted(inner),
        e => e,
    }
}

/// The variables of a round from which one comes, itself among them; nothing if memory is looked at, or what is no integer.
fn sources(round: &[Stmt], var: &Sym) -> Option<BTreeSet<Sym>> {
    let changed = modified(round).0;
    let mut found = BTreeSet::from([var.clone()]);
    loop {
        let before = found.len();
        let mut plain = true;
        let slice = slice(round, &found);
        visit(&slice, &mut |part| match part {
            Visited::Expr(Expr::Var(v, ty)) => {
                plain &= ty.is_int();
                if changed.contains_key(v) {
                    found.insert(v.clone());
                }
            }
            Visited::Expr(Expr::Load { .. }) => plain = false,
            _ => {}
        });
        if !plain {
            return None;
        }
        if found.len() == before {
            return Some(found);
        }
    }
}

/// The statements that assign these, and what decides about them.
fn slice(stmts: &[Stmt], vars: &BTreeSet<Sym>) -> Vec<Stmt> {
    let sets = |s: &Stmt| {
        modified(std::slice::from_ref(s))
            .0
            .keys()
            .any(|v| vars.contains(v))
    };
    let one = |s: &Stmt| match s {
        Stmt::If {
            cond,
            then,
            otherwise,
        } => Stmt::If {
            cond: cond.clone(),
            then: slice(then, vars),
            otherwise: slice(otherwise, vars),
        },
        Stmt::Loop(l) => Stmt::Loop(Loop {
            body: slice(&l.body, vars),
            ..l.clone()
        }),
        other => other.clone(),
    };
    stmts.iter().filter(|s| sets(s)).map(one).collect()
}

/// Gives loops numbers that none of the kernel's have.
fn number_anew(kernel: &Function, stmts: &mut [Stmt]) {
    let mut next = 0;
    visit(&kernel.body, &mut |part| {
        if let Visited::Stmt(Stmt::Loop(l)) = part {
            next = next.max(l.id + 1);
        }
    });
    each_stmt_mut(stmts, &mut |stmt| {
        if let Stmt::Loop(l) = stmt {
            l.id = next;
            next += 1;
        }
    });
}
