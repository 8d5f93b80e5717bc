//! Iterators, which are pointers here: what calls give them, move them and tell how far apart they are.

use super::call::Call;
use super::class::{in_std, is_owner};
use super::seq::{index_of, int};
use super::walk::is_iterator;
use crate::c::codes;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, Result, offset_op, operands, problem};
use crate::c::place::Pointer;
use crate::c::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::{BinOp, CmpOp};

/// Algorithms whose first two arguments are the ends of a range. (`std::min`, say, gets two pointers that are no such ends.)
const BETWEEN: &[&str] = &[
    "accumulate",
    "adjacent_difference",
    "adjacent_find",
    "all_of",
    "any_of",
    "copy",
    "copy_backward",
    "copy_if",
    "count",
    "count_if",
    "exclusive_scan",
    "fill",
    "find",
    "find_if",
    "find_if_not",
    "for_each",
    "generate",
    "inclusive_scan",
    "inner_product",
    "iota",
    "is_sorted",
    "max_element",
    "min_element",
    "minmax_element",
    "move",
    "none_of",
    "partial_sum",
    "reduce",
    "replace",
    "replace_if",
    "reverse",
    "reverse_copy",
    "swap_ranges",
    "transform",
    "transform_reduce",
];

/// The two iterators that a call compares, or between which an algorithm goes; and those of the other range.
pub fn ends_of_ranges<'u>(c: Cursor<'u>) -> Vec<[Cursor<'u>; 2]> {
    let callee = c.referenced().filter(|_| c.kind() == CXCursor_CallExpr);
    let Some(call) = callee.filter(|f| in_std(*f)).and_then(|_| Call::of(c)) else {
        return vec![];
    };
    let ranges = match call.name.as_str() {
        "operator==" | "operator!=" | "operator<" | "operator-" | "distance" => 1,
        "equal" => 2,
        name => usize::from(BETWEEN.contains(&name)),
    };
    let pairs = call.args.chunks_exact(2).take(ranges);
    let pairs = pairs.map(|pair| [pair[0], pair[1]]);
    pairs
        .filter(|[first, last]| first != last && is_iterator(*first) && is_iterator(*last))
        .collect()
}

