//! `cargo tensorize`: finds a crate's C kernels, lifts and proves them, generates code for other
//! targets, and stores what is proven.
//!
//! The binary is three lines around [`main`], so that tests can call all of it.

mod asked;
pub mod cache;
mod cargo_error;
mod cases;
pub mod cli;
pub mod codes;
pub mod columns;
pub mod commands;
pub mod device;
pub mod diagnostics;
pub mod differential;
pub mod exit;
mod flags;
pub mod generate;
mod memory;
pub mod original;
pub mod outlook;
pub mod output;
pub mod pipeline;
pub mod progress;
pub mod project;
pub mod proposer;
pub mod python;
mod remote;
pub mod report;
mod rounded;
mod row_distance;
mod scratch;
pub mod second;
pub mod source;
pub mod sources;
pub mod stored;
pub mod tools;
pub mod usage;
mod words;

use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

/// The same as [`main`], with targets of another crate beside ours: see `docs/adding-a-target.md`.
pub fn main_with(
    args: impl IntoIterator<Item = OsString>,
    targets: &[&'static dyn backends::Target],
) -> ExitCode {
    for target in targets {
        if let Err(taken) = backends::register(*target) {
            eprintln!("error: {taken}");
            return exit::Code::Usage.into();
        }
    }
    main(args)
}

/// Runs the program with these arguments, its own name first. Both `cargo-tensorize …` and
/// `cargo tensorize …` (which cargo turns into `cargo-tensorize tensorize …`) are understood.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    files_that_are_too_large_are_errors();
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.get(1).is_some_and(|a| a == "tensorize") {
        args.remove(1);
    }
    let cli = match cli::Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => {
            let failed = e.use_stderr();
            // A closed pipe on the other side is no reason to fail.
            let _ = e.print();
            return if failed {
                exit::Code::Usage.into()
            } else {
                exit::Code::Clean.into()
            };
        }
    };
    commands::run(&cli).into()
}

/// Where files have a largest size (`ulimit -f`), who writes more is killed without a word. Without the signal the write fails,
/// and what could not be written is told.
#[allow(unsafe_code)]
fn files_that_are_too_large_are_errors() {
    #[cfg(unix)]
    {
        use nix::sys::signal::{SigHandler, Signal, signal};
        // SAFETY: to ignore a signal runs no code of ours.
        let _ = unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) };
    }
}
