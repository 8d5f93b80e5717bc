//! Arrays of structs whose members are numbers of several types.
//!
//! LoopIR has no such arrays. Those that are parameters become several: for each type of the members that are used, the
//! structs' memory seen as an array of that type, so that a member is every so manieth element of it. (That these arrays
//! lie apart, although their memory is the same, the prover shows.) While the kernel is lowered, a pointer to such a
//! struct counts in structs, and points into an array that is known here alone; what is not a member can't be read there.

use super::element::{fields, parts, uniform};
use super::{bare, element, is_private, local, struct_declaration};
use crate::c::codes;
use crate::c::ffi::{Cursor, Type};
use crate::c::initializer::constant_numbers;
use crate::c::lower::{Lower, Result, Target, offset_op, problem, zero_offset};
use crate::c::place::{Place, Pointer};
use crate::c::types::{self, Ty};
use clang_sys::*;
use std::collections::BTreeSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Len, LocalArray, Param};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::signature::{Holder, Members, Shape};

/// An array of structs.
pub(super) struct Mixed {
    /// The struct's type.
    ty: String,
    /// Its size.
    bytes: u64,
    /// Whether they may not be written through this.
    is_const: bool,
    members: Vec<Numbers>,
    /// Of a constant of the file: how many structs there are, and each number with the bytes before it.
    constant: Option<(u64, Vec<(Scalar, u64)>)>,
}

/// The members of one type.
struct Numbers {
    array: Sym,
    elem: ScalarType,
    /// The first of each member and one past its last, in elements of this type.
    at: BTreeSet<(u64, u64)>,
}

/// A struct of numbers of several types, and of pointers, which nobody can look at here.
pub(in crate::c) fn mixed(t: Type<'_>) -> Option<Ty> {
    let (ty, bytes) = (bare(t), t.size()?);
    let declaration = struct_declaration(t)?;
    let known = || {
        let members = fields(declaration).unwrap_or_default();
        let known = !is_private(declaration) && !members.is_empty();
        known && members.iter().all(|f| is_known(f.ty()))
    };
    let known = t.asked().is_known.of(declaration, known);
    known.then_some(Ty::Mixed(ty, bytes))
}

/// Whether code at the end of the file can name the type of such structs, which what is given to a kernel needs.
pub(in crate::c) fn has_name(ty: &str) -> bool {
    !ty.contains('(')
}

/// The numbers in a struct, or in an array of such, in their order, with the bytes before each; nothing in the place of a
/// pointer.
fn numbers_at(t: Type<'_>, before: u64, out: &mut Vec<(Option<ScalarType>, u64)>) -> Option<()> {
    let t = t.canonical();
    match t.kind() {
        CXType_ConstantArray => {
            let element = t.array_element();
            let bytes = element.size()?;
            (0..t.array_size()?).try_for_each(|i| numbers_at(element, before + i * bytes, out))
        }
        CXType_Record => fields(struct_declaration(t)?)?
            .into_iter()
            .try_for_each(|f| numbers_at(f.ty(), before + f.offset_in_struct()?, out)),
        CXType_Pointer => {
            out.push((None, before));
            Some(())
        }
        _ => {
            out.push((Some(types::read(t).as_scalar()?), before));
            Some(())
        }
    }
}

fn is_known(t: Type<'_>) -> bool {
    let t = t.canonical();
    match t.kind() {
        CXType_ConstantArray => is_known(t.array_element()),
        CXType_Record => uniform(t).is_some() || mixed(t).is_some(),
        CXType_Pointer => true,
        _ => types::read(t).as_scalar().is_some(),
    }
}

