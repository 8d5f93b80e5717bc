//! Short loops whose counter says in which array a round works.
//!
//! `for (v < 2) { float *p = v == 0 ? q : k; p[i] = …; }` does to one array after the other what it could do to each by
//! itself. Written out, every round is about one of them.

use super::{Loop, Stmt, Sym, statements, unrolled};
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
        let says = |cond: &Expr| said_by.iter().any(|v| cond.mentions(v));
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

#[cfg(test)]
mod tests {
    use tensorize_ir::loopir::Function;

    fn written_out(counted: &str, round: &str) -> String {
        let text = format!(
            "void f(i32 *q, i32 *k, i32 m, i32 n) {{ i32 most = {counted}; i32 v = 0; while (v < most) {{ {round} v = v + 1; }} q[9] = v; }}"
        );
        let mut f: Function = text.parse().unwrap();
        super::write_out(&mut f.body);
        f.validate().unwrap();
        f.to_string()
    }

    const EACH: &str = "i1 first = v == 0; if (first) { q[n] = v; } else { k[n] = v; }";

    #[test]
    fn every_round_is_about_one_array() {
        let text = written_out("2", "i1 first = v == 0; q[0] = first ? q[1] : k[1];");
        assert!(
            text.contains("q[0] = q[1]") && text.contains("q[0] = k[1]"),
            "{text}"
        );
        let text = written_out("m < n ? 2:i32 : 1:i32", EACH);
        assert!(!text.contains("while") && !text.contains("else"), "{text}");
        // The second round, and what the counter is after it, only where there is one.
        let branch = text.split("< most) {").nth(1).unwrap();
        assert!(
            branch.contains("k[n] = 1") && branch.contains("v = 2"),
            "{text}"
        );
        assert!(
            text.split("< most) {").next().unwrap().contains("q[n] = 0"),
            "{text}"
        );
    }

    #[test]
    fn other_loops_stay() {
        // Nobody knows how many rounds there are.
        assert!(written_out("m", EACH).contains("while"));
        // One array.
        let one = "i1 first = v == 0; if (first) { q[n] = v; } else { q[m] = v; }";
        assert!(written_out("m < n ? 2:i32 : 1:i32", one).contains("while"));
    }
}
