//! What rounds may leave to the next ones besides the caller's arrays: a guess, the proof says whether it is all.

use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Expr, Function, Loop, Param, Stmt, Visited, visit};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::State;
use tensorize_prove::bounded::counter;
use tensorize_prove::loops::modified;
use tensorize_prove::names::Names;

/// Loops that lie deeper in each other are not looked at.
const DEEPEST: usize = 2;

/// What may be left, that which is likeliest first. There is nothing in the first one where the kernel returns nothing.
pub(super) fn proposed(kernel: &Function) -> Vec<Vec<State>> {
    let mut all: Vec<Vec<State>> = Vec::new();
    if kernel.ret.is_none() {
        all.push(vec![]);
    }
    for depth in 1..=DEEPEST {
        for whole in [false, true] {
            let mut state = arrays(kernel, depth, whole);
            state.extend(numbers(kernel, depth));
            returned(kernel, &mut state);
            if !all.contains(&state) {
                all.push(state);
            }
        }
    }
    all
}

/// Adds what is returned.
fn returned(kernel: &Function, state: &mut Vec<State>) {
    let (Some(elem), Some(Stmt::Return(Some(value)))) = (kernel.ret, kernel.body.last()) else {
        return;
    };
    // It may be a number that goes from round to round anyway.
    if let Expr::Var(v, _) = value
        && let Some(number) = state.iter_mut().find(|s| s.name == *v && s.is_number())
    {
        number.returned = true;
        return;
    }
    state.push(State {
        returned: true,
        ..State::number(Names::of(kernel).plain("result"), elem)
    });
}

/// Local arrays that are read in a loop: those that hold something before it, or all.
fn arrays(kernel: &Function, depth: usize, all: bool) -> Vec<State> {
    let (mut before, mut carried) = (BTreeSet::new(), BTreeSet::new());
    each_loop(&kernel.body, depth, &mut BTreeSet::new(), &mut |l, held| {
        let written = modified(&l.body).1;
        visit(&l.body, &mut |part| {
            if let Visited::Expr(Expr::Load { array, .. }) = part
                && written.contains(array)
            {
                carried.insert(array.clone());
            }
        });
        before.extend(held.iter().cloned());
    });
    let lasts = |name: &Sym| carried.contains(name) && (all || before.contains(name));
    let own = (kernel.arrays.iter()).filter(|a| a.init.is_none() && lasts(&a.name));
    own.map(|a| State {
        name: a.name.clone(),
        elem: a.elem,
        len: a.len.fixed().map(|n| Idx::constant(n as i128)),
        returned: false,
    })
    .collect()
}

/// Variables of which a round of some loop, or what comes after it, may read what an earlier round has left. Those that no
/// data changes are not among them: a round can tell them by its number, or nothing can.
fn numbers(kernel: &Function, depth: usize) -> Vec<State> {
    let mut carried: BTreeMap<Sym, ScalarType> = BTreeMap::new();
    let mut look = |l: &Loop, after: &[Stmt]| {
        let (mut assigned, mut reads) = (BTreeSet::new(), BTreeSet::new());
        read_first(&l.body, &mut assigned, &mut reads);
        read_first(after, &mut assigned, &mut reads);
        let changed = modified(&l.body).0.into_iter();
        carried.extend(changed.filter(|(v, _)| reads.contains(v)));
    };
    each_loop(&kernel.body, depth, &mut BTreeSet::new(), &mut |l, _| {
        look(l, &[]);
    });
    for (at, stmt) in kernel.body.iter().enumerate() {
        if let Stmt::Loop(l) = stmt {
            look(l, &kernel.body[at + 1..]);
        }
    }
    let by_data = changed_by_data(&kernel.body);
    let is_param = |v: &Sym| kernel.params.iter().map(Param::name).any(|p| p == v);
    carried.retain(|v, ty| *ty != ScalarType::I1 && by_data.contains(v) && !is_param(v));
    let numbers = carried.into_iter();
    numbers
        .map(|(name, elem)| State::number(name, elem))
        .collect()
}

