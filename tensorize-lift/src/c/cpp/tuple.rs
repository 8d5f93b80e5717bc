//! `std::tuple` of numbers.
//!
//! Its members are private and each library's own, and lie in classes that it is derived from. What stands for the first one
//! is the first thing that is declared in the template that the class is made of, and so on: cursors that nothing else in the
//! object has.

use super::super::codes;
use super::super::ffi::{Cursor, Type};
use super::super::flatten::{Leaf, numbers, returns_reference};
use super::super::lower::{Lower, Result, convert, operands, peeled, problem};
use super::super::place::Place;
use super::super::types::{self, Ty};
use super::call::{Call, template_number};
use super::class::in_std;
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::scalar::Scalar;

/// The numbers that a type is a `std::tuple` of, or refers to one of; `None` if it is something else.
pub(in super::super) fn tuple<'u>(t: Type<'u>) -> Option<Vec<Leaf<'u>>> {
    let t = t.referred();
    let class = t.declaration();
    if class.spelling() != "tuple" || !in_std(class) {
        return None;
    }
    let stand_ins = class.template()?.children();
    let arguments = t.template_arguments();
    if arguments.is_empty() || arguments.len() > stand_ins.len() {
        return None;
    }
    let parts = arguments.into_iter().zip(stand_ins);
    parts
        .map(|(part, stand_in)| match types::read(part?) {
            Ty::Scalar(ty) => Some((vec![stand_in], ty)),
            _ => None,
        })
        .collect()
}

/// Which part of a tuple a member stands for.
pub(in super::super) fn part(member: Cursor<'_>) -> Option<usize> {
    let template = member
        .semantic_parent()
        .filter(|p| p.kind() == CXCursor_ClassTemplate && p.spelling() == "tuple" && in_std(*p))?;
    template.children().iter().position(|c| *c == member)
}

/// What `std::get<0>(t)` is called on, if that is a tuple, and which part it gives.
fn part_of<'u>(c: Cursor<'u>) -> Option<(Cursor<'u>, Leaf<'u>)> {
    let c = peeled(c);
    let callee = c.referenced().filter(|_| c.kind() == CXCursor_CallExpr)?;
    let of = *c.arguments().first()?;
    if callee.spelling() != "get" || !in_std(callee) {
        return None;
    }
    let parts = tuple(of.ty())?;
    let number = usize::try_from(template_number(c)?).ok()?;
    Some((of, parts.get(number)?.clone()))
}

/// The variables in `std::tie(a, b)`.
fn tied<'u>(c: Cursor<'u>) -> Option<Vec<Cursor<'u>>> {
    let c = peeled(c);
    let callee = c.referenced().filter(|_| c.kind() == CXCursor_CallExpr)?;
    (callee.spelling() == "tie" && in_std(callee)).then(|| c.arguments())
}

impl<'u> Lower<'u, '_> {
    /// A part of a tuple, as a place; `None` if `c` is something else.
    pub(super) fn tuple_place(&mut self, c: Cursor<'u>) -> Result<Option<Place>> {
        let Some((of, (path, _))) = part_of(c) else {
            return Ok(None);
        };
        let whole = match peeled(of).kind() {
            CXCursor_CallExpr => {
                let values = self.struct_value(of)?;
                self.new_struct(of, "tuple", Some(values))?
            }
            _ => self.record(of)?,
        };
        self.number_in(&whole, &path, c).map(Some)
    }

    /// A call that has to do with tuples, with its value if it has one; `None` if it is another call.
    pub(super) fn tuple_call(&mut self, call: &Call<'u>) -> Result<Option<Option<Expr>>> {
        if let Some(place) = self.tuple_place(call.at)? {
            return self.load(place, call.at).map(|v| Some(Some(v)));
        }
        match call.args[..] {
            [to, from] if call.name == "operator=" => match tied(to) {
                Some(variables) => self.tie(variables, from, call.at)?,
                None if tuple(to.ty()).is_some() => self.struct_assigned(to, from, call.at)?,
                None => return Ok(None),
            },
            _ => return Ok(None),
        }
        Ok(Some(None))
    }

    /// `std::tie(a, b) = from`
    fn tie(&mut self, to: Vec<Cursor<'u>>, from: Cursor<'u>, at: Cursor<'u>) -> Result<()> {
        // What is no value of its own is read part by part, as the parts before are assigned.
        let made = matches!(
            peeled(from).kind(),
            CXCursor_CallExpr | CXCursor_InitListExpr | CXCursor_CXXFunctionalCastExpr
        );
        if !made || returns_reference(from) {
            return Err(unsupported(at));
        }
        let values = self.struct_value(from)?;
        if values.len() != to.len() {
            return Err(unsupported(at));
        }
        // All values are known, and then all places, before anything is assigned.
        let held: Result<Vec<Expr>> = values.into_iter().map(|v| self.hold("part", v)).collect();
        let mut assigned = Vec::new();
        for (variable, value) in to.into_iter().zip(held?) {
            // (`std::ignore` is no number.)
            if let Ty::Scalar(ty) = types::of(variable).referred() {
                let place = self.place(variable)?;
                assigned.push((self.settled_place(place)?, convert(ty, value), variable));
            }
        }
        for (place, value, variable) in assigned {
            self.write(place, value, variable)?;
        }
        Ok(())
    }

    /// The numbers of an expression that is a tuple.
    pub fn tuple_value(&mut self, e: Cursor<'u>) -> Result<Vec<Expr>> {
        let e = peeled(e);
        let parts = tuple(e.ty()).ok_or_else(|| unsupported(e))?;
        let made = |c: Cursor<'u>| {
            c.referenced().is_some_and(|f| {
                in_std(f) && (f.kind() == CXCursor_Constructor || f.spelling() == "make_tuple")
            })
        };
        let given = match e.kind() {
            CXCursor_InitListExpr | CXCursor_CXXFunctionalCastExpr => operands(e),
            CXCursor_CallExpr if made(e) => e.arguments(),
            CXCursor_CallExpr => {
                self.call(e)?;
                let returned = self.returned_struct.take();
                return returned.ok_or_else(|| unsupported(e));
            }
            _ => {
                let path = self.record(e)?;
                return self.numbers_of(&path, e);
            }
        };
        let values = match given[..] {
            [] => {
                let zero = |(_, ty): &Leaf<'_>| Expr::Const(Scalar::zero(*ty));
                return Ok(parts.iter().map(zero).collect());
            }
            // Another one, or a pair.
            [one] if numbers(one.ty()).is_some() || tuple(one.ty()).is_some() => {
                self.struct_value(one)?
            }
            _ => {
                let mut values = Vec::new();
                for part in given {
                    values.push(self.value(part)?);
                }
                values
            }
        };
        self.converted(values, &parts, e)
    }
}

fn unsupported(at: Cursor<'_>) -> super::super::Problem {
    let message = "this use of a 'std::tuple' is not supported";
    problem(codes::RECORD, message, at)
}
