//! Which access of the original an access is: the same place, in some round, under conditions that hold.

use crate::canon;
use crate::cases;
use crate::chain::{self, Leaf, Retold, truth};
use crate::clamp::is_truth;
use crate::conditions::is_index_condition;
use crate::context::Context;
use crate::decode;
use crate::equal::same;
use crate::exec::Access;
use crate::going_on;
use crate::places::is_zero_where;
use crate::ring;
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::{Guard, Tier};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};

/// The round of each loop around an access.
type Round = BTreeMap<Sym, Idx>;

/// Whether the original makes an access to the same place whenever the generated code makes this one.
pub(crate) fn matched(ctx: &mut Context, g: &Access, original: &[Access]) -> bool {
    let mark = ctx.mark();
    assume(ctx, g);
    let found = candidates(g, original)
        .into_iter()
        .any(|o| implied(ctx, g, o) || by_places(ctx, o).is_some_and(|o| implied(ctx, g, &o)));
    ctx.forget(mark);
    found
}

/// The accesses of the original that this one may be. What is looked at before it is used, as in `if (x[i] > most) most = x[i];`,
/// is asked for under the conditions of the look alone.
fn candidates<'a>(g: &Access, original: &'a [Access]) -> Vec<&'a Access> {
    let of_array = |o: &&Access| o.array == g.array && (o.write || !g.write);
    let all: Vec<&Access> = original.iter().filter(of_array).collect();
    let weakest = |o: &&Access| !all.iter().any(|a| is_under_fewer(a, o));
    all.iter().copied().filter(weakest).collect()
}

/// Whether one access is to the same places of an array as the other one, in the same rounds, under some of its conditions.
pub(crate) fn is_under_fewer(a: &Access, o: &Access) -> bool {
    if a.array != o.array || a.index != o.index || a.loops != o.loops {
        return false;
    }
    let (some, all) = (said(&a.path), said(&o.path));
    some.len() < all.len() && some.iter().all(|c| all.contains(c))
}

/// What conditions say, each part of `a && b` by itself.
fn said(conditions: &[ElemRef]) -> Vec<&ElemRef> {
    let mut open: Vec<&ElemRef> = conditions.iter().collect();
    let mut all = Vec::new();
    while let Some(c) = open.pop() {
        match &**c {
            Elem::Select(a, b, no) if is_truth(no, false) => open.extend([a, b]),
            Elem::Binary(BinOp::And, a, b) => open.extend([a, b]),
            _ => all.push(c),
        }
    }
    all
}

/// The access in the order of its places, if it goes round.
fn by_places(ctx: &mut Context, a: &Access) -> Option<Access> {
    retold(a, |leaf| Some(ring::straight(ctx, leaf)?.write))
}

/// The access as what becomes of a write to its places.
fn retold(a: &Access, tell: impl FnOnce(&Leaf) -> Option<Retold>) -> Option<Access> {
    let path = a.path.iter().cloned().reduce(chain::and);
    let cond = path.unwrap_or_else(|| truth(true));
    let told = tell(&Leaf {
        loops: a.loops.clone(),
        cond: &cond,
        index: &a.index,
        value: &cond,
    })?;
    Some(Access {
        loops: told.loops,
        index: told.index,
        path: match &*told.cond {
            Elem::Const(v) if v.is_true() => vec![],
            _ => vec![told.cond],
        },
        ..a.clone()
    })
}

