//! The search for what the variables of one loop hold at the start of a round.

use super::bank::{self, Bank, Entry, close};
use super::terms::{self, Body, fold};
use super::trace::{Point, Runs};
use super::{Situation, Solution, widen};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_prove::exec::Executor;

/// What expressions are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grammar {
    /// The body's expression tree: its operators, and sums of its parts.
    #[default]
    Tree,
    /// Everything that has the right type.
    Types,
}

/// With fewer rounds to go by, anything would fit.
const FEWEST_ROUNDS: usize = 8;

/// In as many rounds terms are told apart.
const MAX_PAIRS: usize = 120;

/// One loop.
pub struct Problem<'a> {
    pub situation: &'a Situation,
    pub runs: &'a Runs,
    pub id: u32,
    pub grammar: Grammar,
    /// What must not be proposed again.
    pub barred: &'a BTreeSet<String>,
}

impl Problem<'_> {
    /// For each target what it may hold at the start of round `k`, with the reductions that they depend on; `None`
    /// if there is nothing for some target.
    pub fn candidates(&self, exec: &mut Executor) -> Option<Solution> {
        let s = self.situation;
        let points = self.runs.points(self.id);
        if points.iter().filter(|p| p.round() > 0).count() < FEWEST_ROUNDS {
            return None;
        }
        let j = exec.ctx.fresh.name("j");
        let at_j = |e: &ElemRef| e.replace(&s.k, &Idx::sym(j.clone()));
        let readable = |e: &ElemRef| {
            let mut ok = true;
            e.visit(&mut |x| {
                ok &= !matches!(&**x, Elem::Read { array, .. } if s.arrays.contains(array));
            });
            ok
        };
        let ends: Vec<(Sym, ElemRef)> = s
            .ends
            .iter()
            .filter(|(_, e)| readable(e))
            .map(|(v, e)| (v.clone(), at_j(e)))
            .collect();
        let mut solved: Solution = BTreeMap::new();
        for var in &s.reductions {
            if let Some((_, end)) = ends.iter().find(|(v, _)| v == var) {
                let body = self.body(&j, &ends, &solved);
                let form = match body.linear(&s.tokens[var], end) {
                    Some((rate, rest)) if !rest.mentions(&j) && end.ty().is_float() => {
                        self.steady(&s.entries[var], &rate, &rest)
                    }
                    _ => None,
                };
                let form = form.unwrap_or_else(|| self.reduction(var, end, &j, exec));
                solved.insert(var.clone(), form);
            }
        }
        let mut open: BTreeSet<Sym> = s.targets.clone();
        while !open.is_empty() {
            let body = self.body(&j, &ends, &solved);
            let found = self.pass(&body, &points, &open, &solved, exec);
            if found.is_empty() {
                return None;
            }
            for (var, e) in found {
                open.remove(&var);
                solved.insert(var, e);
            }
        }
        // Reductions that no target depends on stay what they are.
        let needed = |var: &Sym| {
            let token = &s.tokens[var];
            s.targets.iter().any(|t| s.ends[t].mentions(token))
        };
        solved.retain(|var, _| s.targets.contains(var) || needed(var));
        Some(solved)
    }

    fn body(&self, j: &Sym, ends: &[(Sym, ElemRef)], solved: &Solution) -> Body {
        let tokens = self.situation.tokens.iter();
        Body {
            j: j.clone(),
            tokens: tokens
                .map(|(v, t)| (t.clone(), solved.get(v).cloned()))
                .collect(),
            k: self.situation.k.clone(),
            ends: ends.to_vec(),
        }
    }

    /// What `v = v + rest` or `v = rate·v` comes to, both being the same in every round.
    fn steady(&self, entry: &ElemRef, rate: &ElemRef, rest: &ElemRef) -> Option<ElemRef> {
        let ty = entry.ty();
        if !BinOp::Add.accepts(ty) {
            return None;
        }
        let k = Elem::of_idx(ty, Idx::sym(self.situation.k.clone()));
        let is = |e: &ElemRef, v: i128| *e == Elem::constant(Scalar::int(ty, v));
        let form = if is(rate, 1) {
            let sum = Elem::binary(BinOp::Multiply, rest.clone(), k);
            Elem::binary(BinOp::Add, entry.clone(), sum)
        } else if is(rest, 0) {
            let power = Elem::binary(BinOp::Power, rate.clone(), k);
            Elem::binary(BinOp::Multiply, entry.clone(), power)
        } else {
            return None;
        };
        Some(terms::tidy(&form))
    }

    fn reduction(&self, var: &Sym, end: &ElemRef, j: &Sym, exec: &mut Executor) -> ElemRef {
        let s = self.situation;
        let token = &s.tokens[var];
        let fresh = &mut exec.ctx.fresh;
        let step = |own: ElemRef, term: ElemRef| {
            term.map(&mut |x| match &**x {
                Elem::Acc(n, _) if n == token => Some(own.clone()),
                _ => None,
            })
        };
        let (acc, v) = (fresh.name("acc"), fresh.name("j"));
        fold(acc, v, (j, &s.k), s.entries[var].clone(), step, end)
    }

    /// Looks for what the open variables hold, given what is known of others.
    fn pass(
        &self,
        body: &Body,
        points: &[Point],
        open: &BTreeSet<Sym>,
        solved: &Solution,
        exec: &mut Executor,
    ) -> Solution {
        let s = self.situation;
        let eval = |e: &ElemRef| -> Option<Vec<Scalar>> {
            let wide = widen::elem(e);
            points
                .iter()
                .map(|p| p.eval(&wide, &s.names, None))
                .collect()
        };
        let later: Vec<bool> = points.iter().map(|p| p.round() > 0).collect();
        let goals: Vec<Goal> = open
            .iter()
            .filter_map(|v| {
                let values = points
                    .iter()
                    .map(|p| p.vars.get(v).copied())
                    .collect::<Option<Vec<Scalar>>>()?;
                Some(Goal {
                    var: v.clone(),
                    ty: s.ends[v].ty(),
                    entry: s.entries[v].clone(),
                    values,
                })
            })
            .collect();
        let found: RefCell<Solution> = RefCell::new(BTreeMap::new());
        let mut check = |entry: &Entry| {
            let mut found = found.borrow_mut();
            for goal in &goals {
                if !found.contains_key(&goal.var)
                    && let Some(e) = goal.met_by(entry, points, &s.k)
                    && !self.barred.contains(&s.abstracted(&e).to_string())
                {
                    found.insert(goal.var.clone(), e);
                }
            }
            found.len() == goals.len()
        };
        let mut bank = Bank::new(&eval, &later);
        let leaves = self.leaves(body, open, solved, points, exec);
        for leaf in leaves {
            let size = terms::weight(&leaf);
            if bank.leaf(leaf, size).is_some_and(&mut check) {
                return found.into_inner();
            }
        }
        let (unary, binary) = self.operators(body);
        let grammar = bank::Grammar {
            unary,
            binary,
            max_size: if self.grammar == Grammar::Tree { 5 } else { 4 },
            max_entries: 4000,
        };
        // A variable that was found may be what the others need.
        if found.borrow().is_empty() {
            bank.enumerate(&grammar, &mut |e| {
                check(e);
                !found.borrow().is_empty()
            });
        }
        found.into_inner()
    }

    fn operators(&self, body: &Body) -> (Vec<UnOp>, Vec<BinOp>) {
        use BinOp::*;
        match self.grammar {
            Grammar::Tree => body.operators(),
            Grammar::Types => (
                vec![UnOp::Negate, UnOp::Abs, UnOp::Exponential, UnOp::Sqrt],
                vec![Add, Subtract, Multiply, Divide, Maximum, Minimum],
            ),
        }
    }

    /// What expressions start from.
    fn leaves(
        &self,
        body: &Body,
        open: &BTreeSet<Sym>,
        solved: &Solution,
        points: &[Point],
        exec: &mut Executor,
    ) -> Vec<ElemRef> {
        let s = self.situation;
        let types: BTreeSet<ScalarType> = open.iter().map(|v| s.ends[v].ty()).collect();
        let mut leaves: Vec<ElemRef> = Vec::new();
        for ty in &types {
            for c in [0, 1] {
                leaves.push(Elem::constant(Scalar::int(*ty, c)));
            }
            let k = Idx::sym(s.k.clone());
            leaves.push(Elem::of_idx(*ty, k.clone()));
            leaves.push(Elem::of_idx(*ty, &k + &Idx::constant(1)));
        }
        leaves.extend(body.invariants());
        leaves.extend(solved.values().cloned());
        leaves.extend(open.iter().map(|v| s.entries[v].clone()));
        for var in open {
            if self.grammar == Grammar::Tree
                && let Some((_, end)) = body.ends.iter().find(|(v, _)| v == var)
                && let Some((rate, rest)) = body.linear(&s.tokens[var], end)
                // Integers have no powers.
                && BinOp::Add.accepts(rate.ty())
                && (BinOp::Power.accepts(rate.ty())
                    || rate == Elem::constant(Scalar::int(rate.ty(), 1)))
            {
                leaves.push(self.recurrence(&s.entries[var], &rate, &rest, &body.j, exec));
            }
        }
        let terms = match self.grammar {
            Grammar::Tree => self.distinct(body.terms(), body, points),
            Grammar::Types => self.all_terms(body, solved, points),
        };
        // Truth values have no sums.
        let summed = |t: &&ElemRef| types.contains(&t.ty()) && BinOp::Add.accepts(t.ty());
        for term in terms.iter().filter(summed) {
            let mut sum = |init: ElemRef| {
                let (acc, v) = (exec.ctx.fresh.name("acc"), exec.ctx.fresh.name("j"));
                let step = |own, term| Elem::binary(BinOp::Add, own, term);
                fold(acc, v, (&body.j, &s.k), init, step, term)
            };
            let zero = Elem::constant(Scalar::zero(term.ty()));
            leaves.push(sum(zero.clone()));
            for var in open {
                let entry = &s.entries[var];
                if entry.ty() == term.ty() && *entry != zero {
                    leaves.push(sum(entry.clone()));
                }
            }
            // A first element that was taken care of before the loop, as round -1.
            if s.tokens.keys().any(|v| reads(&s.entries[v])) {
                let (acc, v) = (exec.ctx.fresh.name("acc"), exec.ctx.fresh.name("j"));
                let step = |own, term| Elem::binary(BinOp::Add, own, term);
                let earlier = &Idx::sym(body.j.clone()) - &Idx::constant(1);
                let term = term.replace(&body.j, &earlier);
                let sum = fold(acc, v, (&body.j, &s.k), zero, step, &term);
                leaves.push(terms::one_more(&sum));
            }
        }
        leaves
    }

    /// `rate^k·entry + Σ rest(j)·rate^(k - 1 - j)`: what `v = rate·v + rest` comes to.
    fn recurrence(
        &self,
        entry: &ElemRef,
        rate: &ElemRef,
        rest: &ElemRef,
        j: &Sym,
        exec: &mut Executor,
    ) -> ElemRef {
        let s = self.situation;
        let ty = entry.ty();
        let (acc, v) = (exec.ctx.fresh.name("acc"), exec.ctx.fresh.name("j"));
        let k = Idx::sym(s.k.clone());
        let one = Elem::constant(Scalar::int(ty, 1));
        let power = |n: Idx| {
            if *rate == one {
                one.clone()
            } else {
                Elem::binary(BinOp::Power, rate.clone(), Elem::of_idx(ty, n))
            }
        };
        let left = &(&k - &Idx::constant(1)) - &Idx::sym(v.clone());
        // A loop that counts down is a sum that counts up.
        let (rest, left) = if reads_backwards(rest, j) {
            let from_the_end = &(&k - &Idx::constant(1)) - &Idx::sym(j.clone());
            (&rest.replace(j, &from_the_end), Idx::sym(v.clone()))
        } else {
            (rest, left)
        };
        let weight = power(left);
        let zero = Elem::constant(Scalar::zero(ty));
        let step = |own, term| {
            let term = terms::tidy(&Elem::binary(BinOp::Multiply, term, weight));
            Elem::binary(BinOp::Add, own, term)
        };
        let sum = fold(acc, v, (j, &s.k), zero, step, rest);
        let start = Elem::binary(BinOp::Multiply, entry.clone(), power(k));
        let start = terms::tidy(&start);
        match &*start {
            Elem::Const(c) if !c.is_true() => sum,
            _ => Elem::binary(BinOp::Add, start, sum),
        }
    }

    /// The value of a term in each round before a point.
    fn at_pairs(&self, e: &ElemRef, body: &Body, pairs: &[(&Point, i128)]) -> Option<Vec<Scalar>> {
        let wide = widen::elem(e);
        let names = &self.situation.names;
        pairs
            .iter()
            .map(|(p, at)| p.eval(&wide, names, Some((&body.j, *at))))
            .collect()
    }

    /// One term for each behaviour.
    fn distinct(&self, mut terms: Vec<ElemRef>, body: &Body, points: &[Point]) -> Vec<ElemRef> {
        let pairs = pairs(points);
        let eval = |e: &ElemRef| self.at_pairs(e, body, &pairs);
        let finite = vec![false; pairs.len()];
        let mut bank = Bank::new(&eval, &finite);
        // `(x - m)·(x - m)` before `(x - m)·x`, which is the same sum, and loses more to rounding.
        terms.sort_by_key(|t| (terms::shared_size(t), Reverse(terms::size(t))));
        terms.retain(|t| bank.leaf(t.clone(), 1).is_some());
        terms
    }

    /// Every small expression over the reads of a round, whatever the body does with them.
    fn all_terms(&self, body: &Body, solved: &Solution, points: &[Point]) -> Vec<ElemRef> {
        let pairs = pairs(points);
        let eval = |e: &ElemRef| self.at_pairs(e, body, &pairs);
        let finite = vec![true; pairs.len()];
        let mut bank = Bank::new(&eval, &finite);
        let mut leaves: Vec<ElemRef> = body.reads();
        leaves.extend(body.invariants());
        leaves.extend(solved.values().cloned());
        let types: BTreeSet<ScalarType> = leaves.iter().map(|l| l.ty()).collect();
        for ty in types {
            leaves.push(Elem::constant(Scalar::int(ty, 1)));
            leaves.push(Elem::of_idx(ty, Idx::sym(body.j.clone())));
        }
        for leaf in leaves {
            bank.leaf(leaf, 1);
        }
        let (unary, binary) = self.operators(body);
        let grammar = bank::Grammar {
            unary,
            binary,
            max_size: 4,
            max_entries: 400,
        };
        bank.enumerate(&grammar, &mut |_| false);
        let own = |e: &Entry| e.expr.mentions(&body.j).then(|| e.expr.clone());
        bank.entries().iter().filter_map(own).collect()
    }
}

