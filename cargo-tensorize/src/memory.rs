//! What reading a source may take of the machine's memory.
//!
//! libclang reads what a source includes within this process, where it can't be interrupted, and what is included may have no
//! end, such as a device. So somebody looks on, and ends the program before there is none left.

use crate::diagnostics::{Diagnostic, line_span};
use crate::exit::Code;
use crate::usage;
use annotate_snippets::Renderer;
use nix::sys::resource::{Resource, getrlimit};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How often somebody looks.
const LOOK: Duration = Duration::from_millis(20);

/// What reading one file may take. Half of a large machine's memory is a long time of reading.
const FOR_A_FILE: u64 = 4 << 30;

/// What is being read.
static READING: Mutex<Files> = Mutex::new(Files {
    all: Vec::new(),
    watched: false,
});

struct Files {
    all: Vec<PathBuf>,
    /// Somebody looks on.
    watched: bool,
}

/// Does what reads this file. The program ends with an error that names it if that takes [`FOR_A_FILE`], or half of the
/// memory that is free; on Linux, where that can be known.
pub fn watched<T>(file: &Path, work: impl FnOnce() -> T) -> T {
    let mut files = reading();
    files.all.push(file.to_owned());
    if !std::mem::replace(&mut files.watched, true) {
        thread::spawn(look_on);
    }
    drop(files);
    let _reading = Reading(file);
    work()
}

/// Until it is dropped, also by a panic.
struct Reading<'a>(&'a Path);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let files = &mut reading().all;
        if let Some(at) = files.iter().position(|f| f == self.0) {
            files.swap_remove(at);
        }
    }
}

fn reading() -> MutexGuard<'static, Files> {
    READING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks on while anything is read.
fn look_on() {
    let (Some(most), Some(before)) = (most(), held()) else {
        return;
    };
    // What was read and is done may be held for later.
    let mut at_once = 0;
    loop {
        thread::sleep(LOOK);
        let mut files = reading();
        let Some(first) = files.all.first() else {
            files.watched = false;
            return;
        };
        at_once = at_once.max(files.all.len() as u64);
        let most = most.min(for_files(before, at_once));
        if held().is_some_and(|held| held > most) {
            let names: Vec<String> = files.all.iter().map(|f| f.display().to_string()).collect();
            let message = format!(
                "{} cannot be read: it takes more than {} MiB of memory",
                names.join(" or "),
                most >> 20
            );
            let help = "a device that is included is the usual cause; another one are macros and headers that expand into more and more";
            let d = Diagnostic::error("TZ0202", message)
                .at(Some(line_span(first, 1)))
                .help(help);
            anstream::eprintln!("{}", d.render(&Renderer::styled()));
            std::process::exit(Code::CouldNotRun as i32);
        }
    }
}

/// What this process may hold while it reads so many files at once, if it has held as much before.
fn for_files(before: u64, files: u64) -> u64 {
    before.saturating_add(FOR_A_FILE.saturating_mul(files))
}

/// What this process may hold, in bytes, whatever it reads.
fn most() -> Option<u64> {
    let free = usage::kib(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    let held = held()?;
    // A container may have less than its machine.
    let container = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let container = container.and_then(|text| text.trim().parse::<u64>().ok());
    // Addresses are not memory: stacks and libraries take many and use few.
    let addresses = getrlimit(Resource::RLIMIT_AS).map_or(u64::MAX, |(soft, _)| soft) / 4;
    let half = held + free.min(container.unwrap_or(u64::MAX)) / 2;
    Some(half.min(addresses.max(held)))
}

/// What it holds.
fn held() -> Option<u64> {
    usage::kib(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}
