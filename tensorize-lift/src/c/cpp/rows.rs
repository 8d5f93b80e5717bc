//! The length of the rows of a vector of vectors, before the first row is there.
//!
//! A kernel that pushes rows has to say how long they are, and that all are: rows of several lengths have no flat form, and
//! are the original's, as if it ended the program there. What is expected is read off the loop that fills a row. It is a
//! guess: if it is wrong, the proof fails that nothing ends the program.

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::lower::{Lower, Result, offset_op, problem};
use super::seq::{Rows, index_of, int};
use std::collections::HashSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Loop, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

impl<'u> Lower<'u, '_> {
    /// Puts the expected lengths of rows before the loops that need them.
    pub fn expect_rows(&mut self, body: &mut Vec<Stmt>, f: Cursor<'u>) -> Result<()> {
        for rows in std::mem::take(&mut self.cpp.tables) {
            let user = body.iter().position(|s| uses(s, &rows.expected));
            let (at, length) = match user {
                None => (0, int(0)),
                Some(at) => {
                    let length = expected(body, &rows)
                        .and_then(|e| before(body, at, e))
                        .ok_or_else(|| {
                            let mut p = problem(
                                codes::ALLOCATION,
                                "it cannot be seen that all rows have the same length",
                                f,
                            );
                            p.help = Some(
                                "fill each row in a loop of its own, with a bound that is the same for all rows"
                                    .into(),
                            );
                            p
                        })?;
                    (at, length)
                }
            };
            let assign = |var: &Sym, value: Expr| Stmt::Assign {
                var: var.clone(),
                ty: ScalarType::I64,
                value,
            };
            let known = Expr::Var(rows.expected.clone(), ScalarType::I64);
            body.insert(at, assign(&rows.length, known));
            body.insert(at, assign(&rows.expected, length));
        }
        self.none_filled(body);
        Ok(())
    }
}

/// The first row's length: what is compared with `expected`, as far as the statements before tell.
fn expected(block: &[Stmt], rows: &Rows) -> Option<Expr> {
    for (i, s) in block.iter().enumerate() {
        match s {
            Stmt::If {
                cond: Expr::Compare(CmpOp::Ne, len, e),
                then,
                ..
            } if matches!(&**e, Expr::Var(v, _) if *v == rows.expected)
                && matches!(then[..], [Stmt::Trap]) =>
            {
                return match &**len {
                    Expr::Var(v, _) if last_assigned(&block[..i], v) => value_after(&block[..i], v),
                    len => Some(len.clone()),
                };
            }
            Stmt::If {
                then, otherwise, ..
            } => {
                let inner = expected(then, rows).or_else(|| expected(otherwise, rows));
                if inner.is_some() {
                    return inner;
                }
            }
            Stmt::Loop(l) => {
                if let Some(e) = expected(&l.body, rows) {
                    return Some(e);
                }
            }
            _ => {}
        }
    }
    None
}

fn last_assigned(block: &[Stmt], var: &Sym) -> bool {
    block.iter().any(|s| assigned_in(s).contains(var))
}

/// The value of a variable after a block.
fn value_after(block: &[Stmt], var: &Sym) -> Option<Expr> {
    let mut value: Option<Expr> = None;
    for (i, s) in block.iter().enumerate() {
        match s {
            Stmt::Assign {
                var: v, value: e, ..
            } if v == var => {
                value = match (added(e, var), value) {
                    (Some(by), Some(old)) => Some(offset_op(BinOp::Add, old, by)),
                    (Some(_), None) => return None,
                    (None, _) if e.mentions(var) => return None,
                    (None, _) => Some(e.clone()),
                };
            }
            Stmt::Loop(l) if assigns(&l.body).contains(var) => {
                let rounds = rounds(&block[..i], l)?;
                let each = growth(&l.body, var)?;
                let by = offset_op(BinOp::Multiply, rounds, each);
                value = Some(offset_op(BinOp::Add, value?, by));
            }
            s if assigned_in(s).contains(var) => return None,
            _ => {}
        }
    }
    value
}

/// By how much a variable grows in a block.
fn growth(block: &[Stmt], var: &Sym) -> Option<Expr> {
    let mut sum = int(0);
    for (i, s) in block.iter().enumerate() {
        match s {
            Stmt::Assign { var: v, value, .. } if v == var => {
                sum = offset_op(BinOp::Add, sum, added(value, var)?);
            }
            Stmt::Loop(l) if assigns(&l.body).contains(var) => {
                let by = offset_op(
                    BinOp::Multiply,
                    rounds(&block[..i], l)?,
                    growth(&l.body, var)?,
                );
                sum = offset_op(BinOp::Add, sum, by);
            }
            // On both branches alike, as a pixel that is pushed either way.
            Stmt::If {
                then, otherwise, ..
            } if assigned_in(s).contains(var) => {
                let (a, b) = (growth(then, var)?, growth(otherwise, var)?);
                if a != b {
                    return None;
                }
                sum = offset_op(BinOp::Add, sum, a);
            }
            _ => {}
        }
    }
    Some(sum)
}

