//! Where algorithms go: over the elements between two iterators, from the first to the last or, with reverse iterators, from the
//! last to the first.

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::lower::{Lower, Result, offset_op, operands, peeled, problem};
use super::super::place::{Place, Pointer};
use super::super::types::{self, Ty};
use super::call::Call;
use super::class::Class;
use super::seq::{index_of, int};
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

/// From an element on, or from the one before it and back: a reverse iterator is made of an iterator (its `base()`) and names
/// the element before that.
#[derive(Clone)]
pub(super) struct Walk {
    base: Pointer,
    back: bool,
}

impl Walk {
    pub fn ahead(base: Pointer) -> Walk {
        Walk { base, back: false }
    }

    /// The element after so many steps.
    pub fn at(&self, steps: Expr) -> Place {
        let by = match self.back {
            true => offset_op(BinOp::Subtract, int(-1), steps),
            false => steps,
        };
        self.base.clone().moved(by).deref()
    }

    /// Where it starts, if it goes from the first element to the last.
    pub fn start(&self) -> Option<&Pointer> {
        (!self.back).then_some(&self.base)
    }

    /// Whether elements are numbers.
    pub fn is_of_numbers(&self) -> bool {
        self.base.dims.is_empty()
    }

    /// The type of the elements, or of what they are made of.
    pub fn view(&self) -> ScalarType {
        self.base.view
    }
}

/// So many elements.
pub(super) struct Range {
    pub walk: Walk,
    pub len: Expr,
}

impl Range {
    pub fn at(&self, index: Expr) -> Place {
        self.walk.at(index)
    }
}

/// Whether this is an iterator that goes back.
pub(super) fn is_reverse(e: Cursor<'_>) -> bool {
    matches!(types::of(e).referred(), Ty::Class(Class::Reverse))
}

/// Why a reverse iterator is refused that isn't passed to an algorithm.
pub(in super::super) fn not_walked(e: Cursor<'_>) -> super::super::Problem {
    let message = "this use of a reverse iterator is not supported";
    let mut p = problem(codes::POINTER_USE, message, e);
    p.help = Some("pass rbegin() and rend() to an algorithm, or go back by an index".into());
    p
}

/// Whether this is an iterator.
pub(super) fn is_iterator(e: Cursor<'_>) -> bool {
    let of_elements = |t: &Ty| matches!(t, Ty::Pointer(to) if **to != Ty::Function);
    is_reverse(e) || of_elements(&types::of(e).referred())
}

impl<'u> Lower<'u, '_> {
    /// The elements between two iterators that are a call's arguments, or those of a range.
    pub(super) fn range(&mut self, call: &Call<'u>, first: usize) -> Result<Range> {
        if call.is_range(first) {
            let all = self.seq(call.arg(first)?)?;
            return Ok(Range {
                len: self.settled("n", all.len)?,
                walk: Walk::ahead(self.settled_pointer(all.start)?),
            });
        }
        self.between(call.arg(first)?, call.arg(first + 1)?, call.at)
    }

    /// The elements between two iterators.
    pub(super) fn between(
        &mut self,
        a: Cursor<'u>,
        b: Cursor<'u>,
        at: Cursor<'u>,
    ) -> Result<Range> {
        let back = is_reverse(a);
        let (a, b) = (self.base(a)?, self.base(b)?);
        let len = match back {
            true => self.distance(&b, &a, at)?,
            false => self.distance(&a, &b, at)?,
        };
        let may_be_negative = matches!(len, Expr::Binary(..));
        let len = self.settled("n", len)?;
        if may_be_negative {
            // No step meets an end that lies behind. A number of sizes alone becomes a guard where it counts rounds; one of an
            // outer loop's counter would count none.
            let cond = Expr::compare(CmpOp::Lt, len.clone(), int(0));
            self.emit(Stmt::If {
                cond,
                then: vec![Stmt::Trap],
                otherwise: vec![],
            })?;
        }
        let base = self.settled_pointer(a)?;
        let walk = Walk { base, back };
        Ok(Range { walk, len })
    }

    /// What an iterator walks along.
    pub(super) fn walk(&mut self, e: Cursor<'u>) -> Result<Walk> {
        let base = self.base(e)?;
        Ok(Walk {
            base: self.settled_pointer(base)?,
            back: is_reverse(e),
        })
    }

    /// Where an iterator points, or what a reverse iterator is made of.
    fn base(&mut self, e: Cursor<'u>) -> Result<Pointer> {
        if !is_reverse(e) {
            return self.pointer(e);
        }
        let e = peeled(e);
        match e.kind() {
            CXCursor_CXXFunctionalCastExpr | CXCursor_CXXStaticCastExpr => {
                if let [inner] = operands(e)[..] {
                    return self.base(inner);
                }
            }
            CXCursor_CallExpr => {
                let constructs = e
                    .referenced()
                    .is_some_and(|f| f.kind() == CXCursor_Constructor);
                if let ([from], true) = (&e.arguments()[..], constructs) {
                    // A copy, or one that is made of an iterator.
                    return self.base(*from);
                }
                if let Some(call) = Call::of(e) {
                    return self.reverse(&call);
                }
            }
            _ => {}
        }
        Err(not_walked(e))
    }

    /// What the reverse iterator that a call gives is made of.
    fn reverse(&mut self, call: &Call<'u>) -> Result<Pointer> {
        match (call.name.as_str(), call.args.len()) {
            ("rbegin" | "crbegin", 1) => {
                let seq = self.seq(call.arg(0)?)?;
                Ok(seq.start.moved(seq.len))
            }
            ("rend" | "crend", 1) => Ok(self.seq(call.arg(0)?)?.start),
            ("make_reverse_iterator", 1) => self.pointer(call.arg(0)?),
            // One step on is one back.
            ("operator+" | "operator-", 2) if is_reverse(call.arg(0)?) => {
                let base = self.base(call.arg(0)?)?;
                let by = index_of(self.value(call.arg(1)?)?);
                let op = match call.name.as_str() {
                    "operator+" => BinOp::Subtract,
                    _ => BinOp::Add,
                };
                Ok(self.step_by(base, op, by))
            }
            _ => Err(call.unsupported()),
        }
    }
}
