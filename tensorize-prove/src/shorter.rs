//! Accesses that are not made in every round of a loop, as accesses in a shorter loop: of `y[i]` under `i >= n` for `i < 2*n`
//! it is no more than `y[n + i]` for `i < n`.
//!
//! A loop over time that does several things one after another is the union of such parts. Without their conditions each of
//! them would reach as far as all the rounds together do.

use crate::canon;
use crate::conditions::said_of_indices;
use crate::context::Context;
use crate::exec::Access;
use crate::matching::assume;
use crate::search::facts;
use tensorize_ir::element::Elem;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::CmpOp;

/// What is not negative where an access is made, by its conditions and by what a guard says of such.
pub(crate) fn non_negative(ctx: &Context, a: &Access) -> Vec<Idx> {
    let mut said = Vec::new();
    let by_guards = ctx.said_by_guards(a);
    let conditions = a.path.iter().chain(&by_guards);
    conditions.for_each(|c| said_of_indices(c, &mut said));
    let mut parts = Vec::new();
    said.iter().for_each(|c| facts(c, true, &mut parts));
    let compared = parts.iter().map(canon::elem);
    let ends = compared.filter_map(|condition| match &*condition {
        Elem::IndexCompare(CmpOp::Ge, p, q) => Some(p - q),
        _ => None,
    });
    ends.collect()
}

/// The access with each loop no longer than its conditions, and the loops that have to run for it, let it be; `None` if that
/// is as long as they are.
pub(crate) fn shorter(ctx: &mut Context, a: &Access) -> Option<Access> {
    let mut said = non_negative(ctx, a);
    let one = Idx::constant(1);
    for (_, extent) in &a.loops {
        let (_, positive) = extent.without_indicators();
        said.extend(positive.iter().map(|p| p - &one));
    }
    let mark = ctx.mark();
    assume(ctx, a);
    let mut new = a.clone();
    for (var, extent) in &a.loops {
        // All of these hold of the counter where the access is made; which is the closest, the sizes say.
        let (mut first, mut end) = (Idx::default(), extent.clone());
        for p in &said {
            let Some((slope, rest)) = p.linear_in(var) else {
                continue;
            };
            let (closer, found) = match slope.as_constant() {
                Some(1) => ((CmpOp::Ge, &mut first), -&rest),
                Some(-1) => ((CmpOp::Le, &mut end), &rest + &one),
                _ => continue,
            };
            let (op, known) = closer;
            if found != *known && ctx.is_over_params(&found) && ctx.proves(op, &found, known) {
                *known = found;
            }
        }
        if first.is_zero() && end == *extent {
            continue;
        }
        let later = &Idx::sym(var.clone()) + &first;
        let moved = |i: &Idx| canon::idx(&i.replace(var, &later));
        new.index = moved(&new.index);
        for (v, n) in &mut new.loops {
            *n = match v == var {
                true => canon::idx(&(&end - &first)),
                false => moved(n),
            };
        }
        let named = |s: &Sym| (s == var).then(|| later.clone());
        new.path = (new.path.iter())
            .map(|c| canon::elem(&c.substitute(&named)))
            .collect();
    }
    ctx.forget(mark);
    (new.loops != a.loops).then_some(new)
}
