//! Dask: NumPy's operators on arrays in chunks, by all cores or by a cluster (`TENSORIZE_DASK_SCHEDULER`).

use super::numpy;
use crate::array::dialect::{Boundary, Dialect};

/// The target `dask`.
pub static DASK: Dialect = Dialect {
    target: "dask",
    package: "dask.array",
    describe: "a Python module that computes in chunks with Dask, here or on a cluster, run in a worker process",
    title: "Dask",
    module: "da",
    imports: include_str!("dask/imports.py"),
    rows: &[super::PYTHON, numpy::ROWS, include_str!("dask/rows.txt")],
    helpers: &[
        numpy::HELPERS,
        super::TENSOR_HELPERS,
        include_str!("dask/helpers.py"),
    ],
    boundary: Some(Boundary {
        enter: "_chunked({x})",
        leave: "_fetched({x})",
        jit: None,
        jit_rounds: false,
    }),
    inexact_floats: None,
};
