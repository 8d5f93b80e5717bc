//! `at(i)` throws where `i` is too large. LoopIR can't, so it has to be seen that it never does: by the
//! condition of a loop or a branch around it, about the very same index and length.

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::lower::{Lower, Result, convert};
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::Scalar;

impl<'u> Lower<'u, '_> {
    /// Notes that an index has to be less than a length here.
    pub(super) fn check_index(&mut self, index: &Expr, len: &Expr, at: Cursor<'u>) -> Result<()> {
        let len = convert(index.ty(), len.clone());
        if let (Expr::Const(i), Expr::Const(n)) = (index, &len)
            && (0..n.as_int()).contains(&i.as_int())
        {
            return Ok(());
        }
        let number = self.cpp.checks.len();
        self.cpp.checks.push(super::super::lower::span(at));
        // The number of the check is where its place is kept; no other statement looks like it.
        self.emit(Stmt::If {
            cond: Expr::compare(CmpOp::Lt, index.clone(), len),
            then: vec![],
            otherwise: vec![Stmt::Return(Some(mark(number)))],
        })
    }

    /// Drops the checks that are seen to hold, and refuses the others.
    pub fn discharge_checks(&self, body: &mut Vec<Stmt>) -> Result<()> {
        if self.cpp.checks.is_empty() {
            return Ok(());
        }
        let mut open = None;
        discharge(body, &mut Vec::new(), &mut open);
        let Some(number) = open else { return Ok(()) };
        Err(super::super::Problem {
            code: codes::ALLOCATION,
            message: "it cannot be seen that this index of 'at' is in range, and it throws where it is not".into(),
            span: self.cpp.checks.get(number).cloned().flatten(),
            help: Some("use [] where the index is in range, or let the loop end at this vector's size()".into()),
        })
    }
}

fn mark(number: usize) -> Expr {
    // A comparison of a literal with itself is written by nobody.
    let n = Expr::Const(Scalar::int(
        tensorize_ir::scalar::ScalarType::I64,
        number as i128,
    ));
    Expr::compare(CmpOp::Ne, n.clone(), n)
}

fn marked(otherwise: &[Stmt]) -> Option<usize> {
    match otherwise {
        [Stmt::Return(Some(Expr::Compare(CmpOp::Ne, a, b)))] if a == b => match &**a {
            Expr::Const(v) => usize::try_from(v.as_int()).ok(),
            _ => None,
        },
        _ => None,
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

fn discharge(block: &mut Vec<Stmt>, facts: &mut Vec<Expr>, open: &mut Option<usize>) {
    let mut kept = Vec::with_capacity(block.len());
    for mut s in std::mem::take(block) {
        let before = facts.clone();
        match &mut s {
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                if let Some(number) = marked(otherwise)
                    && then.is_empty()
                {
                    if facts.contains(cond) {
                        continue;
                    }
                    *open = open.or(Some(number));
                }
                let mut inside = facts.clone();
                facts_of(cond, &mut inside);
                discharge(then, &mut inside, open);
                discharge(otherwise, &mut facts.clone(), open);
            }
            Stmt::Loop(l) => {
                let mut inside = facts.clone();
                let whole = Stmt::Loop(l.clone());
                forget(&mut inside, &whole);
                if l.test_first {
                    facts_of(&l.cond, &mut inside);
                }
                discharge(&mut l.body, &mut inside, open);
            }
            _ => {}
        }
        *facts = before;
        forget(facts, &s);
        kept.push(s);
    }
    *block = kept;
}
