//! Folds that take the same steps in other portions: unrolled loops with a tail, tiles.
//!
//! All rules keep the order of the steps, so that they hold bit for bit. Let G(e) be the fold of the first `e`
//! steps of `g`. A fold `f` is G(end) if it starts as G(start) and each of its steps takes the next steps of
//! `g`:
//!
//! * **portions of T steps**: the step of `f` at k is that of `g` at start + T·k, …, start + T·k + T - 1, one
//!   after the other; then `f` with extent K is G(start + T·K);
//! * **tiles**: the step of `f` at k is a fold of M(k) steps, those of `g` at T·k, T·k + 1, …; and
//!   min(T·k, end) + M(k) = min(T·k + T, end); then `f` is G(end) if min(T·K, end) = end.
//!
//! Both by induction over k: after k rounds, `f` has come to G(start + T·k), or to G(min(T·k, end)).

use crate::canon;
use crate::context::Context;
use crate::equal::same;
use std::collections::BTreeMap;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp};

/// More steps at a time than anybody unrolls by hand.
const MOST: i128 = 16;

/// Shows that `f` is `g`, whose steps it takes in portions.
pub(crate) fn in_portions(ctx: &mut Context, f: &Fold, g: &Fold, tier: Tier) -> bool {
    let alone = f.others.is_empty() && g.others.is_empty();
    alone
        && f.init.ty() == g.init.ty()
        && f.order == g.order
        && ctx.is_non_negative(&g.extent)
        && comes_to(ctx, f, g, &g.extent.clone(), tier, 0)
}

/// Whether `f` is G(end).
fn comes_to(ctx: &mut Context, f: &Fold, g: &Fold, end: &Idx, tier: Tier, depth: usize) -> bool {
    if depth > 8 || !ctx.is_non_negative(&f.extent) {
        return false;
    }
    let zero = Idx::default();
    if let Some(t) = tile(f) {
        return same(ctx, &f.init, &g.init, tier) && tiles(ctx, f, g, end, &t, tier);
    }
    let (coarse, fine) = (reads(&f.step), reads(&g.step));
    for t in 1..=MOST {
        // A step that reads as much as t steps do.
        if coarse != t as usize * fine && (fine > 0 || t > 1) {
            continue;
        }
        let start = canon::idx(&(end - &(&Idx::constant(t) * &f.extent)));
        if !ctx.is_non_negative(&start) || !steps(ctx, f, g, &start, t, tier) {
            continue;
        }
        let merged = f.step_operator().and_then(|op| gathered(&f.init, op, tier));
        let init = merged.as_ref().unwrap_or(&f.init);
        return match &**init {
            Elem::Fold(before) if before.others.is_empty() && before.order == g.order => {
                comes_to(ctx, before, g, &start, tier, depth + 1)
            }
            init => {
                ctx.proves(CmpOp::Eq, &start, &zero)
                    && same(ctx, &Arc::new(init.clone()), &g.init, tier)
            }
        };
    }
    false
}

/// `(… ∘ fold(a, x)) ∘ fold(b, y) ∘ …`, with folds of as many steps each, as one fold of `x ∘ y`: where the
/// operator is associative and commutative.
pub fn gathered(e: &ElemRef, op: BinOp, tier: Tier) -> Option<ElemRef> {
    let ty = e.ty();
    let regroups = op.is_commutative()
        && (op.is_associative(ty)
            || (tier == Tier::Real && matches!(op, BinOp::Add | BinOp::Multiply)));
    if !regroups {
        return None;
    }
    let mut terms = Vec::new();
    operands(e, op, &mut terms);
    let (mut folds, mut first) = (Vec::new(), Vec::new());
    for term in terms {
        match &*term {
            Elem::Fold(f) => match f.as_reduction() {
                Some((o, x)) if o == op => {
                    first.push(f.init.clone());
                    folds.push((f.clone(), x));
                }
                _ => first.push(term),
            },
            _ => first.push(term),
        }
    }
    let (f, x) = folds.first()?;
    if folds.len() < 2 || folds.iter().any(|(g, _)| g.extent != f.extent) {
        return None;
    }
    let own = folds[1..].iter().fold(x.clone(), |sum, (g, y)| {
        Elem::binary(op, sum, y.replace(&g.var, &Idx::sym(f.var.clone())))
    });
    let init = first.into_iter().reduce(|a, b| Elem::binary(op, a, b))?;
    let acc: ElemRef = Arc::new(Elem::Acc(f.acc.clone(), ty));
    let fold = Fold::new(
        f.acc.clone(),
        f.var.clone(),
        f.extent.clone(),
        init,
        Elem::binary(op, acc, own),
    );
    Some(Arc::new(Elem::Fold(Arc::new(fold))))
}

