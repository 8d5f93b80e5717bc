//! Divisions and shifts that C leaves undefined.

use crate::chain::{self, truth};
use crate::context::Context;
use crate::equal::same;
use crate::eval::index_like;
use crate::exec::{Hazard, Stuck};
use crate::matching::holds_on_data;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Shows that generated code divides and shifts by nothing that C leaves undefined: it is ruled out by the
/// conditions at hand, or the original does the same under conditions that hold then, too.
pub fn no_new_hazards(
    ctx: &mut Context,
    generated: &[Hazard],
    original: &[Hazard],
) -> Result<(), Stuck> {
    for g in generated {
        let mark = ctx.mark();
        for (var, extent) in &g.loops {
            ctx.assume_in_range(var, extent);
        }
        for condition in &g.path {
            ctx.assume(condition.clone());
        }
        let defined = defined(g);
        let ok = ctx.holds(&defined)
            || same(ctx, &defined, &truth(true), Tier::Exact)
            || original.iter().any(|o| same_hazard(ctx, g, o));
        ctx.forget(mark);
        if !ok {
            return Err(Stuck {
                what: format!(
                    "the generated code computes {}({}, {}), which may be undefined where the original does not",
                    g.op, g.left, g.right
                ),
                line: 0,
            });
        }
    }
    Ok(())
}

/// The condition under which C defines the operation.
fn defined(h: &Hazard) -> ElemRef {
    let ty = h.left.ty();
    let number = |v: i128| Elem::constant(Scalar::int(ty, v));
    if !matches!(h.op, BinOp::Divide | BinOp::Remainder) {
        let unsigned = |e: &ElemRef| Elem::convert(unsigned(ty), e.clone());
        return Elem::compare(
            CmpOp::Lt,
            unsigned(&h.right),
            unsigned(&number(ty.bits().into())),
        );
    }
    // Of sizes and counters as mathematical integers, so that guards speak of them.
    let compare = |op, a: &ElemRef, b: ElemRef| match (index_like(a), index_like(&b)) {
        (Some(p), Some(q)) => Elem::index_compare(op, p, q),
        _ => Elem::compare(op, a.clone(), b),
    };
    let not_zero = compare(CmpOp::Ne, &h.right, number(0));
    if !ty.is_signed() {
        return not_zero;
    }
    let overflows = chain::and(
        compare(CmpOp::Eq, &h.left, number(ty.min_value())),
        compare(CmpOp::Eq, &h.right, number(-1)),
    );
    chain::and(not_zero, Elem::not(overflows))
}

fn unsigned(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::I8 => ScalarType::U8,
        ScalarType::I16 => ScalarType::U16,
        ScalarType::I32 => ScalarType::U32,
        ScalarType::I64 => ScalarType::U64,
        other => other,
    }
}

/// Whether the original does the same: in the rounds of its loops that are those of some of the generated ones, in their
/// order, or that data has the numbers of, as where it makes a table of what is looked up later. What it computes once, before a
/// loop, has none.
fn same_hazard(ctx: &mut Context, g: &Hazard, o: &Hazard) -> bool {
    if g.op != o.op || g.left.ty() != o.left.ty() {
        return false;
    }
    let mut by_data = Vec::new();
    for e in [&g.left, &g.right] {
        e.visit(&mut |x| {
            if matches!(&**x, Elem::Read { ty, .. } if ty.is_int()) {
                by_data.push(Idx::value(x.clone()));
            }
            for idx in x.indices() {
                idx.for_each_value(&mut |v| by_data.push(Idx::value(v.clone())));
            }
        });
    }
    by_data.sort_unstable();
    by_data.dedup();
    in_rounds(ctx, g, o, 0, &by_data, &mut Vec::new())
}

/// The same, where the original's outermost loops are in the rounds of the numbers in `chosen`, and those of the generated ones
/// from number `next` on are left.
fn in_rounds(
    ctx: &mut Context,
    g: &Hazard,
    o: &Hazard,
    next: usize,
    by_data: &[Idx],
    chosen: &mut Vec<Idx>,
) -> bool {
    let Some((_, extent)) = o.loops.get(chosen.len()) else {
        return in_these_rounds(ctx, g, o, chosen);
    };
    let extent = &extent.substitute(&numbers(o, chosen));
    let mut rounds: Vec<(Idx, usize)> = (next..g.loops.len())
        .map(|i| (Idx::sym(g.loops[i].0.clone()), i + 1))
        .collect();
    rounds.extend(by_data.iter().map(|number| (number.clone(), next)));
    rounds.into_iter().any(|(number, next)| {
        if !ctx.is_non_negative(&number) || !ctx.proves(CmpOp::Lt, &number, extent) {
            return false;
        }
        chosen.push(number);
        let found = in_rounds(ctx, g, o, next, by_data, chosen);
        chosen.pop();
        found
    })
}

/// The numbers of rounds for the counters of a hazard's loops.
fn numbers<'a>(o: &'a Hazard, chosen: &'a [Idx]) -> impl Fn(&Sym) -> Option<Idx> + 'a {
    move |s| {
        let mut pairs = o.loops.iter().zip(chosen);
        pairs.find_map(|((v, _), number)| (v == s).then(|| number.clone()))
    }
}

fn in_these_rounds(ctx: &mut Context, g: &Hazard, o: &Hazard, chosen: &[Idx]) -> bool {
    let with = numbers(o, chosen);
    same(ctx, &o.left.substitute(&with), &g.left, Tier::Exact)
        && same(ctx, &o.right.substitute(&with), &g.right, Tier::Exact)
        && o.path.iter().all(|c| {
            let c = c.substitute(&with);
            ctx.holds(&c) || holds_on_data(ctx, &c)
        })
}
