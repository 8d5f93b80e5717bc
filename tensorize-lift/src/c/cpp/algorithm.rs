//! `<algorithm>` and `<numeric>`: each algorithm as the loop that the standard describes.

use super::super::call::Arg;
use super::super::expr::{Arith, arithmetic, as_truth};
use super::super::ffi::Cursor;
use super::super::lower::{Lower, Result, convert, offset_op};
use super::super::place::{Place, Pointer};
use super::super::types::{self, Ty, promote, usual};
use super::call::Call;
use super::class::Class;
use super::lambda::Callable;
use super::seq::{Seq, index_of, int};
use super::walk::{Range, Walk, is_iterator};
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Whether an algorithm writes memory besides what its function object does.
pub(super) fn writes(name: &str) -> bool {
    !matches!(
        name,
        "accumulate"
            | "reduce"
            | "inner_product"
            | "transform_reduce"
            | "count"
            | "count_if"
            | "any_of"
            | "all_of"
            | "none_of"
            | "find"
            | "find_if"
            | "find_if_not"
            | "max_element"
            | "min_element"
            | "minmax_element"
            | "equal"
            | "is_sorted"
            | "max"
            | "min"
            | "clamp"
    )
}

/// Where an algorithm puts its results.
pub(super) enum Dest {
    At(Walk),
    /// `std::back_inserter(v)`
    Push(Seq),
}

impl Dest {
    /// Where it starts, if what is there is written from the first element to the last.
    pub fn start(&self) -> Option<&Pointer> {
        match self {
            Dest::At(walk) => walk.start(),
            Dest::Push(_) => None,
        }
    }
}

