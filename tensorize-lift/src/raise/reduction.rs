//! Which folds are reductions: `acc = acc ∘ x`, in the many ways C writes it.

use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Order};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Reducer;
use tensorize_prove::canon;

/// A fold over one or more indices, row-major, with one reducer.
pub struct Nest {
    /// Indices with their extents, the slowest first.
    pub loops: Vec<(Sym, Idx)>,
    pub init: ElemRef,
    pub reducer: Reducer,
    /// What is combined; free of the accumulator.
    pub element: ElemRef,
}

/// The fold as a reduction, if it is one.
pub fn recognise(fold: &Fold) -> Option<Nest> {
    // The first lane may look like a sum of what another one holds, which no operator has.
    if !fold.others.is_empty() {
        return None;
    }
    let (reducer, element, mut inner) = inner_fold(fold).or_else(|| own_step(fold))?;
    let ordered = fold.order == Order::Sequential;
    let any_order = matches!(reducer, Reducer::Op(op) if op.is_associative(element.ty()));
    if !ordered && !any_order {
        return None;
    }
    let mut loops = vec![(fold.var.clone(), fold.extent.clone())];
    loops.append(&mut inner);
    Some(Nest {
        loops,
        init: fold.init.clone(),
        reducer,
        element,
    })
}

/// The reducer and the element, free of the accumulator, of a fold that is one loop.
pub fn recognise_one(fold: &Fold) -> Option<(Reducer, ElemRef)> {
    if !fold.others.is_empty() {
        return None;
    }
    let (reducer, element, _) = own_step(fold)?;
    let any_order = matches!(reducer, Reducer::Op(op) if op.is_associative(element.ty()));
    (fold.order == Order::Sequential || any_order).then_some((reducer, element))
}

/// The reducer, one that keeps one of the two, and the element of a fold of two lanes, in which the first one
/// is the label of what the second one keeps; and that label.
pub fn recognise_arg(fold: &Fold) -> Option<(Reducer, ElemRef, ElemRef)> {
    let [best] = fold.others.as_slice() else {
        return None;
    };
    let reading = Reading {
        acc: &best.acc,
        ty: best.init.ty(),
        reducer: Reducer::TakeIf(CmpOp::Gt),
    };
    let (Elem::Select(c, t, f), Elem::Select(label_c, label_t, label_f)) =
        (&*best.step, &*fold.step)
    else {
        return None;
    };
    let (reducer, x) = reading.by_comparison(c, t, f)?;
    let reducer = match reducer {
        // Without NaN, what isn't kept is what compares the other way.
        Reducer::KeepIf(cmp) if reading.ty.is_int() => Reducer::TakeIf(cmp.negated().swapped()),
        other => other,
    };
    // Both lanes decide by the same condition, written the same way or the other way round.
    let same_way = label_c == c;
    if !same_way && *label_c != Elem::not(c.clone()) {
        return None;
    }
    let takes_then = *t == x;
    let (label, kept) = match takes_then == same_way {
        true => (label_t, label_f),
        false => (label_f, label_t),
    };
    let free = |e: &ElemRef| !e.mentions(&fold.acc) && !e.mentions(&best.acc);
    (is_acc(kept, &fold.acc) && free(label) && free(&x)).then(|| (reducer, x, label.clone()))
}

type Step = (Reducer, ElemRef, Vec<(Sym, Idx)>);

/// An inner fold that goes on with our accumulator makes one reduction over both indices.
fn inner_fold(fold: &Fold) -> Option<Step> {
    let Elem::Fold(inner) = &*fold.step else {
        return None;
    };
    if !inner.others.is_empty() || !is_acc(&inner.init, &fold.acc) || inner.step.mentions(&fold.acc)
    {
        return None;
    }
    let nest = recognise(inner)?;
    let rectangular = nest.loops.iter().all(|(_, n)| !n.mentions(&fold.var));
    (rectangular && !nest.element.mentions(&fold.acc)).then_some((
        nest.reducer,
        nest.element,
        nest.loops,
    ))
}

fn own_step(fold: &Fold) -> Option<Step> {
    let ty = fold.init.ty();
    if is_acc(&fold.step, &fold.acc) || !fold.step.mentions(&fold.acc) {
        return None;
    }
    candidates(ty).find_map(|r| {
        let x = Reading {
            acc: &fold.acc,
            ty,
            reducer: r,
        }
        .contribution(&fold.step)?;
        Some((r, x, vec![]))
    })
}

