//! What a proof asks of a call: it has to be something that is known at the call, and that holds as long as the call lasts.

use crate::Proof;
use crate::context::Context;
use crate::exec::Stuck;
use std::collections::BTreeSet;
use tensorize_ir::element::{Elem, LaneRef};
use tensorize_ir::guard::{Extent, Footprint, Guard};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::{Function, Param};
use tensorize_ir::op::CmpOp;
use tensorize_ir::tensir::State;

impl Proof {
    /// Everything that is asked: how far arrays are touched, and what its guards are about.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Idx> {
        let extents = self.footprints.iter().map(|f| &f.extent);
        let guards = (self.guards.iter())
            .chain(self.eager_guards.iter().map(|(_, guard)| guard))
            .chain(self.asked_of_slices.iter().flatten());
        fn ends(e: &Extent) -> [&Idx; 2] {
            [&e.lo, &e.hi]
        }
        let of_guards = guards.flat_map(|g| match g {
            Guard::NonNegative(i) | Guard::Fits(i, _) => vec![i],
            Guard::Disjoint(a, b) => [ends(a), ends(b)].concat(),
        });
        extents.flat_map(ends).chain(of_guards)
    }
}

/// Shows that all that is asked is made of parameters: no counter of a loop, nothing that a loop accumulates.
pub(crate) fn known_at_a_call(proof: &Proof, kernel: &Function) -> Result<(), Stuck> {
    let params: BTreeSet<Sym> = kernel.params.iter().map(Param::name).cloned().collect();
    match proof.asked().find(|idx| !is_known(idx, &params)) {
        None => Ok(()),
        Some(idx) => stuck(format!(
            "what a call would have to meet speaks of what only loops know: {idx}"
        )),
    }
}

fn stuck(what: impl Into<String>) -> Result<(), Stuck> {
    Err(Stuck {
        what: what.into(),
        line: 0,
    })
}

/// Shows that what a proof asks before a call is nothing that a round may change for another one, and that it speaks of no
/// round, nor of what only rounds have.
pub(crate) fn holds_for_all(
    ctx: &mut Context,
    proof: &Proof,
    rounds: (&Sym, &Idx),
    state: &[State],
) -> Result<(), Stuck> {
    let mut read = BTreeSet::new();
    let mut of_a_round = false;
    for i in proof.asked() {
        // What counts the rounds of a walk over data may have its name.
        i.for_each_sym(&mut |s| of_a_round |= s == rounds.0);
        i.for_each_value(&mut |v| {
            v.visit(&mut |x| {
                if let Elem::Read { array, .. } = &**x {
                    read.insert(array.clone());
                }
            });
        });
    }
    let is_written = |f: &Footprint| f.writes && read.contains(&f.extent.array);
    let mut written = proof.footprints.iter().filter(|f| is_written(f));
    let changes = of_a_round
        || state.iter().any(|s| read.contains(&s.name))
        || written.any(|f| !is_written_last(ctx, proof, &f.extent.array, rounds));
    match changes {
        true => stuck("what is asked of the data before a call may not hold in a later round"),
        false => Ok(()),
    }
}

/// Whether the last round alone writes in an array, as what stores where a counter has come to: all rounds find in it what
/// stood there when the first one began.
fn is_written_last(ctx: &mut Context, proof: &Proof, array: &Sym, rounds: (&Sym, &Idx)) -> bool {
    let (counter, trip) = rounds;
    let another = trip - &(&Idx::sym(counter.clone()) + &Idx::constant(2));
    let mut writes = proof
        .accesses
        .iter()
        .filter(|a| a.write && a.array == *array);
    writes.all(|a| {
        let mark = ctx.mark();
        ctx.assume_non_negative(&another);
        let mut never = false;
        for (var, times) in a.loops.iter().filter(|(var, _)| var != counter) {
            never |= ctx.proves(CmpOp::Le, times, &Idx::default());
            ctx.assume_in_range(var, times);
        }
        never = never || a.path.iter().any(|c| ctx.decide(c) == Some(false));
        ctx.forget(mark);
        never
    })
}

fn is_known(idx: &Idx, names: &BTreeSet<Sym>) -> bool {
    let atoms = idx.terms().flat_map(|(factors, _)| factors);
    atoms.into_iter().all(|atom| match atom {
        Atom::Sym(s) => names.contains(s),
        Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => {
            is_known(a, names) && is_known(b, names)
        }
        Atom::Value(e) => is_known_value(e, names),
    })
}

fn is_known_value(e: &Elem, names: &BTreeSet<Sym>) -> bool {
    match e {
        Elem::Acc(name, _) | Elem::Param(name, _) => names.contains(name),
        Elem::Fold(fold) => {
            let mut inside = names.clone();
            inside.insert(fold.var.clone());
            inside.extend(fold.lanes().map(|lane| lane.acc.clone()));
            let lane =
                |l: LaneRef| is_known_value(l.init, names) && is_known_value(l.step, &inside);
            is_known(&fold.extent, names) && fold.lanes().all(lane)
        }
        _ => {
            e.indices().iter().all(|i| is_known(i, names))
                && e.children().iter().all(|e| is_known_value(e, names))
        }
    }
}
