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
/// order. What it computes once, before a loop, has none.
fn same_hazard(ctx: &mut Context, g: &Hazard, o: &Hazard) -> bool {
    let alike = g.op == o.op && g.left.ty() == o.left.ty();
    alike && in_rounds(ctx, g, o, &mut Vec::new())
}

/// The same, where the generated loops of the numbers in `chosen` are the original's outermost ones.
fn in_rounds(ctx: &mut Context, g: &Hazard, o: &Hazard, chosen: &mut Vec<usize>) -> bool {
    if chosen.len() == o.loops.len() {
        return in_these_rounds(ctx, g, o, chosen);
    }
    let next = chosen.last().map_or(0, |last| last + 1);
    let others = o.loops.len() - chosen.len() - 1;
    (next..g.loops.len().saturating_sub(others)).any(|i| {
        chosen.push(i);
        let found = in_rounds(ctx, g, o, chosen);
        chosen.pop();
        found
    })
}

fn in_these_rounds(ctx: &mut Context, g: &Hazard, o: &Hazard, chosen: &[usize]) -> bool {
    let counters = || chosen.iter().map(|i| &g.loops[*i].0);
    let with = |s: &Sym| {
        let mut pairs = o.loops.iter().zip(counters());
        pairs.find_map(|((v, _), g)| (v == s).then(|| Idx::sym(g.clone())))
    };
    o.loops
        .iter()
        .zip(counters())
        .all(|((_, n), v)| ctx.proves(CmpOp::Lt, &Idx::sym(v.clone()), &n.substitute(&with)))
        && same(ctx, &o.left.substitute(&with), &g.left, Tier::Exact)
        && same(ctx, &o.right.substitute(&with), &g.right, Tier::Exact)
        && o.path.iter().all(|c| {
            let c = c.substitute(&with);
            ctx.holds(&c) || holds_on_data(ctx, &c)
        })
}
