//! Places in local arrays, which C lets a kernel touch within their bounds, and read where they were written. Where the data says
//! the place, that it is such a one is asked of the data before a call.

use crate::bound::bound;
use crate::chain::{self, Contents, and};
use crate::context::Context;
use crate::exec::{Executor, Stuck};
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Len, Overflow};
use tensorize_ir::op::CmpOp;

impl Executor<'_, '_> {
    /// Generated code stays inside of its own arrays; of the original, C says so.
    pub(crate) fn within_local(&mut self, array: &Sym, at: &Idx) -> Result<(), Stuck> {
        if !self.checking || self.kernel.overflow == Overflow::Undefined {
            return Ok(());
        }
        let Some(local) = self.kernel.arrays.iter().find(|a| a.name == *array) else {
            return Ok(());
        };
        let len = match &local.len {
            Len::Fixed(len) => Idx::constant(*len as i128),
            Len::Of(len) => self.number(len, &self.entry())?,
            Len::Touched => {
                return self.stuck(format!("how long the local array {array} is isn't known"));
            }
        };
        // By its end where the solver would have to multiply unknowns.
        let loops = self.loops.clone();
        let below = self.ctx.proves(CmpOp::Lt, at, &len)
            || bound(&mut self.ctx, at, &loops, true)
                .is_some_and(|last| self.ctx.proves(CmpOp::Lt, &last, &len));
        if self.ctx.is_non_negative(at) && below {
            return Ok(());
        }
        // Where the data says it, all of it is asked before a call.
        if at.has_values() && self.holds_in_every_round(&inside(at, len)) {
            return Ok(());
        }
        self.stuck(format!(
            "that {array}[{at}] lies inside of the local array could not be shown"
        ))
    }

    /// What stands at a place that the data says, in an array that is the kernel's own: that it has been written before is
    /// made a guard, since a call that reads what was never written has no meaning.
    pub(crate) fn read_where_written(
        &mut self,
        array: &Sym,
        contents: &Contents,
        at: &Idx,
    ) -> Option<ElemRef> {
        if !at.has_values() {
            return None;
        }
        let mut locals = self.kernel.arrays.iter();
        let local = locals.find(|a| a.name == *array);
        let all = local.and_then(|a| a.len.fixed());
        let all = all.map(|len| inside(at, Idx::constant(len as i128)));
        let first = written_first(&mut self.ctx, array, contents, at);
        all.into_iter().chain(first).find_map(|written| {
            let mark = self.ctx.mark();
            self.ctx.assume(written.clone());
            let found = chain::read(&mut self.ctx, array, contents, at).ok();
            self.ctx.forget(mark);
            found.filter(|_| self.holds_in_every_round(&written))
        })
    }
}

/// `0 <= at && at < len`
fn inside(at: &Idx, len: Idx) -> ElemRef {
    let from_zero = Elem::index_compare(CmpOp::Ge, at.clone(), Idx::default());
    and(from_zero, Elem::index_compare(CmpOp::Lt, at.clone(), len))
}

/// When a place that the data says is one of those that the oldest effect writes in its rounds, in an array that held nothing
/// before.
fn written_first(ctx: &mut Context, array: &str, contents: &Contents, at: &Idx) -> Option<ElemRef> {
    let oldest = contents.effects.first().filter(|_| contents.base.is_none());
    let leaves = oldest?.leaves();
    let [leaf] = leaves.as_slice() else {
        return None;
    };
    let hit = chain::hit(ctx, array, leaf, at).ok()??;
    let mut by_data = Vec::new();
    for c in hit.cond.conjuncts() {
        let of_places = matches!(&**c, Elem::IndexCompare(op, a, b)
            if *op != CmpOp::Eq && (a.has_values() || b.has_values()));
        match of_places {
            true => by_data.push(c.clone()),
            false if ctx.holds(c) => {}
            false => return None,
        }
    }
    by_data.into_iter().reduce(and)
}
