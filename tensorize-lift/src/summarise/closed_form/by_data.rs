//! Which variables become what the data says, as the text has it: nobody has to try a round to see that they count nothing.

use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};

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
