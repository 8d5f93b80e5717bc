//! Where each thing is looked for: in the places where the rest of the program finds it.

use super::Check;
use crate::scratch::Scratch;
use crate::tools::{find_python, on_path, solver};
use crate::words::counted;
use indicatif::HumanBytes;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tensorize_build::Settings;
use tensorize_build::cache::Cache;
use tensorize_ir::signature::Language;
use tensorize_prove::solver::data_dir;

/// Asks Python what there is, without importing it: frameworks take seconds to load.
const SCRIPT: &str = "
import importlib.metadata, importlib.util, json, sys
of_module = importlib.metadata.packages_distributions()
found = {}
for name in sys.argv[1:]:
    top = name.split('.')[0]
    spec = importlib.util.find_spec(top)
    if spec:
        packages = of_module.get(top) or [top]
        try:
            version = importlib.metadata.version(packages[0])
        except importlib.metadata.PackageNotFoundError:
            version = 'unknown'
        places = list(spec.submodule_search_locations or []) or [spec.origin]
        found[name] = {'version': version, 'place': places[0]}
print(json.dumps({'python': sys.version.split()[0], 'found': found}))
";

/// What proves, reads and compiles.
pub(super) fn programs() -> Vec<Check> {
    let mut all = vec![this_program(), z3(), libclang()];
    all.extend(compilers());
    all.extend([cvc5(), remote()]);
    all
}

/// The shared cache: how much it holds, and of how much.
pub(super) fn caches() -> Vec<Check> {
    let check = Check::new("shared cache", "results of other checkouts");
    vec![match (Cache::of_user(), Cache::limit()) {
        (Err(why), _) | (Ok(Some(_)), Err(why)) => check.missing(why, None),
        (Ok(None), _) => {
            check.missing("TENSORIZE_CACHE is `off`, or there is no home folder", None)
        }
        (Ok(Some(cache)), Ok(limit)) => {
            let size = cache.size();
            let held = format!(
                "{}, {} of {}",
                counted(size.results, "result"),
                HumanBytes(size.bytes),
                HumanBytes(limit)
            );
            check.found(held, shown(cache.dir()))
        }
    }]
}

fn this_program() -> Check {
    let place = std::env::current_exe().unwrap_or_default();
    let check = Check::new("cargo-tensorize", "everything").needed();
    check.found(env!("CARGO_PKG_VERSION"), shown(&place))
}

fn z3() -> Check {
    let path = tensorize_prove::solver::find();
    let check = Check::new("Z3", "proofs").needed();
    match solver(&path) {
        Ok(z3) => {
            let place = on_path(&path).unwrap_or(path);
            check.found(z3.version(), shown(&place))
        }
        Err(d) => {
            let named = std::env::var_os("TENSORIZE_Z3").is_some_and(|v| !v.is_empty());
            let remedy = if named {
                // A Z3 that is named is the only one that is tried.
                Some(format!(
                    "unset TENSORIZE_Z3; {}",
                    into_our_folder("'z3-solver>=5.4,<6'")
                ))
            } else {
                Some(into_our_folder("'z3-solver>=5.4,<6'"))
            };
            check.missing(d.message, remedy)
        }
    }
}

/// The program, else the package of the Python that runs generated modules, as `--solver cvc5` looks for it.
fn cvc5() -> Check {
    let check = Check::new("cvc5", "a second opinion on proofs (--solver cvc5)");
    let named = std::env::var_os("TENSORIZE_CVC5").filter(|v| !v.is_empty());
    if let Some(program) = named.clone().map(PathBuf::from).or_else(|| on_path("cvc5")) {
        return match first_line(&program, &["--version"]) {
            Some(version) => check.found(version, shown(&program)),
            None => {
                let remedy = named.map(|_| "unset TENSORIZE_CVC5".to_owned());
                check.missing(format!("{} does not run", shown(&program)), remedy)
            }
        };
    }
    let python = find_python();
    let there = installed(&python, &["cvc5"]);
    match there.as_ref().and_then(|t| t.found.get("cvc5")) {
        Some(package) => check.found(&package.version, &package.place),
        None => check.missing(
            "not installed",
            Some(into_python(&python, "'cvc5>=1.3,<2'")),
        ),
    }
}

