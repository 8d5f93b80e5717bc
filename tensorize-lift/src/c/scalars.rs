//! Small local arrays as variables.
//!
//! Code keeps a few numbers in an array (`float acc[4]`, a union, a variable whose address is taken) that it could
//! as well keep in variables of their own. Where every index is a literal, or is one after loops of known length
//! over it are written out, the array goes.

mod in_place;

use super::simd::fold;
use std::collections::{HashMap, HashSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{
    self, Expr, LocalArray, Loop, LoopMode, Stmt, Visited, each_expr_mut, each_stmt_mut,
};
use tensorize_ir::op::{self, BinOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Larger arrays stay arrays.
const MAX_LEN: usize = 64;
/// Longer loops stay loops.
const MAX_ROUNDS: usize = 64;
/// Of more, the loops say better what it is.
const MAX_STATEMENTS: usize = 256;

/// Replaces the arrays that can be replaced, and writes out what transforms a small block in place.
pub(super) fn replace(arrays: &mut Vec<LocalArray>, body: &mut Vec<Stmt>) {
    replace_local(arrays, body);
    if in_place::write_out(arrays, body) {
        renumber(body, &mut 0);
    }
}

fn replace_local(arrays: &mut Vec<LocalArray>, body: &mut Vec<Stmt>) {
    let small: HashSet<Sym> = arrays
        .iter()
        .filter(|a| a.init.is_none() && a.len.fixed().is_some_and(|n| n <= MAX_LEN))
        .map(|a| a.name.clone())
        .collect();
    if small.is_empty() {
        return;
    }
    let mut budget = MAX_STATEMENTS;
    let written_out = unrolled(body, &small, &mut HashMap::new(), &mut budget);
    let mut open = small;
    each_access(&written_out, &mut |array, index| {
        let len = arrays
            .iter()
            .find(|a| a.name == *array)
            .and_then(|a| a.len.fixed())
            .unwrap_or(0);
        let inside = matches!(index, Expr::Const(v) if (0..len as i128).contains(&v.as_int()));
        if !inside {
            open.remove(array);
        }
    });
    if open.is_empty() {
        return;
    }
    *body = written_out;
    let elems: HashMap<Sym, ScalarType> = arrays
        .iter()
        .filter(|a| open.contains(&a.name))
        .map(|a| (a.name.clone(), a.elem))
        .collect();
    arrays.retain(|a| !open.contains(&a.name));
    substitute(body, &elems);
    renumber(body, &mut 0);
}

/// The name of the variable for an element. No name of C has a bracket.
fn variable(array: &Sym, index: &Expr) -> Option<Sym> {
    match index {
        Expr::Const(v) => Some(format!("{array}.at{}", v.as_int()).into()),
        _ => None,
    }
}

/// A copy with loops over small arrays written out. `known` are the variables that are literals here.
fn unrolled(
    block: &[Stmt],
    small: &HashSet<Sym>,
    known: &mut HashMap<Sym, Scalar>,
    budget: &mut usize,
) -> Vec<Stmt> {
    let mut out = Vec::new();
    for s in block {
        *budget = budget.saturating_sub(1);
        match s {
            Stmt::Assign { var, ty, value } => {
                let value = folded(value, &HashMap::new());
                match &value {
                    Expr::Const(v) => known.insert(var.clone(), *v),
                    _ => known.remove(var),
                };
                out.push(Stmt::Assign {
                    var: var.clone(),
                    ty: *ty,
                    value,
                });
            }
            Stmt::Store {
                array,
                index,
                value,
            } => out.push(Stmt::Store {
                array: array.clone(),
                index: folded(index, &HashMap::new()),
                value: folded(value, &HashMap::new()),
            }),
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let then = unrolled(then, small, &mut known.clone(), budget);
                let otherwise = unrolled(otherwise, small, &mut known.clone(), budget);
                forget(s, known);
                out.push(Stmt::If {
                    cond: folded(cond, &HashMap::new()),
                    then,
                    otherwise,
                });
            }
            Stmt::Loop(l) => match rounds(l, small, known, *budget) {
                Some((counter, values, end)) => {
                    for v in values {
                        let with = HashMap::from([(counter.clone(), v)]);
                        let mut round = l.body[..l.body.len() - 1].to_vec();
                        fold_block(&mut round, &with);
                        out.extend(unrolled(&round, small, known, budget));
                    }
                    known.insert(counter.clone(), end);
                    out.push(Stmt::Assign {
                        var: counter,
                        ty: end.ty,
                        value: Expr::Const(end),
                    });
                }
                None => {
                    forget(s, known);
                    let body = unrolled(&l.body, small, &mut known.clone(), budget);
                    out.push(Stmt::Loop(Loop { body, ..l.clone() }));
                }
            },
            Stmt::Return(_) | Stmt::Trap => out.push(s.clone()),
        }
    }
    out
}

/// The counter of a loop over a small array, its values, and the one that it ends with.
fn rounds(
    l: &Loop,
    small: &HashSet<Sym>,
    known: &HashMap<Sym, Scalar>,
    budget: usize,
) -> Option<(Sym, Vec<Scalar>, Scalar)> {
    let (last, before) = l.body.split_last()?;
    let Stmt::Assign {
        var, value: step, ..
    } = last
    else {
        return None;
    };
    let mut of_small = false;
    each_access(&l.body, &mut |array, index| {
        of_small |= small.contains(array) && mentions(index, var);
    });
    let steps = matches!(step, Expr::Binary(BinOp::Add | BinOp::Subtract, a, b)
        if matches!(&**a, Expr::Var(v, _) if v == var) && matches!(**b, Expr::Const(_)));
    if !of_small
        || !steps
        || !l.test_first
        || l.mode != LoopMode::Sequential
        || assigns(before, var)
    {
        return None;
    }
    let mut at = *known.get(var)?;
    let mut values = Vec::new();
    let size = statements(&l.body);
    loop {
        let with = HashMap::from([(var.clone(), at)]);
        let Expr::Const(goes_on) = folded(&l.cond, &with) else {
            return None;
        };
        if !goes_on.is_true() {
            return Some((var.clone(), values, at));
        }
        values.push(at);
        if values.len() > MAX_ROUNDS || values.len() * size > budget {
            return None;
        }
        match folded(step, &with) {
            Expr::Const(v) => at = v,
            _ => return None,
        }
    }
}

fn statements(block: &[Stmt]) -> usize {
    block
        .iter()
        .map(|s| match s {
            Stmt::If {
                then, otherwise, ..
            } => 1 + statements(then) + statements(otherwise),
            Stmt::Loop(l) => 1 + statements(&l.body),
            _ => 1,
        })
        .sum()
}

fn assigns(block: &[Stmt], var: &Sym) -> bool {
    let mut found = false;
    loopir::visit(block, &mut |part| {
        found |= matches!(part, Visited::Stmt(Stmt::Assign { var: v, .. }) if v == var);
    });
    found
}

/// Nothing is known of what a statement may assign.
fn forget(s: &Stmt, known: &mut HashMap<Sym, Scalar>) {
    known.retain(|var, _| !assigns(std::slice::from_ref(s), var));
}

fn mentions(e: &Expr, var: &Sym) -> bool {
    matches!(e, Expr::Var(v, _) if v == var) || e.children().into_iter().any(|c| mentions(c, var))
}

/// Every index with which a local or other array is read or written.
fn each_access(block: &[Stmt], f: &mut dyn FnMut(&Sym, &Expr)) {
    loopir::visit(block, &mut |part| match part {
        Visited::Expr(Expr::Load { array, index, .. }) => f(array, index),
        Visited::Stmt(Stmt::Store { array, index, .. }) => f(array, index),
        _ => {}
    });
}

/// The expression with literals for variables, folded.
fn folded(e: &Expr, with: &HashMap<Sym, Scalar>) -> Expr {
    let go = |e: &Expr| folded(e, with);
    match e {
        Expr::Const(_) => e.clone(),
        Expr::Var(name, _) => with
            .get(name)
            .map_or_else(|| e.clone(), |v| Expr::Const(*v)),
        Expr::Load { array, elem, index } => Expr::load(array.clone(), *elem, go(index)),
        Expr::Convert(to, a) => match go(a) {
            Expr::Const(v) if op::convert_undefined(*to, v).is_none() => {
                Expr::Const(op::eval_convert(*to, v))
            }
            a => Expr::Convert(*to, Box::new(a)),
        },
        Expr::Bitcast(to, a) => fold::bitcast(*to, go(a)),
        Expr::Unary(op, a) => Expr::Unary(*op, Box::new(go(a))),
        Expr::Binary(op, a, b) => literal(*op, go(a), go(b)),
        Expr::Compare(op, a, b) => match (go(a), go(b)) {
            (Expr::Const(x), Expr::Const(y)) => {
                Expr::Const(Scalar::bool(op::eval_compare(*op, x, y)))
            }
            (a, b) => Expr::compare(*op, a, b),
        },
        Expr::Select(c, t, f) => match go(c) {
            Expr::Const(v) if v.is_true() => go(t),
            Expr::Const(_) => go(f),
            c => Expr::Select(Box::new(c), Box::new(go(t)), Box::new(go(f))),
        },
    }
}

/// `a op b` of integers, computed if both are literals.
fn literal(op: BinOp, a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Const(x), Expr::Const(y))
            if x.ty.is_int() && op::binary_undefined(op, *x, *y).is_none() =>
        {
            Expr::Const(op::eval_binary(op, *x, *y))
        }
        _ => Expr::binary(op, a, b),
    }
}

