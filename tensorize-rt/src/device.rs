//! Devices with memory of their own: what a kernel is given of a call, and what comes back.
//!
//! A driver is loaded when a call needs it, by a thread that is the only one to use it: who asks a device for something
//! waits no longer than a worker is waited for. A driver that can't be loaded, fails, or gives no answer in time is not tried
//! again in this process.

#![allow(unsafe_code)]

use crate::elsewhere::{Failure, Outcome, copy_of, timeout};
use crate::memory::{Array, Buffer, Elem};
use crate::value::Argument;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

#[cfg(feature = "cuda")]
mod cuda;
mod listed;
#[cfg(feature = "opencl")]
mod opencl;

pub use listed::{Component, Details};

/// What compiles and runs the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Whatever has an OpenCL driver.
    OpenCl,
    /// NVIDIA's.
    Cuda,
}

/// How many items a group has.
pub(crate) const GROUP: usize = 256;
/// More groups don't run at the same time on any device, and a kernel does its work with any number of them.
const MOST_GROUPS: usize = 1 << 14;
/// How many 64-bit numbers kernels of one call can leave to one another.
const KEPT: usize = 64;

/// Generated kernels.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(any(feature = "opencl", feature = "cuda")),
    expect(dead_code, reason = "nobody runs them")
)]
pub(crate) struct Module {
    pub(crate) name: &'static str,
    pub(crate) api: Api,
    pub(crate) source: &'static str,
    /// In the order in which they run. Those between `[` and `]` run in rounds: as many as the last of the kept numbers says
    /// then, and the number of the round is an argument. For each `+8`, or another size, room for so large elements is one;
    /// how many these are is what the number before the last says, the one before it for the next, and so on.
    pub(crate) kernels: &'static [&'static str],
}

/// Where among the arguments those are that the call doesn't have.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(
    not(any(feature = "opencl", feature = "cuda")),
    expect(dead_code, reason = "nobody runs them")
)]
pub(crate) struct Places {
    /// What kernels leave to one another.
    pub(crate) kept: usize,
    /// The number of the round.
    pub(crate) round: Option<usize>,
    /// The first of the rooms.
    pub(crate) rooms: usize,
}

/// What is to be done next when a module runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// To start the kernel with this number among the module's, in this round.
    Kernel(usize, u64),
    /// To tell the kept number at this place.
    Number(usize),
    /// To make room, so many bytes, for the argument at this place among the rooms.
    Room(usize, usize),
}

#[cfg_attr(
    not(any(feature = "opencl", feature = "cuda")),
    expect(dead_code, reason = "nobody runs them")
)]
impl Module {
    /// The kernels' names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        let all = self.kernels.iter().copied();
        all.filter(|k| !k.starts_with(['[', ']', '+']))
    }

    /// Calls `next` for all that is to be done, in this order.
    pub(crate) fn in_order(
        &self,
        mut next: impl FnMut(Next) -> Result<i64, Trouble>,
    ) -> Result<(), Trouble> {
        let (mut started, mut rooms) = (0, 0);
        let mut rest = self.kernels;
        while let Some((first, after)) = rest.split_first() {
            rest = after;
            if *first == "[" {
                let kernels = after.iter().take_while(|k| **k != "]").count();
                let rounds = u64::try_from(next(Next::Number(KEPT - 1))?).unwrap_or(0);
                for round in 0..rounds {
                    for kernel in started..started + kernels {
                        next(Next::Kernel(kernel, round))?;
                    }
                }
                started += kernels;
                rest = after.get(kernels + 1..).unwrap_or_default();
            } else if let Some(size) = first.strip_prefix('+') {
                let count = next(Next::Number(KEPT - 2 - rooms))?.max(1);
                let bytes = size.parse().ok().and_then(|s| count.checked_mul(s));
                let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
                let much = || Trouble::Call("there is not enough memory".into());
                next(Next::Room(rooms, bytes.ok_or_else(much)?))?;
                rooms += 1;
            } else {
                next(Next::Kernel(started, 0))?;
                started += 1;
            }
        }
        Ok(())
    }
}

/// A kernel's argument.
#[cfg_attr(
    not(any(feature = "opencl", feature = "cuda")),
    expect(dead_code, reason = "nobody takes them")
)]
pub(crate) enum Given {
    /// Elements that lie one after the other, to be copied to the device, and back if they are written.
    Elements { bytes: Buffer, writes: bool },
    /// A number of 1, 2, 4 or 8 bytes, in the lowest ones.
    Number { bits: u64, size: usize },
    /// Memory of the device that only kernels see.
    Room,
}

/// What went wrong.
#[cfg_attr(
    not(any(feature = "opencl", feature = "cuda")),
    expect(dead_code, reason = "nobody runs them")
)]
pub(crate) enum Trouble {
    /// The device is fine, this call was too much for it.
    Call(String),
    /// The device is fine, the kernels aren't.
    Module(String),
    /// The device, or its driver, isn't.
    Device(String),
}

