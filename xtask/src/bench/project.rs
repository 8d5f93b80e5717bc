//! What a project of many kernels costs: from nothing, after one edit, and when nothing has changed.

use super::{build_tool, machine, median};
use crate::process::{root, target_dir};
use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Kernels in one file, over and over: files of different sizes.
const FILE_SIZES: [usize; 6] = [1, 2, 5, 12, 30, 50];

/// Kernels of several kinds. `NAME` and `NUMBER` are different in each.
const KINDS: [&str; 5] = [
    "void NAME(const unsigned char *a, const unsigned char *b, unsigned char *out, int rows, int cols) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            out[i * cols + j] = a[i * cols + j] * b[i * cols + j] / NUMBER;
}",
    "void NAME(float *restrict out, const float *x, const float *w, int n, int d) {
    for (int i = 0; i < d; i++) {
        float val = NUMBER.0f;
        for (int j = 0; j < n; j++) val += w[i * n + j] * x[j];
        out[i] = val;
    }
}",
    "long NAME(const int *a, int n) {
    long s = 0;
    for (int i = 0; i < n; i++) if (a[i] < NUMBER) s += a[i]; else s += NUMBER;
    return s;
}",
    "void NAME(float *restrict out, const float *a, int n) {
    for (int i = 0; i < n; i++) out[i] = (a[i] + a[i + 1] + a[i + 2]) * NUMBER.0f;
}",
    "float NAME(const float *a, const float *b, int n) {
    float s = NUMBER.0f;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}",
];

/// What was measured of one project.
#[derive(Serialize)]
struct Row {
    kernels: usize,
    /// `cargo tensorize` with nothing stored.
    cold_s: f64,
    /// `cargo build` after that: all generated code and all bindings are compiled.
    first_build_s: f64,
    /// `cargo tensorize` after an edit of one kernel in the largest file.
    one_edit_ms: f64,
    /// How many kernels that proved again.
    one_edit_reproved: usize,
    /// `cargo build` after that.
    one_edit_build_s: f64,
    /// `cargo build` with nothing changed.
    noop_ms: f64,
    /// The same with the C files compiled by `cc` alone, and nothing of ours in the project.
    baseline_noop_ms: f64,
    /// Of the cold run, its solvers and compilers included.
    peak_rss_bytes: u64,
    /// Of the cold run: processor time by wall time.
    cold_cores: f64,
    /// What lies in `.tensorize/`.
    stored_bytes: u64,
}

