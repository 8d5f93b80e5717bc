//! Whether two arrays are the same one: `if (in != out)`.

use crate::c::codes;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, Result, problem};
use crate::c::place::Pointer;
use tensorize_ir::loopir::{Expr, Param};
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::Scalar;

const COMPARED: &str = "pointers into two arrays are compared";

impl<'u> Lower<'u, '_> {
    /// `in == out`, of the beginnings of two arrays: no, as long as they lie apart, which each call is asked.
    pub(super) fn are_two_arrays(
        &mut self,
        c: Cursor<'u>,
        op: CmpOp,
        a: &Pointer,
        b: &Pointer,
    ) -> Result<Expr> {
        let is_begin =
            |p: &Pointer| matches!(&p.offset, Expr::Const(v) if v.ty.is_int() && v.as_int() == 0);
        let in_table = self.is_in_table(a) || self.is_in_table(b);
        if !matches!(op, CmpOp::Eq | CmpOp::Ne) || !is_begin(a) || !is_begin(b) || in_table {
            return Err(problem(codes::POINTER_BASE, COMPARED, c));
        }
        let pair = (a.target.array.clone(), b.target.array.clone());
        if !self.apart.contains(&pair) {
            self.apart.push(pair);
        }
        Ok(Expr::Const(Scalar::bool(op == CmpOp::Ne)))
    }

    /// Refuses to know that of anything but parameters.
    pub fn check_two_arrays(&self, params: &[Param], f: Cursor<'u>) -> Result<()> {
        let is_array = |array: &_| {
            (params.iter()).any(|p| matches!(p, Param::Array { name, .. } if name == array))
        };
        match (self.apart.iter()).all(|(a, b)| is_array(a) && is_array(b)) {
            true => Ok(()),
            false => Err(problem(codes::POINTER_BASE, COMPARED, f)),
        }
    }
}
