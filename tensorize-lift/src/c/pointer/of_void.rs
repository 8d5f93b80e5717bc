//! What a `void *` points to, or a pointer to bytes: what all its uses take it for.

use super::super::call::helper as helper_of;
use super::super::ffi::Cursor;
use super::super::lower::{Lower, operands};
use super::super::operator::{self, Binary, Unary};
use super::super::source;
use super::super::types::{self, Ty};
use super::in_bytes::{is_between, moved_in_bytes};
use super::{cast_parts, is_null, unwrapped};
use clang_sys::*;
use tensorize_ir::scalar::ScalarType;

impl<'u> Lower<'u, '_> {
    /// The type that the elements of a `void *` or of a pointer to bytes have, if everything that the kernel does with it begins
    /// with a conversion to a pointer to that type.
    pub fn element_of_void(&self, p: Cursor<'u>) -> Option<ScalarType> {
        let made = self.made_of_void(p)?;
        // `memcpy(&v, p, 4)` says no more, nor does a helper that is given it.
        match made == Ty::Void && types::of(p).is_void_pointer() {
            true => Some(ScalarType::U8),
            false => made.as_scalar(),
        }
    }

    /// What every use of a `void *` takes it to point to.
    pub fn made_of_void(&self, p: Cursor<'u>) -> Option<Ty> {
        let function = self.frames.first()?.function;
        let uses = uses_of_void(self, function, p, 0)?;
        let first = uses.first()?.clone()?;
        uses.iter()
            .all(|t| t.as_ref() == Some(&first))
            .then_some(first)
    }
}

/// Helpers that a `void *` is handed on to.
const MAX_DEPTH: usize = 8;

/// What an expression that names a `void *` makes of it, wherever one does.
fn uses_of_void<'u>(
    lower: &Lower<'u, '_>,
    function: Cursor<'u>,
    p: Cursor<'u>,
    depth: usize,
) -> Option<Vec<Option<Ty>>> {
    let mut handed_on = Vec::new();
    let mut found = uses_in(source::body(function)?, p, &mut handed_on);
    // What it is for a helper that takes a `void *`, too.
    for (helper, parameter) in handed_on {
        match depth < MAX_DEPTH && !lower.frames.iter().any(|f| f.function == helper) {
            true => found.extend(uses_of_void(lower, helper, parameter, depth + 1)?),
            false => found.push(None),
        }
    }
    Some(found)
}

/// The same in this code, but for calls of helpers.
fn uses_in<'u>(
    code: Cursor<'u>,
    p: Cursor<'u>,
    handed_on: &mut Vec<(Cursor<'u>, Cursor<'u>)>,
) -> Vec<Option<Ty>> {
    fn find<'u>(
        c: Cursor<'u>,
        p: Cursor<'u>,
        found: &mut Vec<Option<Ty>>,
        handed_on: &mut Vec<(Cursor<'u>, Cursor<'u>)>,
    ) {
        let is_it = |e: &Cursor<'u>| unwrapped(*e).referenced() == Some(p);
        let parts = operands(c);
        // Whether there is one, and which one it is, says nothing of what it points to.
        let of_no_type = match c.kind() {
            CXCursor_BinaryOperator => {
                matches!(operator::binary(c), Ok(Binary::Compare(_)))
                    && parts.iter().all(|e| is_it(e) || is_null(*e))
            }
            CXCursor_UnaryOperator => {
                matches!(operator::unary(c), Ok(Unary::LogicalNot)) && parts.iter().all(is_it)
            }
            CXCursor_ReturnStmt => parts.iter().all(is_it),
            _ => false,
        };
        if of_no_type {
            return;
        }
        // `w = (const float *)w + 1`: the right side says what it is.
        if let [l, r] = parts[..]
            && c.kind() == CXCursor_BinaryOperator
            && matches!(operator::binary(c), Ok(Binary::Assign))
            && is_it(&l)
        {
            let known = found.len();
            find(r, p, found, handed_on);
            // Something else, maybe.
            if found.len() == known {
                found.push(None);
            }
            return;
        }
        if let Some(helper) = c.referenced().filter(|_| c.kind() == CXCursor_CallExpr)
            && let Some(helper) = helper_of(helper)
        {
            for (a, parameter) in c.arguments().into_iter().zip(helper.arguments()) {
                match is_it(&a) && types::of(parameter).is_void_pointer() {
                    true => handed_on.push((helper, parameter)),
                    false => find(a, p, found, handed_on),
                }
            }
            return;
        }
        let mut inner = c;
        while matches!(
            inner.kind(),
            CXCursor_ParenExpr
                | CXCursor_UnexposedExpr
                | CXCursor_CStyleCastExpr
                | CXCursor_CXXStaticCastExpr
                | CXCursor_CXXReinterpretCastExpr
        ) && let Ok((sizes, next)) = cast_parts(inner)
        {
            if sizes.iter().any(|s| s.mentions(p)) {
                break;
            }
            inner = next;
        }
        // `(float *)(p + y * step)`
        if inner != c
            && let Some((base, steps)) = moved_in_bytes(inner)
            && base.referenced() == Some(p)
        {
            // Bytes that are no elements stay bytes.
            if let Ty::Pointer(to) = types::of(c)
                && let Some(elem) = to.flatten().0.as_scalar()
                && steps.iter().any(|(_, by)| is_between(*by, elem.bytes()))
            {
                found.push(None);
            }
            (steps.into_iter()).for_each(|(_, step)| find(step, p, found, handed_on));
            inner = base;
        }
        if inner.kind() != CXCursor_DeclRefExpr || inner.referenced() != Some(p) {
            (c.children().into_iter()).for_each(|c| find(c, p, found, handed_on));
            return;
        }
        found.push(match types::of(c) {
            Ty::Pointer(to) => Some(to.flatten().0.clone()),
            _ => None,
        });
    }
    let mut found = Vec::new();
    find(code, p, &mut found, handed_on);
    found
}
