//! Two vectors that change places, and vectors of one length that are assigned. The elements are moved here, not the storage:
//! that is the same to everyone who gets at them by the vectors' names, so that nobody else may.

use super::super::codes;
use super::super::ffi::{Cursor, Type};
use super::super::flatten::is_of_numbers;
use super::super::lower::{Base, Binding, Lower, Result, Variable, operands, problem};
use super::super::place::Place;
use super::super::types::{self, Ty};
use super::class::Class;
use super::made::Made;
use super::moved_from::{is_returned, is_within};
use super::pointed::pointee;
use super::seq::{Seq, index_of, int};
use clang_sys::*;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::CmpOp;

impl<'u> Lower<'u, '_> {
    /// `a.swap(b)`
    pub(super) fn exchange_vectors(&mut self, a: &Seq, b: &Seq, at: Cursor<'u>) -> Result<()> {
        let arrays = [a, b].map(|v| v.start.target.array.clone());
        if arrays[0] == arrays[1] {
            return Ok(());
        }
        let plain = |v: &Seq| v.rows.is_none() && is_constant(&v.start.dims);
        if !plain(a) || !plain(b) || a.start.dims != b.start.dims || a.start.view != b.start.view {
            let message = "vectors of vectors that change places";
            return Err(problem(codes::TYPE, message, at));
        }
        self.pass_storage(&arrays, at)?;
        if let Some(who) = self.reached_otherwise(&arrays, at) {
            let message = format!(
                "these vectors change places, and {who} goes on with the elements of one of them"
            );
            return Err(storage(message, at));
        }
        self.of_one_length(&a.len, &b.len, at)?;
        self.count_to(a.len.clone(), at, |s, k| {
            let (a, b) = (a.at(k.clone()), b.at(k));
            s.exchange(a, b, at)
        })
    }

    /// The vector that is assigned what is made here. One that keeps its length gets as many elements as it had.
    pub(super) fn assigned(&mut self, dest: Seq, made: &Made<'u>, at: Cursor<'u>) -> Result<Seq> {
        if dest.size.is_some() {
            return Ok(dest);
        }
        let len = match made {
            Made::Empty => int(0),
            Made::Filled(n, _) => index_of(self.value(*n)?),
            Made::Listed(items) => int(items.len() as i128),
            Made::Copied(source) => self.seq(*source)?.len,
            _ => return Err(other_length(at)),
        };
        self.of_one_length(&dest.len, &len, at)?;
        Ok(Seq { len, ..dest })
    }

    pub fn of_one_length(&mut self, a: &Expr, b: &Expr, at: Cursor<'u>) -> Result<()> {
        match (a, b) {
            _ if a == b => Ok(()),
            (Expr::Const(_), _) | (_, Expr::Const(_)) => Err(other_length(at)),
            _ => self.require(Expr::compare(CmpOp::Eq, a.clone(), b.clone())),
        }
    }

    /// What one of two vectors had as its storage may be the other one's from here on. Of all that storage goes around between,
    /// one may be the caller's: it may have pointers to it, and sees where it comes to be.
    pub(super) fn pass_storage(&mut self, arrays: &[Sym; 2], at: Cursor<'u>) -> Result<()> {
        self.cpp.exchanged.push(arrays.clone());
        let mut all = arrays.to_vec();
        loop {
            let pairs = self.cpp.exchanged.iter();
            let tied = pairs.filter(|pair| pair.iter().any(|a| all.contains(a)));
            let more: Vec<Sym> = tied
                .flatten()
                .filter(|a| !all.contains(a))
                .cloned()
                .collect();
            match more.into_iter().next() {
                Some(array) => all.push(array),
                None => break,
            }
        }
        match all.iter().filter(|a| self.is_of_the_caller(a)).count() {
            0 | 1 => Ok(()),
            _ => {
                let message = "storage of one vector of the caller becomes that of another one, and it may have pointers to it";
                Err(storage(message, at))
            }
        }
    }

    /// Whether a caller gets at the storage before or after the call.
    fn is_of_the_caller(&self, array: &Sym) -> bool {
        let Some(kernel) = self.frames.first() else {
            return true;
        };
        let is_it = |b: Option<&Binding<'u>>| matches!(b, Some(Binding::Seq(s)) if s.start.target.array == *array);
        let by_value = |d: &Cursor<'u>| matches!(types::of(*d), Ty::Class(Class::Vector(_)));
        let mut own = kernel.function.arguments().into_iter().filter(by_value);
        let is_local = self.arrays.iter().any(|a| a.name == *array);
        !is_local && !own.any(|d| is_it(self.bindings.get(&d)))
    }

    /// Refuses to move the elements of a vector that something else goes on to look at. It would see them where they were.
    pub(super) fn check_not_reached(&self, from: Cursor<'u>) -> Result<()> {
        let bound = super::scan::named(from).and_then(|d| self.bindings.get(&d));
        let (Some(Binding::Seq(s)), Some(frame)) = (bound, self.frames.last()) else {
            return Ok(());
        };
        let body = super::super::source::body(frame.function);
        if body.is_some_and(|b| is_returned(b, from)) {
            return Ok(());
        }
        let array = s.start.target.array.clone();
        match self.reached_otherwise(&[array.clone(), array], from) {
            Some(who) => {
                let message = format!("{who} goes on with elements that are moved here");
                Err(storage(message, from))
            }
            None => Ok(()),
        }
    }

    /// What else, besides the vectors themselves, gets at elements of these arrays when this code runs.
    fn reached_otherwise(&self, arrays: &[Sym; 2], at: Cursor<'u>) -> Option<String> {
        for (i, frame) in self.frames.iter().enumerate().rev() {
            let function = frame.function;
            // An algorithm that calls it has iterators of its own.
            if function.kind() == CXCursor_LambdaExpr || function.spelling() == "operator()" {
                return Some("an algorithm".to_owned());
            }
            let Some(body) = super::super::source::body(function) else {
                return Some(format!("'{}'", function.spelling()));
            };
            let mut declared = function.arguments();
            match i + 1 == self.frames.len() {
                true => seen_from(body, at, &mut declared),
                false => all_declared(body, &mut declared),
            }
            if let Some(d) = declared.into_iter().find(|d| self.reaches(*d, arrays)) {
                return Some(match d.kind() {
                    CXCursor_CXXForRangeStmt => "a loop".to_owned(),
                    _ => format!("'{}'", d.spelling()),
                });
            }
        }
        None
    }

    fn reaches(&self, d: Cursor<'u>, arrays: &[Sym; 2]) -> bool {
        let within = |array: &Sym| {
            let behind = self.places_behind(array);
            behind.iter().any(|a| arrays.contains(a))
        };
        if d.kind() == CXCursor_CXXForRangeStmt {
            let over = |c: Cursor<'u>| {
                let named = c.referenced().filter(|_| c.kind() == CXCursor_DeclRefExpr);
                let bound = named.and_then(|d| self.bindings.get(&d));
                matches!(bound, Some(Binding::Seq(s)) if within(&s.start.target.array))
            };
            let parts = operands(d);
            let (_, header) = parts.split_last().unwrap_or((&d, &[]));
            return header.iter().any(|c| c.contains(&mut { over }));
        }
        let t = types::of(d);
        let is_name = matches!(types::of(d).referred(), Ty::Class(Class::Vector(_)))
            || pointee(d.ty()).is_some();
        if is_of_numbers(d) || is_name {
            return false;
        }
        match (self.bindings.get(&d), &t) {
            (_, Ty::Scalar(_)) => false,
            (Some(Binding::Alias(Place::Var(..))), _) => false,
            (Some(Binding::Alias(Place::Element(target, ..))), _) => within(&target.array),
            (Some(Binding::Alias(Place::Array(p))), _) => within(&p.target.array),
            (Some(Binding::Seq(s)), _) => within(&s.start.target.array),
            (Some(Binding::Array(target, _)), _) => within(&target.array),
            (Some(Binding::Pointer(_)), _) => match self.pointers.get(&Variable::Named(d)) {
                Some(Base::One(target, _)) => within(&target.array),
                _ => true,
            },
            // It is declared later.
            (None, Ty::Pointer(_) | Ty::Reference(_)) => false,
            _ => holds_pointers(d.ty()),
        }
    }
}

