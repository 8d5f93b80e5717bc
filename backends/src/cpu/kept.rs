//! Values that are kept: what a loop would compute again in each of its rounds, or several loops would, is computed once,
//! into memory of the function's own or into a result that holds just that.
//!
//! In `d[i, j] = Σₖ (Σₗ a[i, l] · b[l, k]) · c[k, j]` the inner sum does not look at `j`, and stands in a loop over `k`
//! inside of the one over `j`: as a term it would take four loops, kept it takes three.

use super::entries::{ENTRIES, Entry};
use super::nest::{Nest, STEMS, Stored, Target, reads_any};
use super::running::{grows_or_shrinks, in_passes, runs};
use super::scatter::{rounds, staged};
use super::search::searched;
use super::term::{canonical, contains_fold};
use super::wait::Memory;
use crate::names::Names;
use crate::scatter::writes;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

/// A fold of no more rounds than this is computed again: memory costs as much.
const SHORT: i128 = 4;

/// No more values than this are kept.
const MOST: usize = 8;

/// Of more terms than this, none is kept: each is compared with every other one.
const MOST_TERMS: usize = 64;

/// The same returned value and nests, those that compute what is kept, and the arrays that are to be written before they
/// are read.
pub(super) struct Kept {
    pub(super) ret: Option<ElemRef>,
    pub(super) nests: Vec<Nest>,
    pub(super) memory: Vec<Memory>,
    pub(super) own: Vec<Sym>,
}

/// Keeps what is worth it; each nest has one result. With `names` for it, memory may be asked for.
pub(super) fn kept(ret: Option<&ElemRef>, nests: &[Nest], mut names: Option<Names>) -> Kept {
    let mut all = Kept {
        ret: ret.cloned(),
        nests: nests.to_vec(),
        memory: Vec::new(),
        own: Vec::new(),
    };
    while all.own.len() < MOST
        && let Some(value) = worth_keeping(&all, names.is_some())
    {
        let (place, written) = match all.result(&value) {
            Some(result) => (result, None),
            None => {
                let name = names.as_mut().map(|names| names.fresh("kept").into());
                let Some((memory, nest)) = name.and_then(|name| value.memory(name)) else {
                    break;
                };
                all.memory.push(memory);
                (nest.results[0].clone(), Some(nest))
            }
        };
        for nest in &mut all.nests {
            let loops = loops_of(nest);
            for t in &mut nest.results {
                // What computes it goes on to do so.
                if t.array != place.array {
                    let taken = value.taken_from(&place, &t.value, &loops);
                    *t = t.with(t.index.clone(), taken);
                }
            }
        }
        let none = Loops::new();
        all.ret = (all.ret.as_ref()).map(|ret| value.taken_from(&place, ret, &none));
        all.nests.extend(written);
        all.own.push(place.array);
    }
    all
}

impl Kept {
    /// The store of a result that is the value.
    fn result(&self, value: &Value) -> Option<Target> {
        // What is returned is computed before anything is stored.
        let mut results = self.nests.iter().filter(|_| self.ret.is_none());
        results.find_map(|nest| value.result(nest, &self.nests))
    }
}

/// Loops, outermost first: counters and how many rounds they have.
type Loops = Vec<(Sym, Idx)>;

fn loops_of(nest: &Nest) -> Loops {
    let dims = nest.dims.iter().cloned();
    dims.zip(nest.extents.iter().cloned()).collect()
}

/// A value for each round of some loops.
#[derive(Clone)]
struct Value {
    term: ElemRef,
    /// The loops that it looks at.
    loops: Loops,
    /// These are no loops that it stands in, but one over all that a byte may be.
    of_byte: bool,
}

