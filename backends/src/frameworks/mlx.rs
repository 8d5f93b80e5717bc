//! MLX: compiled for Apple's GPU where there is one, else for the CPU.

use crate::array::dialect::{Boundary, Dialect};

/// The target `mlx`.
pub static MLX: Dialect = Dialect {
    target: "mlx",
    package: "mlx.core",
    describe: "a Python module that computes with MLX, run in a worker process",
    title: "MLX",
    module: "mx",
    imports: "import mlx.core as mx\nimport numpy as np\n",
    rows: &[super::PYTHON, super::TENSOR, include_str!("mlx/rows.txt")],
    helpers: &[super::TENSOR_HELPERS, include_str!("mlx/helpers.py")],
    boundary: Some(Boundary {
        enter: "mx.array({x}, {t})",
        leave: "np.array({x})",
        jit: Some("@mx.compile"),
        jit_rounds: false,
    }),
    inexact_floats: Some("MLX compiles float operators into one, which a GPU may contract"),
};
