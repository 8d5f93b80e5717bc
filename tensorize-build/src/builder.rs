//! What a build script calls.

use crate::config::{Library, relative_to};
use crate::session::Session;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

/// Compiles C kernels and what was generated from them, in the manner of `cc::Build`:
///
/// ```no_run
/// fn main() -> Result<(), tensorize_build::Error> {
///     tensorize_build::Build::new().file("kernels/blend.c").compile("kernels")
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Build {
    files: Vec<String>,
    include: Vec<String>,
    define: Vec<String>,
    flags: Vec<String>,
}

/// Why a build failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not in a build script.
    #[error("{0} is not set; tensorize_build::Build::compile is for build scripts")]
    NotABuildScript(&'static str),
    /// A mistake in the manifest.
    #[error("{0}")]
    Configuration(String),
    /// A C file that can't be read.
    #[error("{0}")]
    Preprocess(String),
    /// The C compiler failed on an original.
    #[error("{0}")]
    Compile(#[from] cc::Error),
    /// A file could not be written.
    #[error("{path}: {source}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// `TENSORIZE_STRICT=1`, and some kernels have no result.
    #[error(
        "no current result for {0}; run `cargo tensorize` and commit `.tensorize/`, or unset TENSORIZE_STRICT"
    )]
    Strict(String),
    /// `TENSORIZE_STRICT=1` in a build for another machine, and some results don't hold there.
    #[error("{0}; unset TENSORIZE_STRICT to build them as they are")]
    StrictElsewhere(String),
}

impl fmt::Debug for Error {
    /// As [`fmt::Display`]: it is what a build script's `main` prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Build {
    /// No files yet.
    pub fn new() -> Build {
        Build::default()
    }

    /// Adds a C file, relative to the manifest's folder.
    pub fn file(mut self, path: impl AsRef<Path>) -> Build {
        self.files
            .push(path.as_ref().to_string_lossy().into_owned());
        self
    }

    /// Adds C files.
    pub fn files<P: AsRef<Path>>(self, paths: impl IntoIterator<Item = P>) -> Build {
        paths.into_iter().fold(self, |build, path| build.file(path))
    }

    /// Adds a folder for `#include`.
    pub fn include(mut self, dir: impl AsRef<Path>) -> Build {
        self.include
            .push(dir.as_ref().to_string_lossy().into_owned());
        self
    }

    /// Defines a macro, as `-DNAME` or `-DNAME=VALUE`.
    pub fn define<'a>(mut self, name: &str, value: impl Into<Option<&'a str>>) -> Build {
        self.define.push(match value.into() {
            Some(value) => format!("{name}={value}"),
            None => name.to_string(),
        });
        self
    }

    /// Adds an argument of the C compiler.
    pub fn flag(mut self, flag: impl AsRef<str>) -> Build {
        self.flags.push(flag.as_ref().to_string());
        self
    }

    /// Compiles the files into a static library of this name, and writes `OUT_DIR/NAME.rs` for
    /// `tensorize_rt::include_kernels!`.
    pub fn compile(self, name: &str) -> Result<(), Error> {
        let var = |name| {
            env::var_os(name)
                .map(PathBuf::from)
                .ok_or(Error::NotABuildScript(name))
        };
        let dir = var("CARGO_MANIFEST_DIR")?;
        let out = var("OUT_DIR")?;
        let relative = |paths: &[String]| -> Vec<String> {
            paths
                .iter()
                .map(|p| relative_to(&dir, Path::new(p)))
                .collect()
        };
        let library = Library {
            name: name.into(),
            files: relative(&self.files),
            include: relative(&self.include),
            define: self.define,
            flags: self.flags,
        };
        let result = Session::new(dir, out, library).and_then(Session::run);
        if let Err(e) = &result {
            for line in e.to_string().lines() {
                println!("cargo::error={line}");
            }
        }
        result
    }
}
