//! Places that can be read and written: variables, and elements of arrays.

use super::codes;
use super::ffi::Cursor;
use super::lower::{
    Base, Binding, Lower, Result, Target, Variable, convert, offset_op, operand, operands_of,
    problem, scalar_type,
};
use super::operator::{self, Unary};
use super::pointer::{joined, may_be_seen_as};
use super::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// What an lvalue names.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Var(Sym, ScalarType),
    /// A constant of the file, which nobody assigns.
    Constant(Scalar),
    /// An element, its bits seen as this type of the same width; or so many bytes, from this one on, as a wider one.
    Element(Target, Expr, ScalarType),
    /// A whole array, or a row of one: where it starts, and its lengths.
    Array(Pointer),
}

/// A pointer: an array and an offset in elements.
#[derive(Clone, Debug)]
pub(super) struct Pointer {
    pub target: Target,
    pub offset: Expr,
    /// The lengths of what it points to, outermost first; empty for a pointer to scalars.
    pub dims: Vec<Expr>,
    /// The type that elements are seen as.
    pub view: ScalarType,
}

impl Pointer {
    /// How many elements one step is.
    pub fn stride(&self) -> Expr {
        let bytes = (self.view.bytes() / self.target.elem.bytes()) as i128;
        let numbers = product(&self.dims);
        offset_op(BinOp::Multiply, numbers, Expr::int(ScalarType::I64, bytes))
    }

    pub fn moved(mut self, by: Expr) -> Pointer {
        let step = offset_op(BinOp::Multiply, by, self.stride());
        self.offset = offset_op(BinOp::Add, self.offset, step);
        self
    }

    /// What it points to.
    pub fn deref(self) -> Place {
        if self.dims.is_empty() {
            Place::Element(self.target, self.offset, self.view)
        } else {
            Place::Array(self)
        }
    }

    /// An array becomes a pointer to its first element.
    pub fn decayed(mut self) -> Pointer {
        if !self.dims.is_empty() {
            self.dims.remove(0);
        }
        self
    }
}

pub(super) fn product(dims: &[Expr]) -> Expr {
    dims.iter()
        .cloned()
        .fold(Expr::int(ScalarType::I64, 1), |a, b| {
            offset_op(BinOp::Multiply, a, b)
        })
}

/// The same bits as another type of the same width.
pub(super) fn seen_as(ty: ScalarType, e: Expr) -> Expr {
    if e.ty().is_int() == ty.is_int() {
        convert(ty, e)
    } else {
        Expr::Bitcast(ty, Box::new(e))
    }
}

