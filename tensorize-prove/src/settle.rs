//! What is decided by the sizes here: which branch is taken, what a comparison compares, what a quotient is.

use crate::canon;
use crate::chain::and;
use crate::clamp::{larger_or_smaller, may_be_limit};
use crate::conditions::is_index_condition;
use crate::context::Context;
use crate::eval::{as_idx, index_like};
use crate::ring::around;
use tensorize_ir::element::{Elem, ElemRef, Transform};
use tensorize_ir::index::{Atom, Idx};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

impl Context<'_> {
    /// Takes the branch that is known to be taken, wherever a condition on indices is decided here, and the value of every
    /// quotient, remainder, maximum or minimum in them that has but one here.
    pub fn settle(&mut self, e: &ElemRef) -> ElemRef {
        let is = may_be_settled as fn(&ElemRef) -> bool;
        self.settle_term(e, &mut Transform::new(is))
    }

    /// The same, and the place that is read where a condition on indices chooses it: for comparisons. (A summary is plainer
    /// where a guard decides that.)
    pub(crate) fn settle_with_places(&mut self, e: &ElemRef) -> ElemRef {
        let is = may_be_chosen as fn(&ElemRef) -> bool;
        let e = self.settle(e);
        let outer = std::mem::replace(&mut self.chooses_places, true);
        let settled = self.settle_term(&e, &mut Transform::new(is));
        self.chooses_places = outer;
        settled
    }

    fn settle_term<'e>(&mut self, e: &'e ElemRef, done: &mut Settling<'e>) -> ElemRef {
        done.known(e).unwrap_or_else(|| {
            let settled = self.settle_anew(e, done);
            done.note(e, &settled);
            settled
        })
    }

    fn settle_anew<'e>(&mut self, e: &'e ElemRef, done: &mut Settling<'e>) -> ElemRef {
        if let Some((p, q)) = polynomials(e)
            && let Elem::Compare(_, a, _) | Elem::Binary(_, a, _) = &**e
        {
            if ![&p, &q].iter().all(|x| self.is_value_of(a.ty(), x)) {
                return e.clone();
            }
            return match &**e {
                Elem::Compare(op, ..) => self.settle(&canon::elem(&Elem::index_compare(*op, p, q))),
                Elem::Binary(BinOp::Minimum, ..) => {
                    Elem::of_idx(a.ty(), self.settle_index(&p.minimum(&q)))
                }
                _ => Elem::of_idx(a.ty(), self.settle_index(&p.maximum(&q))),
            };
        }
        match &**e {
            Elem::IndexCompare(..) => match self.decide(e) {
                Some(v) => Elem::constant(Scalar::bool(v)),
                None => e.clone(),
            },
            Elem::Select(c, t, f) => {
                let c = self.settle_term(c, done);
                let mark = self.mark();
                self.assume(c.clone());
                let t = done.apart(|done| self.settle_term(t, done));
                self.forget(mark);
                self.assume(Elem::not(c.clone()));
                let f = done.apart(|done| self.settle_term(f, done));
                self.forget(mark);
                Elem::select(c, t, f)
            }
            Elem::Binary(BinOp::And, a, b) if e.ty() == ScalarType::I1 => {
                let a = self.settle_term(a, done);
                let b = self.settle_term(b, done);
                and(a, b)
            }
            Elem::Fold(fold) => {
                let mut children = Vec::new();
                for lane in fold.lanes() {
                    children.push(self.settle_term(lane.init, done));
                    let mark = self.mark();
                    self.assume_in_range(&fold.var, &fold.extent);
                    children.push(done.apart(|done| self.settle_term(lane.step, done)));
                    self.forget(mark);
                }
                e.rebuild(&children, std::slice::from_ref(&fold.extent))
            }
            _ => {
                let children = e.children().into_iter();
                let children: Vec<_> = children.map(|c| self.settle_term(c, done)).collect();
                let indices = e.indices().into_iter();
                let indices: Vec<_> = indices.map(|i| self.settle_index(i)).collect();
                e.rebuild(&children, &indices)
            }
        }
    }

    /// The index that an integer is, unless it may have wrapped to its type.
    fn index(&mut self, e: &ElemRef) -> Option<Idx> {
        index_like(e).filter(|p| self.is_value_of(e.ty(), p))
    }

    /// The mathematical value of an integer; `None` of an index that may have wrapped to its type.
    pub(crate) fn number(&mut self, e: &ElemRef) -> Option<Idx> {
        match &**e {
            Elem::Convert(to, inner) if inner.ty().fits_in(*to) => self.number(inner),
            Elem::OfIdx(ty, p) => self.is_value_of(*ty, p).then(|| p.clone()),
            _ => Some(as_idx(e)),
        }
    }

    /// Whether it is a number of the type.
    pub(crate) fn is_value_of(&mut self, ty: ScalarType, p: &Idx) -> bool {
        let (min, max) = (Idx::constant(ty.min_value()), Idx::constant(ty.max_value()));
        (self.proves(CmpOp::Ge, p, &min) && self.proves(CmpOp::Le, p, &max))
            || self.stays_in_by_types(ty, p)
    }

    /// A counter at the start of a round, without the minima and maxima of which it is known here which side they are: before
    /// block `k` of 64 elements, `min(64·k, n)` is `64·k`. Most counters have none, and are left alone.
    pub fn settle_counter(&mut self, at: &Idx) -> Idx {
        let is_limit = |a: &Atom| matches!(a, Atom::Max(..) | Atom::Min(..));
        match at.terms().any(|(factors, _)| factors.iter().any(is_limit)) {
            true => self.settle_index(at),
            false => at.clone(),
        }
    }

    /// The polynomial without what has but one value here: a quotient of what is less than the divisor, a maximum of which
    /// it is known which side it is.
    pub fn settle_index(&mut self, idx: &Idx) -> Idx {
        let simpler = idx.map_atoms(&mut |atom| match atom {
            Atom::Max(a, b) | Atom::Min(a, b) => {
                let (a, b) = (self.settle_index(a), self.settle_index(b));
                let is_max = matches!(atom, Atom::Max(..));
                let larger = if is_max { (&a, &b) } else { (&b, &a) };
                Some(if self.proves(CmpOp::Ge, &a, &b) {
                    larger.0.clone()
                } else if self.proves(CmpOp::Ge, &b, &a) {
                    larger.1.clone()
                } else if is_max {
                    a.maximum(&b)
                } else {
                    a.minimum(&b)
                })
            }
            Atom::FloorDiv(a, b) | Atom::Mod(a, b) => {
                let (a, b) = (self.settle_index(a), self.settle_index(b));
                let is_quotient = matches!(atom, Atom::FloorDiv(..));
                if let Some((times, rest)) = around(self, &a, &b) {
                    return Some(if is_quotient { times } else { rest });
                }
                let less = self.is_non_negative(&a) && self.proves(CmpOp::Lt, &a, &b);
                Some(match (less, is_quotient) {
                    (true, true) => Idx::default(),
                    (true, false) => a,
                    (false, true) => a.floor_div(&b),
                    (false, false) => a.modulo(&b),
                })
            }
            Atom::Value(e) => match &**e {
                Elem::Select(c, t, f) if self.chooses_places && is_index_condition(c) => {
                    let holds = self.decide(c)?;
                    self.index(if holds { t } else { f })
                }
                Elem::Select(c, t, f) => {
                    let limit = larger_or_smaller(self, c, t, f)?;
                    self.index(&limit)
                }
                _ => None,
            },
            _ => None,
        });
        canon::idx(&simpler)
    }
}

