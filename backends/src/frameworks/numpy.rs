//! NumPy: computes on the arrays that are passed, in the order of the loops if that is asked for.

use crate::array::dialect::Dialect;

/// What NumPy calls the operators, and those who took over its interface.
pub(super) const ROWS: &str = include_str!("numpy.rows");

/// The target `numpy`.
pub static NUMPY: Dialect = Dialect {
    target: "numpy",
    describe: "a Python module that computes with NumPy, run in a worker process",
    title: "NumPy",
    module: "np",
    imports: "import numpy as np\n",
    rows: &[super::COMMON, ROWS],
    helpers: &[include_str!("numpy.py")],
    boundary: None,
    inexact_floats: None,
};
