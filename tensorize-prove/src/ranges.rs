//! Between which integers a value lies, by its type and by the last operations that made it: what `x & 15` is an
//! index of needs no look at the data.

use tensorize_ir::element::Elem;
use tensorize_ir::op::BinOp;

/// The least and the largest value that this integer can have.
pub fn of(e: &Elem) -> (i128, i128) {
    let ty = e.ty();
    narrower(e).unwrap_or((ty.min_value(), ty.max_value()))
}

fn narrower(e: &Elem) -> Option<(i128, i128)> {
    match e {
        Elem::Const(v) if v.ty.is_int() => Some((v.as_int(), v.as_int())),
        // It stays what it was, if it can.
        Elem::Convert(to, inner) if inner.ty().is_int() => {
            let (low, high) = of(inner);
            (to.min_value() <= low && high <= to.max_value()).then_some((low, high))
        }
        Elem::Select(_, t, f) if e.ty().is_int() => {
            let (t, f) = (of(t), of(f));
            Some((t.0.min(f.0), t.1.max(f.1)))
        }
        Elem::Binary(op, a, b) if e.ty().is_int() => {
            let ty = e.ty();
            let (a, b) = (of(a), of(b));
            let by = b.0;
            match op {
                // No bit is set that is not set in both.
                BinOp::And if b.0 >= 0 => Some((0, if a.0 >= 0 { a.1.min(b.1) } else { b.1 })),
                BinOp::And if a.0 >= 0 => Some((0, a.1)),
                // None above those of both.
                BinOp::Or | BinOp::Xor if a.0 >= 0 && b.0 >= 0 => {
                    let bits = 128 - (a.1 | b.1).leading_zeros();
                    let least = if *op == BinOp::Or { a.0.max(b.0) } else { 0 };
                    Some((least, (1 << bits) - 1))
                }
                BinOp::Maximum => Some((a.0.max(b.0), a.1.max(b.1))),
                BinOp::Minimum => Some((a.0.min(b.0), a.1.min(b.1))),
                BinOp::ShiftRightArithmetic | BinOp::ShiftRightLogical
                    if b.0 == b.1 && (0..i128::from(ty.bits())).contains(&by) =>
                {
                    // What is shifted in is 0, or the topmost bit, which is a sign or not.
                    let no_sign = a.0 >= 0 && a.1 <= ty.max_value() >> u32::from(!ty.is_signed());
                    if no_sign || (*op == BinOp::ShiftRightArithmetic) == ty.is_signed() {
                        Some((a.0 >> by, a.1 >> by))
                    } else if *op == BinOp::ShiftRightLogical && by > 0 {
                        Some((0, ((1 << ty.bits()) - 1) >> by))
                    } else {
                        None
                    }
                }
                // Towards zero, and no larger by a larger divisor.
                BinOp::Divide if b.0 == b.1 && by > 0 => Some((a.0 / by, a.1 / by)),
                // The sign is the dividend's.
                BinOp::Remainder if b.0 == b.1 && by != 0 => {
                    let most = by.abs() - 1;
                    Some((a.0.max(-most).min(0), a.1.min(most).max(0)))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Where the product of two numbers lies.
pub(crate) fn times(a: (i128, i128), b: (i128, i128)) -> Option<(i128, i128)> {
    let ends = [
        a.0.checked_mul(b.0)?,
        a.0.checked_mul(b.1)?,
        a.1.checked_mul(b.0)?,
        a.1.checked_mul(b.1)?,
    ];
    Some((*ends.iter().min()?, *ends.iter().max()?))
}

/// Where the sum of two numbers lies.
pub(crate) fn plus(a: (i128, i128), b: (i128, i128)) -> Option<(i128, i128)> {
    Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tensorize_ir::element::ElemRef;
    use tensorize_ir::op::eval_binary;
    use tensorize_ir::scalar::{Scalar, ScalarType};

    fn read(ty: ScalarType) -> ElemRef {
        Arc::new(Elem::Read {
            array: "x".into(),
            ty,
            index: Default::default(),
        })
    }

    /// Every result lies within the range, and both ends of it are results where `tight`.
    #[test]
    fn every_result_of_bytes_lies_within() {
        use BinOp::*;
        let ops = [
            And,
            ShiftRightArithmetic,
            ShiftRightLogical,
            Divide,
            Remainder,
            Add,
            Or,
            Xor,
            Maximum,
            Minimum,
        ];
        for ty in [ScalarType::I8, ScalarType::U8] {
            for op in ops {
                for c in ty.min_value()..=ty.max_value() {
                    let constant = Scalar::int(ty, c);
                    let shift = matches!(op, ShiftRightArithmetic | ShiftRightLogical);
                    let divides = matches!(op, Divide | Remainder);
                    if divides && c == 0 || shift && !(0..8).contains(&c) {
                        continue;
                    }
                    let e = Elem::Binary(op, read(ty), Arc::new(Elem::Const(constant)));
                    let (low, high) = of(&e);
                    for x in ty.min_value()..=ty.max_value() {
                        if divides && (x, c) == (ty.min_value(), -1) {
                            continue;
                        }
                        let v = eval_binary(op, Scalar::int(ty, x), constant).as_int();
                        assert!(low <= v && v <= high, "{x} {op:?} {c}: {v}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_known_is_kept_by_conversions() {
        let constant = |c| Arc::new(Elem::Const(Scalar::int(ScalarType::I32, c)));
        let byte = Arc::new(Elem::Convert(ScalarType::I32, read(ScalarType::U8)));
        assert_eq!(of(&byte), (0, 255));
        let binary = |op, c| of(&Elem::Binary(op, byte.clone(), constant(c)));
        assert_eq!(binary(BinOp::And, 15), (0, 15));
        assert_eq!(binary(BinOp::ShiftRightArithmetic, 4), (0, 15));
        assert_eq!(binary(BinOp::Remainder, 10), (0, 9));
        // A negative number becomes a large one.
        let wide = Elem::Convert(ScalarType::U32, read(ScalarType::I8));
        assert_eq!(of(&wide), (0, u32::MAX.into()));
        let masked = Elem::Binary(BinOp::And, read(ScalarType::I32), constant(-4));
        assert_eq!(of(&masked), (i32::MIN.into(), i32::MAX.into()));
    }
}
