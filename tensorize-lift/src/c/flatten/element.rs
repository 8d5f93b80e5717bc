//! Structs in arrays. A struct of nothing but numbers of one type, without gaps between them, is so many
//! numbers side by side; an array of such structs is an array of numbers with one dimension more, and a
//! member a part of the last one.

use super::void_member::void_named;
use super::{Path, is_struct, struct_type};
use crate::c::codes;
use crate::c::complex;
use crate::c::cpp::class::{self, Class, in_std, is_plain};
use crate::c::cpp::method::This;
use crate::c::cpp::{is_pointer_into, optional, tuple};
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Base, Binding, Lower, Result, Variable, operands, peeled, problem};
use crate::c::operator::{self, Binary, Unary};
use crate::c::place::{Place, Pointer};
use crate::c::pointer::is_null;
use crate::c::types::{self, Ty};
use clang_sys::*;
use std::collections::HashSet;
use tensorize_ir::loopir::Expr;
use tensorize_ir::scalar::ScalarType;

/// A struct or a row of more numbers than that is not copied number by number.
pub(super) const MOST_NUMBERS: u64 = 64;

/// What is written in a class, or in the template that it is an instance of.
pub(super) fn written<'u>(declaration: Cursor<'u>) -> Vec<Cursor<'u>> {
    let own = declaration.children();
    match declaration.template() {
        Some(template) if own.is_empty() => template.children(),
        _ => own,
    }
}

/// Whether a constructor takes an object of its class.
fn is_of_its_own(constructor: Cursor<'_>, declaration: Cursor<'_>) -> bool {
    let own = |p: &Cursor<'_>| {
        let t = p.ty().canonical();
        let referred = t.pointee().declaration();
        // In a template the class has no arguments yet.
        matches!(t.kind(), CXType_LValueReference | CXType_RValueReference)
            && (referred.canonical() == declaration.canonical()
                || referred.spelling() == declaration.spelling())
    };
    constructor.arguments().iter().any(own)
}

/// Whether an object of this type is copied by copying its bytes, and its end does nothing.
pub(super) fn is_copied_plainly(t: Type<'_>) -> bool {
    is_copied(t, false)
}

/// Whether an object of this type is copied by copying its members, vectors among them, and its end does nothing else.
pub(super) fn is_copied_by_members(t: Type<'_>) -> bool {
    is_copied(t, true)
}

fn is_copied(t: Type<'_>, vectors: bool) -> bool {
    let t = t.canonical();
    match t.kind() {
        CXType_ConstantArray => return is_copied(t.array_element(), vectors),
        CXType_Record if t.has_too_many_members() => return false,
        CXType_Record => {}
        _ => return true,
    }
    let declaration = t.declaration();
    let declaration = declaration.definition().unwrap_or(declaration);
    if in_std(declaration) && !is_plain(declaration) {
        return match class::of(t) {
            Some(Ty::Class(Class::Span(..))) => true,
            Some(Ty::Class(Class::Array(..))) => {
                let element = t.template_arguments().into_iter().next().flatten();
                element.is_some_and(|t| is_copied(t, vectors))
            }
            Some(Ty::Class(Class::Vector(..))) => vectors,
            _ => false,
        };
    }
    let more = |c: &Cursor<'_>| match c.kind() {
        CXCursor_CXXBaseSpecifier => !is_copied(c.ty(), vectors),
        CXCursor_Destructor => !c.is_defaulted(),
        CXCursor_Constructor => !c.is_defaulted() && is_of_its_own(*c, declaration),
        _ => false,
    };
    let own = is_plain(declaration) || !written(declaration).iter().any(more);
    own && members(declaration)
        .iter()
        .all(|f| is_copied(f.ty(), vectors))
}

/// The members of a struct in their order.
pub(super) fn members<'u>(declaration: Cursor<'u>) -> Vec<Cursor<'u>> {
    match complex::members(declaration) {
        Some(both) => both.to_vec(),
        None => declaration.ty().fields(),
    }
}

/// The class that a member is one of.
pub(super) fn class_of(member: Cursor<'_>) -> Option<Cursor<'_>> {
    complex::class_of(member).or_else(|| member.semantic_parent())
}

/// What a member is called.
pub(super) fn called(member: Cursor<'_>) -> String {
    let complex = complex::part(member).map(|k| complex::PARTS[k].to_string());
    let number = || tuple::part(member).map(|n| n.to_string());
    let part = || optional::part(member).map(String::from);
    complex
        .or_else(number)
        .or_else(part)
        .unwrap_or_else(|| member.spelling())
}

/// The fields of a struct in their order; `None` if there is more to it than these.
pub(in crate::c) fn fields<'u>(declaration: Cursor<'u>) -> Option<Vec<Cursor<'u>>> {
    if !matches!(declaration.kind(), CXCursor_StructDecl | CXCursor_ClassDecl) {
        return None;
    }
    let more = |c: &Cursor<'_>| match c.kind() {
        CXCursor_CXXBaseSpecifier | CXCursor_Destructor | CXCursor_UnionDecl => true,
        // What copies an object may do more than copy its numbers.
        CXCursor_CXXMethod => c.spelling() == "operator=",
        CXCursor_Constructor => is_of_its_own(*c, declaration),
        _ => false,
    };
    // A `std::pair` copies its two members.
    if !is_plain(declaration) && written(declaration).iter().any(more) {
        return None;
    }
    let fields = members(declaration);
    let plain = |f: &Cursor<'_>| !f.is_bit_field() && !f.spelling().is_empty();
    fields.iter().all(plain).then_some(fields)
}

