//! Sequences: vectors, spans, arrays, and what is done to them.

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::lower::{
    Binding, Lower, Result, Target, convert, offset_op, operands, problem, zero_offset,
};
use super::super::place::{Place, Pointer, product};
use super::super::types::{self, Ty};
use super::class::Class;
use super::pointed::pointer_to_object;
use clang_sys::*;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Len, LocalArray, Loop, LoopMode, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Elements that stand side by side in an array.
#[derive(Clone, Debug)]
pub(in super::super) struct Seq {
    /// The first element. Where elements are rows, `dims` has their length.
    pub start: Pointer,
    /// How many there are, an `i64`.
    pub len: Expr,
    /// Where a vector that can grow keeps its length.
    pub size: Option<Sym>,
    /// For a vector of vectors that can grow: the length that each row has to have, and the variable
    /// that says that all had it so far.
    pub rows: Option<Rows>,
}

/// See [`Seq::rows`].
#[derive(Clone, Debug)]
pub(in super::super) struct Rows {
    /// How far apart they lie.
    pub pitch: Sym,
    /// What `rows.rs` finds out before the loops.
    pub expected: Sym,
    /// The length of the rows; -1 if they differ.
    pub length: Sym,
}

impl Seq {
    /// The element at this position.
    pub fn at(&self, index: Expr) -> Place {
        self.start.clone().moved(index).deref()
    }

    /// All of it, as an array.
    pub fn place(&self) -> Place {
        let mut all = self.start.clone();
        all.dims.insert(0, self.len.clone());
        Place::Array(all)
    }

    /// The numbers that its elements consist of, each an element.
    pub fn numbers(&self) -> Seq {
        let each = product(&self.start.dims);
        Seq {
            start: Pointer {
                dims: vec![],
                ..self.start.clone()
            },
            len: offset_op(BinOp::Multiply, self.len.clone(), each),
            size: None,
            rows: None,
        }
    }

    /// A row as a sequence of its own.
    pub fn of_row(place: Place) -> Option<Seq> {
        let Place::Array(p) = place else { return None };
        Some(Seq {
            len: p.dims.first()?.clone(),
            start: p.decayed(),
            size: None,
            rows: None,
        })
    }
}

/// An integer as an `i64`. Sizes are `size_t` in C++, but the bits are the same.
pub(in super::super) fn index_of(e: Expr) -> Expr {
    match e {
        Expr::Convert(ScalarType::U64, inner)
            if inner.ty().is_signed() || inner.ty().is_int() && inner.ty().bits() < 64 =>
        {
            convert(ScalarType::I64, *inner)
        }
        e => convert(ScalarType::I64, e),
    }
}

pub(in super::super) fn int(v: i128) -> Expr {
    Expr::int(ScalarType::I64, v)
}

