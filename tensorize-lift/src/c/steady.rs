//! Variables that never hold anything but what one parameter holds, as the result of a method does that a loop's condition
//! calls (`i < m.rows()`): the parameter stands in their place, and what is left of conditions becomes one expression.

use super::expr::{negation, select};
use super::jump::drop_assignments;
use std::collections::{BTreeMap, HashSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Param, Stmt, Visited, each_expr_mut, visit};
use tensorize_ir::scalar::Scalar;

/// Puts parameters in the place of the variables that are set in loops or branches to nothing else.
pub(super) fn replace(body: &mut Vec<Stmt>, params: &[Param]) {
    let mut values = values(body);
    // One that is set holds something else before.
    let is_param = |var: &Sym| params.iter().any(|p| p.name() == var);
    values.retain(|var, _| !is_param(var) && is_set_within(body, var, false));
    each_expr_mut(body, &mut |e| {
        if let Expr::Var(v, _) = e
            && let Some(value) = values.get(v)
        {
            *e = value.clone();
        }
    });
    drop_assignments(body, &values.into_keys().collect::<HashSet<Sym>>());
    let passing = passing(body);
    join_conditions(body, &passing);
}

/// The variables that are set in one place and read in one place.
fn passing(body: &[Stmt]) -> HashSet<Sym> {
    let (mut set, mut read) = (BTreeMap::new(), BTreeMap::new());
    let count = |of: &mut BTreeMap<Sym, usize>, var: &Sym| *of.entry(var.clone()).or_default() += 1;
    visit(body, &mut |v| match v {
        Visited::Stmt(Stmt::Assign { var, .. }) => count(&mut set, var),
        Visited::Expr(Expr::Var(var, _)) => count(&mut read, var),
        _ => {}
    });
    set.retain(|var, times| *times == 1 && read.get(var) == Some(&1));
    set.into_keys().collect()
}

