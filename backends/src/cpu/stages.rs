//! Results that others are computed from: in `b = f(a); a = g(b)`, each sweep over its own range, a summary says what
//! `a` is in terms of the old `a` and of the old `b` where the first sweep does not reach. Once the first result is
//! stored, all that is read there, and not computed again.

use super::nest::{Nest, Stored, Target, reads_any};
use super::term::{self, canonical};
use std::collections::BTreeMap;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};

/// So far apart may two places be of which one is computed from the other.
const FAR: i128 = 2;

/// No more ways than this in which a result's places may lie beside another one's.
const MOST_WAYS: usize = 250;

/// The nests with such results read where they are stored, and the arrays that have to be written first for that;
/// nothing if there are none. Whether each place that is read is one that was written, the proof of the code says.
pub(super) fn in_stages(nests: &[Nest]) -> Option<(Vec<Nest>, Vec<Sym>)> {
    let mut staged = nests.to_vec();
    // Which nest takes what from which other one.
    let mut feeds: Vec<(usize, usize)> = Vec::new();
    let mut first: Vec<Sym> = Vec::new();
    // What overwrites its own operands is better taken from elsewhere than the other way round.
    let mut numbers: Vec<usize> = (0..nests.len()).collect();
    numbers.sort_by_key(|&i| !nests[i].results.iter().any(|t| t.reads(&t.array)));
    for i in numbers {
        let [t] = staged[i].results.as_slice() else {
            return None;
        };
        let feeding = nests.iter().enumerate().filter_map(|(k, n)| {
            let [other] = n.results.as_slice() else {
                return None;
            };
            let feeds = other.array != t.array
                && !(n.dims.is_empty() && is_wanted_as_it_was(other, nests))
                && matches!(other.store, Stored::Always(_))
                && !matches!(&*other.value, Elem::Read { .. } | Elem::Const(_))
                && !leads(&feeds, i, k);
            feeds.then_some((k, n, other))
        });
        let several = |array: &Sym| {
            let stores = nests.iter().flat_map(|n| &n.results);
            stores.filter(|o| o.array == *array).count() > 1
        };
        let mut reader = Reader {
            feeding: feeding.collect(),
            several: &several,
            found: Vec::new(),
        };
        let value = reader.read_there(
            &t.value,
            &staged[i].dims,
            &reader.seen_from(&staged[i].dims),
        );
        let found = reader.found;
        if !found.is_empty() {
            let taken = Target::new(t.array.clone(), t.index.clone(), value);
            staged[i].results = vec![taken];
            feeds.extend(found.iter().map(|(_, k)| (*k, i)));
            first.extend(found.into_iter().map(|(array, _)| array));
        }
    }
    first.sort_unstable();
    first.dedup();
    // What looks at the old contents alone would have to come before, and not after.
    let looks_back = |before: &Nest, after: &Nest| {
        let (Some(before), Some(after)) = (before.results.first(), after.results.first()) else {
            return false;
        };
        let read = first.iter().filter(|a| **a != before.array);
        let read: Vec<&Sym> = read.filter(|a| reads_any(&before.value, &[a])).collect();
        before.value == after.value && !read.is_empty()
    };
    // So would what says where to store something.
    let says_where = |nest: &Nest| {
        let mut values = (nest.results.iter()).flat_map(|t| term::values_in(&t.index));
        values.any(|e| first.iter().any(|a| reads_any(e, &[a])))
    };
    let mut both = nests.iter().zip(&staged);
    let mixed = both.any(|(b, a)| looks_back(b, a) || says_where(a));
    (!first.is_empty() && !mixed).then_some((staged, first))
}

/// Whether another result is computed from what stands at the one place of this one before it is stored.
fn is_wanted_as_it_was(result: &Target, nests: &[Nest]) -> bool {
    let mut others = nests.iter().flat_map(|n| &n.results);
    others.any(|t| {
        let mut wanted = false;
        t.value.visit(&mut |e| {
            wanted |= matches!(&**e, Elem::Read { array, index, .. }
                if *array == result.array && *index == result.index);
        });
        t.array != result.array && wanted
    })
}

