//! `do { … } while (fabs(step) > eps && ++n < most);`: loops that end by data or by a count, which is looked at after a round.
//!
//! What is asked of data becomes a `break`:
//!
//! ```text
//! do { …; if (!(fabs(step) > eps)) break; ++n; } while (n < most);
//! ```
//!
//! and where the count allows the first round, which constants say, or else a trap for calls in which it does not, the loop is
//! the one that looks at the count first: `while (n < most) { … }`.

use super::ffi::Cursor;
use super::jump::Leaves;
use super::lower::{ExitKind, Lower, Result, operands, peeled};
use super::operator::{Binary, Unary, binary, unary};
use super::types::{self, Ty};
use super::{expr::negation, scalars};
use clang_sys::*;
use std::collections::HashMap;
use tensorize_ir::loopir::{Expr, Loop, Stmt};
use tensorize_prove::loops::modified;

/// A condition taken apart: what is asked of data before the count is, the count, and what is asked after it, the last first.
pub(super) struct Ends<'u> {
    before: Vec<Cursor<'u>>,
    pub count: Cursor<'u>,
    after: Vec<Cursor<'u>>,
}

impl<'u> Ends<'u> {
    /// Nothing if it is no conjunction of a count and of something that is asked of data.
    pub fn of(cond: Cursor<'u>) -> Option<Ends<'u>> {
        let mut ends = Ends {
            before: vec![],
            count: cond,
            after: vec![],
        };
        while let Some((left, right)) = both(ends.count) {
            match (looks_at_data(left), looks_at_data(right)) {
                (true, false) => {
                    ends.before.push(left);
                    ends.count = right;
                }
                // Asked only where the count says so; more of it may stand in the first part.
                (_, true) => {
                    ends.after.push(right);
                    ends.count = left;
                }
                (false, false) => return None,
            }
        }
        let some = !ends.before.is_empty() || !ends.after.is_empty();
        (some && !looks_at_data(ends.count)).then_some(ends)
    }
}

/// The operands of `a && b`.
fn both(c: Cursor<'_>) -> Option<(Cursor<'_>, Cursor<'_>)> {
    let c = peeled(c);
    let [left, right] = operands(c)[..] else {
        return None;
    };
    let is_and = c.kind() == CXCursor_BinaryOperator && binary(c).ok()? == Binary::And;
    is_and.then_some((left, right))
}

/// Whether a float, or anything in memory, is in it.
fn looks_at_data(c: Cursor<'_>) -> bool {
    let is_float = matches!(types::of(c), Ty::Scalar(ty) if ty.is_float());
    let kind = c.kind();
    let of_memory = [
        CXCursor_ArraySubscriptExpr,
        CXCursor_MemberRefExpr,
        CXCursor_CallExpr,
    ];
    let parts = operands(c);
    let is_pointer = |c: &Cursor<'_>| matches!(types::of(*c), Ty::Pointer(_));
    let follows = kind == CXCursor_UnaryOperator && parts.iter().any(is_pointer);
    is_float || of_memory.contains(&kind) || follows || parts.into_iter().any(looks_at_data)
}

/// Whether it is made of local floats alone: it can be asked without harm wherever they are set.
fn is_always_defined(c: Cursor<'_>) -> bool {
    let c = peeled(c);
    let parts = operands(c);
    let is_scalar = |c: &Cursor<'_>| matches!(types::of(*c), Ty::Scalar(_));
    let is_float = |c: &Cursor<'_>| matches!(types::of(*c), Ty::Scalar(ty) if ty.is_float());
    let all = || parts.iter().copied().all(is_always_defined);
    match c.kind() {
        CXCursor_IntegerLiteral | CXCursor_FloatingLiteral => true,
        CXCursor_DeclRefExpr => is_scalar(&c),
        CXCursor_UnaryOperator => {
            let minus = matches!(unary(c), Ok(Unary::Minus | Unary::Plus));
            minus && parts.iter().all(is_float) && all()
        }
        CXCursor_BinaryOperator => match binary(c) {
            Ok(Binary::And | Binary::Or) => all(),
            Ok(Binary::Arithmetic(_) | Binary::Compare(_)) => parts.iter().all(is_float) && all(),
            _ => false,
        },
        // `fabs(step)`: what has no body here is a function of the library, or refused.
        CXCursor_CallExpr => {
            let known = c.referenced().is_some_and(|f| f.definition().is_none());
            let mut arguments = parts.iter().skip(1);
            known && is_float(&c) && arguments.all(|a| is_float(a) && is_always_defined(*a))
        }
        _ => false,
    }
}

impl<'u> Lower<'u, '_> {
    /// The end of a round: what is asked of data before the count.
    pub(super) fn ask_before(&mut self, ends: &Ends<'u>, l: Leaves) -> Result<()> {
        for &asked in &ends.before {
            self.leave_unless(asked, None, l)?;
        }
        Ok(())
    }

