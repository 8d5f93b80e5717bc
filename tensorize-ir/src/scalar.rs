//! C's scalar types, and values of them.

use std::fmt;
use std::str::FromStr;

/// A scalar type, under StableHLO's name (`i32`, `ui8`, `f32`, …). C's types
/// map to these by way of the compilation's target triple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScalarType {
    /// C's `_Bool`; the result of a comparison. Its value is 0 or 1.
    I1,
    /// `int8_t`
    I8,
    /// `int16_t`
    I16,
    /// `int32_t`
    I32,
    /// `int64_t`
    I64,
    /// `uint8_t`
    U8,
    /// `uint16_t`
    U16,
    /// `uint32_t`
    U32,
    /// `uint64_t`
    U64,
    /// IEEE 754 binary32
    F32,
    /// IEEE 754 binary64
    F64,
}

impl ScalarType {
    /// Every type, integers first, by width.
    pub const ALL: [ScalarType; 11] = [
        Self::I1,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F32,
        Self::F64,
    ];

    /// Width in bits; 1 for [`ScalarType::I1`].
    pub fn bits(self) -> u32 {
        match self {
            Self::I1 => 1,
            Self::I8 | Self::U8 => 8,
            Self::I16 | Self::U16 => 16,
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::I64 | Self::U64 | Self::F64 => 64,
        }
    }

    /// Size in memory, in bytes; a `_Bool` takes one.
    pub fn bytes(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// `float` or `double`.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// An integer type, `_Bool` included.
    pub fn is_int(self) -> bool {
        !self.is_float()
    }

    /// A signed integer type.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Smallest value of an integer type. Zero for floats, which have no use for it.
    pub fn min_value(self) -> i128 {
        if self.is_signed() {
            -(1i128 << (self.bits() - 1))
        } else {
            0
        }
    }

    /// Largest value of an integer type. Zero for floats, which have no use for it.
    pub fn max_value(self) -> i128 {
        if self.is_float() {
            0
        } else if self.is_signed() {
            (1i128 << (self.bits() - 1)) - 1
        } else {
            (1i128 << self.bits()) - 1
        }
    }

    /// Whether every value of the integer type `self` is one of the integer type `other`.
    pub fn fits_in(self, other: ScalarType) -> bool {
        self.is_int()
            && other.is_int()
            && self.min_value() >= other.min_value()
            && self.max_value() <= other.max_value()
    }

    /// StableHLO's name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Self::I1 => "i1",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "ui8",
            Self::U16 => "ui16",
            Self::U32 => "ui32",
            Self::U64 => "ui64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The C type (`<stdint.h>` names).
    pub fn c_name(self) -> &'static str {
        match self {
            Self::I1 => "_Bool",
            Self::I8 => "int8_t",
            Self::I16 => "int16_t",
            Self::I32 => "int32_t",
            Self::I64 => "int64_t",
            Self::U8 => "uint8_t",
            Self::U16 => "uint16_t",
            Self::U32 => "uint32_t",
            Self::U64 => "uint64_t",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }

    /// The Rust type.
    pub fn rust_name(self) -> &'static str {
        match self {
            Self::I1 => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ScalarType {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|t| t.name() == s)
            .ok_or_else(|| format!("'{s}' is not a scalar type"))
    }
}

/// A value of a scalar type, kept as its bits: two NaNs with different
/// payloads differ, and so do `0.0` and `-0.0`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scalar {
    /// The type.
    pub ty: ScalarType,
    /// The bits, in the low [`ScalarType::bits`]; the rest is zero.
    pub bits: u64,
}

impl Scalar {
    /// The integer `value`, wrapped to the width of `ty`; for a float type, the nearest value.
    pub fn int(ty: ScalarType, value: i128) -> Scalar {
        match ty {
            ScalarType::F32 => Self::f32(value as f32),
            ScalarType::F64 => Self::f64(value as f64),
            _ => {
                let mask = u64::MAX >> (64 - ty.bits());
                Scalar {
                    ty,
                    bits: value as u64 & mask,
                }
            }
        }
    }

    /// A `float`.
    pub fn f32(value: f32) -> Scalar {
        Scalar {
            ty: ScalarType::F32,
            bits: value.to_bits().into(),
        }
    }

    /// A `double`.
    pub fn f64(value: f64) -> Scalar {
        Scalar {
            ty: ScalarType::F64,
            bits: value.to_bits(),
        }
    }

    /// A truth value.
    pub fn bool(value: bool) -> Scalar {
        Scalar {
            ty: ScalarType::I1,
            bits: value.into(),
        }
    }

    /// The mathematical value of an integer; for a float, its bits.
    pub fn as_int(self) -> i128 {
        let bits = i128::from(self.bits);
        if self.ty.is_signed() && bits > self.ty.max_value() {
            bits - (1i128 << self.ty.bits())
        } else {
            bits
        }
    }