/// Whether the original makes an access to the same place whatever its data are, some accesses in one case and some
/// in another; or does so at least if loops run that say where it goes over and over: `c[i*n + j] += a[…]*b[…]` for
/// each `k < l` touches nothing if there is no `k`. The guards that it takes.
pub(crate) fn matched_in_cases(
    ctx: &mut Context,
    g: &Access,
    original: &[Access],
) -> Option<Vec<Guard>> {
    let mark = ctx.mark();
    assume(ctx, g);
    let found = candidates(g, original);
    let (mut conditions, mut guards) = (Vec::new(), vec![vec![]]);
    let (mut paths, mut of_indices) = (Vec::new(), Vec::new());
    for o in &found {
        // Those that say something in this round; any condition could be tried, so that it takes no guards.
        let saved = ctx.save();
        let round = round_of(ctx, g, o);
        ctx.restore(saved);
        let path = path_in(&round, o);
        let other = |v: &Sym| !g.loops.iter().any(|(own, _)| own == v);
        let speaks = |c: &ElemRef| !o.loops.iter().any(|(v, _)| other(v) && c.mentions(v));
        let said = path.iter().filter(|c| speaks(c));
        for c in said {
            cases::parts(c, &mut conditions);
            cases::index_parts(c, &mut of_indices);
        }
        paths.extend(path);
        let over_and_over = o.loops.iter().filter(|(v, _)| !o.index.mentions(v));
        let runs = over_and_over.map(|(_, n)| Guard::NonNegative(n - &Idx::constant(1)));
        let runs: Vec<Guard> = runs.collect();
        if o.loops.iter().all(|(_, n)| ctx.is_over_params(n)) && !guards.contains(&runs) {
            guards.push(runs);
        }
    }
    conditions.append(&mut of_indices);
    conditions.truncate(cases::MOST);
    let ends = going_on::found(&paths);
    let enough = guards.into_iter().find(|guards| {
        let saved = ctx.save();
        guards.iter().for_each(|guard| ctx.guard(guard.clone()));
        let enough = is_one_of(ctx, g, &found, &conditions)
            || ends.iter().any(|end| {
                end.in_both_cases(ctx, &counters(g), &mut |ctx| {
                    is_one_of(ctx, g, &found, &conditions)
                })
            });
        ctx.restore(saved);
        enough
    });
    ctx.forget(mark);
    enough
}

/// The rounds in which the original's access is at the place of `g`, as far as its index says.
fn round_of(ctx: &mut Context, g: &Access, o: &Access) -> Round {
    let says = o.loops.iter().filter(|(v, _)| o.index.mentions(v)).cloned();
    let says: Vec<(Sym, Idx)> = says.collect();
    let position = match says.is_empty() {
        true => None,
        false => decode::decode(ctx, &says, &o.index, &g.index),
    };
    let counters = says.into_iter().map(|(v, _)| v);
    counters.zip(position.unwrap_or_default()).collect()
}

/// The conditions of the access in these rounds.
fn path_in(round: &Round, a: &Access) -> Vec<ElemRef> {
    let there = |c: &ElemRef| c.substitute(&|s| round.get(s).cloned());
    a.path.iter().map(there).collect()
}

fn is_one_of(ctx: &mut Context, g: &Access, original: &[&Access], conditions: &[ElemRef]) -> bool {
    original.iter().any(|o| implied(ctx, g, o))
        || share_it(ctx, g, original)
        || conditions.split_first().is_some_and(|(condition, others)| {
            cases::in_both_cases(ctx, condition, &mut |ctx, _, _| {
                is_one_of(ctx, g, original, others)
            })
        })
}

/// Whether one of several accesses hits the place in any case: those of a loop that is unrolled, each of which
/// makes every fourth one.
fn share_it(ctx: &mut Context, g: &Access, original: &[&Access]) -> bool {
    let hits: Vec<ElemRef> = original.iter().filter_map(|o| hit(ctx, g, o)).collect();
    let any = |a, b| Elem::binary(BinOp::Or, a, b);
    hits.len() > 1 && hits.into_iter().reduce(any).is_some_and(|c| ctx.holds(&c))
}

/// Whether a place, where the data says one of the two, is that of an access, wherever that is made.
fn is_place_of(ctx: &mut Context, a: &Access, place: &Idx) -> bool {
    let distance = place - &a.index;
    let path = a.path.iter().cloned().reduce(chain::and);
    distance.has_values() && is_zero_where(ctx, &distance, &path.unwrap_or_else(|| truth(true)))
}

