//! Objects that are copied or assigned: all of them, or nothing.

use super::Path;
use super::object::{Held, holdings, unsupported};
use crate::c::codes;
use crate::c::cpp::seq::int;
use crate::c::ffi::Cursor;
use crate::c::lower::{Base, Lower, Result, Variable, problem};
use crate::c::place::Place;
use crate::c::types::Ty;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::ScalarType;

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

    /// Makes an object a copy of another one.
    pub(super) fn copied_object(
        &mut self,
        to: &Path<'u>,
        from: &Path<'u>,
        at: Cursor<'u>,
    ) -> Result<()> {
        if to == from {
            return Ok(());
        }
        for (path, held) in holdings(at.ty()).ok_or_else(|| unsupported(at))? {
            let member: Path = (to.0, [&to.1[..], &path].concat());
            if !to.0.is_parameter() && path.last().is_some_and(|f| self.is_unknown_void(*f)) {
                self.pointers
                    .insert(Variable::Member(member), Base::Several);
                continue;
            }
            let source = self.number_in(from, &path, at)?;
            if let Held::Number(_) = held {
                let (value, place) = (self.load(source, at)?, self.number_in(to, &path, at)?);
                let size = match &place {
                    Place::Var(name, ty) if self.flat.of_the_caller.contains_key(name) => {
                        Some(Expr::Var(name.clone(), *ty))
                    }
                    _ => None,
                };
                match size.filter(|_| self.keeps_sizes(to)) {
                    Some(size) => self.require(Expr::compare(CmpOp::Eq, size, value))?,
                    None => self.write(place, value, at)?,
                }
                continue;
            }
            if let (Held::Pointer, Place::Array(p)) = (&held, &source) {
                let p = p.clone().decayed();
                self.point_member(member, p, at)?;
                continue;
            }
            if matches!(held, Held::Reference(_)) && !matches!(source, Place::Array(_)) {
                self.refer(member, source, at)?;
                continue;
            }
            let source = self.row_of(source).ok_or_else(|| unsupported(at))?;
            let dest = match (held, self.flat.vectors.get(&member).cloned()) {
                (Held::Span | Held::Reference(_), _) => {
                    self.hold_elements(member, source, at)?;
                    continue;
                }
                (Held::Vector(_), Some(seq)) => {
                    self.set_len(&seq, source.len.clone(), at)?;
                    seq
                }
                (Held::Vector(_), None) if to.0.is_parameter() => {
                    let place = self.number_in(to, &path, at)?;
                    let seq = self.row_of(place).ok_or_else(|| unsupported(at))?;
                    self.of_one_length(&seq.len, &source.len, at)?;
                    seq
                }
                (Held::Vector(element), None) => {
                    let len = self.settled("n", source.len.clone())?;
                    let seq = self.local_seq("copy", &element, &len, at)?;
                    self.flat.vectors.insert(member, seq.clone());
                    seq
                }
                _ => {
                    let place = self.number_in(to, &path, at)?;
                    self.row_of(place).ok_or_else(|| unsupported(at))?
                }
            };
            self.copy(&dest, int(0), &source, at)?;
        }
        Ok(())
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

    /// Whether this is the caller's, is assigned somewhere as a part of objects, and has to keep its sizes in all of them.
    fn keeps_sizes(&self, part: &Path<'u>) -> bool {
        let keeps = self.replaced_with(part);
        !keeps.is_empty() && keeps.iter().all(|keeps| *keeps)
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
