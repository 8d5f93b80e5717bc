//! NumPy: computes on the arrays that are passed, in the order of the loops if that is asked for.

use crate::array::dialect::Dialect;

/// What NumPy calls the operators, and those who took over its interface.
pub(super) const ROWS: &str = include_str!("numpy/rows.txt");

/// What NumPy's interface lacks; `xp` is whose interface it is.
pub(super) const HELPERS: &str = include_str!("numpy/api.py");

/// The target `numpy`.
pub static NUMPY: Dialect = Dialect {
    target: "numpy",
    package: "numpy",
    describe: "a Python module that computes with NumPy, run in a worker process",
    title: "NumPy",
    module: "np",
    imports: "import numpy as np\n",
    rows: &[super::PYTHON, ROWS],
    helpers: &[HELPERS, include_str!("numpy/helpers.py")],
    boundary: None,
    inexact_floats: None,
};
