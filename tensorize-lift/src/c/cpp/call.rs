//! Calls into the standard library, by name: what each one means as a value, a place, a pointer or a
//! sequence.

use super::super::codes;
use super::super::expr::select;
use super::super::ffi::Cursor;
use super::super::lower::{Lower, Result, convert, offset_op, operands, peeled, problem};
use super::super::math;
use super::super::place::Place;
use super::super::simd;
use super::super::types::{self, Ty};
use super::between::{lerp, midpoint};
use super::class::{Class, in_std, is_owner};
use super::ranges::{Ranged, ranged};
use super::scan::object;
use super::seq::{Seq, index_of, int};
use super::walk::is_iterator;
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

/// What a call's pieces are.
pub(super) struct Call<'u> {
    pub at: Cursor<'u>,
    pub name: String,
    /// The object of a member function, and the arguments; for an operator the operands. A range that an algorithm of
    /// `std::ranges` takes stands here twice: where `std`'s takes its begin, and where that takes its end.
    pub args: Vec<Cursor<'u>>,
    /// The first of them is a pointer to the object: `p->size()`.
    pub points: bool,
    /// Whether it is called with projections.
    projects: bool,
}

impl<'u> Call<'u> {
    /// The call, if it is one into the standard library.
    pub fn of(c: Cursor<'u>) -> Option<Call<'u>> {
        let callee = c.referenced()?;
        let of_the_compiler =
            || callee.spelling().starts_with("__builtin_") || simd::writes_memory(c).is_some();
        if callee.kind() == CXCursor_Constructor
            || !in_std(callee) && (!is_c_library(callee) || of_the_compiler())
        {
            return None;
        }
        if let Some(Ranged {
            name,
            args,
            projects,
        }) = ranged(c)
        {
            return Some(Call {
                at: c,
                name,
                args,
                points: false,
                projects,
            });
        }
        let name = callee.spelling();
        let object = object(c);
        let args: Vec<_> = object.into_iter().chain(c.arguments()).collect();
        Some(Call {
            at: c,
            args: compared(&name, &args).unwrap_or(args),
            points: object.is_some_and(|o| o.ty().canonical().kind() == CXType_Pointer),
            name,
            projects: false,
        })
    }

    /// Whether a range stands here, and not an iterator.
    pub fn is_range(&self, i: usize) -> bool {
        self.args.get(i).is_some() && self.args.get(i) == self.args.get(i + 1)
    }

    /// Whether it is an algorithm on elements, by its first argument.
    pub fn is_algorithm(&self) -> bool {
        let starts = |a: &Cursor<'u>| is_iterator(*a) && !is_owner(a.ty());
        self.is_range(0) || !self.points && self.args.first().is_some_and(starts)
    }

    /// The class of the library whose member function it is, or of what an operator or a function gets first.
    pub fn class(&self) -> Option<Class> {
        match types::of(*self.args.first()?).referred() {
            Ty::Pointer(to) if self.points => to.as_class(),
            t => t.as_class(),
        }
    }

    pub fn arg(&self, i: usize) -> Result<Cursor<'u>> {
        self.args.get(i).copied().ok_or_else(|| self.unsupported())
    }

    pub fn unsupported(&self) -> super::super::Problem {
        problem(
            codes::UNKNOWN_CALL,
            format!("this use of '{}' is not supported", self.name),
            self.at,
        )
    }

    /// A function of the library that has no meaning here.
    pub fn unknown(&self) -> super::super::Problem {
        let name = &self.name;
        let message = match self.projects {
            true => format!("the projection of 'std::{name}' is not supported"),
            false => format!("'std::{name}' is not supported, or not used like this"),
        };
        let mut p = problem(codes::UNKNOWN_CALL, message, self.at);
        p.help = Some("write the loop that it stands for".into());
        p
    }
}

/// What is compared by an operator that C++20 makes of `<=>`: `(a <=> b) < 0` for `a < b`, or `0 < (b <=> a)`.
fn compared<'u>(name: &str, args: &[Cursor<'u>]) -> Option<Vec<Cursor<'u>>> {
    let of = |e: Cursor<'u>| -> Option<[Cursor<'u>; 2]> {
        let e = peeled(e);
        let is_three_way = e.kind() == CXCursor_CallExpr && e.spelling() == "operator<=>";
        let pair: Vec<_> = object(e).into_iter().chain(e.arguments()).collect();
        pair.try_into().ok().filter(|_| is_three_way)
    };
    match (name, args) {
        ("operator<" | "operator<=" | "operator>" | "operator>=", [a, b]) => {
            let swapped = || of(*b).map(|[x, y]| vec![y, x]);
            of(*a).map(|pair| pair.to_vec()).or_else(swapped)
        }
        _ => None,
    }
}

