//! The Python worker: one process, started when it is first needed.
//!
//! Arrays go through a shared file that both map; everything else goes through a socket. A worker that
//! dies, hangs or can't be started is not tried again in this process.

#![allow(unsafe_code)]

mod protocol;

use crate::elsewhere::{Failure, Outcome, timeout};
use crate::memory::{Array, Buffer, Elem};
use crate::value::Argument;
use memmap2::MmapMut;
use std::env;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const SCRIPT: &str = include_str!("worker.py");

/// Arrays start at multiples of this in the shared file.
const ALIGN: usize = 64;

/// A generated module.
pub(crate) struct Module {
    pub(crate) name: &'static str,
    pub(crate) target: &'static str,
    pub(crate) source: &'static str,
    pub(crate) entry: &'static str,
}

enum State {
    NotStarted,
    Running(Worker),
    Failed(String),
}

static WORKER: Mutex<State> = Mutex::new(State::NotStarted);

struct Worker {
    child: Child,
    socket: BufReader<UnixStream>,
    arena: File,
    map: Option<MmapMut>,
    /// Kernels with their targets, and whether they stand in for a device.
    loaded: Vec<(&'static str, &'static str, bool)>,
    log: File,
}

/// What went wrong in a conversation with the worker.
#[derive(Debug, PartialEq)]
enum Trouble {
    /// The worker is fine.
    Call(String),
    /// The worker is fine, the module isn't.
    Module(String),
    /// The worker is not.
    Worker(String),
}

/// Runs a module's function on copies of the arrays.
///
/// # Safety
/// The arrays are those of a call of the kernel, with its proven footprints.
pub(crate) unsafe fn call(
    module: &Module,
    arrays: &[Array],
    arguments: &[Argument],
    ret: Option<Elem>,
) -> Result<Outcome, Failure> {
    with_worker(|worker| {
        let emulated = worker.load(module)?;
        // SAFETY: handed on.
        let outcome = unsafe { worker.call(module, arrays, arguments, ret) }?;
        Ok(Outcome {
            emulated,
            ..outcome
        })
    })
}

/// Starts the worker and loads a module; whether that stands in for a device.
pub(crate) fn prepare(module: &Module) -> Result<bool, String> {
    with_worker(|worker| worker.load(module)).map_err(|f| match f {
        Failure::Call(why) | Failure::Kernel(why) => why,
    })
}

fn with_worker<T>(f: impl FnOnce(&mut Worker) -> Result<T, Trouble>) -> Result<T, Failure> {
    let mut state = WORKER.lock().unwrap_or_else(PoisonError::into_inner);
    if let State::NotStarted = *state {
        *state = match Worker::start() {
            Ok(worker) => State::Running(worker),
            Err(why) => State::Failed(why),
        };
    }
    let worker = match &mut *state {
        State::Running(worker) => worker,
        State::Failed(why) => return Err(Failure::Kernel(why.clone())),
        State::NotStarted => return Err(Failure::Kernel("the worker did not start".into())),
    };
    match f(worker) {
        Ok(value) => Ok(value),
        Err(Trouble::Call(why)) => Err(Failure::Call(why)),
        Err(Trouble::Module(why)) => Err(Failure::Kernel(why)),
        Err(Trouble::Worker(why)) => {
            let why = worker.post_mortem(&why);
            *state = State::Failed(why.clone());
            Err(Failure::Kernel(why))
        }
    }
}

