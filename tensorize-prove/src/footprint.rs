//! Which memory a kernel touches.

use crate::Proof;
use crate::canon;
use crate::context::Context;
use crate::eval::{bound, index_like};
use crate::exec::{Access, Executor, Hazard, Stuck};
use crate::matching::{assume, in_one_range, matched};
use crate::reach;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::{Extent, Footprint, Guard};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::Param;
use tensorize_ir::op::{BinOp, CmpOp};

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
            // What generated code touches of such an array is compared access by access.
            let by_data = original
                .and_then(|o| o.footprints.iter().find(|f| f.extent.array == *name))
                .map(|f| &f.extent)
                .filter(|e| e.hi.has_values());
            let all = &exec.accesses;
            out.push(one(&mut exec.ctx, name, accesses, all, by_data)?);
        }
    }
    Ok(out)
}

/// Under which conditions on the arguments every access to a local array or table lies inside of it, where C
/// takes that for granted; `None` if there is no telling.
pub fn within_locals(exec: &mut Executor) -> Option<Vec<Guard>> {
    let mut guards = Vec::new();
    for local in &exec.kernel.arrays {
        for a in exec.accesses.iter().filter(|a| a.array == local.name) {
            let len = Idx::constant(local.len? as i128);
            let ctx = &mut exec.ctx;
            let mark = ctx.mark();
            assume(ctx, a);
            let inside = ctx.proves(CmpOp::Ge, &a.index, &Idx::default())
                && ctx.proves(CmpOp::Lt, &a.index, &len);
            ctx.forget(mark);
            if inside {
                continue;
            }
            let (low, high) =
                interval(ctx, a, None, None).or_else(|| reach::ends(ctx, a, &exec.accesses))?;
            for guard in [low, &len - &high].map(Guard::NonNegative) {
                let holds = matches!(&guard, Guard::NonNegative(i) if i.as_constant() >= Some(0));
                if !holds && !guards.contains(&guard) {
                    guards.push(guard);
                }
            }
        }
    }
    Some(guards)
}