/// On integers a conditional take is a maximum or minimum. Floats have NaN, truth values no maximum.
fn candidates(ty: ScalarType) -> impl Iterator<Item = Reducer> {
    use BinOp::*;
    let ops = [
        Add,
        Multiply,
        Maximum,
        Minimum,
        MaximumNumber,
        MinimumNumber,
        And,
        Or,
        Xor,
    ];
    let orders = [CmpOp::Gt, CmpOp::Ge, CmpOp::Lt, CmpOp::Le];
    let by_comparison = orders
        .into_iter()
        .flat_map(|c| [Reducer::TakeIf(c), Reducer::KeepIf(c)])
        .filter(move |r| as_extremum(*r, ty) == *r);
    ops.into_iter()
        .filter(move |op| op.accepts(ty))
        .map(Reducer::Op)
        .chain(by_comparison)
}

/// The value `e` with `acc ∘ e = acc`, bit for bit, whatever `acc` is.
pub fn identity(reducer: Reducer, ty: ScalarType) -> Option<Scalar> {
    use BinOp::*;
    let float = |v: f64| match ty {
        ScalarType::F32 => Scalar::f32(v as f32),
        _ => Scalar::f64(v),
    };
    Some(match reducer {
        // +0.0 is not: -0.0 + 0.0 is +0.0.
        Reducer::Op(Add) if ty.is_float() => float(-0.0),
        Reducer::Op(Multiply) if ty.is_float() => float(1.0),
        Reducer::Op(Maximum) | Reducer::TakeIf(CmpOp::Gt | CmpOp::Ge) if ty.is_float() => {
            float(f64::NEG_INFINITY)
        }
        Reducer::Op(Minimum) | Reducer::TakeIf(CmpOp::Lt | CmpOp::Le) if ty.is_float() => {
            float(f64::INFINITY)
        }
        _ if ty.is_float() => return None,
        Reducer::Op(Add | Or | Xor) => Scalar::int(ty, 0),
        Reducer::Op(Multiply) => Scalar::int(ty, 1),
        Reducer::Op(And) => Scalar::int(ty, -1),
        Reducer::Op(Maximum) => Scalar::int(ty, ty.min_value()),
        Reducer::Op(Minimum) => Scalar::int(ty, ty.max_value()),
        _ => return None,
    })
}

/// The step of a fold, read as a reduction with this reducer.
struct Reading<'a> {
    acc: &'a Sym,
    ty: ScalarType,
    reducer: Reducer,
}

