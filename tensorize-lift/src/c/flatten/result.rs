//! Structs that a function returns by value. Their numbers are variables, which the kernel itself stores in arrays of
//! one element each when it ends.

use super::local::numbers;
use super::{array_param, bare, element, struct_declaration};
use crate::c::codes;
use crate::c::cpp::class::is_pair;
use crate::c::cpp::lambda::returned_type;
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Lower, Result, Target, problem, scalar_type, zero_offset};
use crate::c::place::Place;
use crate::c::types;
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Param};
use tensorize_ir::scalar::Scalar;
use tensorize_ir::signature::{Field, Shape};

impl<'u> Lower<'u, '_> {
    /// Variables for the numbers of the struct that a function returns.
    pub fn returned_members(&mut self, f: Cursor<'u>) -> Option<Vec<Place>> {
        let leaves = numbers(returned_type(f))?;
        let places = leaves.into_iter().map(|(_, ty)| {
            let var = self.fresh(f.spelling());
            Place::Var(var, ty)
        });
        Some(places.collect())
    }

    /// `return e` of a struct.
    pub fn return_struct(&mut self, members: &[Place], e: Cursor<'u>) -> Result<()> {
        let values = self.struct_value(e)?;
        for (place, value) in members.iter().zip(values) {
            self.write(place.clone(), value, e)?;
        }
        Ok(())
    }

    /// The result of a kernel that returns a struct of numbers.
    pub fn struct_result(&mut self, f: Cursor<'u>) -> Result<Option<(Vec<Param>, Shape)>> {
        let t = f.ty().result();
        let Some(declaration) = struct_declaration(t) else {
            return Ok(None);
        };
        if numbers(t).is_none() {
            let message = format!(
                "'{}' returns '{}', which is more than a struct of numbers",
                f.spelling(),
                t.spelling()
            );
            return Err(problem(codes::RECORD, message, f));
        }
        if !can_be_made(declaration) {
            let message = format!(
                "'{}' returns '{}', which nobody can make first and set later",
                f.spelling(),
                t.spelling()
            );
            return Err(problem(codes::RECORD, message, f));
        }
        let mut params = Vec::new();
        let shape = self.result_shape(declaration, t, "result", &mut params)?;
        let members = self.returned_members(f);
        if let Some(frame) = self.frames.last_mut() {
            frame.members = members;
        }
        Ok(Some((params, shape)))
    }

    /// Gives the numbers of the struct that the kernel returns a value that no path leaves them.
    pub fn clear_members(&mut self) -> Result<()> {
        for place in self.frames[0].members.clone().unwrap_or_default() {
            if let Place::Var(var, ty) = place {
                self.assign_var(var, Expr::Const(Scalar::zero(ty)))?;
            }
        }
        Ok(())
    }

    /// Stores the numbers of the struct that the kernel returns.
    pub fn store_members(&mut self) -> Result<()> {
        let members = self.frames[0].members.clone().unwrap_or_default();
        let targets = self.flat.results.clone();
        for (place, target) in members.into_iter().zip(targets) {
            let value = self.load(place, self.frames[0].function)?;
            let elem = target.elem;
            let to = Place::Element(target, zero_offset(), elem);
            self.write(to, value, self.frames[0].function)?;
        }
        Ok(())
    }

    fn result_shape(
        &mut self,
        declaration: Cursor<'u>,
        t: Type<'u>,
        prefix: &str,
        params: &mut Vec<Param>,
    ) -> Result<Shape> {
        let mut fields = Vec::new();
        for field in element::fields(declaration).unwrap_or_default() {
            let name = format!("{prefix}_{}", field.spelling());
            self.check_access(field, field)?;
            let shape = match struct_declaration(field.ty()) {
                Some(inner) => self.result_shape(inner, field.ty(), &name, params)?,
                None => {
                    let elem = scalar_type(&types::read(field.ty()), field)?;
                    let array = self.flat_name(&name);
                    params.push(array_param(&array, elem, false, true));
                    let to = array.to_string();
                    self.flat.results.push(Target { array, elem });
                    Shape::Place { to, len: 1 }
                }
            };
            fields.push(Field {
                name: field.spelling(),
                base: None,
                hidden: super::record::hidden(field),
                shape,
            });
        }
        Ok(Shape::Struct {
            pointer: false,
            ty: bare(t),
            fields,
        })
    }
}

/// Whether code can declare one without a word, and set its members.
fn can_be_made(declaration: Cursor<'_>) -> bool {
    let written = element::written(declaration);
    let mut constructors = written
        .iter()
        .filter(|c| c.kind() == CXCursor_Constructor)
        .peekable();
    let made = is_pair(declaration)
        || constructors.peek().is_none()
        || constructors.any(|c| c.arguments().is_empty());
    made && element::fields(declaration).is_some_and(|fields| {
        let settable = |f: &Cursor<'_>| {
            let inner = struct_declaration(f.ty());
            !f.ty().canonical().is_const() && inner.is_none_or(can_be_made)
        };
        fields.iter().all(settable)
    })
}
