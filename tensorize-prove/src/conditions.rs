//! Conditions on indices: what other conditions say of them, and how the solver is told.

use crate::canon;
use crate::context::Context;
use crate::eval::as_idx;
use crate::smt::Encoder;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::Idx;
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::scalar::ScalarType;

/// What a condition of a kernel says of indices if it holds: the parts of a conjunction that do, comparisons of integers in
/// memory as what they are, ones of mathematical integers. (An index that a kernel makes a machine integer has not wrapped.)
pub fn said_of_indices(e: &ElemRef, out: &mut Vec<ElemRef>) {
    said(e, &mut |e| Some(as_idx(e)), out);
}

/// The same of any condition: a summary or a closed form may compare what has wrapped to its type, of which as a number
/// nothing is said.
pub(crate) fn said_of_numbers(ctx: &mut Context, e: &ElemRef, out: &mut Vec<ElemRef>) {
    said(e, &mut |e| ctx.number(e), out);
}

fn said(e: &ElemRef, number: &mut dyn FnMut(&ElemRef) -> Option<Idx>, out: &mut Vec<ElemRef>) {
    let is = |e: &ElemRef, truth: bool| matches!(&**e, Elem::Const(v) if v.is_true() == truth);
    match &**e {
        _ if is_index_condition(e) => out.push(canon::elem(e)),
        Elem::Binary(BinOp::And, a, b) => {
            said(a, number, out);
            said(b, number, out);
        }
        Elem::Select(c, t, f) if is(f, false) => {
            said(c, number, out);
            said(t, number, out);
        }
        // `!(a || b)`
        Elem::Select(c, t, f) if is(t, false) => {
            said(&Elem::not(c.clone()), number, out);
            said(f, number, out);
        }
        Elem::Compare(..) => out.extend(compared(e, number).map(|c| canon::elem(&c))),
        Elem::Unary(UnOp::Not, inner) => match &**inner {
            Elem::Compare(..) => {
                let compared = compared(inner, number);
                out.extend(compared.map(|c| canon::elem(&Elem::not(c))));
            }
            Elem::Select(c, t, f) if is(t, true) => {
                let parts = [c, f].map(|x| Elem::not(x.clone()));
                parts.iter().for_each(|x| said(x, number, out));
            }
            _ => {}
        },
        _ => {}
    }
}

/// A comparison of machine integers as one of numbers.
fn compared(e: &Elem, number: &mut dyn FnMut(&ElemRef) -> Option<Idx>) -> Option<ElemRef> {
    let Elem::Compare(op, a, b) = e else {
        return None;
    };
    let integers = a.ty().is_int() && a.ty() != ScalarType::I1;
    let (a, b) = (number(a).filter(|_| integers)?, number(b)?);
    Some(Elem::index_compare(*op, a, b))
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
