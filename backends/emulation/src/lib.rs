//! C headers that stand in for accelerators, so that code for them compiles and runs on any machine.
//!
//! * `gemmini.h`: the instructions of a Gemmini core, one by one.
//! * `tpc.h`: vector types and intrinsics of Gaudi's tensor processor cores, and a host that launches kernels.
//!
//! They compute what the devices' documents say, slowly. Nothing here says how fast a device is.

use std::path::{Path, PathBuf};

/// The folder of the headers, for `-I`.
pub fn include_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}
