//! Places that the original touches on some data only: they are touched where that changes them, and in those rounds of an
//! accumulation only.

use super::branches::groups;
use super::nest::{Stored, Target, reads_any};
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::Sym;
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Spares the results of a nest of which that is asked. Those that have to do with each other are computed before any of them
/// is stored, and so none of them round by round. What waits in the memory `of_old` is the least or the greatest of what stands
/// there before and others.
pub(super) fn spare(results: &mut [Target], of_old: &[Sym], asked: impl Fn(&Target) -> bool) {
    let groups = groups(results);
    let alone = |t: &Target| {
        let is_it = |g: &Vec<&Target>| matches!(g[..], [one] if std::ptr::eq(one, t));
        groups.iter().any(is_it)
    };
    let spared: Vec<Option<Stored>> = results
        .iter()
        .map(|t| {
            let store = spared(t, of_old);
            (asked(t) && (alone(t) || !goes_by_rounds(&store))).then_some(store)
        })
        .collect();
    for (result, store) in results.iter_mut().zip(spared) {
        if let Some(store) = store {
            result.store = store;
        }
    }
}

/// The same store, touching its place where that changes it only, and in those rounds of an accumulation only.
fn spared(t: &Target, of_old: &[Sym]) -> Stored {
    let old = t.old();
    match t.store.sparing(&old) {
        Stored::Always(value) if value.ty().is_int() => Stored::Changed(value),
        store => where_it_changes(store, &|value| {
            is_extreme_with(value, &old) || is_in(value, of_old)
        }),
    }
}

/// The same store, of integers that under some conditions are the least or the greatest of old ones and others: then only where
/// that is another number.
fn where_it_changes(store: Stored, of_old: &dyn Fn(&ElemRef) -> bool) -> Stored {
    match store {
        Stored::If(c, t, f) => {
            let [t, f] = [t, f].map(|s| match *s {
                Stored::Always(value) if value.ty().is_int() && of_old(&value) => {
                    Stored::Changed(value)
                }
                other => where_it_changes(other, of_old),
            });
            Stored::If(c, Box::new(t), Box::new(f))
        }
        other => other,
    }
}

fn is_in(e: &ElemRef, arrays: &[Sym]) -> bool {
    matches!(&**e, Elem::Read { array, .. } if arrays.contains(array))
}

/// Whether a term is `min(old, …)` or `max(old, …)`.
fn is_extreme_with(e: &ElemRef, old: &ElemRef) -> bool {
    match &**e {
        Elem::Binary(BinOp::Minimum | BinOp::Maximum, a, b) => a == old || b == old,
        _ => false,
    }
}

/// Whether a store is of such a term somewhere.
pub(super) fn stores_extreme(store: &Stored, old: &ElemRef) -> bool {
    match store {
        Stored::Always(value) | Stored::Changed(value) => is_extreme_with(value, old),
        Stored::If(_, t, f) => stores_extreme(t, old) || stores_extreme(f, old),
        Stored::Never | Stored::Rounds(..) => false,
    }
}

fn goes_by_rounds(store: &Stored) -> bool {
    match store {
        Stored::Rounds(..) => true,
        Stored::If(_, t, f) => goes_by_rounds(t) || goes_by_rounds(f),
        Stored::Never | Stored::Always(_) | Stored::Changed(_) => false,
    }
}

impl Stored {
    /// The same, where accumulations touch the place in those rounds only that change it.
    fn sparing(&self, old: &ElemRef) -> Stored {
        match self {
            Stored::If(c, t, f) => {
                if let (Stored::Always(value), Stored::Never) = (&**t, &**f)
                    && let Elem::Fold(fold) = &**value
                    && fold.init == *old
                    && is_by_itself(fold)
                {
                    let step = round_of(fold, old);
                    return match Stored::new(&step, old).sparing(old) {
                        Stored::Always(_) => self.clone(),
                        round => {
                            Stored::Rounds(fold.clone(), Box::new(Stored::Never), Box::new(round))
                        }
                    };
                }
                let [t, f] = [t, f].map(|s| Box::new(s.sparing(old)));
                Stored::If(c.clone(), t, f)
            }
            // `if (beta == 0) c = 0; else if (beta != 1) c *= beta;` and then sums, of data that may say that there is nothing
            // to add: with a beta of 1 nobody looks at `c` there.
            Stored::Always(value) => {
                let Elem::Fold(fold) = &**value else {
                    return self.clone();
                };
                let begins = Stored::new(&fold.init, old).sparing(old);
                let step = round_of(fold, old);
                let round = Stored::new(&step, old).sparing(old);
                let spares = |s: &Stored| !matches!(s, Stored::Always(_));
                if spares(&begins) && spares(&round) && is_by_itself(fold) {
                    return Stored::Rounds(fold.clone(), Box::new(begins), Box::new(round));
                }
                self.clone()
            }
            _ => self.clone(),
        }
    }
}

/// What a round of an accumulation makes of what stands there. An integer to which nothing is added is left alone.
fn round_of(fold: &Fold, old: &ElemRef) -> ElemRef {
    let step = fold
        .step
        .replace_accs(&[(fold.acc.clone(), old.clone())].into());
    let Elem::Binary(op @ (BinOp::Add | BinOp::Or | BinOp::Xor), a, b) = &*step else {
        return step;
    };
    let added = match (a == old, b == old) {
        (true, false) => b,
        (false, true) => a,
        _ => return step,
    };
    let number = added.ty().is_int() && added.ty() != ScalarType::I1;
    let looks = match &**old {
        Elem::Read { array, .. } => reads_any(added, &[array]),
        _ => true,
    };
    if !number || looks {
        return step;
    }
    let changed = Elem::binary(*op, old.clone(), added.clone());
    Elem::select(is_nonzero(added), changed, old.clone())
}

/// Whether an integer is not zero, by the conditions that choose it.
fn is_nonzero(e: &ElemRef) -> ElemRef {
    match &**e {
        Elem::Const(v) => Elem::constant(Scalar::bool(v.bits != 0)),
        Elem::Select(c, t, f) => {
            let (t, f) = (is_nonzero(t), is_nonzero(f));
            match (&*t, &*f) {
                (Elem::Const(t), Elem::Const(f)) if t.is_true() && !f.is_true() => c.clone(),
                (Elem::Const(t), Elem::Const(f)) if !t.is_true() && f.is_true() => {
                    Elem::not(c.clone())
                }
                _ => Elem::select(c.clone(), t, f),
            }
        }
        _ => Elem::compare(CmpOp::Ne, e.clone(), Elem::constant(Scalar::zero(e.ty()))),
    }
}

/// Whether the accumulators beside an accumulation's own go on without it, so that it can stand in memory.
fn is_by_itself(fold: &Fold) -> bool {
    !fold.others.iter().any(|lane| lane.step.mentions(&fold.acc))
}
