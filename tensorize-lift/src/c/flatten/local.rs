//! Local structs of numbers: a variable for each member.

use super::apart::returns_reference;
use super::first_value::{First, first_value, is_constructed, names_a_member};
use super::{Owner, Path, element, struct_declaration, struct_type};
use crate::c::codes;
use crate::c::cpp::class::{in_std, is_pair};
use crate::c::cpp::method::{Made, This};
use crate::c::cpp::optional::{self, optional};
use crate::c::cpp::tuple::tuple;
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Lower, Result, operands, peeled, problem};
use crate::c::place::{Place, Pointer};
use crate::c::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// A number in a struct: the members on the way to it.
pub(in crate::c) type Leaf<'u> = (Vec<Cursor<'u>>, ScalarType);

/// The numbers that a struct consists of; `None` if there is anything else in it.
pub(in crate::c) fn numbers<'u>(t: Type<'u>) -> Option<Vec<Leaf<'u>>> {
    if t.canonical().kind() == CXType_Record
        && let Some(o) = optional(t)
    {
        return Some(o.leaves());
    }
    if t.canonical().kind() == CXType_Record
        && let Some(parts) = tuple(t)
    {
        return Some(parts);
    }
    fn collect<'u>(
        declaration: Cursor<'u>,
        path: &mut Vec<Cursor<'u>>,
        out: &mut Vec<Leaf<'u>>,
    ) -> Option<()> {
        for c in element::fields(declaration)? {
            path.push(c);
            match (types::read(c.ty()), struct_declaration(c.ty())) {
                (Ty::Scalar(ty), _) => out.push((path.clone(), ty)),
                (_, Some(inner)) => collect(inner, path, out)?,
                _ => return None,
            }
            path.pop();
        }
        Some(())
    }
    let mut out = Vec::new();
    collect(struct_declaration(t)?, &mut vec![], &mut out)?;
    Some(out)
}

/// The numbers of a struct, or of one that is referred or pointed to.
fn numbers_behind<'u>(t: Type<'u>) -> Option<Vec<Leaf<'u>>> {
    match optional(t) {
        Some(o) => Some(o.leaves()),
        None => tuple(t).or_else(|| struct_type(t).and_then(|(_, t, _)| numbers(t))),
    }
}

/// Whether this is a struct of numbers itself, and not a pointer or a reference to one.
pub(in crate::c) fn is_of_numbers(c: Cursor<'_>) -> bool {
    numbers(c.ty()).is_some()
}

/// Whether a variable is made by a constructor of the file's own, which may leave some of its numbers as they are.
fn is_made_here(init: Cursor<'_>) -> bool {
    let e = peeled(init);
    let constructor = e
        .referenced()
        .filter(|f| e.kind() == CXCursor_CallExpr && f.kind() == CXCursor_Constructor);
    constructor.is_some_and(|f| !in_std(f)) && !super::stored::is_of_fixed_size(e.ty())
}

