//! Algorithms that move elements, or make new ones, or compare two ranges; and elements that are structs.

use super::super::call::Arg;
use super::super::ffi::Cursor;
use super::super::lower::{Lower, Result, convert, offset_op};
use super::super::place::{Place, Pointer};
use super::super::types::usual;
use super::algorithm::Dest;
use super::call::Call;
use super::lambda::Callable;
use super::seq::{index_of, int};
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::{BinOp, CmpOp};

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
                let dest = Dest::At(self.settled_pointer(start)?);
                let last = offset_op(BinOp::Subtract, range.len.clone(), int(1));
                self.count_to(range.len.clone(), c, |s, k| {
                    let k = offset_op(BinOp::Subtract, last, k);
                    s.put_copy(&dest, k.clone(), range.at(k), c)
                })?;
            }
            ("generate", 3) => {
                let range = self.range(call, 0)?;
                let f = self.callable(call.arg(2)?)?;
                let dest = Dest::At(range.start);
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

    /// Whether two ranges have equal elements, or one range has them in order.
    pub(super) fn compared(&mut self, call: &Call<'u>) -> Result<Option<Option<Expr>>> {
        let c = call.at;
        let range = self.range(call, 0)?;
        if !range.start.dims.is_empty() {
            return Err(call.unsupported());
        }
        let (len, second) = match (call.name.as_str(), call.args.len()) {
            ("equal", 3) => {
                let second = self.pointer(call.arg(2)?)?;
                (range.len.clone(), Some(self.settled_pointer(second)?))
            }
            ("is_sorted", 2) => (offset_op(BinOp::Subtract, range.len.clone(), int(1)), None),
            _ => return Err(call.unsupported()),
        };
        let len = self.settled("n", len)?;
        let position = self.first_where(len.clone(), c, |s, k| {
            let one = s.load(range.at(k.clone()), c)?;
            let (op, other) = match second {
                Some(second) => (CmpOp::Ne, second.moved(k).deref()),
                None => (CmpOp::Gt, range.at(offset_op(BinOp::Add, k, int(1)))),
            };
            let other = s.load(other, c)?;
            let ty = usual(one.ty(), other.ty());
            Ok(Expr::compare(op, convert(ty, one), convert(ty, other)))
        })?;
        Ok(Some(Some(Expr::compare(CmpOp::Ge, position, len))))
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
            (Dest::At(p), Place::Array(from)) => {
                let to = p.clone().moved(k).deref();
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
            (None, Dest::At(p)) => {
                let values = self.returned_struct.take();
                let values = values.ok_or_else(|| call.unsupported())?;
                self.put_numbers(p.clone().moved(k).deref(), values, call.at)
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
    fn put_numbers(&mut self, to: Place, values: Vec<Expr>, at: Cursor<'u>) -> Result<()> {
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
