//! Objects that hold numbers and arrays of a fixed length, as a vector or a small matrix does, beside those that lie in arrays:
//! all of their numbers, one after the other.

use super::Path;
use super::element::MOST_NUMBERS;
use super::object::{Held, holdings, is_object};
use crate::c::codes;
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Lower, Result, peeled, problem};
use crate::c::place::{Place, Pointer};
use clang_sys::*;
use tensorize_ir::loopir::Expr;

/// Whether this is an object all of whose numbers lie in itself.
pub(super) fn is_of_fixed_size(t: Type<'_>) -> bool {
    let fixed = |h: &(Vec<Cursor<'_>>, Held)| matches!(h.1, Held::Number(_) | Held::Array(_));
    is_object(t) && holdings(t).is_some_and(|all| all.iter().all(fixed))
}

impl<'u> Lower<'u, '_> {
    /// All numbers of an object of the function's own, in the order in which they lie in memory.
    fn numbers_of_object(
        &mut self,
        object: &Path<'u>,
        t: Type<'u>,
        at: Cursor<'u>,
    ) -> Result<Vec<Place>> {
        let mut out = Vec::new();
        for (path, _) in holdings(t).ok_or_else(|| unsupported(at))? {
            match self.number_in(object, &path, at)? {
                Place::Array(p) => out.extend(self.numbers_of_element(&p, at)?),
                place => out.push(place),
            }
        }
        match out.len() as u64 <= MOST_NUMBERS {
            true => Ok(out),
            false => Err(unsupported(at)),
        }
    }

    /// Their values, of an expression that makes or names such an object.
    pub(super) fn values_of_object(&mut self, e: Cursor<'u>) -> Result<Vec<Expr>> {
        let object = match self.is_temporary(e) {
            true => self.temporary_object(e)?,
            false => self.record(e)?,
        };
        let places = self.numbers_of_object(&object, e.ty(), e)?;
        places.into_iter().map(|p| self.load(p, e)).collect()
    }

    /// Makes an object a copy of one in an array.
    pub(super) fn copied_element(
        &mut self,
        to: &Path<'u>,
        of: &Pointer,
        t: Type<'u>,
        at: Cursor<'u>,
    ) -> Result<()> {
        let values = self.values_of_element(of, t, at)?;
        let places = self.numbers_of_object(to, t, at)?;
        if places.len() != values.len() {
            return Err(unsupported(at));
        }
        let mut each = places.into_iter().zip(values);
        each.try_for_each(|(place, value)| self.write(place, value, at))
    }

    /// The struct in an array that an expression of such a type names.
    pub(super) fn named_element(&mut self, e: Cursor<'u>) -> Result<Option<Pointer>> {
        let e = peeled(e);
        if !is_of_fixed_size(e.ty()) || !self.is_in_array(e) {
            return Ok(None);
        }
        // (A call may name an element that is no struct's.)
        if e.kind() == CXCursor_CallExpr && !self.is_place(e) {
            return Ok(None);
        }
        let of = self.element(e)?;
        self.settled_pointer(of).map(Some)
    }
}

fn unsupported(at: Cursor<'_>) -> crate::c::Problem {
    let message = "this use of an object that holds arrays is not supported";
    problem(codes::RECORD, message, at)
}
