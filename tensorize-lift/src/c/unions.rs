//! Local unions: some bits, seen as one type or another.

use super::ffi::{Cursor, Type};
use super::initializer::named_member;
use super::lower::{
    Binding, Lower, Result, Target, convert, operand, operands, peeled, problem, zero_offset,
};
use super::place::{Place, Pointer, seen_as};
use super::types;
use super::{codes, effects};
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Len, LocalArray, Stmt};
use tensorize_ir::scalar::ScalarType;

/// What a union's members are: numbers of one width. Their type as the first member has it, and how many.
fn shape(t: Type<'_>) -> Option<(ScalarType, u64)> {
    let t = t.canonical();
    if t.kind() != CXType_Record || t.is_volatile() {
        return None;
    }
    let declaration = t.declaration();
    let declaration = declaration.definition().unwrap_or(declaration);
    if declaration.kind() != CXCursor_UnionDecl {
        return None;
    }
    let members: Vec<_> = declaration
        .children()
        .into_iter()
        .filter(|c| c.kind() == CXCursor_FieldDecl)
        .map(member)
        .collect::<Option<_>>()?;
    let (first, _) = *members.first()?;
    let same = members.iter().all(|(e, _)| e.bits() == first.bits());
    let most = members.iter().map(|m| m.1).max()?;
    same.then_some((first, most))
}

/// The type of a member's numbers, and how many there are.
fn member(field: Cursor<'_>) -> Option<(ScalarType, u64)> {
    let t = types::read(field.ty());
    let (elem, lens) = t.flatten();
    let elem = elem.as_scalar().filter(|e| *e != ScalarType::I1)?;
    Some((elem, lens.into_iter().product::<Option<u64>>()?))
}

/// Whether a variable of this type can be declared.
pub(super) fn is_union(d: Cursor<'_>) -> bool {
    shape(d.ty()).is_some()
}

impl<'u> Lower<'u, '_> {
    /// A local variable that is a union.
    pub fn declare_union(&mut self, d: Cursor<'u>, init: Option<Cursor<'u>>) -> Result<()> {
        let unsupported = |c| problem(codes::INITIALIZER, "this initialiser is not supported", c);
        let (elem, len) = shape(d.ty()).ok_or_else(|| unsupported(d))?;
        let array = self.fresh(d.spelling());
        self.arrays.push(LocalArray {
            name: array.clone(),
            elem,
            len: Len::Fixed(len as usize),
            init: None,
        });
        let target = Target {
            array: array.clone(),
            elem,
        };
        self.bindings.insert(d, Binding::Array(target, vec![]));
        let Some(init) = init else { return Ok(()) };
        let [value] = operands(init)[..] else {
            return Err(unsupported(init));
        };
        let (field, value) = match named_member(value)? {
            Some((field, value)) => (Some(field), value),
            None => (None, value),
        };
        if init.kind() != CXCursor_InitListExpr || len != 1 || !effects::is_pure(value) {
            return Err(unsupported(init));
        }
        let value = self.full_value(value, |s| s.value(value))?;
        // What stands beside a name isn't converted yet.
        let value = match field {
            Some(field) => {
                let (ty, _) = member(field).ok_or_else(|| unsupported(init))?;
                convert(ty, value)
            }
            None => value,
        };
        // One that has been converted to its member's type, which has the width of all.
        if value.ty().bits() != elem.bits() {
            return Err(unsupported(init));
        }
        self.emit(Stmt::Store {
            array,
            index: zero_offset(),
            value: seen_as(elem, value),
        })
    }

    /// A member of a local union.
    pub fn union_member(&mut self, c: Cursor<'u>) -> Result<Option<Place>> {
        let Some(base) = operand(c).ok().map(peeled) else {
            return Ok(None);
        };
        let known = (base.kind() == CXCursor_DeclRefExpr && shape(base.ty()).is_some())
            .then(|| base.referenced())
            .flatten()
            .and_then(|d| self.bindings.get(&d).cloned());
        let (Some(Binding::Array(target, _)), Some(field)) = (known, c.referenced()) else {
            return Ok(None);
        };
        let Some((view, _)) = member(field) else {
            return Ok(None);
        };
        let t = types::read(field.ty());
        let dims: Vec<Expr> = t
            .flatten()
            .1
            .into_iter()
            .flatten()
            .map(|n| Expr::int(ScalarType::I64, n.into()))
            .collect();
        let pointer = Pointer {
            target,
            offset: zero_offset(),
            dims,
            view,
        };
        Ok(Some(pointer.deref()))
    }
}
