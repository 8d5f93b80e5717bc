//! Functions that do nothing but return a reference to an element, as views and images of the file's own have them:
//! `T &operator()(int x, int y) { return data[y * stride + x]; }`. Their calls name a place.

use super::super::call;
use super::super::ffi::Cursor;
use super::super::lower::{Frame, Lower, Result, operands, peeled};
use super::super::operator::{self, Unary};
use super::super::place::Place;
use super::super::types::{self, Ty};
use super::class::in_std;
use super::effect::{Effect, effect_of};
use super::method;
use clang_sys::*;

/// Such functions within such functions.
const MAX_DEPTH: usize = 4;

/// Whether a call names an element, and changes nothing.
pub(in super::super) fn is_element(call: Cursor<'_>) -> bool {
    returned_element(call, 0).is_some()
}

/// The function, and the expression that names the element it returns a reference to.
fn returned_element<'u>(call: Cursor<'u>, depth: usize) -> Option<(Cursor<'u>, Cursor<'u>)> {
    let callee = call.referenced().filter(|f| !in_std(*f))?;
    let definition = call::helper(callee)?;
    let Ty::Reference(result) = types::read(definition.ty().result()) else {
        return None;
    };
    result.as_scalar().filter(|_| depth < MAX_DEPTH)?;
    let [statement] = super::super::source::body(definition)?.children()[..] else {
        return None;
    };
    let [value] = operands(statement)[..] else {
        return None;
    };
    let element = peeled(value);
    // A member that is a number may be a copy of the caller's; elements of arrays are the caller's own.
    let is_element = match element.kind() {
        CXCursor_ArraySubscriptExpr => true,
        CXCursor_UnaryOperator => matches!(operator::unary(element), Ok(Unary::Deref)),
        CXCursor_CallExpr => true,
        _ => false,
    };
    let plain = statement.kind() == CXCursor_ReturnStmt
        && is_element
        && types::of(element).referred() == *result
        && changes_nothing(element, depth);
    plain.then_some((definition, element))
}

fn changes_nothing(c: Cursor<'_>, depth: usize) -> bool {
    let here = match c.kind() {
        CXCursor_CallExpr => {
            effect_of(c).1 == Effect::Reads && c.referenced().is_some_and(in_std)
                || returned_element(c, depth + 1).is_some()
        }
        CXCursor_CompoundAssignOperator | CXCursor_LambdaExpr => false,
        CXCursor_BinaryOperator => {
            matches!(operator::binary(c), Ok(b) if b != operator::Binary::Assign)
        }
        CXCursor_UnaryOperator => {
            matches!(operator::unary(c), Ok(u) if !matches!(u, Unary::Step { .. } | Unary::AddressOf))
        }
        _ => true,
    };
    here && c.children().into_iter().all(|c| changes_nothing(c, depth))
}

impl<'u> Lower<'u, '_> {
    /// The place that a call of such a function names; `None` if it is another call.
    pub fn returned_place(&mut self, c: Cursor<'u>) -> Result<Option<Place>> {
        let Some((definition, element)) = returned_element(c, 0) else {
            return Ok(None);
        };
        let (this, arguments) = match method::is_method(definition) {
            true => {
                let (object, arguments) = method::receiver(c, definition);
                (Some(self.called_on(object, c)?), arguments)
            }
            false => (None, c.arguments()),
        };
        let values = self.given_arguments(definition, arguments)?;
        let known: std::collections::HashSet<_> = self.pointers.keys().copied().collect();
        self.bind_parameters(c, definition, values)?;
        self.frames.push(Frame {
            function: definition,
            result: Some(None),
            ret: None,
            this,
            dest: None,
            members: None,
            vector: None,
        });
        let place = self.place(element).and_then(|p| self.settled_place(p));
        self.frames.pop();
        self.pointers.retain(|d, _| known.contains(d));
        place.map(Some)
    }
}
