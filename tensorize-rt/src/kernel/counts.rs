//! How many calls of a kernel there were, who answered them, and why the original did.

use super::{Answered, Kernel, Route};
use crate::choice::Choice;
use crate::fallback::{Cause, Fallback, Guards};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many calls there were. Away from what calls only read: else every count of one thread would have the others wait.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Counts {
    pub(super) original: AtomicU64,
    pub(super) native: AtomicU64,
    shadowed: AtomicU64,
    guard_failed: AtomicU64,
    guards: Guards,
}

impl Counts {
    pub(super) const fn new() -> Counts {
        Counts {
            original: AtomicU64::new(0),
            native: AtomicU64::new(0),
            shadowed: AtomicU64::new(0),
            guard_failed: AtomicU64::new(0),
            guards: Guards::new(),
        }
    }
}

impl Kernel {
    /// Counts a call that the original answers.
    #[inline(always)]
    pub fn count_original(&self) {
        count(&self.state.counts.original);
    }

    /// Counts a call that linked-in code answers.
    #[inline(always)]
    pub fn count_native(&self) {
        count(&self.state.counts.native);
    }

    /// Counts a call of which a guard failed: `why` names it.
    #[cold]
    pub fn count_guard_failed(&self, why: &'static str) {
        let counts = &self.state.counts;
        counts.guard_failed.fetch_add(1, Ordering::Relaxed);
        counts.guards.count(why);
    }

    /// Counts a call that has no flat form, or whose guards failed, and notes why.
    #[cold]
    pub fn count_misfit(&self, why: crate::Misfit) {
        let counts = &self.state.counts;
        counts.guard_failed.fetch_add(1, Ordering::Relaxed);
        self.fell_back(Cause::Arguments, why.into_owned());
    }

    /// Counts a call for the original that was counted for linked-in code, which did not get the memory that it asked for.
    #[cold]
    pub fn count_no_memory(&self) {
        let native = &self.state.counts.native;
        native.store(
            native.load(Ordering::Relaxed).saturating_sub(1),
            Ordering::Relaxed,
        );
        self.count_original();
        self.fell_back(Cause::Memory, "there was no memory for the results".into());
    }

    /// Notes why the original answers a call that something else was to answer.
    pub(crate) fn fell_back(&self, cause: Cause, why: String) {
        let mut notes = self.notes();
        notes.reasons.count(cause, &why);
        notes.why = Some(why);
    }

    /// Counts a call that this target answered, on copies of the arrays.
    pub(crate) fn count_elsewhere(&self, target: &'static str, emulated: bool) {
        let answered = &mut self.notes().answered;
        match answered.iter_mut().find(|a| a.target == target) {
            Some(known) => (known.calls, known.emulated) = (known.calls + 1, emulated),
            None => answered.push(Answered {
                target,
                calls: 1,
                emulated,
            }),
        }
    }

    pub(crate) fn count_shadowed(&self) {
        self.state.counts.shadowed.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls so far: by the original, native code, compared ones, failed guards.
    pub(crate) fn counts(&self) -> [u64; 4] {
        let s = &self.state.counts;
        [&s.original, &s.native, &s.shadowed, &s.guard_failed].map(|c| c.load(Ordering::Relaxed))
    }

    /// Why the original answered, and how many calls.
    pub(crate) fn fallbacks(&self) -> Vec<Fallback> {
        let counts = &self.state.counts;
        let guards = counts.guards.failed();
        let original = counts.original.load(Ordering::Relaxed);
        self.notes().reasons.all(original, guards)
    }

    /// From now on the original answers for this reason, if no other is told.
    pub(super) fn stands(&self, choice: &Choice, route: Route) {
        let why = self.standing(choice, route);
        let counts = &self.state.counts;
        let guards: u64 = counts.guards.failed().iter().map(|f| f.calls).sum();
        let original = counts.original.load(Ordering::Relaxed);
        self.notes().reasons.stand(original, guards, why);
    }

    fn standing(&self, choice: &Choice, route: Route) -> Option<(Cause, String)> {
        match (choice, route) {
            (Choice::Off | Choice::Tune | Choice::Shadow(_), _)
                if route == Route::Elsewhere || *choice == Choice::Off =>
            {
                Some((Cause::Asked, format!("TENSORIZE={choice}")))
            }
            (_, Route::Faster) => Some((Cause::Size, "its size".into())),
            (Choice::Auto, Route::Original) => {
                let why = self.usable("cpu").err();
                let unknown = || "no target is started that is known to be faster".into();
                Some((Cause::Target, why.unwrap_or_else(unknown)))
            }
            (_, Route::Original) => Some((Cause::Target, self.notes().why.clone()?)),
            _ => None,
        }
    }
}

/// One more. Of two threads that do this at the same moment, one may go uncounted: an exact count would cost small calls more
/// than all else on their way.
#[inline(always)]
fn count(calls: &AtomicU64) {
    calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}
