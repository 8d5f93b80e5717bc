//! What the body of a function, or of a lambda, does for those who call it.

use super::touched::Effects;
use super::{assigned_place, named, variable, written};
use crate::c::call;
use crate::c::cpp::{self, class::Class};
use crate::c::ffi::Cursor;
use crate::c::jump::ends_program;
use crate::c::lower::{Lower, operands, peeled};
use crate::c::memory;
use crate::c::operator::{self, Binary, Unary};
use crate::c::pointer::unwrapped;
use crate::c::types::{self, Ty};
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
    d.kind() == CXCursor_VarDecl && (outside || d.is_static())
}

/// All that statements may read and write.
pub(super) fn everything<'u>(lower: &Lower<'u, '_>, c: Cursor<'u>, all: &mut Effects<'u>) {
    all.writes_rows = true;
    memory_effects(lower, c, all, Own::Nothing);
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

/// What nobody else looks at while a piece of code runs.
#[derive(Clone, Copy)]
pub(super) enum Own<'u> {
    Nothing,
    /// The variables of the function whose body it is.
    Variables(Cursor<'u>),
    /// The object of the method, too.
    Object(Cursor<'u>),
}

impl<'u> Own<'u> {
    /// What is a function's own that is called here.
    pub fn of(call: Cursor<'u>) -> Own<'u> {
        let definition = call.referenced().and_then(call::helper);
        definition.map_or(Own::Nothing, Own::Variables)
    }

    fn function(self) -> Option<Cursor<'u>> {
        match self {
            Own::Nothing => None,
            Own::Variables(f) | Own::Object(f) => Some(f),
        }
    }

    /// Whether a variable is one of the function's. (A lambda's body may name those of the function around it.)
    fn has(self, d: Cursor<'u>) -> bool {
        let f = self.function();
        f.is_some() && d.semantic_parent() == f && !outlives_calls(d)
    }

    fn has_object(self) -> bool {
        matches!(self, Own::Object(_))
    }
}

/// Whether a place lies in a struct or an array of the function's own, and in nothing that it refers to.
fn is_own<'u>(place: Cursor<'u>, own: Own<'u>) -> bool {
    let p = peeled(place);
    let base = operands(p).first().copied();
    let in_value = |base: Cursor<'u>| {
        let held = peeled(base).ty().canonical().kind();
        matches!(held, CXType_Record | CXType_ConstantArray) && is_own(base, own)
    };
    match p.kind() {
        CXCursor_DeclRefExpr => p.referenced().is_some_and(|d| {
            let held = d.ty().canonical().kind();
            let is_value = matches!(held, CXType_Record | CXType_ConstantArray);
            own.has(d) && (is_value || refers_to_own_elements(d, own))
        }),
        CXCursor_MemberRefExpr => {
            let refers = p.referenced().is_none_or(|f| {
                f.kind() != CXCursor_FieldDecl
                    || f.ty().canonical().kind() == CXType_LValueReference
            });
            let of_this = base.is_none_or(|b| peeled(b).kind() == CXCursor_CXXThisExpr);
            !refers
                && match of_this {
                    true => own.has_object(),
                    false => base.is_some_and(in_value),
                }
        }
        CXCursor_ArraySubscriptExpr => base.is_some_and(in_value),
        // An element of a `std::array` or of a vector, whose memory is nobody else's, or what a method of the file's own says:
        // one that lies in its object.
        CXCursor_CallExpr => {
            let of = cpp::effect_of(p).0.first().copied();
            of.filter(|of| in_value(*of)).is_some_and(|of| {
                let at = matches!(p.spelling().as_str(), "operator[]" | "at");
                let element = cpp::element_of(p);
                at && is_sequence(of) || element.is_some_and(|(f, e)| is_own(e, Own::Object(f)))
            })
        }
        CXCursor_UnaryOperator => {
            let of_this = base.is_some_and(|b| peeled(b).kind() == CXCursor_CXXThisExpr);
            of_this && own.has_object() && matches!(operator::unary(p), Ok(Unary::Deref))
        }
        _ => false,
    }
}

/// Whether a variable is what a `for` calls the elements of something that is the function's own: `for (auto &v : own)`.
fn refers_to_own_elements<'u>(d: Cursor<'u>, own: Own<'u>) -> bool {
    let is_reference = d.ty().canonical().kind() == CXType_LValueReference;
    let Some(function) = own.function().filter(|_| is_reference) else {
        return false;
    };
    let mut loops = vec![];
    function.contains(&mut |c| {
        if c.kind() == CXCursor_CXXForRangeStmt && c.children().contains(&d) {
            loops.push(c);
        }
        false
    });
    loops.iter().any(|l| {
        let parts = l.children();
        let range = parts.iter().find(|c| **c != d && is_sequence(**c));
        range.is_some_and(|range| is_own(*range, own))
    })
}

