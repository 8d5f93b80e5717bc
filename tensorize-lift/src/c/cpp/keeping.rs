//! Algorithms that keep some of the elements, one after the other, and give the end of these: `std::copy_if`,
//! `std::remove_if`, `std::unique`; and vectors that are as long as that afterwards.

use super::super::expr::{as_truth, negation};
use super::super::lower::{Lower, Result, convert, offset_op, peeled};
use super::super::place::{Place, Pointer};
use super::super::types::usual;
use super::algorithm::Dest;
use super::call::Call;
use super::lambda::Callable;
use super::moving::Given;
use super::scan;
use super::seq::int;
use super::walk::{Range, Walk};
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

/// Which elements are kept.
enum Kept<'u> {
    /// Those that a function object is true of, or false of.
    If(Callable<'u>, bool),
    /// Those that are no such value.
    Not(Given),
    /// Those that are not like the last one that was kept.
    First(Option<Callable<'u>>),
}

impl<'u> Lower<'u, '_> {
    /// The end of what an algorithm keeps, if it is one of these; there is no pointer to the end of a vector that grows.
    pub(super) fn keeping(&mut self, call: &Call<'u>) -> Result<Option<Option<Pointer>>> {
        let (name, n) = (call.name.as_str(), call.args.len());
        let (last, to) = match (name, n) {
            ("copy_if" | "remove_copy_if" | "remove_copy", 4) => (Some(3), Some(2)),
            ("unique_copy", 3 | 4) => ((n == 4).then_some(3), Some(2)),
            ("remove_if" | "remove", 3) if call.is_algorithm() => (Some(2), None),
            ("unique", 2 | 3) if call.is_algorithm() => ((n == 3).then_some(2), None),
            _ => return Ok(None),
        };
        let range = self.range(call, 0)?;
        let dest = match to {
            Some(i) => self.dest(call.arg(i)?)?,
            None => Dest::At(range.walk.clone()),
        };
        let kept = self.which(call, last)?;
        let count = self.keep(&range, &dest, &kept, call)?;
        let start = match &dest {
            Dest::At(walk) => Some(walk.start().ok_or_else(|| call.unsupported())?.clone()),
            Dest::Push(_) => None,
        };
        Ok(Some(start.map(|start| start.moved(count))))
    }

    /// What the algorithm's name and its last argument say.
    fn which(&mut self, call: &Call<'u>, last: Option<usize>) -> Result<Kept<'u>> {
        let function = |s: &mut Self| match last {
            Some(i) => s.callable(call.arg(i)?).map(Some),
            None => Ok(None),
        };
        Ok(match call.name.as_str() {
            "unique" | "unique_copy" => Kept::First(function(self)?),
            "remove" | "remove_copy" | "erase" => {
                Kept::Not(self.by_reference_to(call, last.unwrap_or(1))?)
            }
            name => {
                let f = function(self)?.ok_or_else(|| call.unsupported())?;
                Kept::If(f, name == "copy_if")
            }
        })
    }

    /// Puts those elements one after the other; how many there are.
    fn keep(
        &mut self,
        range: &Range,
        dest: &Dest,
        kept: &Kept<'u>,
        call: &Call<'u>,
    ) -> Result<Expr> {
        if !range.walk.is_of_numbers() {
            return Err(call.unsupported());
        }
        let at = call.at;
        let count = self.fresh("kept");
        self.assign_var(count.clone(), int(0))?;
        let so_far = Expr::Var(count.clone(), ScalarType::I64);
        let result = so_far.clone();
        self.count_to(range.len.clone(), at, |s, i| {
            let place = range.at(i);
            let cond = s.is_kept(kept, &place, dest, &so_far, call)?;
            let (then, ()) = s.in_block(|s| {
                s.put_copy(dest, so_far.clone(), place, at)?;
                s.assign_var(count, offset_op(BinOp::Add, so_far.clone(), int(1)))
            })?;
            s.emit(Stmt::If {
                cond,
                then,
                otherwise: vec![],
            })
        })?;
        Ok(result)
    }

    fn is_kept(
        &mut self,
        kept: &Kept<'u>,
        place: &Place,
        dest: &Dest,
        so_far: &Expr,
        call: &Call<'u>,
    ) -> Result<Expr> {
        match kept {
            Kept::If(f, wanted) => {
                let is = as_truth(self.called(f, vec![place.clone()], call)?);
                Ok(if *wanted { is } else { negation(is) })
            }
            Kept::Not(value) => {
                let (v, value) = (
                    self.load(place.clone(), call.at)?,
                    self.now(value, call.at)?,
                );
                let ty = usual(v.ty(), value.ty());
                Ok(Expr::compare(CmpOp::Ne, convert(ty, v), convert(ty, value)))
            }
            Kept::First(f) => {
                // Where elements are pushed, the last one of them is at the vector's end; nobody asks for these.
                let Dest::At(walk) = dest else {
                    return Err(call.unsupported());
                };
                let last = walk.at(offset_op(BinOp::Subtract, so_far.clone(), int(1)));
                let is_first = Expr::compare(CmpOp::Eq, so_far.clone(), int(0));
                let var = self.fresh("differs");
                let differs = Expr::Var(var.clone(), ScalarType::I1);
                self.assign_var(var.clone(), is_first.clone())?;
                let (then, ()) = self.in_block(|s| {
                    let same = match f {
                        Some(f) => as_truth(s.called(f, vec![last, place.clone()], call)?),
                        None => {
                            let (a, b) = s.both(last, place.clone(), call.at)?;
                            Expr::compare(CmpOp::Eq, a, b)
                        }
                    };
                    s.assign_var(var, negation(same))
                })?;
                self.emit(Stmt::If {
                    cond: negation(is_first),
                    then,
                    otherwise: vec![],
                })?;
                Ok(differs)
            }
        }
    }

    /// `v.erase(first, v.end())`, `std::erase_if(v, f)` and `std::erase(v, value)`: what is left; the latter two say how many
    /// elements are gone. `None` if it is none of them.
    pub(super) fn erased(&mut self, call: &Call<'u>) -> Result<Option<Option<Expr>>> {
        let whole = match (call.name.as_str(), call.args.len()) {
            ("erase", 3) if is_up_to_the_end(call) => false,
            ("erase_if" | "erase", 2) if scan::object(call.at).is_none() => true,
            _ => return Ok(None),
        };
        let seq = self.seq(call.arg(0)?)?;
        if seq.rows.is_some() {
            return Err(call.unsupported());
        }
        if !whole {
            let end = self.pointer(call.arg(1)?)?;
            let left = self.distance(&seq.start, &end, call.at)?;
            let left = self.settled("left", left)?;
            self.set_len(&seq, left, call.at)?;
            return Ok(Some(None));
        }
        let before = self.settled("n", seq.len.clone())?;
        let range = Range {
            walk: Walk::ahead(self.settled_pointer(seq.start.clone())?),
            len: before.clone(),
        };
        let kept = self.which(call, Some(1))?;
        let dest = Dest::At(range.walk.clone());
        let left = self.keep(&range, &dest, &kept, call)?;
        let left = self.settled("left", left)?;
        self.set_len(&seq, left.clone(), call.at)?;
        let gone = offset_op(BinOp::Subtract, before, left);
        Ok(Some(Some(convert(ScalarType::U64, gone))))
    }
}

/// Whether a vector's own end is the last argument.
pub(super) fn is_up_to_the_end(call: &Call<'_>) -> bool {
    let (Some(vector), Some(last)) = (call.args.first(), call.args.get(2)) else {
        return false;
    };
    let mut last = peeled(*last);
    // Iterators are made const ones.
    while let ([inner], None) = (&last.arguments()[..], scan::object(last)) {
        last = peeled(*inner);
    }
    let is_end = matches!(last.spelling().as_str(), "end" | "cend");
    is_end
        && scan::object(last)
            .and_then(scan::named)
            .is_some_and(|d| scan::named(*vector) == Some(d))
}
