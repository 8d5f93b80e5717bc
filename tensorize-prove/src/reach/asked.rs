//! What guards ask of the data in every round of some loops, before a call: they read no more than the kernel does.

use super::known::Asked;
use super::{NUMBER, has_wide_values};
use crate::chain::{self, Leaf};
use crate::context::Context;
use crate::exec::{Access, Executor};
use std::collections::BTreeMap;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// The rounds in which an index is computed: `loops` run, of the ones inside of them only the last (or first)
/// round counts, if there is any, and then the conditions hold.
pub(super) struct Rounds<'a> {
    pub(super) loops: &'a [(Sym, Idx)],
    pub(super) entered: &'a [(Sym, Idx)],
    pub(super) path: &'a [ElemRef],
}

impl Executor<'_, '_> {
    /// Makes it a guard that `p`, which the data says, is a value of the type in every round of the loops around
    /// here: that arithmetic in this type does not wrap. Generated code needs that where the original, in C, has
    /// no such arithmetic or leaves it undefined. What follows here is one round of what the guard says of all.
    pub(crate) fn fits_in_every_round(&mut self, ty: ScalarType, p: &Idx) -> bool {
        if !p.has_values() || !ty.is_signed() {
            return false;
        }
        // Far enough from the ends of 64 bits for the check itself.
        let limit = Idx::constant(ty.max_value().min(1 << 62));
        let inside = chain::and(
            Elem::index_compare(CmpOp::Ge, p.clone(), -&limit),
            Elem::index_compare(CmpOp::Le, p.clone(), limit),
        );
        self.holds_in_every_round(&inside)
    }

    /// Whether a round that is run now may be the last one of a loop: a guard on the data of all its rounds would look at what
    /// the kernel never gets to.
    fn may_stop(&self) -> bool {
        self.stops > 0
    }

    /// Makes it a guard that this, which the data says, holds in every round of the loops around here.
    pub fn holds_in_every_round(&mut self, condition: &ElemRef) -> bool {
        let rounds = Rounds {
            loops: &self.loops,
            entered: &[],
            path: &self.path,
        };
        // What an oracle tries out is proven later.
        let is_asked = |ctx: &mut Context| rounds.asked(ctx, condition, &self.accesses);
        if self.may_stop() || self.checking && !is_asked(&mut self.ctx) {
            return false;
        }
        self.ctx.assume(condition.clone());
        true
    }

    /// Makes it a guard that this holds in every round of the loops around here, where the original ends in the first round
    /// in which it does not, and reads nothing any more. So nothing else is read before this is known: there is one such
    /// guard, of one condition or of several of the same rounds, asked before all that is asked of data besides, about places
    /// that the sizes say. How far what is touched in these rounds may reach, it says, too.
    pub(crate) fn ends_in_no_round(&mut self, condition: &ElemRef) -> bool {
        if self.may_stop() {
            return false;
        }
        if self.checking {
            let rounds = Rounds {
                loops: &self.loops,
                entered: &[],
                path: &self.path,
            };
            let said = [condition].into_iter().chain(&self.path);
            let by_sizes = said.clone().all(is_at_places_by_sizes)
                && self.loops.iter().all(|(_, n)| !n.has_values());
            let Some(depths) =
                (rounds.read_what_the_kernel_reads(condition, &self.accesses)).filter(|_| by_sizes)
            else {
                return false;
            };
            let guard = rounds.holds(&mut self.ctx, &depths, condition, true);
            if !self.ctx.guard_first(guard) {
                return false;
            }
            self.ctx.asked.push(Asked {
                loops: self.loops.clone(),
                entered: Vec::new(),
                path: self.path.clone(),
                inside: condition.clone(),
            });
        }
        self.ctx.assume(condition.clone());
        true
    }

