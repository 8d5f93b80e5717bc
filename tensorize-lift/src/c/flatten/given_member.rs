//! Members that are returned by reference: where they lie in the parameter that they are a part of.

use super::record::{base_of, hidden};
use super::{Node, bare, name_of, struct_type};
use crate::c::codes;
use crate::c::ffi::Cursor;
use crate::c::given_back::Member;
use crate::c::lower::{Lower, Result, problem};
use tensorize_ir::signature::{Field, Shape};

impl<'u> Lower<'u, '_> {
    /// What a kernel returns that returns a reference to a member.
    pub fn member_given_back(&mut self, f: Cursor<'u>, member: &Member<'u>) -> Result<Shape> {
        let mut roots = self.flat.roots.iter().filter(|r| r.global.is_none());
        let root = roots.nth(member.number).map(|r| &r.node);
        let Some(Node::Struct {
            pointer,
            declaration,
            ty,
            ..
        }) = root
        else {
            let message = format!("'{}' returns a reference", f.spelling());
            return Err(problem(codes::TYPE, message, f));
        };
        let (pointer, declaration, ty) = (*pointer, *declaration, ty.clone());
        for field in &member.fields {
            self.check_access(*field, f)?;
        }
        let part = part((pointer, declaration, ty), &member.fields);
        Ok(Shape::Member {
            number: member.number,
            part: Box::new(part),
        })
    }
}

/// The struct, with nothing but the one member.
fn part((pointer, declaration, ty): (bool, Cursor<'_>, String), fields: &[Cursor<'_>]) -> Shape {
    let Some((&field, inner)) = fields.split_first() else {
        return Shape::Unused;
    };
    let inside = match struct_type(field.ty()).filter(|_| !inner.is_empty()) {
        Some((declaration, t, _)) => part((false, declaration, bare(t)), inner),
        None => Shape::Unused,
    };
    Shape::Struct {
        pointer,
        ty,
        fields: vec![Field {
            name: name_of(field),
            base: base_of(declaration, field),
            hidden: hidden(field),
            reference: None,
            shape: inside,
        }],
    }
}
