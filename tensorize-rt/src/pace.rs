//! Which of a kernel's versions is the fastest at a size.
//!
//! Linked-in code starts threads, and whether that pays depends on the size, the machine, and what else runs on it. What
//! `cargo tensorize tune` measured ([`crate::tuned`]) counts. Where it has not been here, calls of few elements have the
//! original: what could be gained is less than what the guards cost. In all other classes the first calls take turns and
//! are timed; the faster version then has the class for a while.

use crate::tuned::LEAST;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};

/// How often each of the two is timed.
const TRIALS: u8 = 3;
/// The same where a call is over so soon that the clock has its share in what is measured.
const TRIALS_OF_SHORT: u8 = 8;
/// Calls that take less are that short.
const SHORT_NS: u64 = 1000;
/// The class is timed again after so many calls of the kernel; a power of two.
const AGAIN: u64 = 1 << 14;
/// To have a class, generated code must take less than the original by this part of its time: so short calls can't be
/// timed any better.
const MARGIN: u64 = 16;

/// A class's state: below `ELSEWHERE`, how many calls have been timed; from here on the number of a target that runs on
/// copies; or one of the four below.
const ELSEWHERE: u8 = 2 * TRIALS_OF_SHORT;
const FOUND_ORIGINAL: u8 = u8::MAX - 3;
const FOUND_NATIVE: u8 = u8::MAX - 2;
const KNOWN_ORIGINAL: u8 = u8::MAX - 1;
const KNOWN_NATIVE: u8 = u8::MAX;

/// How many classes there are: one for each length of a size in bits.
pub(crate) const CLASSES: usize = 64;

/// The sizes between two powers of two.
#[derive(Debug)]
struct Class {
    state: AtomicU8,
    native_ns: AtomicU64,
    original_ns: AtomicU64,
}

/// One kernel's size classes.
#[derive(Debug)]
pub(crate) struct Pace {
    classes: [Class; CLASSES],
}

/// Which version a class goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Original,
    Native,
    /// The target with this number, on copies.
    Elsewhere(u8),
    /// Each in turn, timed; now this one.
    Trial {
        native: bool,
    },
}

/// The class of a size.
#[inline(always)]
pub(crate) fn class_of(size: i64) -> usize {
    (64 - size.max(0).leading_zeros()) as usize % CLASSES
}

/// Sizes in a row: `len` of them, from the first on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) first: i64,
    pub(crate) len: u64,
}

impl Sizes {
    pub(crate) const NONE: Sizes = Sizes { first: 0, len: 0 };
    /// All but the largest, which stands for what can't be counted.
    pub(crate) const ALL: Sizes = Sizes {
        first: i64::MIN,
        len: u64::MAX,
    };

    /// Those of the classes from one to another.
    fn of(first: usize, last: usize) -> Sizes {
        let begin = |class: usize| match class {
            0 => i128::from(i64::MIN),
            class => 1 << (class - 1),
        };
        let len = begin(last + 1) - begin(first);
        Sizes {
            first: begin(first) as i64,
            len: u64::try_from(len).unwrap_or(u64::MAX),
        }
    }

    #[inline(always)]
    pub(crate) fn contain(self, size: i64) -> bool {
        (size.wrapping_sub(self.first).cast_unsigned()) < self.len
    }
}

/// [`Sizes`] that change. Whoever reads them meanwhile may see the first of some and the length of others, and have the original
/// for a call that was to have generated code.
#[derive(Debug)]
pub(crate) struct AtOnce {
    first: AtomicI64,
    len: AtomicU64,
}

impl AtOnce {
    /// None yet.
    pub(crate) const fn new() -> AtOnce {
        AtOnce {
            first: AtomicI64::new(Sizes::NONE.first),
            len: AtomicU64::new(Sizes::NONE.len),
        }
    }

