//! OpenCL, by way of the driver that the machine's loader finds.

#![allow(unsafe_code)]

use super::{Component, Details, Device, GROUP, Given, Module, Next, Places, Trouble};
use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{
    CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_GPU,
    CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, CL_FP_DENORM, CL_FP_INF_NAN, CL_FP_ROUND_TO_NEAREST,
};
use opencl3::error_codes::{
    CL_INVALID_BUFFER_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY,
    CL_OUT_OF_RESOURCES, CL_PLATFORM_NOT_FOUND_KHR, ClError, DLOPEN_RUNTIME_LOAD_FAILED,
};
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_ONLY, CL_MEM_READ_WRITE};
use opencl3::program::Program;
use opencl3::types::CL_BLOCKING;
use std::collections::HashMap;
use std::ptr;

/// After so many rounds of a loop over time the queue is waited for.
const WAITING: u64 = 256;

/// A device with its queue.
struct OpenCl {
    // Dropped in this order.
    loaded: HashMap<&'static str, Vec<Kernel>>,
    queue: CommandQueue,
    context: Context,
    options: String,
    name: String,
}

/// Every device of every driver, or why there is none.
pub(super) fn parts() -> Vec<Component> {
    let part = |found| Component {
        name: "OpenCL",
        found,
    };
    let ids = match opencl3::device::get_all_devices(CL_DEVICE_TYPE_ALL) {
        Ok(ids) if ids.is_empty() => return vec![part(Err("there is no OpenCL device".into()))],
        Ok(ids) => ids,
        Err(e) => return vec![part(Err(none(e)))],
    };
    let said = |words: [Result<String, ClError>; 2]| {
        let words = words.map(Result::unwrap_or_default);
        words.map(|w| w.trim().to_owned()).join(", ")
    };
    let devices = ids.into_iter().map(opencl3::device::Device::new);
    let parts = devices.map(|d| {
        part(Ok(Details {
            version: said([d.version(), d.driver_version()]),
            whose: said([d.name(), d.vendor()]),
        }))
    });
    parts.collect()
}

fn none(e: ClError) -> String {
    match e.0 {
        CL_PLATFORM_NOT_FOUND_KHR => "there is no OpenCL driver".to_owned(),
        DLOPEN_RUNTIME_LOAD_FAILED => "the OpenCL library can't be loaded".to_owned(),
        _ => format!("OpenCL lists no devices: {e}"),
    }
}

/// The device that `TENSORIZE_OPENCL_DEVICE` names a part of, else the first GPU, else the first of any kind.
pub(super) fn start() -> Result<Box<dyn Device>, String> {
    let device = choose()?;
    let failed = |what: &str, e: ClError| format!("{what}: {e}");
    let asked = |e: ClError| failed("the OpenCL device does not tell what it can do", e);
    if device.max_work_group_size().map_err(asked)? < GROUP {
        return Err(format!("the OpenCL device has no groups of {GROUP} items"));
    }
    if device.endian_little().map_err(asked)? != cfg!(target_endian = "little") {
        return Err("the OpenCL device has another order of bytes".into());
    }
    let options = options(device.single_fp_config().map_err(asked)?);
    let context =
        Context::from_device(&device).map_err(|e| failed("the OpenCL device can't be used", e))?;
    // The form of OpenCL 1, which every driver has.
    #[allow(deprecated)]
    // SAFETY: no property is passed.
    let queue = unsafe { CommandQueue::create(&context, device.id(), 0) }
        .map_err(|e| failed("the OpenCL device takes no commands", e))?;
    Ok(Box::new(OpenCl {
        loaded: HashMap::new(),
        queue,
        context,
        options,
        name: device.name().unwrap_or_default(),
    }))
}