fn one(
    ctx: &mut Context,
    array: &Sym,
    accesses: Vec<Access>,
    all: &[Access],
    by_data: Option<&Extent>,
) -> Result<Touched, Stuck> {
    let (mut lo, mut hi): (Option<Idx>, Option<Idx>) = (None, None);
    // Unconditional accesses first: their bounds may hold for the conditional ones, too.
    let mut ordered: Vec<&Access> = accesses.iter().collect();
    ordered.sort_by_key(|a| !a.path.is_empty());
    for access in ordered {
        if let Some(extent) = by_data {
            (lo, hi) = (Some(extent.lo.clone()), Some(extent.hi.clone()));
            break;
        }
        let found = interval(ctx, access, lo.as_ref(), hi.as_ref())
            .or_else(|| Some((Idx::default(), reach::end(ctx, access, all)?)));
        let Some((low, high)) = found else {
            return Err(Stuck {
                what: format!(
                    "how far {array}[{}] reaches could not be bounded by the sizes",
                    access.index
                ),
                line: 0,
            });
        };
        lo = Some(pick(ctx, lo, low, false));
        hi = Some(pick(ctx, hi, high, true));
    }
    let reads: Vec<&Access> = accesses.iter().filter(|a| !a.write).collect();
    let writes: Vec<&Access> = accesses.iter().filter(|a| a.write).collect();
    let mut eager_guards = Vec::new();
    let mut depends = |some: &[&Access]| {
        let mut any = false;
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

/// The smaller (or larger) of two bounds.
fn pick(ctx: &mut Context, known: Option<Idx>, new: Idx, larger: bool) -> Idx {
    let Some(known) = known else { return new };
    let (op, other) = if larger {
        (CmpOp::Ge, CmpOp::Le)
    } else {
        (CmpOp::Le, CmpOp::Ge)
    };
    if ctx.proves(op, &known, &new) {
        known
    } else if ctx.proves(other, &known, &new) {
        new
    } else if larger {
        known.maximum(&new)
    } else {
        known.minimum(&new)
    }
}

/// An interval `[lo, hi)` over the sizes that holds the access in all rounds.
fn interval(
    ctx: &mut Context,
    a: &Access,
    lo: Option<&Idx>,
    hi: Option<&Idx>,
) -> Option<(Idx, Idx)> {
    let one = Idx::constant(1);
    let wider = within_values(ctx, a);
    let mark = ctx.mark();
    assume(ctx, a);
    // Conditions can make the interval smaller than the ranges of the counters alone do: try bounds that
    // are natural, or that other accesses have.
    let zero = Idx::default();
    let low = lo
        .into_iter()
        .chain([&zero])
        .find(|l| ctx.proves(CmpOp::Ge, &a.index, l))
        .cloned();
    let high = hi
        .into_iter()
        .find(|h| ctx.proves(CmpOp::Lt, &a.index, h))
        .cloned();
    let by_ranges = |ctx: &mut Context, upper| {
        bound(ctx, &wider.index, &wider.loops, upper).filter(|b| ctx.is_over_params(b))
    };
    let ranges = (by_ranges(ctx, false), by_ranges(ctx, true));
    ctx.forget(mark);
    let low = match (ranges.0, low) {
        // Without conditions the ends of the ranges are reached, so that they are the tighter bound.
        (Some(r), Some(l)) if !a.path.is_empty() && !ctx.proves(CmpOp::Ge, &r, &l) => l,
        (Some(r), _) => r,
        (None, l) => l?,
    };
    let high = match (ranges.1.map(|u| &u + &one), high) {
        (Some(r), Some(h)) if !a.path.is_empty() && !ctx.proves(CmpOp::Le, &r, &h) => h,
        (Some(r), _) => r,
        (None, h) => h?,
    };
    Some((low, high))
}

/// The access with tiles as one loop, and with every index that the data decides, but within bounds that can be
/// seen (the place of a maximum so far), replaced by any index within these bounds.
pub(crate) fn within_values(ctx: &mut Context, a: &Access) -> Access {
    let mut wider = a.clone();
    let mut values = Vec::new();
    a.index.for_each_value(&mut |e| values.push(e.clone()));
    for value in values {
        let mark = ctx.mark();
        assume(ctx, a);
        let range = range(ctx, &value, &a.loops);
        ctx.forget(mark);
        let Some((low, high)) = range else { continue };
        let var = ctx.fresh.name("v");
        let any = &low + &Idx::sym(var.clone());
        wider.index = wider.index.map_atoms(&mut |a| match a {
            Atom::Value(e) if *e == value => Some(any.clone()),
            _ => None,
        });
        wider.loops.push((var, &(&high - &low) + &Idx::constant(1)));
    }
    wider.index = canon::idx(&wider.index);
    in_one_range(ctx, &wider)
}

/// The least and the largest value of a fold each of whose steps keeps the value or sets it to an index: by
/// induction over the steps.
fn range(ctx: &mut Context, e: &ElemRef, loops: &[(Sym, Idx)]) -> Option<(Idx, Idx)> {
    fn leaves(e: &ElemRef, acc: &Sym, out: &mut Vec<Idx>) -> bool {
        match &**e {
            Elem::Acc(name, _) if name == acc => true,
            Elem::Select(_, a, b) | Elem::Binary(BinOp::Minimum | BinOp::Maximum, a, b) => {
                leaves(a, acc, out) && leaves(b, acc, out)
            }
            _ => index_like(e).map(|i| out.push(i)).is_some(),
        }
    }
    let Elem::Fold(f) = &**e else { return None };
    let (mut first, mut later) = (vec![], vec![]);
    if !leaves(&f.init, &f.acc, &mut first) || !leaves(&f.step, &f.acc, &mut later) {
        return None;
    }
    let var = ctx.fresh.name(&f.var);
    let mut all = loops.to_vec();
    all.push((var.clone(), f.extent.clone()));
    let mut ends: Vec<(Idx, Idx)> = Vec::new();
    for i in first {
        ends.push((bound(ctx, &i, loops, false)?, bound(ctx, &i, loops, true)?));
    }
    for i in later {
        let i = i.replace(&f.var, &Idx::sym(var.clone()));
        let mark = ctx.mark();
        ctx.assume_in_range(&var, &f.extent);
        let (low, high) = (bound(ctx, &i, &all, false), bound(ctx, &i, &all, true));
        ctx.forget(mark);
        ends.push((low?, high?));
    }
    let (mut low, mut high) = (None, None);
    for (l, h) in ends {
        low = Some(pick(ctx, low, l, false));
        high = Some(pick(ctx, high, h, true));
    }
    Some((low?, high?))
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
    let mut paths: Vec<Vec<ElemRef>> = all
        .iter()
        .filter(|b| b.index == a.index && b.loops == a.loops && (b.write || !a.write))
        .map(|b| b.path.iter().map(canon::elem).collect())
        .collect();
    // `[…, c]` and `[…, !c]` make `[…]`.
    loop {
        let mut shorter = None;
        for (i, p) in paths.iter().enumerate() {
            let Some((last, prefix)) = p.split_last() else {
                continue;
            };
            let negated = canon::elem(&Elem::not(last.clone()));
            let other = paths[..i].iter().position(|q| {
                q.split_last()
                    .is_some_and(|(l, rest)| *l == negated && rest == prefix)
            });
            if let Some(j) = other {
                shorter = Some((i, j, prefix.to_vec()));
                break;
            }
        }
        let Some((i, j, prefix)) = shorter else { break };
        paths.remove(i);
        paths.remove(j);
        paths.push(prefix);
    }
    if !paths.iter().any(Vec::is_empty) {
        return false;
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
pub fn within(ctx: &mut Context, generated: &[Touched], original: &Proof) -> Result<(), Stuck> {
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
        if !by_data
            && (!ctx.proves(CmpOp::Le, &o.extent.lo, &g.footprint.extent.lo)
                || !ctx.proves(CmpOp::Ge, &o.extent.hi, &g.footprint.extent.hi))
        {
            return fail("may leave the extent of");
        }
        for access in &g.accesses {
            let may_be_empty = original.eager_guards.iter().any(|(array, _)| array == name);
            let conditional = may_be_empty
                || by_data
                || if access.write {
                    o.writes_depend_on_data
                } else {
                    o.reads_depend_on_data || !o.reads
                };
            if conditional && !matched(ctx, access, &original.accesses) {
                return fail(if access.write {
                    "writes, under other conditions, a place of"
                } else {
                    "reads, under other conditions, a place of"
                });
            }
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
