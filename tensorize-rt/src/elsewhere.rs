//! Calls that don't simply go to the original or to linked-in code: the worker's, and compared ones.

#![allow(unsafe_code)]

use crate::choice::{Choice, choice};
use crate::device;
use crate::kernel::{Code, Kernel, Target};
use crate::memory::{Array, Buffer};
use crate::shadow;
use crate::tune;
use crate::value::{Argument, Value};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

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

/// Answers a call whose guards hold, when [`Kernel::route`] or [`Kernel::faster`] says so. `arrays` is `None` where the
/// footprints don't fit into machine integers.
///
/// # Safety
/// `arrays` and `arguments` are those of a call of the kernel that C allows, with its proven footprints;
/// `original` and `native`, which is told a target's name, call it with the given pointers in the arrays' places.
pub unsafe fn run_elsewhere<R: Value>(
    kernel: &'static Kernel,
    extent: Extent,
    arrays: Option<&[Array]>,
    arguments: &[Argument],
    original: impl Fn(&[*mut c_void]) -> R,
    native: impl Fn(&str, &[*mut c_void]) -> R,
    pointers: &[*mut c_void],
) -> R {
    // Nothing unwinds into C, also when there is a mistake in here.
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        let choice = choice();
        let wanted = match &choice {
            Choice::Shadow(target) => target.as_deref().unwrap_or("cpu"),
            Choice::Target(target) => target,
            Choice::Auto => kernel.fastest_elsewhere(extent.size)?.name,
            Choice::Off => return None,
            Choice::Tune => {
                if let Some(arrays) = arrays.filter(|_| extent.movable) {
                    // SAFETY: handed on.
                    unsafe {
                        tune::measure(kernel, extent.size, arrays, arguments, &original, &native)
                    };
                }
                return None;
            }
        };
        let target = kernel
            .usable(wanted)
            .map_err(|why| kernel.notes().why = Some(why))
            .ok()?;
        let arrays = arrays.or_else(|| {
            kernel.notes().why = Some("its sizes are too large".into());
            None
        })?;
        // SAFETY: handed on.
        let outcome = unsafe { attempt(kernel, target, arrays, arguments, R::ELEM, &native) };
        match outcome {
            Ok(outcome) => Some((outcome, target, arrays, matches!(choice, Choice::Shadow(_)))),
            Err(Failure::Call(why)) => {
                kernel.notes().why = Some(format!("{wanted}: {why}"));
                None
            }
            Err(Failure::Kernel(why)) => {
                kernel.take_out(target.name, why);
                None
            }
        }
    }));
    match attempt {
        Ok(Some((outcome, target, arrays, false))) => {
            for (position, before, after) in &outcome.written {
                // SAFETY: the target writes what the original writes.
                unsafe { arrays[*position].write_changed(before.as_slice(), after.as_slice()) };
            }
            kernel.count_elsewhere(target.name, outcome.emulated);
            R::from_bits(outcome.result)
        }
        Ok(Some((outcome, target, arrays, true))) => {
            let result = original(pointers);
            kernel.count_original();
            kernel.count_shadowed();
            catch_unwind(AssertUnwindSafe(|| {
                // SAFETY: handed on.
                unsafe { shadow::compare(kernel, target, arrays, &outcome, result) }
            }))
            .ok();
            result
        }
        Ok(None) | Err(_) => {
            kernel.count_original();
            original(pointers)
        }
    }
}

/// Runs a target on copies.
///
/// # Safety
/// As for [`run_elsewhere`].
pub(crate) unsafe fn attempt<R: Value>(
    kernel: &'static Kernel,
    target: &'static Target,
    arrays: &[Array],
    arguments: &[Argument],
    ret: Option<crate::Elem>,
    native: &impl Fn(&str, &[*mut c_void]) -> R,
) -> Result<Outcome, Failure> {
    match target.code {
        Code::Native | Code::Emulated => {
            let native = |pointers: &[*mut c_void]| native(target.name, pointers);
            // SAFETY: handed on.
            let outcome = unsafe { native_on_copies(arrays, &native) }.map_err(Failure::Call)?;
            Ok(Outcome {
                emulated: matches!(target.code, Code::Emulated),
                ..outcome
            })
        }
        #[cfg(unix)]
        Code::Python { source, entry } => {
            let module = crate::worker::Module {
                name: kernel.name,
                target: target.name,
                source,
                entry,
            };
            // SAFETY: handed on.
            unsafe { crate::worker::call(&module, arrays, arguments, ret) }
        }
        #[cfg(not(unix))]
        Code::Python { .. } => {
            let _ = (kernel, arguments, ret);
            Err(Failure::Kernel("there is no worker on this system".into()))
        }
        Code::Device {
            api,
            source,
            kernels,
        } => {
            let module = device::Module {
                name: kernel.name,
                api,
                source,
                kernels,
            };
            // SAFETY: handed on.
            unsafe { device::call(&module, arrays, arguments, ret) }
        }
        Code::Absent { why } => Err(Failure::Kernel(why.into())),
    }
}

unsafe fn native_on_copies<R: Value>(
    arrays: &[Array],
    native: &impl Fn(&[*mut c_void]) -> R,
) -> Result<Outcome, String> {
    // SAFETY: handed on.
    let mut copies = unsafe { Copies::of(arrays) }?;
    let result = native(&copies.pointers()).to_bits();
    Ok(Outcome {
        written: copies.written,
        result,
        emulated: false,
    })
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
