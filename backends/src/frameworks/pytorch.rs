//! PyTorch: operator by operator, so that floats keep C's bits; compiled if `TENSORIZE_TORCH_COMPILE` is set.

use crate::array::dialect::{Boundary, Dialect};

/// The target `pytorch`.
pub static PYTORCH: Dialect = Dialect {
    target: "pytorch",
    package: "torch",
    describe: "a Python module that computes with PyTorch, run in a worker process",
    title: "PyTorch",
    module: "torch",
    imports: include_str!("pytorch/imports.py"),
    rows: &[
        super::PYTHON,
        super::TENSOR,
        include_str!("pytorch/rows.txt"),
    ],
    helpers: &[super::TENSOR_HELPERS, include_str!("pytorch/helpers.py")],
    boundary: Some(Boundary {
        enter: "_tensor({x})",
        leave: "{x}.numpy(force=True)",
        jit: Some("@_compiled"),
        jit_rounds: true,
    }),
    inexact_floats: None,
};
