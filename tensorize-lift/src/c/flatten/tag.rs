//! Members that say what another one points to (`if (m->kind == DENSE) { struct dense *d = m->content; … }`). The numbers of a
//! struct are read before the kernel runs, when nobody has asked yet.

use super::struct_type;
use super::void_member::is_void;
use crate::c::call::helper;
use crate::c::codes;
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Lower, Result, problem};
use crate::c::operator::{self, Binary, Unary};
use crate::c::source;
use crate::c::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::op::CmpOp;

/// Variables that are set to what others are.
const MAX_DEPTH: usize = 3;

impl<'u> Lower<'u, '_> {
    /// Refuses to take a member for a pointer to a struct, or to rows, where that depends on what another member is. (A `void *`, or
    /// a pointer to what the struct extends.)
    pub(super) fn check_no_tag(
        &self,
        member: Cursor<'u>,
        t: Type<'u>,
        at: Cursor<'u>,
    ) -> Result<()> {
        let Some(field) = member.referenced() else {
            return Ok(());
        };
        let is_table = matches!(types::read(t), Ty::Pointer(to) if matches!(*to, Ty::Pointer(_)));
        if struct_type(t).is_none() && !is_table {
            return Ok(());
        }
        // A struct may say itself which one it is.
        let is_extended = !is_void(field.ty());
        let is_tag = |f: Cursor<'u>| {
            f != field && (is_extended || f.semantic_parent() == field.semantic_parent())
        };
        let says =
            |c: Cursor<'u>| asks_for(c, &is_tag, 0) || is_extended && looks_into(c, field, 0);
        if !self.conditions_on(at).into_iter().any(says) {
            return Ok(());
        }
        let message = format!(
            "whether '{}' points to that depends on another member",
            field.spelling()
        );
        Err(problem(codes::RECORD, message, at))
    }

    /// The conditions that decide whether a part of the function at hand is reached, and whether that function is called if it is a
    /// helper.
    fn conditions_on(&self, part: Cursor<'u>) -> Vec<Cursor<'u>> {
        let mut conditions = Vec::new();
        let mut parts = vec![part];
        for (depth, frame) in self.frames.iter().enumerate().rev() {
            let Some(body) = source::body(frame.function) else {
                break;
            };
            let within = |part: &Cursor<'u>| conditions_within(body, *part);
            conditions.extend(parts.iter().flat_map(within));
            let around = depth
                .checked_sub(1)
                .map(|outer| self.frames[outer].function);
            let Some(around) = around.and_then(source::body) else {
                break;
            };
            parts.clear();
            around.contains(&mut |c| {
                let callee = c.referenced().filter(|_| c.kind() == CXCursor_CallExpr);
                if callee.and_then(helper) == Some(frame.function) {
                    parts.push(c);
                }
                false
            });
        }
        conditions
    }
}

/// Whether no condition decides whether this part of the code is reached, but how often loops run.
pub(super) fn is_always_reached<'u>(code: Cursor<'u>, part: Cursor<'u>) -> bool {
    conditions_within(code, part).is_empty()
}

/// The conditions that decide whether a part of the code is reached.
fn conditions_within<'u>(code: Cursor<'u>, part: Cursor<'u>) -> Vec<Cursor<'u>> {
    let mut conditions = Vec::new();
    decides(code, part, &mut conditions);
    conditions
}

/// Adds the conditions that decide whether a part of the code is reached; whether the code has that part.
fn decides<'u>(code: Cursor<'u>, part: Cursor<'u>, conditions: &mut Vec<Cursor<'u>>) -> bool {
    if code == part {
        return true;
    }
    let children = code.children();
    let mut parts = children.iter();
    let Some(place) = parts.position(|c| decides(*c, part, conditions)) else {
        return false;
    };
    let decides_alone = matches!(operator::binary(code), Ok(Binary::And | Binary::Or));
    match code.kind() {
        CXCursor_IfStmt | CXCursor_SwitchStmt | CXCursor_ConditionalOperator if place > 0 => {
            conditions.push(children[0]);
        }
        CXCursor_BinaryOperator if place > 0 && decides_alone => conditions.push(children[0]),
        CXCursor_CompoundStmt => {
            let before = children[..place].iter();
            before.for_each(|c| jumps_away(*c, conditions));
        }
        _ => {}
    }
    true
}

