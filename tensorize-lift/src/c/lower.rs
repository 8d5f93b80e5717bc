//! What the lowering of one function knows, and its way in.
//!
//! Expressions are lowered to LoopIR expressions, which have no side effects; the effects become
//! statements that are appended to the current block, in an order that C allows.

use super::cpp::changes::Changes;
use super::ffi::{Cursor, Place as SourcePlace};
use super::given_back::{returned_member, returned_number, returned_parameter};
use super::simd::Vector;
use super::types::Ty;
use super::{Problem, Span, codes};
use clang_sys::*;
use std::collections::{HashMap, HashSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Function, Len, LocalArray, Stmt};
use tensorize_ir::op::{self, BinOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::signature::Shape;

pub(super) type Result<T> = std::result::Result<T, Problem>;

/// More than any kernel needs; inlining could grow without bound otherwise.
const MAX_STATEMENTS: usize = 20_000;

/// What a declared name stands for.
#[derive(Clone)]
pub(super) enum Binding<'u> {
    Scalar(Sym, ScalarType),
    /// A constant of the file.
    Constant(Scalar),
    /// Lengths are outermost first.
    Array(Target, Vec<Expr>),
    /// A vector that nobody assigns.
    Vector(Vector),
    /// A variable for each lane.
    VectorVariable(Vec<Sym>, ScalarType),
    /// The array is in [`Lower::pointers`], where it can change; this is the offset in elements.
    Pointer(Expr),
    /// A C++ reference: another name for this place.
    Alias(super::place::Place),
    /// A vector, a span, a `std::array`, or a reference to one.
    Seq(super::cpp::seq::Seq),
    /// A function object.
    Callable(super::cpp::lambda::Callable<'u>),
}

/// What a pointer points into.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Target {
    pub array: Sym,
    pub elem: ScalarType,
}

/// Where a pointer variable points, as far as the program text tells.
#[derive(Clone, PartialEq)]
pub(super) enum Base {
    /// The array, and the lengths of the rows if it is a pointer to arrays.
    One(Target, Vec<Expr>),
    Several,
}

