//! What a kernel or a helper returns: a number, or a parameter as it got it.

use super::call::helper;
use super::codes;
use super::cpp::class::in_std;
use super::cpp::method::{is_method, receiver};
use super::effects;
use super::ffi::{Cursor, Type};
use super::lower::{Lower, Result, operands, peeled, problem, scalar_type};
use super::pointer::unwrapped;
use super::source::{self, Source};
use super::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::scalar::ScalarType;

/// The type of the number that a kernel returns; none if it returns nothing, or something else that is known.
pub(super) fn returned_number(
    source: &Source<'_>,
    f: Cursor<'_>,
    returns_parameter: bool,
) -> Result<Option<ScalarType>> {
    Ok(match types::read(f.ty().result()) {
        Ty::Void => None,
        Ty::Class(_) if source.cpp => None,
        _ if super::flatten::struct_declaration(f.ty().result()).is_some() => None,
        _ if super::cpp::optional::optional(f.ty().result()).is_some() => None,
        _ if super::cpp::tuple::tuple(f.ty().result()).is_some() => None,
        _ if returns_parameter => None,
        Ty::Reference(_) => {
            let message = format!("'{}' returns a reference", f.spelling());
            return Err(problem(codes::TYPE, message, f));
        }
        t => Some(scalar_type(&t, f)?),
    })
}

/// The parameter that a kernel returns as it got it, by its number, if every `return` does that: a pointer (`return dst;`), or a
/// reference to what it refers to (`return *this;`). With a pointer, the variable, which must not be assigned.
pub(super) fn returned_parameter<'u>(f: Cursor<'u>) -> Option<(usize, Option<Cursor<'u>>)> {
    let result = f.ty().result().canonical();
    if !matches!(result.kind(), CXType_Pointer | CXType_LValueReference) {
        return None;
    }
    let method = is_method(f);
    let is_pointer = result.kind() == CXType_Pointer;
    let mut found = None;
    let mut pending = vec![source::body(f)?];
    while let Some(c) = pending.pop() {
        if c.kind() == CXCursor_LambdaExpr {
            continue;
        }
        if c.kind() != CXCursor_ReturnStmt {
            pending.extend(c.children());
            continue;
        }
        let e = unwrapped(*operands(c).first()?);
        let this = match is_pointer {
            true => e.kind() == CXCursor_CXXThisExpr,
            false => {
                e.kind() == CXCursor_UnaryOperator
                    && (operands(e).first()).is_some_and(|o| o.kind() == CXCursor_CXXThisExpr)
            }
        };
        let given = match this {
            true => (0, None),
            false => {
                let d = e
                    .referenced()
                    .filter(|_| e.kind() == CXCursor_DeclRefExpr)?;
                let number = f.arguments().iter().position(|p| *p == d)?;
                let t = d.ty().canonical();
                // A base class may lie elsewhere in an object.
                let pointee = |t: Type<'u>| t.canonical().pointee().canonical();
                let same = pointee(t).declaration() == pointee(result).declaration();
                let decayed = matches!(types::of(d), Ty::Pointer(_)) && t.kind() != result.kind();
                if !decayed && (t.kind() != result.kind() || !same) {
                    return None;
                }
                (number + usize::from(method), is_pointer.then_some(d))
            }
        };
        if found.is_some_and(|other| other != given) {
            return None;
        }
        found = Some(given);
    }
    found
}

/// A member, by value in all that it is in, to which a function returns a reference: `return out_;`, `return s.re;`.
pub(super) struct Member<'u> {
    /// Of which parameter, with the object of a member function as the first one.
    pub number: usize,
    /// The parameter, unless it is that object.
    pub parameter: Option<Cursor<'u>>,
    /// Members of members, the outermost first.
    pub fields: Vec<Cursor<'u>>,
    /// An expression that names it.
    pub named: Cursor<'u>,
}

/// The member that a function returns a reference to, if every `return` returns that one.
pub(super) fn returned_member<'u>(f: Cursor<'u>) -> Option<Member<'u>> {
    let result = f.ty().result().canonical();
    if result.kind() != CXType_LValueReference {
        return None;
    }
    let mut found: Option<Member<'u>> = None;
    let mut pending = vec![source::body(f)?];
    while let Some(c) = pending.pop() {
        match c.kind() {
            CXCursor_LambdaExpr => continue,
            CXCursor_ReturnStmt => {}
            _ => {
                pending.extend(c.children());
                continue;
            }
        }
        let e = peeled(*operands(c).first()?);
        let member = member_of_parameter(e, f)?;
        // A copy that is made for the reference would be gone.
        if !is_same_type(member.fields.last()?.ty(), result.pointee()) {
            return None;
        }
        let another = |m: &Member<'u>| m.number != member.number || m.fields != member.fields;
        if found.as_ref().is_some_and(another) {
            return None;
        }
        found = Some(member);
    }
    found
}