/// The variables that all assignments give the same parameter, which is never set itself, or what holds that parameter.
fn values(body: &[Stmt]) -> BTreeMap<Sym, Expr> {
    let mut assigned: BTreeMap<Sym, Vec<Expr>> = BTreeMap::new();
    visit(body, &mut |v| {
        if let Visited::Stmt(Stmt::Assign { var, value, .. }) = v {
            assigned.entry(var.clone()).or_default().push(value.clone());
        }
    });
    let mut found: BTreeMap<Sym, Expr> = BTreeMap::new();
    loop {
        let held = |value: &Expr| match value {
            Expr::Var(v, _) if assigned.contains_key(v) => found.get(v).cloned(),
            Expr::Var(..) => Some(value.clone()),
            _ => None,
        };
        let one = |values: &[Expr]| {
            let first = held(values.first()?)?;
            let same = values.iter().all(|v| held(v).as_ref() == Some(&first));
            same.then_some(first)
        };
        let more = assigned.iter().filter(|(var, _)| !found.contains_key(*var));
        let more: Vec<_> = more
            .filter_map(|(var, values)| Some((var.clone(), one(values)?)))
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// Whether a loop or a branch sets the variable.
fn is_set_within(stmts: &[Stmt], var: &Sym, within: bool) -> bool {
    stmts.iter().any(|s| match s {
        Stmt::Assign { var: set, .. } => within && set == var,
        Stmt::If {
            then, otherwise, ..
        } => is_set_within(then, var, true) || is_set_within(otherwise, var, true),
        Stmt::Loop(l) => is_set_within(&l.body, var, true),
        Stmt::Store { .. } | Stmt::Return(_) | Stmt::Trap => false,
    })
}

/// `t = a; if (!t) t = b;` becomes `t = a || b`, and the same of `&&`.
fn join_conditions(block: &mut Vec<Stmt>, passing: &HashSet<Sym>) {
    for s in block.iter_mut() {
        match s {
            Stmt::If {
                then, otherwise, ..
            } => {
                join_conditions(then, passing);
                join_conditions(otherwise, passing);
            }
            Stmt::Loop(l) => join_conditions(&mut l.body, passing),
            _ => {}
        }
    }
    let mut out: Vec<Stmt> = Vec::new();
    for stmt in std::mem::take(block) {
        let both = out.last().and_then(|before| joined(before, &stmt, passing));
        if both.is_some() {
            out.pop();
        }
        out.push(both.unwrap_or(stmt));
    }
    *block = out;
}

/// One assignment in the place of the first one and of the second, which may give its variable something else.
fn joined(first: &Stmt, second: &Stmt, passing: &HashSet<Sym>) -> Option<Stmt> {
    let (
        Stmt::Assign { var, ty, value },
        Stmt::If {
            cond,
            then,
            otherwise,
        },
    ) = (first, second)
    else {
        return None;
    };
    let itself = Expr::Var(var.clone(), *ty);
    let set = |block: &[Stmt]| {
        let (set, value) = in_one(block, passing)?;
        (set == *var && !value.mentions(var)).then_some(value)
    };
    let truth = |v| Expr::Const(Scalar::bool(v));
    let value = match (&then[..], &otherwise[..]) {
        (then, []) if *cond == itself => select(value.clone(), set(then)?, truth(false)),
        (then, []) if *cond == negation(itself.clone()) => {
            select(value.clone(), truth(true), set(then)?)
        }
        ([], otherwise) if *cond == itself => select(value.clone(), truth(true), set(otherwise)?),
        _ => return None,
    };
    let (var, ty) = (var.clone(), *ty);
    Some(Stmt::Assign { var, ty, value })
}

/// The variable that a block sets, and to what, if all else that it sets is only read for that.
fn in_one(block: &[Stmt], passing: &HashSet<Sym>) -> Option<(Sym, Expr)> {
    let (Stmt::Assign { var, value, .. }, before) = block.split_last()? else {
        return None;
    };
    let mut value = value.clone();
    for stmt in before.iter().rev() {
        let Stmt::Assign {
            var: part,
            value: held,
            ..
        } = stmt
        else {
            return None;
        };
        if !passing.contains(part) || !value.mentions(part) {
            return None;
        }
        value.visit_mut(&mut |e| {
            if matches!(e, Expr::Var(v, _) if v == part) {
                *e = held.clone();
            }
        });
    }
    Some((var.clone(), value))
}

#[cfg(test)]
mod tests {
    use tensorize_ir::loopir::Function;

    fn replaced(text: &str) -> String {
        let mut f: Function = text.parse().unwrap();
        super::replace(&mut f.body, &f.params);
        f.validate().unwrap();
        f.to_string()
    }

    #[test]
    fn what_a_condition_asks_in_each_round_is_a_parameter() {
        let text = replaced(
            "void f(i32 n, i32 *x) { i32 i = 0; i32 size = n;
               while (i < size) { x[i] = size; i = i + 1; size = n; } }",
        );
        assert!(text.contains("(i < n)"), "{text}");
        assert!(
            text.contains("x[i] = n") && !text.contains("size"),
            "{text}"
        );
    }

    /// As with a copy of a size, which a method of the copy's owner is asked for in each round.
    #[test]
    fn what_holds_what_holds_a_parameter_is_that_parameter() {
        let text = replaced(
            "void f(i32 n, i32 *x) { i32 rows = n; i32 i = 0; i32 size = rows;
               while (i < size) { x[i] = size; i = i + 1; size = rows; } }",
        );
        assert!(text.contains("(i < n)"), "{text}");
        assert!(!text.contains("size"), "{text}");
    }

    /// So does what no loop and no branch sets: it is a name that somebody gave.
    #[test]
    fn what_changes_stays() {
        for text in [
            "void f(i32 n, i32 *x) { i32 i = 0; i32 s = n; while (i < s) { x[i] = s; i = i + 1; s = n - 1; } }",
            "void f(i32 n, i32 *x) { i32 i = 0; i32 s = n; while (i < s) { x[i] = s; i = i + 1; s = i; } }",
            "void f(i32 n, i32 m, i32 *x) { i32 i = 0; i32 s = n; while (i < s) { x[i] = s; i = i + 1; s = m; } }",
            "void f(i32 n, i32 *x) { i32 i = 0; i32 s = n; while (i < s) { x[i] = s; i = i + 1; n = n - 1; s = n; } }",
            "void f(i32 n, i32 *x) { i32 i = 0; i32 r = n; i32 s = r; while (i < s) { x[i] = s; i = i + 1; r = r - 1; s = r; } }",
            "void f(i32 n, i32 m, i32 *x) { i32 i = 0; i32 r = n; i32 s = m; while (i < s) { x[i] = s; i = i + 1; s = r; } }",
            "void f(i32 n, i32 *x) { i32 s = n; x[0] = s; }",
            "void f(i32 n, i32 m, i32 *x) { if (m > n) { m = n; } x[0] = m; }",
            "void f(i32 n, i32 m, i32 *x) { i32 i = 0; while (i < m) { m = n; i = i + 1; } x[0] = m; }",
        ] {
            let same: Function = text.parse().unwrap();
            assert_eq!(replaced(text), same.to_string());
        }
    }

    #[test]
    fn conditions_in_steps_are_one() {
        let text = replaced(
            "i1 f(i32 n, i32 m) { i1 t = n == 0; if (!t) { i1 s = m % n == 1; t = !s; } return t; }",
        );
        assert!(text.contains("i1 t = n == 0 || !(m % n == 1);"), "{text}");
        let text =
            replaced("i1 f(i32 n, i32 m) { i1 t = n > 0; if (t) { t = m % n == 1; } return t; }");
        assert!(text.contains("i1 t = n > 0 && m % n == 1;"), "{text}");
        for text in [
            // What is set on the way is read later.
            "i1 f(i32 n, i32 m) { i1 s = n == 7; i1 t = n == 0; if (!t) { s = m == 1; t = s; } return s; }",
            // Another variable.
            "i1 f(i32 n, i32 m) { i1 s = n == 7; i1 t = n == 0; if (!t) { s = m == 1; } return s; }",
            "i1 f(i32 n, i32 m) { i1 t = n == 0; if (m == 2) { t = m == 1; } return t; }",
            "i1 f(i32 n, i32 *x) { i1 t = n == 0; if (!t) { x[0] = 3; t = n == 1; } return t; }",
        ] {
            assert!(replaced(text).contains("if ("), "{text}");
        }
    }
}
