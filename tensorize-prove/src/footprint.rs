//! Which memory a kernel touches.

use crate::Proof;
use crate::bound::bound;
use crate::context::Context;
use crate::exec::{Access, Executor, Hazard, Stuck};
use crate::interval::{by_types, covering, interval};
use crate::matching::{assume, matched, matched_in_cases};
use crate::reach;
use std::collections::BTreeMap;
use tensorize_ir::element::ElemRef;
use tensorize_ir::guard::{Extent, Footprint, Guard};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::Param;
use tensorize_ir::op::CmpOp;

/// What happens to one array parameter.
pub struct Touched {
    /// As an interval.
    pub footprint: Footprint,
    /// Loops that have to run for all of it to be touched.
    pub eager_guards: Vec<Guard>,
    pub(crate) accesses: Vec<Access>,
}

/// The footprint of every array parameter that is touched, by a kernel or by code that was generated for an
/// `original`.
pub fn touched(exec: &mut Executor, original: Option<&Proof>) -> Result<Vec<Touched>, Stuck> {
    let mut out = Vec::new();
    for p in &exec.kernel.params {
        let Param::Array { name, .. } = p else {
            continue;
        };
        let accesses: Vec<Access> = exec
            .accesses
            .iter()
            .filter(|a| a.array == *name)
            .cloned()
            .collect();
        if !accesses.is_empty() {
            let extent = original
                .and_then(|o| o.footprints.iter().find(|f| f.extent.array == *name))
                .map(|f| &f.extent);
            let all = &exec.accesses;
            let of_code = original.is_some();
            out.push(one(&mut exec.ctx, name, accesses, all, extent, of_code)?);
        }
    }
    Ok(out)
}

fn one(
    ctx: &mut Context,
    array: &Sym,
    accesses: Vec<Access>,
    all: &[Access],
    original: Option<&Extent>,
    of_code: bool,
) -> Result<Touched, Stuck> {
    let (mut lo, mut hi): (Option<Idx>, Option<Idx>) = (None, None);
    // Unconditional accesses first: their bounds may hold for the conditional ones, too.
    let mut ordered: Vec<&Access> = accesses.iter().collect();
    ordered.sort_by_key(|a| !a.path.is_empty());
    // What generated code touches of such an array is compared access by access.
    if let Some(extent) = original.filter(|e| e.hi.has_values()) {
        (lo, hi) = (Some(extent.lo.clone()), Some(extent.hi.clone()));
        ordered.clear();
    }
    // Where the sizes alone don't say how far an access reaches, those of the others may.
    let mut waiting = Vec::new();
    let ends = original.map(|e| (&e.lo, &e.hi));
    for access in ordered {
        // Conditions may keep it within what the original touches.
        let first = lo.as_ref().or(ends.map(|(lo, _)| lo));
        let end = hi.as_ref().or(ends.map(|(_, hi)| hi));
        match interval(ctx, access, first, end) {
            Some((low, high)) => {
                lo = Some(covering(ctx, lo, low, false, access));
                hi = Some(covering(ctx, hi, high, true, access));
            }
            None => waiting.push(access),
        }
    }
    // What is written may be read too, and then lies in the same bounds.
    waiting.sort_by_key(|a| !a.write);
    for access in waiting {
        // What may be written is known before a call, if it is no more than a narrow type can name.
        let narrow = |ctx: &mut Context| access.write.then(|| by_types(ctx, access)).flatten();
        let found = interval(ctx, access, lo.as_ref(), hi.as_ref())
            .or_else(|| narrow(ctx))
            .or_else(|| Some((Idx::default(), reach::end(ctx, access, all)?)))
            .or_else(|| by_types(ctx, access));
        let Some((low, high)) = found else {
            return Err(Stuck {
                what: format!(
                    "how far {array}[{}] reaches could not be bounded by the sizes",
                    access.index
                ),
                line: 0,
            });
        };
        lo = Some(covering(ctx, lo, low, false, access));
        hi = Some(covering(ctx, hi, high, true, access));
    }
    let reads: Vec<&Access> = accesses.iter().filter(|a| !a.write).collect();
    let writes: Vec<&Access> = accesses.iter().filter(|a| a.write).collect();
    let mut eager_guards = Vec::new();
    let mut depends = |some: &[&Access]| {
        // Callers are told this of the original alone, and of code it takes long to find out.
        let mut any = of_code;
        let some: &[&Access] = if of_code { &[] } else { some };
        for a in some {
            any |= !always(ctx, a, &accesses, &mut eager_guards);
        }
        any
    };
    let (reads_depend_on_data, writes_depend_on_data) = (depends(&reads), depends(&writes));
    let footprint = Footprint {
        extent: Extent {
            array: array.clone(),
            lo: lo.unwrap_or_default(),
            hi: hi.unwrap_or_default(),
        },
        reads: !reads.is_empty(),
        writes: !writes.is_empty(),
        reads_depend_on_data,
        writes_depend_on_data,
    };
    Ok(Touched {
        footprint,
        eager_guards,
        accesses,
    })
}

