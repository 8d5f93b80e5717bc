//! CUDA, by way of NVIDIA's driver and its compiler for run time, NVRTC.

#![allow(unsafe_code)]

use super::{Component, Details, Device, GROUP, Given, Module, Next, Places, Trouble};
use cudarc::driver::sys::CUresult;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::{CompileError, CompileOptions, compile_ptx_with_opts};
use std::collections::HashMap;
use std::sync::Arc;

/// The first device with its queue.
struct Cuda {
    loaded: HashMap<&'static str, Vec<CudaFunction>>,
    stream: Arc<CudaStream>,
    context: Arc<CudaContext>,
    architecture: &'static str,
}

const NO_DRIVER: &str = "the CUDA driver's library can't be loaded";
const NO_COMPILER: &str = "the library of CUDA's compiler, NVRTC, can't be loaded";

/// Which of NVIDIA's two libraries are there. The crate panics where one is missing.
fn libraries() -> (bool, bool) {
    // SAFETY: loading NVIDIA's own libraries.
    unsafe {
        (
            cudarc::driver::sys::is_culib_present(),
            cudarc::nvrtc::sys::is_culib_present(),
        )
    }
}

/// The driver and its devices, and the compiler.
pub(super) fn parts() -> Vec<Component> {
    let part = |name, found: Result<Details, String>| Component { name, found };
    let library = |version| {
        Ok(Details {
            version,
            whose: String::new(),
        })
    };
    let (driver, compiler) = libraries();
    let mut all = vec![match driver {
        true => part("CUDA driver", library(driver_version())),
        false => part("CUDA driver", Err(NO_DRIVER.into())),
    }];
    all.push(match compiler {
        true => part("NVRTC", library(compiler_version())),
        false => part("NVRTC", Err(NO_COMPILER.into())),
    });
    let count = match driver {
        true => CudaContext::device_count().unwrap_or(0),
        false => 0,
    };
    let devices = (0..count).filter_map(|n| usize::try_from(n).ok());
    all.extend(devices.map(|n| {
        let device = CudaContext::new(n).and_then(|context| {
            let (major, minor) = context.compute_capability()?;
            Ok(Details {
                version: format!("compute capability {major}.{minor}"),
                whose: context.name()?,
            })
        });
        part("CUDA device", device.map_err(|e| e.to_string()))
    }));
    all
}

/// As CUDA counts: 13000 is 13.0.
fn driver_version() -> String {
    let mut version = 0;
    // SAFETY: the library is there, and writes one number.
    let asked = unsafe { cudarc::driver::sys::cuDriverGetVersion(&raw mut version) };
    match asked {
        CUresult::CUDA_SUCCESS => format!("CUDA {}.{}", version / 1000, version % 1000 / 10),
        e => format!("{e:?}"),
    }
}

fn compiler_version() -> String {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library is there, and writes two numbers.
    unsafe { cudarc::nvrtc::sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    format!("{major}.{minor}")
}

/// The device that `CUDA_VISIBLE_DEVICES` shows first.
pub(super) fn start() -> Result<Box<dyn Device>, String> {
    let (driver, compiler) = libraries();
    if !driver {
        return Err(NO_DRIVER.into());
    }
    if !compiler {
        return Err(NO_COMPILER.into());
    }
    let failed = |what: &str, e: DriverError| format!("{what}: {e}");
    let context = CudaContext::new(0).map_err(|e| failed("there is no CUDA device", e))?;
    let (major, minor) = (context.compute_capability())
        .map_err(|e| failed("the CUDA device does not tell what it can do", e))?;
    let stream =
        (context.new_stream()).map_err(|e| failed("the CUDA device takes no commands", e))?;
    Ok(Box::new(Cuda {
        loaded: HashMap::new(),
        stream,
        context,
        // There is one device in a process: its name is made once.
        architecture: format!("compute_{major}{minor}").leak(),
    }))
}

/// What an error that is not of our making says of the device.
fn trouble(e: DriverError) -> Trouble {
    match e.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
            Trouble::Call("the device has not enough memory".into())
        }
        _ => Trouble::Device(format!("CUDA: {e}")),
    }
}

impl Device for Cuda {
    fn name(&self) -> String {
        self.context.name().unwrap_or_default()
    }

