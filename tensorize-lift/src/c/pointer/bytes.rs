//! Numbers in arrays of bytes: what `*(const uint32_t *)(p + 4 * i)` and `memcpy(&v, p, 4)` read, and what the like stores.

use crate::c::lower::{Lower, Result, Target, convert, offset_op};
use crate::c::place::seen_as;
use crate::c::types::integer;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

/// Whether elements are bytes.
pub(in crate::c) fn is_byte(elem: ScalarType) -> bool {
    matches!(elem, ScalarType::I8 | ScalarType::U8)
}

/// Whether elements may be seen as of another type: one of as many bits, or a wider one of bytes that lie in no rows.
pub(in crate::c) fn may_be_seen_as(elem: ScalarType, view: ScalarType, in_rows: bool) -> bool {
    view.bits() == elem.bits() || !in_rows && is_byte(elem) && view.bits() > elem.bits()
}

/// The unsigned integer of as many bits.
fn unsigned(ty: ScalarType) -> ScalarType {
    integer(ty.bits().into(), false).unwrap_or(ty)
}

fn byte_at(index: &Expr, k: usize) -> Expr {
    let k = Expr::int(ScalarType::I64, k as i128);
    offset_op(BinOp::Add, index.clone(), k)
}

/// How far the bits of byte `k` are shifted in such a number.
fn place_of(k: usize, bits: ScalarType) -> Expr {
    Expr::int(bits, 8 * k as i128)
}

/// The number of this type whose lowest byte is the one with this index.
pub(in crate::c) fn joined(bytes: &Target, index: &Expr, ty: ScalarType) -> Expr {
    let bits = unsigned(ty);
    let byte = |k| {
        let byte = Expr::load(bytes.array.clone(), bytes.elem, byte_at(index, k));
        let byte = convert(bits, convert(ScalarType::U8, byte));
        match k {
            0 => byte,
            _ => Expr::binary(BinOp::ShiftLeft, byte, place_of(k, bits)),
        }
    };
    let all = (1..ty.bytes()).fold(byte(0), |all, k| Expr::binary(BinOp::Or, all, byte(k)));
    seen_as(ty, all)
}

/// Byte `k` of a number.
fn byte_of(value: &Expr, k: usize, elem: ScalarType) -> Expr {
    let bits = unsigned(value.ty());
    let all = seen_as(bits, value.clone());
    let shifted = match k {
        0 => all,
        _ => Expr::binary(BinOp::ShiftRightLogical, all, place_of(k, bits)),
    };
    convert(elem, shifted)
}

impl<'u> Lower<'u, '_> {
    /// Stores a number in the bytes from this index on.
    pub fn write_bytes(&mut self, bytes: &Target, index: &Expr, value: Expr) -> Result<()> {
        // It may be made of what is overwritten.
        let value = self.hold("number", value)?;
        let index = self.hold("at", index.clone())?;
        for k in 0..value.ty().bytes() {
            self.emit(Stmt::Store {
                array: bytes.array.clone(),
                index: byte_at(&index, k),
                value: byte_of(&value, k, bytes.elem),
            })?;
        }
        Ok(())
    }
}
