//! C's way to inherit: a struct whose first member is the struct that it extends. A pointer to one is a pointer to the other (C17,
//! 6.7.2.1p15). One that a kernel takes for a pointer to the longer struct points to such a one, as a `void *` would.

use super::tag::depends_on_what_it_is;
use super::{Node, Owner, Path, element, struct_type};
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Lower, Result, peeled};
use crate::c::source;
use clang_sys::*;
use std::collections::HashSet;

/// Structs that each extend the one before.
const MAX_DEPTH: usize = 4;

impl<'u> Lower<'u, '_> {
    /// The longer struct that a parameter points to, if the function takes it for a pointer to one.
    pub(super) fn extended_parameter(&mut self, p: Cursor<'u>) -> Option<Type<'u>> {
        struct_type(p.ty()).filter(|(_, _, pointer)| *pointer)?;
        let function = self.frames[0].function;
        let cast = self.variable_taken_for(p, 0)?;
        if element::walked(self, function, p, &mut HashSet::new())
            || depends_on_what_it_is(source::body(function)?, cast, p)
        {
            return None;
        }
        let root = Owner::Parameter(self.flat.roots.len());
        self.flat.taken_for.insert((root, vec![]), cast.ty());
        Some(cast.ty())
    }

    /// The same object as one of type `wanted`: the one that extends it, or what it extends. Where it is neither, nothing changes,
    /// and its members are not found.
    pub(super) fn seen_as(
        &mut self,
        mut path: Path<'u>,
        wanted: Cursor<'u>,
        at: Cursor<'u>,
    ) -> Result<Path<'u>> {
        if !path.0.is_parameter() {
            return Ok(path);
        }
        for _ in 0..MAX_DEPTH {
            let Node::Struct { declaration, .. } = *self.node(&path, at)? else {
                break;
            };
            if declaration == wanted {
                break;
            }
            if let Some(first) = first_struct(declaration)
                && begins_with(declaration, wanted)
            {
                path.1.push(first);
                continue;
            }
            let Some((last, before)) = path.1.split_last() else {
                break;
            };
            let around = (path.0, before.to_vec());
            let extends = match self.node(&around, at)? {
                Node::Struct { declaration, .. } => first_struct(*declaration) == Some(*last),
                Node::Leaf(..) => false,
            };
            if !extends || !begins_with(wanted, declaration) {
                break;
            }
            path = around;
        }
        Ok(path)
    }
}

/// The member or the variable that points to a struct, and which is cast to a pointer to one that extends it.
pub(super) fn extended<'u>(given: Cursor<'u>, t: Type<'u>) -> Option<Cursor<'u>> {
    let named = peeled(given);
    let is_named = matches!(named.kind(), CXCursor_MemberRefExpr | CXCursor_DeclRefExpr);
    let (base, _, true) = struct_type(named.ty()).filter(|_| is_named)? else {
        return None;
    };
    let (declaration, _, true) = struct_type(t)? else {
        return None;
    };
    (declaration != base && begins_with(declaration, base)).then_some(named)
}

/// Whether the struct that one pointer points to begins with what another one points to.
pub(super) fn extends(known: Type<'_>, base: Type<'_>) -> bool {
    let declaration = |t| struct_type(t).map(|(d, _, _)| d);
    matches!((declaration(known), declaration(base)), (Some(k), Some(b)) if begins_with(k, b))
}

/// Whether one struct begins with another one, as its first member or within it.
fn begins_with(declaration: Cursor<'_>, base: Cursor<'_>) -> bool {
    let mut inner = declaration;
    for _ in 0..MAX_DEPTH {
        let Some((first, _, _)) = first_struct(inner).and_then(|f| struct_type(f.ty())) else {
            return false;
        };
        if first == base {
            return true;
        }
        inner = first;
    }
    false
}

/// The first member, if it is a struct and lies where the struct begins.
fn first_struct(declaration: Cursor<'_>) -> Option<Cursor<'_>> {
    let first = *element::members(declaration).first()?;
    let is_struct =
        first.ty().canonical().kind() == CXType_Record && struct_type(first.ty()).is_some();
    let is_at_start = first.offset_in_struct() == Some(0);
    (is_struct && is_at_start).then_some(first)
}
