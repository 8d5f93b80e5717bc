//! Languages like C that code is printed in, and what each has different.

use crate::names::{C_WORDS, Names};
use crate::rows::Tables;

/// A language like C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// How it spells LoopIR's operators, and what small functions return where it has none.
    pub rows: Tables,
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
    pub words: &'static [&'static [&'static str]],
}

impl Dialect {
    /// The names that nothing printed may have.
    pub(crate) fn names(&self) -> Names {
        let own = self.words.iter().copied().flatten();
        Names::new(C_WORDS.iter().chain(own).copied())
    }
}

/// What languages like C have in common.
pub(crate) const ROWS: &str = include_str!("rows.txt");

/// What those have besides whose signed numbers may not overflow.
pub(crate) const CAREFUL: &str = include_str!("careful.txt");

/// C11, compiled with [`super::super::CFLAGS`].
pub static C: Dialect = Dialect {
    rows: &[ROWS, include_str!("wraps.txt")],
    function: "static inline ",
    suffixes: true,
    space: "",
    restrict: "restrict ",
    wraps: true,
    memcpy: true,
    openmp: true,
    words: &[],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows;
    use tensorize_ir::op::{BinOp, CmpOp, UnOp};
    use tensorize_ir::scalar::ScalarType;

    /// The printer asks for these without a way to be refused.
    #[test]
    fn there_is_a_row_for_every_operator() {
        use BinOp::*;
        let total = [
            Divide,
            Remainder,
            ShiftLeft,
            ShiftRightLogical,
            ShiftRightArithmetic,
        ];
        let total = total.map(|op| format!("total_{op}"));
        let wrapping = [Add, Subtract, Multiply].map(|op| format!("wrapping_{op}"));
        let always = ["select", "convert"].map(String::from);
        let careful: Tables = &[ROWS, CAREFUL];
        for (tables, wraps) in [(C.rows, true), (careful, false)] {
            let mut ours = total.to_vec();
            ours.push("wrapping_negate".into());
            ours.extend(wrapping.iter().filter(|_| !wraps).cloned());
            let known = ours.iter().chain(&always).map(String::as_str);
            rows::check("C", tables, &known.collect::<Vec<_>>());
            for ty in ScalarType::ALL {
                let one = UnOp::ALL
                    .iter()
                    .filter(|o| o.accepts(ty))
                    .map(|o| o.to_string());
                let two = BinOp::ALL
                    .iter()
                    .filter(|o| o.accepts(ty))
                    .map(|o| o.to_string());
                let compare = CmpOp::ALL.iter().map(|o| o.to_string());
                let ours = ours.iter().filter(|_| ty.is_int()).cloned();
                for name in one
                    .chain(two)
                    .chain(compare)
                    .chain(ours)
                    .chain(always.clone())
                {
                    assert!(
                        rows::find(tables, &name, ty, false).is_some(),
                        "{name} on {ty}"
                    );
                }
            }
        }
    }
}
