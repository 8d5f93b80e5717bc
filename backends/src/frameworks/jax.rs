//! JAX: the kernel is a pure function that XLA compiles, for the CPU or a GPU.

use super::numpy;
use crate::array::dialect::{Boundary, Dialect};

/// The target `jax`.
pub static JAX: Dialect = Dialect {
    target: "jax",
    package: "jax",
    describe: "a Python module that computes with JAX, compiled by XLA, run in a worker process",
    title: "JAX",
    module: "jnp",
    imports: "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\n\
              # C's types as they are: JAX would narrow to 32 bits, and a GPU round the factors of a product.\n\
              jax.config.update(\"jax_enable_x64\", True)\n\
              jax.config.update(\"jax_default_matmul_precision\", \"highest\")\n",
    rows: &[super::PYTHON, numpy::ROWS, include_str!("jax/rows.txt")],
    helpers: &[numpy::HELPERS, include_str!("jax/helpers.py")],
    boundary: Some(Boundary {
        enter: "{x}",
        leave: "np.asarray({x})",
        jit: Some("@jax.jit(static_argnames={sizes})"),
        jit_rounds: false,
    }),
    inexact_floats: Some("XLA takes subnormal floats for zero and contracts products with sums"),
};