/// When `o` hits the place of `g`, by what indices say; `None` if there is no telling.
fn hit(ctx: &mut Context, g: &Access, o: &Access) -> Option<ElemRef> {
    let o = in_one_range(ctx, o);
    let (says, over_and_over): (Vec<_>, Vec<_>) = o
        .loops
        .iter()
        .cloned()
        .partition(|(v, _)| o.index.mentions(v));
    let is_shared = |l: &(Sym, Idx)| g.loops.contains(l);
    let counter = |l: &(Sym, Idx)| Idx::sym(l.0.clone());
    // In the very round in which `g` is, if both are in one.
    let place = match o.index == g.index && says.iter().all(is_shared) {
        true => says.iter().map(counter).collect(),
        false => decode::decode(ctx, &says, &o.index, &g.index)?,
    };
    // What happens over and over happens in that round, too, or in the first.
    let round = |l: &(Sym, Idx)| match is_shared(l) {
        true => counter(l),
        false => Idx::default(),
    };
    let first: Vec<Idx> = over_and_over.iter().map(round).collect();
    let (of_place, of_first) = (
        decode::at_position(&says, &place),
        decode::at_position(&over_and_over, &first),
    );
    let counters = o.loops.iter();
    let position: Option<Vec<Idx>> = counters.map(|(v, _)| of_place(v).or(of_first(v))).collect();
    let position = position?;
    let mut cond = decode::hits(&o.loops, &o.index, &position, &g.index);
    let with = decode::at_position(&o.loops, &position);
    for c in &o.path {
        let c = c.substitute(&with);
        if is_index_condition(&c) {
            cond = chain::and(cond, c);
        } else if !holds_on_data(ctx, &c) {
            return None;
        }
    }
    Some(cond)
}

/// From here on, the access is in a round, and its conditions hold, and what a guard says of such rounds.
pub(crate) fn assume(ctx: &mut Context, a: &Access) {
    for (var, extent) in &a.loops {
        ctx.assume_in_range(var, extent);
    }
    for condition in &a.path {
        ctx.assume(condition.clone());
    }
    let by_guards = ctx.said_by_guards(a);
    by_guards.into_iter().for_each(|inside| ctx.assume(inside));
    let mut said = a.path.clone();
    for (_, n) in &a.loops {
        n.for_each_value(&mut |e| said.push(e.clone()));
    }
    for going in going_on::found(&said) {
        going.assume(ctx, &counters(a));
    }
}

/// The counters of the loops around it.
fn counters(a: &Access) -> Vec<&Sym> {
    a.loops.iter().map(|(v, _)| v).collect()
}

/// The access with the loops over tiles and inside of a tile as one.
pub(crate) fn in_one_range(ctx: &mut Context, a: &Access) -> Access {
    let mut whole = a.clone();
    while let Some(merged) = retold(&whole, |leaf| Some(chain::tiles_merged(ctx, leaf)?.write)) {
        whole = merged;
    }
    whole
}

