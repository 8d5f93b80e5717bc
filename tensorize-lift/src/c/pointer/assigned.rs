//! Pointer variables that are set: where they point to from there on.

use super::super::Problem;
use super::super::codes;
use super::super::expr::Arith;
use super::super::ffi::Cursor;
use super::super::lower::{
    Base, Binding, Lower, Result, convert, operand, operands_of, peeled, problem,
};
use super::super::operator;
use super::super::place::Pointer;
use clang_sys::*;
use std::collections::HashMap;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

impl<'u> Lower<'u, '_> {
    /// The variable that an lvalue of pointer type names.
    pub fn pointer_decl(&self, c: Cursor<'u>) -> Result<Cursor<'u>> {
        let inner = peeled(c);
        if inner.kind() == CXCursor_DeclRefExpr {
            return Ok(inner);
        }
        Err(problem(
            codes::POINTER_USE,
            "a pointer in memory is changed",
            c,
        ))
    }

    /// Lets a pointer variable point elsewhere, now or at the end of the full expression.
    pub fn set_pointer(&mut self, variable: Cursor<'u>, p: Pointer, later: bool) -> Result<()> {
        let d = variable
            .referenced()
            .filter(|d| self.bindings.contains_key(d));
        let Some(d) = d else {
            let message = format!(
                "the pointer '{}' is a variable outside of the function",
                variable.spelling()
            );
            return Err(problem(codes::GLOBAL, message, variable));
        };
        let Some(Binding::Pointer(Expr::Var(var, ty))) = self.bindings.get(&d).cloned() else {
            let message = format!("'{}' cannot be assigned", variable.spelling());
            return Err(problem(codes::POINTER_USE, message, variable));
        };
        self.pointers.insert(d, Base::One(p.target, p.dims));
        let assign = Stmt::Assign {
            var,
            ty,
            value: p.offset,
        };
        if later {
            self.pending.push(assign);
            Ok(())
        } else {
            self.emit(assign)
        }
    }

    /// `p = q`
    pub fn pointer_assignment(&mut self, c: Cursor<'u>) -> Result<()> {
        let [l, r] = operands_of(c)?;
        let d = self.pointer_decl(l)?;
        let value = self.pointer(r)?;
        self.set_pointer(d, value, false)
    }

    /// `std::swap(p, q)`
    pub fn exchange_pointers(&mut self, l: Cursor<'u>, r: Cursor<'u>) -> Result<()> {
        let (l, r) = (self.pointer_decl(l)?, self.pointer_decl(r)?);
        let (mut a, b) = (self.pointer(l)?, self.pointer(r)?);
        a.offset = self.kept("offset", a.offset)?;
        self.set_pointer(l, b, false)?;
        self.set_pointer(r, a, false)
    }

    /// `p += n`, `p -= n`
    pub fn pointer_compound(&mut self, c: Cursor<'u>) -> Result<()> {
        let [l, r] = operands_of(c)?;
        let d = self.pointer_decl(l)?;
        let Arith::Plain(op @ (BinOp::Add | BinOp::Subtract)) = operator::compound(c)? else {
            return Err(problem(
                codes::POINTER_USE,
                "this operator on a pointer is not supported",
                c,
            ));
        };
        let by = convert(ScalarType::I64, self.value(r)?);
        let old = self.pointer_variable(d)?;
        self.check_step(c, &old, d)?;
        let new = self.step_by(old, op, by);
        self.set_pointer(d, new, false)
    }

    /// `p++` as a statement, and the like.
    pub fn pointer_step(&mut self, c: Cursor<'u>, by: i128) -> Result<()> {
        let d = self.pointer_decl(operand(c)?)?;
        let old = self.pointer_variable(d)?;
        self.check_step(c, &old, d)?;
        self.set_pointer(d, old.moved(Expr::int(ScalarType::I64, by)), false)
    }

    /// After a branch: `other` is the state at the end of the other one.
    pub fn merge_pointers(&mut self, other: HashMap<Cursor<'u>, Base>) {
        for (d, base) in other {
            match self.pointers.get(&d) {
                // Not set on this side: reading it after this side ran would be undefined.
                None => {
                    self.pointers.insert(d, base);
                }
                Some(mine) if *mine == base => {}
                Some(_) => {
                    self.pointers.insert(d, Base::Several);
                }
            }
        }
    }

    /// After a loop's body: what was known at its entry must still hold, or the body as it was lowered
    /// is wrong for the second round.
    pub fn check_loop_pointers(
        &mut self,
        entry: &HashMap<Cursor<'u>, Base>,
        at: Cursor<'u>,
    ) -> Result<()> {
        for (d, base) in entry {
            if self.pointers.get(d) != Some(base) {
                return Err(moved_away(*d, at));
            }
        }
        Ok(())
    }
}

/// A pointer that a round of a loop leaves elsewhere.
pub fn moved_away(pointer: Cursor<'_>, at: Cursor<'_>) -> Problem {
    let message = format!(
        "'{}' points into another array after a round of this loop",
        pointer.spelling()
    );
    problem(codes::POINTER_BASE, message, at)
}
