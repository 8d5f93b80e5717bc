//! Small functions that printed code calls where C has no operator with LoopIR's meaning: total
//! division and shifts, maxima that keep NaN, the bits of a value.

use super::dialect::Dialect;
use super::expr::{math_call, signed, unsigned};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

/// A function that the printed file defines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Helper {
    /// Absolute value of an integer.
    Abs(ScalarType),
    /// Quotient or remainder of integers, defined for every divisor.
    Divide(BinOp, ScalarType),
    /// A sum, difference or product that wraps, where the language's own doesn't.
    Wrapping(BinOp, ScalarType),
    /// The negative, which wraps, where the language's own doesn't.
    Negative(ScalarType),
    /// A shift, defined for every count.
    Shift(BinOp, ScalarType),
    /// The larger or the smaller; NaN if either is NaN.
    Extreme(BinOp, ScalarType),
    /// A product that is rounded before it is used.
    Rounded,
    /// The same bits as another type.
    Bits(ScalarType, ScalarType),
}

fn short(ty: ScalarType) -> String {
    ty.name().replace("ui", "u")
}

impl Helper {
    /// Its C name.
    pub(super) fn name(self) -> String {
        match self {
            Helper::Abs(ty) => format!("abs_{}", short(ty)),
            Helper::Divide(op, ty) => {
                let stem = if op == BinOp::Divide { "div" } else { "rem" };
                format!("{stem}_{}", short(ty))
            }
            Helper::Wrapping(op, ty) => {
                let stem = match op {
                    BinOp::Add => "add",
                    BinOp::Subtract => "sub",
                    _ => "mul",
                };
                format!("{stem}_{}", short(ty))
            }
            Helper::Negative(ty) => format!("neg_{}", short(ty)),
            Helper::Shift(op, ty) => {
                let stem = match op {
                    BinOp::ShiftLeft => "shl",
                    BinOp::ShiftRightLogical => "shr",
                    _ => "sar",
                };
                format!("{stem}_{}", short(ty))
            }
            Helper::Extreme(op, ty) => {
                let stem = if op == BinOp::Maximum { "max" } else { "min" };
                format!("{stem}_{}", short(ty))
            }
            Helper::Rounded => "TZ_ROUNDED".into(),
            Helper::Bits(from, to) => format!("bits_{}_{}", short(from), short(to)),
        }
    }

    /// Its definition.
    pub(super) fn define(self, dialect: &Dialect) -> String {
        let (name, function) = (self.name(), dialect.function);
        let one = |ty: ScalarType, value: &str| {
            let t = ty.c_name();
            format!("{function}{t} {name}({t} x) {{ return {value}; }}\n")
        };
        let two = |ty: ScalarType, value: &str| {
            let t = ty.c_name();
            format!("{function}{t} {name}({t} a, {t} b) {{\n    return {value};\n}}\n")
        };
        match self {
            Helper::Abs(ty) if ty.is_signed() => {
                one(ty, &format!("x < 0 ? {} : x", negative(ty, "x", dialect)))
            }
            Helper::Abs(ty) => one(ty, "x"),
            Helper::Rounded => ROUNDED.into(),
            Helper::Negative(ty) => one(ty, &negative(ty, "x", dialect)),
            Helper::Bits(from, to) => {
                let (f, t) = (from.c_name(), to.c_name());
                let (declare, copy, value) = match dialect.memcpy {
                    true => (format!("{t} y;"), "memcpy(&y, &x, sizeof y);", "y"),
                    false => (
                        format!("union {{ {f} from; {t} to; }} y;"),
                        "y.from = x;",
                        "y.to",
                    ),
                };
                format!(
                    "{function}{t} {name}({f} x) {{\n    {declare}\n    {copy}\n    return {value};\n}}\n"
                )
            }
            Helper::Divide(op, ty) => two(ty, &divide(op, ty, dialect)),
            Helper::Wrapping(op, ty) => two(ty, &wrapping(op, ty)),
            Helper::Shift(op, ty) => two(ty, &shift(op, ty, dialect)),
            Helper::Extreme(op, ty) => two(ty, &extreme(op, ty, dialect)),
        }
    }
}

/// GCC 12 makes fused operations of products whose neighbours are added and subtracted, as in the product of
/// complex numbers, and pays no heed to `-ffp-contract=off`.
const ROUNDED: &str = "\
/* GCC 12 fuses products with sums and differences side by side, under -ffp-contract=off too. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_assoc_barrier)
#define TZ_ROUNDED(x) __builtin_assoc_barrier(x)
#endif
#endif
#ifndef TZ_ROUNDED
#define TZ_ROUNDED(x) (x)
#endif
";

/// The unsigned type in which C computes with numbers of this type, so that nothing overflows.
fn wide(ty: ScalarType) -> ScalarType {
    if ty.bits() <= 32 {
        ScalarType::U32
    } else {
        ScalarType::U64
    }
}

fn negative(ty: ScalarType, x: &str, dialect: &Dialect) -> String {
    let t = ty.c_name();
    match dialect.wraps {
        true => format!("({t})-{x}"),
        false => format!("({t})(0 - ({}){x})", wide(ty).c_name()),
    }
}

fn wrapping(op: BinOp, ty: ScalarType) -> String {
    let (t, u) = (ty.c_name(), wide(ty).c_name());
    let sign = match op {
        BinOp::Add => "+",
        BinOp::Subtract => "-",
        _ => "*",
    };
    format!("({t})(({u})a {sign} ({u})b)")
}

fn divide(op: BinOp, ty: ScalarType, dialect: &Dialect) -> String {
    let t = ty.c_name();
    match (op, ty.is_signed()) {
        (BinOp::Divide, true) => {
            let negative = negative(ty, "a", dialect);
            format!("b == 0 ? (a < 0 ? 1 : -1) : b == -1 ? {negative} : ({t})(a / b)")
        }
        (BinOp::Divide, false) => format!("b == 0 ? ({t})-1 : ({t})(a / b)"),
        (_, true) => format!("b == 0 ? a : b == -1 ? 0 : ({t})(a % b)"),
        (_, false) => format!("b == 0 ? a : ({t})(a % b)"),
    }
}

fn shift(op: BinOp, ty: ScalarType, dialect: &Dialect) -> String {
    let (t, u, s) = (ty.c_name(), unsigned(ty).c_name(), signed(ty).c_name());
    let (bits, count) = (ty.bits(), format!("({u})b"));
    match op {
        BinOp::ShiftLeft => {
            // A narrow number is shifted as an `int`, whose overflow may not wrap.
            let u = if dialect.wraps { u } else { wide(ty).c_name() };
            format!("{count} < {bits} ? ({t})(({u})a << b) : 0")
        }
        BinOp::ShiftRightLogical => format!("{count} < {bits} ? ({t})(({u})a >> b) : 0"),
        _ => format!("({t})(({s})a >> ({count} < {bits} ? b : {}))", bits - 1),
    }
}

fn extreme(op: BinOp, ty: ScalarType, dialect: &Dialect) -> String {
    let larger = op == BinOp::Maximum;
    let sign = if larger { ">" } else { "<" };
    if ty.is_int() {
        return format!("a {sign} b ? a : b");
    }
    // Of two zeros, +0 is the larger one.
    let zero = if larger {
        "signbit(a) ? b : a"
    } else {
        "signbit(a) ? a : b"
    };
    let nan = math_call("fabs", ty, &["a + b".into()], dialect);
    format!("isnan(a) || isnan(b) ? {nan} : a == b ? ({zero}) : a {sign} b ? a : b")
}