impl<'u> Lower<'u, '_> {
    /// Whether this is an array of structs, which is none of numbers.
    pub fn is_of_mixed(&self, array: &Sym) -> bool {
        self.flat.mixed.contains_key(array)
    }

    /// Whether anything in an array is written, be it of structs.
    pub fn is_written(&self, array: &Sym) -> bool {
        let mut members = self.flat.mixed.get(array).into_iter();
        self.written.contains(array)
            || members.any(|m| m.members.iter().any(|n| self.written.contains(&n.array)))
    }

    /// The type of the structs in an array, which are none of numbers of one type.
    pub fn type_of_structs(&self, array: &Sym) -> Option<&String> {
        self.flat.mixed.get(array).map(|m| &m.ty)
    }

    /// Refuses to use a whole struct as a number.
    pub fn check_no_struct(&self, array: &Sym, at: Cursor<'u>) -> Result<()> {
        if !self.is_of_mixed(array) {
            return Ok(());
        }
        let message = "a struct with members of several types is used as a whole";
        Err(problem(codes::RECORD, message, at))
    }

    /// A new array of structs, and its shape as far as it is known before its members are used.
    pub fn mixed_array(
        &mut self,
        name: &str,
        ty: &str,
        bytes: u64,
        is_const: bool,
        (holder, size): (Holder, Option<String>),
    ) -> (Pointer, Shape) {
        let array = self.flat_name(name);
        let known = Mixed {
            ty: ty.into(),
            bytes,
            is_const,
            members: vec![],
            constant: None,
        };
        self.flat.mixed.insert(array.clone(), known);
        let shape = Shape::Records {
            holder,
            ty: ty.into(),
            // Until the members are known, this says where they will be.
            members: vec![Members {
                to: array.to_string(),
                stride: 0,
                at: vec![],
            }],
            size,
        };
        (first_struct(array), shape)
    }

    /// A struct that is a constant of the file, or an array of such.
    pub fn mixed_constant(
        &mut self,
        d: Cursor<'u>,
        init: Cursor<'u>,
        ty: &str,
        bytes: u64,
    ) -> Result<Pointer> {
        let unsupported = || {
            problem(
                codes::INITIALIZER,
                "this initialiser is not supported",
                init,
            )
        };
        let mut places = Vec::new();
        numbers_at(d.ty(), 0, &mut places).ok_or_else(unsupported)?;
        let types: Vec<_> = places.iter().map(|(ty, _)| *ty).collect();
        let values = constant_numbers(init, d.ty(), &types)?;
        let placed = values.into_iter().zip(places);
        let numbers = placed.filter_map(|(v, (_, at))| Some((v?, at))).collect();
        let count = d.ty().size().ok_or_else(unsupported)? / bytes;
        let array = self.flat_name(&d.spelling());
        let known = Mixed {
            ty: ty.into(),
            bytes,
            is_const: true,
            members: vec![],
            constant: Some((count, numbers)),
        };
        self.flat.mixed.insert(array.clone(), known);
        Ok(first_struct(array))
    }

    /// The numbers of one type of such a constant, where they lie in its memory.
    fn constant_members(&mut self, of: &Sym, array: Sym, elem: ScalarType) {
        let known = self.mixed_at(of);
        let Some((count, numbers)) = &known.constant else {
            return;
        };
        let width = elem.bytes() as u64;
        let mut table = vec![Scalar::zero(elem); (count * known.bytes / width) as usize];
        for (value, at) in numbers.iter().filter(|(v, _)| v.ty == elem) {
            table[(at / width) as usize] = *value;
        }
        self.arrays.push(LocalArray {
            name: array,
            elem,
            len: Len::Fixed(table.len()),
            init: Some(table),
        });
    }

    /// A parameter that points to an array of structs.
    pub(super) fn mixed_parameter(&mut self, p: Cursor<'u>, name: &str) -> Result<bool> {
        let Ty::Pointer(to) = types::of(p) else {
            return Ok(false);
        };
        let is_void = *to == Ty::Void;
        let to = match is_void {
            true => self.made_of_void(p),
            false => Some(*to),
        };
        let Some(Ty::Mixed(ty, bytes)) = to else {
            return Ok(false);
        };
        if !has_name(&ty) {
            return Ok(false);
        }
        let code = self.frames[0].function;
        // What was declared as an array is one.
        let spelled = p.ty().canonical();
        let declared = spelled.kind() != CXType_Pointer;
        if !declared && !is_void && !element::walks(self, code, p) {
            return Ok(false);
        }
        let element = if declared { spelled } else { spelled.pointee() };
        let is_const = types::const_elements(element);
        let holder = (Holder::Pointer, None);
        let (start, shape) = self.mixed_array(name, &ty, bytes, is_const, holder);
        self.add_parameter(p, name, super::Node::Leaf(shape, vec![]));
        self.bind_pointer(p, Some((start.target, start.dims, start.offset)))?;
        Ok(true)
    }

    /// A member of a struct in such an array.
    pub(super) fn mixed_member(
        &mut self,
        of: Pointer,
        field: Cursor<'u>,
        at: Cursor<'u>,
    ) -> Result<Place> {
        let refused = |why: &str| {
            let message = format!("the member '{}' {why}", field.spelling());
            problem(codes::RECORD, message, at)
        };
        let parent = super::element::class_of(field).map(|s| s.ty());
        let (elem, count) = parts(field.ty()).ok_or_else(|| {
            refused("of a struct in an array is no number, and not several of one type")
        })?;
        let lens = types::read(field.ty()).flatten().1.into_iter();
        let dims: Option<Vec<Expr>> = lens
            .map(|l| Some(Expr::int(ScalarType::I64, l?.into())))
            .collect();
        let known = self.flat.mixed.get(&of.target.array);
        let known = known.filter(|m| parent.is_some_and(|p| bare(p) == m.ty));
        let (Some(known), Some(parent), Some(dims)) = (known, parent, dims) else {
            return Err(refused("is not supported here"));
        };
        let (width, bytes) = (elem.bytes() as u64, known.bytes);
        let offset = field.offset_in_struct();
        let aligned = parent.alignment().is_some_and(|a| a % width == 0);
        // In a packed struct, numbers lie anywhere.
        let offset = offset.filter(|o| {
            let end = count.checked_mul(width).and_then(|n| n.checked_add(*o));
            aligned && o % width == 0 && bytes % width == 0 && end.is_some_and(|e| e <= bytes)
        });
        let offset = offset
            .ok_or_else(|| refused("does not lie where an array of its type has elements"))?;
        let (stride, first) = (bytes / width, offset / width);
        let found = known.members.iter().position(|m| m.elem == elem);
        let place = match found {
            Some(place) => place,
            None => {
                let array = self.flat_name(&format!("{}_{elem}", of.target.array));
                self.constant_members(&of.target.array, array.clone(), elem);
                let members = &mut self.mixed_at(&of.target.array).members;
                members.push(Numbers {
                    array,
                    elem,
                    at: BTreeSet::new(),
                });
                members.len() - 1
            }
        };
        let members = &mut self.mixed_at(&of.target.array).members[place];
        members.at.insert((first, first + count));
        let target = Target {
            array: members.array.clone(),
            elem,
        };
        let int = |n: u64| Expr::int(ScalarType::I64, n.into());
        let start = offset_op(BinOp::Multiply, of.offset, int(stride));
        let member = Pointer {
            target,
            offset: offset_op(BinOp::Add, start, int(first)),
            dims,
            view: elem,
        };
        Ok(member.deref())
    }

    fn mixed_at(&mut self, array: &Sym) -> &mut Mixed {
        self.flat.mixed.get_mut(array).expect("it was just there")
    }

    /// The numbers of a struct of type `t` in an array.
    pub(super) fn values_of_element(
        &mut self,
        of: &Pointer,
        t: Type<'u>,
        at: Cursor<'u>,
    ) -> Result<Vec<Expr>> {
        let places = self.places_of_element(of, t, at)?;
        places.into_iter().map(|p| self.load(p, at)).collect()
    }

    /// The same, as places.
    pub(super) fn places_of_element(
        &mut self,
        of: &Pointer,
        t: Type<'u>,
        at: Cursor<'u>,
    ) -> Result<Vec<Place>> {
        let refused = || problem(codes::RECORD, "this use of a struct is not supported", at);
        // What the struct is that a reference or a pointer leads to.
        let inner = match t.canonical().kind() {
            CXType_LValueReference | CXType_RValueReference => t.canonical().pointee(),
            _ => t,
        };
        if !self.is_of_mixed(&of.target.array) {
            let (_, count) = uniform(inner).ok_or_else(refused)?;
            return Ok(self.element_numbers(of, count));
        }
        let leaves = local::numbers(inner).ok_or_else(refused)?;
        let place = |(path, _): (Vec<Cursor<'u>>, _)| {
            path.into_iter()
                .try_fold(Place::Array(of.clone()), |place, field| match place {
                    Place::Array(whole) => self.element_member(whole, field, at),
                    _ => Err(refused()),
                })
        };
        leaves.into_iter().map(place).collect()
    }

    /// The shape of an array of structs, all of whose uses were seen.
    pub(super) fn shape_of_mixed(
        &self,
        shape: Shape,
        own: Vec<Param>,
        params: &mut Vec<Param>,
    ) -> Shape {
        let Shape::Records {
            holder,
            ty,
            members,
            size,
        } = shape
        else {
            return shape;
        };
        let known = members
            .first()
            .and_then(|m| self.flat.mixed.get(m.to.as_str()));
        let mut out = Vec::new();
        if let Some(known) = known {
            for m in &known.members {
                let is_const = known.is_const || !self.written.contains(&m.array);
                params.push(super::array_param(&m.array, m.elem, is_const, false));
                out.push(Members {
                    to: m.array.to_string(),
                    stride: known.bytes / m.elem.bytes() as u64,
                    at: joined(&m.at),
                });
            }
        }
        params.extend(own);
        Shape::Records {
            holder,
            ty,
            members: out,
            size,
        }
    }
}

/// The first struct of such an array.
fn first_struct(array: Sym) -> Pointer {
    // Nothing is a number of that type.
    let elem = ScalarType::I1;
    Pointer {
        target: Target { array, elem },
        offset: zero_offset(),
        dims: vec![Expr::int(ScalarType::I64, 1)],
        view: elem,
    }
}

/// The same places, in as few ranges as it takes.
fn joined(ranges: &BTreeSet<(u64, u64)>) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    for &(first, end) in ranges {
        match out.last_mut() {
            Some(last) if first <= last.1 => last.1 = last.1.max(end),
            _ => out.push((first, end)),
        }
    }
    out
}
