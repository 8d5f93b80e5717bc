//! A kernel of the program, and which of its versions is to run.

mod counts;

use crate::choice::{Choice, choice, watch_for_forks};
use crate::device::Api;
use crate::fallback::Reasons;
use crate::pace::{AtOnce, Pace, Paced, Sizes, Turn, is_due};
use counts::Counts;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// How much is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// The same bits.
    Exact,
    /// Equal over the real numbers; floats may differ by rounding.
    Real,
}

impl Tier {
    /// `exact` or `real`.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Exact => "exact",
            Tier::Real => "real",
        }
    }
}

/// Generated code for a kernel.
#[derive(Debug)]
pub struct Target {
    /// Such as `cpu`.
    pub name: &'static str,
    /// How much is proven of it.
    pub tier: Tier,
    /// The code.
    pub code: Code,
}

/// Where a target's code is.
#[derive(Debug)]
pub enum Code {
    /// Linked in, for the machine's own cores.
    Native,
    /// Linked in, for a device that a part of the program stands in for. It runs when it is asked for by name.
    Emulated,
    /// For the Python worker.
    Python {
        /// A module.
        source: &'static str,
        /// The function in it.
        entry: &'static str,
    },
    /// Kernels for a device, compiled when they are first needed.
    Device {
        /// What compiles and runs them.
        api: Api,
        /// All of them.
        source: &'static str,
        /// Their names, in the order in which they run.
        kernels: &'static [&'static str],
    },
    /// There is none.
    Absent {
        /// Why.
        why: &'static str,
    },
}

/// A C kernel. The generated bindings have one in a `static` for each.
#[derive(Debug)]
pub struct Kernel {
    /// The C name.
    pub name: &'static str,
    /// Its source.
    pub file: &'static str,
    /// The line of its definition.
    pub line: u32,
    /// How much is proven; `None` if nothing is.
    pub tier: Option<Tier>,
    /// What has to hold at a call.
    pub guards: &'static [&'static str],
    /// Why it is never swapped, if it isn't.
    pub why: Option<&'static str>,
    /// What was generated.
    pub targets: &'static [Target],
    /// Of what it was lifted from: measurements of another version mean nothing.
    pub hash: &'static str,
    /// What has happened so far; [`State::new`].
    state: State,
}

#[derive(Debug)]
struct State {
    /// Sizes that the original has, whatever else is known: what calls look at first.
    at_once: AtOnce,
    route: AtomicU8,
    counts: Counts,
    pace: Pace,
    notes: Mutex<Notes>,
    /// Held while `route` and `at_once` change, so that they say the same.
    deciding: Mutex<()>,
}

/// Calls that a target answered on copies.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) target: &'static str,
    pub(crate) calls: u64,
    /// Whether something stood in for its device, at the last one.
    pub(crate) emulated: bool,
}

/// What does not happen often.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Targets that failed, and why. They are not tried again.
    pub(crate) out: Vec<(&'static str, String)>,
    /// Targets that [`warm_up`] has got ready.
    ready: Vec<&'static str>,
    /// Why the original ran although something else was asked for.
    pub(crate) why: Option<String>,
    /// All that it was, and how often.
    pub(crate) reasons: Reasons,
    /// The targets that answered calls on copies.
    pub(crate) answered: Vec<Answered>,
    /// What shadow runs found.
    pub(crate) differences: Vec<String>,
    /// How many calls differed.
    pub(crate) differing_calls: u64,
}

/// Which code answers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Route {
    /// The original.
    Original = 1,
    /// The code that is linked in.
    Native = 2,
    /// [`crate::run_elsewhere`] sees to it.
    Elsewhere = 3,
    /// Whichever is the fastest at the size: [`Kernel::faster`] knows.
    Faster = 4,
}

const UNDECIDED: u8 = 0;

/// Once in so many calls, one that goes to the original by way of [`Kernel::faster`] has [`Kernel::is_for_original`] know of its
/// size.
const SEEN_IN_FULL: u64 = 1 << 8;

