//! What the body of a function, or of a lambda, does for those who call it.

use super::touched::Effects;
use super::{named, variable, written};
use crate::c::call;
use crate::c::cpp;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, operands, peeled};
use crate::c::operator::{self, Binary, Unary};
use clang_sys::*;

/// Whether a variable is none of a call's own: one of the file, a static one, or one that all objects of a class share.
pub(super) fn outlives_calls(d: Cursor<'_>) -> bool {
    let outside = d.semantic_parent().is_some_and(|p| {
        matches!(
            p.kind(),
            CXCursor_TranslationUnit
                | CXCursor_Namespace
                | CXCursor_LinkageSpec
                | CXCursor_ClassDecl
                | CXCursor_StructDecl
        )
    });
    d.kind() == CXCursor_VarDecl && (outside || d.storage() == CX_SC_Static)
}

/// All that statements may read and write.
pub(super) fn everything<'u>(lower: &Lower<'u, '_>, c: Cursor<'u>, all: &mut Effects<'u>) {
    all.writes_rows = true;
    memory_effects(lower, c, all, 0);
    let mut pending = vec![c];
    while let Some(c) = pending.pop() {
        if c.kind() == CXCursor_DeclRefExpr
            && let Some(d) = c.referenced()
        {
            named(lower, d, all);
        }
        let writes = !matches!(operator::binary(c), Ok(b) if b != Binary::Assign);
        let target = match c.kind() {
            CXCursor_BinaryOperator if writes => operands(c).first().copied(),
            CXCursor_CompoundAssignOperator => operands(c).first().copied(),
            CXCursor_UnaryOperator => operands(c).first().copied(),
            _ => None,
        };
        let named = target.and_then(|t| peeled(t).referenced()).into_iter();
        let given =
            (c.kind() == CXCursor_CallExpr && lower.source.cpp).then(|| cpp::by_reference(c));
        for d in named.chain(given.into_iter().flatten()) {
            written(lower, d, all);
        }
        pending.extend(c.children());
    }
}

/// What a statement returns the address of: `return &data[i * width];`
fn returned_address(c: Cursor<'_>) -> Option<Cursor<'_>> {
    let value = peeled(*c.children().first()?);
    let takes = value.kind() == CXCursor_UnaryOperator
        && matches!(operator::unary(value), Ok(Unary::AddressOf));
    operands(value).first().copied().filter(|_| takes)
}

/// Notes what a function's body reads and writes of memory, and of the variables that its callers may look at, too.
pub(super) fn memory_effects<'u>(
    lower: &Lower<'u, '_>,
    c: Cursor<'u>,
    all: &mut Effects<'u>,
    depth: usize,
) {
    let memory = |c: Cursor<'u>| {
        let p = peeled(c);
        let d = p.referenced().filter(|_| p.kind() == CXCursor_DeclRefExpr);
        match d {
            // What that is another name for, the call says.
            Some(d) if d.kind() == CXCursor_ParmDecl => lower.in_memory.contains(&d),
            Some(d) => variable(lower, d).is_none(),
            None => true,
        }
    };
    // Of the variables, those that whoever calls may look at, too.
    let lasting = |c: Cursor<'u>| {
        let named = peeled(c);
        let d = named
            .referenced()
            .filter(|_| named.kind() == CXCursor_DeclRefExpr);
        d.and_then(|d| variable(lower, d))
            .filter(|d| outlives_calls(*d))
    };
    let changed = match c.kind() {
        CXCursor_BinaryOperator => matches!(operator::binary(c), Ok(Binary::Assign)),
        CXCursor_CompoundAssignOperator => true,
        CXCursor_UnaryOperator => matches!(operator::unary(c), Ok(Unary::Step { .. })),
        _ => false,
    };
    let target = operands(c).first().copied().filter(|_| changed);
    all.writes.extend(target.and_then(lasting));
    if c.kind() == CXCursor_DeclRefExpr {
        all.reads.extend(lasting(c));
    }
    match c.kind() {
        // An address that is returned is one that whoever calls makes use of.
        CXCursor_ReturnStmt if let Some(of) = returned_address(c) => {
            return memory_effects(lower, of, all, depth);
        }
        CXCursor_ArraySubscriptExpr | CXCursor_MemberRefExpr => all.reads_memory = true,
        CXCursor_UnaryOperator => match operator::unary(c) {
            Ok(Unary::Deref) | Err(_) => all.reads_memory = true,
            Ok(Unary::Step { .. }) => {
                all.writes_memory |= operands(c).first().is_none_or(|&o| memory(o));
            }
            // An address that goes elsewhere may be written through.
            Ok(Unary::AddressOf) => (all.reads_memory, all.writes_memory) = (true, true),
            _ => {}
        },
        CXCursor_BinaryOperator => match operator::binary(c) {
            Ok(Binary::Assign) => {
                all.writes_memory |= operands(c).first().is_none_or(|&o| memory(o));
            }
            Ok(_) => {}
            Err(_) => (all.reads_memory, all.writes_memory) = (true, true),
        },
        CXCursor_CompoundAssignOperator => {
            all.writes_memory |= operands(c).first().is_none_or(|&o| memory(o));
        }
        CXCursor_CallExpr if lower.source.cpp && cpp::effect_of(c).1 != cpp::Effect::Unknown => {
            all.reads_memory = true;
            all.writes_memory |= cpp::effect_of(c).1 == cpp::Effect::Writes;
        }
        CXCursor_CallExpr => match call::inlined_body(lower, c) {
            Some(body) if depth < 8 => memory_effects(lower, body, all, depth + 1),
            Some(_) => (all.reads_memory, all.writes_memory) = (true, true),
            None if call::writes_memory(c) => {
                (all.reads_memory, all.writes_memory) = (true, true);
            }
            None => {}
        },
        _ => {}
    }
    for child in c.children() {
        memory_effects(lower, child, all, depth);
    }
    if c.kind() == CXCursor_CallExpr && lower.source.cpp && depth < 8 {
        for (_, default) in cpp::default_arguments(c) {
            memory_effects(lower, default, all, depth + 1);
        }
    }
}
