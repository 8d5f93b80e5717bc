//! The value of a term: computed once, as far out as it may be.
//!
//! What doesn't depend on an inner loop is computed before it, and what occurs twice is computed once.
//! Nothing is read that the original might not read: a term is moved out of a branch only if it touches
//! no memory, and out of a loop under the condition that the loop has rounds.

use super::indices::has_large_factors;
use super::lower::{Builder, Kind, Scope};
use super::nest::{for_each_read, reads_any};
use super::term;
use crate::Unsupported;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::{Scalar, ScalarType};

impl Builder {
    /// Gives names to what is evaluated more than once.
    pub(super) fn bind_repeated(&mut self, roots: &[&ElemRef]) -> Result<(), Unsupported> {
        for e in term::repeated(roots, &|a, b| self.decides_what_is_read(a, b)) {
            let key = term::canonical(&e);
            if self.known(&key).is_some() {
                continue;
            }
            let value = self.value(&e)?;
            // The value may have been put into a variable further out just now.
            if self.known(&key).is_none() {
                let var = self.bind(&term::stem(&e), value);
                self.top().memo.insert(key, var);
            }
        }
        Ok(())
    }

    /// Where the value of this term stands, which is in canonical form, if it stands anywhere.
    pub(super) fn known(&self, key: &ElemRef) -> Option<Expr> {
        let since = self.changed_in(key);
        self.scopes[since..]
            .iter()
            .rev()
            .find_map(|s| s.memo.get(key).or_else(|| s.preheader_memo.get(key)))
            .cloned()
    }

    /// The value of a term, its loops put into the scopes where they belong.
    pub(super) fn value(&mut self, e: &ElemRef) -> Result<Expr, Unsupported> {
        if !term::expensive(e) {
            return match self.known(e) {
                Some(known) => Ok(known),
                None => self.plain(e),
            };
        }
        let key = term::canonical(e);
        if let Some(known) = self.known(&key) {
            return Ok(known);
        }
        let (scope, guards) = self.place(e);
        if scope + 1 == self.scopes.len() {
            let value = self.plain(e)?;
            if matches!(value, Expr::Var(..)) {
                self.top().memo.insert(key, value.clone());
            }
            return Ok(value);
        }
        // Computed in scope number `scope`, before the loop that the next scope is the body of.
        let mut inner = self.scopes.split_off(scope + 1);
        let in_preheader = !guards.is_empty() || !inner[0].preheader.is_empty();
        if !in_preheader {
            let value = self.plain(e)?;
            let value = self.named(e, value);
            self.top().memo.insert(key, value.clone());
            self.scopes.append(&mut inner);
            return Ok(value);
        }
        for g in guards {
            if !inner[0].guards.contains(&g) {
                inner[0].guards.push(g);
            }
        }
        self.scopes.push(Scope {
            kind: Kind::Preheader(inner[0].guards.clone()),
            stmts: std::mem::take(&mut inner[0].preheader),
            memo: std::mem::take(&mut inner[0].preheader_memo),
            ..Scope::default()
        });
        let value = self.plain(e)?;
        let value = self.named(e, value);
        self.top().memo.insert(key, value.clone());
        let done = self.scopes.pop().unwrap_or_default();
        inner[0].preheader = done.stmts;
        inner[0].preheader_memo = done.memo;
        self.scopes.append(&mut inner);
        Ok(value)
    }

    fn named(&mut self, e: &ElemRef, value: Expr) -> Expr {
        if matches!(value, Expr::Var(..)) {
            value
        } else {
            self.bind(&term::stem(e), value)
        }
    }

    /// The innermost scope of rounds that change what the term reads; the outermost one if there is none.
    fn changed_in(&self, e: &ElemRef) -> usize {
        let mut since = 0;
        if !self.changing.is_empty() {
            for_each_read(e, &mut |array, _| {
                let rounds = self.changing.iter().rev().find(|(a, _)| a == array);
                since = since.max(rounds.map_or(0, |(_, scope)| *scope));
            });
        }
        since.min(self.scopes.len())
    }

    /// The outermost scope where the term can be computed, and the extents that have to be positive there.
    fn place(&self, e: &ElemRef) -> (usize, Vec<Idx>) {
        let mut floor = self.changed_in(e);
        term::for_each_name(e, &mut |s| floor = floor.max(self.level(s)));
        let risky = term::needs_guard(e);
        let mut at = self.scopes.len() - 1;
        let mut guards: Vec<Idx> = Vec::new();
        let mut before_a_loop = None;
        while at > floor {
            let mut crossed = guards.clone();
            let mut last = false;
            match &self.scopes[at].kind {
                Kind::Top => break,
                Kind::Branch if risky => break,
                Kind::Preheader(extents) if risky => {
                    before_a_loop = Some((at, guards.clone()));
                    crossed.extend(extents.iter().cloned());
                }
                Kind::Dimension(x) if risky && !term::covered_by(e, x) => crossed.push(x.clone()),
                Kind::FoldRound(x) if risky && !term::covered_by(e, x) => {
                    // Without rounds, the accumulation still has a value: only what is inside of it
                    // can be made to depend on there being rounds.
                    crossed.push(x.clone());
                    last = true;
                }
                _ => {}
            }
            let fixed = crossed
                .iter()
                .all(|x| self.idx_level(x) < at && !term::idx_needs_guard(x));
            if !fixed || (last && !guards.is_empty()) {
                break;
            }
            (guards, at) = (crossed, at - 1);
            if last {
                break;
            }
        }
        // One scope out of what precedes a loop, under the same conditions: that is here already.
        before_a_loop
            .filter(|(preheader, _)| *preheader == at + 1)
            .unwrap_or((at, guards))
    }

