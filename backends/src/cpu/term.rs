//! Facts about index notation that decide what may be moved where.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::{BinOp, UnOp};

/// Calls `f` with every variable, accumulator and scalar parameter that occurs, bound ones included.
pub(super) fn for_each_name(e: &Elem, f: &mut dyn FnMut(&Sym)) {
    if let Elem::Acc(name, _) | Elem::Param(name, _) = e {
        f(name);
    }
    for idx in e.indices() {
        for_each_name_in_idx(idx, f);
    }
    for child in e.children() {
        for_each_name(child, f);
    }
}

/// The same for an index.
pub(super) fn for_each_name_in_idx(idx: &Idx, f: &mut dyn FnMut(&Sym)) {
    for (monomial, _) in idx.terms() {
        for atom in monomial {
            match atom {
                Atom::Sym(s) => f(s),
                Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => {
                    for_each_name_in_idx(a, f);
                    for_each_name_in_idx(b, f);
                }
                Atom::Value(e) => for_each_name(e, f),
            }
        }
    }
}

/// The machine integers that stand inside of an index.
pub(super) fn values_in(idx: &Idx) -> Vec<&ElemRef> {
    fn collect<'a>(idx: &'a Idx, out: &mut Vec<&'a ElemRef>) {
        for (monomial, _) in idx.terms() {
            for atom in monomial {
                match atom {
                    Atom::Sym(_) => {}
                    Atom::Value(e) => out.push(e),
                    Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => {
                        collect(a, out);
                        collect(b, out);
                    }
                }
            }
        }
    }
    let mut out = Vec::new();
    collect(idx, &mut out);
    out
}

/// Whether evaluating the term may touch memory or be undefined in C, so that it must not be
/// evaluated where the original doesn't evaluate it.
pub(super) fn needs_guard(e: &Elem) -> bool {
    let here = match e {
        Elem::Read { .. } => true,
        Elem::Binary(BinOp::Divide | BinOp::Remainder, _, b) if b.ty().is_int() => {
            !matches!(&**b, Elem::Const(c) if c.bits != 0)
        }
        Elem::Convert(to, a) => a.ty().is_float() && to.is_int(),
        _ => false,
    };
    here || e.indices().into_iter().any(idx_needs_guard)
        || e.children().into_iter().any(|c| needs_guard(c))
}

/// The same for an index.
pub(super) fn idx_needs_guard(idx: &Idx) -> bool {
    values_in(idx).into_iter().any(|e| needs_guard(e))
}

/// Whether [`needs_guard`] is true only of what stands in the steps of folds of this extent, so that
/// nothing happens when the extent is zero.
pub(super) fn covered_by(e: &Elem, extent: &Idx) -> bool {
    match e {
        Elem::Fold(f) if f.extent == *extent => f.lanes().all(|lane| covered_by(lane.init, extent)),
        _ if !needs_guard(e) => true,
        Elem::Read { .. } => false,
        _ => {
            let shallow = e.rebuild_is_harmless();
            shallow && e.children().into_iter().all(|c| covered_by(c, extent))
        }
    }
}

trait Harmless {
    /// Whether the node itself, its children aside, needs no guard.
    fn rebuild_is_harmless(&self) -> bool;
}

impl Harmless for Elem {
    fn rebuild_is_harmless(&self) -> bool {
        let values = self.indices().into_iter().any(idx_needs_guard);
        let itself = match self {
            Elem::Read { .. } => true,
            Elem::Binary(BinOp::Divide | BinOp::Remainder, _, b) => b.ty().is_int(),
            Elem::Convert(to, a) => a.ty().is_float() && to.is_int(),
            _ => false,
        };
        !values && !itself
    }
}

/// Whether a term is worth moving out of a loop. The C compiler moves cheap ones by itself.
pub(super) fn expensive(e: &Elem) -> bool {
    match e {
        Elem::Fold(_) => true,
        Elem::Unary(op, _) => !matches!(op, UnOp::Negate | UnOp::Not | UnOp::Abs),
        Elem::Binary(op, a, _) => {
            use BinOp::{Atan2, Divide, Power, Remainder};
            a.ty().is_float() && matches!(op, Divide | Remainder | Power | Atan2)
        }
        // Lest a conditional fold be computed once a round.
        Elem::Select(c, t, f) => [c, t, f].into_iter().any(|e| contains_fold(e)),
        _ => false,
    }
}

/// Whether there is a fold in it.
pub(super) fn contains_fold(e: &Elem) -> bool {
    matches!(e, Elem::Fold(_)) || e.children().into_iter().any(|c| contains_fold(c))
}

/// The term with its bound names replaced by ones that depend on its form alone: two terms that
/// differ in these names only become equal.
pub(super) fn canonical(e: &ElemRef) -> ElemRef {
    if contains_fold(e) {
        rename(e, &mut BTreeMap::new(), 0)
    } else {
        e.clone()
    }
}

