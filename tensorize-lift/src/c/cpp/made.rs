//! How a vector is made, as an expression says.

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::flatten::{is_reached, is_zero_at_first};
use super::super::lower::{Lower, Result, operands, peeled, problem};
use super::super::types::{self, Ty};
use super::class::Class;
use super::scan;
use clang_sys::*;

/// How a vector is made.
pub(super) enum Made<'u> {
    Empty,
    /// So many elements of this value, or zeros.
    Filled(Cursor<'u>, Option<Cursor<'u>>),
    Listed(Vec<Cursor<'u>>),
    /// From one iterator to another.
    Range(Cursor<'u>, Cursor<'u>),
    Copied(Cursor<'u>),
    /// By a function that returns it.
    Returned(Cursor<'u>, Cursor<'u>),
    Chosen([Cursor<'u>; 3]),
}

impl<'u> Lower<'u, '_> {
    /// What an expression makes a vector of.
    pub(super) fn made(&mut self, e: Cursor<'u>) -> Result<Made<'u>> {
        let unsupported = || {
            problem(
                codes::INITIALIZER,
                "this way to make a vector is not supported",
                e,
            )
        };
        match e.kind() {
            CXCursor_InitListExpr => {
                // The braces of a `std::array` may be left out, or written twice.
                let items = operands(e);
                return Ok(match items[..] {
                    [one]
                        if one.kind() == CXCursor_InitListExpr
                            && matches!(types::of(one), Ty::Array(..)) =>
                    {
                        Made::Listed(operands(one))
                    }
                    _ => Made::Listed(items),
                });
            }
            CXCursor_ParenExpr | CXCursor_UnexposedExpr | CXCursor_CXXFunctionalCastExpr => {
                return match operands(e)[..] {
                    [inner] => self.made(inner),
                    _ => Err(unsupported()),
                };
            }
            CXCursor_ConditionalOperator => {
                let [c, l, r] = operands(e)[..] else {
                    return Err(unsupported());
                };
                return Ok(Made::Chosen([c, l, r]));
            }
            CXCursor_CallExpr => {}
            _ => return Ok(Made::Copied(e)),
        }
        let callee = e.referenced().ok_or_else(unsupported)?;
        if callee.kind() != CXCursor_Constructor {
            let moves = super::class::in_std(callee)
                && matches!(callee.spelling().as_str(), "move" | "forward");
            return Ok(match super::super::call::helper(callee) {
                _ if moves => {
                    let from = *e.arguments().first().ok_or_else(unsupported)?;
                    self.check_moved(from)?;
                    Made::Copied(from)
                }
                Some(f)
                    if !super::class::in_std(callee)
                        && matches!(
                            types::of(e),
                            Ty::Class(Class::Vector(_) | Class::Array(..))
                        ) =>
                {
                    Made::Returned(e, f)
                }
                _ => Made::Copied(e),
            });
        }
        self.made_from(&e.arguments(), e)
    }

    /// Refuses to take the elements out of a vector that the caller still has.
    pub(super) fn check_moved(&self, from: Cursor<'u>) -> Result<()> {
        let own = match scan::named(from).filter(|_| peeled(from).kind() == CXCursor_DeclRefExpr) {
            Some(d) => {
                let by_reference = matches!(
                    d.ty().canonical().kind(),
                    CXType_LValueReference | CXType_RValueReference
                );
                d.kind() == CXCursor_ParmDecl && !by_reference
                    || d.kind() == CXCursor_VarDecl && !by_reference && !is_reached(d)
            }
            None => !matches!(
                peeled(from).kind(),
                CXCursor_MemberRefExpr | CXCursor_UnaryOperator
            ),
        };
        if own || from.ty().is_const() || !matches!(types::of(from).referred(), Ty::Class(_)) {
            return self.check_not_reached(from);
        }
        let mut p = problem(
            codes::ALLOCATION,
            format!(
                "'{}' is emptied here, which is the caller's",
                from.spelling()
            ),
            from,
        );
        p.help = Some("copy it, or swap the two where they are declared".into());
        Err(p)
    }

    /// What a constructor makes of its arguments.
    pub(super) fn made_from(
        &mut self,
        arguments: &[Cursor<'u>],
        e: Cursor<'u>,
    ) -> Result<Made<'u>> {
        let unsupported = || {
            problem(
                codes::INITIALIZER,
                "this way to make a vector is not supported",
                e,
            )
        };
        let arguments: Vec<_> = arguments
            .iter()
            .copied()
            .filter(|a| types::of(*a).referred() != Ty::Class(Class::Allocator))
            .collect();
        let ty = |c: Cursor<'u>| types::of(c).referred();
        Ok(match arguments[..] {
            [] => Made::Empty,
            [one] => match ty(one) {
                Ty::Scalar(_) if !is_zero_at_first(e.ty()) => return Err(unsupported()),
                Ty::Scalar(_) => Made::Filled(one, None),
                Ty::Class(Class::List(_)) => match list_items(one) {
                    Some(items) => Made::Listed(items),
                    None => Made::Copied(one),
                },
                Ty::Class(Class::Vector(_) | Class::Array(..)) => self.made(one)?,
                _ => return Err(unsupported()),
            },
            [first, last] => match (ty(first), ty(last)) {
                (Ty::Pointer(_), Ty::Pointer(_))
                | (Ty::Class(Class::Reverse), Ty::Class(Class::Reverse)) => {
                    Made::Range(first, last)
                }
                (Ty::Scalar(_), _) => Made::Filled(first, Some(last)),
                _ => return Err(unsupported()),
            },
            _ => return Err(unsupported()),
        })
    }
}

/// The elements of a braced list, or `None` for another `std::initializer_list`.
fn list_items(e: Cursor<'_>) -> Option<Vec<Cursor<'_>>> {
    let e = peeled(e);
    (e.kind() == CXCursor_InitListExpr).then(|| operands(e))
}
