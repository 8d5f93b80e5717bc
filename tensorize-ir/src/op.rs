//! Scalar operators, under StableHLO's names, with their meaning.
//!
//! Every operator is a *total* function, so that an unselected branch has a
//! value. Where C leaves the result undefined, the value is SMT-LIB's: `x / 0`
//! is all ones for unsigned and ±1 for signed types, `x % 0` is `x`, a shift by
//! the width or more shifts everything out. [`binary_undefined`] and
//! [`convert_undefined`] say where C's behaviour is undefined; a proof speaks
//! only of inputs on which it isn't.

use crate::libm::{CubeRoot, ErrorFunction};
use crate::scalar::{Scalar, ScalarType};

macro_rules! named_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// Every variant.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// StableHLO's name, or ours where StableHLO has none.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// The variant with this name.
            pub fn from_name(name: &str) -> Option<$name> {
                match name { $($text => Some($name::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named_enum! {
    /// Operators of one operand. Operand and result have one type.
    UnOp {
        /// `-x`; wraps for integers
        Negate = "negate",
        /// `~x`; on `i1`, logical not
        Not = "not",
        /// `abs`, `fabs`
        Abs = "abs",
        /// `sqrt`
        Sqrt = "sqrt",
        /// `cbrt`
        Cbrt = "cbrt",
        /// `exp`
        Exponential = "exponential",
        /// `exp2`
        Exponential2 = "exponential2",
        /// `expm1`
        ExponentialMinusOne = "exponential_minus_one",
        /// `log`
        Log = "log",
        /// `log2`
        Log2 = "log2",
        /// `log10`
        Log10 = "log10",
        /// `log1p`
        LogPlusOne = "log_plus_one",
        /// `sin`
        Sine = "sine",
        /// `cos`
        Cosine = "cosine",
        /// `tan`
        Tan = "tan",
        /// `asin`
        Asin = "asin",
        /// `acos`
        Acos = "acos",
        /// `atan`
        Atan = "atan",
        /// `sinh`
        Sinh = "sinh",
        /// `cosh`
        Cosh = "cosh",
        /// `tanh`
        Tanh = "tanh",
        /// `erf`
        Erf = "erf",
        /// `erfc`
        Erfc = "erfc",
        /// `floor`
        Floor = "floor",
        /// `ceil`
        Ceil = "ceil",
        /// `trunc`
        Trunc = "trunc",
        /// `round`: halves away from zero
        RoundNearestAfz = "round_nearest_afz",
        /// `rint`, `nearbyint`: halves to even
        RoundNearestEven = "round_nearest_even",
    }
}

named_enum! {
    /// Operators of two operands of one type, which is also the result's.
    BinOp {
        /// `a + b`; wraps for integers
        Add = "add",
        /// `a - b`; wraps for integers
        Subtract = "subtract",
        /// `a * b`; wraps for integers
        Multiply = "multiply",
        /// `a / b`; integers truncate towards zero, as in C
        Divide = "divide",
        /// `a % b`, `fmod`; the sign is the dividend's, as in C
        Remainder = "remainder",
        /// The larger; NaN if either is NaN (IEEE 754-2019 `maximum`)
        Maximum = "maximum",
        /// The smaller; NaN if either is NaN (IEEE 754-2019 `minimum`)
        Minimum = "minimum",
        /// C's `fmax`: a NaN operand is passed over
        MaximumNumber = "maximum_number",
        /// C's `fmin`: a NaN operand is passed over
        MinimumNumber = "minimum_number",
        /// `a & b`
        And = "and",
        /// `a | b`
        Or = "or",
        /// `a ^ b`
        Xor = "xor",
        /// `a << b`
        ShiftLeft = "shift_left",
        /// `a >> b` with copies of the sign
        ShiftRightArithmetic = "shift_right_arithmetic",
        /// `a >> b` with zeros
        ShiftRightLogical = "shift_right_logical",
        /// `pow`
        Power = "power",
        /// `atan2`
        Atan2 = "atan2",
    }
}

named_enum! {
    /// Comparison directions. For floats all are false on NaN, except `NE`.
    CmpOp {
        /// `==`
        Eq = "EQ",
        /// `!=`
        Ne = "NE",
        /// `<`
        Lt = "LT",
        /// `<=`
        Le = "LE",
        /// `>`
        Gt = "GT",
        /// `>=`
        Ge = "GE",
    }
}

impl CmpOp {
    /// The direction with its operands swapped: `a < b` is `b > a`.
    pub fn swapped(self) -> CmpOp {
        match self {
            CmpOp::Lt => CmpOp::Gt,
            CmpOp::Le => CmpOp::Ge,
            CmpOp::Gt => CmpOp::Lt,
            CmpOp::Ge => CmpOp::Le,
            other => other,
        }
    }

    /// The opposite, for integers: `!(a < b)` is `a >= b`. Wrong for floats, because of NaN.
    pub fn negated(self) -> CmpOp {
        match self {
            CmpOp::Eq => CmpOp::Ne,
            CmpOp::Ne => CmpOp::Eq,
            CmpOp::Lt => CmpOp::Ge,
            CmpOp::Le => CmpOp::Gt,
            CmpOp::Gt => CmpOp::Le,
            CmpOp::Ge => CmpOp::Lt,
        }
    }

    /// Decides the comparison of two ordered values.
    pub fn holds<T: PartialOrd>(self, a: &T, b: &T) -> bool {
        match self {
            CmpOp::Eq => a == b,
            CmpOp::Ne => a != b,
            CmpOp::Lt => a < b,
            CmpOp::Le => a <= b,
            CmpOp::Gt => a > b,
            CmpOp::Ge => a >= b,
        }
    }

    /// C's spelling.
    pub fn c_operator(self) -> &'static str {
        match self {
            CmpOp::Eq => "==",
            CmpOp::Ne => "!=",
            CmpOp::Lt => "<",
            CmpOp::Le => "<=",
            CmpOp::Gt => ">",
            CmpOp::Ge => ">=",
        }
    }
}

impl UnOp {
    /// Whether the operator is defined on operands of this type.
    pub fn accepts(self, ty: ScalarType) -> bool {
        match self {
            UnOp::Negate | UnOp::Abs => ty != ScalarType::I1,
            UnOp::Not => ty.is_int(),
            _ => ty.is_float(),
        }
    }
}

impl BinOp {
    /// Whether the operator is defined on operands of this type.
    pub fn accepts(self, ty: ScalarType) -> bool {
        use BinOp::*;
        match self {
            And | Or | Xor => ty.is_int(),
            ShiftLeft | ShiftRightArithmetic | ShiftRightLogical => {
                ty.is_int() && ty != ScalarType::I1
            }
            MaximumNumber | MinimumNumber | Power | Atan2 => ty.is_float(),
            Add | Subtract | Multiply | Divide | Remainder | Maximum | Minimum => {
                ty != ScalarType::I1
            }
        }
    }

    /// `a ∘ b = b ∘ a`, bit for bit (up to the payload of a NaN).
    pub fn is_commutative(self) -> bool {
        use BinOp::*;
        matches!(self, Add | Multiply | Maximum | Minimum | And | Or | Xor)
    }

    /// `(a ∘ b) ∘ c = a ∘ (b ∘ c)` bit for bit, on operands of type `ty`.
    pub fn is_associative(self, ty: ScalarType) -> bool {
        use BinOp::*;
        match self {
            Add | Multiply => ty.is_int(),
            Maximum | Minimum | And | Or | Xor => true,
            _ => false,
        }
    }
}

macro_rules! float_unary {
    ($f:ty, $op:expr, $x:expr) => {{
        let x: $f = $x;
        match $op {
            UnOp::Negate => -x,
            UnOp::Not => x,
            UnOp::Abs => x.abs(),
            UnOp::Sqrt => x.sqrt(),
            UnOp::Cbrt => x.cube_root(),
            UnOp::Exponential => x.exp(),
            UnOp::Exponential2 => x.exp2(),
            UnOp::ExponentialMinusOne => x.exp_m1(),
            UnOp::Log => x.ln(),
            UnOp::Log2 => x.log2(),
            UnOp::Log10 => x.log10(),
            UnOp::LogPlusOne => x.ln_1p(),
            UnOp::Sine => x.sin(),
            UnOp::Cosine => x.cos(),
            UnOp::Tan => x.tan(),
            UnOp::Asin => x.asin(),
            UnOp::Acos => x.acos(),
            UnOp::Atan => x.atan(),
            UnOp::Sinh => x.sinh(),
            UnOp::Cosh => x.cosh(),
            UnOp::Tanh => x.tanh(),
            UnOp::Erf => x.error_function(),
            UnOp::Erfc => x.complementary_error_function(),
            UnOp::Floor => x.floor(),
            UnOp::Ceil => x.ceil(),
            UnOp::Trunc => x.trunc(),
            UnOp::RoundNearestAfz => x.round(),
            UnOp::RoundNearestEven => x.round_ties_even(),
        }
    }};
}

macro_rules! float_binary {
    ($f:ty, $op:expr, $a:expr, $b:expr) => {{
        let (a, b): ($f, $f) = ($a, $b);
        match $op {
            BinOp::Add => a + b,
            BinOp::Subtract => a - b,
            BinOp::Multiply => a * b,
            BinOp::Divide => a / b,
            BinOp::Remainder => a % b,
            BinOp::Maximum if a.is_nan() || b.is_nan() => <$f>::NAN,
            BinOp::Minimum if a.is_nan() || b.is_nan() => <$f>::NAN,
            // +0 counts as larger than -0.
            BinOp::Maximum if a == b => {
                if a.is_sign_positive() {
                    a
                } else {
                    b
                }
            }
            BinOp::Minimum if a == b => {
                if a.is_sign_negative() {
                    a
                } else {
                    b
                }
            }
            BinOp::Maximum => {
                if a > b {
                    a
                } else {
                    b
                }
            }
            BinOp::Minimum => {
                if a < b {
                    a
                } else {
                    b
                }
            }
            // C leaves open which of two zeros is the larger one: what may have two is of tier `real`.
            BinOp::MaximumNumber => {
                if b.is_nan() || a >= b {
                    a
                } else {
                    b
                }
            }
            BinOp::MinimumNumber => {
                if b.is_nan() || a <= b {
                    a
                } else {
                    b
                }
            }
            BinOp::Power => a.powf(b),
            BinOp::Atan2 => a.atan2(b),
            _ => a,
        }
    }};
}

/// Applies `op` to `a`.
pub fn eval_unary(op: UnOp, a: Scalar) -> Scalar {
    debug_assert!(op.accepts(a.ty), "{op} on {}", a.ty);
    match a.ty {
        ScalarType::F32 => Scalar::f32(float_unary!(f32, op, a.as_f32())),
        ScalarType::F64 => Scalar::f64(float_unary!(f64, op, a.as_f64())),
        ty => Scalar::int(
            ty,
            match op {
                UnOp::Negate => -a.as_int(),
                UnOp::Abs => a.as_int().abs(),
                _ => !a.as_int(),
            },
        ),
    }
}

/// Applies `op` to `a` and `b`, which are of one type.
pub fn eval_binary(op: BinOp, a: Scalar, b: Scalar) -> Scalar {
    debug_assert!(
        a.ty == b.ty && op.accepts(a.ty),
        "{op} on {} and {}",
        a.ty,
        b.ty
    );
    let ty = a.ty;
    match ty {
        ScalarType::F32 => return Scalar::f32(float_binary!(f32, op, a.as_f32(), b.as_f32())),
        ScalarType::F64 => return Scalar::f64(float_binary!(f64, op, a.as_f64(), b.as_f64())),
        _ => {}
    }
    let (x, y) = (a.as_int(), b.as_int());
    // The shift count is read as unsigned, as SMT-LIB does.
    let (width, count) = (ty.bits(), b.bits);
    let value = match op {
        BinOp::Add => x + y,
        BinOp::Subtract => x - y,
        BinOp::Multiply => x.wrapping_mul(y),
        BinOp::Divide if y == 0 => {
            if ty.is_signed() && x < 0 {
                1
            } else {
                -1
            }
        }
        BinOp::Divide => x / y,
        BinOp::Remainder if y == 0 => x,
        BinOp::Remainder => x % y,
        BinOp::Maximum => x.max(y),
        BinOp::Minimum => x.min(y),
        BinOp::And => x & y,
        BinOp::Or => x | y,
        BinOp::Xor => x ^ y,
        BinOp::ShiftLeft if count >= width.into() => 0,
        BinOp::ShiftLeft => x << count,
        BinOp::ShiftRightLogical if count >= width.into() => 0,
        BinOp::ShiftRightLogical => i128::from(a.bits >> count),
        BinOp::ShiftRightArithmetic => {
            // On an unsigned type the topmost bit counts as the sign all the same.
            let signed = if a.bits >> (width - 1) & 1 == 1 && x >= 0 {
                x - (1 << width)
            } else {
                x
            };
            signed >> count.min(127)
        }
        _ => x,
    };
    Scalar::int(ty, value)
}

/// Compares `a` and `b`, which are of one type.
pub fn eval_compare(op: CmpOp, a: Scalar, b: Scalar) -> bool {
    debug_assert_eq!(a.ty, b.ty);
    if a.ty.is_float() {
        op.holds(&a.as_f64(), &b.as_f64())
    } else {
        op.holds(&a.as_int(), &b.as_int())
    }
}

/// Converts `a` to `to` as a C cast does: integers wrap, floats round to nearest, float to
/// integer truncates (and saturates where C leaves it undefined), anything to `i1` is `a != 0`.
pub fn eval_convert(to: ScalarType, a: Scalar) -> Scalar {
    match (a.ty, to) {
        (from, to) if from == to => a,
        (_, ScalarType::I1) => Scalar::bool(a.is_true()),
        (ScalarType::F64, ScalarType::F32) => Scalar::f32(a.as_f64() as f32),
        (ScalarType::F32, ScalarType::F64) => Scalar::f64(a.as_f64()),
        (from, to) if from.is_float() => {
            let v = a.as_f64();
            let truncated = if v.is_nan() { 0 } else { v.trunc() as i128 };
            Scalar::int(to, truncated.clamp(to.min_value(), to.max_value()))
        }
        _ => Scalar::int(to, a.as_int()),
    }
}

/// Why C leaves `a op b` undefined, if it does.
pub fn binary_undefined(op: BinOp, a: Scalar, b: Scalar) -> Option<&'static str> {
    let ty = a.ty;
    if ty.is_float() {
        return None;
    }
    let (x, y) = (a.as_int(), b.as_int());
    let overflows = |v: i128| ty.is_signed() && (v < ty.min_value() || v > ty.max_value());
    match op {
        BinOp::Add if overflows(x + y) => Some("signed overflow"),
        BinOp::Subtract if overflows(x - y) => Some("signed overflow"),
        BinOp::Multiply if x.checked_mul(y).is_none_or(overflows) => {
            ty.is_signed().then_some("signed overflow")
        }
        BinOp::Divide | BinOp::Remainder if y == 0 => Some("division by zero"),
        BinOp::Divide | BinOp::Remainder if overflows(x / y) => Some("signed overflow"),
        BinOp::ShiftLeft | BinOp::ShiftRightArithmetic | BinOp::ShiftRightLogical
            if y < 0 || y >= ty.bits().into() =>
        {
            Some("shift by a negative count, or by the width or more")
        }
        _ => None,
    }
}

/// Why C leaves `op a` undefined, if it does.
pub fn unary_undefined(op: UnOp, a: Scalar) -> Option<&'static str> {
    (matches!(op, UnOp::Negate | UnOp::Abs) && a.ty.is_signed() && a.as_int() == a.ty.min_value())
        .then_some("signed overflow")
}

/// Why C leaves the conversion of `a` to `to` undefined, if it does.
pub fn convert_undefined(to: ScalarType, a: Scalar) -> Option<&'static str> {
    if !a.ty.is_float() || to.is_float() || to == ScalarType::I1 {
        return None;
    }
    let v = a.as_f64().trunc();
    (v.is_nan() || v < to.min_value() as f64 || v >= to.max_value() as f64 + 1.0)
        .then_some("conversion of a float that the integer type cannot hold")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarType::*;

    fn bin(op: BinOp, ty: ScalarType, a: i128, b: i128) -> i128 {
        eval_binary(op, Scalar::int(ty, a), Scalar::int(ty, b)).as_int()
    }

    #[test]
    fn names_read_back() {
        assert!(
            UnOp::ALL
                .iter()
                .all(|o| UnOp::from_name(o.name()) == Some(*o))
        );
        assert!(
            BinOp::ALL
                .iter()
                .all(|o| BinOp::from_name(o.name()) == Some(*o))
        );
        assert!(
            CmpOp::ALL
                .iter()
                .all(|o| CmpOp::from_name(o.name()) == Some(*o))
        );
    }

    #[test]
    fn integers_wrap_and_truncate_as_in_c() {
        assert_eq!(bin(BinOp::Add, U8, 200, 100), 44);
        assert_eq!(bin(BinOp::Divide, I32, -7, 2), -3);
        assert_eq!(bin(BinOp::Remainder, I32, -7, 2), -1);
        assert_eq!(
            bin(BinOp::Divide, I32, i32::MIN.into(), -1),
            i32::MIN.into()
        );
        assert_eq!(bin(BinOp::ShiftRightArithmetic, I32, -8, 1), -4);
        assert_eq!(
            bin(BinOp::ShiftRightLogical, U32, 0xffff_fff8, 1),
            0x7fff_fffc
        );
    }

    #[test]
    fn undefined_points_have_smt_lib_values() {
        assert_eq!(bin(BinOp::Divide, U8, 9, 0), 255);
        assert_eq!(bin(BinOp::Divide, I32, 9, 0), -1);
        assert_eq!(bin(BinOp::Divide, I32, -9, 0), 1);
        assert_eq!(bin(BinOp::Remainder, I32, 9, 0), 9);
        assert_eq!(bin(BinOp::ShiftLeft, I32, 1, 32), 0);
        let int = |v| Scalar::int(I32, v);
        assert!(binary_undefined(BinOp::Divide, int(1), int(0)).is_some());
        assert!(binary_undefined(BinOp::Add, int(i32::MAX.into()), int(1)).is_some());
        assert!(binary_undefined(BinOp::Add, Scalar::int(U8, 255), Scalar::int(U8, 1)).is_none());
    }

    #[test]
    fn fmax_passes_over_nan_and_keeps_the_first_of_two_zeros() {
        let max = |a, b| eval_binary(BinOp::MaximumNumber, Scalar::f32(a), Scalar::f32(b));
        let min = |a, b| eval_binary(BinOp::MinimumNumber, Scalar::f32(a), Scalar::f32(b));
        assert_eq!(
            (max(f32::NAN, 1.0), max(1.0, f32::NAN)),
            (Scalar::f32(1.0), Scalar::f32(1.0))
        );
        assert_eq!(
            (max(1.0, 2.0), min(1.0, 2.0)),
            (Scalar::f32(2.0), Scalar::f32(1.0))
        );
        assert_eq!(
            (max(-0.0, 0.0), min(0.0, -0.0)),
            (Scalar::f32(-0.0), Scalar::f32(0.0))
        );
        assert_eq!(
            (min(f32::NAN, 1.0), min(1.0, f32::NAN)),
            (Scalar::f32(1.0), Scalar::f32(1.0))
        );
    }

    #[test]
    fn the_error_function_and_what_is_left_of_one() {
        let is = |op, x, y: f64| {
            let f32 = eval_unary(op, Scalar::f32(x as f32)).as_f64();
            let f64 = eval_unary(op, Scalar::f64(x)).as_f64();
            assert!(
                (f64 - y).abs() < 1e-15 && (f32 - y).abs() < 1e-7,
                "{op} {x}"
            );
        };
        is(UnOp::Erf, 1.0, 0.842_700_792_949_714_9);
        is(UnOp::Erf, -0.25, -0.276_326_390_168_236_9);
        is(UnOp::Erfc, 1.0, 0.157_299_207_050_285_13);
        is(UnOp::Erfc, -2.0, 1.995_322_265_018_952_7);
        let far = eval_unary(UnOp::Erfc, Scalar::f64(20.0)).as_f64();
        assert!(
            far > 0.0 && far < 1e-170,
            "not 1 - erf, of which nothing is left"
        );
    }

    #[test]
    fn conversions_follow_c() {
        assert_eq!(eval_convert(U8, Scalar::int(I32, -1)).as_int(), 255);
        assert_eq!(eval_convert(I32, Scalar::f32(-2.9)).as_int(), -2);
        assert_eq!(eval_convert(I1, Scalar::f32(0.5)).as_int(), 1);
        assert!(convert_undefined(U8, Scalar::f32(256.0)).is_some());
        assert!(convert_undefined(U8, Scalar::f32(255.5)).is_none());
    }
}
