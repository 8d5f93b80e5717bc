//! Scalars on their way to and from a target.

use crate::Elem;

/// A scalar that a kernel takes or returns; `()` for `void`.
pub trait Value: Copy {
    /// Its type; `None` for `()`.
    const ELEM: Option<Elem>;
    /// Its bits, in the low ones.
    fn to_bits(self) -> u64;
    /// From [`Value::to_bits`].
    fn from_bits(bits: u64) -> Self;
}

impl Value for () {
    const ELEM: Option<Elem> = None;
    fn to_bits(self) -> u64 {
        0
    }
    fn from_bits(_: u64) -> Self {}
}

impl Value for bool {
    const ELEM: Option<Elem> = Some(Elem::I1);
    fn to_bits(self) -> u64 {
        self.into()
    }
    fn from_bits(bits: u64) -> Self {
        bits & 0xff != 0
    }
}

macro_rules! integers {
    ($($ty:ident as $via:ident, $elem:ident;)*) => {$(
        impl Value for $ty {
            const ELEM: Option<Elem> = Some(Elem::$elem);
            fn to_bits(self) -> u64 {
                u64::from(self as $via)
            }
            fn from_bits(bits: u64) -> Self {
                bits as $ty
            }
        }
    )*};
}

integers! {
    i8 as u8, I8; i16 as u16, I16; i32 as u32, I32; i64 as u64, I64;
    u8 as u8, U8; u16 as u16, U16; u32 as u32, U32; u64 as u64, U64;
}

macro_rules! of_pointer_width {
    ($($ty:ident as $fixed64:ident or $fixed32:ident;)*) => {$(
        impl Value for $ty {
            #[cfg(target_pointer_width = "64")]
            const ELEM: Option<Elem> = $fixed64::ELEM;
            #[cfg(not(target_pointer_width = "64"))]
            const ELEM: Option<Elem> = $fixed32::ELEM;
            fn to_bits(self) -> u64 {
                (self as u64) & (u64::MAX >> (64 - $ty::BITS))
            }
            fn from_bits(bits: u64) -> Self {
                bits as $ty
            }
        }
    )*};
}

of_pointer_width! { usize as u64 or u32; isize as i64 or i32; }

impl Value for f32 {
    const ELEM: Option<Elem> = Some(Elem::F32);
    fn to_bits(self) -> u64 {
        f32::to_bits(self).into()
    }
    fn from_bits(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
}

impl Value for f64 {
    const ELEM: Option<Elem> = Some(Elem::F64);
    fn to_bits(self) -> u64 {
        f64::to_bits(self)
    }
    fn from_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }
}

/// One argument of a call.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// A pointer; the next of the call's arrays.
    Array,
    /// A scalar.
    Scalar(Elem, u64),
}

impl Argument {
    /// A scalar.
    pub fn of<T: Value>(value: T) -> Argument {
        match T::ELEM {
            Some(elem) => Argument::Scalar(elem, value.to_bits()),
            // No kernel has a parameter of type `void`.
            None => Argument::Scalar(Elem::I1, 0),
        }
    }
}
