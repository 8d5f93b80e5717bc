//! Pointers that are moved by so many bytes: `(float *)((char *)p + y * step)`, `(float *)((uintptr_t)p + step)`. As long as what
//! is added is a multiple of an element's size, they are moved by so many elements; else the original runs.

use super::super::cpp::seq::index_of;
use super::super::expr::Arith;
use super::super::ffi::{Constant, Cursor};
use super::super::lower::{Lower, Result, offset_op, operands, peeled};
use super::super::operator::{self, Binary};
use super::super::place::Pointer;
use super::super::types::{self, Ty};
use super::unwrapped;
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

/// What is added to a pointer, or taken away from it.
pub(in super::super) type Steps<'u> = Vec<(BinOp, Cursor<'u>)>;

/// The pointer in a sum of bytes, without casts, and what is added; `None` if it is no such sum.
pub(in super::super) fn moved_in_bytes<'u>(e: Cursor<'u>) -> Option<(Cursor<'u>, Steps<'u>)> {
    let e = peeled(e);
    let op = match (e.kind(), operator::binary(e)) {
        (CXCursor_BinaryOperator, Ok(Binary::Arithmetic(Arith::Plain(op)))) => op,
        _ => return None,
    };
    let [l, r] = operands(e).try_into().ok()?;
    if !matches!(op, BinOp::Add | BinOp::Subtract) || !counts_bytes(l) {
        return None;
    }
    let (base, mut steps) = match moved_in_bytes(l) {
        Some(inner) => inner,
        None => {
            let base = without_casts(l);
            matches!(types::of(base), Ty::Pointer(_)).then_some((base, vec![]))?
        }
    };
    steps.push((op, r));
    Some((base, steps))
}

/// Whether one more is a byte more: a pointer to bytes, or its value as an integer.
fn counts_bytes(e: Cursor<'_>) -> bool {
    match types::of(e) {
        Ty::Pointer(to) => match *to {
            Ty::Void => true,
            Ty::Scalar(ty) => ty.bytes() == 1,
            _ => false,
        },
        Ty::Scalar(ScalarType::U64 | ScalarType::I64) => {
            let inner = without_casts(e);
            inner != peeled(e) && matches!(types::of(inner), Ty::Pointer(_))
                || moved_in_bytes(e).is_some()
        }
        _ => false,
    }
}

/// An expression without the casts around it, those to integers too.
fn without_casts(e: Cursor<'_>) -> Cursor<'_> {
    let e = unwrapped(e);
    match (e.kind(), &operands(e)[..]) {
        (CXCursor_CXXReinterpretCastExpr | CXCursor_CXXFunctionalCastExpr, &[.., inner]) => {
            without_casts(inner)
        }
        _ => e,
    }
}

/// Whether the text of so many bytes tells that they lead to what is no element.
pub(super) fn is_between(e: Cursor<'_>, size: usize) -> bool {
    let e = unwrapped(e);
    let number = |e: Cursor<'_>| match e.evaluate() {
        Some(Constant::Int(v)) => Some(v),
        _ => None,
    };
    let size_of = size as i128;
    if let Some(v) = number(e) {
        return v % size_of != 0;
    }
    let [l, r] = match operands(e).try_into() {
        Ok(both) if e.kind() == CXCursor_BinaryOperator => both,
        _ => return false,
    };
    match operator::binary(e) {
        Ok(Binary::Arithmetic(Arith::Plain(BinOp::Add | BinOp::Subtract))) => {
            is_between(l, size) || is_between(r, size)
        }
        // A counter may be anything, and a size is what is asked for.
        Ok(Binary::Arithmetic(Arith::Plain(BinOp::Multiply))) => {
            let factor = number(unwrapped(l)).or_else(|| number(unwrapped(r)));
            factor.is_some_and(|v| v % size_of != 0)
        }
        Ok(Binary::Arithmetic(_)) => true,
        _ => false,
    }
}

