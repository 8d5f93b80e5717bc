//! Variables of the file. Each becomes parameters of its own, made when it is first used: a number that the function only
//! reads is passed by value, what it writes and arrays lie where they are.

use super::{Node, Owner, Root, array_param, bare, row_table, struct_declaration, struct_type};
use crate::c::codes;
use crate::c::cpp::class::scopes;
use crate::c::ffi::Cursor;
use crate::c::lower::{
    Binding, Lower, Result, Target, const_elements, problem, scalar_type, zero_offset,
};
use crate::c::place::Pointer;
use crate::c::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Param};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::signature::Shape;

impl<'u> Lower<'u, '_> {
    /// Lets a variable of the file that is no constant, by its first declaration, stand for parameters.
    pub fn file_variable(&mut self, d: Cursor<'u>, at: Cursor<'u>) -> Result<()> {
        let name = d.spelling();
        let refuse = |why: &str| Err(problem(codes::GLOBAL, format!("'{name}' {why}"), at));
        if !is_reached(d) {
            return refuse("belongs to a function or a class, where no other code can reach it");
        }
        if d.is_thread_local() {
            return refuse("is another variable in every thread");
        }
        let spelled = d.definition().unwrap_or(d).ty();
        if const_elements(spelled.canonical()) {
            return refuse("is constant, and its value is not in this file");
        }
        let t = types::read(spelled);
        let changed = self.is_changed(d);
        let node = match &t {
            Ty::Scalar(ty) if !changed => {
                let own = self.flat_name(&name);
                let shape = Shape::Scalar {
                    to: own.to_string(),
                };
                self.bindings.insert(d, Binding::Scalar(own.clone(), *ty));
                Node::Leaf(shape, vec![Param::Scalar { name: own, ty: *ty }])
            }
            Ty::Scalar(_) | Ty::Array(..) => {
                let (elem, lens) = t.flatten();
                if matches!(elem, Ty::Record(..)) {
                    return refuse("is an array of structs outside of the function");
                }
                let elem = scalar_type(elem, at)?;
                let Some(lens) = lens.into_iter().collect::<Option<Vec<u64>>>() else {
                    return refuse("has a length that this file does not tell");
                };
                let array = self.flat_name(&name);
                let shape = Shape::Place {
                    to: array.to_string(),
                    len: lens.iter().product(),
                };
                let dims = lens.iter().map(|&l| Expr::int(ScalarType::I64, l.into()));
                let target = Target {
                    array: array.clone(),
                    elem,
                };
                self.bindings
                    .insert(d, Binding::Array(target, dims.collect()));
                Node::Leaf(shape, vec![array_param(&array, elem, false, false)])
            }
            _ if struct_declaration(spelled).is_some() => self.file_struct(d),
            Ty::Pointer(_) if changed => {
                return refuse("is a pointer outside of the function, and is changed here");
            }
            Ty::Pointer(_) if struct_type(spelled).is_some() => self.file_struct(d),
            Ty::Pointer(to) => {
                let (target, dims, node) = if let Some((elem, is_const)) = row_table(&t, spelled) {
                    self.rows(&name, elem, is_const)
                } else {
                    let (elem, lens) = to.flatten();
                    let elem = scalar_type(elem, at)?;
                    let Some(lens) = lens.into_iter().collect::<Option<Vec<u64>>>() else {
                        return refuse("points to something of which the shape is not known");
                    };
                    let array = self.flat_name(&name);
                    let shape = Shape::Pointer {
                        to: array.to_string(),
                        given: None,
                    };
                    let is_const = const_elements(spelled.canonical().pointee());
                    let param = array_param(&array, elem, is_const, false);
                    let dims = lens.iter().map(|&l| Expr::int(ScalarType::I64, l.into()));
                    (
                        Target { array, elem },
                        dims.collect(),
                        Node::Leaf(shape, vec![param]),
                    )
                };
                let view = target.elem;
                let pointer = Pointer {
                    target,
                    offset: zero_offset(),
                    dims,
                    view,
                };
                self.flat.pointers.insert(d, pointer);
                node
            }
            Ty::Other(code, what) => {
                return Err(problem(code, format!("{what} is not supported"), at));
            }
            _ => {
                return refuse(
                    "is a variable outside of the function that is no number, pointer, array or struct",
                );
            }
        };
        let mut spelled_name = scopes(d);
        spelled_name.push(name);
        spelled_name.retain(|s| !s.is_empty());
        self.flat.roots.push(Root {
            name: spelled_name.join("::"),
            ty: String::new(),
            plain: false,
            global: Some(d),
            node,
        });
        Ok(())
    }

    /// A struct, or what a pointer to one points to.
    fn file_struct(&mut self, d: Cursor<'u>) -> Node<'u> {
        let t = d.definition().unwrap_or(d).ty();
        let (declaration, inner, pointer) = struct_type(t).expect("it was asked for");
        let path = (Owner::Parameter(self.flat.roots.len()), vec![]);
        self.flat.records.insert(d, path);
        Node::Struct {
            pointer,
            shared: true,
            declaration,
            ty: bare(inner),
            prefix: d.spelling(),
            is_const: inner.canonical().is_const(),
            fields: vec![],
        }
    }

    /// Where a pointer among the file's variables points.
    pub fn file_pointer(&mut self, d: Cursor<'u>, at: Cursor<'u>) -> Result<Option<Pointer>> {
        let d = d.canonical();
        if d.kind() != CXCursor_VarDecl || !matches!(types::read(d.ty()), Ty::Pointer(_)) {
            return Ok(None);
        }
        if !self.flat.pointers.contains_key(&d) {
            self.file_variable(d, at)?;
        }
        Ok(self.flat.pointers.get(&d).cloned())
    }

    /// Whether what was seen so far assigns a variable, or takes its address.
    fn is_changed(&self, d: Cursor<'u>) -> bool {
        let mut seen = self.assigned.iter().chain(&self.in_memory);
        seen.any(|s| s.canonical() == d)
    }

    /// Refuses variables that a helper function turned out to change after they were passed by value.
    pub(super) fn check_globals(&self) -> Result<()> {
        for root in &self.flat.roots {
            let by_value = match &root.node {
                Node::Leaf(shape, _) => !matches!(shape, Shape::Place { .. }),
                Node::Struct { pointer, .. } => *pointer,
            };
            if let Some(d) = root.global
                && by_value
                && self.is_changed(d)
            {
                let message = format!("'{}' is changed by a helper function", root.name);
                return Err(problem(codes::GLOBAL, message, d));
            }
        }
        Ok(())
    }
}

/// Whether code at the end of the file can name a variable.
pub(super) fn is_reached(d: Cursor<'_>) -> bool {
    let mut at = d.semantic_parent();
    while let Some(p) = at {
        match p.kind() {
            CXCursor_TranslationUnit => return true,
            CXCursor_Namespace | CXCursor_LinkageSpec | CXCursor_UnexposedDecl => {
                at = p.semantic_parent();
            }
            _ => return false,
        }
    }
    false
}
