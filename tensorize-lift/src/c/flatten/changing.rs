//! What a function changes of its caller's objects other than element by element: numbers, lengths of vectors, whole objects.

use super::element::called;
use super::object::{Held, held_in};
use super::{Node, Path, within};
use crate::c::cpp::changes::{Changes, Reached, Replaced};
use crate::c::cpp::class::Class;
use crate::c::cpp::method::This;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, Result, problem};
use crate::c::types::{self, Ty};
use tensorize_ir::index::Sym;

impl<'u> Lower<'u, '_> {
    /// Notes which numbers change, and makes the parts that are vectors which change their length. That is one of the things that
    /// the function says in the end, however it ends.
    pub fn changing_members(&mut self, changes: Changes<'u>) -> Result<()> {
        for (field, at) in changes.of_no_name {
            self.note_assigned(field, at)?;
        }
        for number in changes.numbers {
            match (self.outside(&number)?, number.members.last()) {
                (Some(path), _) => _ = self.flat.changed.insert(path),
                (None, Some(field)) => self.note_assigned(*field, number.at)?,
                (None, None) => {}
            }
        }
        let vectors = changes.vectors.into_iter();
        let to_any_length = vectors.filter(|(v, any)| *any && !v.members.is_empty());
        let mut grown: Vec<Reached> = to_any_length.map(|(v, _)| v).collect();
        for Replaced {
            object,
            ty,
            keeps_sizes,
        } in changes.objects
        {
            let Some(path) = self.outside(&object)? else {
                continue;
            };
            self.flat.replaced.push((path, keeps_sizes));
            if !keeps_sizes {
                let vectors = held_in(ty, |held| matches!(held, Held::Vector(_)));
                let vectors = vectors.iter().map(|v| object.clone().member(v, object.at));
                grown.extend(vectors);
            }
        }
        for vector in grown {
            let path = self.outside(&vector)?;
            if let Some((root, mut path)) = path.filter(|p| !self.flat.vectors.contains_key(p))
                && let Some(field) = path.pop()
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

    /// Refuses to change a variable that has the value of a number in the caller's memory, which was taken not to change.
    pub fn check_not_of_the_caller(&self, var: &Sym, at: Cursor<'u>) -> Result<()> {
        let Some(code) = self.flat.of_the_caller.get(var) else {
            return Ok(());
        };
        // If it is one of the file's that was seen to change, this says so.
        self.check_globals()?;
        let message = "a number outside of the function is changed through a reference";
        Err(problem(code, message, at))
    }
}
