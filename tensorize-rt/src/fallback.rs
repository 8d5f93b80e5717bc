//! Why the original answered calls, and how many.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What kind of reason it is, and so what helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The arguments: a guard fails, or they have no flat form.
    Arguments,
    /// There was no memory for copies or results.
    Memory,
    /// The target: there is no code for it, or it could not be run.
    Target,
    /// The user asks for the original.
    Asked,
    /// The size, as `TENSORIZE=auto` decides.
    Size,
}

impl Cause {
    /// As a report has it.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Arguments => "arguments",
            Cause::Memory => "memory",
            Cause::Target => "target",
            Cause::Asked => "asked",
            Cause::Size => "size",
        }
    }
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// Its kind.
    pub cause: Cause,
    /// In words.
    pub why: String,
    /// How many calls.
    pub calls: u64,
}

/// How many different reasons of a kernel are told apart.
const MOST: usize = 16;

/// What stands for all others.
const OTHERS: &str = "for other reasons";

/// The guards that failed. Counted without a lock: calls of several threads that fail shall not wait for each other.
#[derive(Debug)]
pub(crate) struct Guards {
    told: [(OnceLock<&'static str>, AtomicU64); MOST],
    others: AtomicU64,
}

impl Guards {
    pub(crate) const fn new() -> Guards {
        Guards {
            told: [const { (OnceLock::new(), AtomicU64::new(0)) }; MOST],
            others: AtomicU64::new(0),
        }
    }

    /// Counts one.
    pub(crate) fn count(&self, why: &'static str) {
        let place = self
            .told
            .iter()
            .find(|(w, _)| *w.get_or_init(|| why) == why);
        let calls = place.map_or(&self.others, |(_, calls)| calls);
        calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self) -> Vec<Fallback> {
        let told = self.told.iter();
        let told = told.filter_map(|(why, calls)| Some((*why.get()?, calls)));
        told.chain([(OTHERS, &self.others)])
            .map(|(why, calls)| Fallback {
                cause: Cause::Arguments,
                why: why.into(),
                calls: calls.load(Ordering::Relaxed),
            })
            .filter(|f| f.calls > 0)
            .collect()
    }
}

/// All other reasons. Calls that nothing was noted of have the reason that stands meanwhile: to note it for each would cost small
/// calls more than all else.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    noted: Vec<Fallback>,
    stands: Option<(Cause, String)>,
    /// Calls of the original, up to the last decision, of which neither a reason nor a guard is noted and nothing stood.
    unexplained: u64,
}

impl Reasons {
    pub(crate) const fn new() -> Reasons {
        Reasons {
            noted: Vec::new(),
            stands: None,
            unexplained: 0,
        }
    }

    /// Counts one call.
    pub(crate) fn count(&mut self, cause: Cause, why: &str) {
        self.add(cause, why, 1);
    }

    fn add(&mut self, cause: Cause, why: &str, calls: u64) {
        let room = self.noted.len() < MOST;
        let why = match self.noted.iter().any(|f| f.why == why) || room {
            true => why,
            false => OTHERS,
        };
        match self.noted.iter_mut().find(|f| f.why == why) {
            Some(known) => known.calls += calls,
            None => self.noted.push(Fallback {
                cause,
                why: why.into(),
                calls,
            }),
        }
    }

    /// Of so many calls that the original answered, guards failed in some: those that nothing is noted of.
    fn rest(&self, original: u64, guards: u64) -> u64 {
        let noted: u64 = self.noted.iter().map(|f| f.calls).sum();
        original.saturating_sub(guards + noted + self.unexplained)
    }

    /// Another reason stands from now on.
    pub(crate) fn stand(&mut self, original: u64, guards: u64, next: Option<(Cause, String)>) {
        let rest = self.rest(original, guards);
        match self.stands.take() {
            Some((cause, why)) if rest > 0 => self.add(cause, &why, rest),
            _ => self.unexplained += rest,
        }
        self.stands = next;
    }

    /// All of them, the most frequent first.
    pub(crate) fn all(&self, original: u64, guards: Vec<Fallback>) -> Vec<Fallback> {
        let failed = guards.iter().map(|f| f.calls).sum();
        let rest = self.rest(original, failed);
        let mut all = Reasons {
            noted: self.noted.clone(),
            ..Reasons::new()
        };
        if let (Some((cause, why)), true) = (&self.stands, rest > 0) {
            all.add(*cause, why, rest);
        }
        let mut all: Vec<Fallback> = all.noted.into_iter().chain(guards).collect();
        all.sort_by_key(|f| std::cmp::Reverse(f.calls));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(all: &[Fallback]) -> Vec<(&str, u64)> {
        all.iter().map(|f| (f.why.as_str(), f.calls)).collect()
    }

    #[test]
    fn calls_of_which_nothing_is_noted_have_the_reason_that_stood() {
        let mut reasons = Reasons::new();
        let guards = Guards::new();
        reasons.stand(0, 0, Some((Cause::Asked, "off".into())));
        assert_eq!(told(&reasons.all(3, guards.failed())), [("off", 3)]);
        reasons.stand(3, 0, Some((Cause::Size, "size".into())));
        guards.count("n >= 0");
        reasons.count(Cause::Memory, "memory");
        // 3 before, one whose guard failed, one without memory, and 4.
        let all = reasons.all(9, guards.failed());
        assert_eq!(
            told(&all),
            [("size", 4), ("off", 3), ("memory", 1), ("n >= 0", 1)]
        );
        reasons.stand(9, 1, None);
        assert_eq!(told(&reasons.all(9, guards.failed())), told(&all));
        // What nobody knows is not said of the next reason.
        reasons.stand(12, 1, Some((Cause::Asked, "off".into())));
        assert_eq!(told(&reasons.all(12, guards.failed())), told(&all));
    }

    #[test]
    fn a_few_reasons_are_told_apart_and_none_is_lost() {
        const GUARDS: [&str; MOST + 2] = [
            "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q",
            "r",
        ];
        let (guards, mut reasons) = (Guards::new(), Reasons::new());
        for why in GUARDS {
            guards.count(why);
            reasons.count(Cause::Target, why);
        }
        for all in [guards.failed(), reasons.all(0, vec![])] {
            assert_eq!(all.len(), MOST + 1);
            assert!(told(&all).contains(&(OTHERS, 2)), "{all:?}");
        }
    }
}
