//! What arguments of calls pass on.

use super::super::call::Arg;
use super::super::expr::as_truth;
use super::super::ffi::Cursor;
use super::super::flatten::is_reached;
use super::super::lower::{Binding, Lower, Result, convert, operands, peeled, scalar_type};
use super::super::operator::{self, Unary};
use super::super::types::{self, Ty};
use super::call::Call;
use super::class::{Class, in_std};
use super::effect::is_left_out;
use super::reference;
use super::seq::int;
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::scalar::ScalarType;

impl<'u> Lower<'u, '_> {
    /// What an argument passes on.
    pub fn argument(&mut self, a: Cursor<'u>, param: Option<Cursor<'u>>) -> Result<Arg<'u>> {
        Ok(match types::of(a).referred() {
            Ty::Pointer(_) => match self.one_object(a)? {
                Some(object) => Arg::Seq(object),
                None => Arg::Pointer(self.pointer(a)?),
            },
            Ty::Array(..) => match param.map(types::of) {
                Some(Ty::Reference(_)) => Arg::Place(self.place(a)?),
                _ => Arg::Pointer(self.pointer(a)?),
            },
            Ty::Class(Class::Lambda | Class::Functor(..)) | Ty::Function => {
                Arg::Callable(self.callable(a)?)
            }
            // What a function returns by value has a place of its own.
            Ty::Class(Class::Array(element, len)) if returns_array(a) => {
                let dest = self.local_seq("given", &element, &int(len.into()), a)?;
                self.construct(&dest, a)?;
                Arg::Seq(dest)
            }
            Ty::Class(_) => {
                let seq = self.seq(a)?;
                Arg::Seq(self.held_seq(seq)?)
            }
            _ => {
                let by_reference = matches!(param.map(types::of), Some(Ty::Reference(_)));
                if by_reference && self.is_place(a) {
                    Arg::Place(self.place(a)?)
                } else if is_left_out(a) {
                    Arg::Value(self.default_argument(a, param)?)
                } else {
                    Arg::Value(self.value(a)?)
                }
            }
        })
    }

    /// The value of a parameter that the call leaves to its default.
    fn default_argument(&mut self, a: Cursor<'u>, param: Option<Cursor<'u>>) -> Result<Expr> {
        let ty = scalar_type(&types::of(a).referred(), a)?;
        let default = param.and_then(|p| operands(p).last().copied());
        match default {
            Some(e) => {
                let v = self.value(e)?;
                Ok(if ty == ScalarType::I1 {
                    as_truth(v)
                } else {
                    convert(ty, v)
                })
            }
            None => self.value(a),
        }
    }

    /// Whether an expression names something that stays where it is, as its own type.
    pub fn is_place(&self, c: Cursor<'u>) -> bool {
        match c.kind() {
            CXCursor_DeclRefExpr => c.referenced().is_some_and(|d| {
                match self.bindings.get(&d) {
                    Some(Binding::Scalar(..) | Binding::Alias(_) | Binding::Array(..)) => true,
                    // A variable of the file that has not been used so far.
                    None => d.kind() == CXCursor_VarDecl && is_reached(d),
                    Some(_) => false,
                }
            }),
            CXCursor_ArraySubscriptExpr | CXCursor_MemberRefExpr => true,
            CXCursor_UnaryOperator => matches!(operator::unary(c), Ok(Unary::Deref)),
            CXCursor_ParenExpr | CXCursor_UnexposedExpr => match operands(c)[..] {
                [inner] => types::of(inner) == types::of(c) && self.is_place(inner),
                _ => false,
            },
            CXCursor_CallExpr if reference::is_element(c) => true,
            CXCursor_CallExpr => Call::of(c).is_some_and(|call| match call.name.as_str() {
                "operator[]" | "at" | "front" | "back" | "get" => true,
                // Not a product.
                "operator*" => call.args.len() == 1,
                // Of an iterator.
                "operator->" => matches!(
                    call.args.first().map(|a| types::of(*a).referred()),
                    Some(Ty::Pointer(_))
                ),
                _ => false,
            }),
            _ => false,
        }
    }
}

/// Whether an expression calls a function, one that is known, that returns a `std::array` by value.
fn returns_array(e: Cursor<'_>) -> bool {
    let e = peeled(e);
    let callee = (e.kind() == CXCursor_CallExpr).then(|| e.referenced());
    callee.flatten().is_some_and(|f| {
        f.kind() != CXCursor_Constructor
            && !in_std(f)
            && matches!(types::read(f.ty().result()), Ty::Class(Class::Array(..)))
            && super::super::call::helper(f).is_some()
    })
}
