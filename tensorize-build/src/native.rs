//! What the C compiler makes: the generated code, and the originals with their names given away.

use crate::bindings::{Code, original_name};
use crate::builder::{Error, Kernel, Session, Source, warn};
use crate::prototype;
use crate::store::write_atomic;
use std::env;
use std::path::{Path, PathBuf};

impl Session {
    /// Compiles the generated C; the objects, and the library of OpenMP if they need it. What doesn't
    /// compile is left out: the originals are there.
    pub(crate) fn compile_generated(
        &self,
        sources: &mut [Source],
    ) -> Result<(Vec<PathBuf>, Option<&'static str>), Error> {
        let mut kernels: Vec<&mut Kernel> = sources
            .iter_mut()
            .flat_map(|s| &mut s.kernels)
            .filter(|k| k.native.is_some())
            .collect();
        if kernels.is_empty() {
            return Ok((vec![], None));
        }
        let (build, openmp) = self.generated_flags();
        let mut paths = Vec::new();
        for kernel in &kernels {
            let path = self.scratch().join(format!("{}__generated.c", kernel.name));
            let text = kernel.native.as_ref().map_or("", |(_, source)| source);
            write_atomic(&path, text.as_bytes()).map_err(|source| Error::Write {
                path: path.clone(),
                source,
            })?;
            paths.push(path);
        }
        if let Ok(objects) = build.clone().files(&paths).try_compile_intermediates() {
            return Ok((objects, openmp));
        }
        let mut objects = Vec::new();
        for (kernel, path) in kernels.iter_mut().zip(&paths) {
            match build.clone().file(path).try_compile_intermediates() {
                Ok(made) => objects.extend(made),
                Err(e) => {
                    warn(&format!(
                        "the code that was generated for {} does not compile: {e}",
                        kernel.name
                    ));
                    kernel.native = None;
                    for t in &mut kernel.binding.targets {
                        if matches!(t.code, Code::Native { .. }) {
                            t.code = Code::Absent("the C compiler does not take it".into());
                        }
                    }
                }
            }
        }
        Ok((objects, openmp))
    }

    fn generated_flags(&self) -> (cc::Build, Option<&'static str>) {
        let mut build = cc::Build::new();
        build
            .cargo_metadata(false)
            .cargo_warnings(false)
            .warnings(false)
            .opt_level(3);
        for flag in [
            "-std=gnu11",
            "-fwrapv",
            "-ffp-contract=off",
            "-fno-math-errno",
        ] {
            build.flag_if_supported(flag);
        }
        let openmp = openmp(&build, &self.scratch());
        if openmp.is_some() {
            build.flag("-fopenmp");
        }
        (build, openmp)
    }

    /// Compiles the originals: a dispatched kernel becomes a weak symbol, which the dispatcher of that name
    /// overrides for every caller, those in the same file too, and keeps another name for the dispatcher.
    pub(crate) fn compile_originals(&self, sources: &[Source]) -> Result<Vec<PathBuf>, Error> {
        let mut build = self.settings.cc();
        build
            .cargo_metadata(true)
            .cargo_warnings(true)
            .emit_rerun_if_env_changed(true);
        let apple = env::var("CARGO_CFG_TARGET_VENDOR").is_ok_and(|v| v == "apple");
        for source in sources {
            let swapped: Vec<&str> = source
                .kernels
                .iter()
                .filter(|k| k.binding.is_dispatched())
                .map(|k| k.name.as_str())
                .collect();
            let original = self.dir.join(&source.file);
            if swapped.is_empty() {
                build.file(original);
                continue;
            }
            let text = wrapper(&original, &swapped, apple);
            let stem = source
                .file
                .replace(|c: char| !c.is_ascii_alphanumeric(), "_");
            let path = self.scratch().join(format!("{stem}__original.c"));
            write_atomic(&path, text.as_bytes()).map_err(|source| Error::Write {
                path: path.clone(),
                source,
            })?;
            build.file(path);
        }
        Ok(build.try_compile_intermediates()?)
    }
}

fn wrapper(original: &Path, swapped: &[&str], rename: bool) -> String {
    let include = format!("#include \"{}\"\n", prototype::c_string(original));
    let mut text = String::from("/* Written by tensorize-build. */\n");
    if rename {
        // No aliases there: callers in the same file call the original.
        for name in swapped {
            text += &format!("#define {name} {}\n", original_name(name));
        }
        return text + &include;
    }
    for name in swapped {
        text += &format!("#pragma weak {name}\n");
    }
    text += &include;
    text += "#pragma GCC diagnostic ignored \"-Wmissing-attributes\"\n";
    for name in swapped {
        let alias = original_name(name);
        text += &format!("extern __typeof__({name}) {alias} __attribute__((alias(\"{name}\")));\n");
    }
    text
}

/// The library to link for OpenMP, if a program with it can be made.
fn openmp(build: &cc::Build, scratch: &Path) -> Option<&'static str> {
    let tool = build.try_get_compiler().ok()?;
    let source = scratch.join("openmp.c");
    let text = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n";
    write_atomic(&source, text.as_bytes()).ok()?;
    let library = if tool.is_like_clang() { "omp" } else { "gomp" };
    let mut command = tool.to_command();
    command
        .args(["-fopenmp", "-w"])
        .arg(&source)
        .arg("-o")
        .arg(scratch.join("openmp.out"));
    command.output().ok()?.status.success().then_some(library)
}
