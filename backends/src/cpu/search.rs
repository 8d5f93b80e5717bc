//! Searches: the first index at which something holds is looked for, and no further.

use super::lower::{Builder, I64, Kind, Scope};
use super::term;
use crate::Unsupported;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Expr, Loop, LoopMode, Stmt};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// The condition that is searched for, if the fold is a search: the least index below the extent at which it
/// holds, or else the extent.
pub(super) fn searched(f: &Fold) -> Option<ElemRef> {
    let (op, x) = f.as_reduction()?;
    let Elem::Select(found, here, none) = &*x else {
        return None;
    };
    let none_first = **here == *f.init;
    let (found, here, none) = if none_first {
        (Elem::not(found.clone()), none, here)
    } else {
        (found.clone(), here, none)
    };
    let is = |e: &ElemRef, idx: &Idx| match &**e {
        Elem::OfIdx(ScalarType::I64, i) => i == idx,
        Elem::Const(v) => v.ty == I64 && idx.as_constant() == Some(v.as_int()),
        _ => false,
    };
    let var = Idx::sym(f.var.clone());
    let search =
        op == BinOp::Minimum && is(here, &var) && is(none, &f.extent) && is(&f.init, &f.extent);
    search.then_some(found)
}

/// The same search, in the one form that all searches for the same have.
pub(super) fn as_search(f: &Arc<Fold>) -> Option<Arc<Fold>> {
    let found = searched(f)?;
    let var = Idx::sym(f.var.clone());
    let here = Elem::select(found, Elem::of_idx(I64, var), f.init.clone());
    let acc = Arc::new(Elem::Acc(f.acc.clone(), I64));
    Some(Arc::new(Fold {
        step: Elem::binary(BinOp::Minimum, acc, here),
        ..(**f).clone()
    }))
}

impl Builder {
    /// `while (at < extent && !found) { if (condition) found = true; else at++; }`
    pub(super) fn search(&mut self, f: &Fold, condition: &ElemRef) -> Result<Expr, Unsupported> {
        let extent = self.index(&f.extent)?;
        let (at, found) = (self.fresh("at"), self.fresh("found"));
        let set = |var: &Sym, value: Expr| Stmt::Assign {
            var: var.clone(),
            ty: value.ty(),
            value,
        };
        let here = Expr::Var(at.clone(), I64);
        let truth = |v| Expr::Const(Scalar::bool(v));
        self.scopes.push(Scope {
            kind: Kind::FoldRound(f.extent.clone()),
            searches: true,
            ..Scope::default()
        });
        let level = self.scopes.len() - 1;
        self.bound.insert(f.var.clone(), (level, here.clone()));
        self.bind_repeated(&[condition])?;
        let cond = self.value(condition)?;
        let ran = std::mem::take(&mut self.top().ran);
        let (mut otherwise, mut assigned) = (Vec::new(), Vec::new());
        for (fold, accs) in &ran {
            let [computed, then] = self.step_along(fold, accs, &f.var)?;
            otherwise.extend(computed);
            assigned.extend(then);
        }
        otherwise.extend(assigned);
        self.bound.remove(&f.var);
        let next = Expr::binary(BinOp::Add, here.clone(), Expr::int(I64, 1));
        otherwise.push(set(&at, next));
        self.push(Stmt::If {
            cond,
            then: vec![set(&found, truth(true))],
            otherwise,
        });
        let open = Expr::Unary(
            UnOp::Not,
            Box::new(Expr::Var(found.clone(), ScalarType::I1)),
        );
        let cond = Expr::Select(
            Box::new(Expr::compare(CmpOp::Lt, here.clone(), extent)),
            Box::new(open),
            Box::new(truth(false)),
        );
        let scope = self.scopes.pop().unwrap_or_default();
        let mut stmts = scope.preheader;
        let id = self.next_loop;
        self.next_loop += 1;
        stmts.push(Stmt::Loop(Loop {
            id,
            cond,
            test_first: true,
            body: scope.stmts,
            mode: LoopMode::Sequential,
            line: 0,
        }));
        self.push(set(&at, Expr::int(I64, 0)));
        self.push(set(&found, truth(false)));
        self.guarded(&scope.guards, stmts)?;
        // What ran along has taken as many steps as there were rounds.
        if scope.guards.is_empty() {
            let rounds = Idx::value(Arc::new(Elem::Fold(Arc::new(f.clone()))));
            for (ran, accs) in ran {
                let extent = rounds.clone();
                let so_far: ElemRef = Arc::new(Elem::Fold(Arc::new(Fold { extent, ..ran })));
                let value = accs[0].clone();
                self.top().memo.insert(term::canonical(&so_far), value);
            }
        }
        Ok(here)
    }
}