/// Adds the conditions under which this code may not go on to what stands after it.
fn jumps_away<'u>(code: Cursor<'u>, conditions: &mut Vec<Cursor<'u>>) {
    let jumps = |c: Cursor<'u>| {
        let jumps = [
            CXCursor_ReturnStmt,
            CXCursor_GotoStmt,
            CXCursor_BreakStmt,
            CXCursor_ContinueStmt,
        ];
        jumps.contains(&c.kind())
    };
    let children = code.children();
    let decides = matches!(code.kind(), CXCursor_IfStmt | CXCursor_SwitchStmt);
    if decides && code.contains(&mut |c| jumps(c)) {
        conditions.push(children[0]);
    }
    children.into_iter().for_each(|c| jumps_away(c, conditions));
}

/// Whether this asks which of several values a number has. (How large it is tells how many there are of something.)
fn asks_for<'u>(c: Cursor<'u>, is_tag: &dyn Fn(Cursor<'u>) -> bool, depth: usize) -> bool {
    use CmpOp::{Ge, Gt, Le, Lt};
    let is_size = matches!(operator::binary(c), Ok(Binary::Compare(Lt | Le | Gt | Ge)));
    if c.kind() == CXCursor_BinaryOperator && is_size {
        return false;
    }
    let named = c
        .referenced()
        .filter(|_| matches!(c.kind(), CXCursor_MemberRefExpr | CXCursor_DeclRefExpr));
    if let Some(named) = named {
        let is_number = types::of(named).as_scalar().is_some_and(|ty| ty.is_int());
        let is_set = named.kind() == CXCursor_VarDecl && depth < MAX_DEPTH;
        let first = named.initializer().filter(|_| is_set);
        if is_number && is_tag(named) || first.is_some_and(|e| asks_for(e, is_tag, depth + 1)) {
            return true;
        }
    }
    let mut parts = c.children().into_iter();
    parts.any(|c| asks_for(c, is_tag, depth))
}

/// Whether a part of this code is reached depends on which of several values a parameter has.
pub(super) fn depends_on_a_parameter<'u>(code: Cursor<'u>, part: Cursor<'u>) -> bool {
    let is_tag = |d: Cursor<'u>| d.kind() == CXCursor_ParmDecl;
    let mut conditions = conditions_within(code, part).into_iter();
    conditions.any(|c| asks_for(c, &is_tag, 0))
}

/// The same, or on what this parameter points to, which may say itself what it is.
pub(super) fn depends_on_what_it_is<'u>(
    code: Cursor<'u>,
    part: Cursor<'u>,
    pointer: Cursor<'u>,
) -> bool {
    let is_tag = |d: Cursor<'u>| matches!(d.kind(), CXCursor_ParmDecl | CXCursor_FieldDecl);
    let says = |c: Cursor<'u>| asks_for(c, &is_tag, 0) || looks_into(c, pointer, 0);
    conditions_within(code, part).into_iter().any(says)
}

/// Whether a condition looks into what a variable or a member points to, or lets a function do so. (That it is not null says
/// nothing.)
fn looks_into<'u>(c: Cursor<'u>, pointer: Cursor<'u>, depth: usize) -> bool {
    let first = |e: Cursor<'u>| {
        let d = e
            .referenced()
            .filter(|_| e.kind() == CXCursor_DeclRefExpr)?;
        d.initializer().filter(|_| depth < MAX_DEPTH)
    };
    let names = &mut |e: Cursor<'u>| {
        let is_it = matches!(e.kind(), CXCursor_DeclRefExpr | CXCursor_MemberRefExpr)
            && e.referenced() == Some(pointer);
        is_it || first(e).is_some_and(|v| v.contains(&mut |e| e.referenced() == Some(pointer)))
    };
    c.contains(&mut |outer| {
        let looks = [
            CXCursor_MemberRefExpr,
            CXCursor_CallExpr,
            CXCursor_ArraySubscriptExpr,
            CXCursor_UnaryOperator,
        ];
        let is_test = matches!(operator::unary(outer), Ok(Unary::LogicalNot));
        let mut inside = || {
            outer
                .children()
                .into_iter()
                .any(|inner| inner.contains(names))
        };
        looks.contains(&outer.kind()) && !is_test && inside()
            || first(outer).is_some_and(|v| looks_into(v, pointer, depth + 1))
    })
}
