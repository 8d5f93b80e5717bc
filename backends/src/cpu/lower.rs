//! TensIR to LoopIR: a loop nest for each shape among the results, the element expression in its body.
//!
//! Folds become accumulation loops. What doesn't depend on an inner loop is computed before it, and
//! what occurs twice is computed once. Nothing is read that the original might not read: a term is
//! moved out of a branch only if it touches no memory, and out of a loop under the condition that the
//! loop has rounds.

use super::{nest, search, term};
use crate::Unsupported;
use crate::names::{C_WORDS, Names, is_math_name};
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef, Fold, Order};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{self, Expr, Loop, LoopMode, Overflow, Param, Stmt};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir;

pub(super) const I64: ScalarType = ScalarType::I64;

/// A lowered kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// Same name and parameters as the summary.
    pub function: loopir::Function,
    /// [`Tier::Real`] if a float sum was re-associated.
    pub tier: Tier,
}

/// Lowers a summary. With `allowed` at [`Tier::Real`], float sums may be re-associated.
pub fn lower(function: &tensir::Function, allowed: Tier) -> Result<Lowered, Unsupported> {
    let plan = nest::plan(function)?;
    let mut b = Builder::new(function, allowed);
    let ret = plan.ret.as_ref().map(|e| e.ty());
    let mut result = None;
    if let Some(e) = &plan.ret {
        let value = b.value(e)?;
        // The stores come after, and may change what the value reads.
        result = Some(if plan.nests.is_empty() {
            value
        } else {
            b.bind("result", value)
        });
    }
    for nest in &plan.nests {
        b.nest(nest)?;
    }
    if let Some(value) = result {
        b.push(Stmt::Return(Some(value)));
    }
    let mut top = b.scopes.pop().map(|s| s.stmts).unwrap_or_default();
    b.sizes_first.append(&mut top);
    Ok(Lowered {
        function: loopir::Function {
            name: function.name.clone(),
            params: function.params.clone(),
            ret,
            overflow: Overflow::Wraps,
            fused: false,
            arrays: vec![],
            body: b.sizes_first,
        },
        tier: b.tier,
    })
}

/// Where statements are being collected.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) kind: Kind,
    pub(super) stmts: Vec<Stmt>,
    /// Values of terms that stand in variables, in canonical form.
    pub(super) memo: BTreeMap<ElemRef, Expr>,
    /// What is computed before the loop that this scope is the body of, and its values.
    pub(super) preheader: Vec<Stmt>,
    pub(super) preheader_memo: BTreeMap<ElemRef, Expr>,
    /// Extents that must be positive for the preheader to run.
    pub(super) guards: Vec<Idx>,
}

#[derive(Default, Clone)]
pub(super) enum Kind {
    /// The function's own body.
    #[default]
    Top,
    /// A round of a loop over a result's dimension. Without rounds the whole nest does nothing.
    Dimension(Idx),
    /// A round of an accumulation.
    FoldRound(Idx),
    /// A branch of a select.
    Branch,
    /// Before a loop, where these extents are positive.
    Preheader(Vec<Idx>),
}

pub(super) struct Builder {
    names: Names,
    pub(super) scopes: Vec<Scope>,
    /// Bound variables and accumulators: the scope that binds them, and their value.
    pub(super) bound: BTreeMap<Sym, (usize, Expr)>,
    /// Integer parameters as `i64`.
    pub(super) sizes: BTreeMap<Sym, (ScalarType, Expr)>,
    pub(super) sizes_first: Vec<Stmt>,
    pub(super) params: BTreeMap<Sym, ScalarType>,
    pub(super) next_loop: u32,
    allowed: Tier,
    tier: Tier,
}

impl Builder {
    fn new(function: &tensir::Function, allowed: Tier) -> Builder {
        let mut names = Names::new(C_WORDS.iter().copied());
        for p in &function.params {
            names.reserve(p.name());
        }
        let params = function.params.iter().filter_map(|p| match p {
            Param::Scalar { name, ty } => Some((name.clone(), *ty)),
            Param::Array { .. } => None,
        });
        Builder {
            names,
            scopes: vec![Scope::default()],
            bound: BTreeMap::new(),
            sizes: BTreeMap::new(),
            sizes_first: Vec::new(),
            params: params.collect(),
            next_loop: 1,
            allowed,
            tier: Tier::Exact,
        }
    }

