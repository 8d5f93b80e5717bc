//! Small functions that printed code calls where C has no operator with LoopIR's meaning: total
//! division and shifts, maxima that keep NaN, the bits of a value.

use super::dialect::Dialect;
use super::expr::{signed, suffix, unsigned};
use crate::rows;
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
    /// For OpenMP: what keeps the larger or the smaller float by comparing, as a way to reduce.
    Kept(BinOp),
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
            Helper::Kept(op) => {
                let stem = if op == BinOp::Maximum { "max" } else { "min" };
                format!("tz_{stem}")
            }
            Helper::Rounded => "TZ_ROUNDED".into(),
            Helper::Bits(from, to) => format!("bits_{}_{}", short(from), short(to)),
        }
    }

    /// Its definition.
    pub(super) fn define(self, dialect: &Dialect) -> String {
        let (name, function) = (self.name(), dialect.function);
        let one = |op: &str, ty: ScalarType| {
            let (t, value) = (ty.c_name(), returns(op, ty, "x", dialect));
            format!("{function}{t} {name}({t} x) {{ return {value}; }}\n")
        };
        let two = |op: &str, ty: ScalarType| {
            let (t, value) = (ty.c_name(), returns(op, ty, "a", dialect));
            format!("{function}{t} {name}({t} a, {t} b) {{\n    return {value};\n}}\n")
        };
        match self {
            Helper::Abs(ty) => one("abs", ty),
            Helper::Rounded => ROUNDED.into(),
            Helper::Kept(op) => {
                let sign = if op == BinOp::Maximum { ">" } else { "<" };
                format!(
                    "TZ_PRAGMA(omp declare reduction({name}: float, double: omp_out = omp_in {sign} omp_out ? omp_in : omp_out)\n    initializer(omp_priv = omp_orig))\n"
                )
            }
            Helper::Negative(ty) => one("wrapping_negate", ty),
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
            Helper::Divide(op, ty) | Helper::Shift(op, ty) => two(&format!("total_{op}"), ty),
            Helper::Wrapping(op, ty) => two(&format!("wrapping_{op}"), ty),
            Helper::Extreme(op, ty) => two(op.name(), ty),
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

/// What the row for `op` says of parameters that are called `a`, or something else, and `b`.
fn returns(op: &str, ty: ScalarType, a: &str, dialect: &Dialect) -> String {
    let (bits, last) = (ty.bits().to_string(), (ty.bits() - 1).to_string());
    let texts = [
        ("a", a),
        ("b", "b"),
        ("t", ty.c_name()),
        ("u", unsigned(ty).c_name()),
        ("s", signed(ty).c_name()),
        ("w", wide(ty).c_name()),
        ("f", suffix(ty, dialect)),
        ("bits", &bits),
        ("last", &last),
    ];
    let form = |op: &str| rows::form(dialect.rows, op, ty);
    let text = rows::fill(form(op), &texts);
    match text.contains("{negative}") {
        true => rows::fill(
            &text,
            &[("negative", &rows::fill(form("wrapping_negate"), &texts))],
        ),
        false => text,
    }
}
