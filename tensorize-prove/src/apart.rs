//! Which arrays lie apart. What a write could change under another name has to be kept from it: by `restrict`, by a guard,
//! or because both are the same structs in an array, and each access is to a member of its own type.

use crate::canon;
use crate::exec::{Access, Executor, Stuck};
use crate::footprint::Touched;
use crate::interval::interval;
use crate::matching::assume;
use tensorize_ir::guard::{Extent, Guard};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::Param;
use tensorize_ir::op::CmpOp;
use tensorize_ir::signature::Members;

/// Adds the guards. Of `structs`, each entry has all arrays that are the same memory. That no two arrays which the text
/// compares begin in one place is asked of each call, whatever is touched.
pub(crate) fn keep_apart(exec: &mut Executor, structs: &[Vec<Members>], touched: &[Touched]) {
    for (a, b) in &exec.kernel.apart {
        let first = |array: &Sym| Extent {
            array: array.clone(),
            lo: Idx::default(),
            hi: Idx::constant(1),
        };
        exec.ctx.guard(Guard::Disjoint(first(a), first(b)));
    }
    let restricted = |name: &Sym| {
        exec.kernel
            .params
            .iter()
            .any(|p| matches!(p, Param::Array { name: n, restrict: true, .. } if n == name))
    };
    let same_structs = |a: &Sym, b: &Sym| {
        let has = |s: &[Members], name: &Sym| s.iter().any(|m| m.to == **name);
        structs.iter().any(|s| has(s, a) && has(s, b))
    };
    let extents: Vec<(&Extent, bool)> = touched
        .iter()
        .map(|t| (&t.footprint.extent, t.footprint.writes))
        .collect();
    for (i, (a, a_writes)) in extents.iter().enumerate() {
        for (b, b_writes) in &extents[i + 1..] {
            let apart =
                restricted(&a.array) || restricted(&b.array) || same_structs(&a.array, &b.array);
            if (*a_writes || *b_writes) && !apart {
                let (first, second) = if *a_writes { (*a, *b) } else { (*b, *a) };
                let guard = Guard::Disjoint(first.clone(), second.clone());
                exec.ctx.guard(guard);
            }
        }
    }
}

/// Shows that each access to the `structs` is to a member of its own type. Where none of them is written, that is for callers
/// with slices, who have these conditions to keep: in C, a subscript in a struct stays in its array.
pub(crate) fn within_members(
    exec: &mut Executor,
    structs: &[Vec<Members>],
) -> Result<Vec<Guard>, Stuck> {
    let accesses = std::mem::take(&mut exec.accesses);
    let mut asked = Vec::new();
    for members in structs {
        let of = |a: &Access| members.iter().find(|m| *m.to == *a.array);
        let is_written = accesses.iter().any(|a| a.write && of(a).is_some());
        for a in &accesses {
            let Some(of) = of(a) else {
                continue;
            };
            let conditions = is_member(exec, a, of, is_written).ok_or_else(|| Stuck {
                what: format!(
                    "that {}[{}] is a member of that type in each struct could not be shown",
                    a.array, a.index
                ),
                line: 0,
            })?;
            for guard in conditions {
                if !asked.contains(&guard) {
                    asked.push(guard);
                }
            }
        }
    }
    exec.accesses = accesses;
    Ok(asked)
}

/// Under which conditions the element is one of the members, in whichever struct; `None` if there is no telling, or if there
/// are any and it has to be one `always`.
fn is_member(
    exec: &mut Executor,
    a: &Access,
    members: &Members,
    always: bool,
) -> Option<Vec<Guard>> {
    let stride = i128::from(members.stride);
    if stride == 0 {
        return None;
    }
    // What is left when whole structs are taken off.
    let index = canon::idx(&a.index);
    let in_struct = index.terms().filter_map(|(atoms, factor)| match atoms {
        [] => Some((vec![], factor.rem_euclid(stride))),
        _ if factor % stride == 0 => None,
        _ => Some((atoms.to_vec(), factor)),
    });
    let place = Idx::from_terms(in_struct);
    let mut ranges = members
        .at
        .iter()
        .map(|r| (i128::from(r.0), i128::from(r.1)));
    if let Some(k) = place.as_constant() {
        return ranges.any(|(lo, hi)| (lo..hi).contains(&k)).then(Vec::new);
    }
    let ctx = &mut exec.ctx;
    let mark = ctx.mark();
    assume(ctx, a);
    let shown = ranges.clone().any(|(lo, hi)| {
        ctx.proves(CmpOp::Ge, &place, &Idx::constant(lo))
            && ctx.proves(CmpOp::Lt, &place, &Idx::constant(hi))
    });
    ctx.forget(mark);
    if shown {
        return Some(vec![]);
    }
    if always {
        return None;
    }
    // An array in the struct, subscripted by what the caller says.
    let first = place
        .terms()
        .find(|(atoms, _)| atoms.is_empty())
        .map_or(0, |(_, k)| k);
    let (lo, hi) = ranges.find(|(lo, hi)| (*lo..*hi).contains(&first))?;
    let a = Access {
        index: place,
        ..a.clone()
    };
    let (least, end) = interval(ctx, &a, None, None)?;
    let over = [&least - &Idx::constant(lo), &Idx::constant(hi) - &end];
    let open = over
        .into_iter()
        .filter(|e| e.as_constant().is_none_or(|c| c < 0));
    Some(open.map(Guard::NonNegative).collect())
}
