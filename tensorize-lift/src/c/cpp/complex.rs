//! `std::complex<float>` and `std::complex<double>`: two numbers side by side, which the standard says they are
//! ([complex.numbers.general]).
//!
//! What they are called inside is each library's own. What stands for them is the two parameters of the constructor that takes
//! both: cursors of the numbers' own type that nothing else in the object has.
//!
//! Products and quotients are the textbook's. C's annex G has more to say of infinities, and libraries scale what might
//! overflow, so that no more than equality over the reals is claimed of them, nor of `std::abs` and `std::exp`.

use super::super::codes;
use super::super::expr::negate;
use super::super::ffi::{Cursor, Type};
use super::super::flatten::struct_declaration;
use super::super::lower::{Lower, Result, convert, operands, problem};
use super::super::math;
use super::super::place::Place;
use super::super::types;
use super::call::{Call, overload};
use super::class::in_std;
use super::effect::is_left_out;
use super::seq::{Seq, int};
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Operators and operands of a number that is written down again where it is used again.
const MAX_NODES: usize = 8;

/// The numbers of one: its real and its imaginary part.
type Complex = [Expr; 2];

/// What stands for the two numbers of such a class; `None` if it is another class.
pub(in super::super) fn members(class: Cursor<'_>) -> Option<[Cursor<'_>; 2]> {
    if class.spelling() != "complex" || !in_std(class) {
        return None;
    }
    let mut constructors = class.children();
    constructors.retain(|c| c.kind() == CXCursor_Constructor);
    constructors.into_iter().find_map(both)
}

/// The parameters of a constructor that takes two numbers of one type.
fn both(constructor: Cursor<'_>) -> Option<[Cursor<'_>; 2]> {
    let both: [Cursor<'_>; 2] = constructor.arguments().try_into().ok()?;
    let [re, im] = both.map(|p| types::read(p.ty()).as_scalar());
    (re?.is_float() && re == im).then_some(both)
}

/// Whether a class is one.
pub(in super::super) fn is_complex(class: Cursor<'_>) -> bool {
    members(class).is_some()
}

/// What the parts of one are called.
pub(in super::super) const PARTS: [&str; 2] = ["re", "im"];

/// Which of the two numbers a member stands for; nothing if it is another class's.
pub(in super::super) fn part(member: Cursor<'_>) -> Option<usize> {
    if member.kind() != CXCursor_ParmDecl {
        return None;
    }
    let class = member.semantic_parent()?.semantic_parent()?;
    members(class)?.iter().position(|m| *m == member)
}

/// The type of the numbers, if a type is a complex number or refers to one.
fn numbers_of(t: Type<'_>) -> Option<ScalarType> {
    let class = struct_declaration(t.referred())?;
    types::read(members(class)?[0].ty()).as_scalar()
}

/// Whether a call sets a part of a complex number: `z.real(1)`.
pub(super) fn sets_part(call: &Call<'_>) -> bool {
    matches!(call.name.as_str(), "real" | "imag") && call.args.len() == 2
}

/// The complex number that a call changes.
pub(in super::super) fn changed<'u>(c: Cursor<'u>) -> Option<Cursor<'u>> {
    let call = Call::of(c)?;
    let changes = super::member::changes(&call.name) || sets_part(&call);
    let target = *call.args.first().filter(|_| changes)?;
    numbers_of(target.ty()).map(|_| target)
}

fn binary(op: BinOp, a: &Expr, b: &Expr) -> Expr {
    Expr::binary(op, a.clone(), b.clone())
}

fn sum_of_products(op: BinOp, [a, b]: [&Expr; 2], [c, d]: [&Expr; 2]) -> Expr {
    let (l, r) = (binary(BinOp::Multiply, a, b), binary(BinOp::Multiply, c, d));
    Expr::binary(op, l, r)
}

