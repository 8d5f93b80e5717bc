//! Kernels of which the original runs all calls that leave a loop early.
//!
//! `if (x[i] < 0) return -1;` in a loop is what a caller hears of bad data. What the loop does as a whole depends on where
//! that happens first, for which there may be no summary, or no code. Of calls in which it never happens there is one.

use crate::c::{only_if, simplified};
use std::collections::BTreeSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Function, Stmt, Visited, visit};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// The kernel with a trap wherever a loop is left before its end; nothing if it has no such place.
pub fn left_to_the_original(kernel: &Function) -> Option<Function> {
    let flags = flags(kernel);
    if flags.is_empty() {
        return None;
    }
    let mut function = kernel.clone();
    traps(&mut function.body, &flags, false);
    let mut unset = flags;
    function.body = without(function.body, &mut unset);
    function.validate().is_ok().then_some(function)
}

/// The truth values that a loop sets to end itself, and others around it: false until then, and never false again in a loop,
/// as what ends a loop within another one is.
fn flags(kernel: &Function) -> BTreeSet<Sym> {
    let (mut ends, mut set, mut others) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    others.extend(kernel.params.iter().map(|p| p.name().clone()));
    visit(&kernel.body, &mut |v| match v {
        Visited::Stmt(Stmt::Loop(l)) => {
            l.cond.visit(&mut |e| {
                if let Expr::Var(v, ScalarType::I1) = e {
                    ends.insert(v.clone());
                }
            });
            visit(&l.body, &mut |v| {
                if let Visited::Stmt(Stmt::Assign { var, value, .. }) = v {
                    let to = if is_true(value) {
                        &mut set
                    } else {
                        &mut others
                    };
                    to.insert(var.clone());
                }
            });
        }
        Visited::Stmt(Stmt::Assign { var, value, .. }) if !matches!(value, Expr::Const(_)) => {
            others.insert(var.clone());
        }
        _ => {}
    });
    set.retain(|flag| ends.contains(flag) && !others.contains(flag));
    set
}

fn is_true(e: &Expr) -> bool {
    matches!(e, Expr::Const(v) if *v == Scalar::bool(true))
}

/// Puts a trap in the place of every block of a loop that sets a flag.
fn traps(stmts: &mut Vec<Stmt>, flags: &BTreeSet<Sym>, in_loop: bool) {
    let sets = |s: &Stmt| matches!(s, Stmt::Assign { var, .. } if flags.contains(var));
    if in_loop && stmts.iter().any(sets) {
        *stmts = vec![Stmt::Trap];
        return;
    }
    for stmt in stmts {
        match stmt {
            Stmt::If {
                then, otherwise, ..
            } => {
                traps(then, flags, in_loop);
                traps(otherwise, flags, in_loop);
            }
            Stmt::Loop(l) => traps(&mut l.body, flags, true),
            _ => {}
        }
    }
}

/// The statements without the flags that are not set yet, and what runs only if one is.
fn without(stmts: Vec<Stmt>, unset: &mut BTreeSet<Sym>) -> Vec<Stmt> {
    let known = |e: &mut Expr, unset: &BTreeSet<Sym>| {
        e.visit_mut(&mut |e| {
            if matches!(e, Expr::Var(v, ScalarType::I1) if unset.contains(v)) {
                *e = Expr::Const(Scalar::bool(false));
            }
            let before = std::mem::replace(e, Expr::Const(Scalar::bool(false)));
            *e = simplified(before);
        });
    };
    let mut out = Vec::new();
    for mut stmt in stmts {
        match &mut stmt {
            Stmt::Assign { var, value, .. } => {
                known(value, unset);
                if !matches!(value, Expr::Const(v) if *v == Scalar::bool(false)) {
                    unset.remove(var);
                }
            }
            Stmt::Store { index, value, .. } => {
                known(index, unset);
                known(value, unset);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                known(cond, unset);
                match cond {
                    Expr::Const(v) => {
                        let taken = if v.is_true() { then } else { otherwise };
                        out.extend(without(std::mem::take(taken), unset));
                        continue;
                    }
                    _ => {
                        // What one branch sets is not known behind it.
                        let mut in_other = unset.clone();
                        *then = without(std::mem::take(then), unset);
                        *otherwise = without(std::mem::take(otherwise), &mut in_other);
                        unset.retain(|flag| in_other.contains(flag));
                    }
                }
                out.extend(only_if(
                    cond.clone(),
                    std::mem::take(then),
                    std::mem::take(otherwise),
                ));
                continue;
            }
            // No round sets one.
            Stmt::Loop(l) => {
                known(&mut l.cond, unset);
                l.body = without(std::mem::take(&mut l.body), unset);
            }
            Stmt::Return(Some(value)) => known(value, unset),
            Stmt::Return(None) | Stmt::Trap => {}
        }
        out.push(stmt);
    }
    out
}
