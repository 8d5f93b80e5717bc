//! What a kernel leaves, compared with what its summary says.

use crate::canon;
use crate::cases::same_in_cases;
use crate::chain::{self, Contents, Leaf};
use crate::context::Context;
use crate::decode;
use crate::equal::{is_order_open, same};
use crate::exec::{Executor, State, Stuck};
use crate::loosened::Loosened;
use crate::places::{Place, begins_at_a_size, in_each_case, is_zero_where};
use crate::prove::Options;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::limit;
use tensorize_ir::loopir::Param;
use tensorize_ir::op::CmpOp;
use tensorize_ir::tensir::{self, Output, View, at, dim};

/// Shows that the final state is what the summary says.
pub(crate) fn compare(
    exec: &mut Executor,
    summary: &tensir::Function,
    state: &State,
    returned: Option<&ElemRef>,
    options: &Options,
) -> Result<Tier, Stuck> {
    let mut tier = options.best;
    let mut claimed = None;
    let mut stores: Vec<(&View, usize)> = Vec::new();
    for output in &summary.outputs {
        match output {
            Output::Return { value } => claimed = Some(*value),
            Output::Store { value, view } => stores.push((view, *value)),
        }
    }
    // An operator that reaches outside of an operand has no meaning there.
    let mut fresh = std::mem::take(&mut exec.ctx.fresh);
    let conditions = summary.side_conditions(&mut fresh);
    exec.ctx.fresh = fresh;
    for c in conditions {
        let mark = exec.ctx.mark();
        let position = arbitrary_position(&mut exec.ctx, &c.shape);
        let holds = exec.ctx.holds(&tensir::elem_at(&c.holds, &position));
        exec.ctx.forget(mark);
        if !holds {
            return stuck(format!(
                "in the summary, %{}: that {} could not be shown",
                c.node, c.why
            ));
        }
    }
    match (claimed, returned) {
        (None, None) => {}
        (Some(node), Some(value)) => {
            let mut fresh = std::mem::take(&mut exec.ctx.fresh);
            let expected = summary.element(node, &[], &mut fresh);
            exec.ctx.fresh = fresh;
            let what = "the returned value";
            let Some(reached) = same_at(&mut exec.ctx, value, &expected, tier, options) else {
                return stuck(not_shown(what));
            };
            if reached > tier {
                let why = Loosened::order(what.into(), 0, value);
                exec.loosened.push(why);
            }
            tier = reached;
        }
        (None, Some(_)) => return stuck("the summary leaves out the returned value"),
        (Some(_), None) => {
            return stuck("the summary returns a value, the kernel does not on every path");
        }
    }
    for (view, node) in &stores {
        let what = format!(
            "that {}[{}] is what the summary says",
            view.array, view.index
        );
        limit::working_on(what, 0);
        let Some(contents) = state.arrays.get(&view.array) else {
            return stuck(format!("the kernel has no array {}", view.array));
        };
        let shape = summary.nodes[*node].ty.shape.clone();
        let mark = exec.ctx.mark();
        let position = arbitrary_position(&mut exec.ctx, &shape);
        let index = at(&view.index, &position);
        let mut fresh = std::mem::take(&mut exec.ctx.fresh);
        let expected = summary.element(*node, &position, &mut fresh);
        exec.ctx.fresh = fresh;
        let what = format!("{}[{}]", view.array, view.index);
        let mut unread = None;
        let Executor { ctx, loosened, .. } = exec;
        let place = Place {
            index,
            value: expected,
            contents,
        };
        let shown = in_each_case(ctx, &place, &mut |ctx, place| {
            let found = match chain::read(ctx, &view.array, place.contents, &place.index) {
                Ok(found) => found,
                Err(why) => {
                    unread = Some(why.0);
                    return false;
                }
            };
            let Some(reached) = same_at(ctx, &found, &place.value, tier, options) else {
                return false;
            };
            if reached > tier {
                loosened.push(Loosened::order(what.clone(), 0, &found));
            }
            tier = tier.max(reached);
            true
        });
        if !shown {
            return stuck(unread.unwrap_or_else(|| not_shown(&what)));
        }
        exec.ctx.forget(mark);
    }
    let params: Vec<Sym> = exec
        .kernel
        .params
        .iter()
        .filter(|p| matches!(p, Param::Array { .. }))
        .map(|p| p.name().clone())
        .collect();
    for array in params {
        if let Some(contents) = state.arrays.get(&array) {
            nothing_else_changes(exec, summary, &array, contents, &stores)?;
        }
    }
    Ok(tier)
}