impl Kernel {
    /// A kernel that has not been called yet.
    pub const fn new(
        name: &'static str,
        (file, line): (&'static str, u32),
        tier: Option<Tier>,
        guards: &'static [&'static str],
        why: Option<&'static str>,
        targets: &'static [Target],
    ) -> Kernel {
        let state = State {
            at_once: AtOnce::new(),
            route: AtomicU8::new(UNDECIDED),
            counts: Counts::new(),
            pace: Pace::new(),
            deciding: Mutex::new(()),
            notes: Mutex::new(Notes {
                out: Vec::new(),
                ready: Vec::new(),
                why: None,
                reasons: Reasons::new(),
                answered: Vec::new(),
                differences: Vec::new(),
                differing_calls: 0,
            }),
        };
        Kernel {
            name,
            file,
            line,
            tier,
            guards,
            why,
            targets,
            hash: "-",
            state,
        }
    }

    /// With the hash under which its results are stored.
    pub const fn with_hash(mut self, hash: &'static str) -> Kernel {
        self.hash = hash;
        self
    }

    /// Whether the original is to answer a call that touches so many elements, as far as that can be told at a glance; the
    /// call is counted then. If not, [`Kernel::route`] knows more.
    #[inline(always)]
    pub fn is_for_original(&self, size: i64) -> bool {
        let calls = self.state.counts.original.load(Ordering::Relaxed);
        if !self.state.at_once.load().contain(size) || is_due(calls) {
            return false;
        }
        self.count_original();
        true
    }

    /// Which code is to answer a call.
    #[inline(always)]
    pub fn route(&'static self) -> Route {
        match self.state.route.load(Ordering::Relaxed) {
            1 => Route::Original,
            2 => Route::Native,
            3 => Route::Elsewhere,
            4 => Route::Faster,
            _ => self.decide(),
        }
    }

    #[cold]
    fn decide(&'static self) -> Route {
        let deciding = self.deciding();
        // Whatever goes wrong here must not unwind into C.
        let decided = std::panic::catch_unwind(|| {
            watch_for_forks();
            crate::written::when_the_program_ends();
            let choice = choice();
            let route = self.decide_for(&choice);
            if !FORKED.load(Ordering::Relaxed) {
                self.stands(&choice, route);
            }
            route
        });
        let route = decided.unwrap_or(Route::Original);
        self.state.route.store(route as u8, Ordering::Relaxed);
        self.look_again(0, &deciding);
        route
    }

