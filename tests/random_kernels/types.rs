//! C's types and what its operators do to them, with the interval that a value is sure to lie in.

use crate::tree::Ex;
use tensorize_ir::inputs::Rng;
use tensorize_ir::scalar::ScalarType::{self, *};

/// An expression with its C type.
#[derive(Clone, Debug)]
pub struct Typed {
    pub ex: Ex,
    pub ty: ScalarType,
    /// Of an integer.
    pub lo: i128,
    pub hi: i128,
}

impl Typed {
    /// Any value of its type.
    pub fn any(ex: Ex, ty: ScalarType) -> Typed {
        let (lo, hi) = all(ty);
        Typed { ex, ty, lo, hi }
    }

    pub fn within(ex: Ex, ty: ScalarType, lo: i128, hi: i128) -> Typed {
        Typed { ex, ty, lo, hi }
    }

    pub fn fits(&self, ty: ScalarType) -> bool {
        ty.is_float() || (ty.min_value() <= self.lo && self.hi <= ty.max_value())
    }

    /// The interval after a conversion to an integer type.
    pub fn converted(&self, ty: ScalarType) -> (i128, i128) {
        if self.ty.is_int() && self.fits(ty) {
            (self.lo, self.hi)
        } else {
            all(ty)
        }
    }
}

pub fn all(ty: ScalarType) -> (i128, i128) {
    if ty.is_float() {
        (0, 0)
    } else {
        (ty.min_value(), ty.max_value())
    }
}

/// C's name for the type, one of several.
pub fn spelled(ty: ScalarType, rng: &mut Rng) -> &'static str {
    let names: &[&str] = match ty {
        I1 => &["_Bool", "bool"],
        I8 => &["signed char", "int8_t"],
        I16 => &["short", "int16_t"],
        I32 => &["int", "int32_t"],
        I64 => &["long", "long long", "int64_t", "ptrdiff_t"],
        U8 => &["unsigned char", "uint8_t"],
        U16 => &["unsigned short", "uint16_t"],
        U32 => &["unsigned", "uint32_t"],
        U64 => &["unsigned long", "size_t", "uint64_t"],
        F32 => &["float"],
        F64 => &["double"],
    };
    let name: &&str = rng.pick(names);
    name
}

/// The integer promotions.
pub fn promoted(ty: ScalarType) -> ScalarType {
    match ty {
        I1 | I8 | U8 | I16 | U16 => I32,
        other => other,
    }
}

/// The usual arithmetic conversions.
pub fn common(a: ScalarType, b: ScalarType) -> ScalarType {
    for float in [F64, F32] {
        if a == float || b == float {
            return float;
        }
    }
    let (a, b) = (promoted(a), promoted(b));
    match (a.bits(), b.bits()) {
        (x, y) if x > y => a,
        (x, y) if x < y => b,
        _ if a.is_signed() => b,
        _ => a,
    }
}

/// The unsigned type of the same width.
pub fn unsigned(ty: ScalarType) -> ScalarType {
    match ty {
        I8 => U8,
        I16 => U16,
        I32 => U32,
        I64 => U64,
        other => other,
    }
}

/// `lo..=hi` under an operator that is monotone or antitone in each operand.
pub fn corners(op: char, a: (i128, i128), b: (i128, i128)) -> (i128, i128) {
    let f = |x: i128, y: i128| match op {
        '+' => x.saturating_add(y),
        '-' => x.saturating_sub(y),
        _ => x.saturating_mul(y),
    };
    let all = [f(a.0, b.0), f(a.0, b.1), f(a.1, b.0), f(a.1, b.1)];
    (
        all.into_iter().min().unwrap_or(0),
        all.into_iter().max().unwrap_or(0),
    )
}
