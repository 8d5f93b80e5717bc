//! Small local arrays as variables.
//!
//! Code keeps a few numbers in an array (`float acc[4]`, a union, a variable whose address is taken) that it could
//! as well keep in variables of their own. Where every index is a literal, or is one after loops of known length
//! over it are written out, the array goes. Two other kinds of short loops are written out as well, and a place in a ring that
//! stands in memory is held in a variable.

mod chosen;
mod going_round;
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

/// Replaces the arrays that can be replaced, holds places in rings, and writes out short loops over blocks and over arrays.
/// A function that `returns` a value has more to do after its last loop.
pub(super) fn replace(arrays: &mut Vec<LocalArray>, returns: bool, body: &mut Vec<Stmt>) {
    replace_local(arrays, body);
    going_round::hold(returns, body);
    let in_place = in_place::write_out(arrays, body);
    let chosen = chosen::write_out(body);
    if in_place || chosen {
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
    let written_out = unrolled(body, &over(&small), &mut HashMap::new(), &mut budget);
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

/// Whether a loop with this counter is over one of some arrays.
fn over(arrays: &HashSet<Sym>) -> impl Fn(&Loop, &Sym) -> bool {
    |l, counter| {
        let mut is_over = false;
        each_access(&l.body, &mut |array, index| {
            is_over |= arrays.contains(array) && index.mentions(counter);
        });
        is_over
    }
}

/// The variables of which the few values are known that they may have.
type Known = HashMap<Sym, Vec<Scalar>>;

/// A copy in which the loops that are `wanted`, by their counters, are written out.
fn unrolled(
    block: &[Stmt],
    wanted: &dyn Fn(&Loop, &Sym) -> bool,
    known: &mut Known,
    budget: &mut usize,
) -> Vec<Stmt> {
    let mut out = Vec::new();
    for s in block {
        *budget = budget.saturating_sub(1);
        match s {
            Stmt::Assign { var, ty, value } => {
                let value = folded(value, &flags(known));
                match values_of(&value) {
                    Some(values) => known.insert(var.clone(), values),
                    None => known.remove(var),
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
                index: folded(index, &flags(known)),
                value: folded(value, &flags(known)),
            }),
            Stmt::If {
                cond,
                then,
                otherwise,
            } => match folded(cond, &flags(known)) {
                Expr::Const(v) if v.is_true() => out.extend(unrolled(then, wanted, known, budget)),
                Expr::Const(_) => out.extend(unrolled(otherwise, wanted, known, budget)),
                cond => {
                    let then = unrolled(then, wanted, &mut known.clone(), budget);
                    let otherwise = unrolled(otherwise, wanted, &mut known.clone(), budget);
                    forget(s, known);
                    out.push(Stmt::If {
                        cond,
                        then,
                        otherwise,
                    });
                }
            },
            Stmt::Loop(l) => match Rounds::of(l, wanted, known, *budget) {
                Some(rounds) => out.extend(rounds.written_out(0, wanted, known, budget)),
                None => {
                    forget(s, known);
                    let body = unrolled(&l.body, wanted, &mut known.clone(), budget);
                    out.push(Stmt::Loop(Loop { body, ..l.clone() }));
                }
            },
            Stmt::Return(_) | Stmt::Trap => out.push(s.clone()),
        }
    }
    out
}

/// The conditions of which the value is known.
fn flags(known: &Known) -> HashMap<Sym, Scalar> {
    let flag = |(var, values): (&Sym, &Vec<Scalar>)| match values[..] {
        [v] if v.ty == ScalarType::I1 => Some((var.clone(), v)),
        _ => None,
    };
    known.iter().filter_map(flag).collect()
}

/// The values of a literal, or of a choice of literals.
fn values_of(e: &Expr) -> Option<Vec<Scalar>> {
    match e {
        Expr::Const(v) => Some(vec![*v]),
        Expr::Select(_, t, f) => match (&**t, &**f) {
            (Expr::Const(t), Expr::Const(f)) => Some(vec![*t, *f]),
            _ => None,
        },
        _ => None,
    }
}

/// The rounds of a loop.
struct Rounds<'a> {
    of: &'a Loop,
    counter: Sym,
    /// What the counter is in each, and whether the round comes in any case once the one before it has.
    rounds: Vec<(Scalar, bool)>,
    /// What the counter is after the last one.
    end: Scalar,
}

impl<'a> Rounds<'a> {
    fn of(
        l: &'a Loop,
        wanted: &dyn Fn(&Loop, &Sym) -> bool,
        known: &Known,
        budget: usize,
    ) -> Option<Rounds<'a>> {
        let (last, before) = l.body.split_last()?;
        let Stmt::Assign {
            var, value: step, ..
        } = last
        else {
            return None;
        };
        let steps = matches!(step, Expr::Binary(BinOp::Add | BinOp::Subtract, a, b)
            if matches!(&**a, Expr::Var(v, _) if v == var) && matches!(**b, Expr::Const(_)));
        if !steps
            || !l.test_first
            || l.mode != LoopMode::Sequential
            || assigns(before, var)
            || !wanted(l, var)
        {
            return None;
        }
        let [mut at] = known.get(var)?[..] else {
            return None;
        };
        // What else says how many rounds there are, and stays as it is.
        let choice = known
            .iter()
            .find(|(v, _)| *v != var && l.cond.mentions(v) && !assigns(before, v));
        let mut rounds = Vec::new();
        let size = statements(&l.body);
        loop {
            let mut with = HashMap::from([(var.clone(), at)]);
            let goes_on = match choice {
                None => vec![folded(&l.cond, &with)],
                Some((v, values)) => values
                    .iter()
                    .map(|value| {
                        with.insert(v.clone(), *value);
                        folded(&l.cond, &with)
                    })
                    .collect(),
            };
            let is = |is: bool| move |e: &Expr| matches!(e, Expr::Const(v) if v.is_true() == is);
            if goes_on.iter().all(is(false)) {
                return Some(Rounds {
                    of: l,
                    counter: var.clone(),
                    rounds,
                    end: at,
                });
            }
            if !goes_on.iter().all(|e| matches!(e, Expr::Const(_))) {
                return None;
            }
            rounds.push((at, goes_on.iter().all(is(true))));
            if rounds.len() > MAX_ROUNDS || rounds.len() * size > budget {
                return None;
            }
            match folded(step, &HashMap::from([(var.clone(), at)])) {
                Expr::Const(v) => at = v,
                _ => return None,
            }
        }
    }

    /// The rounds from this one on.
    fn written_out(
        &self,
        from: usize,
        wanted: &dyn Fn(&Loop, &Sym) -> bool,
        known: &mut Known,
        budget: &mut usize,
    ) -> Vec<Stmt> {
        let next = self.rounds.get(from);
        let at = next.map_or(self.end, |(at, _)| *at);
        let counted = Stmt::Assign {
            var: self.counter.clone(),
            ty: at.ty,
            value: Expr::Const(at),
        };
        known.insert(self.counter.clone(), vec![at]);
        let Some((_, in_any_case)) = next else {
            return vec![counted];
        };
        let with = HashMap::from([(self.counter.clone(), at)]);
        let mut round = self.of.body[..self.of.body.len() - 1].to_vec();
        fold_block(&mut round, &with);
        if *in_any_case {
            let mut out = unrolled(&round, wanted, known, budget);
            out.extend(self.written_out(from + 1, wanted, known, budget));
            return out;
        }
        let mut inside = known.clone();
        let mut then = unrolled(&round, wanted, &mut inside, budget);
        then.extend(self.written_out(from + 1, wanted, &mut inside, budget));
        let round = Stmt::If {
            cond: folded(&self.of.cond, &with),
            then,
            otherwise: vec![],
        };
        forget(&round, known);
        vec![counted, round]
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
fn forget(s: &Stmt, known: &mut Known) {
    known.retain(|var, _| !assigns(std::slice::from_ref(s), var));
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
        super::replace(&mut f.arrays, f.ret.is_some(), &mut f.body);
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
