//! Walks over statements and what they compute.

use super::{Expr, LoopMode, Stmt};
use crate::index::Sym;
use std::collections::BTreeMap;

/// What a walk meets.
#[derive(Clone, Copy, Debug)]
pub enum Visited<'a> {
    /// An expression, before its operands.
    Expr(&'a Expr),
    /// A statement, after what it computes itself and before the statements in it.
    Stmt(&'a Stmt),
}

impl Expr {
    /// Calls `f` with this expression and with all operands, each before its own.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        self.children().into_iter().for_each(|c| c.visit(f));
    }

    /// Whether the variable is read in it.
    pub fn mentions(&self, var: &Sym) -> bool {
        let mut found = false;
        self.visit(&mut |e| found |= matches!(e, Expr::Var(v, _) if v == var));
        found
    }

    /// Calls `f` with all operands and then with this expression, each after its own, to be changed.
    pub fn visit_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.children_mut().into_iter().for_each(|c| c.visit_mut(f));
        f(self);
    }
}

/// Calls `f` with every statement and every expression, in the order in which they run.
pub fn visit<'a>(stmts: &'a [Stmt], f: &mut dyn FnMut(Visited<'a>)) {
    for s in stmts {
        let mut of = |e: &'a Expr| e.visit(&mut |e| f(Visited::Expr(e)));
        match s {
            Stmt::Assign { value, .. } => of(value),
            Stmt::Store { index, value, .. } => {
                of(index);
                of(value);
            }
            Stmt::If { cond, .. } => of(cond),
            Stmt::Loop(l) if l.test_first => of(&l.cond),
            Stmt::Loop(_) => {}
            Stmt::Return(value) => value.iter().for_each(of),
            Stmt::Trap => {}
        }
        f(Visited::Stmt(s));
        match s {
            Stmt::If {
                then, otherwise, ..
            } => {
                visit(then, f);
                visit(otherwise, f);
            }
            Stmt::Loop(l) => {
                visit(&l.body, f);
                if !l.test_first {
                    l.cond.visit(&mut |e| f(Visited::Expr(e)));
                }
            }
            _ => {}
        }
    }
}

/// How deep loops are nested.
pub fn nesting(stmts: &[Stmt]) -> usize {
    let of = |s: &Stmt| match s {
        Stmt::If {
            then, otherwise, ..
        } => nesting(then).max(nesting(otherwise)),
        Stmt::Loop(l) => 1 + nesting(&l.body),
        _ => 0,
    };
    stmts.iter().map(of).max().unwrap_or(0)
}

/// The line of the innermost loop around the last store to an array, in the order of the text; 0 if no loop is around one.
pub fn stored_in(stmts: &[Stmt], array: &str) -> u32 {
    last_store(stmts, array, 0).unwrap_or(0)
}

fn last_store(stmts: &[Stmt], to: &str, line: u32) -> Option<u32> {
    stmts.iter().rev().find_map(|s| match s {
        Stmt::Store { array, .. } => (&**array == to).then_some(line),
        Stmt::If {
            then, otherwise, ..
        } => last_store(otherwise, to, line).or_else(|| last_store(then, to, line)),
        Stmt::Loop(l) => last_store(&l.body, to, l.line),
        Stmt::Assign { .. } | Stmt::Return(_) | Stmt::Trap => None,
    })
}

/// Calls `f` with every expression, operands before what is made of them, to be changed.
pub fn each_expr_mut(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Expr)) {
    each_stmt_mut(stmts, &mut |stmt| match stmt {
        Stmt::Assign { value, .. } => value.visit_mut(f),
        Stmt::Store { index, value, .. } => {
            index.visit_mut(f);
            value.visit_mut(f);
        }
        Stmt::If { cond, .. } => cond.visit_mut(f),
        Stmt::Loop(l) => l.cond.visit_mut(f),
        Stmt::Return(value) => value.iter_mut().for_each(|v| v.visit_mut(f)),
        Stmt::Trap => {}
    });
}

/// Calls `f` with every statement, those inside of it first, to be changed.
pub fn each_stmt_mut(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Stmt)) {
    for stmt in stmts {
        match stmt {
            Stmt::If {
                then, otherwise, ..
            } => {
                each_stmt_mut(then, f);
                each_stmt_mut(otherwise, f);
            }
            Stmt::Loop(l) => each_stmt_mut(&mut l.body, f),
            _ => {}
        }
        f(stmt);
    }
}

/// Gives variables other names, wherever they are read or assigned.
pub fn rename_variables(stmts: &mut [Stmt], to: &BTreeMap<Sym, Sym>) {
    let renamed = |name: &mut Sym| *name = to.get(name).unwrap_or(name).clone();
    each_expr_mut(stmts, &mut |e| {
        if let Expr::Var(v, _) = e {
            renamed(v);
        }
    });
    each_stmt_mut(stmts, &mut |stmt| match stmt {
        Stmt::Assign { var, .. } => renamed(var),
        Stmt::Loop(l) => {
            if let LoopMode::Simd { reductions } = &mut l.mode {
                reductions.iter_mut().for_each(|(_, var)| renamed(var));
            }
        }
        _ => {}
    });
}

/// Gives arrays other names, wherever elements are read or stored.
pub fn rename_arrays(stmts: &mut [Stmt], to: &BTreeMap<Sym, Sym>) {
    let renamed = |name: &mut Sym| *name = to.get(name).unwrap_or(name).clone();
    each_expr_mut(stmts, &mut |e| {
        if let Expr::Load { array, .. } = e {
            renamed(array);
        }
    });
    each_stmt_mut(stmts, &mut |stmt| {
        if let Stmt::Store { array, .. } = stmt {
            renamed(array);
        }
    });
}
