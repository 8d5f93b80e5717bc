//! How far the work is, for whoever waits at a terminal.

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::time::Duration;

/// What is done sooner needs no bar.
const WAIT: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(200);

/// A bar on standard error, gone when it is dropped. Where that is no terminal there is none.
pub struct Progress(ProgressBar);

impl Progress {
    /// Of so many pieces of work; `what` says in a word or two what is done to them.
    pub fn new(what: &'static str, pieces: usize) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(pieces as u64), ProgressDrawTarget::hidden());
        bar.set_message(what);
        Progress::later(bar, "{msg} [{bar:30}] {pos}/{len}, {left}")
    }

    /// Of something that may take a while, nobody knows how long.
    pub fn waiting(what: String) -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_message(what);
        Progress::later(bar, "{spinner} {msg}, {elapsed}")
    }

    fn later(bar: ProgressBar, template: &str) -> Progress {
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> ").with_key("left", left));
        }
        // It must not keep alive what it shows.
        let weak = bar.downgrade();
        std::thread::spawn(move || {
            std::thread::sleep(WAIT);
            if let Some(bar) = weak.upgrade().filter(|bar| !bar.is_finished()) {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.enable_steady_tick(TICK);
            }
        });
        Progress(bar)
    }

    /// One more piece is done.
    pub fn step(&self) {
        self.0.inc(1);
    }
}

/// How long it will take; before the first piece is done, for which nobody knows, how long it has taken.
fn left(state: &ProgressState, out: &mut dyn Write) {
    // An error is that of the terminal, to which no bar matters.
    let _ = match state.pos() {
        0 => write!(out, "{:#} so far", HumanDuration(state.elapsed())),
        _ => write!(out, "{:#} left", HumanDuration(state.eta())),
    };
}

/// As [`Progress`], where nobody knows how much there is to do.
pub struct Counter(ProgressBar);

impl Counter {
    /// `what` is said before the number.
    pub fn new(what: &'static str) -> Counter {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_message(what);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {pos}, {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TICK);
        Counter(bar)
    }

    /// So many are done.
    pub fn at(&self, done: usize) {
        self.0.set_position(done as u64);
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