/// What speaks to a team's cache.
fn remote() -> Check {
    let check = Check::new(
        "cargo-tensorize-remote",
        "a remote cache (TENSORIZE_REMOTE)",
    );
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cargo-tensorize-remote");
    // Where this was built from sources that are gone, the remedy is for a checkout of them.
    let sources = sources
        .canonicalize()
        .map_or_else(|_| "cargo-tensorize-remote".to_owned(), |p| shown(&p));
    let remedy = Some(format!("cargo install --path {sources}"));
    match crate::remote::program() {
        None => check.missing("not installed", remedy),
        Some(program) => match first_line(&program, &["--version"]) {
            Some(version) => check.found(version, shown(&program)),
            None => check.missing(
                format!("{} does not tell its version", shown(&program)),
                remedy,
            ),
        },
    }
}

/// The first version of libclang that does.
const NAMES_OPERATORS: u32 = 17;

/// Of `Debian clang version 15.0.6`.
fn major(version: &str) -> Option<u32> {
    let (_, number) = version.split_once("version ")?;
    number.split('.').next()?.parse().ok()
}

fn libclang() -> Check {
    let check = Check::new("libclang", "reading C").needed();
    match tensorize_lift::c::libclang() {
        Ok((path, version)) => {
            let mut place = shown(&path);
            if major(&version).is_some_and(|m| m < NAMES_OPERATORS) {
                let newer = into_our_folder("libclang==18.1.1");
                place += &format!(
                    "; it does not name operators in macros, {NAMES_OPERATORS} and later do: {newer}"
                );
            }
            check.found(version, place)
        }
        Err(problem) => {
            let unset = std::env::var_os("LIBCLANG_PATH").map_or("", |_| "unset LIBCLANG_PATH; ");
            let remedy = format!("{unset}{}", into_our_folder("libclang==18.1.1"));
            check.missing(problem.message, Some(remedy))
        }
    }
}

/// A Python environment of our own, in which the program looks without being told.
fn into_our_folder(package: &str) -> String {
    let Some(dir) = data_dir().map(|d| d.join("venv")) else {
        return format!("pip install {package}");
    };
    let dir = shown(&dir);
    let make = if Path::new(&dir).join("bin/pip").exists() {
        String::new()
    } else {
        // This Python will be the one that is asked: it shall not lack what the system's has.
        format!("python3 -m venv --system-site-packages {dir} && ")
    };
    format!("{make}{dir}/bin/pip install {package}")
}

/// As the runs against the original and the builds find them.
fn compilers() -> Vec<Check> {
    let settings = Settings {
        dir: std::env::current_dir().unwrap_or_default(),
        ..Settings::default()
    };
    let mut all = Vec::new();
    for (language, name, purpose, package) in [
        (
            Language::C,
            "C compiler",
            "the originals, and generated code",
            "gcc",
        ),
        (Language::Cpp, "C++ compiler", "kernels in C++", "g++"),
    ] {
        let mut check = Check::new(name, purpose);
        check.needed = language == Language::C;
        let build = settings.cc(language);
        let tool = build.try_get_compiler().ok();
        let version = tool
            .as_ref()
            .and_then(|t| first_line(t.path(), &["--version"]));
        all.push(match (&tool, version) {
            (Some(tool), Some(version)) => {
                let place = on_path(tool.path()).unwrap_or_else(|| tool.path().to_owned());
                check.found(version, shown(&place))
            }
            _ => {
                let variable = if language == Language::C { "CC" } else { "CXX" };
                let remedy = match std::env::var_os(variable) {
                    Some(_) => Some(format!("unset {variable}")),
                    None => install(package),
                };
                check.missing("there is none that runs", remedy)
            }
        });
        if let (Language::C, Some(tool)) = (language, &tool) {
            all.push(openmp(&build, tool.is_like_clang()));
        }
    }
    all
}

