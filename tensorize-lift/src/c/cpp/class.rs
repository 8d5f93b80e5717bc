//! Classes of the standard library that have a meaning here.

use super::super::codes;
use super::super::ffi::{Cursor, Type};
use super::super::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::scalar::ScalarType;

/// A class of the standard library, or a lambda.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) enum Class {
    Vector(Box<Ty>),
    /// The number of elements where the type says it.
    Span(Box<Ty>, Option<u64>),
    Array(Box<Ty>, u64),
    /// A `std::basic_string`, whose length stays what it is.
    Text(Box<Ty>),
    /// A `std::basic_string_view`.
    TextView(Box<Ty>),
    /// `std::initializer_list`
    List(Box<Ty>),
    /// An iterator that appends: of `std::back_inserter`.
    Appender,
    /// A reverse iterator over elements that lie side by side.
    Reverse,
    Lambda,
    /// A function object of `<functional>`: of `std::plus<>`, which takes what it is given, or of
    /// `std::plus<int>`, which converts to that type first.
    Functor(String, Option<ScalarType>),
    Allocator,
}

impl Class {
    /// Whether its elements lie side by side.
    pub fn is_sequence(&self) -> bool {
        matches!(
            self,
            Class::Vector(_)
                | Class::Span(..)
                | Class::Array(..)
                | Class::Text(_)
                | Class::TextView(_)
        )
    }

    /// Whether it is a string, or a view of one.
    pub fn is_text(&self) -> bool {
        matches!(self, Class::Text(_) | Class::TextView(_))
    }
}

/// The namespaces and classes around a declaration, innermost first.
fn parents<'u>(d: Cursor<'u>) -> Vec<Cursor<'u>> {
    let mut all = Vec::new();
    let mut at = d.semantic_parent();
    while let Some(p) = at {
        if !matches!(
            p.kind(),
            CXCursor_Namespace | CXCursor_ClassDecl | CXCursor_StructDecl | CXCursor_ClassTemplate
        ) {
            break;
        }
        all.push(p);
        at = p.semantic_parent();
    }
    all
}

/// Whether a declaration belongs to the standard library (or to the parts that g++'s is made of).
pub(in super::super) fn in_std(d: Cursor<'_>) -> bool {
    parents(d).last().is_some_and(|p| {
        p.kind() == CXCursor_Namespace && matches!(p.spelling().as_str(), "std" | "__gnu_cxx")
    })
}

/// Whether a class is `std::pair`, a struct like others.
pub(in super::super) fn is_pair(d: Cursor<'_>) -> bool {
    d.spelling() == "pair" && in_std(d)
}

/// Whether a class of the library is a struct like others: a `std::pair`, or a complex number.
pub(in super::super) fn is_plain(d: Cursor<'_>) -> bool {
    is_pair(d) || super::complex::is_complex(d)
}

/// The names of the scopes around a declaration, outermost first.
pub(in super::super) fn scopes(d: Cursor<'_>) -> Vec<String> {
    let mut names: Vec<String> = parents(d).iter().map(|p| p.spelling()).collect();
    names.reverse();
    names
}