/// What a type consists of, if that is so many numbers of one type without gaps. Pointers are not followed,
/// so that a struct which points to its like comes to an end.
pub(in crate::c) fn parts(t: Type<'_>) -> Option<(ScalarType, u64)> {
    let t = t.canonical();
    match t.kind() {
        CXType_ConstantArray => {
            let (elem, n) = parts(t.array_element())?;
            Some((elem, n.checked_mul(t.array_size()?)?))
        }
        CXType_Record | CXType_Complex => uniform(t),
        CXType_Pointer | CXType_LValueReference | CXType_RValueReference => None,
        _ => Some((types::read(t).as_scalar()?, 1)),
    }
}

/// The numbers that a struct consists of, if they are of one type and there is nothing else in it: their
/// type, and how many there are.
pub(in crate::c) fn uniform(t: Type<'_>) -> Option<(ScalarType, u64)> {
    let t = t.canonical();
    if t.is_volatile() {
        return None;
    }
    match t.kind() {
        CXType_Complex => numbers_of(t, complex::stand_in(t)?),
        CXType_Record if !t.has_too_many_members() => {
            let declaration = t.declaration();
            let declaration = declaration.definition().unwrap_or(declaration);
            let numbers = &t.asked().numbers;
            numbers.of(declaration, || numbers_of(t, declaration))
        }
        _ => None,
    }
}

/// [`uniform`], of a type with such members.
fn numbers_of(t: Type<'_>, declaration: Cursor<'_>) -> Option<(ScalarType, u64)> {
    let mut of = None;
    let mut count = 0u64;
    for field in fields(declaration)? {
        let (elem, n) = parts(field.ty())?;
        if *of.get_or_insert(elem) != elem {
            return None;
        }
        count = count.checked_add(n)?;
    }
    let elem = of?;
    let bytes = count.checked_mul(elem.bytes() as u64)?;
    (count > 0 && t.size() == Some(bytes)).then_some((elem, count))
}

/// Whether a pointer is one to a struct that may be an element of an array of numbers.
fn points_to_uniform(t: Type<'_>) -> bool {
    matches!(types::read(t), Ty::Pointer(to) if to.is_record())
}

/// Whether a pointer to a struct is one into an array: it is moved, subscripted or compared in this code,
/// or handed on to something that does so.
pub(super) fn walks<'u>(lower: &Lower<'u, '_>, code: Cursor<'u>, d: Cursor<'u>) -> bool {
    points_to_uniform(d.ty()) && walked(lower, code, d, &mut HashSet::new())
}

/// Whether this code does, or what it calls. Each piece is looked through once for each of its pointers, however often and
/// from wherever it is called.
pub(super) fn walked<'u>(
    lower: &Lower<'u, '_>,
    code: Cursor<'u>,
    d: Cursor<'u>,
    looked: &mut HashSet<(Cursor<'u>, Cursor<'u>)>,
) -> bool {
    looked.insert((code, d)) && walked_in(lower, code, code, d, looked)
}

