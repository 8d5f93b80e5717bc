//! `std::ranges`: its algorithms are those of `std`, of which they have the meaning, and take a range where those take two
//! iterators. (They are objects of a class with `operator()`.)

use super::super::ffi::Cursor;
use super::super::lower::operands;
use super::super::types::{self, Ty};
use super::class::{Class, in_std, scopes};
use clang_sys::*;

/// How an algorithm is called: with how many arguments, where each range counts as the two iterators that it stands for.
/// What comes after them are projections.
fn takes(name: &str) -> Option<std::ops::RangeInclusive<usize>> {
    Some(match name {
        "reverse" => 2..=2,
        "max_element" | "min_element" | "minmax_element" | "is_sorted" => 2..=3,
        "fill" | "fill_n" | "generate" | "generate_n" => 3..=3,
        "copy" | "copy_n" | "copy_backward" | "reverse_copy" => 3..=3,
        "for_each" | "for_each_n" | "count" | "count_if" | "find" | "find_if" | "find_if_not" => {
            3..=3
        }
        "any_of" | "all_of" | "none_of" | "rotate" => 3..=3,
        "replace" | "replace_if" | "rotate_copy" | "swap_ranges" => 4..=4,
        "equal" => 4..=5,
        // Of one range, or of two.
        "transform" => 4..=6,
        // Of a range, or of two numbers.
        "max" | "min" => 1..=3,
        "clamp" => 3..=4,
        _ => return None,
    })
}

/// What a call of a function of `std::ranges` is one of, in `std`.
pub(super) struct Ranged<'u> {
    /// With `ranges::` in front, so that it is none of `std`'s, if it is called in a way that those are not.
    pub name: String,
    pub args: Vec<Cursor<'u>>,
    /// Whether it is called with projections.
    pub projects: bool,
}

/// `std::ranges::fill` of `std::ranges::fill(v, 0)`
pub(super) fn ranged<'u>(c: Cursor<'u>) -> Option<Ranged<'u>> {
    let callee = c.referenced()?;
    if callee.spelling() != "operator()" || !in_std(callee) {
        return None;
    }
    let given = c.arguments();
    let (object, given) = given.split_first()?;
    let object = object.referenced().filter(|d| {
        d.kind() == CXCursor_VarDecl && scopes(*d).iter().any(|s| s == "ranges") && in_std(*d)
    })?;
    let mut args = Vec::new();
    for (&a, p) in given.iter().zip(callee.arguments()) {
        if is_default(a) {
            continue;
        }
        args.push(a);
        if is_range(p) {
            args.push(a);
        }
    }
    let name = object.spelling();
    let known = takes(&name);
    let projects = known.as_ref().is_some_and(|n| args.len() > *n.end())
        || name == "transform" && args.len() == 5;
    Some(Ranged {
        name: match known {
            Some(n) if n.contains(&args.len()) && !projects => name,
            _ => format!("ranges::{name}"),
        },
        args,
        projects,
    })
}

/// An argument that the call leaves to its default.
fn is_default(a: Cursor<'_>) -> bool {
    a.kind() == CXCursor_UnexposedExpr && operands(a).is_empty()
}

/// Whether a parameter of an algorithm is for a range: a reference to what has elements.
fn is_range(p: Cursor<'_>) -> bool {
    match types::of(p) {
        Ty::Reference(t) => matches!(*t, Ty::Class(Class::List(_))) || t.is_sequence(),
        _ => false,
    }
}
