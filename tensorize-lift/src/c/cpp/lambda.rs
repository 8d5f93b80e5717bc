//! Function objects: lambdas, functions passed by name, and those of `<functional>`.

use super::super::call::{self, Arg};
use super::super::codes;
use super::super::expr::{Arith, arithmetic, as_truth, negation};
use super::super::ffi::{Cursor, Type};
use super::super::flatten::has_mutable;
use super::super::lower::{Binding, Lower, Result, convert, operands, problem, scalar_type};
use super::super::place::Place;
use super::super::types::{self, Ty, usual};
use super::captures::Copied;
use super::class::{Class, in_std};
use super::method::This;
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;

/// Something that can be called.
#[derive(Clone)]
pub(in super::super) enum Callable<'u> {
    /// The expression, what it copied when it was made, and the object of the member function that made it.
    Lambda(Cursor<'u>, Vec<(Cursor<'u>, Copied<'u>)>, Option<This<'u>>),
    Function(Cursor<'u>),
    /// Of `<functional>`.
    Functor(String, Option<ScalarType>),
    /// Of a class of the file's own, and its `operator()`.
    Object(This<'u>, Cursor<'u>),
}

impl<'u> Callable<'u> {
    /// The parameters, as far as they are written down.
    pub fn parameters(&self) -> Vec<Cursor<'u>> {
        match self {
            Callable::Lambda(f, ..) | Callable::Function(f) | Callable::Object(_, f) => parts(*f).0,
            Callable::Functor(..) => vec![],
        }
    }
}

