//! What code assigns of structs, noted before it is lowered: a member that nothing changes may be a number.

use super::{Node, Owner, Path};
use crate::c::codes;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, Result, peeled, problem};
use crate::c::place::Place;
use crate::c::types::{self, Ty};
use clang_sys::*;

impl<'u> Lower<'u, '_> {
    /// Notes what a piece of code assigns of structs, before it is lowered.
    pub fn scan_members(&mut self, target: Option<Cursor<'u>>, address: bool) -> Result<()> {
        let Some((target, field)) = target.and_then(|t| Some((t, t.referenced()?))) else {
            return Ok(());
        };
        if address && is_held(field) {
            self.in_memory.insert(field);
        }
        self.note_assigned(field, target)
    }

    /// Whether code may assign this member of a parameter so that its caller sees it.
    fn may_change(&self, (owner, path): &Path<'u>) -> bool {
        let Owner::Parameter(root) = *owner else {
            return false;
        };
        let (mut node, mut seen) = (&self.flat.roots[root].node, false);
        for field in path {
            let Node::Struct {
                shared,
                is_const,
                fields,
                ..
            } = node
            else {
                return true;
            };
            seen = (seen || *shared) && !is_const;
            match fields.iter().find(|(f, _)| f == field) {
                Some((_, inner)) => node = inner,
                None => return true,
            }
        }
        seen
    }

    /// Notes what `*result = r` assigns: all members. (A struct of the function's own may be a copy, which says nothing of
    /// what it is a copy of.)
    pub fn scan_whole_struct(&mut self, target: Cursor<'u>) -> Result<()> {
        let target = peeled(target);
        let elsewhere = match target.kind() {
            CXCursor_UnaryOperator | CXCursor_MemberRefExpr => true,
            CXCursor_DeclRefExpr => {
                (target.referenced()).is_some_and(|d| matches!(types::of(d), Ty::Reference(_)))
            }
            _ => false,
        };
        let numbers = elsewhere.then(|| super::local::numbers(target.ty()));
        for (path, _) in numbers.flatten().into_iter().flatten() {
            if let Some(field) = path.last() {
                self.note_assigned(*field, target)?;
            }
        }
        Ok(())
    }

    /// Notes that a member may be assigned.
    pub(super) fn note_assigned(&mut self, field: Cursor<'u>, target: Cursor<'u>) -> Result<()> {
        if !is_held(field) {
            return Ok(());
        }
        if self.flat.assigned.insert(field) {
            if self.flat.copied.contains(&field) {
                let message = format!("'{}' is changed after it was copied", field.spelling());
                return Err(problem(codes::RECORD, message, target));
            }
            let used = self.flat.fields.iter();
            let late = used.clone().any(|(path, place)| {
                self.may_change(path)
                    && path.1.last() == Some(&field)
                    && matches!(place, Place::Var(..))
            });
            if late {
                let message = format!("'{}' is changed by a helper function", field.spelling());
                return Err(problem(codes::RECORD, message, target));
            }
        }
        Ok(())
    }
}

/// Whether a variable may hold the member. An array or a struct is in memory anyhow.
fn is_held(field: Cursor<'_>) -> bool {
    matches!(types::read(field.ty()), Ty::Scalar(_) | Ty::Pointer(_))
}
