//! Comparisons of machine integers: the solver is told that on their values and on their bits they are the same.

use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Atom, Idx};
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::Scalar;

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

#[cfg(test)]
mod tests {
    use super::*;
    use tensorize_ir::op::eval_compare;
    use tensorize_ir::scalar::ScalarType;

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
}