/// The class of this canonical type.
pub(in super::super) fn of(t: Type<'_>) -> Option<Ty> {
    let d = t.declaration();
    let name = d.spelling();
    if t.spelling().contains("(lambda at ") {
        return Some(Ty::Class(Class::Lambda));
    }
    if !in_std(d) {
        return None;
    }
    let arguments = t.template_arguments();
    let argument = |i: usize| arguments.get(i).copied().flatten();
    let element = || argument(0).map(|t| Box::new(types::read(t)));
    let class = match name.as_str() {
        "vector" => {
            let element = element()?;
            // It says what elements hold that nobody gave a value.
            if is_own(argument(1), "allocator") {
                let what = "std::vector with an allocator of its own".to_string();
                return Some(Ty::Other(codes::TYPE, what));
            }
            if *element == Ty::Scalar(ScalarType::I1) {
                let what = "std::vector<bool>, whose elements are bits,".to_string();
                return Some(Ty::Other(codes::TYPE, what));
            }
            Class::Vector(element)
        }
        "basic_string" if is_own(argument(2), "allocator") => return None,
        // Its own traits may compare characters in their own way.
        "basic_string" | "basic_string_view" if is_own(argument(1), "char_traits") => return None,
        "basic_string" | "basic_string_view" => match *element()? {
            Ty::Scalar(ty) if name == "basic_string" => Class::Text(Box::new(Ty::Scalar(ty))),
            Ty::Scalar(ty) => Class::TextView(Box::new(Ty::Scalar(ty))),
            _ => return None,
        },
        "span" => {
            let extent = last_number(&t.spelling()).filter(|&n| n != u64::MAX);
            Class::Span(element()?, extent)
        }
        "array" => Class::Array(element()?, last_number(&t.spelling())?),
        "initializer_list" => Class::List(element()?),
        // Iterators over contiguous elements are pointers.
        "__normal_iterator" | "__wrap_iter" => return Some(types::read(argument(0)?)),
        // A pointer, by whose end nothing happens to numbers but that they are gone.
        "unique_ptr" if !is_own(argument(1), "default_delete") => {
            let elements = argument(0)?.canonical();
            match (elements.kind(), types::read(elements.array_element())) {
                (CXType_IncompleteArray, element @ Ty::Scalar(_)) => {
                    return Some(Ty::Pointer(Box::new(element)));
                }
                _ => return None,
            }
        }
        "back_insert_iterator" => Class::Appender,
        "reverse_iterator" => match types::read(argument(0)?) {
            Ty::Pointer(_) => Class::Reverse,
            _ => return None,
        },
        "allocator" => Class::Allocator,
        "plus" | "minus" | "multiplies" | "divides" | "modulus" | "negate" | "less"
        | "less_equal" | "greater" | "greater_equal" | "equal_to" | "not_equal_to"
        | "logical_and" | "logical_or" | "logical_not" | "bit_and" | "bit_or" | "bit_xor"
        | "bit_not" => match argument(0).map(types::read) {
            Some(Ty::Scalar(ty)) => Class::Functor(name, Some(ty)),
            Some(Ty::Void) => Class::Functor(name, None),
            // `std::ranges::less`
            None if scopes(d).iter().any(|s| s == "ranges") => Class::Functor(name, None),
            _ => return None,
        },
        _ => return None,
    };
    Some(Ty::Class(class))
}

/// Whether a type is a `std::unique_ptr` to an array.
pub(in super::super) fn is_owner(t: Type<'_>) -> bool {
    let t = t.referred();
    let d = t.declaration();
    t.kind() == CXType_Record && d.spelling() == "unique_ptr" && in_std(d)
}

/// Whether this argument of a template's instance is another class than the library's own.
fn is_own(argument: Option<Type<'_>>, library: &str) -> bool {
    argument.is_some_and(|a| {
        let a = a.declaration();
        a.spelling() != library || !in_std(a)
    })
}

/// `5` of `std::array<float, 5>`: the last argument, if it is a number, and not one of an argument's own (a
/// `std::span<std::array<float, 4>>` has any number of elements).
fn last_number(spelling: &str) -> Option<u64> {
    let arguments = spelling.trim_end().strip_suffix('>')?;
    let mut depth = 0usize;
    let comma = arguments.char_indices().rev().find(|(_, c)| {
        match c {
            '>' | ')' => depth += 1,
            '<' | '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        *c == ',' && depth == 0
    });
    let last = &arguments[comma?.0 + 1..];
    last.trim()
        .trim_end_matches(|c: char| c.is_ascii_alphabetic())
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::last_number;

    #[test]
    fn numbers_of_templates() {
        assert_eq!(last_number("std::array<float, 5>"), Some(5));
        assert_eq!(
            last_number("std::span<const int, 18446744073709551615>"),
            Some(u64::MAX)
        );
        assert_eq!(last_number("std::vector<float>"), None);
        assert_eq!(last_number("std::span<std::array<float, 4>>"), None);
        assert_eq!(
            last_number("std::span<const std::array<const float, 4> >"),
            None
        );
        assert_eq!(
            last_number("std::array<std::array<float, 4>, 3UL>"),
            Some(3)
        );
    }
}
