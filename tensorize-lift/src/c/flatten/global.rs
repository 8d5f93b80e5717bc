//! Variables of the file. Each becomes parameters of its own, made when it is first used: a number that the function only
//! reads is passed by value, what it writes and arrays lie where they are.

use super::record::Part;
use super::{Node, Owner, Root, named, struct_type};
use crate::c::codes;
use crate::c::cpp::class::scopes;
use crate::c::ffi::Cursor;
use crate::c::lower::{Binding, Lower, Result, problem};
use crate::c::place::{Place, Pointer};
use crate::c::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::signature::Shape;

impl<'u> Lower<'u, '_> {
    /// Lets a variable of the file that is no constant, by its first declaration, stand for parameters.
    pub fn file_variable(&mut self, d: Cursor<'u>, at: Cursor<'u>) -> Result<()> {
        let name = d.spelling();
        let refuse = |why: &str| Err(problem(codes::GLOBAL, format!("'{name}' {why}"), at));
        if !is_reached(d) {
            return refuse(match d.is_static() {
                true => {
                    "is static in a function or a class, and may keep a value from one call to the next"
                }
                false => "belongs to a function or a class, where no other code can reach it",
            });
        }
        if d.is_thread_local() {
            return refuse("is another variable in every thread");
        }
        let spelled = d.definition().unwrap_or(d).ty();
        let refers = matches!(types::read(spelled), Ty::Reference(_));
        if refers && types::const_elements(spelled.canonical().pointee()) {
            return refuse("refers to a constant, and to which one is not known");
        }
        if types::const_elements(spelled.canonical()) {
            if let Some(init) = d.definition().unwrap_or(d).initializer() {
                self.constant_structs(d.definition().unwrap_or(d), init)?;
            }
            return refuse("is constant, and its value is not in this file");
        }
        let is_pointer = matches!(types::read(spelled), Ty::Pointer(_));
        let changed = self.is_changed(d);
        if is_pointer && changed {
            return refuse("is a pointer outside of the function, and is changed here");
        }
        let is_struct = struct_type(spelled).is_some_and(|(_, _, pointer)| pointer == is_pointer);
        let node = if is_struct {
            self.file_struct(d)
        } else {
            let part = Part {
                name: &name,
                called: &format!("'{name}', outside of the function,"),
                spelled,
                by_value: !changed,
                is_const: false,
            };
            let (place, node) = self.part(&part, at)?;
            if let Place::Var(name, _) = &place {
                self.flat.of_the_caller.insert(name.clone(), codes::GLOBAL);
            }
            self.bindings.insert(d, Binding::Alias(place));
            node
        };
        let mut spelled_name = scopes(d);
        spelled_name.push(name);
        spelled_name.retain(|s| !s.is_empty());
        self.flat.roots.push(Root {
            name: spelled_name.join("::"),
            ty: String::new(),
            plain: false,
            points: false,
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
            ty: named(t, inner, pointer),
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
        if !self.bindings.contains_key(&d) {
            self.file_variable(d, at)?;
        }
        Ok(match self.bindings.get(&d) {
            Some(Binding::Alias(Place::Array(p))) => Some(p.clone().decayed()),
            _ => None,
        })
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
                // Of a vector, the elements lie where they are, and its size does not change.
                Node::Leaf(shape, _) => !matches!(
                    shape,
                    Shape::Place { .. } | Shape::Vector { .. } | Shape::Nested { .. }
                ),
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
pub(in crate::c) fn is_reached(d: Cursor<'_>) -> bool {
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