    fn deciding(&self) -> MutexGuard<'_, ()> {
        let deciding = self.state.deciding.lock();
        deciding.unwrap_or_else(PoisonError::into_inner)
    }

    /// Has [`Kernel::is_for_original`] say what the route and the classes say of sizes around this one.
    fn look_again(&self, around: i64, _: &MutexGuard<'_, ()>) {
        let originals = match self.state.route.load(Ordering::Relaxed) {
            route if route == Route::Original as u8 => Sizes::ALL,
            route if route == Route::Faster as u8 => self.state.pace.originals(around),
            _ => Sizes::NONE,
        };
        self.state.at_once.store(originals);
    }

    /// The same where somebody else may have decided meanwhile.
    fn refresh(&self, around: i64) {
        // A forked child has originals alone, and somebody who is no more may hold its lock.
        if !FORKED.load(Ordering::Relaxed) {
            self.look_again(around, &self.deciding());
        }
    }

    /// At the next call, all is decided again.
    fn decide_later(&self) {
        if FORKED.load(Ordering::Relaxed) {
            return;
        }
        let deciding = self.deciding();
        self.state.route.store(UNDECIDED, Ordering::Relaxed);
        self.look_again(0, &deciding);
    }

    fn decide_for(&self, choice: &Choice) -> Route {
        if FORKED.load(Ordering::Relaxed) {
            return Route::Original;
        }
        let wanted = match choice {
            Choice::Off => return Route::Original,
            Choice::Auto => return self.adopt_measurements(),
            Choice::Tune => return Route::Elsewhere,
            Choice::Shadow(target) => target.as_deref().unwrap_or("cpu"),
            Choice::Target(target) => target.as_str(),
        };
        match self.usable(wanted) {
            Ok(Target {
                code: Code::Native, ..
            }) if matches!(choice, Choice::Target(_)) => Route::Native,
            Ok(_) => Route::Elsewhere,
            Err(why) => {
                self.notes().why = Some(why);
                Route::Original
            }
        }
    }

    /// Has each size class go to what was the fastest on this machine, if somebody has measured.
    fn adopt_measurements(&self) -> Route {
        let ready = self.notes().ready.clone();
        let turn_of = |name: &str| {
            let number = self.targets.iter().position(|t| t.name == name)?;
            match self.usable(name).ok()?.code {
                Code::Native => Some(Turn::Native),
                // To start it in the middle of a program may cost more than it ever saves.
                _ if ready.contains(&name) => Some(Turn::Elsewhere(u8::try_from(number).ok()?)),
                _ => None,
            }
        };
        let turns = crate::tuned::turns(crate::tuned::of_kernel(self.name, self.hash), turn_of);
        self.state.pace.set(&turns);
        let native = self.targets.iter().any(|t| matches!(t.code, Code::Native));
        let elsewhere = |t: &Option<Turn>| matches!(t, Some(Turn::Elsewhere(_)));
        if native || turns.iter().any(elsewhere) {
            Route::Faster
        } else {
            Route::Original
        }
    }

    /// Who answers calls of which sizes, where sizes decide that.
    pub(crate) fn paced(&self) -> Vec<Paced> {
        match self.state.route.load(Ordering::Relaxed) {
            route if route == Route::Faster as u8 => self.state.pace.told(),
            _ => Vec::new(),
        }
    }

    /// The target that is the fastest at this size, if it runs on copies.
    pub(crate) fn fastest_elsewhere(&self, size: i64) -> Option<&'static Target> {
        match self.state.pace.turn(size) {
            Turn::Elsewhere(number) => self.targets.get(usize::from(number)),
            _ => None,
        }
    }

    /// What somebody measured to be the fastest at some size, and has to be started.
    pub(crate) fn wanted_by_measurements(&self) -> Vec<&'static Target> {
        let lines: Vec<_> = crate::tuned::of_kernel(self.name, self.hash).collect();
        let wins = |t: &&Target| lines.iter().any(|l| l.fastest() == Some(t.name));
        let started = |t: &&Target| matches!(t.code, Code::Python { .. } | Code::Device { .. });
        self.targets.iter().filter(started).filter(wins).collect()
    }

    /// A target is started, so that it may answer calls where it is the fastest.
    pub(crate) fn is_ready(&self, target: &'static str) {
        let mut notes = self.notes();
        if !notes.ready.contains(&target) {
            notes.ready.push(target);
        }
        drop(notes);
        self.decide_later();
    }

    /// The target of this name, or why it can't run.
    pub(crate) fn usable(&self, name: &str) -> Result<&'static Target, String> {
        let Some(target) = self.targets.iter().find(|t| t.name == name) else {
            return Err(format!("there is no code for {name}"));
        };
        if let Code::Absent { why } = target.code {
            return Err(format!("{name}: {why}"));
        }
        match self.notes().out.iter().find(|(n, _)| *n == name) {
            Some((_, why)) => Err(format!("{name}: {why}")),
            None => Ok(target),
        }
    }

    /// Takes a target out for the rest of the process.
    pub(crate) fn take_out(&self, target: &'static str, why: String) {
        let mut notes = self.notes();
        if !notes.out.iter().any(|(n, _)| *n == target) {
            notes.out.push((target, why));
        }
        drop(notes);
        self.decide_later();
    }

    pub(crate) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.state
            .notes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Which code answers a call that touches so many elements, on [`Route::Faster`]; this route again where
    /// [`Kernel::run_faster`] still has to find out.
    #[inline(always)]
    pub fn faster(&self, size: i64) -> Route {
        let s = &self.state;
        match s.pace.turn(size) {
            Turn::Original => {
                let calls = self.after(size, &s.counts.original);
                if calls.is_multiple_of(SEEN_IN_FULL) && !s.at_once.load().contain(size) {
                    self.refresh(size);
                }
                Route::Original
            }
            Turn::Native => {
                self.after(size, &s.counts.native);
                Route::Native
            }
            Turn::Elsewhere(_) => Route::Elsewhere,
            Turn::Trial { .. } => Route::Faster,
        }
    }

    /// Has a class that was found out here timed again now and then, by how many calls there were, which is returned.
    #[inline(always)]
    fn after(&self, size: i64, calls: &AtomicU64) -> u64 {
        let calls = calls.load(Ordering::Relaxed);
        if is_due(calls) {
            self.again(size);
        }
        calls
    }

    #[cold]
    fn again(&self, size: i64) {
        self.state.pace.again(size);
        self.refresh(size);
    }

    /// Runs the one of the two whose turn it is, and notes how long it took.
    #[inline]
    pub fn run_faster<R>(
        &self,
        size: i64,
        native: impl FnOnce() -> R,
        original: impl FnOnce() -> R,
    ) -> R {
        let (is_native, start) = self.turn(size);
        let result = if is_native { native() } else { original() };
        self.took(size, is_native, start);
        result
    }

    /// Whose turn it is, counted, and when it began.
    #[cold]
    fn turn(&self, size: i64) -> (bool, Instant) {
        let is_native = match self.state.pace.turn(size) {
            Turn::Trial { native } => native,
            turn => turn == Turn::Native,
        };
        match is_native {
            true => self.count_native(),
            false => self.count_original(),
        }
        (is_native, Instant::now())
    }

    /// Notes how long a call took.
    #[cold]
    fn took(&self, size: i64, is_native: bool, start: Instant) {
        let ns = start.elapsed().as_nanos() as u64;
        self.state.pace.note(size, is_native, ns);
        self.refresh(size);
    }
}

