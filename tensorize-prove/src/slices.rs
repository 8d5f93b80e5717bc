//! What a caller with slices is asked for besides the guards. C takes it for granted of its callers, and one that is called
//! otherwise may touch anything.

use crate::bound::of_rounds;
use crate::context::Context;
use crate::exec::{Access, Executor};
use crate::interval::interval;
use crate::matching::assume;
use crate::reach;
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::Param;
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::ScalarType;

/// Under which conditions on the arguments every access to a local array or table lies inside of it, and no arithmetic on
/// sizes and counters overflows that decides what is touched; `None` if there is no telling.
pub(crate) fn asked(exec: &mut Executor) -> Option<Vec<Guard>> {
    let mut guards = Vec::new();
    within_locals(exec, &mut guards)?;
    arithmetic_fits(exec, &mut guards)?;
    Some(guards)
}

fn add(guards: &mut Vec<Guard>, guard: Guard) {
    if !guards.contains(&guard) {
        guards.push(guard);
    }
}

fn within_locals(exec: &mut Executor, guards: &mut Vec<Guard>) -> Option<()> {
    for local in &exec.kernel.arrays {
        for a in exec.accesses.iter().filter(|a| a.array == local.name) {
            let len = Idx::constant(local.len.fixed()? as i128);
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
            for end in [low, &len - &high] {
                if end.as_constant().is_none_or(|c| c < 0) {
                    add(guards, Guard::NonNegative(end));
                }
            }
        }
    }
    Some(())
}

/// Signed arithmetic on sizes and counters in which C has no overflow: what comes out of it, in which type, and where.
#[derive(Default)]
pub(crate) struct IndexArithmetic(BTreeMap<(Idx, ScalarType), Around>);

/// The loops and conditions around a place of the code.
struct Around {
    loops: Vec<(Sym, Idx)>,
    path: Vec<ElemRef>,
}

impl IndexArithmetic {
    /// What is computed in several places is said once, of the rounds and conditions that these have in common. (What
    /// comes from memory is computed in the machine's types, by checks as by kernels.)
    pub(crate) fn record(
        &mut self,
        ty: ScalarType,
        p: &Idx,
        loops: &[(Sym, Idx)],
        path: &[ElemRef],
    ) {
        if p.has_values() || p.as_constant().is_some() {
            return;
        }
        let new = || Around {
            loops: loops.to_vec(),
            path: path.to_vec(),
        };
        let known = self.0.entry((p.clone(), ty)).or_insert_with(new);
        known.loops.retain(|l| loops.contains(l));
        known.path.retain(|c| path.contains(c));
    }
}

/// An index that has wrapped and is then cut to what there is, goes round or is divided is another one than the proof speaks
/// of, and so is a number of rounds. Where that can be, no arithmetic overflows. (Of sums and products alone, the end of
/// what is touched tells.)
fn arithmetic_fits(exec: &mut Executor, guards: &mut Vec<Guard>) -> Option<()> {
    let decides = |a: &Access| {
        !is_plain(&a.index)
            || a.loops.iter().any(|(_, n)| !is_given(n))
            || a.path.iter().any(|c| !c.indices().is_empty())
    };
    if !exec.accesses.iter().any(decides) {
        return Some(());
    }
    let params = &exec.kernel.params;
    let is_param = |i: &Idx, ty: ScalarType| {
        let of = params.iter().find(|p| i.as_sym() == Some(p.name()));
        of.is_some_and(|p| matches!(p, Param::Scalar { ty: of, .. } if of.fits_in(ty)))
    };
    let mut found: BTreeMap<(Idx, ScalarType), Constants> = BTreeMap::new();
    for ((p, ty), Around { loops, path }) in std::mem::take(&mut exec.index_arithmetic).0 {
        let place = Access {
            array: "".into(),
            index: p,
            loops,
            path,
            write: false,
        };
        for end in ends(&mut exec.ctx, &place, &exec.accesses, guards)? {
            if !is_param(&end, ty) {
                let (others, constant) = apart(&end);
                let known = found.entry((others, ty)).or_insert((constant, constant));
                *known = (known.0.min(constant), known.1.max(constant));
            }
        }
    }
    for ((others, ty), (least, most)) in &found {
        let narrower = |((i, of), (l, m)): (&(Idx, ScalarType), &Constants)| {
            i == others && of != ty && of.fits_in(*ty) && l <= least && most <= m
        };
        let inside = |c: &i128| (ty.min_value()..=ty.max_value()).contains(c);
        let holds = others.is_zero() && inside(least) && inside(most);
        if !holds && !found.iter().any(narrower) {
            for constant in [least, most] {
                let end = others + &Idx::constant(*constant);
                add(guards, Guard::Fits(end, *ty));
            }
        }
    }
    Some(())
}

/// Of ends that are constants apart, the least of these and the largest, which say it of all.
type Constants = (i128, i128);

/// The least and the largest number that this is in any round. What is asked of sizes to know them is asked here alone.
fn ends(
    ctx: &mut Context,
    place: &Access,
    all: &[Access],
    guards: &mut Vec<Guard>,
) -> Option<[Idx; 2]> {
    let saved = ctx.save();
    let before = ctx.guards().len();
    let found = interval(ctx, place, None, None).or_else(|| reach::ends(ctx, place, all));
    for guard in &ctx.guards()[before..] {
        add(guards, guard.clone());
    }
    ctx.restore(saved);
    let (low, high) = found?;
    Some([low, &high - &Idx::constant(1)])
}

/// A polynomial as one without a constant term, and that.
fn apart(p: &Idx) -> (Idx, i128) {
    let constant = p.terms().find(|(m, _)| m.is_empty()).map_or(0, |(_, c)| c);
    (p - &Idx::constant(constant), constant)
}

/// Whether it is made of sums and products of sizes, counters and what is read from memory.
fn is_plain(i: &Idx) -> bool {
    i.terms().flat_map(|(m, _)| m).all(|atom| match atom {
        Atom::Sym(_) => true,
        Atom::Value(e) => is_read(e),
        _ => false,
    })
}

/// Whether a number of rounds is a size as it is, or the distance of two numbers that are read from memory.
fn is_given(n: &Idx) -> bool {
    let rounds = of_rounds(n);
    let is_read = |atom: &Atom| matches!(atom, Atom::Value(e) if is_read(e));
    let mut atoms = rounds.terms().flat_map(|(m, _)| m);
    rounds.as_sym().is_some() || atoms.all(is_read)
}

/// Whether it is read from memory, in whatever type. (Where from is an access of its own.)
fn is_read(e: &ElemRef) -> bool {
    match &**e {
        Elem::Read { .. } => true,
        Elem::Convert(_, inner) => is_read(inner),
        _ => false,
    }
}
