//! `std::optional` of a number, or of a struct of numbers: whether there is a value, and the value's numbers.
//!
//! Its members are private and each library's own. What stands for them is the class (whether there is a value) and the
//! template that the class is made of (the value): two cursors that nothing else in the object has.

use super::super::codes;
use super::super::expr::{negation, select};
use super::super::ffi::{Cursor, Type};
use super::super::flatten::{Leaf, Path, numbers};
use super::super::lower::{Lower, Result, convert, operands, peeled, problem};
use super::super::place::Place;
use super::super::types::{self, Ty};
use super::call::Call;
use super::class::{in_std, is_pair};
use super::scan::object;
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// A `std::optional` whose value consists of numbers.
pub(in super::super) struct Optional<'u> {
    /// Stands for whether there is a value.
    pub has_value: Cursor<'u>,
    /// Stands for the value.
    pub value: Cursor<'u>,
    /// The value's type.
    pub of: Type<'u>,
}

/// Calls that change one.
const CHANGING: &[&str] = &["operator=", "reset", "emplace"];

/// What a type is, or refers to, if that is a `std::optional` of numbers.
pub(in super::super) fn optional<'u>(t: Type<'u>) -> Option<Optional<'u>> {
    let t = t.referred();
    let class = t.declaration();
    if class.spelling() != "optional" || !in_std(class) {
        return None;
    }
    let of = t.template_arguments().first().copied().flatten()?;
    let found = Optional {
        has_value: class.canonical(),
        value: class.template()?.canonical(),
        of,
    };
    found.value_numbers().map(|_| found)
}

impl<'u> Optional<'u> {
    /// The numbers of its value; `None` if there is anything else in it.
    fn value_numbers(&self) -> Option<Vec<Leaf<'u>>> {
        match types::read(self.of) {
            Ty::Scalar(ty) => Some(vec![(vec![], ty)]),
            _ if optional(self.of).is_some() => None,
            _ => numbers(self.of),
        }
    }

    /// All its numbers: whether there is a value, then the value's.
    pub fn leaves(&self) -> Vec<Leaf<'u>> {
        let value = self.value_numbers().unwrap_or_default().into_iter();
        let inside = value.map(|(mut path, ty)| {
            path.insert(0, self.value);
            (path, ty)
        });
        std::iter::once((vec![self.has_value], ScalarType::I1))
            .chain(inside)
            .collect()
    }

    fn none(&self) -> Vec<Expr> {
        let zero = |(_, ty)| Expr::Const(Scalar::zero(ty));
        self.leaves().into_iter().map(zero).collect()
    }
}

/// What `*o`, `o->` and `o.value()` are called on.
fn contents<'u>(c: Cursor<'u>) -> Option<(Cursor<'u>, Optional<'u>)> {
    let c = peeled(c);
    let callee = c.referenced().filter(|_| c.kind() == CXCursor_CallExpr)?;
    let gives = matches!(
        callee.spelling().as_str(),
        "operator*" | "operator->" | "value"
    );
    let of = object(c).or_else(|| c.arguments().first().copied());
    let of = of.filter(|_| gives && in_std(callee))?;
    Some((of, optional(of.ty())?))
}

