//! Vectors of vectors that only the function sees: rows of one length, in one array.

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::lower::{Binding, Lower, Result, Target, problem, zero_offset};
use super::super::place::Pointer;
use super::super::types::Ty;
use super::made::Made;
use super::seq::{Seq, index_of, int};
use tensorize_ir::loopir::{Expr, Len, LocalArray};
use tensorize_ir::scalar::ScalarType;

impl<'u> Lower<'u, '_> {
    /// A vector of vectors that only this function sees: rows of one length.
    pub(super) fn local_table(
        &mut self,
        d: Cursor<'u>,
        element: &Ty,
        n: Expr,
        row: Option<Cursor<'u>>,
    ) -> Result<()> {
        let refused = || {
            let message = format!("the rows of '{}' have no length here", d.spelling());
            let mut p = problem(codes::VLA, message, d);
            p.help = Some(
                "give them one: std::vector<std::vector<T>> v(rows, std::vector<T>(cols))".into(),
            );
            p
        };
        let (Some(row), Ty::Scalar(elem)) = (row, element) else {
            return Err(refused());
        };
        let Made::Filled(m, value) = self.made(row)? else {
            return Err(refused());
        };
        let m = index_of(self.value(m)?);
        let m = self.settled("m", m)?;
        self.require_length(&m)?;
        let dest = self.table_of(&d.spelling(), *elem, n.clone(), m);
        self.bindings.insert(d, Binding::Seq(dest.clone()));
        let value = match value {
            Some(v) => self.full_value(v, |s| s.value(v))?,
            None => self.zero_of(&dest),
        };
        let value = super::super::lower::convert(*elem, value);
        self.fill(&dest, int(0), n, value, d)
    }

    /// Storage for `n` rows of `m` numbers.
    pub(super) fn table_of(&mut self, name: &str, elem: ScalarType, n: Expr, m: Expr) -> Seq {
        let array = self.fresh(name);
        self.arrays.push(LocalArray {
            name: array.clone(),
            elem,
            len: Len::Touched,
            init: None,
        });
        Seq {
            start: Pointer {
                target: Target { array, elem },
                offset: zero_offset(),
                dims: vec![m],
                view: elem,
            },
            len: n,
            size: None,
            rows: None,
        }
    }
}
