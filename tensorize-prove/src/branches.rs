//! Loops in branches, of which each would be the same one but for what a round does, as one loop:
//!
//! ```text
//! if (mode == 0) {
//!     i = 0; while (i < n) { …; i = i + 1; }
//! } else {
//!     k = 0; while (k < n) { …; k = k + 1; }
//! }
//! ```
//!
//! is the same as
//!
//! ```text
//! i = 0; while (i < n) { if (mode == 0) { … } else { … } i = i + 1; }
//! ```
//!
//! where no round changes the mode, and nobody else looks at `i` and `k`. A branch with no loop has one that does nothing, if it
//! surely ends: `while (i < n) i = i + 1`.

use crate::loops::modified;
use crate::rounds::looks_at;
use std::collections::BTreeMap;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{
    Expr, Function, Loop, LoopMode, Stmt, Visited, rename_variables, visit,
};
use tensorize_ir::op::{BinOp, CmpOp};

/// The kernel with such loops among its statements as one each; nothing if it has none.
pub fn in_one_loop(kernel: &Function) -> Option<Function> {
    let mut function = kernel.clone();
    let mut found = false;
    function.body = (kernel.body.iter())
        .flat_map(|s| match of_branches(s, kernel, s) {
            Some(Branch { mut sets, the_loop }) => {
                found = true;
                sets.push(Stmt::Loop(the_loop));
                sets
            }
            None => vec![s.clone()],
        })
        .collect();
    (found && function.validate().is_ok()).then_some(function)
}

/// Variables that are set, and then a loop.
#[derive(Clone)]
struct Branch {
    sets: Vec<Stmt>,
    the_loop: Loop,
}

/// The one loop of both branches, and of those in them, in this `whole` statement.
fn of_branches(s: &Stmt, kernel: &Function, whole: &Stmt) -> Option<Branch> {
    let Stmt::If {
        cond,
        then,
        otherwise,
    } = s
    else {
        return None;
    };
    let (scalars, arrays) = modified(std::slice::from_ref(s));
    let stays = !looks_at(cond, &scalars.into_keys().collect(), &arrays);
    let first = branch(then, kernel, whole).filter(|_| stays)?;
    let second = match otherwise.is_empty() {
        true => idle(&first)?,
        false => branch(otherwise, kernel, whole)?,
    };
    // Nobody else looks at what goes by another name then, or is set where it was not.
    let only_in = |v: &Sym, block: &[Stmt]| {
        let is_param = kernel.params.iter().any(|p| p.name() == v);
        !is_param && mentions(&kernel.body, v) == mentions(block, v)
    };
    // Or all other loops in the branches set it themselves.
    let is_set_by_all = |v: &Sym| {
        let mut sets = first.sets.iter();
        sets.any(|s| matches!(s, Stmt::Assign { var, .. } if var == v))
            && only_in(v, std::slice::from_ref(whole))
    };
    let mut names = BTreeMap::new();
    for (a, b) in first.assigned().zip(second.assigned()) {
        let free = match otherwise.is_empty() {
            true => only_in(a, then) || is_set_by_all(a),
            false => a == b || only_in(a, then) && only_in(b, otherwise),
        };
        if !free {
            return None;
        }
        names.insert(b.clone(), a.clone());
    }
    let second = second.renamed(&names);
    let ([of_first @ .., step], [of_second @ .., other_step]) =
        (&first.the_loop.body[..], &second.the_loop.body[..])
    else {
        return None;
    };
    let (a, b) = (&first.the_loop, &second.the_loop);
    let same = first.sets == second.sets
        && a.cond == b.cond
        && [a, b]
            .iter()
            .all(|l| l.test_first && l.mode == LoopMode::Sequential);
    if !same || step != other_step || !matches!(step, Stmt::Assign { .. }) {
        return None;
    }
    let round = Stmt::If {
        cond: cond.clone(),
        then: of_first.to_vec(),
        otherwise: of_second.to_vec(),
    };
    let body = vec![round, step.clone()];
    let the_loop = Loop { body, ..a.clone() };
    Some(Branch {
        the_loop,
        sets: first.sets,
    })
}

fn branch(block: &[Stmt], kernel: &Function, whole: &Stmt) -> Option<Branch> {
    match block {
        [one @ Stmt::If { .. }] => of_branches(one, kernel, whole),
        [sets @ .., Stmt::Loop(l)] => {
            let plain = sets.iter().all(|s| matches!(s, Stmt::Assign { .. }));
            plain.then(|| Branch {
                sets: sets.to_vec(),
                the_loop: l.clone(),
            })
        }
        _ => None,
    }
}

/// The same loop with nothing in it but its step, if nothing is undefined in that, and it ends: from a number on, one by one, to
/// what nobody changes.
fn idle(of: &Branch) -> Option<Branch> {
    let step = of.the_loop.body.last()?;
    let Stmt::Assign { var, value, .. } = step else {
        return None;
    };
    let by_one = match value {
        Expr::Binary(BinOp::Add, a, one) => {
            matches!(&**a, Expr::Var(v, _) if v == var)
                && matches!(&**one, Expr::Const(c) if c.ty.is_int() && c.as_int() == 1)
        }
        _ => false,
    };
    let up_to = match &of.the_loop.cond {
        Expr::Compare(CmpOp::Lt, a, end) => {
            matches!(&**a, Expr::Var(v, _) if v == var)
                && matches!(&**end, Expr::Var(v, _) if v != var)
        }
        _ => false,
    };
    let plain = |s: &Stmt| {
        matches!(
            s,
            Stmt::Assign {
                value: Expr::Const(_),
                ..
            }
        )
    };
    let mut sets = of.sets.iter();
    (by_one && up_to && sets.all(plain)).then(|| {
        let mut idle = of.clone();
        idle.the_loop.body = vec![step.clone()];
        idle
    })
}

impl Branch {
    /// The variables that are set before the loop, and by its step, in order.
    fn assigned(&self) -> impl Iterator<Item = &Sym> {
        let step = self.the_loop.body.last();
        self.sets.iter().chain(step).filter_map(|s| match s {
            Stmt::Assign { var, .. } => Some(var),
            _ => None,
        })
    }

    fn renamed(self, names: &BTreeMap<Sym, Sym>) -> Branch {
        let mut all = self.sets;
        all.push(Stmt::Loop(self.the_loop));
        rename_variables(&mut all, names);
        match all.pop() {
            Some(Stmt::Loop(the_loop)) => Branch {
                sets: all,
                the_loop,
            },
            _ => unreachable!("what was pushed is a loop"),
        }
    }
}

/// How often the statements name a variable.
fn mentions(block: &[Stmt], var: &Sym) -> usize {
    let mut count = 0;
    visit(block, &mut |part| {
        count += usize::from(match part {
            Visited::Expr(Expr::Var(v, _)) => v == var,
            Visited::Stmt(Stmt::Assign { var: v, .. }) => v == var,
            _ => false,
        });
    });
    count
}

#[cfg(test)]
mod tests;