/// A variable that is a pointer: one with a name, or a member of a struct of the function's own.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Variable<'u> {
    Named(Cursor<'u>),
    Member(super::flatten::Path<'u>),
}

/// What the pointers point into.
pub(super) type Bases<'u> = HashMap<Variable<'u>, Base>;

/// A place that `break`, `continue` or an inlined `return` leaves for.
#[derive(Clone)]
pub(super) struct Exit {
    pub kind: ExitKind,
    /// Set where the jump was, so that what lies between can be skipped.
    pub flag: Sym,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum ExitKind {
    Break,
    Continue,
    Return,
    /// A label that follows, by where it stands.
    Label(usize),
}

/// A function that is being lowered: the kernel, or a helper that is inlined into it.
pub(super) struct Frame<'u> {
    pub function: Cursor<'u>,
    /// `None` in the kernel itself, where LoopIR's own return serves.
    pub result: Option<Option<(Sym, ScalarType)>>,
    pub ret: Option<ScalarType>,
    /// The object of a member function.
    pub this: Option<super::cpp::method::This<'u>>,
    /// Where a vector that is returned goes.
    pub dest: Option<super::cpp::seq::Seq>,
    /// Where the numbers of a struct that is returned go.
    pub members: Option<Vec<super::place::Place>>,
    /// The object that is returned, if it holds arrays.
    pub object: Option<super::flatten::Path<'u>>,
    /// Where an inlined helper's result goes if it is a vector.
    pub vector: Option<(Vec<Sym>, ScalarType)>,
    /// It returns a parameter as it got it, which needs no value.
    pub returns_parameter: bool,
}

pub(super) struct Lower<'u, 's> {
    pub source: &'s super::source::Source<'u>,
    used_names: HashMap<String, u32>,
    pub arrays: Vec<LocalArray>,
    /// Those that the function allocates, and whether it gets the memory.
    pub allocations: HashMap<Sym, Expr>,
    pub bindings: HashMap<Cursor<'u>, Binding<'u>>,
    pub pointers: Bases<'u>,
    /// Scalars whose address is taken live in arrays of one element.
    pub in_memory: HashSet<Cursor<'u>>,
    /// Parameters and variables that are assigned after their declaration.
    pub assigned: HashSet<Cursor<'u>>,
    pub block: Vec<Stmt>,
    /// Increments that are still to be done, at the end of the full expression.
    pub pending: Vec<Stmt>,
    pub postpone: bool,
    pub loops: u32,
    pub exits: Vec<Exit>,
    /// Flags that something reads; setting the others is dropped in the end.
    pub read_flags: HashSet<Sym>,
    pub flags: HashSet<Sym>,
    pub frames: Vec<Frame<'u>>,
    statements: usize,
    /// Expressions that are being lowered, one inside of the other.
    pub depth: usize,
    /// Arrays that are written.
    pub written: HashSet<Sym>,
    /// Parameters that become several.
    pub flat: super::flatten::Flat<'u>,
    /// Arrays that there are not: which one of two is meant.
    pub picks: HashMap<Sym, super::picked::Pick>,
    /// Variables that say whose turn it is, and of how many.
    pub turns: HashMap<Sym, usize>,
    /// What C++ adds.
    pub cpp: super::cpp::State<'u>,
    /// Variables that are assigned in one place only.
    pub temporaries: HashSet<Sym>,
    /// What the last inlined call returned, if it was a vector.
    pub returned_vector: Option<Vector>,
    /// The numbers of the struct that the last inlined call returned.
    pub returned_struct: Option<Vec<Expr>>,
    /// Something in it is rounded, or summed up, in a way of its own.
    pub fused: bool,
    /// Arrays of which the text asks whether they begin in the same place. They do not.
    pub apart: Vec<(Sym, Sym)>,
    /// Static variables that are like any others, and where they are named.
    pub statics: HashMap<Cursor<'u>, HashSet<Cursor<'u>>>,
}

/// A problem with this piece of code.
pub(super) fn problem(code: &'static str, message: impl Into<String>, at: Cursor<'_>) -> Problem {
    Problem {
        code,
        message: message.into(),
        span: span(at),
        help: super::codes::CODES
            .iter()
            .find(|c| c.0 == code)
            .map(|c| c.2.to_string()),
    }
}

pub(super) fn span(c: Cursor<'_>) -> Option<Span> {
    let (start, end) = c.extent()?;
    Some(span_between(start, end.offset))
}

pub(super) fn span_between(start: SourcePlace, end: usize) -> Span {
    Span {
        line: start.line,
        column: start.column,
        start: start.offset,
        end: end.max(start.offset),
        file: start.file,
    }
}

/// Refuses what has no counterpart.
pub(super) fn scalar_type(t: &Ty, at: Cursor<'_>) -> Result<ScalarType> {
    match t {
        Ty::Scalar(s) => Ok(*s),
        Ty::Other(code, what) => Err(problem(code, format!("{what} is not supported"), at)),
        Ty::Pointer(_) | Ty::Array(..) => Err(problem(
            codes::POINTER_USE,
            "a pointer where a number is needed",
            at,
        )),
        Ty::Vector(..) => Err(problem(
            codes::VECTOR,
            "a vector where a number is needed",
            at,
        )),
        Ty::Record(..) => Err(problem(
            codes::RECORD,
            "a struct where a number is needed",
            at,
        )),
        Ty::Mixed(name, _) => Err(problem(
            codes::RECORD,
            format!("a struct or union ('{name}') is not supported"),
            at,
        )),
        Ty::Void => Err(problem(
            codes::TYPE,
            "a void value where a number is needed",
            at,
        )),
        Ty::Function => Err(problem(
            codes::FUNCTION_POINTER,
            "a function where a number is needed",
            at,
        )),
        Ty::Reference(t) if matches!(**t, Ty::Other(..) | Ty::Record(..) | Ty::Mixed(..)) => {
            scalar_type(t, at)
        }
        Ty::Reference(_) | Ty::Class(_) => Err(problem(
            codes::TYPE,
            "an object of a class where a number is needed",
            at,
        )),
    }
}

/// `(to)e`, folded if it is a literal.
pub(super) fn convert(to: ScalarType, e: Expr) -> Expr {
    match e {
        Expr::Const(v) => Expr::Const(op::eval_convert(to, v)),
        e => Expr::convert(to, e),
    }
}

/// What an item of a list in braces is as an element.
pub(super) fn as_element(elem: ScalarType, item: Expr) -> Expr {
    match elem {
        ScalarType::I1 => super::expr::as_truth(item),
        _ => convert(elem, item),
    }
}

/// An `i64` sum or product of offsets; zeros and ones fall away.
pub(super) fn offset_op(op: BinOp, a: Expr, b: Expr) -> Expr {
    let number = |e: &Expr| match e {
        Expr::Const(v) => Some(v.as_int()),
        _ => None,
    };
    match (op, number(&a), number(&b)) {
        (_, Some(x), Some(y)) => {
            let exact = match op {
                BinOp::Add => x + y,
                BinOp::Subtract => x - y,
                _ => x.wrapping_mul(y),
            };
            Expr::int(ScalarType::I64, exact)
        }
        (BinOp::Add | BinOp::Subtract, _, Some(0)) | (BinOp::Multiply, _, Some(1)) => a,
        (BinOp::Add, Some(0), _) | (BinOp::Multiply, Some(1), _) => b,
        (BinOp::Multiply, Some(0), _) | (BinOp::Multiply, _, Some(0)) => {
            Expr::int(ScalarType::I64, 0)
        }
        _ => Expr::binary(op, a, b),
    }
}

pub(super) fn zero_offset() -> Expr {
    Expr::int(ScalarType::I64, 0)
}

/// The children that are expressions or statements: no type names, attributes, members.
pub(super) fn operands<'u>(c: Cursor<'u>) -> Vec<Cursor<'u>> {
    let mut children = c.children();
    children.retain(|c| is_expression(c.kind()) || is_statement(c.kind()));
    children
}

