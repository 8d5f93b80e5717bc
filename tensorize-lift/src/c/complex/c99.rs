//! C99's complex numbers: `float _Complex` and `double _Complex`.
//!
//! libclang has nothing inside of such a type. What stands for its two numbers is a struct with these members, declared in a
//! `<complex.h>` that libclang gets to see before the system's.

use super::{Complex, Operand, conjugate, numbers_of};
use crate::c::codes;
use crate::c::expr::negate;
use crate::c::ffi::{Cursor, Type};
use crate::c::lower::{Lower, Result, convert, operand, operands, operands_of, peeled, problem};
use crate::c::operator::{self, Binary, Unary};
use crate::c::place::Place;
use crate::c::types::{self, usual};
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// GNU's operators for the parts, by which code at the end of the file names them.
pub(super) const PARTS: [&str; 2] = ["__real__", "__imag__"];

const STRUCTS: [(ScalarType, &str); 2] = [
    (ScalarType::F32, "tensorize_float_complex"),
    (ScalarType::F64, "tensorize_double_complex"),
];

/// The header. glibc gives `CMPLX` to compilers only that have a certain built-in function.
const HEADER: &str = "\
#include_next <complex.h>
#if !defined TENSORIZE_COMPLEX && !defined __cplusplus
#define TENSORIZE_COMPLEX
struct tensorize_float_complex { float re, im; };
struct tensorize_double_complex { double re, im; };
#if __STDC_VERSION__ >= 201112L && !defined CMPLX
#define CMPLX(x, y) ((double _Complex){(double)(x), (double)(y)})
#define CMPLXF(x, y) ((float _Complex){(float)(x), (float)(y)})
#endif
#endif
";

/// The header's name and its text.
pub(in crate::c) fn virtual_header() -> (&'static str, &'static str) {
    ("complex.h", HEADER)
}

/// What such a type is called that has no stand-in.
pub(in crate::c) fn refused(t: Type<'_>) -> String {
    let of = types::read(t.element()).as_scalar();
    let why = match of.is_some_and(ScalarType::is_float) {
        true => " without '#include <complex.h>'",
        false => "",
    };
    format!("the type '{}'{why}", t.spelling())
}

/// Whether an expression or a declaration is such a number.
pub(in crate::c) fn is_complex(c: Cursor<'_>) -> bool {
    stand_in(c.ty()).is_some()
}

/// Whether an expression is such a number, and none that lies somewhere.
pub(in crate::c) fn is_computed(c: Cursor<'_>) -> bool {
    is_complex(c)
        && match (c.kind(), &operands(c)[..]) {
            // A conversion between complex types makes another one, and so does one from a real number.
            (CXCursor_ParenExpr | CXCursor_UnexposedExpr, &[inner]) => {
                numbers_of(inner.ty()) != numbers_of(c.ty()) || is_computed(inner)
            }
            (CXCursor_UnaryOperator, _) => !matches!(operator::unary(c), Ok(Unary::Deref)),
            (kind, _) => !matches!(
                kind,
                CXCursor_DeclRefExpr | CXCursor_MemberRefExpr | CXCursor_ArraySubscriptExpr
            ),
        }
}