impl Reading<'_> {
    /// The `x`, free of the accumulator, with `e = acc ∘ x`.
    fn contribution(&self, e: &ElemRef) -> Option<ElemRef> {
        if is_acc(e, self.acc) && !self.ty.is_float() {
            return identity(self.reducer, self.ty).map(Elem::constant);
        }
        if !e.mentions(self.acc) {
            return None;
        }
        if let Some(x) = self.combined(e) {
            return Some(x);
        }
        // What follows is right for floats too, with -0.0 as the neutral element of a sum, but the prover
        // then has to read floats as real numbers: a conditional sum stays index notation, and exact.
        if self.ty.is_float() {
            return None;
        }
        match &**e {
            Elem::Select(c, t, f) => self.choice(c, t, f),
            Elem::Binary(op, a, b) => self.regrouped(*op, a, b),
            Elem::Convert(to, a) => self.contribution(&push_convert(*to, a)?),
            Elem::Fold(inner) => self.inner_sum(inner),
            _ => None,
        }
    }

    fn free(&self, e: &ElemRef) -> bool {
        !e.mentions(self.acc)
    }

    /// The reducer's own form.
    fn combined(&self, e: &ElemRef) -> Option<ElemRef> {
        let free = |x: &ElemRef| self.free(x).then(|| x.clone());
        match (&**e, self.reducer) {
            (Elem::Binary(op, a, b), Reducer::Op(want)) if *op == want => {
                if is_acc(a, self.acc) {
                    free(b)
                } else if op.is_commutative() && is_acc(b, self.acc) {
                    free(a)
                } else {
                    None
                }
            }
            // acc - x = acc + -x
            (Elem::Binary(BinOp::Subtract, a, b), Reducer::Op(BinOp::Add))
                if is_acc(a, self.acc) && !self.ty.is_float() =>
            {
                free(b).map(|x| Elem::unary(UnOp::Negate, x))
            }
            (Elem::Select(c, t, f), want) => {
                let (found, x) = self.by_comparison(c, t, f)?;
                (as_extremum(found, self.ty) == want).then_some(x)
            }
            _ => None,
        }
    }

    /// `c ? x : acc` or `c ? acc : x` where `c` compares the two.
    fn by_comparison(&self, c: &ElemRef, t: &ElemRef, f: &ElemRef) -> Option<(Reducer, ElemRef)> {
        let (c, t, f) = match &**c {
            Elem::Unary(UnOp::Not, inner) => (inner, f, t),
            _ => (c, t, f),
        };
        let Elem::Compare(cmp, p, q) = &**c else {
            return None;
        };
        let (p, q) = strip_widening(p, q);
        let cmp = match (is_acc(&p, self.acc), is_acc(&q, self.acc)) {
            // Written as `acc cmp x`.
            (true, false) => *cmp,
            (false, true) => cmp.swapped(),
            _ => return None,
        };
        let x = if is_acc(&q, self.acc) { p } else { q };
        if !self.free(&x) {
            return None;
        }
        // What is compared is in canonical form, what is kept as the kernel computes it.
        let is_x = |e: &ElemRef| *e == x || canon::elem(e) == canon::elem(&x);
        if is_acc(f, self.acc) && is_x(t) {
            Some((Reducer::TakeIf(cmp.swapped()), t.clone()))
        } else if is_acc(t, self.acc) && is_x(f) {
            Some((Reducer::KeepIf(cmp), f.clone()))
        } else {
            None
        }
    }

    /// `c ? acc ∘ x : acc ∘ y` is `acc ∘ (c ? x : y)`.
    fn choice(&self, c: &ElemRef, t: &ElemRef, f: &ElemRef) -> Option<ElemRef> {
        if let Some(x) = self.truth(c, t, f) {
            return Some(x);
        }
        if self.free(c) {
            return Some(Elem::select(
                c.clone(),
                self.contribution(t)?,
                self.contribution(f)?,
            ));
        }
        // Both parts of a conjunction are total, so either may be asked first.
        let (p, q) = conjunction(c)?;
        let (first, second) = if self.free(&p) { (p, q) } else { (q, p) };
        if !self.free(&first) {
            return None;
        }
        let inner = Arc::new(Elem::Select(second, t.clone(), f.clone()));
        Some(Elem::select(
            first,
            self.contribution(&inner)?,
            self.contribution(f)?,
        ))
    }

    /// C's `||` and `&&` on truth values.
    fn truth(&self, c: &ElemRef, t: &ElemRef, f: &ElemRef) -> Option<ElemRef> {
        let is = |e: &ElemRef, v: bool| **e == Elem::Const(Scalar::bool(v));
        let acc = |e: &ElemRef| is_acc(e, self.acc);
        match self.reducer {
            Reducer::Op(BinOp::Or) if is(t, true) && acc(c) && self.free(f) => Some(f.clone()),
            Reducer::Op(BinOp::Or) if is(t, true) && acc(f) && self.free(c) => Some(c.clone()),
            Reducer::Op(BinOp::And) if is(f, false) && acc(c) && self.free(t) => Some(t.clone()),
            Reducer::Op(BinOp::And) if is(f, false) && acc(t) && self.free(c) => Some(c.clone()),
            _ => None,
        }
    }

    /// `(acc ∘ x) ∘ y` is `acc ∘ (x ∘ y)` where `∘` is associative and commutative.
    fn regrouped(&self, op: BinOp, a: &ElemRef, b: &ElemRef) -> Option<ElemRef> {
        let Reducer::Op(want) = self.reducer else {
            return None;
        };
        if self.ty.is_float() {
            return None;
        }
        let (with, without) = if self.free(b) { (a, b) } else { (b, a) };
        if !self.free(without) {
            return None;
        }
        if op == want {
            Some(Elem::binary(op, self.contribution(with)?, without.clone()))
        } else if (op, want) == (BinOp::Subtract, BinOp::Add) && self.free(b) {
            Some(Elem::binary(op, self.contribution(a)?, b.clone()))
        } else {
            None
        }
    }

    /// A fold that goes on from `acc ∘ x` contributes `x ∘` itself from the identity.
    fn inner_sum(&self, inner: &Fold) -> Option<ElemRef> {
        let Reducer::Op(op) = self.reducer else {
            return None;
        };
        if self.ty.is_float() || inner.step.mentions(self.acc) {
            return None;
        }
        let before = self.contribution(&inner.init)?;
        let own = Reading {
            acc: &inner.acc,
            ty: self.ty,
            reducer: self.reducer,
        };
        let x = own.contribution(&inner.step)?;
        let start = Elem::constant(identity(self.reducer, self.ty)?);
        let sum = Arc::new(Elem::Fold(Arc::new(Fold {
            init: start.clone(),
            step: Elem::binary(op, Arc::new(Elem::Acc(inner.acc.clone(), self.ty)), x),
            ..inner.clone()
        })));
        Some(if before == start {
            sum
        } else {
            Elem::binary(op, before, sum)
        })
    }
}

fn is_acc(e: &ElemRef, acc: &Sym) -> bool {
    matches!(&**e, Elem::Acc(n, _) if n == acc)
}

/// On integers, taking the larger is the maximum.
pub fn as_extremum(reducer: Reducer, ty: ScalarType) -> Reducer {
    use CmpOp::*;
    match reducer {
        _ if ty.is_float() || ty == ScalarType::I1 => reducer,
        Reducer::TakeIf(Gt | Ge) | Reducer::KeepIf(Gt | Ge) => Reducer::Op(BinOp::Maximum),
        Reducer::TakeIf(Lt | Le) | Reducer::KeepIf(Lt | Le) => Reducer::Op(BinOp::Minimum),
        other => other,
    }
}

