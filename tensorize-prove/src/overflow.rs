//! Signed arithmetic that the original is known to have done without overflow.
//!
//! C leaves signed overflow undefined, and the original has no undefined behaviour on the inputs at hand.
//! So of every signed sum, difference or product that it computes it is known that the result fits its type.
//! `a - ((a - b) & ((a - b) >> 31))` is the larger of two only because of that. What was computed is recorded
//! with the loops and conditions around it, and counts for an expression only if that is the very operation, on
//! the very operands, of a round that is shown to run.

use crate::canon;
use crate::chain::{and, truth};
use crate::context::Context;
use crate::decode;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// An operation of the original that does not overflow.
#[derive(Clone, Debug)]
pub struct Defined {
    /// The operation.
    pub value: ElemRef,
    /// The loops around it, outermost first: counter and trip count.
    pub loops: Vec<(Sym, Idx)>,
    /// The conditions under which it happens.
    pub path: Vec<ElemRef>,
}

/// Whether it is signed arithmetic of which more can be said if it does not overflow. (There is no type to
/// say it in for 64 bits.)
pub fn may_overflow(e: &ElemRef) -> bool {
    use BinOp::{Add, Multiply, Subtract};
    let ty = e.ty();
    let small = ty.is_int() && ty.is_signed() && ty != ScalarType::I1 && ty.bits() < 64;
    small
        && matches!(
            &**e,
            Elem::Binary(Add | Subtract | Multiply, ..) | Elem::Unary(UnOp::Negate, _)
        )
}

/// Whether what is recorded of an operation can be used elsewhere: its operands are values of integers that
/// are known, not accumulators or floats.
pub fn is_usable(e: &ElemRef) -> bool {
    let mut ok = true;
    e.visit(&mut |x| ok &= !matches!(&**x, Elem::Acc(..) | Elem::Fold(_)) && !x.ty().is_float());
    ok
}

/// What is known of the arithmetic in these expressions.
pub fn facts(ctx: &mut Context, exprs: &[&ElemRef]) -> Vec<ElemRef> {
    if ctx.defined.is_empty() {
        return vec![];
    }
    let mut terms: Vec<ElemRef> = Vec::new();
    for e in exprs {
        collect(e, &mut terms);
    }
    let defined = ctx.defined.clone();
    let mut out = Vec::new();
    for t in terms {
        let path = defined.iter().find_map(|d| happens(ctx, d, &t));
        if let Some(path) = path {
            out.push(Elem::select(path, fits(&t), truth(true)));
        }
    }
    out
}

fn collect(e: &ElemRef, out: &mut Vec<ElemRef>) {
    if matches!(&**e, Elem::Fold(_)) {
        return;
    }
    if may_overflow(e) && !out.contains(e) {
        out.push(e.clone());
    }
    e.children().into_iter().for_each(|c| collect(c, out));
}

/// The condition under which the original computes `t` as this operation, if it does so in a round that runs.
fn happens(ctx: &mut Context, d: &Defined, t: &ElemRef) -> Option<ElemRef> {
    let pattern = canon::elem(&d.value);
    let target = canon::elem(t);
    let mut round: Vec<Option<Idx>> = vec![None; d.loops.len()];
    if !bind(ctx, &d.loops, &pattern, &target, &mut round) {
        return None;
    }
    let with = |s: &Sym| {
        let i = d.loops.iter().position(|(v, _)| v == s)?;
        // What the operation does not depend on may be any round, such as the first.
        Some(round[i].clone().unwrap_or_default())
    };
    if canon::elem(&pattern.substitute(&with)) != target {
        return None;
    }
    let runs = d.loops.iter().enumerate().all(|(i, (_, n))| {
        let at = round[i].clone().unwrap_or_default();
        ctx.is_non_negative(&at) && ctx.proves(CmpOp::Lt, &at, &n.substitute(&with))
    });
    runs.then(|| {
        let path = d.path.iter().map(|c| c.substitute(&with));
        path.fold(truth(true), and)
    })
}

/// Finds the rounds in which the places that are read are those of the target. A guess: what is found is
/// substituted and compared.
fn bind(
    ctx: &mut Context,
    loops: &[(Sym, Idx)],
    pattern: &ElemRef,
    target: &ElemRef,
    round: &mut Vec<Option<Idx>>,
) -> bool {
    if std::mem::discriminant(&**pattern) != std::mem::discriminant(&**target)
        || pattern.ty() != target.ty()
    {
        return false;
    }
    for (p, q) in pattern.indices().into_iter().zip(target.indices()) {
        let unknown: Vec<(Sym, Idx)> = loops
            .iter()
            .enumerate()
            .filter(|(i, (v, _))| round[*i].is_none() && p.mentions(v))
            .map(|(_, l)| l.clone())
            .collect();
        if unknown.is_empty() {
            continue;
        }
        // A counter of the same name, in the round at hand.
        if p == q {
            for (v, _) in &unknown {
                if let Some(i) = loops.iter().position(|(w, _)| w == v) {
                    round[i] = Some(Idx::sym(v.clone()));
                }
            }
            continue;
        }
        if unknown.iter().any(|(v, _)| q.mentions(v)) {
            return false;
        }
        let Some(found) = decode::decode(ctx, &unknown, p, q) else {
            return false;
        };
        for ((v, _), at) in unknown.iter().zip(found) {
            if let Some(i) = loops.iter().position(|(w, _)| w == v) {
                round[i] = Some(at);
            }
        }
    }
    let (x, y) = (pattern.children(), target.children());
    x.len() == y.len() && x.iter().zip(&y).all(|(p, q)| bind(ctx, loops, p, q, round))
}

/// The same operation in a wider type has the same value.
fn fits(e: &ElemRef) -> ElemRef {
    let wide = ScalarType::I64;
    let of = |e: &ElemRef| Elem::convert(wide, e.clone());
    match &**e {
        Elem::Binary(op, a, b) => Elem::compare(CmpOp::Eq, of(e), Elem::binary(*op, of(a), of(b))),
        Elem::Unary(_, a) => {
            let least = Elem::constant(Scalar::int(a.ty(), a.ty().min_value()));
            Elem::compare(CmpOp::Ne, a.clone(), least)
        }
        _ => truth(true),
    }
}
