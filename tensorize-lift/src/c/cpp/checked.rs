//! `at(i)` throws where `i` is too large. That it never does is often seen from the condition of a loop or a branch around
//! it, about the very same index and length; else it is the prover's to show, or becomes a guard.

use super::super::lower::{Lower, Result};
use super::seq::{index_of, int};
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::Scalar;

impl<'u> Lower<'u, '_> {
    /// Notes that an index has to be less than a length here.
    pub(super) fn check_index(&mut self, index: &Expr, len: &Expr) -> Result<()> {
        if let (Expr::Const(i), Expr::Const(n)) = (index, len)
            && (0..n.as_int()).contains(&i.as_int())
        {
            return Ok(());
        }
        let written = super::super::lower::convert(index.ty(), len.clone());
        self.emit(Stmt::If {
            cond: Expr::compare(CmpOp::Lt, index.clone(), written),
            then: vec![],
            otherwise: mark(),
        })
    }

    /// A condition without which the original throws, or has no form in rows.
    pub fn require(&mut self, cond: Expr) -> Result<()> {
        self.emit(Stmt::If {
            cond,
            then: vec![],
            otherwise: vec![Stmt::Trap],
        })
    }

    /// A number of elements to make: what is negative, or a `size_t` of that size, is too many.
    pub(super) fn require_length(&mut self, n: &Expr) -> Result<()> {
        match n {
            Expr::Const(v) if v.as_int() >= 0 => Ok(()),
            n => self.require(Expr::compare(CmpOp::Le, int(0), n.clone())),
        }
    }

    /// Drops the checks that are seen to hold. The others are about numbers that have a sign: as what has none, an index is
    /// less than a length if it is not negative and less.
    pub fn discharge_checks(&self, body: &mut Vec<Stmt>) {
        discharge(body, &mut Vec::new());
    }
}

/// What stands in the other branch of a check until it is discharged: nobody's own condition looks like it.
fn mark() -> Vec<Stmt> {
    vec![Stmt::Trap, Stmt::Trap]
}

/// The check of an index, as one of numbers with a sign.
fn with_sign(cond: Expr) -> Expr {
    match cond {
        Expr::Compare(CmpOp::Lt, index, len)
            if !index.ty().is_signed() && index.ty().bits() == 64 =>
        {
            let (index, len) = (index_of(*index), index_of(*len));
            super::super::expr::select(
                Expr::compare(CmpOp::Le, int(0), index.clone()),
                Expr::compare(CmpOp::Lt, index, len),
                Expr::Const(Scalar::bool(false)),
            )
        }
        cond => cond,
    }
}

/// What holds if this does.
fn facts_of(cond: &Expr, facts: &mut Vec<Expr>) {
    match cond {
        Expr::Select(a, b, no) if matches!(&**no, Expr::Const(v) if !v.is_true()) => {
            facts_of(a, facts);
            facts_of(b, facts);
        }
        e => facts.push(e.clone()),
    }
}

fn forget(facts: &mut Vec<Expr>, s: &Stmt) {
    let changed = super::rows::assigned_in(s);
    facts.retain(|f| {
        !super::rows::variables(f)
            .iter()
            .any(|v| changed.contains(v))
            && !super::rows::loads(f)
    });
}

fn discharge(block: &mut Vec<Stmt>, facts: &mut Vec<Expr>) {
    let mut kept = Vec::with_capacity(block.len());
    for mut s in std::mem::take(block) {
        let before = facts.clone();
        match &mut s {
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                if *otherwise == mark() {
                    if facts.contains(cond) {
                        continue;
                    }
                    *cond = with_sign(cond.clone());
                    *otherwise = vec![Stmt::Trap];
                }
                let mut inside = facts.clone();
                facts_of(cond, &mut inside);
                discharge(then, &mut inside);
                discharge(otherwise, &mut facts.clone());
            }
            Stmt::Loop(l) => {
                let mut inside = facts.clone();
                let whole = Stmt::Loop(l.clone());
                forget(&mut inside, &whole);
                if l.test_first {
                    facts_of(&l.cond, &mut inside);
                }
                discharge(&mut l.body, &mut inside);
            }
            _ => {}
        }
        *facts = before;
        forget(facts, &s);
        kept.push(s);
    }
    *block = kept;
}
