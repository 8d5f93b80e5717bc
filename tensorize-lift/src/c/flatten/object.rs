//! Objects of the function's own that hold arrays, vectors, spans or pointers besides numbers, as a matrix, an image or a view
//! of one does: each number is a variable, each array an array, each vector a sequence, from when it is made, each pointer a
//! pointer variable, and each reference another name. What the kernel returns is built where its caller gets it.

use super::first_value::{First, first_value, is_constructed, names_a_member};
use super::result::Returned;
use super::{Owner, Path, element, local, struct_declaration, within};
use crate::c::call::{Home, helper};
use crate::c::codes;
use crate::c::cpp::class::{Class, in_std};
use crate::c::cpp::method::{This, is_implied};
use crate::c::cpp::seq::{Seq, int};
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Lower, Result, Variable, operands, peeled, problem};
use crate::c::place::{Place, Pointer};
use crate::c::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::Expr;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// What an object holds in one place.
pub(super) enum Held {
    Number(ScalarType),
    Array(Ty),
    Vector(Ty),
    Span,
    Pointer,
    /// What it refers to is somebody else's.
    Reference(Ty),
}

/// All that an object holds, with the members on the way to it; `None` if there is anything else in it.
pub(super) fn holdings<'u>(t: Type<'u>) -> Option<Vec<(Vec<Cursor<'u>>, Held)>> {
    fn collect<'u>(
        declaration: Cursor<'u>,
        path: &mut Vec<Cursor<'u>>,
        out: &mut Vec<(Vec<Cursor<'u>>, Held)>,
    ) -> Option<()> {
        for field in element::fields(declaration)? {
            path.push(field);
            match (struct_declaration(field.ty()), held(field)) {
                (Some(inner), _) => collect(inner, path, out)?,
                (None, held) => out.push((path.clone(), held?)),
            }
            path.pop();
        }
        Some(())
    }
    let mut out = Vec::new();
    collect(struct_declaration(t)?, &mut vec![], &mut out)?;
    (!out.is_empty()).then_some(out)
}

/// Those of its parts that are such, by the members on the way to them.
pub(super) fn held_in<'u>(t: Type<'u>, is_such: impl Fn(&Held) -> bool) -> Vec<Vec<Cursor<'u>>> {
    let all = holdings(t).unwrap_or_default().into_iter();
    all.filter(|(_, held)| is_such(held))
        .map(|(path, _)| path)
        .collect()
}

/// What a member holds that is no struct.
pub(super) fn held(field: Cursor<'_>) -> Option<Held> {
    /// Numbers, or so many of them.
    fn is_fixed(t: &Ty) -> bool {
        match t {
            Ty::Scalar(_) | Ty::Record(..) => true,
            Ty::Array(inner, len) => len.is_some() && is_fixed(inner),
            Ty::Class(Class::Array(inner, _)) => is_fixed(inner),
            _ => false,
        }
    }
    match types::read(field.ty()) {
        Ty::Scalar(ty) => Some(Held::Number(ty)),
        Ty::Class(Class::Vector(inner)) if is_fixed(&inner) => Some(Held::Vector(*inner)),
        Ty::Class(Class::Span(..)) => Some(Held::Span),
        Ty::Pointer(to) if points_to_elements(&to) => Some(Held::Pointer),
        Ty::Reference(to) if is_number_or_row(&to) => Some(Held::Reference(*to)),
        t @ (Ty::Array(..) | Ty::Class(Class::Array(..))) if is_fixed(&t) => Some(Held::Array(t)),
        _ => None,
    }
}

/// Whether this is a number, or holds such in a row.
fn is_number_or_row(t: &Ty) -> bool {
    t.as_scalar().is_some() || matches!(t, Ty::Class(_) | Ty::Array(..)) && t.is_sequence()
}

/// Whether a pointer to this may point into an array that is known here.
fn points_to_elements(to: &Ty) -> bool {
    match to.flatten().0 {
        Ty::Scalar(_) | Ty::Record(..) | Ty::Mixed(..) => true,
        // It is what it was made of.
        Ty::Void => true,
        // A table of rows.
        Ty::Pointer(row) => row.as_scalar().is_some(),
        _ => false,
    }
}

