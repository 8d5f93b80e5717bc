//! Accumulations from one place that is read to another, in unsigned numbers: the rows of a sparse matrix, `j = start[i]; j <
//! start[i + 1]`, or `j < length[i]`. How many rounds there are may be no `int64_t`; the loop counts as the original's does.

use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::scalar::{Scalar, ScalarType};

const U64: ScalarType = ScalarType::U64;

/// The same accumulation, counted by the place.
pub(super) struct Between {
    /// What the steps call the place.
    pub(super) place: Sym,
    /// Where it begins.
    pub(super) first: ElemRef,
    /// What it stays below.
    pub(super) end: ElemRef,
    /// The steps, in terms of the place and not of the round's number.
    pub(super) fold: Fold,
}

/// The accumulation as one between two places, if it looks at the number of its round as part of the place alone.
pub(super) fn between(f: &Fold) -> Option<Between> {
    let place: Sym = format!("{}.place", f.var).into();
    let here: ElemRef = Arc::new(Elem::Acc(place.clone(), U64));
    // As many rounds as an element says.
    if let Some(end) = f.extent.as_value().filter(|e| e.ty() == U64) {
        let here = Idx::value(here);
        return Some(Between {
            place,
            first: Elem::constant(Scalar::zero(U64)),
            end: end.clone(),
            fold: with_steps(f, |step| step.replace(&f.var, &here)),
        });
    }
    let Some(Atom::Max(a, b)) = f.extent.as_atom() else {
        return None;
    };
    let distance = match (a.is_zero(), b.is_zero()) {
        (true, false) => b,
        (false, true) => a,
        _ => return None,
    };
    let (mut first, mut end) = (None, None);
    for term in distance.terms() {
        match term {
            ([Atom::Value(e)], 1) if e.ty() == U64 && end.is_none() => end = Some(e.clone()),
            ([Atom::Value(e)], -1) if e.ty() == U64 && first.is_none() => first = Some(e.clone()),
            _ => return None,
        }
    }
    let (first, end) = (first?, end?);
    let at = &Idx::sym(f.var.clone()) + &Idx::value(first.clone());
    let fold = with_steps(f, |step| {
        step.map(&mut |e| match &**e {
            Elem::OfIdx(U64, i) if *i == at => Some(here.clone()),
            _ => None,
        })
    });
    let counts = fold.lanes().any(|lane| lane.step.mentions(&f.var));
    (!counts).then_some(Between {
        place,
        first,
        end,
        fold,
    })
}

fn with_steps(f: &Fold, change: impl Fn(&ElemRef) -> ElemRef) -> Fold {
    let mut fold = f.clone();
    fold.step = change(&f.step);
    for lane in &mut fold.others {
        lane.step = change(&lane.step);
    }
    fold
}
