//! The frameworks for arrays: a file with what is special about each, rows of operators, helpers in Python.

mod numpy;

pub use numpy::NUMPY;

use crate::array::dialect::Dialect;

/// What most frameworks have under the same name.
const COMMON: &str = include_str!("common.rows");

/// All of them.
pub static ALL: &[&Dialect] = &[&NUMPY];
