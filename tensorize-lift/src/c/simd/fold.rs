//! Expressions, folded as they are built.
//!
//! A comparison of vectors gives lanes of all ones or zeros, which the code around it masks with. Folded, they are
//! the conditions that they were: `(c ? -1 : 0) & x` is `c ? x : 0`.

use crate::c::expr::{negation, select as plain_select};
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::{self, BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// `c ? x : y` with literals `x` and `y`.
fn mask(e: &Expr) -> Option<(&Expr, Scalar, Scalar)> {
    match e {
        Expr::Select(c, t, f) => match (&**t, &**f) {
            (Expr::Const(t), Expr::Const(f)) => Some((c, *t, *f)),
            _ => None,
        },
        _ => None,
    }
}

/// `f` of a literal, or of both sides of a choice between literals. `None` if it is neither, or `f`
/// has no value there.
fn each(e: &Expr, f: impl Fn(Scalar) -> Option<Scalar>) -> Option<Expr> {
    if let Expr::Const(v) = e {
        return f(*v).map(Expr::Const);
    }
    let (c, x, y) = mask(e)?;
    Some(select(c.clone(), Expr::Const(f(x)?), Expr::Const(f(y)?)))
}

/// `c ? a : b`
pub fn select(c: Expr, a: Expr, b: Expr) -> Expr {
    if a == b {
        return a;
    }
    let is = |e: &Expr, value| matches!(e, Expr::Const(v) if *v == Scalar::bool(value));
    if is(&a, false) && is(&b, true) {
        return negation(c);
    }
    plain_select(c, a, b)
}

/// `(to)e`
pub fn convert(to: ScalarType, e: Expr) -> Expr {
    if e.ty() == to {
        return e;
    }
    let fits = |v: Scalar| {
        op::convert_undefined(to, v)
            .is_none()
            .then(|| op::eval_convert(to, v))
    };
    match each(&e, fits) {
        Some(folded) => folded,
        // Widened and cut off again.
        None => match e {
            Expr::Convert(wide, inner)
                if inner.ty() == to && to.is_int() && wide.is_int() && wide.bits() >= to.bits() =>
            {
                *inner
            }
            e => Expr::Convert(to, Box::new(e)),
        },
    }
}

/// The same bits as another type of the same width.
pub fn bitcast(to: ScalarType, e: Expr) -> Expr {
    if e.ty() == to {
        return e;
    }
    match each(&e, |v| {
        Some(Scalar {
            ty: to,
            bits: v.bits,
        })
    }) {
        Some(folded) => folded,
        None => match e {
            Expr::Bitcast(_, inner) if inner.ty() == to => *inner,
            // A mask was put on the bits of floats.
            Expr::Select(c, t, f) if plain_bits(&t, to) && plain_bits(&f, to) => {
                select(*c, bitcast(to, *t), bitcast(to, *f))
            }
            e => Expr::Bitcast(to, Box::new(e)),
        },
    }
}

/// Whether a bitcast to this type costs nothing.
fn plain_bits(e: &Expr, to: ScalarType) -> bool {
    match e {
        Expr::Const(_) => true,
        Expr::Bitcast(_, inner) => inner.ty() == to,
        _ => false,
    }
}

/// `op e`
pub fn unary(op: UnOp, e: Expr) -> Expr {
    if op == UnOp::Not && e.ty() == ScalarType::I1 {
        return negation(e);
    }
    let exact = matches!(op, UnOp::Negate | UnOp::Not | UnOp::Abs);
    let value = |v| (exact && op::unary_undefined(op, v).is_none()).then(|| op::eval_unary(op, v));
    each(&e, value).unwrap_or_else(|| Expr::Unary(op, Box::new(e)))
}

/// `a op b`
pub fn compare(op: CmpOp, a: Expr, b: Expr) -> Expr {
    let folded = match (&a, &b) {
        (_, Expr::Const(y)) => each(&a, |x| Some(Scalar::bool(op::eval_compare(op, x, *y)))),
        (Expr::Const(x), _) => each(&b, |y| Some(Scalar::bool(op::eval_compare(op, *x, y)))),
        _ => None,
    };
    folded.unwrap_or_else(|| Expr::compare(op, a, b))
}

/// `a op b`
pub fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
    let value = |x, y| {
        op::binary_undefined(op, x, y)
            .is_none()
            .then(|| op::eval_binary(op, x, y))
    };
    let folded = match (&a, &b) {
        (_, Expr::Const(y)) => each(&a, |x| value(x, *y)),
        (Expr::Const(x), _) => each(&b, |y| value(*x, y)),
        _ => None,
    };
    folded
        .or_else(|| bitwise(op, &a, &b))
        .unwrap_or_else(|| Expr::binary(op, a, b))
}

/// Masks and neutral elements.
fn bitwise(op: BinOp, a: &Expr, b: &Expr) -> Option<Expr> {
    let ty = a.ty();
    if !ty.is_int() {
        return None;
    }
    let ones = op::eval_unary(UnOp::Not, Scalar::zero(ty));
    let is = |e: &Expr, v: Scalar| matches!(e, Expr::Const(c) if *c == v);
    let zero = Scalar::zero(ty);
    match op {
        BinOp::And => {
            for (x, y) in [(a, b), (b, a)] {
                if is(x, zero) {
                    return Some(x.clone());
                }
                if is(x, ones) {
                    return Some(y.clone());
                }
                if let Some((c, t, f)) = mask(x)
                    && [t, f].iter().all(|v| *v == zero || *v == ones)
                {
                    let side = |v| {
                        if v == ones {
                            y.clone()
                        } else {
                            Expr::Const(zero)
                        }
                    };
                    return Some(select(c.clone(), side(t), side(f)));
                }
            }
            None
        }
        BinOp::Or => {
            if is(a, zero) {
                return Some(b.clone());
            }
            if is(b, zero) {
                return Some(a.clone());
            }
            if let (Expr::Select(c, t, f), Expr::Select(d, g, h)) = (a, b) {
                // What one mask leaves out the other has.
                if c == d && is(f, zero) && is(g, zero) {
                    return Some(select((**c).clone(), (**t).clone(), (**h).clone()));
                }
                if c == d && is(t, zero) && is(h, zero) {
                    return Some(select((**c).clone(), (**g).clone(), (**f).clone()));
                }
            }
            None
        }
        BinOp::Xor | BinOp::Add if is(a, zero) => Some(b.clone()),
        BinOp::Xor | BinOp::Add | BinOp::Subtract if is(b, zero) => Some(a.clone()),
        BinOp::ShiftLeft | BinOp::ShiftRightLogical | BinOp::ShiftRightArithmetic
            if is(b, zero) =>
        {
            Some(a.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_become_choices() {
        let u32 = ScalarType::U32;
        let (x, y) = (Expr::var("x", u32), Expr::var("y", u32));
        let c = Expr::var("c", ScalarType::I1);
        let all = op::eval_unary(UnOp::Not, Scalar::zero(u32));
        let m = select(c.clone(), Expr::Const(all), Expr::int(u32, 0));
        let not_m = unary(UnOp::Not, m.clone());
        let blended = binary(
            BinOp::Or,
            binary(BinOp::And, m.clone(), x.clone()),
            binary(BinOp::And, not_m, y.clone()),
        );
        assert_eq!(blended, select(c.clone(), x, y));
        let sign = compare(
            CmpOp::Lt,
            convert(ScalarType::I32, m),
            Expr::int(ScalarType::I32, 0),
        );
        assert_eq!(sign, c);
    }
}
