//! What stands before the things that are done before a loop over time, or between them, and has nothing to do with them.

use super::uses;
use crate::loops::modified;
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Function, Stmt, Visited, visit};
use tensorize_ir::scalar::ScalarType;

/// Among the statements before a loop's `body`, variables that are set once, to what none of the others changes: they may as
/// well be set before these; and the rest.
pub(super) fn set_apart(stmts: &[Stmt], body: &[Stmt]) -> (Vec<Stmt>, Vec<Stmt>) {
    let (mut apart, mut rest): (Vec<Stmt>, Vec<Stmt>) = Default::default();
    let in_body = modified(body).0;
    for (i, stmt) in stmts.iter().enumerate() {
        let is_apart = |var: &Sym, value: &Expr| {
            let again = modified(&stmts[i + 1..]).0.contains_key(var);
            !again && !in_body.contains_key(var) && has_nothing_to_do_with(&rest, var, value)
        };
        match stmt {
            Stmt::Assign { var, value, .. } if is_apart(var, value) => apart.push(stmt.clone()),
            other => rest.push(other.clone()),
        }
    }
    (apart, rest)
}

/// Statements that do nothing with arrays but read them, without the last ones, which may as well come after `others` that
/// follow; and those.
pub(super) fn set_later<'a>(stmts: &'a [Stmt], others: &[Stmt]) -> (&'a [Stmt], &'a [Stmt]) {
    let later = |s: &&Stmt| match s {
        Stmt::Assign { var, value, .. } => has_nothing_to_do_with(others, var, value),
        _ => false,
    };
    let moved = stmts.iter().rev().take_while(later).count();
    stmts.split_at(stmts.len() - moved)
}

/// Stores that stand `last`, of what the others don't change, in arrays that nothing else in the kernel looks at or writes to,
/// such as what is left of a length: they may as well come before the others; and the rest.
pub(super) fn set_early(
    kernel: &Function,
    last: &[Stmt],
    others: &[Stmt],
) -> (Vec<Stmt>, Vec<Stmt>) {
    let mut times: BTreeMap<&Sym, usize> = BTreeMap::new();
    visit(&kernel.body, &mut |part| {
        if let Visited::Stmt(Stmt::Store { array, .. }) | Visited::Expr(Expr::Load { array, .. }) =
            part
        {
            *times.entry(array).or_default() += 1;
        }
    });
    let (mut changed, _) = modified(others);
    changed.extend(modified(last).0);
    let early = |s: &Stmt| match s {
        Stmt::Store {
            array,
            index,
            value,
        } => times[array] == 1 && [index, value].iter().all(|e| is_told(e, &changed)),
        _ => false,
    };
    last.iter().cloned().partition(early)
}

/// Whether an expression reads no memory and none of the variables.
fn is_told(e: &Expr, vars: &BTreeMap<Sym, ScalarType>) -> bool {
    let mut told = true;
    e.visit(&mut |e| {
        told &= match e {
            Expr::Load { .. } => false,
            Expr::Var(v, _) => !vars.contains_key(v),
            _ => true,
        };
    });
    told
}

/// Whether a variable may be set to this before the statements as well as after them.
fn has_nothing_to_do_with(stmts: &[Stmt], var: &Sym, value: &Expr) -> bool {
    let (assigned, _) = modified(stmts);
    is_told(value, &assigned) && !uses(stmts, &BTreeSet::from([var.clone()]))
}