fn implied(ctx: &mut Context, g: &Access, o: &Access) -> bool {
    let o = &in_one_range(ctx, o);
    let (relevant, others): (Vec<_>, Vec<_>) = o
        .loops
        .iter()
        .cloned()
        .partition(|(v, _)| o.index.mentions(v));
    let counters = counters(g);
    let round = |loops: &[(Sym, Idx)], at: &[Idx]| -> Round {
        let names = loops.iter().map(|(v, _)| v.clone());
        names.zip(at.iter().cloned()).collect()
    };
    let mut rounds: Vec<Round> = Vec::new();
    if relevant.is_empty() {
        if ctx.proves(CmpOp::Eq, &o.index, &g.index) || is_place_of(ctx, g, &o.index) {
            rounds.push(Round::new());
        }
    } else if let Some(position) = decode::decode(ctx, &relevant, &o.index, &g.index) {
        rounds.push(round(&relevant, &position));
    } else {
        // Where the index says too little, as in one of an index or one that several counters share, positions
        // are found by trying.
        let mut tried = by_strides(&relevant, &o.index, &counters, &g.index);
        tried.extend(placements(relevant.len(), &counters));
        let tried = tried.iter().map(|p| round(&relevant, p));
        let solved = (0..relevant.len()).flat_map(|i| {
            let mut others = relevant.clone();
            let (last, _) = others.remove(i);
            let placed = placements(others.len(), &counters).into_iter();
            let rounds: Vec<Round> = placed
                .filter_map(|p| with_the_last(round(&others, &p), &last, &o.index, &g.index))
                .collect();
            rounds
        });
        let by_data = by_conditions(&Round::new(), &relevant, o, g);
        let by_data = by_data.into_iter().flat_map(|r| {
            let open = relevant.iter().filter(|(v, _)| !r.contains_key(v));
            let rounds = open.filter_map(|(v, _)| with_the_last(r.clone(), v, &o.index, &g.index));
            rounds.collect::<Vec<_>>()
        });
        let tried = tried.chain(solved).chain(by_data);
        let tried: Vec<Round> = tried.collect();
        rounds.extend(tried.into_iter().filter(|r| {
            let there = o.index.substitute(&|s| r.get(s).cloned());
            canon::idx(&(&there - &g.index)).is_zero() || is_place_of(ctx, g, &there)
        }));
    }
    rounds.into_iter().any(|r| {
        // Loops whose counter is not part of the place run anyway, or their first round will do; else it is the
        // round of a loop around here.
        let first = vec![Idx::default(); others.len()];
        let mut tried = vec![first];
        let matters = |v: &Sym| {
            o.path.iter().any(|c| c.mentions(v)) || o.loops.iter().any(|(_, n)| n.mentions(v))
        };
        if others.iter().any(|(v, _)| matters(v)) {
            tried.extend(placements(others.len(), &counters));
        }
        let mut rounds: Vec<Round> = (tried.iter())
            .map(|p| {
                let mut all = round(&others, p);
                all.extend(r.clone());
                all
            })
            .collect();
        rounds.extend(in_the_last(&r, &others, o));
        rounds.extend(by_conditions(&r, &others, o, g));
        rounds.iter().any(|r| implied_in(ctx, g, o, r))
    })
}

/// The round with the last one of the only loop whose counter is not known, where its rounds may stop.
fn in_the_last(round: &Round, open: &[(Sym, Idx)], o: &Access) -> Vec<Round> {
    let [(var, extent)] = open else {
        return vec![];
    };
    let ends = going_on::found(&path_in(round, o)).into_iter();
    let ends = ends.filter(|end| end.most == canon::idx(extent));
    ends.map(|end| {
        let mut all = round.clone();
        all.insert(var.clone(), end.rounds);
        all
    })
    .collect()
}

/// The rounds in which what the conditions of the original's access look at is what those of the other one do: `x[i]`, where
/// `h[j]` is read `if (x[i] != 0)`. One counter more is known then.
fn by_conditions(round: &Round, open: &[(Sym, Idx)], o: &Access, g: &Access) -> Vec<Round> {
    let reads = |a: &Access| {
        let mut found = Vec::new();
        for c in &a.path {
            c.visit(&mut |e| {
                if let Elem::Read { array, index, .. } = &**e {
                    found.push((array.clone(), index.clone()));
                }
            });
        }
        found
    };
    let (here, there) = (reads(o), reads(g));
    let mut rounds: Vec<Round> = Vec::new();
    for (var, _) in open {
        let alone =
            |i: &Idx| i.mentions(var) && open.iter().all(|(v, _)| v == var || !i.mentions(v));
        for (array, index) in here.iter().filter(|(_, i)| alone(i)) {
            for (_, place) in there.iter().filter(|(a, _)| a == array) {
                let found = with_the_last(round.clone(), var, index, place);
                rounds.extend(found.filter(|r| !rounds.contains(r)));
            }
        }
    }
    rounds
}

