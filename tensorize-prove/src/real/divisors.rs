//! What is divided by, and may be zero.
//!
//! In a field, `0 * x` and `0 / x` are one wherever the second one has a value. Where `x` is zero it has none, and the machine
//! says that it is no number. So what stands for a kernel divides by nothing else than the kernel does, unless that is shown not
//! to be zero.

use super::poly::Poly;
use crate::canon;
use std::collections::BTreeSet;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::Sym;
use tensorize_ir::op::BinOp;

/// The divisors of the two sides of a comparison.
#[derive(Default)]
pub(super) struct Divisors {
    /// Of the side that is looked at, in normal form.
    noted: BTreeSet<String>,
    /// The second side was seen to have more.
    more: bool,
    /// A side had no normal form.
    unknown: bool,
}

impl Divisors {
    /// Notes one that is divided by. What is the same but for the names of bound variables is the same.
    pub fn note(&mut self, divisor: &Poly, bound: &BTreeSet<Sym>) {
        let mut text = format!("{divisor:?}");
        for name in bound {
            text = text.replace(&**name, "_");
        }
        self.noted.insert(text);
    }

    /// Those of a side; the next one begins with none.
    pub fn take(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.noted)
    }

    /// Holds those of the second side against those of the first.
    pub fn compare(&mut self, first: &BTreeSet<String>, second: &BTreeSet<String>) {
        self.more |= !second.is_subset(first);
    }

    /// There is no normal form to see them in.
    pub fn are_unknown(&mut self) {
        self.unknown = true;
    }

    /// Whether the second side, `b`, divides by more, as far as is known.
    pub fn second_has_more(&self, a: &ElemRef, b: &ElemRef) -> bool {
        self.more || self.unknown && !as_written(b).is_subset(&as_written(a))
    }
}

/// The divisors as they stand there, but for numbers.
fn as_written(e: &ElemRef) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    canon::elem(e).visit(&mut |x| {
        if let Elem::Binary(BinOp::Divide, _, d) = &**x
            && d.ty().is_float()
            && !matches!(&**d, Elem::Const(v) if v.as_f64() != 0.0)
        {
            all.insert(d.to_string());
        }
    });
    all
}
