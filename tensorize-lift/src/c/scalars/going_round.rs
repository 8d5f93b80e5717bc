//! Places in rings that stand in memory while a loop goes round: `s->pos = (s->pos + 1) % s->len`.
//!
//! Held in a variable over the loop, such a place is a counter like any other. Memory that nobody names twice is read
//! before the loop and written after it; where there is no round, neither.

use super::{assigns, each_access};
use std::collections::HashSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{
    Expr, Loop, LoopMode, Stmt, Visited, each_expr_mut, each_stmt_mut, visit,
};
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::scalar::ScalarType;

/// Holds them in variables over the last loop of a function that returns nothing.
pub(super) fn hold(returns: bool, body: &mut Vec<Stmt>) {
    let (Some(Stmt::Loop(l)), false) = (body.last(), returns) else {
        return;
    };
    let mut reads_first = false;
    l.cond
        .visit(&mut |e| reads_first |= matches!(e, Expr::Load { .. }));
    if !l.test_first || l.mode != LoopMode::Sequential || reads_first {
        return;
    }
    let held = going_round(l);
    if held.is_empty() {
        return;
    }
    let mut l = l.clone();
    body.pop();
    let none = Expr::Unary(UnOp::Not, Box::new(l.cond.clone()));
    body.push(Stmt::If {
        cond: none,
        then: vec![Stmt::Return(None)],
        otherwise: vec![],
    });
    let mut after = Vec::new();
    for Place { array, elem, index } in held {
        let var = Sym::from(format!("{array}.now"));
        let load = Expr::load(array.clone(), elem, index.clone());
        each_expr_mut(&mut l.body, &mut |e| {
            if *e == load {
                *e = Expr::Var(var.clone(), elem);
            }
        });
        each_stmt_mut(&mut l.body, &mut |s| {
            if let Stmt::Store {
                array: a, value, ..
            } = s
                && *a == array
            {
                *s = Stmt::Assign {
                    var: var.clone(),
                    ty: elem,
                    value: value.clone(),
                };
            }
        });
        body.push(Stmt::Assign {
            var: var.clone(),
            ty: elem,
            value: load,
        });
        after.push(Stmt::Store {
            array,
            index,
            value: Expr::Var(var, elem),
        });
    }
    body.push(Stmt::Loop(l));
    body.extend(after);
}

/// A place in memory.
struct Place {
    array: Sym,
    elem: ScalarType,
    index: Expr,
}

/// The integers at literal places, the only ones of their arrays, that each round of a loop reads and that turn in some.
fn going_round(l: &Loop) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    // What every round reads is there to be read, and to be written, too.
    for s in &l.body {
        let exprs: Vec<&Expr> = match s {
            Stmt::Assign { value, .. } => vec![value],
            Stmt::Store { index, value, .. } => vec![index, value],
            Stmt::If { cond, .. } => vec![cond],
            Stmt::Loop(_) | Stmt::Return(_) | Stmt::Trap => vec![],
        };
        exprs.into_iter().for_each(|e| read_anyway(e, &mut places));
    }
    let mut ends = false;
    visit(&l.body, &mut |part| {
        ends |= matches!(part, Visited::Stmt(Stmt::Return(_) | Stmt::Trap))
    });
    let mut elsewhere = HashSet::new();
    each_access(&l.body, &mut |array, index| {
        if places
            .iter()
            .any(|p| p.array == *array && p.index != *index)
        {
            elsewhere.insert(array.clone());
        }
    });
    places.retain(|p| !ends && !elsewhere.contains(&p.array) && turns(&l.body, &p.array));
    places
}

/// The integers at literal places that an expression reads, whatever its conditions say.
fn read_anyway(e: &Expr, places: &mut Vec<Place>) {
    match e {
        Expr::Select(cond, ..) => return read_anyway(cond, places),
        Expr::Load { array, elem, index }
            if elem.is_int()
                && matches!(**index, Expr::Const(_))
                && places.iter().all(|p| p.array != *array) =>
        {
            places.push(Place {
                array: array.clone(),
                elem: *elem,
                index: (**index).clone(),
            });
        }
        _ => {}
    }
    for inner in e.children() {
        read_anyway(inner, places);
    }
}

/// Whether a number in memory is set by what it comes to where it is compared or divided, and by no other memory.
fn turns(body: &[Stmt], array: &Sym) -> bool {
    let reads = |e: &Expr| {
        let mut found = false;
        e.visit(&mut |e| found |= matches!(e, Expr::Load { array: a, .. } if a == array));
        found
    };
    let (mut turns, mut by_others) = (false, false);
    visit(body, &mut |part| match part {
        Visited::Stmt(Stmt::Store {
            array: a, value, ..
        }) if a == array => {
            value.visit(&mut |e| match e {
                Expr::Select(cond, ..) => turns |= reads(cond),
                Expr::Binary(BinOp::Remainder, of, _) => turns |= reads(of),
                Expr::Load { array: a, .. } => by_others |= a != array,
                Expr::Var(v, _) => by_others |= assigns(body, v),
                _ => {}
            });
        }
        Visited::Stmt(Stmt::If {
            cond,
            then,
            otherwise,
        }) if reads(cond) => {
            for s in then.iter().chain(otherwise) {
                turns |= matches!(s, Stmt::Store { array: a, .. } if a == array);
            }
        }
        _ => {}
    });
    turns && !by_others
}

#[cfg(test)]
mod tests {
    use tensorize_ir::loopir::Function;

    fn held(round: &str) -> Option<String> {
        let text = format!(
            "void f(f32 *line, i32 len, i32 *at, i1 on, f32 *io, i32 n) {{ i32 i = 0; while (i < n) {{ {round} i = i + 1; }} }}"
        );
        let mut f: Function = text.parse().unwrap();
        super::hold(f.ret.is_some(), &mut f.body);
        f.validate().unwrap();
        let text = f.to_string();
        text.contains("at.now").then_some(text)
    }

    #[test]
    fn a_place_that_each_round_reads_and_turns_is_held() {
        let text = held("io[i] = line[at[0]]; at[0] = (at[0] + 1) % len;").unwrap();
        // Where there is no round, it is neither read nor written.
        let (first, then) = (text.find("return;"), text.find("at.now = at[0]"));
        assert!(first.is_some() && first < then, "{text}");
        assert!(text.contains("at[0] = at.now"), "{text}");
    }

    #[test]
    fn others_stay_in_memory() {
        // It counts, and does not turn.
        assert_eq!(held("io[i] = line[at[0]]; at[0] = at[0] + 1;"), None);
        // A round may do without it.
        let by_choice =
            "io[i] = on ? line[at[0]] : 0.0:f32; if (on) { at[0] = (at[0] + 1) % len; }";
        assert_eq!(held(by_choice), None);
        // Two places of the array.
        let beside = "io[i] = line[at[0]]; at[0] = (at[0] + 1) % at[1];";
        assert_eq!(held(beside), None);
        // The round before says otherwise where it goes on.
        let by_data = "io[i] = line[at[0]]; at[0] = (at[0] + (i32)io[i]) % len;";
        assert_eq!(held(by_data), None);
    }
}
