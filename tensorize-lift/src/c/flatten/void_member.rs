//! Members and parameters that are `void *`, or that point to a struct which a longer one begins with (see `inherited.rs`). One
//! points to what the first use takes it to point to; a use that takes it for something else is refused. (Of which function it is a
//! use makes no difference, so helpers count, too.)

use super::inherited::{extended, extends};
use super::tag::depends_on_a_parameter;
use super::within;
use super::{Node, Owner, Path, element, is_private, record, struct_type};
use crate::c::Problem;
use crate::c::call::{helper, inlined_body};
use crate::c::codes;
use crate::c::effects;
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Lower, Result, operand, operands, problem};
use crate::c::pointer::{is_null, moved_in_bytes};
use crate::c::source;
use crate::c::types;
use clang_sys::*;
use std::collections::HashSet;
use tensorize_ir::loopir::Param;

/// Helpers that a `void *` is handed on to.
const MAX_DEPTH: usize = 8;

impl<'u> Lower<'u, '_> {
    /// The type of a member of this struct; of a `void *` what it is taken for, where something was said of that.
    pub(super) fn type_of_member(&self, owner: &Path<'u>, field: Cursor<'u>) -> Type<'u> {
        let mut path = owner.clone();
        path.1.push(field);
        let taken = self.flat.taken_for.get(&path);
        taken.copied().unwrap_or_else(|| field.ty())
    }

    /// The same, which somebody asks for who says nothing of it.
    pub(super) fn type_of_used_member(
        &mut self,
        owner: &Path<'u>,
        field: Cursor<'u>,
        at: Cursor<'u>,
    ) -> Result<Type<'u>> {
        self.guess_member(owner, field, at)?;
        let t = self.type_of_member(owner, field);
        if is_void(t) {
            let message = format!(
                "the member '{}' points to void, and nothing here says what that is",
                field.spelling()
            );
            return Err(problem(codes::TYPE, message, at));
        }
        Ok(t)
    }

    /// Whether a member points to something of which nothing in this code says what it is.
    pub(super) fn is_unknown_void(&self, field: Cursor<'u>) -> bool {
        is_void(field.ty()) && self.cast_elsewhere(field).is_none()
    }

    /// Whether what a `void *` points to is `const`, or `restrict`, is the member's to say. If it isn't, nobody promised what a cast says: it is,
    /// unless it is written.
    pub(super) fn const_as_the_member_says(&mut self, field: Cursor<'u>, params: &mut [Param]) {
        let t = field.ty().canonical();
        if !is_void(t) {
            return;
        }
        for p in params {
            if let Param::Array {
                name,
                is_const,
                restrict,
                ..
            } = p
            {
                *restrict = t.is_restrict();
                *is_const = t.pointee().is_const();
                if !*is_const {
                    self.flat.const_unless_written.insert(name.clone());
                }
            }
        }
    }

    pub(super) fn const_where_not_written(&self, params: &mut [Param]) {
        for p in params {
            if let Param::Array { name, is_const, .. } = p
                && self.flat.const_unless_written.contains(name)
            {
                *is_const = !self.written.contains(name);
            }
        }
    }

    /// Notes what a cast takes a member for; nothing of other expressions.
    pub fn settle_member(&mut self, cast: Cursor<'u>) -> Result<()> {
        match cast_of(cast) {
            Some(named) => self.take_for(named, cast.ty(), cast),
            None => Ok(()),
        }
    }

    /// Lets a member be what other uses in this code take it for, if nothing was said yet.
    pub(super) fn guess_member(
        &mut self,
        owner: &Path<'u>,
        field: Cursor<'u>,
        at: Cursor<'u>,
    ) -> Result<()> {
        let t = self.type_of_member(owner, field);
        if !is_void(t) && !struct_type(t).is_some_and(|(_, _, pointer)| pointer) {
            return Ok(());
        }
        // Members that point to structs are many, and hardly any is cast.
        if !self.flat.cast.contains_key(&field) {
            let cast = self.cast_elsewhere(field);
            self.flat.cast.insert(field, cast);
        }
        match self.flat.cast[&field] {
            Some(t) => self.take_path_for(within(owner, field), t, at),
            None => Ok(()),
        }
    }

    /// What some code takes this member for.
    fn cast_elsewhere(&self, field: Cursor<'u>) -> Option<Type<'u>> {
        let is_it = |m: Cursor<'u>| m.referenced() == Some(field);
        let bodies = self.frames.iter().rev();
        let mut bodies = bodies.filter_map(|f| source::body(f.function));
        let mut seen = HashSet::new();
        let found = bodies.find_map(|body| self.first_cast(body, &is_it, &mut seen));
        found.map(|c| c.ty())
    }

    /// The first cast in this code that takes a `void *` for something, or in helpers that it calls.
    fn first_cast(
        &self,
        c: Cursor<'u>,
        is_it: &dyn Fn(Cursor<'u>) -> bool,
        seen: &mut HashSet<Cursor<'u>>,
    ) -> Option<Cursor<'u>> {
        if cast_of(c).is_some_and(is_it) {
            return Some(c);
        }
        let inside = |c: Cursor<'u>| self.first_cast(c, is_it, seen);
        if let Some(found) = c.children().into_iter().find_map(inside) {
            return Some(found);
        }
        let is_call = c.kind() == CXCursor_CallExpr;
        let body = is_call.then(|| inlined_body(self, c)).flatten()?;
        seen.insert(body).then_some(())?;
        self.first_cast(body, is_it, seen)
    }

    /// Where a variable or a parameter that is a `void *` is taken for something, in its function or in helpers that get it.
    pub(super) fn variable_taken_for(&self, d: Cursor<'u>, depth: usize) -> Option<Cursor<'u>> {
        let body = d.semantic_parent().and_then(source::body)?;
        let is_it = |e: Cursor<'u>| e.referenced() == Some(d);
        let here = self.first_cast(body, &is_it, &mut HashSet::new());
        here.or_else(|| {
            let handed_on = handed_on(body, d).filter(|_| depth < MAX_DEPTH)?;
            self.variable_taken_for(handed_on, depth + 1)
        })
    }

    /// Lets a member, or what a variable was set to that is a `void *` too, be what a pointer of this type points to.
    fn take_for(&mut self, named: Cursor<'u>, t: Type<'u>, at: Cursor<'u>) -> Result<()> {
        let Some(path) = self.path_of_void(named) else {
            return Ok(());
        };
        self.take_path_for(path.clone(), t, at)?;
        // Later uses may stand under any conditions.
        if named.kind() == CXCursor_MemberRefExpr && self.flat.taken_anyhow.insert(path) {
            self.check_no_tag(named, t, at)?;
        }
        Ok(())
    }

    fn take_path_for(&mut self, path: Path<'u>, t: Type<'u>, at: Cursor<'u>) -> Result<()> {
        let refused = |what: &str| {
            let name = match (path.1.last(), path.0) {
                (Some(member), _) => member.spelling(),
                (None, Owner::Parameter(root)) => {
                    let given = self.flat.roots.get(root);
                    given.map_or_else(String::new, |r| r.name.clone())
                }
                (None, _) => String::new(),
            };
            let message = format!("'{name}' is a pointer that is taken to point to {what}");
            Err(problem(codes::POINTER_CAST, message, at))
        };
        let what = record::named_in(t);
        if is_private(what) || is_of_a_function(what) {
            return refused("something that no other code can name");
        }
        match self.flat.taken_for.get(&path) {
            Some(known) if !is_alike(*known, t) && !extends(*known, t) => {
                refused("two kinds of things")
            }
            Some(_) => Ok(()),
            None => {
                self.flat.taken_for.insert(path, t);
                Ok(())
            }
        }
    }

    /// Where a parameter has a `void *`, by an expression that names it and does nothing.
    fn path_of_void(&mut self, named: Cursor<'u>) -> Option<Path<'u>> {
        if named.kind() == CXCursor_DeclRefExpr {
            let d = named.referenced()?;
            let known = self.flat.records.get(&d).cloned();
            return known.filter(|path| self.flat.taken_for.contains_key(path));
        }
        if !effects::is_pure(named) {
            return None;
        }
        let field = self.field(named).ok()?;
        let (owner, mut path) = self.path_of(named).ok()?;
        path.push(field);
        owner.is_parameter().then_some((owner, path))
    }

    /// Whether a `void *` stands for a struct.
    pub(super) fn is_void_record(&mut self, c: Cursor<'u>) -> Result<bool> {
        let path = void_named(c).and_then(|named| self.path_of_void(named));
        let Some(path) = path else { return Ok(false) };
        if let Some((field, owner)) = path.1.split_last() {
            self.guess_member(&(path.0, owner.to_vec()), *field, c)?;
        }
        let taken = self.flat.taken_for.get(&path);
        Ok(taken.is_some_and(|t| struct_type(*t).is_some()))
    }

    /// The struct that a parameter points to which is a `void *`, if all uses take it for a pointer to one, and none for a pointer
    /// into an array of them.
    pub(super) fn struct_behind_void(&mut self, p: Cursor<'u>) -> Option<Type<'u>> {
        let made = self.made_of_void(p).filter(|_| is_void(p.ty()))?;
        let function = self.frames[0].function;
        let cast = self.variable_taken_for(p, 0)?;
        let t = cast.ty();
        let is_one = struct_type(t).is_some() && made.as_scalar().is_none();
        if !is_one
            || element::walked(self, function, p, &mut HashSet::new())
            || depends_on_a_parameter(source::body(function)?, cast)
        {
            return None;
        }
        let root = Owner::Parameter(self.flat.roots.len());
        self.flat.taken_for.insert((root, vec![]), t);
        Some(t)
    }

    /// The struct that is cast, which a cast from a `void *` may not make another one.
    pub(super) fn cast_record(&mut self, cast: Cursor<'u>) -> Result<Path<'u>> {
        let inner = operand(cast)?;
        let path = self.record(inner)?;
        let wanted = struct_type(cast.ty()).map(|(d, _, _)| d);
        if !is_void(inner.ty()) || !path.0.is_parameter() {
            let Some(wanted) = wanted else {
                return Ok(path);
            };
            let path = self.seen_as(path, wanted, cast)?;
            // In C++ it may have a base.
            if !self.source.cpp
                && path.0.is_parameter()
                && let Node::Struct { declaration, .. } = self.node(&path, cast)?
                && *declaration != wanted
            {
                return Err(other_struct(inner.ty(), cast));
            }
            return Ok(path);
        }
        match self.node(&path, cast)? {
            Node::Struct { declaration, .. } if wanted.is_none_or(|d| d == *declaration) => {
                Ok(path)
            }
            _ => Err(other_struct(inner.ty(), cast)),
        }
    }

    /// The struct that a variable or a parameter of a helper gets as a `void *`, if it is a member or another such variable, and
    /// if the code around the variable takes it for a struct.
    pub fn void_argument(&mut self, a: Cursor<'u>, d: Cursor<'u>) -> Result<Option<Path<'u>>> {
        if !is_void(d.ty()) {
            return Ok(None);
        }
        // A helper's parameter may have been one at an earlier call.
        self.forget_record(d);
        let taken = self.variable_taken_for(d, 0).map(|c| c.ty());
        let (Some(named), Some(t)) = (void_named(a), taken) else {
            return Ok(None);
        };
        self.take_for(named, t, a)?;
        let found = self
            .path_of_void(named)
            .filter(|_| struct_type(t).is_some());
        Ok(found.filter(|path| self.flat.taken_for.contains_key(path)))
    }
}

/// The first parameter of a helper that gets the value of a variable, both of which are a `void *`.
fn handed_on<'u>(code: Cursor<'u>, d: Cursor<'u>) -> Option<Cursor<'u>> {
    let is_it = |a: &Cursor<'u>| void_named(*a).is_some_and(|e| e.referenced() == Some(d));
    let callee = code
        .referenced()
        .filter(|_| code.kind() == CXCursor_CallExpr);
    let params = callee.and_then(helper).map(|f| f.arguments());
    let mut given = code.arguments().into_iter().zip(params.unwrap_or_default());
    let found = given.find(|(a, p)| is_it(a) && is_void(p.ty()));
    match found {
        Some((_, p)) => Some(p),
        None => code.children().into_iter().find_map(|c| handed_on(c, d)),
    }
}

fn other_struct(from: Type<'_>, cast: Cursor<'_>) -> Problem {
    let (from, to) = (from.spelling(), cast.ty().spelling());
    let message = format!("a '{from}' is taken for a '{to}', to which it may not point");
    let mut refused = problem(codes::RECORD, message, cast);
    refused.help = Some(
        "That is followed where the second struct begins with the first one, and where no condition asks which of several kinds it \
         is. Else let the parameter or the member be of the second type."
            .into(),
    );
    refused
}

/// Whether two pointers point to the same kind of things.
fn is_alike(a: Type<'_>, b: Type<'_>) -> bool {
    let declaration = |t| struct_type(t).map(|(d, _, _)| d);
    declaration(a) == declaration(b) && types::read(a) == types::read(b)
}

pub(super) fn is_void(t: Type<'_>) -> bool {
    types::read(t).is_void_pointer()
}

fn is_cast(c: Cursor<'_>) -> bool {
    let is_pointer = || matches!(c.ty().canonical().kind(), CXType_Pointer);
    match c.kind() {
        CXCursor_ParenExpr => true,
        CXCursor_UnexposedExpr
        | CXCursor_CStyleCastExpr
        | CXCursor_CXXStaticCastExpr
        | CXCursor_CXXReinterpretCastExpr
        | CXCursor_CXXConstCastExpr => is_pointer(),
        _ => false,
    }
}

/// The member or the variable that is a `void *`, and that this is, apart from casts to pointers.
pub(in crate::c) fn void_named(c: Cursor<'_>) -> Option<Cursor<'_>> {
    let mut c = c;
    while is_cast(c) {
        c = *operands(c).last()?;
    }
    let named = matches!(c.kind(), CXCursor_MemberRefExpr | CXCursor_DeclRefExpr);
    (named && is_void(c.ty())).then_some(c)
}

/// The same of what is cast to a pointer to something; it may be moved by bytes before. Or what points to a struct that the one which
/// it is taken for extends.
fn cast_of<'u>(c: Cursor<'u>) -> Option<Cursor<'u>> {
    let mut c = c;
    while c.kind() == CXCursor_ParenExpr {
        c = *operands(c).first()?;
    }
    if !is_cast(c) || is_void(c.ty()) || is_null(c) {
        return None;
    }
    let inner = *operands(c).last()?;
    void_named(inner)
        .or_else(|| extended(inner, c.ty()))
        .or_else(|| void_named(moved_in_bytes(inner)?.0))
}

/// Whether a struct is declared within a function.
fn is_of_a_function(declaration: Cursor<'_>) -> bool {
    let mut at = declaration.semantic_parent();
    while let Some(parent) = at {
        if source::body(parent).is_some() {
            return true;
        }
        at = parent.semantic_parent();
    }
    false
}
