//! One form for expressions that are the same for simple reasons.
//!
//! Every rule is an identity of the operators' total meanings, bit for bit (up to the payload of a NaN).
//! Canonical forms serve comparison, and canonical conditions are facts, where `OfIdx` stands for the number that its
//! polynomial says. So there is one only where there was one before; what may have wrapped is a conversion of it.

mod halves;

use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Lane, LaneRef, Order};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// The canonical form of a polynomial: `mod(a, c)` is written `a - c·⌊a / c⌋`.
pub fn idx(i: &Idx) -> Idx {
    if !i
        .terms()
        .any(|(m, _)| m.iter().any(|a| !matches!(a, Atom::Sym(_))))
    {
        return i.clone();
    }
    let mut out = Idx::default();
    for (monomial, c) in i.terms() {
        let mut product = Idx::constant(c);
        for atom in monomial {
            let factor = match atom {
                Atom::Sym(_) => Idx::atom(atom.clone()),
                Atom::FloorDiv(a, b) => idx(a).floor_div(&idx(b)),
                Atom::Mod(a, b) => {
                    let (a, b) = (idx(a), idx(b));
                    &a - &(&b * &a.floor_div(&b))
                }
                Atom::Max(a, b) => idx(a).maximum(&idx(b)),
                Atom::Min(a, b) => idx(a).minimum(&idx(b)),
                Atom::Value(e) => match &*elem(e) {
                    Elem::Const(v) => Idx::constant(v.as_int()),
                    e => Idx::atom(Atom::Value(Arc::new(e.clone()))),
                },
            };
            product = &product * &factor;
        }
        out = &out + &product;
    }
    halves::normal(out)
}

/// The canonical form of an expression.
pub fn elem(e: &ElemRef) -> ElemRef {
    let indices: Vec<Idx> = e.indices().into_iter().map(idx).collect();
    if let Elem::Fold(f) = &**e {
        return fold(f, indices[0].clone());
    }
    let children: Vec<ElemRef> = e.children().into_iter().map(elem).collect();
    simplify(e.rebuild(&children, &indices))
}

/// Bound names go by height: a fold's name differs from those of the folds inside of it, and does not
/// depend on where the fold stands. That holds as long as no step reads what a fold around it binds by such a name, as it does
/// where something was put into a canonical step: then a name is a higher one.
fn fold(f: &Fold, extent: Idx) -> ElemRef {
    let mut f = f.clone();
    (f.init, f.step) = (elem(&f.init), elem(&f.step));
    for lane in &mut f.others {
        (lane.init, lane.step) = (elem(&lane.init), elem(&lane.step));
    }
    let f = f.without_idle_lanes();
    let lanes: Vec<LaneRef> = f.lanes().collect();
    let inside = lanes.iter().map(|l| height(l.step)).max().unwrap_or(0);
    let mut names = Names::of(inside, lanes.len());
    while names
        .all()
        .any(|name| !f.binds(name) && *name != f.var && lanes.iter().any(|l| l.step.mentions(name)))
    {
        names = Names::of(names.height + 1, lanes.len());
    }
    let Names { var, accs, .. } = names;
    let own = lanes.iter().zip(&accs).map(|(l, to)| {
        let to = Arc::new(Elem::Acc(to.clone(), l.init.ty()));
        (l.acc.clone(), to)
    });
    let own = own.collect();
    let renamed = |step: &ElemRef| {
        let step = step.replace(&f.var, &Idx::sym(Arc::clone(&var)));
        // The renaming can change which operand comes first.
        reorder(&step.replace_accs(&own))
    };
    let mut new = lanes.iter().zip(&accs).map(|(l, acc)| Lane {
        acc: acc.clone(),
        init: l.init.clone(),
        step: renamed(l.step),
    });
    let Some(Lane { acc, init, step }) = new.next() else {
        return Arc::new(Elem::Fold(Arc::new(f)));
    };
    if matches!(&*step, Elem::Acc(n, _) if *n == acc)
        || extent.as_constant().is_some_and(|n| n <= 0)
    {
        return init;
    }
    let mut fold = Fold {
        acc,
        var: var.clone(),
        extent,
        init,
        step,
        order: f.order,
        others: new.collect(),
    };
    // Where grouping makes no difference, an open order is as good as any.
    let ty = fold.init.ty();
    if fold
        .as_reduction()
        .is_some_and(|(op, _)| op.is_commutative() && op.is_associative(ty))
    {
        fold.order = Order::Sequential;
    }
    Arc::new(Elem::Fold(Arc::new(fold)))
}

