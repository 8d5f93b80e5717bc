//! How far the data leads: the extent of an array whose indices are read from memory.
//!
//! What a gather `t[idx[k]]` touches is no polynomial over the sizes. Its end is one past the largest index,
//! as a fold over the index arrays, and the same fold for the smallest one is a guard that it is not negative.
//! Both are computed before a call, so they may read only what the kernel reads anyway.

mod asked;
mod known;

pub(crate) use self::known::Asked;

use self::asked::Rounds;
use crate::bound::bound;
use crate::context::Context;
use crate::exec::Access;
use crate::matching::is_under_fewer;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

/// One past the last element that the access reaches, if that can be computed before a call; then there is a
/// guard that it reaches none before the first. `all` are the accesses of the whole kernel.
pub(crate) fn end(ctx: &mut Context, access: &Access, all: &[Access]) -> Option<Idx> {
    let (first, end) = ends(ctx, access, all)?;
    // Where a 64-bit index is huge, its machine value is negative: the guard sees that, and a proof about
    // mathematical integers would not.
    if has_wide_values(&access.index) || !starts_at_zero(ctx, access) {
        ctx.guard(Guard::NonNegative(first));
    }
    Some(end)
}

/// The smallest index of the access or 0, and one past the largest one or 0, if that can be computed before a
/// call.
pub(crate) fn ends(ctx: &mut Context, access: &Access, all: &[Access]) -> Option<(Idx, Idx)> {
    let mut beyond_sizes = false;
    let trips = access.loops.iter().map(|(_, n)| n);
    for idx in trips.chain([&access.index]) {
        idx.for_each_value(&mut |e| beyond_sizes |= is_beyond_sizes(e));
    }
    if !beyond_sizes {
        return None;
    }
    // The same place may be touched under fewer conditions: then these decide, as in `if (x > m[g[i]]) m[g[i]] = x`, where
    // the write's own would be about what it changes.
    let access = all
        .iter()
        .filter(|a| is_under_fewer(a, access))
        .min_by_key(|a| a.path.len())
        .unwrap_or(access);
    let (last, first) = (
        furthest(ctx, access, all, true)?,
        furthest(ctx, access, all, false)?,
    );
    Some((first, &last + &Idx::constant(1)))
}

/// Whether the data, arithmetic on floats or a shift (`1 << bits`, `width >> by`) decides, and not a choice between sizes: that one
/// is better made a guard.
pub(crate) fn is_beyond_sizes(e: &ElemRef) -> bool {
    let mut any = false;
    e.visit(&mut |x| {
        any |= x.ty().is_float()
            || match &**x {
                Elem::Read { .. } => true,
                Elem::Binary(op, ..) => matches!(
                    op,
                    BinOp::ShiftLeft | BinOp::ShiftRightArithmetic | BinOp::ShiftRightLogical
                ),
                _ => false,
            }
    });
    any
}

fn starts_at_zero(ctx: &mut Context, access: &Access) -> bool {
    let mark = ctx.mark();
    for (var, extent) in &access.loops {
        ctx.assume_in_range(var, extent);
    }
    let holds = ctx.is_non_negative(&access.index);
    ctx.forget(mark);
    holds
}

fn has_wide_values(idx: &Idx) -> bool {
    let mut any = false;
    idx.for_each_value(&mut |e| any |= e.ty().bits() >= 64);
    any
}

/// The largest index and -1, or the smallest one and 0, over all rounds: no round at all has nothing to say.
fn furthest(ctx: &mut Context, access: &Access, all: &[Access], largest: bool) -> Option<Idx> {
    let mut index = access.index.clone();
    let mut outer = access.loops.len();
    while let Some((var, extent)) = access.loops[..outer].last() {
        let decides = access.path.iter().any(|c| c.mentions(var))
            || access.loops[outer..].iter().any(|(_, n)| n.mentions(var));
        if decides {
            break;
        }
        let last = [(var.clone(), extent.clone())];
        let end = match address(ctx, &index, &access.loops[..outer]) {
            Some(address) => end_of_addresses(ctx, &address, &last, largest),
            None if index.linear_in(var).is_some() => bound(ctx, &index, &last, largest),
            None => None,
        };
        let Some(end) = end else {
            break;
        };
        index = end;
        outer -= 1;
    }
    let (loops, entered) = access.loops.split_at(outer);
    let rounds = Rounds {
        loops,
        entered,
        path: &access.path,
    };
    let place = Elem::of_idx(NUMBER, index);
    let depths = rounds.read_what_the_kernel_reads(&place, all)?;
    let (op, none) = match largest {
        true => (BinOp::Maximum, -1),
        false => (BinOp::Minimum, 0),
    };
    let value = rounds.fold(ctx, &depths, none, false, |acc| {
        Elem::binary(op, acc.clone(), place)
    });
    Some(Idx::value(value))
}

/// The number that the index, counted in unsigned numbers as wide as addresses, is in every round of the loops if none
/// is too large for an `i64`.
fn address(ctx: &mut Context, index: &Idx, loops: &[(Sym, Idx)]) -> Option<Idx> {
    let Elem::Convert(NUMBER, of) = &**index.as_value()? else {
        return None;
    };
    let Elem::OfIdx(ADDRESS, address) = &**of else {
        return None;
    };
    let mark = ctx.mark();
    for (var, extent) in loops {
        ctx.assume_in_range(var, extent);
    }
    let most = Idx::constant(ADDRESS.max_value());
    // Then no round computes it modulo 2^64.
    let is_itself = ctx.is_non_negative(address) && ctx.is_non_negative(&(&most - address));
    ctx.forget(mark);
    is_itself.then(|| address.clone())
}

/// As [`bound`] of an [`address`], as the machine has it: the last one is negative if any is, and else none differs
/// from what it is as a number. So the smallest is either the first one or the last.
fn end_of_addresses(
    ctx: &mut Context,
    address: &Idx,
    loops: &[(Sym, Idx)],
    largest: bool,
) -> Option<Idx> {
    let mut end = |upper| {
        let end = bound(ctx, address, loops, upper)?;
        let machine = Elem::convert(NUMBER, Elem::of_idx(ADDRESS, end));
        Some(Idx::value(machine))
    };
    let last = end(true)?;
    match largest {
        true => Some(last),
        false => Some(end(false)?.minimum(&last)),
    }
}

/// The type in which C counts what memory holds.
const ADDRESS: ScalarType = ScalarType::U64;

/// The type of what is computed before a call.
const NUMBER: ScalarType = ScalarType::I64;

#[cfg(test)]
mod tests {
    use super::*;

    fn sym(name: &str) -> Sym {
        name.into()
    }

    #[test]
    fn an_address_is_a_number_unless_it_wraps() {
        let mut solver = crate::solver::Solver::new(crate::solver::find())
            .expect("Z3 4.13.3 or later; `cargo xtask setup` installs it");
        let sizes = [(sym("n"), ScalarType::U64)];
        let mut ctx = Context::new(&mut solver, sizes.into(), vec![]);
        let loops = [(sym("k"), Idx::sym(sym("n")))];
        let mut of = |p: &str| {
            let p: Idx = p.parse().unwrap();
            let machine = Elem::convert(NUMBER, Elem::of_idx(ADDRESS, p.clone()));
            let found = address(&mut ctx, &Idx::value(machine), &loops);
            assert!(found.is_none() || found == Some(p));
            found.is_some()
        };
        assert!(of("k"));
        assert!(of("n - k - 1"));
        assert!(!of("n + k"), "beyond the last of them");
        assert!(!of("k - 1"), "before the first");
    }
}
