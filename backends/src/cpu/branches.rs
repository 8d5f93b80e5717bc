//! Stores that are made under conditions and read what others of the same round overwrite: branches, in each of which all
//! values are computed before any is stored.

use super::nest::{Stored, Target, for_each_read};
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::Scalar;

/// More branches than this are no code that anybody reads.
const MOST: usize = 16;

/// Stores in two branches of a condition.
type Branches = (ElemRef, Vec<Stored>, Vec<Stored>);

/// The results of a round, those together of which one reads what another one overwrites.
pub(super) fn groups(results: &[Target]) -> Vec<Vec<&Target>> {
    let reads = |reader: &Target, writer: &Target| {
        let mut meets = false;
        for e in reader.terms() {
            for_each_read(&e, &mut |array, index| meets |= writer.meets(array, index));
        }
        meets
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (i, result) in results.iter().enumerate() {
        let tied = |&k: &usize| reads(result, &results[k]) || reads(&results[k], result);
        let (with, mut apart): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|g| g.iter().any(tied));
        let mut own: Vec<usize> = with.into_iter().flatten().chain([i]).collect();
        own.sort_unstable();
        apart.push(own);
        groups = apart;
    }
    groups.sort_unstable();
    let named = |group: Vec<usize>| group.into_iter().map(|i| &results[i]).collect();
    groups.into_iter().map(named).collect()
}

/// Whether all branches come to an end in which it is clear what is stored.
pub(super) fn end(results: &[&Target]) -> bool {
    let stores: Vec<Stored> = results.iter().map(|t| t.store.clone()).collect();
    results.len() == 1 || count(&stores, MOST).is_some()
}

/// How many branches there are, if no more than `most`.
fn count(stores: &[Stored], most: usize) -> Option<usize> {
    if most == 0 {
        return None;
    }
    match split(stores) {
        Some((_, then, otherwise)) => {
            let n = count(&then, most)?;
            Some(n + count(&otherwise, most - n)?)
        }
        None => {
            let open = |s: &Stored| matches!(s, Stored::If(..) | Stored::Rounds(..));
            (!stores.iter().any(open)).then_some(1)
        }
    }
}

/// What is stored where a condition holds and where it does not: one that all ask for, or else what one of them looks at first.
/// Those that don't ask for it are in both branches.
pub(super) fn split(stores: &[Stored]) -> Option<Branches> {
    let mut conditions = stores.iter().filter_map(|s| match s {
        Stored::If(cond, ..) => Some(cond),
        _ => None,
    });
    let first = conditions.next()?;
    let known = match conditions.all(|c| c == first) {
        true => first,
        false => first_of(first),
    };
    let branch = |holds| stores.iter().map(|s| stored(s, known, holds)).collect();
    Some((known.clone(), branch(true), branch(false)))
}

/// What is looked at first in `a && b`.
fn first_of(cond: &ElemRef) -> &ElemRef {
    match &**cond {
        Elem::Binary(BinOp::And, a, _) => first_of(a),
        Elem::Select(a, _, f) if is_false(f) => first_of(a),
        _ => cond,
    }
}

fn is_false(e: &ElemRef) -> bool {
    matches!(&**e, Elem::Const(v) if !v.is_true())
}

/// A store where it is known whether a condition holds.
fn stored(s: &Stored, known: &ElemRef, holds: bool) -> Stored {
    match s {
        Stored::If(cond, t, f) => match condition(cond, known, holds) {
            Known::Open(cond) => {
                let [t, f] = [t, f].map(|s| Box::new(stored(s, known, holds)));
                Stored::If(cond, t, f)
            }
            Known::Is(true) => stored(t, known, holds),
            Known::Is(false) => stored(f, known, holds),
        },
        Stored::Always(e) => Stored::Always(value(e, known, holds)),
        Stored::Changed(e) => Stored::Changed(value(e, known, holds)),
        Stored::Never | Stored::Rounds(..) => s.clone(),
    }
}

fn value(e: &ElemRef, known: &ElemRef, holds: bool) -> ElemRef {
    match &**e {
        Elem::Select(cond, t, f) => match condition(cond, known, holds) {
            Known::Open(cond) => Elem::select(cond, value(t, known, holds), value(f, known, holds)),
            Known::Is(true) => value(t, known, holds),
            Known::Is(false) => value(f, known, holds),
        },
        _ => e.clone(),
    }
}

enum Known {
    Is(bool),
    Open(ElemRef),
}

/// A condition where it is known whether another one holds.
fn condition(cond: &ElemRef, known: &ElemRef, holds: bool) -> Known {
    if cond == known {
        return Known::Is(holds);
    }
    if is_negation(cond, known) {
        return Known::Is(!holds);
    }
    let both = match &**cond {
        Elem::Binary(BinOp::And, a, b) => Some((a, b)),
        Elem::Select(a, b, f) if is_false(f) => Some((a, b)),
        _ => None,
    };
    if let Some((a, b)) = both {
        return match (condition(a, known, holds), condition(b, known, holds)) {
            (Known::Is(false), _) | (_, Known::Is(false)) => Known::Is(false),
            (Known::Is(true), other) | (other, Known::Is(true)) => other,
            (Known::Open(a), Known::Open(b)) => match &**cond {
                Elem::Binary(..) => Known::Open(Elem::binary(BinOp::And, a, b)),
                _ => Known::Open(Elem::select(a, b, Elem::constant(Scalar::bool(false)))),
            },
        };
    }
    match &**cond {
        Elem::Unary(UnOp::Not, a) => match condition(a, known, holds) {
            Known::Is(is) => Known::Is(!is),
            Known::Open(a) => Known::Open(Elem::not(a)),
        },
        _ => Known::Open(cond.clone()),
    }
}

fn is_negation(a: &ElemRef, b: &ElemRef) -> bool {
    match (&**a, &**b) {
        (Elem::Compare(op, l, r), Elem::Compare(other, x, y)) => {
            // Neither `<` nor `>=` is true of what is no number.
            let told = l.ty().is_int() || matches!(op, CmpOp::Eq | CmpOp::Ne);
            told && *other == op.negated() && l == x && r == y
        }
        _ => *a == Elem::not(b.clone()) || *b == Elem::not(a.clone()),
    }
}