/// The operands of a tree of one operator.
pub fn operands(e: &ElemRef, op: BinOp, out: &mut Vec<ElemRef>) {
    match &**e {
        Elem::Binary(o, a, b) if *o == op => {
            operands(a, op, out);
            operands(b, op, out);
        }
        _ => out.push(e.clone()),
    }
}

fn reads(e: &ElemRef) -> usize {
    let mut n = 0;
    e.visit(&mut |x| n += usize::from(matches!(&**x, Elem::Read { .. })));
    n
}

/// A step of `g` at `at`, from `acc`.
fn step(g: &Fold, at: &Idx, acc: &ElemRef) -> ElemRef {
    let values = BTreeMap::from([(g.acc.clone(), acc.clone())]);
    g.step.replace(&g.var, at).replace_accs(&values)
}

/// Whether the step of `f` is `t` steps of `g`, those from `start + t·k` on.
fn steps(ctx: &mut Context, f: &Fold, g: &Fold, start: &Idx, t: i128, tier: Tier) -> bool {
    let var: Sym = ctx.fresh.name("k");
    let k = Idx::sym(var.clone());
    let acc: ElemRef = Arc::new(Elem::Acc(ctx.fresh.name("acc"), f.init.ty()));
    let first = start + &(&Idx::constant(t) * &k);
    let expected = (0..t).fold(acc.clone(), |acc, c| {
        step(g, &(&first + &Idx::constant(c)), &acc)
    });
    let found = step(f, &k, &acc);
    let mark = ctx.mark();
    ctx.assume_in_range(&var, &f.extent);
    let ok = same(ctx, &found, &expected, tier);
    ctx.forget(mark);
    ok
}

/// The length of a tile, if the step of `f` is a fold that goes on with its accumulator.
fn tile(f: &Fold) -> Option<Idx> {
    let Elem::Fold(inner) = &*f.step else {
        return None;
    };
    let goes_on = matches!(&*inner.init, Elem::Acc(n, _) if *n == f.acc)
        && !inner.step.mentions(&f.acc)
        && inner.others.is_empty()
        && inner.order == f.order;
    goes_on
        .then(|| tile_length(&inner.extent, &f.var))
        .flatten()
}

/// `t` of an extent such as `min(t, n - t·k)` or `min(t·k + t, n) - t·k`, or `t` itself; a guess.
pub fn tile_length(extent: &Idx, k: &Sym) -> Option<Idx> {
    if !extent.mentions(k) {
        return Some(extent.clone());
    }
    let mut slope = Idx::default();
    let mut atom = None;
    for (monomial, c) in extent.terms() {
        match monomial {
            [a @ (Atom::Min(..) | Atom::Max(..))] if c == 1 => atom = Some(a),
            _ if monomial.iter().any(|a| matches!(a, Atom::Sym(s) if s == k)) => {
                slope = &slope + &Idx::from_terms([(monomial.to_vec(), c)]);
            }
            _ => {}
        }
    }
    let Some(Atom::Min(a, b)) = atom else {
        return None;
    };
    if let Some((slope, _)) = slope.linear_in(k).filter(|(s, _)| !s.is_zero()) {
        return Some(-&slope);
    }
    [a, b]
        .into_iter()
        .find(|x| !x.mentions(k))
        .map(|x| (**x).clone())
}

