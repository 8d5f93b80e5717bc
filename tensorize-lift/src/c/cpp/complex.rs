//! `std::complex<float>` and `std::complex<double>`: two numbers side by side, which the standard says they are
//! ([complex.numbers.general]).
//!
//! What they are called inside is each library's own. What stands for them is the two parameters of the constructor that takes
//! both: cursors of the numbers' own type that nothing else in the object has.

use super::super::complex::{
    Complex, Operand, binary, conjugate, numbers_of, on_circle, unsupported,
};
use super::super::expr::negate;
use super::super::ffi::Cursor;
use super::super::lower::{Lower, Result, convert, operands};
use super::super::place::Place;
use super::super::types;
use super::call::Call;
use super::class::in_std;
use super::effect::is_left_out;
use super::seq::{Seq, int};
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// What stands for the two numbers; `None` if it is another class.
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

/// The class, if a member is such a parameter.
pub(in super::super) fn class_of(member: Cursor<'_>) -> Option<Cursor<'_>> {
    let constructor = member.semantic_parent();
    let constructor = constructor.filter(|_| member.kind() == CXCursor_ParmDecl)?;
    constructor.semantic_parent()
}

fn arithmetic(op: &str) -> Option<BinOp> {
    Some(match op {
        "+" => BinOp::Add,
        "-" => BinOp::Subtract,
        "*" => BinOp::Multiply,
        "/" => BinOp::Divide,
        _ => return None,
    })
}

/// Whether a class is one.
pub(in super::super) fn is_complex(class: Cursor<'_>) -> bool {
    members(class).is_some()
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

    /// A complex number that a function of the library gives.
    fn complex_result(&mut self, call: &Call<'u>, ty: ScalarType) -> Result<Complex> {
        let zero = Expr::Const(Scalar::zero(ty));
        let op = call.name.strip_prefix("operator").and_then(arithmetic);
        if let (Some(op), &[l, r]) = (op, &call.args[..]) {
            let (l, r) = (self.operand_of(l)?, self.operand_of(r)?);
            return self.complex_arithmetic(op, l, r, call.at);
        }
        match (call.name.as_str(), &call.args[..]) {
            ("operator+" | "move" | "forward", &[z]) => self.complex_numbers(z),
            ("operator-", &[z]) => Ok(self.complex_numbers(z)?.map(negate)),
            // (Of a real number, libraries make either zero.)
            ("conj", &[z]) if numbers_of(z.ty()).is_some() => {
                self.complex_numbers(z).map(conjugate)
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
                let z = self.complex_numbers(z)?;
                Ok(self.complex_exponential(z))
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
                            let [re, im] = s.complex_arithmetic(BinOp::Multiply, l, r, call.at)?;
                            Ok((re, Some(im)))
                        }
                    }
                })
            }
            _ => Err(call.unknown()),
        }
    }

    /// An element that is a complex number, or a real one.
    fn complex_at(&mut self, place: Place, at: Cursor<'u>) -> Result<Operand> {
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
        summand: impl FnOnce(&mut Self, Expr) -> Result<Operand>,
    ) -> Result<Complex> {
        let sums = init.each_ref().map(|v| (self.fresh("sum"), v.ty()));
        for ((var, _), v) in sums.iter().zip(init) {
            self.assign_var(var.clone(), v)?;
        }
        let result = sums.clone().map(|(var, ty)| Expr::Var(var, ty));
        let [re, im] = result.clone();
        self.count_to(len, at, |s, k| {
            let more = summand(s, k)?;
            let next = s.complex_arithmetic(BinOp::Add, (re, Some(im)), more, at)?;
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
                let (l, r) = (self.operand_of(l)?, self.operand_of(r)?);
                self.complex_compare(call.name == "operator==", l, r)
            }
            (name, &[z]) => {
                let z = self.complex_numbers(z)?;
                self.of_complex(name, z).ok_or_else(|| call.unknown())?
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
        let values = match op.strip_suffix('=').and_then(arithmetic) {
            Some(op) => {
                let [a, b] = places.clone().map(|p| self.load(p, l));
                let old = (self.hold("part", a?)?, Some(self.hold("part", b?)?));
                self.complex_arithmetic(op, old, (re, im), at)?
            }
            _ => [re, im.unwrap_or(Expr::Const(Scalar::zero(ty)))],
        };
        // Both are known before either is stored.
        let [re, im] = values.map(|v| self.hold("part", v));
        let [to_re, to_im] = places;
        self.write(to_re, re?, at)?;
        self.write(to_im, im?, at)
    }
}
