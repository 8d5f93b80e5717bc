//! What the initialiser of an array says of its numbers: C11 6.7.9, with designators, braces that are left out, strings, and
//! GCC's ranges.

use super::ffi::{Constant, Cursor, Type};
use super::flatten::{is_zero_at_first, parts};
use super::lower::{Result, operands, peeled, problem, scalar_type};
use super::types;
use super::{Problem, codes, effects};
use clang_sys::*;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// What is said of one number.
#[derive(Clone, Copy)]
pub(super) enum Item<'u> {
    Value(Cursor<'u>),
    /// The real part, or the imaginary one, of a complex number.
    Part(Cursor<'u>, usize),
    /// A character of a string.
    Character(u8),
}

/// `{ 1 }` as the initialiser of a scalar.
pub(super) fn braced<'u>(e: Cursor<'u>) -> Result<Cursor<'u>> {
    if e.kind() != CXCursor_InitListExpr {
        return Ok(e);
    }
    match operands(e)[..] {
        [one] => Ok(one),
        // `int n{};`
        [] => Ok(e),
        _ => Err(unsupported(e)),
    }
}

/// The values of a constant initialiser of `t`, zeros where there are none.
pub(super) fn constant_table(
    init: Cursor<'_>,
    t: Type<'_>,
    elem: ScalarType,
) -> Result<Vec<Scalar>> {
    let types = vec![Some(elem); count(t).ok_or_else(|| unsupported(init))?];
    Ok(constant_numbers(init, t, &types)?
        .into_iter()
        .flatten()
        .collect())
}

/// The same of numbers of these types; nothing where there is no type.
pub(super) fn constant_numbers(
    init: Cursor<'_>,
    t: Type<'_>,
    types: &[Option<ScalarType>],
) -> Result<Vec<Option<Scalar>>> {
    let items = initialised(init, t)?;
    if items.iter().any(Option::is_none) && !is_zero_at_first(t) {
        return Err(first_values(init));
    }
    let value = |(item, ty): (Option<Item<'_>>, &Option<ScalarType>)| {
        let Some(elem) = *ty else {
            return Ok(None);
        };
        Ok(Some(match item {
            None => Scalar::zero(elem),
            Some(Item::Character(b)) => Scalar::int(elem, b.into()),
            Some(Item::Value(e)) => constant(e, elem)?,
            Some(Item::Part(e, which)) => constant_part(e, which, elem)?,
        }))
    };
    items.into_iter().zip(types).map(value).collect()
}

/// How many numbers and pointers there are in an array or a struct.
fn count(t: Type<'_>) -> Option<usize> {
    if let Some((_, n)) = parts(t) {
        return usize::try_from(n).ok();
    }
    let t = t.canonical();
    match t.kind() {
        CXType_ConstantArray => {
            let len = usize::try_from(t.array_size()?).ok()?;
            count(t.array_element())?.checked_mul(len)
        }
        CXType_Record if !t.has_too_many_members() => {
            let counts = t.fields().into_iter().map(|f| count(f.ty()));
            counts.sum()
        }
        CXType_Pointer => Some(1),
        _ => None,
    }
}

/// A list says nothing of members that have first values of their own.
pub(super) fn first_values(list: Cursor<'_>) -> Problem {
    let message = "a list of structs whose members have first values of their own";
    problem(codes::INITIALIZER, message, list)
}

/// What an initialiser says of each number of an array or a struct of numbers, in their order.
pub(super) fn initialised<'u>(init: Cursor<'u>, t: Type<'u>) -> Result<Vec<Option<Item<'u>>>> {
    let mut items = vec![None; count(t).ok_or_else(|| unsupported(init))?];
    Fill { items: &mut items }.object(init, t, 0)?;
    Ok(items)
}

/// The characters of a string literal, where they are plain ASCII or the usual escapes.
pub(super) fn text(c: Cursor<'_>) -> Option<Vec<u8>> {
    let c = peeled(c);
    if c.kind() != CXCursor_StringLiteral {
        return None;
    }
    let mut out = Vec::new();
    // What a macro hides, and wide characters, are no such tokens.
    for (_, token, _) in c.tokens() {
        let inner = token.strip_prefix('"')?.strip_suffix('"')?;
        // `??/` is one character to a compiler that is asked for trigraphs.
        if inner.contains("??") {
            return None;
        }
        let mut bytes = inner.bytes();
        while let Some(b) = bytes.next() {
            out.push(match b {
                b'\\' => match bytes.next()? {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    same @ (b'\\' | b'"' | b'\'') => same,
                    _ => return None,
                },
                _ => b.is_ascii().then_some(b)?,
            });
        }
    }
    Some(out)
}

fn unsupported(c: Cursor<'_>) -> Problem {
    problem(codes::INITIALIZER, "this initialiser is not supported", c)
}