/// Whether an expression is an array, a `std::array` or a vector, whose elements are its own.
fn is_sequence(c: Cursor<'_>) -> bool {
    let held = types::of(c);
    let holds = matches!(
        held.referred(),
        Ty::Array(..) | Ty::Class(Class::Array(..) | Class::Vector(_))
    );
    holds && c.kind() != CXCursor_VarDecl
}

/// Whether a pointer is one to a variable of the function's own: `&v`, or an array. (A pointer that lies in such a variable may
/// point anywhere.)
fn points_to_own<'u>(pointer: Cursor<'u>, own: Own<'u>) -> bool {
    let p = unwrapped(pointer);
    let addressed =
        p.kind() == CXCursor_UnaryOperator && matches!(operator::unary(p), Ok(Unary::AddressOf));
    let target = match operands(p)[..] {
        [of] if addressed => peeled(of),
        _ => p,
    };
    let is_array = || target.ty().canonical().kind() == CXType_ConstantArray;
    let is_number = || {
        let d = target.referenced();
        let d = d.filter(|d| target.kind() == CXCursor_DeclRefExpr && own.has(*d));
        d.is_some_and(|d| d.kind() == CXCursor_VarDecl && types::of(d).as_scalar().is_some())
    };
    match addressed {
        true => is_own(target, own) || is_number(),
        false => is_array() && is_own(target, own),
    }
}

/// Notes what a function's body reads and writes of memory, and of the variables that its callers may look at, too.
pub(super) fn memory_effects<'u>(
    lower: &Lower<'u, '_>,
    c: Cursor<'u>,
    all: &mut Effects<'u>,
    own: Own<'u>,
) {
    // Then nobody looks at anything any more.
    if ends_program(c) {
        return;
    }
    let memory = |c: Cursor<'u>| {
        if is_own(c, own) {
            return false;
        }
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
    all.writes.extend(assigned_place(c).and_then(lasting));
    if c.kind() == CXCursor_DeclRefExpr {
        all.reads.extend(lasting(c));
    }
    match c.kind() {
        // An address that is returned is one that whoever calls makes use of.
        CXCursor_ReturnStmt if let Some(of) = returned_address(c) => {
            return memory_effects(lower, of, all, own);
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
        // `a = b` of a class that has no operator of its own for it.
        CXCursor_CallExpr
            if lower.source.cpp
                && let Some([l, _]) = cpp::method::plain_assignment(c) =>
        {
            all.reads_memory = true;
            all.writes_memory |= !is_own(l, own);
        }
        CXCursor_CallExpr if lower.source.cpp && cpp::effect_of(c).1 != cpp::Effect::Unknown => {
            all.reads_memory = true;
            all.writes_memory |= cpp::effect_of(c).1 == cpp::Effect::Writes;
        }
        // `memcpy(&v, p, sizeof v)`: nobody keeps the address.
        CXCursor_CallExpr
            if memory::copies(c)
                && let [to, from, bytes] = c.arguments()[..]
                && points_to_own(to, own) =>
        {
            all.reads_memory = true;
            // From an address it just reads.
            let from = unwrapped(from);
            let read = match operator::unary(from) {
                Ok(Unary::AddressOf) if from.kind() == CXCursor_UnaryOperator => operands(from),
                _ => vec![from],
            };
            for c in read {
                memory_effects(lower, c, all, own);
            }
            return memory_effects(lower, bytes, all, own);
        }
        CXCursor_CallExpr => match call::inlined_body(lower, c) {
            Some(body) => {
                let object = cpp::method_object(c);
                let inner = match (Own::of(c), object) {
                    (Own::Variables(f), Some(o)) if is_own(o, own) => Own::Object(f),
                    (inner, _) => inner,
                };
                // What it does is the same from wherever it is called.
                if all.entered.insert((body, inner.has_object())) {
                    memory_effects(lower, body, all, inner);
                }
            }
            None if call::writes_memory(c) => {
                (all.reads_memory, all.writes_memory) = (true, true);
            }
            None => {}
        },
        _ => {}
    }
    for child in c.children() {
        memory_effects(lower, child, all, own);
    }
    if c.kind() == CXCursor_CallExpr && lower.source.cpp {
        for (_, default) in cpp::default_arguments(c) {
            if all.entered.insert((default, false)) {
                memory_effects(lower, default, all, Own::Nothing);
            }
        }
    }
}
