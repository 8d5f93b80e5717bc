//! `TENSORIZE=tune`: the original answers every call, and at the first one of each size class everything that there is
//! code for is timed beside it, on copies. `cargo tensorize tune` runs a program in this way and keeps what it finds.

#![allow(unsafe_code)]

use crate::elsewhere::{Call, Copies, Failure, loads};
use crate::kernel::Code;
use crate::memory::Array;
use crate::pace::class_of;
use crate::tuned::{self, Line};
use std::ffi::c_void;
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

/// How often each is timed, in turn with the others: whatever else the machine does hits all alike.
const ROUNDS: usize = 7;
/// Shorter calls are timed many at a time.
const SHORTEST: Duration = Duration::from_micros(50);
/// What takes longer than this in all is not timed again.
const LONGEST: Duration = Duration::from_millis(500);

/// Times a call, if it is the first of its class, and adds a line to [`tuned::path`].
///
/// # Safety
/// As for [`crate::run_elsewhere`]; `arrays` are the call's. The original can be called on copies.
pub(crate) unsafe fn measure(call: &Call, arrays: &[Array]) {
    static DONE: Mutex<Vec<(&str, &str, usize)>> = Mutex::new(Vec::new());
    let kernel = call.kernel;
    let class = class_of(call.extent.size);
    let this = (kernel.name, kernel.hash, class);
    // Nobody waits: a kernel that is being measured may call others. What is passed over has its turn at a later call.
    let mut done = match DONE.try_lock() {
        Ok(done) => done,
        Err(TryLockError::Poisoned(done)) => done.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    if done.contains(&this) {
        return;
    }
    done.push(this);
    // The lock is kept: two measurements at a time would spoil each other.
    let mut runners: Vec<Runner> = Vec::new();
    // SAFETY: handed on.
    match unsafe { Copies::of(arrays) } {
        Ok(copies) => runners.push(Runner::new(
            tuned::ORIGINAL,
            Box::new(repeated(copies, call.original)),
        )),
        Err(why) => {
            kernel.notes().why = Some(why);
            return;
        }
    }
    for target in kernel.targets {
        if matches!(target.code, Code::Absent { .. } | Code::Emulated)
            || kernel.usable(target.name).is_err()
            || loads(kernel, target) == Ok(true)
        {
            continue;
        }
        // SAFETY: handed on.
        let run: Box<dyn FnMut(u32) -> Result<Duration, Failure>> = match target.code {
            Code::Native => match unsafe { Copies::of(arrays) } {
                Ok(copies) => Box::new(repeated(copies, |p| (call.native)(target.name, p))),
                Err(_) => continue,
            },
            // To bring arrays there and back is part of a call.
            _ => Box::new(move |calls| {
                let start = Instant::now();
                for _ in 0..calls {
                    // SAFETY: handed on.
                    unsafe { call.attempt(target, arrays) }?;
                }
                Ok(start.elapsed())
            }),
        };
        runners.push(Runner::new(target.name, run));
    }
    for round in 0..ROUNDS {
        for runner in &mut runners {
            if let Err(Failure::Kernel(why)) = runner.round(round) {
                kernel.take_out(runner.name, why);
            }
        }
    }
    let took = runners.iter().filter_map(|r| {
        let ns = u64::try_from(r.best?.as_nanos()).ok()?;
        Some((r.name.to_owned(), ns))
    });
    let line = Line {
        kernel: kernel.name.into(),
        hash: kernel.hash.into(),
        class,
        took: took.collect(),
    };
    if let Err(e) = keep(&line) {
        kernel.notes().why = Some(format!("what was measured can't be kept: {e}"));
    }
}

/// Calls C code so many times. Each call finds the arrays as the program passed them: after its own changes a kernel may
/// go where C allows anything.
fn repeated(
    mut copies: Copies<'_>,
    call: impl Fn(&[*mut c_void]) -> u64,
) -> impl FnMut(u32) -> Result<Duration, Failure> {
    move |calls| {
        let mut took = Duration::ZERO;
        for _ in 0..calls {
            let (pointers, start) = (copies.pointers(), Instant::now());
            black_box(call(&pointers));
            took += start.elapsed();
        }
        Ok(took)
    }
}

/// Something that answers calls, so many at a time.
struct Runner<'a> {
    name: &'static str,
    run: Box<dyn FnMut(u32) -> Result<Duration, Failure> + 'a>,
    calls: u32,
    spent: Duration,
    /// Of one call.
    best: Option<Duration>,
    failed: bool,
}

impl<'a> Runner<'a> {
    fn new(
        name: &'static str,
        run: Box<dyn FnMut(u32) -> Result<Duration, Failure> + 'a>,
    ) -> Runner<'a> {
        Runner {
            name,
            run,
            calls: 1,
            spent: Duration::ZERO,
            best: None,
            failed: false,
        }
    }

    fn round(&mut self, round: usize) -> Result<(), Failure> {
        if self.failed || self.spent > LONGEST {
            return Ok(());
        }
        let mut once = |calls| (self.run)(calls).inspect_err(|_| self.failed = true);
        if round == 0 {
            // What is compiled, loaded or started at the first call is not of interest.
            once(1)?;
            while self.calls < 1 << 20 && once(self.calls)? < SHORTEST {
                self.calls *= 2;
            }
        }
        let took = once(self.calls)?;
        self.spent += took;
        let one = took / self.calls;
        self.best = Some(self.best.map_or(one, |b| b.min(one)));
        Ok(())
    }
}

/// Whole lines only: other processes may write, too.
fn keep(line: &Line) -> std::io::Result<()> {
    let path = tuned::path().ok_or_else(|| {
        std::io::Error::other("there is neither HOME nor XDG_CACHE_HOME nor TENSORIZE_TUNED")
    })?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = File::options().create(true).append(true).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())
}