impl Worker {
    fn start() -> Result<Worker, String> {
        let python = interpreter();
        let cannot = |what: &str, e: io::Error| format!("{what}: {e}");
        let arena = anonymous_file().map_err(|e| cannot("no shared memory", e))?;
        let log = anonymous_file().map_err(|e| cannot("no file for the worker's messages", e))?;
        let (ours, theirs) = UnixStream::pair().map_err(|e| cannot("no socket", e))?;
        let copy = || {
            log.try_clone()
                .map_err(|e| cannot("no file for the worker's messages", e))
        };
        let fd = arena.as_raw_fd();
        let mut command = Command::new(&python);
        command
            .args(["-c", SCRIPT])
            .arg(fd.to_string())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(copy()?))
            .stderr(Stdio::from(copy()?))
            // A ^C is for the program; the worker ends with it, when the socket closes.
            .process_group(0);
        // SAFETY: `fcntl` may be called between fork and exec.
        unsafe {
            command.pre_exec(move || match libc::fcntl(fd, libc::F_SETFD, 0) {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            });
        }
        let child = command.spawn().map_err(|e| {
            format!(
                "{} can't be started ({e}); TENSORIZE_PYTHON names another interpreter",
                python.display()
            )
        })?;
        drop(command);
        let mut worker = Worker {
            child,
            socket: BufReader::new(ours),
            arena,
            map: None,
            loaded: vec![],
            log,
        };
        let timeout = Some(timeout());
        let socket = worker.socket.get_ref();
        let limits = socket
            .set_read_timeout(timeout)
            .and_then(|()| socket.set_write_timeout(timeout));
        let hello = limits
            .map_err(|e| Trouble::Worker(e.to_string()))
            .and_then(|()| worker.reply());
        match hello {
            Ok(_) => Ok(worker),
            Err(Trouble::Call(why) | Trouble::Module(why)) => {
                worker.post_mortem("");
                Err(format!("{}: {why}", python.display()))
            }
            Err(Trouble::Worker(why)) => Err(format!(
                "{}: {}",
                python.display(),
                worker.post_mortem(&why)
            )),
        }
    }

    fn send(&mut self, head: &str, body: &[u8]) -> Result<(), Trouble> {
        let socket = self.socket.get_mut();
        let sent = socket
            .write_all(head.as_bytes())
            .and_then(|()| socket.write_all(body));
        sent.map_err(|e| Trouble::Worker(format!("it does not listen ({e})")))
    }

    fn reply(&mut self) -> Result<String, Trouble> {
        let word = protocol::reply(&mut self.socket)?;
        // What nobody asked for would be taken for the answer to the next question.
        match self.socket.buffer() {
            [] => Ok(word),
            _ => Err(Trouble::Worker("it answers what was not asked".into())),
        }
    }

    fn load(&mut self, module: &Module) -> Result<bool, Trouble> {
        let is_it = |(name, target, _): &&(&str, &str, bool)| {
            (*name, *target) == (module.name, module.target)
        };
        if let Some((_, _, emulated)) = self.loaded.iter().find(is_it) {
            return Ok(*emulated);
        }
        let head = format!(
            "load {}:{} {} {}\n",
            module.target,
            module.name,
            module.entry,
            module.source.len()
        );
        self.send(&head, module.source.as_bytes())?;
        let emulated = self.reply()? == "emulated";
        self.loaded.push((module.name, module.target, emulated));
        Ok(emulated)
    }

    unsafe fn call(
        &mut self,
        module: &Module,
        arrays: &[Array],
        arguments: &[Argument],
        ret: Option<Elem>,
    ) -> Result<Outcome, Trouble> {
        let too_large = || Trouble::Call("its sizes are too large".into());
        // The module sees each array from the first element that is touched on.
        let mut end = 0usize;
        let mut places = Vec::new();
        for array in arrays {
            let len = array.len().ok_or_else(too_large)?;
            places.push((end, len));
            end = end
                .checked_add(len * array.elem.size())
                .and_then(|e| e.checked_next_multiple_of(ALIGN))
                .ok_or_else(too_large)?;
        }
        let size = self.reserve(end)?;
        let map = self
            .map
            .as_mut()
            .ok_or_else(|| Trouble::Call("no shared memory".into()))?;

        let mut line = format!(
            "call {}:{} {size} {}",
            module.target,
            module.name,
            ret.map_or("void", Elem::dtype)
        );
        let mut befores = Vec::new();
        let mut next = 0;
        for argument in arguments {
            match *argument {
                Argument::Array => {
                    let (Some(array), Some((offset, len))) = (arrays.get(next), places.get(next))
                    else {
                        return Err(Trouble::Call("its arguments don't fit together".into()));
                    };
                    if *len > 0 {
                        let window = &mut map[*offset..offset + len * array.elem.size()];
                        // SAFETY: handed on.
                        unsafe { array.read(window) }.map_err(Trouble::Call)?;
                        if array.writes {
                            let mut before = Buffer::new(window.len()).ok_or_else(|| {
                                Trouble::Call("there is not enough memory".into())
                            })?;
                            before.as_mut_slice().copy_from_slice(window);
                            befores.push((next, *offset, before));
                        }
                    }
                    let mode = if array.writes { 'w' } else { 'r' };
                    write!(line, " a:{}:{offset}:{len}:{mode}", array.elem.dtype()).ok();
                    next += 1;
                }
                Argument::Scalar(elem, bits) if elem.is_float() => {
                    write!(line, " f:{}:{bits:x}", elem.dtype()).ok();
                }
                Argument::Scalar(elem, bits) => {
                    write!(line, " i:{}:{}", elem.dtype(), elem.integer(bits)).ok();
                }
            }
        }
        line.push('\n');
        self.send(&line, &[])?;
        let word = self.reply()?;
        let result = u64::from_str_radix(&word, 16)
            .map_err(|_| Trouble::Worker("it answers nonsense".into()))?;

        let map = self
            .map
            .as_ref()
            .ok_or_else(|| Trouble::Call("no shared memory".into()))?;
        let mut written = Vec::new();
        for (position, first, before) in befores {
            let len = before.as_slice().len();
            let mut after = Buffer::new(len)
                .ok_or_else(|| Trouble::Call("there is not enough memory".into()))?;
            after
                .as_mut_slice()
                .copy_from_slice(&map[first..first + len]);
            written.push((position, before, after));
        }
        Ok(Outcome {
            written,
            result,
            emulated: false,
        })
    }

    /// Makes the shared file at least that large; its size.
    fn reserve(&mut self, bytes: usize) -> Result<usize, Trouble> {
        let have = self.map.as_ref().map_or(0, |m| m.len());
        if bytes <= have && have > 0 {
            return Ok(have);
        }
        let size = bytes
            .max(1 << 16)
            .checked_next_power_of_two()
            .unwrap_or(bytes);
        let lacking = |e: &dyn std::fmt::Display| Trouble::Call(format!("no shared memory: {e}"));
        reserve_blocks(&self.arena, size).map_err(|e| lacking(&e))?;
        self.map = None;
        // SAFETY: nobody but the worker has the file, and it doesn't run while we hold references.
        let map = unsafe { MmapMut::map_mut(&self.arena) }.map_err(|e| lacking(&e))?;
        self.map = Some(map);
        Ok(size)
    }

    /// Ends the worker and tells what is known of its end.
    fn post_mortem(&mut self, why: &str) -> String {
        // A moment for a worker that is just ending by itself to leave its own status.
        std::thread::sleep(Duration::from_millis(20));
        let ended = self.child.try_wait().ok().flatten();
        self.child.kill().ok();
        self.child.wait().ok();
        let mut text = match ended {
            Some(status) => match status.signal() {
                Some(signal) => format!("the worker was ended by signal {signal}"),
                None => format!("the worker ended with {status}"),
            },
            None => format!("the worker was ended: {why}"),
        };
        let mut log = Vec::new();
        if self.log.seek(SeekFrom::Start(0)).is_ok()
            && (&self.log).take(1 << 20).read_to_end(&mut log).is_ok()
        {
            let log = String::from_utf8_lossy(&log);
            if let Some(last) = log.lines().rfind(|l| !l.trim().is_empty()) {
                write!(text, " ({})", last.trim()).ok();
            }
        }
        text
    }
}

