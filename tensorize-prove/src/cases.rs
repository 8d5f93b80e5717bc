//! Telling cases apart by conditions on data, such as `a == 0`.

use crate::canon;
use crate::chain::{and, truth};
use crate::conditions::is_index_condition;
use crate::context::Context;
use crate::equal::same;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::Idx;
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::scalar::ScalarType;

/// More conditions than this are not told apart: each doubles the work.
pub(crate) const MOST: usize = 4;

/// Shows that `a` and `b` have the same value, case by case.
pub fn same_in_cases(ctx: &mut Context, a: &ElemRef, b: &ElemRef, tier: Tier) -> bool {
    let (a, b) = (canon::elem(a), canon::elem(b));
    let mut conditions = Vec::new();
    decided_by(&a, &mut conditions);
    decided_by(&b, &mut conditions);
    conditions.truncate(MOST);
    told_apart(ctx, &a, &b, tier, &conditions)
}

fn told_apart(
    ctx: &mut Context,
    a: &ElemRef,
    b: &ElemRef,
    tier: Tier,
    conditions: &[ElemRef],
) -> bool {
    let Some((condition, others)) = conditions.split_first() else {
        return false;
    };
    in_both_cases(ctx, condition, &mut |ctx, holds, fails| {
        let (a, b) = (given(a, holds, fails), given(b, holds, fails));
        same(ctx, &a, &b, tier) || told_apart(ctx, &a, &b, tier, others)
    })
}

/// Whether something can be shown where the condition holds, and where it does not. The two conditions that are
/// passed on are the one that holds and the one that fails.
pub(crate) fn in_both_cases(
    ctx: &mut Context,
    condition: &ElemRef,
    shown: &mut dyn FnMut(&mut Context, &ElemRef, &ElemRef) -> bool,
) -> bool {
    let not = Elem::not(condition.clone());
    [(condition, &not), (&not, condition)]
        .into_iter()
        .all(|(holds, fails)| {
            let mark = ctx.mark();
            ctx.assume(holds.clone());
            let shown = shown(ctx, holds, fails);
            ctx.forget(mark);
            shown
        })
}

/// The conditions on data that choose between values, but for those that change from step to step of a fold.
fn decided_by(e: &ElemRef, out: &mut Vec<ElemRef>) {
    match &**e {
        Elem::Select(c, ..) => {
            parts(c, out);
            e.children().into_iter().for_each(|x| decided_by(x, out));
        }
        Elem::Fold(f) => f.lanes().for_each(|lane| decided_by(lane.init, out)),
        // Between places, also those on indices.
        Elem::Read { index, .. } => index.for_each_value(&mut |v| chosen_by(v, out)),
        _ => e.children().into_iter().for_each(|x| decided_by(x, out)),
    }
}

/// The conditions that choose between the values of an integer.
pub(crate) fn chosen_by(e: &ElemRef, out: &mut Vec<ElemRef>) {
    if let Elem::Select(c, ..) = &**e {
        match is_index_condition(c) {
            true if !out.contains(c) => out.push(c.clone()),
            true => {}
            false => parts(c, out),
        }
    }
    if !matches!(&**e, Elem::Fold(_)) {
        e.children().into_iter().for_each(|x| chosen_by(x, out));
    }
}

/// The conditions on data that a condition is made of.
pub(crate) fn parts(c: &ElemRef, out: &mut Vec<ElemRef>) {
    match &**c {
        _ if is_index_condition(c) => {}
        Elem::Unary(UnOp::Not, a) => parts(a, out),
        Elem::Select(c, t, f) => [c, t, f].into_iter().for_each(|x| parts(x, out)),
        Elem::Binary(BinOp::And | BinOp::Or, a, b) => {
            [a, b].into_iter().for_each(|x| parts(x, out))
        }
        _ if !out.contains(c) => out.push(c.clone()),
        _ => {}
    }
}

/// The conditions on indices in a condition that is one on data, too: `i == 0 || x[i] > most`.
pub(crate) fn index_parts(c: &ElemRef, out: &mut Vec<ElemRef>) {
    if is_index_condition(c) {
        return;
    }
    for part in c.children() {
        match is_index_condition(part) {
            true if matches!(&**part, Elem::Const(_)) || out.contains(part) => {}
            true => out.push(part.clone()),
            false => index_parts(part, out),
        }
    }
}

/// An expression where of two opposite conditions the one holds and the other fails.
pub fn given(e: &ElemRef, holds: &ElemRef, fails: &ElemRef) -> ElemRef {
    if e == holds || e == fails {
        return truth(e == holds);
    }
    // What stands in the condition may be another thing in there.
    if let Elem::Fold(f) = &**e
        && (holds.mentions(&f.var) || f.lanes().any(|lane| holds.mentions(lane.acc)))
    {
        return e.clone();
    }
    let children = e.children().into_iter();
    let children: Vec<ElemRef> = children.map(|c| given(c, holds, fails)).collect();
    match (&**e, children.as_slice()) {
        (Elem::Binary(BinOp::And, ..), [a, b]) if e.ty() == ScalarType::I1 => {
            and(a.clone(), b.clone())
        }
        _ => {
            let indices = e.indices().into_iter();
            let indices: Vec<Idx> = indices.map(|i| index_given(i, holds, fails)).collect();
            e.rebuild(&children, &indices)
        }
    }
}

/// The same of an index that is read from data.
pub(crate) fn index_given(i: &Idx, holds: &ElemRef, fails: &ElemRef) -> Idx {
    match i.has_values() {
        true => i.map_values(&mut |v| given(v, holds, fails)),
        false => i.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::given;
    use std::sync::Arc;
    use tensorize_ir::element::{Elem, ElemRef, Fold};
    use tensorize_ir::index::Idx;
    use tensorize_ir::op::{BinOp, CmpOp};
    use tensorize_ir::scalar::{Scalar, ScalarType};

    fn is_positive(at: &str) -> ElemRef {
        let x = Elem::read("x", ScalarType::I32, Idx::sym(at));
        Elem::compare(
            CmpOp::Gt,
            x,
            Elem::constant(Scalar::int(ScalarType::I32, 0)),
        )
    }

    /// How many of x are positive, counted by `var`.
    fn count(var: &str) -> ElemRef {
        let zero = Elem::constant(Scalar::int(ScalarType::I32, 0));
        let acc = Arc::new(Elem::Acc("acc".into(), ScalarType::I32));
        let one = Elem::convert(ScalarType::I32, is_positive(var));
        let step = Elem::binary(BinOp::Add, acc, one);
        let fold = Fold::new("acc".into(), var.into(), Idx::sym("n"), zero, step);
        Arc::new(Elem::Fold(Arc::new(fold)))
    }

    #[test]
    fn a_condition_says_nothing_of_another_variable_of_its_name() {
        let (holds, fails) = (is_positive("k"), Elem::not(is_positive("k")));
        let chosen = Elem::select(holds.clone(), count("k"), count("j"));
        assert_eq!(given(&chosen, &holds, &fails), count("k"));
    }
}