fn arbitrary_position(ctx: &mut Context, shape: &[Idx]) -> Vec<Idx> {
    shape
        .iter()
        .map(|extent| {
            let var = ctx.fresh.name("i");
            ctx.assume_in_range(&var, extent);
            Idx::sym(var)
        })
        .collect()
}

/// At which tier the two are the same, if they are at one that is no better than this.
fn same_at(
    ctx: &mut Context,
    found: &ElemRef,
    expected: &ElemRef,
    tier: Tier,
    options: &Options,
) -> Option<Tier> {
    let mut same = |tier| {
        if same(ctx, found, expected, tier) || same_in_cases(ctx, found, expected, tier) {
            return true;
        }
        let [found, expected] = [found, expected].map(|e| ctx.settle_with_places(&canon::elem(e)));
        same(ctx, &found, &expected, tier)
    };
    if tier == Tier::Exact && !is_order_open(found) && same(Tier::Exact) {
        return Some(Tier::Exact);
    }
    (options.worst == Tier::Real && same(Tier::Real)).then_some(Tier::Real)
}

fn not_shown(what: &str) -> String {
    format!("that {what} is what the summary says could not be shown")
}

/// Shows that every write of the kernel is at a place that the summary covers.
fn nothing_else_changes(
    exec: &mut Executor,
    summary: &tensir::Function,
    array: &Sym,
    contents: &Contents,
    stores: &[(&View, usize)],
) -> Result<(), Stuck> {
    for effect in &contents.effects {
        for leaf in effect.leaves() {
            let mark = exec.ctx.mark();
            for (var, extent) in &leaf.loops {
                exec.ctx.assume_in_range(var, extent);
            }
            for condition in canon::elem(leaf.cond).conjuncts() {
                exec.ctx.assume(condition.clone());
            }
            let mut covered = false;
            for (view, node) in stores.iter().filter(|(v, _)| v.array == *array) {
                let shape = &summary.nodes[*node].ty.shape;
                covered = covered || covers(&mut exec.ctx, view, shape, &leaf);
            }
            exec.ctx.forget(mark);
            if !covered {
                return stuck(format!(
                    "the kernel writes {array}[{}], which the summary leaves alone",
                    leaf.index
                ));
            }
        }
    }
    Ok(())
}

/// Whether the location is one of the view's, where the write happens.
fn covers(ctx: &mut Context, view: &View, shape: &[Idx], leaf: &Leaf) -> bool {
    let location = leaf.index;
    if shape.is_empty() {
        return is_zero_where(ctx, &(&view.index - location), leaf.cond);
    }
    let dims: Vec<(Sym, Idx)> = shape
        .iter()
        .enumerate()
        .map(|(i, n)| (dim(i), n.clone()))
        .collect();
    let Some(inside) = decode::is_among(ctx, &dims, &view.index, location) else {
        return false;
    };
    if ctx.holds(&inside) {
        return true;
    }
    let inside = canon::elem(&inside);
    let open: Vec<&ElemRef> = (inside.conjuncts().into_iter())
        .filter(|c| !ctx.holds(c))
        .collect();
    match open.as_slice() {
        [one] => {
            matches!(&***one, Elem::IndexCompare(CmpOp::Ge, a, b) if begins_at_a_size(ctx, &(a - b)))
        }
        _ => false,
    }
}

fn stuck<T>(what: impl Into<String>) -> Result<T, Stuck> {
    Err(Stuck {
        what: what.into(),
        line: 0,
    })
}
