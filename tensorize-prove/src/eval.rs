//! The value of an expression.

mod fits;

use crate::canon;
use crate::chain::{self, truth};
use crate::clamp::larger_or_smaller;
use crate::conditions::is_index_condition;
use crate::exec::{Executor, State, Stuck};
use crate::places::is_value_of;
use crate::remainders::rounded_down;
use crate::tables;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Atom, Idx};
use tensorize_ir::loopir::{Expr, Overflow};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;

/// 2^k, if all bits of a mask of this type are set but the lowest k.
fn cleared_below(ty: ScalarType, mask: &Idx) -> Option<i128> {
    let value = mask.as_constant()?;
    let zeros = match ty.is_signed() {
        true => -value,
        false => (1 << ty.bits()) - value,
    };
    (zeros > 0 && zeros.count_ones() == 1 && zeros < 1 << 62).then_some(zeros)
}

/// 2^k, if the bits of a mask are the lowest k, of some.
fn all_below(mask: &Idx) -> Option<i128> {
    let above = mask.as_constant()? + 1;
    (above > 1 && above.count_ones() == 1).then_some(above)
}

impl Executor<'_, '_> {
    /// The value of a condition, a literal if it is known.
    pub fn condition(&mut self, e: &Expr, state: &State) -> Result<ElemRef, Stuck> {
        let c = canon::elem(&self.eval(e, state)?);
        if let Some(known) = self.ctx.decide(&c) {
            return Ok(truth(known));
        }
        Ok(c)
    }

    /// Whether a loop goes on: a condition on indices also where the data says how far a counter goes, as in
    /// `k < end[i]`.
    pub fn loop_condition(&mut self, e: &Expr, state: &State) -> Result<ElemRef, Stuck> {
        let c = self.eval(e, state)?;
        let c = canon::elem(&self.on_indices(&c));
        if let Some(known) = self.ctx.decide(&c) {
            return Ok(truth(known));
        }
        Ok(c)
    }

    /// The same condition, with comparisons of counters and integers in memory as ones of mathematical integers,
    /// which is what they are.
    pub(crate) fn on_indices(&mut self, c: &ElemRef) -> ElemRef {
        match &**c {
            Elem::Compare(op, a, b)
                if a.ty().is_int() && (index_like(a).is_some() || index_like(b).is_some()) =>
            {
                Elem::index_compare(*op, self.mathematical(a), self.mathematical(b))
            }
            Elem::Unary(UnOp::Not, _)
            | Elem::Binary(BinOp::And | BinOp::Or, ..)
            | Elem::Select(..)
                if c.ty() == ScalarType::I1 =>
            {
                let parts: Vec<ElemRef> = c
                    .children()
                    .into_iter()
                    .map(|p| self.on_indices(p))
                    .collect();
                c.rebuild(&parts, &[])
            }
            _ => c.clone(),
        }
    }

    /// The number that an expression gives.
    pub(crate) fn number(&mut self, e: &Expr, state: &State) -> Result<Idx, Stuck> {
        let value = self.eval(e, state)?;
        Ok(self.mathematical(&value))
    }

    /// The place in memory that an index names.
    ///
    /// What generated code touches is shown to be what the original touches, or to lie within that, or within an array of its
    /// own, and places that a program has are numbers of 64 bits. So sums and products of such code are what they would be
    /// if none of them wrapped, as long as nothing else looks at them on the way. (How long an array is, is no place.)
    pub(crate) fn place(&mut self, index: &Expr, state: &State) -> Result<Idx, Stuck> {
        let value = self.eval(index, state)?;
        let at = match self.ctx.of_code {
            true => self.unwrapped(&value),
            false => self.mathematical(&value),
        };
        // Of `max(0, k - start)`, where `k >= start` here, one side alone.
        let is_side = |a: &Atom| matches!(a, Atom::Max(..) | Atom::Min(..));
        let has_sides = at.terms().any(|(m, _)| m.iter().any(is_side));
        Ok(match has_sides {
            true => self.ctx.settle_index(&at),
            false => at,
        })
    }

