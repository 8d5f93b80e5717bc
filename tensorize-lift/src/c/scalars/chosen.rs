//! Short loops whose counter says in which array a round works.
//!
//! `for (v < 2) { float *p = v == 0 ? q : k; p[i] = …; }` does to one array after the other what it could do to each by
//! itself. Written out, every round is about one of them.

use super::{Loop, Stmt, Sym, mentions, statements, unrolled};
use std::collections::{HashMap, HashSet};
use tensorize_ir::loopir::{self, Expr, Visited};
use tensorize_ir::scalar::ScalarType;

/// More than this is not what a few arrays need.
const MAX_STATEMENTS: usize = 96;

/// Writes out such loops. Whether there was one.
pub(super) fn write_out(body: &mut Vec<Stmt>) -> bool {
    let mut any = false;
    loopir::visit(body, &mut |part| {
        if let Visited::Stmt(Stmt::Loop(l)) = part
            && let Some(Stmt::Assign { var, .. }) = l.body.last()
        {
            any |= chooses(l, var);
        }
    });
    if !any {
        return false;
    }
    let written_out = unrolled(body, &chooses, &mut HashMap::new(), &mut {
        MAX_STATEMENTS + statements(body)
    });
    let changed = written_out != *body;
    *body = written_out;
    changed
}

/// Whether the counter says which of two arrays is read, or written.
fn chooses(l: &Loop, counter: &Sym) -> bool {
    let mut said_by = HashSet::from([counter.clone()]);
    let mut chooses = false;
    loopir::visit(&l.body, &mut |part| {
        let says = |cond: &Expr| said_by.iter().any(|v| mentions(cond, v));
        match part {
            Visited::Stmt(Stmt::Assign { var, ty, value })
                if *ty == ScalarType::I1 && says(value) =>
            {
                said_by.insert(var.clone());
            }
            Visited::Stmt(Stmt::If {
                cond,
                then,
                otherwise,
            }) => {
                if let ([Stmt::Store { array: a, .. }], [Stmt::Store { array: b, .. }]) =
                    (&then[..], &otherwise[..])
                {
                    chooses |= a != b && says(cond);
                }
            }
            Visited::Expr(Expr::Select(cond, t, f)) => {
                if let (Expr::Load { array: a, .. }, Expr::Load { array: b, .. }) = (&**t, &**f) {
                    chooses |= a != b && says(cond);
                }
            }
            _ => {}
        }
    });
    chooses
}
