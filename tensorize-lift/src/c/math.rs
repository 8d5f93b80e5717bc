//! Functions of <math.h> and <stdlib.h> that are operators.

use super::expr::select;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

enum Function {
    Unary(UnOp),
    Binary(BinOp),
    /// On integers.
    IntegerAbs,
    IsNan,
    IsInf,
    /// -1 or 1 for the infinities
    InfSign,
    IsFinite,
    /// `isless` and the like, which raise no flags.
    Compare(CmpOp),
    /// `__builtin_expect` and its kin: the first argument.
    First,
    CopySign,
    /// `lrint`, `lround`: to nearest, as an integer of the call's type.
    RoundToInteger(UnOp),
    PopulationCount,
    LeadingZeros,
    TrailingZeros,
    /// The bytes in the other order, of so many bits.
    SwapBytes(ScalarType),
    Constant(f64),
}

/// The function of this name, and the type that its suffix gives its arguments, if it has one.
fn lookup(name: &str) -> Option<(Function, Option<ScalarType>)> {
    use BinOp::*;
    use Function::*;
    use UnOp::*;
    let plain = name.strip_prefix("__builtin_").unwrap_or(name);
    let builtin = plain.len() != name.len();
    let exact = match plain {
        "abs" | "labs" | "llabs" => Some(IntegerAbs),
        "isnan" => Some(IsNan),
        "isinf" => Some(IsInf),
        "isinf_sign" if builtin => Some(InfSign),
        "isfinite" | "finite" => Some(IsFinite),
        "__isnan" | "__isnanf" => Some(IsNan),
        "__finite" | "__finitef" => Some(IsFinite),
        "isless" => Some(Compare(CmpOp::Lt)),
        "islessequal" => Some(Compare(CmpOp::Le)),
        "isgreater" => Some(Compare(CmpOp::Gt)),
        "isgreaterequal" => Some(Compare(CmpOp::Ge)),
        "expect" if builtin => Some(First),
        "copysign" | "copysignf" => Some(CopySign),
        "lrint" | "lrintf" | "llrint" | "llrintf" => Some(RoundToInteger(RoundNearestEven)),
        "lround" | "lroundf" | "llround" | "llroundf" => Some(RoundToInteger(RoundNearestAfz)),
        "popcount" | "popcountl" | "popcountll" if builtin => Some(PopulationCount),
        "clz" | "clzl" | "clzll" if builtin => Some(LeadingZeros),
        "ctz" | "ctzl" | "ctzll" if builtin => Some(TrailingZeros),
        "bswap16" if builtin => Some(SwapBytes(ScalarType::U16)),
        "bswap32" if builtin => Some(SwapBytes(ScalarType::U32)),
        "bswap64" if builtin => Some(SwapBytes(ScalarType::U64)),
        "expect_with_probability" | "unpredictable" if builtin => Some(First),
        "inff" | "huge_valf" | "inf" | "huge_val" if builtin => Some(Constant(f64::INFINITY)),
        "nanf" | "nan" if builtin => Some(Constant(f64::NAN)),
        _ => None,
    };
    if let Some(f) = exact {
        return Some((f, None));
    }
    let base = |name: &str| {
        Some(match name {
            "fabs" => Unary(UnOp::Abs),
            "sqrt" => Unary(Sqrt),
            "cbrt" => Unary(Cbrt),
            "exp" => Unary(Exponential),
            "exp2" => Unary(Exponential2),
            "expm1" => Unary(ExponentialMinusOne),
            "log" => Unary(Log),
            "log2" => Unary(Log2),
            "log10" => Unary(Log10),
            "log1p" => Unary(LogPlusOne),
            "sin" => Unary(Sine),
            "cos" => Unary(Cosine),
            "tan" => Unary(Tan),
            "asin" => Unary(Asin),
            "acos" => Unary(Acos),
            "atan" => Unary(Atan),
            "sinh" => Unary(Sinh),
            "cosh" => Unary(Cosh),
            "tanh" => Unary(Tanh),
            "erf" => Unary(Erf),
            "erfc" => Unary(Erfc),
            "floor" => Unary(Floor),
            "ceil" => Unary(Ceil),
            "trunc" => Unary(Trunc),
            "round" => Unary(RoundNearestAfz),
            "rint" | "nearbyint" => Unary(RoundNearestEven),
            "fmax" => Binary(MaximumNumber),
            "fmin" => Binary(MinimumNumber),
            "fmod" => Binary(Remainder),
            "pow" => Binary(Power),
            "atan2" => Binary(Atan2),
            _ => return None,
        })
    };
    if let Some(f) = base(plain) {
        return Some((f, Some(ScalarType::F64)));
    }
    plain
        .strip_suffix('f')
        .and_then(base)
        .map(|f| (f, Some(ScalarType::F32)))
}