/// The value that is worth keeping and stands in the most places, if there is any that there is a place for.
fn worth_keeping(all: &Kept, memory: bool) -> Option<Value> {
    let mut search = Search::default();
    if let Some(ret) = &all.ret {
        search.look(ret, &Loops::new(), Where::default());
    }
    for nest in &all.nests {
        for t in &nest.results {
            // What grows along two dimensions is computed in two passes.
            if in_passes(nest.clone()).len() == 1 {
                let along = nest.dims.iter().filter(|d| runs(&t.value, d));
                search.along = along.cloned().collect();
                search.by_place = rounds(nest).is_none() && staged(nest).is_none();
                search.look(&t.term(), &loops_of(nest), Where::default());
            }
        }
    }
    if search.found.len() > MOST_TERMS {
        return None;
    }
    // In how many loops it stands, and whether in a round of an accumulation, and without a condition.
    let places = |value: &Value| {
        let mut places: Vec<Sym> = Vec::new();
        let (mut within, mut always) = (false, false);
        for other in &search.found {
            if value.at(&other.value.term, &other.value.loops).is_some() {
                places.extend(other.value.loops.last().map(|(counter, _)| counter.clone()));
                within |= other.stands.within;
                always |= !other.stands.conditional;
            }
        }
        places.sort_unstable();
        places.dedup();
        (places.len(), within, always)
    };
    let mut best: Option<(usize, &Found)> = None;
    for found in &search.found {
        let (count, within, always) = places(&found.value);
        // What is evaluated on some data only may be undefined on other.
        let worth_it =
            (always || is_harmless(&found.value.term)) && (found.again || count > 1 && within);
        let has_memory = || memory && found.value.widths().is_some();
        let has_place = worth_it && (has_memory() || all.result(&found.value).is_some());
        // What is computed again comes first: it may hold what else is.
        let rank = |found: &Found, count: usize| (found.again, count);
        let better = |(most, other): (usize, &Found)| rank(found, count) > rank(other, most);
        if has_place && best.is_none_or(better) {
            best = Some((count, found));
        }
    }
    best.map(|(_, found)| found.value.clone())
}

/// A term that takes rounds of its own.
struct Found {
    value: Value,
    /// Whether a loop that it does not look at computes it again.
    again: bool,
    stands: Where,
}

/// Where a term stands.
#[derive(Clone, Copy, Default)]
struct Where {
    /// In a round of an accumulation.
    within: bool,
    /// In a branch of a select. It cannot be moved out of a loop.
    conditional: bool,
}

#[derive(Default)]
struct Search {
    found: Vec<Found>,
    /// The accumulators of the folds around.
    accs: Vec<Sym>,
    /// The dimensions along which folds run upwards.
    along: Vec<Sym>,
    /// The counters of searches, along which folds run as well.
    searched: Vec<Sym>,
    /// Whether folds of which the data says where each round goes have no place of their own, but in memory: element by
    /// element they would take all rounds for each.
    by_place: bool,
}

impl Search {
    /// Looks through what is evaluated in each round of these loops.
    fn look(&mut self, e: &ElemRef, loops: &Loops, stands: Where) {
        if !contains_fold(e) {
            return;
        }
        let own = own_loops(e, loops);
        let around = match stands.conditional {
            true => loops.clone(),
            false => around(e, loops),
        };
        // What is converted is kept as it is: it may be a sum by place, and as such takes its rounds once.
        let again = !matches!(**e, Elem::Convert(..))
            && (self.is_computed_again(e, &own, &around, stands)
                || self.starts_anew(e, &around, stands)
                || self.by_place && self.is_free(e) && goes_by_place(e, &own));
        let entry = match self.is_long_fold(e) {
            true => Value::of_byte(e, &around),
            false => None,
        };
        let again = again || entry.is_some();
        if again || self.is_long_fold(e) && !own.is_empty() {
            let value = entry.unwrap_or_else(|| Value {
                term: e.clone(),
                loops: own,
                of_byte: false,
            });
            self.found.push(Found {
                value,
                again,
                stands,
            });
        }
        match &**e {
            _ if again => {}
            Elem::Fold(f) => {
                let mut inside = around.clone();
                inside.push((f.var.clone(), f.extent.clone()));
                for lane in f.lanes() {
                    self.look(lane.init, &around, stands);
                    self.accs.push(lane.acc.clone());
                }
                let stands = Where {
                    within: true,
                    ..stands
                };
                let searches = searched(f).is_some() && !stands.conditional;
                if searches {
                    self.searched.push(f.var.clone());
                }
                for lane in f.lanes() {
                    self.look(lane.step, &inside, stands);
                }
                if searches {
                    self.searched.pop();
                }
                self.accs.truncate(self.accs.len() - f.lanes().count());
            }
            Elem::Select(c, t, f) => {
                let branch = Where {
                    conditional: true,
                    ..stands
                };
                self.look(c, loops, stands);
                self.look(t, loops, branch);
                self.look(f, loops, branch);
            }
            _ => e
                .children()
                .into_iter()
                .for_each(|c| self.look(c, loops, stands)),
        }
    }

