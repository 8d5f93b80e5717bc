//! Parameters and results of a C++ kernel, as LoopIR's scalars and flat arrays.

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::flatten::{Node, Part, has_name};
use super::super::lower::{Binding, Lower, Result, Target, problem, zero_offset};
use super::super::place::{Place, Pointer};
use super::super::types::{self, Ty};
use super::Role;
use super::class::Class;
use super::seq::{Rows, Seq, int};
use clang_sys::*;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Param, Stmt};
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::signature::{Holder, Shape};

/// What the kernel says about a vector when it ends: these variables go to the elements of an array.
pub(super) struct Resized {
    array: Sym,
    values: Vec<Sym>,
}

/// A parameter in both forms.
pub(super) type Flattened = (Vec<Param>, Shape);

impl<'u> Lower<'u, '_> {
    /// A parameter of a C++ function. `None` for the plain numbers and pointers of C.
    pub fn object_parameter(&mut self, p: Cursor<'u>) -> Result<Option<Flattened>> {
        let name = p.spelling();
        let name = if name.is_empty() {
            "arg".to_string()
        } else {
            name
        };
        self.object_form(p, name, types::of(p))
    }

    /// The same, taken for one of this type. What a pointer points to is taken for what a reference refers to.
    pub(super) fn object_form(
        &mut self,
        p: Cursor<'u>,
        name: String,
        t: Ty,
    ) -> Result<Option<Flattened>> {
        let by_reference = matches!(t, Ty::Reference(_));
        if let Some(flattened) = self.mixed_sequence(p, &name, t.clone())? {
            return Ok(Some(flattened));
        }
        let referred = match p.ty().canonical() {
            t if by_reference => t.pointee(),
            t => t,
        };
        let is_const = types::const_elements(referred);
        let flattened = match t.referred() {
            Ty::Scalar(elem) if by_reference => {
                if is_const && let Some(number) = self.const_number(p, &name, elem) {
                    return Ok(Some(number));
                }
                let (param, target) = self.array_param(&name, elem, is_const, false);
                let place = Place::Element(target, zero_offset(), elem);
                self.bindings.insert(p, Binding::Alias(place));
                let to = param.name().to_string();
                (vec![param], Shape::Place { to, len: 1 })
            }
            Ty::Class(Class::Vector(element)) => {
                self.vector_parameter(p, &name, &element, by_reference, is_const)?
            }
            // Its own end is part of what a string is: the characters may change, and not how many there are.
            Ty::Class(Class::Text(_))
                if by_reference && !is_const && self.cpp.grown.contains(&p) =>
            {
                let message = format!("the length of '{name}' changes, which is a string");
                let mut p = problem(codes::ALLOCATION, message, p);
                p.help = Some("take a vector, or change the characters that are there".into());
                return Err(p);
            }
            Ty::Class(Class::Text(element)) => {
                let owned = !by_reference;
                let is_const = is_const || owned;
                let (seq, params, shape) = self.vector_form(&name, &element, is_const, owned, p)?;
                if owned {
                    self.must_not_change(p, &seq.start.target);
                }
                self.bindings.insert(p, Binding::Seq(seq));
                (params, shape)
            }
            Ty::Class(Class::TextView(element)) => {
                let (seq, params, shape) = self.span_form(&name, &element, None, true, p)?;
                self.bindings.insert(p, Binding::Seq(seq));
                (params, shape)
            }
            Ty::Class(Class::Span(element, extent)) => {
                let is_const = referred_const(referred, 0);
                let (seq, params, shape) = self.span_form(&name, &element, extent, is_const, p)?;
                self.bindings.insert(p, Binding::Seq(seq));
                (params, shape)
            }
            Ty::Class(Class::Array(element, len)) => {
                let (elem, dims) = self.element_shape(&element, p)?;
                let dims = constant_dims(&dims).ok_or_else(|| refused(p, &name))?;
                let total = dims.iter().try_fold(len, |a, &b| a.checked_mul(b));
                let total = total.ok_or_else(|| refused(p, &name))?;
                let (param, target) =
                    self.array_param(&name, elem, is_const || !by_reference, !by_reference);
                let to = param.name().to_string();
                if !by_reference {
                    self.must_not_change(p, &target);
                }
                let seq = seq_of(target, &dims, int(len.into()));
                self.bindings.insert(p, Binding::Seq(seq));
                (vec![param], Shape::Place { to, len: total })
            }
            t @ Ty::Other(..) if by_reference && !super::super::flatten::is_struct(p.ty()) => {
                return Err(scalar_refusal(&t, p));
            }
            t @ Ty::Array(..) if by_reference => {
                let (elem, dims) = self.element_shape(&t, p)?;
                let dims = constant_dims(&dims).ok_or_else(|| refused(p, &name))?;
                let total = dims.iter().try_fold(1u64, |a, &b| a.checked_mul(b));
                let total = total.ok_or_else(|| refused(p, &name))?;
                let (param, target) = self.array_param(&name, elem, is_const, false);
                let to = param.name().to_string();
                let seq = seq_of(target, &dims[1..], int(dims[0].into()));
                self.bindings.insert(p, Binding::Seq(seq));
                (vec![param], Shape::Place { to, len: total })
            }
            Ty::Class(_) | Ty::Reference(_) => return Err(refused(p, &name)),
            Ty::Pointer(_) if by_reference => return Err(refused(p, &name)),
            _ => return Ok(None),
        };
        Ok(Some(flattened))
    }

    fn array_param(
        &mut self,
        name: &str,
        elem: ScalarType,
        is_const: bool,
        restrict: bool,
    ) -> (Param, Target) {
        let array = self.flat_name(name);
        let param = Param::Array {
            name: array.clone(),
            elem,
            is_const,
            restrict,
        };
        (param, Target { array, elem })
    }

    pub(super) fn size_param(&mut self, of: &str, what: &str) -> (Param, Expr) {
        let name = self.flat_name(&format!("{of}_{what}"));
        self.cpp.fixed.insert(name.clone());
        let ty = ScalarType::I64;
        (
            Param::Scalar {
                name: name.clone(),
                ty,
            },
            Expr::Var(name, ty),
        )
    }

    fn vector_parameter(
        &mut self,
        p: Cursor<'u>,
        name: &str,
        element: &Ty,
        by_reference: bool,
        is_const: bool,
    ) -> Result<Flattened> {
        let grown = self.cpp.grown.contains(&p);
        let returned = !by_reference && self.cpp.roles.get(&p) == Some(&Role::Result);
        if grown && !by_reference && !returned {
            let message = format!("the length of '{name}' changes, which is a copy");
            return Err(problem(codes::ALLOCATION, message, p));
        }
        let owned = !by_reference;
        let (mut seq, mut params, shape) =
            self.vector_form(name, element, is_const || owned, owned, p)?;
        if owned && self.cpp.own.contains(&p) {
            seq = self.own_copy(name, element, seq, p)?;
        } else if owned {
            self.must_not_change(p, &seq.start.target);
            self.cpp.lent.push((seq.start.target.array.clone(), p));
        }
        let nested = matches!(shape, Shape::Nested { .. });
        let mut resized = None;
        if grown && by_reference {
            if nested {
                let mut p = problem(
                    codes::ALLOCATION,
                    format!("'{name}' is a vector of vectors whose size changes"),
                    p,
                );
                p.help = Some("return a new vector of vectors".into());
                return Err(p);
            }
            let (ends, to) = self.growing_form(name, &mut seq)?;
            resized = Some(to);
            params.push(ends);
        }
        self.bindings.insert(p, Binding::Seq(seq));
        Ok((params, with_end(shape, resized)))
    }

    /// Lets a vector outside of the kernel change its length. Also gives the parameter, and its name, for how long it has become.
    fn growing_form(&mut self, name: &str, seq: &mut Seq) -> Result<(Param, String)> {
        let var = self.fresh(format!("{name}.size"));
        self.assign_var(var.clone(), seq.len.clone())?;
        seq.len = Expr::Var(var.clone(), ScalarType::I64);
        seq.size = Some(var.clone());
        Ok(self.resized(name, vec![var]))
    }

    /// A member that is a vector and changes its length somewhere in the function.
    pub fn growing_part(
        &mut self,
        name: &str,
        element: &Ty,
        at: Cursor<'u>,
    ) -> Result<(Seq, Node<'u>)> {
        let (mut seq, mut params, shape) = self.vector_form(name, element, false, false, at)?;
        let (ends, to) = self.growing_form(name, &mut seq)?;
        params.push(ends);
        Ok((seq, Node::Leaf(with_end(shape, Some(to)), params)))
    }

    /// What a vector outside of the kernel becomes: its elements and its size, and the length of its rows if these are
    /// vectors.
    fn vector_form(
        &mut self,
        name: &str,
        element: &Ty,
        is_const: bool,
        restrict: bool,
        at: Cursor<'u>,
    ) -> Result<(Seq, Vec<Param>, Shape)> {
        let (elem, dims) = self.element_shape(element, at)?;
        let nested = dims.first() == Some(&None);
        let inner = constant_dims(&dims[usize::from(nested)..]).ok_or_else(|| refused(at, name))?;
        let (param, target) = self.array_param(name, elem, is_const, restrict);
        let to = param.name().to_string();
        let (length, len) = self.size_param(name, if nested { "rows" } else { "size" });
        let size = Some(length.name().to_string());
        let mut params = vec![param, length];
        let mut lengths: Vec<Expr> = Vec::new();
        let shape = if nested {
            let (param, e) = self.size_param(name, "pitch");
            let pitch = param.name().to_string();
            params.push(param);
            lengths.push(e);
            Shape::Nested {
                to,
                rows: size,
                pitch,
                resized: None,
            }
        } else {
            Shape::Vector {
                to,
                size,
                each: inner.iter().product(),
                resized: None,
            }
        };
        lengths.extend(inner.iter().map(|&d| int(d.into())));
        let seq = Seq {
            start: Pointer {
                view: elem,
                target,
                offset: zero_offset(),
                dims: lengths,
            },
            len,
            size: None,
            rows: None,
        };
        Ok((seq, params, shape))
    }

    /// What a span outside of the kernel becomes.
    fn span_form(
        &mut self,
        name: &str,
        element: &Ty,
        extent: Option<u64>,
        is_const: bool,
        at: Cursor<'u>,
    ) -> Result<(Seq, Vec<Param>, Shape)> {
        let (elem, dims) = self.element_shape(element, at)?;
        let dims = constant_dims(&dims).ok_or_else(|| refused(at, name))?;
        let (param, target) = self.array_param(name, elem, is_const, false);
        let to = param.name().to_string();
        let mut params = vec![param];
        let (len, size) = match extent {
            Some(n) => (int(n.into()), None),
            None => {
                let (param, len) = self.size_param(name, "size");
                let size = param.name().to_string();
                params.push(param);
                (len, Some(size))
            }
        };
        let seq = seq_of(target, &dims, len);
        let each = dims.iter().product();
        Ok((seq, params, Shape::Span { to, size, each }))
    }

    /// A member, or a variable of the file, that is an object of the library.
    pub fn object_part(
        &mut self,
        part: &Part<'_, 'u>,
        class: &Class,
        at: Cursor<'u>,
    ) -> Result<(Place, Node<'u>)> {
        let spelled = part.spelled.canonical();
        let is_const = part.is_const || types::const_elements(spelled);
        let (seq, params, shape) = match class {
            Class::Vector(element) | Class::Span(element, None)
                if let Ty::Mixed(ty, bytes) = &**element
                    && has_name(ty) =>
            {
                let (is_const, holder) = match class {
                    Class::Vector(_) => (is_const, Holder::Vector),
                    _ => (referred_const(spelled, 0), Holder::Span),
                };
                self.mixed_form(part.name, ty, *bytes, is_const, holder)
            }
            Class::Vector(element) => self.vector_form(part.name, element, is_const, false, at)?,
            Class::Span(element, extent) => {
                let is_const = referred_const(spelled, 0);
                self.span_form(part.name, element, *extent, is_const, at)?
            }
            _ => {
                let message = format!("{} is not supported", part.called);
                return Err(problem(codes::RECORD, message, at));
            }
        };
        Ok((seq.place(), Node::Leaf(shape, params)))
    }

    /// The result of a kernel that returns a vector or a `std::array`: an array, and its size.
    pub fn object_result(&mut self, f: Cursor<'u>) -> Result<Option<Flattened>> {
        let t = types::read(f.ty().result());
        let named = self.cpp.roles.iter().find(|(_, r)| **r == Role::Result);
        let named = named.map(|(d, _)| *d);
        let name = named
            .filter(|d| d.kind() == CXCursor_VarDecl)
            .map_or_else(|| "result".into(), |d| d.spelling());
        let unsupported = || {
            let message = format!(
                "'{}' returns a '{}'",
                f.spelling(),
                f.ty().result().spelling()
            );
            problem(codes::TYPE, message, f)
        };
        let (element, fixed) = match &t {
            Ty::Class(Class::Vector(element)) => (element, None),
            Ty::Class(Class::Array(element, n)) => (element, Some(*n)),
            Ty::Class(_) | Ty::Reference(_) => return Err(unsupported()),
            _ => return Ok(None),
        };
        let (elem, dims) = self.element_shape(element, f)?;
        let (seq, params, shape) = match (fixed, dims.first()) {
            (Some(n), _) => {
                let dims = constant_dims(&dims).ok_or_else(unsupported)?;
                let (param, target) = self.array_param(&name, elem, false, true);
                let to = param.name().to_string();
                let len = dims.iter().try_fold(n, |a, &b| a.checked_mul(b));
                let len = len.ok_or_else(unsupported)?;
                let seq = seq_of(target, &dims, int(n.into()));
                (seq, vec![param], Shape::Place { to, len })
            }
            (None, Some(None)) => {
                let inner = constant_dims(&dims[1..]).ok_or_else(unsupported)?;
                self.returned_table(&name, elem, &inner)?
            }
            (None, _) => self.returned_vector_form(&name, element, f)?,
        };
        self.set_dest(seq);
        Ok(Some((params, shape)))
    }

    /// A vector of vectors that the kernel returns, each row of this shape but for its length.
    fn returned_table(
        &mut self,
        name: &str,
        elem: ScalarType,
        inner: &[u64],
    ) -> Result<(Seq, Vec<Param>, Shape)> {
        let (param, target) = self.array_param(name, elem, false, true);
        let to = param.name().to_string();
        let (length, row) = self.size_param(name, "pitch");
        let pitch = length.name().to_string();
        let size = self.fresh(format!("{name}.size"));
        self.assign_var(size.clone(), int(0))?;
        let rows = Rows {
            pitch: pitch.as_str().into(),
            expected: self.fresh(format!("{name}.expected")),
            length: self.fresh(format!("{name}.pitch")),
        };
        self.cpp.fixed.insert(rows.expected.clone());
        self.cpp.tables.push(rows.clone());
        let (ends, resized) = self.resized(name, vec![size.clone(), rows.length.clone()]);
        let mut seq = Seq {
            size: Some(size.clone()),
            rows: Some(rows),
            ..seq_of(target, inner, Expr::Var(size, ScalarType::I64))
        };
        seq.start.dims.insert(0, row);
        let shape = Shape::Nested {
            to,
            rows: None,
            pitch,
            resized: Some(resized),
        };
        Ok((seq, vec![param, length, ends], shape))
    }

    /// The parameter, and its name, that says in the end how long a vector has become.
    fn resized(&mut self, name: &str, values: Vec<Sym>) -> (Param, String) {
        let ends = format!("{name}_resized");
        let (param, Target { array, .. }) = self.array_param(&ends, ScalarType::I64, false, true);
        let name = param.name().to_string();
        self.cpp.at_exit.push(Resized { array, values });
        (param, name)
    }

    /// A vector of numbers, or of rows of constant length, that is what the kernel returns, or a member of that.
    pub fn returned_vector_form(
        &mut self,
        name: &str,
        element: &Ty,
        at: Cursor<'u>,
    ) -> Result<(Seq, Vec<Param>, Shape)> {
        let (elem, dims) = self.element_shape(element, at)?;
        let dims = constant_dims(&dims).ok_or_else(|| refused(at, name))?;
        let (param, target) = self.array_param(name, elem, false, true);
        let to = param.name().to_string();
        let size = self.fresh(format!("{name}.size"));
        self.assign_var(size.clone(), int(0))?;
        let (ends, resized) = self.resized(name, vec![size.clone()]);
        let shape = Shape::Vector {
            to,
            size: None,
            each: dims.iter().product(),
            resized: Some(resized),
        };
        let seq = Seq {
            size: Some(size.clone()),
            ..seq_of(target, &dims, Expr::Var(size, ScalarType::I64))
        };
        Ok((seq, vec![param, ends], shape))
    }

    fn set_dest(&mut self, seq: Seq) {
        if let Some(f) = self.frames.last_mut() {
            f.dest = Some(seq);
        }
    }

    /// A parameter by value that is returned: the result starts as a copy of it.
    pub fn copy_returned_parameter(&mut self, f: Cursor<'u>) -> Result<()> {
        let Some(dest) = self.frames.last().and_then(|f| f.dest.clone()) else {
            return Ok(());
        };
        for p in f.arguments() {
            if self.cpp.roles.get(&p) != Some(&Role::Result)
                || matches!(types::of(p), Ty::Reference(_))
            {
                continue;
            }
            let Some(Binding::Seq(source)) = self.bindings.get(&p).cloned() else {
                continue;
            };
            if let (Some(rows), Some(pitch)) = (dest.rows.clone(), source.start.dims.first()) {
                self.row_length(&rows, pitch.clone())?;
            }
            self.set_len(&dest, source.len.clone(), p)?;
            self.copy(&dest, int(0), &source, p)?;
            self.bindings.insert(p, Binding::Seq(dest.clone()));
        }
        Ok(())
    }

    /// `return e` of a vector.
    pub fn return_object(&mut self, dest: &Seq, e: Cursor<'u>) -> Result<()> {
        let own = super::scan::named(e).is_some_and(|d| {
            self.cpp.roles.get(&d) == Some(&Role::Result)
                && matches!(self.bindings.get(&d), Some(Binding::Seq(s)) if s.start.target == dest.start.target)
        });
        if own {
            return Ok(());
        }
        self.full(e, |s| s.construct(dest, e))
    }

    /// Stores what the kernel says in the end: the sizes of vectors, the numbers of a struct.
    pub fn store_results(&mut self) -> Result<()> {
        if self.frames.len() > 1 {
            return Ok(());
        }
        self.store_members()?;
        self.require_all_filled()?;
        let stores: Vec<Stmt> = self
            .cpp
            .at_exit
            .iter()
            .flat_map(|r| {
                r.values.iter().enumerate().map(|(i, v)| {
                    let value = |v: &Sym| Expr::Var(v.clone(), ScalarType::I64);
                    let none = Expr::compare(CmpOp::Eq, value(&r.values[0]), int(0));
                    Stmt::Store {
                        array: r.array.clone(),
                        index: int(i as i128),
                        // Without rows there is none that has a length.
                        value: match i {
                            0 => value(v),
                            _ => super::super::expr::select(none, int(0), value(v)),
                        },
                    }
                })
            })
            .collect();
        stores.into_iter().try_for_each(|s| self.emit(s))
    }
}

