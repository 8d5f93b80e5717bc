//! Functions that do nothing but return a reference to an element, as views and images of the file's own have them:
//! `T &operator()(int x, int y) { return data[y * stride + x]; }`. Their calls name a place. So do those that return a
//! pointer into an array, or a view of some of its elements: `T *row(int y) { return data + y * stride; }`. Before that they
//! may look at their arguments (`assert(y < rows)`, `if (y >= rows) throw …;`) and compute with numbers of their own.

use super::super::call;
use super::super::ffi::Cursor;
use super::super::flatten::{Path, is_struct};
use super::super::jump::ends_program;
use super::super::lower::{Frame, Lower, Result, is_expression, operands, peeled};
use super::super::operator::{self, Unary};
use super::super::place::{Place, Pointer};
use super::super::types::{self, Ty};
use super::class::{Class, in_std};
use super::effect::{Effect, effect_of};
use super::method;
use super::seq::Seq;
use clang_sys::*;

/// Such functions within such functions.
const MAX_DEPTH: usize = 4;

/// Whether a call names an element, and changes nothing.
pub(in super::super) fn is_element(call: Cursor<'_>) -> bool {
    returned_element(call, 0).is_some()
}

/// Whether a call gives a pointer into an array, and changes nothing.
pub(in super::super) fn is_pointer_into(call: Cursor<'_>) -> bool {
    returned_pointer(call, 0).is_some()
}

/// The function that such a call calls, and the expression in it that names the element.
pub(in super::super) fn element_of<'u>(call: Cursor<'u>) -> Option<(Cursor<'u>, Cursor<'u>)> {
    returned_element(call, 0).map(|r| (r.function, r.value))
}

/// What a call of a function does, and what it gives.
struct Returned<'u> {
    function: Cursor<'u>,
    /// What is done first, with numbers of the function's own.
    before: Vec<Cursor<'u>>,
    /// The one expression that it returns.
    value: Cursor<'u>,
}

/// A function that is called, which is not one of the library, and its body.
fn body_of(call: Cursor<'_>, depth: usize) -> Option<(Cursor<'_>, Cursor<'_>)> {
    let callee = call.referenced().filter(|f| !in_std(*f))?;
    let function = call::helper(callee).filter(|_| depth < MAX_DEPTH)?;
    Some((function, super::super::source::body(function)?))
}

/// What a call gives, if it changes nothing.
fn returned(call: Cursor<'_>, depth: usize) -> Option<Returned<'_>> {
    let (function, body) = body_of(call, depth)?;
    let mut before = body.children();
    let statement = before.pop()?;
    let [value] = operands(statement)[..] else {
        return None;
    };
    let plain = statement.kind() == CXCursor_ReturnStmt
        && changes_nothing(value, depth)
        && before.iter().all(|s| stays_inside(*s, function, depth));
    plain.then_some(Returned {
        function,
        before,
        value,
    })
}

/// Whether a statement changes nothing but numbers of the function's own, or ends the program.
fn stays_inside<'u>(s: Cursor<'u>, function: Cursor<'u>, depth: usize) -> bool {
    let is_number = |c: Cursor<'_>| types::of(c).as_scalar().is_some();
    let is_own = |place: Cursor<'u>| {
        let d = place.referenced().filter(|_| is_number(place));
        let d = d.filter(|d| place.kind() == CXCursor_DeclRefExpr && !d.is_static());
        d.is_some_and(|d| is_number(d) && function.contains(&mut |c| c == d))
    };
    match s.kind() {
        CXCursor_NullStmt => true,
        _ if ends_program(s) => true,
        CXCursor_CompoundStmt | CXCursor_IfStmt => {
            let parts = operands(s);
            let (conditions, statements) = parts.split_at(usize::from(s.kind() == CXCursor_IfStmt));
            conditions.iter().all(|c| changes_nothing(*c, depth))
                && statements.iter().all(|s| stays_inside(*s, function, depth))
        }
        CXCursor_DeclStmt => s.children().into_iter().all(|d| {
            let first = d.initializer();
            let plain = d.kind() == CXCursor_VarDecl && !d.is_static() && is_number(d);
            plain && first.is_some_and(|e| changes_nothing(e, depth))
        }),
        CXCursor_BinaryOperator | CXCursor_CompoundAssignOperator => match operands(s)[..] {
            [place, value] => is_own(place) && changes_nothing(value, depth),
            _ => false,
        },
        // `check(x, y);`
        CXCursor_CallExpr if let Some((called, body)) = body_of(s, depth + 1) => {
            let (operands, statements) = (s.children(), body.children());
            operands.into_iter().all(|o| changes_nothing(o, depth))
                && (statements.into_iter()).all(|s| stays_inside(s, called, depth + 1))
        }
        // `assert(y < rows)`, also one that is left out.
        _ => is_expression(s.kind()) && changes_nothing(s, depth),
    }
}

