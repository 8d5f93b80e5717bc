//! Structs of which a lambda has a copy.

use super::{Path, local};
use crate::c::codes;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, Result, problem};
use clang_sys::*;

impl<'u> Lower<'u, '_> {
    /// Whether a variable stands for a struct.
    pub fn names_a_record(&self, d: Cursor<'u>) -> bool {
        self.flat.records.contains_key(&d)
    }

    /// Has a variable stand for this struct; what it stood for.
    pub fn swap_record(&mut self, d: Cursor<'u>, path: Path<'u>) -> Option<Path<'u>> {
        self.flat.records.insert(d, path)
    }

    /// A copy of the struct that a variable stands for, named at `at`; none if it stays what it is.
    pub fn captured_record(&mut self, d: Cursor<'u>, at: Cursor<'u>) -> Result<Option<Path<'u>>> {
        let Some(path) = self.flat.records.get(&d).cloned() else {
            return Ok(None);
        };
        // What the kernel gets by reference to const is nobody's to change.
        let given = d.kind() == CXCursor_ParmDecl && path.0.is_parameter();
        if stays(d) || given && d.ty().canonical().pointee().is_const() {
            return Ok(None);
        }
        if !local::is_of_numbers(at) {
            return Err(may_change(&d.spelling(), at));
        }
        let numbers = self.numbers_of(&path, at)?;
        self.bind_struct(d, Some(numbers))?;
        Ok(self.flat.records.insert(d, path))
    }
}

/// Whether a variable is one that nothing changes.
pub(in crate::c) fn stays(d: Cursor<'_>) -> bool {
    d.ty().canonical().is_const()
}

pub(in crate::c) fn may_change(name: &str, at: Cursor<'_>) -> crate::c::Problem {
    let message = format!("the lambda copies '{name}', which may change afterwards");
    let mut p = problem(codes::EXPRESSION, message, at);
    p.help = Some("make it const, or capture it by reference".into());
    p
}