/// A device that is ready. It stays on the thread that has started it.
pub(crate) trait Device {
    /// Its name, as its driver has it.
    fn name(&self) -> String;

    /// Compiles the kernels, if that has not been done.
    fn load(&mut self, module: &Module) -> Result<(), Trouble>;

    /// Runs a module's kernels one after the other on these arguments, in that many groups. What is written is written
    /// back to the arguments.
    fn run(
        &mut self,
        module: &Module,
        arguments: &mut [Given],
        places: Places,
        groups: usize,
    ) -> Result<(), Trouble>;
}

/// A call of kernels.
struct Run {
    given: Vec<Given>,
    places: Places,
    groups: usize,
}

/// What a device is to do.
struct Work {
    module: Module,
    /// Nothing where the kernels are only to be compiled.
    run: Option<Run>,
    /// Where the arguments go in the end, as the kernels have left them.
    answer: Sender<Result<Vec<Given>, Trouble>>,
}

impl Work {
    fn on(&mut self, device: &mut dyn Device) -> Result<Vec<Given>, Trouble> {
        device.load(&self.module)?;
        let Some(mut run) = self.run.take() else {
            return Ok(Vec::new());
        };
        device.run(&self.module, &mut run.given, run.places, run.groups)?;
        Ok(run.given)
    }
}

enum State {
    NotStarted,
    Running(Sender<Work>),
    Failed(String),
}

static OPENCL: Mutex<State> = Mutex::new(State::NotStarted);
static CUDA: Mutex<State> = Mutex::new(State::NotStarted);

static OPENCL_NAME: OnceLock<String> = OnceLock::new();
static CUDA_NAME: OnceLock<String> = OnceLock::new();

fn name_of(api: Api) -> &'static OnceLock<String> {
    match api {
        Api::OpenCl => &OPENCL_NAME,
        Api::Cuda => &CUDA_NAME,
    }
}

impl Api {
    /// The name of the device that this process computes on, as its driver has it; nothing before that has started.
    pub fn device(self) -> Option<&'static str> {
        name_of(self).get().map(String::as_str)
    }
}

/// Runs a module on copies of the arrays.
///
/// # Safety
/// The arrays are those of a call of the kernel, with its proven footprints.
pub(crate) unsafe fn call(
    module: &Module,
    arrays: &[Array],
    arguments: &[Argument],
    ret: Option<Elem>,
) -> Result<Outcome, Failure> {
    // SAFETY: handed on.
    let (mut given, places) = unsafe { arguments_of(arrays, arguments, ret) }?;
    let kept = given.len() - 1 - usize::from(ret.is_some());
    let round = module.kernels.contains(&"[").then_some(given.len());
    given.extend(round.map(|_| Given::Number { bits: 0, size: 8 }));
    let others = Places {
        kept,
        round,
        rooms: given.len(),
    };
    let rooms = module.kernels.iter().filter(|k| k.starts_with('+'));
    given.extend(rooms.map(|_| Given::Room));
    let most = arrays.iter().filter_map(Array::len).max().unwrap_or(1);
    let groups = most.div_ceil(GROUP).clamp(1, MOST_GROUPS);
    let before = snapshots(&given, &places)?;
    let run = Run {
        given,
        places: others,
        groups,
    };
    let mut given = ask(module, Some(run))?;
    let result = match (ret, given.get(kept + 1)) {
        (Some(elem), Some(Given::Elements { bytes, .. })) => {
            let mut word = [0; 8];
            word[..elem.size()].copy_from_slice(bytes.as_slice());
            u64::from_le_bytes(word)
        }
        _ => 0,
    };
    let mut written = Vec::new();
    for (position, old) in before {
        if let Given::Elements { bytes, .. } = &mut given[places[position]]
            && let Some(none) = Buffer::new(0)
        {
            written.push((position, old, std::mem::replace(bytes, none)));
        }
    }
    Ok(Outcome {
        written,
        result,
        emulated: false,
    })
}

/// Gets the device ready for a module.
pub(crate) fn prepare(module: &Module) -> Result<(), String> {
    let ready = ask(module, None).map(|_| ());
    ready.map_err(|f| match f {
        Failure::Call(why) | Failure::Kernel(why) => why,
    })
}

