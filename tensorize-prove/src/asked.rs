//! What a proof asks of a call: it has to be something that is known at the call.

use crate::Proof;
use crate::exec::Stuck;
use std::collections::BTreeSet;
use tensorize_ir::element::{Elem, LaneRef};
use tensorize_ir::guard::{Extent, Guard};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::{Function, Param};

impl Proof {
    /// Everything that is asked: how far arrays are touched, and what its guards are about.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Idx> {
        let extents = self.footprints.iter().map(|f| &f.extent);
        let guards = (self.guards.iter())
            .chain(self.eager_guards.iter().map(|(_, guard)| guard))
            .chain(self.within_locals.iter().flatten());
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
        Some(idx) => Err(Stuck {
            what: format!("what a call would have to meet speaks of what only loops know: {idx}"),
            line: 0,
        }),
    }
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
