//! Fuzzers that see which code an input reaches: those of `fuzz/`, as cargo-fuzz would run them, with a stable compiler.

use crate::process::{cargo, output, root, run as run_command, target_dir};
use anyhow::{Context, Result};
use std::fs;
use std::process::Command;

/// What is fuzzed, and where its corpus is in `tests/fuzz/corpus`.
pub const READERS: [&str; 3] = ["summaries", "records", "replies"];

/// LLVM's counters of what is reached, and comparisons that are told to libFuzzer. cargo-fuzz passes the same; its
/// sanitizers, which take a nightly compiler, find nothing in safe code.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0 \
    --cfg fuzzing -Cdebug-assertions -Ccodegen-units=1";

/// Longer inputs find nothing that short ones don't, and take their time.
const LONGEST: u32 = 16 << 10;

/// Runs these, or all, for so long each. An input on which one fails ends it.
pub fn run(seconds: u32, readers: &[String]) -> Result<()> {
    let host = host()?;
    let dir = target_dir().join("fuzz");
    run_command(
        cargo()
            .args([
                "build",
                "--release",
                "--quiet",
                "--manifest-path",
                "fuzz/Cargo.toml",
            ])
            // With a target named, build scripts are built without these flags.
            .args(["--target", &host])
            .arg("--target-dir")
            .arg(&dir)
            .env("RUSTFLAGS", FLAGS),
    )?;
    let wanted = |r: &&&str| readers.is_empty() || readers.iter().any(|w| w == **r);
    for reader in READERS.iter().filter(wanted) {
        let found = dir.join("found").join(reader);
        fs::create_dir_all(&found).with_context(|| format!("cannot write {}", found.display()))?;
        let failed = format!("{}/failed-{reader}-", dir.display());
        run_command(
            Command::new(dir.join(&host).join("release").join(reader))
                .current_dir(root())
                .arg(format!("-max_total_time={seconds}"))
                .arg(format!("-max_len={LONGEST}"))
                .arg(format!("-artifact_prefix={failed}"))
                .args(["-timeout=10", "-verbosity=0"])
                .arg(&found)
                .arg(format!("tests/fuzz/corpus/{reader}")),
        )
        .with_context(|| {
            format!("the input is in {failed}*; it belongs into tests/fuzz/corpus/{reader}")
        })?;
        println!("{reader}: {seconds} s, nothing found");
    }
    Ok(())
}

/// What rustc calls this machine.
fn host() -> Result<String> {
    let said = output(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|l| l.strip_prefix("host: "));
    Ok(host.context("rustc does not say its host")?.to_owned())
}