impl<'u> Lower<'u, '_> {
    /// What an expression calls.
    pub fn callable(&mut self, e: Cursor<'u>) -> Result<Callable<'u>> {
        let unsupported = || {
            problem(
                codes::FUNCTION_POINTER,
                "what is called here cannot be seen: pass a lambda or a function's name",
                e,
            )
        };
        if let Some(object) = self.function_object(e)? {
            return Ok(object);
        }
        match e.kind() {
            CXCursor_LambdaExpr => self.lambda(e),
            CXCursor_ParenExpr
            | CXCursor_UnexposedExpr
            | CXCursor_CXXFunctionalCastExpr
            | CXCursor_UnaryOperator
            | CXCursor_InitListExpr => {
                if let Ty::Class(Class::Functor(name, ty)) = types::of(e) {
                    return Ok(Callable::Functor(name, ty));
                }
                match operands(e)[..] {
                    [inner] => self.callable(inner),
                    _ => Err(unsupported()),
                }
            }
            CXCursor_DeclRefExpr => {
                let d = e.referenced().ok_or_else(unsupported)?;
                match self.bindings.get(&d) {
                    Some(Binding::Callable(c)) => Ok(c.clone()),
                    None if d.kind() == CXCursor_FunctionDecl => Ok(Callable::Function(d)),
                    _ => Err(unsupported()),
                }
            }
            CXCursor_CallExpr => {
                if let Ty::Class(Class::Functor(name, ty)) = types::of(e) {
                    return Ok(Callable::Functor(name, ty));
                }
                // A copy of one.
                match e.arguments()[..] {
                    [one]
                        if e.referenced()
                            .is_some_and(|r| r.kind() == CXCursor_Constructor || in_std(r)) =>
                    {
                        let object = self.callable(one)?;
                        let by_reference = e.spelling() == "ref";
                        match &object {
                            Callable::Object(_, f)
                                if by_reference
                                    && (!f.is_const_method() || has_mutable(one.ty())) =>
                            {
                                Err(problem(
                                    codes::FUNCTION_POINTER,
                                    "an object that is passed on as a reference keeps a state from call to call",
                                    e,
                                ))
                            }
                            _ => Ok(object),
                        }
                    }
                    _ => Err(unsupported()),
                }
            }
            _ => Err(unsupported()),
        }
    }

    /// Calls it. `within` is the algorithm's instance, where the type of a generic lambda's parameters is
    /// found.
    pub fn apply(
        &mut self,
        callable: &Callable<'u>,
        args: Vec<Arg<'u>>,
        within: Option<Cursor<'u>>,
        at: Cursor<'u>,
    ) -> Result<Option<Expr>> {
        let unsupported = |what: &str| problem(codes::FUNCTION_POINTER, what, at);
        match callable {
            Callable::Functor(name, ty) => self.functor(name, *ty, args, at).map(Some),
            Callable::Object(this, method) => {
                let definition = call::helper(*method)
                    .ok_or_else(|| unsupported("a function without a body is called"))?;
                self.enter(at, definition, args, None, Some(this.clone()))
            }
            Callable::Function(f) => {
                let name = f.spelling();
                match call::helper(*f) {
                    Some(definition) => self.enter(at, definition, args, None, None),
                    None => {
                        let values = self.values(args, at)?;
                        let name = super::call::overload(&name, &values);
                        self.library_function(&name, &values)
                            .map(Some)
                            .ok_or_else(|| unsupported("a function without a body is called"))
                    }
                }
            }
            Callable::Lambda(e, copied, this) => {
                let generic = e
                    .children()
                    .iter()
                    .any(|p| p.kind() == CXCursor_ParmDecl && is_generic(*p));
                let definition = if generic {
                    within.and_then(|w| call_operator(w, *e)).ok_or_else(|| {
                        unsupported("the types of this lambda's parameters are not known")
                    })?
                } else {
                    *e
                };
                // One that is called by another, and has not been made by it, knows nothing of the other's copies.
                let foreign = |(by, d): &(Cursor<'u>, Cursor<'u>)| {
                    let own = copied.iter().any(|(c, _)| c == d);
                    !own && e.mentions(*d) && !by.contains(&mut |c| c == *e)
                };
                if self.cpp.copied_now.iter().any(foreign) {
                    return Err(unsupported(
                        "a lambda is called by one that has a copy of a variable which it names",
                    ));
                }
                let saved = self.with_copies(*e, copied);
                let result = self.enter(at, definition, args, None, this.clone());
                self.without_copies(saved);
                result
            }
        }
    }

    /// The values of arguments.
    fn values(&mut self, args: Vec<Arg<'u>>, at: Cursor<'u>) -> Result<Vec<Expr>> {
        args.into_iter()
            .map(|a| match a {
                Arg::Value(v) => Ok(v),
                Arg::Place(p) => self.load(p, at),
                _ => Err(problem(codes::TYPE, "a number is needed here", at)),
            })
            .collect()
    }

    /// `std::plus<ty>()(args)`: with a type, both what it takes and what it computes are of that type.
    fn functor(
        &mut self,
        name: &str,
        ty: Option<ScalarType>,
        args: Vec<Arg<'u>>,
        at: Cursor<'u>,
    ) -> Result<Expr> {
        let values = self.values(args, at)?;
        let Some(ty) = ty else {
            return self.transparent_functor(name, values, at);
        };
        let values = values.into_iter().map(|v| convert(ty, v)).collect();
        let result = self.transparent_functor(name, values, at)?;
        // Of comparisons, the type says only what is compared.
        let is_truth = result.ty() == ScalarType::I1;
        Ok(if is_truth {
            result
        } else {
            convert(ty, result)
        })
    }

    /// `std::plus<>()(values)`
    fn transparent_functor(
        &mut self,
        name: &str,
        values: Vec<Expr>,
        at: Cursor<'u>,
    ) -> Result<Expr> {
        let unsupported = || {
            problem(
                codes::FUNCTION_POINTER,
                format!("this use of std::{name}"),
                at,
            )
        };
        let one = |v: &[Expr]| v.first().cloned().ok_or_else(unsupported);
        if let [a, b] = &values[..] {
            let ty = usual(a.ty(), b.ty());
            let (x, y) = (convert(ty, a.clone()), convert(ty, b.clone()));
            let compare = |op| Ok(Expr::compare(op, x.clone(), y.clone()));
            let compute = |op| arithmetic(Arith::Plain(op), x.clone(), y.clone(), at);
            return match name {
                "plus" => compute(BinOp::Add),
                "minus" => compute(BinOp::Subtract),
                "multiplies" => compute(BinOp::Multiply),
                "divides" => compute(BinOp::Divide),
                "modulus" => compute(BinOp::Remainder),
                "bit_and" => compute(BinOp::And),
                "bit_or" => compute(BinOp::Or),
                "bit_xor" => compute(BinOp::Xor),
                "less" => compare(CmpOp::Lt),
                "less_equal" => compare(CmpOp::Le),
                "greater" => compare(CmpOp::Gt),
                "greater_equal" => compare(CmpOp::Ge),
                "equal_to" => compare(CmpOp::Eq),
                "not_equal_to" => compare(CmpOp::Ne),
                "logical_and" | "logical_or" => {
                    let op = if name == "logical_and" {
                        BinOp::And
                    } else {
                        BinOp::Or
                    };
                    Ok(Expr::binary(op, as_truth(a.clone()), as_truth(b.clone())))
                }
                _ => Err(unsupported()),
            };
        }
        let a = one(&values)?;
        let ty = types::promote(a.ty());
        match name {
            "negate" => Ok(Expr::Unary(UnOp::Negate, Box::new(convert(ty, a)))),
            "bit_not" if ty.is_int() => Ok(Expr::Unary(UnOp::Not, Box::new(convert(ty, a)))),
            "logical_not" => Ok(negation(as_truth(a))),
            _ => Err(unsupported()),
        }
    }

    /// An argument as the parameter takes it.
    pub fn bind_argument(&mut self, p: Cursor<'u>, arg: Arg<'u>, at: Cursor<'u>) -> Result<()> {
        let t = types::of(p);
        let constant =
            |t: &Ty| matches!(t, Ty::Reference(_)) && p.ty().canonical().pointee().is_const();
        match arg {
            Arg::Record(path) => self.record_parameter(p, path),
            Arg::Element(of) => self.element_parameter(p, of),
            Arg::Numbers(values) => self.bind_struct(p, Some(values)),
            Arg::Vector(v) => {
                let (elem, n) = (v.elem(), v.lanes.len());
                self.bind_vector(p, Some(v), elem, n)
            }
            Arg::Callable(c) => {
                self.bindings.insert(p, Binding::Callable(c));
                Ok(())
            }
            Arg::Seq(s) => {
                let by_value = matches!(
                    t,
                    Ty::Class(Class::Vector(_) | Class::Array(..) | Class::Text(_))
                );
                self.check_points_on(p)?;
                if by_value && !self.cpp.roles.contains_key(&p) {
                    return self.borrow_copy(p, s);
                }
                if by_value {
                    return Err(problem(
                        codes::ALLOCATION,
                        format!("'{}' is a copy that is changed and returned", p.spelling()),
                        at,
                    ));
                }
                self.bindings.insert(p, Binding::Seq(s));
                Ok(())
            }
            Arg::Pointer(_) if self.assigned.contains(&p) && is_variable(p) => {
                let message = format!(
                    "'{}' is changed, which is the caller's pointer",
                    p.spelling()
                );
                let mut problem = problem(codes::POINTER_USE, message, at);
                problem.help =
                    Some("return the new pointer, or move it where it is declared".into());
                Err(problem)
            }
            Arg::Pointer(v) => {
                let dims = self.given_dims(p, &v.target.array, v.dims)?;
                self.bind_pointer(p, Some((v.target, dims, v.offset)))
            }
            Arg::Place(Place::Array(of)) if t.clone().referred().is_record() => {
                self.element_parameter(p, of)
            }
            Arg::Place(place) => {
                if let Some(row) = self.row_of(place.clone())
                    && !matches!(t.clone().referred(), Ty::Scalar(_) | Ty::Pointer(_))
                {
                    return self.bind_argument(p, Arg::Seq(row), at);
                }
                let seen = place_type(&place);
                if let Ty::Reference(inner) = &t
                    && inner.as_scalar() == seen
                    && seen.is_some()
                {
                    let place = self.settled_place(place)?;
                    self.bindings.insert(p, Binding::Alias(place));
                    return Ok(());
                }
                let v = self.load(place, at)?;
                self.bind_argument(p, Arg::Value(v), at)
            }
            Arg::Value(v) => {
                let is_const = constant(&t);
                let ty = scalar_type(&t.clone().referred(), p)?;
                if matches!(t, Ty::Reference(_))
                    && !is_const
                    && p.ty().canonical().kind() == CXType_LValueReference
                {
                    return Err(problem(codes::TYPE, "a reference to a value", at));
                }
                let v = if ty == ScalarType::I1 {
                    as_truth(v)
                } else {
                    convert(ty, v)
                };
                let var = self.fresh(p.spelling());
                self.assign_var(var.clone(), v)?;
                self.bind_scalar_named(p, var, ty, true)
            }
        }
    }
}