    /// Whether a fold in it, over its own loops, stands in another one of those `around`.
    fn is_computed_again(&self, e: &ElemRef, own: &Loops, around: &Loops, stands: Where) -> bool {
        let passed_over = around.iter().filter(|(counter, _)| !e.mentions(counter));
        let rounds = passed_over
            .map(|(_, n)| n.as_constant().unwrap_or(SHORT))
            .fold(1, i128::saturating_mul);
        let mut has_fold = false;
        always(e, &mut |x| {
            has_fold |= self.is_long_fold(x) && own_loops(x, around) == *own;
        });
        // Without a condition, what looks at no loop is moved out of all of them anyhow.
        let stays = !own.is_empty() || stands.conditional;
        rounds >= SHORT && has_fold && stays && e.ty() != ScalarType::I1 && self.is_free(e)
    }

    /// Whether it is a fold that grows by a step from round to round, and yet takes all of them in each: where it does
    /// not stand in the results' own loops, or runs against another one.
    fn starts_anew(&self, e: &ElemRef, around: &Loops, stands: Where) -> bool {
        let Elem::Fold(f) = &**e else { return false };
        let here = |counter: &Sym| {
            let runs_here = !stands.within && !stands.conditional;
            !runs_here || self.along.contains(counter) && !runs(e, counter)
        };
        let mut counters = around.iter().map(|(counter, _)| counter);
        let with_search = |c: &Sym| self.searched.contains(c) && runs(e, c);
        let any = counters.any(|c| grows_or_shrinks(f, c) && here(c) && !with_search(c));
        any && e.ty() != ScalarType::I1 && self.is_free(e)
    }

    fn is_long_fold(&self, e: &ElemRef) -> bool {
        let Elem::Fold(f) = &**e else { return false };
        let is_long = f.extent.as_constant().is_none_or(|n| n > SHORT)
            || f.lanes().any(|l| contains_fold(l.step));
        is_long && e.ty() != ScalarType::I1 && self.is_free(e)
    }

    /// Whether no accumulation around is in the midst of what it looks at.
    fn is_free(&self, e: &ElemRef) -> bool {
        !self.accs.iter().any(|acc| e.mentions(acc))
    }
}

/// Whether the data says to which rounds of these loops each step of a fold goes.
fn goes_by_place(e: &ElemRef, loops: &Loops) -> bool {
    let counters: Vec<Sym> = loops.iter().map(|(counter, _)| counter.clone()).collect();
    matches!(&**e, Elem::Fold(fold) if writes(&counters, fold).is_some())
}

/// Those of the loops that it looks at, with as many rounds as they have in any rounds of the others.
fn own_loops(e: &ElemRef, loops: &Loops) -> Loops {
    let mut own = Loops::new();
    for (at, (counter, rounds)) in loops.iter().enumerate() {
        if e.mentions(counter) {
            let others = loops[..at].iter().rev().filter(|(c, _)| !e.mentions(c));
            let most = others.fold(rounds.clone(), |n, (other, theirs)| {
                at_most(&n, other, theirs).unwrap_or(n)
            });
            own.push((counter.clone(), most));
        }
    }
    own
}

