//! Kernels of several kinds and sizes: the original at `-O3 -march=native`, generated code, NumPy and PyTorch.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{build_tool, machine, plot};
use crate::process::{cargo, output, root, run as run_command, target_dir};
use crate::setup;

/// The largest size.
const LARGEST: usize = 1 << 24;

/// Rows that are measured in the same way. What tells them from the plain ones follows the kernel's name after a comma.
struct Group {
    /// All kernels, if none is named.
    kernel: Option<&'static str>,
    named: &'static str,
    /// Whether another library computes products.
    fast_gemm: bool,
    one_core: bool,
}

/// Those of one build are neighbours. The products are held against BLAS on one core, too.
const GROUPS: [Group; 5] = [
    Group {
        kernel: None,
        named: "",
        fast_gemm: false,
        one_core: false,
    },
    Group {
        kernel: Some("matvec"),
        named: ", one core",
        fast_gemm: false,
        one_core: true,
    },
    Group {
        kernel: Some("matmul"),
        named: ", one core",
        fast_gemm: false,
        one_core: true,
    },
    Group {
        kernel: Some("matmul"),
        named: ", fast-gemm",
        fast_gemm: true,
        one_core: false,
    },
    Group {
        kernel: Some("matmul"),
        named: ", fast-gemm, one core",
        fast_gemm: true,
        one_core: true,
    },
];

impl Group {
    /// A program that takes as many cores as the group does.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if self.one_core {
            let threads = ["OMP", "RAYON", "OPENBLAS", "MKL"];
            command.envs(threads.map(|library| (format!("{library}_NUM_THREADS"), "1")));
        }
        command
    }
}

/// Measures, and prints a table in Markdown or one JSON object a row; `write` is to write the page of it, too.
pub fn run(as_json: bool, write: bool) -> Result<()> {
    let (mut rows, mut machine) = (Vec::new(), None);
    let mut built: Option<(bool, PathBuf)> = None;
    for group in GROUPS {
        let program = match built {
            Some((fast, program)) if fast == group.fast_gemm => program,
            _ if group.fast_gemm => build(&["--features", "fast-gemm"])?,
            _ => build(&[])?,
        };
        let measured = measure(&group, &program)?;
        built = Some((group.fast_gemm, program));
        let (limits, peers) = peers(&group, &measured)?;
        for (row, peer) in measured.into_iter().zip(peers) {
            let row = complete(row, &peer, &limits, group.named)?;
            if as_json {
                println!("{row}");
            }
            rows.push(row);
        }
        // The first group's are those of all cores.
        machine.get_or_insert(limits);
    }
    let limits = machine.unwrap_or_default();
    if !as_json {
        print!("{}", table(&rows, &limits));
    }
    if write {
        update(&rows, &limits)?;
    }
    Ok(())
}

/// What our program says of a kernel and a size, with what the frameworks take for it and what the machine can do.
fn complete(mut row: Value, peer: &Value, limits: &Value, named: &str) -> Result<Value> {
    let kernel = row["kernel"].as_str().context("a row without a kernel")?;
    if row["differed"] == json!(true) {
        bail!("{kernel} computes something else than the original");
    }
    row["kernel"] = json!(format!("{kernel}{named}"));
    for key in ["numpy_ns", "numpy_spread", "pytorch_ns", "pytorch_spread"] {
        row[key] = peer[key].clone();
    }
    row["peak_flops"] = limits["peak_gflop_s"].clone();
    Ok(row)
}

/// A row for each kernel and size.
fn measure(group: &Group, program: &Path) -> Result<Vec<Value>> {
    let mut command = group.command(program);
    if let Some(kernel) = group.kernel {
        command.args([&LARGEST.to_string(), kernel]);
    }
    output(&mut command)?.lines().map(parsed).collect()
}

