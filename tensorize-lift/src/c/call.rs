//! Calls: helpers of the same file are inlined, functions of <math.h> are operators.

use super::codes;
use super::ffi::Cursor;
use super::flatten::StructArgument;
use super::lower::{ExitKind, Frame, Lower, Result, convert, peeled, problem, scalar_type};
use super::types::{self, Ty};
use super::{math, memory, simd};
use clang_sys::*;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::Expr;
use tensorize_ir::scalar::Scalar;

/// Helpers within helpers.
const MAX_DEPTH: usize = 32;

/// The body of the helper that a call is replaced by.
pub(super) fn inlined_body<'u>(lower: &Lower<'u, '_>, call: Cursor<'u>) -> Option<Cursor<'u>> {
    let callee = call.referenced()?;
    let definition = inlined(callee)?;
    // One that is being inlined already is refused where it is lowered.
    if lower.frames.iter().any(|f| f.function == definition) {
        return None;
    }
    super::source::body(definition)
}

/// Whether a call is replaced by a body.
pub(super) fn is_inlined(call: Cursor<'_>) -> bool {
    call.referenced().is_some_and(|c| inlined(c).is_some())
}

/// The definition, unless it is one of C++'s library, whose functions have a meaning of their own.
fn inlined(callee: Cursor<'_>) -> Option<Cursor<'_>> {
    helper(callee).filter(|_| !super::cpp::class::in_std(callee))
}

/// Whether a call that is not inlined may write memory.
pub(super) fn writes_memory(call: Cursor<'_>) -> bool {
    if let Some(writes) = simd::writes_memory(call) {
        return writes;
    }
    !call.referenced().is_some_and(|f| {
        let name = f.spelling();
        math::is_known(&name) || is_hint(&name) || super::complex::is_known(f)
    })
}

/// Whether a function does nothing but tell the processor what comes.
fn is_hint(name: &str) -> bool {
    name == "__builtin_prefetch"
}

/// Why a call in this expression is refused wherever it stands, as nobody knows what the function does.
pub(super) fn unknown(c: Cursor<'_>) -> Option<super::Problem> {
    if super::jump::ends_program(c) {
        return None;
    }
    let here = (c.kind() == CXCursor_CallExpr && writes_memory(c))
        .then(|| c.referenced())
        .flatten()
        .filter(|f| f.kind() == CXCursor_FunctionDecl && helper(*f).is_none())
        .map(|f| f.spelling())
        .filter(|name| memory::block_function(name).is_none())
        .map(|name| refusal(&name, c));
    here.or_else(|| c.children().into_iter().find_map(unknown))
}

/// Whether this is a call of a plain function of which nothing is known.
pub(super) fn is_unknown(c: Cursor<'_>) -> bool {
    let Some(f) = c
        .referenced()
        .filter(|_| c.kind() == CXCursor_CallExpr && writes_memory(c))
    else {
        return false;
    };
    let name = f.spelling();
    f.kind() == CXCursor_FunctionDecl
        && helper(f).is_none()
        && !super::cpp::class::in_std(f)
        && simd::writes_memory(c).is_none()
        && memory::block_function(&name).is_none()
        && !super::scratch::frees(&name)
        && !super::jump::ends_program(c)
}

/// The definition of a function, which counts more than its name.
pub(super) fn helper(callee: Cursor<'_>) -> Option<Cursor<'_>> {
    matches!(
        callee.kind(),
        CXCursor_FunctionDecl | CXCursor_CXXMethod | CXCursor_ConversionFunction
    )
    .then(|| callee.definition())
    .flatten()
}

/// Where an inlined helper puts what it returns, if that is no number.
pub(super) enum Home<'u> {
    Vector(super::cpp::seq::Seq),
    /// An object that holds arrays.
    Object(super::flatten::Path<'u>),
}

/// What a parameter gets.
pub(super) enum Arg<'u> {
    Value(Expr),
    /// By reference, or the value that stands there.
    Place(super::place::Place),
    Pointer(super::place::Pointer),
    Seq(super::cpp::seq::Seq),
    Callable(super::cpp::lambda::Callable<'u>),
    /// A vector register.
    Vector(simd::Vector),
    /// A struct.
    Record(super::flatten::Path<'u>),
    /// A struct in an array.
    Element(super::place::Pointer),
    /// A struct without a name: its numbers.
    Numbers(Vec<Expr>),
}

impl<'u> Lower<'u, '_> {
    /// A call; its value if it has one.
    pub fn call(&mut self, c: Cursor<'u>) -> Result<Option<Expr>> {
        if self.source.cpp
            && matches!(types::of(c).referred(), Ty::Scalar(_))
            && let Some(place) = self.returned_place(c)?
        {
            return self.load(place, c).map(Some);
        }
        if self.source.cpp
            && matches!(types::of(c).referred(), Ty::Scalar(_))
            && let Some(place) = self.given_member(c, |s, e| s.place(e))?
        {
            return self.load(place, c).map(Some);
        }
        if self.source.cpp
            && let Some(value) = self.library_call(c)?
        {
            return Ok(value);
        }
        let callee = c.referenced().filter(|r| {
            r.kind() == CXCursor_FunctionDecl
                || super::cpp::is_plain_function(*r)
                || super::cpp::method::is_method(*r)
        });
        let Some(callee) = callee else {
            return Err(problem(
                codes::FUNCTION_POINTER,
                "a call through a pointer is not supported",
                c,
            ));
        };
        let name = callee.spelling();
        if let Some(definition) = helper(callee) {
            return self.inline(c, definition);
        }
        if let Some(outcome) = self.intrinsic_call(c)? {
            return match outcome {
                simd::Outcome::Scalar(e) => {
                    let ty = scalar_type(&types::of(c), c)?;
                    Ok(Some(convert(ty, e)))
                }
                simd::Outcome::Vector(_) | simd::Outcome::Nothing => Ok(None),
            };
        }
        if super::scratch::frees(&name) {
            return self.freed(c).map(|()| None);
        }
        if is_hint(&name) && c.arguments().into_iter().all(super::effects::is_pure) {
            return Ok(None);
        }
        if math::is_known(&name) {
            return self.math_call(c, &name).map(Some);
        }
        if let Some(what) = memory::block_function(&name) {
            self.block_call(c, what)?;
            // The returned pointer; whoever uses it is refused elsewhere.
            return Ok(None);
        }
        Err(refusal(&name, c))
    }

    fn math_call(&mut self, c: Cursor<'u>, name: &str) -> Result<Expr> {
        let ty = scalar_type(&types::of(c), c)?;
        let mut args = Vec::new();
        for a in c.arguments() {
            // `__builtin_nanf("")`, which is what `NAN` is; another text would say more of its bits.
            let text = peeled(a);
            let says_nothing = text.kind() == CXCursor_StringLiteral && text.spelling() == "\"\"";
            if !says_nothing {
                args.push(self.value(a)?);
            }
        }
        if let Some(e) = math::fused(name, &args) {
            self.fused = true;
            return Ok(e);
        }
        let e = self.library_function(name, &args).ok_or_else(|| {
            problem(
                codes::UNKNOWN_CALL,
                format!("this use of '{name}' is not supported"),
                c,
            )
        })?;
        // `isnan` and the like give an int.
        Ok(if e.ty() == tensorize_ir::scalar::ScalarType::I1 {
            convert(ty, e)
        } else {
            e
        })
    }

    /// A call of a function of C's library that is an operator.
    pub(super) fn library_function(&mut self, name: &str, args: &[Expr]) -> Option<Expr> {
        let e = math::operator(name, args)?;
        self.fused |= math::is_open(&e);
        Some(e)
    }

    fn inline(&mut self, c: Cursor<'u>, definition: Cursor<'u>) -> Result<Option<Expr>> {
        self.inline_into(c, definition, None)
    }

    /// A call that is replaced by the body; a vector or an object that is returned goes to `home`.
    pub fn inline_into(
        &mut self,
        c: Cursor<'u>,
        definition: Cursor<'u>,
        home: Option<Home<'u>>,
    ) -> Result<Option<Expr>> {
        if super::cpp::method::is_method(definition) {
            let (object, arguments) = super::cpp::method::receiver(c, definition);
            let this = self.called_on(object, c)?;
            return self.inline_on(c, definition, arguments, home, Some(this));
        }
        self.inline_on(c, definition, c.arguments(), home, None)
    }

    /// The same, with the object and the arguments.
    pub fn inline_on(
        &mut self,
        c: Cursor<'u>,
        definition: Cursor<'u>,
        arguments: Vec<Cursor<'u>>,
        home: Option<Home<'u>>,
        this: Option<super::cpp::method::This<'u>>,
    ) -> Result<Option<Expr>> {
        let values = self.given_arguments(definition, arguments)?;
        self.enter(c, definition, values, home, this)
    }

    /// What the parameters of a function get.
    pub fn given_arguments(
        &mut self,
        definition: Cursor<'u>,
        arguments: Vec<Cursor<'u>>,
    ) -> Result<Vec<Arg<'u>>> {
        // All arguments are evaluated before any parameter exists.
        let params = definition.arguments();
        let mut values = Vec::new();
        for (i, a) in arguments.into_iter().enumerate() {
            if simd::is_vector(a) {
                if let Some(p) = params.get(i) {
                    self.check_reference(*p, a)?;
                }
                values.push(Arg::Vector(self.vector(a)?));
                continue;
            }
            if let Some(p) = params.get(i)
                && let Some(path) = self.void_argument(a, *p)?
            {
                values.push(Arg::Record(path));
                continue;
            }
            if let Some(given) = self.record_argument(a)? {
                values.push(given);
                continue;
            }
            values.push(match types::of(a) {
                _ if self.source.cpp => self.argument(a, params.get(i).copied())?,
                Ty::Pointer(_) | Ty::Array(..) => Arg::Pointer(self.pointer(a)?),
                _ => Arg::Value(self.value(a)?),
            });
        }
        Ok(values)
    }

    /// A struct that is passed on, or a pointer to one.
    pub fn record_argument(&mut self, a: Cursor<'u>) -> Result<Option<Arg<'u>>> {
        if matches!(types::of(a), Ty::Class(_)) {
            return Ok(None);
        }
        Ok(self.struct_argument(a)?.map(|given| match given {
            StructArgument::Named(path) => Arg::Record(path),
            StructArgument::Pointer(p) => Arg::Pointer(p),
            StructArgument::Element(p) => Arg::Element(p),
            StructArgument::Numbers(values) => Arg::Numbers(values),
        }))
    }

    /// Puts the body of a function, or of a lambda, in place of a call.
    pub fn enter(
        &mut self,
        c: Cursor<'u>,
        definition: Cursor<'u>,
        values: Vec<Arg<'u>>,
        home: Option<Home<'u>>,
        this: Option<super::cpp::method::This<'u>>,
    ) -> Result<Option<Expr>> {
        let name = definition.spelling();
        if self.frames.iter().any(|f| f.function == definition) || self.frames.len() > MAX_DEPTH {
            return Err(problem(
                codes::RECURSION,
                format!("'{name}' calls itself"),
                c,
            ));
        }
        if let Some(p) = self.source.complaint(definition) {
            return Err(p.clone());
        }
        if definition.ty().is_variadic() {
            return Err(problem(codes::VARIADIC, format!("'{name}' is variadic"), c));
        }
        let (_, body) = super::cpp::lambda::parts(definition);
        let body =
            body.ok_or_else(|| problem(codes::UNKNOWN_CALL, format!("'{name}' has no body"), c))?;
        let known = self.known_pointers();
        self.bind_parameters(c, definition, values)?;
        let members = self.returned_members(definition);
        let (dest, object) = match home {
            Some(Home::Vector(dest)) => (Some(dest), None),
            Some(Home::Object(object)) => (None, Some(object)),
            None => (None, None),
        };
        let returns_parameter =
            self.passes_on(definition).is_some() || self.member_passed_on(definition).is_some();
        let ret = match super::cpp::lambda::result_type(definition).unwrap_or(Ty::Void) {
            Ty::Void => None,
            _ if returns_parameter => None,
            _ if members.is_some() || object.is_some() => None,
            Ty::Class(_) if dest.is_some() => None,
            Ty::Pointer(_) => {
                return Err(problem(
                    codes::POINTER_USE,
                    format!("'{name}' returns a pointer"),
                    c,
                ));
            }
            Ty::Vector(..) => None,
            // `return *this;`
            Ty::Reference(t) if matches!(*t, Ty::Record(..)) => None,
            t => Some(scalar_type(&t, c)?),
        };
        let vector = self.vector_result(definition);
        let result = ret.map(|ty| (self.fresh(&name), ty));
        self.frames.push(Frame {
            function: definition,
            result: Some(result.clone()),
            ret,
            this: this.clone(),
            dest,
            members: members.clone(),
            object: object.clone(),
            vector: vector.clone(),
            returns_parameter,
        });
        if definition.kind() == CXCursor_Constructor
            && let Some(super::cpp::method::This::Named(object)) = &this
            && let Some(class) = definition.semantic_parent()
        {
            self.initialise(object, class, Some(definition))?;
        }
        // Jumps of the helper don't see the loops of its caller.
        let outer = std::mem::take(&mut self.exits);
        let postpone = std::mem::replace(&mut self.postpone, false);
        self.open_exit(ExitKind::Return)?;
        if let Some((var, ty)) = &result
            && super::early_return::first_jump(&super::early_return::flattened(&[body])).is_some()
        {
            // Lest it have a value in some branches only.
            self.assign_var(var.clone(), Expr::Const(Scalar::zero(*ty)))?;
        }
        let falls = self.list(&[body]);
        self.exits = outer;
        self.postpone = postpone;
        self.frames.pop();
        self.forget_pointers(&known);
        let returns = result.is_some() || vector.is_some() || members.is_some();
        if falls? && (returns || object.is_some()) {
            let message = format!("'{name}' can end without returning a value");
            return Err(problem(codes::MISSING_RETURN, message, definition));
        }
        self.returned_struct = match members {
            Some(places) => {
                let values = places.into_iter().map(|p| self.load(p, c));
                Some(values.collect::<Result<_>>()?)
            }
            None => None,
        };
        self.returned_vector = vector.map(|(names, ty)| simd::Vector {
            lanes: names.into_iter().map(|n| Expr::Var(n, ty)).collect(),
        });
        Ok(result.map(|(var, ty)| Expr::Var(var, ty)))
    }

    /// Gives the parameters of a function, or of a lambda, their values.
    pub fn bind_parameters(
        &mut self,
        c: Cursor<'u>,
        definition: Cursor<'u>,
        values: Vec<Arg<'u>>,
    ) -> Result<()> {
        let name = definition.spelling();
        let (params, _) = super::cpp::lambda::parts(definition);
        if params.len() != values.len() {
            return Err(problem(
                codes::SYNTAX,
                format!("'{name}' gets {} arguments", values.len()),
                c,
            ));
        }
        self.scan_variables(definition)?;
        if self.source.cpp {
            self.scan_objects(definition)?;
        }
        self.sequence_point()?;
        for (&p, value) in params.iter().zip(values) {
            match value {
                Arg::Vector(v) => {
                    let (elem, n) = (v.elem(), v.lanes.len());
                    self.bind_vector(p, Some(v), elem, n)?;
                }
                Arg::Record(path) => self.record_parameter(p, path)?,
                Arg::Element(of) => self.element_parameter(p, of)?,
                Arg::Numbers(values) => self.bind_struct(p, Some(values))?,
                value if self.source.cpp => self.bind_argument(p, value, c)?,
                Arg::Place(_) | Arg::Seq(_) | Arg::Callable(_) => {
                    return Err(problem(codes::TYPE, "an argument that is an object", c));
                }
                Arg::Value(v) => {
                    let ty = scalar_type(&types::of(p), p)?;
                    if v.ty() != ty {
                        return Err(problem(codes::CONVERSION, "an argument of another type", c));
                    }
                    let var = self.fresh(p.spelling());
                    self.assign_var(var.clone(), v)?;
                    self.bind_scalar_named(p, var, ty, true)?;
                }
                Arg::Pointer(v) => {
                    let dims = self.given_dims(p, &v.target.array, v.dims)?;
                    self.bind_pointer(p, Some((v.target, dims, v.offset)))?;
                }
            }
        }
        Ok(())
    }

    /// The lengths of what a parameter points to, if an argument has these.
    pub fn given_dims(&mut self, p: Cursor<'u>, array: &Sym, dims: Vec<Expr>) -> Result<Vec<Expr>> {
        // A table of rows stays one, and so does an array of structs.
        let table = dims.iter().any(|d| self.is_pitch(d)) || self.is_of_mixed(array);
        match types::of(p).referred() {
            // What a `std::array` has of them, its type says.
            Ty::Pointer(t) if t.as_class().is_some() => Ok(dims),
            Ty::Pointer(t) if !table && t.flatten().1.len() != dims.len() => {
                self.dimensions(p, &t.flatten().1)
            }
            _ => Ok(dims),
        }
    }
}

/// Why an unknown function can't be called.
fn refusal(name: &str, c: Cursor<'_>) -> super::Problem {
    let plain = name.strip_prefix("__builtin_").unwrap_or(name);
    let (code, why) = match plain {
        "printf" | "fprintf" | "sprintf" | "snprintf" | "puts" | "putchar" | "fputs" | "fputc"
        | "putc" | "scanf" | "fscanf" | "sscanf" | "getchar" | "fgets" | "fgetc" | "fopen"
        | "fclose" | "fread" | "fwrite" | "read" | "write" | "open" | "close" | "perror"
        | "vprintf" | "vfprintf" | "fflush" => (codes::IO, "does input or output"),
        "setjmp" | "_setjmp" | "sigsetjmp" | "__sigsetjmp" | "longjmp" | "siglongjmp"
        | "_longjmp" => (codes::SETJMP, "jumps out of the function"),
        "malloc" | "calloc" | "realloc" | "alloca" | "aligned_alloc" | "posix_memalign" => (
            codes::ALLOCATION,
            "manages memory in a way that is not followed",
        ),
        "fesetround" | "fegetround" | "feclearexcept" | "fetestexcept" | "feraiseexcept" => {
            (codes::FLOAT_ENV, "uses the floating-point environment")
        }
        _ if plain.starts_with("va_") => (codes::VARIADIC, "reads variadic arguments"),
        _ => (
            codes::UNKNOWN_CALL,
            "is not defined in this file and is not one of <math.h> that we know",
        ),
    };
    problem(code, format!("'{name}' {why}"), c)
}