/// `TENSORIZE_PYTHON`, else the one that `cargo xtask setup` made, else the system's.
fn interpreter() -> PathBuf {
    let var = |name| {
        env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    if let Some(python) = var("TENSORIZE_PYTHON") {
        return python;
    }
    var("XDG_DATA_HOME")
        .or_else(|| Some(var("HOME")?.join(".local/share")))
        .map(|data| data.join("cargo-tensorize/venv/bin/python3"))
        .filter(|python| python.is_file())
        .unwrap_or_else(|| "python3".into())
}

#[cfg(target_os = "linux")]
fn anonymous_file() -> io::Result<File> {
    use std::os::fd::FromRawFd;
    // SAFETY: the name is a C string, and the descriptor is ours alone.
    unsafe {
        match libc::memfd_create(c"tensorize".as_ptr(), libc::MFD_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(File::from_raw_fd(fd)),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn anonymous_file() -> io::Result<File> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let name = format!(
        "tensorize-{}-{}",
        std::process::id(),
        COUNTER.fetch_add(1, Ordering::Relaxed)
    );
    let path = env::temp_dir().join(name);
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

/// Grows the file and takes the memory at once: a page that can't be had later would be a signal.
fn reserve_blocks(file: &File, size: usize) -> io::Result<()> {
    file.set_len(size as u64)?;
    #[cfg(target_os = "linux")]
    {
        let size = libc::off_t::try_from(size).map_err(io::Error::other)?;
        // SAFETY: the descriptor is open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, size) } {
            0 => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
    Ok(())
}
