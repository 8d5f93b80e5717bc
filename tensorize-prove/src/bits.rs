//! Comparisons of machine integers: the solver is told that on their values and on their bits they are the same.

use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Atom, Idx};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// The comparison of one machine integer with a number as one of bits, as other code makes it: `in[i] >> 4 >= 8`.
pub fn on_bits(op: CmpOp, a: &Idx, b: &Idx) -> Option<ElemRef> {
    let difference = a - b;
    let mut terms = difference.terms().filter(|(m, _)| !m.is_empty());
    let (Some(([Atom::Value(e)], sign @ (1 | -1))), None) = (terms.next(), terms.next()) else {
        return None;
    };
    let rest = &difference - &(&Idx::value(e.clone()) * &Idx::constant(sign));
    let (number, ty) = (-sign * rest.as_constant()?, e.ty());
    if number < ty.min_value() || number > ty.max_value() {
        return None;
    }
    let number = Elem::constant(Scalar::int(ty, number));
    Some(match sign {
        1 => Elem::compare(op, e.clone(), number),
        _ => Elem::compare(op, number, e.clone()),
    })
}

/// Further than this from zero, no counter is looked at as bits.
const FAR: i128 = 1 << 60;

/// A comparison of a sum of machine integers as one in 64 bits, and the counters and sizes in it. Where those are no further
/// than [`FAR`] from zero nothing wraps, and both are the same: `row % 3 + 3 * x[i] < 4`.
pub fn sum_on_bits(op: CmpOp, a: &Idx, b: &Idx) -> Option<(ElemRef, Idx)> {
    const FACTOR: i128 = 1 << 20;
    let (mut values, mut counters, mut number) = (Vec::new(), Idx::default(), 0);
    for (m, c) in (a - b).terms() {
        match m {
            [] => number = c,
            [Atom::Value(e)] => values.push((e.clone(), c)),
            _ => {
                let term = Idx::constant(c);
                let atoms = m.iter().cloned().map(Idx::atom);
                counters = &counters + &atoms.fold(term, |all, a| &all * &a);
            }
        }
    }
    let small = |(e, c): &(ElemRef, i128)| {
        e.ty().is_int() && e.ty() != ScalarType::I1 && e.ty().bits() <= 32 && c.abs() <= FACTOR
    };
    let told = !values.is_empty()
        && values.len() <= 8
        && values.iter().all(small)
        && number.abs() <= FAR
        && !counters.has_values();
    if !told {
        return None;
    }
    let int = |v: i128| Elem::constant(Scalar::int(ScalarType::I64, v));
    let mut sum = Elem::of_idx(ScalarType::I64, counters.clone());
    for (e, c) in values {
        let wide = Elem::convert(ScalarType::I64, e);
        let scaled = match c {
            1 => wide,
            _ => Elem::binary(BinOp::Multiply, wide, int(c)),
        };
        sum = Elem::binary(BinOp::Add, sum, scaled);
    }
    Some((Elem::compare(op, sum, int(-number)), counters))
}

