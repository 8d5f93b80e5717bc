//! How far the work is, for whoever waits at a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
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
        if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len}, {eta} left")
        {
            bar.set_style(style.progress_chars("=> "));
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

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
