//! NumPy.
use crate::{Generated, Kernel, Target, Unsupported};

/// The target `numpy`.
pub struct NumPy;

impl Target for NumPy {
    fn name(&self) -> &'static str {
        "numpy"
    }

    fn describe(&self) -> &'static str {
        "a Python module that computes with NumPy, run in a worker process"
    }

    fn generate(&self, _kernel: &Kernel) -> Result<Generated, Unsupported> {
        Err(Unsupported::new("not written yet"))
    }
}
