//! `v = …` and `v.assign(…)` of a vector: what is assigned is made first, and may be made of what the vector holds until
//! then.

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::lower::{Lower, Result, problem};
use super::seq::{Seq, int};
use std::collections::BTreeMap;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{
    Expr, Len, LocalArray, Stmt, Visited, rename_arrays, rename_variables, visit,
};
use tensorize_ir::scalar::ScalarType;

impl<'u> Lower<'u, '_> {
    /// Makes the new elements apart from the old ones. Where nothing looks at the old ones meanwhile, the new ones are made
    /// in their place.
    pub(super) fn assign_vector(
        &mut self,
        dest: &Seq,
        at: Cursor<'u>,
        make: impl FnOnce(&mut Self, &Seq) -> Result<()>,
    ) -> Result<()> {
        let old = dest.start.target.array.clone();
        let array = self.fresh(format!("{old}.new"));
        let size = dest.size.as_ref().map(|s| self.fresh(s));
        let mut new = dest.clone();
        new.start.target.array = array.clone();
        if let Some(size) = &size {
            new.len = Expr::Var(size.clone(), ScalarType::I64);
            new.size = Some(size.clone());
        }
        let (mut block, ()) = self.in_block(|s| make(s, &new))?;
        let apart = touches(&block, &old);
        if apart && dest.rows.is_some() {
            let message = "a vector of vectors is assigned what is made of it";
            let mut p = problem(codes::TYPE, message, at);
            p.help = Some("build a new vector of vectors and return it".into());
            return Err(p);
        }
        if !apart {
            rename_arrays(&mut block, &BTreeMap::from([(array.clone(), old.clone())]));
            if self.written.remove(&array) {
                self.written.insert(old.clone());
            }
            for (copied, ..) in &mut self.cpp.copies {
                if *copied == array {
                    *copied = old.clone();
                }
            }
        } else {
            self.arrays.push(LocalArray {
                name: array,
                elem: new.start.target.elem,
                len: Len::Touched,
                init: None,
            });
        }
        let whole = match (&dest.size, &size) {
            (Some(own), Some(size)) if !apart && !uses_size(&block, own) => {
                rename_variables(&mut block, &BTreeMap::from([(size.clone(), own.clone())]));
                true
            }
            _ => dest.size.is_none(),
        };
        block.into_iter().try_for_each(|s| self.emit(s))?;
        if !whole {
            self.set_len(dest, new.len.clone(), at)?;
        }
        match apart {
            true => self.copy(dest, int(0), &new, at),
            false => Ok(()),
        }
    }
}

/// Whether statements look at an array's elements, or store some of their own, which those made in its place would meet.
fn touches(block: &[Stmt], array: &Sym) -> bool {
    let mut found = false;
    visit(block, &mut |part| {
        found |= match part {
            Visited::Expr(Expr::Load { array: a, .. })
            | Visited::Stmt(Stmt::Store { array: a, .. }) => a == array,
            _ => false,
        };
    });
    found
}

/// Whether statements read a vector's length, or set it.
fn uses_size(block: &[Stmt], size: &Sym) -> bool {
    let mut found = false;
    visit(block, &mut |part| {
        found |= match part {
            Visited::Expr(Expr::Var(v, _)) => v == size,
            Visited::Stmt(Stmt::Assign { var, .. }) => var == size,
            _ => false,
        };
    });
    found
}