    fn top(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    pub(super) fn push(&mut self, stmt: Stmt) {
        self.top().stmts.push(stmt);
    }

    pub(super) fn fresh(&mut self, stem: &str) -> Sym {
        let mut name = self.names.fresh(stem);
        while is_math_name(&name) {
            name = self.names.fresh(&format!("{stem}_"));
        }
        name.into()
    }

    /// A new variable with this value.
    fn bind(&mut self, stem: &str, value: Expr) -> Expr {
        let (var, ty) = (self.fresh(stem), value.ty());
        self.push(Stmt::Assign {
            var: var.clone(),
            ty,
            value,
        });
        Expr::Var(var, ty)
    }

    /// A loop nest over the dimensions of some results.
    fn nest(&mut self, nest: &nest::Nest) -> Result<(), Unsupported> {
        self.dimensions(nest, 0).map(|_| ())
    }

    /// Opens dimension `d` and those after it; whether there is another loop inside.
    fn dimensions(&mut self, nest: &nest::Nest, d: usize) -> Result<bool, Unsupported> {
        if d == nest.extents.len() {
            return self.results(nest);
        }
        let var = self.fresh(&nest.stems[d]);
        let counter = Expr::Var(var.clone(), I64);
        let extent = self.index(&nest.extents[d])?;
        let kind = Kind::Dimension(nest.extents[d].clone());
        self.scopes.push(Scope {
            kind,
            ..Scope::default()
        });
        self.bound.insert(
            nest.dims[d].clone(),
            (self.scopes.len() - 1, counter.clone()),
        );
        let has_loops = self.dimensions(nest, d + 1)?;
        self.bound.remove(&nest.dims[d]);
        let mode = match (d, has_loops) {
            (0, _) => LoopMode::Parallel,
            (_, false) => LoopMode::Simd { reductions: vec![] },
            _ => LoopMode::Sequential,
        };
        self.close_loop(vec![], var, extent, mode)?;
        Ok(true)
    }

    /// The body of a nest; whether there is a loop in it.
    fn results(&mut self, nest: &nest::Nest) -> Result<bool, Unsupported> {
        let roots: Vec<ElemRef> = nest.results.iter().map(nest::Target::term).collect();
        self.bind_repeated(&roots.iter().collect::<Vec<_>>())?;
        if nest.results.len() > 1 {
            // All values first: a result may read what another one overwrites.
            let mut values = Vec::new();
            for r in &nest.results {
                values.push(match &r.store {
                    nest::Stored::Always(e) if !nest.independent => {
                        let v = self.value(e)?;
                        Some(self.bind(&format!("new_{}", r.array), v))
                    }
                    _ => None,
                });
            }
            for (r, value) in nest.results.iter().zip(values) {
                match value {
                    Some(value) => {
                        let index = self.index(&r.index)?;
                        self.push(Stmt::Store {
                            array: r.array.clone(),
                            index,
                            value,
                        });
                    }
                    None => self.store(r, &r.store)?,
                }
            }
        } else if let [r] = nest.results.as_slice() {
            self.store(r, &r.store)?;
        }
        Ok(self.scopes.last().is_some_and(|s| has_loop(&s.stmts)))
    }

    fn store(&mut self, r: &nest::Target, stored: &nest::Stored) -> Result<(), Unsupported> {
        match stored {
            nest::Stored::Never => {}
            nest::Stored::Always(e) => {
                let value = self.value(e)?;
                let index = self.index(&r.index)?;
                self.push(Stmt::Store {
                    array: r.array.clone(),
                    index,
                    value,
                });
            }
            nest::Stored::If(c, t, f) => {
                let mut cond = self.value(c)?;
                let then = self.in_branch(|b| b.store(r, t))?.0;
                let mut otherwise = self.in_branch(|b| b.store(r, f))?.0;
                let then = if then.is_empty() {
                    cond = Expr::Unary(UnOp::Not, Box::new(cond));
                    std::mem::take(&mut otherwise)
                } else {
                    then
                };
                if !then.is_empty() {
                    self.push(Stmt::If {
                        cond,
                        then,
                        otherwise,
                    });
                }
            }
        }
        Ok(())
    }

    fn in_branch<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, Unsupported>,
    ) -> Result<(Vec<Stmt>, T), Unsupported> {
        self.scopes.push(Scope {
            kind: Kind::Branch,
            ..Scope::default()
        });
        let out = f(self)?;
        let scope = self.scopes.pop().unwrap_or_default();
        Ok((scope.stmts, out))
    }

