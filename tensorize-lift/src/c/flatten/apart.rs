//! `auto [x, y] = point;`: names for the parts of a struct, a pair or an array.

use super::element::fields;
use super::{Path, is_reached, struct_declaration};
use crate::c::codes;
use crate::c::cpp::class::{Class, is_pair};
use crate::c::cpp::lambda::place_type;
use crate::c::cpp::seq::{Seq, int};
use crate::c::cpp::tuple::tuple;
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Binding, Lower, Result, is_expression, peeled, problem};
use crate::c::place::{Place, Pointer};
use crate::c::types::{self, Ty};
use clang_sys::*;

/// What is taken apart.
enum Whole<'u> {
    /// A struct in an array.
    Element(Pointer),
    Named(Path<'u>),
    Row(Seq),
}

/// The names of a declaration that takes something apart, and what that is.
pub(in crate::c) fn taken_apart<'u>(d: Cursor<'u>) -> Option<(Vec<Cursor<'u>>, Cursor<'u>)> {
    if d.kind() != CXCursor_UnexposedDecl {
        return None;
    }
    let mut names = d.children();
    let from = names.pop()?;
    let plain = names.iter().all(|n| n.kind() == CXCursor_UnexposedDecl);
    (plain && !names.is_empty() && is_expression(from.kind())).then_some((names, from))
}

/// The type of what is taken apart, and whether the names are references to its parts.
fn whole_type(d: Cursor<'_>) -> (Type<'_>, bool) {
    let t = d.ty().canonical();
    match t.kind() {
        CXType_LValueReference | CXType_RValueReference => (t.pointee(), true),
        _ => (t, false),
    }
}

