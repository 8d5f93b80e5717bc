//! Between which sizes a value lies that was clamped, as in `x < 0 ? 0 : x > n - 1 ? n - 1 : x`, whatever `x` is.

use crate::bound::bound;
use crate::canon;
use crate::context::Context;
use crate::eval::index_like;
use crate::ranges;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;

/// The least and the largest value, over the sizes, in every round of the `loops` where the conditions of the `path`
/// hold. That a limit such as `n - 1` is no less than a constant one becomes a guard.
pub(crate) fn range(
    ctx: &mut Context,
    e: &ElemRef,
    loops: &[(Sym, Idx)],
    path: &[ElemRef],
) -> Option<(Idx, Idx)> {
    let saved = ctx.save();
    let e = canon::elem(e);
    let mut clamp = Clamp {
        ctx,
        loops,
        known: Vec::new(),
    };
    for c in path {
        clamp.learn(&canon::elem(c), true);
    }
    let ends = clamp
        .end(&e, false)
        .and_then(|low| Some((low, clamp.end(&e, true)?)));
    if ends.is_none() {
        ctx.restore(saved);
    }
    ends
}

struct Clamp<'a, 'c> {
    ctx: &'a mut Context<'c>,
    loops: &'a [(Sym, Idx)],
    /// What the conditions say where a part is chosen: `.0 <= .1`, less `.2`.
    known: Vec<(ElemRef, ElemRef, i128)>,
}

impl Clamp<'_, '_> {
    /// A polynomial that the integer is at most (`upper`) or at least.
    fn end(&mut self, e: &ElemRef, upper: bool) -> Option<Idx> {
        let found = self.simple(e, upper);
        found
            .or_else(|| self.by_parts(e, upper))
            .or_else(|| self.by_conditions(e, upper))
    }

    /// The same by the ends of the parts of which one is chosen.
    fn by_parts(&mut self, e: &ElemRef, upper: bool) -> Option<Idx> {
        match &**e {
            // Wider, it stays what it is.
            Elem::Convert(to, inner) if inner.ty().is_int() && inner.ty().fits_in(*to) => {
                self.end(inner, upper)
            }
            Elem::Select(c, t, f) => {
                let before = self.known.len();
                self.learn(c, true);
                let t = self.end(t, upper);
                self.known.truncate(before);
                self.learn(c, false);
                let f = self.end(f, upper);
                self.known.truncate(before);
                self.of_either(t?, f?, upper)
            }
            Elem::Binary(op @ (BinOp::Maximum | BinOp::Minimum), a, b) => {
                self.by_sides(*op, [a, b], upper)
            }
            Elem::OfIdx(ty, limit) => {
                let (op, a, b) = match limit.as_atom()? {
                    Atom::Max(a, b) => (BinOp::Maximum, a, b),
                    Atom::Min(a, b) => (BinOp::Minimum, a, b),
                    _ => return None,
                };
                let side = |i: &Idx| {
                    i.as_value()
                        .cloned()
                        .unwrap_or_else(|| Elem::of_idx(*ty, i.clone()))
                };
                self.by_sides(op, [&side(a), &side(b)], upper)
            }
            _ => None,
        }
    }

    /// The same of a maximum or a minimum.
    fn by_sides(&mut self, op: BinOp, [a, b]: [&ElemRef; 2], upper: bool) -> Option<Idx> {
        let (a, b) = (self.end(a, upper), self.end(b, upper));
        match (op == BinOp::Maximum) == upper {
            true => self.of_either(a?, b?, upper),
            // Either is an end of both.
            false => a.or(b),
        }
    }

    /// The same of a polynomial over sizes and counters.
    fn simple(&mut self, e: &ElemRef, upper: bool) -> Option<Idx> {
        let place = index_like(e)?;
        bound(self.ctx, &place, self.loops, upper).filter(|end| self.ctx.is_over_params(end))
    }

