//! A vector's lanes, and the same bits seen as lanes of another type.

use super::fold;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

/// Lanes of one type, the lowest first.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::c) struct Vector {
    pub lanes: Vec<Expr>,
}

impl Vector {
    /// The type of the lanes.
    pub fn elem(&self) -> ScalarType {
        self.lanes.first().map_or(ScalarType::I32, Expr::ty)
    }

    /// The same bits. `None` if they don't make whole lanes.
    pub fn seen_as(&self, to: ScalarType) -> Option<Vector> {
        let from = self.elem();
        if from == to {
            return Some(self.clone());
        }
        let (a, b) = (from.bits() as usize, to.bits() as usize);
        let unsigned = |bits: usize| crate::c::types::integer(bits as u64, false);
        let lanes = if from == ScalarType::I1 || to == ScalarType::I1 {
            return None;
        } else if a == b {
            self.lanes
                .iter()
                .map(|l| same_bits(to, l.clone()))
                .collect()
        } else if a < b {
            let wide = unsigned(b)?;
            if !self.lanes.len().is_multiple_of(b / a) {
                return None;
            }
            self.lanes
                .chunks(b / a)
                .map(|parts| {
                    let mut all = Expr::int(wide, 0);
                    for (i, part) in parts.iter().enumerate() {
                        let bits = same_bits(unsigned(a).unwrap_or(wide), part.clone());
                        let count = Expr::int(wide, (i * a) as i128);
                        let at = fold::binary(BinOp::ShiftLeft, fold::convert(wide, bits), count);
                        all = fold::binary(BinOp::Or, all, at);
                    }
                    same_bits(to, all)
                })
                .collect()
        } else {
            let (wide, narrow) = (unsigned(a)?, unsigned(b)?);
            self.lanes
                .iter()
                .flat_map(|l| {
                    let bits = same_bits(wide, l.clone());
                    (0..a / b).map(move |i| {
                        let count = Expr::int(wide, (i * b) as i128);
                        let part = fold::binary(BinOp::ShiftRightLogical, bits.clone(), count);
                        same_bits(to, fold::convert(narrow, part))
                    })
                })
                .collect()
        };
        Some(Vector { lanes })
    }
}

/// The same bits as another type of the same width.
pub(super) fn same_bits(to: ScalarType, e: Expr) -> Expr {
    if e.ty() == to {
        e
    } else if e.ty().is_int() && to.is_int() {
        fold::convert(to, e)
    } else {
        fold::bitcast(to, e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorize_ir::scalar::Scalar;

    #[test]
    fn bits_are_put_together_and_cut_up() {
        let bytes = [0x78, 0x56, 0x34, 0x92].map(|b| Expr::int(ScalarType::U8, b));
        let v = Vector {
            lanes: bytes.to_vec(),
        };
        let word = v.seen_as(ScalarType::I32).unwrap();
        assert_eq!(
            word.lanes,
            [Expr::int(ScalarType::I32, 0x9234_5678u32 as i32 as i128)]
        );
        assert_eq!(word.seen_as(ScalarType::U8).unwrap(), v);
        let one = Vector {
            lanes: vec![Expr::Const(Scalar::f32(1.0))],
        };
        let bits = one.seen_as(ScalarType::U32).unwrap();
        assert_eq!(bits.lanes, [Expr::int(ScalarType::U32, 0x3f80_0000)]);
        assert_eq!(bits.seen_as(ScalarType::F32).unwrap(), one);
        assert_eq!(word.seen_as(ScalarType::U64), None);
    }
}
