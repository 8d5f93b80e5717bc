//! Vectors and spans of structs with members of several types (`flatten/mixed.rs` has what is said of these).

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::flatten::has_name;
use super::super::lower::{Binding, Lower, Result, problem};
use super::super::types::{self, Ty};
use super::class::Class;
use super::params::{Flattened, referred_const};
use super::seq::Seq;
use tensorize_ir::loopir::Param;
use tensorize_ir::signature::{Holder, Shape};

impl<'u> Lower<'u, '_> {
    /// A vector of structs with members of several types that is passed by reference, or a span of such.
    pub(super) fn mixed_sequence(
        &mut self,
        p: Cursor<'u>,
        name: &str,
        t: Ty,
    ) -> Result<Option<Flattened>> {
        let by_reference = matches!(t, Ty::Reference(_));
        let (element, extent, holder) = match t.referred() {
            Ty::Class(Class::Vector(element)) => (element, None, Holder::Vector),
            Ty::Class(Class::Span(element, extent)) => (element, extent, Holder::Span),
            _ => return Ok(None),
        };
        let Ty::Mixed(ty, bytes) = *element else {
            return Ok(None);
        };
        if !has_name(&ty) {
            return Ok(None);
        }
        if holder == Holder::Vector && (!by_reference || self.cpp.grown.contains(&p)) {
            let message = format!("'{name}' is a vector of structs that is copied or grows");
            let mut problem = problem(codes::RECORD, message, p);
            problem.help = Some("take it by reference, and leave its length as it is".into());
            return Err(problem);
        }
        if extent.is_some() {
            let message = format!("'{name}' is a span of structs whose type has its length");
            let mut problem = problem(codes::RECORD, message, p);
            problem.help = Some("take a span of any length".into());
            return Err(problem);
        }
        let spelled = p.ty().canonical();
        let referred = if by_reference {
            spelled.pointee()
        } else {
            spelled
        };
        let is_const = match holder {
            Holder::Span => referred_const(referred, 0),
            _ => types::const_elements(referred),
        };
        let (seq, params, shape) = self.mixed_form(name, &ty, bytes, is_const, holder);
        self.bindings.insert(p, Binding::Seq(seq));
        Ok(Some((params, shape)))
    }

    /// What a vector or a span outside of the kernel becomes whose elements are such structs.
    pub(super) fn mixed_form(
        &mut self,
        name: &str,
        ty: &str,
        bytes: u64,
        is_const: bool,
        holder: Holder,
    ) -> (Seq, Vec<Param>, Shape) {
        let (param, len) = self.size_param(name, "size");
        let size = Some(param.name().to_string());
        let (start, shape) = self.mixed_array(name, ty, bytes, is_const, (holder, size));
        let seq = Seq {
            start,
            len,
            size: None,
            rows: None,
        };
        (seq, vec![param], shape)
    }
}