/// That counters are no further than [`FAR`] from zero, on integers and on bits.
pub fn near_zero(counters: &Idx) -> [(ElemRef, ElemRef); 2] {
    [(CmpOp::Ge, -FAR), (CmpOp::Le, FAR)].map(|(op, end)| {
        let bits = Elem::of_idx(ScalarType::I64, counters.clone());
        let number = Elem::constant(Scalar::int(ScalarType::I64, end));
        let on_integers = Elem::index_compare(op, counters.clone(), Idx::constant(end));
        (on_integers, Elem::compare(op, bits, number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorize_ir::op::{eval_binary, eval_compare, eval_convert};

    /// Whatever stands in memory, the comparison of bits says what the one of values does.
    #[test]
    fn both_say_the_same_of_every_byte() {
        for ty in [ScalarType::I8, ScalarType::U8] {
            let read = Elem::read("x", ty, Idx::default());
            let value = Idx::value(read.clone());
            for op in [
                CmpOp::Eq,
                CmpOp::Ne,
                CmpOp::Lt,
                CmpOp::Le,
                CmpOp::Gt,
                CmpOp::Ge,
            ] {
                for number in ty.min_value()..=ty.max_value() {
                    let number = Idx::constant(number);
                    let sides = [
                        (value.clone(), number.clone()),
                        (number.clone(), value.clone()),
                        (&value - &number, Idx::default()),
                        (Idx::default(), &value - &number),
                    ];
                    for (a, b) in sides {
                        let told = on_bits(op, &a, &b).expect("a byte and a number");
                        let Elem::Compare(op_of_bits, left, right) = &*told else {
                            panic!("{told} compares nothing");
                        };
                        for x in ty.min_value()..=ty.max_value() {
                            let of = |e: &ElemRef| match &**e {
                                Elem::Const(v) => *v,
                                _ => Scalar::int(ty, x),
                            };
                            let at = |i: &Idx| {
                                let of_x = i.map_atoms(&mut |_| Some(Idx::constant(x)));
                                of_x.as_constant().expect("a number")
                            };
                            let (a, b) = (at(&a), at(&b));
                            let expected = match op {
                                CmpOp::Eq => a == b,
                                CmpOp::Ne => a != b,
                                CmpOp::Lt => a < b,
                                CmpOp::Le => a <= b,
                                CmpOp::Gt => a > b,
                                CmpOp::Ge => a >= b,
                            };
                            let found = eval_compare(*op_of_bits, of(left), of(right));
                            assert_eq!(found, expected, "{op:?} {a} {b}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_no_bits_can_hold_or_two_integers_make_is_left_alone() {
        let read = |name: &str| Idx::value(Elem::read(name, ScalarType::U8, Idx::default()));
        let (x, y) = (read("x"), read("y"));
        assert_eq!(on_bits(CmpOp::Lt, &x, &Idx::constant(256)), None);
        assert_eq!(on_bits(CmpOp::Lt, &x, &Idx::constant(-1)), None);
        assert_eq!(on_bits(CmpOp::Lt, &x, &y), None);
        assert_eq!(on_bits(CmpOp::Lt, &(&x + &x), &Idx::constant(4)), None);
        assert_eq!(
            on_bits(CmpOp::Lt, &(&x + &Idx::sym("n")), &Idx::constant(4)),
            None
        );
    }

    /// Of sums, the one in 64 bits says the same.
    #[test]
    fn sums_of_bytes_say_the_same_in_64_bits() {
        let (x, i) = (
            Elem::read("x", ScalarType::I8, Idx::default()),
            Idx::sym("i"),
        );
        let sum = &(&Idx::value(x.clone()) * &Idx::constant(-3)) + &i;
        fn at(e: &ElemRef, x: i128, i: i128) -> Scalar {
            match &**e {
                Elem::Const(v) => *v,
                Elem::OfIdx(ty, _) => Scalar::int(*ty, i),
                Elem::Convert(to, _) => eval_convert(*to, Scalar::int(ScalarType::I8, x)),
                Elem::Binary(op, a, b) => eval_binary(*op, at(a, x, i), at(b, x, i)),
                _ => panic!("{e} is no sum"),
            }
        }
        for (op, number) in [(CmpOp::Lt, 4), (CmpOp::Ge, -300), (CmpOp::Eq, 9)] {
            let (told, counters) = sum_on_bits(op, &sum, &Idx::constant(number)).unwrap();
            assert_eq!(counters, i);
            let Elem::Compare(op_of_bits, left, right) = &*told else {
                panic!("{told} compares nothing");
            };
            for x in -128..128 {
                for i in [-FAR, -5, 0, 9, FAR] {
                    let d = -3 * x + i - number;
                    let expected = match op {
                        CmpOp::Lt => d < 0,
                        CmpOp::Ge => d >= 0,
                        _ => d == 0,
                    };
                    let found = eval_compare(*op_of_bits, at(left, x, i), at(right, x, i));
                    assert_eq!(found, expected, "{op:?} {x} {i}");
                }
            }
        }
    }

    #[test]
    fn sums_that_may_wrap_are_left_alone() {
        let value = |ty| Idx::value(Elem::read("x", ty, Idx::default()));
        let told = |p: &Idx| sum_on_bits(CmpOp::Lt, p, &Idx::constant(4)).is_some();
        let byte = value(ScalarType::U8);
        assert!(told(&(&byte * &Idx::constant(1 << 20))));
        assert!(!told(&(&byte * &Idx::constant((1 << 20) + 1))));
        assert!(!told(&(&value(ScalarType::U64) + &byte)));
        assert!(!told(&(&byte + &Idx::constant(2 * FAR))));
        assert!(!told(&(&byte * &Idx::sym("n"))));
        assert!(!told(&(&byte * &value(ScalarType::I8))));
        assert!(!told(&Idx::sym("n")));
    }
}