impl<'u> Lower<'u, '_> {
    /// Where such a sum points, which is cast here to a pointer to scalars, or to void; `None` if it is no such sum.
    pub(super) fn pointer_in_bytes(
        &mut self,
        e: Cursor<'u>,
        to: &Ty,
        at: Cursor<'u>,
    ) -> Result<Option<Pointer>> {
        let view = to.as_scalar();
        if view.is_none() && *to != Ty::Void {
            return Ok(None);
        }
        // Sums of pointers to bytes are sums like all others.
        let of_numbers = matches!(types::of(peeled(e)), Ty::Scalar(_));
        let counts = of_numbers || view.is_some_and(|view| view.bytes() > 1);
        let Some((base, steps)) = moved_in_bytes(e).filter(|_| counts) else {
            return Ok(None);
        };
        // Rows have lengths of their own. (Whatever is no such sum is refused, so that nothing is evaluated twice.)
        if matches!(types::of(base), Ty::Pointer(to) if !to.flatten().1.is_empty()) {
            return Ok(None);
        }
        let mut p = self.pointer(base)?;
        let bytes = p.target.elem.bytes();
        if view.is_some_and(|view| view.bytes() != bytes) || !p.dims.is_empty() {
            return Ok(None);
        }
        let size = bytes as i128;
        for (op, step) in steps {
            let by = index_of(self.value(step)?);
            if !is_counted(&by, size) {
                return Ok(None);
            }
            let by = self.in_elements(by, size)?;
            p.offset = offset_op(op, p.offset, by);
        }
        match view {
            Some(view) => self.seen_through(p, view, vec![], at).map(Some),
            None => Ok(Some(p)),
        }
    }

    /// So many bytes, which [`is_counted`], in elements. What is not known to be a multiple of their size is left to the
    /// original where it isn't.
    fn in_elements(&mut self, e: Expr, size: i128) -> Result<Expr> {
        let ty = e.ty();
        Ok(match e {
            e if size == 1 => e,
            Expr::Const(v) if v.as_int() % size == 0 => Expr::int(ty, v.as_int() / size),
            Expr::Convert(to, inner) => {
                Expr::Convert(to, Box::new(self.in_elements(*inner, size)?))
            }
            Expr::Binary(op @ (BinOp::Add | BinOp::Subtract), a, b) => {
                Expr::binary(op, self.in_elements(*a, size)?, self.in_elements(*b, size)?)
            }
            // Only a factor that is counted: a size rather than a counter, but a constant before all.
            Expr::Binary(BinOp::Multiply, a, b) => {
                let known = |e: &Expr| matches!(e, Expr::Const(_)) && is_counted(e, size);
                let is_size = |e: &Expr| {
                    matches!(e, Expr::Var(..) | Expr::Load { .. }) && is_counted(e, size)
                };
                let first = known(&a)
                    || !known(&b) && (is_size(&a) || is_counted(&a, size) && !is_size(&b));
                match first {
                    true => Expr::binary(BinOp::Multiply, self.in_elements(*a, size)?, *b),
                    false => Expr::binary(BinOp::Multiply, *a, self.in_elements(*b, size)?),
                }
            }
            e => {
                let of = |op| Expr::binary(op, e.clone(), Expr::int(ty, size));
                let cond = Expr::compare(CmpOp::Ne, of(BinOp::Remainder), Expr::int(ty, 0));
                let quotient = of(BinOp::Divide);
                self.emit(Stmt::If {
                    cond,
                    then: vec![Stmt::Trap],
                    otherwise: vec![],
                })?;
                quotient
            }
        })
    }
}

/// Whether so many bytes can be said in elements: by parts that each are. Unsigned numbers of 32 bits may begin anew at zero.
fn is_counted(e: &Expr, size: i128) -> bool {
    let wide = !matches!(e.ty(), ScalarType::U32);
    match e {
        Expr::Const(v) => v.ty.is_int() && v.as_int() % size == 0,
        Expr::Var(_, ty) | Expr::Load { elem: ty, .. } => ty.is_int() && ty.bits() >= 32,
        Expr::Convert(ScalarType::I64 | ScalarType::U64, inner) => {
            inner.ty().is_int() && inner.ty().bits() >= 32 && is_counted(inner, size)
        }
        Expr::Binary(BinOp::Add | BinOp::Subtract, a, b) => {
            wide && is_counted(a, size) && is_counted(b, size)
        }
        Expr::Binary(BinOp::Multiply, a, b) => wide && (is_counted(a, size) || is_counted(b, size)),
        _ => false,
    }
}
