//! The frameworks for arrays. Each has a file here with what is special about it, and a folder with its rows of
//! operators (see [`crate::array::dialect`]) and with what it lacks, in Python.

mod dask;
mod jax;
mod mlx;
mod numpy;
mod pytorch;
mod tensorflow;

pub use dask::DASK;
pub use jax::JAX;
pub use mlx::MLX;
pub use numpy::NUMPY;
pub use pytorch::PYTORCH;
pub use tensorflow::TENSORFLOW;

use crate::array::dialect::Dialect;

/// What Python's operators are in all of them, and functions that most have under one name.
const PYTHON: &str = include_str!("shared/python.txt");

/// What those share that don't follow NumPy's interface.
const TENSOR: &str = include_str!("shared/tensor.txt");
const TENSOR_HELPERS: &str = include_str!("shared/tensor.py");

/// All of them.
pub static ALL: &[&Dialect] = &[&NUMPY, &JAX, &PYTORCH, &TENSORFLOW, &MLX, &DASK];