    /// The same of any value, by what the conditions around it compare it with, or by its type.
    fn by_conditions(&mut self, e: &ElemRef, upper: bool) -> Option<Idx> {
        let said = self.known.iter().filter_map(|(less, more, by)| {
            let (own, other) = if upper { (less, more) } else { (more, less) };
            (own == e).then(|| (other.clone(), Idx::constant(if upper { -by } else { *by })))
        });
        let said: Vec<(ElemRef, Idx)> = said.collect();
        let found = said
            .into_iter()
            .find_map(|(other, by)| Some(&self.simple(&other, upper)? + &by));
        let by_type = || {
            let (low, _) = ranges::of(e);
            (!upper && low >= 0).then(|| Idx::constant(low))
        };
        found.or_else(by_type)
    }

    /// Notes what a condition says of integers, where it holds or where it doesn't.
    fn learn(&mut self, c: &ElemRef, holds: bool) {
        match &**c {
            // The other comparisons of integers have these as their canonical forms.
            Elem::Compare(op @ (CmpOp::Lt | CmpOp::Eq), a, b) => {
                let less = |a: &ElemRef, b: &ElemRef, by| (a.clone(), b.clone(), by);
                match (op, holds) {
                    (CmpOp::Lt, true) => self.known.push(less(a, b, 1)),
                    (CmpOp::Lt, false) => self.known.push(less(b, a, 0)),
                    (_, true) => self.known.extend([less(a, b, 0), less(b, a, 0)]),
                    (_, false) => {}
                }
            }
            Elem::Binary(op @ (BinOp::And | BinOp::Or), a, b)
                if c.ty() == ScalarType::I1 && holds == (*op == BinOp::And) =>
            {
                self.learn(a, holds);
                self.learn(b, holds);
            }
            Elem::Select(c, t, f) if is_truth(t, !holds) => {
                self.learn(c, false);
                self.learn(f, holds);
            }
            Elem::Select(c, t, f) if is_truth(f, !holds) => {
                self.learn(c, true);
                self.learn(t, holds);
            }
            Elem::Unary(UnOp::Not, c) if c.ty() == ScalarType::I1 => self.learn(c, !holds),
            _ => {}
        }
    }

    /// The end of what is one or the other.
    fn of_either(&mut self, a: Idx, b: Idx, upper: bool) -> Option<Idx> {
        let outer = if upper { CmpOp::Ge } else { CmpOp::Le };
        if self.ctx.proves(outer, &a, &b) {
            return Some(a);
        }
        if self.ctx.proves(outer, &b, &a) {
            return Some(b);
        }
        // No array has a clamped place before its first: such calls are left to the original.
        let (constant, size) = match (a.as_constant(), b.as_constant()) {
            (Some(_), None) => (a, b),
            (None, Some(_)) => (b, a),
            _ => return None,
        };
        self.ctx.guard(Guard::NonNegative(&size - &constant));
        Some(if upper { size } else { constant })
    }
}

/// Whether it is this constant.
pub(crate) fn is_truth(e: &ElemRef, value: bool) -> bool {
    matches!(&**e, Elem::Const(v) if v.ty == ScalarType::I1 && v.is_true() == value)
}

/// Whether it hangs on the sizes whether this is a maximum or minimum: `i < 0 ? 0 : min(i, n - 1)` is one where n is positive.
pub(crate) fn may_be_limit(c: &ElemRef, t: &ElemRef, f: &ElemRef) -> bool {
    let (Elem::IndexCompare(..), Some(x), Some(y)) = (&**c, index_like(t), index_like(f)) else {
        return false;
    };
    let is_limit = |i: &Idx| matches!(i.as_atom(), Some(Atom::Max(..) | Atom::Min(..)));
    is_limit(&x) || is_limit(&y)
}

