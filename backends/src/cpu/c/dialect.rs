//! Languages like C that code is printed in, and what each has different.

/// A language like C.
#[derive(Debug, PartialEq, Eq)]
pub struct Dialect {
    /// What stands before a function that only this file calls.
    pub function: &'static str,
    /// Whether functions of the mathematical library have an `f` at their end for `float`; if not, one name is for all types.
    pub suffixes: bool,
    /// What stands before the type of what a parameter points to.
    pub space: &'static str,
    /// The word for a pointer that overlaps with no other.
    pub restrict: &'static str,
    /// Whether the compiler is told that signed overflow wraps. If not, unsigned numbers compute what may overflow.
    pub wraps: bool,
    /// Whether there is `memcpy`; if not, a union gives the bits of a value.
    pub memcpy: bool,
    /// Whether loops are for all cores and vector units by OpenMP.
    pub openmp: bool,
    /// What a variable must not be called, besides C's words.
    pub words: &'static [&'static str],
}

/// C11, compiled with [`super::super::CFLAGS`].
pub static C: Dialect = Dialect {
    function: "static inline ",
    suffixes: true,
    space: "",
    restrict: "restrict ",
    wraps: true,
    memcpy: true,
    openmp: true,
    words: &[],
};