fn constant(e: Cursor<'_>, elem: ScalarType) -> Result<Scalar> {
    // Clang has the value in the type of the expression; the conversion to the element is ours.
    let from = scalar_type(&types::of(e), e)?;
    let value = e.evaluate().filter(|_| effects::is_constant(e));
    let value = value.and_then(|v| v.scalar(from)).ok_or_else(|| {
        let message = "this initialiser is not a constant";
        problem(codes::INITIALIZER, message, e)
    })?;
    Ok(tensorize_ir::op::eval_convert(elem, value))
}

/// A part of a complex number that is written as a real number.
fn constant_part(e: Cursor<'_>, which: usize, elem: ScalarType) -> Result<Scalar> {
    let real = peeled(e);
    match (super::complex::is_complex(real), which) {
        (true, _) => Err(unsupported(e)),
        (false, 0) => constant(real, elem),
        (false, _) => Ok(Scalar::zero(elem)),
    }
}

/// An array, a struct or a number inside of what is initialised, by its type and by where its numbers begin.
type Inside<'u> = (Type<'u>, usize);

/// The elements of an array or the members of a struct, each with the number of its numbers.
enum Inner<'u> {
    Elements(Type<'u>, usize, usize),
    Members(Vec<(Cursor<'u>, usize)>),
}

impl<'u> Inner<'u> {
    fn of(t: Type<'u>, at: Cursor<'u>) -> Result<Option<Inner<'u>>> {
        let t = t.canonical();
        let count = |t| count(t).ok_or_else(|| unsupported(at));
        Ok(match t.kind() {
            CXType_ConstantArray => {
                let element = t.array_element();
                let len = t.array_size().ok_or_else(|| unsupported(at))?;
                Some(Inner::Elements(element, count(element)?, len as usize))
            }
            CXType_Record => {
                let fields = t.fields().into_iter();
                let members = fields.map(|f| Ok((f, count(f.ty())?)));
                Some(Inner::Members(members.collect::<Result<_>>()?))
            }
            _ => None,
        })
    }

    /// The part in which number `at` is, counted from the first one.
    fn with(&self, at: usize) -> Option<Inside<'u>> {
        match self {
            &Inner::Elements(t, size, len) => {
                let i = at.checked_div(size).filter(|&i| i < len)?;
                Some((t, i * size))
            }
            Inner::Members(members) => {
                let mut start = 0;
                members.iter().find_map(|&(field, size)| {
                    let is_it = at < start + size;
                    start += size;
                    is_it.then(|| (field.ty(), start - size))
                })
            }
        }
    }
}

struct Fill<'u, 'a> {
    items: &'a mut [Option<Item<'u>>],
}

impl<'u> Fill<'u, '_> {
    /// All of an object, by an initialiser of its own. What has been said of it before does not count.
    fn object(&mut self, init: Cursor<'u>, t: Type<'u>, start: usize) -> Result<()> {
        let count = count(t).ok_or_else(|| unsupported(init))?;
        let inner = Inner::of(t, init)?;
        if let (Some(Inner::Elements(_, 1, len)), Some(text)) = (&inner, text(string_in(init))) {
            // Of `char t[3] = "abc"`, the zero at the end has no place.
            let items = text.into_iter().map(Item::Character).take(*len);
            return self.set(start, count, items, init);
        }
        let Some(inner) = inner else {
            let value = braced(init)?;
            if count > 1 {
                // It is computed for each part.
                if !effects::is_pure(value) {
                    return Err(unsupported(value));
                }
                let both = (0..count).map(|which| Item::Part(value, which));
                return self.set(start, count, both, init);
            }
            return self.set(start, 1, std::iter::once(Item::Value(value)), init);
        };
        if peeled(init).kind() == CXCursor_StringLiteral {
            return Err(problem(
                codes::STRING,
                "a string literal is not supported",
                init,
            ));
        }
        let init = listed(init).ok_or_else(|| unsupported(init))?;
        self.set(start, count, std::iter::empty(), init)?;
        let mut at = 0;
        for item in init.children() {
            at = match designators(item)? {
                Some((path, value)) => self.designated(&path, value, (t, start))? - start,
                None => self.next(item, &inner, at, start)?,
            };
        }
        Ok(())
    }

    /// The next item of a list without a designator, and where the one after it goes.
    fn next(
        &mut self,
        item: Cursor<'u>,
        inner: &Inner<'u>,
        at: usize,
        start: usize,
    ) -> Result<usize> {
        let (t, from) = inner.with(at).ok_or_else(|| unsupported(item))?;
        let whole =
            at == from && (listed(item).is_some() || text(item).is_some_and(|_| is_text(t)));
        match Inner::of(t, item)? {
            Some(deeper) if !whole => Ok(from + self.next(item, &deeper, at - from, start + from)?),
            _ => {
                self.object(item, t, start + from)?;
                Ok(from + count(t).ok_or_else(|| unsupported(item))?)
            }
        }
    }

    /// `[2].x = value`, and where the next item goes.
    fn designated(
        &mut self,
        path: &[Designator<'u>],
        value: Cursor<'u>,
        (t, start): Inside<'u>,
    ) -> Result<usize> {
        let Some((first, rest)) = path.split_first() else {
            self.object(value, t, start)?;
            return Ok(start + count(t).ok_or_else(|| unsupported(value))?);
        };
        match (first, Inner::of(t, value)?) {
            (&Designator::Elements(first, last), Some(Inner::Elements(element, size, len)))
                if first <= last && last < len =>
            {
                if first < last && !effects::is_pure(value) {
                    return Err(unsupported(value));
                }
                let mut end = start;
                for i in first..=last {
                    end = self.designated(rest, value, (element, start + i * size))?;
                }
                Ok(end)
            }
            (Designator::Member(field), Some(Inner::Members(members))) => {
                let before = members.iter().take_while(|(f, _)| f != field);
                let from: usize = before.map(|(_, size)| size).sum();
                self.designated(rest, value, (field.ty(), start + from))
            }
            _ => Err(unsupported(value)),
        }
    }

    fn set(
        &mut self,
        start: usize,
        count: usize,
        items: impl Iterator<Item = Item<'u>>,
        at: Cursor<'u>,
    ) -> Result<()> {
        let range = start..start + count;
        let slots = self.items.get_mut(range).ok_or_else(|| unsupported(at))?;
        let mut items = items.fuse();
        for slot in slots {
            // Whether what is overridden is evaluated is the compiler's choice.
            if let Some(Item::Value(e)) = *slot
                && !effects::is_pure(e)
            {
                return Err(unsupported(e));
            }
            *slot = items.next();
        }
        match items.next() {
            Some(_) => Err(unsupported(at)),
            None => Ok(()),
        }
    }
}

