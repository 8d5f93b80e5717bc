//! From a save to its verdict: what somebody waits for who edits a kernel under `cargo tensorize watch`.

use super::{build_tool, machine, median};
use crate::process::{root, target_dir};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

/// What a person does not feel as waiting.
const GOAL_MS: f64 = 300.0;

/// Kernels of several kinds. `SEEN` becomes another number with each save, so that each has to be proven.
const KERNELS: [(&str, &str); 4] = [
    (
        "blend",
        "void blend(const unsigned char *a, const unsigned char *b, unsigned char *out, int rows, int cols) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            out[i * cols + j] = a[i * cols + j] * b[i * cols + j] / SEEN;
}",
    ),
    (
        "matmul",
        "void matmul(float *restrict out, const float *x, const float *w, int n, int d) {
    for (int i = 0; i < d; i++) {
        float val = SEEN.0f;
        for (int j = 0; j < n; j++) val += w[i * n + j] * x[j];
        out[i] = val;
    }
}",
    ),
    (
        "clamp_sum",
        "long clamp_sum(const int *a, int n) {
    long s = 0;
    for (int i = 0; i < n; i++) if (a[i] < SEEN) s += a[i]; else s += SEEN;
    return s;
}",
    ),
    (
        "window",
        "void window(float *restrict out, const float *a, int n) {
    for (int i = 0; i < n; i++) out[i] = (a[i] + a[i + 1] + a[i + 2]) * SEEN.0f;
}",
    ),
];

/// A program under `watch`, and what it says.
struct Watched {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        // It runs until it is ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Watched {
    fn start(tool: &Path, dir: &Path) -> Result<Watched> {
        let mut child = Command::new(tool)
            .args(["watch", "--message-format", "json"])
            .current_dir(dir)
            .stdout(Stdio::piped())
            .spawn()
            .context("cargo-tensorize can't be started")?;
        let out = child.stdout.take().expect("it is piped");
        let lines = BufReader::new(out).lines();
        Ok(Watched { child, lines })
    }

    /// Waits for the verdict that proves this many kernels.
    fn verdict(&mut self, proved: u64) -> Result<()> {
        for line in self.lines.by_ref() {
            let line: serde_json::Value = serde_json::from_str(&line?)?;
            if line["reason"] == "kernel" && line["status"] != "proven" {
                bail!("{line}");
            }
            if line["reason"] == "verdict" && line["proved"] == proved {
                return Ok(());
            }
        }
        bail!("watch has ended")
    }
}

/// Edits each kernel `runs` times, and says how long its verdict takes.
pub fn run(json: bool, runs: usize) -> Result<()> {
    // A build of somebody's own, where there is no time for one with all optimisations.
    let tool = match std::env::var_os("TENSORIZE_BIN") {
        Some(tool) => root().join(PathBuf::from(tool)),
        None => build_tool()?,
    };
    let dir = target_dir().join("bench-watch");
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().expect("joined"))?;
        std::fs::write(path, text)
    };
    let files = KERNELS
        .map(|(name, _)| format!("\"c/{name}.c\""))
        .join(", ");
    write(
        "Cargo.toml",
        &format!(
            "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
             [package.metadata.tensorize]\nfiles = [{files}]\n"
        ),
    )?;
    write("src/lib.rs", "")?;
    let save = |(name, text): (&str, &str), number: usize| {
        let text = text.replace("SEEN", &number.to_string());
        write(
            &format!("c/{name}.c"),
            &format!("#include \"tensorize.h\"\nTENSORIZE_KERNEL\n{text}\n"),
        )
    };
    for kernel in KERNELS {
        save(kernel, 1)?;
    }
    let mut watched = Watched::start(&tool, &dir)?;
    watched.verdict(KERNELS.len() as u64)?;
    let mut rows = Vec::new();
    for kernel in KERNELS {
        let mut taken = Vec::new();
        for number in 0..runs {
            let start = Instant::now();
            save(kernel, number + 2)?;
            watched.verdict(1)?;
            taken.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let largest = taken.iter().copied().fold(0.0, f64::max);
        rows.push((kernel.0, median(taken.into_iter()), largest));
    }
    let slowest = rows.iter().map(|(_, _, max)| *max).fold(0.0, f64::max);
    if json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(name, median, max)| serde_json::json!({"kernel": name, "median_ms": median, "max_ms": max}))
            .collect();
        let all =
            serde_json::json!({"save_to_verdict": rows, "max_ms": slowest, "goal_ms": GOAL_MS});
        println!("{all}");
    } else {
        println!(
            "{}\nfrom a save to its verdict, {runs} saves each:",
            machine()
        );
        for (name, median, max) in rows {
            println!("  {name:10}  median {median:4.0} ms  max {max:4.0} ms");
        }
        println!("goal: {GOAL_MS} ms");
    }
    Ok(())
}