/// Whether this is a struct that holds arrays, vectors, spans or pointers, and nothing but these and numbers.
pub(in crate::c) fn is_object(t: Type<'_>) -> bool {
    struct_declaration(t).is_some() && local::numbers(t).is_none() && holdings(t).is_some()
}

pub(super) fn unsupported(at: Cursor<'_>) -> crate::c::Problem {
    problem(
        codes::RECORD,
        "this way to make an object that holds arrays is not supported",
        at,
    )
}

/// `{}` or `T()` of a class that leaves it at that.
fn says_nothing(e: Cursor<'_>) -> bool {
    let e = peeled(e);
    e.kind() == CXCursor_CallExpr && e.arguments().is_empty() && e.children().is_empty()
}

impl<'u> Lower<'u, '_> {
    /// An object whose vectors are still to be made.
    fn new_object(&mut self, t: Type<'u>, name: &str, at: Cursor<'u>) -> Result<Path<'u>> {
        let owner = Owner::Local(self.flat.locals);
        self.flat.locals += 1;
        for (path, held) in holdings(t).ok_or_else(|| unsupported(at))? {
            let words: Vec<String> = path.iter().map(|f| element::called(*f)).collect();
            let called = format!("{name}.{}", words.join("."));
            let place = match held {
                Held::Vector(_) | Held::Span | Held::Reference(_) => continue,
                Held::Number(_) | Held::Pointer
                    if path.iter().any(|f| self.in_memory.contains(f)) =>
                {
                    let message = format!("the address of '{called}' is taken");
                    return Err(problem(codes::RECORD, message, at));
                }
                Held::Number(ty) => Place::Var(self.fresh(called), ty),
                Held::Pointer => {
                    let offset = self.fresh(called);
                    self.flat.offsets.insert((owner, path), offset);
                    continue;
                }
                Held::Array(Ty::Array(inner, Some(len)) | Ty::Class(Class::Array(inner, len))) => {
                    let len = int(len.into());
                    self.local_seq(&called, &inner, &len, at)?.place()
                }
                Held::Array(_) => return Err(unsupported(at)),
            };
            self.flat.fields.insert((owner, path), place);
        }
        Ok((owner, vec![]))
    }

    /// A local variable.
    pub fn declare_object(&mut self, d: Cursor<'u>, init: Option<Cursor<'u>>) -> Result<()> {
        let own = self.frames.last().and_then(|f| f.object.clone());
        let object = match own.filter(|_| self.cpp.is_result(d)) {
            Some(object) => object,
            None => {
                if init.is_some_and(|e| self.stands_for_a_parameter(d, e)) {
                    return Ok(());
                }
                self.new_object(d.ty(), &d.spelling(), d)?
            }
        };
        self.name_record(d, object.clone());
        match init {
            Some(e) => self.full(e, |s| s.construct_object(&object, e)),
            None => Ok(()),
        }
    }

    /// A helper's parameter by value: a copy.
    pub(super) fn copy_parameter(&mut self, p: Cursor<'u>, from: &Path<'u>) -> Result<()> {
        let object = self.new_object(p.ty(), &p.spelling(), p)?;
        self.copied_object(&object, from, p)?;
        self.name_record(p, object);
        Ok(())
    }

    /// A helper's parameter by value that gets a struct of an array: a copy.
    pub(super) fn copy_element(&mut self, p: Cursor<'u>, of: &Pointer) -> Result<()> {
        let object = self.new_object(p.ty(), &p.spelling(), p)?;
        self.copied_element(&object, of, p.ty(), p)?;
        self.name_record(p, object);
        Ok(())
    }

    /// An object without a name.
    pub fn temporary_object(&mut self, e: Cursor<'u>) -> Result<Path<'u>> {
        let object = self.new_object(e.ty(), "object", e)?;
        self.construct_object(&object, e)?;
        Ok(object)
    }

    /// Makes an object what an expression says.
    pub fn construct_object(&mut self, to: &Path<'u>, e: Cursor<'u>) -> Result<()> {
        let e = peeled(e);
        let moved =
            |f: Cursor<'u>| in_std(f) && matches!(f.spelling().as_str(), "move" | "forward");
        if let Some(of) = self.named_element(e)? {
            return self.copied_element(to, &of, e.ty(), e);
        }
        match (e.kind(), e.referenced()) {
            (CXCursor_InitListExpr, _) => self.listed_object(to, e),
            (
                CXCursor_CXXFunctionalCastExpr
                | CXCursor_CXXStaticCastExpr
                | CXCursor_CStyleCastExpr
                | CXCursor_CompoundLiteralExpr,
                _,
            ) => match operands(e).last() {
                Some(&inner) => self.construct_object(to, inner),
                None => Err(unsupported(e)),
            },
            (CXCursor_ConditionalOperator, _) => {
                let parts = operands(e)[..].try_into().map_err(|_| unsupported(e))?;
                self.either(parts, |s, e| s.construct_object(to, e))
            }
            (CXCursor_CallExpr, Some(f)) if f.kind() == CXCursor_Constructor => {
                self.constructed_object(to, e, f)
            }
            (CXCursor_CallExpr, Some(f)) if moved(f) => {
                let from = *e.arguments().first().ok_or_else(|| unsupported(e))?;
                // What the caller still has would be empty afterwards.
                if self.record(from)?.0.is_parameter() && !from.ty().is_const() {
                    return Err(unsupported(e));
                }
                self.construct_object(to, from)
            }
            (CXCursor_CallExpr, Some(f)) => {
                let definition = helper(f).ok_or_else(|| unsupported(e))?;
                let home = Some(Home::Object(to.clone()));
                self.inline_into(e, definition, home).map(|_| ())
            }
            _ => {
                let from = self.record(e)?;
                self.copied_object(to, &from, e)
            }
        }
    }

    fn constructed_object(
        &mut self,
        to: &Path<'u>,
        e: Cursor<'u>,
        constructor: Cursor<'u>,
    ) -> Result<()> {
        let arguments = e.arguments();
        let definition = (constructor.definition())
            .filter(|d| !is_implied(constructor) && crate::c::source::body(*d).is_some());
        match (definition, &arguments[..]) {
            (Some(definition), _) => {
                let this = This::Named(to.clone());
                self.inline_on(e, definition, arguments, None, Some(this))
                    .map(|_| ())
            }
            (None, [one]) if struct_declaration(one.ty().canonical()).is_some() => {
                self.construct_object(to, *one)
            }
            (None, []) => {
                let class = struct_declaration(e.ty()).ok_or_else(|| unsupported(e))?;
                self.initialise(to, class, None)
            }
            _ => Err(unsupported(e)),
        }
    }

    /// `{ a.rows, a.cols, std::vector<float>(n) }`, each member by itself; what is left out is zero or empty.
    fn listed_object(&mut self, to: &Path<'u>, list: Cursor<'u>) -> Result<()> {
        let class = struct_declaration(list.ty()).ok_or_else(|| unsupported(list))?;
        if is_constructed(class) {
            return Err(unsupported(list));
        }
        let fields = class.ty().fields();
        let given = local::by_field(list, &fields)?;
        for (field, item) in fields.into_iter().zip(given) {
            match item {
                Some(item) => self.set_member(to, field, item)?,
                None => self.left_out_of(to, field, list)?,
            }
        }
        Ok(())
    }

    /// A member that a list leaves out.
    fn left_out_of(&mut self, object: &Path<'u>, field: Cursor<'u>, at: Cursor<'u>) -> Result<()> {
        match first_value(field)? {
            First::Value(e) if names_a_member(e) => return Err(unsupported(at)),
            First::Value(e) => return self.set_member(object, field, e),
            First::Zero | First::Nothing => {}
        }
        self.zero_member(object, field, at)
    }

    /// A member that is made of nothing: zeros, no elements.
    pub(super) fn zero_member(
        &mut self,
        object: &Path<'u>,
        field: Cursor<'u>,
        at: Cursor<'u>,
    ) -> Result<()> {
        if let Some(inner) = struct_declaration(field.ty()) {
            if is_constructed(inner) {
                return Err(unsupported(at));
            }
            let inside = within(object, field);
            let mut fields = element::members(inner).into_iter();
            return fields.try_for_each(|f| self.left_out_of(&inside, f, at));
        }
        match held(field).ok_or_else(|| unsupported(at))? {
            Held::Number(ty) => {
                let place = self.member_of(object.clone(), field, at)?;
                self.write(place, Expr::Const(Scalar::zero(ty)), at)
            }
            Held::Array(_) => {
                let seq = self.held_array(object, field, at)?;
                let (zero, len) = (self.zero_of(&seq), seq.len.clone());
                self.fill(&seq, int(0), len, zero, at)
            }
            Held::Vector(_) => self.make_empty(object, field, at),
            Held::Span | Held::Reference(_) => Err(unsupported(at)),
            Held::Pointer => {
                let Ty::Pointer(to) = types::read(field.ty()) else {
                    return Err(unsupported(at));
                };
                let elem = to.as_scalar().ok_or_else(|| unsupported(at))?;
                let null = self.null_pointer(elem);
                self.point_member(within(object, field), null, at)
            }
        }
    }

    /// Makes a member that is an array, a vector or an object what an initialiser says.
    pub(super) fn make_member(
        &mut self,
        object: &Path<'u>,
        field: Cursor<'u>,
        value: Cursor<'u>,
    ) -> Result<()> {
        if struct_declaration(field.ty()).is_some() {
            return self.construct_object(&within(object, field), value);
        }
        match held(field).ok_or_else(|| unsupported(value))? {
            Held::Number(_) => Err(unsupported(value)),
            Held::Pointer => {
                let p = self.pointer(crate::c::initializer::braced(value)?)?;
                self.point_member(within(object, field), p, value)?;
                // What steps in it steps then.
                self.sequence_point()
            }
            Held::Reference(to) if to.as_scalar().is_some() => {
                let place = self.place(value)?;
                let place = self.settled_place(place)?;
                self.refer(within(object, field), place, value)
            }
            Held::Reference(_) => {
                let seq = self.seq(value)?;
                // A vector that can grow keeps its name for the length.
                let seq = match seq.size.is_some() {
                    true => seq,
                    false => self.settled_seq(seq)?,
                };
                self.hold_elements(within(object, field), seq, value)
            }
            Held::Span => {
                let seq = self.seq(value)?;
                let seq = self.settled_seq(seq)?;
                self.hold_elements(within(object, field), seq, value)
            }
            Held::Array(_) if says_nothing(value) => Ok(()),
            Held::Array(_) => {
                let seq = self.held_array(object, field, value)?;
                self.construct(&seq, value)
            }
            Held::Vector(element) => {
                let place = within(object, field);
                match self.flat.vectors.get(&place).cloned() {
                    Some(seq) if seq.size.is_some() => self.construct(&seq, value),
                    // Which of the two it is now depends on what has run.
                    Some(_) => Err(unsupported(value)),
                    None => {
                        let seq = self.owned_vector(&field.spelling(), &element, value)?;
                        self.flat.vectors.insert(place, seq);
                        Ok(())
                    }
                }
            }
        }
    }

    /// A member of which no constructor says anything. With a constructor, its first value may be made of other members.
    pub fn unmade_member(
        &mut self,
        object: &Path<'u>,
        field: Cursor<'u>,
        at: Cursor<'u>,
        constructor: bool,
    ) -> Result<()> {
        match first_value(field)? {
            // Without a constructor there is no `this` but somebody else's.
            First::Value(e) if !constructor && names_a_member(e) => {
                let message = "a member whose first value is made of other members";
                return Err(problem(codes::RECORD, message, e));
            }
            First::Value(e) => return self.set_member(object, field, e),
            First::Zero => return self.zero_member(object, field, at),
            First::Nothing => {}
        }
        if let Some(inner) = struct_declaration(field.ty()) {
            return match local::numbers(field.ty()) {
                Some(_) => Ok(()),
                None if is_constructed(inner) => Err(unsupported(at)),
                None => self.initialise(&within(object, field), inner, None),
            };
        }
        match held(field) {
            Some(Held::Vector(_)) => self.make_empty(object, field, at),
            _ => Ok(()),
        }
    }

    fn make_empty(&mut self, object: &Path<'u>, field: Cursor<'u>, at: Cursor<'u>) -> Result<()> {
        match self.flat.vectors.get(&within(object, field)).cloned() {
            Some(seq) => self.set_len(&seq, int(0), at),
            // It is refused where it is used.
            None => Ok(()),
        }
    }

    fn held_array(&mut self, object: &Path<'u>, field: Cursor<'u>, at: Cursor<'u>) -> Result<Seq> {
        let place = self.member_of(object.clone(), field, at)?;
        Seq::of_row(place).ok_or_else(|| unsupported(at))
    }

    /// Lets a member that is a pointer point there.
    pub(super) fn point_member(
        &mut self,
        member: Path<'u>,
        p: Pointer,
        at: Cursor<'u>,
    ) -> Result<()> {
        self.point(&Variable::Member(member), p, false, at)
    }

    /// The variable of the offset of such a member.
    pub fn offset_of(&self, member: &Path<'u>, at: Cursor<'u>) -> Result<Sym> {
        let offset = self.flat.offsets.get(member).cloned();
        offset.ok_or_else(|| problem(codes::POINTER_USE, "a pointer in memory is changed", at))
    }

    /// The struct whose member an expression names, unless it is one in an array.
    fn owner_of(&mut self, member: Cursor<'u>) -> Result<Option<Path<'u>>> {
        match self.implied(member)? {
            Some(This::Named(path)) => Ok(Some(path)),
            Some(This::Element(_)) => Ok(None),
            None => {
                let base = self.base_of(member)?;
                match self.is_in_array(base) {
                    true => Ok(None),
                    false => self.record(base).map(Some),
                }
            }
        }
    }

    /// The member that an expression names, if it is a pointer in an object of the function's own.
    pub fn own_pointer(&mut self, c: Cursor<'u>) -> Result<Option<Path<'u>>> {
        let field = self.field(c)?;
        let owner = self.owner_of(c)?;
        let member = owner.map(|owner| within(&owner, field));
        Ok(member.filter(|m| self.flat.offsets.contains_key(m)))
    }

    /// Makes a member another name for a place in memory, where changes by one name and by the other are seen to be of one.
    pub(super) fn refer(&mut self, member: Path<'u>, place: Place, at: Cursor<'u>) -> Result<()> {
        if !matches!(place, Place::Element(..)) {
            return Err(unsupported(at));
        }
        match self.flat.fields.insert(member, place) {
            None => Ok(()),
            Some(_) => Err(unsupported(at)),
        }
    }

    /// Makes a member a span of these elements, or a name for them. Which of two it would be otherwise depends on what has run.
    pub(super) fn hold_elements(
        &mut self,
        member: Path<'u>,
        seq: Seq,
        at: Cursor<'u>,
    ) -> Result<()> {
        match self.flat.vectors.insert(member, seq) {
            None => Ok(()),
            Some(_) => Err(unsupported(at)),
        }
    }

    /// The vector or span that a member of an object is; `None` for other members, and those of objects in arrays.
    pub fn held_vector(&mut self, c: Cursor<'u>) -> Result<Option<Seq>> {
        let field = self.field(c)?;
        if !matches!(
            held(field),
            Some(Held::Vector(_) | Held::Span | Held::Reference(_))
        ) {
            return Ok(None);
        }
        let Some(owner) = self.owner_of(c)? else {
            return Ok(None);
        };
        let place = within(&owner, field);
        match self.flat.vectors.get(&place) {
            Some(seq) => Ok(Some(seq.clone())),
            // (Whoever asked for the owner again would do once more what it takes to get there: `a.doubled().values[0]`.)
            None if owner.0.is_parameter() => {
                let place = self.member_of(owner, field, c)?;
                self.seq_at(place, c).map(Some)
            }
            None => {
                let message = format!("'{}' has no elements here", field.spelling());
                Err(problem(codes::ALLOCATION, message, c))
            }
        }
    }

    /// What the kernel returns: an object whose vectors and arrays are its parameters.
    pub(super) fn whole_object_result(&mut self, f: Cursor<'u>) -> Result<Option<Returned>> {
        let t = f.ty().result();
        // (What a pointer or a span in it refers to is the caller's, or gone.)
        let refers = |h: &(Vec<Cursor<'u>>, Held)| {
            matches!(h.1, Held::Pointer | Held::Span | Held::Reference(_))
        };
        let own = holdings(t).is_some_and(|all| !all.iter().any(refers));
        if !self.source.cpp || !is_object(t) || !own {
            return Ok(None);
        }
        let class = struct_declaration(t).ok_or_else(|| unsupported(f))?;
        let owner = Owner::Local(self.flat.locals);
        self.flat.locals += 1;
        let object = (owner, vec![]);
        let mut params = Vec::new();
        let shape = self.result_shape(class, t, "result", Some(&object), &mut params)?;
        if let Some(frame) = self.frames.last_mut() {
            frame.object = Some(object);
        }
        Ok(Some((params, shape)))
    }
}
