//! Short loops that transform a small block where it stands.
//!
//! `for (i < 4) { …; b[i] = s0 + s2; b[i + 4] = s1 + s3; … }` writes in each round between the places of other rounds,
//! and reads them: a transform of 4 x 4 numbers, a transposed matrix. Written out, every place is a literal, or one
//! behind where the block begins.

use super::{HashSet, Stmt, Sym, each_access, over, unrolled};
use crate::affine::affine;
use std::collections::HashMap;
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::{self, Expr, LocalArray, Loop, Visited};
use tensorize_ir::op::BinOp;

/// A larger block is better said by its loops.
const MAX_PLACES: i128 = 64;
/// Of more, too.
const MAX_STATEMENTS: usize = 256;

/// Writes out such loops, where after that all places of the array are literals. Whether anything was.
pub(super) fn write_out(arrays: &[LocalArray], body: &mut Vec<Stmt>) -> bool {
    let mut found = HashSet::new();
    loopir::visit(body, &mut |part| {
        if let Visited::Stmt(Stmt::Loop(l)) = part {
            found.extend(mixed(l));
        }
    });
    found.retain(|array| arrays.iter().all(|local| local.name != *array));
    let out = |of: &HashSet<Sym>| {
        unrolled(body, &over(of), &mut HashMap::new(), &mut {
            MAX_STATEMENTS
        })
    };
    if found.is_empty() {
        return false;
    }
    // Where the block begins, and the first and last place behind that.
    let mut blocks: HashMap<Sym, Option<(Idx, i128, i128)>> = HashMap::new();
    each_access(&out(&found), &mut |array, index| {
        let at = affine(index).map(|at| {
            let behind = literal_part(&at);
            (&at - &Idx::constant(behind), behind)
        });
        let block = match (blocks.get(array), at) {
            (_, None) | (Some(None), _) => None,
            (None, Some((begin, at))) => Some((begin, at, at)),
            (Some(Some((begin, first, last))), Some((same, at))) => {
                (*begin == same).then(|| (same, at.min(*first), at.max(*last)))
            }
        };
        blocks.insert(array.clone(), block);
    });
    let is_block = |array: &Sym| matches!(blocks.get(array), Some(Some((_, first, last))) if last - first < MAX_PLACES);
    let open: HashSet<Sym> = found.into_iter().filter(is_block).collect();
    if open.is_empty() {
        return false;
    }
    *body = out(&open);
    true
}

fn literal_part(at: &Idx) -> i128 {
    at.terms()
        .find(|(of, _)| of.is_empty())
        .map_or(0, |(_, c)| c)
}

/// The arrays that a loop reads, and writes at several places a round that lie between each other's.
fn mixed(l: &Loop) -> Vec<Sym> {
    let Some(Stmt::Assign { var, value, .. }) = l.body.last() else {
        return vec![];
    };
    let step = match value {
        Expr::Binary(BinOp::Add | BinOp::Subtract, _, by) => match &**by {
            Expr::Const(v) if v.ty.is_int() && v.as_int() != 0 => v.as_int(),
            _ => return vec![],
        },
        _ => return vec![],
    };
    let mut writes: HashMap<Sym, Vec<(Idx, Idx)>> = HashMap::new();
    let mut reads = HashSet::new();
    loopir::visit(&l.body, &mut |part| match part {
        Visited::Expr(Expr::Load { array, .. }) => {
            reads.insert(array.clone());
        }
        Visited::Stmt(Stmt::Store { array, index, .. }) => {
            let place = affine(index).and_then(|at| at.linear_in(var));
            writes.entry(array.clone()).or_default().extend(place);
        }
        _ => {}
    });
    let between = |(a, at): &(Idx, Idx), (b, to): &(Idx, Idx)| {
        if a != b {
            return true;
        }
        let (Some(by), Some(apart)) = (a.as_constant(), (at - to).as_constant()) else {
            return false;
        };
        by != 0 && apart != 0 && apart % (by * step) == 0
    };
    let is_mixed = |places: &[(Idx, Idx)]| {
        places
            .iter()
            .enumerate()
            .any(|(k, p)| places[..k].iter().any(|q| between(p, q)))
    };
    writes
        .into_iter()
        .filter(|(array, places)| reads.contains(array) && is_mixed(places))
        .map(|(array, _)| array)
        .collect()
}

#[cfg(test)]
mod tests {
    use tensorize_ir::loopir::Function;

    fn written_out(text: &str) -> bool {
        let mut f: Function = text.parse().unwrap();
        let was = super::write_out(&f.arrays, &mut f.body);
        f.validate().unwrap();
        was && !f.to_string().contains("while")
    }

    #[test]
    fn rounds_that_write_between_each_others_places_are_written_out() {
        let kernel = |places: &str, from: &str| {
            format!("void f(i32 *b, i32 n) {{ {from} while (i < 2) {{ {places} i = i + 1; }} }}")
        };
        let columns = "i32 s = b[i] + b[i + 2]; b[i + 2] = b[i] - b[i + 2]; b[i] = s;";
        assert!(written_out(&kernel(columns, "i32 i = 0;")));
        // Rows, which the loop says better.
        let rows = "i32 s = b[i * 2] + b[i * 2 + 1]; b[i * 2 + 1] = b[i * 2] - b[i * 2 + 1]; b[i * 2] = s;";
        assert!(!written_out(&kernel(rows, "i32 i = 0;")));
        // It is not known how many rounds there are.
        assert!(!written_out(&kernel(columns, "i32 i = n;")));
        // Places that are not known after that.
        let elsewhere = columns.replace("i + 2", "i + n");
        assert!(!written_out(&kernel(&elsewhere, "i32 i = 0;")));
    }
}
