//! One form for expressions that are the same for simple reasons.
//!
//! Every rule is an identity of the operators' total meanings, bit for bit (up to the payload of a NaN).
//! Canonical forms serve comparison only.

use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Lane, LaneRef, Order};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;

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
    out
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
/// depend on where the fold stands.
fn fold(f: &Fold, extent: Idx) -> ElemRef {
    let mut f = f.clone();
    (f.init, f.step) = (elem(&f.init), elem(&f.step));
    for lane in &mut f.others {
        (lane.init, lane.step) = (elem(&lane.init), elem(&lane.step));
    }
    let f = f.without_idle_lanes();
    let lanes: Vec<LaneRef> = f.lanes().collect();
    let height = lanes.iter().map(|l| height(l.step)).max().unwrap_or(0);
    let var: Sym = format!("k%{height}").into();
    let name = |i: usize| -> Sym {
        match i {
            0 => format!("acc%{height}").into(),
            _ => format!("acc%{height}.{i}").into(),
        }
    };
    let renamed = |step: &ElemRef| {
        let step = step
            .replace(&f.var, &Idx::sym(Arc::clone(&var)))
            .map(&mut |e| match &**e {
                Elem::Acc(n, ty) => {
                    let i = lanes.iter().position(|l| l.acc == n)?;
                    Some(Arc::new(Elem::Acc(name(i), *ty)))
                }
                _ => None,
            });
        // The renaming can change which operand comes first.
        reorder(&step)
    };
    let mut new = lanes.iter().enumerate().map(|(i, l)| Lane {
        acc: name(i),
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

fn height(e: &ElemRef) -> usize {
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
        // The value of a machine integer, as one of the same type.
        Elem::OfIdx(ty, idx) => match idx.as_value() {
            Some(value) if value.ty() == *ty => value.clone(),
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
    Some(Elem::of_idx(a.ty(), value))
}

/// The polynomial that a machine integer holds, wrapped to its width.
fn polynomial(e: &ElemRef) -> Option<Idx> {
    match &**e {
        Elem::OfIdx(ty, p) if ty.is_int() && *ty != ScalarType::I1 => Some(p.clone()),
        Elem::Const(v) if v.ty.is_int() && v.ty != ScalarType::I1 => {
            Some(Idx::constant(v.as_int()))
        }
        _ => None,
    }
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
    match &**a {
        // int → wider int → int: only the ends count; int → narrower int → even narrower likewise.
        Elem::Convert(mid, inner)
            if inner.ty().is_int()
                && mid.is_int()
                && to != ScalarType::I1
                && *mid != ScalarType::I1
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
        // The polynomial is wrapped to the width in either case.
        Elem::OfIdx(mid, p)
            if to.is_int() && to != ScalarType::I1 && mid.is_int() && to.bits() <= mid.bits() =>
        {
            Some(Elem::of_idx(to, p.clone()))
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

/// `e`, where nested selects on `c` take the branch that is known.
fn assume(e: &ElemRef, c: &ElemRef, truth: bool) -> ElemRef {
    match &**e {
        Elem::Select(d, t, f) if d == c => assume(if truth { t } else { f }, c, truth),
        Elem::Select(d, t, f) => Elem::select(d.clone(), assume(t, c, truth), assume(f, c, truth)),
        Elem::Convert(ty, a) => Elem::convert(*ty, assume(a, c, truth)),
        _ => e.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarType::*;

    fn read(i: &str) -> ElemRef {
        Elem::read("x", U8, Idx::sym(i))
    }

    #[test]
    fn forms_meet() {
        let (a, b) = (read("i"), read("j"));
        let gt = Elem::select(
            Elem::compare(CmpOp::Gt, a.clone(), b.clone()),
            a.clone(),
            b.clone(),
        );
        let max = Elem::binary(BinOp::Maximum, b.clone(), a.clone());
        assert_eq!(elem(&gt), elem(&max));
        let wide = Elem::convert(U8, Elem::convert(I32, a.clone()));
        assert_eq!(elem(&wide), a);
        let narrow = Elem::convert(I32, Elem::convert(U8, Elem::convert(I32, a.clone())));
        assert_eq!(elem(&narrow), Elem::convert(I32, a));
    }

    #[test]
    fn arithmetic_on_counters_is_that_of_polynomials() {
        let (i, one) = (Idx::sym("i"), Idx::constant(1));
        let next = |ty| Elem::of_idx(ty, &i + &one);
        let machine = |ty| {
            let one = Elem::constant(tensorize_ir::scalar::Scalar::int(ty, 1));
            Elem::binary(BinOp::Add, Elem::of_idx(ty, i.clone()), one)
        };
        for ty in [I8, U8, I32, U64] {
            assert_eq!(elem(&machine(ty)), next(ty));
        }
        // In eight bits it wraps before it is widened.
        assert_ne!(
            elem(&Elem::convert(I32, machine(U8))),
            elem(&Elem::convert(I32, next(I32)))
        );
        let float = Elem::of_idx(F32, i.clone());
        let sum = Elem::binary(BinOp::Add, float.clone(), float);
        assert!(matches!(&*elem(&sum), Elem::Binary(..)));
    }

    #[test]
    fn what_adds_nothing_to_a_float() {
        let x = Elem::read("x", F32, Idx::sym("i"));
        let with = |op, v: f32| {
            let v = Elem::constant(tensorize_ir::scalar::Scalar::f32(v));
            elem(&Elem::binary(op, v, x.clone()))
        };
        assert_eq!(with(BinOp::Add, -0.0), x);
        assert_eq!(with(BinOp::Multiply, 1.0), x);
        // -0.0 + 0.0 is 0.0, and a NaN is not taken for -0.0.
        for (op, v) in [
            (BinOp::Add, 0.0),
            (BinOp::Multiply, -1.0),
            (BinOp::Maximum, -0.0),
        ] {
            assert_ne!(with(op, v), x, "{op}");
        }
    }

    #[test]
    fn a_narrowing_in_between_stays() {
        let wide = Elem::read("y", I32, Idx::sym("i"));
        let e = Elem::convert(I32, Elem::convert(U8, wide.clone()));
        assert_ne!(elem(&e), wide);
        let flag = Elem::convert(I1, Elem::convert(U8, wide.clone()));
        assert_ne!(elem(&flag), Elem::convert(I1, wide));
    }

    #[test]
    fn folds_do_not_depend_on_names() {
        let fold = |acc: &str, var: &str| {
            let a: ElemRef = Arc::new(Elem::Acc(acc.into(), I32));
            Arc::new(Elem::Fold(Arc::new(Fold {
                acc: acc.into(),
                var: var.into(),
                extent: Idx::sym("n"),
                init: Elem::constant(tensorize_ir::scalar::Scalar::int(I32, 0)),
                step: Elem::binary(BinOp::Add, Elem::read("y", I32, Idx::sym(var)), a),
                order: Order::Sequential,
                others: vec![],
            })))
        };
        assert_eq!(elem(&fold("a", "p")), elem(&fold("z", "q")));
    }
}
