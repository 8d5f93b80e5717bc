//! Algorithms that move elements, or make new ones, or compare two ranges; and elements that are structs.

use super::super::call::Arg;
use super::super::expr::{as_truth, negation};
use super::super::ffi::Cursor;
use super::super::lower::{Lower, Result, Target, offset_op, zero_offset};
use super::super::place::{Place, Pointer, product};
use super::algorithm::Dest;
use super::call::Call;
use super::lambda::Callable;
use super::seq::{index_of, int};
use super::walk::{Range, Walk, is_iterator};
use tensorize_ir::loopir::{Expr, Len, LocalArray, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// An argument that is a reference to something, or to a value that nothing else names.
pub(super) enum Given {
    Place(Place),
    Value(Expr),
}

impl<'u> Lower<'u, '_> {
    /// What an algorithm gets by reference: one of the elements, say, which changes meanwhile.
    pub(super) fn by_reference_to(&mut self, call: &Call<'u>, i: usize) -> Result<Given> {
        let e = call.arg(i)?;
        if self.is_place(e) {
            let place = self.place(e)?;
            return Ok(Given::Place(self.settled_place(place)?));
        }
        let value = self.value(e)?;
        Ok(Given::Value(self.settled("given", value)?))
    }

    pub(super) fn now(&mut self, given: &Given, at: Cursor<'u>) -> Result<Expr> {
        match given {
            Given::Place(place) => self.load(place.clone(), at),
            Given::Value(v) => Ok(v.clone()),
        }
    }

    /// How far the second of two places is ahead of the first, if both are in one array.
    fn ahead(
        &mut self,
        from: Option<&Pointer>,
        to: Option<&Pointer>,
        at: Cursor<'u>,
    ) -> Result<Option<Expr>> {
        match (from, to) {
            (Some(from), Some(to)) if to.target.array == from.target.array => {
                self.distance(from, to, at).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `std::copy` and `std::copy_n`
    pub(super) fn copy_range(&mut self, range: &Range, dest: &Dest, at: Cursor<'u>) -> Result<()> {
        let ahead = self.ahead(range.walk.start(), dest.start(), at)?;
        // Onto itself, further back: not defined, and done as `memmove` does it.
        let back = matches!(&ahead, Some(Expr::Const(v)) if v.as_int() > 0);
        if let (Some(ahead), false) = (ahead, back) {
            self.not_onto_itself(ahead, range.len.clone(), false, at)?;
        }
        let last = offset_op(BinOp::Subtract, range.len.clone(), int(1));
        self.count_to(range.len.clone(), at, |s, k| {
            let k = match back {
                true => offset_op(BinOp::Subtract, last, k),
                false => k,
            };
            s.put_copy(dest, k.clone(), range.at(k), at)
        })
    }

    /// The algorithms that move elements or make new ones.
    pub(super) fn moving(&mut self, call: &Call<'u>) -> Result<Option<Option<Expr>>> {
        let c = call.at;
        match (call.name.as_str(), call.args.len()) {
            ("reverse_copy", 3) => {
                let range = self.range(call, 0)?;
                let dest = self.dest(call.arg(2)?)?;
                let last = offset_op(BinOp::Subtract, range.len.clone(), int(1));
                self.count_to(range.len.clone(), c, |s, k| {
                    let from = range.at(offset_op(BinOp::Subtract, last, k.clone()));
                    s.put_copy(&dest, k, from, c)
                })?;
            }
            // From the last element to the first one.
            ("copy_backward", 3) => {
                let range = self.range(call, 0)?;
                let end = self.pointer(call.arg(2)?)?;
                let start = end.moved(offset_op(BinOp::Subtract, int(0), range.len.clone()));
                let start = self.settled_pointer(start)?;
                if let Some(behind) = self.ahead(Some(&start), range.walk.start(), c)? {
                    self.not_onto_itself(behind, range.len.clone(), false, c)?;
                }
                let dest = Dest::At(Walk::ahead(start));
                let last = offset_op(BinOp::Subtract, range.len.clone(), int(1));
                self.count_to(range.len.clone(), c, |s, k| {
                    let k = offset_op(BinOp::Subtract, last, k);
                    s.put_copy(&dest, k.clone(), range.at(k), c)
                })?;
            }
            ("generate", 3) => {
                let range = self.range(call, 0)?;
                let f = self.callable(call.arg(2)?)?;
                let dest = Dest::At(range.walk);
                self.count_to(range.len, c, |s, k| {
                    s.put_called(&dest, k, &f, vec![], call)
                })?;
            }
            ("generate_n", 3) => {
                let dest = self.dest(call.arg(0)?)?;
                let len = index_of(self.value(call.arg(1)?)?);
                let f = self.callable(call.arg(2)?)?;
                self.count_to(len, c, |s, k| s.put_called(&dest, k, &f, vec![], call))?;
            }
            // The sums of all beginnings, each without its last element.
            ("exclusive_scan", 4) => {
                let range = self.range(call, 0)?;
                let dest = self.dest(call.arg(2)?)?;
                let init = self.value(call.arg(3)?)?;
                let (var, ty) = (self.fresh("acc"), init.ty());
                self.assign_var(var.clone(), init)?;
                let acc = Expr::Var(var.clone(), ty);
                self.count_to(range.len.clone(), c, |s, k| {
                    let v = s.load(range.at(k.clone()), c)?;
                    let v = s.hold("value", v)?;
                    s.put(&dest, k, acc.clone(), c)?;
                    let next = s.accumulated(&None, acc, v, call)?;
                    s.assign_var(var, next)
                })?;
            }
            _ => return Err(call.unsupported()),
        }
        Ok(Some(None))
    }

    /// Whether two ranges have equal elements.
    pub(super) fn equal(&mut self, call: &Call<'u>) -> Result<Option<Option<Expr>>> {
        let n = call.args.len();
        // Whether the second range has an end of its own.
        let ends = n >= 4 && (call.is_range(2) || is_iterator(call.arg(3)?));
        let range = self.range(call, 0)?;
        let (second, other_len) = match ends {
            true => {
                let second = self.range(call, 2)?;
                (second.walk, second.len)
            }
            false => (self.walk(call.arg(2)?)?, range.len.clone()),
        };
        let f = match n - 3 - usize::from(ends) {
            0 => None,
            1 => Some(self.callable(call.arg(n - 1)?)?),
            _ => return Err(call.unsupported()),
        };
        if !range.walk.is_of_numbers() || !second.is_of_numbers() {
            return Err(call.unsupported());
        }
        let same = |s: &mut Self| {
            let len = range.len.clone();
            let position = s.first_where(len.clone(), call.at, |s, k| {
                let (a, b) = (range.at(k.clone()), second.at(k));
                let result = s.are_related(CmpOp::Ne, &f, a, b, call)?;
                Ok(if f.is_some() {
                    negation(result)
                } else {
                    result
                })
            })?;
            Ok(Expr::compare(CmpOp::Ge, position, len))
        };
        if !ends || other_len == range.len {
            return same(self).map(|v| Some(Some(v)));
        }
        // Of two lengths, no element is looked at.
        let is = self.fresh("equal");
        let result = Expr::Var(is.clone(), ScalarType::I1);
        self.assign_var(is.clone(), Expr::Const(Scalar::bool(false)))?;
        let cond = Expr::compare(CmpOp::Eq, range.len.clone(), other_len);
        let (then, ()) = self.in_block(|s| {
            let value = same(s)?;
            s.assign_var(is, value)
        })?;
        self.emit(Stmt::If {
            cond,
            then,
            otherwise: vec![],
        })?;
        Ok(Some(Some(result)))
    }

    /// Whether elements are in order: none is less than the one before it.
    pub(super) fn is_sorted(&mut self, call: &Call<'u>) -> Result<Option<Option<Expr>>> {
        let range = self.range(call, 0)?;
        let f = call.args.get(2).map(|&f| self.callable(f)).transpose()?;
        if !range.walk.is_of_numbers() || call.args.len() > 3 {
            return Err(call.unsupported());
        }
        let len = offset_op(BinOp::Subtract, range.len.clone(), int(1));
        let len = self.settled("n", len)?;
        let position = self.first_where(len.clone(), call.at, |s, k| {
            let next = range.at(offset_op(BinOp::Add, k.clone(), int(1)));
            s.are_related(CmpOp::Lt, &f, next, range.at(k), call)
        })?;
        Ok(Some(Some(Expr::compare(CmpOp::Ge, position, len))))
    }

    /// What a function object says of two elements, or `op` does.
    fn are_related(
        &mut self,
        op: CmpOp,
        f: &Option<Callable<'u>>,
        a: Place,
        b: Place,
        call: &Call<'u>,
    ) -> Result<Expr> {
        if let Some(f) = f {
            return self.called(f, vec![a, b], call).map(as_truth);
        }
        let (a, b) = self.both(a, b, call.at)?;
        Ok(Expr::compare(op, a, b))
    }

    /// `std::rotate`: into a copy, and back.
    pub(super) fn rotated(&mut self, call: &Call<'u>) -> Result<()> {
        let (range, before) = self.around_middle(call)?;
        let start = self.start_of(&range, call)?;
        let constant = |e: &Expr| match e {
            Expr::Const(v) => usize::try_from(v.as_int()).ok(),
            _ => None,
        };
        if !start.dims.iter().all(|d| constant(d).is_some()) || start.view != start.target.elem {
            return Err(call.unsupported());
        }
        let numbers = offset_op(BinOp::Multiply, range.len.clone(), product(&start.dims));
        let copy = Target {
            array: self.fresh("rotated"),
            elem: start.target.elem,
        };
        self.arrays.push(LocalArray {
            name: copy.array.clone(),
            elem: copy.elem,
            len: constant(&numbers).map_or(Len::Touched, Len::Fixed),
            init: None,
        });
        let copy = Walk::ahead(Pointer {
            target: copy,
            offset: zero_offset(),
            ..start.clone()
        });
        let dest = Dest::At(copy.clone());
        self.put_rotated(&range, before, &dest, call)?;
        let back = Dest::At(Walk::ahead(start));
        self.count_to(range.len, call.at, |s, k| {
            s.put_copy(&back, k.clone(), copy.at(k), call.at)
        })
    }

    /// `std::rotate_copy`: what follows the middle, and then what comes before it.
    pub(super) fn rotated_copy(&mut self, call: &Call<'u>) -> Result<()> {
        let (range, before) = self.around_middle(call)?;
        let dest = self.dest(call.arg(3)?)?;
        self.put_rotated(&range, before, &dest, call)
    }

    /// A range, and how many of its elements come before the one that will be the first.
    fn around_middle(&mut self, call: &Call<'u>) -> Result<(Range, Expr)> {
        // The middle stands between the ends, but after a range.
        let (range, middle) = match call.is_range(0) {
            true => (self.range(call, 0)?, call.arg(2)?),
            false => {
                let range = self.between(call.arg(0)?, call.arg(2)?, call.at)?;
                (range, call.arg(1)?)
            }
        };
        let start = self.start_of(&range, call)?;
        let middle = self.pointer(middle)?;
        let before = self.distance(&start, &middle, call.at)?;
        Ok((range, self.settled("before", before)?))
    }

    fn put_rotated(
        &mut self,
        range: &Range,
        before: Expr,
        dest: &Dest,
        call: &Call<'u>,
    ) -> Result<()> {
        let after = offset_op(BinOp::Subtract, range.len.clone(), before.clone());
        let after = self.settled("after", after)?;
        self.count_to(after.clone(), call.at, |s, k| {
            let from = range.at(offset_op(BinOp::Add, before.clone(), k.clone()));
            s.put_copy(dest, k, from, call.at)
        })?;
        self.count_to(before, call.at, |s, k| {
            let to = offset_op(BinOp::Add, after, k.clone());
            s.put_copy(dest, to, range.at(k), call.at)
        })
    }

    /// Stores a copy of an element.
    pub(super) fn put_copy(
        &mut self,
        dest: &Dest,
        k: Expr,
        from: Place,
        at: Cursor<'u>,
    ) -> Result<()> {
        match (dest, from) {
            (Dest::At(walk), Place::Array(from)) => {
                let to = walk.at(k);
                let values = self.numbers_at(&from, at)?;
                self.put_numbers(to, values, at)
            }
            (dest, from) => {
                let v = self.load(from, at)?;
                self.put(dest, k, v, at)
            }
        }
    }

    /// Stores what a function object gives.
    pub(super) fn put_called(
        &mut self,
        dest: &Dest,
        k: Expr,
        f: &Callable<'u>,
        places: Vec<Place>,
        call: &Call<'u>,
    ) -> Result<()> {
        let args = places.into_iter().map(Arg::Place).collect();
        let value = self.apply(f, args, call.at.referenced(), call.at)?;
        match (value, dest) {
            (Some(v), dest) => self.put(dest, k, v, call.at),
            (None, Dest::At(walk)) => {
                let values = self.returned_struct.take();
                let values = values.ok_or_else(|| call.unsupported())?;
                self.put_numbers(walk.at(k), values, call.at)
            }
            _ => Err(call.unsupported()),
        }
    }

    /// The numbers of a struct in an array, as they are now.
    fn numbers_at(&mut self, of: &Pointer, at: Cursor<'u>) -> Result<Vec<Expr>> {
        let places = self.numbers_of_element(of, at)?;
        let values = places.into_iter().map(|p| {
            let v = self.load(p, at)?;
            self.hold("number", v)
        });
        values.collect()
    }

    /// Stores the numbers of a struct in an array.
    pub(super) fn put_numbers(
        &mut self,
        to: Place,
        values: Vec<Expr>,
        at: Cursor<'u>,
    ) -> Result<()> {
        let places = match &to {
            Place::Array(to) => self.numbers_of_element(to, at)?,
            _ => vec![],
        };
        if places.len() != values.len() {
            let message = "a struct where a number is stored";
            return Err(super::super::lower::problem(
                super::super::codes::RECORD,
                message,
                at,
            ));
        }
        let mut both = places.into_iter().zip(values);
        both.try_for_each(|(place, v)| self.store_element(place, v, at))
    }

    /// Each of two structs in arrays holds afterwards what the other one held.
    pub(in super::super) fn exchange_elements(
        &mut self,
        a: &Pointer,
        b: &Pointer,
        at: Cursor<'u>,
    ) -> Result<()> {
        let (one, other) = (self.numbers_at(a, at)?, self.numbers_at(b, at)?);
        self.put_numbers(Place::Array(a.clone()), other, at)?;
        self.put_numbers(Place::Array(b.clone()), one, at)
    }
}
