//! Places in tables of rows, which may lie anywhere: how far apart two of them are says nothing unless they are in one row.

use crate::c::codes;
use crate::c::ffi::Cursor;
use crate::c::lower::{Lower, Result, problem};
use crate::c::place::Pointer;
use std::collections::BTreeSet;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

impl Lower<'_, '_> {
    /// Refuses to tell how far apart two places are that may be in two rows.
    pub fn check_one_row(&self, a: &Pointer, b: &Pointer, at: Cursor<'_>) -> Result<()> {
        if self.are_in_one_row(a, b) {
            return Ok(());
        }
        let message = "places that may be in two rows of a table are subtracted";
        Err(problem(codes::POINTER_USE, message, at))
    }

    /// Whether it is a place in a table of rows.
    pub fn is_in_table(&self, p: &Pointer) -> bool {
        self.flat.tables.contains(&p.target.array)
    }

    /// Whether the text of two offsets says that no rows are between them. (What a pointer variable holds, it does not say.)
    pub fn are_in_one_row(&self, a: &Pointer, b: &Pointer) -> bool {
        if !self.is_in_table(a) {
            return true;
        }
        let mut hidden = BTreeSet::new();
        let between = &polynomial(&a.offset, &mut hidden) - &polynomial(&b.offset, &mut hidden);
        let mut known = true;
        between.for_each_sym(&mut |s| known &= !hidden.contains(s));
        known
    }
}

/// An offset over what it is computed of; and which of that may be an offset itself, or the distance of two rows.
fn polynomial(e: &Expr, hidden: &mut BTreeSet<Sym>) -> Idx {
    match e {
        Expr::Const(v) if v.ty.is_int() => Idx::constant(v.as_int()),
        Expr::Binary(op, a, b) if e.ty() == ScalarType::I64 => {
            let (x, y) = (polynomial(a, hidden), polynomial(b, hidden));
            match op {
                BinOp::Add => &x + &y,
                BinOp::Subtract => &x - &y,
                BinOp::Multiply => &x * &y,
                _ => opaque(e, hidden),
            }
        }
        _ => opaque(e, hidden),
    }
}

/// Something by its text: at one moment, the same text is the same number.
fn opaque(e: &Expr, hidden: &mut BTreeSet<Sym>) -> Idx {
    let name: Sym = format!("{e:?}").into();
    if mentions_offsets(e) {
        hidden.insert(name.clone());
    }
    Idx::sym(name)
}

fn mentions_offsets(e: &Expr) -> bool {
    matches!(e, Expr::Var(_, ScalarType::I64)) || e.children().into_iter().any(mentions_offsets)
}