    /// Ends the loop whose body is the topmost scope, and puts it into the scope below, after `before`.
    fn close_loop(
        &mut self,
        before: Vec<Stmt>,
        var: Sym,
        extent: Expr,
        mode: LoopMode,
    ) -> Result<(), Unsupported> {
        let scope = self.scopes.pop().unwrap_or_default();
        let mut body = scope.stmts;
        let counter = || Expr::Var(var.clone(), I64);
        let next = Expr::binary(BinOp::Add, counter(), Expr::int(I64, 1));
        body.push(Stmt::Assign {
            var: var.clone(),
            ty: I64,
            value: next,
        });
        let id = self.next_loop;
        self.next_loop += 1;
        let start = Stmt::Assign {
            var: var.clone(),
            ty: I64,
            value: Expr::int(I64, 0),
        };
        let cond = Expr::compare(CmpOp::Lt, counter(), extent);
        let looped = Loop {
            id,
            cond,
            test_first: true,
            body,
            mode,
            line: 0,
        };
        let mut stmts = scope.preheader;
        stmts.extend([start, Stmt::Loop(looped)]);
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

    /// Gives names to what is evaluated more than once.
    fn bind_repeated(&mut self, roots: &[&ElemRef]) -> Result<(), Unsupported> {
        for e in term::repeated(roots) {
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

    fn known(&self, key: &ElemRef) -> Option<Expr> {
        self.scopes
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

    /// The outermost scope where the term can be computed, and the extents that have to be positive there.
    fn place(&self, e: &ElemRef) -> (usize, Vec<Idx>) {
        let mut floor = 0;
        term::for_each_name(e, &mut |s| floor = floor.max(self.level(s)));
        let risky = term::needs_guard(e);
        let mut at = self.scopes.len() - 1;
        let mut guards: Vec<Idx> = Vec::new();
        while at > floor {
            let mut crossed = guards.clone();
            let mut last = false;
            match &self.scopes[at].kind {
                Kind::Top => break,
                Kind::Branch if risky => break,
                Kind::Preheader(extents) if risky => crossed.extend(extents.iter().cloned()),
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
        (at, guards)
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
                    let value = self.index(idx)?;
                    Expr::convert(*ty, value)
                }
            },
            Elem::Read { array, ty, index } => {
                let index = self.index(index)?;
                Expr::load(array.clone(), *ty, index)
            }
            Elem::Unary(op, a) => Expr::Unary(*op, Box::new(self.value(a)?)),
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
            Elem::Select(c, t, f) => self.select(c, t, f)?,
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

    fn select(&mut self, c: &ElemRef, t: &ElemRef, f: &ElemRef) -> Result<Expr, Unsupported> {
        let cond = self.value(c)?;
        let (mut then, yes) = self.in_branch(|b| b.value(t))?;
        let (mut otherwise, no) = self.in_branch(|b| b.value(f))?;
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

    fn fold(&mut self, f: &Fold) -> Result<Expr, Unsupported> {
        if let Some(condition) = search::searched(f) {
            return self.search(f, &condition);
        }
        let mut starts = Vec::new();
        let mut accs: Vec<(Sym, Expr)> = Vec::new();
        for lane in f.lanes() {
            let value = self.value(lane.init)?;
            let (acc, ty) = (self.fresh(lane.acc), value.ty());
            accs.push((acc.clone(), Expr::Var(acc.clone(), ty)));
            starts.push(Stmt::Assign {
                var: acc,
                ty,
                value,
            });
        }
        let var = self.fresh(&f.var);
        let (acc, result) = accs[0].clone();
        let mut extent = self.index(&f.extent)?;
        if !term::values_in(&f.extent).is_empty() {
            extent = self.bind("rounds", extent);
        }
        let kind = Kind::FoldRound(f.extent.clone());
        self.scopes.push(Scope {
            kind,
            ..Scope::default()
        });
        let level = self.scopes.len() - 1;
        for (lane, (_, value)) in f.lanes().zip(&accs) {
            self.bound.insert(lane.acc.clone(), (level, value.clone()));
        }
        self.bound
            .insert(f.var.clone(), (level, Expr::Var(var.clone(), I64)));
        let steps: Vec<&ElemRef> = f.lanes().map(|lane| lane.step).collect();
        self.bind_repeated(&steps)?;
        let mut values = Vec::new();
        for step in &steps {
            let value = self.value(step)?;
            // All lanes step at once: a new value waits until the last one is known.
            values.push(match steps.len() {
                1 => value,
                _ => self.bind("next", value),
            });
        }
        for lane in f.lanes() {
            self.bound.remove(lane.acc);
        }
        self.bound.remove(&f.var);
        let nested = has_loop(&self.top().stmts);
        for ((acc, _), value) in accs.into_iter().zip(values) {
            self.push(Stmt::Assign {
                var: acc,
                ty: value.ty(),
                value,
            });
        }
        let mode = self.fold_mode(f, result.ty(), nested, acc);
        self.close_loop(starts, var, extent, mode)?;
        Ok(result)
    }

    fn fold_mode(&mut self, f: &Fold, ty: ScalarType, nested: bool, acc: Sym) -> LoopMode {
        let Some((op, _)) = f.as_reduction() else {
            return LoopMode::Sequential;
        };
        if nested {
            return LoopMode::Sequential;
        }
        if !op.is_associative(ty) && f.order == Order::Sequential {
            let real = matches!(op, BinOp::Add | BinOp::Multiply) && self.allowed == Tier::Real;
            if !real {
                return LoopMode::Sequential;
            }
            self.tier = Tier::Real;
        }
        LoopMode::Simd {
            reductions: vec![(op, acc)],
        }
    }
}

fn has_loop(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|s| match s {
        Stmt::Loop(_) => true,
        Stmt::If {
            then, otherwise, ..
        } => has_loop(then) || has_loop(otherwise),
        _ => false,
    })
}