/// What an iterator is a copy of, or goes on from.
pub fn iterator_from(c: Cursor<'_>) -> Vec<Cursor<'_>> {
    let Some(callee) = c.referenced().filter(|_| c.kind() == CXCursor_CallExpr) else {
        return vec![];
    };
    let moves = in_std(callee) && callee.spelling().starts_with("operator");
    match callee.kind() == CXCursor_Constructor || moves {
        true => Call::of(c).map_or_else(|| c.arguments(), |call| call.args),
        false => vec![],
    }
}

impl<'u> Lower<'u, '_> {
    pub(super) fn iterators(&mut self, call: &Call<'u>, op: CmpOp) -> Result<Expr> {
        self.pointer_compare(call.at, op, call.arg(0)?, call.arg(1)?)
    }

    /// How far `to` is from `from`, in what they point to.
    pub fn distance(&mut self, from: &Pointer, to: &Pointer, at: Cursor<'u>) -> Result<Expr> {
        if from.target.array != to.target.array || from.dims != to.dims {
            let message = "the distance between pointers into two arrays";
            return Err(problem(codes::POINTER_BASE, message, at));
        }
        self.check_one_row(from, to, at)?;
        let (a, b, stride) = (from.offset.clone(), to.offset.clone(), from.stride());
        // From the start of a part to its end.
        let (a, b) = match b {
            Expr::Binary(BinOp::Add, start, len) if *start == a => (int(0), *len),
            b => (a, b),
        };
        if stride == int(1) {
            return Ok(offset_op(BinOp::Subtract, b, a));
        }
        // Rows: the end of a sequence that starts at zero is a multiple of the stride.
        let number = |e: &Expr| match e {
            Expr::Const(v) => Some(v.as_int()),
            _ => None,
        };
        if let (Some(a), Some(b), Some(stride)) = (number(&a), number(&b), number(&stride))
            && (b - a) % stride == 0
        {
            return Ok(int((b - a) / stride));
        }
        match b {
            Expr::Binary(BinOp::Multiply, n, s) if *s == stride && a == int(0) => Ok(*n),
            _ => Err(problem(
                codes::POINTER_USE,
                "this range of rows is not supported",
                at,
            )),
        }
    }

    pub(super) fn is_pointer_call(&self, call: &Call<'u>) -> bool {
        matches!(
            call.name.as_str(),
            "operator++" | "operator--" | "operator+=" | "operator-=" | "operator="
        )
    }

    /// The pointer, or iterator, that a call gives.
    pub fn call_pointer(&mut self, c: Cursor<'u>) -> Result<Pointer> {
        let unsupported = || {
            problem(
                codes::POINTER_USE,
                format!("the pointer that '{}' returns is used", c.spelling()),
                c,
            )
        };
        if c.referenced()
            .is_some_and(|r| r.kind() == CXCursor_Constructor)
        {
            // An iterator that is copied, or made from another one.
            return match c.arguments()[..] {
                [one] if matches!(types::of(one).referred(), Ty::Pointer(_)) => self.pointer(one),
                _ => Err(unsupported()),
            };
        }
        if let Some(p) = self.returned_pointer(c)? {
            return Ok(p);
        }
        let Some(call) = Call::of(c) else {
            // The call itself may be what is wrong.
            self.call(c)?;
            return Err(unsupported());
        };
        let n = call.args.len();
        match (call.name.as_str(), n) {
            ("begin" | "cbegin" | "data" | "c_str", 1) => Ok(self.reached(call.arg(0)?)?.start),
            ("make_unique" | "make_unique_for_overwrite", 1) if is_owner(c.ty()) => {
                let zeroed = call.name == "make_unique";
                self.own_elements(c, call.arg(0)?, zeroed)
            }
            // To the element itself.
            ("operator->", 1) if matches!(types::of(call.arg(0)?).referred(), Ty::Pointer(_)) => {
                self.pointer(call.arg(0)?)
            }
            // Of a `std::unique_ptr`.
            ("get", 1) if matches!(types::of(call.arg(0)?).referred(), Ty::Pointer(_)) => {
                self.pointer(call.arg(0)?)
            }
            ("end" | "cend", 1) => {
                let seq = self.seq(call.arg(0)?)?;
                Ok(seq.start.moved(seq.len))
            }
            ("operator+" | "operator-", 2) => {
                let (mut p, mut i) = (call.arg(0)?, call.arg(1)?);
                if !matches!(types::of(p).referred(), Ty::Pointer(_)) {
                    std::mem::swap(&mut p, &mut i);
                }
                let base = self.pointer(p)?;
                let by = index_of(self.value(i)?);
                let op = if call.name == "operator+" {
                    BinOp::Add
                } else {
                    BinOp::Subtract
                };
                Ok(self.step_by(base, op, by))
            }
            ("next" | "prev", 1 | 2) => {
                let base = self.pointer(call.arg(0)?)?;
                let by = match call.args.get(1) {
                    Some(&by)
                        if !operands(by).is_empty() || by.kind() != CXCursor_UnexposedExpr =>
                    {
                        index_of(self.value(by)?)
                    }
                    _ => int(1),
                };
                let op = if call.name == "next" {
                    BinOp::Add
                } else {
                    BinOp::Subtract
                };
                Ok(self.step_by(base, op, by))
            }
            ("operator++" | "operator--", 1) => {
                let by = if call.name == "operator++" { 1 } else { -1 };
                self.pointer_moved(call.arg(0)?, by, true)
            }
            ("operator++" | "operator--", 2) => {
                let by = if call.name == "operator++" { 1 } else { -1 };
                self.pointer_moved(call.arg(0)?, by, false)
            }
            ("operator+=" | "operator-=" | "operator=", 2) => {
                self.iterator_assignment(&call)?;
                self.named_pointer(call.arg(0)?)
            }
            ("move" | "forward" | "as_const", 1) => self.pointer(call.arg(0)?),
            (name, _) if name.starts_with("ranges::") => Err(call.unknown()),
            _ => self.found(&call)?.ok_or_else(unsupported),
        }
    }

    fn iterator_assignment(&mut self, call: &Call<'u>) -> Result<()> {
        let (l, r) = (call.arg(0)?, call.arg(1)?);
        let v = self.pointer_named(l)?;
        if call.name == "operator=" {
            let p = self.pointer(r)?;
            return self.set_pointer(&v, p, false);
        }
        let by = index_of(self.value(r)?);
        let old = self.pointer_of(&v)?;
        let op = if call.name == "operator+=" {
            BinOp::Add
        } else {
            BinOp::Subtract
        };
        let new = self.step_by(old, op, by);
        self.set_pointer(&v, new, false)
    }
}
