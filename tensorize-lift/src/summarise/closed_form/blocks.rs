//! What is worked off in blocks: `while (n > 0) { m = n < 64 ? n : 64; …; n -= m; in += m; }`. Each block is a full one, but
//! for the last.

use tensorize_ir::element::ElemRef;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::CmpOp;
use tensorize_prove::canon;
use tensorize_prove::eval::index_like;

/// What a counter of blocks is before round `k`, and how much there was to work off, if that is not negative. It becomes `next` in
/// the round, is `own` when that begins, and was `first` at first.
pub(super) fn blocks(
    next: &ElemRef,
    own: &Idx,
    first: &Idx,
    k: &Sym,
    changes: &dyn Fn(&Idx) -> bool,
) -> Option<(Idx, Idx)> {
    let step = canon::idx(&(&index_like(next)? - own));
    let (is_left, a, b) = match minimum(&step)? {
        (-1, a, b) => (true, a, b),
        (1, a, b) => (false, a, b),
        _ => return None,
    };
    let (size, left) = match (a.as_constant(), b.as_constant()) {
        (Some(size), None) => (size, b),
        (None, Some(size)) => (size, a),
        _ => return None,
    };
    if size < 1 {
        return None;
    }
    let rounds = &Idx::constant(size) * &Idx::sym(k.clone());
    let all = match is_left {
        true => (left == own).then(|| first.clone())?,
        // What another counter says is left.
        false => match taken_off(left) {
            Some((all, [a, b])) if all == *a && *b == rounds || all == *b && *a == rounds => all,
            _ => left + &rounds,
        },
    };
    let done = rounds.minimum(&all);
    let at = if is_left {
        first - &done
    } else {
        first + &done
    };
    (!changes(&all)).then_some((at, all))
}

/// The factor and the two sides, if it is a minimum and nothing else.
fn minimum(i: &Idx) -> Option<(i128, &Idx, &Idx)> {
    let mut terms = i.terms();
    match (terms.next()?, terms.next()) {
        (([Atom::Min(a, b)], factor), None) => Some((factor, a, b)),
        _ => None,
    }
}

/// Of `n - min(a, b)`, that `n` and the two.
fn taken_off(i: &Idx) -> Option<(Idx, [&Idx; 2])> {
    let mut minima = i.terms().filter_map(|(factors, c)| match factors {
        [Atom::Min(a, b)] if c == -1 => Some((a, b)),
        _ => None,
    });
    let (a, b) = minima.next()?;
    let all = i + &Idx::atom(Atom::Min(a.clone(), b.clone()));
    minima.next().is_none().then_some((all, [a, b]))
}

/// What is not negative in the rounds in which anything is left: of `n - min(s·k, n) > 0`, or `!= 0`, `n - s·k - 1`.
pub(super) fn rounds_with_more(op: CmpOp, left: &Idx, k: &Sym) -> Option<Idx> {
    let left = match op {
        CmpOp::Ge => left.clone(),
        CmpOp::Ne if taken_off(left).is_some() => left - &Idx::constant(1),
        CmpOp::Ne => &-left - &Idx::constant(1),
        _ => return None,
    };
    let (rest, [a, b]) = taken_off(&left)?;
    let (done, all) = if a.mentions(k) { (a, b) } else { (b, a) };
    let at_least = (&rest - all).as_constant()?;
    (at_least < 0).then(|| &rest - done)
}
