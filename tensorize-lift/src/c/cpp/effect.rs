//! What a call into the library reads and writes, seen from its text alone.

use super::super::ffi::Cursor;
use super::super::lower::{operands, peeled};
use super::super::types::{self, Ty};
use super::call::Call;
use super::class::in_std;
use super::keeping::is_up_to_the_end;
use super::ranges::ranged;
use super::scan::object;
use clang_sys::*;

/// What a call does besides evaluating its operands.
#[derive(PartialEq)]
pub(in super::super) enum Effect {
    Reads,
    Writes,
    /// An iterator moves.
    Moves,
    /// It is not one of the library's.
    Unknown,
}

/// The operands of a call, and what it does to memory.
pub(in super::super) fn effect_of<'u>(c: Cursor<'u>) -> (Vec<Cursor<'u>>, Effect) {
    let mut given: Vec<_> = object(c).into_iter().chain(c.arguments()).collect();
    if ranged(c).is_some() {
        // The function itself, which is an object there.
        given.remove(0);
    }
    let defaults = default_arguments(c);
    for operand in &mut given {
        let default = defaults.iter().find(|(left_out, _)| left_out == operand);
        *operand = default.map_or(*operand, |(_, default)| *default);
    }
    // Where a vector ends, moving its elements does not change.
    if Call::of(c).is_some_and(|call| call.name == "erase" && is_up_to_the_end(&call)) {
        given.pop();
    }
    let constructs = c
        .referenced()
        .is_some_and(|r| r.kind() == CXCursor_Constructor);
    let effect = match Call::of(c) {
        None if constructs => Effect::Reads,
        None => Effect::Unknown,
        Some(call) if moves(&call) => Effect::Moves,
        Some(call) if super::member::changes(&call.name) || super::complex::sets_part(&call) => {
            Effect::Writes
        }
        Some(call) if call.name.starts_with("operator") => Effect::Reads,
        Some(call) => {
            let distance = matches!(
                call.name.as_str(),
                "next" | "prev" | "distance" | "make_reverse_iterator"
            );
            match call.is_algorithm() && !distance && super::algorithm::writes(&call.name) {
                true => Effect::Writes,
                false => Effect::Reads,
            }
        }
    };
    (given, effect)
}

/// Whether a call changes an iterator and nothing else. `std::fill` has the name of a member function that changes its object,
/// and gets iterators, too.
fn moves(call: &Call<'_>) -> bool {
    let of_iterator = |a: &Cursor<'_>| matches!(types::of(*a).referred(), Ty::Pointer(_));
    let changes = call.name == "advance" || super::member::changes(&call.name);
    let on_iterator = !call.points && call.args.first().is_some_and(of_iterator);
    changes && call.name != "fill" && on_iterator
}

/// Whether a call leaves this argument to its default.
pub(super) fn is_left_out(a: Cursor<'_>) -> bool {
    a.kind() == CXCursor_UnexposedExpr && operands(a).is_empty()
}

/// The arguments that a call of a function of the user's leaves out, with what stands for them where it is declared.
pub(in super::super) fn default_arguments<'u>(c: Cursor<'u>) -> Vec<(Cursor<'u>, Cursor<'u>)> {
    let Some(callee) = c.referenced().filter(|f| !in_std(*f)) else {
        return vec![];
    };
    let given = c.arguments().into_iter().zip(callee.arguments());
    let left_out = |(a, p): (Cursor<'u>, Cursor<'u>)| {
        let default = operands(p).last().copied().filter(|_| is_left_out(a))?;
        Some((a, default))
    };
    given.filter_map(left_out).collect()
}

/// Whether a call into the library does something with many elements, so that what is counted beside it can't wait.
pub(in super::super) fn goes_over_elements(c: Cursor<'_>) -> bool {
    let members = [
        "append", "assign", "erase", "fill", "insert", "resize", "swap",
    ];
    Call::of(c).is_some_and(|call| call.is_algorithm() || members.contains(&call.name.as_str()))
}

/// The object of which a method is called, and not a function object: what that has captured by reference may change.
pub(in super::super) fn method_object(c: Cursor<'_>) -> Option<Cursor<'_>> {
    let callee = c.referenced()?;
    let is_method = callee.kind() == CXCursor_CXXMethod && callee.spelling() != "operator()";
    object(c)
        .or_else(|| c.arguments().first().copied())
        .filter(|_| is_method && !callee.is_static_method())
}

/// The member of an object, and its declaration, whose elements a call counts: `ring_.size()`.
pub(in super::super) fn counted_member(c: Cursor<'_>) -> Option<(Cursor<'_>, Cursor<'_>)> {
    let call = Call::of(c)?;
    let counts = matches!(call.name.as_str(), "size" | "ssize" | "empty");
    let of = peeled(*call.args.first().filter(|_| counts)?);
    let is_member = of.kind() == CXCursor_MemberRefExpr;
    let field = of.referenced().filter(|_| is_member)?;
    (field.kind() == CXCursor_FieldDecl).then_some((of, field))
}

/// The variables that a call gets by reference.
pub(in super::super) fn by_reference<'u>(c: Cursor<'u>) -> Vec<Cursor<'u>> {
    // By value, a cast that reads it stands around a variable; by const reference, one that adds `const` where it isn't.
    object(c)
        .into_iter()
        .chain(c.arguments())
        .filter(|a| a.kind() == CXCursor_DeclRefExpr && !a.ty().is_const())
        .filter_map(|a| a.referenced())
        .collect()
}

/// A function that is called without an object: a static member, or a lambda's operator.
pub(in super::super) fn is_plain_function(f: Cursor<'_>) -> bool {
    f.kind() == CXCursor_CXXMethod && f.is_static_method()
}
