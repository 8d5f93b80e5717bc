//! Floats that become integers, where they fit: C leaves undefined what becomes of those that don't.

use super::cases::number;
use super::corpus::{self, Item};
use super::{Random, call};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Op;

/// Each float type to each integer type. `_Bool`, which takes any float, is among the operators.
pub fn all() -> Vec<Item> {
    let floats = ScalarType::ALL.into_iter().filter(|ty| ty.is_float());
    let pairs = floats.flat_map(|from| {
        let ints = ScalarType::ALL.into_iter().filter(|ty| ty.is_int());
        let ints = ints.filter(|ty| *ty != ScalarType::I1);
        ints.map(move |to| (from, to))
    });
    pairs.map(|(from, to)| item(from, to)).collect()
}

fn item(from: ScalarType, to: ScalarType) -> Item {
    let text = format!(
        "func @one(n: i32, a: const ptr<{from}>, out: ptr<{to}>) {{\n  %a = view a[#0] : tensor<n x {from}>\n  \
         %r = convert %a : tensor<n x {to}>\n  store out[#0] = %r\n}}"
    );
    let function = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let values = fitting(from, to);
    let sizes = [("n", values.len() as i128)];
    let mut inputs = call(&function, &sizes, &mut Random(13), true);
    inputs.arrays.get_mut("a").expect("an operand").data = values;
    let shown = corpus::shown(&(Op::Convert, from, to));
    Item::new(shown, function, vec![inputs])
}

/// Both zeros, halves, what lies between an integer and the next, the range's ends and just inside of them, and others all
/// over the range. Whatever truncates to an integer of the type fits, so that -0.9 is an unsigned 0.
fn fitting(from: ScalarType, to: ScalarType) -> Vec<Scalar> {
    let (least, most) = (to.min_value() as f64, to.max_value() as f64);
    let mut values: Vec<f64> = (-12..=12).map(|i| f64::from(i) / 2.0).collect();
    values.extend([-0.0, 0.1, -0.1, 0.999, -0.999, 99.9, -99.9, 1e-40]);
    for end in [least, least - 1.0, most, most + 1.0] {
        values.extend([end, end - 0.5, end + 0.5]);
        // The neighbours, as the float type has them.
        match from {
            ScalarType::F32 => {
                let end = end as f32;
                values.extend([end.next_down(), end.next_up()].map(f64::from));
            }
            _ => values.extend([end.next_down(), end.next_up()]),
        }
    }
    let mut random = Random(13);
    values.extend((0..200).map(|i| {
        let part = random.next() as f64 / 2f64.powi(64);
        let largest = most / 2f64.powi(i % 64);
        if to.is_signed() && i % 2 == 0 {
            -part * largest
        } else {
            part * largest
        }
    }));
    let fits = |v: &Scalar| {
        let whole = v.as_f64().trunc() as i128;
        (to.min_value()..=to.max_value()).contains(&whole)
    };
    let values = values.into_iter().map(|v| number(from, v));
    values.filter(fits).collect()
}