/// `p >= 0 ? t : f`, or `p == 0 ? t : f`, as a maximum or minimum of index-like values, where it is one.
pub(crate) fn larger_or_smaller(
    ctx: &mut Context,
    c: &ElemRef,
    t: &ElemRef,
    f: &ElemRef,
) -> Option<ElemRef> {
    let Elem::IndexCompare(op, p, zero) = &**c else {
        return None;
    };
    let (x, y) = (index_like(t)?, index_like(f)?);
    let (p, one) = (p - zero, Idx::constant(1));
    let at_the_end = match op {
        CmpOp::Eq => neighbour(ctx, Elem::not(c.clone()), &p, &x, &y),
        CmpOp::Ne => neighbour(ctx, c.clone(), &p, &y, &x),
        _ => None,
    };
    if let Some(limit) = at_the_end {
        return Some(Elem::of_idx(t.ty(), limit));
    }
    let (up, down) = (&x - &y, &y - &x);
    let is_either = |a: &Idx| *op == CmpOp::Ge && (p == *a || p == a - &one);
    let limited = may_be_limit(c, t, f);
    let mut chooses = |op| {
        let mut holds = |where_it_is: ElemRef, a, b| {
            let mark = ctx.mark();
            ctx.assume(where_it_is);
            let holds = ctx.proves(op, a, b);
            ctx.forget(mark);
            holds
        };
        limited && holds(c.clone(), &x, &y) && holds(Elem::not(c.clone()), &y, &x)
    };
    if is_either(&up) || chooses(CmpOp::Ge) {
        Some(Elem::of_idx(t.ty(), x.maximum(&y)))
    } else if is_either(&down) || chooses(CmpOp::Le) {
        Some(Elem::of_idx(t.ty(), x.minimum(&y)))
    } else {
        None
    }
}