/// Points with the rounds before each of them.
fn pairs<'a, 'p>(points: &'a [Point<'p>]) -> Vec<(&'a Point<'p>, i128)> {
    let of = |p: &'a Point<'p>| (0..p.round()).map(move |j| (p, i128::from(j)));
    points.iter().flat_map(of).take(MAX_PAIRS).collect()
}

fn reads(e: &ElemRef) -> bool {
    let mut any = false;
    e.visit(&mut |x| any |= matches!(&**x, Elem::Read { .. }));
    any
}

/// Whether memory is read from higher places first.
fn reads_backwards(e: &ElemRef, j: &Sym) -> bool {
    let mut backwards = false;
    e.visit(&mut |x| {
        if let Elem::Read { index, .. } = &**x
            && let Some((stride, _)) = index.linear_in(j)
        {
            backwards |= stride.as_constant().is_some_and(|s| s < 0);
        }
    });
    backwards
}

/// What a variable was seen to hold.
struct Goal {
    var: Sym,
    ty: ScalarType,
    entry: ElemRef,
    values: Vec<Scalar>,
}

impl Goal {
    /// The expression, if it fits all points; if it does so in all rounds but the first, what was there before
    /// the loop is put in front.
    fn met_by(&self, e: &Entry, points: &[Point], k: &Sym) -> Option<ElemRef> {
        if e.expr.ty() != self.ty {
            return None;
        }
        let mut first = true;
        for ((a, b), p) in e.values.iter().zip(&self.values).zip(points) {
            if !close(*a, *b) {
                if p.round() > 0 {
                    return None;
                }
                first = false;
            }
        }
        if first {
            return Some(e.expr.clone());
        }
        let one = Idx::constant(1);
        let later = Elem::index_compare(CmpOp::Ge, Idx::sym(k.clone()), one);
        Some(Arc::new(Elem::Select(
            later,
            e.expr.clone(),
            self.entry.clone(),
        )))
    }
}