/// The struct that stands for such a type.
pub(in crate::c) fn stand_in(t: Type<'_>) -> Option<Cursor<'_>> {
    let t = t.canonical();
    if t.kind() != CXType_Complex || t.is_volatile() {
        return None;
    }
    let number = types::read(t.element()).as_scalar()?;
    let (_, name) = STRUCTS.iter().find(|(ty, _)| *ty == number)?;
    t.struct_named(name).filter(|s| members(*s).is_some())
}

/// The numbers of a struct that stands for such a type.
pub(super) fn members(class: Cursor<'_>) -> Option<[Cursor<'_>; 2]> {
    if class.kind() != CXCursor_StructDecl {
        return None;
    }
    let name = class.spelling();
    let (number, _) = STRUCTS.iter().find(|(_, own)| *own == name)?;
    let fields: [Cursor<'_>; 2] = class.ty().fields().try_into().ok()?;
    let is_number = |f: &Cursor<'_>| types::read(f.ty()).as_scalar() == Some(*number);
    fields.iter().all(is_number).then_some(fields)
}

/// The struct that a member is one of.
pub(super) fn class_of(member: Cursor<'_>) -> Option<Cursor<'_>> {
    let is_field = member.kind() == CXCursor_FieldDecl;
    let class = member.semantic_parent().filter(|_| is_field)?;
    members(class).map(|_| class)
}

/// The functions of `<complex.h>` that have a meaning here.
const FUNCTIONS: [&str; 6] = ["conj", "cexp", "creal", "cimag", "cabs", "carg"];

/// What a function of one complex number is called, without the letter that says of which type, if it is not the program's own.
fn function(f: Cursor<'_>) -> Option<String> {
    if f.kind() != CXCursor_FunctionDecl || f.definition().is_some() {
        return None;
    }
    let of = f.arguments().first()?.ty();
    stand_in(of)?;
    let name = f.spelling();
    let name = name.strip_prefix("__builtin_").unwrap_or(&name);
    let plain = match numbers_of(of) {
        Some(ScalarType::F32) => name.strip_suffix('f')?,
        _ => name,
    };
    Some(plain.to_string())
}

fn known(name: &str) -> Option<&'static str> {
    FUNCTIONS.into_iter().find(|known| *known == name)
}

/// Whether a function is one of `<complex.h>` that has a meaning here: all it does is compute a number.
pub(in crate::c) fn is_known(f: Cursor<'_>) -> bool {
    function(f).is_some_and(|name| known(&name).is_some())
}

/// Whether an operand was an integer: some compilers make it a complex number, whose imaginary part is zero, and others a real
/// one, which has none. Where that part meets an infinity, or a zero of the other sign, one sees it.
fn is_of_an_integer(operand: Cursor<'_>) -> bool {
    types::of(peeled(operand))
        .as_scalar()
        .is_some_and(ScalarType::is_int)
}

impl<'u> Lower<'u, '_> {
    /// The numbers of an expression that computes one; `None` if it names one that is there, or is of another type.
    pub fn complex_expression(&mut self, e: Cursor<'u>) -> Result<Option<Vec<Expr>>> {
        if self.source.cpp || !is_complex(e) {
            return Ok(None);
        }
        let ty = numbers_of(e.ty()).ok_or_else(|| super::unsupported(e))?;
        let zero = Expr::Const(Scalar::zero(ty));
        let both: Complex = match e.kind() {
            CXCursor_ParenExpr | CXCursor_UnexposedExpr | CXCursor_CStyleCastExpr => {
                let inner = operand(e)?;
                match is_complex(inner) {
                    true => self.complex_numbers(inner)?.map(|v| convert(ty, v)),
                    false => [convert(ty, self.value(inner)?), zero],
                }
            }
            CXCursor_InitListExpr => match operands(e)[..] {
                [one] if is_complex(one) => self.complex_numbers(one)?,
                [re] => [convert(ty, self.value(re)?), zero],
                [re, im] => {
                    let re = self.value(re)?;
                    [convert(ty, re), convert(ty, self.value(im)?)]
                }
                _ => return Err(super::unsupported(e)),
            },
            // `1.0iF`, which `I` is.
            CXCursor_ImaginaryLiteral => [zero, convert(ty, self.value(operand(e)?)?)],
            CXCursor_UnaryOperator => {
                let inner = operand(e)?;
                match operator::unary(e)? {
                    Unary::Plus | Unary::Extension => self.complex_numbers(inner)?,
                    Unary::Minus => self.complex_numbers(inner)?.map(negate),
                    // GNU's way to write a conjugate.
                    Unary::Not => conjugate(self.complex_numbers(inner)?),
                    Unary::Deref => return Ok(None),
                    _ => return Err(super::unsupported(e)),
                }
            }
            CXCursor_BinaryOperator => match (operator::binary(e)?, &operands(e)[..]) {
                (Binary::Arithmetic(op), &[l, r]) => {
                    let op = op.plain().ok_or_else(|| super::unsupported(e))?;
                    self.fused |= is_of_an_integer(l) || is_of_an_integer(r);
                    let (l, r) = (self.c99_operand(l)?, self.c99_operand(r)?);
                    self.complex_arithmetic(op, l, r, e)?
                }
                (Binary::Assign, &[l, r]) => {
                    self.struct_assigned(l, r, e)?;
                    self.complex_numbers(l)?
                }
                (Binary::Comma, &[l, r]) => {
                    self.effect(l)?;
                    self.sequence_point()?;
                    self.complex_numbers(r)?
                }
                _ => return Err(super::unsupported(e)),
            },
            CXCursor_CompoundAssignOperator => {
                self.complex_compound(e)?;
                self.complex_numbers(operands(e)[0])?
            }
            CXCursor_CallExpr => {
                let Some((name, z)) = self.of_the_library(e)? else {
                    return Ok(None);
                };
                match name {
                    "conj" => conjugate(z),
                    "cexp" => self.complex_exponential(z),
                    _ => return Err(super::unsupported(e)),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(Vec::from(both)))
    }

    /// Which function of `<complex.h>` a call is one of, and the number that it gets; `None` if it is of another kind.
    fn of_the_library(&mut self, c: Cursor<'u>) -> Result<Option<(&'static str, Complex)>> {
        let Some(name) = c.referenced().and_then(function) else {
            return Ok(None);
        };
        match (known(&name), c.arguments().first()) {
            (Some(name), Some(z)) => Ok(Some((name, self.complex_numbers(*z)?))),
            _ => Err(unknown(c)),
        }
    }

    /// An operand of arithmetic. What clang converts to a complex number has no imaginary part to the compilers.
    fn c99_operand(&mut self, c: Cursor<'u>) -> Result<Operand> {
        let Some(ty) = numbers_of(c.ty()) else {
            return self.operand_of(c);
        };
        let inner = match (c.kind(), &operands(c)[..]) {
            (CXCursor_ParenExpr | CXCursor_UnexposedExpr, &[inner]) => inner,
            _ => return self.operand_of(c),
        };
        let (re, im) = self.c99_operand(inner)?;
        Ok((convert(ty, re), im.map(|v| convert(ty, v))))
    }

    /// `l op= r` of a complex number.
    pub fn complex_compound(&mut self, c: Cursor<'u>) -> Result<()> {
        let [l, _] = operands_of(c)?;
        let ty = numbers_of(l.ty()).ok_or_else(|| super::unsupported(l))?;
        let places = self.complex_places(l)?;
        let [a, b] = places.clone().map(|p| self.load(p, l));
        let values = self.compound(c, (a?, Some(b?)))?;
        // Both are known before either is stored.
        let [re, im] = values.map(|v| self.hold("part", convert(ty, v)));
        let [to_re, to_im] = places;
        self.write(to_re, re?, c)?;
        self.write(to_im, im?, c)
    }

    /// `l op= r` of a real number with a complex one, of which the real part is left.
    pub fn real_compound(&mut self, c: Cursor<'u>, ty: ScalarType) -> Result<Place> {
        let [l, _] = operands_of(c)?;
        let place = self.place(l)?;
        let old = self.load(place.clone(), l)?;
        let [re, _] = self.compound(c, (old, None))?;
        self.write(place.clone(), convert(ty, re), c)?;
        Ok(place)
    }

    /// `old op r`, computed in the type that C's conversions give.
    fn compound(&mut self, c: Cursor<'u>, (a, b): Operand) -> Result<Complex> {
        let [_, r] = operands_of(c)?;
        let op = operator::compound(c)?.plain();
        let op = op.ok_or_else(|| super::unsupported(c))?;
        self.fused |= is_of_an_integer(r);
        let (re, im) = self.c99_operand(r)?;
        let common = usual(a.ty(), re.ty());
        let wide = |v| convert(common, v);
        self.complex_arithmetic(op, (wide(a), b.map(wide)), (wide(re), im.map(wide)), c)
    }

    /// A number that is made of a complex one: `creal(z)`, `__imag__ z`, `z == w`, `(float)z`; `None` if it is another.
    pub fn of_c99_complex(&mut self, c: Cursor<'u>, ty: ScalarType) -> Result<Option<Expr>> {
        if self.source.cpp {
            return Ok(None);
        }
        let value = match (c.kind(), &operands(c)[..]) {
            (CXCursor_UnexposedExpr | CXCursor_CStyleCastExpr, &[z]) if is_complex(z) => {
                if ty == ScalarType::I1 {
                    return self.is_not_zero(z).map(Some);
                }
                let [re, _] = self.complex_numbers(z)?;
                re
            }
            (CXCursor_UnaryOperator, &[z]) => match operator::unary(c)? {
                Unary::Part(which) if is_complex(z) => {
                    let [re, im] = self.complex_numbers(z)?;
                    [re, im][which].clone()
                }
                _ => return Ok(None),
            },
            (CXCursor_BinaryOperator, &[l, r]) if is_complex(l) || is_complex(r) => {
                let equal = match operator::binary(c)? {
                    Binary::Compare(CmpOp::Eq) => true,
                    Binary::Compare(CmpOp::Ne) => false,
                    _ => return Ok(None),
                };
                let (l, r) = (self.c99_operand(l)?, self.c99_operand(r)?);
                self.complex_compare(equal, l, r)
            }
            (CXCursor_CallExpr, _) => {
                let Some((name, z)) = self.of_the_library(c)? else {
                    return Ok(None);
                };
                // C++'s names are C's without the letter.
                let name = name.strip_prefix('c').unwrap_or(name);
                let value = self.of_complex(name, z);
                value.ok_or_else(|| super::unsupported(c))?
            }
            _ => return Ok(None),
        };
        Ok(Some(convert(ty, value)))
    }

    /// `z != 0`
    pub fn is_not_zero(&mut self, z: Cursor<'u>) -> Result<Expr> {
        let [re, im] = self.complex_numbers(z)?;
        let zero = Expr::Const(Scalar::zero(re.ty()));
        Ok(self.complex_compare(false, (re, Some(im)), (zero, None)))
    }
}

fn unknown(c: Cursor<'_>) -> crate::c::Problem {
    let name = c.referenced().map(|f| f.spelling()).unwrap_or_default();
    let message =
        format!("'{name}' is not defined in this file and is not one of <complex.h> that we know");
    problem(codes::UNKNOWN_CALL, message, c)
}