/// What a fold of a height binds.
struct Names {
    height: usize,
    var: Sym,
    accs: Vec<Sym>,
}

impl Names {
    fn of(height: usize, lanes: usize) -> Names {
        let acc = |i: usize| match i {
            0 => format!("acc%{height}").into(),
            _ => format!("acc%{height}.{i}").into(),
        };
        Names {
            height,
            var: format!("k%{height}").into(),
            accs: (0..lanes).map(acc).collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Sym> {
        self.accs.iter().chain([&self.var])
    }
}

/// One more than the highest name that canonical folds bind.
fn height(e: &ElemRef) -> usize {
    if let Elem::Fold(f) = &**e
        && let Some(named) = f
            .var
            .strip_prefix("k%")
            .and_then(|n| n.parse::<usize>().ok())
    {
        let outside = f.lanes().map(|l| height(l.init)).max().unwrap_or(0);
        return outside.max(height_in_idx(&f.extent)).max(named + 1);
    }
    let below = e.children().into_iter().map(height).max().unwrap_or(0);
    let inside = e
        .indices()
        .into_iter()
        .map(height_in_idx)
        .max()
        .unwrap_or(0);
    below.max(inside) + usize::from(matches!(&**e, Elem::Fold(_)))
}

fn height_in_idx(i: &Idx) -> usize {
    i.terms()
        .flat_map(|(m, _)| m.iter())
        .map(|a| match a {
            Atom::Sym(_) => 0,
            Atom::Value(e) => height(e),
            Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => {
                height_in_idx(a).max(height_in_idx(b))
            }
        })
        .max()
        .unwrap_or(0)
}

fn reorder(e: &ElemRef) -> ElemRef {
    let children: Vec<ElemRef> = e.children().into_iter().map(reorder).collect();
    let indices: Vec<Idx> = e.indices().into_iter().cloned().collect();
    simplify(e.rebuild(&children, &indices))
}

fn simplify(e: ElemRef) -> ElemRef {
    match &*e {
        Elem::Binary(op, a, b) if polynomial(a).is_some() && polynomial(b).is_some() => {
            arithmetic(*op, a, b).unwrap_or(e)
        }
        Elem::Binary(op, a, b) if is_neutral(*op, a) && op.is_commutative() => b.clone(),
        Elem::Binary(op, a, b) if is_neutral(*op, b) => a.clone(),
        Elem::Binary(op, a, b) if op.is_commutative() && b < a => {
            Elem::binary(*op, b.clone(), a.clone())
        }
        Elem::Compare(op, a, b) => compare(*op, a, b).unwrap_or(e),
        Elem::IndexCompare(op, a, b) => index_compare(*op, a, b),
        Elem::Unary(UnOp::Not, a) if a.ty() == ScalarType::I1 => negated(a).unwrap_or(e),
        Elem::Convert(to, a) => convert(*to, a).unwrap_or(e),
        Elem::Select(c, t, f) => select(c, t, f).unwrap_or(e),
        // The value of a machine integer, as one of its type or of a wider one.
        Elem::OfIdx(ty, idx) => match idx.as_value() {
            Some(value) if is_number(value.ty()) && value.ty().fits_in(*ty) => {
                simplify(Elem::convert(*ty, value.clone()))
            }
            _ => e,
        },
        _ => e,
    }
}

/// -0.0 adds nothing to a float, whichever zero that is, and 1.0 multiplies nothing.
fn is_neutral(op: BinOp, e: &ElemRef) -> bool {
    let Elem::Const(v) = &**e else { return false };
    v.ty.is_float()
        && match op {
            BinOp::Add => v.as_f64() == 0.0 && v.as_f64().is_sign_negative(),
            BinOp::Multiply => v.as_f64() == 1.0,
            _ => false,
        }
}

/// The polynomial as a machine integer, wrapped to its type if it is no value of that.
fn wrapped(ty: ScalarType, p: Idx) -> ElemRef {
    if p.as_constant().is_some() {
        return Elem::of_idx(ty, p);
    }
    if let Some(value) = p.as_value().filter(|v| v.ty() == ty) {
        return value.clone();
    }
    let wide = match ty {
        ScalarType::U64 => ScalarType::I64,
        _ => ScalarType::U64,
    };
    Elem::convert(ty, Elem::of_idx(wide, p))
}

/// Sums, differences and products of wrapped polynomials are those of the polynomials, wrapped.
fn arithmetic(op: BinOp, a: &ElemRef, b: &ElemRef) -> Option<ElemRef> {
    let (p, q) = (polynomial(a)?, polynomial(b)?);
    let value = match op {
        BinOp::Add => &p + &q,
        BinOp::Subtract => &p - &q,
        BinOp::Multiply => &p * &q,
        _ if op.is_commutative() && b < a => {
            return Some(Elem::binary(op, b.clone(), a.clone()));
        }
        _ => return None,
    };
    Some(wrapped(a.ty(), value))
}

/// A polynomial that a machine integer is, wrapped to its width.
pub(crate) fn polynomial(e: &ElemRef) -> Option<Idx> {
    match &**e {
        Elem::OfIdx(ty, p) if is_number(*ty) => Some(p.clone()),
        Elem::Convert(to, inner) if is_number(*to) => match &**inner {
            Elem::OfIdx(ty, p) if is_number(*ty) && to.bits() <= ty.bits() => Some(p.clone()),
            _ => None,
        },
        Elem::Const(v) if is_number(v.ty) => Some(Idx::constant(v.as_int())),
        _ => None,
    }
}

/// The same of arithmetic on any integers, by its operands.
pub(crate) fn modular(e: &ElemRef) -> Idx {
    if let Some(p) = polynomial(e) {
        return p;
    }
    match &**e {
        Elem::Binary(BinOp::Add, a, b) => &modular(a) + &modular(b),
        Elem::Binary(BinOp::Subtract, a, b) => &modular(a) - &modular(b),
        Elem::Binary(BinOp::Multiply, a, b) => &modular(a) * &modular(b),
        Elem::Convert(to, a) if is_number(*to) && is_number(a.ty()) => {
            // Bits are cut off, or the number stays what it is: then it must have been cut off before.
            match to.bits() <= a.ty().bits() {
                true => modular(a),
                false => Idx::value(a.clone()),
            }
        }
        _ => Idx::value(e.clone()),
    }
}

fn is_number(ty: ScalarType) -> bool {
    ty.is_int() && ty != ScalarType::I1
}

/// Comparisons point one way (`a > b` is `b < a`); on integers only `<` and `==` remain, under a `not`.
fn compare(op: CmpOp, a: &ElemRef, b: &ElemRef) -> Option<ElemRef> {
    let int = a.ty().is_int();
    // (x != 0) of a truth value that was widened is that value.
    if let (CmpOp::Ne | CmpOp::Eq, Elem::Convert(_, inner), Elem::Const(zero)) = (op, &**a, &**b)
        && inner.ty() == ScalarType::I1
        && zero.bits == 0
    {
        return Some(if op == CmpOp::Ne {
            inner.clone()
        } else {
            simplify(Elem::not(inner.clone()))
        });
    }
    // Numbers that were widened compare as they did before.
    if let (Elem::Convert(_, x), Elem::Convert(_, y)) = (&**a, &**b)
        && x.ty() == y.ty()
        && is_number(x.ty())
        && x.ty().fits_in(a.ty())
    {
        return Some(simplify(Elem::compare(op, x.clone(), y.clone())));
    }
    Some(match op {
        CmpOp::Gt | CmpOp::Ge => simplify(Elem::compare(op.swapped(), b.clone(), a.clone())),
        CmpOp::Le if int => not(simplify(Elem::compare(CmpOp::Lt, b.clone(), a.clone()))),
        CmpOp::Ne => not(simplify(Elem::compare(CmpOp::Eq, a.clone(), b.clone()))),
        CmpOp::Eq if b < a => Elem::compare(op, b.clone(), a.clone()),
        _ => return None,
    })
}

fn not(e: ElemRef) -> ElemRef {
    simplify(Elem::unary(UnOp::Not, e))
}

fn negated(a: &ElemRef) -> Option<ElemRef> {
    match &**a {
        Elem::Unary(UnOp::Not, inner) => Some(inner.clone()),
        Elem::IndexCompare(op, x, y) => Some(index_compare(op.negated(), x, y)),
        _ => None,
    }
}

/// `p >= 0`, `p == 0` or `p != 0`.
fn index_compare(op: CmpOp, a: &Idx, b: &Idx) -> ElemRef {
    let one = Idx::constant(1);
    let (op, difference) = match op {
        CmpOp::Lt => (CmpOp::Ge, &(b - a) - &one),
        CmpOp::Le => (CmpOp::Ge, b - a),
        CmpOp::Gt => (CmpOp::Ge, &(a - b) - &one),
        CmpOp::Ge => (CmpOp::Ge, a - b),
        CmpOp::Eq | CmpOp::Ne => {
            let d = a - b;
            let minus = -&d;
            (op, d.min(minus))
        }
    };
    Elem::index_compare(op, difference, Idx::default())
}

/// A conversion through a type that holds every value in between says nothing.
fn convert(to: ScalarType, a: &ElemRef) -> Option<ElemRef> {
    // The polynomial is wrapped to the width in either case.
    if let Some(p) = polynomial(a)
        && is_number(to)
        && to.bits() <= a.ty().bits()
    {
        return Some(wrapped(to, p));
    }
    match &**a {
        // int → wider int → int: only the ends count; int → narrower int → even narrower likewise.
        Elem::Convert(mid, inner)
            if inner.ty().is_int()
                && to != ScalarType::I1
                && is_number(*mid)
                && (inner.ty().fits_in(*mid) || (to.is_int() && to.bits() <= mid.bits())) =>
        {
            Some(simplify(Elem::convert(to, inner.clone())))
        }
        // i1 widened and tested again.
        Elem::Convert(mid, inner)
            if to == ScalarType::I1 && inner.ty() == ScalarType::I1 && mid.is_int() =>
        {
            Some(inner.clone())
        }
        _ => None,
    }
}

fn select(c: &ElemRef, t: &ElemRef, f: &ElemRef) -> Option<ElemRef> {
    if let Elem::Unary(UnOp::Not, inner) = &**c {
        return Some(simplify(Elem::select(inner.clone(), f.clone(), t.clone())));
    }
    // A choice between the truth values is the condition.
    if let (Elem::Const(t), Elem::Const(f)) = (&**t, &**f)
        && t.ty == ScalarType::I1
        && t.is_true() != f.is_true()
    {
        return Some(if t.is_true() {
            c.clone()
        } else {
            not(c.clone())
        });
    }
    // Inside of a branch the condition is known.
    let (t2, f2) = (assume(t, c, true), assume(f, c, false));
    if t2 != *t || f2 != *f {
        return Some(simplify(Elem::select(c.clone(), t2, f2)));
    }
    // The larger or smaller of two integers.
    if let Elem::Compare(CmpOp::Lt, a, b) = &**c
        && a.ty().is_int()
        && a.ty() != ScalarType::I1
    {
        if (t, f) == (a, b) {
            return Some(simplify(Elem::binary(BinOp::Minimum, a.clone(), b.clone())));
        }
        if (t, f) == (b, a) {
            return Some(simplify(Elem::binary(BinOp::Maximum, a.clone(), b.clone())));
        }
    }
    None
}

/// `e`, where `c` is known: nested selects on it take the branch that is meant.
fn assume(e: &ElemRef, c: &ElemRef, truth: bool) -> ElemRef {
    let known = |is: bool| Elem::constant(Scalar::bool(is));
    match &**e {
        _ if e == c => known(truth),
        Elem::Unary(UnOp::Not, inner) if inner == c => known(!truth),
        Elem::Select(d, t, f) if d == c => assume(if truth { t } else { f }, c, truth),
        Elem::Select(d, t, f) => Elem::select(d.clone(), assume(t, c, truth), assume(f, c, truth)),
        Elem::Convert(ty, a) => Elem::convert(*ty, assume(a, c, truth)),
        _ => e.clone(),
    }
}

#[cfg(test)]
mod tests;
