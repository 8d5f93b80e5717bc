//! `a = b` of objects: all of it, or nothing.

use super::Path;
use super::object::{Held, holdings, unsupported};
use crate::c::codes;
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Lower, Result, problem};
use crate::c::types::Ty;
use tensorize_ir::scalar::ScalarType;

/// The members of an object that are vectors, with those on the way to them.
pub(super) fn vectors_in<'u>(t: Type<'u>) -> Vec<Vec<Cursor<'u>>> {
    let all = holdings(t).unwrap_or_default().into_iter();
    all.filter(|(_, held)| matches!(held, Held::Vector(_)))
        .map(|(path, _)| path)
        .collect()
}

impl<'u> Lower<'u, '_> {
    /// `a = b`, of which the right side may be made of what the left one has been.
    pub(super) fn object_assigned(&mut self, l: Cursor<'u>, r: Cursor<'u>) -> Result<()> {
        if self.is_in_array(l) {
            let to = self.element(l)?;
            let to = self.settled_pointer(to)?;
            return self.assign_struct(&to, r);
        }
        let to = self.record(l)?;
        if let Some(of) = self.named_element(r)? {
            return self.copied_element(&to, &of, r.ty(), r);
        }
        self.check_replaced(&to, l)?;
        let from = match self.is_temporary(r) {
            true => self.temporary_object(r)?,
            false => self.record(r)?,
        };
        self.copied_object(&to, &from, l)
    }

    /// Refuses to assign an object of which a vector or a view is not known here: it is the caller's, or is made under a condition.
    fn check_replaced(&mut self, to: &Path<'u>, at: Cursor<'u>) -> Result<()> {
        let keeps = self.keeps_sizes(to);
        for (path, held) in holdings(at.ty()).ok_or_else(|| unsupported(at))? {
            let place = (to.0, [&to.1[..], &path].concat());
            let by_name = match held {
                Held::Vector(_) => !keeps,
                Held::Span | Held::Reference(_) => true,
                _ => false,
            };
            if by_name && !self.flat.vectors.contains_key(&place) {
                let message = "an object is assigned whose elements lie outside of the function";
                let mut p = problem(codes::RECORD, message, at);
                p.help = Some("assign its members one by one".into());
                return Err(p);
            }
        }
        Ok(())
    }

    /// Whether this is the caller's, is assigned somewhere as a part of an object, and has to keep its sizes.
    pub(super) fn keeps_sizes(&self, part: &Path<'u>) -> bool {
        let keeps = self.replaced_with(part);
        keeps.iter().any(|keeps| *keeps) && !keeps.iter().any(|keeps| !keeps)
    }

    /// Whether code assigns a number, alone or as a part of an object, so that its caller sees it. As a part, one that may be a
    /// size is known by its value where it has to be that afterwards.
    pub(super) fn is_number_changed(&self, number: &Path<'u>, ty: &Ty) -> bool {
        if self.flat.changed.contains(number) {
            return true;
        }
        let is_size = ty.as_scalar().is_some_and(ScalarType::is_int);
        let keeps = self.replaced_with(number);
        !keeps.is_empty() && (!is_size || !self.keeps_sizes(number))
    }

    /// Whether code assigns something that this is a part of, or that is a part of this.
    pub(super) fn is_changed_in_part(&self, (owner, path): &Path<'u>) -> bool {
        let objects = self.flat.replaced.iter().map(|(object, _)| object);
        let mut all = objects.chain(&self.flat.changed);
        all.any(|(o, other)| o == owner && (path.starts_with(other) || other.starts_with(path)))
    }

    /// Of the assigned objects that this is a part of: whether they have to keep their sizes.
    fn replaced_with(&self, (owner, path): &Path<'u>) -> Vec<bool> {
        let all = self.flat.replaced.iter();
        all.filter(|((o, object), _)| o == owner && path.starts_with(object))
            .map(|(_, keeps)| *keeps)
            .collect()
    }
}