/// Puts literals where these variables are read.
pub(super) fn fold_block(block: &mut [Stmt], with: &HashMap<Sym, Scalar>) {
    for s in block {
        match s {
            Stmt::Assign { value, .. } => *value = folded(value, with),
            Stmt::Store { index, value, .. } => {
                *index = folded(index, with);
                *value = folded(value, with);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                *cond = folded(cond, with);
                fold_block(then, with);
                fold_block(otherwise, with);
            }
            Stmt::Loop(l) => {
                l.cond = folded(&l.cond, with);
                fold_block(&mut l.body, with);
            }
            Stmt::Return(v) => v.iter_mut().for_each(|v| *v = folded(v, with)),
            Stmt::Trap => {}
        }
    }
}

fn substitute(block: &mut [Stmt], elems: &HashMap<Sym, ScalarType>) {
    each_expr_mut(block, &mut |e| {
        if let Expr::Load { array, elem, index } = e
            && elems.contains_key(array)
            && let Some(name) = variable(array, index)
        {
            *e = Expr::Var(name, *elem);
        }
    });
    each_stmt_mut(block, &mut |s| {
        if let Stmt::Store {
            array,
            index,
            value,
        } = s
            && let (Some(ty), Some(var)) = (elems.get(array), variable(array, index))
        {
            *s = Stmt::Assign {
                var,
                ty: *ty,
                value: value.clone(),
            };
        }
    });
}

