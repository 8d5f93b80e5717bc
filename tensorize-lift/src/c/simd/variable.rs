//! Variables of vector types: a variable a lane, or an array where somebody takes an address.

use super::intrinsic::{intrinsic, lane_of};
use super::lower::{cut, is_mask, mentions, shape};
use super::registers::{constructed, register_of};
use super::table::Type;
use super::value::Vector;
use crate::c::codes;
use crate::c::ffi::Cursor;
use crate::c::lower::{Binding, Lower, Result, offset_op, operands, peeled, problem};
use crate::c::operator;
use crate::c::place::{Place, Pointer};
use crate::c::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

impl<'u> Lower<'u, '_> {
    pub(super) fn vector_variable(&mut self, c: Cursor<'u>) -> Result<Vector> {
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
    pub(super) fn load_vector(&mut self, c: Cursor<'u>) -> Result<Vector> {
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

    /// `l = r`, which is a call in C++.
    pub fn registers_assigned(
        &mut self,
        l: Cursor<'u>,
        r: Cursor<'u>,
        c: Cursor<'u>,
    ) -> Result<()> {
        let value = self.vector(r)?;
        self.store_vector(l, value, c)
    }

    pub(super) fn store_vector(
        &mut self,
        l: Cursor<'u>,
        value: Vector,
        at: Cursor<'u>,
    ) -> Result<()> {
        let inner = peeled(l);
        if let Some((of, k)) = register_of(inner) {
            return self.store_register(of, k, value, inner);
        }
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
                *lane = self.kept("lane", lane.clone())?;
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
        let value = match init.filter(|e| constructed(*e) != Some(None)) {
            Some(e) => Some(self.full(e, |s| {
                let v = s.vector(e)?;
                s.fixed(v)
            })?),
            None => None,
        };
        self.bind_vector(d, value, elem, n)
    }

    /// A parameter gets the lanes that an argument has. For one that is a reference that is enough where nothing can change
    /// them: it is one to what is constant, in a variable of the function's own or in none.
    pub fn check_reference(&self, p: Cursor<'u>, a: Cursor<'u>) -> Result<()> {
        if !matches!(types::of(p), Ty::Reference(_)) {
            return Ok(());
        }
        let a = peeled(a);
        let own = match a.kind() {
            CXCursor_DeclRefExpr => a.referenced().is_some_and(|d| {
                let bound = self.bindings.get(&d);
                matches!(
                    bound,
                    Some(Binding::Vector(_) | Binding::VectorVariable(..))
                )
            }),
            kind => kind == CXCursor_CallExpr,
        };
        if own && p.ty().canonical().pointee().is_const() {
            return Ok(());
        }
        let message = "a vector that is passed by reference";
        Err(problem(codes::VECTOR, message, a))
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
                len: tensorize_ir::loopir::Len::Fixed(n),
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
                *lane = self.kept("lane", lane.clone())?;
            }
        }
        Ok(v)
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