fn is_same_type(a: Type<'_>, b: Type<'_>) -> bool {
    let bare = |t: Type<'_>| {
        let spelled = t.canonical().spelling();
        spelled.trim_start_matches("const ").to_string()
    };
    bare(a) == bare(b)
}

/// The member of a parameter of `f` that an expression names.
fn member_of_parameter<'u>(e: Cursor<'u>, f: Cursor<'u>) -> Option<Member<'u>> {
    let mut fields = Vec::new();
    let mut at = e;
    let parameter = loop {
        let field = at
            .referenced()
            .filter(|_| at.kind() == CXCursor_MemberRefExpr)?;
        let by_value = field.kind() == CXCursor_FieldDecl
            && !field.is_bit_field()
            && !field.spelling().is_empty()
            && field.ty().canonical().kind() != CXType_LValueReference;
        by_value.then(|| fields.push(field))?;
        let [base] = operands(at)[..] else {
            break operands(at).is_empty().then_some(None)?;
        };
        let base = peeled(base);
        match base.kind() {
            CXCursor_CXXThisExpr => break None,
            CXCursor_DeclRefExpr => break Some(base.referenced()?),
            CXCursor_MemberRefExpr if base.ty().canonical().kind() == CXType_Record => at = base,
            _ => return None,
        }
    };
    fields.reverse();
    let is_method = is_method(f);
    let number = match parameter {
        None => is_method.then_some(0)?,
        Some(d) => {
            let kind = d.ty().canonical().kind();
            let shared = matches!(kind, CXType_Pointer | CXType_LValueReference);
            let number = f.arguments().iter().position(|p| *p == d);
            number.filter(|_| shared)? + usize::from(is_method)
        }
    };
    Some(Member {
        number,
        parameter,
        fields,
        named: e,
    })
}

impl<'u> Lower<'u, '_> {
    /// The member to which a function returns a reference.
    pub fn member_passed_on(&self, definition: Cursor<'u>) -> Option<Member<'u>> {
        let member = returned_member(definition)?;
        let moves = member.parameter.is_some_and(|p| self.assigned.contains(&p));
        (!moves).then_some(member)
    }

    /// Runs a member function that returns a reference to a member of its object. What `named` makes of that; `None` if `c` is
    /// anything else, and nothing has run.
    pub fn given_member<T>(
        &mut self,
        c: Cursor<'u>,
        named: impl FnOnce(&mut Self, Cursor<'u>) -> Result<T>,
    ) -> Result<Option<T>> {
        let callee = (c.kind() == CXCursor_CallExpr).then(|| c.referenced());
        let definition = callee.flatten().and_then(helper);
        let Some(definition) = definition.filter(|d| !in_std(*d) && is_method(*d)) else {
            return Ok(None);
        };
        let member = self.member_passed_on(definition);
        let member = member.filter(|m| m.parameter.is_none());
        let Some(member) = member else {
            return Ok(None);
        };
        let (object, arguments) = receiver(c, definition);
        let this = self.called_on(object, c)?;
        self.inline_on(c, definition, arguments, None, Some(this.clone()))?;
        self.in_frame(definition, Some(this), |s| named(s, member.named))
            .map(Some)
    }

    /// The parameter that a helper returns as it got it, by its number.
    pub fn passes_on(&self, definition: Cursor<'u>) -> Option<usize> {
        let (number, p) = returned_parameter(definition)?;
        (!p.is_some_and(|p| self.assigned.contains(&p))).then_some(number)
    }

    /// Runs a helper that returns one of its parameters. What `named` makes of the argument that this is, before the helper may
    /// change what the argument is made of; `None` if `c` is anything else, and nothing has run.
    pub fn passed_on<T>(
        &mut self,
        c: Cursor<'u>,
        named: impl FnOnce(&mut Self, Cursor<'u>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut given = c;
        while let Some(inner) = self.given_through(given)? {
            given = inner;
        }
        // The call looks at it once more.
        if given == c || !effects::is_pure(given) {
            return Ok(None);
        }
        let found = named(self, given)?;
        self.call(c)?;
        Ok(Some(found))
    }

    /// The argument that a call of such a helper returns.
    fn given_through(&mut self, c: Cursor<'u>) -> Result<Option<Cursor<'u>>> {
        let c = peeled(c);
        let callee = (c.kind() == CXCursor_CallExpr).then(|| c.referenced());
        let definition = callee.flatten().and_then(helper);
        let Some(definition) = definition.filter(|d| !in_std(*d)) else {
            return Ok(None);
        };
        self.scan_variables(definition)?;
        let Some(number) = self.passes_on(definition) else {
            return Ok(None);
        };
        if !is_method(definition) {
            return Ok(c.arguments().get(number).copied());
        }
        let (object, arguments) = receiver(c, definition);
        Ok(match number.checked_sub(1) {
            None => object,
            Some(i) => arguments.get(i).copied(),
        })
    }
}