impl<'u> Lower<'u, '_> {
    /// What an lvalue names. Its index is evaluated here.
    pub fn place(&mut self, c: Cursor<'u>) -> Result<Place> {
        if let Some(number) = self.number_at(c) {
            return Ok(number);
        }
        match c.kind() {
            CXCursor_ParenExpr => self.place(operand(c)?),
            CXCursor_DeclRefExpr => self.variable(c),
            CXCursor_ArraySubscriptExpr => {
                let [a, b] = operands_of(c)?;
                let is_pointer =
                    |c: Cursor<'_>| matches!(types::of(c), Ty::Pointer(_) | Ty::Array(..));
                // `2[a]` is `a[2]`.
                let (p, i) = if is_pointer(a) { (a, b) } else { (b, a) };
                let pointer = self.pointer(p)?;
                let index = convert(ScalarType::I64, self.value(i)?);
                self.check_step(c, &pointer, p)?;
                Ok(pointer.moved(index).deref())
            }
            CXCursor_UnaryOperator if operator::unary(c)? == Unary::Deref => {
                let inner = operand(c)?;
                let pointer = self.pointer(inner)?;
                self.check_step(c, &pointer, inner)?;
                Ok(pointer.deref())
            }
            CXCursor_UnaryOperator if operator::unary(c)? == Unary::Extension => {
                self.place(operand(c)?)
            }
            CXCursor_UnaryOperator if matches!(operator::unary(c)?, Unary::Part(_)) => {
                Err(super::complex::unsupported(c))
            }
            CXCursor_UnexposedExpr | CXCursor_CXXStaticCastExpr => self.place(operand(c)?),
            CXCursor_CallExpr if self.source.cpp => self.call_place(c),
            CXCursor_MemberRefExpr => self.member(c),
            CXCursor_StringLiteral => self.string(c).map(Place::Array),
            CXCursor_CompoundLiteralExpr => Err(problem(
                codes::EXPRESSION,
                "a compound literal is not supported",
                c,
            )),
            _ => Err(problem(
                codes::EXPRESSION,
                "this kind of expression is not supported",
                c,
            )),
        }
    }

    fn variable(&mut self, c: Cursor<'u>) -> Result<Place> {
        let unknown = || {
            problem(
                codes::EXPRESSION,
                format!("'{}' is not known here", c.spelling()),
                c,
            )
        };
        let d = c.referenced().ok_or_else(unknown)?;
        let d = if self.bindings.contains_key(&d) {
            d
        } else {
            self.global(d, c)?
        };
        self.check_static(d, c)?;
        match self.bindings.get(&d).cloned().ok_or_else(unknown)? {
            Binding::Scalar(name, ty) => Ok(Place::Var(name, ty)),
            Binding::Constant(v) => Ok(Place::Constant(v)),
            Binding::Array(target, dims) => {
                let view = target.elem;
                let pointer = Pointer {
                    target,
                    offset: super::lower::zero_offset(),
                    dims,
                    view,
                };
                Ok(if pointer.dims.is_empty() {
                    pointer.deref()
                } else {
                    Place::Array(pointer)
                })
            }
            Binding::Vector(_) | Binding::VectorVariable(..) => Err(problem(
                codes::VECTOR,
                "a vector where a number is needed",
                c,
            )),
            Binding::Pointer(_) => Err(problem(
                codes::POINTER_USE,
                "a pointer where a number is needed",
                c,
            )),
            Binding::Alias(place) => Ok(place),
            // `float (&row)[4]`
            Binding::Seq(row) if matches!(types::of(d).referred(), Ty::Array(..)) => {
                let mut dims = vec![row.len];
                dims.extend(row.start.dims);
                Ok(Place::Array(Pointer { dims, ..row.start }))
            }
            Binding::Seq(_) | Binding::Callable(_) => Err(problem(
                codes::TYPE,
                "an object of a class where a number is needed",
                c,
            )),
        }
    }

    /// The value of a pointer variable.
    pub fn pointer_variable(&mut self, c: Cursor<'u>) -> Result<Pointer> {
        let name = c.spelling();
        let d = c.referenced();
        let d = d.ok_or_else(|| problem(codes::EXPRESSION, format!("'{name}' is not known"), c))?;
        // `float (&row)[4]`, of which libclang shows no decay where it is a parameter.
        if matches!(self.bindings.get(&d), Some(Binding::Seq(_)))
            && matches!(types::of(d).referred(), Ty::Array(..))
            && let Place::Array(row) = self.variable(c)?
        {
            return Ok(row.decayed());
        }
        if let Some(Binding::Seq(_)) = self.bindings.get(&d) {
            return Err(super::cpp::points_to_one(c));
        }
        let Some(Binding::Pointer(offset)) = self.bindings.get(&d).cloned() else {
            return self.file_pointer(d, c)?.ok_or_else(|| {
                let message = format!("'{name}' is not known here");
                problem(codes::EXPRESSION, message, c)
            });
        };
        self.pointer_at(&Variable::Named(d), offset, c)
    }

    /// The value of a variable that points somewhere, and has this offset.
    pub fn pointer_at(
        &mut self,
        variable: &Variable<'u>,
        offset: Expr,
        c: Cursor<'u>,
    ) -> Result<Pointer> {
        let name = c.spelling();
        match self.pointers.get(variable) {
            Some(Base::One(target, dims)) => Ok(Pointer {
                target: target.clone(),
                offset,
                dims: dims.clone(),
                view: match types::of(c) {
                    // Of bytes that are used as something else, this is what they are.
                    Ty::Pointer(t) => (t.flatten().0.as_scalar())
                        .filter(|view| may_be_seen_as(target.elem, *view, !dims.is_empty()))
                        .unwrap_or(target.elem),
                    _ => target.elem,
                },
            }),
            Some(Base::Several) => {
                let message = format!("'{name}' may point into one of several arrays here");
                Err(problem(codes::POINTER_BASE, message, c))
            }
            None => {
                let message = format!("'{name}' is used before it points anywhere");
                Err(problem(codes::UNINITIALISED, message, c))
            }
        }
    }

    /// The value that stands at an lvalue.
    pub fn read_place(&mut self, c: Cursor<'u>) -> Result<Expr> {
        let place = self.place(c)?;
        self.load(place, c)
    }

    /// The value that stands at a place.
    pub fn load(&mut self, place: Place, c: Cursor<'u>) -> Result<Expr> {
        match place {
            Place::Var(name, ty) => Ok(Expr::Var(name, ty)),
            Place::Constant(v) => Ok(Expr::Const(v)),
            Place::Element(target, index, ty) => {
                self.check_no_struct(&target.array, c)?;
                if ty.bits() > target.elem.bits() {
                    return Ok(joined(&target, &index, ty));
                }
                Ok(seen_as(ty, Expr::load(target.array, target.elem, index)))
            }
            Place::Array(_) => Err(scalar_type(&Ty::Array(Box::new(Ty::Void), None), c)
                .expect_err("an array is no number")),
        }
    }

    /// Each of two places holds afterwards what the other one held.
    pub fn exchange(&mut self, a: Place, b: Place, at: Cursor<'u>) -> Result<()> {
        if let (Place::Array(a), Place::Array(b)) = (&a, &b) {
            return self.exchange_elements(a, b, at);
        }
        let first = self.load(a.clone(), at)?;
        let first = self.hold("t", first)?;
        let second = self.load(b.clone(), at)?;
        self.write(a, second, at)?;
        self.write(b, first, at)
    }

    /// Writes a value of the place's type.
    pub fn write(&mut self, place: Place, value: Expr, at: Cursor<'u>) -> Result<()> {
        match place {
            Place::Var(var, ty) if value.ty() == ty => {
                self.check_not_of_the_caller(&var, at)?;
                self.emit(Stmt::Assign { var, ty, value })
            }
            Place::Element(Target { array, elem }, index, ty) if value.ty() == ty => {
                self.check_no_struct(&array, at)?;
                self.written.insert(array.clone());
                if ty.bits() > elem.bits() {
                    return self.write_bytes(&Target { array, elem }, &index, value);
                }
                self.emit(Stmt::Store {
                    array,
                    index,
                    value: seen_as(elem, value),
                })
            }
            Place::Array(_) => Err(problem(codes::POINTER_USE, "an array is assigned", at)),
            Place::Constant(_) => Err(problem(codes::GLOBAL, "a constant is assigned", at)),
            Place::Var(_, ty) | Place::Element(_, _, ty) => {
                let message = format!("a value of type {} is stored as {ty}", value.ty());
                Err(problem(codes::CONVERSION, message, at))
            }
        }
    }
}
