//! Loops: their counters, and what is done before them under the condition that they have rounds.

use super::lower::{Builder, I64};
use crate::Unsupported;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Expr, Loop, LoopMode, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};

/// What a loop counts with: from `first` on, below `end`, which is of the same type.
pub(super) struct Counter {
    pub(super) var: Sym,
    pub(super) first: Expr,
    pub(super) end: Expr,
}

impl Counter {
    /// So many rounds, from 0 on.
    pub(super) fn of_rounds(var: Sym, rounds: Expr) -> Counter {
        let first = Expr::int(I64, 0);
        let end = rounds;
        Counter { var, first, end }
    }

    /// Where it is in a round.
    pub(super) fn here(&self) -> Expr {
        Expr::Var(self.var.clone(), self.end.ty())
    }
}

/// `var = value;`
pub(super) fn set(var: &Sym, value: Expr) -> Stmt {
    Stmt::Assign {
        var: var.clone(),
        ty: value.ty(),
        value,
    }
}

impl Builder {
    /// Ends the loop whose body is the topmost scope, and puts it into the scope below, after `before`.
    pub(super) fn close_loop(
        &mut self,
        before: Vec<Stmt>,
        counter: Counter,
        mode: LoopMode,
    ) -> Result<(), Unsupported> {
        let scope = self.scopes.pop().unwrap_or_default();
        let mut body = scope.stmts;
        body.extend(scope.at_end);
        let here = counter.here();
        let one = Expr::int(here.ty(), 1);
        let next = Expr::binary(BinOp::Add, here.clone(), one);
        body.push(set(&counter.var, next));
        let id = self.next_loop;
        self.next_loop += 1;
        let looped = Loop {
            id,
            cond: Expr::compare(CmpOp::Lt, here, counter.end),
            test_first: true,
            body,
            mode,
            line: 0,
        };
        let mut stmts = scope.preheader;
        stmts.extend([set(&counter.var, counter.first), Stmt::Loop(looped)]);
        self.top().stmts.extend(before);
        self.guarded(&scope.guards, stmts)
    }

    /// The statements, only if these extents are positive.
    pub(super) fn guarded(&mut self, extents: &[Idx], stmts: Vec<Stmt>) -> Result<(), Unsupported> {
        let mut guard: Option<Expr> = None;
        for extent in extents {
            let positive = Expr::compare(CmpOp::Gt, self.index(extent)?, Expr::int(I64, 0));
            guard = Some(match guard {
                Some(g) => Expr::binary(BinOp::And, g, positive),
                None => positive,
            });
        }
        match guard {
            Some(cond) => self.push(Stmt::If {
                cond,
                then: stmts,
                otherwise: vec![],
            }),
            None => self.top().stmts.extend(stmts),
        }
        Ok(())
    }
}

pub(super) fn has_loop(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|s| match s {
        Stmt::Loop(_) => true,
        Stmt::If {
            then, otherwise, ..
        } => has_loop(then) || has_loop(otherwise),
        _ => false,
    })
}
