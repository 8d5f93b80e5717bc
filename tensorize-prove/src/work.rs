//! How much is done in a branch: what is left to the original is what does less.

use tensorize_ir::loopir::{Stmt, Visited, visit};

/// What statements do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    Nothing,
    Stores,
    Loops,
}

/// The most that is done anywhere in them.
pub(crate) fn work(stmts: &[Stmt]) -> Work {
    let mut most = Work::Nothing;
    visit(stmts, &mut |v| {
        most = most.max(match v {
            Visited::Stmt(Stmt::Loop(_)) => Work::Loops,
            Visited::Stmt(Stmt::Store { .. }) => Work::Stores,
            _ => Work::Nothing,
        });
    });
    most
}