/// A vector's form with what says how long it is in the end.
fn with_end(shape: Shape, resized: Option<String>) -> Shape {
    match shape {
        Shape::Vector { to, size, each, .. } => Shape::Vector {
            to,
            size,
            each,
            resized,
        },
        other => other,
    }
}

/// Elements of these lengths that lie at the start of an array.
fn seq_of(target: Target, dims: &[u64], len: Expr) -> Seq {
    Seq {
        start: Pointer {
            view: target.elem,
            target,
            offset: zero_offset(),
            dims: dims.iter().map(|&d| int(d.into())).collect(),
        },
        len,
        size: None,
        rows: None,
    }
}

fn refused(p: Cursor<'_>, name: &str) -> super::super::Problem {
    problem(
        codes::TYPE,
        format!(
            "'{name}' has the type '{}', which is not supported for a parameter",
            p.ty().spelling()
        ),
        p,
    )
}

/// Why a type is not supported.
fn scalar_refusal(t: &Ty, p: Cursor<'_>) -> super::super::Problem {
    super::super::lower::scalar_type(t, p)
        .err()
        .unwrap_or_else(|| refused(p, &p.spelling()))
}

fn constant_dims(dims: &[Option<u64>]) -> Option<Vec<u64>> {
    dims.iter().copied().collect()
}

/// Whether the first argument of a template's instance is const.
pub(super) fn referred_const(t: super::super::ffi::Type<'_>, argument: usize) -> bool {
    t.template_arguments()
        .get(argument)
        .copied()
        .flatten()
        .is_some_and(|t| t.is_const())
}