/// Whether the part `c` of `code` does.
fn walked_in<'u>(
    lower: &Lower<'u, '_>,
    code: Cursor<'u>,
    c: Cursor<'u>,
    d: Cursor<'u>,
    looked: &mut HashSet<(Cursor<'u>, Cursor<'u>)>,
) -> bool {
    let names = |e: &Cursor<'u>| {
        let e = void_named(*e).unwrap_or_else(|| peeled(*e));
        e.kind() == CXCursor_DeclRefExpr && e.referenced() == Some(d)
    };
    let here = match c.kind() {
        CXCursor_ArraySubscriptExpr | CXCursor_BinaryOperator | CXCursor_CompoundAssignOperator => {
            let parts = operands(c);
            // A check whether there is one is nothing of that kind.
            let is_check = matches!(operator::binary(c), Ok(Binary::Compare(_)))
                && parts.iter().any(|e| is_null(*e));
            parts.iter().any(names) && !is_check
        }
        CXCursor_UnaryOperator => {
            matches!(operator::unary(c), Ok(Unary::Step { .. })) && operands(c).iter().any(names)
        }
        // Seen as an array of numbers.
        CXCursor_CStyleCastExpr | CXCursor_CXXReinterpretCastExpr => {
            matches!(types::read(c.ty()), Ty::Pointer(to) if to.as_scalar().is_some())
                && operands(c).last().is_some_and(names)
        }
        CXCursor_VarDecl => {
            c != d
                && points_to_uniform(c.ty())
                && c.initializer().as_ref().is_some_and(names)
                && walked(lower, code, c, looked)
        }
        CXCursor_CallExpr => {
            let body = crate::c::call::inlined_body(lower, c);
            let params = c.referenced().and_then(crate::c::call::helper);
            let params = params.map(|f| f.arguments()).unwrap_or_default();
            body.is_some_and(|body| {
                c.arguments()
                    .iter()
                    .zip(params)
                    .any(|(a, p)| names(a) && walked(lower, body, p, looked))
            })
        }
        _ => false,
    };
    here || c
        .children()
        .into_iter()
        .any(|inner| walked_in(lower, code, inner, d, looked))
}

/// A member's lengths, and how many numbers of its struct come before it.
fn member_at(field: Cursor<'_>) -> Option<(u64, Vec<Expr>)> {
    let mut before = 0;
    for f in fields(class_of(field)?)? {
        if f == field {
            let t = types::read(f.ty());
            let lens = t.flatten().1.into_iter();
            let lens: Option<Vec<Expr>> = lens
                .map(|l| Some(Expr::int(ScalarType::I64, l?.into())))
                .collect();
            return Some((before, lens?));
        }
        before += parts(f.ty())?.1;
    }
    None
}