/// `p && q`, however it is written.
fn conjunction(c: &ElemRef) -> Option<(ElemRef, ElemRef)> {
    match &**c {
        Elem::Select(p, q, f) if **f == Elem::Const(Scalar::bool(false)) => {
            Some((p.clone(), q.clone()))
        }
        Elem::Binary(BinOp::And, p, q) => Some((p.clone(), q.clone())),
        _ => None,
    }
}

/// Whether every value of `from` is one of `to`, so that conversion keeps order and identity.
pub fn widens(from: ScalarType, to: ScalarType) -> bool {
    match (from.is_float(), to.is_float()) {
        (false, false) => from.fits_in(to),
        (true, true) => from.bits() <= to.bits(),
        (false, true) => from.bits() <= if to == ScalarType::F32 { 16 } else { 32 },
        (true, false) => false,
    }
}

/// Whether `(to)(mid)x` is `(to)x` for every `x` of type `from`.
pub fn skips(from: ScalarType, mid: ScalarType, to: ScalarType) -> bool {
    let truncates = mid.is_int() && to.is_int() && to != ScalarType::I1 && mid != ScalarType::I1;
    // Back from a float to an integer that cannot hold the value, C leaves undefined what wraps otherwise.
    let in_range = mid.is_int() || to.is_float() || from.is_float() || from.fits_in(to);
    widens(from, mid) && in_range || from.is_int() && truncates && to.bits() <= mid.bits()
}

/// A comparison of two values that were widened from one type compares the values.
fn strip_widening(p: &ElemRef, q: &ElemRef) -> (ElemRef, ElemRef) {
    match (&**p, &**q) {
        (Elem::Convert(to, a), Elem::Convert(_, b)) if a.ty() == b.ty() && widens(a.ty(), *to) => {
            (a.clone(), b.clone())
        }
        _ => (p.clone(), q.clone()),
    }
}

/// `(to)e` with the conversion moved to the operands, where that is exact: arithmetic modulo 2ⁿ.
fn push_convert(to: ScalarType, e: &ElemRef) -> Option<ElemRef> {
    use BinOp::*;
    let from = e.ty();
    let narrows = from.is_int() && to.is_int() && to != ScalarType::I1 && to.bits() <= from.bits();
    let down = |x: &ElemRef| match &**x {
        Elem::Convert(mid, y) if skips(y.ty(), *mid, to) => Elem::convert(to, y.clone()),
        _ => Elem::convert(to, x.clone()),
    };
    match &**e {
        Elem::Convert(mid, y) if skips(y.ty(), *mid, to) => Some(Elem::convert(to, y.clone())),
        Elem::Binary(op @ (Add | Subtract | Multiply | And | Or | Xor), a, b) if narrows => {
            Some(Arc::new(Elem::Binary(*op, down(a), down(b))))
        }
        Elem::Select(c, t, f) => Some(Arc::new(Elem::Select(c.clone(), down(t), down(f)))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorize_ir::inputs::edge_values;
    use tensorize_ir::op;

    fn value(e: &Elem) -> Scalar {
        match e {
            Elem::Const(v) => *v,
            other => panic!("{other} is not folded"),
        }
    }

    #[test]
    fn identities_change_nothing() {
        for ty in ScalarType::ALL {
            let mut known = 0;
            for reducer in candidates(ty) {
                let Some(e) = identity(reducer, ty) else {
                    continue;
                };
                known += 1;
                for acc in edge_values(ty) {
                    let after = reducer.combine(Elem::constant(acc), Elem::constant(e));
                    assert!(value(&after).same(acc), "{reducer:?} on {acc}: {after}");
                }
            }
            assert!(known > 0, "{ty}");
        }
    }

    #[test]
    fn conversions_that_are_skipped_had_no_effect() {
        for from in ScalarType::ALL {
            for mid in ScalarType::ALL {
                for to in ScalarType::ALL {
                    for x in edge_values(from) {
                        if skips(from, mid, to) {
                            let (once, twice) = (
                                op::eval_convert(to, x),
                                op::eval_convert(to, op::eval_convert(mid, x)),
                            );
                            assert!(once.same(twice), "{x} by {mid} to {to}: {once}, {twice}");
                        }
                        if widens(from, mid) {
                            let there = op::eval_convert(mid, x);
                            let back = op::eval_convert(from, there);
                            assert!(back.same(x), "{x} to {mid} and back: {back}");
                        }
                    }
                }
            }
        }
        assert!(skips(ScalarType::U8, ScalarType::I32, ScalarType::U8));
        assert!(!skips(ScalarType::I32, ScalarType::U8, ScalarType::I32));
    }
}
