//! Copies: those that are another name for what nobody changes, and those that have elements of their own.

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::lower::{Binding, Lower, Result, Target, span};
use super::super::types::Ty;
use super::class::Class;
use super::seq::{Seq, int};

impl<'u> Lower<'u, '_> {
    /// A parameter by value is a copy, and a copy is not made.
    pub(in super::super) fn must_not_change(&mut self, p: Cursor<'u>, target: &Target) {
        let at = super::super::lower::span(p);
        self.cpp
            .copies
            .push((target.array.clone(), p.spelling(), at));
    }

    /// A copy of a vector, which only this function sees.
    pub(super) fn own_copy(
        &mut self,
        name: &str,
        element: &Ty,
        seq: Seq,
        at: Cursor<'u>,
    ) -> Result<Seq> {
        let seq = self.settled_seq(seq)?;
        let dest = match (element, &seq.start.dims[..]) {
            (Ty::Class(Class::Vector(inner)), [pitch]) if let Ty::Scalar(elem) = **inner => Seq {
                len: seq.len.clone(),
                ..self.table_of(name, elem, int(0), pitch.clone())
            },
            _ => self.local_seq(name, element, &seq.len, at)?,
        };
        self.copy(&dest, int(0), &seq, at)?;
        Ok(dest)
    }

    /// Binds a copy to the original, which must not be written then.
    pub fn borrow_copy(&mut self, d: Cursor<'u>, seq: Seq) -> Result<()> {
        let array = seq.start.target.array.clone();
        self.cpp.copies.push((array, d.spelling(), span(d)));
        self.bindings.insert(d, Binding::Seq(seq));
        Ok(())
    }

    /// A vector that is passed by value and changed, so that a copy of it has to be made.
    pub fn changed_parameter(&self) -> Option<Cursor<'u>> {
        let mut lent = self.cpp.lent.iter();
        lent.find(|(array, _)| self.is_written(array))
            .map(|(_, p)| *p)
    }

    /// Refuses copies that would have had to be made.
    pub fn check_copies(&self) -> Result<()> {
        for (array, name, at) in &self.cpp.copies {
            if self.is_written(array) {
                return Err(super::super::Problem {
                    code: codes::ALLOCATION,
                    message: format!("'{name}' is a copy, and one of the two is changed"),
                    span: at.clone(),
                    help: Some("take it by reference, or build a new vector and return it".into()),
                });
            }
        }
        Ok(())
    }
}
