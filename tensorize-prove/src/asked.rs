//! What a proof asks of a call: it has to be something that is known at the call, and that holds as long as the call lasts.

use crate::Proof;
use crate::exec::Stuck;
use std::collections::BTreeSet;
use tensorize_ir::element::{Elem, ElemRef, LaneRef};
use tensorize_ir::guard::{Extent, Guard};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::{Function, Param};
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

/// Shows that what a proof asks before a call is nothing that a round may change, and that it speaks of no round, nor of
/// what only rounds have.
pub(crate) fn holds_for_all(proof: &Proof, counter: &Sym, state: &[State]) -> Result<(), Stuck> {
    let written = (proof.footprints.iter())
        .filter(|f| f.writes)
        .map(|f| &f.extent.array);
    let written: BTreeSet<&Sym> = written.chain(state.iter().map(|s| &s.name)).collect();
    let reads_written = |e: &ElemRef| {
        let mut found = false;
        e.visit(&mut |x| {
            found |= matches!(&**x, Elem::Read { array, .. } if written.contains(array))
        });
        found
    };
    let changes = |i: &Idx| {
        // What counts the rounds of a walk over data may have its name.
        let mut found = false;
        i.for_each_sym(&mut |s| found |= s == counter);
        i.for_each_value(&mut |v| found |= reads_written(v));
        found
    };
    if proof.asked().any(changes) {
        return stuck("what is asked of the data before a call may not hold in a later round");
    }
    Ok(())
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
