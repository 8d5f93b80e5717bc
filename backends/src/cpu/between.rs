//! Accumulations from one place that is read to another, in unsigned numbers: the rows of a sparse matrix, `j = start[i]; j <
//! start[i + 1]`, or `j < length[i]`. How many rounds there are may be no `int64_t`; the loop counts as the original's does.

use super::lower::{Builder, Kind, Scope};
use crate::Unsupported;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Atom, Idx};
use tensorize_ir::loopir::{Expr, Loop, LoopMode, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

const U64: ScalarType = ScalarType::U64;

/// The places, and the accumulation of one accumulator in terms of the place and not of the round's number.
pub(super) struct Between {
    first: ElemRef,
    end: ElemRef,
    step: ElemRef,
}

/// The accumulation as one between two places, if it looks at the number of its round as part of the place alone.
pub(super) fn between(f: &Fold) -> Option<Between> {
    if !f.others.is_empty() {
        return None;
    }
    // As many rounds as an element says.
    if let Some(end) = f.extent.as_value().filter(|e| e.ty() == U64) {
        return Some(Between {
            first: Elem::constant(Scalar::zero(U64)),
            end: end.clone(),
            step: f.step.replace(&f.var, &Idx::value(place_of(f))),
        });
    }
    let Some(Atom::Max(a, b)) = f.extent.as_atom() else {
        return None;
    };
    let distance = match (a.is_zero(), b.is_zero()) {
        (true, false) => b,
        (false, true) => a,
        _ => return None,
    };
    let (mut first, mut end) = (None, None);
    for term in distance.terms() {
        match term {
            ([Atom::Value(e)], 1) if e.ty() == U64 && end.is_none() => end = Some(e.clone()),
            ([Atom::Value(e)], -1) if e.ty() == U64 && first.is_none() => first = Some(e.clone()),
            _ => return None,
        }
    }
    let (first, end) = (first?, end?);
    let place = &Idx::sym(f.var.clone()) + &Idx::value(first.clone());
    let here = place_of(f);
    let step = f.step.map(&mut |e| match &**e {
        Elem::OfIdx(U64, i) if *i == place => Some(here.clone()),
        _ => None,
    });
    (!step.mentions(&f.var)).then_some(Between { first, end, step })
}

/// The place, under the name of the round's number, which nothing needs.
fn place_of(f: &Fold) -> ElemRef {
    Arc::new(Elem::Acc(format!("{}.place", f.var).into(), U64))
}

impl Builder {
    /// `for (uint64_t j = first; j < end; j++)`
    pub(super) fn fold_between(&mut self, f: &Fold, b: &Between) -> Result<Expr, Unsupported> {
        let assign = |var: &Expr, value: Expr| match var {
            Expr::Var(var, ty) => Some(Stmt::Assign {
                var: var.clone(),
                ty: *ty,
                value,
            }),
            _ => None,
        };
        let mut starts = Vec::new();
        let mut variable = |s: &mut Self, stem: &str, value: Expr| {
            let var = Expr::Var(s.fresh(stem), value.ty());
            starts.extend(assign(&var, value));
            var
        };
        let value = self.value(&f.init)?;
        let acc = variable(self, &f.acc, value);
        let first = self.value(&b.first)?;
        let at = variable(self, &f.var, first);
        let end = self.value(&b.end)?;
        let end = variable(self, "end", end);
        self.scopes.push(Scope {
            kind: Kind::FoldRound(f.extent.clone()),
            ..Scope::default()
        });
        let level = self.scopes.len() - 1;
        let Elem::Acc(place, _) = &*place_of(f) else {
            return Err(Unsupported::new("a place has no name"));
        };
        self.bound.insert(f.acc.clone(), (level, acc.clone()));
        self.bound.insert(place.clone(), (level, at.clone()));
        self.bind_repeated(&[&b.step])?;
        let value = self.value(&b.step)?;
        self.bound.remove(&f.acc);
        self.bound.remove(place);
        let one = Expr::int(U64, 1);
        let scope = self.scopes.pop().unwrap_or_default();
        let mut body = scope.stmts;
        body.extend(assign(&acc, value));
        body.extend(scope.at_end);
        body.extend(assign(&at, Expr::binary(BinOp::Add, at.clone(), one)));
        let id = self.next_loop;
        self.next_loop += 1;
        let mut stmts = scope.preheader;
        stmts.push(Stmt::Loop(Loop {
            id,
            cond: Expr::compare(CmpOp::Lt, at, end),
            test_first: true,
            body,
            mode: LoopMode::Sequential,
            line: 0,
        }));
        self.top().stmts.extend(starts);
        self.guarded(&scope.guards, stmts)?;
        Ok(acc)
    }
}
