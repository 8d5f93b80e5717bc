//! `a = b` of objects: all of it, or nothing.

use super::Path;
use super::object::{Held, holdings, unsupported};
use crate::c::codes;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, Result, problem};

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
        for (path, held) in holdings(at.ty()).ok_or_else(|| unsupported(at))? {
            let place = (to.0, [&to.1[..], &path].concat());
            let by_name = matches!(held, Held::Vector(_) | Held::Span | Held::Reference(_));
            if by_name && !self.flat.vectors.contains_key(&place) {
                let message = "an object is assigned whose elements lie outside of the function";
                let mut p = problem(codes::RECORD, message, at);
                p.help = Some("assign its members one by one".into());
                return Err(p);
            }
        }
        Ok(())
    }
}