/// The name without suffix of a function that [`fused`] says in other words, and the type of its arguments.
fn rounded_otherwise(name: &str) -> Option<(&str, ScalarType)> {
    let plain = name.strip_prefix("__builtin_").unwrap_or(name);
    let (function, ty) = match plain.strip_suffix('f') {
        Some(function) => (function, ScalarType::F32),
        None => (plain, ScalarType::F64),
    };
    matches!(function, "fma" | "hypot").then_some((function, ty))
}

/// `fma(a, b, c)`, which rounds once, and `hypot(a, b)`, of which libraries round in ways of their own: products, sums and a
/// root, if no more is claimed of them than that.
pub(super) fn fused(name: &str, args: &[Expr]) -> Option<Expr> {
    let (function, ty) = rounded_otherwise(name)?;
    if args.iter().any(|a| a.ty() != ty) {
        return None;
    }
    let product = |a: &Expr, b: &Expr| Expr::binary(BinOp::Multiply, a.clone(), b.clone());
    match (function, args) {
        ("fma", [a, b, c]) => Some(Expr::binary(BinOp::Add, product(a, b), c.clone())),
        ("hypot", [_, _] | [_, _, _]) => {
            let squares = args.iter().map(|a| product(a, a));
            let sum = squares.reduce(|a, b| Expr::binary(BinOp::Add, a, b))?;
            Some(Expr::Unary(UnOp::Sqrt, Box::new(sum)))
        }
        _ => None,
    }
}

/// Whether C leaves the bits of a call open: `fmax` and `fmin` may give either of two zeros, and compilers make
/// `x * x` of `pow(x, 2)`, which rounds otherwise. GCC, clang and their libraries really do differ here.
pub(super) fn is_open(call: &Expr) -> bool {
    match call {
        Expr::Binary(BinOp::MaximumNumber | BinOp::MinimumNumber, a, b) => {
            !is_nonzero_literal(a) && !is_nonzero_literal(b)
        }
        Expr::Binary(BinOp::Power, a, b) => literal(a).is_some() || literal(b).is_some(),
        _ => false,
    }
}

fn is_nonzero_literal(e: &Expr) -> bool {
    literal(e).is_some_and(|v| v != 0.0 && !v.is_nan())
}

/// The value of a literal, perhaps converted.
fn literal(e: &Expr) -> Option<f64> {
    match e {
        Expr::Const(v) if v.ty.is_float() => Some(v.as_f64()),
        Expr::Const(v) => Some(v.as_int() as f64),
        Expr::Convert(_, inner) => literal(inner),
        Expr::Unary(UnOp::Negate, inner) => literal(inner).map(|v| -v),
        _ => None,
    }
}

/// Whether a call of this function is an operator.
pub(super) fn is_known(name: &str) -> bool {
    lookup(name).is_some() || rounded_otherwise(name).is_some()
}

/// Whether the name has a suffix that says its type, as `sqrtf` has.
pub(super) fn is_suffixed(name: &str) -> bool {
    let by_lookup = lookup(name).and_then(|(_, ty)| ty);
    let ty = by_lookup.or_else(|| rounded_otherwise(name).map(|(_, ty)| ty));
    ty == Some(ScalarType::F32)
}

/// Whether integers are converted to `double` for it, as `<cmath>` does.
pub(super) fn takes_floats(name: &str) -> bool {
    match lookup(name) {
        None => matches!(rounded_otherwise(name), Some((_, ScalarType::F64))),
        Some((Function::IntegerAbs | Function::First, _)) => false,
        Some((_, Some(ScalarType::F32))) => false,
        Some(_) => true,
    }
}

