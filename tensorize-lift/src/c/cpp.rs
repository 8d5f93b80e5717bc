//! C++: what a kernel may use of the standard library, by its meaning and not by its source.
//!
//! A vector, a span or a `std::array` is a sequence of elements ([`seq`]); an iterator is a pointer; an
//! algorithm is the loop that the standard describes. Functions, templates' instances and lambdas are inlined.

mod algorithm;
mod argument;
mod assigned;
mod between;
mod call;
mod captures;
pub(super) mod changes;
mod checked;
pub(super) mod class;
pub mod complex;
mod copies;
mod described;
mod effect;
mod exchanged;
mod find;
mod instances;
mod iterator;
mod keeping;
pub(super) mod lambda;
mod late_rows;
mod made;
mod member;
pub(super) mod method;
mod moved_from;
mod moving;
pub mod optional;
mod params;
mod pointed;
mod range_for;
mod ranges;
mod reference;
mod rows;
mod running;
mod scan;
pub(super) mod seq;
mod structs;
mod tables;
pub mod tuple;
mod vector;
mod walk;

pub(super) use described::{Described, describe};
pub(super) use effect::{
    Effect, by_reference, counted_member, default_arguments, effect_of, goes_over_elements,
    is_plain_function, method_object,
};
pub(super) use instances::{Instances, definitions, unique_names};
pub(super) use iterator::{ends_of_ranges, iterator_from};
pub(super) use pointed::points_to_one;
pub(super) use reference::{element_of, is_element, is_pointer_into};
pub(super) use walk::not_walked;

use super::Span;
use super::ffi::Cursor;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use tensorize_ir::index::Sym;

/// What the lowering of a C++ function has to remember besides.
#[derive(Default)]
pub(super) struct State<'u> {
    /// Local vectors that stand for something else.
    roles: HashMap<Cursor<'u>, Role<'u>>,
    /// Vectors whose length may change after their declaration.
    grown: HashSet<Cursor<'u>>,
    /// Those of them that are not only replaced by one of the same length.
    to_any_length: HashSet<Cursor<'u>>,
    /// The arrays of vectors that have changed places, or of which one was moved to the other.
    exchanged: Vec<[Sym; 2]>,
    /// Variables that are made of what `std::minmax_element` finds.
    pairs: HashMap<Cursor<'u>, [super::place::Pointer; 2]>,
    /// Names that are assigned once.
    pub fixed: HashSet<Sym>,
    /// The lambdas that are being called, with the variables of which they have copies.
    copied_now: Vec<(Cursor<'u>, Cursor<'u>)>,
    /// Arrays that must not be written, because a copy of them is not made.
    copies: Vec<(Sym, String, Option<Span>)>,
    /// The arrays of vectors that are passed by value, without a copy of the function's own.
    lent: Vec<(Sym, Cursor<'u>)>,
    /// The vectors passed by value of which the function has such a copy.
    own: HashSet<Cursor<'u>>,
    /// What is stored when the kernel ends: the sizes of vectors.
    at_exit: Vec<params::Resized>,
    /// Vectors of vectors that can grow.
    tables: Vec<seq::Rows>,
    /// Those whose rows get their length later.
    late: Vec<late_rows::Late<'u>>,
    /// Elements of vectors whose length the function sets are reached by number, or taken away.
    pub reaches_into_growing: bool,
}

impl<'u> State<'u> {
    /// With copies of these parameters.
    pub fn with_own(own: HashSet<Cursor<'u>>) -> Self {
        State {
            own,
            ..State::default()
        }
    }

    /// Whether this variable is what the function returns.
    pub fn is_result(&self, d: Cursor<'u>) -> bool {
        self.roles.get(&d) == Some(&Role::Result)
    }
}

/// What a local vector stands for.
#[derive(Clone, Copy, PartialEq)]
enum Role<'u> {
    /// It is returned.
    Result,
    /// It becomes a row of this vector of vectors.
    RowOf(Cursor<'u>),
}

/// Whether a file is C++, by its name or by what the compiler is told.
pub(super) fn is_cpp(file: &Path, args: &[String]) -> bool {
    let language = args.iter().enumerate().rev().find_map(|(i, a)| {
        let l = a.strip_prefix("-x")?;
        Some(if l.is_empty() {
            args.get(i + 1)?.clone()
        } else {
            l.to_string()
        })
    });
    match language {
        Some(l) => l == "c++",
        None => file.extension().is_some_and(|e| {
            matches!(
                e.to_string_lossy().as_ref(),
                "cpp" | "cc" | "cxx" | "c++" | "C" | "CPP" | "cp"
            )
        }),
    }
}

/// What libclang has to be told for C++.
pub(super) fn language_args(args: &[String]) -> Vec<String> {
    let mut more = Vec::new();
    if !args
        .iter()
        .any(|a| a.starts_with("-std=") || a.starts_with("--std="))
    {
        more.push("-std=c++20".to_string());
    }
    more
}
