//! Finding libclang, and the headers that it lacks.

use super::{Problem, ffi};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const HELP: &str = "run `cargo xtask setup`, or install one of: apt `libclang1-14 libclang-common-14-dev`, \
                    pip `libclang` (then set LIBCLANG_PATH to its `clang/native` directory)";

/// Loads libclang, once in the process. The file it was loaded from.
pub(super) fn load() -> Result<&'static Path, Problem> {
    let path = match ffi::load(candidates) {
        Ok(path) => path,
        Err(failures) => {
            let message = if failures.is_empty() {
                "libclang was not found".to_string()
            } else {
                format!("libclang could not be used: {}", failures.join("; "))
            };
            return Err(Problem {
                code: super::codes::NO_LIBCLANG,
                message,
                span: None,
                help: Some(HELP.into()),
            });
        }
    };
    match major_version(&ffi::version()) {
        Some(v) if v < 14 => Err(Problem {
            code: super::codes::NO_LIBCLANG,
            message: format!(
                "libclang is too old: {}; 14 is the oldest that will do",
                ffi::version()
            ),
            span: None,
            help: Some(HELP.into()),
        }),
        // A vendor's version string may say nothing we understand; the functions are all there.
        _ => Ok(path),
    }
}

fn major_version(text: &str) -> Option<u32> {
    let rest = &text[text.find("version ")? + "version ".len()..];
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

/// Where libclang may be: LIBCLANG_PATH and nothing else if it is set; then our own tools, then the
/// system.
fn candidates() -> Vec<PathBuf> {
    if let Some(path) = std::env::var_os("LIBCLANG_PATH") {
        let path = PathBuf::from(path);
        return if path.is_dir() {
            libraries_in(&path)
        } else {
            vec![path]
        };
    }
    let mut found = Vec::new();
    if let Some(data) = tensorize_prove::solver::data_dir() {
        for python in sorted(&data.join("venv/lib")) {
            found.extend(libraries_in(&python.join("site-packages/clang/native")));
        }
    }
    let mut roots: Vec<PathBuf> = Vec::new();
    for top in ["/usr/lib", "/usr/local/lib", "/opt/homebrew/opt"] {
        // `/usr/lib/llvm-18/lib`, newest first.
        let mut llvm = sorted(Path::new(top));
        llvm.retain(|p| {
            p.file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with("llvm"))
        });
        llvm.sort_by_key(|p| std::cmp::Reverse(trailing_number(p)));
        roots.extend(llvm.into_iter().map(|p| p.join("lib")));
    }
    let arch = std::env::consts::ARCH;
    roots.push(format!("/usr/lib/{arch}-linux-gnu").into());
    roots.extend(["/usr/lib64", "/usr/lib", "/usr/local/lib"].map(PathBuf::from));
    found.extend(roots.iter().flat_map(|r| libraries_in(r)));
    found
}

fn sorted(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .collect();
    entries.sort();
    entries
}

fn trailing_number(path: &Path) -> u32 {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    name.rsplit('-')
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(0)
}

/// `libclang.so`, `libclang-14.so.1`, `libclang.dylib` …, but not `libclang-cpp.so`.
fn libraries_in(dir: &Path) -> Vec<PathBuf> {
    let mut files = sorted(dir);
    files.retain(|p| {
        let name = p
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let version_only = |s: &str| {
            s.chars()
                .all(|c| c.is_ascii_digit() || c == '.' || c == '-')
        };
        name.strip_prefix("libclang").is_some_and(|rest| {
            rest.split_once(".so")
                .is_some_and(|(a, b)| version_only(a) && version_only(b))
                || rest == ".dylib"
        })
    });
    // The highest version first, and the plain name before all.
    files.reverse();
    files.sort_by_key(|p| p.file_name().is_none_or(|n| n != "libclang.so"));
    files
}

/// Arguments that give the compiler's own headers (`stddef.h` …) to a libclang that came without.
pub(super) fn resource_headers(library: &Path, args: &[String]) -> Vec<String> {
    if args
        .iter()
        .any(|a| a.starts_with("-resource-dir") || a == "-nostdinc" || a == "-nobuiltininc")
    {
        return vec![];
    }
    // libclang looks for `../lib/clang/VERSION/include` beside itself; those of another version are none of its.
    let major = major_version(&ffi::version());
    let real = library
        .canonicalize()
        .unwrap_or_else(|_| library.to_path_buf());
    let beside = real.parent().and_then(Path::parent);
    let has_own = beside.into_iter().any(|p| {
        [p.join("lib/clang"), p.join("clang")].iter().any(|d| {
            sorted(d)
                .iter()
                .any(|v| is_of(major, v) && v.join("include/stddef.h").is_file())
        })
    });
    if has_own {
        return vec![];
    }
    static GCC: OnceLock<Option<String>> = OnceLock::new();
    GCC.get_or_init(gcc_headers)
        .iter()
        .flat_map(|dir| ["-isystem".to_string(), dir.clone()])
        .collect()
}

/// Whether a folder such as `18` or `15.0.6` is this version's; where that is not known, any may be.
fn is_of(major: Option<u32>, folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let first = name.split('.').next().and_then(|n| n.parse::<u32>().ok());
    major.is_none() || first == major
}

fn gcc_headers() -> Option<String> {
    ["gcc", "cc"].iter().find_map(|cc| {
        let out = Command::new(cc)
            .arg("-print-file-name=include")
            .output()
            .ok()?;
        let dir = String::from_utf8(out.stdout).ok()?.trim().to_string();
        Path::new(&dir).join("stddef.h").is_file().then_some(dir)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_strings() {
        assert_eq!(major_version("Debian clang version 14.0.6"), Some(14));
        assert_eq!(major_version("clang version 18.1.1 (https://…)"), Some(18));
        assert_eq!(major_version("Apple clang"), None);
    }

    #[test]
    fn headers_of_another_version_are_not_its_own() {
        assert!(is_of(Some(18), Path::new("/usr/lib/clang/18")));
        assert!(is_of(Some(15), Path::new("/usr/lib/clang/15.0.6")));
        assert!(!is_of(Some(18), Path::new("/usr/lib/clang/16")));
        assert!(is_of(None, Path::new("/usr/lib/clang/16")));
    }

    #[test]
    fn library_names() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "libclang.so",
            "libclang-14.so.1",
            "libclang-cpp.so",
            "libclang_rt.so",
            "x.so",
        ] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let names: Vec<_> = libraries_in(dir.path())
            .iter()
            .map(|p| p.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["libclang.so", "libclang-14.so.1"]);
    }
}
