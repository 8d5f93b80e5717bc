//! Values: arithmetic, with every promotion and conversion spelled out.

use super::codes;
use super::ffi::{Constant, Cursor};
use super::jump::{Leaves, leaves};
use super::lower::{
    Lower, Result, convert, is_expression, operand, operands, operands_of, problem, scalar_type,
};
use super::operator::{self, Binary, Unary};
use super::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Deeper expressions would overflow the stack of whoever walks them.
const MAX_DEPTH: usize = 400;

impl<'u> Lower<'u, '_> {
    /// The value of a scalar expression, of the type that clang gives it.
    pub fn value(&mut self, c: Cursor<'u>) -> Result<Expr> {
        let ty = scalar_type(&types::of(c), c)?;
        if self.depth > MAX_DEPTH {
            return Err(problem(
                codes::TOO_LARGE,
                "this expression is nested too deeply",
                c,
            ));
        }
        self.fused |= types::is_long_double(c);
        self.depth += 1;
        let e = self.value_unchecked(c, ty);
        self.depth -= 1;
        let e = e?;
        if e.ty() != ty {
            let message = format!(
                "this expression has the type '{}' for clang and {} for us",
                c.ty().spelling(),
                e.ty()
            );
            return Err(problem(codes::CONVERSION, message, c));
        }
        Ok(e)
    }

    fn value_unchecked(&mut self, c: Cursor<'u>, ty: ScalarType) -> Result<Expr> {
        if let Some(value) = self.of_c99_complex(c, ty)? {
            return Ok(value);
        }
        match c.kind() {
            CXCursor_ParenExpr => self.value(operand(c)?),
            CXCursor_UnexposedExpr
            | CXCursor_CStyleCastExpr
            | CXCursor_CXXStaticCastExpr
            | CXCursor_CXXFunctionalCastExpr
            | CXCursor_InitListExpr => self.cast(c, ty),
            CXCursor_IntegerLiteral
            | CXCursor_FloatingLiteral
            | CXCursor_CharacterLiteral
            | CXCursor_CXXBoolLiteralExpr => literal(c, ty),
            CXCursor_UnaryExpr => {
                // sizeof, _Alignof; clang has no value for those of variable length.
                let fails = || problem(codes::EXPRESSION, "a sizeof that is not constant", c);
                match c.evaluate() {
                    Some(Constant::Int(v)) => Ok(Expr::int(ty, v)),
                    _ => Err(fails()),
                }
            }
            // A number that is a template's argument.
            CXCursor_DeclRefExpr if c.referenced().is_none() && operands(c).len() == 1 => {
                self.value(operand(c)?)
            }
            CXCursor_DeclRefExpr => {
                if let Some(mask) = self.mask_as_number(c)? {
                    return Ok(mask);
                }
                if let Some(d) = c.referenced()
                    && d.kind() == CXCursor_EnumConstantDecl
                {
                    let (signed, unsigned) = d.enumerator();
                    let v = if ty.is_signed() {
                        signed.into()
                    } else {
                        unsigned.into()
                    };
                    return Ok(Expr::int(ty, v));
                }
                self.read_place(c)
            }
            CXCursor_ArraySubscriptExpr
                if operands(c)
                    .first()
                    .is_some_and(|&v| super::simd::is_register(v)) =>
            {
                self.lane(c)
            }
            CXCursor_ArraySubscriptExpr | CXCursor_MemberRefExpr => self.read_place(c),
            CXCursor_UnaryOperator => self.unary(c, ty),
            CXCursor_BinaryOperator => self.binary(c, ty),
            CXCursor_CompoundAssignOperator => {
                let place = self.compound_assignment(c)?;
                self.load(place, c)
            }
            CXCursor_ConditionalOperator => self.conditional(c, ty),
            CXCursor_CallExpr if super::simd::gives_mask(c) => {
                let lanes = self.vector(c)?.lanes;
                Ok(super::simd::packed(ty, &lanes))
            }
            CXCursor_CallExpr => self
                .call(c)?
                .ok_or_else(|| problem(codes::TYPE, "the result of a void function is used", c)),
            CXCursor_GenericSelectionExpr => {
                Err(problem(codes::EXPRESSION, "_Generic is not supported", c))
            }
            CXCursor_StmtExpr => self.statement_expression(c),
            CXCursor_CompoundLiteralExpr => Err(problem(
                codes::EXPRESSION,
                "a compound literal is not supported",
                c,
            )),
            CXCursor_StringLiteral => Err(problem(
                codes::STRING,
                "a string literal is not supported",
                c,
            )),
            _ => Err(problem(
                codes::EXPRESSION,
                "this kind of expression is not supported",
                c,
            )),
        }
    }

    /// `i1`: whether the value is not zero.
    pub fn truth(&mut self, c: Cursor<'u>) -> Result<Expr> {
        if let Ty::Pointer(_) | Ty::Array(..) = types::of(c) {
            return self.given(c);
        }
        if super::complex::is_complex(c) {
            return self.is_not_zero(c);
        }
        Ok(as_truth(self.value(c)?))
    }

    /// Written casts, and the implicit ones, which libclang shows as nodes of no kind.
    fn cast(&mut self, c: Cursor<'u>, ty: ScalarType) -> Result<Expr> {
        if self.source.cpp && operands(c).is_empty() {
            // `float()`, `int{}`, a default argument
            return literal(c, ty).or_else(|p| match c.kind() {
                CXCursor_InitListExpr | CXCursor_CXXFunctionalCastExpr => {
                    Ok(Expr::Const(Scalar::zero(ty)))
                }
                _ => Err(p),
            });
        }
        let inner = operand(c)?;
        match types::of(inner) {
            Ty::Scalar(_) => {
                let e = self.value(inner)?;
                Ok(if ty == ScalarType::I1 {
                    as_truth(e)
                } else {
                    convert(ty, e)
                })
            }
            Ty::Pointer(_) | Ty::Array(..) if ty == ScalarType::I1 => self.given(inner),
            Ty::Pointer(_) | Ty::Array(..) => Err(problem(
                codes::POINTER_USE,
                "a pointer is converted to a number",
                c,
            )),
            Ty::Function => Err(problem(
                codes::FUNCTION_POINTER,
                "the address of a function is used",
                c,
            )),
            t => Err(scalar_type(&t, inner).expect_err("not a scalar")),
        }
    }

    fn unary(&mut self, c: Cursor<'u>, ty: ScalarType) -> Result<Expr> {
        let inner = operand(c)?;
        match operator::unary(c)? {
            Unary::Plus | Unary::Extension => self.value(inner),
            Unary::Minus => Ok(negate(self.value(inner)?)),
            Unary::Not => {
                let e = self.value(inner)?;
                if !e.ty().is_int() {
                    return Err(super::complex::unsupported(c));
                }
                Ok(Expr::Unary(UnOp::Not, Box::new(e)))
            }
            Unary::LogicalNot => {
                let e = self.truth(inner)?;
                Ok(convert(ty, negation(e)))
            }
            Unary::Deref => self.read_place(c),
            Unary::Step { by, prefix } => self
                .step(c, by, prefix, true)
                .map(|v| v.expect("a value was asked for")),
            Unary::AddressOf => Err(problem(
                codes::POINTER_USE,
                "an address where a number is needed",
                c,
            )),
            Unary::Part(_) => Err(super::complex::unsupported(c)),
        }
    }

    fn binary(&mut self, c: Cursor<'u>, ty: ScalarType) -> Result<Expr> {
        let [l, r] = operands_of(c)?;
        let pointers = |c| matches!(types::of(c), Ty::Pointer(_) | Ty::Array(..));
        match operator::binary(c)? {
            Binary::Arithmetic(op) if pointers(l) => self.pointer_difference(c, op, l, r, ty),
            Binary::Arithmetic(op) => {
                let (a, b) = (self.value(l)?, self.value(r)?);
                arithmetic(op, a, b, c)
            }
            Binary::Compare(op) if pointers(l) || pointers(r) => {
                Ok(convert(ty, self.pointer_compare(c, op, l, r)?))
            }
            Binary::Compare(op) => {
                let (a, b) = (self.value(l)?, self.value(r)?);
                if a.ty() != b.ty() {
                    return Err(problem(codes::CONVERSION, "operands of two types", c));
                }
                Ok(convert(ty, Expr::compare(op, a, b)))
            }
            Binary::And => Ok(convert(ty, self.logical(l, r, true)?)),
            Binary::Or => Ok(convert(ty, self.logical(l, r, false)?)),
            Binary::Comma => {
                self.effect(l)?;
                self.sequence_point()?;
                self.value(r)
            }
            Binary::Assign => {
                let place = self.assignment(c)?;
                self.load(place, c)
            }
        }
    }

    /// `l && r` or `l || r`, as `i1`. Effects of `r` happen only where it is evaluated.
    fn logical(&mut self, l: Cursor<'u>, r: Cursor<'u>, and: bool) -> Result<Expr> {
        let left = self.truth(l)?;
        self.sequence_point()?;
        let entry = self.pointers.clone();
        let (effects, right) = self.in_branch(|s| s.truth(r))?;
        self.merge_pointers(entry);
        let constant = Expr::int(ScalarType::I1, i128::from(!and));
        if effects.is_empty() {
            return Ok(if and {
                select(left, right, constant)
            } else {
                select(left, constant, right)
            });
        }
        let var = self.fresh("t");
        self.assign_var(var.clone(), left)?;
        let mut run = effects;
        run.push(Stmt::Assign {
            var: var.clone(),
            ty: ScalarType::I1,
            value: right,
        });
        let test = Expr::Var(var.clone(), ScalarType::I1);
        let (then, otherwise) = if and { (run, vec![]) } else { (vec![], run) };
        self.emit(Stmt::If {
            cond: test.clone(),
            then,
            otherwise,
        })?;
        Ok(test)
    }

    fn conditional(&mut self, c: Cursor<'u>, ty: ScalarType) -> Result<Expr> {
        let [cond, l, r] = operands(c)[..] else {
            return Err(problem(
                codes::EXPRESSION,
                "'?:' without its middle is not supported",
                c,
            ));
        };
        let cond = self.truth(cond)?;
        self.sequence_point()?;
        let [(then, a), (otherwise, b)] = self.branches([l, r], |s, e| s.value(e))?;
        if a.ty() != ty || b.ty() != ty {
            return Err(problem(codes::CONVERSION, "branches of two types", c));
        }
        if then.is_empty() && otherwise.is_empty() {
            return Ok(select(cond, a, b));
        }
        let var = self.fresh("t");
        let ended = |mut block: Vec<Stmt>, value| {
            block.push(Stmt::Assign {
                var: var.clone(),
                ty,
                value,
            });
            block
        };
        let (then, otherwise) = (ended(then, a), ended(otherwise, b));
        self.emit(Stmt::If {
            cond,
            then,
            otherwise,
        })?;
        Ok(Expr::Var(var, ty))
    }

    /// GNU's `({ …; value; })`, which macros are made of.
    fn statement_expression(&mut self, c: Cursor<'u>) -> Result<Expr> {
        let unsupported = || {
            problem(
                codes::EXPRESSION,
                "this statement expression is not supported",
                c,
            )
        };
        let block = operand(c)?;
        if leaves(block) != Leaves::default() {
            return Err(unsupported());
        }
        let stmts = operands(block);
        let (&last, before) = stmts.split_last().ok_or_else(unsupported)?;
        if !is_expression(last.kind()) {
            return Err(unsupported());
        }
        self.list(before)?;
        self.full_value(last, |s| s.value(last))
    }

    /// Like [`Lower::in_block`], for an operand that is not always evaluated.
    pub fn in_branch<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(Vec<Stmt>, T)> {
        self.in_block(|s| {
            let value = f(s)?;
            s.sequence_point()?;
            Ok(value)
        })
    }

    /// What each of two operands does and gives, of which one is evaluated: each starts from the pointers that there are.
    pub fn branches<T>(
        &mut self,
        [l, r]: [Cursor<'u>; 2],
        mut f: impl FnMut(&mut Self, Cursor<'u>) -> Result<T>,
    ) -> Result<[(Vec<Stmt>, T); 2]> {
        let entry = self.pointers.clone();
        let then = self.in_branch(|s| f(s, l))?;
        let after = std::mem::replace(&mut self.pointers, entry);
        let otherwise = self.in_branch(|s| f(s, r))?;
        self.merge_pointers(after);
        Ok([then, otherwise])
    }

    /// `cond ? l : r` where `f` is all that becomes of the operands.
    pub fn either(
        &mut self,
        [cond, l, r]: [Cursor<'u>; 3],
        f: impl FnMut(&mut Self, Cursor<'u>) -> Result<()>,
    ) -> Result<()> {
        let cond = self.truth(cond)?;
        self.sequence_point()?;
        let [(then, ()), (otherwise, ())] = self.branches([l, r], f)?;
        if then.is_empty() && otherwise.is_empty() {
            return Ok(());
        }
        self.emit(Stmt::If {
            cond,
            then,
            otherwise,
        })
    }
}

fn literal(c: Cursor<'_>, ty: ScalarType) -> Result<Expr> {
    let value = c.evaluate().and_then(|v| v.scalar(ty));
    let value =
        value.ok_or_else(|| problem(codes::EXPRESSION, "a literal that is not supported", c))?;
    Ok(Expr::Const(value))
}

/// Whether an integer is the outcome of comparisons, or a literal.
fn is_truth(e: &Expr) -> bool {
    match e {
        Expr::Const(v) => v.ty.is_int(),
        Expr::Convert(to, inner) => to.is_int() && inner.ty() == ScalarType::I1,
        Expr::Select(_, t, f) => is_truth(t) && is_truth(f),
        e => e.ty() == ScalarType::I1,
    }
}

/// `e != 0`
pub(super) fn as_truth(e: Expr) -> Expr {
    match e {
        Expr::Convert(to, inner) if to.is_int() && inner.ty() == ScalarType::I1 => *inner,
        Expr::Const(v) => Expr::Const(Scalar::bool(v.is_true())),
        e if e.ty() == ScalarType::I1 => e,
        // `step < 0 ? i >= end : i <= end` is an `int` in C.
        Expr::Select(c, t, f) if is_truth(&t) && is_truth(&f) => {
            select(*c, as_truth(*t), as_truth(*f))
        }
        e => {
            let zero = Expr::Const(Scalar::zero(e.ty()));
            Expr::compare(CmpOp::Ne, e, zero)
        }
    }
}

/// `!e` for an `i1`
pub(super) fn negation(e: Expr) -> Expr {
    match e {
        Expr::Const(v) => Expr::Const(Scalar::bool(!v.is_true())),
        Expr::Unary(UnOp::Not, inner) => *inner,
        Expr::Compare(op, a, b) if a.ty().is_int() => Expr::Compare(op.negated(), a, b),
        e => Expr::Unary(UnOp::Not, Box::new(e)),
    }
}

/// `c ? a : b`, decided if `c` is a literal.
pub(super) fn select(c: Expr, a: Expr, b: Expr) -> Expr {
    let is = |e: &Expr, value| matches!(e, Expr::Const(v) if *v == Scalar::bool(value));
    match c {
        c if is(&a, true) && is(&b, false) => c,
        Expr::Const(v) => {
            if v.is_true() {
                a
            } else {
                b
            }
        }
        c => Expr::Select(Box::new(c), Box::new(a), Box::new(b)),
    }
}

/// A choice or a negation by what is known of its operands.
pub(crate) fn simplified(e: Expr) -> Expr {
    match e {
        Expr::Unary(UnOp::Not, a) if a.ty() == ScalarType::I1 => negation(*a),
        Expr::Select(c, a, b) => select(*c, *a, *b),
        e => e,
    }
}

pub(super) fn negate(e: Expr) -> Expr {
    match e {
        Expr::Const(v) if tensorize_ir::op::unary_undefined(UnOp::Negate, v).is_none() => {
            Expr::Const(tensorize_ir::op::eval_unary(UnOp::Negate, v))
        }
        e => Expr::Unary(UnOp::Negate, Box::new(e)),
    }
}

/// `a op b` on operands that clang has converted to a common type; a shift's count has its own.
pub(super) fn arithmetic(op: Arith, a: Expr, b: Expr, at: Cursor<'_>) -> Result<Expr> {
    let ty = a.ty();
    let op = match op {
        Arith::Plain(op) => op,
        Arith::ShiftRight if ty.is_signed() => BinOp::ShiftRightArithmetic,
        Arith::ShiftRight => BinOp::ShiftRightLogical,
    };
    let shift = matches!(
        op,
        BinOp::ShiftLeft | BinOp::ShiftRightArithmetic | BinOp::ShiftRightLogical
    );
    let b = if shift && b.ty().is_int() {
        convert(ty, b)
    } else {
        b
    };
    if b.ty() != ty || !op.accepts(ty) {
        return Err(problem(
            codes::CONVERSION,
            format!("'{op}' on {ty} and {}", b.ty()),
            at,
        ));
    }
    Ok(match (&a, &b) {
        // What overflows stays as it is: the prover has to see it.
        (Expr::Const(x), Expr::Const(y))
            if tensorize_ir::op::binary_undefined(op, *x, *y).is_none() =>
        {
            Expr::Const(tensorize_ir::op::eval_binary(op, *x, *y))
        }
        // `(a >= low) & (a < high)` is a truth value, too.
        (Expr::Convert(_, x), Expr::Convert(_, y))
            if matches!(op, BinOp::And | BinOp::Or | BinOp::Xor)
                && x.ty() == ScalarType::I1
                && y.ty() == ScalarType::I1 =>
        {
            convert(ty, Expr::binary(op, (**x).clone(), (**y).clone()))
        }
        _ => Expr::binary(op, a, b),
    })
}

/// An arithmetic operator of C; the type tells which right shift it is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Arith {
    Plain(BinOp),
    ShiftRight,
}

impl Arith {
    pub fn plain(self) -> Option<BinOp> {
        match self {
            Arith::Plain(op) => Some(op),
            Arith::ShiftRight => None,
        }
    }
}