pub(super) fn is_constant(dims: &[Expr]) -> bool {
    dims.iter().all(|d| matches!(d, Expr::Const(_)))
}

fn storage(message: impl Into<String>, at: Cursor<'_>) -> super::super::Problem {
    let mut p = problem(codes::ALLOCATION, message, at);
    p.help =
        Some("copy the elements one by one, or get at them by the vectors' names alone".into());
    p
}

fn other_length(at: Cursor<'_>) -> super::super::Problem {
    let message = "the length of a temporary vector may change here";
    let mut p = problem(codes::VLA, message, at);
    p.help = Some("make it with the length that it has in the end".into());
    p
}

/// What is declared around a place: in the blocks and loops that it is in.
fn seen_from<'u>(c: Cursor<'u>, at: Cursor<'u>, declared: &mut Vec<Cursor<'u>>) {
    if !is_within(at, c) {
        return;
    }
    match c.kind() {
        CXCursor_CXXForRangeStmt => {
            declared.push(c);
            declared.extend(
                c.children()
                    .into_iter()
                    .filter(|c| c.kind() == CXCursor_VarDecl),
            );
        }
        _ => {
            let children = c.children().into_iter();
            let statements = children.filter(|s| s.kind() == CXCursor_DeclStmt);
            declared.extend(statements.flat_map(|s| s.children()));
        }
    }
    c.children()
        .into_iter()
        .for_each(|inner| seen_from(inner, at, declared));
}

fn all_declared<'u>(c: Cursor<'u>, declared: &mut Vec<Cursor<'u>>) {
    if matches!(c.kind(), CXCursor_VarDecl | CXCursor_CXXForRangeStmt) {
        declared.push(c);
    }
    c.children()
        .into_iter()
        .for_each(|inner| all_declared(inner, declared));
}

/// Whether an object of the type can get at elements that are not its own. (What a function object has captured by reference
/// is a variable that is looked at by itself.)
fn holds_pointers(t: Type<'_>) -> bool {
    let t = t.canonical();
    match types::read(t) {
        Ty::Scalar(_) | Ty::Class(Class::Vector(_) | Class::Array(..)) => false,
        Ty::Pointer(_) => true,
        _ if t.kind() == CXType_ConstantArray => holds_pointers(t.array_element()),
        _ if t.kind() == CXType_LValueReference => false,
        _ if t.has_too_many_members() => true,
        _ if t.kind() == CXType_Record => t.fields().into_iter().any(|f| holds_pointers(f.ty())),
        _ => true,
    }
}
