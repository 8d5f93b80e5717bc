//! What stands between the things that are done before a loop over time, and has nothing to do with them.

use super::uses;
use crate::loops::modified;
use std::collections::BTreeSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};

/// Among the statements before a loop's `body`, variables that are set once, to what none of the others changes: they may as
/// well be set before these; and the rest.
pub(super) fn set_apart(stmts: &[Stmt], body: &[Stmt]) -> (Vec<Stmt>, Vec<Stmt>) {
    let (mut apart, mut rest): (Vec<Stmt>, Vec<Stmt>) = Default::default();
    let in_body = modified(body).0;
    for (i, stmt) in stmts.iter().enumerate() {
        let is_apart = |var: &Sym, value: &Expr| {
            let (assigned, _) = modified(&rest);
            let mut told = true;
            value.visit(&mut |e| {
                told &= match e {
                    Expr::Load { .. } => false,
                    Expr::Var(v, _) => !assigned.contains_key(v),
                    _ => true,
                };
            });
            let alone = BTreeSet::from([var.clone()]);
            let again = modified(&stmts[i + 1..]).0.contains_key(var);
            told && !again && !in_body.contains_key(var) && !uses(&rest, &alone)
        };
        match stmt {
            Stmt::Assign { var, value, .. } if is_apart(var, value) => apart.push(stmt.clone()),
            other => rest.push(other.clone()),
        }
    }
    (apart, rest)
}