/// The round with the one counter that is not known yet such that `index` is at `place`: `j` of `x[i + j]` at `x[c]`.
fn with_the_last(mut round: Round, last: &Sym, index: &Idx, place: &Idx) -> Option<Round> {
    // The place's counters may go by the same names.
    let open: Sym = format!("{last}@open").into();
    let (step, rest) = index
        .substitute(&|s| match s == last {
            true => Some(Idx::sym(open.clone())),
            false => round.get(s).cloned(),
        })
        .linear_in(&open)?;
    let (steps, left) = decode::divide(&canon::idx(&(place - &rest)), &step);
    round.insert(last.clone(), steps);
    left.is_zero().then_some(round)
}

/// More ways than this are not looked at.
const MOST_BY_STRIDES: usize = 64;

/// The ways to take, for each loop, one of the counters that `place` has with the factor that `index` has the loop's with.
fn by_strides(loops: &[(Sym, Idx)], index: &Idx, counters: &[&Sym], place: &Idx) -> Vec<Vec<Idx>> {
    let strides: Vec<_> = counters.iter().map(|c| place.linear_in(c)).collect();
    let mut all: Vec<Vec<usize>> = vec![vec![]];
    for (var, _) in loops {
        let Some((stride, _)) = index.linear_in(var) else {
            return vec![];
        };
        let alike = |i: &usize| strides[*i].as_ref().is_some_and(|(s, _)| *s == stride);
        let longer = |p: &Vec<usize>| {
            let free = (0..counters.len()).filter(|i| alike(i) && !p.contains(i));
            free.map(|i| [p.clone(), vec![i]].concat())
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).take(MOST_BY_STRIDES).collect();
    }
    at_counters(all, counters)
}

fn at_counters(all: Vec<Vec<usize>>, counters: &[&Sym]) -> Vec<Vec<Idx>> {
    let of = |p: Vec<usize>| p.into_iter().map(|i| Idx::sym(counters[i].clone()));
    all.into_iter().map(|p| of(p).collect()).collect()
}

/// The ways to take `count` of the counters: in any order, or, where there are many, in the order they have.
fn placements(count: usize, counters: &[&Sym]) -> Vec<Vec<Idx>> {
    if count > counters.len() {
        return vec![];
    }
    if counters.len() > 5 {
        let in_order = counters.windows(count);
        return in_order
            .map(|w| w.iter().map(|v| Idx::sym((*v).clone())).collect())
            .collect();
    }
    let mut all: Vec<Vec<usize>> = vec![vec![]];
    for _ in 0..count {
        let longer = |p: &Vec<usize>| {
            let free = (0..counters.len()).filter(|i| !p.contains(i));
            free.map(|i| [p.clone(), vec![i]].concat())
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    at_counters(all, counters)
}

/// Whether `o` makes the access `g` in this round.
fn implied_in(ctx: &mut Context, g: &Access, o: &Access, round: &Round) -> bool {
    let with = |s: &Sym| round.get(s).cloned();
    let there = o.index.substitute(&with);
    let hits = canon::idx(&(&there - &g.index)).is_zero()
        || ctx.proves(CmpOp::Eq, &there, &g.index)
        || is_place_of(ctx, g, &there);
    let in_range = o.loops.iter().all(|(v, n)| {
        let (v, n) = (Idx::sym(v.clone()).substitute(&with), n.substitute(&with));
        ctx.is_non_negative(&v) && ctx.proves(CmpOp::Lt, &v, &n)
    });
    hits && in_range
        && o.path.iter().all(|c| {
            let c = c.substitute(&with);
            ctx.holds(&c) || holds_on_data(ctx, &c)
        })
}

/// Whether a condition on data holds here.
pub(crate) fn holds_on_data(ctx: &mut Context, c: &ElemRef) -> bool {
    let c = match &**c {
        Elem::Unary(UnOp::Not, inner) => {
            return same(ctx, inner, &truth(false), Tier::Exact);
        }
        _ => c,
    };
    same(ctx, c, &truth(true), Tier::Exact)
}
