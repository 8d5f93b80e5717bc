//! What the text of a loop says, so that nobody has to try a round to see it: which variables become what the data says, and
//! count nothing, and which nobody reads when it has ended.

use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Loop, Stmt, Visited, visit};

/// The variables that are given nothing but values that are read from memory, or chosen by such values. One that either branch
/// sets may step alike in both: `if (x[i] < 0) { *o++ = 0; } else { *o++ = x[i]; }`
pub(super) fn by_data(stmts: &[Stmt]) -> BTreeSet<Sym> {
    let mut found = BTreeSet::new();
    loop {
        let all = assignments(stmts, &found).into_iter();
        let more: BTreeSet<Sym> = all
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
fn assignments<'a>(stmts: &'a [Stmt], known: &BTreeSet<Sym>) -> BTreeMap<&'a Sym, bool> {
    let mut all: BTreeMap<&Sym, bool> = BTreeMap::new();
    for stmt in stmts {
        let here = match stmt {
            Stmt::Assign { var, value, .. } => BTreeMap::from([(var, depends(value, known))]),
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let chosen = depends(cond, known);
                let [then, otherwise] = [then, otherwise].map(|b| assignments(b, known));
                let vars = then.keys().chain(otherwise.keys());
                vars.map(|var| match (then.get(var), otherwise.get(var)) {
                    (Some(a), Some(b)) => (*var, *a && *b),
                    (a, b) => (*var, chosen || a == Some(&true) || b == Some(&true)),
                })
                .collect()
            }
            Stmt::Loop(l) => {
                let chosen = depends(&l.cond, known);
                let inside = assignments(&l.body, known).into_iter();
                inside.map(|(var, by)| (var, chosen || by)).collect()
            }
            Stmt::Store { .. } | Stmt::Return(_) | Stmt::Trap => continue,
        };
        for (var, by_data) in here {
            *all.entry(var).or_insert(true) &= by_data;
        }
    }
    all
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
