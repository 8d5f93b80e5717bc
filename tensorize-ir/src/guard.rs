//! What has to hold at a call, and which memory a kernel touches.

use crate::element::{Elem, ElemRef, Fold};
use crate::index::{Idx, Sym};
use crate::op::CmpOp;
use crate::scalar::ScalarType;

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
            Guard::NonNegative(i) | Guard::Fits(i, _) => i.has_values(),
            Guard::Disjoint(a, b) => [&a.lo, &a.hi, &b.lo, &b.hi].iter().any(|i| i.has_values()),
        }
    }

    /// Whether it may stand for a call that ends before the kernel has read all that it reads otherwise: it looks no further
    /// than the first round in which it does not hold, or there are no rounds.
    pub fn may_end_early(&self) -> bool {
        let mut found = self.said_of_data().is_some();
        if let Guard::NonNegative(i) = self {
            i.for_each_value(&mut |e| {
                e.visit(&mut |e| found |= matches!(&**e, Elem::Fold(f) if ended(f).is_some()));
            });
        }
        found
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