impl<'u> Lower<'u, '_> {
    /// The algorithms that are statements, or that give a number. `None` if the call is none of them.
    pub(super) fn algorithm(&mut self, call: &Call<'u>) -> Result<Option<Option<Expr>>> {
        let c = call.at;
        if !call.is_algorithm() {
            return Ok(None);
        }
        let n = call.args.len();
        let function = |s: &mut Self, i: usize| s.callable(call.arg(i)?);
        match (call.name.as_str(), n) {
            ("fill", 3) => {
                let range = self.range(call, 0)?;
                let value = self.element_value(&range, call.arg(2)?)?;
                let value = self.settled("value", value)?;
                self.count_to(range.len.clone(), c, |s, k| {
                    s.fill_place(range.at(k), value, c)
                })?;
            }
            ("fill_n", 3) => {
                let dest = self.dest(call.arg(0)?)?;
                let len = index_of(self.value(call.arg(1)?)?);
                let value = self.value(call.arg(2)?)?;
                let value = self.settled("value", value)?;
                self.count_to(len, c, |s, k| s.put(&dest, k, value, c))?;
            }
            ("copy", 3) => {
                let range = self.range(call, 0)?;
                let dest = self.dest(call.arg(2)?)?;
                self.copy_range(&range, &dest, c)?;
            }
            ("copy_n", 3) => {
                let from = self.pointer(call.arg(0)?)?;
                let range = Range {
                    walk: Walk::ahead(self.settled_pointer(from)?),
                    len: index_of(self.value(call.arg(1)?)?),
                };
                let dest = self.dest(call.arg(2)?)?;
                self.copy_range(&range, &dest, c)?;
            }
            ("transform", 4) => {
                let range = self.range(call, 0)?;
                let dest = self.dest(call.arg(2)?)?;
                let f = function(self, 3)?;
                self.count_to(range.len.clone(), c, |s, k| {
                    let places = vec![range.at(k.clone())];
                    s.put_called(&dest, k, &f, places, call)
                })?;
            }
            // With six arguments, `std::ranges`' own: as long as there are elements of both.
            ("transform", 5 | 6) => {
                let range = self.range(call, 0)?;
                let (second, len) = self.second(call, 2, &range, n == 6)?;
                let dest = self.dest(call.arg(n - 2)?)?;
                let f = function(self, n - 1)?;
                self.count_to(len, c, |s, k| {
                    let places = vec![range.at(k.clone()), second.at(k.clone())];
                    s.put_called(&dest, k, &f, places, call)
                })?;
            }
            ("for_each", 3) => {
                let range = self.range(call, 0)?;
                let f = function(self, 2)?;
                self.count_to(range.len.clone(), c, |s, k| {
                    s.apply(&f, vec![Arg::Place(range.at(k))], c.referenced(), c)
                        .map(|_| ())
                })?;
            }
            ("for_each_n", 3) => {
                let from = self.pointer(call.arg(0)?)?;
                let from = self.settled_pointer(from)?;
                let len = index_of(self.value(call.arg(1)?)?);
                let f = function(self, 2)?;
                self.count_to(len, c, |s, k| {
                    let place = Arg::Place(from.moved(k).deref());
                    s.apply(&f, vec![place], c.referenced(), c).map(|_| ())
                })?;
            }
            ("iota", 3) => {
                let range = self.range(call, 0)?;
                let start = self.value(call.arg(2)?)?;
                let ty = start.ty();
                let start = self.settled("start", start)?;
                if !ty.is_int() {
                    // 1 is added again and again, which rounds.
                    return Err(call.unsupported());
                }
                self.count_to(range.len.clone(), c, |s, k| {
                    let sum = Expr::binary(
                        BinOp::Add,
                        convert(promote(ty), start),
                        convert(promote(ty), k.clone()),
                    );
                    s.store_element(range.at(k), convert(ty, sum), c)
                })?;
            }
            ("replace", 4) => {
                let range = self.range(call, 0)?;
                let (old, new) = (
                    self.by_reference_to(call, 2)?,
                    self.by_reference_to(call, 3)?,
                );
                self.count_to(range.len.clone(), c, |s, k| {
                    let place = range.at(k);
                    let (v, old) = (s.load(place.clone(), c)?, s.now(&old, c)?);
                    let ty = usual(v.ty(), old.ty());
                    let cond = Expr::compare(CmpOp::Eq, convert(ty, v), convert(ty, old));
                    let new = s.now(&new, c)?;
                    s.replace_if(cond, place, new, c)
                })?;
            }
            ("replace_if", 4) => {
                let range = self.range(call, 0)?;
                let f = function(self, 2)?;
                let new = self.by_reference_to(call, 3)?;
                self.count_to(range.len.clone(), c, |s, k| {
                    let place = range.at(k);
                    let cond = as_truth(s.called(&f, vec![place.clone()], call)?);
                    let new = s.now(&new, c)?;
                    s.replace_if(cond, place, new, c)
                })?;
            }
            ("swap_ranges", 3 | 4) => {
                let range = self.range(call, 0)?;
                let (second, len) = self.second(call, 2, &range, n == 4)?;
                self.count_to(len, c, |s, k| {
                    let (a, b) = (range.at(k.clone()), second.at(k));
                    s.exchange(a, b, c)
                })?;
            }
            ("reverse", 2) => {
                let range = self.range(call, 0)?;
                let half = Expr::binary(BinOp::Divide, range.len.clone(), int(2));
                self.count_to(half, c, |s, k| {
                    let last = offset_op(BinOp::Subtract, range.len.clone(), int(1));
                    let (a, b) = (
                        range.at(k.clone()),
                        range.at(offset_op(BinOp::Subtract, last, k)),
                    );
                    s.exchange(a, b, c)
                })?;
            }
            (
                "reverse_copy" | "copy_backward" | "generate" | "generate_n" | "exclusive_scan",
                _,
            ) => {
                return self.moving(call);
            }
            (
                "copy_if" | "remove_copy_if" | "remove_copy" | "unique_copy" | "remove_if"
                | "remove" | "unique",
                _,
            ) => {
                if self.keeping(call)?.is_none() {
                    return Err(call.unsupported());
                }
            }
            ("equal", 3..=5) => return self.equal(call),
            ("is_sorted", _) => return self.is_sorted(call),
            ("rotate_copy", 4) => self.rotated_copy(call)?,
            ("rotate", 3) => self.rotated(call)?,
            ("adjacent_difference", 3 | 4) => self.differences(call)?,
            ("partial_sum" | "inclusive_scan", 3 | 4) => self.running(call)?,
            ("accumulate", 3 | 4) => {
                let range = self.range(call, 0)?;
                let f = call.args.get(3).map(|&f| self.callable(f)).transpose()?;
                let init = self.value(call.arg(2)?)?;
                return self.folded(call, init, range.len.clone(), f, |s, k| {
                    match range.at(k) {
                        // A struct, or a row.
                        whole @ Place::Array(_) => Ok(Arg::Place(whole)),
                        number => s.load(number, c).map(Arg::Value),
                    }
                });
            }
            ("reduce", 2..=4) => {
                let range = self.range(call, 0)?;
                let f = call.args.get(3).map(|&f| self.callable(f)).transpose()?;
                let init = match call.args.get(2) {
                    Some(&e) => self.value(e)?,
                    None => Expr::Const(Scalar::zero(range.walk.view())),
                };
                let len = range.len.clone();
                return self.reduced(call, init, len, f, |s, k| s.load(range.at(k), c));
            }
            ("inner_product", 4 | 6) | ("transform_reduce", 4 | 6)
                if call.name == "inner_product" || self.is_second_iterator(call)? =>
            {
                let range = self.range(call, 0)?;
                let second = self.walk(call.arg(2)?)?;
                let init = self.value(call.arg(3)?)?;
                let (f, g) = match n {
                    6 => (Some(function(self, 4)?), Some(function(self, 5)?)),
                    _ => (None, None),
                };
                let term = |s: &mut Self, k: Expr| {
                    let other = second.at(k.clone());
                    s.combined(&g, range.at(k), other, call)
                };
                let len = range.len.clone();
                return match call.name.as_str() {
                    "inner_product" => {
                        self.folded(call, init, len, f, |s, k| term(s, k).map(Arg::Value))
                    }
                    _ => self.reduced(call, init, len, f, term),
                };
            }
            ("transform_reduce", 5) => {
                let range = self.range(call, 0)?;
                let init = self.value(call.arg(2)?)?;
                let (f, g) = (function(self, 3)?, function(self, 4)?);
                return self.reduced(call, init, range.len.clone(), Some(f), |s, k| {
                    s.called(&g, vec![range.at(k)], call)
                });
            }
            ("count" | "count_if", 3) => {
                let range = self.range(call, 0)?;
                let f = (call.name == "count_if")
                    .then(|| function(self, 2))
                    .transpose()?;
                let wanted = match &f {
                    Some(_) => None,
                    None => {
                        let v = self.value(call.arg(2)?)?;
                        Some(self.settled("wanted", v)?)
                    }
                };
                let ty = ScalarType::I64;
                let sum = |a: Expr, b: Expr| Ok(Expr::binary(BinOp::Add, a, b));
                return self.fold(int(0), range.len.clone(), c, sum, |s, k| {
                    let place = range.at(k);
                    let found = match (&f, wanted) {
                        (Some(f), _) => as_truth(s.called(f, vec![place], call)?),
                        (None, Some(v)) => {
                            let element = s.load(place, c)?;
                            let ty = usual(element.ty(), v.ty());
                            Expr::compare(CmpOp::Eq, convert(ty, element), convert(ty, v))
                        }
                        (None, None) => return Err(call.unsupported()),
                    };
                    Ok(convert(ty, found))
                });
            }
            ("max" | "min", 2 | 3) if call.is_range(0) => {
                return self.extreme_element(call).map(|v| Some(Some(v)));
            }
            ("any_of" | "all_of" | "none_of", 3) => {
                let range = self.range(call, 0)?;
                let position = self.search(call, &range)?;
                let op = if call.name == "any_of" {
                    CmpOp::Ne
                } else {
                    CmpOp::Eq
                };
                return Ok(Some(Some(Expr::compare(op, position, range.len))));
            }
            _ => return Ok(None),
        }
        Ok(Some(None))
    }

    /// Where a second range starts, and for how long there are elements of both. If it `ends`, both of its iterators are
    /// arguments, and the shorter range counts; otherwise it is as long as the first one.
    fn second(
        &mut self,
        call: &Call<'u>,
        at: usize,
        first: &Range,
        ends: bool,
    ) -> Result<(Walk, Expr)> {
        if !ends {
            return Ok((self.walk(call.arg(at)?)?, first.len.clone()));
        }
        let second = self.range(call, at)?;
        if second.len == first.len {
            return Ok((second.walk, second.len));
        }
        let shorter = Expr::compare(CmpOp::Lt, second.len.clone(), first.len.clone());
        let len = super::super::expr::select(shorter, second.len, first.len.clone());
        Ok((second.walk, len))
    }

    pub(super) fn dest(&mut self, e: Cursor<'u>) -> Result<Dest> {
        if types::of(e).referred() == Ty::Class(Class::Appender) {
            let call = Call::of(super::super::lower::peeled(e));
            if let Some(call) = call.filter(|c| c.name == "back_inserter") {
                return Ok(Dest::Push(self.seq(call.arg(0)?)?));
            }
        }
        self.walk(e).map(Dest::At)
    }

    pub(super) fn put(&mut self, dest: &Dest, k: Expr, value: Expr, at: Cursor<'u>) -> Result<()> {
        match dest {
            Dest::At(walk) => self.store_element(walk.at(k), value, at),
            Dest::Push(seq) => self.push_value(seq, value, at),
        }
    }

    /// Stores a number, converted to what stands there.
    pub(super) fn store_element(
        &mut self,
        place: Place,
        value: Expr,
        at: Cursor<'u>,
    ) -> Result<()> {
        let value = match super::lambda::place_type(&place) {
            Some(ScalarType::I1) => as_truth(value),
            Some(ty) => convert(ty, value),
            None => value,
        };
        self.write(place, value, at)
    }

    fn element_value(&mut self, range: &Range, e: Cursor<'u>) -> Result<Expr> {
        let v = self.value(e)?;
        Ok(convert(range.walk.view(), v))
    }

    fn replace_if(&mut self, cond: Expr, place: Place, value: Expr, at: Cursor<'u>) -> Result<()> {
        let (then, ()) = self.in_block(|s| s.store_element(place, value, at))?;
        self.emit(Stmt::If {
            cond,
            then,
            otherwise: vec![],
        })
    }

    /// The value of a function object at these places.
    pub(super) fn called(
        &mut self,
        f: &Callable<'u>,
        places: Vec<Place>,
        call: &Call<'u>,
    ) -> Result<Expr> {
        let args = places.into_iter().map(Arg::Place).collect();
        self.apply(f, args, call.at.referenced(), call.at)?
            .ok_or_else(|| call.unsupported())
    }

    /// The product of two elements, or what a function object makes of them.
    fn combined(
        &mut self,
        f: &Option<Callable<'u>>,
        a: Place,
        b: Place,
        call: &Call<'u>,
    ) -> Result<Expr> {
        if let Some(f) = f {
            return self.called(f, vec![a, b], call);
        }
        let (a, b) = self.both(a, b, call.at)?;
        arithmetic(Arith::Plain(BinOp::Multiply), a, b, call.at)
    }

    /// Two elements, as an operator of C takes them.
    pub(super) fn both(&mut self, a: Place, b: Place, at: Cursor<'u>) -> Result<(Expr, Expr)> {
        let (a, b) = (self.load(a, at)?, self.load(b, at)?);
        let ty = usual(a.ty(), b.ty());
        Ok((convert(ty, a), convert(ty, b)))
    }

    /// `acc = f(acc, element)` for each element, in order.
    fn fold(
        &mut self,
        init: Expr,
        len: Expr,
        at: Cursor<'u>,
        step: impl FnOnce(Expr, Expr) -> Result<Expr>,
        element: impl FnOnce(&mut Self, Expr) -> Result<Expr>,
    ) -> Result<Option<Option<Expr>>> {
        let (var, ty) = (self.fresh("acc"), init.ty());
        self.assign_var(var.clone(), init)?;
        let acc = Expr::Var(var.clone(), ty);
        let result = acc.clone();
        self.count_to(len, at, move |s, k| {
            let v = element(s, k)?;
            let next = step(acc, v)?;
            s.assign_var(var, next)
        })?;
        Ok(Some(Some(result)))
    }

    /// `std::accumulate` and `std::inner_product`: one after the other, in the type of the initial value.
    fn folded(
        &mut self,
        call: &Call<'u>,
        init: Expr,
        len: Expr,
        f: Option<Callable<'u>>,
        element: impl FnOnce(&mut Self, Expr) -> Result<Arg<'u>>,
    ) -> Result<Option<Option<Expr>>> {
        let (var, ty) = (self.fresh("acc"), init.ty());
        self.assign_var(var.clone(), init)?;
        let acc = Expr::Var(var.clone(), ty);
        let result = acc.clone();
        self.count_to(len, call.at, move |s, k| {
            let v = element(s, k)?;
            let next = s.joined(&f, acc, v, ty, call)?;
            s.assign_var(var, next)
        })?;
        Ok(Some(Some(result)))
    }

    /// `acc + v`, or `f(acc, v)`, as the accumulator's type.
    pub(super) fn accumulated(
        &mut self,
        f: &Option<Callable<'u>>,
        acc: Expr,
        v: Expr,
        call: &Call<'u>,
    ) -> Result<Expr> {
        let ty = acc.ty();
        self.joined(f, acc, Arg::Value(v), ty, call)
    }

    /// `a + b`, or `f(a, b)`, as this type.
    fn joined(
        &mut self,
        f: &Option<Callable<'u>>,
        a: Expr,
        b: Arg<'u>,
        ty: ScalarType,
        call: &Call<'u>,
    ) -> Result<Expr> {
        let next = match (f, b) {
            (Some(f), b) => self
                .apply(f, vec![Arg::Value(a), b], call.at.referenced(), call.at)?
                .ok_or_else(|| call.unsupported())?,
            (None, Arg::Value(b)) => {
                let wide = usual(a.ty(), b.ty());
                arithmetic(
                    Arith::Plain(BinOp::Add),
                    convert(wide, a),
                    convert(wide, b),
                    call.at,
                )?
            }
            (None, _) => return Err(call.unsupported()),
        };
        Ok(if ty == ScalarType::I1 {
            as_truth(next)
        } else {
            convert(ty, next)
        })
    }

    /// `std::reduce` and `std::transform_reduce`, whose order is the library's: libstdc++ takes four
    /// elements at a time, `init + ((a + b) + (c + d))`, and the rest one by one.
    fn reduced(
        &mut self,
        call: &Call<'u>,
        init: Expr,
        len: Expr,
        f: Option<Callable<'u>>,
        element: impl Fn(&mut Self, Expr) -> Result<Expr>,
    ) -> Result<Option<Option<Expr>>> {
        let ty = init.ty();
        // Sums of integers are the same in any order, if no partial sum is narrower.
        let (probe, of) = self.in_block(|s| element(s, int(0)).map(|e| promote(e.ty())))?;
        drop(probe);
        if ty.is_int() && f.is_none() && of.is_int() && of.bits() >= ty.bits() {
            return self.folded(call, init, len, f, |s, k| element(s, k).map(Arg::Value));
        }
        let (var, len) = (self.fresh("acc"), self.settled("n", len)?);
        self.assign_var(var.clone(), init)?;
        let acc = Expr::Var(var.clone(), ty);
        let fours = Expr::binary(BinOp::Divide, len.clone(), int(4));
        let fours = self.settled("fours", fours)?;
        self.count_to(fours.clone(), call.at, |s, k| {
            let base = offset_op(BinOp::Multiply, k, int(4));
            let mut v = Vec::new();
            for i in 0..4 {
                v.push(element(s, offset_op(BinOp::Add, base.clone(), int(i)))?);
            }
            let [a, b, c, d] = <[Expr; 4]>::try_from(v).map_err(|_| call.unsupported())?;
            let left = s.joined(&f, a, Arg::Value(b), ty, call)?;
            let right = s.joined(&f, c, Arg::Value(d), ty, call)?;
            let both = s.accumulated(&f, left, right, call)?;
            let next = s.accumulated(&f, acc.clone(), both, call)?;
            s.assign_var(var.clone(), next)
        })?;
        let done = offset_op(BinOp::Multiply, fours, int(4));
        let rest = offset_op(BinOp::Subtract, len, done.clone());
        self.count_to(rest, call.at, |s, k| {
            let v = element(s, offset_op(BinOp::Add, done, k))?;
            let next = s.accumulated(&f, acc.clone(), v, call)?;
            s.assign_var(var, next)
        })?;
        Ok(Some(Some(acc)))
    }

    fn is_second_iterator(&mut self, call: &Call<'u>) -> Result<bool> {
        Ok(is_iterator(call.arg(2)?))
    }
}