    #[inline(always)]
    pub(crate) fn load(&self) -> Sizes {
        Sizes {
            first: self.first.load(Ordering::Relaxed),
            len: self.len.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn store(&self, sizes: Sizes) {
        self.first.store(sizes.first, Ordering::Relaxed);
        self.len.store(sizes.len, Ordering::Relaxed);
    }
}

/// Whether it is time to have a class timed again, after so many calls of the kernel.
#[inline(always)]
pub(crate) fn is_due(calls: u64) -> bool {
    calls & (AGAIN - 1) == AGAIN - 1
}

/// What a class begins with: a plain model of what a call costs.
const fn unmeasured(class: usize) -> u8 {
    if (1 << class) <= LEAST && class < 63 {
        KNOWN_ORIGINAL
    } else {
        0
    }
}

/// Whether generated code is clearly faster.
fn wins(native_ns: u64, original_ns: u64) -> bool {
    native_ns.saturating_add(native_ns / MARGIN) < original_ns
}

impl Class {
    #[inline(always)]
    fn turn(&self) -> Turn {
        match self.state.load(Ordering::Relaxed) {
            KNOWN_ORIGINAL | FOUND_ORIGINAL => Turn::Original,
            KNOWN_NATIVE | FOUND_NATIVE => Turn::Native,
            // The generated code first: a single call shall have it.
            tried if tried < ELSEWHERE => Turn::Trial {
                native: tried % 2 == 0,
            },
            other => Turn::Elsewhere(other - ELSEWHERE),
        }
    }
}

/// What is known of sizes between two powers of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Paced {
    /// The first class and the last one: sizes of so many bits.
    pub(crate) classes: (usize, usize),
    pub(crate) turn: Turn,
    /// `few`, `measured`, `timed`, or `being timed`.
    pub(crate) because: &'static str,
    /// Nanoseconds of the original and of generated code, if they were timed here.
    pub(crate) ns: Option<(u64, u64)>,
}

impl Paced {
    fn goes_on_with(&self, next: &Paced) -> bool {
        // What was timed has times of its own.
        let alike = self.turn == next.turn && self.because == next.because && self.ns.is_none();
        alike && next.ns.is_none() && self.classes.1 + 1 == next.classes.0
    }
}

impl Class {
    /// What is known of this class, the one with this number; nothing before the first call of such a size.
    fn told(&self, number: usize) -> Option<Paced> {
        let state = self.state.load(Ordering::Relaxed);
        let because = match state {
            0 => return None,
            KNOWN_ORIGINAL if unmeasured(number) == KNOWN_ORIGINAL => "few",
            FOUND_ORIGINAL | FOUND_NATIVE => "timed",
            tried if tried < ELSEWHERE => "being timed",
            _ => "measured",
        };
        let ns = [&self.original_ns, &self.native_ns].map(|ns| ns.load(Ordering::Relaxed));
        Some(Paced {
            classes: (number, number),
            turn: self.turn(),
            because,
            ns: (because == "timed").then_some((ns[0], ns[1])),
        })
    }
}

impl Pace {
    pub(crate) const fn new() -> Pace {
        let mut classes = [const {
            Class {
                state: AtomicU8::new(0),
                native_ns: AtomicU64::new(u64::MAX),
                original_ns: AtomicU64::new(u64::MAX),
            }
        }; CLASSES];
        let mut class = 0;
        while class < CLASSES {
            classes[class].state = AtomicU8::new(unmeasured(class));
            class += 1;
        }
        Pace { classes }
    }

    #[inline(always)]
    fn class(&self, size: i64) -> &Class {
        &self.classes[class_of(size)]
    }

    /// Whose turn it is.
    #[inline(always)]
    pub(crate) fn turn(&self, size: i64) -> Turn {
        self.class(size).turn()
    }

    /// What was measured: a turn for each class, or `None` where a class is as if nobody had.
    pub(crate) fn set(&self, turns: &[Option<Turn>; CLASSES]) {
        for (i, (class, turn)) in self.classes.iter().zip(turns).enumerate() {
            let state = match turn {
                Some(Turn::Original) => KNOWN_ORIGINAL,
                Some(Turn::Native) => KNOWN_NATIVE,
                Some(Turn::Elsewhere(n)) if *n < FOUND_ORIGINAL - ELSEWHERE => ELSEWHERE + n,
                _ => unmeasured(i),
            };
            // What was found out here, or is about to be, stays where nobody has measured.
            let own = |s| s < ELSEWHERE || s == FOUND_ORIGINAL || s == FOUND_NATIVE;
            if turn.is_some() || !own(class.state.load(Ordering::Relaxed)) {
                class.state.store(state, Ordering::Relaxed);
            }
        }
    }

