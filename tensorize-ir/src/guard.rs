//! What has to hold at a call, and which memory a kernel touches.

use crate::element::{Elem, ElemRef, Fold};
use crate::index::{Idx, Sym};
use crate::op::CmpOp;
use crate::scalar::{Scalar, ScalarType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How much a proof promises. The weaker one is the larger one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// The same bits, for every input that meets the guards and has no undefined behaviour in C.
    Exact,
    /// Equal when `float` and `double` arithmetic is read over the real numbers.
    Real,
}

impl Tier {
    /// `exact` or `real`.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Exact => "exact",
            Tier::Real => "real",
        }
    }
}

/// A condition on the arguments of a call. If one fails, the original runs. All polynomials are
/// over the kernel's integer parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guard {
    /// `idx >= 0`, computed without overflow.
    NonNegative(Idx),
    /// `idx` is a value of the integer type, so arithmetic in that type does not wrap.
    Fits(Idx, ScalarType),
    /// No byte belongs to both.
    Disjoint(Extent, Extent),
}

impl Guard {
    /// Whether it takes a look at what stands in memory to know.
    pub fn looks_at_data(&self) -> bool {
        match self {
            Guard::NonNegative(i) | Guard::Fits(i, _) => i.reads(),
            Guard::Disjoint(a, b) => [&a.lo, &a.hi, &b.lo, &b.hi].iter().any(|i| i.reads()),
        }
    }

    /// Whether it may stand for a call that ends before the kernel has read all that it reads otherwise: it looks no further
    /// than the first round in which it does not hold, or there are no rounds.
    pub fn may_end_early(&self) -> bool {
        if !self.looks_at_data() {
            return false;
        }
        let mut found = self.said_of_data().is_some();
        if let Guard::NonNegative(i) = self {
            i.for_each_value(&mut |e| {
                e.visit(&mut |e| found |= matches!(&**e, Elem::Fold(f) if ended(f).is_some()));
            });
        }
        found
    }

    /// A condition on arguments that are passed by value (`rate <= 0.5`), as a guard.
    pub fn on_arguments(condition: &ElemRef) -> Guard {
        let number = |v| Elem::constant(Scalar::int(ScalarType::I64, v));
        let value = Elem::select(condition.clone(), number(0), number(-1));
        Guard::NonNegative(Idx::value(value))
    }

    /// The guard that says this of each round, and, where it is so, what the other one says of the same rounds; `None` if those
    /// are other rounds.
    pub fn with_in_each_round(&self, other: &Guard) -> Option<Guard> {
        let (Guard::NonNegative(a), Guard::NonNegative(b)) = (self, other) else {
            return None;
        };
        Some(Guard::NonNegative(Idx::value(both(
            a.as_value()?,
            b.as_value()?,
        )?)))
    }

    /// The condition on data that the guard is, if it says so once and not of many rounds: of `inside ? 0 : -1`, not negative,
    /// that is `inside`, and of `c ? (inside ? 0 : -1) : 0` it is that where `c` holds.
    pub fn said_of_data(&self) -> Option<(Option<&ElemRef>, &ElemRef)> {
        fn said(e: &Elem) -> Option<&ElemRef> {
            match e {
                Elem::Select(inside, _, outside) => is(outside, true).then_some(inside),
                _ => None,
            }
        }
        fn is(e: &Elem, negative: bool) -> bool {
            matches!(e, Elem::Const(v) if v.ty.is_int() && (v.as_int() < 0) == negative)
        }
        let Guard::NonNegative(idx) = self else {
            return None;
        };
        let value = idx.as_value()?;
        match (said(value), &**value) {
            (Some(inside), _) => Some((None, inside)),
            (None, Elem::Select(c, then, otherwise)) if is(otherwise, false) => {
                Some((Some(c), said(then)?))
            }
            _ => None,
        }
    }