/// Each of some accesses once: code that computes something in several places reads the same for it.
pub(crate) fn distinct(accesses: Vec<Access>) -> Vec<Access> {
    let mut found: BTreeMap<(Sym, Idx), Vec<Access>> = BTreeMap::new();
    let is_new = |a: &Access| {
        let alike = found.entry((a.array.clone(), a.index.clone())).or_default();
        let is_new = !alike.contains(a);
        if is_new {
            alike.push(a.clone());
        }
        is_new
    };
    let mut accesses = accesses;
    accesses.retain(is_new);
    accesses
}

/// Whether the place is accessed on every run that meets the guards: under no condition, or under
/// conditions that together leave nothing out, and in loops that run if the `guards` hold.
fn always(ctx: &mut Context, a: &Access, all: &[Access], guards: &mut Vec<Guard>) -> bool {
    // The data decides which place it is.
    if a.index.has_values() || a.loops.iter().any(|(_, n)| n.has_values()) {
        return false;
    }
    // Rows of several lengths: there are places between them, and maybe beyond the last one, that are not touched.
    let ragged = |n: &Idx| a.loops.iter().any(|(v, _)| n.mentions(v));
    if a.loops.iter().any(|(_, n)| ragged(n)) {
        return false;
    }
    // Of remainders, the largest that there may be need not be one.
    let remainders = a.index.terms().flat_map(|(m, _)| m);
    let mut remainders = remainders.filter(|x| matches!(x, Atom::FloorDiv(..)));
    if remainders.any(|x| a.loops.iter().any(|(v, _)| x.mentions(v))) {
        let saved = ctx.save();
        assume(ctx, a);
        let reached = bound(ctx, &a.index, &a.loops, true).is_some();
        ctx.restore(saved);
        if !reached {
            return false;
        }
    }
    let made = |b: &&Access| b.index == a.index && b.loops == a.loops && (b.write || !a.write);
    if !all.iter().filter(made).any(|b| b.path.is_empty()) {
        let mut place = a.clone();
        place.path.clear();
        place.loops.retain(|(v, _)| a.index.mentions(v));
        let Some(needed) = matched_in_cases(ctx, &place, all) else {
            return false;
        };
        for guard in needed {
            if !guards.contains(&guard) {
                guards.push(guard);
            }
        }
        return true;
    }
    let one = Idx::constant(1);
    for (i, (var, extent)) in a.loops.iter().enumerate() {
        // A loop that does not run leaves nothing out if its counter is part of the place.
        if a.index.mentions(var) {
            continue;
        }
        let mark = ctx.mark();
        for (v, n) in &a.loops[..i] {
            ctx.assume_in_range(v, n);
        }
        let runs = ctx.proves(CmpOp::Ge, extent, &one);
        ctx.forget(mark);
        if !runs {
            if !ctx.is_over_params(extent) {
                return false;
            }
            let guard = Guard::NonNegative(extent - &one);
            if !guards.contains(&guard) {
                guards.push(guard);
            }
        }
    }
    true
}

