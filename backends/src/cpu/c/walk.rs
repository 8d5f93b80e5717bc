//! Questions about statements.

use super::scope::{self, Node};
use std::collections::BTreeSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{self, Expr, Stmt, Visited};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;

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
    loopir::visit(stmts, &mut |part| {
        if let Visited::Stmt(Stmt::Assign { var, .. }) = part {
            out.push(var);
        }
    });
}

/// Every variable that is read, and every array.
pub(crate) fn used_names(stmts: &[Stmt]) -> BTreeSet<Sym> {
    let mut out = BTreeSet::new();
    loopir::visit(stmts, &mut |part| {
        if let Visited::Expr(Expr::Var(n, _) | Expr::Load { array: n, .. })
        | Visited::Stmt(Stmt::Store { array: n, .. }) = part
        {
            out.insert(n.clone());
        }
    });
    out
}

/// Whether a round takes for `var` what compares as greater or less, and keeps it otherwise.
pub(super) fn kept_by_comparing(body: &[Stmt], var: &Sym) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Assign { var: v, value, .. } if v == var => {
            matches!(value, Expr::Select(c, _, kept)
                if matches!(**c, Expr::Compare(..)) && is_var(kept, var))
        }
        _ => false,
    })
}

/// What a call of the C library costs, in operations that are an instruction.
const A_CALL: u32 = 16;

/// The bytes that statements read, compute and write; indices are free.
pub(super) fn bytes_of_a_round(stmts: &[Stmt]) -> u32 {
    let of = |stmt: &Stmt| match stmt {
        Stmt::Assign { value, .. } => bytes_of(value),
        Stmt::Store { value, .. } => bytes(value.ty()) + bytes_of(value),
        Stmt::Return(value) => value.iter().map(bytes_of).sum(),
        Stmt::Trap => 0,
        Stmt::If {
            cond,
            then,
            otherwise,
        } => bytes_of(cond) + bytes_of_a_round(then) + bytes_of_a_round(otherwise),
        Stmt::Loop(l) => bytes_of_a_round(&l.body),
    };
    stmts.iter().map(of).sum()
}

fn bytes(ty: ScalarType) -> u32 {
    ty.bits().div_ceil(8)
}

fn bytes_of(e: &Expr) -> u32 {
    let own = match e {
        Expr::Const(_) | Expr::Var(..) => 0,
        Expr::Load { elem, .. } => return bytes(*elem),
        Expr::Convert(..) | Expr::Bitcast(..) | Expr::Select(..) => bytes(e.ty()),
        Expr::Unary(_, a) | Expr::Binary(_, a, _) | Expr::Compare(_, a, _) => {
            bytes(a.ty()) * if is_call(e) { A_CALL } else { 1 }
        }
    };
    own + e.children().into_iter().map(bytes_of).sum::<u32>()
}

/// Whether statements call a function of the C library that takes more than an instruction.
pub(crate) fn calls_library(stmts: &[Stmt]) -> bool {
    let mut calls = false;
    loopir::visit(stmts, &mut |part| {
        calls |= matches!(part, Visited::Expr(e) if is_call(e));
    });
    calls
}

/// Whether a function of the C library is called that takes more than an instruction.
fn is_call(e: &Expr) -> bool {
    use UnOp::*;
    match e {
        Expr::Unary(op, _) => !matches!(
            op,
            Negate | Not | Abs | Sqrt | Floor | Ceil | Trunc | RoundNearestEven
        ),
        Expr::Binary(op, a, _) => {
            a.ty().is_float() && matches!(op, BinOp::Power | BinOp::Atan2 | BinOp::Remainder)
        }
        _ => false,
    }
}

/// Whether a float is converted to an integer anywhere.
pub(super) fn makes_integers_of_floats(stmts: &[Stmt]) -> bool {
    let mut found = false;
    loopir::visit(stmts, &mut |part| {
        if let Visited::Expr(Expr::Convert(to, from)) = part {
            found |= to.is_int() && from.ty().is_float();
        }
    });
    found
}

/// Whether a condition decides anywhere what is read.
pub(super) fn reads_under_conditions(stmts: &[Stmt]) -> bool {
    fn reads(e: &Expr) -> bool {
        let mut found = false;
        e.visit(&mut |e| found |= matches!(e, Expr::Load { .. }));
        found
    }
    let mut found = false;
    loopir::visit(stmts, &mut |part| match part {
        Visited::Expr(Expr::Select(_, t, f)) => found |= reads(t) || reads(f),
        Visited::Stmt(Stmt::If {
            then, otherwise, ..
        }) => {
            for branch in [then, otherwise] {
                loopir::visit(branch, &mut |part| {
                    found |= matches!(part, Visited::Expr(Expr::Load { .. }));
                });
            }
        }
        _ => {}
    });
    found
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