/// Values, in canonical form, with where they are stored, and by which nest.
type Places = BTreeMap<ElemRef, (Sym, Idx, usize)>;

/// Whether what the nest `from` stores goes into what `to` stores.
fn leads(feeds: &[(usize, usize)], from: usize, to: usize) -> bool {
    let mut next = feeds.iter().filter(|(k, _)| *k == from);
    from == to || next.any(|(_, i)| leads(feeds, *i, to))
}

/// Reads results of other nests where they stand.
struct Reader<'a> {
    /// Nests by number, with their results.
    feeding: Vec<(usize, &'a Nest, &'a Target)>,
    /// Whether there are several stores to an array.
    several: &'a dyn Fn(&Sym) -> bool,
    /// What is read, and by which nest it is stored.
    found: Vec<(Sym, usize)>,
}

impl Reader<'_> {
    /// What the results have at places beside, or along, those of some counters.
    fn seen_from(&self, counters: &[Sym]) -> Places {
        let all = self.feeding.iter();
        all.flat_map(|(k, nest, result)| seen_from(counters, nest, result, *k))
            .collect()
    }

    /// `e`, in rounds of these counters, with such values read where they stand.
    fn read_there(&mut self, e: &ElemRef, counters: &[Sym], places: &Places) -> ElemRef {
        if let Some((array, index, number)) = places.get(&canonical(e)) {
            self.found.push((array.clone(), *number));
            return Elem::read(array.clone(), e.ty(), index.clone());
        }
        if let Elem::Select(_, there, elsewhere) = &**e
            && let Some((array, index, number)) = places.get(&canonical(there))
        {
            // Where the first result does not reach, what was there before still is, or another result.
            let is_old = matches!(&**elsewhere, Elem::Read { array: a, index: i, .. } if a == array && i == index);
            if is_old || (self.several)(array) {
                self.found.push((array.clone(), *number));
                return Elem::read(array.clone(), e.ty(), index.clone());
            }
        }
        let children: Vec<ElemRef> = match &**e {
            Elem::Fold(f) => {
                let inside = [counters, std::slice::from_ref(&f.var)].concat();
                let within = self.seen_from(&inside);
                let lanes: Vec<[ElemRef; 2]> = f
                    .lanes()
                    .map(|l| [l.init.clone(), l.step.clone()])
                    .collect();
                let lanes = lanes.iter().flat_map(|[init, step]| {
                    [
                        self.read_there(init, counters, places),
                        self.read_there(step, &inside, &within),
                    ]
                });
                lanes.collect()
            }
            _ => (e.children().into_iter())
                .map(|c| self.read_there(c, counters, places))
                .collect(),
        };
        let indices: Vec<Idx> = e.indices().into_iter().cloned().collect();
        e.rebuild(&children, &indices)
    }
}

/// What a result has at places beside, or along, those of some counters.
fn seen_from(counters: &[Sym], nest: &Nest, result: &Target, number: usize) -> Places {
    let mut ways: Vec<Vec<Idx>> = vec![vec![]];
    for _ in &nest.dims {
        let longer = |way: &Vec<Idx>| {
            let taken = way.clone();
            let free = counters
                .iter()
                .filter(move |c| !taken.iter().any(|i| i.mentions(c)));
            let way = way.clone();
            let beside: Vec<Vec<Idx>> = free
                .flat_map(|c| (-FAR..=FAR).map(|by| &Idx::sym(c.clone()) + &Idx::constant(by)))
                // The first one, with which what goes over the others begins.
                .chain([Idx::default()])
                .map(|at| way.iter().cloned().chain([at]).collect())
                .collect();
            beside
        };
        ways = ways.iter().flat_map(longer).collect();
        if ways.len() > MOST_WAYS {
            return Places::new();
        }
    }
    let stored = |way: Vec<Idx>| {
        let with = |s: &Sym| {
            let at = nest.dims.iter().position(|d| d == s)?;
            Some(way[at].clone())
        };
        let place = (result.array.clone(), result.index.substitute(&with), number);
        (canonical(&result.value.substitute(&with)), place)
    };
    ways.into_iter().map(stored).collect()
}
