//! Small functions that printed code calls where C has no operator with LoopIR's meaning: total
//! division and shifts, maxima that keep NaN, the bits of a value.

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
    /// A shift, defined for every count.
    Shift(BinOp, ScalarType),
    /// The larger or the smaller; NaN if either is NaN.
    Extreme(BinOp, ScalarType),
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
            Helper::Bits(from, to) => format!("bits_{}_{}", short(from), short(to)),
        }
    }

    /// Its definition.
    pub(super) fn define(self) -> String {
        let name = self.name();
        match self {
            Helper::Abs(ty) => {
                let t = ty.c_name();
                let value = if ty.is_signed() {
                    format!("x < 0 ? ({t})-x : x")
                } else {
                    "x".into()
                };
                format!("static inline {t} {name}({t} x) {{ return {value}; }}\n")
            }
            Helper::Bits(from, to) => {
                let (f, t) = (from.c_name(), to.c_name());
                format!(
                    "static inline {t} {name}({f} x) {{\n    {t} y;\n    memcpy(&y, &x, sizeof y);\n    \
                     return y;\n}}\n"
                )
            }
            Helper::Divide(op, ty) => two(&name, ty, &divide(op, ty)),
            Helper::Shift(op, ty) => two(&name, ty, &shift(op, ty)),
            Helper::Extreme(op, ty) => two(&name, ty, &extreme(op, ty)),
        }
    }
}

fn two(name: &str, ty: ScalarType, value: &str) -> String {
    let t = ty.c_name();
    format!("static inline {t} {name}({t} a, {t} b) {{\n    return {value};\n}}\n")
}

fn divide(op: BinOp, ty: ScalarType) -> String {
    let t = ty.c_name();
    match (op, ty.is_signed()) {
        (BinOp::Divide, true) => {
            format!("b == 0 ? (a < 0 ? 1 : -1) : b == -1 ? ({t})-a : ({t})(a / b)")
        }
        (BinOp::Divide, false) => format!("b == 0 ? ({t})-1 : ({t})(a / b)"),
        (_, true) => format!("b == 0 ? a : b == -1 ? 0 : ({t})(a % b)"),
        (_, false) => format!("b == 0 ? a : ({t})(a % b)"),
    }
}

fn shift(op: BinOp, ty: ScalarType) -> String {
    let (t, u, s) = (ty.c_name(), unsigned(ty).c_name(), signed(ty).c_name());
    let (bits, count) = (ty.bits(), format!("({u})b"));
    match op {
        BinOp::ShiftLeft => format!("{count} < {bits} ? ({t})(({u})a << b) : 0"),
        BinOp::ShiftRightLogical => format!("{count} < {bits} ? ({t})(({u})a >> b) : 0"),
        _ => format!("({t})(({s})a >> ({count} < {bits} ? b : {}))", bits - 1),
    }
}

fn extreme(op: BinOp, ty: ScalarType) -> String {
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
    let nan = math_call("fabs", ty, &["a + b".into()]);
    format!("isnan(a) || isnan(b) ? {nan} : a == b ? ({zero}) : a {sign} b ? a : b")
}