    /// Notes how many nanoseconds a call took.
    pub(crate) fn note(&self, size: i64, native: bool, ns: u64) {
        let class = self.class(size);
        let best = if native {
            &class.native_ns
        } else {
            &class.original_ns
        };
        // The best of a few: the first one may have started threads or read memory from afar.
        best.fetch_min(ns, Ordering::Relaxed);
        let tried = class.state.load(Ordering::Relaxed);
        if tried >= ELSEWHERE {
            return;
        }
        let [native_ns, original_ns] =
            [&class.native_ns, &class.original_ns].map(|ns| ns.load(Ordering::Relaxed));
        let trials = match native_ns.min(original_ns) < SHORT_NS {
            true => TRIALS_OF_SHORT,
            false => TRIALS,
        };
        let next = if tried + 1 < 2 * trials {
            tried + 1
        } else if wins(native_ns, original_ns) {
            FOUND_NATIVE
        } else {
            FOUND_ORIGINAL
        };
        // If another thread was faster, its word counts.
        class
            .state
            .compare_exchange(tried, next, Ordering::Relaxed, Ordering::Relaxed)
            .ok();
    }

    /// Sizes around this one that the original has; where it has not this one, the least that it has.
    pub(crate) fn originals(&self, around: i64) -> Sizes {
        let is_original = |class: &usize| matches!(self.classes[*class].turn(), Turn::Original);
        let class = match class_of(around) {
            class if is_original(&class) => class,
            _ => 0,
        };
        if !is_original(&class) {
            return Sizes::NONE;
        }
        let first = (0..=class).rev().take_while(is_original).last();
        let last = (class..CLASSES).take_while(is_original).last();
        Sizes::of(first.unwrap_or(class), last.unwrap_or(class))
    }

    /// What is known of the classes, neighbours of one mind as one.
    pub(crate) fn told(&self) -> Vec<Paced> {
        let mut told: Vec<Paced> = Vec::new();
        for (number, class) in self.classes.iter().enumerate() {
            let Some(of_class) = class.told(number) else {
                continue;
            };
            match told.last_mut() {
                Some(last) if last.goes_on_with(&of_class) => last.classes.1 = number,
                _ => told.push(of_class),
            }
        }
        told
    }