impl<'u> Lower<'u, '_> {
    /// Whether an expression is a struct in an array of such, or a pointer to one.
    pub fn is_in_array(&self, c: Cursor<'u>) -> bool {
        if complex::is_computed(c) {
            return false;
        }
        let c = peeled(c);
        let to_struct = match types::of(c).referred() {
            t if t.is_record() => true,
            // One that every use takes to point to structs.
            t if t.is_void_pointer() => c
                .referenced()
                .and_then(|d| self.pointers.get(&Variable::Named(d)))
                .is_some_and(|p| matches!(p, Base::One(t, _) if self.is_of_mixed(&t.array))),
            Ty::Pointer(to) => to.is_record(),
            _ => false,
        };
        let first = || operands(c).first().copied();
        to_struct
            && match c.kind() {
                CXCursor_DeclRefExpr => c.referenced().is_some_and(|d| {
                    matches!(
                        self.bindings.get(&d),
                        Some(
                            Binding::Pointer(_)
                                | Binding::Array(..)
                                | Binding::Alias(Place::Array(_))
                        )
                    )
                }),
                CXCursor_CXXThisExpr => self.this_is_in_array(),
                CXCursor_MemberRefExpr if first().is_none() => self.this_is_in_array(),
                CXCursor_MemberRefExpr => first().is_some_and(|base| {
                    let member = c.referenced().map(|f| types::read(f.ty()));
                    self.is_in_array(base)
                        // A struct's own array of structs, as a pointer to the first one.
                        || matches!(member, Some(Ty::Array(..)))
                }),
                CXCursor_ArraySubscriptExpr => true,
                CXCursor_UnaryOperator => match operator::unary(c) {
                    Ok(Unary::Deref | Unary::AddressOf) => {
                        first().is_some_and(|inner| self.is_in_array(inner))
                    }
                    Ok(Unary::Step { .. }) => true,
                    _ => false,
                },
                CXCursor_CStyleCastExpr => {
                    first().is_some_and(|inner| {
                        self.is_in_array(inner)
                            || matches!(types::of(inner), Ty::Pointer(to) if to.flatten().0.as_scalar().is_some() && !to.is_record())
                    })
                }
                CXCursor_BinaryOperator | CXCursor_CompoundAssignOperator => true,
                CXCursor_CallExpr => self.source.cpp && (self.is_place(c) || is_pointer_into(c)),
                _ => false,
            }
    }

    fn this_is_in_array(&self) -> bool {
        let this = self.frames.last().and_then(|f| f.this.as_ref());
        matches!(this, Some(This::Element(_)))
    }

    /// Whether an expression is a struct without a name.
    pub fn is_temporary(&self, c: Cursor<'u>) -> bool {
        if complex::is_computed(c) {
            return true;
        }
        let c = peeled(c);
        match c.kind() {
            CXCursor_CXXFunctionalCastExpr
            | CXCursor_CXXStaticCastExpr
            | CXCursor_CStyleCastExpr => operands(c).first().is_some_and(|o| self.is_temporary(*o)),
            // What a reference stands for is not a copy.
            CXCursor_CallExpr => !self.source.cpp || !self.is_place(c) && !refers(c),
            CXCursor_CompoundLiteralExpr | CXCursor_InitListExpr => true,
            _ => false,
        }
    }

    /// A struct in an array, or where a pointer to one points.
    pub fn element(&mut self, c: Cursor<'u>) -> Result<Pointer> {
        let c = peeled(c);
        if matches!(types::of(c), Ty::Pointer(_)) {
            return self.pointer(c);
        }
        match self.place(c)? {
            Place::Array(p) => Ok(p),
            _ => Err(problem(
                codes::RECORD,
                "this use of a struct is not supported",
                c,
            )),
        }
    }

    /// A member of a struct in an array.
    pub(super) fn element_member(
        &mut self,
        of: Pointer,
        field: Cursor<'u>,
        at: Cursor<'u>,
    ) -> Result<Place> {
        if self.is_of_mixed(&of.target.array) {
            return self.mixed_member(of, field, at);
        }
        // Of another struct, numbers of other types may come before it.
        let whole = class_of(field).and_then(|s| uniform(s.ty()));
        let (before, dims) = whole.and_then(|_| member_at(field)).ok_or_else(|| {
            let message = format!("the member '{}' is not supported", field.spelling());
            problem(codes::RECORD, message, at)
        })?;
        // `moved` counts in what it points to, which are numbers once the dimensions are the member's.
        let by = Expr::int(ScalarType::I64, before.into());
        let one = Pointer { dims: vec![], ..of };
        Ok(Pointer {
            dims,
            ..one.moved(by)
        }
        .deref())
    }

    /// The numbers of a struct in an array, or of a row of constant length.
    pub fn numbers_of_element(&self, of: &Pointer, at: Cursor<'u>) -> Result<Vec<Place>> {
        let length = |d: &Expr| match d {
            Expr::Const(n) => u64::try_from(n.as_int()).ok(),
            _ => None,
        };
        let count = of
            .dims
            .iter()
            .try_fold(1, |all, d| length(d)?.checked_mul(all));
        match count.filter(|n| *n <= MOST_NUMBERS) {
            Some(count) => Ok(self.element_numbers(of, count)),
            None => Err(problem(
                codes::RECORD,
                "elements that are no numbers and no structs of a few",
                at,
            )),
        }
    }

    /// The numbers of a struct in an array, as places.
    pub(super) fn element_numbers(&self, of: &Pointer, count: u64) -> Vec<Place> {
        let number = |k: u64| {
            let one = Pointer {
                dims: vec![],
                ..of.clone()
            };
            one.moved(Expr::int(ScalarType::I64, k.into())).deref()
        };
        (0..count).map(number).collect()
    }

    /// The struct that a struct-valued argument is: one that is bound by name, or its numbers.
    pub fn struct_argument(&mut self, a: Cursor<'u>) -> Result<Option<StructArgument<'u>>> {
        let Some((_, _, pointer)) = struct_type(a.ty()) else {
            return Ok(None);
        };
        Ok(Some(if pointer && self.is_in_array(a) {
            StructArgument::Pointer(self.pointer(a)?)
        } else if self.is_in_array(a) {
            StructArgument::Element(self.element(a)?)
        } else if !pointer && self.is_temporary(a) && super::object::is_object(a.ty()) {
            StructArgument::Named(self.temporary_object(a)?)
        } else if !pointer && self.is_temporary(a) {
            StructArgument::Numbers(self.struct_value(a)?)
        } else {
            StructArgument::Named(self.record(a)?)
        }))
    }

    /// Binds a helper's parameter to a struct of an array: a copy of it, or the struct itself where it is
    /// passed by reference.
    pub fn element_parameter(&mut self, p: Cursor<'u>, of: Pointer) -> Result<()> {
        if matches!(types::of(p), Ty::Reference(_)) {
            let of = self.settled_pointer(of)?;
            self.forget_record(p);
            self.bindings.insert(p, Binding::Alias(Place::Array(of)));
            return Ok(());
        }
        if super::is_object(p.ty()) {
            return self.copy_element(p, &of);
        }
        let values = self.values_of_element(&of, p.ty(), p)?;
        self.bind_struct(p, Some(values))
    }
}

/// A struct that is passed on.
pub(in crate::c) enum StructArgument<'u> {
    /// One that stands for a parameter or a variable.
    Named(Path<'u>),
    /// A pointer into an array of structs.
    Pointer(Pointer),
    /// An element of one.
    Element(Pointer),
    /// One without a name.
    Numbers(Vec<Expr>),
}

/// Whether a call of the file's own function gives a reference to a struct.
fn refers(call: Cursor<'_>) -> bool {
    let callee = call.referenced().filter(|f| !in_std(*f));
    let result = callee.map(|f| f.ty().result().canonical());
    result.is_some_and(|t| t.kind() == CXType_LValueReference && is_struct(t))
}
