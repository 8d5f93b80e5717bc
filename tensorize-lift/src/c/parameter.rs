//! Parameters of a kernel.

use super::codes;
use super::ffi::Cursor;
use super::lower::{Lower, Result, Target, problem, scalar_type, zero_offset};
use super::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::loopir::Param;

impl<'u> Lower<'u, '_> {
    /// Refuses to write to what is `const`: a cast can take that away, and callers go by the type.
    pub fn check_const(&self, params: &[Param], f: Cursor<'u>) -> Result<()> {
        let is_written = |p: &&Param| match p {
            Param::Array { name, is_const, .. } => *is_const && self.written.contains(name),
            Param::Scalar { .. } => false,
        };
        let Some(name) = params.iter().find(is_written).map(Param::name) else {
            return Ok(());
        };
        let mut message = format!("what '{name}' points to is const, and is written to");
        if let Some(end) = self.end_of(name) {
            message += &format!(
                ": '{end}' is compared with it, and so taken for a pointer into the same array"
            );
        }
        Err(problem(codes::POINTER_USE, message, f))
    }

    /// Declares the parameter with this number.
    pub fn parameter(&mut self, i: usize, p: Cursor<'u>) -> Result<()> {
        let mut spelled = p.spelling();
        if spelled.is_empty() {
            spelled = format!("arg{i}");
        }
        if super::cpp::class::is_owner(p.ty()) {
            let message = format!("'{spelled}' owns what it points to");
            let mut refused = problem(codes::ALLOCATION, message, p);
            refused.help = Some("pass the pointer that 'get' gives, or the object it is in".into());
            return Err(refused);
        }
        if self.source.cpp
            && let Some((params, shape)) = self.object_parameter(p)?
        {
            self.add_parameter(p, &spelled, super::flatten::Node::Leaf(shape, params));
            return Ok(());
        }
        if self.source.cpp && self.object_pointer(p, &spelled)? {
            return Ok(());
        }
        if self.special_parameter(p, &spelled)? {
            return Ok(());
        }
        let name = self.fresh(&spelled);
        match types::of(p) {
            Ty::Pointer(pointee) => {
                let held = self.array_behind(&pointee, p)?;
                let (elem, dims) = held.as_ref().unwrap_or(&pointee).flatten();
                let dims = self.dimensions(p, &dims)?;
                let (is_const, restrict) = qualifiers(p);
                let elem = match elem {
                    Ty::Void => self.element_of_void(p).ok_or_else(|| {
                        let message =
                            format!("'{name}' points to void, so its elements have no type");
                        problem(codes::TYPE, message, p)
                    })?,
                    Ty::Pointer(_) => {
                        let message = format!("'{name}' is a pointer to pointers");
                        return Err(problem(codes::TYPE, message, p));
                    }
                    Ty::Function => {
                        let message = format!("'{name}' is a function pointer");
                        return Err(problem(codes::FUNCTION_POINTER, message, p));
                    }
                    t => {
                        let elem = scalar_type(t, p)?;
                        let made = (elem.bytes() == 1).then(|| self.element_of_void(p));
                        made.flatten().unwrap_or(elem)
                    }
                };
                let target = Target {
                    array: name.clone(),
                    elem,
                };
                self.bind_pointer(p, Some((target, dims, zero_offset())))?;
                let param = Param::Array {
                    name,
                    elem,
                    is_const,
                    restrict,
                };
                self.plain_parameter(p, &spelled, param);
                Ok(())
            }
            t => {
                let ty = scalar_type(&t, p)?;
                self.bind_scalar_named(p, name.clone(), ty, true)?;
                self.plain_parameter(p, &spelled, Param::Scalar { name, ty });
                Ok(())
            }
        }
    }
}

/// Of a pointer parameter: whether it points to `const`, and whether it is `restrict`.
pub(super) fn qualifiers(p: Cursor<'_>) -> (bool, bool) {
    let t = p.ty().canonical();
    if t.kind() == CXType_Pointer {
        (types::const_elements(t.pointee()), t.is_restrict())
    } else {
        // Declared as an array. libclang does not tell of a `restrict` between the brackets.
        (types::const_elements(t), false)
    }
}
