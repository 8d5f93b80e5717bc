//! Structs that a function returns by value. Their numbers are variables, which the kernel itself stores in arrays of
//! one element each when it ends.

use super::local::{Leaf, numbers};
use super::object::{Held, held};
use super::within;
use super::{Path, array_param, bare, element, struct_declaration};
use crate::c::codes;
use crate::c::cpp::lambda::returned_type;
use crate::c::cpp::optional::{Optional, optional};
use crate::c::cpp::seq::int;
use crate::c::cpp::tuple::tuple;
use crate::c::expr::select;
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Lower, Result, Target, problem, scalar_type, zero_offset};
use crate::c::place::{Place, Pointer};
use crate::c::types::{self, Ty};
use tensorize_ir::loopir::{Expr, Param};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::signature::{Field, Shape};

/// Parameters for what is returned, and how it is flattened.
pub(super) type Returned = (Vec<Param>, Shape);

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

    /// Has what the kernel returns kept in such variables.
    fn expect_members(&mut self, f: Cursor<'u>) {
        let members = self.returned_members(f);
        if let Some(frame) = self.frames.last_mut() {
            frame.members = members;
        }
    }

    /// `return e` of a struct.
    pub fn return_struct(&mut self, members: &[Place], e: Cursor<'u>) -> Result<()> {
        let mut values = self.struct_value(e)?;
        let function = self.frames.last().map(|f| f.function);
        // Nobody sees what the numbers have been of an optional without a value.
        if function.is_some_and(|f| optional(returned_type(f)).is_some())
            && let Some((has_value, numbers)) = values.split_first_mut()
        {
            let given = self.hold("has_value", has_value.clone())?;
            for v in numbers {
                let zero = Expr::Const(Scalar::zero(v.ty()));
                *v = select(given.clone(), v.clone(), zero);
            }
        }
        for (place, value) in members.iter().zip(values) {
            self.write(place.clone(), value, e)?;
        }
        Ok(())
    }

    /// The result of a kernel that returns a struct of numbers, or an object that holds arrays.
    pub fn struct_result(&mut self, f: Cursor<'u>) -> Result<Option<Returned>> {
        let t = f.ty().result();
        if let Some(o) = optional(t) {
            return self.optional_result(f, &o).map(Some);
        }
        if let Some(parts) = tuple(t) {
            return Ok(Some(self.tuple_result(f, &parts)));
        }
        let Some(declaration) = struct_declaration(t) else {
            return Ok(None);
        };
        if !can_be_set(declaration) {
            let message = format!(
                "'{}' returns '{}', which nobody can make first and set later",
                f.spelling(),
                t.spelling()
            );
            return Err(problem(codes::RECORD, message, f));
        }
        if let Some(object) = self.whole_object_result(f)? {
            return Ok(Some(object));
        }
        if numbers(t).is_none() {
            let message = format!(
                "'{}' returns '{}', which is more than a struct of numbers",
                f.spelling(),
                t.spelling()
            );
            return Err(problem(codes::RECORD, message, f));
        }
        let mut params = Vec::new();
        let shape = self.result_shape(declaration, t, "result", None, &mut params)?;
        self.expect_members(f);
        Ok(Some((params, shape)))
    }

    /// The result of a kernel that returns a `std::optional`. Where it has no value, its numbers are zeros.
    fn optional_result(&mut self, f: Cursor<'u>, o: &Optional<'u>) -> Result<Returned> {
        let mut params = Vec::new();
        let has_value = self.number_result("result_has_value", ScalarType::I1, &mut params);
        let value = match (types::read(o.of), struct_declaration(o.of)) {
            (Ty::Scalar(elem), _) => {
                let to = self.number_result("result_value", elem, &mut params);
                Shape::Place { to, len: 1 }
            }
            (_, Some(inner)) if can_be_set(inner) => {
                self.result_shape(inner, o.of, "result_value", None, &mut params)?
            }
            _ => {
                let message = format!(
                    "'{}' is not supported in a 'std::optional'",
                    o.of.spelling()
                );
                return Err(problem(codes::RECORD, message, f));
            }
        };
        self.expect_members(f);
        let value = Box::new(value);
        Ok((params, Shape::Optional { has_value, value }))
    }

    /// The result of a kernel that returns a `std::tuple`.
    fn tuple_result(&mut self, f: Cursor<'u>, parts: &[Leaf<'u>]) -> Returned {
        let mut params = Vec::new();
        let mut fields = Vec::new();
        for (i, (_, elem)) in parts.iter().enumerate() {
            let to = self.number_result(&format!("result_{i}"), *elem, &mut params);
            fields.push(Field {
                name: format!("std::get<{i}>"),
                base: None,
                hidden: None,
                reference: None,
                shape: Shape::Place { to, len: 1 },
            });
        }
        self.expect_members(f);
        let shape = Shape::Struct {
            pointer: false,
            ty: bare(f.ty().result()),
            fields,
        };
        (params, shape)
    }

    /// An array of one element for a number that is returned.
    fn number_result(&mut self, name: &str, elem: ScalarType, params: &mut Vec<Param>) -> String {
        let array = self.flat_name(name);
        params.push(array_param(&array, elem, false, true));
        let to = array.to_string();
        self.flat.results.push(Target { array, elem });
        to
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

    /// What a member of the object that the kernel returns becomes.
    fn returned_member(
        &mut self,
        place: &Path<'u>,
        field: Cursor<'u>,
        name: &str,
        params: &mut Vec<Param>,
    ) -> Result<Shape> {
        let refused = || {
            let message = format!("the member '{}' is not supported", field.spelling());
            problem(codes::RECORD, message, field)
        };
        let t = types::read(field.ty());
        if let Some(Held::Vector(inner)) = held(field) {
            let (seq, own, shape) = self.returned_vector_form(name, &inner, field)?;
            params.extend(own);
            self.flat.vectors.insert(place.clone(), seq);
            return Ok(shape);
        }
        let (elem, dims) = self.element_shape(&t, field)?;
        let dims: Vec<u64> = dims
            .into_iter()
            .collect::<Option<_>>()
            .ok_or_else(refused)?;
        let len = dims.iter().try_fold(1u64, |a, &b| a.checked_mul(b));
        let len = len.ok_or_else(refused)?;
        let array = self.flat_name(name);
        params.push(array_param(&array, elem, false, true));
        let to = array.to_string();
        let target = Target { array, elem };
        let held = match dims.is_empty() {
            true => {
                let var = Place::Var(self.fresh(format!("{name}.value")), elem);
                self.flat.object_numbers.push((var.clone(), target));
                var
            }
            false => Place::Array(Pointer {
                view: elem,
                target,
                offset: zero_offset(),
                dims: dims.iter().map(|&d| int(d.into())).collect(),
            }),
        };
        self.flat.fields.insert(place.clone(), held);
        Ok(Shape::Place { to, len })
    }

    /// Stores the numbers of the struct that the kernel returns.
    pub fn store_members(&mut self) -> Result<()> {
        for (place, target) in self.flat.object_numbers.clone() {
            let value = self.load(place, self.frames[0].function)?;
            let elem = target.elem;
            let to = Place::Element(target, zero_offset(), elem);
            self.write(to, value, self.frames[0].function)?;
        }
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

    /// How what is returned is flattened. If there is an `object`, its members are what they hold.
    pub(super) fn result_shape(
        &mut self,
        declaration: Cursor<'u>,
        t: Type<'u>,
        prefix: &str,
        object: Option<&Path<'u>>,
        params: &mut Vec<Param>,
    ) -> Result<Shape> {
        let mut fields = Vec::new();
        for field in element::fields(declaration).unwrap_or_default() {
            let name = format!("{prefix}_{}", element::called(field));
            self.check_access(field, field)?;
            let inside = object.map(|o| within(o, field));
            let shape = match (struct_declaration(field.ty()), &inside) {
                (Some(inner), _) => {
                    self.result_shape(inner, field.ty(), &name, inside.as_ref(), params)?
                }
                (None, Some(place)) => self.returned_member(place, field, &name, params)?,
                (None, None) => {
                    let elem = scalar_type(&types::read(field.ty()), field)?;
                    let to = self.number_result(&name, elem, params);
                    Shape::Place { to, len: 1 }
                }
            };
            fields.push(Field {
                name: super::name_of(field),
                base: None,
                hidden: super::record::hidden(field),
                reference: None,
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

/// Whether all members can be set that it has.
fn can_be_set(declaration: Cursor<'_>) -> bool {
    element::fields(declaration).is_none_or(|fields| {
        let settable = |f: &Cursor<'_>| {
            let inner = struct_declaration(f.ty());
            !f.ty().canonical().is_const() && inner.is_none_or(can_be_set)
        };
        fields.iter().all(settable)
    })
}
