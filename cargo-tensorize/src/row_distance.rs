//! Tables of rows that lie anywhere: they are copied to equal distances for the time of a call, so that only elements of rows
//! are what they were. A kernel that compares places in two rows (`rows[0] == rows[2]`) would see the copies' distance.

use std::collections::BTreeSet;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::{self, Expr, Stmt, Visited};
use tensorize_ir::signature::{Shape, Source};
use tensorize_ir::tensir::{self, Op, Output};

/// The table whose rows' distance decides what is computed.
pub fn measured<'s>(
    source: &'s Source,
    function: &loopir::Function,
    summary: &tensir::Function,
) -> Option<&'s str> {
    source.leaves().into_iter().find_map(|leaf| {
        let Shape::Rows { to, pitch, .. } = leaf else {
            return None;
        };
        let table = Table { to, pitch };
        let measured = table.is_looked_at(function) && table.is_measured(summary);
        measured.then_some(&**to)
    })
}

/// A table of rows, by its flat array and the distance of two rows.
struct Table<'a> {
    to: &'a str,
    pitch: &'a str,
}

impl Table<'_> {
    /// Whether the distance goes into anything in the kernel but the places of elements. (That a summary compares two
    /// places, to know whether what was stored is what is read, is another thing: rows that are written do not overlap.)
    fn is_looked_at(&self, function: &loopir::Function) -> bool {
        let mut known: BTreeSet<Sym> = [self.pitch.into()].into();
        loop {
            let mut more = known.clone();
            loopir::visit(&function.body, &mut |part| {
                if let Visited::Stmt(Stmt::Assign { var, value, .. }) = part
                    && Self::comes_from(value, &known)
                {
                    more.insert(var.clone());
                }
            });
            if more.len() == known.len() {
                break;
            }
            known = more;
        }
        let mut found = false;
        loopir::visit(&function.body, &mut |part| {
            found |= match part {
                Visited::Expr(Expr::Compare(_, a, b)) => {
                    Self::comes_from(a, &known) || Self::comes_from(b, &known)
                }
                Visited::Expr(Expr::Load { array, index, .. }) => {
                    **array != *self.to && Self::comes_from(index, &known)
                }
                Visited::Stmt(Stmt::Store {
                    array,
                    index,
                    value,
                }) => {
                    **array != *self.to && Self::comes_from(index, &known)
                        || Self::comes_from(value, &known)
                }
                Visited::Stmt(Stmt::Return(Some(value))) => Self::comes_from(value, &known),
                _ => false,
            };
        });
        found
    }

    /// Whether one of these variables goes into the value, other than by way of what stands in memory.
    fn comes_from(e: &Expr, known: &BTreeSet<Sym>) -> bool {
        match e {
            Expr::Load { .. } => false,
            Expr::Var(v, _) => known.contains(v),
            e => e.children().into_iter().any(|c| Self::comes_from(c, known)),
        }
    }

    fn is_measured(&self, summary: &tensir::Function) -> bool {
        let place = |v: &tensir::View| self.is_told_at(&v.array, &v.index);
        let node = |n: &tensir::Node| {
            n.ty.shape.iter().any(|d| self.is_told_by(d))
                || match &n.op {
                    Op::View(v) => place(v),
                    Op::Size(i) => self.is_told_by(i),
                    Op::Slice { start: all, .. } | Op::Pad { low: all } => {
                        all.iter().any(|i| self.is_told_by(i))
                    }
                    Op::Generic(e) => self.is_told_in(e),
                    _ => false,
                }
        };
        let mut rounds = summary.rounds.as_ref();
        while let Some(r) = rounds {
            if self.is_told_by(&r.trip) {
                return true;
            }
            rounds = r.inner.as_deref();
        }
        summary.nodes.iter().any(node)
            || (summary.outputs.iter())
                .any(|o| matches!(o, Output::Store { view, .. } if place(view)))
    }

    /// Whether the distance decides which element of an array this is, other than by its row.
    fn is_told_at(&self, array: &str, index: &Idx) -> bool {
        let row =
            |atom: &Atom| array == self.to && matches!(atom, Atom::Sym(s) if **s == *self.pitch);
        let mut atoms = index.terms().flat_map(|(factors, _)| factors);
        atoms.any(|a| !row(a) && self.is_told_by_atom(a))
    }

    fn is_told_by(&self, idx: &Idx) -> bool {
        let mut atoms = idx.terms().flat_map(|(factors, _)| factors);
        atoms.any(|a| self.is_told_by_atom(a))
    }

    fn is_told_by_atom(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Sym(s) => **s == *self.pitch,
            Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => {
                self.is_told_by(a) || self.is_told_by(b)
            }
            Atom::Value(e) => self.is_told_in(e),
        }
    }

    fn is_told_in(&self, e: &ElemRef) -> bool {
        if let Elem::Read { array, index, .. } = &**e {
            return self.is_told_at(array, index);
        }
        e.indices().into_iter().any(|i| self.is_told_by(i))
            || e.children().into_iter().any(|c| self.is_told_in(c))
    }
}
