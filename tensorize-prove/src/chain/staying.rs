//! Writes at places that stay, whatever the round is, beside others that move on with the rounds: force and counterforce,
//! `f[i] += t; f[j] -= t`. Where none of the ones is one of the others, it does not matter in which order they are made.

use super::{Effect, Leaf};
use crate::context::Context;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::CmpOp;

/// Whether none of these writes reaches a place that one of those reaches, whatever is known of the rounds.
pub fn never_meet(ctx: &mut Context, these: &[Effect], those: &[Effect]) -> bool {
    let mark = ctx.mark();
    let mut any_round = |leaf: Leaf| {
        let (loops, with) = leaf.any_round(&mut ctx.fresh);
        for (var, extent) in &loops {
            ctx.assume_in_range(var, extent);
        }
        leaf.index.substitute(&with)
    };
    let mut places = |all: &[Effect]| -> Vec<Idx> {
        let leaves = all.iter().flat_map(Effect::leaves);
        leaves.map(&mut any_round).collect()
    };
    let (these, those) = (places(these), places(those));
    let mut pairs = (these.iter()).flat_map(|a| those.iter().map(move |b| (a, b)));
    let apart = pairs.all(|(a, b)| ctx.proves(CmpOp::Ne, a, b));
    ctx.forget(mark);
    apart
}

/// Whether a write is at the same places whatever the round `k` is.
pub(crate) fn at_places_that_stay(leaves: &[Leaf], k: &Sym) -> bool {
    leaves
        .iter()
        .all(|leaf| !leaf.index.mentions(k) && leaf.loops.iter().all(|(_, n)| !n.mentions(k)))
}

/// The writes at places that stay, whatever the round `k` is, and the others; each in the loops in which it stands.
pub fn parted(effects: &[Effect], k: &Sym) -> [Vec<Effect>; 2] {
    let mut all = [vec![], vec![]];
    for effect in effects {
        let stays = at_places_that_stay(&effect.leaves(), k);
        match effect {
            Effect::Loop { var, extent, body } if !stays && !extent.mentions(k) => {
                let within = |body| Effect::Loop {
                    var: var.clone(),
                    extent: extent.clone(),
                    body,
                };
                let some = parted(body, k).into_iter().zip(&mut all);
                some.filter(|(body, _)| !body.is_empty())
                    .for_each(|(body, all)| all.push(within(body)));
            }
            _ => all[usize::from(!stays)].push(effect.clone()),
        }
    }
    all
}