fn openmp(build: &cc::Build, clang: bool) -> Check {
    let check = Check::new("OpenMP", "generated code on all cores");
    let scratch = Scratch::new();
    let library = scratch
        .ok()
        .and_then(|dir| tensorize_build::openmp(build, dir.path()));
    match library {
        Some(library) => check.found(format!("lib{library}"), "with the C compiler"),
        None => check.missing(
            "the C compiler links no program with -fopenmp",
            install(if clang { "libomp-dev" } else { "libgomp1" }),
        ),
    }
}

#[derive(Deserialize)]
struct Pythons {
    python: String,
    found: std::collections::BTreeMap<String, Package>,
}

#[derive(Deserialize)]
struct Package {
    version: String,
    place: String,
}

/// Which of these packages Python has; `None` if it does not run.
fn installed(python: &Path, packages: &[&str]) -> Option<Pythons> {
    let mut asked = Command::new(python);
    asked
        .args(["-c", SCRIPT])
        .args(packages)
        .stdin(Stdio::null());
    serde_json::from_slice(&asked.output().ok()?.stdout).ok()
}

/// Into the Python that was named, else into ours: many a system's own takes no packages.
fn into_python(python: &Path, packages: &str) -> String {
    match std::env::var_os("TENSORIZE_PYTHON") {
        Some(_) => format!("{} -m pip install {packages}", shown(python)),
        None => into_our_folder(packages),
    }
}

/// Python, and what the targets that are Python need of it.
pub(super) fn frameworks() -> Vec<Check> {
    let python = find_python();
    let name = python.display().to_string();
    let mut packages: Vec<(&str, &str)> = vec![("numpy", "numpy")];
    for t in backends::targets() {
        let package = t.python_package();
        packages.extend(package.filter(|p| *p != "numpy").map(|p| (t.name(), p)));
    }
    // Two targets may need the same one.
    let mut seen = std::collections::BTreeSet::new();
    packages.retain(|(_, package)| seen.insert(*package));
    let check = Check::new("Python", "the targets that are frameworks of Python");
    let names: Vec<&str> = packages.iter().map(|(_, package)| *package).collect();
    let Some(there) = installed(&python, &names) else {
        let why = format!("{name} does not run");
        return vec![check.missing(why, install("python3"))];
    };
    let place = on_path(&python).unwrap_or(python);
    let mut all = vec![check.found(&there.python, shown(&place))];
    for (target, package) in packages {
        let check = Check::new(package, "the target of that framework");
        all.push(match there.found.get(package) {
            Some(p) => check.found(&p.version, &p.place),
            None => {
                // They are called like the modules that they bring.
                let install = package.split('.').next().unwrap_or(package);
                let why = format!("not installed, so nothing runs on `{target}`");
                let all = match install {
                    "numpy" => install.to_owned(),
                    _ => format!("numpy {install}"),
                };
                check.missing(why, Some(into_python(&place, &all)))
            }
        });
    }
    all
}

/// How this system installs a package (under Debian's name), if we know.
pub(super) fn install(package: &str) -> Option<String> {
    if cfg!(target_os = "macos") {
        return match package {
            "libomp-dev" | "libgomp1" => Some("brew install libomp".into()),
            "python3" => Some("brew install python3".into()),
            _ => Some("xcode-select --install".into()),
        };
    }
    let sudo = if nix::unistd::geteuid().is_root() {
        ""
    } else {
        "sudo "
    };
    if on_path("apt-get").is_some() {
        return Some(format!("{sudo}apt-get install -y {package}"));
    }
    let fedora = match package {
        "g++" => "gcc-c++",
        "libgomp1" => "libgomp",
        "libomp-dev" => "libomp-devel",
        other => other,
    };
    on_path("dnf").map(|_| format!("{sudo}dnf install -y {fedora}"))
}

pub(super) fn lines(program: &Path, args: &[&str]) -> Option<Vec<String>> {
    let out = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .ok()
        .filter(|o| o.status.success())?;
    let text = String::from_utf8_lossy(&out.stdout);
    Some(text.lines().map(|l| l.trim().to_owned()).collect())
}

fn first_line(program: &Path, args: &[&str]) -> Option<String> {
    lines(program, args)?.into_iter().next()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