fn choose() -> Result<opencl3::device::Device, String> {
    let listed = |kind| opencl3::device::get_all_devices(kind).map_err(none);
    let devices = |ids: Vec<_>| ids.into_iter().map(opencl3::device::Device::new);
    match std::env::var("TENSORIZE_OPENCL_DEVICE") {
        Ok(wanted) if !wanted.is_empty() => {
            let mut names = Vec::new();
            for device in devices(listed(CL_DEVICE_TYPE_ALL)?) {
                let name = device.name().unwrap_or_default();
                if name.contains(&wanted) {
                    return Ok(device);
                }
                names.push(name);
            }
            Err(format!(
                "no OpenCL device's name has `{wanted}` in it; there is: {}",
                names.join(", ")
            ))
        }
        _ => {
            for kind in [
                CL_DEVICE_TYPE_GPU,
                CL_DEVICE_TYPE_ACCELERATOR,
                CL_DEVICE_TYPE_ALL,
            ] {
                if let Some(device) = devices(listed(kind)?).next() {
                    return Ok(device);
                }
            }
            Err("there is no OpenCL device".into())
        }
    }
}

/// What the compiler is told. Generated code that needs what the device doesn't have does not compile.
fn options(single: u64) -> String {
    let mut options = String::from("-cl-std=CL1.2");
    let ieee = CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST;
    if single & ieee == ieee {
        options += " -D TZ_SUBNORMALS";
    }
    if single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT != 0 {
        options += " -D TZ_ROUNDED_DIVIDE -cl-fp32-correctly-rounded-divide-sqrt";
    }
    options
}

/// What an error that is not of our making says of the device.
fn trouble(e: ClError) -> Trouble {
    let text = format!("OpenCL: {e}");
    match e.0 {
        CL_MEM_OBJECT_ALLOCATION_FAILURE
        | CL_INVALID_BUFFER_SIZE
        | CL_OUT_OF_RESOURCES
        | CL_OUT_OF_HOST_MEMORY => Trouble::Call(format!("the device has not enough memory ({e})")),
        _ => Trouble::Device(text),
    }
}

impl Device for OpenCl {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn load(&mut self, module: &Module) -> Result<(), Trouble> {
        if self.loaded.contains_key(module.name) {
            return Ok(());
        }
        let program =
            Program::create_and_build_from_source(&self.context, module.source, &self.options)
                .map_err(|log| {
                    Trouble::Module(format!("it does not compile: {}", excerpt(&log)))
                })?;
        let kernels = module.names().map(|k| Kernel::create(&program, k));
        let kernels: Result<Vec<Kernel>, ClError> = kernels.collect();
        let kernels =
            kernels.map_err(|e| Trouble::Module(format!("a kernel is not there: {e}")))?;
        self.loaded.insert(module.name, kernels);
        Ok(())
    }

