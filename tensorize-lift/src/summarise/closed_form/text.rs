//! What the text of a loop says, so that nobody has to try a round to see it: which variables become what the data says, and
//! count nothing, and which nobody reads when it has ended.

use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Loop, Stmt, Visited, visit};

/// The variables that are given nothing but values that are read from memory, or chosen by such values.
pub(super) fn by_data(stmts: &[Stmt]) -> BTreeSet<Sym> {
    let mut found = BTreeSet::new();
    loop {
        let mut all = BTreeMap::new();
        assignments(stmts, false, &found, &mut all);
        let more: BTreeSet<Sym> = all
            .into_iter()
            .filter(|(_, by_data)| *by_data)
            .map(|(var, _)| var.clone())
            .collect();
        if more.len() == found.len() {
            return found;
        }
        found = more;
    }
}

/// Whether all that each variable is given depends on the data, as far as that is known of others.
fn assignments<'a>(
    stmts: &'a [Stmt],
    chosen: bool,
    known: &BTreeSet<Sym>,
    all: &mut BTreeMap<&'a Sym, bool>,
) {
    for stmt in stmts {
        match stmt {
            Stmt::Assign { var, value, .. } => {
                *all.entry(var).or_insert(true) &= chosen || depends(value, known);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let chosen = chosen || depends(cond, known);
                assignments(then, chosen, known, all);
                assignments(otherwise, chosen, known, all);
            }
            Stmt::Loop(l) => assignments(&l.body, chosen || depends(&l.cond, known), known, all),
            Stmt::Store { .. } | Stmt::Return(_) | Stmt::Trap => {}
        }
    }
}

fn depends(e: &Expr, known: &BTreeSet<Sym>) -> bool {
    match e {
        Expr::Load { .. } => true,
        Expr::Var(name, _) => known.contains(name),
        _ => e.children().into_iter().any(|e| depends(e, known)),
    }
}

/// The variables that are read outside of this loop of the function; `None` if it is another's.
pub(super) fn read_outside(function: &[Stmt], l: &Loop) -> Option<BTreeSet<Sym>> {
    let mut everywhere = BTreeMap::new();
    let mut is_there = false;
    visit(function, &mut |part| match part {
        Visited::Expr(e) => count(e, &mut everywhere),
        Visited::Stmt(Stmt::Loop(other)) => is_there |= other.id == l.id,
        Visited::Stmt(_) => {}
    });
    if !is_there {
        return None;
    }
    let mut within = BTreeMap::new();
    visit(&l.body, &mut |part| {
        if let Visited::Expr(e) = part {
            count(e, &mut within);
        }
    });
    l.cond.visit(&mut |e| count(e, &mut within));
    let outside = everywhere
        .into_iter()
        .filter(|(var, n)| within.get(var) != Some(n));
    Some(outside.map(|(var, _)| var.clone()).collect())
}

/// Counts the reads of variables; what is in an expression is counted by itself.
fn count<'a>(e: &'a Expr, reads: &mut BTreeMap<&'a Sym, usize>) {
    if let Expr::Var(name, _) = e {
        *reads.entry(name).or_default() += 1;
    }
}