/// The type that a place is seen as.
pub(in super::super) fn place_type(place: &Place) -> Option<ScalarType> {
    match place {
        Place::Var(_, ty) | Place::Element(_, _, ty) => Some(*ty),
        Place::Constant(v) => Some(v.ty),
        Place::Array(_) => None,
    }
}

/// Whether a parameter is a variable of the caller's, which can be changed.
fn is_variable(p: Cursor<'_>) -> bool {
    let t = p.ty().canonical();
    t.kind() == CXType_LValueReference && !t.pointee().is_const()
}

/// `auto`
fn is_generic(p: Cursor<'_>) -> bool {
    p.ty().spelling().contains("auto")
        || p.children()
            .iter()
            .any(|c| c.kind() == CXCursor_TypeRef && c.spelling().contains("auto"))
}

/// The call operator of this lambda, as an instance of an algorithm calls it.
fn call_operator<'u>(within: Cursor<'u>, lambda: Cursor<'u>) -> Option<Cursor<'u>> {
    let end = lambda.extent()?.1;
    let mut pending = vec![within];
    let mut seen = std::collections::HashSet::new();
    // Algorithms call each other; a few steps reach the call.
    let mut budget = 20_000;
    while let Some(c) = pending.pop() {
        budget -= 1;
        if budget == 0 {
            return None;
        }
        if c.kind() == CXCursor_CallExpr
            && let Some(callee) = c.referenced()
        {
            if callee.spelling() == "operator()" {
                // It ends where the lambda ends.
                let here = callee.extent().map(|e| e.1);
                if here.is_some_and(|h| h.file == end.file && h.offset == end.offset)
                    && super::super::source::body(callee).is_some()
                {
                    return Some(callee);
                }
            }
            if seen.insert(callee)
                && let Some(body) = call::helper(callee)
            {
                pending.extend(super::super::source::body(body));
            }
        }
        pending.extend(c.children());
    }
    None
}