/// Shows that generated code touches only what the original does: arrays, extents, and, where the
/// original touches memory on some data only, the same places under the same conditions.
pub fn within<'a>(
    ctx: &mut Context,
    generated: impl IntoIterator<Item = &'a Touched>,
    original: &Proof,
) -> Result<(), Stuck> {
    for g in generated {
        let name = &g.footprint.extent.array;
        let fail = |why: &str| {
            Err(Stuck {
                what: format!("the generated code {why} {name}, which the original does not"),
                line: 0,
            })
        };
        let Some(o) = original.footprints.iter().find(|o| o.extent.array == *name) else {
            return fail("touches");
        };
        if g.footprint.reads && !o.reads && !o.writes {
            return fail("reads");
        }
        if g.footprint.writes && !o.writes {
            return fail("writes");
        }
        let by_data = o.extent.hi.has_values();
        // If not, each access has to be one of the original's: the same one may have been bounded another way.
        let inside = by_data
            || ctx.proves(CmpOp::Le, &o.extent.lo, &g.footprint.extent.lo)
                && ctx.proves(CmpOp::Ge, &o.extent.hi, &g.footprint.extent.hi);
        for access in &g.accesses {
            let may_be_empty = original.eager_guards.iter().any(|(array, _)| array == name);
            let conditional = may_be_empty
                || by_data
                || !inside
                || if access.write {
                    o.writes_depend_on_data
                } else {
                    o.reads_depend_on_data || !o.reads
                };
            if !conditional || matched(ctx, access, &original.accesses) {
                continue;
            }
            let Some(guards) = matched_in_cases(ctx, access, &original.accesses) else {
                return fail(if !inside {
                    "may leave the extent of"
                } else if access.write {
                    "writes, under other conditions, a place of"
                } else {
                    "reads, under other conditions, a place of"
                });
            };
            guards.into_iter().for_each(|guard| ctx.guard(guard));
        }
    }
    Ok(())
}

/// Where a closed form holds over the real numbers only, rounding may decide a comparison of floats another way
/// than in the original. What is touched, and what is divided by, must not depend on that.
pub fn independent_of_reals(accesses: &[Access], hazards: &[Hazard]) -> Result<(), Stuck> {
    let fixed = |loops: &[(Sym, Idx)]| !loops.iter().any(|(_, n)| idx_has_floats(n));
    for a in accesses {
        // The same place may be touched before the comparison, too.
        let anyway = |b: &Access| {
            b.array == a.array
                && b.index == a.index
                && b.loops == a.loops
                && (b.write || !a.write)
                && !b.path.iter().any(has_floats)
        };
        let place = !idx_has_floats(&a.index) && fixed(&a.loops);
        if !place || (a.path.iter().any(has_floats) && !accesses.iter().any(anyway)) {
            return Err(Stuck {
                what: format!(
                    "{}[{}] is touched depending on floats of which no more than the real value is known",
                    a.array, a.index
                ),
                line: 0,
            });
        }
    }
    for h in hazards {
        let depends = has_floats(&h.left)
            || has_floats(&h.right)
            || h.path.iter().any(has_floats)
            || !fixed(&h.loops);
        if depends {
            return Err(Stuck {
                what: format!(
                    "whether {}({}, {}) is defined depends on floats of which no more than the real value is known",
                    h.op, h.left, h.right
                ),
                line: 0,
            });
        }
    }
    Ok(())
}

fn has_floats(e: &ElemRef) -> bool {
    let mut any = false;
    e.visit(&mut |x| any |= x.ty().is_float());
    any
}

fn idx_has_floats(i: &Idx) -> bool {
    let mut any = false;
    i.for_each_value(&mut |e| any |= has_floats(e));
    any
}