/// The most that a number of rounds is in any of so many rounds of a loop around, if it is linear in its counter.
fn at_most(n: &Idx, counter: &Sym, rounds: &Idx) -> Option<Idx> {
    let (step, _) = n.linear_in(counter)?;
    let most = match step.as_constant()? {
        0.. => rounds - &Idx::constant(1),
        _ => Idx::default(),
    };
    Some(n.replace(counter, &most))
}

/// Whether evaluating it can do no harm where all that it reads is there: the data says nothing about that.
fn is_harmless(e: &ElemRef) -> bool {
    let mut harmless = true;
    e.visit(&mut |x| {
        harmless &= match &**x {
            Elem::Binary(BinOp::Divide | BinOp::Remainder, _, b) if b.ty().is_int() => {
                matches!(&**b, Elem::Const(c) if c.is_true())
            }
            Elem::Convert(to, a) => !(a.ty().is_float() && to.is_int()),
            Elem::Read { index, .. } => !index.has_values(),
            _ => true,
        };
    });
    harmless
}

/// The loops that it cannot be moved out of.
fn around(e: &ElemRef, loops: &Loops) -> Loops {
    let inner = loops.iter().rposition(|(counter, _)| e.mentions(counter));
    loops[..inner.map_or(0, |at| at + 1)].to_vec()
}

/// Calls `f` for the terms that are evaluated whatever the data, rounds of accumulations aside.
fn always(e: &ElemRef, f: &mut dyn FnMut(&ElemRef)) {
    f(e);
    match &**e {
        Elem::Fold(fold) => fold.lanes().for_each(|lane| always(lane.init, f)),
        Elem::Select(c, _, _) => always(c, f),
        _ => e.children().into_iter().for_each(|c| always(c, f)),
    }
}

impl Value {
    /// What a term in a round of these loops is for each byte, if it depends on them through one alone.
    fn of_byte(e: &ElemRef, loops: &Loops) -> Option<Value> {
        let counters: Vec<&Sym> = loops.iter().map(|(counter, _)| counter).collect();
        let entry = Entry::of(e, &counters)?;
        Some(Value {
            term: entry.term,
            loops: vec![(entry.counter, Idx::constant(ENTRIES))],
            of_byte: true,
        })
    }

    /// In which round of its loops the value is `e`, if `e`, in a round of these loops, is one of them.
    fn at(&self, e: &ElemRef, loops: &Loops) -> Option<Vec<Idx>> {
        if self.of_byte {
            let counters: Vec<&Sym> = loops.iter().map(|(counter, _)| counter).collect();
            let entry = Entry::of(e, &counters)?;
            return (canonical(&entry.term) == canonical(&self.term)).then(|| vec![entry.at]);
        }
        let own = own_loops(e, loops);
        if e.ty() != self.term.ty() || own.len() != self.loops.len() {
            return None;
        }
        let canonical_e = canonical(e);
        // A row's extreme starts from its first element, and goes on with the second.
        let shifts = (0..=own.len()).map(|shifted| {
            let counter = |(i, (counter, _)): (usize, &(Sym, Idx))| {
                &Idx::sym(counter.clone()) + &Idx::constant(i128::from(i + 1 == shifted))
            };
            own.iter().enumerate().map(counter).collect::<Vec<Idx>>()
        });
        let mut places = shifts.filter(|place| {
            let covered = (self.loops.iter().zip(&own).zip(place)).all(
                |(((_, rounds), (counter, theirs)), here)| {
                    let ahead = here - &Idx::sym(counter.clone());
                    let end = theirs + &ahead;
                    let left = (&self.placed(rounds, place) - &end).as_constant();
                    left.is_some_and(|left| left >= 0)
                },
            );
            covered && canonical(&self.term.substitute(&self.placing(place))) == canonical_e
        });
        places.next()
    }

    /// What stands for its counters in that round.
    fn placing(&self, place: &[Idx]) -> impl Fn(&Sym) -> Option<Idx> {
        |s| {
            let at = self.loops.iter().position(|(counter, _)| counter == s)?;
            Some(place[at].clone())
        }
    }

