//! Members of structs in an array: arrays of several types that are the same memory, and lie apart all the same, since
//! each access is to a member of its own type.

use crate::canon;
use crate::exec::{Access, Executor, Stuck};
use crate::matching::assume;

use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::CmpOp;
use tensorize_ir::signature::View;

/// Pairs of arrays that need no guard to lie apart. An error where a member is written, and an access can't be shown to be
/// to a member: then nothing is known of what else it is to.
pub(crate) fn apart(exec: &mut Executor, structs: &[Vec<View>]) -> Result<Vec<(Sym, Sym)>, Stuck> {
    let accesses = std::mem::take(&mut exec.accesses);
    let pairs = structs.iter().map(|views| {
        let view = |a: &Access| views.iter().find(|v| *v.to == *a.array);
        let of_these: Vec<&Access> = accesses.iter().filter(|a| view(a).is_some()).collect();
        if of_these.iter().any(|a| a.write) && views.len() > 1 {
            let strays = |a: &&&Access| view(a).is_none_or(|v| !is_to_member(exec, a, v));
            if let Some(a) = of_these.iter().find(strays) {
                let what = format!(
                    "that {}[{}] is a member of that type, while members are written",
                    a.array, a.index
                );
                return Err(Stuck { what, line: 0 });
            }
        }
        let with_later = views.iter().enumerate().flat_map(|(i, a)| {
            let pair = |b: &View| (Sym::from(&*a.to), Sym::from(&*b.to));
            views[i + 1..].iter().map(pair)
        });
        Ok(with_later.collect::<Vec<_>>())
    });
    let pairs: Result<Vec<_>, _> = pairs.collect();
    exec.accesses = accesses;
    Ok(pairs?.concat())
}

/// Whether the element is one of the view's, in whichever struct.
fn is_to_member(exec: &mut Executor, a: &Access, view: &View) -> bool {
    let stride = i128::from(view.stride);
    let index = canon::idx(&a.index);
    let (steps, rest): (Vec<_>, Vec<_>) = index
        .terms()
        .partition(|(atoms, factor)| !atoms.is_empty() && factor % stride == 0);
    drop(steps);
    let rest = Idx::from_terms(rest.into_iter().map(|(atoms, factor)| {
        let factor = if atoms.is_empty() {
            factor.rem_euclid(stride)
        } else {
            factor
        };
        (atoms.to_vec(), factor)
    }));
    let is_member = |k: i128| view.at.iter().any(|m| i128::from(*m) == k);
    if let Some(k) = rest.as_constant() {
        return is_member(k);
    }
    // An array in the struct, subscripted by a variable.
    let first = rest
        .terms()
        .find(|(atoms, _)| atoms.is_empty())
        .map_or(0, |(_, k)| k);
    let (mut low, mut high) = (first, first);
    while is_member(low - 1) {
        low -= 1;
    }
    while is_member(high) {
        high += 1;
    }
    let ctx = &mut exec.ctx;
    let mark = ctx.mark();
    assume(ctx, a);
    let inside = ctx.proves(CmpOp::Ge, &rest, &Idx::constant(low))
        && ctx.proves(CmpOp::Lt, &rest, &Idx::constant(high));
    ctx.forget(mark);
    inside
}