impl<'u> Lower<'u, '_> {
    /// A local variable that is a struct of numbers.
    pub fn declare_struct(&mut self, d: Cursor<'u>, init: Option<Cursor<'u>>) -> Result<()> {
        let values = match init {
            Some(e) => {
                if self.stands_for_a_parameter(d, e) {
                    return Ok(());
                }
                if is_made_here(e) {
                    let made = |s: &mut Self| s.made_by_constructor(peeled(e), &d.spelling());
                    if let Made::Object(path) = self.full(e, made)? {
                        self.name_record(d, path);
                        return Ok(());
                    }
                }
                Some(self.full_value(e, |s| s.struct_value(e))?)
            }
            None => None,
        };
        self.bind_struct(d, values)
    }

    /// Makes a variable another name for a parameter that stays what it is, which needs no copy; `false` if that can't be.
    pub(super) fn stands_for_a_parameter(&mut self, d: Cursor<'u>, init: Cursor<'u>) -> bool {
        let parameter = match peeled(init).kind() {
            CXCursor_CallExpr | CXCursor_ArraySubscriptExpr => None,
            _ if self.is_in_array(init) => None,
            _ => self.record(init).ok().filter(|p| p.0.is_parameter()),
        };
        parameter.is_some_and(|p| self.record_alias(d, p).is_ok())
    }

    /// Makes a variable, or a helper's parameter, a struct of its own; its numbers have these values.
    pub fn bind_struct(&mut self, d: Cursor<'u>, values: Option<Vec<Expr>>) -> Result<()> {
        let path = self.new_struct(d, &d.spelling(), values)?;
        self.name_record(d, path);
        Ok(())
    }

    /// A struct of the type of `d`.
    pub fn new_struct(
        &mut self,
        d: Cursor<'u>,
        name: &str,
        values: Option<Vec<Expr>>,
    ) -> Result<Path<'u>> {
        let leaves = numbers_behind(d.ty()).ok_or_else(|| unsupported(d))?;
        let taken = leaves.iter().find_map(|(path, _)| {
            let field = path.iter().find(|f| self.in_memory.contains(f))?;
            Some(field.spelling())
        });
        if let Some(field) = taken {
            let message = format!("the address of '{field}' is taken, which '{name}' has");
            return Err(problem(codes::RECORD, message, d));
        }
        let owner = Owner::Local(self.flat.locals);
        self.flat.locals += 1;
        let mut values = values.map(Vec::into_iter);
        for (path, ty) in leaves {
            let words: Vec<String> = path.iter().map(|f| element::called(*f)).collect();
            let var = self.fresh(format!("{name}.{}", words.join(".")));
            if let Some(value) = values.as_mut().and_then(Iterator::next) {
                self.assign_var(var.clone(), value)?;
            }
            self.flat.fields.insert((owner, path), Place::Var(var, ty));
        }
        Ok((owner, vec![]))
    }

    /// Binds a helper's parameter: to the same struct, or, if it is one by value that may change, to a copy.
    pub fn record_parameter(&mut self, p: Cursor<'u>, path: Path<'u>) -> Result<()> {
        let is_object = super::is_object(p.ty());
        if path.0.is_parameter() {
            return match self.record_alias(p, path.clone()) {
                Err(_) if is_object => self.copy_parameter(p, &path),
                done => done,
            };
        }
        if is_object {
            return self.copy_parameter(p, &path);
        }
        if !is_of_numbers(p) {
            return self.record_alias(p, path);
        }
        let mut values = Vec::new();
        for (inner, _) in numbers(p.ty()).unwrap_or_default() {
            let place = self.number_in(&path, &inner, p)?;
            values.push(self.load(place, p)?);
        }
        self.bind_struct(p, Some(values))
    }

    /// `p = q`
    pub fn struct_assignment(&mut self, c: Cursor<'u>) -> Result<()> {
        let [l, r] = operands(c)[..] else {
            return Err(unsupported(c));
        };
        self.struct_assigned(l, r, c)
    }

    /// `l = r`, in C or in C++.
    pub fn struct_assigned(&mut self, l: Cursor<'u>, r: Cursor<'u>, c: Cursor<'u>) -> Result<()> {
        if self.is_in_array(l) {
            return self.element_assignment(l, r, c);
        }
        if super::is_object(l.ty()) {
            return self.object_assigned(l, r);
        }
        let to = self.record(l)?;
        let values = self.struct_value(r)?;
        let leaves = numbers(l.ty()).ok_or_else(|| unsupported(l))?;
        self.assign_all(&to, leaves, values, c)
    }

    /// Gives a struct's numbers these values, all at once: they may be made of the old ones.
    pub fn assign_all(
        &mut self,
        to: &Path<'u>,
        leaves: Vec<Leaf<'u>>,
        values: Vec<Expr>,
        at: Cursor<'u>,
    ) -> Result<()> {
        let held: Vec<Expr> = values
            .into_iter()
            .map(|v| self.hold("member", v))
            .collect::<Result<_>>()?;
        for ((path, _), value) in leaves.into_iter().zip(held) {
            let place = self.number_in(to, &path, at)?;
            self.write(place, value, at)?;
        }
        Ok(())
    }

    /// `a[i] = q`
    fn element_assignment(&mut self, l: Cursor<'u>, r: Cursor<'u>, c: Cursor<'u>) -> Result<()> {
        let to = self.element(l)?;
        self.assign_numbers(&to, r, c)
    }

    /// Stores a struct in an array.
    pub fn assign_struct(&mut self, to: &Pointer, value: Cursor<'u>) -> Result<()> {
        self.assign_numbers(to, value, value)
    }

    fn assign_numbers(&mut self, to: &Pointer, value: Cursor<'u>, at: Cursor<'u>) -> Result<()> {
        let held: Vec<Expr> = self
            .struct_value(value)?
            .into_iter()
            .map(|v| self.hold("member", v))
            .collect::<Result<_>>()?;
        let places = self.places_of_element(to, value.ty(), at)?;
        if places.len() != held.len() {
            return Err(unsupported(at));
        }
        for (place, value) in places.into_iter().zip(held) {
            self.write(place, value, at)?;
        }
        Ok(())
    }

    /// The numbers that a struct consists of, in order.
    pub fn struct_value(&mut self, e: Cursor<'u>) -> Result<Vec<Expr>> {
        if let Some(values) = self.complex_expression(e)? {
            return Ok(values);
        }
        let e = peeled(e);
        match e.kind() {
            CXCursor_ConditionalOperator => self.chosen(e),
            _ if optional(e.ty()).is_some() && !optional::is_value(e) => self.optional_value(e),
            _ if tuple(e.ty()).is_some() => self.tuple_value(e),
            _ if let Some(values) = self.complex_value(e)? => Ok(values),
            CXCursor_CompoundLiteralExpr => {
                let list = operands(e).into_iter().next_back();
                self.struct_value(list.ok_or_else(|| unsupported(e))?)
            }
            CXCursor_InitListExpr => {
                let declaration = struct_declaration(e.ty()).ok_or_else(|| unsupported(e))?;
                self.listed(e, declaration)
            }
            _ if self.is_in_array(e) => {
                let of = self.element(e)?;
                self.values_of_element(&of, e.ty(), e)
            }
            _ if super::stored::is_of_fixed_size(e.ty()) => self.values_of_object(e),
            CXCursor_CXXFunctionalCastExpr
            | CXCursor_CXXStaticCastExpr
            | CXCursor_CStyleCastExpr => match operands(e)[..] {
                [inner] => self.struct_value(inner),
                _ => Err(unsupported(e)),
            },
            CXCursor_CallExpr if makes_pair(e) => self.paired(e),
            CXCursor_CallExpr
                if e.referenced()
                    .is_some_and(|f| f.kind() == CXCursor_Constructor) =>
            {
                self.constructed(e)
            }
            // `a += b`, of an operator that returns `*this`.
            CXCursor_CallExpr
                if returns_reference(e)
                    && let Some(same) =
                        self.passed_on(e, |s, given| s.called_on(Some(given), e))? =>
            {
                match same {
                    This::Named(path) => self.numbers_of(&path, e),
                    This::Element(p) => self.values_of_element(&p, e.ty(), e),
                }
            }
            CXCursor_CallExpr if !optional::is_value(e) => {
                self.call(e)?;
                let returned = self.returned_struct.take();
                returned.ok_or_else(|| unsupported(e))
            }
            _ => {
                let leaves = numbers(e.ty()).ok_or_else(|| unsupported(e))?;
                let path = self.record(e)?;
                let mut values = Vec::new();
                for (inner, _) in leaves {
                    let place = self.number_in(&path, &inner, e)?;
                    values.push(self.load(place, e)?);
                }
                Ok(values)
            }
        }
    }

    /// The numbers of `c ? a : b`.
    fn chosen(&mut self, e: Cursor<'u>) -> Result<Vec<Expr>> {
        let (leaves, parts) = match (numbers(e.ty()), operands(e)[..].try_into()) {
            (Some(leaves), Ok(parts)) => (leaves, parts),
            _ => return Err(unsupported(e)),
        };
        let vars: Vec<_> = leaves.iter().map(|_| self.fresh("chosen")).collect();
        self.either(parts, |s, e| {
            let values = s.struct_value(e)?;
            s.sequence_point()?;
            let mut all = vars.iter().zip(values);
            all.try_for_each(|(var, value)| s.assign_var(var.clone(), value))
        })?;
        let numbers = vars.into_iter().zip(leaves);
        Ok(numbers.map(|(var, (_, ty))| Expr::Var(var, ty)).collect())
    }

    /// The numbers of a `std::pair` that its constructor or `std::make_pair` makes.
    fn paired(&mut self, e: Cursor<'u>) -> Result<Vec<Expr>> {
        let leaves = numbers(e.ty()).ok_or_else(|| unsupported(e))?;
        match e.arguments()[..] {
            [] => {
                let zero = |l: &Leaf<'_>| Expr::Const(Scalar::zero(l.1));
                Ok(leaves.iter().map(zero).collect())
            }
            [one] => {
                let values = self.struct_value(one)?;
                self.converted(values, &leaves, e)
            }
            [first, second] => self.pair_of([first, second], e.ty()),
            _ => Err(unsupported(e)),
        }
    }

    /// The numbers of a `std::pair` of this type that is made of these two. Each may be a struct itself.
    pub fn pair_of(&mut self, parts: [Cursor<'u>; 2], t: Type<'u>) -> Result<Vec<Expr>> {
        let mut both = Vec::new();
        for part in parts {
            match is_of_numbers(part) {
                true => both.extend(self.struct_value(part)?),
                false => both.push(self.value(part)?),
            }
        }
        let leaves = numbers(t).ok_or_else(|| unsupported(parts[0]))?;
        self.converted(both, &leaves, parts[0])
    }

    /// Values that are converted to what the numbers of a struct are.
    pub fn converted(
        &mut self,
        values: Vec<Expr>,
        leaves: &[Leaf<'u>],
        at: Cursor<'u>,
    ) -> Result<Vec<Expr>> {
        if values.len() != leaves.len() {
            return Err(unsupported(at));
        }
        self.sequence_point()?;
        let converted = values.into_iter().zip(leaves);
        converted
            .map(|(v, (_, ty))| self.hold("member", crate::c::lower::convert(*ty, v)))
            .collect()
    }

    /// The numbers of `{ 1, 2 }` or `{ .y = 2, .x = 1 }`; those that are left out are zero.
    fn listed(&mut self, list: Cursor<'u>, declaration: Cursor<'u>) -> Result<Vec<Expr>> {
        let fields = element::members(declaration);
        let given = by_field(list, &fields)?;
        let mut out = Vec::new();
        for (field, value) in fields.into_iter().zip(given) {
            match (types::read(field.ty()), value) {
                (Ty::Scalar(ty), Some(e)) => {
                    let v = self.value(e)?;
                    self.sequence_point()?;
                    // In C++ the list is shown as it was written, without the conversions.
                    let v = match v.ty() == ty {
                        true => v,
                        false if ty != ScalarType::I1 => crate::c::lower::convert(ty, v),
                        false => return Err(unsupported(e)),
                    };
                    // What comes later in the list may change what this is made of.
                    out.push(self.hold("member", v)?);
                }
                (_, Some(e)) if struct_declaration(e.ty()).is_some() => {
                    for v in self.struct_value(e)? {
                        out.push(self.hold("member", v)?);
                    }
                }
                (_, None) => out.extend(self.left_out(field, list)?),
                _ => return Err(unsupported(list)),
            }
        }
        Ok(out)
    }

    /// The numbers of a member that a list leaves out: what its declaration says, or zeros.
    fn left_out(&mut self, field: Cursor<'u>, list: Cursor<'u>) -> Result<Vec<Expr>> {
        let own = first_value(field)?;
        if matches!(own, First::Value(e) if names_a_member(e)) {
            return Err(unsupported(list));
        }
        match (types::read(field.ty()), own) {
            (Ty::Scalar(ty), First::Value(e)) => {
                let v = self.value(crate::c::initializer::braced(e)?)?;
                self.sequence_point()?;
                if ty == ScalarType::I1 && v.ty() != ty {
                    return Err(unsupported(list));
                }
                Ok(vec![self.hold("member", crate::c::lower::convert(ty, v))?])
            }
            (Ty::Scalar(ty), _) => Ok(vec![Expr::Const(Scalar::zero(ty))]),
            (_, First::Value(e)) => self.struct_value(e),
            (_, _) => {
                let inner = struct_declaration(field.ty()).ok_or_else(|| unsupported(list))?;
                // Of a class with constructors, one of them says what the empty list makes.
                if is_constructed(inner) {
                    return Err(unsupported(list));
                }
                let mut out = Vec::new();
                for inner in element::members(inner) {
                    out.extend(self.left_out(inner, list)?);
                }
                Ok(out)
            }
        }
    }

    /// The numbers of a struct that stands for a variable.
    pub fn numbers_of(&mut self, path: &Path<'u>, at: Cursor<'u>) -> Result<Vec<Expr>> {
        let leaves = numbers_behind(at.ty()).ok_or_else(|| unsupported(at))?;
        let mut values = Vec::new();
        for (inner, _) in leaves {
            let place = self.number_in(path, &inner, at)?;
            values.push(self.load(place, at)?);
        }
        Ok(values)
    }

    /// Gives a member its first value.
    pub fn set_member(
        &mut self,
        object: &Path<'u>,
        field: Cursor<'u>,
        value: Cursor<'u>,
    ) -> Result<()> {
        if let Ty::Scalar(ty) = types::read(field.ty()) {
            let v = self.value(value)?;
            self.sequence_point()?;
            let place = self.member_of(object.clone(), field, value)?;
            return self.write(place, crate::c::lower::convert(ty, v), value);
        }
        let Some(leaves) = numbers(field.ty()) else {
            return self.make_member(object, field, value);
        };
        let values = self.struct_value(value)?;
        let mut inner = object.clone();
        inner.1.push(field);
        for ((path, _), v) in leaves.into_iter().zip(values) {
            let place = self.number_in(&inner, &path, value)?;
            self.write(place, v, value)?;
        }
        Ok(())
    }

    /// The place of a number in a struct.
    pub fn number_in(
        &mut self,
        path: &Path<'u>,
        inner: &[Cursor<'u>],
        at: Cursor<'u>,
    ) -> Result<Place> {
        let mut owner = path.clone();
        let (field, before) = inner.split_last().ok_or_else(|| unsupported(at))?;
        owner.1.extend(before);
        self.member_of(owner, *field, at)
    }
}

/// What `{ 1, 2 }` or `{ .y = 2, .x = 1 }` gives each of these fields.
pub(super) fn by_field<'u>(
    list: Cursor<'u>,
    fields: &[Cursor<'u>],
) -> Result<Vec<Option<Cursor<'u>>>> {
    let mut given = vec![None; fields.len()];
    let mut next = 0;
    for item in operands(list) {
        let children = item.children();
        let named = children.iter().find(|c| c.kind() == CXCursor_MemberRef);
        let value = match named.and_then(|n| n.referenced()) {
            Some(field) => {
                let at = fields.iter().position(|f| *f == field);
                next = at.ok_or_else(|| unsupported(item))?;
                operands(item).last().copied()
            }
            None => Some(item),
        };
        let slot = given.get_mut(next).ok_or_else(|| unsupported(item))?;
        if slot.is_some() {
            return Err(unsupported(item));
        }
        *slot = value;
        next += 1;
    }
    Ok(given)
}

/// Whether a call makes a `std::pair` of what it is given.
fn makes_pair(e: Cursor<'_>) -> bool {
    e.referenced().is_some_and(|f| {
        let constructor =
            f.kind() == CXCursor_Constructor && f.semantic_parent().is_some_and(is_pair);
        constructor || f.spelling() == "make_pair" && in_std(f)
    })
}

fn unsupported(at: Cursor<'_>) -> crate::c::Problem {
    problem(
        codes::RECORD,
        "this use of a local struct is not supported",
        at,
    )
}
