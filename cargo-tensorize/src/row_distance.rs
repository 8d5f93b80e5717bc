//! Tables of rows that lie anywhere: they are copied to equal distances for the time of a call, so that only elements of rows
//! are what they were. A kernel that compares places in two rows (`rows[0] == rows[2]`) would see the copies' distance.

use std::collections::BTreeMap;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Expr, Function, Stmt};
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::signature::{Shape, Source};

/// The table of which a kernel may compare places in two rows.
pub fn measured<'s>(source: &'s Source, function: &Function) -> Option<&'s str> {
    if !source.compares_rows {
        return None;
    }
    source.leaves().into_iter().find_map(|leaf| {
        let Shape::Rows { to, pitch, .. } = leaf else {
            return None;
        };
        let mut walk = Walk {
            to,
            pitch,
            mixes: false,
        };
        walk.block(&function.body, &mut Rows::new());
        walk.mixes.then_some(&**to)
    })
}

/// In which row an integer is a place, as far as that is known: none is in row 0, where numbers are that are no places, too.
type Rows = BTreeMap<Sym, Option<Idx>>;

/// Goes through a kernel, and knows of its variables in which rows of a table they are.
struct Walk<'a> {
    to: &'a str,
    pitch: &'a str,
    /// Something depends on places in two rows.
    mixes: bool,
}

impl Walk<'_> {
    fn block(&mut self, stmts: &[Stmt], rows: &mut Rows) {
        for stmt in stmts {
            self.statement(stmt, rows);
        }
    }

    fn statement(&mut self, stmt: &Stmt, rows: &mut Rows) {
        match stmt {
            Stmt::Assign { var, value, .. } => {
                self.look(value, rows);
                let row = self.row(value, rows);
                // What spoke of its old value is not known any more.
                let stale = |row: &Option<Idx>| row.as_ref().is_some_and(|r| r.mentions(var));
                for of_other in rows.values_mut().filter(|r| stale(r)) {
                    *of_other = None;
                }
                rows.insert(var.clone(), row.filter(|r| !r.mentions(var)));
            }
            Stmt::Store {
                array,
                index,
                value,
            } => {
                self.look(index, rows);
                self.look(value, rows);
                self.mixes |= !self.is_number(value, rows);
                self.mixes |= **array != *self.to && !self.is_number(index, rows);
            }
            Stmt::Return(value) => {
                if let Some(value) = value {
                    self.look(value, rows);
                    self.mixes |= !self.is_number(value, rows);
                }
            }
            Stmt::Trap => {}
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                self.look(cond, rows);
                let mut other = rows.clone();
                self.block(then, rows);
                self.block(otherwise, &mut other);
                join(rows, &other);
            }
            Stmt::Loop(l) => loop {
                let mut after = rows.clone();
                if l.test_first {
                    self.look(&l.cond, &after);
                }
                self.block(&l.body, &mut after);
                self.look(&l.cond, &after);
                let before = rows.clone();
                join(rows, &after);
                if *rows == before {
                    break;
                }
            },
        }
    }

    /// Sees whether a part of an expression depends on places in two rows.
    fn look(&mut self, e: &Expr, rows: &Rows) {
        match e {
            Expr::Compare(_, a, b) => {
                let (a, b) = (self.row(a, rows), self.row(b, rows));
                self.mixes |= a.is_none() || a != b;
            }
            Expr::Load { array, index, .. } if **array != *self.to => {
                self.mixes |= !self.is_number(index, rows);
            }
            _ => {}
        }
        for child in e.children() {
            self.look(child, rows);
        }
    }

    fn is_number(&self, e: &Expr, rows: &Rows) -> bool {
        self.row(e, rows).is_some_and(|r| r.is_zero())
    }

    /// The row; `None` if it is not known.
    fn row(&self, e: &Expr, rows: &Rows) -> Option<Idx> {
        let none = Idx::default();
        match e {
            Expr::Var(v, _) if **v == *self.pitch => Some(Idx::constant(1)),
            Expr::Var(v, _) => rows.get(v).cloned().unwrap_or(Some(none)),
            Expr::Load { .. } | Expr::Const(_) | Expr::Compare(..) => Some(none),
            Expr::Binary(BinOp::Add, a, b) => Some(&self.row(a, rows)? + &self.row(b, rows)?),
            Expr::Binary(BinOp::Subtract, a, b) => Some(&self.row(a, rows)? - &self.row(b, rows)?),
            Expr::Unary(UnOp::Negate, a) => Some(-&self.row(a, rows)?),
            Expr::Binary(BinOp::Multiply, a, b) => {
                let (x, y) = (self.row(a, rows)?, self.row(b, rows)?);
                match (x.is_zero(), y.is_zero()) {
                    (true, true) => Some(none),
                    (true, false) => Some(&number(a)? * &y),
                    (false, true) => Some(&x * &number(b)?),
                    (false, false) => None,
                }
            }
            Expr::Convert(ty, a) if ty.is_int() => self.row(a, rows),
            Expr::Select(_, t, f) => {
                let (t, f) = (self.row(t, rows)?, self.row(f, rows)?);
                (t == f).then_some(t)
            }
            e => {
                let number = |c: &&Expr| self.is_number(c, rows);
                e.children().iter().all(number).then_some(none)
            }
        }
    }
}

/// What is known on both ways.
fn join(rows: &mut Rows, other: &Rows) {
    for (var, row) in other {
        let here = rows.entry(var.clone()).or_insert(Some(Idx::default()));
        if here != row {
            *here = None;
        }
    }
    for (var, row) in rows.iter_mut() {
        if !other.contains_key(var) && row.as_ref().is_none_or(|r| !r.is_zero()) {
            *row = None;
        }
    }
}

/// A number over variables.
fn number(e: &Expr) -> Option<Idx> {
    match e {
        Expr::Const(v) if v.ty.is_int() => Some(Idx::constant(v.as_int())),
        Expr::Var(v, _) => Some(Idx::sym(v.clone())),
        Expr::Convert(ty, a) if ty.is_int() && a.ty().is_int() => number(a),
        Expr::Binary(op, a, b) => {
            let (a, b) = (number(a)?, number(b)?);
            match op {
                BinOp::Add => Some(&a + &b),
                BinOp::Subtract => Some(&a - &b),
                BinOp::Multiply => Some(&a * &b),
                _ => None,
            }
        }
        _ => None,
    }
}
