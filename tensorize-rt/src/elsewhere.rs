//! Calls that don't simply go to the original or to linked-in code: the worker's, and compared ones.

#![allow(unsafe_code)]

use crate::choice::{Choice, choice};
use crate::device;
use crate::fallback::Cause;
use crate::kernel::{Code, Kernel, Target};
use crate::memory::{Array, Buffer};
use crate::shadow;
use crate::tune;
use crate::value::{Argument, Value};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// What a target made of a call, before anything of it is stored.
pub(crate) struct Outcome {
    /// For each array that is written: its position, the elements before, and after.
    pub(crate) written: Vec<(usize, Buffer, Buffer)>,
    /// The returned value's bits.
    pub(crate) result: u64,
    /// Whether something stood in for the target's device.
    pub(crate) emulated: bool,
}

/// Why a target did not answer a call.
pub(crate) enum Failure {
    /// It can't do this call.
    Call(String),
    /// It won't be able to do this kernel.
    Kernel(String),
}

/// What is known of a call beside its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// How many elements it touches.
    pub size: i64,
    /// Whether the original, too, can be called on copies.
    pub movable: bool,
}

/// The C code of a kernel with these pointers in the arrays' places; the bits of what it returns.
pub(crate) type Original<'a> = &'a dyn Fn(&[*mut c_void]) -> u64;

/// The same of a target, by its name.
pub(crate) type Native<'a> = &'a dyn Fn(&str, &[*mut c_void]) -> u64;

/// Answers a call whose guards hold, when [`Kernel::route`] or [`Kernel::faster`] says so. `arrays` is `None` where the
/// footprints don't fit into machine integers.
///
/// Every kernel has one of these of its own, so all that takes more than a line lies elsewhere, compiled once.
///
/// # Safety
/// `arrays` and `arguments` are those of a call of the kernel that C allows, with its proven footprints;
/// `original` and `native`, which is told a target's name, call it with the given pointers in the arrays' places.
#[inline]
pub unsafe fn run_elsewhere<R: Value>(
    kernel: &'static Kernel,
    extent: Extent,
    arrays: Option<&[Array]>,
    arguments: &[Argument],
    original: impl Fn(&[*mut c_void]) -> R,
    native: impl Fn(&str, &[*mut c_void]) -> R,
    pointers: &[*mut c_void],
) -> R {
    let call = Call {
        kernel,
        extent,
        arrays,
        arguments,
        returns: R::ELEM,
        original: &|pointers| original(pointers).to_bits(),
        native: &|target, pointers| native(target, pointers).to_bits(),
    };
    // SAFETY: handed on.
    R::from_bits(unsafe { call.answer(pointers) })
}

/// A call of a kernel, whatever its type is.
pub(crate) struct Call<'a> {
    pub(crate) kernel: &'static Kernel,
    pub(crate) extent: Extent,
    pub(crate) arrays: Option<&'a [Array]>,
    pub(crate) arguments: &'a [Argument],
    pub(crate) returns: Option<crate::Elem>,
    pub(crate) original: Original<'a>,
    pub(crate) native: Native<'a>,
}

impl Call<'_> {
    /// The bits of what is returned.
    ///
    /// # Safety
    /// As for [`run_elsewhere`].
    unsafe fn answer(&self, pointers: &[*mut c_void]) -> u64 {
        let kernel = self.kernel;
        // Nothing unwinds into C, also when there is a mistake in here.
        // SAFETY: handed on.
        let attempt = catch_unwind(AssertUnwindSafe(|| unsafe { self.attempt_choice() }));
        match attempt {
            Ok(Some((outcome, target, arrays, false))) => {
                for (position, before, after) in &outcome.written {
                    // SAFETY: the target writes what the original writes.
                    unsafe { arrays[*position].write_changed(before.as_slice(), after.as_slice()) };
                }
                kernel.count_elsewhere(target.name, outcome.emulated);
                outcome.result
            }
            Ok(Some((outcome, target, arrays, true))) => {
                let result = (self.original)(pointers);
                kernel.count_original();
                kernel.count_shadowed();
                catch_unwind(AssertUnwindSafe(|| {
                    // SAFETY: handed on.
                    unsafe {
                        shadow::compare(kernel, target, arrays, &outcome, self.returns, result)
                    }
                }))
                .ok();
                result
            }
            Ok(None) | Err(_) => {
                kernel.count_original();
                (self.original)(pointers)
            }
        }
    }

    /// What the target that the user has chosen makes of the call, and whether that is only compared.
    ///
    /// # Safety
    /// As for [`run_elsewhere`].
    unsafe fn attempt_choice(&self) -> Option<(Outcome, &'static Target, &[Array], bool)> {
        let kernel = self.kernel;
        let choice = choice();
        let wanted = match &choice {
            Choice::Shadow(target) => target.as_deref().unwrap_or("cpu"),
            Choice::Target(target) => target,
            Choice::Auto => kernel.fastest_elsewhere(self.extent.size)?.name,
            Choice::Off => return None,
            Choice::Tune => {
                if let Some(arrays) = self.arrays.filter(|_| self.extent.movable) {
                    // SAFETY: handed on.
                    unsafe { tune::measure(self, arrays) };
                }
                return None;
            }
        };
        let target = kernel
            .usable(wanted)
            .map_err(|why| kernel.fell_back(Cause::Target, why))
            .ok()?;
        let arrays = self.arrays.or_else(|| {
            kernel.fell_back(Cause::Arguments, "its sizes are too large".into());
            None
        })?;
        // SAFETY: handed on.
        let outcome = unsafe { self.attempt(target, arrays) };
        match outcome {
            Ok(outcome) => Some((outcome, target, arrays, matches!(choice, Choice::Shadow(_)))),
            Err(Failure::Call(why)) => {
                kernel.fell_back(Cause::Target, format!("{wanted}: {why}"));
                None
            }
            Err(Failure::Kernel(why)) => {
                kernel.fell_back(Cause::Target, format!("{wanted}: {why}"));
                kernel.take_out(target.name, why);
                None
            }
        }
    }

    /// Runs a target on copies.
    ///
    /// # Safety
    /// As for [`run_elsewhere`].
    pub(crate) unsafe fn attempt(
        &self,
        target: &'static Target,
        arrays: &[Array],
    ) -> Result<Outcome, Failure> {
        match target.code {
            Code::Native | Code::Emulated => {
                // SAFETY: handed on.
                let mut copies = unsafe { Copies::of(arrays) }.map_err(Failure::Call)?;
                let result = (self.native)(target.name, &copies.pointers());
                Ok(Outcome {
                    written: copies.written,
                    result,
                    emulated: matches!(target.code, Code::Emulated),
                })
            }
            #[cfg(unix)]
            Code::Python { source, entry } => {
                let module = crate::worker::Module {
                    name: self.kernel.name,
                    target: target.name,
                    source,
                    entry,
                };
                // SAFETY: handed on.
                unsafe { crate::worker::call(&module, arrays, self.arguments, self.returns) }
            }
            #[cfg(not(unix))]
            Code::Python { .. } => Err(Failure::Kernel("there is no worker on this system".into())),
            Code::Device {
                api,
                source,
                kernels,
            } => {
                let module = device::Module {
                    name: self.kernel.name,
                    api,
                    source,
                    kernels,
                };
                // SAFETY: handed on.
                unsafe { device::call(&module, arrays, self.arguments, self.returns) }
            }
            Code::Absent { why } => Err(Failure::Kernel(why.into())),
        }
    }
}

