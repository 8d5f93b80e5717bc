//! Lowering of expressions and variables of vector types.

use super::fold;
use super::intrinsic::{Outcome, intrinsic};
use super::registers::{constructed, register_of, registers};
use super::value::Vector;
use crate::c::codes;
use crate::c::expr::{Arith, arithmetic};
use crate::c::ffi::Cursor;
use crate::c::lower::{Binding, Lower, Result, convert, operand, operands, problem};
use crate::c::operator::{self, Binary, Unary};
use crate::c::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{self, BinOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Whether this is an expression or a declaration of a vector type.
pub(in crate::c) fn is_vector(c: Cursor<'_>) -> bool {
    matches!(types::of(c), Ty::Vector(..)) || is_mask(c)
}

/// Whether this has one of the types of masks, which are numbers for C.
pub(super) fn is_mask(c: Cursor<'_>) -> bool {
    c.ty()
        .spelling()
        .trim_start_matches("const ")
        .starts_with("__mmask")
}

/// Whether this is an expression of one of the compiler's vector types.
pub(in crate::c) fn is_register(c: Cursor<'_>) -> bool {
    matches!(types::of(c), Ty::Vector(..))
}

/// A mask as C sees it: a number with one bit a lane.
pub(in crate::c) fn packed(ty: ScalarType, lanes: &[Expr]) -> Expr {
    let bits = lanes.iter().enumerate().map(|(i, lane)| {
        let one = fold::convert(ty, lane.clone());
        fold::binary(BinOp::ShiftLeft, one, Expr::int(ty, i as i128))
    });
    bits.fold(Expr::int(ty, 0), |a, b| fold::binary(BinOp::Or, a, b))
}

/// The type that lanes of an expression of this type have, if nothing says otherwise, and their number.
pub(super) fn shape(c: Cursor<'_>) -> Option<(ScalarType, usize)> {
    match types::of(c) {
        Ty::Vector(e, n) => Some((e.as_scalar()?, n as usize)),
        _ if is_mask(c) => {
            let bits = c.ty().canonical().size()? * 8;
            Some((ScalarType::I1, bits as usize))
        }
        _ => None,
    }
}

impl<'u> Lower<'u, '_> {
    /// The value of an expression of vector type.
    pub fn vector(&mut self, c: Cursor<'u>) -> Result<Vector> {
        let unsupported = || {
            problem(
                codes::VECTOR,
                "this use of a vector type is not supported",
                c,
            )
        };
        let (elem, n) = shape(c).ok_or_else(unsupported)?;
        match c.kind() {
            CXCursor_ParenExpr => self.vector(operand(c)?),
            CXCursor_UnexposedExpr | CXCursor_CStyleCastExpr => {
                let inner = operand(c)?;
                if is_vector(inner) {
                    return self.vector(inner);
                }
                let Ty::Scalar(_) = types::of(inner) else {
                    return Err(unsupported());
                };
                let value = self.value(inner)?;
                if elem == ScalarType::I1 {
                    return self.bits_as_mask(value, n);
                }
                // A scalar beside a vector stands for one with this value in all lanes.
                let value = self.light(convert(elem, value))?;
                Ok(Vector {
                    lanes: vec![value; n],
                })
            }
            CXCursor_DeclRefExpr => self.vector_variable(c),
            CXCursor_CallExpr => match intrinsic(c) {
                Some(i) => match self.intrinsic(c, i)? {
                    Outcome::Vector(v) => Ok(v),
                    _ => Err(unsupported()),
                },
                None => {
                    if let Some(Some(of)) = constructed(c) {
                        return self.vector(of);
                    }
                    self.call(c)?;
                    self.returned_vector.take().ok_or_else(unsupported)
                }
            },
            CXCursor_ArraySubscriptExpr => match register_of(c) {
                Some((of, k)) => self.register(of, k, c),
                None => self.load_vector(c),
            },
            CXCursor_UnaryOperator => match operator::unary(c)? {
                Unary::Deref => self.load_vector(c),
                Unary::Plus | Unary::Extension => self.vector(operand(c)?),
                Unary::Minus => self.each_lane(operand(c)?, elem, |l| {
                    if elem.is_float() {
                        fold::unary(UnOp::Negate, l)
                    } else {
                        let unsigned = types::integer(elem.bits().into(), false).unwrap_or(elem);
                        let l = fold::convert(unsigned, l);
                        let zero = Expr::int(unsigned, 0);
                        fold::convert(elem, fold::binary(BinOp::Subtract, zero, l))
                    }
                }),
                Unary::Not => self.each_lane(operand(c)?, elem, |l| fold::unary(UnOp::Not, l)),
                _ => Err(unsupported()),
            },
            CXCursor_BinaryOperator => {
                let [l, r] = operands(c)[..] else {
                    return Err(unsupported());
                };
                match operator::binary(c)? {
                    Binary::Assign => {
                        self.vector_assignment(c)?;
                        self.vector(l)
                    }
                    Binary::Comma => {
                        self.effect(l)?;
                        self.sequence_point()?;
                        self.vector(r)
                    }
                    Binary::Arithmetic(op) => {
                        let (a, b) = (self.vector(l)?, self.vector(r)?);
                        self.lanes_of(op, a, b, elem, c)
                    }
                    Binary::Compare(op) => {
                        // Lanes of all ones where it holds.
                        let (of, _) = shape(l).ok_or_else(unsupported)?;
                        let a = self.vector(l)?.seen_as(of).ok_or_else(unsupported)?;
                        let b = self.vector(r)?.seen_as(of).ok_or_else(unsupported)?;
                        let ones = Expr::Const(op::eval_unary(UnOp::Not, Scalar::zero(elem)));
                        let zero = Expr::Const(Scalar::zero(elem));
                        let lanes = a.lanes.into_iter().zip(b.lanes).map(|(x, y)| {
                            fold::select(fold::compare(op, x, y), ones.clone(), zero.clone())
                        });
                        let lanes = lanes.collect();
                        self.held(Vector { lanes })
                    }
                    _ => Err(unsupported()),
                }
            }
            CXCursor_ConditionalOperator => {
                let [cond, l, r] = operands(c)[..] else {
                    return Err(unsupported());
                };
                let cond = self.truth(cond)?;
                let cond = self.light(cond)?;
                self.sequence_point()?;
                let [(a_block, a), (b_block, b)] = self.branches([l, r], |s, e| s.vector(e))?;
                let b = b.seen_as(a.elem()).ok_or_else(unsupported)?;
                if !a_block.is_empty() || !b_block.is_empty() {
                    self.emit(Stmt::If {
                        cond: cond.clone(),
                        then: a_block,
                        otherwise: b_block,
                    })?;
                }
                let lanes = a.lanes.into_iter().zip(b.lanes);
                let lanes = lanes.map(|(x, y)| fold::select(cond.clone(), x, y));
                let lanes = lanes.collect();
                self.held(Vector { lanes })
            }
            CXCursor_InitListExpr if registers(c.ty()).is_some() => self.listed_registers(c),
            CXCursor_InitListExpr => {
                let mut lanes = Vec::new();
                for item in operands(c) {
                    let v = self.value(item)?;
                    lanes.push(self.light(convert(elem, v))?);
                }
                lanes.resize(n, Expr::Const(Scalar::zero(elem)));
                Ok(Vector { lanes })
            }
            CXCursor_CompoundLiteralExpr => self.vector(operand(c)?),
            // A mask that is a number.
            _ if elem == ScalarType::I1 => {
                let value = self.value(c)?;
                self.bits_as_mask(value, n)
            }
            _ => Err(unsupported()),
        }
    }

    /// Lane `i` of the mask is bit `i`.
    pub(super) fn bits_as_mask(&mut self, bits: Expr, n: usize) -> Result<Vector> {
        let bits = self.light(bits)?;
        let ty = bits.ty();
        let lanes = (0..n.min(ty.bits() as usize)).map(|i| {
            let bit = Expr::int(ty, 1i128 << i);
            let zero = Expr::int(ty, 0);
            let one = fold::binary(BinOp::And, bits.clone(), bit);
            fold::compare(tensorize_ir::op::CmpOp::Ne, one, zero)
        });
        let lanes = lanes.collect();
        self.held(Vector { lanes })
    }

    fn each_lane(
        &mut self,
        c: Cursor<'u>,
        elem: ScalarType,
        f: impl Fn(Expr) -> Expr,
    ) -> Result<Vector> {
        let v = self.vector(c)?;
        let v = v.seen_as(elem).ok_or_else(|| cut(c))?;
        let lanes = v.lanes.into_iter().map(f).collect();
        self.held(Vector { lanes })
    }

    /// `a op b` on the compiler's own vectors. Their lanes wrap as C's unsigned integers do.
    pub(super) fn lanes_of(
        &mut self,
        op: Arith,
        a: Vector,
        b: Vector,
        elem: ScalarType,
        c: Cursor<'u>,
    ) -> Result<Vector> {
        let wraps = matches!(
            op,
            Arith::Plain(BinOp::Add | BinOp::Subtract | BinOp::Multiply)
        ) && elem.is_int();
        let of = if wraps {
            types::integer(elem.bits().into(), false).unwrap_or(elem)
        } else {
            elem
        };
        let a = a.seen_as(of).ok_or_else(|| cut(c))?;
        let b = b.seen_as(of).ok_or_else(|| cut(c))?;
        let mut lanes = Vec::new();
        for (x, y) in a.lanes.into_iter().zip(b.lanes) {
            let value = match op {
                Arith::Plain(op) if op.accepts(of) => fold::binary(op, x, y),
                op => arithmetic(op, x, y, c)?,
            };
            lanes.push(fold::convert(elem, value));
        }
        self.held(Vector { lanes })
    }

    /// Kept, unless it is small and reads no memory.
    pub(super) fn light(&mut self, e: Expr) -> Result<Expr> {
        if is_light(&e) {
            Ok(e)
        } else {
            self.kept("lane", e)
        }
    }

    /// Lanes that can be used more than once. A choice between literals, or between small values, keeps its
    /// condition apart, so that masks can be folded.
    pub(super) fn held(&mut self, mut v: Vector) -> Result<Vector> {
        for lane in &mut v.lanes {
            *lane = match std::mem::replace(lane, Expr::int(ScalarType::I32, 0)) {
                Expr::Select(c, t, f) if is_light(&t) && is_light(&f) => {
                    let c = self.light(*c)?;
                    fold::select(c, *t, *f)
                }
                e => self.light(e)?,
            };
        }
        Ok(v)
    }

    /// The value of `v[i]` for a constant `i`.
    pub fn lane(&mut self, c: Cursor<'u>) -> Result<Expr> {
        let [v, i] = operands(c)[..] else {
            return Err(cut(c));
        };
        let (elem, _) = shape(v).ok_or_else(|| cut(c))?;
        let lanes = self.vector(v)?.seen_as(elem).ok_or_else(|| cut(c))?.lanes;
        match self.value(i)? {
            Expr::Const(i) if (i.as_int().max(0) as usize) < lanes.len() && i.as_int() >= 0 => {
                Ok(lanes[i.as_int() as usize].clone())
            }
            _ => Err(problem(
                codes::VECTOR,
                "a lane whose number is not a constant",
                c,
            )),
        }
    }

    /// A mask in a variable, as a number.
    pub fn mask_as_number(&mut self, c: Cursor<'u>) -> Result<Option<Expr>> {
        let Some(d) = c.referenced().filter(|_| is_mask(c)) else {
            return Ok(None);
        };
        let known = matches!(
            self.bindings.get(&d),
            Some(Binding::Vector(_) | Binding::VectorVariable(..))
        );
        let (Some(ty), true) = (types::of(c).as_scalar(), known) else {
            return Ok(None);
        };
        Ok(Some(packed(ty, &self.vector_variable(c)?.lanes)))
    }
}

pub(super) fn cut(c: Cursor<'_>) -> crate::c::Problem {
    problem(
        codes::VECTOR,
        "this use of a vector type is not supported",
        c,
    )
}

/// A literal, a variable, or a conversion of one.
fn is_light(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::Var(..) => true,
        Expr::Convert(_, a) | Expr::Bitcast(_, a) => is_light(a),
        Expr::Select(c, t, f) => {
            matches!(**c, Expr::Var(..))
                && [t, f]
                    .iter()
                    .all(|x| is_light(x) && !matches!(***x, Expr::Select(..)))
        }
        _ => false,
    }
}

pub(super) fn mentions(e: &Expr, what: &dyn Fn(&Sym) -> bool) -> bool {
    match e {
        Expr::Var(name, _) => what(name),
        _ => e.children().into_iter().any(|c| mentions(c, what)),
    }
}