/// Calls `f` with loops down to this depth, and what has been written to before them.
fn each_loop(
    stmts: &[Stmt],
    depth: usize,
    written: &mut BTreeSet<Sym>,
    f: &mut dyn FnMut(&Loop, &BTreeSet<Sym>),
) {
    for stmt in stmts {
        match stmt {
            Stmt::Loop(l) => {
                f(l, written);
                if depth > 1 {
                    each_loop(&l.body, depth - 1, &mut written.clone(), f);
                }
            }
            Stmt::If {
                then, otherwise, ..
            } => {
                for branch in [then, otherwise] {
                    each_loop(branch, depth, &mut written.clone(), f);
                }
            }
            _ => {}
        }
        written.extend(modified(std::slice::from_ref(stmt)).1);
    }
}

/// Variables that statements may read before they assign them.
fn read_first(stmts: &[Stmt], assigned: &mut BTreeSet<Sym>, found: &mut BTreeSet<Sym>) {
    let look = |e: &Expr, assigned: &BTreeSet<Sym>, found: &mut BTreeSet<Sym>| {
        e.visit(&mut |e| {
            if let Expr::Var(v, _) = e
                && !assigned.contains(v)
            {
                found.insert(v.clone());
            }
        });
    };
    for stmt in stmts {
        match stmt {
            Stmt::Assign { var, value, .. } => {
                look(value, assigned, found);
                assigned.insert(var.clone());
            }
            Stmt::Store { index, value, .. } => {
                look(index, assigned, found);
                look(value, assigned, found);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                look(cond, assigned, found);
                let (mut yes, mut no) = (assigned.clone(), assigned.clone());
                read_first(then, &mut yes, found);
                read_first(otherwise, &mut no, found);
                assigned.extend(yes.intersection(&no).cloned());
            }
            Stmt::Loop(l) => {
                if l.test_first {
                    look(&l.cond, assigned, found);
                    read_first(&l.body, &mut assigned.clone(), found);
                } else {
                    read_first(&l.body, assigned, found);
                    look(&l.cond, assigned, found);
                }
            }
            Stmt::Return(value) => value.iter().for_each(|v| look(v, assigned, found)),
            Stmt::Trap => {}
        }
    }
}

/// Variables of which a value depends on memory, or on a float, or that are assigned where such a thing says so.
fn changed_by_data(stmts: &[Stmt]) -> BTreeSet<Sym> {
    let (mut found, mut grown) = (BTreeSet::new(), true);
    while grown {
        let before = found.len();
        assigned_by_data(stmts, false, &mut found);
        grown = found.len() > before;
    }
    found
}

/// Adds those of the statements, which the data says to do or not, by what is known of such variables so far.
fn assigned_by_data(stmts: &[Stmt], said: bool, found: &mut BTreeSet<Sym>) {
    let by_data = |e: &Expr, found: &BTreeSet<Sym>| {
        let mut any = false;
        e.visit(&mut |e| {
            any |= match e {
                Expr::Load { .. } => true,
                Expr::Var(v, ty) => ty.is_float() || found.contains(v),
                _ => false,
            };
        });
        any
    };
    for stmt in stmts {
        match stmt {
            Stmt::Assign { var, value, ty } => {
                if said || ty.is_float() || by_data(value, found) {
                    found.insert(var.clone());
                }
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let said = said || by_data(cond, found);
                assigned_by_data(then, said, found);
                assigned_by_data(otherwise, said, found);
            }
            // How often it runs may be what the data says.
            Stmt::Loop(l) => {
                let said = said || counter(l).is_none() && by_data(&l.cond, found);
                assigned_by_data(&l.body, said, found);
            }
            Stmt::Store { .. } | Stmt::Return(_) | Stmt::Trap => {}
        }
    }
}
