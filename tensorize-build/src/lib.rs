//! What a build script calls, and the format of stored results.
//!
//! Deliberately absent: the solver and libclang. Whoever builds a crate with tensorized kernels needs a
//! C compiler and nothing more.

pub mod adaptor;
mod archive;
mod arithmetic;
mod bindings;
mod builder;
pub mod cache;
pub mod compiler;
pub mod config;
mod cross;
pub mod current;
pub mod guarded;
pub mod hash;
mod limited;
mod native;
mod prototype;
pub mod record;
mod session;
pub mod store;

pub use builder::{Build, Error};
pub use compiler::{Settings, include_dir};
pub use native::{asks_for_memory, openmp};
