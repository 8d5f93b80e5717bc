//! Structs of which a lambda has a copy.

use super::{Path, local};
use crate::c::codes;
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Lower, Result, problem};
use clang_sys::CXType_ConstantArray;

impl<'u> Lower<'u, '_> {
    /// Whether a variable stands for a struct.
    pub fn names_a_record(&self, d: Cursor<'u>) -> bool {
        self.flat.records.contains_key(&d)
    }

    /// Has a variable stand for this struct; what it stood for.
    pub fn swap_record(&mut self, d: Cursor<'u>, path: Path<'u>) -> Option<Path<'u>> {
        self.flat.records.insert(d, path)
    }

    /// A copy of the struct that a variable stands for, named at `at`; none if it has more than numbers, and stays what it is.
    pub fn captured_record(&mut self, d: Cursor<'u>, at: Cursor<'u>) -> Result<Option<Path<'u>>> {
        let Some(path) = self.flat.records.get(&d).cloned() else {
            return Ok(None);
        };
        if local::is_of_numbers(at) {
            let numbers = self.numbers_of(&path, at)?;
            self.bind_struct(d, Some(numbers))?;
            return Ok(self.flat.records.insert(d, path));
        }
        // What the kernel gets by reference to const is nobody's to change.
        let given = self.frames[0].function.arguments().contains(&d);
        let t = d.ty().canonical();
        let stays = t.is_const() || given && t.pointee().is_const();
        if !stays || has_mutable(at.ty()) {
            return Err(may_change(&d.spelling(), at));
        }
        Ok(None)
    }
}

/// Whether a struct, or an array of such, has a member that also changes where it is const.
pub(in crate::c) fn has_mutable(t: Type<'_>) -> bool {
    let mut t = t.canonical();
    while t.kind() == CXType_ConstantArray {
        t = t.array_element().canonical();
    }
    let declaration = super::struct_declaration(t);
    let mut members = declaration
        .map(super::element::members)
        .into_iter()
        .flatten();
    members.any(|f| f.is_mutable() || has_mutable(f.ty()))
}

/// Why a lambda is refused.
pub(in crate::c) fn may_change(name: &str, at: Cursor<'_>) -> crate::c::Problem {
    let message = format!("the lambda copies '{name}', which may change afterwards");
    let mut p = problem(codes::EXPRESSION, message, at);
    p.help = Some("make it const, or capture it by reference".into());
    p
}