/// Measures projects of these sizes.
pub fn run(json: bool, runs: usize, sizes: &[usize]) -> Result<()> {
    // A build of somebody's own, where there is no time for one with all optimisations.
    let tool = match std::env::var_os("TENSORIZE_BIN") {
        Some(tool) => root().join(PathBuf::from(tool)),
        None => build_tool()?,
    };
    let sizes = if sizes.is_empty() {
        &[10, 100, 1000]
    } else {
        sizes
    };
    if !json {
        println!("{}", machine());
        println!(
            "{:>8} {:>9} {:>6} {:>11} {:>11} {:>9} {:>11} {:>9} {:>9} {:>9} {:>11}",
            "kernels",
            "cold",
            "cores",
            "first build",
            "one edit",
            "reproved",
            "its build",
            "no-op",
            "baseline",
            "peak",
            "stored"
        );
    }
    for &kernels in sizes {
        let row = measure(&tool, kernels, runs)?;
        if json {
            println!("{}", serde_json::to_string(&row)?);
            continue;
        }
        println!(
            "{:>8} {:>7.1} s {:>6.1} {:>9.1} s {:>8.0} ms {:>9} {:>9.1} s {:>6.0} ms {:>6.0} ms {:>5.0} MiB {:>7.0} KiB",
            row.kernels,
            row.cold_s,
            row.cold_cores,
            row.first_build_s,
            row.one_edit_ms,
            row.one_edit_reproved,
            row.one_edit_build_s,
            row.noop_ms,
            row.baseline_noop_ms,
            mib(row.peak_rss_bytes),
            mib(row.stored_bytes) * 1024.0,
        );
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn measure(tool: &Path, kernels: usize, runs: usize) -> Result<Row> {
    let plain = Project::write(kernels, false)?;
    let ours = Project::write(kernels, true)?;
    // Dependencies are compiled, and the build script has made its notes.
    ours.build("")?;
    plain.build("")?;
    let store = ours.dir.join(".tensorize");
    for path in fs::read_dir(&store)?.flatten().map(|e| e.path()) {
        if path.is_dir() {
            fs::remove_dir_all(path)?;
        } else if !path.ends_with("build-script.toml") {
            fs::remove_file(path)?;
        }
    }
    let cold = ours.tensorize(tool)?;
    ensure!(cold.stored == 0, "the cold run was not cold");
    let first_build_s = ours.build("")?;
    ours.edit(kernels)?;
    let edited = ours.tensorize(tool)?;
    let one_edit_build_s = ours.build("")?;
    let noop = |project: &Project| -> Result<f64> {
        // The first may still see files that are as old as the build before it.
        project.build("")?;
        let times = (0..runs)
            .map(|_| project.build(""))
            .collect::<Result<Vec<f64>>>()?;
        Ok(median(times.into_iter()) * 1e3)
    };
    Ok(Row {
        kernels,
        cold_s: cold.seconds,
        first_build_s,
        one_edit_ms: edited.seconds * 1e3,
        one_edit_reproved: kernels - edited.stored,
        one_edit_build_s,
        noop_ms: noop(&ours)?,
        baseline_noop_ms: noop(&plain)?,
        peak_rss_bytes: cold.peak,
        cold_cores: cold.cpu_seconds / cold.seconds,
        stored_bytes: bytes_in(&store)?,
    })
}

/// One run of `cargo tensorize`.
struct Ran {
    seconds: f64,
    cpu_seconds: f64,
    peak: u64,
    /// Kernels that needed no proof.
    stored: usize,
}

/// A generated project.
struct Project {
    dir: PathBuf,
    kernels: usize,
}

impl Project {
    /// Writes it anew: with this tool, or its C files compiled as they are.
    fn write(kernels: usize, ours: bool) -> Result<Project> {
        let name = if ours { "ours" } else { "plain" };
        let dir = target_dir().join(format!("bench-project/{kernels}-{name}"));
        if dir.exists() {
            fs::remove_dir_all(&dir).with_context(|| format!("cannot clear {}", dir.display()))?;
        }
        let project = Project { dir, kernels };
        let mut files = Vec::new();
        let mut first = 0;
        for size in FILE_SIZES.iter().cycle() {
            if first == kernels {
                break;
            }
            let size = (*size).min(kernels - first);
            let file = format!("c/file_{}.c", files.len());
            project.put(&file, &text(first..first + size, None))?;
            files.push(file);
            first += size;
        }
        let root = root().display().to_string();
        let (runtime, build, lib) = if ours {
            (
                format!("tensorize-rt = {{ path = '{root}/tensorize-rt' }}"),
                format!("tensorize-build = {{ path = '{root}/tensorize-build' }}"),
                "tensorize_rt::include_kernels!(\"kernels\");\n",
            )
        } else {
            (String::new(), "cc = '1'".to_string(), "")
        };
        project.put(
            "Cargo.toml",
            &format!(
                "[package]\nname = 'p'\nversion = '0.1.0'\nedition = '2024'\n[workspace]\n\
                 [package.metadata.tensorize]\ntargets = ['cpu']\n\
                 [dependencies]\n{runtime}\n[build-dependencies]\n{build}\n"
            ),
        )?;
        fs::copy(format!("{root}/Cargo.lock"), project.dir.join("Cargo.lock"))?;
        project.put("src/lib.rs", lib)?;
        let list = files.iter().fold(String::new(), |mut list, file| {
            let _ = write!(list, "\"{file}\", ");
            list
        });
        let compile = if ours {
            "tensorize_build::Build::new().files(files).compile(\"kernels\").unwrap();"
        } else {
            "for f in files { println!(\"cargo::rerun-if-changed={f}\"); }\n\
             cc::Build::new().include(\".\").files(files).compile(\"kernels\");"
        };
        project.put(
            "build.rs",
            &format!("fn main() {{ let files = [{list}];\n{compile} }}\n"),
        )?;
        if !ours {
            project.put("tensorize.h", "#define TENSORIZE_KERNEL\n")?;
        }
        Ok(project)
    }

    fn put(&self, name: &str, text: &str) -> Result<()> {
        let path = self.dir.join(name);
        fs::create_dir_all(path.parent().context("it has a folder")?)?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Edits the last kernel of the largest file.
    fn edit(&self, kernels: usize) -> Result<()> {
        let (mut first, mut largest) = (0, (0, 0..0));
        for (file, size) in FILE_SIZES.iter().cycle().enumerate() {
            if first == kernels {
                break;
            }
            let end = (first + size).min(kernels);
            if end - first > largest.1.len() {
                largest = (file, first..end);
            }
            first = end;
        }
        let (file, range) = largest;
        let edited = range.end - 1;
        self.put(&format!("c/file_{file}.c"), &text(range, Some(edited)))
    }

    /// `cargo build`, and how long it takes, in seconds. `tool` is what the build script may call.
    fn build(&self, tool: &str) -> Result<f64> {
        let start = Instant::now();
        let done = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--offline", "--quiet"])
            .current_dir(&self.dir)
            .env("CARGO_TARGET_DIR", self.dir.join("target"))
            .env("TENSORIZE_BIN", tool)
            .env("TENSORIZE_CACHE", "off")
            .stdin(Stdio::null())
            .output()?;
        let seconds = start.elapsed().as_secs_f64();
        if !done.status.success() {
            bail!("cargo build: {}", String::from_utf8_lossy(&done.stderr));
        }
        Ok(seconds)
    }

    fn tensorize(&self, tool: &Path) -> Result<Ran> {
        let start = Instant::now();
        let (done, cpu_seconds) = with_cpu_time(
            Command::new(tool)
                .args(["--offline", "--message-format", "json"])
                .current_dir(&self.dir)
                .env("CARGO_TARGET_DIR", self.dir.join("target"))
                // What an earlier run has proven is not to be had from there.
                .env("TENSORIZE_CACHE", "off")
                .stdin(Stdio::null()),
        )?;
        let seconds = start.elapsed().as_secs_f64();
        let text = String::from_utf8_lossy(&done.stdout);
        let lines = text
            .lines()
            .filter_map(|l| serde_json::from_str::<Value>(l).ok());
        let (mut stored, mut proven, mut peak) = (0, 0, 0);
        for line in lines {
            stored += usize::from(line["stored"] == true);
            proven += usize::from(line["reason"] == "kernel" && line["status"] == "proven");
            peak = peak.max(line["peak_rss_bytes"].as_u64().unwrap_or(0));
        }
        if proven != self.kernels {
            let errors = String::from_utf8_lossy(&done.stderr);
            bail!(
                "{proven} of {} kernels are proven ({})\n{errors}",
                self.kernels,
                done.status
            );
        }
        Ok(Ran {
            seconds,
            cpu_seconds,
            peak,
            stored,
        })
    }
}

/// Runs it, and says what processor time it and its children took.
fn with_cpu_time(command: &mut Command) -> Result<(std::process::Output, f64)> {
    let before = children_ticks()?;
    let done = command.output()?;
    let ticks = children_ticks()? - before;
    // What Linux gives to programs, whatever the kernel's own clock is.
    const TICKS_PER_SECOND: f64 = 100.0;
    Ok((done, ticks / TICKS_PER_SECOND))
}

/// The processor time of all children that are gone.
fn children_ticks() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(") ").context("/proc/self/stat")?;
    let fields = fields.split(' ').skip(13).take(2);
    Ok(fields.filter_map(|f| f.parse::<f64>().ok()).sum())
}

/// A file with these kernels; one may be another than it was.
fn text(kernels: std::ops::Range<usize>, edited: Option<usize>) -> String {
    let mut text = "#include \"tensorize.h\"\n".to_string();
    for n in kernels {
        let number = n % 200 + if edited == Some(n) { 300 } else { 3 };
        let kernel = KINDS[n % KINDS.len()].replace("NAME", &format!("kernel_{n}"));
        let kernel = kernel.replace("NUMBER", &number.to_string());
        let _ = write!(text, "\nTENSORIZE_KERNEL\n{kernel}\n");
    }
    text
}

fn bytes_in(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => bytes_in(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(bytes)
}
