//! What the C compiler makes: the generated code, and the originals with their names given away.

use crate::adaptor::{language_of, prelude};
use crate::bindings::{Binding, entry, original_name};
use crate::builder::Error;
use crate::compiler::asked;
use crate::prototype;
use crate::record::short_hash;
use crate::session::{Kernel, Session, Source, on_apple, warn};
use crate::store::{Keep, write_atomic};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tensorize_ir::signature::Language;

impl Session {
    /// Compiles the generated C; the objects, and the library of OpenMP if they need it. What doesn't
    /// compile is left out: the originals are there.
    pub(crate) fn compile_generated(
        &self,
        sources: &mut [Source],
    ) -> Result<(Vec<PathBuf>, Option<&'static str>), Error> {
        let mut files = Vec::new();
        for kernel in sources.iter().flat_map(|s| &s.kernels) {
            for linked in &kernel.linked {
                let ending = match linked.language {
                    Language::C => "c",
                    Language::Cpp => "cpp",
                };
                let name = format!("{}__{}.{ending}", kernel.name, linked.target);
                let path = self.scratch().join(name);
                write_atomic(&path, linked.source.as_bytes(), Keep::IfNothingHappens).map_err(
                    |source| Error::Write {
                        path: path.clone(),
                        source,
                    },
                )?;
                let whose = (kernel.name.clone(), linked.target.clone());
                files.push((path, linked.language, whose));
            }
        }
        if files.is_empty() {
            return Ok((vec![], None));
        }
        let (c, openmp) = self.generated_flags(Language::C);
        let (cpp, _) = self.generated_flags(Language::Cpp);
        let compile = |(path, language, _): &(PathBuf, Language, _)| match language {
            Language::C => object(&c, path),
            Language::Cpp => object(&cpp, path),
        };
        let mut objects = Vec::new();
        for ((_, _, (kernel, target)), made) in files.iter().zip(in_parallel(&files, compile)) {
            match made {
                Ok(made) => objects.extend(made),
                Err(e) => {
                    warn(&format!(
                        "the code that was generated for {kernel} on {target} does not compile: {e}"
                    ));
                    let kernels = sources.iter_mut().flat_map(|s| &mut s.kernels);
                    kernels
                        .filter(|k| k.name == *kernel)
                        .for_each(|k| k.withdraw(target));
                }
            }
        }
        Ok((objects, openmp))
    }

