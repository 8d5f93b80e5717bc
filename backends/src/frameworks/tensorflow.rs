//! TensorFlow: the kernel is a graph, traced by `tf.function` for each size.

use crate::array::dialect::{Boundary, Dialect};

/// The target `tensorflow`.
pub static TENSORFLOW: Dialect = Dialect {
    target: "tensorflow",
    package: "tensorflow",
    describe: "a Python module that computes with TensorFlow, run in a worker process",
    title: "TensorFlow",
    module: "tf",
    imports: include_str!("tensorflow/imports.py"),
    rows: &[
        super::PYTHON,
        super::TENSOR,
        include_str!("tensorflow/rows.txt"),
    ],
    helpers: &[super::TENSOR_HELPERS, include_str!("tensorflow/helpers.py")],
    boundary: Some(Boundary {
        enter: "tf.constant({x})",
        leave: "{x}.numpy()",
        jit: Some("@tf.function(autograph=False)"),
        jit_rounds: false,
    }),
    inexact_floats: Some("TensorFlow takes subnormal floats for zero"),
};
