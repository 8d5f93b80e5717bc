//! Scalar operators on tensors, with C's meaning.

use super::program::{Program, Value};
use crate::Unsupported;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

impl Program<'_> {
    pub(super) fn unary(&mut self, op: UnOp, a: &Value) -> Result<Value, Unsupported> {
        self.host.float_step(a.elem)?;
        let float = |x: f64| match a.elem {
            ScalarType::F32 => Scalar::f32(x as f32),
            _ => Scalar::f64(x),
        };
        match op {
            UnOp::Trunc => {
                let zero = self.splat(float(0.0), &a.shape)?;
                let negative = self.compare(CmpOp::Lt, a, &zero)?;
                let up = self.elementwise("ceil", &[a])?;
                let down = self.elementwise("floor", &[a])?;
                self.select(&negative, &up, &down)
            }
            UnOp::Exponential2 => {
                let two = self.splat(float(2.0), &a.shape)?;
                self.elementwise("power", &[&two, a])
            }
            UnOp::Log2 | UnOp::Log10 => {
                let base: f64 = if op == UnOp::Log2 { 2.0 } else { 10.0 };
                let factor = self.splat(float(base.ln().recip()), &a.shape)?;
                let log = self.elementwise("log", &[a])?;
                self.elementwise("multiply", &[&log, &factor])
            }
            _ => self.elementwise(op.name(), &[a]),
        }
    }

    /// `a op b`; `b` is the literal `known`, if that is known.
    ///
    /// StableHLO leaves open what a quotient by zero is, and what is left by a shift by the width. XLA's shifts leave what
    /// TensIR's do.
    pub(super) fn binary(
        &mut self,
        op: BinOp,
        a: &Value,
        b: &Value,
        known: Option<Scalar>,
    ) -> Result<Value, Unsupported> {
        self.host.float_step(a.elem)?;
        let harmless = a.elem.is_float() || known.is_some_and(|v| v.bits != 0);
        let plain = op.name();
        match op {
            BinOp::Divide if !harmless => {
                let (by_zero, divisor) = self.divisor(b)?;
                let quotient = self.elementwise(plain, &[a, &divisor])?;
                let every_bit = match a.elem.is_signed() {
                    true => -1,
                    false => a.elem.max_value(),
                };
                let mut ones = self.splat(Scalar::int(a.elem, every_bit), &a.shape)?;
                if a.elem.is_signed() {
                    let (zero, one) = (self.int(0, a)?, self.int(1, a)?);
                    let negative = self.compare(CmpOp::Lt, a, &zero)?;
                    ones = self.select(&negative, &one, &ones)?;
                }
                self.select(&by_zero, &ones, &quotient)
            }
            BinOp::Remainder if !harmless => {
                let (by_zero, divisor) = self.divisor(b)?;
                let rest = self.elementwise(plain, &[a, &divisor])?;
                self.select(&by_zero, a, &rest)
            }
            BinOp::MaximumNumber | BinOp::MinimumNumber => {
                let plain = match op {
                    BinOp::MaximumNumber => "maximum",
                    _ => "minimum",
                };
                let extreme = self.elementwise(plain, &[a, b])?;
                let b_is_nan = self.compare(CmpOp::Ne, b, b)?;
                let or_a = self.select(&b_is_nan, a, &extreme)?;
                let a_is_nan = self.compare(CmpOp::Ne, a, a)?;
                self.select(&a_is_nan, b, &or_a)
            }
            _ => self.elementwise(plain, &[a, b]),
        }
    }

    /// Where a divisor is zero, and one that never is.
    pub(super) fn divisor(&mut self, b: &Value) -> Result<(Value, Value), Unsupported> {
        let (zero, one) = (self.int(0, b)?, self.int(1, b)?);
        let by_zero = self.compare(CmpOp::Eq, b, &zero)?;
        let divisor = self.select(&by_zero, &one, b)?;
        Ok((by_zero, divisor))
    }

    /// An integer, as a tensor like another.
    pub(super) fn int(&mut self, value: i128, like: &Value) -> Result<Value, Unsupported> {
        self.splat(Scalar::int(like.elem, value), &like.shape)
    }

    pub(super) fn convert(&mut self, to: ScalarType, a: &Value) -> Result<Value, Unsupported> {
        if to == a.elem {
            return Ok(a.clone());
        }
        self.host.float_step(a.elem)?;
        self.converted("convert", a, to)
    }

    pub(super) fn bitcast(&mut self, to: ScalarType, a: &Value) -> Result<Value, Unsupported> {
        self.converted("bitcast_convert", a, to)
    }

    pub(super) fn compare(
        &mut self,
        op: CmpOp,
        a: &Value,
        b: &Value,
    ) -> Result<Value, Unsupported> {
        self.host.float_step(a.elem)?;
        let how = match a.elem {
            _ if a.elem.is_float() => "FLOAT",
            _ if a.elem.is_signed() => "SIGNED",
            _ => "UNSIGNED",
        };
        let text = self.spelt(op.name(), &[a, b])?;
        let types = self.types(&[a.clone(), b.clone()])?;
        let to = self.tensor(&a.shape, ScalarType::I1)?;
        let rhs = format!("{text}, {how} : ({types}) -> {to}");
        Ok(self.value(rhs, &a.shape, ScalarType::I1))
    }

    pub(super) fn select(&mut self, c: &Value, t: &Value, f: &Value) -> Result<Value, Unsupported> {
        let (predicate, ty) = (self.ty(c)?, self.ty(t)?);
        let rhs = format!("{} : {predicate}, {ty}", self.spelt("select", &[t, f, c])?);
        Ok(self.value(rhs, &t.shape, t.elem))
    }
}