    fn unwrapped(&mut self, e: &ElemRef) -> Idx {
        match &**e {
            Elem::Binary(op @ (BinOp::Add | BinOp::Subtract | BinOp::Multiply), a, b)
                if e.ty() == ScalarType::I64 =>
            {
                let (x, y) = (self.unwrapped(a), self.unwrapped(b));
                arithmetic(*op, &x, &y)
            }
            _ => self.mathematical(e),
        }
    }

    /// The mathematical value of an integer that arithmetic on data gives: sums and products are the
    /// mathematical ones where they don't wrap.
    fn mathematical(&mut self, e: &ElemRef) -> Idx {
        if index_like(e).is_some() {
            return as_idx(e);
        }
        match &**e {
            Elem::Convert(to, inner) if inner.ty().fits_in(*to) => self.mathematical(inner),
            Elem::Binary(op @ (BinOp::Add | BinOp::Subtract | BinOp::Multiply), a, b) => {
                let (x, y) = (self.mathematical(a), self.mathematical(b));
                let result = arithmetic(*op, &x, &y);
                let ty = e.ty();
                let stays = ty.is_signed() && self.kernel.overflow == Overflow::Undefined
                    || self.ctx.stays_in_by_types(ty, &result)
                    || is_value_of(&mut self.ctx, ty, &result)
                    || self.fits_in_every_round(ty, &result);
                if stays { result } else { as_idx(e) }
            }
            Elem::Binary(BinOp::Maximum, a, b) => {
                let (x, y) = (self.mathematical(a), self.mathematical(b));
                x.maximum(&y)
            }
            Elem::Binary(BinOp::Minimum, a, b) => {
                let (x, y) = (self.mathematical(a), self.mathematical(b));
                x.minimum(&y)
            }
            // A limit that is written as a condition, which looks at both sides.
            Elem::Select(..) => {
                let limit = canon::elem(e);
                match &*limit {
                    Elem::Binary(BinOp::Maximum | BinOp::Minimum, ..) => self.mathematical(&limit),
                    _ => as_idx(e),
                }
            }
            _ => as_idx(e),
        }
    }

