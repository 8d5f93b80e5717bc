//! Walks over statements and what they compute.

use super::{Expr, Stmt};

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
