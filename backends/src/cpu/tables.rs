//! Constant tables: an element of one is a tree of selections in index notation, and is read from memory here.

use super::lower::{Builder, I64, Machine};
use crate::Unsupported;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::{Expr, Len, LocalArray};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::Scalar;

/// What is chosen from fewer values is left to comparisons.
const FEWEST: usize = 8;
/// As many equal values as this may stand at the end of a table, where no comparison tells them apart.
const MOST_ALIKE: usize = 64;

/// An element of a table.
pub(super) struct Entry {
    pub(super) values: Vec<Scalar>,
    /// Which one; where that lies outside, it is the first or the last.
    pub(super) at: Idx,
}

impl Entry {
    /// The entry that a term is, if it makes the very comparisons that there are for one of such a table.
    pub(super) fn of(e: &ElemRef) -> Option<Entry> {
        let Elem::Select(cond, ..) = &**e else {
            return None;
        };
        let counted = Limit::of(cond)?.at;
        let tree = Tree::of(e, &counted)?;
        let mut leaves = Vec::new();
        tree.leaves(0, &mut leaves);
        // A table begins at 0, and its first value is told from the second one by a first comparison, or it is as the second.
        let first = leaves.get(1)?.0;
        let last = leaves.last()?.0;
        let starts = [0, first - 1].into_iter().filter(|start| *start < first);
        for start in starts {
            let least = usize::try_from(last - start).ok()? + 1;
            for len in (least..=least + MOST_ALIKE).filter(|len| *len >= FEWEST) {
                let of = |i: usize| {
                    let reached = |(from, _): &&(i128, Scalar)| *from <= start + i as i128;
                    leaves[1..]
                        .iter()
                        .rev()
                        .find(reached)
                        .unwrap_or(&leaves[0])
                        .1
                };
                let values: Vec<Scalar> = (0..len).map(of).collect();
                let at = &counted - &Idx::constant(start);
                if Tree::of(&Elem::table(&values, &at), &counted).as_ref() == Some(&tree) {
                    return Some(Entry { values, at });
                }
            }
        }
        None
    }
}

/// `at < below`; with `swapped`, the opposite.
struct Limit {
    at: Idx,
    below: i128,
    swapped: bool,
}

impl Limit {
    /// What a comparison with a literal says of a number that begins with no minus.
    fn of(cond: &Elem) -> Option<Limit> {
        let (op, a, b) = match cond {
            Elem::IndexCompare(op, a, b) => (*op, a.clone(), b.clone()),
            Elem::Compare(op, a, b) => (*op, number(a)?, number(b)?),
            _ => return None,
        };
        // As `d <= 0`.
        let one = Idx::constant(1);
        let d = match op {
            CmpOp::Lt => &(&a - &b) + &one,
            CmpOp::Le => &a - &b,
            CmpOp::Gt => &(&b - &a) + &one,
            CmpOp::Ge => &b - &a,
            CmpOp::Eq | CmpOp::Ne => return None,
        };
        let constant = d.terms().find(|(m, _)| m.is_empty()).map_or(0, |(_, c)| c);
        let at = &d - &Idx::constant(constant);
        let (_, first) = at.terms().next()?;
        Some(match first < 0 {
            false => Limit {
                at,
                below: 1 - constant,
                swapped: false,
            },
            // `constant <= n`, of the number without the minus.
            true => Limit {
                at: -&at,
                below: constant,
                swapped: true,
            },
        })
    }
}

fn number(e: &Elem) -> Option<Idx> {
    match e {
        Elem::Const(v) if v.ty.is_int() => Some(Idx::constant(v.as_int())),
        Elem::OfIdx(ty, idx) if *ty == I64 => Some(idx.clone()),
        _ => None,
    }
}

/// Selections of literals by where one number lies.
#[derive(PartialEq)]
enum Tree {
    Leaf(Scalar),
    /// What it is below a limit, and from there on.
    Split(i128, Box<Tree>, Box<Tree>),
}

impl Tree {
    fn of(e: &Elem, counted: &Idx) -> Option<Tree> {
        match e {
            Elem::Const(v) => Some(Tree::Leaf(*v)),
            Elem::Select(cond, yes, no) => {
                let limit = Limit::of(cond)?;
                if limit.at != *counted {
                    return None;
                }
                let (yes, no) = (Tree::of(yes, counted)?, Tree::of(no, counted)?);
                let (low, high) = match limit.swapped {
                    false => (yes, no),
                    true => (no, yes),
                };
                Some(Tree::Split(limit.below, low.into(), high.into()))
            }
            _ => None,
        }
    }

    /// The values in order, each with the least number that it belongs to; that of the first is `from`.
    fn leaves(&self, from: i128, out: &mut Vec<(i128, Scalar)>) {
        match self {
            Tree::Leaf(v) => out.push((from, *v)),
            Tree::Split(limit, low, high) => {
                low.leaves(from, out);
                high.leaves(*limit, out);
            }
        }
    }
}

impl Builder {
    /// The entry that a term is, where the code may have tables.
    pub(super) fn own_table(&self, e: &ElemRef) -> Option<Entry> {
        match self.machine {
            Machine::Cores => Entry::of(e),
            Machine::Items => None,
        }
    }

    /// Reads the entry from a table of the code's own.
    pub(super) fn entry(&mut self, entry: &Entry) -> Result<Expr, Unsupported> {
        let Entry { values, at } = entry;
        let elem = values[0].ty;
        let known = self.tables.iter().find(|t| t.init.as_ref() == Some(values));
        let name = match known {
            Some(table) => table.name.clone(),
            None => {
                let name = self.fresh("table");
                self.tables.push(LocalArray {
                    name: name.clone(),
                    elem,
                    len: Len::Fixed(values.len()),
                    init: Some(values.clone()),
                });
                name
            }
        };
        let last = Expr::int(I64, values.len() as i128 - 1);
        let inside = Expr::binary(BinOp::Minimum, self.index(at)?, last);
        let inside = Expr::binary(BinOp::Maximum, Expr::int(I64, 0), inside);
        Ok(Expr::load(name, elem, inside))
    }
}

#[cfg(test)]
mod tests {
    use super::Entry;
    use tensorize_ir::element::Elem;
    use tensorize_ir::index::Idx;
    use tensorize_ir::scalar::{Scalar, ScalarType};

    fn table(values: &[i128], at: &Idx) -> Option<(Vec<i128>, Idx)> {
        let values = values.iter().map(|v| Scalar::int(ScalarType::I16, *v));
        let values: Vec<Scalar> = values.collect();
        let found = Entry::of(&Elem::table(&values, at))?;
        let values = found.values.iter().map(|v| v.as_int()).collect();
        Some((values, found.at))
    }

    #[test]
    fn the_table_of_an_entry_is_found() {
        let i = &Idx::sym("i");
        let before = i - &Idx::constant(3);
        let rising: Vec<i128> = (0..89).map(|v| v * v).collect();
        // The first two are alike, as are some in the middle, and some at the end.
        let alike = [5, 5, 1, 2, 2, 2, 2, 3, 4, 4, 4, 4];
        for values in [&rising[..], &rising[..16], &alike] {
            for at in [i, &before] {
                assert_eq!(table(values, at), Some((values.to_vec(), at.clone())));
            }
        }
    }

    #[test]
    fn what_is_no_table_is_none() {
        let i = &Idx::sym("i");
        assert_eq!(table(&[1, 2, 3], i), None);
        let one = Elem::constant(Scalar::int(ScalarType::I16, 1));
        assert!(Entry::of(&one).is_none());
    }
}