/// Copies of a loop need numbers of their own.
fn renumber(block: &mut [Stmt], next: &mut u32) {
    for s in block {
        match s {
            Stmt::Loop(l) => {
                l.id = *next;
                *next += 1;
                renumber(&mut l.body, next);
            }
            Stmt::If {
                then, otherwise, ..
            } => {
                renumber(then, next);
                renumber(otherwise, next);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tensorize_ir::loopir::Function;

    fn replaced(text: &str) -> String {
        let mut f: Function = text.parse().unwrap();
        super::replace(&mut f.arrays, &mut f.body);
        f.validate().unwrap();
        f.to_string()
    }

    #[test]
    fn an_array_behind_a_short_loop_goes() {
        let text = replaced(
            "i32 f(const i32 *x) { local i32 t[2]; i32 i = 0;
               while (i < 2) { t[i] = x[i] * 2; i = i + 1; }
               return t[0] - t[1]; }",
        );
        assert!(!text.contains("local") && !text.contains("while"), "{text}");
        assert!(text.contains("t.at0 - t.at1"), "{text}");
    }

    #[test]
    fn an_array_with_an_index_that_varies_stays() {
        let text =
            "i32 f(const i32 *x, i32 n) { local i32 t[2]; t[0] = 1; t[1] = 2; return t[n]; }";
        assert!(replaced(text).contains("local i32 t[2]"));
        // The counter is not known to start at zero.
        let text =
            "i32 f(i32 i) { local i32 t[2]; while (i < 2) { t[i] = i; i = i + 1; } return t[0]; }";
        assert!(replaced(text).contains("while"));
        // Out of bounds: undefined, and not a variable of its own.
        let text = "i32 f(i32 i) { local i32 t[2]; t[2] = i; return t[2]; }";
        assert!(replaced(text).contains("local"));
    }
}