fn tiles(ctx: &mut Context, f: &Fold, g: &Fold, end: &Idx, t: &Idx, tier: Tier) -> bool {
    let Elem::Fold(inner) = &*f.step else {
        return false;
    };
    let (outer_var, inner_var) = (ctx.fresh.name("k"), ctx.fresh.name("k"));
    let (k, j) = (Idx::sym(outer_var.clone()), Idx::sym(inner_var.clone()));
    let at = t * &k;
    let extent = inner.extent.replace(&f.var, &k);
    let acc: ElemRef = Arc::new(Elem::Acc(ctx.fresh.name("acc"), f.init.ty()));
    let one = Idx::constant(1);
    if !ctx.proves(CmpOp::Ge, t, &one) || !ctx.proves(CmpOp::Eq, &(t * &f.extent).minimum(end), end)
    {
        return false;
    }
    let mark = ctx.mark();
    ctx.assume_in_range(&outer_var, &f.extent);
    let adds_up = ctx.is_non_negative(&extent)
        && ctx.proves(
            CmpOp::Eq,
            &(&at.minimum(end) + &extent),
            &(&at + t).minimum(end),
        )
        // The tile begins where its steps do.
        && ctx.proves(CmpOp::Le, &at, end);
    let ok = adds_up && {
        let values = BTreeMap::from([(inner.acc.clone(), acc.clone())]);
        let found = inner
            .step
            .replace(&inner.var, &j)
            .replace(&f.var, &k)
            .replace_accs(&values);
        let expected = step(g, &(&at + &j), &acc);
        ctx.assume_in_range(&inner_var, &extent);
        same(ctx, &found, &expected, tier)
    };
    ctx.forget(mark);
    ok
}

/// Two nested counters that count one range: `t·outer + inner`, with `inner < min(t, e - t·outer)`, take each
/// value in [0, min(t·outer_extent, e)) once: quotient and remainder by `t`. Gives `t` and the end of the range;
/// `None` if the extents aren't of this kind, or that could not be shown.
pub fn one_range(
    ctx: &mut Context,
    (outer, outer_extent): (&Sym, &Idx),
    inner_extent: &Idx,
) -> Option<(Idx, Idx)> {
    let t = tile_length(inner_extent, outer)?;
    let e = range_end(inner_extent, outer, &t)?;
    if !ctx.proves(CmpOp::Ge, &t, &Idx::constant(1)) {
        return None;
    }
    let at = &t * &Idx::sym(outer.clone());
    let mark = ctx.mark();
    ctx.assume_in_range(outer, outer_extent);
    let full = ctx.proves(CmpOp::Eq, inner_extent, &t.minimum(&(&e - &at)));
    ctx.forget(mark);
    if !full {
        return None;
    }
    let all = &t * outer_extent;
    let end = if ctx.proves(CmpOp::Ge, &all, &e) {
        e
    } else if ctx.proves(CmpOp::Le, &all, &e) {
        all
    } else {
        all.minimum(&e)
    };
    Some((t, end))
}

/// `n` of an extent `min(t, n - t·k)` or `min(t·k + t, n) - t·k`; a guess.
pub fn range_end(extent: &Idx, k: &Sym, t: &Idx) -> Option<Idx> {
    let at = t * &Idx::sym(k.clone());
    let atom = extent.terms().find_map(|(m, c)| match m {
        [Atom::Min(a, b)] if c == 1 => Some((a, b)),
        _ => None,
    })?;
    let rest = extent - &atom.0.minimum(atom.1);
    [atom.0, atom.1]
        .into_iter()
        .map(|side| canon::idx(&(&(&**side + &rest) + &at)))
        .find(|end| !end.mentions(k))
}

#[cfg(test)]
mod tests;