    fn placed(&self, idx: &Idx, place: &[Idx]) -> Idx {
        idx.substitute(&self.placing(place))
    }

    /// `e` with the value read from where it is kept.
    fn taken_from(&self, kept: &Target, e: &ElemRef, loops: &Loops) -> ElemRef {
        if !contains_fold(e) {
            return e.clone();
        }
        if let Some(place) = self.at(e, loops) {
            return Elem::read(kept.array.clone(), e.ty(), self.placed(&kept.index, &place));
        }
        let within = |e: &ElemRef, loops: &Loops| self.taken_from(kept, e, loops);
        let children: Vec<ElemRef> = match &**e {
            Elem::Fold(f) => {
                let mut inside = loops.clone();
                inside.push((f.var.clone(), f.extent.clone()));
                let lanes = f.lanes();
                lanes
                    .flat_map(|l| [within(l.init, loops), within(l.step, &inside)])
                    .collect()
            }
            _ => (e.children().into_iter())
                .map(|c| within(c, loops))
                .collect(),
        };
        let indices: Vec<Idx> = e.indices().into_iter().cloned().collect();
        e.rebuild(&children, &indices)
    }

    /// The store of a result that is the value, in terms of the value's counters, if nothing else is ever read there.
    fn result(&self, nest: &Nest, all: &[Nest]) -> Option<Target> {
        let [t] = nest.results.as_slice() else {
            return None;
        };
        let loops = loops_of(nest);
        let all_of_it = (loops.iter().zip(&self.loops)).all(|((_, theirs), (_, ours))| {
            let place: Vec<Idx> = loops.iter().map(|(s, _)| Idx::sym(s.clone())).collect();
            loops.len() == self.loops.len() && self.placed(ours, &place) == *theirs
        });
        let place = self.at(&t.value, &loops).filter(|_| all_of_it)?;
        let same = place.iter().zip(&loops);
        let unshifted = same.into_iter().all(|(p, (s, _))| p.as_sym() == Some(s));
        let others = || all.iter().flat_map(|n| &n.results);
        let written_once = others().filter(|o| o.array == t.array).count() == 1;
        let read = others().any(|o| reads_any(&o.value, &[&t.array]));
        let plain = matches!(t.store, Stored::Always(_)) && !t.index.has_values();
        if !(unshifted && written_once && plain) || read {
            return None;
        }
        let ours = |s: &Sym| {
            let at = nest.dims.iter().position(|d| d == s)?;
            Some(Idx::sym(self.loops[at].0.clone()))
        };
        Some(Target::new(
            t.array.clone(),
            t.index.substitute(&ours),
            self.term.clone(),
        ))
    }

    /// The most rounds that each loop has, in terms of the sizes.
    fn widths(&self) -> Option<Vec<Idx>> {
        let mut widths: Vec<Idx> = Vec::new();
        for (_, rounds) in &self.loops {
            let mut width = rounds.clone();
            for ((counter, _), outer) in self.loops.iter().zip(&widths) {
                width = at_most(&width, counter, outer)?;
            }
            if width.has_values() {
                return None;
            }
            widths.push(width);
        }
        Some(widths)
    }

    /// Memory for all of its rounds, and the nest that fills it.
    fn memory(&self, name: Sym) -> Option<(Memory, Nest)> {
        let (mut index, mut len) = (Idx::default(), Idx::constant(1));
        for ((counter, _), width) in self.loops.iter().zip(self.widths()?) {
            index = &(&index * &width) + &Idx::sym(counter.clone());
            len = &len * &width;
        }
        let (dims, extents): (Vec<Sym>, Vec<Idx>) = self.loops.iter().cloned().unzip();
        let stems = STEMS.iter().cycle().take(dims.len());
        let nest = Nest {
            stems: stems.map(ToString::to_string).collect(),
            dims,
            extents,
            results: vec![Target::new(name.clone(), index, self.term.clone())],
        };
        let memory = Memory {
            name,
            elem: self.term.ty(),
            len,
            of_old: false,
        };
        Some((memory, nest))
    }
}
