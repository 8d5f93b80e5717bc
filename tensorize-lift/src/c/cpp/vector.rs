//! Vectors: how they come to be, and how they grow.

use super::super::call::Home;
use super::super::codes;
use super::super::ffi::Cursor;
use super::super::flatten::{is_of_numbers, is_zero_at_first};
use super::super::lower::{Binding, Lower, Result, as_element, peeled, problem};
use super::super::place::Place;
use super::super::types::Ty;
use super::Role;
use super::class::Class;
use super::exchanged::is_constant;
use super::made::Made;
use super::scan;
use super::seq::{Rows, Seq, index_of, int};
use super::walk::is_reverse;
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

impl<'u> Lower<'u, '_> {
    /// A variable of class type.
    pub fn object_declaration(
        &mut self,
        d: Cursor<'u>,
        t: &Class,
        init: Option<Cursor<'u>>,
    ) -> Result<()> {
        let name = d.spelling();
        match t {
            Class::Lambda | Class::Functor(..) => {
                let e = init.ok_or_else(|| problem(codes::TYPE, "an empty function object", d))?;
                let callable = self.callable(e)?;
                self.bindings.insert(d, Binding::Callable(callable));
                Ok(())
            }
            Class::Span(..) | Class::List(_) => {
                let e = init.ok_or_else(|| problem(codes::TYPE, "an empty span", d))?;
                let seq = self.full_value(e, |s| s.seq(e))?;
                let seq = self.settled_seq(seq)?;
                self.bindings.insert(d, Binding::Seq(seq));
                Ok(())
            }
            Class::Vector(element) => self.vector_declaration(d, element, init),
            Class::Text(_) | Class::TextView(_) => {
                let e = init.ok_or_else(|| problem(codes::TYPE, "an empty string", d))?;
                let seq = self.full_value(e, |s| s.seq(e))?;
                let seq = self.settled_seq(seq)?;
                self.borrow_copy(d, seq)
            }
            Class::Array(element, len) => {
                let dest = match self.role(d) {
                    Some(Role::Result) => self.result_seq(d)?,
                    _ => self.local_seq(&name, element, &int((*len).into()), d)?,
                };
                self.bindings.insert(d, Binding::Seq(dest.clone()));
                match init {
                    Some(e) if !is_empty_construction(e) => self.full(e, |s| s.construct(&dest, e)),
                    _ => Ok(()),
                }
            }
            Class::Appender | Class::Reverse | Class::Allocator => Err(problem(
                codes::TYPE,
                format!("'{name}' has a type that is not supported for a variable"),
                d,
            )),
        }
    }

    fn role(&self, d: Cursor<'u>) -> Option<Role<'u>> {
        self.cpp.roles.get(&d).copied()
    }

    /// Where the result of the function that is being lowered goes.
    fn result_seq(&self, at: Cursor<'u>) -> Result<Seq> {
        self.frames
            .last()
            .and_then(|f| f.dest.clone())
            .ok_or_else(|| problem(codes::ALLOCATION, "this vector is returned to nobody", at))
    }

    /// A sequence whose place and length stay what they are now.
    pub fn settled_seq(&mut self, seq: Seq) -> Result<Seq> {
        Ok(Seq {
            start: self.settled_pointer(seq.start)?,
            len: self.settled("n", seq.len)?,
            size: None,
            rows: None,
        })
    }

    fn vector_declaration(
        &mut self,
        d: Cursor<'u>,
        element: &Ty,
        init: Option<Cursor<'u>>,
    ) -> Result<()> {
        let name = d.spelling();
        let dest = match self.role(d) {
            Some(Role::Result) => self.result_seq(d)?,
            Some(Role::RowOf(outer)) if self.bound_table(outer).is_some() => {
                let outer = self.bound_table(outer).expect("just looked");
                self.row_in_place(&outer, &name, d)?
            }
            _ => return self.temporary(d, element, init),
        };
        self.bindings.insert(d, Binding::Seq(dest.clone()));
        match init {
            Some(e) => self.full(e, |s| s.construct(&dest, e)),
            None => self.set_len(&dest, int(0), d),
        }
    }

    fn bound_table(&self, d: Cursor<'u>) -> Option<Seq> {
        match self.bindings.get(&d) {
            Some(Binding::Seq(s)) if s.rows.is_some() => Some(s.clone()),
            _ => None,
        }
    }

    /// The row after the last one of a vector of vectors.
    pub(super) fn row_in_place(&mut self, outer: &Seq, name: &str, at: Cursor<'u>) -> Result<Seq> {
        let size = self.fresh(format!("{name}.size"));
        let row = Seq::of_row(outer.at(outer.len.clone()))
            .ok_or_else(|| problem(codes::TYPE, "a row of a vector of numbers", at))?;
        Ok(Seq {
            len: Expr::Var(size.clone(), ScalarType::I64),
            size: Some(size),
            ..row
        })
    }

    /// A vector that only this function sees.
    fn temporary(&mut self, d: Cursor<'u>, element: &Ty, init: Option<Cursor<'u>>) -> Result<()> {
        let name = d.spelling();
        let refused = |why: &str| {
            let mut p = problem(
                codes::VLA,
                format!("'{name}' is a temporary vector {why}"),
                d,
            );
            p.help = Some(
                "build the result itself, or give the vector a constant length, or pass it in"
                    .into(),
            );
            p
        };
        // What is empty at first gets its length when it is assigned.
        let is_empty = init.is_none_or(is_empty_construction);
        if self.cpp.to_any_length.contains(&d) || is_empty && self.cpp.grown.contains(&d) {
            return self.growing_temporary(d, element, init);
        }
        let Some(e) = init else {
            return Err(refused("without elements"));
        };
        let made = self.made(e)?;
        let len = match &made {
            Made::Filled(n, _) => index_of(self.value(*n)?),
            Made::Listed(items) => int(items.len() as i128),
            Made::Empty => int(0),
            Made::Copied(source) => {
                let seq = self.full_value(*source, |s| s.seq(*source))?;
                // Elements may be structs of numbers, or arrays.
                let numbers =
                    self.element_shape(element, d).is_ok() && is_constant(&seq.start.dims);
                if matches!(seq.len, Expr::Const(_)) {
                    seq.len
                } else if numbers {
                    let seq = self.settled_seq(seq)?;
                    let dest = self.local_seq(&name, element, &seq.len, d)?;
                    self.pass_moved(&dest, e)?;
                    self.bindings.insert(d, Binding::Seq(dest.clone()));
                    return self.copy(&dest.numbers(), int(0), &seq.numbers(), d);
                } else if let (Ty::Class(Class::Vector(inner)), [pitch], None) =
                    (element, &seq.start.dims[..], &seq.rows)
                    && let Ty::Scalar(elem) = **inner
                {
                    let dest = self.table_of(&name, elem, int(0), pitch.clone());
                    let seq = self.settled_seq(seq)?;
                    let dest = Seq {
                        len: seq.len.clone(),
                        ..dest
                    };
                    self.bindings.insert(d, Binding::Seq(dest.clone()));
                    return self.copy(&dest, int(0), &seq, d);
                } else {
                    // Another name for it will do if nobody writes to either.
                    let seq = self.settled_seq(seq)?;
                    return self.borrow_copy(d, seq);
                }
            }
            Made::Range(first, last) if !is_reverse(*first) => {
                let seq = self.full_value(e, |s| {
                    let (start, end) = (s.pointer(*first)?, s.pointer(*last)?);
                    let len = s.distance(&start, &end, e)?;
                    let seq = Seq {
                        start,
                        len,
                        size: None,
                        rows: None,
                    };
                    s.settled_seq(seq)
                })?;
                if !matches!(seq.len, Expr::Const(_)) {
                    self.require_length(&seq.len)?;
                    let dest = self.local_seq(&name, element, &seq.len, d)?;
                    self.bindings.insert(d, Binding::Seq(dest.clone()));
                    return self.copy(&dest, int(0), &seq, d);
                }
                seq.len
            }
            Made::Returned(call, f) => {
                let (call, f) = (*call, *f);
                let dest = self.growing_seq(&name, element, d)?;
                let home = Home::Vector(dest.clone());
                self.full(e, |s| s.inline_into(call, f, Some(home)).map(|_| ()))?;
                let seq = self.settled_seq(dest)?;
                self.bindings.insert(d, Binding::Seq(seq));
                return Ok(());
            }
            _ => return Err(refused("whose length is not a constant")),
        };
        if let (Made::Filled(_, value), false) = (&made, matches!(len, Expr::Const(_))) {
            let len = self.settled("n", len)?;
            self.require_length(&len)?;
            if let Ty::Class(Class::Vector(row)) = element {
                let row = row.clone();
                return self.local_table(d, &row, len, *value);
            }
            let dest = self.local_seq(&name, element, &len, d)?;
            self.bindings.insert(d, Binding::Seq(dest.clone()));
            let value = match value {
                Some(v) if is_of_numbers(*v) => {
                    let v = *v;
                    return self.full(v, |s| s.fill_with_struct(&dest, len, v));
                }
                Some(v) => self.full_value(*v, |s| s.value(*v))?,
                None => self.zero_of(&dest),
            };
            return self.fill(&dest, int(0), len, value, d);
        }
        if !matches!(len, Expr::Const(_)) {
            return Err(refused("whose length is not a constant"));
        }
        let dest = self.local_seq(&name, element, &len, d)?;
        self.bindings.insert(d, Binding::Seq(dest.clone()));
        self.full(e, |s| s.construct(&dest, e))
    }

    /// A vector that only this function sees, and that grows.
    fn growing_temporary(
        &mut self,
        d: Cursor<'u>,
        element: &Ty,
        init: Option<Cursor<'u>>,
    ) -> Result<()> {
        let dest = self.growing_seq(&d.spelling(), element, d)?;
        self.bindings.insert(d, Binding::Seq(dest.clone()));
        match init {
            Some(e) => self.full(e, |s| s.construct(&dest, e)),
            None => Ok(()),
        }
    }

    /// Storage of the function's own that is empty at first.
    fn growing_seq(&mut self, name: &str, element: &Ty, at: Cursor<'u>) -> Result<Seq> {
        let size = self.fresh(format!("{name}.size"));
        self.assign_var(size.clone(), int(0))?;
        let len = Expr::Var(size.clone(), ScalarType::I64);
        Ok(Seq {
            size: Some(size),
            ..self.local_seq(name, element, &len, at)?
        })
    }

    /// A vector that an object of the function's own holds.
    pub fn owned_vector(&mut self, name: &str, element: &Ty, e: Cursor<'u>) -> Result<Seq> {
        let made = self.made(e)?;
        let len = match &made {
            Made::Filled(n, _) => index_of(self.value(*n)?),
            Made::Listed(items) => int(items.len() as i128),
            Made::Empty => int(0),
            Made::Copied(source) => self.seq(*source)?.len,
            _ => {
                let message = format!("'{name}' is made in a way that is not supported");
                return Err(problem(codes::VLA, message, e));
            }
        };
        let len = self.settled("n", len)?;
        self.require_length(&len)?;
        let dest = self.local_seq(name, element, &len, e)?;
        match made {
            Made::Filled(_, value) => {
                let value = match value {
                    Some(v) => self.value(v)?,
                    None => self.zero_of(&dest),
                };
                self.fill(&dest, int(0), len, value, e)?;
            }
            Made::Copied(source) => {
                let source = self.seq(source)?;
                self.copy(&dest, int(0), &source, e)?;
            }
            made => self.construct_made(&dest, made, e)?,
        }
        Ok(dest)
    }

    /// Makes a vector's elements, in storage that is there already.
    pub fn construct(&mut self, dest: &Seq, e: Cursor<'u>) -> Result<()> {
        let made = self.made(e)?;
        self.construct_made(dest, made, e)
    }

    /// Makes a vector's elements from the arguments of a constructor.
    pub(super) fn construct_from(
        &mut self,
        dest: &Seq,
        args: &[Cursor<'u>],
        e: Cursor<'u>,
    ) -> Result<()> {
        let made = self.made_from(args, e)?;
        self.construct_made(dest, made, e)
    }

    fn construct_made(&mut self, dest: &Seq, made: Made<'u>, e: Cursor<'u>) -> Result<()> {
        match made {
            Made::Empty => self.set_len(dest, int(0), e),
            Made::Filled(n, value) => {
                let n = index_of(self.value(n)?);
                self.fill_new(dest, n, value, e)
            }
            Made::Listed(items) => {
                if dest.size.is_some() {
                    self.set_len(dest, int(0), e)?;
                    return items.into_iter().try_for_each(|i| self.push(dest, i, e));
                }
                let given = items.len() as i128;
                for (i, item) in items.into_iter().enumerate() {
                    let place = dest.at(int(i as i128));
                    self.assign_element(place, item)?;
                }
                // A `std::array`'s other elements are zero.
                let rest =
                    super::super::lower::offset_op(BinOp::Subtract, dest.len.clone(), int(given));
                if rest == int(0) {
                    return Ok(());
                }
                if !is_zero_at_first(e.ty()) {
                    let message = "elements that are not zero without a word are left out";
                    return Err(problem(codes::INITIALIZER, message, e));
                }
                let zero = self.zero_of(dest);
                self.fill(dest, int(given), rest, zero, e)
            }
            Made::Range(first, last) if is_reverse(first) => {
                let range = self.between(first, last, e)?;
                if dest.rows.is_some() || !range.walk.is_of_numbers() {
                    return Err(problem(codes::TYPE, "rows that are walked back", e));
                }
                self.set_len(dest, range.len.clone(), e)?;
                let dest = dest.clone();
                self.count_to(range.len.clone(), e, |s, k| {
                    let value = s.load(range.at(k.clone()), e)?;
                    s.store_element(dest.at(k), value, e)
                })
            }
            Made::Range(first, last) => {
                let (a, b) = (self.pointer(first)?, self.pointer(last)?);
                let len = self.distance(&a, &b, e)?;
                let source = Seq {
                    start: a,
                    len: len.clone(),
                    size: None,
                    rows: None,
                };
                self.set_len(dest, len, e)?;
                self.copy(dest, int(0), &source, e)
            }
            Made::Copied(source) => {
                let source = self.seq(source)?;
                if source.start.target == dest.start.target {
                    return Err(problem(codes::TYPE, "a vector is copied onto itself", e));
                }
                let len = self.settled("n", source.len.clone())?;
                if let (Some(rows), Some(row)) = (&dest.rows, source.start.dims.first()) {
                    self.row_length(&rows.clone(), row.clone())?;
                }
                self.set_len(dest, len.clone(), e)?;
                self.copy(dest, int(0), &Seq { len, ..source }, e)
            }
            Made::Returned(call, f) => {
                let home = Home::Vector(dest.clone());
                self.inline_into(call, f, Some(home)).map(|_| ())
            }
            Made::Chosen(parts) => self.either(parts, |s, e| s.construct(dest, e)),
        }
    }

    /// `n` elements of a value, or zeros, and no others.
    fn fill_new(
        &mut self,
        dest: &Seq,
        n: Expr,
        value: Option<Cursor<'u>>,
        at: Cursor<'u>,
    ) -> Result<()> {
        let n = self.settled("n", n)?;
        self.require_length(&n)?;
        let Some(rows) = dest.rows.clone() else {
            if let Some(v) = value.filter(|v| is_of_numbers(*v)) {
                self.set_len(dest, n.clone(), at)?;
                return self.fill_with_struct(dest, n, v);
            }
            let value = match value {
                Some(v) => self.value(v)?,
                None => self.zero_of(dest),
            };
            self.set_len(dest, n.clone(), at)?;
            return self.fill(dest, int(0), n, value, at);
        };
        let (m, value) = match value.map(|v| self.made(v)).transpose()? {
            None | Some(Made::Empty) => return self.without_rows(dest, n, at),
            Some(Made::Filled(m, value)) => (index_of(self.value(m)?), value),
            Some(Made::Copied(source)) => {
                let source = self.seq(source)?;
                self.row_length(&rows, source.len.clone())?;
                self.set_len(dest, n.clone(), at)?;
                let dest = dest.clone();
                return self.count_to(n, at, move |s, i| match Seq::of_row(dest.at(i)) {
                    Some(row) => s.copy(&row, int(0), &source, at),
                    None => Ok(()),
                });
            }
            _ => {
                return Err(problem(
                    codes::INITIALIZER,
                    "rows that are made this way",
                    at,
                ));
            }
        };
        let m = self.settled("m", m)?;
        self.require_length(&m)?;
        let value = match value {
            Some(v) => self.value(v)?,
            None => self.zero_of(dest),
        };
        self.row_length(&rows, m.clone())?;
        self.set_len(dest, n.clone(), at)?;
        let dest = dest.clone();
        self.count_to(n, at, move |s, i| match Seq::of_row(dest.at(i)) {
            Some(row) => s.fill(&row, int(0), m, value, at),
            None => Ok(()),
        })
    }

    /// So many elements that are structs of these numbers.
    fn fill_with_struct(&mut self, dest: &Seq, len: Expr, value: Cursor<'u>) -> Result<()> {
        let mut numbers = Vec::new();
        for number in self.struct_value(value)? {
            numbers.push(self.settled("value", number)?);
        }
        let dest = dest.clone();
        self.count_to(len, value, move |s, k| {
            s.put_numbers(dest.at(k), numbers, value)
        })
    }

    /// Stores an initialiser into an element.
    fn assign_element(&mut self, place: Place, item: Cursor<'u>) -> Result<()> {
        if let Place::Array(of) = &place
            && is_of_numbers(item)
        {
            return self.assign_struct(of, item);
        }
        match self.row_of(place.clone()) {
            Some(row) => self.construct(&row, item),
            None => {
                let value = self.value(item)?;
                // In a `std::array`'s braces Clang doesn't say that it converts.
                let value = match place {
                    Place::Element(_, _, ty) => as_element(ty, value),
                    _ => value,
                };
                self.write(place, value, item)
            }
        }
    }

    /// A row of this length was added: all must have the same.
    pub fn row_length(&mut self, rows: &Rows, len: Expr) -> Result<()> {
        let expected = Expr::Var(rows.expected.clone(), ScalarType::I64);
        self.emit(Stmt::If {
            cond: Expr::compare(CmpOp::Ne, len, expected),
            then: vec![Stmt::Trap],
            otherwise: vec![],
        })
    }

    /// `push_back(item)`
    pub fn push(&mut self, dest: &Seq, item: Cursor<'u>, at: Cursor<'u>) -> Result<()> {
        let Some(size) = dest.size.clone() else {
            return Err(problem(
                codes::ALLOCATION,
                "a vector grows here whose storage is not the function's to choose",
                at,
            ));
        };
        if self.late(dest).is_some() {
            return Err(problem(
                codes::ALLOCATION,
                "a row is added to those that get their length later",
                at,
            ));
        }
        let end = Expr::Var(size.clone(), ScalarType::I64);
        match dest.rows.clone() {
            None => {
                let place = dest.at(end.clone());
                self.assign_element(place, item)?;
            }
            Some(rows) => {
                let in_place = scan::named(item).and_then(|d| match self.bindings.get(&d) {
                    Some(Binding::Seq(s)) if s.size.is_some() => Some(s.clone()),
                    _ => None,
                });
                let target = Seq::of_row(dest.at(end.clone()));
                let same = |s: &Seq| {
                    target.as_ref().is_some_and(|t| {
                        t.start.target == s.start.target && t.start.offset == s.start.offset
                    })
                };
                let row = match in_place {
                    Some(row) if same(&row) => row,
                    _ => {
                        let row = self.row_in_place(dest, "row", at)?;
                        self.construct(&row, item)?;
                        row
                    }
                };
                self.row_length(&rows, row.len)?;
            }
        }
        self.assign_var(size, Expr::binary(BinOp::Add, end, int(1)))
    }
}

/// `std::array<float, 3> a;` leaves the elements as they are.
fn is_empty_construction(e: Cursor<'_>) -> bool {
    let e = peeled(e);
    e.kind() == CXCursor_CallExpr && e.arguments().is_empty()
}
