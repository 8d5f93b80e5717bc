//! Algorithms that keep something from one element to the next: differences of neighbours, sums of all beginnings.

use super::super::call::Arg;
use super::super::expr::{Arith, arithmetic};
use super::super::lower::{Lower, Result, convert, offset_op};
use super::super::types::promote;
use super::algorithm::Dest;
use super::call::Call;
use super::lambda::Callable;
use super::seq::int;
use super::walk::Range;
use clang_sys::CXType_Pointer;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::Scalar;

impl<'u> Lower<'u, '_> {
    /// `std::adjacent_difference`: the first element, and what each one is more than the one before.
    pub(super) fn differences(&mut self, call: &Call<'u>) -> Result<()> {
        let range = self.range(call, 0)?;
        let dest = self.dest(call.arg(2)?)?;
        if let Some(&f) = call.args.get(3) {
            let f = self.callable(f)?;
            return self.neighbours(&range, &dest, &f, call);
        }
        let (c, ty) = (call.at, range.walk.view());
        let before = self.fresh("before");
        self.assign_var(before.clone(), Expr::Const(Scalar::zero(ty)))?;
        self.count_to(range.len.clone(), c, |s, k| {
            let value = s.load(range.at(k.clone()), c)?;
            let value = s.hold("value", value)?;
            let wide = promote(ty);
            let difference = arithmetic(
                Arith::Plain(BinOp::Subtract),
                convert(wide, value.clone()),
                convert(wide, Expr::Var(before.clone(), ty)),
                c,
            )?;
            let first = Expr::compare(CmpOp::Eq, k.clone(), int(0));
            let result =
                super::super::expr::select(first, convert(wide, value.clone()), difference);
            s.put(&dest, k, result, c)?;
            s.assign_var(before, value)
        })
    }

    /// The first element, and what a function object makes of each later one and the one before, as it was.
    fn neighbours(
        &mut self,
        range: &Range,
        dest: &Dest,
        f: &Callable<'u>,
        call: &Call<'u>,
    ) -> Result<()> {
        let (c, ty) = (call.at, range.walk.view());
        let before = self.fresh("before");
        let first = self.load(range.at(int(0)), c)?;
        self.does_not_end_first(range, call)?;
        let nonempty = Expr::compare(CmpOp::Lt, int(0), range.len.clone());
        let (then, ()) = self.in_block(|s| {
            s.assign_var(before.clone(), first)?;
            s.put(dest, int(0), Expr::Var(before.clone(), ty), c)?;
            let rest = offset_op(BinOp::Subtract, range.len.clone(), int(1));
            s.count_to(rest, c, |s, k| {
                let k = offset_op(BinOp::Add, k, int(1));
                let value = s.load(range.at(k.clone()), c)?;
                let value = s.hold("value", value)?;
                let args = vec![
                    Arg::Value(value.clone()),
                    Arg::Value(Expr::Var(before.clone(), ty)),
                ];
                let result = s.apply(f, args, c.referenced(), c)?;
                let result = result.ok_or_else(|| call.unsupported())?;
                let result = s.hold("result", result)?;
                s.put(dest, k, result, c)?;
                s.assign_var(before, value)
            })
        })?;
        self.emit(Stmt::If {
            cond: nonempty,
            then,
            otherwise: vec![],
        })
    }

    /// A range does not end before it begins. Of a whole vector that is plain to see.
    fn does_not_end_first(&mut self, range: &Range, call: &Call<'u>) -> Result<()> {
        let pointer = call.arg(0)?.ty().canonical().kind() == CXType_Pointer;
        match &range.len {
            Expr::Var(..) if !pointer => Ok(()),
            len => self.require_length(len),
        }
    }

    /// `std::partial_sum`: the sums of all beginnings.
    pub(super) fn running(&mut self, call: &Call<'u>) -> Result<()> {
        let range = self.range(call, 0)?;
        let dest = self.dest(call.arg(2)?)?;
        let f = call.args.get(3).map(|&f| self.callable(f)).transpose()?;
        let (c, ty) = (call.at, range.walk.view());
        let var = self.fresh("acc");
        if ty.is_int() && f.is_none() {
            // Zero before the first one is the same.
            self.assign_var(var.clone(), Expr::Const(Scalar::zero(ty)))?;
            let acc = Expr::Var(var.clone(), ty);
            return self.count_to(range.len.clone(), c, |s, k| {
                let v = s.load(range.at(k.clone()), c)?;
                let next = s.accumulated(&f, acc.clone(), v, call)?;
                s.assign_var(var, next)?;
                s.put(&dest, k, acc, c)
            });
        }
        let first = self.load(range.at(int(0)), c)?;
        self.does_not_end_first(&range, call)?;
        let nonempty = Expr::compare(CmpOp::Lt, int(0), range.len.clone());
        let acc = Expr::Var(var.clone(), ty);
        let (then, ()) = self.in_block(|s| {
            s.assign_var(var.clone(), first)?;
            s.put(&dest, int(0), acc.clone(), c)?;
            let rest = offset_op(BinOp::Subtract, range.len.clone(), int(1));
            s.count_to(rest, c, |s, k| {
                let k = offset_op(BinOp::Add, k, int(1));
                let v = s.load(range.at(k.clone()), c)?;
                let next = s.accumulated(&f, acc.clone(), v, call)?;
                s.assign_var(var, next)?;
                s.put(&dest, k, acc, c)
            })
        })?;
        self.emit(Stmt::If {
            cond: nonempty,
            then,
            otherwise: vec![],
        })
    }
}