/// The members that the names stand for. A class of the user's may say otherwise, by way of `std::tuple_element`.
fn members<'u>(t: Type<'u>, names: &[Cursor<'u>]) -> Option<Vec<Cursor<'u>>> {
    if let Some(parts) = tuple(t) {
        let parts = parts.into_iter().flat_map(|(path, _)| path);
        return Some(parts.collect::<Vec<_>>()).filter(|p| p.len() == names.len());
    }
    let declaration = struct_declaration(t)?;
    let by_get = |n: &Cursor<'_>| n.ty().spelling().contains("tuple_element");
    if !is_pair(declaration) && names.iter().any(by_get) {
        return None;
    }
    fields(declaration).filter(|f| f.len() == names.len())
}

/// Whether this is a call of which the result is another name for something.
pub(in crate::c) fn returns_reference(e: Cursor<'_>) -> bool {
    let e = peeled(e);
    let result = e.referenced().map(|f| f.ty().result().canonical().kind());
    e.kind() == CXCursor_CallExpr
        && matches!(
            result,
            Some(CXType_LValueReference | CXType_RValueReference)
        )
}

impl<'u> Lower<'u, '_> {
    /// Notes what names that are references may change, before the code is lowered.
    pub fn scan_apart(&mut self, d: Cursor<'u>) -> Result<()> {
        let Some((names, from)) = taken_apart(d) else {
            return Ok(());
        };
        let (t, by_reference) = whole_type(d);
        if !by_reference || t.is_const() {
            return Ok(());
        }
        if from.kind() == CXCursor_DeclRefExpr {
            let variable = from.referenced();
            self.assigned.extend(variable.filter(|d| is_reached(*d)));
        }
        for field in members(t, &names).unwrap_or_default() {
            self.note_assigned(field, d)?;
        }
        Ok(())
    }

    /// `auto [x, y] = e;` and `auto &[x, y] = e;`
    pub fn take_apart(&mut self, d: Cursor<'u>) -> Result<()> {
        let (_, from) = taken_apart(d).ok_or_else(|| unsupported(d))?;
        let (t, by_reference) = whole_type(d);
        if d.is_static() {
            return Err(unsupported(d));
        }
        if by_reference && self.is_temporary(from) && returns_reference(from) {
            return Err(unsupported(d));
        }
        // (Of a variable, references to its members could change them.)
        if (!by_reference || self.is_temporary(from))
            && let Some(found) = self.full_value(from, |s| s.found_pair(from))?
        {
            let (names, _) = taken_apart(d).ok_or_else(|| unsupported(d))?;
            for (name, p) in names.into_iter().zip(found) {
                self.bind_pointer(name, Some((p.target, p.dims, p.offset)))?;
            }
            return Ok(());
        }
        let is_struct = struct_declaration(t).is_some() || tuple(t).is_some();
        let whole = match types::read(t) {
            _ if by_reference && !self.is_temporary(from) => {
                self.reference_declaration(d, from)?;
                self.whole_of(d)?
            }
            _ if is_struct => {
                let values = self.full_value(from, |s| s.struct_value(from))?;
                Whole::Named(self.new_struct(d, "parts", Some(values))?)
            }
            Ty::Class(Class::Array(element, len)) => {
                let parts = self.local_seq("parts", &element, &int(len.into()), d)?;
                self.full(from, |s| s.construct(&parts, from))?;
                Whole::Row(parts)
            }
            _ => return Err(unsupported(d)),
        };
        self.name_parts(d, whole)
    }

    /// `for (auto [x, y] : elements)`
    pub fn take_element_apart(&mut self, d: Cursor<'u>, element: Place) -> Result<()> {
        let (t, by_reference) = whole_type(d);
        let whole = match (struct_declaration(t).is_some(), element) {
            (true, Place::Array(of)) if by_reference => Whole::Element(of),
            (true, Place::Array(of)) => {
                let values = self.values_of_element(&of, t, d)?;
                Whole::Named(self.new_struct(d, "parts", Some(values))?)
            }
            (false, place) => {
                let row = self.row_of(place).ok_or_else(|| unsupported(d))?;
                match types::read(t) {
                    _ if by_reference => Whole::Row(row),
                    Ty::Class(Class::Array(element, len)) => {
                        let parts = self.local_seq("parts", &element, &int(len.into()), d)?;
                        self.copy(&parts, int(0), &row, d)?;
                        Whole::Row(parts)
                    }
                    _ => return Err(unsupported(d)),
                }
            }
            _ => return Err(unsupported(d)),
        };
        self.name_parts(d, whole)
    }

    /// What a reference has been bound to.
    fn whole_of(&self, d: Cursor<'u>) -> Result<Whole<'u>> {
        if let Some(path) = self.flat.records.get(&d) {
            return Ok(Whole::Named(path.clone()));
        }
        match self.bindings.get(&d) {
            Some(Binding::Alias(Place::Array(of))) => Ok(Whole::Element(of.clone())),
            Some(Binding::Seq(row)) => Ok(Whole::Row(row.clone())),
            _ => Err(unsupported(d)),
        }
    }

    fn name_parts(&mut self, d: Cursor<'u>, whole: Whole<'u>) -> Result<()> {
        let (names, _) = taken_apart(d).ok_or_else(|| unsupported(d))?;
        let (t, by_reference) = whole_type(d);
        let mut places = Vec::new();
        match whole {
            Whole::Row(row) if row.len == int(names.len() as i128) => {
                places.extend((0..names.len()).map(|k| row.at(int(k as i128))));
            }
            Whole::Row(_) => return Err(unsupported(d)),
            Whole::Element(of) => {
                for field in members(t, &names).ok_or_else(|| unsupported(d))? {
                    places.push(self.element_member(of.clone(), field, d)?);
                }
            }
            Whole::Named(path) => {
                for field in members(t, &names).ok_or_else(|| unsupported(d))? {
                    places.push(self.member_of(path.clone(), field, d)?);
                }
            }
        }
        for (name, place) in names.into_iter().zip(places) {
            let number = types::of(name).as_scalar();
            if number.is_none() || number != place_type(&place) {
                return Err(unsupported(d));
            }
            if by_reference {
                // It may be memory that other names are for as well.
                self.in_memory.insert(name);
            }
            self.bindings.insert(name, Binding::Alias(place));
        }
        Ok(())
    }
}

fn unsupported(at: Cursor<'_>) -> crate::c::Problem {
    let message = format!("'{}' takes apart what is not supported", at.spelling());
    let mut p = problem(codes::RECORD, message, at);
    p.help =
        Some("structs and pairs of numbers, and std::array, can be taken apart; name the members otherwise".into());
    p
}