    fn generated_flags(&self, language: Language) -> (cc::Build, Option<&'static str>) {
        let mut build = asked();
        build
            .warnings(false)
            .opt_level(3)
            // For code that is for a device which is not here.
            .include(tensorize_emulation::include_dir());
        match language {
            Language::C => build.std("gnu11"),
            // It has no use for the library of C++, which then need not be linked.
            Language::Cpp => build
                .cpp(true)
                .std("gnu++17")
                .cpp_link_stdlib(None)
                .flag_if_supported("-fno-exceptions")
                .flag_if_supported("-fno-rtti"),
        };
        for flag in ["-fwrapv", "-ffp-contract=off", "-fno-math-errno"] {
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
        let builds = [Language::C, Language::Cpp].map(|language| {
            let mut build = self.settings.cc_for_cargo(language);
            // Two libraries may have the same file, under other settings.
            build.out_dir(self.scratch());
            build
        });
        let mut files = Vec::new();
        for source in sources {
            let original = self.dir.join(&source.file);
            let language = language_of(&original);
            let kernels: Vec<&Kernel> = source
                .kernels
                .iter()
                .filter(|k| k.binding.is_dispatched())
                .collect();
            let stem = stem(&source.file);
            let note = |what: &str| self.scratch().join(format!("{stem}__{what}.object"));
            if kernels.is_empty() {
                files.push((original, language, note("alone"), source.whole.clone()));
                continue;
            }
            let text = wrapper(&original, &kernels, on_apple());
            let write = |path: &Path, text: &str| {
                write_atomic(path, text.as_bytes(), Keep::IfNothingHappens).map_err(|source| {
                    Error::Write {
                        path: path.to_path_buf(),
                        source,
                    }
                })
            };
            let path = self.scratch().join(match language {
                Language::C => format!("{stem}__original.c"),
                Language::Cpp => format!("{stem}__original.cpp"),
            });
            write(&path, &text)?;
            let made_from = source.whole.as_ref().map(|w| format!("{w}\n{text}"));
            files.push((path, language, note("original"), made_from));
            let jumps: String = kernels.iter().filter_map(|k| jump(&k.binding)).collect();
            if !jumps.is_empty() {
                let path = self.scratch().join(format!("{stem}__jumps.c"));
                write(&path, &jumps)?;
                files.push((path, Language::C, note("jumps"), Some(jumps)));
            }
        }
        let compile =
            |(path, language, note, made_from): &(PathBuf, Language, PathBuf, Option<String>)| {
                let build = &builds[usize::from(*language == Language::Cpp)];
                kept(build, path, note, made_from.as_deref())
            };
        let mut objects = Vec::new();
        for made in in_parallel(&files, compile) {
            objects.extend(made?);
        }
        Ok(objects)
    }

    /// Whether the file that an original is compiled from takes the shims and thunks in it.
    pub(crate) fn takes(&self, file: &str, kernels: &[&Kernel]) -> bool {
        let original = self.dir.join(file);
        let language = language_of(&original);
        let stem = stem(file);
        let path = self.scratch().join(match language {
            Language::C => format!("{stem}__shims.c"),
            Language::Cpp => format!("{stem}__shims.cpp"),
        });
        let text = wrapper(&original, kernels, false);
        let build = self.settings.cc(language);
        let Ok(mut command) = self.settings.command(&build) else {
            return false;
        };
        // Aliases are checked by the compiler proper.
        command.args(["-w", "-c", "-o"]);
        command.arg(path.with_extension("o")).arg(&path);
        write_atomic(&path, text.as_bytes(), Keep::IfNothingHappens).is_ok()
            && command.output().is_ok_and(|o| o.status.success())
    }
}

/// What files that are made for this one are called: for `a/b.c` otherwise than for `a_b.c`.
pub(crate) fn stem(file: &str) -> String {
    let name = file.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!("{name}_{}", &short_hash(file.as_bytes())[..8])
}

/// The object of a generated file: that of an earlier run, if neither the file nor how it is compiled has changed.
fn object(build: &cc::Build, file: &Path) -> Result<Vec<PathBuf>, cc::Error> {
    let source = fs::read_to_string(file)?;
    // Of other headers than the system's nobody looks whether they are the same.
    let alone = !source.contains("#include \"");
    let made_from = alone.then_some(source.as_str());
    kept(build, file, &file.with_extension("object"), made_from)
}

/// The object of a file: that of an earlier run, of which `note` tells, if neither what it is made from nor how it is compiled
/// has changed. `made_from` is all that the compiler reads, or stands for it; without it nobody knows.
fn kept(
    build: &cc::Build,
    file: &Path,
    note: &Path,
    made_from: Option<&str>,
) -> Result<Vec<PathBuf>, cc::Error> {
    let tool = build.try_get_compiler()?;
    let told = format!("{}\n{:?}\n", tool.path().display(), tool.args());
    let key = made_from.map(|text| short_hash((told + text).as_bytes()));
    if let Ok(text) = fs::read_to_string(note)
        && let Some((made_from, object)) = text.split_once('\n')
        && Some(made_from) == key.as_deref()
        && Path::new(object).is_file()
    {
        return Ok(vec![object.into()]);
    }
    // While it is written, there is none.
    fs::remove_file(note).ok();
    let made = build.clone().file(file).try_compile_intermediates()?;
    if let ([object], Some(key)) = (made.as_slice(), key) {
        let text = format!("{key}\n{}", object.display());
        write_atomic(note, text.as_bytes(), Keep::IfNothingHappens).ok();
    }
    Ok(made)
}

/// Does the work for each of these, as many at a time as cargo allows.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let jobs = env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok());
    let queue = Mutex::new(items.iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let one_thread =
        || std::iter::from_fn(|| next().map(|(at, item)| (at, work(item)))).collect::<Vec<_>>();
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..jobs.unwrap_or(1).min(items.len()))
            .map(|_| scope.spawn(one_thread))
            .collect();
        let mut done = one_thread();
        for other in others {
            done.extend(
                other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// What has the original's name in the program: a jump to the shim, which has the same parameters.
fn jump(binding: &Binding) -> Option<String> {
    let source = binding.prototype.as_ref()?.source.as_ref()?;
    let (symbol, shim) = (&source.symbol, entry::shim_name(&binding.name));
    let trampoline = entry::trampoline_name(&binding.name);
    Some(format!(
        "#if defined(__x86_64__)\n#define JUMP \"endbr64\\n\\tjmp {shim}@PLT\"\n\
         #elif defined(__i386__)\n#define JUMP \"jmp {shim}\"\n\
         #elif defined(__aarch64__)\n#define JUMP \"hint #34\\n\\tb {shim}\"\n\
         #elif defined(__riscv)\n#define JUMP \"tail {shim}\"\n#endif\n\
         __asm__(\".text\\n\\t.p2align 4\\n\\t.globl {symbol}\\n\\t.type {symbol}, %function\\n\\t\"\n\
         \".globl {trampoline}\\n\\t.type {trampoline}, %function\\n{symbol}:\\n{trampoline}:\\n\\t\" JUMP \"\\n\\t\"\n\
         \".size {symbol}, .-{symbol}\\n\\t.size {trampoline}, .-{trampoline}\");\n#undef JUMP\n"
    ))
}

fn wrapper(original: &Path, swapped: &[&Kernel], rename: bool) -> String {
    let include = format!("#include \"{}\"\n", prototype::c_string(original));
    let mut text = String::from("/* Written by tensorize-build. */\n");
    if rename {
        // No aliases there: callers in the same file call the original.
        for k in swapped {
            text += &format!("#define {} {}\n", k.name, original_name(&k.name));
        }
        return text + &include;
    }
    let symbol = |k: &Kernel| {
        let source = k.binding.prototype.as_ref().and_then(|p| p.source.as_ref());
        source.map_or_else(|| k.name.clone(), |s| s.symbol.clone())
    };
    for k in swapped {
        let symbol = symbol(k);
        text += &format!("#pragma weak {symbol}\n");
        // GCC does not look for the pragma's name among the members of classes; its assembler does.
        if language_of(original) == Language::Cpp {
            text += &format!("#ifndef __clang__\n__asm__(\".weak {symbol}\");\n#endif\n");
        }
    }
    text += &include;
    text += "#pragma GCC diagnostic ignored \"-Wmissing-attributes\"\n";
    if swapped.iter().any(|k| k.binding.is_described()) {
        text += prelude(language_of(original));
    }
    for k in swapped {
        match k.binding.native_code() {
            Some(code) => text += &code,
            None => {
                let (name, alias) = (&k.name, original_name(&k.name));
                text += &format!(
                    "extern __typeof__({name}) {alias} __attribute__((alias(\"{name}\")));\n"
                );
            }
        }
    }
    text
}

/// Whether a generated C function asks for memory: it then has a parameter more, through which it says whether there was
/// any. If not, it has touched nothing.
pub fn asks_for_memory(source: &str) -> bool {
    source.contains("_Bool *tz_there_was")
}

/// The library to link for OpenMP, if a program with it can be made; it is made in the folder `scratch`.
pub fn openmp(build: &cc::Build, scratch: &Path) -> Option<&'static str> {
    let tool = build.try_get_compiler().ok()?;
    let source = scratch.join("openmp.c");
    let text = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n";
    write_atomic(&source, text.as_bytes(), Keep::IfNothingHappens).ok()?;
    let library = if tool.is_like_clang() { "omp" } else { "gomp" };
    let mut command = tool.to_command();
    command
        .args(["-fopenmp", "-w"])
        .arg(&source)
        .arg("-o")
        .arg(scratch.join("openmp.out"));
    command.output().ok()?.status.success().then_some(library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_made_again_if_its_source_or_a_flag_is_another() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f.c");
        let build = |flag: &str| {
            let host = env!("TENSORIZE_HOST");
            let mut build = cc::Build::new();
            build
                .cargo_metadata(false)
                .host(host)
                .target(host)
                .opt_level(1);
            build.out_dir(dir.path()).flag(flag);
            build
        };
        let made = |flag: &str, source: &str| {
            fs::write(&file, source).unwrap();
            let objects = object(&build(flag), &file).unwrap();
            let [made] = objects.as_slice() else {
                panic!("{objects:?}");
            };
            let is_new = fs::read(made).unwrap() != b"mark";
            fs::write(made, "mark").unwrap();
            is_new
        };
        let one = "int f(void) { return 1; }";
        assert!(made("-DA", one));
        assert!(!made("-DA", one));
        assert!(made("-DB", one));
        assert!(made("-DB", "int f(void) { return 2; }"));
        fs::write(dir.path().join("h.h"), "").unwrap();
        let other = "#include \"h.h\"\nint f(void) { return 1; }";
        assert!(
            made("-DB", other) && made("-DB", other),
            "h.h may have changed"
        );
        fs::write(&file, "int f(void) {").unwrap();
        assert!(object(&build("-DB"), &file).is_err());
        assert!(made("-DB", one), "what failed leaves nothing to reuse");
    }

    #[test]
    fn no_two_files_have_what_is_made_for_them_in_one_place() {
        let names = ["a/b.c", "a_b.c", "a/b_c", "a-b.c"].map(stem);
        let unique: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(unique.len(), names.len(), "{names:?}");
    }

    #[test]
    fn order_is_kept() {
        let items: Vec<usize> = (0..50).collect();
        assert_eq!(
            in_parallel(&items, |n| n * n),
            items.iter().map(|n| n * n).collect::<Vec<_>>()
        );
    }
}