/// The list of `{ 1, 2 }`, `P{1, 2}` or `(P){ 1, 2 }`.
fn listed(item: Cursor<'_>) -> Option<Cursor<'_>> {
    match item.kind() {
        CXCursor_InitListExpr => Some(item),
        CXCursor_CXXFunctionalCastExpr | CXCursor_CompoundLiteralExpr => {
            listed(*operands(item).last()?)
        }
        _ => None,
    }
}

/// The string in `{ "abc" }`.
fn string_in(init: Cursor<'_>) -> Cursor<'_> {
    match operands(init)[..] {
        [one] if init.kind() == CXCursor_InitListExpr => one,
        _ => init,
    }
}

fn is_text(t: Type<'_>) -> bool {
    let t = t.canonical();
    t.kind() == CXType_ConstantArray && t.array_element().size() == Some(1)
}

enum Designator<'u> {
    /// From the one to the other.
    Elements(usize, usize),
    Member(Cursor<'u>),
}

/// The member that an item names, and its value: `.f = x`.
pub(super) fn named_member<'u>(item: Cursor<'u>) -> Result<Option<(Cursor<'u>, Cursor<'u>)>> {
    Ok(match designators(item)? {
        None => None,
        Some((path, value)) => match path[..] {
            [Designator::Member(field)] => Some((field, value)),
            _ => return Err(unsupported(item)),
        },
    })
}

/// What an item designates, and its value; `None` if it designates nothing.
fn designators<'u>(item: Cursor<'u>) -> Result<Option<(Vec<Designator<'u>>, Cursor<'u>)>> {
    let children = item.children();
    // A designator is a node of no kind with several children.
    if item.kind() != CXCursor_UnexposedExpr || children.len() < 2 {
        return Ok(None);
    }
    let (value, named) = children.split_last().ok_or_else(|| unsupported(item))?;
    let tokens = item.tokens();
    let told = || tokens.iter().map(|t| &t.1).take_while(|t| *t != "=");
    let ranges = told().filter(|t| *t == "...").count();
    // What a macro makes of them is not among the tokens.
    let is_plain = named.len() == 1 || {
        let marks = told().filter(|t| matches!(t.as_str(), "[" | "." | "..."));
        marks.count() == named.len()
    };
    if !is_plain {
        return Err(unsupported(item));
    }
    let index = |c: Cursor<'u>| match c.evaluate() {
        Some(Constant::Int(v)) => usize::try_from(v).map_err(|_| unsupported(item)),
        _ => Err(unsupported(item)),
    };
    let path = match named {
        [first, last] if ranges == 1 => vec![Designator::Elements(index(*first)?, index(*last)?)],
        _ if ranges > 0 => return Err(unsupported(item)),
        _ => named
            .iter()
            .map(|&c| match (c.kind(), c.referenced()) {
                (CXCursor_MemberRef, Some(field)) => Ok(Designator::Member(field)),
                (CXCursor_MemberRef, None) => Err(unsupported(item)),
                _ => index(c).map(|i| Designator::Elements(i, i)),
            })
            .collect::<Result<_>>()?,
    };
    Ok(Some((path, *value)))
}
