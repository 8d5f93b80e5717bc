//! What a function changes of its caller's objects other than element by element: numbers, lengths of vectors, whole objects.

use super::element::called;
use super::replaced::vectors_in;
use super::{Node, Path, within};
use crate::c::cpp::Reached;
use crate::c::cpp::class::Class;
use crate::c::cpp::method::This;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, Result};
use crate::c::types::{self, Ty};

impl<'u> Lower<'u, '_> {
    /// Notes which numbers change, and makes the parts that are vectors which change their length. That is one of the things that
    /// the function says in the end, however it ends.
    pub fn changing_members(&mut self) -> Result<()> {
        for (field, at) in std::mem::take(&mut self.cpp.changed_anywhere) {
            self.note_assigned(field, at)?;
        }
        for number in std::mem::take(&mut self.cpp.changed_numbers) {
            match (self.outside(&number)?, number.members.last()) {
                (Some(path), _) => _ = self.flat.changed.insert(path),
                (None, Some(field)) => self.note_assigned(*field, number.at)?,
                (None, None) => {}
            }
        }
        for replaced in std::mem::take(&mut self.cpp.replaced) {
            let Some(path) = self.outside(&replaced.object)? else {
                continue;
            };
            self.flat.replaced.push((path, replaced.keeps_sizes));
            let grown = vectors_in(replaced.ty)
                .into_iter()
                .filter(|_| !replaced.keeps_sizes)
                .map(|v| replaced.object.clone().member(&v, replaced.object.at));
            self.cpp.grown_members.extend(grown);
        }
        for vector in std::mem::take(&mut self.cpp.grown_members) {
            if let Some((root, mut path)) = self.outside(&vector)?
                && let Some(field) = path.pop()
                && !self
                    .flat
                    .vectors
                    .contains_key(&within(&(root, path.clone()), field))
            {
                self.growing_member((root, path), field, vector.at)?;
            }
        }
        Ok(())
    }

    /// What lies outside of the function.
    fn outside(&self, Reached { root, members, at }: &Reached<'u>) -> Result<Option<Path<'u>>> {
        let path = match root {
            None => match self.this(*at)? {
                This::Named(path) => Some(path),
                This::Element(_) => None,
            },
            Some(d) => self.flat.records.get(d).cloned(),
        };
        Ok(path.map(|(root, path)| (root, [&path[..], members].concat())))
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