    /// The value of an expression.
    pub fn eval(&mut self, e: &Expr, state: &State) -> Result<ElemRef, Stuck> {
        Ok(match e {
            Expr::Const(v) => Elem::constant(*v),
            Expr::Var(name, _) => match state.scalars.get(name) {
                Some(v) => v.clone(),
                None => {
                    return self
                        .stuck(format!("the value of {name} is not known where it is read"));
                }
            },
            Expr::Load { array, index, .. } => {
                let at = self.place(index, state)?;
                self.record(array, &at, false);
                self.within_local(array, &at)?;
                let Some(contents) = state.arrays.get(array) else {
                    return self.stuck(format!("there is no array {array}"));
                };
                let table = self
                    .kernel
                    .arrays
                    .iter()
                    .find(|a| a.name == *array)
                    .and_then(|a| a.init.as_ref());
                if let (Some(values), true) = (table, contents.effects.is_empty())
                    && !values.is_empty()
                {
                    let selected = tables::element(values, &at);
                    return Ok(self.ctx.settle(&selected));
                }
                match chain::read(&mut self.ctx, array, contents, &at) {
                    Ok(v) => v,
                    Err(chain::Unresolved(why)) => {
                        match self.read_where_written(array, contents, &at) {
                            Some(v) => v,
                            None => return self.stuck(why),
                        }
                    }
                }
            }
            Expr::Unary(op, a) => {
                let a = self.eval(a, state)?;
                match (op, index_like(&a)) {
                    (UnOp::Negate, Some(p)) if self.keeps(a.ty(), &-&p) => {
                        Elem::of_idx(a.ty(), -&p)
                    }
                    _ => {
                        let value = Elem::unary(*op, a);
                        self.record_defined(&value);
                        value
                    }
                }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.eval(a, state)?, self.eval(b, state)?);
                self.record_hazard(*op, &a, &b);
                let value = self.binary(*op, a, b);
                self.record_defined(&value);
                value
            }
            Expr::Compare(op, a, b) => {
                let (a, b) = (self.eval(a, state)?, self.eval(b, state)?);
                match (index_like(&a), index_like(&b)) {
                    (Some(p), Some(q)) => Elem::index_compare(*op, p, q),
                    // Of two truth values about indices, to be decided as such.
                    _ if a.ty() == ScalarType::I1
                        && is_index_condition(&a)
                        && is_index_condition(&b) =>
                    {
                        match op {
                            CmpOp::Ne => Elem::binary(BinOp::Xor, a, b),
                            CmpOp::Eq => Elem::not(Elem::binary(BinOp::Xor, a, b)),
                            _ => Elem::compare(*op, a, b),
                        }
                    }
                    _ => compared(*op, &a, &b),
                }
            }
            Expr::Convert(to, a) => {
                let a = self.eval(a, state)?;
                self.convert(*to, a)
            }
            Expr::Bitcast(to, a) => {
                let a = self.eval(a, state)?;
                if a.ty() == *to {
                    a
                } else {
                    Elem::Bitcast(*to, a).into()
                }
            }
            Expr::Select(c, t, f) => {
                let c = self.condition(c, state)?;
                match &*c {
                    Elem::Const(v) => self.eval(if v.is_true() { t } else { f }, state)?,
                    _ => {
                        self.note_split(&c, true);
                        let t = self.under(&c, |x| x.eval(t, state))?;
                        let f = self.under(&Elem::not(c.clone()), |x| x.eval(f, state))?;
                        let simpler = larger_or_smaller(&mut self.ctx, &c, &t, &f);
                        simpler
                            .or_else(|| rounded_down(&c, &t, &f))
                            .unwrap_or_else(|| Elem::select(c, t, f))
                    }
                }
            }
        })
    }

    fn binary(&mut self, op: BinOp, a: ElemRef, b: ElemRef) -> ElemRef {
        let ty = a.ty();
        let (Some(p), Some(q)) = (index_like(&a), index_like(&b)) else {
            let whole = Elem::binary(op, a, b);
            // `(row + i) * width`, of which `i` is negative: what wraps on the way need not in the end.
            return match modulo_its_type(&whole) {
                Some(p) if self.fits(ty, &p) => Elem::of_idx(ty, p),
                _ => self.turned(&whole).unwrap_or(whole),
            };
        };
        if matches!((&*a, &*b), (Elem::Const(_), Elem::Const(_))) {
            return Elem::binary(op, a, b);
        }
        let small = q.as_constant().filter(|c| (0..63).contains(c));
        let result = match op {
            // `i + -2` of an unsigned `i` that is no smaller.
            BinOp::Add if self.is_sum_with_negative(ty, &p, &q) => {
                let wrapped = Idx::constant(1 << ty.bits());
                return Elem::of_idx(ty, &(&p + &q) - &wrapped);
            }
            BinOp::Add => &p + &q,
            BinOp::Subtract => &p - &q,
            BinOp::Multiply => &p * &q,
            BinOp::ShiftLeft if small.is_some() => &p * &Idx::constant(1 << small.unwrap_or(0)),
            BinOp::ShiftRightArithmetic if small.is_some() && ty.is_signed() => {
                return Elem::of_idx(ty, p.floor_div(&Idx::constant(1 << small.unwrap_or(0))));
            }
            BinOp::ShiftRightLogical if small.is_some() && self.ctx.is_non_negative(&p) => {
                return Elem::of_idx(ty, p.floor_div(&Idx::constant(1 << small.unwrap_or(0))));
            }
            // C cuts `-pad / 2` towards zero.
            BinOp::Divide | BinOp::Remainder
                if p.terms().all(|(_, c)| c < 0) && self.is_divisor(&q) && self.is_size(&-&p) =>
            {
                let idx = match op {
                    BinOp::Divide => -&(-&p).floor_div(&q),
                    _ => -&(-&p).modulo(&q),
                };
                return Elem::of_idx(ty, canon::idx(&idx));
            }
            BinOp::Divide | BinOp::Remainder if self.is_divisor(&q) && self.is_size(&p) => {
                let idx = if op == BinOp::Divide {
                    p.floor_div(&q)
                } else {
                    p.modulo(&q)
                };
                return Elem::of_idx(ty, canon::idx(&idx));
            }
            BinOp::And if all_below(&q).is_some() && self.is_counted(&p) => {
                let modulus = Idx::constant(all_below(&q).unwrap_or(1));
                return Elem::of_idx(ty, canon::idx(&p.modulo(&modulus)));
            }
            // `n & ~15`: the largest multiple of 16 that is no larger, for negative numbers too.
            BinOp::And if cleared_below(ty, &q).is_some() => {
                let unit = Idx::constant(cleared_below(ty, &q).unwrap_or(1));
                return Elem::of_idx(ty, canon::idx(&(&p.floor_div(&unit) * &unit)));
            }
            // `i | 1`: what lies below is all ones, for negative numbers too.
            BinOp::Or if all_below(&q).is_some() => {
                let unit = Idx::constant(all_below(&q).unwrap_or(1));
                let idx = &(&p.floor_div(&unit) * &unit) + &q;
                return Elem::of_idx(ty, canon::idx(&idx));
            }
            BinOp::Maximum => p.maximum(&q),
            BinOp::Minimum => p.minimum(&q),
            _ => return Elem::binary(op, a, b),
        };
        if self.keeps(ty, &result) || self.is_area(op, (&p, &q)) && self.keeps(ty, &result) {
            Elem::of_idx(ty, result)
        } else {
            Elem::binary(op, a, b)
        }
    }

    /// Whether of this number, masked, a remainder is made: of one that is negative, too, as it is in two's complement, but only where
    /// it counts rounds (`(i + colour) & 1`). Of others, bits are better said to be bits.
    fn is_counted(&mut self, p: &Idx) -> bool {
        let mut symbols = p.terms().flat_map(|(m, _)| m);
        let plain = symbols.all(|a| matches!(a, Atom::Sym(_)));
        let counts = self.loops.iter().any(|(counter, _)| p.mentions(counter));
        plain && counts || self.ctx.is_non_negative(p)
    }

    /// Whether this is a product of what is not negative here, and so not negative: of `(y + k - pad) * width` the solver does
    /// not see that by itself.
    fn is_area(&mut self, op: BinOp, (p, q): (&Idx, &Idx)) -> bool {
        let product = p * q;
        let sums = [p, q].iter().any(|f| f.terms().count() > 1);
        let is = op == BinOp::Multiply
            && sums
            && !self.ctx.is_over_params(&product)
            && [p, q].iter().all(|f| self.ctx.is_non_negative(f));
        if is {
            self.ctx.assume_non_negative(&product);
        }
        is
    }

    /// In generated code, a counter that goes round from where the data says: `(round + begin[0]) % len`.
    fn turned(&mut self, e: &ElemRef) -> Option<ElemRef> {
        let Elem::Binary(BinOp::Remainder, from, size) = &**e else {
            return None;
        };
        let Elem::Binary(BinOp::Add | BinOp::Subtract, a, b) = &**from else {
            return None;
        };
        let mut parts = [a, b].into_iter().filter_map(index_like);
        let counts = |i: Idx| self.loops.iter().any(|(counter, _)| i.mentions(counter));
        let size = index_like(size).filter(|_| self.ctx.of_code && parts.any(counts))?;
        let (x, y) = (self.less_than_a_length(a), self.less_than_a_length(b));
        let from = match &**from {
            Elem::Binary(BinOp::Add, ..) => &x + &y,
            _ => &x - &y,
        };
        let is_plain = self.ctx.proves(CmpOp::Ge, &size, &Idx::constant(1))
            && self.ctx.is_non_negative(&from)
            && (self.fits(e.ty(), &from) || self.fits_in_every_round(e.ty(), &from));
        is_plain.then(|| Elem::of_idx(e.ty(), from.modulo(&size)))
    }

    /// The number that a place in an array is, of another type.
    fn less_than_a_length(&mut self, e: &ElemRef) -> Idx {
        match &**e {
            Elem::Convert(to, place) if place.ty().is_int() && *to != ScalarType::I1 => {
                let place = as_idx(place);
                match self.ctx.is_value_of(*to, &place) {
                    true => place,
                    false => as_idx(e),
                }
            }
            _ => self.mathematical(e),
        }
    }

    /// Whether one of them is a negative number as its type has it, and their sum wraps for sure.
    fn is_sum_with_negative(&mut self, ty: ScalarType, p: &Idx, q: &Idx) -> bool {
        let all = 1 << ty.bits();
        let negative = |i: &Idx| i.as_constant().is_some_and(|c| c > ty.max_value() / 2);
        !ty.is_signed()
            && (negative(p) || negative(q))
            && self.ctx.is_non_negative(&(&(p + q) - &Idx::constant(all)))
    }

    fn convert(&mut self, to: ScalarType, a: ElemRef) -> ElemRef {
        let from = a.ty();
        match index_like(&a) {
            Some(p) if to == ScalarType::I1 => Elem::index_compare(CmpOp::Ne, p, Idx::default()),
            Some(p) if to.is_int() && (from.fits_in(to) || self.fits(to, &p)) => {
                Elem::of_idx(to, p)
            }
            _ => Elem::convert(to, a),
        }
    }
}

