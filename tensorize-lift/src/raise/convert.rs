//! Equations about conversions: those that lose nothing go, and arithmetic between two is done in the
//! narrow type.

use super::lang::{Graph, Term, add_splat};
use super::reduction::{skips, widens};
use super::structure::{add, forms, ty, unspread};
use egg::Id;
use tensorize_ir::op::{self, BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Op, TensorType};

/// Converting before repeating is less work.
pub(super) fn convert_of_broadcast(graph: &mut Graph, term: &Term) -> Vec<Id> {
    if term.op != Op::Convert {
        return vec![];
    }
    let (from, to) = (ty(graph, term.args[0]), result(graph, term));
    let (x, dimensions) = unspread(graph, term.args[0]);
    if dimensions.len() == from.rank() {
        return vec![];
    }
    let small = ty(graph, x);
    let converted = add(graph, Op::Convert, vec![x], &small.with_elem(to.elem));
    vec![add(
        graph,
        Op::BroadcastInDim { dimensions },
        vec![converted],
        &to,
    )]
}

/// The type of a conversion.
fn result(graph: &Graph, term: &Term) -> TensorType {
    let from = ty(graph, term.args[0]);
    match &term.ty {
        super::lang::Carried::Elem(elem) => from.with_elem(*elem),
        _ => (*from).clone(),
    }
}

/// Operands of conversions in the class.
fn converted(graph: &Graph, id: Id) -> Vec<Id> {
    forms(graph, id, |t| (t.op == Op::Convert).then(|| t.args[0]))
}

/// `(a)(b)x` is `(a)x` where `b` loses nothing that `a` keeps; `(a)x` of type `a` is `x`.
pub(super) fn convert_of_convert(graph: &mut Graph, term: &Term) -> Vec<Id> {
    if term.op != Op::Convert {
        return vec![];
    }
    let to = result(graph, term);
    let mid = ty(graph, term.args[0]).elem;
    if mid == to.elem {
        return vec![term.args[0]];
    }
    let mut equal = vec![];
    for x in converted(graph, term.args[0]) {
        if skips(ty(graph, x).elem, mid, to.elem) {
            equal.push(if ty(graph, x).elem == to.elem {
                x
            } else {
                add(graph, Op::Convert, vec![x], &to)
            });
        }
    }
    equal
}

/// `(int)p != 0` is `p`, and `(int)p == 0` is `!p`.
pub(super) fn truth_of_truth(graph: &mut Graph, term: &Term) -> Vec<Id> {
    let Op::Compare(cmp @ (CmpOp::Ne | CmpOp::Eq)) = term.op else {
        return vec![];
    };
    let zero = |v: Scalar| v == Scalar::int(v.ty, 0);
    if !graph[term.args[1]].data.splat.is_some_and(zero) {
        return vec![];
    }
    let truths = converted(graph, term.args[0]).into_iter();
    let truths: Vec<Id> = truths
        .filter(|&x| ty(graph, x).elem == ScalarType::I1)
        .collect();
    let each = |x: Id| match cmp {
        CmpOp::Ne => x,
        _ => {
            let ty = ty(graph, x);
            add(graph, Op::Unary(UnOp::Not), vec![x], &ty)
        }
    };
    truths.into_iter().map(each).collect()
}

/// The narrow operand of a widening, also under a broadcast, or a literal that fits.
fn narrow(graph: &mut Graph, id: Id, to: ScalarType) -> Option<Id> {
    let wide = ty(graph, id);
    if let Some(x) = converted(graph, id)
        .into_iter()
        .find(|&x| ty(graph, x).elem == to)
    {
        return Some(x);
    }
    if let Some(v) = graph[id].data.splat {
        let small = op::eval_convert(to, v);
        let same = wide.elem.is_int() && to.is_int() && op::eval_convert(wide.elem, small) == v;
        return same.then(|| add_splat(graph, small, &wide.with_elem(to)));
    }
    let (x, dimensions) = unspread(graph, id);
    if dimensions.len() == wide.rank() {
        return None;
    }
    let x = converted(graph, x)
        .into_iter()
        .find(|&x| ty(graph, x).elem == to)?;
    Some(add(
        graph,
        Op::BroadcastInDim { dimensions },
        vec![x],
        &wide.with_elem(to),
    ))
}

/// The types from which operands of the class are widened, also under a broadcast.
fn sources(graph: &Graph, ids: &[Id]) -> Vec<ScalarType> {
    let mut found = vec![];
    for &id in ids {
        for id in [id, unspread(graph, id).0] {
            let wide = ty(graph, id).elem;
            for x in converted(graph, id) {
                let from = ty(graph, x).elem;
                if widens(from, wide) && !found.contains(&from) {
                    found.push(from);
                }
            }
        }
    }
    found
}

/// Values that were widened from one type compare as they did before.
pub(super) fn narrow_compare(graph: &mut Graph, term: &Term) -> Vec<Id> {
    if !matches!(term.op, Op::Compare(_)) {
        return vec![];
    }
    let mut equal = vec![];
    for from in sources(graph, &term.args) {
        if from == ScalarType::I1 {
            continue;
        }
        let a = narrow(graph, term.args[0], from);
        let b = narrow(graph, term.args[1], from);
        if let (Some(a), Some(b)) = (a, b) {
            equal.push(graph.add(Term {
                args: vec![a, b],
                ..term.clone()
            }));
        }
    }
    equal
}

/// `(uint8_t)((int)a + (int)b)` is `a + b` in eight bits. Where one operand stays wide, nothing is won.
pub(super) fn narrow_arithmetic(graph: &mut Graph, term: &Term) -> Vec<Id> {
    use BinOp::*;
    if term.op != Op::Convert {
        return vec![];
    }
    let to = result(graph, term);
    let wide = ty(graph, term.args[0]).elem;
    if to.elem == ScalarType::I1 || !widens(to.elem, wide) {
        return vec![];
    }
    let terms = forms(graph, term.args[0], |t| match t.op {
        // Both sides of an extremum and of a choice are values of the narrow type already.
        Op::Binary(Maximum | Minimum) | Op::Select => Some(t.clone()),
        Op::Binary(Add | Subtract | Multiply | And | Or | Xor) if to.elem.is_int() => {
            Some(t.clone())
        }
        _ => None,
    });
    let mut equal = vec![];
    for t in terms {
        let values = if t.op == Op::Select { 1 } else { 0 };
        let mut args = t.args[..values].to_vec();
        args.extend(
            t.args[values..]
                .iter()
                .filter_map(|&a| narrow(graph, a, to.elem)),
        );
        if args.len() == t.args.len() {
            equal.push(graph.add(Term { args, ..t }));
        }
    }
    equal
}