    /// Makes it a guard that a write, with its own loops and conditions in a round of those around here, is where
    /// `inside` says, whenever it is made.
    pub(crate) fn asked_of_data(&mut self, leaf: &Leaf, inside: &ElemRef) -> bool {
        if self.may_stop() {
            return false;
        }
        let parts = |c: &ElemRef| -> Vec<ElemRef> {
            let all = c.conjuncts().into_iter().cloned();
            all.filter(|c| *c != chain::truth(true)).collect()
        };
        let mut path = self.path.clone();
        path.extend(parts(leaf.cond));
        // What is so by the sizes alone need not be asked of the data.
        let mark = self.ctx.mark();
        for (v, n) in &leaf.loops {
            self.ctx.assume_in_range(v, n);
        }
        let mut open = parts(inside);
        open.retain(|c| c.indices().into_iter().any(has_wide_values) || !self.ctx.holds(c));
        self.ctx.forget(mark);
        let in_all_rounds = |c: &ElemRef| !leaf.loops.iter().any(|(v, _)| c.mentions(v));
        let mut said = open.iter().chain(&path);
        if !said.all(in_all_rounds) || !open.iter().all(has_values) {
            return false;
        }
        let Some(inside) = open.into_iter().reduce(chain::and) else {
            return true;
        };
        let rounds = Rounds {
            loops: &self.loops,
            entered: &leaf.loops,
            path: &path,
        };
        if !rounds.asked(&mut self.ctx, &inside, &self.accesses) {
            return false;
        }
        self.ctx.asked.push(Asked {
            loops: self.loops.clone(),
            entered: leaf.loops.iter().map(|(_, n)| n.clone()).collect(),
            path,
            inside,
        });
        true
    }
}

/// Whether all places that it looks at are said by sizes and counters.
fn is_at_places_by_sizes(e: &ElemRef) -> bool {
    let mut all = true;
    e.visit(&mut |x| all &= !has_values(x));
    all
}

/// Whether the condition is about what stands in memory, at places that it names by numbers.
fn has_values(c: &ElemRef) -> bool {
    c.indices().into_iter().any(Idx::has_values)
}

/// Whether that is so of each read that a value takes in a round, and of the conditions under which it is made: those that are
/// known of the round, and those in the value.
fn each_read_is(
    e: &ElemRef,
    known: &[ElemRef],
    is: &mut dyn FnMut(&Sym, &Idx, &[ElemRef]) -> bool,
) -> bool {
    match &**e {
        Elem::Select(c, a, b) => {
            let mut under = |way: &ElemRef, c: ElemRef| {
                let known = [known, &[c]].concat();
                each_read_is(way, &known, is)
            };
            under(a, c.clone()) && under(b, Elem::not(c.clone())) && each_read_is(c, known, is)
        }
        Elem::Read { array, index, .. } if !is(array, index, known) => false,
        // Its own rounds are not among the loops; and what is accumulated is known in a round only.
        Elem::Fold(_) | Elem::Acc(..) => false,
        _ => {
            let mut all = true;
            for index in e.indices() {
                index.for_each_value(&mut |v| all &= each_read_is(v, known, is));
            }
            all && (e.children().into_iter()).all(|e| each_read_is(e, known, is))
        }
    }
}