    /// Has a class that was found out here timed again.
    pub(crate) fn again(&self, size: i64) {
        let class = self.class(size);
        let state = class.state.load(Ordering::Relaxed);
        if state == FOUND_ORIGINAL || state == FOUND_NATIVE {
            class.native_ns.store(u64::MAX, Ordering::Relaxed);
            class.original_ns.store(u64::MAX, Ordering::Relaxed);
            class.state.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(pace: &Pace, size: i64, native_ns: u64, original_ns: u64) -> Turn {
        let trials = match native_ns.min(original_ns) < SHORT_NS {
            true => TRIALS_OF_SHORT,
            false => TRIALS,
        };
        for i in 0..2 * trials {
            let native = i % 2 == 0;
            assert_eq!(pace.turn(size), Turn::Trial { native });
            pace.note(size, native, if native { native_ns } else { original_ns });
        }
        pace.turn(size)
    }

    fn tried(pace: &Pace, size: i64) -> bool {
        matches!(pace.turn(size), Turn::Trial { .. })
    }

    #[test]
    fn the_faster_one_has_the_class() {
        let pace = Pace::new();
        assert_eq!(decide(&pace, 1 << 20, 10, 100), Turn::Native);
        assert_eq!(decide(&pace, 700, 100, 10), Turn::Original);
        assert_eq!(pace.turn(1023), Turn::Original, "one class");
        assert_eq!(pace.turn(512), Turn::Original, "one class");
        assert!(tried(&pace, 1024) && tried(&pace, i64::MAX));
        pace.again(700);
        assert_eq!(decide(&pace, 700, 10, 100), Turn::Native);
    }

    #[test]
    fn at_a_glance_as_in_full() {
        let pace = Pace::new();
        let sizes = [
            0,
            1,
            2,
            3,
            63,
            64,
            127,
            128,
            1 << 40,
            i64::MAX / 2,
            i64::MAX,
        ];
        let agree = |pace: &Pace, around: i64, classes: &[usize]| {
            let originals = pace.originals(around);
            for size in sizes.into_iter().chain([i64::MIN, i64::MIN / 2, -1]) {
                let known = classes.contains(&class_of(size));
                assert_eq!(originals.contain(size), known, "{size} of {originals:?}");
            }
        };
        let few = [0, 1, 2, 3, 4, 5, 6];
        agree(&pace, 10, &few);
        agree(&pace, 1 << 40, &few);
        decide(&pace, 70, 100, 10);
        agree(&pace, 10, &[&few[..], &[7]].concat());
        decide(&pace, 700, 100, 10);
        decide(&pace, 5000, 10, 100);
        agree(&pace, 10, &[&few[..], &[7]].concat());
        assert_eq!(
            pace.originals(700),
            Sizes {
                first: 512,
                len: 512
            }
        );
        assert_eq!(pace.originals(5000), pace.originals(i64::MIN));
        pace.again(700);
        assert_eq!(pace.originals(700), pace.originals(0));
        let mut all = [Some(Turn::Original); CLASSES];
        pace.set(&all);
        assert_eq!(pace.originals(1), Sizes::ALL);
        all[0] = Some(Turn::Native);
        pace.set(&all);
        assert_eq!(pace.originals(-1), Sizes::NONE);
        let above = pace.originals(1);
        assert!(above.contain(1) && above.contain(i64::MAX) && !above.contain(0));
        assert!(is_due(AGAIN - 1) && !is_due(AGAIN) && !is_due(0));
    }

    #[test]
    fn trials_go_on_where_choices_change() {
        let pace = Pace::new();
        for i in 0..2 * TRIALS {
            let native = i % 2 == 0;
            assert_eq!(pace.turn(5000), Turn::Trial { native });
            pace.note(5000, native, if native { 10_000 } else { 100_000 });
            pace.set(&[None; CLASSES]);
        }
        assert_eq!(pace.turn(5000), Turn::Native);
    }

    #[test]
    fn what_is_hardly_faster_is_not_worth_it() {
        let pace = Pace::new();
        assert_eq!(decide(&pace, 100, 97, 100), Turn::Original);
        assert_eq!(decide(&pace, 1000, 90, 100), Turn::Native);
        assert_eq!(decide(&pace, 10_000, 0, 0), Turn::Original);
    }

    #[test]
    fn what_is_known_of_sizes_is_told() {
        let pace = Pace::new();
        let few = |pace: &Pace| pace.told()[0].clone();
        assert_eq!(
            (few(&pace).classes, few(&pace).because),
            ((0, 6), "few"),
            "sizes of at most 6 bits"
        );
        assert_eq!(pace.told().len(), 1, "nothing of what nobody has called");
        decide(&pace, 5000, 10, 100);
        pace.note(500, true, 7);
        let mut turns = [None; CLASSES];
        turns[class_of(1 << 20)] = Some(Turn::Elsewhere(2));
        turns[class_of(1 << 21)] = Some(Turn::Elsewhere(2));
        pace.set(&turns);
        let told = pace.told();
        let told: Vec<_> = told[1..].iter().map(|p| (p.classes, p.because)).collect();
        assert_eq!(
            told,
            [
                ((9, 9), "being timed"),
                ((13, 13), "timed"),
                ((21, 22), "measured")
            ]
        );
        assert_eq!(pace.told()[2].ns, Some((100, 10)));
    }

    #[test]
    fn few_elements_have_the_original_unless_somebody_measured() {
        let pace = Pace::new();
        for size in [i64::MIN, -1, 0, 1, 16, 63] {
            assert_eq!(pace.turn(size), Turn::Original);
            pace.again(size);
            assert_eq!(pace.turn(size), Turn::Original);
        }
        assert!(tried(&pace, 64));
        let mut turns = [None; CLASSES];
        turns[class_of(40)] = Some(Turn::Native);
        turns[class_of(1 << 20)] = Some(Turn::Elsewhere(2));
        turns[class_of(1 << 21)] = Some(Turn::Original);
        decide(&pace, 5000, 10, 100);
        pace.set(&turns);
        pace.again(1 << 21);
        assert_eq!(pace.turn(40), Turn::Native);
        assert_eq!(pace.turn(1 << 20), Turn::Elsewhere(2));
        assert_eq!(pace.turn(1 << 21), Turn::Original, "it is not timed again");
        assert_eq!(pace.turn(5000), Turn::Native, "found out before");
        // The target is out: what was measured without it.
        pace.set(&[None; CLASSES]);
        assert!(tried(&pace, 1 << 20) && pace.turn(40) == Turn::Original);
    }
}
