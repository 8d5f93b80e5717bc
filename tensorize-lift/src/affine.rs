//! Indices as polynomials, as far as their text says it. What may wrap is not looked at: only guesses are made of this.

use tensorize_ir::index::Idx;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::BinOp;

/// The index as a polynomial over variables.
pub(crate) fn affine(e: &Expr) -> Option<Idx> {
    match e {
        Expr::Const(v) if v.ty.is_int() => Some(Idx::constant(v.as_int())),
        Expr::Var(name, ty) if ty.is_int() => Some(Idx::sym(name.clone())),
        Expr::Convert(to, inner) if to.is_int() => affine(inner),
        Expr::Binary(op, a, b) => {
            let (a, b) = (affine(a)?, affine(b)?);
            match op {
                BinOp::Add => Some(&a + &b),
                BinOp::Subtract => Some(&a - &b),
                BinOp::Multiply => Some(&a * &b),
                BinOp::ShiftLeft => {
                    let by = b.as_constant().filter(|by| (0..32).contains(by))?;
                    Some(&a * &Idx::constant(1 << by))
                }
                _ => None,
            }
        }
        _ => None,
    }
}
