//! Results of which the data says where each round goes, as a histogram: the framework's own scatter.

use super::element::{Scope, as_reducer};
use super::node::Emitter;
use super::py::{Code, tuple};
use crate::Unsupported;
use crate::scatter::{inside, writes};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Function, Op, Reducer, dim};

/// Rounds that each leave something at a place that the data says.
pub(crate) struct Scatter<'a> {
    /// What stands at all places before.
    pub start: &'a ElemRef,
    /// Names and numbers of the rounds, outermost first.
    pub rounds: Vec<(Sym, Idx)>,
    /// Where a round goes, as so many dimensions of the result, the first ones.
    pub told: Vec<Idx>,
    /// When it goes there.
    conditions: Vec<ElemRef>,
    /// What becomes of what is there and `x`; `None` if that is `x`.
    pub op: Option<BinOp>,
    pub x: ElemRef,
}

impl<'a> Scatter<'a> {
    /// `None` if the element of a tensor of so many dimensions is no such result, or one that no framework has.
    pub fn of(e: &'a ElemRef, rank: usize) -> Option<Scatter<'a>> {
        let Elem::Fold(fold) = &**e else { return None };
        let dims: Vec<Sym> = (0..rank).map(dim).collect();
        let (last, writes) = writes(&dims, fold)?;
        let [write] = writes.as_slice() else {
            return None;
        };
        let (mut rounds, mut conditions) = (vec![], vec![]);
        let mut at = &**fold;
        loop {
            rounds.push((at.var.clone(), at.extent.clone()));
            let Some((when, inner)) = inside(at) else {
                break;
            };
            conditions.extend(when);
            at = inner;
        }
        let (on_old, others): (Vec<ElemRef>, Vec<ElemRef>) =
            (write.conditions.iter().cloned()).partition(|c| c.mentions(&last.acc));
        conditions.extend(others);
        let old: ElemRef = Arc::new(Elem::Acc(last.acc.clone(), e.ty()));
        let value = on_old.into_iter().fold(write.value.clone(), |value, c| {
            Elem::select(c, value, old.clone())
        });
        let told: Option<Vec<Idx>> = dims[..write.told.len()]
            .iter()
            .map(|d| write.told.get(d).cloned())
            .collect();
        let (op, x) = combined(last, &value)?;
        let by_itself = |e: &ElemRef| e.mentions(&last.acc);
        let varies = |n: &Idx| {
            let plain = |a: &Atom| matches!(a, Atom::Sym(_));
            !n.terms().flat_map(|(m, _)| m).all(plain) || rounds.iter().any(|(v, _)| n.mentions(v))
        };
        let open = rounds.iter().any(|(_, n)| varies(n))
            || conditions.iter().chain([&x]).any(by_itself)
            || conditions
                .iter()
                .any(|c| dims.iter().any(|d| c.mentions(d)))
            || dims[..write.told.len()].iter().any(|d| x.mentions(d));
        (!open).then_some(Scatter {
            start: &fold.init,
            rounds,
            told: told?,
            conditions,
            op,
            x,
        })
    }

    /// How many rounds there are.
    pub fn count(&self) -> Idx {
        all(self.rounds.iter().map(|(_, n)| n))
    }

    /// The dimensions of what all rounds have: the rounds', and those of the result that the data does not say.
    pub fn axes(&self, rest: &[Idx]) -> Vec<(Sym, Idx)> {
        let own = rest.iter().enumerate();
        let own = own.map(|(i, n)| (dim(self.told.len() + i), n.clone()));
        self.rounds.iter().cloned().chain(own).collect()
    }

    /// Where a round goes, of so many places in these dimensions as one: to one behind the last, where that is none of them or
    /// its conditions do not hold. Also whether it surely goes to one of them.
    pub fn place(&self, places: &[Idx]) -> (ElemRef, bool) {
        let mut conditions = self.conditions.clone();
        let mut place = Idx::default();
        for (at, n) in self.told.iter().zip(places) {
            place = &(&place * n) + at;
            let (low, high) = limits(at).map_or((true, true), |(low, high)| {
                (low < 0, n.as_constant().is_none_or(|n| high >= n))
            });
            let zero = Idx::default();
            if low {
                conditions.push(Elem::index_compare(CmpOp::Ge, at.clone(), zero));
            }
            if high {
                conditions.push(Elem::index_compare(CmpOp::Lt, at.clone(), n.clone()));
            }
        }
        let both = |a, b| Arc::new(Elem::Binary(BinOp::And, a, b));
        let number = |i: Idx| Elem::of_idx(ScalarType::I64, i);
        match conditions.into_iter().reduce(both) {
            Some(c) => (Elem::select(c, number(place), number(all(places))), false),
            None => (number(place), true),
        }
    }
}

/// How many there are in such dimensions.
pub(crate) fn all<'a>(extents: impl IntoIterator<Item = &'a Idx>) -> Idx {
    let extents = extents.into_iter();
    extents.fold(Idx::constant(1), |product, n| &product * n)
}

