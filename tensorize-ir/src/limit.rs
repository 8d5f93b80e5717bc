//! A limit on the time that work on one kernel may take.
//!
//! Expressions share their parts, and are walked as trees: a kernel of a few lines can have a value that no machine
//! walks to the end. Whatever walks expressions calls [`tick`]; when the time is up, that unwinds to [`within`],
//! which says what was being worked on. Nothing is believed of work that was cut off.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

thread_local! {
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
    static TICKS: Cell<u32> = const { Cell::new(0) };
    static WORK: RefCell<Work> = RefCell::default();
}

/// How often the clock is read: every so many ticks.
const PERIOD: u32 = 256;

/// The time was up. What was being worked on, as far as anyone has said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// In words.
    pub what: String,
    /// Line in the source, 0 if there is none.
    pub line: u32,
}

/// Does `work`, for at most `limit`, or what an outer limit leaves of it.
pub fn within<T>(limit: Duration, work: impl FnOnce() -> T) -> Result<T, Work> {
    let outer = DEADLINE.get();
    let own = Instant::now().checked_add(limit);
    DEADLINE.set(outer.into_iter().chain(own).min());
    working_on("", 0);
    let done = catch_unwind(AssertUnwindSafe(work));
    DEADLINE.set(outer);
    done.map_err(|panic| match panic.downcast::<Work>() {
        Ok(work) => *work,
        Err(other) => resume_unwind(other),
    })
}

/// Notes what is being worked on, for the report if this is where the time ends.
pub fn working_on(what: impl Into<String>, line: u32) {
    let what = what.into();
    WORK.with_borrow_mut(|w| *w = Work { what, line });
}

/// Whether the time is up. Work that ends soon by itself may ask, and go without [`tick`].
pub fn is_over() -> bool {
    DEADLINE.get().is_some_and(|d| Instant::now() >= d)
}

/// What is left, if there is a limit.
pub fn left() -> Option<Duration> {
    DEADLINE
        .get()
        .map(|d| d.saturating_duration_since(Instant::now()))
}

/// One small step. Does not come back if the time is up.
#[inline]
pub fn tick() {
    let ticks = TICKS.get().wrapping_add(1);
    TICKS.set(ticks);
    if ticks.is_multiple_of(PERIOD) && is_over() {
        let work = WORK.with_borrow(Work::clone);
        // Not a panic: nobody is told but `within`.
        resume_unwind(Box::new(work));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forever() {
        loop {
            tick();
        }
    }

    #[test]
    fn endless_work_ends_and_says_what_it_was() {
        let done = within(Duration::from_millis(20), || {
            working_on("the loop", 7);
            forever();
        });
        let open = Work {
            what: "the loop".into(),
            line: 7,
        };
        assert_eq!(done, Err(open));
        assert_eq!(left(), None, "the limit has gone with the work");
    }

    #[test]
    fn work_that_is_done_in_time_gives_its_result() {
        assert_eq!(within(Duration::from_secs(60), || 3), Ok(3));
    }

    #[test]
    fn an_inner_limit_is_no_longer_than_the_outer_one() {
        let start = Instant::now();
        let done = within(Duration::from_millis(20), || {
            within(Duration::from_secs(60), forever).is_err()
        });
        assert_eq!(done, Ok(true));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn other_panics_go_on() {
        let panic = catch_unwind(|| within(Duration::from_secs(60), || panic!("a bug")));
        let text = panic.expect_err("it panics");
        assert_eq!(text.downcast_ref::<&str>(), Some(&"a bug"));
    }
}