    /// What it says of the data in each of so many rounds with this counter; `None` if it is no guard about those.
    pub fn said_of_round(&self, counter: &Sym, times: &Idx) -> Option<ElemRef> {
        let Guard::NonNegative(idx) = self else {
            return None;
        };
        let Elem::Fold(f) = &**idx.as_value()? else {
            return None;
        };
        let starts = matches!(&*f.init, Elem::Const(v) if v.ty.is_int() && v.as_int() >= 0);
        let is_about = f.var == *counter && f.extent == *times && f.others.is_empty();
        let step = ended(f).map_or(&f.step, |(_, step)| step);
        (starts && is_about).then(|| kept(step, &f.acc))?
    }
}

/// When a step of a guard keeps what there is, if it makes it negative otherwise.
fn kept(step: &ElemRef, acc: &Sym) -> Option<ElemRef> {
    let truth = |holds| Elem::constant(Scalar::bool(holds));
    match &**step {
        Elem::Acc(name, _) => (name == acc).then(|| truth(true)),
        Elem::Const(v) if v.ty.is_int() && v.as_int() < 0 => Some(truth(false)),
        Elem::Select(c, yes, no) => {
            let mut by_itself = true;
            c.visit(&mut |e| by_itself &= !matches!(&**e, Elem::Acc(name, _) if name == acc));
            let (yes, no) = (kept(yes, acc)?, kept(no, acc)?);
            by_itself.then(|| match yes == truth(true) && no == truth(false) {
                true => c.clone(),
                false => Elem::select(c.clone(), yes, no),
            })
        }
        _ => None,
    }
}

/// That two conditions hold, which values of guards say of the same rounds: in each round, the second one is looked at if the
/// first one holds. `None` if these are other rounds, or under other conditions. (Accumulators may go by other names.)
fn both(first: &ElemRef, second: &ElemRef) -> Option<ElemRef> {
    match (&**first, &**second) {
        (Elem::Fold(f), Elem::Fold(g)) => {
            let same = f.var == g.var && f.extent == g.extent && f.init == g.init;
            let alone = f.others.is_empty() && g.others.is_empty();
            if !same || !alone {
                return None;
            }
            let acc = Arc::new(Elem::Acc(f.acc.clone(), f.init.ty()));
            let step = g.step.replace_accs(&BTreeMap::from([(g.acc.clone(), acc)]));
            let mut fold = (**f).clone();
            fold.step = both(&f.step, &step)?;
            Some(Arc::new(Elem::Fold(Arc::new(fold))))
        }
        (Elem::Select(c, yes, no), Elem::Select(d, other_yes, other_no)) => {
            // What no condition of the kernel says: it holds so far, or fails here.
            let fails = |e: &Elem| matches!(e, Elem::Const(v) if v.ty.is_int() && v.as_int() < 0);
            if yes == other_yes && fails(no) && no == other_no {
                let no_more = Elem::constant(Scalar::bool(false));
                let condition = Elem::select(c.clone(), d.clone(), no_more);
                return Some(Elem::select(condition, yes.clone(), no.clone()));
            }
            if c != d {
                return None;
            }
            if yes == other_yes {
                return Some(Elem::select(c.clone(), yes.clone(), both(no, other_no)?));
            }
            (no == other_no)
                .then(|| both(yes, other_yes))?
                .map(|yes| Elem::select(c.clone(), yes, no.clone()))
        }
        _ => None,
    }
}