fn rename(e: &ElemRef, bound: &mut BTreeMap<Sym, Sym>, depth: usize) -> ElemRef {
    match &**e {
        Elem::Acc(name, ty) => Arc::new(Elem::Acc(bound.get(name).unwrap_or(name).clone(), *ty)),
        Elem::Fold(f) => {
            let f = &super::search::as_search(f).unwrap_or_else(|| f.clone());
            let mut new = (**f).clone();
            new.extent = rename_idx(&f.extent, bound, depth);
            new.init = rename(&f.init, bound, depth);
            for (lane, old) in new.others.iter_mut().zip(&f.others) {
                lane.init = rename(&old.init, bound, depth);
            }
            new.var = format!("var'{depth}").into();
            new.acc = format!("acc'{depth}").into();
            for (i, lane) in new.others.iter_mut().enumerate() {
                lane.acc = format!("acc'{depth}.{i}").into();
            }
            // A fold around may bind the same names.
            let outer = bound.clone();
            bound.insert(f.var.clone(), new.var.clone());
            for (old, lane) in f.lanes().zip(new.lanes()) {
                bound.insert(old.acc.clone(), lane.acc.clone());
            }
            new.step = rename(&f.step, bound, depth + 1);
            for (lane, old) in new.others.iter_mut().zip(&f.others) {
                lane.step = rename(&old.step, bound, depth + 1);
            }
            *bound = outer;
            Arc::new(Elem::Fold(Arc::new(new)))
        }
        _ => {
            let children: Vec<_> = e
                .children()
                .into_iter()
                .map(|c| rename(c, bound, depth))
                .collect();
            let indices: Vec<_> = e
                .indices()
                .into_iter()
                .map(|i| rename_idx(i, bound, depth))
                .collect();
            e.rebuild(&children, &indices)
        }
    }
}

fn rename_idx(idx: &Idx, bound: &mut BTreeMap<Sym, Sym>, depth: usize) -> Idx {
    idx.map_atoms(&mut |atom| match atom {
        Atom::Sym(s) => bound.get(s).map(|new| Idx::sym(new.clone())),
        Atom::Value(e) => Some(Idx::value(rename(e, bound, depth))),
        _ => None,
    })
}

/// The terms that are evaluated whichever branches are taken, and that occur more than once:
/// worth a variable. Smaller ones first. Folds are left aside, as they get one anyhow.
pub(super) fn repeated(
    roots: &[&ElemRef],
    is_lazy: &dyn Fn(&ElemRef, &ElemRef) -> bool,
) -> Vec<ElemRef> {
    let mut counts: BTreeMap<&ElemRef, usize> = BTreeMap::new();
    let mut postorder = Vec::new();
    let mut definite = BTreeSet::new();
    for root in roots {
        count(root, &mut counts, &mut postorder);
        definite.append(&mut always(root, is_lazy));
    }
    postorder
        .into_iter()
        .filter(|e| counts[e] > 1 && worth_a_name(e) && definite.contains(e))
        .cloned()
        .collect()
}

/// Whether the term says the same over and over: a sorting network has each of its numbers in two steps, and each of
/// those in two more.
pub(super) fn repeats_itself(e: &ElemRef) -> bool {
    /// Text of this length is no trouble to anybody.
    const SHORT: usize = 100;
    fn size(e: &Elem) -> usize {
        1 + e.children().into_iter().map(|c| size(c)).sum::<usize>()
    }
    let whole = size(e);
    if whole < SHORT {
        return false;
    }
    let mut counts = BTreeMap::new();
    count(e, &mut counts, &mut Vec::new());
    whole > 4 * counts.len()
}

fn count<'a>(
    e: &'a ElemRef,
    counts: &mut BTreeMap<&'a ElemRef, usize>,
    postorder: &mut Vec<&'a ElemRef>,
) {
    let n = counts.entry(e).or_insert(0);
    *n += 1;
    if *n > 1 {
        return;
    }
    match &**e {
        Elem::Fold(f) => f
            .lanes()
            .for_each(|lane| count(lane.init, counts, postorder)),
        _ => e
            .children()
            .into_iter()
            .for_each(|c| count(c, counts, postorder)),
    }
    postorder.push(e);
}

/// What is evaluated whenever this is.
fn always<'a>(
    e: &'a ElemRef,
    is_lazy: &dyn Fn(&ElemRef, &ElemRef) -> bool,
) -> BTreeSet<&'a ElemRef> {
    let always = |e: &'a ElemRef| always(e, is_lazy);
    let mut set = BTreeSet::new();
    match &**e {
        Elem::Select(c, t, f) => {
            set = always(c);
            set.extend(always(t).intersection(&always(f)).copied());
        }
        Elem::Binary(BinOp::And | BinOp::Or, a, b) if is_lazy(a, b) => set = always(a),
        Elem::Fold(f) => f
            .lanes()
            .for_each(|lane| set.append(&mut always(lane.init))),
        _ => e
            .children()
            .into_iter()
            .for_each(|c| set.append(&mut always(c))),
    }
    set.insert(e);
    set
}

fn worth_a_name(e: &Elem) -> bool {
    match e {
        Elem::Const(_)
        | Elem::Param(..)
        | Elem::OfIdx(..)
        | Elem::Acc(..)
        | Elem::IndexCompare(..)
        | Elem::Fold(_) => false,
        Elem::Convert(_, a) | Elem::Bitcast(_, a) => worth_a_name(a),
        _ => true,
    }
}

/// A name for the value of a term that says where it comes from.
pub(super) fn stem(e: &Elem) -> String {
    match e {
        Elem::Read { array, .. } => format!("{array}_at"),
        Elem::Convert(_, a) | Elem::Bitcast(_, a) => stem(a),
        Elem::Compare(..) => "is".into(),
        Elem::Fold(f) => f.acc.split('\'').next().unwrap_or("acc").into(),
        _ => "t".into(),
    }
}
