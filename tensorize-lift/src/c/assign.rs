//! Side effects: assignments, increments, and when they happen.

use super::codes;
use super::effects;
use super::expr::{Arith, arithmetic, as_truth};
use super::ffi::Cursor;
use super::jump::{Leaves, ends_program, leaves};
use super::lower::{Lower, Result, convert, operand, operands, operands_of, problem, scalar_type};
use super::operator::{self, Binary, Unary};
use super::place::Place;
use super::types::{self, Ty, promote, usual};
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::{Scalar, ScalarType};

impl<'u> Lower<'u, '_> {
    /// A full expression: its effects are done when it ends.
    pub fn full<T>(&mut self, c: Cursor<'u>, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        // Increments may wait for the end if nothing in between is a sequence point.
        let result = self.full_apart(c, f)?;
        self.sequence_point()?;
        Ok(result)
    }

    /// A full expression whose value is used after its effects, such as a condition.
    pub fn full_value<T>(
        &mut self,
        c: Cursor<'u>,
        f: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        effects::check_order(self, c)?;
        let outer = std::mem::replace(&mut self.postpone, false);
        let result = f(self);
        self.postpone = outer;
        result
    }

    /// A full expression whose last effects stay in `pending`, for the caller to place.
    pub fn full_apart<T>(
        &mut self,
        c: Cursor<'u>,
        f: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        effects::check_order(self, c)?;
        let postpone = !effects::has_sequence_point(c);
        let outer = std::mem::replace(&mut self.postpone, postpone);
        let result = f(self);
        self.postpone = outer;
        result
    }

    /// Does what is pending.
    pub fn sequence_point(&mut self) -> Result<()> {
        for s in std::mem::take(&mut self.pending) {
            self.emit(s)?;
        }
        Ok(())
    }

    /// Evaluates an expression for its effects.
    pub fn effect(&mut self, c: Cursor<'u>) -> Result<()> {
        if ends_program(c) {
            return self.emit(Stmt::Trap);
        }
        match c.kind() {
            CXCursor_ParenExpr => return self.effect(operand(c)?),
            CXCursor_CStyleCastExpr if super::flatten::is_dropped(c) => return Ok(()),
            // Clean-ups and copies that C++ puts around a call.
            CXCursor_UnexposedExpr if self.source.cpp && operands(c).len() == 1 => {
                return self.effect(operand(c)?);
            }
            CXCursor_CStyleCastExpr
            | CXCursor_CXXStaticCastExpr
            | CXCursor_CXXFunctionalCastExpr
                if types::of(c) == Ty::Void =>
            {
                return self.effect(operand(c)?);
            }
            CXCursor_BinaryOperator => match operator::binary(c)? {
                Binary::Assign => return self.assignment_effect(c),
                Binary::Comma => {
                    let [l, r] = operands(c)[..] else {
                        return Err(problem(
                            codes::EXPRESSION,
                            "a comma that is not supported",
                            c,
                        ));
                    };
                    self.effect(l)?;
                    self.sequence_point()?;
                    return self.effect(r);
                }
                _ => {}
            },
            CXCursor_CompoundAssignOperator => {
                if super::simd::is_vector(c) {
                    return self.vector_compound(c);
                }
                if is_pointer(c) {
                    return self.pointer_compound(c);
                }
                if super::complex::is_complex(c) {
                    return self.complex_compound(c);
                }
                self.compound_assignment(c)?;
                return Ok(());
            }
            CXCursor_UnaryOperator => {
                if let Unary::Step { by, .. } = operator::unary(c)? {
                    if is_pointer(c) {
                        return self.pointer_step(c, by);
                    }
                    self.step(c, by, true, false)?;
                    return Ok(());
                }
                if operator::unary(c)? == Unary::Extension {
                    return self.effect(operand(c)?);
                }
            }
            // Its value is that of no expression.
            CXCursor_StmtExpr if types::of(c) == Ty::Void => {
                let block = operand(c)?;
                if leaves(block) == Leaves::default() {
                    return self.list(&[block]).map(|_| ());
                }
            }
            CXCursor_CallExpr => {
                if let Some([l, r]) = super::cpp::method::plain_assignment(c) {
                    return match super::simd::is_register(l) {
                        true => self.registers_assigned(l, r, c),
                        false => self.struct_assigned(l, r, c),
                    };
                }
                self.call(c)?;
                return Ok(());
            }
            CXCursor_CXXDeleteExpr => return self.given_up(operand(c)?, c),
            CXCursor_ConditionalOperator => {
                if let Ok(parts) = operands(c)[..].try_into() {
                    return self.either(parts, |s, e| s.effect(e));
                }
            }
            _ => {}
        }
        // Nothing happens, or what happens is inside; the value is dropped.
        match types::of(c) {
            Ty::Pointer(_) | Ty::Array(..) => self.pointer(c).map(|_| ()),
            Ty::Vector(..) => self.vector(c).map(|_| ()),
            Ty::Void => Err(problem(
                codes::EXPRESSION,
                "this kind of expression is not supported",
                c,
            )),
            // `return *this;`
            Ty::Record(..) if effects::is_pure(c) => Ok(()),
            _ => self.value(c).map(|_| ()),
        }
    }

    fn assignment_effect(&mut self, c: Cursor<'u>) -> Result<()> {
        if super::simd::is_vector(c) {
            self.vector_assignment(c)
        } else if super::flatten::is_of_numbers(c) || super::flatten::is_object(c.ty()) {
            self.struct_assignment(c)
        } else if is_pointer(c) {
            self.pointer_assignment(c)
        } else {
            self.assignment(c).map(|_| ())
        }
    }

    /// `l = r`. Where it was stored.
    pub fn assignment(&mut self, c: Cursor<'u>) -> Result<Place> {
        let [l, r] = operands_of(c)?;
        scalar_type(&types::of(l), l)?;
        let place = self.place(l)?;
        let value = self.value(r)?;
        self.write(place.clone(), value, c)?;
        Ok(place)
    }

    /// `l op= r`, computed in the type that C's conversions give. Where it was stored.
    pub fn compound_assignment(&mut self, c: Cursor<'u>) -> Result<Place> {
        let [l, r] = operands_of(c)?;
        let ty = scalar_type(&types::of(l), l)?;
        if super::complex::is_complex(r) {
            return self.real_compound(c, ty);
        }
        let op = operator::compound(c)?;
        let place = self.place(l)?;
        let right = self.value(r)?;
        let left = self.load(place.clone(), l)?;
        let shift = matches!(op, Arith::ShiftRight | Arith::Plain(BinOp::ShiftLeft));
        let common = if shift {
            promote(ty)
        } else {
            usual(ty, right.ty())
        };
        // Clang has converted the right side already; if it had another type in mind, we are wrong.
        if !shift && right.ty() != common {
            let message = format!(
                "a right side of type {} for an operation in {common}",
                right.ty()
            );
            return Err(problem(codes::CONVERSION, message, c));
        }
        let value = arithmetic(op, convert(common, left), right, c)?;
        let value = narrowed(ty, value);
        self.write(place.clone(), value, c)?;
        Ok(place)
    }

    /// `++` and `--` on a number.
    pub fn step(
        &mut self,
        c: Cursor<'u>,
        by: i128,
        prefix: bool,
        wanted: bool,
    ) -> Result<Option<Expr>> {
        let target = operand(c)?;
        if super::complex::is_complex(target) {
            return Err(super::complex::unsupported(c));
        }
        let ty = scalar_type(&types::of(target), target)?;
        let place = self.place(target)?;
        let old = self.load(place.clone(), target)?;
        let common = promote(ty);
        let (op, one) = if by > 0 {
            (BinOp::Add, by)
        } else {
            (BinOp::Subtract, -by)
        };
        let one = match common {
            ScalarType::F32 => Expr::Const(Scalar::f32(one as f32)),
            ScalarType::F64 => Expr::Const(Scalar::f64(one as f64)),
            t => Expr::int(t, one),
        };
        let new = |old: Expr| narrowed(ty, Expr::binary(op, convert(common, old), one.clone()));
        if prefix || !wanted {
            self.write(place.clone(), new(old), c)?;
            return if wanted {
                self.load(place, target).map(Some)
            } else {
                Ok(None)
            };
        }
        if self.postpone {
            let value = new(old.clone());
            let (stmts, ()) = self.in_block(|s| s.write(place, value, c))?;
            self.pending.extend(stmts);
            return Ok(Some(old));
        }
        let old = self.hold("t", old)?;
        self.write(place, new(old.clone()), c)?;
        Ok(Some(old))
    }
}

/// The value as the type it is stored in.
fn narrowed(ty: ScalarType, value: Expr) -> Expr {
    if ty == ScalarType::I1 {
        as_truth(value)
    } else {
        convert(ty, value)
    }
}

fn is_pointer(c: Cursor<'_>) -> bool {
    matches!(types::of(c), Ty::Pointer(_))
}
