//! Declarations: local variables and arrays, and constants of the file.

use super::cpp::class::Class;
use super::ffi::{Constant, Cursor};
use super::flatten::{is_reached, is_zero_at_first, parts, taken_apart};
use super::initializer::{Item, braced, constant_table, first_values, initialised, text};
use super::lower::{Binding, Lower, Result, Target, as_element, problem, scalar_type};
use super::place::{Place, Pointer};
use super::types::{self, Ty};
use super::{codes, effects};
use clang_sys::*;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Len, LocalArray, Loop, LoopMode, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Longer arrays of zeros are filled in a loop.
const UNROLLED: usize = 16;
/// Larger tables don't belong into a kernel.
pub(super) const MAX_ARRAY: u64 = 1 << 20;

impl<'u> Lower<'u, '_> {
    /// A declaration inside of a function.
    pub fn declaration(&mut self, d: Cursor<'u>) -> Result<()> {
        match d.kind() {
            CXCursor_VarDecl => {}
            _ if taken_apart(d).is_some() => return self.take_apart(d),
            CXCursor_TypedefDecl
            | CXCursor_EnumDecl
            | CXCursor_StructDecl
            | CXCursor_UnionDecl
            | CXCursor_FunctionDecl
            | CXCursor_UsingDeclaration
            | CXCursor_UsingDirective
            | CXCursor_NamespaceAlias
            | CXCursor_TypeAliasDecl
            | CXCursor_StaticAssert => return Ok(()),
            _ => {
                return Err(problem(
                    codes::STATEMENT,
                    "this declaration is not supported",
                    d,
                ));
            }
        }
        if d.is_static() || d.storage() == CX_SC_Extern {
            // Others are read when they are used; a constant is all right then.
            self.static_of_a_call(d);
            return Ok(());
        }
        let init = d.initializer();
        if let Some(e) = init
            && self.source.cpp
            && self.declare_found(d, e)?
        {
            return Ok(());
        }
        match types::of(d) {
            _ if super::unions::is_union(d) => self.declare_union(d, init),
            _ if super::simd::is_vector(d) => self.declare_vector(d, init),
            _ if super::flatten::is_of_numbers(d) => self.declare_struct(d, init),
            _ if super::flatten::is_object(d.ty()) => self.declare_object(d, init),
            Ty::Scalar(ty) => {
                let name = self.fresh(d.spelling());
                let value = match init {
                    Some(e) => {
                        self.full(e, |s| {
                            let v = s.value(braced(e)?)?;
                            let v = s.checked_init(ty, v, e)?;
                            s.assign_var(name.clone(), v)
                        })?;
                        true
                    }
                    None => false,
                };
                self.bind_scalar_named(d, name, ty, value)
            }
            Ty::Pointer(_) | Ty::Other(codes::RECORD, _) | Ty::Record(..) | Ty::Mixed(..)
                if init.is_some_and(|e| self.is_record(d, e)) =>
            {
                self.bind_record(d, init.expect("just looked"))
            }
            Ty::Pointer(_) => {
                let Some(e) = init else {
                    return self.bind_pointer(d, None);
                };
                if let Some(path) = self.void_argument(e, d)? {
                    return self.record_alias(d, path);
                }
                if self.source.cpp && self.declare_object_pointer(d, e)? {
                    return Ok(());
                }
                self.full(e, |s| {
                    let p = s.first_pointer(d, braced(e)?)?;
                    s.bind_pointer(d, Some((p.target, p.dims, p.offset)))
                })
            }
            t @ Ty::Array(..) if t.flatten().1.contains(&None) => self.variable_array(d, &t, init),
            t @ Ty::Array(..) => self.local_array(d, &t, init),
            Ty::Reference(_) => {
                let e =
                    init.ok_or_else(|| problem(codes::INITIALIZER, "a reference to nothing", d))?;
                self.reference_declaration(d, e)
            }
            Ty::Class(class) => self.object_declaration(d, &class, init),
            t => scalar_type(&t, d).map(|_| ()),
        }
    }

    /// The initialiser of a scalar has been converted by clang, but not in nested lists.
    fn checked_init(&self, ty: ScalarType, v: Expr, at: Cursor<'u>) -> Result<Expr> {
        if v.ty() == ty {
            return Ok(v);
        }
        Err(problem(
            codes::CONVERSION,
            format!("a {} initialises a {ty}", v.ty()),
            at,
        ))
    }

    fn local_array(&mut self, d: Cursor<'u>, t: &Ty, init: Option<Cursor<'u>>) -> Result<()> {
        let (elem, lens) = self.array_shape(d, t)?;
        let len = lens.iter().product::<u64>() as usize;
        let name = self.fresh(d.spelling());
        let target = Target {
            array: name.clone(),
            elem,
        };
        let dims = lens
            .iter()
            .map(|&l| Expr::int(ScalarType::I64, l.into()))
            .collect();
        self.bindings.insert(d, Binding::Array(target, dims));
        let constant = types::const_elements(d.ty().canonical());
        if constant
            && let Some(init) = init
            && let Ok(table) = constant_table(init, d.ty(), elem)
        {
            self.arrays.push(LocalArray {
                name,
                elem,
                len: Len::Fixed(len),
                init: Some(table),
            });
            return Ok(());
        }
        // C++ has an order for what stands in braces (C++20, 9.4.5), and C has none (C11, 6.7.9).
        if let Some(init) = init.filter(|_| !self.source.cpp) {
            super::effects::check_order(self, init)?;
        }
        self.arrays.push(LocalArray {
            name: name.clone(),
            elem,
            len: Len::Fixed(len),
            init: None,
        });
        let Some(init) = init else { return Ok(()) };
        if !is_zero_at_first(d.ty()) {
            return Err(first_values(init));
        }
        let slots = initialised(init, d.ty())?;
        let zero = Expr::Const(Scalar::zero(elem));
        let given = slots.iter().rposition(Option::is_some).map_or(0, |i| i + 1);
        let mut filled = len;
        if len - given > UNROLLED {
            // The tail, or all of it.
            let literal_zeros = slots.iter().flatten().all(|item| match item {
                Item::Value(e) => {
                    effects::is_pure(*e) && matches!(e.evaluate(), Some(Constant::Int(0)))
                }
                // (The imaginary part of a real number.)
                Item::Part(e, _) => matches!(e.evaluate(), Some(Constant::Int(0))),
                Item::Character(b) => *b == 0,
            });
            let from = if literal_zeros { 0 } else { given };
            filled = from;
            self.zero_fill(&name, from, len, zero.clone(), d)?;
        }
        for (i, slot) in slots.into_iter().enumerate().take(filled) {
            let value = match slot {
                Some(Item::Character(b)) => Expr::Const(Scalar::int(elem, b.into())),
                Some(Item::Part(e, which)) => {
                    let both = self.full_value(e, |s| s.complex_numbers(e))?;
                    both[which].clone()
                }
                Some(Item::Value(e)) => {
                    let v = self.full_value(e, |s| s.value(e))?;
                    self.sequence_point()?;
                    as_element(elem, v)
                }
                None => zero.clone(),
            };
            let index = Expr::int(ScalarType::I64, i as i128);
            self.emit(Stmt::Store {
                array: name.clone(),
                index,
                value,
            })?;
        }
        Ok(())
    }

    fn zero_fill(
        &mut self,
        array: &tensorize_ir::index::Sym,
        from: usize,
        to: usize,
        zero: Expr,
        at: Cursor<'u>,
    ) -> Result<()> {
        let int = |v: usize| Expr::int(ScalarType::I64, v as i128);
        let var = self.fresh("k");
        self.assign_var(var.clone(), int(from))?;
        let k = Expr::Var(var.clone(), ScalarType::I64);
        let body = vec![
            Stmt::Store {
                array: array.clone(),
                index: k.clone(),
                value: zero,
            },
            Stmt::Assign {
                var,
                ty: ScalarType::I64,
                value: Expr::binary(BinOp::Add, k.clone(), int(1)),
            },
        ];
        let id = self.loops;
        self.loops += 1;
        self.emit(Stmt::Loop(Loop {
            id,
            cond: Expr::compare(CmpOp::Lt, k, int(to)),
            test_first: true,
            body,
            mode: LoopMode::Sequential,
            line: at.extent().map_or(0, |e| e.0.line),
        }))
    }

    fn array_shape(&self, d: Cursor<'u>, t: &Ty) -> Result<(ScalarType, Vec<u64>)> {
        let (elem, lens) = match t {
            Ty::Class(_) => {
                let (elem, lens) = self.element_shape(t, d)?;
                (&Ty::Scalar(elem), lens)
            }
            t => t.flatten(),
        };
        if let Ty::Pointer(_) = elem {
            return Err(problem(
                codes::POINTER_USE,
                format!("'{}' is an array of pointers", d.spelling()),
                d,
            ));
        }
        let elem = scalar_type(elem, d)?;
        let Some(lens) = lens.into_iter().collect::<Option<Vec<u64>>>() else {
            let message = format!("the array '{}' has a variable length", d.spelling());
            return Err(problem(codes::VLA, message, d));
        };
        let total = lens.iter().try_fold(1u64, |a, &b| a.checked_mul(b));
        if total.is_none_or(|n| n > MAX_ARRAY) {
            return Err(problem(
                codes::TOO_LARGE,
                format!("the array '{}' is too large", d.spelling()),
                d,
            ));
        }
        Ok((elem, lens))
    }

    /// A string literal, as a table of its own.
    pub fn string(&mut self, c: Cursor<'u>) -> Result<Pointer> {
        let elem = ScalarType::I8;
        let text = text(c).filter(|_| types::of(c).flatten().0.as_scalar() == Some(elem));
        let mut text =
            text.ok_or_else(|| problem(codes::STRING, "this string literal is not supported", c))?;
        text.push(0);
        let len = text.len();
        let array = self.fresh("text");
        self.arrays.push(LocalArray {
            name: array.clone(),
            elem,
            len: Len::Fixed(len),
            init: Some(
                text.into_iter()
                    .map(|b| Scalar::int(elem, b.into()))
                    .collect(),
            ),
        });
        Ok(Pointer {
            target: Target { array, elem },
            offset: super::lower::zero_offset(),
            dims: vec![Expr::int(ScalarType::I64, len as i128)],
            view: elem,
        })
    }

    /// A variable of the file, or a static one: the declaration by which it is known here.
    pub fn global(&mut self, d: Cursor<'u>, at: Cursor<'u>) -> Result<Cursor<'u>> {
        let name = d.spelling();
        // What a template of variables is made for a type: `std::numbers::pi_v<float>`.
        if d.kind() == CXCursor_UnexposedDecl
            && types::const_elements(at.ty().canonical())
            && let Ty::Scalar(ty) = types::of(at)
            && let Ok(table) = constant_table(at, at.ty(), ty)
        {
            self.bindings.insert(d, Binding::Constant(table[0]));
            return Ok(d);
        }
        if d.kind() != CXCursor_VarDecl {
            let message = if d.kind() == CXCursor_FunctionDecl {
                return Err(problem(
                    codes::FUNCTION_POINTER,
                    format!("the function '{name}' is used as a value"),
                    at,
                ));
            } else {
                format!("'{name}' is not supported")
            };
            return Err(problem(codes::EXPRESSION, message, at));
        }
        let definition = d.definition().unwrap_or(d);
        for known in [definition, d.canonical()] {
            if self.bindings.contains_key(&known) {
                return Ok(known);
            }
        }
        let t = types::of(definition);
        if let Ty::Other(..) | Ty::Mixed(..) = &t {
            scalar_type(&t, at)?;
        }
        let Some(init) = definition
            .initializer()
            .filter(|_| types::const_elements(definition.ty().canonical()))
        else {
            self.file_variable(d.canonical(), at)?;
            return Ok(d.canonical());
        };
        match &t {
            Ty::Array(..) | Ty::Class(Class::Array(..)) => {
                let (elem, lens) = self.array_shape(definition, &t)?;
                let array = self.constant_array(definition, init, elem)?;
                let dims = lens
                    .iter()
                    .map(|&l| Expr::int(ScalarType::I64, l.into()))
                    .collect();
                self.bindings
                    .insert(definition, Binding::Array(Target { array, elem }, dims));
            }
            Ty::Scalar(ty) => {
                let table = constant_table(init, definition.ty(), *ty)?;
                self.bindings
                    .insert(definition, Binding::Constant(table[0]));
            }
            _ => {
                let message = format!("'{name}' is a global variable that is not a number");
                return Err(problem(codes::GLOBAL, message, at));
            }
        }
        Ok(definition)
    }

    /// Binds what is named, if it is a struct of the file that is a constant, or a table of such.
    pub fn constant_struct(&mut self, named: Cursor<'u>) -> Result<()> {
        let variable = named.referenced().filter(|d| d.kind() == CXCursor_VarDecl);
        let Some(d) = variable.filter(|d| !self.bindings.contains_key(d)) else {
            return Ok(());
        };
        let definition = d.definition().unwrap_or(d);
        let stays = d.is_static() || is_reached(d);
        let is_constant = stays && types::const_elements(definition.ty().canonical());
        // Why one can't be used is said where it is.
        if let Some(init) = definition.initializer().filter(|_| is_constant)
            && let Ok(Some(binding)) = self.constant_structs(definition, init)
        {
            self.bindings.insert(d, binding.clone());
            self.bindings.insert(definition, binding);
        }
        Ok(())
    }

    /// Structs that are what their initialiser says: one of numbers of one type is the only element of a table.
    pub fn constant_structs(
        &mut self,
        d: Cursor<'u>,
        init: Cursor<'u>,
    ) -> Result<Option<Binding<'u>>> {
        if d.ty().size().is_some_and(|bytes| bytes > MAX_ARRAY) {
            let message = format!("'{}' is too large", d.spelling());
            return Err(problem(codes::TOO_LARGE, message, d));
        }
        let t = types::of(d);
        let (of, lens) = t.flatten();
        let start = match (of, parts(d.ty())) {
            (Ty::Mixed(ty, bytes), _) => self.mixed_constant(d, init, ty, *bytes)?,
            (_, Some((elem, _))) if t.is_record() => Pointer {
                target: Target {
                    array: self.constant_array(d, init, elem)?,
                    elem,
                },
                offset: super::lower::zero_offset(),
                dims: vec![],
                view: elem,
            },
            _ => return Ok(None),
        };
        let lens: Option<Vec<u64>> = lens.into_iter().collect();
        Ok(match (&t, lens) {
            (Ty::Array(..), Some(lens)) => {
                let dims = lens.iter().map(|&l| Expr::int(ScalarType::I64, l.into()));
                Some(Binding::Array(start.target, dims.collect()))
            }
            _ => Some(Binding::Alias(Place::Array(start))),
        })
    }

    /// The numbers of a constant of the file.
    fn constant_array(&mut self, d: Cursor<'u>, init: Cursor<'u>, elem: ScalarType) -> Result<Sym> {
        let table = constant_table(init, d.ty(), elem)?;
        let array = self.fresh(d.spelling());
        self.arrays.push(LocalArray {
            name: array.clone(),
            elem,
            len: Len::Fixed(table.len()),
            init: Some(table),
        });
        Ok(array)
    }
}