    fn run(
        &mut self,
        module: &Module,
        arguments: &mut [Given],
        places: Places,
        groups: usize,
    ) -> Result<(), Trouble> {
        let missing = || Trouble::Module("it is not loaded".into());
        let kernels = self.loaded.get(module.name).ok_or_else(missing)?;
        let memory = |flags, bytes: usize| {
            // SAFETY: memory of the device's own. A buffer can't be empty.
            unsafe { Buffer::<u8>::create(&self.context, flags, bytes.max(1), ptr::null_mut()) }
                .map_err(trouble)
        };
        let mut buffers = Vec::new();
        for argument in arguments.iter() {
            let (bytes, writes) = match argument {
                Given::Elements { bytes, writes } => (bytes.as_slice(), *writes),
                // Until it is known how much there has to be.
                Given::Room => (&[][..], true),
                Given::Number { .. } => {
                    buffers.push(None);
                    continue;
                }
            };
            let flags = match writes {
                true => CL_MEM_READ_WRITE,
                false => CL_MEM_READ_ONLY,
            };
            let mut buffer = memory(flags, bytes.len())?;
            if !bytes.is_empty() {
                // SAFETY: as many bytes as the buffer has, which are there until the call returns.
                unsafe {
                    self.queue
                        .enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, bytes, &[])
                }
                .map_err(trouble)?;
            }
            buffers.push(Some(buffer));
        }
        module.in_order(|next| {
            let (n, round) = match next {
                Next::Kernel(n, round) => (n, round),
                Next::Number(place) => {
                    let mut number = [0; 8];
                    let buffer = buffers[places.kept].as_ref().ok_or_else(missing)?;
                    // SAFETY: eight bytes of the kept numbers.
                    unsafe {
                        self.queue.enqueue_read_buffer(
                            buffer,
                            CL_BLOCKING,
                            8 * place,
                            &mut number,
                            &[],
                        )
                    }
                    .map_err(trouble)?;
                    return Ok(i64::from_le_bytes(number));
                }
                Next::Room(n, bytes) => {
                    buffers[places.rooms + n] = Some(memory(CL_MEM_READ_WRITE, bytes)?);
                    return Ok(0);
                }
            };
            if let Some(place) = places.round {
                arguments[place] = Given::Number {
                    bits: round,
                    size: 8,
                };
                // Who waits to be run takes memory, too.
                if round % WAITING == WAITING - 1 {
                    self.queue.finish().map_err(trouble)?;
                }
            }
            let kernel = kernels.get(n).ok_or_else(missing)?;
            for (n, (argument, buffer)) in arguments.iter().zip(&buffers).enumerate() {
                // SAFETY: generated kernels have these parameters, in this order.
                unsafe { set(kernel, n as u32, argument, buffer.as_ref()) }.map_err(|e| {
                    Trouble::Module(format!("it does not take its argument {n}: {e}"))
                })?;
            }
            let (items, group) = ([groups * GROUP], [GROUP]);
            // SAFETY: the kernel's arguments are set, and it touches no more than the call's footprints.
            unsafe {
                self.queue.enqueue_nd_range_kernel(
                    kernel.get(),
                    1,
                    ptr::null(),
                    items.as_ptr(),
                    group.as_ptr(),
                    &[],
                )
            }
            .map_err(trouble)?;
            Ok(0)
        })?;
        self.queue.finish().map_err(trouble)?;
        for (argument, buffer) in arguments.iter_mut().zip(&buffers) {
            if let (
                Given::Elements {
                    bytes,
                    writes: true,
                },
                Some(buffer),
            ) = (argument, buffer)
                && !bytes.as_slice().is_empty()
            {
                let bytes = bytes.as_mut_slice();
                // SAFETY: as many bytes as the buffer has, and they are ours.
                unsafe {
                    self.queue
                        .enqueue_read_buffer(buffer, CL_BLOCKING, 0, bytes, &[])
                }
                .map_err(trouble)?;
            }
        }
        Ok(())
    }
}

/// # Safety
/// The kernel has such a parameter in this place.
unsafe fn set(
    kernel: &Kernel,
    n: u32,
    argument: &Given,
    buffer: Option<&Buffer<u8>>,
) -> Result<(), ClError> {
    // SAFETY: handed on.
    unsafe {
        match (argument, buffer) {
            (Given::Elements { .. } | Given::Room, Some(buffer)) => {
                kernel.set_arg(n, &opencl3::memory::ClMem::get(buffer))
            }
            (Given::Elements { .. } | Given::Room, None) => Ok(()),
            (Given::Number { bits, size: 1 }, _) => kernel.set_arg(n, &(*bits as u8)),
            (Given::Number { bits, size: 2 }, _) => kernel.set_arg(n, &(*bits as u16)),
            (Given::Number { bits, size: 4 }, _) => kernel.set_arg(n, &(*bits as u32)),
            (Given::Number { bits, .. }, _) => kernel.set_arg(n, bits),
        }
    }
}

/// The line of a compiler's messages that says most.
fn excerpt(log: &str) -> &str {
    let mut lines = log.lines().map(str::trim).filter(|l| !l.is_empty());
    let first = lines.clone().next().unwrap_or("it does not say why");
    lines.find(|l| l.contains("error:")).unwrap_or(first)
}
