//! Lowering of expressions and variables of vector types.

use super::fold;
use super::table::{self, Body, Intrinsic, Type};
use super::value::{Vector, same_bits};
use crate::c::codes;
use crate::c::expr::{Arith, arithmetic};
use crate::c::ffi::Cursor;
use crate::c::lower::{
    Binding, Lower, Result, convert, offset_op, operand, operands, peeled, problem,
};
use crate::c::operator::{self, Binary, Unary};
use crate::c::place::{Place, Pointer};
use crate::c::types::{self, Ty};
use clang_sys::*;
use std::collections::HashMap;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Function, Stmt};
use tensorize_ir::op::{self, BinOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// What an intrinsic gives.
pub(in crate::c) enum Outcome {
    Vector(Vector),
    Scalar(Expr),
    Nothing,
}

/// An argument of an intrinsic.
enum Arg {
    Vector(Vector),
    Scalar(Expr),
    Pointer(Pointer),
}

/// Whether this is an expression or a declaration of a vector type.
pub(in crate::c) fn is_vector(c: Cursor<'_>) -> bool {
    matches!(types::of(c), Ty::Vector(..)) || is_mask(c)
}

/// Whether this has one of the types of masks, which are numbers for C.
fn is_mask(c: Cursor<'_>) -> bool {
    c.ty()
        .spelling()
        .trim_start_matches("const ")
        .starts_with("__mmask")
}

fn intrinsic(call: Cursor<'_>) -> Option<&'static Intrinsic> {
    let callee = call.referenced()?;
    if callee.kind() != CXCursor_FunctionDecl || callee.definition().is_some() {
        return None;
    }
    table::intrinsics().get(&callee.spelling())
}

/// Whether this is an expression of one of the compiler's vector types.
pub(in crate::c) fn is_register(c: Cursor<'_>) -> bool {
    matches!(types::of(c), Ty::Vector(..))
}

/// Whether a call is an intrinsic whose result is a mask.
pub(in crate::c) fn gives_mask(call: Cursor<'_>) -> bool {
    intrinsic(call).is_some_and(|i| matches!(i.result, Some(Type::Mask(_))))
}

/// A mask as C sees it: a number with one bit a lane.
pub(in crate::c) fn packed(ty: ScalarType, lanes: &[Expr]) -> Expr {
    let bits = lanes.iter().enumerate().map(|(i, lane)| {
        let one = fold::convert(ty, lane.clone());
        fold::binary(BinOp::ShiftLeft, one, Expr::int(ty, i as i128))
    });
    bits.fold(Expr::int(ty, 0), |a, b| fold::binary(BinOp::Or, a, b))
}

/// Whether a call is an intrinsic, and if so, whether it writes memory.
pub(in crate::c) fn writes_memory(call: Cursor<'_>) -> Option<bool> {
    intrinsic(call).map(|i| matches!(i.body, Body::Store { .. }))
}

/// The type that lanes of an expression of this type have, if nothing says otherwise, and their number.
fn shape(c: Cursor<'_>) -> Option<(ScalarType, usize)> {
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
                    self.call(c)?;
                    self.returned_vector.take().ok_or_else(unsupported)
                }
            },
            CXCursor_ArraySubscriptExpr => self.load_vector(c),
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
                let (a_block, a) = self.in_branch(|s| s.vector(l))?;
                let (b_block, b) = self.in_branch(|s| s.vector(r))?;
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
    fn bits_as_mask(&mut self, bits: Expr, n: usize) -> Result<Vector> {
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
    fn lanes_of(
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

    fn vector_variable(&mut self, c: Cursor<'u>) -> Result<Vector> {
        let d = c.referenced().filter(|d| self.bindings.contains_key(d));
        match d.and_then(|d| self.bindings.get(&d)) {
            Some(Binding::Vector(v)) => Ok(v.clone()),
            Some(Binding::VectorVariable(names, elem)) => Ok(Vector {
                lanes: names.iter().map(|n| Expr::Var(n.clone(), *elem)).collect(),
            }),
            Some(Binding::Array(..)) => self.load_vector(c),
            Some(Binding::Scalar(name, ty)) if is_mask(c) => {
                let value = Expr::Var(name.clone(), *ty);
                self.bits_as_mask(value, ty.bits() as usize)
            }
            _ => {
                let message = format!("the vector '{}' is a global variable", c.spelling());
                Err(problem(codes::GLOBAL, message, c))
            }
        }
    }

    /// The vector that stands in memory.
    fn load_vector(&mut self, c: Cursor<'u>) -> Result<Vector> {
        let pointer = match self.place(c)? {
            Place::Array(p) => p,
            _ => return Err(cut(c)),
        };
        let [Expr::Const(n)] = &pointer.dims[..] else {
            return Err(cut(c));
        };
        let n = n.as_int().max(0) as usize;
        let lanes = (0..n).map(|i| lane_of(&pointer, i as i128)).collect();
        self.held(Vector { lanes })
    }

    /// `v = …`, where `v` is a variable or stands in memory.
    pub fn vector_assignment(&mut self, c: Cursor<'u>) -> Result<()> {
        let [l, r] = operands(c)[..] else {
            return Err(cut(c));
        };
        let value = self.vector(r)?;
        self.store_vector(l, value, c)
    }

    /// `v op= …`
    pub fn vector_compound(&mut self, c: Cursor<'u>) -> Result<()> {
        let [l, r] = operands(c)[..] else {
            return Err(cut(c));
        };
        let (elem, _) = shape(l).ok_or_else(|| cut(c))?;
        let (a, b) = (self.vector(l)?, self.vector(r)?);
        let value = self.lanes_of(operator::compound(c)?, a, b, elem, c)?;
        self.store_vector(l, value, c)
    }

    fn store_vector(&mut self, l: Cursor<'u>, value: Vector, at: Cursor<'u>) -> Result<()> {
        let inner = peeled(l);
        let variable = (inner.kind() == CXCursor_DeclRefExpr)
            .then(|| inner.referenced())
            .flatten()
            .and_then(|d| self.bindings.get(&d).cloned());
        match variable {
            Some(Binding::VectorVariable(names, elem)) => {
                self.assign_lanes(&names, elem, value, at)
            }
            Some(Binding::Vector(_)) => Err(problem(
                codes::VECTOR,
                "this vector is assigned in a way that was not seen",
                at,
            )),
            _ => {
                let Place::Array(p) = self.place(inner)? else {
                    return Err(cut(at));
                };
                self.store_lanes(&p, value, at)
            }
        }
    }

    /// Stores lanes one after the other.
    fn store_lanes(&mut self, p: &Pointer, value: Vector, at: Cursor<'u>) -> Result<()> {
        let value = value.seen_as(p.target.elem).ok_or_else(|| cut(at))?;
        self.written.insert(p.target.array.clone());
        for (i, lane) in value.lanes.into_iter().enumerate() {
            let by = Expr::int(ScalarType::I64, i as i128);
            self.emit(Stmt::Store {
                array: p.target.array.clone(),
                index: offset_op(BinOp::Add, p.offset.clone(), by),
                value: lane,
            })?;
        }
        Ok(())
    }

    /// All at once: a lane may be computed from another lane's old value.
    pub fn assign_lanes(
        &mut self,
        names: &[Sym],
        elem: ScalarType,
        value: Vector,
        at: Cursor<'u>,
    ) -> Result<()> {
        let mut value = value.seen_as(elem).ok_or_else(|| cut(at))?;
        let crossed = value.lanes.iter().enumerate().any(|(i, lane)| {
            let before = &names[..i.min(names.len())];
            mentions(lane, &|v| before.contains(v))
        });
        if crossed {
            for lane in &mut value.lanes {
                *lane = self.kept(lane.clone())?;
            }
        }
        if value.lanes.len() != names.len() {
            return Err(cut(at));
        }
        for (name, lane) in names.iter().zip(value.lanes) {
            if !matches!(&lane, Expr::Var(same, _) if same == name) {
                self.assign_var(name.clone(), lane)?;
            }
        }
        Ok(())
    }

    /// A local variable of vector type.
    pub fn declare_vector(&mut self, d: Cursor<'u>, init: Option<Cursor<'u>>) -> Result<()> {
        let (elem, n) = shape(d).ok_or_else(|| cut(d))?;
        let value = match init {
            Some(e) => Some(self.full(e, |s| {
                let v = s.vector(e)?;
                s.fixed(v)
            })?),
            None => None,
        };
        self.bind_vector(d, value, elem, n)
    }

    /// Binds a variable or a parameter that may have a value.
    pub fn bind_vector(
        &mut self,
        d: Cursor<'u>,
        value: Option<Vector>,
        elem: ScalarType,
        n: usize,
    ) -> Result<()> {
        let name = d.spelling();
        if self.in_memory.contains(&d) {
            let array = self.fresh(&name);
            self.arrays.push(tensorize_ir::loopir::LocalArray {
                name: array.clone(),
                elem,
                len: n,
                init: None,
            });
            let target = crate::c::lower::Target { array, elem };
            let dims = vec![Expr::int(ScalarType::I64, n as i128)];
            let p = Pointer {
                target: target.clone(),
                offset: crate::c::lower::zero_offset(),
                dims: dims.clone(),
                view: elem,
            };
            self.bindings.insert(d, Binding::Array(target, dims));
            return match value {
                Some(v) => self.store_lanes(&p, v, d),
                None => Ok(()),
            };
        }
        if let Some(v) = value.as_ref().filter(|_| !self.assigned.contains(&d)) {
            let v = self.fixed(v.clone())?;
            self.bindings.insert(d, Binding::Vector(v));
            return Ok(());
        }
        let bits = n * elem.bits() as usize;
        let elem = if elem == ScalarType::I64 {
            self.preferred_lanes(d).unwrap_or_else(|| {
                let known = value.as_ref().map(Vector::elem);
                known.unwrap_or(ScalarType::I32)
            })
        } else {
            elem
        };
        let names: Vec<Sym> = (0..bits / elem.bits() as usize)
            .map(|i| self.fresh(format!("{name}.{i}")))
            .collect();
        self.bindings
            .insert(d, Binding::VectorVariable(names.clone(), elem));
        match value {
            Some(v) => self.assign_lanes(&names, elem, v, d),
            None => Ok(()),
        }
    }

    /// What the operations around a register of integers take its lanes for.
    fn preferred_lanes(&self, d: Cursor<'u>) -> Option<ScalarType> {
        let names = |c: Cursor<'u>| {
            let p = peeled(c);
            p.kind() == CXCursor_DeclRefExpr && p.referenced() == Some(d)
        };
        let mut pending = vec![self.frames.last()?.function];
        while let Some(c) = pending.pop() {
            pending.extend(c.children().into_iter().rev());
            if c.kind() != CXCursor_CallExpr {
                continue;
            }
            let Some(i) = intrinsic(c) else { continue };
            for (arg, (ty, _)) in c.arguments().into_iter().zip(&i.params) {
                if let Type::Vector(e, _) = ty
                    && names(arg)
                {
                    return Some(*e);
                }
            }
        }
        None
    }

    /// A value that later assignments don't change: mentions temporaries only.
    fn fixed(&mut self, mut v: Vector) -> Result<Vector> {
        for lane in &mut v.lanes {
            if mentions(lane, &|v| !self.temporaries.contains(v)) {
                *lane = self.kept(lane.clone())?;
            }
        }
        Ok(v)
    }

    /// In a variable of its own, which is assigned here and nowhere else.
    fn kept(&mut self, e: Expr) -> Result<Expr> {
        let held = self.hold("lane", e)?;
        if let Expr::Var(name, _) = &held {
            self.temporaries.insert(name.clone());
        }
        Ok(held)
    }

    /// Kept, unless it is small and reads no memory.
    fn light(&mut self, e: Expr) -> Result<Expr> {
        if is_light(&e) { Ok(e) } else { self.kept(e) }
    }

    /// Lanes that can be used more than once. A choice between literals, or between small values, keeps its
    /// condition apart, so that masks can be folded.
    fn held(&mut self, mut v: Vector) -> Result<Vector> {
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

    /// The variables for the lanes that a helper returns.
    pub fn vector_result(&mut self, f: Cursor<'u>) -> Option<(Vec<Sym>, ScalarType)> {
        let Ty::Vector(e, n) = types::read(f.ty().result()) else {
            return None;
        };
        let elem = e.as_scalar()?;
        let mut lanes = elem;
        if elem == ScalarType::I64 {
            lanes = returned_lanes(f).unwrap_or(ScalarType::I32);
        }
        let bits = n as usize * elem.bits() as usize;
        let name = f.spelling();
        let names = (0..bits / lanes.bits() as usize).map(|i| self.fresh(format!("{name}.{i}")));
        Some((names.collect(), lanes))
    }

    /// A call of an intrinsic.
    pub fn intrinsic_call(&mut self, c: Cursor<'u>) -> Result<Option<Outcome>> {
        intrinsic(c).map(|i| self.intrinsic(c, i)).transpose()
    }

    fn intrinsic(&mut self, c: Cursor<'u>, i: &'static Intrinsic) -> Result<Outcome> {
        if i.body == Body::Nothing {
            return Ok(Outcome::Nothing);
        }
        let bad = |what: &str| {
            let message = format!("'{}': {what}", i.name);
            problem(codes::VECTOR, message, c)
        };
        let written = c.arguments();
        if written.len() != i.params.len() {
            return Err(bad("the wrong number of arguments"));
        }
        let mut args: HashMap<&str, Arg> = HashMap::new();
        // What registers of integers are taken for.
        let mut any = None;
        for (a, (ty, name)) in written.into_iter().zip(&i.params) {
            let arg = match ty {
                Type::Vector(e, _) => {
                    let v = self.vector(a)?;
                    Arg::Vector(v.seen_as(*e).ok_or_else(|| cut(a))?)
                }
                Type::Bits(_) | Type::Mask(_) => Arg::Vector(self.vector(a)?),
                Type::Scalar(s) => {
                    let v = self.value(a)?;
                    Arg::Scalar(self.light(convert(*s, v))?)
                }
                Type::Constant => match self.value(a)? {
                    Expr::Const(v) => Arg::Scalar(Expr::int(ScalarType::I64, v.as_int())),
                    _ => return Err(bad("an argument that has to be a constant is not")),
                },
                Type::Pointer(e) => {
                    let p = self.pointer(a)?;
                    if p.target.elem.bits() != e.bits() {
                        let message = format!(
                            "'{}' reads or writes {} elements as {e}",
                            i.name, p.target.elem
                        );
                        return Err(problem(codes::POINTER_CAST, message, a));
                    }
                    Arg::Pointer(p)
                }
                Type::PointerToBits(_) => {
                    let p = self.pointer(a)?;
                    any = Some(p.target.elem);
                    Arg::Pointer(p)
                }
            };
            if let (Arg::Vector(v), Type::Bits(_), None) = (&arg, ty, any) {
                let e = v.elem();
                any = Some(match e.is_int() {
                    true => e,
                    false => types::integer(e.bits().into(), false).unwrap_or(e),
                });
            }
            args.insert(name, arg);
        }
        let any = any.unwrap_or(ScalarType::I32);
        if !matches!(i.body, Body::Cast(_)) {
            for (ty, name) in &i.params {
                if let (Type::Bits(_), Some(Arg::Vector(v))) = (ty, args.get_mut(name.as_str())) {
                    *v = v.seen_as(any).ok_or_else(|| bad("an odd register"))?;
                }
            }
        }
        if i.fused {
            self.fused = true;
        }
        meaning(i, &args, any)
            .ok_or_else(|| bad("these arguments are not supported"))?
            .map_or(Ok(Outcome::Nothing), |outcome| match outcome {
                Applied::Vector(v) => self.held(v).map(Outcome::Vector),
                Applied::Scalar(e) => self.light(e).map(Outcome::Scalar),
                Applied::Stores(p, stores) => {
                    self.written.insert(p.target.array.clone());
                    for (index, value, only_if) in stores {
                        let store = Stmt::Store {
                            array: p.target.array.clone(),
                            index: offset_op(BinOp::Add, p.offset.clone(), index),
                            value: same_bits(p.target.elem, value),
                        };
                        match only_if {
                            Some(Expr::Const(v)) if !v.is_true() => {}
                            Some(cond) if !matches!(cond, Expr::Const(_)) => {
                                self.emit(Stmt::If {
                                    cond,
                                    then: vec![store],
                                    otherwise: vec![],
                                })?;
                            }
                            _ => self.emit(store)?,
                        }
                    }
                    Ok(Outcome::Nothing)
                }
            })
    }
}

/// What the table says, for these arguments.
fn meaning(
    i: &'static Intrinsic,
    args: &HashMap<&str, Arg>,
    any: ScalarType,
) -> Option<Option<Applied>> {
    let (elem, n) = match i.result {
        Some(Type::Vector(e, n)) => (e, n),
        Some(Type::Bits(width)) => (any, width / any.bits() as usize),
        Some(Type::Mask(n)) => (ScalarType::I1, n),
        Some(Type::Scalar(e)) => (e, 1),
        _ => (any, 0),
    };
    let formula = |text: &str, ty: ScalarType| formula(i, text, ty, any);
    let lane = |e: &Expr, number: usize, n: usize| substitute(e, &Lanes { args, number, n });
    Some(Some(match &i.body {
        Body::Lane(text) => {
            let e = formula(text, elem)?;
            match i.result? {
                Type::Scalar(_) => Applied::Scalar(lane(&e, 0, 1)?),
                _ => Applied::Vector(Vector {
                    lanes: (0..n).map(|k| lane(&e, k, n)).collect::<Option<_>>()?,
                }),
            }
        }
        Body::List(texts) => Applied::Vector(Vector {
            lanes: texts
                .iter()
                .map(|t| lane(&formula(t, elem)?, 0, n))
                .collect::<Option<_>>()?,
        }),
        Body::Cast(param) => match args.get(param.as_str())? {
            Arg::Vector(v) => Applied::Vector(match i.result? {
                Type::Vector(e, _) => v.seen_as(e)?,
                _ => v.clone(),
            }),
            _ => return None,
        },
        Body::Store {
            count,
            pointer,
            index,
            value,
            only_if,
        } => {
            let Some(Arg::Pointer(p)) = args.get(pointer.as_str()) else {
                return None;
            };
            let (to, n) = i.params.iter().rev().find_map(|(t, _)| match t {
                Type::Vector(e, n) => Some((*e, *n)),
                Type::Bits(width) => Some((any, width / any.bits() as usize)),
                _ => None,
            })?;
            let index = formula(index, ScalarType::I64)?;
            let value = formula(value, to)?;
            let only_if = match only_if {
                Some(c) => Some(formula(c, ScalarType::I1)?),
                None => None,
            };
            let count = match count {
                Some(c) => match lane(&formula(c, ScalarType::I64)?, 0, n)? {
                    Expr::Const(v) => v.as_int() as usize,
                    _ => return None,
                },
                None => n,
            };
            let mut stores = Vec::new();
            for k in 0..count {
                let cond = match &only_if {
                    Some(c) => Some(lane(c, k, n)?),
                    None => None,
                };
                stores.push((lane(&index, k, n)?, lane(&value, k, n)?, cond));
            }
            Applied::Stores(p.clone(), stores)
        }
        Body::Nothing => return Some(None),
    }))
}

/// A result that is not yet held.
enum Applied {
    Vector(Vector),
    Scalar(Expr),
    /// Index, value, condition.
    Stores(Pointer, Vec<(Expr, Expr, Option<Expr>)>),
}

fn cut(c: Cursor<'_>) -> crate::c::Problem {
    problem(
        codes::VECTOR,
        "this use of a vector type is not supported",
        c,
    )
}

/// Parses a formula of the table.
fn formula(i: &Intrinsic, text: &str, ty: ScalarType, any: ScalarType) -> Option<Expr> {
    let mut params = String::from("i64 i, i64 n");
    for (t, name) in &i.params {
        let declared = match t {
            Type::Vector(e, _) | Type::Pointer(e) => format!("const {e} *{name}"),
            Type::Bits(_) | Type::PointerToBits(_) => format!("const {any} *{name}"),
            Type::Mask(_) => format!("const i1 *{name}"),
            Type::Scalar(s) => format!("{s} {name}"),
            Type::Constant => format!("i64 {name}"),
        };
        params.push_str(", ");
        params.push_str(&declared);
    }
    let text = format!("{ty} lane({params}) {{ return {text}; }}");
    let function: Function = text.parse().ok()?;
    match function.body.into_iter().next()? {
        Stmt::Return(e) => e,
        _ => None,
    }
}

/// What the intrinsic that a helper returns the result of takes its lanes for.
fn returned_lanes(f: Cursor<'_>) -> Option<ScalarType> {
    let mut pending = vec![f];
    while let Some(c) = pending.pop() {
        if c.kind() == CXCursor_ReturnStmt
            && let Some(&e) = operands(c).first()
            && let Some(Type::Vector(e, _)) = intrinsic(peeled(e)).and_then(|i| i.result)
        {
            return Some(e);
        }
        pending.extend(c.children());
    }
    None
}

/// What a formula is about.
struct Lanes<'a> {
    args: &'a HashMap<&'a str, Arg>,
    number: usize,
    n: usize,
}

/// The formula with its arguments put in; conditions on numbers of lanes and on constants are decided.
fn substitute(e: &Expr, on: &Lanes<'_>) -> Option<Expr> {
    let int = |v: usize| Some(Expr::int(ScalarType::I64, v as i128));
    match e {
        Expr::Const(_) => Some(e.clone()),
        Expr::Var(name, _) => match &**name {
            "i" => int(on.number),
            "n" => int(on.n),
            name => match on.args.get(name)? {
                Arg::Scalar(v) => Some(v.clone()),
                _ => None,
            },
        },
        Expr::Load { array, index, elem } => {
            let Expr::Const(at) = substitute(index, on)? else {
                return None;
            };
            match on.args.get(&**array)? {
                Arg::Vector(v) => v.lanes.get(usize::try_from(at.as_int()).ok()?).cloned(),
                Arg::Pointer(p) => Some(same_bits(*elem, lane_of(p, at.as_int()))),
                Arg::Scalar(_) => None,
            }
        }
        Expr::Unary(op, a) => Some(fold::unary(*op, substitute(a, on)?)),
        Expr::Binary(op, a, b) => Some(fold::binary(*op, substitute(a, on)?, substitute(b, on)?)),
        Expr::Compare(op, a, b) => Some(fold::compare(*op, substitute(a, on)?, substitute(b, on)?)),
        Expr::Convert(to, a) => Some(fold::convert(*to, substitute(a, on)?)),
        Expr::Bitcast(to, a) => Some(fold::bitcast(*to, substitute(a, on)?)),
        Expr::Select(c, t, f) => match substitute(c, on)? {
            // The other side may name a lane that isn't there.
            Expr::Const(v) if v.is_true() => substitute(t, on),
            Expr::Const(_) => substitute(f, on),
            c => Some(fold::select(c, substitute(t, on)?, substitute(f, on)?)),
        },
    }
}

/// Element `i` behind a pointer.
fn lane_of(p: &Pointer, i: i128) -> Expr {
    let index = offset_op(BinOp::Add, p.offset.clone(), Expr::int(ScalarType::I64, i));
    Expr::load(p.target.array.clone(), p.target.elem, index)
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

fn mentions(e: &Expr, what: &dyn Fn(&Sym) -> bool) -> bool {
    match e {
        Expr::Var(name, _) => what(name),
        _ => e.children().into_iter().any(|c| mentions(c, what)),
    }
}
