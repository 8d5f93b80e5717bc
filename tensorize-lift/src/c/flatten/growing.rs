//! Members that are vectors and change their length somewhere in the function.

use super::element::called;
use super::{Node, Path, within};
use crate::c::cpp::Reached;
use crate::c::cpp::class::Class;
use crate::c::cpp::method::This;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, Result};
use crate::c::types::{self, Ty};

impl<'u> Lower<'u, '_> {
    /// Makes the parts that are vectors which change their length. That is one of the things that the function says in the
    /// end, however it ends.
    pub fn growing_members(&mut self) -> Result<()> {
        for Reached { root, members, at } in std::mem::take(&mut self.cpp.grown_members) {
            let path = match root {
                None => match self.this(at)? {
                    This::Named(path) => Some(path),
                    This::Element(_) => None,
                },
                Some(d) => self.flat.records.get(&d).cloned(),
            };
            let Some(((root, mut path), (&field, way))) = path.zip(members.split_last()) else {
                continue;
            };
            path.extend(way);
            self.growing_member((root, path), field, at)?;
        }
        Ok(())
    }

    /// Others than vectors of numbers, or of the caller's, are refused where their length changes.
    fn growing_member(&mut self, owner: Path<'u>, field: Cursor<'u>, at: Cursor<'u>) -> Result<()> {
        let Ty::Class(Class::Vector(element)) = types::of(field) else {
            return Ok(());
        };
        let of_numbers = self.element_shape(&element, at);
        if !of_numbers.is_ok_and(|(_, dims)| dims.iter().all(Option::is_some)) {
            return Ok(());
        }
        let (by_pointer, is_const, prefix) = self.memory_of(&owner, field, at)?;
        if is_const || !by_pointer {
            return Ok(());
        }
        self.check_access(field, at)?;
        let name = format!("{prefix}_{}", called(field));
        let (seq, node) = self.growing_part(&name, &element, at)?;
        if let Node::Struct { fields, .. } = self.node(&owner, at)? {
            fields.push((field, node));
        }
        self.flat.vectors.insert(within(&owner, field), seq);
        Ok(())
    }
}
