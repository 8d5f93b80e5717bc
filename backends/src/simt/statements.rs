//! What statements read, write and hold.

use std::collections::BTreeMap;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{self, Expr, Stmt, Visited};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType::{self, I64};

/// What is assigned, with its type.
pub(super) fn assigned(stmts: &[Stmt]) -> BTreeMap<Sym, ScalarType> {
    let mut out = BTreeMap::new();
    loopir::visit(stmts, &mut |part| {
        if let Visited::Stmt(Stmt::Assign { var, ty, .. }) = part {
            out.insert(var.clone(), *ty);
        }
    });
    out
}

/// Whether any of the variables is read.
pub(super) fn mentions_any(e: &Expr, vars: &BTreeMap<Sym, ScalarType>) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= matches!(e, Expr::Var(v, _) if vars.contains_key(v)));
    found
}

/// Whether memory is read.
pub(super) fn loads(e: &Expr) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= matches!(e, Expr::Load { .. }));
    found
}

/// How often each variable is read.
pub(super) fn reads(stmts: &[Stmt]) -> BTreeMap<Sym, usize> {
    let mut out = BTreeMap::new();
    loopir::visit(stmts, &mut |part| {
        if let Visited::Expr(Expr::Var(v, _)) = part {
            *out.entry(v.clone()).or_default() += 1;
        }
    });
    out
}

/// Calls `f` with every expression that stands in a statement by itself.
pub(super) fn for_each_expr(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Expr)) {
    for s in stmts {
        match s {
            Stmt::Assign { value, .. } => f(value),
            Stmt::Store { index, value, .. } => {
                f(index);
                f(value);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                f(cond);
                for_each_expr(then, f);
                for_each_expr(otherwise, f);
            }
            Stmt::Loop(l) => {
                f(&mut l.cond);
                for_each_expr(&mut l.body, f);
            }
            Stmt::Return(value) => value.iter_mut().for_each(&mut *f),
            Stmt::Trap => {}
        }
    }
}

/// Calls `f` with the array and the index of every store.
pub(super) fn for_each_store(stmts: &mut [Stmt], f: &mut dyn FnMut(&Sym, &mut Expr)) {
    for s in stmts {
        match s {
            Stmt::Store { array, index, .. } => f(array, index),
            Stmt::If {
                then, otherwise, ..
            } => {
                for_each_store(then, f);
                for_each_store(otherwise, f);
            }
            Stmt::Loop(l) => for_each_store(&mut l.body, f),
            _ => {}
        }
    }
}

/// Has arrays with an origin begin there.
pub(super) fn move_loads<'s>(e: &mut Expr, origin: &dyn Fn(&Sym) -> Option<&'s Sym>) {
    e.children_mut()
        .into_iter()
        .for_each(|c| move_loads(c, origin));
    if let Expr::Load { array, index, .. } = e
        && let Some(origin) = origin(array)
    {
        subtract(index, origin);
    }
}

/// An index from this origin on.
pub(super) fn subtract(index: &mut Expr, origin: &Sym) {
    let from = std::mem::replace(index, Expr::int(I64, 0));
    *index = Expr::binary(BinOp::Subtract, from, Expr::Var(origin.clone(), I64));
}