/// What a member is called that stands for a part of one; nothing if it does not.
pub(in super::super) fn part(member: Cursor<'_>) -> Option<&'static str> {
    let is_one = member.spelling() == "optional" && in_std(member);
    is_one.then(|| match member.kind() {
        CXCursor_ClassTemplate => "value",
        _ => "has_value",
    })
}

/// Whether an expression is the value in a `std::optional`.
pub(in super::super) fn is_value(c: Cursor<'_>) -> bool {
    contents(c).is_some()
}

/// Whether an expression is `std::nullopt`.
fn is_nullopt(c: Cursor<'_>) -> bool {
    let class = c.ty().canonical().declaration();
    class.spelling() == "nullopt_t" && in_std(class)
}

impl<'u> Lower<'u, '_> {
    /// The value in a `std::optional`, as a struct. There has to be one.
    pub fn optional_contents(&mut self, c: Cursor<'u>) -> Result<Path<'u>> {
        let (mut path, inside) = self.taken(c)?;
        path.1.push(inside.value);
        Ok(path)
    }

    /// The `std::optional` whose value an expression is, which has to be there.
    fn taken(&mut self, c: Cursor<'u>) -> Result<(Path<'u>, Optional<'u>)> {
        let (of, inside) = contents(c).ok_or_else(|| unsupported(c))?;
        let path = self.optional_object(of)?;
        let given = self.has_value(&path, &inside, c)?;
        self.require(given)?;
        Ok((path, inside))
    }

    /// The value in a `std::optional` of a number, as a place; `None` if `c` is something else.
    pub fn optional_place(&mut self, c: Cursor<'u>) -> Result<Option<Place>> {
        match contents(c) {
            Some((_, inside)) if matches!(types::read(inside.of), Ty::Scalar(_)) => {
                let (path, _) = self.taken(c)?;
                self.number_in(&path, &[inside.value], c).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The variable that an expression is, or a new one.
    fn optional_object(&mut self, c: Cursor<'u>) -> Result<Path<'u>> {
        if peeled(c).kind() == CXCursor_CallExpr {
            let values = self.optional_value(c)?;
            return self.new_struct(c, "optional", Some(values));
        }
        self.record(c)
    }

    fn has_value(&mut self, path: &Path<'u>, o: &Optional<'u>, at: Cursor<'u>) -> Result<Expr> {
        let place = self.number_in(path, &[o.has_value], at)?;
        self.load(place, at)
    }

    /// A call on a `std::optional`, with its value if it has one; `None` if it is another call.
    pub(super) fn optional_call(&mut self, call: &Call<'u>) -> Result<Option<Option<Expr>>> {
        let Some((of, o)) = (call.args.first()).and_then(|&a| Some((a, optional(a.ty())?))) else {
            return Ok(None);
        };
        let c = call.at;
        let value = match (call.name.as_str(), call.args.len()) {
            ("has_value" | "operator bool", 1) => {
                let path = self.optional_object(of)?;
                self.has_value(&path, &o, c)?
            }
            ("operator==" | "operator!=", 2) if is_nullopt(call.arg(1)?) => {
                let path = self.optional_object(of)?;
                let given = self.has_value(&path, &o, c)?;
                match call.name.as_str() {
                    "operator==" => negation(given),
                    _ => given,
                }
            }
            ("value_or", 2) => {
                let Ty::Scalar(ty) = types::read(o.of) else {
                    return Err(call.unsupported());
                };
                let path = self.optional_object(of)?;
                let given = self.has_value(&path, &o, c)?;
                let place = self.number_in(&path, &[o.value], c)?;
                let held = self.load(place, c)?;
                let other = self.value(call.arg(1)?)?;
                if ty == ScalarType::I1 && other.ty() != ty {
                    return Err(call.unsupported());
                }
                select(given, held, convert(ty, other))
            }
            ("operator*" | "value", 1) => {
                let Some(place) = self.optional_place(c)? else {
                    return Err(call.unsupported());
                };
                self.load(place, c)?
            }
            (name, _) if CHANGING.contains(&name) => {
                self.change_optional(call, of, &o)?;
                return Ok(Some(None));
            }
            _ => return Err(call.unsupported()),
        };
        Ok(Some(Some(value)))
    }

    /// `o = …`, `o.reset()`, `o.emplace(…)`
    fn change_optional(&mut self, call: &Call<'u>, of: Cursor<'u>, o: &Optional<'u>) -> Result<()> {
        let to = self.record(of)?;
        let values = match call.args[1..] {
            [] if call.name == "reset" => o.none(),
            // `emplace()`: a number that is made of nothing is zero.
            [] if matches!(types::read(o.of), Ty::Scalar(_)) => with_value(o.none().split_off(1)),
            [given] => self.optional_from(o, given)?,
            [first, second] if is_pair(o.of.canonical().declaration()) => {
                with_value(self.pair_of([first, second], o.of)?)
            }
            _ => return Err(call.unsupported()),
        };
        self.assign_all(&to, o.leaves(), values, call.at)
    }

    /// The numbers of an expression that is a `std::optional`.
    pub fn optional_value(&mut self, e: Cursor<'u>) -> Result<Vec<Expr>> {
        let e = peeled(e);
        let o = optional(e.ty()).ok_or_else(|| unsupported(e))?;
        let is_std = || e.referenced().is_some_and(in_std);
        match e.kind() {
            CXCursor_InitListExpr | CXCursor_CXXFunctionalCastExpr => match operands(e)[..] {
                [] => Ok(o.none()),
                [one] => self.optional_from(&o, one),
                _ => Err(unsupported(e)),
            },
            CXCursor_CallExpr if is_std() => match e.arguments()[..] {
                [] => Ok(o.none()),
                [one] => self.optional_from(&o, one),
                _ => Err(unsupported(e)),
            },
            CXCursor_CallExpr => {
                self.call(e)?;
                let returned = self.returned_struct.take();
                returned.ok_or_else(|| unsupported(e))
            }
            _ => {
                let path = self.record(e)?;
                self.numbers_of(&path, e)
            }
        }
    }

    /// The numbers of an `optional` that is made of, or assigned, `given`: another one, `std::nullopt` or a value.
    fn optional_from(&mut self, o: &Optional<'u>, given: Cursor<'u>) -> Result<Vec<Expr>> {
        if is_nullopt(given) {
            return Ok(o.none());
        }
        let e = peeled(given);
        if e.kind() == CXCursor_InitListExpr && operands(e).is_empty() {
            return Err(unsupported(e));
        }
        if let Some(other) = optional(given.ty()) {
            return match other.has_value == o.has_value {
                true => self.struct_value(given),
                false => Err(unsupported(given)),
            };
        }
        let values = match types::read(o.of) {
            Ty::Scalar(ty) => {
                let value = self.value(super::super::initializer::braced(given)?)?;
                if ty == ScalarType::I1 && value.ty() != ty {
                    return Err(unsupported(given));
                }
                self.sequence_point()?;
                let value = convert(ty, value);
                vec![self.hold("value", value)?]
            }
            _ if given.ty().canonical().declaration() == o.of.canonical().declaration() => {
                self.struct_value(given)?
            }
            _ => return Err(unsupported(given)),
        };
        Ok(with_value(values))
    }
}

/// The numbers of one that has a value, which consists of these.
fn with_value(mut values: Vec<Expr>) -> Vec<Expr> {
    values.insert(0, Expr::int(ScalarType::I1, 1));
    values
}

fn unsupported(at: Cursor<'_>) -> super::super::Problem {
    let message = "this use of a 'std::optional' is not supported";
    problem(codes::RECORD, message, at)
}
