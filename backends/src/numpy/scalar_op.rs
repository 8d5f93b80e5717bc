//! Scalar operators on arrays.

use super::node::Emitter;
use super::py::{Code, Level, dtype};
use crate::Unsupported;
use tensorize_ir::guard::Tier;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

impl Emitter<'_> {
    pub(super) fn unary(
        &mut self,
        op: UnOp,
        ty: ScalarType,
        a: &Code,
    ) -> Result<Code, Unsupported> {
        let call = |name: &str| Code::atom(format!("{name}({})", a.s), a.full);
        let prefix = |sign: &str| Code {
            s: format!("{sign}{}", a.at(Level::Unary)),
            level: Level::Unary,
            full: a.full,
        };
        let name = match op {
            UnOp::Negate => return Ok(prefix("-")),
            UnOp::Not => return Ok(prefix("~")),
            UnOp::Abs if ty.is_int() && !ty.is_signed() => return Ok(a.clone()),
            UnOp::Abs => return Ok(call("np.abs")),
            UnOp::Sqrt => return Ok(call("np.sqrt")),
            UnOp::Floor => return Ok(call("np.floor")),
            UnOp::Ceil => return Ok(call("np.ceil")),
            UnOp::Trunc => return Ok(call("np.trunc")),
            UnOp::RoundNearestEven => return Ok(call("np.rint")),
            UnOp::RoundNearestAfz => return Ok(call("_round")),
            UnOp::Cbrt => "cbrt",
            UnOp::Exponential => "exp",
            UnOp::Exponential2 => "exp2",
            UnOp::ExponentialMinusOne => "expm1",
            UnOp::Log => "log",
            UnOp::Log2 => "log2",
            UnOp::Log10 => "log10",
            UnOp::LogPlusOne => "log1p",
            UnOp::Sine => "sin",
            UnOp::Cosine => "cos",
            UnOp::Tan => "tan",
            UnOp::Asin => "arcsin",
            UnOp::Acos => "arccos",
            UnOp::Atan => "arctan",
            UnOp::Sinh => "sinh",
            UnOp::Cosh => "cosh",
            UnOp::Tanh => "tanh",
        };
        self.own_rounding(name)?;
        Ok(call(&format!("np.{name}")))
    }

    /// NumPy's functions round in their last digits as they like.
    fn own_rounding(&mut self, name: &str) -> Result<(), Unsupported> {
        if self.allowed == Tier::Exact {
            return Err(Unsupported::new(format!(
                "np.{name} does not give the same bits as C's; allow tier real"
            )));
        }
        self.tier = Tier::Real;
        Ok(())
    }

    /// `a op b`; `b` is the literal `known`, if that is known.
    pub(super) fn binary(
        &mut self,
        op: BinOp,
        ty: ScalarType,
        a: &Code,
        b: &Code,
        known: Option<Scalar>,
    ) -> Result<Code, Unsupported> {
        use BinOp::*;
        let call = |name: &str| Code::atom(format!("{name}({}, {})", a.s, b.s), a.full || b.full);
        Ok(match op {
            Add => infix("+", Level::Sum, a, b),
            Subtract => infix("-", Level::Sum, a, b),
            Multiply => infix("*", Level::Product, a, b),
            Divide if ty.is_float() => infix("/", Level::Product, a, b),
            Divide if !ty.is_signed() && known.is_some_and(|v| v.bits != 0) => {
                infix("//", Level::Product, a, b)
            }
            Divide => call("_c_div"),
            Remainder if ty.is_float() || known.is_some_and(|v| v.bits != 0) => call("np.fmod"),
            Remainder => call("_c_rem"),
            Maximum if ty.is_int() => call("np.maximum"),
            Minimum if ty.is_int() => call("np.minimum"),
            Maximum => call("_maximum"),
            Minimum => call("_minimum"),
            MaximumNumber => call("np.fmax"),
            MinimumNumber => call("np.fmin"),
            And => infix("&", Level::And, a, b),
            Or => infix("|", Level::Or, a, b),
            Xor => infix("^", Level::Xor, a, b),
            ShiftLeft => infix("<<", Level::Shift, a, b),
            ShiftRightArithmetic
                if ty.is_signed() && known.is_some_and(|v| v.bits < u64::from(ty.bits())) =>
            {
                infix(">>", Level::Shift, a, b)
            }
            ShiftRightLogical if !ty.is_signed() => infix(">>", Level::Shift, a, b),
            ShiftRightArithmetic => call("_sar"),
            ShiftRightLogical => call("_shr"),
            Power => {
                self.own_rounding("power")?;
                call("np.power")
            }
            Atan2 => {
                self.own_rounding("arctan2")?;
                call("np.arctan2")
            }
        })
    }
}

/// `a op b`, with parentheses where they are needed.
pub(super) fn infix(sign: &str, level: Level, a: &Code, b: &Code) -> Code {
    let tighter = match level {
        Level::Sum => Level::Product,
        _ => Level::Unary,
    };
    let left = if matches!(level, Level::Sum | Level::Product) {
        level
    } else {
        Level::Unary
    };
    let s = format!("{} {sign} {}", a.at(left), b.at(tighter));
    Code {
        s,
        level,
        full: a.full || b.full,
    }
}

pub(super) fn compare(op: CmpOp, a: &Code, b: &Code) -> Code {
    let s = format!(
        "{} {} {}",
        a.at(Level::Shift),
        op.c_operator(),
        b.at(Level::Shift)
    );
    Code {
        s,
        level: Level::Compare,
        full: a.full || b.full,
    }
}

pub(super) fn convert(to: ScalarType, a: &Code) -> Code {
    Code::atom(
        format!("{}.astype({})", a.at(Level::Atom), dtype(to)),
        a.full,
    )
}

pub(super) fn select(c: &Code, t: &Code, f: &Code) -> Code {
    Code::atom(
        format!("np.where({}, {}, {})", c.s, t.s, f.s),
        c.full || t.full || f.full,
    )
}
