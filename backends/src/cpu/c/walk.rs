//! Questions about statements.

use super::scope::{self, Node};
use std::collections::BTreeSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};

pub(super) fn inner_loops<'n, 'a>(nodes: &'n [Node<'a>]) -> Vec<&'n Node<'a>> {
    let mut out = Vec::new();
    for n in nodes {
        match n {
            Node::Plain(_) => {}
            Node::If {
                then, otherwise, ..
            } => {
                out.extend(inner_loops(then));
                out.extend(inner_loops(otherwise));
            }
            Node::For { .. } | Node::While { .. } => out.push(n),
        }
    }
    out
}

pub(super) fn has_loop(nodes: &[Node]) -> bool {
    !inner_loops(nodes).is_empty()
}

pub(super) fn loads(e: &Expr) -> bool {
    matches!(e, Expr::Load { .. }) || e.children().into_iter().any(loads)
}

pub(super) fn count_nodes(nodes: &[Node]) -> usize {
    nodes
        .iter()
        .map(|n| match n {
            Node::Plain(_) => 1,
            Node::If {
                then, otherwise, ..
            } => 1 + count_nodes(then) + count_nodes(otherwise),
            Node::For { body, .. } | Node::While { body, .. } => 1 + count_nodes(body),
        })
        .sum()
}

pub(super) fn assigned_in<'s>(stmts: &'s [Stmt], out: &mut Vec<&'s Sym>) {
    for s in stmts {
        match s {
            Stmt::Assign { var, .. } => out.push(var),
            Stmt::If {
                then, otherwise, ..
            } => {
                assigned_in(then, out);
                assigned_in(otherwise, out);
            }
            Stmt::Loop(l) => assigned_in(&l.body, out),
            _ => {}
        }
    }
}

/// Calls `f` with every expression, operands included.
pub(super) fn for_each_expr(stmts: &[Stmt], f: &mut dyn FnMut(&Expr)) {
    fn of_expr(e: &Expr, f: &mut dyn FnMut(&Expr)) {
        f(e);
        e.children().into_iter().for_each(|c| of_expr(c, f));
    }
    for s in stmts {
        match s {
            Stmt::Assign { value, .. } => of_expr(value, f),
            Stmt::Store { index, value, .. } => {
                of_expr(index, f);
                of_expr(value, f);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                of_expr(cond, f);
                for_each_expr(then, f);
                for_each_expr(otherwise, f);
            }
            Stmt::Loop(l) => {
                of_expr(&l.cond, f);
                for_each_expr(&l.body, f);
            }
            Stmt::Return(e) => e.iter().for_each(|e| of_expr(e, f)),
        }
    }
}

/// Every variable that is read, and every array.
pub(super) fn used_names(stmts: &[Stmt]) -> BTreeSet<Sym> {
    let mut out = BTreeSet::new();
    for_each_expr(stmts, &mut |e| {
        if let Expr::Var(n, _) | Expr::Load { array: n, .. } = e {
            out.insert(n.clone());
        }
    });
    stored_in(stmts, &mut out);
    out
}

pub(super) fn stored_in(stmts: &[Stmt], out: &mut BTreeSet<Sym>) {
    for s in stmts {
        match s {
            Stmt::Store { array, .. } => {
                out.insert(array.clone());
            }
            Stmt::If {
                then, otherwise, ..
            } => {
                stored_in(then, out);
                stored_in(otherwise, out);
            }
            Stmt::Loop(l) => stored_in(&l.body, out),
            _ => {}
        }
    }
}

/// Whether a function of the C library is called that takes more than an instruction.
pub(super) fn is_slow(stmts: &[Stmt]) -> bool {
    let mut slow = false;
    for_each_expr(stmts, &mut |e| {
        use UnOp::*;
        slow |= match e {
            Expr::Unary(op, _) => !matches!(
                op,
                Negate | Not | Abs | Sqrt | Floor | Ceil | Trunc | RoundNearestEven
            ),
            Expr::Binary(op, a, _) => {
                a.ty().is_float() && matches!(op, BinOp::Power | BinOp::Atan2 | BinOp::Remainder)
            }
            _ => false,
        };
    });
    slow
}

/// The bound of a loop that counts from 0 by 1 to a bound that it doesn't change.
pub(super) fn counted<'n>(node: &Node<'n>) -> Option<&'n Expr> {
    let Node::For {
        var,
        start,
        step,
        looped,
        ..
    } = node
    else {
        return None;
    };
    let Expr::Compare(CmpOp::Lt, a, bound) = &looped.cond else {
        return None;
    };
    let Expr::Binary(BinOp::Add, s, by) = *step else {
        return None;
    };
    let canonical = is_int(start, 0) && is_var(a, var) && is_var(s, var) && is_int(by, 1);
    let (_, body) = looped.body.split_last()?;
    let mut assigned = Vec::new();
    assigned_in(body, &mut assigned);
    let changes = |v: &Sym| assigned.contains(&v);
    let mut steady = !changes(var) && !scope::mentions(bound, var) && !loads(bound);
    scope::for_each_var(bound, &mut |v, _| steady &= !changes(v));
    (canonical && steady).then_some(bound)
}

pub(super) fn is_var(e: &Expr, var: &Sym) -> bool {
    matches!(e, Expr::Var(v, _) if v == var)
}

pub(super) fn is_int(e: &Expr, value: i128) -> bool {
    matches!(e, Expr::Const(v) if v.ty.is_int() && v.as_int() == value)
}
