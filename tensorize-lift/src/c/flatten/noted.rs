//! What code assigns of structs, noted before it is lowered: a member that nothing changes may be a number.

use super::object::{Held, held_in};
use super::{Node, Owner, Path, is_object, is_reached, struct_declaration};
use crate::c::codes;
use crate::c::cpp::changes::Reached;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, Result, operands, peeled, problem};
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
        if let Some(d) = own_object(target) {
            let points = matches!(types::read(field.ty()), Ty::Pointer(_));
            *self.flat.own_assigned.entry(d).or_default() |= points;
            return Ok(());
        }
        self.note_assigned(field, target)
    }

    /// Notes the variables that members of an object which is made here may refer to: as if their addresses were taken.
    pub fn scan_references(&mut self, made: Cursor<'u>) {
        let refers =
            |f: &Cursor<'_>| matches!(types::of(*f), Ty::Reference(t) if t.as_scalar().is_some());
        let Some(class) = struct_declaration(made.ty()) else {
            return;
        };
        if !class.ty().fields().iter().any(refers) {
            return;
        }
        for given in operands(made) {
            let given = peeled(given);
            if given.kind() == CXCursor_DeclRefExpr {
                self.in_memory.extend(given.referenced());
            }
        }
    }

    /// Makes parameters that are objects passed by value, and of which pointers are assigned, objects of the function's own.
    /// (Numbers of a parameter are variables already.)
    pub fn own_parameters(&mut self, f: Cursor<'u>) -> Result<()> {
        for p in f.arguments() {
            if self.flat.own_assigned.get(&p) == Some(&true)
                && let Some(path) = self.flat.records.get(&p).cloned()
            {
                self.copy_parameter(p, &path)?;
            }
        }
        Ok(())
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
            seen = (seen || *shared) && (!is_const || field.is_mutable());
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
        // Of an object that has a name it is known which one it is.
        let is_named = is_object(target.ty()) && Reached::of(target).is_some();
        if !elsewhere || is_named {
            return Ok(());
        }
        for path in held_in(target.ty(), |held| matches!(held, Held::Number(_))) {
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

/// The variable, if a member is one of an object that lies in a variable of its function.
fn own_object(member: Cursor<'_>) -> Option<Cursor<'_>> {
    let mut base = peeled(*operands(member).first()?);
    while base.kind() == CXCursor_MemberRefExpr && base.ty().canonical().kind() == CXType_Record {
        base = peeled(*operands(base).first()?);
    }
    let d = base
        .referenced()
        .filter(|_| base.kind() == CXCursor_DeclRefExpr)?;
    let own = d.ty().canonical().kind() == CXType_Record && !is_reached(d);
    (own && is_object(d.ty())).then_some(d)
}

/// Whether a variable may hold the member. An array or a struct is in memory anyhow.
fn is_held(field: Cursor<'_>) -> bool {
    matches!(types::read(field.ty()), Ty::Scalar(_) | Ty::Pointer(_))
}
