//! Scalar operators on arrays: a framework's rows, with C's meaning.

use super::dialect::Operand;
use super::node::Emitter;
use super::py::{Code, Level};
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
        self.form(op.name(), ty, &[("a", a.into())])
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
        let harmless = known.is_some_and(|v| match op {
            BinOp::ShiftLeft | BinOp::ShiftRightLogical | BinOp::ShiftRightArithmetic => {
                v.bits < u64::from(ty.bits())
            }
            // By -1, the smallest number has a quotient that is none of its type.
            _ => v.bits != 0 && !(ty.is_signed() && v.as_int() == -1),
        });
        let operands = [("a", a.into()), ("b", b.into())];
        self.form_known(op.name(), ty, harmless, &operands)
    }

    pub(super) fn convert(
        &mut self,
        to: ScalarType,
        from: ScalarType,
        a: &Code,
    ) -> Result<Code, Unsupported> {
        self.float_step(from)?;
        let t = self.dialect.dtype(to)?;
        let row = self.dialect.row("convert", to, false)?;
        Ok(self
            .dialect
            .fill(row.form, &[("a", a.into()), ("t", (&t).into())]))
    }

    pub(super) fn bitcast(&mut self, to: ScalarType, a: &Code) -> Result<Code, Unsupported> {
        let t = self.dialect.dtype(to)?;
        let row = self.dialect.row("bitcast_convert", to, false)?;
        let operands = [("a", a.into()), ("t", (&t).into())];
        Ok(self.dialect.fill(row.form, &operands))
    }

    pub(super) fn compare(
        &mut self,
        op: CmpOp,
        ty: ScalarType,
        a: &Code,
        b: &Code,
    ) -> Result<Code, Unsupported> {
        self.float_step(ty)?;
        if !matches!(op, CmpOp::Eq | CmpOp::Ne) {
            self.dialect.row("order", ty, false)?;
        }
        Ok(compare(op, a, b))
    }

    pub(super) fn select(
        &mut self,
        ty: ScalarType,
        c: &Code,
        t: &Code,
        f: &Code,
    ) -> Result<Code, Unsupported> {
        let row = self.dialect.row("select", ty, false)?;
        let operands = [("c", c.into()), ("a", t.into()), ("b", f.into())];
        Ok(self.dialect.fill(row.form, &operands))
    }

    /// A row, filled in. What it does to the promise is noted.
    pub(super) fn form(
        &mut self,
        name: &str,
        ty: ScalarType,
        operands: &[(&str, Operand)],
    ) -> Result<Code, Unsupported> {
        self.form_known(name, ty, false, operands)
    }

    fn form_known(
        &mut self,
        name: &str,
        ty: ScalarType,
        known: bool,
        operands: &[(&str, Operand)],
    ) -> Result<Code, Unsupported> {
        let row = self.dialect.row(name, ty, known)?;
        if row.own_rounding {
            let function = row.form.replace("{m}", self.dialect.module);
            let function = function.split(['(', '{']).next().unwrap_or_default();
            let shown = if function.is_empty() { name } else { function };
            self.real(&format!("{shown} does not give the same bits as C's"))?;
        }
        self.float_step(ty)?;
        Ok(self.dialect.fill(row.form, operands))
    }

    /// What a framework does to floats everywhere.
    pub(crate) fn float_step(&mut self, ty: ScalarType) -> Result<(), Unsupported> {
        match self.dialect.inexact_floats {
            Some(why) if ty.is_float() => self.real(why),
            _ => Ok(()),
        }
    }

    /// From here on the code is of tier real, if it may be.
    pub(crate) fn real(&mut self, why: &str) -> Result<(), Unsupported> {
        if self.allowed == Tier::Exact {
            return Err(Unsupported::new(format!("{why}; allow tier real")));
        }
        self.tier = Tier::Real;
        Ok(())
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
