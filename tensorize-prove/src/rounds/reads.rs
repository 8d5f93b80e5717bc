//! Reads of which nothing comes. What a kernel assigns to a variable that nobody looks at is no part of what it computes; but
//! where that was read from is memory that it touches, and a caller has to have it.

use super::{Split, stuck};
use crate::exec::Stuck;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Function, Stmt, Visited, visit};

impl Split {
    /// Shows that the round has each read of the kernel: what is left out because nothing comes of it touches memory all the
    /// same.
    pub(super) fn reads_all_of(&self, kernel: &Function) -> Result<(), Stuck> {
        fn reads(body: &[Stmt]) -> Vec<(&Sym, &Expr)> {
            let mut found = Vec::new();
            visit(body, &mut |part| {
                if let Visited::Expr(Expr::Load { array, index, .. }) = part {
                    found.push((array, &**index));
                }
            });
            found
        }
        let mut here = reads(&self.round.body);
        for read in reads(&kernel.body) {
            let Some(at) = here.iter().position(|r| *r == read) else {
                return stuck(
                    format!("something is read of {} that no round reads", read.0),
                    0,
                );
            };
            here.swap_remove(at);
        }
        Ok(())
    }
}

/// Whether a statement reads memory.
pub(super) fn reads_memory(stmt: &Stmt) -> bool {
    let mut reads = false;
    visit(std::slice::from_ref(stmt), &mut |part| {
        reads |= matches!(part, Visited::Expr(Expr::Load { .. }));
    });
    reads
}
