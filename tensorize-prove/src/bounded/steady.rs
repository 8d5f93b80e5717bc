//! Counters that go on to step when all is over.
//!
//! Where `i` steps by one in the end of each round that is not the last one, and nothing looks at it after the loop,
//! `while (i < n && !left) { … i = i + 1; }` may as well be
//!
//! ```text
//! while (i < n) { if (!left) { … } i = i + 1; }
//! ```

use super::{Pair, both, conjuncts, counter, has_loads, pair, returns};
use crate::loops::modified;
use crate::rounds::step;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Loop, LoopMode, Stmt, Visited, visit};
use tensorize_ir::op::BinOp;

/// The loop with a counter that goes on to step when all is over. Once one of the other conditions fails nothing changes, so
/// it goes on to fail.
pub(super) fn steady(l: &Loop, after: &[Stmt]) -> Option<Loop> {
    if !l.test_first || l.mode != LoopMode::Sequential || returns(&l.body) || counter(l).is_some() {
        return None;
    }
    let changed = modified(&l.body).0;
    let (end, body) = l.body.split_last()?;
    let mut conditions = Vec::new();
    conjuncts(&l.cond, &mut conditions);
    // What steps once more than in the original must not overflow by that.
    let step_of = |stmt: &Stmt| {
        let step = step(stmt).filter(|s| s.by.abs() == 1)?;
        Some((step.var.clone(), step.by, stmt.clone()))
    };
    let (var, by, last) = match end {
        // What is done if the loop goes on.
        Stmt::If {
            cond,
            then,
            otherwise,
        } if otherwise.is_empty() && then.len() == 1 && conditions.contains(cond) => {
            step_of(&then[0])?
        }
        stmt => step_of(stmt)?,
    };
    let stays = |e: &Expr| !has_loads(e) && changed.keys().all(|v| !e.mentions(v));
    let is_counter = |e: &Expr| matches!(e, Expr::Var(v, _) if *v == var);
    // `i + 1 < n`
    let is_before = |e: &Expr| match e {
        Expr::Binary(BinOp::Add, a, c) => {
            is_counter(a) && matches!(&**c, Expr::Const(c) if c.as_int() >= 0)
        }
        e => is_counter(e),
    };
    let counts = |c: &Expr| {
        let Expr::Compare(op, a, b) = c else {
            return false;
        };
        let Some(Pair {
            low,
            high,
            or_equal,
        }) = pair(*op, a, b).filter(|p| p.low.ty().is_int())
        else {
            return false;
        };
        let is_end = |e: &Expr| stays(e) && (!or_equal || matches!(e, Expr::Const(_)));
        match by {
            1 => is_before(&low) && is_end(&high),
            _ => is_counter(&high) && is_end(&low),
        }
    };
    let (counting, others): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(counts);
    let asks = |c: &Expr| has_loads(c) || c.mentions(&var);
    let looked_at = reads(after, &var);
    let is_in_body = modified(body).0.contains_key(&var);
    if counting.len() != 1 || others.iter().any(asks) || looked_at || is_in_body {
        return None;
    }
    // What else goes its own way, whatever happens (whose turn it is), may do so, too.
    let goes_on = |at: usize| {
        let Stmt::Assign { var, value, .. } = &body[at] else {
            return false;
        };
        let is_it = |e: &Expr| matches!(e, Expr::Var(v, _) if v == var);
        let literal = |e: &Expr| matches!(e, Expr::Const(_));
        let alone = match value {
            // `turn = (turn + 1) % 3`
            Expr::Binary(BinOp::Remainder, next, n) if literal(n) => {
                matches!(&**next, Expr::Binary(BinOp::Add, a, one) if is_it(a) && literal(one))
            }
            // `turn = 1 - turn`
            Expr::Binary(BinOp::Subtract, all, a) => literal(all) && is_it(a),
            _ => false,
        };
        let again = modified(&[&body[..at], &body[at + 1..]].concat()).0;
        alone
            && !l.cond.mentions(var)
            && !again.contains_key(var)
            && !reads(&body[at + 1..], var)
            && !reads(after, var)
    };
    let (going_on, rest): (Vec<usize>, Vec<usize>) = (0..body.len()).partition(|&at| goes_on(at));
    let those = |which: Vec<usize>| which.into_iter().map(|at| body[at].clone());
    let round = Stmt::If {
        cond: others.into_iter().reduce(both)?,
        then: those(rest).collect(),
        otherwise: vec![],
    };
    let mut all = vec![round];
    all.extend(those(going_on));
    all.push(last);
    Some(Loop {
        cond: counting.into_iter().next()?,
        body: all,
        ..l.clone()
    })
}

/// Whether statements look at a variable.
fn reads(stmts: &[Stmt], var: &Sym) -> bool {
    let mut found = false;
    visit(stmts, &mut |part| {
        found |= matches!(part, Visited::Expr(e) if e.mentions(var));
    });
    found
}
