//! `std::lerp` and `std::midpoint`, as libstdc++ and libc++ have them.

use super::super::expr::select;
use super::super::lower::convert;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

fn op(op: BinOp, a: &Expr, b: &Expr) -> Expr {
    Expr::binary(op, a.clone(), b.clone())
}

fn is(op: CmpOp, a: &Expr, b: &Expr) -> Expr {
    Expr::compare(op, a.clone(), b.clone())
}

fn both(a: Expr, b: Expr) -> Expr {
    select(a, b, Expr::Const(Scalar::bool(false)))
}

fn either(a: Expr, b: Expr) -> Expr {
    select(a, Expr::Const(Scalar::bool(true)), b)
}

/// Between `a` and `b`, of one float type; exactly either of them where `t` is 0 or 1.
pub(super) fn lerp(a: &Expr, b: &Expr, t: &Expr) -> Expr {
    use BinOp::{Add, Multiply, Subtract};
    use CmpOp::{Eq, Ge, Gt, Le, Lt};
    let ty = a.ty();
    let (zero, one) = (Expr::int(ty, 0), Expr::int(ty, 1));
    let falls = both(is(Ge, a, &zero), is(Le, b, &zero));
    let apart = either(both(is(Le, a, &zero), is(Ge, b, &zero)), falls);
    let weighted = op(
        Add,
        &op(Multiply, t, b),
        &op(Multiply, &op(Subtract, &one, t), a),
    );
    let x = op(Add, a, &op(Multiply, t, &op(Subtract, b, a)));
    let beyond = is(Eq, &is(Gt, t, &one), &is(Gt, b, a));
    let bounded = select(
        beyond,
        select(is(Lt, b, &x), x.clone(), b.clone()),
        select(is(Gt, b, &x), x, b.clone()),
    );
    select(apart, weighted, select(is(Eq, t, &one), b.clone(), bounded))
}

/// Half way from `a` to `b`, of one type; of integers, rounded towards `a`.
pub(super) fn midpoint(a: &Expr, b: &Expr) -> Option<Expr> {
    let ty = a.ty();
    if ty.is_float() {
        return Some(float_midpoint(a, b));
    }
    let unsigned = super::super::types::integer(ty.bits().into(), false)?;
    let wide = |e: &Expr| convert(unsigned, e.clone());
    let half = |from: &Expr, to: &Expr| {
        let all = op(BinOp::Subtract, &wide(to), &wide(from));
        op(BinOp::Divide, &all, &Expr::int(unsigned, 2))
    };
    let down = op(BinOp::Subtract, &wide(a), &half(b, a));
    let up = op(BinOp::Add, &wide(a), &half(a, b));
    let result = select(is(CmpOp::Gt, a, b), down, up);
    Some(convert(ty, result))
}

/// What is too large is halved before the sum, unless it is too small for that.
fn float_midpoint(a: &Expr, b: &Expr) -> Expr {
    let ty = a.ty();
    let (low, high) = match ty {
        ScalarType::F32 => (
            Scalar::f32(2.0 * f32::MIN_POSITIVE),
            Scalar::f32(f32::MAX / 2.0),
        ),
        _ => (
            Scalar::f64(2.0 * f64::MIN_POSITIVE),
            Scalar::f64(f64::MAX / 2.0),
        ),
    };
    let (low, high) = (Expr::Const(low), Expr::Const(high));
    let abs = |e: &Expr| Expr::Unary(UnOp::Abs, Box::new(e.clone()));
    let half = |e: &Expr| op(BinOp::Divide, e, &Expr::int(ty, 2));
    let add = |a: &Expr, b: &Expr| op(BinOp::Add, a, b);
    let fits = both(is(CmpOp::Le, &abs(a), &high), is(CmpOp::Le, &abs(b), &high));
    select(
        fits,
        half(&add(a, b)),
        select(
            is(CmpOp::Lt, &abs(a), &low),
            add(a, &half(b)),
            select(
                is(CmpOp::Lt, &abs(b), &low),
                add(&half(a), b),
                add(&half(a), &half(b)),
            ),
        ),
    )
}