/// What is compared as machine integers, or of which the smaller or larger one is taken, before it was wrapped to their type.
pub(crate) fn polynomials(e: &Elem) -> Option<(Idx, Idx)> {
    match e {
        Elem::Compare(_, a, b) | Elem::Binary(BinOp::Minimum | BinOp::Maximum, a, b) => {
            canon::polynomial(a).zip(canon::polynomial(b))
        }
        _ => None,
    }
}

type Settling<'e> = Transform<'e, fn(&ElemRef) -> bool>;

fn may_be_settled(e: &ElemRef) -> bool {
    let mut atoms = e.indices().into_iter().flat_map(|i| i.terms());
    matches!(&**e, Elem::IndexCompare(..))
        || polynomials(e).is_some()
        || atoms.any(|(m, _)| m.iter().any(is_composed))
}

fn may_be_chosen(e: &ElemRef) -> bool {
    let mut atoms = e.indices().into_iter().flat_map(|i| i.terms());
    let chosen = |a: &Atom| match a {
        Atom::Value(e) => matches!(&**e, Elem::Select(c, ..) if is_index_condition(c)),
        _ => false,
    };
    matches!(&**e, Elem::IndexCompare(..)) || atoms.any(|(m, _)| m.iter().any(chosen))
}

/// Whether it is a quotient, a remainder, a maximum or a minimum, or may be one.
fn is_composed(atom: &Atom) -> bool {
    match atom {
        Atom::Sym(_) => false,
        Atom::Value(e) => matches!(&**e, Elem::Select(c, t, f) if may_be_limit(c, t, f)),
        _ => true,
    }
}
