//! The expression tree of a loop's body, with the accumulators taken out: what sums are made of.
//!
//! In `d = d*exp(m - n) + exp(x - n)` with `n = max(m, x)`, where `m` is known to be M(k) at the start of round
//! k, taking `d` out and putting M(k) in the place of what depends on `m` leaves `exp(x - M(k))`, and the sum of
//! that over the rounds before k is what `d` holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// More ways to take the accumulators out of one expression are not looked at.
const MAX_WAYS: usize = 40;

/// What a round does, in terms of the values at its start.
pub struct Body {
    /// The round, in what follows.
    pub j: Sym,
    /// The names that stand for the variables' values at the start of round `j`, and what is known of them at the
    /// start of round `k`.
    pub tokens: BTreeMap<Sym, Option<ElemRef>>,
    /// The round in which the variables are asked for.
    pub k: Sym,
    /// What each variable holds at the end of round `j`.
    pub ends: Vec<(Sym, ElemRef)>,
}

impl Body {
    fn has_tokens(&self, e: &ElemRef) -> bool {
        let mut any = false;
        e.visit(&mut |x| any |= matches!(&**x, Elem::Acc(n, _) if self.tokens.contains_key(n)));
        any
    }

    /// All expressions that can stand in a sum over `j`.
    pub fn terms(&self) -> Vec<ElemRef> {
        let mut out: Vec<ElemRef> = Vec::new();
        for (_, end) in &self.ends {
            each_part(end, &mut |e| {
                for way in self.without_accumulators(e) {
                    if way.mentions(&self.j) && !out.contains(&way) {
                        out.push(way);
                    }
                }
            });
        }
        out
    }

    /// What depends on no round.
    pub fn invariants(&self) -> Vec<ElemRef> {
        let mut out: Vec<ElemRef> = Vec::new();
        for (_, end) in &self.ends {
            each_part(end, &mut |e| {
                let leaf = matches!(
                    &**e,
                    Elem::Param(..) | Elem::Const(_) | Elem::Read { .. } | Elem::OfIdx(..)
                );
                if leaf && !e.mentions(&self.j) && !out.contains(e) {
                    out.push(e.clone());
                }
            });
        }
        out
    }

    /// What a round reads.
    pub fn reads(&self) -> Vec<ElemRef> {
        let mut out: Vec<ElemRef> = Vec::new();
        for (_, end) in &self.ends {
            each_part(end, &mut |e| {
                if matches!(&**e, Elem::Read { .. }) && e.mentions(&self.j) && !out.contains(e) {
                    out.push(e.clone());
                }
            });
        }
        out
    }

    /// The operators of the body.
    pub fn operators(&self) -> (Vec<UnOp>, Vec<BinOp>) {
        let (mut unary, mut binary) = (Vec::new(), Vec::new());
        for (_, end) in &self.ends {
            each_part(end, &mut |e| match &**e {
                Elem::Unary(op, _) if !unary.contains(op) => unary.push(*op),
                Elem::Binary(op, ..) if !binary.contains(op) => binary.push(*op),
                _ => {}
            });
        }
        (unary, binary)
    }

