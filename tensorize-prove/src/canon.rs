//! One form for expressions that are the same for simple reasons.
//!
//! Every rule is an identity of the operators' total meanings, bit for bit (up to the payload of a NaN).
//! Canonical forms serve comparison, and canonical conditions are facts, where `OfIdx` stands for the number that its
//! polynomial says. So there is one only where there was one before; what may have wrapped is a conversion of it.

mod halves;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Lane, LaneRef, Memo, Order};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;

thread_local! {
    /// Forms of polynomials that were asked for already: expressions say the same places again and again.
    static FORMS: RefCell<HashMap<Idx, Idx>> = RefCell::default();
}

/// So many forms are kept.
const MOST_FORMS: usize = 1 << 14;

/// The canonical form of a polynomial: `mod(a, c)` is written `a - c·⌊a / c⌋`.
pub fn idx(i: &Idx) -> Idx {
    idx_with(i, &mut Memo::default())
}

fn idx_with(i: &Idx, known: &mut Memo<ElemRef>) -> Idx {
    if !i
        .terms()
        .any(|(m, _)| m.iter().any(|a| !matches!(a, Atom::Sym(_))))
    {
        return i.clone();
    }
    // What is read from memory is more than a place.
    if i.has_values() {
        return form(i, known);
    }
    if let Some(form) = FORMS.with_borrow(|forms| forms.get(i).cloned()) {
        return form;
    }
    let form = form(i, known);
    FORMS.with_borrow_mut(|forms| {
        if forms.len() >= MOST_FORMS {
            forms.clear();
        }
        forms.insert(i.clone(), form.clone());
    });
    form
}

