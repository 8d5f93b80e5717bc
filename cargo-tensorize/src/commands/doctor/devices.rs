//! What code could run on, as the drivers tell it.

use super::Check;
use super::tools::{install, lines};
use crate::words::counted;
use std::path::Path;
use tensorize_rt::{Api, Component};

/// The processor, and every device whose driver answers.
pub(super) fn devices() -> Vec<Check> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split_once(": "))
        .map_or(std::env::consts::ARCH, |(_, name)| name);
    let cpu = Check::new("processor", "the target cpu");
    let mut all = vec![cpu.found(counted(cores, "core"), model)];
    let query = ["--query-gpu=name,driver_version", "--format=csv,noheader"];
    let nvidia = Check::new("NVIDIA GPU", "the target cuda, and frameworks that use one");
    all.push(match lines("nvidia-smi".as_ref(), &query) {
        Some(gpus) if !gpus.is_empty() => {
            nvidia.found(format!("{} found", gpus.len()), gpus.join("; "))
        }
        _ => nvidia.missing("no driver answers", None),
    });
    for (name, device, purpose) in [
        ("AMD GPU", "/dev/kfd", "frameworks that use one"),
        (
            "Gaudi",
            "/dev/accel/accel0",
            "the target gaudi, which runs emulated without it",
        ),
    ] {
        let check = Check::new(name, purpose);
        all.push(if Path::new(device).exists() {
            check.found("driver loaded", device)
        } else {
            check.missing(format!("no {device}"), None)
        });
    }
    all.extend(Api::OpenCl.parts().into_iter().map(open_cl));
    let cuda = Api::Cuda.parts();
    let driver = cuda
        .iter()
        .any(|p| p.name == "CUDA driver" && p.found.is_ok());
    all.extend(cuda.into_iter().map(|part| of_cuda(part, driver)));
    all
}

fn open_cl(part: Component) -> Check {
    let check = Check::new(part.name, "the target opencl");
    match part.found {
        Ok(found) => check.found(found.version, placed(&found.whose, "libOpenCL.so")),
        // It makes a device of the machine's own cores.
        Err(why) => check.missing(why, install("pocl-opencl-icd")),
    }
}

/// Without a driver there is no GPU that its compiler could be for.
fn of_cuda(part: Component, driver: bool) -> Check {
    let library = match part.name {
        "NVRTC" => "libnvrtc.so",
        _ => "libcuda.so",
    };
    let check = Check::new(part.name, "the target cuda");
    match part.found {
        Ok(found) => check.found(found.version, placed(&found.whose, library)),
        Err(why) => {
            let package = match part.name {
                "NVRTC" => "nvidia-cuda-toolkit",
                _ => "nvidia-driver",
            };
            check.missing(why, install(package).filter(|_| driver))
        }
    }
}

/// Whose it is, and the library that was loaded for it, where the system tells.
fn placed(whose: &str, library: &str) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let paths = maps.lines().filter_map(|l| l.find('/').map(|at| &l[at..]));
    let is_it = |path: &&str| {
        path.rsplit('/')
            .next()
            .is_some_and(|n| n.starts_with(library))
    };
    let path = paths.into_iter().find(is_it);
    let parts = [Some(whose).filter(|w| !w.is_empty()), path];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}