    /// The value as a `double`; exact for `float` and `double`.
    pub fn as_f64(self) -> f64 {
        match self.ty {
            ScalarType::F32 => f64::from(f32::from_bits(self.bits as u32)),
            ScalarType::F64 => f64::from_bits(self.bits),
            _ => self.as_int() as f64,
        }
    }

    /// The value as a `float`; only for [`ScalarType::F32`].
    pub fn as_f32(self) -> f32 {
        debug_assert_eq!(self.ty, ScalarType::F32);
        f32::from_bits(self.bits as u32)
    }

    /// Whether the value is not zero (C's truth).
    pub fn is_true(self) -> bool {
        if self.ty.is_float() {
            self.as_f64() != 0.0
        } else {
            self.bits != 0
        }
    }

    /// The value zero (`+0.0` for floats).
    pub fn zero(ty: ScalarType) -> Scalar {
        Scalar { ty, bits: 0 }
    }

    /// Same bits, or both NaN: what a kernel that promises "the same value" is held to. NaN
    /// payloads and signs depend on the order of operands that a C compiler is free to choose.
    pub fn same(self, other: Scalar) -> bool {
        self == other
            || (self.ty == other.ty
                && self.ty.is_float()
                && self.as_f64().is_nan()
                && other.as_f64().is_nan())
    }
}

impl fmt::Display for Scalar {
    /// `3:i32`, `1.5:f32`, `inf:f32`, `-0.0:f32`, `nan:f64`; a NaN other than Rust's and C's own has its
    /// bits: `nan(0xffc00001):f32`. [`Scalar::from_str`] reads it back bit for bit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = match self.ty {
            ScalarType::F32 if self.as_f32().is_nan() => {
                nan_text(self.bits, f32::NAN.to_bits().into())
            }
            ScalarType::F64 if self.as_f64().is_nan() => nan_text(self.bits, f64::NAN.to_bits()),
            ScalarType::F32 => format!("{:?}", self.as_f32()),
            ScalarType::F64 => format!("{:?}", self.as_f64()),
            _ => self.as_int().to_string(),
        };
        write!(f, "{value}:{}", self.ty)
    }
}

fn nan_text(bits: u64, usual: u64) -> String {
    if bits == usual {
        "nan".into()
    } else {
        format!("nan({bits:#x})")
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Scalar {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let (value, ty) = s
            .split_once(':')
            .ok_or_else(|| format!("'{s}' lacks its type, as in '3:i32'"))?;
        let ty: ScalarType = ty.parse()?;
        let bad = || format!("'{value}' is not a value of type {ty}");
        if let Some(bits) = value
            .strip_prefix("nan(0x")
            .and_then(|v| v.strip_suffix(')'))
        {
            let bits = u64::from_str_radix(bits, 16).map_err(|_| bad())?;
            let v = Scalar { ty, bits };
            let fits = ty == ScalarType::F64 || bits <= u32::MAX.into();
            return if ty.is_float() && fits && v.as_f64().is_nan() {
                Ok(v)
            } else {
                Err(bad())
            };
        }
        match ty {
            ScalarType::F32 => value.parse().map(Self::f32).map_err(|_| bad()),
            ScalarType::F64 => value.parse().map(Self::f64).map_err(|_| bad()),
            _ => {
                let v: i128 = value.parse().map_err(|_| bad())?;
                if v < ty.min_value() || v > ty.max_value() {
                    return Err(bad());
                }
                Ok(Self::int(ty, v))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back() {
        for s in [
            "3:i32", "-128:i8", "255:ui8", "1.5:f32", "-0.0:f32", "inf:f64", "1e-5:f32", "1:i1",
        ] {
            let v: Scalar = s.parse().unwrap();
            assert_eq!(v.to_string().parse::<Scalar>().unwrap(), v, "{s}");
        }
        assert!("256:ui8".parse::<Scalar>().is_err());
        assert!("nan:f32".parse::<Scalar>().unwrap().as_f32().is_nan());
        for bits in [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xff80_0000] {
            let v = Scalar {
                ty: ScalarType::F32,
                bits,
            };
            assert_eq!(v.to_string().parse(), Ok(v));
        }
        assert!("nan(0x3f800000):f32".parse::<Scalar>().is_err());
        assert!("nan(0x7fc000000000):f32".parse::<Scalar>().is_err());
    }

    #[test]
    fn integers_wrap_to_their_width() {
        assert_eq!(Scalar::int(ScalarType::U8, 256 + 7).as_int(), 7);
        assert_eq!(Scalar::int(ScalarType::I8, 200).as_int(), -56);
        assert_eq!(Scalar::int(ScalarType::I64, -1).as_int(), -1);
    }
}