/// The ranges that `Index.h` keeps for them.
pub(super) fn is_expression(kind: CXCursorKind) -> bool {
    (100..200).contains(&kind)
}

pub(super) fn is_statement(kind: CXCursorKind) -> bool {
    (200..350).contains(&kind)
}

/// The one operand of a node.
pub(super) fn operand<'u>(c: Cursor<'u>) -> Result<Cursor<'u>> {
    operands_of(c).map(|[one]| one)
}

/// The operands of a node that has so many.
pub(super) fn operands_of<'u, const N: usize>(c: Cursor<'u>) -> Result<[Cursor<'u>; N]> {
    let message = "an expression that is not supported";
    <[_; N]>::try_from(operands(c)).map_err(|_| problem(codes::EXPRESSION, message, c))
}

/// What is inside of parentheses and casts that only libclang shows.
pub(super) fn peeled(mut c: Cursor<'_>) -> Cursor<'_> {
    while matches!(c.kind(), CXCursor_ParenExpr | CXCursor_UnexposedExpr) {
        match operands(c)[..] {
            [inner] => c = inner,
            _ => break,
        }
    }
    c
}

impl<'u, 's> Lower<'u, 's> {
    /// Lowers a definition; and how its parameters become LoopIR's, if there is more to it than that.
    pub fn function(
        source: &'s super::source::Source<'u>,
        f: Cursor<'u>,
        name: &str,
    ) -> Result<(Function, Option<super::cpp::Described>)> {
        // A vector that is passed by value is only read, until it is seen that it is changed.
        let mut own = HashSet::new();
        loop {
            let mut changed = None;
            let lowered = Self::with_own(source, f, name, &own, &mut changed);
            match changed {
                Some(p) if own.insert(p) => {}
                _ => return lowered,
            }
        }
    }

    /// The same, where the function has copies of its `own` of these parameters. Another one that needs it is `changed`.
    fn with_own(
        source: &'s super::source::Source<'u>,
        f: Cursor<'u>,
        name: &str,
        own: &HashSet<Cursor<'u>>,
        changed: &mut Option<Cursor<'u>>,
    ) -> Result<(Function, Option<super::cpp::Described>)> {
        if f.ty().is_variadic() {
            return Err(problem(
                codes::VARIADIC,
                format!("'{}' is variadic", f.spelling()),
                f,
            ));
        }
        super::source::check_name(source, f)?;
        let mut lower = Lower {
            source,
            used_names: HashMap::new(),
            arrays: vec![],
            allocations: HashMap::new(),
            bindings: HashMap::new(),
            pointers: HashMap::new(),
            in_memory: HashSet::new(),
            assigned: HashSet::new(),
            block: vec![],
            pending: vec![],
            postpone: false,
            loops: 0,
            exits: vec![],
            read_flags: HashSet::new(),
            flags: HashSet::new(),
            frames: vec![],
            statements: 0,
            depth: 0,
            written: HashSet::new(),
            flat: Default::default(),
            picks: HashMap::new(),
            turns: HashMap::new(),
            cpp: super::cpp::State::with_own(own.clone()),
            temporaries: HashSet::new(),
            returned_vector: None,
            returned_struct: None,
            fused: false,
            apart: vec![],
            statics: HashMap::new(),
        };
        let returned = returned_parameter(f);
        let member = returned_member(f).filter(|_| returned.is_none());
        let ret = returned_number(source, f, returned.is_some() || member.is_some())?;
        lower.frames.push(Frame {
            function: f,
            result: None,
            ret,
            this: None,
            dest: None,
            members: None,
            object: None,
            vector: None,
            returns_parameter: returned.is_some() || member.is_some(),
        });
        lower.scan_variables(f)?;
        let points = returned.and_then(|(_, p)| p);
        let points = points.or(member.as_ref().and_then(|m| m.parameter));
        if points.is_some_and(|p| lower.assigned.contains(&p)) {
            let message = format!("'{}' returns a pointer that it changes", f.spelling());
            return Err(problem(codes::POINTER_USE, message, f));
        }
        lower.scan_ends(f);
        let changes = match source.cpp {
            true => lower.scan_objects(f)?,
            false => Changes::default(),
        };
        if super::cpp::method::is_method(f) {
            lower.this_parameter(f)?;
        }
        for (i, p) in f.arguments().into_iter().enumerate() {
            lower.parameter(i, p)?;
        }
        lower.own_parameters(f)?;
        lower.changing_members(changes)?;
        let argument = |(number, _)| (vec![], Shape::Argument { number });
        let mut result = returned.map(argument);
        if let Some(member) = &member {
            result = Some((vec![], lower.member_given_back(f, member)?));
        }
        if result.is_none() {
            result = lower.struct_result(f)?;
        }
        if source.cpp && result.is_none() {
            result = lower.object_result(f)?;
            lower.copy_returned_parameter(f)?;
        }
        let body = super::source::body(f)
            .ok_or_else(|| problem(codes::SYNTAX, format!("'{}' has no body", f.spelling()), f))?;
        let falls = lower.kernel_body(body)?;
        let frame = &lower.frames[0];
        if falls && (ret.is_some() || frame.members.is_some() || frame.object.is_some()) {
            let message = format!("'{}' can end without returning a value", f.spelling());
            return Err(problem(codes::MISSING_RETURN, message, f));
        }
        if falls || lower.frames[0].result.is_some() {
            lower.store_results()?;
        }
        lower.end_structured_returns()?;
        let mut body = std::mem::take(&mut lower.block);
        lower.resolve_picks(&mut body);
        *changed = lower.changed_parameter();
        lower.check_copies()?;
        lower.discharge_checks(&mut body);
        lower.expect_rows(&mut body, f)?;
        let unread: HashSet<Sym> = lower.flags.difference(&lower.read_flags).cloned().collect();
        super::jump::drop_assignments(&mut body, &unread);
        super::scalars::replace(&mut lower.arrays, ret.is_some(), &mut body);
        lower.name_shapes(&mut body);
        super::reused::told_apart(&mut body, &mut |name| lower.fresh(name));
        let (params, described) = lower.flat_signature(result)?;
        super::steady::replace(&mut body, &params);
        lower.check_const(&params, f)?;
        lower.check_two_arrays(&params, f)?;
        let mut function = Function {
            name: name.into(),
            params,
            ret,
            overflow: source.overflow,
            fused: lower.fused,
            apart: lower.apart,
            arrays: lower.arrays,
            body,
        };
        function.fused |= source.rounds_otherwise && function.computes_with_floats();
        Ok((function, described))
    }

    /// A name that nothing else in the function has.
    pub fn fresh(&mut self, name: impl AsRef<str>) -> Sym {
        let name = name.as_ref();
        let count = self.used_names.entry(name.to_string()).or_insert(0);
        *count += 1;
        if *count == 1 {
            name.into()
        } else {
            format!("{name}.{count}").into()
        }
    }

    /// Whether something in the function has this name.
    pub fn is_used(&self, name: &str) -> bool {
        self.used_names.contains_key(name)
    }

    /// Appends a statement.
    pub fn emit(&mut self, s: Stmt) -> Result<()> {
        self.statements += 1;
        if self.statements > MAX_STATEMENTS {
            let f = self.frames[0].function;
            return Err(problem(
                codes::TOO_LARGE,
                format!("'{}' is too large", f.spelling()),
                f,
            ));
        }
        self.block.push(s);
        Ok(())
    }

    pub fn assign_var(&mut self, var: Sym, value: Expr) -> Result<()> {
        let ty = value.ty();
        self.emit(Stmt::Assign { var, ty, value })
    }

    /// Puts a value into a variable of its own, unless it is a literal.
    pub fn hold(&mut self, name: &str, value: Expr) -> Result<Expr> {
        if let Expr::Const(_) = value {
            return Ok(value);
        }
        let (var, ty) = (self.fresh(name), value.ty());
        self.assign_var(var.clone(), value)?;
        Ok(Expr::Var(var, ty))
    }

    /// The same, in one that is assigned here and nowhere else.
    pub fn kept(&mut self, name: &str, value: Expr) -> Result<Expr> {
        let held = self.hold(name, value)?;
        if let Expr::Var(name, _) = &held {
            self.temporaries.insert(name.clone());
        }
        Ok(held)
    }

    /// Runs `f` with an empty block, and gives back what it put there.
    pub fn in_block<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(Vec<Stmt>, T)> {
        let outer = std::mem::take(&mut self.block);
        let result = f(self);
        let inner = std::mem::replace(&mut self.block, outer);
        Ok((inner, result?))
    }

    /// Declares a scalar; `initialised` ones of those in memory get the variable's value.
    pub fn bind_scalar_named(
        &mut self,
        c: Cursor<'u>,
        name: Sym,
        ty: ScalarType,
        initialised: bool,
    ) -> Result<()> {
        if !self.in_memory.contains(&c) {
            self.bindings.insert(c, Binding::Scalar(name, ty));
            return Ok(());
        }
        let array = self.fresh(format!("{name}.at"));
        self.arrays.push(LocalArray {
            name: array.clone(),
            elem: ty,
            len: Len::Fixed(1),
            init: None,
        });
        self.bindings.insert(
            c,
            Binding::Array(
                Target {
                    array: array.clone(),
                    elem: ty,
                },
                vec![],
            ),
        );
        if initialised {
            let value = Expr::Var(name, ty);
            self.emit(Stmt::Store {
                array,
                index: zero_offset(),
                value,
            })?;
        }
        Ok(())
    }

    /// Declares a pointer variable, which may point somewhere already.
    pub fn bind_pointer(
        &mut self,
        c: Cursor<'u>,
        at: Option<(Target, Vec<Expr>, Expr)>,
    ) -> Result<()> {
        if self.in_memory.contains(&c) {
            let message = format!("the address of the pointer '{}' is taken", c.spelling());
            return Err(problem(codes::POINTER_USE, message, c));
        }
        self.forget_record(c);
        let moves = self.assigned.contains(&c);
        let offset = match &at {
            // It stays where it is: no variable needed.
            Some((_, _, offset @ Expr::Const(_))) if !moves => offset.clone(),
            _ => {
                let name = self.fresh(c.spelling());
                if let Some((_, _, offset)) = &at {
                    self.assign_var(name.clone(), offset.clone())?;
                }
                Expr::Var(name, ScalarType::I64)
            }
        };
        self.bindings.insert(c, Binding::Pointer(offset));
        match at {
            Some((target, dims, _)) => {
                (self.pointers).insert(Variable::Named(c), Base::One(target, dims))
            }
            None => self.pointers.remove(&Variable::Named(c)),
        };
        Ok(())
    }
}