/// The call as an expression. `None` if the arguments are not those of the function we know.
pub(super) fn operator(name: &str, args: &[Expr]) -> Option<Expr> {
    let (function, ty) = lookup(name)?;
    if ty.is_some_and(|ty| args.iter().any(|a| a.ty() != ty)) {
        return None;
    }
    let float = |a: &Expr| a.ty().is_float();
    let constant = |like: &Expr, v: f64| {
        Expr::Const(if like.ty() == ScalarType::F32 {
            Scalar::f32(v as f32)
        } else {
            Scalar::f64(v)
        })
    };
    Some(match (function, args) {
        (Function::Unary(op), [a]) => Expr::Unary(op, Box::new(a.clone())),
        (Function::Binary(op), [a, b]) => Expr::binary(op, a.clone(), b.clone()),
        (Function::IntegerAbs, [a]) if a.ty().is_signed() => {
            Expr::Unary(UnOp::Abs, Box::new(a.clone()))
        }
        (Function::IsNan, [a]) if float(a) => Expr::compare(CmpOp::Ne, a.clone(), a.clone()),
        (Function::IsInf, [a]) if float(a) => {
            let abs = Expr::Unary(UnOp::Abs, Box::new(a.clone()));
            Expr::compare(CmpOp::Eq, abs, constant(a, f64::INFINITY))
        }
        (Function::InfSign, [a]) if float(a) => {
            let is = |v| Expr::compare(CmpOp::Eq, a.clone(), constant(a, v));
            let int = |v| Expr::int(ScalarType::I32, v);
            select(
                is(f64::INFINITY),
                int(1),
                select(is(f64::NEG_INFINITY), int(-1), int(0)),
            )
        }
        (Function::IsFinite, [a]) if float(a) => {
            let abs = Expr::Unary(UnOp::Abs, Box::new(a.clone()));
            Expr::compare(CmpOp::Lt, abs, constant(a, f64::INFINITY))
        }
        (Function::Compare(op), [a, b]) if float(a) && a.ty() == b.ty() => {
            Expr::compare(op, a.clone(), b.clone())
        }
        (Function::First, [a, ..]) => a.clone(),
        (Function::CopySign, [a, b]) if float(a) && a.ty() == b.ty() => {
            let (ty, bits) = (a.ty(), integer_of(a.ty())?);
            let sign = Expr::int(bits, 1i128 << (bits.bits() - 1));
            let as_bits = |e: &Expr| Expr::Bitcast(bits, Box::new(e.clone()));
            let rest = Expr::Unary(UnOp::Not, Box::new(sign.clone()));
            let magnitude = Expr::binary(BinOp::And, as_bits(a), rest);
            let signed = Expr::binary(BinOp::And, as_bits(b), sign);
            Expr::Bitcast(ty, Box::new(Expr::binary(BinOp::Or, magnitude, signed)))
        }
        (Function::RoundToInteger(how), [a]) if float(a) => {
            let rounded = Expr::Unary(how, Box::new(a.clone()));
            Expr::Convert(ScalarType::I64, Box::new(rounded))
        }
        (Function::PopulationCount, [a]) if a.ty().is_int() => {
            super::lower::convert(ScalarType::I32, ones(a.clone()))
        }
        (Function::LeadingZeros, [a]) if a.ty().is_int() => leading_zeros(a),
        (Function::TrailingZeros, [a]) if a.ty().is_int() => trailing_zeros(a),
        (Function::SwapBytes(ty), [a]) if a.ty() == ty => bytes_swapped(a),
        (Function::Constant(v), []) => {
            let single = name.ends_with('f') && !name.ends_with("inf") || name.ends_with("inff");
            Expr::Const(if single {
                Scalar::f32(v as f32)
            } else {
                Scalar::f64(v)
            })
        }
        _ => return None,
    })
}

/// The unsigned integer of a float's width.
fn integer_of(float: ScalarType) -> Option<ScalarType> {
    super::types::integer(float.bits().into(), false)
}

/// An unsigned integer with its bytes in the other order: neighbours change places, then pairs, then fours.
fn bytes_swapped(e: &Expr) -> Expr {
    let (ty, mut e) = (e.ty(), e.clone());
    let mut by = 8;
    while by < ty.bits() {
        // Of each two groups of `by` bits, the lower one.
        let low = (0..64 / by)
            .step_by(2)
            .fold(0u64, |m, group| m | ((1u64 << by) - 1) << (group * by));
        let low = Expr::int(ty, i128::from(low << (64 - ty.bits()) >> (64 - ty.bits())));
        let by_it = Expr::int(ty, by.into());
        let down = Expr::binary(BinOp::ShiftRightLogical, e.clone(), by_it.clone());
        let down = Expr::binary(BinOp::And, down, low.clone());
        let up = Expr::binary(BinOp::ShiftLeft, Expr::binary(BinOp::And, e, low), by_it);
        e = Expr::binary(BinOp::Or, up, down);
        by *= 2;
    }
    e
}

