//! Structs of registers, as NEON's structured loads give (`float32x4x2_t`): so many vectors, one after the other.
//!
//! One is taken for a vector of all their lanes, of which `v.val[k]` is a part.

use super::lower::{cut, is_vector, shape};
use super::value::Vector;
use crate::c::cpp::method::is_implied;
use crate::c::ffi::{Cursor, Type};
use crate::c::flatten::{fields, is_zero_at_first};
use crate::c::lower::{Binding, Lower, Result, operands, peeled};
use crate::c::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::scalar::Scalar;

/// What a struct whose only member is `val`, an array of vectors, is taken for.
pub(in crate::c) fn registers(t: Type<'_>) -> Option<Ty> {
    let t = t.canonical();
    if t.kind() != CXType_Record || t.is_volatile() {
        return None;
    }
    let declaration = t.declaration();
    let fields = fields(declaration.definition().unwrap_or(declaration))?;
    let [only] = fields[..] else { return None };
    let held = only.ty().canonical();
    if only.spelling() != "val" || held.kind() != CXType_ConstantArray || held.is_volatile() {
        return None;
    }
    let (elem, n) = held.array_element().canonical().vector()?;
    let n = n * held.array_size()?;
    let elem = types::read(elem);
    let bytes = n * elem.as_scalar()?.bytes() as u64;
    (t.size() == Some(bytes)).then(|| Ty::Vector(Box::new(elem), n))
}

/// What a C++ constructor that nobody has written makes a struct of registers of: of another one, or of nothing.
pub(super) fn constructed(e: Cursor<'_>) -> Option<Option<Cursor<'_>>> {
    let e = peeled(e);
    let callee = e.referenced().filter(|f| is_implied(*f))?;
    let made = e.kind() == CXCursor_CallExpr && callee.kind() == CXCursor_Constructor;
    registers(e.ty()).filter(|_| made)?;
    match e.arguments()[..] {
        [] => Some(None),
        [of] => registers(of.ty()).map(|_| Some(of)),
        _ => None,
    }
}

/// `v` and `k` of `v.val[k]`, where `v` is a struct of registers and no pointer to one.
pub(in crate::c) fn register_of(c: Cursor<'_>) -> Option<(Cursor<'_>, Cursor<'_>)> {
    let c = peeled(c);
    let [val, k] = operands(c)[..] else {
        return None;
    };
    let val = peeled(val);
    if c.kind() != CXCursor_ArraySubscriptExpr || val.kind() != CXCursor_MemberRefExpr {
        return None;
    }
    let of = *operands(val).first()?;
    registers(of.ty()).map(|_| (of, k))
}

impl<'u> Lower<'u, '_> {
    /// Which of `all` lanes those of `v.val[k]` are, `at` being all of that.
    fn lanes_at(
        &mut self,
        k: Cursor<'u>,
        all: usize,
        at: Cursor<'u>,
    ) -> Result<std::ops::Range<usize>> {
        let (of, _) = register_of(at).ok_or_else(|| cut(at))?;
        let (Some((_, total)), Some((_, one))) = (shape(of), shape(at)) else {
            return Err(cut(at));
        };
        let count = total / one;
        match self.value(k)? {
            Expr::Const(k) if k.as_int() >= 0 && k.as_int() < count as i128 => {
                let one = all / count;
                let from = k.as_int() as usize * one;
                Ok(from..from + one)
            }
            _ => Err(cut(at)),
        }
    }

    /// The value of `v.val[k]`.
    pub(super) fn register(
        &mut self,
        of: Cursor<'u>,
        k: Cursor<'u>,
        at: Cursor<'u>,
    ) -> Result<Vector> {
        let whole = self.vector(of)?;
        let lanes = self.lanes_at(k, whole.lanes.len(), at)?;
        Ok(Vector {
            lanes: whole.lanes[lanes].to_vec(),
        })
    }

    /// `v.val[k] = value`, where `v` is a variable.
    pub(super) fn store_register(
        &mut self,
        of: Cursor<'u>,
        k: Cursor<'u>,
        value: Vector,
        at: Cursor<'u>,
    ) -> Result<()> {
        let variable = peeled(of);
        let d = variable.referenced().ok_or_else(|| cut(at))?;
        match self.bindings.get(&d).cloned() {
            Some(Binding::VectorVariable(names, elem))
                if variable.kind() == CXCursor_DeclRefExpr =>
            {
                let lanes = self.lanes_at(k, names.len(), at)?;
                self.assign_lanes(&names[lanes], elem, value, at)
            }
            _ => Err(cut(at)),
        }
    }

    /// `{{a, b}}` or `{a, b}`, of vectors.
    pub(super) fn listed_registers(&mut self, list: Cursor<'u>) -> Result<Vector> {
        let (elem, n) = shape(list).ok_or_else(|| cut(list))?;
        // What is not listed is 0, unless the struct says otherwise.
        if !is_zero_at_first(list.ty()) {
            return Err(cut(list));
        }
        let mut items = operands(list);
        if let [inner] = items[..]
            && inner.kind() == CXCursor_InitListExpr
            && !is_vector(inner)
        {
            items = operands(inner);
        }
        let mut lanes = Vec::new();
        for item in items {
            let v = self.vector(item)?;
            lanes.extend(v.seen_as(elem).ok_or_else(|| cut(item))?.lanes);
        }
        if lanes.len() > n {
            return Err(cut(list));
        }
        lanes.resize(n, Expr::Const(Scalar::zero(elem)));
        Ok(Vector { lanes })
    }
}