    /// The ways to make the expression free of accumulators.
    fn without_accumulators(&self, e: &ElemRef) -> Vec<ElemRef> {
        if !self.has_tokens(e) {
            return vec![e.clone()];
        }
        let mut out = Vec::new();
        // A hole: what depends on an accumulator may be what that one has come to.
        e.visit(&mut |x| {
            if let Elem::Acc(n, _) = &**x
                && let Some(Some(known)) = self.tokens.get(n)
                && known.ty() == e.ty()
            {
                push(&mut out, known.clone());
                if !has_folds(known) {
                    push(&mut out, known.replace(&self.k, &Idx::sym(self.j.clone())));
                }
            }
        });
        let children: Vec<Vec<ElemRef>> = match &**e {
            Elem::Fold(_) => vec![],
            _ => e
                .children()
                .into_iter()
                .map(|c| self.without_accumulators(c))
                .collect(),
        };
        match (&**e, &children[..]) {
            (Elem::Unary(..) | Elem::Convert(..), [a]) => {
                for a in a {
                    push(&mut out, e.rebuild(std::slice::from_ref(a), &[]));
                }
            }
            (Elem::Binary(_, x, y), [a, b]) => {
                for (a, b) in pairs(a, b) {
                    push(&mut out, e.rebuild(&[a.clone(), b.clone()], &[]));
                }
                if self.has_tokens(x) {
                    b.iter().for_each(|b| push(&mut out, b.clone()));
                }
                if self.has_tokens(y) {
                    a.iter().for_each(|a| push(&mut out, a.clone()));
                }
            }
            (Elem::Compare(..), [a, b]) => {
                for (a, b) in pairs(a, b) {
                    push(&mut out, e.rebuild(&[a.clone(), b.clone()], &[]));
                }
            }
            (Elem::Select(..), [c, t, f]) => {
                t.iter().chain(f).for_each(|x| push(&mut out, x.clone()));
                for c in c {
                    for (t, f) in pairs(t, f) {
                        push(&mut out, e.rebuild(&[c.clone(), t.clone(), f.clone()], &[]));
                    }
                }
            }
            _ => {}
        }
        out.sort_by_key(size);
        out.truncate(MAX_WAYS);
        out
    }

    /// If the end is `rate·token + rest`, where the rate is the same in every round: rate and rest.
    pub fn linear(&self, token: &Sym, end: &ElemRef) -> Option<(ElemRef, ElemRef)> {
        let rate = slope(end, token)?;
        let zero = Elem::constant(Scalar::zero(end.ty()));
        let rest = end.map(&mut |x| match &**x {
            Elem::Acc(n, _) if n == token => Some(zero.clone()),
            _ => None,
        });
        let rest = tidy(&rest);
        let steady = !rate.mentions(&self.j) && !self.has_tokens(&rate);
        (steady && !self.has_tokens(&rest)).then_some((rate, rest))
    }
}

fn push(out: &mut Vec<ElemRef>, e: ElemRef) {
    if !out.contains(&e) {
        out.push(e);
    }
}

/// The simplest ones first.
fn pairs<'a>(a: &'a [ElemRef], b: &'a [ElemRef]) -> Vec<(&'a ElemRef, &'a ElemRef)> {
    let of = |rank: usize| (0..=rank).filter_map(move |i| Some((a.get(i)?, b.get(rank - i)?)));
    (0..a.len() + b.len()).flat_map(of).take(MAX_WAYS).collect()
}

fn each_part(e: &ElemRef, f: &mut dyn FnMut(&ElemRef)) {
    f(e);
    if !matches!(&**e, Elem::Fold(_)) {
        e.children().into_iter().for_each(|c| each_part(c, f));
    }
}

/// Whether a fold occurs.
pub fn has_folds(e: &ElemRef) -> bool {
    let mut any = false;
    e.visit(&mut |x| any |= matches!(&**x, Elem::Fold(_)));
    any
}

/// The fold over the rounds before `k`.
pub fn fold(
    acc: Sym,
    var: Sym,
    (j, k): (&Sym, &Sym),
    init: ElemRef,
    step: impl FnOnce(ElemRef, ElemRef) -> ElemRef,
    term: &ElemRef,
) -> ElemRef {
    let own = Arc::new(Elem::Acc(acc.clone(), init.ty()));
    let term = term.replace(j, &Idx::sym(var.clone()));
    let extent = Idx::sym(k.clone());
    Arc::new(Elem::Fold(Arc::new(Fold::new(
        acc,
        var,
        extent,
        init,
        step(own, term),
    ))))
}

/// How many nodes there are, a fold being one.
pub fn size(e: &ElemRef) -> usize {
    match &**e {
        Elem::Fold(_) => 1,
        _ => 1 + e.children().into_iter().map(size).sum::<usize>(),
    }
}

/// How many different nodes there are, a fold being one.
pub fn shared_size(e: &ElemRef) -> usize {
    fn collect(e: &ElemRef, seen: &mut BTreeSet<ElemRef>) {
        if seen.insert(e.clone()) && !matches!(&**e, Elem::Fold(_)) {
            e.children().into_iter().for_each(|c| collect(c, seen));
        }
    }
    let mut seen = BTreeSet::new();
    collect(e, &mut seen);
    seen.len()
}