/// The parameters and the body of what is entered: a function, or a lambda's own expression.
pub(in super::super) fn parts<'u>(f: Cursor<'u>) -> (Vec<Cursor<'u>>, Option<Cursor<'u>>) {
    if f.kind() != CXCursor_LambdaExpr {
        return (f.arguments(), super::super::source::body(f));
    }
    let children = f.children();
    let params = children
        .iter()
        .copied()
        .filter(|c| c.kind() == CXCursor_ParmDecl)
        .collect();
    let body = children
        .into_iter()
        .rev()
        .find(|c| c.kind() == CXCursor_CompoundStmt);
    (params, body)
}

/// What a lambda's or a function's body returns. A lambda's result type is that of its first `return`.
pub(in super::super) fn result_type<'u>(f: Cursor<'u>) -> Option<Ty> {
    if f.kind() != CXCursor_LambdaExpr {
        return Some(types::read(f.ty().result()));
    }
    parts(f).1?;
    Some(returned(f).map_or(Ty::Void, |e| types::of(e).referred()))
}

/// What the first `return` of a lambda returns.
fn returned<'u>(f: Cursor<'u>) -> Option<Cursor<'u>> {
    let mut pending = vec![parts(f).1?];
    while let Some(c) = pending.pop() {
        if c.kind() == CXCursor_ReturnStmt {
            return operands(c).first().copied();
        }
        if c.kind() != CXCursor_LambdaExpr {
            pending.extend(c.children());
        }
    }
    None
}

/// The type that a function or a lambda returns, as clang has it.
pub(in super::super) fn returned_type<'u>(f: Cursor<'u>) -> Type<'u> {
    match f.kind() {
        CXCursor_LambdaExpr => returned(f).map_or(f.ty().result(), |e| e.ty()),
        _ => f.ty().result(),
    }
}
