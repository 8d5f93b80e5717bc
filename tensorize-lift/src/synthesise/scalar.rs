//! Bit tricks as what they compute: `(x ^ (x >> 31)) - (x >> 31)` is `abs(x)`.
//!
//! There is no rule for any trick. Of an integer expression with bit operations, the values on random and edge
//! operands are taken (where C defines them), small expressions of the operands are enumerated, and the first one
//! with these values is proposed. The prover decides, over bit-vectors.

use super::bank::{Bank, Entry, Grammar};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::inputs::{Rng, edge_values};
use tensorize_ir::op::{self, BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// On how many operands an expression is tried.
const POINTS: usize = 96;
/// Expressions of more operands are left alone.
const MAX_OPERANDS: usize = 3;
/// A trick has as many bit operations at least.
const FEWEST_NODES: usize = 3;
/// Nor more than this: every part of a long expression is looked at.
const MOST_NODES: usize = 64;

/// The expression with bit tricks replaced by what they seem to compute.
pub fn plainer(e: &ElemRef) -> ElemRef {
    let tried: RefCell<BTreeMap<ElemRef, Option<ElemRef>>> = RefCell::default();
    e.map(&mut |x| {
        if !is_trick(x) {
            return None;
        }
        let known = tried.borrow().get(x).cloned();
        known.unwrap_or_else(|| {
            let found = meaning(x);
            tried.borrow_mut().insert(x.clone(), found.clone());
            found
        })
    })
}

fn is_bitwise(op: BinOp) -> bool {
    use BinOp::{And, Or, ShiftRightArithmetic, ShiftRightLogical, Xor};
    matches!(
        op,
        And | Or | Xor | ShiftRightArithmetic | ShiftRightLogical
    )
}

/// Integer arithmetic all the way to the operands, with bit operations in it.
fn is_trick(e: &ElemRef) -> bool {
    let ty = e.ty();
    if !ty.is_int() || ty == ScalarType::I1 || !matches!(&**e, Elem::Binary(..)) {
        return false;
    }
    let (mut bitwise, mut nodes, mut masks) = (0, 0, false);
    let small = inner(e, &mut |x| {
        nodes += 1;
        bitwise += usize::from(matches!(&**x, Elem::Binary(op, ..) if is_bitwise(*op)));
        masks |= is_mask(x);
        nodes < MOST_NODES
    });
    small && bitwise > 0 && masks && nodes >= FEWEST_NODES
}

/// What decides between two values: a sign that is copied to all bits, or a comparison used as a number.
fn is_mask(e: &ElemRef) -> bool {
    use BinOp::{ShiftRightArithmetic, ShiftRightLogical};
    match &**e {
        Elem::Binary(ShiftRightArithmetic | ShiftRightLogical, a, n) => {
            matches!(&**n, Elem::Const(n) if n.as_int() == i128::from(a.ty().bits()) - 1)
        }
        Elem::Convert(_, a) => a.ty() == ScalarType::I1,
        _ => false,
    }
}

/// Whether a node is computed here, from integers; anything else is an operand.
fn is_inner(e: &ElemRef) -> bool {
    match &**e {
        Elem::Binary(_, a, _) | Elem::Unary(_, a) | Elem::Compare(_, a, _) => a.ty().is_int(),
        Elem::Convert(to, a) => to.is_int() && a.ty().is_int(),
        Elem::Select(c, t, _) => t.ty().is_int() && is_inner(c),
        _ => false,
    }
}

/// Calls `f` for every node that is computed here, until it says no.
fn inner(e: &ElemRef, f: &mut dyn FnMut(&ElemRef) -> bool) -> bool {
    !is_inner(e) || (f(e) && e.children().into_iter().all(|c| inner(c, f)))
}

fn operands(e: &ElemRef, out: &mut Vec<ElemRef>) {
    match &**e {
        Elem::Const(_) => {}
        _ if is_inner(e) => e.children().into_iter().for_each(|c| operands(c, out)),
        _ if !out.contains(e) => out.push(e.clone()),
        _ => {}
    }
}

/// The value for these operands; `None` where C leaves it undefined.
fn value(e: &ElemRef, operands: &[ElemRef], values: &[Scalar]) -> Option<Scalar> {
    if let Some(i) = operands.iter().position(|o| o == e) {
        return Some(values[i]);
    }
    let of = |e: &ElemRef| value(e, operands, values);
    Some(match &**e {
        Elem::Const(v) => *v,
        Elem::Unary(op, a) => {
            let a = of(a)?;
            if op::unary_undefined(*op, a).is_some() {
                return None;
            }
            op::eval_unary(*op, a)
        }
        Elem::Binary(op, a, b) => {
            let (a, b) = (of(a)?, of(b)?);
            if op::binary_undefined(*op, a, b).is_some() {
                return None;
            }
            op::eval_binary(*op, a, b)
        }
        Elem::Compare(op, a, b) => Scalar::bool(op::eval_compare(*op, of(a)?, of(b)?)),
        Elem::Convert(to, a) => op::eval_convert(*to, of(a)?),
        Elem::Select(c, t, f) => {
            if of(c)?.is_true() {
                of(t)?
            } else {
                of(f)?
            }
        }
        _ => return None,
    })
}

/// A smaller expression without bit operations that has the same values.
fn meaning(e: &ElemRef) -> Option<ElemRef> {
    let mut names = Vec::new();
    operands(e, &mut names);
    if names.is_empty() || names.len() > MAX_OPERANDS {
        return None;
    }
    let mut rng = Rng::new(3);
    let mut points: Vec<Vec<Scalar>> = Vec::new();
    let mut wanted = Vec::new();
    for _ in 0..POINTS * 4 {
        let at: Vec<Scalar> = names.iter().map(|n| operand(n.ty(), &mut rng)).collect();
        if let Some(v) = value(e, &names, &at) {
            points.push(at);
            wanted.push(v);
        }
        if points.len() == POINTS {
            break;
        }
    }
    if points.len() < POINTS / 2 {
        return None;
    }
    let eval = |x: &ElemRef| -> Option<Vec<Scalar>> {
        points.iter().map(|at| total(x, &names, at)).collect()
    };
    let everywhere = vec![true; points.len()];
    let mut bank = Bank::new(&eval, &everywhere);
    let mut found: Option<ElemRef> = None;
    let mut check = |x: &Entry| {
        if x.expr.ty() == e.ty() && x.values == wanted {
            found = Some(x.expr.clone());
        }
        found.is_some()
    };
    for leaf in leaves(e, &names) {
        if bank.leaf(leaf, 1).is_some_and(&mut check) {
            break;
        }
    }
    if !bank
        .entries()
        .iter()
        .any(|x| x.values == wanted && x.expr.ty() == e.ty())
    {
        let grammar = Grammar {
            unary: vec![UnOp::Abs, UnOp::Negate],
            binary: vec![BinOp::Maximum, BinOp::Minimum, BinOp::Add, BinOp::Subtract],
            max_size: 5,
            max_entries: 8000,
        };
        bank.enumerate(&grammar, &mut check);
    }
    found
}

fn operand(ty: ScalarType, rng: &mut Rng) -> Scalar {
    match rng.below(4) {
        0 => *rng.pick(&edge_values(ty)),
        1 | 2 => Scalar::int(ty, i128::from(rng.below(41)) - 20),
        _ => Scalar {
            ty,
            bits: rng.bits() >> (64 - ty.bits()),
        },
    }
}

/// Like [`value`], but with a value everywhere, as in TensIR.
fn total(e: &ElemRef, operands: &[ElemRef], values: &[Scalar]) -> Option<Scalar> {
    if let Some(i) = operands.iter().position(|o| o == e) {
        return Some(values[i]);
    }
    let of = |e: &ElemRef| total(e, operands, values);
    Some(match &**e {
        Elem::Const(v) => *v,
        Elem::Unary(op, a) => op::eval_unary(*op, of(a)?),
        Elem::Binary(op, a, b) => op::eval_binary(*op, of(a)?, of(b)?),
        Elem::Compare(op, a, b) => Scalar::bool(op::eval_compare(*op, of(a)?, of(b)?)),
        Elem::Convert(to, a) => op::eval_convert(*to, of(a)?),
        Elem::Select(c, t, f) => of(if of(c)?.is_true() { t } else { f })?,
        _ => return None,
    })
}

/// What expressions start from: operands (in the type that is computed in), small constants and those that occur,
/// signs, and choices between them by the comparisons that occur.
fn leaves(e: &ElemRef, names: &[ElemRef]) -> Vec<ElemRef> {
    let ty = e.ty();
    let number = |v: i128| Elem::constant(Scalar::int(ty, v));
    let mut values: Vec<ElemRef> = Vec::new();
    let push = |list: &mut Vec<ElemRef>, x: ElemRef| {
        if !list.contains(&x) {
            list.push(x);
        }
    };
    for n in names.iter().filter(|n| n.ty().is_int()) {
        let n = if n.ty() == ScalarType::I1 {
            continue;
        } else {
            Elem::convert(ty, n.clone())
        };
        push(&mut values, n);
    }
    let mut conditions: Vec<ElemRef> = Vec::new();
    inner(e, &mut |x| {
        for c in x.children() {
            match &**c {
                Elem::Compare(..) => push(&mut conditions, c.clone()),
                Elem::Const(v) if v.ty == ty => push(&mut values, c.clone()),
                _ => {}
            }
        }
        true
    });
    for n in names.iter().filter(|n| n.ty() == ScalarType::I1) {
        push(&mut conditions, n.clone());
    }
    for c in [0, 1, -1] {
        push(&mut values, number(c));
    }
    let mut out = values.clone();
    let truth =
        |op, a: &ElemRef, b: &ElemRef| Elem::convert(ty, Elem::compare(op, a.clone(), b.clone()));
    let variables: Vec<ElemRef> = values
        .iter()
        .filter(|v| !matches!(&***v, Elem::Const(_)))
        .cloned()
        .collect();
    for v in &variables {
        let (above, below) = (
            truth(CmpOp::Gt, v, &number(0)),
            truth(CmpOp::Lt, v, &number(0)),
        );
        out.extend([
            Elem::binary(BinOp::Subtract, above.clone(), below.clone()),
            above,
            below,
        ]);
        for w in variables.iter().filter(|w| *w != v) {
            out.push(truth(CmpOp::Lt, v, w));
        }
    }
    for c in &conditions {
        let mut branches = values.clone();
        branches.extend(
            variables
                .iter()
                .map(|v| Elem::unary(UnOp::Negate, v.clone())),
        );
        for t in &branches {
            for f in branches.iter().filter(|f| *f != t) {
                out.push(Arc::new(Elem::Select(c.clone(), t.clone(), f.clone())));
            }
        }
    }
    out
}