/// The size of a leaf: sums of simple terms come before others.
pub fn weight(e: &ElemRef) -> usize {
    match &**e {
        Elem::Fold(f) => match f.as_reduction() {
            Some((_, term)) => 1 + (size(&term) - 1) / 3,
            None => 1,
        },
        _ => 1,
    }
}

/// The same fold with one step more.
pub fn one_more(e: &ElemRef) -> ElemRef {
    match &**e {
        Elem::Fold(f) => Arc::new(Elem::Fold(Arc::new(Fold {
            extent: &f.extent + &Idx::constant(1),
            ..(**f).clone()
        }))),
        _ => e.clone(),
    }
}

/// The derivative, where the expression is linear in the token.
fn slope(e: &ElemRef, token: &Sym) -> Option<ElemRef> {
    let number = |v: i128| Elem::constant(Scalar::int(e.ty(), v));
    let inside = |e: &ElemRef| e.mentions(token);
    if !inside(e) {
        return Some(number(0));
    }
    Some(tidy(&match &**e {
        Elem::Acc(n, _) if n == token => number(1),
        Elem::Unary(UnOp::Negate, a) => Elem::unary(UnOp::Negate, slope(a, token)?),
        Elem::Binary(op @ (BinOp::Add | BinOp::Subtract), a, b) => {
            Elem::binary(*op, slope(a, token)?, slope(b, token)?)
        }
        Elem::Binary(BinOp::Multiply, a, b) if !inside(b) => {
            Elem::binary(BinOp::Multiply, slope(a, token)?, b.clone())
        }
        Elem::Binary(BinOp::Multiply, a, b) if !inside(a) => {
            Elem::binary(BinOp::Multiply, a.clone(), slope(b, token)?)
        }
        Elem::Binary(BinOp::Divide, a, b) if !inside(b) && e.ty().is_float() => {
            Elem::binary(BinOp::Divide, slope(a, token)?, b.clone())
        }
        _ => return None,
    }))
}

/// Without zeros and ones that change nothing over the reals.
pub fn tidy(e: &ElemRef) -> ElemRef {
    if matches!(&**e, Elem::Fold(_)) || !(e.ty().is_float() || e.ty() != ScalarType::I1) {
        return e.clone();
    }
    let children: Vec<ElemRef> = e.children().into_iter().map(tidy).collect();
    let indices: Vec<Idx> = e.indices().into_iter().cloned().collect();
    let e = e.rebuild(&children, &indices);
    let is = |e: &ElemRef, v: f64| {
        matches!(&**e, Elem::Const(c)
            if if c.ty.is_float() { c.as_f64() == v } else { c.as_int() == v as i128 })
    };
    match &*e {
        Elem::Binary(BinOp::Add, a, b) if is(a, 0.0) => b.clone(),
        Elem::Binary(BinOp::Add | BinOp::Subtract, a, b) if is(b, 0.0) => a.clone(),
        Elem::Binary(BinOp::Multiply, a, b) if is(a, 0.0) || is(b, 1.0) => a.clone(),
        Elem::Binary(BinOp::Multiply, a, b) if is(b, 0.0) || is(a, 1.0) => b.clone(),
        Elem::Binary(BinOp::Divide, a, b) if is(a, 0.0) || is(b, 1.0) => a.clone(),
        // a + b·(-1) = a - b
        Elem::Binary(BinOp::Add, a, b) => match &**b {
            Elem::Binary(BinOp::Multiply, x, y) if is(y, -1.0) => {
                Elem::binary(BinOp::Subtract, a.clone(), x.clone())
            }
            Elem::Unary(UnOp::Negate, x) => Elem::binary(BinOp::Subtract, a.clone(), x.clone()),
            _ => e,
        },
        Elem::Binary(BinOp::Subtract, z, b) if is(z, 0.0) => Elem::unary(UnOp::Negate, b.clone()),
        _ => e,
    }
}
