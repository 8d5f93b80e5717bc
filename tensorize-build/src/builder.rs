//! What a build script calls.

use crate::adaptor::language_of;
use crate::compiler::Settings;
use crate::config::{Library, relative_to};
use crate::session::Session;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use tensorize_ir::signature::Language;

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
    flags: Vec<Flag>,
    pic: Option<bool>,
}

/// An argument of the C compiler.
#[derive(Clone, Debug)]
enum Flag {
    Always(String),
    /// Only for a compiler that knows it.
    IfSupported(String),
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

    /// Adds folders for `#include`.
    pub fn includes<P: AsRef<Path>>(self, dirs: impl IntoIterator<Item = P>) -> Build {
        dirs.into_iter().fold(self, |build, dir| build.include(dir))
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
        self.flags.push(Flag::Always(flag.as_ref().to_string()));
        self
    }

    /// Adds arguments of the C compiler.
    pub fn flags<F: AsRef<str>>(self, flags: impl IntoIterator<Item = F>) -> Build {
        flags.into_iter().fold(self, |build, flag| build.flag(flag))
    }

    /// Adds an argument of the C compiler if the compiler knows it, that of each language which the files are in.
    pub fn flag_if_supported(mut self, flag: impl AsRef<str>) -> Build {
        let flag = flag.as_ref().to_string();
        self.flags.push(Flag::IfSupported(flag));
        self
    }

    /// Whether the originals are code that can lie anywhere; if nobody says, they are wherever the platform asks for that.
    pub fn pic(mut self, pic: bool) -> Build {
        self.pic = Some(pic);
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
            flags: self.known_flags(),
            define: self.define,
            pic: self.pic,
        };
        let result = Session::new(dir, out, library).and_then(Session::run);
        if let Err(e) = &result {
            for line in e.to_string().lines() {
                println!("cargo::error={line}");
            }
        }
        result
    }
    /// The flags without those that are only for compilers other than this one.
    fn known_flags(&self) -> Vec<String> {
        let settings = Settings::default();
        let mut languages: Vec<Language> = Vec::new();
        for file in &self.files {
            let language = language_of(Path::new(file));
            if !languages.contains(&language) {
                languages.push(language);
            }
        }
        let is_known = |flag: &str| languages.iter().all(|l| settings.takes_flag(*l, flag));
        let mut known = Vec::new();
        for flag in &self.flags {
            match flag {
                Flag::Always(flag) => known.push(flag.clone()),
                Flag::IfSupported(flag) if is_known(flag) => known.push(flag.clone()),
                Flag::IfSupported(_) => {}
            }
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_for_other_compilers_are_left_out() {
        let flags = |file: &str| {
            let build = Build::new()
                .file(file)
                .flags(["-fno-one-knows-this", "-O3"])
                .flag_if_supported("-fno-such-flag-at-all")
                .flag_if_supported("-std=c11")
                .includes(["a", "b"]);
            assert_eq!(build.include, ["a", "b"]);
            build.known_flags()
        };
        // What is to be there in any case isn't asked about.
        assert_eq!(flags("k.c"), ["-fno-one-knows-this", "-O3", "-std=c11"]);
        assert_eq!(flags("k.cpp"), ["-fno-one-knows-this", "-O3"]);
    }

    #[test]
    fn where_code_may_lie_is_the_originals_business() {
        let arguments = |pic| {
            let settings = Settings {
                pic,
                ..Settings::default()
            };
            let tool = settings.cc(Language::C).get_compiler();
            let mut all = tool.args().iter().map(|a| a.to_string_lossy().into_owned());
            all.any(|a| a == "-fPIC")
        };
        assert!(!arguments(Some(false)) && arguments(Some(true)));
        assert_eq!(Build::new().pic(false).pic, Some(false));
    }
}
