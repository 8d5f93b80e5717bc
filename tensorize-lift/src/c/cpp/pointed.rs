//! Pointers to one vector or string, which functions have for what they give back: `p->resize(n)`, `(*p)[i] = …`. Such a
//! pointer is another name for what it points to. It stays where it is and is not null: calls with a null pointer have no
//! flat form, and are the original's.

use super::super::codes;
use super::super::ffi::{Cursor, Type};
use super::super::flatten::Node;
use super::super::lower::{Binding, Lower, Result, operands, peeled, problem};
use super::super::operator::{self, Unary};
use super::super::types::{self, Ty};
use super::class::Class;
use super::seq::Seq;
use clang_sys::*;

/// What a pointer of this type points to, if that is a vector or a string. (An iterator over rows is no such pointer.)
pub(super) fn pointee(t: Type<'_>) -> Option<Class> {
    let t = t.canonical();
    let to = (t.kind() == CXType_Pointer).then(|| types::read(t.pointee()))?;
    to.as_class()
        .filter(|class| matches!(class, Class::Vector(_) | Class::Text(_)))
}

/// The pointer to the sequence that an expression names: `p` of `*p`, and of `p->size()`, whose object it is.
pub(super) fn pointer_to_object(c: Cursor<'_>) -> Option<Cursor<'_>> {
    let pointer = match c.kind() {
        CXCursor_UnaryOperator if matches!(operator::unary(c), Ok(Unary::Deref)) => {
            *operands(c).first()?
        }
        _ => c,
    };
    let t = pointer.ty().canonical();
    let to = (t.kind() == CXType_Pointer).then(|| types::read(t.pointee()))?;
    let is_sequence = to.as_class().is_some_and(|class| class.is_sequence());
    is_sequence.then_some(pointer)
}

/// Why a pointer to a vector can't be used as one into an array.
pub(in super::super) fn points_to_one(p: Cursor<'_>) -> super::super::Problem {
    let message = format!("'{}' is taken to point to one object", p.spelling());
    let mut p = problem(codes::POINTER_USE, message, p);
    p.help = Some("pass a reference, or a vector of what it points to".into());
    p
}

impl<'u> Lower<'u, '_> {
    /// A parameter that points to a vector or a string; `false` if it is none, or is not used.
    pub fn object_pointer(&mut self, p: Cursor<'u>, name: &str) -> Result<bool> {
        let Some(class) = pointee(p.ty()).filter(|_| self.is_needed(p)) else {
            return Ok(false);
        };
        self.check_points_on(p)?;
        let referred = Ty::Reference(Box::new(Ty::Class(class)));
        let Some((params, shape)) = self.object_form(p, name.to_string(), referred)? else {
            return Ok(false);
        };
        self.add_parameter(p, name, Node::Leaf(shape, params));
        self.points_to_object();
        Ok(true)
    }

    /// Refuses a pointer to an object that does not stay where it is.
    pub(super) fn check_points_on(&self, p: Cursor<'u>) -> Result<()> {
        let moves = self.assigned.contains(&p) || self.in_memory.contains(&p);
        if !moves || pointee(p.ty()).is_none() {
            return Ok(());
        }
        let message = format!(
            "'{}' points to an object, and to another one later",
            p.spelling()
        );
        let mut p = problem(codes::POINTER_USE, message, p);
        p.help = Some("give each object a pointer, or a reference, of its own".into());
        Err(p)
    }

    /// `std::vector<T> *p = &v;`: another name for it; `false` if it is none.
    pub fn declare_object_pointer(&mut self, d: Cursor<'u>, e: Cursor<'u>) -> Result<bool> {
        if pointee(d.ty()).is_none() {
            return Ok(false);
        }
        let Some(object) = self.one_object(e)? else {
            return Ok(false);
        };
        self.check_points_on(d)?;
        self.bindings.insert(d, Binding::Seq(object));
        Ok(true)
    }

    /// The object that a pointer points to, if that is one by itself: a variable or a member, and no row.
    pub fn one_object(&mut self, pointer: Cursor<'u>) -> Result<Option<Seq>> {
        if pointee(pointer.ty()).is_none() {
            return Ok(None);
        }
        let p = peeled(pointer);
        let object = match p.kind() {
            CXCursor_DeclRefExpr => match p.referenced().and_then(|d| self.bindings.get(&d)) {
                Some(Binding::Seq(s)) => s.clone(),
                _ => return Ok(None),
            },
            CXCursor_UnaryOperator if matches!(operator::unary(p), Ok(Unary::AddressOf)) => {
                let Some(of) = operands(p).first().map(|o| peeled(*o)) else {
                    return Ok(None);
                };
                let is_one = match of.kind() {
                    CXCursor_DeclRefExpr | CXCursor_MemberRefExpr => true,
                    CXCursor_UnaryOperator => matches!(operator::unary(of), Ok(Unary::Deref)),
                    _ => false,
                };
                if !is_one {
                    return Ok(None);
                }
                self.seq(of)?
            }
            _ => return Ok(None),
        };
        self.held_seq(object).map(Some)
    }

    /// The sequence behind a pointer.
    pub(super) fn behind(&mut self, pointer: Cursor<'u>) -> Result<Seq> {
        if let Some(object) = self.one_object(pointer)? {
            return Ok(object);
        }
        let place = self.pointer(pointer)?.deref();
        self.row_of(place).ok_or_else(|| {
            let message = "what this points to is not known to have elements";
            problem(codes::TYPE, message, pointer)
        })
    }

    /// A sequence that goes by another name as well. One that can grow keeps its variable for the length.
    pub(super) fn held_seq(&mut self, seq: Seq) -> Result<Seq> {
        match seq.size {
            Some(_) => Ok(seq),
            None => self.settled_seq(seq),
        }
    }

    /// What a pointer to `std::array`s points to, as C's arrays.
    pub fn array_behind(&mut self, t: &Ty, at: Cursor<'u>) -> Result<Option<Ty>> {
        if !matches!(t, Ty::Class(Class::Array(..))) {
            return Ok(None);
        }
        let (elem, dims) = self.element_shape(t, at)?;
        let of = |inner, len: &Option<u64>| Ty::Array(Box::new(inner), *len);
        Ok(Some(dims.iter().rev().fold(Ty::Scalar(elem), of)))
    }
}