/// Has the device compile a module, and run it on these arguments; what becomes of them.
fn ask(module: &Module, run: Option<Run>) -> Result<Vec<Given>, Failure> {
    let state = match module.api {
        Api::OpenCl => &OPENCL,
        Api::Cuda => &CUDA,
    };
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    if let State::NotStarted = *state {
        let api = module.api;
        *state = match thread_of(move || start(api)) {
            Ok(works) => State::Running(works),
            Err(why) => State::Failed(why),
        };
    }
    let works = match &*state {
        State::Running(works) => works,
        State::Failed(why) => return Err(Failure::Kernel(why.clone())),
        State::NotStarted => return Err(Failure::Kernel("the device did not start".into())),
    };
    answer(works, module, run, timeout()).map_err(|trouble| {
        if let Trouble::Device(why) = &trouble {
            *state = State::Failed(why.clone());
        }
        trouble.into()
    })
}

/// What the thread that has the device says, if it does so in time.
fn answer(
    works: &Sender<Work>,
    module: &Module,
    run: Option<Run>,
    limit: Duration,
) -> Result<Vec<Given>, Trouble> {
    let (answer, answers) = channel();
    let work = Work {
        module: *module,
        run,
        answer,
    };
    // A thread that takes no work any more has dropped this one, so that no answer comes.
    works.send(work).ok();
    answers.recv_timeout(limit).unwrap_or_else(|why| {
        Err(Trouble::Device(match why {
            // The thread may never come back. It has copies of its own of all that the call's arrays hold.
            RecvTimeoutError::Timeout => format!("no answer within {} s", limit.as_secs()),
            RecvTimeoutError::Disconnected => "its driver has failed".into(),
        }))
    })
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        match trouble {
            Trouble::Call(why) => Failure::Call(why),
            Trouble::Module(why) | Trouble::Device(why) => Failure::Kernel(why),
        }
    }
}

/// Starts the thread that has the device, for as long as there may be work for it.
fn thread_of(
    start: impl FnOnce() -> Result<Box<dyn Device>, String> + Send + 'static,
) -> Result<Sender<Work>, String> {
    let (works, todo): (Sender<Work>, Receiver<Work>) = channel();
    let life = move || {
        let mut device = start();
        for mut work in todo {
            let done = match &mut device {
                Ok(device) => work.on(device.as_mut()),
                Err(why) => Err(Trouble::Device(why.clone())),
            };
            // Nobody waits for what comes late.
            work.answer.send(done).ok();
        }
    };
    thread::Builder::new()
        .name("tensorize device".into())
        .spawn(life)
        .map(|_| works)
        .map_err(|e| format!("there is no thread for it: {e}"))
}

fn start(api: Api) -> Result<Box<dyn Device>, String> {
    let device = device_of(api)?;
    name_of(api).get_or_init(|| device.name());
    Ok(device)
}

fn device_of(api: Api) -> Result<Box<dyn Device>, String> {
    match api {
        #[cfg(feature = "opencl")]
        Api::OpenCl => opencl::start(),
        #[cfg(not(feature = "opencl"))]
        Api::OpenCl => Err(without("opencl")),
        #[cfg(feature = "cuda")]
        Api::Cuda => cuda::start(),
        #[cfg(not(feature = "cuda"))]
        Api::Cuda => Err(without("cuda")),
    }
}

#[cfg(not(all(feature = "opencl", feature = "cuda")))]
fn without(feature: &str) -> String {
    format!("the program was built without the feature `{feature}` of tensorize-rt")
}

/// The arguments of a module's kernels: the call's own in their order, each array with the number of its first element;
/// then room for what is kept, and for the result. With them, where each array is among them.
unsafe fn arguments_of(
    arrays: &[Array],
    arguments: &[Argument],
    ret: Option<Elem>,
) -> Result<(Vec<Given>, Vec<usize>), Trouble> {
    let room = |bytes: usize| {
        let bytes =
            Buffer::new(bytes).ok_or_else(|| Trouble::Call("there is not enough memory".into()))?;
        Ok(Given::Elements {
            bytes,
            writes: true,
        })
    };
    let mut given = Vec::new();
    let mut places = Vec::new();
    let mut left = arrays.iter();
    for argument in arguments {
        match *argument {
            Argument::Array => {
                let array = left
                    .next()
                    .ok_or_else(|| Trouble::Call("its arguments don't fit together".into()))?;
                // SAFETY: handed on.
                let bytes = unsafe { copy_of(array) }.map_err(Trouble::Call)?;
                places.push(given.len());
                given.push(Given::Elements {
                    bytes,
                    writes: array.writes,
                });
                given.push(Given::Number {
                    bits: array.lo as u64,
                    size: 8,
                });
            }
            Argument::Scalar(elem, bits) => given.push(Given::Number {
                bits,
                size: elem.size(),
            }),
        }
    }
    given.push(room(8 * KEPT)?);
    if let Some(elem) = ret {
        given.push(room(elem.size())?);
    }
    Ok((given, places))
}