/// `a op b`. Where a literal is compared with one of some that conditions choose, as in `info != 0`, that is a matter of the
/// conditions.
fn compared(op: CmpOp, a: &ElemRef, b: &ElemRef) -> ElemRef {
    match (&**a, &**b) {
        (Elem::Select(c, t, f), Elem::Const(_)) if chooses(a) => {
            Elem::select(c.clone(), compared(op, t, b), compared(op, f, b))
        }
        (Elem::Const(_), Elem::Select(c, t, f)) if chooses(b) => {
            Elem::select(c.clone(), compared(op, a, t), compared(op, a, f))
        }
        _ => Elem::compare(op, a.clone(), b.clone()),
    }
}

/// Whether conditions choose one of some literals. (A choice in both branches is none: that can double at each level.)
fn chooses(e: &Elem) -> bool {
    match e {
        Elem::Const(_) => true,
        Elem::Select(_, t, f) => {
            let literal = |e: &Elem| matches!(e, Elem::Const(_));
            literal(t) && chooses(f) || chooses(t) && literal(f)
        }
        _ => false,
    }
}

/// A polynomial that an unsigned number is equal to up to multiples of 2^bits: sums, differences, products and conversions
/// of numbers that are no larger keep to that, whatever wraps. Numbers in memory are none of an index, and so deep an index
/// nobody writes.
fn modulo_its_type(e: &ElemRef) -> Option<Idx> {
    fn part(e: &ElemRef, depth: usize) -> Option<Idx> {
        let known = index_like(e).filter(|p| !p.has_values());
        known.or_else(|| modulo(e, depth.checked_sub(1)?))
    }
    fn modulo(e: &ElemRef, depth: usize) -> Option<Idx> {
        let ty = e.ty();
        if !ty.is_int() || ty.is_signed() || ty == ScalarType::I1 {
            return None;
        }
        match &**e {
            Elem::Binary(op @ (BinOp::Add | BinOp::Subtract | BinOp::Multiply), a, b) => {
                let b = part(b, depth)?;
                Some(arithmetic(*op, &part(a, depth)?, &b))
            }
            // (A number of fewer bits has to be that number, not one up to multiples.)
            Elem::Convert(_, inner) if inner.ty().is_int() => {
                index_like(inner).filter(|p| !p.has_values())
            }
            _ => None,
        }
    }
    const DEEP: usize = 4;
    modulo(e, DEEP)
}

/// A sum, a difference or a product.
fn arithmetic(op: BinOp, x: &Idx, y: &Idx) -> Idx {
    match op {
        BinOp::Add => x + y,
        BinOp::Subtract => x - y,
        _ => x * y,
    }
}

/// The polynomial, if the value is index-like.
pub fn index_like(e: &ElemRef) -> Option<Idx> {
    match &**e {
        Elem::Const(v) if v.ty.is_int() => Some(Idx::constant(v.as_int())),
        Elem::OfIdx(ty, p) if ty.is_int() => Some(p.clone()),
        _ => None,
    }
}

/// The mathematical value of an integer.
pub fn as_idx(e: &ElemRef) -> Idx {
    match &**e {
        Elem::Convert(to, inner) if inner.ty().fits_in(*to) => as_idx(inner),
        _ => index_like(e).unwrap_or_else(|| Idx::atom(Atom::Value(e.clone()))),
    }
}