impl<'u> Lower<'u, '_> {
    /// The numbers of an expression that makes a complex number; `None` if it is of another type, or names one that is there.
    pub fn complex_value(&mut self, e: Cursor<'u>) -> Result<Option<Vec<Expr>>> {
        let Some(ty) = numbers_of(e.ty()) else {
            return Ok(None);
        };
        let Some(callee) = e.referenced().filter(|_| e.kind() == CXCursor_CallExpr) else {
            // `std::complex<float>{}`, and what is converted.
            return match (e.kind(), &operands(e)[..]) {
                (CXCursor_InitListExpr, parts) => self.complex_of(ty, parts, e).map(Some),
                (CXCursor_CXXFunctionalCastExpr | CXCursor_CXXStaticCastExpr, [one])
                    if numbers_of(one.ty()).is_none() =>
                {
                    self.complex_of(ty, &[*one], e).map(Some)
                }
                _ => Ok(None),
            };
        };
        if callee.kind() == CXCursor_Constructor {
            return self.complex_of(ty, &e.arguments(), e).map(Some);
        }
        let Some(call) = Call::of(e) else {
            return Ok(None);
        };
        // An element of a vector.
        if self.is_place(e) {
            return Ok(None);
        }
        self.complex_result(&call, ty).map(|z| Some(Vec::from(z)))
    }

    /// What a constructor makes.
    fn complex_of(
        &mut self,
        ty: ScalarType,
        parts: &[Cursor<'u>],
        at: Cursor<'u>,
    ) -> Result<Vec<Expr>> {
        let zero = Expr::Const(Scalar::zero(ty));
        let mut out = vec![];
        for part in parts {
            match numbers_of(part.ty()) {
                Some(_) if parts.len() == 1 => out = self.struct_value(*part)?,
                Some(_) => return Err(unsupported(at)),
                None if is_left_out(*part) => {}
                None => out.push(self.value(*part)?),
            }
        }
        let mut out: Vec<Expr> = out.into_iter().map(|v| convert(ty, v)).collect();
        out.resize(2, zero);
        out.into_iter().map(|v| self.hold("part", v)).collect()
    }

    /// An operand: a complex number, or a real one and nothing.
    fn operand_of(&mut self, c: Cursor<'u>) -> Result<(Expr, Option<Expr>)> {
        if numbers_of(c.ty()).is_none() {
            let v = self.value(c)?;
            return Ok((self.part_of(v)?, None));
        }
        let [re, im] = self.complex_numbers(c)?;
        Ok((re, Some(im)))
    }

    fn complex_numbers(&mut self, c: Cursor<'u>) -> Result<Complex> {
        let values = self.struct_value(c)?.into_iter();
        let parts: Result<Vec<Expr>> = values.map(|v| self.part_of(v)).collect();
        parts?.try_into().map_err(|_| unsupported(c))
    }

    /// A number that is used more than once: one that is large is computed once. (What is small may stand in a condition.)
    fn part_of(&mut self, value: Expr) -> Result<Expr> {
        let mut nodes = 0;
        value.visit(&mut |_| nodes += 1);
        match nodes > MAX_NODES {
            true => self.hold("part", value),
            false => Ok(value),
        }
    }

    /// A complex number that a function of the library gives.
    fn complex_result(&mut self, call: &Call<'u>, ty: ScalarType) -> Result<Complex> {
        let zero = Expr::Const(Scalar::zero(ty));
        match (call.name.as_str(), &call.args[..]) {
            ("operator+" | "operator-" | "operator*" | "operator/", &[l, r]) => {
                let (l, r) = (self.operand_of(l)?, self.operand_of(r)?);
                self.complex_arithmetic(&call.name, l, r, call.at)
            }
            ("operator+" | "move" | "forward", &[z]) => self.complex_numbers(z),
            ("operator-", &[z]) => Ok(self.complex_numbers(z)?.map(negate)),
            // (Of a real number, libraries make either zero.)
            ("conj", &[z]) if numbers_of(z.ty()).is_some() => {
                let [re, im] = self.complex_numbers(z)?;
                Ok([re, negate(im)])
            }
            ("polar", &[r, angle]) => {
                let (r, _) = self.operand_of(r)?;
                let angle = match is_left_out(angle) {
                    true => zero,
                    false => self.operand_of(angle)?.0,
                };
                Ok(on_circle(r, angle))
            }
            ("exp", &[z]) => {
                let [re, im] = self.complex_numbers(z)?;
                self.fused = true;
                Ok(on_circle(Expr::Unary(UnOp::Exponential, Box::new(re)), im))
            }
            ("accumulate", &[_, _, init]) => {
                let range = self.range(call, 0)?;
                let init = self.complex_numbers(init)?;
                self.complex_sum(init, range.len.clone(), call.at, |s, k| {
                    s.complex_at(range.at(k), call.at)
                })
            }
            ("inner_product", &[_, _, second, init]) => {
                let range = self.range(call, 0)?;
                let second = self.walk(second)?;
                let init = self.complex_numbers(init)?;
                self.complex_sum(init, range.len.clone(), call.at, |s, k| {
                    let l = s.complex_at(range.at(k.clone()), call.at)?;
                    let r = s.complex_at(second.at(k), call.at)?;
                    match (&l.1, &r.1) {
                        (None, None) => Ok((binary(BinOp::Multiply, &l.0, &r.0), None)),
                        _ => {
                            let [re, im] = s.complex_arithmetic("operator*", l, r, call.at)?;
                            Ok((re, Some(im)))
                        }
                    }
                })
            }
            _ => Err(call.unknown()),
        }
    }

    /// An element that is a complex number, or a real one.
    fn complex_at(&mut self, place: Place, at: Cursor<'u>) -> Result<(Expr, Option<Expr>)> {
        let Place::Array(of) = &place else {
            return Ok((self.load(place, at)?, None));
        };
        let both: [Place; 2] = self
            .numbers_of_element(of, at)?
            .try_into()
            .map_err(|_| unsupported(at))?;
        let [re, im] = both.map(|p| self.load(p, at));
        Ok((re?, Some(im?)))
    }

    /// So many summands and an initial value, one after the other.
    fn complex_sum(
        &mut self,
        init: Complex,
        len: Expr,
        at: Cursor<'u>,
        summand: impl FnOnce(&mut Self, Expr) -> Result<(Expr, Option<Expr>)>,
    ) -> Result<Complex> {
        let sums = init.each_ref().map(|v| (self.fresh("sum"), v.ty()));
        for ((var, _), v) in sums.iter().zip(init) {
            self.assign_var(var.clone(), v)?;
        }
        let result = sums.clone().map(|(var, ty)| Expr::Var(var, ty));
        let [re, im] = result.clone();
        self.count_to(len, at, |s, k| {
            let more = summand(s, k)?;
            let next = s.complex_arithmetic("operator+", (re, Some(im)), more, at)?;
            let next = next.map(|v| s.hold("part", v));
            let mut both = sums.into_iter().zip(next);
            both.try_for_each(|((var, _), v)| s.assign_var(var, v?))
        })?;
        Ok(result)
    }

    /// Appends `std::complex(re, im)` to a vector of these; `false` if it is another one.
    pub(super) fn emplace_complex(
        &mut self,
        dest: &Seq,
        args: &[Cursor<'u>],
        call: &Call<'u>,
    ) -> Result<bool> {
        let vector = call.arg(0)?.ty().referred().template_arguments();
        let element = vector.first().copied().flatten();
        let Some(ty) = element.and_then(numbers_of).filter(|_| dest.rows.is_none()) else {
            return Ok(false);
        };
        let values = self.complex_of(ty, args, call.at)?;
        let size = dest.size.clone().ok_or_else(|| call.unsupported())?;
        let end = Expr::Var(size.clone(), ScalarType::I64);
        let Place::Array(of) = dest.at(end.clone()) else {
            return Err(call.unsupported());
        };
        let places = self.numbers_of_element(&of, call.at)?;
        for (place, value) in places.into_iter().zip(values) {
            self.write(place, value, call.at)?;
        }
        self.assign_var(size, Expr::binary(BinOp::Add, end, int(1)))?;
        Ok(true)
    }

    fn complex_arithmetic(
        &mut self,
        op: &str,
        (a, b): (Expr, Option<Expr>),
        (c, d): (Expr, Option<Expr>),
        at: Cursor<'u>,
    ) -> Result<Complex> {
        if a.ty() != c.ty() {
            return Err(unsupported(at));
        }
        use BinOp::{Add, Divide, Multiply, Subtract};
        let out = match (op, b, d) {
            ("operator+", Some(b), None) => [binary(Add, &a, &c), b],
            ("operator+", None, Some(d)) => [binary(Add, &a, &c), d],
            ("operator+", Some(b), Some(d)) => [binary(Add, &a, &c), binary(Add, &b, &d)],
            ("operator-", Some(b), None) => [binary(Subtract, &a, &c), b],
            ("operator-", None, Some(d)) => [binary(Subtract, &a, &c), negate(d)],
            ("operator-", Some(b), Some(d)) => [binary(Subtract, &a, &c), binary(Subtract, &b, &d)],
            ("operator*", Some(b), None) => [binary(Multiply, &a, &c), binary(Multiply, &b, &c)],
            ("operator*", None, Some(d)) => [binary(Multiply, &c, &a), binary(Multiply, &d, &a)],
            ("operator/", Some(b), None) => [binary(Divide, &a, &c), binary(Divide, &b, &c)],
            ("operator*", Some(b), Some(d)) => {
                self.fused = true;
                [
                    sum_of_products(Subtract, [&a, &c], [&b, &d]),
                    sum_of_products(Add, [&a, &d], [&b, &c]),
                ]
            }
            ("operator/", b, Some(d)) => {
                self.fused = true;
                let square = sum_of_products(Add, [&c, &c], [&d, &d]);
                let square = self.hold("square", square)?;
                let b = b.unwrap_or(Expr::Const(Scalar::zero(a.ty())));
                let re = sum_of_products(Add, [&a, &c], [&b, &d]);
                let im = sum_of_products(Subtract, [&b, &c], [&a, &d]);
                [re, im].map(|v| binary(Divide, &v, &square))
            }
            _ => return Err(unsupported(at)),
        };
        Ok(out)
    }

    /// A call that has to do with complex numbers and gives none, with its value if it has one; `None` if it is another call.
    pub(super) fn complex_call(&mut self, call: &Call<'u>) -> Result<Option<Option<Expr>>> {
        let Some(&first) = call.args.first() else {
            return Ok(None);
        };
        let of_either = call.args.iter().find_map(|a| numbers_of(a.ty()));
        let Some(ty) = of_either else {
            return Ok(None);
        };
        if numbers_of(call.at.ty()).is_some() && numbers_of(first.ty()).is_some() {
            let Some(op) = call.name.strip_prefix("operator") else {
                return Ok(None);
            };
            if let ("=" | "+=" | "-=" | "*=" | "/=", Some(&r)) = (op, call.args.get(1)) {
                return self
                    .complex_assigned(first, op, r, call.at)
                    .map(|()| Some(None));
            }
            return Ok(None);
        }
        if sets_part(call) {
            let value = self.value(call.arg(1)?)?;
            let which = usize::from(call.name == "imag");
            let place = self.complex_places(first)?[which].clone();
            self.write(place, convert(ty, value), call.at)?;
            return Ok(Some(None));
        }
        let wanted = types::of(call.at).referred().as_scalar();
        let (Some(wanted), true) = (wanted, call.args.len() <= 2) else {
            return Ok(None);
        };
        let value = match (call.name.as_str(), &call.args[..]) {
            ("operator==" | "operator!=", &[l, r]) => {
                let zero = Expr::Const(Scalar::zero(ty));
                let ((a, b), (c, d)) = (self.operand_of(l)?, self.operand_of(r)?);
                let same = |a, b| Expr::compare(CmpOp::Eq, a, b);
                let imaginary = [b, d].map(|v| v.unwrap_or(zero.clone()));
                let [b, d] = imaginary;
                let both = Expr::binary(BinOp::And, same(a, c), same(b, d));
                match call.name == "operator==" {
                    true => both,
                    false => super::super::expr::negation(both),
                }
            }
            (name, &[z]) => {
                let [re, im] = self.complex_numbers(z)?;
                match name {
                    "real" => re,
                    "imag" => im,
                    "norm" => {
                        self.fused = true;
                        sum_of_products(BinOp::Add, [&re, &re], [&im, &im])
                    }
                    "abs" => {
                        self.fused = true;
                        let name = overload("hypot", &[re.clone(), im.clone()]);
                        math::fused(&name, &[re, im]).ok_or_else(|| call.unsupported())?
                    }
                    "arg" => binary(BinOp::Atan2, &im, &re),
                    _ => return Err(call.unknown()),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(Some(convert(wanted, value))))
    }

    /// `l = r`, `l += r` and the like, of which the right side may be real.
    fn complex_assigned(
        &mut self,
        l: Cursor<'u>,
        op: &str,
        r: Cursor<'u>,
        at: Cursor<'u>,
    ) -> Result<()> {
        let places = self.complex_places(l)?;
        let ty = numbers_of(l.ty()).ok_or_else(|| unsupported(at))?;
        let (re, im) = self.operand_of(r)?;
        let (re, im) = (convert(ty, re), im.map(|v| convert(ty, v)));
        let values = match op.strip_suffix('=') {
            Some(op) if !op.is_empty() => {
                let [a, b] = places.clone().map(|p| self.load(p, l));
                let old = (self.hold("part", a?)?, Some(self.hold("part", b?)?));
                self.complex_arithmetic(&format!("operator{op}"), old, (re, im), at)?
            }
            _ => [re, im.unwrap_or(Expr::Const(Scalar::zero(ty)))],
        };
        // Both are known before either is stored.
        let [re, im] = values.map(|v| self.hold("part", v));
        let [to_re, to_im] = places;
        self.write(to_re, re?, at)?;
        self.write(to_im, im?, at)
    }

    /// Where the numbers of one stand that is there.
    fn complex_places(&mut self, c: Cursor<'u>) -> Result<[Place; 2]> {
        let class = struct_declaration(c.ty().referred());
        let parts = class.and_then(members).ok_or_else(|| unsupported(c))?;
        if self.is_in_array(c) {
            let of = self.element(c)?;
            let of = self.settled_pointer(of)?;
            let places = self.numbers_of_element(&of, c)?;
            return places.try_into().map_err(|_| unsupported(c));
        }
        if self.is_temporary(c) {
            return Err(unsupported(c));
        }
        let path = self.record(c)?;
        let [re, im] = parts.map(|p| self.number_in(&path, &[p], c));
        Ok([re?, im?])
    }
}

/// `r * cos(angle)` and `r * sin(angle)`
fn on_circle(r: Expr, angle: Expr) -> Complex {
    [UnOp::Cosine, UnOp::Sine].map(|f| {
        binary(
            BinOp::Multiply,
            &r,
            &Expr::Unary(f, Box::new(angle.clone())),
        )
    })
}

fn unsupported(at: Cursor<'_>) -> super::super::Problem {
    let message = "this use of a 'std::complex' is not supported";
    problem(codes::RECORD, message, at)
}
