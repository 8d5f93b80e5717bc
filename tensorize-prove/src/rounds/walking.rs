//! Variables besides the counter to which each round adds the same: `*out++`, `row += width`. What they are when a round
//! begins is told by its number.

use super::uses;
use crate::loops::modified;
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt, Visited, visit};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

/// A variable, and one of the numbers that a round adds to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Walk {
    pub var: Sym,
    ty: ScalarType,
    op: BinOp,
    by: Expr,
}

impl Walk {
    /// What so many rounds make of the variable.
    pub fn after(&self, number: Expr) -> Stmt {
        // The sum fits if the kernel's own steps do: see `walks` for why the product does, too.
        let wide = match self.ty {
            ScalarType::U64 => ScalarType::U64,
            _ => ScalarType::I64,
        };
        let number = Expr::convert(wide, number);
        let by = Expr::convert(wide, self.by.clone());
        let steps = match &by {
            Expr::Const(one) if one.as_int() == 1 => number,
            _ => Expr::binary(BinOp::Multiply, number, by),
        };
        let first = Expr::convert(wide, Expr::Var(self.var.clone(), self.ty));
        Stmt::Assign {
            var: self.var.clone(),
            ty: self.ty,
            value: Expr::convert(self.ty, Expr::binary(self.op, first, steps)),
        }
    }
}

/// Whether a statement is `v = v + e` or `v = v - e`, of what does not look at `v` or at memory.
pub(super) fn adds_to_itself(stmt: &Stmt) -> bool {
    walk(stmt).is_some()
}

fn walk(stmt: &Stmt) -> Option<Walk> {
    let Stmt::Assign { var, ty, value } = stmt else {
        return None;
    };
    let Expr::Binary(op @ (BinOp::Add | BinOp::Subtract), a, by) = value else {
        return None;
    };
    let mut fixed = true;
    by.visit(&mut |e| {
        fixed &= match e {
            Expr::Var(v, _) => v != var,
            Expr::Const(_) | Expr::Convert(..) => e.ty().is_int(),
            Expr::Binary(BinOp::Add | BinOp::Subtract | BinOp::Multiply, ..) => e.ty().is_int(),
            _ => false,
        };
    });
    let itself = matches!(&**a, Expr::Var(from, _) if from == var);
    (itself && fixed && ty.is_int() && ty.bits() >= 32).then(|| Walk {
        var: var.clone(),
        ty: *ty,
        op: *op,
        by: (**by).clone(),
    })
}

/// What each round adds to which variables, given the loop's counter, the statements before the loop, its body, and what else
/// is done in the first round. What is done in the last one comes after all that is said here.
pub(super) fn walks(counter: &Sym, before: &[Stmt], body: &[Stmt], first: &[Stmt]) -> Vec<Walk> {
    let mut changed: BTreeSet<Sym> = modified(body).0.into_keys().collect();
    let in_first = modified(first).0;
    changed.insert(counter.clone());
    changed.extend(in_first.keys().cloned());
    let mut times: BTreeMap<Sym, usize> = BTreeMap::new();
    visit(body, &mut |part| {
        if let Visited::Stmt(Stmt::Assign { var, .. }) = part {
            *times.entry(var.clone()).or_default() += 1;
        }
    });
    let all: Vec<Walk> = body.iter().filter_map(walk).collect();
    let of_all_rounds = |w: &Walk| {
        let steps: Vec<&Walk> = all.iter().filter(|other| other.var == w.var).collect();
        steps.len() == times[&w.var]
            && !in_first.contains_key(&w.var)
            && steps.iter().all(|step| is_fixed(step, &changed))
            && fit(&steps, before)
    };
    all.iter().filter(|w| of_all_rounds(w)).cloned().collect()
}

/// Whether what is added is the same in all rounds.
fn is_fixed(walk: &Walk, changed: &BTreeSet<Sym>) -> bool {
    let mut fixed = true;
    walk.by.visit(&mut |e| {
        fixed &= !matches!(e, Expr::Var(v, _) if changed.contains(v));
    });
    fixed
}

/// Whether the products of a variable's steps and a number of rounds fit where the kernel's own sums do: those of small
/// literals of one sign, as nothing runs for 2^55 rounds; of 32 bits with a sign, in 64; and of one step of 64 bits with a sign
/// where the variable begins at 0, so that the product is the sum.
fn fit(steps: &[&Walk], before: &[Stmt]) -> bool {
    let literal = |step: &&Walk| match (&step.by, step.op) {
        (Expr::Const(by), BinOp::Add) => Some(by.as_int()),
        (Expr::Const(by), _) => Some(-by.as_int()),
        _ => None,
    };
    let literals: Option<Vec<i128>> = steps.iter().map(literal).collect();
    let small = |by: &[i128]| {
        by.iter().all(|by| (0..1 << 8).contains(by)) || by.iter().all(|by| (-255..1).contains(by))
    };
    match steps {
        _ if literals.is_some_and(|by| small(&by)) => true,
        [step] if step.ty == ScalarType::I64 => begins_at_zero(&step.var, before),
        // What has no sign wraps either way.
        _ => [ScalarType::I32, ScalarType::U64].contains(&steps[0].ty),
    }
}

fn begins_at_zero(var: &Sym, before: &[Stmt]) -> bool {
    let mut sets = before
        .iter()
        .filter(|s| uses(std::slice::from_ref(s), &BTreeSet::from([var.clone()])));
    let is_zero = |s: &&Stmt| matches!(s, Stmt::Assign { var: v, value: Expr::Const(c), .. } if v == var && c.as_int() == 0);
    sets.next().as_ref().is_some_and(is_zero) && sets.next().is_none()
}