/// `k == n - 1 ? k : k + 1` is `min(k + 1, n - 1)` where no `k` is larger, and `k == 0 ? 0 : k - 1` is `max(k - 1, 0)` where
/// none is negative: where `p` is zero, what is chosen is a constant away from what is chosen elsewhere.
fn neighbour(
    ctx: &mut Context,
    elsewhere: ElemRef,
    p: &Idx,
    end: &Idx,
    other: &Idx,
) -> Option<Idx> {
    // Two numbers are answers, and no places.
    if other.as_constant().is_some() {
        return None;
    }
    // All the same at the end.
    let ends = [end.clone(), end + p, end - p];
    let step = ends.iter().find_map(|e| (other - e).as_constant())?;
    let op = if step > 0 { CmpOp::Le } else { CmpOp::Ge };
    let mark = ctx.mark();
    ctx.assume(elsewhere);
    let limit = ends.iter().find(|e| ctx.proves(op, other, e)).cloned();
    ctx.forget(mark);
    let limit = limit.filter(|_| step != 0)?;
    Some(match op {
        CmpOp::Le => other.minimum(&limit),
        _ => other.maximum(&limit),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::{self, Solver};
    use tensorize_ir::element::{Env, eval_index};
    use tensorize_ir::inputs::Rng;
    use tensorize_ir::scalar::Scalar;

    const TY: ScalarType = ScalarType::I32;

    struct At {
        x: i128,
        n: i128,
    }

    impl Env for At {
        fn sym(&self, _: &Sym) -> Option<i128> {
            Some(self.n)
        }
        fn param(&self, _: &Sym) -> Option<Scalar> {
            None
        }
        fn read(&mut self, _: &Sym, _: i128) -> Option<Scalar> {
            Some(Scalar::int(TY, self.x))
        }
    }

    /// One of the rounds of a loop over `n`.
    struct Round {
        k: i128,
        n: i128,
    }

    impl Env for Round {
        fn sym(&self, name: &Sym) -> Option<i128> {
            Some(if &**name == "k" { self.k } else { self.n })
        }
        fn param(&self, _: &Sym) -> Option<Scalar> {
            None
        }
        fn read(&mut self, _: &Sym, _: i128) -> Option<Scalar> {
            None
        }
    }

    fn x() -> ElemRef {
        Elem::read("x", TY, Idx::default())
    }

    fn size(less: i128) -> ElemRef {
        Elem::of_idx(TY, &Idx::sym(Sym::from("n")) - &Idx::constant(less))
    }

    fn constant(c: i128) -> ElemRef {
        Elem::constant(Scalar::int(TY, c))
    }

    /// What is said of the value, with the guards; it holds wherever these do.
    fn ends(e: &ElemRef) -> Option<(Idx, Idx, usize)> {
        let mut solver = Solver::new(solver::find())
            .expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
        let params = std::iter::once(("n".into(), TY)).collect();
        let mut ctx = Context::new(&mut solver, params, vec![]);
        let Some((low, high)) = range(&mut ctx, e, &[], &[]) else {
            assert!(ctx.guards().is_empty(), "guards of nothing");
            return None;
        };
        for (x, n) in (-5..8).flat_map(|x| (-2..6).map(move |n| (x, n))) {
            let mut at = At { x, n };
            let mut value = |i: &Idx| eval_index(i, &mut at).unwrap();
            let holds = |g: &Guard| matches!(g, Guard::NonNegative(i) if value(i) >= 0);
            if ctx.guards().iter().all(holds) {
                let v = e.eval(&mut at).unwrap().as_int();
                let mut value = |i: &Idx| eval_index(i, &mut at).unwrap();
                let (low, high) = (value(&low), value(&high));
                assert!(
                    low <= v && v <= high,
                    "{e}: {low}..={high}, not {v} of {x}, {n}"
                );
            }
        }
        let guards = ctx.guards().len();
        Some((low, high, guards))
    }

    #[test]
    fn ways_to_clamp() {
        let (zero, last) = (constant(0), size(1));
        let below = |a: &ElemRef, b: &ElemRef| Elem::compare(CmpOp::Lt, a.clone(), b.clone());
        let upper = |x: ElemRef| Elem::select(below(&last, &x), last.clone(), x.clone());
        let lower = |x: ElemRef| Elem::select(below(&x, &zero), zero.clone(), x.clone());
        let max = |a, b| Elem::binary(BinOp::Maximum, a, b);
        let min = |a, b| Elem::binary(BinOp::Minimum, a, b);
        let inside = Elem::binary(
            BinOp::And,
            Elem::compare(CmpOp::Ge, x(), zero.clone()),
            Elem::compare(CmpOp::Lt, x(), size(0)),
        );
        let or = |a, b| Elem::select(a, Elem::constant(Scalar::bool(true)), b);
        let outside = or(below(&x(), &zero), Elem::not(below(&x(), &size(0))));
        let unknown = Elem::of_idx(TY, Idx::sym(Sym::from("k")));
        let to_both = [
            Elem::select(outside, zero.clone(), x()),
            upper(lower(x())),
            lower(upper(x())),
            Elem::select(below(&x(), &zero), zero.clone(), upper(x())),
            max(zero.clone(), min(last.clone(), x())),
            min(last.clone(), max(zero.clone(), x())),
            Elem::select(inside, x(), zero.clone()),
            Elem::select(below(&lower(x()), &size(0)), lower(x()), last.clone()),
        ];
        for e in &to_both {
            let whole = (
                Idx::default(),
                &Idx::sym(Sym::from("n")) - &Idx::constant(1),
                1,
            );
            assert_eq!(ends(e), Some(whole), "{e}");
        }
        // One end is open.
        let either = or(below(&x(), &zero), below(&x(), &size(0)));
        for e in [
            upper(x()),
            lower(x()),
            max(zero.clone(), x()),
            max(zero.clone(), min(unknown, x())),
            Elem::select(either, x(), zero.clone()),
            x(),
        ] {
            assert_eq!(ends(&e), None, "{e}");
        }
    }

    #[test]
    fn conditions_around() {
        let path = [
            Elem::compare(CmpOp::Ge, x(), constant(0)),
            Elem::compare(CmpOp::Lt, x(), size(0)),
        ];
        let mut solver = Solver::new(solver::find())
            .expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
        let params = std::iter::once(("n".into(), TY)).collect();
        let mut ctx = Context::new(&mut solver, params, vec![]);
        let last = &Idx::sym(Sym::from("n")) - &Idx::constant(1);
        let whole = Some((Idx::default(), last));
        assert_eq!(range(&mut ctx, &x(), &[], &path), whole);
        assert_eq!(range(&mut ctx, &x(), &[], &path[..1]), None);
        assert_eq!(range(&mut ctx, &x(), &[], &path[1..]), None);
        assert!(ctx.guards().is_empty());
    }

    /// Where a choice is said to be a limit, it is that number in each round that there is.
    #[test]
    fn choices_that_are_limits() {
        let (k, n) = (Idx::sym(Sym::from("k")), Idx::sym(Sym::from("n")));
        let at = |i: &Idx, by: i128| i + &Idx::constant(by);
        let zero = Idx::default();
        let compared = [
            k.clone(),
            at(&k, -1),
            at(&(&n - &k), -1),
            at(&(&n - &k), -2),
            &k - &n,
        ];
        let chosen = [
            zero.clone(),
            k.clone(),
            at(&k, 1),
            at(&k, -1),
            at(&n, -1),
            n.clone(),
        ];
        let mut solver = Solver::new(solver::find())
            .expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
        let params = std::iter::once(("n".into(), TY)).collect();
        let mut ctx = Context::new(&mut solver, params, vec![]);
        ctx.assume_in_range(&Sym::from("k"), &n);
        let mut found = Vec::new();
        for op in [CmpOp::Eq, CmpOp::Ne, CmpOp::Ge] {
            for (p, t, f) in compared.iter().flat_map(|p| {
                let pairs = chosen
                    .iter()
                    .flat_map(|t| chosen.iter().map(move |f| (t, f)));
                pairs.map(move |(t, f)| (p, t, f))
            }) {
                let condition = Elem::index_compare(op, p.clone(), zero.clone());
                let [yes, no] = [t, f].map(|i| Elem::of_idx(TY, i.clone()));
                let Some(limit) = larger_or_smaller(&mut ctx, &condition, &yes, &no) else {
                    continue;
                };
                let choice = Elem::select(condition, yes, no);
                for (k, n) in (0..6).flat_map(|n| (0..n).map(move |k| (k, n))) {
                    let mut at = Round { k, n };
                    let both = [&choice, &limit].map(|e| e.eval(&mut at));
                    assert_eq!(both[0], both[1], "{choice}: {limit} of {k}, {n}");
                }
                found.push(format!("{choice}"));
            }
        }
        assert!(found.len() > 8, "{found:?}");
        let wall = Elem::index_compare(CmpOp::Eq, at(&(&n - &k), -1), zero.clone());
        let own = Elem::of_idx(TY, k.clone());
        let next = Elem::of_idx(TY, at(&k, 1));
        let limit = larger_or_smaller(&mut ctx, &wall, &own, &next).unwrap();
        let least = Elem::of_idx(TY, at(&k, 1).minimum(&at(&n, -1)));
        assert_eq!(canon::elem(&limit), canon::elem(&least));
    }

    /// Nothing is said that is not so, whatever is chosen and compared.
    #[test]
    fn any_choices() {
        let mut random = Rng::new(7);
        let mut below = |n: usize| random.below(n as u64) as usize;
        let mut found = 0;
        for _ in 0..300 {
            let mut values = vec![x(), constant(0), constant(2), size(0), size(1)];
            for _ in 0..3 {
                let mut any = || values[below(values.len())].clone();
                let (a, b, c, d) = (any(), any(), any(), any());
                let op = [
                    CmpOp::Lt,
                    CmpOp::Le,
                    CmpOp::Gt,
                    CmpOp::Ge,
                    CmpOp::Eq,
                    CmpOp::Ne,
                ][below(6)];
                let other = Elem::compare(CmpOp::Gt, c.clone(), b.clone());
                let both = [BinOp::And, BinOp::Or][below(2)];
                let condition = Elem::compare(op, a.clone(), b.clone());
                let truth = Elem::constant(Scalar::bool(below(2) == 0));
                let types = [ScalarType::U8, ScalarType::I8, ScalarType::U32];
                values.push(match below(8) {
                    7 => Elem::convert(TY, Elem::convert(types[below(3)], a)),
                    6 => Elem::select(Elem::select(condition, truth, other), c, d),
                    5 => Elem::select(Elem::select(condition, other, truth), c, d),
                    4 => Elem::select(Elem::not(Elem::binary(both, condition, other)), c, d),
                    0 => Elem::binary(BinOp::Maximum, a, b),
                    1 => Elem::binary(BinOp::Minimum, a, b),
                    2 => Elem::select(Elem::binary(both, condition, other), c, d),
                    _ => Elem::select(condition, c, d),
                });
            }
            found += usize::from(ends(values.last().unwrap()).is_some());
        }
        assert!(found > 50, "{found}");
    }
}
