//! Gaudi as a whole: elementwise kernels are its cores', and all others PyTorch's, whose bridge to the device has the
//! matrix engine, too.

use super::{CORES, Cores};
use crate::array::dialect::{Boundary, Dialect};
use crate::frameworks::PYTORCH;
use crate::{Generated, Kernel, Target, Unsupported};

/// The target `gaudi`.
pub struct Gaudi {
    /// What computes elements.
    pub cores: &'static Cores,
    /// What computes everything else.
    pub torch: &'static Dialect,
}

/// The target `gaudi`.
pub static GAUDI: Gaudi = Gaudi {
    cores: &CORES,
    torch: &HPU,
};

/// PyTorch on Gaudi, which it calls `hpu`.
pub static HPU: Dialect = Dialect {
    target: "hpu",
    package: "torch",
    describe: "a Python module that computes with PyTorch on Gaudi",
    title: "PyTorch on Gaudi",
    module: "torch",
    imports: include_str!("torch/imports.py"),
    rows: &[
        PYTORCH.rows[0],
        PYTORCH.rows[1],
        PYTORCH.rows[2],
        include_str!("torch/rows.txt"),
    ],
    helpers: &[
        PYTORCH.helpers[0],
        PYTORCH.helpers[1],
        include_str!("torch/helpers.py"),
    ],
    boundary: Some(Boundary {
        enter: "_tensor({x})",
        leave: "{x}.numpy(force=True)",
        jit: Some("@_on_device"),
        jit_rounds: false,
    }),
    inexact_floats: Some("Gaudi rounds floats as it likes"),
};

impl Target for Gaudi {
    fn name(&self) -> &'static str {
        "gaudi"
    }

    fn describe(&self) -> &'static str {
        "TPC-C for Gaudi's cores, PyTorch for what is not elementwise; emulated where there is no Gaudi"
    }

    fn is_emulated(&self) -> bool {
        true
    }

    fn partly_python(&self) -> Option<&'static str> {
        Some(self.torch.package)
    }

    fn has_rounds(&self) -> bool {
        true
    }

    fn generate(&self, kernel: &Kernel) -> Result<Generated, Unsupported> {
        let on_cores = match kernel.function.rounds {
            None => self.cores.generate(kernel),
            Some(_) => Err(Unsupported::new("a core has no loops over time here")),
        };
        on_cores.or_else(|on_cores| {
            let in_torch = self.torch.generate(kernel);
            in_torch.map_err(|torch| Unsupported::new(format!("{on_cores}; {torch}")))
        })
    }
}
