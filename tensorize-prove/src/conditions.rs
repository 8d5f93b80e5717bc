//! Conditions on indices: what other conditions say of them, and how the solver is told.

use crate::canon;
use crate::eval::as_idx;
use crate::smt::Encoder;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::Idx;
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::scalar::ScalarType;

/// What a condition of a kernel says of indices if it holds: the parts of a conjunction that do, comparisons of integers in
/// memory as what they are, ones of mathematical integers.
pub fn said_of_indices(e: &ElemRef, out: &mut Vec<ElemRef>) {
    said_of_numbers(e, &mut |_, _| true, out);
}

/// The same of any condition. A summary may compare what has wrapped to its type: nothing is said of that as a number unless
/// it `fits`.
pub(crate) fn said_of_numbers(
    e: &ElemRef,
    fits: &mut dyn FnMut(ScalarType, &Idx) -> bool,
    out: &mut Vec<ElemRef>,
) {
    let is = |e: &ElemRef, truth: bool| matches!(&**e, Elem::Const(v) if v.is_true() == truth);
    match &**e {
        _ if is_index_condition(e) => out.push(canon::elem(e)),
        Elem::Binary(BinOp::And, a, b) => {
            [a, b]
                .into_iter()
                .for_each(|x| said_of_numbers(x, fits, out));
        }
        Elem::Select(c, t, f) if is(f, false) => {
            [c, t]
                .into_iter()
                .for_each(|x| said_of_numbers(x, fits, out));
        }
        // `!(a || b)`
        Elem::Select(c, t, f) if is(t, false) => {
            said_of_numbers(&Elem::not(c.clone()), fits, out);
            said_of_numbers(f, fits, out);
        }
        Elem::Compare(op, a, b) => {
            let compared = number(a, fits).zip(number(b, fits));
            out.extend(compared.map(|(a, b)| canon::elem(&Elem::index_compare(*op, a, b))));
        }
        Elem::Unary(UnOp::Not, inner) => match &**inner {
            Elem::Compare(op, a, b) => {
                let compared = number(a, fits).zip(number(b, fits));
                let not = compared.map(|(a, b)| Elem::not(Elem::index_compare(*op, a, b)));
                out.extend(not.map(|c| canon::elem(&c)));
            }
            Elem::Select(c, t, f) if is(t, true) => {
                let parts = [c, f].map(|x| Elem::not(x.clone()));
                parts.iter().for_each(|x| said_of_numbers(x, fits, out));
            }
            _ => {}
        },
        _ => {}
    }
}

/// The integer that a term is.
fn number(e: &ElemRef, fits: &mut dyn FnMut(ScalarType, &Idx) -> bool) -> Option<Idx> {
    match &**e {
        _ if !e.ty().is_int() || e.ty() == ScalarType::I1 => None,
        Elem::Convert(to, inner) if inner.ty().fits_in(*to) => number(inner, fits),
        Elem::OfIdx(ty, p) if !fits(*ty, p) => None,
        _ => Some(as_idx(e)),
    }
}

/// Whether a truth value is made of comparisons of indices alone.
pub fn is_index_condition(e: &ElemRef) -> bool {
    match &**e {
        Elem::Const(_) | Elem::IndexCompare(..) => true,
        Elem::Unary(UnOp::Not, a) => is_index_condition(a),
        Elem::Select(c, t, f) => [c, t, f].into_iter().all(is_index_condition),
        Elem::Binary(_, a, b) => {
            e.ty() == ScalarType::I1 && is_index_condition(a) && is_index_condition(b)
        }
        _ => false,
    }
}

/// A condition on indices as a formula.
pub fn encode_condition(encoder: &mut Encoder, e: &ElemRef) -> String {
    match &**e {
        Elem::Const(v) => v.is_true().to_string(),
        Elem::IndexCompare(op, a, b) => encoder.compare(*op, a, b),
        Elem::Unary(_, a) => format!("(not {})", encode_condition(encoder, a)),
        Elem::Select(c, t, f) => {
            let [c, t, f] = [c, t, f].map(|x| encode_condition(encoder, x));
            format!("(ite {c} {t} {f})")
        }
        Elem::Binary(op, a, b) => {
            let (a, b) = (encode_condition(encoder, a), encode_condition(encoder, b));
            match op {
                BinOp::Or => format!("(or {a} {b})"),
                BinOp::Xor => format!("(xor {a} {b})"),
                _ => format!("(and {a} {b})"),
            }
        }
        // Not reached: `is_index_condition` lets nothing else through.
        _ => "false".into(),
    }
}
