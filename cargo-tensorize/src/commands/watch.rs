//! `watch`: the kernels' state while somebody edits them. Nothing is written: this is about the verdict, and
//! `cargo tensorize` or the next build stores it.
//!
//! What the operating system tells is only a reason to look. What changed is found by comparing the files with how they
//! were, so that it does not matter how an editor saves, whether a folder went and came back, or what was missed.

mod screen;
mod state;
mod wake;

use super::Output;
use crate::cli::{Common, Watch};
use crate::exit::Code;
use serde::Serialize;
use state::{Look, State};
use std::time::{Duration, Instant};
use wake::Waker;

/// What a look gave, for programs.
#[derive(Serialize)]
struct Verdict {
    reason: &'static str,
    /// Files that were read again.
    files: usize,
    /// Kernels that had to be proven again.
    proved: usize,
    kernels: usize,
    proven: usize,
    /// From the first sign of a change to here.
    ms: f64,
}

/// Watches until it is interrupted.
pub fn run(args: &Watch, common: &Common, out: &Output) -> Code {
    let start = Instant::now();
    let mut state = match State::new(&args.project, common) {
        Ok(state) => state,
        Err(d) => {
            out.diagnostic(&d);
            return Code::CouldNotRun;
        }
    };
    let mut waker = Waker::new(args.poll.map(Duration::from_secs_f64));
    // What changes from here on is seen; what the first look reads is compared with it.
    waker.watch(&state.folders());
    let first = state.look(true);
    show(&state, &first, start, out);
    state.prepare();
    loop {
        waker.watch(&state.folders());
        let Some(woken) = waker.wait() else {
            return Code::Clean;
        };
        let look = state.look(woken.by_event);
        if look.files > 0 || look.reloaded {
            show(&state, &look, woken.at, out);
            // Not needed for the verdict, and so after it.
            state.prepare();
        }
    }
}

fn show(state: &State, look: &Look, since: Instant, out: &Output) {
    let kernels = state.kernels();
    let proven = |k: &&&crate::report::KernelReport| k.status == crate::report::Status::Proven;
    let verdict = Verdict {
        reason: "verdict",
        files: look.files,
        proved: look.proved.len(),
        kernels: kernels.len(),
        proven: kernels.iter().filter(proven).count(),
        ms: since.elapsed().as_secs_f64() * 1e3,
    };
    for kernel in kernels.iter().filter(|k| look.changed.contains(&k.name)) {
        out.json(*kernel);
    }
    out.json(&verdict);
    out.screen(&screen::draw(state, look, verdict.ms));
}