/// The kernels of one `Build::compile`.
#[derive(Debug)]
pub struct Library {
    kernels: &'static [&'static Kernel],
    registered: AtomicBool,
    next: AtomicPtr<Library>,
}

static LIBRARIES: AtomicPtr<Library> = AtomicPtr::new(ptr::null_mut());
static FORKED: AtomicBool = AtomicBool::new(false);

impl Library {
    /// A library that is not registered yet.
    pub const fn new(kernels: &'static [&'static Kernel]) -> Library {
        Library {
            kernels,
            registered: AtomicBool::new(false),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Makes the kernels known to the report. The bindings call it before `main`, so it allocates nothing.
    pub fn register(&'static self) {
        if self.registered.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = ptr::from_ref(self).cast_mut();
        let mut head = LIBRARIES.load(Ordering::Acquire);
        loop {
            self.next.store(head, Ordering::Relaxed);
            match LIBRARIES.compare_exchange(head, this, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(current) => head = current,
            }
        }
    }
}

/// Every kernel that is known.
pub(crate) fn kernels() -> impl Iterator<Item = &'static Kernel> {
    let mut next = LIBRARIES.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        #[allow(unsafe_code)]
        // SAFETY: `register` puts only pointers to statics there, after it has set their `next`.
        let library: &'static Library = unsafe { next.as_ref() }?;
        next = library.next.load(Ordering::Acquire);
        Some(library)
    })
    .flat_map(|library| library.kernels.iter().copied())
}

/// Every route is decided again at the next call.
pub(crate) fn decide_anew() {
    kernels().for_each(Kernel::decide_later);
}

/// Whether this is a forked child, in which somebody who is no more may hold a lock.
pub(crate) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// From now on, originals answer. Safe to call in a forked child.
pub(crate) fn originals_only() {
    FORKED.store(true, Ordering::Relaxed);
    kernels().for_each(|k| {
        let original = Route::Original as u8;
        k.state.route.store(original, Ordering::Relaxed);
        k.state.at_once.store(Sizes::ALL);
    });
}

/// Pays ahead for what the first call of each kernel would pay: reads the environment, decides what runs,
/// and starts the Python worker, or has a device's driver compile the kernels, if they will be needed. What
/// `TENSORIZE=auto` would have to start, since it was measured to be the fastest, runs only after that.
pub fn warm_up() {
    for kernel in kernels().filter(|k| k.tier.is_some()) {
        if kernel.route() == Route::Elsewhere || choice() == Choice::Auto {
            crate::elsewhere::prepare(kernel);
        }
    }
}