/// Memory for a call of a kernel's C code that the program does not see: the arrays that it writes, copied.
pub(crate) struct Copies<'a> {
    arrays: &'a [Array],
    written: Vec<(usize, Buffer, Buffer)>,
}

impl<'a> Copies<'a> {
    /// # Safety
    /// As [`Array::read`].
    pub(crate) unsafe fn of(arrays: &'a [Array]) -> Result<Copies<'a>, String> {
        let mut written = Vec::new();
        for (position, array) in arrays.iter().enumerate().filter(|(_, a)| a.writes) {
            // SAFETY: handed on.
            let before = unsafe { copy_of(array) }?;
            let after = buffer(before.as_slice().len())?;
            written.push((position, before, after));
        }
        Ok(Copies { arrays, written })
    }

    /// Where each array's element 0 is, or would be, all written ones as they were.
    pub(crate) fn pointers(&mut self) -> Vec<*mut c_void> {
        let mut pointers: Vec<*mut c_void> = self.arrays.iter().map(|a| a.pointer).collect();
        for (position, before, after) in &mut self.written {
            let array = &self.arrays[*position];
            after.as_mut_slice().copy_from_slice(before.as_slice());
            let offset = (array.lo as isize).wrapping_mul(array.elem.size() as isize);
            pointers[*position] = after
                .as_mut_slice()
                .as_mut_ptr()
                .wrapping_offset(offset.wrapping_neg())
                .cast();
        }
        pointers
    }
}

/// A copy of what a kernel may touch of an array.
///
/// # Safety
/// As [`Array::read`].
pub(crate) unsafe fn copy_of(array: &Array) -> Result<Buffer, String> {
    let len = array.len().ok_or("its sizes are too large")?;
    let mut copy = buffer(len * array.elem.size())?;
    // SAFETY: handed on.
    unsafe { array.read(copy.as_mut_slice()) }?;
    Ok(copy)
}

fn buffer(bytes: usize) -> Result<Buffer, String> {
    Buffer::new(bytes).ok_or_else(|| "there is not enough memory".into())
}

/// How long an answer of the worker or of a device may take: `TENSORIZE_TIMEOUT` seconds, 60 by default.
pub(crate) fn timeout() -> Duration {
    let seconds = std::env::var("TENSORIZE_TIMEOUT")
        .ok()
        .and_then(|s| s.parse().ok());
    Duration::from_secs(seconds.filter(|s| *s > 0).unwrap_or(60))
}

/// Loads what is for the worker; whether it stands in for a device.
pub(crate) fn loads(kernel: &'static Kernel, target: &'static Target) -> Result<bool, String> {
    match target.code {
        #[cfg(unix)]
        Code::Python { source, entry } => crate::worker::prepare(&crate::worker::Module {
            name: kernel.name,
            target: target.name,
            source,
            entry,
        }),
        _ => Ok(false),
    }
}

/// Gets the worker, or a device, ready for a kernel.
pub(crate) fn prepare(kernel: &'static Kernel) {
    let wanted: Vec<&'static Target> = match choice() {
        Choice::Target(wanted) | Choice::Shadow(Some(wanted)) => {
            let all = kernel.targets.iter();
            all.filter(|t| t.name == wanted).collect()
        }
        Choice::Auto => kernel.wanted_by_measurements(),
        _ => return,
    };
    for target in wanted {
        let ready = match target.code {
            #[cfg(unix)]
            Code::Python { .. } => loads(kernel, target).and_then(|emulated| {
                match emulated && choice() == Choice::Auto {
                    true => {
                        Err("there is no such device; what stands in for it is no faster".into())
                    }
                    false => Ok(()),
                }
            }),
            Code::Device {
                api,
                source,
                kernels,
            } => device::prepare(&device::Module {
                name: kernel.name,
                api,
                source,
                kernels,
            }),
            _ => Ok(()),
        };
        match ready {
            Ok(()) => kernel.is_ready(target.name),
            Err(why) => kernel.take_out(target.name, why),
        }
    }
}