fn parsed(line: &str) -> Result<Value> {
    serde_json::from_str(line).with_context(|| format!("not a row: {line}"))
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
fn peers(group: &Group, rows: &[Value]) -> Result<(Value, Vec<Value>)> {
    let mut python = group
        .command(&setup::venv()?.join("bin/python3"))
        .args(["-c", include_str!("peers.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start Python")?;
    let mut wanted = String::new();
    for row in rows {
        let kernel = row["kernel"].as_str().unwrap_or_default();
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
         Sizes go from 64 to 16 Mi elements. Matrices are square, and end at 1 Mi elements: of larger ones the original\n\
         takes a minute for a product. Behind a comma: `fast-gemm` is the feature of that name of `tensorize-rt`, `one\n\
         core` gives one to all four. The copy's column is what the machine copies, read and written, where a copy moves\n\
         as many bytes as the kernel does.\n\n\
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
        "{}\ncopies at {:.1} GB/s (all cores, read and written); NumPy's BLAS multiplies matrices of 2048 x 2048 at {:.0} GFLOP/s at best\n\n",
        machine(),
        number(&limits["copy_gb_s"]).unwrap_or_default(),
        number(&limits["peak_gflop_s"]).unwrap_or_default(),
    );
    text += "| kernel | elements | original | cpu | auto | NumPy | PyTorch | cpu, spread | GB/s | copy, GB/s | GFLOP/s |\n";
    text += "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
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
            "| {} | {} | {time} | {} | {} | {} | {} | {:.0} % | {:.1} | {:.1} | {:.1} |\n",
            row["kernel"].as_str().unwrap_or_default(),
            row["elements"],
            ratio("cpu_ns"),
            ratio("auto_ns"),
            ratio("numpy_ns"),
            ratio("pytorch_ns"),
            number(&row["cpu_spread"]).unwrap_or_default() * 100.0,
            per_ns("bytes"),
            number(&row["copy_bandwidth"]).unwrap_or_default(),
            per_ns("flops"),
        );
    }
    text += "\nAll but the original's time are ratios: how many times as fast. Medians of nine rounds in turn; the spread is\n\
             between the quartiles.\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the project prints it; `tests/products.rs` runs that.
    const ROW: &str = r#"{"kernel":"matmul","elements":64,"bytes":768,"flops":1024,"original_ns":142.6,"original_spread":0.01,
        "cpu_ns":160.2,"cpu_spread":0.01,"auto_ns":144.0,"auto_spread":0.01,"copy_bandwidth":30.1,"differed":false}"#;

    #[test]
    fn a_row_has_all_keys() {
        let group = &GROUPS[2];
        let row = parsed(ROW).expect("a row");
        // The frameworks really run, where they are.
        let there = setup::venv().is_ok_and(|venv| venv.join("bin/python3").is_file());
        let (limits, peer) = if there {
            let (limits, mut all) = peers(group, std::slice::from_ref(&row)).expect("NumPy runs");
            (limits, all.remove(0))
        } else {
            eprintln!("SKIPPED: no NumPy; 'cargo xtask setup' installs it");
            let peer = json!({"numpy_ns": 1.0, "numpy_spread": 0.0});
            (json!({"copy_gb_s": 1.0, "peak_gflop_s": 1.0}), peer)
        };
        let row = complete(row, &peer, &limits, group.named).expect("the same results");
        assert_eq!(row["kernel"], "matmul, one core");
        let numbers = [
            "elements",
            "original_ns",
            "cpu_ns",
            "numpy_ns",
            "numpy_spread",
            "bytes",
            "flops",
            "copy_bandwidth",
            "peak_flops",
        ];
        for key in numbers {
            assert!(row[key].is_number(), "{key}: {row}");
        }
        // `null` where there is no PyTorch.
        for key in ["pytorch_ns", "pytorch_spread"] {
            assert!(row.get(key).is_some(), "{key}: {row}");
        }
        let text = table(&[row], &limits);
        let columns = |line: &str| line.matches('|').count();
        let lines: Vec<&str> = text.lines().filter(|l| l.starts_with('|')).collect();
        assert!(
            lines.iter().all(|l| columns(l) == columns(lines[0])),
            "{text}"
        );
    }

    #[test]
    fn what_computes_something_else_is_no_row() {
        let row = parsed(&ROW.replace("false", "true")).expect("a row");
        let why = complete(row, &json!({}), &json!({}), "").expect_err("it differed");
        assert!(why.to_string().contains("matmul computes something else"));
    }
}