/// Copies of the arrays that are written, with their positions among the arrays.
fn snapshots(given: &[Given], places: &[usize]) -> Result<Vec<(usize, Buffer)>, Trouble> {
    let mut copies = Vec::new();
    for (position, place) in places.iter().enumerate() {
        if let Given::Elements {
            bytes,
            writes: true,
        } = &given[*place]
        {
            let mut copy = Buffer::new(bytes.as_slice().len())
                .ok_or_else(|| Trouble::Call("there is not enough memory".into()))?;
            copy.as_mut_slice().copy_from_slice(bytes.as_slice());
            copies.push((position, copy));
        }
    }
    Ok(copies)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(kernels: &'static [&'static str], numbers: &[(usize, i64)]) -> Vec<Next> {
        let module = Module {
            name: "k",
            api: Api::OpenCl,
            source: "",
            kernels,
        };
        let mut all = Vec::new();
        let done = module.in_order(|next| {
            all.push(next);
            let number = numbers.iter().find(|(n, _)| next == Next::Number(*n));
            Ok(number.map_or(0, |(_, number)| *number))
        });
        assert!(done.is_ok() || all.last() == Some(&Next::Number(62)));
        all
    }

    #[test]
    fn kernels_run_in_their_order_and_rounds() {
        use Next::{Kernel, Number, Room};
        assert_eq!(order(&["a", "b"], &[]), [Kernel(0, 0), Kernel(1, 0)]);
        let over_time: &[&str] = &["a", "+8", "+1", "[", "b", "c", "]", "d"];
        let first = [
            Kernel(0, 0),
            Number(62),
            Room(0, 40),
            Number(61),
            Room(1, 1),
            Number(63),
        ];
        let rounds = [Kernel(1, 0), Kernel(2, 0), Kernel(1, 1), Kernel(2, 1)];
        let numbers = [(63, 2), (62, 5), (61, -3)];
        let all = [&first[..], &rounds, &[Kernel(3, 0)]].concat();
        assert_eq!(order(over_time, &numbers), all);
        let none = [&first[..], &[Kernel(3, 0)]].concat();
        assert_eq!(order(over_time, &[(63, -1), (62, 5)]), none);
        // More than there can be is too much for this call.
        let all = order(&["a", "+8"], &[(62, i64::MAX)]);
        assert_eq!(all, [Kernel(0, 0), Number(62)]);
    }

    /// A driver that is made to fail in one of its ways.
    struct Faulty(&'static str);

    impl Faulty {
        fn fails(&self, when: &str) {
            match self.0.strip_prefix(when) {
                Some(" hangs") => loop {
                    thread::park();
                },
                Some(" panics") => panic!("as it is told to"),
                _ => {}
            }
        }
    }

    impl Device for Faulty {
        fn name(&self) -> String {
            "faulty".into()
        }

        fn load(&mut self, _: &Module) -> Result<(), Trouble> {
            self.fails("load");
            Ok(())
        }

        fn run(
            &mut self,
            _: &Module,
            given: &mut [Given],
            _: Places,
            _: usize,
        ) -> Result<(), Trouble> {
            self.fails("run");
            given[0] = Given::Number { bits: 7, size: 8 };
            Ok(())
        }
    }

    /// What the thread of such a driver says to two calls in a row.
    fn said(how: &'static str) -> [Result<u64, String>; 2] {
        let works = thread_of(move || {
            let device = Faulty(how);
            device.fails("start");
            match how {
                "start fails" => Err("there is none".into()),
                _ => Ok(Box::new(device)),
            }
        });
        let works = works.expect("a thread");
        let module = Module {
            name: "k",
            api: Api::OpenCl,
            source: "",
            kernels: &[],
        };
        [1, 2].map(|bits| {
            let run = Run {
                given: vec![Given::Number { bits, size: 8 }],
                places: Places::default(),
                groups: 1,
            };
            match answer(&works, &module, Some(run), Duration::from_secs(1)) {
                Ok(given) => match given[..] {
                    [Given::Number { bits, .. }] => Ok(bits),
                    _ => panic!("other arguments"),
                },
                Err(Trouble::Device(why)) => Err(why),
                Err(Trouble::Call(_) | Trouble::Module(_)) => panic!("another trouble"),
            }
        })
    }

    #[test]
    fn a_driver_may_do_what_it_likes() {
        assert_eq!(said("nothing"), [Ok(7), Ok(7)]);
        for when in ["start", "load", "run"] {
            let hangs: &str = format!("{when} hangs").leak();
            assert_eq!(
                said(hangs),
                ["no answer within 1 s"; 2].map(|why| Err(why.into()))
            );
            let panics: &str = format!("{when} panics").leak();
            assert_eq!(
                said(panics),
                ["its driver has failed"; 2].map(|why| Err(why.into()))
            );
        }
        assert_eq!(
            said("start fails"),
            ["there is none"; 2].map(|why| Err(why.into()))
        );
    }
}