    fn load(&mut self, module: &Module) -> Result<(), Trouble> {
        if self.loaded.contains_key(module.name) {
            return Ok(());
        }
        let options = CompileOptions {
            // As C rounds, operation by operation.
            fmad: Some(false),
            ftz: Some(false),
            prec_div: Some(true),
            prec_sqrt: Some(true),
            arch: Some(self.architecture),
            ..CompileOptions::default()
        };
        let compiled = compile_ptx_with_opts(module.source, options)
            .map_err(|e| Trouble::Module(format!("it does not compile: {}", excerpt(&e))))?;
        let program = self.context.load_module(compiled).map_err(trouble)?;
        let kernels: Result<Vec<CudaFunction>, DriverError> =
            (module.names()).map(|k| program.load_function(k)).collect();
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
        let stream = &self.stream;
        let mut buffers: Vec<Option<CudaSlice<u8>>> = Vec::new();
        for argument in arguments.iter() {
            buffers.push(match argument {
                Given::Room => Some(stream.alloc_zeros(1).map_err(trouble)?),
                Given::Elements { bytes, .. } if bytes.as_slice().is_empty() => {
                    Some(stream.alloc_zeros(1).map_err(trouble)?)
                }
                Given::Elements { bytes, .. } => {
                    Some(stream.clone_htod(bytes.as_slice()).map_err(trouble)?)
                }
                Given::Number { .. } => None,
            });
        }
        module.in_order(|next| {
            let (n, round) = match next {
                Next::Kernel(n, round) => (n, round),
                Next::Number(place) => {
                    let all = match &buffers[places.kept] {
                        Some(buffer) => stream.clone_dtoh(buffer).map_err(trouble)?,
                        None => return Err(missing()),
                    };
                    stream.synchronize().map_err(trouble)?;
                    let mut number = [0; 8];
                    number.copy_from_slice(&all[8 * place..][..8]);
                    return Ok(i64::from_le_bytes(number));
                }
                Next::Room(n, bytes) => {
                    let room = stream.alloc_zeros(bytes).map_err(trouble)?;
                    buffers[places.rooms + n] = Some(room);
                    return Ok(0);
                }
            };
            if let Some(place) = places.round {
                arguments[place] = Given::Number {
                    bits: round,
                    size: 8,
                };
            }
            // As wide as each parameter is.
            let narrow: Vec<(u8, u16, u32)> = (arguments.iter())
                .map(|a| match a {
                    Given::Number { bits, .. } => (*bits as u8, *bits as u16, *bits as u32),
                    Given::Elements { .. } | Given::Room => (0, 0, 0),
                })
                .collect();
            let kernel = kernels.get(n).ok_or_else(missing)?;
            let mut launch = stream.launch_builder(kernel);
            for ((argument, buffer), (byte, half, word)) in
                arguments.iter().zip(&mut buffers).zip(&narrow)
            {
                match (argument, buffer) {
                    (Given::Number { size: 1, .. }, _) => launch.arg(byte),
                    (Given::Number { size: 2, .. }, _) => launch.arg(half),
                    (Given::Number { size: 4, .. }, _) => launch.arg(word),
                    (Given::Number { bits, .. }, _) => launch.arg(bits),
                    (Given::Elements { .. } | Given::Room, Some(buffer)) => launch.arg(buffer),
                    (Given::Elements { .. } | Given::Room, None) => return Err(missing()),
                };
            }
            let config = LaunchConfig {
                grid_dim: (groups as u32, 1, 1),
                block_dim: (GROUP as u32, 1, 1),
                shared_mem_bytes: 0,
            };
            // SAFETY: generated kernels have these parameters, in this order, and touch no more than the call's
            // footprints.
            unsafe { launch.launch(config) }.map_err(trouble)?;
            Ok(0)
        })?;
        stream.synchronize().map_err(trouble)?;
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
                stream
                    .memcpy_dtoh(buffer, bytes.as_mut_slice())
                    .map_err(trouble)?;
            }
        }
        stream.synchronize().map_err(trouble)
    }
}

/// The line of the compiler's messages that says most.
fn excerpt(e: &CompileError) -> String {
    let text = match e {
        CompileError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
        other => other.to_string(),
    };
    let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    let first = lines.clone().next().unwrap_or("it does not say why");
    lines
        .find(|l| l.contains("error"))
        .unwrap_or(first)
        .to_owned()
}
