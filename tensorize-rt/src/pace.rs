//! Whether generated code is worth it at a size, found out by trying.
//!
//! Linked-in code starts threads, and whether that pays depends on the size, the machine, and what else
//! runs on it. The first calls of a size class take turns and are timed; the faster version then has the
//! class for a while.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Instant;

/// How often each of the two is timed.
const TRIALS: u8 = 3;
/// The class is timed again after so many calls of the kernel; a power of two.
const AGAIN: u64 = 1 << 14;

const NATIVE: u8 = u8::MAX;
const ORIGINAL: u8 = u8::MAX - 1;

/// The sizes between two powers of two.
#[derive(Debug)]
struct Class {
    /// [`NATIVE`], [`ORIGINAL`], or how many calls have been timed.
    state: AtomicU8,
    native_ns: AtomicU64,
    original_ns: AtomicU64,
}

/// One kernel's size classes.
#[derive(Debug)]
pub(crate) struct Pace {
    classes: [Class; 64],
}

/// Which version a call goes to, and whether it is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) native: bool,
    pub(crate) timed: bool,
}

impl Pace {
    pub(crate) const fn new() -> Pace {
        Pace {
            classes: [const {
                Class {
                    state: AtomicU8::new(0),
                    native_ns: AtomicU64::new(u64::MAX),
                    original_ns: AtomicU64::new(u64::MAX),
                }
            }; 64],
        }
    }

    #[inline(always)]
    fn class(&self, size: i64) -> &Class {
        &self.classes[(64 - size.max(0).leading_zeros()) as usize % 64]
    }

    /// Whose turn it is.
    #[inline(always)]
    pub(crate) fn turn(&self, size: i64) -> Turn {
        match self.class(size).state.load(Ordering::Relaxed) {
            NATIVE => Turn {
                native: true,
                timed: false,
            },
            ORIGINAL => Turn {
                native: false,
                timed: false,
            },
            // The generated code first: a single call shall have it.
            tried => Turn {
                native: tried % 2 == 0,
                timed: true,
            },
        }
    }

    /// Runs and times a call.
    #[cold]
    pub(crate) fn timed<R>(&self, size: i64, native: bool, f: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = f();
        self.note(size, native, start.elapsed().as_nanos() as u64);
        result
    }

    fn note(&self, size: i64, native: bool, ns: u64) {
        let class = self.class(size);
        let best = if native {
            &class.native_ns
        } else {
            &class.original_ns
        };
        // The best of a few: the first one may have started threads or read memory from afar.
        best.fetch_min(ns, Ordering::Relaxed);
        let tried = class.state.load(Ordering::Relaxed);
        if tried >= ORIGINAL {
            return;
        }
        let next = if tried + 1 < 2 * TRIALS {
            tried + 1
        } else if class.native_ns.load(Ordering::Relaxed)
            <= class.original_ns.load(Ordering::Relaxed)
        {
            NATIVE
        } else {
            ORIGINAL
        };
        // If another thread was faster, its word counts.
        class
            .state
            .compare_exchange(tried, next, Ordering::Relaxed, Ordering::Relaxed)
            .ok();
    }

    /// Has a class timed again now and then; `calls` is how many calls the kernel has had.
    #[inline(always)]
    pub(crate) fn after(&self, size: i64, calls: u64) {
        if calls & (AGAIN - 1) == AGAIN - 1 {
            self.again(size);
        }
    }

    #[cold]
    fn again(&self, size: i64) {
        let class = self.class(size);
        class.native_ns.store(u64::MAX, Ordering::Relaxed);
        class.original_ns.store(u64::MAX, Ordering::Relaxed);
        class.state.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(pace: &Pace, size: i64, native_ns: u64, original_ns: u64) -> bool {
        for i in 0..2 * TRIALS {
            assert_eq!(
                pace.turn(size),
                Turn {
                    native: i % 2 == 0,
                    timed: true
                }
            );
            let native = pace.turn(size).native;
            pace.note(size, native, if native { native_ns } else { original_ns });
        }
        assert!(!pace.turn(size).timed);
        pace.turn(size).native
    }

    #[test]
    fn the_faster_one_has_the_class() {
        let pace = Pace::new();
        assert!(decide(&pace, 1 << 20, 10, 100));
        assert!(!decide(&pace, 100, 100, 10));
        assert!(!pace.turn(127).native && !pace.turn(64).native, "one class");
        assert!(pace.turn(128).timed && pace.turn(-1).timed && pace.turn(i64::MAX).timed);
        pace.after(100, AGAIN - 1);
        assert!(decide(&pace, 100, 10, 100));
    }
}
