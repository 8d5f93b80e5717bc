//! Rows of a vector of vectors that get their length after the table has its own: `out(n)`, and then for each `i`
//! `out[i].resize(m)`, or `out[i].push_back(x)` again and again.
//!
//! In the loop over `i` such a row is like a vector that is pushed when it is done. Rows have to come in order, which is
//! required, as is that all have come when the loop ends: else the original runs. Before that, no row has a length that
//! can be asked for.

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::lower::{Binding, Lower, Result, operands, peeled, problem};
use super::super::operator::{self, Binary, Unary};
use super::super::place::Place;
use super::changes::GROWING;
use super::scan::{named, object};
use super::seq::{Seq, index_of, int};
use clang_sys::*;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

/// Such a vector of vectors.
pub(super) struct Late<'u> {
    /// How far apart its rows lie: its name.
    pitch: Sym,
    /// How many rows have their length.
    pub filled: Sym,
    /// The row that gets its length now, and the variable that is its number.
    current: Option<(Cursor<'u>, Seq)>,
    done: bool,
}

/// A row that the body of a loop makes.
pub(in super::super) struct Opened {
    late: usize,
    table: Seq,
}

impl<'u> Lower<'u, '_> {
    /// So many rows, none of which has a length.
    pub(super) fn without_rows(&mut self, dest: &Seq, n: Expr, at: Cursor<'u>) -> Result<()> {
        let Some(rows) = dest.rows.clone().filter(|_| self.late(dest).is_none()) else {
            return Err(problem(codes::ALLOCATION, "rows that are made anew", at));
        };
        let filled = self.fresh(format!("{}.filled", rows.pitch));
        self.cpp.late.push(Late {
            pitch: rows.pitch,
            filled,
            current: None,
            done: false,
        });
        self.set_len(dest, n, at)
    }

    pub(super) fn late(&self, table: &Seq) -> Option<usize> {
        let pitch = &table.rows.as_ref()?.pitch;
        self.cpp.late.iter().position(|l| l.pitch == *pitch)
    }

    /// Whether rows that are so far apart have no length so far.
    pub(super) fn is_unfilled(&self, pitch: &Expr) -> bool {
        let Expr::Var(pitch, _) = pitch else {
            return false;
        };
        self.cpp.late.iter().any(|l| l.pitch == *pitch && !l.done)
    }

    /// The table that a variable is whose rows have no length so far.
    fn late_table(&self, c: Cursor<'u>) -> Option<(usize, Seq)> {
        match self.bindings.get(&named(c)?) {
            Some(Binding::Seq(s)) => {
                let late = self.late(s).filter(|&l| !self.cpp.late[l].done)?;
                Some((late, s.clone()))
            }
            _ => None,
        }
    }

    /// `table[i]`, in the loop that gives this row its length.
    pub(super) fn current_row(&self, c: Cursor<'u>) -> Option<Seq> {
        let (table, number) = indexed(c)?;
        let (late, _) = self.late_table(table)?;
        let (variable, row) = self.cpp.late[late].current.as_ref()?;
        (number.referenced() == Some(*variable)).then(|| row.clone())
    }

    /// `table[e]`, for one of its elements: it is there only if the row is.
    pub(super) fn earlier_row(&mut self, c: Cursor<'u>) -> Result<Option<Seq>> {
        let call = peeled(c);
        let [table, number] = call.arguments()[..] else {
            return Ok(None);
        };
        if call.spelling() != "operator[]" || self.current_row(call).is_some() {
            return Ok(None);
        }
        let Some((_, table)) = self.late_table(table) else {
            return Ok(None);
        };
        let number = index_of(self.value(number)?);
        Ok(Seq::of_row(table.at(number)))
    }

    /// Before the body of a loop: the rows that it gives their length.
    pub fn open_rows(&mut self, body: &[Cursor<'u>]) -> Result<Vec<Opened>> {
        let mut opened = Vec::new();
        if self.cpp.late.iter().all(|l| l.done || l.current.is_some()) {
            return Ok(opened);
        }
        let mut grown = Vec::new();
        body.iter().for_each(|s| grown_rows(*s, &mut grown));
        for late in 0..self.cpp.late.len() {
            let of = grown.iter().filter_map(|(table, number)| {
                let (l, table) = self.late_table(*table)?;
                (l == late).then_some((table, *number))
            });
            let of: Vec<_> = of.collect();
            let [(table, number), more @ ..] = &of[..] else {
                continue;
            };
            let (table, number) = (table.clone(), *number);
            let Some(variable) = number.referenced() else {
                continue;
            };
            let same = more.iter().all(|(_, n)| n.referenced() == Some(variable));
            let is_set = body.iter().any(|s| sets(*s, variable)) || self.is_captured(variable);
            if !same || is_set || self.cpp.late[late].current.is_some() {
                continue;
            }
            let index = index_of(self.value(number)?);
            opened.push(self.open_row(late, table, variable, index, number)?);
        }
        Ok(opened)
    }

    /// `for (auto &row : table)`
    pub(super) fn open_each(
        &mut self,
        table: Cursor<'u>,
        variable: Cursor<'u>,
        index: Expr,
    ) -> Result<Option<Opened>> {
        let Some((late, table)) = self.late_table(table) else {
            return Ok(None);
        };
        let opened = self.open_row(late, table, variable, index, variable)?;
        if let Some((_, row)) = self.cpp.late[late].current.clone() {
            self.bindings.insert(variable, Binding::Seq(row));
        }
        Ok(Some(opened))
    }

    fn open_row(
        &mut self,
        late: usize,
        table: Seq,
        variable: Cursor<'u>,
        index: Expr,
        at: Cursor<'u>,
    ) -> Result<Opened> {
        let index = self.settled("row", index)?;
        let filled = Expr::Var(self.cpp.late[late].filled.clone(), ScalarType::I64);
        self.require(Expr::compare(CmpOp::Eq, index.clone(), filled))?;
        let row = Seq::of_row(table.at(index))
            .ok_or_else(|| problem(codes::TYPE, "a row of a vector of numbers", at))?;
        let size = self.fresh("row.size");
        self.assign_var(size.clone(), int(0))?;
        let row = Seq {
            len: Expr::Var(size.clone(), ScalarType::I64),
            size: Some(size),
            ..row
        };
        self.cpp.late[late].current = Some((variable, row));
        Ok(Opened { late, table })
    }

    /// After the body: the rows are done.
    pub fn close_rows(&mut self, opened: &[Opened]) -> Result<()> {
        for o in opened {
            let Some((_, row)) = self.cpp.late[o.late].current.take() else {
                continue;
            };
            if let Some(rows) = o.table.rows.clone() {
                self.row_length(&rows, row.len)?;
            }
            let var = self.cpp.late[o.late].filled.clone();
            let filled = Expr::Var(var.clone(), ScalarType::I64);
            self.assign_var(var, Expr::binary(BinOp::Add, filled, int(1)))?;
        }
        Ok(())
    }

    /// After the loop: all rows are.
    pub fn rows_done(&mut self, opened: &[Opened]) -> Result<()> {
        for o in opened {
            self.require_filled(o.late, o.table.len.clone())?;
            self.cpp.late[o.late].done = true;
        }
        Ok(())
    }

    fn require_filled(&mut self, late: usize, len: Expr) -> Result<()> {
        let filled = Expr::Var(self.cpp.late[late].filled.clone(), ScalarType::I64);
        self.require(Expr::compare(CmpOp::Eq, filled, len))
    }

    /// When the kernel ends, every row of the result has its length.
    pub(super) fn require_all_filled(&mut self) -> Result<()> {
        let Some(dest) = self.frames.first().and_then(|f| f.dest.clone()) else {
            return Ok(());
        };
        match self.late(&dest) {
            Some(late) => self.require_filled(late, dest.len),
            None => Ok(()),
        }
    }

    /// Whether a lambda somewhere in the function may change a variable.
    fn is_captured(&self, variable: Cursor<'u>) -> bool {
        fn inside<'u>(c: Cursor<'u>, variable: Cursor<'u>) -> bool {
            if c.kind() == CXCursor_LambdaExpr {
                return sets(c, variable);
            }
            c.children().into_iter().any(|c| inside(c, variable))
        }
        self.frames
            .last()
            .is_some_and(|f| inside(f.function, variable))
    }

    /// No row has its length when the kernel begins.
    pub(super) fn none_filled(&mut self, body: &mut Vec<Stmt>) {
        for late in std::mem::take(&mut self.cpp.late) {
            let none = Stmt::Assign {
                var: late.filled,
                ty: ScalarType::I64,
                value: int(0),
            };
            body.insert(0, none);
        }
    }

    /// Why a place names no row.
    pub(super) fn no_row(&self, place: &Place, at: Cursor<'u>) -> Option<super::super::Problem> {
        let Place::Array(p) = place else { return None };
        p.dims.first().filter(|d| self.is_unfilled(d))?;
        let mut p = problem(
            codes::ALLOCATION,
            "a row is used here that may have no length so far",
            at,
        );
        p.help = Some(
            "give each row its length in one loop over the rows, first to last, or all of them where the vector is made"
                .into(),
        );
        Some(p)
    }
}

