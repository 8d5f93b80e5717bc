//! Conditions on indices: what other conditions say of them, and how the solver is told.

use crate::canon;
use crate::eval::as_idx;
use crate::smt::Encoder;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::scalar::ScalarType;

/// What a condition says of indices if it holds: the parts of a conjunction that do, comparisons of integers in memory
/// as what they are, ones of mathematical integers.
pub fn said_of_indices(e: &ElemRef, out: &mut Vec<ElemRef>) {
    let is = |e: &ElemRef, truth: bool| matches!(&**e, Elem::Const(v) if v.is_true() == truth);
    let are_integers = |a: &ElemRef| a.ty().is_int() && a.ty() != ScalarType::I1;
    match &**e {
        _ if is_index_condition(e) => out.push(canon::elem(e)),
        Elem::Binary(BinOp::And, a, b) => [a, b].into_iter().for_each(|x| said_of_indices(x, out)),
        Elem::Select(c, t, f) if is(f, false) => {
            [c, t].into_iter().for_each(|x| said_of_indices(x, out));
        }
        // `!(a || b)`
        Elem::Select(c, t, f) if is(t, false) => {
            said_of_indices(&Elem::not(c.clone()), out);
            said_of_indices(f, out);
        }
        Elem::Compare(op, a, b) if are_integers(a) => {
            out.push(canon::elem(&Elem::index_compare(*op, as_idx(a), as_idx(b))));
        }
        Elem::Unary(UnOp::Not, inner) => match &**inner {
            Elem::Compare(op, a, b) if are_integers(a) => {
                let holds = Elem::index_compare(*op, as_idx(a), as_idx(b));
                out.push(canon::elem(&Elem::not(holds)));
            }
            Elem::Select(c, t, f) if is(t, true) => {
                let parts = [c, f].map(|x| Elem::not(x.clone()));
                parts.iter().for_each(|x| said_of_indices(x, out));
            }
            _ => {}
        },
        _ => {}
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