/// The function, and the expression that names the element, the struct or the object of the library that it returns a
/// reference to.
fn returned_element(call: Cursor<'_>, depth: usize) -> Option<Returned<'_>> {
    let result = types::read(call.referenced()?.ty().result());
    let Ty::Reference(result) = result else {
        return None;
    };
    let is_object = is_object(&result);
    (is_object || result.as_scalar().is_some() || result.is_record()).then_some(())?;
    let returned = returned(call, depth)?;
    let element = peeled(returned.value);
    // A member that is a number may be a copy of the caller's; elements of arrays are the caller's own.
    let is_element = match element.kind() {
        CXCursor_ArraySubscriptExpr | CXCursor_CallExpr => true,
        CXCursor_UnaryOperator => matches!(operator::unary(element), Ok(Unary::Deref)),
        CXCursor_MemberRefExpr => is_object,
        _ => false,
    };
    let value = element;
    (is_element && types::of(element).referred() == *result)
        .then_some(Returned { value, ..returned })
}

/// The function, and the pointer that it returns.
fn returned_pointer(call: Cursor<'_>, depth: usize) -> Option<Returned<'_>> {
    let result = types::read(call.referenced()?.ty().result());
    matches!(result, Ty::Pointer(_)).then_some(())?;
    returned(call, depth)
}

/// The function, and the view of elements that it returns.
fn returned_view(call: Cursor<'_>, depth: usize) -> Option<Returned<'_>> {
    let result = types::read(call.referenced()?.ty().result());
    matches!(result, Ty::Class(Class::Span(..) | Class::TextView(_))).then_some(())?;
    returned(call, depth)
}

/// Whether a type is one of the library whose elements lie side by side.
fn is_object(t: &Ty) -> bool {
    matches!(t, Ty::Class(class) if class.is_sequence())
}

fn changes_nothing(c: Cursor<'_>, depth: usize) -> bool {
    let here = match c.kind() {
        CXCursor_CallExpr => {
            effect_of(c).1 == Effect::Reads && c.referenced().is_some_and(in_std)
                || returned(c, depth + 1).is_some()
                || ends_program(c)
        }
        CXCursor_CompoundAssignOperator | CXCursor_LambdaExpr => false,
        CXCursor_BinaryOperator => {
            matches!(operator::binary(c), Ok(b) if b != operator::Binary::Assign)
        }
        CXCursor_UnaryOperator => {
            matches!(operator::unary(c), Ok(u) if !matches!(u, Unary::Step { .. }))
        }
        _ => true,
    };
    here && c.children().into_iter().all(|c| changes_nothing(c, depth))
}

impl<'u> Lower<'u, '_> {
    /// The place that a call of such a function names; `None` if it is another call.
    pub fn returned_place(&mut self, c: Cursor<'u>) -> Result<Option<Place>> {
        let Some(returned) = returned_element(c, 0) else {
            return Ok(None);
        };
        let place = |s: &mut Self, e| s.place(e).and_then(|p| s.settled_place(p));
        self.within(c, returned, place).map(Some)
    }

    /// The object that a call of a function gives a reference to which is a member, and does nothing else; `None` if it is
    /// another call.
    pub fn returned_record(&mut self, c: Cursor<'u>) -> Result<Option<Path<'u>>> {
        let by_reference = (c.referenced())
            .is_some_and(|f| f.ty().result().canonical().kind() == CXType_LValueReference);
        let Some(mut returned) = returned(c, 0).filter(|_| by_reference) else {
            return Ok(None);
        };
        let value = peeled(returned.value);
        if value.kind() != CXCursor_MemberRefExpr || !is_struct(value.ty()) {
            return Ok(None);
        }
        returned.value = value;
        self.within(c, returned, Self::record).map(Some)
    }

    /// Where the pointer points that a call of a function gives which does nothing but return it; `None` if it is
    /// another call.
    pub fn returned_pointer(&mut self, c: Cursor<'u>) -> Result<Option<Pointer>> {
        let Some(returned) = returned_pointer(c, 0) else {
            return Ok(None);
        };
        let pointer = |s: &mut Self, e| s.pointer(e).and_then(|p| s.settled_pointer(p));
        self.within(c, returned, pointer).map(Some)
    }

    /// The elements that a call of a function gives a view of which does nothing else; `None` if it is another call.
    pub fn returned_view(&mut self, c: Cursor<'u>) -> Result<Option<Seq>> {
        let Some(returned) = returned_view(c, 0) else {
            return Ok(None);
        };
        let view = |s: &mut Self, e| s.seq(e).and_then(|v| s.settled_seq(v));
        self.within(c, returned, view).map(Some)
    }

    /// Evaluates what a function returns, for this call of it.
    fn within<T>(
        &mut self,
        c: Cursor<'u>,
        returned: Returned<'u>,
        value: impl FnOnce(&mut Self, Cursor<'u>) -> Result<T>,
    ) -> Result<T> {
        let definition = returned.function;
        let (this, arguments) = match method::is_method(definition) {
            true => {
                let (object, arguments) = method::receiver(c, definition);
                (Some(self.called_on(object, c)?), arguments)
            }
            false => (None, c.arguments()),
        };
        let values = self.given_arguments(definition, arguments)?;
        let known = self.known_pointers();
        self.bind_parameters(c, definition, values)?;
        let value = self.in_frame(definition, this, |s| {
            let postpone = std::mem::replace(&mut s.postpone, false);
            let done = s.list(&returned.before);
            s.postpone = postpone;
            done.and_then(|_| value(s, returned.value))
        });
        self.forget_pointers(&known);
        value
    }

    /// Evaluates something as in a function that is called on this object.
    pub fn in_frame<T>(
        &mut self,
        function: Cursor<'u>,
        this: Option<method::This<'u>>,
        value: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.frames.push(Frame {
            function,
            result: Some(None),
            ret: None,
            this,
            dest: None,
            members: None,
            object: None,
            vector: None,
            returns_parameter: false,
        });
        let value = value(self);
        self.frames.pop();
        value
    }
}