/// `x` of `var + x`
fn added(e: &Expr, var: &Sym) -> Option<Expr> {
    match e {
        Expr::Binary(BinOp::Add, a, b)
            if matches!(&**a, Expr::Var(v, _) if v == var) && !b.mentions(var) =>
        {
            Some((**b).clone())
        }
        _ => None,
    }
}

/// How often a loop runs that counts up by one to a bound.
fn rounds(before: &[Stmt], l: &Loop) -> Option<Expr> {
    let (op, a, b) = match &l.cond {
        Expr::Compare(op, a, b) => (*op, strip(a), strip(b)),
        _ => return None,
    };
    let changed = assigns(&l.body);
    let counts = |e: &Expr| matches!(e, Expr::Var(v, _) if changed.contains(v));
    let (counter, bound, op) = match op {
        CmpOp::Lt | CmpOp::Le | CmpOp::Ne if counts(a) => (a, b, op),
        CmpOp::Gt if counts(b) => (b, a, CmpOp::Lt),
        CmpOp::Ge if counts(b) => (b, a, CmpOp::Le),
        _ => return None,
    };
    let Expr::Var(var, _) = counter else {
        return None;
    };
    if !l.test_first || changed.iter().any(|v| bound.mentions(v)) || loads(bound) {
        return None;
    }
    let step = growth(&l.body, var)?;
    let one = matches!(&step, Expr::Const(v) if v.ty.is_int() && v.as_int() == 1);
    let start = one.then(|| value_after(before, var)).flatten()?;
    let count = offset_op(BinOp::Subtract, index_of(bound.clone()), index_of(start));
    Some(if op == CmpOp::Le {
        offset_op(BinOp::Add, count, int(1))
    } else {
        count
    })
}

/// Without the conversions that only change the type.
fn strip(e: &Expr) -> &Expr {
    match e {
        Expr::Convert(to, inner)
            if to.is_int() && inner.ty().is_int() && to.bits() >= inner.ty().bits() =>
        {
            strip(inner)
        }
        e => e,
    }
}

/// The expression in terms of what is known before the statement at this position.
fn before(body: &[Stmt], at: usize, e: Expr) -> Option<Expr> {
    let mut e = e;
    // Each round replaces a variable by what it was assigned; a chain of definitions is short.
    for _ in 0..32 {
        let changed = assigned_in(&body[at]);
        let Some(var) = variables(&e).into_iter().find(|v| changed.contains(v)) else {
            return (!loads(&e)).then_some(e);
        };
        let mut found = Vec::new();
        definitions(&body[at..], &var, &mut found);
        let [Some(definition)] = &found[..] else {
            return None;
        };
        if definition.mentions(&var) {
            return None;
        }
        e = replaced(e, &var, definition);
    }
    None
}

fn definitions(block: &[Stmt], var: &Sym, found: &mut Vec<Option<Expr>>) {
    for s in block {
        match s {
            Stmt::Assign { var: v, value, .. } if v == var => found.push(Some(value.clone())),
            Stmt::If {
                then, otherwise, ..
            } => {
                definitions(then, var, found);
                definitions(otherwise, var, found);
            }
            Stmt::Loop(l) => definitions(&l.body, var, found),
            _ => {}
        }
    }
}

fn replaced(mut e: Expr, var: &Sym, by: &Expr) -> Expr {
    if matches!(&e, Expr::Var(v, _) if v == var) {
        return by.clone();
    }
    for child in e.children_mut() {
        *child = replaced(child.clone(), var, by);
    }
    e
}

pub(super) fn variables(e: &Expr) -> Vec<Sym> {
    match e {
        Expr::Var(v, _) => vec![v.clone()],
        e => e.children().into_iter().flat_map(variables).collect(),
    }
}

pub(super) fn loads(e: &Expr) -> bool {
    matches!(e, Expr::Load { .. }) || e.children().into_iter().any(loads)
}

fn assigns(block: &[Stmt]) -> HashSet<Sym> {
    block.iter().flat_map(assigned_in).collect()
}

pub(super) fn assigned_in(s: &Stmt) -> HashSet<Sym> {
    match s {
        Stmt::Assign { var, .. } => HashSet::from([var.clone()]),
        Stmt::If {
            then, otherwise, ..
        } => {
            let mut all = assigns(then);
            all.extend(assigns(otherwise));
            all
        }
        Stmt::Loop(l) => assigns(&l.body),
        _ => HashSet::new(),
    }
}

fn uses(s: &Stmt, var: &Sym) -> bool {
    match s {
        Stmt::Assign { value, .. } => value.mentions(var),
        Stmt::Store { index, value, .. } => index.mentions(var) || value.mentions(var),
        Stmt::If {
            cond,
            then,
            otherwise,
        } => cond.mentions(var) || then.iter().chain(otherwise).any(|s| uses(s, var)),
        Stmt::Loop(l) => l.cond.mentions(var) || l.body.iter().any(|s| uses(s, var)),
        Stmt::Return(e) => e.as_ref().is_some_and(|e| e.mentions(var)),
        Stmt::Trap => false,
    }
}