/// How many bits above the first one set there are; all of them if none is.
fn leading_zeros(a: &Expr) -> Expr {
    // All bits below the first one set; what is left over is above it.
    let ty = a.ty();
    let mut e = a.clone();
    let mut by = 1;
    while by < ty.bits() {
        let shifted = Expr::binary(
            BinOp::ShiftRightLogical,
            e.clone(),
            Expr::int(ty, by.into()),
        );
        e = Expr::binary(BinOp::Or, e, shifted);
        by *= 2;
    }
    let free = Expr::Unary(UnOp::Not, Box::new(e));
    super::lower::convert(ScalarType::I32, ones(free))
}

/// How many bits below the last one set there are; all of them if none is.
fn trailing_zeros(a: &Expr) -> Expr {
    let one = Expr::int(a.ty(), 1);
    let below = Expr::binary(BinOp::Subtract, a.clone(), one);
    let above = Expr::Unary(UnOp::Not, Box::new(a.clone()));
    let zeros = Expr::binary(BinOp::And, above, below);
    super::lower::convert(ScalarType::I32, ones(zeros))
}

/// A function of C++20's `<bit>` on an unsigned integer, as an integer of its own type or an `int`.
pub(super) fn of_bits(name: &str, a: &Expr, by: Option<&Expr>) -> Option<Expr> {
    let ty = a.ty();
    let bits = i128::from(ty.bits());
    Some(match (name, by) {
        ("popcount", None) => super::lower::convert(ScalarType::I32, ones(a.clone())),
        ("countl_zero", None) => leading_zeros(a),
        ("countr_zero", None) => trailing_zeros(a),
        ("bit_width", None) => Expr::binary(
            BinOp::Subtract,
            Expr::int(ScalarType::I32, bits),
            leading_zeros(a),
        ),
        ("has_single_bit", None) => Expr::compare(CmpOp::Eq, ones(a.clone()), Expr::int(ty, 1)),
        // By so many places modulo the width, which is a power of two; below zero, the other way.
        ("rotl" | "rotr", Some(by)) if by.ty() == ScalarType::I32 => {
            let most = Expr::int(ScalarType::I32, bits - 1);
            let back = Expr::Unary(UnOp::Negate, Box::new(by.clone()));
            let places = |by: &Expr| {
                let by = Expr::binary(BinOp::And, by.clone(), most.clone());
                super::lower::convert(ty, by)
            };
            let (left, right) = match name {
                "rotl" => (places(by), places(&back)),
                _ => (places(&back), places(by)),
            };
            let left = Expr::binary(BinOp::ShiftLeft, a.clone(), left);
            let right = Expr::binary(BinOp::ShiftRightLogical, a.clone(), right);
            Expr::binary(BinOp::Or, left, right)
        }
        _ => return None,
    })
}

/// How many bits of an unsigned integer are set, counted in pairs, fours, and bytes.
fn ones(e: Expr) -> Expr {
    let ty = e.ty();
    let all = |byte: u8| {
        Expr::int(
            ty,
            i128::from(u64::from_ne_bytes([byte; 8]) >> (64 - ty.bits())),
        )
    };
    let right = |e: Expr, by: i128| Expr::binary(BinOp::ShiftRightLogical, e, Expr::int(ty, by));
    let and = |e: Expr, byte| Expr::binary(BinOp::And, e, all(byte));
    let e = Expr::binary(BinOp::Subtract, e.clone(), and(right(e, 1), 0x55));
    let e = Expr::binary(BinOp::Add, and(e.clone(), 0x33), and(right(e, 2), 0x33));
    let e = and(Expr::binary(BinOp::Add, e.clone(), right(e, 4)), 0x0f);
    let sum = Expr::binary(BinOp::Multiply, e, all(1));
    right(sum, i128::from(ty.bits()) - 8)
}