fn form(i: &Idx, known: &mut Memo<ElemRef>) -> Idx {
    let mut out = Idx::default();
    for (monomial, c) in i.terms() {
        let mut product = Idx::constant(c);
        for atom in monomial {
            let mut two = |a, b| (idx_with(a, known), idx_with(b, known));
            let factor = match atom {
                Atom::Sym(_) => Idx::atom(atom.clone()),
                Atom::FloorDiv(a, b) => {
                    let (a, b) = two(a, b);
                    a.floor_div(&b)
                }
                Atom::Mod(a, b) => {
                    let (a, b) = two(a, b);
                    &a - &(&b * &a.floor_div(&b))
                }
                Atom::Max(a, b) => {
                    let (a, b) = two(a, b);
                    a.maximum(&b)
                }
                Atom::Min(a, b) => {
                    let (a, b) = two(a, b);
                    a.minimum(&b)
                }
                Atom::Value(e) => match &*elem_with(e, known) {
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
    elem_with(e, &mut Memo::default())
}

fn elem_with(e: &ElemRef, known: &mut Memo<ElemRef>) -> ElemRef {
    if let Some(form) = known.get(e) {
        return form;
    }
    let indices = e.indices().into_iter();
    let indices: Vec<Idx> = indices.map(|i| idx_with(i, known)).collect();
    let form = if let Elem::Fold(f) = &**e {
        fold(f, indices[0].clone())
    } else {
        let children = e.children().into_iter();
        let children: Vec<ElemRef> = children.map(|c| elem_with(c, known)).collect();
        simplify(e.rebuild(&children, &indices))
    };
    known.insert(e, &form);
    form
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
    use tensorize_ir::element::{Env, eval_index};
    use tensorize_ir::inputs::Rng;
    use tensorize_ir::scalar::Scalar;

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
            let one = Elem::constant(Scalar::int(ty, 1));
            Elem::binary(BinOp::Add, Elem::of_idx(ty, i.clone()), one)
        };
        for ty in [I8, U8, I32, I64, U64] {
            let sum = elem(&machine(ty));
            assert_eq!(polynomial(&sum), Some(&i + &one), "{ty}");
            assert_eq!(sum, elem(&Elem::convert(ty, machine(U64))));
            assert_eq!(sum, elem(&sum), "{ty}");
            // Where it wraps, it is no longer the number.
            assert_eq!(crate::eval::index_like(&sum), None, "{ty}");
            assert_eq!(elem(&next(ty)), next(ty));
        }
        assert_eq!(polynomial(&elem(&Elem::convert(I32, next(U8)))), None);
        let narrower = elem(&Elem::convert(U8, next(I32)));
        assert_eq!(crate::eval::index_like(&narrower), None);
        assert_eq!(narrower, elem(&Elem::convert(U8, machine(I32))));
        // In eight bits it wraps before it is widened.
        assert_ne!(
            elem(&Elem::convert(I32, machine(U8))),
            elem(&Elem::convert(I32, next(I32)))
        );
        let float = Elem::of_idx(F32, i.clone());
        let sum = Elem::binary(BinOp::Add, float.clone(), float);
        assert!(matches!(&*elem(&sum), Elem::Binary(..)));
    }

    struct At(i128);

    impl Env for At {
        /// (A polynomial that is too large has the name of an unknown.)
        fn sym(&self, name: &Sym) -> Option<i128> {
            (&**name == "i").then_some(self.0)
        }
        fn param(&self, _: &Sym) -> Option<Scalar> {
            None
        }
        fn read(&mut self, _: &Sym, _: i128) -> Option<Scalar> {
            Some(Scalar::int(U8, self.0 * 7))
        }
    }

    /// Whatever is converted and computed, the form has the value; and if it is a number, that number.
    #[test]
    fn forms_of_machine_integers_have_their_value() {
        let mut random = Rng::new(3);
        let mut below = |n: usize| random.below(n as u64) as usize;
        const TYPES: [ScalarType; 6] = [I8, U8, I32, U32, I64, U64];
        let (mut numbers, mut too_large) = (0, 0);
        for _ in 0..2_000 {
            let ty = TYPES[below(6)];
            let mut e = match below(4) {
                0 => read("i"),
                1 => Elem::of_idx(I32, Idx::value(read("i"))),
                _ => Elem::of_idx(ty, Idx::sym("i")),
            };
            for _ in 0..below(5) {
                let c = [-300, -1, 1, 100, 255, 1 << 33][below(6)];
                let c = Elem::constant(Scalar::int(e.ty(), c));
                e = match below(4) {
                    0 => Elem::binary(BinOp::Add, e, c),
                    1 => Elem::binary([BinOp::Subtract, BinOp::Multiply][below(2)], c, e),
                    _ => Elem::convert(TYPES[below(6)], e),
                };
            }
            let form = elem(&e);
            assert_eq!(form, elem(&form), "{e}");
            if form.eval(&mut At(0)).is_none() {
                too_large += 1;
                continue;
            }
            for i in 0..100 {
                let value = e.eval(&mut At(i)).unwrap();
                assert_eq!(form.eval(&mut At(i)), Some(value), "{e}: {form} at {i}");
                let wraps = |p: &Idx| Scalar::int(e.ty(), eval_index(p, &mut At(i)).unwrap());
                assert_eq!(wraps(&modular(&form)), value, "{e}: {form} at {i}");
                assert_eq!(wraps(&modular(&e)), value, "{e} at {i}");
                if let Elem::OfIdx(_, p) = &*form {
                    let p = eval_index(p, &mut At(i)).unwrap();
                    assert_eq!(p, value.as_int(), "{e}: {form} at {i}");
                    numbers += 1;
                }
            }
        }
        assert!(numbers > 0 && too_large < 200, "{numbers}, {too_large}");
    }

    #[test]
    fn what_adds_nothing_to_a_float() {
        let x = Elem::read("x", F32, Idx::sym("i"));
        let with = |op, v: f32| {
            let v = Elem::constant(Scalar::f32(v));
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

    struct Pair(i128, i128);

    impl Env for Pair {
        fn sym(&self, _: &Sym) -> Option<i128> {
            None
        }
        fn param(&self, name: &Sym) -> Option<Scalar> {
            let value = if &**name == "a" { self.0 } else { self.1 };
            Some(Scalar::int(I16, value))
        }
        fn read(&mut self, _: &Sym, _: i128) -> Option<Scalar> {
            None
        }
    }

    /// Through whichever types they are compared: as they are only where these hold all of their values.
    #[test]
    fn comparisons_of_converted_numbers_have_their_value() {
        let [a, b]: [ElemRef; 2] = ["a", "b"].map(|p| Arc::new(Elem::Param(p.into(), I16)));
        let edges = [-32768, -129, -128, -1, 0, 1, 127, 128, 255, 256, 32767];
        let mut bare = 0;
        for first in [I8, U8, I16, U16, I32] {
            for second in [I8, U8, I16, U16, I32, U32, I64, U64] {
                for op in [CmpOp::Lt, CmpOp::Le, CmpOp::Eq, CmpOp::Ne, CmpOp::Gt] {
                    let through =
                        |x: &ElemRef| Elem::convert(second, Elem::convert(first, x.clone()));
                    let e = Elem::compare(op, through(&a), through(&b));
                    let form = elem(&e);
                    let mut converted = false;
                    form.visit(&mut |x| converted |= matches!(&**x, Elem::Convert(..)));
                    bare += usize::from(!converted);
                    for x in edges {
                        for y in edges {
                            let [is, was] = [&form, &e].map(|e| e.eval(&mut Pair(x, y)));
                            assert_eq!(is, was, "{e}: {form} at {x}, {y}");
                        }
                    }
                }
            }
        }
        assert!(
            bare > 0,
            "no comparison has become one of the numbers themselves"
        );
    }

    #[test]
    fn folds_do_not_depend_on_names() {
        let fold = |acc: &str, var: &str| {
            let a: ElemRef = Arc::new(Elem::Acc(acc.into(), I32));
            Arc::new(Elem::Fold(Arc::new(Fold {
                acc: acc.into(),
                var: var.into(),
                extent: Idx::sym("n"),
                init: Elem::constant(Scalar::int(I32, 0)),
                step: Elem::binary(BinOp::Add, Elem::read("y", I32, Idx::sym(var)), a),
                order: Order::Sequential,
                others: vec![],
            })))
        };
        assert_eq!(elem(&fold("a", "p")), elem(&fold("z", "q")));
    }
}