impl<'u> Lower<'u, '_> {
    /// A row that is there. Those of a table that is being made may be shorter than they lie apart.
    pub fn row_of(&self, place: Place) -> Option<Seq> {
        let row = Seq::of_row(place)?;
        if self.is_unfilled(&row.len) {
            return None;
        }
        let length = match &row.len {
            Expr::Var(pitch, _) => self.cpp.tables.iter().find(|t| t.pitch == *pitch),
            _ => None,
        };
        Some(match length {
            Some(rows) => Seq {
                len: Expr::Var(rows.expected.clone(), ScalarType::I64),
                ..row
            },
            None => row,
        })
    }

    /// A value that later assignments don't change.
    pub fn settled(&mut self, name: &str, e: Expr) -> Result<Expr> {
        fn fixed(e: &Expr, names: &std::collections::HashSet<Sym>) -> bool {
            match e {
                Expr::Var(v, _) => names.contains(v),
                Expr::Load { .. } => false,
                e => e.children().into_iter().all(|c| fixed(c, names)),
            }
        }
        if fixed(&e, &self.cpp.fixed) {
            return Ok(e);
        }
        let held = self.hold(name, e)?;
        if let Expr::Var(v, _) = &held {
            self.cpp.fixed.insert(v.clone());
        }
        Ok(held)
    }

    /// A place whose index is settled.
    pub fn settled_place(&mut self, place: Place) -> Result<Place> {
        Ok(match place {
            Place::Element(target, index, view) => {
                Place::Element(target, self.settled("at", index)?, view)
            }
            Place::Array(p) => Place::Array(self.settled_pointer(p)?),
            other => other,
        })
    }

    pub fn settled_pointer(&mut self, p: Pointer) -> Result<Pointer> {
        Ok(Pointer {
            offset: self.settled("at", p.offset)?,
            ..p
        })
    }

    /// Runs `body` for each number below `len`.
    pub fn count_to(
        &mut self,
        len: Expr,
        at: Cursor<'u>,
        body: impl FnOnce(&mut Self, Expr) -> Result<()>,
    ) -> Result<()> {
        let len = self.settled("n", len)?;
        self.count_while(at, body, |k, _| Ok(Expr::compare(CmpOp::Lt, k, len)))
    }

    /// Runs `body` for 0, 1, … while `test` holds.
    pub fn count_while(
        &mut self,
        at: Cursor<'u>,
        body: impl FnOnce(&mut Self, Expr) -> Result<()>,
        test: impl FnOnce(Expr, &mut Self) -> Result<Expr>,
    ) -> Result<()> {
        let var = self.fresh("k");
        self.assign_var(var.clone(), int(0))?;
        let k = Expr::Var(var.clone(), ScalarType::I64);
        let id = self.loops;
        self.loops += 1;
        let cond = test(k.clone(), self)?;
        let entry = self.pointers.clone();
        let (mut block, ()) = self.in_block(|s| {
            body(s, k.clone())?;
            s.sequence_point()
        })?;
        self.check_loop_pointers(&entry, at)?;
        block.push(Stmt::Assign {
            var,
            ty: ScalarType::I64,
            value: Expr::binary(BinOp::Add, k, int(1)),
        });
        let line = at.extent().map_or(0, |e| e.0.line);
        self.emit(Stmt::Loop(Loop {
            id,
            cond,
            test_first: true,
            body: block,
            mode: LoopMode::Sequential,
            line,
        }))
    }

    /// The element type that the elements bottom out in, and the lengths of those in between.
    pub fn element_shape(&self, t: &Ty, at: Cursor<'u>) -> Result<(ScalarType, Vec<Option<u64>>)> {
        let mut dims = Vec::new();
        let mut t = t;
        loop {
            match t {
                Ty::Array(inner, len) => {
                    dims.push(*len);
                    t = inner;
                }
                Ty::Class(Class::Array(inner, len)) | Ty::Record(inner, len) => {
                    dims.push(Some(*len));
                    t = inner;
                }
                Ty::Class(Class::Vector(inner)) => {
                    dims.push(None);
                    t = inner;
                }
                t => return Ok((super::super::lower::scalar_type(t, at)?, dims)),
            }
        }
    }

    /// An expression that is a vector, a span, an array, or a reference to one.
    pub fn seq(&mut self, c: Cursor<'u>) -> Result<Seq> {
        let unsupported = |what: &str| {
            problem(
                codes::TYPE,
                format!("{what} is not supported as a sequence of elements"),
                c,
            )
        };
        if let Some(pointer) = pointer_to_object(c) {
            return self.behind(pointer);
        }
        match c.kind() {
            CXCursor_ParenExpr
            | CXCursor_UnexposedExpr
            | CXCursor_CXXFunctionalCastExpr
            | CXCursor_CXXStaticCastExpr => match operands(c)[..] {
                [inner] => self.seq(inner),
                _ => Err(unsupported("this expression")),
            },
            CXCursor_DeclRefExpr => {
                let d = c.referenced().ok_or_else(|| unsupported("this name"))?;
                match self.bindings.get(&d).cloned() {
                    Some(Binding::Seq(s)) => Ok(s),
                    Some(_) => self.seq_of_c_array(c),
                    None => {
                        let d = self.global(d, c)?;
                        match self.bindings.get(&d).cloned() {
                            Some(Binding::Seq(s)) => Ok(s),
                            _ => self.seq_of_c_array(c),
                        }
                    }
                }
            }
            CXCursor_CallExpr => self.call_seq(c),
            _ => match types::of(c) {
                Ty::Array(..) => self.seq_of_c_array(c),
                Ty::Class(class)
                    if class.is_sequence() && c.kind() == CXCursor_ArraySubscriptExpr =>
                {
                    self.seq_of_c_array(c)
                }
                Ty::Class(class) if class.is_sequence() && c.kind() == CXCursor_MemberRefExpr => {
                    match self.held_vector(c)? {
                        Some(seq) => Ok(seq),
                        None => self.seq_of_c_array(c),
                    }
                }
                _ => Err(unsupported("this kind of expression")),
            },
        }
    }

    fn seq_of_c_array(&mut self, c: Cursor<'u>) -> Result<Seq> {
        let place = self.place(c)?;
        self.seq_at(place, c)
    }

    /// The elements of a place that is a row.
    pub fn seq_at(&self, place: Place, c: Cursor<'u>) -> Result<Seq> {
        match place {
            Place::Array(_) => self
                .row_of(place)
                .ok_or_else(|| problem(codes::TYPE, "an array whose length is not known", c)),
            _ => Err(problem(
                codes::TYPE,
                "a number where elements are needed",
                c,
            )),
        }
    }

    /// Storage for `len` elements that only this function sees.
    pub fn local_seq(
        &mut self,
        name: &str,
        element: &Ty,
        len: &Expr,
        at: Cursor<'u>,
    ) -> Result<Seq> {
        let (elem, dims) = self.element_shape(element, at)?;
        let constant = |e: &Expr| match e {
            Expr::Const(v) => usize::try_from(v.as_int()).ok(),
            _ => None,
        };
        let inner: Option<Vec<usize>> = dims
            .iter()
            .map(|d| d.and_then(|d| usize::try_from(d).ok()))
            .collect();
        let Some(inner) = inner else {
            return Err(problem(
                codes::VLA,
                format!("'{name}' is a temporary whose rows have no constant length"),
                at,
            ));
        };
        let total = constant(len).map(|count| {
            let total = inner.iter().try_fold(count, |a, &b| a.checked_mul(b));
            total.filter(|&n| n as u64 <= super::super::declare::MAX_ARRAY)
        });
        if total == Some(None) {
            let message = format!("'{name}' is too large");
            return Err(problem(codes::TOO_LARGE, message, at));
        }
        let array = self.fresh(name);
        self.arrays.push(LocalArray {
            name: array.clone(),
            elem,
            len: total.flatten().map_or(Len::Touched, Len::Fixed),
            init: None,
        });
        Ok(Seq {
            start: Pointer {
                target: Target { array, elem },
                offset: zero_offset(),
                dims: inner.iter().map(|&d| int(d as i128)).collect(),
                view: elem,
            },
            len: len.clone(),
            size: None,
            rows: None,
        })
    }

    /// Sets the length of a vector.
    pub fn set_len(&mut self, seq: &Seq, len: Expr, at: Cursor<'u>) -> Result<()> {
        match &seq.size {
            Some(var) => self.assign_var(var.clone(), len),
            None if seq.len == len => Ok(()),
            None => Err(problem(
                codes::ALLOCATION,
                "the length of this vector changes here, which is not supported",
                at,
            )),
        }
    }

    /// `dest[from + i] = value` for all `i < len`.
    pub fn fill(
        &mut self,
        dest: &Seq,
        from: Expr,
        len: Expr,
        value: Expr,
        at: Cursor<'u>,
    ) -> Result<()> {
        let value = self.settled("value", value)?;
        let dest = dest.clone();
        self.count_to(len, at, move |s, k| {
            let place = dest.at(offset_op(BinOp::Add, from, k));
            s.fill_place(place, value, at)
        })
    }

    /// Every number in a place, which may be a row.
    pub(super) fn fill_place(&mut self, place: Place, value: Expr, at: Cursor<'u>) -> Result<()> {
        match self.row_of(place.clone()) {
            Some(row) => {
                let len = row.len.clone();
                self.fill(&row, int(0), len, value, at)
            }
            None => self.write(place, value, at),
        }
    }

    /// `dest[from + i] = source[i]` for all of the source.
    pub fn copy(&mut self, dest: &Seq, from: Expr, source: &Seq, at: Cursor<'u>) -> Result<()> {
        let (dest, source) = (dest.clone(), source.clone());
        self.count_to(source.len.clone(), at, move |s, k| {
            let to = dest.at(offset_op(BinOp::Add, from, k.clone()));
            let element = source.at(k);
            match (s.row_of(to.clone()), s.row_of(element.clone())) {
                (Some(to), Some(row)) => s.copy(&to, int(0), &row, at),
                _ => {
                    let value = s.load(element, at)?;
                    s.store_element(to, value, at)
                }
            }
        })
    }

    /// A zero of the type of the elements.
    pub fn zero_of(&self, seq: &Seq) -> Expr {
        Expr::Const(Scalar::zero(seq.start.view))
    }
}
