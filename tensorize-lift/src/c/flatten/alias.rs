//! Variables that are other names for a struct.

use super::element;
use super::{Path, struct_type};
use crate::c::codes;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, Result, problem};
use crate::c::pointer::unwrapped;
use crate::c::types::{self, Ty};
use clang_sys::*;

impl<'u> Lower<'u, '_> {
    /// Whether a variable with this initialiser is another name for a struct.
    pub fn is_record(&self, d: Cursor<'u>, init: Cursor<'u>) -> bool {
        struct_type(d.ty()).is_some()
            && init.kind() != CXCursor_InitListExpr
            && !self.is_in_array(init)
            && !self.walks_over_a_member(d, init)
    }

    /// Whether it goes over an array of structs that a member points to.
    fn walks_over_a_member(&self, d: Cursor<'u>, init: Cursor<'u>) -> bool {
        let member = unwrapped(init);
        member.kind() == CXCursor_MemberRefExpr
            && matches!(types::read(member.ty()), Ty::Pointer(_))
            && (self.frames.last()).is_some_and(|f| element::walks(self, f.function, d))
    }

    /// Makes it one.
    pub fn bind_record(&mut self, d: Cursor<'u>, value: Cursor<'u>) -> Result<()> {
        let path = self.record(value)?;
        self.record_alias(d, path)
    }

    /// Gives a struct another name. A copy must stay what it is.
    pub fn record_alias(&mut self, d: Cursor<'u>, path: Path<'u>) -> Result<()> {
        // A reference is the same struct, not a copy, and never another one.
        let refers = d.ty().canonical().kind() == CXType_LValueReference;
        let (fields, pointer) = match struct_type(d.ty()) {
            Some((s, _, pointer)) => (element::members(s), pointer || refers),
            None => (vec![], true),
        };
        if self.assigned.contains(&d) && !refers {
            let message = format!("'{}' stands for several structs", d.spelling());
            return Err(problem(codes::RECORD, message, d));
        }
        if !pointer {
            let own = self.flat.own_assigned.keys();
            let changed = own.clone().any(|own| {
                *own == d || self.flat.records.get(own).is_some_and(|of| of.0 == path.0)
            }) || fields.iter().any(|f| self.flat.assigned.contains(f))
                || self.is_changed_in_part(&path);
            // The elements of an array may change without a trace here.
            let in_place =
                |f: &Cursor<'_>| !matches!(types::read(f.ty()), Ty::Scalar(_) | Ty::Pointer(_));
            if changed || fields.iter().any(in_place) {
                let message = format!("'{}' is a copy of a struct that may change", d.spelling());
                return Err(problem(codes::RECORD, message, d));
            }
            self.flat.copied.extend(fields);
        }
        self.name_record(d, path);
        Ok(())
    }

    /// Lets a variable stand for a struct. A helper's parameter may have been something else at an earlier call.
    pub(super) fn name_record(&mut self, d: Cursor<'u>, path: Path<'u>) {
        self.bindings.remove(&d);
        self.flat.records.insert(d, path);
    }

    /// A variable no longer stands for a struct.
    pub fn forget_record(&mut self, d: Cursor<'u>) {
        self.flat.records.remove(&d);
    }
}
