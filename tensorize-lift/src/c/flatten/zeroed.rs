//! `memset(s, 0, sizeof *s)`: a struct of numbers and arrays of them, all of which are zero afterwards.

use super::{Path, element, struct_declaration, struct_type, within};
use crate::c::codes;
use crate::c::ffi::{Constant, Cursor, Type};
use crate::c::lower::{Lower, Result, peeled, problem};
use crate::c::memory::{Block, block_function};
use crate::c::types::{self, Ty};
use clang_sys::*;

impl<'u> Lower<'u, '_> {
    /// Notes that all members may be assigned.
    pub fn scan_zeroed(&mut self, call: Cursor<'u>) -> Result<()> {
        let called = call.referenced().map(|f| f.spelling());
        let sets = called.is_some_and(|name| block_function(&name) == Some(Block::Set));
        let to = call.arguments().first().map(|to| peeled(*to));
        match to.filter(|_| sets) {
            Some(to) => match struct_type(to.ty()) {
                Some((declaration, _, true)) => self.note_members(declaration, to),
                _ => Ok(()),
            },
            None => Ok(()),
        }
    }

    fn note_members(&mut self, declaration: Cursor<'u>, target: Cursor<'u>) -> Result<()> {
        for field in element::members(declaration) {
            match struct_declaration(field.ty()) {
                Some(inner) => self.note_members(inner, target)?,
                None => self.note_assigned(field, target)?,
            }
        }
        Ok(())
    }

    /// Does what the call does, if `to` points to a struct that is a parameter.
    pub fn zeroed(&mut self, to: Cursor<'u>, value: Cursor<'u>, bytes: Cursor<'u>) -> Result<bool> {
        let to = peeled(to);
        let Some((declaration, inner, true)) = struct_type(to.ty()) else {
            return Ok(false);
        };
        let d = to
            .referenced()
            .filter(|_| to.kind() == CXCursor_DeclRefExpr);
        if !d.is_some_and(|d| self.flat.records.contains_key(&d)) || inner.canonical().is_const() {
            return Ok(false);
        }
        let number = |e: Cursor<'u>| match e.evaluate() {
            Some(Constant::Int(n)) => Some(n),
            _ => None,
        };
        let size = inner.size().map(i128::from);
        if number(value) != Some(0) || size.is_none() || number(bytes) != size {
            let message = "memset of a struct to something else than zeros, or of a part of it";
            return Err(problem(codes::RECORD, message, to));
        }
        if !is_all_numbers(inner) {
            let message =
                "memset of a struct that has other members than numbers, or gaps between them";
            return Err(problem(codes::RECORD, message, to));
        }
        let path = self.record(to)?;
        self.zero_all(&path, declaration, to).map(|()| true)
    }

    /// Whatever the members are when an object is made (`float gain = 1;`), all are zero.
    fn zero_all(
        &mut self,
        object: &Path<'u>,
        declaration: Cursor<'u>,
        at: Cursor<'u>,
    ) -> Result<()> {
        for field in element::members(declaration) {
            match struct_declaration(field.ty()) {
                Some(inner) => self.zero_all(&within(object, field), inner, at)?,
                None => self.zero_member(object, field, at)?,
            }
        }
        Ok(())
    }
}

/// Whether there is no byte in it that is not a number's: what lies between would be zero afterwards, too.
fn is_all_numbers(t: Type<'_>) -> bool {
    let Some(declaration) = struct_declaration(t) else {
        let mut of = types::read(t);
        while let Ty::Array(inner, _) = of {
            of = *inner;
        }
        return of.as_scalar().is_some();
    };
    let fields = element::members(declaration);
    let sizes = fields.iter().map(|f| f.ty().size());
    let filled = sizes.sum::<Option<u64>>();
    filled.is_some()
        && filled == t.size()
        && fields
            .iter()
            .all(|f| !f.is_bit_field() && is_all_numbers(f.ty()))
}