impl Rounds<'_> {
    /// The conditions that hold in all rounds or in none, by the sizes alone, and the others.
    fn conditions(&self) -> (Vec<&ElemRef>, Vec<&ElemRef>) {
        let around = || self.loops.iter().chain(self.entered);
        let before_all = |c: &&ElemRef| {
            let mut from_memory = false;
            c.visit(&mut |x| {
                from_memory |= matches!(&**x, Elem::Read { .. } | Elem::Fold(_) | Elem::Acc(..))
            });
            !from_memory && !around().any(|(v, _)| c.mentions(v))
        };
        self.path.iter().partition(before_all)
    }

    /// What `step` makes of `init` in all rounds, one after the other, the conditions on data each that deep in the loops.
    pub(super) fn fold(
        &self,
        ctx: &mut Context,
        depths: &[usize],
        init: i128,
        ends: bool,
        step: impl FnOnce(&ElemRef) -> ElemRef,
    ) -> ElemRef {
        let init = Elem::constant(Scalar::int(NUMBER, init));
        let accs: Vec<Sym> = self.loops.iter().map(|_| ctx.fresh.name("far")).collect();
        let holds = |acc: Option<&Sym>| match acc {
            Some(name) => Arc::new(Elem::Acc(name.clone(), NUMBER)),
            None => init.clone(),
        };
        let so_far = holds(accs.last());
        let (before_all, others) = self.conditions();
        // One after the other, as in the kernel: what a condition guards is read only where it holds.
        let where_they_hold = |depth: usize, value: ElemRef, otherwise: &ElemRef| {
            let here = others.iter().zip(depths).filter(|(_, d)| **d == depth);
            here.rev().fold(value, |value, (c, _)| {
                Elem::select((*c).clone(), value, otherwise.clone())
            })
        };
        let innermost = self.loops.len() + self.entered.len();
        let mut value = where_they_hold(innermost, step(&so_far), &so_far);
        for (i, (_, n)) in self.entered.iter().enumerate().rev() {
            let runs = Elem::index_compare(CmpOp::Gt, n.clone(), Idx::default());
            value = Elem::select(runs, value, so_far.clone());
            value = where_they_hold(self.loops.len() + i, value, &so_far);
        }
        for (i, (var, extent)) in self.loops.iter().enumerate().rev() {
            let init = holds(i.checked_sub(1).map(|outer| &accs[outer]));
            value = match value.mentions(var) {
                true => {
                    let (acc, var) = (accs[i].clone(), var.clone());
                    if ends {
                        let so_far = holds(Some(&acc));
                        let zero = Elem::constant(Scalar::int(NUMBER, 0));
                        let ended = Elem::compare(CmpOp::Lt, so_far.clone(), zero);
                        value = Elem::select(ended, so_far, value);
                    }
                    let fold = Fold::new(acc, var, extent.clone(), init.clone(), value);
                    Arc::new(Elem::Fold(Arc::new(fold)))
                }
                // All rounds say the same, if there is one. (What a round assumes of itself is not known at a call.)
                false => {
                    let of_one = BTreeMap::from([(accs[i].clone(), init.clone())]);
                    let once = value.replace_accs(&of_one);
                    let one = Idx::constant(1);
                    match ctx.guards().contains(&Guard::NonNegative(extent - &one)) {
                        true => once,
                        false => {
                            let any = Elem::index_compare(CmpOp::Ge, extent.clone(), one);
                            Elem::select(any, once, init.clone())
                        }
                    }
                }
            };
            value = where_they_hold(i, value, &init);
        }
        for condition in before_all.into_iter().rev() {
            value = Elem::select(condition.clone(), value, init.clone());
        }
        value
    }

    /// Makes it a guard that the condition holds in all rounds, if that can be computed before a call.
    fn asked(&self, ctx: &mut Context, inside: &ElemRef, all: &[Access]) -> bool {
        let Some(depths) = self.read_what_the_kernel_reads(inside, all) else {
            return false;
        };
        let guard = self.holds(ctx, &depths, inside, false);
        ctx.guard(guard);
        true
    }

    /// That the condition holds in all rounds. If it `ends` the original where it doesn't, no later round is looked at.
    fn holds(&self, ctx: &mut Context, depths: &[usize], inside: &ElemRef, ends: bool) -> Guard {
        let value = self.fold(ctx, depths, 0, ends, |acc| {
            let outside = Elem::constant(Scalar::int(NUMBER, -1));
            Elem::select(inside.clone(), acc.clone(), outside)
        });
        Guard::NonNegative(Idx::value(value))
    }

    /// How deep in the loops each of the conditions on data can be looked at, if the kernel makes every read that it takes to
    /// compute the value, the trip counts and the conditions, in the same rounds and under no more conditions.
    pub(super) fn read_what_the_kernel_reads(
        &self,
        value: &ElemRef,
        all: &[Access],
    ) -> Option<Vec<usize>> {
        let around: Vec<&(Sym, Idx)> = self.loops.iter().chain(self.entered).collect();
        // Of a place that doesn't depend on its counter, a loop that runs as often will do.
        let is_around = |l: &(Sym, Idx), index: &Idx, depth: usize| {
            let as_often = |(_, n): &&(Sym, Idx)| !index.mentions(&l.0) && *n == l.1;
            around[..depth].contains(&l) || around[..depth].iter().any(as_often)
        };
        let (before_all, others) = self.conditions();
        let is_made = |e: &ElemRef, depth: usize, conditions: usize| {
            let known = before_all.iter().chain(&others[..conditions]);
            let known: Vec<ElemRef> = known.map(|c| (*c).clone()).collect();
            each_read_is(e, &known, &mut |array, index, known| {
                all.iter().any(|a| {
                    a.array == *array
                        && a.index == *index
                        && !a.write
                        && a.loops.iter().all(|l| is_around(l, index, depth))
                        && a.path.iter().all(|c| known.contains(c))
                })
            })
        };
        let idx = |i: &Idx, depth: usize, conditions: usize| {
            let mut ok = true;
            i.for_each_value(&mut |e| ok &= is_made(e, depth, conditions));
            ok
        };
        // Before the loops that a condition guards, as far as it is known there: how often those run may be for it to say.
        let mut depths: Vec<usize> = Vec::new();
        for (i, c) in others.iter().enumerate() {
            let known =
                |d: &usize| !around[*d..].iter().any(|(v, _)| c.mentions(v)) && is_made(c, *d, i);
            let least = depths.last().copied().unwrap_or_default();
            depths.push((least..=around.len()).find(known)?);
        }
        let before = |depth: usize| depths.iter().filter(|d| **d <= depth).count();
        let trips = around.iter().enumerate();
        let ok = is_made(value, around.len(), others.len())
            && trips.into_iter().all(|(i, (_, n))| idx(n, i, before(i)));
        ok.then_some(depths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sym(name: &str) -> Sym {
        name.into()
    }

    fn rounds(name: &str, times: &str) -> (Sym, Idx) {
        (sym(name), Idx::sym(sym(times)))
    }

    /// Whether, in `n` rounds of `j` under `path`, `k[at]` may be read, which the kernel reads in `loops` under `kernels`.
    fn may_be_read(at: &Idx, loops: &[(Sym, Idx)], path: &[ElemRef], kernels: &[ElemRef]) -> bool {
        may_be_computed(&read(at), at, loops, path, kernels)
    }

    fn read(at: &Idx) -> ElemRef {
        Elem::read("k", ScalarType::I32, at.clone())
    }

    /// The same of a value that takes that.
    fn may_be_computed(
        value: &ElemRef,
        at: &Idx,
        loops: &[(Sym, Idx)],
        path: &[ElemRef],
        kernels: &[ElemRef],
    ) -> bool {
        let access = Access {
            array: sym("k"),
            index: at.clone(),
            loops: loops.to_vec(),
            path: kernels.to_vec(),
            write: false,
        };
        let own = Rounds {
            loops: &[rounds("j", "n")],
            entered: &[],
            path,
        };
        own.read_what_the_kernel_reads(value, &[access]).is_some()
    }

    #[test]
    fn a_guard_reads_in_rounds_in_which_the_kernel_reads() {
        let (j, first) = (Idx::sym(sym("j")), Idx::default());
        assert!(may_be_read(&j, &[rounds("j", "n")], &[], &[]));
        assert!(may_be_read(&first, &[], &[], &[]));
        // Its own counter doesn't matter to the place: it is read if there is any round.
        assert!(may_be_read(&first, &[rounds("i", "n")], &[], &[]));
        assert!(!may_be_read(&first, &[rounds("i", "m")], &[], &[]));
        assert!(!may_be_read(&j, &[rounds("j", "m")], &[], &[]));
        let i = Idx::sym(sym("i"));
        assert!(!may_be_read(&i, &[rounds("i", "n")], &[], &[]));
    }

    #[test]
    fn a_guard_reads_under_the_conditions_of_the_kernel() {
        let first = Idx::default();
        let c = Elem::index_compare(CmpOp::Gt, Idx::sym(sym("flag")), Idx::default());
        let conditions = std::slice::from_ref(&c);
        assert!(may_be_read(&first, &[], conditions, conditions));
        assert!(may_be_read(&first, &[], conditions, &[]));
        assert!(!may_be_read(&first, &[], &[], conditions));
        // Those of the value itself say which side of it is computed.
        let zero = Elem::constant(Scalar::int(ScalarType::I32, 0));
        let may = |value: ElemRef, under: &ElemRef| {
            may_be_computed(&value, &first, &[], &[], std::slice::from_ref(under))
        };
        let [where_it_holds, elsewhere] = [
            Elem::select(c.clone(), read(&first), zero.clone()),
            Elem::select(c.clone(), zero.clone(), read(&first)),
        ];
        let not = Elem::not(c.clone());
        assert!(may(where_it_holds.clone(), &c) && may(elsewhere.clone(), &not));
        assert!(!may(where_it_holds, &not) && !may(elsewhere, &c));
        let looked_at = Elem::compare(CmpOp::Lt, read(&first), zero.clone());
        let one = Elem::constant(Scalar::int(ScalarType::I32, 1));
        let in_the_condition = Elem::select(looked_at.clone(), one, zero);
        assert!(!may(in_the_condition, &looked_at));
    }

    /// How often is read, too, and under a condition on the sizes: that comes first.
    #[test]
    fn how_often_is_read_under_the_conditions_on_sizes() {
        let often = Elem::read("often", ScalarType::I32, Idx::default());
        let around = [(sym("j"), Idx::value(often.clone()))];
        let c = Elem::index_compare(CmpOp::Gt, Idx::sym(sym("flag")), Idx::default());
        let data = Elem::compare(
            CmpOp::Gt,
            often.clone(),
            Elem::constant(Scalar::int(ScalarType::I32, 7)),
        );
        let under = |kernels: &[ElemRef], path: &[ElemRef]| {
            let read = |array: &str, index: Idx, loops: &[(Sym, Idx)]| Access {
                array: sym(array),
                index,
                loops: loops.to_vec(),
                path: kernels.to_vec(),
                write: false,
            };
            let j = Idx::sym(sym("j"));
            let all = [
                read("often", Idx::default(), &[]),
                read("k", j.clone(), &around),
            ];
            let own = Rounds {
                loops: &around,
                entered: &[],
                path,
            };
            own.read_what_the_kernel_reads(&Elem::read("k", ScalarType::I32, j), &all)
                .is_some()
        };
        let one = std::slice::from_ref;
        assert!(under(&[], &[]));
        assert!(under(one(&c), one(&c)));
        assert!(!under(one(&c), &[]));
        // What memory says stands within the rounds.
        assert!(!under(one(&data), one(&data)));
    }

    /// A condition that the kernel looks at outside of a loop that memory says the length of stands there in a guard, too; one
    /// that it looks at inside stands inside.
    #[test]
    fn conditions_stand_as_deep_as_the_kernel_looks_at_them() {
        let often = Elem::read("often", ScalarType::I32, Idx::sym(sym("i")));
        let (outer, inner) = (rounds("i", "n"), (sym("j"), Idx::value(often)));
        let flag = |at: &str| {
            let value = Elem::read("flag", ScalarType::I32, Idx::sym(sym(at)));
            Elem::compare(
                CmpOp::Gt,
                value,
                Elem::constant(Scalar::int(ScalarType::I32, 0)),
            )
        };
        let read = |array: &str, at: &str, loops: &[&(Sym, Idx)], path: &[ElemRef]| Access {
            array: sym(array),
            index: Idx::sym(sym(at)),
            loops: loops.iter().map(|l| (*l).clone()).collect(),
            path: path.to_vec(),
            write: false,
        };
        let depths = |condition: &ElemRef, all: &[Access]| {
            let own = Rounds {
                loops: &[outer.clone(), inner.clone()],
                entered: &[],
                path: std::slice::from_ref(condition),
            };
            let value = Elem::read("k", ScalarType::I32, Idx::sym(sym("j")));
            own.read_what_the_kernel_reads(&value, all)
        };
        let both = [&outer, &inner];
        let (by_row, by_entry) = (flag("i"), flag("j"));
        let under = std::slice::from_ref::<ElemRef>;
        let before = [
            read("flag", "i", &[&outer], &[]),
            read("often", "i", &[&outer], under(&by_row)),
            read("k", "j", &both, under(&by_row)),
        ];
        assert_eq!(depths(&by_row, &before), Some(vec![1]));
        let inside = [
            read("often", "i", &[&outer], &[]),
            read("flag", "i", &both, &[]),
            read("k", "j", &both, under(&by_row)),
        ];
        assert_eq!(depths(&by_row, &inside), Some(vec![2]));
        // How often is read under a condition that only the loop's own rounds know.
        let never = [
            read("flag", "j", &both, &[]),
            read("often", "i", &[&outer], under(&by_entry)),
            read("k", "j", &both, under(&by_entry)),
        ];
        assert_eq!(depths(&by_entry, &never), None);
    }
}