/// `::abs`, `::memcpy`: the C library's, which `std` names too.
fn is_c_library(callee: Cursor<'_>) -> bool {
    callee.kind() == CXCursor_FunctionDecl && callee.definition().is_none()
}

/// The C function that an overload of `<cmath>` stands for, given its arguments.
pub(super) fn overload(name: &str, args: &[Expr]) -> String {
    let single = !args.is_empty() && args.iter().all(|a| a.ty() == ScalarType::F32);
    let float = args.iter().all(|a| a.ty().is_float());
    let name = if name == "abs" && float { "fabs" } else { name };
    match single && !math::is_suffixed(name) && math::is_known(&format!("{name}f")) {
        true => format!("{name}f"),
        false => name.to_string(),
    }
}

impl<'u> Lower<'u, '_> {
    /// A call into the standard library; `None` if it is another call. Inside, its value if it has one.
    pub fn library_call(&mut self, c: Cursor<'u>) -> Result<Option<Option<Expr>>> {
        if let Some(callable) = self.called_object(c)? {
            let params = callable.parameters();
            let args = c.arguments()[1..]
                .iter()
                .enumerate()
                .map(|(i, &a)| match self.record_argument(a)? {
                    Some(given) => Ok(given),
                    None => self.argument(a, params.get(i).copied()),
                })
                .collect::<Result<Vec<_>>>()?;
            return self.apply(&callable, args, Some(c), c).map(Some);
        }
        let Some(call) = Call::of(c) else {
            return Ok(None);
        };
        if let Some(done) = self.optional_call(&call)? {
            return Ok(Some(done));
        }
        if let Some(done) = self.tuple_call(&call)? {
            return Ok(Some(done));
        }
        if let Some(done) = self.complex_call(&call)? {
            return Ok(Some(done));
        }
        if let Some(done) = self.changing_call(&call)? {
            return Ok(Some(done));
        }
        if let Some(done) = self.algorithm(&call)? {
            return Ok(Some(done));
        }
        let ty = match types::of(c).referred() {
            Ty::Scalar(ty) => ty,
            // A pointer or an object whose value nobody uses.
            Ty::Pointer(_) if self.is_pointer_call(&call) => {
                return self.pointer(c).map(|_| Some(None));
            }
            _ => return self.unknown(&call),
        };
        match self.library_value(&call, ty)? {
            Some(v) => Ok(Some(Some(v))),
            None => self.unknown(&call),
        }
    }

    /// A function of the library that has no meaning here. One of C's may have one there.
    fn unknown(&self, call: &Call<'u>) -> Result<Option<Option<Expr>>> {
        if !call.at.referenced().is_some_and(in_std) {
            return Ok(None);
        }
        Err(call.unknown())
    }

    /// The function object of `f(x)`, where `f` is a variable or a lambda.
    fn called_object(&mut self, c: Cursor<'u>) -> Result<Option<super::lambda::Callable<'u>>> {
        let is_operator = c.referenced().is_some_and(|r| r.spelling() == "operator()");
        let Some(&first) = c.arguments().first().filter(|_| is_operator) else {
            return Ok(None);
        };
        if ranged(c).is_some() {
            return Ok(None);
        }
        // An object of the file's own keeps its state: a member function is called.
        if super::super::flatten::is_struct(first.ty()) {
            return Ok(None);
        }
        self.callable(first).map(Some)
    }

    /// The value of a call.
    fn library_value(&mut self, call: &Call<'u>, ty: ScalarType) -> Result<Option<Expr>> {
        let c = call.at;
        let truth = |e: Expr| convert(ty, e);
        if call.args.is_empty() {
            // `std::numeric_limits<int>::max()`
            let value = c.evaluate().and_then(|v| v.scalar(ty));
            return Ok(value.map(Expr::Const));
        }
        let n = call.args.len();
        Ok(Some(match (call.name.as_str(), n) {
            ("size" | "ssize" | "length", 1) => {
                let seq = self.seq(call.arg(0)?)?;
                convert(ty, seq.len)
            }
            ("empty", 1) => {
                let seq = self.seq(call.arg(0)?)?;
                truth(Expr::compare(CmpOp::Eq, seq.len, int(0)))
            }
            ("size_bytes", 1) => {
                let seq = self.seq(call.arg(0)?)?;
                let bytes = int(seq.start.target.elem.bytes() as i128);
                convert(ty, offset_op(BinOp::Multiply, seq.len, bytes))
            }
            ("operator*", 1) => match self.extreme_value(call.arg(0)?)? {
                Some(value) => value,
                None => self.read_place(c)?,
            },
            // Of a `std::unique_ptr`.
            ("operator bool", 1) if is_owner(call.arg(0)?.ty()) => truth(self.given(call.arg(0)?)?),
            ("operator[]" | "at" | "get", _) | ("front" | "back", 1) => self.read_place(c)?,
            ("operator==", 2) => truth(self.iterators(call, CmpOp::Eq)?),
            ("operator!=", 2) => truth(self.iterators(call, CmpOp::Ne)?),
            ("operator<", 2) => truth(self.iterators(call, CmpOp::Lt)?),
            ("operator<=", 2) => truth(self.iterators(call, CmpOp::Le)?),
            ("operator>", 2) => truth(self.iterators(call, CmpOp::Gt)?),
            ("operator>=", 2) => truth(self.iterators(call, CmpOp::Ge)?),
            ("operator-" | "distance", 2) => {
                let (mut a, mut b) = (self.pointer(call.arg(0)?)?, self.pointer(call.arg(1)?)?);
                if call.name == "distance" {
                    std::mem::swap(&mut a, &mut b);
                }
                convert(ty, self.distance(&b, &a, c)?)
            }
            ("max" | "min", 1 | 2) => self.extreme(call, ty)?,
            ("clamp", 3) => {
                let [v, low, high] = self.numbers(call, ty)?[..]
                    .to_vec()
                    .try_into()
                    .map_err(|_| call.unsupported())?;
                // As libstdc++ has it; there is a difference only where low is above high, which is not allowed.
                better("min", better("max", v, low), high)
            }
            ("move" | "forward" | "as_const", 1) => {
                let v = self.value(call.arg(0)?)?;
                convert(ty, v)
            }
            ("lerp", 3) if ty.is_float() => match &self.held_numbers(call, ty)?[..] {
                [a, b, t] => lerp(a, b, t),
                _ => return Err(call.unsupported()),
            },
            ("midpoint", 2) => match &self.held_numbers(call, ty)?[..] {
                [a, b] => midpoint(a, b).ok_or_else(|| call.unsupported())?,
                _ => return Err(call.unsupported()),
            },
            ("midpoint" | "gcd" | "lcm" | "lerp", _) => {
                return Err(call.unsupported());
            }
            (
                "popcount" | "countl_zero" | "countr_zero" | "bit_width" | "has_single_bit"
                | "rotl" | "rotr",
                1 | 2,
            ) => {
                let a = self.value(call.arg(0)?)?;
                let a = self.hold("bits", a)?;
                let by = match call.args.get(1) {
                    Some(&by) => {
                        let by = self.value(by)?;
                        Some(self.hold("by", by)?)
                    }
                    None => None,
                };
                let value = math::of_bits(&call.name, &a, by.as_ref());
                convert(ty, value.ok_or_else(|| call.unsupported())?)
            }
            (name, _) => return self.math_value(call, name, ty),
        }))
    }

    /// A function of `<cmath>`, whose overloads have one name.
    fn math_value(&mut self, call: &Call<'u>, name: &str, ty: ScalarType) -> Result<Option<Expr>> {
        if !call
            .args
            .iter()
            .all(|a| matches!(types::of(*a).referred(), Ty::Scalar(_)))
        {
            return Ok(None);
        }
        if !math::is_known(name) && name != "abs" {
            return Ok(None);
        }
        let mut args = Vec::new();
        for &a in &call.args {
            args.push(self.value(a)?);
        }
        // Integers are converted to double, and float with it where both occur.
        if !matches!(name, "abs" | "labs" | "llabs")
            && !args.iter().all(|a| a.ty() == ScalarType::F32)
            && math::takes_floats(name)
        {
            args = args
                .into_iter()
                .map(|a| convert(ScalarType::F64, a))
                .collect();
        }
        let name = overload(name, &args);
        if let Some(e) = math::fused(&name, &args) {
            self.fused = true;
            return Ok(Some(e));
        }
        let e = self
            .library_function(&name, &args)
            .ok_or_else(|| call.unsupported())?;
        Ok(Some(if e.ty() == ScalarType::I1 {
            convert(ty, e)
        } else if e.ty() == ty {
            e
        } else {
            return Err(call.unsupported());
        }))
    }

    fn numbers(&mut self, call: &Call<'u>, ty: ScalarType) -> Result<Vec<Expr>> {
        call.args
            .iter()
            .map(|&a| match types::of(a).referred() {
                Ty::Scalar(t) if t == ty => self.value(a),
                _ => Err(call.unsupported()),
            })
            .collect()
    }

    /// The same, read once each, whatever becomes of them.
    fn held_numbers(&mut self, call: &Call<'u>, ty: ScalarType) -> Result<Vec<Expr>> {
        let values = self.numbers(call, ty)?.into_iter();
        values.map(|v| self.hold(&call.name, v)).collect()
    }

    /// `std::max(a, b)`, `std::max({a, b, c})`
    fn extreme(&mut self, call: &Call<'u>, ty: ScalarType) -> Result<Expr> {
        let values = match call.args[..] {
            [list] => {
                let list = peeled(list);
                if list.kind() != CXCursor_InitListExpr {
                    return Err(call.unsupported());
                }
                operands(list)
                    .into_iter()
                    .map(|e| self.value(e))
                    .collect::<Result<Vec<_>>>()?
            }
            _ => self.numbers(call, ty)?,
        };
        let mut values = values.into_iter();
        let first = values.next().ok_or_else(|| call.unsupported())?;
        Ok(values.fold(first, |a, b| better(&call.name, a, b)))
    }

    /// The place that a call names.
    pub fn call_place(&mut self, c: Cursor<'u>) -> Result<Place> {
        let unsupported = || {
            problem(
                codes::UNKNOWN_CALL,
                format!("what '{}' refers to is not known", c.spelling()),
                c,
            )
        };
        if let Some(place) = self.returned_place(c)? {
            return Ok(place);
        }
        if let Some(place) = self.given_member(c, |s, e| s.place(e))? {
            return Ok(place);
        }
        if let Some(place) = self.optional_place(c)? {
            return Ok(place);
        }
        if let Some(place) = self.tuple_place(c)? {
            return Ok(place);
        }
        let call = Call::of(c).ok_or_else(unsupported)?;
        let n = call.args.len();
        match (call.name.as_str(), n) {
            ("operator[]", 2) => {
                let (object, index) = (call.arg(0)?, call.arg(1)?);
                if !call.points && matches!(types::of(object).referred(), Ty::Pointer(_)) {
                    let p = self.pointer(object)?;
                    let index = index_of(self.value(index)?);
                    return Ok(p.moved(index).deref());
                }
                let seq = match self.earlier_row(object)? {
                    Some(row) => {
                        self.cpp.reaches_into_growing = true;
                        row
                    }
                    None => self.reached(object)?,
                };
                let index = index_of(self.value(index)?);
                Ok(seq.at(index))
            }
            ("at", 2) => {
                let seq = self.seq(call.arg(0)?)?;
                let index = self.value(call.arg(1)?)?;
                self.check_index(&index, &seq.len)?;
                Ok(seq.at(index_of(index)))
            }
            ("operator*", 1) => Ok(self.pointer(call.arg(0)?)?.deref()),
            ("front", 1) => Ok(self.reached(call.arg(0)?)?.at(int(0))),
            ("back", 1) => {
                let seq = self.reached(call.arg(0)?)?;
                let last = offset_op(BinOp::Subtract, seq.len.clone(), int(1));
                Ok(seq.at(last))
            }
            ("get", 1) => {
                let seq = self.seq(call.arg(0)?)?;
                let index = template_number(c).ok_or_else(unsupported)?;
                Ok(seq.at(int(index)))
            }
            ("move" | "forward" | "as_const", 1) => self.place(call.arg(0)?),
            ("operator=" | "operator+=" | "operator-=" | "operator++" | "operator--", _) => {
                Err(call.unsupported())
            }
            _ => Err(unsupported()),
        }
    }

    /// A sequence of which an element is reached by its number.
    pub(super) fn reached(&mut self, object: Cursor<'u>) -> Result<Seq> {
        let seq = self.seq(object)?;
        self.cpp.reaches_into_growing |= seq.size.is_some();
        Ok(seq)
    }

    /// The sequence that a call gives: a row, a part of a span, a span of something.
    pub fn call_seq(&mut self, c: Cursor<'u>) -> Result<Seq> {
        let unsupported = || {
            problem(
                codes::UNKNOWN_CALL,
                format!(
                    "the object that '{}' gives is not supported here",
                    c.spelling()
                ),
                c,
            )
        };
        let callee = c.referenced().ok_or_else(unsupported)?;
        if callee.kind() == CXCursor_Constructor {
            let of_text =
                |e: Cursor<'u>| matches!(types::of(e).referred(), Ty::Class(t) if t.is_text());
            return match c.arguments()[..] {
                // Of characters that end with a zero nobody knows how many there are.
                [one] if of_text(c) && !of_text(one) => Err(unsupported()),
                [one] => match types::of(one).referred() {
                    Ty::Class(Class::Allocator) => Err(unsupported()),
                    _ => self.seq(one),
                },
                [first, second]
                    if matches!(
                        types::of(c),
                        Ty::Class(Class::Span(..) | Class::TextView(_))
                    ) =>
                {
                    let start = self.pointer(first)?;
                    let len = match types::of(second).referred() {
                        Ty::Pointer(_) => {
                            let end = self.pointer(second)?;
                            self.distance(&start, &end, c)?
                        }
                        _ => index_of(self.value(second)?),
                    };
                    Ok(Seq {
                        start,
                        len,
                        size: None,
                        rows: None,
                    })
                }
                _ => Err(unsupported()),
            };
        }
        if let Some(row) = self.current_row(c) {
            return Ok(row);
        }
        // A string as a view of it.
        if callee.kind() == CXCursor_ConversionFunction
            && in_std(callee)
            && matches!(types::of(c), Ty::Class(Class::TextView(_)))
            && let Some(text) = object(c)
        {
            return self.seq(text);
        }
        if let Some(place) = self.returned_place(c)? {
            return self.row_of(place).ok_or_else(unsupported);
        }
        if let Some(seq) = self.given_member(c, |s, e| s.seq(e))? {
            return Ok(seq);
        }
        if let Some(view) = self.returned_view(c)? {
            return Ok(view);
        }
        let call = Call::of(c).ok_or_else(unsupported)?;
        let part = |seq: Seq, from: Expr, len: Expr| Seq {
            start: seq.start.moved(from),
            len,
            size: None,
            rows: None,
        };
        match (call.name.as_str(), call.args.len()) {
            ("operator[]" | "at", 2) | ("front" | "back" | "operator*" | "get", 1) => {
                let place = self.call_place(c)?;
                let why = self.no_row(&place, c);
                self.row_of(place)
                    .ok_or_else(|| why.unwrap_or_else(unsupported))
            }
            ("subspan", 2 | 3) => {
                let seq = self.seq(call.arg(0)?)?;
                let from = index_of(self.value(call.arg(1)?)?);
                let given = call
                    .args
                    .get(2)
                    .copied()
                    .filter(|a| !operands(*a).is_empty() || a.kind() != CXCursor_UnexposedExpr);
                let len = match given {
                    Some(n) => index_of(self.value(n)?),
                    None => offset_op(BinOp::Subtract, seq.len.clone(), from.clone()),
                };
                Ok(part(seq, from, len))
            }
            ("first", 2) => {
                let seq = self.seq(call.arg(0)?)?;
                let len = index_of(self.value(call.arg(1)?)?);
                Ok(part(seq, int(0), len))
            }
            ("last", 2) => {
                let seq = self.seq(call.arg(0)?)?;
                let len = index_of(self.value(call.arg(1)?)?);
                let from = offset_op(BinOp::Subtract, seq.len.clone(), len.clone());
                Ok(part(seq, from, len))
            }
            ("move" | "forward" | "as_const", 1) => {
                if call.name != "as_const" {
                    self.check_moved(call.arg(0)?)?;
                }
                self.seq(call.arg(0)?)
            }
            _ => Err(call.unsupported()),
        }
    }
}

/// `std::max` and `std::min` of two: the first one where they are equal.
pub(super) fn better(name: &str, a: Expr, b: Expr) -> Expr {
    let take_second = if name.starts_with("max") {
        Expr::compare(CmpOp::Lt, a.clone(), b.clone())
    } else {
        Expr::compare(CmpOp::Lt, b.clone(), a.clone())
    };
    select(take_second, b, a)
}

/// `1` of `std::get<1>(…)`.
pub(super) fn template_number(c: Cursor<'_>) -> Option<i128> {
    let tokens = c.tokens();
    let open = tokens.iter().position(|t| t.1 == "<")?;
    match &tokens.get(open + 2)?.1[..] {
        ">" => tokens[open + 1].1.parse().ok(),
        _ => None,
    }
}
