//! What there is of a target's drivers, compilers and devices, for whoever asks why nothing runs on it. Nothing is started.

use super::Api;

/// A driver, a compiler or a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// As people call it.
    pub name: &'static str,
    /// What it says of itself, or why it is not there.
    pub found: Result<Details, String>,
}

/// What is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    /// Its version.
    pub version: String,
    /// The device's name and who drives it; empty for a library.
    pub whose: String,
}

impl Api {
    /// All that a call needs, whether it is there or not.
    pub fn parts(self) -> Vec<Component> {
        match self {
            #[cfg(feature = "opencl")]
            Api::OpenCl => super::opencl::parts(),
            #[cfg(feature = "cuda")]
            Api::Cuda => super::cuda::parts(),
            #[cfg(not(all(feature = "opencl", feature = "cuda")))]
            _ => vec![],
        }
    }
}