    /// The same of what is asked where the count lets the loop go on.
    pub(super) fn ask_after(&mut self, ends: &Ends<'u>, count: &Expr, l: Leaves) -> Result<()> {
        for &asked in ends.after.iter().rev() {
            // Where the count ends the loop, it makes no difference that the rest is asked as well.
            let under = (!is_always_defined(asked)).then_some(count);
            self.leave_unless(asked, under, l)?;
        }
        Ok(())
    }

    /// Leaves the loop if `under` holds, and what is asked does not.
    fn leave_unless(&mut self, asked: Cursor<'u>, under: Option<&Expr>, l: Leaves) -> Result<()> {
        let leaving = self.flags_of(l);
        self.unless_set(&leaving, |s| {
            let (block, ()) = s.in_block(|s| {
                let holds = s.full_value(asked, |s| s.truth(asked))?;
                let (then, _) = s.in_block(|s| s.jump(ExitKind::Break))?;
                s.emit(Stmt::If {
                    cond: negation(holds),
                    then,
                    otherwise: vec![],
                })
            })?;
            match under {
                Some(cond) => s.emit(Stmt::If {
                    cond: cond.clone(),
                    then: block,
                    otherwise: vec![],
                }),
                None => block.into_iter().try_for_each(|stmt| s.emit(stmt)),
            }
        })
    }

    /// The `do` loop as one that looks at the count first, if what the count is before it is known well enough.
    pub(super) fn count_first(&mut self, rounds: &mut Loop, count: &Expr) -> Result<()> {
        let (mut asked, mut loads) = (Vec::new(), false);
        count.visit(&mut |e| match e {
            Expr::Var(v, _) => asked.push(v.clone()),
            Expr::Load { .. } => loads = true,
            _ => {}
        });
        // What a round changes is known before the first one, or the loop stays as it is.
        let changed = modified(&rounds.body).0;
        let mut known = HashMap::new();
        for var in asked.iter().filter(|v| changed.contains_key(*v)) {
            let sets = |s: &&Stmt| modified(std::slice::from_ref(*s)).0.contains_key(var);
            let Some(Stmt::Assign {
                value: Expr::Const(v),
                ..
            }) = self.block.iter().rev().find(sets)
            else {
                return Ok(());
            };
            known.insert(var.clone(), *v);
        }
        if loads || known.is_empty() {
            return Ok(());
        }
        let mut first = vec![Stmt::Return(Some(count.clone()))];
        scalars::fold_block(&mut first, &known);
        let Some(Stmt::Return(Some(first))) = first.pop() else {
            return Ok(());
        };
        match &first {
            Expr::Const(v) if v.is_true() => {}
            Expr::Compare(..) => self.emit(Stmt::If {
                cond: negation(first),
                then: vec![Stmt::Trap],
                otherwise: vec![],
            })?,
            _ => return Ok(()),
        }
        rounds.test_first = true;
        Ok(())
    }
}