/// What a round makes of what is there, as an operator and its other operand.
fn combined(fold: &Fold, value: &ElemRef) -> Option<(Option<BinOp>, ElemRef)> {
    if !value.mentions(&fold.acc) {
        return Some((None, value.clone()));
    }
    let one = Fold::new(
        fold.acc.clone(),
        fold.var.clone(),
        fold.extent.clone(),
        fold.init.clone(),
        value.clone(),
    );
    let ty = value.ty();
    use BinOp::{Add, And, Maximum, Minimum, Multiply, Or, Subtract, Xor};
    match as_reducer(&one)? {
        (Reducer::Op(op @ (Add | Multiply | And | Or | Xor)), x) => Some((Some(op), x)),
        (Reducer::Op(op @ (Maximum | Minimum)), x) if ty.is_int() => Some((Some(op), x)),
        (Reducer::Op(Subtract), x) => {
            let negated = Elem::Unary(UnOp::Negate, x);
            Some((Some(Add), Arc::new(negated)))
        }
        // Of integers no two are equal that differ.
        (Reducer::TakeIf(cmp) | Reducer::KeepIf(cmp), x) if ty.is_int() => {
            let op = match cmp {
                CmpOp::Gt | CmpOp::Ge => Maximum,
                CmpOp::Lt | CmpOp::Le => Minimum,
                CmpOp::Eq | CmpOp::Ne => return None,
            };
            Some((Some(op), x))
        }
        _ => None,
    }
}

/// The summary without what frameworks have such functions for.
pub(super) fn without(function: &Function) -> Function {
    let mut rest = function.clone();
    for node in &mut rest.nodes {
        if let Op::Generic(e) = &node.op
            && Scatter::of(e, node.ty.rank()).is_some()
        {
            node.op = Op::Generic(Arc::new(Elem::Const(Scalar::zero(node.ty.elem))));
        }
    }
    rest
}

impl Emitter<'_> {
    /// The tensor of this shape, if its elements are such results.
    pub(super) fn scatter(
        &mut self,
        e: &ElemRef,
        shape: &[Idx],
    ) -> Result<Option<Code>, Unsupported> {
        let Some(s) = Scatter::of(e, shape.len()) else {
            return Ok(None);
        };
        let ty = e.ty();
        let (places, rest) = shape.split_at(s.told.len());
        let (count, rounds) = (all(places), s.count());
        let flat = |n: &Idx| [std::slice::from_ref(n), rest].concat();
        let of_rounds = Scope::over(s.rounds.clone());
        // What each round has.
        let x = self.all_elements(&s.x, &Scope::over(s.axes(rest)))?;
        let x = match s.rounds.len() {
            1 => x,
            _ => self.reshaped(&x, ty, &flat(&rounds))?,
        };
        // What goes nowhere goes to a place behind the last, which is dropped.
        let (at, somewhere) = s.place(places);
        let at = self.all_elements(&at, &of_rounds)?;
        let at = match s.rounds.len() {
            1 => at,
            _ => self.reshaped(&at, ScalarType::I64, std::slice::from_ref(&rounds))?,
        };
        let at = self.body.hold("at", at);
        let mut start = self.all_elements(s.start, &Scope::of(shape))?;
        if places.len() > 1 {
            start = self.reshaped(&start, ty, &flat(&count))?;
        }
        if !somewhere {
            let none = Code::atom(self.literal(Scalar::zero(ty))?, false);
            let none = self.all_of_shape(&none, &flat(&Idx::constant(1)))?;
            start = self.joined(&[start, none], ty)?;
        }
        let name = format!("scatter_{}", s.op.map_or("last", |op| op.name()));
        let operands = [
            ("start", (&start).into()),
            ("at", (&at).into()),
            ("a", (&x).into()),
        ];
        let mut code = self.form(&name, ty, &operands)?;
        code.full = true;
        if !somewhere {
            let count = self.size_index(&count)?;
            code = Code::atom(
                format!("{}[:{count}]", code.at(super::py::Level::Atom)),
                true,
            );
        }
        if places.len() > 1 {
            code = self.reshaped(&code, ty, shape)?;
        }
        Ok(Some(self.body.hold("scattered", code)))
    }

    fn reshaped(&mut self, x: &Code, ty: ScalarType, shape: &[Idx]) -> Result<Code, Unsupported> {
        let shape = self.device_shape(shape)?;
        let operands = [("a", x.into()), ("shape", (&shape).into())];
        let code = self.moving("reshape", ty, &operands)?;
        Ok(Code { full: true, ..code })
    }

    fn joined(&mut self, pieces: &[Code], ty: ScalarType) -> Result<Code, Unsupported> {
        let pieces: Vec<String> = pieces.iter().map(|p| p.s.clone()).collect();
        let pieces = Code::atom(tuple(&pieces), true);
        let operands = [("a", (&pieces).into()), ("axis", "0".into())];
        self.moving("concatenate", ty, &operands)
    }
}

/// The least and the greatest number that an index can be, by the types of what it is made of, if it is made of no more than
/// one number from memory.
fn limits(at: &Idx) -> Option<(i128, i128)> {
    let mut found = None;
    let mut terms = at.terms();
    if let (Some((monomial, 1)), None) = (terms.next(), terms.next())
        && let [Atom::Value(e)] = monomial
    {
        let mut e = e;
        // A number of a wider type is what it was.
        while let Elem::Convert(to, inner) = &**e
            && inner.ty().fits_in(*to)
        {
            e = inner;
        }
        found = (e.ty().is_int()).then(|| (e.ty().min_value(), e.ty().max_value()));
    }
    found
}