/// When a fold of a guard is as it stays, and its step until then: of `acc < 0 ? acc : step`, what is less than zero stays so.
pub fn ended(f: &Fold) -> Option<(&ElemRef, &ElemRef)> {
    let is_acc = |e: &Elem| matches!(e, Elem::Acc(name, _) if *name == f.acc);
    match &*f.step {
        Elem::Select(ended, acc, step) if is_acc(acc) => match &**ended {
            Elem::Compare(CmpOp::Lt, a, b) if is_acc(a) && matches!(&**b, Elem::Const(_)) => {
                Some((ended, step))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The elements `[lo, hi)` of an array; none if `hi <= lo`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    /// The parameter that points to element 0.
    pub array: Sym,
    /// First element.
    pub lo: Idx,
    /// One past the last element.
    pub hi: Idx,
}

/// What a kernel does to one array, as an interval that covers every access.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Footprint {
    /// All elements that any run may read or write.
    pub extent: Extent,
    /// Whether some of these are read.
    pub reads: bool,
    /// Whether some of these are written.
    pub writes: bool,
    /// Whether the original reads some of these only on some data. A target that fetches them all
    /// beforehand has to check that they can be read.
    pub reads_depend_on_data: bool,
    /// Whether the original writes some of these only on some data. A target may then store only
    /// what changed.
    pub writes_depend_on_data: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(array: &str) -> ElemRef {
        Elem::read(array, ScalarType::I32, Idx::sym(Sym::from("i")))
    }

    fn negative(array: &str) -> ElemRef {
        let zero = Elem::constant(Scalar::int(ScalarType::I32, 0));
        Elem::compare(CmpOp::Lt, read(array), zero)
    }

    fn number(n: i128) -> ElemRef {
        Elem::constant(Scalar::int(ScalarType::I64, n))
    }

    /// The guard that in `n` rounds of `i`, beginning with a number, each step leaves one that is not negative.
    fn in_rounds(init: i128, step: impl FnOnce(ElemRef) -> ElemRef) -> Guard {
        let acc: ElemRef = Arc::new(Elem::Acc("far".into(), ScalarType::I64));
        let times = Idx::sym(Sym::from("n"));
        let fold = Fold::new("far".into(), "i".into(), times, number(init), step(acc));
        Guard::NonNegative(Idx::value(Arc::new(Elem::Fold(Arc::new(fold)))))
    }

    fn said(guard: &Guard) -> Option<ElemRef> {
        guard.said_of_round(&"i".into(), &Idx::sym(Sym::from("n")))
    }

    #[test]
    fn a_guard_of_all_rounds_says_so_of_each() {
        let fails = |acc: ElemRef| Elem::select(negative("a"), number(-1), acc);
        let not = Elem::select(
            negative("a"),
            Elem::constant(Scalar::bool(false)),
            Elem::constant(Scalar::bool(true)),
        );
        assert_eq!(said(&in_rounds(0, fails)), Some(not));
        let holds = |acc: ElemRef| Elem::select(negative("a"), acc, number(-1));
        assert_eq!(said(&in_rounds(0, holds)), Some(negative("a")));
        let ends = |acc: ElemRef| {
            let ended = Elem::compare(CmpOp::Lt, acc.clone(), number(0));
            Elem::select(ended, acc.clone(), holds(acc))
        };
        assert_eq!(said(&in_rounds(0, ends)), Some(negative("a")));
        let where_b = |acc: ElemRef| Elem::select(negative("b"), holds(acc.clone()), acc);
        let yes = Elem::constant(Scalar::bool(true));
        let there = Elem::select(negative("b"), negative("a"), yes);
        assert_eq!(said(&in_rounds(0, where_b)), Some(there));
    }

    #[test]
    fn what_other_guards_say_of_a_round_is_not_known() {
        let holds = |acc: ElemRef| Elem::select(negative("a"), acc, number(-1));
        // It holds of no rounds at all, and of other ones.
        assert_eq!(said(&in_rounds(-1, holds)), None);
        let guard = in_rounds(0, holds);
        let (i, n) = (Sym::from("i"), Idx::sym(Sym::from("n")));
        assert_eq!(guard.said_of_round(&"j".into(), &n), None);
        assert_eq!(guard.said_of_round(&i, &Idx::sym(Sym::from("m"))), None);
        // The last round may make good what another one has done.
        assert_eq!(
            said(&in_rounds(0, |_| Elem::select(
                negative("a"),
                number(0),
                number(-1)
            ))),
            None
        );
        let counts = |acc: ElemRef| Elem::select(negative("a"), number(5), acc);
        assert_eq!(said(&in_rounds(0, counts)), None);
        // What it makes of a round is not said of the data alone.
        let by_itself = |acc: ElemRef| {
            let so_far = Elem::compare(CmpOp::Gt, acc.clone(), number(0));
            Elem::select(so_far, acc, number(-1))
        };
        assert_eq!(said(&in_rounds(1, by_itself)), None);
    }
}