/// `table[i]`: both.
fn indexed<'u>(c: Cursor<'u>) -> Option<(Cursor<'u>, Cursor<'u>)> {
    let c = peeled(c);
    let [table, number] = c.arguments()[..] else {
        return None;
    };
    let plain = c.kind() == CXCursor_CallExpr && c.spelling() == "operator[]";
    let number = peeled(number);
    (plain && number.kind() == CXCursor_DeclRefExpr).then_some((table, number))
}

/// The rows of which a statement changes the length.
fn grown_rows<'u>(c: Cursor<'u>, found: &mut Vec<(Cursor<'u>, Cursor<'u>)>) {
    if c.kind() == CXCursor_CallExpr {
        let name = c.spelling();
        if GROWING.contains(&name.as_str()) || name == "back_inserter" {
            let target = object(c).or_else(|| c.arguments().first().copied());
            found.extend(target.and_then(indexed));
        }
    }
    c.children().into_iter().for_each(|c| grown_rows(c, found));
}

/// Whether a statement may change a variable.
fn sets<'u>(c: Cursor<'u>, variable: Cursor<'u>) -> bool {
    let named = |c: Option<&Cursor<'u>>| {
        c.map(|c| peeled(*c))
            .is_some_and(|c| c.kind() == CXCursor_DeclRefExpr && c.referenced() == Some(variable))
    };
    let here = match c.kind() {
        CXCursor_CompoundAssignOperator => true,
        CXCursor_BinaryOperator => !matches!(operator::binary(c), Ok(b) if b != Binary::Assign),
        CXCursor_UnaryOperator => {
            matches!(
                operator::unary(c),
                Ok(Unary::Step { .. } | Unary::AddressOf) | Err(_)
            )
        }
        // By reference, nothing stands around it.
        CXCursor_CallExpr => {
            let by_reference = super::effect::by_reference(c);
            return by_reference.contains(&variable)
                || c.children().into_iter().any(|c| sets(c, variable));
        }
        CXCursor_VarDecl
            if matches!(
                super::super::types::of(c),
                super::super::types::Ty::Reference(_)
            ) =>
        {
            return named(c.initializer().as_ref())
                || c.children().into_iter().any(|c| sets(c, variable));
        }
        _ => false,
    };
    here && named(operands(c).first()) || c.children().into_iter().any(|c| sets(c, variable))
}
