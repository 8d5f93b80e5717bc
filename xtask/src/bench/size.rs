//! Cost against size: functions of 10, 100 and 1,000 statements, and loop nests 1 to 6 deep.
//!
//! Nothing may explode in silence: what takes too long ends at the time limit, unproven, and says what was open.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::build_tool;
use crate::process::target_dir;

/// For one function, in seconds.
const LIMIT_S: f64 = 10.0;

/// A function of some size.
struct Case {
    shape: &'static str,
    size: usize,
    text: String,
}

/// What became of it.
struct Outcome {
    status: String,
    tier: String,
    lift_ms: f64,
    wall_s: f64,
    peak_mib: f64,
    why: String,
}

/// Measures, and prints the curve.
pub fn run(as_json: bool) -> Result<()> {
    let tool = build_tool()?;
    let folder = target_dir().join("bench-size");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut rows = Vec::new();
    if !as_json {
        println!(
            "{:26} {:>6}  {:11} {:6} {:>10} {:>8} {:>9}",
            "shape", "size", "status", "tier", "lift", "wall", "peak"
        );
    }
    for case in cases() {
        let found = lift(&tool, &folder, &case)?;
        if as_json {
            rows.push(json!({
                "shape": case.shape, "size": case.size, "status": found.status, "tier": found.tier,
                "lift_ms": found.lift_ms, "wall_s": found.wall_s, "peak_rss_mib": found.peak_mib, "why": found.why,
            }));
            continue;
        }
        println!(
            "{:26} {:>6}  {:11} {:6} {:>7.1} ms {:>6.2} s {:>5.0} MiB",
            case.shape,
            case.size,
            found.status,
            found.tier,
            found.lift_ms,
            found.wall_s,
            found.peak_mib
        );
        if !found.why.is_empty() {
            println!("    {}", found.why);
        }
    }
    if as_json {
        println!("{}", json!({ "limit_s": LIMIT_S, "sizes": rows }));
    }
    Ok(())
}

fn lift(tool: &Path, folder: &Path, case: &Case) -> Result<Outcome> {
    let file = folder.join("k.c");
    fs::write(&file, &case.text)?;
    let started = Instant::now();
    let done = Command::new(tool)
        .args(["lift", "--no-differential", "--message-format", "json"])
        .args(["--time-limit", &LIMIT_S.to_string()])
        .arg(&file)
        .output()?;
    let wall_s = started.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&done.stdout);
    let messages: Vec<Value> = text
        .lines()
        .filter_map(|l| serde_json::from_str(l).ok())
        .collect();
    let of = |reason: &str| messages.iter().find(|m| m["reason"] == reason);
    let (Some(kernel), Some(summary)) = (of("kernel"), of("summary")) else {
        bail!(
            "{} of {}: `lift` ended early ({})\n{}",
            case.shape,
            case.size,
            done.status,
            String::from_utf8_lossy(&done.stderr)
        );
    };
    let word = |key: &str| kernel[key].as_str().unwrap_or("-").to_string();
    let times = &kernel["times_us"];
    let us = |stage: &str| times[stage].as_f64().unwrap_or(0.0);
    let why = kernel["why"].as_str().unwrap_or_default();
    Ok(Outcome {
        status: word("status"),
        tier: word("tier"),
        lift_ms: (us("parse") + us("propose") + us("prove")) / 1e3,
        wall_s,
        peak_mib: summary["peak_rss_bytes"].as_f64().unwrap_or(0.0) / f64::from(1 << 20),
        why: why.chars().take(160).collect(),
    })
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    type Shape = (&'static str, fn(usize) -> String);
    let shapes: [Shape; 5] = [
        ("stores in a row", stores),
        ("chain of scalars", chain),
        ("statements in a loop", body),
        ("branches in a loop", branches),
        ("loops in a row", loops),
    ];
    for (shape, write) in shapes {
        for size in [10, 100, 1000] {
            cases.push(Case {
                shape,
                size,
                text: write(size),
            });
        }
    }
    for size in 1..=6 {
        cases.push(Case {
            shape: "nest, a map",
            size,
            text: nest(size, "b[AT] = a[AT] * 2.0f;"),
        });
    }
    for size in 1..=6 {
        cases.push(Case {
            shape: "nest, a sum",
            size,
            text: nest(size, "b[0] += a[AT];"),
        });
    }
    cases
}

fn lines(head: &str, size: usize, line: impl Fn(usize) -> String, tail: &str) -> String {
    let body: String = (0..size).map(|i| line(i) + "\n").collect();
    format!("{head}\n{body}{tail}\n")
}

fn stores(size: usize) -> String {
    let line = |i| format!("    b[{i}] = a[{i}] + {i};");
    lines("void f(const int *a, int *b) {", size, line, "}")
}

fn chain(size: usize) -> String {
    let line = |i| format!("    t = t * 3 + a[{i}];");
    let head = "unsigned f(const unsigned *a) {\n    unsigned t = 1;";
    lines(head, size, line, "    return t;\n}")
}

fn body(size: usize) -> String {
    let head = "void f(const int *a, int *b, int n) {\n    for (int i = 0; i < n; i++) {\n        int t = a[i];";
    let line = |i| format!("        t = (t ^ {i}) & 0x7fff;");
    lines(head, size, line, "        b[i] = t;\n    }\n}")
}

fn branches(size: usize) -> String {
    let head = "void f(const int *a, int *b, int n) {\n    for (int i = 0; i < n; i++) {\n        int t = a[i];";
    let line = |i| format!("        if (t == {i}) t = {};", i * 7 % 1000);
    lines(head, size, line, "        b[i] = t;\n    }\n}")
}

fn loops(size: usize) -> String {
    let line = |i| format!("    for (int i = 0; i < n; i++) b[i] = a[i] + {i};");
    lines("void f(const int *a, int *b, int n) {", size, line, "}")
}

/// Loops over `n0`, `n1`, … around a statement; `AT` is the place of a row-major array.
fn nest(depth: usize, statement: &str) -> String {
    let sizes: Vec<String> = (0..depth).map(|d| format!("int n{d}")).collect();
    let mut at = "i0".to_owned();
    for d in 1..depth {
        at = format!("({at} * n{d} + i{d})");
    }
    let mut text = format!(
        "void f(const float *a, float *b, {}) {{\n",
        sizes.join(", ")
    );
    for d in 0..depth {
        let _ = writeln!(text, "for (int i{d} = 0; i{d} < n{d}; i{d}++)");
    }
    text + &statement.replace("AT", &at) + "\n}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nest_is_row_major() {
        let text = nest(3, "b[AT] = 0;");
        assert!(
            text.contains("b[((i0 * n1 + i1) * n2 + i2)] = 0;"),
            "{text}"
        );
        assert_eq!(text.matches("for (").count(), 3);
    }
}
