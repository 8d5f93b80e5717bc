//! What the declaration of a member says of its first value: `float x = 1;`, `int n{};`.

use super::element;
use crate::c::codes;
use crate::c::cpp::class::{in_std, is_plain};
use crate::c::effects::is_pure;
use crate::c::ffi::{Constant, Cursor, Type};
use crate::c::lower::{Result, operands, problem};
use clang_sys::*;

/// What a member's own declaration gives it.
pub(in crate::c) enum First<'u> {
    Nothing,
    /// `{}`
    Zero,
    Value(Cursor<'u>),
}

/// Reads the declaration. The numbers in a type (`float m[16]`, `std::array<float, 4> m`) are expressions in it, too.
pub(in crate::c) fn first_value(field: Cursor<'_>) -> Result<First<'_>> {
    let unsupported = || {
        let message = format!("the first value of '{}' is not known", field.spelling());
        problem(codes::INITIALIZER, message, field)
    };
    let tokens = field.tokens();
    // Its type, and what it is given, may have the same word in them.
    let named =
        |t: &(bool, String, usize)| t.1 == field.spelling() && Some(t.2) == field.name_offset();
    let name = tokens.iter().position(named);
    let after = tokens[name.ok_or_else(unsupported)? + 1..].iter();
    let after: Vec<&str> = after.map(|t| t.1.as_str()).collect();
    match without_lengths(&after) {
        [] => return Ok(First::Nothing),
        ["{", "}"] | ["=", "{", "}"] => return Ok(First::Zero),
        ["=" | "{", ..] => {}
        // A macro may stand for anything.
        _ => return Err(unsupported()),
    }
    let value = operands(field).last().copied();
    // An instance of a template may have none so far.
    value.map(First::Value).ok_or_else(unsupported)
}

/// What follows the lengths of an array, `[4][n]`.
fn without_lengths<'a, 'b>(tokens: &'a [&'b str]) -> &'a [&'b str] {
    let mut depth = 0;
    let end = tokens.iter().position(|t| {
        match *t {
            "[" => depth += 1,
            "]" => depth -= 1,
            _ => return depth == 0,
        }
        false
    });
    &tokens[end.unwrap_or(tokens.len())..]
}

/// Whether what is made without a word is all zeros.
pub(in crate::c) fn is_zero_at_first(t: Type<'_>) -> bool {
    let t = t.canonical();
    match t.kind() {
        CXType_ConstantArray => return is_zero_at_first(t.array_element()),
        CXType_Record => {}
        _ => return true,
    }
    let class = t.declaration();
    let class = class.definition().unwrap_or(class);
    if in_std(class) && !is_plain(class) {
        let element = t.template_arguments().into_iter().next().flatten();
        return element.is_none_or(is_zero_at_first);
    }
    !is_constructed(class)
        && element::members(class).iter().all(|f| {
            is_zero_at_first(f.ty())
                && (is_plain(class)
                    || match first_value(*f) {
                        Ok(First::Nothing | First::Zero) => true,
                        Ok(First::Value(e)) => is_zero(e),
                        Err(_) => false,
                    })
        })
}

/// Whether an expression is a number of which all bits are zero.
fn is_zero(e: Cursor<'_>) -> bool {
    is_pure(e)
        && match e.evaluate() {
            Some(Constant::Int(v)) => v == 0,
            Some(Constant::Float(v)) => v.to_bits() == 0,
            _ => false,
        }
}

/// Whether a class says by constructors of its own how an object is made.
pub(in crate::c) fn is_constructed(class: Cursor<'_>) -> bool {
    let own = |c: &Cursor<'_>| c.kind() == CXCursor_Constructor && !c.is_defaulted();
    !is_plain(class) && element::written(class).iter().any(own)
}

/// Whether an expression names a member of the object that it is to initialise.
pub(in crate::c) fn names_a_member(e: Cursor<'_>) -> bool {
    e.kind() == CXCursor_CXXThisExpr
        || e.kind() == CXCursor_MemberRefExpr && operands(e).is_empty()
        || e.children().into_iter().any(names_a_member)
}
