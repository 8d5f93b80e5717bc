//! Parameters that a function has for the sake of its type, as an entry of a table of functions must: each is passed on to
//! the original as it is, and generated code has none.

use super::{Node, struct_type};
use crate::c::codes;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, operands, peeled};
use crate::c::source;
use crate::c::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::signature::Shape;

impl<'u> Lower<'u, '_> {
    /// A parameter without a counterpart in LoopIR, if the function does nothing with it; `false` if it is none.
    pub(super) fn unused_parameter(&mut self, p: Cursor<'u>, name: &str) -> bool {
        let kind = p.ty().canonical().kind();
        let has_no_type = match (types::of(p), struct_type(p.ty())) {
            // An object that is passed by value, or by reference, is one; nobody can pass it as nothing.
            _ if [
                CXType_Record,
                CXType_LValueReference,
                CXType_RValueReference,
            ]
            .contains(&kind) =>
            {
                false
            }
            (_, Some(_)) => true,
            (Ty::Other(codes::VOLATILE, _), _) => false,
            (Ty::Pointer(t), _) => !matches!(t.flatten().0, Ty::Scalar(_)),
            (t, _) => t.as_scalar().is_none(),
        };
        if !has_no_type || self.is_needed(p) {
            return false;
        }
        self.add_parameter(p, name, Node::Leaf(Shape::Unused, vec![]));
        true
    }

    /// Whether the kernel's text uses a parameter: its body, or the type of another one (`float a[][s->n]`).
    pub(in crate::c) fn is_needed(&self, d: Cursor<'u>) -> bool {
        let function = self.frames[0].function;
        let mut parts = function.arguments();
        parts.extend(source::body(function));
        source::body(function).is_none() || parts.into_iter().any(|part| uses(part, d))
    }
}

fn uses<'u>(c: Cursor<'u>, d: Cursor<'u>) -> bool {
    let named = c.kind() == CXCursor_DeclRefExpr && c.referenced() == Some(d);
    named || !is_dropped(c) && c.children().into_iter().any(|c| uses(c, d))
}

/// Whether an expression is `(void)x`, which keeps compilers from asking what `x` is for. (To read what is volatile is to do
/// something.)
pub(in crate::c) fn is_dropped(c: Cursor<'_>) -> bool {
    if c.kind() != CXCursor_CStyleCastExpr || types::of(c) != Ty::Void {
        return false;
    }
    let [inner] = operands(c)[..] else {
        return false;
    };
    let variable = peeled(inner);
    variable.kind() == CXCursor_DeclRefExpr && !variable.ty().canonical().is_volatile()
}
