//! Returns of a kernel from inside of its loops and branches.
//!
//! A `return` that stands in the kernel's own list of statements, or in a branch of it, is LoopIR's. From
//! the first statement on that returns from deeper inside, returns are jumps with a flag, as an
//! inlined helper's are, and one return at the end gives the value.

use super::ffi::Cursor;
use super::jump::{always_jumps, leaves, run_once};
use super::lower::{ExitKind, Lower, Result, operands};
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::scalar::Scalar;

impl<'u> Lower<'u, '_> {
    /// The body of the kernel. Whether its end can be reached.
    pub fn kernel_body(&mut self, body: Cursor<'u>) -> Result<bool> {
        let stmts = flattened(&[body]);
        let plain = first_jump(&stmts).unwrap_or(stmts.len());
        let falls = self.list(&stmts[..plain])?;
        if !falls || plain == stmts.len() {
            return Ok(falls);
        }
        let ret = self.frames[0].ret;
        let result = ret.map(|ty| (self.fresh("result"), ty));
        if let Some((var, ty)) = &result {
            // Every path sets it; this is for those that only seem to be there.
            self.assign_var(var.clone(), Expr::Const(Scalar::zero(*ty)))?;
        }
        self.clear_members()?;
        self.frames[0].result = Some(result);
        self.open_exit(ExitKind::Return)?;
        self.list(&stmts[plain..])
    }

    /// The one return at the end, if returns were jumps to it.
    pub fn end_structured_returns(&mut self) -> Result<()> {
        match self.frames[0].result.take() {
            Some(Some((var, ty))) => self.emit(Stmt::Return(Some(Expr::Var(var, ty)))),
            Some(None) | None => Ok(()),
        }
    }
}

/// The first statement of a function's list from which returns are jumps. A list with a label that is jumped to is one whole.
pub(super) fn first_jump(stmts: &[Cursor<'_>]) -> Option<usize> {
    stmts
        .iter()
        .position(|&s| returns_from_inside(s) || leaves(s).gotos)
}

/// The statements of nested blocks, in one list.
pub(super) fn flattened<'u>(stmts: &[Cursor<'u>]) -> Vec<Cursor<'u>> {
    let mut out = Vec::new();
    stmts.iter().for_each(|&s| flatten(s, &mut out));
    out
}

fn flatten<'u>(c: Cursor<'u>, out: &mut Vec<Cursor<'u>>) {
    if c.kind() == CXCursor_CompoundStmt {
        operands(c).into_iter().for_each(|s| flatten(s, out));
    } else if let Some(body) = run_once(c) {
        flatten(body, out);
    } else {
        out.push(c);
    }
}

/// Whether the statement, one of the kernel's own list, returns from a loop, or from a branch that may
/// also go on.
fn returns_from_inside(c: Cursor<'_>) -> bool {
    if !leaves(c).returns {
        return false;
    }
    match c.kind() {
        CXCursor_ReturnStmt => false,
        CXCursor_IfStmt => operands(c).into_iter().skip(1).any(|branch| {
            let stmts = flattened(&[branch]);
            let inside = stmts.split_last().is_some_and(|(last, before)| {
                before.iter().any(|&s| leaves(s).returns) || returns_from_inside(*last)
            });
            inside || leaves(branch).returns && !always_jumps(branch)
        }),
        _ => true,
    }
}
