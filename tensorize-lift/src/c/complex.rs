//! Complex numbers, C99's (`c99.rs`) and C++'s (`cpp/complex.rs`): two numbers side by side, with their arithmetic.
//!
//! Products and quotients are the textbook's. C's annex G has more to say of infinities, and libraries scale what might
//! overflow, so that no more than equality over the reals is claimed of them, nor of absolute values and exponentials. Sums, and
//! products with real numbers, are what compilers make of them: a real number has no imaginary part, not one that is zero.

mod c99;

pub(super) use c99::{is_complex, is_computed, is_known, refused, stand_in, virtual_header};

use super::codes;
use super::cpp;
use super::expr::{negate, negation};
use super::ffi::{Cursor, Type};
use super::flatten::struct_declaration;
use super::lower::{Lower, Result, problem};
use super::math;
use super::place::Place;
use super::types;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Operators and operands of a number that is written down again where it is used again.
const MAX_NODES: usize = 8;

/// The numbers of one: its real and its imaginary part.
pub(super) type Complex = [Expr; 2];

/// A number as an operand: a real one has nothing for its imaginary part.
pub(super) type Operand = (Expr, Option<Expr>);

/// What the parts of one are called.
pub(super) const PARTS: [&str; 2] = ["re", "im"];

/// What stands for the two numbers of such a class; `None` if it is another class.
pub(super) fn members(class: Cursor<'_>) -> Option<[Cursor<'_>; 2]> {
    c99::members(class).or_else(|| cpp::complex::members(class))
}

/// Which of the two numbers a member stands for; nothing if it is another class's.
pub(super) fn part(member: Cursor<'_>) -> Option<usize> {
    members(class_of(member)?)?
        .iter()
        .position(|m| *m == member)
}

/// The class, if a member is a part of a complex number.
pub(super) fn class_of(member: Cursor<'_>) -> Option<Cursor<'_>> {
    let class = c99::class_of(member).or_else(|| cpp::complex::class_of(member))?;
    members(class).map(|_| class)
}

/// How code at the end of the file names such a part.
pub(super) fn name_of(member: Cursor<'_>) -> Option<String> {
    let part = part(member)?;
    Some(match c99::class_of(member) {
        Some(_) => c99::PARTS[part].to_string(),
        None => format!("tensorize::part<{part}>"),
    })
}

/// The type of the numbers, if a type is a complex number or refers to one.
pub(super) fn numbers_of(t: Type<'_>) -> Option<ScalarType> {
    let class = struct_declaration(t.referred())?;
    types::read(members(class)?[0].ty()).as_scalar()
}

pub(super) fn binary(op: BinOp, a: &Expr, b: &Expr) -> Expr {
    Expr::binary(op, a.clone(), b.clone())
}

pub(super) fn sum_of_products(op: BinOp, [a, b]: [&Expr; 2], [c, d]: [&Expr; 2]) -> Expr {
    let (l, r) = (binary(BinOp::Multiply, a, b), binary(BinOp::Multiply, c, d));
    Expr::binary(op, l, r)
}

pub(super) fn conjugate([re, im]: Complex) -> Complex {
    [re, negate(im)]
}

impl<'u> Lower<'u, '_> {
    /// An operand: a complex number, or a real one and nothing.
    pub fn operand_of(&mut self, c: Cursor<'u>) -> Result<Operand> {
        if numbers_of(c.ty()).is_none() {
            let v = self.value(c)?;
            return Ok((self.part_of(v)?, None));
        }
        let [re, im] = self.complex_numbers(c)?;
        Ok((re, Some(im)))
    }

    /// Both numbers of one.
    pub fn complex_numbers(&mut self, c: Cursor<'u>) -> Result<Complex> {
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

    /// `l op r`, each a complex number or, with nothing for its imaginary part, a real one.
    pub fn complex_arithmetic(
        &mut self,
        op: BinOp,
        (a, b): Operand,
        (c, d): Operand,
        at: Cursor<'u>,
    ) -> Result<Complex> {
        if a.ty() != c.ty() {
            return Err(unsupported(at));
        }
        use BinOp::{Add, Divide, Multiply, Subtract};
        let out = match (op, b, d) {
            (Add, Some(b), None) => [binary(Add, &a, &c), b],
            (Add, None, Some(d)) => [binary(Add, &a, &c), d],
            (Add, Some(b), Some(d)) => [binary(Add, &a, &c), binary(Add, &b, &d)],
            (Subtract, Some(b), None) => [binary(Subtract, &a, &c), b],
            (Subtract, None, Some(d)) => [binary(Subtract, &a, &c), negate(d)],
            (Subtract, Some(b), Some(d)) => [binary(Subtract, &a, &c), binary(Subtract, &b, &d)],
            (Multiply, Some(b), None) => [binary(Multiply, &a, &c), binary(Multiply, &b, &c)],
            (Multiply, None, Some(d)) => [binary(Multiply, &c, &a), binary(Multiply, &d, &a)],
            (Divide, Some(b), None) => [binary(Divide, &a, &c), binary(Divide, &b, &c)],
            (Multiply, Some(b), Some(d)) => {
                self.fused = true;
                [
                    sum_of_products(Subtract, [&a, &c], [&b, &d]),
                    sum_of_products(Add, [&a, &d], [&b, &c]),
                ]
            }
            (Divide, b, Some(d)) => {
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

    /// Where the numbers of one stand that is there.
    pub fn complex_places(&mut self, c: Cursor<'u>) -> Result<[Place; 2]> {
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

    /// What a function of one complex number gives that is real: its name in C++.
    pub fn of_complex(&mut self, name: &str, [re, im]: Complex) -> Option<Expr> {
        Some(match name {
            "real" => re,
            "imag" => im,
            "norm" => {
                self.fused = true;
                sum_of_products(BinOp::Add, [&re, &re], [&im, &im])
            }
            "abs" => {
                self.fused = true;
                let name = match re.ty() {
                    ScalarType::F32 => "hypotf",
                    _ => "hypot",
                };
                math::fused(name, &[re, im])?
            }
            "arg" => binary(BinOp::Atan2, &im, &re),
            _ => return None,
        })
    }

    /// `exp(z)`
    pub fn complex_exponential(&mut self, [re, im]: Complex) -> Complex {
        self.fused = true;
        on_circle(Expr::Unary(UnOp::Exponential, Box::new(re)), im)
    }

    /// `l == r`, or `l != r`: whether both parts are.
    pub fn complex_compare(&mut self, equal: bool, (a, b): Operand, (c, d): Operand) -> Expr {
        let zero = Expr::Const(Scalar::zero(a.ty()));
        let same = |a, b| Expr::compare(CmpOp::Eq, a, b);
        let [b, d] = [b, d].map(|v| v.unwrap_or(zero.clone()));
        let both = Expr::binary(BinOp::And, same(a, c), same(b, d));
        match equal {
            true => both,
            false => negation(both),
        }
    }
}

/// `r * cos(angle)` and `r * sin(angle)`
pub(super) fn on_circle(r: Expr, angle: Expr) -> Complex {
    [UnOp::Cosine, UnOp::Sine].map(|f| {
        binary(
            BinOp::Multiply,
            &r,
            &Expr::Unary(f, Box::new(angle.clone())),
        )
    })
}

pub(super) fn unsupported(at: Cursor<'_>) -> super::Problem {
    let message = "this use of a complex number is not supported";
    problem(codes::RECORD, message, at)
}
