//! Member functions and constructors of the file's own classes: they are inlined like helpers, with the object
//! that they are called on.

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::flatten::{Path, is_object, is_struct, struct_declaration};
use super::super::lower::{Lower, Result, operands, peeled, problem};
use super::super::place::Pointer;
use super::class::in_std;
use super::lambda::Callable;
use super::scan;
use clang_sys::*;

/// The object of a member function.
#[derive(Clone)]
pub(in super::super) enum This<'u> {
    /// A struct that a parameter or a variable stands for.
    Named(Path<'u>),
    /// One in an array.
    Element(Pointer),
}

/// What comes of a constructor of a struct of numbers.
pub(in super::super) enum Made<'u> {
    /// An object of its own.
    Object(Path<'u>),
    /// A copy of its argument.
    CopyOf(Cursor<'u>),
}

/// A member function of the file's own that is called on an object.
pub(in super::super) fn is_method(f: Cursor<'_>) -> bool {
    let of_an_object = match f.kind() {
        CXCursor_CXXMethod => !f.is_static_method(),
        // `operator float *()`
        CXCursor_ConversionFunction => true,
        _ => false,
    };
    of_an_object && !in_std(f)
}

/// The object of a call, if it is written down, and the arguments. Those of an operator stand in one row.
pub(in super::super) fn receiver<'u>(
    call: Cursor<'u>,
    method: Cursor<'u>,
) -> (Option<Cursor<'u>>, Vec<Cursor<'u>>) {
    let arguments = call.arguments();
    if arguments.len() > method.arguments().len() {
        return (arguments.first().copied(), arguments[1..].to_vec());
    }
    (scan::object(call), arguments)
}

