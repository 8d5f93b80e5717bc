//! Kernels of several kinds and sizes: the original at `-O3 -march=native`, generated code, NumPy and PyTorch.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{build_tool, machine, plot};
use crate::process::{cargo, output, root, run as run_command, target_dir};
use crate::setup;

/// What the kernel `matmul` is called where the feature `fast-gemm` is on.
const FAST_GEMM: &str = "matmul, fast-gemm";

/// Measures, and prints a table in Markdown or one JSON object a row; `write` is to write the page of it, too.
pub fn run(as_json: bool, write: bool) -> Result<()> {
    let mut rows = measure(build(&[])?, &[])?;
    // The same where another library computes products.
    let largest = (1 << 24).to_string();
    let fast = build(&["--features", "fast-gemm"])?;
    for mut row in measure(fast, &[&largest, "matmul"])? {
        row["kernel"] = json!(FAST_GEMM);
        rows.push(row);
    }
    let (limits, peers) = peers(&rows)?;
    for (row, peer) in rows.iter_mut().zip(peers) {
        if row["differed"] == json!(true) {
            bail!(
                "{} computes something else than the original",
                row["kernel"]
            );
        }
        for key in ["numpy_ns", "pytorch_ns"] {
            row[key] = peer[key].clone();
        }
        row["copy_bandwidth"] = limits["copy_gb_s"].clone();
        row["peak_flops"] = limits["peak_gflop_s"].clone();
        if as_json {
            println!("{row}");
        }
    }
    if !as_json {
        print!("{}", table(&rows, &limits));
    }
    if write {
        update(&rows, &limits)?;
    }
    Ok(())
}

/// A row for each kernel and size.
fn measure(program: PathBuf, args: &[&str]) -> Result<Vec<Value>> {
    output(Command::new(program).args(args))?
        .lines()
        .map(|l| serde_json::from_str(l).with_context(|| format!("not a row: {l}")))
        .collect()
}

/// The project in a folder of its own, lifted and built with these arguments.
fn build(args: &[&str]) -> Result<PathBuf> {
    let tool = build_tool()?;
    let folder = target_dir().join("bench-run");
    // What an earlier tool has stored is not measured.
    let _ = std::fs::remove_dir_all(folder.join(".tensorize"));
    copy(&root().join("tests/projects/speed"), &folder)?;
    let manifest = folder.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).context("the project has no manifest")?;
    let text = text.replace("../../..", &root().to_string_lossy());
    std::fs::write(&manifest, text).context("cannot write the manifest")?;
    let target = folder.join("target");
    let build = || {
        let mut command = cargo();
        command
            .args(["build", "--release", "--quiet", "--manifest-path"])
            .arg(&manifest)
            .args(args)
            .env("CARGO_TARGET_DIR", &target)
            .env("TENSORIZE_BIN", "");
        command
    };
    // The first build tells the tool what there is. It may fail: what slices a kernel writes to is not known before it
    // is lifted.
    build().output().context("the project could not be built")?;
    // The table is for the measurements alone.
    let mut tensorize = Command::new(tool);
    tensorize.arg("--manifest-path").arg(&manifest);
    run_command(tensorize.stdout(Stdio::null()))?;
    run_command(&mut build())?;
    Ok(target.join("release/speed"))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    let listed =
        std::fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))?;
    for entry in listed {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        match path.is_dir() {
            true => copy(&path, &target)?,
            false => {
                std::fs::copy(&path, &target)?;
            }
        }
    }
    Ok(())
}

/// What the machine can do, and a row of the frameworks' times for each of ours.
fn peers(rows: &[Value]) -> Result<(Value, Vec<Value>)> {
    let mut python = Command::new(setup::venv()?.join("bin/python3"))
        .args(["-c", include_str!("peers.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start Python")?;
    let mut wanted = String::new();
    for row in rows {
        let kernel = match row["kernel"].as_str().unwrap_or_default() {
            FAST_GEMM => "matmul",
            kernel => kernel,
        };
        wanted += &format!("{kernel} {}\n", row["elements"]);
    }
    let mut input = python.stdin.take().context("no standard input")?;
    input.write_all(wanted.as_bytes())?;
    drop(input);
    let done = python.wait_with_output()?;
    if !done.status.success() {
        bail!("the frameworks could not be timed ({})", done.status);
    }
    let text = String::from_utf8(done.stdout)?;
    let mut lines = text.lines().map(serde_json::from_str::<Value>);
    let limits = lines.next().context("the frameworks said nothing")??;
    Ok((limits, lines.collect::<serde_json::Result<_>>()?))
}

/// Writes `docs/speed.md` and its picture.
fn update(rows: &[Value], limits: &Value) -> Result<()> {
    let page = format!(
        "# What generated code gains\n\n\
         Written by `cargo xtask bench run --update`: the original, compiled with `gcc -O3 -march=native` without\n\
         us and called as it is, against safe calls of the code for `cpu`, of what `TENSORIZE=auto` takes of the two, and\n\
         the same in NumPy and PyTorch. The kernels are those of `tests/projects/speed`. Where a call takes a few\n\
         nanoseconds, the ratio shows what the checks of a safe call cost, and that the compiler may fuse products and\n\
         sums in the original without us, where it must not behind a dispatcher ([soundness.md](soundness.md)).\n\n\
         ![How many times as fast as the original, against elements](speed.svg)\n\n{}",
        table(rows, limits)
    );
    let docs = root().join("docs");
    plot::write(rows, &docs.join("speed.svg"))?;
    std::fs::write(docs.join("speed.md"), page).context("cannot write docs/speed.md")
}

/// In Markdown, the machine above it.
fn table(rows: &[Value], limits: &Value) -> String {
    let number = |v: &Value| v.as_f64();
    let mut text = format!(
        "{}\ncopies at {:.1} GB/s (all cores, read and written); NumPy's BLAS multiplies at {:.0} GFLOP/s\n\n",
        machine(),
        number(&limits["copy_gb_s"]).unwrap_or_default(),
        number(&limits["peak_gflop_s"]).unwrap_or_default(),
    );
    text += "| kernel | elements | original | cpu | auto | NumPy | PyTorch | cpu, spread | GB/s | GFLOP/s |\n";
    text += "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    for row in rows {
        let original = number(&row["original_ns"]).unwrap_or(f64::NAN);
        let ratio = |key: &str| match number(&row[key]) {
            Some(ns) => format!("{:.2}", original / ns),
            None => "-".into(),
        };
        let cpu = number(&row["cpu_ns"]).unwrap_or(f64::NAN);
        let time = match original < 1e3 {
            true => format!("{original:.1} ns"),
            false => format!("{:.2} us", original / 1e3),
        };
        let per_ns = |key: &str| number(&row[key]).unwrap_or_default() / cpu;
        text += &format!(
            "| {} | {} | {time} | {} | {} | {} | {} | {:.0} % | {:.1} | {:.1} |\n",
            row["kernel"].as_str().unwrap_or_default(),
            row["elements"],
            ratio("cpu_ns"),
            ratio("auto_ns"),
            ratio("numpy_ns"),
            ratio("pytorch_ns"),
            number(&row["cpu_spread"]).unwrap_or_default() * 100.0,
            per_ns("bytes"),
            per_ns("flops"),
        );
    }
    text += "\nAll but the original's time are ratios: how many times as fast. Medians of nine rounds in turn; the spread is\n\
             between the quartiles.\n";
    text
}
