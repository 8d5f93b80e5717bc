//! `goto` to a label that follows, in the same list of statements or in one around it: what lies between
//! is skipped, by a flag, as with the other jumps. Functions in C clean up in this way.

use super::codes;
use super::ffi::Cursor;
use super::jump::{Leaves, leaves};
use super::lower::{ExitKind, Lower, Result, operand, problem};
use clang_sys::*;

/// Where a label stands, which tells it from others.
pub(super) fn number(label: Cursor<'_>) -> Option<usize> {
    Some(label.extent()?.0.offset)
}

/// The label that a `goto` names.
pub(super) fn target(goto: Cursor<'_>) -> Option<usize> {
    let children = goto.children();
    let named = children.iter().find(|c| c.kind() == CXCursor_LabelRef)?;
    number(named.referenced()?)
}

/// Whether there is a jump to the label in `c`.
fn jumps_to(c: Cursor<'_>, label: usize) -> bool {
    c.contains(&mut |c| c.kind() == CXCursor_GotoStmt && target(c) == Some(label))
}

/// Whether a jump to a label leaves `c`.
pub(super) fn leads_out(c: Cursor<'_>) -> bool {
    let mut targets = Vec::new();
    c.contains(&mut |c| {
        if c.kind() == CXCursor_GotoStmt {
            targets.push(target(c));
        }
        false
    });
    let inside = |label: usize| {
        c.contains(&mut |c| c.kind() == CXCursor_LabelStmt && number(c) == Some(label))
    };
    targets.into_iter().any(|t| !t.is_some_and(inside))
}

/// The last label of a list that statements before it jump to.
pub(super) fn last_label(stmts: &[Cursor<'_>]) -> Option<usize> {
    (0..stmts.len()).rev().find(|&at| {
        stmts[at].kind() == CXCursor_LabelStmt
            && number(stmts[at]).is_some_and(|l| stmts[..at].iter().any(|&s| jumps_to(s, l)))
    })
}

impl<'u> Lower<'u, '_> {
    /// A list of statements with a label, at number `at`, that is jumped to from before it: what comes before, and
    /// then what follows the label, however it is reached. Whether the end can be reached.
    pub fn labelled(&mut self, stmts: &[Cursor<'u>], at: usize) -> Result<bool> {
        let (before, after) = stmts.split_at(at);
        let label = number(after[0]).unwrap_or_default();
        let exits = self.exits.len();
        self.open_exit(ExitKind::Label(label))?;
        self.list(before)?;
        self.exits.truncate(exits);
        let jumps = before
            .iter()
            .map(|&s| leaves(s))
            .fold(Leaves::default(), Leaves::or);
        let leaving = self.flags_of(jumps);
        self.unless_set(&leaving, |s| s.list(after))
    }

    /// `goto label;`
    pub fn goto(&mut self, c: Cursor<'u>) -> Result<()> {
        let known = match target(c) {
            Some(label) => self.jump(ExitKind::Label(label))?,
            None => false,
        };
        if known {
            return Ok(());
        }
        Err(problem(
            codes::GOTO,
            "a goto that jumps back, or into a block, is not supported",
            c,
        ))
    }

    /// The statement behind a label.
    pub fn behind_label(&self, c: Cursor<'u>) -> Result<Cursor<'u>> {
        operand(c).map_err(|_| problem(codes::GOTO, "a label without a statement", c))
    }
}
