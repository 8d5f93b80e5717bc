//! Looks ahead: which local vectors are returned or become rows, and which change their length.

use super::super::ffi::Cursor;
use super::super::flatten::is_object;
use super::super::lower::{Lower, Result, operands, peeled};
use super::super::types::{self, Ty};
use super::Role;
use super::changes::Changes;
use super::class::{Class, in_std};
use clang_sys::*;
use std::collections::HashSet;

/// The variable that an expression names, through casts, copies and `std::move`.
pub(super) fn named<'u>(e: Cursor<'u>) -> Option<Cursor<'u>> {
    let e = peeled(e);
    match e.kind() {
        CXCursor_DeclRefExpr => e.referenced(),
        CXCursor_CallExpr => {
            let callee = e.referenced()?;
            let copies = callee.kind() == CXCursor_Constructor
                && (e.arguments().first()).is_some_and(|a| {
                    is_vector(&types::of(e)) && is_vector(&types::of(*a))
                        || is_object(e.ty()) && is_object(a.ty())
                });
            let moves = in_std(callee) && matches!(callee.spelling().as_str(), "move" | "forward");
            (copies || moves)
                .then(|| named(*e.arguments().first()?))
                .flatten()
        }
        CXCursor_CXXStaticCastExpr | CXCursor_CXXFunctionalCastExpr => match operands(e)[..] {
            [inner] => named(inner),
            _ => None,
        },
        _ => None,
    }
}

/// The variable that an expression names a part of, or all.
pub(super) fn root<'u>(e: Cursor<'u>) -> Option<Cursor<'u>> {
    let e = peeled(e);
    match e.kind() {
        CXCursor_DeclRefExpr => e.referenced(),
        // What a pointer points to is looked for by its name.
        CXCursor_MemberRefExpr | CXCursor_ArraySubscriptExpr | CXCursor_UnaryOperator => {
            root(*operands(e).first()?)
        }
        CXCursor_CallExpr => {
            // `rows[i]`
            let callee = e.referenced()?;
            let subscripts = callee.spelling() == "operator[]";
            root(*operands(e).first().filter(|_| subscripts)?)
        }
        _ => None,
    }
}

fn is_vector(t: &Ty) -> bool {
    matches!(t, Ty::Class(Class::Vector(_) | Class::Array(..)))
}

/// The object that a member function is called on.
pub(super) fn object<'u>(call: Cursor<'u>) -> Option<Cursor<'u>> {
    let member = *call.children().first()?;
    // `x.values[i]` has a member, too, which is no function.
    let names_it = member
        .referenced()
        .is_some_and(|m| m.kind() != CXCursor_FieldDecl);
    if member.kind() != CXCursor_MemberRefExpr || !names_it {
        return None;
    }
    operands(member).first().copied()
}

impl<'u> Lower<'u, '_> {
    /// Looks through a function that is about to be lowered; gives what it changes.
    pub fn scan_objects(&mut self, f: Cursor<'u>) -> Result<Changes<'u>> {
        let Some(body) = super::super::source::body(f) else {
            return Ok(Changes::default());
        };
        self.check_moves(f)?;
        self.returned(body);
        self.row_roles(body);
        let changes = Changes::of(f);
        for (variable, to_any_length) in changes.variables() {
            self.cpp.grown.insert(variable);
            if to_any_length {
                self.cpp.to_any_length.insert(variable);
            }
        }
        Ok(changes)
    }

    /// The one variable that all `return`s return, if it is a vector or an object that holds arrays.
    fn returned(&mut self, body: Cursor<'u>) {
        let mut found: HashSet<Cursor<'u>> = HashSet::new();
        let mut pending = vec![body];
        while let Some(c) = pending.pop() {
            if c.kind() == CXCursor_LambdaExpr {
                continue;
            }
            if c.kind() == CXCursor_ReturnStmt
                && let Some(&e) = operands(c).first()
                && let Some(d) = named(e)
                && matches!(d.kind(), CXCursor_VarDecl | CXCursor_ParmDecl)
                && (is_vector(&types::of(d)) || d.kind() == CXCursor_VarDecl && is_object(d.ty()))
            {
                found.insert(d);
            }
            pending.extend(c.children());
        }
        if found.len() == 1 {
            let roles = found.into_iter().map(|d| (d, Role::Result));
            self.cpp.roles.extend(roles);
        }
    }

    /// Vectors that are pushed onto a vector of vectors, in the block that declares them and at the end of
    /// their life: they can be built in place.
    fn row_roles(&mut self, c: Cursor<'u>) {
        if c.kind() == CXCursor_CompoundStmt {
            let stmts = operands(c);
            for (i, s) in stmts.iter().enumerate() {
                let Some((outer, row)) = pushed(*s) else {
                    continue;
                };
                let declared = stmts[..i]
                    .iter()
                    .any(|d| d.kind() == CXCursor_DeclStmt && d.children().contains(&row));
                let used_again = stmts[i + 1..].iter().any(|s| s.mentions(row));
                let used_before = stmts[..i].iter().any(|s| pushes(*s, outer));
                if declared && !used_again && !used_before {
                    self.cpp.roles.insert(row, Role::RowOf(outer));
                }
            }
        }
        for child in c.children() {
            self.row_roles(child);
        }
    }
}

/// `outer.push_back(row)`, as a statement: both variables.
fn pushed<'u>(s: Cursor<'u>) -> Option<(Cursor<'u>, Cursor<'u>)> {
    let s = peeled(s);
    if s.kind() != CXCursor_CallExpr
        || !matches!(s.spelling().as_str(), "push_back" | "emplace_back")
    {
        return None;
    }
    let outer = named(object(s)?)?;
    let [row] = s.arguments()[..] else {
        return None;
    };
    let row = named(row)?;
    (row.kind() == CXCursor_VarDecl && matches!(types::of(row), Ty::Class(Class::Vector(_))))
        .then_some((outer, row))
}

/// Whether anything changes the length of a vector.
fn pushes<'u>(c: Cursor<'u>, d: Cursor<'u>) -> bool {
    Changes::of(c).variables().any(|(v, _)| v == d)
}