    fn level(&self, s: &Sym) -> usize {
        self.bound.get(s).map_or(0, |(scope, _)| *scope)
    }

    fn idx_level(&self, idx: &Idx) -> usize {
        let mut level = 0;
        term::for_each_name_in_idx(idx, &mut |s| level = level.max(self.level(s)));
        level
    }

    /// The value of a term, computed here.
    fn plain(&mut self, e: &ElemRef) -> Result<Expr, Unsupported> {
        Ok(match &**e {
            Elem::Const(v) => Expr::Const(*v),
            Elem::Param(name, ty) => Expr::Var(name.clone(), *ty),
            Elem::OfIdx(ty, idx) => match idx
                .as_sym()
                .and_then(|s| self.params.get(s).copied().map(|t| (s, t)))
            {
                // Straight from the parameter: no detour over `int64_t` that could lose something.
                Some((s, from)) if !self.bound.contains_key(s) => {
                    Expr::convert(*ty, Expr::Var(s.clone(), from))
                }
                _ => {
                    let value = match *ty == ScalarType::U64 && has_large_factors(idx) {
                        true => self.unsigned(idx)?,
                        false => self.index(idx)?,
                    };
                    Expr::convert(*ty, value)
                }
            },
            Elem::Read { array, ty, index } => {
                let index = self.index(index)?;
                Expr::load(array.clone(), *ty, index)
            }
            Elem::Unary(op, a) => Expr::Unary(*op, Box::new(self.value(a)?)),
            // As in C, where the second is looked at only if the first leaves it open.
            Elem::Binary(BinOp::Or, a, b) if self.decides_what_is_read(a, b) => {
                self.select(a, &Elem::constant(Scalar::bool(true)), b)?
            }
            Elem::Binary(BinOp::And, a, b) if self.decides_what_is_read(a, b) => {
                self.select(a, b, &Elem::constant(Scalar::bool(false)))?
            }
            Elem::Binary(op, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                Expr::binary(*op, a, b)
            }
            Elem::Compare(op, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                Expr::compare(*op, a, b)
            }
            Elem::IndexCompare(op, a, b) => {
                let (a, b) = (self.index(a)?, self.index(b)?);
                Expr::compare(*op, a, b)
            }
            Elem::Convert(ty, a) => Expr::convert(*ty, self.value(a)?),
            Elem::Bitcast(ty, a) => Expr::Bitcast(*ty, Box::new(self.value(a)?)),
            Elem::Select(c, t, f) => match self.own_table(e) {
                Some(entry) => self.entry(&entry)?,
                None => self.select(c, t, f)?,
            },
            Elem::Acc(name, _) => match self.bound.get(name) {
                Some((_, value)) => value.clone(),
                None => {
                    return Err(Unsupported::new(format!(
                        "accumulator {name} outside of its fold"
                    )));
                }
            },
            Elem::Fold(f) => self.fold(f)?,
        })
    }

    /// Whether the second of two conditions reads what the original may read only if the first one says so.
    fn decides_what_is_read(&self, first: &ElemRef, second: &ElemRef) -> bool {
        first.ty() == ScalarType::I1 && self.is_read_by_data(second)
    }

    /// Whether a term reads an array of which the original reads some elements on some data only.
    pub(super) fn is_read_by_data(&self, e: &ElemRef) -> bool {
        let arrays: Vec<&Sym> = self.by_data.iter().collect();
        !arrays.is_empty() && reads_any(e, &arrays)
    }

    /// The value of a branch. What occurs twice in there is left to the C compiler, which chooses without branching then,
    /// unless it is most of the branch.
    fn branch(&mut self, e: &ElemRef) -> Result<Expr, Unsupported> {
        if term::repeats_itself(e) {
            self.bind_repeated(&[e])?;
        }
        self.value(e)
    }

    fn select(&mut self, c: &ElemRef, t: &ElemRef, f: &ElemRef) -> Result<Expr, Unsupported> {
        let cond = self.value(c)?;
        let (mut then, yes) = self.in_branch(|b| b.branch(t))?;
        let (mut otherwise, no) = self.in_branch(|b| b.branch(f))?;
        if then.is_empty() && otherwise.is_empty() {
            return Ok(Expr::Select(Box::new(cond), Box::new(yes), Box::new(no)));
        }
        let (var, ty) = (self.fresh("chosen"), yes.ty());
        then.push(Stmt::Assign {
            var: var.clone(),
            ty,
            value: yes,
        });
        otherwise.push(Stmt::Assign {
            var: var.clone(),
            ty,
            value: no,
        });
        self.push(Stmt::If {
            cond,
            then,
            otherwise,
        });
        Ok(Expr::Var(var, ty))
    }
}
