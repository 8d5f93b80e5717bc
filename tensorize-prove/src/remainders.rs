//! Remainders that are rounded down, as generated code and careful C compute them from those that C rounds towards zero:
//! `r = a % n; if (r < 0) r += n;` is `a - n·⌊a / n⌋`.

use crate::canon;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::Idx;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;

const I64: ScalarType = ScalarType::I64;

/// Such a choice as a polynomial: of numbers of 64 bits that are polynomials themselves. Where n is 0, both are a, and where
/// it is -1, both are 0. Where the remainder is not 0, and one of a and n is negative and the other is not, it is off by n.
/// What it is lies between 0 and n, so that it is a number of 64 bits, too.
pub(crate) fn rounded_down(c: &ElemRef, t: &ElemRef, f: &ElemRef) -> Option<ElemRef> {
    if !matches!(&**f, Elem::Binary(BinOp::Remainder, ..)) {
        return None;
    }
    let [c, t, f] = [c, t, f].map(canon::elem);
    let (c, t, f) = (&c, &t, &f);
    let Elem::Binary(BinOp::Remainder, a, n) = &**f else {
        return None;
    };
    let number = |e: &ElemRef| match &**e {
        Elem::OfIdx(ty, p) if *ty == I64 => Some(p.clone()),
        Elem::Const(v) if v.ty == I64 => Some(Idx::constant(v.as_int())),
        _ => None,
    };
    let (p, d) = (number(a)?, number(n)?);
    let Elem::Binary(BinOp::Add, x, y) = &**t else {
        return None;
    };
    let moved = (x == f && y == n) || (x == n && y == f);
    let is_zero = |e: &ElemRef| number(e).is_some_and(|p| p.is_zero());
    let below_zero =
        |e: &ElemRef| matches!(&**e, Elem::Compare(CmpOp::Lt, r, zero) if r == f && is_zero(zero));
    let other_sign = match d.as_constant() {
        Some(d) if d > 0 => below_zero(c),
        Some(_) => false,
        None => is_of_other_sign(c, f, &d, &below_zero, &is_zero),
    };
    (moved && other_sign).then(|| Elem::of_idx(I64, &p - &(&d * &p.floor_div(&d))))
}

/// `r != 0 && (r < 0) != (n < 0)`
fn is_of_other_sign(
    c: &ElemRef,
    r: &ElemRef,
    n: &Idx,
    below_zero: &dyn Fn(&ElemRef) -> bool,
    is_zero: &dyn Fn(&ElemRef) -> bool,
) -> bool {
    let equal = |e: &ElemRef| match &**e {
        Elem::Unary(UnOp::Not, e) => match &**e {
            Elem::Compare(CmpOp::Eq, x, y) => Some((x.clone(), y.clone())),
            _ => None,
        },
        _ => None,
    };
    let Elem::Binary(BinOp::And, some, signs) = &**c else {
        return false;
    };
    let negative = Elem::index_compare(CmpOp::Ge, &-n - &Idx::constant(1), Idx::default());
    let differ = |(x, y): (ElemRef, ElemRef)| {
        (below_zero(&x) && y == negative) || (below_zero(&y) && x == negative)
    };
    let is_some = |(x, y): (ElemRef, ElemRef)| (x == *r && is_zero(&y)) || (y == *r && is_zero(&x));
    let both = |some, signs| equal(some).is_some_and(is_some) && equal(signs).is_some_and(differ);
    both(some, signs) || both(signs, some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorize_ir::element::Env;
    use tensorize_ir::index::Sym;
    use tensorize_ir::scalar::Scalar;

    struct At(i128, i128);

    impl Env for At {
        fn sym(&self, name: &Sym) -> Option<i128> {
            Some(if &**name == "a" { self.0 } else { self.1 })
        }
        fn param(&self, _: &Sym) -> Option<Scalar> {
            None
        }
        fn read(&mut self, _: &Sym, _: i128) -> Option<Scalar> {
            None
        }
    }

    fn int(v: i128) -> ElemRef {
        Elem::constant(Scalar::int(I64, v))
    }

    /// As the back end writes it: condition and choices.
    fn written(
        n: &ElemRef,
        off: &dyn Fn(&ElemRef) -> ElemRef,
        more: &ElemRef,
    ) -> (ElemRef, ElemRef, ElemRef) {
        let a = Elem::of_idx(I64, Idx::sym("a"));
        let r = Elem::binary(BinOp::Remainder, a, n.clone());
        let wrapped = Elem::binary(BinOp::Add, r.clone(), more.clone());
        (off(&r), wrapped, r)
    }

    fn below(r: &ElemRef) -> ElemRef {
        Elem::compare(CmpOp::Lt, r.clone(), int(0))
    }

    #[test]
    fn it_is_the_remainder_that_is_rounded_down() {
        let n = Elem::of_idx(I64, Idx::sym("n"));
        let off = |r: &ElemRef| {
            let some = Elem::compare(CmpOp::Ne, r.clone(), int(0));
            let negative = Elem::index_compare(CmpOp::Lt, Idx::sym("n"), Idx::default());
            let signs = Elem::compare(CmpOp::Ne, below(r), negative);
            Elem::binary(BinOp::And, some, signs)
        };
        for ((c, t, f), divisor) in [
            (written(&n, &off, &n), None),
            (written(&int(12), &below, &int(12)), Some(12)),
        ] {
            let form = rounded_down(&c, &t, &f).expect("a remainder");
            let e = Elem::select(c, t, f);
            for a in -30..30 {
                for n in -9..9 {
                    let mut at = At(a, divisor.unwrap_or(n));
                    assert_eq!(form.eval(&mut at), e.eval(&mut at), "{a}, {n}");
                }
            }
        }
    }

    #[test]
    fn another_choice_is_left() {
        let n = Elem::of_idx(I64, Idx::sym("n"));
        let above = |r: &ElemRef| Elem::compare(CmpOp::Lt, int(0), r.clone());
        let some = |r: &ElemRef| Elem::compare(CmpOp::Ne, r.clone(), int(0));
        let with_sign = |r: &ElemRef| Elem::binary(BinOp::And, some(r), below(r));
        for (c, t, f) in [
            written(&int(12), &above, &int(12)),
            written(&int(12), &below, &int(11)),
            written(&int(-12), &below, &int(-12)),
            written(&n, &below, &n),
            written(&n, &with_sign, &n),
        ] {
            assert_eq!(rounded_down(&c, &t, &f), None, "{c}");
        }
    }
}