/// `a = b` of a class that has no operator of its own for it: both sides.
pub(in super::super) fn plain_assignment<'u>(c: Cursor<'u>) -> Option<[Cursor<'u>; 2]> {
    let callee = c.referenced()?;
    let plain = c.kind() == CXCursor_CallExpr
        && callee.spelling() == "operator="
        && !in_std(callee)
        && is_implied(callee);
    let sides: [Cursor<'u>; 2] = c.arguments().try_into().ok()?;
    (plain && is_struct(sides[0].ty())).then_some(sides)
}

/// Whether a member is one that nobody has written, but the language has made. Of a class that is made of a template nothing
/// is shown; what is written of it has been made of the template's member.
pub(in super::super) fn is_implied(member: Cursor<'_>) -> bool {
    member.template().is_none()
        && member
            .semantic_parent()
            .is_some_and(|class| !class.children().contains(&member.canonical()))
}

impl<'u> Lower<'u, '_> {
    /// What `this` is, in the function that is being lowered.
    pub fn this(&self, at: Cursor<'u>) -> Result<This<'u>> {
        let this = self.frames.last().and_then(|f| f.this.clone());
        this.ok_or_else(|| problem(codes::RECORD, "an object that is not known", at))
    }

    /// Whether an expression is `this`, or `*this`.
    pub fn is_this(&self, c: Cursor<'u>) -> bool {
        let c = peeled(c);
        c.kind() == CXCursor_CXXThisExpr
            || c.kind() == CXCursor_UnaryOperator
                && operands(c).first().is_some_and(|o| self.is_this(*o))
    }

    /// The object that a call names.
    pub fn called_on(&mut self, object: Option<Cursor<'u>>, at: Cursor<'u>) -> Result<This<'u>> {
        let Some(o) = object.filter(|o| !self.is_this(*o)) else {
            return self.this(at);
        };
        if let Some(this) = self.passed_on(peeled(o), |s, given| s.called_on(Some(given), at))? {
            return Ok(this);
        }
        if self.is_in_array(o) {
            let p = self.element(o)?;
            return Ok(This::Element(self.settled_pointer(p)?));
        }
        if self.is_temporary(o) && is_object(o.ty()) {
            return Ok(This::Named(self.temporary_object(o)?));
        }
        if self.is_temporary(o) {
            let values = self.struct_value(o)?;
            return Ok(This::Named(self.new_struct(o, "object", Some(values))?));
        }
        Ok(This::Named(self.record(o)?))
    }

    /// A function object of a class of the file's own: a copy of it.
    pub fn function_object(&mut self, e: Cursor<'u>) -> Result<Option<Callable<'u>>> {
        let Some(declaration) = struct_declaration(e.ty()) else {
            return Ok(None);
        };
        let methods: Vec<Cursor<'u>> = declaration
            .children()
            .into_iter()
            .filter(|m| m.kind() == CXCursor_CXXMethod && m.spelling() == "operator()")
            .collect();
        let [method] = methods[..] else {
            return Ok(None);
        };
        let values = self.struct_value(e)?;
        let object = self.new_struct(e, "object", Some(values))?;
        Ok(Some(Callable::Object(This::Named(object), method)))
    }

    /// The numbers of an object that a constructor makes.
    pub fn constructed(&mut self, c: Cursor<'u>) -> Result<Vec<tensorize_ir::loopir::Expr>> {
        match self.made_by_constructor(c, "object")? {
            Made::Object(object) => self.numbers_of(&object, c),
            Made::CopyOf(of) => self.struct_value(of),
        }
    }

    /// What a constructor makes, which may leave numbers of it as they are.
    pub fn made_by_constructor(&mut self, c: Cursor<'u>, name: &str) -> Result<Made<'u>> {
        let unsupported = || {
            problem(
                codes::RECORD,
                "this way to make an object is not supported",
                c,
            )
        };
        let constructor = c.referenced().ok_or_else(unsupported)?;
        let arguments = c.arguments();
        let written = constructor
            .definition()
            .filter(|_| !is_implied(constructor));
        let with_body = written.filter(|d| super::super::source::body(*d).is_some());
        let Some(definition) = with_body else {
            // A copy, or what is left to the members' own initialisers.
            return match arguments[..] {
                [one] if is_struct(one.ty()) => Ok(Made::CopyOf(one)),
                [] if written.is_none() => {
                    let object = self.new_struct(c, name, None)?;
                    let declaration = struct_declaration(c.ty()).ok_or_else(unsupported)?;
                    self.initialise(&object, declaration, None)?;
                    Ok(Made::Object(object))
                }
                _ => Err(unsupported()),
            };
        };
        let object = self.new_struct(c, name, None)?;
        let this = Some(This::Named(object.clone()));
        self.inline_on(c, definition, arguments, None, this)?;
        Ok(Made::Object(object))
    }

    /// Gives the members their first values: those that a constructor lists, or those of their declarations.
    pub fn initialise(
        &mut self,
        object: &Path<'u>,
        declaration: Cursor<'u>,
        constructor: Option<Cursor<'u>>,
    ) -> Result<()> {
        let listed = constructor.map(|c| c.children()).unwrap_or_default();
        // Another constructor of the class does it: `Matrix(int n) : Matrix(n, n) {}`.
        let another = listed
            .windows(2)
            .find(|w| w[0].kind() == CXCursor_TypeRef && w[1].kind() == CXCursor_CallExpr);
        if let (Some(&[_, call]), Some(at)) = (another, constructor) {
            let delegated = call
                .referenced()
                .filter(|f| f.kind() == CXCursor_Constructor);
            let definition = delegated.and_then(|f| f.definition());
            let definition = definition.ok_or_else(|| {
                let message = "the constructor that this one calls is not known";
                problem(codes::RECORD, message, at)
            })?;
            let this = Some(This::Named(object.clone()));
            let arguments = call.arguments();
            return self
                .inline_on(call, definition, arguments, None, this)
                .map(|_| ());
        }
        for field in declaration.ty().fields() {
            let names = |m: &Cursor<'u>| {
                m.kind() == CXCursor_MemberRef && m.referenced().is_some_and(|r| r == field)
            };
            match listed
                .iter()
                .position(names)
                .and_then(|i| listed.get(i + 1))
            {
                Some(&value) => self.set_member(object, field, value)?,
                None => self.unmade_member(object, field, declaration, constructor.is_some())?,
            }
        }
        Ok(())
    }
}
