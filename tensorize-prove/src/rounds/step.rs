//! What a loop's rounds add to its counter.

use super::{uses, walking};
use std::collections::BTreeSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Loop, Stmt};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

/// A loop's step, which may also come first, and the rest of its body. Where several variables step in the end
/// (`i++, row += width`), it is the one that the loop's condition looks at.
pub(super) fn stepping(l: &Loop) -> Option<(Step<'_>, Vec<Stmt>)> {
    let mut asked = BTreeSet::new();
    l.cond.visit(&mut |e| {
        if let Expr::Var(v, _) = e {
            asked.insert(v.clone());
        }
    });
    let rest = |at: usize| [&l.body[..at], &l.body[at + 1..]].concat();
    let mut end = l.body.len();
    while let Some(at) = end.checked_sub(1) {
        if let Some(step) = step(&l.body[at])
            && asked.contains(step.var)
            && !uses(&l.body[end..], &BTreeSet::from([step.var.clone()]))
        {
            return Some((step, rest(at)));
        }
        if !walking::adds_to_itself(&l.body[at]) {
            break;
        }
        end = at;
    }
    if let Some(step) = l.body.last().and_then(step) {
        return Some((step, rest(l.body.len() - 1)));
    }
    let step = step(l.body.first()?)?;
    Some((
        Step {
            first: true,
            ..step
        },
        rest(0),
    ))
}

/// What a loop's counter has added to it.
pub(crate) struct Step<'a> {
    pub(super) stmt: &'a Stmt,
    pub(crate) var: &'a Sym,
    pub(super) ty: ScalarType,
    pub(crate) by: i128,
    /// A round begins with it.
    pub(super) first: bool,
}

impl Step<'_> {
    /// What so many steps add to the counter.
    pub(super) fn after(&self, number: Expr) -> Stmt {
        // The sum fits if the kernel's own steps do: in 64 bits no smaller type's overflows, what is unsigned wraps
        // either way, and nothing runs for 2^55 rounds.
        let wide = match self.ty {
            ScalarType::U64 => ScalarType::U64,
            _ => ScalarType::I64,
        };
        let first = Expr::convert(wide, Expr::Var(self.var.clone(), self.ty));
        let number = Expr::convert(wide, number);
        let steps = match self.by.abs() {
            1 => number,
            by => Expr::binary(BinOp::Multiply, number, Expr::int(wide, by)),
        };
        // Down by subtraction: without a sign, -1 is a large number, of which the product would wrap.
        let op = match self.by < 0 {
            true => BinOp::Subtract,
            false => BinOp::Add,
        };
        let value = Expr::convert(self.ty, Expr::binary(op, first, steps));
        Stmt::Assign {
            var: self.var.clone(),
            ty: self.ty,
            value,
        }
    }
}

/// `var = var + step` or `var = var - step` with a literal, of 32 or 64 bits.
pub(crate) fn step(stmt: &Stmt) -> Option<Step<'_>> {
    let Stmt::Assign { var, ty, value } = stmt else {
        return None;
    };
    let Expr::Binary(op, a, b) = value else {
        return None;
    };
    let (Expr::Var(from, _), Expr::Const(by)) = (&**a, &**b) else {
        return None;
    };
    let by = match op {
        BinOp::Add => by.as_int(),
        BinOp::Subtract => -by.as_int(),
        _ => return None,
    };
    let fits = ty.is_int() && ty.bits() >= 32 && from == var && (1..1 << 8).contains(&by.abs());
    fits.then_some(Step {
        stmt,
        var,
        ty: *ty,
        by,
        first: false,
    })
}
